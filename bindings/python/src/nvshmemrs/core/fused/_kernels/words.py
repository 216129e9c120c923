# mypy: ignore-errors
"""The control words of a workspace: its team, numbers of calls, and flags of the members' programs.

Numbers of calls only grow, so nothing is reset between replays of a graph. Every kernel that counts
calls waits for a flag of every other member before it ends. So a member that begins call c + 1 has ended call
c - 1, and memory of even and of odd calls in turn is never written while it is still read.
"""

import triton
import triton.language as tl

from ...device.triton._collectives import WIDTH, on
from ...device.triton._context import POLLS, Team, aborted, pe_of, ptr
from ...device.triton._order import fence, store_release
from ...device.triton._settings import INTERPRETED, pause
from .._workspace import PROGRAMS

# The most programs of a launch.
MOST = tl.constexpr(PROGRAMS)


@triton.jit
def long(number):
    """A number in 64 bits, as the products of sizes may need."""
    return tl.full((), 0, tl.int64) + number


@triton.jit
def open_team(workspace):
    """The team of a workspace; its fields `sync` and `epochs` are not those of the header."""
    who = tl.load(workspace)
    where = tl.load(workspace + 1)
    members = tl.load(workspace + 2)
    return Team(
        (who & 0xFFFFFFFF).to(tl.int32),
        (who >> 32).to(tl.int32),
        (where & 0xFFFFFFFF).to(tl.int32),
        (where >> 32).to(tl.int32),
        members,
        members,
        members,
    )


@triton.jit
def next_call(counters, part, parts):
    """The number of this call. Each program counts for itself, and for numbers of programs that this
    launch has not, so that the next launch may have more or fewer programs.
    """
    call = tl.load(counters + part, volatile=True) + 1
    # All threads have read the counter before one writes it.
    tl.debug_barrier()
    at = part + tl.arange(0, MOST) * parts
    tl.store(counters + at, tl.zeros((MOST,), tl.int64) + call, mask=at < MOST)
    return call


@triton.jit
def signal_members(ctx, t, flags, call, part):
    """Signals this program's progress to all other members; earlier stores are visible to them."""
    own = flags + ((call & 1) * t.n + t.me) * MOST + part
    tl.debug_barrier()
    for first in range(0, t.n, WIDTH):
        member = first + tl.arange(0, WIDTH)
        others = (member < t.n) & (member != t.me)
        to = ptr(ctx, own, pe_of(t, member, others))
        store_release(to, call + tl.zeros((WIDTH,), tl.int64), mask=others)


@triton.jit
def wait_program(ctx, t, flags, call, part):
    """Waits until this program has been signalled by its counterparts on all other members."""
    row = flags + (call & 1) * t.n * MOST + part
    for first in range(0, t.n, WIDTH):
        member = first + tl.arange(0, WIDTH)
        others = (member < t.n) & (member != t.me)
        wait_words(ctx, row + member * MOST, call, others)
    fence(ctx)


@triton.jit
def wait_all(ctx, t, flags, call, parts):
    """Waits until this program has been signalled by all programs of all other members."""
    lanes = tl.arange(0, MOST)
    for step in range(1, t.n):
        member = (t.me + step) % t.n
        wait_words(ctx, flags + ((call & 1) * t.n + member) * MOST + lanes, call, lanes < parts)
    fence(ctx)


@triton.jit
def wait_words(ctx, p, call, mask):
    """Waits until the words at `p` are those of this call, or the job is broken. Orders nothing."""
    seen = tl.load(p, mask=mask, other=0, volatile=True)
    left = tl.max((mask & (seen < call)).to(tl.int32))
    polls = tl.full((), 0, tl.int32)
    while left != 0:
        seen = tl.load(p, mask=mask, other=0, volatile=True)
        left = tl.max((mask & (seen < call)).to(tl.int32))
        polls += 1
        if INTERPRETED:
            pause()
        if polls % POLLS == 0:
            if aborted(ctx):
                left = left * 0


@triton.jit
def store_to_others(ctx, t, p, value, mask):
    """Stores to all other members; each member starts with a different one."""
    for step in range(1, t.n):
        tl.store(on(ctx, t, p, (t.me + step) % t.n), value, mask=mask)
