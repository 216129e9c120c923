"""Put, get, signals, quiet and fence. One-sided: only the caller calls them.

The destination of a put, the source of a get and every signal are symmetric. The local side is any
NumPy array, or a Buffer. Both sides have the same dtype and number of elements, and an element goes
where its index says: views, strides, C and F order are honoured. Nothing is cut to the shorter
side: a difference is an error. `count` moves that many elements from the start of both, in C
order. `pe` is another spelling of `remote_pe`, which has no default. `stream` is a ``Stream``, on
which the operation is queued; with None it is done when the call returns.

Behind `remote_pe`, put and get take the stream without its name. If a PE stands there, they read
``put(dst, src, count, pe, stream=...)``.
"""

from __future__ import annotations

import ctypes
import enum
from typing import Any, Callable, Optional, Tuple, Union

import numpy as np

from .. import _ffi
from . import _strided
from ._arguments import integer, is_member, pe_of, wrong_member
from ._dtypes import C_TYPES, SIZES, one_element, scalar
from ._extension import accelerated
from ._job import bare, check, job, lib, raise_status
from ._operand import (
    Operand,
    contiguous,
    operand,
    signal_place,
    signal_value,
    typed,
    writable,
)
from .direct import ComparisonType
from .nvshmem_types import NvshmemInvalid
from .streams import Stream, completed, handle_of, hold, hold_until_quiet, queue, synchronize

__all__ = [
    "SignalOp",
    "fence",
    "flush",
    "g",
    "get",
    "get_nbi",
    "ibget",
    "ibput",
    "iget",
    "iput",
    "p",
    "put",
    "put_nbi",
    "put_signal",
    "put_signal_nbi",
    "quiet",
    "signal_fetch",
    "signal_op",
    "signal_wait",
]


class SignalOp(enum.IntEnum):
    """How a signal is updated: replaced, or added to atomically."""

    SIGNAL_SET = _ffi.SignalOp.SET
    SIGNAL_ADD = _ffi.SignalOp.ADD


_put = _strided.Calls("nvshmemrs_put", lib.nvshmemrs_iput, lib.nvshmemrs_ibput)
_put_nbi = _strided.Calls("nvshmemrs_put_nbi", lib.nvshmemrs_iput, lib.nvshmemrs_ibput)
_get = _strided.Calls("nvshmemrs_get", lib.nvshmemrs_iget, lib.nvshmemrs_ibget)
_get_nbi = _strided.Calls("nvshmemrs_get_nbi", lib.nvshmemrs_iget, lib.nvshmemrs_ibget)

# From `bare` and with conversion.
_put_signal = bare("nvshmemrs_put_signal"), lib.nvshmemrs_put_signal
_put_signal_nbi = bare("nvshmemrs_put_signal_nbi"), lib.nvshmemrs_put_signal_nbi
_signal_op = bare("nvshmemrs_signal_op")
_quiet = lib.nvshmemrs_quiet

# Sizes as functions from `bare` take them.
_size = ctypes.c_size_t
_SIZE_OF = {code: _size(SIZES[code]) for code in C_TYPES}

# The right calls, for errors about exchanged arguments.
_PUT_SIGNAL = "put_signal(dst, src, signal_var, {value}, {member}, remote_pe)"
_PUT_SIGNAL_NBI = "put_signal_nbi(dst, src, signal_var, {value}, {member}, remote_pe)"
_SIGNAL_OP = "signal_op(signal_var, {value}, {member}, remote_pe)"
_SIGNAL_WAIT = "signal_wait(signal_var, {value}, {member})"


@accelerated
def put(
    dst: Any,
    src: Any,
    remote_pe: Optional[int] = None,
    *stream_or_pe: Union[Stream, int, None],
    stream: Optional[Stream] = None,
    count: Optional[int] = None,
    pe: Optional[int] = None,
) -> None:
    """Copies `src` to the symmetric `dst` on PE `remote_pe`.

    Returns when `src` may be reused; the data is visible there after ``quiet``, a barrier or a
    signal. OpenSHMEM 1.5 section 9.6.1.
    """
    _move(_put, dst, src, remote_pe, stream_or_pe, stream, count, pe)


def put_nbi(
    dst: Any,
    src: Any,
    remote_pe: Optional[int] = None,
    *stream_or_pe: Union[Stream, int, None],
    stream: Optional[Stream] = None,
    count: Optional[int] = None,
    pe: Optional[int] = None,
) -> None:
    """As ``put``, but the data of `src` must not change until ``quiet``; until then both arrays are
    kept. OpenSHMEM 1.5 section 9.6.2.
    """
    _move_nbi(_put_nbi, dst, src, remote_pe, stream_or_pe, stream, count, pe)


