"""Joining and leaving a job: ``init``, ``finalize``, unique ids, versions."""

from __future__ import annotations

import contextlib
import copy
import ctypes
import logging
import os
import sys
import threading
from typing import Any, Iterator, Optional, Tuple

import numpy as np

from .. import _ffi
from . import _device, _job
from ._arguments import a_kind, c_int, duration, integer, switch
from ._job import check, job, lib
from .interop.numpy import announce_if_checked
from .nvshmem_types import (
    CheckFailedError,
    ForkedError,
    NotInitializedError,
    NvshmemInvalid,
    Version,
)
from .streams import Stream, adopt_current, handle_of, release_all

__all__ = [
    "UniqueID",
    "finalize",
    "get_name",
    "get_unique_id",
    "get_version",
    "init",
    "job_scope",
    "leave",
]

_log = logging.getLogger("nvshmemrs")
_UNIQUE_ID = np.dtype([("version", np.int32), ("internal", np.int8, 124)])


class UniqueID:
    """Names a job, and carries the secret that its PEs prove to each other.

    Broadcast ``_data`` (128 bytes, in place) or ``bytes(uid)`` to the other PEs, or pickle it.
    """

    def __init__(self, size: int = 1) -> None:
        if size != 1:
            raise NvshmemInvalid(f"size={size}: a UniqueID is one id")
        self._data = np.zeros(1, dtype=_UNIQUE_ID).view(np.recarray)

    @classmethod
    def from_data(cls, data: Any) -> "UniqueID":
        """A copy of the 128 bytes of an array, such as another id's ``_data``."""
        return cls.from_bytes(np.ascontiguousarray(data).tobytes())

    @classmethod
    def from_bytes(cls, data: bytes) -> "UniqueID":
        """The id that ``bytes(uid)`` was made from."""
        if len(data) != _UNIQUE_ID.itemsize:
            raise NvshmemInvalid(f"a unique id has {_UNIQUE_ID.itemsize} bytes, not {len(data)}")
        made = cls()
        made._data.view(np.uint8)[:] = np.frombuffer(data, np.uint8)
        return made

    @property
    def ptr(self) -> int:
        """The address of the bytes."""
        return int(self._data.ctypes.data)

    @property
    def version(self) -> int:
        """Version and size of the struct; 0 while it is empty."""
        return int(self._data.version[0])

    def __bytes__(self) -> bytes:
        return bytes(self._data.tobytes())

    def __copy__(self) -> "UniqueID":
        return self.from_bytes(bytes(self))  # which another PE's may be received into

    def __len__(self) -> int:
        return 1

    def __getitem__(self, index: int) -> "UniqueID":
        if index not in (0, -1):
            raise IndexError(index)
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UniqueID) and bytes(self) == bytes(other)

    def __hash__(self) -> int:
        return hash(bytes(self))

    def __repr__(self) -> str:
        return "<UniqueID, empty>" if self.version == 0 else "<UniqueID>"  # it holds a secret


def get_unique_id(empty: bool = False) -> UniqueID:
    """Makes a unique id; with `empty` a blank one, to receive another PE's. Local; works before
    ``init``.
    """
    uid = UniqueID()
    if not switch(empty, "empty"):
        check(lib.nvshmemrs_unique_id_new(ctypes.cast(uid.ptr, ctypes.POINTER(_ffi.UniqueId))))
    return uid


