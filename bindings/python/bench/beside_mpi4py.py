"""What calls cost from Python with nvshmemrs and with mpi4py: 8 bytes between two PEs or ranks, in
ns per call, loop included. PE 0 prints.

    nvshmemrs-run -n 2 python bindings/python/bench/beside_mpi4py.py nvshmemrs
    mpirun -n 2 --bind-to core python bindings/python/bench/beside_mpi4py.py mpi4py

`nvshmemrs-perf --peer mpi4py` lets the two take turns. A time is that of the fastest batch: what
else runs on the machine makes calls slower, never faster.
"""

from __future__ import annotations

import gc
import sys
import time
from typing import Any, Callable, Dict, Tuple

import numpy as np

CALLS = 2000
BATCHES = 31

Cases = Dict[str, Callable[[], Any]]
# The PE, the calls that are measured, what brings all to a batch's beginning, and the end.
Side = Tuple[int, Cases, Callable[[], Any], Callable[[], Any]]


def nvshmemrs() -> Side:
    """Ours."""
    import nvshmemrs.core as nvshmem

    nvshmem.init()
    peer = 1 - nvshmem.my_pe()
    a, b = nvshmem.array(1, "f8"), nvshmem.array(1, "f8")
    big, number, local = nvshmem.array(8, "f8"), nvshmem.array(1, "i8"), np.zeros(1)

    def put() -> None:
        nvshmem.put(a, local, peer)
        nvshmem.quiet()

    def put_view() -> None:
        nvshmem.put(big[2:3], local, peer)
        nvshmem.quiet()

    cases: Cases = {
        "put, complete": put,
        "put to a new view, complete": put_view,
        "get": lambda: nvshmem.get(local, a, peer),
        "one element written, complete": lambda: (nvshmem.p(a, 1.0, peer), nvshmem.quiet()),
        "one element read": lambda: nvshmem.g(a, peer),
        "atomic fetch and add": lambda: nvshmem.atomic_fetch_add(number, 1, peer),
        "sum over all": lambda: nvshmem.reduce(0, a, b, "sum"),
        "barrier": nvshmem.barrier_all,
    }
    return nvshmem.my_pe(), cases, nvshmem.barrier_all, nvshmem.finalize


def mpi4py() -> Side:
    """MPI's calls that come nearest."""
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    peer = 1 - world.rank
    floats = MPI.Win.Allocate(64, 8, comm=world)
    integers = MPI.Win.Allocate(64, 8, comm=world)
    for window in (floats, integers):
        window.Lock_all()
    local, total = np.zeros(1), np.zeros(1)
    one, old = np.ones(1, "i8"), np.zeros(1, "i8")

    def put() -> None:
        floats.Put(local, peer)
        floats.Flush(peer)

    def put_view() -> None:
        floats.Put(local, peer, 2)
        floats.Flush(peer)

    def get() -> None:
        floats.Get(local, peer)
        floats.Flush(peer)

    def write() -> None:
        local[0] = 1.0
        put()

    def read() -> Any:
        get()
        return local[0]

    def fetch_and_add() -> None:
        integers.Fetch_and_op(one, old, peer)
        integers.Flush(peer)

    def end() -> None:
        for window in (floats, integers):
            window.Unlock_all()
            window.Free()

    cases: Cases = {
        "put, complete": put,
        "put to a new view, complete": put_view,
        "get": get,
        "one element written, complete": write,
        "one element read": read,
        "atomic fetch and add": fetch_and_add,
        "sum over all": lambda: world.Allreduce(local, total),
        "barrier": world.Barrier,
    }
    return world.rank, cases, world.Barrier, end


def main() -> None:
    side = {"nvshmemrs": nvshmemrs, "mpi4py": mpi4py}[sys.argv[1]]
    pe, cases, meet, end = side()
    gc.disable()
    for name, call in cases.items():
        best = float("inf")
        for _ in range(BATCHES):
            meet()
            start = time.perf_counter_ns()
            for _ in range(CALLS):
                call()
            best = min(best, (time.perf_counter_ns() - start) / CALLS)
        meet()
        if pe == 0:
            print(f"{name:32} {best:8.1f} ns per call", flush=True)
    end()


if __name__ == "__main__":
    main()
