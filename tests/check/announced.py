# A table in symmetric memory that NumPy fills in place, and that the neighbours read.
#
# Bug: the neighbour may read the table before it is filled. NumPy's own stores are not seen; the
# program announces them.
# Expect: read early or write early: store at A, get at B
import numpy as np

import nvshmemrs.core as nvshmem
from job import MENDED, expect, join, leave


def fill(table, me):
    nvshmem.check_access(table, write=True)  # A
    table[:] = me + np.arange(len(table))


def main():
    me, n = join()
    table = nvshmem.array(10, "int64")
    fill(table, me)
    if MENDED:
        nvshmem.barrier_all()
    theirs = np.empty(10, "int64")
    nvshmem.get(theirs, table, (me + 1) % n)  # B
    expect(theirs[9] == (me + 1) % n + 9)
    nvshmem.barrier_all()
    nvshmem.free_array(table)
    leave()


main()
