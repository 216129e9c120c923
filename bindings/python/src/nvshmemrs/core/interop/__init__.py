"""Array libraries on the symmetric heap: NumPy on host memory, CuPy and torch on GPUs, JAX on both;
the others say so.
"""

from . import cupy, jax, numpy, torch

__all__ = ["cupy", "jax", "numpy", "torch"]
