# mypy: ignore-errors
"""The context of a kernel: its view of the job, and the addresses of other PEs' symmetric memory.

``include/nvshmemrs_device.cuh`` declares the structs that are read here.
"""

import triton
import triton.language as tl
from triton.language.core import _aggregate

from .._operations import NAMES, OPERATIONS
from ._arguments import expect_number
from ._settings import INTERPRETED, WATCHED, give_up

__all__ = [
    "aborted",
    "context",
    "my_pe",
    "n_pes",
    "ptr",
    "team_my_pe",
    "team_n_pes",
    "team_pe",
]

# Polls between two looks at the abort word, which lies behind PCIe; the interpreter polls slowly.
POLLS = tl.constexpr(64 if INTERPRETED.value else 1024)

# Operations, for reports of wrong arguments: OP_PUT and so on. One number stands for all atomic operations.
OP_ATOMIC = tl.constexpr(OPERATIONS["atomic_fetch_add"])
globals().update({f"OP_{name.upper()}": tl.constexpr(number) for name, number in OPERATIONS.items()})
# The names of operations in errors of the interpreter.
_NAMES = {**NAMES, OP_ATOMIC.value: "atomic"}


def refuse(ctx, kind, operation, pe, address, size):
    """Raises the error of a call, in the interpreter."""
    give_up(_NAMES, kind, operation, pe, ctx.n_pes, address, size)


refuse.__triton_builtin__ = True


def _fields(cls):
    """A class of values in kernels, which is called with its fields in their order."""

    def init(self, *values):
        if len(values) != len(names):
            raise TypeError(f"{cls.__name__} has {len(names)} fields, not {len(values)}")
        for name, value in zip(names, values):
            setattr(self, name, value)

    names = tuple(cls.__annotations__)
    # A plain function, which Triton runs while it compiles.
    init.__triton_builtin__ = True
    cls.__init__ = init
    return _aggregate(cls)


@_fields
class Context:
    """A program's view of the job. `context` creates it; fields are read-only."""

    my_pe: tl.tensor
    n_pes: tl.tensor
    # Where this PE's part of the heap begins, and bytes from one part to the next.
    own: tl.tensor
    stride: tl.tensor
    # Addresses: the abort word, the job's struct, and a word of this PE that is never read.
    abort: tl.tensor
    job: tl.tensor
    spare: tl.tensor


@triton.jit
def context(state):
    """The context of a kernel, from its argument ``state()``. Each program calls it once."""
    words = state.to(tl.pointer_type(tl.int64))
    pes = tl.load(words + 1)
    base = tl.load(words + 2)
    stride = tl.load(words + 3)
    my_pe = (pes & 0xFFFFFFFF).to(tl.int32)
    return Context(
        my_pe,
        (pes >> 32).to(tl.int32),
        base + my_pe.to(tl.int64) * stride,
        stride,
        tl.load(words + 4),
        tl.load(words + 6),
        words.to(tl.int64) + 60,
    )


@triton.jit
def my_pe(ctx):
    """The number of this PE."""
    return ctx.my_pe


@triton.jit
def n_pes(ctx):
    """The number of PEs."""
    return ctx.n_pes


@triton.jit
def aborted(ctx):
    """Whether the job is broken, for example because a PE died. Waits then end."""
    return tl.load(ctx.abort.to(tl.pointer_type(tl.uint32)), volatile=True) != 0


@triton.jit
def ptr(ctx, p, pe):
    """Where the symmetric memory that is at `p` on this PE lies on PE `pe`. `p` is a pointer or a
    block of pointers, `pe` a number or a block of numbers.

    It is the address to load from and to store to. Its difference to `p` is a multiple of 2 MiB, and
    the compiler sees that, so blocks of pointers keep accesses of 16 bytes.
    """
    expect_number(pe, "pe")
    BITS: tl.constexpr = p.dtype.element_ty.primitive_bitwidth
    UNITS: tl.constexpr = (1 << 24) // (BITS if BITS >= 8 else 8)
    return p + ((pe - ctx.my_pe).to(tl.int64) * (ctx.stride >> 21)) * UNITS


