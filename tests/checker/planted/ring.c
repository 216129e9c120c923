/* A block travels to the right neighbour; then all PEs meet.
 *
 * Bug: sync lets all PEs arrive, but completes nothing; the put may still be on its way. It takes a quiet before, or a barrier.
 * Expect: read early: put_nbi at A, load at B
 */
#include "job.h"

enum { WORDS = 32 };

int main(void)
{
    join();
    int64_t *inbox = zeroed(WORDS, sizeof *inbox);
    int64_t outbox[WORDS];
    for (int i = 0; i < WORDS; i++) {
        outbox[i] = me * 1000 + i;
    }

    CALL(nvshmemrs_put_nbi(rt, inbox, outbox, sizeof outbox, (me + 1) % n)); /* A */
    IF_MENDED(CALL(nvshmemrs_quiet(rt)));
    CALL(nvshmemrs_sync(rt, NVSHMEMRS_TEAM_WORLD));

    int left = (me + n - 1) % n;
    int64_t last = inbox[WORDS - 1]; /* B */
    EXPECT(last == left * 1000 + WORDS - 1);

    return FREE_AND_LEAVE(inbox);
}
