"""All-reduce, residual and RMSNorm of rows."""

from __future__ import annotations

import math
import numbers
from typing import Any, Optional

import numpy as np

from .._arguments import shown
from ..collective import reduce
from ..device._triton_launch import launch
from ..nvshmem_types import NvshmemInvalid
from . import _arguments as args
from ._arguments import Array
from ._workspace import PROGRAMS, USED, Workspace

_CALL = "all_reduce_rms_norm"
_ALGORITHMS = ("one_shot", "two_shot")
# Bytes of `x` up to which more than 2 members send all rows to all.
_ONE_SHOT = 256 << 10
_MOST_ROW = 64 << 10


def all_reduce_rms_norm(
    out: Any,
    x: Any,
    weight: Any,
    workspace: Workspace,
    *,
    residual: Any = None,
    residual_out: Any = None,
    eps: float = 1e-6,
    algorithm: Optional[str] = None,
    programs: Optional[int] = None,
    warps: Optional[int] = None,
    stream: Any = None,
) -> None:
    """The sum of `x` over the members of the workspace's team, and of `residual` where given, into
    `residual_out`; and its RMSNorm into `out`: ``row / sqrt(mean(row**2) + eps) * weight``.

    `x`, `out`, `residual` and `residual_out` have the shape (rows, hidden), and float16, bfloat16 or
    float32 elements; `weight` has hidden ones. A row has a multiple of 16 bytes, at most 64 KiB.
    None of them needs to be symmetric. `out` may be `x`, and `residual_out`, which is `residual`
    itself unless given, too. Sums are folded in the order of the team in single precision and rounded
    to the type of `x`; then the residual is added, and rounded. So all members get the same bits.

    `algorithm` is "one_shot", in which all members send all rows to all, or "two_shot", in which
    each sums its rows and sends the sums; None chooses. `programs` and `warps` are for tuning. All
    members pass the same.

    Collective over the team, with the same shapes and types. On a GPU it is queued on `stream`, torch's
    current one unless given, and works in CUDA graphs. On host memory it is done on return.
    """
    ws = args.workspace_of(workspace, _CALL)
    x = args.array(x, "x", _CALL, dims=2, kinds=args.FLOATS)
    rows, hidden = x.shape
    if not rows or not hidden:
        raise NvshmemInvalid(f"x has shape {x.shape}: {_CALL} needs a row and an element at least")
    assert x.dtype is not None
    if hidden * x.dtype.itemsize > _MOST_ROW:
        raise NvshmemInvalid(f"x has shape {x.shape}: a row may have at most {_MOST_ROW} bytes")
    args.packed(x, _CALL)
    if residual is None and residual_out is not None:
        raise NvshmemInvalid("residual_out was passed without residual: pass both, or none")
    if residual is not None and residual_out is None:
        residual_out = residual
    others = {"out": out, "residual": residual, "residual_out": residual_out}
    arrays = {name: _like(value, name, x) for name, value in others.items() if value is not None}
    weight = args.array(weight, "weight", _CALL, dims=1, kinds=args.FLOATS)
    args.shape(weight, (hidden,), "an element for each of a row")
    if arrays.get("residual_out") is not None:
        args.apart(arrays["out"], arrays["residual_out"], _CALL)
    if not (isinstance(eps, numbers.Real) and 0 <= float(eps) < math.inf):
        raise NvshmemInvalid(f"eps={shown(eps)}: it must be a number from 0")
    if algorithm is not None and algorithm not in _ALGORITHMS:
        raise NvshmemInvalid(f"algorithm={shown(algorithm)}: it must be one_shot, two_shot or None")
    if algorithm == "two_shot" and rows < ws.n:
        raise NvshmemInvalid(f"x has {rows} rows, fewer than the {ws.n} members: two_shot needs one for each")
    args.launch(programs, warps)
    ws.fits("reduce_bytes", x.nbytes, _CALL)
    kernels = args.kernels()
    with args.on_stream(stream, _CALL):
        if kernels is None:
            _plain(ws, x, weight, arrays, float(eps))
            return
        groups = -(-rows // ws.n)
        large = ws.n > 2 and x.nbytes > _ONE_SHOT and rows >= ws.n
        two = algorithm == "two_shot" or (algorithm is None and large)
        kernel = kernels.two_shot_kernel if two else kernels.one_shot_kernel
        units = groups if two else rows
        warps = warps or min(16, max(1, args.power_of_2(hidden * x.dtype.itemsize) // 1024))
        most = args.multiprocessors() * max(1, 16 // warps)
        (used,), (inbox,) = ws.arguments("head", offset=USED), ws.arguments("reduce", kind="int8")
        before, after = ((arrays[name] if name in arrays else x).argument for name in ("residual", "residual_out"))
        launch(
            kernel,
            min(units, programs or most, PROGRAMS),
            (
                *ws.arguments("state", "head", "turns"), used, inbox,
                x.argument, before, weight.argument, arrays["out"].argument, after,
            ),  # fmt: skip
            (rows, hidden, ws.rotation, float(eps)),
            RESIDUAL=residual is not None,
            BLOCK=args.power_of_2(hidden),
            num_warps=warps,
        )


def _like(value: Any, name: str, x: Array) -> Array:
    found = args.array(value, name, _CALL, dims=2, kinds=args.FLOATS)
    args.shape(found, x.shape, "as x")
    args.kind(found, x)
    args.packed(found, _CALL)
    return found


def _plain(ws: Workspace, x: Array, weight: Array, arrays: "dict[str, Array]", eps: float) -> None:
    """The same by the library's all-reduce and NumPy."""
    sums = ws.staging("reduce", x.shape, x.dtype)
    sums[...] = x.host
    reduce(ws.handle, sums, sums, "sum")
    row = sums.astype(np.float32)
    if "residual" in arrays:
        added = (row + arrays["residual"].host.astype(np.float32)).astype(x.dtype)
        arrays["residual_out"].host[...] = added
        row = added.astype(np.float32)
    mean = (row * row).mean(axis=1, keepdims=True, dtype=np.float32)
    normed = row / np.sqrt(mean + np.float32(eps)) * weight.host.astype(np.float32)
    arrays["out"].host[...] = normed.astype(x.dtype)