@accelerated
def get(
    dst: Any,
    src: Any,
    remote_pe: Optional[int] = None,
    *stream_or_pe: Union[Stream, int, None],
    stream: Optional[Stream] = None,
    count: Optional[int] = None,
    pe: Optional[int] = None,
) -> None:
    """Copies the symmetric `src` on PE `remote_pe` to `dst`.

    Returns when the data is in `dst`. OpenSHMEM 1.5 section 9.6.1.
    """
    writable(dst, "dst")
    _move(_get, dst, src, remote_pe, stream_or_pe, stream, count, pe)


def get_nbi(
    dst: Any,
    src: Any,
    remote_pe: Optional[int] = None,
    *stream_or_pe: Union[Stream, int, None],
    stream: Optional[Stream] = None,
    count: Optional[int] = None,
    pe: Optional[int] = None,
) -> None:
    """As ``get``, but the data is in `dst` only after ``quiet``; until then both arrays are kept.
    OpenSHMEM 1.5 section 9.6.2.
    """
    writable(dst, "dst")
    _move_nbi(_get_nbi, dst, src, remote_pe, stream_or_pe, stream, count, pe)


def _move(
    calls: _strided.Calls,
    dst: Any,
    src: Any,
    remote_pe: Optional[int],
    stream_or_pe: Tuple[Any, ...],
    stream: Optional[Stream],
    count: Optional[int],
    pe: Optional[int],
) -> None:
    """The checks that all four share, then the call."""
    if stream_or_pe:
        remote_pe, stream, count = _positional(remote_pe, stream_or_pe, stream, count, pe)
    target, source = operand(dst, "dst"), operand(src, "src")
    number = pe_of(remote_pe, pe)
    if not _is_plain(target, source, count):
        planned = _strided.plan(target, source, count, number == job.my_pe)
        status = _strided.copy(calls, handle_of(stream), planned, number)
        hold(stream, (dst, src, target, source))
    else:
        runtime = (stream is None and job.direct) or handle_of(stream)
        status = calls.plain(runtime, target.place, source.place, target.extent, number)
        if stream is not None and not status:
            hold(stream, (dst, src, target, source))
    if status:
        raise_status(status)


def _move_nbi(
    calls: _strided.Calls,
    dst: Any,
    src: Any,
    remote_pe: Optional[int],
    stream_or_pe: Tuple[Any, ...],
    stream: Optional[Stream],
    count: Optional[int],
    pe: Optional[int],
) -> None:
    """As `_move`, and keeps the arrays until quiet."""
    if stream_or_pe:
        remote_pe, stream, count = _positional(remote_pe, stream_or_pe, stream, count, pe)
    in_flight = job.in_flight
    if stream is None:
        in_flight[id(dst)] = dst
        in_flight[id(src)] = src
    else:
        hold_until_quiet(stream, (dst, src))
    _move(calls, dst, src, remote_pe, (), stream, count, pe)
    if stream is not None or job.in_flight is not in_flight:
        hold_until_quiet(stream, (dst, src))


def _is_plain(target: Operand, source: Operand, count: Optional[int]) -> bool:
    """Whether both sides move as a whole, as one block."""
    return (
        count is None
        and target.layout is source.layout
        and target.nbytes == source.nbytes
        and target.layout is not None
    )


def _positional(
    remote_pe: Any, stream_or_pe: Tuple[Any, ...], stream: Any, count: Any, pe: Any
) -> Tuple[Any, Any, Any]:
    """PE, stream and count, where arguments without a name stand behind `remote_pe`."""
    fourth = stream_or_pe[0]
    if len(stream_or_pe) > 1:
        raise TypeError(f"4 arguments have no name, and {len(stream_or_pe) + 3} were given")
    if isinstance(fourth, (int, np.integer)):
        integer(fourth, "the PE behind the count")  # which a bool or a member of an enum is not
        if count is not None or pe is not None:
            raise NvshmemInvalid(
                f"{fourth} is the PE and {remote_pe} the count, and count={count!r}, pe={pe!r} "
                "were passed too: give each once"
            )
        return fourth, stream, remote_pe
    if stream is not None and fourth is not None:
        raise NvshmemInvalid(f"stream={stream!r} and {fourth!r} behind the PE: give one stream")
    if fourth is None:
        fourth = stream
    handle_of(fourth)
    return remote_pe, fourth, count


