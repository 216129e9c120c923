# mypy: ignore-errors
"""A matrix product whose inner dimension is spread over the PEs, and its sum, in one kernel.

PE p has A_p (M x K) and B_p (K x N); every PE gets the sum of all A_p B_p. Each tile of the result
has an owner. A program sends the tile's part to the owner as soon as it is computed, so the link
works while the next tile is computed. Tiles of this PE's own come last: by then the other parts are
there. The owner adds them up in the order of the PEs, and stores the sum on every PE.

    nvshmemrs-run -n 2 -- python3 triton_gemm_all_reduce.py [SIZE] [--plot FILE]
"""

import sys

import numpy as np
from beside import compare, time_of
from triton_support import GPUS, join_nccl, local, meet, plot, read, start, symmetric

# isort: split
import triton
import triton.language as tl

import nvshmemrs.core as nvshmem
from nvshmemrs.core.device import triton as nvt


@triton.jit
def gemm_all_reduce(
    state, a, b, c, inbox, ready, done, M, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr, TMA: tl.constexpr,
):  # fmt: skip
    ctx = nvt.context(state)
    me = ctx.my_pe
    n = ctx.n_pes
    across = N // BN
    down = M // BM
    tiles = down * across
    # Each PE gets one run of consecutive tiles; the last PE's run may be shorter.
    run = (tiles + n - 1) // n
    rows = tl.arange(0, BM)
    columns = tl.arange(0, BN)
    inner = tl.arange(0, BK)
    # The next PE's tiles first, this PE's own last. A tile has the same program on every PE, so a
    # program waits for programs of its own number only.
    for step in range(1, n + 1):
        owner = (me + step) % n
        for index in range(tl.program_id(0), run, tl.num_programs(0)):
            tile = owner * run + index
            if tile < tiles:
                # Neighbours in time share rows and columns, which stay in the cache.
                block = tile // (GROUP * across)
                height = tl.minimum(down - block * GROUP, GROUP)
                row = (block * GROUP + (tile % (GROUP * across)) % height) * BM
                column = ((tile % (GROUP * across)) // height) * BN
                total = tl.zeros((BM, BN), tl.float32)
                if TMA:
                    for k in range(0, K, BK):
                        total = tl.dot(a.load([row, k]), b.load([k, column]), total)
                else:
                    from_a = a + (row + rows)[:, None] * K + inner[None, :]
                    from_b = b + inner[:, None] * N + (column + columns)[None, :]
                    for k in range(0, K, BK):  # noqa: B007
                        total = tl.dot(tl.load(from_a), tl.load(from_b), total)
                        from_a += BK
                        from_b += BK * N
                # A tile lies in the inbox as one piece; each sender has its own.
                place = rows[:, None] * BN + columns[None, :]
                if owner != me:
                    box = inbox + (me.to(tl.int64) * run + index) * (BM * BN)
                    value = total.to(inbox.dtype.element_ty)
                    nvt.store_signal(ctx, box + place, value, ready + me * run + index, 1, owner)
                else:
                    for sender in range(0, n):
                        if sender != me:
                            flag = ready + sender * run + index
                            nvt.signal_wait_until(ctx, flag, nvt.CMP_EQ, 1)
                            # For the next call; the sender stores the next 1 in the next call.
                            tl.store(flag, 0)
                            box = inbox + (tl.zeros((), tl.int64) + sender * run + index) * (BM * BN)
                            total += tl.load(box + place).to(tl.float32)
                    value = total.to(c.dtype.element_ty)
                    target = c + (row + rows)[:, None] * N + (column + columns)[None, :]
                    for k in range(0, n):
                        nvt.store(ctx, target, value, (me + k) % n)
    # The kernel ends when all programs of all PEs have stored all that they store. One of them waits:
    # the last, so that this works where programs run one after the other, too.
    tl.debug_barrier()
    for k in range(0, n):
        nvt.atomic_add(ctx, done, 1, (me + k) % n)
    if tl.program_id(0) == tl.num_programs(0) - 1:
        turn = tl.load(done + 1) + 1
        tl.debug_barrier()
        tl.store(done + 1, turn)
        nvt.wait_until(ctx, done, nvt.CMP_GE, turn * n * tl.num_programs(0))


def sizes():
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 4096 if GPUS else 64
    blocks = dict(BM=128, BN=128, BK=64, GROUP=8) if GPUS else dict(BM=16, BN=32, BK=32, GROUP=2)
    return size, blocks


def main():
    me, n = start()
    size, blocks = sizes()
    dtype = "bfloat16" if GPUS else "float32"
    tiles = (size // blocks["BM"]) * (size // blocks["BN"])
    run = -(-tiles // n)
    parts = [np.random.default_rng(pe).standard_normal((2, size, size), np.float32) for pe in range(n)]
    a, b = (local(part, dtype) for part in parts[me])
    c = symmetric((size, size), dtype)
    inbox = symmetric((n, run, blocks["BM"], blocks["BN"]), dtype)
    ready = symmetric((n, run), "int64")
    # How many programs have ended, on all PEs and in all calls; and this PE's calls.
    done = symmetric(2, "int64")
    # Programs wait for those of other PEs, so all must run at once: two on each multiprocessor, of
    # which one computes while the other stores.
    programs = min(tiles, 2)
    if GPUS:
        import torch

        programs = min(tiles, 2 * torch.cuda.get_device_properties(0).multi_processor_count)
    options = dict(num_warps=4, num_stages=3) if GPUS else {}

    # The inputs are this PE's own; the arrays that other PEs store to are symmetric.
    arguments = [nvt.wrap(array, symmetric=False) for array in (a, b)]
    arguments += [nvt.wrap(array) for array in (c, inbox, ready, done)]

    def fused():
        gemm_all_reduce[(programs,)](
            nvt.state(), *arguments, size, size, size, **blocks, TMA=False, **options
        )

    meet()
    for _ in range(2):
        fused()
    meet()
    plain = sum(x @ y for x, y in (map(rounded, part) for part in parts)) if size <= 1024 else None
    if plain is not None:
        error = np.abs(read(c) - plain).max() / np.abs(plain).max()
        assert error < (0.02 if GPUS else 1e-5), error
    times = beside_nccl(a, b, c, fused, size)
    if plain is not None:
        plot(f"sum of products, {size} x {size}", read(c), plain, times)
    print(f"gemm_all_reduce ok PE {me} of {n}")
    meet()
    nvshmem.finalize()


def rounded(x):
    return read(local(x, "bfloat16")) if GPUS else x


def beside_nccl(a, b, c, fused, size):
    """The same by torch and NCCL, and both times; None where NCCL cannot be."""
    peer = join_nccl()
    if peer is None:
        return None
    torch = peer.torch
    product = torch.empty_like(c)

    def plain():
        torch.matmul(a, b, out=product)
        peer.dist.all_reduce(product)

    plain()
    error = (product.float() - c.float()).abs().max() / product.float().abs().max()
    assert error < 0.02, error
    alone = time_of(peer, lambda: torch.matmul(a, b, out=product))
    if nvshmem.my_pe() == 0:
        print(f"the product alone, by torch.matmul: {alone:.1f} us")
    n = nvshmem.n_pes()
    return compare(peer, f"{size}^3 bfloat16 and all-reduce, {n} PEs", fused, "torch.matmul then NCCL", plain)


if __name__ == "__main__":
    main()
