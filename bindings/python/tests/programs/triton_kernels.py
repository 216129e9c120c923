"""Kernels in Triton: every function, with neighbours checked. In the interpreter on host memory, and
compiled on GPUs. The argument names parts; without one all run.
"""

import copy
import os
import sys
from typing import Any, Callable, Dict

import numpy as np
import triton
import triton.language as tl

import nvshmemrs.core as nvshmem
from nvshmemrs.core.device import triton as nvt

WORLD = int(nvshmem.Teams.TEAM_WORLD)
GUARD = 77


class Sym:
    """Symmetric elements with guards on both sides."""

    def __init__(self, n: int, dtype: Any = np.int32, fill: int = 0) -> None:
        self.dtype = np.dtype(dtype)
        # The guards keep what is between them aligned to 16 bytes.
        self.edge = 64 // self.dtype.itemsize
        self.n = n
        self.buffer = nvshmem.buffer((n + 2 * self.edge) * self.dtype.itemsize)
        self.fill(np.full(n, fill).astype(self.dtype))

    def fill(self, values: Any) -> None:
        whole = np.full(self.n + 2 * self.edge, GUARD).astype(self.dtype)
        whole[self.edge : self.edge + self.n] = values
        self.buffer.copy_from(whole)

    @property
    def arg(self) -> nvt.Pointer:
        address = int(self.buffer.handle) + self.edge * self.dtype.itemsize
        return nvt.Pointer(address, self.dtype.name, (self.n,), self.buffer)

    def get(self) -> Any:
        whole = np.zeros(self.n + 2 * self.edge, self.dtype)
        self.buffer.copy_to(whole)
        edges = np.concatenate([whole[: self.edge], whole[self.edge + self.n :]])
        assert (edges == np.full(1, GUARD).astype(self.dtype)).all(), "a guard was overwritten"
        return whole[self.edge : self.edge + self.n]

    def free(self) -> None:
        nvshmem.free(self.buffer)


def launch(kernel: Any, grid: int, *arguments: Any, **options: Any) -> None:
    """Runs a kernel to its end."""
    kernel[(grid,)](nvt.state(), *(a.arg if isinstance(a, Sym) else a for a in arguments), **options)
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.synchronize()


def meet() -> None:
    nvshmem.barrier(nvshmem.Teams.TEAM_WORLD)


