# mypy: ignore-errors
"""Remote memory access of programs: values, tiles, and runs of elements."""

import triton
import triton.language as tl

from ...rma import SignalOp
from ._arguments import constant, expect_number, expect_update
from ._context import OP_GET, OP_PUT, OP_PUT_SIGNAL, OP_SIGNAL_OP, good_block, good_range, ptr
from ._order import store_relaxed
from ._settings import CHECK

__all__ = [
    "SIGNAL_ADD",
    "SIGNAL_SET",
    "get",
    "get_tile",
    "load",
    "put",
    "put_signal",
    "put_tile",
    "signal_op",
    "store",
    "store_signal",
]

SIGNAL_SET = constant(SignalOp.SIGNAL_SET)
SIGNAL_ADD = constant(SignalOp.SIGNAL_ADD)


@triton.jit
def load(ctx, p, pe, mask=None, other=None):
    """The elements at `p` of PE `pe`: p is a pointer or a block of pointers to this PE's copy."""
    if CHECK:
        asked = tl.full(p.shape, 1, tl.int1) if mask is None else mask
        good = good_block(ctx, OP_GET, pe, p, asked)
        return tl.load(ptr(ctx, p, pe), mask=good, other=0 if other is None else other)
    else:
        return tl.load(ptr(ctx, p, pe), mask=mask, other=other)


@triton.jit
def store(ctx, p, value, pe, mask=None):
    """Stores `value` to the elements at `p` of PE `pe`. Orders nothing."""
    expect_number(value, "value")
    if CHECK:
        asked = tl.full(p.shape, 1, tl.int1) if mask is None else mask
        tl.store(ptr(ctx, p, pe), value, mask=good_block(ctx, OP_PUT, pe, p, asked))
    else:
        tl.store(ptr(ctx, p, pe), value, mask=mask)


@triton.jit
def put_tile(ctx, dest, source, pe, mask=None):
    """Copies this PE's elements at `source` to those at `dest` of PE `pe`: blocks of pointers of one
    shape. Orders nothing.
    """
    store(ctx, dest, tl.load(source, mask=mask), pe, mask=mask)


@triton.jit
def get_tile(ctx, dest, source, pe, mask=None):
    """Copies the elements at `source` of PE `pe` to this PE's at `dest`."""
    tl.store(dest, load(ctx, source, pe, mask=mask), mask=mask)


@triton.jit
def copy_part(dest, source, n, part, parts, BLOCK: tl.constexpr):
    """Copies part number `part` of `parts` of n elements. Only the last block has a mask. Without a
    BLOCK it is 8 KiB, so each thread of four warps has four loads of 16 bytes under way.
    """
    SIZE: tl.constexpr = (dest.dtype.element_ty.primitive_bitwidth + 7) // 8
    WIDTH: tl.constexpr = 8192 // SIZE if BLOCK is None else BLOCK
    count = tl.full((), 0, tl.int64) + n
    lanes = tl.arange(0, WIDTH)
    full = count // WIDTH
    for block in range(part, full, parts):
        at = block * WIDTH + lanes
        tl.store(dest + at, tl.load(source + at))
    if (full % parts == part) & (full * WIDTH < count):
        at = full * WIDTH + lanes
        tl.store(dest + at, tl.load(source + at, mask=at < count), mask=at < count)


@triton.jit
def put(ctx, dest, source, n, pe, part=0, parts=1, BLOCK: tl.constexpr = None):
    """Copies n elements from this PE's `source` to `dest` of PE `pe`. Of `parts` programs that call,
    program number `part` copies its share, block by block of BLOCK elements. Orders nothing.
    """
    SIZE: tl.constexpr = (dest.dtype.element_ty.primitive_bitwidth + 7) // 8
    good = True
    if CHECK:
        good = good_range(ctx, OP_PUT, pe, dest, n * SIZE, SIZE)
    if good:
        copy_part(ptr(ctx, dest, pe), source, n, (tl.full((), 0, tl.int64) + part), parts, BLOCK)


@triton.jit
def get(ctx, dest, source, n, pe, part=0, parts=1, BLOCK: tl.constexpr = None):
    """Copies n elements from `source` of PE `pe` to this PE's `dest`. When it returns, the program's
    threads see them after they have met, as all functions for memory of this program do.
    """
    SIZE: tl.constexpr = (dest.dtype.element_ty.primitive_bitwidth + 7) // 8
    good = True
    if CHECK:
        good = good_range(ctx, OP_GET, pe, source, n * SIZE, SIZE)
    if good:
        copy_part(dest, ptr(ctx, source, pe), n, (tl.full((), 0, tl.int64) + part), parts, BLOCK)
        tl.debug_barrier()


@triton.jit
def signal_op(ctx, signal, value, pe, OP: tl.constexpr = SIGNAL_SET):
    """Sets the signal at `signal` of PE `pe`, or adds to it. Orders nothing before it: where it
    announces data, call fence first, or use put_signal or store_signal.
    """
    expect_update(value, pe, OP, "signal_op(ctx, signal, value, pe, OP)")
    good = True
    if CHECK:
        good = good_range(ctx, OP_SIGNAL_OP, pe, signal, 8, 8)
    if good:
        word = ptr(ctx, signal, pe)
        # The word's type, not that of the value.
        amount = tl.full((), 0, signal.dtype.element_ty) + value
        if OP == SIGNAL_ADD:
            tl.atomic_add(word, amount.to(signal.dtype.element_ty), sem="relaxed", scope="sys")
        else:
            store_relaxed(word, amount.to(signal.dtype.element_ty))


@triton.jit
def announce(ctx, signal, value, pe, OP: tl.constexpr):
    """A signal update that follows the earlier writes of all threads of the program."""
    good = True
    if CHECK:
        good = good_range(ctx, OP_PUT_SIGNAL, pe, signal, 8, 8)
    if good:
        word = ptr(ctx, signal, pe)
        amount = (tl.full((), 0, signal.dtype.element_ty) + value).to(signal.dtype.element_ty)
        tl.debug_barrier()
        if OP == SIGNAL_ADD:
            tl.atomic_add(word, amount, sem="release", scope="sys")
        else:
            tl.atomic_xchg(word, amount, sem="release", scope="sys")


@triton.jit
def put_signal(
    ctx, dest, source, n, signal, value, pe, OP: tl.constexpr = SIGNAL_SET, part=0, parts=1, BLOCK: tl.constexpr = None
):
    """As put, and then as signal_op. A wait or a test that sees the signal also sees the data, and
    the earlier writes of this program. With several `parts` each signals: take SIGNAL_ADD and wait for
    the sum.
    """
    expect_update(value, pe, OP, "put_signal(ctx, dest, source, n, signal, value, pe, OP)")
    put(ctx, dest, source, n, pe, part, parts, BLOCK)
    announce(ctx, signal, value, pe, OP)


@triton.jit
def store_signal(ctx, p, value, signal, signal_value, pe, OP: tl.constexpr = SIGNAL_SET, mask=None):
    """As store, and then as signal_op, in the order of put_signal."""
    expect_update(signal_value, pe, OP, "store_signal(ctx, p, value, signal, signal_value, pe, OP)")
    store(ctx, p, value, pe, mask=mask)
    announce(ctx, signal, signal_value, pe, OP)
