/* The measurement of an operation. A side (side_*.h) is included before. */
#ifndef PERF_MEASURE_H
#define PERF_MEASURE_H

#include <time.h>

/* The callers: PE 0 alone, towards PE 1; PEs 0 and 1; all PEs. The others wait in a barrier. */
enum scope { ONE, TWO, ALL };

struct operation {
    const char *name;
    enum scope scope;
    /* Sets up memory on every PE; a barrier follows. */
    void (*prepare)(void);
    /* Makes `calls` calls; NULL where this side has no such operation. */
    void (*run)(long calls);
    /* Whether the result is correct; called on every PE after the measurement. */
    int (*check)(void);
};

static int me, n_pes;
/* Bytes of the measured case, and the type and operation of reductions and scans. */
static size_t bytes;
static enum dtype dtype;
static enum op op;
/* Symmetric memory: where data arrives, where it comes from, and some words. */
static char *target, *origin;
static struct words {
    int64_t value;
    int32_t narrow;
    uint64_t signal;
    int64_t agreed;
    int64_t wrong;
} *words;
/* Private memory of this PE. */
static char *local;
static size_t buffer_bytes;
/* Calls of the current case that this PE has made. */
static int64_t made;

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* PE 0's value on all PEs. Collective. */
static long agree(long value)
{
    if (me == 0) {
        for (int pe = 0; pe < n_pes; ++pe) {
            bench_p(&words->agreed, value, pe);
        }
    }
    bench_barrier();
    long agreed = (long)*(volatile int64_t *)&words->agreed;
    bench_barrier();
    return agreed;
}

/* The time of `calls` calls in all, or 0 where this PE makes none. */
static double timed(const struct operation *operation, long calls)
{
    if (me > 1 && operation->scope == TWO) {
        return 0;
    }
    double start = now_us();
    operation->run(calls);
    double us = now_us() - start;
    made += calls;
    return us;
}

/* How often a number of calls is repeated before it counts as slow enough: first calls are slow, and there are disturbances. */
#define TRIALS 3

/* The number of calls that take about `budget_us`: it doubles until the calls reliably take a fifth of that. */
static long calibrate(const struct operation *operation, double budget_us)
{
    long calls = 1;
    int trials = 0;
    double least_us = 0;
    for (;;) {
        if (operation->scope == ALL) {
            bench_barrier();
        }
        double us = timed(operation, calls);
        least_us = trials == 0 || us < least_us ? us : least_us;
        ++trials;
        /* PE 0's clock decides: returns the next number of calls, or a negative number for the final one. */
        long next = calls;
        if (least_us * 5 < budget_us && calls < 1L << 30) {
            next = calls * 2;
        } else if (trials == TRIALS) {
            double wanted = (double)calls * budget_us / least_us;
            next = wanted < 1 ? -1 : -(long)wanted;
        }
        if (operation->scope != ONE) {
            next = agree(next);
        }
        if (next < 0) {
            return -next;
        }
        trials = next == calls ? trials : 0;
        calls = next;
    }
}

/* Batches of a case; odd, for the median. */
#define BATCHES 5

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/*
 * Measures one case and prints its line on PE 0: microseconds of one call, the median of the means of some batches,
 * because other programs disturb; or that the result was wrong.
 */
static void measure(const struct operation *operation, double budget_us)
{
    double batch_us[BATCHES] = {0};
    long calls = 0;
    made = 0;
    memset(words, 0, sizeof *words);
    operation->prepare();
    bench_barrier();
    if (me == 0 || operation->scope != ONE) {
        calls = calibrate(operation, budget_us);
        for (int batch = 0; batch < BATCHES; ++batch) {
            if (operation->scope == ALL) {
                bench_barrier();
            }
            batch_us[batch] = timed(operation, calls) / (double)calls;
        }
        bench_quiet();
    }
    bench_barrier();
    int right = operation->check();
    bench_barrier();
    words->wrong = 0;
    bench_barrier();
    if (!right) {
        fprintf(stderr, "PE %d of %d: %s of %zu bytes gave a wrong result\n", me, n_pes, operation->name, bytes);
        bench_p(&words->wrong, 1, 0);
    }
    bench_barrier();
    if (me == 0 && *(volatile int64_t *)&words->wrong != 0) {
        printf("{\"operation\": \"%s\", \"bytes\": %zu, \"wrong\": true}\n", operation->name, bytes);
    } else if (me == 0) {
        qsort(batch_us, BATCHES, sizeof *batch_us, compare);
        printf("{\"operation\": \"%s\", \"bytes\": %zu, \"iterations\": %ld, \"us\": %.6f}\n", operation->name, bytes,
               calls * BATCHES, batch_us[BATCHES / 2]);
    }
    if (me == 0) {
        fflush(stdout);
    }
}

/* The run of an operation: the statement `calls` times, which `i` counts from 1 on. */
#define RUN(name, statement) RUN_AND(name, statement, (void)0)
/* The same, and then a quiet. */
#define RUN_QUIET(name, statement) RUN_AND(name, statement, bench_quiet())
#define RUN_AND(name, statement, end)                                                                                 \
    static void name##_run(long calls)                                                                                \
    {                                                                                                                 \
        for (long i = 1; i <= calls; ++i) {                                                                           \
            statement;                                                                                                \
        }                                                                                                             \
        end;                                                                                                          \
    }

static int all_bytes(const char *data, size_t count, char value)
{
    for (size_t i = 0; i < count; ++i) {
        if (data[i] != value) {
            return 0;
        }
    }
    return 1;
}

#endif
