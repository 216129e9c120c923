"""The state by which kernels communicate without the host: see ``docs/device.md``.

With CuPy, whose kernels take the state by value::

    options = (f"-I{nvshmemrs.include_dir()}", "--std=c++17")
    kernel = cupy.RawKernel(source, "ring", options=options, backend="nvrtc")
    kernel((1,), (32,), (nvshmem.device.state().scalar, array))
"""

from __future__ import annotations

import ctypes
import importlib
import os
from typing import Any

import numpy as np

from ... import _ffi
from ..._handle import Handle
from .._job import check, job, lib
from ..nvshmem_types import NotSupportedError

__all__ = ["DeviceState", "include_dir", "state"]

# Modules for kernels in Python, which import their compilers on first use.
_FRONTENDS = ("cute", "numba", "numba_cuda_mlir", "triton")
_DTYPE = np.dtype(_ffi.DeviceState)
_HEADER = "nvshmemrs_device.cuh"
# The state that kernels in Python know, and the bit of its `check` that says that not all PEs are
# on this host.
MAGIC, VERSION, CHECK_HOSTS = 0x6873766E, 4, 2
# A bit of the version in a checked job.
WATCHED = 1 << 16


class DeviceState(Handle):
    """The job as kernels of this PE see it: 64 bytes, in the forms that launchers take.

    `scalar` is a NumPy scalar, which CuPy's kernels take by value; ``bytes(state)`` are its bytes.
    `pointer` is the address of a copy of it that kernels can read, for launchers whose kernels take
    a number. `my_pe`, `n_pes`, `base` and `stride` say where PE ``p``'s copy of the symmetric
    offset ``o`` is: at ``base + p * stride + o``.
    """

    __slots__ = ("_pointer", "_scalar")
    _instead = "each PE asks for its own by state()"

    def __init__(self, scalar: np.void, pointer: int) -> None:
        self._scalar = scalar
        self._pointer = pointer

    @property
    def scalar(self) -> np.void:
        """The state as a NumPy scalar with a field for each member of the C struct."""
        return self._scalar

    @property
    def pointer(self) -> int:
        """The address of a copy of the state that kernels of this PE can read."""
        return self._pointer

    @property
    def my_pe(self) -> int:
        """This PE's number."""
        return int(self._scalar["my_pe"])

    @property
    def n_pes(self) -> int:
        """The number of PEs."""
        return int(self._scalar["n_pes"])

    @property
    def base(self) -> int:
        """Where PE 0's part of the heap begins, for this PE's kernels."""
        return int(self._scalar["base"])

    @property
    def stride(self) -> int:
        """Bytes from one PE's part to the next one's."""
        return int(self._scalar["stride"])

    def __bytes__(self) -> bytes:
        return self._scalar.tobytes()

    def __repr__(self) -> str:
        return f"DeviceState(PE {self.my_pe} of {self.n_pes}, pointer={self.pointer:#x})"


def state() -> DeviceState:
    """The argument of this PE's kernels, which pass it to the functions of
    ``nvshmemrs_device.cuh``. It is valid until ``finalize``, for kernels of this PE only. It also
    shows teams that are created or destroyed later. On device memory its addresses are those
    of this PE's GPU, on host memory those of this process.

    Kernels reach PEs of their own host only. An access to another PE ends the kernel, and
    ``runtime_check`` names that PE.

    In a checked job only kernels take it that record their operations: those of Numba, and those in
    C++ that are compiled with NVSHMEMRS_DEVICE_RECORD defined.

    Local. NotSupportedError if kernels cannot use the heap.
    """
    found = _ffi.DeviceState()
    pointer = ctypes.c_void_p()
    check(lib.nvshmemrs_device_state(job.runtime, ctypes.byref(found)))
    check(lib.nvshmemrs_device_state_pointer(job.runtime, ctypes.byref(pointer)))
    return DeviceState(np.frombuffer(bytes(found), _DTYPE)[0], pointer.value or 0)


def fitting(found: DeviceState, caller: str, records: bool = False) -> DeviceState:
    """The state, if kernels in Python can use it; else NotSupportedError. Launchers call this.
    `records`: the kernels record their operations if the job is checked.
    """
    magic, version, check = (int(found.scalar[name]) for name in ("magic", "version", "check"))
    if (magic, version) == (MAGIC, VERSION | WATCHED):
        if not records:
            raise NotSupportedError(
                f"{caller}: the job is checked, and on GPUs only kernels of Numba and of CUDA C++ record "
                "their operations for the checker; those of Numba do if NVSHMEMRS_CHECK is 1 before "
                "nvshmemrs.core.device.numba is imported. Use one of these or Triton's interpreter, or "
                "set NVSHMEMRS_CHECK=0"
            )
        version = VERSION
    if (magic, version) != (MAGIC, VERSION):
        raise NotSupportedError(
            f"{caller}: the library has version {version} of the device state, and this module knows "
            f"version {VERSION}; install one nvshmemrs, not parts of two"
        )
    if check & CHECK_HOSTS:
        raise NotSupportedError(
            f"{caller}: the PEs are on several hosts, and kernels in Python would not notice a PE "
            "that they cannot reach; write the kernel in CUDA C++, or start all PEs on one host"
        )
    return found


def include_dir() -> str:
    """The folder of ``nvshmemrs_device.cuh``, its parts and ``nvshmemrs.h``, for NVRTC's and nvcc's ``-I``.

    Local; needs no job. NotSupportedError if this installation came without them.
    """
    here = os.path.dirname(os.path.abspath(_ffi.__file__))
    # The package's headers; in a source tree, their sources.
    root = os.path.join(here, *[os.pardir] * 4)
    for folder in (os.path.join(here, "include"), os.path.join(root, "include")):
        if os.path.isfile(os.path.join(folder, _HEADER)):
            return os.path.normpath(folder)
    raise NotSupportedError(
        f"this installation of nvshmemrs has no {_HEADER}: install the wheel again"
    )


def __getattr__(name: str) -> Any:
    if name in _FRONTENDS:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
