"""Every PE writes to its right neighbour: put with a signal, get, reduce, broadcast, peers."""

import numpy as np

import nvshmemrs.core as nvshmem
from nvshmemrs.core import ComparisonType, SignalOp

nvshmem.init()
me, n = nvshmem.my_pe(), nvshmem.n_pes()
right, left = (me + 1) % n, (me - 1) % n

with nvshmem.array((n, 4), "i8") as a, nvshmem.array(1, "u8") as signal:
    for step in range(1, 51):
        data = np.full(4, me * 1000 + step)
        nvshmem.put_signal(a[me], data, signal, step, SignalOp.SIGNAL_SET, right)
        assert nvshmem.signal_wait(signal, step, ComparisonType.CMP_GE) >= step
        assert (a[left] >= left * 1000 + step).all()
        nvshmem.barrier_all()
        assert (a[left] == left * 1000 + step).all()
        nvshmem.barrier("TEAM_NODE")
    mine = np.zeros(4, "i8")
    nvshmem.get(mine, a[me], right)
    assert (mine == me * 1000 + 50).all()
    assert (nvshmem.get_peer_array(a, right)[me] == mine).all()
    nvshmem.barrier_all()

for dtype in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"):
    with nvshmem.array(7, dtype) as x, nvshmem.array(7, dtype) as y:
        x[:] = me + np.arange(7)
        for op, expected in (
            ("sum", sum(p + np.arange(7) for p in range(n))),
            ("min", np.arange(7)),
            ("max", n - 1 + np.arange(7)),
        ):
            nvshmem.reduce("TEAM_WORLD", y, x, op)
            assert (y == expected.astype(dtype)).all(), (dtype, op, y)
        nvshmem.broadcast(0, y, x, root=n - 1)
        assert (y == n - 1 + np.arange(7)).all()

nvshmem.finalize()
print("ok\n", end="")  # one write, so that PEs do not mix
