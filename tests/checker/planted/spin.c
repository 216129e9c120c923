/* A block, and a flag in symmetric memory that its owner spins on.
 *
 * Bug: ordinary loads order nothing, so the block may be read before it is there although the flag is. It takes a wait.
 * Expect: read early: put at A, load at B
 * Expect: read early or write early: p at C, load at D
 * Problems: 2
 */
#include "job.h"

enum { WORDS = 16 };

int main(void)
{
    join();
    int64_t *block = zeroed(WORDS, sizeof *block), text[WORDS];
    volatile uint64_t *flag = zeroed(1, sizeof *flag);
    for (int i = 0; i < WORDS; i++) {
        text[i] = -i;
    }

    if (me == 0) {
        CALL(nvshmemrs_put(rt, block, text, sizeof text, 1)); /* A */
        CALL(nvshmemrs_fence(rt));
        CALL(nvshmemrs_p64(rt, (uint64_t *)flag, 1, 1)); /* C */
    } else if (me == 1) {
#ifdef MENDED
        CALL(nvshmemrs_signal_wait(rt, (uint64_t *)flag, NVSHMEMRS_CMP_EQ, 1, NULL));
#else
        while (*flag == 0) { /* D */
        }
#endif
        int64_t last = block[WORDS - 1]; /* B */
        EXPECT(last == 1 - WORDS);
    }

    return FREE_AND_LEAVE((uint64_t *)flag, block);
}
