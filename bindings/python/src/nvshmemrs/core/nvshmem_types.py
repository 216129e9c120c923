"""Exceptions, versions, teams: the types that the other modules share."""

from __future__ import annotations

import enum
import threading
from typing import (
    Any,
    Dict,
    ItemsView,
    Iterator,
    KeysView,
    NamedTuple,
    Optional,
    Tuple,
    Type,
    ValuesView,
)

from .._ffi import Status, Team
from .._handle import Handle

__all__ = [
    "BootstrapError",
    "BufferTypes",
    "CheckFailedError",
    "CudaError",
    "ForkedError",
    "HeapExhaustedError",
    "MismatchError",
    "MutableEnum",
    "NotInitializedError",
    "NotSupportedError",
    "NvshmemError",
    "NvshmemInvalid",
    "NvshmemStream",
    "NvshmemWarning",
    "PeDiedError",
    "PeStoppedError",
    "PeerArgumentError",
    "TeamBrokenError",
    "Teams",
    "Version",
    "WaitTimeoutError",
]


class NvshmemWarning(UserWarning):
    """torch, JAX or a frontend of kernels has a version that was not tested."""


class NvshmemError(Exception):
    """A call failed. ``status`` is the number from ``nvshmemrs_status``, None where Python found
    the error.
    """

    status: Optional[int] = None

    def __init__(self, msg: str = "") -> None:
        super().__init__(msg)
        self.msg = msg


class NvshmemInvalid(NvshmemError, ValueError):
    """An argument, or the moment of the call, is wrong. Nothing was written."""


class NotInitializedError(NvshmemInvalid):
    """Called before ``init`` or after ``finalize``."""


class NotSupportedError(NvshmemInvalid, NotImplementedError):
    """This version or this machine does not support the request."""


class HeapExhaustedError(NvshmemError, MemoryError):
    """The symmetric heap, or the machine's memory, cannot hold the allocation."""


class MismatchError(NvshmemError):
    """The members of a collective gave different arguments. Every member raises."""


class PeerArgumentError(NvshmemError):
    """Another member of the collective gave an argument that it could not accept. Every member
    raises.
    """


class PeDiedError(NvshmemError):
    """A PE of the job died, or left without ``finalize``; the message names it."""


class PeStoppedError(NvshmemError):
    """A PE is stopped (SIGSTOP, Ctrl-Z), longer than NVSHMEMRS_STOP_TIMEOUT; the message names it.
    Waits are possible again when it continues.
    """


class WaitTimeoutError(NvshmemError, TimeoutError):
    """A deadline passed; the message names the operation and the PEs awaited."""


class BootstrapError(NvshmemError):
    """The PEs could not find or accept each other."""


class ForkedError(NvshmemError):
    """The caller is a forked child, which is no PE of the job."""


class TeamBrokenError(NvshmemError):
    """A member left a collective half-way, so its team cannot be used any more."""


class CudaError(NvshmemError):
    """A call of the CUDA driver failed; the message has the driver's error."""


class CheckFailedError(NvshmemError):
    """The synchronisation checker has findings, on this PE or another one. ``finalize`` raises this
    error after it has completed.
    """


_ERRORS: Dict[int, Type[NvshmemError]] = {
    Status.INVALID_VALUE: NvshmemInvalid,
    Status.OUT_OF_MEMORY: HeapExhaustedError,
    Status.NOT_SUPPORTED: NotSupportedError,
    Status.NOT_SYMMETRIC: NvshmemInvalid,
    Status.NOT_INITIALIZED: NotInitializedError,
    Status.BAD_HANDLE: NvshmemInvalid,
    Status.PE_RANGE: NvshmemInvalid,
    Status.OUT_OF_BOUNDS: NvshmemInvalid,
    Status.MISMATCH: MismatchError,
    Status.PE_DIED: PeDiedError,
    Status.PE_STOPPED: PeStoppedError,
    Status.TIMEOUT: WaitTimeoutError,
    Status.BOOTSTRAP: BootstrapError,
    Status.FORKED: ForkedError,
    Status.BAD_FREE: NvshmemInvalid,
    Status.TEAM_BROKEN: TeamBrokenError,
    Status.PEER_ARGUMENT: PeerArgumentError,
    Status.CHECK_FAILED: CheckFailedError,
    Status.CUDA: CudaError,
}


def error_of(status: int, message: str) -> NvshmemError:
    """The exception for a status of the C library."""
    error = _ERRORS.get(status, NvshmemError)(message)
    error.status = status
    return error


class Version(NamedTuple):
    """The result of ``get_version``."""

    openshmem_spec_version: str = ""
    nvshmem4py_version: str = ""
    libnvshmem_version: str = ""

    def __repr__(self) -> str:
        return (
            f"OpenSHMEM specification: {self.openshmem_spec_version}\n"
            f"nvshmemrs for Python: {self.nvshmem4py_version}\n"
            f"libnvshmemrs: {self.libnvshmem_version}"
        )


