# In each step every PE sends a row to its neighbour, and sums the row that has come.
#
# Bug: nothing lies between the put and the sum, and nothing between the sum and the next put.
# Expect: write early or read early: put at A, load at B
# May: two puts: put at A, put at A
import nvshmemrs.core as nvshmem
from job import MENDED, expect, join, leave

STEPS = 5


def main():
    me, n = join()
    row, inbox = nvshmem.array(16, "int64"), nvshmem.array(16, "int64")
    for step in range(STEPS):
        row[:] = n * step + me
        nvshmem.put(inbox, row, (me + 1) % n)  # A
        if MENDED:
            nvshmem.barrier_all()
        total = inbox.sum()  # B
        expect(total == 16 * (n * step + (me - 1) % n))
        if MENDED:
            nvshmem.barrier_all()

    nvshmem.barrier_all()
    for array in (inbox, row):
        nvshmem.free_array(array)
    leave()


main()
