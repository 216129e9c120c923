/* Streams of a GPU, and the work still on them when an object ends. The program makes its streams, graphs and pinned memory by the driver.
 *
 * Argument: the name of a part, a function below. */
#include "device_gate.h"

/* Puts, a signal, a wait, a reduction and a barrier in a graph, which runs with other data each time. */
enum { COUNT = 700 };

static int32_t work_of_the_program(void *user)
{
    ++*(int *)user;
    return 0;
}

static void graph(void)
{
    begin();
    uint64_t *send = words(COUNT), *got = words(COUNT), *sum = words(COUNT), *signal = words(1), *number = words(1);
    uint64_t *host = pinned(COUNT), *back = pinned(COUNT);
    cuda_stream_t raw = new_stream(), side = new_stream();
    nvshmemrs_stream_t stream = ours(raw);
    int32_t next = (pe + 1) % n, before = (pe + n - 1) % n, done;
    void *graph, *ready;
    int called = 0;
    uint64_t value;

    CUDA(cuStreamBeginCapture_v2, (cuda_stream_t, int), raw, 0);
    CHECK(nvshmemrs_put(stream, send, host, COUNT * 8, pe));
    CHECK(nvshmemrs_put_signal(stream, got, send, COUNT * 8, signal, 1, NVSHMEMRS_SIGNAL_ADD, next));
    uint64_t one = 1;
    CHECK(nvshmemrs_atomic_add64(stream, number, 1, pe));
    CHECK(nvshmemrs_wait_until(stream, signal, NVSHMEMRS_CMP_GE, &one, NVSHMEMRS_DTYPE_UINT64));
    CHECK(nvshmemrs_p64(stream, signal, 0, pe));
    CHECK(nvshmemrs_reduce(stream, NVSHMEMRS_TEAM_WORLD, sum, got, COUNT, NVSHMEMRS_DTYPE_UINT64, NVSHMEMRS_OP_SUM));
    CHECK(nvshmemrs_barrier(stream, NVSHMEMRS_TEAM_WORLD));
    CHECK(nvshmemrs_get(stream, back, sum, COUNT * 8, before));
    /* A call that cannot be in a graph returns an error, and leaves the capture as it is. */
    REFUSED(NVSHMEMRS_ERROR_NOT_SUPPORTED, "captured into a graph", nvshmemrs_stream_call(stream, work_of_the_program, &called));
    REFUSED(NVSHMEMRS_ERROR_NOT_SUPPORTED, "captured into a graph", nvshmemrs_g64(stream, number, pe, &value));
    REFUSED(NVSHMEMRS_ERROR_NOT_SUPPORTED, "captured into a graph", nvshmemrs_signal_wait(stream, signal, NVSHMEMRS_CMP_GE, 0, &value));
    REFUSED(NVSHMEMRS_ERROR_NOT_SUPPORTED, "captured into a graph", nvshmemrs_stream_synchronize(stream));
    REFUSED(NVSHMEMRS_ERROR_NOT_SUPPORTED, "captured into a graph", nvshmemrs_stream_query(stream, &done));
    /* Work on other streams goes on meanwhile. */
    CHECK(nvshmemrs_p64(rt, number, 0, pe));
    CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
    CUDA(cuStreamEndCapture, (cuda_stream_t, void **), raw, &graph);
    CUDA(cuGraphInstantiateWithFlags, (void **, void *, unsigned long long), &ready, graph, 0);

    static const int rounds[] = {1, 2, 100};
    uint64_t runs = 0;
    for (int i = 0; i < 3; i++) {
        for (int round = 0; round < rounds[i]; round++) {
            runs++;
            for (int at = 0; at < COUNT; at++)
                host[at] = runs * 1000 + (uint64_t)at * 7 + (uint64_t)pe;
            CUDA(cuGraphLaunch, (void *, cuda_stream_t), ready, round % 2 ? side : raw);
            CUDA(cuStreamSynchronize, (cuda_stream_t), round % 2 ? side : raw);
            for (int at = 0; at < COUNT; at++) {
                uint64_t all = (uint64_t)n * (runs * 1000 + (uint64_t)at * 7) + (uint64_t)(n * (n - 1) / 2);
                if (back[at] != all)
                    FAIL("run %d: word %d is %lu instead of %lu", (int)runs, at, back[at], all);
            }
        }
    }
    CHECK(nvshmemrs_stream_synchronize(stream));
    if (value_of(number, pe) != runs || called)
        FAIL("%d runs count as %d, the program's function was called %d times", (int)runs, (int)value_of(number, pe), called);
    /* The stream takes all of it as before. */
    CHECK(nvshmemrs_stream_call(stream, work_of_the_program, &called));
    CHECK(nvshmemrs_g64(stream, number, pe, &value));
    CHECK(nvshmemrs_stream_synchronize(stream));
    if (value != runs || called != 1)
        FAIL("after the capture: %d and %d", (int)value, called);
    CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
    free_graph(graph, ready);
    free_stream(stream, raw);
    CUDA(cuStreamDestroy_v2, (cuda_stream_t), side);
    CUDA(cuMemFreeHost, (void *), host);
    CUDA(cuMemFreeHost, (void *), back);
    end();
}

