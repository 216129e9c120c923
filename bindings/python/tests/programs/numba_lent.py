"""Kernels of Numba that lend shared memory, on a GPU or in Numba's simulator: `numba_lent.py PART..`,
with `few` for one type of elements and `small` for few elements.

Each PE puts to the next one and gets from it. Rows begin at other places than multiples of sixteen
bytes, and elements beside them stay. The kernels are chosen as for `numba_kernels.py`.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np
from numba_chosen import CHOSEN, SIMULATED, cuda, fill, host, low, same, shmem

import nvshmemrs.core as nvshmem

SET = nvshmem.SignalOp.SIGNAL_SET
THREADS = 4 if SIMULATED else 64
ENOUGH, LITTLE = 12288, 8192
PUTS, GETS = 8, 4
KINDS = ["int8"] if "few" in sys.argv else ["int8", "float64"]
SMALL = "small" in sys.argv


@cuda.jit
def lent_moves(dst, src, sig, given, first, start, count, step, pe, lends):
    """Rows of `dst` by a thread and by a warp; one thread puts again after the release."""
    smem = cuda.shared.array(ENOUGH, np.uint8)
    t = cuda.threadIdx.x
    if lends:
        given[t] = shmem.give_smem(smem)
    cuda.syncthreads()
    end, part = first + count, src[start : start + count]
    if t == 0:
        shmem.put(dst[first:end], part, pe)
        shmem.put_nbi(dst[step + first : step + end], part, pe)
        shmem.put_signal(dst[2 * step + first : 2 * step + end], part, sig[0:1], 5, SET, pe)
        shmem.get(dst[8 * step + first : 8 * step + end], part, pe)
        shmem.get_nbi(dst[9 * step + first : 9 * step + end], part, pe)
    cuda.syncthreads()
    if t < 32:
        shmem.put_warp(dst[3 * step + first : 3 * step + end], part, pe)
        shmem.put_nbi_warp(dst[4 * step + first : 4 * step + end], part, pe)
        shmem.put_signal_nbi_warp(
            dst[5 * step + first : 5 * step + end], part, sig[1:2], 6, SET, pe
        )
        shmem.get_warp(dst[10 * step + first : 10 * step + end], part, pe)
    shmem.put_block(dst[6 * step + first : 6 * step + end], part, pe)
    shmem.release_smem()
    if t == 0:
        shmem.put(dst[7 * step + first : 7 * step + end], part, pe)
        shmem.get(dst[11 * step + first : 11 * step + end], part, pe)
    shmem.quiet()
    shmem.barrier_all_block()


@cuda.jit
def crowd(dst, src, first, start, count, step, pe, each):
    """All threads lend the same memory, and many put at once: one goes through it, others store."""
    smem = cuda.shared.array(ENOUGH, np.uint8)
    shmem.give_smem(smem)
    cuda.syncthreads()
    t = cuda.threadIdx.x
    if t % each == 0:
        at = t // each * step + first
        shmem.put(dst[at : at + count], src[start : start + count], pe)
    shmem.quiet()
    shmem.barrier_all_block()


@cuda.jit
def one_of_a_warp(dst, src, first, start, count, step, pe, lender):
    """One thread has lent, and its warp puts; then a loop in which memory is lent and released."""
    smem = cuda.shared.array(ENOUGH, np.uint8)
    t = cuda.threadIdx.x
    if t == lender:
        shmem.give_smem(smem)
    cuda.syncthreads()
    if t < 32:
        shmem.put_warp(dst[first : first + count], src[start : start + count], pe)
        for turn in range(1, 5):
            at = turn * step + first
            shmem.put_warp(dst[at : at + count], src[start : start + count], pe)
            if turn == 2:
                shmem.release_smem()
            elif turn == 3:
                shmem.give_smem(smem)
                shmem.flush_warp()  # a meeting of the warp
    shmem.quiet()
    shmem.barrier_all_block()


@cuda.jit
def answers(given, heap):
    """What cannot be lent, and amounts."""
    enough = cuda.shared.array(ENOUGH, np.uint8)
    little = cuda.shared.array(LITTLE, np.uint8)
    if cuda.threadIdx.x == 0:
        given[0] = shmem.give_smem(little)
        given[1] = shmem.give_smem(heap)
        given[2] = low.give_smem(enough, LITTLE)
        given[3] = low.give_smem(enough, ENOUGH)
        given[4] = shmem.give_smem(enough[3:])
        shmem.release_smem()
        given[5] = shmem.ask_smem(0)
        given[6] = shmem.ask_smem(1)
        given[7] = shmem.ask_smem(2)


@cuda.jit
def dynamic(given):
    """Memory that the launch asks for."""
    smem = cuda.shared.array(0, np.int32)
    given[cuda.threadIdx.x] = shmem.give_smem(smem)


def pattern(pe, n, dtype):
    return ((np.arange(n) * 7 + pe * 13) % 101 + 1).astype(dtype)


def places(dtype):
    """(first, start, count): aligned, aligned alike, unlike, and sizes around the least."""
    size = np.dtype(dtype).itemsize
    long, short = (1 << 20) // size + 3, 3001
    if SIMULATED or SMALL:
        long, short = (12001, 3001) if SIMULATED else (4001, 301)
    return [(0, 0, long), (5, 5, long), (16 // size + 1, 1, long), (1, 2, short)] + [
        (1, 1, 2048 // size + more) for more in (-1, 0, 16)
    ]


def rows(kernel, dtype, threads, arguments, left_rows, all_rows, what):
    """Launches a kernel for all places, and looks at its rows: what others put, and what it got."""
    for first, start, count in places(dtype):
        step = first + count + 3
        src, dst = nvshmem.array(start + count, dtype), nvshmem.array(all_rows * step, dtype)
        fill(src, pattern(me, start + count, dtype))
        fill(dst, np.full(all_rows * step, 111))
        nvshmem.barrier_all()
        before, behind = arguments
        kernel[1, threads](dst, src, *before, first, start, count, step, right, *behind)
        cuda.synchronize()
        nvshmem.barrier_all()
        wanted = np.full((all_rows, step), 111, dtype)
        for k in range(all_rows):
            of = left if k < left_rows else right
            wanted[k, first : first + count] = pattern(of, start + count, dtype)[start:]
        same(host(dst), wanted.ravel(), f"{what}, {dtype}, place {first} of {start}, {count}")
        for array in (src, dst):
            nvshmem.free_array(array)


def moved():
    sig, given = nvshmem.array(2, "uint64"), nvshmem.array(THREADS, "int64")
    for dtype in KINDS:
        for lends in (True, False):
            fill(sig, [0, 0])
            fill(given, np.zeros(THREADS))
            arguments = (sig, given), (lends,)
            rows(lent_moves, dtype, THREADS, arguments, PUTS, PUTS + GETS, f"lends {lends}")
            same(host(sig), [5, 6], "signals")
            same(host(given), np.full(THREADS, ENGINES * ENOUGH * lends), "bytes that are lent")
    for array in (sig, given):
        nvshmem.free_array(array)


def crowded():
    for dtype in KINDS:
        each = 16 if SMALL else 1
        many = THREADS // each
        rows(crowd, dtype, THREADS, ((), (each,)), many, many, "all at once")


def by_one():
    for dtype in KINDS:
        for lender in (0, 1):
            rows(one_of_a_warp, dtype, THREADS, ((), (lender,)), 5, 5, f"thread {lender} lends")


def answered():
    given, heap = nvshmem.array(8, "int64"), nvshmem.array(ENOUGH, "uint8")
    answers[1, THREADS](given, heap)
    cuda.synchronize()
    amounts = [nvshmem.ask_smem(amount) for amount in range(3)]
    # The last array begins 3 bytes later, of which 16 are skipped.
    lent = [0, 0, 0, ENGINES * ENOUGH, ENGINES * (ENOUGH - 16)]
    same(host(given), [*lent, *amounts], "what is lent and asked for")
    if not SIMULATED:
        for asked in (amounts[1], amounts[1] - 16, 40960):
            results = nvshmem.array(THREADS, "int64")
            dynamic[1, THREADS, 0, asked](results)
            cuda.synchronize()
            lent = ENGINES * asked if asked >= amounts[1] else 0
            same(host(results), np.full(THREADS, lent), f"{asked} bytes of the launch")
            nvshmem.free_array(results)
    for array in (given, heap):
        nvshmem.free_array(array)


PARTS = {"moves": moved, "crowd": crowded, "one": by_one, "answers": answered}


def engines():
    """Whether the GPU has engines for bulk copies; the simulator stands for them."""
    if SIMULATED:
        return 1
    if os.path.isdir(CHOSEN):
        listed = json.loads(Path(CHOSEN, "kernels.json").read_text())
        return int(int(next(iter(listed.values()))["arch"][3:]) >= 90)
    import cupy

    return int(int(cupy.cuda.Device().compute_capability) >= 90)


if __name__ == "__main__":
    number = int(os.environ.get("NVSHMEMRS_PE", "0"))
    nvshmem.init(
        **({} if SIMULATED else {"device": number % len(cuda.gpus), "heap_bytes": 1 << 28})
    )
    ENGINES = engines()
    me, pes = nvshmem.my_pe(), nvshmem.n_pes()
    right, left = (me + 1) % pes, (me - 1) % pes
    failed = 0
    for part in [part for part in sys.argv[1:] if part in PARTS] or PARTS:
        try:
            PARTS[part]()
            print(f"numba lent ok: {part}, PE {me}, {CHOSEN}", flush=True)
        except AssertionError as error:
            # The other PEs go on, too, so that all parts are seen.
            failed = 1
            print(f"numba lent wrong: {part}: {error}", flush=True)
    nvshmem.finalize()
    sys.exit(failed)
