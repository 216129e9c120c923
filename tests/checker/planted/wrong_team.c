/* Even and odd PEs work in teams of their own; at the end of a step each PE sends its result to its neighbour.
 *
 * Bug: the barrier is one of the PE's own team, which the neighbour does not belong to.
 * Expect: read early or write early: put at A, load at B
 */
#include "job.h"

int main(void)
{
    join();
    int64_t *inbox = zeroed(1, sizeof *inbox), result = 10 * me;
    nvshmemrs_team_t team, even, odd;
    CALL(nvshmemrs_team_split_strided(rt, NVSHMEMRS_TEAM_WORLD, 0, 2, (n + 1) / 2, NULL, 0, &even));
    CALL(nvshmemrs_team_split_strided(rt, NVSHMEMRS_TEAM_WORLD, 1, 2, n / 2, NULL, 0, &odd));
    team = me % 2 ? odd : even;

    int neighbour = me ^ 1;
    if (neighbour < n) {
        CALL(nvshmemrs_put(rt, inbox, &result, sizeof result, neighbour)); /* A */
    }
    IF_MENDED(team = NVSHMEMRS_TEAM_WORLD);
    CALL(nvshmemrs_barrier(rt, team));
    if (neighbour < n) {
        int64_t received = inbox[0]; /* B */
        EXPECT(received == 10 * neighbour);
    }

    barrier();
    CALL(nvshmemrs_team_destroy(rt, me % 2 ? odd : even));
    CALL(nvshmemrs_free(rt, inbox));
    return leave();
}
