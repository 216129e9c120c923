"""Makes and lets go of something again and again; neither this process nor what the package keeps may
grow after the first tenth. Prints a line for each kind.
"""

import gc
import os
import threading
import time
from typing import Callable, Dict, Tuple

import numpy as np

import nvshmemrs.core as nvshmem
from nvshmemrs.core import _job

PAGE = os.sysconf("SC_PAGESIZE")
# glibc keeps stacks of ended threads, up to 40 MiB. A stream's thread has 2 MiB. How many there are depends on
# how many threads there were at a time, and so on the load of the machine.
CACHED_STACKS = 20
# How long streams that were let go may take to come to their end, in seconds.
PATIENCE = 30

ROUNDS: Dict[str, int] = {}
KINDS: Dict[str, Callable[[int], None]] = {}


def rounds(count: int) -> Callable[[Callable[[int], None]], Callable[[int], None]]:
    def add(function: Callable[[int], None]) -> Callable[[int], None]:
        KINDS[function.__name__] = function
        ROUNDS[function.__name__] = count
        return function

    return add


@rounds(1000)
def init_and_finalize(number: int) -> None:
    nvshmem.finalize()
    nvshmem.init(heap_bytes=4 << 20)
    left = nvshmem.array(100)
    left[:] = number
    if number % 10 == 0:
        nvshmem.team_split_strided("TEAM_WORLD", 0, 1, 1)
        stream = nvshmem.Stream()
        nvshmem.barrier_all(stream=stream)
        stream.record()


@rounds(20000)
def arrays_freed(number: int) -> None:
    array = nvshmem.array(1 + number % 500, "f8")
    array[:] = 1
    nvshmem.free_array(array)


@rounds(20000)
def arrays_collected(number: int) -> None:
    array = nvshmem.array(1 + number % 500, "f4")
    nvshmem.put(array, np.ones(array.size, "f4"), 0)


@rounds(3000)
def arrays_in_cycles(number: int) -> None:
    cycle = [nvshmem.array(10), nvshmem.Event()]
    cycle.append(cycle)
    if number % 100 == 0:
        gc.collect()


@rounds(10000)
def buffers(number: int) -> None:
    with nvshmem.buffer(64 + number % 1000) as buffer:
        nvshmem.get_peer_buffer(buffer, 0)


@rounds(1000)
def registered(number: int) -> None:
    array = nvshmem.aligned_empty(100, "f8")
    nvshmem.register_external_array(array)[:] = number
    nvshmem.unregister_external_array(array)


@rounds(10000)
def teams(number: int) -> None:
    team = nvshmem.team_split_strided("TEAM_WORLD", 0, 1, 1, new_team_name="mine")
    nvshmem.fcollect(team, nvshmem.array(4), nvshmem.array(4))
    nvshmem.team_destroy(team)


@rounds(2000)
def streams(number: int) -> None:
    stream = nvshmem.Stream()
    array = nvshmem.array(10)
    nvshmem.put(array, np.ones(10, "f4"), 0, stream=stream)
    if number % 2:
        stream.close()


@rounds(20000)
def events(number: int) -> None:
    nvshmem.Event().record(ON)


def threads() -> int:
    return len(os.listdir("/proc/self/task"))


def mapped() -> Tuple[int, int]:
    """The number of mappings but those of stacks, and the number of stacks: each has a page without
    access before it.
    """
    with open("/proc/self/maps", encoding="utf-8") as file:
        maps = [line.split() for line in file]
    stacks = 0
    for place, access, *_, inode, name in ((*one, "")[:6] for one in maps):
        start, end = (int(address, 16) for address in place.split("-"))
        stacks += access == "---p" and inode == "0" and not name and end - start == PAGE
    return len(maps) - 2 * stacks, stacks


def figures() -> Dict[str, int]:
    """What this process has once nothing is in use."""
    gc.collect()
    # It forgets arrays that are gone when it is full, and not before.
    assert len(_job.operands) <= 1024
    _job.operands.clear()
    if nvshmem.init_status() == nvshmem.InitStatus.STATUS_IS_INITIALIZED:
        ON.synchronize()
    start = time.monotonic()
    while True:
        if nvshmem.init_status() == nvshmem.InitStatus.STATUS_IS_INITIALIZED:
            # Closes released streams that are idle by now, and frees collected arrays.
            nvshmem.Stream().close()
            nvshmem.barrier_all()
            nvshmem.free_array(nvshmem.array(1))
        late = threads() > 1 + 1 + threading.active_count()
        if not late or time.monotonic() > start + PATIENCE:
            break
        time.sleep(0.01)
    with open("/proc/self/status", encoding="ascii") as file:
        status = dict(line.split(":", 1) for line in file)
    mappings, stacks = mapped()
    kept = [_job.operands, _job.external, _job.abandoned, _job.team_sizes, _job.live]
    kept += _job.dropped.values()
    return {
        "resident KiB": int(status["RssAnon"].split()[0]) + int(status["RssShmem"].split()[0]),
        "descriptors": len(os.listdir("/proc/self/fd")),
        "threads": threads(),
        "mappings": mappings,
        "stacks not in use": max(0, stacks - threads() - CACHED_STACKS),
        "objects": len(gc.get_objects()),
        "kept": sum(len(one) for one in kept),
        "allocations": nvshmem.heap_stats().allocations,
    }


# Python's allocator and the C library's keep some memory back, in pieces that differ.
ALLOWED = {"resident KiB": 1024, "mappings": 8, "objects": 50, "kept": 8}

nvshmem.init(heap_bytes=4 << 20)
ON = nvshmem.Stream()
for name, body in KINDS.items():
    start = time.monotonic()
    warm: Dict[str, int] = {}
    for number in range(ROUNDS[name]):
        if number == ROUNDS[name] // 10:
            if name == "init_and_finalize":
                ON = nvshmem.Stream()
            warm = figures()
        body(number)
    if name == "init_and_finalize":
        ON = nvshmem.Stream()
    last = figures()
    seconds = time.monotonic() - start
    shown = ", ".join(f"{what} {warm[what]} -> {last[what]}" for what in warm)
    print(f"{name}: {ROUNDS[name]} rounds in {seconds:.1f} s: {shown}")
    for what, before in warm.items():
        grown = last[what] - before
        assert grown <= ALLOWED.get(what, 0), f"{name}: {what} grew by {grown}"
nvshmem.finalize()
print("ok\n", end="")
