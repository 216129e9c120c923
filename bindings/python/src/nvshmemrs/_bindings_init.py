"""Init and enumerations of ``nvshmem.bindings`` of NVSHMEM4Py, for ``_bindings``."""

from __future__ import annotations

import ctypes
import enum
from typing import Any

import numpy as np

from . import _ffi, core
from .core._job import check, lib
from .core.nvshmem_types import NotSupportedError, NvshmemInvalid, error_of

__all__ = [
    "Flags",
    "InitAttr",
    "Pe_index",
    "Proxy_status",
    "Qp_handle_index",
    "Status",
    "UniqueId",
    "check_status",
    "get_uniqueid",
    "hostlib_finalize",
    "hostlib_init_attr",
    "info_get_version",
    "init_status",
    "set_attr_mpi_comm_args",
    "set_attr_uniqueid_args",
    "uniqueid",
    "vendor_get_version_info",
]

UniqueId = uniqueid = core.UniqueID
_ID_BYTES = 128


class Status(enum.IntEnum):
    """Statuses of NVSHMEM's functions, for which this module raises errors."""

    SUCCESS = 0
    ERROR_INVALID_VALUE = 1
    ERROR_OUT_OF_MEMORY = 2
    ERROR_NOT_SUPPORTED = 3
    ERROR_SYMMETRY = 4
    ERROR_GPU_NOT_SELECTED = 5
    ERROR_COLLECTIVE_LAUNCH_FAILED = 6
    ERROR_INTERNAL = 7
    ERROR_SENTINEL = 0x7FFFFFFF


class Flags(enum.IntEnum):
    """How ``hostlib_init_attr`` finds the other PEs; 0 is the environment."""

    INIT_THREAD_PES = 1
    INIT_WITH_MPI_COMM = 2
    INIT_WITH_SHMEM = 4
    INIT_WITH_UNIQUEID = 8
    INIT_MAX = 1 << 31


class Pe_index(enum.IntEnum):
    """Numbers that are no PE."""

    PE_INVALID = -1
    PE_ANY = 32768
    PE_ALL = 32768


class Qp_handle_index(enum.IntEnum):
    """Numbers of queue pairs; see ``docs/device.md``."""

    QP_HOST = 0
    QP_DEFAULT = 1
    QP_ANY = 32767
    QP_ALL = 32767


class Proxy_status(enum.IntEnum):
    """States of NVSHMEM's proxy, which this library does not have."""

    _PROXY_GLOBAL_EXIT_NOT_REQUESTED = 0
    _PROXY_GLOBAL_EXIT_INIT = 1
    _PROXY_GLOBAL_EXIT_REQUESTED = 2
    _PROXY_GLOBAL_EXIT_FINISHED = 3
    _PROXY_GLOBAL_EXIT_MAX_STATE = 0x7FFFFFFF


class _UniqueIdArguments(ctypes.Structure):
    _fields_ = (
        ("version", ctypes.c_int32),
        ("id", ctypes.c_void_p),
        ("rank", ctypes.c_int32),
        ("nranks", ctypes.c_int32),
    )


class _InitAttributes(ctypes.Structure):
    _fields_ = (
        ("version", ctypes.c_int32),
        ("mpi_comm", ctypes.c_void_p),
        ("arguments_version", ctypes.c_int32),
        ("unique_id", _UniqueIdArguments),
        ("rest", ctypes.c_char * 96),
    )


assert (ctypes.sizeof(_UniqueIdArguments), ctypes.sizeof(_InitAttributes)) == (24, 144)


class InitAttr:
    """The attributes of ``hostlib_init_attr``, filled by ``set_attr_uniqueid_args`` or
    ``set_attr_mpi_comm_args``: 144 bytes of zeros at first.
    """

    _TYPE = np.dtype(
        [("version", np.int32), ("mpi_comm", np.intp), ("args", np.int8, 128)], align=True
    )

    def __init__(self) -> None:
        self._data = np.zeros(1, dtype=self._TYPE).view(np.recarray)

    @property
    def ptr(self) -> int:
        """The address of the bytes."""
        return int(self._data.ctypes.data)

    @property
    def version(self) -> int:
        """Version and size of the struct; unused."""
        return int(self._data.version[0])

    @version.setter
    def version(self, value: int) -> None:
        self._data.version = value

    @property
    def mpi_comm(self) -> int:
        """The address of an ``MPI_Comm``, or 0."""
        return int(self._data.mpi_comm[0])

    @mpi_comm.setter
    def mpi_comm(self, value: int) -> None:
        self._data.mpi_comm = value


