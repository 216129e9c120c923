/* A block travels to the right neighbour in one context, while another context completes an operation of its own; then all PEs meet.
 *
 * Bug: quiet of the second context does not complete the put of the first one, and neither does a barrier.
 * Expect: read early: put at A, load at B
 */
#include "job.h"

enum { WORDS = 32 };

int main(void)
{
    join();
    int64_t *inbox = zeroed(WORDS, sizeof *inbox), *other = zeroed(WORDS, sizeof *other), *flag = zeroed(1, sizeof *flag);
    int64_t outbox[WORDS], one = 1;
    for (int i = 0; i < WORDS; i++)
        outbox[i] = me * 1000 + i;
    nvshmemrs_runtime_t first, second;
    CALL(nvshmemrs_context_new(rt, &first));
    CALL(nvshmemrs_context_new(rt, &second));
    const int right = (me + 1) % n, left = (me + n - 1) % n;

    CALL(nvshmemrs_put(first, inbox, outbox, sizeof outbox, right)); /* A */
    CALL(nvshmemrs_put(second, other, outbox, sizeof outbox, right));
    IF_MENDED(CALL(nvshmemrs_quiet(first)));
    CALL(nvshmemrs_quiet(second));
    barrier();

    /* The second context's put has arrived. */
    EXPECT(other[WORDS - 1] == left * 1000 + WORDS - 1);
    int64_t last = inbox[WORDS - 1]; /* B */
    EXPECT(last == left * 1000 + WORDS - 1);
    barrier();

    /* A fence of a context orders its own put before its own flag, whatever the others complete meanwhile. */
    outbox[0] = 7;
    CALL(nvshmemrs_put(second, other, outbox, sizeof outbox, right));
    CALL(nvshmemrs_fence(second));
    CALL(nvshmemrs_p64(second, flag, 1, right));
    CALL(nvshmemrs_quiet(first));
    CALL(nvshmemrs_wait_until(rt, flag, NVSHMEMRS_CMP_EQ, &one, NVSHMEMRS_DTYPE_INT64));
    CALL(nvshmemrs_quiet(rt));
    EXPECT(other[0] == 7);
    *flag = 0;

    CALL(nvshmemrs_context_free(second));
    CALL(nvshmemrs_context_free(first));
    return FREE_AND_LEAVE(flag, other, inbox);
}