@accelerated
def p(
    dst: Any,
    value: Any,
    remote_pe: Optional[int] = None,
    stream: Optional[Stream] = None,
    *,
    dtype: Any = None,
    pe: Optional[int] = None,
) -> None:
    """Writes one value to the first element of the symmetric `dst` on PE `remote_pe`.

    `dtype` says the type of a Buffer's elements. Completion as ``put``. OpenSHMEM 1.5 section
    9.6.1.
    """
    target = operand(dst, "dst")
    code = target.code
    if code in C_TYPES and dtype is None and target.nbytes:
        made = C_TYPES[code](scalar(value, code, "value"))
        arguments = (target.place, ctypes.byref(made), _SIZE_OF[code])
    else:
        target = typed(dst, dtype, "dst")
        if target.nbytes == 0 or target.dtype is None:
            raise NvshmemInvalid("dst is empty: p writes one element")
        made = one_element(value, target.dtype, "value")
        arguments = (target.place, operand(made, "value").place, _size(made.nbytes))
    number = pe_of(remote_pe, pe)
    if stream is None:
        status = _put.plain(job.direct or handle_of(None), *arguments, number)
    else:
        status = queue(stream, (dst, made), _put.plain, *arguments, number)
    if status:
        raise_status(status)


@accelerated
def g(
    src: Any,
    remote_pe: Optional[int] = None,
    stream: Optional[Stream] = None,
    *,
    dtype: Any = None,
    pe: Optional[int] = None,
) -> Any:
    """The first element of the symmetric `src` on PE `remote_pe`, as a NumPy scalar.

    `dtype` says the type of a Buffer's elements. With a stream it waits until the stream has read
    it. OpenSHMEM 1.5 section 9.6.1.
    """
    source = operand(src, "src")
    code, layout = source.code, source.layout
    made: Any
    if code in C_TYPES and layout is not None and dtype is None and source.nbytes:
        made = C_TYPES[code]()
        arguments = (ctypes.byref(made), source.place, _SIZE_OF[code])
    else:
        layout = None
        source = typed(src, dtype, "src")
        if source.nbytes == 0:
            raise NvshmemInvalid("src is empty: g reads one element")
        made = np.empty(1, source.dtype)
        arguments = (operand(made, "value").place, source.place, _size(made.nbytes))
    number = pe_of(remote_pe, pe)
    if stream is None:
        status = _get.plain(job.direct or handle_of(None), *arguments, number)
        if status:
            raise_status(status)
    else:
        check(queue(stream, (src, made), _get.plain, *arguments, number))
        synchronize(stream)
    return made[0] if layout is None else layout.type(made.value)


def iput(
    dst: Any,
    src: Any,
    dst_stride: int,
    src_stride: int,
    count: int,
    remote_pe: Optional[int] = None,
    stream: Optional[Stream] = None,
    *,
    dtype: Any = None,
    pe: Optional[int] = None,
) -> None:
    """Copies `count` elements, every `src_stride`-th of `src`, to every `dst_stride`-th of the
    symmetric `dst` on PE `remote_pe`.

    Strides count elements in C order and are at least 1; for the other direction pass reversed
    views to ``put``. Completion as ``put``. OpenSHMEM 1.5 section 9.6.1.
    """
    to = _every(dst, dst_stride, 1, count, dtype, "dst")
    put(to, _every(src, src_stride, 1, count, dtype, "src"), pe_of(remote_pe, pe), stream=stream)


def iget(
    dst: Any,
    src: Any,
    dst_stride: int,
    src_stride: int,
    count: int,
    remote_pe: Optional[int] = None,
    stream: Optional[Stream] = None,
    *,
    dtype: Any = None,
    pe: Optional[int] = None,
) -> None:
    """As ``iput``, from the symmetric `src` on PE `remote_pe` to `dst`. Completion as ``get``.
    OpenSHMEM 1.5 section 9.6.1.
    """
    writable(dst, "dst")
    to = _every(dst, dst_stride, 1, count, dtype, "dst")
    get(to, _every(src, src_stride, 1, count, dtype, "src"), pe_of(remote_pe, pe), stream=stream)


