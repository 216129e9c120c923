/* Work that must run on a GPU although other work there waits: small operations beside collectives that fill the GPU, the library's own
 * work beside many streams of the program's, the end of one PE beside the work of others. And the results of each run of a graph.
 *
 * Only a GPU shows whether there is room and a queue for the work. Argument: the name of a function below. */
#include "device_pe.h"

/* In words of 64 bits: a reduction that gets all the blocks that one can get; messages that the copy engine sends,
 * or many blocks. */
enum { LARGE = (4 << 20) / 8, SMALL = (64 << 10) / 8, WIDE = (1 << 20) / 8 };
/* The value behind the words that are written. */
static const uint64_t EDGE = 0xedededededededed;

static uint64_t *host;

static void begin_large(void)
{
    begin_with(32 << 20);
    host = pinned(LARGE + 1);
}

static void end_large(void)
{
    CUDA(cuMemFreeHost, (void *), host);
    end();
}

/* Words of this PE's become `first`, `first + 1`, ... */
static void fill(uint64_t *dest, size_t count, uint64_t first)
{
    for (size_t at = 0; at < count; at++)
        host[at] = first + at;
    CHECK(nvshmemrs_put(rt, dest, host, count * 8, pe));
}

static void set_edge(uint64_t *dest) { CHECK(nvshmemrs_put(rt, dest, &EDGE, 8, pe)); }

static void compare(const char *what, uint64_t round, const uint64_t *got, size_t count, uint64_t first, uint64_t step)
{
    for (size_t at = 0; at < count; at++)
        if (got[at] != first + at * step)
            FAIL("round %lu: word %zu of %s is %lu instead of %lu", round, at, what, got[at], first + at * step);
    if (got[count] != EDGE)
        FAIL("round %lu: the word behind %s is %lx", round, what, got[count]);
}

/* Words of this PE's must be `first`, `first + step`, ..., and EDGE behind them. */
static void expect(const char *what, uint64_t round, const uint64_t *source, size_t count, uint64_t first, uint64_t step)
{
    CHECK(nvshmemrs_get(rt, host, source, (count + 1) * 8, pe));
    compare(what, round, host, count, first, step);
}

static void wait_for(nvshmemrs_runtime_t on, uint64_t *word, uint64_t value)
{
    CHECK(nvshmemrs_wait_until(on, word, NVSHMEMRS_CMP_EQ, &value, NVSHMEMRS_DTYPE_UINT64));
}

/* A PE puts reductions on streams, then a small operation on another one. The next PE waits for its word on its own streams before it
 * enters the reductions, and passes the word on. So no reduction ends unless small operations run beside waiting ones. The ways: */
enum { WRITTEN, KERNELS, ENGINE, STRIDED, OVERLAPPING, VALUE, ATOMIC, BLOCKING, WAYS };

static uint64_t *token, *letter, *landing;

/* The expected data: the number of words, and the difference of each to the one before. */
static const struct {
    size_t count, step;
} lands[WAYS] = {{SMALL, 1}, {WIDE, 1}, {WIDE, 1}, {WIDE / 2, 2}, {SMALL, 1}, {0, 0}, {0, 0}, {SMALL, 1}};

static void pass_on(nvshmemrs_runtime_t on, int way, uint64_t count, int32_t to)
{
    uint64_t *word = token + way, before;
    size_t bytes = lands[way].count * 8;
    switch (way) {
    case WRITTEN:
    case BLOCKING:
        CHECK(nvshmemrs_put_signal(on, landing, letter, bytes, word, count, NVSHMEMRS_SIGNAL_SET, to));
        break;
    case KERNELS:
        CHECK(nvshmemrs_put_signal(on, landing, letter, bytes, word, 1, NVSHMEMRS_SIGNAL_ADD, to));
        break;
    case ENGINE:
        CHECK(nvshmemrs_put(on, landing, letter, bytes, to));
        CHECK(nvshmemrs_fence(on));
        CHECK(nvshmemrs_signal_op(on, word, count, NVSHMEMRS_SIGNAL_SET, to));
        break;
    case STRIDED:
        CHECK(nvshmemrs_iput(on, landing, letter, 1, 2, 8, WIDE / 2, to));
        CHECK(nvshmemrs_fence(on));
        CHECK(nvshmemrs_signal_op(on, word, 1, NVSHMEMRS_SIGNAL_ADD, to));
        break;
    case OVERLAPPING:
        CHECK(nvshmemrs_put(on, letter + 1, letter, (WIDE - 1) * 8, pe));
        CHECK(nvshmemrs_put_signal(on, landing, letter + 1, bytes, word, count, NVSHMEMRS_SIGNAL_SET, to));
        break;
    case VALUE:
        CHECK(nvshmemrs_p64(on, word, count, to));
        break;
    default:
        CHECK(nvshmemrs_atomic_fetch_add64(on, word, 1, to, &before));
        if (before != count - 1)
            FAIL("the word that is added to was %lu instead of %lu", before, count - 1);
    }
}

