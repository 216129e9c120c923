"""Collectives. Every member of `team` calls them, in the same order, with matching arguments.

If the arguments of one member are wrong, every member raises and nothing is written. `team` is a
number or a name. Arrays and Buffers are symmetric and C-contiguous; where a function needs an
element type, `dtype` says it of a Buffer, `dtype="bfloat16"` of an array of uint16, and
`dtype="float8_e4m3fn"` or `"float8_e5m2"` of one of uint8. With `stream` the operation is queued
and the call returns at once; with None it is done on return.
"""

from __future__ import annotations

import ctypes
import functools
import time
from typing import Any, Callable, Dict, NoReturn, Optional, Tuple, Union

import numpy as np

from .. import _ffi
from ._arguments import a_kind, c_int, integer, shown, switch, team_of
from ._dtypes import SIZES, element_code
from ._extension import accelerated
from ._job import bare, check, fail_together, job, lib, raise_status, team_sizes
from ._operand import (
    BYTES,
    Operand,
    contiguous,
    operand,
    same_dtype,
    writable,
)
from ._sizes import check_end, check_layout, check_parts, different, itemsize, part, queued
from .memory import Buffer
from .nvshmem_types import NvshmemInvalid
from .streams import Event, Stream, completed, handle_of, hold

__all__ = [
    "Op",
    "alltoall",
    "alltoalls",
    "barrier",
    "barrier_all",
    "broadcast",
    "collect",
    "collective_on_buffer",
    "exscan",
    "fcollect",
    "gather",
    "inscan",
    "reduce",
    "reducescatter",
    "scatter",
    "sync",
    "sync_all",
]

Op = _ffi.Op
Team = Union[int, str]
_OPS = {op.name.lower(): int(op) for op in Op}
_WORLD = int(_ffi.Team.WORLD)
_BOOL = np.dtype(np.bool_)
_UINT8 = int(_ffi.Dtype.UINT8)
_SUM, _OR = int(Op.SUM), int(Op.OR)
_barrier = lib.nvshmemrs_barrier
_sync = lib.nvshmemrs_sync
# Arguments of functions from `bare`, made once for repeated calls.
_size = functools.lru_cache(256)(ctypes.c_size_t)
_team = functools.lru_cache(256)(ctypes.c_uint64)
_reduce, _reducescatter, _inscan, _exscan = (
    bare(f"nvshmemrs_{name}") for name in ("reduce", "reducescatter", "inscan", "exscan")
)
_fcollect, _collect, _alltoall, _broadcast, _gather, _scatter = (
    bare(f"nvshmemrs_{name}")
    for name in ("fcollect", "collect", "alltoall", "broadcast", "gather", "scatter")
)


@accelerated
def reduce(
    team: Team,
    dst_array: Any,
    src_array: Any,
    op: Union[str, Op],
    stream: Optional[Stream] = None,
    *,
    dtype: Any = None,
) -> None:
    """Combines `src_array` of every member, element by element, into `dst_array` on every member.

    Collective over `team` with the same sizes, dtype and `op`: "sum", "prod", "min", "max", "and",
    "or", "xor" or an ``Op``. Of bools "sum" and "max" are "or", "prod" and "min" are "and". Both
    arrays may be the same; otherwise they must not overlap. The result has the same bits on every
    member: a fold in team order. OpenSHMEM 1.5 section 9.9.9.
    """
    _combine(_reduce, team, dst_array, src_array, op, stream, dtype, 0)


def reducescatter(
    team: Team,
    dst_array: Any,
    src_array: Any,
    op: Union[str, Op],
    stream: Optional[Stream] = None,
    *,
    dtype: Any = None,
) -> None:
    """As ``reduce``, but each member keeps its part: `src_array` has one for every member, in team
    order, and `dst_array` the size of one.

    Collective over `team`. `dst_array` may be the caller's own part of `src_array`; otherwise they
    must not overlap. NVSHMEM `nvshmem_<type>_<op>_reducescatter`.
    """
    _combine(_reducescatter, team, dst_array, src_array, op, stream, dtype, 1)


def inscan(
    team: Team,
    dst_array: Any,
    src_array: Any,
    op: Union[str, Op] = "sum",
    stream: Optional[Stream] = None,
    *,
    dtype: Any = None,
) -> None:
    """Combines `src_array` of the members up to the caller, the caller included, in team order.

    Collective over `team`, arguments as ``reduce``. OpenSHMEM 1.6 (`shmem_sum_inscan`).
    """
    _combine(_inscan, team, dst_array, src_array, op, stream, dtype, 0)


