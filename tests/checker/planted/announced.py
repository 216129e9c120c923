# A table in symmetric memory that NumPy's generator of random numbers fills in place, and that the
# neighbours read.
#
# Bug: the neighbour may read the table before it is filled. The generator's own stores are not seen;
# the program announces them.
# Expect: read early or write early: store at A, get at B
import numpy as np

import nvshmemrs.core as nvshmem
from job import MENDED, expect, join, leave


def fill(table, me):
    nvshmem.check_access(table, write=True)  # A
    np.random.default_rng(me).random(out=table)


def main():
    me, n = join()
    table = nvshmem.array(10, "float64")
    fill(table, me)
    if MENDED:
        nvshmem.barrier_all()
    theirs = np.empty(10)
    right = (me + 1) % n
    nvshmem.get(theirs, table, right)  # B
    expect(theirs[9] == np.random.default_rng(right).random(10)[9])
    nvshmem.barrier_all()
    nvshmem.free_array(table)
    leave()


main()
