"""Groups of threads that make one call, and the copies that they share.

A call of a warp or a block begins with a meeting of its threads, so it includes what each of them
did before.
"""

from __future__ import annotations

import inspect
from typing import Any, Callable, Tuple

from ._access import access, block_or, copy_units
from ._frontend import cute, cutlass, dsl
from ._state import block_thread, block_threads

Uint32, Uint64 = cutlass.Uint32, cutlass.Uint64


class Thread:
    """One thread."""

    suffix = ""
    at_once = 8
    """Sixteen-byte loads of a thread that are under way at once."""

    @staticmethod
    def rank() -> Any:
        """The calling thread's number in the group."""
        return Uint32(0)

    @staticmethod
    def size() -> Any:
        """The threads of the group."""
        return Uint32(1)

    @staticmethod
    def sync() -> None:
        """A meeting of the group's threads."""

    @staticmethod
    def any(vote: Any) -> Any:
        """A meeting of the group; returns whether any thread voted other than 0."""
        return vote


class Warp:
    """The threads of a warp."""

    suffix = "_warp"
    at_once = 8

    @staticmethod
    def rank() -> Any:
        """As ``Thread.rank``."""
        return block_thread() % Uint32(32)

    @staticmethod
    def size() -> Any:
        """As ``Thread.size``; the last warp of a block may be smaller."""
        left = block_threads() - block_thread() // Uint32(32) * Uint32(32)
        return cutlass.min(Uint32(32), left)

    @staticmethod
    def sync() -> None:
        """As ``Thread.sync``."""
        cute.arch.sync_warp()

    @staticmethod
    def any(vote: Any) -> Any:
        """As ``Thread.any``."""
        return Uint32(cute.arch.vote_any_sync(vote != Uint32(0)))


class Block:
    """The threads of a block."""

    suffix = "_block"
    at_once = 4

    @staticmethod
    def rank() -> Any:
        """As ``Thread.rank``."""
        return block_thread()

    @staticmethod
    def size() -> Any:
        """As ``Thread.size``."""
        return block_threads()

    @staticmethod
    def sync() -> None:
        """As ``Thread.sync``."""
        cute.arch.sync_threads()

    @staticmethod
    def any(vote: Any) -> Any:
        """As ``Thread.any``."""
        return block_or(vote)


SCOPES = (Thread, Warp, Block)
Functions = Tuple[Callable[..., Any], ...]


def named(group: Any, functions: Functions, who: str) -> Functions:
    """Functions of a group, under the names that they have in it; `who` names the callers."""
    for function in functions:
        function.__name__ = function.__qualname__ = function.__name__ + group.suffix
        function.__doc__ = f"{inspect.getdoc(function)} {who}"
    return functions


@dsl.jit
def copy(group: Any, dest: Any, source: Any, count: Any, size: int, aligned: bool) -> None:
    """Copies `count` elements of `size` bytes that do not overlap; the group's threads share them.
    `aligned`: both sides are known to be aligned to 16 bytes.
    """
    rank, threads = Uint64(group.rank()), Uint64(group.size())
    nbytes = count * Uint64(size)
    head = Uint64(0)
    if cutlass.const_expr(aligned):
        body = nbytes & Uint64(-16 % 2**64)
        _wide(group, dest, source, body, rank, threads)
    else:
        # The largest unit to which both sides can be aligned at once.
        mixed = (dest ^ source) | Uint64(16)
        unit = mixed & (Uint64(0) - mixed)
        head = cutlass.min((Uint64(0) - dest) & (unit - Uint64(1)), nbytes)
        body = (nbytes - head) & (Uint64(0) - unit)
        if unit == Uint64(16):
            _wide(group, dest + head, source + head, body, rank, threads)
        else:
            to, start, step = dest + head, source + head, threads * unit
            at = rank * unit
            while at < body:
                copy_units[size](to + at, start + at, step, unit, body - at)
                at += Uint64(4) * step
    # The elements before and behind the units.
    before = head // Uint64(size)
    edges = before + (nbytes - head - body) // Uint64(size)
    i = rank
    while i < edges:
        at = i * Uint64(size)
        if i >= before:
            at += body
        getattr(access, f"copy_u{8 * size}")(dest + at, source + at)
        i += threads


@dsl.jit
def _wide(group: Any, dest: Any, source: Any, nbytes: Any, rank: Any, threads: Any) -> None:
    """The same in units of sixteen bytes."""
    units = nbytes // Uint64(16)
    i = rank
    many = Uint64(group.at_once)
    step = threads * Uint64(16)
    while i + (many - Uint64(1)) * threads < units:
        if cutlass.const_expr(group is Thread):
            # One thread has few loads under way, so it has the data brought nearer before.
            if i + many + Uint64(128) < units:
                access.prefetch(source + i * Uint64(16) + Uint64(2048))
        if cutlass.const_expr(group.at_once == 8):
            access.copy_u128_x8(dest + i * Uint64(16), source + i * Uint64(16), step)
        else:
            access.copy_u128_x4(dest + i * Uint64(16), source + i * Uint64(16), step)
        i += many * threads
    while i < units:
        access.copy_u128(dest + i * Uint64(16), source + i * Uint64(16))
        i += threads
