"""Communication in kernels that numba-cuda-mlir compiles, the successor of numba-cuda.

    import nvshmemrs.core.device.numba_cuda_mlir as shmem

The names, arguments and meanings are those of ``nvshmemrs.core.device.numba``, out of the same
files and the same table; ``docs/numba.md`` has them all. There is no simulator.
"""

from __future__ import annotations

import importlib as _importlib
import os as _os
from typing import TYPE_CHECKING
from typing import Any as _Any

from .. import _frontend

_frontend.expect("numba-cuda-mlir", "numba_cuda_mlir.cuda", __name__, ("0.6",))
# The modules whose functions are here are in the folder that frontends share.
__path__.append(_os.path.join(_os.path.dirname(_os.path.dirname(__file__)), "_kernels"))
__all__ = []

for _name in ("rma", "amo", "collective", "mem", "waits", "direct"):
    _module = _importlib.import_module(f"{__name__}.{_name}")
    globals().update((name, getattr(_module, name)) for name in _module.__all__)
    __all__ += [name for name in _module.__all__ if name not in __all__]

_importlib.import_module(f"{__name__}._launch").install()

if TYPE_CHECKING:  # for which the functions are made too late

    def __getattr__(name: str) -> _Any: ...
