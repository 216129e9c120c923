# mypy: ignore-errors
"""Rows of tokens to the members that have their experts, and the experts' results back.

Choice i is of token i // TOP. Expert e is number e % each of member e // each. A member's rows lie by
experts, those of an expert by senders, and those of a sender by choices: so every run has the same
order, in any order of the programs in time.
"""

import triton
import triton.language as tl

from ...device.triton._collectives import on, widen
from ...device.triton._context import context
from ...device.triton._fast import arrived
from .._workspace import BINS as _BINS
from .words import (
    long,
    next_call,
    open_team,
    signal_members,
    store_to_others,
    wait_all,
    wait_program,
)

MOST_BINS = tl.constexpr(_BINS)


@triton.jit
def count_kernel(
    experts, counts, ranks, status, choices, n_experts,
    BINS: tl.constexpr, CHUNK: tl.constexpr,
):  # fmt: skip
    """How many choices of each expert a chunk has, and how many of its expert come before each."""
    chunk = tl.program_id(0)
    lanes = tl.arange(0, CHUNK)
    bins = tl.arange(0, BINS)
    i = chunk * CHUNK + lanes
    inside = i < choices
    chosen = tl.load(experts + i, mask=inside, other=-1).to(tl.int32)
    key = tl.where((chosen >= 0) & (chosen < n_experts), chosen, -1)
    before = (key[:, None] == key[None, :]) & (lanes[None, :] < lanes[:, None])
    rank = tl.sum(before.to(tl.int32), axis=1)
    tl.store(ranks + i, tl.where(key >= 0, rank, -1), mask=inside)
    count = tl.sum((key[:, None] == bins[None, :]).to(tl.int32), axis=0)
    tl.store(counts + chunk * BINS + bins, count)
    # -1 is no expert; anything else out of range is a mistake.
    if tl.max(((chosen < -1) | (chosen >= n_experts)).to(tl.int32)) != 0:
        tl.store(status, 1)


