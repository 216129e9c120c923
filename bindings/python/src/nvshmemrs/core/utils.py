"""Sizes of element types and arrays. Local."""

from __future__ import annotations

import math
from typing import Any, Tuple, Union

from ._arguments import check_shape
from ._dtypes import SIZES, code_of_name

__all__ = ["dtype_nbytes", "get_size"]


def dtype_nbytes(name: Any) -> int:
    """Bytes of an element of an NVSHMEM type such as "float" or "short", or a NumPy dtype."""
    return SIZES[code_of_name(name)]


def get_size(shape: Union[int, Tuple[int, ...]], dtype: Any) -> int:
    """Bytes of an array."""
    return math.prod(check_shape(shape)) * dtype_nbytes(dtype)
