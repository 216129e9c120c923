"""Numbers that the functions of ``_kernels`` compare with, as a frontend's ``_backend`` has them."""

from __future__ import annotations

from ..direct import ComparisonType
from ..rma import SignalOp
from ._dtypes import KINDS

CMP_EQ, CMP_NE, CMP_GT, CMP_LE, CMP_LT, CMP_GE = (
    int(ComparisonType[name])
    for name in ("CMP_EQ", "CMP_NE", "CMP_GT", "CMP_LE", "CMP_LT", "CMP_GE")
)
SIGNAL_SET, SIGNAL_ADD = int(SignalOp.SIGNAL_SET), int(SignalOp.SIGNAL_ADD)
KIND_F16, KIND_F32, KIND_F64 = (KINDS[name] for name in ("float16", "float32", "float64"))
