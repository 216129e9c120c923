"""The functions of ``_kernels`` for numba-cuda: `TABLE` as inline PTX, and what asks for types."""

# mypy: ignore-errors
# pyright: reportMissingImports=false, reportCallIssue=false

from __future__ import annotations

import functools
from typing import Any, Callable, Dict, cast

from llvmlite import ir
from numba import cuda
from numba.cuda import types
from numba.cuda.core.errors import TypingError
from numba.cuda.extending import intrinsic, overload, register_jitable

from ...nvshmem_types import NotSupportedError
from .._dtypes import BITWISE, FLOATING, INTEGERS, KINDS, WAITED
from ..primitives import TABLE, Primitive

SYMBOL = "nvshmemrs_device_state"
"""The 64 bytes of the state in memory of a kernel's module, which `_launch` fills in."""

jitable = register_jitable

_I64 = ir.IntType(64)
_REGISTERS = {
    "u8": ir.IntType(32),
    "u16": ir.IntType(16),
    "u32": ir.IntType(32),
    "u64": _I64,
    "f32": ir.FloatType(),
    "f64": ir.DoubleType(),
}
_TYPES = {"f32": types.float32, "f64": types.float64}


def public(function: Any, inline: str = "never") -> Any:
    """A function that kernels call; outside of them it raises."""

    @functools.wraps(function)
    def outside(*args: Any, **named: Any) -> Any:
        raise NotSupportedError(f"{function.__name__} is for kernels: call it in one")

    overload(outside, strict=False, inline=inline)(lambda *args, **named: function)
    return outside


def inlined(function: Any) -> Any:
    """One that returns an array, which Numba accepts only of what becomes part of the kernel."""
    return public(function, "always")


# --- the table ------------------------------------------------------------------------------------


def _emit(row: Primitive) -> Any:
    """A row as a function of Numba's. Integers are int64 in Numba, whatever their size."""
    operands = [_REGISTERS[kind] for kind in row.arguments]
    result = ir.VoidType() if row.result is None else _REGISTERS[row.result]
    signature = (types.void if row.result is None else _TYPES.get(row.result, types.int64))(
        *(_TYPES.get(kind, types.int64) for kind in row.arguments)
    )

    def lower(context: Any, builder: Any, given: Any, args: Any) -> Any:
        values = [
            builder.trunc(value, operand) if value.type != operand else value
            for value, operand in zip(args, operands)
        ]
        kind = ir.FunctionType(result, operands)
        asm = ir.InlineAsm(kind, row.ptx, row.constraints, side_effect=row.memory)
        found = builder.call(asm, values)
        if row.result is None:
            return context.get_dummy_value()
        return builder.zext(found, _I64) if result in (ir.IntType(16), ir.IntType(32)) else found

    def none(typingctx: Any) -> Any:
        return signature, lower

    def one(typingctx: Any, a: Any) -> Any:
        return signature, lower

    def two(typingctx: Any, a: Any, b: Any) -> Any:
        return signature, lower

    def three(typingctx: Any, a: Any, b: Any, c: Any) -> Any:
        return signature, lower

    function: Any = (none, one, two, three)[len(row.arguments)]
    function.__name__ = function.__qualname__ = row.name
    return intrinsic(function)


globals().update((name, _emit(row)) for name, row in TABLE.items())


# --- arrays and their elements --------------------------------------------------------------------


def _element(like: Any) -> Any:
    """The type of the elements of an array or of what a pointer points to."""
    if isinstance(like, types.Array):
        if like.layout == "A":
            raise TypingError(
                "the array may have gaps: pass one that is contiguous, or call iput or iget"
            )
        return like.dtype
    if isinstance(like, types.CPointer):
        return like.dtype
    raise TypingError(f"an array is needed, not {like}")


def _name(like: Any) -> str:
    dtype = _element(like)
    return "bfloat16" if dtype == types.bfloat16 else str(dtype)


def _expect(like: Any, known: Any, what: str) -> None:
    if _name(like) not in known:
        raise TypingError(f"{what} knows elements of {', '.join(known)}, not of {_name(like)}")


def _constant(value: int) -> Any:
    return lambda context, builder, signature, args: ir.Constant(_I64, value)