def check_status(status: int) -> None:
    """Raises the error for a status other than 0."""
    if status:
        text: bytes = lib.nvshmemrs_status_string(status)
        raise error_of(status, f"Status code {status}: {text.decode()}")


def _attributes(attr: int) -> _InitAttributes:
    if not attr:
        raise NvshmemInvalid("attr is 0: pass the ptr of an InitAttr")
    return _InitAttributes.from_address(attr)


def get_uniqueid(uniqueid: int) -> None:
    """Makes a unique id in the 128 bytes at an address. Local; works before init."""
    check(lib.nvshmemrs_unique_id_new(ctypes.cast(uniqueid, ctypes.POINTER(_ffi.UniqueId))))


def set_attr_uniqueid_args(myrank: int, nranks: int, uniqueid: int, attr: int) -> None:
    """Has ``hostlib_init_attr`` join as PE `myrank` of `nranks` of the job that the unique id at an
    address names, which must stay there until then. Local.
    """
    if not uniqueid:
        raise NvshmemInvalid("uniqueid is 0: pass the ptr of a uniqueid")
    arguments = _attributes(attr).unique_id
    arguments.id, arguments.rank, arguments.nranks = uniqueid, myrank, nranks


def set_attr_mpi_comm_args(mpi_comm: int, nvshmem_attr: int) -> None:
    """Has ``hostlib_init_attr`` join the job of the processes of the communicator at an address.
    Local.
    """
    _attributes(nvshmem_attr).mpi_comm = mpi_comm


def hostlib_init_attr(flags: int, attr: int) -> None:
    """``core.init`` with what `flags` of ``Flags`` and the InitAttr at `attr` say; with `flags` 0
    the environment says it, and `attr` may be 0. Collective over all PEs.
    """
    if flags == 0:
        core.init()
    elif flags == Flags.INIT_WITH_UNIQUEID:
        arguments = _attributes(attr).unique_id
        if not arguments.id:
            raise NvshmemInvalid("attr has no unique id: call set_attr_uniqueid_args first")
        uid = core.UniqueID.from_bytes(ctypes.string_at(arguments.id, _ID_BYTES))
        core.init(
            uid=uid, rank=arguments.rank, nranks=arguments.nranks, initializer_method="uid"
        )
    elif flags == Flags.INIT_WITH_MPI_COMM:
        address = _attributes(attr).mpi_comm
        if not address:
            raise NvshmemInvalid("attr has no communicator: call set_attr_mpi_comm_args first")
        core.init(mpi_comm=_communicator(address), initializer_method="mpi")
    else:
        raise NotSupportedError(
            f"hostlib_init_attr: flags={flags}: INIT_WITH_UNIQUEID, INIT_WITH_MPI_COMM and 0 are "
            "supported"
        )


def _communicator(address: int) -> Any:
    """The communicator of mpi4py for the ``MPI_Comm`` at an address."""
    try:
        from mpi4py import MPI
    except ImportError as error:
        raise NotSupportedError("hostlib_init_attr: communicators need mpi4py") from error
    made = MPI.Intracomm()
    ctypes.memmove(MPI._addressof(made), address, MPI._sizeof(MPI.Comm))
    return made


def hostlib_finalize() -> None:
    """``core.finalize``. Collective over all PEs."""
    core.finalize()


def init_status() -> int:
    """How far this process is, as in ``Init_status``. Local."""
    return int(core.init_status())


def _store(address: int, value: int) -> None:
    ctypes.c_int32.from_address(address).value = value


def info_get_version(major: int, minor: int) -> None:
    """Stores the OpenSHMEM version that the library follows, at two addresses. Local."""
    parts = core.get_version().openshmem_spec_version.split(".")
    _store(major, int(parts[0]))
    _store(minor, int(parts[1]))


def vendor_get_version_info(major: int, minor: int, patch: int) -> None:
    """Stores the library's version at three addresses. Local."""
    number = ctypes.POINTER(ctypes.c_int32)
    check(lib.nvshmemrs_version(*(ctypes.cast(part, number) for part in (major, minor, patch))))
