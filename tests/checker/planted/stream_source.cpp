/* Each PE sends two blocks on a stream, from one buffer.
 *
 * Bug: the buffer is filled with the second block while the first may not have been sent.
 * Expect: stream and caller: put at A, store at B
 */
#include "job.h"
#include <vector>

int main()
{
    join();
    const int words = 8;
    auto *inbox = static_cast<int64_t *>(zeroed(2 * words, sizeof(int64_t)));
    std::vector<int64_t> block(words, me);
    nvshmemrs_stream_t stream;
    CALL(nvshmemrs_stream_new(rt, &stream));

    for (int turn = 0; turn < 2; turn++) {
        block[0] = 10 * me + turn; /* B */
        CALL(nvshmemrs_put(stream, inbox + turn * words, block.data(), words * sizeof(int64_t), (me + 1) % n)); /* A */
        IF_MENDED(CALL(nvshmemrs_stream_synchronize(stream)));
    }

    CALL(nvshmemrs_stream_synchronize(stream));
    barrier();
    int64_t left = (me + n - 1) % n;
    EXPECT(inbox[0] == 10 * left && inbox[words] == 10 * left + 1);
    barrier();
    CALL(nvshmemrs_stream_free(stream));
    CALL(nvshmemrs_free(rt, inbox));
    return leave();
}
