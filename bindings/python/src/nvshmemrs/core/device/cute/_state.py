"""The job as a kernel sees it: 64 bytes that it gets as an argument, and checks of arguments.

``include/nvshmemrs_device.cuh`` declares the same struct, and the structs that it refers to.
"""

from __future__ import annotations

import ctypes
import threading
from typing import Any, List, NamedTuple

import numpy as np

from .... import _ffi
from ..._job import job as host_job
from ...nvshmem_types import NotInitializedError, NotSupportedError, NvshmemInvalid
from .. import CHECK_HOSTS, MAGIC, VERSION, DeviceState, fitting
from .._operations import OPERATIONS
from ._access import access
from ._frontend import cute, cutlass, dsl, ir

Int32, Int64, Uint32, Uint64 = cutlass.Int32, cutlass.Int64, cutlass.Uint32, cutlass.Uint64

# Offsets of the struct's members.
_MY_PE, _N_PES, _BASE, _STRIDE, _ABORT, _JOB, _CHECK = 8, 12, 16, 24, 32, 48, 56

# Values of the report's kind.
WRONG_PE, WRONG_ADDRESS, WRONG_ALIGNMENT, WRONG_TEAM, WRONG_SLOT, WRONG_ARGUMENT = range(1, 7)


class _Takes(type):
    """CuTe compares arguments with annotations; the host's state is an annotation, too."""

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, DeviceState) or super().__instancecheck__(value)


class _Struct(metaclass=_Takes):
    pass


@cute.native_struct  # type: ignore[misc, unused-ignore]
class State(_Struct):
    """The type of a kernel's argument that is the job: 64 bytes, by value. On the host it is
    ``nvshmem.device.state()``, and ``fake_state()`` where there is no job and kernels are only
    compiled. In the kernel it goes to ``use``.
    """

    magic: Uint32  # type: ignore[valid-type]
    version: Uint32  # type: ignore[valid-type]
    my_pe: Int32  # type: ignore[valid-type]
    n_pes: Int32  # type: ignore[valid-type]
    base: Uint64  # type: ignore[valid-type]
    stride: Uint64  # type: ignore[valid-type]
    abort: Uint64  # type: ignore[valid-type]
    error: Uint64  # type: ignore[valid-type]
    job: Uint64  # type: ignore[valid-type]
    check: Uint32  # type: ignore[valid-type]
    reserved: Uint32  # type: ignore[valid-type]


# CuTe's form of the class.
_STATE: Any = State


class _Fake(DeviceState):
    """A placeholder for the state where kernels are only compiled."""

    __slots__ = ()


def fake_state() -> DeviceState:
    """A substitute for ``nvshmem.device.state()`` in ``cute.compile`` without a job, like CuTe's own
    ``make_fake_stream``. A kernel that is launched with it ends with an error.

    Local; needs neither a job nor a GPU.
    """
    return _Fake(np.zeros(1, np.dtype(_ffi.DeviceState))[0], 0)


@cute.register_jit_arg_adapter(DeviceState)  # type: ignore[misc, unused-ignore]
@cute.register_jit_arg_adapter(_Fake)  # type: ignore[misc, unused-ignore]
class _Adapter:
    """The state as CuTe passes arguments."""

    def __init__(self, state: DeviceState) -> None:
        if not isinstance(state, _Fake):
            on_gpu("a kernel")
            fitting(state, "a kernel")
        self._bytes = ctypes.create_string_buffer(bytes(state), 64)

    def __c_pointers__(self) -> List[int]:
        return [ctypes.addressof(self._bytes)]

    def __get_mlir_types__(self) -> List[Any]:
        return list(_STATE.__get_mlir_types__())

    def __new_from_mlir_values__(self, values: List[Any]) -> Any:
        return _STATE(values[0])