@triton.jit
def plan_kernel(
    state, workspace, calls, table, counts, base, starts, status, here, offsets,
    chunks, n_experts, each, capacity, align,
    CHUNKS: tl.constexpr, BINS: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    """One program. The members exchange the numbers of rows for each expert; `base` becomes the
    place of this member's first row of each expert. The exchange also waits for the members' last
    use of the memory that receives rows.
    """
    ctx = context(state)
    t = open_team(workspace)
    call = next_call(calls, tl.program_id(0), 1)
    half = table + (call & 1) * t.n * MOST_BINS
    chunk = tl.arange(0, CHUNKS)[:, None]
    for first in range(0, BINS, TILE):
        bins = first + tl.arange(0, TILE)
        at = counts + chunk * BINS + bins[None, :]
        found = tl.load(at, mask=(chunk < chunks) & (bins[None, :] >= 0), other=0)
        # Those of the chunks before.
        tl.store(at, tl.cumsum(found, axis=0) - found, mask=(chunk < chunks) & (bins[None, :] >= 0))
        words = (tl.sum(found, axis=0).to(tl.int64) & 0xFFFFFFFF) | (call << 32)
        row = half + t.me * MOST_BINS + bins
        store_to_others(ctx, t, row, words, bins >= 0)
        tl.store(row, words)
    tl.debug_barrier()
    bins = tl.arange(0, BINS)
    total = tl.zeros((BINS,), tl.int32)
    before = tl.zeros((BINS,), tl.int32)
    for member in range(0, t.n):
        found, _ = arrived(ctx, half + member * MOST_BINS + bins, call.to(tl.int32))
        total += found
        before += tl.where(member < t.me, found, 0)
    padded = (total + align - 1) // align * align
    begin = tl.cumsum(padded, axis=0) - padded
    known = bins < n_experts
    tl.store(starts + bins, begin)
    tl.debug_barrier()
    # From where the rows of the expert's member begin.
    begin -= tl.load(starts + bins // each * each, mask=known, other=0)
    tl.store(base + bins, begin + before, mask=known)
    mine = known & (bins // each == t.me)
    number = bins - t.me * each
    tl.store(here + number, total, mask=mine)
    tl.store(offsets + number, begin, mask=mine)
    tl.store(offsets + number + 1, begin + padded, mask=mine & (number == each - 1))
    if tl.max((known & (begin + total > capacity)).to(tl.int32)) != 0:
        tl.store(status, 2)


@triton.jit
def move_kernel(
    state, workspace, calls, flags, x, scales, experts, ranks, counts, base, places, inbox, inbox_scales,
    tokens, words, scale_words, capacity, each,
    TOP: tl.constexpr, BINS: tl.constexpr, CHUNK: tl.constexpr, BLOCK: tl.constexpr, SCALES: tl.constexpr,
):  # fmt: skip
    """Rows of `words` words of 32 bits to their places. It ends when all rows for this member have
    come.
    """
    ctx = context(state)
    t = open_team(workspace)
    part = tl.program_id(0)
    parts = tl.num_programs(0)
    call = next_call(calls, part, parts)
    lanes = tl.arange(0, BLOCK)
    inside = lanes < words
    for token in range(part, tokens, parts):
        row = tl.load(x + long(token) * words + lanes, mask=inside, other=0)
        if SCALES > 0:
            columns = tl.arange(0, SCALES)
            scale = tl.load(scales + long(token) * scale_words + columns, mask=columns < scale_words, other=0)
        for k in range(0, TOP):
            i = token * TOP + k
            rank = tl.load(ranks + i)
            expert = tl.maximum(tl.load(experts + i).to(tl.int32), 0)
            if rank >= 0:
                place = tl.load(base + expert) + tl.load(counts + i // CHUNK * BINS + expert) + rank
                if place < capacity:
                    owner = expert // each
                    at = long(place)
                    tl.store(on(ctx, t, inbox + at * words + lanes, owner), row, mask=inside)
                    if SCALES > 0:
                        to = on(ctx, t, inbox_scales + at * scale_words + columns, owner)
                        tl.store(to, scale, mask=columns < scale_words)
                    tl.store(places + i, place)
                else:
                    tl.store(places + i, -1)
            else:
                tl.store(places + i, -1)
    signal_members(ctx, t, flags, call, part)
    # One program waits: the last, so that this works where programs run one after the other, too.
    if part == parts - 1:
        wait_all(ctx, t, flags, call, parts)


@triton.jit
def combine_kernel(
    state, workspace, calls, entered, left, y, scales, places, experts, weights, out,
    tokens, hidden, scale_words, each,
    TOP: tl.constexpr, BLOCK: tl.constexpr, SCALED: tl.constexpr,
):  # fmt: skip
    """Each token's rows of `y` from where they are, weighted and summed in the order of its choices.
    It ends when all members have read this member's rows.
    """
    ctx = context(state)
    t = open_team(workspace)
    part = tl.program_id(0)
    parts = tl.num_programs(0)
    call = next_call(calls, part, parts)
    signal_members(ctx, t, entered, call, part)
    wait_program(ctx, t, entered, call, part)
    lanes = tl.arange(0, BLOCK)
    inside = lanes < hidden
    for token in range(part, tokens, parts):
        total = tl.zeros((BLOCK,), tl.float32)
        for k in tl.static_range(TOP):
            i = token * TOP + k
            place = tl.load(places + i)
            kept = inside & (lanes * 0 + place >= 0)
            expert = tl.maximum(tl.load(experts + i).to(tl.int32), 0)
            owner = tl.where(place >= 0, expert // each, t.me)
            row = long(tl.maximum(place, 0))
            value = widen(tl.load(on(ctx, t, y + row * hidden + lanes, owner), mask=kept))
            if SCALED:
                column = lanes // (hidden // scale_words)
                value *= tl.load(on(ctx, t, scales + row * scale_words + column, owner), mask=kept, other=0)
            # A choice of no expert counts nothing, with any weight.
            total += tl.where(kept, value * tl.load(weights + i).to(tl.float32), 0.0)
        at = long(token) * hidden + lanes
        tl.store(out + at, total.to(out.dtype.element_ty), mask=inside)
    signal_members(ctx, t, left, call, part)
    if part == parts - 1:
        wait_all(ctx, t, left, call, parts)
