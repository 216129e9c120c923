"""A matrix product whose inner dimension is spread over the PEs, and its sum."""

from __future__ import annotations

from typing import Any, Optional, Tuple

from ..collective import barrier, reduce
from ._product import Product, multiplied, spread
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
    p = Product(_CALL, a, b, workspace)
    ws, f = p.ws, p.f
    p.take_out(out, f.rows, "the rows of a and the columns of b", symmetric=True)
    chosen = p.divide(pieces, tiles, ws.n == 2 and f.rows % 2 == 0, usual=2)
    # Whole tiles for each member; the last members may have less.
    blocks = -(-f.rows // chosen.height)
    section = -(-blocks // ws.n) * chosen.height
    ws.fits("product_bytes", spread(f, chosen, section, ws.n), _CALL)

    def plain() -> None:
        barrier(ws.handle)  # other PEs may still use `out`
        p.out.host[...] = multiplied(f)
        reduce(ws.handle, p.out.host, p.out.host, "sum")

    p.run(stream, plain, "all_reduce", lambda kernels: p.reduce_in_tiles(kernels, section, everywhere=True))
