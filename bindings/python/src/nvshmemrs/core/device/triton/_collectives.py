# mypy: ignore-errors
"""Collectives of programs, over teams: the protocol of ``include/nvshmemrs_device.cuh``.

All programs of a launch call, on all members of the team. Program number `part` of `parts` does its
share, and meets the programs of its number on the other members through slot ``slot + part``.
"""

import triton
import triton.language as tl

from ._context import (
    OP_ALLTOALL,
    OP_BARRIER,
    OP_BROADCAST,
    OP_FCOLLECT,
    OP_REDUCE,
    OP_REDUCESCATTER,
    POLLS,
    aborted,
    find_team,
    good_range,
    pe_of,
    ptr,
    report,
)
from ._float8 import from_float8, to_float8
from ._mail import elements_of, find_mail, post
from ._order import load_acquire, store_release
from ._rma import copy_part
from ._settings import CHECK, INTERPRETED, WATCHED, pause

__all__ = [
    "AND",
    "MAX",
    "MIN",
    "OR",
    "PROD",
    "SUM",
    "XOR",
    "alltoall",
    "barrier",
    "broadcast",
    "fcollect",
    "reduce",
    "reduce_two_shot",
    "reducescatter",
    "sync",
]

# Members that a program meets at once.
WIDTH = tl.constexpr(32)

SUM = tl.constexpr(1)
MIN = tl.constexpr(2)
MAX = tl.constexpr(3)
PROD = tl.constexpr(4)
AND = tl.constexpr(5)
OR = tl.constexpr(6)
XOR = tl.constexpr(7)


@triton.jit
def enter(ctx, operation, team, slot):
    """The team, and the slot if the call can be made, else -1."""
    t = find_team(ctx, team)
    slots = tl.load(ctx.job.to(tl.pointer_type(tl.int32)) + 8)
    inside = (slot >= 0) & (slot < slots)
    if CHECK:
        if t.n <= 0:
            report(ctx, 4, operation, ctx.my_pe, tl.full((), 0, tl.int64) + team, 0)
        if inside == 0:
            report(ctx, 5, operation, ctx.my_pe, tl.full((), 0, tl.int64) + slot, 0)
    return t, tl.where((t.n > 0) & inside, slot, -1)


@triton.jit
def meet(ctx, t, slot, steps=1):
    """Meets the other members: 0 once all have come, and what their programs of this slot did before
    can be seen; -1 if the job is broken, or slot is -1. `steps` is 0 if the meeting has its epoch
    already, because mail was sent in it.
    """
    result = tl.full((), -1, tl.int32)
    if slot >= 0:
        result = tl.full((), 0, tl.int32)
        counter = t.epochs.to(tl.pointer_type(tl.int64)) + slot
        epoch = tl.load(counter, volatile=True) + steps
        # What the program's threads did comes before what some of them announce, and all have read
        # the counter before one writes it.
        tl.debug_barrier()
        tl.store(counter, epoch)
        row = t.sync + (slot * 2 + (epoch & 1)) * t.n * 8
        own = (ctx.own + row).to(tl.pointer_type(tl.int64))
        for first in range(0, t.n, WIDTH):
            member = first + tl.arange(0, WIDTH)
            others = (member < t.n) & (member != t.me)
            to = ptr(ctx, own + t.me, pe_of(t, member, others))
            store_release(to, epoch + tl.zeros((WIDTH,), tl.int64), mask=others)
        for first in range(0, t.n, WIDTH):
            member = first + tl.arange(0, WIDTH)
            waiting = (member < t.n) & (member != t.me)
            left = tl.max(waiting.to(tl.int32))
            polls = tl.full((), 0, tl.int32)
            while left != 0:
                seen = load_acquire(own + member, mask=waiting)
                waiting = waiting & (seen < epoch)
                left = tl.max(waiting.to(tl.int32))
                polls += 1
                if INTERPRETED:
                    pause()
                if polls % POLLS == 0:
                    if aborted(ctx):
                        left = left * 0
                        result = result * 0 - 1
        tl.debug_barrier()
    return result


if WATCHED:
    from ._checked import meet  # noqa: F811


@triton.jit
def share(part, parts):
    """This program's part and the number of parts: of the launch's first axis, unless given."""
    mine = tl.program_id(0) if part is None else tl.full((), 0, tl.int32) + part
    all_ = tl.num_programs(0) if parts is None else tl.full((), 0, tl.int32) + parts
    return mine, all_


