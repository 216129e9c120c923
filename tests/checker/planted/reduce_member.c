/* All add up their rows; then PE 0 sends each member its next row.
 *
 * Bug: PE 0 has its sum, but the member may still be inside, and read.
 * Not instrumented: both are calls of the library.
 * Expect: write early or read early: reduce at A, put at B
 */
#include "job.h"

enum { WORDS = 4 };

int main(void)
{
    join();
    int64_t *row = zeroed(WORDS, sizeof *row), *sum = zeroed(WORDS, sizeof *sum);
    int64_t next[WORDS] = {7}, seen;

    CALL(nvshmemrs_reduce(rt, NVSHMEMRS_TEAM_WORLD, sum, row, WORDS, NVSHMEMRS_DTYPE_INT64, NVSHMEMRS_OP_SUM)); /* A */
    IF_MENDED(barrier());
    for (int pe = 1; me == 0 && pe < n; pe++) {
        CALL(nvshmemrs_put(rt, row, next, sizeof next, pe)); /* B */
    }
    barrier();
    CALL(nvshmemrs_get(rt, &seen, sum, sizeof seen, me));
    EXPECT(seen == 0);

    return FREE_AND_LEAVE(sum, row);
}
