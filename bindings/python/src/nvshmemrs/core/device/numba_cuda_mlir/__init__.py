"""Communication in kernels that numba-cuda-mlir compiles, the successor of numba-cuda.

    import nvshmemrs.core.device.numba_cuda_mlir as shmem

The names, arguments and meanings are those of ``nvshmemrs.core.device.numba``, out of the same
files and the same table; ``docs/numba.md`` has them all. There is no simulator.
"""

from __future__ import annotations

import importlib as _importlib
from typing import TYPE_CHECKING
from typing import Any as _Any

from .. import _frontend

_frontend.expect("numba-cuda-mlir", "numba_cuda_mlir.cuda", __name__, ("0.6",))
__all__ = []
_frontend.publish(globals())
_importlib.import_module(f"{__name__}._launch").install()

if TYPE_CHECKING:  # for which the functions are made too late

    def __getattr__(name: str) -> _Any: ...
