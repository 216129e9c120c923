# mypy: ignore-errors
"""A layer of a mixture of experts: tokens go to the PEs of their experts, and the results come back.

Every PE has some of the experts. The first kernel sends each token's row to its experts' PEs; an
atomic on the receiving PE reserves the place. The second multiplies the rows of each expert by its
matrix, and stores every row of the result on the PE that the token came from. The third adds up each
token's results. No PE tells another how much it will send.

    nvshmemrs-run -n 2 -- python3 triton_moe.py [--plot FILE]
"""

import numpy as np
from beside import compare
from triton_support import GPUS, join_nccl, local, meet, plot, read, start, symmetric

# isort: split
import triton
import triton.language as tl

import nvshmemrs.core as nvshmem
from nvshmemrs.core.device import triton as nvt


@triton.jit
def dispatch(
    state, x, experts, inbox, origin, count, choices, each, room,
    TOP: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    """Choice i is of token i // TOP; expert e is number e % each on PE e // each."""
    ctx = nvt.context(state)
    lanes = tl.arange(0, D)
    for i in range(tl.program_id(0), choices, tl.num_programs(0)):
        expert = tl.load(experts + i)
        pe = expert // each
        mine = expert % each
        row = tl.load(x + (i // TOP) * D + lanes)
        place = nvt.atomic_fetch_add(ctx, count + mine, 1, pe)
        # Tokens that find no room are left out, as is usual; the host looks for it.
        kept = place < room
        at = mine * room + place
        nvt.store(ctx, inbox + at * D + lanes, row, pe, mask=lanes * 0 + place < room)
        if kept:
            nvt.store(ctx, origin + at, ctx.my_pe * choices + i, pe)
    # All rows for this PE have come when its programs have met theirs.
    nvt.barrier(ctx, 0)


@triton.jit
def multiply(
    state, inbox, origin, count, weight, back, choices, each, room,
    D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """back[i] of the PE that a row came from is the row times its expert's matrix."""
    ctx = nvt.context(state)
    across = D // BN
    down = (room + BM - 1) // BM
    for tile in range(tl.program_id(0), each * down * across, tl.num_programs(0)):
        column = (tile % across) * BN + tl.arange(0, BN)
        row = ((tile // across) % down) * BM + tl.arange(0, BM)
        expert = tile // (across * down)
        there = tl.minimum(tl.load(count + expert), room)
        if ((tile // across) % down) * BM < there:
            inside = row < there
            source = inbox + (expert * room + row)[:, None] * D
            total = tl.zeros((BM, BN), tl.float32)
            for k in range(0, D, BK):
                inner = k + tl.arange(0, BK)
                left = tl.load(source + inner[None, :], mask=inside[:, None], other=0.0)
                right = tl.load(weight + (expert * D + inner)[:, None] * D + column[None, :])
                total = tl.dot(left, right, total)
            who = tl.load(origin + expert * room + row, mask=inside, other=0)
            # Each row of the tile goes to a PE of its own.
            to = back + (who % choices)[:, None] * D + column[None, :]
            nvt.store(ctx, to, total.to(back.dtype.element_ty), (who // choices)[:, None], mask=inside[:, None])
    nvt.barrier(ctx, 0)


@triton.jit
def combine(state, back, gates, y, count, tokens, each, TOP: tl.constexpr, D: tl.constexpr):
    ctx = nvt.context(state)
    lanes = tl.arange(0, D)
    for token in range(tl.program_id(0), tokens, tl.num_programs(0)):
        total = tl.zeros((D,), tl.float32)
        for k in range(TOP):
            gate = tl.load(gates + token * TOP + k)
            total += gate * tl.load(back + (token * TOP + k) * D + lanes).to(tl.float32)
        tl.store(y + token * D + lanes, total.to(y.dtype.element_ty))
    # For the next call, which other PEs begin after this meeting.
    if tl.program_id(0) == 0:
        for expert in range(each):
            tl.store(count + expert, 0)
    nvt.barrier(ctx, 0)


def main():
    me, n = start()
    tokens, width, each, top = (4096, 2048, 4, 2) if GPUS else (6, 32, 2, 2)
    dtype = "bfloat16" if GPUS else "float32"
    choices, experts = tokens * top, each * n
    room = -(-2 * choices * n // experts) if GPUS else choices * n
    blocks = dict(BM=128, BN=128, BK=64) if GPUS else dict(BM=16, BN=16, BK=32)
    programs = 128 if GPUS else 2

    random = np.random.default_rng(7)
    # Every PE knows all inputs, for the check.
    x = random.standard_normal((n, tokens, width)).astype(np.float32)
    chosen = np.argsort(random.random((n, tokens, experts)), axis=-1)[..., :top].astype(np.int32)
    gates = random.random((n, tokens, top)).astype(np.float32)
    weights = (random.standard_normal((experts, width, width)) / width**0.5).astype(np.float32)

    mine = [local(x[me], dtype), local(chosen[me], "int32"), local(gates[me], "float32")]
    weight = local(weights[me * each : (me + 1) * each], dtype)
    inbox = symmetric((each * room, width), dtype)
    origin = symmetric(each * room, "int32")
    count = symmetric(each, "int32")
    back = symmetric((choices, width), dtype)
    y = local(np.zeros((tokens, width)), dtype)
    options = dict(num_warps=8) if GPUS else {}
    # The arrays that other PEs store to are symmetric; the rest is this PE's own.
    inbox_, origin_, count_, back_ = map(nvt.wrap, (inbox, origin, count, back))
    x_, chosen_, gates_, weight_, y_ = (nvt.wrap(array, symmetric=False) for array in (*mine, weight, y))

    def layer():
        state = nvt.state()
        grid = (programs,)
        dispatch[grid](state, x_, chosen_, inbox_, origin_, count_, choices, each, room, TOP=top, D=width)
        multiply[grid](
            state, inbox_, origin_, count_, weight_, back_, choices, each, room, D=width, **blocks, **options
        )
        combine[grid](state, back_, gates_, y_, count_, tokens, each, TOP=top, D=width)

    largest = np.bincount(chosen.reshape(-1), minlength=experts).max()
    assert largest <= room, f"{largest} rows for one expert, and there is room for {room}"
    meet()
    for _ in range(2):
        layer()
    meet()
    # A few tokens by the plain formula.
    some = range(0, tokens, max(1, tokens // 16))
    plain = [sum(gates[me, t, k] * (x[me, t] @ weights[chosen[me, t, k]]) for k in range(top)) for t in some]
    found = read(y)[list(some)]
    for t, right, row in zip(some, plain, found):
        error = np.abs(row - right).max() / np.abs(right).max()
        assert error < (0.03 if GPUS else 1e-4), (t, error)
    times = beside_nccl(n, layer, mine, weight, each, top, y)
    plot(f"results of {len(plain)} tokens", found, plain, times)
    print(f"moe ok PE {me} of {n}")
    meet()
    nvshmem.finalize()


def beside_nccl(n, layer, mine, weight, each, top, y):
    """The same by torch and NCCL, which must first tell each other how much comes, and both times;
    None where NCCL cannot be.
    """
    peer = join_nccl()
    if peer is None:
        return None
    torch, dist = peer
    x, chosen, gates = mine

    def plain():
        flat = chosen.reshape(-1)
        order = torch.argsort(flat, stable=True)
        sent = torch.bincount(flat, minlength=each * n)
        came = torch.empty_like(sent)
        dist.all_to_all_single(came, sent)
        outgoing = sent.view(n, each).sum(1).tolist()
        incoming = came.view(n, each).sum(1).tolist()
        rows = x.new_empty(sum(incoming), x.shape[1])
        dist.all_to_all_single(rows, x[order // top], incoming, outgoing)
        kinds = torch.arange(each, device="cuda").repeat(n).repeat_interleave(came)
        results = torch.empty_like(rows)
        for expert in range(each):
            which = (kinds == expert).nonzero().squeeze(1)
            results[which] = rows[which] @ weight[expert]
        home = torch.empty(len(flat), x.shape[1], dtype=x.dtype, device="cuda")
        dist.all_to_all_single(home, results, outgoing, incoming)
        unsorted = torch.empty_like(home)
        unsorted[order] = home
        return (unsorted.view(*chosen.shape, -1).float() * gates[..., None]).sum(1)

    error = (plain() - y.float()).abs().max() / y.float().abs().max()
    assert error < 0.03, error
    work = f"{len(x)} tokens a PE of {x.shape[1]} bfloat16, {each * n} experts, top {top}, {n} PEs"
    return compare(peer, work, layer, "torch and NCCL", plain)


if __name__ == "__main__":
    main()
