"""Atomic memory operations from kernels. Each is one-sided, and called by one thread.

``atomic_fetch`` is an acquire. ``atomic_set``, and those without a result, are releases. The others
are both. They are atomic with respect to those of all PEs, of hosts' calls and of other kernels.

The element is the first of the array. All know int32, int64, uint32, uint64, float32, float64 and
float16, but for ``and``, ``or`` and ``xor``, which know the integers. ``compare_swap`` of floating
point compares bits.
"""

# mypy: ignore-errors

from __future__ import annotations

from ._backend import (
    KIND_F16,
    KIND_F32,
    KIND_F64,
    address,
    atom_add_f64,
    atom_add_u32,
    atom_add_u64,
    atom_and_u32,
    atom_and_u64,
    atom_exch_u32,
    atom_exch_u64,
    atom_or_u32,
    atom_or_u64,
    atom_xor_u32,
    atom_xor_u64,
    bits_f32_u32,
    bits_f64_u64,
    bits_u32_f32,
    bits_u64_f64,
    cas_u16,
    cas_u32,
    cas_u64,
    check_atomic,
    check_bitwise,
    cvt_f16_f32,
    cvt_f32_f16,
    decode,
    encode,
    idle,
    integer,
    itemsize,
    jitable,
    kind_of,
    public,
    red_add_f64,
    red_add_u32,
    red_add_u64,
    red_and_u32,
    red_and_u64,
    red_or_u32,
    red_or_u64,
    red_xor_u32,
    red_xor_u64,
)
from ._elements import load_acquire, load_relaxed, store_release
from ._state import (
    ATOMIC_ADD,
    ATOMIC_AND,
    ATOMIC_COMPARE_SWAP,
    ATOMIC_FETCH,
    ATOMIC_FETCH_ADD,
    ATOMIC_FETCH_AND,
    ATOMIC_FETCH_INC,
    ATOMIC_FETCH_OR,
    ATOMIC_FETCH_XOR,
    ATOMIC_INC,
    ATOMIC_OR,
    ATOMIC_SET,
    ATOMIC_SWAP,
    ATOMIC_XOR,
    on,
)

__all__ = [
    "atomic_add",
    "atomic_and",
    "atomic_compare_swap",
    "atomic_fetch",
    "atomic_fetch_add",
    "atomic_fetch_and",
    "atomic_fetch_inc",
    "atomic_fetch_or",
    "atomic_fetch_xor",
    "atomic_inc",
    "atomic_or",
    "atomic_set",
    "atomic_swap",
    "atomic_xor",
]


@jitable
def _compare_swap(at, cond, bits, size):
    if size == 8:
        return cas_u64(at, cond, bits)
    if size == 4:
        return cas_u32(at, cond, bits)
    return cas_u16(at, cond, bits)


@jitable
def _swap(at, bits, size):
    if size == 8:
        return atom_exch_u64(at, bits)
    if size == 4:
        return atom_exch_u32(at, bits)
    # There is no exchange of 16 bits.
    old = load_relaxed(at, 2)
    while True:
        seen = cas_u16(at, old, bits)
        if seen == old:
            return old
        old = seen


@jitable
def _sum(old, bits, kind):
    """The sum of two numbers of single or half precision, as bits."""
    if kind == KIND_F32:
        return bits_u32_f32(bits_f32_u32(old) + bits_f32_u32(bits))
    return cvt_f16_f32(cvt_f32_f16(old) + cvt_f32_f16(bits))


@jitable
def _fetch_add(at, bits, size, kind):
    if kind == KIND_F64:
        return bits_u64_f64(atom_add_f64(at, bits_f64_u64(bits)))
    if kind == KIND_F32 or kind == KIND_F16:
        # The hardware's addition of single precision makes subnormal numbers 0.
        old = load_relaxed(at, size)
        while True:
            seen = _compare_swap(at, old, _sum(old, bits, kind), size)
            if seen == old:
                return old
            old = seen
            idle()
    if size == 8:
        return atom_add_u64(at, bits)
    return atom_add_u32(at, bits)


@jitable
def _add(at, bits, size, kind):
    if kind == KIND_F64:
        red_add_f64(at, bits_f64_u64(bits))
    elif kind == KIND_F32 or kind == KIND_F16:
        _fetch_add(at, bits, size, kind)
    elif size == 8:
        red_add_u64(at, bits)
    else:
        red_add_u32(at, bits)


@public
def atomic_fetch(x, pe):
    """The element of `x` on PE `pe`."""
    check_atomic(x)
    size = itemsize(x)
    return decode(x, load_acquire(on(ATOMIC_FETCH, integer(pe), address(x), size, size), size))


