"""One test for each defect of nvshmem.core 0.4.1 that concerns the host, so that we do not have it.

D2, D3, D22 and D24 are in its device functions, which host memory does not have.
"""

from __future__ import annotations

import builtins
import gc
import logging
import subprocess
import sys

import numpy as np
import pytest
from conftest import fails

import nvshmemrs.core as nvshmem
from nvshmemrs.core import TeamConfig, Teams


def test_d1_atomics_write(job: None) -> None:
    a = nvshmem.array(3, "i8")
    nvshmem.atomic_add(a, 4, 0, offset=1)
    assert nvshmem.atomic_fetch_xor(a, 6, 0, offset=1) == 4
    assert nvshmem.atomic_compare_swap(a, 2, -9, 0, offset=1) == 2
    assert a.tolist() == [0, -9, 0]


def test_d4_the_error_is_the_one_that_is_meant(job: None) -> None:
    a = nvshmem.buffer(8)
    assert nvshmem.collective_on_buffer("fcollect", 0, a, a, stream=None) is None
    with pytest.raises(nvshmem.NvshmemInvalid, match="op='avg': the operations are sum"):
        nvshmem.collective_on_buffer("reduce", 0, a, a, "float", "avg")


def test_d5_module_functions_say_what_they_lack(capfd: pytest.CaptureFixture[str]) -> None:
    for function in (nvshmem.module_init, nvshmem.module_finalize):
        fails(lambda: function(object()), "needs a GPU", nvshmem.NotSupportedError)
    with pytest.raises(nvshmem.NotSupportedError, match="needs a GPU"):
        nvshmem.NvshmemKernelObject.from_obj_bytes(b"")
    assert capfd.readouterr() == ("", "")


def test_d6_finalize_frees_what_is_left(caplog: pytest.LogCaptureFixture) -> None:
    nvshmem.init(heap_bytes=1 << 22)
    held = nvshmem.array(1 << 18, "f4")
    with caplog.at_level(logging.INFO, "nvshmemrs"):
        nvshmem.finalize()
    assert "1 allocations" in caplog.text
    for _ in range(8):  # would not fit if anything were left
        nvshmem.init(heap_bytes=1 << 22)
        more = nvshmem.array(1 << 18, "f4")
        assert nvshmem.heap_stats().allocations == 1
        nvshmem.finalize()
    assert held.sum() == more.sum() == 0


def test_d7_a_view_is_not_its_allocation(job: None) -> None:
    a, b = nvshmem.array((4, 4), "i4"), nvshmem.array((4, 4), "i4")
    b[:] = 1
    nvshmem.put(a[:2], b[:2], 0)  # a view from the base
    nvshmem.reduce(0, a[3, 1:3], b[3, 1:3], "sum")  # one from the middle
    nvshmem.put(a[2, ::2], b[2, ::2], 0)  # and one with strides
    assert a.tolist() == [[1, 1, 1, 1], [1, 1, 1, 1], [1, 0, 1, 0], [0, 1, 1, 0]]


def test_d8_sizes_are_checked(job: None) -> None:
    big, small, empty = nvshmem.array(8), nvshmem.array(4), nvshmem.array(1)[:0]
    for call in (
        lambda: nvshmem.reduce(0, big, small, "sum"),
        lambda: nvshmem.broadcast(0, big, small),
        lambda: nvshmem.fcollect(0, small, big),
        lambda: nvshmem.alltoall(0, small, big),
        lambda: nvshmem.reducescatter(0, small, big, "sum"),
    ):
        fails(call, "elements of float32")
    small[:] = 3
    nvshmem.reduce(0, empty, empty, "sum")  # no elements, not one
    nvshmem.fcollect(0, empty, empty)
    assert (small == 3).all() and not big.any()


def test_d9_bytearray_has_the_bytes_of_shape_and_dtype(job: None) -> None:
    a = nvshmem.bytearray((2, 3), "f8")
    assert a.dtype == np.uint8 and a.nbytes == 48


def test_d10_a_pe_is_always_named_and_checked(job: None) -> None:
    a, local = nvshmem.array(1), np.ones(1, "f4")
    for call in (
        lambda: nvshmem.put(a, local),
        lambda: nvshmem.put(a, local, -1),
        lambda: nvshmem.get(local, a, 1),
        lambda: nvshmem.atomic_add(a, 1),
        lambda: nvshmem.get_peer_array(a),
        lambda: nvshmem.get_peer_array(a, 1),
    ):
        fails(call, "pe|PE")
    assert a[0] == 0


def test_d11_no_stream_is_needed_and_a_wrong_one_is_one_error(job: None) -> None:
    a = nvshmem.array(1)
    nvshmem.put(a, np.ones(1, "f4"), 0)
    nvshmem.barrier_all()
    nvshmem.collective_on_buffer("broadcast", 0, *[nvshmem.buffer(4)] * 2)
    for call in (
        lambda: nvshmem.quiet(5),
        lambda: nvshmem.barrier(0, 5),
        lambda: nvshmem.collective_on_buffer("broadcast", 0, *[nvshmem.buffer(4)] * 2, stream=5),
        lambda: nvshmem.put(a, a.copy(), 0, stream=object()),
    ):
        fails(call, "nvshmem.Stream", nvshmem.NotSupportedError)


def test_d12_failures_are_nvshmem_errors(job: None) -> None:
    with pytest.raises(nvshmem.NvshmemError) as caught:
        nvshmem.put(np.zeros(1), np.zeros(1), 0)
    assert caught.value.status == 4 and "argument `dst` is 0x" in caught.value.msg
    assert nvshmem.init_status() is nvshmem.InitStatus.STATUS_IS_INITIALIZED


