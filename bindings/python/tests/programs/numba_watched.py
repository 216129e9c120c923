"""Kernels of Numba in a checked job: `numba_watched.py WHICH [NUMBER..]`, with 2 PEs or more.

`planted` has six kernels with a bug each, those of `tests/checker/planted/kernels.cpp`; `mended` the same
without the bugs; `correct` six kernels that look suspicious, those of `tests/checker/correct/kernels.cpp`.
With numbers only these kernels run. They run on a GPU, in Numba's simulator if NUMBA_ENABLE_CUDASIM is 1,
or by their PTX in Python if NUMBA_KERNELS is `interpreted`.
"""

from __future__ import annotations

import os
import sys

import numpy as np

if not hasattr(np, "row_stack"):  # which numba-cuda 0.30 asks for, and NumPy 2.5 has no more
    np.row_stack = np.vstack

import nvshmemrs.core as nvshmem
import nvshmemrs.core.device.numba as shmem

SIMULATED = os.environ.get("NUMBA_ENABLE_CUDASIM") == "1"
INTERPRETED = os.environ.get("NUMBA_KERNELS") == "interpreted"
if SIMULATED or INTERPRETED:
    os.environ["NVSHMEMRS_MEMORY"] = "host"
from numba import cuda

if INTERPRETED:
    from numba_ptx import Kernel as jit
else:
    jit = cuda.jit

SET, ADD = nvshmem.SignalOp.SIGNAL_SET, nvshmem.SignalOp.SIGNAL_ADD
EQ, GE = nvshmem.ComparisonType.CMP_EQ, nvshmem.ComparisonType.CMP_GE
WORDS, ROUNDS = 32, 4
# Interpreted kernels take long.
TURNS, PART = (2, 4) if INTERPRETED else (6, 16)


# ---- Six kernels with a bug each, which the argument `mended` leaves out. ----


@jit
def exchange(inbox, source, copy, mended):
    """A neighbour's block is read without a barrier after the put."""
    me, n = shmem.my_pe(), shmem.n_pes()
    shmem.put_block(inbox, source, (me + 1) % n)  # A
    if mended:
        shmem.barrier_all_block()
    shmem.get_block(copy, inbox, me)  # B


@jit
def announce(inbox, source, copy, signal, mended):
    """A signal comes without a fence after its data."""
    me = shmem.my_pe()
    right = (me + 1) % shmem.n_pes()
    shmem.put(inbox, source, right)  # C
    if mended:
        shmem.fence()
    shmem.signal_op(signal, 1, SET, right)
    shmem.signal_wait(signal, GE, 1)
    shmem.get(copy, inbox, me)  # D


@jit
def hand_on(work, inbox, next, is_free, mended):
    """The source of a put_nbi is given away before quiet."""
    me, n = shmem.my_pe(), shmem.n_pes()
    right = (me + 1) % n
    shmem.put_nbi(inbox, work, right)  # E
    if mended:
        shmem.quiet()
    shmem.signal_op(is_free, 1, SET, (me + n - 1) % n)
    shmem.signal_wait(is_free, EQ, 1)
    shmem.put(work, next, right)  # F


@jit
def write_board(board, source, part):
    """Two PEs put to overlapping parts of the board of PE 0."""
    start = shmem.my_pe() * part
    shmem.put_block(board[start : start + WORDS], source, 0)  # G


@jit
def halves(inbox, source, copy, came, mended):
    """One of two signals is waited for."""
    me = shmem.my_pe()
    right, half = (me + 1) % shmem.n_pes(), WORDS // 2
    for turn in range(1, ROUNDS + 1):
        for k in range(2):
            to, start = inbox[k * half : (k + 1) * half], source[k * half : (k + 1) * half]
            shmem.put_signal(to, start, came[k : k + 1], 1, ADD, right)  # H
        shmem.signal_wait(came, GE, turn)
        if mended:
            shmem.signal_wait(came[1:], GE, turn)
        shmem.get(copy, inbox, me)  # I
        shmem.barrier_all()


@jit
def stream(inbox, source, copy, emptied, full, mended):
    """A block is put again before it has been read."""
    me, n = shmem.my_pe(), shmem.n_pes()
    for turn in range(1, ROUNDS + 1):
        if mended:
            shmem.signal_wait(emptied, GE, turn - 1)
        word = full[turn : turn + 1]
        shmem.put_signal_block(inbox, source, word, 1, SET, (me + 1) % n)  # J
        shmem.signal_wait(word, EQ, 1)
        shmem.get_block(copy, inbox, me)  # K
        if cuda.threadIdx.x == 0:
            shmem.signal_op(emptied, 1, ADD, (me + n - 1) % n)
        cuda.syncthreads()


