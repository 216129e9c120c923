# mypy: ignore-errors
"""all_to_all_v as one kernel: the members post their numbers, meet, and copy their rows from each
other.

A table in symmetric memory has, for each member and expert, the rows, where they are from the
table on, and the bytes of a row. Every program writes all of it, the same values, so that it needs
to meet no other program of its launch. The last meeting lets the next call write there again.
"""

import triton
import triton.language as tl

from ..device import triton as nvt
from ..device._triton_launch import Argument, launch
from ..device.triton._collectives import meet
from ..device.triton._context import OP_ALLTOALL, find_team, keep_report, pe_of, ptr
from ..device.triton._rma import copy_part

# Programs of a launch, and the first of the team's slots that they meet in: above those that
# kernels of the program's begin with.
PROGRAMS = 64
SLOT = tl.constexpr(64)
# Of Report::kind of nvshmemrs_device.cuh.
_WRONG_SPLITS = tl.constexpr(9)
_SCALARS = ["team", "delta", "rows_in", "rows_out", "width", "experts", "align"]


@triton.jit
def before(x, AXIS: tl.constexpr):
    """The exclusive prefix sum along an axis."""
    return tl.cumsum(x, AXIS) - x


@triton.jit
def starts(x):
    """The exclusive prefix sum over the rows of a tile, one after the other."""
    return before(tl.sum(x, 1), 0)[:, None] + before(x, 1)


@triton.jit
def chosen(x, mask):
    """The one element of a tile that a mask leaves."""
    return tl.sum(tl.sum(tl.where(mask, x, 0), 1), 0)


@triton.jit(do_not_specialize=_SCALARS)
def exchange(
    state,
    table,
    counts,
    offsets,
    out,
    received,
    team,
    delta,
    rows_in,
    rows_out,
    width,
    experts,
    align,
    MEMBERS: tl.constexpr,
    EXPERTS: tl.constexpr,
    HAS_OFFSETS: tl.constexpr,
    BY_EXPERT_IN: tl.constexpr,
    BY_EXPERT_OUT: tl.constexpr,
    WIDE: tl.constexpr,
):
    """`out` is an array of words; `delta` are the bytes from the table to the input. WIDE: rows are
    whole blocks of 16 bytes, and so are the places of the arrays.
    """
    ctx = nvt.context(state)
    t = find_team(ctx, team)
    mine = tl.program_id(0)
    blocks = t.n * experts
    member = tl.arange(0, MEMBERS)[:, None]
    expert = tl.arange(0, EXPERTS)[None, :]
    inside = (member < t.n) & (expert < experts)
    by_member = member * experts + expert
    by_expert = expert * t.n + member
    place_in = by_expert if BY_EXPERT_IN else by_member
    posted = tl.load(counts + place_in, mask=inside, other=0)
    if HAS_OFFSETS:
        begins = tl.load(offsets + place_in, mask=inside, other=0)
    else:
        begins = starts(posted)
    wrong = (posted < 0) | (begins < 0) | (begins + posted > rows_in)
    is_wrong = tl.max(tl.max((wrong & inside).to(tl.int32), 1), 0)
    tl.store(table + by_member, tl.where(is_wrong != 0, posted * 0 - 1, posted), mask=inside)
    tl.store(table + blocks + by_member, delta + begins * width, mask=inside)
    tl.store(table + 2 * blocks + by_member, posted * 0 + width, mask=inside)
    result = meet(ctx, t, mine + SLOT)
    if result == 0:
        theirs = ptr(ctx, table + t.me * experts + expert, pe_of(t, member, inside))
        rows = tl.load(theirs, mask=inside, other=0, volatile=True)
        places = tl.load(theirs + blocks, mask=inside, other=0, volatile=True)
        widths = tl.load(theirs + 2 * blocks, mask=inside, other=width, volatile=True)
        if BY_EXPERT_OUT:
            totals = (tl.sum(rows, 0) + align - 1) // align * align
            to = before(totals, 0)[None, :] + before(rows, 0)
            place_out = by_expert
        else:
            to = starts(rows)
            place_out = by_member
        end = tl.max(tl.max(tl.where(inside, to + rows, 0), 1), 0)
        bad = tl.max(tl.max(((rows < 0) | (widths != width)).to(tl.int32), 1), 0)
        good = (bad == 0) & (end <= rows_out)
        if mine == 0:
            tl.store(received + place_out, tl.where(good, rows, rows * 0 - 1), mask=inside)
            tl.store(received + blocks + place_out, tl.where(good, to, to * 0 - 1), mask=inside)
            if is_wrong != 0:
                asked = tl.max(tl.max(tl.where(inside, begins + posted, 0), 1), 0)
                keep_report(ctx, _WRONG_SPLITS, OP_ALLTOALL, ctx.my_pe, asked, rows_in)
            elif good == 0:
                keep_report(ctx, _WRONG_SPLITS, OP_ALLTOALL, ctx.my_pe, end, rows_out)
        if good:
            WORD: tl.constexpr = out.dtype.element_ty.primitive_bitwidth // 8
            source = table.to(tl.pointer_type(out.dtype.element_ty))
            for block in range(0, blocks):
                # Each member starts with a different one.
                which = (t.me + block // experts) % t.n
                this = (member == which) & (expert == block % experts)
                n = chosen(rows, this) * width // WORD
                if n > 0:
                    if WIDE:
                        # Shows the compiler the alignment of the addresses.
                        of = (chosen(places, this) >> 4) * 2
                        there = (chosen(to, this) * (width >> 4)) * 2
                    else:
                        of = chosen(places, this) // WORD
                        there = chosen(to, this) * width // WORD
                    pe = pe_of(t, which, which >= 0)
                    copy_part(out + there, ptr(ctx, source, pe) + of, n, mine.to(tl.int64), tl.num_programs(0), None)
        meet(ctx, t, mine + SLOT)


def padded(number):
    """The next power of two."""
    return 1 << max(number - 1, 0).bit_length()


def word_of(width, *places):
    """Bytes of the words that rows are copied in: at most 8, and a row and the places are multiples."""
    word = 8
    while word > 1 and any(number % word for number in (width, *places)):
        word //= 2
    return word


def start(state, call, table, source, width, is_captured):
    """Starts the kernel on torch's current stream. `call` is an Exchange, `state` and `table` are the
    reserve's, and `source` is the address of the input. Returns whether it was started: in a capture, a
    kernel cannot be loaded.
    """
    layout, group = call.layout, call.group
    out = call.out.data_ptr()
    word = word_of(width, out)
    wide = width % 16 == 0 and out % 16 == 0
    scalars = (
        group.team, source - table, call.input.shape[0], call.out.shape[0], width, layout.experts,
        layout.align,
    )  # fmt: skip
    offsets = call.counts if call.offsets is None else call.offsets
    addresses = (state, table, call.counts.data_ptr(), offsets.data_ptr(), out, call.received.data_ptr())
    kinds = ("int64", "int64", "int64", "int64", f"int{8 * word}", "int64")
    constants = {
        "MEMBERS": padded(group.size),
        "EXPERTS": padded(layout.experts),
        "HAS_OFFSETS": call.offsets is not None,
        "BY_EXPERT_IN": layout.inputs,
        "BY_EXPERT_OUT": layout.outputs,
        "WIDE": wide,
    }
    pointers = [Argument(*pair) for pair in zip(addresses, kinds)]
    return launch(exchange, PROGRAMS, pointers, scalars, loaded_only=is_captured, **constants)
