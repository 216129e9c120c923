"""The frontend of `numba_kernels.py` and `numba_lent.py`, as NUMBA_KERNELS says: `numba-cuda`, which is the
simulator if NUMBA_ENABLE_CUDASIM is 1; `numba-cuda-mlir`; or else a folder of kernels that
`numba_mlir_build.py` has compiled, where no compiler is needed.
"""

from __future__ import annotations

import os

import numpy as np

import nvshmemrs.core as nvshmem

CHOSEN = os.environ.get("NUMBA_KERNELS", "numba-cuda")
SIMULATED = CHOSEN == "numba-cuda" and os.environ.get("NUMBA_ENABLE_CUDASIM") == "1"
if SIMULATED:
    os.environ["NVSHMEMRS_MEMORY"] = "host"

if CHOSEN == "numba-cuda":
    if not hasattr(np, "row_stack"):  # which numba-cuda 0.30 asks for, and NumPy 2.5 has no more
        np.row_stack = np.vstack
    from numba import cuda

    import nvshmemrs.core.device.numba as shmem
    from nvshmemrs.core.device.numba import bindings as low
elif CHOSEN == "numba-cuda-mlir":
    from numba_cuda_mlir import cuda

    import nvshmemrs.core.device.numba_cuda_mlir as shmem
    from nvshmemrs.core.device.numba_cuda_mlir import bindings as low
else:
    import numba_cubins as cuda

    shmem = low = None  # kernels that are not compiled here call nothing here

__all__ = ["SIMULATED", "cuda", "fill", "host", "low", "same", "shmem"]


def host(array):
    """The contents of an array on either kind of memory."""
    return array.get() if hasattr(array, "get") else np.array(array)


def fill(array, values):
    if hasattr(array, "get"):
        array.set(np.asarray(values, array.dtype))
    else:
        array[...] = values


def same(got, expected, what):
    """Raises unless the bytes are equal; names the first elements that differ."""
    expected = np.asarray(expected, got.dtype)
    if got.tobytes() != expected.tobytes():
        wrong = np.flatnonzero(np.ravel(got) != expected.ravel())
        told = f"{len(wrong)} are wrong, first {wrong[:5]}: {got} and not {expected}"
        raise AssertionError(f"PE {nvshmem.my_pe()}: {what}: {told}")
