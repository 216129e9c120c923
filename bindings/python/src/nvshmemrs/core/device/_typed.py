"""Shared parts of numba-cuda and numba-cuda-mlir: types of arguments, and functions for kernels.

Both type kernels in the same way and differ in the code that they generate. So a frontend passes
its parts as a `Frontend`, and gets the names of ``_backend`` that need no code of their own.
"""

# mypy: ignore-errors

from __future__ import annotations

import functools
import inspect
from typing import Any, Callable, Dict, Iterable, NamedTuple, Set

from ..nvshmem_types import NotSupportedError, NvshmemInvalid
from ._dtypes import CHECKS, INTEGERS, KINDS
from ._members import Members
from .primitives import TABLE, Primitive


class Frontend(NamedTuple):
    """A compiler with Numba's interfaces."""

    cuda: Any
    types: Any
    error: Any
    """The exception for a type that does not fit."""
    intrinsic: Any
    overload: Any
    jitable: Any
    nothing: Any
    """The code of a function that does nothing."""
    constant: Callable[[int], Any]
    """The code of a function that returns a number."""
    ir: Any
    """The module of functions as they are before their types are known."""
    rewrites: Any
    """The module of the rewrites."""
    strings: str = "never"
    """How functions with a string among their arguments are inlined."""


class Elements:
    """Arrays and pointers by the types of their elements."""

    def __init__(self, types: Any, error: Any) -> None:
        self.types, self.error = types, error

    def element(self, like: Any) -> Any:
        """The element type of an array, or the target type of a pointer."""
        if isinstance(like, self.types.Array):
            if like.layout == "A":
                raise self.error(
                    "the array may have gaps: pass a contiguous one, or call iput or iget"
                )
            return like.dtype
        if isinstance(like, self.types.CPointer):
            return like.dtype
        raise self.error(f"an array is needed, not {like}")

    def name(self, like: Any) -> str:
        """The dtype of the elements."""
        dtype = self.element(like)
        return "bfloat16" if dtype == self.types.bfloat16 else str(dtype)

    def expect(self, like: Any, known: Any, what: str) -> None:
        """Raises a typing error unless the dtype is among `known`."""
        if self.name(like) not in known:
            raise self.error(
                f"{what} knows elements of {', '.join(known)}, not of {self.name(like)}"
            )

    def width(self, dtype: Any) -> int:
        """The bytes of an element of a type."""
        if dtype in (self.types.bfloat16, self.types.float16):
            return 2
        if isinstance(dtype, self.types.Boolean):
            return 1
        bits = getattr(dtype, "bitwidth", None)
        if bits is None:
            raise self.error(f"elements of type {dtype} are not supported")
        return int(bits) // 8

    def absent(self, like: Any) -> bool:
        """Whether an argument is None."""
        return isinstance(like, (self.types.NoneType, self.types.Omitted))


