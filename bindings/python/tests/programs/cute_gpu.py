"""Launches the kernels of CuTe that ``cute/build.py`` compiled, where there is no CuTe: cubins,
loaded by cuda.core. What they write is compared with what NumPy computes, and what lies around it.

    nvshmemrs-run -n 2 -- python cute_gpu.py FOLDER PART...

The parts: moves, lends, atomics, ordered, collectives, queries, meets, checked, killed, times. Under
``checked``, NVSHMEMRS_DEVICE_CHECK is 1. Under ``killed`` the last PE kills itself.
"""

import ctypes
import json
import os
import signal
import sys
from pathlib import Path

import cupy
import numpy as np
from cuda.bindings import driver
from cuda.core import Device, LaunchConfig, ObjectCode, launch

import nvshmemrs
import nvshmemrs.core as nvshmem

try:
    import ml_dtypes

    FLOAT8 = {"Float8E4M3FN": ml_dtypes.float8_e4m3fn, "Float8E5M2": ml_dtypes.float8_e5m2}
except ImportError:
    FLOAT8 = {}

FOLDER, PARTS = Path(sys.argv[1]), sys.argv[2:]
LISTED = json.loads((FOLDER / "kernels.json").read_text())
THREADS, N, STEP = 128, 37, 41
PUT_ROWS, GET_ROWS, SIGNALS, CELLS, ROUNDS = 13, 7, 6, 17, 256
C, PLACE, PES, LENT = 67, 8 * 67 + 13, 8, 12288
SCOPES = ("", "_warp", "_block")
NUMBERS, BITS = ("min", "max", "sum", "prod"), ("and", "or", "xor")

number = int(os.environ.get("NVSHMEMRS_PE", "0")) % cupy.cuda.runtime.getDeviceCount()
cupy.cuda.Device(number).use()
HEAP = 1 << 28 if {"moves", "times"} & {*PARTS} else 1 << 25
device = Device(number)
device.set_current()
nvshmem.init(device=device, heap_bytes=HEAP, timeout=60)
me, n = nvshmem.my_pe(), nvshmem.n_pes()
right, left = (me + 1) % n, (me - 1) % n
state = nvshmem.device.state()
stream = device.default_stream


def loaded(name):
    """A kernel, and the library that it is in, which must not go before."""
    entry = LISTED[name]
    code = ObjectCode.from_cubin((FOLDER / entry["file"]).read_bytes())
    return code, code.get_kernel(entry["kernel"])


def checked(result):
    status = result[0]
    assert int(status) == 0, status


def start(kernel, *arguments, grid=1, block=THREADS, shared=0):
    """Launches a kernel that takes the state by value, which cuda.core's launch has no form for."""
    held = [ctypes.create_string_buffer(bytes(state), 64)]
    for argument in arguments:
        if hasattr(argument, "__cuda_array_interface__"):
            argument = np.uint64(argument.__cuda_array_interface__["data"][0])
        held.append(np.array(argument))
    at = [x.ctypes.data if isinstance(x, np.ndarray) else ctypes.addressof(x) for x in held]
    table = (ctypes.c_void_p * len(at))(*at)
    function = driver.CUfunction(int(kernel[1].handle))
    shape = (grid, 1, 1, block, 1, 1, 0)
    checked(driver.cuLaunchKernel(function, *shape[:-1], shared, 0, ctypes.addressof(table), 0))


def done():
    cupy.cuda.runtime.deviceSynchronize()
    nvshmem.barrier_all()


KINDS = {
    "Int8": "i1", "Uint8": "u1", "Int16": "i2", "Int32": "i4", "Uint32": "u4", "Int64": "i8",
    "Uint64": "u8", "Float16": "f2", "BFloat16": "u2", "Float32": "f4", "Float64": "f8",
    "Float8E4M3FN": "u1", "Float8E5M2": "u1",
}  # fmt: skip


def names(part):
    return [name for name in LISTED if name.split()[0].startswith(part)]


def of(pe, count, kind, most=50):
    """What a PE has in its source: small numbers that differ from PE to PE."""
    return ((np.arange(count) * 7 + pe * 13 + 1) % most).astype(kind)


def put(array, values):
    array[...] = cupy.asarray(values)
    cupy.cuda.runtime.deviceSynchronize()


