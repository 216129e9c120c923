/* PE 0 sends blocks to PE 1 as it makes them; PE 1 has room for two.
 *
 * Bug: nobody tells PE 0 that a block has been read before it sends the next one to the same place.
 * Expect: write early or read early: put_signal at A, load at B
 * May: two puts: put_signal at A, put_signal at A
 */
#include "job.h"
#include <unistd.h>

enum { WORDS = 16, BLOCKS = 4 };

int main(void)
{
    join();
    int64_t *room = zeroed(2 * WORDS, sizeof *room);
    uint64_t *full = zeroed(1, sizeof *full), *empty = zeroed(1, sizeof *empty);

    for (int block = 0; block < BLOCKS && me < 2; block++) {
        int64_t *half = room + block % 2 * WORDS;
        if (me == 0) {
            int64_t text[WORDS];
            usleep(10000);
            for (int i = 0; i < WORDS; i++) {
                text[i] = 100 * block + i;
            }
            IF_MENDED(if (block >= 2) CALL(nvshmemrs_signal_wait(rt, empty, NVSHMEMRS_CMP_GE, block - 1, NULL)));
            CALL(nvshmemrs_put_signal(rt, half, text, sizeof text, full, 1, NVSHMEMRS_SIGNAL_ADD, 1)); /* A */
        } else {
            CALL(nvshmemrs_signal_wait(rt, full, NVSHMEMRS_CMP_GE, block + 1, NULL));
            int64_t last = half[WORDS - 1]; /* B */
            EXPECT(last == 100 * block + WORDS - 1);
            CALL(nvshmemrs_signal_op(rt, empty, 1, NVSHMEMRS_SIGNAL_ADD, 0));
        }
    }

    return FREE_AND_LEAVE(empty, full, room);
}
