"""all_to_all_v: an all-to-all whose parts have the sizes in a tensor on the device.

A row goes to a member, and there to one of its experts. The caller's `splits` say how many rows go
to each; their order is by member first. Each member then copies its rows from the others.

On GPUs a Triton kernel does it, so no size is copied to the host, and the operation can be captured.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Optional, Tuple

import numpy as np
import torch  # type: ignore[import-not-found, unused-ignore]

from .. import collective, rma
from .._job import check, job
from .._operand import _place
from ..nvshmem_types import MismatchError, NotSupportedError, NvshmemInvalid, PeerArgumentError
from ._torch_groups import Group, group_of, pe_in
from ._torch_ops import check_tensor, refuse_grad
from ._torch_reserve import (
    TABLE_BYTES,
    Reserve,
    capturing,
    current_stream,
    handle_in_place,
    is_symmetric,
    reserve_of,
    take_turn,
)

_LONG = 8


class Layout(NamedTuple):
    """The order of blocks of rows: of each member and expert one.

    `inputs` and `outputs` say whether the expert comes first there, else the member does. An expert's
    rows begin at a multiple of `align` in the output.
    """

    experts: int
    inputs: bool
    outputs: bool
    align: int


class Exchange(NamedTuple):
    """An all_to_all_v: the members' numbers, and the addresses of the rows."""

    group: Group
    layout: Layout
    input: Any
    counts: Any
    offsets: Optional[Any]  # None: the blocks follow each other
    out: Any
    received: Any  # two rows: how many rows of each block came, and where it begins


# --- on the host ----------------------------------------------------------------------------------


def _posted(call: Exchange, counts: np.ndarray, offsets: Optional[np.ndarray]) -> np.ndarray:
    """How many rows this member has in each block; -1 everywhere if the splits are wrong. And the rows
    before each block.
    """
    if offsets is None:
        offsets = np.cumsum(counts) - counts
    good = bool((counts >= 0).all() and (offsets >= 0).all())
    good = good and bool((offsets + counts <= call.input.shape[0]).all())
    posted = np.stack([counts if good else np.full_like(counts, -1), offsets])
    return _by_member(posted, call.group.size, call.layout)


def _by_member(numbers: np.ndarray, n: int, layout: Layout) -> np.ndarray:
    """Numbers of blocks in the order of the input, by member and then by expert."""
    if layout.inputs:
        return numbers.reshape(-1, layout.experts, n).transpose(0, 2, 1)
    return numbers.reshape(-1, n, layout.experts)