/* With so many reductions, each of a team of its own. */
static void beside_reductions(int reductions)
{
    begin_large();
    nvshmemrs_team_t team[2] = {NVSHMEMRS_TEAM_WORLD};
    uint64_t *source[2], *sum[2];
    cuda_stream_t raw[3];
    nvshmemrs_stream_t stream[3];
    CHECK(nvshmemrs_team_split_strided(rt, NVSHMEMRS_TEAM_WORLD, 0, 1, n, NULL, 0, &team[1]));
    for (int i = 0; i < 2; i++) {
        source[i] = words(LARGE);
        sum[i] = words(LARGE + 1);
        set_edge(sum[i] + LARGE);
    }
    token = words(WAYS);
    letter = words(WIDE);
    landing = words(WIDE + 1);
    for (int i = 0; i < 3; i++)
        stream[i] = ours(raw[i] = new_stream());
    int32_t next = (pe + 1) % n, before = (pe + n - 1) % n;

    for (uint64_t round = 0; round < 2 * WAYS; round++) {
        int way = (int)(round % WAYS), first = pe == (int32_t)(round % (uint64_t)n);
        uint64_t count = round / WAYS + 1, base = (round + 1) << 32;
        nvshmemrs_runtime_t small = way == BLOCKING ? rt : stream[2];
        fill(letter, WIDE, base + (uint64_t)pe);
        set_edge(landing + lands[way].count);
        for (int i = 0; i < reductions; i++)
            fill(source[i], LARGE, base + (uint64_t)(i * 1000 + pe));
        CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
        for (int i = 0; i < reductions; i++) {
            /* Of two, in some rounds one is entered by all at once. */
            if (!first && (reductions == 1 || round % 3 != (uint64_t)i))
                wait_for(stream[i], token + way, count);
            CHECK(nvshmemrs_reduce(stream[i], team[i], sum[i], source[i], LARGE, NVSHMEMRS_DTYPE_UINT64, NVSHMEMRS_OP_SUM));
        }
        if (first)
            /* The reductions are running by then. */
            pause_ms(10);
        else
            wait_for(small, token + way, count);
        pass_on(small, way, count, next);
        if (first)
            wait_for(small, token + way, count);
        for (int i = 2; i >= 0; i--)
            CHECK(nvshmemrs_stream_synchronize(stream[i]));
        if (lands[way].count)
            expect("what was passed on", round, landing, lands[way].count, base + (uint64_t)before, lands[way].step);
        for (int i = 0; i < reductions; i++) {
            uint64_t all = (uint64_t)n, start = all * (base + (uint64_t)i * 1000) + all * (all - 1) / 2;
            expect("a sum", round, sum[i], LARGE, start, all);
        }
        CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
    }
    for (int i = 0; i < 3; i++)
        free_stream(stream[i], raw[i]);
    end_large();
}

static void beside(void) { beside_reductions(1); }

static void beside_two(void) { beside_reductions(2); }

/* Many streams wait, each with work behind its wait, but fewer than the GPU has queues (CUDA_DEVICE_MAX_CONNECTIONS, which nvshmemrs-run
 * sets). The library's own work goes on: blocking operations and collectives, among them those that end the waits, the last one
 * first. */
