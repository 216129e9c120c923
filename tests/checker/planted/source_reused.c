/* Two messages go out through one buffer.
 *
 * Bug: the buffer is filled with the second message while the first put may still read it.
 * Expect: source reused: put_nbi at A, store at B
 */
#include "job.h"

enum { WORDS = 16 };

int main(void)
{
    join();
    int64_t *inbox = zeroed(2 * WORDS, sizeof *inbox);
    int64_t *message = malloc(WORDS * sizeof *message);
    int right = (me + 1) % n, left = (me + n - 1) % n;

    for (int i = 0; i < WORDS; i++) {
        message[i] = me;
    }
    CALL(nvshmemrs_put_nbi(rt, inbox, message, WORDS * sizeof *message, right)); /* A */
    IF_MENDED(CALL(nvshmemrs_quiet(rt)));
    message[0] = -me; /* B */
    CALL(nvshmemrs_put(rt, inbox + WORDS, message, WORDS * sizeof *message, right));
    barrier();
    EXPECT(inbox[0] == left && inbox[WORDS] == -left);

    free(message);
    return FREE_AND_LEAVE(inbox);
}
