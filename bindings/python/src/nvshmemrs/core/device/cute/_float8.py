"""Numbers of 8 bits as reductions fold them: in single precision, rounded once at the end to the
nearest, of two to the even one, and saturated. The lines are those of ``core/crates/vocabulary/src/float8.rs``, in
integers, so the bits are the same on every GPU. Vectors of them are vectors of their codes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ._frontend import arith, cutlass, llvm


class _Format(NamedTuple):
    mantissa: int
    bias: int
    largest: int
    infinity: int
    """0 if there is none."""


_FORMATS = {
    cutlass.Float8E4M3FN: _Format(3, 7, 0x7E, 0),
    cutlass.Float8E5M2: _Format(2, 15, 0x7B, 0x7C),
}


def _below(a: Any, b: Any) -> Any:
    return arith.cmpi(arith.CmpIPredicate.ult, a, b)


def widen(kind: Any, lanes: Any, codes: Any) -> Any:
    """Codes as numbers of single precision."""
    of, i32 = _FORMATS[kind], cutlass.Int32.mlir_type
    words, single = lanes.type(i32), lanes.type(cutlass.Float32.mlir_type)

    def number(value: int) -> Any:
        return lanes.splat(i32, value)

    code = arith.extui(words, codes)
    magnitude = arith.andi(code, number(0x7F))
    scaled = arith.shli(magnitude, number(23 - of.mantissa))
    normal = arith.addi(scaled, number((127 - of.bias) << 23))
    # A multiple of the smallest subnormal number.
    unit = llvm.bitcast(single, number((128 - of.bias - of.mantissa) << 23))
    small = llvm.bitcast(words, arith.mulf(arith.uitofp(single, magnitude), unit))
    word = arith.select(_below(magnitude, number(1 << of.mantissa)), small, normal)
    if of.infinity:
        infinite = arith.cmpi(arith.CmpIPredicate.eq, magnitude, number(of.infinity))
        word = arith.select(infinite, number(0x7F800000), word)
    nan = _below(number(of.infinity or of.largest), magnitude)
    word = arith.select(nan, number(0x7FC00000), word)
    sign = arith.shli(arith.andi(code, number(0x80)), number(24))
    return llvm.bitcast(single, arith.ori(word, sign))


def narrow(kind: Any, lanes: Any, vector: Any) -> Any:
    """The codes of the nearest numbers."""
    of, i32 = _FORMATS[kind], cutlass.Int32.mlir_type

    def number(value: int) -> Any:
        return lanes.splat(i32, value)

    word = llvm.bitcast(lanes.type(i32), vector)
    magnitude = arith.andi(word, number(0x7FFFFFFF))
    exponent = arith.shrui(magnitude, number(23))
    least, normal = 23 - of.mantissa, 128 - of.bias
    small = _below(exponent, number(normal))
    # Subnormal: the leading bit stands among the digits. From 25 on all of them are less than half
    # of the last place.
    far = arith.subi(number(least + normal), exponent)
    shift = arith.select(small, arith.minui(far, number(25)), number(least))
    leading = arith.ori(arith.andi(magnitude, number(0x7FFFFF)), number(0x800000))
    digits = arith.subi(magnitude, number((normal - 1) << 23))
    digits = arith.select(small, leading, digits)
    half = arith.shli(number(1), arith.subi(shift, number(1)))
    odd = arith.andi(arith.shrui(digits, shift), number(1))
    near = arith.addi(arith.subi(arith.addi(digits, half), number(1)), odd)
    rounded = arith.minui(arith.shrui(near, shift), number(of.largest))
    sign = arith.andi(arith.shrui(word, number(24)), number(0x80))
    nan = _below(number(0x7F800000), magnitude)
    code = arith.select(nan, number(0x7F), arith.ori(rounded, sign))
    return arith.trunci(lanes.type(cutlass.Int8.mlir_type), code)
