/* A program keeps the newest row and gives back the old one; then it works with larger blocks.
 *
 * Bug: the old row, which is freed, is still written to; it may be somebody else's by then.
 * Not instrumented: nobody sees the store, but the memory is looked at before it is used again.
 * Expect: freed: free at A, free at B
 */
#include "job.h"

int main(void)
{
    setenv("NVSHMEM_SYMMETRIC_SIZE", "1M", 1);
    join();
    int64_t *old = zeroed(4, sizeof *old), *row = zeroed(4, sizeof *row);
    CALL(nvshmemrs_free(rt, old)); /* A */
    IF_PLANTED(row = old);
    row[0] = me + 1;
    EXPECT(row[0] == me + 1);

    for (int i = 0; i < 5; i++) {
        void *block = zeroed(1, 100 << 10);
        CALL(nvshmemrs_free(rt, block)); /* B */
    }
    return leave();
}
