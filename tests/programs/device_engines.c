/* Collectives by the copy engines of the GPUs, beside other work: every byte of the results, and those around them.
 *
 * Argument: the name of a part, a function below. */
#include "device_gate.h"

enum { MOST = (1 << 20) + 1, GUARD = 64, TEAMS = 3, FCOLLECT = 0, ALLTOALL, BROADCAST, KINDS };
static const char *const NAMES[KINDS] = {"fcollect", "alltoall", "broadcast"};
/* Aligned and unaligned sizes; also one byte off the sizes that copies favour. */
static const size_t SIZES[] = {1, 7, 4096, 4097, 65535, 1 << 20, MOST};

static void use(int32_t algorithm)
{
    int tuned = algorithm == NVSHMEMRS_ALGORITHM_TUNED;
    CHECK(nvshmemrs_device_algorithm(rt, algorithm, tuned ? 0 : 2, tuned ? 0 : 256, 0));
}

static unsigned char *memory(size_t bytes)
{
    void *made;
    CHECK(nvshmemrs_calloc(rt, bytes, 1, &made));
    return made;
}

/* The two buffers of a collective. */
typedef struct {
    unsigned char *dest, *source;
    size_t bytes;
} buffers_t;

static buffers_t buffers(size_t part)
{
    size_t bytes = part * (size_t)n + 2 * GUARD;
    return (buffers_t){memory(bytes), memory(bytes), bytes};
}

static void free_buffers(buffers_t *buffers)
{
    CHECK(nvshmemrs_free(rt, buffers->dest));
    CHECK(nvshmemrs_free(rt, buffers->source));
}

/* A collective of parts of `part` bytes, whose buffers begin `shift` bytes behind the guard. */
typedef struct {
    int kind, in_place, round;
    size_t part, shift;
    int32_t root;
} call_t;

static unsigned char byte(const call_t *call, int32_t from, size_t at)
{
    return (unsigned char)(at * 31 + (at >> 8) * 7 + (size_t)from * 101 + (size_t)call->round * 13 + 1);
}

static size_t source_bytes(const call_t *call) { return call->kind == ALLTOALL ? call->part * (size_t)n : call->part; }

static unsigned char *place(unsigned char *buffer, const call_t *call) { return buffer + GUARD / 2 + call->shift; }

static unsigned char *source_of(const buffers_t *on, const call_t *call)
{
    if (!call->in_place)
        return place(on->source, call);
    return place(on->dest, call) + (call->kind == FCOLLECT ? (size_t)pe * call->part : 0);
}

/* Writes the initial contents: a pattern in `dest`, and the source's data. */
static void prepare(const buffers_t *on, const call_t *call)
{
    unsigned char *bytes = malloc(on->bytes);
    memset(bytes, 0xee, on->bytes);
    CHECK(nvshmemrs_put(rt, on->dest, bytes, on->bytes, pe));
    for (size_t at = 0; at < source_bytes(call); at++)
        bytes[at] = byte(call, pe, at);
    CHECK(nvshmemrs_put(rt, source_of(on, call), bytes, source_bytes(call), pe));
    free(bytes);
}

static void make(nvshmemrs_runtime_t on_stream, nvshmemrs_team_t team, const buffers_t *on, const call_t *call)
{
    unsigned char *dest = place(on->dest, call), *source = source_of(on, call);
    if (call->kind == FCOLLECT)
        CHECK(nvshmemrs_fcollect(on_stream, team, dest, source, call->part));
    else if (call->kind == ALLTOALL)
        CHECK(nvshmemrs_alltoall(on_stream, team, dest, source, call->part));
    else
        CHECK(nvshmemrs_broadcast(on_stream, team, dest, source, call->part, call->root));
}

static void compare(const buffers_t *on, const call_t *call)
{
    unsigned char *got = malloc(on->bytes), *expected = malloc(on->bytes);
    memset(expected, 0xee, on->bytes);
    unsigned char *dest = place(expected, call);
    if (call->kind == BROADCAST)
        for (size_t at = 0; at < call->part; at++)
            dest[at] = byte(call, call->in_place && pe == call->root ? pe : call->root, at);
    else
        for (int32_t from = 0; from < n; from++)
            for (size_t at = 0; at < call->part; at++)
                dest[(size_t)from * call->part + at] = byte(call, from, at + (call->kind == ALLTOALL ? (size_t)pe * call->part : 0));
    CHECK(nvshmemrs_get(rt, got, on->dest, on->bytes, pe));
    for (size_t at = 0; at < on->bytes; at++)
        if (got[at] != expected[at])
            FAIL("PE %d: %s of %zu bytes, shift %zu, in place %d, round %d: byte %zu of the buffer is %#x instead of %#x", (int)pe,
                 NAMES[call->kind], call->part, call->shift, call->in_place, call->round, at, got[at], expected[at]);
    free(got);
    free(expected);
}

