# mypy: ignore-errors
"""Matrix products whose factors or results are spread over the members, in one kernel.

The rows of the result, or of the left factor, are divided among the members: `section` rows each.
A tile has the same program on every member, so a program waits for programs of its own number only,
or, where some programs only send, for these.
"""

import triton
import triton.language as tl

from ...device.triton._collectives import on
from ...device.triton._context import context
from ...device.triton._order import store_release
from ...device.triton._rma import copy_part
from ...device.triton._waits import CMP_EQ, signal_wait_until
from .words import long, next_call, open_team, signal_members, wait_all


@triton.jit
def place_of(index, down, across, GROUP: tl.constexpr):
    """The row and the column of a tile. Neighbours in time share rows and columns, which stay in the
    cache.
    """
    block = index // (GROUP * across)
    height = tl.minimum(down - block * GROUP, GROUP)
    inner = index % (GROUP * across)
    return block * GROUP + inner % height, inner // height


@triton.jit
def multiply(
    a, b, row, end, column, N, K, b_row, b_column,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, EVEN_N: tl.constexpr, EVEN_K: tl.constexpr,
):  # fmt: skip
    """A tile of the product in single precision; rows past `end` and columns past N are of no use."""
    rows = tl.minimum(row + tl.arange(0, BM), end - 1).to(tl.int64)
    columns = column + tl.arange(0, BN)
    if not EVEN_N:
        columns = columns % N
    inner = tl.arange(0, BK)
    from_a = a + rows[:, None] * K + inner[None, :]
    from_b = b + inner[:, None].to(tl.int64) * b_row + columns[None, :].to(tl.int64) * b_column
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        if EVEN_K:
            left = tl.load(from_a)
            right = tl.load(from_b)
        else:
            left = tl.load(from_a, mask=inner[None, :] < K - k, other=0.0)
            right = tl.load(from_b, mask=inner[:, None] < K - k, other=0.0)
        total = tl.dot(left, right, total, input_precision="ieee")
        from_a += BK
        from_b += BK * b_row
    return total


@triton.jit
def reduce_product_kernel(
    state, workspace, calls, flags, left, inbox, a, b, c, M, N, K, b_row, b_column, section, half, flags_half,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
    EVEN_N: tl.constexpr, EVEN_K: tl.constexpr, EVERYWHERE: tl.constexpr,
):  # fmt: skip
    """The sum of the members' products, a section to each member, or all to all members. A tile goes
    to its owner as soon as it is computed; this member's own come last.
    """
    ctx = context(state)
    t = open_team(workspace)
    part = tl.program_id(0)
    parts = tl.num_programs(0)
    call = next_call(calls, part, parts)
    TYPE: tl.constexpr = c.dtype.element_ty
    down = (section + BM - 1) // BM
    across = (N + BN - 1) // BN
    tiles = down * across
    rows = tl.arange(0, BM)
    columns = tl.arange(0, BN)
    place = rows[:, None] * BN + columns[None, :]
    box = inbox + (call & 1) * half
    ready = flags + (call & 1) * flags_half
    for step in range(1, t.n + 1):
        owner = (t.me + step) % t.n
        end = tl.minimum((owner + 1) * section, M)
        for index in range(part, tiles, parts):
            r, q = place_of(index, down, across, GROUP)
            row = owner * section + r * BM
            column = q * BN
            if row < end:
                total = multiply(a, b, row, end, column, N, K, b_row, b_column, BM, BN, BK, EVEN_N, EVEN_K)
                value = total.to(TYPE)
                if owner != t.me:
                    at = long(0) + t.me * tiles + index
                    tl.store(on(ctx, t, box + at * (BM * BN) + place, owner), value)
                    tl.debug_barrier()
                    store_release(on(ctx, t, ready + at, owner), call)
                else:
                    total = value.to(tl.float32)
                    for sender in range(0, t.n):
                        part_of = value.to(tl.float32)
                        if sender != t.me:
                            at = long(0) + sender * tiles + index
                            signal_wait_until(ctx, ready + at, CMP_EQ, call)
                            part_of = tl.load(box + at * (BM * BN) + place).to(tl.float32)
                        total = tl.where(place * 0 + sender == 0, part_of, total + part_of)
                    value = total.to(TYPE)
                    inside = ((row + rows)[:, None] < end) & ((column + columns)[None, :] < N)
                    if EVERYWHERE:
                        to = c + (row + rows)[:, None].to(tl.int64) * N + (column + columns)[None, :]
                        for k in range(0, t.n):
                            tl.store(on(ctx, t, to, (t.me + k) % t.n), value, mask=inside)
                    else:
                        to = c + (r * BM + rows)[:, None].to(tl.int64) * N + (column + columns)[None, :]
                        tl.store(to, value, mask=inside)
    # The kernel ends when all members have stored all that they store here, or were signalled by this one.
    signal_members(ctx, t, left, call, part)
    if part == parts - 1:
        wait_all(ctx, t, left, call, parts)


