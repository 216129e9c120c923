"""One PE of a job that measures the CPU time of enqueuing a call on a stream from Python, in the lines of `gpu-bench`.

Started by nvshmemrs-run, which says which PE it is: python_cost.py ours|nvshmem. NVSHMEM's side is NVSHMEM4Py (nvshmem.core). Arrays are
CuPy's where it is there, else Buffers of the library, as operations take both.
"""

from __future__ import annotations

import json
import os
import sys
import time

ROUNDS = 9
CALLS = 32  # the queue of a stream holds more calls, so none waits for room
BYTES = 4096

kind = sys.argv[1]
me, n = int(os.environ["NVSHMEMRS_PE"]), int(os.environ["NVSHMEMRS_N_PES"])


def print_line(**line: object) -> None:
    # In one write, because all PEs share a pipe.
    os.write(1, (json.dumps({"pe": me, **line}) + "\n").encode())


def ours():
    import nvshmemrs.core as nvshmem

    os.environ["NVSHMEMRS_MEMORY"] = "device"
    nvshmem.init()
    stream = nvshmem.Stream()
    return nvshmem, stream, nvshmem.get_version().libnvshmem_version


def nvshmem4py():
    from nvshmem4py_job import begin

    nvshmem, stream = begin(me, n)
    return nvshmem, stream, nvshmem.get_version().libnvshmem_version


nvshmem, stream, version = ours() if kind == "ours" else nvshmem4py()
if me == 0:
    print_line(side=f"{kind}-python", version=str(version), n=n)
try:
    import cupy

    dest, source = (nvshmem.array((BYTES // 4,), dtype="int32") for _ in range(2))
    source[:] = me + 1
    cupy.cuda.get_current_stream().synchronize()  # which is not `stream`
    release = nvshmem.free_array
    dtype = {}
except ImportError:
    if kind != "ours":
        raise  # NVSHMEM4Py's reduce takes no Buffer
    import numpy

    dest, source = (nvshmem.buffer(BYTES) for _ in range(2))
    source.copy_from(numpy.full(BYTES // 4, me + 1, "i4"))
    release = nvshmem.free
    dtype = {"dtype": "int32"}

right = (me + 1) % n
WORLD = nvshmem.Teams.TEAM_WORLD


def put() -> None:
    nvshmem.put(dest, source, remote_pe=right, stream=stream)


def reduce() -> None:
    nvshmem.reduce(WORLD, dest, source, "sum", stream=stream, **dtype)


def barrier() -> None:
    nvshmem.barrier(WORLD, stream=stream)


for name, call, everybody in (("put", put, False), ("reduce", reduce, True), ("barrier_all", barrier, True)):
    times = []
    for turn in range(-2, ROUNDS):  # two to warm up
        nvshmem.barrier(WORLD, stream=stream)
        stream.sync()
        if everybody or me == 0:
            start = time.perf_counter_ns()
            for _ in range(CALLS):
                call()
            took = time.perf_counter_ns() - start
            stream.sync()
            if turn >= 0:
                times.append(round(took / CALLS / 1e3, 3))
    if times:
        print_line(op=name, bytes=0 if name == "barrier_all" else BYTES, how="cpu", us=times)

# The result of the last reduction, which no other call writes.
reduce()
stream.sync()
if dtype:
    found = dest.copy_to(numpy.zeros(BYTES // 4, "i4"))
else:
    found = dest.get()
if not (found == n * (n + 1) // 2).all():
    raise SystemExit(f"PE {me}: the sum is {found[:4]} ..., not {n * (n + 1) // 2}")
for array in (dest, source):
    release(array)
nvshmem.finalize()
