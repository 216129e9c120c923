"""Atomic memory operations of kernels, on the first element of a tensor on a PE.

All of them are atomic with those of the other PEs, of kernels in all languages and of the host.
"""

from __future__ import annotations

from typing import Any

from ...nvshmem_types import NvshmemInvalid
from ._access import access, address_of, bits, load, store, word_of
from ._arguments import names, target, tensor
from ._frontend import cutlass, dsl
from ._state import current, on

__all__ = [
    "atomic_add",
    "atomic_and",
    "atomic_compare_swap",
    "atomic_fetch",
    "atomic_fetch_add",
    "atomic_fetch_and",
    "atomic_fetch_inc",
    "atomic_fetch_or",
    "atomic_fetch_xor",
    "atomic_inc",
    "atomic_or",
    "atomic_set",
    "atomic_swap",
    "atomic_xor",
]

Float32, Uint64 = cutlass.Float32, cutlass.Uint64
INTEGERS = (cutlass.Int32, cutlass.Int64, cutlass.Uint32, cutlass.Uint64)
"""The element types of all operations."""
NUMBERS = (*INTEGERS, cutlass.Float32, cutlass.Float64, cutlass.Float16)
"""The element types of fetch, set, swap, add and fetch_add."""


def _place(operation: str, x: Any, pe: Any, kinds: Any) -> Any:
    """The type of the elements, and where the first one is on a PE."""
    job = current(operation)
    kind = tensor(x, "the tensor", operation, kinds).element_type
    size = kind.width // 8
    at = on(job, operation, target(pe, operation), address_of(x), Uint64(size), size)
    return kind, at


def _value(kind: Any, value: Any, name: str, operation: str) -> Any:
    """A value as an element; a float is no integer."""
    if not kind.is_float and isinstance(value, (float, cutlass.Float)):
        raise NvshmemInvalid(
            f"{operation}: {name} is a floating-point number, and the elements are "
            f"{kind.__name__}, not one of {names((cutlass.Float32, cutlass.Float64))}"
        )
    return kind(value)


def _apply(operation: str, row: str, dst: Any, value: Any, pe: Any, kinds: Any) -> None:
    kind, at = _place(operation, dst, pe, kinds)
    value = _value(kind, value, "value", operation)
    if kind.is_float and kind.width < 64:
        _changed(kind, "add", at, value)
    elif kind.is_float:
        access.red_add_f64(at, value)
    else:
        getattr(access, f"red_{row}_u{kind.width}")(at, bits(word_of(kind), value))


def _fetch(operation: str, row: str, dst: Any, value: Any, pe: Any, kinds: Any) -> Any:
    kind, at = _place(operation, dst, pe, kinds)
    value = _value(kind, value, "value", operation)
    if row == "exch" and kind.width > 16:
        old = getattr(access, f"atom_exch_u{kind.width}")(at, bits(word_of(kind), value))
        return bits(kind, old)
    if kind.is_float and kind.width < 64:
        return _changed(kind, row, at, value)
    if kind.is_float:
        return access.atom_add_f64(at, value)
    return bits(kind, getattr(access, f"atom_{row}_u{kind.width}")(at, bits(word_of(kind), value)))


def _next(kind: Any, row: str, old: Any, value: Any) -> Any:
    """The word's new value."""
    if row == "exch":
        return bits(word_of(kind), value)
    if kind.width == 16:
        given = access.cvt_f32_f16(bits(word_of(kind), value))
        return access.cvt_f16_f32(access.cvt_f32_f16(old) + given)
    return bits(word_of(kind), bits(kind, old) + value)


@dsl.jit
def _changed(kind: Any, row: str, at: Any, value: Any) -> Any:
    """Adds or exchanges by comparing and swapping. The hardware's addition in single precision
    takes subnormal numbers for 0, and it exchanges no 16 bits.
    """
    swap = getattr(access, f"cas_u{kind.width}")
    old = getattr(access, f"ld_relaxed_u{kind.width}")(at)
    seen = swap(at, old, _next(kind, row, old, value))
    while seen != old:
        old = seen
        seen = swap(at, old, _next(kind, row, old, value))
    return bits(kind, old)


def atomic_fetch(x: Any, pe: Any) -> Any:
    """Returns the element; writes before it was set are visible afterwards. One-sided."""
    kind, at = _place("atomic_fetch", x, pe, NUMBERS)
    return load("acquire", kind, at)


def atomic_set(dst: Any, value: Any, pe: Any) -> None:
    """Sets the element, after the thread's earlier writes. One-sided."""
    kind, at = _place("atomic_set", dst, pe, NUMBERS)
    store("release", kind, at, _value(kind, value, "value", "atomic_set"))


def atomic_swap(dst: Any, value: Any, pe: Any) -> Any:
    """Sets the element and returns its old value. One-sided."""
    return _fetch("atomic_swap", "exch", dst, value, pe, NUMBERS)


def atomic_compare_swap(dst: Any, cond: Any, value: Any, pe: Any) -> Any:
    """Sets the element if it is `cond`, and returns its old value; integers. One-sided."""
    kind, at = _place("atomic_compare_swap", dst, pe, INTEGERS)
    word = word_of(kind)
    old = getattr(access, f"cas_u{kind.width}")(
        at,
        bits(word, _value(kind, cond, "cond", "atomic_compare_swap")),
        bits(word, _value(kind, value, "value", "atomic_compare_swap")),
    )
    return bits(kind, old)


def atomic_inc(x: Any, pe: Any) -> None:
    """Adds 1 to the element; integers. One-sided."""
    _apply("atomic_inc", "add", x, 1, pe, INTEGERS)


def atomic_fetch_inc(x: Any, pe: Any) -> Any:
    """Adds 1 to the element and returns its old value; integers. One-sided."""
    return _fetch("atomic_fetch_inc", "add", x, 1, pe, INTEGERS)


def atomic_add(dst: Any, value: Any, pe: Any) -> None:
    """Adds to the element. One-sided."""
    _apply("atomic_add", "add", dst, value, pe, NUMBERS)


def atomic_fetch_add(dst: Any, value: Any, pe: Any) -> Any:
    """Adds to the element and returns its old value. One-sided."""
    return _fetch("atomic_fetch_add", "add", dst, value, pe, NUMBERS)


def atomic_and(dst: Any, value: Any, pe: Any) -> None:
    """Keeps the element's bits that the value has; integers. One-sided."""
    _apply("atomic_and", "and", dst, value, pe, INTEGERS)


def atomic_fetch_and(dst: Any, value: Any, pe: Any) -> Any:
    """As ``atomic_and``, and returns the old value. One-sided."""
    return _fetch("atomic_fetch_and", "and", dst, value, pe, INTEGERS)


def atomic_or(dst: Any, value: Any, pe: Any) -> None:
    """Sets the element's bits that the value has; integers. One-sided."""
    _apply("atomic_or", "or", dst, value, pe, INTEGERS)


def atomic_fetch_or(dst: Any, value: Any, pe: Any) -> Any:
    """As ``atomic_or``, and returns the old value. One-sided."""
    return _fetch("atomic_fetch_or", "or", dst, value, pe, INTEGERS)


def atomic_xor(dst: Any, value: Any, pe: Any) -> None:
    """Turns the element's bits that the value has; integers. One-sided."""
    _apply("atomic_xor", "xor", dst, value, pe, INTEGERS)


def atomic_fetch_xor(dst: Any, value: Any, pe: Any) -> Any:
    """As ``atomic_xor``, and returns the old value. One-sided."""
    return _fetch("atomic_fetch_xor", "xor", dst, value, pe, INTEGERS)