def _nothing(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return context.get_dummy_value()


def _bytes(dtype: Any) -> int:
    if dtype in (types.bfloat16, types.float16):
        return 2
    if isinstance(dtype, types.Boolean):
        return 1
    bits = getattr(dtype, "bitwidth", None)
    if bits is None:
        raise TypingError(f"elements of type {dtype} are not supported")
    return int(bits) // 8


@intrinsic
def itemsize(typingctx: Any, like: Any) -> Any:
    return types.int64(like), _constant(_bytes(_element(like)))


@intrinsic
def kind_of(typingctx: Any, like: Any) -> Any:
    return types.int64(like), _constant(KINDS.get(_name(like), 0))


@intrinsic
def address(typingctx: Any, like: Any) -> Any:
    def of_array(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, args[0])
        return builder.ptrtoint(array.data, _I64)

    def of_pointer(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ptrtoint(args[0], _I64)

    if isinstance(like, types.CPointer):
        return types.int64(like), of_pointer
    if isinstance(like, (types.NoneType, types.Omitted)):
        return types.int64(like), _constant(0)
    if isinstance(like, types.Array):
        return types.int64(like), of_array
    raise TypingError(f"an array is needed, not {like}")


@intrinsic
def count(typingctx: Any, like: Any) -> Any:
    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return context.make_array(signature.args[0])(context, builder, args[0]).nitems

    _element(like)
    return types.int64(like), lower


@intrinsic
def room(typingctx: Any, like: Any) -> Any:
    """How many elements there are: 0 of None, and no limit of a pointer."""

    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return context.make_array(signature.args[0])(context, builder, args[0]).nitems

    if isinstance(like, (types.NoneType, types.Omitted)):
        return types.int64(like), _constant(0)
    _element(like)
    pointer = isinstance(like, types.CPointer)
    return types.int64(like), _constant(2**62) if pointer else lower


@intrinsic
def contiguous_bytes(typingctx: Any, like: Any) -> Any:
    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, args[0])
        return builder.mul(array.nitems, array.itemsize)

    if not isinstance(like, types.Array):
        raise TypingError(f"an array is needed, not {like}")
    return types.int64(like), _constant(1) if like.layout == "A" else lower


@intrinsic
def moved(typingctx: Any, like: Any, at: Any) -> Any:
    """The array at another address."""

    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, args[0])
        array.data = builder.inttoptr(args[1], array.data.type)
        return array._getvalue()

    return like(like, types.int64), lower


def _half(builder: Any, value: Any, to: str) -> Any:
    asm = ir.InlineAsm(
        ir.FunctionType(ir.IntType(16), [ir.FloatType()]), f"cvt.rn.{to}.f32 $0, $1;", "=h,f"
    )
    return builder.call(asm, [value])


@intrinsic
def encode(typingctx: Any, like: Any, value: Any) -> Any:
    """The bits of a number as an element of the array; of another array its first element."""
    dtype = _element(like)
    scalar = value.dtype if isinstance(value, (types.Array, types.IntEnumMember)) else value
    if not isinstance(scalar, (types.Number, types.Boolean)) or isinstance(scalar, types.Complex):
        raise TypingError(f"a number is needed, not {value}")
    if not isinstance(dtype, (types.Integer, types.Float, types.Boolean, type(types.bfloat16))):
        raise TypingError(f"elements of type {dtype} cannot be accessed at once")

    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind, given = signature.args[1], args[1]
        if isinstance(kind, types.Array):
            array = context.make_array(kind)(context, builder, given)
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

    return types.int64(like, value), lower


@intrinsic
def decode(typingctx: Any, like: Any, bits: Any) -> Any:
    """The number that the bits of an element are."""
    dtype = _element(like)

    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if isinstance(dtype, types.Boolean):
            return builder.trunc(args[1], ir.IntType(1))
        width = _bytes(dtype) * 8
        number = args[1] if width == 64 else builder.trunc(args[1], ir.IntType(width))
        if isinstance(dtype, types.Float) and dtype != types.float16:
            number = builder.bitcast(number, context.get_value_type(dtype))
        return number

    return dtype(like, types.int64), lower


@intrinsic
def check_pair(typingctx: Any, dst: Any, src: Any) -> Any:
    if _element(dst) != _element(src):
        raise TypingError(f"dst has elements of {_name(dst)}, and src of {_name(src)}")
    return types.void(dst, src), _nothing


@intrinsic
def check_signal(typingctx: Any, like: Any) -> Any:
    _expect(like, ("uint64", "int64"), "a signal")
    return types.void(like), _nothing


@intrinsic
def check_word(typingctx: Any, like: Any) -> Any:
    if _bytes(_element(like)) > 8:
        raise TypingError(f"elements of {_name(like)} are too long to be accessed at once")
    return types.void(like), _nothing


@intrinsic
def check_atomic(typingctx: Any, like: Any) -> Any:
    _expect(like, (*BITWISE, *FLOATING), "an atomic operation")
    return types.void(like), _nothing


@intrinsic
def check_bitwise(typingctx: Any, like: Any) -> Any:
    _expect(like, BITWISE, "this atomic operation")
    return types.void(like), _nothing


@intrinsic
def check_wait(typingctx: Any, like: Any) -> Any:
    _expect(like, WAITED, "a wait or a test")
    return types.void(like), _nothing


@intrinsic
def check_values(typingctx: Any, ivars: Any, values: Any) -> Any:
    if _element(ivars) != _element(values):
        raise TypingError(f"values has elements of {_name(values)}, and not of {_name(ivars)}")
    return types.void(ivars, values), _nothing


