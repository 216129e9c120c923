"""Under the checker, with 20 seeds: two programs that use data before it is there, and the same
mended. What is found is an error of finalize.
"""

import os
import sys

import numpy as np

import nvshmemrs.core as nvshmem


def early_read(mended):
    me, n = nvshmem.my_pe(), nvshmem.n_pes()
    inbox = nvshmem.array(8, "float64")
    nvshmem.put(inbox, np.full(8, me + 1.0), (me + 1) % n)
    if mended:
        nvshmem.barrier_all()
    total = inbox.sum()
    assert not mended or total == 8.0 * ((me - 1) % n + 1)
    nvshmem.barrier_all()
    nvshmem.free_array(inbox)


def early_use(mended):
    me, n = nvshmem.my_pe(), nvshmem.n_pes()
    block = nvshmem.array(8, "float64")
    block[:] = me + 1
    nvshmem.barrier_all()
    theirs = np.zeros(8)
    nvshmem.get_nbi(theirs, block, (me + 1) % n)
    if mended:
        nvshmem.quiet()
    text = str(theirs)
    assert not mended or text == str(np.full(8, (me + 1) % n + 1.0))
    nvshmem.barrier_all()
    nvshmem.free_array(block)


for program in (early_read, early_use):
    for seed in range(20):
        for mended in (False, True):
            os.environ["NVSHMEMRS_CHECK_SEED"] = str(seed)
            nvshmem.init(heap_bytes=1 << 22)
            program(mended)
            found = False
            try:
                nvshmem.finalize()
            except nvshmem.CheckFailedError:
                found = True
            assert found is not mended, f"{program.__name__}, seed {seed}, mended: {mended}"
sys.stdout.write("ok\n")