def moves():
    for name in names("moves"):
        kind = KINDS[name.split()[1]]
        kernel = loaded(name)
        out, got = nvshmem.array(PUT_ROWS * STEP, kind), nvshmem.array(GET_ROWS * STEP, kind)
        src, signals = nvshmem.array(2 * STEP, kind), nvshmem.array(SIGNALS, "u8")
        put(src, of(me, 2 * STEP, kind))
        put(out, np.full(PUT_ROWS * STEP, 99, kind))
        put(got, np.full(GET_ROWS * STEP, 99, kind))
        nvshmem.barrier_all()
        start(kernel, out, got, src, signals)
        done()
        wanted = np.full((PUT_ROWS, STEP), 99, kind)
        wanted[:12, 1 : 1 + N] = of(left, 2 * STEP, kind)[1 : 1 + N]
        wanted[12, 1] = of(left, 2 * STEP, kind)[1]
        assert np.array_equal(out.get(), wanted.ravel()), (name, out.get())
        wanted = np.full((GET_ROWS, STEP), 99, kind)
        wanted[:6, 1 : 1 + N] = of(right, 2 * STEP, kind)[1 : 1 + N]
        wanted[6, 1] = of(right, 2 * STEP, kind)[1]
        assert np.array_equal(got.get(), wanted.ravel()), (name, got.get())
        assert signals.get().tolist() == list(range(10, 16)), signals
        for array in (out, got, src, signals):
            nvshmem.free_array(array)
    # A put of many blocks, with what is behind it.
    kernel = loaded("spread")
    size = 1 << 24
    dst, src = cupy_pair(size)
    put(src, of(me, size + 4, "f4"))
    nvshmem.barrier_all()
    start(kernel, dst, src, np.int32(right), grid=132, block=1024)
    done()
    assert np.array_equal(dst.get()[:size], of(left, size + 4, "f4")[:size])
    assert not dst.get()[size:].any()


