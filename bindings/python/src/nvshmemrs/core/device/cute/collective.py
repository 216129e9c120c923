"""Collectives of kernels: all members of a team call, with the same slot.

Calls of one slot have one order on all members. Blocks, warps or threads that call at the same time
use different slots. Each returns 0, or -1 if the job is broken or this PE is no member; the
destination is undefined then.
"""

from __future__ import annotations

from typing import Any

from ...nvshmem_types import NvshmemInvalid
from .._operations import OPERATIONS
from ._access import address_of
from ._arguments import (
    FLOATS,
    Int32,
    Uint64,
    not_larger,
    pair,
    size_of,
    slot_number,
    smaller,
    target,
    team_handle,
)
from ._frontend import cutlass, dsl
from ._groups import Block, Functions, Thread, Warp, copy, named
from ._reduce import reduce as folded
from ._reduce import shares
from ._state import Job, check_argument, check_memory, current
from ._teams import Team, first_epoch, joined, meet, on_member

__all__ = [
    "alltoall",
    "alltoall_block",
    "alltoall_warp",
    "barrier",
    "barrier_all",
    "barrier_all_block",
    "barrier_all_warp",
    "barrier_block",
    "barrier_warp",
    "broadcast",
    "broadcast_block",
    "broadcast_warp",
    "fcollect",
    "fcollect_block",
    "fcollect_warp",
    "reduce",
    "reduce_block",
    "reduce_warp",
    "reducescatter",
    "reducescatter_block",
    "reducescatter_warp",
    "sync",
    "sync_all",
    "sync_all_block",
    "sync_all_warp",
    "sync_block",
    "sync_warp",
]

Uint32 = cutlass.Uint32
_NUMBERS, _BITS = ("min", "max", "sum", "prod"), ("and", "or", "xor")


def _joined(group: Any, operation: str, team: Any, slot: Any) -> Any:
    """The job, the team's row and the name of the call."""
    caller = operation + group.suffix
    job = current(caller)
    found = joined(
        job, OPERATIONS[operation], team_handle(team, caller), slot_number(slot, caller)
    )
    return job, found, caller


def _meeting(group: Any, operation: str, team: Any, slot: Any) -> Any:
    job, found, _ = _joined(group, operation, team, slot)
    return _met(group, job, found)


@dsl.jit
def _met(group: Any, job: Job, team: Team) -> Any:
    result = Int32(-1)
    if team.good:
        if meet(group, job, team, first_epoch(group, team) + Uint64(1)) != Uint32(0):
            result = Int32(0)
    return result


def _own(job: Job, operation: str, tensor: Any, count: Any, size: int) -> Any:
    """Where a symmetric tensor of this PE is, `count` elements of which are used."""
    at = address_of(tensor)
    check_memory(job, OPERATIONS[operation], job.my_pe, at, count * Uint64(size), size)
    return at


def _fits(job: Job, operation: str, caller: str, one: Any, other: Any, what: str) -> None:
    """`one` is not larger than `other`: an error now, or with NVSHMEMRS_DEVICE_CHECK later."""
    good = not_larger(one, other, what, caller)
    if good is not None:
        check_argument(job, OPERATIONS[operation], good, Uint64(one))


def _broadcast(group: Any, team: Any, dst: Any, src: Any, root: Any, slot: Any) -> Any:
    job, found, caller = _joined(group, "broadcast", team, slot)
    size = pair(dst, src, caller).width // 8
    count = Uint64(smaller(size_of(dst), size_of(src)))
    root = target(root, caller)
    to = _own(job, "broadcast", dst, count, size)
    start = _own(job, "broadcast", src, count, size)
    check_argument(
        job, OPERATIONS["broadcast"], (root >= Int32(0)) & (root < found.n), Uint64(root)
    )
    return _broadcasted(group, job, found, to, start, count, root, size)


@dsl.jit
def _broadcasted(
    group: Any, job: Job, team: Team, to: Any, start: Any, count: Any, root: Any, size: int
) -> Any:
    result = Int32(-1)
    if team.good:
        epoch = first_epoch(group, team) + Uint64(1)
        came = meet(group, job, team, epoch)
        if came != Uint32(0):
            if (team.me != root) | (to != start):
                copy(group, to, on_member(job, team, root, start), count, size, False)
            came = meet(group, job, team, epoch + Uint64(1))
        if came != Uint32(0):
            result = Int32(0)
    return result


def _fcollect(group: Any, team: Any, dst: Any, src: Any, slot: Any) -> Any:
    job, found, caller = _joined(group, "fcollect", team, slot)
    size = pair(dst, src, caller).width // 8
    _fits(job, "fcollect", caller, size_of(src), size_of(dst), "src does not fit in dst")
    count = Uint64(size_of(src))
    whole = count * Uint64(found.n)
    _fits(job, "fcollect", caller, whole, size_of(dst), "dst is too small")
    to = _own(job, "fcollect", dst, whole, size)
    start = _own(job, "fcollect", src, count, size)
    return _gathered(group, job, found, to, start, count, Uint64(0), size)


def _alltoall(group: Any, team: Any, dst: Any, src: Any, slot: Any) -> Any:
    job, found, caller = _joined(group, "alltoall", team, slot)
    size = pair(dst, src, caller).width // 8
    _fits(job, "alltoall", caller, size_of(src), size_of(dst), "src does not fit in dst")
    n = cutlass.max(found.n, Int32(1))
    count = Uint64(size_of(src)) // Uint64(n)
    whole = count * Uint64(n)
    to = _own(job, "alltoall", dst, whole, size)
    start = _own(job, "alltoall", src, whole, size)
    return _gathered(group, job, found, to, start, count, Uint64(found.me) * count, size)


