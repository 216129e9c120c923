/* A PE writes a record to its neighbour, and reads it again to be sure.
 *
 * Bug: until quiet the put may be on its way, and the get finds what was there before.
 * Not instrumented: both are calls of the library.
 * Expect: read back: put at A, get at B
 */
#include "job.h"

enum { BYTES = 48 };

int main(void)
{
    join();
    char *record = zeroed(1, BYTES), text[BYTES], again[BYTES];
    int right = (me + 1) % n;
    memset(text, 'x', BYTES);

    CALL(nvshmemrs_put(rt, record, text, BYTES, right)); /* A */
    IF_MENDED(CALL(nvshmemrs_quiet(rt)));
    CALL(nvshmemrs_get(rt, again, record, BYTES, right)); /* B */
    EXPECT(memcmp(text, again, BYTES) == 0);

    return FREE_AND_LEAVE(record);
}
