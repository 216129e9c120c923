"""A matrix product whose left factor's rows are spread over the PEs."""

from __future__ import annotations

from typing import Any, Optional, Tuple

from ..collective import fcollect
from ..device._triton_launch import launch
from ..nvshmem_types import NvshmemInvalid
from ._product import SENDERS, Product, multiplied
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
    p = Product(_CALL, a, b, workspace)
    ws, f = p.ws, p.f
    p.take_out(out, f.rows * ws.n, "the rows of all members, and the columns of b")
    chosen = p.divide(pieces, tiles, True, usual=1)
    ws.fits("product_bytes", f.a.nbytes * ws.n, _CALL)

    def plain() -> None:
        gathered = ws.staging("product", (1 + ws.n, f.rows, f.depth), f.a.dtype)
        gathered[0] = f.a.host
        fcollect(ws.handle, gathered[1:], gathered[0])
        p.out.host[...] = multiplied(f, gathered[1:].reshape(-1, f.depth))

    def in_tiles(kernels: Any) -> None:
        senders = min(SENDERS, chosen.programs - 1)
        if senders < 1:
            raise NvshmemInvalid(f"tiles={tiles}: {_CALL} needs 2 programs, of which one sends")
        launch(
            kernels.gather_product_kernel, chosen.programs, p.arguments(), (f.width, f.depth, *f.strides, f.rows, *p.halves()),
            **f.constants(chosen), SENDERS=1 if senders < SENDERS else SENDERS,
        )  # fmt: skip

    p.run(stream, plain, "all_gather", in_tiles)
