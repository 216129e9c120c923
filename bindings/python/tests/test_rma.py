"""put, get, signals: sizes, spellings and wrong arguments, with one PE. Views: test_views.py."""

from __future__ import annotations

import sys
import threading
import time
import weakref
from typing import Callable

import numpy as np
import pytest
from conftest import fails, program, run_job

import nvshmemrs.core as nvshmem
from nvshmemrs.core import ComparisonType, SignalOp


@pytest.mark.parametrize("function", ["put", "get", "put_nbi", "get_nbi"])
def test_four_functions(job: None, function: str) -> None:
    a, b = nvshmem.array(4, "u2"), np.arange(4, dtype="u2")
    a[:] = 9
    if function.startswith("put"):
        getattr(nvshmem, function)(a, b, 0)
        nvshmem.quiet()
        assert a.tolist() == [0, 1, 2, 3]
    else:
        getattr(nvshmem, function)(b, a, np.int64(0))
        nvshmem.quiet()
        assert b.tolist() == [9, 9, 9, 9]


def test_count(job: None) -> None:
    a = nvshmem.array(5, "f8")
    nvshmem.put(a, np.ones(3), count=2, pe=0)
    assert a.tolist() == [1, 1, 0, 0, 0]
    nvshmem.put(a, np.ones(3), 0, count=0)
    for count in (4, -1, 1.0, "2"):
        fails(lambda: nvshmem.put(a, np.ones(3), 0, count=count), "count=")


def test_spellings(job: None) -> None:
    a, b = nvshmem.array(6, "f4"), np.arange(6, dtype="f4")
    with nvshmem.Stream() as stream:
        nvshmem.put(a, b, 2, 0, stream=stream)  # count and PE
        stream.synchronize()
        assert a.tolist() == [0, 1, 0, 0, 0, 0]
        nvshmem.put(a, b, 0, stream)  # PE and stream
        stream.synchronize()
        assert a.tolist() == b.tolist()
        for arguments, named in (
            ((2, 0), {"count": 2}),
            ((2, 0), {"pe": 0}),
            ((0, stream), {"stream": stream}),
            ((0, "x"), {}),
        ):
            fails(lambda: nvshmem.put(a, b, *arguments, **named), "give|takes no stream")
        fails(lambda: nvshmem.put(a, b, 0, stream, 4), "5 were given", TypeError)
    nvshmem.put(a, a, count=a.size, pe=0)
    nvshmem.get(b, a, 3, np.int32(0))
    nvshmem.get(b, a, 0, None)


@pytest.mark.parametrize("dtype", ["i1", "u8", "f2", "f8", "c16", "?", "i4,f8", "M8[s]"])
def test_p_and_g(job: None, dtype: str) -> None:
    a = nvshmem.array(4, dtype)
    before = a.tolist()
    value = np.array([7]).astype(dtype)[0] if dtype != "i4,f8" else (3, 4.5)
    nvshmem.p(a[2:], value, 0)
    got = nvshmem.g(a[2:], 0)
    assert got == np.array(value, dtype) and got.dtype == a.dtype
    with nvshmem.Stream() as stream:
        assert nvshmem.g(a[2:], 0, stream) == got
        nvshmem.p(a[1:], value, 0, stream)
    assert a[1] == a[2] and a[[0, 3]].tolist() == [before[0], before[3]]


def test_p_and_g_refuse(job: None) -> None:
    a, b = nvshmem.array(2, "i1"), nvshmem.buffer(8)
    for value in (128, -129, 1.5, "x", None, np.int64(300)):
        fails(lambda: nvshmem.p(a, value, 0), "value=")
    fails(lambda: nvshmem.p(a[:0], 1, 0), "empty")
    fails(lambda: nvshmem.g(a[:0], 0), "empty")
    fails(lambda: nvshmem.p(b, 1, 0), "pass dtype")
    fails(lambda: nvshmem.g(b, 0, dtype="c16"), "no whole number")
    fails(lambda: nvshmem.g(a, 0, dtype="i2"), "has dtype int8")
    nvshmem.p(b, -5, 0, dtype="i8")
    assert nvshmem.g(b, 0, dtype="i8") == -5 and not a.any()


