"""What a call costs from Python: median ns per call.

    python bindings/python/bench/call_overhead.py
    nvshmemrs-run -n 2 -- python bindings/python/bench/call_overhead.py

Put and get move 8 bytes to and from the next PE; PE 0 prints.
"""

from __future__ import annotations

import statistics
import time
from typing import Callable

import numpy as np

import nvshmemrs.core as nvshmem

CALLS = 2000
BATCHES = 51


def median_ns(call: Callable[[], object]) -> float:
    """The median over batches of the mean time of one call, loop and lambda included."""
    times = []
    for _ in range(BATCHES):
        nvshmem.barrier_all()
        start = time.perf_counter_ns()
        for _ in range(CALLS):
            call()
        times.append((time.perf_counter_ns() - start) / CALLS)
    return statistics.median(times)


def main() -> None:
    nvshmem.init()
    me, n = nvshmem.my_pe(), nvshmem.n_pes()
    peer = (me + 1) % n
    a, b = nvshmem.array(16, "f8"), nvshmem.array(1, "f8")
    local = np.zeros(1)
    view = a[4:5]
    cases = {
        "put 8 B": lambda: nvshmem.put(b, local, peer),
        "put 8 B of a view": lambda: nvshmem.put(view, local, peer),
        "put 8 B of a new view": lambda: nvshmem.put(a[4:5], local, peer),
        "get 8 B": lambda: nvshmem.get(local, b, peer),
        "reduce 1 element": lambda: nvshmem.reduce(0, b, b, "max"),
        "barrier": nvshmem.barrier_all,
    }
    for name, call in cases.items():
        result = median_ns(call)
        if me == 0:
            print(f"{name:24} {result:8.0f} ns per call, {n} PE{'s' * (n > 1)}", flush=True)
    nvshmem.finalize()


if __name__ == "__main__":
    main()
