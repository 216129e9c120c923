/* PE 2 comes two seconds late, for which the others wait. */

#include "common.h"

#include <unistd.h>

int main(void)
{
    static long flag;
    shmem_init();
    me = shmem_my_pe();
    if (me == 2) {
        sleep(2);
        shmem_long_p(&flag, 1, 1);
    }
    if (me == 1)
        shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
    shmem_barrier_all();
    printf("PE %d: same\n", me);
    shmem_finalize();
    return 0;
}
