/* The checker's cost: times of single calls between PE 0 and PE 1, and of loads, which this program shows to the checker. PE 0
 * prints a line for each, the best of many batches, in nanoseconds. Run with the checker and without by tests/checker/check.rs. */
#include "../checker/planted/job.h"
#include <sched.h>
#include <time.h>

enum { WORDS = 1024, MANY = 1 << 14, PARTS = 64, BATCHES = 60 };
static const size_t LONG = 2 << 20, PART = 32 << 10;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

/* Each of MANY places once, in an order without a pattern that a processor foresees. */
#define SCATTERED(i) ((i) * 40503 % MANY)

/* Time of one of `calls` runs of a statement, the best of so many batches. */
#define MEASURE_IN(batches, name, calls, statement)               \
    do {                                                          \
        double best = 1e30;                                       \
        for (int batch = 0; batch < (batches); batch++) {         \
            double start = now();                                 \
            for (size_t i = 0; i < (calls); i++) {                \
                statement;                                        \
            }                                                     \
            double each = (now() - start) / (double)(calls);      \
            best = each < best ? each : best;                     \
            CALL(nvshmemrs_quiet(rt));                            \
        }                                                         \
        if (me == 0) {                                            \
            printf("%s\t%.1f\n", name, best);                     \
        }                                                         \
    } while (0)

#define MEASURE(name, calls, statement) MEASURE_IN(BATCHES, name, calls, statement)

/* Each of the two PEs has a core of its own, if there are two: on one core a barrier is a switch of processes, with the checker or
 * without. */
static void take_core(void)
{
    const char *pe = getenv("NVSHMEMRS_PE");
    cpu_set_t allowed, own;
    CPU_ZERO(&own);
    sched_getaffinity(0, sizeof allowed, &allowed);
    int turn = pe ? atoi(pe) : 0;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &allowed) && turn-- == 0) {
            CPU_SET(cpu, &own);
            sched_setaffinity(0, sizeof own, &own);
        }
    }
}

int main(void)
{
    take_core();
    join();
    size_t next = 0;
    uint64_t *words = zeroed(MANY, 8), *counter = zeroed(1, 8), *other = calloc(WORDS, 8), value = 7;
    char *large = zeroed(LONG, 1), *source = malloc(LONG);
    memset(source, 1, LONG); /* pages of its own, not the kernel's page of zeros */
    volatile uint64_t *symmetric = words, *private = other;
    if (me == 0) {
        MEASURE("put of 8 bytes, to 1024 places", WORDS, CALL(nvshmemrs_put(rt, words + i, &value, 8, 1)));
        MEASURE("put of 8 bytes, to 16384 places", MANY, CALL(nvshmemrs_put(rt, words + i, &value, 8, 1)));
        MEASURE("put of 8 bytes, to one place", WORDS, CALL(nvshmemrs_put(rt, words, &value, 8, 1)));
    }
    barrier();
    if (me == 0) {
        MEASURE("get of 8 bytes, from 1024 places", WORDS, CALL(nvshmemrs_get(rt, &value, words + i, 8, 1)));
        MEASURE("get of 8 bytes, from 16384 places", MANY, CALL(nvshmemrs_get(rt, &value, words + i, 8, 1)));
        MEASURE("get of 8 bytes, from one place", WORDS, CALL(nvshmemrs_get(rt, &value, words, 8, 1)));
        MEASURE("put of 32 KiB", PARTS, CALL(nvshmemrs_put(rt, large + i * PART, source + i * PART, PART, 1)));
        MEASURE("put of 32 KiB and quiet, to one place", PARTS, {
            CALL(nvshmemrs_put(rt, large, source, PART, 1));
            CALL(nvshmemrs_quiet(rt));
        });
        MEASURE("put of 2 MiB and quiet", 1, {
            CALL(nvshmemrs_put(rt, large, source, LONG, 1));
            CALL(nvshmemrs_quiet(rt));
        });
        MEASURE("get of 32 KiB", PARTS, CALL(nvshmemrs_get(rt, source + i * PART, large + i * PART, PART, 1)));
        MEASURE("get of 2 MiB", 1, CALL(nvshmemrs_get(rt, source, large, LONG, 1)));
        MEASURE("atomic_add of 8 bytes", WORDS, CALL(nvshmemrs_atomic_add64(rt, counter, 1, 1)));
        MEASURE("atomic_fetch_add of 8 bytes", WORDS, CALL(nvshmemrs_atomic_fetch_add64(rt, counter, 1, 1, &value)));
        MEASURE("atomic_add, to 16384 places at random", WORDS,
                CALL(nvshmemrs_atomic_add64(rt, words + SCATTERED(next++), 1, 1)));
        MEASURE("atomic_fetch_add, to 16384 places at random", WORDS,
                CALL(nvshmemrs_atomic_fetch_add64(rt, words + SCATTERED(next++), 1, 1, &value)));
        MEASURE("atomic_fetch, from 16384 places at random", WORDS,
                CALL(nvshmemrs_atomic_fetch64(rt, words + SCATTERED(next++), 1, &value)));
        MEASURE_IN(10 * BATCHES, "put_signal of 8 bytes", WORDS,
                   CALL(nvshmemrs_put_signal(rt, words + i, &value, 8, counter, 1, NVSHMEMRS_SIGNAL_ADD, 1)));
        MEASURE("a load of symmetric memory", WORDS, (void)symmetric[i]);
        MEASURE("a load of other memory", WORDS, (void)private[i]);
    }
    barrier();
    /* In short batches, because other programs get between two PEs that meet. */
    MEASURE_IN(10 * BATCHES, "barrier", WORDS / 8, barrier());
    CALL(nvshmemrs_free(rt, large));
    CALL(nvshmemrs_free(rt, counter));
    CALL(nvshmemrs_free(rt, words));
    free(source);
    free(other);
    return leave();
}
