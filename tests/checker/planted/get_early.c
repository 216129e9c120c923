/* The neighbour's block is fetched in the background of other work.
 *
 * Bug: the block is used before quiet, which would complete the get.
 * Expect: dest used: get_nbi at A, load at B
 */
#include "job.h"

enum { WORDS = 8 };

int main(void)
{
    join();
    int64_t *block = zeroed(WORDS, sizeof *block);
    int right = (me + 1) % n;
    for (int i = 0; i < WORDS; i++) {
        block[i] = me + i;
    }
    barrier();

    int64_t *fetched = calloc(WORDS, sizeof *fetched);
    CALL(nvshmemrs_get_nbi(rt, fetched, block, WORDS * sizeof *block, right)); /* A */
    int64_t work = 0;
    for (int i = 0; i < 1000; i++) {
        work += i;
    }
    IF_MENDED(CALL(nvshmemrs_quiet(rt)));
    int64_t sum = work + fetched[WORDS - 1]; /* B */
    EXPECT(sum == 499500 + right + WORDS - 1);

    free(fetched);
    return FREE_AND_LEAVE(block);
}
