/* PE 0 publishes a block and then its version; PE 1 polls the version with g.
 *
 * Bug: g orders nothing, so the block may be read before it is there although the version is. It takes a wait, a test or an atomic
 * fetch, and the version must then be written by what these can see.
 * Expect: read early: put at A, load at B
 * Expect: read early or write early: p at C, g at D
 * Problems: 2
 */
#include "job.h"

enum { WORDS = 16 };

int main(void)
{
    join();
    int64_t *block = zeroed(WORDS, sizeof *block), text[WORDS];
    uint64_t *version = zeroed(1, sizeof *version), seen = 0;
    for (int i = 0; i < WORDS; i++) {
        text[i] = i;
    }

    if (me == 0) {
        CALL(nvshmemrs_put(rt, block, text, sizeof text, 1)); /* A */
        CALL(nvshmemrs_fence(rt));
        CALL(nvshmemrs_p64(rt, version, 1, 1)); /* C */
    } else if (me == 1) {
#ifdef MENDED
        seen = 1;
        CALL(nvshmemrs_wait_until(rt, version, NVSHMEMRS_CMP_EQ, &seen, NVSHMEMRS_DTYPE_UINT64));
#else
        while (seen == 0) {
            CALL(nvshmemrs_g64(rt, version, 1, &seen)); /* D */
        }
#endif
        int64_t last = block[WORDS - 1]; /* B */
        EXPECT(last == WORDS - 1);
    }

    return FREE_AND_LEAVE(version, block);
}
