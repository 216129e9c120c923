"""Queries of PEs, signals, order, and shared memory that kernels lend."""

# mypy: ignore-errors
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

from ...direct import SMEM_BARRIERS, SMEM_LEAST, SMEM_RECOMMENDED, SmemAmount
from ._backend import (
    CMP_EQ,
    CMP_GE,
    SIGNAL_ADD,
    SIGNAL_SET,
    address,
    check_signal,
    fence_acq_rel,
    fence_sc,
    giving,
    idle,
    integer,
    jitable,
    ld_acquire_u64,
    lend,
    public,
    shared_bytes,
    unsigned,
)
from ._lent import lent_bytes, lent_word
from ._record import (
    NO_FLAGS,
    RECORD_FENCE,
    RECORD_QUIET,
    RECORD_SIGNAL,
    RECORDS,
    record,
    record_as,
    record_seen,
)
from ._state import (
    BLOCK,
    FENCE,
    POLLS,
    QUIET,
    SIGNAL_FETCH,
    SIGNAL_OP,
    SIGNAL_WAIT,
    THREAD,
    WARP,
    all_pes,
    broken,
    check_argument,
    check_own,
    compare,
    find_team,
    meet_group,
    on,
    pe_of,
    team_me,
    team_size,
    this_pe,
)
from .collective import barrier_all, sync_all
from .rma import update_signal

_MINIMUM, _BARRIERS_ONLY = int(SmemAmount.SMEM_MINIMUM), int(SmemAmount.SMEM_BARRIERS_ONLY)

__all__ = [
    "SmemAmount",
    "aborted",
    "ask_smem",
    "barrier_all",
    "fence",
    "flush",
    "flush_block",
    "flush_warp",
    "give_smem",
    "my_pe",
    "n_pes",
    "quiet",
    "release_smem",
    "signal_fetch",
    "signal_op",
    "signal_wait",
    "sync_all",
    "team_my_pe",
    "team_n_pes",
    "team_translate_pe",
]


@public
def my_pe():
    """This PE's number."""
    return this_pe()


@public
def n_pes():
    """The number of PEs."""
    return all_pes()


@public
def team_my_pe(team):
    """This PE's number in a team; -1 if it is no member."""
    row = find_team(integer(team))
    return team_me(row) if row != 0 else -1


@public
def team_n_pes(team):
    """The number of a team's members; -1 if this PE is none of them."""
    row = find_team(integer(team))
    return team_size(row) if row != 0 else -1


@public
def team_translate_pe(src_team, src_pe, dest_team):
    """The number in `dest_team` of the PE that has number `src_pe` in `src_team`; -1 if there is
    none.
    """
    start, to, member = find_team(integer(src_team)), find_team(integer(dest_team)), integer(src_pe)
    if start == 0 or to == 0 or member < 0 or member >= team_size(start):
        return -1
    pe, m = pe_of(start, member), 0
    while m < team_size(to):
        if pe_of(to, m) == pe:
            return m
        m += 1
    return -1


@public
def aborted():
    """Whether the job is broken, because a PE died, say: waits have ended without what they waited
    for, and collectives fail.
    """
    return broken()


@public
def fence():
    """Orders this thread's puts and updates before its later ones: a release towards every PE."""
    fence_acq_rel()
    if RECORDS:
        record(RECORD_FENCE, FENCE, this_pe())


@public
def quiet():
    """Completes this thread's operations: a full barrier."""
    fence_sc()
    if RECORDS:
        record(RECORD_QUIET, QUIET, this_pe())


@jitable
def _flush(scope):
    meet_group(scope)
    # The checker knows of sources that may be used again by quiet.
    if RECORDS:
        record_as(scope, RECORD_QUIET, QUIET, this_pe(), 0, 0, 0, 0, NO_FLAGS)


@public
def flush():
    """Returns when the sources of this thread's puts may be used again."""
    _flush(THREAD)


@public
def flush_warp():
    """As ``flush`` for the threads of a warp, which all call it."""
    _flush(WARP)


@public
def flush_block():
    """As ``flush`` for the threads of the block, which all call it."""
    _flush(BLOCK)


@public
def signal_op(signal_var, signal_val, signal_op, pe):
    """Updates a signal on PE `pe`. It orders nothing that came before: call ``fence`` or ``quiet``
    first where it announces data. One-sided.
    """
    check_signal(signal_var)
    op = integer(signal_op)
    check_argument(op == SIGNAL_SET or op == SIGNAL_ADD, SIGNAL_OP, op)
    to, at, value = integer(pe), address(signal_var), integer(signal_val)
    word = on(SIGNAL_OP, to, at, 8, 8)
    if RECORDS:
        record(RECORD_SIGNAL, SIGNAL_OP, to, at)
    update_signal(word, value, op)


@public
def signal_fetch(signal_var):
    """This PE's copy of a signal: an acquire. Local."""
    check_signal(signal_var)
    at = address(signal_var)
    check_own(SIGNAL_FETCH, at, 8, 8)
    seen = ld_acquire_u64(at)
    if RECORDS:
        record_seen(SIGNAL_FETCH, this_pe(), at, 8, seen)
    return seen


@jitable
def wait_for_signal(at, cmp, value):
    check_own(SIGNAL_WAIT, at, 8, 8)
    check_argument(cmp >= CMP_EQ and cmp <= CMP_GE, SIGNAL_WAIT, cmp)
    polls = 1
    while True:
        seen = ld_acquire_u64(at)
        if compare(cmp, unsigned(seen), unsigned(value)):
            if RECORDS:
                record_seen(SIGNAL_WAIT, this_pe(), at, 8, seen)
            return seen
        if polls & POLLS == 0 and broken():
            return seen
        polls += 1
        idle()


@public
def signal_wait(signal_var, signal_op, signal_val):
    """Returns the signal of this PE once it compares with `signal_val` as `signal_op`, a
    ComparisonType, says: an acquire. It also returns when the job is broken; see ``aborted``.
    """
    check_signal(signal_var)
    return wait_for_signal(address(signal_var), integer(signal_op), integer(signal_val))


@public
def ask_smem(flag):
    """The bytes of shared memory that ``give_smem`` wants: 65536, or fewer for SMEM_MINIMUM."""
    amount = integer(flag)
    if amount == _MINIMUM:
        return SMEM_LEAST
    return SMEM_BARRIERS if amount == _BARRIERS_ONLY else SMEM_RECOMMENDED


@giving
def give_smem(smem):
    """Lends an array in shared memory to the function that calls it, for the calling thread: large
    puts and gets of a thread or a warp then go through it by bulk copies, up to ``release_smem``.
    Returns the bytes that they use: 0 if there are fewer than SMEM_MINIMUM, the array is elsewhere,
    or the GPU is older than sm_90.

    Threads may lend the same array if they meet before the next put or get. One call uses it at a
    time, and others store as without. It may be used again when the calls have returned.
    """
    word = lent_word(address(smem), shared_bytes(smem))
    lend(word)
    return lent_bytes(word)


@giving
def release_smem():
    """Undoes ``give_smem``, for the calling thread."""
    lend(0)
