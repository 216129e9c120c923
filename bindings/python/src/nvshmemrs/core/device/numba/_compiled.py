"""The primitives of ``_kernels`` for numba-cuda: `TABLE` as inline PTX, and queries of types."""

# mypy: ignore-errors
# pyright: reportMissingImports=false, reportCallIssue=false

from __future__ import annotations

import os
from typing import Any, cast

from llvmlite import ir
from numba import cuda
from numba.cuda import types
from numba.cuda.core import ir as numba_ir
from numba.cuda.core import rewrites
from numba.cuda.core.errors import TypingError
from numba.cuda.core.targetconfig import ConfigStack
from numba.cuda.descriptor import cuda_target
from numba.cuda.extending import intrinsic, overload, register_jitable

from .._frontend import job_is_checked
from .._symbol import SYMBOL
from .._typed import Elements, Frontend, arrays, checks, functions, primitives, threads
from ..primitives import TABLE, Primitive

_I64 = ir.IntType(64)
_REGISTERS = {
    "u8": ir.IntType(32),
    "u16": ir.IntType(16),
    "u32": ir.IntType(32),
    "u64": _I64,
    "f32": ir.FloatType(),
    "f64": ir.DoubleType(),
}


def _constant(value: int) -> Any:
    return lambda context, builder, signature, args: ir.Constant(_I64, value)


