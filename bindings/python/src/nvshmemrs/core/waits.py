"""Waits and tests for writes of other PEs to this PE's memory. Local: only the caller waits.

`ivar` and `ivars` are symmetric arrays or Buffers, whose elements' type `dtype` says: integers of 8
to 64 bits, float32 or float64. They hold this PE's copy; `cmp` is a ``ComparisonType``. In the
functions for several elements `value` is one for all, or an array of one each; elements whose
`status` is not 0 are left out. Data that a PE wrote before the value that ends a wait is visible on
return. On a stream, the stream waits; functions with a result wait for it.
"""

from __future__ import annotations

import contextlib
import ctypes
from typing import Any, Iterator, List, Optional, Tuple

import numpy as np

from ._arguments import duration, is_member, refuse_masked, shown, wrong_member
from ._dtypes import C_TYPES, NAMES, SIZES, element_code, scalar
from ._extension import accelerated
from ._job import check, job, lib, raise_status
from ._operand import Operand, contiguous, element, operand
from .direct import ComparisonType
from .nvshmem_types import NvshmemInvalid
from .streams import Stream, handle_of, queue

__all__ = [
    "deadline",
    "test",
    "test_all",
    "test_any",
    "test_some",
    "wait_until",
    "wait_until_all",
    "wait_until_any",
    "wait_until_some",
]

_NONE = ctypes.c_size_t(-1).value

# The result of `_several`. The values must live until the library has read them.
_Call = Tuple[Any, Operand, Any, Any, Tuple[int, int, int]]


@contextlib.contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """``with deadline(seconds):`` lets no wait of this thread last longer than that moment.

    A wait inside that is not over `seconds` after the beginning raises WaitTimeoutError, whatever
    operation it is in; so does an operation queued inside, on its stream. While it holds it stands in
    for NVSHMEMRS_TIMEOUT, be it shorter or longer; of nested deadlines the earliest holds. A
    collective that it ends breaks its team. Local; works before ``init``, which keeps to its own
    limit.
    """
    limit = duration(seconds, "seconds")
    previous = ctypes.c_uint64()
    check(lib.nvshmemrs_deadline_begin(limit, previous))
    try:
        yield
    finally:
        lib.nvshmemrs_deadline_end(previous)


@accelerated
def wait_until(
    ivar: Any,
    cmp: ComparisonType,
    value: Any,
    stream: Optional[Stream] = None,
    *,
    offset: int = 0,
    dtype: Any = None,
) -> None:
    """Waits until element `offset` of `ivar` compares to `value` as `cmp` says. OpenSHMEM 1.5
    section 9.10.1.
    """
    _check_comparison("wait_until(ivar", cmp, value)
    address, code = _variable(ivar, offset, dtype)
    wanted = C_TYPES[code](scalar(value, code, "value"))
    arguments = (address, cmp, ctypes.addressof(wanted), code)
    if stream is None:
        status = lib.nvshmemrs_wait_until(job.direct or handle_of(None), *arguments)
    else:
        status = queue(stream, (ivar, wanted), lib.nvshmemrs_wait_until, *arguments)
    if status:
        raise_status(status)


def wait_until_all(
    ivars: Any,
    cmp: ComparisonType,
    value: Any,
    status: Any = None,
    stream: Optional[Stream] = None,
    *,
    dtype: Any = None,
) -> None:
    """Waits until every element compares. OpenSHMEM 1.5 sections 9.10.2 and 9.10.5."""
    form, array, wanted, chosen, rest = _several("wait_until_all", ivars, cmp, value, status, dtype)
    count = array.nbytes // SIZES[rest[2]]
    arguments = (array.address, count, chosen, *rest)
    if stream is None:
        check(form(handle_of(None), *arguments))
    else:
        check(queue(stream, (ivars, wanted, chosen), form, *arguments))


def wait_until_any(
    ivars: Any,
    cmp: ComparisonType,
    value: Any,
    status: Any = None,
    stream: Optional[Stream] = None,
    *,
    dtype: Any = None,
) -> Optional[int]:
    """Waits until an element compares and returns its index; None if all are left out. If several
    compare, calls with the same arguments take turns: in time they return each. OpenSHMEM 1.5
    sections 9.10.3 and 9.10.6.
    """
    return _any(_several("wait_until_any", ivars, cmp, value, status, dtype), stream)


def wait_until_some(
    ivars: Any,
    cmp: ComparisonType,
    value: Any,
    status: Any = None,
    stream: Optional[Stream] = None,
    *,
    dtype: Any = None,
) -> List[int]:
    """Waits until an element compares and returns the indices of all that do; empty if all are left
    out. OpenSHMEM 1.5 sections 9.10.4 and 9.10.7.
    """
    return _some(_several("wait_until_some", ivars, cmp, value, status, dtype), stream)


def test(
    ivar: Any,
    cmp: ComparisonType,
    value: Any,
    stream: Optional[Stream] = None,
    *,
    offset: int = 0,
    dtype: Any = None,
) -> bool:
    """Whether element `offset` of `ivar` compares to `value` as `cmp` says. OpenSHMEM 1.5 section
    9.10.8.
    """
    _check_comparison("test(ivar", cmp, value)
    address, code = _variable(ivar, offset, dtype)
    wanted = C_TYPES[code](scalar(value, code, "value"))
    result = ctypes.c_int32()
    arguments = (address, cmp, ctypes.addressof(wanted), code, result)
    check(lib.nvshmemrs_test(handle_of(stream), *arguments))
    return bool(result.value)


