/* Who was the owner of a place before is sent on to the right.
 *
 * Bug: the answer of the compare_swap is sent before quiet, so it may not be there yet.
 * Not instrumented: both are calls of the library.
 * Expect: dest used: atomic_compare_swap_nbi at A, put at B
 */
#include "job.h"

int main(void)
{
    join();
    uint64_t *owner = zeroed(1, sizeof *owner), *before = zeroed(1, sizeof *before), *heard = zeroed(1, sizeof *heard);

    *before = 77;
    CALL(nvshmemrs_atomic_compare_swap64_nbi(rt, before, owner, 0, me + 1, (me + 1) % n)); /* A */
    IF_MENDED(CALL(nvshmemrs_quiet(rt)));
    CALL(nvshmemrs_put(rt, heard, before, sizeof *before, (me + 1) % n)); /* B */
    barrier();
    EXPECT(*heard == 0 && *owner == (uint64_t)(me + n - 1) % n + 1);

    return FREE_AND_LEAVE(heard, before, owner);
}
