"""Rows of tokens to the PEs that have their experts."""

from __future__ import annotations

from typing import Any, Optional, Tuple

import numpy as np

from .._arguments import integer, shown
from ..collective import barrier, fcollect
from ..device._triton_launch import Argument, launch
from ..nvshmem_types import NvshmemInvalid
from ..rma import put
from . import _arguments as args
from ._arguments import Array
from ._workspace import BINS, CHUNK, PROGRAMS, STATUS, WRONG, Workspace
from .route import Route

_CALL = "dispatch"
ROWS = ("float16", "bfloat16", "float32", "float8_e4m3fn", "float8_e5m2", "int8", "uint8")
_MOST_ROW = 64 << 10
_MOST_SCALES = 1024


def dispatch(
    out: Any,
    x: Any,
    experts: Any,
    workspace: Workspace,
    *,
    n_experts: int,
    scales: Any = None,
    out_scales: Any = None,
    align: int = 1,
    route: Optional[Route] = None,
    programs: Optional[int] = None,
    warps: Optional[int] = None,
    stream: Any = None,
) -> Route:
    """Copies row t of `x` to the PE of each expert that ``experts[t]`` names.

    `x` is (tokens, hidden), `experts` (tokens, top-k) of int32 or int64, from 0 to `n_experts` - 1, or
    -1 for none. Every member has ``n_experts // team size`` experts, in the order of the team. `out` is
    symmetric, (capacity, hidden), of the type of `x`: its rows lie by experts, then by the members
    that they come from, then by tokens. Each expert's rows begin at a multiple of `align`; rows
    between are left as they are. Rows have a multiple of 16 bytes, at most 64 KiB; bfloat16, float16,
    float32 and types of 8 bits are moved as they are. For float8 there may be `scales` (tokens, k)
    of float32, which go to the symmetric `out_scales` (capacity, k).

    Members may have different numbers of tokens; `n_experts`, top-k, hidden, `align` and the capacity
    must be the same. Returns the Route, `route` if one of the same sizes was passed.

    Collective over the team. The host learns no count. On a GPU it is queued on `stream`, torch's
    current one unless given, and works in CUDA graphs; a number of an expert that is out of range, and
    an `out` with too few rows, are raised by ``workspace.check()`` and ``free``. Rows without room are
    left out. On host memory it is done on return, and raises at once.
    """
    ws = args.workspace_of(workspace, _CALL)
    x = args.array(x, "x", _CALL, dims=2, kinds=ROWS)
    experts = args.array(experts, "experts", _CALL, dims=2, kinds=args.INDICES)
    out = args.array(out, "out", _CALL, dims=2, kinds=ROWS, symmetric=True)
    tokens, hidden = x.shape
    args.shape(experts, (tokens, experts.shape[1]), "a row for each token of x")
    args.shape(out, (out.shape[0], hidden), "rows as x has them")
    args.kind(out, x)
    for found in (x, out):
        args.packed(found, _CALL)
    assert x.dtype is not None
    if hidden * x.dtype.itemsize > _MOST_ROW:
        raise NvshmemInvalid(f"x has shape {x.shape}: a row may have at most {_MOST_ROW} bytes")
    args.apart(out, x, _CALL)
    scaled = _scales(scales, out_scales, tokens, out.shape[0])
    args.launch(programs, warps)
    align = integer(align, "align")
    if not 1 <= align <= 1 << 16:
        raise NvshmemInvalid(f"align={align}: it must be 1 to 65536 rows")
    route = _route(route, ws, tokens, experts.shape[1], n_experts)
    ws.fits("choices", max(tokens, 1) * route.top_k, _CALL)
    kernels = args.kernels()
    with args.on_stream(stream, _CALL):
        if kernels is None:
            _plain(ws, x, experts, out, scaled, align, route)
        else:
            _launch(kernels, ws, x, experts, out, scaled, align, route, programs, warps)
    args.finished(ws)
    return route


def _scales(scales: Any, out_scales: Any, tokens: int, capacity: int) -> "Optional[Tuple[Array, Array]]":
    if (scales is None) != (out_scales is None):
        raise NvshmemInvalid("scales and out_scales: pass both, or none")
    if scales is None:
        return None
    found = args.array(scales, "scales", _CALL, dims=2, kinds=("float32",))
    to = args.array(out_scales, "out_scales", _CALL, dims=2, kinds=("float32",), symmetric=True)
    if not 1 <= found.shape[1] <= _MOST_SCALES:
        raise NvshmemInvalid(f"scales has shape {found.shape}: a token may have 1 to {_MOST_SCALES}")
    args.shape(found, (tokens, found.shape[1]), "a row for each token of x")
    args.shape(to, (capacity, found.shape[1]), "a row for each of out")
    return found, to


