/* Every PE looks for a solution; the winner is noted on PE 0.
 *
 * Bug: two PEs that have found one write it to the same place at once. It takes an atomic operation to find out who was first.
 * Not instrumented: all are calls of the library.
 * Expect: two writers: put at A, put at A
 */
#include "job.h"

struct solution {
    int64_t pe, value;
};

int main(void)
{
    join();
    struct solution *best = zeroed(1, sizeof *best), mine = {me, 1000 + me};
    uint64_t *found = zeroed(1, sizeof *found), before = 0;

    IF_MENDED(CALL(nvshmemrs_atomic_compare_swap64(rt, found, 0, 1, 0, &before)));
    if (before == 0) {
        CALL(nvshmemrs_put(rt, best, &mine, sizeof mine, 0)); /* A */
    }
    barrier();
    if (me == 0) {
        CALL(nvshmemrs_get(rt, &mine, best, sizeof mine, 0));
        EXPECT(mine.pe >= 0 && mine.pe < n && mine.value == 1000 + mine.pe);
    }

    return FREE_AND_LEAVE(found, best);
}
