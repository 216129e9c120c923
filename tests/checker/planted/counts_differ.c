/* The sum of a vector over all PEs.
 *
 * Bug: PE 0 has one element more than the others.
 * Expect: unmatched: reduce at A, reduce at B
 */
#include "job.h"

enum { COUNT = 10 };

int main(void)
{
    join();
    double *part = zeroed(COUNT + 1, sizeof *part), *sum = zeroed(COUNT + 1, sizeof *sum);
    for (int i = 0; i < COUNT; i++) {
        part[i] = i;
    }

    int32_t status;
    size_t more = 1;
    IF_MENDED(more = 0);
    if (me == 0) {
        status = nvshmemrs_reduce(rt, NVSHMEMRS_TEAM_WORLD, sum, part, COUNT + more, NVSHMEMRS_DTYPE_DOUBLE, NVSHMEMRS_OP_SUM); /* A */
    } else {
        status = nvshmemrs_reduce(rt, NVSHMEMRS_TEAM_WORLD, sum, part, COUNT, NVSHMEMRS_DTYPE_DOUBLE, NVSHMEMRS_OP_SUM); /* B */
    }
    EXPECT(status == NVSHMEMRS_SUCCESS && sum[3] == 3.0 * n);
    if (status == NVSHMEMRS_ERROR_MISMATCH) {
        fprintf(stderr, "%s\n", nvshmemrs_last_error());
    }

    return FREE_AND_LEAVE(sum, part);
}
