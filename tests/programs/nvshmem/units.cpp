// Kernels of NVSHMEM's names in two units of a program and in a library that is opened later: for nvcc, and for the CPU.
//
//   units run LIBRARY       the program's two units, then the library: opened, used, closed, and opened again
//   units capture LIBRARY   the library is opened while a stream is captured, and its kernel is captured
//   units launch            kernels that are started together
//   units module CUBIN      kernels that the driver loads: as a module, and as a library
//   units exit              a kernel of the last PE ends the job with 7
//   units before            a kernel calls before init
//   units after             a kernel calls after finalize, with a team of the program's
//
// UNIT: 0 has `main`, 1 is the other one, 2 the library, 3 the module.
#ifndef UNIT
#define UNIT 0
#endif
#ifndef __CUDACC__
#include <nvshmemrs_device_host.hpp>
#endif
#include <nvshmem.h>
#include <nvshmemx.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

struct Symmetric {
    int numbers[4], sums[4], parts[4];
    uint64_t signals[4];
};

#if UNIT == 3
extern "C" __global__ void from_module(Symmetric *s) {
    int me = nvshmem_my_pe(), right = (me + 1) % nvshmem_n_pes();
    if (threadIdx.x == 0) {
        nvshmem_int_p(&s->numbers[UNIT], me * 10 + UNIT, right);
        nvshmem_barrier_all();
    }
}
#else
// Everybody gives the right neighbour a number, and sums up.
static __global__ void exchange(Symmetric *s) {
    int me = nvshmem_my_pe(), right = (me + 1) % nvshmem_n_pes();
    if (threadIdx.x == 0) {
        // Names with and without their scope.
        ::nvshmem_int_p(&s->numbers[UNIT], me * 10 + UNIT, right);
        ::nvshmem_fence();
        ::nvshmem_quiet();
        nvshmemx_signal_op(&s->signals[UNIT], 1, NVSHMEM_SIGNAL_ADD, right);
        nvshmem_signal_wait_until(&s->signals[UNIT], NVSHMEM_CMP_EQ, 1);
        s->parts[UNIT] = s->numbers[UNIT];
        s->signals[UNIT] = 0;
    }
    ::nvshmemx_barrier_all_block();
    nvshmemx_int_sum_reduce_block(NVSHMEM_TEAM_WORLD, &s->sums[UNIT], &s->parts[UNIT], 1);
}

// Host code of the same unit calls the functions of the host by the same names.
static int expected(Symmetric *s, const Symmetric *seen) {
    int me = ::nvshmem_my_pe(), n = 0 + ::nvshmem_n_pes(), sum = 0;
    ::nvshmem_quiet();
    for (int p = 0; p < n; p++) sum += p * 10 + UNIT;
    int left = (me + n - 1) % n * 10 + UNIT;
    if (seen->numbers[UNIT] == left && seen->sums[UNIT] == sum && nvshmem_ptr(s, me) == s) return 0;
    printf("unit %d of PE %d: %d for %d, sum %d for %d\n", UNIT, me, seen->numbers[UNIT], left, seen->sums[UNIT], sum);
    return 1;
}

#ifdef __CUDACC__
#define RUN(KERNEL, S) (KERNEL<<<1, 64>>>(S), said(#KERNEL, cudaDeviceSynchronize()))
static bool said(const char *what, int status) {
    if (status != 0) printf("unit %d: %s: %s\n", UNIT, what, cudaGetErrorString((cudaError_t)status));
    return status != 0;
}
static int check(Symmetric *s) {
    Symmetric seen;
    return said("cudaMemcpy", cudaMemcpy(&seen, s, sizeof seen, cudaMemcpyDeviceToHost)) || expected(s, &seen);
}
#else
#define RUN(KERNEL, S) (nvshmemrs::host::launch(1, 64, [&] { KERNEL(S); }), 0)
static int check(Symmetric *s) { return expected(s, s); }
#endif

#define PASTE(A, B) A##B
#define RUN_UNIT(N) PASTE(run_unit_, N)
#define CAPTURE_UNIT(N) PASTE(capture_unit_, N)
extern "C" int RUN_UNIT(UNIT)(Symmetric *s) { return RUN(exchange, s) || check(s); }
#ifdef __CUDACC__
extern "C" int CAPTURE_UNIT(UNIT)(Symmetric *s, cudaStream_t stream) {
    exchange<<<1, 64, 0, stream>>>(s);
    return said("a launch that is captured", cudaGetLastError());
}
#endif
#endif // UNIT

#if UNIT == 0
#include <dlfcn.h>
#ifdef __CUDACC__
#include <cuda.h>
#endif