@triton.jit
def stop(ctx, kind, operation, pe, address, size):
    """Ends the kernel with an error; in the interpreter, raises it."""
    if INTERPRETED:
        refuse(ctx, kind, operation, pe, address, size)
    else:
        # By now all threads of the program have written their reports.
        tl.debug_barrier()
        zero = tl.program_id(0)
        tl.inline_asm_elementwise("{ trap; mov.b32 $0, $1; }", "=r,r", [zero], dtype=tl.int32, is_pure=False, pack=1)


@triton.jit
def keep_report(ctx, kind, operation, pe, address, size):
    """Records the error of a call, if it is the first one. The host's runtime_check and finalize
    return it.
    """
    at = tl.load(ctx.job.to(tl.pointer_type(tl.int64)) + 5)
    words = at.to(tl.pointer_type(tl.int32))
    if at != 0:
        zero = tl.full((), 0, tl.int32)
        if tl.atomic_cas(words, zero, zero + 1, sem="acq_rel", scope="sys") == 0:
            block = tl.program_id(0) + tl.num_programs(0) * (
                tl.program_id(1) + tl.num_programs(1) * tl.program_id(2)
            )
            tl.store(words + 1, zero + kind)
            tl.store(words + 2, zero + pe)
            tl.store(words + 3, block)
            tl.store(words + 4, zero)
            tl.store(words + 5, zero + operation)
            long = words.to(tl.pointer_type(tl.int64))
            tl.store(long + 3, address)
            tl.store(long + 4, tl.full((), 0, tl.int64) + size)
            tl.debug_barrier()
            tl.atomic_xchg(words, zero + 2, sem="release", scope="sys")
        else:
            # Another program may still be writing, and a trap may come next, which would end it.
            state = tl.atomic_add(words, 0, sem="acquire", scope="sys")
            turns = zero
            while (state == 1) & (turns < 1 << 20):
                state = tl.atomic_add(words, 0, sem="acquire", scope="sys")
                turns += 1


@triton.jit
def report(ctx, kind, operation, pe, address, size):
    """Records the error of a call, and ends the kernel. The end of this PE also ends the waits of
    other PEs for it.
    """
    keep_report(ctx, kind, operation, pe, address, size)
    stop(ctx, kind, operation, pe, address, size)


@triton.jit
def good_range(ctx, operation, pe, p, size, align):
    """Whether `size` bytes at `p` on PE `pe` are symmetric memory; if not, it is reported. Only with
    NVSHMEMRS_DEVICE_CHECK=1.
    """
    expect_number(pe, "pe")
    address = p.to(tl.int64)
    offset = address - ctx.own
    room = tl.load(ctx.job.to(tl.pointer_type(tl.int64)))
    pe_ = tl.full((), 0, tl.int32) + pe
    bytes_ = tl.full((), 0, tl.int64) + size
    wrong = tl.full((), 0, tl.int32)
    wrong = tl.where(address % align != 0, 3, wrong)
    wrong = tl.where((offset < 0) | (offset > room) | (bytes_ > room - offset), 2, wrong)
    wrong = tl.where((pe_ < 0) | (pe_ >= ctx.n_pes), 1, wrong)
    if wrong != 0:
        report(ctx, wrong, operation, pe_, address, bytes_)
    return wrong == 0


