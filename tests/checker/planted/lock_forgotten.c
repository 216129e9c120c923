/* Every PE adds to a total on PE 0, several times.
 *
 * Bug: nothing keeps the others out between the read of the total and the write. It takes a lock, or an atomic operation.
 * Not instrumented: all are calls of the library.
 * Expect: write early or read early: put at B, get at A
 * May: two writers: put at B, put at B
 */
#include "job.h"

enum { ROUNDS = 10 };

int main(void)
{
    join();
    int64_t *total = zeroed(1, sizeof *total), sum;
    uint64_t *lock = zeroed(1, sizeof *lock), owner = 0;

    for (int round = 0; round < ROUNDS; round++) {
#ifdef MENDED
        do {
            CALL(nvshmemrs_atomic_compare_swap64(rt, lock, 0, 1, 0, &owner));
        } while (owner != 0);
#endif
        CALL(nvshmemrs_get(rt, &sum, total, sizeof sum, 0)); /* A */
        sum += 1;
        CALL(nvshmemrs_put(rt, total, &sum, sizeof sum, 0)); /* B */
        CALL(nvshmemrs_quiet(rt));
        IF_MENDED(CALL(nvshmemrs_atomic_set64(rt, lock, 0, 0)));
    }

    barrier();
    CALL(nvshmemrs_get(rt, &sum, total, sizeof sum, 0));
    EXPECT(sum == ROUNDS * n && owner == 0);
    return FREE_AND_LEAVE(lock, total);
}
