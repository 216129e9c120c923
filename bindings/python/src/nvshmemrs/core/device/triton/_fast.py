# mypy: ignore-errors
"""An all-reduce of small arrays in one crossing of the link.

Every 8 bytes carry 4 bytes of data and the number of the call. So data tells by itself that it is
there, and no flag has to follow it. Each member stores its elements to all others, and waits for
theirs in its own workspace.

The workspace has two halves, for calls of even and odd number. A member that begins call e + 2 has
all words of call e + 1, whose senders had read all words of call e. So it may write where they were.
The numbers have 32 bits. A word that was last written 2**32 calls ago would be taken for new.
"""

import triton
import triton.language as tl

from ._collectives import expect_fold, fold, on, share, widen
from ._context import POLLS, Team, aborted
from ._settings import INTERPRETED, pause

_HEAD = tl.constexpr(16)


@triton.jit
def open_workspace(workspace):
    """The team of a workspace; its fields `sync` and `epochs` are not those of the header."""
    who = tl.load(workspace)
    where = tl.load(workspace + 1)
    return Team(
        (who & 0xFFFFFFFF).to(tl.int32),
        (who >> 32).to(tl.int32),
        (where & 0xFFFFFFFF).to(tl.int32),
        (where >> 32).to(tl.int32),
        tl.load(workspace + 2),
        # In units of 16 words, which the compiler then knows, so that accesses keep 16 bytes.
        tl.load(workspace + 3) * 16,
        tl.load(workspace + 4) * 16,
    )


@triton.jit
def half_of(words, HIGH: tl.constexpr, TYPE: tl.constexpr):
    """The elements of 16 bits in the low or the high half of words of 32."""
    if HIGH:
        return (words >> 16).to(tl.int16).to(TYPE, bitcast=True)
    else:
        return words.to(tl.int16).to(TYPE, bitcast=True)


@triton.jit
def join_halves(low, high, TYPE: tl.constexpr):
    """Words of two elements each."""
    a = low.to(TYPE).to(tl.int16, bitcast=True).to(tl.int32) & 0xFFFF
    b = high.to(TYPE).to(tl.int16, bitcast=True).to(tl.int32) << 16
    return a | b


@triton.jit
def arrived(ctx, inbox, epoch):
    """The words of a member, once all have the number of this call; and 0, or -1 if the job broke."""
    words = tl.load(inbox, volatile=True)
    missing = tl.max(((words >> 32).to(tl.int32) != epoch).to(tl.int32))
    result = tl.full((), 0, tl.int32)
    polls = tl.full((), 0, tl.int32)
    while missing != 0:
        words = tl.load(inbox, volatile=True)
        missing = tl.max(((words >> 32).to(tl.int32) != epoch).to(tl.int32))
        polls += 1
        if INTERPRETED:
            pause()
        if polls % POLLS == 0:
            if aborted(ctx):
                missing = missing * 0
                result = result * 0 - 1
    return words.to(tl.int32), result


@triton.jit
def reduce_fast(ctx, workspace, dest, source, n, OP: tl.constexpr, part=None, parts=None, BLOCK: tl.constexpr = 256):
    """All-reduce of n elements of 16 or 32 bits over the team of a workspace; n times their size must
    be a multiple of 4. `dest` and `source` may be any memory of this PE, and the same. All members
    call with the same arguments, n and number of parts.

    It is no barrier: what members did before becomes visible only as far as their elements tell.
    BLOCK counts words of 4 bytes, at most 1024. Returns 0, or -1 if the job is broken, this PE is no
    member, or the arrays do not fit the workspace.
    """
    TYPE: tl.constexpr = source.dtype.element_ty
    BITS: tl.constexpr = TYPE.primitive_bitwidth
    tl.static_assert(BITS == 32 or BITS == 16, "reduce_fast takes elements of 16 and 32 bits; reduce takes all")
    expect_fold(OP, dest)
    mine, all_ = share(part, parts)
    t = open_workspace(workspace)
    start = t.sync
    capacity = t.epochs
    programs = tl.load(workspace + 5)
    # A workspace has more words than that, so this may precede the check below.
    counter = workspace + _HEAD + mine
    call = tl.load(counter, mask=mine < 1024, other=0, volatile=True) + 1
    PER_WORD: tl.constexpr = 32 // BITS
    count = tl.full((), 0, tl.int64) + n
    total = count // PER_WORD
    # Each program has at least one block, so that all others signal it in every call.
    blocks = tl.maximum((total + BLOCK - 1) // BLOCK, 1)
    each = (blocks + all_ - 1) // all_
    good = (t.n > 0) & (mine < programs) & (each * BLOCK <= capacity) & (count % PER_WORD == 0)
    result = tl.full((), -1, tl.int32)
    if good:
        result = tl.full((), 0, tl.int32)
        tl.debug_barrier()
        tl.store(counter, call)
        epoch = call.to(tl.int32)
        lanes = tl.arange(0, BLOCK)
        from_words = source.to(tl.pointer_type(tl.int32))
        to_words = dest.to(tl.pointer_type(tl.int32))
        # This program's half: a row of `capacity` words for each member.
        rows = workspace + start + (mine.to(tl.int64) * 2 + (call & 1)) * t.n * capacity
        flag = call << 32
        for k in range(0, each):
            at = k * BLOCK + lanes
            element = (mine.to(tl.int64) * each + k) * BLOCK + lanes
            own = tl.load(from_words + element, mask=element < total, other=0)
            words = (own.to(tl.int64) & 0xFFFFFFFF) | flag
            for step in range(1, t.n):
                member = (t.me + step) % t.n
                tl.store(on(ctx, t, rows + t.me * capacity + at, member), words)
        for k in range(0, each):
            at = k * BLOCK + lanes
            element = (mine.to(tl.int64) * each + k) * BLOCK + lanes
            inside = element < total
            own = tl.load(from_words + element, mask=inside, other=0)
            if PER_WORD == 1:
                sum_ = widen(own.to(TYPE, bitcast=True))
                low = sum_
                high = sum_
            else:
                low = widen(half_of(own, False, TYPE))
                high = widen(half_of(own, True, TYPE))
                sum_ = low
            for member in range(0, t.n):
                words = own
                if member != t.me:
                    words, broken = arrived(ctx, rows + member * capacity + at, epoch)
                    result = tl.minimum(result, broken)
                if PER_WORD == 1:
                    value = widen(words.to(TYPE, bitcast=True))
                    sum_ = tl.where(member == 0, value, fold(OP, sum_, value))
                else:
                    a = widen(half_of(words, False, TYPE))
                    b = widen(half_of(words, True, TYPE))
                    low = tl.where(member == 0, a, fold(OP, low, a))
                    high = tl.where(member == 0, b, fold(OP, high, b))
            if PER_WORD == 1:
                folded = sum_.to(TYPE).to(tl.int32, bitcast=True)
            else:
                folded = join_halves(low, high, TYPE)
            tl.store(to_words + element, folded, mask=inside)
    return result
