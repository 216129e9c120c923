"""Operations that communicate and compute in one: see ``docs/fused.md``.

All-reduce, residual and RMSNorm of a layer's rows::

    from nvshmemrs.core import fused

    with fused.Workspace(reduce_bytes=1 << 20) as workspace:
        fused.all_reduce_rms_norm(out, x, weight, workspace, residual=residual)

On GPUs they are kernels in Triton. On host memory they are made of the library's collectives, with
the same results.
"""

from ._workspace import Workspace
from .all_gather_matmul import all_gather_matmul
from .all_reduce_rms_norm import all_reduce_rms_norm
from .combine import combine
from .dispatch import dispatch
from .matmul_all_reduce import matmul_all_reduce
from .matmul_reduce_scatter import matmul_reduce_scatter
from .route import Route

__all__ = [
    "Route",
    "Workspace",
    "all_gather_matmul",
    "all_reduce_rms_norm",
    "combine",
    "dispatch",
    "matmul_all_reduce",
    "matmul_reduce_scatter",
]