def _arranged(call: Exchange, counts: np.ndarray) -> np.ndarray:
    """Where the blocks of (member, expert) begin in the output, from their rows."""
    layout = call.layout
    if not layout.outputs:
        ends = np.cumsum(counts.reshape(-1)).reshape(counts.shape)
        return np.asarray(ends - counts)
    totals = -(-counts.sum(0) // layout.align) * layout.align
    begins = np.cumsum(totals) - totals
    return np.asarray(begins + np.cumsum(counts, 0) - counts)


def _on_host(call: Exchange, stream: Any) -> None:
    """The exchange, with the numbers on the host."""
    group, n = call.group, call.group.size
    known = room_of(call, stream)
    source = symmetric_input(call, known)
    counts = call.counts.cpu().numpy().reshape(-1)
    offsets = None if call.offsets is None else call.offsets.cpu().numpy().reshape(-1)
    posted = _posted(call, counts, offsets)
    # Members' inputs may be at different addresses: each publishes the offsets of its blocks.
    width = row_bytes(call)
    places = source.data_ptr() - known.table + posted[1:] * width
    mine = np.concatenate([posted[:1], places, np.full_like(places, width)])
    table = known.at(known.table, mine.shape, torch.int64, _LONG)
    every = known.at(known.dests, (n, *mine.shape), torch.int64, _LONG)
    table.copy_(torch.from_numpy(np.ascontiguousarray(mine)))
    to, of, size = _place(known.dests), _place(known.table), collective._size(mine.nbytes)
    handle = handle_in_place(stream)
    check(collective._fcollect(handle, collective._team(group.team), to, of, size))
    numbers = every.cpu().numpy()
    wrong = np.flatnonzero((numbers[:, 0] < 0).any((1, 2)))
    others = np.flatnonzero((numbers[:, 2] != width).any((1, 2)))
    error: Optional[Exception]
    if len(wrong):
        error = _wrong_splits(call, wrong)
    elif len(others):
        error = MismatchError(
            f"member {others[0]} of {group.name} has rows of {numbers[others[0], 2, 0, 0]} bytes, "
            f"and this one, {group.me}, of {width}: all pass rows of one size"
        )
    else:
        error = _copied(call, known, numbers, stream)
    collective.barrier(group.team, stream)
    if error is not None:
        raise error


def _wrong_splits(call: Exchange, wrong: np.ndarray) -> Exception:
    rows = call.input.shape[0]
    if call.group.me in wrong:
        return NvshmemInvalid(
            f"splits are {call.counts.tolist()}: none may be negative, and they must add up to at "
            f"most the {rows} rows of input"
        )
    return PeerArgumentError(
        f"member {wrong[0]} of {call.group.name} has splits that do not add up; its error says more"
    )


def _copied(
    call: Exchange, known: Reserve, numbers: np.ndarray, stream: Any
) -> Optional[Exception]:
    """Copies this member's rows from all others; the error if they do not fit."""
    group = call.group
    counts = numbers[:, 0, group.me]
    begins = _arranged(call, counts)
    result = np.stack([counts, begins])
    if call.layout.outputs:
        result = result.transpose(0, 2, 1)
    end = int((begins + counts).max())
    if end > call.out.shape[0]:
        call.received.fill_(-1)
        return NvshmemInvalid(
            f"out has {call.out.shape[0]} rows, and {end} are needed for the rows that the members "
            "send here: pass more as out_rows, or a larger out"
        )
    call.received.copy_(torch.from_numpy(np.ascontiguousarray(result)).reshape_as(call.received))
    width, handle = row_bytes(call), handle_in_place(stream)
    for step in range(group.size):
        member = (group.me + step) % group.size
        pe = pe_in(group, member, "member")
        for expert in range(call.layout.experts):
            size = int(counts[member, expert]) * width
            if size:
                to = _place(call.out.data_ptr() + int(begins[member, expert]) * width)
                of = _place(known.table + int(numbers[member, 1, group.me, expert]))
                check(rma._get.plain(handle, to, of, collective._size(size), pe))
    return None


# --- both -----------------------------------------------------------------------------------------


def row_bytes(call: Exchange) -> int:
    """Bytes of a row."""
    size = int(call.out.element_size())
    for length in call.out.shape[1:]:
        size *= int(length)
    return size


def room_of(call: Exchange, stream: Any) -> Reserve:
    """The group's reserve, which must hold the numbers of all members."""
    known = reserve_of(call.group, "splits", stream)
    take_turn(known, stream)
    nbytes = 3 * _LONG * call.group.size * call.layout.experts
    most = min(TABLE_BYTES, known.half // call.group.size)
    if nbytes > most:
        raise NvshmemInvalid(
            f"splits are for {call.layout.experts} experts of {call.group.size} members, which "
            f"needs {nbytes} bytes of the reserve, and it has {most}"
        )
    return known


def symmetric_input(call: Exchange, known: Reserve) -> Any:
    """The input, or a copy of it in the reserve. Other members copy from it in words of up to 16
    bytes, so its rows begin at a multiple of them.
    """
    width = row_bytes(call)
    aligned = call.input.data_ptr() % min(width & -width or 16, 16) == 0
    if aligned and is_symmetric(call.input):
        return call.input
    nbytes = call.input.numel() * call.input.element_size()
    if nbytes > known.half:
        raise NvshmemInvalid(
            f"input has {nbytes} bytes and is not symmetric, and the reserve has {known.half}: call "
            "release_reserve, and reserve with more, or pass a tensor of nvshmemrs.core.tensor"
        )
    shape, size = tuple(call.input.shape), call.input.element_size()
    staged = known.at(known.sources, shape, call.input.dtype, size)
    staged.copy_(call.input)
    return staged


def _checked(call: Exchange) -> None:
    n = call.group.size * call.layout.experts
    for name, tensor in (("input", call.input), ("splits", call.counts), ("out", call.out)):
        check_tensor(tensor, name)
    check_tensor(call.received, "received")
    refuse_grad("all_to_all_v", input=call.input, out=call.out)
    if call.input.dim() < 1:
        raise NvshmemInvalid("input is a number: its first axis must be rows")
    if call.counts.dtype is not torch.int64 or call.counts.numel() != n:
        raise NvshmemInvalid(
            f"splits has {call.counts.numel()} elements of {call.counts.dtype}: it must have {n} of "
            "torch.int64"
        )
    if call.received.dtype is not torch.int64 or call.received.numel() != 2 * n:
        raise NvshmemInvalid(f"received must have 2 rows of {n} elements of torch.int64")
    if call.out.dtype is not call.input.dtype or call.out.shape[1:] != call.input.shape[1:]:
        raise NvshmemInvalid(
            f"out has rows {tuple(call.out.shape[1:])} of {call.out.dtype}: they must be those of "
            f"input, {tuple(call.input.shape[1:])} of {call.input.dtype}"
        )


def _run(call: Exchange) -> None:
    _checked(call)
    stream = current_stream()
    with torch.no_grad():
        if job.device < 0:
            _on_host(call, stream)
        else:
            _on_gpu(call, stream)


def _on_gpu(call: Exchange, stream: Any) -> None:
    try:
        from ..device import triton as nvt
        from . import _torch_alltoallv_kernels as kernels
    except ImportError as error:
        raise NotSupportedError(f"all_to_all_v on a GPU needs Triton: {error}") from None
    known = room_of(call, stream)
    source = symmetric_input(call, known)
    is_captured = capturing(stream)
    if known.state is None and not is_captured:
        known.state = nvt.state().data_ptr()
    done = False
    if known.state is not None:
        with torch.cuda.device(job.device):
            place, width = source.data_ptr(), row_bytes(call)
            start: Any = kernels.start
            done = start(known.state, call, known.table, place, width, is_captured)
    if not done:
        raise NvshmemInvalid(
            "all_to_all_v: the stream is captured into a graph, and the kernel is not loaded: call "
            "the operation once with such tensors before the capture"
        )


# --- operations -----------------------------------------------------------------------------------


def _experts(splits: Any, group: Group) -> int:
    count = int(splits.shape[-1]) if splits.dim() else 0
    if not count or count % group.size:
        raise NvshmemInvalid(
            f"splits has {count} elements a row: it must be a multiple of the group's {group.size} "
            "members"
        )
    return count // group.size


def _made(input: Any, splits: Any, out_rows: Any) -> Tuple[Any, Any]:
    if isinstance(out_rows, int) and out_rows < 0:
        raise NvshmemInvalid(f"out_rows={out_rows}: it is a number of rows")
    out = input.new_empty((out_rows, *input.shape[1:]))
    return out, splits.new_empty((2, splits.shape[-1]))


def _flat(input: Any, splits: Any, out: Any, received: Any, group: str) -> Exchange:
    found = group_of(group)
    if splits.numel() != found.size:
        raise NvshmemInvalid(
            f"splits has {splits.numel()} elements: it must have one for each of the group's "
            f"{found.size} members"
        )
    return Exchange(found, Layout(1, False, False, 1), input, splits, None, out, received)


def all_to_all_v(input: Any, splits: Any, out_rows: int, group: str = "TEAM_WORLD") -> Any:
    """Rows to every member, as `splits` say; new tensors of them and of their numbers."""
    out, received = _made(input, splits, out_rows)
    _run(_flat(input, splits, out, received, group))
    return out, received


def all_to_all_v_out(
    input: Any, splits: Any, group: str = "TEAM_WORLD", *, out: Any, received: Any
) -> None:
    """The same in `out` and `received`."""
    _run(_flat(input, splits, out, received, group))


def _dispatch(
    input: Any, splits: Any, align: int, group: str, out: Any, received: Any
) -> Exchange:
    found = group_of(group)
    if align < 1:
        raise NvshmemInvalid(f"align={align}: experts begin at multiples of at least 1 row")
    layout = Layout(_experts(splits, found), False, True, align)
    return Exchange(found, layout, input, splits, None, out, received)


def all_to_all_v_2d(
    input: Any, splits: Any, out_rows: int, align: int = 1, group: str = "TEAM_WORLD"
) -> Any:
    """Rows to every member's experts; they arrive by expert, and then by member."""
    out, received = _made(input, splits, out_rows)
    _run(_dispatch(input, splits, align, group, out, received))
    return out, received


def all_to_all_v_2d_out(
    input: Any, splits: Any, align: int = 1, group: str = "TEAM_WORLD", *, out: Any, received: Any
) -> None:
    """The same in `out` and `received`."""
    _run(_dispatch(input, splits, align, group, out, received))


def _combine(input: Any, received: Any, group: str, out: Any, came: Any) -> Exchange:
    found = group_of(group)
    if received.dim() != 2 or received.shape[0] != 2:
        raise NvshmemInvalid("splits must have 2 rows: the received of all_to_all_v_2d")
    layout = Layout(_experts(received, found), True, False, 1)
    return Exchange(found, layout, input, received[0], received[1], out, came)


def all_to_all_v_2d_back(
    input: Any, splits: Any, out_rows: int, group: str = "TEAM_WORLD"
) -> Any:
    """Returns rows to their origin in all_to_all_v_2d; `splits` is its result `received`."""
    out, came = _made(input, splits, out_rows)
    _run(_combine(input, splits, group, out, came))
    return out, came


def all_to_all_v_2d_back_out(
    input: Any, splits: Any, group: str = "TEAM_WORLD", *, out: Any, received: Any
) -> None:
    """The same in `out` and `received`."""
    _run(_combine(input, splits, group, out, received))


def fake_flat(input: Any, splits: Any, out_rows: Any, group: str = "TEAM_WORLD") -> Any:
    """New tensors."""
    refuse_grad("all_to_all_v", input=input)
    return _made(input, splits, out_rows)


def fake_2d(
    input: Any, splits: Any, out_rows: Any, align: int = 1, group: str = "TEAM_WORLD"
) -> Any:
    """New tensors."""
    refuse_grad("all_to_all_v_2d", input=input)
    return _made(input, splits, out_rows)


def fake_back(input: Any, splits: Any, out_rows: Any, group: str = "TEAM_WORLD") -> Any:
    """New tensors."""
    refuse_grad("all_to_all_v_2d_back", input=input)
    return _made(input, splits, out_rows)
