"""Array libraries on the symmetric heap: NumPy on host memory, CuPy and torch on GPUs; the others
say so.
"""

from . import cupy, numpy, torch

__all__ = ["cupy", "numpy", "torch"]
