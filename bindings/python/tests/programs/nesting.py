"""``init`` of a process that is a PE already counts, and as many calls of ``finalize`` end the job."""

import threading

import numpy as np
import pytest

import nvshmemrs.core as nvshmem

HEAP = 4 << 20

nvshmem.init(device="host", heap_bytes=HEAP)
me, n = nvshmem.my_pe(), nvshmem.n_pes()
nvshmem.init()
nvshmem.init(device="host", heap_bytes=HEAP)
thread = threading.Thread(target=nvshmem.init)
thread.start()
thread.join()

# Other arguments are refused, and do not count.
with pytest.raises(nvshmem.NvshmemInvalid, match="heap_bytes.* same arguments"):
    nvshmem.init(heap_bytes=2 * HEAP)
with pytest.raises(nvshmem.NvshmemInvalid, match=f"PE {me} of a job already.* other arguments"):
    nvshmem.init(uid=nvshmem.get_unique_id(), rank=0, nranks=1)
with pytest.raises(nvshmem.NvshmemInvalid, match="timeout"):
    nvshmem.init(timeout=77)

# These wait for nobody, and what there is stays.
x = nvshmem.array(1, "int64")
if me == 0:
    for _ in range(3):
        nvshmem.finalize()
nvshmem.put(x, np.array([me]), (me + 1) % n)
nvshmem.barrier_all()
assert x[0] == (me - 1) % n
if me != 0:
    for _ in range(3):
        nvshmem.finalize()
with nvshmem.job():
    nvshmem.barrier_all()
assert nvshmem.my_pe() == me
nvshmem.finalize()
with pytest.raises(nvshmem.NotInitializedError, match="call init first"):
    nvshmem.finalize()

# By a unique id, of which another object with the same bytes is the same.
if n == 1:
    uid = nvshmem.get_unique_id()
    nvshmem.init(uid=uid, rank=0, nranks=1)
    nvshmem.init(uid=nvshmem.UniqueID.from_bytes(bytes(uid)), rank=0, nranks=1)
    nvshmem.init()
    with pytest.raises(nvshmem.NvshmemInvalid, match="other arguments"):
        nvshmem.init(uid=uid, rank=1, nranks=2)
    # Leaving ends it, however often init was called.
    nvshmem.leave()
    with pytest.raises(nvshmem.NotInitializedError):
        nvshmem.finalize()

# Threads that are PEs count each for itself.
with nvshmem.local(2, heap_bytes=HEAP) as job:

    def body() -> int:
        nvshmem.init()
        if nvshmem.my_pe() == 1:
            nvshmem.init()
            nvshmem.finalize()
        with pytest.raises(nvshmem.NvshmemInvalid, match="this thread is PE . of a job already"):
            nvshmem.init(uid=nvshmem.get_unique_id(), rank=0, nranks=1)
        nvshmem.finalize()
        with pytest.raises(nvshmem.NvshmemInvalid, match="close\\(\\) ends"):
            nvshmem.finalize()
        nvshmem.barrier_all()
        return nvshmem.my_pe()

    assert job.run(body) == [0, 1]

print("ok\n", end="")
