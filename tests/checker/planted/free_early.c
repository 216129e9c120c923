/* The last results go to PE 0, and the memory is given back.
 *
 * Bug: PE 0 gives its block back before it knows that the others' results are there.
 * Expect: freed early: put at A, free at B
 */
#include "job.h"

int main(void)
{
    join();
    double *results = zeroed(n, sizeof *results);
    double result = 0.5 * me;

    if (me != 0) {
        CALL(nvshmemrs_put(rt, results + me, &result, sizeof result, 0)); /* A */
    }
    IF_MENDED(barrier());
    IF_MENDED(EXPECT(me != 0 || results[n - 1] == 0.5 * (n - 1)));
    CALL(nvshmemrs_free(rt, results)); /* B */
    return leave();
}
