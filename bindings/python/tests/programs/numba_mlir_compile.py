"""Compiles functions for kernels with numba-cuda-mlir, without a GPU: `numba_mlir_compile.py`.

A few of each kind for one architecture. `numba_mlir_compile.py 80,90,100 NAME..` compiles these
functions for these, and every one if none is named, which takes an hour of processor time. Prints a
line for each; what does not compile ends the program.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time
import warnings
from types import SimpleNamespace
from typing import Any, Dict

os.environ["NVSHMEMRS_MEMORY"] = "host"

from numba_cuda_mlir import cuda, tools
from numba_cuda_mlir.numba_cuda import dispatcher, types

FEW = "p put_signal_block atomic_fetch_add signal_wait barrier_all get_peer_array".split()


class Device:
    """What the compiler asks for where there is no GPU."""

    compute_capability = (9, 0)


dispatcher.get_current_device = lambda: Device
tools._cached_cc = Device.compute_capability

import numpy as np
from numba_calls import call

import nvshmemrs.core as nvshmem
import nvshmemrs.core.device.numba_cuda_mlir as shmem
from nvshmemrs.core import device
from nvshmemrs.core.device.numba_cuda_mlir import _launch

warnings.simplefilter("ignore")


def array(dtype: str) -> Any:
    return types.Array(getattr(types, dtype), 1, "C")


def arguments() -> Dict[str, Any]:
    return {
        "d": array("int32"),
        "s": array("int32"),
        "sig": array("uint64"),
        "st": array("int32"),
        "idx": array("int64"),
        "team": types.int64,
        "pe": types.int64,
    }


def compile(name: str, ccs: Any) -> None:
    given, made = arguments(), {"shmem": shmem}
    exec(f"def kernel({', '.join(given)}):\n {call(name)}", made)
    start = time.monotonic()
    for cc in ccs:
        tools._cached_cc = Device.compute_capability = cc
        kernel = cuda.jit(made["kernel"])
        result = kernel.compile(tuple(given.values()))
        ptx = result.ptx if hasattr(result, "ptx") else kernel.inspect_asm(tuple(given.values()))
        assert f".target sm_{cc[0]}{cc[1]}" in ptx, ptx[:400]
        refers = not name.startswith(("fence", "quiet", "flush", "ask_", "give_", "release_"))
        assert (_launch.SYMBOL in ptx) == refers, name
    print(f"compiled: {name}, {time.monotonic() - start:.1f} s", flush=True)


class Driver:
    """A driver whose module has the 64 bytes of the state here."""

    memory = ctypes.create_string_buffer(64)
    CUresult = _launch.driver.CUresult
    good = CUresult.CUDA_SUCCESS

    def cuCtxGetDevice(self) -> Any:
        return self.good, 0

    def cuLibraryGetGlobal(self, library: Any, name: bytes) -> Any:
        assert (library, name) == (12, b"nvshmemrs_device_state")
        return self.good, ctypes.addressof(self.memory), 64

    def cuMemcpyHtoD(self, to: int, source: int, size: int) -> Any:
        ctypes.memmove(to, source, size)
        return (self.good,)


def refused(kind: Any, words: str, call: Any, *arguments: Any) -> None:
    try:
        call(*arguments)
    except kind as error:
        assert words in str(error), error
        return
    raise AssertionError(f"{words!r} was not said")


def launches_bring_the_state() -> None:
    """The loading of a kernel's module, with a stand-in for the driver and for the compiler."""
    code = {"text": b"..nvshmemrs_device_state.."}
    _launch._compile_impl = lambda dispatcher, arguments: (code["text"], "kernel", False)
    _launch._launch = lambda marshaller, arguments: "launched"
    dispatcher = SimpleNamespace(_module_setup_callbacks=[])
    marshaller = SimpleNamespace(_dispatcher=dispatcher)
    for _ in range(2):
        assert _launch.compile_impl(dispatcher, ())[1:] == ("kernel", False)
    (loaded,) = dispatcher._module_setup_callbacks
    other = SimpleNamespace(_module_setup_callbacks=[])
    code["text"] = b"nothing of ours"
    _launch.compile_impl(other, ())
    assert not other._module_setup_callbacks and not hasattr(other, "_nvshmemrs")
    module = SimpleNamespace(handle=12)
    _launch.driver = Driver()
    refused(nvshmem.NotInitializedError, "init", loaded, module)
    nvshmem.init(heap_bytes=1 << 20)
    refused(nvshmem.NotSupportedError, "heap is on host memory", loaded, module)
    assert dispatcher._nvshmemrs == 0
    nvshmem.finalize()
    real = _launch.job, _launch.state
    words = np.zeros(1, device._DTYPE)
    fields = {"magic": device.MAGIC, "version": device.VERSION, "check": device.CHECK_HOSTS}
    for field, value in {**fields, "base": 0x123456789}.items():
        words[field] = value
    _launch.job = SimpleNamespace(runtime=77, device=0)
    _launch.state = lambda: device.DeviceState(words[0], 0)
    refused(nvshmem.NotSupportedError, "on several hosts", loaded, module)
    assert dispatcher._nvshmemrs == 0
    words["check"] = 0
    loaded(module)
    assert Driver.memory.raw == words.tobytes() and dispatcher._nvshmemrs == 77
    assert _launch.launch(marshaller, ()) == "launched"
    _launch.job.runtime = 78
    refused(nvshmem.NotSupportedError, "recompile()", _launch.launch, marshaller, ())
    _launch.job, _launch.state = real
    refused(nvshmem.NotInitializedError, "finalize", _launch.launch, marshaller, ())
    assert _launch.launch(SimpleNamespace(_dispatcher=other), ()) == "launched"


def main() -> None:
    names = [name for name in shmem.__all__ if name not in ("SmemAmount", "get_multicast_array")]
    given = sys.argv[1].split(",") if len(sys.argv) > 1 else ["90"]
    ccs = [(int(one) // 10, int(one) % 10) for one in given]
    for name in (sys.argv[2:] or names) if len(sys.argv) > 1 else FEW:
        compile(name, ccs)
    launches_bring_the_state()
    print(f"numba-cuda-mlir ok: {len(names)} functions are there", flush=True)


if __name__ == "__main__":
    main()
