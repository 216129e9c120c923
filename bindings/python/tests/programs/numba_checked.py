"""Kernels of Numba's simulator in a job that is checked: `numba_checked.py SCENARIO`, with 2 PEs.

`right` does all there is, in order; the others forget something, which the checker finds.
"""

from __future__ import annotations

import os
import sys

os.environ.update(NUMBA_ENABLE_CUDASIM="1", NVSHMEMRS_MEMORY="host")

import numpy as np
from numba import cuda

import nvshmemrs.core as nvshmem
import nvshmemrs.core.device.numba as shmem
from nvshmemrs.core.device.numba import bindings as low

SET, ADD = nvshmem.SignalOp.SIGNAL_SET, nvshmem.SignalOp.SIGNAL_ADD
GE = nvshmem.ComparisonType.CMP_GE
N = 40


@cuda.jit
def passes_on(inbox, mine, arrived, sums, waits, turns):
    """Puts with a signal to the right, and adds up what came from the left, `turns` times."""
    me, n = shmem.my_pe(), shmem.n_pes()
    for turn in range(1, turns + 1):
        shmem.put_signal_block(inbox, mine, arrived, turn, SET, (me + 1) % n)
        if cuda.threadIdx.x == 0:
            if waits:
                shmem.signal_wait(arrived, GE, turn)
            for i in range(inbox.size):
                sums[turn - 1] += inbox[i]
        shmem.barrier_all_block()


@cuda.jit
def flags(inbox, flag, seen, fences):
    """A put, then a flag of its own; the other PE reads after the flag."""
    other = 1 - shmem.my_pe()
    shmem.put(inbox[1:], inbox[:1], other)
    if fences:
        shmem.fence()
    shmem.p(flag, 1, other)
    shmem.wait_until(flag, GE, 1)
    seen[0] = inbox[1]


@cuda.jit
def fills_early(inbox, mine, meets):
    """Fills again what the other PE may not have got yet."""
    shmem.get(inbox, mine, 1 - shmem.my_pe())
    if meets:
        shmem.barrier_all()
    mine[0] = 7


@cuda.jit
def everything(x, y, word, team, answers):
    """All kinds of functions, each in order."""
    me, n = shmem.my_pe(), shmem.n_pes()
    right = (me + 1) % n
    shmem.iput(x, y, 2, 1, 4, right)
    shmem.barrier_all()
    answers[0] = x[0] + x[2]
    shmem.barrier_all()
    shmem.p(x, 5, right)
    shmem.quiet()
    shmem.barrier_all()
    answers[1] = shmem.g(x, me) + x[0]
    shmem.atomic_add(word, 2, right)
    answers[2] = shmem.atomic_fetch_add(word, 1, right)
    shmem.wait_until_all(word[:1], GE, 3)
    shmem.signal_op(word[1:], 1, ADD, right)
    shmem.wait_until_any(word[1:], GE, 1)
    shmem.barrier_all()
    answers[3] = shmem.atomic_fetch(word, right)
    answers[4] = shmem.team_n_pes(team) * 10 + shmem.team_my_pe(team)
    shmem.broadcast(team, x, y, 1)
    answers[5] = x[1]
    shmem.fcollect(team, x, y[:4])
    shmem.reduce(team, x[8:12], y[:4], "sum")
    answers[6] = x[8]
    shmem.alltoall(team, x, y[:8])
    shmem.reducescatter(team, x[8:10], y[:4], "max")
    answers[7] = shmem.get_peer_array(y, right)[0]
    shmem.barrier_all()


@cuda.jit
def located(pairs, largest, team, found):
    found[0] = low.double2_maxloc_reduce_block(team, largest, pairs, 3)
    found[1] = low.double2_maxloc_reduce_block(team, pairs, pairs, 3)


def places(me, n):
    """The largest values with their places: into other memory, and in place."""
    pairs, largest = nvshmem.array(6, "float64"), nvshmem.array(6, "float64")
    values = [[pe, (pe - 1) ** 2, np.nan if pe == 1 else pe] for pe in range(n)]
    pairs[:] = [x for value in values[me] for x in (value, me)]
    nvshmem.barrier_all()
    found = np.full(2, 7)
    located[1, 3](pairs, largest, 0, found)
    assert found.tolist() == [0, 0]
    first = np.argmax(np.array(values), 0)
    wanted = [x for k, pe in enumerate(first) for x in (values[pe][k], pe)]
    for array in (largest, pairs):
        assert array.tobytes() == np.array(wanted, "float64").tobytes(), (array, wanted)
    for array in (pairs, largest):
        nvshmem.free_array(array)


def main() -> None:
    scenario = sys.argv[1]
    nvshmem.init()
    me, n = nvshmem.my_pe(), nvshmem.n_pes()
    inbox, mine = nvshmem.array(N), nvshmem.array(N)
    arrived, word = nvshmem.array(1, "uint64"), nvshmem.array(2, "int64")
    mine[:] = np.arange(N) + me
    sums = np.zeros(3)
    nvshmem.barrier_all()
    if scenario in ("right", "waits"):
        passes_on[1, 4](inbox, mine, arrived, sums, scenario == "right", 3)
        if scenario == "right":
            assert (sums == N * (N - 1) / 2 + N * ((me - 1) % n)).all(), sums
    nvshmem.barrier_all()
    if scenario in ("right", "fence"):
        seen = np.zeros(1)
        flags[1, 1](inbox, word[:1], seen, scenario == "right")
        nvshmem.barrier_all()
        word[:] = 0
    nvshmem.barrier_all()
    if scenario in ("right", "early"):
        fills_early[1, 1](inbox, mine, scenario == "right")
    if scenario == "right":
        x, y = nvshmem.array(16, "int32"), nvshmem.array(16, "int32")
        y[:] = np.arange(16) + 100 * me
        nvshmem.barrier_all()
        answers = np.zeros(8, "int64")
        everything[1, 1](x, y, word, 0, answers)
        left = 100 * ((me - 1) % n)
        wanted = [2 * left + 1, 10, 2, 3, 10 * n + me, 101, 100, 100 * ((me + 1) % n)]
        assert list(answers) == wanted, (list(answers), wanted)
        for array in (x, y):
            nvshmem.free_array(array)
        places(me, n)
    nvshmem.barrier_all()
    for array in (inbox, mine, arrived, word):
        nvshmem.free_array(array)
    print(f"numba ok: {scenario}, PE {me}", flush=True)
    nvshmem.finalize()


if __name__ == "__main__":
    main()
