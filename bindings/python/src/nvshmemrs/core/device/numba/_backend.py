"""What the functions of ``_kernels`` are made of: with Numba's simulator Python itself."""

# pyright: reportMissingImports=false, reportAttributeAccessIssue=false

from __future__ import annotations

from typing import Any

from numba.cuda import config

from ...direct import ComparisonType
from ...rma import SignalOp
from .._dtypes import KINDS

if config.ENABLE_CUDASIM:
    from . import _simulated as _chosen
else:
    from . import _compiled as _chosen  # type: ignore[no-redef]

CMP_EQ, CMP_NE, CMP_GT, CMP_LE, CMP_LT, CMP_GE = (
    int(ComparisonType[name])
    for name in ("CMP_EQ", "CMP_NE", "CMP_GT", "CMP_LE", "CMP_LT", "CMP_GE")
)
SIGNAL_SET, SIGNAL_ADD = int(SignalOp.SIGNAL_SET), int(SignalOp.SIGNAL_ADD)
KIND_F16, KIND_F32, KIND_F64 = (KINDS[name] for name in ("float16", "float32", "float64"))


def __getattr__(name: str) -> Any:
    return getattr(_chosen, name)


def install() -> None:
    """Makes launches of kernels give them what they need."""
    if config.ENABLE_CUDASIM:
        _chosen.install()
    else:
        from . import _launch

        _launch.install()
