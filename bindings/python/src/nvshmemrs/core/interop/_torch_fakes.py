"""The parts of torch's operations besides their implementation: the shapes of results, for
``torch.compile`` and fake tensors, and gradients.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, NamedTuple, Optional, Tuple

import torch  # type: ignore[import-not-found, unused-ignore]

from ..nvshmem_types import NvshmemInvalid
from ._torch_groups import group_of
from ._torch_ops import check_reduction, divided, joined, refuse_grad

# --- shapes of results, for torch.compile -------------------------------------------------------


def fake_all_reduce(input: Any, op: str = "sum", group: str = "TEAM_WORLD") -> Any:
    """As the input."""
    refuse_grad("all_reduce", input=input)
    check_reduction(input, op)
    return torch.empty_like(input)


def fake_reduce_scatter(input: Any, op: str = "sum", group: str = "TEAM_WORLD") -> Any:
    """A part."""
    refuse_grad("reduce_scatter", input=input)
    check_reduction(input, op)
    return input.new_empty(divided(input, group_of(group).size, "input"))


def fake_all_gather(input: Any, group: str = "TEAM_WORLD") -> Any:
    """All parts."""
    refuse_grad("all_gather", input=input)
    return input.new_empty(joined(input, group_of(group).size))


def fake_all_to_all(input: Any, group: str = "TEAM_WORLD") -> Any:
    """As the input."""
    refuse_grad("all_to_all", input=input)
    divided(input, group_of(group).size, "input")
    return torch.empty_like(input)


def fake_broadcast(input: Any, root: int = 0, group: str = "TEAM_WORLD") -> Any:
    """As the input."""
    refuse_grad("broadcast", input=input)
    return torch.empty_like(input)


def fake_get(source: Any, pe: int, group: str = "TEAM_WORLD") -> Any:
    """As the source."""
    refuse_grad("get", source=source)
    return torch.empty_like(source)


def fake_nothing(*_: Any, **__: Any) -> None:
    """No result."""
    return None


# --- gradients ------------------------------------------------------------------------------------


class Gradient(NamedTuple):
    """The state that autograd keeps of a call, and the gradients of its arguments."""

    keep: Callable[[Any, Tuple[Any, ...], Any], None]
    give: Callable[[Any, Any], Tuple[Any, ...]]


def _ops() -> Any:
    return torch.ops.nvshmemrs


def _keep_reduction(ctx: Any, inputs: Tuple[Any, ...], output: Any) -> None:
    _, op, group = inputs
    if op not in ("sum", "avg"):
        raise NvshmemInvalid(
            f'input requires a gradient, and op={op!r} has none: it must be "sum" or "avg", or pass '
            "input.detach()"
        )
    ctx.op, ctx.group = op, group


def _all_reduce(ctx: Any, grad: Any) -> Tuple[Any, ...]:
    return _ops().all_reduce(grad.contiguous(), ctx.op, ctx.group), None, None


def _reduce_scatter(ctx: Any, grad: Any) -> Tuple[Any, ...]:
    found = _ops().all_gather(grad.contiguous(), ctx.group)
    if ctx.op == "avg":
        found = found / group_of(ctx.group).size
    return found, None, None


def _keep_group(ctx: Any, inputs: Tuple[Any, ...], output: Any) -> None:
    ctx.group = inputs[-1]
    ctx.shape = tuple(inputs[0].shape)


def _all_gather(ctx: Any, grad: Any) -> Tuple[Any, ...]:
    found = _ops().reduce_scatter(grad.contiguous(), "sum", ctx.group)
    return found.reshape(ctx.shape), None


def _all_to_all(ctx: Any, grad: Any) -> Tuple[Any, ...]:
    return _ops().all_to_all(grad.contiguous(), ctx.group), None


def _keep_root(ctx: Any, inputs: Tuple[Any, ...], output: Any) -> None:
    ctx.root, ctx.group = inputs[1:]


def _broadcast(ctx: Any, grad: Any) -> Tuple[Any, ...]:
    return _ops().broadcast_gradient(grad.contiguous(), ctx.root, ctx.group), None, None


GRADIENTS: Dict[str, Gradient] = {
    "all_reduce": Gradient(_keep_reduction, _all_reduce),
    "reduce_scatter": Gradient(_keep_reduction, _reduce_scatter),
    "all_gather": Gradient(_keep_group, _all_gather),
    "all_to_all": Gradient(_keep_group, _all_to_all),
    "broadcast": Gradient(_keep_root, _broadcast),
}


def gradient_of(name: str) -> Optional[Gradient]:
    """How an operation's gradient is formed; None if it has none."""
    return GRADIENTS.get(name)
