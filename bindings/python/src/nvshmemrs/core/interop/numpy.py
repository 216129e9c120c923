"""NumPy arrays on the symmetric heap."""

from __future__ import annotations

import math
from typing import Any, Literal, Optional, Tuple, Union

import numpy as np

from .._job import lib
from .._operand import address_of, owner_of
from ..memory import (
    Buffer,
    allocate,
    fail_allocation,
    fail_free,
    free,
    get_peer_buffer,
    leave_scope,
)
from ..nvshmem_types import NvshmemInvalid

__all__ = [
    "SymmetricArray",
    "array",
    "array_get_buffer",
    "bytearray",
    "free_array",
    "get_peer_array",
]


class SymmetricArray(np.ndarray):
    """A NumPy array on the symmetric heap, or a view of one; ``with`` frees it.

    Results of arithmetic are plain ndarrays. What counts for an operation is where the memory is,
    not this type.
    """

    __slots__ = ()

    def __enter__(self) -> "SymmetricArray":
        return self

    def __exit__(self, kind: Optional[type], *_: object) -> None:
        owner = owner_of(self)
        if owner is not None:
            leave_scope(owner, kind)

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        if array is self:  # the `out` argument, as in a += 1
            return array
        if return_scalar or array.shape == ():
            return array[()]
        return array.view(np.ndarray)

    def copy(self, order: Any = "C") -> np.ndarray:  # type: ignore[override]
        """A copy in private memory."""
        return self.view(np.ndarray).copy(order)

    def astype(self, *arguments: Any, **named: Any) -> np.ndarray:
        """A converted copy in private memory."""
        return self.view(np.ndarray).astype(*arguments, **named)

    def __reduce__(self) -> Any:
        return self.view(np.ndarray).__reduce__()


def array(
    shape: Union[int, Tuple[int, ...]],
    dtype: Any = "float32",
    release: bool = False,
    morder: Literal["C", "F"] = "C",
    except_on_del: bool = True,
) -> SymmetricArray:
    """Allocates an array of zeros on every PE's symmetric heap.

    Collective over all PEs with the same arguments; includes a barrier. `morder` is "C" or "F".
    `release` and `except_on_del` are accepted and have no effect; see ``buffer``.
    """
    try:
        dims, kind = _check_shape(shape), _check_dtype(dtype)
        nbytes = math.prod(dims) * kind.itemsize
        if not 0 < nbytes < 2**63:
            raise NvshmemInvalid(
                f"shape={shape!r}, dtype={kind}: that is {nbytes} bytes; give at least 1"
            )
        if morder not in ("C", "F"):
            raise NvshmemInvalid(f'morder={morder!r}: it is "C" or "F"')
    except NvshmemInvalid as error:
        fail_allocation(error)
    memory = allocate(lib.nvshmemrs_calloc, math.prod(dims), kind.itemsize)
    return np.ndarray.__new__(SymmetricArray, dims, kind, buffer=np.asarray(memory), order=morder)


def bytearray(
    shape: Union[int, Tuple[int, ...]],
    dtype: Any = "float32",
    release: bool = False,
    device_id: Optional[int] = None,
    morder: Literal["C", "F"] = "C",
    except_on_del: bool = True,
) -> SymmetricArray:
    """The bytes of an array of this shape and dtype, as a one-dimensional array of uint8.

    Collective over all PEs, as ``array``. `device_id` is accepted and has no effect: the heap is
    host memory.
    """
    try:
        nbytes = math.prod(_check_shape(shape)) * _check_dtype(dtype).itemsize
    except NvshmemInvalid as error:
        fail_allocation(error)
    return array(nbytes, np.uint8, release, morder, except_on_del)


def free_array(array: np.ndarray) -> None:
    """Frees an array on every PE; views of it must not be used any more.

    Collective over all PEs with the same array; a barrier comes first. It takes the array as
    allocated, reshaped perhaps, and no smaller view. A peer's array is only closed here.
    """
    try:
        owner = _owner(array, "free_array")
        if array.nbytes != owner.size:
            raise NvshmemInvalid(
                f"free_array: a view of {array.nbytes} bytes of an array of {owner.size}: pass the "
                "whole array"
            )
    except NvshmemInvalid as error:
        fail_free(error)
    free(owner)


def array_get_buffer(array: np.ndarray) -> Tuple[Buffer, int, str]:
    """The Buffer that an array, or a view of one, lies in, the array's bytes, and its dtype's name.
    Local.
    """
    return _owner(array, "array_get_buffer"), array.nbytes, array.dtype.name


def get_peer_array(array: np.ndarray, peer_pe: Optional[int] = None) -> SymmetricArray:
    """PE `peer_pe`'s copy of an array or view, for direct loads and stores: same shape, dtype and
    strides. Local.
    """
    if peer_pe is None:
        raise NvshmemInvalid("peer_pe is missing: say which PE, 0 to n_pes() - 1")
    owner = _owner(array, "get_peer_array")
    offset = address_of(array) - owner.live_address()
    memory = np.asarray(get_peer_buffer(owner, peer_pe))
    return np.ndarray.__new__(
        SymmetricArray, array.shape, array.dtype, memory, offset, array.strides
    )


def _owner(array: Any, caller: str) -> Buffer:
    if not isinstance(array, np.ndarray):
        kind = type(array).__name__
        raise NvshmemInvalid(f"{caller} takes an array on the symmetric heap, not {kind}")
    owner = owner_of(array)
    if owner is None:
        raise NvshmemInvalid(
            f"{caller}: this array was not made by array() or bytearray(), nor is it a view of such"
        )
    return owner


def _check_shape(shape: Any) -> Tuple[int, ...]:
    try:
        dims = (
            (int(shape),) if isinstance(shape, (int, np.integer)) else tuple(int(n) for n in shape)
        )
    except (TypeError, ValueError):
        dims = (-1,)
    if any(n < 0 for n in dims):
        raise NvshmemInvalid(f"shape={shape!r}: give an integer or a tuple of them, none negative")
    return dims


def _check_dtype(dtype: Any) -> np.dtype:
    try:
        kind: np.dtype = np.dtype(dtype)
    except TypeError as error:
        raise NvshmemInvalid(f"dtype={dtype!r}: {error}") from None
    if kind.hasobject:
        raise NvshmemInvalid(f"dtype={dtype!r}: Python objects mean nothing to another PE")
    return kind