@pytest.mark.parametrize("function", ["iput", "iget"])
def test_strided(job: None, function: str) -> None:
    symmetric, local = nvshmem.array(20, "i4"), np.arange(20, dtype="i4")
    if function == "iput":
        nvshmem.iput(symmetric, local, 3, 2, 5, 0)
        found = symmetric
    else:
        symmetric[:] = local
        found = np.zeros(20, "i4")
        nvshmem.iget(found, symmetric, 3, 2, 5, pe=0)
    wanted = np.zeros(20, "i4")
    wanted[:15:3] = local[:10:2]
    assert found.tolist() == wanted.tolist()


@pytest.mark.parametrize("function", ["ibput", "ibget"])
def test_block_strided(job: None, function: str) -> None:
    symmetric, local = nvshmem.array(24, "i2"), np.arange(24, dtype="i2")
    if function == "ibput":
        nvshmem.ibput(symmetric, local, 5, 4, 3, 4, 0)
        found = symmetric
    else:
        symmetric[:] = local
        found = np.zeros(24, "i2")
        nvshmem.ibget(found, symmetric, 5, 4, 3, 4, 0)
    wanted = np.zeros(24, "i2")
    for block in range(4):
        wanted[5 * block : 5 * block + 3] = local[4 * block : 4 * block + 3]
    assert found.tolist() == wanted.tolist()


def test_strided_refuse(job: None) -> None:
    a, local, b = nvshmem.array(10, "i4"), np.ones(10, "i4"), nvshmem.buffer(40)
    for arguments in ((0, 1, 2), (1, -1, 2), (1, 1, -1), (5, 1, 3), (1, 2, 6), ("1", 1, 1)):
        fails(lambda: nvshmem.iput(a, local, *arguments, 0), "stride=|count=")
    for arguments in ((2, 3, 3, 2), (3, 2, 3, 2), (6, 3, 5, 2), (1, 1, 0, 1)):
        fails(lambda: nvshmem.ibget(local, a, *arguments, 0), "blocks of")
    fails(lambda: nvshmem.iput(a[::2], local, 1, 1, 2, 0), "not C-contiguous")
    fails(lambda: nvshmem.iput(b, local, 1, 1, 2, 0), "pass dtype")
    nvshmem.iput(b, local, 2, 1, 3, 0, dtype="i4")
    nvshmem.iput(a, local, 3, 3, 0, 0)
    assert np.asarray(b).view("i4")[[0, 2, 4]].tolist() == [1, 1, 1] and not a.any()


@pytest.mark.parametrize(
    ("dst", "src", "message"),
    [
        (slice(0, 4), np.ones(3), "dst is 4 elements of float64 .32 bytes. and src 3 elements"),
        (slice(0, 4), np.ones(4, "f4"), "dst has dtype float64 and src float32"),
        (slice(0, 8, 2), np.ones(8)[::3], "dst is 4 elements of float64 .* src 3 elements"),
        (slice(0, 4), [1, 2, 3, 4], "src is a list"),
        (slice(0, 4), np.float64(1), "src is a float64"),
        (slice(0, 4), np.array([None] * 4), "Python objects"),
    ],
)
def test_put_refuses(job: None, dst: slice, src: object, message: str) -> None:
    a = nvshmem.array(8, "f8")
    fails(lambda: nvshmem.put(a[dst], src, 0), message)
    with pytest.raises(nvshmem.NvshmemInvalid, match=message):
        nvshmem.put_signal(a[dst], src, nvshmem.buffer(8), 1, SignalOp.SIGNAL_SET, 0)
    assert not a.any()


