"""Launches by numba-cuda-mlir, with the stand-in for libcuda of fake_launches.c, which runs no kernel:
how its launcher passes arguments, and which state kernels find. One PE; prints `launches ok`.
"""

from __future__ import annotations

import ctypes
import os
import sys
import warnings
from typing import Any, List, Tuple

# The stand-ins come first: the package would load others.
driver, _ = ctypes.CDLL("libcuda.so.1"), ctypes.CDLL("libnvrtc.so.12")

import numpy as np
from expect import raises
from numba_cuda_mlir import _cext, cuda

import nvshmemrs.core as nvshmem

warnings.simplefilter("ignore")

import nvshmemrs.core.device.numba_cuda_mlir as shmem
from nvshmemrs.core import device
from nvshmemrs.core._job import live
from nvshmemrs.core.device import _module

Launched = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_char_p,
    ctypes.POINTER(ctypes.c_uint),
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.c_void_p,
)
sizes: List[int] = []
seen: List[Tuple[str, List[int], List[bytes], bytes]] = []


@Launched
def launched(name: bytes, shape: Any, arguments: Any, state: int) -> int:
    parts = [ctypes.string_at(arguments[k], size) for k, size in enumerate(sizes)]
    seen.append((name.decode(), shape[:7], parts, ctypes.string_at(state, 64)))
    return 0


ctypes.c_void_p.in_dll(driver, "fake_launched").value = ctypes.cast(launched, ctypes.c_void_p).value


@cuda.jit
def kernel(x):
    if shmem.my_pe() == x:
        shmem.fence()


@cuda.jit
def alone(x):
    cuda.syncthreads()


class Array:
    """An array as the launcher sees one; nobody reads its memory."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
        self.itemsize, self.shape, self.strides = array.itemsize, array.shape, array.strides

    @property
    def __cuda_array_interface__(self) -> Any:
        return {**self.array.__array_interface__, "version": 3}


def arguments_are_passed_as_numba_cubins_says() -> None:
    os.environ["NUMBA_KERNELS"] = "."
    import numba_cubins

    (cubin, name, _), shape = alone._compile((5,)), [3, 1, 1, 64, 1, 1, 0]
    whole = np.arange(40, dtype="int64")
    for case in (
        (5, Array(whole)),
        (Array(whole[3:17]), -1, True, Array(whole.view("float64"))),
        (Array(whole.astype("int16")), False, 2**40, Array(whole.view("int8"))),
        (Array(whole.reshape(5, 8)), Array(whole.reshape(2, 4, 5))),
    ):
        ours = numba_cubins.passed(case)
        sizes[:] = map(len, ours)
        literal = (False,) * len(case)
        compiled = _cext.KernelDispatcher(
            lambda given: (cubin, name, False),
            literal,
            lambda: None,
            debug=False,
            literal_arg_flags=literal,
        )
        # The launcher uses memory that it has freed when a dispatcher ends (valgrind shows it), so none ends.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(compiled))
        _cext.LaunchConfiguration(compiled, (3, 1, 1), (64, 1, 1), 0, 0, None)(*case)
        assert seen.pop()[:3] == (name, shape, ours), (case, ours)
    sizes.clear()


def refused(kind: Any, words: str, *arguments: Any) -> None:
    raises(kind, words, kernel[1, 1], *arguments)
    assert not seen


def finds_state(*arguments: Any) -> None:
    kernel[1, 1](*arguments)
    assert seen.pop()[3] == bytes(nvshmem.device.state())


def kernels_find_the_state_of_the_job() -> None:
    # A launch that fails leaves a module without the state; the next one must not run it.
    for _ in range(2):
        refused(nvshmem.NotInitializedError, "init", 5)
    os.environ["NVSHMEMRS_MEMORY"] = "host"
    nvshmem.init(heap_bytes=1 << 20)
    for _ in range(2):
        refused(nvshmem.NotSupportedError, "heap is on host memory", 5)
    nvshmem.finalize()
    del os.environ["NVSHMEMRS_MEMORY"]
    # The module has one job's state after the other's, also where there is one for each signature.
    for heap in (1 << 22, 1 << 23):
        nvshmem.init(device=0, heap_bytes=heap)
        finds_state(5)
        finds_state(True)
        finds_state(5)
        nvshmem.finalize()
        refused(nvshmem.NotInitializedError, "finalize", 5)
    nvshmem.init(device=0, heap_bytes=1 << 22)
    kernel.recompile()
    finds_state(5)
    finds_state(nvshmem.Teams.TEAM_WORLD)
    alone[1, 1](5)
    assert seen.pop()[3] == bytes(64)
    # Another PE of this process that is there still.
    modules = kernel._nvshmemrs
    modules.job = -1
    live.add(-1)
    refused(nvshmem.NotSupportedError, "kernels of their own", 5)
    live.remove(-1)
    finds_state(5)
    real = _module.state
    words = np.frombuffer(bytearray(bytes(real())), device._DTYPE)
    words["check"] |= device.CHECK_HOSTS
    _module.state = lambda: device.DeviceState(words[0], 0)
    modules.job = 0
    refused(nvshmem.NotSupportedError, "on several hosts", 5)
    _module.state = real
    finds_state(5)
    nvshmem.finalize()


if __name__ == "__main__":
    assert driver.cuInit(0) == 0
    kernels_find_the_state_of_the_job()
    nvshmem.init(device=0, heap_bytes=1 << 22)
    arguments_are_passed_as_numba_cubins_says()
    nvshmem.finalize()
    print("launches ok")
    sys.stdout.flush()
