"""The primitives of ``_kernels`` for numba-cuda-mlir: `TABLE` as inline PTX in MLIR, and queries of
types.
"""

# mypy: ignore-errors
# pyright: reportMissingImports=false, reportCallIssue=false

from __future__ import annotations

import functools
from typing import Any

from numba_cuda_mlir import cuda
from numba_cuda_mlir._mlir import ir
from numba_cuda_mlir._mlir.dialects import arith, builtin, llvm
from numba_cuda_mlir._mlir.extras import types as T
from numba_cuda_mlir.descriptor import mlir_target
from numba_cuda_mlir.extending import intrinsic, overload, typing_registry
from numba_cuda_mlir.lowering_utilities import memref_data_pointer, memref_descriptor_type
from numba_cuda_mlir.numba_cuda import types
from numba_cuda_mlir.numba_cuda.core import ir as numba_ir
from numba_cuda_mlir.numba_cuda.core import rewrites
from numba_cuda_mlir.numba_cuda.core.errors import TypingError

from .._constants import *  # noqa: F403
from .._symbol import SYMBOL
from .._typed import Elements, Frontend, arrays, checks, functions, primitives, threads
from ..primitives import TABLE, Primitive

_REGISTERS = {
    "u8": lambda: T.i32(),
    "u16": lambda: T.i16(),
    "u32": lambda: T.i32(),
    "u64": lambda: T.i64(),
    "f32": lambda: T.f32(),
    "f64": lambda: T.f64(),
}


def _given(builder: Any, var: Any, kind: Any) -> Any:
    """The value of an argument, converted to a type of Numba's."""
    return builder.lower_cast(builder.get_numba_type(var), kind, builder.load_var(var))


def _resized(value: Any, register: Any) -> Any:
    if value.type == register:
        return value
    shorter = register.width < value.type.width
    return arith.trunci(register, value) if shorter else arith.extui(register, value)


def _constant(value: int) -> Any:
    return lambda builder, target, args, kwargs: builder.store_var(
        target, arith.constant(T.i64(), value)
    )


def _nothing(builder: Any, target: Any, args: Any, kwargs: Any) -> None:
    builder.store_var(target, None)


def _whole(builder: Any, target: Any, args: Any, kwargs: Any) -> None:
    """The same bits as an integer of the other signedness: both are i64."""
    builder.store_var(target, _given(builder, args[0], types.int64))


# Not register_jitable, whose functions this compiler compiles anew for each call of each caller.
jitable = cuda.jit(device=True)
_overload = functools.partial(overload, typing_registry=typing_registry)
# Strings cannot be passed to functions that are not inlined.
_frontend = Frontend(
    cuda,
    types,
    TypingError,
    intrinsic,
    _overload,
    jitable,
    _nothing,
    _constant,
    numba_ir,
    rewrites,
    strings="always",
)
_at = Elements(types, TypingError)
globals().update(checks(_frontend))
globals().update(functions(_frontend))


# --- the table ------------------------------------------------------------------------------------


def _capability(builder: Any) -> Any:
    """The compute capability of the code that is compiled."""
    return builder.metadata["gpu_target"]["cc"]


def _lower(row: Primitive, kinds: Any) -> Any:
    """The code of a row."""

    def lower(builder: Any, target: Any, args: Any, kwargs: Any) -> None:
        values = []
        for var, kind, name in zip(args, kinds, row.arguments):
            value, register = _given(builder, var, kind), _REGISTERS[name]()
            values.append(_resized(value, register) if kind == types.int64 else value)
        result = None if row.result is None else _REGISTERS[row.result]()
        # Kernels for lower architectures contain the call, but no thread reaches it.
        ptx = row.ptx if _capability(builder) >= row.least else "trap;"
        found = llvm.inline_asm(result, values, ptx, row.constraints, has_side_effects=row.memory)
        if isinstance(result, ir.IntegerType):
            found = _resized(found, T.i64())
        builder.store_var(target, None if result is None else found)

    return lower


globals().update(primitives(_frontend, _lower))


# --- arrays and their elements --------------------------------------------------------------------