/* Two threads are in blocking collectives of two teams, which come in another order on each PE. */
typedef struct {
    nvshmemrs_team_t team;
    uint64_t *sum;
    long first_ms;
} collective_t;

static void *reduce(void *argument)
{
    collective_t *one = argument;
    pause_ms(one->first_ms);
    CHECK(nvshmemrs_reduce(rt, one->team, one->sum, one->sum + COUNT, COUNT, NVSHMEMRS_DTYPE_UINT64, NVSHMEMRS_OP_SUM));
    return NULL;
}

static void teams(void)
{
    begin();
    uint64_t *memory = words(4 * COUNT), source[COUNT];
    nvshmemrs_team_t team[2];
    for (int i = 0; i < 2; i++)
        CHECK(nvshmemrs_team_split_strided(rt, NVSHMEMRS_TEAM_WORLD, 0, 1, n, NULL, 0, &team[i]));
    for (int at = 0; at < COUNT; at++)
        source[at] = (uint64_t)(at + pe);
    for (int round = 0; round < 20; round++) {
        pthread_t thread[2];
        collective_t one[2];
        for (int i = 0; i < 2; i++) {
            uint64_t *part = memory + 2 * i * COUNT;
            CHECK(nvshmemrs_put(rt, part + COUNT, source, sizeof source, pe));
            /* One PE comes late to the first, the others to the second: long enough that all are inside the other one. */
            one[i] = (collective_t){team[i], part, (i == 0) == (pe == 0) ? 20 : 0};
            thread[i] = begin_thread(reduce, &one[i]);
        }
        for (int i = 0; i < 2; i++) {
            join_within(thread[i], 20, "a collective of one team beside one of another team");
            for (int at = 0; at < COUNT; at += COUNT - 1)
                if (value_of(one[i].sum + at, pe) != (uint64_t)(n * at + n * (n - 1) / 2))
                    FAIL("a wrong sum");
        }
        CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
    }
    end();
}

/* A put of a thread is complete after its own quiet, also beside operations of other threads. */
static atomic_int over;

static void *be_quiet(void *argument)
{
    (void)argument;
    while (!atomic_load(&over))
        CHECK(nvshmemrs_quiet(rt));
    return NULL;
}

static void nbi(void)
{
    begin();
    uint64_t *dest = words(1), *host = pinned(1);
    pthread_t thread[2];
    for (int i = 0; i < 2; i++)
        thread[i] = begin_thread(be_quiet, NULL);
    for (uint64_t round = 1; round <= 20000; round++) {
        *(volatile uint64_t *)host = round;
        CHECK(nvshmemrs_put_nbi(rt, dest, host, 8, pe));
        CHECK(nvshmemrs_quiet(rt));
        *(volatile uint64_t *)host = 0;
        if (value_of(dest, pe) != round)
            FAIL("round %d: the source was read after quiet", (int)round);
    }
    atomic_store(&over, 1);
    for (int i = 0; i < 2; i++)
        join_within(thread[i], 20, "quiet");
    CUDA(cuMemFreeHost, (void *), host);
    end();
}

/* The work on a stream that the program has taken back is done before the memory is released. */
static void let_go(void)
{
    begin();
    uint64_t *word = words(1);
    cuda_stream_t raw = new_stream();
    nvshmemrs_stream_t stream = ours(raw);
    hold_up_behind_door(raw);
    for (uint64_t value = 1; value <= 100; value++)
        CHECK(nvshmemrs_p64(stream, word, value, (pe + 1) % n));
    CHECK(nvshmemrs_stream_release(stream));
    CUDA(cuStreamDestroy_v2, (cuda_stream_t), raw);
    long late = 300;
    pthread_t thread = begin_thread(open_late, &late);
    double start = now_s();
    end();
    if (now_s() - start < 0.25)
        FAIL("finalize did not wait for what was on the stream");
    join_within(thread, 20, "the thread");
}

/* Memory stays mapped while an operation that does not end may use it. With `function`, the last owner of the runtime is a function on the
 * stream. */
