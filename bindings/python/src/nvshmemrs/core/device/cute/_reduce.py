"""Reductions: a left fold in the order of the team, the same bits as on the host.

Narrow floating-point numbers are folded in single precision and rounded once at the end. A NaN
stays, the first one with its payload; float8 has one NaN, and saturates.
"""

from __future__ import annotations

from typing import Any, List, Tuple

from . import _float8 as float8
from ._access import word_of
from ._frontend import arith, cutlass, dsl, ir, llvm
from ._state import Job
from ._teams import Team, first_epoch, meet, on_member

Int32, Uint32, Uint64 = cutlass.Int32, cutlass.Uint32, cutlass.Uint64

# The numbers of LLVM's orders of floating-point comparison.
_ORDERED, _LESS_OR_UNORDERED, _GREATER_OR_UNORDERED = "ord", "ult", "ugt"


class Lanes:
    """`count` elements of a type that are folded at once; vectors of LLVM in between."""

    def __init__(self, kind: Any, count: int) -> None:
        self.kind, self.count = kind, count
        self.bytes = kind.width // 8 * count
        # The words that a vector of them is carried in from one turn of a loop to the next.
        wide = 32 if kind.width <= 16 and kind.is_float else kind.width
        self.word = Uint64 if wide * count % 64 == 0 else word_of(cutlass.Float32)
        if wide * count < 32:
            self.word = {8: cutlass.Uint8, 16: cutlass.Uint16}[wide * count]
        self.words = wide * count // self.word.width

    def type(self, element: Any) -> Any:
        """The type of a vector of so many elements."""
        return ir.VectorType.get([self.count], element)

    def load(self, address: Any) -> Any:
        """The vector at an address."""
        at = llvm.inttoptr(llvm.PointerType.get(1), Uint64(address).ir_value())
        # LLVM has no numbers of 8 bits but integers.
        kind = cutlass.Int8 if self.kind.width == 8 else self.kind
        return llvm.load(self.type(kind.mlir_type), at, alignment=self.bytes)

    def store(self, address: Any, vector: Any) -> None:
        """Stores a vector at an address."""
        at = llvm.inttoptr(llvm.PointerType.get(1), Uint64(address).ir_value())
        llvm.store(vector, at, alignment=self.bytes)

    def carried(self, vector: Any) -> List[Any]:
        """A vector's bits as numbers of the DSL's."""
        words = llvm.bitcast(ir.VectorType.get([self.words], self.word.mlir_type), vector)
        at = [arith.constant(Int32.mlir_type, k) for k in range(self.words)]
        return [self.word(llvm.extractelement(words, index)) for index in at]

    def vector(self, words: List[Any], element: Any) -> Any:
        """The vector that has these bits."""
        found = llvm.mlir_undef(ir.VectorType.get([self.words], self.word.mlir_type))
        for k, word in enumerate(words):
            index = arith.constant(Int32.mlir_type, k)
            found = llvm.insertelement(found, word.ir_value(), index)
        return llvm.bitcast(self.type(element), found)

    def splat(self, element: Any, value: int) -> Any:
        """A vector of one integer."""
        kind = self.type(element)
        attribute = ir.DenseElementsAttr.get_splat(kind, ir.IntegerAttr.get(element, value))
        return arith.constant(kind, attribute)


