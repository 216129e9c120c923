# type: ignore
"""torch.ops.nvshmemrs on GPUs, beside torch's symmetric memory and NCCL in the same run.

Each PE has a GPU: nvshmemrs-run -n 2 -- python3 torch_ops_bench.py [PART ...]. Parts: reduce, host, rows. PE 0 prints; times are
microseconds, medians of 9 rounds, of the slowest PE.
"""

import statistics
import time

from triton_bench import dist, finish, left_out, meet, nvshmem, selected, start, symmetric_memory, teller, time_of, torch, worst

import nvshmemrs.core.interop.torch as nt

BF16 = torch.bfloat16
SIZES = [8 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10]
OPS = torch.ops.nvshmemrs
tell = teller("torch.ops")


def best_peer(x):
    """The fastest of torch's all-reduces in a graph: its name and its time."""
    plain = torch.zeros_like(x)
    peers = {"NCCL": lambda: dist.all_reduce(plain)}
    peers.update((f"torch {name}", call) for name, call in symmetric_memory(x).items())
    found = None
    for name, call in peers.items():
        try:
            call()
            us = time_of(call, 20, graph=True)
        except (RuntimeError, AttributeError) as error:
            left_out(name, error)
            continue
        tell(f"all_reduce {x.numel() * 2 >> 10} KiB bfloat16, {name} alone", us)
        found = min(found or (us, name), (us, name))
    return None if found is None else (found[1], found[0])


def reduce(n):
    """all_reduce under torch.compile and in a graph: of tensors that are symmetric, and of others."""
    nt.reserve(8 << 20)
    compiled = torch.compile(lambda x: nt.all_reduce(x), fullgraph=True)
    into = torch.compile(lambda x, out: OPS.all_reduce(x, out=out), fullgraph=True)
    for size in SIZES:
        x = torch.zeros(size // 2, dtype=BF16, device="cuda")
        held, out = nvshmem.tensor(size // 2, BF16), nvshmem.tensor(size // 2, BF16)
        peer = best_peer(x)
        more = {"most": 6} if size == 512 << 10 else {}
        work = f"all_reduce {size >> 10} KiB bfloat16, {n} PEs"
        for words, call in (
            ("", lambda: compiled(x)),  # noqa: B023
            (", symmetric, out=", lambda: into(held, out)),  # noqa: B023
        ):
            call()
            meet()
            us = time_of(call, 20, graph=True)
            tell(f"{work}, compiled, graph{words}", us, peer=peer, share=0.6)
            if more and not words:
                tell(f"{work}, compiled, graph, alone", us, **more)
        for memory in (held, out):
            nvshmem.free_tensor(memory)


def host_time(call, calls=400):
    """The CPU time that it takes to put one call on a stream."""
    times = []
    for _ in range(12):
        meet()
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        times.append((time.perf_counter() - begin) * 1e6 / calls)
    return worst(statistics.median(times[3:]))


def host(n):
    """The CPU's cost of a call, over an operation of the same signature that does nothing."""
    library = torch.library.Library("nvshmemrs_bench", "DEF")
    library.define('nothing.out(Tensor input, str op="sum", str group="TEAM_WORLD", *, Tensor(a!) out) -> ()')
    library.impl("nothing.out", lambda input, op="sum", group="TEAM_WORLD", *, out: None, "CompositeExplicitAutograd")
    nothing = torch.ops.nvshmemrs_bench.nothing.out
    held, out = nvshmem.tensor(2048, BF16), nvshmem.tensor(2048, BF16)
    stream = torch.cuda.current_stream()
    empty = host_time(lambda: nothing(held, "sum", "TEAM_WORLD", out=out))
    ours = host_time(lambda: OPS.all_reduce.out(held, "sum", "TEAM_WORLD", out=out), 100)
    python = host_time(lambda: nvshmem.reduce("TEAM_WORLD", out, held, "sum", stream), 100)
    tell(f"CPU's time of an operation that does nothing, {n} PEs", empty)
    tell(f"CPU's time of all_reduce.out, 4 KiB, {n} PEs", ours)
    tell(f"the same over an operation that does nothing, {n} PEs", ours - empty, most=python + 1, note=f"nvshmem.reduce {python:.2f}")


def rows(n):
    """all_to_all_v by splits on the device, beside NCCL with splits known on the host and with their exchange."""
    tokens, width = 8192, 2048
    x = nvshmem.tensor((tokens, width), BF16)
    sizes = [tokens // n] * n
    splits = torch.tensor(sizes, device="cuda")
    out, received = torch.empty(tokens, width, dtype=BF16, device="cuda"), torch.empty(2, n, dtype=torch.int64, device="cuda")
    theirs = torch.empty_like(out)

    def call():
        OPS.all_to_all_v(x, splits, out=out, received=received)

    def known():
        dist.all_to_all_single(theirs, x, sizes, sizes)

    def exchanged():
        came = torch.empty_like(splits)
        dist.all_to_all_single(came, splits)
        dist.all_to_all_single(theirs, x, came.tolist(), splits.tolist())

    for one in (call, known, exchanged):
        one()
    meet()
    us = time_of(call, 10, graph=True)
    work = f"all_to_all_v {tokens} rows of {width} bfloat16, {n} PEs"
    tell(f"{work}, graph", us, peer=("NCCL, splits known on the host", time_of(known, 10)))
    tell(f"{work}, graph, beside", us, peer=("NCCL with an exchange of splits", time_of(exchanged, 10)))


PARTS = {"reduce": reduce, "host": host, "rows": rows}


def main():
    _, n = start()
    parts = selected(PARTS)
    if "reduce" not in parts:
        nt.reserve(8 << 20)
    for part in sorted(parts, key=list(PARTS).index):
        PARTS[part](n)
    meet()
    finish()


if __name__ == "__main__":
    main()