static void finalized_too_early(int function)
{
    begin();
    uint64_t *word = words(1), previous;
    cuda_stream_t raw = new_stream();
    nvshmemrs_stream_t stream = ours(raw);
    int called = 0;
    hold_up_behind_door(raw);
    CHECK(nvshmemrs_p64(stream, word, 1, pe));
    if (function)
        CHECK(nvshmemrs_stream_call(stream, work_of_the_program, &called));
    CHECK(nvshmemrs_deadline_begin(0.5, &previous));
    double start = now_s();
    REFUSED(NVSHMEMRS_ERROR_TIMEOUT, "finalize", nvshmemrs_finalize(rt));
    double took = now_s() - start;
    CHECK(nvshmemrs_deadline_end(previous));
    if (took > 8)
        FAIL("finalize took %.1f s", took);
    /* Now it writes, to memory that is still there. */
    atomic_store(&door, 1);
    CUDA(cuStreamSynchronize, (cuda_stream_t), raw);
    if (called != function)
        FAIL("the program's function was called %d times", called);
    /* The runtime goes on a thread of its own. */
    pause_ms(200);
    CUDA(cuStreamDestroy_v2, (cuda_stream_t), raw);
}

static void stuck(void) { finalized_too_early(0); }

static void function(void) { finalized_too_early(1); }

/* Operations that give something back and end by a deadline keep their places only until the stream has come to them. */
static void places(void)
{
    begin();
    uint64_t *word = words(1), value, previous;
    nvshmemrs_stream_t stream;
    CHECK(nvshmemrs_stream_new(rt, &stream));
    nvshmemrs_stream_t other;
    CHECK(nvshmemrs_stream_new(rt, &other));
    for (int round = 0; round < 2; round++) {
        uint64_t one = (uint64_t)round + 1;
        int late = 0, refused = 0;
        CHECK(nvshmemrs_wait_until(stream, word, NVSHMEMRS_CMP_GE, &one, NVSHMEMRS_DTYPE_UINT64));
        for (int i = 0; i < 140; i++) {
            CHECK(nvshmemrs_deadline_begin(0.005, &previous));
            int32_t status = nvshmemrs_g64(stream, word, pe, &value);
            CHECK(nvshmemrs_deadline_end(previous));
            late += status == NVSHMEMRS_ERROR_TIMEOUT;
            refused += status == NVSHMEMRS_ERROR_NOT_SUPPORTED && strstr(nvshmemrs_last_error(), "128 of them") != NULL;
        }
        if (late != 128 || refused != 12)
            FAIL("%d calls ended by the deadline, %d refused for want of a place", late, refused);
        REFUSED(NVSHMEMRS_ERROR_NOT_SUPPORTED, "128 of them", nvshmemrs_g64(other, word, pe, &value));
        /* Puts need no place. */
        CHECK(nvshmemrs_put(rt, word, &one, 8, pe));
        CHECK(nvshmemrs_stream_synchronize(stream));
        CHECK(nvshmemrs_g64(stream, word, pe, &value));
        if (value != one)
            FAIL("got %d", (int)value);
    }
    end();
}

/* A fetched value is there when the stream has come to its operation; the call does not wait for later work. */
static nvshmemrs_stream_t shared;
static uint64_t *flag;

static void *fetch(void *argument)
{
    CHECK(nvshmemrs_g64(shared, flag, pe, argument));
    return NULL;
}

static void result(void)
{
    begin();
    uint64_t seven = 7, got = 0, one = 1;
    flag = words(2);
    CHECK(nvshmemrs_put(rt, flag, &seven, 8, pe));
    cuda_stream_t raw = new_stream();
    shared = ours(raw);
    hold_up_behind_door(raw);
    pthread_t thread = begin_thread(fetch, &got);
    pause_ms(200);
    CHECK(nvshmemrs_wait_until(shared, flag + 1, NVSHMEMRS_CMP_EQ, &one, NVSHMEMRS_DTYPE_UINT64));
    atomic_store(&door, 1);
    join_within(thread, 10, "an operation that gives something back, before others of its stream");
    if (got != 7)
        FAIL("got %d", (int)got);
    CHECK(nvshmemrs_put(rt, flag + 1, &one, 8, pe));
    CHECK(nvshmemrs_stream_free(shared));
    CUDA(cuStreamDestroy_v2, (cuda_stream_t), raw);
    end();
}

