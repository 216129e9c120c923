"""Array libraries on the symmetric heap: NumPy on host memory, CuPy on GPUs, torch and JAX on both;
unsupported functions raise NotSupportedError. ``interop.torch`` imports torch on first use.
"""

import importlib
from typing import TYPE_CHECKING, Any

from . import cupy, jax, numpy

if TYPE_CHECKING:
    from . import torch

__all__ = ["cupy", "jax", "numpy", "torch"]


def __getattr__(name: str) -> Any:
    if name == "torch":
        return importlib.import_module(f"{__name__}.torch")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
