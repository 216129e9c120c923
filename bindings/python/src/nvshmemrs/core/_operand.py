"""Arguments: what an array, a Buffer, a team or a PE number means to the library. Each is resolved
once.
"""

from __future__ import annotations

import ctypes
import operator
import weakref
from typing import Any, Callable, Dict, Optional, Tuple

import numpy as np

from .._ffi import Dtype
from ._job import operands
from .memory import Buffer
from .nvshmem_types import NotSupportedError, NvshmemInvalid, Teams

# The dtypes that reductions know.
DTYPES: Dict[Optional[np.dtype], int] = {
    np.dtype(np.int8): int(Dtype.INT8),
    np.dtype(np.int16): int(Dtype.INT16),
    np.dtype(np.int32): int(Dtype.INT32),
    np.dtype(np.int64): int(Dtype.INT64),
    np.dtype(np.uint8): int(Dtype.UINT8),
    np.dtype(np.uint16): int(Dtype.UINT16),
    np.dtype(np.uint32): int(Dtype.UINT32),
    np.dtype(np.uint64): int(Dtype.UINT64),
    np.dtype(np.float32): int(Dtype.FLOAT),
    np.dtype(np.float64): int(Dtype.DOUBLE),
}
_LARGEST_PE = 2**31
_first_byte: Callable[[Any], ctypes.c_char] = ctypes.c_char.from_buffer
_addressof = ctypes.addressof


class Operand:
    """An array or a Buffer as a range of bytes."""

    __slots__ = ("address", "nbytes", "dtype", "order", "strides", "watch")

    def __init__(
        self,
        address: int,
        nbytes: int,
        dtype: Optional[np.dtype],
        order: str,
        strides: Tuple[int, ...],
        watch: Optional["weakref.ref[np.ndarray]"],
    ) -> None:
        self.address = address
        self.nbytes = nbytes
        self.dtype = dtype
        self.order = order  # "C", "F", or "A" where both are the same
        self.strides = strides
        self.watch = watch  # removes this from `operands` when the array dies

    def describe(self) -> str:
        """For error messages."""
        if self.dtype is None:
            return f"{self.nbytes} bytes"
        count = self.nbytes // (self.dtype.itemsize or 1)
        return f"{count} elements of {self.dtype} ({self.nbytes} bytes)"


def operand(value: Any, name: str) -> Operand:
    """The bytes of the array or Buffer that was passed as argument `name`."""
    known: Optional[Operand] = operands.get(id(value))
    # NumPy lets dtype and strides of an array change in place; its data cannot move while `watch`
    # refers to it.
    if known is not None and known.dtype is value.dtype and known.strides == value.strides:
        return known
    return _resolve(value, name)


def _resolve(value: Any, name: str) -> Operand:
    if isinstance(value, Buffer):
        return Operand(value.live_address(), value.size, None, "A", (), None)
    if not isinstance(value, np.ndarray):
        raise NvshmemInvalid(f"{name} is a {type(value).__name__}: pass a NumPy array or a Buffer")
    flags = value.flags
    in_c, in_f = flags.c_contiguous, flags.f_contiguous
    if not in_c and not in_f:
        raise NvshmemInvalid(
            f"{name} is not contiguous: shape {value.shape}, strides {value.strides} bytes. One "
            "call moves one contiguous block; pass contiguous parts, or copy first"
        )
    dtype = value.dtype
    if dtype.hasobject:
        raise NvshmemInvalid(f"{name} has dtype {dtype}: Python objects mean nothing to another PE")
    owner = owner_of(value)
    if owner is not None:
        owner.live_address()  # raises if it was freed
    key, forget = id(value), operands.pop
    found = Operand(
        address_of(value),
        value.nbytes,
        dtype,
        ("A" if in_f else "C") if in_c else "F",
        value.strides,
        weakref.ref(value, lambda _: forget(key, None)),
    )
    operands[key] = found
    return found


def address_of(array: np.ndarray) -> int:
    """Where an array's first element is."""
    try:
        return _addressof(_first_byte(array))  # four times as fast as what follows
    except (TypeError, ValueError, BufferError):  # read-only, empty, F-ordered, datetime64, ...
        return int(array.__array_interface__["data"][0])


def owner_of(array: np.ndarray) -> Optional[Buffer]:
    """The Buffer that an array, or a view of one, lies in; None for memory that is not ours."""
    base: Any = array.base
    while base is not None:
        if isinstance(base, np.ndarray):
            base = base.base
        elif isinstance(base, Buffer):
            return base
        elif isinstance(base, memoryview):
            base = base.obj
        else:
            return None
    return None


