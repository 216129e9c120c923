"""What type checkers must find: an error on each line with the mark, and on no other."""

import numpy as np
from numpy.typing import NDArray

import nvshmemrs
import nvshmemrs.core as nvshmem
from nvshmemrs.core import ComparisonType, SignalOp
from nvshmemrs.core import signal_wiat  # error
from nvshmemrs import putt  # error

flag = nvshmem.array(1, np.uint64)

nvshmem.putt(flag, flag, 0)  # error
nvshmemrs.putt(flag, flag, 0)  # error
nvshmem.core.putt(flag, flag, 0)  # error
nvshmem.rma.putt(flag, flag, 0)  # error
nvshmem.nonsense  # error
nvshmemrs.nonsense  # error
ComparisonType.CMP_GT_OR_EQ  # error
SignalOp.SIGNAL_SETT  # error

nvshmem.signal_wait(flag, ComparisonType.CMP_GE, 1)  # error
nvshmem.wait_until(flag, 1, ComparisonType.CMP_GE)  # error
nvshmem.wait_until_all(flag, 3, 1)  # error
nvshmem.test(flag, "==", 1)  # error
nvshmem.put_signal(flag, flag, flag, SignalOp.SIGNAL_SET, 1, 0)  # error
nvshmem.signal_op(flag, 1, 9, 0)  # error
nvshmem.signal_op(flag, 1, ComparisonType.CMP_EQ, 0)  # error
nvshmem.reduce(0, flag, flag, 1)  # error
nvshmem.put(flag, flag, "0")  # error
nvshmem.array(3, "f4", "F")  # error
nvshmem.array(3, morder="K")  # error
nvshmem.array("3")  # error
nvshmem.buffer("8")  # error
nvshmem.team_split_strided(0, 0, 1, 1, "ROW")  # error

floats: NDArray[np.float32] = nvshmem.array(3, np.int32)  # error
doubles: NDArray[np.float64] = nvshmem.array(3)  # error
