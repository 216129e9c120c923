# mypy: ignore-errors
"""Waits and tests of words of this PE that others write: 32 or 64 bits, integers. All are acquires.

A wait ends, too, when the job is broken; `aborted` tells.
"""

import triton
import triton.language as tl

from ...direct import ComparisonType
from ._arguments import constant, expect_comparison
from ._context import (
    OP_SIGNAL_FETCH,
    OP_SIGNAL_WAIT,
    OP_TEST,
    OP_TEST_ALL,
    OP_TEST_ANY,
    OP_WAIT_UNTIL,
    POLLS,
    aborted,
    good_block,
    good_range,
)
from ._order import load_acquire
from ._settings import CHECK, INTERPRETED, POLLED, pause

__all__ = [
    "CMP_EQ",
    "CMP_GE",
    "CMP_GT",
    "CMP_LE",
    "CMP_LT",
    "CMP_NE",
    "signal_fetch",
    "signal_wait_until",
    "test",
    "test_all",
    "test_any",
    "wait_until",
    "wait_until_all",
    "wait_until_any",
]

CMP_EQ = constant(ComparisonType.CMP_EQ)
CMP_NE = constant(ComparisonType.CMP_NE)
CMP_GT = constant(ComparisonType.CMP_GT)
CMP_LE = constant(ComparisonType.CMP_LE)
CMP_LT = constant(ComparisonType.CMP_LT)
CMP_GE = constant(ComparisonType.CMP_GE)


@triton.jit
def compare(CMP: tl.constexpr, left, right):
    """Whether `left` compares with `right` as CMP says."""
    if CMP == CMP_EQ:
        return left == right
    elif CMP == CMP_NE:
        return left != right
    elif CMP == CMP_GT:
        return left > right
    elif CMP == CMP_LE:
        return left <= right
    elif CMP == CMP_LT:
        return left < right
    else:
        return left >= right


# How long Triton's own wait looks before this module looks at the abort word, in nanoseconds.
POLL_NS = tl.constexpr(100_000)


@triton.jit
def poll(ctx, p, CMP: tl.constexpr, value):
    """Waits until the word at `p` compares; returns its value."""
    limit = (tl.full((), 0, p.dtype.element_ty) + value).to(p.dtype.element_ty)
    if POLLED and CMP == CMP_EQ:
        # One thread looks, and the program's threads meet once, and not after each look.
        seen = limit
        waiting = True
        while waiting:
            waiting = tl.atomic_poll(p, limit, sem="acquire", scope="sys", timeout_ns=POLL_NS) == 0
            if waiting:
                if aborted(ctx):
                    seen = load_acquire(p)
                    waiting = False
    else:
        seen = look(ctx, p, CMP, limit)
    # All threads of the program come after the thread that has seen it.
    tl.debug_barrier()
    return seen


@triton.jit
def look(ctx, p, CMP: tl.constexpr, limit):
    """Loads the word at `p` until it compares."""
    seen = load_acquire(p)
    waiting = compare(CMP, seen, limit) == 0
    polls = tl.full((), 1, tl.int32)
    while waiting:
        seen = load_acquire(p)
        waiting = compare(CMP, seen, limit) == 0
        polls += 1
        if INTERPRETED:
            pause()
        if polls % POLLS == 0:
            waiting = waiting & (aborted(ctx) == 0)
    return seen


@triton.jit
def signal_wait_until(ctx, signal, CMP: tl.constexpr, value):
    """Waits until this PE's signal compares with `value` by CMP; returns its value."""
    expect_comparison(CMP, value, "signal_wait_until(ctx, signal, CMP, value)")
    seen = tl.full((), 0, signal.dtype.element_ty)
    good = True
    if CHECK:
        good = good_range(ctx, OP_SIGNAL_WAIT, ctx.my_pe, signal, 8, 8)
    if good:
        seen = poll(ctx, signal, CMP, value)
    return seen


@triton.jit
def signal_fetch(ctx, signal):
    """This PE's signal; an acquire."""
    seen = tl.full((), 0, signal.dtype.element_ty)
    good = True
    if CHECK:
        good = good_range(ctx, OP_SIGNAL_FETCH, ctx.my_pe, signal, 8, 8)
    if good:
        seen = load_acquire(signal)
    return seen


