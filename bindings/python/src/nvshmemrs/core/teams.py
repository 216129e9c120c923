"""Teams: groups of PEs with numbers of their own.

A team is an int, or its name in ``Teams``, where new teams appear under the name that was given,
on their members. ``finalize`` forgets all but the predefined ones.
"""

from __future__ import annotations

import copy
import ctypes
import enum
from typing import Any, Optional, Tuple, Union

from .. import _ffi
from ._arguments import a_kind, bits, c_int, integer, queried_team, team_of
from ._job import check, fail_together, job, lib, team_sizes
from .nvshmem_types import NvshmemInvalid, Teams

__all__ = [
    "TeamConfig",
    "TeamConfigMask",
    "TeamUniqueId",
    "get_team_unique_id",
    "team_destroy",
    "team_get_config",
    "team_init",
    "team_split_2d",
    "team_split_strided",
    "team_translate_pe",
]

_NO_TEAM = 2**64 - 1
Team = Union[int, str]


class TeamConfigMask(enum.IntFlag):
    """Which fields of a TeamConfig count."""

    NUM_CONTEXTS = _ffi.TeamConfigMask.NUM_CONTEXTS
    UNIQUEID = _ffi.TeamConfigMask.UNIQUEID


class TeamUniqueId:
    """A number by which the members of a new team find each other; see ``team_init``."""

    def __init__(self, value: int = 0) -> None:
        self._value = ctypes.c_uint64(_unsigned(value, "value"))

    @property
    def value(self) -> int:
        """The number, 64 bits unsigned; 0 is none."""
        return self._value.value

    @property
    def ptr(self) -> int:
        """The address of the number."""
        return ctypes.addressof(self._value)

    def __index__(self) -> int:
        return self.value

    def __copy__(self) -> "TeamUniqueId":
        return TeamUniqueId(self.value)  # at an address of its own

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TeamUniqueId) and self.value == other.value

    def __hash__(self) -> int:
        return hash(self.value)

    def __str__(self) -> str:
        return str(self.value)

    def __repr__(self) -> str:
        return f"TeamUniqueId({self.value})"


class TeamConfig:
    """The configuration of a new team: the number of contexts, and the unique id for ``team_init``.

    `version` is 2, NVSHMEM's number for this layout, or 0, which means the same.
    """

    def __init__(
        self, version: int = 2, num_contexts: int = 0, uniqueid: Union[int, TeamUniqueId] = 0
    ) -> None:
        self._data = _ffi.TeamConfig()
        check(lib.nvshmemrs_team_config_default(ctypes.byref(self._data)))
        self.version = version
        self.num_contexts = num_contexts
        self.uniqueid = uniqueid

    @property
    def version(self) -> int:
        """The layout: 2."""
        return 2

    @version.setter
    def version(self, value: int) -> None:
        if value not in (0, 2, self._data.version):
            raise NvshmemInvalid(f"version={value!r}: the layout of TeamConfig is version 2")

    @property
    def num_contexts(self) -> int:
        """How many contexts the team shall offer; counts with TeamConfigMask.NUM_CONTEXTS."""
        return int(self._data.num_contexts)

    @num_contexts.setter
    def num_contexts(self, value: int) -> None:
        self._data.num_contexts = c_int(value, "num_contexts")

    @property
    def uniqueid(self) -> int:
        """The number that the members of a new team share; 0 is none."""
        return int(self._data.uniqueid)

    @uniqueid.setter
    def uniqueid(self, value: Union[int, TeamUniqueId]) -> None:
        self._data.uniqueid = _unsigned(value, "uniqueid")

    @property
    def ptr(self) -> int:
        """The address of the 64 bytes that the library reads."""
        return ctypes.addressof(self._data)

    def __copy__(self) -> "TeamConfig":
        return copy.deepcopy(self)  # it is a value: the 64 bytes are copied, too

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TeamConfig) and bytes(self._data) == bytes(other._data)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"TeamConfig(num_contexts={self.num_contexts}, uniqueid={self.uniqueid})"


