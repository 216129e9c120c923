"""Ring: put with a signal to the right neighbour, get, put_nbi, reductions, broadcast, barriers.

Start it with `nvshmemrs-run -n 4 -- python ring.py`.
"""

import sys

import numpy as np

import nvshmemrs.core as nvshmem
from nvshmemrs.core import ComparisonType, SignalOp, Teams

nvshmem.init()
me, n = nvshmem.my_pe(), nvshmem.n_pes()
right, left = (me + 1) % n, (me + n - 1) % n

data = nvshmem.array(10, "float64")
signal = nvshmem.array(2, "uint64")
data[:] = 0
signal[:] = 0
nvshmem.barrier_all()

# Four elements go to [2, 6) of the right neighbour; its elements next to them stay as they are.
nvshmem.put_signal(data[2:6], me * 100.0 + np.arange(4), signal[:1], 1, SignalOp.SIGNAL_SET, right)
assert nvshmem.signal_wait(signal[:1], 1, ComparisonType.CMP_GE) >= 1
assert data[2:6].tolist() == [left * 100.0 + i for i in range(4)]
assert data[1] == 0 and data[6] == 0
assert nvshmem.signal_fetch(signal[:1]) == 1 and nvshmem.signal_fetch(signal[1:]) == 0

fetched = np.zeros(4)
nvshmem.barrier_all()
nvshmem.get(fetched, data[2:6], right)
assert fetched.tolist() == [me * 100.0 + i for i in range(4)]
nvshmem.barrier_all()

nvshmem.put_nbi(data[8:9], np.array([me + 0.5]), right)
nvshmem.quiet()
nvshmem.barrier_all()
assert data[7:10].tolist() == [0, left + 0.5, 0]

for dtype in ("float64", "int32"):
    source, dest = nvshmem.array(5, dtype), nvshmem.array(6, dtype)
    expected = {
        "sum": [sum(pe * 10 + i for pe in range(n)) for i in range(5)],
        "min": [i for i in range(5)],
        "max": [(n - 1) * 10 + i for i in range(5)],
    }
    for op, values in expected.items():
        source[:] = me * 10 + np.arange(5)
        dest[:] = -1
        nvshmem.reduce(Teams.TEAM_WORLD, dest[:5], source, op)
        assert dest.tolist() == values + [-1]
        assert source.tolist() == [me * 10 + i for i in range(5)]
        nvshmem.reduce(Teams.TEAM_WORLD, source, source, op)
        assert source.tolist() == values
    source[:] = me
    nvshmem.broadcast(Teams.TEAM_WORLD, dest[:5], source, root=n - 1)
    assert dest.tolist() == [n - 1] * 5 + [-1]
    nvshmem.free_array(dest)
    nvshmem.free_array(source)

nvshmem.barrier(Teams.TEAM_WORLD)
nvshmem.sync(Teams.TEAM_WORLD)
nvshmem.free_array(signal)
nvshmem.free_array(data)
nvshmem.finalize()
sys.stdout.write(f"ring ok PE {me} of {n} (Python)\n")  # one write, so that PEs do not mix
