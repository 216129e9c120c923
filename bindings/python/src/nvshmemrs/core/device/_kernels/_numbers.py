"""Numbers as reductions fold them: half and bfloat16 in single precision, rounded once at the end.
Local to this package. The bits of the results are those of the host's reductions.
"""

# mypy: ignore-errors

from __future__ import annotations

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


def _whole(like, bits):
    return bits


def _i8(like, bits):
    return (bits ^ 0x80) - 0x80


def _i16(like, bits):
    return (bits ^ 0x8000) - 0x8000


def _i32(like, bits):
    return (bits ^ 0x80000000) - 0x80000000


def _i64(like, bits):
    return signed(bits)


def _u64(like, bits):
    return unsigned(bits)


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


def _f32(like, bits):
    return bits_f32_u32(bits)


def _f64(like, bits):
    return bits_f64_u64(bits)


widen = by_kind(
    "a reduction",
    {
        "int8": _i8,
        "int16": _i16,
        "int32": _i32,
        "int64": _i64,
        "uint8": _whole,
        "uint16": _whole,
        "uint32": _whole,
        "uint64": _u64,
        "float16": _f16,
        "bfloat16": _bf16,
        "float32": _f32,
        "float64": _f64,
    },
)
"""widen(like, bits): the number that is folded, for bits of an element of the array `like`."""


def _to_integer(like, value):
    return signed(value)


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


def _to_f32(like, value):
    return bits_u32_f32(value)


def _to_f64(like, value):
    return bits_u64_f64(value)


narrow = by_kind(
    "a reduction",
    {
        **dict.fromkeys(
            ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"), _to_integer
        ),
        "float16": _to_f16,
        "bfloat16": _to_bf16,
        "float32": _to_f32,
        "float64": _to_f64,
    },
)
"""narrow(like, value): the bits of an element of the array `like`, above them anything."""


@jitable
def _sum(a, b):
    return a + b


@jitable
def _prod(a, b):
    return a * b


@jitable
def _min(a, b):
    # The first NaN stays. numba-cuda-mlir 0.6 compiles `b != b` as false of a NaN.
    return b if (b < a or not b == b) and a == a else a


@jitable
def _max(a, b):
    return b if (b > a or not b == b) and a == a else a


@jitable
def _and(a, b):
    return a & b


@jitable
def _or(a, b):
    return a | b


@jitable
def _xor(a, b):
    return a ^ b


FOLDS = {
    "sum": _sum,
    "prod": _prod,
    "min": _min,
    "max": _max,
    "and": _and,
    "or": _or,
    "xor": _xor,
}
"""How two numbers are folded, by the name of the operation."""