@triton.jit
def wait_until(ctx, p, CMP: tl.constexpr, value):
    """Waits until this PE's word at `p` compares with `value` by CMP; returns its value."""
    expect_comparison(CMP, value, "wait_until(ctx, p, CMP, value)")
    SIZE: tl.constexpr = p.dtype.element_ty.primitive_bitwidth // 8
    seen = tl.full((), 0, p.dtype.element_ty)
    good = True
    if CHECK:
        good = good_range(ctx, OP_WAIT_UNTIL, ctx.my_pe, p, SIZE, SIZE)
    if good:
        seen = poll(ctx, p, CMP, value)
    return seen


@triton.jit
def counted_words(ctx, operation, p, mask):
    """Which words of a block of pointers count, as a block of int1: those of the mask, with good addresses."""
    counted = tl.full(p.shape, 1, tl.int1) if mask is None else mask & tl.full(p.shape, 1, tl.int1)
    if CHECK:
        counted = good_block(ctx, operation, ctx.my_pe, p, counted)
    return counted


@triton.jit
def wait_until_all(ctx, p, CMP: tl.constexpr, value, mask=None):
    """Waits until each word of a block of pointers has compared once with `value`, a number or a
    block. `mask` says which count.
    """
    expect_comparison(CMP, value, "wait_until_all(ctx, p, CMP, value, mask=None)")
    waiting = counted_words(ctx, OP_WAIT_UNTIL, p, mask)
    left = tl.max(waiting.to(tl.int32))
    polls = tl.full((), 0, tl.int32)
    while left != 0:
        seen = load_acquire(p, mask=waiting)
        waiting = waiting & (compare(CMP, seen, value) == 0)
        left = tl.max(waiting.to(tl.int32))
        polls += 1
        if INTERPRETED:
            pause()
        if polls % POLLS == 0:
            if aborted(ctx):
                left = left * 0
    tl.debug_barrier()


@triton.jit
def first_of(held):
    """The lowest place where a block of int1 is true; -1 if there is none."""
    places = tl.arange(0, held.shape[0])
    lowest = tl.min(tl.where(held, places, held.shape[0]))
    return tl.where(lowest < held.shape[0], lowest, -1)


@triton.jit
def wait_until_any(ctx, p, CMP: tl.constexpr, value, mask=None):
    """Waits until a word of a block of pointers (1-D) compares; returns its place there, and -1 if
    the mask leaves none or the job is broken.
    """
    expect_comparison(CMP, value, "wait_until_any(ctx, p, CMP, value, mask=None)")
    counted = counted_words(ctx, OP_WAIT_UNTIL, p, mask)
    found = tl.full((), -1, tl.int32)
    left = tl.max(counted.to(tl.int32))
    polls = tl.full((), 0, tl.int32)
    while left != 0:
        seen = load_acquire(p, mask=counted)
        found = first_of(counted & compare(CMP, seen, value))
        left = (found < 0).to(tl.int32)
        polls += 1
        if INTERPRETED:
            pause()
        if polls % POLLS == 0:
            if aborted(ctx):
                left = left * 0
    tl.debug_barrier()
    return found


@triton.jit
def test(ctx, p, CMP: tl.constexpr, value):
    """Whether this PE's word, or which words of a block, compare with `value` now; an acquire."""
    expect_comparison(CMP, value, "test(ctx, p, CMP, value)")
    if CHECK:
        good = good_block(ctx, OP_TEST, ctx.my_pe, p, tl.full(p.shape, 1, tl.int1))
        result = compare(CMP, load_acquire(p, mask=good), value)
    else:
        result = compare(CMP, load_acquire(p), value)
    tl.debug_barrier()
    return result


@triton.jit
def test_all(ctx, p, CMP: tl.constexpr, value, mask=None):
    """Whether all words of a block of pointers compare now."""
    expect_comparison(CMP, value, "test_all(ctx, p, CMP, value, mask=None)")
    counted = counted_words(ctx, OP_TEST_ALL, p, mask)
    held = compare(CMP, load_acquire(p, mask=counted), value) | (counted == 0)
    tl.debug_barrier()
    return tl.min(held.to(tl.int32)) != 0


@triton.jit
def test_any(ctx, p, CMP: tl.constexpr, value, mask=None):
    """The place of a word of a block of pointers (1-D) that compares now; -1 if none does."""
    expect_comparison(CMP, value, "test_any(ctx, p, CMP, value, mask=None)")
    counted = counted_words(ctx, OP_TEST_ANY, p, mask)
    found = first_of(counted & compare(CMP, load_acquire(p, mask=counted), value))
    tl.debug_barrier()
    return found
