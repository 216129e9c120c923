// The code that the examples share: a PE whose heap kernels can use, and launches. With nvcc kernels run on GPUs; with a C++ compiler on
// the CPU, and the heap is in host memory.
#pragma once

#include <nvshmemrs.h>

#ifdef __CUDACC__
#include <nvshmemrs_device.cuh>
#include <nvshmemrs_launch.cuh>
#else
#include <nvshmemrs_device_host.hpp>
#endif

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <tuple>
#include <vector>

typedef nvshmemrs_device_state_t State;

inline void fail(const char *what) {
    fprintf(stderr, "%s\n", what);
    exit(1);
}

inline void call(int32_t status) {
    if (status != NVSHMEMRS_SUCCESS) fail(nvshmemrs_last_error());
}

#ifdef __CUDACC__
inline void cuda(int status) {
    if (status != cudaSuccess) fail(cudaGetErrorString((cudaError_t)status));
}
#endif

struct Pe {
    nvshmemrs_runtime_t runtime = 0;
    int me = 0, n = 0;
    State state;

    Pe() {
        nvshmemrs_init_attr_t attr;
        call(nvshmemrs_init_attr_default(&attr));
#ifdef __CUDACC__
        attr.memory_kind = NVSHMEMRS_MEMORY_DEVICE;
        // Otherwise CUDA loads a kernel at its first launch, which takes milliseconds and may wait for running kernels.
        setenv("CUDA_MODULE_LOADING", "EAGER", 0);
#endif
        call(nvshmemrs_init(&attr, &runtime));
        call(nvshmemrs_my_pe(runtime, &me));
        call(nvshmemrs_n_pes(runtime, &n));
#ifdef __CUDACC__
        int device;
        call(nvshmemrs_device(runtime, &device));
        cuda(cudaSetDevice(device));
#endif
        call(nvshmemrs_device_state(runtime, &state));
    }
    void finalize() { call(nvshmemrs_finalize(runtime)); }
    void barrier() { call(nvshmemrs_barrier(runtime, NVSHMEMRS_TEAM_WORLD)); }
    int right() const { return (me + 1) % n; }
    int left() const { return (me + n - 1) % n; }

    // Symmetric memory, all zero. Collective.
    template <class T> T *array(size_t count) {
        void *made;
        call(nvshmemrs_calloc(runtime, count, sizeof(T), &made));
        return (T *)made;
    }
    void free(void *array) { call(nvshmemrs_free(runtime, array)); }

    // This PE's own copy of symmetric memory.
    template <class T> std::vector<T> read(const T *array, size_t count) {
        std::vector<T> values(count);
        call(nvshmemrs_get(runtime, values.data(), array, count * sizeof(T), me));
        return values;
    }
    template <class T> void write(T *array, const std::vector<T> &values) {
        call(nvshmemrs_put(runtime, array, values.data(), values.size() * sizeof(T), me));
    }
};

// A kernel that runs; its blocks run at the same time.
class Running {
  public:
    template <class... P, class... A> Running(int blocks, int threads, void (*kernel)(P...), A... arguments) {
#ifdef __CUDACC__
        std::tuple<P...> values(arguments...);
        auto launch = [&](auto &...each) {
            void *places[] = {&each...};
            cuda(nvshmemrs_collective_launch((const void *)kernel, dim3(blocks), dim3(threads), places, 0, 0));
        };
        std::apply(launch, values);
#else
        thread_ = std::thread([=] { nvshmemrs::host::launch(dim3(blocks), dim3(threads), [&] { kernel(arguments...); }); });
#endif
    }
    void wait() {
#ifdef __CUDACC__
        cuda(cudaDeviceSynchronize());
#else
        thread_.join();
#endif
    }

  private:
    std::thread thread_;
};

static __global__ void nothing(int) {}

// Runs both ways of the same work, each between barriers, and says how long they took.
template <class Kernel, class Host> void compare(Pe &pe, const char *name, Kernel in_kernel, Host by_host) {
    auto microseconds = [&](auto &work) {
        pe.barrier();
        auto start = std::chrono::steady_clock::now();
        work();
        pe.barrier();
        return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
    };
    // The first launch of this kind takes CUDA milliseconds, whatever the kernel does.
    Running(1, 32, nothing, 0).wait();
    double kernel = microseconds(in_kernel), host = microseconds(by_host);
    printf("%s ok PE %d of %d: %.0f us in the kernel, %.0f us by calls of the host\n", name, pe.me, pe.n, kernel, host);
}
