/* Put, get, p, g, strided and non-blocking forms of every type and size, with and without a context: the element, its neighbours, and the
 * other PE. */

#include "common.h"

#define N 12
#define UNTOUCHED 77

/* Symmetric memory for all types. */
static unsigned char *there;

#define VALUE(T, PE, INDEX) ((T)(1 + ((PE) * 13 + (INDEX)) % 60))

#define FILL(T) \
    T *dest = (T *)there, own[N]; \
    shmem_barrier_all(); \
    for (int i = 0; i < N + 2; i++) \
        dest[i] = (T)UNTOUCHED; \
    for (int i = 0; i < N; i++) \
        own[i] = VALUE(T, me, i); \
    shmem_barrier_all()

/* The previous PE's put has arrived, and the elements beside it are unchanged. */
#define ARRIVED(T, FIRST, STEP, COUNT) \
    shmem_barrier_all(); \
    for (int i = 0; i < N + 2; i++) { \
        const int k = i - (FIRST); \
        const int hit = k >= 0 && k % (STEP) == 0 && k / (STEP) < (COUNT); \
        CHECK(dest[i] == (hit ? VALUE(T, before, k / (STEP)) : (T)UNTOUCHED)); \
    }

#define PUTS(TAG, T) \
    static void puts_##TAG(shmem_ctx_t ctx) \
    { \
        { FILL(T); shmem_##TAG##_put(dest + 1, own, N, next); ARRIVED(T, 1, 1, N) } \
        { FILL(T); shmem_##TAG##_put_nbi(dest + 1, own, N, next); shmem_quiet(); ARRIVED(T, 1, 1, N) } \
        { FILL(T); shmem_ctx_##TAG##_put(ctx, dest + 1, own, N, next); shmem_ctx_quiet(ctx); ARRIVED(T, 1, 1, N) } \
        { FILL(T); shmem_ctx_##TAG##_put_nbi(ctx, dest + 1, own, N, next); shmem_ctx_quiet(ctx); ARRIVED(T, 1, 1, N) } \
        { FILL(T); shmem_##TAG##_p(dest + 3, own[0], next); ARRIVED(T, 3, 1, 1) } \
        { FILL(T); shmem_ctx_##TAG##_p(ctx, dest + 3, own[0], next); shmem_ctx_quiet(ctx); ARRIVED(T, 3, 1, 1) } \
        { FILL(T); shmem_##TAG##_iput(dest + 1, own, 3, 1, 4, next); ARRIVED(T, 1, 3, 4) } \
        { FILL(T); shmem_ctx_##TAG##_iput(ctx, dest + 1, own, 3, 1, 4, next); shmem_ctx_quiet(ctx); ARRIVED(T, 1, 3, 4) } \
    }
RMA_TYPES(PUTS)

/* The get has fetched the other PE's elements, and nothing beside them. */
#define GOT(T, COUNT) \
    for (int i = 0; i < N; i++) \
        CHECK(own[i] == (i < (COUNT) ? VALUE(T, next, i + 1) : (T)UNTOUCHED))

#define GETS_FILL(T) \
    T *source = (T *)there, own[N]; \
    shmem_barrier_all(); \
    for (int i = 0; i < N + 2; i++) \
        source[i] = VALUE(T, me, i); \
    for (int i = 0; i < N; i++) \
        own[i] = (T)UNTOUCHED; \
    shmem_barrier_all()

#define GETS(TAG, T) \
    static void gets_##TAG(shmem_ctx_t ctx) \
    { \
        { GETS_FILL(T); shmem_##TAG##_get(own, source + 1, N - 2, next); GOT(T, N - 2); } \
        { GETS_FILL(T); shmem_##TAG##_get_nbi(own, source + 1, N - 2, next); shmem_quiet(); GOT(T, N - 2); } \
        { GETS_FILL(T); shmem_ctx_##TAG##_get(ctx, own, source + 1, N - 2, next); GOT(T, N - 2); } \
        { GETS_FILL(T); shmem_ctx_##TAG##_get_nbi(ctx, own, source + 1, N - 2, next); shmem_ctx_quiet(ctx); GOT(T, N - 2); } \
        { GETS_FILL(T); own[0] = shmem_##TAG##_g(source + 1, next); GOT(T, 1); } \
        { GETS_FILL(T); own[0] = shmem_ctx_##TAG##_g(ctx, source + 1, next); GOT(T, 1); } \
        { GETS_FILL(T); shmem_##TAG##_iget(own, source + 1, 1, 1, 5, next); GOT(T, 5); } \
        { GETS_FILL(T); shmem_ctx_##TAG##_iget(ctx, own, source + 1, 1, 1, 5, next); GOT(T, 5); } \
        { \
            GETS_FILL(T); \
            shmem_##TAG##_iget(own, source + 1, 2, 3, 3, next); \
            for (int i = 0; i < 6; i++) \
                CHECK(own[i] == (i % 2 == 0 ? VALUE(T, next, 1 + 3 * (i / 2)) : (T)UNTOUCHED)); \
        } \
    }
RMA_TYPES(GETS)

#define SIZED(B, T) \
    static void sized_##B(shmem_ctx_t ctx) \
    { \
        { FILL(T); shmem_put##B(dest + 1, own, N, next); ARRIVED(T, 1, 1, N) } \
        { FILL(T); shmem_put##B##_nbi(dest + 1, own, N, next); shmem_quiet(); ARRIVED(T, 1, 1, N) } \
        { FILL(T); shmem_ctx_put##B(ctx, dest + 1, own, N, next); shmem_ctx_quiet(ctx); ARRIVED(T, 1, 1, N) } \
        { FILL(T); shmem_iput##B(dest + 1, own, 3, 1, 4, next); ARRIVED(T, 1, 3, 4) } \
        { FILL(T); shmem_ctx_iput##B(ctx, dest + 1, own, 3, 1, 4, next); shmem_ctx_quiet(ctx); ARRIVED(T, 1, 3, 4) } \
        { GETS_FILL(T); shmem_get##B(own, source + 1, N - 2, next); GOT(T, N - 2); } \
        { GETS_FILL(T); shmem_get##B##_nbi(own, source + 1, N - 2, next); shmem_quiet(); GOT(T, N - 2); } \
        { GETS_FILL(T); shmem_ctx_get##B(ctx, own, source + 1, N - 2, next); GOT(T, N - 2); } \
        { GETS_FILL(T); shmem_iget##B(own, source + 1, 1, 1, 5, next); GOT(T, 5); } \
        { GETS_FILL(T); shmem_ctx_iget##B(ctx, own, source + 1, 1, 1, 5, next); GOT(T, 5); } \
    }
SIZES(SIZED)

static void bytes(shmem_ctx_t ctx)
{
    typedef unsigned char T;
    { FILL(T); shmem_putmem(dest + 1, own, N, next); ARRIVED(T, 1, 1, N) }
    { FILL(T); shmem_putmem_nbi(dest + 1, own, N, next); shmem_quiet(); ARRIVED(T, 1, 1, N) }
    { FILL(T); shmem_ctx_putmem(ctx, dest + 1, own, N, next); shmem_ctx_quiet(ctx); ARRIVED(T, 1, 1, N) }
    { GETS_FILL(T); shmem_getmem(own, source + 1, N - 2, next); GOT(T, N - 2); }
    { GETS_FILL(T); shmem_getmem_nbi(own, source + 1, N - 2, next); shmem_quiet(); GOT(T, N - 2); }
    { GETS_FILL(T); shmem_ctx_getmem(ctx, own, source + 1, N - 2, next); GOT(T, N - 2); }
}

/* 16 bytes at a time: pairs of numbers. */
static void wide(shmem_ctx_t ctx)
{
    uint64_t *dest = (uint64_t *)there, own[8], got[8] = {0};
    for (int i = 0; i < 8; i++)
        own[i] = (uint64_t)(me * 100 + i);
    shmem_barrier_all();
    shmem_put128(dest, own, 2, next);
    shmem_ctx_put128(ctx, dest + 4, own + 4, 2, next);
    shmem_barrier_all();
    for (int i = 0; i < 8; i++)
        CHECK(dest[i] == (uint64_t)(before * 100 + i));
    shmem_get128(got, dest, 4, next);
    for (int i = 0; i < 8; i++)
        CHECK(got[i] == (uint64_t)(me * 100 + i));
    shmem_barrier_all();
    shmem_iput128(dest, own, 2, 1, 2, next);
    shmem_barrier_all();
    CHECK(dest[0] == (uint64_t)(before * 100) && dest[1] == (uint64_t)(before * 100 + 1));
    CHECK(dest[4] == (uint64_t)(before * 100 + 2) && dest[5] == (uint64_t)(before * 100 + 3));
}

#ifdef SHMEM_SIGNAL_SET
/* The data is there when the signal is. OpenSHMEM 1.5. */
#define SIGNALS(TAG, T) \
    static void signals_##TAG(shmem_ctx_t ctx, uint64_t *sig, uint64_t *expected) \
    { \
        { FILL(T); \
            shmem_##TAG##_put_signal(dest + 1, own, N, sig, 3, SHMEM_SIGNAL_ADD, next); \
            *expected += 3; \
            CHECK(shmem_signal_wait_until(sig, SHMEM_CMP_GE, *expected) == *expected); \
            CHECK(dest[N] == VALUE(T, before, N - 1) && dest[0] == (T)UNTOUCHED); } \
        { FILL(T); \
            shmem_ctx_##TAG##_put_signal(ctx, dest + 1, own, N, sig, 2, SHMEM_SIGNAL_ADD, next); \
            shmem_uint64_wait_until(sig, SHMEM_CMP_EQ, *expected += 2); \
            CHECK(dest[N] == VALUE(T, before, N - 1)); } \
        { FILL(T); \
            shmem_##TAG##_put_signal_nbi(dest + 1, own, N, sig, *expected + 1, SHMEM_SIGNAL_SET, next); \
            shmem_signal_wait_until(sig, SHMEM_CMP_EQ, *expected += 1); \
            CHECK(dest[N] == VALUE(T, before, N - 1)); shmem_quiet(); } \
    }
#define ONE_SIGNAL_TYPE(X) X(int, int) X(longdouble, long double) X(uint8, uint8_t) X(double, double)
ONE_SIGNAL_TYPE(SIGNALS)

static void signals(shmem_ctx_t ctx)
{
    uint64_t *sig = shmem_calloc(1, sizeof *sig), expected = 0;
    CHECK(sig != NULL);
#define SIGNAL(TAG, T) signals_##TAG(ctx, sig, &expected);
    ONE_SIGNAL_TYPE(SIGNAL)
    CHECK(shmem_signal_fetch(sig) == expected);
}
#endif

int main(void)
{
    begin();
    there = shmem_align(64, 64 * sizeof(long double));
    CHECK(there != NULL);
    shmem_ctx_t ctx;
    CHECK(shmem_ctx_create(0, &ctx) == 0);
#define EACH(TAG, T) puts_##TAG(ctx); gets_##TAG(ctx); puts_##TAG(SHMEM_CTX_DEFAULT); gets_##TAG(SHMEM_CTX_DEFAULT);
    RMA_TYPES(EACH)
#define SIZE(B, T) sized_##B(ctx);
    SIZES(SIZE)
    bytes(ctx);
    wide(ctx);
#ifdef SHMEM_SIGNAL_SET
    signals(ctx);
#endif
    shmem_ctx_destroy(ctx);
    end();
    return 0;
}
