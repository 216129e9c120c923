/* Streams of the program that exist only as long as the program needs them, on GPUs: no notice says that a stream is destroyed, and a new
 * stream may get its address. */

#include "../driver.h"
#undef CHECK

#include "common.h"

/* More than have handles at a time. */
#define MANY 300

typedef struct CUstream_st *stream_t;

static stream_t make(void)
{
    stream_t stream = NULL;
    CUDA(cuStreamCreate, (stream_t *, unsigned), &stream, 1);
    return stream;
}

static void destroy(stream_t stream) { CUDA(cuStreamDestroy_v2, (stream_t), stream); }

static void wait_for(stream_t stream) { CUDA(cuStreamSynchronize, (stream_t), stream); }

static nvshmemrs_stream_t handle_of(stream_t stream)
{
    nvshmemrs_stream_t handle = 0;
    CHECK(nvshmemrs_stream_of_cuda(nvshmemrs_nvshmem_runtime(), stream, &handle) == 0 && handle != 0);
    return handle;
}

static long word_at(const long *word)
{
    long value = 0;
    nvshmem_long_get(&value, word, 1, me);
    return value;
}

/* A stream keeps its handle; a new stream at its address gets another. */
static void handles(long *words)
{
    stream_t first = make(), second = make();
    const nvshmemrs_stream_t of_first = handle_of(first), of_second = handle_of(second);
    CHECK(of_first != of_second && handle_of(first) == of_first && handle_of(second) == of_second);
    CHECK(nvshmemrs_stream_free(of_first) == NVSHMEMRS_ERROR_INVALID_VALUE);
    CHECK(strstr(nvshmemrs_last_error(), "stream_of_cuda") != NULL);
    CHECK(nvshmemrs_stream_release(of_first) == NVSHMEMRS_ERROR_INVALID_VALUE);
    CHECK(nvshmemrs_stream_of_cuda(nvshmemrs_nvshmem_runtime(), first, NULL) == NVSHMEMRS_ERROR_INVALID_VALUE);
    nvshmemx_long_p_on_stream(words, me + 1, next, first);
    wait_for(first);
    destroy(first);
    const stream_t third = make();
    /* The stand-in for libcuda gives the same address again. */
    CHECK(third == first || getenv("FAKE_CUDA_DEVICES") == NULL);
    CHECK(handle_of(third) != of_first && handle_of(second) == of_second);
    nvshmemx_long_p_on_stream(words + 1, me + 2, next, third);
    wait_for(third);
    destroy(second);
    destroy(third);
    nvshmem_barrier_all();
    CHECK(word_at(words) == before + 1 && word_at(words + 1) == before + 2);
}

/* Each stream is destroyed while its work may be in flight; the collectives of a team run in order all the same. */
static void pending(long *words)
{
    for (int i = 0; i < 40; i++) {
        stream_t stream = make(), other = make();
        nvshmemx_long_p_on_stream(words, 100 + i, next, stream);
        nvshmemx_barrier_all_on_stream(stream);
        destroy(stream);
        CHECK(nvshmemx_long_sum_reduce_on_stream(NVSHMEM_TEAM_WORLD, words + 1, words, 1, other) == 0);
        wait_for(other);
        CHECK(word_at(words) == 100 + i && word_at(words + 1) == (long)n_pes * (100 + i) && word_at(words + 2) == 0);
        destroy(other);
        nvshmem_barrier_all();
    }
}

/* Calls are captured into a graph, the first with a stream or later ones. Such calls may get the handle of an earlier stream with the same
 * address; a stream that has a handle keeps it. */