/* A team's collectives run in the order of the calls, also on different streams. */
static void two_streams(void)
{
    begin();
    uint64_t *memory = words(4 * COUNT);
    cuda_stream_t raw[2] = {new_stream(), new_stream()};
    nvshmemrs_stream_t stream[2] = {ours(raw[0]), ours(raw[1])};
    for (int round = 1; round <= 20; round++) {
        uint64_t source[COUNT];
        for (int i = 0; i < 2; i++) {
            for (int at = 0; at < COUNT; at++)
                source[at] = (uint64_t)(round * 100 + i * 10 + pe);
            CHECK(nvshmemrs_put(rt, memory + 2 * i * COUNT + COUNT, source, sizeof source, pe));
        }
        CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
        atomic_int open = pe != round % n;
        hold_up(raw[0], &open);
        for (int i = 0; i < 2; i++) {
            uint64_t *part = memory + 2 * i * COUNT;
            CHECK(nvshmemrs_reduce(stream[i], NVSHMEMRS_TEAM_WORLD, part, part + COUNT, COUNT, NVSHMEMRS_DTYPE_UINT64, NVSHMEMRS_OP_SUM));
        }
        pause_ms(10);
        atomic_store(&open, 1);
        if (round % 3 == 0) {
            /* A blocking one comes after both, too. */
            CHECK(nvshmemrs_reduce(rt, NVSHMEMRS_TEAM_WORLD, memory, memory + COUNT, COUNT, NVSHMEMRS_DTYPE_UINT64, NVSHMEMRS_OP_SUM));
        }
        for (int i = 0; i < 2; i++) {
            CHECK(nvshmemrs_stream_synchronize(stream[i]));
            for (int at = 0; at < COUNT; at += COUNT - 1) {
                uint64_t sum = (uint64_t)(n * (round * 100 + i * 10) + n * (n - 1) / 2);
                if (value_of(memory + 2 * i * COUNT + at, pe) != sum)
                    FAIL("round %d: the sum on stream %d is %d instead of %d", round, i, (int)value_of(memory + 2 * i * COUNT + at, pe), (int)sum);
            }
        }
        CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
        if (round % 5 == 0) {
            /* Another stream, perhaps at the place of the one before. */
            CHECK(nvshmemrs_stream_release(stream[0]));
            CUDA(cuStreamDestroy_v2, (cuda_stream_t), raw[0]);
            raw[0] = new_stream();
            stream[0] = ours(raw[0]);
        }
    }
    for (int i = 0; i < 2; i++) {
        CHECK(nvshmemrs_stream_free(stream[i]));
        CUDA(cuStreamDestroy_v2, (cuda_stream_t), raw[i]);
    }
    end();
}

/* A put of more pageable memory than the driver copies away at once waits for its turn as other calls wait, and not inside the driver. */
enum { AT_ONCE = 8192, MANY = 100000 };

typedef struct {
    nvshmemrs_stream_t stream;
    uint64_t *dest, *signal;
    const uint64_t *source;
    double limit;
    int32_t status;
} put_t;

static void *put_within(void *argument)
{
    put_t *one = argument;
    uint64_t previous;
    CHECK(nvshmemrs_deadline_begin(one->limit, &previous));
    if (one->signal)
        one->status = nvshmemrs_put_signal(one->stream, one->dest, one->source, MANY * 8, one->signal, 1, NVSHMEMRS_SIGNAL_SET, pe);
    else
        one->status = nvshmemrs_put(one->stream, one->dest, one->source, MANY * 8, pe);
    CHECK(nvshmemrs_deadline_end(previous));
    return NULL;
}

/* Begins a put on a thread of its own: one that waits inside the driver never comes back. */
static pthread_t begin_put(put_t *one)
{
    return begin_thread(put_within, one);
}

/* The words at an address must begin with `first` and increase by `step`. */
static void holds(const uint64_t *at, size_t count, uint64_t first, uint64_t step, const char *what)
{
    uint64_t *seen = malloc(count * 8);
    CHECK(nvshmemrs_get(rt, seen, at, count * 8, pe));
    for (size_t i = 0; i < count; i++)
        if (seen[i] != first + i * step)
            FAIL("%s: word %lu is %lu", what, i, seen[i]);
    free(seen);
}