def test_d13_missing_libraries_are_errors() -> None:
    for function in (nvshmem.tensor, nvshmem.interop.torch.empty, nvshmem.interop.cupy.array):
        fails(lambda: function((2, 2)), "NumPy", nvshmem.NotSupportedError)


def test_d14_init(capfd: pytest.CaptureFixture[str]) -> None:
    nvshmem.init()  # the default method works
    fails(lambda: nvshmem.init(uid=nvshmem.get_unique_id(), rank=0, nranks=1), "finalize first")
    nvshmem.finalize()
    assert capfd.readouterr() == ("", "")


def test_d15_structs_start_defined() -> None:
    for _ in range(10):
        config = TeamConfig()
        assert (config.version, config.num_contexts, config.uniqueid) == (2, 0, 0)
    assert nvshmem.UniqueID().version == 0 and not any(bytes(nvshmem.UniqueID()))


def test_d16_teams(job: None) -> None:
    for arguments in ((0, 0, 1, 2), (0, 1, 1, 1), (0, 0, 1, 0)):
        fails(lambda: nvshmem.team_split_strided(*arguments))
    fails(lambda: nvshmem.team_translate_pe(0, 1, 0))
    nvshmem.team_split_strided(0, 0, 1, 1, new_team_name="TWICE")
    with pytest.raises(nvshmem.NvshmemInvalid, match="there is a team of that name"):
        nvshmem.team_split_strided(0, 0, 1, 1, new_team_name="TWICE")
    fails(lambda: nvshmem.team_destroy(0))
    assert Teams.TEAM_WORLD == 0
    nvshmem.finalize()
    assert "TWICE" not in Teams


def test_d17_peers_and_registered_memory(job: None) -> None:
    a = nvshmem.buffer(8)
    first, second = nvshmem.get_peer_buffer(a, 0), nvshmem.get_peer_buffer(a, 0)
    nvshmem.free(first)
    assert second.handle and nvshmem.get_peer_buffer(a, 0).handle
    pages = nvshmem.aligned_empty(4096, "u1")
    registered = nvshmem.register_external_buffer(pages)
    assert nvshmem.get_peer_buffer(registered, 0).handle
    fails(lambda: nvshmem.register_external_buffer(pages), "registered")
    nvshmem.unregister_external_buffer(registered)
    fails(lambda: nvshmem.unregister_external_buffer(registered), "was unregistered|not registered")


def test_d18_an_address_used_again_is_another_buffer(job: None) -> None:
    a = nvshmem.buffer(64, release=True)
    nvshmem.free(a)
    with pytest.raises(nvshmem.NvshmemInvalid, match="was freed already"):
        nvshmem.free(a)
    b = nvshmem.buffer(64, release=True)
    del a
    gc.collect()
    assert b.handle and nvshmem.heap_stats().released == 0
    fails(lambda: nvshmem.free(object()), "free takes a Buffer")


def test_d19_memory_order_is_kept(job: None) -> None:
    a = nvshmem.array((3, 5), "f4", morder="F")
    assert nvshmem.get_peer_array(a, 0).strides == a.strides
    mine = nvshmem.aligned_empty((3, 5), "f4", morder="F")
    registered = nvshmem.register_external_array(mine)
    assert registered.strides == mine.strides
    nvshmem.unregister_external_array(registered)


def test_d20_nothing_survives_finalize() -> None:
    nvshmem.init()
    a, stream = nvshmem.array(4), nvshmem.Stream()
    team = nvshmem.team_split_strided(0, 0, 1, 1, new_team_name="OLD")
    nvshmem.finalize()
    nvshmem.init()
    assert "OLD" not in Teams and nvshmem.heap_stats().allocations == 0
    for use in (
        lambda: nvshmem.put(a, np.ones(4, "f4"), 0),
        lambda: nvshmem.barrier(team),
        lambda: nvshmem.barrier_all(stream),
        lambda: nvshmem.free_array(a),
    ):
        fails(use)
    nvshmem.finalize()


def test_d21_coverage(job: None) -> None:
    a, b = nvshmem.array(2, "u4"), nvshmem.array(2, "u4")
    b[:] = [5, 6]
    for op in ("prod", "and", "or", "xor"):
        nvshmem.reduce(0, a, b, op)
        assert a.tolist() == [5, 6]
    c = nvshmem.array(2, "c16")
    nvshmem.put(c, np.array([1j, 2]), 0)
    nvshmem.p(a, 9, 0)
    assert nvshmem.g(a, 0) == 9 and c[0] == 1j
    nvshmem.iput(a, b, 1, 1, 2, 0)
    nvshmem.fence()
    nvshmem.wait_until(a, nvshmem.ComparisonType.CMP_EQ, 5)
    signal = nvshmem.array(1, "u8")  # an array is a signal, too
    nvshmem.signal_op(signal, 1, nvshmem.SignalOp.SIGNAL_SET, 0)
    assert nvshmem.signal_fetch(signal) == 1


def test_d23_a_star_import_keeps_the_builtins() -> None:
    names: dict = {}
    exec("from nvshmemrs.core import *", names)
    assert names["put"] is nvshmem.put
    # All modules except `device`, which programs of nvshmem.core import so.
    assert set(nvshmem.__all__) & set(dir(builtins)) == {"bytearray"}


def test_d25_calls_before_init_raise() -> None:
    program = """
import nvshmemrs.core as nvshmem
for call in (lambda: nvshmem.team_translate_pe(0, 0, 1), lambda: nvshmem.barrier(0),
             lambda: nvshmem.sync_all(), nvshmem.quiet, lambda: nvshmem.team_destroy(0)):
    try:
        call()
    except nvshmem.NotInitializedError:
        print("raised")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "raised\n" * 5 and done.stderr == "" and done.returncode == 0
    assert nvshmem.get_version().openshmem_spec_version == "1.5"