@triton.jit
def barrier(ctx, team, slot=0, part=None):
    """Synchronises all members: the earlier writes of each program are visible to the programs of its
    number. It does not wait for the launch's other programs.
    """
    mine, _ = share(part, 1)
    t, place = enter(ctx, OP_BARRIER, team, mine + slot)
    return meet(ctx, t, place)


@triton.jit
def sync(ctx, team, slot=0, part=None):
    """As barrier."""
    return barrier(ctx, team, slot, part)


@triton.jit
def on(ctx, t, p, member):
    """Where `p` lies on a member."""
    return ptr(ctx, p, pe_of(t, member, member >= 0))


@triton.jit
def good_arrays(ctx, operation, dest, dest_n, source, source_n):
    """Whether both arrays are symmetric memory of this PE."""
    good = True
    if CHECK:
        SIZE: tl.constexpr = (dest.dtype.element_ty.primitive_bitwidth + 7) // 8
        good = good_range(ctx, operation, ctx.my_pe, dest, dest_n * SIZE, SIZE) & good_range(
            ctx, operation, ctx.my_pe, source, source_n * SIZE, SIZE
        )
    return good


@triton.jit
def overlap(dest, dest_n, source, source_n):
    """Whether two arrays share memory; the same on all members. Written so that the compiler cannot
    tell: of code that it knows to be dead, Triton 3.6 crashes.
    """
    SIZE: tl.constexpr = (dest.dtype.element_ty.primitive_bitwidth + 7) // 8
    to = dest.to(tl.int64)
    start = source.to(tl.int64)
    return (to < start + source_n * SIZE) & (start < to + dest_n * SIZE)


@triton.jit
def broadcast(ctx, team, dest, source, n, root, slot=0, part=None, parts=None, BLOCK: tl.constexpr = None):
    """n elements of the root's `source` to every member's `dest`, the root's too. `root` is a number
    in the team.
    """
    mine, all_ = share(part, parts)
    t, place = enter(ctx, OP_BROADCAST, team, mine + slot)
    count = tl.full((), 0, tl.int64) + n
    if good_arrays(ctx, OP_BROADCAST, dest, count, source, count) == 0:
        place = place * 0 - 1
    if (root < 0) | (root >= t.n):
        if CHECK:
            report(ctx, 6, OP_BROADCAST, ctx.my_pe, tl.full((), 0, tl.int64) + root, 0)
        place = place * 0 - 1
    result = meet(ctx, t, place)
    if result == 0:
        copy_part(dest, on(ctx, t, source, tl.full((), 0, tl.int32) + root), count, mine.to(tl.int64), all_, BLOCK)
        result = meet(ctx, t, place)
    return result


@triton.jit
def gather(ctx, team, dest, source, n, slot, part, parts, OPERATION: tl.constexpr, BLOCK: tl.constexpr):
    mine, all_ = share(part, parts)
    t, place = enter(ctx, OPERATION, team, mine + slot)
    count = tl.full((), 0, tl.int64) + n
    offered = count
    begin = count * 0
    if OPERATION == OP_ALLTOALL:
        offered = count * t.n
        begin = count * t.me
    if good_arrays(ctx, OPERATION, dest, count * t.n, source, offered) == 0:
        place = place * 0 - 1
    result = meet(ctx, t, place)
    if result == 0:
        # Each member starts with a different one.
        for k in range(0, t.n):
            member = (t.me + k) % t.n
            from_ = on(ctx, t, source, member) + begin
            copy_part(dest + member.to(tl.int64) * count, from_, count, mine.to(tl.int64), all_, BLOCK)
        result = meet(ctx, t, place)
    return result


@triton.jit
def fcollect(ctx, team, dest, source, n, slot=0, part=None, parts=None, BLOCK: tl.constexpr = None):
    """All-gather: member m's n elements of `source` to place m * n of every member's `dest`."""
    return gather(ctx, team, dest, source, n, slot, part, parts, OP_FCOLLECT, BLOCK)


@triton.jit
def alltoall(ctx, team, dest, source, n, slot=0, part=None, parts=None, BLOCK: tl.constexpr = None):
    """Member m's n elements at place k * n of its `source` to place m * n of member k's `dest`."""
    return gather(ctx, team, dest, source, n, slot, part, parts, OP_ALLTOALL, BLOCK)


@triton.jit
def widen(x):
    """The type in which reductions accumulate: single precision for narrow numbers."""
    if (x.dtype == tl.float16) or (x.dtype == tl.bfloat16):
        return x.to(tl.float32)
    elif (x.dtype == tl.float8e4nv) or (x.dtype == tl.float8e5):
        return from_float8(x)
    else:
        return x


