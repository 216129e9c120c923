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
import os as _os
from typing import TYPE_CHECKING
from typing import Any as _Any

from .. import _frontend

_frontend.expect("numba-cuda", "numba.cuda", __name__, ("0.30",))
# The modules whose functions are here are in the folder that frontends share.
__path__.append(_os.path.join(_os.path.dirname(_os.path.dirname(__file__)), "_kernels"))
__all__ = []

for _name in ("rma", "amo", "collective", "mem", "waits", "direct"):
    _module = _importlib.import_module(f"{__name__}.{_name}")
    globals().update((name, getattr(_module, name)) for name in _module.__all__)
    __all__ += [name for name in _module.__all__ if name not in __all__]

_importlib.import_module(f"{__name__}._backend").install()

if TYPE_CHECKING:  # for which the functions are made too late

    def __getattr__(name: str) -> _Any: ...