def checks(of: Frontend) -> Dict[str, Any]:
    """The functions that depend on types only, and generate no code."""
    types, error, intrinsic = of.types, of.error, of.intrinsic
    at = Elements(types, error)

    def check(name: str, known: Any, what: str) -> Any:
        def look(typingctx: Any, like: Any) -> Any:
            at.expect(like, known, what)
            return types.void(like), of.nothing

        look.__name__ = look.__qualname__ = name
        return intrinsic(look)

    def number(name: str, value: Callable[[Any], int]) -> Any:
        def look(typingctx: Any, like: Any) -> Any:
            return types.int64(like), of.constant(value(like))

        look.__name__ = look.__qualname__ = name
        return intrinsic(look)

    def flag(like: Any) -> int:
        if at.absent(like):
            return 0
        at.expect(like, ("bool", *INTEGERS), "a status")
        return at.width(at.element(like))

    @intrinsic
    def check_pair(typingctx: Any, dst: Any, src: Any) -> Any:
        if at.element(dst) != at.element(src):
            raise error(f"dst has elements of {at.name(dst)}, and src of {at.name(src)}")
        return types.void(dst, src), of.nothing

    @intrinsic
    def check_values(typingctx: Any, ivars: Any, values: Any) -> Any:
        if at.element(ivars) != at.element(values):
            raise error(f"values has elements of {at.name(values)}, and not of {at.name(ivars)}")
        return types.void(ivars, values), of.nothing

    @intrinsic
    def check_word(typingctx: Any, like: Any) -> Any:
        if at.width(at.element(like)) > 8:
            raise error(f"elements of {at.name(like)} are too long to be accessed at once")
        return types.void(like), of.nothing

    @intrinsic
    def no_multicast(typingctx: Any, like: Any) -> Any:
        raise error("get_multicast_array is not supported: multicast memory is not offered")

    return {
        "itemsize": number("itemsize", lambda like: at.width(at.element(like))),
        "kind_of": number("kind_of", lambda like: KINDS.get(at.name(like), 0)),
        "flag_bytes": number("flag_bytes", flag),
        "check_pair": check_pair,
        "check_values": check_values,
        "check_word": check_word,
        **{name: check(name, *row) for name, row in CHECKS.items()},
        "named": lambda dtype: check("check_named", (dtype,), "this function"),
        "no_multicast": no_multicast,
    }


def arrays(of: Frontend, codes: Iterable[Any]) -> Dict[str, Any]:
    """The functions of arrays, of numbers and of the state. `codes` generate their code, each for the function
    whose name it has behind an underscore; `room` has that of `count`, and `_whole` is that of two functions.
    """
    types, error, intrinsic = of.types, of.error, of.intrinsic
    at = Elements(types, error)
    code = {function.__name__[1:]: function for function in codes}

    @intrinsic
    def address(typingctx: Any, like: Any) -> Any:
        if at.absent(like):
            return types.int64(like), of.constant(0)
        if not isinstance(like, (types.Array, types.CPointer)):
            raise error(f"an array is needed, not {like}")
        return types.int64(like), code["address"]

    @intrinsic
    def count(typingctx: Any, like: Any) -> Any:
        at.element(like)
        return types.int64(like), code["count"]

    @intrinsic
    def room(typingctx: Any, like: Any) -> Any:
        """How many elements there are: 0 of None, and no limit of a pointer."""
        if at.absent(like):
            return types.int64(like), of.constant(0)
        at.element(like)
        pointer = isinstance(like, types.CPointer)
        return types.int64(like), of.constant(2**62) if pointer else code["count"]

    @intrinsic
    def contiguous_bytes(typingctx: Any, like: Any) -> Any:
        """The bytes of an array; 1 if it may have gaps."""
        if not isinstance(like, types.Array):
            raise error(f"an array is needed, not {like}")
        return types.int64(like), of.constant(1) if like.layout == "A" else code["contiguous_bytes"]

    @intrinsic
    def moved(typingctx: Any, like: Any, at: Any) -> Any:
        """The array at another address."""
        return like(like, types.int64), code["moved"]

    @intrinsic
    def encode(typingctx: Any, like: Any, value: Any) -> Any:
        """The bits of a number as an element of the array; of another array its first element."""
        dtype = at.element(like)
        bfloat16 = type(types.bfloat16)
        scalar = value.dtype if isinstance(value, (types.Array, types.IntEnumMember)) else value
        number = isinstance(scalar, (types.Number, types.Boolean, bfloat16))
        if not number or isinstance(scalar, types.Complex):
            raise error(f"a number is needed, not {value}")
        if not isinstance(dtype, (types.Integer, types.Float, types.Boolean, bfloat16)):
            raise error(f"elements of type {dtype} cannot be accessed at once")
        return types.int64(like, value), code["encode"]

    @intrinsic
    def decode(typingctx: Any, like: Any, bits: Any) -> Any:
        """The number that the bits of an element are."""
        return at.element(like)(like, types.int64), code["decode"]

    @intrinsic
    def lend(typingctx: Any, word: Any) -> Any:
        """Keeps the memory lent to the function that contains this call."""
        return types.void(types.int64), code["lend"]

    @intrinsic
    def lent(typingctx: Any) -> Any:
        """The word kept by `lend`; 0 if there is none."""
        return types.int64(), code["lent"]

    @intrinsic
    def bulk_engines(typingctx: Any) -> Any:
        """Whether the GPU has engines for bulk copies: 1 or 0."""
        return types.int64(), code["bulk_engines"]

    @intrinsic
    def integer(typingctx: Any, value: Any) -> Any:
        if not isinstance(value, (types.Integer, types.Boolean, types.IntEnumMember)):
            raise error(f"an integer is needed, not {value}")
        return types.int64(value), code["integer"]

    @intrinsic
    def unsigned(typingctx: Any, value: Any) -> Any:
        return types.uint64(types.int64), code["whole"]

    @intrinsic
    def signed(typingctx: Any, value: Any) -> Any:
        kind = types.uint64 if value == types.uint64 else types.int64
        return types.int64(kind), code["whole"]

    @intrinsic
    def apart(typingctx: Any) -> Any:
        """Prevents inlining of the calling function, so that it is compiled once."""
        return types.void(), code["apart"]

    @intrinsic
    def state(typingctx: Any, word: Any) -> Any:
        """A word of eight bytes of the state, which lies in memory of the kernel's module. It changes
        between launches only, so compilers may load it once.
        """
        return types.int64(types.int64), code["state"]

    made = (address, count, room, contiguous_bytes, moved, encode, decode, lend, lent, bulk_engines)
    made += (integer, unsigned, signed, apart, state)
    return {function.__name__: function for function in made}


