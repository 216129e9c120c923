"""Arrays that the PEs drop at different times, in different orders: nothing hangs and all memory
comes back.
"""

import gc
import random

import numpy as np

import nvshmemrs.core as nvshmem

nvshmem.init(heap_bytes=1 << 22)
me, n = nvshmem.my_pe(), nvshmem.n_pes()
choose = random.Random(me)  # each PE drops others
held = []
addresses = []
for step in range(60):
    gc.collect()
    array = nvshmem.array(1000 + step, "f8")
    # The same address on every PE: the allocators agree on what is free.
    offset = nvshmem.array_get_buffer(array)[0].handle
    array[:] = step
    held.append(array)
    del array
    while len(held) > 20 or (held and choose.random() < 0.5):
        del held[choose.randrange(len(held))]
    nvshmem.barrier_all()
held.clear()
gc.collect()
assert nvshmem.heap_stats().released == nvshmem.heap_stats().allocations
nvshmem.barrier_all()
last = nvshmem.array(8, "u1")  # frees all that all PEs have released
assert nvshmem.heap_stats().allocations == 1, nvshmem.heap_stats()
# And it is whole: the biggest possible array fits again.
nvshmem.free_array(last)
nvshmem.free_array(nvshmem.array(nvshmem.heap_stats().largest_free_bytes, np.uint8))
nvshmem.finalize()
print("ok\n", end="")  # one write, so that PEs do not mix
