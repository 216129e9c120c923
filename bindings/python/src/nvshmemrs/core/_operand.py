"""Resolves arguments: arrays, Buffers, teams and PE numbers become addresses and numbers for the
library, once per call.
"""

from __future__ import annotations

import ctypes
import sys
import weakref
from typing import Any, Callable, Dict, Optional, Tuple

import numpy as np

from .._ffi import Dtype
from . import _extension, _foreign
from ._arguments import a_kind, integer, refuse_masked, whole
from ._buffer import Block, owner_of
from ._dtypes import CODES, SIZES, element_code, numpy_dtype
from ._job import job, operands
from .nvshmem_types import NvshmemInvalid

Function = Callable[..., int]

# Parts of a NumPy array that are compared when the array is used again: its type, data, number of axes,
# where its shape and strides are, its base, dtype and flags, as NumPy's C API lays them out. A
# reference of any kind would keep the program from resizing its array.
_BEHIND_COUNT = object.__basicsize__ - ctypes.sizeof(ctypes.c_void_p)
_Header: Any = ctypes.c_char * (7 * ctypes.sizeof(ctypes.c_void_p) + ctypes.sizeof(ctypes.c_int))


def _is_laid_out_so() -> bool:
    """Whether this interpreter and this NumPy have an array's header where it is looked for."""
    array = np.zeros(3)
    if sys.implementation.name != "cpython" or np.ndarray.__basicsize__ < (
        _BEHIND_COUNT + ctypes.sizeof(_Header)
    ):
        return False
    words = (ctypes.c_size_t * 7).from_address(id(array) + _BEHIND_COUNT)
    data = array.__array_interface__["data"][0]
    return (words[0], words[1], words[6]) == (id(np.ndarray), data, id(array.dtype))


_LAID_OUT = _is_laid_out_so()
# Arrays that are remembered at most.
_MOST = 1024
_ndarray = np.ndarray

# One object for equal dtypes, so that operands can be compared by identity.
_LAYOUTS: Dict[np.dtype, np.dtype] = {}
BYTES = np.dtype([("Buffer", "V1")])
_SIGNALS = (int(Dtype.UINT64), int(Dtype.INT64))
_first_byte: Callable[[Any], ctypes.c_char] = ctypes.c_char.from_buffer
_addressof = ctypes.addressof
_place: Callable[[int], Any] = ctypes.c_void_p.from_param
_extent: Callable[[int], Any] = ctypes.c_size_t.from_param


class Operand:
    """An array or a Buffer: where its elements are. `address` is that of the first element.

    `place` and `extent` are `address` and `nbytes` as functions from `bare` take them.
    """

    __slots__ = (
        "address",
        "place",
        "nbytes",
        "extent",
        "dtype",
        "layout",
        "shape",
        "strides",
        "header",
        "seen",
        "flat",
        "watch",
        "is_same",
        "base",
        "code",
        "in_heap",
    )

    def __init__(
        self,
        address: int,
        nbytes: int,
        dtype: Optional[np.dtype],
        layout: Optional[np.dtype],
        shape: Tuple[int, ...],
        strides: Tuple[int, ...],
        watch: Optional["weakref.ref[Any]"] = None,
        is_same: Optional[Callable[[Any], bool]] = None,
        base: Any = None,
    ) -> None:
        self.address = address
        self.place = _place(address)
        self.nbytes = nbytes
        self.extent = _extent(nbytes)
        self.dtype = dtype  # None for a Buffer
        # Elements one behind the other in C order: their dtype, `BYTES` of a Buffer. None for any
        # other layout.
        self.layout = layout
        self.shape = shape
        self.strides = strides
        self.header: Any = None  # of a remembered array of NumPy's: its header
        self.seen = b""
        self.flat = False  # with one axis at most: then its size says its shape
        self.watch = watch  # removes this from `operands` when the object dies
        # Whether an array of another library than NumPy still is what it was; None of NumPy's, and
        # of a Buffer, which always is: it is forgotten when it is freed.
        self.is_same = is_same
        self.base = base  # the array that it is a part of, if it was made from one
        # The library's number for elements of this layout; None if it has none, or not yet.
        self.code = CODES.get(layout)
        self.in_heap = False  # whether `queued` of _sizes has found it there

    @property
    def f_contiguous(self) -> bool:
        """Whether the elements follow each other in Fortran's order."""
        step = 0 if self.dtype is None else self.dtype.itemsize
        for length, stride in zip(self.shape, self.strides):
            if length > 1 and stride != step:
                return False
            step *= length
        return True

    def as_numpy(self) -> np.ndarray:
        """The address for arithmetic only: the memory may be a GPU's."""
        return _foreign.Span(self.address, None, self.shape, self.dtype, self.strides).array()

    def describe(self) -> str:
        """For error messages."""
        if self.dtype is None:
            return f"{self.nbytes} bytes"
        count = self.nbytes // (self.dtype.itemsize or 1)
        elements = "1 element" if count == 1 else f"{count} elements"
        return f"{elements} of {self.dtype} ({self.nbytes} bytes)"


