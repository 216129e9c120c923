# mypy: ignore-errors
"""All-reduce, residual and RMSNorm of rows, in one kernel.

Members store rows into each other's workspace, and no flag follows: the bits of an element that has
not come are all ones. That is a NaN; a member that has such an element sends another NaN. There are
three buffers for calls in turn. A call clears the one of the call before it. Members write there
again in the call after the next, which they begin when they have data of the next call from here.
"""

import triton
import triton.language as tl

from ...device.triton._collectives import on
from ...device.triton._context import POLLS, aborted, context
from ...device.triton._settings import INTERPRETED, pause
from .words import long, next_call, open_team, store_to_others

_CLEARED = tl.constexpr(2048)


@triton.jit
def sent(bits):
    """The bits of elements as they are sent: none is all ones."""
    return tl.where(bits == -1, bits * 0 - 2, bits)


@triton.jit
def value_of(bits, TYPE: tl.constexpr):
    return bits.to(TYPE, bitcast=True).to(tl.float32)


@triton.jit
def bits_of(value, TYPE: tl.constexpr, BITS: tl.constexpr):
    return value.to(TYPE).to(BITS, bitcast=True)


@triton.jit
def received(ctx, p, inside):
    """The bits of elements, once all have come, or the job is broken."""
    bits = tl.load(p, mask=inside, other=0, volatile=True)
    missing = tl.max((bits == -1).to(tl.int32))
    polls = tl.full((), 0, tl.int32)
    while missing != 0:
        bits = tl.load(p, mask=inside, other=0, volatile=True)
        missing = tl.max((bits == -1).to(tl.int32))
        polls += 1
        if INTERPRETED:
            pause()
        if polls % POLLS == 0:
            if aborted(ctx):
                missing = missing * 0
    return bits


