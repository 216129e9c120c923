/* PEs that are threads of one process, by a unique id; and several threads of a PE. */

#include "common.h"

#include <pthread.h>

#define PES 3
#define THREADS 3
#define ROUNDS 200

static nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;

static void *pe(void *number)
{
    const int own = (int)(intptr_t)number;
    nvshmemx_init_attr_t attr = NVSHMEMX_INIT_ATTR_INITIALIZER;
    nvshmemx_uniqueid_t copy = id;
    CHECK(nvshmemx_set_attr_uniqueid_args(own, PES, &copy, &attr) == 0);
    CHECK(nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID | NVSHMEMX_INIT_THREAD_PES, &attr) == 0);
    CHECK(nvshmem_my_pe() == own && nvshmem_n_pes() == PES);
    /* The same again counts; another place is an error. */
    CHECK(nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID | NVSHMEMX_INIT_THREAD_PES, &attr) == 0);
    nvshmem_finalize();
    CHECK(nvshmemx_set_attr_uniqueid_args((own + 1) % PES, PES, &copy, &attr) == 0);
    CHECK(nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID | NVSHMEMX_INIT_THREAD_PES, &attr) == NVSHMEMX_ERROR_INVALID_VALUE);
    long *word = nvshmem_calloc(1, sizeof *word);
    CHECK(word != NULL);
    nvshmemx_long_p_on_stream(word, own + 10, (own + 1) % PES, NULL);
    nvshmemx_barrier_all_on_stream(NULL);
    drain();
    CHECK(*word == (own + PES - 1) % PES + 10);
    CHECK(nvshmem_long_sum_reduce(NVSHMEM_TEAM_WORLD, word, word, 1) == 0 && *word == PES * 10 + PES * (PES - 1) / 2);
    nvshmem_free(word);
    nvshmem_finalize();
    return NULL;
}

static long *words;
static long *sum;

static void *thread(void *number)
{
    const long own = (long)(intptr_t)number;
    for (long round = 1; round <= ROUNDS; round++) {
        nvshmem_long_put_nbi(&words[own], &round, 1, next);
        nvshmem_quiet();
        nvshmem_long_atomic_add(sum, 1, (int)(round % n_pes));
        CHECK(nvshmem_long_g(&words[own], next) == round);
    }
    return NULL;
}

static void run(int count, void *(*body)(void *))
{
    pthread_t threads[8];
    for (long number = 0; number < count; number++)
        CHECK(pthread_create(&threads[number], NULL, body, (void *)(intptr_t)number) == 0);
    for (int number = 0; number < count; number++)
        pthread_join(threads[number], NULL);
}

int main(void)
{
    CHECK(nvshmemx_get_uniqueid(&id) == 0);
    run(PES, pe);
    begin();
    words = nvshmem_calloc(THREADS, sizeof *words);
    sum = nvshmem_calloc(1, sizeof *sum);
    run(THREADS, thread);
    nvshmem_barrier_all();
    long all = 0;
    for (int pe = 0; pe < n_pes; pe++)
        all += nvshmem_long_g(sum, pe);
    CHECK(all == (long)THREADS * ROUNDS * n_pes);
    end();
    return 0;
}
