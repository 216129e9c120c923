"""``nvshmem.bindings`` of NVSHMEM4Py: the functions of the C library that programs call by numbers.

Pointers, teams and streams are ints; a stream is the number of a ``cudaStream_t``, or a stream that the
functions of ``nvshmemrs.core`` take. Each function is the one of ``nvshmemrs.core`` and
raises its errors. A function that is not here raises AttributeError.
"""

from __future__ import annotations

import ctypes
import re
from typing import Any, Callable, Dict, List, Optional

from . import _bindings_init, core
from ._bindings_init import *  # noqa: F403
from .core import my_pe, n_pes, team_my_pe, team_n_pes, team_translate_pe
from .core._dtypes import SIZES, code_of_name
from .core._job import check, job, lib, unsupported
from .core._operand import BYTES, Operand
from .core.direct import ComparisonType as Cmp_type
from .core.direct import InitStatus as Init_status
from .core.direct import SmemAmount as Smem_amount
from .core.direct import ThreadSupport as Thread_support
from .core.memory import peer_address
from .core.nvshmem_types import NvshmemError as NVSHMEMError
from .core.nvshmem_types import NvshmemInvalid
from .core.nvshmem_types import Teams as Team_id
from .core.rma import SignalOp as Signal_op
from .core.teams import TeamConfig, TeamUniqueId, get_team_unique_id
from .core.teams import TeamUniqueId as team_uniqueid

__all__ = [
    "Cmp_type",
    "Init_status",
    "NVSHMEMError",
    "Signal_op",
    "Smem_amount",
    "TeamConfig",
    "TeamUniqueId",
    "Team_id",
    "Thread_support",
    "align",
    "barrier",
    "barrier_all",
    "barrier_all_on_stream",
    "barrier_on_stream",
    "buffer_register_symmetric",
    "buffer_unregister_symmetric",
    "calloc",
    "culibrary_finalize",
    "culibrary_init",
    "cumodule_finalize",
    "cumodule_init",
    "flush_on_stream",
    "free",
    "malloc",
    "mc_ptr",
    "my_pe",
    "n_pes",
    "ptr",
    "quiet_on_stream",
    "signal_fetch",
    "signal_op_on_stream",
    "signal_wait_until_on_stream",
    "sync_all",
    "sync_all_on_stream",
    "team_destroy",
    "team_get_uniqueid",
    "team_my_pe",
    "team_n_pes",
    "team_sync",
    "team_sync_on_stream",
    "team_translate_pe",
    "team_uniqueid",
]
__all__ += _bindings_init.__all__

__path__: List[str] = []  # as of a package: nvshmem.bindings.nvshmem is this module, too


def _allocated(function: Callable[..., int], *sizes: int) -> int:
    address = ctypes.c_void_p()
    check(function(job.runtime, *sizes, ctypes.byref(address)))
    return address.value or 0


def malloc(size: int) -> int:
    """Allocates symmetric memory, which is freed only by ``free``. Collective over all PEs."""
    return _allocated(lib.nvshmemrs_malloc, size)


def calloc(count: int, size: int) -> int:
    """As ``malloc`` for `count` times `size` bytes, all zero. Collective over all PEs."""
    return _allocated(lib.nvshmemrs_calloc, count, size)


def align(alignment: int, size: int) -> int:
    """As ``malloc``, aligned. Collective over all PEs."""
    return _allocated(lib.nvshmemrs_align, alignment, size)


def free(ptr: int) -> None:
    """Frees symmetric memory. Collective over all PEs."""
    check(lib.nvshmemrs_free(job.handle, ptr))


def ptr(dest: int, pe: int) -> int:
    """PE `pe`'s copy of a symmetric address, for loads and stores; 0 if they do not reach it."""
    try:
        return peer_address(dest, pe)
    except NvshmemInvalid:
        if 0 <= pe < n_pes():
            return 0
        raise


def mc_ptr(team: int, ptr: int) -> int:
    """NotSupportedError: this version offers no multicast memory."""
    raise unsupported("mc_ptr")


def buffer_register_symmetric(buf_ptr: int, size: int, flags: int = 0) -> int:
    """Makes whole pages of this process symmetric; returns their symmetric address. `flags` is 0.
    Collective over all PEs. The caller keeps the memory mapped.
    """
    if flags:
        raise NvshmemInvalid(f"buffer_register_symmetric: flags={flags}: it must be 0")
    symmetric = ctypes.c_void_p()
    check(lib.nvshmemrs_buffer_register(job.runtime, buf_ptr, size, None, symmetric))
    return symmetric.value or 0


def buffer_unregister_symmetric(mmap_ptr: int, size: int) -> None:
    """Makes registered memory private again, by its symmetric address. Collective over all PEs."""
    check(lib.nvshmemrs_buffer_unregister(job.runtime, mmap_ptr))


def cumodule_init(module: int) -> None:
    """As ``core.module_init``."""
    core.module_init(module)


def cumodule_finalize(module: int) -> None:
    """As ``core.module_finalize``."""
    core.module_finalize(module)


def culibrary_init(library: int) -> None:
    """As ``core.library_init``."""
    core.library_init(library)


def culibrary_finalize(library: int) -> None:
    """As ``core.library_finalize``."""
    core.library_finalize(library)


def team_destroy(team: int) -> None:
    """Ends a team. Collective over `team`."""
    core.team_destroy(team)


def team_get_uniqueid(uniqueid: int) -> None:
    """Stores a random number of 64 bits for ``TeamConfig.uniqueid`` at an address. Local."""
    ctypes.c_uint64.from_address(uniqueid).value = get_team_unique_id().value


def barrier(team: int) -> None:
    """Collective over `team`."""
    core.barrier(team)


