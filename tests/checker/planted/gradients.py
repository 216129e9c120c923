# The workers send their gradients to PE 0, which adds them up.
#
# Bug: sync lets all PEs arrive, but completes no put. It takes a barrier.
# Expect: read early or write early: put at A, get at B
import numpy as np

import nvshmemrs.core as nvshmem
from job import MENDED, expect, join, leave
from nvshmemrs.core import Teams

SIZE = 32


def send(inbox, gradient, me):
    nvshmem.put(inbox[me], gradient, 0)  # A


def collect(inbox):
    total = np.zeros(SIZE)
    part = np.empty(SIZE)
    for row in inbox[1:]:
        nvshmem.get(part, row, 0)  # B
        total += part
    return total


me, n = join()
inbox = nvshmem.array((n, SIZE), "float64")
if me != 0:
    send(inbox, np.full(SIZE, 0.5 * me), me)
if MENDED:
    nvshmem.barrier(Teams.TEAM_WORLD)
else:
    nvshmem.sync(Teams.TEAM_WORLD)
if me == 0:
    total = collect(inbox)
    expect(total[3] == 0.25 * n * (n - 1))
nvshmem.barrier_all()
nvshmem.free_array(inbox)
leave()
