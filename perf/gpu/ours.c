/* nvshmemrs' side. */
#include "bench.h"

#include <nvshmemrs.h>

#define OK(call)                                                  \
    do {                                                          \
        int32_t status_ = (call);                                 \
        if (status_)                                              \
            FAIL("%s: %d: %s", #call, (int)status_, nvshmemrs_last_error()); \
    } while (0)

enum { WORLD = NVSHMEMRS_TEAM_WORLD, INT = NVSHMEMRS_DTYPE_INT32, SUM = NVSHMEMRS_OP_SUM };

static nvshmemrs_runtime_t rt;
static nvshmemrs_stream_t on;

static void init(int pe, int n_pes, int device, size_t heap_bytes)
{
    (void)pe, (void)n_pes;
    nvshmemrs_init_attr_t attr;
    OK(nvshmemrs_init_attr_default(&attr));
    attr.memory_kind = NVSHMEMRS_MEMORY_DEVICE;
    attr.device = device;
    attr.heap_bytes = heap_bytes;
    OK(nvshmemrs_init(&attr, &rt));
}

static void use(cuda_t stream) { OK(nvshmemrs_stream_from_cuda(rt, stream, &on)); }

static void finalize(void)
{
    OK(nvshmemrs_stream_free(on));
    OK(nvshmemrs_finalize(rt));
}

static const char *version(void)
{
    static char text[64];
    int32_t major, minor, patch;
    OK(nvshmemrs_version(&major, &minor, &patch));
    snprintf(text, sizeof text, "%d.%d.%d", (int)major, (int)minor, (int)patch);
    return text;
}

static void *allocate(size_t bytes)
{
    void *memory;
    OK(nvshmemrs_malloc(rt, bytes, &memory));
    return memory;
}

static void host_barrier(void) { OK(nvshmemrs_barrier(rt, WORLD)); }
static void host_put(void *dest, const void *source, size_t bytes, int pe) { OK(nvshmemrs_put(rt, dest, source, bytes, pe)); }
static void put(void *dest, const void *source, size_t bytes, int pe) { OK(nvshmemrs_put(on, dest, source, bytes, pe)); }
static void get(void *dest, const void *source, size_t bytes, int pe) { OK(nvshmemrs_get(on, dest, source, bytes, pe)); }
static void put_signal(void *dest, const void *source, size_t bytes, uint64_t *signal, int pe)
{
    OK(nvshmemrs_put_signal(on, dest, source, bytes, signal, 1, NVSHMEMRS_SIGNAL_SET, pe));
}
static void barrier(void) { OK(nvshmemrs_barrier(on, WORLD)); }
static void sync_(void) { OK(nvshmemrs_sync(on, WORLD)); }
static void reduce(void *dest, const void *source, size_t count) { OK(nvshmemrs_reduce(on, WORLD, dest, source, count, INT, SUM)); }
static void reducescatter(void *dest, const void *source, size_t count)
{
    OK(nvshmemrs_reducescatter(on, WORLD, dest, source, count, INT, SUM));
}
static void fcollect(void *dest, const void *source, size_t bytes) { OK(nvshmemrs_fcollect(on, WORLD, dest, source, bytes)); }
static void alltoall(void *dest, const void *source, size_t bytes) { OK(nvshmemrs_alltoall(on, WORLD, dest, source, bytes)); }
static void broadcast(void *dest, const void *source, size_t bytes) { OK(nvshmemrs_broadcast(on, WORLD, dest, source, bytes, 0)); }

const struct side ours = {
    "nvshmemrs", init,    use, finalize, version,       allocate, host_barrier, host_put, put, get, put_signal,
    barrier,     sync_,   reduce, reducescatter, fcollect, alltoall, broadcast,
};
