# A program keeps the newest row and gives back the old one.
#
# Bug: the old row, which is freed, is still written to; it may be somebody else's by then.
# Expect: freed: free at A, store at B
# May: freed: free at A, load at C
import nvshmemrs.core as nvshmem
from job import MENDED, expect, join, leave


def main():
    me, _ = join()
    old, new = nvshmem.array(4, "int64"), nvshmem.array(4, "int64")
    new[:] = me
    nvshmem.free_array(old)  # A
    row = new if MENDED else old
    row[0] = me + 1  # B
    other = nvshmem.array(4, "int64")
    expect(row[0] == me + 1 and other[0] == 0)  # C

    nvshmem.free_array(other)
    nvshmem.free_array(new)
    leave()


main()
