# type: ignore
"""Fused operations on GPUs, beside torch with NCCL, with NCCL's windows, and with torch's symmetric memory, in the same run.

Each PE has a GPU: nvshmemrs-run -n 2 -- python3 fused_bench.py [PART ...]. Parts: norm, experts, product. All is timed in CUDA graphs
unless a row says otherwise. With --verbose each try. PE 0 prints; times are microseconds, medians of 9 rounds, of the slowest PE.
"""

import itertools
import sys

from rows import row
from triton_bench import VERBOSE, dist, meet, nvshmem, start, time_of, torch

from nvshmemrs.core import fused

BF16 = torch.bfloat16
pools = []


def tell(name, value, unit="us", **more):
    if nvshmem.my_pe() == 0:
        row(f"fused: {name}", value, unit, **more)


def best(name, tries):
    """The best time of some tries, (words, call), and which one it was."""
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
    """Tensors in memory that NCCL has as symmetric windows; None where torch cannot make it."""
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


def left_out(what, error):
    if nvshmem.my_pe() == 0:
        print(f"left out: {what}: {str(error).splitlines()[0]}", file=sys.stderr, flush=True)


def beside(name, ours, peers, **wanted):
    """A row for each peer; wanted is of the first one."""
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

            shapes = [("one_shot", warps, programs) for warps in (4, 8, 16) for programs in (None, 132)]
            shapes += [("two_shot", 8, None)]
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
            shots = symm_mem(x)
            for peer, op in shots.items():
                peers[f"torch {peer}, add and rms_norm"] = lambda op=op: plain(op())  # noqa: B023
            beside(name, found, peers, most=limit)


def symm_mem(x):
    """torch's all-reduces of symmetric memory."""
    try:
        import torch.distributed._symmetric_memory as symmetric

        group = dist.group.WORLD.group_name
        memory = symmetric.empty(x.shape, dtype=x.dtype, device=x.device)
        symmetric.rendezvous(memory, group=group)
    except (RuntimeError, AttributeError) as error:
        left_out("torch's symmetric memory", error)
        return {}
    memory.copy_(x)
    return {
        "one-shot": lambda: torch.ops.symm_mem.one_shot_all_reduce(memory, "sum", group),
        "two-shot": lambda: torch.ops.symm_mem.two_shot_all_reduce_(memory, "sum", group),
    }


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


PARTS = {"norm": norm, "experts": experts}


def main():
    me, n = start()
    for name in [part for part in sys.argv[1:] if not part.startswith("-")] or PARTS:
        PARTS[name](me, n)
    print(f"fused_bench ok PE {me} of {n}", flush=True)
    dist.barrier()
    pools.clear()  # while the communicator is there
    dist.destroy_process_group()
    nvshmem.finalize()


if __name__ == "__main__":
    main()