def test_all(
    ivars: Any,
    cmp: ComparisonType,
    value: Any,
    status: Any = None,
    stream: Optional[Stream] = None,
    *,
    dtype: Any = None,
) -> bool:
    """Whether every element compares; True if all are left out. OpenSHMEM 1.5 sections 9.10.9 and
    9.10.12.
    """
    form, array, wanted, chosen, rest = _several("test_all", ivars, cmp, value, status, dtype)
    result = ctypes.c_int32()
    count = array.nbytes // SIZES[rest[2]]
    check(form(handle_of(stream), array.address, count, chosen, *rest, result))
    return bool(result.value)


def test_any(
    ivars: Any,
    cmp: ComparisonType,
    value: Any,
    status: Any = None,
    stream: Optional[Stream] = None,
    *,
    dtype: Any = None,
) -> Optional[int]:
    """The index of an element that compares, None if none does. If several compare, calls with the
    same arguments take turns: in time they return each. OpenSHMEM 1.5 sections 9.10.10 and 9.10.13.
    """
    return _any(_several("test_any", ivars, cmp, value, status, dtype), stream)


def test_some(
    ivars: Any,
    cmp: ComparisonType,
    value: Any,
    status: Any = None,
    stream: Optional[Stream] = None,
    *,
    dtype: Any = None,
) -> List[int]:
    """The indices of the elements that compare. OpenSHMEM 1.5 sections 9.10.11 and 9.10.14."""
    return _some(_several("test_some", ivars, cmp, value, status, dtype), stream)


def _any(call: _Call, stream: Optional[Stream]) -> Optional[int]:
    form, array, _, chosen, rest = call
    index = ctypes.c_size_t()
    count = array.nbytes // SIZES[rest[2]]
    check(form(handle_of(stream), array.address, count, chosen, *rest, index))
    return None if index.value == _NONE else index.value


def _some(call: _Call, stream: Optional[Stream]) -> List[int]:
    form, array, _, chosen, rest = call
    count = array.nbytes // SIZES[rest[2]]
    indices, found = (ctypes.c_size_t * count)(), ctypes.c_size_t()
    check(form(handle_of(stream), array.address, count, indices, chosen, *rest, found))
    return indices[: found.value]


def _check_comparison(call: str, cmp: Any, value: Any) -> None:
    """Raises unless one is a comparison and the other a number. `call` is how the right call
    begins.
    """
    if type(cmp) is not ComparisonType or (type(value) is not int and is_member(value)):
        wrong_member(ComparisonType, cmp, value, "cmp", call + ", {member}, {value})")


def _flags(status: Any, name: str) -> np.ndarray:
    """The elements of a status."""
    refuse_masked(status, "status")
    try:
        flags = np.asarray(status)
    except (TypeError, ValueError):
        flags = np.asarray("")
    if flags.dtype.kind not in "iub" or flags.ndim == 0:
        raise NvshmemInvalid(
            f"status is {shown(status)}: it must be an array or a list of integers or bools, one "
            f"for each element. Call {name}(ivars, cmp, value, status), or give a stream by its "
            "name, stream="
        )
    return flags.ravel()


def _variable(ivar: Any, offset: int, dtype: Any) -> Tuple[int, int]:
    address, code = element(ivar, offset, dtype, "ivar")
    _check_type(code)
    return address, code


def _check_type(code: int) -> None:
    if code not in C_TYPES:
        known = ", ".join(NAMES[code] for code in C_TYPES)
        raise NvshmemInvalid(f"waits and tests know no {NAMES[code]}, but {known}")


def _several(
    name: str, ivars: Any, cmp: ComparisonType, value: Any, status: Any, dtype: Any
) -> _Call:
    """The library's function, the elements, their values and status as the library reads them, and
    its arguments cmp, address of the values, dtype.
    """
    _check_comparison(f"{name}(ivars", cmp, value)
    array = operand(ivars, "ivars")
    contiguous(array, "ivars")
    code = element_code(array.dtype, dtype, "ivars")
    _check_type(code)
    count = array.nbytes // SIZES[code]
    form = getattr(lib, f"nvshmemrs_{name}")
    kind = C_TYPES[code]
    if isinstance(value, (list, tuple)) or np.ndim(value) > 0:
        each = list(np.ravel(value)) if isinstance(value, np.ndarray) else list(value)
        _check_length(each, count, "value")
        form = getattr(lib, f"nvshmemrs_{name}_vector")
        wanted = (kind * count)(*(scalar(one, code, "value") for one in each))
    else:
        wanted = kind(scalar(value, code, "value"))
    chosen = None
    if status is not None:
        flags = _flags(status, name)
        _check_length(flags, count, "status")
        chosen = (ctypes.c_int32 * count)(*(int(bool(flag)) for flag in flags))
    return form, array, wanted, chosen, (cmp, ctypes.addressof(wanted), code)


def _check_length(values: Any, count: int, name: str) -> None:
    if len(values) != count:
        raise NvshmemInvalid(f"{name} has {len(values)} elements, and ivars {count}")
