"""NumPy arrays on the symmetric heap."""

from __future__ import annotations

import math
import mmap
import os
from typing import TYPE_CHECKING, Any, Literal, Optional, Tuple, Type, TypeVar, Union, overload

import numpy as np

from .._arguments import check_shape, is_masked
from .._dtypes import numpy_dtype
from .._job import job, lib, unsupported
from .._operand import address_of
from ..memory import (
    Buffer,
    allocate,
    as_numpy,
    fail_allocation,
    get_peer_buffer,
    leave_scope,
    owner_of,
    register_external_buffer,
    registered_at,
    unregister,
)
from ..nvshmem_types import NotSupportedError, NvshmemInvalid
from . import _common
from ._types import Element, Order, Shape, makes_array

__all__ = [
    "SymmetricArray",
    "aligned_empty",
    "array",
    "array_get_buffer",
    "bytearray",
    "empty",
    "free_array",
    "get_multicast_array",
    "get_peer_array",
    "register_external_array",
    "unregister_external_array",
]


if TYPE_CHECKING:
    from numpy.typing import NDArray
    from typing_extensions import Self
    from typing_extensions import TypeVar as _TypeVar

    _Shape = _TypeVar("_Shape", bound=Tuple[Any, ...], default=Tuple[Any, ...], covariant=True)
    _Dtype = _TypeVar("_Dtype", bound=np.dtype[Any], default=np.dtype[Any], covariant=True)
else:  # without their defaults, which Python 3.13 is the first to know
    _Shape, _Dtype = TypeVar("_Shape"), TypeVar("_Dtype")


class SymmetricArray(np.ndarray[_Shape, _Dtype]):
    """A NumPy array on the symmetric heap, or a view of one; ``with`` frees it.

    Results of arithmetic are plain ndarrays. What counts for an operation is where the memory is,
    not this type.
    """

    __slots__ = ()

    def __enter__(self) -> "Self":
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

    def copy(self, order: Any = "C") -> "np.ndarray[_Shape, _Dtype]":  # type: ignore[override]
        """A copy in private memory."""
        made: Any = self.view(np.ndarray).copy(order)
        return made  # type: ignore[no-any-return]

    if not TYPE_CHECKING:  # for which it is ndarray's

        def astype(self, *arguments: Any, **named: Any) -> np.ndarray:
            """A converted copy in private memory."""
            return self.view(np.ndarray).astype(*arguments, **named)

    def __reduce__(self) -> Any:
        return self.view(np.ndarray).__reduce__()

    def __copy__(self) -> Any:
        return self.copy("K")

    def __deepcopy__(self, memo: Any) -> Any:
        return self.view(np.ndarray).__deepcopy__(memo)


_made: Type[Any] = SymmetricArray
"""The class of arrays on the symmetric heap."""
_private: Type[Any] = np.ndarray
"""The class of arrays in private memory."""


def announce_if_checked() -> None:
    """Under the checker, arrays announce NumPy's accesses; see `_watch`."""
    global _made, _private
    if _made is SymmetricArray and os.environ.get("NVSHMEMRS_CHECK", "").strip() == "1":
        from .. import _watch

        _made, _private = _watch.install(SymmetricArray), _watch.Private


announce_if_checked()


@makes_array
def array(
    shape: Shape,
    dtype: Any = "float32",
    release: bool = False,
    morder: Order = "C",
    except_on_del: bool = True,
) -> SymmetricArray[Any, Any]:
    """Allocates an array of zeros on every PE's symmetric heap.

    Collective over all PEs with the same arguments; includes a barrier. `morder` is "C" or "F".
    `release` and `except_on_del` are accepted and have no effect; see ``buffer``.
    """
    dims, kind = _checked("array", shape, dtype, release, morder, except_on_del)
    memory = allocate(lib.nvshmemrs_calloc, math.prod(dims), kind.itemsize)
    return _in(memory, dims, kind, 0, None, morder)


@makes_array
def empty(
    shape: Shape,
    dtype: Any = "float32",
    release: bool = False,
    morder: Order = "C",
    except_on_del: bool = True,
) -> SymmetricArray[Any, Any]:
    """As ``array``, but the contents are undefined: no time goes into zeros.

    Collective over all PEs with the same arguments; includes a barrier.
    """
    dims, kind = _checked("empty", shape, dtype, release, morder, except_on_del)
    memory = allocate(lib.nvshmemrs_malloc, math.prod(dims) * kind.itemsize)
    return _in(memory, dims, kind, 0, None, morder)


def _checked(
    name: str, shape: Any, dtype: Any, release: bool, morder: Order, except_on_del: bool
) -> "Tuple[Tuple[int, ...], np.dtype[Any]]":
    """The shape and the dtype of an array to allocate."""
    _host_memory(name)
    try:
        kind = numpy_dtype(dtype)
        _common.switches(release, except_on_del)
        return _common.checked(shape, kind, kind.itemsize, morder), kind
    except NvshmemInvalid as error:
        fail_allocation(error)


def bytearray(
    shape: Shape,
    dtype: Any = "float32",
    release: bool = False,
    device_id: Optional[int] = None,
    morder: Order = "C",
    except_on_del: bool = True,
) -> "SymmetricArray[Tuple[Any, ...], np.dtype[np.uint8]]":
    """The bytes of an array of this shape and dtype, as a one-dimensional array of uint8.

    Collective over all PEs, as ``array``. `device_id` is accepted and has no effect: the heap is
    host memory.
    """
    nbytes = _common.byte_count(shape, dtype, device_id)
    return array(nbytes, np.uint8, release, morder, except_on_del)


