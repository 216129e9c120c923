"""Sizes of element types and arrays. Local."""

from __future__ import annotations

import math
from typing import Any, Tuple, Union

from ._dtypes import SIZES, code_of_name
from .nvshmem_types import NvshmemInvalid

__all__ = ["dtype_nbytes", "get_size"]


def dtype_nbytes(name: Any) -> int:
    """Bytes of an element of an NVSHMEM type such as "float" or "short", or a NumPy dtype."""
    return SIZES[code_of_name(name)]


def get_size(shape: Union[int, Tuple[int, ...]], dtype: Any) -> int:
    """Bytes of an array."""
    dims = (shape,) if isinstance(shape, int) else tuple(shape)
    if any(n < 0 for n in dims):
        raise NvshmemInvalid(f"shape={shape!r}: give an integer or a tuple of them, none negative")
    return math.prod(dims) * dtype_nbytes(dtype)
