"""Teams. This version has the predefined ones: TEAM_WORLD, TEAM_SHARED, TEAM_NODE."""

from __future__ import annotations

import ctypes
from typing import Union

from ._job import check, job, lib
from ._operand import c_int, team_of

__all__ = ["team_translate_pe"]


def team_translate_pe(src_team: Union[int, str], src_pe: int, dest_team: Union[int, str]) -> int:
    """The number in `dest_team` of the PE that is `src_pe` in `src_team`, -1 if it is not a member.

    Local. OpenSHMEM 1.5 section 9.4.4.
    """
    pe = ctypes.c_int32()
    status = lib.nvshmemrs_team_translate_pe(
        job.runtime,
        team_of(src_team),
        c_int(src_pe, "src_pe"),
        team_of(dest_team),
        ctypes.byref(pe),
    )
    check(status)
    return pe.value
