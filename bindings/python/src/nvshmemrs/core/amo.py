"""Atomic operations on one element of a symmetric array, on any PE. One-sided.

The element is number `offset`, in C order, of `target`: an array, a view of one, or a Buffer whose
elements' type `dtype` says. It is a signed or unsigned integer of 32 or 64 bits; ``atomic_fetch``,
``atomic_set``, ``atomic_swap``, ``atomic_add`` and ``atomic_fetch_add`` know float32 and float64,
too. A value that the element cannot hold is an error; sums of integers wrap around.

Each is atomic with respect to all atomic operations of all PEs, and complete when it returns. The
forms with ``_nbi`` write the old value to the first element of `fetch`, an array of the same dtype
in this PE's memory, where it is valid after ``quiet``. On a stream, a function with a result waits
until the stream has come to it.
"""

from __future__ import annotations

from typing import Any, Optional

from ._amo import fetch_nbi, plain, returning
from .streams import Stream

__all__ = [
    "atomic_add",
    "atomic_and",
    "atomic_compare_swap",
    "atomic_compare_swap_nbi",
    "atomic_fetch",
    "atomic_fetch_add",
    "atomic_fetch_add_nbi",
    "atomic_fetch_and",
    "atomic_fetch_and_nbi",
    "atomic_fetch_inc",
    "atomic_fetch_inc_nbi",
    "atomic_fetch_nbi",
    "atomic_fetch_or",
    "atomic_fetch_or_nbi",
    "atomic_fetch_xor",
    "atomic_fetch_xor_nbi",
    "atomic_inc",
    "atomic_or",
    "atomic_set",
    "atomic_swap",
    "atomic_swap_nbi",
    "atomic_xor",
]


def atomic_fetch(
    target: Any,
    remote_pe: Optional[int] = None,
    *,
    offset: int = 0,
    dtype: Any = None,
    stream: Optional[Stream] = None,
    pe: Optional[int] = None,
) -> Any:
    """The element's value. OpenSHMEM 1.5 section 9.7.1."""
    return returning("fetch", target, (), remote_pe, pe, offset, dtype, stream)


def atomic_set(
    target: Any,
    value: Any,
    remote_pe: Optional[int] = None,
    *,
    offset: int = 0,
    dtype: Any = None,
    stream: Optional[Stream] = None,
    pe: Optional[int] = None,
) -> None:
    """Stores `value`. OpenSHMEM 1.5 section 9.7.1."""
    plain("set", target, (value,), remote_pe, pe, offset, dtype, stream)


def atomic_swap(
    target: Any,
    value: Any,
    remote_pe: Optional[int] = None,
    *,
    offset: int = 0,
    dtype: Any = None,
    stream: Optional[Stream] = None,
    pe: Optional[int] = None,
) -> Any:
    """Stores `value`; returns the old value. OpenSHMEM 1.5 section 9.7.1."""
    return returning("swap", target, (value,), remote_pe, pe, offset, dtype, stream)


def atomic_compare_swap(
    target: Any,
    cond: Any,
    value: Any,
    remote_pe: Optional[int] = None,
    *,
    offset: int = 0,
    dtype: Any = None,
    stream: Optional[Stream] = None,
    pe: Optional[int] = None,
) -> Any:
    """Stores `value` if the element equals `cond`; returns the old value. Integers. OpenSHMEM 1.5
    section 9.7.3.
    """
    return returning("compare_swap", target, (cond, value), remote_pe, pe, offset, dtype, stream)


def atomic_inc(
    target: Any,
    remote_pe: Optional[int] = None,
    *,
    offset: int = 0,
    dtype: Any = None,
    stream: Optional[Stream] = None,
    pe: Optional[int] = None,
) -> None:
    """Adds 1. Integers. OpenSHMEM 1.5 section 9.7.1."""
    plain("inc", target, (), remote_pe, pe, offset, dtype, stream)


def atomic_fetch_inc(
    target: Any,
    remote_pe: Optional[int] = None,
    *,
    offset: int = 0,
    dtype: Any = None,
    stream: Optional[Stream] = None,
    pe: Optional[int] = None,
) -> Any:
    """Adds 1; returns the old value. Integers. OpenSHMEM 1.5 section 9.7.1."""
    return returning("fetch_inc", target, (), remote_pe, pe, offset, dtype, stream)


