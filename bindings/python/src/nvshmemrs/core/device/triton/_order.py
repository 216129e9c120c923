# mypy: ignore-errors
"""Accesses with order, by scope of the system, for waits, signals and collectives."""

import triton
import triton.language as tl

from ._settings import INTERPRETED, ORDERED, WATCHED


@triton.jit
def load_acquire(p, mask=None):
    """A load with acquire order: the writer's earlier writes are visible afterwards."""
    if ORDERED:
        return tl.atomic_load(p, mask=mask, sem="acquire", scope="sys")
    else:
        return tl.atomic_add(p, 0, mask=mask, sem="acquire", scope="sys")


@triton.jit
def store_release(p, value, mask=None):
    """A store of words that other PEs wait for."""
    if ORDERED:
        tl.atomic_store(p, value, mask=mask, sem="release", scope="sys")
    else:
        tl.atomic_xchg(p, value, mask=mask, sem="release", scope="sys")


@triton.jit
def store_relaxed(p, value, mask=None):
    """The same without order."""
    if ORDERED:
        tl.atomic_store(p, value, mask=mask, sem="relaxed", scope="sys")
    else:
        tl.atomic_xchg(p, value, mask=mask, sem="relaxed", scope="sys")


@triton.jit
def full_fence(ctx, FULL: tl.constexpr):
    """A fence of all threads of the program. The interpreter has no instruction for it, and takes an
    atomic on a word of this PE's that nobody else accesses.
    """
    if INTERPRETED:
        word = ctx.spare.to(tl.pointer_type(tl.int32))
        tl.atomic_add(word, 0, sem="acq_rel", scope="sys")
    else:
        # The writes of the program's threads precede the fence of each thread.
        tl.debug_barrier()
        zero = tl.program_id(0)
        if FULL:
            tl.inline_asm_elementwise(
                "{ fence.sc.sys; mov.b32 $0, $1; }", "=r,r", [zero], dtype=tl.int32, is_pure=False, pack=1
            )
        else:
            tl.inline_asm_elementwise(
                "{ fence.acq_rel.sys; mov.b32 $0, $1; }", "=r,r", [zero], dtype=tl.int32, is_pure=False, pack=1
            )
        tl.debug_barrier()


@triton.jit
def fence(ctx):
    """Puts and stores of this program before it are seen before those after it, by every PE."""
    full_fence(ctx, False)


@triton.jit
def quiet(ctx):
    """Completes the puts, stores and atomics of this program; a full barrier of its threads."""
    full_fence(ctx, True)


if WATCHED:
    from ._checked import fence, quiet  # noqa: F401, F811
