"""A ring all-reduce in one kernel, as programs of NVSHMEM4Py write it: every PE passes parts on to
its right neighbour, first sums, then results.
"""

import numpy as np
import nvshmem.core as nvshmem
import nvshmem.core.device.numba as nv
from numba import cuda

SET, GE = nvshmem.SignalOp.SIGNAL_SET, nvshmem.ComparisonType.CMP_GE
PART, THREADS = 24, 4


@cuda.jit
def ring_all_reduce(data, inbox, signal, part):
    me, n = nv.my_pe(), nv.n_pes()
    right = (me + 1) % n
    t, threads = cuda.threadIdx.x, cuda.blockDim.x
    for step in range(2 * n - 2):
        sums = step < n - 1
        sent = (me - step) % n if sums else (me + 1 - (step - n + 1)) % n
        came = (sent - 1) % n
        src = data[sent * part : (sent + 1) * part]
        box = inbox[step * part : (step + 1) * part]
        nv.put_signal_block(box, src, signal, step + 1, SET, right)
        if t == 0:
            nv.signal_wait(signal, GE, step + 1)
        cuda.syncthreads()
        for i in range(t, part, threads):
            if sums:
                data[came * part + i] += box[i]
            else:
                data[came * part + i] = box[i]
        cuda.syncthreads()


nvshmem.init()
me, n = nvshmem.my_pe(), nvshmem.n_pes()
data = nvshmem.array((n * PART,), dtype="float32")
inbox = nvshmem.array(((2 * n - 2) * PART,), dtype="float32")
signal = nvshmem.array((1,), dtype="uint64")
rng = np.random.default_rng(3)
every = rng.integers(-9, 9, (n, n * PART)).astype("float32")
stream = cuda.stream()
for form in (
    ring_all_reduce[1, THREADS],
    ring_all_reduce[1, THREADS, stream],
    ring_all_reduce[1, THREADS, stream, 0],
    ring_all_reduce[(1,), (THREADS,), 0],
    ring_all_reduce.forall(1),
):
    data[:] = every[me]
    signal[:] = 0
    nvshmem.barrier_all()
    form(data, inbox, signal, PART)
    stream.synchronize()
    assert (np.asarray(data) == every.sum(0)).all(), data
    nvshmem.barrier_all()
for array in (data, inbox, signal):
    nvshmem.free_array(array)
nvshmem.finalize()
print(f"ring ok PE {me}", flush=True)
