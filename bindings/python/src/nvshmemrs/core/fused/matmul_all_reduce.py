"""A matrix product whose inner dimension is spread over the PEs, and its sum."""

from __future__ import annotations

from typing import Any, Optional, Tuple

from ..collective import barrier, reduce
from . import _arguments as args
from ._product import Factors, halves, multiplied, pieces_of, shared, spread, tiles_of
from ._workspace import Workspace

_CALL = "matmul_all_reduce"


def matmul_all_reduce(
    out: Any,
    a: Any,
    b: Any,
    workspace: Workspace,
    *,
    pieces: Optional[int] = None,
    tiles: Optional[Tuple[int, ...]] = None,
    stream: Any = None,
) -> None:
    """The sum over the members of ``a @ b`` into `out` of every member.

    `a` is (M, K) and `b` (K, N), of float16, bfloat16 or float32; `b` may be the transpose of a
    contiguous matrix. `out` is symmetric, (M, N), of the same type. Each member's product is rounded to
    the type, and they are summed in the order of the team in single precision and rounded once: all
    members get the same bits.

    Large products of 2 members on GPUs are made by torch in `pieces`, which copy engines exchange; there
    a member's own product is not rounded before it is added to the other one's. With ``pieces=0``, and
    otherwise, a kernel makes `tiles` of them: (height, width, depth, warps, stages, programs).

    Collective over the team, with the same M, N, types, `pieces` and `tiles`; K may differ. On a GPU it is queued
    on `stream`, torch's current one unless given, and works in CUDA graphs. On host memory it is done
    on return.
    """
    ws = args.workspace_of(workspace, _CALL)
    f = Factors(a, b, _CALL)
    out = args.array(out, "out", _CALL, dims=2, kinds=args.FLOATS, symmetric=True)
    args.shape(out, (f.rows, f.width), "the rows of a and the columns of b")
    args.kind(out, f.a)
    for other in (f.a, f.b):
        args.apart(out, other, _CALL)
    chosen = tiles_of(tiles, f)
    count = pieces_of(pieces, tiles, f, ws.n == 2 and f.rows % 2 == 0, ws)
    # Whole tiles for each member; the last members may have less.
    blocks = -(-f.rows // chosen.height)
    section = -(-blocks // ws.n) * chosen.height
    ws.fits("product_bytes", spread(f, chosen, section, ws.n), _CALL)
    kernels = args.kernels()
    with args.on_stream(stream, _CALL):
        if kernels is None:
            # Other PEs may still use `out`.
            barrier(ws.handle)
            out.host[...] = multiplied(f)
            reduce(ws.handle, out.host, out.host, "sum")
            return
        if count:
            from . import _pieces

            _pieces.all_reduce(_pieces.Pieces(kernels, ws, f, count), out)
            return
        kernels.reduce_product_kernel[(chosen.programs,)](
            *shared(ws, f), args.pointer(f.a), args.pointer(f.b), args.pointer(out), f.rows, f.width, f.depth, *f.strides,
            section, *halves(ws, f), **f.constants(chosen), EVERYWHERE=True,
        )  # fmt: skip
