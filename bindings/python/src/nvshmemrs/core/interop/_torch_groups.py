"""Groups of torch's operations: a team, a ProcessGroup, or a dimension of a DeviceMesh, by name.

Operations take a string, which ``torch.compile`` keeps in its graphs. It is the name of a team.
"""

from __future__ import annotations

import ctypes
import hashlib
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import numpy as np

from .._arguments import shown, team_names, team_of, teams
from .._job import check, job, lib, live
from ..collective import team_size
from ..nvshmem_types import NotInitializedError, NvshmemInvalid, Teams
from ..teams import TeamConfig, team_destroy, team_init, team_translate_pe

__all__ = ["group_name", "register_group", "unregister_group"]


# Of the names of teams that register_group makes.
_PREFIX = "torch:"


class Group(NamedTuple):
    """A team as an operation uses it: its handle, its size, and the caller's number in it."""

    team: int
    size: int
    me: int
    name: str


# Groups by runtime and team. A team's handle does not come again.
_groups: Dict[Tuple[int, int], Group] = {}


def group_of(name: str) -> Group:
    """The group that an operation was given by name; NvshmemInvalid if the caller is no member."""
    team = Teams._members.get(name)
    found = None if team is None else _groups.get((job.runtime, team))
    return _group_of(name) if found is None else found


def _group_of(name: str) -> Group:
    if not job.runtime:
        raise NotInitializedError("group: this process is not a PE; call nvshmemrs.core.init first")
    if name not in Teams:
        raise NvshmemInvalid(
            f"group={name!r} is no team here: pass the name of a team, or what "
            "register_group(process_group) returns"
        )
    team = team_of(name)
    own = ctypes.c_int32()
    check(lib.nvshmemrs_team_my_pe(job.runtime, team, own))
    for place in [place for place in _groups if place[0] not in live]:
        del _groups[place]
    found = _groups[job.runtime, team] = Group(team, team_size(team), own.value, name)
    return found


def pe_in(group: Group, member: int, argument: str) -> int:
    """The PE of the job that is a member of a group."""
    if not 0 <= member < group.size:
        raise NvshmemInvalid(
            f"{argument}={member}: {group.name} has members 0 to {group.size - 1}"
        )
    return member if group.team == 0 else team_translate_pe(group.team, member, 0)


def group_name(group: Any = "TEAM_WORLD", mesh_dim: Any = None) -> str:
    """The string by which operations know a group.

    `group` is a team, by its name or its handle, or a ProcessGroup or a DeviceMesh that was given to
    ``register_group``; `mesh_dim` is the name or the number of a dimension of a mesh of several.
    Local. NvshmemInvalid if there is no such team, or the group was not registered.
    """
    if isinstance(group, str):
        if group not in Teams:
            raise NvshmemInvalid(
                f"group={group!r} is no team here: the teams are {team_names()}"
            )
        return group
    if hasattr(group, "__index__"):
        for name, handle in Teams.items():
            if handle == int(group):
                return name
        raise NvshmemInvalid(f"group={group}: no team of this PE has that handle")
    known = "a team's name or handle, a ProcessGroup, or a DeviceMesh"
    name = _torch_name(_process_group(group, mesh_dim, known))
    if name not in Teams:
        raise NvshmemInvalid(
            f"group is {shown(group)} that was not registered: call register_group(group) once, on "
            "all of its members"
        )
    return name


def register_group(group: Any, mesh_dim: Any = None) -> str:
    """Makes the team of a ProcessGroup, or of a dimension of a DeviceMesh, and returns its name.

    Collective over the group's members. A group that was registered before only gives its name. The
    team's members have the numbers of the group's ranks. Call it outside of compiled functions.
    """
    if not job.runtime:
        raise NotInitializedError("register_group: this process is not a PE; call init first")
    if _is_team(group):
        raise NvshmemInvalid(
            f"group={group!r} is a team already: pass it to operations without register_group"
        )
    found = _process_group(group, mesh_dim, "a ProcessGroup or a DeviceMesh")
    name = _torch_name(found)
    if name in Teams:
        return name
    ranks = _ranks(found)
    import torch.distributed as dist  # type: ignore[import-not-found, unused-ignore]

    mine = dist.get_rank()
    if mine not in ranks:
        raise NvshmemInvalid("register_group: this process is no member of the group")
    # Members of groups with the same ranks find each other by the group's name, which torch makes
    # unique in a job.
    text = f"{name} {ranks}".encode()
    unique = int.from_bytes(hashlib.sha256(text).digest()[:8], "little") | 1
    config = TeamConfig(uniqueid=unique)
    team_init(
        config, npes=len(ranks), pe_idx_in_team=ranks.index(mine), new_team_name=name
    )
    return name


def unregister_group(group: Any, mesh_dim: Any = None) -> None:
    """Destroys the team that ``register_group`` made of `group`, or whose name it returned.

    Collective over the group's members.
    """
    if isinstance(group, str) and mesh_dim is None:
        name = group
        if not name.startswith(_PREFIX) or name not in Teams:
            raise NvshmemInvalid(f"group={group!r} is no name of a team that register_group made")
    else:
        known = "the name that register_group returned, a ProcessGroup, or a DeviceMesh"
        name = group_name(_process_group(group, mesh_dim, known))
    team_destroy(name)


def _is_team(group: Any) -> bool:
    """Whether this is the name or the handle of a team of this PE."""
    found = teams()
    if isinstance(group, str):
        return group in found or f"TEAM_{group}" in found
    return isinstance(group, (int, np.integer)) and int(group) in found.values()


def _process_group(group: Any, mesh_dim: Any, known: str) -> Any:
    """The ProcessGroup that was passed, or that of a mesh's dimension. The caller takes `known`."""
    if hasattr(group, "get_group") and hasattr(group, "mesh"):
        if mesh_dim is None and group.mesh.dim() > 1:
            names = getattr(group, "mesh_dim_names", None)
            raise NvshmemInvalid(
                f"group is a DeviceMesh of {group.mesh.dim()} dimensions ({names}): pass mesh_dim"
            )
        return group.get_group(0 if mesh_dim is None else mesh_dim)
    if mesh_dim is not None:
        raise NvshmemInvalid(f"mesh_dim={mesh_dim!r} goes with a DeviceMesh, not with {shown(group)}")
    if group is None or not (hasattr(group, "rank") and hasattr(group, "size")):
        raise NvshmemInvalid(f"group is {shown(group)}: pass {known}")
    return group


def _torch_name(group: Any) -> str:
    """The name of a ProcessGroup, which is the same on all of its members."""
    import torch.distributed as dist  # type: ignore[import-not-found, unused-ignore]

    known: Dict[Any, str] = getattr(dist.distributed_c10d, "_pg_names", {})
    name: Optional[str] = getattr(group, "group_name", None)
    if name is None or group in known:
        name = known.get(group, name)
    return _PREFIX + str(name)


def _ranks(group: Any) -> List[int]:
    """The ranks of the whole job that are members, by their rank in the group."""
    import torch.distributed as dist  # type: ignore[import-not-found, unused-ignore]

    if hasattr(dist, "get_process_group_ranks"):  # torch 2.0 and later
        return list(dist.get_process_group_ranks(group))
    ranks = dist.distributed_c10d._pg_group_ranks[group]
    return sorted(ranks, key=ranks.__getitem__)

