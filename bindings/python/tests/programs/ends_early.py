"""The last PE ends without finalize; the others find out and do not wait for ever."""

from expect import raises

import nvshmemrs.core as nvshmem

nvshmem.init()
a = nvshmem.array(8)
nvshmem.barrier_all()
if nvshmem.my_pe() != nvshmem.n_pes() - 1:
    raises(nvshmem.PeDiedError, f"PE {nvshmem.n_pes() - 1} ", nvshmem.barrier_all)
    raises(nvshmem.PeDiedError, "", nvshmem.finalize)
    assert nvshmem.init_status() == nvshmem.InitStatus.STATUS_NOT_INITIALIZED
print("ok\n", end="")  # one write, so that PEs do not mix
