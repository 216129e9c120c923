"""Symmetric memory that fused operations use between the PEs of a team."""

from __future__ import annotations

import math
from typing import Any, Dict, List, Optional, Tuple

import numpy as np

from ..._handle import Handle
from .._arguments import integer, team_of
from .._job import check, job, lib
from .._members import members_of, team_words
from ..collective import barrier, reduce
from ..device._triton_launch import Argument
from ..direct import team_my_pe, team_n_pes
from ..memory import Buffer, buffer, fail_allocation, free
from ..nvshmem_types import NotInitializedError, NvshmemInvalid, Teams
from ..rma import quiet

# The most programs of a launch.
PROGRAMS = 1024
# The most experts of a dispatch.
BINS = 512
# Choices that one program of a dispatch counts.
CHUNK = 128
# The most pieces of a product by torch.
MOST_PIECES = 16
# Bytes of the smallest tile of a product with a separate flag.
_TILE = 512
_LINE = 256
# Offsets in bytes of the errors that kernels found, and of the sizes that their calls used.
STATUS = 24
USED = 32
_LARGEST = 1 << 40
WRONG = {
    1: "experts has a number that is no expert: it must be from -1, which is none, to n_experts - 1",
    2: "dispatch: out has too few rows for the tokens that came: allocate it with more, on all PEs, "
    "or pass experts that are spread more evenly",
}


