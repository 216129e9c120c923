"""What `numba_kernels.py` makes its kernels with, as NUMBA_KERNELS says: `numba-cuda`, which is the
simulator if NUMBA_ENABLE_CUDASIM is 1; `numba-cuda-mlir`; or else a folder of kernels that
`numba_mlir_build.py` has compiled, where no compiler is needed.
"""

from __future__ import annotations

import os

import numpy as np

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

__all__ = ["SIMULATED", "cuda", "low", "shmem"]
