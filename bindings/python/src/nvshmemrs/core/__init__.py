"""One-sided communication from Python, under the names of ``nvshmem.core``.

``import nvshmemrs.core as nvshmem``, then start the program with ``nvshmemrs-run -n 4 python
program.py``::

    nvshmem.init()
    with nvshmem.array(4, "float64") as a:
        nvshmem.put(a, numpy.full(4, nvshmem.my_pe()), (nvshmem.my_pe() + 1) % nvshmem.n_pes())
        nvshmem.barrier_all()
        print(a)
    nvshmem.finalize()
"""

from __future__ import annotations

from typing import Any

from . import collective, direct, init_fini, memory, nvshmem_types, rma, teams
from .collective import Op, barrier, barrier_all, broadcast, reduce, sync, sync_all
from .direct import ComparisonType, InitStatus, init_status, my_pe, n_pes, team_my_pe, team_n_pes
from .init_fini import UniqueID, finalize, get_name, get_unique_id, get_version, init, leave
from .init_fini import job_scope as job
from .interop.numpy import (
    SymmetricArray,
    array,
    array_get_buffer,
    bytearray,
    free_array,
    get_peer_array,
)
from .memory import Buffer, HeapStats, buffer, free, get_peer_buffer, heap_stats
from .nvshmem_types import (
    BootstrapError,
    BufferTypes,
    ForkedError,
    HeapExhaustedError,
    MismatchError,
    MutableEnum,
    NotInitializedError,
    NotSupportedError,
    NvshmemError,
    NvshmemInvalid,
    PeDiedError,
    PeerArgumentError,
    TeamBrokenError,
    Teams,
    Version,
    WaitTimeoutError,
)
from .rma import (
    SignalOp,
    fence,
    get,
    get_nbi,
    put,
    put_nbi,
    put_signal,
    put_signal_nbi,
    quiet,
    signal_fetch,
    signal_op,
    signal_wait,
)
from .teams import team_translate_pe

__all__ = [
    "BootstrapError",
    "Buffer",
    "BufferTypes",
    "ComparisonType",
    "ForkedError",
    "HeapExhaustedError",
    "HeapStats",
    "InitStatus",
    "MismatchError",
    "MutableEnum",
    "NotInitializedError",
    "NotSupportedError",
    "NvshmemError",
    "NvshmemInvalid",
    "Op",
    "PeDiedError",
    "PeerArgumentError",
    "SignalOp",
    "SymmetricArray",
    "TeamBrokenError",
    "Teams",
    "UniqueID",
    "Version",
    "WaitTimeoutError",
    "array",
    "array_get_buffer",
    "barrier",
    "barrier_all",
    "broadcast",
    "buffer",
    "bytearray",
    "collective",
    "direct",
    "fence",
    "finalize",
    "free",
    "free_array",
    "get",
    "get_name",
    "get_nbi",
    "get_peer_array",
    "get_peer_buffer",
    "get_unique_id",
    "get_version",
    "heap_stats",
    "init",
    "init_fini",
    "init_status",
    "job",
    "leave",
    "memory",
    "my_pe",
    "n_pes",
    "nvshmem_types",
    "put",
    "put_nbi",
    "put_signal",
    "put_signal_nbi",
    "quiet",
    "reduce",
    "rma",
    "signal_fetch",
    "signal_op",
    "signal_wait",
    "sync",
    "sync_all",
    "team_my_pe",
    "team_n_pes",
    "team_translate_pe",
    "teams",
]

# Names of nvshmem.core that this version does not have.
_ABSENT = frozenset(
    """
    DeviceLibLanguage NvshmemKernelObject NvshmemResource NvshmemStream NvshmemStreamsType
    SmemAmount TeamConfig TeamUniqueId ThreadSupport alltoall amo ask_smem atomic_add atomic_and
    atomic_compare_swap atomic_fetch atomic_fetch_add atomic_fetch_and atomic_fetch_inc
    atomic_fetch_or atomic_fetch_xor atomic_inc atomic_or atomic_set atomic_swap atomic_xor
    bytetensor collective_on_buffer device fcollect find_device_bitcode_library flush free_tensor
    get_mc_buffer get_multicast_array get_multicast_buffer get_multicast_tensor get_peer_tensor
    get_team_unique_id library_finalize library_init module_finalize module_init query_thread
    reducescatter register_external_array register_external_buffer register_external_tensor
    team_destroy team_get_config team_init team_split_2d team_split_strided tensor tensor_get_buffer
    unregister_external_array unregister_external_buffer unregister_external_tensor utils
    """.split()
)


def __getattr__(name: str) -> Any:
    if name in _ABSENT:
        from .. import __version__

        raise AttributeError(f"{name} is not in nvshmemrs {__version__}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
