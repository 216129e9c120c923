"""Groups of threads that make one call, and the copies that they share.

A call of a warp or a block begins with a meeting of its threads, so it includes what each of them
did before.
"""

from __future__ import annotations

from typing import Any

from ._access import access, block_or
from ._frontend import cute, cutlass, dsl
from ._state import block_thread, block_threads

Uint32, Uint64 = cutlass.Uint32, cutlass.Uint64

# Loads of a thread that are under way at once, of units that are smaller than sixteen bytes.
_FEW = 4


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
        """A meeting that tells all whether any voted other than 0."""
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


@dsl.jit
def copy(group: Any, dest: Any, source: Any, count: Any, size: int, aligned: bool) -> None:
    """Copies `count` elements of `size` bytes that do not overlap; the group's threads share them.
    `aligned`: both sides are known to be aligned to 16 bytes.
    """
    rank, threads = Uint64(group.rank()), Uint64(group.size())
    nbytes = count * Uint64(size)
    if cutlass.const_expr(aligned):
        _in_units(group, dest, source, Uint64(0), nbytes, rank, threads, size, 16)
    else:
        _in_largest(group, dest, source, nbytes, rank, threads, size, 16)


@dsl.jit
def _in_largest(
    group: Any,
    dest: Any,
    source: Any,
    nbytes: Any,
    rank: Any,
    threads: Any,
    size: int,
    unit: int,
) -> None:
    """The same in units of `unit` bytes, or in the largest smaller ones to which both sides can be
    aligned at once.
    """
    if cutlass.const_expr(unit == size):
        _in_units(group, dest, source, Uint64(0), nbytes, rank, threads, size, unit)
    else:
        if (dest ^ source) % Uint64(unit) == Uint64(0):
            head = cutlass.min((Uint64(0) - dest) % Uint64(unit), nbytes)
            _in_units(group, dest, source, head, nbytes, rank, threads, size, unit)
        else:
            _in_largest(group, dest, source, nbytes, rank, threads, size, unit // 2)


@dsl.jit
def _in_units(
    group: Any,
    dest: Any,
    source: Any,
    head: Any,
    nbytes: Any,
    rank: Any,
    threads: Any,
    size: int,
    unit: int,
) -> None:
    """The same in units of `unit` bytes, which begin behind `head` bytes on both sides. What is
    before and behind them is copied element by element.
    """
    wide = Uint64(unit)
    units = (nbytes - head) // wide
    to, start = dest + head, source + head
    i = rank
    many = Uint64(group.at_once if unit == 16 else _FEW)
    step = threads * wide
    while i + (many - Uint64(1)) * threads < units:
        if cutlass.const_expr(unit == 16 and group is Thread):
            # One thread has few loads under way, so it has the data brought nearer before.
            if i + many + Uint64(128) < units:
                access.prefetch(start + i * wide + Uint64(2048))
        _several(group, to + i * wide, start + i * wide, step, unit)
        i += many * threads
    while i < units:
        _one(to + i * wide, start + i * wide, unit)
        i += threads
    if cutlass.const_expr(unit > size):
        before = head // Uint64(size)
        edges = before + (nbytes - head - units * wide) // Uint64(size)
        body = units * wide
        i = rank
        while i < edges:
            at = i * Uint64(size)
            if i >= before:
                at += body
            _one(dest + at, source + at, size)
            i += threads


def _several(group: Any, dest: Any, source: Any, step: Any, unit: int) -> None:
    """Units that lie `step` bytes apart; all loads come before the first store."""
    if unit == 16:
        getattr(access, f"copy_u128_x{group.at_once}")(dest, source, step)
        return
    load, store = (getattr(access, f"{verb}_weak_u{8 * unit}") for verb in ("ld", "st"))
    values = [load(source + Uint64(k) * step) for k in range(_FEW)]
    for k, value in enumerate(values):
        store(dest + Uint64(k) * step, value)


def _one(dest: Any, source: Any, unit: int) -> None:
    getattr(access, f"copy_u{8 * unit}")(dest, source)
