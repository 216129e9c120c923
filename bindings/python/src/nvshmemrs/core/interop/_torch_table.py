"""The table of torch's operations, and their registration with the installed version of torch."""

from __future__ import annotations

import inspect
import warnings
from typing import Any, Callable, List, NamedTuple, Optional, Tuple

import torch  # type: ignore[import-not-found, unused-ignore]

from ..nvshmem_types import NotSupportedError, NvshmemInvalid, NvshmemWarning
from . import _torch_alltoallv as v
from . import _torch_fakes as fakes
from . import _torch_ops as ops

OLDEST, NEWEST = (1, 13), (2, 11)


class Operation(NamedTuple):
    """An operation of torch's: its name with its overload, its schema, its implementation, and the
    shapes of its results. `ordered`: it has an effect that its arguments do not show.
    """

    name: str
    schema: str
    run: Callable[..., Any]
    fake: Callable[..., Any] = fakes.fake_nothing
    ordered: bool = False


_GROUP = 'str group="TEAM_WORLD"'
_OP = f'str op="sum", {_GROUP}'
_ROWS = "SymInt out_rows"
_OUT = "*, Tensor(a!) out"
_OUTS = f"{_OUT}, Tensor(b!) received"
_TWO = "(Tensor, Tensor)"
_SIGNALS = f'Tensor dest, Tensor source, Tensor signal, int value, int pe, str op="set", {_GROUP}'

TABLE: List[Operation] = [
    Operation("all_reduce", f"(Tensor input, {_OP}) -> Tensor", ops.all_reduce, fakes.fake_all_reduce),
    Operation("all_reduce.out", f"(Tensor input, {_OP}, {_OUT}) -> ()", ops.all_reduce_out),
    Operation(
        "reduce_scatter", f"(Tensor input, {_OP}) -> Tensor", ops.reduce_scatter, fakes.fake_reduce_scatter
    ),
    Operation("reduce_scatter.out", f"(Tensor input, {_OP}, {_OUT}) -> ()", ops.reduce_scatter_out),
    Operation(
        "all_gather", f"(Tensor input, {_GROUP}) -> Tensor", ops.all_gather, fakes.fake_all_gather
    ),
    Operation("all_gather.out", f"(Tensor input, {_GROUP}, {_OUT}) -> ()", ops.all_gather_out),
    Operation(
        "all_to_all", f"(Tensor input, {_GROUP}) -> Tensor", ops.all_to_all, fakes.fake_all_to_all
    ),
    Operation("all_to_all.out", f"(Tensor input, {_GROUP}, {_OUT}) -> ()", ops.all_to_all_out),
    Operation(
        "broadcast", f"(Tensor input, int root=0, {_GROUP}) -> Tensor", ops.broadcast, fakes.fake_broadcast
    ),
    Operation(
        "broadcast.out", f"(Tensor input, int root=0, {_GROUP}, {_OUT}) -> ()", ops.broadcast_out
    ),
    Operation(
        "broadcast_gradient", "(Tensor input, int root, str group) -> Tensor", ops.broadcast_gradient,
        fakes.fake_broadcast,
    ),
    Operation(
        "all_to_all_v", f"(Tensor input, Tensor splits, {_ROWS}, {_GROUP}) -> {_TWO}",
        v.all_to_all_v, v.fake_flat,
    ),
    Operation(
        "all_to_all_v.out", f"(Tensor input, Tensor splits, {_GROUP}, {_OUTS}) -> ()",
        v.all_to_all_v_out,
    ),
    Operation(
        "all_to_all_v_2d",
        f"(Tensor input, Tensor splits, {_ROWS}, int align=1, {_GROUP}) -> {_TWO}",
        v.all_to_all_v_2d, v.fake_2d,
    ),
    Operation(
        "all_to_all_v_2d.out",
        f"(Tensor input, Tensor splits, int align=1, {_GROUP}, {_OUTS}) -> ()",
        v.all_to_all_v_2d_out,
    ),
    Operation(
        "all_to_all_v_2d_back", f"(Tensor input, Tensor splits, {_ROWS}, {_GROUP}) -> {_TWO}",
        v.all_to_all_v_2d_back, v.fake_back,
    ),
    Operation(
        "all_to_all_v_2d_back.out", f"(Tensor input, Tensor splits, {_GROUP}, {_OUTS}) -> ()",
        v.all_to_all_v_2d_back_out,
    ),
    Operation(
        "put", f"(Tensor dest, Tensor source, int pe, {_GROUP}) -> ()", ops.put, ordered=True
    ),
    Operation(
        "get", f"(Tensor source, int pe, {_GROUP}) -> Tensor", ops.get, fakes.fake_get, ordered=True
    ),
    Operation("get.out", f"(Tensor source, int pe, {_GROUP}, {_OUT}) -> ()", ops.get_out),
    Operation("put_signal", f"({_SIGNALS}) -> ()", ops.put_signal, ordered=True),
    Operation(
        "signal_wait", '(Tensor signal, int value, str cmp="ge") -> ()', ops.signal_wait, ordered=True
    ),
    Operation("barrier", f"({_GROUP}) -> ()", ops.barrier, ordered=True),
]  # fmt: skip

