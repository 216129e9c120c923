/* A block, and a signal that says it is there.
 *
 * Bug: the signal is sent before the block.
 * Expect: read early or write early: put at A, load at B
 */
#include "job.h"

enum { WORDS = 32 };

int main(void)
{
    join();
    int64_t *inbox = zeroed(WORDS, sizeof *inbox), text[WORDS];
    uint64_t *signal = zeroed(1, sizeof *signal);
    int right = (me + 1) % n;
    for (int i = 0; i < WORDS; i++) {
        text[i] = i;
    }

#ifdef MENDED
    CALL(nvshmemrs_put_signal(rt, inbox, text, sizeof text, signal, 1, NVSHMEMRS_SIGNAL_SET, right));
#else
    CALL(nvshmemrs_signal_op(rt, signal, 1, NVSHMEMRS_SIGNAL_SET, right));
    CALL(nvshmemrs_put(rt, inbox, text, sizeof text, right)); /* A */
#endif
    CALL(nvshmemrs_signal_wait(rt, signal, NVSHMEMRS_CMP_EQ, 1, NULL));
    int64_t last = inbox[WORDS - 1]; /* B */
    EXPECT(last == WORDS - 1);

    return FREE_AND_LEAVE(signal, inbox);
}