def on_gpu(name: str) -> None:
    """Raises unless the heap is memory of a GPU."""
    if not host_job.runtime:
        raise NotInitializedError(f"{name}: this process is not a PE; call init first")
    if host_job.device < 0:
        raise NotSupportedError(
            f"{name}: the symmetric heap is host memory, and CuTe has no interpreter: its kernels "
            "run on GPUs only. Without a GPU, run kernels of Numba (NUMBA_ENABLE_CUDASIM=1), of Triton "
            "(TRITON_INTERPRET=1) or of CUDA C++ (nvshmemrs_device_host.hpp)"
        )


class Job(NamedTuple):
    """The state's members in a kernel; `own` is where this PE's heap begins."""

    my_pe: Any
    n_pes: Any
    base: Any
    stride: Any
    abort: Any
    job: Any
    check: Any
    own: Any


class _Current(threading.local):
    kernel: Any = None
    job: Any = None
    lent: Any = None


_current = _Current()
_KERNELS = ("cuda.kernel", "gpu.func")


def _kernel(caller: str) -> Any:
    """The kernel being traced."""
    try:
        found = ir.InsertionPoint.current.block.owner
    except (ValueError, AttributeError):
        found = None
    while found is not None and found.operation.name not in _KERNELS:
        found = found.operation.parent
    if found is None:
        raise NvshmemInvalid(
            f"{caller}: this is a function of kernels: call it in a function with @cute.kernel, "
            "or in one that such a function calls"
        )
    return found.operation


def _is_always_reached(kernel: Any) -> bool:
    """Whether the traced code is outside of `if` and loops."""
    return bool(ir.InsertionPoint.current.block.owner.operation == kernel)


def use(state: Any) -> None:
    """Says which job the functions of this module belong to, in the kernel that calls it. Call it
    once, at the beginning of the kernel and outside of ``if`` and loops.

    `state` is the kernel's argument: a ``State``, or, where a launcher takes numbers only, the
    address ``nvshmem.device.state().pointer`` as an Int64 or Uint64. A kernel that gets something
    else as its state prints a line and ends with a trap.

    Local.
    """
    kernel = _kernel("use")
    if not _is_always_reached(kernel):
        raise NvshmemInvalid(
            "use: call it at the beginning of the kernel, outside of `if` and loops"
        )
    if isinstance(state, (Int64, Uint64)):
        at = Uint64(state)

        def field(offset: int, kind: Any) -> Any:
            return kind(getattr(access, f"ld_weak_u{kind.width}")(at + Uint64(offset)))

        magic, version = field(0, Uint32), field(4, Uint32)
        values = [
            field(_MY_PE, Int32),
            field(_N_PES, Int32),
            field(_BASE, Uint64),
            field(_STRIDE, Uint64),
            field(_ABORT, Uint64),
            field(_JOB, Uint64),
            field(_CHECK, Uint32),
        ]
    elif type(state) is State:
        magic, version = state.magic, state.version
        values = [state.my_pe, state.n_pes, state.base, state.stride, state.abort, state.job]
        values.append(state.check)
    else:
        raise NvshmemInvalid(
            f"use takes the kernel's argument of type State, or an Int64 with the address of one, "
            f"not {type(state).__name__}"
        )
    own = values[2] + Uint64(Int64(values[0])) * values[3]
    job = Job._make([*values, own])
    _expect(magic, version, values[6])
    _current.kernel, _current.job, _current.lent = kernel, job, None


def current(caller: str) -> Job:
    """The argument of ``use`` in this kernel."""
    kernel = _kernel(caller)
    if _current.kernel is None or _current.kernel != kernel:
        raise NvshmemInvalid(
            f"{caller}: this kernel has not said which job it belongs to: give it an argument "
            "`state: State`, and call use(state) at its beginning"
        )
    job: Job = _current.job
    return job


