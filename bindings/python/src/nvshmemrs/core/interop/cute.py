"""CuTe tensors on the symmetric heap, if it is memory of a GPU; on host memory they say so, because
CuTe's kernels run on GPUs only.

Importing this module imports CUTLASS's CuTe DSL; ImportError where that is not installed.
"""

from __future__ import annotations

import math
from typing import Any, Dict, Optional, Tuple

import numpy as np

from .. import _foreign
from .._arguments import check_shape
from .._job import job, lib
from ..device.cute._arguments import TYPES
from ..device.cute._frontend import cute, cutlass
from ..device.cute._state import on_gpu
from ..memory import (
    Buffer,
    allocate,
    as_numpy,
    fail_allocation,
    fail_free,
    free,
    get_peer_buffer,
    register_external_buffer,
    unregister,
)
from ..nvshmem_types import BufferTypes, NotSupportedError, NvshmemInvalid
from . import _common

__all__ = [
    "bytetensor",
    "cleanup_cute",
    "cute_compile_helper",
    "free_tensor",
    "get_multicast_tensor",
    "get_peer_tensor",
    "register_external_tensor",
    "tensor",
    "tensor_get_buffer",
    "unregister_external_tensor",
]

# Elements as DLPack carries them, by size in bits; the tensor then takes them for its own type.
_CARRIED = {1: "i1", 8: "i1", 16: "i2", 32: "i4", 64: "i8"}
_TYPES: Dict[str, Any] = {kind.__name__: kind for kind in (cutlass.Boolean, *TYPES)}


class _Exporter:
    """Memory of the heap as CuTe takes it."""

    def __init__(self, elements: np.ndarray) -> None:
        self._elements = elements

    def __dlpack__(self, stream: Any = None) -> Any:
        return _foreign.dlpack(self._elements, job.device)

    def __dlpack_device__(self) -> Tuple[int, int]:
        return _foreign.CUDA, job.device


class _Registered:
    """A tensor's memory, for ``register_external_buffer``; it keeps the tensor."""

    def __init__(self, tensor: Any, nbytes: int) -> None:
        self.tensor = tensor
        self.__cuda_array_interface__ = {
            "version": 3,
            "shape": (nbytes,),
            "typestr": "|u1",
            "data": (int(tensor.data_ptr), False),
        }


def tensor(
    shape: Any,
    dtype: Any = cutlass.Float32,
    release: bool = False,
    morder: str = "C",
    except_on_del: bool = True,
) -> Any:
    """Allocates a CuTe tensor of zeros on every PE's symmetric heap.

    Collective over all PEs with the same arguments; includes a barrier. `dtype` is one of CuTe's:
    Boolean, the integers of 8 to 64 bits, Float16, BFloat16, Float32, Float64, Float8E4M3FN or
    Float8E5M2. `morder` is "C" or "F". `release` and `except_on_del` are accepted and have no effect; see ``buffer``.
    NotSupportedError on host memory.
    """
    on_gpu("interop.cute.tensor")
    try:
        itemsize = _itemsize(dtype)
        _common.switches(release, except_on_del)
        dims = _common.checked(shape, dtype, itemsize, morder)
    except NvshmemInvalid as error:
        fail_allocation(error)
    memory = allocate(lib.nvshmemrs_calloc, math.prod(dims), itemsize)
    return _tensor(memory, dims, dtype, morder)


def bytetensor(
    shape: Any,
    dtype: Any = cutlass.Float32,
    release: bool = False,
    morder: str = "C",
    except_on_del: bool = True,
) -> Any:
    """The bytes of a tensor of this shape and dtype, as a one-dimensional tensor of Int8.

    Collective over all PEs, as ``tensor``.
    """
    on_gpu("interop.cute.bytetensor")
    try:
        nbytes = math.prod(check_shape(shape)) * _itemsize(dtype)
    except NvshmemInvalid as error:
        fail_allocation(error)
    return tensor(nbytes, cutlass.Int8, release, morder, except_on_del)


def free_tensor(tensor: Any) -> None:
    """Frees a tensor on every PE; kernels must not use it any more.

    Collective over all PEs with the same tensor; a barrier comes first. It waits for no stream of
    CUDA's but the default one. A peer's tensor is only closed here.
    """
    on_gpu("free_tensor")
    try:
        found = _owner(tensor, "free_tensor")
        if found.buffer_type == BufferTypes.EXTERNAL:
            raise NvshmemInvalid(
                "free_tensor: this was registered: use unregister_external_tensor"
            )
    except NvshmemInvalid as error:
        fail_free(error)
    free(found)


