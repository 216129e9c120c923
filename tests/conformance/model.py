"""Conformance, scenario "model": teams, strided copies, atomics, waits and tests, collectives on the
world and on a team made by a split, streams and events, memory that changes its size or comes from
elsewhere. A check that fails says what it found. The same steps, in the same order, are in the
programs of this name in the other languages; here they go through the low layer.
"""

import ctypes
import mmap
import sys
from typing import Any, List, Optional, Sequence, Tuple

import numpy as np

from nvshmemrs import _ffi
from nvshmemrs._ffi import Cmp, Dtype, Op, SignalOp, Status, Team, TeamConfigMask, Thread

WORLD, INVALID = Team.WORLD, Team.INVALID
NOWHERE = ctypes.c_size_t(-1).value  # the result of a search without a match

handle = ctypes.c_uint64()
me = n = left = right = -1


def expect(wanted: int, name: str, *arguments: Any) -> None:
    """Calls the function of the library; its status must be `wanted`."""
    status = getattr(_ffi.lib, f"nvshmemrs_{name}")(*arguments)
    text = _ffi.lib.nvshmemrs_last_error().decode()
    assert status == wanted, f"PE {me} of {n}: {name}: status {status}, not {wanted}: {text}"


def must(name: str, *arguments: Any) -> None:
    expect(Status.SUCCESS, name, *arguments)


def answer(kind: Any, name: str, *arguments: Any) -> Any:
    """The output of a function with one output of this ctypes kind."""
    out = kind()
    must(name, *arguments, out)
    return out.value


def same(what: str, found: Any, wanted: Any) -> None:
    found = found.tolist() if isinstance(found, np.ndarray) else found
    assert found == wanted, f"PE {me} of {n}: {what} is {found}, not {wanted}"


def barrier() -> None:
    must("barrier", rt, WORLD)


def view(address: int, count: int, dtype: str) -> np.ndarray:
    size = count * np.dtype(dtype).itemsize
    return np.frombuffer((ctypes.c_uint8 * size).from_address(address), dtype)


def allocate(count: int, dtype: str) -> np.ndarray:
    size = np.dtype(dtype).itemsize
    return view(answer(ctypes.c_void_p, "calloc", rt, count, size), count, dtype)


def release(array: np.ndarray) -> None:
    barrier()
    must("free", rt, at(array))


def at(array: np.ndarray, index: int = 0) -> int:
    """The address of an element."""
    return array.ctypes.data + index * array.itemsize


def pointer(kind: Any, array: np.ndarray, index: int = 0) -> Any:
    return ctypes.cast(at(array, index), ctypes.POINTER(kind))


def i32s(*values: int) -> np.ndarray:
    return np.array(values, "int32")


def team_config() -> _ffi.TeamConfig:
    config = _ffi.TeamConfig()
    must("team_config_default", config)
    same("version", config.version, (1 << 16) + 64)
    return config


def my_pe_in(team: int) -> int:
    return answer(ctypes.c_int32, "team_my_pe", rt, team)


def n_pes_in(team: int) -> int:
    return answer(ctypes.c_int32, "team_n_pes", rt, team)


def translate(source: int, pe: int, dest: int) -> int:
    return answer(ctypes.c_int32, "team_translate_pe", rt, source, pe, dest)


