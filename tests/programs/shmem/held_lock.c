/* PEs hold locks that are never released.
 *
 * Arguments: the scenario, which is sleep, barrier, crossed or thread; and a folder, but for the last: PEs 1 and 2 begin to wait when it has a
 * file of their number. The test makes that file once the board shows the wait of the PE before, so that no order depends on time. */

#include "common.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

static void *wants(void *lock)
{
    shmem_set_lock(lock);
    return NULL;
}

static void await_turn(const char *folder)
{
    char file[1024];
    CHECK(snprintf(file, sizeof file, "%s/%d", folder, me) < (int)sizeof file);
    while (access(file, F_OK) != 0)
        usleep(1000);
}

int main(int argc, char **argv)
{
    const char *instead = argc > 1 ? argv[1] : "", *folder = argc > 2 ? argv[2] : ".";
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
        if (me > 0)
            await_turn(folder);
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
        await_turn(folder);
        shmem_set_lock(&locks[0]);
    } else if (strcmp(instead, "barrier") == 0) {
        shmem_barrier_all();
    } else {
        sleep(60);
    }
    return 0;
}
