"""The experts' results back to the PEs of their tokens."""

from __future__ import annotations

from typing import Any, Optional

import numpy as np

from .._arguments import shown
from ..collective import barrier
from ..device._triton_launch import launch
from ..nvshmem_types import NvshmemInvalid
from ..rma import get
from . import _arguments as args
from ._arguments import Array
from ._workspace import PROGRAMS, Workspace
from .route import Route

_CALL = "combine"
_KINDS = (*args.FLOATS, "float8_e4m3fn", "float8_e5m2")
_MOST_ROW = 64 << 10


def combine(
    out: Any,
    y: Any,
    experts: Any,
    weights: Any,
    route: Route,
    *,
    scales: Any = None,
    programs: Optional[int] = None,
    warps: Optional[int] = None,
    stream: Any = None,
) -> None:
    """Row t of `out` becomes the sum of ``weights[t, k]`` times the row of `y` where `dispatch` put
    choice k of token t, in the order of k, in single precision.

    `y` is symmetric, (capacity, hidden), of float16, bfloat16, float32 or float8: what the experts
    made of the rows of ``out`` of `dispatch`, each in its place. With `scales`, symmetric, (capacity, k)
    of float32, element j of a row is times ``scales[row, j // (hidden // k)]``. `experts` is that of
    `dispatch`; `weights` (tokens, top-k) of float16, bfloat16 or float32; `out` (tokens, hidden) of one of
    these. Choices of -1 count nothing.

    Collective over the team of the Route's workspace. On a GPU it is queued on `stream`, torch's
    current one unless given, and works in CUDA graphs. When it is done, `y` may be written again. On
    host memory it is done on return.
    """
    if not isinstance(route, Route):
        raise NvshmemInvalid(f"route is {shown(route)}: pass the result of dispatch")
    ws = args.workspace_of(route.workspace, _CALL)
    y = args.array(y, "y", _CALL, dims=2, kinds=_KINDS, symmetric=True)
    out = args.array(out, "out", _CALL, dims=2, kinds=args.FLOATS)
    experts = args.array(experts, "experts", _CALL, dims=2, kinds=args.INDICES)
    weights = args.array(weights, "weights", _CALL, dims=2, kinds=args.FLOATS)
    hidden = y.shape[1]
    args.shape(out, (route.tokens, hidden), "a row of y for each token of the route")
    for found in (experts, weights):
        args.shape(found, (route.tokens, route.top_k), "as experts of dispatch")
    assert y.dtype is not None
    if hidden * y.dtype.itemsize > _MOST_ROW:
        raise NvshmemInvalid(f"y has shape {y.shape}: a row may have at most {_MOST_ROW} bytes")
    for found in (y, out):
        args.packed(found, _CALL)
    args.apart(out, y, _CALL)
    scaled = None
    if scales is not None:
        scaled = args.array(scales, "scales", _CALL, dims=2, kinds=("float32",), symmetric=True)
        columns = scaled.shape[1]
        args.shape(scaled, (y.shape[0], columns), "a row for each of y")
        if not columns or hidden % columns:
            raise NvshmemInvalid(f"scales has shape {scaled.shape}: its columns must divide the {hidden} of y")
    args.launch(programs, warps)
    kernels = args.kernels()
    with args.on_stream(stream, _CALL):
        if kernels is None:
            _plain(ws, out, y, experts, weights, scaled, route)
            return
        # A thread has two units of 16 bytes of each row under way.
        block = args.power_of_2(hidden)
        warps = warps or min(16, max(1, block * y.dtype.itemsize // 1024))
        # As many on all members, whose numbers of tokens may differ.
        programs = min(programs or args.multiprocessors() * max(1, 16 // warps), PROGRAMS)
        parts, places = ws.arguments("state", "head", "calls", "entered", "left"), route.arguments[0]
        launch(
            kernels.combine_kernel,
            programs,
            (*parts, y.argument, (scaled or weights).argument, places, experts.argument, weights.argument, out.argument),
            (route.tokens, hidden, scaled.shape[1] if scaled else 1, route.each),
            TOP=route.top_k,
            BLOCK=block,
            SCALED=scaled is not None,
            num_warps=warps,
        )


def _plain(
    ws: Workspace,
    out: Array,
    y: Array,
    experts: Array,
    weights: Array,
    scaled: Optional[Array],
    route: Route,
) -> None:
    """The same by the library's gets."""
    barrier(ws.handle)
    rows, chosen, factors, result = y.host, experts.host, weights.host, out.host
    found = np.empty(rows.shape[1], rows.dtype)
    for token in range(route.tokens):
        total = np.zeros(rows.shape[1], np.float32)
        for k in range(route.top_k):
            place = int(route.places[token, k])
            if place < 0:
                continue
            pe = ws.pes[int(chosen[token, k]) // route.each]
            get(found.view(np.uint8), rows[place].view(np.uint8), pe)
            value = found.astype(np.float32)
            if scaled is not None:
                scale = np.empty(scaled.shape[1], np.float32)
                get(scale, scaled.host[place], pe)
                value *= np.repeat(scale, len(value) // len(scale))
            total += value * np.float32(factors[token, k])
        result[token] = total.astype(result.dtype)
    barrier(ws.handle)
