"""Streams and events with one PE. Several PEs: programs/streams.py."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from conftest import fails

import nvshmemrs.core as nvshmem
from nvshmemrs.core import ComparisonType, SignalOp


def test_what_is_queued_runs_in_order(job: None) -> None:
    a = nvshmem.array(3, "i8")
    with nvshmem.Stream() as stream:
        assert stream.handle and stream.query() and "Stream" in repr(stream)
        for value in range(1000):
            nvshmem.atomic_add(a, value, 0, stream=stream)
            assert a[2] == 0
        assert nvshmem.atomic_fetch(a, 0, stream=stream) == 999 * 1000 // 2  # waits for it
        nvshmem.barrier_all(stream)
        stream.sync()
    assert stream.handle == 0 and "closed" in repr(stream)
    fails(lambda: nvshmem.quiet(stream), "this stream was closed")
    stream.close()


def test_a_queue_does_not_hold_up_its_caller(job: None) -> None:
    gate, a = nvshmem.array(1, "u8"), nvshmem.array(4, "f4")
    with nvshmem.Stream() as stream:
        assert nvshmem.signal_wait(gate, 1, ComparisonType.CMP_EQ, stream) is None
        source = np.arange(4, dtype="f4")
        nvshmem.put(a, source, 0, stream)
        nvshmem.reduce(0, a, a, "max", stream)
        done = stream.record()
        assert not stream.query() and not done.query() and not a.any()
        nvshmem.signal_op(gate, 1, SignalOp.SIGNAL_SET, 0)
        done.synchronize()
        assert a.tolist() == [0, 1, 2, 3]


def test_events(job: None) -> None:
    gate, a = nvshmem.array(1, "u8"), nvshmem.array(1, "i4")
    with nvshmem.Stream() as first, nvshmem.Stream() as second:
        never = nvshmem.Event()
        assert never.query()
        second.wait(never)  # not recorded: holds up nobody
        never.synchronize()
        start = first.record(nvshmem.Event())
        fails(lambda: start.elapsed(never))
        nvshmem.signal_wait(gate, 1, ComparisonType.CMP_EQ, stream=first)
        second.wait(first)
        nvshmem.p(a, 5, 0, second)
        assert not second.query() and a[0] == 0
        nvshmem.signal_op(gate, 1, SignalOp.SIGNAL_SET, 0)
        end = second.record()
        end.wait()
        assert a[0] == 5 and end - start == start.elapsed(end) > 0 and end.is_done
        end.wait(first)
        for wrong in (lambda: first.wait(7), lambda: first.record(7), lambda: start.elapsed(7)):
            fails(wrong, "Event")
        with pytest.raises(TypeError):
            end - 3


def test_arrays_are_kept_until_they_are_not_needed(job: None) -> None:
    a = nvshmem.array(8, "u1")
    with nvshmem.Stream() as stream:
        source = np.ones(8, "u1")
        watch = weakref.ref(source)
        nvshmem.put(a, source, 0, stream)
        del source
        assert watch() is not None
        stream.synchronize()
        assert watch() is None
        # Without any synchronize, the list of kept arrays does not grow for ever.
        watches = []
        for _ in range(5000):
            source = np.ones(8, "u1")
            watches.append(weakref.ref(source))
            nvshmem.put(a, source, 0, stream)
            if len(watches) % 500 == 0:
                stream.record().synchronize()
        del source
        assert sum(watch() is not None for watch in watches) < 1500


def test_errors_wait_for_synchronize(job: None) -> None:
    a = nvshmem.array(2, "i4")
    with nvshmem.Stream() as stream:
        nvshmem.put(a, np.ones(2, "i4"), 1, stream)  # there is no PE 1
        nvshmem.put(a, np.full(2, 7, "i4"), 0, stream)
        fails(stream.synchronize, "PE|pe")
        stream.synchronize()
        assert a.tolist() == [7, 7]
        with pytest.raises(nvshmem.NvshmemInvalid, match="dst is a|count=|dtype"):
            nvshmem.put(a, np.ones(2), 0, stream)  # errors found by Python are raised at once
        stream.synchronize()
    last = nvshmem.Stream()
    nvshmem.p(np.zeros(1), 1.0, 0, last)
    fails(last.close, "`dst`")
    assert last.handle == 0


def test_an_exception_does_not_wait_for_the_queue(job: None) -> None:
    gate = nvshmem.array(1, "u8")
    with pytest.raises(ZeroDivisionError):
        with nvshmem.Stream() as stream:
            nvshmem.signal_wait(gate, 1, ComparisonType.CMP_EQ, stream)
            1 / 0
    assert stream.handle and not stream.query()
    nvshmem.signal_op(gate, 1, SignalOp.SIGNAL_SET, 0)
    stream.close()


def test_streams_that_are_dropped(job: None) -> None:
    gate, a = nvshmem.array(1, "u8"), nvshmem.array(300, "i4")
    stream = nvshmem.Stream()
    nvshmem.signal_wait(gate, 1, ComparisonType.CMP_EQ, stream)
    for index in range(300):
        nvshmem.put(a[index : index + 1], np.array([index], "i4"), 0, stream)
    done = stream.record()
    del stream
    gc.collect()
    assert not a.any()
    nvshmem.signal_op(gate, 1, SignalOp.SIGNAL_SET, 0)
    done.synchronize()
    assert a.tolist() == list(range(300))
    nvshmem.Stream().close()  # and closes the idle one


def test_streams_end_with_the_job() -> None:
    nvshmem.init()
    a, stream = nvshmem.array(1, "i4"), nvshmem.Stream()
    event = stream.record()
    nvshmem.p(a, 3, 0, stream)
    nvshmem.finalize()
    assert a[0] == 3 and stream.handle == 0
    for use in (stream.synchronize, stream.query, stream.record, event.query, event.synchronize):
        fails(use, "finalize")
    stream.close()
    nvshmem.init()
    fails(lambda: nvshmem.barrier_all(stream), "finalize")
    nvshmem.finalize()


class Cuda:
    """Stand-ins for streams of cuda.core, torch and CuPy."""

    def __cuda_stream__(self) -> tuple:
        return (0, 1234)


@pytest.mark.parametrize("stream", [Cuda(), 1234, object(), "stream"])
def test_streams_of_others_are_refused(job: None, stream: object) -> None:
    a, local, signal = nvshmem.array(2), np.zeros(2, "f4"), nvshmem.array(1, "u8")
    b, team = nvshmem.array(2), nvshmem.Teams.TEAM_WORLD
    calls = [
        lambda: nvshmem.put(a, local, 0, stream=stream),
        lambda: nvshmem.put(a[::2], local[::2], 0, stream=stream),
        lambda: nvshmem.get_nbi(local, a, 0, stream=stream),
        lambda: nvshmem.put_signal(a, b, signal, 1, SignalOp.SIGNAL_SET, 0, stream),
        lambda: nvshmem.signal_op(signal, 1, SignalOp.SIGNAL_SET, 0, stream),
        lambda: nvshmem.signal_wait(signal, 1, ComparisonType.CMP_EQ, stream),
        lambda: nvshmem.signal_fetch(signal, stream),
        lambda: nvshmem.p(a, 1, 0, stream),
        lambda: nvshmem.g(a, 0, stream),
        lambda: nvshmem.iput(a, local, 1, 1, 1, 0, stream),
        lambda: nvshmem.quiet(stream),
        lambda: nvshmem.flush(stream),
        lambda: nvshmem.fence(stream),
        lambda: nvshmem.atomic_inc(signal, 0, stream=stream),
        lambda: nvshmem.atomic_fetch(signal, 0, stream=stream),
        lambda: nvshmem.wait_until(signal, ComparisonType.CMP_EQ, 0, stream),
        lambda: nvshmem.test(signal, ComparisonType.CMP_EQ, 0, stream),
        lambda: nvshmem.barrier_all(stream),
        lambda: nvshmem.sync(team, stream),
        lambda: nvshmem.reduce(team, a, b, "sum", stream),
        lambda: nvshmem.reducescatter(team, a, b, "sum", stream),
        lambda: nvshmem.inscan(team, a, b, "sum", stream),
        lambda: nvshmem.fcollect(team, a, b, stream),
        lambda: nvshmem.collect(team, a, b, stream),
        lambda: nvshmem.alltoall(team, a, b, stream),
        lambda: nvshmem.alltoalls(team, a, b, 1, 1, 2, stream),
        lambda: nvshmem.broadcast(team, a, b, 0, stream),
        lambda: nvshmem.gather(team, a, b, 0, stream),
        lambda: nvshmem.scatter(team, a, b, 0, stream),
    ]
    for call in calls:
        fails(call, "make one with nvshmem.Stream", nvshmem.NotSupportedError)
    if not isinstance(stream, int):  # a number there is a PE
        with pytest.raises(nvshmem.NotSupportedError, match="make one with nvshmem.Stream"):
            nvshmem.put(a, local, 0, stream)
    assert not a.any() and signal[0] == 0