def _pointer(builder: Any, var: Any) -> Any:
    """The address of the first element, as a pointer."""
    value = builder.load_var(var)
    if isinstance(builder.get_numba_type(var), types.CPointer):
        return value
    found = memref_data_pointer(value)
    # Shared memory has a separate address space.
    generic = llvm.PointerType.get()
    return found if found.type == generic else llvm.addrspacecast(generic, found)


def _size(builder: Any, var: Any) -> Any:
    """The number of elements of an array."""
    value = builder.load_var(var)
    rank = ir.MemRefType(value.type).rank
    parts = builtin.unrealized_conversion_cast([memref_descriptor_type(rank)], [value])
    n = arith.constant(T.i64(), 1)
    for k in range(rank):
        n = arith.muli(n, llvm.extractvalue(T.i64(), parts, [3, k]))
    return n


def _address(builder: Any, target: Any, args: Any, kwargs: Any) -> None:
    builder.store_var(target, llvm.ptrtoint(T.i64(), _pointer(builder, args[0])))


def _count(builder: Any, target: Any, args: Any, kwargs: Any) -> None:
    builder.store_var(target, _size(builder, args[0]))


def _bytes(builder: Any, var: Any) -> Any:
    """The bytes of an array."""
    width = _at.width(builder.get_numba_type(var).dtype)
    return arith.muli(_size(builder, var), arith.constant(T.i64(), width))


def _contiguous_bytes(builder: Any, target: Any, args: Any, kwargs: Any) -> None:
    builder.store_var(target, _bytes(builder, args[0]))


def _moved(builder: Any, target: Any, args: Any, kwargs: Any) -> None:
    value = builder.load_var(args[0])
    kind = ir.MemRefType(value.type)
    parts = builtin.unrealized_conversion_cast([memref_descriptor_type(kind.rank)], [value])
    to = llvm.inttoptr(llvm.PointerType.get(), _given(builder, args[1], types.int64))
    zero = arith.constant(T.i64(), 0)
    for place, part in enumerate((to, to, zero)):
        position = ir.DenseI64ArrayAttr.get([place])
        parts = llvm.insertvalue(container=parts, value=part, position=position)
    builder.store_var(target, builtin.unrealized_conversion_cast([kind], [parts]))


def _half(value: Any, to: str) -> Any:
    return llvm.inline_asm(
        T.i16(), [value], f"cvt.rn.{to}.f32 $0, $1;", "=h,f", has_side_effects=False
    )


def _bits(value: Any) -> Any:
    """A number's bits, widened to 64."""
    kind = value.type
    if isinstance(kind, (ir.F16Type, ir.BF16Type, ir.F32Type, ir.F64Type)):
        value = arith.bitcast(ir.IntegerType.get_signless(kind.width), value)
    return _resized(value, T.i64())


def _encode(builder: Any, target: Any, args: Any, kwargs: Any) -> None:
    dtype, kind = (builder.get_numba_type(var) for var in args)
    dtype = _at.element(dtype)
    if isinstance(kind, types.Array):
        kind = kind.dtype
        stored = llvm.load(builder.get_storage_type(kind), _pointer(builder, args[1]))
        given = builder.from_storage(kind, stored)
    else:
        given = builder.load_var(args[1])
        if isinstance(kind, types.IntEnumMember):
            kind = kind.dtype
    kind = types.unliteral(kind)
    halves = {types.float16: "f16", types.bfloat16: "bf16"}
    if dtype in halves and kind != dtype:
        single = builder.lower_cast(kind, types.float32, given)
        builder.store_var(target, _resized(_half(single, halves[dtype]), T.i64()))
    else:
        number = given if kind == dtype else builder.lower_cast(kind, dtype, given)
        builder.store_var(target, _bits(number))


def _decode(builder: Any, target: Any, args: Any, kwargs: Any) -> None:
    dtype = _at.element(builder.get_numba_type(args[0]))
    kind = builder.get_mlir_type(dtype)
    value = _given(builder, args[1], types.int64)
    if isinstance(dtype, types.Boolean):
        value = arith.trunci(T.i1(), value)
    else:
        value = _resized(value, ir.IntegerType.get_signless(_at.width(dtype) * 8))
    builder.store_var(target, value if value.type == kind else arith.bitcast(kind, value))


