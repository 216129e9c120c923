"""Bulk copies through shared memory that a kernel has lent, as ``_kernels/_lent.py`` makes them.

A word has the memory's start and size, in units of sixteen bytes. The memory begins with the
barriers. A word that is 1 while a call uses it follows, and from byte 128 on the buffers.
"""

from __future__ import annotations

from typing import Any

from ...direct import SMEM_BARRIERS, SMEM_LEAST
from ...nvshmem_types import NvshmemInvalid
from ..primitives import TABLE
from ._access import access
from ._frontend import base_dsl, cute, cutlass, dsl
from ._groups import Block, copy
from ._state import keep_lent, lent_of

Int32, Uint32, Uint64 = cutlass.Int32, cutlass.Uint32, cutlass.Uint64

# Buffers, loads ahead of the stores, the unit of buffers' sizes, the least bytes of a copy.
_STAGES, _AHEAD, _UNIT, _LEAST_BULK = 8, 6, 128, 2048
# Where the word is that is 1 while a call uses the memory.
_USED = 64


def _engines() -> bool:
    """Whether the GPU that is compiled for has engines for bulk copies."""
    arch = base_dsl()._get_dsl().get_arch_enum()
    return bool((arch.major, arch.minor) >= TABLE["bulk_load"].least)


def lend(smem: Any) -> Any:
    """Lends a tensor; returns the number of bytes that copies use."""
    if not isinstance(smem, cute.Tensor):
        raise NvshmemInvalid(
            f"give_smem: smem must be a cute.Tensor in shared memory, not {type(smem).__name__}"
        )
    if smem.memspace != cute.AddressSpace.smem:
        raise NvshmemInvalid(
            f"give_smem: smem is in memory {smem.memspace}; it must be in shared memory"
        )
    if not _engines():
        keep_lent("give_smem", None)
        return Int32(0)
    nbytes = Uint32(cute.cosize(smem.layout)) * Uint32(smem.element_type.width // 8)
    word = _word(Uint32(smem.iterator.toint()), nbytes)
    keep_lent("give_smem", word)
    return Int32((word & Uint64(0xFFFF)) << Uint64(4))


@dsl.jit
def _word(place: Any, nbytes: Any) -> Any:
    skipped = (Uint32(0) - place) & Uint32(15)
    word = Uint64(0)
    if nbytes >= skipped + Uint32(SMEM_LEAST):
        access.shared_free(place + skipped + Uint32(_USED))
        units = cutlass.min((nbytes - skipped) >> Uint32(4), Uint32(0xFFFF))
        word = Uint64(place + skipped) >> Uint64(4) << Uint64(16) | Uint64(units)
    return word


@dsl.jit
def _copy_bulk(word: Any, dest: Any, source: Any, nbytes: Any) -> None:
    """One thread: multiples of sixteen bytes. Loads run ahead of the stores, and a buffer is loaded
    again once all stores but the latest have read theirs.
    """
    barriers = Uint32(word >> Uint64(16)) << Uint32(4)
    buffers = barriers + Uint32(SMEM_BARRIERS)
    room = (Uint32(word & Uint64(0xFFFF)) << Uint32(4)) - Uint32(SMEM_BARRIERS)
    stage = room // Uint32(_STAGES * _UNIT) * Uint32(_UNIT)
    access.bulk_begin(barriers)
    i, loaded, stored = Uint32(0), Uint64(0), Uint64(0)
    while stored < nbytes:
        if loaded < nbytes:
            if i >= Uint32(_STAGES):
                access.bulk_await_reads()
            at = i % Uint32(_STAGES)
            piece = Uint32(cutlass.min(Uint64(stage), nbytes - loaded))
            place, barrier = buffers + at * stage, barriers + at * Uint32(8)
            access.bulk_load(place, source + loaded, piece, barrier)
            loaded += Uint64(piece)
        if i >= Uint32(_AHEAD):
            k = i - Uint32(_AHEAD)
            at = k % Uint32(_STAGES)
            came = Uint32(0)
            while came == Uint32(0):
                parity = k // Uint32(_STAGES) % Uint32(2)
                came = access.bulk_came(barriers + at * Uint32(8), parity)
            piece = Uint32(cutlass.min(Uint64(stage), nbytes - stored))
            access.bulk_store(dest + stored, buffers + at * stage, piece)
            stored += Uint64(piece)
        i += Uint32(1)
    access.bulk_end(barriers)


@dsl.jit
def _edge(dest: Any, source: Any, nbytes: Any, size: int) -> None:
    """One thread: elements of `size` bytes."""
    at = Uint64(0)
    while at < nbytes:
        getattr(access, f"copy_u{8 * size}")(dest + at, source + at)
        at += Uint64(size)


@dsl.jit
def _copy_lent(
    group: Any, dest: Any, source: Any, count: Any, size: int, aligned: bool, word: Any
) -> None:
    """The first thread's word counts. Where bulk copies do not fit, or another call uses the memory,
    the threads store.
    """
    nbytes = count * Uint64(size)
    head = cutlass.min((Uint64(0) - dest) & Uint64(15), nbytes)
    body = (nbytes - head) & Uint64(-16 % 2**64)
    used = (Uint32(word >> Uint64(16)) << Uint32(4)) + Uint32(_USED)
    first = Uint32(group.rank()) == Uint32(0)
    fits = ((dest ^ source) & Uint64(15) == Uint64(0)) & (body >= Uint64(_LEAST_BULK))
    mine = Uint32(0)
    if fits & first & (word != Uint64(0)):
        mine = Uint32(access.shared_take(used) == Uint32(0))
    done = Uint32(group.any(mine))
    if mine != Uint32(0):
        _copy_bulk(word, dest + head, source + head, body)
        _edge(dest, source, head, size)
        tail = head + body
        _edge(dest + tail, source + tail, nbytes - tail, size)
        access.shared_free(used)
    if done == Uint32(0):
        copy(group, dest, source, count, size, aligned)


def copy_by(group: Any, dest: Any, source: Any, count: Any, size: int, aligned: bool) -> None:
    """``copy``, through lent memory if there is some and the group is a thread or a warp."""
    word = lent_of()
    if word is None or group is Block:
        copy(group, dest, source, count, size, aligned)
    else:
        _copy_lent(group, dest, source, count, size, aligned, word)
