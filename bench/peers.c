/*
 * The peer benchmark: one source for both sides. `cargo xtask bench peers` compiles it once with -include ours.h and
 * once with -include oshmem.h, so that both libraries run the same loops, and runs the two in turn.
 *
 * PE 0 prints one line for each operation: name, bytes, PEs, mean microseconds of one call (the median of the means
 * of some batches, because other programs disturb). One-sided operations are timed with 2 PEs, collectives with any
 * number. Every operation's result is checked after the clock stops: a wrong one ends the program with status 1.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Bytes of the largest put and of the largest sum. */
#define LARGEST ((size_t)2 << 20)

static int me, n_pes;

/* Symmetric memory: where data arrives, where collectives take it from, and a flag. */
static char *target, *origin;
static int64_t *flag;
/* Private memory of this PE. */
static char *local;

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* Batches of an operation; odd, for the median. */
#define BATCHES 5

static double batch_us[BATCHES];

/* Makes `calls` calls of `statement`, in batches, and notes the mean time of each batch. */
#define TIME(calls, statement)                                                                                        \
    for (int batch_ = 0; batch_ < BATCHES; ++batch_) {                                                                \
        long n_ = (calls) / BATCHES;                                                                                  \
        double start_ = now_us();                                                                                     \
        for (long i_ = 0; i_ < n_; ++i_) {                                                                            \
            statement;                                                                                                \
        }                                                                                                             \
        batch_us[batch_] = (now_us() - start_) / (double)n_;                                                          \
    }

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Prints what TIME has noted. */
static void report(const char *name, size_t bytes)
{
    if (me == 0) {
        qsort(batch_us, BATCHES, sizeof *batch_us, compare);
        printf("%s %zu %d %.6f\n", name, bytes, n_pes, batch_us[BATCHES / 2]);
        fflush(stdout);
    }
}

static void expect(int right, const char *name, size_t bytes)
{
    if (!right) {
        fprintf(stderr, "PE %d of %d: %s of %zu bytes gave a wrong result\n", me, n_pes, name, bytes);
        exit(1);
    }
}

static int all_bytes(const char *data, size_t bytes, char value)
{
    for (size_t i = 0; i < bytes; ++i) {
        if (data[i] != value) {
            return 0;
        }
    }
    return 1;
}

/* `calls` is a multiple of BATCHES everywhere below. */

static void put(size_t bytes, long calls)
{
    memset(target, 0, bytes);
    memset(local, 'p', bytes);
    bench_barrier();
    if (me == 0) {
        TIME(calls, bench_put(target, local, bytes, 1));
        bench_quiet();
    }
    bench_barrier();
    expect(me == 0 || all_bytes(target, bytes, 'p'), "put", bytes);
    report("put", bytes);
}

static void get(size_t bytes, long calls)
{
    memset(target, 'g', bytes);
    memset(local, 0, bytes);
    bench_barrier();
    if (me == 0) {
        TIME(calls, bench_get(local, target, bytes, 1));
        expect(all_bytes(local, bytes, 'g'), "get", bytes);
    }
    report("get", bytes);
    bench_barrier();
}

static void p(long calls)
{
    int64_t value = 0;
    *flag = 0;
    bench_barrier();
    if (me == 0) {
        TIME(calls, bench_p(flag, ++value, 1));
        bench_quiet();
    }
    bench_barrier();
    expect(me == 0 || *flag == calls, "p", 8);
    report("p", 8);
}

static void fetch_add(long calls)
{
    int64_t last = -1;
    *flag = 0;
    bench_barrier();
    if (me == 0) {
        TIME(calls, last = bench_fetch_add(flag, 1, 1));
        expect(last == calls - 1, "fetch_add", 8);
    }
    bench_barrier();
    expect(me == 0 || *flag == calls, "fetch_add", 8);
    report("fetch_add", 8);
}

static void flag_round_trip(int64_t i)
{
    if (me == 0) {
        bench_p(flag, i, 1);
        bench_wait(flag, i);
    } else {
        bench_wait(flag, i);
        bench_p(flag, i, 0);
    }
}

/* Round trips of a flag: p and a wait. */
static void flag_pingpong(long calls)
{
    int64_t i = 0;
    *flag = 0;
    bench_barrier();
    TIME(calls, flag_round_trip(++i));
    expect(*flag == calls, "flag_pingpong", 8);
    report("flag_pingpong", 8);
    bench_barrier();
}

