/* The root hands out a table; then PE 1 sends it the next one.
 *
 * Bug: PE 1 has its copy, but the root may still be inside, and read.
 * Not instrumented: both are calls of the library.
 * Expect: write early or read early: broadcast at A, put at B
 */
#include "job.h"

enum { WORDS = 512 };

int main(void)
{
    join();
    int64_t *table = zeroed(WORDS, sizeof *table), *copy = zeroed(WORDS, sizeof *copy);
    int64_t next[WORDS] = {7}, seen;

    CALL(nvshmemrs_broadcast(rt, NVSHMEMRS_TEAM_WORLD, copy, table, WORDS * sizeof *table, 0)); /* A */
    IF_MENDED(barrier());
    if (me == 1) {
        CALL(nvshmemrs_put(rt, table, next, sizeof next, 0)); /* B */
    }
    barrier();
    CALL(nvshmemrs_get(rt, &seen, copy, sizeof seen, me));
    EXPECT(seen == 0);

    return FREE_AND_LEAVE(copy, table);
}
