/* Mistakes of a C program on GPUs, and their errors. libcuda is opened at run time, as there may be none where this is compiled.
 *
 * Argument: "index", GPUs that there are not; "arguments", pointers that are no part of the heap, then all works as before; "kill", the last
 * PE is killed while the others are in a barrier, and they get an error within 5 s; "kill_stream", while they wait for a reduction on a stream. */
#include "driver.h"

#include <signal.h>
#include <string.h>
#include <time.h>

static nvshmemrs_init_attr_t attributes(void)
{
    nvshmemrs_init_attr_t attr;
    CHECK(nvshmemrs_init_attr_default(&attr));
    attr.memory_kind = NVSHMEMRS_MEMORY_DEVICE;
    attr.heap_bytes = 16 << 20;
    return attr;
}

static void index_of_no_gpu(void)
{
    int devices;
    CUDA(cuInit, (unsigned), 0);
    CUDA(cuDeviceGetCount, (int *), &devices);
    nvshmemrs_runtime_t rt;
    for (int i = 0; i < 2; i++) {
        nvshmemrs_init_attr_t attr = attributes();
        attr.device = i == 0 ? devices : 99;
        char number[16];
        snprintf(number, sizeof number, "%d", (int)attr.device);
        int32_t status = nvshmemrs_init(&attr, &rt);
        if (status == NVSHMEMRS_SUCCESS || !strstr(nvshmemrs_last_error(), number))
            FAIL("GPU %s: status %d: %s", number, (int)status, nvshmemrs_last_error());
        printf("status %d: %s\n", (int)status, nvshmemrs_last_error());
    }
    /* The last one that there is. */
    nvshmemrs_init_attr_t attr = attributes();
    attr.device = devices - 1;
    CHECK(nvshmemrs_init(&attr, &rt));
    CHECK(nvshmemrs_finalize(rt));
}

enum { COUNT = 1000 };

static void transfer(nvshmemrs_runtime_t rt, int32_t pe, int32_t n, double *heap)
{
    double sent[COUNT], got[COUNT];
    for (int i = 0; i < COUNT; i++)
        sent[i] = pe * 1e6 + i;
    CHECK(nvshmemrs_put(rt, heap, sent, sizeof sent, (pe + 1) % n));
    CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
    CHECK(nvshmemrs_get(rt, got, heap, sizeof got, pe));
    for (int i = 0; i < COUNT; i++)
        if (got[i] != (pe + n - 1) % n * 1e6 + i)
            FAIL("element %d is %g", i, got[i]);
    CHECK(nvshmemrs_reduce(rt, NVSHMEMRS_TEAM_WORLD, heap + COUNT, heap, COUNT, NVSHMEMRS_DTYPE_DOUBLE, NVSHMEMRS_OP_SUM));
    CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
    CHECK(nvshmemrs_get(rt, got, heap + COUNT, sizeof got, (pe + 1) % n));
    for (int i = 0; i < COUNT; i++)
        if (got[i] != n * (n - 1) / 2 * 1e6 + (double)i * n)
            FAIL("sum %d is %g", i, got[i]);
    CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
}

