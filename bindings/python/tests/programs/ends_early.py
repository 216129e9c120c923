"""The last PE ends without finalize; the others find out and do not wait for ever."""

import nvshmemrs.core as nvshmem

nvshmem.init()
a = nvshmem.array(8)
nvshmem.barrier_all()
if nvshmem.my_pe() != nvshmem.n_pes() - 1:
    try:
        nvshmem.barrier_all()
    except nvshmem.PeDiedError as error:
        assert f"PE {nvshmem.n_pes() - 1} " in str(error), error
    else:
        raise AssertionError("the barrier came back")
    try:
        nvshmem.finalize()
    except nvshmem.PeDiedError:
        assert nvshmem.init_status() == nvshmem.InitStatus.STATUS_NOT_INITIALIZED
    else:
        raise AssertionError("finalize came back without an error")
print("ok\n", end="")  # one write, so that PEs do not mix
