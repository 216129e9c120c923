/* One stream fetches a block, another one sends it on; an event orders the two.
 *
 * Bug: the event is recorded before the block is fetched.
 * Not instrumented: all are calls of the library.
 * Expect: two streams: get at A, put at B
 */
#include "job.h"

enum { WORDS = 8 };

int main(void)
{
    join();
    int64_t *block = zeroed(WORDS, sizeof *block), *copy = zeroed(WORDS, sizeof *copy), *inbox = zeroed(WORDS, sizeof *inbox);
    int64_t number = 40 + me, seen;
    CALL(nvshmemrs_put(rt, block, &number, sizeof number, me));
    barrier();
    nvshmemrs_stream_t fetching, sending;
    nvshmemrs_event_t fetched;
    CALL(nvshmemrs_stream_new(rt, &fetching));
    CALL(nvshmemrs_stream_new(rt, &sending));
    CALL(nvshmemrs_event_new(rt, &fetched));

    IF_PLANTED(CALL(nvshmemrs_event_record(fetched, fetching)));
    CALL(nvshmemrs_get(fetching, copy, block, WORDS * sizeof *block, (me + 1) % n)); /* A */
    IF_MENDED(CALL(nvshmemrs_event_record(fetched, fetching)));
    CALL(nvshmemrs_stream_wait_event(sending, fetched));
    CALL(nvshmemrs_put(sending, inbox, copy, WORDS * sizeof *copy, (me + 1) % n)); /* B */

    CALL(nvshmemrs_stream_synchronize(sending));
    CALL(nvshmemrs_stream_synchronize(fetching));
    barrier();
    CALL(nvshmemrs_get(rt, &seen, inbox, sizeof seen, me));
    EXPECT(seen == 40 + me);
    CALL(nvshmemrs_event_free(fetched));
    CALL(nvshmemrs_stream_free(sending));
    CALL(nvshmemrs_stream_free(fetching));
    return FREE_AND_LEAVE(inbox, copy, block);
}