extern "C" int run_unit_1(Symmetric *s);
typedef int (*unit_t)(Symmetric *);

static void *opened(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) printf("%s\n", dlerror());
    return library;
}

static int run(Symmetric *s, const char *path) {
    int wrong = run_unit_0(s) + run_unit_1(s);
    for (int round = 0; round < 2 && !wrong; round++) {
        void *library = opened(path);
        if (!library) return 1;
        wrong += ((unit_t)dlsym(library, "run_unit_2"))(s);
        dlclose(library);
    }
    return wrong;
}

static __global__ void end_job(Symmetric *) {
    if (threadIdx.x == 0 && nvshmem_my_pe() == nvshmem_n_pes() - 1) nvshmem_global_exit(7);
}
static __global__ void meet(nvshmem_team_t team) { nvshmemx_barrier_block(team); }
static __global__ void wait_for_ever(Symmetric *s) { nvshmem_signal_wait_until(&s->signals[UNIT], NVSHMEM_CMP_EQ, 99); }

#ifdef __CUDACC__
static int capture(Symmetric *s, const char *path) {
    cudaStream_t stream;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t ready;
    int wrong = said("a stream", cudaStreamCreate(&stream));
    wrong += said("begin", cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    void *library = opened(path);
    if (!library) return 1;
    wrong += ((int (*)(Symmetric *, cudaStream_t))dlsym(library, "capture_unit_2"))(s, stream);
    wrong += said("end", cudaStreamEndCapture(stream, &graph));
    wrong += said("instantiate", cudaGraphInstantiate(&ready, graph, 0));
    // The check is the library's own: the graph is run first, then the kernel once more.
    wrong += said("launch", cudaGraphLaunch(ready, stream)) + said("run", cudaStreamSynchronize(stream));
    return wrong + ((unit_t)dlsym(library, "run_unit_2"))(s);
}

// All blocks of all PEs meet: by a counter on PE 0 that each of them adds to.
static __global__ void together(Symmetric *s, int blocks) {
    if (threadIdx.x != 0) return;
    nvshmem_uint64_atomic_inc(&s->signals[3], 0);
    while (nvshmem_uint64_atomic_fetch(&s->signals[3], 0) < (uint64_t)blocks * nvshmem_n_pes()) {}
}
// A launch runs the second stage of init, before anything is allocated.
static __global__ void tell(int *n_pes) { *n_pes = nvshmem_n_pes(); }
static int launch_first() {
    int *told = nullptr, seen = 0;
    void *args[] = {&told};
    int wrong = nvshmemx_init_status() != NVSHMEM_STATUS_IS_BOOTSTRAPPED;
    wrong += said("cudaMalloc", cudaMalloc(&told, sizeof *told));
    wrong += nvshmemx_collective_launch((const void *)tell, dim3(1), dim3(1), args, 0, 0);
    wrong += said("tell", cudaMemcpy(&seen, told, sizeof seen, cudaMemcpyDeviceToHost));
    cudaFree(told);
    if (wrong || seen != nvshmem_n_pes()) printf("first launch: %d PEs, %d\n", seen, wrong);
    return wrong || seen != nvshmem_n_pes();
}
static int launch(Symmetric *s) {
    int blocks = 0;
    int wrong = nvshmemx_collective_launch_query_gridsize((const void *)together, dim3(32), nullptr, 0, &blocks);
    void *args[] = {&s, &blocks};
    wrong += nvshmemx_collective_launch((const void *)together, dim3(0), dim3(32), args, 0, 0);
    wrong += said("nvshmemx_collective_launch", cudaDeviceSynchronize());
    nvshmemx_collective_launch_attr_t attr = {};
    attr.cuda_config.gridDim = dim3((blocks + 1) / 2);
    attr.cuda_config.blockDim = dim3(32);
    nvshmem_barrier_all();
    cudaMemset(&s->signals[3], 0, sizeof s->signals[3]);
    nvshmem_barrier_all();
    int half = (blocks + 1) / 2;
    args[1] = &half;
    wrong += nvshmemx_collective_launch_attr(&attr, (const void *)together, args);
    wrong += said("nvshmemx_collective_launch_attr", cudaDeviceSynchronize());
    // More than fit are refused.
    wrong += nvshmemx_collective_launch((const void *)together, dim3(blocks + 1), dim3(32), args, 0, 0) != NVSHMEMX_ERROR_COLLECTIVE_LAUNCH_FAILED;
    cudaGetLastError();
    if (wrong || blocks < 1) printf("PE %d: collective launch of %d blocks: %d\n", nvshmem_my_pe(), blocks, wrong);
    return wrong || blocks < 1;
}

static int run_module(Symmetric *s, CUfunction function) {
    void *args[] = {&s};
    int wrong = said("cuLaunchKernel", cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, nullptr, args, nullptr) != CUDA_SUCCESS);
    wrong += said("from_module", cudaDeviceSynchronize());
    Symmetric seen;
    wrong += said("cudaMemcpy", cudaMemcpy(&seen, s, sizeof seen, cudaMemcpyDeviceToHost));
    int n = nvshmem_n_pes(), left = (nvshmem_my_pe() + n - 1) % n * 10 + 3;
    if (seen.numbers[3] != left) printf("module: %d, not %d\n", seen.numbers[3], left);
    nvshmem_barrier_all();
    cudaMemset(&s->numbers[3], 0, sizeof(int));
    nvshmem_barrier_all();
    return wrong || seen.numbers[3] != left;
}
// So does a module.
static int module_first(const char *path) {
    CUmodule module;
    int wrong = nvshmemx_init_status() != NVSHMEM_STATUS_IS_BOOTSTRAPPED;
    wrong += said("cudaFree", cudaFree(nullptr));
    wrong += said("cuModuleLoad", cuModuleLoad(&module, path) != CUDA_SUCCESS);
    wrong += nvshmemx_cumodule_init(module) + nvshmemx_cumodule_finalize(module);
    wrong += cuModuleUnload(module) != CUDA_SUCCESS || nvshmemx_init_status() < NVSHMEM_STATUS_IS_INITIALIZED;
    if (wrong) printf("first module: %d\n", wrong);
    return wrong;
}
static int module_(Symmetric *s, const char *path) {
    CUmodule module;
    CUlibrary library;
    CUfunction function;
    CUkernel kernel;
    int wrong = said("cuModuleLoad", cuModuleLoad(&module, path) != CUDA_SUCCESS);
    wrong += nvshmemx_cumodule_init(nullptr) != NVSHMEMX_ERROR_INVALID_VALUE;
    wrong += nvshmemx_cumodule_init(module);
    wrong += cuModuleGetFunction(&function, module, "from_module") != CUDA_SUCCESS || run_module(s, function);
    wrong += nvshmemx_cumodule_finalize(module);
    wrong += said("cuLibraryLoad", cuLibraryLoadFromFile(&library, path, nullptr, nullptr, 0, nullptr, nullptr, 0) != CUDA_SUCCESS);
    wrong += nvshmemx_culibrary_init(library);
    wrong += cuLibraryGetKernel(&kernel, library, "from_module") != CUDA_SUCCESS || cuKernelGetFunction(&function, kernel) != CUDA_SUCCESS;
    wrong += run_module(s, function);
    wrong += nvshmemx_culibrary_finalize(library);
    if (wrong) printf("PE %d: module: %d\n", nvshmem_my_pe(), wrong);
    return wrong;
}
#endif