static void captured(long *words)
{
    for (int late = 0; late < 2; late++) {
        stream_t stream = make();
        const nvshmemrs_stream_t kept = late ? handle_of(stream) : 0;
        void *graph = NULL, *ready = NULL;
        CUDA(cuStreamBeginCapture_v2, (stream_t, int), stream, 0);
        nvshmemx_long_p_on_stream(words, 500 + late, next, stream);
        nvshmemx_barrier_all_on_stream(stream);
        const nvshmemrs_stream_t handle = handle_of(stream);
        CUDA(cuStreamEndCapture, (stream_t, void **), stream, &graph);
        CHECK(!late || (handle == kept && handle_of(stream) == kept));
        CUDA(cuGraphInstantiateWithFlags, (void **, void *, unsigned long long), &ready, graph, 0);
        for (int launch = 0; launch < 2; launch++) {
            CUDA(cuGraphLaunch, (void *, stream_t), ready, stream);
            nvshmemx_long_p_on_stream(words + 1, 600 + launch, next, stream);
            nvshmemx_barrier_all_on_stream(stream);
            wait_for(stream);
            CHECK(word_at(words) == 500 + late && word_at(words + 1) == 600 + launch);
            nvshmem_barrier_all();
        }
        CUDA(cuGraphExecDestroy, (void *), ready);
        CUDA(cuGraphDestroy, (void *), graph);
        destroy(stream);
    }
}

/* A stream that has lost its handle gets another. */
static void many(long *words)
{
    static stream_t streams[MANY];
    nvshmemrs_stream_t of_first = 0;
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < MANY; i++) {
            int32_t done = 0;
            if (round == 0)
                streams[i] = make();
            if (i == 0 && round == 0)
                of_first = handle_of(streams[0]);
            if (i == 0 && round == 1)
                CHECK(nvshmemrs_stream_query(of_first, &done) == NVSHMEMRS_ERROR_BAD_HANDLE && handle_of(streams[0]) != of_first);
            nvshmemx_long_p_on_stream(words + i, MANY * round + i + me, next, streams[i]);
            wait_for(streams[i]);
        }
    nvshmem_barrier_all();
    for (int i = 0; i < MANY; i++) {
        CHECK(word_at(words + i) == MANY + i + before);
        destroy(streams[i]);
    }
    nvshmem_barrier_all();
}

static void sleep_long(void *unused)
{
    (void)unused;
    usleep(200000);
}

static void set(void *flag) { __atomic_store_n((int *)flag, 1, __ATOMIC_SEQ_CST); }

int main(void)
{
    static int ended;
    void *context = NULL;
    int devices = 0;
    CUDA(cuInit, (unsigned), 0);
    CUDA(cuDeviceGetCount, (int *), &devices);
    const int device = atoi(getenv("NVSHMEMRS_PE")) % devices;
    CUDA(cuDevicePrimaryCtxRetain, (void **, int), &context, device);
    CUDA(cuCtxPushCurrent_v2, (void *), context);
    nvshmem_init();
    who();
    long *words = nvshmem_calloc(MANY + 1, sizeof *words);
    handles(words);
    nvshmem_barrier_all();
    pending(words);
    captured(words);
    many(words);
    /* Finalize waits for the work on destroyed streams. */
    stream_t last = make();
    uint64_t *signal = nvshmem_calloc(1, sizeof *signal);
    nvshmemx_signal_wait_until_on_stream(signal, NVSHMEM_CMP_EQ, 1, last);
    CUDA(cuLaunchHostFunc, (stream_t, void (*)(void *), void *), last, set, &ended);
    destroy(last);
    stream_t late = make();
    CUDA(cuLaunchHostFunc, (stream_t, void (*)(void *), void *), late, sleep_long, NULL);
    nvshmemx_signal_op_on_stream(signal, 1, NVSHMEM_SIGNAL_SET, next, late);
    destroy(late);
    nvshmem_finalize();
    CHECK(__atomic_load_n(&ended, __ATOMIC_SEQ_CST));
    printf("PE %d of %d: same\n", me, n_pes);
    CUDA(cuCtxPopCurrent_v2, (void **), &context);
    CUDA(cuDevicePrimaryCtxRelease_v2, (int), device);
    return 0;
}
