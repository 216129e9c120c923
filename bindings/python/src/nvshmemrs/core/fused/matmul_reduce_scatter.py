"""A matrix product whose inner dimension is spread over the PEs; each PE gets some rows of the sum."""

from __future__ import annotations

from typing import Any, Optional, Tuple

from ..collective import reducescatter
from ..nvshmem_types import NvshmemInvalid
from ._product import Product, multiplied, spread
from ._workspace import Workspace

_CALL = "matmul_reduce_scatter"


def matmul_reduce_scatter(
    out: Any,
    a: Any,
    b: Any,
    workspace: Workspace,
    *,
    pieces: Optional[int] = None,
    tiles: Optional[Tuple[int, ...]] = None,
    stream: Any = None,
) -> None:
    """Member m's rows, from ``m * M // size`` on, of the sum over the members of ``a @ b`` into `out`.

    As ``matmul_all_reduce``, but `out` is (M / team size, N), of this PE's own. With `pieces`, too, a member's
    own product is rounded before the sum. M must be a multiple of the team's size.

    Collective over the team, with the same M, N, types, `pieces` and `tiles`; K may differ. On a GPU it is queued
    on `stream`, torch's current one unless given, and works in CUDA graphs. On host memory it is done
    on return.
    """
    p = Product(_CALL, a, b, workspace)
    ws, f = p.ws, p.f
    if f.rows % ws.n:
        raise NvshmemInvalid(f"a has {f.rows} rows, which {ws.n} members cannot share: pad it to a multiple of {ws.n}")
    section = f.rows // ws.n
    p.take_out(out, section, "this member's rows")
    chosen = p.divide(pieces, tiles, ws.n == 2, usual=1)
    ws.fits("product_bytes", spread(f, chosen, section, ws.n), _CALL)

    def plain() -> None:
        product = ws.staging("product", (f.rows, f.width), f.a.dtype)
        mine = product[ws.me * section :][:section]
        product[...] = multiplied(f)
        reducescatter(ws.handle, mine, product, "sum")
        p.out.host[...] = mine

    p.run(stream, plain, "reduce_scatter", lambda kernels: p.reduce_in_tiles(kernels, section, everywhere=False))
