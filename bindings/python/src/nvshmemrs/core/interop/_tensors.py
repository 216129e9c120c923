"""torch tensors on the symmetric heap. On host memory, too, where torch can be imported."""

from __future__ import annotations

import math
from importlib.util import find_spec
from typing import Any, Optional, Tuple

import numpy as np

from .. import _foreign
from .._arguments import check_shape
from .._job import job, lib, unsupported
from .._operand import operand
from ..memory import (
    Buffer,
    allocate,
    as_numpy,
    fail_allocation,
    get_peer_buffer,
    owner_of,
    register_external_buffer,
    registered_at,
    unregister,
)
from ..nvshmem_types import NotSupportedError, NvshmemInvalid
from . import _common

__all__ = [
    "bytetensor",
    "empty",
    "free_tensor",
    "get_multicast_tensor",
    "get_peer_tensor",
    "register_external_tensor",
    "tensor",
    "tensor_get_buffer",
    "unregister_external_tensor",
]


def tensor(
    shape: Any,
    dtype: Any = None,
    release: bool = False,
    morder: str = "C",
    except_on_del: bool = True,
) -> Any:
    """Allocates a tensor of zeros on every PE's symmetric heap.

    Collective over all PEs with the same arguments; includes a barrier. `dtype` is torch's, None
    its default; `morder` "C" or "F". `release` and `except_on_del` are accepted and have no effect;
    see ``buffer``. On host memory it is a tensor of torch's device cpu. NotSupportedError without
    torch.
    """
    _has_torch("tensor")
    try:
        torch = _torch()  # before the other PEs wait
        kind = torch.get_default_dtype() if dtype is None else dtype
        itemsize = _itemsize(torch, kind)
        _common.switches(release, except_on_del)
        dims = _common.checked(shape, kind, itemsize, morder)
    except NvshmemInvalid as error:
        fail_allocation(error)
    memory = allocate(lib.nvshmemrs_calloc, math.prod(dims), itemsize)
    return _tensor(memory, dims, kind, itemsize, order=morder)


empty = tensor


def bytetensor(
    shape: Any,
    dtype: Any = None,
    release: bool = False,
    morder: str = "C",
    except_on_del: bool = True,
) -> Any:
    """The bytes of a tensor of this shape and dtype, as a one-dimensional tensor of uint8.

    Collective over all PEs, as ``tensor``.
    """
    _has_torch("bytetensor")
    try:
        torch = _torch()
        kind = torch.get_default_dtype() if dtype is None else dtype
        nbytes = math.prod(check_shape(shape)) * _itemsize(torch, kind)
    except NvshmemInvalid as error:
        fail_allocation(error)
    return tensor(nbytes, torch.uint8, release, morder, except_on_del)


def free_tensor(tensor: Any) -> None:
    """Frees a tensor on every PE; views of it must not be used any more.

    Collective over all PEs with the same tensor; it waits for what is on torch's current stream,
    and a barrier comes first. It takes the tensor as allocated, reshaped perhaps, and no smaller
    view. A peer's tensor is only closed here.
    """
    _has_torch("free_tensor")
    _common.free(tensor, "free_tensor", "unregister_external_tensor")


def tensor_get_buffer(tensor: Any) -> Tuple[Buffer, int, str]:
    """The Buffer that a tensor, or a view of one, lies in, the tensor's bytes, and its dtype's
    name. Local.
    """
    _has_torch("tensor_get_buffer")
    found = _common.owner_or_pool(tensor, "tensor_get_buffer")
    return found, operand(tensor, "tensor").nbytes, str(tensor.dtype).rpartition(".")[2]


def get_peer_tensor(tensor: Any, peer_pe: Optional[int] = None) -> Any:
    """PE `peer_pe`'s copy of a tensor or view, for direct loads and stores by kernels: same shape,
    dtype and strides, on this PE's GPU as torch sees it. Local.
    """
    _has_torch("get_peer_tensor")
    owner = _common.owner_for_peer(tensor, peer_pe, "get_peer_tensor")
    offset, shape, strides = _common.layout_of(tensor, owner)
    memory = get_peer_buffer(owner, peer_pe or 0)
    return _tensor(memory, shape, tensor.dtype, tensor.element_size(), offset, strides)


def get_multicast_tensor(team: Any, tensor: Any) -> Any:
    """NotSupportedError: this version offers no multicast memory."""
    raise _error("get_multicast_tensor")


def register_external_tensor(tensor: Any) -> Any:
    """Makes a tensor symmetric, where it is, and returns the tensor to use in operations: the same
    elements, shape, dtype and strides, at another address.

    Collective over all PEs with the same size. The tensor is contiguous in C or Fortran order, and
    a whole mapping of memory that can be shared; see ``register_external_buffer``.
    """
    _has_torch("register_external_tensor")
    memory = register_external_buffer(tensor)
    _, shape, strides = _common.layout_of(tensor, memory)
    return _tensor(memory, shape, tensor.dtype, tensor.element_size(), 0, strides)


def unregister_external_tensor(tensor: Any) -> None:
    """Makes a registered tensor's memory private again; it keeps its contents. Takes the tensor
    that was registered, or the one that ``register_external_tensor`` returned.

    Collective over all PEs with the same tensor; a barrier comes first.
    """
    _has_torch("unregister_external_tensor")
    unregister(owner_of(tensor) or registered_at(tensor) or tensor, "unregister_external_tensor")


def whole_tensor(memory: Buffer) -> Any:
    """The bytes of a Buffer as a tensor."""
    return _tensor(memory, (memory.size,), _torch().uint8, 1)


def _error(name: str) -> NotSupportedError:
    return unsupported(name, "array() makes NumPy arrays, which torch.from_numpy shares")


def _has_torch(name: str) -> None:
    """On host memory tensors are an extra of programs that have torch."""
    if job.device < 0 and (not job.runtime or find_spec("torch") is None):
        raise _error(name)


def _torch() -> Any:
    try:
        import torch  # type: ignore[import-not-found, unused-ignore]
    except ImportError as error:
        raise NotSupportedError(
            f"a tensor was asked for, and torch cannot be imported ({error}): install it, or use "
            "array or buffer"
        ) from None
    return torch


def _itemsize(torch: Any, dtype: Any) -> int:
    if not isinstance(dtype, torch.dtype):
        raise NvshmemInvalid(f"dtype={dtype!r}: give a torch.dtype, such as torch.float32")
    return _foreign.torch_dtype(dtype).itemsize


# Elements as DLPack carries them, by size; torch then takes them for its own type of that size.
_CARRIED = {1: "i1", 2: "i2", 4: "i4", 8: "i8", 16: "c16"}


def _tensor(
    memory: Buffer,
    shape: Tuple[int, ...],
    dtype: Any,
    itemsize: int,
    offset: int = 0,
    strides: Optional[Tuple[int, ...]] = None,
    order: Any = "C",
) -> Any:
    """A tensor in a Buffer, without a copy; it keeps the Buffer."""
    elements = np.ndarray(shape, _CARRIED[itemsize], as_numpy(memory), offset, strides, order)
    return _foreign.torch_tensor(elements, job.device, dtype)