@dsl.jit
def _gathered(
    group: Any, job: Job, team: Team, to: Any, start: Any, count: Any, skipped: Any, size: int
) -> Any:
    """Copies member m's part, which begins behind `skipped` elements of its source, to the m-th place."""
    result = Int32(-1)
    if team.good:
        epoch = first_epoch(group, team) + Uint64(1)
        came = meet(group, job, team, epoch)
        if came != Uint32(0):
            # Each member starts with a different one.
            k = Int32(0)
            while k < team.n:
                m = team.me + k
                if m >= team.n:
                    m = m - team.n
                there = on_member(job, team, m, start) + skipped * Uint64(size)
                place = to + Uint64(m) * count * Uint64(size)
                copy(group, place, there, count, size, False)
                k += Int32(1)
            came = meet(group, job, team, epoch + Uint64(1))
        if came != Uint32(0):
            result = Int32(0)
    return result


def _reduce(
    group: Any, operation: str, team: Any, dst: Any, src: Any, op: str, slot: Any
) -> Any:
    job, found, caller = _joined(group, operation, team, slot)
    kind = pair(dst, src, caller)
    accepted = _NUMBERS if kind in FLOATS else _NUMBERS + _BITS
    if op not in accepted:
        raise NvshmemInvalid(
            f"{caller}: op={op!r}: elements of {kind.__name__} are reduced by "
            f"{', '.join(accepted)}"
        )
    size, scatter = kind.width // 8, operation == "reducescatter"
    _fits(job, operation, caller, size_of(dst), size_of(src), "dst has more elements than src")
    count = Uint64(size_of(dst))
    whole = count * Uint64(found.n) if scatter else count
    if scatter:
        _fits(job, operation, caller, whole, size_of(src), "src is too small")
    to = _own(job, operation, dst, count, size)
    start = _own(job, operation, src, whole, size)
    has = shares(kind, size_of(dst), min(dst.iterator.alignment, src.iterator.alignment) >= 16)
    return folded(group, job, found, kind, op, to, start, count, scatter, has)


def _forms(group: Any, who: str) -> Functions:
    """The collectives that the threads of a group call."""

    def sync(team: Any, slot: Any = 0) -> Any:
        """A meeting of a team."""
        return _meeting(group, "sync", team, slot)

    def sync_all(slot: Any = 0) -> Any:
        """A meeting of all PEs."""
        return _meeting(group, "sync", 0, slot)

    def barrier(team: Any, slot: Any = 0) -> Any:
        """Synchronises a team; the members' earlier writes are visible afterwards."""
        return _meeting(group, "barrier", team, slot)

    def barrier_all(slot: Any = 0) -> Any:
        """Synchronises all PEs; their earlier writes are visible afterwards."""
        return _meeting(group, "barrier", 0, slot)

    def reduce(team: Any, dst_array: Any, src_array: Any, op: str, slot: Any = 0) -> Any:
        """Combines the elements of all members by `op`: min, max, sum, prod, and, or, xor. Every
        member gets as many as `dst_array` has.
        """
        return _reduce(group, "reduce", team, dst_array, src_array, op, slot)

    def reducescatter(team: Any, dst_array: Any, src_array: Any, op: str, slot: Any = 0) -> Any:
        """Combines as ``reduce``; each member gets a part of its own of the result, as many
        elements as `dst_array` has.
        """
        return _reduce(group, "reducescatter", team, dst_array, src_array, op, slot)

    def fcollect(team: Any, dst_array: Any, src_array: Any, slot: Any = 0) -> Any:
        """Every member gets the elements of all members' `src_array`, in the order of the team."""
        return _fcollect(group, team, dst_array, src_array, slot)

    def broadcast(team: Any, dst_array: Any, src_array: Any, root: Any = 0, slot: Any = 0) -> Any:
        """Every member gets the elements of member `root`, as many as the smaller array has."""
        return _broadcast(group, team, dst_array, src_array, root, slot)

    def alltoall(team: Any, dst_array: Any, src_array: Any, slot: Any = 0) -> Any:
        """Every member gets the part of each member's `src_array` that is for it; parts are equal."""
        return _alltoall(group, team, dst_array, src_array, slot)

    made = (
        sync, sync_all, barrier, barrier_all,
        reduce, reducescatter, fcollect, broadcast, alltoall,
    )  # fmt: skip
    return named(group, made, who)


(
    sync, sync_all, barrier, barrier_all,
    reduce, reducescatter, fcollect, broadcast, alltoall,
) = _forms(Thread, "One thread of each member calls.")  # fmt: skip
(
    sync_warp, sync_all_warp, barrier_warp, barrier_all_warp,
    reduce_warp, reducescatter_warp, fcollect_warp, broadcast_warp, alltoall_warp,
) = _forms(Warp, "All threads of a warp of each member call.")  # fmt: skip
(
    sync_block, sync_all_block, barrier_block, barrier_all_block,
    reduce_block, reducescatter_block, fcollect_block, broadcast_block, alltoall_block,
) = _forms(Block, "All threads of a block of each member call.")  # fmt: skip
