"""Copies that a thread, a warp or a block makes. Local to this package."""

# mypy: ignore-errors

from __future__ import annotations

from ._backend import (
    apart,
    copy_u8,
    copy_u16,
    copy_u32,
    copy_u64,
    copy_u128,
    copy_u128_x4,
    copy_u128_x8,
    jitable,
    prefetch,
    smallest,
)
from ._state import BLOCK, THREAD, rank, size

# Bytes from which on a group's copy begins at a whole line.
_LEAST_LINES = 32768


@jitable
def _common_power(mixed):
    """The largest power of two, at most 16, that divides all bits."""
    low = mixed | 16
    return low & -low


@jitable
def _edge(dest, source, nbytes):
    """One thread: elements of the largest size that their place allows, one after the other."""
    while nbytes > 0:
        power = _common_power(dest | source)
        while power > nbytes:
            power >>= 1
        if power == 16:
            copy_u128(dest, source)
        elif power == 8:
            copy_u64(dest, source)
        elif power == 4:
            copy_u32(dest, source)
        elif power == 2:
            copy_u16(dest, source)
        else:
            copy_u8(dest, source)
        dest += power
        source += power
        nbytes -= power


@jitable
def _sixteens(dest, source, nbytes, scope):
    at = rank(scope) * 16
    step = size(scope) * 16
    if scope != THREAD and nbytes >= _LEAST_LINES:
        # Whole lines of 128 bytes leave the GPU fastest.
        lead = -dest & 127
        while at < lead:
            copy_u128(dest + at, source + at)
            at += step
        at = lead + rank(scope) * 16
    if scope == BLOCK:
        while at + 3 * step < nbytes:
            copy_u128_x4(dest + at, source + at, step)
            at += 4 * step
    else:
        while at + 7 * step < nbytes:
            # One thread has few loads under way, so it has the data brought nearer ahead of them.
            if scope == THREAD and at + 2176 < nbytes:
                prefetch(source + at + 2048)
            copy_u128_x8(dest + at, source + at, step)
            at += 8 * step
    while at < nbytes:
        copy_u128(dest + at, source + at)
        at += step


@jitable
def _copy_long(dest, source, nbytes, scope):
    apart()
    # Where both sides can be aligned at once.
    power = _common_power(dest ^ source)
    head = smallest(-dest & (power - 1), nbytes)
    body = (nbytes - head) & -power
    if power == 16:
        _sixteens(dest + head, source + head, body, scope)
    else:
        at = rank(scope) * power
        step = size(scope) * power
        while at < body:
            _edge(dest + head + at, source + head + at, power)
            at += step
    if rank(scope) == size(scope) - 1:
        _edge(dest, source, head)
        _edge(dest + head + body, source + head + body, nbytes - head - body)


@jitable
def copy(dest, source, nbytes, scope):
    """Copies bytes that do not overlap. The group's threads share them."""
    if nbytes <= 8:
        if rank(scope) == 0:
            # One element, as signals announce it most of the time.
            if nbytes == 8 and (dest | source) & 7 == 0:
                copy_u64(dest, source)
            else:
                _edge(dest, source, nbytes)
    else:
        _copy_long(dest, source, nbytes, scope)


@jitable
def copy_strided(dest, source, dest_step, source_step, count, element, scope):
    """`count` elements of `element` bytes, at steps in elements."""
    i = rank(scope)
    while i < count:
        _edge(dest + i * dest_step * element, source + i * source_step * element, element)
        i += size(scope)
