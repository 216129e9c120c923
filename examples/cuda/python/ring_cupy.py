"""A kernel of CUDA C++ that communicates, started by CuPy: a value goes round a ring of PEs.

    NVSHMEMRS_MEMORY=device nvshmemrs-run -n 2 -- python ring_cupy.py

CuPy's RawKernel compiles the source with NVRTC, and takes the state by value.
"""

import cupy
import nvshmemrs
import nvshmemrs.core as nvshmem

SOURCE = r"""
#include <nvshmemrs_device.cuh>

extern "C" __global__ void ring(nvshmemrs_device_state_t state, long *value, unsigned long *arrived) {
    int me = nvshmemrs_my_pe(state), n = nvshmemrs_n_pes(state);
    // PE 0 begins; each PE adds its number and passes the sum on.
    if (me > 0) nvshmemrs_signal_wait_until(state, arrived, NVSHMEMRS_CMP_EQ, 1);
    long sum = *value + me;
    nvshmemrs_long_p(state, value, sum, (me + 1) % n);
    nvshmemrs_fence(state);
    nvshmemrs_signal_op(state, arrived, 1, NVSHMEMRS_SIGNAL_SET, (me + 1) % n);
    if (me == 0) nvshmemrs_signal_wait_until(state, arrived, NVSHMEMRS_CMP_EQ, 1);
}
"""


def main() -> None:
    nvshmem.init()
    cupy.cuda.Device(nvshmem.my_pe() % cupy.cuda.runtime.getDeviceCount()).use()
    me, n = nvshmem.my_pe(), nvshmem.n_pes()
    value, arrived = nvshmem.array(1, "int64"), nvshmem.array(1, "uint64")

    options = (f"-I{nvshmemrs.include_dir()}", "--std=c++17")
    kernel = cupy.RawKernel(SOURCE, "ring", options=options, backend="nvrtc")
    kernel.compile()
    nvshmem.barrier_all()
    kernel((1,), (1,), (nvshmem.device.state().scalar, value, arrived))
    cupy.cuda.runtime.deviceSynchronize()

    # The value that arrived is the sum over all preceding PEs; on PE 0 it is the sum over all PEs.
    before = sum(range(me)) if me else sum(range(n))
    assert int(value[0]) == before, (me, value)
    nvshmem.barrier_all()
    nvshmem.free_array(value)
    nvshmem.free_array(arrived)
    nvshmem.finalize()
    print(f"ring_cupy ok PE {me} of {n}", flush=True)


if __name__ == "__main__":
    main()
