"""The host side of kernels in Triton: the state, arrays, teams and workspaces."""

from __future__ import annotations

import ctypes
import math
from typing import Any, Dict, Optional, Tuple

import numpy as np
from triton import knobs  # type: ignore[import-not-found, import-untyped, unused-ignore]

from ...._handle import Handle
from ... import _foreign
from ..._arguments import integer, shown, team_of
from ..._job import job, lib
from ..._members import members_of, team_words
from ...collective import barrier
from ...direct import team_my_pe, team_n_pes
from ...memory import Buffer, buffer, free, owner_of
from ...nvshmem_types import NotInitializedError, NotSupportedError, NvshmemInvalid, Teams
from .. import fitting
from .. import state as device_state
from ._settings import WATCHED

_INTERPRETED = bool(knobs.runtime.interpret)
# Words of 64 bits before a workspace's epochs.
HEAD = 16
# The largest number of programs that share a workspace.
_MOST_PROGRAMS = 1024


class Pointer(Handle):
    """An array as an argument of a kernel: the methods that Triton's launcher and its interpreter ask of a
    tensor of torch's. The memory is not copied, and the array is kept.
    """

    __slots__ = ("_address", "_array", "dtype", "shape")

    def __init__(self, address: int, dtype: Any, shape: Tuple[int, ...], array: Any) -> None:
        self._address = address
        self._array = array
        self.dtype = dtype
        self.shape = shape

    def data_ptr(self) -> int:
        """The address of the first element."""
        return self._address

    def numel(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    def element_size(self) -> int:
        """Bytes of an element."""
        return int(np.dtype(self.dtype).itemsize)

    # The interpreter's view of tensors: it copies those of GPUs to the host and back. These
    # lie there already.
    def untyped_storage(self) -> "Pointer":
        """Itself: there is nothing behind it."""
        return self

    def cpu(self) -> "Pointer":
        """Itself: the array is in host memory when the interpreter calls this."""
        return self

    def new_empty(self, *_: Any, **__: Any) -> "Pointer":
        """Itself: no other memory takes its place."""
        return self

    def set_(self, *_: Any) -> "Pointer":
        """Itself."""
        return self

    def copy_(self, *_: Any) -> "Pointer":
        """Itself: kernels have written to this memory."""
        return self

    def storage_offset(self) -> int:
        """0: `data_ptr` is where it begins."""
        return 0

    def size(self) -> Tuple[int, ...]:
        """Its shape."""
        return self.shape

    def stride(self) -> Tuple[int, ...]:
        """Elements from one to the next along each axis, in C order."""
        steps = [1]
        for length in reversed(self.shape[1:]):
            steps.append(steps[-1] * length)
        return tuple(reversed(steps))

    def __repr__(self) -> str:
        return f"Pointer({self._address:#x}, {self.dtype}, {self.shape})"


def _ready(caller: str) -> None:
    if not job.runtime:
        raise NotInitializedError(f"{caller}: this process is not a PE; call init first")
    if _INTERPRETED and job.device >= 0:
        raise NotSupportedError(
            f"{caller}: the symmetric heap is memory of GPU {job.device}, and TRITON_INTERPRET=1 runs "
            "kernels on the host; set NVSHMEMRS_MEMORY=host, or unset TRITON_INTERPRET"
        )
    if not _INTERPRETED and job.device < 0:
        raise NotSupportedError(
            f"{caller}: the symmetric heap is host memory, and Triton compiles for GPUs; set "
            "TRITON_INTERPRET=1 before Triton is imported, or pass device to init"
        )


def state() -> Pointer:
    """The first argument of kernels, from which `context` makes their context.

    It is an address, so a kernel that Triton has in its cache serves every job. It is valid until
    ``finalize``, for kernels of this PE; teams that are made or destroyed later are seen through it.

    Local. NotInitializedError without a job. NotSupportedError if kernels cannot use its heap:
    Triton's interpreter would have to use memory of a GPU, or compiled kernels memory of the host.
    """
    _ready("state")
    if WATCHED:
        from ._checked import words

        return Pointer(words(), "int64", (8,), None)
    found = fitting(device_state(), "state")
    return Pointer(found.pointer, "int64", (8,), None)


def wrap(array: Any, symmetric: bool = True) -> Any:
    """An array of NumPy's, CuPy's, or of the symmetric heap, as an argument of a kernel; no copy is
    made. torch's tensors need no wrapping, and are returned as they are.

    The array must lie in symmetric memory, as all memory must that kernels of other PEs access.
    With ``symmetric=False`` it may lie anywhere: kernels of this PE only load and store it.

    Local. NvshmemInvalid if it is no array, is not symmetric or was freed, has elements that Triton
    has no type for, or is not contiguous. NotInitializedError without a job, unless `symmetric` is
    False. NotSupportedError if kernels run where its memory is not.
    """
    if isinstance(array, Pointer):
        return array
    found = _foreign.described(array, "array")
    if found is None:
        raise NvshmemInvalid(f"wrap takes an array, not {shown(array)}")
    if hasattr(array, "untyped_storage"):
        if symmetric:
            _expect_symmetric(array, found)
        return array
    if found.dtype is None:
        raise NvshmemInvalid("wrap: bytes have no element type; make an array of them")
    if not found.c_contiguous:
        raise NvshmemInvalid(
            f"wrap: an array of shape {found.shape} and strides {found.strides} is not contiguous; "
            "wrap the whole array, and pass its strides to the kernel"
        )
    if found.on_gpu and _INTERPRETED:
        raise NotSupportedError(
            "wrap: this is memory of a GPU, and TRITON_INTERPRET=1 runs kernels on the host"
        )
    if not found.on_gpu and not _INTERPRETED:
        raise NotSupportedError(
            "wrap: this is memory of the host, and Triton compiles for GPUs; set TRITON_INTERPRET=1 "
            "before Triton is imported to run kernels on the host"
        )
    name = _name(found.dtype)
    if symmetric:
        _expect_symmetric(array, found)
    return Pointer(found.address, name, found.shape, array)


def _expect_symmetric(array: Any, found: _foreign.Described) -> None:
    """Raises unless all of an array lies in this PE's symmetric memory, and was not freed."""
    if not job.runtime:
        raise NotInitializedError("wrap: this process is not a PE; call init first")
    owner = owner_of(array)
    if owner is not None:
        owner.live_address()
    me, peer = int(team_my_pe(Teams.TEAM_WORLD)), ctypes.c_void_p()
    for address in (found.address, found.address + max(found.nbytes, 1) - 1):
        if lib.nvshmemrs_ptr(job.runtime, address, me, ctypes.byref(peer)):
            raise NvshmemInvalid(
                f"wrap: the array at {found.address:#x}, of {found.nbytes} bytes, is not symmetric "
                "memory, so no other PE has it: allocate it by nvshmem.array or nvshmem.tensor, or "
                "pass symmetric=False if only kernels of this PE use it"
            )


_NAMES: Dict[str, str] = {
    "bool": "int1",
    "float8_e4m3fn": "float8_e4m3fn",
    "float8_e5m2": "float8_e5m2",
    "bfloat16": "bfloat16",
}


def _name(dtype: "np.dtype[Any]") -> str:
    """The name by which Triton knows a type of elements."""
    name = str(_NAMES.get(dtype.name, dtype.name))
    known = dtype.kind in "iuf" and dtype.itemsize in (1, 2, 4, 8)
    if not (known or dtype.name in _NAMES) or not dtype.isnative:
        raise NvshmemInvalid(
            f"wrap: Triton has no type for elements of {dtype}; it has integers of 8 to 64 bits, "
            "float16, bfloat16, float32, float64 and float8"
        )
    return name


class Workspace(Handle):
    """Symmetric memory of `reduce_fast`, for calls on one team; ``with`` frees it.

    `nbytes` are the most bytes of one call, which `programs` programs share. It is the argument of
    kernels: pass ``workspace.pointer``.

    Collective over all PEs, with the same `nbytes` and `programs`; members pass the same `team`, and
    PEs that are no member pass None. It includes a barrier over all PEs.
    """

    def __init__(self, team: Any = Teams.TEAM_WORLD, nbytes: int = 1 << 16, programs: int = 32) -> None:
        _ready("Workspace")
        if WATCHED:
            raise NotSupportedError("Workspace: reduce_fast is not for jobs that are checked; take reduce")
        nbytes, programs = integer(nbytes, "nbytes"), integer(programs, "programs")
        if not 0 < nbytes < 1 << 40:
            raise NvshmemInvalid(f"nbytes={nbytes}: the size of a call's array must be 1 to 2**40")
        if not 0 < programs <= _MOST_PROGRAMS:
            raise NvshmemInvalid(f"programs={programs}: it must be 1 to {_MOST_PROGRAMS}")
        members = [] if team is None else members_of(team)
        world = int(team_n_pes(Teams.TEAM_WORLD))
        # Words of 8 bytes carry 4 bytes; whole blocks of the largest BLOCK.
        share = -(-nbytes // (4 * programs))
        self.capacity = -(-share // 1024) * 1024
        self.programs = programs
        start = -(-(HEAD + programs + (world + 1) // 2) // 16) * 16
        words = start + programs * 2 * world * self.capacity
        self._buffer: Optional[Buffer] = buffer(words * 8)
        address = self._buffer.live_address()
        head = np.zeros(words, np.int64)
        if members:
            me = int(team_my_pe(team_of(team)))
            head[0], head[1] = team_words(members, me)
            head[2] = address + (HEAD + programs) * 8
            # Kernels multiply both by 16.
            head[3] = start // 16
            head[4] = self.capacity // 16
            head[5] = programs
            listed = head[HEAD + programs :].view(np.int32)
            listed[: len(members)] = members
        self._buffer.copy_from(head)
        barrier(Teams.TEAM_WORLD)
        self.pointer = Pointer(address, "int64", (words,), self._buffer)

    def free(self) -> None:
        """Frees the memory; collective over all PEs."""
        if self._buffer is not None:
            free(self._buffer)
            self._buffer = None

    def __enter__(self) -> "Workspace":
        return self

    def __exit__(self, kind: Optional[type], *_: object) -> None:
        # After an error the other PEs may never come.
        if kind is None:
            self.free()
