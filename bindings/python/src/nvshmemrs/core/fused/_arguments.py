"""Arguments of fused operations: arrays as the kernels and the plain forms take them."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
from typing import Any, ContextManager, Optional, Sequence, Tuple

import numpy as np

from .. import _foreign
from .._arguments import integer, shown
from .._dtypes import numpy_dtype
from .._job import job, lib
from ..device._triton_launch import Argument
from ..memory import owner_of
from ..nvshmem_types import NotSupportedError, NvshmemInvalid
from ._workspace import Workspace

FLOATS = ("float16", "bfloat16", "float32")
INDICES = ("int32", "int64")
# Units of Triton's loads and stores.
PACK = 16
# Warps of a program.
WARPS = (1, 2, 4, 8, 16, 32)


class Array:
    """An array argument."""

    def __init__(self, value: Any, name: str, found: _foreign.Described) -> None:
        self.value = value
        self.name = name
        self.address = found.address
        self.shape = found.shape
        self.nbytes = found.nbytes
        self.dtype = found.dtype
        assert found.dtype is not None
        self.kind = _kind(found.dtype)

    def __repr__(self) -> str:
        return f"{self.name} of shape {self.shape} and dtype {self.kind}"

    @property
    def argument(self) -> Argument:
        """The array in a kernel's arguments."""
        return Argument(self.address, self.kind)

    @property
    def host(self) -> "np.ndarray[Any, Any]":
        """The elements, as an array of NumPy's; of host memory only."""
        if self.dtype is not None and self.dtype.names is not None:
            numpy_dtype(self.kind)  # says that ml_dtypes is missing
        memory: Any = (ctypes.c_char * self.nbytes).from_address(self.address)
        return np.ndarray(self.shape, self.dtype, memory)


@functools.lru_cache(maxsize=None)
def _kind(dtype: "np.dtype[Any]") -> str:
    return dtype.name if dtype.names is None else dtype.names[0]


def workspace_of(value: Any, call: str) -> Workspace:
    """The workspace, of which this PE must be a member."""
    if not isinstance(value, Workspace):
        raise NvshmemInvalid(f"workspace is {shown(value)}: {call} takes one made by fused.Workspace")
    value.members(call)
    return value


def array(
    value: Any, name: str, call: str, *, dims: int, kinds: Sequence[str], symmetric: bool = False
) -> Array:
    """Argument `name`: contiguous, of `dims` axes, with elements of one of `kinds`, where the heap is."""
    found = _foreign.described(value, name)
    if found is None or found.dtype is None:
        raise NvshmemInvalid(f"{name} is {shown(value)}: {call} takes an array with {dims} axes")
    made = Array(value, name, found)
    if getattr(value, "requires_grad", False):
        raise NvshmemInvalid(f"{name} requires grad, and {call} has no gradient: pass {name}.detach()")
    if made.kind not in kinds:
        raise NvshmemInvalid(f"{name} has dtype {made.kind}: {call} takes {', '.join(kinds)}")
    if len(made.shape) != dims:
        raise NvshmemInvalid(f"{name} has shape {made.shape}: {call} takes {dims} axes; reshape it")
    if not found.c_contiguous:
        raise NvshmemInvalid(f"{name} is not contiguous: pass {name}.contiguous(), or a copy of it")
    if found.on_gpu != (job.device >= 0):
        where = f"GPU {job.device}" if job.device >= 0 else "the host"
        raise NvshmemInvalid(f"{name} is not in memory of {where}, where the symmetric heap is")
    device = getattr(getattr(value, "device", None), "index", None)
    if found.on_gpu and isinstance(device, int) and device != job.device:
        raise NvshmemInvalid(f"{name} is on GPU {device}, and this PE's heap is on GPU {job.device}")
    if symmetric:
        _symmetric(made, call)
    return made


def _symmetric(found: Array, call: str) -> None:
    owner = owner_of(found.value)
    if owner is not None:
        owner.live_address()
    peer = ctypes.c_void_p()
    for address in (found.address, found.address + max(found.nbytes, 1) - 1):
        if lib.nvshmemrs_ptr(job.runtime, address, job.my_pe, ctypes.byref(peer)):
            raise NvshmemInvalid(
                f"{found.name} is not symmetric memory, and other PEs access it in {call}: allocate "
                "it by nvshmem.tensor or nvshmem.array"
            )


