"""Copies of this package's objects: of handles the same object, of arrays private ones. No use of a
copy ends the original.
"""

from __future__ import annotations

import copy
import dataclasses
import gc
import pickle
import sys
from typing import Any, Callable, Dict

import numpy as np
import pytest
from conftest import fails, run

import nvshmemrs.core as nvshmem


class Wrapper:
    cuda_stream = 16


HANDLES: Dict[str, Callable[[], Any]] = {
    "Buffer": lambda: nvshmem.buffer(64),
    "peer's Buffer": lambda: nvshmem.get_peer_buffer(nvshmem.buffer(64), 0),
    "Event": nvshmem.Event,
    "Stream": nvshmem.Stream,
    "NvshmemStream": lambda: nvshmem.NvshmemStream(Wrapper()),
    "DeviceState": nvshmem.device.state,
}


@dataclasses.dataclass
class State:
    step: int
    handle: Any
    more: Dict[str, Any]


@pytest.mark.parametrize("name", HANDLES)
def test_a_handle_is_not_duplicated(job: None, name: str) -> None:
    made = HANDLES[name]()
    assert copy.copy(made) is made and copy.deepcopy(made) is made
    told = dataclasses.asdict(State(1, made, {"again": [made]}))
    assert told["handle"] is made and told["more"]["again"][0] is made
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(TypeError, match=f"cannot pickle {type(made).__name__!r} object: .*; "):
            pickle.dumps(State(1, made, {}), protocol)


def test_a_local_job_is_not_duplicated() -> None:
    with nvshmem.local(2) as made:
        assert copy.copy(made) is made and copy.deepcopy([made])[0] is made
        fails(lambda: pickle.dumps(made), "cannot pickle 'LocalJob' object", TypeError)
        with pytest.raises(nvshmem.LocalJobError, match="raised ZeroDivisionError") as raised:
            made.run(lambda: 1 // 0)
    error = pickle.loads(pickle.dumps(raised.value))
    assert str(error) == str(raised.value) and set(error.errors) == {0, 1}


def test_values_are_copied(job: None) -> None:
    uid = nvshmem.get_unique_id()
    config = nvshmem.TeamConfig(num_contexts=3)
    number = nvshmem.get_team_unique_id()
    for value in (uid, config, number):
        for made in (copy.copy(value), copy.deepcopy(value), pickle.loads(pickle.dumps(value))):
            assert made == value and made.ptr != value.ptr
    other = copy.copy(config)
    other.num_contexts = 4
    assert config.num_contexts == 3
    for value in (nvshmem.heap_stats(), nvshmem.get_version(), nvshmem.SignalOp.SIGNAL_SET):
        assert copy.deepcopy(value) == value == pickle.loads(pickle.dumps(value))


ARRAYS: Dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "deepcopy of a list": lambda a: copy.deepcopy([a])[0],
    "asdict": lambda a: dataclasses.asdict(State(1, a, {}))["handle"],
    "pickle": lambda a: pickle.loads(pickle.dumps(a, 2)),
    "pickle 5": lambda a: pickle.loads(pickle.dumps(a, 5)),
    "np.array": lambda a: np.array(a, copy=True),
    "np.copy": np.copy,
    ".copy": lambda a: a.copy("F"),
    ".astype": lambda a: a.astype(a.dtype),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_a_copy_of_an_array_is_private(job: None, name: str) -> None:
    whole = nvshmem.array((4, 6), "i4")
    for a in (whole, whole[1:, ::2], whole.T, nvshmem.get_peer_array(whole, 0)):
        whole[:] = np.arange(24).reshape(4, 6)
        wanted = a.tolist()
        made = ARRAYS[name](a)
        assert type(made) is np.ndarray and not np.may_share_memory(made, whole)
        whole[:] = 0
        assert made.tolist() == wanted
        fails(lambda: nvshmem.reduce(0, made.copy(), made.copy(), "sum"), "symmetric")
    twice = copy.deepcopy([whole, whole])
    assert twice[0] is twice[1]


AFTER = """
import copy, dataclasses, gc, pickle
import nvshmemrs.core as nv
@dataclasses.dataclass
class State:
    buffer: nv.Buffer
    stream: nv.Stream
    event: nv.Event
nv.init()
a, first = nv.array(8, "f8"), nv.array(8, "f8")
a[:] = 7
state = State(nv.buffer(64), nv.Stream(), nv.Event())
dataclasses.asdict(state)
for one in (state, state.buffer, state.stream, state.event, copy.copy(a), copy.deepcopy(a)):
    copy.copy(one), copy.deepcopy(one)
    try:
        pickle.loads(pickle.dumps(one))
    except TypeError:
        pass
del one
gc.collect()
nv.put(first, a, 0, stream=state.stream)
state.stream.record(state.event)
state.event.synchronize()
state.stream.synchronize()
assert first.tolist() == [7] * 8 and nv.heap_stats().allocations == 3
nv.buffer(64)
assert state.buffer.is_live and nv.heap_stats().released <= 1
nv.finalize()
gc.collect()
assert a.tolist() == [7] * 8
print("ok")
"""


def test_the_original_outlives_its_copies() -> None:
    assert run(sys.executable, "-c", AFTER) == "ok\n"


def test_a_freed_buffer_knows_it_in_its_copy(job: None) -> None:
    made = nvshmem.buffer(64)
    other = copy.copy(made)
    nvshmem.free(other)
    assert not made.is_live
    fails(lambda: nvshmem.free(made), "was freed already")
    gc.collect()
    assert nvshmem.heap_stats().allocations == 0


def test_a_look_into_a_job_is_not_duplicated(job: None) -> None:
    inspect = pytest.importorskip("nvshmemrs.inspect")
    made = inspect.this_job()
    seen = made.snapshot()
    assert copy.copy(made) is made and copy.deepcopy([made])[0] is made
    fails(lambda: pickle.dumps(made), "cannot pickle 'Job' object", TypeError)
    assert copy.deepcopy(seen) == seen == pickle.loads(pickle.dumps(seen))
    gc.collect()
    assert made.n_pes() == 1
