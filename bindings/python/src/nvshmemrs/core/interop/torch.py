"""torch tensors on the symmetric heap, memory pools, and ``torch.ops.nvshmemrs``.

Importing this module imports torch and registers the operations. Each function here resolves its
group, a team, a ProcessGroup or a DeviceMesh, and calls the operation of its name: see
``docs/torch.md``.
"""

from __future__ import annotations

from typing import Any, Tuple

from ..nvshmem_types import NotSupportedError
from . import _tensors
from ._pool import mem_pool, use_mem_pool
from ._tensors import (
    bytetensor,
    empty,
    free_tensor,
    get_multicast_tensor,
    get_peer_tensor,
    register_external_tensor,
    tensor,
    tensor_get_buffer,
    unregister_external_tensor,
)
from ._torch_groups import group_name, register_group, unregister_group
from ._torch_reserve import release_reserve, reserve

__all__ = [
    "all_gather",
    "all_reduce",
    "all_to_all",
    "all_to_all_v",
    "all_to_all_v_2d",
    "all_to_all_v_2d_back",
    "barrier",
    "broadcast",
    "bytetensor",
    "empty",
    "free_tensor",
    "get",
    "get_multicast_tensor",
    "get_peer_tensor",
    "group_name",
    "mem_pool",
    "put",
    "put_signal",
    "reduce_scatter",
    "register_external_tensor",
    "register_group",
    "release_reserve",
    "reserve",
    "signal_wait",
    "tensor",
    "tensor_get_buffer",
    "unregister_external_tensor",
    "unregister_group",
    "use_mem_pool",
]

_WORLD = "TEAM_WORLD"


class _Missing:
    """Stands for the operations where torch cannot give them."""

    def __init__(self, why: str) -> None:
        self._why = why

    def __getattr__(self, name: str) -> Any:
        raise NotSupportedError(f"interop.torch.{name}: {self._why}")


def _registered() -> Tuple[Any, Any]:
    """The operations, and the function that names groups."""
    try:
        import torch  # type: ignore[import-not-found, unused-ignore]
    except ImportError as error:
        return _Missing(f"torch cannot be imported ({error})"), group_name
    if not hasattr(torch, "library"):
        return _Missing("this torch has no torch.library; it needs torch 1.13 or later"), group_name
    from ._torch_table import register

    try:
        register()
    except NotSupportedError as error:
        return _Missing(error.msg), group_name
    # In a compiled function the name is a constant of the graph.
    constant = getattr(getattr(torch, "compiler", None), "assume_constant_result", None)
    return torch.ops.nvshmemrs, group_name if constant is None else constant(group_name)


_ops, _name = _registered()


def all_reduce(input: Any, op: str = "sum", group: Any = _WORLD, *, out: Any = None) -> Any:
    """Combines `input` of every member, element by element: a new tensor, or `out`.

    Collective over `group` with the same shape, dtype and `op`: "sum", "prod", "min", "max", "avg",
    "and", "or" or "xor". The bits are the same on every member: a fold in the group's order, and for
    "avg" a division behind it. "sum" and "avg" have gradients.
    """
    if out is None:
        return _ops.all_reduce(input, op, _name(group))
    _ops.all_reduce(input, op, _name(group), out=out)
    return out


def reduce_scatter(input: Any, op: str = "sum", group: Any = _WORLD, *, out: Any = None) -> Any:
    """As ``all_reduce``, but each member keeps its part of the first axis.

    Collective over `group` with the same shape, dtype and `op`; "sum" and "avg" have gradients.
    """
    if out is None:
        return _ops.reduce_scatter(input, op, _name(group))
    _ops.reduce_scatter(input, op, _name(group), out=out)
    return out


def all_gather(input: Any, group: Any = _WORLD, *, out: Any = None) -> Any:
    """Puts every member's `input` behind each other along the first axis, in the group's order.

    Collective over `group` with the same shape and dtype. It has a gradient.
    """
    if out is None:
        return _ops.all_gather(input, _name(group))
    _ops.all_gather(input, _name(group), out=out)
    return out


def all_to_all(input: Any, group: Any = _WORLD, *, out: Any = None) -> Any:
    """Sends part i of the first axis to member i; part j of the result is from member j.

    Collective over `group` with the same shape and dtype. It has a gradient.
    """
    if out is None:
        return _ops.all_to_all(input, _name(group))
    _ops.all_to_all(input, _name(group), out=out)
    return out


