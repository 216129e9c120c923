/* PE 0 leaves a message on the last PE, and tells PE 1 to fetch it.
 *
 * Bug: fence orders what goes to one PE; the message and the flag go to two. It takes a quiet.
 * PEs: 3
 * Not instrumented: all are calls of the library.
 * Expect: missing fence: put at A, get at B
 */
#include "job.h"

enum { WORDS = 16 };

int main(void)
{
    join();
    int64_t *message = zeroed(WORDS, sizeof *message), *flag = zeroed(1, sizeof *flag), one = 1, text[WORDS];
    for (int i = 0; i < WORDS; i++) {
        text[i] = i * i;
    }

    if (me == 0) {
        CALL(nvshmemrs_put(rt, message, text, sizeof text, n - 1)); /* A */
        IF_MENDED(CALL(nvshmemrs_quiet(rt)));
        IF_PLANTED(CALL(nvshmemrs_fence(rt)));
        CALL(nvshmemrs_p64(rt, flag, 1, 1));
    } else if (me == 1) {
        CALL(nvshmemrs_wait_until(rt, flag, NVSHMEMRS_CMP_EQ, &one, NVSHMEMRS_DTYPE_INT64));
        memset(text, 0, sizeof text);
        CALL(nvshmemrs_get(rt, text, message, sizeof text, n - 1)); /* B */
        EXPECT(text[WORDS - 1] == (WORDS - 1) * (WORDS - 1));
    }

    return FREE_AND_LEAVE(flag, message);
}
