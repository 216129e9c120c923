"""Fused operations beside the plain formulas: in their plain form on host memory, by Triton's
interpreter (TRITON_INTERPRET=1), and on GPUs, there in CUDA graphs, too. The arguments name parts;
without one all run. A line for each check.
"""

import os
import sys
from typing import Any, Callable, List

import ml_dtypes  # noqa: F401  (the types of NumPy's arrays)
import numpy as np

import nvshmemrs.core as nvshmem
from nvshmemrs.core import fused

GPU = os.environ.get("NVSHMEMRS_MEMORY") == "device"
KERNELS = GPU or os.environ.get("TRITON_INTERPRET") == "1"
if GPU:
    import torch
WORLD = nvshmem.Teams.TEAM_WORLD
# How near to the plain formula, in units of the largest value.
NEAR = {"float32": 1e-5, "float16": 2e-3, "bfloat16": 1.6e-2, "float8_e4m3fn": 0.07}
# Calls with data of their own, and replays of a graph.
TURNS = 50 if GPU else 2
# Triton's interpreter runs the same instructions in the same order each time, slowly.
AGAIN = GPU or not KERNELS
# The team whose operations are tested now.
team_now: Any = WORLD
seen: Any = None


def ok(name: str) -> None:
    print(f"fused ok: {name}, PE {nvshmem.my_pe()}", flush=True)


def symmetric(shape: Any, dtype: str) -> Any:
    if GPU:
        return nvshmem.tensor(shape, getattr(torch, dtype))
    made = nvshmem.array(shape, dtype)
    made[...] = np.zeros((), made.dtype)
    return made


def release(*arrays: Any) -> None:
    for array in arrays:
        (nvshmem.free_tensor if GPU else nvshmem.free_array)(array)


def local(values: Any, dtype: str) -> Any:
    if GPU:
        return torch.as_tensor(np.ascontiguousarray(values, np.float32)).cuda().to(getattr(torch, dtype))
    return np.ascontiguousarray(values).astype(dtype)


def fill(array: Any, values: Any) -> None:
    if GPU:
        array.copy_(torch.as_tensor(np.ascontiguousarray(values)).to(array.dtype))
    else:
        array[...] = np.asarray(values).astype(array.dtype)


def poison(*arrays: Any) -> None:
    for array in arrays:
        fill(array, np.full(array.shape, 99, np.float32))


def read(array: Any) -> np.ndarray:
    """The elements, in single precision or as integers."""
    if GPU:
        torch.cuda.synchronize()
        return (array.float() if array.is_floating_point() else array).cpu().numpy()
    return np.array(array.astype(np.float32) if np.dtype(array.dtype).kind not in "iu" else array)


def meet() -> None:
    if GPU:
        torch.cuda.synchronize()
    nvshmem.barrier(team_now)


def rounded(values: Any, dtype: str) -> np.ndarray:
    return np.asarray(values, np.float32).astype(dtype).astype(np.float32)


def near(found: np.ndarray, expected: np.ndarray, dtype: str, what: str) -> None:
    largest = max(float(np.abs(expected).max(initial=0)), 1e-6)
    error = float(np.abs(found - expected).max(initial=0)) / largest
    assert error <= NEAR[dtype], (what, dtype, error)


def alike(array: Any, ws: fused.Workspace, what: str) -> None:
    """All members have the same bits."""
    bits = read(array).reshape(-1).view(np.uint8)
    mine, first = seen[: bits.size], np.zeros_like(bits)
    nvshmem.put(mine, bits, nvshmem.my_pe())
    meet()
    nvshmem.get(first, mine, ws.pes[0])
    assert bits.tobytes() == first.tobytes(), f"{what}: other bits than on PE {ws.pes[0]}"
    meet()


def replayed(
    call: Callable[[], Any], change: Callable[[int], None], check: Callable[[int], None], elements: int
) -> None:
    """Calls with new data each time, fewer of many elements: as they are, and on GPUs in a graph that
    is replayed.
    """
    turns = TURNS if elements <= 1 << 16 else min(TURNS, 4)
    for turn in range(turns):
        change(turn)
        call()
        check(turn)
    if not GPU:
        return
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        call()
        call()
    for turn in range(turns, 2 * turns):
        change(turn)
        torch.cuda.synchronize()
        graph.replay()
        check(turn)


