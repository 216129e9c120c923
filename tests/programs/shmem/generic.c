/* Calls without a type in their name: C11 chooses by the pointer's type, C++ by overloads. Compiled as both. */

#include "common.h"

#define EACH_TYPE(X) \
    X(float) X(double) X(long double) X(char) X(signed char) X(short) X(int) X(long) X(long long) X(unsigned char) X(unsigned short) \
    X(unsigned int) X(unsigned long) X(unsigned long long)
#define ATOMIC_TYPE(X) X(int) X(long) X(long long) X(unsigned int) X(unsigned long) X(unsigned long long)

#define N 4

#define MOVES(T) \
    { \
        T *dest = (T *)there, own[N]; \
        const T *source = own; \
        for (int i = 0; i < N; i++) \
            own[i] = (T)(me + i + 1); \
        shmem_barrier_all(); \
        shmem_put(dest, source, N, next); \
        shmem_put(ctx, dest + N, own, N, next); \
        shmem_barrier_all(); \
        CHECK(dest[1] == (T)(before + 2) && dest[2 * N - 1] == (T)(before + N)); \
        CHECK(shmem_g(dest, next) == (T)(me + 1) && shmem_g(ctx, dest + 1, next) == (T)(me + 2)); \
        shmem_barrier_all(); \
        shmem_p(dest, (T)9, next); \
        shmem_p(ctx, dest + 1, (T)8, next); \
        shmem_put_nbi(dest + 2, source, 1, next); \
        shmem_put_nbi(ctx, dest + 3, source, 1, next); \
        shmem_iput(dest + 4, source, 1, 1, 2, next); \
        shmem_iput(ctx, dest + 6, source, 1, 1, 2, next); \
        shmem_barrier_all(); \
        CHECK(dest[0] == (T)9 && dest[1] == (T)8 && dest[3] == (T)(before + 1) && dest[7] == (T)(before + 2)); \
        T got[N]; \
        shmem_get(got, dest, 2, next); \
        shmem_get(ctx, got + 2, dest, 2, next); \
        CHECK(got[0] == (T)9 && got[3] == (T)8); \
        shmem_get_nbi(got, dest + 1, 1, next); \
        shmem_get_nbi(ctx, got + 1, dest, 1, next); \
        shmem_quiet(); \
        CHECK(got[0] == (T)8 && got[1] == (T)9); \
        shmem_iget(got, dest, 2, 1, 2, next); \
        CHECK(got[2] == (T)8); \
        shmem_barrier_all(); \
        shmem_put_signal(dest, source, 1, sig, 1, SHMEM_SIGNAL_ADD, next); \
        shmem_put_signal_nbi(ctx, dest + 1, source, 1, sig, 1, SHMEM_SIGNAL_ADD, next); \
        expected += 2; \
        shmem_signal_wait_until(sig, SHMEM_CMP_EQ, expected); \
        shmem_barrier_all(); \
        CHECK(shmem_broadcast(SHMEM_TEAM_WORLD, dest, source_of(T), 1, 0) == 0); \
        CHECK(shmem_fcollect(SHMEM_TEAM_WORLD, dest, source_of(T), 1) == 0); \
        CHECK(shmem_collect(SHMEM_TEAM_WORLD, dest, source_of(T), 1) == 0); \
        CHECK(shmem_alltoall(SHMEM_TEAM_WORLD, dest, source_of(T), 1) == 0); \
        CHECK(shmem_alltoalls(SHMEM_TEAM_WORLD, dest, source_of(T), 1, 1, 1) == 0); \
        *source_of(T) = (T)(me + 1); \
        shmem_barrier_all(); \
        CHECK(shmem_max_reduce(SHMEM_TEAM_WORLD, dest, source_of(T), 1) == 0 && *dest == (T)n_pes); \
        CHECK(shmem_sum_reduce(SHMEM_TEAM_WORLD, dest, source_of(T), 1) == 0 && *dest == (T)(n_pes * (n_pes + 1) / 2)); \
        CHECK(shmem_sum_inscan(SHMEM_TEAM_WORLD, dest, source_of(T), 1) == 0 && *dest == (T)((me + 1) * (me + 2) / 2)); \
        shmem_barrier_all(); \
    }
#define source_of(T) ((T *)(there + 512))

