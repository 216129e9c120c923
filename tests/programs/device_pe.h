/* A PE whose heap is in GPU memory, and its resources from the driver: streams, pinned memory. For programs that create them themselves. */

#ifndef DEVICE_PE_H
#define DEVICE_PE_H

#include "driver.h"

#include <stdint.h>
#include <time.h>

typedef struct stream *cuda_stream_t;

static nvshmemrs_runtime_t rt;
static int32_t pe, n, device;
static void *context;

static inline void begin_with(size_t heap_bytes)
{
    nvshmemrs_init_attr_t attr;
    CHECK(nvshmemrs_init_attr_default(&attr));
    attr.memory_kind = NVSHMEMRS_MEMORY_DEVICE;
    attr.heap_bytes = heap_bytes;
    CHECK(nvshmemrs_init(&attr, &rt));
    CHECK(nvshmemrs_my_pe(rt, &pe));
    CHECK(nvshmemrs_n_pes(rt, &n));
    CHECK(nvshmemrs_device(rt, &device));
    CUDA(cuDevicePrimaryCtxRetain, (void **, int), &context, device);
    CUDA(cuCtxPushCurrent_v2, (void *), context);
}

static inline void begin(void) { begin_with(16 << 20); }

/* After finalize. */
static inline void leave(void)
{
    CUDA(cuCtxPopCurrent_v2, (void **), &context);
    CUDA(cuDevicePrimaryCtxRelease_v2, (int), device);
}

static inline void end(void)
{
    CHECK(nvshmemrs_finalize(rt));
    leave();
}

static inline uint64_t *words(size_t count)
{
    void *made;
    CHECK(nvshmemrs_calloc(rt, count, sizeof(uint64_t), &made));
    return made;
}

static inline cuda_stream_t new_stream(void)
{
    cuda_stream_t stream;
    CUDA(cuStreamCreate, (cuda_stream_t *, unsigned), &stream, 1);
    return stream;
}

static inline nvshmemrs_stream_t ours(cuda_stream_t stream)
{
    nvshmemrs_stream_t made;
    CHECK(nvshmemrs_stream_from_cuda(rt, stream, &made));
    return made;
}

static inline uint64_t *pinned(size_t count)
{
    void *made;
    CUDA(cuMemHostAlloc, (void **, size_t, unsigned), &made, count * sizeof(uint64_t), 0);
    return made;
}

static inline void pause_ms(long ms)
{
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

static inline double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static inline uint64_t value_of(const uint64_t *word, int32_t of)
{
    uint64_t value;
    CHECK(nvshmemrs_get(rt, &value, word, sizeof value, of));
    return value;
}

/* A part of a program, which an argument selects by name. */
typedef struct {
    const char *name;
    void (*run)(void);
} part_t;

static inline const part_t *find_part(const part_t *all, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(all[i].name, name) == 0)
            return &all[i];
    return NULL;
}

/* Runs the parts that the arguments name, one after another; returns the exit status. */
static inline int run_parts(int argc, char **argv, const part_t *all, size_t count, const char *says)
{
    int known = 0;
    for (int i = 1; i < argc; i++)
        known += find_part(all, count, argv[i]) != NULL;
    if (known == 0 || known < argc - 1) {
        fprintf(stderr, "usage: %s PART..., each one of:", argv[0]);
        for (size_t i = 0; i < count; i++)
            fprintf(stderr, " %s", all[i].name);
        fprintf(stderr, "\n");
        return 6;
    }
    for (int i = 1; i < argc; i++) {
        find_part(all, count, argv[i])->run();
        printf("%s ok: %s\n", says, argv[i]);
        fflush(stdout);
    }
    return 0;
}

static inline void free_stream(nvshmemrs_stream_t stream, cuda_stream_t raw)
{
    CHECK(nvshmemrs_stream_free(stream));
    CUDA(cuStreamDestroy_v2, (cuda_stream_t), raw);
}

static inline void free_graph(void *graph, void *ready)
{
    CUDA(cuGraphExecDestroy, (void *), ready);
    CUDA(cuGraphDestroy, (void *), graph);
}

#endif
