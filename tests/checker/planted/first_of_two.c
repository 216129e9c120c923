/* PE 0 collects a result from each of two helpers, which tell it by adding to one counter.
 *
 * Bug: it waits for the first of the two, and uses both.
 * Not instrumented: all are calls of the library.
 * PEs: 3
 * Expect: read early or write early: put_signal at A, get at B
 */
#include "job.h"

int main(void)
{
    join();
    int64_t *results = zeroed(3, sizeof *results), mine = 40 + me, seen[3];
    uint64_t *told = zeroed(1, sizeof *told);
    IF_MENDED(int helpers = 2);
    IF_PLANTED(int helpers = 1);
    if (me == 0) {
        CALL(nvshmemrs_signal_wait(rt, told, NVSHMEMRS_CMP_GE, helpers, NULL));
        CALL(nvshmemrs_get(rt, seen, results, sizeof seen, me)); /* B */
        EXPECT(seen[1] == 41 && seen[2] == 42);
    } else if (me <= 2) {
        CALL(nvshmemrs_put_signal(rt, results + me, &mine, sizeof mine, told, 1, NVSHMEMRS_SIGNAL_ADD, 0)); /* A */
    }
    return FREE_AND_LEAVE(told, results);
}