@pytest.mark.parametrize("pe", [1, -1, 2**31 - 1, 2**32, 2**80, None, 0.0, "0"])
def test_wrong_pe(job: None, pe: object) -> None:
    a, sig = nvshmem.array(1), nvshmem.array(1, "u8")
    local = np.ones(1, "f4")
    calls = [
        lambda: nvshmem.put(a, local, pe),
        lambda: nvshmem.put_nbi(a, local, pe),
        lambda: nvshmem.get(local, a, pe),
        lambda: nvshmem.get_nbi(local, a, pe),
        lambda: nvshmem.put_signal(a, local, sig, 1, SignalOp.SIGNAL_SET, pe),
        lambda: nvshmem.put_signal_nbi(a, local, sig, 1, SignalOp.SIGNAL_SET, pe),
        lambda: nvshmem.signal_op(sig, 1, SignalOp.SIGNAL_SET, pe),
    ]
    for call in calls:
        fails(call, "pe|PE")
    assert a[0] == 0 and sig[0] == 0 and local[0] == 1
    fails(lambda: nvshmem.put(a, local, 0, pe=0), "give one of them")
    for call in (
        lambda: nvshmem.p(a, 1, pe),
        lambda: nvshmem.g(a, pe),
        lambda: nvshmem.iput(a, local, 1, 1, 1, pe),
        lambda: nvshmem.iget(local, a, 1, 1, 1, pe),
        lambda: nvshmem.ibput(a, local, 1, 1, 1, 1, pe),
        lambda: nvshmem.ibget(local, a, 1, 1, 1, 1, pe),
        lambda: nvshmem.put(a.view("i2")[::2], local.view("i2")[::2], pe),
        lambda: nvshmem.atomic_inc(sig, pe),
        lambda: nvshmem.atomic_fetch(sig, pe),
        lambda: nvshmem.atomic_fetch_nbi(np.zeros(1, "u8"), sig, pe),
    ):
        fails(call, "pe|PE")
    assert a[0] == 0 and sig[0] == 0 and local[0] == 1


def test_what_is_not_symmetric(job: None) -> None:
    a, local = nvshmem.array(2), np.zeros(2, "f4")
    with pytest.raises(nvshmem.NvshmemInvalid, match="dst") as caught:
        nvshmem.put(local, a, 0)
    assert caught.value.status == 4
    fails(lambda: nvshmem.get(local, np.ones(2, "f4"), 0), "src")
    with pytest.raises(nvshmem.NvshmemInvalid, match="signal"):
        nvshmem.put_signal(a, local, np.zeros(1, "u8"), 1, SignalOp.SIGNAL_SET, 0)
    fails(lambda: nvshmem.reduce("WORLD", a, local, "sum"), "dst|src")
    fails(lambda: nvshmem.broadcast("WORLD", local, a), "dst|src")


def test_read_only_destinations(job: None) -> None:
    a, local = nvshmem.array(2), np.ones(2, "f4")
    local.flags.writeable = False
    nvshmem.put(a, local, 0)
    for function in (nvshmem.get, nvshmem.get_nbi):
        fails(lambda: function(local, a, 0), "read-only")


def test_signals(job: None) -> None:
    a, sig = nvshmem.array(4, "f8"), nvshmem.array(2, "u8")
    nvshmem.put_signal(a, np.arange(4.0), sig[1:], 5, SignalOp.SIGNAL_SET, 0)
    assert sig.tolist() == [0, 5] and a.tolist() == [0, 1, 2, 3]
    assert nvshmem.signal_wait(sig[1:], 5, ComparisonType.CMP_GE) == 5
    nvshmem.signal_op(sig[:1], 2**64 - 1, SignalOp.SIGNAL_ADD, 0)
    nvshmem.signal_op(sig[:1], 4, SignalOp.SIGNAL_ADD, pe=0)
    assert nvshmem.signal_fetch(sig[:1]) == 3
    nvshmem.put_signal_nbi(a, np.ones(4), sig[:1], 9, SignalOp.SIGNAL_SET, 0, count=1)
    nvshmem.quiet()
    assert a[:2].tolist() == [1, 1] and nvshmem.signal_fetch(sig[:1]) == 9
    nvshmem.fence()
    with nvshmem.buffer(8) as b:
        nvshmem.signal_op(b, 1, SignalOp.SIGNAL_SET, 0)
        assert nvshmem.signal_wait(b, 0, ComparisonType.CMP_GT) == 1


def test_wrong_signals(job: None) -> None:
    a, sig = nvshmem.array(1, "f8"), nvshmem.array(1, "u8")
    fails(lambda: nvshmem.signal_fetch(a), "dtype float64: a signal is a uint64")
    fails(lambda: nvshmem.signal_fetch(nvshmem.buffer(4)), "needs 8 bytes")
    fails(lambda: nvshmem.signal_fetch(sig[0]), "signal_var is a uint64")
    for value in (-1, 2**64, 1.5):
        fails(lambda: nvshmem.signal_op(sig, value, SignalOp.SIGNAL_SET, 0), "signal_val=")
    fails(lambda: nvshmem.signal_op(sig, 1, 3, 0), "signal_op")
    fails(lambda: nvshmem.signal_wait(sig, 1, ComparisonType.CMP_SENTINEL), "cmp")
    assert sig[0] == 0