class Workspace(Handle):
    """Memory of fused operations on a team; ``with`` frees it.

    `reduce_bytes` are the most bytes of ``x`` of `all_reduce_rms_norm`, `product_bytes` those that
    products exchange in one call, and `choices` the most tokens times top-k of a `dispatch` on one
    PE. An operation that needs more raises an error that names the size.

    Collective over all PEs, with the same sizes; members pass the same `team`, and PEs that are no
    member pass None. It includes a barrier over all PEs. Operations that use one workspace come on
    one stream, or in streams that wait for each other, in the same order on all members.
    """

    def __init__(
        self,
        team: Any = Teams.TEAM_WORLD,
        *,
        reduce_bytes: int = 0,
        product_bytes: int = 0,
        choices: int = 0,
    ) -> None:
        if not job.runtime:
            raise NotInitializedError("Workspace: this process is not a PE; call init first")
        self._buffer: Optional[Buffer] = None
        self._runtime = job.runtime
        self._side: Any = None
        self._arguments: Dict[Tuple[Tuple[str, ...], str, int], List[Argument]] = {}
        self.team: Optional[int] = None
        try:
            self.reduce_bytes = _size(reduce_bytes, "reduce_bytes")
            self.product_bytes = _size(product_bytes, "product_bytes")
            self.choices = _size(choices, "choices")
            if team is not None:
                self.team = team_of(team)
        except NvshmemInvalid as error:
            fail_allocation(error)
        world = int(team_n_pes(Teams.TEAM_WORLD))
        self.pes: List[int] = [] if self.team is None else members_of(team)
        self.n = len(self.pes)
        self.me = -1 if self.team is None else int(team_my_pe(self.team))
        # Byte offsets of the parts.
        self._at: Dict[str, int] = {}
        self._end = 0
        # Flags of a half.
        self.flags = self.product_bytes // _TILE + world
        self._part("head", 128)
        self._part("calls", PROGRAMS * 8)
        self._part("turns", PROGRAMS * 8)
        self._part("members", world * 4)
        for name in ("entered", "left"):
            self._part(name, 2 * world * PROGRAMS * 8)
        self._part("table", 2 * world * BINS * 8)
        if self.choices:
            self._part("ranks", self.choices * 4)
            self._part("counts", -(-self.choices // CHUNK) * BINS * 4)
            self._part("base", BINS * 4)
            self._part("starts", BINS * 4)
        if self.product_bytes:
            self._part("flags", 2 * self.flags * 8)
            self._part("arrived", world * 2 * MOST_PIECES * 8)
        zeroed = self._end
        # Rows of all members, or sums beside shares of rows.
        self.rotation = _aligned(self.reduce_bytes * (world + 1))
        self._part("reduce", 3 * self.rotation)
        marked = self._end
        # Two halves, and memory for products by torch.
        self._part("product", 2 * self.product_bytes)
        self._part("pieces", self.product_bytes)
        self._agree(world)
        self._buffer = buffer(self._end)
        head = np.zeros(marked, np.uint8)
        head[zeroed:] = 0xFF  # data that has not come yet, as the kernels see it
        if self.n:
            self._describe(head)
        self._copy(lib.nvshmemrs_put, self.address("head"), head)
        barrier(Teams.TEAM_WORLD)

    @staticmethod
    def _copy(function: Any, address: int, array: "np.ndarray[Any, Any]") -> None:
        """Copies an array to this PE's memory by `put`, or from there by `get`."""
        sides = address, array.ctypes.data
        if function is lib.nvshmemrs_get:
            sides = sides[::-1]
        check(function(job.handle, *sides, array.nbytes, job.my_pe))
        quiet()

    def _part(self, name: str, nbytes: int) -> None:
        self._at[name] = self._end
        self._end += _aligned(nbytes)

    def _agree(self, world: int) -> None:
        """Raises on all PEs unless all have passed the same sizes."""
        sizes = (self.reduce_bytes, self.product_bytes, self.choices)
        told = np.array([*sizes, *(-size for size in sizes)], np.int64)
        found = np.zeros_like(told)
        with buffer(told.nbytes) as memory:
            memory.copy_from(told)
            quiet()
            reduce(Teams.TEAM_WORLD, memory, memory, "max", dtype="int64")
            memory.copy_to(found)
        for name, most, least in zip(("reduce_bytes", "product_bytes", "choices"), found, -found[3:]):
            if most != least:
                raise NvshmemInvalid(
                    f"{name}: the PEs passed {least} to {most}: all PEs must pass the same sizes to "
                    "Workspace"
                )

    def _describe(self, head: "np.ndarray[Any, Any]") -> None:
        """The team, as kernels read it."""
        words = head[: self._at["calls"]].view(np.int64)
        words[0], words[1] = team_words(self.pes, self.me)
        words[2] = self.address("members")
        head[self._at["members"] :][: 4 * self.n].view(np.int32)[:] = self.pes

    def address(self, name: str) -> int:
        """Where a part lies on this PE."""
        return self.live().live_address() + self._at[name]

    def arguments(self, *names: str, kind: str = "int64", offset: int = 0) -> List[Argument]:
        """Parts as arguments of a kernel, from `offset` bytes on; "state" is the state of this PE's kernels."""
        found = self._arguments.get((names, kind, offset))
        if found is None:
            found = [Argument(self._address(name) + offset, kind) for name in names]
            self._arguments[names, kind, offset] = found
        return found

    def _address(self, name: str) -> int:
        if name != "state":
            return self.address(name)
        from ..device.triton import state

        return state().data_ptr()

    @property
    def handle(self) -> int:
        """Its team's, of a member."""
        assert self.team is not None
        return self.team

    def staging(self, name: str, shape: Tuple[int, ...], dtype: Any) -> "np.ndarray[Any, Any]":
        """An array of NumPy's in a part, on host memory."""
        kind = np.dtype(dtype)
        begin = self._at[name]
        memory = np.asarray(memoryview(self.live()))[begin : begin + math.prod(shape) * kind.itemsize]
        array: np.ndarray[Any, Any] = memory.view(kind).reshape(shape)
        return array

    def side(self) -> Any:
        """A stream of torch's beside the caller's, and two events for its order with the caller's."""
        if self._side is None:
            import torch  # type: ignore[import-not-found, unused-ignore]

            self._side = torch.cuda.Stream(job.device, priority=-1), torch.cuda.Event(), torch.cuda.Event()
        return self._side

    def live(self) -> Buffer:
        """Its memory. NvshmemInvalid after `free`, and after the job's end."""
        if self._buffer is None or self._runtime != job.runtime:
            raise NvshmemInvalid("workspace was freed, or belongs to a job that has ended: make a Workspace")
        return self._buffer

    def members(self, call: str) -> None:
        """Raises unless this PE is a member of its team."""
        self.live()
        if not self.n:
            raise NvshmemInvalid(f"workspace: this PE is no member of its team, and must not call {call}")

    def fits(self, name: str, need: int, call: str) -> None:
        """Raises unless `need` fits the part of an operation."""
        have = getattr(self, name)
        if need > have:
            raise NvshmemInvalid(
                f"workspace has {name}={have}, and this {call} needs {need}: make it with "
                f"Workspace(team, {name}={need}) or more, on all PEs"
            )

    def check(self) -> None:
        """Waits for the operations of this PE's GPU, and raises the first invalid argument that a
        kernel reported since the last check: NvshmemInvalid. Local. ``free`` does it, too.
        """
        self.live()
        if job.device >= 0:
            import torch  # type: ignore[import-not-found, unused-ignore]

            torch.cuda.synchronize(job.device)
        status = np.zeros(1, np.int64)
        self._copy(lib.nvshmemrs_get, self.address("head") + STATUS, status)
        if status[0]:
            self._copy(lib.nvshmemrs_put, self.address("head") + STATUS, np.zeros(1, np.int64))
            raise NvshmemInvalid(WRONG[int(status[0])])

    def free(self) -> None:
        """Frees the memory, and raises as ``check``. Collective over all PEs."""
        if self._buffer is None:
            return
        try:
            self.check()
        finally:
            free(self._buffer)
            self._buffer = None

    def __enter__(self) -> "Workspace":
        return self

    def __exit__(self, kind: Optional[type], *_: object) -> None:
        # After an error the other PEs may never come.
        if kind is None:
            self.free()


def _size(value: Any, name: str) -> int:
    size = integer(value, name)
    if not 0 <= size < _LARGEST:
        raise NvshmemInvalid(f"{name}={value}: it must be 0 to 2**40")
    return _aligned(size)


def _aligned(nbytes: int) -> int:
    return -(-nbytes // _LINE) * _LINE
