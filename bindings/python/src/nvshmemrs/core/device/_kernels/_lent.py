"""Bulk copies through shared memory that a function has lent. Local to this package.

The function that calls ``give_smem`` has a variable for the lent memory, in each thread, and its
puts and gets are inlined. So no thread uses memory that it has not given, and a function without
``give_smem`` has no code for bulk copies.

The variable is a word like ``State::lent`` of ``nvshmemrs_device.cuh``: the memory's start and size
in units of sixteen bytes. The memory begins with the barriers. A word that is 1 while a call uses
the memory follows, and from byte 128 on the buffers.
"""

# mypy: ignore-errors

from __future__ import annotations

from ...direct import SMEM_BARRIERS, SMEM_LEAST
from ._backend import (
    apart,
    bulk_await_reads,
    bulk_begin,
    bulk_came,
    bulk_end,
    bulk_engines,
    bulk_load,
    bulk_store,
    jitable,
    shared_free,
    shared_place,
    shared_take,
    smallest,
)
from ._copy import _edge, copy
from ._state import any_of, rank

# Buffers, loads ahead of the stores, the unit of buffers' sizes, the least bytes of a copy.
_STAGES, _AHEAD, _UNIT, _LEAST_BULK = 8, 6, 128, 2048
# Where the word is that is 1 while a call uses the memory.
_USED = 64


@jitable
def lent_word(at, nbytes):
    """The word for memory at an address; 0 if nothing of it can be lent."""
    place = shared_place(at)
    if bulk_engines() == 0 or place == -1:
        return 0
    skipped = -place & 15
    if nbytes < skipped + SMEM_LEAST:
        return 0
    shared_free(place + skipped + _USED)
    return (place + skipped) >> 4 << 16 | smallest((nbytes - skipped) >> 4, 0xFFFF)


@jitable
def lent_bytes(word):
    return (word & 0xFFFF) << 4


@jitable
def _copy_bulk(word, dest, source, nbytes):
    """One thread: multiples of sixteen bytes. Loads run ahead of the stores, and a buffer is loaded
    again once all stores but the latest have read theirs.
    """
    apart()
    barriers = word >> 16 << 4
    buffers = barriers + SMEM_BARRIERS
    stage = (lent_bytes(word) - SMEM_BARRIERS) >> 3 & -_UNIT
    bulk_begin(barriers)
    i = 0
    while (i - _AHEAD) * stage < nbytes:
        if i * stage < nbytes:
            at, piece = i & _STAGES - 1, smallest(stage, nbytes - i * stage)
            if i >= _STAGES:
                bulk_await_reads()
            bulk_load(buffers + at * stage, source + i * stage, piece, barriers + at * 8)
        if i >= _AHEAD:
            k = i - _AHEAD
            at, piece = k & _STAGES - 1, smallest(stage, nbytes - k * stage)
            while bulk_came(barriers + at * 8, k >> 3 & 1) == 0:
                pass
            bulk_store(dest + k * stage, buffers + at * stage, piece)
        i += 1
    bulk_end(barriers)


@jitable
def copy_lent(dest, source, nbytes, scope, word):
    """As ``copy`` for a thread or a warp, of which the first thread's `word` counts. Where bulk
    copies do not fit, or another call uses the memory, the threads store.
    """
    head = -dest & 15
    body = (nbytes - head) & -16
    if (dest ^ source) & 15 == 0 and body >= _LEAST_BULK:
        used = (word >> 16 << 4) + _USED
        mine = word != 0 and rank(scope) == 0 and shared_take(used) == 0
        if any_of(scope, mine):
            if mine:
                _copy_bulk(word, dest + head, source + head, body)
                _edge(dest, source, head)
                tail = head + body
                _edge(dest + tail, source + tail, nbytes - tail)
                shared_free(used)
            return
    copy(dest, source, nbytes, scope)