# ---- Six correct kernels. ----


@jit
def halo(inbox, full, emptied, total):
    """Each thread puts words of its own, and one thread announces them all, after a meeting and a fence.
    Two blocks have a half each."""
    me, n = shmem.my_pe(), shmem.n_pes()
    right, left, b = (me + 1) % n, (me + n - 1) % n, cuda.blockIdx.x
    i = b * cuda.blockDim.x + cuda.threadIdx.x
    for turn in range(1, TURNS + 1):
        shmem.signal_wait(emptied[b:], EQ, turn - 1)
        shmem.p(inbox[i:], 1000 * turn + i, right)
        cuda.syncthreads()
        if cuda.threadIdx.x == 0:
            shmem.fence()
            shmem.signal_op(full[b:], 1, ADD, right)
        shmem.signal_wait(full[b:], EQ, turn)
        if shmem.g(inbox[i:], me) == 1000 * turn + i:
            shmem.atomic_inc(total, me)
        cuda.syncthreads()
        if cuda.threadIdx.x == 0:
            shmem.signal_op(emptied[b:], 1, ADD, left)


@jit
def locked(lock, counter):
    """A counter on PE 0 behind a lock."""
    me = shmem.my_pe()
    for _ in range(TURNS):
        while shmem.atomic_compare_swap(lock, 0, me + 1, 0) != 0:
            pass
        shmem.p(counter, shmem.g(counter, 0) + 1, 0)
        shmem.quiet()
        shmem.atomic_set(lock, 0, 0)


@jit
def collectives(every, mine, total):
    """Collectives that reuse their memory: nothing but they order their rounds."""
    me, n = shmem.my_pe(), shmem.n_pes()
    for turn in range(TURNS):
        shmem.reduce_block(0, total, total, "sum")
        shmem.broadcast_block(0, mine, total, turn % n, 1)
        shmem.fcollect_block(0, every, mine)
        shmem.barrier_all_block()
        start = (me + turn) % n
        shmem.get_block(mine, every, start)
        shmem.sync_all_block()


@jit
def pending(inbox, work, fetched, full, emptied):
    """The source of a put and the dest of a get are used again after quiet."""
    me, n = shmem.my_pe(), shmem.n_pes()
    right, left = (me + 1) % n, (me + n - 1) % n
    for turn in range(1, TURNS + 1):
        shmem.signal_wait(emptied, GE, turn - 1)
        shmem.put_nbi_warp(inbox, work, right)
        shmem.quiet()
        cuda.syncthreads()
        if cuda.threadIdx.x == 0:
            shmem.signal_op(full, turn, SET, right)
        shmem.signal_wait(full, EQ, turn)
        shmem.get_nbi_warp(fetched, inbox, me)
        shmem.quiet()
        cuda.syncthreads()
        shmem.put_warp(work, fetched, me)
        if cuda.threadIdx.x == 0:
            shmem.signal_op(emptied, turn, SET, left)
        cuda.syncthreads()


@jit
def queue(tickets, places, ready):
    """A queue on PE 0: the PE with a ticket owns its place, and an atomic operation publishes it."""
    me, n = shmem.my_pe(), shmem.n_pes()
    for _ in range(TURNS):
        ticket = shmem.atomic_fetch_inc(tickets, 0)
        shmem.p(places[ticket:], 7 * ticket, 0)
        shmem.fence()
        shmem.atomic_inc(ready, 0)
    if me == 0:
        shmem.wait_until(ready, EQ, n * TURNS)
        for i in range(n * TURNS):
            if shmem.g(places[i:], 0) != 7 * i:
                shmem.p(ready, -1, 0)
        shmem.quiet()


@jit
def answer(question, reply, asked, answered):
    """Answers the host of the left neighbour."""
    me, n = shmem.my_pe(), shmem.n_pes()
    shmem.signal_wait(asked, EQ, 1)
    shmem.put_signal_block(reply, question, answered, 1, SET, (me + n - 1) % n)


# ---- The host's side. ----


