# type: ignore
"""Fused operations on GPUs, beside torch with NCCL, with NCCL's windows, and with torch's symmetric memory, in the same run.

Each PE has a GPU: nvshmemrs-run -n 2 -- python3 fused_bench.py [PART ...]. Parts: norm, experts, product. Calls are timed in CUDA graphs
unless a row says otherwise. With --all more shapes, with --verbose each try. PE 0 prints; times are microseconds, medians of 9 rounds, of the slowest PE.
"""

import itertools
import sys

from triton_bench import VERBOSE, dist, finish, left_out, meet, nvshmem, selected, start, symmetric_memory, teller, time_of, torch

from nvshmemrs.core import fused

BF16 = torch.bfloat16
ALL = "--all" in sys.argv
tell = teller("fused")
pools = []


def best(name, tries):
    """The best time of some tries, (words, call), and the words of the best try."""
    found = None
    for words, call in tries:
        call()
        meet()
        us = time_of(call, 20, graph=True)
        if VERBOSE:
            tell(f"{name}, {words}", us)
        found = min(found or (us, words), (us, words))
    return found


def windows(*shapes):
    """Tensors in memory that is a symmetric window of NCCL's; None where torch cannot make it."""
    try:
        backend = dist.group.WORLD._get_backend(torch.device("cuda"))
        pool = torch.cuda.MemPool(backend.mem_allocator)
        with torch.cuda.use_mem_pool(pool):
            made = [torch.empty(shape, dtype=BF16, device="cuda") for shape in shapes]
        dist.barrier()
        backend.register_mem_pool(pool, symm=True)
    except (RuntimeError, AttributeError, TypeError) as error:
        left_out("NCCL's windows", error)
        return None
    pools.append(pool)
    return made


def beside(name, ours, peers, **wanted):
    """A row for each peer; `wanted` is the target beside the first peer."""
    us, note = ours
    told = False
    for peer, call in peers.items():
        try:
            call()
            theirs = time_of(call, 20, graph=True)
        except (RuntimeError, AttributeError, TypeError, AssertionError) as error:
            left_out(peer, error)
            continue
        tell(name, us, peer=(peer, theirs), note="" if told else note, **({} if told else wanted))
        told = True
    if not told:
        tell(name, us, note=note, **wanted)


def norm(me, n):
    hidden, limits = 4096, {64: 8, 128: 10, 256: 15}
    most = max(limits) * hidden
    with fused.Workspace(reduce_bytes=2 * most) as ws:
        for rows, limit in limits.items():
            x, residual, out = (torch.randn(rows, hidden, dtype=BF16, device="cuda") for _ in range(3))
            weight = torch.rand(hidden, dtype=BF16, device="cuda")
            added = torch.empty_like(x)

            def call(algorithm, warps, programs):
                fused.all_reduce_rms_norm(
                    out, x, weight, ws, residual=residual, residual_out=added, algorithm=algorithm, warps=warps, programs=programs  # noqa: B023
                )

            shapes = [("one_shot", warps, programs) for warps in ((4, 8, 16) if ALL else (8, 16)) for programs in (None, 132)]
            shapes += [("two_shot", 8, None)] if n > 2 or ALL else []
            tries = [("{}, {} warps, {} programs".format(*shape), lambda shape=shape: call(*shape)) for shape in shapes]
            name = f"all-reduce, residual and RMSNorm, {rows} x {hidden} bfloat16 ({rows * hidden * 2 >> 10} KiB), {n} PEs"
            found = best(name, tries)
            summed = x.clone()

            def plain(reduced):
                total = reduced + residual  # noqa: B023
                return torch.nn.functional.rms_norm(total, (hidden,), weight, 1e-6)  # noqa: B023

            def nccl(memory):
                dist.all_reduce(memory)
                plain(memory)  # noqa: B023

            peers = {"NCCL, add and rms_norm": lambda: nccl(summed)}  # noqa: B023
            memory = windows((rows, hidden))
            if memory:
                memory[0].copy_(x)
                peers["NCCL with windows, add and rms_norm"] = lambda: nccl(memory[0])  # noqa: B023
            shots = symmetric_memory(x)
            for peer, op in shots.items():
                peers[f"torch {peer}, add and rms_norm"] = lambda op=op: plain(op())  # noqa: B023
            beside(name, found, peers, most=limit)


