"""Queries, signals, order and meetings of all PEs in kernels."""

from __future__ import annotations

from typing import Any

from ...direct import ComparisonType, SmemAmount
from ...direct import ask_smem as host_ask_smem
from .._operations import OPERATIONS
from ._access import access, address_of
from ._arguments import COMPARISONS, SIGNAL_OPS, chosen, signal, target, team_handle
from ._frontend import cutlass, dsl
from ._lent import lend
from ._state import Job, check_argument, check_memory, current, keep_lent, on
from ._teams import find
from .collective import barrier_all, sync_all
from .rma import update_signal

__all__ = [
    "SmemAmount",
    "aborted",
    "ask_smem",
    "barrier_all",
    "fence",
    "give_smem",
    "my_pe",
    "n_pes",
    "quiet",
    "release_smem",
    "signal_op",
    "signal_wait",
    "sync_all",
    "team_my_pe",
    "team_n_pes",
]

Int32, Uint32, Uint64 = cutlass.Int32, cutlass.Uint32, cutlass.Uint64

# Polls between two looks at the abort word, which lies behind PCIe.
_POLLS = 1024


def my_pe() -> Any:
    """This PE's number. Local."""
    return current("my_pe").my_pe


def n_pes() -> Any:
    """The number of PEs. Local."""
    return current("n_pes").n_pes


def team_my_pe(team: Any) -> Any:
    """This PE's number in a team; -1 if it is no member. Local."""
    found = find(current("team_my_pe"), team_handle(team, "team_my_pe"))
    return found.pick(found.me, Int32(-1))


def team_n_pes(team: Any) -> Any:
    """The number of PEs in a team; -1 if this PE is no member. Local."""
    found = find(current("team_n_pes"), team_handle(team, "team_n_pes"))
    return found.pick(found.n, Int32(-1))


def aborted() -> Any:
    """Whether the job is broken, 1 or 0: waits have then ended without what they waited for, and
    collectives return -1. Local.
    """
    return Int32(access.ld_relaxed_u32(current("aborted").abort) != Uint32(0))


def fence() -> None:
    """Orders what the calling thread wrote before it ahead of what it writes after it, for every
    PE. Other threads of the block must meet the thread first, by ``sync_threads``. Local.
    """
    current("fence")
    access.fence_acq_rel()


def quiet() -> None:
    """Completes the operations of the calling thread, and orders all that it did before. Local."""
    current("quiet")
    access.fence_sc()


def ask_smem(flag: Any) -> Any:
    """The bytes of shared memory that ``give_smem`` wants: 65536, 8320 for SMEM_MINIMUM, and 128 for
    SMEM_BARRIERS_ONLY, with which no bulk copy is made. Local.
    """
    current("ask_smem")
    return Int32(host_ask_smem(chosen(flag, tuple(SmemAmount), "flag", "ask_smem")))


def give_smem(smem: Any) -> Any:
    """Lends a tensor in shared memory to the calls that follow: large puts and gets of a thread or
    a warp go through it by bulk copies, up to ``release_smem``. Gives the bytes that they use: 0
    if there are fewer than SMEM_MINIMUM, or the GPU is older than sm_90.

    Call it outside of ``if`` and loops; all threads call. They meet before the next put or get.
    One call uses the memory at a time, and others store as without. It may be used again when the
    calls have returned. Local.
    """
    current("give_smem")
    return lend(smem)


def release_smem() -> None:
    """Undoes ``give_smem``, outside of ``if`` and loops. Local."""
    current("release_smem")
    keep_lent("release_smem", None)


def signal_op(signal_var: Any, signal_val: Any, signal_op: Any, pe: Any) -> None:
    """Updates a signal of a PE: SIGNAL_SET or SIGNAL_ADD. It orders nothing that came before: call
    ``fence`` first where the signal announces data. One-sided; one thread calls.
    """
    job = current("signal_op")
    op = chosen(signal_op, SIGNAL_OPS, "signal_op", "signal_op")
    at = address_of(signal(signal_var, "signal_op"))
    word = on(job, "signal_op", target(pe, "signal_op"), at, Uint64(8), 8)
    update_signal(job, OPERATIONS["signal_op"], word, Uint64(signal_val), op)


def signal_wait(signal_var: Any, signal_op: Any, signal_val: Any) -> Any:
    """Waits until a signal of this PE compares with a value as CMP_EQ, CMP_NE, CMP_GT, CMP_LE,
    CMP_LT or CMP_GE says, without sign. Data written before the signal can be seen then.
    Returns the signal's value. It ends without that if the job is broken; see ``aborted``.

    One-sided; one thread calls, and others of its block see the data after they meet it.
    """
    job = current("signal_wait")
    cmp = chosen(signal_op, COMPARISONS, "signal_op", "signal_wait")
    word = address_of(signal(signal_var, "signal_wait"))
    operation = OPERATIONS["signal_wait"]
    check_memory(job, operation, job.my_pe, word, Uint64(8), 8)
    if not isinstance(cmp, int):
        check_argument(job, operation, (cmp >= Int32(0)) & (cmp <= Int32(5)), Uint64(cmp))
    return _wait(job, word, cmp, Uint64(signal_val))


def _holds(cmp: Any, seen: Any, value: Any) -> Any:
    found = {
        ComparisonType.CMP_EQ: seen == value,
        ComparisonType.CMP_NE: seen != value,
        ComparisonType.CMP_GT: seen > value,
        ComparisonType.CMP_LE: seen <= value,
        ComparisonType.CMP_LT: seen < value,
        ComparisonType.CMP_GE: seen >= value,
    }
    if isinstance(cmp, int):
        return found[ComparisonType(cmp)]
    holds = (cmp == Int32(0)) & found[ComparisonType.CMP_EQ]
    for kind in COMPARISONS[1:]:
        holds = holds | ((cmp == Int32(int(kind))) & found[kind])
    return holds


@dsl.jit
def _wait(job: Job, word: Any, cmp: Any, value: Any) -> Any:
    seen = access.ld_acquire_u64(word)
    holds = Uint32(_holds(cmp, seen, value))
    polls = Uint32(0)
    while holds == Uint32(0):
        polls += Uint32(1)
        seen = access.ld_acquire_u64(word)
        holds = Uint32(_holds(cmp, seen, value))
        if polls % Uint32(_POLLS) == Uint32(0):
            holds = holds | access.ld_relaxed_u32(job.abort)
    return seen
