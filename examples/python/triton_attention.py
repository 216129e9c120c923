# mypy: ignore-errors
"""A step of attention over a sequence that is spread over the PEs.

Every PE has some rows of queries, keys and values. Its queries look at the keys and values of all
PEs. The first kernel gathers these, once for all queries; the second one computes.

    nvshmemrs-run -n 2 -- python3 triton_attention.py [--plot FILE]
"""

import numpy as np
from beside import compare
from triton_support import GPUS, fill, join_nccl, local, meet, plot, read, start, symmetric

# isort: split
import triton
import triton.language as tl

import nvshmemrs.core as nvshmem
from nvshmemrs.core.device import triton as nvt


@triton.jit
def gather(state, k, v, keys, values, size, BLOCK: tl.constexpr):
    """The keys and values of all PEs, of `size` elements each, one PE's behind the other's. They are
    complete when the kernel has ended, and then nobody reads this PE's `k` and `v` any more.
    """
    ctx = nvt.context(state)
    nvt.fcollect(ctx, 0, keys, k, size, BLOCK=BLOCK)
    nvt.fcollect(ctx, 0, values, v, size, BLOCK=BLOCK)


@triton.jit
def attention(
    q, keys, values, out, parts, heads, rows, scale,
    D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """q and out are (heads, rows, D), the rows of this PE; keys and values (parts, heads, rows, D)."""
    down = rows // BM
    lanes = tl.arange(0, D)
    for tile in range(tl.program_id(0), heads * down, tl.num_programs(0)):
        first = (tile // down) * rows
        row = first + (tile % down) * BM + tl.arange(0, BM)
        query = tl.load(q + row[:, None] * D + lanes[None, :])
        most = tl.full((BM,), float("-inf"), tl.float32)
        weight = tl.zeros((BM,), tl.float32)
        total = tl.zeros((BM, D), tl.float32)
        for part in range(0, parts):
            start = (tl.zeros((), tl.int64) + part) * heads * rows + first
            for at in range(0, rows, BN):
                column = start + at + tl.arange(0, BN)
                key = tl.load(keys + column[None, :] * D + lanes[:, None])
                score = tl.dot(query, key) * scale
                higher = tl.maximum(most, tl.max(score, 1))
                share = tl.exp2(score - higher[:, None])
                shrink = tl.exp2(most - higher)
                value = tl.load(values + column[:, None] * D + lanes[None, :])
                weight = weight * shrink + tl.sum(share, 1)
                total = tl.dot(share.to(value.dtype), value, total * shrink[:, None])
                most = higher
        result = total / weight[:, None]
        tl.store(out + row[:, None] * D + lanes[None, :], result.to(out.dtype.element_ty))


def main():
    me, n = start()
    heads, rows, width = (16, 4096, 128) if GPUS else (2, 16, 16)
    dtype = "bfloat16" if GPUS else "float32"
    blocks = dict(BM=128, BN=64) if GPUS else dict(BM=8, BN=8)
    programs = 128 if GPUS else 2
    options, moving = (dict(num_warps=8, num_stages=3), dict(num_warps=8)) if GPUS else ({}, {})
    # Every PE knows all inputs, for the check.
    random = np.random.default_rng(3)
    q, k, v = (random.standard_normal((n, heads, rows, width)).astype(np.float32) for _ in range(3))
    query, out = local(q[me], dtype), local(np.zeros((heads, rows, width)), dtype)
    key, value = (symmetric((heads, rows, width), dtype) for _ in range(2))
    keys, values = (symmetric((n, heads, rows, width), dtype) for _ in range(2))
    fill(key, k[me])
    fill(value, v[me])
    shared = [nvt.wrap(array) for array in (key, value, keys, values)]
    query_, keys_, values_, out_ = (nvt.wrap(array, symmetric=False) for array in (query, keys, values, out))
    # Powers of 2 take the place of powers of e.
    scale = width**-0.5 * 1.4426950408889634

    def step():
        gather[(programs,)](nvt.state(), *shared, heads * rows * width, BLOCK=8192 if GPUS else 128, **moving)
        attention[(programs,)](query_, keys_, values_, out_, n, heads, rows, scale, D=width, **blocks, **options)

    meet()
    for _ in range(2):
        step()
    meet()
    found = read(out)[::5, :16]
    plain = np.stack([by_numpy(q[me, head, :16], k[:, head], v[:, head]) for head in range(0, heads, 5)])
    for head, (ours, right) in enumerate(zip(found, plain)):
        error = np.abs(ours - right).max() / np.abs(right).max()
        assert error < (0.03 if GPUS else 1e-5), (5 * head, error)
    times = beside_nccl(n, step, query, key, value, out)
    plot(f"attention over {n} x {rows} rows", found, plain, times)
    print(f"attention ok PE {me} of {n}")
    meet()
    nvshmem.finalize()


def by_numpy(queries, k, v):
    """Attention of some queries to the keys and values of all PEs."""
    keys, values = (np.concatenate(list(whole)) for whole in (k, v))
    score = queries @ keys.T * queries.shape[-1] ** -0.5
    share = np.exp(score - score.max(1, keepdims=True))
    return share @ values / share.sum(1, keepdims=True)


def beside_nccl(n, step, query, key, value, out):
    """The same by torch and NCCL, which gather keys and values first, and both times; None where
    NCCL cannot be.
    """
    peer = join_nccl()
    if peer is None:
        return None
    torch, dist = peer
    whole = torch.empty((2, n, *key.shape), dtype=key.dtype, device="cuda")

    def plain():
        for gathered, own in zip(whole, (key, value)):
            dist.all_gather_into_tensor(gathered, own)
        keys, values = (part.transpose(0, 1).flatten(1, 2)[None] for part in whole)
        return torch.nn.functional.scaled_dot_product_attention(query[None], keys, values)[0]

    error = (plain().float() - out.float()).abs().max() / out.float().abs().max()
    assert error < 0.03, error
    work = f"attention, {query.shape[0]} heads, {n} x {query.shape[1]} rows of {query.shape[2]} bfloat16"
    return compare(peer, work, step, "NCCL's all-gather and torch's attention", plain)


if __name__ == "__main__":
    main()