def norm_case(
    ws: fused.Workspace, rows: int, hidden: int, dtype: str, with_residual: bool, algorithm: Any
) -> None:
    n = ws.n
    random = [np.random.default_rng([rows, hidden, pe]) for pe in range(n)]
    weight = rounded(np.random.default_rng(5).random(hidden) + 0.5, dtype)
    x, out = local(np.zeros((rows, hidden)), dtype), local(np.zeros((rows, hidden)), dtype)
    residual = local(np.zeros((rows, hidden)), dtype) if with_residual else None
    added = local(np.zeros((rows, hidden)), dtype) if with_residual else None
    factors = local(weight, dtype)
    parts: List[np.ndarray] = []

    def change(turn: int) -> None:
        parts[:] = [rounded(pe.standard_normal((rows, hidden)), dtype) for pe in random]
        fill(x, parts[ws.me])
        if with_residual:
            fill(residual, rounded(np.random.default_rng(turn).standard_normal((rows, hidden)), dtype))
        poison(*[array for array in (out, added) if array is not None])

    def call() -> None:
        fused.all_reduce_rms_norm(
            out, x, factors, ws, residual=residual, residual_out=added, algorithm=algorithm
        )

    kept: List[bytes] = []

    def check(turn: int) -> None:
        sums = parts[0].copy()
        for part in parts[1:]:
            sums += part
        row = rounded(sums, dtype)
        if with_residual:
            row = rounded(row + read(residual), dtype)
            found = read(added)
            # Triton's interpreter rounds bfloat16 in its own way.
            if GPU or dtype != "bfloat16" or not KERNELS:
                assert (found == row).all(), "the sums' bits are others than those of a fold in order"
            near(found, row, dtype, "residual")
        expected = row / np.sqrt((row * row).mean(axis=1, keepdims=True) + 1e-6) * weight
        near(read(out), expected, dtype, "norm")
        kept.append(read(out).tobytes())

    meet()
    replayed(call, change, check, rows * hidden)
    # The same data once more give the same bits.
    if AGAIN:
        again = read(out).tobytes()
        poison(out)
        call()
        assert read(out).tobytes() == again, "the bits differ from run to run"
    alike(out, ws, "norm")


def norm(team: Any = WORLD, name: str = "norm") -> None:
    global team_now
    team_now = team
    small, sizes = (5, 128), [(1, 16), (3, 48), (5, 128)]
    if GPU:
        # Every case has kernels of its own, and compiling them takes most of the time.
        small, sizes = (7, 5120), [(1, 128), (7, 5120), (64, 4096), (256, 4096)]
    cases = [(*size, "bfloat16", True) for size in sizes]
    cases += [(*small, dtype, residual) for dtype in ("float32", "float16") for residual in (False, True)]
    with fused.Workspace(team, reduce_bytes=max(rows * hidden for rows, hidden in sizes) * 4) as ws:
        for rows, hidden, dtype, residual in cases if team is not None else ():
            for algorithm in ("one_shot", "two_shot")[: 2 if rows >= max(ws.n, 4) else 1]:
                norm_case(ws, rows, hidden, dtype, residual, algorithm)
    team_now = WORLD
    ok(name)