@triton.jit
def clear(inbox, used, call, part, parts, capacity, bytes_):
    """Records the bytes of its buffer that this call uses, and clears those of the previous call."""
    if part == 0:
        tl.store(used + call % 3, bytes_)
    last = (call + 2) % 3
    # No program of this call writes it.
    words = tl.load(used + last) // 4
    begin = inbox.to(tl.pointer_type(tl.int32)) + last * (capacity // 4)
    lanes = tl.arange(0, _CLEARED)
    for block in range(part, (words + _CLEARED - 1) // _CLEARED, parts):
        at = long(block) * _CLEARED + lanes
        tl.store(begin + at, tl.full((_CLEARED,), -1, tl.int32), mask=at < words)


@triton.jit
def fold_row(ctx, t, own, rows, count, at, inside, TYPE: tl.constexpr, BITS: tl.constexpr):
    """The sum of a row in the order of the team, as an all-reduce rounds it: its bits. `rows` is
    where member 0's row lies, `count` elements from one member's to the next's.
    """
    total = value_of(own, TYPE)
    for member in range(0, t.n):
        bits = own
        if member != t.me:
            bits = received(ctx, rows + member * count + at, inside)
        value = value_of(bits, TYPE)
        total = tl.where(member == 0, value, total + value)
    return bits_of(total, TYPE, BITS)


@triton.jit
def added_to(residual, at, inside, RESIDUAL: tl.constexpr):
    """The residual's row; it is loaded before the wait for the sums."""
    if RESIDUAL:
        return tl.load(residual + at, mask=inside, other=0).to(tl.float32)
    else:
        return tl.zeros(at.shape, tl.float32)


@triton.jit
def finish(
    bits, added, scale, at, inside, out, residual_out, hidden, eps,
    RESIDUAL: tl.constexpr, TYPE: tl.constexpr,
):  # fmt: skip
    """Residual and RMSNorm of a row of sums."""
    row = value_of(bits, TYPE)
    if RESIDUAL:
        row = (row + added).to(TYPE)
        tl.store(residual_out + at, row, mask=inside)
        row = row.to(tl.float32)
    mean = tl.sum(row * row) / hidden
    normed = row * tl.rsqrt(mean + eps) * scale
    tl.store(out + at, normed.to(out.dtype.element_ty), mask=inside)


@triton.jit
def one_shot_kernel(
    state, workspace, calls, used, inbox, x, residual, weight, out, residual_out, rows, hidden, capacity, eps,
    RESIDUAL: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Every member gets all rows of all members. `capacity`: bytes of a buffer."""
    TYPE: tl.constexpr = x.dtype.element_ty
    BITS: tl.constexpr = tl.int32 if TYPE.primitive_bitwidth == 32 else tl.int16
    ctx = context(state)
    t = open_team(workspace)
    part = tl.program_id(0)
    parts = tl.num_programs(0)
    count = long(rows) * hidden
    bytes_ = count * (TYPE.primitive_bitwidth // 8)
    lanes = tl.arange(0, BLOCK)
    inside = lanes < hidden
    from_ = x.to(tl.pointer_type(BITS))
    scale = tl.load(weight + lanes, mask=inside, other=0).to(tl.float32)
    # At once with the counter: all other members wait for the first rows.
    at = long(part) * hidden + lanes
    first = sent(tl.load(from_ + at, mask=inside, other=0))
    call = next_call(calls, part, parts)
    box = (inbox + call % 3 * capacity).to(tl.pointer_type(BITS))
    store_to_others(ctx, t, box + t.me * count + at, first, inside)
    for row in range(part + parts, rows, parts):
        at = long(row) * hidden + lanes
        store_to_others(ctx, t, box + t.me * count + at, sent(tl.load(from_ + at, mask=inside, other=0)), inside)
    clear(inbox, used, call, part, parts, capacity, bytes_ * t.n)
    for row in range(part, rows, parts):
        at = long(row) * hidden + lanes
        own = tl.load(from_ + at, mask=inside, other=0)
        added = added_to(residual, at, inside, RESIDUAL)
        bits = fold_row(ctx, t, own, box, count, at, inside, TYPE, BITS)
        finish(bits, added, scale, at, inside, out, residual_out, hidden, eps, RESIDUAL, TYPE)


@triton.jit
def two_shot_kernel(
    state, workspace, calls, used, inbox, x, residual, weight, out, residual_out, rows, hidden, capacity, eps,
    RESIDUAL: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Row r has an owner, member r % n, that sums it and sends the sum to all others. There are at
    least as many rows as members, so each member is signalled by all others.
    """
    TYPE: tl.constexpr = x.dtype.element_ty
    BITS: tl.constexpr = tl.int32 if TYPE.primitive_bitwidth == 32 else tl.int16
    ctx = context(state)
    t = open_team(workspace)
    part = tl.program_id(0)
    parts = tl.num_programs(0)
    groups = (rows + t.n - 1) // t.n
    share = long(groups) * hidden
    count = long(rows) * hidden
    bytes_ = (share * t.n + count) * (TYPE.primitive_bitwidth // 8)
    lanes = tl.arange(0, BLOCK)
    inside = lanes < hidden
    from_ = x.to(tl.pointer_type(BITS))
    scale = tl.load(weight + lanes, mask=inside, other=0).to(tl.float32)
    call = next_call(calls, part, parts)
    box = (inbox + call % 3 * capacity).to(tl.pointer_type(BITS))
    sums = box + share * t.n
    for group in range(part, groups, parts):
        for step in range(1, t.n):
            owner = (t.me + step) % t.n
            row = group * t.n + owner
            if row < rows:
                at = long(row) * hidden + lanes
                to = box + t.me * share + (long(group) * hidden + lanes)
                tl.store(on(ctx, t, to, owner), sent(tl.load(from_ + at, mask=inside, other=0)), mask=inside)
    clear(inbox, used, call, part, parts, capacity, bytes_)
    for group in range(part, groups, parts):
        row = group * t.n + t.me
        if row < rows:
            at = long(row) * hidden + lanes
            own = tl.load(from_ + at, mask=inside, other=0)
            added = added_to(residual, at, inside, RESIDUAL)
            place = long(group) * hidden + lanes
            bits = sent(fold_row(ctx, t, own, box, share, place, inside, TYPE, BITS))
            store_to_others(ctx, t, sums + at, bits, inside)
            finish(bits, added, scale, at, inside, out, residual_out, hidden, eps, RESIDUAL, TYPE)
    for group in range(part, groups, parts):
        for step in range(1, t.n):
            row = group * t.n + (t.me + step) % t.n
            if row < rows:
                at = long(row) * hidden + lanes
                added = added_to(residual, at, inside, RESIDUAL)
                bits = received(ctx, sums + at, inside)
                finish(bits, added, scale, at, inside, out, residual_out, hidden, eps, RESIDUAL, TYPE)
