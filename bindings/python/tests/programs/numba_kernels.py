"""Kernels of Numba that communicate, on a GPU or in Numba's simulator: `numba_kernels.py PART..`,
with `few` among the parts for a few types of elements only, and `small` for few elements of each.

Each PE writes to the next one, and checks what it got from the one before, and the elements beside.
With NUMBA_ENABLE_CUDASIM=1 the heap is host memory; else kernels are compiled for the GPU, or were
compiled elsewhere: see `numba_chosen.py`.
"""

from __future__ import annotations

import os
import sys

import numpy as np
from numba_chosen import SIMULATED, cuda, fill, host, low, same, shmem

import nvshmemrs.core as nvshmem

ADD, SET = nvshmem.SignalOp.SIGNAL_ADD, nvshmem.SignalOp.SIGNAL_SET
EQ, NE, GT, LE, LT, GE = (nvshmem.ComparisonType(cmp) for cmp in range(6))
THREADS = 4 if SIMULATED else 64
NUMBERS = "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64".split()
AMO = "int32 int64 uint32 uint64 float32 float64 float16".split()
WAITED = "int16 int32 int64 uint16 uint32 uint64".split()
MOVED = "int8 float64".split()
FEW = "few" in sys.argv
# What runs in Python takes its time.
SMALL = SIMULATED or "small" in sys.argv
if FEW:
    NUMBERS, AMO, WAITED = ["int8", "float16", "int64"], ["uint32", "float16"], ["int16", "uint64"]


def bfloat16_is_there():
    """Arrays on GPUs have it with CuPy from version 14."""
    if SIMULATED:
        return True
    import cupy
    import ml_dtypes

    try:
        cupy.zeros(1, ml_dtypes.bfloat16)
    except (TypeError, ValueError) as error:
        print(f"numba: without bfloat16, which CuPy {cupy.__version__} lacks: {error}", flush=True)
        return False
    return True


def launch(kernel, *arguments, threads=THREADS, blocks=1):
    kernel[blocks, threads](*arguments)
    cuda.synchronize()


def pattern(pe, n, dtype):
    return ((np.arange(n) * 3 + pe * 5) % 100 + 1).astype(dtype)


# --- puts and gets --------------------------------------------------------------------------------


