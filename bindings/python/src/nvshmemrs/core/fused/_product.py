"""Shared parts of the matrix products: arguments, tiles, sizes, and the order of a call."""

from __future__ import annotations

from typing import Any, Callable, Dict, NamedTuple, Optional, Tuple

import numpy as np

from .. import _foreign
from .._arguments import shown
from .._job import job
from ..device._triton_launch import Argument, launch
from ..nvshmem_types import NvshmemInvalid
from . import _arguments as args
from ._arguments import Array
from ._workspace import MOST_PIECES, PROGRAMS, Workspace

# Programs that send rows of the left factor, while the others compute.
SENDERS = 16
# Large products have so many multiplications at least, and are made in pieces.
LARGE = 1 << 34


class Tiles(NamedTuple):
    """How a product is divided: the height, width and depth of a tile, the warps of a program, loads
    under way, and programs; for tuning.
    """

    height: int
    width: int
    depth: int
    warps: int
    stages: int
    programs: int


class Factors:
    """The factors of a product. `b` may be the transpose of a contiguous matrix."""

    def __init__(self, a: Any, b: Any, call: str) -> None:
        self.call = call
        self.a = args.array(a, "a", call, dims=2, kinds=args.FLOATS)
        self.b, self.strides = _right(b, call)
        args.kind(self.b, self.a)
        self.rows, self.depth = self.a.shape
        if self.b.shape[0] != self.depth:
            raise NvshmemInvalid(f"b has shape {self.b.shape}: a has shape {self.a.shape}, so b needs {self.depth} rows")
        self.width = self.b.shape[1]
        if not self.rows or not self.width or not self.depth:
            raise NvshmemInvalid(f"a has shape {self.a.shape} and b {self.b.shape}: {call} needs an element of each")
        assert self.a.dtype is not None
        for found, length in ((self.a, self.depth), (self.b, self.depth if self.strides[0] == 1 else self.width)):
            if length * self.a.dtype.itemsize % args.PACK or found.address % args.PACK:
                raise NvshmemInvalid(
                    f"{found.name} has shape {found.shape} at {found.address:#x}: {call} loads 16 bytes at once, so its "
                    "rows, as they lie in memory, must have a multiple of 16 bytes and begin at a multiple of 16"
                )
        self.itemsize = self.a.dtype.itemsize
        # The shape of `b` as it lies in memory.
        self.stored = self.b.shape if self.strides[1] == 1 else self.b.shape[::-1]

    @property
    def right(self) -> "np.ndarray[Any, Any]":
        """The right factor, on host memory."""
        return self.b.host if self.strides[1] == 1 else self.b.host.reshape(self.stored).T

    def constants(self, tiles: Tiles) -> Dict[str, Any]:
        """Of a kernel."""
        made = dict(BM=tiles.height, BN=tiles.width, BK=tiles.depth, GROUP=8)
        made.update(EVEN_N=self.width % tiles.width == 0, EVEN_K=self.depth % tiles.depth == 0)
        if job.device >= 0:
            made.update(num_warps=tiles.warps, num_stages=tiles.stages)
        return made


def _right(b: Any, call: str) -> Tuple[Array, Tuple[int, int]]:
    """`b`, and the elements from a row to the next and from a column to the next."""
    found = _foreign.described(b, "b")
    if found is not None and not found.c_contiguous and len(found.shape) == 2 and hasattr(b, "T"):
        turned = args.array(b.T, "b", call, dims=2, kinds=args.FLOATS)
        turned.shape = found.shape
        return turned, (1, found.shape[0])
    made = args.array(b, "b", call, dims=2, kinds=args.FLOATS)
    return made, (made.shape[1], 1)


def pieces_of(value: Optional[int], tiles: Any, f: Factors, fits: bool, usual: int, ws: Workspace) -> int:
    """The pieces of a product by torch, `usual` for large ones; 0 for a kernel with tiles. `fits`: whether the
    first can be.
    """
    if value is not None and (type(value) is not int or not 0 <= value <= MOST_PIECES):
        raise NvshmemInvalid(f"pieces={shown(value)}: it must be 0 to {MOST_PIECES}, or None")
    if value and tiles is not None:
        raise NvshmemInvalid("pieces and tiles: pass one of them")
    if value and not fits:
        raise NvshmemInvalid(f"pieces={value}: {f.call} in pieces takes 2 members and an even number of rows; pass 0")
    if job.device < 0 or not fits or tiles is not None or ws.n == 1:
        return 0
    if value is None:
        return usual if f.rows * f.width * f.depth >= LARGE else 0
    return value