def atomic_add(
    target: Any,
    value: Any,
    remote_pe: Optional[int] = None,
    *,
    offset: int = 0,
    dtype: Any = None,
    stream: Optional[Stream] = None,
    pe: Optional[int] = None,
) -> None:
    """Adds `value`. OpenSHMEM 1.5 section 9.7.1."""
    plain("add", target, (value,), remote_pe, pe, offset, dtype, stream)


def atomic_fetch_add(
    target: Any,
    value: Any,
    remote_pe: Optional[int] = None,
    *,
    offset: int = 0,
    dtype: Any = None,
    stream: Optional[Stream] = None,
    pe: Optional[int] = None,
) -> Any:
    """Adds `value`; returns the old value. OpenSHMEM 1.5 section 9.7.1."""
    return returning("fetch_add", target, (value,), remote_pe, pe, offset, dtype, stream)


def atomic_and(
    target: Any,
    value: Any,
    remote_pe: Optional[int] = None,
    *,
    offset: int = 0,
    dtype: Any = None,
    stream: Optional[Stream] = None,
    pe: Optional[int] = None,
) -> None:
    """Bitwise and with `value`. Integers. OpenSHMEM 1.5 section 9.7.1."""
    plain("and", target, (value,), remote_pe, pe, offset, dtype, stream)


def atomic_fetch_and(
    target: Any,
    value: Any,
    remote_pe: Optional[int] = None,
    *,
    offset: int = 0,
    dtype: Any = None,
    stream: Optional[Stream] = None,
    pe: Optional[int] = None,
) -> Any:
    """Bitwise and with `value`; returns the old value. Integers. OpenSHMEM 1.5 section 9.7.1."""
    return returning("fetch_and", target, (value,), remote_pe, pe, offset, dtype, stream)


def atomic_or(
    target: Any,
    value: Any,
    remote_pe: Optional[int] = None,
    *,
    offset: int = 0,
    dtype: Any = None,
    stream: Optional[Stream] = None,
    pe: Optional[int] = None,
) -> None:
    """Bitwise or with `value`. Integers. OpenSHMEM 1.5 section 9.7.1."""
    plain("or", target, (value,), remote_pe, pe, offset, dtype, stream)


def atomic_fetch_or(
    target: Any,
    value: Any,
    remote_pe: Optional[int] = None,
    *,
    offset: int = 0,
    dtype: Any = None,
    stream: Optional[Stream] = None,
    pe: Optional[int] = None,
) -> Any:
    """Bitwise or with `value`; returns the old value. Integers. OpenSHMEM 1.5 section 9.7.1."""
    return returning("fetch_or", target, (value,), remote_pe, pe, offset, dtype, stream)


def atomic_xor(
    target: Any,
    value: Any,
    remote_pe: Optional[int] = None,
    *,
    offset: int = 0,
    dtype: Any = None,
    stream: Optional[Stream] = None,
    pe: Optional[int] = None,
) -> None:
    """Bitwise xor with `value`. Integers. OpenSHMEM 1.5 section 9.7.1."""
    plain("xor", target, (value,), remote_pe, pe, offset, dtype, stream)


def atomic_fetch_xor(
    target: Any,
    value: Any,
    remote_pe: Optional[int] = None,
    *,
    offset: int = 0,
    dtype: Any = None,
    stream: Optional[Stream] = None,
    pe: Optional[int] = None,
) -> Any:
    """Bitwise xor with `value`; returns the old value. Integers. OpenSHMEM 1.5 section 9.7.1."""
    return returning("fetch_xor", target, (value,), remote_pe, pe, offset, dtype, stream)


def atomic_fetch_nbi(
    fetch: Any,
    target: Any,
    remote_pe: Optional[int] = None,
    *,
    offset: int = 0,
    dtype: Any = None,
    stream: Optional[Stream] = None,
    pe: Optional[int] = None,
) -> None:
    """As ``atomic_fetch``; the old value is in `fetch` after ``quiet``. OpenSHMEM 1.5 section
    9.7.2.
    """
    fetch_nbi("fetch", fetch, target, (), remote_pe, pe, offset, dtype, stream)