@cuda.jit
def puts(dst, src, sig, pe, n):
    s = n + 1
    t = cuda.threadIdx.x
    if t == 0:
        shmem.put(dst[0:n], src, pe)
        shmem.put_nbi(dst[s : s + n], src, pe)
        shmem.p(dst[2 * s : 2 * s + 1], src, pe)
        shmem.p(dst[2 * s + 1 : 2 * s + 2], src[1], pe)
        shmem.iput(dst[3 * s : 4 * s], src, 2, 3, n // 3, pe)
        shmem.put_signal(dst[4 * s : 4 * s + n], src, sig[0:1], 1, ADD, pe)
        shmem.put_signal_nbi(dst[5 * s : 5 * s + n], src, sig[1:2], 7, SET, pe)
    if t < 32:
        shmem.put_warp(dst[6 * s : 6 * s + n], src, pe)
        shmem.put_nbi_warp(dst[7 * s : 7 * s + n], src, pe)
        shmem.put_signal_warp(dst[8 * s : 8 * s + n], src, sig[2:3], 7, SET, pe)
        shmem.put_signal_nbi_warp(dst[9 * s : 9 * s + n], src, sig[3:4], 2, ADD, pe)
    shmem.put_block(dst[10 * s : 10 * s + n], src, pe)
    shmem.put_nbi_block(dst[11 * s : 11 * s + n], src, pe)
    shmem.put_signal_block(dst[12 * s : 12 * s + n], src, sig[4:5], 3, ADD, pe)
    shmem.put_signal_nbi_block(dst[13 * s : 13 * s + n], src, sig[5:6], 4, SET, pe)
    shmem.iput_block(dst[14 * s : 15 * s], src, 1, 1, n, pe)
    shmem.quiet()
    shmem.barrier_all_block()


@cuda.jit
def gets(dst, src, pe, n):
    s = n + 1
    if cuda.threadIdx.x == 0:
        shmem.get(dst[0:n], src, pe)
        shmem.get_nbi(dst[s : s + n], src, pe)
        dst[2 * s] = shmem.g(src, pe)
        dst[2 * s + 1] = shmem.g(src[1:], pe)
        shmem.iget(dst[3 * s : 4 * s], src, 2, 3, n // 3, pe)
        other = shmem.get_peer_array(src, pe)
        for i in range(n):
            dst[4 * s + i] = other[i]
    if cuda.threadIdx.x < 32:
        shmem.get_warp(dst[6 * s : 6 * s + n], src, pe)
        shmem.get_nbi_warp(dst[7 * s : 7 * s + n], src, pe)
    shmem.get_block(dst[10 * s : 10 * s + n], src, pe)
    shmem.get_nbi_block(dst[11 * s : 11 * s + n], src, pe)
    shmem.iget_block(dst[14 * s : 15 * s], src, 1, 1, n, pe)
    shmem.barrier_all_block()


def rma(dtype):
    n = 37 if SMALL else 1037
    src, dst = nvshmem.array(n, dtype), nvshmem.array(15 * (n + 1), dtype)
    signals = nvshmem.array(6, "uint64")
    fill(src, pattern(me, n, src.dtype))
    nvshmem.barrier_all()
    for kernel, pe, parts in (
        (puts, left, range(15)),
        (gets, None, (0, 1, 2, 3, 4, 6, 7, 10, 11, 14)),
    ):
        if kernel is puts:
            launch(kernel, dst, src, signals, right, n)
            same(host(signals), [1, 7, 7, 2, 3, 4], f"signals, {dtype}")
        else:
            fill(dst, np.zeros(dst.shape, dst.dtype))
            nvshmem.barrier_all()
            launch(kernel, dst, src, right, n)
        theirs = pattern(left if pe is not None else right, n, src.dtype)
        got = host(dst).reshape(15, n + 1)
        for part in parts:
            expected = np.zeros(n + 1, src.dtype)
            if part == 2:
                expected[:2] = theirs[:2]
            elif part == 3:
                expected[0 : 2 * (n // 3) : 2] = theirs[0 : 3 * (n // 3) : 3]
            else:
                expected[:n] = theirs
            same(got[part], expected, f"{dtype}, part {part}")
        nvshmem.barrier_all()
    for array in (src, dst, signals):
        nvshmem.free_array(array)


# --- atomics --------------------------------------------------------------------------------------


@cuda.jit
def atomics(x, old, pe):
    if cuda.threadIdx.x == 0:
        old[0] = shmem.atomic_fetch(x, pe)
        shmem.atomic_set(x, 5, pe)
        old[1] = shmem.atomic_swap(x, 6, pe)
        old[2] = shmem.atomic_compare_swap(x, 9, 1, pe)
        old[3] = shmem.atomic_compare_swap(x, 6, 8, pe)
        shmem.atomic_inc(x, pe)
        old[4] = shmem.atomic_fetch_inc(x, pe)
        shmem.atomic_add(x, 2, pe)
        old[5] = shmem.atomic_fetch_add(x, 3, pe)
        old[6] = shmem.atomic_fetch(x, pe)


@cuda.jit
def bitwise(x, old, pe):
    if cuda.threadIdx.x == 0:
        shmem.atomic_or(x, 12, pe)
        old[0] = shmem.atomic_fetch_or(x, 3, pe)
        shmem.atomic_and(x, 14, pe)
        old[1] = shmem.atomic_fetch_and(x, 6, pe)
        shmem.atomic_xor(x, 5, pe)
        old[2] = shmem.atomic_fetch_xor(x, 1, pe)
        old[3] = shmem.atomic_fetch(x, pe)


@cuda.jit
def count_up(x, pes):
    for pe in range(pes):
        shmem.atomic_add(x, 1, pe)
        shmem.atomic_fetch_inc(x[1:], pe)


def amo(dtype):
    x, old = nvshmem.array(3, dtype), nvshmem.array(8, dtype)
    fill(x, [4, 0, 9])
    nvshmem.barrier_all()
    launch(atomics, x, old, right)
    nvshmem.barrier_all()
    same(host(old), [4, 5, 6, 6, 9, 12, 15, 0], f"old values, {dtype}")
    same(host(x), [15, 0, 9], f"atomics, {dtype}")
    nvshmem.barrier_all()
    fill(x, [0, 0, 9])
    nvshmem.barrier_all()
    if not dtype.startswith("float"):
        launch(bitwise, x, old, right)
        nvshmem.barrier_all()
        same(host(old)[:4], [12, 14, 3, 2], f"old values of bits, {dtype}")
        same(host(x), [2, 0, 9], f"bits, {dtype}")
        nvshmem.barrier_all()
        fill(x, [0, 0, 9])
        nvshmem.barrier_all()
    launch(count_up, x, n)
    nvshmem.barrier_all()
    same(host(x), [n * THREADS, n * THREADS, 9], f"counts, {dtype}")
    for array in (x, old):
        nvshmem.free_array(array)


# --- waits ----------------------------------------------------------------------------------------


@cuda.jit
def waiting(words, status, values, found, at, pe):
    t = cuda.threadIdx.x
    if t == 0:
        found[0] = shmem.test(words, EQ, 3)
        found[1] = shmem.test_any(words, NE, 0)
        shmem.p(words, 3, pe)
        shmem.wait_until(words, EQ, 3)
        found[2] = shmem.test(words, EQ, 3)
        shmem.p(words[2:], 5, pe)
        found[3] = shmem.wait_until_any(words, GT, 4, status)
        shmem.barrier_all()
        shmem.p(words[1:], 6, pe)
        shmem.wait_until_all(words[0:3], GE, 3)
        found[4] = shmem.test_all(words, GE, 3)
        found[5] = shmem.wait_until_some(words, at, LT, 6)
        found[6] = at[0]
        found[7] = at[1]
        shmem.wait_until_all_vector(words, EQ, values)
        found[8] = shmem.test_all_vector(words, LE, values)
        found[9] = shmem.test_some_vector(words, at, EQ, values, status)
        found[10] = shmem.test_any_vector(words, NE, values)


def status_kind(dtype):
    """A status may be of any integer type."""
    return {"int16": "bool", "int32": "int64", "uint16": "uint8"}.get(dtype, "int32")


def waits(dtype):
    kind = status_kind(dtype)
    words, found = nvshmem.array(4, dtype), nvshmem.array(12, "int64")
    status, values = nvshmem.array(4, kind), nvshmem.array(4, dtype)
    at = nvshmem.array(4, "uint64")
    fill(status, [1, 0, 0, 1])
    fill(values, [3, 6, 5, 0])
    nvshmem.barrier_all()
    launch(waiting, words, status, values, found, at, right)
    nvshmem.barrier_all()
    expected = [0, -1, 1, 2, 0, 3, 0, 2, 1, 2, -1, 0]
    got = host(found)
    got[0] = 0  # the neighbour may have been faster
    got[1] = -1
    same(got, expected, f"waits, {dtype}")
    same(host(words), [3, 6, 5, 0], f"words, {dtype}")
    for array in (words, found, status, values, at):
        nvshmem.free_array(array)


# --- collectives ----------------------------------------------------------------------------------


@cuda.jit
def numbers(team, dst, src, scattered, n):
    shmem.reduce_block(team, dst[0:n], src[0:n], "sum")
    shmem.reduce_block(team, dst[n : 2 * n], src[0:n], "min", 1)
    if cuda.threadIdx.x < 32:
        shmem.reduce_warp(team, dst[2 * n : 3 * n], src[0:n], "max")
    if cuda.threadIdx.x == 0:
        shmem.reduce(team, dst[3 * n : 4 * n], src[0:n], "prod")
    shmem.reducescatter_block(team, scattered[0:n], src, "sum")
    # In place.
    shmem.reduce_block(team, src[0:n], src[0:n], "sum", slot=3)


@cuda.jit
def bits(team, dst, src, n):
    shmem.reduce_block(team, dst[0:n], src[0:n], "and")
    if cuda.threadIdx.x < 32:
        shmem.reduce_warp(team, dst[n : 2 * n], src[0:n], "or")
    if cuda.threadIdx.x == 0:
        shmem.reduce(team, dst[2 * n : 3 * n], src[0:n], "xor")
        shmem.reducescatter(team, dst[3 * n : 4 * n], src, "xor")


def reductions(dtype):
    n = 21 if SMALL else 333
    src, dst = nvshmem.array(n * pes, dtype), nvshmem.array(4 * n, dtype)
    scattered, ours = nvshmem.array(n + 1, dtype), nvshmem.array(n, dtype)
    every = nvshmem.array(n * pes, dtype)
    rng = np.random.default_rng(7 + me)
    if dtype.startswith(("int", "uint")):
        mine = rng.integers(0, 120, n * pes).astype(src.dtype)
    else:
        mine = rng.standard_normal(n * pes).astype(src.dtype)
        mine[3] = np.nan if me == pes - 1 else 0
    fill(src, mine)
    first = src[0:n]
    nvshmem.barrier_all()
    world = nvshmem.Teams.TEAM_WORLD
    expected = {}
    # The host's reductions fold in the same order and round alike.
    for op in ("sum", "min", "max", "prod", "and", "or", "xor"):
        if op in ("and", "or", "xor") and not dtype.startswith(("int", "uint")):
            continue
        fill(every, np.zeros(n * pes, src.dtype))
        nvshmem.reduce(world, every, src, op)
        expected[op] = host(every)
    launch(numbers, world, dst, src, scattered, n)
    got = host(dst).reshape(4, n)
    for row, op in zip(got, ("sum", "min", "max", "prod")):
        same(row, expected[op][:n], f"{op}, {dtype}")
    same(host(scattered)[:n], expected["sum"][me * n : (me + 1) * n], f"reducescatter, {dtype}")
    same(host(scattered)[n:], [0], f"beside reducescatter, {dtype}")
    same(host(first), expected["sum"][:n], f"in place, {dtype}")
    nvshmem.barrier_all()
    if "and" in expected:
        fill(src, mine)
        nvshmem.barrier_all()
        launch(bits, world, dst, src, n)
        got = host(dst).reshape(4, n)
        for row, op in zip(got, ("and", "or", "xor")):
            same(row, expected[op][:n], f"{op}, {dtype}")
        same(got[3], expected["xor"][me * n : (me + 1) * n], f"reducescatter of bits, {dtype}")
    nvshmem.barrier_all()
    for array in (src, dst, scattered, ours, every):
        nvshmem.free_array(array)


@cuda.jit
def moves(team, dst, src, found, n, root):
    members = shmem.team_n_pes(team)
    s = n * members + 1
    if cuda.threadIdx.x == 0:
        found[0] = shmem.team_my_pe(team)
        found[1] = members
        found[2] = shmem.team_translate_pe(team, members - 1, 0)
        found[3] = shmem.my_pe()
        found[4] = shmem.n_pes()
        found[5] = shmem.fcollect(team, dst[0 : s - 1], src[0:n])
        found[6] = shmem.sync(team)
        found[7] = shmem.broadcast(team, dst[s : s + n], src[0:n], root)
        found[8] = shmem.alltoall(team, dst[2 * s : 3 * s - 1], src)
    if cuda.threadIdx.x < 32:
        shmem.fcollect_warp(team, dst[3 * s : 4 * s - 1], src[0:n], 1)
        shmem.broadcast_warp(team, dst[4 * s : 4 * s + n], src[0:n], root, 1)
        shmem.alltoall_warp(team, dst[5 * s : 6 * s - 1], src, 1)
        shmem.sync_warp(team, 1)
        shmem.barrier_warp(team)
    shmem.fcollect_block(team, dst[6 * s : 7 * s - 1], src[0:n])
    shmem.broadcast_block(team, dst[7 * s : 7 * s + n], src[0:n], root)
    shmem.alltoall_block(team, dst[8 * s : 9 * s - 1], src)
    shmem.sync_block(team)
    shmem.barrier_block(team)


@cuda.jit
def everybody(rounds, found):
    wrong = 0
    for _ in range(rounds):
        if cuda.threadIdx.x == 0:
            wrong += shmem.barrier_all() + shmem.sync_all()
        if cuda.threadIdx.x < 32:
            wrong += shmem.barrier_all_warp() + shmem.sync_all_warp()
        wrong += shmem.barrier_all_block() + shmem.sync_all_block(5)
    found[cuda.threadIdx.x] = wrong


def collectives(dtype):
    """On all PEs, on the same in reverse order where teams allow, and on a part of them."""
    teams = [nvshmem.Teams.TEAM_WORLD]
    part = nvshmem.team_split_strided(nvshmem.Teams.TEAM_WORLD, 0, 1, max(pes - 1, 1))
    for team in [*teams, part]:
        if team is not None and team != nvshmem.Teams.TEAM_INVALID:
            member, members = nvshmem.team_my_pe(team), nvshmem.team_n_pes(team)
        else:
            member, members = -1, 1
        n = 5 if SMALL else 500
        s = n * members + 1
        src, dst = nvshmem.array(n * pes, dtype), nvshmem.array(9 * (n * pes + 1), dtype)
        found = nvshmem.array(9, "int64")
        fill(src, pattern(me, n * pes, src.dtype))
        nvshmem.barrier_all()
        if member >= 0:
            root = members - 1
            launch(moves, team, dst[: 9 * s], src[: n * members], found, n, root)
            last = nvshmem.team_translate_pe(team, members - 1, nvshmem.Teams.TEAM_WORLD)
            same(host(found), [member, members, last, me, pes, 0, 0, 0, 0], f"answers, {dtype}")
            got = host(dst)[: 9 * s].reshape(9, s)
            theirs = [pattern(pe, n * pes, src.dtype) for pe in range(members)]
            whole = np.concatenate([one[:n] for one in theirs] + [[0]])
            parts = [one[member * n : (member + 1) * n] for one in theirs]
            turned = np.concatenate(parts + [[0]])
            sent = np.zeros(s, src.dtype)
            sent[:n] = theirs[root][:n]
            for row, expected in zip(got, [whole, sent, turned] * 3):
                same(row, expected, f"moves, {dtype}, team of {members}")
        nvshmem.barrier_all()
        for array in (src, dst, found):
            nvshmem.free_array(array)
    if part is not None and part != nvshmem.Teams.TEAM_INVALID:
        nvshmem.team_destroy(part)
    found = nvshmem.array(THREADS, "int64")
    launch(everybody, 3 if SMALL else 100, found)
    same(host(found), [0] * THREADS, "rounds of barriers")
    nvshmem.free_array(found)


@cuda.jit
def located(dst, src, n, answers):
    """Pairs of a value and its place; by two warpgroups, each with a slot of its own, and then by the
    block, once to other memory and once in place.
    """
    t = cuda.threadIdx.x
    answers[t] = low.barrier_warpgroup(0, t // 128)
    answers[256] = low.double2_maxloc_reduce_block(0, dst, src, n)
    answers[257] = low.double2_maxloc_reduce_block(0, src, src, n)


def places():
    count = 3 * 4 * 256 + 5 if not SMALL else 7
    dst, src = nvshmem.array(2 * count + 2, "float64"), nvshmem.array(2 * count + 2, "float64")
    answers = nvshmem.array(258, "int64")
    values = np.array([[(pe * 7 + i * 5) % 11 for i in range(count + 1)] for pe in range(pes)])
    fill(src, np.stack([values[me], values[me] * 0 + me], axis=1).ravel())
    fill(dst, np.full(2 * count + 2, -1.0))
    fill(answers, np.full(258, 7))
    nvshmem.barrier_all()
    launch(located, dst, src, count, answers, threads=256)
    largest = np.stack([values.max(0), values.argmax(0)], axis=1).ravel()[: 2 * count]
    same(host(answers), [0] * 258, "answers of double2_maxloc and of warpgroups")
    same(host(dst), [*largest, -1, -1], "double2_maxloc")
    same(host(src)[: 2 * count], largest, "double2_maxloc in place")
    for array in (dst, src, answers):
        nvshmem.free_array(array)


# --- order ----------------------------------------------------------------------------------------


@cuda.jit
def pass_on(data, flag, seen, rounds, pe, n):
    """Message passing: whoever sees the signal sees what the whole block has written before."""
    t, threads = cuda.threadIdx.x, cuda.blockDim.x
    other = shmem.get_peer_array(data, pe)
    for turn in range(1, rounds + 1):
        for i in range(t, n, threads):
            other[(turn & 1) * n + i] = turn
        if turn & 1:
            cuda.syncthreads()
            if t == 0:
                shmem.fence()
                shmem.signal_op(flag, turn, SET, pe)
        else:
            # An empty put: its signal includes what the block did before.
            shmem.put_signal_block(data[0:0], data[0:0], flag, turn, SET, pe)
        if t == 0:
            shmem.signal_wait(flag, GE, turn)
        cuda.syncthreads()
        for i in range(t, n, threads):
            if data[(turn & 1) * n + i] != turn:
                seen[0] += 1
        shmem.barrier_all_block()


@cuda.jit
def store_buffering(x, y, both, rounds, first):
    """Two PEs store, complete with quiet, and load: they may not both miss the other's store."""
    for turn in range(1, rounds + 1):
        if first:
            shmem.p(x, turn, 0)
            shmem.quiet()
            both[turn] = shmem.g(y, 0)
        else:
            shmem.p(y, turn, 0)
            shmem.quiet()
            both[turn] = shmem.g(x, 0)
        shmem.barrier_all()


def order():
    rounds = 20 if SMALL else 2000
    data, flag = nvshmem.array(2 * 8 * THREADS, "int32"), nvshmem.array(1, "uint64")
    seen = nvshmem.array(1, "int64")
    launch(pass_on, data, flag, seen, rounds, right, 8 * THREADS)
    same(host(seen), [0], "message passing")
    same(host(flag), [rounds], "the last signal")
    x, y = nvshmem.array(1, "int32"), nvshmem.array(1, "int32")
    both = nvshmem.array(rounds + 1, "int32")
    launch(store_buffering, x, y, both, rounds, me == 0, threads=1)
    every = nvshmem.array((pes, rounds + 1), "int32")
    nvshmem.fcollect(nvshmem.Teams.TEAM_WORLD, every, both)
    if pes > 1:
        got, turns = host(every), np.arange(rounds + 1)
        missed = (got[0] < turns) & (got[1] < turns)
        same(missed.sum(), 0, "store buffering")
    for array in (data, flag, seen, x, y, both, every):
        nvshmem.free_array(array)


PARTS = {
    "rma": lambda: [rma(dtype) for dtype in NUMBERS],
    "amo": lambda: [amo(dtype) for dtype in AMO],
    "waits": lambda: [waits(dtype) for dtype in WAITED],
    "reductions": lambda: [reductions(dtype) for dtype in NUMBERS],
    "collectives": lambda: [*map(collectives, MOVED), places()],
    "order": order,
}

if __name__ == "__main__":
    nvshmem.init(
        **(
            {}
            if SIMULATED
            else {"device": int(os.environ.get("NVSHMEMRS_PE", "0")) % len(cuda.gpus)}
        )
    )
    # After init, because CuPy takes the GPU that is current.
    if not FEW and bfloat16_is_there():
        NUMBERS += ["bfloat16"]
    me, pes = nvshmem.my_pe(), nvshmem.n_pes()
    n = pes
    right, left = (me + 1) % pes, (me - 1) % pes
    for part in [part for part in sys.argv[1:] if part not in ("few", "small")] or PARTS:
        PARTS[part]()
        print(f"numba ok: {part}, PE {me}", flush=True)
    nvshmem.finalize()