def shape(found: Array, expected: Tuple[int, ...], why: str) -> None:
    """Raises unless an array has this shape."""
    if found.shape != expected:
        raise NvshmemInvalid(f"{found.name} has shape {found.shape}: it must be {expected}, {why}")


def kind(found: Array, other: Array) -> None:
    """Raises unless two arrays have elements of one type."""
    if found.kind != other.kind:
        raise NvshmemInvalid(f"{found.name} has dtype {found.kind}, and {other.name} {other.kind}")


def packed(found: Array, call: str) -> None:
    """Raises unless rows are whole units of 16 bytes that begin at a multiple of 16."""
    assert found.dtype is not None
    if found.shape[-1] * found.dtype.itemsize % PACK or found.address % PACK:
        raise NvshmemInvalid(
            f"{found.name}: {call} moves 16 bytes at once, so rows must have a multiple of 16 bytes "
            f"and begin at a multiple of 16; this has shape {found.shape} at {found.address:#x}"
        )


def apart(one: Array, other: Array, call: str) -> None:
    """Raises if two arrays share memory."""
    if one.address < other.address + other.nbytes and other.address < one.address + one.nbytes:
        raise NvshmemInvalid(f"{one.name} and {other.name} overlap: {call} takes arrays of their own")


def launch(programs: Optional[int], warps: Optional[int]) -> None:
    """Raises for a number of programs, or of their warps, that no launch can have; None chooses one."""
    if programs is not None and integer(programs, "programs") < 1:
        raise NvshmemInvalid(f"programs={programs}: it must be 1 or more, or None")
    if warps is not None and integer(warps, "warps") not in WARPS:
        raise NvshmemInvalid(f"warps={warps}: it must be a power of 2 from 1 to 32, or None")


def kernels() -> Any:
    """The module of kernels, where they run: on GPUs, and with TRITON_INTERPRET=1 on host memory.
    None for the plain form.
    """
    interpreted = os.environ.get("TRITON_INTERPRET") == "1"
    if job.device < 0:
        # The checker follows the plain form.
        if not interpreted or os.environ.get("NVSHMEMRS_CHECK", "").strip() == "1":
            return None
    elif interpreted:
        raise NotSupportedError(
            f"the symmetric heap is memory of GPU {job.device}, and TRITON_INTERPRET=1 runs kernels on "
            "the host; set NVSHMEMRS_MEMORY=host, or unset TRITON_INTERPRET"
        )
    from . import _kernels

    return _kernels


def on_stream(stream: Any, call: str) -> ContextManager[Any]:
    """Launches go to this stream; with None to torch's current one."""
    if job.device < 0:
        if stream is not None:
            raise NvshmemInvalid(f"stream: on host memory {call} is done when it returns; leave stream None")
        return contextlib.nullcontext()
    import torch  # type: ignore[import-not-found, unused-ignore]

    if torch.cuda.current_device() != job.device:
        raise NvshmemInvalid(
            f"torch's current device is {torch.cuda.current_device()}, and this PE's heap is on GPU "
            f"{job.device}: call torch.cuda.set_device({job.device}) before {call}"
        )
    if stream is None:
        return contextlib.nullcontext()
    if not isinstance(stream, torch.cuda.Stream):
        from ..streams import _raw

        raw = stream.cuda_stream if hasattr(stream, "cuda_stream") else _raw(stream)
        stream = torch.cuda.ExternalStream(raw, device=job.device)
    return torch.cuda.stream(stream)  # type: ignore[no-any-return, no-untyped-call, unused-ignore]


def multiprocessors() -> int:
    """Of this PE's GPU; in the interpreter, as many programs as a small launch needs."""
    return 2 if job.device < 0 else _multiprocessors(job.device)


@functools.lru_cache(maxsize=None)
def _multiprocessors(device: int) -> int:
    import torch  # type: ignore[import-not-found, unused-ignore]

    return int(torch.cuda.get_device_properties(device).multi_processor_count)


def power_of_2(n: int) -> int:
    """The next one."""
    return 1 << max(n - 1, 0).bit_length()


def zeros(shape: Tuple[int, ...]) -> Any:
    """int32 elements of this PE's own, where kernels run."""
    if job.device < 0:
        return np.zeros(shape, np.int32)
    import torch  # type: ignore[import-not-found, unused-ignore]

    return torch.zeros(shape, dtype=torch.int32, device=f"cuda:{job.device}")


def finished(workspace: Workspace) -> None:
    """On host memory, the call is complete on return; raises an error that a kernel reported."""
    if job.device < 0:
        workspace.check()