def tensor_get_buffer(tensor: Any) -> Tuple[Buffer, int, Any]:
    """The Buffer that a tensor lies in, the tensor's bytes, and its dtype of CuTe's. Local."""
    on_gpu("tensor_get_buffer")
    found = _owner(tensor, "tensor_get_buffer")
    found.live_address()
    return found, _nbytes(tensor), tensor.element_type


def get_peer_tensor(tensor: Any, peer_pe: Optional[int] = None) -> Any:
    """PE `peer_pe`'s copy of a tensor, for direct loads and stores by kernels: same shape, dtype
    and strides. Local.
    """
    on_gpu("get_peer_tensor")
    found = _owner(tensor, "get_peer_tensor")
    if peer_pe is None:
        raise NvshmemInvalid("peer_pe is missing: say which PE, 0 to n_pes() - 1")
    return _like(get_peer_buffer(found, peer_pe), tensor)


def get_multicast_tensor(team: Any, tensor: Any) -> Any:
    """NotSupportedError: this version offers no multicast memory."""
    raise NotSupportedError(
        "interop.cute.get_multicast_tensor: multicast memory is not used; get_peer_tensor has one "
        "PE's copy"
    )


def register_external_tensor(tensor: Any) -> Any:
    """Makes a tensor symmetric, where it is, and returns the tensor to use in operations: the same
    elements, shape, dtype and strides, at another address.

    Collective over all PEs with the same size. The tensor's elements fill a whole mapping of memory
    that can be shared; see ``register_external_buffer``.
    """
    on_gpu("register_external_tensor")
    known = isinstance(tensor, cute.Tensor)
    external = _Registered(tensor, _nbytes(tensor)) if known else tensor
    return _like(register_external_buffer(external), tensor)


def unregister_external_tensor(tensor: Any) -> None:
    """Makes a registered tensor's memory private again; it keeps its contents. Takes the tensor
    that ``register_external_tensor`` returned.

    Collective over all PEs with the same tensor; a barrier comes first.
    """
    on_gpu("unregister_external_tensor")
    unregister(getattr(tensor, _BUFFER, tensor), "unregister_external_tensor")


def cleanup_cute() -> None:
    """Accepted for compatibility; has no effect, because tensors keep their memory alive. Local."""


def cute_compile_helper(kernel_fn: Any, *args: Any, **kwargs: Any) -> Tuple[Any, None]:
    """``cute.compile(kernel_fn, *args, **kwargs)``, and None where nvshmem4py returns the library
    to finalize: kernels get the job as an argument, so there is nothing to initialize. Local.
    """
    return cute.compile(kernel_fn, *args, **kwargs), None


# Where a tensor keeps its Buffer; the Buffer goes with the tensor.
_BUFFER = "_nvshmemrs_buffer"


def _itemsize(dtype: Any) -> int:
    if dtype not in _TYPES.values():
        raise NvshmemInvalid(
            f"dtype={dtype!r}: give a type of CuTe's, one of {', '.join(_TYPES)}"
        )
    return int(np.dtype(_CARRIED[dtype.width]).itemsize)


def _owner(tensor: Any, caller: str) -> Buffer:
    """The Buffer of a tensor of this module."""
    found = getattr(tensor, _BUFFER, None)
    if not isinstance(found, Buffer):
        raise NvshmemInvalid(
            f"{caller} takes a tensor that tensor(), get_peer_tensor() or "
            f"register_external_tensor() of interop.cute made, not {type(tensor).__name__}"
        )
    return found


def _nbytes(tensor: Any) -> int:
    return int(math.prod(tensor.shape)) * _itemsize(tensor.element_type)


def _tensor(memory: Buffer, dims: Tuple[int, ...], dtype: Any, order: Any) -> Any:
    """A tensor in a Buffer, without a copy."""
    elements = np.ndarray(dims, _CARRIED[dtype.width], as_numpy(memory), 0, None, order)
    return _made(memory, elements, dtype)


def _like(memory: Buffer, tensor: Any) -> Any:
    """The same at another place."""
    itemsize = _itemsize(tensor.element_type)
    strides = tuple(int(step) * itemsize for step in tensor.stride)
    carried = _CARRIED[tensor.element_type.width]
    shape = tuple(map(int, tensor.shape))
    elements: np.ndarray = np.ndarray(shape, carried, as_numpy(memory), 0, strides)
    return _made(memory, elements, tensor.element_type)


def _made(memory: Buffer, elements: np.ndarray, dtype: Any) -> Any:
    made = cute.runtime.from_dlpack(_Exporter(elements), assumed_align=16)
    made.element_type = dtype
    setattr(made, _BUFFER, memory)
    return made