static void waits(void)
{
    enum { STREAMS = 24 };
    begin_large();
    uint64_t *signal = words(STREAMS), *slot = words(STREAMS + 1), *number = words(1), *from = words(SMALL), *to = words(SMALL + 1);
    uint64_t *source = words(LARGE), *sum = words(LARGE + 1), all = (uint64_t)n;
    cuda_stream_t raw[STREAMS];
    nvshmemrs_stream_t stream[STREAMS];
    int32_t next = (pe + 1) % n, before = (pe + n - 1) % n;
    set_edge(slot + STREAMS);
    set_edge(to + SMALL);
    set_edge(sum + LARGE);
    for (int i = 0; i < STREAMS; i++)
        stream[i] = ours(raw[i] = new_stream());
    for (uint64_t round = 1; round <= 3; round++) {
        uint64_t base = round << 32;
        fill(slot, STREAMS, 0);
        fill(from, SMALL, base + (uint64_t)pe);
        fill(source, LARGE, base + (uint64_t)pe);
        CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
        for (int i = 0; i < STREAMS; i++) {
            wait_for(stream[i], signal + i, round);
            CHECK(nvshmemrs_p64(stream[i], slot + i, base + (uint64_t)(i * 3 + pe), next));
            CHECK(nvshmemrs_atomic_add64(stream[i], number, 1, next));
        }
        pause_ms(10);
        CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
        CHECK(nvshmemrs_reduce(rt, NVSHMEMRS_TEAM_WORLD, sum, source, LARGE, NVSHMEMRS_DTYPE_UINT64, NVSHMEMRS_OP_SUM));
        expect("a sum", round, sum, LARGE, all * base + all * (all - 1) / 2, all);
        expect("what waits", round, slot, STREAMS, 0, 1);
        CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
        for (int i = STREAMS - 1; i >= 0; i--) {
            if (i % 3 == 0)
                CHECK(nvshmemrs_signal_op(rt, signal + i, round, NVSHMEMRS_SIGNAL_SET, next));
            else if (i % 3 == 1)
                CHECK(nvshmemrs_put_signal(rt, to, from, SMALL * 8, signal + i, 1, NVSHMEMRS_SIGNAL_ADD, next));
            else
                CHECK(nvshmemrs_atomic_set64(rt, signal + i, round, next));
        }
        for (int i = 0; i < STREAMS; i++)
            CHECK(nvshmemrs_stream_synchronize(stream[i]));
        CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
        expect("what was stored", round, slot, STREAMS, base + (uint64_t)before, 3);
        expect("what was put", round, to, SMALL, base + (uint64_t)before, 1);
        if (value_of(number, pe) != round * STREAMS)
            FAIL("round %lu: %lu were added", round, value_of(number, pe));
        CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
    }
    for (int i = 0; i < STREAMS; i++)
        free_stream(stream[i], raw[i]);
    end_large();
}

/* Streams with calls that have come often, which the library launches in a cheaper way then, are let go while another stream waits: one that
 * is idle, and one whose work waits, too. Neither waits for the waiting stream. */
static void freed(void)
{
    enum { LIVES = 5, REPEATS = 8 };
    begin();
    uint64_t *signal = words(1), *number = words(3);
    cuda_stream_t raw_waits = new_stream();
    nvshmemrs_stream_t waits = ours(raw_waits);
    int32_t next = (pe + 1) % n;
    for (uint64_t life = 1; life <= LIVES; life++) {
        cuda_stream_t raw[2] = {new_stream(), new_stream()};
        nvshmemrs_stream_t stream[2] = {ours(raw[0]), ours(raw[1])};
        wait_for(waits, signal, life);
        CHECK(nvshmemrs_atomic_add64(waits, number, 1, next));
        wait_for(stream[1], signal, life);
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < REPEATS; j++)
                CHECK(nvshmemrs_atomic_add64(stream[i], number + 1 + i, 1, next));
        double start = now_s();
        CHECK(nvshmemrs_stream_free(stream[0]));
        CHECK(nvshmemrs_stream_release(stream[1]));
        for (int i = 0; i < 2; i++)
            CUDA(cuStreamDestroy_v2, (cuda_stream_t), raw[i]);
        if (now_s() - start > 5)
            FAIL("letting streams go took %.1f s", now_s() - start);
        CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
        if (value_of(number, pe) != life - 1 || value_of(number + 1, pe) != life * REPEATS || value_of(number + 2, pe) != (life - 1) * REPEATS)
            FAIL("life %lu: %lu, %lu, %lu before the signal", life, value_of(number, pe), value_of(number + 1, pe), value_of(number + 2, pe));
        CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
        CHECK(nvshmemrs_signal_op(rt, signal, life, NVSHMEMRS_SIGNAL_SET, next));
        CHECK(nvshmemrs_stream_synchronize(waits));
        for (start = now_s(); value_of(number + 2, next) != life * REPEATS; pause_ms(1))
            if (now_s() - start > 10)
                FAIL("life %lu: what was on a stream that was let go has not run", life);
        CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
        if (value_of(number, pe) != life)
            FAIL("life %lu: %lu after the signal", life, value_of(number, pe));
    }
    free_stream(waits, raw_waits);
    end();
}

