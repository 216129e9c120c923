"""Calls for which ctypes converts nothing: a plain number must be an int32 there, or it is cut."""

from __future__ import annotations

import ctypes
from typing import Any, Callable, Dict, Optional, Set

import numpy as np
import pytest

import nvshmemrs.core as nvshmem
from nvshmemrs import _ffi
from nvshmemrs.core import SignalOp, collective, rma

SET = SignalOp.SIGNAL_SET
LARGE = 2**40 + 3


def is_bare(value: object) -> bool:
    """Whether it came from `bare`: all other functions of the library have argument types."""
    name = getattr(value, "__name__", None)
    return isinstance(name, str) and getattr(value, "argtypes", ()) is None


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> Dict[str, bool]:
    """The names of all such functions, and whether they were called. Their arguments are looked at."""
    names: Dict[str, bool] = {}

    def watched(function: Any) -> Callable[..., int]:
        name = function.__name__
        types = getattr(_ffi.lib, name).argtypes
        names[name] = False

        def call(*arguments: Any) -> int:
            assert len(arguments) == len(types), name
            for number, (argument, kind) in enumerate(zip(arguments, types)):
                assert isinstance(argument, int) == (kind is ctypes.c_int32), (name, number)
            names[name] = True
            status: int = function(*arguments)
            return status

        call.__name__ = name
        return call

    for module in (rma, collective):
        for name, value in list(vars(module).items()):
            if is_bare(value):
                monkeypatch.setattr(module, name, watched(value))
            elif isinstance(value, tuple) and value and is_bare(value[0]):
                monkeypatch.setattr(module, name, (watched(value[0]), *value[1:]))
            elif is_bare(getattr(value, "plain", None)):
                monkeypatch.setattr(value, "plain", watched(value.plain))
    return names


@pytest.mark.parametrize("queued", [False, True])
def test_arguments_are_not_cut(job: None, called: Dict[str, bool], queued: bool) -> None:
    a, b = nvshmem.array(8, "i4"), nvshmem.array(8, "i4")
    sig = nvshmem.array(2, "u8")
    team = nvshmem.team_split_strided("WORLD", 0, 1, 1)
    assert team is not None
    stream: Optional[nvshmem.Stream] = nvshmem.Stream() if queued else None
    done: Set[str] = set()
    b[:] = range(8)

    def check(name: str, *arguments: Any) -> None:
        a[:] = 9
        getattr(nvshmem, name)(*arguments, stream=stream)
        nvshmem.quiet(stream)
        if stream is not None:
            stream.synchronize()
        assert a.tolist() == ([0] * 8 if name == "exscan" else list(range(8))), name
        done.add(f"nvshmemrs_{name}")

    for name in ("put", "put_nbi", "get", "get_nbi"):
        check(name, a, b, 0)
    for number, name in enumerate(("put_signal", "put_signal_nbi")):
        check(name, a, b, sig[number : number + 1], LARGE, SET, 0)
    assert sig.tolist() == [LARGE, LARGE]
    nvshmem.signal_op(sig[:1], LARGE, SignalOp.SIGNAL_ADD, 0, stream)
    assert nvshmem.signal_fetch(sig[:1], stream) == 2 * LARGE
    done.add("nvshmemrs_signal_op")
    for name in ("reduce", "reducescatter", "inscan", "exscan"):
        check(name, team, a, b, "sum")
    for name in ("fcollect", "collect", "alltoall", "broadcast", "gather", "scatter"):
        check(name, team, a, b)
    assert done == set(called) and all(called.values())


def test_numbers_that_would_be_cut_are_errors(job: None) -> None:
    a, sig = nvshmem.array(2, "i4"), nvshmem.array(1, "u8")
    b = np.ones(2, "i4")
    c = nvshmem.array(2, "i4")
    c[:] = 1
    for number in (2**32, -(2**32), 2**32 + 1, 2**64 + 1):
        for call in (
            lambda: nvshmem.put(a, b, number),
            lambda: nvshmem.put_signal(a, b, sig, 1, SET, number),
            lambda: nvshmem.put_signal(a, b, sig, 1, number, 0),
            lambda: nvshmem.signal_op(sig, 1, number, 0),
            lambda: nvshmem.broadcast(0, a, c, root=number),
            lambda: nvshmem.reduce(0, a, c, number),
        ):
            with pytest.raises(nvshmem.NvshmemInvalid):
                call()
    assert not a.any() and not sig.any()
