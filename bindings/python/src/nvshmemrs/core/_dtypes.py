"""Element types: from NumPy dtypes and NVSHMEM's type names to the library's numbers, and values to
elements.
"""

from __future__ import annotations

import ctypes
import math
from typing import Any, Dict, Optional, Tuple

import numpy as np

from .._ffi import DTYPES, Dtype
from ._arguments import refuse_member, shown, whole
from .nvshmem_types import NotSupportedError, NvshmemInvalid

NAMES: Dict[int, str] = {int(code): name for code, name, _ in DTYPES}
SIZES: Dict[int, int] = {int(code): size for code, _, size in DTYPES}
# NumPy's types; dtypes of ml_dtypes join when they are first seen.
CODES: Dict[Optional[np.dtype], int] = {
    np.dtype(name): code for code, name in NAMES.items() if hasattr(np, name)
}
NARROW: Dict[str, int] = {name: code for code, name in NAMES.items() if not hasattr(np, name)}
"""The types that NumPy lacks, and ml_dtypes has."""

# Where NVSHMEM's C names mean something else than NumPy's: a C float has 32 bits.
_C_NAMES: Dict[str, str] = {
    "bool": "uint8",
    "char": "int8",
    "float": "float32",
    "int": "int32",
    "ptrdiff": "int64",
    "schar": "int8",
    "size": "uint64",
    "uchar": "uint8",
    "uint": "uint32",
    "ushort": "uint16",
    "ulong": "uint64",
    "ulonglong": "uint64",
}

_BY_NAME: Dict[str, int] = {name: code for code, name in NAMES.items()}
_BY_NAME.update((name, _BY_NAME[numpys]) for name, numpys in _C_NAMES.items())

# For passing a value by its address.
C_TYPES: Dict[int, Any] = {
    int(Dtype.INT8): ctypes.c_int8,
    int(Dtype.INT16): ctypes.c_int16,
    int(Dtype.INT32): ctypes.c_int32,
    int(Dtype.INT64): ctypes.c_int64,
    int(Dtype.UINT8): ctypes.c_uint8,
    int(Dtype.UINT16): ctypes.c_uint16,
    int(Dtype.UINT32): ctypes.c_uint32,
    int(Dtype.UINT64): ctypes.c_uint64,
    int(Dtype.FLOAT): ctypes.c_float,
    int(Dtype.DOUBLE): ctypes.c_double,
}
# The smallest and largest integer of a type.
RANGES: Dict[int, Tuple[int, int]] = {
    code: (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))
    for dtype, code in CODES.items()
    if dtype is not None and dtype.kind in "iu"
}
FLOATS = (int(Dtype.FLOAT), int(Dtype.DOUBLE))
_LARGEST_FLOAT = float(np.finfo(np.float32).max)


def numpy_dtype(dtype: Any) -> np.dtype:
    """The NumPy dtype that an argument `dtype` names; "bfloat16" and float8 need ml_dtypes."""
    if isinstance(dtype, str) and (dtype in NARROW or dtype.startswith("float8_")):
        try:
            import ml_dtypes  # type: ignore[import-not-found, unused-ignore]
        except ImportError:
            bits = 8 * SIZES[NARROW[dtype]] if dtype in NARROW else 8
            calls = f" and pass {dtype=} to the collective" if dtype in NARROW else ""
            raise NotSupportedError(
                f"dtype={dtype!r}: NumPy has no such type; install ml_dtypes, or make an array of "
                f"uint{bits}{calls}"
            ) from None
        dtype = getattr(ml_dtypes, dtype, dtype)
    try:
        if dtype is None:
            raise TypeError("None is no type")
        kind: np.dtype = np.dtype(dtype)
    except TypeError as error:
        raise NvshmemInvalid(
            f"dtype={shown(dtype)}: it must be a dtype or the name of one, as in "
            f'array((2, 3), "float32"): {error}'
        ) from None
    if kind.hasobject:
        raise NvshmemInvalid(f"dtype={shown(dtype)}: Python objects mean nothing to another PE")
    return kind