class Fold:
    """How elements of a type are folded by an operation."""

    def __init__(self, kind: Any, op: str) -> None:
        self.kind, self.op = kind, op
        self.narrow_float = kind.width <= 16 and kind.is_float
        self.element = cutlass.Float32.mlir_type if self.narrow_float else kind.mlir_type

    def fold(self, a: Any, b: Any) -> Any:
        """The first operand is that of the members before."""
        op = self.op
        if not self.kind.is_float:
            if op in ("min", "max"):
                return getattr(arith, op + ("si" if self.kind.signed else "ui"))(a, b)
            names = {"sum": "addi", "prod": "muli", "and": "andi", "or": "ori", "xor": "xori"}
            return getattr(arith, names[op])(a, b)
        if op in ("sum", "prod"):
            return {"sum": arith.addf, "prod": arith.mulf}[op](a, b)
        order = _LESS_OR_UNORDERED if op == "min" else _GREATER_OR_UNORDERED
        better = arith.cmpf(getattr(arith.CmpFPredicate, order.upper()), b, a)
        number = arith.cmpf(getattr(arith.CmpFPredicate, _ORDERED.upper()), a, a)
        return arith.select(arith.andi(better, number), b, a)

    def widen(self, lanes: Lanes, vector: Any) -> Any:
        """Elements as they are folded. A NaN keeps its payload and becomes quiet."""
        if not self.narrow_float:
            return vector
        if self.kind.width == 8:
            return float8.widen(self.kind, lanes, vector)
        i32 = Int32.mlir_type

        def number(value: int) -> Any:
            return lanes.splat(i32, value)

        bits = llvm.bitcast(lanes.type(cutlass.Int16.mlir_type), vector)
        word = arith.extui(lanes.type(i32), bits)
        single = lanes.type(cutlass.Float32.mlir_type)
        magnitude = arith.andi(word, number(0x7FFF))
        if self.kind is cutlass.BFloat16:
            bits = arith.shli(word, number(16))
            quiet = arith.ori(bits, number(0x400000))
            nan = arith.cmpi(arith.CmpIPredicate.ugt, magnitude, number(0x7F80))
            return llvm.bitcast(single, arith.select(nan, quiet, bits))
        sign = arith.shli(arith.andi(word, number(0x8000)), number(16))
        payload = arith.shli(arith.andi(word, number(0x3FF)), number(13))
        quiet = arith.ori(arith.ori(sign, number(0x7FC00000)), payload)
        nan = arith.cmpi(arith.CmpIPredicate.ugt, magnitude, number(0x7C00))
        return arith.select(nan, llvm.bitcast(single, quiet), arith.extf(single, vector))

    def narrow(self, lanes: Lanes, vector: Any) -> Any:
        """The stored value, rounded to nearest, ties to even."""
        if not self.narrow_float:
            return vector
        if self.kind.width == 8:
            return float8.narrow(self.kind, lanes, vector)
        i32, half = Int32.mlir_type, lanes.type(cutlass.Int16.mlir_type)

        def number(value: int) -> Any:
            return lanes.splat(i32, value)

        word = llvm.bitcast(lanes.type(i32), vector)
        magnitude = arith.andi(word, number(0x7FFFFFFF))
        nan = arith.cmpi(arith.CmpIPredicate.ugt, magnitude, number(0x7F800000))
        if self.kind is cutlass.BFloat16:
            odd = arith.andi(arith.shrui(word, number(16)), number(1))
            near = arith.addi(arith.addi(word, number(0x7FFF)), odd)
            quiet = arith.ori(word, number(0x400000))
            bits = arith.shrui(arith.select(nan, quiet, near), number(16))
        else:
            sign = arith.andi(arith.shrui(word, number(16)), number(0x8000))
            payload = arith.andi(arith.shrui(word, number(13)), number(0x3FF))
            quiet = arith.ori(arith.ori(sign, number(0x7E00)), payload)
            rounded = arith.truncf(lanes.type(self.kind.mlir_type), vector)
            near = arith.extui(lanes.type(i32), llvm.bitcast(half, rounded))
            bits = arith.select(nan, quiet, near)
        return llvm.bitcast(lanes.type(self.kind.mlir_type), arith.trunci(half, bits))


def round_of(kind: Any) -> Tuple[int, int]:
    """How many elements of a type are a pack, and how many packs a thread folds in a round.

    Reductions in place have a meeting in each round, so groups of different languages have the same
    rounds. These are those of ``reduce`` in ``include/nvshmemrs_device.cuh``.
    """
    size = kind.width // 8
    return 8 if size == 1 else 16 // size, 4 if size >= 4 else 2


def shares(kind: Any, count: Any, aligned: bool) -> str:
    """The parts of `count` elements, as far as they are known at compile time: "packs", which begin
    where everything is aligned to sixteen bytes, and a "rest". `aligned`: the first element is.
    """
    many, _ = round_of(kind)
    if isinstance(count, int) and count < many:
        return "rest"
    if isinstance(count, int) and aligned and count * kind.width % 128 == 0:
        return "packs"
    return "packs and rest"


def _places(first: Any, step: Any, many: int) -> List[Any]:
    """The packs of a thread in a round."""
    return [first + Uint64(k) * step for k in range(many)]


def _sources(source: Any, places: List[Any], count: Any, size: Any) -> List[Any]:
    """Where they are. In place of a pack that is not there, the last one is read."""
    last = count - Uint64(1)
    return [source + cutlass.min(place, last) * size for place in places]


def _loaded(fold: Fold, lanes: Lanes, ahead: Any, at: List[Any]) -> List[Any]:
    """The packs of a member, which lie `ahead` of this PE's; all loads come first."""
    vectors = [lanes.load(place + ahead) for place in at]
    return [fold.widen(lanes, vector) for vector in vectors]


def _started(fold: Fold, lanes: Lanes, ahead: Any, at: List[Any]) -> List[Any]:
    """The first member's packs, as one list of words."""
    return [
        word for vector in _loaded(fold, lanes, ahead, at) for word in lanes.carried(vector)
    ]