@public
def atomic_set(dst, value, pe):
    """Sets the element of `dst` on PE `pe`."""
    check_atomic(dst)
    size = itemsize(dst)
    at = on(ATOMIC_SET, integer(pe), address(dst), size, size)
    store_release(at, encode(dst, value), size)


@public
def atomic_swap(dst, value, pe):
    """Sets the element of `dst` on PE `pe`, and returns what it was."""
    check_atomic(dst)
    size = itemsize(dst)
    at = on(ATOMIC_SWAP, integer(pe), address(dst), size, size)
    return decode(dst, _swap(at, encode(dst, value), size))


@public
def atomic_compare_swap(dst, cond, value, pe):
    """Sets the element of `dst` on PE `pe` if it is `cond`, and returns what it was."""
    check_atomic(dst)
    size = itemsize(dst)
    at = on(ATOMIC_COMPARE_SWAP, integer(pe), address(dst), size, size)
    return decode(dst, _compare_swap(at, encode(dst, cond), encode(dst, value), size))


@public
def atomic_add(dst, value, pe):
    """Adds to the element of `dst` on PE `pe`."""
    check_atomic(dst)
    size = itemsize(dst)
    at = on(ATOMIC_ADD, integer(pe), address(dst), size, size)
    _add(at, encode(dst, value), size, kind_of(dst))


@public
def atomic_fetch_add(dst, value, pe):
    """Adds to the element of `dst` on PE `pe`, and returns what it was."""
    check_atomic(dst)
    size = itemsize(dst)
    at = on(ATOMIC_FETCH_ADD, integer(pe), address(dst), size, size)
    return decode(dst, _fetch_add(at, encode(dst, value), size, kind_of(dst)))


@public
def atomic_inc(x, pe):
    """Adds 1 to the element of `x` on PE `pe`."""
    check_atomic(x)
    size = itemsize(x)
    _add(on(ATOMIC_INC, integer(pe), address(x), size, size), encode(x, 1), size, kind_of(x))


@public
def atomic_fetch_inc(x, pe):
    """Adds 1 to the element of `x` on PE `pe`, and returns what it was."""
    check_atomic(x)
    size = itemsize(x)
    at = on(ATOMIC_FETCH_INC, integer(pe), address(x), size, size)
    return decode(x, _fetch_add(at, encode(x, 1), size, kind_of(x)))


@public
def atomic_and(dst, value, pe):
    """The bits that are also in `value` stay in the element of `dst` on PE `pe`."""
    check_bitwise(dst)
    size = itemsize(dst)
    at = on(ATOMIC_AND, integer(pe), address(dst), size, size)
    if size == 8:
        red_and_u64(at, encode(dst, value))
    else:
        red_and_u32(at, encode(dst, value))


@public
def atomic_fetch_and(dst, value, pe):
    """As ``atomic_and``, and returns what the element was."""
    check_bitwise(dst)
    size = itemsize(dst)
    at = on(ATOMIC_FETCH_AND, integer(pe), address(dst), size, size)
    if size == 8:
        return decode(dst, atom_and_u64(at, encode(dst, value)))
    return decode(dst, atom_and_u32(at, encode(dst, value)))


@public
def atomic_or(dst, value, pe):
    """Sets the bits of `value` in the element of `dst` on PE `pe`."""
    check_bitwise(dst)
    size = itemsize(dst)
    at = on(ATOMIC_OR, integer(pe), address(dst), size, size)
    if size == 8:
        red_or_u64(at, encode(dst, value))
    else:
        red_or_u32(at, encode(dst, value))


@public
def atomic_fetch_or(dst, value, pe):
    """As ``atomic_or``, and returns what the element was."""
    check_bitwise(dst)
    size = itemsize(dst)
    at = on(ATOMIC_FETCH_OR, integer(pe), address(dst), size, size)
    if size == 8:
        return decode(dst, atom_or_u64(at, encode(dst, value)))
    return decode(dst, atom_or_u32(at, encode(dst, value)))


@public
def atomic_xor(dst, value, pe):
    """Inverts the bits of `value` in the element of `dst` on PE `pe`."""
    check_bitwise(dst)
    size = itemsize(dst)
    at = on(ATOMIC_XOR, integer(pe), address(dst), size, size)
    if size == 8:
        red_xor_u64(at, encode(dst, value))
    else:
        red_xor_u32(at, encode(dst, value))


@public
def atomic_fetch_xor(dst, value, pe):
    """As ``atomic_xor``, and returns what the element was."""
    check_bitwise(dst)
    size = itemsize(dst)
    at = on(ATOMIC_FETCH_XOR, integer(pe), address(dst), size, size)
    if size == 8:
        return decode(dst, atom_xor_u64(at, encode(dst, value)))
    return decode(dst, atom_xor_u32(at, encode(dst, value)))