def lends():
    """Puts and gets of kernels that lend shared memory: enough, and too little."""
    for name in names("lends"):
        lent, kind = "enough" in name, KINDS[name.split()[1]]
        kernel, size = loaded(name), np.dtype(kind).itemsize
        signals, given = nvshmem.array(SIGNALS, "u8"), nvshmem.array(1, "i4")
        places = [(0, 0, 60001), (5, 5, 60001), (16 // size + 1, 1, 3001), (1, 2, 3001)]
        places += [(1, 1, 2048 // size + more) for more in (-1, 0, 16)]
        for first, begin, count in places:
            step = first + count + 3
            src, dst = nvshmem.array(begin + count, kind), nvshmem.array(12 * step, kind)
            put(src, of(me, begin + count, kind))
            put(dst, np.full(12 * step, 99, kind))
            nvshmem.barrier_all()
            numbers = [np.int32(x) for x in (first, begin, count, step)]
            start(kernel, dst, src, signals, given, *numbers, shared=LENT)
            done()
            wanted = np.full((12, step), 99, kind)
            for row in range(12):
                pe = right if row in (2, 4, 11) else left
                wanted[row, first : first + count] = of(pe, begin + count, kind)[begin:]
            wrong = np.flatnonzero(dst.get() != wanted.ravel())
            assert not len(wrong), (name, first, begin, count, step, len(wrong), wrong[:5])
            nvshmem.free_array(src)
            nvshmem.free_array(dst)
        engines = int(cupy.cuda.Device().compute_capability) >= 90
        assert given.get()[0] == (LENT if engines and lent else 0), (name, given)
        assert signals.get()[0] == 5, (name, signals)
        nvshmem.free_array(signals)
        nvshmem.free_array(given)


def cupy_pair(size):
    return nvshmem.array(size + 4, "f4"), nvshmem.array(size + 4, "f4")


def atomics():
    for name in names("atomics"):
        kind = np.dtype(KINDS[name.split()[1]])
        kernel = loaded(name)
        x, old = nvshmem.array(CELLS, kind), nvshmem.array(CELLS, kind)
        before = np.full(CELLS, 17, kind)
        before[15], before[16] = 0, 99
        put(x, before)
        put(old, np.full(CELLS, 99, kind))
        nvshmem.barrier_all()
        start(kernel, x, old)
        done()
        after, said = before.copy(), np.full(CELLS, 99, kind)
        after[1:5] = 5, 7, 20, 21
        said[[0, 2, 4]] = 17
        if kind.kind in "iu":
            after[5:15] = 18, 18, 9, 17, 0, 0, 29, 29, 29, 29
            said[[6, 7, 8, 10, 12, 14]] = 17
        after[15] = THREADS * n if me == 0 else 0
        assert np.array_equal(x.get(), after), (name, x.get(), after)
        assert np.array_equal(old.get(), said), (name, old.get(), said)
        nvshmem.free_array(x)
        nvshmem.free_array(old)


def ordered():
    data, src = nvshmem.array(ROUNDS * (2 + THREADS), "i4"), nvshmem.array(ROUNDS + THREADS, "i4")
    signals, wrong = nvshmem.array(SIGNALS, "u8"), nvshmem.array(3, "i4")
    kernel = loaded("ordered")
    for _ in range(4):
        put(src, np.arange(ROUNDS + THREADS))
        put(data, np.full(data.size, -1))
        put(signals, np.zeros(SIGNALS))
        nvshmem.barrier_all()
        start(kernel, data, src, signals, wrong)
        done()
        assert wrong.get().tolist() == [0, 0, 0], wrong


def as_float(values, kind):
    """bfloat16 and float8 are in bytes that NumPy takes for integers."""
    if kind == "BFloat16":
        return (values.astype("u4") << 16).view("f4")
    return values.view(FLOAT8[kind]).astype("f4") if kind in FLOAT8 else values


def as_bits(values, kind):
    """And back; float8 saturates."""
    if kind == "BFloat16":
        return (values.view("u4") >> 16).astype("u2")
    if kind not in FLOAT8:
        return values
    most = float(ml_dtypes.finfo(FLOAT8[kind]).max)
    return np.clip(values, -most, most).astype(FLOAT8[kind]).view("u1")


def folded(op, parts):
    functions = {
        "min": np.minimum, "max": np.maximum, "sum": np.add, "prod": np.multiply,
        "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    }  # fmt: skip
    value = parts[0]
    for other in parts[1:]:
        value = functions[op](value, other)
    return value


def collectives():
    team = nvshmem.team_split_strided(nvshmem.Teams.TEAM_WORLD, 0, 1, n)
    for name in names("collectives"):
        scope, kind = name.split()[0][len("collectives") :], name.split()[1]
        if "Float8" in kind and not FLOAT8:
            print(f"cute: without {name}: ml_dtypes is not installed", flush=True)
            continue
        for turn in range(3):
            run_collectives(loaded(name), scope, kind, 0 if turn < 2 else int(team), turn)


def run_collectives(kernel, scope, kind, team, turn):
    members = list(range(n))
    dtype, m, mine = np.dtype(KINDS[kind]), len(members), members.index(me)
    ops = NUMBERS if "Float" in kind else NUMBERS + BITS

    def source(pe):
        # Products of small numbers are exact in all types.
        values = of(pe + turn, C * PES, "f4", 6) + 1
        narrow = kind == "BFloat16" or kind in FLOAT8
        return as_bits(values, kind) if narrow else values.astype(dtype)

    out, src = nvshmem.array(22 * PLACE, dtype), nvshmem.array(C * PES, dtype)
    same, status = nvshmem.array(C * PES, dtype), nvshmem.array(32, "i4")
    put(src, source(me))
    put(same, source(me))
    put(out, np.full(22 * PLACE, 77, dtype))
    put(status, np.full(32, -7))
    nvshmem.barrier_all()
    root = turn % m
    start(kernel, np.uint64(team), np.int32(root), np.int32(turn), out, src, same, status)
    done()
    parts = [source(pe) for pe in members]
    wanted = np.full((22, PLACE), 77, dtype)
    wanted[2, :C] = parts[root][:C]
    wanted[3, : C * m] = np.concatenate([part[:C] for part in parts])
    each = C * PES // m
    wanted[4, : each * m] = np.concatenate(
        [part[each * mine : each * mine + each] for part in parts]
    )
    at = 7
    numbers = [as_float(part, kind) for part in parts]
    for op in ops:
        whole = folded(op, [part[:C] for part in numbers])
        own = folded(op, [part[C * mine : C * mine + C] for part in numbers])
        for value in (whole, own):
            wanted[at, :C] = as_bits(value, kind)
            at += 1
    found = out.get().reshape(22, PLACE)
    for place in range(22):
        assert np.array_equal(found[place], wanted[place]), (scope, kind, place, found[place])
    results = status.get()
    assert not results[: at + 1].any() and (results[at + 1 :] == -7).all(), (scope, kind, results)
    total = as_bits(folded("sum", [part[:C] for part in numbers]), kind)
    assert np.array_equal(same.get()[:C], total), (scope, kind, same)
    assert np.array_equal(same.get()[C:], source(me)[C:])
    for array in (out, src, same, status):
        nvshmem.free_array(array)


def queries():
    """By cuda.core's own launch: the kernel takes the state as an address."""
    team = nvshmem.team_split_strided(nvshmem.Teams.TEAM_WORLD, n - 1, 1, 1)
    handle = (1 << 63) if team is None else int(team)
    x, found = nvshmem.array(8, "i4"), nvshmem.array(8, "i4")
    _, kernel = held = loaded("queries")
    addresses = [a.__cuda_array_interface__["data"][0] for a in (x, found)]
    arguments = [np.int64(state.pointer), np.uint64(handle), *map(np.uint64, addresses)]
    launch(stream, LaunchConfig(grid=1, block=1), kernel, *arguments)
    done()
    member = me == n - 1
    wanted = [me, n, 0 if member else -1, 1 if member else -1, -1, 65536, 0, left + 100]
    assert found.get().tolist() == wanted, (found, wanted)
    assert x.get().tolist() == [0, left + 100, 0, 0, 0, 0, 0, 0], x
    del held


SOURCE = r"""
#include <nvshmemrs_device.cuh>
extern "C" __global__ void met(nvshmemrs_device_state_t s, unsigned long team, float *out, float *src, int *status) {
    int result = nvshmemrs_float_sum_reduce_block(s, team, out, src, 1000, 3);
    int again = nvshmemrs_barrier_all_block(s, 3);
    if (threadIdx.x == 0) { status[0] = result; status[1] = again; }
}
"""


def meets():
    """PE 0's kernel is CuTe's, the others' are CUDA C++."""
    out, src = nvshmem.array(1001, "f4"), nvshmem.array(1000, "f4")
    status = nvshmem.array(8, "i4")
    options = (f"-I{nvshmemrs.include_dir()}", "--std=c++17")
    other = cupy.RawKernel(SOURCE, "met", options=options, backend="nvrtc")
    ours = loaded("met")
    for turn in range(4):
        put(src, of(me + turn, 1000, "f4"))
        put(out, np.full(1001, -1, "f4"))
        put(status, np.full(8, -7))
        nvshmem.barrier_all()
        if (me + turn) % 2 == 0:
            start(ours, np.uint64(0), out, src, status)
        else:
            other((1,), (THREADS,), (state.scalar, np.uint64(0), out, src, status))
        done()
        wanted = folded("sum", [of(pe + turn, 1000, "f4") for pe in range(n)])
        assert np.array_equal(out.get()[:1000], wanted) and out.get()[1000] == -1, turn
        assert status.get().tolist() == [0, 0] + 6 * [-7], status


def checked_part():
    """The kernel ends itself, and the host tells why."""
    x = nvshmem.array(8, "i4")
    start(loaded("wrong_pe"), x, block=1)
    try:
        cupy.cuda.runtime.deviceSynchronize()
    except cupy.cuda.runtime.CUDARuntimeError:
        pass
    try:
        nvshmem.barrier_all()
    except nvshmem.NvshmemError as error:
        assert f"is {n + 3} in thread 0 of block 0" in str(error), error
        print("cute ok: checked", flush=True)
        os._exit(0)
    raise AssertionError("a wrong PE was not told")


def killed():
    """A wait ends when another PE has died."""
    word, seen = nvshmem.array(1, "u8"), nvshmem.array(8, "i4")
    kernel = loaded("waits")
    start(kernel, word, seen, block=1)
    if me == n - 1:
        os.kill(os.getpid(), signal.SIGKILL)
    cupy.cuda.runtime.deviceSynchronize()
    assert int(cupy.asnumpy(seen)[0]) == 1, seen
    try:
        nvshmem.barrier_all()
    except nvshmem.PeDiedError:
        print("cute ok: killed", flush=True)
        os._exit(0)
    raise AssertionError("nobody said that a PE died")


def timed(kernel, repeat, *arguments, **shape):
    """Microseconds, the median of some launches."""
    taken = []
    for _ in range(repeat):
        nvshmem.barrier_all()
        first, last = cupy.cuda.Event(), cupy.cuda.Event()
        first.record()
        start(kernel, *arguments, **shape)
        last.record()
        done()
        taken.append(cupy.cuda.get_elapsed_time(first, last) * 1000)
    return sorted(taken)[repeat // 2]


def times():
    rows = []
    if n == 2:
        word, x, src = (nvshmem.array(1, kind) for kind in ("u8", "i8", "i8"))
        for name, arguments in (("ping_pong", (word,)), ("put_ping_pong", (x, src, word))):
            kernel = loaded(name)
            slow = timed(kernel, 9, *arguments, np.int32(1000), block=1)
            put(word, np.zeros(1))
            fast = timed(kernel, 9, *arguments, np.int32(11000), block=1)
            rows.append((f"{name}, round trip", (slow and fast - slow) / 10000, "us"))
            put(word, np.zeros(1))
    size = 1 << 24
    dst, src = cupy_pair(size)
    kernel = loaded("spread")
    for blocks, threads in ((132, 1024), (132, 512), (32, 1024)):
        took = timed(kernel, 9, dst, src, np.int32(right), grid=blocks, block=threads)
        rows.append((f"put of 64 MiB, {blocks} blocks of {threads}", size * 4e-3 / took, "GB/s"))
    if me == 0:
        for name, value, unit in rows:
            print(f"{name:40} {value:8.2f} {unit}")


for part in PARTS:
    {"checked": checked_part}.get(part, globals().get(part))()
nvshmem.finalize()
for part in PARTS:
    print(f"cute ok: {part}", flush=True)