def split_back() -> Tuple[int, int]:
    """The last PE, the one before the one before it, and so on to PE 0 or 1; INVALID elsewhere."""
    config = team_config()
    config.num_contexts = 3
    split = (n - 1, -2, (n + 1) // 2, config, TeamConfigMask.NUM_CONTEXTS)
    team = answer(ctypes.c_uint64, "team_split_strided", rt, WORLD, *split)
    return team, (n - 1 - me) // 2 if (n - 1 - me) % 2 == 0 else -1


def teams() -> None:
    back, mine = split_back()
    same("team_my_pe", my_pe_in(back), mine)
    same("team_n_pes", n_pes_in(back), -1 if mine < 0 else (n + 1) // 2)
    same("team_translate_pe", translate(WORLD, me, back), mine)
    config = team_config()
    if mine < 0:
        same("the team of a non-member", back, INVALID)
        expect(Status.BAD_HANDLE, "sync", rt, back)
    else:
        same("team_translate_pe to WORLD", translate(back, 0, WORLD), n - 1)
        must("team_get_config", rt, back, TeamConfigMask.NUM_CONTEXTS, config)
        same("num_contexts", config.num_contexts, 3)

    row, column = ctypes.c_uint64(), ctypes.c_uint64()
    must("team_split_2d", rt, WORLD, 2, None, 0, None, 0, row, column)
    same("row", (my_pe_in(row), n_pes_in(row)), (me % 2, min(2, n - me // 2 * 2)))
    same("column", (my_pe_in(column), n_pes_in(column)), (me // 2, (n - me % 2 + 1) // 2))

    # PE 0 broadcasts a number, and the PEs meet by it in another order.
    words = allocate(2, "uint64")
    if me == 0:
        must("team_unique_id", rt, pointer(ctypes.c_uint64, words))
    must("broadcast", rt, WORLD, at(words), at(words), words.itemsize, 0)
    config = team_config()
    config.uniqueid = words[0]
    join = (config, TeamConfigMask.UNIQUEID, n, right)
    turned = answer(ctypes.c_uint64, "team_init", rt, *join)
    same("team_my_pe after team_init", my_pe_in(turned), right)
    same("team_translate_pe after team_init", translate(turned, 0, WORLD), n - 1)
    must("team_get_config", rt, turned, TeamConfigMask.UNIQUEID, config)
    same("uniqueid", config.uniqueid, int(words[0]))

    # This PE's number in WORLD is its left neighbour's in the team.
    words[1] = 100 + me
    barrier()
    peer = answer(ctypes.c_void_p, "team_ptr", rt, turned, at(words), me)
    if translate(WORLD, left, Team.SHARED) >= 0:
        same("team_ptr", int(view(peer, 2, "uint64")[1]), 100 + left)
    else:
        same("team_ptr", peer, None)  # a PE of another host has no address here
    release(words)

    must("team_destroy", rt, turned)
    expect(Status.BAD_HANDLE, "team_my_pe", rt, turned, ctypes.c_int32())
    expect(Status.BAD_HANDLE, "barrier", rt, turned)
    must("team_destroy", rt, row)
    must("team_destroy", rt, column)
    must("team_destroy", rt, back)  # does nothing where it is INVALID
    expect(Status.INVALID_VALUE, "team_destroy", rt, WORLD)


def strided() -> None:
    field, row = allocate(16, "float64"), me * 100.0 + np.arange(8)
    must("iput", rt, at(field, 1), at(row), 3, 2, 8, 4, right)
    barrier()
    wanted = [left * 100 + (i - 1) / 3 * 2 if i % 3 == 1 and i < 12 else 0 for i in range(16)]
    same("iput", field, wanted)
    got = np.zeros(4)
    must("iget", rt, at(got), at(field, 10), 1, -3, 8, 4, right)
    same("iget", got, [me * 100 + (3 - i) * 2 for i in range(4)])
    release(field)

    blocks, source = allocate(24, "int32"), np.arange(me * 100, me * 100 + 12, dtype="int32")
    must("ibput", rt, at(blocks, 2), at(source), 5, 3, 4, 2, 4, right)
    barrier()
    elements = [left * 100 + i for i in range(12)]
    wanted = [0] * 24
    for block in range(4):
        wanted[2 + block * 5 : 4 + block * 5] = elements[block * 3 : block * 3 + 2]
    same("ibput", blocks, wanted)
    back = np.zeros(8, "int32")
    must("ibget", rt, at(back), at(blocks, 2), 2, 5, 4, 2, 4, right)
    same("ibget", back, [me * 100 + i // 2 * 3 + i % 2 for i in range(8)])
    release(blocks)


def atomics_of(kind: Any, dtype: str, suffix: str, steps: Sequence[Tuple[Any, ...]]) -> None:
    """Each step is an operation, its operands, and the old value if it gives one. The left
    neighbour alone writes to this PE's words, so every old value is known."""
    words, old = allocate(2, dtype), kind(99)
    word = pointer(kind, words)
    for operation, operands, wanted in steps:
        name = f"atomic_{operation}{suffix}"
        if wanted is None:
            must(name, rt, word, *operands, right)
        else:
            same(name, answer(kind, name, rt, word, *operands, right), wanted)
    amount, before, after = (1, 235, 236) if dtype.startswith("u") else (0.25, 3.75, 4)
    must(f"atomic_fetch_add{suffix}_nbi", rt, ctypes.pointer(old), word, amount, right)
    must("quiet", rt)
    same(f"atomic_fetch_add{suffix}_nbi", old.value, before)
    barrier()
    same(f"words after atomics{suffix}", words, [after, 0])
    release(words)


INTEGER_STEPS = (
    ("set", (5,), None),
    ("fetch", (), 5),
    ("swap", (7,), 5),
    ("compare_swap", (7, 12), 7),
    ("compare_swap", (7, 1), 12),
    ("inc", (), None),
    ("fetch_inc", (), 13),
    ("add", (4,), None),
    ("fetch_add", (2,), 18),
    ("or", (3,), None),
    ("fetch_or", (8,), 23),
    ("and", (29,), None),
    ("fetch_and", (21,), 29),
    ("xor", (1,), None),
    ("fetch_xor", (255,), 20),
)
REAL_STEPS = (
    ("set", (1.5,), None),
    ("fetch", (), 1.5),
    ("swap", (2.5,), 1.5),
    ("add", (0.25,), None),
    ("fetch_add", (1,), 2.75),
)


def atomics() -> None:
    for bits, unsigned in ((32, ctypes.c_uint32), (64, ctypes.c_uint64)):
        atomics_of(unsigned, f"uint{bits}", str(bits), INTEGER_STEPS)
    atomics_of(ctypes.c_float, "float32", "_float", REAL_STEPS)
    atomics_of(ctypes.c_double, "float64", "_double", REAL_STEPS)


def waits() -> None:
    """The left neighbour writes 1, 3, 5, 9 into this PE's words; every answer is known."""
    kind = Dtype.INT32
    words, which = allocate(4, "int32"), (ctypes.c_size_t * 4)()
    one, five, values = i32s(1), i32s(5), i32s(1, 3, 5, 9)
    others, not_first, not_odd = i32s(0, 0, 5, 0), i32s(1, 0, 0, 0), i32s(0, 1, 0, 1)

    def ask(name: str, out: Any, skip: Optional[np.ndarray], cmp: Cmp, value: np.ndarray) -> Any:
        status = None if skip is None else pointer(ctypes.c_int32, skip)
        return answer(out, name, rt, at(words), 4, status, cmp, at(value), kind)

    def some(name: str, skip: Optional[np.ndarray], cmp: Cmp, value: np.ndarray) -> List[int]:
        status = None if skip is None else pointer(ctypes.c_int32, skip)
        arguments = (rt, at(words), 4, which, status, cmp, at(value), kind)
        return which[: answer(ctypes.c_size_t, name, *arguments)]

    def test_first() -> int:
        return answer(ctypes.c_int32, "test", rt, at(words), Cmp.EQ, at(one), kind)

    flag, size = ctypes.c_int32, ctypes.c_size_t
    same("test", test_first(), 0)
    barrier()
    must("p32", rt, at(words), 1, right)
    must("wait_until", rt, at(words), Cmp.EQ, at(one), kind)
    same("test", test_first(), 1)
    same("test_any", ask("test_any", size, None, Cmp.GE, five), NOWHERE)
    barrier()

    must("p32", rt, at(words, 2), 5, right)
    same("wait_until_any", ask("wait_until_any", size, not_first, Cmp.GE, one), 2)
    same("test_any", ask("test_any", size, None, Cmp.GE, five), 2)
    same("wait_until_some", some("wait_until_some", None, Cmp.GE, one), [0, 2])
    same("test_some", some("test_some", not_first, Cmp.GE, one), [2])
    same("test_all", ask("test_all", flag, None, Cmp.GE, one), 0)
    same("test_all", ask("test_all", flag, not_odd, Cmp.GE, one), 1)
    none = i32s(1, 1, 1, 1)
    same("wait_until_any of none", ask("wait_until_any", size, none, Cmp.GE, one), NOWHERE)
    name, apart = "wait_until_any_vector", i32s(7, 7, 5, 7)
    same(name, ask(name, size, None, Cmp.EQ, apart), 2)
    name, apart = "test_any_vector", i32s(7, 0, 5, 0)
    same(name, ask(name, size, not_odd, Cmp.EQ, apart), 2)
    barrier()

    must("p32", rt, at(words, 1), 3, right)
    must("p32", rt, at(words, 3), 9, right)
    must("wait_until_all", rt, at(words), 4, None, Cmp.GE, at(one), kind)
    must("wait_until_all_vector", rt, at(words), 4, None, Cmp.EQ, at(values), kind)
    same("test_all_vector", ask("test_all_vector", flag, None, Cmp.EQ, values), 1)
    same("test_all_vector", ask("test_all_vector", flag, None, Cmp.EQ, others), 0)
    name = "wait_until_some_vector"
    same(name, some(name, None, Cmp.EQ, i32s(1, 0, 5, 0)), [0, 2])
    same("test_some_vector", some("test_some_vector", None, Cmp.EQ, others), [2])
    release(words)

    real, word = allocate(1, "float64"), allocate(1, "uint64")
    sent, half, zero = np.array([2.5]), np.array([0.5]), np.array([0], "uint64")
    must("put", rt, at(real), at(sent), 8, right)
    must("wait_until", rt, at(real), Cmp.GT, at(half), Dtype.DOUBLE)
    same("double waited for", real, [2.5])
    must("atomic_add64", rt, pointer(ctypes.c_uint64, word), 3, right)
    must("wait_until", rt, at(word), Cmp.NE, at(zero), Dtype.UINT64)
    same("uint64 waited for", word, [3])
    release(word)
    release(real)


def moves(team: int, m: int, k: int, dest: np.ndarray, source: np.ndarray) -> None:
    """Member `m` of `k`. Elements that no member writes to stay -7."""

    def fill() -> None:
        must("sync", rt, team)
        dest[:], source[:] = -7, m * 100 + np.arange(64)
        must("sync", rt, team)

    to, start = at(dest), at(source)
    fill()
    must("broadcast", rt, team, to, start, 24, k - 1)
    same("broadcast", dest[:4], [(k - 1) * 100 + i for i in range(3)] + [-7])

    gathered = [pe * 100 + i for pe in range(k) for i in range(3)]
    fill()
    must("fcollect", rt, team, to, start, 24)
    same("fcollect", dest[: k * 3 + 1], gathered + [-7])
    fill()
    must("fcollect", rt, team, start, at(source, m * 3), 24)
    in_place = [i // 3 * 100 + i for i in range(k * 3)]
    same("fcollect in place", source[: k * 3], in_place)

    fill()  # member m gives m + 1 elements
    must("collect", rt, team, to, start, (m + 1) * 8)
    collected = [pe * 100 + i for pe in range(k) for i in range(pe + 1)]
    same("collect", dest[: len(collected) + 1], collected + [-7])

    received = [pe * 100 + m * 2 + i for pe in range(k) for i in range(2)]
    fill()
    must("alltoall", rt, team, to, start, 16)
    same("alltoall", dest[: k * 2 + 1], received + [-7])
    fill()
    must("alltoall", rt, team, start, start, 16)
    same("alltoall in place", source[: k * 2], received)
    fill()
    must("alltoalls", rt, team, to, start, 2, 3, 8, 2)
    spread = [x for pe in range(k) for i in range(2) for x in (pe * 100 + (m * 2 + i) * 3, -7)]
    same("alltoalls", dest[: k * 4], spread)

    for root in range(k):  # the buffer of a PE that is not the root is not used
        own, kept = at(source, root * 2), [m * 100 + i for i in range(k * 2)]
        fill()
        must("gather", rt, team, to if m == root else None, start, 16, root)
        all_parts = [pe * 100 + i for pe in range(k) for i in range(2)]
        same("gather", dest[: k * 2 + 1], (all_parts if m == root else [-7] * (k * 2)) + [-7])
        fill()
        must("gather", rt, team, start, own, 16, root)
        all_parts = [pe * 100 + root * 2 + i for pe in range(k) for i in range(2)]
        same("gather in place", source[: k * 2], all_parts if m == root else kept)
        fill()
        must("scatter", rt, team, to, start if m == root else None, 16, root)
        part = [root * 100 + m * 2, root * 100 + m * 2 + 1]
        same("scatter", dest[:3], part + [-7])
        fill()
        must("scatter", rt, team, own, start, 16, root)
        kept[root * 2 : root * 2 + 2] = part
        same("scatter in place", source[: k * 2], kept)


def scans(team: int, m: int, k: int, dest: np.ndarray, source: np.ndarray) -> None:
    def run(name: str, to: int, count: int, op: Op) -> None:
        must("sync", rt, team)
        dest[:], source[:] = -7, (m + 1) * np.arange(1, 17)
        must("sync", rt, team)
        must(name, rt, team, to, at(source), count, Dtype.INT32, op)

    total, before, to_me = k * (k + 1) // 2, m * (m + 1) // 2, (m + 1) * (m + 2) // 2
    kept = [total * (m * 2 + 1), total * (m * 2 + 2)]
    run("reducescatter", at(dest), 2, Op.SUM)
    same("reducescatter", dest[:3], kept + [-7])
    run("reducescatter", at(source, m * 2), 2, Op.SUM)
    same("reducescatter in place", source[m * 2 : m * 2 + 2], kept)
    run("inscan", at(dest), 2, Op.SUM)
    same("inscan", dest[:3], [to_me, to_me * 2, -7])
    run("inscan", at(source), 2, Op.SUM)
    same("inscan in place", source[:3], [to_me, to_me * 2, (m + 1) * 3])
    run("exscan", at(dest), 2, Op.SUM)
    same("exscan", dest[:3], [before, before * 2, -7])
    run("exscan", at(source), 1, Op.MIN)
    same("exscan in place", int(source[0]), 2**31 - 1 if m == 0 else 1)


def reductions(team: int, m: int, k: int, memory: np.ndarray) -> None:
    factorial = (1, 1, 2, 6, 24)
    for dtype, kind, op, mine, wanted in (
        ("uint8", Dtype.UINT8, Op.XOR, 1 << m | 1 << 7, (1 << k) - 1 + (k % 2 << 7)),
        ("int16", Dtype.INT16, Op.MIN, -m, 1 - k),
        ("uint32", Dtype.UINT32, Op.AND, 2**32 - 1 - (1 << m), 2**32 - (1 << k)),
        ("uint64", Dtype.UINT64, Op.OR, 1 << (40 + m), ((1 << k) - 1) << 40),
        ("int64", Dtype.INT64, Op.PROD, -(m + 1), (-1) ** k * factorial[k]),
        ("float16", Dtype.HALF, Op.SUM, m + 0.5, k * k / 2),
        ("float32", Dtype.FLOAT, Op.MAX, m + 0.5, k - 0.5),
        ("float64", Dtype.DOUBLE, Op.SUM, (m + 1) * 0.25, k * (k + 1) // 2 * 0.25),
        ("complex64", Dtype.COMPLEXF, Op.PROD, 1j, 1j**k),
        ("complex128", Dtype.COMPLEXD, Op.SUM, m + 1j, k * (k - 1) // 2 + k * 1j),
    ):
        source, dest = view(at(memory), 4, dtype), view(at(memory, 8), 3, dtype)
        source[:2], dest[:] = mine, 77
        must("sync", rt, team)
        must("reduce", rt, team, at(dest), at(source), 2, kind, op)
        same(f"reduce of {dtype}", dest, [wanted, wanted, 77])
        must("reduce", rt, team, at(source), at(source), 2, kind, op)
        same(f"reduce of {dtype} in place", source[:2], [wanted, wanted])


def collectives() -> None:
    memory = allocate(128, "int64")
    dest, source = view(at(memory), 16, "int32"), view(at(memory, 8), 16, "int32")
    back, mine = split_back()

    def run(team: int, m: int, k: int) -> None:
        moves(team, m, k, memory[:64], memory[64:])
        scans(team, m, k, dest, source)
        reductions(team, m, k, memory)

    run(WORLD, me, n)
    barrier()
    if mine >= 0:
        run(back, mine, (n + 1) // 2)
        must("barrier", rt, back)
    must("team_destroy", rt, back)
    release(memory)


def streams() -> None:
    data, words = allocate(4, "float64"), allocate(2, "uint64")
    row, calls = me * 10.0 + np.arange(3), []

    def note(user: Optional[int]) -> int:
        calls.append(user)
        return 0

    host_function = _ffi.HostFunction(note)  # kept until the stream has called it
    first = answer(ctypes.c_uint64, "stream_new", rt)
    second = answer(ctypes.c_uint64, "stream_new", rt)
    start = answer(ctypes.c_uint64, "event_new", rt)
    end = answer(ctypes.c_uint64, "event_new", rt)
    signal = pointer(ctypes.c_uint64, words)
    must("event_record", start, first)
    must("put_signal", first, at(data), at(row), row.nbytes, signal, 1, SignalOp.SET, right)
    must("signal_wait", first, signal, Cmp.EQ, 1, None)
    must("event_record", end, first)
    must("stream_wait_event", second, end)
    must("stream_call", second, host_function, 1234)
    must("stream_synchronize", second)
    same("calls", calls, [1234])
    same("put_signal on a stream", data, [left * 10 + i for i in range(3)] + [0])
    must("event_synchronize", end)
    same("event_query", answer(ctypes.c_int32, "event_query", end), 1)
    milliseconds = answer(ctypes.c_double, "event_elapsed", start, end)
    same(f"event_elapsed {milliseconds} within bounds", 0 <= milliseconds < 60e3, True)

    # An error is kept until the stream is synchronized, once; the operations queued behind it run.
    must("put", first, at(data), at(row), 8, n)
    counter = pointer(ctypes.c_uint64, words, 1)
    same("old", answer(ctypes.c_uint64, "atomic_fetch_add64", first, counter, 4, right), 0)
    expect(Status.PE_RANGE, "stream_synchronize", first)
    must("stream_synchronize", first)
    must("barrier", first, WORLD)
    must("stream_synchronize", first)
    same("atomic on a stream", int(words[1]), 4)
    same("stream_query", answer(ctypes.c_int32, "stream_query", first), 1)
    must("event_free", start)
    must("event_free", end)
    must("stream_free", second)
    must("stream_free", first)
    release(words)
    release(data)


def memory() -> None:
    small = allocate(4, "int64")
    small[:] = me * 10 + np.arange(4)
    grown_at = answer(ctypes.c_void_p, "realloc", rt, at(small), 4000)
    grown = view(grown_at, 500, "int64")
    same("realloc", grown[:4], [me * 10 + i for i in range(4)])
    must("p64", rt, at(grown, 499), 77 + me, right)
    barrier()
    same("behind realloc", int(grown[499]), 77 + left)
    same("realloc to 0", answer(ctypes.c_void_p, "realloc", rt, grown_at, 0), None)

    # The caller's own memory becomes symmetric where it is, and private again.
    pages = mmap.mmap(-1, 65536, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    buffer = np.frombuffer(pages, "int64")
    buffer[1] = me * 10 + 1
    registered = answer(ctypes.c_void_p, "buffer_register", rt, at(buffer), buffer.nbytes, None)
    symmetric = view(registered, buffer.size, "int64")
    same("registered", int(symmetric[1]), me * 10 + 1)
    must("p64", rt, at(symmetric, 5), 50 + me, right)
    must("p64", rt, at(buffer, 6), 60 + me, right)
    barrier()
    same("buffer", int(buffer[5]), 50 + left)
    same("symmetric", int(symmetric[6]), 60 + left)
    barrier()
    must("buffer_unregister", rt, registered)
    same("unregistered", (int(buffer[1]), int(buffer[6])), (me * 10 + 1, 60 + left))
    expect(Status.NOT_SYMMETRIC, "p64", rt, at(buffer), 1, right)


must("init", None, handle)
rt = handle.value
me, n = answer(ctypes.c_int32, "my_pe", rt), answer(ctypes.c_int32, "n_pes", rt)
left, right = (me + n - 1) % n, (me + 1) % n
same("thread_support", _ffi.lib.nvshmemrs_thread_support(), Thread.MULTIPLE)

done = ""
for scenario in (teams, strided, atomics, waits, collectives, streams, memory):
    scenario()
    done += f" {scenario.__name__}"

stats = _ffi.HeapStats()
must("heap_stats", rt, stats)
same("allocations", stats.allocations, 0)
must("finalize", rt)
# One write, so that PEs do not mix.
sys.stdout.write(f"model ok PE {me} of {n} (Python):{done}\n")
