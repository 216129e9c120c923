"""Elements by their size, and words that other PEs access. Local to this package.

`at` is an address, `size` the bytes of an element, `bits` its bits.
"""

# mypy: ignore-errors

from __future__ import annotations

from . import _backend


def _by_size(name):
    return (getattr(_backend, f"{name}_u{bits}") for bits in (8, 16, 32, 64))


def _load(name):
    u8, u16, u32, u64 = _by_size(name)

    @_backend.jitable
    def load(at, size):
        if size == 8:
            return u64(at)
        if size == 4:
            return u32(at)
        if size == 2:
            return u16(at)
        return u8(at)

    return load


def _store(name):
    u8, u16, u32, u64 = _by_size(name)

    @_backend.jitable
    def store(at, bits, size):
        if size == 8:
            u64(at, bits)
        elif size == 4:
            u32(at, bits)
        elif size == 2:
            u16(at, bits)
        else:
            u8(at, bits)

    return store


load_relaxed, load_acquire, read = map(_load, ("ld_relaxed", "ld_acquire", "ld_weak"))
store_relaxed, store_release, write = map(_store, ("st_relaxed", "st_release", "st_weak"))