def refresh_compiler() -> None:
    """Makes functions that were made while a kernel is compiled known to its compiler."""
    mlir_target.typing_context.refresh()


# --- lent shared memory, numbers, state -----------------------------------------------------------


@intrinsic
def shared_bytes(typingctx: Any, like: Any) -> Any:
    """The bytes of an array. An empty array stands for all memory that the launch requested, whose
    size the compiler does not know.
    """

    def lower(builder: Any, target: Any, args: Any, kwargs: Any) -> None:
        size, nbytes = _size(builder, args[0]), _bytes(builder, args[0])
        ptx = "mov.u32 $0, %dynamic_smem_size;"
        whole = _resized(llvm.inline_asm(T.i32(), [], ptx, "=r", has_side_effects=False), T.i64())
        empty = arith.cmpi(arith.CmpIPredicate.eq, size, arith.constant(T.i64(), 0))
        builder.store_var(target, arith.select(empty, whole, nbytes))

    if not isinstance(like, types.Array):
        raise TypingError(f"an array is needed, not {like}")
    return types.int64(like), lower


def _bulk_engines(builder: Any, target: Any, args: Any, kwargs: Any) -> None:
    there = _capability(builder) >= TABLE["bulk_load"].least
    builder.store_var(target, arith.constant(T.i64(), int(there)))


def _word(builder: Any) -> Any:
    """The memory that a thread has lent: a variable of the function that is compiled, so that no other function
    knows it; 0 at first.
    """
    if not hasattr(builder, "nvshmemrs_lent"):
        word = builder.nvshmemrs_lent = builder.alloca(T.i64())
        with builder.alloca_insertion_point():
            llvm.store(arith.constant(T.i64(), 0), word)
    return builder.nvshmemrs_lent


def _lend(builder: Any, target: Any, args: Any, kwargs: Any) -> None:
    llvm.store(_given(builder, args[0], types.int64), _word(builder))
    builder.store_var(target, None)


def _lent(builder: Any, target: Any, args: Any, kwargs: Any) -> None:
    builder.store_var(target, llvm.load(T.i64(), _word(builder)))


def _integer(builder: Any, target: Any, args: Any, kwargs: Any) -> None:
    kind = builder.get_numba_type(args[0])
    kind = types.unliteral(kind.dtype if isinstance(kind, types.IntEnumMember) else kind)
    builder.store_var(target, builder.lower_cast(kind, types.int64, builder.load_var(args[0])))


def _apart(builder: Any, target: Any, args: Any, kwargs: Any) -> None:
    builder.mlir_funcOp.attributes["no_inline"] = ir.UnitAttr.get()
    builder.store_var(target, None)


def _state(builder: Any, target: Any, args: Any, kwargs: Any) -> None:
    block = builder.mlir_gpu_module.bodyRegion.blocks[0]
    if not any(isinstance(op, llvm.GlobalOp) and op.sym_name.value == SYMBOL for op in block):
        with ir.InsertionPoint.at_block_begin(block):
            llvm.GlobalOp(
                ir.Type.parse("!llvm.array<8 x i64>"),
                SYMBOL,
                ir.Attribute.parse("#llvm.linkage<common>"),
                value=ir.Attribute.parse("dense<0> : tensor<8xi64>"),
                addr_space=1,
                alignment=64,
            )
    place = llvm.mlir_addressof(llvm.PointerType.get(1), SYMBOL)
    offset = arith.muli(_given(builder, args[0], types.int64), arith.constant(T.i64(), 8))
    at = llvm.getelementptr(place.type, place, [offset], [-(2**31)], T.i8(), None)
    builder.store_var(target, llvm.load(T.i64(), at, invariant=True))


_codes = (_address, _count, _contiguous_bytes, _moved, _encode, _decode, _bulk_engines)
_arrays = arrays(_frontend, (*_codes, _lend, _lent, _integer, _whole, _apart, _state))
globals().update(_arrays)
globals().update(threads(_frontend, _arrays["integer"]))
