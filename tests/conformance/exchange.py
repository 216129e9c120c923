"""Conformance, scenarios "halo", "histogram", "types", "reductions", "signals", "errors" and
"leaks": PEs exchange data of all types, and look at what was written and at what lies beside it.
The same steps, in the same order, are in the programs of this name in the other languages, so that
PEs in different languages can run them as one job.
"""

import sys
from typing import Any, Callable, List

import ml_dtypes
import numpy as np

import nvshmemrs.core as nvshmem
from nvshmemrs._ffi import Status
from nvshmemrs.core import ComparisonType, NvshmemError, SignalOp, Teams

WORLD = Teams.TEAM_WORLD
ADD, SET = SignalOp.SIGNAL_ADD, SignalOp.SIGNAL_SET
EQ, NE, GT = ComparisonType.CMP_EQ, ComparisonType.CMP_NE, ComparisonType.CMP_GT
GE, LT, LE = ComparisonType.CMP_GE, ComparisonType.CMP_LT, ComparisonType.CMP_LE

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
REALS = ("float16", ml_dtypes.bfloat16, "float32", "float64")
COMPLEX = ("complex64", "complex128")
NARROW = (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2)
SUMS, ORDER, BITS = ("sum", "prod"), ("sum", "min", "max", "prod"), ("and", "or", "xor")
# In the order of the library's numbers, and so are the operations.
TYPES = (
    *((dtype, (*ORDER, *BITS)) for dtype in INTEGERS),
    *((dtype, ORDER) for dtype in REALS),
    *((dtype, SUMS) for dtype in COMPLEX),
    *((dtype, ORDER) for dtype in NARROW),
)


def same(what: str, found: Any, wanted: Any) -> None:
    found = found.tolist() if isinstance(found, np.ndarray) else found
    wanted = wanted.tolist() if isinstance(wanted, np.ndarray) else wanted
    assert found == wanted, f"PE {me} of {n}: {what} is {found}, not {wanted}"


def release(array: Any) -> None:
    nvshmem.barrier_all()
    nvshmem.free_array(array)