def experts_case(ws: fused.Workspace, tokens: List[int], hidden: int, each: int, top: int, dtype: str, scaled: bool) -> None:
    """Each member sends `tokens[me]` tokens; the experts multiply by a number of their own."""
    n, me = ws.n, ws.me
    n_experts, align, columns = each * n, 4, 2
    capacity = sum(tokens) * top + align * each
    x, experts = local(np.zeros((tokens[me], hidden)), dtype), local(np.zeros((tokens[me], top)), "int32")
    weights, out = local(np.zeros((tokens[me], top)), "float32"), local(np.zeros((tokens[me], hidden)), "float32")
    inbox, y = symmetric((capacity, hidden), dtype), symmetric((capacity, hidden), dtype)
    scales = local(np.zeros((tokens[me], columns)), "float32") if scaled else None
    inbox_scales = symmetric((capacity, columns), "float32") if scaled else None
    route = fused.Route(ws, tokens[me], top, n_experts)
    xs: List[Any] = []
    chosen: List[Any] = []
    gates: List[Any] = []
    factors: List[Any] = []

    def change(turn: int) -> None:
        random = np.random.default_rng([turn, hidden])
        for kept in (xs, chosen, gates, factors):
            kept.clear()
        for count in tokens:
            xs.append(rounded(random.standard_normal((count, hidden)), dtype))
            order = np.argsort(random.random((count, n_experts)), axis=-1)[:, :top].astype(np.int32)
            chosen.append(np.where(random.random((count, top)) < 0.1, -1, order))
            gates.append(random.random((count, top)).astype(np.float32))
            factors.append(random.random((count, columns)).astype(np.float32) + 0.5)
        for array, values in ((x, xs), (experts, chosen), (weights, gates)):
            fill(array, values[me])
        if scaled:
            fill(scales, factors[me])
            poison(inbox_scales)
        poison(inbox, out)
        meet()

    def call() -> None:
        fused.dispatch(
            inbox, x, experts, ws, n_experts=n_experts, align=align, route=route, scales=scales, out_scales=inbox_scales
        )
        # Each row is its own result here.
        if GPU:
            y.copy_(inbox)
        else:
            y[...] = inbox
        fused.combine(out, y, experts, weights, route, scales=inbox_scales)

    def check(turn: int) -> None:
        place = 0
        rows, counts, offsets = read(inbox), read(route.counts), read(route.offsets)
        came_scales = read(inbox_scales) if scaled else None
        for expert in range(me * each, (me + 1) * each):
            place = -(-place // align) * align
            came = [(pe, token) for pe in range(n) for token, k in np.argwhere(chosen[pe] == expert)]
            assert counts[expert - me * each] == len(came), (turn, expert, counts)
            assert offsets[expert - me * each] == place, (turn, expert, offsets, place)
            for pe, token in came:
                assert (rows[place] == xs[pe][token]).all(), (turn, expert, pe, token)
                if scaled:
                    assert (came_scales[place] == factors[pe][token]).all()
                place += 1
        assert offsets[each] == -(-place // align) * align, (offsets, place)
        there = (chosen[me] >= 0)[:, :, None]
        values = xs[me] * (np.repeat(factors[me], hidden // columns, axis=1) if scaled else 1)
        expected = (there * gates[me][:, :, None] * values[:, None, :]).sum(axis=1)
        near(read(out), expected, "float32" if dtype == "float32" else "float16", "combine")

    meet()
    replayed(call, change, check, sum(tokens) * hidden)
    if AGAIN:
        again = read(out).tobytes()
        poison(inbox, out)
        meet()
        call()
        assert read(out).tobytes() == again, "the bits differ from run to run"
    ws.check()
    meet()
    release(*[array for array in (inbox, y, inbox_scales) if array is not None])


def experts() -> None:
    n = nvshmem.n_pes()
    few = [[3, 5, 0, 2, 7, 1, 4, 2][pe % 8] for pe in range(n)]
    cases = [(few, 32, 2, 2, "float32", False), (few, 64, 1, 1, "float8_e4m3fn", True), (few, 16, 3, 2, "bfloat16", False)]
    if GPU:
        many = [1000 + 37 * pe for pe in range(n)]
        cases = [
            (few, 128, 2, 2, "float32", False), (many, 2048, 4, 2, "bfloat16", False), (many, 1536, 8, 6, "float16", False),
            (many, 7168, 4, 2, "float8_e4m3fn", True), (few, 256, 32, 8, "bfloat16", False),
        ]  # fmt: skip
    with fused.Workspace(choices=max(max(case[0]) * case[3] for case in cases)) as ws:
        for case in cases:
            experts_case(ws, *case)
    ok("experts")


def product_case(ws: fused.Workspace, M: int, N: int, K: int, dtype: str, turned: bool, pieces: int) -> None:
    """All three products. M is a multiple of the team's size."""
    n, me = ws.n, ws.me
    section = M // n
    a, shard = local(np.zeros((M, K)), dtype), local(np.zeros((section, K)), dtype)
    b = local(np.zeros((N, K)), dtype).T if turned else local(np.zeros((K, N)), dtype)
    out, rows, gathered = symmetric((M, N), dtype), local(np.zeros((section, N)), dtype), local(np.zeros((M, N)), dtype)
    lefts: List[Any] = []
    rights: List[Any] = []

    def change(turn: int) -> None:
        random = np.random.default_rng([turn, M, N, K])
        lefts[:] = [rounded(random.standard_normal((M, K)), dtype) for _ in range(n)]
        rights[:] = [rounded(random.standard_normal((K, N)), dtype) for _ in range(n)]
        fill(a, lefts[me])
        fill(shard, lefts[me][:section])
        fill(b, rights[me])
        poison(out, rows, gathered)
        meet()

    def call() -> None:
        two = pieces if n == 2 else 0
        fused.matmul_all_reduce(out, a, b, ws, pieces=two)
        fused.matmul_reduce_scatter(rows, a, b, ws, pieces=two)
        fused.all_gather_matmul(gathered, shard, b, ws, pieces=pieces)

    def check(turn: int) -> None:
        total = sum(rounded(left @ right, dtype) for left, right in zip(lefts, rights))
        near(read(out), total, dtype, "product and all-reduce")
        near(read(rows), total[me * section :][:section], dtype, "product and reduce-scatter")
        if not pieces:
            assert (read(rows) == read(out)[me * section :][:section]).all(), "other bits than all-reduce"
        whole = np.concatenate([left[:section] for left in lefts])
        near(read(gathered), whole @ rights[me], dtype, "all-gather and product")

    meet()
    replayed(call, change, check, M * N)
    if AGAIN:
        again = [read(array).tobytes() for array in (out, rows, gathered)]
        poison(out, rows, gathered)
        meet()
        call()
        assert [read(array).tobytes() for array in (out, rows, gathered)] == again, "the bits differ from run to run"
    alike(out, ws, "product and all-reduce")
    release(out)


def product() -> None:
    n = nvshmem.n_pes()
    sizes = [(16 * n, 32, 32, "float32", False), (5 * n, 24, 40, "float16", True), (24 * n, 40, 48, "float32", True)]
    if GPU:
        sizes = [
            (256 * n, 512, 512, "bfloat16", False), (40 * n, 200, 264, "float16", True),
            (128 * n, 256, 256, "float32", False), (640 * n, 1024, 4096, "bfloat16", True),
        ]  # fmt: skip
    with fused.Workspace(product_bytes=1 << 26 if GPU else 1 << 18) as ws:
        for case in sizes:
            for pieces in (0, 3) if GPU and case[3] != "float32" else (0,):
                product_case(ws, *case, pieces)
    ok("product")


def teams() -> None:
    """A team that is not all PEs, in another order of numbers; the others only make the workspace."""
    n = nvshmem.n_pes()
    if n < 3:
        return ok("teams")
    team = nvshmem.team_split_strided(WORLD, n - 1, -2, (n + 1) // 2)
    norm(team, "norm of a team")
    ok("teams")


PARTS = {"norm": norm, "experts": experts, "product": product, "teams": teams}


def main() -> None:
    global seen
    if GPU:
        gpu = int(os.environ["NVSHMEMRS_PE"]) % torch.cuda.device_count()
        torch.cuda.set_device(gpu)
        nvshmem.init(device=gpu)
    else:
        nvshmem.init(heap_bytes=1 << 26)
    seen = symmetric(1 << 26 if GPU else 1 << 20, "uint8")
    for name in sys.argv[1:] or PARTS:
        PARTS[name]()
    meet()
    nvshmem.finalize()


if __name__ == "__main__":
    main()
