/* One stream adds up a row, another one sends the sum to the left.
 *
 * Bug: the second stream does not wait for the first.
 * Not instrumented: both are calls of the library.
 * Expect: two streams: reduce at A, put at B
 */
#include "job.h"

int main()
{
    join();
    auto *row = static_cast<int64_t *>(zeroed(1, sizeof(int64_t))), *sum = static_cast<int64_t *>(zeroed(1, sizeof(int64_t)));
    auto *inbox = static_cast<int64_t *>(zeroed(1, sizeof(int64_t)));
    int64_t mine = me, seen;
    CALL(nvshmemrs_put(rt, row, &mine, sizeof mine, me));
    barrier();
    nvshmemrs_stream_t adding, sending;
    nvshmemrs_event_t added;
    CALL(nvshmemrs_stream_new(rt, &adding));
    CALL(nvshmemrs_stream_new(rt, &sending));
    CALL(nvshmemrs_event_new(rt, &added));

    CALL(nvshmemrs_reduce(adding, NVSHMEMRS_TEAM_WORLD, sum, row, 1, NVSHMEMRS_DTYPE_INT64, NVSHMEMRS_OP_SUM)); /* A */
    CALL(nvshmemrs_event_record(added, adding));
    IF_MENDED(CALL(nvshmemrs_stream_wait_event(sending, added)));
    CALL(nvshmemrs_put(sending, inbox, sum, sizeof *sum, (me + 1) % n)); /* B */

    CALL(nvshmemrs_stream_synchronize(sending));
    CALL(nvshmemrs_stream_synchronize(adding));
    barrier();
    CALL(nvshmemrs_get(rt, &seen, inbox, sizeof seen, me));
    EXPECT(seen == n * (n - 1) / 2);
    barrier();
    CALL(nvshmemrs_event_free(added));
    CALL(nvshmemrs_stream_free(sending));
    CALL(nvshmemrs_stream_free(adding));
    CALL(nvshmemrs_free(rt, inbox));
    CALL(nvshmemrs_free(rt, sum));
    CALL(nvshmemrs_free(rt, row));
    return leave();
}