static void *captured(cuda_stream_t raw)
{
    void *graph, *ready;
    CUDA(cuStreamEndCapture, (cuda_stream_t, void **), raw, &graph);
    CUDA(cuGraphInstantiateWithFlags, (void **, void *, unsigned long long), &ready, graph, 0);
    CUDA(cuGraphDestroy, (void *), graph);
    return ready;
}

/* Graphs with puts of 1 MiB and their signals to another PE. The program changes the data before each run of the first one; the second one
 * runs many times at a stretch, and each time sends on the data that it got. */
static void replayed(void)
{
    enum { RUNS = 100, PASSES = 101 };
    begin_large();
    uint64_t *send = words(WIDE), *set = words(WIDE + 1), *added = words(WIDE + 1), *signal = words(3), one = 1;
    uint64_t *data = pinned(WIDE), *back = pinned(2 * (WIDE + 1));
    cuda_stream_t raw = new_stream();
    nvshmemrs_stream_t stream = ours(raw);
    int32_t next = (pe + 1) % n, before = (pe + n - 1) % n;
    set_edge(set + WIDE);
    set_edge(added + WIDE);

    CUDA(cuStreamBeginCapture_v2, (cuda_stream_t, int), raw, 0);
    CHECK(nvshmemrs_put(stream, send, data, WIDE * 8, pe));
    CHECK(nvshmemrs_put_signal(stream, set, send, WIDE * 8, signal, 1, NVSHMEMRS_SIGNAL_SET, next));
    CHECK(nvshmemrs_put_signal(stream, added, send, WIDE * 8, signal + 1, 1, NVSHMEMRS_SIGNAL_ADD, next));
    for (int i = 0; i < 2; i++) {
        wait_for(stream, signal + i, 1);
        CHECK(nvshmemrs_get(stream, back + i * (WIDE + 1), i ? added : set, (WIDE + 1) * 8, pe));
        CHECK(nvshmemrs_p64(stream, signal + i, 0, pe));
    }
    CHECK(nvshmemrs_barrier(stream, NVSHMEMRS_TEAM_WORLD));
    void *first = captured(raw);
    for (uint64_t run = 1; run <= RUNS; run++) {
        for (size_t at = 0; at < WIDE; at++)
            data[at] = (run << 32) + (uint64_t)pe + at;
        CUDA(cuGraphLaunch, (void *, cuda_stream_t), first, raw);
        CHECK(nvshmemrs_stream_synchronize(stream));
        compare("what came before a signal that was set", run, back, WIDE, (run << 32) + (uint64_t)before, 1);
        compare("what came before a signal that was added to", run, back + WIDE + 1, WIDE, (run << 32) + (uint64_t)before, 1);
    }

    CUDA(cuStreamBeginCapture_v2, (cuda_stream_t, int), raw, 0);
    CHECK(nvshmemrs_put_signal(stream, set, send, WIDE * 8, signal, 1, NVSHMEMRS_SIGNAL_SET, next));
    CHECK(nvshmemrs_wait_until(stream, signal, NVSHMEMRS_CMP_EQ, &one, NVSHMEMRS_DTYPE_UINT64));
    CHECK(nvshmemrs_p64(stream, signal, 0, pe));
    CHECK(nvshmemrs_put(stream, send, set, WIDE * 8, pe));
    CHECK(nvshmemrs_barrier(stream, NVSHMEMRS_TEAM_WORLD));
    CHECK(nvshmemrs_put_signal(stream, added, send, WIDE * 8, signal + 1, 1, NVSHMEMRS_SIGNAL_ADD, next));
    wait_for(stream, signal + 1, 1);
    CHECK(nvshmemrs_atomic_add64(stream, signal + 1, (uint64_t)-1, pe));
    CHECK(nvshmemrs_put(stream, send, added, WIDE * 8, pe));
    CHECK(nvshmemrs_atomic_add64(stream, send, 1, pe));
    CHECK(nvshmemrs_atomic_add64(stream, send + WIDE - 1, 1, pe));
    CHECK(nvshmemrs_barrier(stream, NVSHMEMRS_TEAM_WORLD));
    void *second = captured(raw);
    fill(send, WIDE, (uint64_t)pe << 32);
    CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
    for (int pass = 0; pass < PASSES; pass++)
        CUDA(cuGraphLaunch, (void *, cuda_stream_t), second, raw);
    CHECK(nvshmemrs_stream_synchronize(stream));
    CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
    /* Each pass takes it two PEs further and adds 1 to its first and last words; the last time that has not been sent yet. */
    uint64_t origin = (uint64_t)((pe + 2 * (n * PASSES - PASSES)) % n) << 32;
    CHECK(nvshmemrs_get(rt, back, added, (WIDE + 1) * 8, pe));
    back[0] -= PASSES - 1;
    back[WIDE - 1] -= PASSES - 1;
    compare("what was passed on", PASSES, back, WIDE, origin, 1);
    CUDA(cuGraphExecDestroy, (void *), first);
    CUDA(cuGraphExecDestroy, (void *), second);
    free_stream(stream, raw);
    CUDA(cuMemFreeHost, (void *), data);
    CUDA(cuMemFreeHost, (void *), back);
    end_large();
}