def team_split_strided(
    parent_team: Team,
    start: int,
    stride: int,
    size: int,
    config: Optional[TeamConfig] = None,
    config_mask: int = 0,
    new_team_name: Optional[str] = None,
) -> Optional[int]:
    """Makes a team of the members `start`, `start + stride`, ... of `parent_team`, `size` of them.

    Collective over `parent_team` with the same numbers. Returns the team to its members, and None
    to the others. `stride` may be negative, and 0 if `size` is 1. Without `new_team_name` its name
    is TEAM_ and its number. OpenSHMEM 1.5 section 9.4.6.
    """
    parent = team_of(parent_team)
    made = ctypes.c_uint64()
    try:
        _free_names(new_team_name)
        numbers = (c_int(start, "start"), c_int(stride, "stride"), c_int(size, "size"))
        data, mask = _config(config, "config"), bits(config_mask, TeamConfigMask, "config_mask")
    except NvshmemInvalid as error:
        fail_together(error, lib.nvshmemrs_team_split_strided, parent, 0, 0, 0, None, 0, made)
    check(lib.nvshmemrs_team_split_strided(job.runtime, parent, *numbers, data, mask, made))
    return _named(made.value, new_team_name or f"TEAM_{made.value}")


def team_split_2d(
    parent_team: Team,
    xrange: int,
    xaxis_config: Optional[TeamConfig] = None,
    xaxis_mask: int = 0,
    yaxis_config: Optional[TeamConfig] = None,
    yaxis_mask: int = 0,
    new_team_name: Optional[str] = None,
) -> Tuple[int, int]:
    """Lays the members of `parent_team` out in rows of `xrange`, and makes a team of each row and
    each column.

    Collective over `parent_team` with the same `xrange`. Returns the caller's row (the x-axis) and
    its column, named `new_team_name` with _X and _Y, or TEAM_X_ and TEAM_Y_ with their numbers.
    OpenSHMEM 1.5 section 9.4.7.
    """
    parent = team_of(parent_team)
    x, y = ctypes.c_uint64(), ctypes.c_uint64()
    try:
        if new_team_name is not None:
            _free_names(new_team_name, f"{new_team_name}_X", f"{new_team_name}_Y")
        columns = c_int(xrange, "xrange")
        x_axis = (
            _config(xaxis_config, "xaxis_config"),
            bits(xaxis_mask, TeamConfigMask, "xaxis_mask"),
        )
        y_axis = (
            _config(yaxis_config, "yaxis_config"),
            bits(yaxis_mask, TeamConfigMask, "yaxis_mask"),
        )
    except NvshmemInvalid as error:
        fail_together(error, lib.nvshmemrs_team_split_2d, parent, 0, None, 0, None, 0, x, y)
    check(lib.nvshmemrs_team_split_2d(job.runtime, parent, columns, *x_axis, *y_axis, x, y))
    rows = new_team_name and f"{new_team_name}_X"
    cols = new_team_name and f"{new_team_name}_Y"
    in_x = _named(x.value, rows or f"TEAM_X_{x.value}")
    in_y = _named(y.value, cols or f"TEAM_Y_{y.value}")
    assert in_x is not None and in_y is not None, "every PE has a row and a column"
    return in_x, in_y


