/* The work of a step, and the put of its result, are queued on a stream.
 *
 * Bug: the caller meets the others without waiting for the stream.
 * Expect: read early or write early: put at A, load at B
 */
#include "job.h"
#include <unistd.h>

static int64_t result;

static int32_t work(void *unused)
{
    (void)unused;
    usleep(50000);
    result = 40 + me;
    return 0;
}

int main(void)
{
    join();
    int64_t *inbox = zeroed(1, sizeof *inbox);
    nvshmemrs_stream_t stream = new_stream();

    CALL(nvshmemrs_stream_call(stream, work, NULL));
    CALL(nvshmemrs_put(stream, inbox, &result, sizeof result, (me + 1) % n)); /* A */
    IF_MENDED(CALL(nvshmemrs_stream_synchronize(stream)));
    barrier();
    int64_t received = inbox[0]; /* B */
    EXPECT(received == 40 + (me + n - 1) % n);

    CALL(nvshmemrs_stream_synchronize(stream));
    CALL(nvshmemrs_stream_free(stream));
    return FREE_AND_LEAVE(inbox);
}