/* PE 0 is in finalize, but its stream still waits for a signal. The others have entered one more reduction, and learn that PE 0 comes to
 * none; the signal comes after that, or never. */
static void finalize_while_waiting(int comes)
{
    enum { COUNT = 16 };
    static const double limit = 5, soon = 4;
    begin();
    uint64_t *source = words(COUNT), *sum = words(COUNT), *signal = words(1), previous;
    cuda_stream_t raw = new_stream();
    nvshmemrs_stream_t stream = ours(raw);
    CHECK(nvshmemrs_reduce(stream, NVSHMEMRS_TEAM_WORLD, sum, source, COUNT, NVSHMEMRS_DTYPE_UINT64, NVSHMEMRS_OP_SUM));
    if (pe == 0)
        wait_for(stream, signal, 1);
    else
        CHECK(nvshmemrs_reduce(stream, NVSHMEMRS_TEAM_WORLD, sum, source, COUNT, NVSHMEMRS_DTYPE_UINT64, NVSHMEMRS_OP_SUM));
    if (comes && pe == n - 1)
        CHECK(nvshmemrs_signal_op(stream, signal, 1, NVSHMEMRS_SIGNAL_SET, 0));
    double start = now_s();
    if (pe != 0)
        REFUSED(NVSHMEMRS_ERROR_PE_DIED, "has called finalize", nvshmemrs_stream_synchronize(stream));
    if (now_s() - start > soon)
        FAIL("that PE 0 is in finalize was told after %.1f s", now_s() - start);
    start = now_s();
    CHECK(nvshmemrs_deadline_begin(limit, &previous));
    if (pe != 0)
        /* The error stays. */
        REFUSED(NVSHMEMRS_ERROR_PE_DIED, "has called finalize", nvshmemrs_finalize(rt));
    else if (comes)
        CHECK(nvshmemrs_finalize(rt));
    else
        REFUSED(NVSHMEMRS_ERROR_TIMEOUT, "finalize", nvshmemrs_finalize(rt));
    CHECK(nvshmemrs_deadline_end(previous));
    double took = now_s() - start;
    if (took > limit + soon || (pe == 0 && comes && took > soon))
        FAIL("finalize took %.1f s", took);
    CUDA(cuStreamDestroy_v2, (cuda_stream_t), raw);
    leave();
}

static void notice(void) { finalize_while_waiting(1); }

static void notice_unheard(void) { finalize_while_waiting(0); }

int main(int argc, char **argv)
{
    static const part_t all[] = {{"beside", beside}, {"beside_two", beside_two}, {"waits", waits}, {"freed", freed}, {"replayed", replayed},
                                 {"notice", notice}, {"notice_unheard", notice_unheard}};
    return run_parts(argc, argv, all, sizeof all / sizeof *all, "beside");
}