static void pageable(void)
{
    begin();
    uint64_t *small = words(AT_ONCE + 1), *large = words(MANY + 1), *known = words(MANY), *signal = words(1);
    uint64_t few[AT_ONCE], *host = malloc(MANY * 8), *fixed = pinned(MANY);
    for (uint64_t i = 0; i < MANY; i++)
        host[i] = fixed[i] = i + 1;
    memcpy(few, host, sizeof few);
    cuda_stream_t raw = new_stream();
    nvshmemrs_stream_t stream = ours(raw);
    hold_up_behind_door(raw);
    /* These puts return at once. */
    CHECK(nvshmemrs_put(stream, small, few, sizeof few, pe));
    CHECK(nvshmemrs_put(stream, known, fixed, MANY * 8, pe));
    put_t late[] = {{stream, large, NULL, host, 0.3, 0}, {stream, large, signal, host, 0.3, 0}};
    for (int i = 0; i < 2; i++) {
        join_within(begin_put(&late[i]), 10, "a put from pageable memory to a stream that stands");
        if (late[i].status != NVSHMEMRS_ERROR_TIMEOUT)
            FAIL("put %d to a stream that stands: status %d", i, (int)late[i].status);
    }
    /* Work that was not reached has done nothing. */
    put_t in_time = {stream, large, signal, host, 20, 0};
    pthread_t thread = begin_put(&in_time);
    pause_ms(100);
    if (value_of(signal, pe) || value_of(large + MANY - 1, pe))
        FAIL("a put did not wait for what comes before it");
    for (uint64_t i = 0; i < MANY; i++)
        host[i] = 7 * i;
    atomic_store(&door, 1);
    join_within(thread, 10, "a put from pageable memory");
    if (in_time.status)
        FAIL("a put whose turn has come: status %d", (int)in_time.status);
    CHECK(nvshmemrs_stream_synchronize(stream));
    holds(small, AT_ONCE, 1, 1, "a small put");
    holds(known, MANY, 1, 1, "a put of pinned memory");
    holds(large, MANY, 0, 7, "a large put");
    if (value_of(small + AT_ONCE, pe) || value_of(large + MANY, pe) || value_of(signal, pe) != 1)
        FAIL("beside the puts");
    /* In a graph it is the driver's affair. */
    CUDA(cuStreamBeginCapture_v2, (cuda_stream_t, int), raw, 0);
    void *graph, *ready;
    CHECK(nvshmemrs_put(stream, large, host, MANY * 8, pe));
    CUDA(cuStreamEndCapture, (cuda_stream_t, void **), raw, &graph);
    CUDA(cuGraphInstantiateWithFlags, (void **, void *, unsigned long long), &ready, graph, 0);
    for (uint64_t i = 0; i < MANY; i++)
        host[i] = 9 * i;
    CUDA(cuGraphLaunch, (void *, cuda_stream_t), ready, raw);
    CHECK(nvshmemrs_stream_synchronize(stream));
    holds(large, MANY, 0, 9, "a put in a graph");
    free_graph(graph, ready);
    free_stream(stream, raw);
    CUDA(cuMemFreeHost, (void *), fixed);
    free(host);
    end();
}

/* How long after its reason a wait of 3 to 5 ms ends, in turn with one in which this thread looks every 100 us by itself. */
enum { ROUNDS = 41 };
static _Atomic double ended;

static void take_a_while(void *round)
{
    struct timespec time = {0, 3000000 + 50000 * *(int *)round};
    nanosleep(&time, NULL);
    ended = now_s();
}

static void look_every_100_us(cuda_stream_t raw)
{
    int (*query)(cuda_stream_t);
    *(void **)&query = driver("cuStreamQuery");
    struct timespec time = {0, 100000};
    /* As the library's waits begin. */
    for (double start = now_s(); now_s() - start < 1e-3 && query(raw);)
        sched_yield();
    while (query(raw))
        nanosleep(&time, NULL);
}

static int compare(const void *a, const void *b)
{
    double difference = *(const double *)a - *(const double *)b;
    return difference < 0 ? -1 : difference > 0;
}

static void overshoot(void)
{
    begin();
    uint64_t *memory = words(2);
    cuda_stream_t raw[2] = {new_stream(), new_stream()};
    nvshmemrs_stream_t stream[2] = {ours(raw[0]), ours(raw[1])};
    for (int collective = 0; collective < 2; collective++) {
        double late[2][ROUNDS];
        for (int round = 0; round < 2 * ROUNDS; round++) {
            int by_itself = round % 2, step = round / 2;
            ended = 0;
            CUDA(cuLaunchHostFunc, (cuda_stream_t, void (*)(void *), void *), raw[0], take_a_while, &step);
            if (collective) {
                /* The second one, which is waited for, comes after the first. */
                CHECK(nvshmemrs_reduce(stream[0], NVSHMEMRS_TEAM_WORLD, memory, memory + 1, 1, NVSHMEMRS_DTYPE_UINT64, NVSHMEMRS_OP_SUM));
                CHECK(nvshmemrs_reduce(by_itself ? stream[1] : rt, NVSHMEMRS_TEAM_WORLD, memory, memory + 1, 1, NVSHMEMRS_DTYPE_UINT64,
                                       NVSHMEMRS_OP_SUM));
            }
            if (by_itself)
                look_every_100_us(raw[collective]);
            else if (!collective)
                CHECK(nvshmemrs_stream_synchronize(stream[0]));
            late[by_itself][step] = now_s() - ended;
            if (late[by_itself][step] > 5)
                FAIL("a wait ended before its reason, or far too late");
            for (int i = 0; i < 2; i++)
                CHECK(nvshmemrs_stream_synchronize(stream[i]));
        }
        for (int i = 0; i < 2; i++)
            qsort(late[i], ROUNDS, sizeof **late, compare);
        printf("a wait of 3 to 5 ms for a %s is late by %.0f us, a look every 100 us by %.0f us\n", collective ? "collective" : "stream",
               late[0][ROUNDS / 2] * 1e6, late[1][ROUNDS / 2] * 1e6);
    }
    for (int i = 0; i < 2; i++) {
        CHECK(nvshmemrs_stream_free(stream[i]));
        CUDA(cuStreamDestroy_v2, (cuda_stream_t), raw[i]);
    }
    end();
}