def keep_lent(caller: str, word: Any) -> None:
    """Sets the memory lent to the following calls of this kernel: a word, or None."""
    if not _is_always_reached(_kernel(caller)):
        raise NvshmemInvalid(
            f"{caller}: call it outside of `if` and loops, because calls that follow are compiled "
            "with what is lent. All threads may call it; those that put and get use the memory"
        )
    _current.lent = word


def lent_of() -> Any:
    """The memory lent here: a word, or None. ``current`` must have been called."""
    return _current.lent


@dsl.jit
def _expect(magic: Any, version: Any, check: Any) -> None:
    if magic != Uint32(MAGIC):
        cute.printf("nvshmemrs: a kernel was called with something that is no device state\n")
        access.trap()
    if version != Uint32(VERSION):
        cute.printf("nvshmemrs: a kernel was called with a device state of another version\n")
        access.trap()
    if check & Uint32(CHECK_HOSTS) != Uint32(0):
        cute.printf("nvshmemrs: kernels of CuTe cannot be used in a job on several hosts\n")
        access.trap()


# ---- Checks, with NVSHMEMRS_DEVICE_CHECK. ----


def block_thread() -> Any:
    """The calling thread's number in its block."""
    x, y, z = cute.arch.thread_idx()
    columns, rows, _ = cute.arch.block_dim()
    return Uint32(x + columns * (y + rows * z))


def block_threads() -> Any:
    """The threads of a block."""
    x, y, z = cute.arch.block_dim()
    return Uint32(x * y * z)


def _grid_block() -> Any:
    x, y, z = cute.arch.block_idx()
    columns, rows, _ = cute.arch.grid_dim()
    return Uint32(x + columns * (y + rows * z))


@dsl.jit
def report(
    job: Job, kind: Any, operation: int, pe: Any, address: Any, nbytes: Any
) -> None:
    """Reports the first error of a call to the host, and ends the kernel."""
    at = access.ld_weak_u64(job.job + Uint64(40))
    if at != Uint64(0):
        if access.cas_u32(at, Uint32(0), Uint32(1)) == Uint32(0):
            access.st_weak_u32(at + Uint64(4), kind)
            access.st_weak_u32(at + Uint64(8), Uint32(pe))
            access.st_weak_u32(at + Uint64(12), _grid_block())
            access.st_weak_u32(at + Uint64(16), block_thread())
            access.st_weak_u32(at + Uint64(20), Uint32(operation))
            access.st_weak_u64(at + Uint64(24), address)
            access.st_weak_u64(at + Uint64(32), nbytes)
            access.st_release_u32(at, Uint32(2))
    access.trap()


@dsl.jit
def check_memory(
    job: Job, operation: int, pe: Any, address: Any, nbytes: Any, size: int
) -> None:
    """`nbytes` bytes at `address`, of elements of `size` bytes, are symmetric, and `pe` is a PE."""
    if job.check != Uint32(0):
        offset = address - job.own
        room = access.ld_weak_u64(job.job)
        kind = Uint32(0)
        if address % Uint64(size) != Uint64(0):
            kind = Uint32(WRONG_ALIGNMENT)
        if (offset > room) | (nbytes > room - offset):
            kind = Uint32(WRONG_ADDRESS)
        if (pe < Int32(0)) | (pe >= job.n_pes):
            kind = Uint32(WRONG_PE)
        if kind != Uint32(0):
            report(job, kind, operation, pe, address, nbytes)


@dsl.jit
def check_argument(job: Job, operation: int, good: Any, value: Any) -> None:
    """Checks that the operation accepts an argument."""
    if job.check != Uint32(0):
        if not good:
            report(job, Uint32(WRONG_ARGUMENT), operation, job.my_pe, Uint64(value), Uint64(0))


def on(job: Job, operation: str, pe: Any, address: Any, nbytes: Any, size: int) -> Any:
    """The address of symmetric memory on a PE."""
    check_memory(job, OPERATIONS[operation], pe, address, nbytes, size)
    return address + Uint64(Int64(pe - job.my_pe)) * job.stride
