# Each PE is dealt one card by its neighbour, and all PEs exchange what they have.
#
# Bug: the exchange may read its source before the neighbour's card is there.
# Expect: read early or write early: put at A, alltoall at B
import numpy as np

import nvshmemrs.core as nvshmem
from job import MENDED, expect, join, leave
from nvshmemrs.core import Teams


def main():
    me, n = join()
    hand, table = nvshmem.array(n, "int64"), nvshmem.array(n, "int64")
    nvshmem.put(hand, np.arange(n), me)
    nvshmem.barrier_all()

    nvshmem.p(hand[0:1], 100 + me, (me + 1) % n)  # A
    if MENDED:
        nvshmem.barrier_all()
    nvshmem.alltoall(Teams.TEAM_WORLD, table, hand)  # B
    result = np.zeros(n, "int64")
    nvshmem.get(result, table, me)
    expect(me != 0 or result.tolist() == [100 + (pe - 1) % n for pe in range(n)])

    nvshmem.barrier_all()
    nvshmem.free_array(table)
    nvshmem.free_array(hand)
    leave()


main()