def operand(value: Any, name: str) -> Operand:
    """The array or Buffer that was passed as argument `name`."""
    known: Optional[Operand] = operands.get(id(value))
    if known is not None:
        # NumPy lets data, size, shape, dtype and strides of an array change in place. An array that
        # has died may leave its number to an object of another type, whose memory is not looked at.
        if known.header is None:
            if known.is_same is None or known.is_same(value):
                return known
        elif isinstance(value, _ndarray) and known.header.raw == known.seen:
            if (known.nbytes == value.nbytes) if known.flat else (known.shape == value.shape):
                return known
    return _resolve(value, name)


def _resolve(value: Any, name: str) -> Operand:
    if isinstance(value, Operand):
        return value
    if isinstance(value, Block):
        size = value.size
        return _kept(value, Operand(value.live_address(), size, None, BYTES, (size,), (1,)))
    if not isinstance(value, np.ndarray):
        return _resolve_foreign(value, name)
    dtype = value.dtype
    if dtype.hasobject:
        raise NvshmemInvalid(f"{name} has dtype {dtype}: Python objects mean nothing to another PE")
    if type(value) is not np.ndarray:
        refuse_masked(value, name)
    owner = owner_of(value)
    if owner is not None:
        owner.live_address()  # raises if it was freed
        _extension.keep(value)
    address, nbytes = address_of(value), value.nbytes
    if not value.flags.c_contiguous:
        return Operand(address, nbytes, dtype, None, value.shape, value.strides)
    layout = _LAYOUTS.setdefault(dtype, dtype)
    found = Operand(address, nbytes, dtype, layout, value.shape, value.strides)
    if _LAID_OUT:
        if len(operands) >= _MOST:
            operands.clear()
        found.header = _Header.from_address(id(value) + _BEHIND_COUNT)
        found.seen, found.flat = found.header.raw, value.ndim < 2
        operands[id(value)] = found
    return found


def _resolve_foreign(value: Any, name: str) -> Operand:
    """An array of another library than NumPy."""
    found = _foreign.described(value, name)
    if found is None:
        raise NvshmemInvalid(
            f"{name} is {a_kind(value)}: pass a Buffer, an array of NumPy, CuPy or torch, "
            "or another object that shares its memory by the buffer protocol or DLPack"
        )
    if found.on_gpu and job.runtime and job.device < 0:
        raise NvshmemInvalid(
            f"{name} is {a_kind(value)} on a GPU, and the symmetric heap is host memory: "
            "set NVSHMEMRS_MEMORY=device or pass device to init"
        )
    owner = owner_of(value)
    if owner is not None:
        owner.live_address()
    dtype, shape, strides = found.dtype, found.shape, found.strides
    nbytes = found.nbytes
    if dtype is None:  # bytes
        kind = BYTES if found.keeper is not None else None
        return Operand(found.address, nbytes, None, kind, shape, strides, base=found.keeper)
    layout = _LAYOUTS.setdefault(dtype, dtype) if found.c_contiguous else None
    made = Operand(
        found.address, nbytes, dtype, layout, shape, strides, None, found.is_same, found.keeper
    )
    return made if found.is_same is None or layout is None else _kept(value, made)


def _kept(value: Any, found: Operand) -> Operand:
    """Remembers a Buffer, or an array of another library, until it dies."""
    key, forget = id(value), operands.pop
    found.watch = weakref.ref(value, lambda _: forget(key, None))
    operands[key] = found
    return found


def writable(value: Any, name: str) -> None:
    """Raises if `value` is a read-only array."""
    if isinstance(value, np.ndarray):
        if value.flags.writeable:
            return
        raise NvshmemInvalid(f"{name} is a read-only array")
    known = operands.get(id(value))
    if (known is not None and known.header is None) or isinstance(value, (Block, Operand)):
        return  # those of other libraries that are remembered can be written
    if _foreign.is_read_only(value):
        raise NvshmemInvalid(f"{name} is a read-only array")


