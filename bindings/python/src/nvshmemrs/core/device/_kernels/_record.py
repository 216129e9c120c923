"""Records of operations for the checker, as ``nvshmemrs_device.cuh`` writes them. Local to this package.

Kernels call these functions only where `RECORDS` is true.
"""

# mypy: ignore-errors

from __future__ import annotations

from typing import Any

from . import _backend
from ._backend import (
    apart,
    cas_u32,
    jitable,
    ld_acquire_u32,
    ld_relaxed_u32,
    ld_weak_u64,
    st_relaxed_u32,
    st_release_u32,
    st_weak_u32,
    st_weak_u64,
    state,
)
from ._state import BARRIER, SYNC, broken, meet_group, rank, this_pe

# Kinds of records, their flags, and the effects of atomic operations, as nvshmemrs_device.cuh has them.
RECORD_PUT, RECORD_PUT_SIGNAL, RECORD_GET, RECORD_SIGNAL, RECORD_ATOMIC, RECORD_SEEN = (
    1,
    2,
    3,
    4,
    5,
    6,
)
RECORD_FENCE, RECORD_QUIET, RECORD_ARRIVAL, RECORD_MEETING, RECORD_USE, RECORD_POINTER = (
    7,
    8,
    9,
    10,
    11,
    12,
)
NO_FLAGS, UNTIL_QUIET, FENCED, COMPLETES, WRITES_OWN = 0, 1, 2, 1, 1
READS, WRITES, FETCHES = 0, 1, 2

# Whether kernels are compiled to record their operations, and the function that writes their places.
RECORDS = getattr(_backend, "RECORDS", False)
_write_place: Any = getattr(_backend, "write_place", None)

# Where the records begin behind the report, and their words.
_RECORDS, _WORDS = 128, 24


@jitable
def _watched():
    """Whether the job is checked."""
    return (state(0) >> 48) & 1 != 0


@jitable
def _write(kind, operation, pe, at, nbytes, local, signal, value, flags):
    """Returns when the checker has the record."""
    apart()
    report = ld_weak_u64(state(6) + 40)
    records = report + _RECORDS
    known = False
    # The thread with the lock releases it before other threads of its warp go on.
    while not known:
        if cas_u32(records, 0, 1) == 0:
            st_weak_u32(records + 8, kind)
            st_weak_u32(records + 12, operation)
            st_weak_u32(records + 16, pe)
            st_weak_u64(records + _WORDS, at)
            st_weak_u64(records + _WORDS + 8, nbytes)
            st_weak_u64(records + _WORDS + 16, local)
            st_weak_u64(records + _WORDS + 24, signal)
            st_weak_u64(records + _WORDS + 32, value)
            st_weak_u64(records + _WORDS + 40, flags)
            _write_place(records)
            st_release_u32(records + 4, 1)
            while ld_acquire_u32(records + 4) != 2:
                if broken():
                    return
            st_relaxed_u32(records + 4, 0)
            st_release_u32(records, 0)
            known = True
        elif ld_relaxed_u32(report) != 0 or broken():
            # A kernel that a wrong call has ended may have kept the lock.
            return


@jitable
def record(kind, operation, pe, at=0, nbytes=0, local=0, signal=0, value=0, flags=0):
    """Records an operation before it has an effect, or once it has seen a value. One thread of a
    group calls.
    """
    if _watched():
        _write(kind, operation, pe, at, nbytes, local, signal, value, flags)


@jitable
def record_as(scope, kind, operation, pe, at, nbytes, local, signal, flags):
    """The same by a group, whose threads have met. They go on when the checker has the record."""
    if _watched():
        if rank(scope) == 0:
            _write(kind, operation, pe, at, nbytes, local, signal, 0, flags)
        meet_group(scope)


@jitable
def record_strided(scope, kind, operation, pe, at, step, local, local_step, n, size):
    """Records the elements of a put or a get with strides."""
    if _watched():
        i = 0
        while i < n and rank(scope) == 0:
            place, own = at + i * step * size, local + i * local_step * size
            _write(kind, operation, pe, place, size, own, 0, 0, NO_FLAGS)
            i += 1
        meet_group(scope)


@jitable
def record_seen(operation, pe, at, size, bits):
    """Records a value that an atomic operation or a wait has seen."""
    record(RECORD_SEEN, operation, pe, at, size, 0, 0, bits)


@jitable
def record_use(scope, operation, at, nbytes, flags):
    """Records that a collective reads or writes memory of this PE."""
    if rank(scope) == 0:
        record(RECORD_USE, operation, this_pe(), at, nbytes, 0, 0, 0, flags)


@jitable
def record_meeting(scope, kind, operation, row, epoch):
    """Records that a group is about to meet the groups of a team's other members, or has met them."""
    if _watched():
        meet_group(scope)
        if rank(scope) == 0:
            flags = COMPLETES if operation == BARRIER or operation == SYNC else NO_FLAGS
            team = (row - state(6) - 64) >> 6
            _write(kind, operation, this_pe(), team, 0, 0, 0, epoch, flags)
        meet_group(scope)
