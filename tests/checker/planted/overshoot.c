/* PE 0 collects a signal from each of its two helpers, and greets each as it comes.
 *
 * Bug: the first wait asks for exactly 1, but both helpers may have added by then: the value 1 is missed. It takes "at least".
 * The second helper takes its time, so that the program mostly gets through; should it hang, its waits have a limit.
 * PEs: 3
 * Expect: missed: signal_op at A, signal_wait at B
 */
#include "job.h"
#include <unistd.h>

int main(void)
{
    setenv("NVSHMEMRS_TIMEOUT", "5", 1);
    join();
    uint64_t *arrived = zeroed(1, sizeof *arrived);

    if (me == 0) {
        IF_MENDED(int first = NVSHMEMRS_CMP_GE);
        IF_PLANTED(int first = NVSHMEMRS_CMP_EQ);
        uint64_t seen = 0;
        int32_t status = nvshmemrs_signal_wait(rt, arrived, first, 1, &seen); /* B */
        EXPECT(status == NVSHMEMRS_SUCCESS && seen >= 1);
        if (status != NVSHMEMRS_SUCCESS && status != NVSHMEMRS_ERROR_TIMEOUT) {
            return 1;
        }
        CALL(nvshmemrs_signal_wait(rt, arrived, NVSHMEMRS_CMP_GE, 2, &seen));
    } else if (me <= 2) {
        usleep(30000 * (me - 1));
        CALL(nvshmemrs_signal_op(rt, arrived, 1, NVSHMEMRS_SIGNAL_ADD, 0)); /* A */
    }

    return FREE_AND_LEAVE(arrived);
}
