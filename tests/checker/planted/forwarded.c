/* Each PE waits for a block, and sends it on as soon as its flag is there.
 *
 * Bug: nothing orders the block before the flag.
 * Not instrumented: the block is read by the put that sends it on.
 * Expect: missing fence: put at A, put at B
 */
#include "job.h"

enum { WORDS = 64 };

static void send(int64_t *dest, const int64_t *source, int64_t *flag, int pe)
{
    CALL(nvshmemrs_put(rt, dest, source, WORDS * sizeof *dest, pe)); /* A */
    IF_MENDED(CALL(nvshmemrs_fence(rt)));
    CALL(nvshmemrs_p64(rt, flag, 1, pe));
}

int main(void)
{
    join();
    int64_t *inbox = zeroed(WORDS, sizeof *inbox), *archive = zeroed(WORDS, sizeof *archive);
    int64_t *flag = zeroed(1, sizeof *flag), one = 1;
    int64_t text[WORDS];
    for (int i = 0; i < WORDS; i++) {
        text[i] = 7 * i;
    }

    if (me == 0) {
        send(inbox, text, flag, 1);
    } else if (me == 1) {
        CALL(nvshmemrs_wait_until(rt, flag, NVSHMEMRS_CMP_EQ, &one, NVSHMEMRS_DTYPE_INT64));
        CALL(nvshmemrs_put(rt, archive, inbox, WORDS * sizeof *inbox, n - 1)); /* B */
    }
    barrier();
    if (me == n - 1) {
        CALL(nvshmemrs_get(rt, text, archive, sizeof text, me));
        EXPECT(text[WORDS - 1] == 7 * (WORDS - 1));
    }

    return FREE_AND_LEAVE(flag, archive, inbox);
}
