"""Queries: the PE's number, the number of PEs, the state of the library. All local."""

from __future__ import annotations

import ctypes
import enum
from typing import Union

from .. import _ffi
from ._arguments import queried_team
from ._job import check, job, lib
from .nvshmem_types import NvshmemInvalid

__all__ = [
    "ComparisonType",
    "InitStatus",
    "SmemAmount",
    "ThreadSupport",
    "ask_smem",
    "init_status",
    "my_pe",
    "n_pes",
    "query_thread",
    "team_my_pe",
    "team_n_pes",
]


class ComparisonType(enum.IntEnum):
    """How a wait or a test compares an element with the value."""

    CMP_EQ = _ffi.Cmp.EQ
    CMP_NE = _ffi.Cmp.NE
    CMP_GT = _ffi.Cmp.GT
    CMP_LE = _ffi.Cmp.LE
    CMP_LT = _ffi.Cmp.LT
    CMP_GE = _ffi.Cmp.GE
    CMP_SENTINEL = 32767


class ThreadSupport(enum.IntEnum):
    """Which threads of a PE may call."""

    THREAD_SINGLE = 0
    THREAD_FUNNELED = 1
    THREAD_SERIALIZED = 2
    THREAD_MULTIPLE = 3
    THREAD_TYPE_SENTINEL = 32767


class SmemAmount(enum.IntEnum):
    """The amount of shared memory that ``ask_smem`` returns."""

    SMEM_RECOMMENDED = 0
    SMEM_MINIMUM = 1
    SMEM_BARRIERS_ONLY = 2
    MAX = 32767


class InitStatus(enum.IntEnum):
    """The result of ``init_status``. This version knows the states NOT_INITIALIZED and
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


def query_thread() -> ThreadSupport:
    """THREAD_MULTIPLE: any thread of a PE may call at any time. Local; works before ``init``.
    OpenSHMEM 1.5 section 9.2.2.
    """
    return ThreadSupport(lib.nvshmemrs_thread_support())


SMEM_RECOMMENDED, SMEM_LEAST, SMEM_BARRIERS = 65536, 8320, 128
"""Bytes that ``ask_smem`` answers, as ``nvshmemrs_device.cuh`` has them."""


def ask_smem(amount: SmemAmount = SmemAmount.SMEM_RECOMMENDED) -> int:
    """The bytes of shared memory of a block that ``give_smem`` of a kernel wants: 65536, 8320 for
    SMEM_MINIMUM, and 128 for SMEM_BARRIERS_ONLY, with which no bulk copy is made. The kernel's
    launch asks for that much. Local; works before ``init``. NvshmemInvalid for another amount.
    """
    if amount not in tuple(SmemAmount):
        raise NvshmemInvalid(f"amount={amount!r}: it is a SmemAmount")
    special = {SmemAmount.SMEM_MINIMUM: SMEM_LEAST, SmemAmount.SMEM_BARRIERS_ONLY: SMEM_BARRIERS}
    return special.get(SmemAmount(amount), SMEM_RECOMMENDED)


def my_pe() -> int:
    """This PE's number, 0 to ``n_pes() - 1``. OpenSHMEM 1.5 section 9.1.2."""
    pe = ctypes.c_int32()
    check(lib.nvshmemrs_my_pe(job.runtime, ctypes.byref(pe)))
    return pe.value


def n_pes() -> int:
    """The number of PEs in the job. OpenSHMEM 1.5 section 9.1.3."""
    pes = ctypes.c_int32()
    check(lib.nvshmemrs_n_pes(job.runtime, ctypes.byref(pes)))
    return pes.value


def team_my_pe(team: Union[int, str, None]) -> int:
    """This PE's number in `team`, -1 if it is not a member; None is the team that a non-member
    gets. OpenSHMEM 1.5 section 9.4.1.
    """
    pe = ctypes.c_int32()
    check(lib.nvshmemrs_team_my_pe(job.runtime, queried_team(team), ctypes.byref(pe)))
    return pe.value


def team_n_pes(team: Union[int, str, None]) -> int:
    """The number of PEs in `team`, -1 for None or TEAM_INVALID. OpenSHMEM 1.5 section 9.4.2."""
    pes = ctypes.c_int32()
    check(lib.nvshmemrs_team_n_pes(job.runtime, queried_team(team), ctypes.byref(pes)))
    return pes.value