def halo() -> None:
    """Each PE has ten cells of a ring, between copies of its neighbours' nearest ones."""
    field, flags = nvshmem.array(12, "float64"), nvshmem.array(2, "uint64")
    everything = np.array([j // 10 * 100 + j % 10 + 1 for j in range(10 * n)], "float64")
    mine = slice(10 * me, 10 * me + 10)
    field[1:11] = everything[mine]
    nvshmem.barrier_all()
    for step in (1, 2, 3):
        nvshmem.put_signal(field[11:], field[1:2], flags[1:], 1, ADD, left)
        nvshmem.put_signal(field[:1], field[10:11], flags[:1], 1, ADD, right)
        nvshmem.signal_wait(flags[:1], step, GE)
        nvshmem.signal_wait(flags[1:], step, GE)
        field[1:11] = field[:10] + field[1:11] + field[2:]
        nvshmem.barrier_all()
        everything = np.roll(everything, 1) + everything + np.roll(everything, -1)
    same("cells", field[1:11], everything[mine])
    release(flags)
    release(field)


def histogram() -> None:
    """Eight bins on each PE; every PE counts its draws where their bins are."""

    def draw(pe: int, k: int) -> int:
        return (pe * 131 + k * k * 7 + k) % (8 * n)

    bins = nvshmem.array(9, "uint64")
    for k in range(100):
        pe, index = divmod(draw(me, k), 8)
        word = bins[index : index + 1]
        if k % 2 == 0:
            nvshmem.atomic_inc(word, pe)
        else:
            assert nvshmem.atomic_fetch_add(word, 1, pe) < 100 * n
    nvshmem.barrier_all()
    wanted = [0] * 9  # and nothing is counted behind the bins
    for pe in range(n):
        for k in range(100):
            owner, index = divmod(draw(pe, k), 8)
            wanted[index] += owner == me
    same("bins", bins, wanted)
    release(bins)


def numbers(dtype: Any, values: List[int], imaginary: int = 2) -> np.ndarray:
    """Small numbers in this type; complex ones also have an imaginary part."""
    result = np.array(values).astype(dtype)
    return result + result.dtype.type(imaginary * 1j) if dtype in COMPLEX else result


def guards(dtype: Any, count: int) -> List[Any]:
    return list(numbers(dtype, [77] * count, 0).tolist())


def value(pe: int, i: int) -> int:
    return pe * 8 + i + 1


def types() -> None:
    for dtype, _ in TYPES:
        a = nvshmem.array(8, dtype)
        a[:] = numbers(dtype, [77] * 8, 0)
        sent = numbers(dtype, [value(me, i) for i in range(3)])
        got = numbers(dtype, [77] * 4, 0)
        nvshmem.barrier_all()
        nvshmem.put(a[2:4], sent[:2], right)
        nvshmem.p(a[5:6], sent[2], right)
        nvshmem.barrier_all()
        guard, put = guards(dtype, 1), numbers(dtype, [value(left, i) for i in range(3)]).tolist()
        same(f"put of {dtype}", a, guard * 2 + put[:2] + guard + put[2:] + guard * 2)
        nvshmem.get(got[1:3], a[2:4], right)
        same(f"get of {dtype}", got, guard + sent[:2].tolist() + guard)
        release(a)


# A member's contribution to a reduction, and the reduction's result.
MINE = {
    "sum": lambda m: m + 1,
    "min": lambda m: m + 1,
    "max": lambda m: m + 1,
    "prod": lambda m: 2 if m < 2 else 1,
    "and": lambda m: 127 ^ 1 << m,
    "or": lambda m: 1 << m,
    "xor": lambda m: 64 | 1 << m,
}


def combined(op: str) -> int:
    return {
        "sum": n * (n + 1) // 2,
        "min": 1,
        "max": n,
        "prod": 2 if n == 1 else 4,
        "and": 127 - ((1 << n) - 1),
        "or": (1 << n) - 1,
        "xor": (1 << n) - 1 + n % 2 * 64,
    }[op]


def fill(a: Any, dtype: Any) -> None:
    """The source is elements 0 to 7, and the destination the rest."""
    nvshmem.barrier_all()
    a[:8] = numbers(dtype, [value(me, i) for i in range(8)])
    a[8:] = numbers(dtype, [77] * 8, 0)
    nvshmem.barrier_all()


def reductions() -> None:
    for dtype, ops in TYPES:
        a = nvshmem.array(16, dtype)
        guard, kept = guards(dtype, 1), numbers(dtype, [value(me, 2)]).tolist()
        for op in ops:
            fill(a, dtype)
            a[:2] = numbers(dtype, [MINE[op](me)] * 2, 0)
            wanted = numbers(dtype, [combined(op)] * 2, 0).tolist()
            nvshmem.reduce(WORLD, a[8:10], a[:2], op)
            same(f"{op} of {dtype}", a[8:11], wanted + guard)
            nvshmem.reduce(WORLD, a[:2], a[:2], op)
            same(f"{op} of {dtype} in place", a[:3], wanted + kept)
        fill(a, dtype)
        nvshmem.broadcast(WORLD, a[8:10], a[:2], root=n - 1)
        sent = numbers(dtype, [value(n - 1, 0), value(n - 1, 1)]).tolist()
        same(f"broadcast of {dtype}", a[8:11], sent + guard)
        fill(a, dtype)
        nvshmem.fcollect(WORLD, a[8 : 8 + n], a[:1])
        gathered = numbers(dtype, [value(pe, 0) for pe in range(n)]).tolist()
        same(f"fcollect of {dtype}", a[8 : 9 + n], gathered + guard)
        fill(a, dtype)
        nvshmem.alltoall(WORLD, a[8 : 8 + n], a[:n])
        received = numbers(dtype, [value(pe, me) for pe in range(n)]).tolist()
        same(f"alltoall of {dtype}", a[8 : 9 + n], received + guard)
        release(a)


def signals() -> None:
    words, data = nvshmem.array(4, "uint64"), nvshmem.array(4, "float64")
    row = np.array([me + 0.5, me + 0.25])
    for pe in range(n):
        nvshmem.signal_op(words[:1], 1 << 8 * me, ADD, pe)
    nvshmem.signal_wait(words[:1], sum(1 << 8 * pe for pe in range(n)), EQ)
    nvshmem.signal_op(words[1:2], 5, SET, right)
    for cmp, other in ((GE, 5), (EQ, 5), (NE, 4), (GT, 4), (LT, 6), (LE, 5)):
        same(f"{cmp}", nvshmem.signal_wait(words[1:2], other, cmp), 5)
    for put, amount, total in ((nvshmem.put_signal, 3, 3), (nvshmem.put_signal_nbi, 4, 7)):
        put(data[1:3], row, words[2:3], amount, ADD, right)
        nvshmem.signal_wait(words[2:3], total, EQ)
        same("data", data, [0, left + 0.5, left + 0.25, 0])
        data[1:3] = 0
        nvshmem.quiet()
        nvshmem.barrier_all()
    same("signal", nvshmem.signal_fetch(words[2:3]), 7)
    same("beside the signal", int(words[3]), 0)
    release(data)
    release(words)


def refused(status: str, word: str, call: Callable[..., Any], *arguments: Any) -> None:
    try:
        call(*arguments)
    except NvshmemError as error:
        assert error.status == Status[status] and word in str(error), f"{error.status!r}: {error}"
    else:
        raise AssertionError(f"no error, where {status} must be")


def errors() -> None:
    """One PE's mistake: the others hear of it, nothing is written, and the job goes on."""
    words = nvshmem.array(4, "int64")
    words[:] = [me + 1, 0, -7, 0]
    refused("PE_RANGE", "`remote_pe`", nvshmem.put, words[1:2], words[:1], n)
    refused("PE_RANGE", "`remote_pe`", nvshmem.atomic_inc, words[1:2], -1)
    last = me == n - 1
    status, root, named = ("PE_RANGE", n, n) if last else ("PEER_ARGUMENT", 0, n - 1)
    refused(status, f"PE {named}", nvshmem.broadcast, WORLD, words[2:3], words[:1], root)
    same("words", words[1:], [0, -7, 0])
    nvshmem.broadcast(WORLD, words[2:3], words[:1], root=0)
    same("broadcast", int(words[2]), 1)
    release(words)


def allocations() -> int:
    return int(nvshmem.heap_stats().allocations)


def unfreed(size: int) -> None:
    """The list of unfreed allocations names this program and these many bytes."""
    text = nvshmem.unfreed()
    words = ("exchange", f" {size} bytes") if size else ("everything is freed",)
    assert all(word in text for word in words), f"{size}: {text}"


def leaks() -> None:
    same("allocations", allocations(), 0)
    unfreed(0)
    kept, given, dropped = nvshmem.array(3, "int64"), nvshmem.array(5, "int64"), nvshmem.array(7, "int64")
    same("allocations", allocations(), 3)
    unfreed(120)
    release(given)
    same("allocations", allocations(), 2)
    del dropped
    unfreed(24)
    nvshmem.barrier_all()
    following = nvshmem.array(1, "int64")  # frees the arrays that all PEs have released
    same("allocations", allocations(), 2)
    unfreed(32)
    release(following)
    release(kept)
    unfreed(0)
    same("allocations", allocations(), 0)


nvshmem.init()
me, n = nvshmem.my_pe(), nvshmem.n_pes()
left, right = (me + n - 1) % n, (me + 1) % n
done = ""
for scenario in (halo, histogram, types, reductions, signals, errors, leaks):
    scenario()
    done += f" {scenario.__name__}"
nvshmem.finalize()
# One write, so that PEs do not mix.
sys.stdout.write(f"exchange ok PE {me} of {n} (Python):{done}\n")
