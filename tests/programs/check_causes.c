/* For the count of problems: a lock that does not order the data it guards (LOCK), two bugs that are independent of each other
 * (TWO), or both (BOTH). */
#include "../checker/planted/job.h"

#ifdef BOTH
#define LOCK
#define TWO
#endif

/* A wrong lock: releasing it orders no puts to another PE. Several lines write and read the data that the lock guards. */
static inline void under_a_wrong_lock(void)
{
    uint64_t *lock = zeroed(1, sizeof *lock), old;
    struct { uint64_t sum, terms, last[4]; } *log = zeroed(1, sizeof *log), copy;
    for (int round = 0; round < 5; round++) {
        do {
            CALL(nvshmemrs_atomic_compare_swap64(rt, lock, 0, 1, 0, &old));
        } while (old);
        CALL(nvshmemrs_get(rt, &copy, log, sizeof copy, n - 1));
        CALL(nvshmemrs_p64(rt, &log->sum, copy.sum + me, n - 1));
        CALL(nvshmemrs_p64(rt, &log->terms, copy.terms + 1, n - 1));
        uint64_t one;
        CALL(nvshmemrs_g64(rt, &log->last[1], n - 1, &one));
        copy.last[1] = one + 1;
        CALL(nvshmemrs_put(rt, log->last, copy.last, sizeof copy.last, n - 1));
        CALL(nvshmemrs_atomic_set64(rt, lock, 0, 0));
    }
    barrier();
    CALL(nvshmemrs_free(rt, log));
    CALL(nvshmemrs_free(rt, lock));
}

/* Two bugs: a neighbour's result is read without waiting for it, and a source is filled again before quiet. */
static inline void two_bugs(void)
{
    int64_t *results = zeroed(n, sizeof *results), *inbox = zeroed(4, sizeof *inbox), *out = calloc(4, sizeof *out), all[64];
    int64_t mine = me;
    CALL(nvshmemrs_put(rt, results + me, &mine, sizeof mine, (me + 1) % n));
    CALL(nvshmemrs_get(rt, all, results, n * sizeof *all, (me + 1) % n));
    CALL(nvshmemrs_get(rt, all, results, n * sizeof *all, (me + 2) % n));
    barrier();

    CALL(nvshmemrs_put_nbi(rt, inbox, out, 4 * sizeof *out, (me + 1) % n));
    out[0] = 1;
    barrier();
    free(out);
    CALL(nvshmemrs_free(rt, inbox));
    CALL(nvshmemrs_free(rt, results));
}

int main(void)
{
    join();
#ifdef LOCK
    under_a_wrong_lock();
#endif
#ifdef TWO
    two_bugs();
#endif
    return leave();
}