def init(
    device: Any = None,
    uid: Optional[UniqueID] = None,
    rank: Optional[int] = None,
    nranks: Optional[int] = None,
    mpi_comm: Any = None,
    initializer_method: str = "",
    *,
    heap_bytes: Optional[int] = None,
    timeout: Optional[float] = None,
    init_timeout: Optional[float] = None,
    dev: Any = None,
    stream: None = None,
) -> None:
    """Makes this process a PE. Collective over all PEs of the job; returns when each can reach the
    others.

    Without arguments the job is the one in the environment (``nvshmemrs-run``, ``torchrun``,
    ``mpirun``, ``srun``); without any of these the process is the only PE. ``mpirun`` and ``srun``
    may start PEs on several hosts. Otherwise, by `initializer_method`:

    * ``"uid"``: the job that `uid` names, as PE `rank` of `nranks`. Also what "" means if `uid` is
      given.
    * ``"mpi"`` and ``"emulated_mpi"``: rank 0 of `mpi_comm` makes a unique id and broadcasts it
      there. Only ``Get_rank``, ``Get_size`` and ``bcast`` of the communicator are used. Also what
      "" means if `mpi_comm` is given. A communicator of mpi4py may have processes on several
      hosts: then nvshmemrs uses MPI, too, and mpi4py must have MPI_THREAD_MULTIPLE, its
      default. Call ``finalize`` before MPI is finalised.

    `device` says where the symmetric heap is: on a GPU, given by its number, "cuda:1", or a device
    of cuda.core, torch or CuPy; "host"; or None, for the GPU of the calling thread's current CUDA
    context if there is one, else the host. NVSHMEMRS_MEMORY, if it is set, overrides where, not
    which GPU. A thread without a current CUDA context has that of the heap's GPU afterwards, so
    that torch and CuPy use this GPU, too. `dev` is another spelling of it; `stream` is None.
    `heap_bytes` is the heap per PE, else NVSHMEM_SYMMETRIC_SIZE; `timeout` the seconds that a wait
    may last, else NVSHMEMRS_TIMEOUT;
    `init_timeout` the same for ``init``, else NVSHMEMRS_INIT_TIMEOUT.

    A PE may call it again, with the same arguments or without them. Such a call returns at once,
    and needs a further call of ``finalize``. Threads that are PEs of a local job count each for
    itself. OpenSHMEM 1.5 section 9.1.1.
    """
    if job.runtime and job.is_forked():
        raise ForkedError(
            "init: a forked child of a PE cannot join a job; start it with exec, as spawn does"
        )
    if stream is not None:
        handle_of(stream)  # raises: nothing is queued before init
    device = _either(device, dev)
    method = initializer_method or (
        "uid" if uid is not None else "mpi" if mpi_comm is not None else ""
    )
    origin = (method, uid, rank, nranks, mpi_comm)
    if job.runtime:
        _count(origin, device, heap_bytes, timeout, init_timeout)
        return
    attr = attributes(device, heap_bytes, timeout, init_timeout)
    spread = None
    if method == "uid":
        if uid is None or rank is None or nranks is None:
            missing = [
                n for n, v in (("uid", uid), ("rank", rank), ("nranks", nranks)) if v is None
            ]
            raise NvshmemInvalid(
                'initializer_method="uid" needs uid, rank and nranks; missing: '
                + ", ".join(missing)
            )
        if mpi_comm:
            raise NvshmemInvalid('initializer_method="uid" takes no mpi_comm')
    elif method in ("mpi", "emulated_mpi"):
        if mpi_comm is None:
            raise NvshmemInvalid(
                f'initializer_method="{method}" needs mpi_comm, for example mpi4py.MPI.COMM_WORLD'
            )
        if method == "mpi" and _is_spread(mpi_comm):
            spread = mpi_comm
        else:
            rank, nranks = mpi_comm.Get_rank(), mpi_comm.Get_size()
            mine = bytes(get_unique_id()) if rank == 0 else None
            uid = UniqueID.from_bytes(mpi_comm.bcast(mine, root=0))
    elif method:
        raise NvshmemInvalid(
            f'initializer_method="{method}": it is "" (the environment), "uid", "mpi" '
            'or "emulated_mpi"'
        )
    elif rank is not None or nranks is not None:
        raise NvshmemInvalid(
            "rank and nranks need a uid; without one the environment has this PE's number"
        )
    if not _joining.acquire(blocking=False):
        raise NvshmemInvalid(
            "init: another thread of this process is in init. All threads of a process are one PE: "
            "call init once; local() makes jobs whose PEs are threads"
        )
    try:
        joins = not job.runtime
        if joins:
            _join(attr, uid, rank, nranks, spread)
            job.origin = origin
    finally:
        _joining.release()
    if not joins:  # another thread has just done so
        _count(origin, device, heap_bytes, timeout, init_timeout)


_joining = threading.Lock()
# Held while `job.again` changes.
_counting = threading.Lock()


def _count(
    origin: Tuple[Any, ...],
    device: Any,
    heap_bytes: Optional[int],
    timeout: Optional[float],
    init_timeout: Optional[float],
) -> None:
    """Counts an ``init`` of a caller that is a PE already. Local."""
    if any(part not in (None, "") for part in origin) and origin != job.origin:
        subject = "thread" if _job.is_thread() else "process"
        raise NvshmemInvalid(
            f"init: this {subject} is PE {job.my_pe} of a job already, which it has joined by other "
            "arguments: call init with the same ones, or without uid, rank, nranks and mpi_comm, or "
            "call finalize first"
        )
    attr = attributes(device, heap_bytes, timeout, init_timeout, again=True)
    runtime = ctypes.c_uint64()
    if job.identity is None:
        check(lib.nvshmemrs_init(ctypes.byref(attr), ctypes.byref(runtime)))
    else:
        _join_by_id(attr, *job.identity, runtime)
    with _counting:
        job.again += 1


