"""Shared parts of all array libraries: shapes, the Buffer of an array, freeing."""

from __future__ import annotations

import ctypes
import functools
import math
from typing import Any, Optional, Tuple

import numpy as np

from ..._ffi import Collective
from .. import _foreign
from .._arguments import check_shape, integer, shown, switch
from .._dtypes import numpy_dtype
from .._job import check, job, lib
from .._operand import operand
from ..memory import Buffer, end, fail_allocation, fail_free, owner_of
from ..nvshmem_types import BufferTypes, NvshmemInvalid


def private_bytes(team: int, kind: Collective) -> int:
    """The most bytes, of the message or of a part where each member has one, with which a collective
    on a stream takes memory of the GPU that is not symmetric: the same on all members.
    """
    return _private_bytes(job.runtime, team, int(kind))


@functools.lru_cache(256)
def _private_bytes(runtime: int, team: int, kind: int) -> int:
    most = ctypes.c_uint64()
    check(lib.nvshmemrs_private_bytes(runtime, team, kind, most))
    return most.value


def switches(release: Any, except_on_del: Any) -> None:
    """Raises unless both are bools. They have no effect; an order in their place would get lost."""
    if release is False and except_on_del is True:
        return
    switch(release, "release")
    switch(except_on_del, "except_on_del")


def checked(shape: Any, kind: Any, itemsize: int, morder: str) -> Tuple[int, ...]:
    """The shape of an array to allocate."""
    dims = check_shape(shape)
    nbytes = math.prod(dims) * itemsize
    if not 0 < nbytes < 2**63:
        raise NvshmemInvalid(
            f"shape={shape!r}, dtype={kind}: that is {nbytes} bytes; give at least 1"
        )
    check_order(morder)
    return dims


def byte_count(shape: Any, dtype: Any, device_id: Any) -> int:
    """The bytes of an array, for `bytearray`."""
    try:
        nbytes = math.prod(check_shape(shape)) * numpy_dtype(dtype).itemsize
        if device_id is not None:
            integer(device_id, "device_id")
    except NvshmemInvalid as error:
        fail_allocation(error)
    return nbytes


def check_order(morder: Any) -> None:
    """Raises unless it is the name of an order."""
    if not isinstance(morder, str) or morder not in ("C", "F"):
        raise NvshmemInvalid(f'morder={shown(morder)}: it must be "C" or "F"')


def owner(array: Any, caller: str) -> Buffer:
    """The Buffer that an array, or a view of one, lies in."""
    if not isinstance(array, np.ndarray) and _foreign.described(array, "array") is None:
        kind = type(array).__name__
        raise NvshmemInvalid(f"{caller} takes an array on the symmetric heap, not {kind}")
    found = owner_of(array)
    if found is None:
        raise NvshmemInvalid(
            f"{caller}: this array was not made by array() or bytearray(), nor is it a view of such"
        )
    return found


def owner_for_peer(array: Any, peer_pe: Optional[int], caller: str) -> Buffer:
    """The same for a function that takes a PE."""
    if peer_pe is None:
        raise NvshmemInvalid("peer_pe is missing: say which PE, 0 to n_pes() - 1")
    return owner_or_pool(array, caller)


def owner_or_pool(array: Any, caller: str) -> Buffer:
    """The same; of an array in a pool, which has no Buffer, one of the array's own bytes."""
    if job.device >= 0 and not isinstance(array, np.ndarray) and owner_of(array) is None:
        found = _foreign.described(array, "array")
        if found is not None and found.nbytes:
            size = 1 if found.dtype is None else found.dtype.itemsize
            extent = size + sum((n - 1) * step for n, step in zip(found.shape, found.strides))
            inside = ctypes.c_int32()
            check(lib.nvshmemrs_is_symmetric(job.runtime, found.address, extent, inside))
            if inside.value:
                return Buffer(found.address, extent, exporter=array)
    return owner(array, caller)


def free(array: Any, caller: str, other: str) -> None:
    """Frees an array; collective. `other` names the function that undoes a registration."""
    try:
        found = owner(array, caller)
        if found.buffer_type == BufferTypes.EXTERNAL:
            raise NvshmemInvalid(
                f"{caller}: this was registered: use {other}; what is in a pool goes with the pool"
            )
        # Tensors of torch 1 have no number of bytes.
        nbytes = array.nbytes if hasattr(array, "nbytes") else array.numel() * array.element_size()
        if nbytes != found.size:
            raise NvshmemInvalid(
                f"{caller}: a view of {nbytes} bytes of an array of {found.size}: pass the whole "
                "array"
            )
    except NvshmemInvalid as error:
        fail_free(error)
    end(found)


def layout_of(array: Any, found: Buffer) -> Tuple[int, Tuple[int, ...], Tuple[int, ...]]:
    """How an array lies in its Buffer: bytes from the beginning, shape, strides in bytes."""
    view = operand(array, "array")
    return view.address - found.live_address(), view.shape, view.strides
