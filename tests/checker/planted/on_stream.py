# The steps of a pipeline are queued on a stream of their own.
#
# Bug: the program meets the others, and looks at what it has got, without waiting for the stream.
# Expect: read early or write early: put at A, get at B
import time

import numpy as np

import nvshmemrs.core as nvshmem
from job import MENDED, expect, join, leave
from nvshmemrs.core import SignalOp, Stream


def main():
    me, n = join()
    inbox, go = nvshmem.array(8, "int64"), nvshmem.array(1, "uint64")
    block = np.full(8, me)
    stream = Stream()

    nvshmem.signal_wait(go, 1, nvshmem.ComparisonType.CMP_EQ, stream=stream)
    nvshmem.put(inbox, block, (me + 1) % n, stream=stream)  # A
    if not MENDED:
        nvshmem.barrier_all()
    nvshmem.signal_op(go, 1, SignalOp.SIGNAL_SET, me)
    time.sleep(0.05)
    if MENDED:
        stream.synchronize()
        nvshmem.barrier_all()
    result = np.zeros(8, "int64")
    nvshmem.get(result, inbox, me)  # B
    expect(result[0] == (me + n - 1) % n)

    stream.synchronize()
    nvshmem.barrier_all()
    stream.close()
    nvshmem.free_array(go)
    nvshmem.free_array(inbox)
    leave()


main()
