/* Each PE fetches its neighbour's block on a stream, and computes with it.
 *
 * Bug: the block is read without waiting for the stream.
 * Expect: stream and caller: get at A, load at B
 */
#include "job.h"

enum { WORDS = 8 };

int main(void)
{
    join();
    int64_t *block = zeroed(WORDS, sizeof *block), *fetched = zeroed(WORDS, sizeof *fetched);
    block[0] = 40 + me;
    barrier();
    nvshmemrs_stream_t stream = new_stream();

    CALL(nvshmemrs_get(stream, fetched, block, WORDS * sizeof *block, (me + 1) % n)); /* A */
    IF_MENDED(CALL(nvshmemrs_stream_synchronize(stream)));
    int64_t first = fetched[0]; /* B */
    EXPECT(first == 40 + (me + 1) % n);

    CALL(nvshmemrs_stream_synchronize(stream));
    CALL(nvshmemrs_stream_free(stream));
    return FREE_AND_LEAVE(fetched, block);
}
