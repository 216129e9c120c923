# type: ignore
"""What is settled when the module is imported. Triton keeps these values in the keys of its cache,
so a kernel that was compiled with others is not used.
"""

import os

import triton
import triton.language as tl

VERSION = tuple(int(part) for part in triton.__version__.split(".")[:2])

# Whether kernels run in Triton's interpreter (TRITON_INTERPRET=1).
INTERPRETED = tl.constexpr(bool(triton.knobs.runtime.interpret))
# Whether functions check their arguments (NVSHMEMRS_DEVICE_CHECK=1).
CHECK = tl.constexpr(os.environ.get("NVSHMEMRS_DEVICE_CHECK", "") == "1")
# Loads and stores with order came with Triton 3.9; before it, atomics take their place.
ORDERED = tl.constexpr(hasattr(tl, "atomic_load"))
