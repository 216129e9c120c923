/* A put is queued on a stream, and the caller meets the others.
 *
 * Bug: the caller does not wait for the stream before it meets them.
 * Not instrumented: all are calls of the library.
 * Expect: read early or write early: put at A, get at B
 */
#include "job.h"
#include <unistd.h>

enum { WORDS = 32 };

static int32_t work(void *unused)
{
    (void)unused;
    usleep(50000);
    return 0;
}

int main(void)
{
    join();
    int64_t *inbox = zeroed(WORDS, sizeof *inbox), sent[WORDS], seen[WORDS];
    for (int i = 0; i < WORDS; i++)
        sent[i] = 100 * me + i;
    nvshmemrs_stream_t stream = new_stream();

    CALL(nvshmemrs_stream_call(stream, work, NULL));
    CALL(nvshmemrs_put(stream, inbox, sent, sizeof sent, (me + 1) % n)); /* A */
    IF_MENDED(CALL(nvshmemrs_stream_synchronize(stream)));
    barrier();
    CALL(nvshmemrs_get(rt, seen, inbox, sizeof seen, me)); /* B */
    EXPECT(seen[5] == 100 * ((me + n - 1) % n) + 5);

    CALL(nvshmemrs_stream_synchronize(stream));
    CALL(nvshmemrs_stream_free(stream));
    return FREE_AND_LEAVE(inbox);
}
