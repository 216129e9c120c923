# type: ignore
"""Kernels in Triton on GPUs, with NCCL and torch's symmetric memory beside them in the same run.

Each PE has a GPU: nvshmemrs-run -n 2 -- python3 triton_bench.py [PART ...]. Parts: ping, put, get,
reduce, large; one PE alone puts to itself and gets from itself. With --quick fewer sides, with
--verbose each try. PE 0 prints; times are microseconds, medians of 9 rounds, of the slowest PE.
"""

import os
import statistics
import sys

os.environ["NVSHMEMRS_MEMORY"] = "device"
os.environ["NCCL_NVLS_ENABLE"] = "0"
os.environ["TORCH_SYMM_MEM_DISABLE_MULTICAST"] = "1"
os.environ.setdefault("NVSHMEM_SYMMETRIC_SIZE", "1g")

import torch
import torch.distributed as dist
import triton
import triton.language as tl
from rows import row

import nvshmemrs.core as nvshmem
from nvshmemrs.core.device import triton as nvt

ROUNDS = 9
WORLD = int(nvshmem.Teams.TEAM_WORLD)


@triton.jit
def ping_kernel(state, signal, rounds):
    ctx = nvt.context(state)
    other = ctx.n_pes - 1 - ctx.my_pe
    for k in range(1, rounds + 1):
        if ctx.my_pe == 0:
            nvt.signal_op(ctx, signal, k, other)
            nvt.signal_wait_until(ctx, signal, nvt.CMP_EQ, k)
        else:
            nvt.signal_wait_until(ctx, signal, nvt.CMP_EQ, k)
            nvt.signal_op(ctx, signal, k, other)


@triton.jit
def put_signal_kernel(state, data, signal, rounds):
    ctx = nvt.context(state)
    other = ctx.n_pes - 1 - ctx.my_pe
    for k in range(1, rounds + 1):
        if ctx.my_pe == 0:
            nvt.store_signal(ctx, data, k, signal, k, other)
            nvt.signal_wait_until(ctx, signal, nvt.CMP_EQ, k)
        else:
            nvt.signal_wait_until(ctx, signal, nvt.CMP_EQ, k)
            nvt.store_signal(ctx, data, k, signal, k, other)


@triton.jit
def barrier_kernel(state, rounds):
    ctx = nvt.context(state)
    for _ in range(rounds):
        nvt.barrier(ctx, 0)


@triton.jit
def put_kernel(state, dest, source, n, BLOCK: tl.constexpr):
    ctx = nvt.context(state)
    nvt.put(ctx, dest, source, n, ctx.n_pes - 1 - ctx.my_pe, tl.program_id(0), tl.num_programs(0), BLOCK)


@triton.jit
def get_kernel(state, dest, source, n, BLOCK: tl.constexpr):
    ctx = nvt.context(state)
    nvt.get(ctx, dest, source, n, ctx.n_pes - 1 - ctx.my_pe, tl.program_id(0), tl.num_programs(0), BLOCK)


@triton.jit
def fast_kernel(state, workspace, dest, source, n, BLOCK: tl.constexpr):
    ctx = nvt.context(state)
    nvt.reduce_fast(ctx, workspace, dest, source, n, nvt.SUM, BLOCK=BLOCK)


@triton.jit
def one_kernel(state, dest, source, n, BLOCK: tl.constexpr):
    ctx = nvt.context(state)
    nvt.reduce(ctx, 0, dest, source, n, nvt.SUM, BLOCK=BLOCK)


@triton.jit
def two_kernel(state, dest, source, n, BLOCK: tl.constexpr):
    ctx = nvt.context(state)
    nvt.reduce_two_shot(ctx, 0, dest, source, n, nvt.SUM, BLOCK=BLOCK)


def meet():
    torch.cuda.synchronize()
    nvshmem.barrier(nvshmem.Teams.TEAM_WORLD)


def worst(value):
    """The largest of all PEs' values."""
    found = torch.tensor([value], device="cuda", dtype=torch.float64)
    dist.all_reduce(found, op=dist.ReduceOp.MAX)
    return float(found.item())