def _host() -> str:
    """The identity of this host: its name in NVSHMEMRS_HOST_ID, else its boot id and network
    namespace, as in the library.
    """
    name = os.environ.get("NVSHMEMRS_HOST_ID")
    if name:
        return f"named {name}"
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as boot:
        return f"found {boot.read().strip()} {os.stat('/proc/self/ns/net').st_ino}"


def _is_spread(comm: Any) -> bool:
    """Whether the processes of a communicator of mpi4py are on several hosts. Collective."""
    if type(comm).__module__ != "mpi4py.MPI":
        return False
    return len(set(comm.allgather(_host()))) > 1


def _address(comm: Any) -> int:
    """Where the MPI_Comm of a communicator of mpi4py is."""
    from mpi4py import MPI

    return int(MPI._addressof(comm))


def _join(
    attr: Any,
    uid: Optional[UniqueID],
    rank: Optional[int],
    nranks: Optional[int],
    spread: Any = None,
) -> None:
    runtime = ctypes.c_uint64()
    _job.interruptible()
    if spread is not None:
        check(
            lib.nvshmemrs_init_mpi_comm(
                ctypes.c_void_p(_address(spread)), ctypes.byref(attr), ctypes.byref(runtime)
            )
        )
    elif uid is None:
        check(lib.nvshmemrs_init(ctypes.byref(attr), ctypes.byref(runtime)))
    else:
        _join_by_id(attr, uid, rank, nranks, runtime)
    announce_if_checked()
    _job.joined(runtime.value)
    if uid is not None:
        # A copy: the program may receive another id in its own one.
        job.identity = copy.copy(uid), integer(rank, "rank"), integer(nranks, "nranks")
    if job.device >= 0:
        _device.use(job.device)


def _join_by_id(
    attr: Any, uid: Any, rank: Optional[int], nranks: Optional[int], runtime: Any
) -> None:
    if not isinstance(uid, UniqueID):
        raise NvshmemInvalid(f"uid is {a_kind(uid)}: pass a UniqueID, or UniqueID.from_bytes(...)")
    pointer = ctypes.cast(uid.ptr, ctypes.POINTER(_ffi.UniqueId))
    number, count = c_int(rank, "rank"), c_int(nranks, "nranks")
    # The library's texts would name the arguments of other calls.
    if count < 1:
        raise NvshmemInvalid(f"nranks={count}: it must be at least 1")
    if not 0 <= number < count:
        raise NvshmemInvalid(
            f"rank={number}: it must be from 0 to {count - 1}, which is nranks - 1"
        )
    check(
        lib.nvshmemrs_init_unique_id(
            pointer, number, count, ctypes.byref(attr), ctypes.byref(runtime)
        )
    )


def _either(device: Any, dev: Any) -> Any:
    """The device, under either name."""
    if device is not None and dev is not None:
        raise NvshmemInvalid(f"device={device!r} and dev={dev!r}: give one of them")
    return dev if device is None else device


def _choose(attr: Any, device: Any) -> None:
    """Chooses the heap's memory: by NVSHMEMRS_MEMORY, else the GPU that the program names or has
    chosen, else the host.
    """
    named = device is not None and not (isinstance(device, str) and device == "host")
    number = _device.number_of(device) if named else -1
    wanted = _device.asked()
    if wanted is None:
        on_gpu = named or (device is None and _device.is_current())
        attr.memory_kind = int(_ffi.Memory.DEVICE if on_gpu else _ffi.Memory.HOST)
    else:
        on_gpu = wanted == "device"
    if on_gpu:
        attr.device = number