class BufferTypes(enum.IntEnum):
    """Where the memory of a Buffer comes from. MULTIMEM needs GPUs, so no Buffer has it here."""

    NORMAL = 0
    PEER = 1
    MULTIMEM = 2
    EXTERNAL = 3


class MutableEnum:
    """An enum to which members can be added: attributes, ``[name]``, ``in`` and iteration over the
    names.
    """

    def __init__(self, **members: int) -> None:
        self._members = dict(members)

    @classmethod
    def from_enum(cls, source: Type[enum.Enum]) -> "MutableEnum":
        """The members of a standard enum."""
        return cls(**{member.name: member.value for member in source})

    def add(self, key: str, value: int) -> None:
        """Adds a member; ValueError if the name is taken."""
        if key in self._members:
            raise ValueError(f"{key!r} is {self._members[key]} already")
        self._members[key] = value

    def remove(self, key: str) -> None:
        """Removes a member; ValueError if there is none of that name."""
        if key not in self._members:
            raise ValueError(f"no member {key!r}")
        del self._members[key]

    def remove_by_value(self, value: int) -> None:
        """Removes the first member with this value, if there is one."""
        for key, found in self._members.items():
            if found == value:
                del self._members[key]
                return

    def keys(self) -> KeysView[str]:
        """The names."""
        return self._members.keys()

    def values(self) -> ValuesView[int]:
        """The values."""
        return self._members.values()

    def items(self) -> ItemsView[str, int]:
        """Names with values."""
        return self._members.items()

    def __getattr__(self, name: str) -> int:
        if name.startswith("_"):  # before __init__, as when unpickled
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"no member {name!r} among {', '.join(self._members)}") from None

    def __getitem__(self, name: str) -> int:
        return self._members[name]

    def __contains__(self, name: object) -> bool:
        return name in self._members

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v}' for k, v in self._members.items())})"


class TeamsOfProcess(MutableEnum):
    """Teams by name; ``WORLD`` is short for ``TEAM_WORLD``. Teams that are made add their names."""

    def __getitem__(self, name: str) -> int:
        if name not in self._members and f"TEAM_{name}" in self._members:
            name = f"TEAM_{name}"
        return self._members[name]

    def __contains__(self, name: object) -> bool:
        return name in self._members or f"TEAM_{name}" in self._members

    def reset(self) -> None:
        """Forgets all but the predefined teams."""
        self._members = dict(_PREDEFINED)


# TEAM_MC_SHARED, TEAMS_MIN and TEAM_INDEX_MAX have the reference's numbers and name no team here.
TEAM_MC_SHARED = 6
_PREDEFINED: Dict[str, int] = {
    "TEAM_INVALID": -1,
    "TEAM_WORLD": Team.WORLD.value,
    "TEAM_SHARED": Team.SHARED.value,
    "TEAM_NODE": Team.NODE.value,
    "TEAM_SAME_MYPE_NODE": Team.SAME_MYPE_NODE.value,
    "TEAM_SAME_GPU": Team.SAME_GPU.value,
    "TEAM_GPU_LEADERS": Team.GPU_LEADERS.value,
    "TEAM_MC_SHARED": TEAM_MC_SHARED,
    "TEAMS_MIN": 7,
    "TEAM_INDEX_MAX": 32767,
}
Teams = TeamsOfProcess(**_PREDEFINED)


class _Names(threading.local):
    members: Optional[Dict[str, int]] = None


_names = _Names()


def name_teams_of_thread() -> None:
    """Gives the calling thread, which is a PE, a separate set of names."""
    _names.members = dict(_PREDEFINED)


class TeamsOfThread(TeamsOfProcess):
    """The type of `Teams` while PEs are threads: each of these threads has a separate set of names,
    all other threads use the process's.
    """

    @property
    def _members(self) -> Dict[str, int]:
        mine = _names.members
        names: Dict[str, int] = self.__dict__["_members"] if mine is None else mine
        return names

    @_members.setter
    def _members(self, members: Dict[str, int]) -> None:
        if _names.members is None:
            self.__dict__["_members"] = members
        else:
            _names.members = members


class NvshmemStream(Handle):
    """Wraps an object with a ``cuda_stream``, such as a torch.cuda.Stream, as in nvshmem.core;
    operations also accept the object itself.

    Operations on host memory take no CUDA stream; their streams are ``Stream()``.
    """

    def __init__(self, pt_stream: Any) -> None:
        if not hasattr(pt_stream, "cuda_stream"):
            raise NvshmemInvalid(f"pt_stream={pt_stream!r}: it has no attribute cuda_stream")
        self.pt_stream = pt_stream
        self.handle = self.cuda_stream = int(pt_stream.cuda_stream)

    def __cuda_stream__(self) -> Tuple[int, int]:
        return (0, self.handle)
