/* A PE shows its neighbour what it does: first that it works, then that it is done.
 *
 * Bug: the two puts to one place have no order; "works" may arrive last and stay.
 * Not instrumented: both are calls of the library.
 * Expect: two puts: p at A, p at B
 */
#include "job.h"

enum { WORKS = 1, DONE = 2 };

int main(void)
{
    join();
    uint64_t *status = zeroed(1, sizeof *status), seen = 0;
    int right = (me + 1) % n;

    CALL(nvshmemrs_p64(rt, status, WORKS, right)); /* A */
    IF_MENDED(CALL(nvshmemrs_fence(rt)));
    CALL(nvshmemrs_p64(rt, status, DONE, right)); /* B */
    barrier();
    CALL(nvshmemrs_g64(rt, status, me, &seen));
    EXPECT(seen == DONE);

    return FREE_AND_LEAVE(status);
}
