# mypy: ignore-errors
"""Atomic memory operations of programs, on 32 and 64 bits.

`p` is a pointer or a block of pointers to this PE's copy, `pe` a number or a block of numbers. Those
that return the old value are acquires and releases; the others are releases; atomic_fetch is an
acquire.
"""

import triton
import triton.language as tl

from ._arguments import expect_number
from ._context import OP_ATOMIC, good_block, ptr
from ._order import load_acquire, store_release
from ._settings import CHECK

__all__ = [
    "atomic_add",
    "atomic_and",
    "atomic_compare_swap",
    "atomic_fetch",
    "atomic_fetch_add",
    "atomic_fetch_and",
    "atomic_fetch_inc",
    "atomic_fetch_max",
    "atomic_fetch_min",
    "atomic_fetch_or",
    "atomic_fetch_xor",
    "atomic_inc",
    "atomic_max",
    "atomic_min",
    "atomic_or",
    "atomic_set",
    "atomic_swap",
    "atomic_xor",
]


@triton.jit
def target(ctx, p, pe):
    """Where to act."""
    expect_number(pe, "pe")
    TYPE: tl.constexpr = p.dtype.element_ty
    BITS: tl.constexpr = TYPE.primitive_bitwidth
    tl.static_assert(BITS == 32 or BITS == 64, f"atomics act on elements of 32 and 64 bits, not of {TYPE}")
    return ptr(ctx, p, pe)


@triton.jit
def checked(ctx, p, pe, mask):
    """Which elements may be accessed."""
    asked = tl.full(p.shape, 1, tl.int1) if mask is None else mask
    return good_block(ctx, OP_ATOMIC, pe, p, asked)


@triton.jit
def as_words(p):
    """Pointers to integers of the elements' size."""
    if p.dtype.element_ty.primitive_bitwidth == 64:
        return p.to(tl.pointer_type(tl.int64))
    else:
        return p.to(tl.pointer_type(tl.int32))


@triton.jit
def as_elements(p, value):
    """`value` as an element, or a block of elements, of what `p` points to."""
    expect_number(value, "value")
    if len(p.shape) > 0:
        shaped = tl.zeros(p.shape, p.dtype.element_ty) + value
    else:
        shaped = tl.full((), 0, p.dtype.element_ty) + value
    return shaped.to(p.dtype.element_ty)


@triton.jit
def atomic_fetch(ctx, p, pe, mask=None):
    """The elements."""
    at = target(ctx, p, pe)
    if CHECK:
        mask = checked(ctx, p, pe, mask)
    return load_acquire(as_words(at), mask=mask).to(p.dtype.element_ty, bitcast=True)


@triton.jit
def atomic_set(ctx, p, value, pe, mask=None):
    """Sets the elements."""
    at = target(ctx, p, pe)
    if CHECK:
        mask = checked(ctx, p, pe, mask)
    words = as_words(at)
    store_release(words, as_elements(p, value).to(words.dtype.element_ty, bitcast=True), mask=mask)


@triton.jit
def atomic_swap(ctx, p, value, pe, mask=None):
    """Sets the elements, and returns what they were."""
    at = target(ctx, p, pe)
    if CHECK:
        mask = checked(ctx, p, pe, mask)
    words = as_words(at)
    new = as_elements(p, value).to(words.dtype.element_ty, bitcast=True)
    old = tl.atomic_xchg(words, new, mask=mask, sem="acq_rel", scope="sys")
    return old.to(p.dtype.element_ty, bitcast=True)


@triton.jit
def atomic_compare_swap(ctx, p, cond, value, pe):
    """Sets those elements that are `cond`, and returns what they were. It takes no mask."""
    at = target(ctx, p, pe)
    words = as_words(at)
    new = as_elements(p, value).to(words.dtype.element_ty, bitcast=True)
    expected = as_elements(p, cond).to(words.dtype.element_ty, bitcast=True)
    if CHECK:
        # All elements may be accessed, or none.
        old = new
        allowed = checked(ctx, p, pe, None)
        if len(p.shape) > 0:
            allowed = tl.min(allowed.to(tl.int32)) != 0
        if allowed:
            old = tl.atomic_cas(words, expected, new, sem="acq_rel", scope="sys")
    else:
        old = tl.atomic_cas(words, expected, new, sem="acq_rel", scope="sys")
    return old.to(p.dtype.element_ty, bitcast=True)


