// Errors of units, PEs and modules: two PEs of a process, another version of the header, a runtime that refuses or does not know
// the unit yet, an invalid module.
#include <nvshmemrs_device_host.hpp>

#include <nvshmem.h>
#include <nvshmemrs.h>
#include <nvshmemx.h>

#include <dlfcn.h>
#include <thread>

static nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;

static void pe(int number) {
    nvshmemx_init_attr_t attr = NVSHMEMX_INIT_ATTR_INITIALIZER;
    nvshmemx_set_attr_uniqueid_args(number, 2, &id, &attr);
    nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID | NVSHMEMX_INIT_THREAD_PES, &attr);
    // The second stage.
    nvshmem_malloc(8);
    nvshmem_finalize();
}

static int other_fill(const void *, int, const char **) { return 0; }

static int refusing(const void *, int, const char **why) {
    *why = "the GPU was lost";
    return 999;
}

// The runtime knows the unit's kernels only when it is asked for the fourth time.
static std::atomic<int> asked{0};
static int late(const void *state, int, const char **) {
    if (!state) return 0;
    return ++asked < 4 ? NVSHMEMRS_UNIT_LATER : 0;
}
static bool filled(int times) {
    for (int i = 0; i < 5000 && asked < times; i++) usleep(1000);
    return asked == times;
}

// A module of the stand-in for libcuda: its state is the job's, and then nobody's.
static int module_on_a_gpu() {
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
    if (!cuda) return 10;
    auto load = (int (*)(CUmodule *, const void *))dlsym(cuda, "cuModuleLoadData");
    auto global = (int (*)(void **, size_t *, CUmodule, const char *))dlsym(cuda, "cuModuleGetGlobal_v2");
    CUmodule module;
    void *state;
    size_t bytes;
    if (load(&module, "fake image") || global(&state, &bytes, module, "nvshmemi_device_state_d")) return 11;
    if (bytes != sizeof(nvshmemrs_device_state_t)) return nvshmemx_cumodule_init(module) == NVSHMEMX_ERROR_INVALID_VALUE ? 0 : 12;
    nvshmemrs_device_state_t expected, none = {};
    if (nvshmemx_cumodule_init(module)) return 14;
    if (nvshmemrs_device_state(nvshmemrs_nvshmem_runtime(), &expected) || memcmp(state, &expected, sizeof expected)) return 13;
    if (nvshmemx_cumodule_finalize(module) || memcmp(state, &none, sizeof none)) return 15;
    return 0;
}

// In place of CUDA's runtime: a kernel starts when init is complete.
static int init_status = -1;
extern "C" int cudaLaunchCooperativeKernel(const void *, dim3, dim3, void **, size_t, cudaStream_t) {
    init_status = nvshmemx_init_status();
    return 0;
}

// As a program that has chosen its GPU.
static void *context;
static void choose_gpu() {
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
    ((int (*)(unsigned))dlsym(cuda, "cuInit"))(0);
    ((int (*)(void **, int))dlsym(cuda, "cuDevicePrimaryCtxRetain"))(&context, 0);
    ((int (*)(void *))dlsym(cuda, "cuCtxPushCurrent_v2"))(context);
}

// A unit may make another context current; the program's is so again afterwards.
static int changes_context(const void *, int, const char **) {
    asked++;
    return ((int (*)(void *))dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuCtxSetCurrent"))(nullptr);
}
static bool is_current() {
    void *current = nullptr;
    ((int (*)(void **))dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuCtxGetCurrent"))(&current);
    return current == context;
}

int main(int count, char **args) {
    std::string what = count > 1 ? args[1] : "";
    if (what == "threads") {
        nvshmemx_get_uniqueid(&id);
        std::thread first(pe, 0), second(pe, 1);
        first.join();
        second.join();
        return 0;
    }
    if (what == "version") nvshmemrs_nvshmem_register(other_fill, NVSHMEMRS_UNIT_CPU, 77);
    if (what == "refused") nvshmemrs_nvshmem_register(refusing, NVSHMEMRS_UNIT_CPU, nvshmemrs::device::STATE_VERSION);
    if (what == "gpu") choose_gpu();
    if (what == "gpu") nvshmemrs_nvshmem_register(changes_context, NVSHMEMRS_UNIT_GPU, nvshmemrs::device::STATE_VERSION);
    nvshmem_init();
    // The next call needs the second stage of init, and is the first call that does.
    if (what == "module first" || what == "launch first") {
        if (nvshmemx_init_status() != NVSHMEM_STATUS_IS_BOOTSTRAPPED) return 20;
        choose_gpu();
        if (what == "module first" && module_on_a_gpu()) return 21;
        if (what == "launch first" && nvshmemx_collective_launch(&id, dim3(1), dim3(1), nullptr, 0, nullptr)) return 22;
        if (what == "launch first" && init_status < NVSHMEM_STATUS_IS_INITIALIZED) return 23;
        if (nvshmemrs_nvshmem_ready()) return 24;
    }
    nvshmem_free(nvshmem_malloc(8));
    if (what == "gpu" && (asked != 1 || !is_current())) return 26;
    int wrong = what == "gpu" ? module_on_a_gpu() : 0;
    if (wrong) return wrong;
    if (what == "late") {
        nvshmemrs_nvshmem_register(late, NVSHMEMRS_UNIT_CPU, nvshmemrs::device::STATE_VERSION);
        if (asked < 1 || !filled(4)) return 5;
        // Another unit does not have it filled again.
        nvshmemrs_nvshmem_register(other_fill, NVSHMEMRS_UNIT_CPU, nvshmemrs::device::STATE_VERSION);
        usleep(20000);
        if (asked != 4) return 6;
        nvshmemrs_nvshmem_unregister(other_fill);
        nvshmemrs_nvshmem_unregister(late);
        // Kernels for GPUs do not reach this heap.
        nvshmemrs_nvshmem_register(late, NVSHMEMRS_UNIT_GPU, nvshmemrs::device::STATE_VERSION);
        if (asked != 4) return 7;
        nvshmemrs_nvshmem_unregister(late);
        // Nobody has registered it.
        nvshmemrs_nvshmem_unregister(refusing);
    }
    if (what == "module") {
        if (nvshmemx_cumodule_init(nullptr) != NVSHMEMX_ERROR_INVALID_VALUE) return 2;
        if (nvshmemx_culibrary_init(nullptr) != NVSHMEMX_ERROR_INVALID_VALUE) return 2;
        // There is no driver, or the heap is in host memory.
        if (nvshmemx_cumodule_init((CUmodule)&id) != NVSHMEMX_ERROR_NOT_SUPPORTED) return 3;
        if (nvshmemx_collective_launch(nullptr, {}, {}, nullptr, 0, nullptr) == NVSHMEMX_SUCCESS) return 4;
    }
    nvshmem_finalize();
    if (nvshmemrs_nvshmem_ready() != NVSHMEMRS_ERROR_NOT_INITIALIZED) return 25;
}
