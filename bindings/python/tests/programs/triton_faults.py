"""What goes wrong in kernels in Triton: a PE that dies while others wait for it, and wrong arguments
with NVSHMEMRS_DEVICE_CHECK=1.
"""

import os
import signal
import sys
from typing import Any

import numpy as np
import triton
import triton.language as tl
from triton_kernels import Sym, join, launch, meet

import nvshmemrs.core as nvshmem
from nvshmemrs.core.device import triton as nvt


@triton.jit
def waiting_kernel(state, words, result, WAY: tl.constexpr):
    ctx = nvt.context(state)
    if WAY == 0:
        nvt.signal_wait_until(ctx, words, nvt.CMP_NE, 0)
    elif WAY == 1:
        nvt.wait_until_all(ctx, words + tl.arange(0, 4), nvt.CMP_NE, 0)
    elif WAY == 2:
        nvt.wait_until_any(ctx, words + tl.arange(0, 4), nvt.CMP_NE, 0)
    else:
        tl.store(result + 1, nvt.barrier(ctx, 0))
    tl.store(result, nvt.aborted(ctx).to(tl.int32))


def killed() -> None:
    me = nvshmem.my_pe()
    words = Sym(4, "int64")
    # Memory of this PE's own: calls on symmetric memory fail once a PE is dead.
    if triton.knobs.runtime.interpret:
        result: Any = np.zeros(2, np.int32)
    else:
        import torch

        result = torch.zeros(2, dtype=torch.int32, device="cuda")
    meet()
    if me == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    for way in range(4):
        launch(waiting_kernel, 1, words, nvt.wrap(result, symmetric=False), WAY=way)
    assert result.tolist() == [1, -1], result
    try:
        meet()
    except nvshmem.PeDiedError as error:
        print(f"triton ok: killed, {error}", flush=True)
    os._exit(0)


@triton.jit
def wrong_kernel(state, words, seen, pe, offset, slot, WAY: tl.constexpr):
    ctx = nvt.context(state)
    p = words + offset + tl.arange(0, 4)
    if WAY == 0:
        nvt.store(ctx, p, 5, pe)
    elif WAY == 1:
        tl.store(seen, tl.sum(nvt.load(ctx, p, pe)))
    elif WAY == 2:
        nvt.put(ctx, words + offset, words, 4, pe, BLOCK=4)
    elif WAY == 3:
        nvt.atomic_add(ctx, p, 5, pe)
    elif WAY == 4:
        nvt.signal_op(ctx, words + offset, 5, pe)
    elif WAY == 5:
        tl.store(seen, nvt.barrier(ctx, pe * 1000, slot))
    elif WAY == 6:
        nvt.signal_wait_until(ctx, words + offset, nvt.CMP_NE, 0)
    elif WAY == 7:
        tl.store(seen, nvt.signal_fetch(ctx, words + offset))
    elif WAY == 8:
        tl.store(seen, nvt.test_any(ctx, p, nvt.CMP_EQ, 0))
    else:
        tl.store(seen, nvt.broadcast(ctx, 0, words, words + 4, 2, pe, BLOCK=2))


def wrong() -> None:
    """A case a job, because the first finding is kept. The kernel ends itself."""
    way, pe, offset, slot = map(int, sys.argv[2:])
    words, seen = Sym(8, "int64"), Sym(1, fill=5)
    try:
        launch(wrong_kernel, 1, words, seen, pe, offset, slot, WAY=way)
    except Exception as error:
        print(f"ended: {type(error).__name__} {error}", flush=True)
    try:
        meet()
        nvshmem.finalize()
    except nvshmem.NvshmemError as error:
        print(f"triton ok: wrong, {error}", flush=True)
    os._exit(0)


def alone() -> None:
    """The last PE's barrier has a wrong slot; the others wait for it, and learn that it is gone."""
    me, last = nvshmem.my_pe(), nvshmem.n_pes() - 1
    words, seen = Sym(8, "int64"), Sym(1, fill=5)
    meet()
    try:
        launch(wrong_kernel, 1, words, seen, 0, 0, 200 if me == last else 0, WAY=5)
    except Exception:
        assert me == last
        os._exit(3)
    assert me != last, "the wrong call did not end the kernel"
    try:
        meet()
    except nvshmem.PeDiedError as error:
        print(f"triton ok: alone, {error}", flush=True)
    os._exit(0)


if __name__ == "__main__":
    join()
    {"killed": killed, "wrong": wrong, "alone": alone}[sys.argv[1]]()
