/* The library's records of a stream that the program has released, and of a team that is destroyed while one of its kernels is pending:
 * memory and a team's number are reused only when nothing can use them any more.
 *
 * Argument: the name of a part, a function below. */
#include "device_gate.h"

enum { COUNT = 700, FIRST = 6, NUMBERS = 320 };

static uint64_t *source, *sum, *again;
static int32_t next;

/* `source` holds this PE's number, and the numbers that follow; the rest is 0. */
static void begin_sums(void)
{
    begin();
    uint64_t host[COUNT];
    source = words(COUNT);
    sum = words(COUNT);
    again = words(COUNT);
    next = (pe + 1) % n;
    for (int at = 0; at < COUNT; at++)
        host[at] = (uint64_t)(pe + at);
    CHECK(nvshmemrs_put(rt, source, host, sizeof host, pe));
    CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
}

static int32_t reduce(uint64_t on, nvshmemrs_team_t team, uint64_t *to, const uint64_t *from)
{
    return nvshmemrs_reduce(on, team, to, from, COUNT, NVSHMEMRS_DTYPE_UINT64, NVSHMEMRS_OP_SUM);
}

/* The words must be the sum of all sources, `times` as much. */
static void expect(const char *what, const uint64_t *at, uint64_t times)
{
    uint64_t got[COUNT], all = (uint64_t)n;
    CHECK(nvshmemrs_get(rt, got, at, sizeof got, pe));
    for (uint64_t i = 0; i < COUNT; i++)
        if (got[i] != times * (all * i + all * (all - 1) / 2))
            FAIL("%s: word %lu is %lu", what, i, got[i]);
}

static void begin_capture(cuda_stream_t raw) { CUDA(cuStreamBeginCapture_v2, (cuda_stream_t, int), raw, 0); }

static void *end_capture(cuda_stream_t raw)
{
    void *graph;
    CUDA(cuStreamEndCapture, (cuda_stream_t, void **), raw, &graph);
    return graph;
}

static void drop_capture(cuda_stream_t raw) { CUDA(cuGraphDestroy, (void *), end_capture(raw)); }

static cuda_stream_t new_stream_with(unsigned flags)
{
    cuda_stream_t stream;
    CUDA(cuStreamCreate, (cuda_stream_t *, unsigned), &stream, flags);
    return stream;
}

/* Finalize comes first, then the work that is left: it writes to memory that is still there. */
static void finalize_before(cuda_stream_t raw)
{
    CHECK(nvshmemrs_finalize(rt));
    pause_ms(100);
    atomic_store(&door, 1);
    CUDA(cuStreamSynchronize, (cuda_stream_t), raw);
    /* The runtime goes on a thread of its own. */
    pause_ms(100);
}

/* A stream with work on it is let go while `captured` is, which is the stream itself, or by which the default stream is, too. Nobody can mark
 * the end of that work then. */
static void unmarked(cuda_stream_t raw, cuda_stream_t captured)
{
    nvshmemrs_stream_t stream = ours(raw);
    hold_up_behind_door(raw);
    CHECK(nvshmemrs_p64(stream, sum, 1, pe));
    begin_capture(captured);
    CHECK(nvshmemrs_stream_release(stream));
    drop_capture(captured);
    finalize_before(raw);
}

static void captured(void)
{
    begin_sums();
    cuda_stream_t raw = new_stream();
    unmarked(raw, raw);
}

static void implicit(void)
{
    begin_sums();
    unmarked(NULL, new_stream_with(0));
}

/* A handle that is made and released within a capture has no operations outside the graph. Another handle of the same stream stays valid,
 * and the library keeps its record. */
static void in_capture(void)
{
    begin_sums();
    cuda_stream_t raw = new_stream();
    nvshmemrs_stream_t stays = ours(raw);
    uint64_t *word = words(1);
    void *ready;
    hold_up_behind_door(raw);
    CHECK(reduce(stays, NVSHMEMRS_TEAM_WORLD, sum, source));
    begin_capture(raw);
    nvshmemrs_stream_t stream = ours(raw);
    CHECK(nvshmemrs_atomic_add64(stream, word, 1, next));
    CHECK(nvshmemrs_barrier(stream, NVSHMEMRS_TEAM_WORLD));
    CHECK(nvshmemrs_stream_release(stream));
    void *graph = end_capture(raw);
    CUDA(cuGraphInstantiateWithFlags, (void **, void *, unsigned long long), &ready, graph, 0);
    long late = 200;
    pthread_t thread = begin_thread(open_late, &late);
    CHECK(reduce(rt, NVSHMEMRS_TEAM_WORLD, again, sum));
    expect("a sum behind one that waits", again, (uint64_t)n);
    join_within(thread, 10, "the thread");
    for (uint64_t runs = 1; runs <= 10; runs++) {
        CUDA(cuGraphLaunch, (void *, cuda_stream_t), ready, raw);
        CUDA(cuStreamSynchronize, (cuda_stream_t), raw);
        if (value_of(word, pe) != runs)
            FAIL("the graph ran %lu times, %lu were added", runs, value_of(word, pe));
        CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
    }
    free_graph(graph, ready);
    free_stream(stays, raw);
    end();
}

