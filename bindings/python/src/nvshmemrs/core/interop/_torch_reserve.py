"""Symmetric memory that torch's operations put tensors in which are not symmetric themselves.

A group has one reserve, which its members agree on once. Operations of a group use it one after the
other, whatever stream they are on.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any, Dict, Optional, Tuple

from .._arguments import integer
from .._foreign import base_of
from .._job import adopted, check, job, lib
from ..memory import Buffer, allocate, fail_allocation, free, owner_of
from ..nvshmem_types import NvshmemInvalid
from ..streams import handle_of
from ._tensors import whole_tensor
from ._torch_groups import Group, group_name, group_of

__all__ = ["release_reserve", "reserve"]

DEFAULT_BYTES = 64 << 20
# For the splits of `all_to_all_v`, before the two halves.
TABLE_BYTES = 1 << 18
_ALIGNMENT = 512


class Reserve:
    """The symmetric memory of a group: a table, and a half for sources and one for destinations."""

    __slots__ = ("buffer", "bytes", "half", "sources", "dests", "table", "last", "state")

    def __init__(self, buffer: Buffer, half: int) -> None:
        self.buffer = buffer
        self.half = half
        self.bytes = whole_tensor(buffer)
        self.table = -(-buffer.handle // _ALIGNMENT) * _ALIGNMENT
        self.sources = self.table + TABLE_BYTES
        self.dests = self.sources + half
        self.last: Any = None  # the stream of the group's latest operation
        self.state: Any = None  # what Triton's kernels take of the job, once one has run

    def at(self, address: int, shape: Tuple[int, ...], dtype: Any, itemsize: int) -> Any:
        """A contiguous tensor in it."""
        nbytes = itemsize
        for length in shape:
            nbytes *= length
        start = address - self.buffer.handle
        return self.bytes[start : start + nbytes].view(dtype).view(shape)


# By runtime and team.
_reserves: Dict[Tuple[int, int], Reserve] = {}


def reserve(nbytes: int = DEFAULT_BYTES, group: Any = "TEAM_WORLD", mesh_dim: Any = None) -> None:
    """Gives a group the symmetric memory in which operations put tensors that are not symmetric.

    `nbytes` are for sources and as many for destinations. Larger tensors pass through it in parts,
    so it limits the speed of large operations, not their size; all_to_all_v needs room for the whole
    input. 256 KiB more are for its splits.

    Collective over all PEs of the job with the same `nbytes`; each names a group that it is a
    member of. It includes a barrier. The memory stays until ``release_reserve`` or ``finalize``.
    NvshmemInvalid if the group has a reserve.
    """
    try:
        found = group_of(group_name(group, mesh_dim))
        refuse_capture("reserve")
        half = integer(nbytes, "nbytes")
        if not _ALIGNMENT <= half < 1 << 40:
            raise NvshmemInvalid(f"nbytes={nbytes}: a reserve has {_ALIGNMENT} bytes to 1 TiB")
        if (job.runtime, found.team) in _reserves:
            raise NvshmemInvalid(
                f"group={found.name!r} has a reserve: call release_reserve first, on all PEs"
            )
    except NvshmemInvalid as error:
        fail_allocation(error)
    for place in [place for place in _reserves if place[0] != job.runtime]:
        del _reserves[place]  # of a job that has ended
    half = -(-half // _ALIGNMENT) * _ALIGNMENT
    memory = allocate(lib.nvshmemrs_malloc, _ALIGNMENT + TABLE_BYTES + 2 * half)
    _reserves[job.runtime, found.team] = Reserve(memory, half)


def release_reserve(group: Any = "TEAM_WORLD", mesh_dim: Any = None) -> None:
    """Frees a group's reserve. Collective over all PEs, as ``reserve``; a barrier comes first.

    Graphs that were captured with operations of the group must not be replayed any more.
    """
    found = group_of(group_name(group, mesh_dim))
    known = _reserves.pop((job.runtime, found.team), None)
    if known is None:
        raise NvshmemInvalid(f"group={found.name!r} has no reserve")
    free(known.buffer)


def known_reserve(group: Group) -> Optional[Reserve]:
    """A group's reserve, if it has one."""
    return _reserves.get((job.runtime, group.team))


def reserve_of(group: Group, argument: str, stream: Any) -> Reserve:
    """A group's reserve; an error that names an operation's argument if it has none."""
    found = _reserves.get((job.runtime, group.team))
    if found is not None:
        return found
    asked = "" if group.team == 0 else f", group={group.name!r}"
    when = ", before the capture," if capturing(stream) else ""
    raise NvshmemInvalid(
        f"{argument} is not symmetric memory, and {group.name} has no reserve for it: call "
        f"reserve(nbytes{asked}) of nvshmemrs.core.interop.torch once{when} on all PEs, or pass "
        "tensors of nvshmemrs.core.tensor"
    )


def is_symmetric(tensor: Any) -> bool:
    """Whether all of a tensor's elements lie in the caller's symmetric memory."""
    inside = ctypes.c_int32()
    nbytes = max(tensor.numel() * tensor.element_size(), 1)
    check(lib.nvshmemrs_is_symmetric(job.runtime, tensor.data_ptr(), nbytes, inside))
    if inside.value:
        return True
    base = base_of(tensor)
    owner = None if base is None else owner_of(base)
    if owner is not None:
        owner.live_address()  # raises if it was freed
    return False


# --- streams --------------------------------------------------------------------------------------


def _cuda() -> Any:
    import torch  # type: ignore[import-not-found, unused-ignore]

    return torch.cuda


def current_stream() -> Any:
    """torch's current stream on the heap's GPU; None on host memory."""
    return None if job.device < 0 else _cuda().current_stream(job.device)


def handle_in_place(stream: Any) -> ctypes.c_uint64:
    """The handle for an operation on a stream, in place of the runtime's."""
    return job.handle if stream is None else handle_of(stream)


def current_handle() -> ctypes.c_uint64:
    """The same for torch's current stream."""
    if job.device < 0:
        return job.handle
    raw = getattr(sys.modules["torch"]._C, "_cuda_getCurrentRawStream", None)
    known = None if raw is None else adopted.get(raw(job.device))
    return handle_of(current_stream()) if known is None else known


def capturing(stream: Any) -> bool:
    """Whether the current stream, `stream`, is captured into a graph."""
    return stream is not None and bool(_cuda().is_current_stream_capturing())


def refuse_capture(function: str) -> None:
    """Raises in a capture: memory that all PEs agree on cannot come in the middle of one."""
    if job.device >= 0 and capturing(True):
        raise NvshmemInvalid(
            f"{function}: the current stream is captured into a graph: call {function} before the "
            "capture, on all PEs"
        )


def take_turn(known: Reserve, stream: Any) -> None:
    """Orders later work of the current stream after the group's operations on another stream.

    While the current stream is captured, the program must order operations outside the capture.
    """
    last, known.last = known.last, stream
    if stream is None or last is None or last.cuda_stream == stream.cuda_stream:
        return
    cuda = _cuda()
    if capturing(stream):
        with cuda.stream(last):
            if not capturing(last):
                return
    stream.wait_stream(last)
