# Three steps on streams, each with a bug of its own kind.
#
# Bug: what was fetched is used before synchronize; what is sent is changed before synchronize; and
# two streams use one array without an event between them.
# Problems: 3
# Expect: stream and caller: get at A, load at B
# Expect: stream and caller: put at C, store at D
# Expect: two streams: get at E, put at F
import numpy as np

import nvshmemrs.core as nvshmem
from job import MENDED, expect, join, leave
from nvshmemrs.core import Stream


def main():
    me, n = join()
    right, left = (me + 1) % n, (me + n - 1) % n
    block, fetched = nvshmem.array(8, "int64"), nvshmem.array(8, "int64")
    inbox, copy, passed = (nvshmem.array(8, "int64") for _ in range(3))
    block[:] = me
    nvshmem.barrier_all()
    stream, other = Stream(), Stream()

    nvshmem.get(fetched, block, right, stream=stream)  # A
    if MENDED:
        stream.synchronize()
    expect(fetched[0] == right)  # B
    stream.synchronize()

    row = np.zeros(8, "int64")
    row[:] = me
    nvshmem.put(inbox, row, right, stream=stream)  # C
    if MENDED:
        stream.synchronize()
    row[:] = -1  # D
    stream.synchronize()

    nvshmem.get(copy, block, right, stream=stream)  # E
    if MENDED:
        other.wait(stream.record())
    nvshmem.put(passed, copy, right, stream=other)  # F
    other.synchronize()
    stream.synchronize()
    nvshmem.barrier_all()
    expect(inbox[0] == left and passed[0] == me)

    nvshmem.barrier_all()
    other.close()
    stream.close()
    for array in (passed, copy, inbox, fetched, block):
        nvshmem.free_array(array)
    leave()


main()