/* A collective waits on a stream that is captured then. The team's next collective, elsewhere, still follows it, also if the stream was
 * released meanwhile: it sums the results of the first collective. */
static void one_after_the_other(int goes, int blocking)
{
    begin_sums();
    cuda_stream_t raw[2] = {new_stream(), new_stream()};
    nvshmemrs_stream_t stream[2] = {ours(raw[0]), ours(raw[1])};
    hold_up_behind_door(raw[0]);
    CHECK(reduce(stream[0], NVSHMEMRS_TEAM_WORLD, sum, source));
    begin_capture(raw[0]);
    if (goes)
        CHECK(nvshmemrs_stream_release(stream[0]));
    long late = 300;
    pthread_t thread = begin_thread(open_late, &late);
    CHECK(reduce(blocking ? rt : stream[1], NVSHMEMRS_TEAM_WORLD, again, sum));
    CHECK(nvshmemrs_stream_synchronize(stream[1]));
    join_within(thread, 10, "the thread");
    expect("the first sum", sum, 1);
    expect("the second sum", again, (uint64_t)n);
    drop_capture(raw[0]);
    CHECK(reduce(stream[1], NVSHMEMRS_TEAM_WORLD, sum, source));
    CHECK(nvshmemrs_stream_free(stream[1]));
    expect("the third sum", sum, 1);
    if (!goes)
        CHECK(nvshmemrs_stream_free(stream[0]));
    for (int i = 0; i < 2; i++)
        CUDA(cuStreamDestroy_v2, (cuda_stream_t), raw[i]);
    end();
}

static void after_captured(void) { one_after_the_other(0, 1); }

static void after_captured_stream(void) { one_after_the_other(0, 0); }

static void after_let_go(void) { one_after_the_other(1, 1); }

static void after_let_go_stream(void) { one_after_the_other(1, 0); }

static int32_t split(nvshmemrs_team_t *team)
{
    return nvshmemrs_team_split_strided(rt, NVSHMEMRS_TEAM_WORLD, 0, 1, n, NULL, 0, team);
}

static uint32_t number_of(nvshmemrs_team_t team) { return (uint32_t)team; }

/* The call ends by a deadline on this PE, or because another PE has left. */
static void left_half_way(int32_t status, const char *what)
{
    if (status != NVSHMEMRS_ERROR_TIMEOUT && status != NVSHMEMRS_ERROR_TEAM_BROKEN)
        FAIL("%s: status %d: %s", what, (int)status, status ? nvshmemrs_last_error() : "success");
}

/* A team is left half-way and destroyed while a collective of it waits on a stream: a blocking one that was given up behind it; or it alone,
 * because PE 0 does not come to a meeting. Late kernels do nothing, to nobody, and nobody gets the team's number again. */