def free_array(array: np.ndarray) -> None:
    """Frees an array on every PE; views of it must not be used any more.

    Collective over all PEs with the same array; a barrier comes first. It takes the array as
    allocated, reshaped perhaps, and no smaller view. A peer's array is only closed here.
    """
    _common.free(array, "free_array", "unregister_external_array")


def array_get_buffer(array: np.ndarray) -> Tuple[Buffer, int, str]:
    """The Buffer that an array, or a view of one, lies in, the array's bytes, and its dtype's name.
    Local.
    """
    return _common.owner(array, "array_get_buffer"), array.nbytes, array.dtype.name


def get_peer_array(
    array: "NDArray[Element]", peer_pe: Optional[int] = None
) -> "SymmetricArray[Tuple[Any, ...], np.dtype[Element]]":
    """PE `peer_pe`'s copy of an array or view, for direct loads and stores: same shape, dtype and
    strides. Local.
    """
    owner = _common.owner_for_peer(array, peer_pe, "get_peer_array")
    offset = address_of(array) - owner.live_address()
    memory = get_peer_buffer(owner, peer_pe or 0)
    return _in(memory, array.shape, array.dtype, offset, array.strides)


def get_multicast_array(team: Any, array: np.ndarray) -> np.ndarray:
    """NotSupportedError: multicast memory is a feature of GPUs."""
    raise unsupported("get_multicast_array")


@overload
def aligned_empty(
    shape: Shape, dtype: Literal["float32", "f4"] = "float32", morder: Order = "C"
) -> "NDArray[np.float32]": ...
@overload
def aligned_empty(
    shape: Shape, dtype: "Union[Type[Element], np.dtype[Element]]", morder: Order = "C"
) -> "NDArray[Element]": ...
@overload
def aligned_empty(shape: Shape, dtype: Any, morder: Order = "C") -> "NDArray[Any]": ...
def aligned_empty(shape: Shape, dtype: Any = "float32", morder: Order = "C") -> "NDArray[Any]":
    """An array of zeros in private memory that can be registered: whole pages. Local."""
    dims, kind = check_shape(shape), numpy_dtype(dtype)
    _common.check_order(morder)
    nbytes = math.prod(dims) * kind.itemsize
    if not 0 < nbytes < 2**63:
        raise NvshmemInvalid(f"shape={shape!r}, dtype={kind}: that is {nbytes} bytes, at least 1")
    private = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    pages = mmap.mmap(-1, _rounded(nbytes), flags=private)
    return np.ndarray.__new__(_private, dims, kind, buffer=pages, order=morder)


def register_external_array(
    array: "NDArray[Element]",
) -> "SymmetricArray[Tuple[Any, ...], np.dtype[Element]]":
    """Makes an array of this process symmetric, where it is, and returns the array to use in
    operations: the same elements, shape, dtype and order, at another address.

    Collective over all PEs with the same size. The array is C- or F-contiguous, begins at a page,
    and the pages it lies in are its own, as those of ``aligned_empty``; see
    ``register_external_buffer``. NVSHMEM `nvshmemx_buffer_register_symmetric`.
    """
    pages: Any = array
    contiguous = isinstance(array, np.ndarray) and (
        array.flags.c_contiguous or array.flags.f_contiguous
    )
    if contiguous and not is_masked(array):
        pages = _pages_of(array)
    memory = register_external_buffer(pages)
    order: Order = "C" if array.flags.c_contiguous else "F"
    return _in(memory, array.shape, array.dtype, 0, None, order)


def unregister_external_array(array: np.ndarray) -> None:
    """Makes a registered array's memory private again; the array that was registered keeps its
    contents. Takes that array, or the one that ``register_external_array`` returned.

    Collective over all PEs with the same array; a barrier comes first.
    """
    owner = owner_of(array) if isinstance(array, np.ndarray) else None
    unregister(owner or registered_at(array) or array, "unregister_external_array")


def _in(
    memory: Buffer,
    shape: Tuple[int, ...],
    dtype: "np.dtype[Element]",
    offset: int,
    strides: Optional[Tuple[int, ...]],
    order: Order = "C",
) -> "SymmetricArray[Tuple[Any, ...], np.dtype[Element]]":
    """An array in a Buffer, without a copy; it keeps the Buffer."""
    place: Any = as_numpy(memory)
    made: Any = np.ndarray.__new__(_made, shape, dtype, place, offset, strides, order)
    return made  # type: ignore[no-any-return]


def _pages_of(array: np.ndarray) -> Any:
    """The whole pages that an array begins and ends in, if its memory has them; else itself."""
    root: Any = array
    while isinstance(root, np.ndarray) and root.base is not None:
        root = root.base
    memory: Any = root
    try:
        whole = np.frombuffer(memory, np.uint8)
    except (TypeError, ValueError, BufferError):
        return array.reshape(-1, order="A")
    start = address_of(array) - address_of(whole)
    pages = memoryview(memory).cast("B")[start : start + _rounded(array.nbytes)]
    return pages if start >= 0 and pages.nbytes == _rounded(array.nbytes) else array.reshape(-1)


def _rounded(nbytes: int) -> int:
    """Bytes of the pages that so many bytes need."""
    return -(-nbytes // mmap.PAGESIZE) * mmap.PAGESIZE


def _host_memory(name: str) -> None:
    if job.device >= 0:
        raise NotSupportedError(
            f"interop.numpy.{name}: the symmetric heap is memory of GPU {job.device}, which NumPy "
            "does not reach; use interop.cupy or interop.torch, or NVSHMEMRS_MEMORY=host"
        )
