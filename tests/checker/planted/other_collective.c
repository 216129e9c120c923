/* The PEs agree on whether the work is done.
 *
 * Bug: PE 0 thinks that it needs no vote, and goes to the barrier that follows.
 * Expect: unmatched: barrier at A, reduce at B
 */
#include "job.h"

static int finished(int64_t *votes, int64_t mine)
{
    votes[0] = mine;
    int32_t status = nvshmemrs_reduce(rt, NVSHMEMRS_TEAM_WORLD, votes + 1, votes, 1, NVSHMEMRS_DTYPE_INT64, NVSHMEMRS_OP_MIN); /* B */
    if (status == NVSHMEMRS_ERROR_MISMATCH) {
        fprintf(stderr, "%s\n", nvshmemrs_last_error());
        return 1;
    }
    return votes[1] == 1;
}

int main(void)
{
    join();
    int64_t *votes = zeroed(2, sizeof *votes);

    int asks = me != 0, done = 1;
    IF_MENDED(asks = 1);
    if (asks) {
        done = finished(votes, 1);
    } else {
        int32_t status = nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD); /* A */
        if (status == NVSHMEMRS_ERROR_MISMATCH) {
            fprintf(stderr, "%s\n", nvshmemrs_last_error());
        }
    }
    EXPECT(done);

    return FREE_AND_LEAVE(votes);
}
