"""Reductions in place in Numba's simulator: as mixed_rounds.cpp, which the other PEs of a job may
run. Prints a line for each case: how often the members have met.
"""

from __future__ import annotations

import ctypes
import os

os.environ.update(NUMBA_ENABLE_CUDASIM="1", NVSHMEMRS_MEMORY="host")

import numpy as np
from numba import cuda

import nvshmemrs.core as nvshmem
import nvshmemrs.core.device.numba as shmem

THREAD, WARP, BLOCK = 0, 1, 2


@cuda.jit
def reduce(scope, data, slot):
    t = cuda.threadIdx.x
    if scope == BLOCK:
        shmem.reduce_block(0, data, data, "sum", slot)
    elif scope == WARP and t < 32:
        shmem.reduce_warp(0, data, data, "sum", slot)
    elif t == 0:
        shmem.reduce(0, data, data, "sum", slot)


def meetings(slot):
    """How often a slot's members have met, by the row of the team of all PEs."""
    job = int(nvshmem.device.state().scalar["job"])
    epochs = ctypes.c_uint64.from_address(job + 64 + 32).value
    return ctypes.c_uint64.from_address(epochs + slot * 8).value


def one(name, dtype, slot, scope, threads, count, aligned):
    whole = nvshmem.array(count + 1, dtype)
    data = whole[:-1] if aligned else whole[1:]
    rest = np.arange(count) % 50
    data[...] = rest + me
    nvshmem.barrier_all()
    reduce[1, threads](scope, data, slot)
    expected = (pes * rest + pes * (pes - 1) // 2).astype(data.dtype)
    assert data.tobytes() == expected.tobytes(), (name, data)
    case = f"{name} scope {scope} threads {threads} count {count} aligned {int(aligned)}"
    print(f"{case}: {meetings(slot)}", flush=True)
    nvshmem.barrier_all()
    nvshmem.free_array(whole)


nvshmem.init()
me, pes = nvshmem.my_pe(), nvshmem.n_pes()
slot = 8
for name in ("int8", "int16", "uint32", "float", "double"):
    dtype = {"float": "float32", "double": "float64"}.get(name, name)
    for count in (3, 67, 200):
        one(name, dtype, slot, BLOCK, 4, count, True)
        slot += 1
    one(name, dtype, slot, BLOCK, 4, 9, False)
    one(name, dtype, slot + 1, THREAD, 4, 67, True)
    one(name, dtype, slot + 2, WARP, 33, 3001, True)
    slot += 3
nvshmem.finalize()
