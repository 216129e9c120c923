/* A job for the timeline. PE 0 puts data with a signal to PE 1, which waits for it; then all meet, and PE 0 does the same on a stream, for
 * a wait for several words. With the argument "killed" PE 1 kills itself after the barrier; with "many" both put more than there may be room for. The tests know lines by the words in the comments behind them. */

#include "check.h"

#include <signal.h>
#include <string.h>

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "";
    int32_t pe;
    nvshmemrs_runtime_t runtime = join(&pe);
    uint64_t *words, seen;
    char *data, local[1000] = {1};
    CHECK(nvshmemrs_calloc(runtime, 4, sizeof *words, (void **)&words));
    CHECK(nvshmemrs_malloc(runtime, sizeof local, (void **)&data));
    if (pe == 0) {
        usleep(20000);
        CHECK(nvshmemrs_put_signal(runtime, data, local, 1000, words, 7, NVSHMEMRS_SIGNAL_SET, 1)); /* line: put_signal */
        CHECK(nvshmemrs_quiet(runtime));
    } else {
        CHECK(nvshmemrs_signal_wait(runtime, words, NVSHMEMRS_CMP_GE, 1, &seen)); /* line: signal_wait */
    }
    CHECK(nvshmemrs_barrier(runtime, NVSHMEMRS_TEAM_WORLD)); /* line: barrier */
    if (strcmp(way, "killed") == 0 && pe == 1)
        raise(SIGKILL);
    nvshmemrs_stream_t stream;
    CHECK(nvshmemrs_stream_new(runtime, &stream));
    if (pe == 0) {
        usleep(10000);
        CHECK(nvshmemrs_p64(stream, words + 2, 9, 1)); /* line: p */
        CHECK(nvshmemrs_stream_synchronize(stream));
        CHECK(nvshmemrs_g64(runtime, words + 2, 1, &seen));
    } else {
        uint64_t nine = 9;
        int32_t status[] = {1, 0};
        CHECK(nvshmemrs_wait_until_all(runtime, words + 1, 2, status, NVSHMEMRS_CMP_EQ, &nine, NVSHMEMRS_DTYPE_UINT64)); /* line: wait_all */
    }
    for (int i = 0; strcmp(way, "many") == 0 && i < 40000; i++)
        CHECK(nvshmemrs_put(runtime, data, local, 8, 1 - pe));
    CHECK(nvshmemrs_finalize(runtime));
    return 0;
}
