"""A kernel of CUDA C++ that communicates, compiled by NVRTC and launched by the driver, both through
cuda.bindings: PEs in a row exchange the ends of their parts and take the mean of neighbours.

    NVSHMEMRS_MEMORY=device nvshmemrs-run -n 2 -- python stencil_nvrtc.py

The driver takes any argument by its address, so the kernel gets the state by value.
"""

import ctypes

import numpy as np
import nvshmemrs
import nvshmemrs.core as nvshmem
from cuda.bindings import driver, nvrtc

SOURCE = r"""
#include <nvshmemrs_device.cuh>

// line[0] and line[n + 1] are copies of the neighbours' ends; they stay 0 at the ends of the row.
extern "C" __global__ void stencil(nvshmemrs_device_state_t state, double *line, int n, int steps) {
    int me = nvshmemrs_my_pe(state), pes = nvshmemrs_n_pes(state);
    for (int step = 0; step < steps; step++) {
        if (threadIdx.x == 0 && me > 0) nvshmemrs_double_p(state, line + n + 1, line[1], me - 1);
        if (threadIdx.x == 0 && me < pes - 1) nvshmemrs_double_p(state, line, line[n], me + 1);
        // What all PEs have put can be seen behind this.
        nvshmemrs_barrier_all_block(state);
        double mean = 0;
        int i = threadIdx.x + 1;
        if (i <= n) mean = (line[i - 1] + line[i + 1]) / 2;
        // Everybody has read before anybody writes, here and on the neighbours.
        nvshmemrs_sync_all_block(state);
        if (i <= n) line[i] = mean;
        __syncthreads();
    }
}
"""
N, STEPS = 100, 20


def checked(result: tuple) -> tuple:
    """Checks the status of a call of cuda.bindings and returns the values that follow it."""
    status, *values = result
    assert int(status) == 0, status
    return tuple(values)


def compiled(major: int, minor: int) -> bytes:
    """The cubin for a GPU."""
    (program,) = checked(nvrtc.nvrtcCreateProgram(SOURCE.encode(), b"stencil.cu", 0, [], []))
    options = [f"-I{nvshmemrs.include_dir()}", "--std=c++17", f"--gpu-architecture=sm_{major}{minor}"]
    given = [option.encode() for option in options]
    (status,) = nvrtc.nvrtcCompileProgram(program, len(given), given)
    if int(status):
        (size,) = checked(nvrtc.nvrtcGetProgramLogSize(program))
        log = b" " * size
        checked(nvrtc.nvrtcGetProgramLog(program, log))
        raise SystemExit(log.decode())
    (size,) = checked(nvrtc.nvrtcGetCUBINSize(program))
    cubin = b" " * size
    checked(nvrtc.nvrtcGetCUBIN(program, cubin))
    return cubin


def main() -> None:
    nvshmem.init()
    me, n = nvshmem.my_pe(), nvshmem.n_pes()
    (count,) = checked(driver.cuDeviceGetCount())
    (device,) = checked(driver.cuDeviceGet(me % count))
    (context,) = checked(driver.cuDevicePrimaryCtxRetain(device))
    checked(driver.cuCtxSetCurrent(context))
    attribute = driver.CUdevice_attribute
    names = "COMPUTE_CAPABILITY_MAJOR", "COMPUTE_CAPABILITY_MINOR"
    numbers = [getattr(attribute, f"CU_DEVICE_ATTRIBUTE_{name}") for name in names]
    capability = [checked(driver.cuDeviceGetAttribute(x, device))[0] for x in numbers]
    (module,) = checked(driver.cuModuleLoadData(compiled(*capability)))
    (kernel,) = checked(driver.cuModuleGetFunction(module, b"stencil"))

    line = nvshmem.buffer(8 * (N + 2))
    start = np.zeros(N + 2)
    start[1:-1] = np.sin(np.arange(N) + N * me)
    line.copy_from(start.view("u1"))
    nvshmem.barrier_all()
    state = ctypes.create_string_buffer(bytes(nvshmem.device.state()), 64)
    arguments = [state, ctypes.c_uint64(line.handle), ctypes.c_int(N), ctypes.c_int(STEPS)]
    table = (ctypes.c_void_p * 4)(*map(ctypes.addressof, arguments))
    shape = 1, 1, 1, 128, 1, 1, 0
    checked(driver.cuLaunchKernel(kernel, *shape, 0, ctypes.addressof(table), 0))
    checked(driver.cuCtxSynchronize())

    found = np.zeros(8 * (N + 2), "u1")
    line.copy_to(found)
    whole = np.zeros(N * n + 2)
    whole[1:-1] = np.sin(np.arange(N * n))
    for _ in range(STEPS):
        whole[1:-1] = (whole[:-2] + whole[2:]) / 2
    wanted = whole[N * me + 1 : N * me + 1 + N]
    assert np.array_equal(found.view("f8")[1:-1], wanted), (me, found.view("f8"))
    nvshmem.barrier_all()
    nvshmem.free(line)
    nvshmem.finalize()
    print(f"stencil_nvrtc ok PE {me} of {n}", flush=True)


if __name__ == "__main__":
    main()
