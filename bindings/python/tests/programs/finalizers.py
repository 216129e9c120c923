"""Collectors that run at different times on different PEs. The argument is the scenario.

A finaliser that waits for another PE hangs here, because that PE comes only afterwards; memory that is
used again before all PEs have let it go shows as contents that change.
"""

import gc
import sys
import threading
import time
from typing import Any, Callable, Dict, List

import numpy as np
from expect import raises

import nvshmemrs.core as nvshmem

MANY, EACH = 1000, 50
SCENARIOS: Dict[str, Callable[[], None]] = {}


def scenario(function: Callable[[], None]) -> Callable[[], None]:
    SCENARIOS[function.__name__] = function
    return function


def allocations() -> int:
    return nvshmem.heap_stats().allocations


def start_of(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def all_come_back(expected: int = 0) -> None:
    """What all PEs have collected is freed by the next allocation."""
    gc.collect()
    assert nvshmem.heap_stats().released == allocations() - expected, nvshmem.heap_stats()
    nvshmem.barrier_all()
    last = nvshmem.array(1, "u1")
    assert allocations() == expected + 1, nvshmem.heap_stats()
    nvshmem.free_array(last)


def tell(flag: np.ndarray, value: int) -> None:
    for pe in range(1, n):
        nvshmem.signal_op(flag, value, nvshmem.SignalOp.SIGNAL_SET, pe)


@scenario
def one_pe_collects() -> None:
    """PE 0 collects 1000 arrays in cycles, the others none until later; allocation goes on."""
    gc.disable()
    arrays: List[Any] = [nvshmem.array(EACH, "i8") for _ in range(MANY)]
    for index, array in enumerate(arrays):
        array[:] = index * 100 + me
    places = np.array([start_of(array) for array in arrays])
    nvshmem.barrier_all()
    if me == 0:
        for array in arrays:
            cycle: List[Any] = [array]
            cycle.append(cycle)
        del array, cycle
        arrays.clear()
        assert nvshmem.heap_stats().released == 0, "the cycles are not collected yet"
        assert gc.collect() >= MANY
        assert nvshmem.heap_stats().released == MANY
    later = []
    for step in range(40):
        fresh = nvshmem.array(EACH + step, "i8")
        start, end = start_of(fresh), start_of(fresh) + fresh.nbytes
        apart = (end <= places) | (places + EACH * 8 <= start)
        assert apart.all(), "memory of a kept array is used again"
        fresh[:] = -1
        later.append(fresh)
        if me != 0:
            index, pe = step * 37 % MANY, (me + step) % n
            seen = nvshmem.get_peer_array(arrays[index], pe)
            assert (seen == index * 100 + pe).all(), seen
        assert allocations() == MANY + len(later)
    nvshmem.barrier_all()
    seen = fresh = array = None  # noqa: F841
    arrays.clear()
    later.clear()
    all_come_back()


@scenario
def random_times() -> None:
    """Each PE collects when it likes."""
    choose = np.random.default_rng(me)
    held: List[Any] = []
    for step in range(300):
        array = nvshmem.array(100 + step, "f8")
        array[:] = step
        cycle: List[Any] = [array, step]
        cycle.append(cycle)
        held.append(cycle)
        del array, cycle
        while len(held) > 30 or (held and choose.random() < 0.4):
            gone = held.pop(int(choose.integers(len(held))))
            assert (gone[0] == gone[1]).all()
            del gone
        if choose.random() < 0.1:
            gc.collect()
    held.clear()
    nvshmem.barrier_all()
    all_come_back()


@scenario
def in_threads() -> None:
    """Threads drop arrays, and collect, while the main thread is inside collectives."""
    arrays = [nvshmem.array(EACH, "f8") for _ in range(MANY)]
    stop = threading.Event()

    def drop() -> None:
        order = np.random.default_rng(me).permutation(MANY)
        for index in order:
            arrays[index] = None  # type: ignore[call-overload]

    def collect() -> None:
        while not stop.is_set():
            cycle: List[Any] = [nvshmem.Event()]
            cycle.append(cycle)
            del cycle
            gc.collect()

    threads = [threading.Thread(target=drop), threading.Thread(target=collect)]
    for thread in threads:
        thread.start()
    for _ in range(100):
        some = nvshmem.array(8, "f8")
        nvshmem.barrier_all()
        del some
    stop.set()
    for thread in threads:
        thread.join()
    nvshmem.barrier_all()
    all_come_back()


@scenario
def in_an_exception() -> None:
    """A traceback keeps arrays on PE 0, which the others have dropped."""
    kept: List[BaseException] = []

    def fail() -> None:
        array = nvshmem.array(EACH, "f8")
        array[:] = 7
        other = nvshmem.buffer(100)
        if me == 0:
            raise ValueError("on purpose", array.shape, other.size)
        try:
            with nvshmem.get_peer_array(array, 0):
                raise KeyError
        except KeyError:
            pass

    for _ in range(20):
        try:
            fail()
        except ValueError as error:
            kept.append(error)
        # All PEs leave this scope by an exception: they release, and wait for nobody.
        try:
            with nvshmem.array(EACH, "f4"):
                raise KeyError
        except KeyError:
            pass
    assert len(kept) == (20 if me == 0 else 0)
    fresh = nvshmem.array(EACH, "f8")
    for error in kept:
        frame: Any = error.__traceback__
        while frame.tb_next:
            frame = frame.tb_next
        assert (frame.tb_frame.f_locals["array"] == 7).all()
    del fresh
    frame = error = None  # type: ignore[assignment]
    kept.clear()
    nvshmem.barrier_all()
    all_come_back()


@scenario
def streams() -> None:
    """PE 0 collects a stream with a barrier in it that the others join only afterwards."""
    flag = nvshmem.array(1, "u8")
    for step in range(1, 11):
        if me == 0:
            stream = nvshmem.Stream()
            nvshmem.barrier("TEAM_NODE", stream=stream)
            done = stream.record()
            cycle: List[Any] = [stream, stream.record()]
            cycle.append(cycle)
            del stream, cycle
            gc.collect()
            tell(flag, step)
            # The next stream may enter the team only when this one has left it.
            done.synchronize()
        else:
            nvshmem.signal_wait(flag, step, nvshmem.ComparisonType.CMP_GE)
            nvshmem.barrier("TEAM_NODE")
        nvshmem.barrier_all()
    nvshmem.free_array(flag)


@scenario
def in_the_hook_of_a_wait() -> None:
    """A collector that runs inside a long wait of PE 0, on the thread that waits."""
    import signal

    flag = nvshmem.array(1, "u8")
    if me == 0:
        cycle: List[Any] = [nvshmem.array(EACH), nvshmem.Event(), nvshmem.Stream()]
        cycle.append(cycle)
        collected = []

        def handler(*_: object) -> None:
            collected.append(gc.collect())

        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        del cycle
        nvshmem.signal_wait(flag, 1, nvshmem.ComparisonType.CMP_EQ)
        assert collected and collected[0] > 0, collected
    else:
        array = nvshmem.array(EACH)
        time.sleep(0.5)
        if me == 1:
            nvshmem.signal_op(flag, 1, nvshmem.SignalOp.SIGNAL_SET, 0)
        del array
    nvshmem.barrier_all()
    all_come_back(1)
    nvshmem.free_array(flag)


@scenario
def after_finalize() -> None:
    """Objects of an old job are collected while a new one goes on, at the same addresses."""
    for step in range(5):
        old = [nvshmem.array(EACH, "f8"), nvshmem.Event(), nvshmem.Stream(), nvshmem.buffer(64)]
        place = start_of(old[0])
        nvshmem.finalize()
        nvshmem.init(heap_bytes=(4 + step) << 20)
        fresh = nvshmem.array(EACH, "f8")
        fresh[:] = 5
        del old
        gc.collect()
        assert nvshmem.heap_stats()[4:] == (1, 0), (nvshmem.heap_stats(), place)
        more = nvshmem.array(EACH, "f8")
        more[:] = 6
        assert (fresh == 5).all()
        nvshmem.free_array(fresh)
        nvshmem.free_array(more)


@scenario
def at_exit() -> None:
    """No finalize: everything is alive, or in cycles, when the interpreter ends; PE 0 has work queued
    that nobody joins.
    """
    module = sys.modules["__main__"]
    stream, idle = nvshmem.Stream(), nvshmem.Stream()
    left: List[Any] = [nvshmem.array(EACH), nvshmem.buffer(10), nvshmem.Event(), idle]
    left.append(left)
    module.left = left  # type: ignore[attr-defined]
    cycle: List[Any] = [nvshmem.array(EACH), nvshmem.Event()]
    cycle.append(cycle)
    nvshmem.barrier_all()
    if me == 0:
        nvshmem.barrier("TEAM_NODE", stream=stream)
        nvshmem.barrier("TEAM_NODE", stream=stream)
        abandoned: List[Any] = [stream]
        abandoned.append(abandoned)
    if n > 1:
        module.stream = stream  # type: ignore[attr-defined]
    else:
        del stream
        gc.collect()


@scenario
def in_the_next_allocation() -> None:
    """The heap has room for one of the arrays; PEs let go at different times, with and without a
    non-blocking operation, and the next allocation has the memory.
    """
    local = np.zeros(1)
    for number in range(60):
        array = nvshmem.array(10 << 20, "u1")
        if number % 3 == 0:
            nvshmem.put_nbi(array[:8].view("f8"), local, (me + 1) % n)
        if number % (2 * n) == me:
            time.sleep(0.002)
        del array
        if number % 3:
            assert nvshmem.heap_stats().released == 1, "the finaliser has told the library"
    kept = nvshmem.array(10 << 20, "u1") if me else nvshmem.array(10 << 20, "u1")[:0].copy()
    names = {2: "PE 1", 3: "PEs 1 and 2"}.get(n, f"PEs 1 to {n - 1}")
    waiting = f"{10 << 20} bytes of 1 allocation are released by some PEs, but not by {names};"
    raises(nvshmem.HeapExhaustedError, waiting, nvshmem.array, 10 << 20, "u1")
    del kept


@scenario
def at_exit_of_one() -> None:
    """PE 0 ends without finalize, with a queued barrier in a stream that is collected before. The
    others learn of it.
    """
    nvshmem.barrier_all()
    if me == 0:
        stream = nvshmem.Stream()
        nvshmem.barrier("TEAM_NODE", stream=stream)
        del stream
        gc.collect()
        return
    raises(nvshmem.PeDiedError, "PE 0", nvshmem.barrier_all)
    nvshmem.leave()


def main() -> None:
    global me, n
    nvshmem.init(heap_bytes=1 << 24)
    me, n = nvshmem.my_pe(), nvshmem.n_pes()
    SCENARIOS[sys.argv[1]]()
    if not sys.argv[1].startswith("at_exit"):
        nvshmem.finalize()
    print("ok\n", end="", flush=True)


main()
