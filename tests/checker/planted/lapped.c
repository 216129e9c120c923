/* PE 0 sends items to PE 1, which has room for two, and waits for PE 1's answers before it uses a place again.
 *
 * Bug: it waits for one answer too few, so it may be a lap ahead.
 * Not instrumented: all are calls of the library.
 * Expect: write early or read early: put_signal at A, get at B
 * May: two puts: put_signal at A, put_signal at A
 */
#include "job.h"

enum { WORDS = 16, ITEMS = 12, PLACES = 2 };

int main(void)
{
    join();
    int64_t *places = zeroed(PLACES * WORDS, sizeof *places), item[WORDS] = {0};
    uint64_t *full = zeroed(1, sizeof *full), *empty = zeroed(1, sizeof *empty);
    IF_MENDED(int ahead = PLACES);
    IF_PLANTED(int ahead = PLACES + 1);
    for (int i = 0; i < ITEMS && me < 2; i++) {
        int64_t *place = places + i % PLACES * WORDS;
        if (me == 0) {
            item[0] = i;
            if (i >= ahead) {
                CALL(nvshmemrs_signal_wait(rt, empty, NVSHMEMRS_CMP_GE, i - ahead + 1, NULL));
            }
            CALL(nvshmemrs_put_signal(rt, place, item, sizeof item, full, 1, NVSHMEMRS_SIGNAL_ADD, 1)); /* A */
        } else {
            CALL(nvshmemrs_signal_wait(rt, full, NVSHMEMRS_CMP_GE, i + 1, NULL));
            CALL(nvshmemrs_get(rt, item, place, sizeof item, me)); /* B */
            EXPECT(item[0] == i);
            CALL(nvshmemrs_signal_op(rt, empty, 1, NVSHMEMRS_SIGNAL_ADD, 0));
        }
    }

    return FREE_AND_LEAVE(empty, full, places);
}
