"""The implementations of ``torch.ops.nvshmemrs``. Their schemas are in ``_torch_table``.

A tensor that is symmetric is used where it is, and so are small ones on a GPU. Another one passes
through the group's reserve, in parts if it is larger than that.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, NamedTuple, Optional, Tuple

import torch  # type: ignore[import-not-found, unused-ignore]

from ..._ffi import Collective, Dtype
from .. import _foreign, collective, rma
from .._dtypes import NAMES, code_of_array
from .._job import check, job, operands, raise_status
from .._operand import _MOST, _place
from ..collective import Op
from ..direct import ComparisonType
from ..nvshmem_types import NotInitializedError, NvshmemInvalid, Teams
from ..rma import SignalOp
from ._common import private_bytes
from ._torch_groups import Group, group_of, pe_in
from ._torch_reserve import (
    current_handle,
    current_stream,
    handle_in_place,
    is_symmetric,
    known_reserve,
    reserve_of,
    take_turn,
)

_size, _team = collective._size, collective._team
_REDUCTIONS = {op.name.lower(): int(op) for op in Op}
_BOOL_REDUCTIONS = {"sum": int(Op.OR), "prod": int(Op.AND)}
# Parts of a tensor that is larger than the reserve begin at multiples of these bytes.
_LINE = 512
_COMPARISONS = {name[4:].lower(): number for name, number in ComparisonType.__members__.items()}
_UPDATES = {"set": SignalOp.SIGNAL_SET, "add": SignalOp.SIGNAL_ADD}


# --- arguments ------------------------------------------------------------------------------------


def check_tensor(tensor: Any, name: str) -> None:
    """Raises unless a tensor is contiguous and where the symmetric heap is."""
    if not job.runtime:
        raise NotInitializedError("this process is not a PE; call nvshmemrs.core.init first")
    device = tensor.device
    if job.device < 0:
        if device.type != "cpu":
            raise NvshmemInvalid(
                f"{name} is on {device}, and the symmetric heap is host memory: pass {name}.cpu(), "
                "or call init with device"
            )
    elif device.type != "cuda" or device.index != job.device:
        raise NvshmemInvalid(
            f"{name} is on {device}, and the symmetric heap is memory of cuda:{job.device}: pass "
            f"{name}.to('cuda:{job.device}')"
        )
    if tensor.layout is not torch.strided:
        raise NvshmemInvalid(f"{name} has layout {tensor.layout}: pass {name}.to_dense()")
    if not tensor.is_contiguous():
        raise NvshmemInvalid(f"{name} is not contiguous: pass {name}.contiguous()")
    if tensor.is_conj() or tensor.is_neg():
        raise NvshmemInvalid(f"{name} is a lazy view: pass {name}.resolve_conj().resolve_neg()")


def refuse_grad(operation: str, **tensors: Any) -> None:
    """Raises for a tensor that requires a gradient, if the operation has none. An operation with a
    gradient runs in torch's autograd function, where gradients are off.
    """
    if not torch.is_grad_enabled():
        return
    for name, tensor in tensors.items():
        if tensor.requires_grad:
            raise NvshmemInvalid(
                f"{name} requires a gradient, and {operation} has none here: pass {name}.detach(), "
                "or call it under torch.no_grad()"
            )


class Elements(NamedTuple):
    """How the library reduces the elements of a dtype."""

    code: int
    is_bool: bool
    averages: bool


_elements: Dict[Any, Elements] = {}


def elements_of(tensor: Any) -> Elements:
    """The library's type for the elements that a reduction is of."""
    found = _elements.get(tensor.dtype)
    if found is not None:
        return found
    is_bool = tensor.dtype is torch.bool
    code = int(Dtype.UINT8) if is_bool else code_of_array(_foreign.torch_dtype(tensor.dtype))
    if code is None:
        raise NvshmemInvalid(
            f"input has dtype {tensor.dtype}: reductions are of bool, {', '.join(NAMES.values())}"
        )
    found = Elements(code, is_bool, tensor.dtype.is_floating_point and tensor.element_size() > 1)
    _elements[tensor.dtype] = found
    return found


