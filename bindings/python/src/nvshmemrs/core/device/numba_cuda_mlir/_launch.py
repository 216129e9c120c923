"""How kernels of numba-cuda-mlir get the state: it is written to their module when that is loaded.

Kernels refer to `SYMBOL`, memory of their own module, so compiled code has no addresses in it,
wherever it is cached. Once a kernel is compiled, ``MLIRDispatcher._compile_impl``, which is wrapped,
asks to be told of the loading of its module. ``_ArgMarshaller._launch``, through which each launch
goes, refuses a job other than the one whose state that module has.
"""

# mypy: ignore-errors
# pyright: reportMissingImports=false, reportAttributeAccessIssue=false

from __future__ import annotations

import ctypes
from typing import Any

from cuda.bindings import driver
from numba_cuda_mlir.descriptor import MLIRDispatcher, _ArgMarshaller

from ..._job import job
from ...nvshmem_types import NotSupportedError
from .. import fitting, state

SYMBOL = "nvshmemrs_device_state"
"""The 64 bytes of the state in memory of a kernel's module."""

_compile_impl = MLIRDispatcher._compile_impl
_launch = _ArgMarshaller._launch


def _good(found: Any) -> Any:
    """What a call of the driver gives, without its status."""
    status, *rest = found
    if status != driver.CUresult.CUDA_SUCCESS:
        raise NotSupportedError(
            f"the kernel's module has no memory for the state: {status.name}; do not link code for "
            "link-time optimization to kernels that communicate"
        )
    return rest[0] if len(rest) == 1 else rest


def fill(library: Any) -> int:
    """Writes the state of the calling thread's job to a module; returns the job."""
    words = bytes(fitting(state(), "a kernel"))
    device = int(_good(driver.cuCtxGetDevice()))
    if job.device != device:
        where = "host memory" if job.device < 0 else f"GPU {job.device}"
        raise NotSupportedError(
            f"the symmetric heap is on {where}, and the kernel is launched on GPU {device}: "
            "init(device=...) and cuda.select_device choose them"
        )
    memory, size = _good(driver.cuLibraryGetGlobal(library, SYMBOL.encode()))
    text = ctypes.create_string_buffer(words, size)
    _good(driver.cuMemcpyHtoD(memory, ctypes.addressof(text), size))
    return job.runtime


def compile_impl(dispatcher: Any, *args: Any, **named: Any) -> Any:
    """Compiles a kernel. One that refers to the state hears of the loading of its module."""
    found = _compile_impl(dispatcher, *args, **named)
    if SYMBOL.encode() in bytes(found[0]) and not hasattr(dispatcher, "_nvshmemrs"):
        dispatcher._nvshmemrs = 0

        def loaded(module: Any) -> None:
            dispatcher._nvshmemrs = fill(module.handle)

        dispatcher._module_setup_callbacks.append(loaded)
    return found


def launch(marshaller: Any, *args: Any, **named: Any) -> Any:
    """Launches a kernel. NotInitializedError if it communicates and there is no job;
    NotSupportedError if its module has the state of another one.
    """
    had = getattr(marshaller._dispatcher, "_nvshmemrs", 0)
    if had:
        if not job.runtime:
            state()  # raises: this process is no PE
        if had != job.runtime:
            raise NotSupportedError(
                "this kernel was loaded in another job, or by another PE of this process: call its "
                "recompile(), or give each PE kernels of its own"
            )
    return _launch(marshaller, *args, **named)


def install() -> None:
    """Makes loading write the state."""
    MLIRDispatcher._compile_impl = compile_impl
    _ArgMarshaller._launch = launch