def fill(array, values):
    """Sets the elements of an array on either kind of memory."""
    whole = np.broadcast_to(np.asarray(values, array.dtype), array.shape)
    if hasattr(array, "get"):
        array.set(np.ascontiguousarray(whole))
    else:
        array[...] = whole


def zeroes(count, dtype="int64"):
    """A symmetric array of zeroes."""
    array = nvshmem.array(count, dtype)
    fill(array, 0)
    arrays.append(array)
    return array


def element(array, i):
    """An element of this PE."""
    return int((array.get() if hasattr(array, "get") else array)[i])


def launch(kernel, blocks, threads, *arguments):
    """Runs a kernel, and returns when it is over."""
    kernel[blocks, threads](*arguments)
    if not INTERPRETED:
        cuda.synchronize()


def planted(mended):
    """The kernels with bugs, by their numbers."""
    source, board = zeroes(WORDS), zeroes(WORDS * n)
    blocks, signals = [zeroes(WORDS) for _ in range(10)], zeroes(6 + ROUNDS, "uint64")
    fill(source, 100 * me + np.arange(WORDS))
    nvshmem.barrier_all()
    came = 100 * left + WORDS - 1

    def first():
        launch(exchange, 1, 8, blocks[0], source, blocks[1], mended)
        assert not mended or element(blocks[1], WORDS - 1) == came

    def second():
        launch(announce, 1, 1, blocks[2], source, blocks[3], signals, mended)
        assert not mended or element(blocks[3], WORDS - 1) == came

    def third():
        launch(hand_on, 1, 1, blocks[4], blocks[5], source, signals[1:], mended)

    def fourth():
        launch(write_board, 1, 8, board, source, WORDS if mended else WORDS // 2)

    def fifth():
        launch(halves, 1, 1, blocks[6], source, blocks[7], signals[2:], mended)

    def sixth():
        launch(stream, 1, 8, blocks[8], source, blocks[9], signals[4:], signals[5:], mended)
        assert not mended or element(blocks[9], WORDS - 1) == came

    return [first, second, third, fourth, fifth, sixth]


def correct():
    """The correct kernels."""
    inbox, total, mine, every = zeroes(WORDS), zeroes(WORDS), zeroes(WORDS), zeroes(WORDS * n)
    words, places, work, fetched = zeroes(8), zeroes(TURNS * n), zeroes(WORDS), zeroes(WORDS)
    landed, question, reply = zeroes(WORDS), zeroes(WORDS), zeroes(WORDS)
    text, signals = zeroes(WORDS), zeroes(8, "uint64")
    fill(total, 1)
    nvshmem.barrier_all()

    def first():
        launch(halo, 2, PART, inbox, signals, signals[2:], words)
        assert element(words, 0) == 2 * PART * TURNS

    def second():
        launch(locked, 1, 1, words[1:], words[2:])
        nvshmem.barrier_all()
        assert me != 0 or element(words, 2) == TURNS * n

    def third():
        launch(collectives, 1, 8, every, mine, total)
        assert element(mine, WORDS - 1) == n**TURNS

    def fourth():
        launch(pending, 1, 32, landed, work, fetched, signals[4:], signals[5:])

    def fifth():
        launch(queue, 1, 1, words[3:], places, words[4:])
        assert me != 0 or element(words, 4) == TURNS * n

    def sixth():
        fill(text, 10 * me + 3)
        nvshmem.put_signal(question, text, signals[6:7], 1, SET, right)
        launch(answer, 1, 8, question, reply, signals[6:], signals[7:])
        nvshmem.signal_wait(signals[7:8], 1, EQ)
        assert element(reply, WORDS - 1) == 10 * me + 3

    return [first, second, third, fourth, fifth, sixth]


if __name__ == "__main__":
    nvshmem.init(
        device=None
        if SIMULATED or INTERPRETED
        else int(os.environ["NVSHMEMRS_PE"]) % len(cuda.gpus)
    )
    me, n = nvshmem.my_pe(), nvshmem.n_pes()
    left, right = (me + n - 1) % n, (me + 1) % n
    arrays = []
    which, chosen = sys.argv[1], [int(number) for number in sys.argv[2:]]
    parts = correct() if which == "correct" else planted(int(which == "mended"))
    for number, part in enumerate(parts, 1):
        if not chosen or number in chosen:
            part()
            nvshmem.barrier_all()
    for array in arrays:
        nvshmem.free_array(array)
    print(f"numba watched ok: {which}, PE {me}", flush=True)
    nvshmem.finalize()
