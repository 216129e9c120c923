"""A kernel of CUDA C++ that communicates, started by cuda.core: the mean of all PEs' numbers.

    NVSHMEMRS_MEMORY=device nvshmemrs-run -n 2 -- python mean_cuda_core.py

cuda.core's Program compiles the source with NVRTC. Its launch takes numbers only, so the kernel gets
the address of the state.
"""

import numpy as np
import nvshmemrs
import nvshmemrs.core as nvshmem
from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

SOURCE = r"""
#include <nvshmemrs_device.cuh>

extern "C" __global__ void mean(const nvshmemrs_device_state_t *state, float *out, float *in, unsigned long n) {
    // All threads of the block take part in the sum over all PEs, and divide afterwards.
    int failed = nvshmemrs_float_sum_reduce_block(state, NVSHMEMRS_TEAM_WORLD, out, in, n);
    __syncthreads();
    for (unsigned long i = threadIdx.x; i < n; i += blockDim.x)
        out[i] = failed ? -1.0f : out[i] / nvshmemrs_n_pes(state);
}
"""
N = 1000


def main() -> None:
    nvshmem.init()
    me, n = nvshmem.my_pe(), nvshmem.n_pes()
    device = Device(me % count())
    device.set_current()
    stream = device.create_stream()
    out, numbers = nvshmem.buffer(4 * N), nvshmem.buffer(4 * N)
    mine = np.arange(N, dtype="f4") + np.float32(me)
    numbers.copy_from(mine.view("u1"))

    capability = device.compute_capability
    arch = f"sm_{capability.major}{capability.minor}"
    options = ProgramOptions(std="c++17", arch=arch, include_path=nvshmemrs.include_dir())
    kernel = Program(SOURCE, "c++", options).compile("cubin").get_kernel("mean")
    nvshmem.barrier_all()
    config = LaunchConfig(grid=1, block=256)
    state = nvshmem.device.state().pointer
    launch(stream, config, kernel, state, out.handle, numbers.handle, np.uint64(N))
    stream.sync()

    found = np.zeros(4 * N, "u1")
    out.copy_to(found)
    wanted = (np.arange(N, dtype="f4") * n + sum(range(n))) / np.float32(n)
    assert np.array_equal(found.view("f4"), wanted), (me, found.view("f4"))
    nvshmem.barrier_all()
    nvshmem.free(out)
    nvshmem.free(numbers)
    nvshmem.finalize()
    print(f"mean_cuda_core ok PE {me} of {n}", flush=True)


def count() -> int:
    """The GPUs that this process sees; cuda.core's name for it has changed."""
    from cuda.core import system

    number = getattr(system, "get_num_devices", None)
    return int(number() if number else system.num_devices)


if __name__ == "__main__":
    main()
