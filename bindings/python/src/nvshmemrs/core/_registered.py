"""Memory of this process that ``register_external_buffer`` may make symmetric."""

from __future__ import annotations

import mmap
from typing import Any, Optional, Tuple

import numpy as np

from . import _job
from ._arguments import a_kind, integer, refuse_masked
from ._buffer import Block, owner_of
from ._operand import contiguous, operand, writable
from .nvshmem_types import NvshmemInvalid


def on_gpu(value: Any) -> Tuple[Any, int, int]:
    """Memory of a GPU to register, its address and size. The library checks it."""
    found = operand(value, "buffer")
    if not found.f_contiguous:
        contiguous(found, "buffer")
    writable(value, "buffer")
    if owner_of(value) is not None:
        raise NvshmemInvalid("buffer is symmetric memory already")
    for start, other in _job.external.values():
        if start < found.address + found.nbytes and found.address < start + other.size:
            raise NvshmemInvalid("buffer is registered already, or a part of it: unregister it")
    return value, found.address, found.nbytes


def whole_pages(value: Any) -> Tuple["memoryview", int, int]:
    """Memory to register, its address and size; NvshmemInvalid unless it is whole pages that can
    be written.
    """
    refuse_masked(value, "buffer")
    try:
        view = memoryview(value).cast("B")
    except (TypeError, ValueError) as error:
        raise NvshmemInvalid(
            f"buffer is {a_kind(value)}: pass something with a contiguous buffer, such as "
            f"an mmap.mmap or aligned_empty(...) ({error})"
        ) from None
    if view.readonly:
        raise NvshmemInvalid("buffer is read-only: other PEs shall write it")
    if owner_of(value) is not None:
        raise NvshmemInvalid("buffer is symmetric memory already")
    address = (
        int(np.frombuffer(view, np.uint8).__array_interface__["data"][0]) if view.nbytes else 0
    )
    if address % mmap.PAGESIZE or view.nbytes % mmap.PAGESIZE or not view.nbytes:
        raise NvshmemInvalid(
            f"buffer is {view.nbytes} bytes at {address:#x}: whole pages of {mmap.PAGESIZE} bytes "
            "are registered, and the address is a multiple of that. aligned_empty(shape, dtype) "
            "makes such an array"
        )
    for start, found in _job.external.values():
        if start < address + view.nbytes and address < start + found.size:
            raise NvshmemInvalid(
                "buffer is registered already, or a part of it: unregister it first"
            )
    return view, address, view.nbytes


def preferred(address: Any) -> Optional[int]:
    if address is None:
        return None
    if isinstance(address, Block):
        return address.live_address()
    number = integer(address, "preferred_address")
    if number <= 0 or number % mmap.PAGESIZE or number >= 2**63:
        raise NvshmemInvalid(
            f"preferred_address={address!r}: give an address that is a multiple of {mmap.PAGESIZE}"
        )
    return number
