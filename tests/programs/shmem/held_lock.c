/* PEs hold locks that are never released. The argument chooses the scenario: sleep, barrier, crossed or thread. */

#include "common.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

static void *wants(void *lock)
{
    shmem_set_lock(lock);
    return NULL;
}

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
    if (strcmp(instead, "thread") == 0) {
        /* Another thread of PE 0 wants the lock of this one, and PE 1 dies. */
        pthread_t thread;
        if (me == 0)
            CHECK(pthread_create(&thread, NULL, wants, &locks[0]) == 0);
        usleep(300000);
        if (me == 1)
            raise(SIGKILL);
        sleep(60);
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
