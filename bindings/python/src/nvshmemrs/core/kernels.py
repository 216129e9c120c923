"""Names for GPU kernels and their modules, which host memory has no use for: they say so."""

from __future__ import annotations

import enum
from typing import Any, NoReturn

from ._job import unsupported

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
    """NotSupportedError: a compiled kernel's module or library runs on a GPU."""

    def __init__(self) -> None:
        raise unsupported("NvshmemKernelObject")

    @staticmethod
    def from_handle(handle: int) -> NoReturn:
        """NotSupportedError."""
        raise unsupported("NvshmemKernelObject.from_handle")

    @staticmethod
    def from_obj(obj: Any) -> NoReturn:
        """NotSupportedError."""
        raise unsupported("NvshmemKernelObject.from_obj")

    @staticmethod
    def from_obj_bytes(cubin: bytes) -> NoReturn:
        """NotSupportedError."""
        raise unsupported("NvshmemKernelObject.from_obj_bytes")

    @staticmethod
    def from_triton(kernel: Any) -> NoReturn:
        """NotSupportedError."""
        raise unsupported("NvshmemKernelObject.from_triton")

    @staticmethod
    def from_cuda_bindings(handle: Any) -> NoReturn:
        """NotSupportedError."""
        raise unsupported("NvshmemKernelObject.from_cuda_bindings")


def module_init(mod: Any) -> None:
    """NotSupportedError: modules are loaded on GPUs."""
    raise unsupported("module_init")


def module_finalize(mod: Any) -> None:
    """NotSupportedError: modules are loaded on GPUs."""
    raise unsupported("module_finalize")


def library_init(lib: Any) -> None:
    """NotSupportedError: kernel libraries are loaded on GPUs."""
    raise unsupported("library_init")


def library_finalize(lib: Any) -> None:
    """NotSupportedError: kernel libraries are loaded on GPUs."""
    raise unsupported("library_finalize")


def find_device_bitcode_library(
    *, language: DeviceLibLanguage = DeviceLibLanguage.LLVM_BITCODE, arch: Any = None
) -> str:
    """NotSupportedError: device code runs on GPUs."""
    raise unsupported("find_device_bitcode_library")
