/* A PE of the job that nvshmemrs-perf --tune starts: `gpu-tune CASES MOST ROUNDS`. All PEs go through the same variants in the same order, check the
 * result of each bit for bit, and measure it. The calls of a variant are a CUDA graph; the variants of a case take turns.
 *
 * CASES is a file. A line `case NAME COUNT CALLS` begins a case: a collective of COUNT floats (of a part, where there are parts), CALLS times in
 * a graph. A line `try ALGORITHM BLOCKS THREADS CHUNK` is a variant of it. For each variant PE 0 prints the microseconds of one call: the median
 * of all rounds, of the first half of them, and of the second half. MOST: floats of the largest buffer. */
#include "bench.h"

#include <nvshmemrs.h>
#include <string.h>

enum { WORLD = NVSHMEMRS_TEAM_WORLD, FLOAT = NVSHMEMRS_DTYPE_FLOAT, SUM = NVSHMEMRS_OP_SUM, VARIANTS = 256, MOST_ROUNDS = 1000, MORE = 16 << 20 };

#define OK(call)                                                  \
    do {                                                          \
        int32_t status_ = (call);                                 \
        if (status_)                                              \
            FAIL("%s: %d: %s", #call, (int)status_, nvshmemrs_last_error()); \
    } while (0)

struct variant {
    int algorithm, blocks, threads, chunk;
    cuda_t graph;
    double *us;
};

static struct {
    char name[32];
    size_t count;
    int calls, variants;
    struct variant variant[VARIANTS];
} now;

static nvshmemrs_runtime_t rt;
static nvshmemrs_stream_t on;
static int me, n, rounds;
static cuda_t stream, started, ended;
static float *source, *dest, *expected, *result;

/* Element `index` of a PE's source, chosen so that the sum depends on the order of additions. */
static float value(int pe, size_t index)
{
    uint32_t mixed = ((uint32_t)index ^ (uint32_t)pe << 27) * 0x9e3779b9u;
    return (float)((int32_t)(mixed >> 8) - (1 << 23)) / 1024.0f;
}

static float sum(size_t index)
{
    float total = value(0, index);
    for (int pe = 1; pe < n; pe++)
        total += value(pe, index);
    return total;
}

static int is(const char *name) { return strcmp(now.name, name) == 0; }

static void call(void)
{
    if (is("reduce"))
        OK(nvshmemrs_reduce(on, WORLD, dest, source, now.count, FLOAT, SUM));
    else if (is("reducescatter"))
        OK(nvshmemrs_reducescatter(on, WORLD, dest, source, now.count, FLOAT, SUM));
    else if (is("fcollect"))
        OK(nvshmemrs_fcollect(on, WORLD, dest, source, now.count * 4));
    else if (is("alltoall"))
        OK(nvshmemrs_alltoall(on, WORLD, dest, source, now.count * 4));
    else
        OK(nvshmemrs_broadcast(on, WORLD, dest, source, now.count * 4, 0));
}

/* Fills `expected` with the expected contents of `dest`, and returns the number of elements. */
static size_t expect(void)
{
    size_t at = 0, mine = (size_t)me * now.count;
    if (is("reduce"))
        for (; at < now.count; at++) expected[at] = sum(at);
    else if (is("reducescatter"))
        for (; at < now.count; at++) expected[at] = sum(mine + at);
    else if (is("fcollect") || is("alltoall"))
        for (int pe = 0; pe < n; pe++)
            for (size_t i = 0; i < now.count; i++) expected[at++] = value(pe, is("alltoall") ? mine + i : i);
    else
        for (; at < now.count; at++) expected[at] = value(0, at);
    return at;
}

static void copy(void *to, const void *from, size_t count) { CUDA(cuMemcpy, (uint64_t, uint64_t, size_t), (uint64_t)to, (uint64_t)from, count * 4); }

static void launch(const struct variant *variant) { CUDA(cuGraphLaunch, (cuda_t, cuda_t), variant->graph, stream); }

static void wait_for_stream(void) { CUDA(cuStreamSynchronize, (cuda_t), stream); }

static void capture(struct variant *variant)
{
    cuda_t graph;
    OK(nvshmemrs_device_algorithm(rt, variant->algorithm, variant->blocks, variant->threads, variant->chunk));
    CUDA(cuStreamBeginCapture_v2, (cuda_t, int), stream, 2 /* relaxed */);
    for (int i = 0; i < now.calls; i++)
        call();
    CUDA(cuStreamEndCapture, (cuda_t, cuda_t *), stream, &graph);
    CUDA(cuGraphInstantiateWithFlags, (cuda_t *, cuda_t, unsigned long long), &variant->graph, graph, 0);
    CUDA(cuGraphDestroy, (cuda_t), graph);
}

static void check(const struct variant *variant, size_t count)
{
    memset(result, 0xee, count * sizeof *result);
    copy(dest, result, count);
    OK(nvshmemrs_barrier(rt, WORLD));
    launch(variant);
    wait_for_stream();
    copy(result, dest, count);
    for (size_t i = 0; i < count && memcmp(result, expected, count * sizeof *result); i++)
        if (memcmp(&result[i], &expected[i], sizeof *result))
            FAIL("PE %d: %s of %zu floats, algorithm %d, %d blocks of %d threads, chunk %d: element %zu is %g, not %g", me, now.name, now.count,
                 variant->algorithm, variant->blocks, variant->threads, variant->chunk, i, result[i], expected[i]);
}

static void record(cuda_t event) { CUDA(cuEventRecord, (cuda_t, cuda_t), event, stream); }

static double measure(const struct variant *variant)
{
    float ms;
    OK(nvshmemrs_barrier(rt, WORLD));
    /* In the first launch the GPUs wait until the last PE has launched it; by then the second launch is queued. */
    launch(variant);
    record(started);
    launch(variant);
    record(ended);
    wait_for_stream();
    CUDA(cuEventElapsedTime, (float *, cuda_t, cuda_t), &ms, started, ended);
    return (double)ms * 1e3 / now.calls;
}

static int by_size(const void *a, const void *b)
{
    double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

static double median(const double *us, int count)
{
    static double sorted[MOST_ROUNDS];
    memcpy(sorted, us, (size_t)count * sizeof *sorted);
    qsort(sorted, (size_t)count, sizeof *sorted, by_size);
    return count % 2 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

/* The current case. */
static void run_case(void)
{
    size_t count = expect();
    int half = rounds / 2;
    for (int i = 0; i < now.variants; i++) {
        capture(&now.variant[i]);
        check(&now.variant[i], count);
        now.variant[i].us = malloc((size_t)rounds * sizeof(double));
    }
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < now.variants; i++)
            now.variant[i].us[round] = measure(&now.variant[i]);
    for (int i = 0; i < now.variants; i++) {
        struct variant *variant = &now.variant[i];
        if (me == 0)
            printf("%.5g %.5g %.5g\n", median(variant->us, rounds), median(variant->us, half), median(variant->us + half, rounds - half));
        free(variant->us);
        CUDA(cuGraphExecDestroy, (cuda_t), variant->graph);
    }
    fflush(stdout);
}

static void *allocate(size_t count)
{
    void *memory;
    OK(nvshmemrs_malloc(rt, count * 4, &memory));
    return memory;
}

int main(int argc, char **argv)
{
    if (argc != 4)
        FAIL("usage: gpu-tune CASES MOST ROUNDS");
    FILE *cases = fopen(argv[1], "r");
    size_t most = (size_t)atoll(argv[2]);
    rounds = atoi(argv[3]);
    if (!cases || rounds < 2 || rounds > MOST_ROUNDS)
        FAIL("cannot read %s, or not 2 to %d rounds", argv[1], MOST_ROUNDS);
    me = number("NVSHMEMRS_PE");
    n = number("NVSHMEMRS_N_PES");

    int device, gpu = open_gpu(me, &device);
    cuda_t context;
    nvshmemrs_init_attr_t attr;
    OK(nvshmemrs_init_attr_default(&attr));
    attr.memory_kind = NVSHMEMRS_MEMORY_DEVICE;
    attr.device = gpu;
    attr.heap_bytes = 2 * most * 4 + MORE;
    OK(nvshmemrs_init(&attr, &rt));
    CUDA(cuStreamCreate, (cuda_t *, unsigned), &stream, 1 /* not ordered with the default stream */);
    OK(nvshmemrs_stream_from_cuda(rt, stream, &on));
    CUDA(cuEventCreate, (cuda_t *, unsigned), &started, 0);
    CUDA(cuEventCreate, (cuda_t *, unsigned), &ended, 0);
    source = allocate(most);
    dest = allocate(most);
    expected = malloc(most * sizeof *expected);
    result = malloc(most * sizeof *result);
    for (size_t i = 0; i < most; i++)
        result[i] = value(me, i);
    copy(source, result, most);

    char line[128];
    while (fgets(line, sizeof line, cases)) {
        char name[32];
        size_t count;
        int calls;
        struct variant variant = {0};
        if (sscanf(line, "case %31s %zu %d", name, &count, &calls) == 3) {
            if (now.variants)
                run_case();
            strcpy(now.name, name);
            now.count = count, now.calls = calls, now.variants = 0;
        } else if (sscanf(line, "try %d %d %d %d", &variant.algorithm, &variant.blocks, &variant.threads, &variant.chunk) == 4 &&
                   now.variants < VARIANTS) {
            now.variant[now.variants++] = variant;
        } else {
            FAIL("the line \"%s\" is wrong", line);
        }
    }
    if (now.variants)
        run_case();
    fclose(cases);
    OK(nvshmemrs_device_algorithm(rt, NVSHMEMRS_ALGORITHM_TUNED, 0, 0, 0));
    OK(nvshmemrs_stream_free(on));
    CUDA(cuEventDestroy_v2, (cuda_t), started);
    CUDA(cuEventDestroy_v2, (cuda_t), ended);
    CUDA(cuStreamDestroy_v2, (cuda_t), stream);
    OK(nvshmemrs_free(rt, dest));
    OK(nvshmemrs_free(rt, source));
    OK(nvshmemrs_finalize(rt));
    CUDA(cuCtxPopCurrent_v2, (cuda_t *), &context);
    CUDA(cuDevicePrimaryCtxRelease_v2, (int), device);
    return 0;
}