# Registrations with torch last as long as this object.
_library: List[Any] = []


def version_of(text: str) -> Tuple[int, int]:
    """The first two numbers of torch's version."""
    major, minor = text.split(".")[:2]
    return int(major), int(minor)


def register() -> None:
    """Gives torch the operations of the table. NotSupportedError if it is too old."""
    if _library:
        return
    have = version_of(torch.__version__)
    if have < OLDEST:
        raise NotSupportedError(
            f"torch.ops.nvshmemrs needs torch 1.13 or later, and this is {torch.__version__}"
        )
    if have > NEWEST:
        warnings.warn(
            f"torch.ops.nvshmemrs was tested with torch 1.13 to 2.11; this is {torch.__version__}",
            NvshmemWarning,
            stacklevel=4,
        )
    library = torch.library.Library("nvshmemrs", "DEF")
    _library.append(library)
    tag = getattr(torch.Tag, "pt2_compliant_tag", None)
    tags = {} if tag is None else {"tags": (tag,)}
    for operation in TABLE:
        _register(library, operation, tags)


def _register(library: Any, operation: Operation, tags: Any) -> None:
    name, qualified = operation.name, f"nvshmemrs::{operation.name}"
    library.define(name + operation.schema, **tags)
    # For tensors of every device, so that a tensor of another device gets this package's error.
    library.impl(name, operation.run, "CompositeExplicitAutograd")
    if hasattr(torch.library, "register_fake"):  # torch 2.4 and later
        torch.library.register_fake(qualified, _of_one_device(operation), lib=library)
    gradient = fakes.gradient_of(name)
    if gradient is not None and hasattr(torch.library, "register_autograd"):
        torch.library.register_autograd(
            qualified, gradient.give, setup_context=gradient.keep, lib=library
        )
    if operation.ordered:
        _order(name)


def _of_one_device(operation: Operation) -> Callable[..., Any]:
    """The shapes of an operation's results, if all tensors are of one kind of device. Where one of them
    is on meta, torch calls this in eager programs too, and nothing would happen to the others.
    """
    signature = inspect.signature(operation.run)

    def fake(*arguments: Any, **named: Any) -> Any:
        given = signature.bind(*arguments, **named).arguments
        kinds = [(name, value.device.type) for name, value in given.items() if isinstance(value, torch.Tensor)]
        for name, kind in kinds[1:]:
            first, expected = kinds[0]
            if kind != expected:
                raise NvshmemInvalid(f"{first} is on {expected}, and {name} on {kind}: pass tensors of one device")
        return operation.fake(*arguments, **named)

    return fake


def _order(name: str) -> Optional[Any]:
    """Tells torch.compile that an operation has effects, and keeps its place among those that have."""
    try:
        from torch._higher_order_ops.effects import (  # type: ignore[import-not-found, unused-ignore]
            _EffectType,
            _register_effectful_op,
        )
    except ImportError:  # before torch 2.4 there is none, and operations are for eager programs
        return None
    operation = getattr(torch.ops.nvshmemrs, name).default
    return _register_effectful_op(operation, _EffectType.ORDERED)
