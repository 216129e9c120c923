/* A block goes on to the right neighbour while the next one is fetched from the left one, through one buffer.
 *
 * Bug: the get writes the buffer that put_nbi may still read.
 * Not instrumented: both are calls of the library.
 * Expect: source reused: put_nbi at A, get at B
 */
#include "job.h"

enum { BYTES = 256 };

int main(void)
{
    join();
    char *stock = zeroed(1, BYTES), *inbox = zeroed(1, BYTES);
    char block[BYTES], mine[BYTES];
    memset(mine, 'a' + me, BYTES);
    CALL(nvshmemrs_put(rt, stock, mine, BYTES, me));
    barrier();

    memset(block, 'A' + me, BYTES);
    CALL(nvshmemrs_put_nbi(rt, inbox, block, BYTES, (me + 1) % n)); /* A */
    IF_MENDED(CALL(nvshmemrs_quiet(rt)));
    CALL(nvshmemrs_get(rt, block, stock, BYTES, (me + n - 1) % n)); /* B */
    EXPECT(block[0] == 'a' + (me + n - 1) % n);
    barrier();
    CALL(nvshmemrs_get(rt, mine, inbox, BYTES, me));
    EXPECT(mine[0] == 'A' + (me + n - 1) % n);

    return FREE_AND_LEAVE(inbox, stock);
}
