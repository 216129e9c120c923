# A scratch array, which a library has made, is sent to the neighbour, and used again.
#
# Bug: put_nbi may read the array until quiet, but it is changed before. Nobody announces that, as the
# array is not one that the program has made with NumPy's functions; when the put is done, it is seen.
# Expect: source reused: put_nbi at A, quiet at B
import numpy as np

import nvshmemrs.core as nvshmem
from job import MENDED, expect, join, leave


def main():
    me, n = join()
    block = nvshmem.array(64, "float64")
    random = np.random.default_rng(me)
    scratch = random.random(64)
    first = scratch.tolist()

    nvshmem.put_nbi(block, scratch, (me + 1) % n)  # A
    if MENDED:
        nvshmem.quiet()
    random.random(out=scratch)
    nvshmem.quiet()  # B
    nvshmem.barrier_all()
    expect(n > 1 or block.tolist() == first)

    nvshmem.barrier_all()
    nvshmem.free_array(block)
    leave()


main()
