"""The members of teams, as the host of kernels in Triton needs them."""

from __future__ import annotations

from typing import Any, List, Tuple

from ._arguments import team_of
from .direct import team_n_pes
from .nvshmem_types import NvshmemInvalid, Teams
from .teams import team_translate_pe


def members_of(team: Any) -> List[int]:
    """The PEs of a team that this PE is a member of, in its order. Raises if it is none."""
    handle = team_of(team)
    size = int(team_n_pes(handle))
    if size < 1:
        raise NvshmemInvalid(f"team={team!r}: this PE is no member; it passes None")
    return [int(team_translate_pe(handle, member, Teams.TEAM_WORLD)) for member in range(size)]


def team_words(pes: List[int], me: int) -> Tuple[int, int]:
    """A team for kernels in Triton, in two words of 64 bits: its size and this PE's number
    there; the first member, and the step from one to the next, 0 if they must be listed.
    """
    steps = {right - left for left, right in zip(pes, pes[1:])} or {1}
    step = steps.pop() if len(steps) == 1 else 0
    return len(pes) | me << 32, pes[0] + (step << 32)
