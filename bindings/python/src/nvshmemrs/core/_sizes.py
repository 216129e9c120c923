"""Checks of the sizes and layouts of a collective's arrays."""

from __future__ import annotations

import ctypes
from typing import Any, NoReturn

from ._dtypes import SIZES, element_code
from ._job import check, job, lib
from ._operand import Operand, contiguous
from .memory import owner_of
from .nvshmem_types import NvshmemInvalid
from .streams import handle_of


def queued(stream: Any, dst: Operand, src: Operand) -> ctypes.c_uint64:
    """The handle for a collective in place of the runtime's. On a stream of a GPU the library would take
    some arrays that are not symmetric, up to sizes that programs do not know.
    """
    handle: ctypes.c_uint64 = handle_of(stream)
    if stream is not None and job.device >= 0:
        for side, name in ((dst, "dst"), (src, "src")):
            if side.nbytes and not side.in_heap:
                try:
                    check(lib.nvshmemrs_memory_kind(job.runtime, side.address, ctypes.c_int32()))
                except NvshmemInvalid as error:
                    raise NvshmemInvalid(str(error).replace("`array`", f"`{name}`", 1)) from None
                side.in_heap = True
    return handle


def check_layout(dst: Operand, src: Operand, elementwise: bool) -> None:
    """Both are C-contiguous; or, if element i of one goes to element i of the other, both F."""
    if elementwise and dst.shape == src.shape and dst.dtype is not None and src.dtype is not None:
        if dst.f_contiguous and src.f_contiguous:
            return
    contiguous(dst, "dst_array")
    contiguous(src, "src_array")


def different(dst: Operand, src: Operand) -> NoReturn:
    raise NvshmemInvalid(
        f"dst is {dst.describe()} and src {src.describe()}: pass slices of the same size"
    )


def check_parts(one: Operand, all_parts: Operand, name: str, members: int) -> None:
    if all_parts.nbytes != members * one.nbytes:
        other = "src" if name == "dst" else "dst"
        raise NvshmemInvalid(
            f"{name} is {all_parts.describe()} and {other} {one.describe()}: for {members} members "
            f"{name} has {members} times the size"
        )


def part(src: Operand, members: int) -> int:
    """Bytes for each member."""
    size = 1 if src.dtype is None else src.dtype.itemsize
    if src.nbytes % (members * size):
        raise NvshmemInvalid(f"src is {src.describe()}: that is no {members} equal parts")
    return src.nbytes // members


def itemsize(dst: Operand, src: Operand, dtype: Any) -> int:
    if dtype is not None:
        size = SIZES[element_code(dst.dtype, dtype, "dst_array")]
        element_code(src.dtype, dtype, "src_array")
        return size
    kind = dst.dtype if dst.dtype is not None else src.dtype
    if kind is None:
        raise NvshmemInvalid("dst_array is a Buffer, which has no element type: pass dtype")
    return kind.itemsize


def check_end(dst_array: Any, dst: Operand) -> None:
    owner = owner_of(dst_array)
    if owner is not None and dst.address + dst.nbytes != owner.live_address() + owner.size:
        raise NvshmemInvalid(
            f"dst_array ends {owner.live_address() + owner.size - dst.address - dst.nbytes} bytes "
            "before its allocation does, and members may send more than it holds: pass a view up "
            "to the end"
        )
