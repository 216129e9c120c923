"""Communication in kernels that numba-cuda compiles, and that its simulator runs without a GPU.

    import nvshmemrs.core.device.numba as shmem

    @cuda.jit
    def ring(message, signal):
        right = (shmem.my_pe() + 1) % shmem.n_pes()
        shmem.put_signal_block(message, message, signal, 1, nvshmem.SignalOp.SIGNAL_SET, right)

The names and arguments are those of ``nvshmem.core.device.numba``, and more; ``docs/numba.md`` has
them all. Nothing is linked to kernels, and nothing is to be called after init: launches see to it.
"""

from __future__ import annotations

import importlib as _importlib
from typing import TYPE_CHECKING
from typing import Any as _Any

from .. import _frontend

_frontend.expect("numba-cuda", "numba.cuda", __name__, ("0.30",))
__all__ = []
_frontend.publish(globals())
_importlib.import_module(f"{__name__}._backend").install()

if TYPE_CHECKING:  # for which the functions are made too late

    def __getattr__(name: str) -> _Any: ...
