/* What the checker costs: times of single calls between PE 0 and PE 1, and of loads, which this program shows to the checker. PE 0
 * prints a line for each, the best of many batches, in nanoseconds. Run with the checker and without by tests/tests/check.rs. */
#include "../check/job.h"
#include <time.h>

enum { WORDS = 1024, BATCHES = 60 };
static const size_t LONG = 2 << 20;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

/* Time of one of `calls` runs of a statement. */
#define MEASURE(name, calls, statement)                           \
    do {                                                          \
        double best = 1e30;                                       \
        for (int batch = 0; batch < BATCHES; batch++) {           \
            double start = now();                                 \
            for (size_t i = 0; i < (calls); i++) {                \
                statement;                                        \
            }                                                     \
            double each = (now() - start) / (double)(calls);      \
            best = each < best ? each : best;                     \
            CALL(nvshmemrs_quiet(rt));                            \
        }                                                         \
        printf("%s\t%.1f\n", name, best);                         \
    } while (0)

int main(void)
{
    join();
    uint64_t *words = zeroed(WORDS, 8), *other = calloc(WORDS, 8), value = 7;
    char *large = zeroed(LONG, 1), *source = malloc(LONG);
    memset(source, 1, LONG); /* pages of its own, not the kernel's page of zeros */
    volatile uint64_t *symmetric = words, *private = other;
    if (me == 0) {
        MEASURE("put of 8 bytes", WORDS, CALL(nvshmemrs_put(rt, words + i, &value, 8, 1)));
    }
    barrier();
    if (me == 0) {
        MEASURE("get of 8 bytes", WORDS, CALL(nvshmemrs_get(rt, &value, words + i, 8, 1)));
        MEASURE("put of 2 MiB and quiet", 1, {
            CALL(nvshmemrs_put(rt, large, source, LONG, 1));
            CALL(nvshmemrs_quiet(rt));
        });
        MEASURE("a load of symmetric memory", WORDS, (void)symmetric[i]);
        MEASURE("a load of other memory", WORDS, (void)private[i]);
    }
    barrier();
    CALL(nvshmemrs_free(rt, large));
    CALL(nvshmemrs_free(rt, words));
    free(source);
    free(other);
    return leave();
}