/* All sizes, blocking and on a stream, in place and not. */
static void values(void)
{
    begin_with(32 << 20);
    buffers_t on = buffers(MOST);
    nvshmemrs_stream_t stream;
    CHECK(nvshmemrs_stream_new(rt, &stream));
    use(NVSHMEMRS_ALGORITHM_ENGINES);
    int round = 0;
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t size = 0; size < sizeof SIZES / sizeof *SIZES; size++)
            for (int form = 0; form < 4; form++) {
                int blocking = form & 1;
                call_t call = {kind, form >> 1, ++round, SIZES[size], (size_t)(round % 3), round % n};
                prepare(&on, &call);
                CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
                make(blocking ? rt : stream, NVSHMEMRS_TEAM_WORLD, &on, &call);
                if (!blocking)
                    CHECK(nvshmemrs_stream_synchronize(stream));
                compare(&on, &call);
                CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
            }
    CHECK(nvshmemrs_stream_free(stream));
    free_buffers(&on);
    end();
}

/* Three of them one after the other in a graph, which runs with other data each time. */
static void graph(void)
{
    enum { PART = 40001 };
    begin_with(16 << 20);
    use(NVSHMEMRS_ALGORITHM_ENGINES);
    cuda_stream_t raw = new_stream(), side = new_stream();
    nvshmemrs_stream_t stream = ours(raw);
    buffers_t on[KINDS];
    call_t call[KINDS];
    for (int kind = 0; kind < KINDS; kind++) {
        on[kind] = buffers(PART);
        call[kind] = (call_t){kind, 0, 0, PART, 0, n - 1};
    }
    void *graph, *ready;
    CUDA(cuStreamBeginCapture_v2, (cuda_stream_t, int), raw, 0);
    for (int kind = 0; kind < KINDS; kind++)
        make(stream, NVSHMEMRS_TEAM_WORLD, &on[kind], &call[kind]);
    CUDA(cuStreamEndCapture, (cuda_stream_t, void **), raw, &graph);
    CUDA(cuGraphInstantiateWithFlags, (void **, void *, unsigned long long), &ready, graph, 0);
    for (int round = 1; round <= 20; round++) {
        for (int kind = 0; kind < KINDS; kind++) {
            call[kind].round = round;
            prepare(&on[kind], &call[kind]);
        }
        CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
        cuda_stream_t where = round % 2 ? raw : side;
        CUDA(cuGraphLaunch, (void *, cuda_stream_t), ready, where);
        CUDA(cuStreamSynchronize, (cuda_stream_t), where);
        for (int kind = 0; kind < KINDS; kind++)
            compare(&on[kind], &call[kind]);
        /* The stream takes a plain one between two runs. */
        call_t plain = {round % KINDS, 0, round + 100, PART, 1, 0};
        prepare(&on[plain.kind], &plain);
        CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
        make(stream, NVSHMEMRS_TEAM_WORLD, &on[plain.kind], &plain);
        CHECK(nvshmemrs_stream_synchronize(stream));
        compare(&on[plain.kind], &plain);
        CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
    }
    free_graph(graph, ready);
    free_stream(stream, raw);
    CUDA(cuStreamDestroy_v2, (cuda_stream_t), side);
    for (int kind = 0; kind < KINDS; kind++)
        free_buffers(&on[kind]);
    end();
}

/* Teams whose collectives come in another order on each PE, more of them than there are streams for the copies beside; and each
 * team has two streams in turn. The algorithms change, too. */
static void teams(void)
{
    enum { PART = 100001, ROUNDS = 20 };
    begin_with(32 << 20);
    nvshmemrs_stream_t stream[2][TEAMS];
    nvshmemrs_team_t team[TEAMS];
    buffers_t on[TEAMS];
    for (int i = 0; i < TEAMS; i++) {
        for (int which = 0; which < 2; which++)
            CHECK(nvshmemrs_stream_new(rt, &stream[which][i]));
        CHECK(nvshmemrs_team_split_strided(rt, NVSHMEMRS_TEAM_WORLD, 0, 1, n, NULL, 0, &team[i]));
        on[i] = buffers(PART);
    }
    for (int round = 0; round < ROUNDS; round++) {
        call_t call[TEAMS];
        for (int i = 0; i < TEAMS; i++) {
            call[i] = (call_t){(round + i) % KINDS, 0, round * TEAMS + i, PART, 0, round % n};
            prepare(&on[i], &call[i]);
        }
        use(round % 4 == 3 ? NVSHMEMRS_ALGORITHM_DIRECT : NVSHMEMRS_ALGORITHM_ENGINES);
        CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
        for (int k = 0; k < TEAMS; k++) {
            int i = (k + pe) % TEAMS;
            make(stream[round / 3 % 2][i], team[i], &on[i], &call[i]);
        }
        for (int i = 0; i < TEAMS; i++)
            CHECK(nvshmemrs_stream_synchronize(stream[round / 3 % 2][i]));
        for (int i = 0; i < TEAMS; i++)
            compare(&on[i], &call[i]);
        CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
    }
    for (int i = 0; i < TEAMS; i++) {
        CHECK(nvshmemrs_team_destroy(rt, team[i]));
        for (int which = 0; which < 2; which++)
            CHECK(nvshmemrs_stream_free(stream[which][i]));
        free_buffers(&on[i]);
    }
    end();
}

