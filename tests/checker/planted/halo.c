/* A heat equation in one dimension. Each PE sends its edge to its right neighbour, and a flag behind it.
 *
 * Bug: nothing orders the edge before the flag, so the flag may be seen first.
 * Expect: missing fence: put at A, load at B
 */
#include "job.h"

enum { CELLS = 64 };

int main(void)
{
    join();
    double *cells = zeroed(CELLS + 1, sizeof *cells); /* cells[0] is the left neighbour's edge */
    int64_t *flag = zeroed(1, sizeof *flag);
    int right = (me + 1) % n, left = (me + n - 1) % n;
    for (int i = 1; i <= CELLS; i++) {
        cells[i] = 100.0 * me + i;
    }

    CALL(nvshmemrs_put(rt, cells, cells + CELLS, sizeof *cells, right)); /* A */
    IF_MENDED(CALL(nvshmemrs_fence(rt)));
    CALL(nvshmemrs_p64(rt, flag, 1, right));

    int64_t sent = 1;
    CALL(nvshmemrs_wait_until(rt, flag, NVSHMEMRS_CMP_EQ, &sent, NVSHMEMRS_DTYPE_INT64));
    double edge = cells[0]; /* B */
    EXPECT(edge == 100.0 * left + CELLS);

    return FREE_AND_LEAVE(flag, cells);
}