def ibput(
    dst: Any,
    src: Any,
    dst_stride: int,
    src_stride: int,
    block_size: int,
    block_count: int,
    remote_pe: Optional[int] = None,
    stream: Optional[Stream] = None,
    *,
    dtype: Any = None,
    pe: Optional[int] = None,
) -> None:
    """Copies `block_count` blocks of `block_size` elements; blocks start every `src_stride`
    elements of `src` and every `dst_stride` elements of the symmetric `dst` on PE `remote_pe`.

    Strides count elements in C order and are at least `block_size`. Completion as ``put``.
    OpenSHMEM 1.6 (`shmem_ibput`).
    """
    to = _every(dst, dst_stride, block_size, block_count, dtype, "dst")
    of = _every(src, src_stride, block_size, block_count, dtype, "src")
    put(to, of, pe_of(remote_pe, pe), stream=stream)


def ibget(
    dst: Any,
    src: Any,
    dst_stride: int,
    src_stride: int,
    block_size: int,
    block_count: int,
    remote_pe: Optional[int] = None,
    stream: Optional[Stream] = None,
    *,
    dtype: Any = None,
    pe: Optional[int] = None,
) -> None:
    """As ``ibput``, from the symmetric `src` on PE `remote_pe` to `dst`. Completion as ``get``.
    OpenSHMEM 1.6 (`shmem_ibget`).
    """
    to = _every(dst, dst_stride, block_size, block_count, dtype, "dst")
    of = _every(src, src_stride, block_size, block_count, dtype, "src")
    writable(dst, "dst")
    get(to, of, pe_of(remote_pe, pe), stream=stream)


def _every(array: Any, stride: int, block: int, count: int, dtype: Any, name: str) -> Operand:
    """`count` blocks of an array that start every `stride` elements."""
    whole = typed(array, dtype, name)
    contiguous(whole, name)
    step = integer(stride, f"{name}_stride")
    length, number = integer(block, "block_size"), integer(count, "count")
    if length < 1 or step < length or number < 0:
        raise NvshmemInvalid(
            f"{name}_stride={stride}, blocks of {block}, count={count}: a block has at least 1 "
            "element, the stride at least the elements of a block, and a count is not negative"
        )
    size = 1 if whole.dtype is None else whole.dtype.itemsize
    there = whole.nbytes // (size or 1)
    if number and (number - 1) * step + length > there:
        raise NvshmemInvalid(
            f"{name}_stride={stride}, blocks of {block}, count={count}: that needs "
            f"{(number - 1) * step + length} elements, and {name} has {there}"
        )
    layout = whole.layout if step == length or number < 2 else None
    shape, strides = (number, length), (step * size, size)
    nbytes = number * length * size
    return Operand(whole.address, nbytes, whole.dtype, layout, shape, strides, base=array)


@accelerated
def put_signal(
    dst: Any,
    src: Any,
    signal_var: Any,
    signal_val: int,
    signal_op: SignalOp,
    remote_pe: Optional[int] = None,
    stream: Optional[Stream] = None,
    *,
    count: Optional[int] = None,
    pe: Optional[int] = None,
) -> None:
    """Copies `src` to the symmetric `dst` on PE `remote_pe`, then updates the signal there.

    `signal_var` is a Buffer (its first 8 bytes) or an array of one uint64, symmetric. Who sees the
    signal sees the data. Returns when `src` may be reused. OpenSHMEM 1.5 section 9.8.3.
    """
    _check_update(signal_val, signal_op, _PUT_SIGNAL)
    update = (signal_var, signal_val, signal_op)
    _move_signal(_put_signal, dst, src, update, pe_of(remote_pe, pe), stream, count)


def put_signal_nbi(
    dst: Any,
    src: Any,
    signal_var: Any,
    signal_val: int,
    signal_op: SignalOp,
    remote_pe: Optional[int] = None,
    stream: Optional[Stream] = None,
    *,
    count: Optional[int] = None,
    pe: Optional[int] = None,
) -> None:
    """As ``put_signal``, but the data of `src` must not change until ``quiet``; until then the
    arrays are kept. OpenSHMEM 1.5 section 9.8.4.
    """
    _check_update(signal_val, signal_op, _PUT_SIGNAL_NBI)
    update = (signal_var, signal_val, signal_op)
    hold_until_quiet(stream, (dst, src, signal_var))
    _move_signal(_put_signal_nbi, dst, src, update, pe_of(remote_pe, pe), stream, count)
    hold_until_quiet(stream, (dst, src, signal_var))