/* The error of a collective on a stream that PE 0 makes otherwise than the others. */
static void differs(int32_t algorithm, int kind, const char *words)
{
    begin_with(16 << 20);
    buffers_t on = buffers(4096);
    nvshmemrs_stream_t stream;
    CHECK(nvshmemrs_stream_new(rt, &stream));
    use(pe == 0 ? algorithm : NVSHMEMRS_ALGORITHM_ENGINES);
    call_t call = {pe == 0 ? kind : FCOLLECT, 0, 0, 4096, 0, 0};
    CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
    make(stream, NVSHMEMRS_TEAM_WORLD, &on, &call);
    REFUSED(NVSHMEMRS_ERROR_MISMATCH, words, nvshmemrs_stream_synchronize(stream));
    /* The error persists. */
    REFUSED(NVSHMEMRS_ERROR_MISMATCH, words, nvshmemrs_finalize(rt));
    leave();
}

static void operations(void) { differs(NVSHMEMRS_ALGORITHM_ENGINES, ALLTOALL, "called `alltoall`"); }

static void algorithms(void) { differs(NVSHMEMRS_ALGORITHM_DIRECT, FCOLLECT, "other arguments"); }

/* PE 0 has put the copy of its own part on a stream of the library, and the driver refuses the next copy. Memory must stay until that stream
 * has come to its copy. */
static void unfinished(void)
{
    begin_with(16 << 20);
    buffers_t on = buffers(4096);
    nvshmemrs_stream_t stream;
    CHECK(nvshmemrs_stream_new(rt, &stream));
    use(NVSHMEMRS_ALGORITHM_ENGINES);
    CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
    if (pe == 0) {
        void (*fail_after)(const char *, int);
        *(void **)&fail_after = driver("fake_cuda_fail_after");
        fail_after("cuMemcpyAsync", 1);
        REFUSED(NVSHMEMRS_ERROR_CUDA, "cuMemcpyAsync", nvshmemrs_fcollect(stream, NVSHMEMRS_TEAM_WORLD, on.dest, on.source, 4096));
    } else {
        /* The team may be broken already. */
        const int32_t status = nvshmemrs_fcollect(stream, NVSHMEMRS_TEAM_WORLD, on.dest, on.source, 4096);
        if (status != NVSHMEMRS_SUCCESS && status != NVSHMEMRS_ERROR_TEAM_BROKEN)
            FAIL("status %d: %s", (int)status, nvshmemrs_last_error());
    }
    if (nvshmemrs_finalize(rt) == NVSHMEMRS_SUCCESS && pe == 0)
        FAIL("finalize succeeds");
    /* A copy that finalize has left behind would have its turn now. */
    pause_ms(200);
    leave();
}

static void set(void *flag) { atomic_store((atomic_int *)flag, 1); }

/* A stream that waits for an event waits for the record of that time, though the event is recorded again on another stream: the library
 * uses its events so. */
static void recorded_again(void)
{
    begin();
    cuda_stream_t held = new_stream(), waits = new_stream(), other = new_stream();
    void *event;
    atomic_int open = 0, after = 0;
    CUDA(cuEventCreate, (void **, unsigned), &event, 2);
    hold_up(held, &open);
    CUDA(cuEventRecord, (void *, cuda_stream_t), event, held);
    CUDA(cuStreamWaitEvent, (cuda_stream_t, void *, unsigned), waits, event, 0);
    CUDA(cuLaunchHostFunc, (cuda_stream_t, void (*)(void *), void *), waits, set, &after);
    CUDA(cuEventRecord, (void *, cuda_stream_t), event, other);
    CUDA(cuStreamSynchronize, (cuda_stream_t), other);
    int (*query)(cuda_stream_t);
    *(void **)&query = driver("cuStreamQuery");
    for (int look = 0; look < 50; look++, pause_ms(1))
        if (query(waits) == 0 || atomic_load(&after))
            FAIL("the stream has not waited for the first record");
    atomic_store(&open, 1);
    CUDA(cuStreamSynchronize, (cuda_stream_t), waits);
    if (!atomic_load(&after))
        FAIL("the stream has lost its work");
    CUDA(cuEventDestroy_v2, (void *), event);
    CUDA(cuStreamDestroy_v2, (cuda_stream_t), held);
    CUDA(cuStreamDestroy_v2, (cuda_stream_t), waits);
    CUDA(cuStreamDestroy_v2, (cuda_stream_t), other);
    end();
}

int main(int argc, char **argv)
{
    static const part_t all[] = {{"values", values}, {"graph", graph}, {"teams", teams}, {"operations", operations}, {"algorithms", algorithms},
                                 {"unfinished", unfinished}, {"recorded_again", recorded_again}};
    return run_parts(argc, argv, all, sizeof all / sizeof *all, "engines");
}