/* A PE that is late with its memory holds malloc up for the others, until their limit. For the stand-in for libcuda only. */
static void (*stall)(const char *);

static void *go_on_late(void *after_ms)
{
    pause_ms(*(long *)after_ms);
    stall(NULL);
    return NULL;
}

/* Allocates while PE 1's driver does not go on before `ms`; returns the time that it took. */
static double malloc_late(long ms, double limit, int32_t *status)
{
    pthread_t thread = 0;
    if (pe == 1) {
        stall("cuMemCreate");
        thread = begin_thread(go_on_late, &ms);
    }
    uint64_t previous;
    void *made;
    CHECK(nvshmemrs_deadline_begin(limit, &previous));
    double start = now_s();
    *status = nvshmemrs_malloc(rt, 20 << 20, &made);
    double took = now_s() - start;
    CHECK(nvshmemrs_deadline_end(previous));
    if (pe == 1)
        join_within(thread, 20, "the thread");
    return took;
}

static void late_memory(void)
{
    begin_with(128 << 20);
    *(void **)&stall = driver("fake_cuda_stall");
    int32_t status;
    for (long ms = 1; ms <= 50; ms += 49) {
        malloc_late(ms, 20, &status);
        CHECK(status);
    }
    double took = malloc_late(2500, pe == 1 ? 20 : 1, &status);
    const char *why = status ? nvshmemrs_last_error() : "success";
    printf("PE %d: malloc: %.1f s, status %d: %s\n", (int)pe, took, (int)status, why);
    if (pe != 1 && took > 2.3)
        FAIL("malloc took %.1f s", took);
    /* Of several that wait, the first whose limit has passed leaves, and the next may learn that first. */
    int late = status == NVSHMEMRS_ERROR_TIMEOUT && strstr(why, "waits for PE 1 to bring its part of GPU memory");
    if (!status || (pe == 0 && !late && (n == 2 || status != NVSHMEMRS_ERROR_TEAM_BROKEN)))
        FAIL("malloc: status %d: %s", (int)status, why);
    /* The others have given up by then. */
    end();
}

/* The same calls again and again, which the library launches in a cheaper way then: each does its own work, also those that wait on the
 * stream for the first ones. Another stream may be captured meanwhile; and the number of a stream that is gone is another one's later. */
enum { REPEATS = 40 };

static void repeated(void)
{
    begin();
    uint64_t *put = words(REPEATS + 1), *sum = words(2), *signal = words(1);
    int32_t next = (pe + 1) % n;
    for (uint64_t life = 1; life <= 3; life++) {
        cuda_stream_t raw = new_stream(), other = new_stream();
        nvshmemrs_stream_t stream = ours(raw);
        atomic_int open = 0;
        hold_up(raw, &open);
        /* Strict: a call that could not be part of the graph ends the capture. */
        CUDA(cuStreamBeginCapture_v2, (cuda_stream_t, int), other, 0);
        for (uint64_t i = 0; i < REPEATS; i++) {
            uint64_t value = 1000 * life + i;
            CHECK(nvshmemrs_p64(stream, put + i, value, next));
            CHECK(nvshmemrs_atomic_add64(stream, sum, value, next));
            CHECK(nvshmemrs_signal_op(stream, signal, 1, NVSHMEMRS_SIGNAL_ADD, next));
            if (i % 10 == 9)
                CHECK(nvshmemrs_barrier(stream, NVSHMEMRS_TEAM_WORLD));
        }
        void *graph;
        CUDA(cuStreamEndCapture, (cuda_stream_t, void **), other, &graph);
        CUDA(cuGraphDestroy, (void *), graph);
        atomic_store(&open, 1);
        CHECK(nvshmemrs_stream_synchronize(stream));
        CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
        for (uint64_t i = 0; i < REPEATS; i++)
            if (value_of(put + i, pe) != 1000 * life + i)
                FAIL("life %lu: word %lu is %lu", life, i, value_of(put + i, pe));
        uint64_t lives = life * (life + 1) / 2;
        uint64_t all = 1000 * REPEATS * lives + life * (REPEATS * (REPEATS - 1) / 2);
        if (value_of(put + REPEATS, pe) || value_of(sum, pe) != all || value_of(sum + 1, pe))
            FAIL("life %lu: the sum is %lu, not %lu", life, value_of(sum, pe), all);
        if (value_of(signal, pe) != REPEATS * life)
            FAIL("life %lu: the signal is %lu", life, value_of(signal, pe));
        CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
        CHECK(nvshmemrs_stream_free(stream));
        CUDA(cuStreamDestroy_v2, (cuda_stream_t), raw);
        CUDA(cuStreamDestroy_v2, (cuda_stream_t), other);
    }
    end();
}