static void given_up(int alone)
{
    begin_sums();
    cuda_stream_t raw = new_stream();
    nvshmemrs_stream_t stream = ours(raw);
    nvshmemrs_team_t team, other, made;
    uint64_t previous;
    CHECK(split(&team));
    hold_up_behind_door(raw);
    CHECK(reduce(stream, team, sum, source));
    CHECK(nvshmemrs_deadline_begin(0.3, &previous));
    if (!alone)
        left_half_way(reduce(rt, team, again, source), "a collective behind one that waits");
    else if (pe != 0)
        left_half_way(nvshmemrs_barrier(rt, team), "a barrier without PE 0");
    CHECK(nvshmemrs_deadline_end(previous));
    /* This barrier meets on the host. */
    CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
    CHECK(nvshmemrs_team_destroy(rt, team));

    CHECK(split(&other));
    if (number_of(other) == number_of(team))
        FAIL("a new team has the number %u of one whose kernels are to come", number_of(team));
    uint64_t *third = words(COUNT);
    CHECK(reduce(rt, other, third, source));
    expect("a sum of the next team", third, 1);
    uint32_t more = 0;
    int32_t status;
    while ((status = split(&made)) == NVSHMEMRS_SUCCESS)
        more++;
    if (more != NUMBERS - FIRST - 2 || status != NVSHMEMRS_ERROR_NOT_SUPPORTED || !strstr(nvshmemrs_last_error(), "1 of this PE's numbers"))
        FAIL("%u teams, then status %d: %s", more, (int)status, nvshmemrs_last_error());

    atomic_store(&door, 1);
    CUDA(cuStreamSynchronize, (cuda_stream_t), raw);
    CHECK(nvshmemrs_stream_synchronize(stream));
    expect("what is late", sum, 0);
    expect("what was given up", again, 0);
    for (int round = 0; round < 3; round++) {
        CHECK(reduce(round ? stream : rt, other, sum, source));
        CHECK(nvshmemrs_stream_synchronize(stream));
        expect("a sum of the next team, later", sum, 1);
        CHECK(nvshmemrs_team_destroy(rt, other));
        CHECK(split(&other));
        if (number_of(other) == number_of(team))
            FAIL("a new team has the number %u of one that was left half-way", number_of(team));
    }
    CHECK(nvshmemrs_runtime_check(rt));
    free_stream(stream, raw);
    end();
}

static void given_up_behind(void) { given_up(0); }

static void given_up_alone(void) { given_up(1); }

/* A stream is full for a while, and calls that put work on it wait. A call that releases another stream does not wait, nor does a collective
 * of another team; a collective of the waiting team was on the stream that is released. */
static nvshmemrs_stream_t full;
static atomic_int filled;

static void *fill_up(void *argument)
{
    (void)argument;
    for (uint64_t i = 1; i <= 3000; i++) {
        CHECK(nvshmemrs_p64(full, sum, i, pe));
        atomic_fetch_add(&filled, 1);
    }
    return NULL;
}

static void *reduce_there(void *argument)
{
    (void)argument;
    CHECK(reduce(full, NVSHMEMRS_TEAM_WORLD, again, source));
    return NULL;
}

static void let_go_beside_full(void)
{
    begin_sums();
    cuda_stream_t raw[3] = {new_stream(), new_stream(), new_stream()};
    nvshmemrs_stream_t stream[3] = {ours(raw[0]), ours(raw[1]), ours(raw[2])};
    nvshmemrs_team_t team;
    uint64_t *third = words(COUNT);
    atomic_int open = 0;
    CHECK(split(&team));
    full = stream[0];
    hold_up_behind_door(raw[0]);
    hold_up(raw[1], &open);
    CHECK(reduce(stream[1], NVSHMEMRS_TEAM_WORLD, sum, source));
    CHECK(nvshmemrs_p64(stream[2], third, 7, pe));
    pthread_t thread[3];
    thread[0] = begin_thread(fill_up, NULL);
    thread[2] = begin_thread(fill_up, NULL);
    for (int before = -1; before != atomic_load(&filled); pause_ms(200))
        before = atomic_load(&filled);
    if (atomic_load(&filled) >= 1000)
        FAIL("the stream has taken %d calls", atomic_load(&filled));
    thread[1] = begin_thread(reduce_there, NULL);
    pause_ms(200);
    double start = now_s();
    CHECK(nvshmemrs_stream_release(stream[2]));
    CHECK(nvshmemrs_stream_release(stream[1]));
    CHECK(reduce(rt, team, third, source));
    expect("a sum of another team", third, 1);
    if (now_s() - start > 5)
        FAIL("letting streams go took %.1f s", now_s() - start);
    atomic_store(&open, 1);
    atomic_store(&door, 1);
    for (int i = 0; i < 3; i++)
        join_within(thread[i], 20, "what puts work on a stream that was full");
    CHECK(nvshmemrs_stream_free(stream[0]));
    expect("a sum on the stream that was full", again, 1);
    for (int i = 0; i < 3; i++)
        CUDA(cuStreamDestroy_v2, (cuda_stream_t), raw[i]);
    end();
}

int main(int argc, char **argv)
{
    static const part_t all[] = {{"captured", captured}, {"implicit", implicit}, {"in_capture", in_capture},
                                 {"after_captured", after_captured}, {"after_captured_stream", after_captured_stream},
                                 {"after_let_go", after_let_go}, {"after_let_go_stream", after_let_go_stream},
                                 {"given_up_behind", given_up_behind}, {"given_up_alone", given_up_alone}, {"full", let_go_beside_full}};
    return run_parts(argc, argv, all, sizeof all / sizeof *all, "let go");
}