def time_of(call, calls=20, graph=False):
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            call()
        stream.synchronize()
        meet()
        run = None
        if graph:
            captured = torch.cuda.CUDAGraph()
            with torch.cuda.graph(captured, stream=stream):
                for _ in range(calls):
                    call()
            run = captured.replay
        times = []
        for turn in range(-2, ROUNDS):
            first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            meet()
            first.record(stream)
            if run:
                run()
            else:
                for _ in range(calls):
                    call()
            last.record(stream)
            stream.synchronize()
            if turn >= 0:
                times.append(first.elapsed_time(last) * 1e3 / calls)
    return worst(statistics.median(times))


def ping(me, n):
    signal = nvshmem.tensor(2, torch.int64)
    rounds = 2000

    def round_trip(kernel, *arguments):
        def call():
            signal.zero_()
            meet()
            kernel[(1,)](nvt.state(), *arguments, signal, rounds, num_warps=1)

        return once(call, rounds)

    tell("signal ping-pong, round trip", round_trip(ping_kernel), "us", most=3.9, against="ping 8")
    data = nvshmem.tensor(2, torch.int64)
    tell("store_signal of 8 bytes ping-pong, round trip", round_trip(put_signal_kernel, data), "us", against="ping 8")
    found = once(lambda: barrier_kernel[(1,)](nvt.state(), rounds, num_warps=1), rounds)
    tell("barrier of one program", found, "us")


def once(call, rounds):
    """Microseconds per round of a call that is one launch."""
    times = []
    for turn in range(5):
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        meet()
        first.record()
        call()
        last.record()
        torch.cuda.synchronize()
        if turn:
            times.append(first.elapsed_time(last) * 1e3 / rounds)
    return worst(min(times))


# Programs, elements of a block, warps: a thread has 4 or 8 packs of 16 bytes under way. The last ones have
# as many programs and threads as the best puts of CUDA C++.
CHOICES = ((128, 4096, 8), (128, 8192, 16), (512, 4096, 8), (132, 8192, 8), (264, 8192, 16), (132, 16384, 32))
# Calls in a row. The first call waits for Python, which takes some percent of the time of a put.
MOVES = 20


def move(kernel, name, me, n):
    words = (64 << 20) // 4
    dest, source = (nvshmem.tensor(words, torch.int32) for _ in range(2))
    source.copy_(torch.arange(words, dtype=torch.int32, device="cuda") + me)
    state = nvt.state()
    best = None
    for grid, block, warps in CHOICES:
        dest.zero_()
        meet()

        def call():
            kernel[(grid,)](state, dest, source, words, BLOCK=block, num_warps=warps)  # noqa: B023

        us = time_of(call, MOVES)
        meet()
        assert torch.equal(dest, torch.arange(words, dtype=torch.int32, device="cuda") + n - 1 - me)
        rate = 4 * words / us / 1e3
        if VERBOSE:
            tell(f"{name}, {grid} programs of {block} elements, {warps} warps", rate, "GB/s")
        best = max(best or (rate,), (rate, grid, block))
    shape = f"{best[1]} programs of {best[2]} elements"
    where = "with itself" if n == 1 else "both PEs at once"
    tell(f"{name} of 64 MiB, {where}", best[0], "GB/s", note=shape)
    best = (0.0, 0, 0)
    for grid, block, warps in CHOICES if n > 1 else ():

        def call():
            if me == 0:
                kernel[(grid,)](state, dest, source, words, BLOCK=block, num_warps=warps)  # noqa: B023

        best = max(best, (4 * words / time_of(call, MOVES) / 1e3, grid, block))
    if n > 1:
        shape = f"{best[1]} programs of {best[2]} elements"
        least = 350 if name == "put" else None
        tell(f"{name} of 64 MiB, one PE", best[0], "GB/s", note=shape, least=least, against=f"send {64 << 20}")
    nvshmem.free_tensor(dest)
    nvshmem.free_tensor(source)


