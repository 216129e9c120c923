"""What type checkers must accept, and the types that they must find."""

from typing import Any, Tuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from typing_extensions import assert_type

import nvshmemrs
import nvshmemrs.core as nvshmem
from nvshmemrs.core import ComparisonType, SignalOp, SymmetricArray

Element = TypeVar("Element", bound=np.generic)
Symmetric = SymmetricArray[Tuple[Any, ...], np.dtype[Element]]


def takes_float32(array: NDArray[np.float32]) -> None: ...


def elements() -> None:
    assert_type(nvshmem.array(4), Symmetric[np.float32])
    assert_type(nvshmem.array((2, 3), np.float32), Symmetric[np.float32])
    assert_type(nvshmem.array(4, dtype=np.int16), Symmetric[np.int16])
    assert_type(nvshmem.array(4, "float64"), Symmetric[np.float64])
    assert_type(nvshmem.array(4, "u8"), Symmetric[np.uint64])
    assert_type(nvshmem.array(4, np.dtype(np.uint8)), Symmetric[np.uint8])
    assert_type(nvshmem.array(4, complex), Symmetric[np.complex128])
    assert_type(nvshmem.array(4, bool), Symmetric[np.bool_])
    assert_type(nvshmem.array(4, int), Symmetric[np.int64])
    assert_type(nvshmem.array([2, 3], float), Symmetric[np.float64])
    assert_type(nvshmem.interop.numpy.empty(4), Symmetric[np.float32])
    assert_type(nvshmem.bytearray(4), Symmetric[np.uint8])
    assert_type(nvshmem.aligned_empty(4), NDArray[np.float32])
    assert_type(nvshmem.aligned_empty(4, np.int8), NDArray[np.int8])
    a = nvshmem.array(4, np.int32)
    assert_type(nvshmem.get_peer_array(a, 0), Symmetric[np.int32])
    assert_type(a.copy(), NDArray[np.int32])
    assert_type(nvshmem.array_get_buffer(a), Tuple[nvshmem.Buffer, int, str])
    registered = nvshmem.register_external_array(nvshmem.aligned_empty(4, np.int8))
    assert_type(registered, Symmetric[np.int8])
    takes_float32(nvshmem.array(4))
    with nvshmem.array(4, np.float32) as symmetric:
        takes_float32(symmetric)


def run_time_dtype(name: str) -> None:
    takes_float32(nvshmem.array(4, name))  # Any, where it is not known before the program runs


def a_name_for_it(array: SymmetricArray) -> None:
    nvshmem.free_array(array)


def operations() -> None:
    flag = nvshmem.array(1, np.uint64)
    assert_type(nvshmem.signal_fetch(flag), int)
    nvshmem.signal_wait(flag, 1, ComparisonType.CMP_GE)
    nvshmem.wait_until(flag, ComparisonType.CMP_EQ, 1)
    nvshmem.put_signal(flag, flag, flag, 1, SignalOp.SIGNAL_SET, 0)
    nvshmem.put(flag, bytearray(8), 0)
    nvshmem.reduce("TEAM_WORLD", flag, flag, nvshmem.Op.SUM)
    assert_type(nvshmem.my_pe(), int)
    assert_type(nvshmemrs.n_pes(), int)
    nvshmemrs.reduce("TEAM_WORLD", flag, flag, "sum")
    assert_type(nvshmem.core.n_pes(), int)
    assert_type(nvshmem.Teams.TEAM_WORLD, int)
    assert_type(nvshmemrs.__version__, str)


def buffers() -> None:
    buffer = nvshmem.buffer(64)
    assert_type(np.frombuffer(memoryview(buffer), np.float32), NDArray[np.float32])
    memoryview(buffer)
    bytes(buffer)