@triton.jit
def narrow(x, TYPE: tl.constexpr):
    """And back, rounded once."""
    if (TYPE == tl.float8e4nv) or (TYPE == tl.float8e5):
        return to_float8(x, TYPE)
    else:
        return x.to(TYPE)


@triton.jit
def fold(OP: tl.constexpr, a, b):
    """Two members' elements; a NaN stays."""
    if OP == SUM:
        return (a + b).to(a.dtype)
    elif OP == PROD:
        return (a * b).to(a.dtype)
    elif OP == MIN:
        return tl.where(((b < a) | (b != b)) & (a == a), b, a)
    elif OP == MAX:
        return tl.where(((b > a) | (b != b)) & (a == a), b, a)
    elif OP == AND:
        return a & b
    elif OP == OR:
        return a | b
    else:
        return a ^ b


@triton.jit
def expect_fold(OP: tl.constexpr, dest):
    """An error of the compiler if there is no such reduction of these elements."""
    BITS: tl.constexpr = (OP == AND) | (OP == OR) | (OP == XOR)
    KNOWN: tl.constexpr = BITS | (OP == SUM) | (OP == MIN) | (OP == MAX) | (OP == PROD)
    tl.static_assert(KNOWN, "OP must be SUM, MIN, MAX, PROD, AND, OR or XOR")
    FLOATING: tl.constexpr = dest.dtype.element_ty.is_floating()
    tl.static_assert(not (BITS and FLOATING), "AND, OR and XOR are reductions of integers")


@triton.jit
def fold_block(ctx, t, source, at, mask, OP: tl.constexpr):
    """A block of elements, folded over all members in the order of the team."""
    zero = tl.full((), 0, tl.int32)
    total = widen(tl.load(on(ctx, t, source, zero) + at, mask=mask))
    for member in range(1, t.n):
        total = fold(OP, total, widen(tl.load(on(ctx, t, source, zero + member) + at, mask=mask)))
    return total


@triton.jit
def write_block(ctx, t, dest, at, value, mask, EVERYWHERE: tl.constexpr):
    if EVERYWHERE:
        for k in range(0, t.n):
            tl.store(on(ctx, t, dest, (t.me + k) % t.n) + at, value, mask=mask)
    else:
        tl.store(dest + at, value, mask=mask)


@triton.jit
def fold_part(ctx, t, dest, source, begin, end, mine, all_, OP: tl.constexpr, EVERYWHERE: tl.constexpr, BLOCK: tl.constexpr):
    """Folds this program's share of the elements from `begin` to `end`, which are multiples of BLOCK
    but for the end. Only the last block has a mask.
    """
    lanes = tl.arange(0, BLOCK)
    full = tl.maximum(end - begin, 0) // BLOCK
    for block in range(mine.to(tl.int64), full, all_):
        at = begin + block * BLOCK + lanes
        value = narrow(fold_block(ctx, t, source, at, None, OP), dest.dtype.element_ty)
        write_block(ctx, t, dest, at, value, None, EVERYWHERE)
    if (full % all_ == mine) & (begin + full * BLOCK < end):
        at = begin + full * BLOCK + lanes
        inside = at < end
        value = narrow(fold_block(ctx, t, source, at, inside, OP), dest.dtype.element_ty)
        write_block(ctx, t, dest, at, value, inside, EVERYWHERE)


@triton.jit
def reduce_by_mail(ctx, team, t, slot, dest, source, count, mine, all_, OP: tl.constexpr, BLOCK: tl.constexpr):
    """The reduction if its data fit the mail and one program makes the call: 0 once it is done, -1 if
    the job is broken, 2 if there is no such mail. 1: not all members have sent it; they meet in this
    epoch, and nothing is written.
    """
    TYPE: tl.constexpr = source.dtype.element_ty
    SIZE: tl.constexpr = (TYPE.primitive_bitwidth + 7) // 8
    start, words, has = find_mail(ctx, team, t, slot, count * SIZE)
    result = tl.full((), 2, tl.int32)
    if has & (all_ == 1) & (mine == 0):
        result = tl.full((), 0, tl.int32)
        counter = t.epochs.to(tl.pointer_type(tl.int64)) + slot
        epoch = tl.load(counter, volatile=True) + 1
        # The sources are what all threads have written, and all have read the counter before one
        # writes it.
        tl.debug_barrier()
        tl.store(counter, epoch)
        half = (slot * 2 + (epoch & 1)) * t.n
        mail = (ctx.own + start + half * words * 8).to(tl.pointer_type(tl.int64))
        met = (ctx.own + t.sync + half * 8).to(tl.pointer_type(tl.int64))
        post(ctx, t, mail + t.me * words, epoch, source, count, SIZE, BLOCK)
        # `dest` may be `source`.
        tl.debug_barrier()
        lanes = tl.arange(0, BLOCK)
        first = count * 0
        while first < count:
            element = first + lanes
            total = widen(tl.load(source + element, mask=element < 0))
            for m in range(0, t.n):
                if result == 0:
                    value, state = elements_of(ctx, mail + m * words, met + m, epoch, element, count, TYPE, SIZE)
                    result = state
                    wide = widen(value)
                    total = tl.where(m == 0, wide, fold(OP, total, wide))
            if result == 0:
                tl.store(dest + element, narrow(total, dest.dtype.element_ty), mask=element < count)
                first += BLOCK
            else:
                first = count
        # All threads have read the flags before one of them meets.
        tl.debug_barrier()
    return result


