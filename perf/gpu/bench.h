/* Shared parts of the GPU benchmark: the driver, which is opened at run time, the GPU of a PE, and the interface of a measured library. */
#ifndef BENCH_H
#define BENCH_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* _exit: the exit handlers of an interrupted library may hang. */
#define FAIL(...)                                        \
    do {                                                 \
        fprintf(stderr, "gpu-bench: line %d: ", __LINE__); \
        fprintf(stderr, __VA_ARGS__);                    \
        fprintf(stderr, "\n");                           \
        fflush(NULL);                                    \
        _exit(1);                                        \
    } while (0)

typedef void *cuda_t; /* a context, stream, event or graph */

/* Every operation takes symmetric addresses, and is put on the stream that `use` was given unless it says otherwise. `bytes` and `count` are
 * those of one part where there are parts. Reductions are sums of 32-bit integers. */
struct side {
    const char *name;
    /* Joins the job, on this GPU, whose context is current. */
    void (*init)(int pe, int n_pes, int device, size_t heap_bytes);
    void (*use)(cuda_t stream);
    void (*finalize)(void);
    const char *(*version)(void);
    void *(*allocate)(size_t bytes);
    /* On the host. */
    void (*host_barrier)(void);
    void (*host_put)(void *dest, const void *source, size_t bytes, int pe);
    void (*put)(void *dest, const void *source, size_t bytes, int pe);
    void (*get)(void *dest, const void *source, size_t bytes, int pe);
    void (*put_signal)(void *dest, const void *source, size_t bytes, uint64_t *signal, int pe);
    void (*barrier)(void);
    void (*sync)(void);
    void (*reduce)(void *dest, const void *source, size_t count);
    void (*reducescatter)(void *dest, const void *source, size_t count);
    void (*fcollect)(void *dest, const void *source, size_t bytes);
    void (*alltoall)(void *dest, const void *source, size_t bytes);
    void (*broadcast)(void *dest, const void *source, size_t bytes);
};

extern const struct side ours, nvshmem;

/* A function of libcuda; NULL if it is missing. */
static inline void *cuda_function(const char *name)
{
    static void *library;
    if (!library)
        library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (!library)
        FAIL("%s", dlerror());
    return dlsym(library, name);
}

#define CUDA(name, types, ...)                              \
    do {                                                    \
        int (*function_) types;                             \
        *(void **)&function_ = cuda_function(#name);        \
        if (!function_)                                     \
            FAIL("libcuda.so.1 has no %s", #name);          \
        int code_ = function_(__VA_ARGS__);                 \
        if (code_)                                          \
            FAIL("%s: CUDA error %d", #name, code_);        \
    } while (0)

/* The number in a variable that the launcher sets. */
static inline int number(const char *variable)
{
    const char *text = getenv(variable);
    if (!text)
        FAIL("%s is not set: start this program with nvshmemrs-run or nvshmemrs-perf --tune", variable);
    return atoi(text);
}

/* Retains the primary context of PE `pe`'s GPU, and makes it current. Returns the GPU's ordinal; `device` gets its handle. */
static inline int open_gpu(int pe, int *device)
{
    int devices;
    cuda_t context;
    CUDA(cuInit, (unsigned), 0);
    CUDA(cuDeviceGetCount, (int *), &devices);
    CUDA(cuDeviceGet, (int *, int), device, pe % devices);
    CUDA(cuDevicePrimaryCtxRetain, (cuda_t *, int), &context, *device);
    CUDA(cuCtxPushCurrent_v2, (cuda_t), context);
    return pe % devices;
}

#endif
