"""Kernels that other tools compile, with NVSHMEM's names linked from bitcode: where the bitcode is, and
the job's state for modules that the driver has loaded. On host memory modules have no use, and the
functions say so.
"""

from __future__ import annotations

import ctypes
import enum
import operator
from typing import Any, NoReturn

from ._arguments import a_kind
from ._files import bitcode, names_library
from ._job import job, unsupported
from .nvshmem_types import NotSupportedError, NvshmemInvalid

__all__ = [
    "DeviceLibLanguage",
    "NvshmemKernelObject",
    "find_device_bitcode_library",
    "library_finalize",
    "library_init",
    "module_finalize",
    "module_init",
]


class DeviceLibLanguage(enum.Enum):
    """Forms of a device library."""

    LLVM_BITCODE = "bc"
    LTOIR = "ltoir"
    STATIC = "a"


class NvshmemKernelObject:
    """A module or a library of CUDA's driver, for ``module_init`` and ``library_init``."""

    def __init__(self) -> None:
        raise unsupported("NvshmemKernelObject")

    @classmethod
    def from_handle(cls, handle: Any) -> "NvshmemKernelObject":
        """From the handle of a CUmodule or a CUlibrary, or an object that converts to it. Local."""
        if job.device < 0:
            raise unsupported("NvshmemKernelObject.from_handle")
        made = object.__new__(cls)
        made.handle = _handle(handle, "handle")
        return made

    handle: int

    def __int__(self) -> int:
        return self.handle

    @staticmethod
    def from_obj(obj: Any) -> NoReturn:
        """NotSupportedError."""
        raise unsupported("NvshmemKernelObject.from_obj")

    @staticmethod
    def from_obj_bytes(cubin: bytes) -> NoReturn:
        """NotSupportedError."""
        raise unsupported("NvshmemKernelObject.from_obj_bytes")

    @classmethod
    def from_triton(cls, kernel: Any) -> "NvshmemKernelObject":
        """From a kernel compiled by Triton: the result of a launch, or of ``warmup``.
        Local.
        """
        if job.device < 0:
            raise unsupported("NvshmemKernelObject.from_triton")
        load = getattr(kernel, "_init_handles", None)
        if load is not None:  # which does nothing if the driver has the module already
            load()
        return cls.from_handle(kernel.module)

    @classmethod
    def from_cuda_bindings(cls, handle: Any) -> "NvshmemKernelObject":
        """From a CUmodule or a CUlibrary of cuda.bindings. Local."""
        if job.device < 0:
            raise unsupported("NvshmemKernelObject.from_cuda_bindings")
        return cls.from_handle(handle)


def module_init(mod: Any) -> None:
    """Writes the job's state to a module that the driver has loaded: a NvshmemKernelObject, or the
    number of a CUmodule. Before its first kernel runs.

    Local. NVSHMEM `nvshmemx_cumodule_init`.
    """
    _state("module_init", "nvshmemx_cumodule_init", mod, "mod")


def module_finalize(mod: Any) -> None:
    """Takes the state from a module, whose kernels then trap. Local."""
    _state("module_finalize", "nvshmemx_cumodule_finalize", mod, "mod")


def library_init(lib: Any) -> None:
    """As ``module_init`` for a CUlibrary. Local. NVSHMEM `nvshmemx_culibrary_init`."""
    _state("library_init", "nvshmemx_culibrary_init", lib, "lib")


def library_finalize(lib: Any) -> None:
    """Takes the state from a CUlibrary, whose kernels then trap. Local."""
    _state("library_finalize", "nvshmemx_culibrary_finalize", lib, "lib")


def find_device_bitcode_library(
    *, language: DeviceLibLanguage = DeviceLibLanguage.LLVM_BITCODE, arch: Any = None
) -> str:
    """The file with NVSHMEM's names for kernels as LLVM bitcode, which tools link to a kernel; the
    same file for every `arch`. Local; needs no GPU.

    NotSupportedError for another `language`, and where the file was not built.
    """
    if language is not DeviceLibLanguage.LLVM_BITCODE:
        raise NotSupportedError(
            f"find_device_bitcode_library: there is no {language} of the header"
        )
    return bitcode()


def _handle(value: Any, name: str) -> int:
    try:
        return operator.index(value) if hasattr(value, "__index__") else int(value)
    except (TypeError, ValueError):
        raise NvshmemInvalid(
            f"{name} is {a_kind(value)}: pass a NvshmemKernelObject, or the number of a CUmodule or "
            "a CUlibrary"
        ) from None


def _state(name: str, function: str, handle: Any, argument: str) -> None:
    if job.device < 0:
        raise unsupported(name)
    call = ctypes.CDLL(names_library())[function]
    call.argtypes = [ctypes.c_void_p]
    status = call(_handle(handle, argument))
    if status:
        raise NvshmemInvalid(
            f"{name}: {function} answers {status}: the code has no state of this library's, or the "
            "driver does not write it; with NVSHMEM_DEBUG=WARN the library prints why"
        )
