/* Each PE gives its neighbour a number; the sum of what all were given is formed.
 *
 * Bug: the reduction may read its source before the neighbour's number has come.
 * Not instrumented: both are calls of the library.
 * Expect: read early or write early: p at A, reduce at B
 */
#include "job.h"

int main(void)
{
    join();
    int64_t *given = zeroed(1, sizeof *given), *sum = zeroed(1, sizeof *sum);

    CALL(nvshmemrs_p64(rt, given, me + 1, (me + 1) % n)); /* A */
    IF_MENDED(barrier());
    CALL(nvshmemrs_reduce(rt, NVSHMEMRS_TEAM_WORLD, sum, given, 1, NVSHMEMRS_DTYPE_INT64, NVSHMEMRS_OP_SUM)); /* B */

    int64_t result = 0;
    CALL(nvshmemrs_get(rt, &result, sum, sizeof result, me));
    EXPECT(result == n * (n + 1) / 2);
    return FREE_AND_LEAVE(sum, given);
}
