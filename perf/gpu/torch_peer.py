"""One rank of a PyTorch job that measures NCCL's collectives and those of torch's symmetric memory, in the lines of `gpu-bench`.

Started by nvshmemrs-run, which says which rank it is: torch_peer.py nccl|nccl-graph|nccl-windows|nccl-windows-graph|nccl-pairs|symm-one-shot|symm-two-shot [MOST]
"""

from __future__ import annotations

import json
import os
import sys

import torch
import torch.distributed as dist

ROUNDS = 9
SIZES = [8, 64, 1024, 8192, 65536, 262144, 1 << 20, 4 << 20, 16 << 20, 64 << 20]
ONE_SHOT_MOST = 1 << 20  # beyond, it is not made for

me, n = int(os.environ["NVSHMEMRS_PE"]), int(os.environ["NVSHMEMRS_N_PES"])
kind = sys.argv[1]
most = int(sys.argv[2]) if len(sys.argv) > 2 else 64 << 20


def print_line(**line: object) -> None:
    # At once, because the PEs have one pipe.
    os.write(1, (json.dumps({"pe": me, **line}) + "\n").encode())


# NCCL's kernels for windows reduce floating-point numbers only.
dtype = torch.float32 if "windows" in kind else torch.int32


def values(rank: int, start: int, count: int) -> torch.Tensor:
    """Words `start` and up of a rank's source; as floating-point numbers, they and their sums are exact."""
    return ((rank * 65537 + torch.arange(start, start + count, dtype=torch.int32, device="cuda")) % 999983).to(dtype)


def total(start: int, count: int) -> torch.Tensor:
    return sum((values(rank, start, count) for rank in range(1, n)), values(0, start, count))


def buffers(windows: bool) -> list[torch.Tensor]:
    """Memory for the largest sources and destinations. `windows`: made by ncclMemAlloc and registered as symmetric windows."""

    def made() -> list[torch.Tensor]:
        return [torch.empty(most // 4, dtype=dtype, device="cuda") for _ in range(3)]

    if not windows:
        return made()
    backend = dist.group.WORLD._get_backend(torch.device("cuda"))
    pool = torch.cuda.MemPool(backend.mem_allocator)
    with torch.cuda.use_mem_pool(pool):
        memory = made()
    dist.barrier()  # the communicator is there
    backend.register_mem_pool(pool, symm=True)
    pools.append(pool)
    return memory


pools: list[torch.cuda.MemPool] = []


def cases(words: int, memory: list[torch.Tensor]):
    """NCCL's collectives: name, whether the buffer is in parts, the call, its destination, and the destination's contents afterwards."""
    part = words // n
    source, whole, other = (buffer[:words] for buffer in memory)
    source.copy_(values(me, 0, words))
    yield "reduce", False, lambda: dist.all_reduce(whole), whole, None
    if part * n == words and part >= 2:
        piece, mine = other[:part], source[:part]
        yield "reducescatter", True, lambda: dist.reduce_scatter_tensor(piece, source), piece, total(me * part, part)
        gathered = torch.cat([values(rank, 0, part) for rank in range(n)])
        yield "fcollect", True, lambda: dist.all_gather_into_tensor(whole, mine), whole, gathered
    # NCCL has kernels for windows for these three; others do not use them.
    if "windows" in kind:
        return
    if part * n == words and part >= 2:
        sent = torch.cat([values(rank, me * part, part) for rank in range(n)])
        yield "alltoall", True, lambda: dist.all_to_all_single(whole, source), whole, sent
    yield "broadcast", False, lambda: dist.broadcast(source, 0), source, values(0, 0, words)


def calls_for(size: int) -> int:
    return 200 if size <= 1 << 16 else 100 if size <= 1 << 20 else 30 if size <= 16 << 20 else 15


def measure(name: str, size: int, call, graphed: bool) -> None:
    calls = calls_for(size)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(5):
            call()
        stream.synchronize()
        run = None
        if graphed:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, stream=stream):
                for _ in range(calls):
                    call()
            run = graph.replay
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        times = []
        for turn in range(-2, ROUNDS):
            torch.cuda.synchronize()
            dist.barrier()
            torch.cuda.synchronize()
            start.record(stream)
            if run:
                run()
            else:
                for _ in range(calls):
                    call()
            end.record(stream)
            stream.synchronize()
            if turn >= 0:
                times.append(round(start.elapsed_time(end) * 1e3 / calls, 4))
    print_line(op=name, bytes=size, how="graph" if graphed else "stream", us=times)


def check(name: str, size: int, found: torch.Tensor, expected: torch.Tensor) -> None:
    torch.cuda.synchronize()
    if not torch.equal(found, expected):
        raise SystemExit(f"{kind}: PE {me}: {name} of {size} bytes is wrong")


def nccl(graphed: bool, windows: bool) -> None:
    memory = buffers(windows)
    for size in SIZES:
        if size > most:
            break
        for name, _, call, dest, expected in cases(size // 4, memory):
            if name == "reduce":  # in place, so the sums grow; the first is looked at
                dest.copy_(values(me, 0, size // 4))
                call()
                check(name, size, dest, total(0, size // 4))
                measure(name, size, call, graphed)
            else:
                measure(name, size, call, graphed)
                check(name, size, dest, expected)


def pairs() -> None:
    """NCCL's send and recv between ranks 0 and 1: the round trip of 8 bytes, and one way of large blocks."""
    for size in (8, 4 << 20, 64 << 20):
        sent, came = values(me, 0, size // 4), torch.zeros(size // 4, dtype=torch.int32, device="cuda")

        def ping() -> None:
            for turn in (0, 1):
                if me == turn:
                    dist.send(sent, 1 - me)
                else:
                    dist.recv(came, 1 - me)

        def one_way() -> None:
            if me == 0:
                dist.send(sent, 1)
            else:
                dist.recv(came, 0)

        measure("ping" if size == 8 else "send", size, ping if size == 8 else one_way, False)
        if size == 8 or me == 1:
            check("recv", size, came, values(1 - me, 0, size // 4))


def symmetric(two_shot: bool) -> None:
    import torch.distributed._symmetric_memory as symm_mem

    group = dist.group.WORLD.group_name
    for size in SIZES:
        if size < 64 or size > (most if two_shot else min(most, ONE_SHOT_MOST)):
            continue
        words = size // 4
        memory = symm_mem.empty(words, dtype=torch.float32, device=torch.device("cuda", torch.cuda.current_device()))
        symm_mem.rendezvous(memory, group=group)
        memory.fill_(me + 1)
        dist.barrier()
        op = torch.ops.symm_mem.two_shot_all_reduce_ if two_shot else torch.ops.symm_mem.one_shot_all_reduce
        found = op(memory, "sum", group)
        check("reduce", size, found, torch.full_like(found, n * (n + 1) // 2))
        memory.zero_()  # in place, so the sums would grow
        dist.barrier()
        measure("reduce", size, lambda: op(memory, "sum", group), True)


torch.cuda.set_device(me % torch.cuda.device_count())
dist.init_process_group("nccl", init_method=os.environ["BENCH_INIT"], rank=me, world_size=n)
if me == 0:
    version = ".".join(map(str, torch.cuda.nccl.version())) if kind.startswith("nccl") else torch.__version__
    print_line(side=kind, version=version, n=n)
if kind == "nccl-pairs":
    pairs()
elif kind.startswith("nccl"):
    nccl(kind.endswith("graph"), "windows" in kind)
else:
    symmetric(kind == "symm-two-shot")
dist.barrier()
pools.clear()  # while the communicator is there
dist.destroy_process_group()
