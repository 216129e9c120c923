/* PE 0 never releases a lock that the others want, in the order of their numbers; what it does instead is the argument. */

#include "common.h"

#include <unistd.h>

int main(int argc, char **argv)
{
    const char *instead = argc > 1 ? argv[1] : "";
    begin();
    if (me == 0) {
        printf("PE 0 is %d\n", (int)getpid());
        fflush(stdout);
    }
    long *locks = shmem_calloc(2, sizeof *locks);
    if (me <= 1)
        shmem_set_lock(&locks[me]);
    shmem_barrier_all();
    if (strcmp(instead, "crossed") == 0) {
        /* PEs 0 and 1 want each other's lock; the last PE comes after PE 1. */
        usleep(300000 * (useconds_t)me);
        shmem_set_lock(&locks[me == 0]);
        return 0;
    }
    if (me > 0) {
        usleep(300000 * (useconds_t)me);
        shmem_set_lock(&locks[0]);
    } else if (strcmp(instead, "barrier") == 0) {
        shmem_barrier_all();
    } else {
        sleep(60);
    }
    return 0;
}