@triton.jit
def good_block(ctx, operation, pe, p, mask):
    """The same of a pointer or a block of pointers with a mask: which elements may be accessed.
    If one is wrong, none is.
    """
    SIZE: tl.constexpr = (p.dtype.element_ty.primitive_bitwidth + 7) // 8
    expect_number(pe, "pe")
    address = p.to(tl.int64)
    offset = address - ctx.own
    room = tl.load(ctx.job.to(tl.pointer_type(tl.int64)))
    pes = tl.zeros_like(offset).to(tl.int32) + pe
    wrong = tl.zeros_like(pes)
    wrong = tl.where(address % SIZE != 0, 3, wrong)
    wrong = tl.where((offset < 0) | (offset + SIZE > room), 2, wrong)
    wrong = tl.where((pes < 0) | (pes >= ctx.n_pes), 1, wrong)
    wrong = tl.where(mask, wrong, 0)
    if len(wrong.shape) > 0:
        kind = tl.max(wrong)
        where = tl.max(tl.where(wrong == kind, address, 0))
        culprit = tl.max(tl.where(wrong == kind, pes, -(2**31)))
        worst = tl.min(tl.where(wrong == kind, pes, 2**31 - 1))
        culprit = tl.where(culprit < ctx.n_pes, worst, culprit)
    else:
        kind = wrong
        where = address
        culprit = pes
    if kind != 0:
        report(ctx, kind, operation, culprit, where, SIZE)
    return mask & (pes * 0 + kind == 0)


@_fields
class Team:
    """A team as a program sees it; `n` is 0 if this PE is no member."""

    n: tl.tensor
    me: tl.tensor
    first: tl.tensor
    step: tl.tensor
    members: tl.tensor
    sync: tl.tensor
    epochs: tl.tensor


@triton.jit
def find_team(ctx, team):
    handle = tl.full((), 0, tl.int64) + team
    job = ctx.job.to(tl.pointer_type(tl.int64))
    n_teams = tl.load(job + 1) & 0xFFFFFFFF
    number = handle & 0xFFFFFFFF
    known = number < n_teams
    # Rows lie right behind the job's struct, as the header relies on, too.
    row = job + 8 + tl.where(known, number, 0) * 8
    # A new team's first word is written last, so it is read first.
    who = tl.load(row, volatile=True)
    where = tl.load(row + 1)
    generation = tl.load(row + 5) & 0xFFFFFFFF
    known = known & (generation == ((handle >> 32) & 0xFFFFFFFF))
    return Team(
        tl.where(known, who & 0xFFFFFFFF, 0).to(tl.int32),
        (who >> 32).to(tl.int32),
        (where & 0xFFFFFFFF).to(tl.int32),
        (where >> 32).to(tl.int32),
        tl.load(row + 2),
        tl.load(row + 3),
        tl.load(row + 4),
    )


if WATCHED:
    from ._checked import numbers, team_fields

    def find_team(ctx, team):  # noqa: F811
        """The library's team."""
        return Team(*numbers(team_fields(team)))

    find_team.__triton_builtin__ = True


@triton.jit
def pe_of(t, member, inside):
    """The PE of a member, or of a block of members; `inside`: which of them there are."""
    # Compared element by element: Triton 3.9's interpreter makes no mask of one comparison.
    is_listed = member * 0 + t.step == 0
    members = t.members.to(tl.pointer_type(tl.int32))
    listed = tl.load(members + member, mask=inside & is_listed, other=0)
    return tl.where(is_listed, listed, t.first + member * t.step)


@triton.jit
def team_my_pe(ctx, team):
    """This PE's number in the team with this handle; -1 if it is no member."""
    t = find_team(ctx, team)
    return tl.where(t.n > 0, t.me, -1)


@triton.jit
def team_n_pes(ctx, team):
    """The number of members of the team; -1 if this PE is no member."""
    t = find_team(ctx, team)
    return tl.where(t.n > 0, t.n, -1)


@triton.jit
def team_pe(ctx, team, member):
    """The PE of a member of the team, by its number in the team; -1 if there is none."""
    t = find_team(ctx, team)
    number = tl.full((), 0, tl.int32) + member
    inside = (number >= 0) & (number < t.n)
    return tl.where(inside, pe_of(t, number, inside), -1)