def agree(dst: Operand, src: Operand) -> None:
    """Raises unless the two ranges can be copied onto each other: same type, bytes and order."""
    if dst.dtype is not None and src.dtype is not None and dst.dtype != src.dtype:
        raise NvshmemInvalid(
            f"dst has dtype {dst.dtype} and src {src.dtype}: convert one with astype"
        )
    if dst.nbytes != src.nbytes:
        raise NvshmemInvalid(
            f"dst is {dst.describe()} and src {src.describe()}: pass slices of the same size, or "
            "count"
        )
    if "A" not in (dst.order, src.order) and dst.order != src.order:
        raise NvshmemInvalid(
            f"dst is {dst.order}-ordered and src {src.order}-ordered: copy one to the other's order"
        )


def bytes_of(dst: Operand, src: Operand, count: Optional[int]) -> int:
    """How many bytes to move, where `count` is given, or dst and src are not plainly alike."""
    if count is None:
        agree(dst, src)
        return dst.nbytes
    if dst.dtype is not None and src.dtype is not None and dst.dtype != src.dtype:
        raise NvshmemInvalid(
            f"dst has dtype {dst.dtype} and src {src.dtype}: convert one with astype"
        )
    dtype = dst.dtype if dst.dtype is not None else src.dtype
    size = 1 if dtype is None else dtype.itemsize or 1
    limit = min(dst.nbytes, src.nbytes) // size
    try:
        number = operator.index(count)
    except TypeError:
        raise NvshmemInvalid(f"count={count!r}: give an integer number of elements") from None
    if not 0 <= number <= limit:
        raise NvshmemInvalid(
            f"count={count}: dst is {dst.describe()} and src {src.describe()}, so 0 to {limit}"
        )
    return number * size


def signal_address(value: Any, name: str = "signal_var") -> int:
    """The address of a signal: a Buffer's first 8 bytes, or an array's first 64-bit integer."""
    signal = operand(value, name)
    if signal.dtype is not None and (signal.dtype.kind not in "iu" or signal.dtype.itemsize != 8):
        raise NvshmemInvalid(f"{name} has dtype {signal.dtype}: a signal is a uint64 (or int64)")
    if signal.nbytes < 8:
        raise NvshmemInvalid(f"{name} is {signal.describe()}: a signal needs 8 bytes")
    return signal.address


def signal_value(value: Any) -> int:
    """A signal's value; the library takes 64 unsigned bits."""
    number = integer(value, "signal_val")
    if not 0 <= number < 2**64:
        raise NvshmemInvalid(f"signal_val={value}: a signal holds 0 to 2**64 - 1")
    return number


def integer(value: Any, name: str) -> int:
    """An integer argument."""
    try:
        return operator.index(value)
    except TypeError:
        raise NvshmemInvalid(f"{name}={value!r}: give an integer") from None


def pe_of(remote_pe: Any, pe: Any, name: str = "remote_pe") -> int:
    """The PE number; `pe` is another spelling of `remote_pe`. The library checks its range."""
    if remote_pe is None:
        if pe is None:
            raise NvshmemInvalid(f"{name} is missing: say which PE, 0 to n_pes() - 1")
        remote_pe = pe
    elif pe is not None:
        raise NvshmemInvalid(f"{name}={remote_pe!r} and pe={pe!r}: give one of them")
    number = integer(remote_pe, name)
    if not -_LARGEST_PE <= number < _LARGEST_PE:
        raise NvshmemInvalid(f"{name}={remote_pe}: no job has a PE of that number")
    return number


def c_int(value: Any, name: str) -> int:
    """An int32 argument that the library checks further."""
    number = integer(value, name)
    if not -(2**31) <= number < 2**31:
        raise NvshmemInvalid(f"{name}={value}: out of range")
    return number


def team_of(value: Any) -> int:
    """A team's handle, from its handle or its name."""
    if type(value) is int and 0 <= value < 2**64:
        return value
    if isinstance(value, str):
        try:
            return Teams[value]
        except KeyError:
            raise NvshmemInvalid(f"team={value!r}: the teams are {', '.join(Teams)}") from None
    number = integer(value, "team")
    if not 0 <= number < 2**64:
        raise NvshmemInvalid(f"team={value}: no team has that handle")
    return number


def no_stream(stream: Any) -> None:
    """Raises unless `stream` is None."""
    if stream is not None:
        raise NotSupportedError(
            f"stream={stream!r}: the heap is host memory, which takes no stream in this version; "
            "leave it None, and the operation is done when the call returns"
        )


Function = Callable[..., int]