/* Repeated calls on more streams than the library has cached graphs for, while another stream waits. The second lot of streams goes
 * while its work is held up, and the third lot does its own meanwhile. */
enum { CROWD = 80, LOTS = 3, TIMES = 9 };

static void crowd(void)
{
    begin();
    uint64_t *put = words(2 * LOTS * CROWD), *sum = words(LOTS * CROWD), *signal = words(1), one = 1;
    int32_t next = (pe + 1) % n;
    cuda_stream_t raw[LOTS * CROWD], waits_raw = new_stream();
    nvshmemrs_stream_t stream[LOTS * CROWD], waits = ours(waits_raw);
    for (int i = 0; i < LOTS * CROWD; i++)
        raw[i] = new_stream();
    CHECK(nvshmemrs_wait_until(waits, signal, NVSHMEMRS_CMP_EQ, &one, NVSHMEMRS_DTYPE_UINT64));
    atomic_int open = 0;
    for (int lot = 0; lot < LOTS; lot++) {
        for (int i = lot * CROWD; i < (lot + 1) * CROWD; i++) {
            stream[i] = ours(raw[i]);
            if (lot == 1)
                hold_up(raw[i], &open);
        }
        for (uint64_t time = 1; time <= TIMES; time++)
            for (int i = lot * CROWD; i < (lot + 1) * CROWD; i++) {
                CHECK(nvshmemrs_p64(stream[i], put + 2 * i, 100 * (uint64_t)i + time, next));
                CHECK(nvshmemrs_atomic_add64(stream[i], sum + i, time, next));
            }
        for (int i = lot * CROWD; i < (lot + 1) * CROWD; i++) {
            /* A GPU has not that many queues. */
            if (lot == 0 || (lot == 2 && getenv("FAKE_CUDA_BUSY")))
                CHECK(nvshmemrs_stream_synchronize(stream[i]));
            CHECK(nvshmemrs_stream_release(stream[i]));
        }
    }
    atomic_store(&open, 1);
    for (int i = 0; i < LOTS * CROWD; i++) {
        CUDA(cuStreamSynchronize, (cuda_stream_t), raw[i]);
        CUDA(cuStreamDestroy_v2, (cuda_stream_t), raw[i]);
    }
    CHECK(nvshmemrs_signal_op(rt, signal, one, NVSHMEMRS_SIGNAL_SET, pe));
    CHECK(nvshmemrs_stream_free(waits));
    CUDA(cuStreamDestroy_v2, (cuda_stream_t), waits_raw);
    CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
    for (uint64_t i = 0; i < LOTS * CROWD; i++)
        if (value_of(put + 2 * i, pe) != 100 * i + TIMES || value_of(put + 2 * i + 1, pe) || value_of(sum + i, pe) != TIMES * (TIMES + 1) / 2)
            FAIL("stream %lu: %lu and %lu", i, value_of(put + 2 * i, pe), value_of(sum + i, pe));
    CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
    end();
}

/* A waiting stream takes a limited number of calls, and no call waits for it without end; other streams go on. */
enum { ROOM = 1000, AWAY = (64 << 10) / 8 };

