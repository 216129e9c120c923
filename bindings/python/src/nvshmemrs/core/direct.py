"""Queries: who am I, how many are we, what state is the library in. All local."""

from __future__ import annotations

import ctypes
import enum
from typing import Union

from .. import _ffi
from ._job import check, job, lib
from ._operand import team_of

__all__ = [
    "ComparisonType",
    "InitStatus",
    "init_status",
    "my_pe",
    "n_pes",
    "team_my_pe",
    "team_n_pes",
]


class ComparisonType(enum.IntEnum):
    """How ``signal_wait`` compares the signal with the value."""

    CMP_EQ = _ffi.Cmp.EQ
    CMP_NE = _ffi.Cmp.NE
    CMP_GT = _ffi.Cmp.GT
    CMP_LE = _ffi.Cmp.LE
    CMP_LT = _ffi.Cmp.LT
    CMP_GE = _ffi.Cmp.GE


class InitStatus(enum.IntEnum):
    """What ``init_status`` returns. This version knows the states NOT_INITIALIZED and
    IS_INITIALIZED.
    """

    STATUS_NOT_INITIALIZED = 0
    STATUS_IS_BOOTSTRAPPED = 1
    STATUS_IS_INITIALIZED = 2
    STATUS_LIMITED_MPG = 3
    STATUS_FULL_MPG = 4
    STATUS_INVALID = 32767


def init_status() -> InitStatus:
    """Whether this process is a PE."""
    if job.runtime and not job.is_forked():
        return InitStatus.STATUS_IS_INITIALIZED
    return InitStatus.STATUS_NOT_INITIALIZED


def my_pe() -> int:
    """This PE's number, 0 to ``n_pes() - 1``. OpenSHMEM 1.5 section 9.1.5."""
    pe = ctypes.c_int32()
    check(lib.nvshmemrs_my_pe(job.runtime, ctypes.byref(pe)))
    return pe.value


def n_pes() -> int:
    """The number of PEs in the job. OpenSHMEM 1.5 section 9.1.6."""
    pes = ctypes.c_int32()
    check(lib.nvshmemrs_n_pes(job.runtime, ctypes.byref(pes)))
    return pes.value


def team_my_pe(team: Union[int, str]) -> int:
    """This PE's number in `team`, -1 if it is not a member. OpenSHMEM 1.5 section 9.4.1."""
    pe = ctypes.c_int32()
    check(lib.nvshmemrs_team_my_pe(job.runtime, team_of(team), ctypes.byref(pe)))
    return pe.value


def team_n_pes(team: Union[int, str]) -> int:
    """The number of PEs in `team`. OpenSHMEM 1.5 section 9.4.2."""
    pes = ctypes.c_int32()
    check(lib.nvshmemrs_team_n_pes(job.runtime, team_of(team), ctypes.byref(pes)))
    return pes.value