def experts(me, n):
    tokens, hidden, n_experts, top = 4096, 2048, 8, 2
    torch.manual_seed(7 + me)
    x = torch.randn(tokens, hidden, device="cuda").to(BF16)
    chosen = torch.rand(tokens, n_experts, device="cuda").topk(top).indices.to(torch.int32)
    gates = torch.rand(tokens, top, device="cuda")
    capacity = tokens * top * n
    inbox = nvshmem.tensor((capacity, hidden), BF16)
    y = torch.empty_like(x)
    work = f"{tokens} tokens a PE x {hidden} bfloat16, top {top} of {n_experts}, {n} PEs"
    with fused.Workspace(choices=tokens * top) as ws:
        route = fused.Route(ws, tokens, top, n_experts)

        def send(programs=None, warps=None, from_=x, to=inbox, scales=None, to_scales=None):
            fused.dispatch(
                to, from_, chosen, ws, n_experts=n_experts, route=route, programs=programs, warps=warps, scales=scales, out_scales=to_scales
            )

        def bring(programs=None, warps=None):
            fused.combine(y, inbox, chosen, gates, route, programs=programs, warps=warps)

        def both(programs=None, warps=None, more=None, wide=None):
            send(programs, warps)
            bring(more, wide)

        both()
        ws.check()
        expected = (gates.sum(1)[:, None] * x.float()).to(BF16)
        error = (y.float() - expected.float()).abs().max() / expected.float().abs().max()
        assert error < 0.02, error
        shapes = list(itertools.product((None, 132, 264, 528, 1024), (4, 8)))
        sent = best(f"dispatch, {work}", [("{} programs, {} warps".format(*s), lambda s=s: send(*s)) for s in shapes])
        came = best(f"combine, {work}", [("{} programs, {} warps".format(*s), lambda s=s: bring(*s)) for s in shapes])
        tell(f"dispatch, {work}", sent[0], note=sent[1])
        tell(f"combine, {work}", came[0], note=came[1])
        # The best of both.
        chosen_shapes = [tuple(None if word == "None" else int(word) for word in found[1].split()[::2]) for found in (sent, came)]
        ours = best(f"both, {work}", [("the best shapes", lambda: both(*chosen_shapes[0], *chosen_shapes[1])), ("as it chooses", both)])
        eager = time_of(both, 20)

        narrow = torch.float8_e4m3fn
        small, small_inbox = x.to(narrow), nvshmem.tensor((capacity, hidden), narrow)
        scales, scales_inbox = torch.rand(tokens, hidden // 128, device="cuda"), nvshmem.tensor((capacity, hidden // 128), torch.float32)
        found = best("dispatch of fp8", [("as it chooses", lambda: send(from_=small, to=small_inbox, scales=scales, to_scales=scales_inbox))])
        tell(f"dispatch, float8_e4m3fn with scales, {work}", found[0], note=found[1])
        both()

        flat = chosen.reshape(-1).long()
        each = n_experts // n

        def splits():
            sent = torch.bincount(flat, minlength=n_experts)
            came = torch.empty_like(sent)
            dist.all_to_all_single(came, sent)
            return sent.view(n, each).sum(1).tolist(), came.view(n, each).sum(1).tolist()

        outgoing, incoming = splits()
        home = torch.empty(tokens * top, hidden, dtype=BF16, device="cuda")

        def plain(outgoing=outgoing, incoming=incoming):
            order = torch.argsort(flat, stable=True)
            rows = x.new_empty(sum(incoming), hidden)
            dist.all_to_all_single(rows, x[order // top], incoming, outgoing)
            dist.all_to_all_single(home, rows, outgoing, incoming)
            back = torch.empty_like(home)
            back[order] = home
            return (back.view(tokens, top, hidden).float() * gates[..., None]).sum(1).to(BF16)

        def alone():
            rows = x.new_empty(sum(incoming), hidden)
            dist.all_to_all_single(rows, home, incoming, outgoing)
            dist.all_to_all_single(home, rows, outgoing, incoming)

        error = (plain().float() - expected.float()).abs().max() / expected.float().abs().max()
        assert error < 0.02, error
        name = f"dispatch and combine, {work}"
        beside(name, ours, {"all_to_all_single, splits known on the host": plain, "the two all_to_all_single alone": alone}, share=0.2)
        exchanged = time_of(lambda: plain(*splits()), 20)
        tell(f"{name}, without a graph", eager, peer=("all_to_all_single with the splits' exchange", exchanged), share=0.2)
        nvshmem.free_tensor(small_inbox)
        nvshmem.free_tensor(scales_inbox)
    nvshmem.free_tensor(inbox)


# Height, width and depth of tiles, warps, stages, programs for each multiprocessor. Each is compiled, so there are more with --all only.
TILES = ((128, 128, 64, 4, 3, 2), (128, 256, 64, 8, 3, 1), (128, 256, 64, 8, 4, 1), (256, 128, 64, 8, 3, 1))


def product(me, n):
    size = 4096
    section = size // n
    torch.manual_seed(3 + me)
    a, b = (torch.randn(size, size, device="cuda").mul_(size**-0.25).to(BF16) for _ in range(2))
    shard = a[:section].contiguous()
    out = nvshmem.tensor((size, size), BF16)
    rows, gathered, made = (torch.empty(length, size, dtype=BF16, device="cuda") for length in (section, size, size))
    alone = time_of(lambda: torch.matmul(a, b, out=made), 20, graph=True)
    tell(f"{size}^3 bfloat16, torch.matmul alone", alone)
    many = torch.cuda.get_device_properties(0).multi_processor_count
    shapes = [(f"tiles {tiles}", dict(tiles=(*tiles[:5], tiles[5] * many))) for tiles in (TILES if ALL else TILES[:2])]
    pieces = [(f"{count} pieces", dict(pieces=count)) for count in (1, 2, 4)]
    group = dist.group.WORLD.group_name
    memory = windows((size, size), (section, size))
    torchs = symmetric_memory(made)

    def nccl(into, collective):
        torch.matmul(a, b, out=into)
        collective(into)

    def attempts(call, some):
        return [(words, lambda more=more: call(**more)) for words, more in some]

    with fused.Workspace(product_bytes=2 * size * size) as ws:
        both = shapes + (pieces if n == 2 else [])
        work = f"{size}^3 bfloat16"

        def all_reduce(**more):
            fused.matmul_all_reduce(out, a, b, ws, **more)

        found = best(f"{work} and all-reduce", attempts(all_reduce, both))
        torch.matmul(a, b, out=made)
        dist.all_reduce(made)
        close(out, made, "all-reduce")
        peers = {}
        if memory:
            peers["torch.matmul, NCCL with windows"] = lambda: nccl(memory[0], dist.all_reduce)
        peers["torch.matmul, NCCL"] = lambda: nccl(made, dist.all_reduce)
        for name, op in torchs.items():
            peers[f"torch.matmul, torch {name}"] = lambda op=op: (torch.matmul(a, b, out=op.memory), op())
        beside(f"{work} and all-reduce, {n} PEs", found, peers, share=0.85)

        def reduce_scatter(**more):
            fused.matmul_reduce_scatter(rows, a, b, ws, **more)

        found = best(f"{work} and reduce-scatter", attempts(reduce_scatter, both if ALL or n > 2 else pieces))
        scattered = torch.empty_like(rows)
        torch.matmul(a, b, out=made)
        dist.reduce_scatter_tensor(scattered, made)
        close(rows, scattered, "reduce-scatter")
        peers = {}
        if memory:
            peers["torch.matmul, NCCL with windows"] = lambda: nccl(memory[0], lambda made: dist.reduce_scatter_tensor(memory[1], made))
        peers["torch.matmul, NCCL"] = lambda: nccl(made, lambda made: dist.reduce_scatter_tensor(scattered, made))
        beside(f"{work} and reduce-scatter, {n} PEs", found, peers)

        def all_gather(**more):
            fused.all_gather_matmul(gathered, shard, b, ws, **more)

        found = best(f"all-gather and {work}", attempts(all_gather, (shapes if ALL else []) + pieces))
        whole = torch.empty_like(a)
        dist.all_gather_into_tensor(whole, shard)
        close(gathered, torch.matmul(whole, b), "all-gather")

        def gather_then(into, from_):
            dist.all_gather_into_tensor(into, from_)
            torch.matmul(into, b, out=made)

        peers = {}
        if memory:
            memory[1].copy_(shard)
            peers["NCCL with windows, torch.matmul"] = lambda: gather_then(memory[0], memory[1])
        peers["NCCL, torch.matmul"] = lambda: gather_then(whole, shard)
        beside(f"all-gather and {work}, {n} PEs", found, peers)
        # Last: torch's own may not return where its workspace cannot be made.
        eager(f"{work} and reduce-scatter, {n} PEs", reduce_scatter, "fused_matmul_reduce_scatter", a, b, "sum", 0, group)
        eager(f"all-gather and {work}, {n} PEs", all_gather, "fused_all_gather_matmul", shard, [b], 0, group)
    nvshmem.free_tensor(out)


def eager(name, ours, op, *arguments):
    """Beside torch's fused op, both called from Python: it may not be captured."""
    ours()
    us = time_of(ours, 20)
    try:
        call = getattr(torch.ops.symm_mem, op)
        call(*arguments)
        peer = (f"torch.ops.symm_mem.{op}", time_of(lambda: call(*arguments), 20))
    except (RuntimeError, AttributeError, AssertionError, TypeError) as error:
        left_out(op, error)
        peer = None
    tell(f"{name}, without a graph", us, peer=peer)


def close(found, expected, what):
    meet()
    error = (found.float() - expected.float()).abs().max() / expected.float().abs().max()
    assert error < 0.02, (what, error)


PARTS = {"norm": norm, "experts": experts, "product": product}


def main():
    me, n = start()
    for name in selected(PARTS):
        PARTS[name](me, n)
    print(f"fused_bench ok PE {me} of {n}", flush=True)
    dist.barrier()
    pools.clear()  # while the communicator is there
    finish()


if __name__ == "__main__":
    main()
