/* Several threads of each PE take the same locks, those of other PEs meanwhile, too. */

#include "common.h"

#include <pthread.h>

#define THREADS 3
#define ROUNDS 60

static long locks[2], counts[2];

static void *thread(void *unused)
{
    for (int round = 0; round < ROUNDS; round++) {
        const int of = round % 2;
        if (round % 3 == 0) {
            while (shmem_test_lock(&locks[of]) != 0) {
            }
        } else {
            shmem_set_lock(&locks[of]);
        }
        /* No atomic operation: only the lock keeps the others out. */
        shmem_long_p(&counts[of], shmem_long_g(&counts[of], n_pes - 1) + 1, n_pes - 1);
        shmem_clear_lock(&locks[of]);
    }
    return unused;
}

int main(void)
{
    int provided = 0;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    me = shmem_my_pe(), n_pes = shmem_n_pes();
    pthread_t threads[THREADS];
    for (int number = 0; number < THREADS; number++)
        CHECK(pthread_create(&threads[number], NULL, thread, NULL) == 0);
    for (int number = 0; number < THREADS; number++)
        pthread_join(threads[number], NULL);
    shmem_barrier_all();
    for (int of = 0; of < 2; of++)
        CHECK(shmem_long_g(&counts[of], n_pes - 1) == (long)THREADS * ROUNDS / 2 * n_pes);
    end();
    return 0;
}
