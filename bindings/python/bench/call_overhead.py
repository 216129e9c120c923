"""What a call costs from Python: median ns per call.

    python bindings/python/bench/call_overhead.py [--json]
    nvshmemrs-run -n 2 -- python bindings/python/bench/call_overhead.py

Put, get and the atomics move 8 bytes to and from the next PE; PE 0 prints. Collectives include the
other PEs, so their figure with one PE is what Python adds.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from typing import Callable, Dict

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
    parser = argparse.ArgumentParser(description="What a call costs from Python.")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    as_json = parser.parse_args().json
    nvshmem.init()
    me, n = nvshmem.my_pe(), nvshmem.n_pes()
    peer = (me + 1) % n
    a, b = nvshmem.array(16, "f8"), nvshmem.array(1, "f8")
    integers = nvshmem.array(1, "i8")
    everybodys = nvshmem.array(n, "f8")
    local = np.zeros(1)
    view = a[4:5]
    cases = {
        "put 8 B": lambda: nvshmem.put(b, local, peer),
        "put 8 B of a view": lambda: nvshmem.put(view, local, peer),
        "put 8 B of a new view": lambda: nvshmem.put(a[4:5], local, peer),
        "put 8 elements, strided": lambda: nvshmem.put(a[::2], a[1::2], peer),
        "get 8 B": lambda: nvshmem.get(local, b, peer),
        "p": lambda: nvshmem.p(b, 1.0, peer),
        "g": lambda: nvshmem.g(b, peer),
        "atomic_fetch_add": lambda: nvshmem.atomic_fetch_add(integers, 1, peer),
        "atomic_add": lambda: nvshmem.atomic_add(integers, 1, peer),
        "reduce 1 element": lambda: nvshmem.reduce(0, b, b, "sum"),
        "fcollect 1 element": lambda: nvshmem.fcollect(0, everybodys, b),
        "barrier": nvshmem.barrier_all,
    }
    results: Dict[str, float] = {}
    for name, call in cases.items():
        results[name] = median_ns(call)
        if me == 0 and not as_json:
            print(f"{name:24} {results[name]:8.0f} ns per call, {n} PE{'s' * (n > 1)}", flush=True)
    if me == 0 and as_json:
        print(json.dumps({"n_pes": n, "unit": "ns per call", "median": results}), flush=True)
    nvshmem.finalize()


if __name__ == "__main__":
    main()
