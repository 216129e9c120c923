/* A table is fetched from the neighbour into symmetric memory, and turns out not to be needed.
 *
 * Bug: the memory is given back while the get may still write it.
 * Not instrumented: both are calls of the library.
 * Expect: freed while pending: get_nbi at A, free at B
 */
#include "job.h"

enum { WORDS = 128 };

int main(void)
{
    join();
    int64_t *table = zeroed(WORDS, sizeof *table), *copy = zeroed(WORDS, sizeof *copy);

    CALL(nvshmemrs_get_nbi(rt, copy, table, WORDS * sizeof *copy, (me + 1) % n)); /* A */
    IF_MENDED(CALL(nvshmemrs_quiet(rt)));
    CALL(nvshmemrs_free(rt, copy)); /* B */
    CALL(nvshmemrs_free(rt, table));
    return leave();
}