static void arguments(void)
{
    nvshmemrs_init_attr_t attr = attributes();
    nvshmemrs_runtime_t rt;
    CHECK(nvshmemrs_init(&attr, &rt));
    int32_t pe, n, kind;
    CHECK(nvshmemrs_my_pe(rt, &pe));
    CHECK(nvshmemrs_n_pes(rt, &n));
    void *heap, *mapped;
    CHECK(nvshmemrs_calloc(rt, 2 * COUNT, sizeof(double), &heap));
    transfer(rt, pe, n, heap);

    double values[COUNT] = {0};
    void *page = aligned_alloc(2 << 20, 2 << 20);
    REFUSED(NVSHMEMRS_ERROR_NOT_SYMMETRIC, "dest", nvshmemrs_put(rt, values, values, sizeof values, pe));
    REFUSED(NVSHMEMRS_ERROR_NOT_SYMMETRIC, "source", nvshmemrs_get(rt, values, values, sizeof values, pe));
    REFUSED(NVSHMEMRS_ERROR_NOT_SYMMETRIC, "", nvshmemrs_atomic_add64(rt, (uint64_t *)page, 1, pe));
    REFUSED(NVSHMEMRS_ERROR_PE_RANGE, "pe", nvshmemrs_put(rt, heap, values, sizeof values, n));
    REFUSED(NVSHMEMRS_ERROR_OUT_OF_BOUNDS, "", nvshmemrs_put(rt, heap, page, 17 << 20, pe));
    REFUSED(NVSHMEMRS_ERROR_INVALID_VALUE, "cuMemCreate", nvshmemrs_buffer_register(rt, page, 2 << 20, NULL, &mapped));
    /* Memory of the GPU that the CUDA runtime gives out cannot be shared. */
    int device;
    void *context;
    uint64_t plain;
    CUDA(cuDeviceGet, (int *, int), &device, 0);
    CUDA(cuDevicePrimaryCtxRetain, (void **, int), &context, device);
    CUDA(cuCtxPushCurrent_v2, (void *), context);
    if (dlsym(RTLD_DEFAULT, "cuMemAlloc_v2") || dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuMemAlloc_v2")) {
        CUDA(cuMemAlloc_v2, (uint64_t *, size_t), &plain, 4 << 20);
        REFUSED(NVSHMEMRS_ERROR_INVALID_VALUE, "cuMemCreate", nvshmemrs_buffer_register(rt, (void *)plain, 4 << 20, NULL, &mapped));
        REFUSED(NVSHMEMRS_ERROR_NOT_SYMMETRIC, "dest", nvshmemrs_put(rt, (void *)plain, values, sizeof values, pe));
        /* As a source, such memory is valid. */
        CUDA(cuMemsetD8_v2, (uint64_t, unsigned char, size_t), plain, 0, sizeof values);
        CHECK(nvshmemrs_put(rt, heap, (void *)plain, sizeof values, pe));
        CUDA(cuMemFree_v2, (uint64_t), plain);
    }
    CUDA(cuCtxPopCurrent_v2, (void **), &context);
    CUDA(cuDevicePrimaryCtxRelease_v2, (int), device);
    CHECK(nvshmemrs_memory_kind(rt, heap, &kind));
    if (kind != NVSHMEMRS_MEMORY_DEVICE)
        FAIL("the heap is of kind %d", (int)kind);
    transfer(rt, pe, n, heap);
    free(page);
    CHECK(nvshmemrs_free(rt, heap));
    REFUSED(NVSHMEMRS_ERROR_BAD_FREE, "", nvshmemrs_free(rt, heap));
    CHECK(nvshmemrs_finalize(rt));
}

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void one_is_killed(int on_stream)
{
    nvshmemrs_init_attr_t attr = attributes();
    nvshmemrs_runtime_t rt;
    nvshmemrs_stream_t stream = 0;
    CHECK(nvshmemrs_init(&attr, &rt));
    int32_t pe, n;
    CHECK(nvshmemrs_my_pe(rt, &pe));
    CHECK(nvshmemrs_n_pes(rt, &n));
    void *heap;
    CHECK(nvshmemrs_calloc(rt, 2 * COUNT, sizeof(double), &heap));
    double *words = heap;
    if (on_stream)
        CHECK(nvshmemrs_stream_new(rt, &stream));
    transfer(rt, pe, n, words);
    double start = now_s();
    if (pe == n - 1) {
        sleep(1);
        kill(getpid(), SIGKILL);
    }
    int32_t status;
    if (on_stream) {
        CHECK(nvshmemrs_reduce(stream, NVSHMEMRS_TEAM_WORLD, words + COUNT, words, COUNT, NVSHMEMRS_DTYPE_DOUBLE, NVSHMEMRS_OP_SUM));
        status = nvshmemrs_stream_synchronize(stream);
    } else {
        status = nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD);
    }
    double took = now_s() - start;
    printf("PE %d: status %d after %.2f s: %s\n", (int)pe, (int)status, took, status ? nvshmemrs_last_error() : "success");
    if (status == NVSHMEMRS_SUCCESS || took > 6)
        FAIL("a PE was killed, and that was not told within 5 s");
    char number[32];
    snprintf(number, sizeof number, "PE %d", (int)(n - 1));
    if (!strstr(nvshmemrs_last_error(), number))
        FAIL("the error does not name %s", number);
    /* The error persists, because no later collective can succeed. */
    if (nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD) == NVSHMEMRS_SUCCESS)
        FAIL("the next barrier succeeds without PE %d", (int)(n - 1));
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "index") == 0)
        index_of_no_gpu();
    else if (argc == 2 && strcmp(argv[1], "arguments") == 0)
        arguments();
    else if (argc == 2 && strncmp(argv[1], "kill", 4) == 0)
        one_is_killed(strcmp(argv[1], "kill_stream") == 0);
    else
        FAIL("usage: device_errors index|arguments|kill|kill_stream");
    printf("errors ok: %s\n", argv[1]);
    return 0;
}
