"""Communication in kernels that numba-cuda compiles, and that its simulator runs without a GPU.

    import nvshmemrs.core.device.numba as shmem

    @cuda.jit
    def ring(message, signal):
        right = (shmem.my_pe() + 1) % shmem.n_pes()
        shmem.put_signal_block(message, message, signal, 1, nvshmem.SignalOp.SIGNAL_SET, right)

The names and arguments are those of ``nvshmem.core.device.numba``, and more; ``docs/numba.md`` has
them all. Nothing is linked to kernels, and nothing is to be called after init: launches see to it.
"""

# ruff: noqa: F403

from __future__ import annotations

import os as _os

from .. import _frontend

_frontend.expect("numba-cuda", "numba.cuda", "nvshmemrs.core.device.numba", ("0.30", "0.31"))
__path__.append(_os.path.join(_os.path.dirname(_os.path.dirname(__file__)), "_kernels"))

from . import _backend
from . import amo as _amo
from . import collective as _collective
from . import direct as _direct
from . import mem as _mem
from . import rma as _rma
from . import waits as _waits
from .amo import *
from .collective import *
from .direct import *
from .mem import *
from .rma import *
from .waits import *

_backend.install()

__all__ = sorted(
    {
        name
        for part in (_amo, _collective, _direct, _mem, _rma, _waits)
        for name in part.__all__
    }
)