def _move_signal(
    call: Tuple[Callable[..., int], Callable[..., int]],
    dst: Any,
    src: Any,
    update: Tuple[Any, int, SignalOp],
    pe: int,
    stream: Optional[Stream],
    count: Optional[int],
) -> None:
    runtime = handle_of(stream)
    target, source = operand(dst, "dst"), operand(src, "src")
    signal = signal_place(update[0])
    value, how = signal_value(update[1]), update[2]
    if _is_plain(target, source, count):
        status = call[0](runtime, target.place, source.place, target.extent, signal, value, how, pe)
    else:
        planned = _strided.plan(target, source, count, pe == job.my_pe)
        if len(planned) == 1 and not planned[0].axes:
            to, of, nbytes = planned[0][:3]
            status = call[1](runtime, to, of, nbytes, signal, value, how, pe)
        else:
            status = (
                _strided.copy(_put, runtime, planned, pe)
                or lib.nvshmemrs_fence(runtime)
                or _signal_op(runtime, signal, value, how, pe)
            )
    hold(stream, (dst, src, update[0], target, source))
    if status:
        raise_status(status)


def _check_update(value: Any, how: Any, call: str) -> None:
    if type(how) is not SignalOp or (type(value) is not int and is_member(value)):
        wrong_member(SignalOp, how, value, "signal_op", call)


@accelerated
def signal_op(
    signal_var: Any,
    signal_val: int,
    signal_op: SignalOp,
    remote_pe: Optional[int] = None,
    stream: Optional[Stream] = None,
    *,
    pe: Optional[int] = None,
) -> None:
    """Updates the signal on PE `remote_pe`, after all earlier puts of this PE to it. NVSHMEM
    `nvshmemx_signal_op`.
    """
    _check_update(signal_val, signal_op, _SIGNAL_OP)
    place, value = signal_place(signal_var), signal_value(signal_val)
    arguments = (place, value, signal_op, pe_of(remote_pe, pe))
    if stream is None:
        status = _signal_op(job.direct or handle_of(None), *arguments)
    else:
        status = queue(stream, signal_var, _signal_op, *arguments)
    if status:
        raise_status(status)


@accelerated
def signal_wait(
    signal_var: Any,
    signal_val: int,
    signal_op: ComparisonType,
    stream: Optional[Stream] = None,
) -> Optional[int]:
    """Waits until this PE's copy of the signal compares to `signal_val` as `signal_op` says;
    returns its value.

    Local: only the caller waits. Data that the sender put before the signal is visible on return. With
    a stream, the stream waits and the call returns None at once. OpenSHMEM 1.5 section 9.10.15.
    """
    how = signal_op
    if type(how) is not ComparisonType or (type(signal_val) is not int and is_member(signal_val)):
        wrong_member(ComparisonType, how, signal_val, "signal_op", _SIGNAL_WAIT)
    place, value = signal_place(signal_var), signal_value(signal_val)
    if stream is not None:
        # The form without an output is queued; with one, the call would wait for it.
        arguments = (place, how, ctypes.addressof(value), int(_ffi.Dtype.UINT64))
        check(queue(stream, (signal_var, value), lib.nvshmemrs_wait_until, *arguments))
        return None
    seen = ctypes.c_uint64()
    runtime = job.direct or handle_of(None)
    status = lib.nvshmemrs_signal_wait(runtime, place, how, value, ctypes.byref(seen))
    if status:
        raise_status(status)
    return seen.value


def signal_fetch(signal_var: Any, stream: Optional[Stream] = None) -> int:
    """Reads this PE's copy of a signal, once `stream` has come to it. Local. OpenSHMEM 1.5 section
    9.8.5.
    """
    value = ctypes.c_uint64()
    place = signal_place(signal_var)
    check(lib.nvshmemrs_signal_fetch(handle_of(stream), place, ctypes.byref(value)))
    return value.value


@accelerated
def quiet(stream: Optional[Stream] = None) -> None:
    """Completes this PE's operations, non-blocking too. Local. OpenSHMEM 1.5 section 9.11.2."""
    runtime = (stream is None and job.direct) or handle_of(stream)
    idle = stream is None and not job.in_flight
    if status := _quiet(runtime) if idle else completed(stream, _quiet, runtime):
        raise_status(status)


def flush(stream: Optional[Stream] = None) -> None:
    """Returns when the sources of non-blocking operations may be reused. Local.

    On host memory it is ``quiet``. NVSHMEM `nvshmemx_flush`.
    """
    quiet(stream)


@accelerated
def fence(stream: Optional[Stream] = None) -> None:
    """Orders this PE's earlier puts and signals to each PE before its later ones. OpenSHMEM 1.5
    section 9.11.1.
    """
    status = lib.nvshmemrs_fence((stream is None and job.direct) or handle_of(stream))
    if status:
        raise_status(status)