def test_a_wait_has_a_deadline() -> None:
    nvshmem.init(timeout=0.2)
    sig = nvshmem.array(1, "u8")
    with pytest.raises(nvshmem.WaitTimeoutError, match="signal_wait") as caught:
        nvshmem.signal_wait(sig, 1, ComparisonType.CMP_EQ)
    assert isinstance(caught.value, TimeoutError)
    nvshmem.free_array(sig)
    nvshmem.finalize()


def test_a_long_wait_in_another_thread(job: None, capfd: pytest.CaptureFixture[str]) -> None:
    sig = nvshmem.array(1, "u8")
    seen = []
    waiter = threading.Thread(
        target=lambda: seen.append(nvshmem.signal_wait(sig, 7, ComparisonType.CMP_EQ))
    )
    waiter.start()
    time.sleep(0.2)  # long enough for the wait to call the interrupt hook
    assert seen == []
    nvshmem.signal_op(sig, 7, SignalOp.SIGNAL_SET, 0)
    waiter.join()
    assert seen == [7]
    assert capfd.readouterr() == ("", "")


def test_nothing_works_before_init_and_after_finalize() -> None:
    def everything(symmetric: object) -> None:
        local = np.ones(1)
        calls = [
            nvshmem.my_pe,
            nvshmem.n_pes,
            nvshmem.finalize,
            nvshmem.quiet,
            nvshmem.fence,
            nvshmem.barrier_all,
            nvshmem.sync_all,
            nvshmem.heap_stats,
            lambda: nvshmem.buffer(8),
            lambda: nvshmem.array(8),
            lambda: nvshmem.array(-8),
            lambda: nvshmem.bytearray(8),
            lambda: nvshmem.barrier("TEAM_WORLD"),
            lambda: nvshmem.sync(0),
            lambda: nvshmem.team_my_pe(0),
            lambda: nvshmem.team_n_pes(0),
            lambda: nvshmem.team_translate_pe(0, 0, 0),
            lambda: nvshmem.put(local, local, 0),
            lambda: nvshmem.get(local, local, 0),
            lambda: nvshmem.reduce(0, local, local, "sum"),
            lambda: nvshmem.broadcast(0, local, local),
            lambda: nvshmem.signal_fetch(np.ones(1, "u8")),
            lambda: nvshmem.free(None),
            lambda: nvshmem.realloc(None, 8),
            lambda: nvshmem.register_external_array(nvshmem.aligned_empty(1)),
            lambda: nvshmem.team_split_strided(0, 0, 1, 1),
            lambda: nvshmem.team_split_2d(0, 1),
            lambda: nvshmem.team_init(nvshmem.TeamConfig(uniqueid=1), 0, 1, 0),
            lambda: nvshmem.team_destroy(0),
            lambda: nvshmem.team_get_config(0),
            nvshmem.get_team_unique_id,
            nvshmem.Stream,
            nvshmem.Event,
            nvshmem.flush,
            lambda: nvshmem.p(local, 1, 0),
            lambda: nvshmem.g(local, 0),
            lambda: nvshmem.put(local[::2], local[::2], 0),
            lambda: nvshmem.atomic_inc(np.ones(1, "i4"), 0),
            lambda: nvshmem.atomic_fetch(local, 0),
            lambda: nvshmem.fcollect(0, local, local),
            lambda: nvshmem.alltoall(0, local, local),
            lambda: nvshmem.collect(0, local, local),
            lambda: nvshmem.reducescatter(0, local, local, "sum"),
            lambda: nvshmem.inscan(0, local, local),
            lambda: nvshmem.wait_until(local, ComparisonType.CMP_EQ, 1),
            lambda: nvshmem.test_any(local, ComparisonType.CMP_EQ, 1),
        ]
        for call in calls:
            fails(call, "init|finalize", nvshmem.NotInitializedError)
        if symmetric is not None:
            for call in (
                lambda: nvshmem.put(symmetric, local, 0),
                lambda: nvshmem.free_array(symmetric),
                lambda: nvshmem.get_peer_array(symmetric, 0),
            ):
                fails(call, "finalize")

    everything(None)
    nvshmem.init()
    left = nvshmem.array(1, "f8")
    nvshmem.finalize()
    everything(left)


