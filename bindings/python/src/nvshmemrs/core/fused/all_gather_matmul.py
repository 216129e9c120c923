"""A matrix product whose left factor's rows are spread over the PEs."""

from __future__ import annotations

from typing import Any, Optional, Tuple

from ..collective import fcollect
from ..nvshmem_types import NvshmemInvalid
from . import _arguments as args
from ._product import SENDERS, Factors, halves, multiplied, pieces_of, shared, tiles_of
from ._workspace import Workspace

_CALL = "all_gather_matmul"


def all_gather_matmul(
    out: Any,
    a: Any,
    b: Any,
    workspace: Workspace,
    *,
    pieces: Optional[int] = None,
    tiles: Optional[Tuple[int, ...]] = None,
    stream: Any = None,
) -> None:
    """``A @ b`` into `out`, where A are the rows of `a` of all members, in the order of the team.

    `a` is (M / team size, K) and `b` (K, N), of float16, bfloat16 or float32; `b` may be the transpose
    of a contiguous matrix. `out` is (M, N), of the same type, of this PE's own.

    Large products on GPUs are made by torch in `pieces`, which copy engines exchange. With ``pieces=0``,
    and otherwise, a kernel makes `tiles` of them: (height, width, depth, warps, stages, programs).

    Collective over the team, with the same shape of `a`, types, `pieces` and `tiles`; `b` may differ, also in its
    columns. On a GPU it is queued on `stream`, torch's current one unless given, and works in CUDA
    graphs. On host memory it is done on return.
    """
    ws = args.workspace_of(workspace, _CALL)
    f = Factors(a, b, _CALL)
    out = args.array(out, "out", _CALL, dims=2, kinds=args.FLOATS)
    args.shape(out, (f.rows * ws.n, f.width), "the rows of all members, and the columns of b")
    args.kind(out, f.a)
    for other in (f.a, f.b):
        args.apart(out, other, _CALL)
    chosen = tiles_of(tiles, f)
    count = pieces_of(pieces, tiles, f, True, ws)
    ws.fits("product_bytes", f.a.nbytes * ws.n, _CALL)
    kernels = args.kernels()
    with args.on_stream(stream, _CALL):
        if kernels is None:
            gathered = ws.staging("product", (1 + ws.n, f.rows, f.depth), f.a.dtype)
            gathered[0] = f.a.host
            fcollect(ws.handle, gathered[1:], gathered[0])
            out.host[...] = multiplied(f, gathered[1:].reshape(-1, f.depth))
            return
        if count:
            from . import _pieces

            _pieces.all_gather(_pieces.Pieces(kernels, ws, f, count), out)
            return
        senders = min(SENDERS, chosen.programs - 1)
        if senders < 1:
            raise NvshmemInvalid(f"tiles={tiles}: {_CALL} needs 2 programs, of which one sends")
        kernels.gather_product_kernel[(chosen.programs,)](
            *shared(ws, f), args.pointer(f.a), args.pointer(f.b), args.pointer(out), f.width, f.depth, *f.strides,
            f.rows, *halves(ws, f), **f.constants(chosen), SENDERS=1 if senders < SENDERS else SENDERS,
        )  # fmt: skip
