/* Locks: a counter that only the holder touches, test_lock, and a lock for each PE. With the argument `dies` the holder is killed. */

#include "common.h"

#include <signal.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    begin();
    long *lock = shmem_calloc(4, sizeof *lock);
    long *counter = shmem_calloc(2, sizeof *counter);
    shmem_barrier_all();
    if (argc > 1 && strcmp(argv[1], "dies") == 0) {
        if (me == 0) {
            shmem_set_lock(lock);
            shmem_barrier_all();
            usleep(200000);
            raise(SIGKILL);
        }
        shmem_barrier_all();
        shmem_set_lock(lock);
        return 0;
    }
    for (int round = 0; round < 300; round++) {
        shmem_set_lock(lock);
        const long seen = shmem_long_g(counter, 0);
        CHECK(shmem_long_g(counter + 1, 0) == seen);
        shmem_long_p(counter, seen + 1, 0);
        shmem_long_p(counter + 1, seen + 1, 0);
        shmem_clear_lock(lock);
    }
    shmem_barrier_all();
    CHECK(shmem_long_g(counter, 0) == 300L * n_pes);
    int taken = 0;
    while (taken < 50) {
        if (shmem_test_lock(lock + 1) == 0) {
            const long seen = shmem_long_g(counter, n_pes - 1);
            shmem_long_p(counter, seen + 1, n_pes - 1);
            shmem_clear_lock(lock + 1);
            taken++;
            /* Once only: while PEs queue up again and again, the lock is never free, and test_lock never succeeds. */
            if (taken % 5 == 0) {
                shmem_set_lock(lock + 1);
                shmem_clear_lock(lock + 1);
            }
        }
    }
    shmem_barrier_all();
    CHECK(shmem_long_g(counter, n_pes - 1) == (n_pes == 1 ? 350 : 50L * n_pes));
    end();
    return 0;
}
