/* PE 0 hands out the parameters, and each PE compares its copy with its neighbour's.
 *
 * Bug: broadcast returns when this PE has its copy; the neighbour may still be inside.
 * Not instrumented: both are calls of the library.
 * Expect: read early or write early: broadcast at A, get at B
 */
#include "job.h"

enum { WORDS = 4 };

int main(void)
{
    join();
    int64_t *parameters = zeroed(WORDS, sizeof *parameters), *copy = zeroed(WORDS, sizeof *copy);
    int64_t text[WORDS] = {2, 3, 5, 7};
    CALL(nvshmemrs_put(rt, parameters, text, sizeof text, me));
    CALL(nvshmemrs_quiet(rt));

    CALL(nvshmemrs_broadcast(rt, NVSHMEMRS_TEAM_WORLD, copy, parameters, sizeof text, 0)); /* A */
    IF_MENDED(barrier());
    int64_t theirs[WORDS];
    CALL(nvshmemrs_get(rt, theirs, copy, sizeof theirs, (me + 1) % n)); /* B */
    EXPECT(memcmp(theirs, text, sizeof text) == 0);

    return FREE_AND_LEAVE(copy, parameters);
}
