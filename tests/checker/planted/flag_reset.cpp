/* PE 0 hands tasks to PE 1, one at a time, with a flag that PE 1 sets back for the next one.
 *
 * Bug: the flag of the next task may come before the old one has been set back, and is lost then. It takes a flag that grows.
 * Expect: mixed or two writers: signal_op at A, store at B
 * May: missed: signal_op at A, signal_wait at C
 */
#include "job.h"
#include <nvshmemrs/ffi.hpp>

#include <chrono>
#include <thread>

namespace ffi = nvshmemrs::ffi;

int main() {
    join();
    auto *flag = static_cast<std::uint64_t *>(zeroed(1, sizeof(std::uint64_t)));
    for (std::uint64_t task = 1; task <= 2; task++) {
#ifdef MENDED
        std::uint64_t value = task;
#else
        std::uint64_t value = 1;
#endif
        if (me == 0) {
            CALL(nvshmemrs_signal_op(rt, flag, value, NVSHMEMRS_SIGNAL_SET, 1)); // A
            // Time enough, one may think, for the other one to take it.
            std::this_thread::sleep_for(std::chrono::milliseconds(30));
        } else if (me == 1) {
            CALL(nvshmemrs_signal_wait(rt, flag, NVSHMEMRS_CMP_GE, value, nullptr)); // C
#ifndef MENDED
            *flag = 0; // B
#endif
        }
    }
    barrier();
    CALL(nvshmemrs_free(rt, flag));
    return leave();
}
