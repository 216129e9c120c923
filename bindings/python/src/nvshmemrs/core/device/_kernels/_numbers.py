"""Numbers as reductions fold them: half and bfloat16 in single precision, rounded once at the end.
Local to this package. The bits of the results are those of the host's reductions.
"""

# mypy: ignore-errors

from __future__ import annotations

from .._dtypes import INTEGERS
from ._backend import (
    bits_f32_u32,
    bits_f64_u64,
    bits_u32_f32,
    bits_u64_f64,
    by_kind,
    cvt_f16_f32,
    cvt_f32_f16,
    jitable,
    signed,
    unsigned,
)


def _f16(like, bits):
    # A NaN keeps its payload and becomes quiet.
    if (bits & 0x7FFF) > 0x7C00:
        return bits_f32_u32((bits & 0x8000) << 16 | 0x7FC00000 | (bits & 0x3FF) << 13)
    return cvt_f32_f16(bits)


def _bf16(like, bits):
    word = bits << 16
    if (word & 0x7FFFFFFF) > 0x7F800000:
        word |= 0x400000
    return bits_f32_u32(word)


widen = by_kind(
    "a reduction",
    {
        "int8": lambda like, bits: (bits ^ 0x80) - 0x80,
        "int16": lambda like, bits: (bits ^ 0x8000) - 0x8000,
        "int32": lambda like, bits: (bits ^ 0x80000000) - 0x80000000,
        "int64": lambda like, bits: signed(bits),
        **dict.fromkeys(("uint8", "uint16", "uint32"), lambda like, bits: bits),
        "uint64": lambda like, bits: unsigned(bits),
        "float16": _f16,
        "bfloat16": _bf16,
        "float32": lambda like, bits: bits_f32_u32(bits),
        "float64": lambda like, bits: bits_f64_u64(bits),
    },
)
"""widen(like, bits): the number that is folded, for bits of an element of the array `like`."""


def _to_f16(like, value):
    word = bits_u32_f32(value)
    if (word & 0x7FFFFFFF) > 0x7F800000:
        return (word >> 16 & 0x8000) | 0x7E00 | (word >> 13 & 0x3FF)
    return cvt_f16_f32(value)


def _to_bf16(like, value):
    word = bits_u32_f32(value)
    if (word & 0x7FFFFFFF) > 0x7F800000:
        return word >> 16 | 0x40
    # To the nearest, of two the even one.
    return (word + 0x7FFF + (word >> 16 & 1)) >> 16


narrow = by_kind(
    "a reduction",
    {
        **dict.fromkeys(INTEGERS, lambda like, value: signed(value)),
        "float16": _to_f16,
        "bfloat16": _to_bf16,
        "float32": lambda like, value: bits_u32_f32(value),
        "float64": lambda like, value: bits_u64_f64(value),
    },
)
"""narrow(like, value): the bits of an element of the array `like`, above them anything."""


@jitable
def _min(a, b):
    # The first NaN stays. numba-cuda-mlir 0.6 compiles `b != b` as false of a NaN.
    return b if (b < a or not b == b) and a == a else a


@jitable
def _max(a, b):
    return b if (b > a or not b == b) and a == a else a


FOLDS = {
    "sum": jitable(lambda a, b: a + b),
    "prod": jitable(lambda a, b: a * b),
    "min": _min,
    "max": _max,
    "and": jitable(lambda a, b: a & b),
    "or": jitable(lambda a, b: a | b),
    "xor": jitable(lambda a, b: a ^ b),
}
"""How two numbers are folded, by the name of the operation."""
