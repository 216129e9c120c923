"""The data flow of a mixture of experts in one kernel, as programs of NVSHMEM4Py write it: tokens go
to the PE of their expert, and come back changed.
"""

import numpy as np
import nvshmem.core as nvshmem
from numba import cuda
from nvshmem.bindings.device.numba import putmem_signal_block, signal_wait_until
from nvshmem.core.device.numba import my_pe, n_pes, put_block, quiet
from nvshmem.core.device.numba.amo import atomic_fetch_add
from nvshmem.core.device.numba.collective import barrier_all_block
from nvshmem.core.device.numba.rma import put_signal_block

ADD, GE = nvshmem.SignalOp.SIGNAL_ADD, nvshmem.ComparisonType.CMP_GE
TOKENS, HIDDEN, THREADS = 7, 5, 4


@cuda.jit
def dispatch_and_combine(tokens, chosen, inbox, whose, taken, counts, results, done):
    me, n, t = my_pe(), n_pes(), cuda.threadIdx.x
    place = cuda.shared.array(1, "int64")
    total = chosen.shape[0]
    # To each expert: the token, whose it is, and one more of the count.
    for k in range(total):
        expert = chosen[k] % n
        if t == 0:
            place[0] = atomic_fetch_add(taken, 1, expert)
            whose[0, 0] = me * total + k
        cuda.syncthreads()
        at = place[0]
        put_block(inbox[at], tokens[k], expert)
        put_signal_block(whose[at + 1], whose[0], counts, 1, ADD, expert)
        cuda.syncthreads()
    quiet()
    barrier_all_block()
    # The expert of this PE works on what came, and sends it back.
    came = taken[0]
    if t == 0:
        signal_wait_until(counts, GE, came)
    cuda.syncthreads()
    for k in range(came):
        for i in range(t, inbox.shape[1], cuda.blockDim.x):
            inbox[k, i] = inbox[k, i] * 2 + me
        cuda.syncthreads()
        owner, row = whose[k + 1, 0] // total, whose[k + 1, 0] % total
        nbytes = inbox.shape[1] * 4
        putmem_signal_block(results[row], inbox[k], nbytes, done, 1, ADD, owner)
    if t == 0:
        signal_wait_until(done, GE, total)
    cuda.syncthreads()
    barrier_all_block()


nvshmem.init()
me, n = nvshmem.my_pe(), nvshmem.n_pes()
tokens, results = (nvshmem.array((TOKENS, HIDDEN), dtype="float32") for _ in range(2))
inbox = nvshmem.array((n * TOKENS, HIDDEN), dtype="float32")
whose = nvshmem.array((n * TOKENS + 1, 1), dtype="int64")
taken = nvshmem.array((1,), dtype="int64")
counts, done = (nvshmem.array((1,), dtype="uint64") for _ in range(2))
rng = np.random.default_rng(me)
tokens[:] = rng.integers(0, 9, (TOKENS, HIDDEN))
chosen = rng.integers(0, 100, TOKENS)
nvshmem.barrier_all()
dispatch_and_combine[1, THREADS](tokens, chosen, inbox, whose, taken, counts, results, done)
expected = np.asarray(tokens) * 2 + (chosen % n)[:, None]
assert (np.asarray(results) == expected).all(), results
for array in (tokens, results, inbox, whose, taken, counts, done):
    nvshmem.free_array(array)
nvshmem.finalize()
print(f"moe ok PE {me}", flush=True)