#define ATOMICS(T) \
    { \
        T *word = (T *)there, got; \
        volatile T *watched = word; \
        *word = (T)5; \
        shmem_barrier_all(); \
        CHECK(shmem_atomic_fetch_add(word, (T)1, next) == (T)5); \
        shmem_wait_until(watched, SHMEM_CMP_EQ, (T)6); \
        shmem_barrier_all(); \
        CHECK(shmem_atomic_fetch(word, next) == (T)6 && shmem_atomic_fetch(ctx, word, next) == (T)6); \
        shmem_barrier_all(); \
        shmem_atomic_inc(word, next); \
        shmem_atomic_add(ctx, word, (T)2, next); \
        shmem_barrier_all(); \
        CHECK(shmem_test(word, SHMEM_CMP_EQ, (T)9) == 1); \
        shmem_barrier_all(); \
        CHECK(shmem_atomic_compare_swap(ctx, word, (T)9, (T)3, next) == (T)9); \
        shmem_barrier_all(); \
        CHECK(shmem_atomic_swap(word, (T)4, next) == (T)3); \
        shmem_barrier_all(); \
        shmem_atomic_fetch_inc_nbi(&got, word, next); \
        shmem_quiet(); \
        CHECK(got == (T)4); \
        shmem_barrier_all(); \
        shmem_atomic_set(word, (T)1, next); \
        shmem_wait_until_all(word, 1, NULL, SHMEM_CMP_EQ, (T)1); \
        shmem_barrier_all(); \
        DEPRECATED(T) \
    }
/* The deprecated names take every type of the present ones. */
#define DEPRECATED(T) \
    CHECK(shmem_fadd(word, (T)2, next) == (T)1); \
    shmem_barrier_all(); \
    CHECK(shmem_cswap(word, (T)3, (T)8, next) == (T)3); \
    shmem_barrier_all(); \
    CHECK(shmem_finc(word, next) == (T)8); \
    shmem_barrier_all(); \
    shmem_inc(word, next); \
    shmem_add(word, (T)2, next); \
    shmem_barrier_all(); \
    CHECK(shmem_swap(word, (T)4, next) == (T)12); \
    shmem_barrier_all(); \
    shmem_set(word, (T)6, next); \
    shmem_barrier_all(); \
    CHECK(*word == (T)6 && shmem_fetch(word, next) == (T)6); \
    shmem_barrier_all();

static char *there;

int main(void)
{
    begin();
    there = (char *)shmem_align(64, 1024);
    uint64_t *sig = (uint64_t *)shmem_calloc(1, sizeof *sig), expected = 0;
    shmem_ctx_t ctx;
    CHECK(shmem_ctx_create(0, &ctx) == 0);
    EACH_TYPE(MOVES)
    ATOMIC_TYPE(ATOMICS)
    uint32_t *bits = (uint32_t *)there;
    *bits = 12;
    shmem_barrier_all();
    CHECK(shmem_atomic_fetch_and(bits, 10u, next) == 12);
    shmem_barrier_all();
    shmem_atomic_xor(ctx, bits, 1u, next);
    shmem_barrier_all();
    CHECK(*bits == 9);
    int64_t *signed_bits = (int64_t *)there;
    *signed_bits = 12;
    shmem_barrier_all();
    CHECK(shmem_atomic_fetch_or(signed_bits, (int64_t)3, next) == 12);
    shmem_barrier_all();
    int8_t *small = (int8_t *)there;
    *small = (int8_t)(me == 0 ? 7 : 5);
    shmem_barrier_all();
    CHECK(shmem_and_reduce(SHMEM_TEAM_WORLD, small + 1, small, 1) == 0 && small[1] == (n_pes > 1 ? 5 : 7));
    /* Deprecated names that only move data take floating-point numbers, too. */
    double *real = (double *)there;
    *real = 0.5;
    shmem_barrier_all();
    CHECK(shmem_swap(real, 1.5, next) == 0.5);
    shmem_barrier_all();
    shmem_set(real, 2.5, next);
    shmem_barrier_all();
    CHECK(*real == 2.5 && shmem_fetch(real, next) == 2.5);
    CHECK(shmem_sync(SHMEM_TEAM_WORLD) == 0);
    static long sync[SHMEM_SYNC_SIZE];
    shmem_sync(0, 0, n_pes, sync);
    shmem_ctx_destroy(ctx);
    end();
    return 0;
}
