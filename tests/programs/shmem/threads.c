/* Several threads of each PE, each with a context of its own. */

#include "common.h"

#include <pthread.h>

#define THREADS 3
#define ROUNDS 200

static long *words;
static long *sum;

static void *thread(void *number)
{
    const long own = (long)(intptr_t)number;
    shmem_ctx_t ctx;
    CHECK(shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx) == 0);
    for (long round = 1; round <= ROUNDS; round++) {
        shmem_ctx_long_put_nbi(ctx, &words[own], &round, 1, next);
        shmem_ctx_quiet(ctx);
        shmem_ctx_long_atomic_add(ctx, sum, 1, (int)(round % n_pes));
        CHECK(shmem_ctx_long_g(ctx, &words[own], next) == round);
    }
    shmem_ctx_quiet(ctx);
    shmem_ctx_destroy(ctx);
    return NULL;
}

int main(void)
{
    int provided = 0;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    me = shmem_my_pe(), n_pes = shmem_n_pes(), next = (me + 1) % n_pes;
    words = shmem_calloc(THREADS, sizeof *words);
    sum = shmem_calloc(1, sizeof *sum);
    pthread_t threads[THREADS];
    for (long number = 0; number < THREADS; number++)
        CHECK(pthread_create(&threads[number], NULL, thread, (void *)(intptr_t)number) == 0);
    for (int number = 0; number < THREADS; number++)
        pthread_join(threads[number], NULL);
    shmem_barrier_all();
    long all = 0;
    for (int pe = 0; pe < n_pes; pe++)
        all += shmem_long_g(sum, pe);
    CHECK(all == (long)THREADS * ROUNDS * n_pes);
    end();
    return 0;
}