def primitives(of: Frontend, lower: Callable[[Primitive, Any], Any]) -> Dict[str, Any]:
    """The rows of `TABLE` as functions of Numba's, in which integers of any size are int64.
    ``lower(row, kinds)`` is the code of one, whose arguments have these types.
    """
    types = of.types
    known = {"f32": types.float32, "f64": types.float64}

    def make(row: Primitive) -> Any:
        kinds = [known.get(kind, types.int64) for kind in row.arguments]
        result = types.void if row.result is None else known.get(row.result, types.int64)
        typed = result(*kinds), lower(row, kinds)

        def none(typingctx: Any) -> Any:
            return typed

        def one(typingctx: Any, a: Any) -> Any:
            return typed

        def two(typingctx: Any, a: Any, b: Any) -> Any:
            return typed

        def three(typingctx: Any, a: Any, b: Any, c: Any) -> Any:
            return typed

        def four(typingctx: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
            return typed

        function: Any = (none, one, two, three, four)[len(kinds)]
        function.__name__ = function.__qualname__ = row.name
        return of.intrinsic(function)

    return {name: make(row) for name, row in TABLE.items()}


def functions(of: Frontend) -> Dict[str, Any]:
    """The registration of Python functions with the compiler."""
    types, error, overload = of.types, of.error, of.overload
    at = Elements(types, error)

    def expect(members: Members, args: Any, named: Dict[str, Any]) -> None:
        """Raises for members of enums at wrong places, and for literals that are no member."""
        wrong = members.refusal_of_types(args, named, types)
        if wrong:
            raise error(wrong)
        if members.kinds and any(
            isinstance(one, types.IntegerLiteral) for one in (*args, *named.values())
        ):
            # After a typing error, the compiler would try again without literals, and not raise the error.
            wrong = members.refusal_of_literals(args, named, types)
            if wrong:
                raise NvshmemInvalid(wrong)
            # The retry is wanted: a function need not be compiled for each number.
            raise error(f"{members.name} is compiled for all numbers at once")

    publics: Set[Any] = set()
    places: Dict[Any, int] = {}

    def public(function: Any, inline: str = "never") -> Any:
        """A function that kernels call; outside of them it raises."""

        @functools.wraps(function)
        def outside(*args: Any, **named: Any) -> Any:
            raise NotSupportedError(f"{function.__name__} is for kernels: call it in one")

        members = Members(function)

        def inside(*args: Any, **named: Any) -> Any:
            expect(members, args, named)
            return function

        overload(outside, strict=False, inline=inline, prefer_literal=bool(members.kinds))(inside)
        publics.add(outside)
        return outside

    def inlined(function: Any) -> Any:
        """A function that returns an array, which compilers accept only within a kernel."""
        return public(function, "always")

    givers, twins = [], {}
    only_types_know = object()

    def called(func_ir: Any, call: Any) -> Any:
        """The Python function that a call in a function's code calls; None if it calls another object."""
        try:
            found = func_ir.infer_constant(call.func)
        except Exception:
            return only_types_know
        return found if inspect.isfunction(found) else None

    def giving(function: Any) -> Any:
        """A public function that lends memory to the function that calls it."""
        outside = inlined(function)
        givers.append(outside)
        return outside

    def lendable(function: Any, lent: Any) -> Any:
        """A public function. In functions that lend memory it is `lent`, as a part of them."""
        outside = public(function)
        twins[outside] = inlined(lent)
        return outside

    @of.rewrites.register_rewrite("before-inference")
    class Lending(of.rewrites.Rewrite):
        """Takes the twins of functions where memory is lent."""

        gives = None

        def match(self, func_ir: Any, block: Any, typemap: Any, calltypes: Any) -> bool:
            if self.gives is None:
                calls = (one for b in func_ir.blocks.values() for one in b.find_exprs("call"))
                self.gives = any(called(func_ir, call) in givers for call in calls)
            self.block, self.found = block, {}
            if self.gives:
                calls = {call: called(func_ir, call) for call in block.find_exprs("call")}
                self.found = {call: twins[f] for call, f in calls.items() if f in twins}
                self.definitions = func_ir._definitions
            return bool(self.found)

        def apply(self) -> Any:
            made = self.block.copy()
            made.clear()
            for statement in self.block.body:
                call = getattr(statement, "value", None)
                twin = self.found.get(call) if isinstance(call, of.ir.Expr) else None
                if call is not None and twin is not None:
                    name = self.block.scope.redefine("$lendable", call.loc)
                    value = of.ir.Global(twin.__name__, twin, call.loc)
                    made.append(of.ir.Assign(value, name, call.loc))
                    self.definitions[name.name].append(value)
                    call.func = name
                made.append(statement)
            return made

    def marking(place_of: Any, mark: Any) -> None:
        """From now on ``mark(place_of(number))`` is called before each call of a public function in the
        program's functions. The number is that of the call's place in `places`. Before a call of which
        only types know the function comes ``mark(0)``, so that no earlier place is reported for it.
        """

        @of.rewrites.register_rewrite("before-inference")
        class Marking(of.rewrites.Rewrite):
            def __init__(self, state: Any = None) -> None:
                self.marked: Set[Any] = set()

            def match(self, func_ir: Any, block: Any, typemap: Any, calltypes: Any) -> bool:
                if (func_ir.func_id.modname or "").startswith(("nvshmemrs.", "numba")):
                    return False
                calls = [one for one in block.find_exprs("call") if one not in self.marked]
                functions = {one: called(func_ir, one) for one in calls}
                known = {*publics, only_types_know}
                self.found = {one: function for one, function in functions.items() if function in known}
                self.ir, self.block = func_ir, block
                return bool(self.found)

            def apply(self) -> Any:
                made = self.block.copy()
                made.clear()
                for statement in self.block.body:
                    call: Any = getattr(statement, "value", None)
                    if isinstance(call, of.ir.Expr) and call in self.found:
                        self.marked.add(call)
                        self.insert(made, call.loc, self.found[call] is not only_types_know)
                    made.append(statement)
                return made

            def insert(self, block: Any, loc: Any, known: bool) -> None:
                def value(node: Any) -> Any:
                    name = block.scope.redefine("$mark", loc)
                    block.append(of.ir.Assign(node, name, loc))
                    self.ir._definitions[name.name].append(node)
                    return name

                place = (loc.filename, loc.line, self.ir.func_id.func_name)
                number = places.setdefault(place, len(places)) if known else 0
                number = value(of.ir.Const(number, loc))
                for function in (place_of, mark) if known else (mark,):
                    callee = value(of.ir.Global(function.__name__, function, loc))
                    call = of.ir.Expr.call(callee, [number], (), loc)
                    self.marked.add(call)
                    number = value(call)

    def by_kind(what: str, table: Dict[str, Callable[[Any, Any], Any]]) -> Any:
        """A function of an array and a value, specialised by element type."""
        made = {name: of.jitable(function) for name, function in table.items()}

        def choose(like: Any, value: Any) -> Any:
            raise NotSupportedError(f"{what} is for kernels")

        @overload(choose, strict=False)
        def chosen(like: Any, value: Any) -> Any:
            at.expect(like, table, what)
            body = made[at.name(like)]
            return lambda like, value: body(like, value)

        return choose

    def by_op(name: str, doc: str, table: Dict[str, Callable[[], Any]]) -> Any:
        """A function for kernels whose argument `op` is the name of an operation."""

        def function(team: Any, dst_array: Any, src_array: Any, op: Any, slot: Any = 0) -> Any:
            raise NotSupportedError(f"{name} is for kernels: call it in one")

        function.__name__ = function.__qualname__ = name
        function.__doc__ = doc
        members = Members(function)

        @overload(function, strict=False, inline=of.strings, prefer_literal=True)
        def chosen(team: Any, dst_array: Any, src_array: Any, op: Any, slot: Any = 0) -> Any:
            expect(members, (team, dst_array, src_array, op, slot), {})
            if not isinstance(op, types.StringLiteral):
                raise error(f"op must be a literal, such as {name}(.., 'sum'), not {op}")
            if op.literal_value not in table:
                raise error(f"op={op.literal_value!r}: it is one of {', '.join(table)}")
            if op.literal_value in ("and", "or", "xor"):
                at.expect(dst_array, INTEGERS, op.literal_value)
            body = table[op.literal_value]()

            def call(team, dst_array, src_array, op, slot=0):
                return body(team, dst_array, src_array, slot)

            return call

        publics.add(function)
        return function

    return {
        "public": public,
        "inlined": inlined,
        "giving": giving,
        "lendable": lendable,
        "by_kind": by_kind,
        "by_op": by_op,
        "marking": marking,
        "places": places,
    }


def threads(of: Frontend, integer: Any) -> Dict[str, Any]:
    """A thread's place, and how the threads of a group meet."""
    cuda = of.cuda

    def smallest(a, b):
        return a if a < b else b

    def idle():
        pass

    def block_thread():
        at, block = cuda.threadIdx, cuda.blockDim
        return integer(at.x + block.x * (at.y + block.y * at.z))

    def block_threads():
        return integer(cuda.blockDim.x * cuda.blockDim.y * cuda.blockDim.z)

    def grid_block():
        at, grid = cuda.blockIdx, cuda.gridDim
        return integer(at.x + grid.x * (at.y + grid.y * at.z))

    def sync_block():
        cuda.syncthreads()

    def sync_warp():
        cuda.syncwarp()

    def vote_block(vote):
        return cuda.syncthreads_or(1 if vote else 0) != 0

    def vote_warp(vote):
        return cuda.any_sync(0xFFFFFFFF, vote)

    made = (smallest, idle, block_thread, block_threads, grid_block)
    made += (sync_block, sync_warp, vote_block, vote_warp)
    return {function.__name__: of.jitable(function) for function in made}
