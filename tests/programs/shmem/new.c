/* The additions of OpenSHMEM 1.6, and the count of inits: a second init. */

#include "common.h"

#define N 12

#define BLOCKS(TAG, T) \
    static void blocks_##TAG(void *there) \
    { \
        T *dest = there, own[N], got[N]; \
        for (int i = 0; i < N; i++) \
            dest[i] = 0, own[i] = (T)(me + i), got[i] = 0; \
        shmem_barrier_all(); \
        shmem_##TAG##_ibput(dest, own, 4, 2, 2, 3, next); \
        shmem_barrier_all(); \
        for (int i = 0; i < N; i++) \
            CHECK(dest[i] == (i % 4 < 2 ? (T)(before + 2 * (i / 4) + i % 4) : (T)0)); \
        shmem_##TAG##_ibget(got, dest, 3, 4, 2, 3, next); \
        for (int i = 0; i < 9; i++) \
            CHECK(got[i] == (i % 3 < 2 ? (T)(me + 2 * (i / 3) + i % 3) : (T)0)); \
        shmem_barrier_all(); \
    }
RMA_TYPES(BLOCKS)

int main(void)
{
    int initialized = -1;
    shmem_query_initialized(&initialized);
    CHECK(initialized == 0);
    begin();
    shmem_init();
    shmem_finalize();
    shmem_query_initialized(&initialized);
    CHECK(initialized == 1 && shmem_my_pe() == me);

    void *there = shmem_align(64, N * sizeof(long double));
#define EACH(TAG, T) blocks_##TAG(there);
    RMA_TYPES(EACH)
    uint32_t *words = there, own[4] = {1, 2, 3, 4};
    memset(words, 0, 32);
    shmem_barrier_all();
    shmem_ibput32(words, own, 3, 2, 2, 2, next);
    shmem_ctx_ibput64(SHMEM_CTX_DEFAULT, words + 8, own, 1, 1, 1, 2, next);
    shmem_barrier_all();
    CHECK(words[0] == 1 && words[1] == 2 && words[2] == 0 && words[3] == 3 && words[4] == 4 && words[11] == 4);
    shmem_ibget32(own, words, 2, 3, 2, 2, me);
    CHECK(own[2] == 3);

    uint64_t *sig = shmem_calloc(1, sizeof *sig);
    shmem_signal_add(sig, 5, next);
    CHECK(shmem_signal_wait_until(sig, SHMEM_CMP_EQ, 5) == 5);
    shmem_barrier_all();
    shmem_ctx_signal_set(SHMEM_CTX_DEFAULT, sig, 2, next);
    CHECK(shmem_signal_wait_until(sig, SHMEM_CMP_NE, 5) == 2);
    shmem_pe_quiet(&next, 1);
    shmem_ctx_pe_quiet(SHMEM_CTX_DEFAULT, &next, 1);
    int *own_copy = shmem_team_ptr(SHMEM_TEAM_WORLD, there, me);
    CHECK(own_copy == there);
    shmem_ctx_session_config_t config = {.total_ops = 10};
    shmem_ctx_session_start(SHMEM_CTX_DEFAULT, SHMEM_CTX_SESSION_BATCH, &config, SHMEM_CTX_SESSION_TOTAL_OPS);
    shmem_ctx_session_stop(SHMEM_CTX_DEFAULT);
    end();
    shmem_query_initialized(&initialized);
    CHECK(initialized == 0);
    return 0;
}
