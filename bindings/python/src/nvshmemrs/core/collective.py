"""Collectives. Every member of `team` calls them, in the same order, with matching arguments.

If the arguments of one member are wrong, every member raises and nothing is written. `team` is a
handle or a name.
"""

from __future__ import annotations

from typing import Any, Union

from .. import _ffi
from ._job import fail_together, job, lib, raise_status
from ._operand import DTYPES, Operand, agree, c_int, no_stream, operand, team_of
from .nvshmem_types import NvshmemInvalid

__all__ = ["Op", "barrier", "barrier_all", "broadcast", "reduce", "sync", "sync_all"]

Op = _ffi.Op
_OPS = {op.name.lower(): int(op) for op in Op}
_WORLD = int(_ffi.Team.WORLD)
_barrier = lib.nvshmemrs_barrier
_sync = lib.nvshmemrs_sync
_reduce = lib.nvshmemrs_reduce


def reduce(
    team: Union[int, str], dst_array: Any, src_array: Any, op: Union[str, Op], stream: None = None
) -> None:
    """Combines `src_array` of every member, element by element, into `dst_array` on every member.

    Collective over `team` with the same sizes, dtype and `op`: "sum", "min", "max" or an ``Op``.
    Both arrays are symmetric and may be the same; otherwise they must not overlap. The result has
    the same bits on every member. OpenSHMEM 1.5 section 9.9.9.
    """
    handle = team_of(team)
    try:
        dst, src = operand(dst_array, "dst_array"), operand(src_array, "src_array")
        code = DTYPES.get(src.dtype)
        if (
            code is None
            or dst.nbytes != src.nbytes
            or dst.dtype is not src.dtype
            or dst.order != src.order
        ):
            _check_reduce(dst, src)
        if stream is not None:
            no_stream(stream)
        if not dst_array.flags.writeable:
            raise NvshmemInvalid("dst_array is read-only")
        number = _OPS.get(op) if type(op) is str else c_int(op, "op")
        if number is None:
            raise NvshmemInvalid(f"op={op!r}: the operations are {', '.join(_OPS)}")
    except NvshmemInvalid as error:
        fail_together(error, _reduce, handle, None, None, 0, 0, 0)
    count = src.nbytes // src_array.itemsize
    status = _reduce(job.runtime, handle, dst.address, src.address, count, code, number)
    if status:
        raise_status(status)


def _check_reduce(dst: Operand, src: Operand) -> None:
    for name, array in (("dst_array", dst), ("src_array", src)):
        if array.dtype is None:
            raise NvshmemInvalid(f"{name} is a Buffer, which has no element type: pass an array")
        if array.dtype not in DTYPES:
            known = ", ".join(str(dtype) for dtype in DTYPES)
            raise NvshmemInvalid(
                f"{name} has dtype {array.dtype}: reductions know {known}, in native byte order"
            )
    agree(dst, src)


def broadcast(
    team: Union[int, str], dst_array: Any, src_array: Any, root: int = 0, stream: None = None
) -> None:
    """Copies `src_array` on the member with team number `root` to `dst_array` on every member,
    `root` included.

    Collective over `team` with the same sizes and `root`. Both are symmetric, arrays or Buffers,
    and may be the same; otherwise they must not overlap. OpenSHMEM 1.5 section 9.9.5.
    """
    handle = team_of(team)
    try:
        dst, src = operand(dst_array, "dst_array"), operand(src_array, "src_array")
        agree(dst, src)
        no_stream(stream)
        if dst.dtype is not None and not dst_array.flags.writeable:
            raise NvshmemInvalid("dst_array is read-only")
        number = c_int(root, "root")
    except NvshmemInvalid as error:
        fail_together(error, lib.nvshmemrs_broadcast, handle, None, None, 1, 0)
    status = lib.nvshmemrs_broadcast(
        job.runtime, handle, dst.address, src.address, dst.nbytes, number
    )
    if status:
        raise_status(status)


def barrier(team: Union[int, str], stream: None = None) -> None:
    """Waits for every member of `team` and completes all operations that they issued before.

    Collective over `team`. OpenSHMEM 1.5 section 9.9.1.
    """
    status = _barrier(job.runtime, team_of(team))
    if status:
        raise_status(status)
    if stream is not None:  # only now: the other members must not be left waiting
        no_stream(stream)


def sync(team: Union[int, str], stream: None = None) -> None:
    """Waits for every member of `team`; completes nothing. Collective over `team`. OpenSHMEM 1.5
    section 9.9.3.
    """
    status = _sync(job.runtime, team_of(team))
    if status:
        raise_status(status)
    if stream is not None:  # only now: the other members must not be left waiting
        no_stream(stream)


def barrier_all(stream: None = None) -> None:
    """``barrier`` over all PEs. OpenSHMEM 1.5 section 9.9.1."""
    status = _barrier(job.runtime, _WORLD)
    if status:
        raise_status(status)
    if stream is not None:  # only now: the other members must not be left waiting
        no_stream(stream)


def sync_all(stream: None = None) -> None:
    """``sync`` over all PEs. OpenSHMEM 1.5 section 9.9.3."""
    status = _sync(job.runtime, _WORLD)
    if status:
        raise_status(status)
    if stream is not None:  # only now: the other members must not be left waiting
        no_stream(stream)
