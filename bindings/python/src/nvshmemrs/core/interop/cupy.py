"""CuPy arrays on the symmetric heap, if it is memory of a GPU; on host memory they say so."""

from __future__ import annotations

import math
from typing import Any, List, Optional, Tuple, Union

from .._dtypes import numpy_dtype
from .._job import job, lib, unsupported
from ..memory import (
    Buffer,
    allocate,
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

__all__ = [
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

Shape = Union[int, Tuple[int, ...]]


def array(
    shape: Shape,
    dtype: Any = "float32",
    release: bool = False,
    morder: str = "C",
    except_on_del: bool = True,
) -> Any:
    """Allocates an array of zeros on every PE's symmetric heap.

    Collective over all PEs with the same arguments; includes a barrier. `morder` is "C" or "F".
    `release` and `except_on_del` are accepted and have no effect; see ``buffer``. ``with`` frees
    it. NotSupportedError on host memory, and without CuPy.
    """
    _on_gpu("array")
    try:
        _class()  # before the other PEs wait
        kind = numpy_dtype(dtype)
        _common.switches(release, except_on_del)
        dims = _common.checked(shape, kind, kind.itemsize, morder)
    except NvshmemInvalid as error:
        fail_allocation(error)
    memory = allocate(lib.nvshmemrs_calloc, math.prod(dims), kind.itemsize)
    return _array(memory, dims, kind, order=morder)


empty = array


def bytearray(
    shape: Shape,
    dtype: Any = "float32",
    release: bool = False,
    device_id: Optional[int] = None,
    morder: str = "C",
    except_on_del: bool = True,
) -> Any:
    """The bytes of an array of this shape and dtype, as a one-dimensional array of uint8.

    Collective over all PEs, as ``array``. `device_id` is accepted and has no effect: ``init``
    chooses the GPU.
    """
    _on_gpu("bytearray")
    nbytes = _common.byte_count(shape, dtype, device_id)
    return array(nbytes, "uint8", release, morder, except_on_del)


def free_array(array: Any) -> None:
    """Frees an array on every PE; views of it must not be used any more.

    Collective over all PEs with the same array; it waits for what is on CuPy's current stream, and
    a barrier comes first. It takes the array as allocated, reshaped perhaps, and no smaller view. A
    peer's array is only closed here.
    """
    _on_gpu("free_array")
    _common.free(array, "free_array", "unregister_external_array")


def array_get_buffer(array: Any) -> Tuple[Buffer, int, str]:
    """The Buffer that an array, or a view of one, lies in, the array's bytes, and its dtype's name.
    Local.
    """
    _on_gpu("array_get_buffer")
    return _common.owner(array, "array_get_buffer"), array.nbytes, array.dtype.name


def get_peer_array(array: Any, peer_pe: Optional[int] = None) -> Any:
    """PE `peer_pe`'s copy of an array or view, for direct loads and stores by kernels: same shape,
    dtype and strides. Local.
    """
    _on_gpu("get_peer_array")
    owner = _common.owner_for_peer(array, peer_pe, "get_peer_array")
    offset, shape, strides = _common.layout_of(array, owner)
    memory = get_peer_buffer(owner, peer_pe or 0)
    return _array(memory, shape, array.dtype, offset=offset, strides=strides)


def get_multicast_array(team: Any, array: Any) -> Any:
    """NotSupportedError: this version offers no multicast memory."""
    raise _error("get_multicast_array")


def register_external_array(array: Any) -> Any:
    """Makes an array symmetric, where it is, and returns the array to use in operations: the same
    elements, shape, dtype and order, at another address.

    Collective over all PEs with the same size. The array is C- or F-contiguous, and a whole mapping
    of memory that can be shared; see ``register_external_buffer``.
    """
    _on_gpu("register_external_array")
    _class()
    memory = register_external_buffer(array)
    _, shape, strides = _common.layout_of(array, memory)
    return _array(memory, shape, array.dtype, strides=strides)


def unregister_external_array(array: Any) -> None:
    """Makes a registered array's memory private again; it keeps its contents. Takes the array that
    was registered, or the one that ``register_external_array`` returned.

    Collective over all PEs with the same array; a barrier comes first.
    """
    _on_gpu("unregister_external_array")
    unregister(owner_of(array) or registered_at(array) or array, "unregister_external_array")


def _error(name: str) -> NotSupportedError:
    return unsupported(
        f"interop.cupy.{name}", f"{name} of nvshmemrs.core, or of interop.numpy, has NumPy arrays"
    )


def _on_gpu(name: str) -> None:
    if job.device < 0:
        raise _error(name)


_classes: List[Any] = []


def _class() -> Any:
    """The class of our arrays: CuPy's, with ``with``."""
    if _classes:
        return _classes[0]
    try:
        import cupy  # type: ignore[import-not-found, unused-ignore]
    except ImportError as error:
        raise NotSupportedError(
            f"the symmetric heap is memory of GPU {job.device}, where arrays are CuPy's, and CuPy "
            f"cannot be imported ({error}): install it (pip install cupy-cuda12x), or use "
            "interop.torch.tensor or buffer"
        ) from None

    class SymmetricArray(cupy.ndarray):  # type: ignore[misc, unused-ignore]
        """A CuPy array on the symmetric heap, or a view of one; ``with`` frees it."""

        def __enter__(self) -> Any:
            return self

        def __exit__(self, kind: Optional[type], *_: object) -> None:
            owner = owner_of(self)
            if owner is not None:
                leave_scope(owner, kind)

    _classes.append(SymmetricArray)
    return SymmetricArray


def _array(
    memory: Buffer,
    shape: Tuple[int, ...],
    dtype: Any,
    offset: int = 0,
    strides: Optional[Tuple[int, ...]] = None,
    order: str = "C",
) -> Any:
    """An array in a Buffer, without a copy; it keeps the Buffer."""
    made = _class()
    import cupy  # type: ignore[import-not-found, unused-ignore]

    # The GPU is given, because for a peer's memory the driver would name the peer's GPU.
    block = cupy.cuda.UnownedMemory(memory.live_address(), memory.size, memory, job.device)
    place = cupy.cuda.MemoryPointer(block, offset)
    return made(shape, dtype=dtype, memptr=place, strides=strides, order=order)
