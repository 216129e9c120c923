"""The state in memory of a kernel's module, for compilers whose kernels have it there. Compiled code
then has no addresses in it, wherever it is cached, or on which machine it was compiled.
"""

# mypy: ignore-errors
# pyright: reportMissingImports=false, reportAttributeAccessIssue=false

from __future__ import annotations

import ctypes
from typing import Any

from cuda.bindings import driver

from .._job import job
from ..nvshmem_types import NotSupportedError
from . import fitting, state
from ._symbol import SYMBOL, expect_heap_on, no_memory


def _good(found: Any) -> Any:
    """The results of a driver call, without its status."""
    status, *rest = found
    if status != driver.CUresult.CUDA_SUCCESS:
        raise NotSupportedError(
            f"the state cannot be written before a launch: the driver says {status.name}; an earlier "
            "kernel may have failed, or the launch is in a capture of a stream"
        )
    return rest[0] if len(rest) == 1 else rest


def fill(library: Any) -> int:
    """Writes the state of the calling thread's job to a loaded module; returns the job."""
    words = bytes(fitting(state(), "a kernel"))
    expect_heap_on(int(_good(driver.cuCtxGetDevice())))
    found = driver.cuLibraryGetGlobal(library, SYMBOL.encode())
    if found[0] == driver.CUresult.CUDA_ERROR_NOT_FOUND:
        raise no_memory()
    memory, size = _good(found)
    text = ctypes.create_string_buffer(words, size)
    _good(driver.cuMemcpyHtoD(memory, ctypes.addressof(text), size))
    return job.runtime