def atomic_compare_swap_nbi(
    fetch: Any,
    target: Any,
    cond: Any,
    value: Any,
    remote_pe: Optional[int] = None,
    *,
    offset: int = 0,
    dtype: Any = None,
    stream: Optional[Stream] = None,
    pe: Optional[int] = None,
) -> None:
    """As ``atomic_compare_swap``; the old value is in `fetch` after ``quiet``. OpenSHMEM 1.5
    section 9.7.2.
    """
    fetch_nbi("compare_swap", fetch, target, (cond, value), remote_pe, pe, offset, dtype, stream)


def atomic_swap_nbi(
    fetch: Any,
    target: Any,
    value: Any,
    remote_pe: Optional[int] = None,
    *,
    offset: int = 0,
    dtype: Any = None,
    stream: Optional[Stream] = None,
    pe: Optional[int] = None,
) -> None:
    """As ``atomic_swap``; the old value is in `fetch` after ``quiet``. OpenSHMEM 1.5 section
    9.7.2.
    """
    fetch_nbi("swap", fetch, target, (value,), remote_pe, pe, offset, dtype, stream)


def atomic_fetch_inc_nbi(
    fetch: Any,
    target: Any,
    remote_pe: Optional[int] = None,
    *,
    offset: int = 0,
    dtype: Any = None,
    stream: Optional[Stream] = None,
    pe: Optional[int] = None,
) -> None:
    """As ``atomic_fetch_inc``; the old value is in `fetch` after ``quiet``. OpenSHMEM 1.5 section
    9.7.2.
    """
    fetch_nbi("fetch_inc", fetch, target, (), remote_pe, pe, offset, dtype, stream)


def atomic_fetch_add_nbi(
    fetch: Any,
    target: Any,
    value: Any,
    remote_pe: Optional[int] = None,
    *,
    offset: int = 0,
    dtype: Any = None,
    stream: Optional[Stream] = None,
    pe: Optional[int] = None,
) -> None:
    """As ``atomic_fetch_add``; the old value is in `fetch` after ``quiet``. OpenSHMEM 1.5 section
    9.7.2.
    """
    fetch_nbi("fetch_add", fetch, target, (value,), remote_pe, pe, offset, dtype, stream)


def atomic_fetch_and_nbi(
    fetch: Any,
    target: Any,
    value: Any,
    remote_pe: Optional[int] = None,
    *,
    offset: int = 0,
    dtype: Any = None,
    stream: Optional[Stream] = None,
    pe: Optional[int] = None,
) -> None:
    """As ``atomic_fetch_and``; the old value is in `fetch` after ``quiet``. OpenSHMEM 1.5 section
    9.7.2.
    """
    fetch_nbi("fetch_and", fetch, target, (value,), remote_pe, pe, offset, dtype, stream)


def atomic_fetch_or_nbi(
    fetch: Any,
    target: Any,
    value: Any,
    remote_pe: Optional[int] = None,
    *,
    offset: int = 0,
    dtype: Any = None,
    stream: Optional[Stream] = None,
    pe: Optional[int] = None,
) -> None:
    """As ``atomic_fetch_or``; the old value is in `fetch` after ``quiet``. OpenSHMEM 1.5 section
    9.7.2.
    """
    fetch_nbi("fetch_or", fetch, target, (value,), remote_pe, pe, offset, dtype, stream)


def atomic_fetch_xor_nbi(
    fetch: Any,
    target: Any,
    value: Any,
    remote_pe: Optional[int] = None,
    *,
    offset: int = 0,
    dtype: Any = None,
    stream: Optional[Stream] = None,
    pe: Optional[int] = None,
) -> None:
    """As ``atomic_fetch_xor``; the old value is in `fetch` after ``quiet``. OpenSHMEM 1.5 section
    9.7.2.
    """
    fetch_nbi("fetch_xor", fetch, target, (value,), remote_pe, pe, offset, dtype, stream)
