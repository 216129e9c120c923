# A scratch array is sent to the neighbour, and used again for the next block.
#
# Bug: put_nbi may read the array until quiet, but it is filled with the next block before.
# Expect: source reused: put_nbi at A, store at B
import numpy as np

import nvshmemrs.core as nvshmem
from job import MENDED, expect, join, leave


def main():
    me, n = join()
    blocks = nvshmem.array((2, 64), "float32")
    right = (me + 1) % n
    scratch = np.empty(64, "float32")

    scratch[:] = me
    nvshmem.put_nbi(blocks[0], scratch, right)  # A
    if MENDED:
        nvshmem.quiet()
    scratch[:] = -me - 1  # B
    nvshmem.put(blocks[1], scratch, right)
    nvshmem.quiet()
    nvshmem.barrier_all()
    expect(blocks[0, 0] == (me + n - 1) % n)

    nvshmem.barrier_all()
    nvshmem.free_array(blocks)
    leave()


main()