def check_reduction(tensor: Any, op: str) -> None:
    """Raises unless there is such a reduction of a tensor's elements."""
    kind = elements_of(tensor)
    if op == "avg":
        if not kind.averages:
            raise NvshmemInvalid(
                f'op="avg": input has dtype {tensor.dtype}, and only floating-point numbers have an '
                'average here; use "sum"'
            )
    elif op not in _REDUCTIONS:
        raise NvshmemInvalid(f"op={op!r}: it must be {', '.join(_REDUCTIONS)} or avg")


def divided(tensor: Any, size: int, name: str) -> Tuple[int, ...]:
    """The shape of one of `size` equal parts along the first axis."""
    shape = tuple(tensor.shape)
    if not shape or shape[0] % size:
        raise NvshmemInvalid(
            f"{name} has shape {shape}: its first axis must be a multiple of the group's {size} "
            "members"
        )
    return (shape[0] // size, *shape[1:])


def joined(tensor: Any, size: int) -> Tuple[int, ...]:
    """The shape of `size` tensors behind each other along the first axis."""
    shape = tuple(tensor.shape)
    return (size * shape[0], *shape[1:]) if shape else (size,)


def check_out(out: Any, shape: Tuple[int, ...], dtype: Any) -> None:
    """Raises unless an output has this shape and type."""
    if tuple(out.shape) != shape or out.dtype is not dtype:
        raise NvshmemInvalid(
            f"out has shape {tuple(out.shape)} and dtype {out.dtype}: it must have {shape} and "
            f"{dtype}"
        )


# --- calls that come again -----------------------------------------------------------------------
#
# The properties of a symmetric tensor are cached at its first call. The cache is part of the package's
# operands, which are dropped when memory is freed. A tensor keeps its symmetric memory alive, so the
# entry is valid for any tensor of the same address and shape.


class Known(NamedTuple):
    """A call of the library, but for the stream."""

    function: Callable[..., int]
    arguments: Tuple[Any, ...]


def _key(name: str, input: Any, out: Any, op: Any, group: str) -> Any:
    team = Teams._members.get(group)
    places = input.data_ptr(), out.data_ptr()
    return (name, job.runtime, team, op, places, input.shape, out.shape, input.dtype, out.dtype)


def _again(name: str, input: Any, out: Any, op: Any, group: str) -> bool:
    """Makes a call that was made before. Whether it was."""
    known: Optional[Known] = operands.get(_key(name, input, out, op, group))
    if known is None or not (input.is_contiguous() and out.is_contiguous()):
        return False
    if torch.is_grad_enabled() and (input.requires_grad or out.requires_grad):
        return False
    status = known.function(current_handle(), *known.arguments)
    if status:
        raise_status(status)
    return True


def _remember(
    name: str, input: Any, out: Any, op: Any, group: str, known: Optional[Known]
) -> None:
    if known is None:
        return
    if len(operands) >= _MOST:
        operands.clear()
    operands[_key(name, input, out, op, group)] = known


# --- collectives ----------------------------------------------------------------------------------


class Call(NamedTuple):
    """A collective: parts of input and output, the library's function, and its arguments behind the
    runtime, from the addresses of the destination and the source and a part's number of elements.
    """

    inputs: int
    outputs: int
    function: Callable[..., int]
    arguments: Callable[[int, int, int], Tuple[Any, ...]]


def _staged(
    group: Group, call: Call, source: Any, dest: Any, here: bool, there: bool
) -> Optional[Known]:
    """Runs a collective, with tensors that are not symmetric in the reserve unless the library takes
    them: `here` and `there` say whether the source and the destination are. If both are, the call
    can be remembered.
    """
    length = source.numel() // call.inputs
    if length == 0:
        check(collective._sync(current_handle(), _team(group.team)))
        return None
    kind = Collective[call.function.__name__.replace("nvshmemrs_", "").upper()]
    size = source.element_size()
    if (here and there) or length * size <= private_bytes(group.team, kind):
        # The library orders a team's collectives on several streams itself.
        arguments = call.arguments(dest.data_ptr(), source.data_ptr(), length)
        check(call.function(current_handle(), *arguments))
        return Known(call.function, arguments) if here and there else None
    stream = current_stream()
    known = reserve_of(group, "input" if not here else "out", stream)
    take_turn(known, stream)
    handle = handle_in_place(stream)
    room = known.half // (max(call.inputs, call.outputs) * size)
    if room < length:
        room = max(room // _LINE * _LINE, 1)
    if known.half < max(call.inputs, call.outputs) * size:
        raise NvshmemInvalid(
            f"the reserve of {known.half} bytes is too small for a part of each member: call "
            "release_reserve, and reserve with more"
        )
    rows, columns = source.reshape(call.inputs, length), dest.reshape(call.outputs, length)
    for begin in range(0, length, room):
        width = min(room, length - begin)
        whole = width == length
        part, result = source.data_ptr(), dest.data_ptr()
        if not (here and whole):
            part = known.sources
            staged = known.at(part, (call.inputs, width), source.dtype, size)
            staged.copy_(rows[:, begin : begin + width])
        if not (there and whole):
            result = known.dests
        check(call.function(handle, *call.arguments(result, part, width)))
        if not (there and whole):
            staged = known.at(result, (call.outputs, width), dest.dtype, size)
            columns[:, begin : begin + width].copy_(staged)
    return None


def _reduction(input: Any, op: str, group: Group, out: Any, inputs: int) -> Optional[Known]:
    check_reduction(input, op)
    kind = elements_of(input)
    number = _REDUCTIONS["sum" if op == "avg" else op]
    if kind.is_bool:
        number = _BOOL_REDUCTIONS.get(op, number)
    function = collective._reduce if inputs == 1 else collective._reducescatter
    team = _team(group.team)

    def arguments(dest: int, source: int, width: int) -> Tuple[Any, ...]:
        return team, _place(dest), _place(source), _size(width), kind.code, number

    call = Call(inputs, 1, function, arguments)
    known = _staged(group, call, input, out, is_symmetric(input), is_symmetric(out))
    if op == "avg":
        out.div_(group.size)
        return None
    return known


def _moving(
    function: Callable[..., int],
    group: Group,
    input: Any,
    out: Any,
    inputs: int,
    outputs: int,
    *more: int,
) -> Optional[Known]:
    team, size = _team(group.team), input.element_size()

    def arguments(dest: int, source: int, width: int) -> Tuple[Any, ...]:
        return team, _place(dest), _place(source), _size(width * size), *more

    call = Call(inputs, outputs, function, arguments)
    return _staged(group, call, input, out, is_symmetric(input), is_symmetric(out))


def _checked(operation: str, input: Any, out: Any = None) -> None:
    check_tensor(input, "input")
    if out is None:
        refuse_grad(operation, input=input)
    else:
        check_tensor(out, "out")
        refuse_grad(operation, input=input, out=out)


def all_reduce(input: Any, op: str = "sum", group: str = "TEAM_WORLD") -> Any:
    """The result of every member's input, as a new tensor."""
    _checked("all_reduce", input)
    found = group_of(group)
    out = torch.empty_like(input)
    _reduction(input, op, found, out, 1)
    return out


def all_reduce_out(input: Any, op: str = "sum", group: str = "TEAM_WORLD", *, out: Any) -> None:
    """The same in `out`, which may be the input."""
    if _again("all_reduce", input, out, op, group):
        return
    _checked("all_reduce", input, out)
    check_out(out, tuple(input.shape), input.dtype)
    known = _reduction(input, op, group_of(group), out, 1)
    _remember("all_reduce", input, out, op, group, known)


def reduce_scatter(input: Any, op: str = "sum", group: str = "TEAM_WORLD") -> Any:
    """The caller's part of the result, along the first axis."""
    _checked("reduce_scatter", input)
    found = group_of(group)
    out = input.new_empty(divided(input, found.size, "input"))
    _reduction(input, op, found, out, found.size)
    return out


def reduce_scatter_out(input: Any, op: str = "sum", group: str = "TEAM_WORLD", *, out: Any) -> None:
    """The same in `out`."""
    if _again("reduce_scatter", input, out, op, group):
        return
    _checked("reduce_scatter", input, out)
    found = group_of(group)
    check_out(out, divided(input, found.size, "input"), input.dtype)
    known = _reduction(input, op, found, out, found.size)
    _remember("reduce_scatter", input, out, op, group, known)


def all_gather(input: Any, group: str = "TEAM_WORLD") -> Any:
    """Every member's input, behind each other along the first axis."""
    _checked("all_gather", input)
    found = group_of(group)
    out = input.new_empty(joined(input, found.size))
    _moving(collective._fcollect, found, input, out, 1, found.size)
    return out


def all_gather_out(input: Any, group: str = "TEAM_WORLD", *, out: Any) -> None:
    """The same in `out`."""
    if _again("all_gather", input, out, None, group):
        return
    _checked("all_gather", input, out)
    found = group_of(group)
    check_out(out, joined(input, found.size), input.dtype)
    known = _moving(collective._fcollect, found, input, out, 1, found.size)
    _remember("all_gather", input, out, None, group, known)


def all_to_all(input: Any, group: str = "TEAM_WORLD") -> Any:
    """Part i of member j's result is part j of member i's input, along the first axis."""
    _checked("all_to_all", input)
    found = group_of(group)
    divided(input, found.size, "input")
    out = torch.empty_like(input)
    _moving(collective._alltoall, found, input, out, found.size, found.size)
    return out


def all_to_all_out(input: Any, group: str = "TEAM_WORLD", *, out: Any) -> None:
    """The same in `out`."""
    if _again("all_to_all", input, out, None, group):
        return
    _checked("all_to_all", input, out)
    found = group_of(group)
    divided(input, found.size, "input")
    check_out(out, tuple(input.shape), input.dtype)
    known = _moving(collective._alltoall, found, input, out, found.size, found.size)
    _remember("all_to_all", input, out, None, group, known)


def _check_root(root: int, group: Group) -> None:
    if not 0 <= root < group.size:
        raise NvshmemInvalid(f"root={root}: {group.name} has members 0 to {group.size - 1}")


def broadcast(input: Any, root: int = 0, group: str = "TEAM_WORLD") -> Any:
    """The root's input, as a new tensor on every member."""
    _checked("broadcast", input)
    found = group_of(group)
    _check_root(root, found)
    out = torch.empty_like(input)
    _moving(collective._broadcast, found, input, out, 1, 1, root)
    return out


def broadcast_out(input: Any, root: int = 0, group: str = "TEAM_WORLD", *, out: Any) -> None:
    """The same in `out`, which may be the input."""
    if _again("broadcast", input, out, root, group):
        return
    _checked("broadcast", input, out)
    found = group_of(group)
    _check_root(root, found)
    check_out(out, tuple(input.shape), input.dtype)
    known = _moving(collective._broadcast, found, input, out, 1, 1, root)
    _remember("broadcast", input, out, root, group, known)


def broadcast_gradient(input: Any, root: int, group: str) -> Any:
    """The sum of every member's input on the root, and zeros on the others. A separate operation,
    because torch.compile removes a sum that a member does not use.
    """
    total = all_reduce(input, "sum", group)
    return total if group_of(group).me == root else total.zero_()


def barrier(group: str = "TEAM_WORLD") -> None:
    """A barrier, which completes the members' earlier puts."""
    found = group_of(group)
    stream = current_stream()
    known = known_reserve(found)
    if known is not None:
        take_turn(known, stream)
    collective.barrier(found.team, stream)


# --- one-sided ------------------------------------------------------------------------------------


def _check_symmetric(tensor: Any, name: str) -> None:
    check_tensor(tensor, name)
    if not is_symmetric(tensor):
        raise NvshmemInvalid(
            f"{name} is not symmetric memory, so no other PE has it: make it by "
            "nvshmemrs.core.tensor, or in a pool of nvshmemrs.core.interop.torch.mem_pool"
        )


def _check_signal(signal: Any, value: int) -> None:
    _check_symmetric(signal, "signal")
    kind = signal.dtype
    whole = not (kind.is_floating_point or kind.is_complex)
    if signal.numel() != 1 or signal.element_size() != 8 or not whole:
        raise NvshmemInvalid(
            f"signal has {signal.numel()} elements of {kind}: it must have 1 of torch.int64"
        )
    if value < 0:
        raise NvshmemInvalid(f"value={value}: a signal is not negative")


def _check_alike(one: Any, other: Any, names: str) -> None:
    if one.dtype is not other.dtype or one.numel() != other.numel():
        raise NvshmemInvalid(
            f"{names} have {one.numel()} elements of {one.dtype} and {other.numel()} of "
            f"{other.dtype}: they must have as many of one dtype"
        )


def put(dest: Any, source: Any, pe: int, group: str = "TEAM_WORLD") -> None:
    """Copies `source` to the symmetric `dest` of a member."""
    _check_symmetric(dest, "dest")
    check_tensor(source, "source")
    refuse_grad("put", dest=dest, source=source)
    _check_alike(dest, source, "dest and source")
    number = pe_in(group_of(group), pe, "pe")
    rma.put(dest.reshape(-1), source.reshape(-1), number, stream=current_stream())


def get(source: Any, pe: int, group: str = "TEAM_WORLD") -> Any:
    """The symmetric `source` of a member, as a new tensor."""
    out = torch.empty_like(source)
    get_out(source, pe, group, out=out)
    return out


def get_out(source: Any, pe: int, group: str = "TEAM_WORLD", *, out: Any) -> None:
    """The same in `out`."""
    _check_symmetric(source, "source")
    check_tensor(out, "out")
    refuse_grad("get", source=source, out=out)
    _check_alike(out, source, "out and source")
    number = pe_in(group_of(group), pe, "pe")
    rma.get(out.reshape(-1), source.reshape(-1), number, stream=current_stream())


def put_signal(
    dest: Any,
    source: Any,
    signal: Any,
    value: int,
    pe: int,
    op: str = "set",
    group: str = "TEAM_WORLD",
) -> None:
    """Copies as `put`, and then updates the member's signal."""
    _check_symmetric(dest, "dest")
    _check_signal(signal, value)
    check_tensor(source, "source")
    refuse_grad("put_signal", dest=dest, source=source)
    _check_alike(dest, source, "dest and source")
    if op not in _UPDATES:
        raise NvshmemInvalid(f"op={op!r}: a signal is updated by set or add")
    number = pe_in(group_of(group), pe, "pe")
    to, of = dest.reshape(-1), source.reshape(-1)
    rma.put_signal(to, of, signal, value, _UPDATES[op], number, current_stream())


def signal_wait(signal: Any, value: int, cmp: str = "ge") -> None:
    """Waits until the caller's signal compares with a value."""
    _check_signal(signal, value)
    if cmp not in _COMPARISONS or cmp == "sentinel":
        known = ", ".join(name for name in _COMPARISONS if name != "sentinel")
        raise NvshmemInvalid(f"cmp={cmp!r}: it must be one of {known}")
    how = ComparisonType[f"CMP_{cmp.upper()}"]
    rma.signal_wait(signal, value, how, current_stream())
