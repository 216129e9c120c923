/* All PEs count events on PE 0, which starts a new count from time to time.
 *
 * Bug: the count is set by p, a plain write that atomic additions do not respect. It takes an atomic set or swap.
 * Not instrumented: both are calls of the library.
 * Expect: mixed: atomic_inc at A, p at B
 */
#include "job.h"

int main(void)
{
    join();
    uint64_t *events = zeroed(1, sizeof *events), counted = 0, now = 0;

    for (int i = 0; i < 20; i++) {
        CALL(nvshmemrs_atomic_inc64(rt, events, 0)); /* A */
    }
    if (me == 0) {
        IF_MENDED(CALL(nvshmemrs_atomic_swap64(rt, events, 0, 0, &counted)));
        IF_PLANTED(CALL(nvshmemrs_p64(rt, events, 0, 0))); /* B */
    }
    barrier();
    CALL(nvshmemrs_atomic_fetch64(rt, events, 0, &now));
    EXPECT(me != 0 || counted + now == 20 * (uint64_t)n);

    return FREE_AND_LEAVE(events);
}
