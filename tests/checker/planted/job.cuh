// Shared by the programs with kernels, which run on the CPU, or on GPUs where nvcc compiles the program.
#ifndef JOB_CUH
#define JOB_CUH

#include "job.h"

#define NVSHMEMRS_DEVICE_RECORD
#ifdef __CUDACC__
#include <nvshmemrs_device.cuh>
#else
#include <nvshmemrs_device_host.hpp>
#endif

typedef nvshmemrs_device_state_t State;

static State state;

// Joins the job, whose kernels get its state.
static void join_with_kernels() {
    join();
#ifdef __CUDACC__
    int32_t device;
    CALL(nvshmemrs_device(rt, &device));
    cudaSetDevice(device);
#endif
    CALL(nvshmemrs_device_state(rt, &state));
}

// Runs a kernel of so many blocks and threads, and returns when it is over.
#ifdef __CUDACC__
#define LAUNCH(BLOCKS, THREADS, KERNEL, ...)                                                                \
    do {                                                                                                    \
        KERNEL<<<BLOCKS, THREADS>>>(__VA_ARGS__);                                                           \
        cudaError_t ended = cudaDeviceSynchronize();                                                        \
        if (ended != cudaSuccess) {                                                                         \
            fprintf(stderr, "PE %d: %s: %s; %d %s\n", me, #KERNEL, cudaGetErrorString(ended),               \
                    (int)nvshmemrs_runtime_check(rt), nvshmemrs_last_error());                              \
            exit(1);                                                                                        \
        }                                                                                                   \
    } while (0)
#else
#define LAUNCH(BLOCKS, THREADS, KERNEL, ...)                                                    \
    do {                                                                                        \
        nvshmemrs::host::launch(BLOCKS, THREADS, [&] { KERNEL(__VA_ARGS__); });                 \
        CALL(nvshmemrs_runtime_check(rt));                                                      \
    } while (0)
#endif

// Symmetric elements of this PE: what the host sees of them.
template <class T> static T element(const T *own, size_t i) {
    T value;
    CALL(nvshmemrs_get(rt, &value, own + i, sizeof value, me));
    return value;
}

template <class T> static T *zeroes(size_t count) { return (T *)zeroed(count, sizeof(T)); }

#endif
