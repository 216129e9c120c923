/* Each PE but PE 0 fills a part of PE 0's table, which PE 0 then hands out.
 *
 * Bug: the scatter may read the table before a part has come.
 * Not instrumented: both are calls of the library.
 * Expect: read early or write early: p at A, scatter at B
 */
#include "job.h"

int main(void)
{
    join();
    int64_t *table = zeroed(n, sizeof *table), *part = zeroed(1, sizeof *part), mine = 0;

    if (me != 0) {
        CALL(nvshmemrs_p64(rt, table + me, me, 0)); /* A */
    }
    IF_MENDED(barrier());
    CALL(nvshmemrs_scatter(rt, NVSHMEMRS_TEAM_WORLD, part, table, sizeof *part, 0)); /* B */

    CALL(nvshmemrs_get(rt, &mine, part, sizeof mine, me));
    EXPECT(mine == me);
    return FREE_AND_LEAVE(part, table);
}