def exscan(
    team: Team,
    dst_array: Any,
    src_array: Any,
    op: Union[str, Op] = "sum",
    stream: Optional[Stream] = None,
    *,
    dtype: Any = None,
) -> None:
    """Combines `src_array` of the members before the caller, in team order; member 0 gets the
    operation's identity, such as 0 for "sum".

    Collective over `team`, arguments as ``reduce``. OpenSHMEM 1.6 (`shmem_sum_exscan`).
    """
    _combine(_exscan, team, dst_array, src_array, op, stream, dtype, 0)


def _combine(
    function: Callable[..., int],
    team: Team,
    dst_array: Any,
    src_array: Any,
    op: Any,
    stream: Optional[Stream],
    dtype: Any,
    parts: int,
) -> None:
    """The four above. `parts`: `src_array` has a part for every member, not the size of one."""
    handle = team_of(team)
    try:
        dst, src = operand(dst_array, "dst_array"), operand(src_array, "src_array")
        number = _OPS.get(op) if type(op) is str else op if type(op) is Op else None
        if number is None:
            number = _operation(op, function)
        code = src.code
        if code is None or dst.layout is not src.layout or dtype is not None:
            code = _element_type(dst, src, dtype, not parts)
            if number == _SUM and (dst.dtype == _BOOL or _is_bool(dtype)):
                number = _OR  # a sum of bytes is 2 where two are true, and 0 where 256 are
        if parts:
            check_parts(dst, src, "src", team_size(handle))
        elif dst.nbytes != src.nbytes:
            different(dst, src)
        if dst.is_same is None:  # else it is of a library that has no read-only arrays
            writable(dst_array, "dst_array")
        runtime = (stream is None and job.direct) or queued(stream, dst, src)
    except NvshmemInvalid as error:
        _reject(error, stream, function, handle, None, None, 0, 0, 0)
    count = _size(dst.nbytes // SIZES[code])
    status = function(runtime, _team(handle), dst.place, src.place, count, code, number)
    if status:
        raise_status(status)
    if stream is not None:
        hold(stream, (dst_array, src_array))


def _operation(op: Any, function: Callable[..., int]) -> int:
    """The library's number for an operation that was not given by its plain name."""
    number = _OPS.get(op) if isinstance(op, str) else None
    if number is None:
        name = function.__name__.replace("nvshmemrs_", "")
        raise NvshmemInvalid(
            f"op={shown(op)}: the operations are {', '.join(_OPS)}, and the members of Op. Call "
            f'{name}(team, dst_array, src_array, "sum"), or with another of them'
        )
    return number


def _element_type(
    dst: Operand,
    src: Operand,
    dtype: Any,
    elementwise: bool,
) -> int:
    """The library's number for the elements, where both are not plainly alike."""
    if _is_bool(dtype) or (dtype is None and _BOOL in (dst.dtype, src.dtype)):
        said = None if dtype is None else "bool"
        codes = tuple(
            _UINT8 if array.dtype == _BOOL else element_code(array.dtype, said, name)
            for array, name in ((dst, "dst_array"), (src, "src_array"))
        )
    else:
        codes = (
            element_code(dst.dtype, dtype, "dst_array"),
            element_code(src.dtype, dtype, "src_array"),
        )
    same_dtype(dst, src)
    if codes[0] != codes[1]:
        raise NvshmemInvalid(
            f"dst is {dst.describe()} and src {src.describe()}: one dtype for both"
        )
    check_layout(dst, src, elementwise)
    for array, name in ((dst, "dst_array"), (src, "src_array")):
        if array.nbytes % SIZES[codes[0]]:
            raise NvshmemInvalid(f"{name} is {array.describe()}, no whole number of {dtype!r}")
    return codes[0]


def _is_bool(dtype: Any) -> bool:
    return isinstance(dtype, (str, type, np.dtype)) and dtype in ("bool", bool, np.bool_)


def fcollect(team: Team, dst_array: Any, src_array: Any, stream: Optional[Stream] = None) -> None:
    """Puts `src_array` of all members behind each other, in team order, into `dst_array` on every
    member.

    Collective over `team` with the same sizes; `dst_array` is ``team_n_pes(team)`` times as large.
    `src_array` may be the caller's own part of `dst_array`; otherwise they must not overlap.
    OpenSHMEM 1.5 section 9.9.8.
    """
    handle = team_of(team)
    function = _fcollect
    try:
        runtime, dst, src = _moved(dst_array, src_array, stream, False)
        check_parts(src, dst, "dst", team_size(handle))
    except NvshmemInvalid as error:
        _reject(error, stream, function, handle, None, None, 1)
    status = function(runtime, _team(handle), dst.place, src.place, src.extent)
    _finish(status, stream, dst_array, src_array)


def collect(team: Team, dst_array: Any, src_array: Any, stream: Optional[Stream] = None) -> None:
    """As ``fcollect``, where `src_array` may have another size on every member, 0 too.

    Collective over `team`. `dst_array` is a whole allocation, or a view up to the end of one: its
    end is what stops members from sending more than there is room for. OpenSHMEM 1.5 section 9.9.8.
    """
    handle = team_of(team)
    function = _collect
    try:
        runtime, dst, src = _moved(dst_array, src_array, stream, False)
        check_end(dst_array, dst)
    except NvshmemInvalid as error:
        _reject(error, stream, function, handle, None, None, 1)
    status = function(runtime, _team(handle), dst.place, src.place, src.extent)
    _finish(status, stream, dst_array, src_array)


def alltoall(team: Team, dst_array: Any, src_array: Any, stream: Optional[Stream] = None) -> None:
    """Sends part j of `src_array` to member j, where it becomes part i of `dst_array`, i being the
    caller's team number.

    Collective over `team` with the same sizes, of ``team_n_pes(team)`` equal parts. Both may be the
    same; otherwise they must not overlap. OpenSHMEM 1.5 section 9.9.5.
    """
    handle = team_of(team)
    function = _alltoall
    try:
        runtime, dst, src = _moved(dst_array, src_array, stream, False)
        if dst.nbytes != src.nbytes:
            different(dst, src)
        nbytes = part(src, team_size(handle))
    except NvshmemInvalid as error:
        _reject(error, stream, function, handle, None, None, 1)
    status = function(runtime, _team(handle), dst.place, src.place, _size(nbytes))
    _finish(status, stream, dst_array, src_array)


def alltoalls(
    team: Team,
    dst_array: Any,
    src_array: Any,
    dst_stride: int,
    src_stride: int,
    count: int,
    stream: Optional[Stream] = None,
    *,
    dtype: Any = None,
) -> None:
    """As ``alltoall`` with `count` elements for each member, of which every `dst_stride`-th and
    `src_stride`-th counts.

    Collective over `team` with the same numbers; strides are at least 1. Elements in between are
    not written. OpenSHMEM 1.5 section 9.9.6.
    """
    handle = team_of(team)
    function = lib.nvshmemrs_alltoalls
    try:
        runtime, dst, src = _moved(dst_array, src_array, stream, False)
        steps = integer(dst_stride, "dst_stride"), integer(src_stride, "src_stride")
        number = integer(count, "count")
        size = itemsize(dst, src, dtype)
        total = team_size(handle) * number
        for name, array, step in (("dst", dst, steps[0]), ("src", src, steps[1])):
            if step < 1 or number < 0:
                raise NvshmemInvalid(
                    f"{name}_stride={step}, count={count}: the stride is at least 1, the count 0"
                )
            if total and ((total - 1) * step + 1) * size > array.nbytes:
                raise NvshmemInvalid(
                    f"{name}_stride={step}, count={count}: for {team_size(handle)} members that "
                    f"is {(total - 1) * step + 1} elements, and {name} is {array.describe()}"
                )
    except NvshmemInvalid as error:
        _reject(error, stream, function, handle, None, None, 1, 1, 1, 1)
    status = function(runtime, handle, dst.address, src.address, *steps, size, number)
    _finish(status, stream, dst_array, src_array)


def broadcast(
    team: Team,
    dst_array: Any,
    src_array: Any,
    root: int = 0,
    stream: Optional[Stream] = None,
) -> None:
    """Copies `src_array` on the member with team number `root` to `dst_array` on every member,
    `root` included.

    Collective over `team` with the same sizes and `root`. Both may be the same; otherwise they must
    not overlap. OpenSHMEM 1.5 section 9.9.7.
    """
    handle = team_of(team)
    function = _broadcast
    try:
        runtime, dst, src = _moved(dst_array, src_array, stream, True)
        if dst.nbytes != src.nbytes:
            different(dst, src)
        number = c_int(root, "root")
    except NvshmemInvalid as error:
        _reject(error, stream, function, handle, None, None, 1, 0)
    status = function(runtime, _team(handle), dst.place, src.place, dst.extent, number)
    _finish(status, stream, dst_array, src_array)


def gather(
    team: Team,
    dst_array: Any,
    src_array: Any,
    root: int = 0,
    stream: Optional[Stream] = None,
) -> None:
    """Puts `src_array` of all members behind each other, in team order, into `dst_array` on the
    member with team number `root`.

    Collective over `team` with the same sizes, `src_array` and `root`. There `dst_array` is
    ``team_n_pes(team)`` times as large; other members may pass anything, also None: it is not used.
    `src_array` may be the root's own part of `dst_array`; otherwise they must not overlap. As MPI
    4.1 section 6.5 (`MPI_Gather`).
    """
    handle = team_of(team)
    try:
        number = c_int(root, "root")
        if _is_member(handle, number):
            runtime, dst, src = _moved(dst_array, src_array, stream, False)
            check_parts(src, dst, "dst", team_size(handle))
        else:
            dst = src = operand(src_array, "src_array")
            contiguous(src, "src_array")
            runtime, dst_array = queued(stream, dst, src), None
    except NvshmemInvalid as error:
        _reject(error, stream, _gather, handle, None, None, 1, 0)
    status = _gather(runtime, _team(handle), dst.place, src.place, src.extent, number)
    _finish(status, stream, dst_array, src_array)


def scatter(
    team: Team,
    dst_array: Any,
    src_array: Any,
    root: int = 0,
    stream: Optional[Stream] = None,
) -> None:
    """Sends part j of `src_array` on the member with team number `root` to `dst_array` of member j.

    Collective over `team` with the same sizes, `dst_array` and `root`. There `src_array` is
    ``team_n_pes(team)`` times as large; other members may pass anything, also None: it is not used.
    `dst_array` may be the root's own part of `src_array`; otherwise they must not overlap. As MPI
    4.1 section 6.6 (`MPI_Scatter`).
    """
    handle = team_of(team)
    try:
        number = c_int(root, "root")
        is_root = _is_member(handle, number)
        used = src_array if is_root else dst_array
        runtime, dst, src = _moved(dst_array, used, stream, False)
        if is_root:
            check_parts(dst, src, "src", team_size(handle))
    except NvshmemInvalid as error:
        _reject(error, stream, _scatter, handle, None, None, 1, 0)
    status = _scatter(runtime, _team(handle), dst.place, src.place, dst.extent, number)
    _finish(status, stream, dst_array, used)


def collective_on_buffer(
    coll: str,
    team: Team,
    dest: Buffer,
    src: Buffer,
    dtype: Any = None,
    op: Union[str, Op, None] = None,
    root: int = 0,
    stream: Optional[Stream] = None,
    enable_timing: bool = False,
) -> Optional[float]:
    """The collective `coll` on Buffers: "reduce", "reducescatter", "alltoall", "fcollect",
    "broadcast", "gather" or "scatter". Collective over `team`, as the function of that name.

    The first two need `dtype`, an NVSHMEM name such as "float", or NumPy's, and `op`. The Buffers
    may have different sizes: `dest` says how many elements a "reduce", "reducescatter", "broadcast"
    or "scatter" has, `src` those of the others; of the other Buffer only the beginning is used. With `enable_timing` it waits and returns milliseconds, else None.
    """
    handle = team_of(team)
    combine: Any = op  # None is an error there, like any other that is no operation
    calls: Dict[str, Callable[[Any, Any], None]] = {
        "reduce": lambda dst, src: reduce(team, dst, src, combine, stream, dtype=dtype),
        "reducescatter": lambda dst, src: reducescatter(
            team, dst, src, combine, stream, dtype=dtype
        ),
        "alltoall": lambda dst, src: alltoall(team, dst, src, stream),
        "fcollect": lambda dst, src: fcollect(team, dst, src, stream),
        "broadcast": lambda dst, src: broadcast(team, dst, src, root, stream),
        "gather": lambda dst, src: gather(team, dst, src, root, stream),
        "scatter": lambda dst, src: scatter(team, dst, src, root, stream),
    }
    try:
        if coll not in calls:
            raise NvshmemInvalid(f"coll={coll!r}: it is one of {', '.join(calls)}")
        for name, value in (("dest", dest), ("src", src)):
            if not isinstance(value, Buffer):
                raise NvshmemInvalid(f"{name} is {a_kind(value)}: pass a Buffer")
        is_root = _is_member(handle, c_int(root, "root"))
        sides = _sides(coll, dest, src, team_size(handle), is_root)
        timed = switch(enable_timing, "enable_timing")
        handle_of(stream)
    except NvshmemInvalid as error:
        _reject(error, stream, _reduce, handle, None, None, 0, 0, 0)
    if not timed:
        calls[coll](*sides)
        return None
    if stream is None:
        begin = time.perf_counter()
        calls[coll](*sides)
        return (time.perf_counter() - begin) * 1e3
    start, end = Event(), Event()
    start.record(stream)
    calls[coll](*sides)
    end.record(stream)
    end.synchronize()
    return start.elapsed(end)


def _sides(coll: str, dest: Buffer, src: Buffer, members: int, is_root: bool) -> Tuple[Any, Any]:
    """The parts of two Buffers that the collective `coll` uses on this member."""
    if coll == "alltoall":
        size = src.size // members * members
        sizes = size, size
    elif coll == "fcollect":
        sizes = members * src.size, src.size
    elif coll == "gather":
        if not is_root:
            return None, src
        sizes = members * src.size, src.size
    elif coll == "scatter":
        if not is_root:
            return dest, None
        sizes = dest.size, members * dest.size
    else:
        sizes = dest.size, dest.size * (members if coll == "reducescatter" else 1)
    return _beginning(dest, sizes[0], "dest"), _beginning(src, sizes[1], "src")


def _is_member(team: int, number: int) -> bool:
    """Whether the caller is member `number` of the team with this handle."""
    own = ctypes.c_int32()
    check(lib.nvshmemrs_team_my_pe(job.runtime, team, ctypes.byref(own)))
    return own.value == number


def _beginning(buffer: Buffer, size: int, name: str) -> Any:
    """The first `size` bytes of a Buffer."""
    if size > buffer.size:
        raise NvshmemInvalid(f"{name} is {buffer.size} bytes: the other Buffer needs {size} there")
    if size == buffer.size:
        return buffer
    return Operand(buffer.live_address(), size, None, BYTES, (size,), (1,), base=buffer)


@accelerated
def barrier(team: Team, stream: Optional[Stream] = None) -> None:
    """Waits for every member of `team` and completes all operations that they issued before.

    Collective over `team`. OpenSHMEM 1.5 section 9.9.2.
    """
    _meet(_barrier, team_of(team), stream)


def sync(team: Team, stream: Optional[Stream] = None) -> None:
    """Waits for every member of `team`; completes nothing. Collective over `team`. OpenSHMEM 1.5
    section 9.9.3.
    """
    _meet(_sync, team_of(team), stream)


@accelerated
def barrier_all(stream: Optional[Stream] = None) -> None:
    """``barrier`` over all PEs. OpenSHMEM 1.5 section 9.9.1."""
    _meet(_barrier, _WORLD, stream)


@accelerated
def sync_all(stream: Optional[Stream] = None) -> None:
    """``sync`` over all PEs. OpenSHMEM 1.5 section 9.9.4."""
    _meet(_sync, _WORLD, stream)


def _meet(function: Callable[..., int], team: int, stream: Optional[Stream]) -> None:
    runtime = (stream is None and job.direct) or 0
    if not runtime:
        try:
            runtime = handle_of(stream)
        except NvshmemInvalid:
            check(function(job.runtime, team))  # the other members must not be left waiting
            raise
    if function is _barrier and (stream is not None or job.in_flight):
        status = completed(stream, function, runtime, team)
    else:
        status = function(runtime, team)
    if status:
        raise_status(status)


def team_size(team: int) -> int:
    """The number of members of the team with this handle."""
    known = team_sizes.get(team)
    if known is not None:
        return known
    number = ctypes.c_int32()
    check(lib.nvshmemrs_team_n_pes(job.runtime, team, number))
    if number.value < 1:
        raise NvshmemInvalid("team is TEAM_INVALID: only the members of a team call")
    team_sizes[team] = number.value
    return number.value


def _moved(
    dst_array: Any, src_array: Any, stream: Any, elementwise: bool
) -> Tuple[ctypes.c_uint64, Operand, Operand]:
    """The runtime or stream and both sides of a collective that only moves data."""
    dst, src = operand(dst_array, "dst_array"), operand(src_array, "src_array")
    if dst.layout is not src.layout or dst.layout is None:
        same_dtype(dst, src)
        check_layout(dst, src, elementwise)
    if dst.is_same is None:  # else it is of a library that has no read-only arrays
        writable(dst_array, "dst_array")
    return queued(stream, dst, src), dst, src


def _finish(status: int, stream: Optional[Stream], *used: Any) -> None:
    if status:
        raise_status(status)
    if stream is not None:
        hold(stream, used)


def _reject(
    error: NvshmemInvalid, stream: Any, function: Callable[..., int], *rejected: Any
) -> NoReturn:
    """Raises `error` after telling the other members, on the stream if there is one."""
    try:
        handle = 0 if stream is None else handle_of(stream)
    except NvshmemInvalid:
        handle = 0
    fail_together(error, getattr(lib, function.__name__), *rejected, runtime=handle)
