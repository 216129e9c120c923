"""Array libraries on the symmetric heap. On host memory that is NumPy; the others say so."""

from . import cupy, numpy, torch

__all__ = ["cupy", "numpy", "torch"]
