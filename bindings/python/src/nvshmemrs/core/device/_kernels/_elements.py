"""Elements by their size, and words that other PEs access. Local to this package.

`at` is an address, `size` the bytes of an element, `bits` its bits.
"""

# mypy: ignore-errors

from __future__ import annotations

from ._backend import (
    jitable,
    ld_acquire_u8,
    ld_acquire_u16,
    ld_acquire_u32,
    ld_acquire_u64,
    ld_relaxed_u8,
    ld_relaxed_u16,
    ld_relaxed_u32,
    ld_relaxed_u64,
    ld_weak_u8,
    ld_weak_u16,
    ld_weak_u32,
    ld_weak_u64,
    st_relaxed_u8,
    st_relaxed_u16,
    st_relaxed_u32,
    st_relaxed_u64,
    st_release_u8,
    st_release_u16,
    st_release_u32,
    st_release_u64,
    st_weak_u8,
    st_weak_u16,
    st_weak_u32,
    st_weak_u64,
)


@jitable
def load_relaxed(at, size):
    if size == 8:
        return ld_relaxed_u64(at)
    if size == 4:
        return ld_relaxed_u32(at)
    if size == 2:
        return ld_relaxed_u16(at)
    return ld_relaxed_u8(at)


@jitable
def load_acquire(at, size):
    if size == 8:
        return ld_acquire_u64(at)
    if size == 4:
        return ld_acquire_u32(at)
    if size == 2:
        return ld_acquire_u16(at)
    return ld_acquire_u8(at)


@jitable
def store_relaxed(at, bits, size):
    if size == 8:
        st_relaxed_u64(at, bits)
    elif size == 4:
        st_relaxed_u32(at, bits)
    elif size == 2:
        st_relaxed_u16(at, bits)
    else:
        st_relaxed_u8(at, bits)


@jitable
def store_release(at, bits, size):
    if size == 8:
        st_release_u64(at, bits)
    elif size == 4:
        st_release_u32(at, bits)
    elif size == 2:
        st_release_u16(at, bits)
    else:
        st_release_u8(at, bits)


@jitable
def read(at, size):
    if size == 8:
        return ld_weak_u64(at)
    if size == 4:
        return ld_weak_u32(at)
    if size == 2:
        return ld_weak_u16(at)
    return ld_weak_u8(at)


@jitable
def write(at, bits, size):
    if size == 8:
        st_weak_u64(at, bits)
    elif size == 4:
        st_weak_u32(at, bits)
    elif size == 2:
        st_weak_u16(at, bits)
    else:
        st_weak_u8(at, bits)