@triton.jit
def atomic_add(ctx, p, value, pe, mask=None):
    """Adds to the elements."""
    at = target(ctx, p, pe)
    if CHECK:
        mask = checked(ctx, p, pe, mask)
    tl.atomic_add(at, as_elements(p, value), mask=mask, sem="release", scope="sys")


@triton.jit
def atomic_fetch_add(ctx, p, value, pe, mask=None):
    """Adds to the elements, and returns what they were."""
    at = target(ctx, p, pe)
    if CHECK:
        mask = checked(ctx, p, pe, mask)
    return tl.atomic_add(at, as_elements(p, value), mask=mask, sem="acq_rel", scope="sys")


@triton.jit
def atomic_and(ctx, p, value, pe, mask=None):
    """Bitwise and with the elements."""
    at = target(ctx, p, pe)
    if CHECK:
        mask = checked(ctx, p, pe, mask)
    tl.atomic_and(at, as_elements(p, value), mask=mask, sem="release", scope="sys")


@triton.jit
def atomic_fetch_and(ctx, p, value, pe, mask=None):
    """Bitwise and with the elements, and returns what they were."""
    at = target(ctx, p, pe)
    if CHECK:
        mask = checked(ctx, p, pe, mask)
    return tl.atomic_and(at, as_elements(p, value), mask=mask, sem="acq_rel", scope="sys")


@triton.jit
def atomic_or(ctx, p, value, pe, mask=None):
    """Bitwise or with the elements."""
    at = target(ctx, p, pe)
    if CHECK:
        mask = checked(ctx, p, pe, mask)
    tl.atomic_or(at, as_elements(p, value), mask=mask, sem="release", scope="sys")


@triton.jit
def atomic_fetch_or(ctx, p, value, pe, mask=None):
    """Bitwise or with the elements, and returns what they were."""
    at = target(ctx, p, pe)
    if CHECK:
        mask = checked(ctx, p, pe, mask)
    return tl.atomic_or(at, as_elements(p, value), mask=mask, sem="acq_rel", scope="sys")


@triton.jit
def atomic_xor(ctx, p, value, pe, mask=None):
    """Bitwise exclusive or with the elements."""
    at = target(ctx, p, pe)
    if CHECK:
        mask = checked(ctx, p, pe, mask)
    tl.atomic_xor(at, as_elements(p, value), mask=mask, sem="release", scope="sys")


@triton.jit
def atomic_fetch_xor(ctx, p, value, pe, mask=None):
    """Bitwise exclusive or with the elements, and returns what they were."""
    at = target(ctx, p, pe)
    if CHECK:
        mask = checked(ctx, p, pe, mask)
    return tl.atomic_xor(at, as_elements(p, value), mask=mask, sem="acq_rel", scope="sys")


@triton.jit
def atomic_min(ctx, p, value, pe, mask=None):
    """Sets the elements to the smaller of both."""
    at = target(ctx, p, pe)
    if CHECK:
        mask = checked(ctx, p, pe, mask)
    tl.atomic_min(at, as_elements(p, value), mask=mask, sem="release", scope="sys")


@triton.jit
def atomic_fetch_min(ctx, p, value, pe, mask=None):
    """Sets the elements to the smaller of both, and returns what they were."""
    at = target(ctx, p, pe)
    if CHECK:
        mask = checked(ctx, p, pe, mask)
    return tl.atomic_min(at, as_elements(p, value), mask=mask, sem="acq_rel", scope="sys")


@triton.jit
def atomic_max(ctx, p, value, pe, mask=None):
    """Sets the elements to the larger of both."""
    at = target(ctx, p, pe)
    if CHECK:
        mask = checked(ctx, p, pe, mask)
    tl.atomic_max(at, as_elements(p, value), mask=mask, sem="release", scope="sys")


@triton.jit
def atomic_fetch_max(ctx, p, value, pe, mask=None):
    """Sets the elements to the larger of both, and returns what they were."""
    at = target(ctx, p, pe)
    if CHECK:
        mask = checked(ctx, p, pe, mask)
    return tl.atomic_max(at, as_elements(p, value), mask=mask, sem="acq_rel", scope="sys")


@triton.jit
def atomic_inc(ctx, p, pe, mask=None):
    """Adds 1 to the elements."""
    atomic_add(ctx, p, 1, pe, mask=mask)


@triton.jit
def atomic_fetch_inc(ctx, p, pe, mask=None):
    """Adds 1 to the elements, and returns what they were."""
    return atomic_fetch_add(ctx, p, 1, pe, mask=mask)
