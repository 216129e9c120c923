"""Small reductions in Triton's interpreter: as mixed_mail.cpp, which the other PEs of a job may run.
Prints a line for each case: how often the members have met, or sent mail.
"""

import ctypes
from typing import Any

import numpy as np
import triton
import triton.language as tl

import nvshmemrs.core as nvshmem
from nvshmemrs.core.device import triton as nvt

TIMES = 3


@triton.jit
def reduce_kernel(state, dest, source, status, n, slot, k, BLOCK: tl.constexpr):
    ctx = nvt.context(state)
    lanes = tl.arange(0, 128)
    tl.store(source + lanes, (lanes % 9 + ctx.my_pe + k).to(source.dtype.element_ty), mask=lanes < n)
    tl.debug_barrier()
    tl.store(status, nvt.reduce(ctx, 0, dest, source, n, nvt.SUM, slot=slot, BLOCK=BLOCK))


def arg(array: Any) -> nvt.Pointer:
    return nvt.Pointer(array.ctypes.data, array.dtype.name, array.shape, array)


def epoch(slot: int) -> int:
    """As mixed_mail.cpp finds it."""
    job = int(nvshmem.device.state().scalar["job"])
    epochs = ctypes.c_uint64.from_address(job + 64 + 32).value
    return ctypes.c_uint64.from_address(epochs + slot * 8).value


def one(name: str, dtype: str, slot: int, count: int) -> None:
    dest, source = (nvshmem.array(count + 1, dtype) for _ in range(2))
    status, before = np.full(1, 9, np.int32), epoch(slot)
    pointers = arg(dest), arg(source), arg(status)
    for k in range(TIMES):
        reduce_kernel[(1,)](nvt.state(), *pointers, count, slot, k, BLOCK=32)
        expected = pes * (np.arange(count) % 9 + k) + pes * (pes - 1) // 2
        assert status[0] == 0 and (dest[:count] == expected.astype(dest.dtype)).all(), (name, dest)
        assert dest[count] == 0
    print(f"{name} count {count} slot {slot}: {epoch(slot) - before}", flush=True)
    nvshmem.barrier(nvshmem.Teams.TEAM_WORLD)
    for array in (dest, source):
        nvshmem.free_array(array)


nvshmem.init()
pes = nvshmem.n_pes()
for name, dtype in (("int8", "int8"), ("float", "float32"), ("double", "float64")):
    size = np.dtype(dtype).itemsize
    for slot, count in enumerate((1, 3, 32 // size, 67)):
        one(name, dtype, slot, count)
    one(name, dtype, 8, 3)
nvshmem.finalize()