def _nothing(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return context.get_dummy_value()


jitable = register_jitable
_frontend = Frontend(
    cuda,
    types,
    TypingError,
    intrinsic,
    overload,
    register_jitable,
    _nothing,
    _constant,
    numba_ir,
    rewrites,
)
_at = Elements(types, TypingError)
globals().update(checks(_frontend))
_functions = functions(_frontend)
globals().update(_functions)


# --- the table ------------------------------------------------------------------------------------


def _capability() -> Any:
    """The compute capability of the code that is compiled."""
    return ConfigStack().top().compute_capability


def _lower(row: Primitive, kinds: Any) -> Any:
    """The code of a row."""
    operands = [_REGISTERS[kind] for kind in row.arguments]
    result = ir.VoidType() if row.result is None else _REGISTERS[row.result]

    def lower(context: Any, builder: Any, given: Any, args: Any) -> Any:
        values = [
            builder.trunc(value, operand) if value.type != operand else value
            for value, operand in zip(args, operands)
        ]
        kind = ir.FunctionType(result, operands)
        # Kernels for lower architectures contain the call, but no thread reaches it.
        ptx = row.ptx if _capability() >= row.least else "trap;"
        asm = ir.InlineAsm(kind, ptx, row.constraints, side_effect=row.memory)
        found = builder.call(asm, values)
        if row.result is None:
            return context.get_dummy_value()
        return builder.zext(found, _I64) if result in (ir.IntType(16), ir.IntType(32)) else found

    return lower


_primitives = primitives(_frontend, _lower)
globals().update(_primitives)


# --- arrays and their elements --------------------------------------------------------------------


def _array(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    return context.make_array(kind)(context, builder, value)


def _address(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    like = signature.args[0]
    is_pointer = isinstance(like, types.CPointer)
    data = args[0] if is_pointer else _array(context, builder, like, args[0]).data
    return builder.ptrtoint(data, _I64)


def _count(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return _array(context, builder, signature.args[0], args[0]).nitems


def _contiguous_bytes(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    array = _array(context, builder, signature.args[0], args[0])
    return builder.mul(array.nitems, array.itemsize)


def _moved(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    array = _array(context, builder, signature.args[0], args[0])
    array.data = builder.inttoptr(args[1], array.data.type)
    return array._getvalue()


def _half(builder: Any, value: Any, to: str) -> Any:
    asm = ir.InlineAsm(
        ir.FunctionType(ir.IntType(16), [ir.FloatType()]), f"cvt.rn.{to}.f32 $0, $1;", "=h,f"
    )
    return builder.call(asm, [value])


def _encode(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    dtype, kind, given = _at.element(signature.args[0]), signature.args[1], args[1]
    if isinstance(kind, types.Array):
        array = _array(context, builder, kind, given)
        kind = kind.dtype
        given = context.unpack_value(builder, kind, array.data)
    elif isinstance(kind, types.IntEnumMember):
        kind = kind.dtype
    kind = types.unliteral(kind)
    if dtype in (types.float16, types.bfloat16):
        if kind != dtype:
            single = context.cast(builder, given, kind, types.float32)
            given = _half(builder, single, "f16" if dtype == types.float16 else "bf16")
        return builder.zext(given, _I64)
    number = context.cast(builder, given, kind, dtype)
    if isinstance(dtype, types.Float):
        number = builder.bitcast(number, ir.IntType(dtype.bitwidth))
    return number if number.type == _I64 else builder.zext(number, _I64)


def _decode(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    dtype = signature.return_type
    if isinstance(dtype, types.Boolean):
        return builder.trunc(args[1], ir.IntType(1))
    width = _at.width(dtype) * 8
    number = args[1] if width == 64 else builder.trunc(args[1], ir.IntType(width))
    if isinstance(dtype, types.Float) and dtype != types.float16:
        number = builder.bitcast(number, context.get_value_type(dtype))
    return number


def refresh_compiler() -> None:
    """Makes functions that were made while a kernel is compiled known to its compiler."""
    cuda_target.typing_context.refresh()


# --- lent shared memory, numbers, state -----------------------------------------------------------


def _bulk_engines(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return ir.Constant(_I64, int(_capability() >= TABLE["bulk_load"].least))


def _word(builder: Any) -> Any:
    """The memory that a thread has lent: a variable of the function that is compiled, so that no other function
    knows it; 0 at first.
    """
    if not hasattr(builder.function, "nvshmemrs_lent"):
        with builder.goto_entry_block():
            word = builder.function.nvshmemrs_lent = builder.alloca(_I64)
            builder.store(ir.Constant(_I64, 0), word)
    return builder.function.nvshmemrs_lent


def _lend(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    builder.store(args[0], _word(builder))
    return context.get_dummy_value()


def _lent(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return builder.load(_word(builder))


def _integer(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    kind = types.unliteral(getattr(signature.args[0], "dtype", signature.args[0]))
    return context.cast(builder, args[0], kind, types.int64)


def _whole(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return args[0]


def _apart(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    builder.function.attributes.add("noinline")
    return context.get_dummy_value()


def _state(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    # The driver finds no weak symbols by name, but common ones.
    module = builder.module
    found = module.globals.get(SYMBOL)
    if found is None:
        found = cast(Any, ir.GlobalVariable(module, ir.ArrayType(_I64, 8), SYMBOL, addrspace=1))
        found.linkage = "common"
        found.align = 64
        found.initializer = ir.Constant(found.value_type, None)
    loaded = builder.load(builder.gep(found, [ir.Constant(_I64, 0), args[0]]))
    loaded.set_metadata("invariant.load", module.add_metadata([]))
    return loaded


_codes = (_address, _count, _contiguous_bytes, _moved, _encode, _decode, _bulk_engines)
_arrays = arrays(_frontend, (*_codes, _lend, _lent, _integer, _whole, _apart, _state))
globals().update(_arrays)
shared_bytes = _arrays["contiguous_bytes"]


_threads = threads(_frontend, _arrays["integer"])
globals().update(_threads)


# --- records for the checker ----------------------------------------------------------------------


block_thread, block_threads, grid_block = (
    _threads[name] for name in ("block_thread", "block_threads", "grid_block")
)
ld_weak_u32, ld_weak_u64, st_weak_u32, st_weak_u64 = (
    _primitives[name] for name in ("ld_weak_u32", "ld_weak_u64", "st_weak_u32", "st_weak_u64")
)
RECORDS = job_is_checked()
"""Whether kernels record their operations, if the job is checked."""

# For each thread the place of its call; a larger grid's threads share entries, and launches of a kernel that run at the same time, too.
# So a record may name the other launch's line.
_PLACES, _ENTRIES = "nvshmemrs_places", 1 << 16
_LINE, _FILE, _TEXT = 20, 72, 64  # in a record


def _text(words: str) -> bytes:
    return words.encode("ascii", "replace")[: _TEXT - 1].ljust(_TEXT, b"\0")


@intrinsic
def place_of(typingctx: Any, number: Any) -> Any:
    """The address of the line, the file and the function of a call, which are in the kernel's module."""
    if not isinstance(number, types.IntegerLiteral):
        raise TypingError("the number of a place is a literal")
    file, line, function = list(_functions["places"])[number.literal_value]
    words = line.to_bytes(8, "little") + _text(os.path.basename(file)) + _text(function)

    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = ir.ArrayType(ir.IntType(8), len(words))
        name = builder.module.get_unique_name("nvshmemrs_place")
        place = cast(Any, ir.GlobalVariable(builder.module, kind, name, addrspace=1))
        place.linkage, place.align, place.global_constant = "internal", 8, True
        place.initializer = ir.Constant(kind, bytearray(words))
        return builder.ptrtoint(place, _I64)

    return types.int64(number), lower


@intrinsic
def _places(typingctx: Any) -> Any:
    """The address of the places of all threads."""

    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        found = builder.module.globals.get(_PLACES)
        if found is None:
            kind = ir.ArrayType(_I64, _ENTRIES)
            found = cast(Any, ir.GlobalVariable(builder.module, kind, _PLACES, addrspace=1))
            found.linkage, found.align = "common", 8
            found.initializer = ir.Constant(kind, None)
        return builder.ptrtoint(found, _I64)

    return types.int64(), lower


@jitable
def _place_of_thread():
    thread = grid_block() * block_threads() + block_thread()
    return _places() + (thread & _ENTRIES - 1) * 8


@jitable
def mark(place):
    """Keeps the place of the call that the thread makes next."""
    st_weak_u64(_place_of_thread(), place)


@jitable
def write_place(record):
    """Writes the place of the thread's call to a record."""
    place, i = ld_weak_u64(_place_of_thread()), 0
    st_weak_u32(record + _LINE, ld_weak_u32(place) if place != 0 else 0)
    while i < 2 * _TEXT:
        st_weak_u64(record + _FILE + i, ld_weak_u64(place + 8 + i) if place != 0 else 0)
        i += 8


if RECORDS:
    _functions["marking"](place_of, mark)
