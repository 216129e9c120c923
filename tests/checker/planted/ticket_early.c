/* Each PE draws a ticket and writes its name to the place that the ticket gives it.
 *
 * Bug: the ticket is looked at before quiet, which would complete the atomic operation.
 * Expect: dest used: atomic_fetch_add_nbi at A, load at B
 */
#include "job.h"

int main(void)
{
    join();
    uint64_t *tickets = zeroed(1, sizeof *tickets), *names = zeroed(n, sizeof *names);
    uint64_t *ticket = calloc(1, sizeof *ticket);

    CALL(nvshmemrs_atomic_fetch_add64_nbi(rt, ticket, tickets, 1, 0)); /* A */
    IF_MENDED(CALL(nvshmemrs_quiet(rt)));
    uint64_t place = *ticket; /* B */
    IF_MENDED(CALL(nvshmemrs_p64(rt, names + place, me + 1, 0)));

    barrier();
    uint64_t sum = 0;
    for (int i = 0; i < n && me == 0; i++) {
        sum += names[i];
    }
    EXPECT((me != 0 || sum == (uint64_t)n * (n + 1) / 2) && place < (uint64_t)n);
    free(ticket);
    CALL(nvshmemrs_free(rt, names));
    CALL(nvshmemrs_free(rt, tickets));
    return leave();
}
