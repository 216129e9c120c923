"""Shared arrays in Numba's simulator: the threads of a block have one array for each line of the
kernel, also threads that ask for it together.
"""

from __future__ import annotations

import os
import time
from typing import Any

os.environ.update(NUMBA_ENABLE_CUDASIM="1", NVSHMEMRS_MEMORY="host")

import numpy as np
from numba import cuda, int64
from numba.cuda.simulator import kernelapi

import nvshmemrs.core as nvshmem
import nvshmemrs.core.device.numba  # noqa: F401

THREADS = 4


class Slow:
    """NumPy for the simulator, whose `empty` takes so long that the other threads ask meanwhile."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def empty(self, shape: Any, dtype: Any) -> Any:
        time.sleep(0.02)
        return np.full(shape, -1000, dtype)


@cuda.jit
def fill(out):
    t = cuda.threadIdx.x
    first = cuda.shared.array(THREADS, int64)
    second = cuda.shared.array(THREADS, int64)
    dynamic = cuda.shared.array(0, int64)
    first[t], second[t], dynamic[t] = t, 10 * t, 100 * t
    cuda.syncthreads()
    for i in range(THREADS):
        out[t, i] = first[i] + second[i] + dynamic[i]


kernelapi.np = Slow()
nvshmem.init()
for _ in range(2):
    out = np.zeros((THREADS, THREADS), np.int64)
    fill[1, THREADS, 0, 8 * THREADS](out)
    assert (out == 111 * np.arange(THREADS)).all(), out
nvshmem.finalize()
print("numba shared ok")
