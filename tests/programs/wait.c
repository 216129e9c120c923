/* Every PE but the last waits for a signal. The last one sends it once the file exists that the first
 * argument names; without an argument, never. */

#include "check.h"

int main(int argc, char **argv)
{
    int32_t pe, n_pes;
    nvshmemrs_runtime_t runtime = join(&pe);
    void *memory;
    CHECK(nvshmemrs_n_pes(runtime, &n_pes));
    CHECK(nvshmemrs_calloc(runtime, 1, sizeof(uint64_t), &memory));
    uint64_t *signal = memory;

    if (pe < n_pes - 1) {
        CHECK(nvshmemrs_signal_wait(runtime, signal, NVSHMEMRS_CMP_GE, 1, NULL));
    } else {
        while (argc < 2 || access(argv[1], F_OK) != 0)
            usleep(10000);
        for (int32_t other = 0; other < n_pes - 1; other++)
            CHECK(nvshmemrs_signal_op(runtime, signal, 1, NVSHMEMRS_SIGNAL_SET, other));
    }
    CHECK(nvshmemrs_finalize(runtime));
    return 0;
}
