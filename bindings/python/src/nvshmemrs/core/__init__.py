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

import sys
from typing import TYPE_CHECKING, Any

from . import (
    _dtypes,
    _extension,
    _job,
    amo,
    arrays,
    checker,
    collective,
    device,
    direct,
    init_fini,
    interop,
    kernels,
    memory,
    nvshmem_types,
    rma,
    streams,
    teams,
    utils,
    waits,
)
from ._local import LocalJob, LocalJobError, local
from .amo import *  # noqa: F403
from .arrays import *  # noqa: F403
from .checker import *  # noqa: F403
from .collective import *  # noqa: F403
from .device import DeviceState, include_dir
from .direct import *  # noqa: F403
from .init_fini import UniqueID, finalize, get_name, get_unique_id, get_version, init, leave
from .init_fini import job_scope as job
from .interop._tensors import (
    bytetensor,
    free_tensor,
    get_multicast_tensor,
    get_peer_tensor,
    register_external_tensor,
    tensor,
    tensor_get_buffer,
    unregister_external_tensor,
)
from .interop.numpy import SymmetricArray, aligned_empty
from .kernels import *  # noqa: F403
from .memory import *  # noqa: F403
from .nvshmem_types import *  # noqa: F403
from .rma import *  # noqa: F403
from .streams import *  # noqa: F403
from .teams import *  # noqa: F403
from .waits import *  # noqa: F403

_extension.set_up(
    SymmetricArray,
    (_job.job, _job.raise_status, collective._OPS, int(nvshmem_types.TEAM_MC_SHARED)),
    (collective.Op, direct.ComparisonType, rma.SignalOp),
    _dtypes.CODES,
)

NvshmemStreamsType = Any
"""The type of an operation's ``stream``: None or a Stream, and with the heap on a GPU also a stream
of torch, CuPy or cuda.core, or the number of a cudaStream_t.
"""

if TYPE_CHECKING:
    from .. import core as core
else:
    core = sys.modules[__name__]
"""This module, so that ``nvshmem.core.put`` works after ``import nvshmemrs.core as nvshmem``."""

# As in nvshmem.core, a star import replaces Python's own `bytearray`.
__all__ = [
    "DeviceState",
    "LocalJob",
    "LocalJobError",
    "NvshmemStreamsType",
    "SymmetricArray",
    "UniqueID",
    "aligned_empty",
    "amo",
    "arrays",
    "bytetensor",
    "checker",
    "collective",
    "core",
    "device",
    "direct",
    "finalize",
    "free_tensor",
    "get_multicast_tensor",
    "get_name",
    "get_peer_tensor",
    "get_unique_id",
    "get_version",
    "include_dir",
    "init",
    "init_fini",
    "interop",
    "job",
    "kernels",
    "leave",
    "local",
    "memory",
    "nvshmem_types",
    "register_external_tensor",
    "rma",
    "streams",
    "teams",
    "tensor",
    "tensor_get_buffer",
    "unregister_external_tensor",
    "utils",
    "waits",
]
__all__ += amo.__all__
__all__ += arrays.__all__
__all__ += checker.__all__
__all__ += collective.__all__
__all__ += direct.__all__
__all__ += kernels.__all__
__all__ += memory.__all__
__all__ += nvshmem_types.__all__
__all__ += rma.__all__
__all__ += streams.__all__
__all__ += teams.__all__
__all__ += waits.__all__