def team_init(
    team_config: TeamConfig,
    config_mask: int = 0,
    npes: Optional[int] = None,
    pe_idx_in_team: Optional[int] = None,
    new_team_name: Optional[str] = None,
    *,
    n_pes: Optional[int] = None,
    my_pe: Optional[int] = None,
) -> int:
    """Makes a team of any PEs: of all that call with the same `team_config.uniqueid`.

    Collective over its `npes` members; each says which number it has in it, `pe_idx_in_team`. The
    unique id counts whether or not `config_mask` has its bit. `n_pes` and `my_pe` are other
    spellings of `npes` and `pe_idx_in_team`. A wrong argument of one member that is not in its
    numbers raises there only, and the others wait for it. NVSHMEM `nvshmemx_team_init`.
    """
    _free_names(new_team_name)
    count = c_int(_either(npes, n_pes, "npes", "n_pes"), "npes")
    number = c_int(_either(pe_idx_in_team, my_pe, "pe_idx_in_team", "my_pe"), "pe_idx_in_team")
    data = _config(team_config, "team_config")
    if data is None or team_config.uniqueid == 0:
        raise NvshmemInvalid(
            "team_config has no uniqueid, by which the members find each other: pass them all "
            "TeamConfig(uniqueid=...), a number of your own or one from get_team_unique_id()"
        )
    mask = bits(config_mask, TeamConfigMask, "config_mask") | TeamConfigMask.UNIQUEID
    made = ctypes.c_uint64()
    check(lib.nvshmemrs_team_init(job.runtime, data, mask, count, number, made))
    team = _named(made.value, new_team_name or f"TEAM_{made.value}")
    assert team is not None, "every caller is a member"
    return team


def team_destroy(team: Optional[Team]) -> None:
    """Ends a team and drops its name; its number may come again.

    Collective over the team. None, which non-members have, does nothing. A predefined team is an
    error. OpenSHMEM 1.5 section 9.4.8.
    """
    handle = queried_team(team)
    team_sizes.pop(handle, None)
    check(lib.nvshmemrs_team_destroy(job.runtime, handle))
    Teams.remove_by_value(handle)


def team_translate_pe(src_team: Optional[Team], src_pe: int, dest_team: Optional[Team]) -> int:
    """The number in `dest_team` of the PE that is `src_pe` in `src_team`, -1 if it is not a member.

    Local. OpenSHMEM 1.5 section 9.4.5.
    """
    pe = ctypes.c_int32()
    status = lib.nvshmemrs_team_translate_pe(
        job.runtime,
        queried_team(src_team),
        c_int(src_pe, "src_pe"),
        queried_team(dest_team),
        ctypes.byref(pe),
    )
    check(status)
    return pe.value


def team_get_config(team: Team) -> TeamConfig:
    """A copy of the team's configuration at creation. Local. OpenSHMEM 1.5 section 9.4.4."""
    config = TeamConfig()
    fields = TeamConfigMask.NUM_CONTEXTS | TeamConfigMask.UNIQUEID
    check(lib.nvshmemrs_team_get_config(job.runtime, team_of(team), fields, config._data))
    return config


def get_team_unique_id() -> TeamUniqueId:
    """A random number for ``TeamConfig(uniqueid=...)``. Local; hand it to the other members."""
    found = TeamUniqueId()
    check(lib.nvshmemrs_team_unique_id(job.runtime, found._value))
    return found


def _free_names(*names: Optional[str]) -> None:
    """Raises if a new team cannot have one of these names. It comes before the collective."""
    for name in names:
        if name is None:
            continue
        if not isinstance(name, str) or not name:
            raise NvshmemInvalid(f"new_team_name={name!r}: give a string, or None")
        if name in Teams:
            raise NvshmemInvalid(
                f"new_team_name={name!r}: there is a team of that name, number {Teams[name]}"
            )


def _named(team: int, name: str) -> Optional[int]:
    if team == _NO_TEAM:
        return None
    Teams.add(name, team)
    return team


def _config(config: Any, name: str) -> Any:
    """A pointer to a config's data, None for None."""
    if config is None:
        return None
    if not isinstance(config, TeamConfig):
        raise NvshmemInvalid(f"{name} is {a_kind(config)}: pass a TeamConfig or None")
    return ctypes.byref(config._data)


def _either(value: Optional[int], other: Optional[int], name: str, spelling: str) -> int:
    if (value is None) == (other is None):
        raise NvshmemInvalid(f"{name}={value!r}, {spelling}={other!r}: give one of them")
    return other if value is None else value  # type: ignore[return-value]


def _unsigned(value: Any, name: str) -> int:
    number = integer(value, name)
    if not 0 <= number < 2**64:
        raise NvshmemInvalid(f"{name}={number}: it must be 0 to 2**64 - 1")
    return number
