/* A PE shows its neighbour that it works, does so, and shows that it is done.
 *
 * Bug: the two puts to one place have no order, however much lies between them; "works" may arrive last and stay.
 * Not instrumented: both are calls of the library.
 * Expect: two puts: p at A, p at B
 */
#include "job.h"

enum { WORKS = 1, DONE = 2, STEPS = 200 };

int main(void)
{
    join();
    uint64_t *status = zeroed(1, sizeof *status), seen = 0;
    int64_t *work = zeroed(STEPS, sizeof *work);
    int right = (me + 1) % n;

    CALL(nvshmemrs_p64(rt, status, WORKS, right)); /* A */
    for (int i = 0; i < STEPS; i++) {
        CALL(nvshmemrs_p64(rt, work + i, i, right));
    }
    IF_MENDED(CALL(nvshmemrs_fence(rt)));
    CALL(nvshmemrs_p64(rt, status, DONE, right)); /* B */
    barrier();
    CALL(nvshmemrs_g64(rt, status, me, &seen));
    EXPECT(seen == DONE);

    return FREE_AND_LEAVE(work, status);
}