def test_an_array_may_change_between_operations(job: None) -> None:
    a, big = nvshmem.array(4, "f8"), nvshmem.array(400, "f8")
    mine = np.full(4, 1.0)
    nvshmem.put(a, mine, 0)
    mine.resize(400)  # a reference of ours, weak or not, would be an error
    mine[:] = 2
    nvshmem.put(big, mine, 0)
    assert (big == 2).all()
    mine.resize(4)
    nvshmem.put(a, mine, 0)
    fails(lambda: nvshmem.put(big, mine, 0))
    assert a.tolist() == [2.0] * 4
    mine.__setstate__(np.full(4, 3.0).__reduce__()[2])
    nvshmem.put(a, mine, 0)
    assert a.tolist() == [3.0] * 4
    # Axes of a C-contiguous array may change places, too.
    wide, square = nvshmem.array((2, 2), "f8"), np.arange(4.0).reshape(1, 4)
    for shape in ((2, 2), (4, 1), (1, 4)):
        square.shape = shape
        wide[:] = -1
        nvshmem.put(wide[:, ::-1], square, 0)
        assert wide.tolist() == [[1, 0], [3, 2]]
    # Another array takes the place of an array that was freed.
    for number in range(200):
        one = np.full(1 + number % 3, number, "f8")
        nvshmem.put(big[: one.size], one, 0)
        assert (big[: one.size] == number).all()
        del one


MASKED = np.ma.array([1.0, 2.0, 3.0, 4.0], mask=[0, 1, 0, 0])


@pytest.mark.parametrize(
    "call",
    [
        lambda a: nvshmem.put(a, MASKED, 0),
        lambda a: nvshmem.put(a[::2], MASKED[::2], 0),
        lambda a: nvshmem.put_nbi(a, MASKED, 0),
        lambda a: nvshmem.get(MASKED, a, 0),
        lambda a: nvshmem.iput(a, MASKED, 1, 1, 2, 0),
        lambda a: nvshmem.p(a, np.ma.masked, 0),
        lambda a: nvshmem.p(nvshmem.array(1, "i4"), np.ma.array(3, mask=True), 0),
        lambda a: nvshmem.atomic_add(nvshmem.array(1, "i8"), np.ma.masked, 0),
        lambda a: nvshmem.reduce(nvshmem.Teams.TEAM_WORLD, a, MASKED, "sum"),
        lambda a: nvshmem.broadcast(nvshmem.Teams.TEAM_WORLD, a, MASKED),
        lambda a: nvshmem.wait_until_all(a, ComparisonType.CMP_EQ, 0.0, MASKED > 1),
        lambda a: nvshmem.wait_until_all(a, ComparisonType.CMP_EQ, MASKED),
        lambda a: nvshmem.array_get_buffer(a)[0].copy_from(MASKED),
        lambda a: nvshmem.register_external_array(MASKED),
    ],
)
def test_a_masked_array_is_refused(job: None, call: Callable[[np.ndarray], None]) -> None:
    a = nvshmem.array(4, "f8")
    fails(lambda: call(a), "is a masked array, .*operations know no masks")
    assert a.tolist() == [0.0] * 4


def test_nbi_keeps_its_arrays_until_quiet() -> None:
    for n in (1, 2):
        run_job(n, sys.executable, program("nbi.py"), check=True)


def test_nbi_on_a_stream_keeps_its_arrays_until_a_quiet_behind_it(job: None) -> None:
    a, stream = nvshmem.array(4, "f8"), nvshmem.Stream()

    def begin() -> "weakref.ref[np.ndarray]":
        dst = np.zeros(4)
        nvshmem.get_nbi(dst, a, 0, stream=stream)
        return weakref.ref(dst)

    kept = begin()
    nvshmem.quiet()
    stream.synchronize()
    assert kept() is not None, "no quiet came behind it"
    nvshmem.quiet()
    assert kept() is None
    for complete in (nvshmem.quiet, nvshmem.barrier_all):
        kept = begin()
        complete(stream=stream)
        stream.synchronize()
        assert kept() is None
    kept = begin()
    stream.close()
    nvshmem.barrier_all()
    assert kept() is None
