/* A lock on PE 0 guards a log entry on the last PE.
 *
 * Bug: giving the lock back orders nothing on other PEs than the lock's, so the next owner's entry may be overtaken. It takes a
 * quiet before.
 * Not instrumented: all are calls of the library.
 * Expect: two writers: put at A, put at A
 */
#include "job.h"

enum { WORDS = 8 };

int main(void)
{
    join();
    uint64_t *lock = zeroed(1, sizeof *lock), owner;
    int64_t *entry = zeroed(WORDS, sizeof *entry), text[WORDS];
    for (int i = 0; i < WORDS; i++) {
        text[i] = me;
    }

    do {
        CALL(nvshmemrs_atomic_compare_swap64(rt, lock, 0, me + 1, 0, &owner));
    } while (owner != 0);
    CALL(nvshmemrs_put(rt, entry, text, sizeof text, n - 1)); /* A */
    IF_MENDED(CALL(nvshmemrs_quiet(rt)));
    CALL(nvshmemrs_atomic_set64(rt, lock, 0, 0));

    barrier();
    CALL(nvshmemrs_get(rt, text, entry, sizeof text, n - 1));
    EXPECT(text[0] == text[WORDS - 1]);
    return FREE_AND_LEAVE(entry, lock);
}
