"""Numbers of 8 bits as reductions fold them: in single precision, rounded once at the end to the
nearest, of two to the even one, and saturated. The lines are those of ``core/crates/vocabulary/src/float8.rs``, in
integers, so the bits are the same on every GPU.
"""

# mypy: ignore-errors

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def from_float8(x):
    """In single precision."""
    MANTISSA: tl.constexpr = 3 if x.dtype == tl.float8e4nv else 2
    BIAS: tl.constexpr = 7 if x.dtype == tl.float8e4nv else 15
    LARGEST: tl.constexpr = 0x7E if x.dtype == tl.float8e4nv else 0x7B
    code = x.to(tl.uint8, bitcast=True).to(tl.uint32)
    magnitude = code & 0x7F
    normal = (magnitude << (23 - MANTISSA)) + ((127 - BIAS) << 23)
    # A multiple of the smallest subnormal number.
    small = magnitude.to(tl.float32) * (2.0 ** (1 - BIAS - MANTISSA))
    word = tl.where((magnitude >> MANTISSA) != 0, normal, small.to(tl.uint32, bitcast=True))
    if MANTISSA == 2:
        word = tl.where(magnitude == 0x7C, 0x7F800000, word)
        word = tl.where(magnitude > 0x7C, 0x7FC00000, word)
    else:
        word = tl.where(magnitude > LARGEST, 0x7FC00000, word)
    return (word | ((code & 0x80) << 24)).to(tl.float32, bitcast=True)


@triton.jit
def to_float8(x, TYPE: tl.constexpr):
    """The nearest number of the type."""
    SHIFT: tl.constexpr = 20 if TYPE == tl.float8e4nv else 21
    NORMAL: tl.constexpr = 121 if TYPE == tl.float8e4nv else 113
    LARGEST: tl.constexpr = 0x7E if TYPE == tl.float8e4nv else 0x7B
    word = x.to(tl.uint32, bitcast=True)
    magnitude = word & 0x7FFFFFFF
    exponent = magnitude >> 23
    small = exponent < NORMAL
    # Subnormal: the leading bit stands among the digits. From 25 on all of them are less than half
    # of the last place.
    shift = tl.where(small, tl.minimum(SHIFT + NORMAL - exponent, 25), SHIFT)
    leading = (magnitude & 0x7FFFFF) | 0x800000
    digits = tl.where(small, leading, magnitude - ((NORMAL - 1) << 23))
    one = tl.full((), 1, tl.uint32)
    rounded = (digits + (one << (shift - 1)) - 1 + ((digits >> shift) & 1)) >> shift
    code = ((word >> 24) & 0x80) | tl.minimum(rounded, LARGEST)
    code = tl.where(magnitude > 0x7F800000, 0x7F, code)
    return code.to(tl.uint8).to(TYPE, bitcast=True)
