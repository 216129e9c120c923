"""How the groups of a team's members meet, as ``Call`` of ``nvshmemrs_device.cuh`` does it.

A meeting has a number, its epoch, which counts those of a team's slot. Each member writes the epoch
to its place in the rows of all others, and waits until its own row has it from all.
"""

# mypy: ignore-errors

from __future__ import annotations

from ._backend import (
    apart,
    fence_acq_rel,
    idle,
    jitable,
    ld_acquire_u64,
    ld_relaxed_u64,
    ld_weak_u32,
    ld_weak_u64,
    st_relaxed_u64,
    state,
)
from ._record import RECORD_ARRIVAL, RECORD_MEETING, RECORDS, record_meeting
from ._state import (
    POLLS,
    WRONG_SLOT,
    WRONG_TEAM,
    any_of,
    broken,
    checked,
    heap,
    is_member,
    meet_group,
    pe_of,
    rank,
    refuse,
    row_of,
    size,
    team_me,
    team_size,
    this_pe,
)


@jitable
def begin(operation, team, slot):
    """The row of a team that this PE is a member of, and whose slot there is; else 0."""
    row = row_of(team)
    # Compilers put loads off until they are needed. So one condition asks for all, the address of the
    # epochs, too, and all are under way at once. That address is never 0.
    slots, epochs = ld_weak_u32(state(6) + 32), ld_weak_u64(row + 32)
    if is_member(team, row) and slot >= 0 and slot < slots and epochs != 0:
        return row
    if checked():
        if is_member(team, row):
            refuse(WRONG_SLOT, operation, this_pe(), slot, 0)
        else:
            refuse(WRONG_TEAM, operation, this_pe(), team, 0)
    return 0


@jitable
def epoch_of(row, slot, scope):
    """The number of meetings of the slot's members. All threads of a group call this before they
    meet; one of them may come from a call that it made alone.
    """
    meet_group(scope)
    return ld_relaxed_u64(ld_weak_u64(row + 32) + slot * 8)


@jitable
def meet(operation, row, slot, epoch, scope):
    """The meeting of an operation with this epoch: returns when all members have arrived; the
    earlier writes of their groups are visible then. False: the job is broken.
    """
    apart()
    return meet_here(operation, row, slot, epoch, scope)


@jitable
def meet_here(operation, row, slot, epoch, scope):
    """``meet``, as a part of the calling function."""
    if RECORDS:
        record_meeting(scope, RECORD_ARRIVAL, operation, row, epoch)
    # A fence invalidates the L1 cache, so the row is read before it.
    n, me, m, step = team_size(row), team_me(row), rank(scope), size(scope)
    sync, counter, own = ld_weak_u64(row + 24), ld_weak_u64(row + 32) + slot * 8, heap()
    place = state(2) + pe_of(row, m) * state(3) if m < n else 0
    # The accesses of the group's threads precede the announcements. By PTX's memory model a
    # fence and the relaxed stores after it are release patterns, one for each store. They cover the
    # other threads' accesses, because these have met. So each thread has one fence, however many
    # members it tells. An epoch that is still on its way is used only behind the fence.
    meet_group(scope)
    if m < n:
        fence_acq_rel()
    flags = sync + (slot * 2 + (epoch & 1)) * n * 8
    while m < n:
        if m != me:
            st_relaxed_u64(place + flags + me * 8, epoch)
        m += step
        if m < n:
            place = state(2) + pe_of(row, m) * state(3)
    if rank(scope) == 0:
        st_relaxed_u64(counter, epoch)
    came, own = True, own + flags
    m = rank(scope)
    while m < n and came:
        if m != me:
            polls = 1
            while came and ld_acquire_u64(own + m * 8) < epoch:
                if polls & POLLS == 0 and broken():
                    came = False
                polls += 1
                idle()
        m += step
    good = not any_of(scope, not came)
    if RECORDS and good:
        record_meeting(scope, RECORD_MEETING, operation, row, epoch)
    return good