def code_of_array(dtype: np.dtype) -> Optional[int]:
    """The library's number for the elements of an array, None if it has none."""
    code = CODES.get(dtype)
    if code is None and dtype.name in NARROW and dtype.isnative:
        code = CODES[dtype] = NARROW[dtype.name]
    return code


def code_of_name(dtype: Any) -> int:
    """The library's number for an argument `dtype`: a name of NVSHMEM's or NumPy's, or a type."""
    if isinstance(dtype, str):
        named = _BY_NAME.get(dtype)
        if named is not None:
            return named
        dtype = _C_NAMES.get(dtype, dtype)
    code = code_of_array(numpy_dtype(dtype))
    if code is None:
        raise NvshmemInvalid(
            f"dtype={dtype!r}: the element types are {', '.join(NAMES.values())}, in native byte "
            "order"
        )
    return code


def element_code(held: Optional[np.dtype], dtype: Any, name: str) -> int:
    """The library's number for the elements of argument `name`.

    `held` is its own dtype, None for a Buffer; `dtype` is the caller's argument, or None.
    """
    if dtype is None:
        if held is None:
            raise NvshmemInvalid(f"{name} is a Buffer, which has no element type: pass dtype")
        code = code_of_array(held)
        if code is None and held.name.startswith("float8_"):
            raise NotSupportedError(
                f"{name} has dtype {held}: elements of this type are only moved, and nothing "
                "calculates with them; convert them with astype"
            )
        if code is None:
            raise NvshmemInvalid(
                f"{name} has dtype {held}: the element types are {', '.join(NAMES.values())}, in "
                "native byte order"
            )
        return code
    said = code_of_name(dtype)
    if held is None or code_of_array(held) == said:
        return said
    if said in NARROW.values() and held.itemsize == SIZES[said] and held.kind in "iu":
        return said
    raise NvshmemInvalid(f"{name} has dtype {held}, and dtype={dtype!r} was passed")


def scalar(value: Any, code: int, name: str) -> Any:
    """`value` as a Python number that an element of type `code` holds; nothing wraps around."""
    limits = RANGES.get(code)
    if limits is not None:
        if type(value) is int and limits[0] <= value <= limits[1]:
            return value
        number = whole(value, name)
        if not limits[0] <= number <= limits[1]:
            raise NvshmemInvalid(f"{name}={number}: {NAMES[code]} holds {limits[0]} to {limits[1]}")
        return number
    if type(value) is not float:
        value = _real(value, code, name)
    return _in_range(value, code, name)


def _real(value: Any, code: int, name: str) -> float:
    refuse_member(value, name)
    try:
        if isinstance(value, (str, bytes)):
            raise TypeError
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise NvshmemInvalid(
            f"{name}={shown(value)}: it must be a number for {NAMES[code]}"
        ) from None


def _in_range(number: float, code: int, name: str) -> float:
    if code == FLOATS[0] and math.isfinite(number) and abs(number) > _LARGEST_FLOAT:
        raise NvshmemInvalid(f"{name}={number!r}: float32 reaches to {_LARGEST_FLOAT}")
    return number


def one_element(value: Any, dtype: np.dtype, name: str) -> np.ndarray:
    """A private array of one element, `value`; an integer that does not fit is an error."""
    code = code_of_array(dtype)
    if code in C_TYPES:
        value = scalar(value, code, name)
    refuse_member(value, name)
    try:
        if isinstance(value, (str, bytes)) and dtype.kind in "bfc":
            raise TypeError("a text is no number")
        made = np.empty(1, dtype)
        made[0] = value
    except (TypeError, ValueError, OverflowError) as error:
        raise NvshmemInvalid(f"{name}={value!r} is no element of {dtype}: {error}") from None
    return made