def broadcast(input: Any, root: int = 0, group: Any = _WORLD, *, out: Any = None) -> Any:
    """Gives every member the `input` of member `root`.

    Collective over `group` with the same shape, dtype and `root`. Its gradient is the sum of all at
    the root, and 0 elsewhere.
    """
    if out is None:
        return _ops.broadcast(input, root, _name(group))
    _ops.broadcast(input, root, _name(group), out=out)
    return out


def all_to_all_v(
    input: Any, splits: Any, out_rows: int, group: Any = _WORLD
) -> Tuple[Any, Any]:
    """Sends `splits[i]` rows of `input` to member i, the first ones to member 0, and so on.

    `splits` are int64 on the device of `input`; their values never come to the host on a GPU. The
    result has `out_rows` rows, of which those that came are the first, in the members' order. The
    second result has two rows: how many rows came from each member, and where they begin.

    Collective over `group` with the same row and dtype. NvshmemInvalid on host memory if the splits
    do not add up, or too many rows come. On a GPU no row is written then, the second result is -1,
    and the next ``runtime_check`` of the library, or ``finalize``, has the error.
    """
    found: Tuple[Any, Any] = _ops.all_to_all_v(input, splits, out_rows, _name(group))
    return found


def all_to_all_v_2d(
    input: Any, splits: Any, out_rows: int, align: int = 1, group: Any = _WORLD
) -> Tuple[Any, Any]:
    """As ``all_to_all_v`` for members that have experts each: `splits[i * experts + e]` rows go to
    expert e of member i.

    The result has the rows of expert 0 first, in the members' order; each expert's begin at a
    multiple of `align` rows. The second result's columns are in the order of the rows: column
    `e * members + j` is of expert e and member j. Rows in between are not written.

    Collective over `group` with the same number of experts, `align`, row and dtype.
    """
    found: Tuple[Any, Any] = _ops.all_to_all_v_2d(input, splits, out_rows, align, _name(group))
    return found


def all_to_all_v_2d_back(
    input: Any, splits: Any, out_rows: int, group: Any = _WORLD
) -> Tuple[Any, Any]:
    """Sends rows back to where ``all_to_all_v_2d`` had them from: `splits` is its second result, and
    `input` is laid out as its first one. The rows arrive in the order in which they were sent.

    Collective over `group` with the same number of experts, row and dtype.
    """
    found: Tuple[Any, Any] = _ops.all_to_all_v_2d_back(input, splits, out_rows, _name(group))
    return found


def put(dest: Any, source: Any, pe: int, group: Any = _WORLD) -> None:
    """Copies `source` to the symmetric `dest` of member `pe` of `group`.

    One-sided. `source` may be reused when the stream, or the call on host memory, has done it. The
    data is visible there after ``barrier``, or a signal of ``put_signal``.
    """
    _ops.put(dest, source, pe, _name(group))


def get(source: Any, pe: int, group: Any = _WORLD, *, out: Any = None) -> Any:
    """Copies the symmetric `source` of member `pe` of `group`: a new tensor, or `out`. One-sided."""
    if out is None:
        return _ops.get(source, pe, _name(group))
    _ops.get(source, pe, _name(group), out=out)
    return out


def put_signal(
    dest: Any,
    source: Any,
    signal: Any,
    value: int,
    pe: int,
    op: str = "set",
    group: Any = _WORLD,
) -> None:
    """As ``put``, and then sets the signal of member `pe` to `value`, or adds to it (`op` "add").

    One-sided. `signal` is symmetric, one element of int64. A PE that sees the signal sees the data.
    """
    _ops.put_signal(dest, source, signal, value, pe, op, _name(group))


def signal_wait(signal: Any, value: int, cmp: str = "ge") -> None:
    """Waits until the caller's `signal` compares with `value`: "eq", "ne", "gt", "le", "lt", "ge".

    Local. On a GPU the stream waits.
    """
    _ops.signal_wait(signal, value, cmp)


def barrier(group: Any = _WORLD) -> None:
    """A barrier of `group`, which completes the members' puts. Collective over `group`."""
    _ops.barrier(_name(group))


def __getattr__(name: str) -> Any:
    # NVSHMEM4Py's functions of this module are in the module that does not import torch.
    return getattr(_tensors, name)
