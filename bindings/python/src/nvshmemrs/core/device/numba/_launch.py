"""How kernels get the state: before a launch it is written to the kernel's module.

Kernels refer to `SYMBOL`, memory of their own module, so compiled code has no addresses in
it, wherever it is cached. ``CUDACodeLibrary.get_cufunc``, which every launch asks for the function,
is wrapped: that of a kernel which refers to the state writes it when the module does not have that
of the present job, and raises where there is none.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

import ctypes
from typing import Any

from numba.cuda.codegen import CUDACodeLibrary, JITCUDACodegen
from numba.cuda.cudadrv import driver
from numba.cuda.cudadrv.error import CudaSupportError

from ..._job import job, live
from ...nvshmem_types import NotSupportedError
from .. import fitting, state
from .._frontend import explain_missing_gpu
from .._symbol import SYMBOL, expect_heap_on, no_memory
from ._compiled import RECORDS

_get_cufunc = CUDACodeLibrary.get_cufunc
_magic_tuple = JITCUDACodegen.magic_tuple


def _refers(library: Any) -> bool:
    """Whether a kernel calls our functions."""
    known = library.__dict__.get("_nvshmemrs")
    if known is None:
        known = library._nvshmemrs = any(SYMBOL in text for text in library.llvm_strs)
    return bool(known)


def get_cufunc(library: Any) -> Any:
    """The kernel's function, whose module has the state of the calling thread's job."""
    if not _refers(library):
        return _get_cufunc(library)
    runtime = job.runtime
    if not runtime:
        state()  # raises: this process is no PE
    library._lto = False
    function = _get_cufunc(library)
    module = function.module
    had = getattr(module, "_nvshmemrs", 0)
    if had != runtime:
        if had in live:
            raise NotSupportedError(
                "this kernel has been launched by another PE of this process on the same GPU: PEs "
                "that are threads use a GPU each, or kernels of their own"
            )
        words = fitting(state(), "a kernel", RECORDS)
        expect_heap_on(function.module.context.device.id)
        try:
            memory, size = module.get_global_symbol(SYMBOL)
        except driver.CudaAPIError as error:
            raise no_memory() from error
        text = ctypes.create_string_buffer(bytes(words), size)
        driver.host_to_device(memory, ctypes.addressof(text), size)
        module._nvshmemrs = runtime
    return function


def magic_tuple(codegen: Any) -> Any:
    """The key of compiled code in Numba's caches: code that records has one of its own."""
    return (*_magic_tuple(codegen), "nvshmemrs records")


def install() -> None:
    """Makes launches write the state, and report a missing GPU with a remedy."""
    CUDACodeLibrary.get_cufunc = get_cufunc
    if RECORDS:
        JITCUDACodegen.magic_tuple = magic_tuple
    explain_missing_gpu(
        driver.Driver,
        CudaSupportError,
        "Without a GPU, Numba's simulator runs kernels that communicate: set NUMBA_ENABLE_CUDASIM=1 "
        "before Numba is imported",
    )