def barrier_all() -> None:
    """Collective over all PEs."""
    core.barrier_all()


def team_sync(team: int) -> None:
    """Collective over `team`."""
    core.sync(team)


def sync_all() -> None:
    """Collective over all PEs."""
    core.sync_all()


def barrier_on_stream(team: int, stream: Any) -> None:
    """Collective over `team`."""
    core.barrier(team, stream)


def barrier_all_on_stream(stream: Any) -> None:
    """Collective over all PEs."""
    core.barrier_all(stream)


def team_sync_on_stream(team: int, stream: Any) -> None:
    """Collective over `team`."""
    core.sync(team, stream)


def sync_all_on_stream(stream: Any) -> None:
    """Collective over all PEs."""
    core.sync_all(stream)


def quiet_on_stream(stream: Any) -> None:
    """Completes this PE's operations. Local."""
    core.quiet(stream)


def flush_on_stream(stream: Any) -> None:
    """Waits until sources may be reused. Local."""
    core.flush(stream)


def signal_fetch(sig_addr: int) -> int:
    """This PE's copy of a signal. Local."""
    return core.signal_fetch(_bytes(sig_addr, 8))


def signal_op_on_stream(sig_addr: int, signal: int, sig_op: int, pe: int, stream: Any) -> None:
    """Updates a signal on PE `pe`."""
    core.signal_op(_bytes(sig_addr, 8), signal, Signal_op(sig_op), pe, stream)


def signal_wait_until_on_stream(sig_addr: int, cmp: int, cmp_value: int, stream: Any) -> None:
    """Makes a stream wait for a signal. Local."""
    core.signal_wait(_bytes(sig_addr, 8), cmp_value, Cmp_type(cmp), stream)


# --- families of functions ------------------------------------------------------------------------


def _bytes(address: int, count: int) -> Operand:
    """Memory at an address, as a Buffer would be."""
    return Operand(address, count, None, BYTES, (count,), (1,))


def _moves(name: str) -> Optional[Callable[..., None]]:
    """putmem_on_stream and its kin."""
    found = re.fullmatch(r"(put|get)mem(_signal)?(_nbi)?_on_stream", name)
    if not found or (found[1] == "get" and found[2]):
        return None
    function = getattr(core, found[1] + (found[2] or "") + (found[3] or ""))
    if found[2]:

        def signalled(
            dest: int,
            source: int,
            bytes: int,
            sig_addr: int,
            signal: int,
            sig_op: int,
            pe: int,
            stream: Any,
        ) -> None:
            update = _bytes(sig_addr, 8), signal, Signal_op(sig_op)
            function(_bytes(dest, bytes), _bytes(source, bytes), *update, pe, stream)

        return signalled

    def moves(dest: int, source: int, bytes: int, pe: int, stream: Any) -> None:
        function(_bytes(dest, bytes), _bytes(source, bytes), pe, stream=stream)

    return moves


def _size_of(kind: str) -> Optional[int]:
    try:
        return SIZES[code_of_name(kind)]
    except NvshmemInvalid:
        return None


def _combines(name: str) -> Optional[Callable[..., None]]:
    """float_sum_reduce_on_stream and its kin."""
    found = re.fullmatch(r"(\w+?)_(sum|min|max)_(reduce|reducescatter)(_on_stream)?", name)
    size = _size_of(found[1]) if found else None
    if found is None or size is None:
        return None
    kind, op, function = found[1], found[2], getattr(core, found[3])
    scatters = found[3] == "reducescatter"

    def combines(team: int, dest: int, source: int, count: int, stream: Any = None) -> None:
        nbytes = count * size
        there = nbytes * (team_n_pes(team) if scatters else 1)
        function(team, _bytes(dest, nbytes), _bytes(source, there), op, stream, dtype=kind)

    return combines


def _spreads(name: str) -> Optional[Callable[..., None]]:
    """float_fcollect_on_stream, float_alltoall_on_stream and float_broadcast_on_stream."""
    found = re.fullmatch(r"(\w+?)_(fcollect|alltoall|broadcast)(_on_stream)?", name)
    size = _size_of(found[1]) if found else None
    if found is None or size is None:
        return None
    what = found[2]
    if what == "broadcast":

        def sends(
            team: int, dest: int, source: int, count: int, root: int, stream: Any = None
        ) -> None:
            nbytes = count * size
            core.broadcast(team, _bytes(dest, nbytes), _bytes(source, nbytes), root, stream)

        return sends

    def spreads(team: int, dest: int, source: int, count: int, stream: Any = None) -> None:
        one = count * size
        every = one * team_n_pes(team)
        sides = _bytes(dest, every), _bytes(source, one if what == "fcollect" else every)
        getattr(core, what)(team, *sides, stream)

    return spreads


def _atomics(name: str) -> Optional[Callable[..., Any]]:
    """int64_atomic_fetch_add and its kin."""
    found = re.fullmatch(r"(\w+?)_(atomic_\w+)", name)
    size = _size_of(found[1]) if found else None
    if found is None or size is None or found[2] not in core.amo.__all__ or "_nbi" in found[2]:
        return None
    kind, function = found[1], getattr(core, found[2])

    def atomic(dest: int, *values_and_pe: Any) -> Any:
        return function(_bytes(dest, size), *values_and_pe, dtype=kind)

    return atomic


def __getattr__(name: str) -> Any:
    made: Dict[str, Any] = globals()
    for family in (_moves, _combines, _spreads, _atomics):
        function = family(name)
        if function is not None:
            function.__name__ = function.__qualname__ = name
            made[name] = function
            return function
    raise AttributeError(f"nvshmemrs, which is nvshmem here, has no nvshmem.bindings.{name}")