int main(int count, char **args) {
    const char *what = count > 1 ? args[1] : "run", *path = count > 2 ? args[2] : "";
    if (!strcmp(what, "before")) {
        RUN(end_job, (Symmetric *)nullptr);
        return 0;
    }
#ifdef __CUDACC__
    // As programs of NVSHMEM choose their GPU.
    nvshmem_init();
    int gpus = 1;
    cudaGetDeviceCount(&gpus);
    cudaSetDevice(nvshmem_team_my_pe(NVSHMEMX_TEAM_NODE) % gpus);
    if (!strcmp(what, "launch") && launch_first()) return 1;
    if (!strcmp(what, "module") && module_first(path)) return 1;
#else
    nvshmem_init();
#endif
    if (!strcmp(what, "after")) {
        nvshmem_team_t team;
        nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, 0, 1, nvshmem_n_pes(), nullptr, 0, &team);
        nvshmem_finalize();
        return RUN(meet, team);
    }
    Symmetric *s = (Symmetric *)nvshmem_calloc(1, sizeof *s);
    int wrong = 1, me = nvshmem_my_pe(), n = nvshmem_n_pes();
    if (!strcmp(what, "run")) wrong = run(s, path);
    else if (!strcmp(what, "exit")) {
        wrong = RUN(end_job, s);
        wrong = RUN(wait_for_ever, s);
    }
#ifdef __CUDACC__
    else if (!strcmp(what, "capture")) wrong = capture(s, path);
    else if (!strcmp(what, "launch")) wrong = launch(s);
    else if (!strcmp(what, "module")) wrong = module_(s, path);
#endif
    nvshmem_barrier_all();
    nvshmem_free(s);
    nvshmem_finalize();
    if (!wrong) printf("units %s ok PE %d of %d\n", what, me, n);
    return wrong != 0;
}
#endif
