"""Teams as kernels find them, and the meetings of their members.

All threads of a group call with the same arguments. A meeting has an epoch for each slot of a team,
in memory of the PE, and a flag of each member on each member, which only grows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ._access import access
from ._frontend import cutlass, dsl
from ._state import WRONG_SLOT, WRONG_TEAM, Job, report

Int32, Int64, Uint32, Uint64 = cutlass.Int32, cutlass.Int64, cutlass.Uint32, cutlass.Uint64

# Polls between two looks at the abort word.
_POLLS = 1024
# Bytes of the job's struct, and of a team's row; the rows lie behind the job.
_ROW = 64


def where(condition: Any, one: Any, other: Any) -> Any:
    """`one` where a condition holds, else `other`; numbers of one type."""
    return type(one)(cutlass.select_(condition, one, other))


class Team(NamedTuple):
    """A team's row; `good`: this PE is a member of it, and there is such a slot."""

    good: Any
    n: Any
    me: Any
    first: Any
    step: Any
    members: Any
    sync: Any
    counter: Any
    slot: Any

    def pick(self, one: Any, other: Any) -> Any:
        """`one` if this PE is a member, else `other`."""
        return where(self.good, one, other)


def find(job: Job, handle: Any) -> Team:
    """The team of a handle, slot 0."""
    index, generation = Uint32(handle), Uint32(handle >> Uint64(32))
    inside = index < access.ld_weak_u32(job.job + Uint64(8))
    row = job.job + Uint64(_ROW) + Uint64(where(inside, index, Uint32(0))) * Uint64(_ROW)
    n = Int32(access.ld_weak_u32(row))
    same = access.ld_weak_u32(row + Uint64(40)) == generation
    return Team(
        good=inside & (n > Int32(0)) & same,
        n=n,
        me=Int32(access.ld_weak_u32(row + Uint64(4))),
        first=Int32(access.ld_weak_u32(row + Uint64(8))),
        step=Int32(access.ld_weak_u32(row + Uint64(12))),
        members=access.ld_weak_u64(row + Uint64(16)),
        sync=access.ld_weak_u64(row + Uint64(24)),
        counter=access.ld_weak_u64(row + Uint64(32)),
        slot=Uint32(0),
    )


def joined(job: Job, operation: int, handle: Any, slot: Any) -> Team:
    """The team of a handle, for a collective that uses a slot of it."""
    team = find(job, handle)
    inside = slot < access.ld_weak_u32(job.job + Uint64(32))
    _check(job, operation, team.good, inside, handle, slot)
    counter = team.counter + Uint64(slot) * Uint64(8)
    return team._replace(good=team.good & inside, counter=counter, slot=slot)


@dsl.jit
def _check(job: Job, operation: int, member: Any, inside: Any, handle: Any, slot: Any) -> None:
    if job.check != Uint32(0):
        if not member:
            report(job, Uint32(WRONG_TEAM), operation, job.my_pe, handle, Uint64(0))
        if not inside:
            report(job, Uint32(WRONG_SLOT), operation, job.my_pe, Uint64(slot), Uint64(0))


@dsl.jit
def pe_of(team: Team, member: Any) -> Any:
    """The PE that has a number in a team."""
    pe = team.first + member * team.step
    if team.step == Int32(0):
        pe = Int32(access.ld_weak_u32(team.members + Uint64(member) * Uint64(4)))
    return pe


def on_member(job: Job, team: Team, member: Any, own: Any) -> Any:
    """Where symmetric memory of this PE lies on a member."""
    return own + Uint64(Int64(pe_of(team, member) - job.my_pe)) * job.stride


@dsl.jit
def meet(group: Any, job: Job, team: Team, epoch: Any) -> Any:
    """Meets the groups of all members, for the `epoch`-th time. Returns 1 when all have come, and
    what they did before can be seen; 0 if the job is broken.
    """
    n, me = team.n, team.me
    parity = Uint64(team.slot) * Uint64(2) + epoch % Uint64(2)
    row = team.sync + parity * Uint64(n) * Uint64(8)
    own = job.own + row
    rank, threads = Int32(group.rank()), Int32(group.size())
    # The writes of the group's threads precede the announcement of one of them.
    group.sync()
    for m in cutlass.range(rank, n, threads, unroll=1):
        if m != me:
            there = on_member(job, team, m, own)
            access.st_release_u64(there + Uint64(me) * Uint64(8), epoch)
    if rank == Int32(0):
        access.st_relaxed_u64(team.counter, epoch)
    broken = Uint32(0)
    for m in cutlass.range(rank, n, threads, unroll=1):
        if m != me:
            flag = own + Uint64(m) * Uint64(8)
            polls = Uint32(0)
            seen = access.ld_acquire_u64(flag)
            while (seen < epoch) & (broken == Uint32(0)):
                polls += Uint32(1)
                if polls % Uint32(_POLLS) == Uint32(0):
                    broken = access.ld_relaxed_u32(job.abort)
                seen = access.ld_acquire_u64(flag)
    return Uint32(group.any(broken) == Uint32(0))


def first_epoch(group: Any, team: Team) -> Any:
    """How often the members have met in the team's slot. All threads of a group ask before they
    meet; one of them may come from a call of its own, and has stored a new number then.
    """
    group.sync()
    return access.ld_relaxed_u64(team.counter)
