"""Products by torch, piece by piece, on GPUs: while a piece or this member's own rows are computed, the
previous piece is copied by the GPU's copy engines, so that no multiprocessor is taken from the product.

Every call begins with a meeting of the members on the other stream. So what is written on a member
was given up there: its `out`, and the workspace's memory of the call before. Flags are numbers of calls,
which are counted in the workspace; so a graph can be replayed.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Iterator, Tuple

from .. import _foreign
from .._job import check, job, lib
from ..device._triton_launch import Argument, launch
from ..streams import handle_of
from ._arguments import Array
from ._workspace import MOST_PIECES, Workspace

if TYPE_CHECKING:
    from ._product import Factors


def _tensor(address: int, shape: Tuple[int, ...], kind: str, keeper: Any = None) -> Any:
    """A tensor of torch's at an address."""
    import torch  # type: ignore[import-not-found, unused-ignore]

    dtype = getattr(torch, kind)
    nbytes = dtype.itemsize
    for side in shape:
        nbytes *= side
    memory = _foreign.Span(address, keeper, (nbytes,), None).array()
    return _foreign.torch_tensor(memory, job.device, dtype).view(shape)


def _of(found: Array) -> Any:
    if hasattr(found.value, "untyped_storage"):
        return found.value
    return _tensor(found.address, found.shape, found.kind, found.value)


class Pieces:
    """One call: `count` pieces of each part, and a second stream."""

    def __init__(self, kernels: Any, ws: Workspace, f: "Factors", count: int) -> None:
        import torch  # type: ignore[import-not-found, unused-ignore]

        self.torch, self.kernels, self.ws, self.f, self.count = torch, kernels, ws, f, count
        self.a = _of(f.a)
        # Of a transpose, the contiguous matrix is `value`.
        is_tensor = hasattr(f.b.value, "untyped_storage")
        stored = f.b.value if is_tensor else _tensor(f.b.address, f.stored, f.b.kind, f.b.value)
        self.b = stored if f.strides[1] == 1 else stored.T
        self.main = torch.cuda.current_stream()
        self.side, self.met, self.event = ws.side()
        self.queue = handle_of(self.side)
        # Tensors of both streams are kept until the main stream waits for the other one.
        self.kept: "list[Any]" = []
        self._order(self.main, self.side)
        launch(kernels.meet_kernel, 1, ws.arguments("state", "head", "calls", "entered"), stream=self.side, num_warps=1)
        self.met.record(self.side)

    def _order(self, first: Any, then: Any) -> None:
        """Operations that are queued on `then` from now on follow the operations queued on `first`."""
        self.event.record(first)
        then.wait_event(self.event)

    def send(self, dest: int, source: Any, member: int, slot: int) -> None:
        """Puts rows of the main stream to an address of a member, and signals it: the number of the call
        is put to the member's flag.
        """
        self.kept.append(source)
        self._order(self.main, self.side)
        flag, calls = self._flag(self.ws.me, slot), self.ws.address("calls")
        for to, from_, nbytes in ((dest, source.data_ptr(), source.nbytes), (flag, calls, 8)):
            check(lib.nvshmemrs_put(self.queue, to, from_, nbytes, self.ws.pes[member]))

    def wait(self, member: int, slot: int) -> None:
        """Makes the main stream wait for the rows of a member."""
        # The kernel reads the number of the call.
        self.main.wait_event(self.met)
        flag = Argument(self._flag(member, slot), "int64")
        launch(self.kernels.wait_kernel, 1, (*self.ws.arguments("state", "calls"), flag), num_warps=1)

    def _flag(self, sender: int, slot: int) -> int:
        return self.ws.address("arrived") + (sender * 2 * MOST_PIECES + slot) * 8

    def staging(self, shape: Tuple[int, ...]) -> Any:
        """The workspace's memory of this PE."""
        return _tensor(self.ws.address("pieces"), shape, self.f.a.kind)

    def rows(self, begin: int, section: int) -> "Iterator[Tuple[int, slice]]":
        """The pieces of a section: their numbers and rows."""
        step = -(-section // self.count)
        for piece in range(self.count):
            first, last = min(piece * step, section), min((piece + 1) * step, section)
            if first < last:
                yield piece, slice(begin + first, begin + last)

    @contextlib.contextmanager
    def joined(self) -> "Iterator[None]":
        """Makes the main stream wait for the other stream at the end."""
        try:
            yield
        finally:
            self._order(self.side, self.main)
            self.kept.clear()


def all_reduce(p: Pieces, out: Array) -> None:
    """With two members: sends the other's rows to its `out`, and adds the received rows."""
    ws, section = p.ws, p.f.rows // 2
    other = 1 - ws.me
    here, row = _of(out), p.f.width * p.f.itemsize
    with p.joined():
        for piece, rows in p.rows(other * section, section):
            p.send(out.address + rows.start * row, p.a[rows] @ p.b, other, piece)
        last = 0
        for piece, rows in p.rows(ws.me * section, section):
            p.wait(other, piece)
            here[rows].addmm_(p.a[rows], p.b)
            last = p.count + piece
            p.send(out.address + rows.start * row, here[rows], other, last)
        p.wait(other, last)


def reduce_scatter(p: Pieces, out: Array) -> None:
    """With two members: sends the other's rows to its workspace. They are on the way while this member's are
    multiplied, so these need no pieces.
    """
    torch, ws, section = p.torch, p.ws, p.f.rows // 2
    other = 1 - ws.me
    here, came = _of(out), p.staging(out.shape)
    there, row = ws.address("pieces"), p.f.width * p.f.itemsize
    with p.joined():
        last = 0
        for last, rows in p.rows(other * section, section):
            p.send(there + (rows.start - other * section) * row, p.a[rows] @ p.b, other, last)
        torch.matmul(p.a[ws.me * section :][:section], p.b, out=here)
        p.wait(other, last)
        here.add_(came)


def all_gather(p: Pieces, out: Array) -> None:
    """This member's rows go to all others while it multiplies them."""
    torch, ws, section = p.torch, p.ws, p.f.rows
    here = _of(out)
    came, row = p.staging((ws.n, section, p.f.depth)), p.f.depth * p.f.itemsize
    there = ws.address("pieces") + ws.me * section * row
    with p.joined():
        for step in range(1, ws.n):
            # The member that multiplies this one's rows first.
            member = (ws.me - step) % ws.n
            for piece, rows in p.rows(0, section):
                p.send(there + rows.start * row, p.a[rows], member, piece)
        torch.matmul(p.a, p.b, out=here[ws.me * section :][:section])
        for step in range(1, ws.n):
            member = (ws.me + step) % ws.n
            for piece, rows in p.rows(0, section):
                p.wait(member, piece)
                torch.matmul(came[member][rows], p.b, out=here[member * section :][rows])