@triton.jit
def gather_product_kernel(
    state, workspace, calls, flags, left, inbox, a, b, c, N, K, b_row, b_column, section, half, flags_half,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
    EVEN_N: tl.constexpr, EVEN_K: tl.constexpr, SENDERS: tl.constexpr,
):  # fmt: skip
    """The product of all members' rows. The first SENDERS programs send this member's rows; the others
    compute, with this member's own rows first.
    """
    ctx = context(state)
    t = open_team(workspace)
    part = tl.program_id(0)
    parts = tl.num_programs(0)
    call = next_call(calls, part, parts)
    down = (section + BM - 1) // BM
    across = (N + BN - 1) // BN
    box = inbox + (call & 1) * half
    ready = flags + (call & 1) * flags_half
    run = long(section) * K
    if part < SENDERS:
        for step in range(1, t.n):
            member = (t.me + t.n - step) % t.n
            for r in range(part, down, SENDERS):
                begin = long(r) * BM * K
                count = tl.minimum(run - begin, BM * K)
                to = on(ctx, t, box + t.me * run + begin, member)
                copy_part(to, a + begin, count, begin * 0, 1, None)
                tl.debug_barrier()
                store_release(on(ctx, t, ready + t.me * down + r, member), call)
    else:
        rows = tl.arange(0, BM)
        columns = tl.arange(0, BN)
        for step in range(0, t.n):
            member = (t.me + step) % t.n
            for index in range(part - SENDERS, down * across, parts - SENDERS):
                r, q = place_of(index, down, across, GROUP)
                row = r * BM
                column = q * BN
                if member == t.me:
                    total = multiply(a, b, row, section, column, N, K, b_row, b_column, BM, BN, BK, EVEN_N, EVEN_K)
                else:
                    signal_wait_until(ctx, ready + member * down + r, CMP_EQ, call)
                    from_ = box + member * run
                    total = multiply(from_, b, row, section, column, N, K, b_row, b_column, BM, BN, BK, EVEN_N, EVEN_K)
                at = (member * section + row + rows)[:, None].to(tl.int64) * N + (column + columns)[None, :]
                inside = ((row + rows)[:, None] < section) & ((column + columns)[None, :] < N)
                tl.store(c + at, total.to(c.dtype.element_ty), mask=inside)
    # A member without tiles was not signalled before.
    signal_members(ctx, t, left, call, part)
    if part == parts - 1:
        wait_all(ctx, t, left, call, parts)


@triton.jit
def meet_kernel(state, workspace, calls, entered):
    """One program: begins a call, and meets all other members."""
    ctx = context(state)
    t = open_team(workspace)
    call = next_call(calls, tl.program_id(0), 1)
    signal_members(ctx, t, entered, call, 0)
    wait_all(ctx, t, entered, call, 1)


@triton.jit
def wait_kernel(state, calls, flag):
    """One program: waits until a flag has the number of this call."""
    signal_wait_until(context(state), flag, CMP_EQ, tl.load(calls))