def address_of(array: np.ndarray) -> int:
    """Where an array's first element is."""
    try:
        return _addressof(_first_byte(array))  # four times as fast as the general way below
    except (TypeError, ValueError, BufferError):  # read-only, empty, F-ordered, datetime64, ...
        return int(array.__array_interface__["data"][0])


def same_dtype(dst: Operand, src: Operand) -> None:
    """Raises if two arrays have different dtypes."""
    if dst.dtype is not None and src.dtype is not None and dst.dtype != src.dtype:
        raise NvshmemInvalid(
            f"dst has dtype {dst.dtype} and src {src.dtype}: convert one with astype"
        )


def contiguous(array: Operand, name: str) -> None:
    """Raises unless the elements follow each other in C order, as collectives need it."""
    if array.layout is None and array.dtype is not None:
        raise NvshmemInvalid(
            f"{name} is not C-contiguous: shape {array.shape}, strides {array.strides} bytes. A "
            "collective takes contiguous arrays; copy it first"
        )


def element(value: Any, offset: Any, dtype: Any, name: str) -> Tuple[int, int]:
    """The address of element `offset` of an array or view, counted in C order, and the library's
    number for its type. `dtype` says the type of a Buffer's elements.
    """
    found = operand(value, name)
    code = CODES.get(found.layout) if dtype is None else None
    if code is None:
        code = element_code(found.dtype, dtype, name)
    size = SIZES[code]
    count = found.nbytes // size
    if type(offset) is int and offset == 0 and count:
        return found.address, code
    number = integer(offset, "offset")
    if not 0 <= number < count:
        raise NvshmemInvalid(f"offset={offset}: {name} is {found.describe()}, so 0 to {count - 1}")
    if found.layout is not None or found.dtype is None:
        return found.address + number * size, code
    steps = np.unravel_index(number, found.shape)
    return found.address + sum(int(i) * s for i, s in zip(steps, found.strides)), code


def typed(value: Any, dtype: Any, name: str) -> Operand:
    """An array as it is, or a Buffer as an array of `dtype`: `dtype` is not None."""
    found = operand(value, name)
    if found.dtype is None:
        if dtype is None:
            raise NvshmemInvalid(f"{name} is a Buffer, which has no element type: pass dtype")
        kind = numpy_dtype(dtype)
        if found.nbytes % kind.itemsize:
            raise NvshmemInvalid(f"{name} is {found.nbytes} bytes, no whole number of {kind}")
        shape, strides = (found.nbytes // kind.itemsize,), (kind.itemsize,)
        layout = _LAYOUTS.setdefault(kind, kind)
        return Operand(found.address, found.nbytes, kind, layout, shape, strides, base=value)
    if dtype is not None and numpy_dtype(dtype) != found.dtype:
        raise NvshmemInvalid(f"{name} has dtype {found.dtype}, and dtype={dtype!r} was passed")
    return found


def signal_place(value: Any, name: str = "signal_var") -> Any:
    """The `place` of a signal: a Buffer's first 8 bytes, or an array of one 64-bit integer."""
    signal = operand(value, name)
    if signal.nbytes == 8 and signal.code in _SIGNALS:
        return signal.place
    if signal.dtype is not None and (signal.dtype.kind not in "iu" or signal.dtype.itemsize != 8):
        raise NvshmemInvalid(f"{name} has dtype {signal.dtype}: a signal is a uint64 (or int64)")
    if signal.nbytes < 8:
        raise NvshmemInvalid(f"{name} is {signal.describe()}: a signal needs 8 bytes")
    if signal.dtype is not None and signal.nbytes > 8:
        raise NvshmemInvalid(
            f"{name} is {signal.describe()}: a signal is one element. Pass a part of one element, "
            f"such as {name}[0:1]"
        )
    return signal.place


def signal_value(value: Any, name: str = "signal_val") -> ctypes.c_uint64:
    """A signal's value, argument `name`; the library takes 64 unsigned bits."""
    number = value if type(value) is int else whole(value, name)
    if not 0 <= number < 2**64:
        raise NvshmemInvalid(f"{name}={value}: a signal holds 0 to 2**64 - 1")
    return ctypes.c_uint64(number)
