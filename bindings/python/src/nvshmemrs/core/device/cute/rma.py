"""Puts and gets of kernels; ``docs/cute.md`` describes their common rules."""

from __future__ import annotations

from typing import Any

from .._operations import OPERATIONS
from ._access import access, address_of, load, store
from ._arguments import (
    SIGNAL_OPS,
    chosen,
    pair,
    signal,
    size_of,
    smaller,
    target,
    tensor,
)
from ._frontend import cutlass, dsl
from ._groups import Block, Functions, Thread, Warp, named
from ._lent import copy_by
from ._state import Job, check_argument, current, on

__all__ = [
    "g",
    "get",
    "get_block",
    "get_nbi",
    "get_nbi_block",
    "get_nbi_warp",
    "get_warp",
    "p",
    "put",
    "put_block",
    "put_nbi",
    "put_nbi_block",
    "put_nbi_warp",
    "put_signal",
    "put_signal_block",
    "put_signal_nbi",
    "put_signal_nbi_block",
    "put_signal_nbi_warp",
    "put_signal_warp",
    "put_warp",
]

Int32, Uint64 = cutlass.Int32, cutlass.Uint64


def p(dst: Any, value: Any, pe: Any) -> None:
    """Stores a value in the first element of `dst` on a PE, all of its bytes at once. It orders
    nothing. One-sided; one thread calls.
    """
    job = current("p")
    kind = tensor(dst, "dst", "p").element_type
    size = kind.width // 8
    at = on(job, "put", target(pe, "p"), address_of(dst), Uint64(size), size)
    store("relaxed", kind, at, value)


def g(src: Any, pe: Any) -> Any:
    """The first element of `src` on a PE, loaded at once. One-sided; one thread calls."""
    job = current("g")
    kind = tensor(src, "src", "g").element_type
    size = kind.width // 8
    at = on(job, "get", target(pe, "g"), address_of(src), Uint64(size), size)
    return load("relaxed", kind, at)


def _aligned(dst: Any, src: Any) -> bool:
    """Whether both are known to be aligned to sixteen bytes, on every PE."""
    return bool(min(dst.iterator.alignment, src.iterator.alignment) >= 16)


def _move(group: Any, operation: str, dst: Any, src: Any, pe: Any) -> None:
    """A put or a get of the smaller one's elements."""
    caller = operation + group.suffix
    job = current(caller)
    kind = pair(dst, src, caller)
    size = kind.width // 8
    count = Uint64(smaller(size_of(dst), size_of(src)))
    to, start = address_of(dst), address_of(src)
    nbytes, pe = count * Uint64(size), target(pe, caller)
    if operation.startswith("put"):
        to = on(job, operation, pe, to, nbytes, size)
    else:
        start = on(job, operation, pe, start, nbytes, size)
    group.sync()
    copy_by(group, to, start, count, size, _aligned(dst, src))
    if not operation.endswith("nbi"):
        group.sync()


def _announce(
    group: Any,
    operation: str,
    dst: Any,
    src: Any,
    signal_var: Any,
    signal_val: Any,
    signal_op: Any,
    pe: Any,
) -> None:
    """A put, and then the signal."""
    caller = operation + group.suffix
    job = current(caller)
    kind = pair(dst, src, caller)
    size = kind.width // 8
    op = chosen(signal_op, SIGNAL_OPS, "signal_op", caller)
    count, pe = Uint64(smaller(size_of(dst), size_of(src))), target(pe, caller)
    to = on(job, operation, pe, address_of(dst), count * Uint64(size), size)
    word = on(job, operation, pe, address_of(signal(signal_var, caller)), Uint64(8), 8)
    group.sync()
    copy_by(group, to, address_of(src), count, size, _aligned(dst, src))
    # The fence of one thread covers the stores of the others before they met.
    group.sync()
    _after(group, job, OPERATIONS[operation], word, Uint64(signal_val), op)


@dsl.jit
def _after(group: Any, job: Job, operation: int, word: Any, value: Any, op: Any) -> None:
    if cutlass.const_expr(group is Thread):
        access.fence_acq_rel()
        update_signal(job, operation, word, value, op)
    else:
        if group.rank() == cutlass.Uint32(0):
            access.fence_acq_rel()
            update_signal(job, operation, word, value, op)


@dsl.jit
def update_signal(job: Job, operation: int, word: Any, value: Any, op: Any) -> None:
    """Sets a signal, or adds to it."""
    if cutlass.const_expr(isinstance(op, int)):
        if cutlass.const_expr(op == int(SIGNAL_OPS[1])):
            access.red_relaxed_add_u64(word, value)
        else:
            access.st_relaxed_u64(word, value)
    else:
        good = (op == Int32(int(SIGNAL_OPS[0]))) | (op == Int32(int(SIGNAL_OPS[1])))
        check_argument(job, operation, good, Uint64(op))
        if op == Int32(int(SIGNAL_OPS[1])):
            access.red_relaxed_add_u64(word, value)
        else:
            access.st_relaxed_u64(word, value)


def _forms(group: Any, who: str) -> Functions:
    """The puts and gets that the threads of a group call."""

    def put(dst: Any, src: Any, pe: Any) -> None:
        """Copies the elements of `src` to `dst` on a PE, as many as the smaller one has. It orders
        nothing: call ``fence`` before announcing the data. `src` may be written again when it
        returns.
        """
        _move(group, "put", dst, src, pe)

    def put_nbi(dst: Any, src: Any, pe: Any) -> None:
        """Copies the elements of `src` to `dst` on a PE, as many as the smaller one has. It orders
        nothing: call ``fence`` before announcing the data. ``quiet`` completes it.
        """
        _move(group, "put_nbi", dst, src, pe)

    def get(dst: Any, src: Any, pe: Any) -> None:
        """Copies the elements of `src` on a PE to `dst`, as many as the smaller one has. The data
        is valid on return.
        """
        _move(group, "get", dst, src, pe)

    def get_nbi(dst: Any, src: Any, pe: Any) -> None:
        """Copies the elements of `src` on a PE to `dst`, as many as the smaller one has. ``quiet``
        completes it.
        """
        _move(group, "get_nbi", dst, src, pe)

    def put_signal(
        dst: Any, src: Any, signal_var: Any, signal_val: Any, signal_op: Any, pe: Any
    ) -> None:
        """Copies as ``put``, and then updates the signal of that PE: SIGNAL_SET or SIGNAL_ADD. A
        ``signal_wait`` that sees the signal also sees the data.
        """
        _announce(group, "put_signal", dst, src, signal_var, signal_val, signal_op, pe)

    def put_signal_nbi(
        dst: Any, src: Any, signal_var: Any, signal_val: Any, signal_op: Any, pe: Any
    ) -> None:
        """Copies as ``put_nbi``, and then updates the signal of that PE: SIGNAL_SET or SIGNAL_ADD.
        A ``signal_wait`` that sees the signal also sees the data.
        """
        _announce(group, "put_signal_nbi", dst, src, signal_var, signal_val, signal_op, pe)

    return named(
        group, (put, put_nbi, get, get_nbi, put_signal, put_signal_nbi), f"One-sided; {who}."
    )


put, put_nbi, get, get_nbi, put_signal, put_signal_nbi = _forms(Thread, "one thread calls")
(
    put_warp, put_nbi_warp, get_warp, get_nbi_warp, put_signal_warp, put_signal_nbi_warp,
) = _forms(Warp, "all threads of a warp call")  # fmt: skip
(
    put_block, put_nbi_block, get_block, get_nbi_block, put_signal_block, put_signal_nbi_block,
) = _forms(Block, "all threads of the block call")  # fmt: skip
