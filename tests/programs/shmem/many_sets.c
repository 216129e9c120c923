/* A PE in 256 active sets: those of the PEs from one in the lower half to one in the upper half, which all have the PE in the middle; and, as
 * one of those has all PEs, which takes no team, the set of the even PEs. */

#include "common.h"

enum { HALF = 16 };

int main(void)
{
    static long sync[SHMEM_BARRIER_SYNC_SIZE];
    shmem_init();
    me = shmem_my_pe(), n_pes = shmem_n_pes();
    CHECK(n_pes == 2 * HALF);
    int *sets = shmem_calloc(1, sizeof *sets), mine = 0;
    for (int first = 0; first < HALF; first++)
        for (int last = HALF; last < n_pes; last++) {
            if (me < first || me > last)
                continue;
            mine++;
            shmem_barrier(first, 0, last - first + 1, sync);
        }
    if (me % 2 == 0)
        mine++, shmem_barrier(0, 1, HALF, sync);
    CHECK(me != HALF || mine == HALF * HALF + 1);
    /* All are still there. */
    if (me <= HALF)
        shmem_barrier(0, 0, HALF + 1, sync);
    shmem_int_atomic_add(sets, mine, HALF);
    shmem_barrier_all();
    CHECK(me != HALF || *sets >= HALF * HALF);
    printf("PE %d: same\n", me);
    shmem_finalize();
    return 0;
}