if WATCHED:

    @triton.jit
    def reduce_by_mail(ctx, team, t, slot, dest, source, count, mine, all_, OP: tl.constexpr, BLOCK: tl.constexpr):  # noqa: F811
        """The checker knows what members see of each other by their meetings, so they meet."""
        return tl.full((), 2, tl.int32)


@triton.jit
def reduce(ctx, team, dest, source, n, OP: tl.constexpr, slot=0, part=None, parts=None, BLOCK: tl.constexpr = 2048):
    """One-shot all-reduce: every member folds all n elements of all members, in the order of the
    team. `dest` and `source` must not overlap; returns -1 if they do. reduce_two_shot works in place.
    """
    expect_fold(OP, dest)
    mine, all_ = share(part, parts)
    t, place = enter(ctx, OP_REDUCE, team, mine + slot)
    count = tl.full((), 0, tl.int64) + n
    if good_arrays(ctx, OP_REDUCE, dest, count, source, count) == 0:
        place = place * 0 - 1
    if overlap(dest, count, source, count):
        place = place * 0 - 1
    result = reduce_by_mail(ctx, team, t, place, dest, source, count, mine, all_, OP, BLOCK)
    if result > 0:
        result = meet(ctx, t, place, result - 1)
        if result == 0:
            fold_part(ctx, t, dest, source, count * 0, count, mine, all_, OP, False, BLOCK)
            result = meet(ctx, t, place)
    return result


@triton.jit
def reduce_two_shot(
    ctx, team, dest, source, n, OP: tl.constexpr, slot=0, part=None, parts=None, BLOCK: tl.constexpr = 2048
):
    """Two-shot all-reduce: each member folds its share of the elements, and stores the results to
    every member. `dest` may be `source`. The elements' bits are those of `reduce`. It is a protocol
    of this module's own: all members call it in Triton, with the same n, parts and BLOCK.
    """
    expect_fold(OP, dest)
    mine, all_ = share(part, parts)
    t, place = enter(ctx, OP_REDUCE, team, mine + slot)
    count = tl.full((), 0, tl.int64) + n
    if good_arrays(ctx, OP_REDUCE, dest, count, source, count) == 0:
        place = place * 0 - 1
    result = reduce_by_mail(ctx, team, t, place, dest, source, count, mine, all_, OP, BLOCK)
    if result > 0:
        result = meet(ctx, t, place, result - 1)
        if result == 0:
            # Whole blocks for each member; the last members may have less.
            blocks = ((count + BLOCK - 1) // BLOCK + t.n - 1) // t.n
            begin = blocks * t.me * BLOCK
            end = tl.minimum(begin + blocks * BLOCK, count)
            fold_part(ctx, t, dest, source, begin, end, mine, all_, OP, True, BLOCK)
            result = meet(ctx, t, place)
    return result


@triton.jit
def reducescatter(ctx, team, dest, source, n, OP: tl.constexpr, slot=0, part=None, parts=None, BLOCK: tl.constexpr = 2048):
    """Member m gets the elements from m * n to (m + 1) * n of `source`, folded over all members, in
    its `dest`. `dest` and `source` must not overlap; returns -1 if they do.
    """
    expect_fold(OP, dest)
    mine, all_ = share(part, parts)
    t, place = enter(ctx, OP_REDUCESCATTER, team, mine + slot)
    count = tl.full((), 0, tl.int64) + n
    if good_arrays(ctx, OP_REDUCESCATTER, dest, count, source, count * t.n) == 0:
        place = place * 0 - 1
    if overlap(dest, count, source, count * t.n):
        place = place * 0 - 1
    result = meet(ctx, t, place)
    if result == 0:
        own = source + count * t.me
        fold_part(ctx, t, dest, own, count * 0, count, mine, all_, OP, False, BLOCK)
        result = meet(ctx, t, place)
    return result