def tiles_of(value: Optional[Tuple[int, ...]], f: Factors) -> Tiles:
    """The tiles: the requested ones, or suitable defaults."""
    if value is None:
        if job.device < 0:
            return Tiles(16, 16, 32, 4, 1, 3)
        return Tiles(128, 128, 64 if f.itemsize == 2 else 32, 4, 3, 2 * args.multiprocessors())
    good = isinstance(value, tuple) and len(value) == 6 and all(type(word) is int and word > 0 for word in value)
    sides = value[:3] if good else ()
    powers = good and all(side >= 16 and not side & (side - 1) for side in sides) and value[3] in args.WARPS
    if not powers or value[5] > PROGRAMS:
        raise NvshmemInvalid(
            f"tiles={value!r}: it must be (height, width, depth, warps, stages, programs), sides powers of 2 from 16, "
            f"warps a power of 2 up to 32, at most {PROGRAMS} programs"
        )
    return Tiles(*value)


def spread(f: Factors, tiles: Tiles, section: int, n: int) -> int:
    """Bytes of a half of the workspace for the tiles of all members."""
    down, across = -(-section // tiles.height), -(-f.width // tiles.width)
    return n * down * across * tiles.height * tiles.width * f.itemsize


def multiplied(f: Factors, left: "Optional[np.ndarray[Any, Any]]" = None) -> "np.ndarray[Any, Any]":
    """The product on the host, in single precision, rounded to its type."""
    rows = f.a.host if left is None else left
    product = rows.astype(np.float32) @ f.right.astype(np.float32)
    return product.astype(f.a.dtype)  # type: ignore[no-any-return]


class Product:
    """A call of a matrix product: its arguments are checked, then it is divided, then it runs."""

    def __init__(self, call: str, a: Any, b: Any, workspace: Any) -> None:
        self.ws: Workspace = args.workspace_of(workspace, call)
        self.f = Factors(a, b, call)

    def take_out(self, out: Any, rows: int, why: str, *, symmetric: bool = False) -> None:
        """Checks `out`, which has `rows` rows; `why` says which ones."""
        f = self.f
        self.out = args.array(out, "out", f.call, dims=2, kinds=args.FLOATS, symmetric=symmetric)
        args.shape(self.out, (rows, f.width), why)
        args.kind(self.out, f.a)
        for other in (f.a, f.b):
            args.apart(self.out, other, f.call)

    def divide(self, pieces: Optional[int], tiles: Optional[Tuple[int, ...]], fits: bool, usual: int) -> Tiles:
        """Chooses tiles, and the pieces of a product by torch, of which there are `usual`; `fits`: whether
        there can be pieces.
        """
        self.tiles = tiles_of(tiles, self.f)
        self.pieces = pieces_of(pieces, tiles, self.f, fits, usual, self.ws)
        return self.tiles

    def run(
        self,
        stream: Any,
        plain: Callable[[], None],
        in_pieces: str,
        in_tiles: Callable[[Any], None],
    ) -> None:
        """Runs the plain form, a function of ``_pieces``, or a kernel."""
        kernels = args.kernels()
        with args.on_stream(stream, self.f.call):
            if kernels is None:
                plain()
            elif self.pieces:
                from . import _pieces

                pieces = _pieces.Pieces(kernels, self.ws, self.f, self.pieces)
                getattr(_pieces, in_pieces)(pieces, self.out)
            else:
                in_tiles(kernels)

    def arguments(self) -> Tuple[Argument, ...]:
        """The first arguments of the kernels: the workspace, its staging memory, and the matrices."""
        ws, f = self.ws, self.f
        (staging,) = ws.arguments("product", kind=f.a.kind)
        return (*ws.arguments("state", "head", "calls", "flags", "left"), staging, f.a.argument, f.b.argument, self.out.argument)

    def halves(self) -> Tuple[int, int]:
        """Elements and flags of a half of the workspace."""
        return self.ws.product_bytes // self.f.itemsize, self.ws.flags

    def reduce_in_tiles(self, kernels: Any, section: int, *, everywhere: bool) -> None:
        """Starts the kernel that sums the members' products; each member sums `section` rows."""
        f, tiles = self.f, self.tiles
        launch(
            kernels.reduce_product_kernel, tiles.programs, self.arguments(),
            (f.rows, f.width, f.depth, *f.strides, section, *self.halves()), **f.constants(tiles), EVERYWHERE=everywhere,
        )  # fmt: skip
