/* Each PE gives its result to PE 0, and its left neighbour then gives it new work in the same place.
 *
 * Bug: gather returns when this PE's result is taken; that of the neighbour may still be read.
 * Not instrumented: both are calls of the library.
 * Expect: read early or write early: gather at A, p at B
 */
#include "job.h"

int main(void)
{
    join();
    int64_t *result = zeroed(1, sizeof *result), *all = zeroed(n, sizeof *all);

    CALL(nvshmemrs_gather(rt, NVSHMEMRS_TEAM_WORLD, me == 0 ? all : NULL, result, sizeof *result, 0)); /* A */
    IF_MENDED(barrier());
    CALL(nvshmemrs_p64(rt, result, me + 1, (me + 1) % n)); /* B */
    barrier();
    int64_t given = 0;
    CALL(nvshmemrs_get(rt, &given, result, sizeof given, me));
    EXPECT(given == (me + n - 1) % n + 1);

    return FREE_AND_LEAVE(all, result);
}
