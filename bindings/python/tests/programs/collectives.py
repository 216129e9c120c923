"""Every collective on several teams, dtypes and operations, blocking and on a stream, against
NumPy as the model. Around each destination lie elements that must not change.
"""

import numpy as np

import nvshmemrs.core as nvshmem
from nvshmemrs.core import Op

nvshmem.init()
me, n = nvshmem.my_pe(), nvshmem.n_pes()
INTEGERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]
FLOATS = ["f2", "f4", "f8"]
COMPLEX = ["c8", "c16"]
BITS = ("and", "or", "xor")
SIZE = 5
ROOM = 2 + 2 * 8 * SIZE  # for 8 members with gaps, and one element on each side
MARK = 77

stream = nvshmem.Stream()
teams = {"TEAM_WORLD": list(range(n)), nvshmem.Teams.TEAM_SAME_MYPE_NODE: [me]}
backwards = nvshmem.team_split_strided("WORLD", n - 1, -1, n, new_team_name="BACKWARDS")
teams["BACKWARDS"] = list(range(n))[::-1]
assert backwards == nvshmem.Teams.BACKWARDS
if n > 2:
    odd = nvshmem.team_split_strided(0, 1, 2, n // 2)
    if odd is not None:
        teams[odd] = list(range(1, n, 2))


def values(pe: int, dtype: str, count: int) -> np.ndarray:
    """The contribution of a PE, which every PE can compute."""
    made = np.random.default_rng(1000 * pe + count).integers(0, 9, count)
    if dtype[0] == "c":
        return (made + 1j * (pe - made)).astype(dtype)
    return (made - (3 if dtype[0] != "u" else 0)).astype(dtype)


def fold(parts: list, op: str) -> np.ndarray:
    """The left fold in team order; float16 sums up in float32."""
    function = {
        "sum": np.add,
        "prod": np.multiply,
        "min": np.minimum,
        "max": np.maximum,
        "and": np.bitwise_and,
        "or": np.bitwise_or,
        "xor": np.bitwise_xor,
    }[op]
    wide = [p.astype("f4") if p.dtype == np.float16 else p for p in parts]
    with np.errstate(over="ignore"):
        total = wide[0]
        for part in wide[1:]:
            total = function(total, part)
        return total.astype(parts[0].dtype)


IDENTITY = {"sum": 0, "prod": 1, "or": 0, "xor": 0}


def identity(op: str, dtype: str) -> object:
    kind = np.dtype(dtype)
    if op == "and":
        return np.invert(np.zeros((), kind))
    if op in ("min", "max"):
        limits = np.iinfo(kind) if kind.kind in "iu" else None
        low, high = (limits.min, limits.max) if limits else (-np.inf, np.inf)
        return high if op == "min" else low
    return IDENTITY[op]


def check(call, dst: np.ndarray, part: slice, expected: np.ndarray, on_stream: bool, what) -> None:
    """Runs a collective whose result is `expected` in dst[part]; the rest of dst must stay."""
    dst[:] = MARK
    wanted = np.full(dst.shape, MARK, dst.dtype)
    wanted[part] = expected
    call(dst[part], stream if on_stream else None)
    if on_stream:
        stream.synchronize()
    assert np.array_equal(dst, wanted, equal_nan=True), (what, on_stream, dst, wanted)


def check_dtype(dtype: str, on_stream: bool) -> None:
    src, dst = nvshmem.array(ROOM, dtype), nvshmem.array(ROOM, dtype)
    ops = ["sum", "prod"] if dtype in COMPLEX else ["sum", "prod", "min", "max"]
    ops += BITS if dtype in INTEGERS else ()
    for team, pes in teams.items():
        size, mine = len(pes), pes.index(me)
        assert (nvshmem.team_n_pes(team), nvshmem.team_my_pe(team)) == (size, mine)
        one, many = slice(1, 1 + SIZE), slice(1, 1 + SIZE * size)
        all_ones = [values(pe, dtype, SIZE) for pe in pes]
        all_manys = [values(pe, dtype, SIZE * size) for pe in pes]
        parts = [slice(SIZE * i, SIZE * (i + 1)) for i in range(size)]
        src[one] = all_ones[mine]
        for op in ops:
            for code in (op, Op[op.upper()]):
                check(
                    lambda d, s: nvshmem.reduce(team, d, src[one], code, stream=s),
                    dst, one, fold(all_ones, op), on_stream, (dtype, team, op),
                )  # fmt: skip
            check(
                lambda d, s: nvshmem.inscan(team, d, src[one], op, s),
                dst, one, fold(all_ones[: mine + 1], op), on_stream, (dtype, team, "inscan", op),
            )  # fmt: skip
            before = np.full(SIZE, identity(op, dtype), dtype)
            check(
                lambda d, s: nvshmem.exscan(team, d, src[one], op, s),
                dst, one, fold(all_ones[:mine], op) if mine else before, on_stream,
                (dtype, team, "exscan", op),
            )  # fmt: skip
        check(
            lambda d, s: nvshmem.fcollect(team, d, src[one], stream=s),
            dst, many, np.concatenate(all_ones), on_stream, (dtype, team, "fcollect"),
        )  # fmt: skip
        for root in (0, size - 1):
            check(
                lambda d, s: nvshmem.broadcast(team, d, src[one], root, stream=s),
                dst, one, all_ones[root], on_stream, (dtype, team, "broadcast"),
            )  # fmt: skip
            is_root = mine == root  # only the root's is used
            gathered = (
                np.concatenate(all_ones) if is_root else np.full(SIZE * size, MARK, dst.dtype)
            )
            check(
                lambda d, s: nvshmem.gather(team, d if is_root else None, src[one], root, s),
                dst, many, gathered, on_stream, (dtype, team, "gather"),
            )  # fmt: skip
        # Member i sends i + 1 elements; the destination reaches to the end of its allocation.
        lengths = [i % SIZE + 1 for i in range(size)]
        dst[:] = MARK
        nvshmem.collect(team, dst[1:], src[1 : 1 + lengths[mine]], stream if on_stream else None)
        if on_stream:
            stream.synchronize()
        ones = np.concatenate([all_ones[i][: lengths[i]] for i in range(size)])
        assert dst[0] == MARK and (dst[1 + ones.size :] == MARK).all()
        assert np.array_equal(dst[1 : 1 + ones.size], ones), (dtype, team, "collect")
        nvshmem.barrier(team)
        src[many] = all_manys[mine]
        for op in ops:
            check(
                lambda d, s: nvshmem.reducescatter(team, d, src[many], op, stream=s),
                dst, one, fold(all_manys, op)[parts[mine]], on_stream,
                (dtype, team, "reducescatter", op),
            )  # fmt: skip
        check(
            lambda d, s: nvshmem.alltoall(team, d, src[many], stream=s),
            dst, many, np.concatenate([m[parts[mine]] for m in all_manys]), on_stream,
            (dtype, team, "alltoall"),
        )  # fmt: skip
        for root in (0, size - 1):
            check(
                lambda d, s: nvshmem.scatter(team, d, src[many] if mine == root else None, root, s),
                dst, one, all_manys[root][parts[mine]], on_stream, (dtype, team, "scatter"),
            )  # fmt: skip
        # Every second element of the destination, every element of the source.
        wanted = np.full(2 * SIZE * size, MARK, dst.dtype)
        wanted[::2] = np.concatenate([m[parts[mine]] for m in all_manys])
        check(
            lambda d, s: nvshmem.alltoalls(team, d, src[many], 2, 1, SIZE, s),
            dst, slice(1, 1 + 2 * SIZE * size), wanted, on_stream, (dtype, team, "alltoalls"),
        )  # fmt: skip
        nvshmem.barrier(team, stream=stream if on_stream else None)
        nvshmem.sync(team, stream=stream if on_stream else None)
        stream.synchronize()
    nvshmem.barrier_all()
    nvshmem.free_array(src)
    nvshmem.free_array(dst)


for number, dtype in enumerate(INTEGERS + FLOATS + COMPLEX):
    check_dtype(dtype, on_stream=False)
    if number % 4 == 0:
        check_dtype(dtype, on_stream=True)

# In place.
with nvshmem.array((n, 3), "i8") as a:
    a[:] = me
    nvshmem.reduce(0, a, a, "sum")
    assert (a == n * (n - 1) // 2).all()
    nvshmem.barrier_all()
    a[me] = me
    nvshmem.fcollect(0, a, a[me])
    assert (a == np.arange(n)[:, None]).all()
    nvshmem.barrier_all()
    a[:] = 10 * me + np.arange(n)[:, None]
    nvshmem.alltoall(0, a, a)
    assert (a == 10 * np.arange(n)[:, None] + me).all()
    nvshmem.barrier_all()
    a[:] = np.arange(n)[:, None]
    nvshmem.reducescatter(0, a[me], a, "max")
    assert (a[me] == me).all()
    nvshmem.barrier_all()
    a[:] = me
    nvshmem.gather(0, a, a[n - 1], n - 1)
    wanted = np.arange(n)[:, None] if me == n - 1 else me
    assert (a == wanted).all()
    nvshmem.barrier_all()
    a[:] = 10 * me + np.arange(n)[:, None]
    nvshmem.scatter(0, a[0], a)
    assert (a[0] == me).all() and (a[1:] == 10 * me + np.arange(1, n)[:, None]).all()
    nvshmem.barrier_all()

# bfloat16 as the bits of uint16: the upper halves of float32.
with nvshmem.array(4, "u2") as a, nvshmem.array(4, "u2") as b:
    a[:] = (np.array([1, 1.5, -2, 0.25], "f4") * (me + 1)).view("u4") >> 16
    nvshmem.reduce(0, b, a, "sum", dtype="bfloat16")
    total = n * (n + 1) // 2
    wanted = np.array([1, 1.5, -2, 0.25], "f4") * total
    assert np.array_equal((b.astype("u4") << 16).view("f4"), wanted), b

# bool: a sum is whether any is true, a product whether all are.
with nvshmem.array(4, "?") as a, nvshmem.array(4, "?") as b, nvshmem.array(4 * n, "?") as c:
    a[:] = [True, False, me == 0, me != 0]
    c[:] = np.tile(a, n)
    for op in ("sum", "max", "or", "prod", "min", "and", nvshmem.Op.SUM):
        every = op in ("prod", "min", "and")
        wanted = [True, False, n == 1 or not every, n > 1 and not every]
        for queue in (None, stream):
            for function, source in ((nvshmem.reduce, a), (nvshmem.reducescatter, c)):
                b[:] = False
                nvshmem.barrier_all()
                function(0, b, source, op, queue)
                if queue is not None:
                    queue.synchronize()
                # The bytes: a true that is 2 would be no true to another language.
                assert b.view("u1").tolist() == wanted, (op, b)
    nvshmem.exscan(0, b, a, "sum")
    assert b.tolist() == [me > 0, False, me > 0, me > 1]
    nvshmem.inscan(0, b, a, "sum")
    assert b.tolist() == [True, False, True, me > 0]

# Buffers.
with nvshmem.buffer(8) as a, nvshmem.buffer(8) as b, nvshmem.buffer(8 * n) as c:
    np.asarray(a).view("f4")[:] = [me, 1]
    took = nvshmem.collective_on_buffer("reduce", 0, b, a, "float", "sum", enable_timing=True)
    assert took > 0 and np.asarray(b).view("f4").tolist() == [n * (n - 1) / 2, n]
    assert nvshmem.collective_on_buffer("fcollect", 0, c, a) is None
    assert np.asarray(c).view("f4").tolist() == [x for pe in range(n) for x in (pe, 1)]
    assert nvshmem.collective_on_buffer("alltoall", 0, c, c, stream=stream, enable_timing=True) > 0
    nvshmem.collective_on_buffer("broadcast", 0, b, a, root=n - 1)
    assert np.asarray(b).view("f4").tolist() == [n - 1, 1]
    nvshmem.collective_on_buffer("gather", 0, c, a, root=n - 1)
    assert me != n - 1 or np.asarray(c).view("f4").tolist()[::2] == list(range(n))
    nvshmem.collective_on_buffer("scatter", 0, b, c, root=n - 1)
    assert np.asarray(b).view("f4").tolist() == [me, 1]
    # Of different sizes: dest's elements, or src's where every member sends all it has.
    with nvshmem.buffer(16 * n) as large:
        whole = np.asarray(large).view("f4")
        whole[:] = 7
        nvshmem.collective_on_buffer("reduce", 0, b, large, "float", "sum", stream=stream)
        nvshmem.collective_on_buffer("fcollect", 0, large, a, stream=stream)
        stream.synchronize()
        assert np.asarray(b).view("f4").tolist() == [7 * n, 7 * n]
        assert whole.tolist() == [x for pe in range(n) for x in (pe, 1)] + [7] * 2 * n
        nvshmem.collective_on_buffer("broadcast", 0, b, large, root=n - 1)
        assert np.asarray(b).view("f4").tolist() == [0, 1]
        whole[:] = me
        nvshmem.collective_on_buffer("reducescatter", 0, b, large, "float", "max")
        assert np.asarray(b).view("f4").tolist() == [n - 1, n - 1]
        nvshmem.collective_on_buffer("alltoall", 0, large, c)
    np.asarray(c).view("u8")[:] = 1 << me
    nvshmem.collective_on_buffer("reducescatter", 0, b, c, "ulong", "or")
    assert np.asarray(b).view("u8").tolist() == [2**n - 1]
    nvshmem.barrier_all()

stream.close()
nvshmem.finalize()
print("ok\n", end="")  # one write, so that PEs do not mix