def attributes(
    device: Any,
    heap_bytes: Optional[int],
    timeout: Optional[float],
    init_timeout: Optional[float],
    again: bool = False,
) -> Any:
    """The attributes for the library's init. Where init is called `again`, no choice is made."""
    attr = _ffi.InitAttr()
    check(lib.nvshmemrs_init_attr_default(ctypes.byref(attr)))
    if device is not None or not again:
        _choose(attr, device)
    if heap_bytes is not None:
        size = integer(heap_bytes, "heap_bytes")
        if not 0 < size < 2**63:
            raise NvshmemInvalid(f"heap_bytes={size}: it must be a positive integer")
        attr.heap_bytes = size
    for name, seconds in (("timeout", timeout), ("init_timeout", init_timeout)):
        if seconds is not None:
            setattr(attr, f"{name}_s", duration(seconds, name))
    return attr


def finalize(*, dev: Any = None, stream: Optional[Stream] = None) -> None:
    """Leaves the job. Collective over all PEs; waits for all streams, and includes a barrier.
    Allocations that are left are freed, teams and registrations ended.

    Where ``init`` was called several times, the last of as many calls does so, and the others
    return at once. ``init`` may follow, with other sizes too. `dev` and `stream` are accepted as seen in programs:
    None, "host", a Stream. OpenSHMEM 1.5 section 9.1.4.
    """
    if dev is not None and dev != "host":
        _device.number_of(dev)
    runtime = job.runtime
    if not runtime:  # which the library takes for a null handle, and releases in silence
        raise NotInitializedError("finalize: this process is not a PE; call init first")
    if job.is_forked():
        raise ForkedError("finalize: a forked child is not a PE; its parent finalizes")
    if stream is not None:
        handle_of(stream)  # raises if it is none
    with _counting:
        goes_on = job.again > 0
        job.again -= goes_on
    if goes_on:
        check(lib.nvshmemrs_finalize(runtime))
        return
    if _job.is_thread():
        raise NvshmemInvalid(
            f"finalize: this thread is PE {job.my_pe} of a local job, which close() ends, or the "
            "end of its with block"
        )
    end_together()


def end_together() -> None:
    """Finalizes, after the checks. Collective over all PEs."""
    runtime = job.runtime
    if _log.isEnabledFor(logging.INFO):
        _log_leaks()
    try:
        release_all()  # collected objects are no leaks
        adopt_current()
        job.mapping = None  # the heap stays for the arrays that are left, if there are any
        check(lib.nvshmemrs_finalize(runtime))
    except CheckFailedError:
        sys.excepthook = _says_findings_once
        raise
    finally:  # the runtime is gone, also when another PE died
        _job.left()


def _says_findings_once(
    kind: type, error: BaseException, trace: Any, usual: Any = sys.excepthook
) -> None:
    """Prints an uncaught CheckFailedError without a traceback, which says nothing of the findings,
    and under a launcher that counts them not at all.
    """
    if not isinstance(error, CheckFailedError):
        usual(kind, error, trace)
    elif "NVSHMEMRS_CHECK_FD" not in os.environ:
        sys.stderr.write(f"{kind.__name__}: {error}\n")


def _log_leaks() -> None:
    stats = _ffi.HeapStats()
    check(lib.nvshmemrs_heap_stats(job.runtime, ctypes.byref(stats)))
    if stats.allocations:
        _log.info(
            "finalize frees %d allocations (%d bytes) that are left",
            stats.allocations,
            stats.used_bytes,
        )


def leave() -> None:
    """Leaves the job at once without waiting: the other PEs' waits raise PeDiedError. Local"""
    _job.leave()


@contextlib.contextmanager
def job_scope(**arguments: Any) -> Iterator[None]:
    """``with job():`` calls ``init(**arguments)`` and, at the end, ``finalize``.

    An exception ends it with ``leave`` instead, so that the other PEs raise too and do not wait for
    this one.
    """
    init(**arguments)
    try:
        yield
    except BaseException:
        leave()
        raise
    if job.runtime:
        finalize()


def get_version() -> Version:
    """Versions of the OpenSHMEM specification followed, this package, and the library. Local."""
    from importlib import metadata

    parts = [ctypes.c_int32() for _ in range(3)]
    check(lib.nvshmemrs_version(*(ctypes.byref(part) for part in parts)))
    library = ".".join(str(part.value) for part in parts)
    try:
        package = metadata.version("nvshmemrs")
    except metadata.PackageNotFoundError:  # run from a source tree
        package = library
    return Version("1.5", package, library)


def get_name() -> str:
    """The library's name and version, as text. Local; works before ``init``. OpenSHMEM 1.5
    section 9.1.10.
    """
    name: bytes = lib.nvshmemrs_name()
    return name.decode()
