"""A matrix product whose inner dimension is spread over the PEs; each PE gets some rows of the sum."""

from __future__ import annotations

from typing import Any, Optional, Tuple

from ..collective import reducescatter
from ..nvshmem_types import NvshmemInvalid
from . import _arguments as args
from ._product import Factors, halves, multiplied, pieces_of, shared, spread, tiles_of
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

    As ``matmul_all_reduce``, but `out` is (M / team size, N), of this PE's own. M must be a multiple of
    the team's size.

    Collective over the team, with the same M, N, types, `pieces` and `tiles`; K may differ. On a GPU it is queued
    on `stream`, torch's current one unless given, and works in CUDA graphs. On host memory it is done
    on return.
    """
    ws = args.workspace_of(workspace, _CALL)
    f = Factors(a, b, _CALL)
    if f.rows % ws.n:
        raise NvshmemInvalid(f"a has {f.rows} rows, which {ws.n} members cannot share: pad it to a multiple of {ws.n}")
    section = f.rows // ws.n
    out = args.array(out, "out", _CALL, dims=2, kinds=args.FLOATS)
    args.shape(out, (section, f.width), "this member's rows")
    args.kind(out, f.a)
    for other in (f.a, f.b):
        args.apart(out, other, _CALL)
    chosen = tiles_of(tiles, f)
    count = pieces_of(pieces, tiles, f, ws.n == 2, ws)
    ws.fits("product_bytes", spread(f, chosen, section, ws.n), _CALL)
    kernels = args.kernels()
    with args.on_stream(stream, _CALL):
        if kernels is None:
            product = ws.staging("product", (f.rows, f.width), f.a.dtype)
            product[...] = multiplied(f)
            reducescatter(ws.handle, product[ws.me * section :][:section], product, "sum")
            out.host[...] = product[ws.me * section :][:section]
            return
        if count:
            from . import _pieces

            _pieces.reduce_scatter(_pieces.Pieces(kernels, ws, f, count), out)
            return
        kernels.reduce_product_kernel[(chosen.programs,)](
            *shared(ws, f), args.pointer(f.a), args.pointer(f.b), args.pointer(out), f.rows, f.width, f.depth, *f.strides,
            section, *halves(ws, f), **f.constants(chosen), EVERYWHERE=False,
        )  # fmt: skip
