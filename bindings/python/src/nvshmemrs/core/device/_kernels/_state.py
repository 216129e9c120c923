"""The state, groups of threads, teams, and checks of arguments. Local to this package."""

# mypy: ignore-errors

from __future__ import annotations

from .._operations import *  # noqa: F403
from . import _backend
from ._backend import (
    CMP_EQ,
    CMP_GT,
    CMP_LE,
    CMP_LT,
    CMP_NE,
    any_128,
    apart,
    block_thread,
    block_threads,
    cas_u32,
    grid_block,
    jitable,
    ld_relaxed_u32,
    ld_weak_u32,
    ld_weak_u64,
    meet_128,
    smallest,
    st_release_u32,
    st_weak_u32,
    st_weak_u64,
    state,
    sync_block,
    sync_warp,
    trap,
    vote_block,
    vote_warp,
)

# Groups of threads that make one call; only a barrier is for the 128 threads of a warpgroup.
THREAD, WARP, BLOCK, WARPGROUP = 0, 1, 2, 3
SCOPES = ((THREAD, ""), (WARP, "_warp"), (BLOCK, "_block"))

# Kinds of errors: values of Report::kind of nvshmemrs_device.cuh.
WRONG_PE, WRONG_ADDRESS, WRONG_ALIGNMENT, WRONG_TEAM, WRONG_SLOT, WRONG_ARGUMENT = 1, 2, 3, 4, 5, 6

# Rows of teams, as nvshmemrs_device.cuh has them.
_TEAMS = 320

# Polls between two looks at the abort word, which lies behind PCIe, less 1.
POLLS = 1023


@jitable
def compare(cmp, left, right):
    if cmp == CMP_EQ:
        return left == right
    if cmp == CMP_NE:
        return left != right
    if cmp == CMP_GT:
        return left > right
    if cmp == CMP_LE:
        return left <= right
    if cmp == CMP_LT:
        return left < right
    return left >= right


# --- groups ---------------------------------------------------------------------------------------


@jitable
def rank(scope):
    if scope == THREAD:
        return 0
    if scope == WARP:
        return block_thread() & 31
    if scope == WARPGROUP:
        return block_thread() & 127
    return block_thread()


@jitable
def size(scope):
    if scope == THREAD:
        return 1
    if scope == WARP:
        return smallest(32, block_threads() - (block_thread() & -32))
    if scope == WARPGROUP:
        return 128
    return block_threads()


@jitable
def _hardware_barrier():
    """That of the calling thread's warpgroup. 0 is the block's, and CUTLASS begins at the low ones."""
    return 15 - (block_thread() >> 7)


@jitable
def meet_group(scope):
    if scope == WARP:
        sync_warp()
    elif scope == BLOCK:
        sync_block()
    elif scope == WARPGROUP:
        meet_128(_hardware_barrier())


@jitable
def any_of(scope, vote):
    if scope == WARP:
        return vote_warp(vote)
    if scope == BLOCK:
        return vote_block(vote)
    if scope == WARPGROUP:
        return any_128(_hardware_barrier(), 1 if vote else 0) != 0
    return vote


# --- state ----------------------------------------------------------------------------------------


@jitable
def this_pe():
    return state(1) & 0xFFFFFFFF


@jitable
def all_pes():
    return state(1) >> 32


@jitable
def heap():
    """The address of this PE's heap."""
    return state(2) + this_pe() * state(3)


@jitable
def broken():
    return ld_relaxed_u32(state(4)) != 0


@jitable
def checked():
    return (state(7) & 0xFFFFFFFF) != 0


@jitable
def _report(kind, operation, pe, where, nbytes):
    apart()
    at = ld_weak_u64(state(6) + 40)
    if at != 0 and cas_u32(at, 0, 1) == 0:
        st_weak_u32(at + 4, kind)
        st_weak_u32(at + 8, pe)
        st_weak_u32(at + 12, grid_block())
        st_weak_u32(at + 16, block_thread())
        st_weak_u32(at + 20, operation)
        st_weak_u64(at + 24, where)
        st_weak_u64(at + 32, nbytes)
        st_release_u32(at, 2)
    trap()


refuse = getattr(_backend, "refuse", None) or _report


@jitable
def _check_memory(operation, pe, own, nbytes, align):
    apart()
    offset = own - heap()
    room = ld_weak_u64(state(6))
    if pe < 0 or pe >= all_pes():
        refuse(WRONG_PE, operation, pe, own, nbytes)
    if offset < 0 or offset > room or nbytes > room - offset:
        refuse(WRONG_ADDRESS, operation, pe, own, nbytes)
    if own & (align - 1):
        refuse(WRONG_ALIGNMENT, operation, pe, own, nbytes)


@jitable
def on(operation, pe, own, nbytes, align):
    """The address of symmetric memory on a PE."""
    if checked():
        _check_memory(operation, pe, own, nbytes, align)
    return own + (pe - this_pe()) * state(3)


@jitable
def check_own(operation, own, nbytes, align):
    if checked():
        _check_memory(operation, this_pe(), own, nbytes, align)


@jitable
def check_argument(good, operation, value):
    if not good and checked():
        refuse(WRONG_ARGUMENT, operation, this_pe(), value, 0)


# --- teams: rows of 64 bytes behind the job -------------------------------------------------------


@jitable
def row_of(handle):
    """The row of a team, or any row."""
    return state(6) + 64 + smallest(handle & 0xFFFFFFFF, _TEAMS - 1) * 64


@jitable
def is_member(handle, row):
    """Whether a row is the team's, and this PE is a member."""
    # All loads are issued before the first result is used.
    teams, members = ld_weak_u32(state(6) + 8), ld_weak_u32(row)
    generation = ld_weak_u32(row + 40)
    known = handle & 0xFFFFFFFF < teams and generation == (handle >> 32) & 0xFFFFFFFF
    return known and members != 0 and members < 0x80000000


@jitable
def find_team(handle):
    """The row of a team; 0 if this PE is no member."""
    row = row_of(handle)
    return row if is_member(handle, row) else 0


@jitable
def signed32(bits):
    return (bits ^ 0x80000000) - 0x80000000


@jitable
def team_size(row):
    return ld_weak_u32(row)


@jitable
def team_me(row):
    return ld_weak_u32(row + 4)


@jitable
def pe_of(row, member):
    step = signed32(ld_weak_u32(row + 12))
    if step != 0:
        return signed32(ld_weak_u32(row + 8)) + member * step
    return ld_weak_u32(ld_weak_u64(row + 16) + member * 4)


@jitable
def on_member(row, member, own):
    """Symmetric memory of a member."""
    return own + (pe_of(row, member) - this_pe()) * state(3)