static void signal_round_trip(int64_t i)
{
    if (me == 0) {
        bench_put_signal(target, &i, sizeof i, flag, i, 1);
        bench_wait(flag, i);
    } else {
        bench_wait(flag, i);
        bench_put_signal(target, &i, sizeof i, flag, i, 0);
    }
}

/* Round trips of 8 bytes of data with a signal. */
static void put_signal_pingpong(long calls)
{
    int64_t i = 0;
    *flag = 0;
    bench_barrier();
    TIME(calls, signal_round_trip(++i));
    expect(*flag == calls && *(int64_t *)target == calls, "put_signal_pingpong", 8);
    report("put_signal_pingpong", 8);
    bench_barrier();
}

static void barrier(long calls)
{
    bench_barrier();
    TIME(calls, bench_barrier());
    report("barrier_all", 0);
    /* A barrier completes the puts before it: after one, every PE's number is here. */
    int64_t *arrived = (int64_t *)target;
    memset(arrived, 0, (size_t)n_pes * sizeof *arrived);
    bench_barrier();
    for (int pe = 0; pe < n_pes; ++pe) {
        bench_p(&arrived[me], me + 1, pe);
    }
    bench_barrier();
    for (int pe = 0; pe < n_pes; ++pe) {
        expect(arrived[pe] == pe + 1, "barrier_all", 0);
    }
    bench_barrier();
}

static void sum(size_t count, long calls)
{
    double *source = (double *)origin, *dest = (double *)target;
    for (size_t i = 0; i < count; ++i) {
        source[i] = (double)(me + 1) + (double)i;
        dest[i] = -1;
    }
    bench_barrier();
    bench_sum(dest, source, count);
    TIME(calls, bench_sum(dest, source, count));
    double ranks = n_pes * (n_pes + 1) / 2.0;
    for (size_t i = 0; i < count; ++i) {
        expect(dest[i] == ranks + (double)n_pes * (double)i, "sum", count * sizeof *dest);
    }
    report("sum", count * sizeof *dest);
    bench_barrier();
}

static void broadcast_and_barrier(int64_t i)
{
    if (me == 0) {
        *(int64_t *)origin = i;
    }
    bench_broadcast8(target, origin, 0);
    bench_barrier();
}

/* A root need not wait for the others in a broadcast, so a barrier follows each and is timed with it. */
static void broadcast(long calls)
{
    int64_t i = 0;
    bench_barrier();
    TIME(calls, broadcast_and_barrier(++i));
    expect(me == 0 || *(int64_t *)target == calls, "broadcast", 8);
    report("broadcast_barrier", 8);
    bench_barrier();
}

/* `at_two` calls, or fewer with more PEs: they may share cores, and collectives take longer. */
static long fewer(long at_two)
{
    long calls = n_pes <= 2 ? at_two : at_two / (n_pes <= 4 ? 10 : 40);
    return calls < 25 ? 25 : calls / BATCHES * BATCHES;
}

int main(void)
{
    bench_init();
    me = bench_my_pe();
    n_pes = bench_n_pes();
    target = bench_calloc(LARGEST);
    origin = bench_calloc(LARGEST);
    flag = bench_calloc(sizeof *flag);
    local = malloc(LARGEST);
    if (local == NULL) {
        fprintf(stderr, "PE %d: no %zu bytes of memory\n", me, LARGEST);
        return 1;
    }
    memset(local, 0, LARGEST);

    if (n_pes == 2) {
        put(8, 2000000);
        put(4096, 400000);
        put(32768, 80000);
        put(LARGEST, 1000);
        get(8, 1000000);
        p(2000000);
        fetch_add(2000000);
        flag_pingpong(100000);
        put_signal_pingpong(100000);
    }
    barrier(fewer(100000));
    if (n_pes <= 4) {
        sum(1, fewer(40000));
        sum(4096, fewer(4000));
        sum(LARGEST / sizeof(double), fewer(200));
    }
    broadcast(fewer(40000));

    if (me == 0) {
        printf("done\n");
        fflush(stdout);
    }
    bench_barrier();
    bench_finalize();
    return 0;
}