def _route(route: Any, ws: Workspace, tokens: int, top_k: int, n_experts: int) -> Route:
    if route is None:
        return Route(ws, tokens, top_k, n_experts)
    if not isinstance(route, Route) or route.workspace is not ws:
        raise NvshmemInvalid(f"route is {shown(route)}: pass a Route of this workspace, or None")
    if (route.tokens, route.top_k, route.n_experts) != (tokens, top_k, n_experts):
        raise NvshmemInvalid(
            f"route was made for {route.tokens} tokens, top_k={route.top_k} and n_experts={route.n_experts}; "
            f"here are {tokens}, {top_k} and {n_experts}: make a Route for them"
        )
    return route


def _launch(
    kernels: Any,
    ws: Workspace,
    x: Array,
    experts: Array,
    out: Array,
    scaled: "Optional[Tuple[Array, Array]]",
    align: int,
    route: Route,
    programs: Optional[int],
    warps: Optional[int],
) -> None:
    choices, bins = route.tokens * route.top_k, max(16, args.power_of_2(route.n_experts))
    chunks = max(1, -(-choices // CHUNK))
    capacity, tokens = out.shape[0], route.tokens
    assert x.dtype is not None
    words = x.shape[1] * x.dtype.itemsize // 4
    (status,) = ws.arguments("head", offset=STATUS)
    ranks, counts, base, starts = ws.arguments("ranks", "counts", "base", "starts", kind="int32")
    places, here, offsets = route.arguments
    chosen = experts.argument
    launch(
        kernels.count_kernel, chunks, (chosen, counts, ranks, status), (choices, route.n_experts),
        BINS=bins, CHUNK=CHUNK, num_warps=8,
    )  # fmt: skip
    launch(
        kernels.plan_kernel, 1, (*ws.arguments("state", "head", "calls", "table"), counts, base, starts, status, here, offsets),
        (chunks, route.n_experts, route.each, capacity, align),
        CHUNKS=args.power_of_2(chunks), BINS=bins, TILE=min(bins, max(16, 4096 // args.power_of_2(chunks))), num_warps=8,
    )  # fmt: skip
    warps = warps or min(8, max(1, args.power_of_2(words) // 128))
    # As many on all members, whose numbers of tokens may differ.
    programs = min(programs or args.multiprocessors() * max(1, 32 // warps), PROGRAMS)
    of_scales, to_scales = (found.argument for found in scaled) if scaled else (chosen, chosen)
    columns = scaled[0].shape[1] if scaled else 0
    rows, inbox = Argument(x.address, "int32"), Argument(out.address, "int32")
    launch(
        kernels.move_kernel, programs,
        (*ws.arguments("state", "head", "calls", "left"), rows, of_scales, chosen, ranks, counts, base, places, inbox, to_scales),
        (tokens, words, columns, capacity, route.each),
        TOP=route.top_k, BINS=bins, CHUNK=CHUNK, BLOCK=args.power_of_2(words),
        SCALES=args.power_of_2(columns) if columns else 0, num_warps=warps,
    )  # fmt: skip


def _plain(
    ws: Workspace,
    x: Array,
    experts: Array,
    out: Array,
    scaled: "Optional[Tuple[Array, Array]]",
    align: int,
    route: Route,
) -> None:
    """The same by the library's all-gather and puts."""
    flat = experts.host.reshape(-1)
    good = ((flat >= -1) & (flat < route.n_experts)).all()
    # Of a mistake all members learn, so that none waits.
    sent = ws.staging("table", (1 + ws.n, BINS), np.int64)
    sent[0] = 0
    sent[0, : route.n_experts] = np.bincount(flat[flat >= 0], minlength=route.n_experts) if good else -1
    mine = sent[0].copy()
    fcollect(ws.handle, sent[1:], sent[0])
    matrix = sent[1:, : route.n_experts].copy()
    barrier(ws.handle)
    if (matrix < 0).any():
        raise NvshmemInvalid(WRONG[1] + f"; on PE {ws.pes[int((matrix < 0).any(axis=1).argmax())]}")
    total = matrix.sum(axis=0)
    padded = -(-total // align) * align
    begin = (padded.cumsum() - padded).reshape(ws.n, route.each)
    begin = (begin - begin[:, :1]).reshape(-1)
    here = slice(ws.me * route.each, (ws.me + 1) * route.each)
    route.counts[...] = total[here]
    route.offsets[:-1] = begin[here]
    route.offsets[-1] = (begin + padded)[here][-1]
    following = begin + matrix[: ws.me].sum(axis=0)
    assert (mine[: route.n_experts] == matrix[ws.me]).all()
    if (begin + total > out.shape[0]).any():
        raise NvshmemInvalid(WRONG[2])
    rows, places = x.host, route.places.reshape(-1)
    pairs = [(rows, out.host)] + ([(scaled[0].host, scaled[1].host)] if scaled else [])
    for i, expert in enumerate(flat):
        places[i] = -1
        if expert < 0:
            continue
        places[i] = following[expert]
        following[expert] += 1
        for source, dest in pairs:
            to = dest[places[i]]
            put(_bytes(to), _bytes(source[i // route.top_k]), ws.pes[int(expert) // route.each])
    barrier(ws.handle)


def _bytes(row: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
    return row.view(np.uint8)
