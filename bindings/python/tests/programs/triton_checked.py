"""Kernels of Triton's interpreter in a job that is checked: `triton_checked.py SCENARIO`, with 2 PEs.

`right` does all there is, in order; the others forget something, which the checker finds.
"""

from __future__ import annotations

import os
import sys

os.environ.update(TRITON_INTERPRET="1", NVSHMEMRS_MEMORY="host")

import numpy as np
import triton
import triton.language as tl

import nvshmemrs.core as nvshmem
from nvshmemrs.core.device import triton as nvt

N = 64


@triton.jit
def passes_on(state, inbox, mine, arrived, sums, WAITS: tl.constexpr, N: tl.constexpr):
    """Puts with a signal to the right, and adds up what came from the left."""
    ctx = nvt.context(state)
    lanes = tl.arange(0, N)
    for turn in range(1, 4):
        right = (ctx.my_pe + 1) % ctx.n_pes
        nvt.put_signal(ctx, inbox, mine, N, arrived, turn, right)
        if WAITS:
            nvt.signal_wait_until(ctx, arrived, nvt.CMP_GE, turn)
        tl.store(sums + turn - 1, tl.sum(tl.load(inbox + lanes), 0))
        nvt.barrier(ctx, 0)


@triton.jit
def stores(state, inbox, flag, seen, SIGNALS: tl.constexpr):
    """A store, and then a flag; the other PE reads after the flag."""
    ctx = nvt.context(state)
    other = 1 - ctx.my_pe
    nvt.store(ctx, inbox, 5, other)
    if SIGNALS:
        nvt.fence(ctx)
        nvt.signal_op(ctx, flag, 1, other)
        nvt.signal_wait_until(ctx, flag, nvt.CMP_EQ, 1)
    tl.store(seen, tl.load(inbox))


@triton.jit
def fills_early(state, inbox, mine, N: tl.constexpr, MEETS: tl.constexpr):
    """Fills again what the other PE may not have got yet."""
    ctx = nvt.context(state)
    nvt.get(ctx, inbox, mine, N, 1 - ctx.my_pe, BLOCK=16)
    if MEETS:
        nvt.barrier(ctx, 0)
    tl.store(mine + tl.arange(0, N), tl.zeros((N,), tl.int32))


@triton.jit
def everything(state, x, y, word, answers, team):
    """All kinds of functions, each in order."""
    ctx = nvt.context(state)
    right = (ctx.my_pe + 1) % ctx.n_pes
    nvt.atomic_add(ctx, word, 2, right)
    tl.store(answers, nvt.atomic_fetch_add(ctx, word, 1, right))
    nvt.wait_until(ctx, word, nvt.CMP_GE, 3)
    nvt.atomic_max(ctx, word + 1, 7 + ctx.my_pe, right)
    nvt.barrier(ctx, team)
    tl.store(answers + 1, nvt.atomic_fetch(ctx, word + 1, ctx.my_pe))
    tl.store(answers + 2, nvt.team_n_pes(ctx, team) * 10 + nvt.team_my_pe(ctx, team))
    nvt.broadcast(ctx, team, x, y, 8, 1, BLOCK=8)
    tl.store(answers + 3, tl.load(x))
    nvt.barrier(ctx, team)
    nvt.fcollect(ctx, team, x, y, 4, BLOCK=4)
    nvt.reduce(ctx, team, x + 16, y, 8, nvt.SUM, BLOCK=8)
    tl.store(answers + 4, tl.load(x + 4) * 1000 + tl.load(x + 16))
    nvt.alltoall(ctx, team, x, y, 4, BLOCK=4)
    nvt.reducescatter(ctx, team, x + 16, y, 4, nvt.MAX, BLOCK=4)
    nvt.barrier(ctx, team)
    tl.store(answers + 5, nvt.load(ctx, y, right))


def main() -> None:
    scenario = sys.argv[1]
    right = scenario == "right"
    nvshmem.init()
    me, n = nvshmem.my_pe(), nvshmem.n_pes()
    inbox, mine = nvshmem.array(N, "int32"), nvshmem.array(N, "int32")
    arrived, word = nvshmem.array(1, "int64"), nvshmem.array(2, "int64")
    mine[:] = np.arange(N) + me
    nvshmem.barrier_all()
    own = np.zeros(8, "int64")
    answers = nvt.wrap(own, symmetric=False)
    inbox_, mine_, arrived_, word_ = map(nvt.wrap, (inbox, mine, arrived, word))
    if scenario in ("right", "waits"):
        passes_on[(1,)](nvt.state(), inbox_, mine_, arrived_, answers, WAITS=right, N=N)
        if right:
            assert (own[:3] == N * (N - 1) // 2 + N * ((me - 1) % n)).all(), own
    nvshmem.barrier_all()
    arrived[:] = 0
    nvshmem.barrier_all()
    if scenario in ("right", "flag"):
        stores[(1,)](nvt.state(), inbox_, arrived_, answers, SIGNALS=right)
    nvshmem.barrier_all()
    if scenario in ("right", "early"):
        fills_early[(1,)](nvt.state(), inbox_, mine_, N=N, MEETS=right)
    nvshmem.barrier_all()
    if right:
        x, y = nvshmem.array(64, "int32"), nvshmem.array(64, "int32")
        y[:] = np.arange(64) + 100 * me
        nvshmem.barrier_all()
        everything[(1,)](nvt.state(), nvt.wrap(x), nvt.wrap(y), word_, answers, 0)
        wanted = [2, 8 - me, 10 * n + me, 100, 100 * 1000 + 100, 100 * ((me + 1) % n)]
        assert list(own[:6]) == wanted, (list(own), wanted)
        nvshmem.barrier_all()
        for array in (x, y):
            nvshmem.free_array(array)
    for array in (inbox, mine, arrived, word):
        nvshmem.free_array(array)
    print(f"triton ok: {scenario}, PE {me}", flush=True)
    nvshmem.finalize()


if __name__ == "__main__":
    main()