@triton.jit
def rma_kernel(state, dest, source, values, got, n, N: tl.constexpr):
    ctx = nvt.context(state)
    right = (ctx.my_pe + 1) % ctx.n_pes
    # A run of elements in two parts, and one by masks.
    nvt.put(ctx, dest, source, n, right, part=0, parts=2, BLOCK=N // 4)
    nvt.put(ctx, dest, source, n, right, part=1, parts=2, BLOCK=N // 4)
    lanes = tl.arange(0, N)
    tile = values + lanes
    nvt.store(ctx, tile, lanes * 10 + ctx.my_pe, right, mask=lanes % 3 == 1)
    nvt.put_tile(ctx, tile, source + lanes, right, mask=(lanes % 3 == 2) & (lanes < n))
    nvt.quiet(ctx)
    nvt.barrier(ctx, 0)
    left = (ctx.my_pe + ctx.n_pes - 1) % ctx.n_pes
    nvt.get(ctx, got, source, n, left, BLOCK=N // 4)
    # Elements of the left PE, past those of `get`.
    tile = nvt.load(ctx, source + lanes, left, mask=lanes < n, other=-5)
    tl.store(got + N + lanes, tile)
    nvt.get_tile(ctx, got + 2 * N + lanes, source + lanes, left, mask=lanes < 3)
    one = nvt.load(ctx, source, left)
    nvt.store(ctx, got + 3 * N, one, ctx.my_pe)
    nvt.barrier(ctx, 0)


def rma(me: int, n: int) -> None:
    size, block = 27, 32
    left = (me - 1) % n
    for dtype in ("int8", "int16", "int32", "int64", "float16", "float32", "float64"):
        dest, source = Sym(size, dtype, 9), Sym(size, dtype)
        values, got = Sym(block, dtype, 9), Sym(3 * block + 2, dtype, 9)
        source.fill((np.arange(size) + me).astype(dtype))
        meet()
        launch(rma_kernel, 1, dest, source, values, got, size, N=block)
        theirs = (np.arange(size) + left).astype(dtype)
        assert (dest.get() == theirs).all(), (dtype, dest.get())
        lanes = np.arange(block)
        expected = np.full(block, 9).astype(dtype)
        expected[lanes % 3 == 1] = (lanes * 10 + left)[lanes % 3 == 1].astype(np.int64).astype(dtype)
        copied = (lanes % 3 == 2) & (lanes < size)
        expected[copied] = theirs[lanes[copied]]
        assert (values.get() == expected).all(), (dtype, values.get(), expected)
        seen = got.get()
        assert (seen[:size] == theirs).all() and (seen[size:block] == np.asarray(9, dtype)).all()
        assert (seen[block : block + size] == theirs).all()
        assert (seen[block + size : 2 * block] == np.asarray(-5).astype(dtype)).all()
        assert (seen[2 * block : 2 * block + 3] == theirs[:3]).all()
        assert (seen[2 * block + 3 : 3 * block] == np.asarray(9, dtype)).all()
        assert seen[3 * block] == theirs[0] and seen[3 * block + 1] == np.asarray(9, dtype)
        for array in (dest, source, values, got):
            array.free()


@triton.jit
def ring_kernel(state, dest, source, signal, trace, n, rounds):
    ctx = nvt.context(state)
    right = (ctx.my_pe + 1) % ctx.n_pes
    lanes = tl.arange(0, 16)
    for k in range(1, rounds + 1):
        # What came from the left is passed on.
        value = tl.load(source + lanes) + k
        if k > 1:
            nvt.signal_wait_until(ctx, signal, nvt.CMP_GE, k - 1)
            value = tl.load(dest + lanes) + k
        nvt.barrier(ctx, 0)
        nvt.store_signal(ctx, dest + lanes, value, signal, k, right, mask=lanes < n)
    seen = nvt.signal_wait_until(ctx, signal, nvt.CMP_EQ, rounds)
    tl.store(trace, seen)
    tl.store(trace + 1, nvt.signal_fetch(ctx, signal))
    nvt.put_signal(ctx, dest, source, n, signal + 1, 5, right, nvt.SIGNAL_ADD, BLOCK=16)
    nvt.signal_op(ctx, signal + 1, 2, right, nvt.SIGNAL_ADD)
    nvt.fence(ctx)
    nvt.signal_op(ctx, signal + 2, 1, right)
    nvt.signal_wait_until(ctx, signal + 2, nvt.CMP_NE, 0)
    nvt.signal_wait_until(ctx, signal + 1, nvt.CMP_GT, 6)
    tl.store(trace + 2, nvt.test(ctx, signal + 1, nvt.CMP_LE, 7).to(tl.int64))
    tl.store(trace + 3, nvt.test(ctx, signal + 1, nvt.CMP_LT, 7).to(tl.int64))


def signals(me: int, n: int) -> None:
    size, rounds = 13, 4
    dest, source, signal, trace = Sym(16), Sym(16), Sym(3, np.uint64), Sym(4, np.int64)
    source.fill(np.arange(16) + 100 * me)
    meet()
    launch(ring_kernel, 1, dest, source, signal, trace, size, rounds)
    # The last put_signal brought the left PE's source.
    got = dest.get()
    assert (got[:size] == np.arange(size) + 100 * ((me - 1) % n)).all(), got
    assert (got[size:] == 0).all(), got
    assert list(signal.get()) == [rounds, 7, 1] and list(trace.get()) == [rounds, rounds, 1, 0]
    meet()
    for array in (dest, source, signal, trace):
        array.free()


@triton.jit
def wait_kernel(state, words, found):
    ctx = nvt.context(state)
    right = (ctx.my_pe + 1) % ctx.n_pes
    lanes = tl.arange(0, 8)
    p = words + lanes
    tl.store(found, nvt.test_any(ctx, p, nvt.CMP_NE, 0))
    tl.store(found + 1, nvt.test_all(ctx, p, nvt.CMP_EQ, 0).to(tl.int32))
    nvt.barrier(ctx, 0)
    nvt.atomic_set(ctx, p, lanes + 1, right, mask=lanes == 5)
    tl.store(found + 2, nvt.wait_until_any(ctx, p, nvt.CMP_GE, 6))
    nvt.atomic_set(ctx, p, lanes + 1, right, mask=lanes < 7)
    nvt.wait_until_all(ctx, p, nvt.CMP_EQ, lanes + 1, mask=lanes < 7)
    tl.store(found + 3, nvt.wait_until(ctx, words + 3, nvt.CMP_GT, 3).to(tl.int32))
    tl.store(found + 4, nvt.test_all(ctx, p, nvt.CMP_NE, 0).to(tl.int32))
    tl.store(found + 5, nvt.test_all(ctx, p, nvt.CMP_NE, 0, mask=lanes < 7).to(tl.int32))
    tl.store(found + 6, nvt.test_any(ctx, p, nvt.CMP_EQ, 0))
    tl.store(found + 7, nvt.wait_until_any(ctx, p, nvt.CMP_EQ, 0, mask=lanes < 0))


def waits(me: int, n: int) -> None:
    for dtype in (np.int32, np.uint64):
        words, found = Sym(8, dtype), Sym(8)
        meet()
        launch(wait_kernel, 1, words, found)
        assert list(words.get()) == [1, 2, 3, 4, 5, 6, 7, 0]
        assert list(found.get()) == [-1, 1, 5, 4, 0, 1, 7, -1], found.get()
        meet()
        words.free()
        found.free()


@triton.jit
def amo_kernel(state, words, old, mine):
    ctx = nvt.context(state)
    lanes = tl.arange(0, 4)
    # Each PE acts on PE 0; sums do not depend on the order.
    p = words + lanes
    nvt.atomic_add(ctx, p, ctx.my_pe + 1, 0, mask=lanes < 3)
    nvt.atomic_inc(ctx, p + 4, 0, mask=lanes < 3)
    nvt.atomic_fetch_inc(ctx, words + 4, 0)
    nvt.atomic_fetch_add(ctx, p + 4, 2, 0, mask=lanes == 1)
    nvt.atomic_max(ctx, words + 8, ctx.my_pe + 5, 0)
    nvt.atomic_min(ctx, words + 9, -ctx.my_pe, 0)
    nvt.atomic_fetch_max(ctx, words + 10, ctx.my_pe + 7, 0)
    nvt.atomic_fetch_min(ctx, words + 11, -ctx.my_pe - 1, 0)
    # Words that are this PE's alone, on the right PE.
    right = (ctx.my_pe + 1) % ctx.n_pes
    q = mine + lanes
    nvt.atomic_set(ctx, q, lanes + 1, right)
    tl.store(old + lanes, nvt.atomic_swap(ctx, q, lanes + 11, right))
    tl.store(old + 4 + lanes, nvt.atomic_compare_swap(ctx, q, 12, 50, right))
    tl.store(old + 8 + lanes, nvt.atomic_fetch(ctx, q, right))
    r = mine + 4
    tl.store(old + 12, nvt.atomic_compare_swap(ctx, r, 0, 3, right))
    tl.store(old + 13, nvt.atomic_compare_swap(ctx, r, 0, 4, right))


@triton.jit
def bits_kernel(state, words, old):
    ctx = nvt.context(state)
    right = (ctx.my_pe + 1) % ctx.n_pes
    nvt.atomic_set(ctx, words, 12, right)
    nvt.atomic_or(ctx, words, 3, right)
    tl.store(old, nvt.atomic_fetch_and(ctx, words, 6, right))
    nvt.atomic_xor(ctx, words, 5, right)
    tl.store(old + 1, nvt.atomic_fetch_or(ctx, words, 8, right))
    nvt.atomic_and(ctx, words, 9, right)
    tl.store(old + 2, nvt.atomic_fetch_xor(ctx, words, 1, right))
    tl.store(old + 3, nvt.atomic_fetch(ctx, words, right))


def atomics(me: int, n: int) -> None:
    total = n * (n + 1) // 2
    for dtype in (np.int32, np.int64, np.float32, np.float64):
        words, old, mine = Sym(13, dtype), Sym(15, dtype, 9), Sym(6, dtype)
        meet()
        launch(amo_kernel, 1, words, old, mine)
        meet()
        if me == 0:
            expected = [total, total, total, 0, 2 * n, 3 * n, n, 0, n + 4, 1 - n, n + 6, -n, 0]
            assert list(words.get()) == expected, (dtype, words.get(), expected)
        else:
            assert not words.get().any()
        expected = [1, 2, 3, 4, 11, 12, 13, 14, 11, 50, 13, 14, 0, 3, 9]
        assert list(old.get()) == expected, (dtype, old.get())
        assert list(mine.get()) == [11, 50, 13, 14, 3, 0], mine.get()
        meet()
        for array in (words, old, mine):
            array.free()
    for dtype in (np.int32, np.uint32, np.int64, np.uint64):
        words, old = Sym(2, dtype), Sym(5, dtype, 9)
        meet()
        launch(bits_kernel, 1, words, old)
        meet()
        assert list(old.get()) == [15, 3, 9, 8, 9] and list(words.get()) == [8, 0], old.get()
        meet()
        words.free()
        old.free()


@triton.jit
def collectives_kernel(state, team, dest, source, gathered, parts, status, n, root, BLOCK: tl.constexpr):
    ctx = nvt.context(state)
    bad = nvt.barrier(ctx, team)
    bad += nvt.broadcast(ctx, team, dest, source, n, root, BLOCK=BLOCK)
    bad += nvt.fcollect(ctx, team, gathered, source, n, BLOCK=BLOCK)
    bad += nvt.alltoall(ctx, team, parts, gathered, n, BLOCK=BLOCK)
    bad += nvt.sync(ctx, team, slot=8)
    tl.store(status + 4 * tl.program_id(0), bad)
    tl.store(status + 4 * tl.program_id(0) + 1, nvt.team_my_pe(ctx, team))
    tl.store(status + 4 * tl.program_id(0) + 2, nvt.team_n_pes(ctx, team))
    tl.store(status + 4 * tl.program_id(0) + 3, nvt.team_pe(ctx, team, root))


@triton.jit
def reduce_kernel(
    state, team, one, two, part, mailed, source, status, n, share, OP: tl.constexpr, BLOCK: tl.constexpr
):
    ctx = nvt.context(state)
    bad = nvt.reduce(ctx, team, one, source, n, OP, BLOCK=BLOCK)
    bad += nvt.reduce_two_shot(ctx, team, two, two, n, OP, BLOCK=BLOCK)
    bad += nvt.reducescatter(ctx, team, part, source, share, OP, BLOCK=BLOCK)
    # The same memory is refused by all members alike.
    bad += nvt.reduce(ctx, team, one, one, n, OP, BLOCK=BLOCK) + 1
    # What one program reduces alone comes by mail.
    if tl.program_id(0) == 0:
        bad += nvt.reduce(ctx, team, mailed, source, n, OP, slot=5, part=0, parts=1, BLOCK=BLOCK)
        bad += nvt.reduce_two_shot(ctx, team, mailed, mailed, n, OP, slot=5, part=0, parts=1, BLOCK=BLOCK)
    tl.store(status + tl.program_id(0), bad)


def teams(me: int, n: int) -> "list[tuple[int, list[int]]]":
    """Teams and their members: WORLD, every second PE, and the PEs backwards."""
    found = [(WORLD, list(range(n)))]
    if n > 2:
        made = nvshmem.team_split_strided(nvshmem.Teams.TEAM_WORLD, 0, 2, (n + 1) // 2)
        found.append((-1 if made is None else int(made), list(range(0, n, 2))))
    made = nvshmem.team_split_strided(nvshmem.Teams.TEAM_WORLD, n - 1, -1, n)
    found.append((int(made), list(range(n - 1, -1, -1))))
    return found


def collectives(me: int, n: int) -> None:
    size, block = 21, 8
    for team, members in teams(me, n):
        k, root = len(members), len(members) - 1
        for grid in (1, 3) if team == WORLD else (2,):
            arrays = [Sym(size, fill=9), Sym(size), Sym(size * n), Sym(size * n), Sym(4 * grid)]
            dest, source, gathered, parts, status = arrays
            values = [np.arange(size) + 1000 * pe for pe in members]
            if me in members:
                source.fill(values[members.index(me)])
            meet()
            if me in members:
                own = members.index(me)
                launch(collectives_kernel, grid, team, *arrays, size, root, BLOCK=block)
                assert (dest.get() == values[root]).all(), dest.get()
                whole = np.concatenate(values)
                assert (gathered.get()[: size * k] == whole).all(), gathered.get()
                assert (parts.get()[: size * k] == np.tile(values[own], k)).all(), parts.get()
                assert not gathered.get()[size * k :].any() and not parts.get()[size * k :].any()
                assert list(status.get()) == [0, own, k, members[root]] * grid, status.get()
            meet()
            for array in arrays:
                array.free()


FOLDS: Dict[str, Callable[[Any, Any], Any]] = {
    "SUM": np.add, "MIN": np.minimum, "MAX": np.maximum, "PROD": np.multiply,
    "AND": np.bitwise_and, "OR": np.bitwise_or, "XOR": np.bitwise_xor,
}  # fmt: skip


def folded(op: str, values: Any) -> Any:
    """A left fold as the library's: narrow numbers in single precision, rounded once."""
    dtype = values[0].dtype
    wide = np.float32 if dtype.name.startswith(("float16", "bfloat16", "float8")) else dtype
    total = values[0].astype(wide)
    for value in values[1:]:
        total = FOLDS[op](total, value.astype(wide)).astype(wide)
    if dtype.name.startswith("float8"):
        import ml_dtypes

        largest = float(ml_dtypes.finfo(dtype).max)
        total = np.clip(total, -largest, largest)
    return total.astype(dtype)


def reduce_cases() -> "list[tuple[str, Any]]":
    import ml_dtypes

    cases: "list[tuple[str, Any]]" = [(op, np.int32) for op in FOLDS]
    cases += [("SUM", ml_dtypes.bfloat16), ("MAX", np.float16), ("SUM", np.float64), ("MIN", np.uint8)]
    cases += [("SUM", ml_dtypes.float8_e4m3fn), ("PROD", ml_dtypes.float8_e5m2), ("PROD", ml_dtypes.float8_e4m3fn)]
    # The interpreter takes its time.
    slow = triton.knobs.runtime.interpret and nvshmem.n_pes() > 2
    return cases[::4] if slow else cases


def elements(pe: int, size: int, dtype: Any) -> Any:
    # The interpreter rounds bfloat16 in its own way, so there nothing is to be rounded.
    exact = np.dtype(dtype).name == "bfloat16" and triton.knobs.runtime.interpret
    numbers = np.random.default_rng(pe).integers(1, 4 if exact else 100, size)
    if exact:
        return numbers.astype(dtype)
    return (numbers / 8 if np.dtype(dtype).kind not in "iu" else numbers).astype(dtype)


def reductions(me: int, n: int) -> None:
    share, block = 7, 8
    cases = reduce_cases()
    for number, (team, members) in enumerate(teams(me, n)):
        k = len(members)
        size = share * k
        for op, dtype in cases if number == 0 else cases[:1]:
            grid = 2
            one, two, part = Sym(size, dtype, 9), Sym(size, dtype), Sym(share, dtype, 9)
            mailed, source, status = Sym(size, dtype, 9), Sym(size, dtype), Sym(grid)
            values = [elements(pe, size, dtype) for pe in members]
            if me in members:
                source.fill(values[members.index(me)])
                two.fill(values[members.index(me)])
            meet()
            if me in members:
                own = members.index(me)
                arrays = (one, two, part, mailed, source, status)
                code = getattr(nvt, op)
                launch(reduce_kernel, grid, team, *arrays, size, share, OP=code, BLOCK=block)
                total = folded(op, values)
                assert (one.get() == total).all(), (op, dtype, one.get(), total)
                assert (two.get() == total).all(), (op, dtype, two.get(), total)
                assert (part.get() == total[own * share : (own + 1) * share]).all(), (op, dtype)
                twice = folded(op, [total] * k)
                assert (mailed.get() == twice).all(), (op, dtype, mailed.get(), twice)
                assert not status.get().any(), status.get()
                assert (source.get() == values[own]).all()
            meet()
            for array in (one, two, part, mailed, source, status):
                array.free()


@triton.jit
def fast_kernel(state, workspace, dest, source, status, n, rounds, OP: tl.constexpr, BLOCK: tl.constexpr):
    ctx = nvt.context(state)
    bad = nvt.reduce_fast(ctx, workspace, dest, source, n, OP, BLOCK=BLOCK)
    for _ in range(1, rounds):
        bad += nvt.reduce_fast(ctx, workspace, dest, dest, n, OP, BLOCK=BLOCK)
    tl.store(status + tl.program_id(0), bad)


def fast(me: int, n: int) -> None:
    import ml_dtypes

    for number, (team, members) in enumerate(teams(me, n)):
        k = len(members)
        inside = me in members
        with nvt.Workspace(team if inside else None, nbytes=4096, programs=3) as workspace:
            assert copy.deepcopy(workspace).pointer is copy.copy(workspace.pointer)
            for dtype, size, op in (
                (np.float32, 37, "SUM"), (np.int32, 5, "MAX"), (ml_dtypes.bfloat16, 70, "SUM"),
                (np.float16, 6, "SUM"), (np.float32, 150, "SUM"),
            )[: None if number == 0 else 1]:  # fmt: skip
                grid, rounds = 3, 3 if op == "SUM" else 1
                dest, source, status = Sym(size, dtype, 9), Sym(size, dtype), Sym(grid, fill=5)
                values = [elements(pe, size, dtype) for pe in members]
                if inside:
                    source.fill(values[members.index(me)])
                    meets = (workspace.pointer, dest, source, status, size, rounds)
                    launch(fast_kernel, grid, *meets, OP=getattr(nvt, op), BLOCK=16)
                    total = folded(op, values)
                    for _ in range(1, rounds):
                        total = folded(op, [total] * k)
                    assert (dest.get() == total).all(), (dtype, op, dest.get(), total)
                    assert not status.get().any(), status.get()
                meet()
                for array in (dest, source, status):
                    array.free()
            # What does not fit is refused, and nothing is written.
            dest, source, status = Sym(4096, fill=9), Sym(4096), Sym(1, fill=5)
            launch(fast_kernel, 1, workspace.pointer, dest, source, status, 4096, 1, OP=nvt.SUM, BLOCK=16)
            assert status.get()[0] == -1 and (dest.get() == 9).all()
            for array in (dest, source, status):
                array.free()


@triton.jit
def litmus_kernel(state, data, flag, seen, rounds, WAY: tl.constexpr):
    ctx = nvt.context(state)
    lanes = tl.arange(0, 64)
    right = (ctx.my_pe + 1) % ctx.n_pes
    wrong = tl.full((), 0, tl.int32)
    for k in range(1, rounds + 1):
        value = lanes + k
        if WAY == 0:
            nvt.store_signal(ctx, data + lanes, value, flag, k, right)
        elif WAY == 1:
            nvt.store(ctx, data + lanes, value, right)
            nvt.fence(ctx)
            nvt.signal_op(ctx, flag, k, right)
        else:
            nvt.store(ctx, data + lanes, value, right)
            nvt.atomic_fetch_add(ctx, flag, 1, right)
        nvt.signal_wait_until(ctx, flag, nvt.CMP_GE, k)
        got = tl.load(data + lanes)
        wrong += tl.sum((got != value).to(tl.int32))
        nvt.barrier(ctx, 0)
    tl.store(seen, wrong)


def litmus(me: int, n: int) -> None:
    """Message passing: whoever sees the signal sees the data of all threads."""
    rounds = 8 if triton.knobs.runtime.interpret else 2000
    for way in (0, 1) if triton.knobs.runtime.interpret else (0, 1, 2):
        data, flag, seen = Sym(64), Sym(1, np.int64), Sym(1, fill=5)
        meet()
        launch(litmus_kernel, 1, data, flag, seen, rounds, WAY=way)
        assert seen.get()[0] == 0 and flag.get()[0] == rounds
        meet()
        for array in (data, flag, seen):
            array.free()


PARTS = dict(
    rma=rma, signals=signals, waits=waits, atomics=atomics, collectives=collectives,
    reductions=reductions, fast=fast, litmus=litmus,
)  # fmt: skip

def join() -> None:
    """Init, on the GPU that is this PE's if kernels are compiled."""
    if triton.knobs.runtime.interpret:
        nvshmem.init()
        return
    import torch

    gpu = int(os.environ.get("NVSHMEMRS_PE", "0")) % torch.cuda.device_count()
    torch.cuda.set_device(gpu)
    nvshmem.init(device=gpu)


if __name__ == "__main__":
    join()
    for name in sys.argv[1:] or PARTS:
        PARTS[name](nvshmem.my_pe(), nvshmem.n_pes())
        print(f"triton ok: {name}, PE {nvshmem.my_pe()}")
    print("ok")
    nvshmem.finalize()
