"""Remote memory access and signals. One-sided: only the caller calls.

`dst` and `src` are NumPy arrays or Buffers. For a put the destination, for a get the source must be
symmetric; the other side may be any NumPy array. A view stands for its own elements, so
``put(a[10:20], b, 1)`` moves ten. Both sides must have the same dtype, number of elements and
order; nothing is cut to the shorter one. `count` moves that many elements from the start of both.
`pe` is another spelling of `remote_pe`, which has no default.
"""

from __future__ import annotations

import ctypes
import enum
from typing import Any, Optional

from .. import _ffi
from ._job import job, lib, raise_status
from ._operand import (
    Function,
    Operand,
    bytes_of,
    c_int,
    no_stream,
    operand,
    pe_of,
    signal_address,
    signal_value,
)
from .direct import ComparisonType
from .nvshmem_types import NvshmemInvalid

__all__ = [
    "SignalOp",
    "fence",
    "get",
    "get_nbi",
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


_put = lib.nvshmemrs_put
_put_nbi = lib.nvshmemrs_put_nbi
_get = lib.nvshmemrs_get
_get_nbi = lib.nvshmemrs_get_nbi


def put(
    dst: Any,
    src: Any,
    remote_pe: Optional[int] = None,
    stream: None = None,
    *,
    count: Optional[int] = None,
    pe: Optional[int] = None,
) -> None:
    """Copies `src` to the symmetric `dst` on PE `remote_pe`.

    Returns when `src` may be reused; the data is visible there after ``quiet``, a barrier or a
    signal. OpenSHMEM 1.5 section 9.5.1.
    """
    _move(_put, operand(dst, "dst"), operand(src, "src"), remote_pe, stream, count, pe)


def put_nbi(
    dst: Any,
    src: Any,
    remote_pe: Optional[int] = None,
    stream: None = None,
    *,
    count: Optional[int] = None,
    pe: Optional[int] = None,
) -> None:
    """As ``put``, but `src` must stay as it is until ``quiet``. OpenSHMEM 1.5 section 9.6.1."""
    _move(_put_nbi, operand(dst, "dst"), operand(src, "src"), remote_pe, stream, count, pe)


def get(
    dst: Any,
    src: Any,
    remote_pe: Optional[int] = None,
    stream: None = None,
    *,
    count: Optional[int] = None,
    pe: Optional[int] = None,
) -> None:
    """Copies the symmetric `src` on PE `remote_pe` to `dst`.

    Returns when the data is in `dst`. OpenSHMEM 1.5 section 9.5.4.
    """
    target = operand(dst, "dst")
    if target.dtype is not None and not dst.flags.writeable:
        raise NvshmemInvalid("dst is a read-only array")
    _move(_get, target, operand(src, "src"), remote_pe, stream, count, pe)


def get_nbi(
    dst: Any,
    src: Any,
    remote_pe: Optional[int] = None,
    stream: None = None,
    *,
    count: Optional[int] = None,
    pe: Optional[int] = None,
) -> None:
    """As ``get``, but the data is in `dst` only after ``quiet``. OpenSHMEM 1.5 section 9.6.2."""
    target = operand(dst, "dst")
    if target.dtype is not None and not dst.flags.writeable:
        raise NvshmemInvalid("dst is a read-only array")
    _move(_get_nbi, target, operand(src, "src"), remote_pe, stream, count, pe)


def _move(
    function: Function,
    dst: Operand,
    src: Operand,
    remote_pe: Optional[int],
    stream: None,
    count: Optional[int],
    pe: Optional[int],
) -> None:
    """The checks that all four share, then the call."""
    nbytes = dst.nbytes
    if (
        nbytes != src.nbytes
        or count is not None
        or dst.dtype is not src.dtype
        or dst.order != src.order
    ):
        nbytes = bytes_of(dst, src, count)
    if type(remote_pe) is not int or pe is not None or not -0x80000000 <= remote_pe <= 0x7FFFFFFF:
        remote_pe = pe_of(remote_pe, pe)
    if stream is not None:
        no_stream(stream)
    status = function(job.runtime, dst.address, src.address, nbytes, remote_pe)
    if status:
        raise_status(status)


def put_signal(
    dst: Any,
    src: Any,
    signal_var: Any,
    signal_val: int,
    signal_op: SignalOp,
    remote_pe: Optional[int] = None,
    stream: None = None,
    *,
    count: Optional[int] = None,
    pe: Optional[int] = None,
) -> None:
    """Copies `src` to the symmetric `dst` on PE `remote_pe`, then updates the signal there.

    `signal_var` is a Buffer (its first 8 bytes) or an array of uint64 (its first element),
    symmetric. Who sees the signal sees the data. Returns when `src` may be reused. OpenSHMEM 1.5
    section 9.8.3.
    """
    _move_signal(
        lib.nvshmemrs_put_signal,
        dst,
        src,
        signal_var,
        signal_val,
        signal_op,
        remote_pe,
        stream,
        count,
        pe,
    )


def put_signal_nbi(
    dst: Any,
    src: Any,
    signal_var: Any,
    signal_val: int,
    signal_op: SignalOp,
    remote_pe: Optional[int] = None,
    stream: None = None,
    *,
    count: Optional[int] = None,
    pe: Optional[int] = None,
) -> None:
    """As ``put_signal``, but `src` must stay until ``quiet``. OpenSHMEM 1.5 section 9.8.4."""
    _move_signal(
        lib.nvshmemrs_put_signal_nbi,
        dst,
        src,
        signal_var,
        signal_val,
        signal_op,
        remote_pe,
        stream,
        count,
        pe,
    )


def _move_signal(
    function: Function,
    dst: Any,
    src: Any,
    signal_var: Any,
    signal_val: int,
    signal_op: int,
    remote_pe: Optional[int],
    stream: None,
    count: Optional[int],
    pe: Optional[int],
) -> None:
    target, source = operand(dst, "dst"), operand(src, "src")
    nbytes = bytes_of(target, source, count)
    no_stream(stream)
    status = function(
        job.runtime,
        target.address,
        source.address,
        nbytes,
        signal_address(signal_var),
        signal_value(signal_val),
        c_int(signal_op, "signal_op"),
        pe_of(remote_pe, pe),
    )
    if status:
        raise_status(status)


def signal_op(
    signal_var: Any,
    signal_val: int,
    signal_op: SignalOp,
    remote_pe: Optional[int] = None,
    stream: None = None,
    *,
    pe: Optional[int] = None,
) -> None:
    """Updates the signal on PE `remote_pe`, after all earlier puts of this PE to it. NVSHMEM
    `nvshmemx_signal_op`.
    """
    no_stream(stream)
    status = lib.nvshmemrs_signal_op(
        job.runtime,
        signal_address(signal_var),
        signal_value(signal_val),
        c_int(signal_op, "signal_op"),
        pe_of(remote_pe, pe),
    )
    if status:
        raise_status(status)


def signal_wait(
    signal_var: Any, signal_val: int, signal_op: ComparisonType, stream: None = None
) -> int:
    """Waits until this PE's copy of the signal compares to `signal_val` as `signal_op` says;
    returns its value.

    Local: only the caller waits. What the sender put before the signal is visible on return.
    OpenSHMEM 1.5 section 9.10.15.
    """
    no_stream(stream)
    seen = ctypes.c_uint64()
    status = lib.nvshmemrs_signal_wait(
        job.runtime,
        signal_address(signal_var),
        c_int(signal_op, "signal_op"),
        signal_value(signal_val),
        ctypes.byref(seen),
    )
    if status:
        raise_status(status)
    return seen.value


def signal_fetch(signal_var: Any) -> int:
    """Reads this PE's copy of a signal. Local; never waits. OpenSHMEM 1.5 section 9.8.5."""
    value = ctypes.c_uint64()
    status = lib.nvshmemrs_signal_fetch(
        job.runtime, signal_address(signal_var), ctypes.byref(value)
    )
    if status:
        raise_status(status)
    return value.value


def quiet(stream: None = None) -> None:
    """Completes this PE's operations, non-blocking too. Local. OpenSHMEM 1.5 section 9.11.2."""
    no_stream(stream)
    status = lib.nvshmemrs_quiet(job.runtime)
    if status:
        raise_status(status)


def fence(stream: None = None) -> None:
    """Orders this PE's earlier puts and signals to each PE before its later ones. OpenSHMEM 1.5
    section 9.11.1.
    """
    no_stream(stream)
    status = lib.nvshmemrs_fence(job.runtime)
    if status:
        raise_status(status)
