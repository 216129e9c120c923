"""Waits for what the left neighbour writes, of every dtype and form, on the host and a stream."""

import numpy as np

import nvshmemrs.core as nvshmem
from nvshmemrs.core import ComparisonType as Cmp

nvshmem.init(timeout=30)
me, n = nvshmem.my_pe(), nvshmem.n_pes()
right = (me + 1) % n
DTYPES = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"]
stream = nvshmem.Stream()

for dtype in DTYPES:
    flags = nvshmem.array(6, dtype)
    # One element of a view, then all of them one by one.
    nvshmem.p(flags[2:], 3, right)
    nvshmem.wait_until(flags[1:], Cmp.CMP_EQ, 3, offset=1)
    assert flags.tolist() == [0, 0, 3, 0, 0, 0]
    nvshmem.barrier_all()
    for index in range(6):
        nvshmem.p(flags[index:], index + 1, right)
    nvshmem.wait_until_all(flags, Cmp.CMP_EQ, np.arange(1, 7))
    nvshmem.wait_until_all(flags, Cmp.CMP_GE, 1)
    assert nvshmem.test_all(flags, Cmp.CMP_LE, 6) and not nvshmem.test_all(flags, Cmp.CMP_LT, 6)
    nvshmem.barrier_all()
    flags[:] = 0
    nvshmem.barrier_all()
    nvshmem.p(flags[4:], 9, right)
    assert nvshmem.wait_until_any(flags, Cmp.CMP_NE, 0) == 4
    assert nvshmem.wait_until_some(flags, Cmp.CMP_NE, 0) == [4]
    assert nvshmem.wait_until_any(flags, Cmp.CMP_EQ, [1, 1, 1, 1, 9, 1]) == 4
    left_out = [0, 0, 0, 0, 1, 0]
    assert nvshmem.wait_until_any(flags, Cmp.CMP_EQ, 0, status=left_out) in (0, 1, 2, 3, 5)
    assert nvshmem.test_some(flags, Cmp.CMP_EQ, 0, status=left_out) == [0, 1, 2, 3, 5]
    assert nvshmem.test_any(flags, Cmp.CMP_EQ, 9, status=np.array(left_out)) is None
    assert nvshmem.test(flags, Cmp.CMP_GT, 8, offset=4) is True
    nvshmem.barrier_all()
    flags[:] = 0
    nvshmem.barrier_all()

    # On a stream: the wait is queued behind nothing and holds up what follows, not this thread.
    marks = nvshmem.array(3, dtype)
    if me == 0:  # the others forward what comes, PE 0 begins
        nvshmem.p(flags, 5, right, stream)
    nvshmem.wait_until(flags, Cmp.CMP_GE, 5, stream)
    if me != 0:
        nvshmem.p(flags, 5, right, stream=stream)
    nvshmem.p(marks[1:], 1, me, stream)
    stream.synchronize()
    assert flags[0] == 5 and marks.tolist() == [0, 1, 0]
    nvshmem.barrier_all()
    for array in (flags, marks):
        nvshmem.free_array(array)

# A counter that all PEs raise at PE 0; everybody waits at home for PE 0's answer.
with nvshmem.array(1, "u8") as arrived, nvshmem.array(n, "u8") as answers:
    nvshmem.signal_op(arrived, 1, nvshmem.SignalOp.SIGNAL_ADD, 0)
    if me == 0:
        assert nvshmem.signal_wait(arrived, n, Cmp.CMP_EQ) == n
        for pe in range(n):
            nvshmem.signal_op(answers[pe : pe + 1], pe + 1, nvshmem.SignalOp.SIGNAL_SET, pe, stream)
    assert nvshmem.signal_wait(answers[me : me + 1], me + 1, Cmp.CMP_EQ, stream=stream) is None
    stream.synchronize()
    assert answers.tolist() == [me + 1 if pe == me else 0 for pe in range(n)]
    nvshmem.barrier_all()
stream.close()
nvshmem.finalize()
print("ok\n", end="")  # one write, so that PEs do not mix
