"""Times of Numba's kernels that communicate: `nvshmemrs-run -n 2 -- python numba_kernels.py`.

PE 0 prints a line for each measurement. Rates are those of PE 0's puts to PE 1, or to itself if it is
alone: then measurements of two PEs are left out. With BENCH_SIDE=nvshmem-numba the same kernels are those of
NVSHMEM4Py's module.
"""

from __future__ import annotations

import os
import time

import numpy as np

if not hasattr(np, "row_stack"):  # numba-cuda 0.30 uses it, and NumPy 2.5 has removed it
    np.row_stack = np.vstack

from numba import cuda
from rows import row

THEIRS = os.environ.get("BENCH_SIDE") == "nvshmem-numba"
if THEIRS:
    from nvshmem4py_job import begin  # before NVSHMEM4Py, because it hides torch

    import nvshmem.core as nvshmem
    import nvshmem.core.device.numba as shmem
    from nvshmem.bindings.device.numba import quiet
else:
    import nvshmemrs.core as nvshmem
    import nvshmemrs.core.device.numba as shmem

    quiet = shmem.quiet

SET = nvshmem.SignalOp.SIGNAL_SET
GE = nvshmem.ComparisonType.CMP_GE


@cuda.jit
def signals(flag, rounds, pe):
    me = shmem.my_pe()
    for turn in range(1, rounds + 1):
        if me == 0:
            shmem.signal_op(flag, turn, SET, pe)
            shmem.signal_wait(flag, GE, turn)
        else:
            shmem.signal_wait(flag, GE, turn)
            shmem.signal_op(flag, turn, SET, pe)


@cuda.jit
def put_signals(data, flag, rounds, pe):
    me = shmem.my_pe()
    for turn in range(1, rounds + 1):
        if me == 0:
            shmem.put_signal(data, data, flag, turn, SET, pe)
            shmem.signal_wait(flag, GE, turn)
        else:
            shmem.signal_wait(flag, GE, turn)
            shmem.put_signal(data, data, flag, turn, SET, pe)


@cuda.jit
def barriers(rounds):
    for _ in range(rounds):
        shmem.barrier_all_block()


# With more registers a thread, no block of 1024 threads can start.
FEW_REGISTERS = 64


@cuda.jit(max_registers=FEW_REGISTERS)
def block_puts(dst, src, rounds, pe):
    """Each block puts a part of its own."""
    part = src.size // cuda.gridDim.x
    first = cuda.blockIdx.x * part
    for _ in range(rounds):
        shmem.put_nbi_block(dst[first : first + part], src[first : first + part], pe)
    quiet()


@cuda.jit(max_registers=FEW_REGISTERS)
def warp_puts(dst, src, rounds, pe):
    """Each warp puts parts of its own."""
    warps = cuda.gridDim.x * (cuda.blockDim.x // 32)
    part = src.size // warps
    first = (cuda.blockIdx.x * (cuda.blockDim.x // 32) + cuda.threadIdx.x // 32) * part
    for _ in range(rounds):
        shmem.put_nbi_warp(dst[first : first + part], src[first : first + part], pe)
    quiet()


@cuda.jit
def thread_puts(dst, src, rounds, pe):
    for _ in range(rounds):
        shmem.put_nbi(dst, src, pe)
    quiet()


def meet():
    """A barrier of all PEs, after the GPU has completed its work."""
    cuda.synchronize()
    if THEIRS:
        nvshmem.barrier(nvshmem.Teams.TEAM_WORLD, stream=stream)
        stream.sync()
    else:
        nvshmem.barrier_all()


def array(size, dtype):
    made = nvshmem.array((size,), dtype=dtype)
    arrays.append(made)
    return made


def seconds(work, prepare=meet):
    """The shortest of some times, each after a call of `prepare`; every PE calls."""
    best = float("inf")
    for _ in range(4):
        prepare()
        start = time.perf_counter()
        work()
        cuda.synchronize()
        best = min(best, time.perf_counter() - start)
    return best


def tell(name, value, unit, **more):
    if me == 0:
        row(f"Numba: {name}", value, unit, **more)


def ping_pongs(pe):
    rounds = 20_000
    flag, data = array(1, "uint64"), array(1, "int64")

    def reset():
        meet()
        flag.fill(0)
        meet()

    def run(kernel, *arguments):
        return seconds(lambda: kernel[1, 1](*arguments, rounds, pe), reset) / rounds * 1e6

    tell("signal ping-pong, round trip", run(signals, flag), "us", most=2.7, against="ping 8")
    tell("put_signal of 8 bytes ping-pong, round trip", run(put_signals, data, flag), "us", against="ping 8")
    for threads in (32, 256):
        took = seconds(lambda threads=threads: barriers[1, threads](rounds))
        tell(f"barrier_all_block, {threads} threads", took / rounds * 1e6, "us")


# Blocks and threads worth a try.
LARGE = ((128, 256), (128, 512), (132, 256), (132, 512), (132, 1024), (264, 512), (528, 256))
MIDDLE = ((32, 256), (32, 1024), (64, 512), (64, 1024), (128, 512), (128, 1024))


def rates(pe):
    src, dst = array(64 << 20, "uint8"), array(64 << 20, "uint8")
    sender = me == 0
    to = "" if nvshmem.n_pes() > 1 else " to itself"

    def rate(kernel, blocks, threads, nbytes, rounds):
        def work():
            if sender:
                kernel[blocks, threads](dst[:nbytes], src[:nbytes], rounds, pe)

        return nbytes * rounds / seconds(work) / 1e9

    for size, least, choices, rounds in ((64, 350, LARGE, 20), (4, 300, MIDDLE, 200)):
        found = {choice: rate(block_puts, *choice, size << 20, rounds) for choice in choices}
        best = max(found, key=found.get)
        shape = f"{best[0]} blocks of {best[1]}; the others {', '.join(f'{a}x{b}: {found[a, b]:.0f}' for a, b in choices if (a, b) != best)}"
        wanted = {} if to else {"least": least, "against": f"send {size << 20}"}
        tell(f"put_block of {size} MiB{to}", found[best], "GB/s", note=shape, **wanted)
    tell(f"put_block of 4 MiB{to} by one block of 1024", rate(block_puts, 1, 1024, 4 << 20, 20), "GB/s")
    tell(f"put_warp of 64 MiB{to}, 128 blocks of 512", rate(warp_puts, 128, 512, 64 << 20, 20), "GB/s")
    tell(f"put of 1 MiB{to} by a thread", rate(thread_puts, 1, 1, 1 << 20, 3), "GB/s")


if __name__ == "__main__":
    pe = int(os.environ.get("NVSHMEMRS_PE", "0"))
    cuda.select_device(pe % len(cuda.gpus))
    arrays = []
    if THEIRS:
        nvshmem, stream = begin(pe, int(os.environ["NVSHMEMRS_N_PES"]))
    else:
        nvshmem.init(device=pe % len(cuda.gpus), heap_bytes=256 << 20)
    me = nvshmem.my_pe()
    other = (me + 1) % nvshmem.n_pes()
    if nvshmem.n_pes() > 1:
        ping_pongs(other)
    rates(other)
    meet()
    if THEIRS:
        cuda.current_context().reset()  # unloads the kernels, for which NVSHMEM must still be there
    for made in arrays:
        nvshmem.free_array(made)
    nvshmem.finalize()