static uint64_t *room_words, *room_pages, *room_pinned, *room_numbers;
static cuda_stream_t room_raw;
static int32_t put_word(nvshmemrs_stream_t stream, uint64_t value) { return nvshmemrs_p64(stream, room_words, value, pe); }
static int32_t put_pages(nvshmemrs_stream_t stream, uint64_t value)
{
    room_pages[0] = value;
    return nvshmemrs_put(stream, room_words, room_pages, AWAY * 8, pe);
}
/* The driver copies nothing away. */
static int32_t put_pinned(nvshmemrs_stream_t stream, uint64_t value)
{
    room_pinned[0] = value;
    return nvshmemrs_put(stream, room_words, room_pinned, AWAY * 8, pe);
}
static int32_t put_by_handle(nvshmemrs_stream_t stream, uint64_t value)
{
    (void)stream;
    nvshmemrs_stream_t own = ours(room_raw);
    int32_t status = put_word(own, value);
    CHECK(nvshmemrs_stream_release(own));
    return status;
}
static int32_t give_signal(nvshmemrs_stream_t stream, uint64_t value)
{
    return nvshmemrs_signal_op(stream, room_words, value, NVSHMEMRS_SIGNAL_SET, pe);
}
/* All PEs do the same, so their streams are full at the same call, and one that found no room may come again. */
static int32_t meet(nvshmemrs_stream_t stream, uint64_t value)
{
    return nvshmemrs_reduce(stream, NVSHMEMRS_TEAM_WORLD, room_words, room_numbers + value, 1, NVSHMEMRS_DTYPE_UINT64, NVSHMEMRS_OP_MAX);
}

static void backpressure(void)
{
    static const struct {
        int32_t (*call)(nvshmemrs_stream_t, uint64_t);
        const char *name;
        uint64_t least, most;
    } calls[] = {{put_word, "p`", 400, ROOM},
                 {put_pages, "put", 40, (4 << 20) / (AWAY * 8)},
                 {put_pinned, "put", 400, ROOM},
                 {put_by_handle, "p`", 200, ROOM},
                 {give_signal, "signal_op", 400, ROOM},
                 {meet, "reduce", 400, ROOM}};
    begin();
    room_words = words(AWAY);
    room_numbers = words(ROOM + 3);
    for (uint64_t at = 0; at < ROOM + 3; at++)
        CHECK(nvshmemrs_p64(rt, room_numbers + at, at, pe));
    room_pages = calloc(AWAY, 8);
    room_pinned = pinned(AWAY);
    for (size_t at = 0; at < sizeof calls / sizeof *calls; at++) {
        cuda_stream_t raw = new_stream(), raw_other = new_stream();
        nvshmemrs_stream_t stream = ours(room_raw = raw), other = ours(raw_other);
        uint64_t *there = words(1), previous, given = 0;
        int32_t status = NVSHMEMRS_SUCCESS;
        atomic_int open = 0;
        hold_up(raw, &open);
        CHECK(nvshmemrs_deadline_begin(0.15, &previous));
        while (!status && given < calls[at].most)
            if (!(status = calls[at].call(stream, given + 1)))
                given++;
        const char *why = status ? nvshmemrs_last_error() : "success";
        if (status != NVSHMEMRS_ERROR_TIMEOUT || strncmp(why + 1, calls[at].name, strlen(calls[at].name)) || !strstr(why, "stream"))
            FAIL("call %lu of kind %zu: status %d: %s", given + 1, at, (int)status, why);
        if (given < calls[at].least || calls[at].call(stream, 0) != NVSHMEMRS_ERROR_TIMEOUT)
            FAIL("after %lu calls of kind %zu one more", given, at);
        CHECK(nvshmemrs_deadline_end(previous));
        CHECK(nvshmemrs_p64(other, there, given, pe));
        CHECK(nvshmemrs_stream_synchronize(other));
        CHECK(nvshmemrs_quiet(rt));
        atomic_store(&open, 1);
        CHECK(calls[at].call(stream, given + 2));
        CHECK(nvshmemrs_stream_synchronize(stream));
        if (value_of(room_words, pe) != given + 2 || value_of(there, pe) != given)
            FAIL("kind %zu: %lu after %lu calls", at, value_of(room_words, pe), given);
        CHECK(nvshmemrs_stream_free(stream));
        CHECK(nvshmemrs_stream_free(other));
        CUDA(cuStreamDestroy_v2, (cuda_stream_t), raw);
        CUDA(cuStreamDestroy_v2, (cuda_stream_t), raw_other);
    }
    free(room_pages);
    CUDA(cuMemFreeHost, (void *), room_pinned);
    end();
}

int main(int argc, char **argv)
{
    static const part_t all[] = {{"graph", graph}, {"teams", teams}, {"nbi", nbi}, {"let_go", let_go}, {"stuck", stuck},
                                 {"function", function}, {"places", places}, {"result", result}, {"two_streams", two_streams},
                                 {"pageable", pageable}, {"overshoot", overshoot}, {"repeated", repeated}, {"crowd", crowd}, {"backpressure", backpressure},
                                 {"late_memory", late_memory}};
    return run_parts(argc, argv, all, sizeof all / sizeof *all, "streams");
}
