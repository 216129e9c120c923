"""Shared parts of the atomic operations: functions by element type, arguments, results."""

from __future__ import annotations

import ctypes
from typing import Any, Callable, Dict, Optional, Tuple

from .. import _ffi
from ._arguments import pe_of
from ._dtypes import FLOATS, NAMES, scalar
from ._job import job, lib, raise_status
from ._operand import element, writable
from .nvshmem_types import NvshmemInvalid
from .streams import Stream, handle_of, hold_until_quiet, queue

_INT32, _INT64 = int(_ffi.Dtype.INT32), int(_ffi.Dtype.INT64)
_UINT32, _UINT64 = int(_ffi.Dtype.UINT32), int(_ffi.Dtype.UINT64)
_INTEGERS = {_INT32: "32", _INT64: "64", _UINT32: "32", _UINT64: "64"}
_WITH_FLOATS = {**_INTEGERS, FLOATS[0]: "_float", FLOATS[1]: "_double"}
_MASKS = {_INT32: 2**32 - 1, _INT64: 2**64 - 1}
# The output types for old values.
_OUTPUTS: Dict[int, Any] = {
    _INT32: ctypes.c_uint32,
    _UINT32: ctypes.c_uint32,
    _INT64: ctypes.c_uint64,
    _UINT64: ctypes.c_uint64,
    FLOATS[0]: ctypes.c_float,
    FLOATS[1]: ctypes.c_double,
}


def _table(operation: str, nbi: str = "") -> Dict[int, Callable[..., int]]:
    """The library's functions for an operation, by element type."""
    known = ("fetch", "set", "swap", "add", "fetch_add")
    suffixes = _WITH_FLOATS if operation in known else _INTEGERS
    return {
        code: getattr(lib, f"nvshmemrs_atomic_{operation}{suffix}{nbi}")
        for code, suffix in suffixes.items()
    }


_PLAIN = {name: _table(name) for name in ("set", "inc", "add", "and", "or", "xor")}
_FETCHING = {
    name: _table(name)
    for name in (
        "fetch",
        "swap",
        "compare_swap",
        "fetch_inc",
        "fetch_add",
        "fetch_and",
        "fetch_or",
        "fetch_xor",
    )
}
_NBI = {name: _table(name, "_nbi") for name in _FETCHING}


def _prepare(
    table: Dict[int, Callable[..., int]],
    operation: str,
    target: Any,
    values: Tuple[Any, ...],
    offset: int,
    dtype: Any,
) -> Tuple[Callable[..., int], int, int, Tuple[Any, ...]]:
    """The library's function, the element's address and type, and the values as it takes them."""
    address, code = element(target, offset, dtype, "target")
    function = table.get(code)
    if function is None:
        known = ", ".join(NAMES[code] for code in table)
        raise NvshmemInvalid(
            f"atomic_{operation}: the element is {NAMES[code]}, and the operation knows {known}"
        )
    mask = _MASKS.get(code)
    given = tuple(scalar(value, code, "value") for value in values)
    if mask:
        given = tuple(value & mask for value in given)
    return function, address, code, given


def updating(
    operation: str,
    target: Any,
    values: Tuple[Any, ...],
    remote_pe: Optional[int],
    pe: Optional[int],
    offset: int,
    dtype: Any,
    stream: Optional[Stream],
) -> None:
    """An operation without a result."""
    table = _PLAIN[operation]
    function, address, _, given = _prepare(table, operation, target, values, offset, dtype)
    number = pe_of(remote_pe, pe)
    if stream is None:
        status = function(job.direct or handle_of(None), address, *given, number)
    else:
        status = queue(stream, target, function, address, *given, number)
    if status:
        raise_status(status)


def returning(
    operation: str,
    target: Any,
    values: Tuple[Any, ...],
    remote_pe: Optional[int],
    pe: Optional[int],
    offset: int,
    dtype: Any,
    stream: Optional[Stream],
) -> Any:
    """An operation that returns the old value."""
    table = _FETCHING[operation]
    function, address, code, given = _prepare(table, operation, target, values, offset, dtype)
    old = _OUTPUTS[code]()
    runtime = (stream is None and job.direct) or handle_of(stream)
    status = function(runtime, address, *given, pe_of(remote_pe, pe), old)
    if status:
        raise_status(status)
    value = old.value
    mask = _MASKS.get(code)
    return value - mask - 1 if mask and value > mask >> 1 else value


def fetch_nbi(
    operation: str,
    fetch: Any,
    target: Any,
    values: Tuple[Any, ...],
    remote_pe: Optional[int],
    pe: Optional[int],
    offset: int,
    dtype: Any,
    stream: Optional[Stream],
) -> None:
    """An operation that writes the old value to `fetch`, complete after quiet; until then the arrays
    are kept.
    """
    table = _NBI[operation]
    function, address, code, given = _prepare(table, operation, target, values, offset, dtype)
    writable(fetch, "fetch")
    local, kind = element(fetch, 0, dtype, "fetch")
    if kind != code:
        raise NvshmemInvalid(f"fetch holds {NAMES[kind]} and target {NAMES[code]}: give one dtype")
    pointer = ctypes.cast(local, ctypes.POINTER(_OUTPUTS[code]))
    number = pe_of(remote_pe, pe)
    hold_until_quiet(stream, (fetch, target))
    if stream is None:
        status = function(job.direct or handle_of(None), pointer, address, *given, number)
    else:
        status = queue(stream, (fetch, target), function, pointer, address, *given, number)
    hold_until_quiet(stream, (fetch, target))
    if status:
        raise_status(status)
