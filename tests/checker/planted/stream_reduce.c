/* Each PE adds up a row on a stream, and goes on with the next row.
 *
 * Bug: the next row is written over the first while the sum may still read it.
 * Expect: stream and caller: reduce at A, store at B
 */
#include "job.h"

int main(void)
{
    join();
    int64_t *row = zeroed(4, sizeof *row), *sum = zeroed(4, sizeof *sum);
    nvshmemrs_stream_t stream = new_stream();
    row[0] = me;
    barrier();

    CALL(nvshmemrs_reduce(stream, NVSHMEMRS_TEAM_WORLD, sum, row, 4, NVSHMEMRS_DTYPE_INT64, NVSHMEMRS_OP_SUM)); /* A */
    IF_MENDED(CALL(nvshmemrs_stream_synchronize(stream)));
    row[1] = 7; /* B */

    CALL(nvshmemrs_stream_synchronize(stream));
    barrier();
    EXPECT(sum[0] == n * (n - 1) / 2 && sum[1] == 0);
    CALL(nvshmemrs_stream_free(stream));
    return FREE_AND_LEAVE(sum, row);
}
