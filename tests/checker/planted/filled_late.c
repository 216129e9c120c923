/* Each PE fills its table, and looks up a value in its neighbour's.
 *
 * Bug: the neighbour may not have filled its table yet.
 * Expect: read early or write early: store at A, get at B
 */
#include "job.h"

int main(void)
{
    join();
    int64_t *table = zeroed(1, sizeof *table), found = 0;
    int right = (me + 1) % n;

    *table = 3 * me; /* A */
    IF_MENDED(barrier());
    CALL(nvshmemrs_get(rt, &found, table, sizeof found, right)); /* B */
    EXPECT(found == 3 * right);

    return FREE_AND_LEAVE(table);
}
