# mypy: ignore-errors
"""An all-reduce of one's own, as engines for language models have: a kernel and a class of 40 lines.

Each PE copies its numbers to symmetric memory. After a barrier each PE loads those of all PEs, adds
them up in the order of the PEs, and stores the sum: the same bits on every PE. No handles of memory
are exchanged and no pointers are kept, and a CUDA graph may have captured it.

    nvshmemrs-run -n 2 -- python3 triton_all_reduce.py [--plot FILE]
"""

import beside
import numpy as np
from triton_support import GPUS, PLOT, join_nccl, local, meet, read, start, symmetric

# isort: split
import triton
import triton.language as tl

import nvshmemrs.core as nvshmem
from nvshmemrs.core.device import triton as nvt


# The 40 lines begin.
@triton.jit
def one_shot(state, shared, x, out, n, BLOCK: tl.constexpr):
    ctx = nvt.context(state)
    first = tl.program_id(0) * BLOCK
    step = tl.num_programs(0) * BLOCK
    for begin in range(first, n, step):
        at = begin + tl.arange(0, BLOCK)
        tl.store(shared + at, tl.load(x + at, mask=at < n), mask=at < n)
    # A program loads the data of the programs with its number, so it waits for those only.
    nvt.barrier(ctx, 0)
    for begin in range(first, n, step):
        at = begin + tl.arange(0, BLOCK)
        total = tl.zeros((BLOCK,), tl.float32)
        for pe in range(0, ctx.n_pes):
            total += nvt.load(ctx, shared + at, pe, mask=at < n, other=0).to(tl.float32)
        tl.store(out + at, total.to(out.dtype.element_ty), mask=at < n)
    # The next call overwrites data that other PEs may still load.
    nvt.barrier(ctx, 0)


class CustomAllReduce:
    """The sum over all PEs of up to `most` elements. Its calls come in the same order on all PEs."""

    def __init__(self, most, dtype):
        self.most, self.block = most, 1024 if GPUS else 64
        self.shared = symmetric(most, dtype)
        self.arguments = nvt.state(), nvt.wrap(self.shared)

    def fits(self, n):
        return 0 < n <= self.most

    def __call__(self, x, out, n):
        programs = min(-(-n // self.block), 128)
        one_shot[(programs,)](*self.arguments, x, out, n, BLOCK=self.block)


# The 40 lines end.
def main():
    me, n = start()
    dtype = "bfloat16" if GPUS else "float32"
    reduce = CustomAllReduce(1 << 18 if GPUS else 1 << 10, dtype)
    assert reduce.fits(reduce.most) and not reduce.fits(reduce.most + 1)
    times = None
    for size in (1, 100, reduce.most // 4, reduce.most):
        parts = [np.random.default_rng([size, pe]).standard_normal(size) for pe in range(n)]
        x, out = local(parts[me], dtype), local(np.zeros(size), dtype)
        pointers = [nvt.wrap(array, symmetric=False) for array in (x, out)]
        for _ in range(3):
            reduce(*pointers, size)
        meet()
        plain = sum(read(local(part, dtype)) for part in parts)
        assert np.abs(read(out) - plain).max() <= (0.02 if GPUS else 1e-5) * np.abs(plain).max()
    peer = join_nccl()
    if peer is not None:
        window = beside.windows(peer, (size,), x.dtype)
        peers = {"NCCL": lambda: peer.dist.all_reduce(x)}
        if window is not None:
            peers["NCCL with windows"] = lambda: peer.dist.all_reduce(window)
        work = f"all-reduce of {size * 2 >> 10} KiB bfloat16, {n} PEs"
        x.zero_()
        times = beside.compare_all(peer, work, lambda: reduce(*pointers, size), peers, True, True)
    beside.plot(PLOT, "sums of all PEs", read(out) if peer is None else plain, plain, times)
    print(f"all_reduce ok PE {me} of {n}")
    meet()
    nvshmem.finalize()


if __name__ == "__main__":
    main()
