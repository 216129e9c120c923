# mypy: ignore-errors
"""Mail: how members send each other small data, each word of four bytes with its flag.

It is the mail of ``include/nvshmemrs_device.cuh``, with the same memory and numbers. A word of eight
bytes has four bytes of data in its lower half and the call's number in its upper half, so one store
to each member is all. A member that does not know mail meets the others instead. The others see
that in their flags, and meet, too.
"""

import triton
import triton.language as tl

from ._context import POLLS, aborted, pe_of, ptr
from ._settings import INTERPRETED, pause

# As the header has them.
MAIL_SLOTS = tl.constexpr(8)
MAIL_WORDS = tl.constexpr(8)
# Polls between two looks for a member that meets instead.
MAIL_POLLS = tl.constexpr(8 if INTERPRETED.value else 16)


@triton.jit
def find_mail(ctx, team, t, slot, nbytes):
    """Where the mail of a slot begins, its words for each member, and whether `nbytes` are sent so."""
    number = (tl.full((), 0, tl.int64) + team) & 0xFFFFFFFF
    # `slot` is -1 if the team or the slot is wrong, and the row then another one's.
    row = ctx.job.to(tl.pointer_type(tl.int64)) + 8 + tl.where(slot >= 0, number, 0) * 8
    start = tl.load(row + 6)
    long_words = (tl.load(row + 7) >> 32).to(tl.int32)
    longer = nbytes > MAIL_WORDS * 4
    words = tl.where(longer, long_words, MAIL_WORDS)
    has = (slot >= 0) & (slot < MAIL_SLOTS) & (start != 0) & (nbytes > 0) & (nbytes <= words * 4)
    behind = tl.where(longer, MAIL_SLOTS * 2 * MAIL_WORDS * 8, 0).to(tl.int64) * ctx.n_pes
    return start + behind, words, has


@triton.jit
def element_bits(p, SIZE: tl.constexpr, mask):
    """Elements of SIZE bytes at `p` as numbers of 64 bits."""
    if SIZE == 8:
        return tl.load(p.to(tl.pointer_type(tl.int64)), mask=mask, other=0)
    elif SIZE == 4:
        return tl.load(p.to(tl.pointer_type(tl.int32)), mask=mask, other=0).to(tl.int64)
    elif SIZE == 2:
        return tl.load(p.to(tl.pointer_type(tl.int16)), mask=mask, other=0).to(tl.int64)
    else:
        return tl.load(p.to(tl.pointer_type(tl.int8)), mask=mask, other=0).to(tl.int64)


@triton.jit
def words_of(source, word, count, SIZE: tl.constexpr):
    """Words of four bytes of `count` elements, in the lower half of 64 bits. Behind the last is 0."""
    if SIZE == 8:
        bits = element_bits(source + (word >> 1), SIZE, (word >> 1) < count)
        return (bits >> ((word & 1) * 32)) & 0xFFFFFFFF
    else:
        EACH: tl.constexpr = 4 // SIZE
        bits = word * 0
        for k in tl.static_range(EACH):
            at = word * EACH + k
            element = element_bits(source + at, SIZE, at < count) & ((1 << (8 * SIZE)) - 1)
            bits = bits | (element << (k * 8 * SIZE))
        return bits


@triton.jit
def post(ctx, t, place, epoch, source, count, SIZE: tl.constexpr, BLOCK: tl.constexpr):
    """Sends all members, this one too, the elements. `place`: where this member's mail lies."""
    lanes = tl.arange(0, BLOCK)
    words = (count * SIZE + 3) // 4
    flag = epoch << 32
    for first in range(0, words, BLOCK):
        word = first + lanes
        value = words_of(source, word, count, SIZE) | flag
        for m in range(0, t.n):
            pe = pe_of(t, m, m >= 0)
            tl.store(ptr(ctx, place, pe) + word, value, mask=word < words)


@triton.jit
def take(ctx, place, met, epoch, word, mask):
    """Words that a member has sent, and 0 once all are there; 1 if it meets the others instead, -1 if
    the job is broken. `place`: where that member's mail lies; `met`: its flag of a meeting.
    """
    number = epoch.to(tl.int32)
    # Where there is nothing to wait for, the number itself is taken.
    seen = tl.load(place + word, mask=mask, other=epoch << 32, volatile=True)
    missing = tl.max(((seen >> 32).to(tl.int32) != number).to(tl.int32))
    result = tl.full((), 0, tl.int32)
    polls = tl.full((), 0, tl.int32)
    while missing != 0:
        seen = tl.load(place + word, mask=mask, other=epoch << 32, volatile=True)
        missing = tl.max(((seen >> 32).to(tl.int32) != number).to(tl.int32))
        polls += 1
        if INTERPRETED:
            pause()
        if (missing != 0) & (polls % MAIL_POLLS == 0):
            # By all threads, since one might see a flag that another has not seen yet.
            if tl.max((tl.load(met + word * 0, volatile=True) >= epoch).to(tl.int32)) != 0:
                missing = missing * 0
                result = result * 0 + 1
            if polls % POLLS == 0:
                if aborted(ctx):
                    missing = missing * 0
                    result = result * 0 - 1
    return seen & 0xFFFFFFFF, result


@triton.jit
def elements_of(ctx, place, met, epoch, element, count, TYPE: tl.constexpr, SIZE: tl.constexpr):
    """Elements that a member has sent, and the result of `take` for their words."""
    inside = element < count
    if SIZE == 8:
        low, one = take(ctx, place, met, epoch, element * 2, inside)
        high, two = take(ctx, place, met, epoch, element * 2 + 1, inside)
        bits = low | (high << 32)
        # Broken before met before there.
        state = tl.where((one < 0) | (two < 0), -1, tl.maximum(one, two))
        return bits.to(TYPE, bitcast=True), state
    else:
        EACH: tl.constexpr = 4 // SIZE
        found, state = take(ctx, place, met, epoch, element // EACH, inside)
        bits = found >> ((element % EACH) * (8 * SIZE))
        if SIZE == 4:
            return bits.to(tl.int32).to(TYPE, bitcast=True), state
        elif SIZE == 2:
            return bits.to(tl.int16).to(TYPE, bitcast=True), state
        else:
            return bits.to(tl.int8).to(TYPE, bitcast=True), state