def symmetric_memory(x):
    """torch's one-shot and two-shot all-reduces of a copy of `x` in symmetric memory, by name; none where torch
    does not have them. Each function's `memory` is the copy.
    """
    try:
        import torch.distributed._symmetric_memory as symmetric

        group = dist.group.WORLD.group_name
        memory = symmetric.empty(x.shape, dtype=x.dtype, device=x.device)
        symmetric.rendezvous(memory, group=group)
    except (RuntimeError, AttributeError, TypeError) as error:
        left_out("torch's symmetric memory", error)
        return {}
    memory.copy_(x)

    def one():
        return torch.ops.symm_mem.one_shot_all_reduce(memory, "sum", group)

    def two():
        return torch.ops.symm_mem.two_shot_all_reduce_(memory, "sum", group)

    one.memory = two.memory = memory
    return {"one-shot": one, "two-shot": two}


def left_out(what, error):
    """Prints on PE 0 that a peer is not measured, and why."""
    if nvshmem.my_pe() == 0:
        print(f"left out: {what}: {(str(error) or repr(error)).splitlines()[0]}", file=sys.stderr, flush=True)


def reduce(me, n):
    workspace = nvt.Workspace(nbytes=1 << 20, programs=64)
    for size in (1024, 8192, 65536, 262144):
        words = size // 4
        dest, source = (nvshmem.tensor(words, torch.float32) for _ in range(2))
        source.fill_(me + 1)
        meet()

        def checked(call):
            dest.zero_()  # noqa: B023
            meet()
            call()
            meet()
            assert (dest == n * (n + 1) // 2).all(), size  # noqa: B023
            return time_of(call, 100, graph=True)

        def fast(programs, block, warps):
            fast_kernel[(programs,)](
                nvt.state(), workspace.pointer, dest, source, words, BLOCK=block, num_warps=warps  # noqa: B023
            )

        def other(kernel):
            """The best of some shapes. One program sends small arrays by mail."""
            shapes = [(max(1, min(64, words // 256)), 256, 4)]  # noqa: B023
            if words <= 2048:  # noqa: B023
                shapes += [(1, min(1024, words), warps) for warps in (4, 8)]  # noqa: B023
            times = []
            for grid, block, warps in shapes:
                call = lambda: kernel[(grid,)](nvt.state(), dest, source, words, BLOCK=block, num_warps=warps)  # noqa: E731, B023
                times.append(checked(call))
                if VERBOSE:
                    tell("{}, {} programs of {} words, {} warps".format(kernel.fn.__name__, grid, block, warps), times[-1], "us")
            return min(times)

        found = {}
        for choice in fast_choices(words):
            us = checked(lambda: fast(*choice))  # noqa: B023
            found["reduce_fast"] = min(us, found.get("reduce_fast", us))
            if VERBOSE:
                tell("reduce_fast, {} programs of {} words, {} warps".format(*choice), us, "us")
        found["reduce"] = other(one_kernel)
        plain = torch.zeros(words, device="cuda")
        found["NCCL"] = time_of(lambda: dist.all_reduce(plain), 100, graph=True)  # noqa: B023
        for name, call in symmetric_memory(plain).items():
            if name == "one-shot" or not QUICK:
                found[f"torch {name}"] = time_of(call, 100, graph=True)
        of = f"of {size} bytes in a graph"

        def beside(ours, peer, **wanted):
            tell(f"{ours} {of}", found[ours], "us", peer=(peer, found[peer]) if peer in found else None, **wanted)  # noqa: B023

        beside("reduce_fast", "torch one-shot", share=0.6 if size <= 64 << 10 else None)
        beside("reduce", "torch one-shot")
        if not QUICK:
            found["reduce_two_shot"] = other(two_kernel)
            beside("reduce_two_shot", "torch two-shot")
        if me == 0 and VERBOSE:
            print(f"NCCL's all-reduce {of}: {found['NCCL']:.2f} us", flush=True)
        nvshmem.free_tensor(dest)
        nvshmem.free_tensor(source)
    workspace.free()


def fast_choices(words):
    """Numbers of programs, sizes of blocks and numbers of warps worth a try."""
    found = set()
    for each, warps in ((256, 4), (512, 4), (512, 8), (1024, 8)):
        programs = min(64, max(1, -(-words // each)))
        found.add((programs, min(each, max(128, triton.next_power_of_2(words))), warps))
    return sorted(found)


def large(me, n):
    for size in (1 << 20, 16 << 20, 64 << 20):
        words = size // 4
        dest, source = (nvshmem.tensor(words, torch.float32) for _ in range(2))
        source.fill_(me + 1)
        meet()
        best = None
        for grid, block, warps in ((64, 2048, 8), (128, 2048, 8), (128, 4096, 16), (128, 1024, 4)):
            call = lambda: two_kernel[(grid,)](nvt.state(), dest, source, words, BLOCK=block, num_warps=warps)  # noqa: E731, B023
            call()
            meet()
            assert (dest == n * (n + 1) // 2).all()
            best = min(best or (1e9,), (time_of(call, 10), grid, block, warps))
        plain = torch.zeros(words, device="cuda")
        theirs = time_of(lambda: dist.all_reduce(plain), 10)  # noqa: B023
        shape = "{} programs of {} elements, {} warps".format(*best[1:])
        tell(f"reduce_two_shot of {size >> 20} MiB", best[0], "us", peer=("NCCL", theirs), note=shape)
        nvshmem.free_tensor(dest)
        nvshmem.free_tensor(source)


def teller(area):
    """A function that prints a row of an area, on PE 0."""

    def tell(name, value, unit="us", **more):
        if nvshmem.my_pe() == 0:
            row(f"{area}: {name}", value, unit, **more)

    return tell


tell = teller("Triton")
VERBOSE = "--verbose" in sys.argv
QUICK = "--quick" in sys.argv
PARTS = {
    "ping": ping, "put": lambda me, n: move(put_kernel, "put", me, n), "get": lambda me, n: move(get_kernel, "get", me, n),
    "reduce": reduce, "large": large,
}  # fmt: skip
# The measurements that need one PE only.
ALONE = ("put", "get")


def start():
    """Joins the job and NCCL's; this PE's number and the number of PEs."""
    gpu = int(os.environ["NVSHMEMRS_PE"]) % torch.cuda.device_count()
    torch.cuda.set_device(gpu)
    nvshmem.init(device=gpu)
    me, n = nvshmem.my_pe(), nvshmem.n_pes()
    port = nvshmem.tensor(1, torch.int64)
    store = dist.TCPStore("127.0.0.1", 0, n, True, wait_for_workers=False) if me == 0 else None
    if store is not None:
        port.fill_(store.port)
    meet()
    nvshmem.broadcast(nvshmem.Teams.TEAM_WORLD, port, port, 0)
    if store is None:
        store = dist.TCPStore("127.0.0.1", int(port.item()), n, False)
    dist.init_process_group("nccl", store=store, rank=me, world_size=n, device_id=torch.device("cuda", gpu))
    version = ".".join(map(str, torch.cuda.nccl.version()))
    if me == 0:
        print(f"{torch.cuda.get_device_name()} x {n}, Triton {triton.__version__}, torch {torch.__version__}, NCCL {version}", flush=True)
    return me, n


def selected(parts):
    """The parts that the arguments name; all of `parts` if they name none."""
    return [word for word in sys.argv[1:] if not word.startswith("-")] or list(parts)


def finish():
    """Leaves NCCL's job and ours."""
    dist.destroy_process_group()
    nvshmem.finalize()


def main():
    me, n = start()
    if n > 2:
        raise SystemExit("triton_bench.py measures 1 or 2 PEs: start it with nvshmemrs-run -n 2")
    for name in selected(PARTS if n > 1 else ALONE):
        PARTS[name](me, n)
    print(f"triton_bench ok PE {me} of {n}", flush=True)
    finish()


if __name__ == "__main__":
    main()
