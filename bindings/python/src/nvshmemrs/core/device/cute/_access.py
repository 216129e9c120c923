"""The rows of :mod:`..primitives` as functions of kernels, on CuTe's numbers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Callable

from ..primitives import TABLE, Primitive
from ._frontend import arith, cute, cutlass, dsl, llvm

_REGISTERS = {
    "u8": cutlass.Uint32,
    "u16": cutlass.Uint16,
    "u32": cutlass.Uint32,
    "u64": cutlass.Uint64,
    "f32": cutlass.Float32,
    "f64": cutlass.Float64,
}
"""The kernel type of each type in the table; bytes are in registers of 32 bits."""


def _function(row: Primitive) -> Callable[..., Any]:
    takes = [_REGISTERS[argument] for argument in row.arguments]
    gives = None if row.result is None else _REGISTERS[row.result]

    @dsl.operation
    def call(*arguments: Any, loc: Any = None, ip: Any = None) -> Any:
        values = [
            kind(argument).ir_value(loc=loc, ip=ip) for kind, argument in zip(takes, arguments)
        ]
        found = llvm.inline_asm(
            None if gives is None else gives.mlir_type,
            values,
            row.ptx,
            row.constraints,
            has_side_effects=row.memory,
            loc=loc,
            ip=ip,
        )
        return None if gives is None else gives(found)

    call.__name__ = row.name
    return call


access = SimpleNamespace(**{name: _function(row) for name, row in TABLE.items()})
"""The functions, by the names of their rows."""


def _copies_units(size: int) -> Callable[..., Any]:
    """(dest, source, step, unit, left): up to four units of `unit` bytes, from `size` to 8, which
    lie `step` bytes apart. Those are copied that begin within `left` bytes. All are loaded before
    the first is stored.

    It is one operation, because kernels are full of copies: compilers would make a loop for each
    size of a unit.
    """
    ptx = "{ .reg .pred p<4>, q<9>; .reg .b64 o<4>, f<4>, t<4>, v<4>; "
    ptx += "mov.b64 f0, $1; mov.b64 t0, $0; mov.b64 o0, 0; setp.gt.u64 p0, $4, o0; "
    for k in (1, 2, 3):
        ptx += f"add.u64 o{k}, o{k - 1}, $2; setp.gt.u64 p{k}, $4, o{k}; "
        ptx += f"add.u64 f{k}, f{k - 1}, $2; add.u64 t{k}, t{k - 1}, $2; "
    units = [unit for unit in (8, 4, 2, 1) if unit >= size]
    for unit in units:
        kind = f"u{8 * unit}"
        if unit != units[-1]:
            ptx += f"setp.ne.u64 q{unit}, $3, {unit}; @q{unit} bra NOT_{unit}; "
        ptx += "".join(f"@p{k} ld.global.{kind} v{k}, [f{k}]; " for k in range(4))
        ptx += "".join(f"@p{k} st.global.{kind} [t{k}], v{k}; " for k in range(4))
        if unit != units[-1]:
            ptx += f"bra DONE; NOT_{unit}: "
    ptx += "DONE: }"
    return _function(Primitive(f"copy_units_{size}", None, ("u64",) * 5, ptx))


copy_units = {size: _copies_units(size) for size in (1, 2, 4, 8)}
"""By the elements' size in bytes."""


@dsl.operation
def block_or(vote: Any, *, loc: Any = None, ip: Any = None) -> Any:
    """A meeting of the block's threads, which returns 1 if any of them gave another number than 0."""
    found = llvm.inline_asm(
        cutlass.Uint32.mlir_type,
        [cutlass.Uint32(vote).ir_value(loc=loc, ip=ip)],
        "{ .reg .pred one, any; setp.ne.u32 one, $1, 0; "
        "barrier.cta.red.or.pred any, 0, one; selp.u32 $0, 1, 0, any; }",
        "=r,r,~{memory}",
        has_side_effects=True,
        loc=loc,
        ip=ip,
    )
    return cutlass.Uint32(found)


@dsl.operation
def bits(kind: Any, value: Any, *, loc: Any = None, ip: Any = None) -> Any:
    """The same bits as a number of another type of the same size."""
    given = value.ir_value(loc=loc, ip=ip)
    if given.type == kind.mlir_type:
        return kind(given)
    # LLVM has no numbers of 8 bits but integers.
    cast = arith.bitcast if kind.width == 8 else llvm.bitcast
    return kind(cast(kind.mlir_type, given, loc=loc, ip=ip))


def word_of(kind: Any) -> Any:
    """The unsigned type of a type's size."""
    words = {8: cutlass.Uint8, 16: cutlass.Uint16, 32: cutlass.Uint32, 64: cutlass.Uint64}
    return words[kind.width]


def load(order: str, kind: Any, address: Any) -> Any:
    """One element, loaded at once: "weak", "relaxed" or "acquire"."""
    word = getattr(access, f"ld_{order}_u{kind.width}")(address)
    return bits(kind, word_of(kind)(word))


def store(order: str, kind: Any, address: Any, value: Any) -> None:
    """One element, stored at once: "weak", "relaxed" or "release"."""
    word = bits(word_of(kind), kind(value))
    getattr(access, f"st_{order}_u{kind.width}")(address, word)


def address_of(tensor: Any) -> Any:
    """Where a tensor's first element is."""
    return cutlass.Uint64(tensor.iterator.toint())


def pointer(kind: Any, address: Any, alignment: int) -> Any:
    """A pointer to global memory."""
    return cute.make_ptr(kind, address, cute.AddressSpace.gmem, assumed_align=alignment)
