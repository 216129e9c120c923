"""How the groups of a team's members meet, as ``Call`` of ``nvshmemrs_device.cuh`` does it.

A meeting has a number, its epoch, which counts those of a team's slot. Each member writes the epoch
to its place in the rows of all others, and waits until its own row has it from all.
"""

# mypy: ignore-errors

from __future__ import annotations

from ._backend import (
    apart,
    idle,
    jitable,
    ld_acquire_u64,
    ld_relaxed_u64,
    ld_weak_u32,
    ld_weak_u64,
    st_relaxed_u64,
    st_release_u64,
    state,
)
from ._state import (
    POLLS,
    WRONG_SLOT,
    WRONG_TEAM,
    any_of,
    broken,
    checked,
    find_team,
    heap,
    meet_group,
    pe_of,
    rank,
    refuse,
    size,
    team_me,
    team_size,
    this_pe,
)


@jitable
def begin(operation, team, slot):
    """The row of a team that this PE is a member of, and whose slot there is; else 0."""
    row = find_team(team)
    slots = ld_weak_u32(state(6) + 32)
    if row == 0:
        if checked():
            refuse(WRONG_TEAM, operation, this_pe(), team, 0)
        return 0
    if slot < 0 or slot >= slots:
        if checked():
            refuse(WRONG_SLOT, operation, this_pe(), slot, 0)
        return 0
    return row


@jitable
def epoch_of(row, slot, scope):
    """The number of meetings of the slot's members. All threads of a group call this before they
    meet; one of them may come from a call that it made alone.
    """
    meet_group(scope)
    return ld_relaxed_u64(ld_weak_u64(row + 32) + slot * 8)


@jitable
def meet(row, slot, epoch, scope):
    """The meeting with this epoch: returns when all members have arrived; the earlier writes of
    their groups are visible then. False: the job is broken.
    """
    apart()
    n, me = team_size(row), team_me(row)
    flags = ld_weak_u64(row + 24) + (slot * 2 + (epoch & 1)) * n * 8
    # The writes of the group's threads precede the announcement of one of them.
    meet_group(scope)
    m = rank(scope)
    while m < n:
        if m != me:
            st_release_u64(state(2) + pe_of(row, m) * state(3) + flags + me * 8, epoch)
        m += size(scope)
    if rank(scope) == 0:
        st_relaxed_u64(ld_weak_u64(row + 32) + slot * 8, epoch)
    came, own = True, heap() + flags
    m = rank(scope)
    while m < n and came:
        if m != me:
            polls = 1
            while came and ld_acquire_u64(own + m * 8) < epoch:
                if polls & POLLS == 0 and broken():
                    came = False
                polls += 1
                idle()
        m += size(scope)
    return not any_of(scope, not came)
