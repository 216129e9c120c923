# PE 0 sends items to PE 1, which has room for two, and waits for PE 1's answers before it uses a
# place again.
#
# Bug: it waits for one answer too few, so it may be a lap ahead.
# Expect: write early or read early: put_signal at A, load at B
# May: two puts: put_signal at A, put_signal at A
import numpy as np

import nvshmemrs.core as nvshmem
from job import MENDED, expect, join, leave
from nvshmemrs.core import ComparisonType, SignalOp

PLACES, ITEMS = 2, 12


def main():
    me, _ = join()
    places = nvshmem.array((PLACES, 16), "int64")
    full, empty = nvshmem.array(1, "uint64"), nvshmem.array(1, "uint64")
    ahead = PLACES if MENDED else PLACES + 1
    for i in range(ITEMS if me < 2 else 0):
        place = places[i % PLACES]
        if me == 0:
            if i >= ahead:
                nvshmem.signal_wait(empty, i - ahead + 1, ComparisonType.CMP_GE)
            item = np.full(16, i)
            nvshmem.put_signal(place, item, full, 1, SignalOp.SIGNAL_ADD, 1)  # A
        else:
            nvshmem.signal_wait(full, i + 1, ComparisonType.CMP_GE)
            expect(place[0] == i)  # B
            nvshmem.signal_op(empty, 1, SignalOp.SIGNAL_ADD, 0)

    nvshmem.barrier_all()
    for array in (empty, full, places):
        nvshmem.free_array(array)
    leave()


main()