@intrinsic
def check_indices(typingctx: Any, like: Any) -> Any:
    _expect(like, INTEGERS, "an array of indices")
    return types.void(like), _nothing


@intrinsic
def flag_bytes(typingctx: Any, like: Any) -> Any:
    """The bytes of an element of a `status`; 0 of None."""
    if isinstance(like, (types.NoneType, types.Omitted)):
        return types.int64(like), _constant(0)
    _expect(like, ("bool", *INTEGERS), "a status")
    return types.int64(like), _constant(_bytes(_element(like)))


def named(dtype: str) -> Any:
    """A function that takes an array or a pointer of one type of elements only."""

    @intrinsic
    def check_named(typingctx: Any, like: Any) -> Any:
        _expect(like, (dtype,), "this function")
        return types.void(like), _nothing

    return check_named


@intrinsic
def no_multicast(typingctx: Any, like: Any) -> Any:
    raise TypingError("get_multicast_array is not supported: multicast memory is not offered")


def by_kind(what: str, table: Dict[str, Callable[[Any, Any], Any]]) -> Any:
    """A function of an array and a value, another one for each type of elements."""
    made = {name: jitable(function) for name, function in table.items()}

    def choose(like: Any, value: Any) -> Any:
        raise NotSupportedError(f"{what} is for kernels")

    @overload(choose, strict=False)
    def chosen(like: Any, value: Any) -> Any:
        _expect(like, table, what)
        body = made[_name(like)]
        return lambda like, value: body(like, value)

    return choose


def by_op(name: str, doc: str, table: Dict[str, Callable[[], Any]]) -> Any:
    """A function for kernels whose argument `op` is the name of an operation."""

    def function(team: Any, dst_array: Any, src_array: Any, op: Any, slot: Any = 0) -> Any:
        raise NotSupportedError(f"{name} is for kernels: call it in one")

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc

    @overload(function, strict=False, prefer_literal=True)
    def chosen(team: Any, dst_array: Any, src_array: Any, op: Any, slot: Any = 0) -> Any:
        if not isinstance(op, types.StringLiteral):
            raise TypingError(f"op must be a literal, such as {name}(.., 'sum'), not {op}")
        if op.literal_value not in table:
            raise TypingError(f"op={op.literal_value!r}: it is one of {', '.join(table)}")
        if op.literal_value in ("and", "or", "xor"):
            _expect(dst_array, INTEGERS, op.literal_value)
        body = table[op.literal_value]()
        return lambda team, dst_array, src_array, op, slot=0: body(team, dst_array, src_array, slot)

    return function


# --- numbers, threads, state ----------------------------------------------------------------------


@intrinsic
def integer(typingctx: Any, value: Any) -> Any:
    if not isinstance(value, (types.Integer, types.Boolean, types.IntEnumMember)):
        raise TypingError(f"an integer is needed, not {value}")

    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = types.unliteral(getattr(signature.args[0], "dtype", signature.args[0]))
        return context.cast(builder, args[0], kind, types.int64)

    return types.int64(value), lower


@intrinsic
def unsigned(typingctx: Any, value: Any) -> Any:
    return types.uint64(types.int64), lambda context, builder, signature, args: args[0]


@intrinsic
def signed(typingctx: Any, value: Any) -> Any:
    kind = types.uint64 if value == types.uint64 else types.int64
    return types.int64(kind), lambda context, builder, signature, args: args[0]


@jitable
def smallest(a, b):
    return a if a < b else b


@intrinsic
def apart(typingctx: Any) -> Any:
    """Keeps the calling function one of its own, which compiles faster than many copies of it."""

    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.function.attributes.add("noinline")
        return context.get_dummy_value()

    return types.void(), lower


@jitable
def idle():
    pass


@intrinsic
def state(typingctx: Any, word: Any) -> Any:
    """A word of eight bytes of the state, which lies in memory of the kernel's module. The driver
    finds no weak symbols by name, but common ones. It changes between launches only, so compilers
    may load it once.
    """

    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
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

    return types.int64(types.int64), lower


@jitable
def block_thread():
    at, block = cuda.threadIdx, cuda.blockDim
    return integer(at.x + block.x * (at.y + block.y * at.z))


@jitable
def block_threads():
    return integer(cuda.blockDim.x * cuda.blockDim.y * cuda.blockDim.z)


@jitable
def grid_block():
    at, grid = cuda.blockIdx, cuda.gridDim
    return integer(at.x + grid.x * (at.y + grid.y * at.z))


@jitable
def sync_block():
    cuda.syncthreads()


@jitable
def sync_warp():
    cuda.syncwarp()


@jitable
def vote_block(vote):
    return cuda.syncthreads_or(1 if vote else 0) != 0


@jitable
def vote_warp(vote):
    return cuda.any_sync(0xFFFFFFFF, vote)