def _vectors(fold: Fold, lanes: Lanes, values: List[Any]) -> List[Any]:
    """The packs that such a list is of."""
    each = lanes.words
    return [
        lanes.vector(values[k : k + each], fold.element) for k in range(0, len(values), each)
    ]


def _added(
    fold: Fold, lanes: Lanes, values: List[Any], ahead: Any, at: List[Any]
) -> List[Any]:
    """The same with another member's packs."""
    loaded = _loaded(fold, lanes, ahead, at)
    folded = map(fold.fold, _vectors(fold, lanes, values), loaded)
    return [word for vector in folded for word in lanes.carried(vector)]


def _store(
    fold: Fold, lanes: Lanes, values: List[Any], number: int, dest: Any, place: Any
) -> None:
    """Stores one of the packs in such a list."""
    vector = _vectors(fold, lanes, values)[number]
    lanes.store(dest + place * Uint64(lanes.bytes), fold.narrow(lanes, vector))


@dsl.jit
def _stored(
    fold: Fold,
    lanes: Lanes,
    values: List[Any],
    dest: Any,
    places: List[Any],
    count: Any,
    many: int,
) -> None:
    """Stores the packs that are there."""
    for k in cutlass.range_constexpr(many):
        place = places[k]
        if place < count:
            _store(fold, lanes, values, k, dest, place)


@dsl.jit
def _rounds(
    group: Any,
    job: Job,
    team: Team,
    fold: Fold,
    lanes: Lanes,
    many: int,
    dest: Any,
    source: Any,
    count: Any,
    in_place: Any,
    epoch: Any,
    came: Any,
) -> Any:
    """Folds `count` vectors, of which a thread takes `many` in a round. In place, or `source` may
    be read after `dest` is written: what a round has read is written after all members have read
    it.
    """
    # CuTe treats an object whose methods a loop calls as changed by the loop.
    rank, step, size = Uint64(group.rank()), Uint64(group.size()), Uint64(lanes.bytes)
    start = Uint64(0)
    while (start < count) & (came != Uint32(0)):
        places = _places(start + rank, step, many)
        at = _sources(source, places, count, size)
        values = _started(fold, lanes, on_member(job, team, Int32(0), Uint64(0)), at)
        for m in cutlass.range(Int32(1), team.n, Int32(1), unroll=1):
            values = _added(fold, lanes, values, on_member(job, team, m, Uint64(0)), at)
        if in_place:
            epoch += Uint64(1)
            came = meet(group, job, team, epoch)
        if came != Uint32(0):
            _stored(fold, lanes, values, dest, places, count, many)
        start += step * Uint64(many)
    return epoch, came


@dsl.jit
def reduce(
    group: Any,
    job: Job,
    team: Team,
    kind: Any,
    op: str,
    dest: Any,
    source: Any,
    count: Any,
    scatter: bool,
    has: str,
) -> Any:
    """Each member gets the whole result; with `scatter` a part of its own, of `count` elements.
    `has` is the result of ``shares``.
    """
    fold = Fold(kind, op)
    elements, many = round_of(kind)
    pack, one = Lanes(kind, elements), Lanes(kind, 1)
    result = Int32(-1)
    if team.good:
        epoch = first_epoch(group, team) + Uint64(1)
        came = meet(group, job, team, epoch)
        nbytes = count * Uint64(one.bytes)
        everything, start, mixed = nbytes, source, dest | source
        if cutlass.const_expr(scatter):
            everything = nbytes * Uint64(team.n)
            start = source + nbytes * Uint64(team.me)
            mixed = mixed | nbytes
        in_place = (dest < source + everything) & (source < dest + nbytes)
        # All members must take the same way in place, and parts may be aligned differently there.
        packs = Uint64(0)
        if mixed % Uint64(16) == Uint64(0):
            packs = count // Uint64(pack.count)
        if cutlass.const_expr("packs" in has):
            epoch, came = _rounds(
                group, job, team, fold, pack, many, dest, start, packs, in_place, epoch, came
            )
        if cutlass.const_expr("rest" in has):
            done, left = packs * Uint64(pack.bytes), count - packs * Uint64(pack.count)
            to, at = dest + done, start + done
            epoch, came = _rounds(
                group, job, team, fold, one, 1, to, at, left, in_place, epoch, came
            )
        # In place the last round's meeting came after the last read.
        if (came != Uint32(0)) & (in_place == cutlass.Boolean(False)):
            came = meet(group, job, team, epoch + Uint64(1))
        if came != Uint32(0):
            result = Int32(0)
    return result
