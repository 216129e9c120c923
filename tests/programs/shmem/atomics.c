/* Atomic operations of every type, with and without a context, and the deprecated names. */

#include "common.h"

static unsigned char *there;

#define BEGIN(T, START) \
    T *word = (T *)there; \
    shmem_barrier_all(); \
    word[0] = (T)41; \
    word[1] = (T)(START); \
    word[2] = (T)41; \
    shmem_barrier_all()

#define END(T, VALUE) \
    shmem_barrier_all(); \
    CHECK(word[0] == (T)41 && word[2] == (T)41); \
    CHECK(word[1] == (T)(VALUE))

/* `C` and `X` are the beginning of the name and of the arguments: without and with a context. */
#define MOVE_FORM(TAG, T, NAME, ...) \
    { BEGIN(T, me + 5); CHECK(shmem_##NAME##TAG##_atomic_fetch(__VA_ARGS__ word + 1, next) == (T)(next + 5)); END(T, me + 5); } \
    { BEGIN(T, 0); shmem_##NAME##TAG##_atomic_set(__VA_ARGS__ word + 1, (T)(me + 9), next); shmem_quiet(); END(T, before + 9); } \
    { BEGIN(T, me + 5); \
        CHECK(shmem_##NAME##TAG##_atomic_swap(__VA_ARGS__ word + 1, (T)(me + 9), next) == (T)(next + 5)); END(T, before + 9); } \
    { BEGIN(T, me + 5); T got = 0; shmem_##NAME##TAG##_atomic_fetch_nbi(__VA_ARGS__ &got, word + 1, next); shmem_quiet(); \
        CHECK(got == (T)(next + 5)); END(T, me + 5); } \
    { BEGIN(T, me + 5); T got = 0; shmem_##NAME##TAG##_atomic_swap_nbi(__VA_ARGS__ &got, word + 1, (T)(me + 9), next); shmem_quiet(); \
        CHECK(got == (T)(next + 5)); END(T, before + 9); }

#define ADD_FORM(TAG, T, NAME, ...) \
    { BEGIN(T, 5); CHECK(shmem_##NAME##TAG##_atomic_compare_swap(__VA_ARGS__ word + 1, (T)5, (T)(me + 9), next) == (T)5); \
        CHECK(shmem_##NAME##TAG##_atomic_compare_swap(__VA_ARGS__ word + 1, (T)5, (T)1, next) == (T)(me + 9)); END(T, before + 9); } \
    { BEGIN(T, 5); for (int pe = 0; pe < n_pes; pe++) shmem_##NAME##TAG##_atomic_inc(__VA_ARGS__ word + 1, pe); shmem_quiet(); \
        END(T, 5 + n_pes); } \
    { BEGIN(T, 5); for (int pe = 0; pe < n_pes; pe++) CHECK(shmem_##NAME##TAG##_atomic_fetch_inc(__VA_ARGS__ word + 1, pe) >= (T)5); \
        END(T, 5 + n_pes); } \
    { BEGIN(T, 5); for (int pe = 0; pe < n_pes; pe++) shmem_##NAME##TAG##_atomic_add(__VA_ARGS__ word + 1, (T)3, pe); shmem_quiet(); \
        END(T, 5 + 3 * n_pes); } \
    { BEGIN(T, 5); CHECK(shmem_##NAME##TAG##_atomic_fetch_add(__VA_ARGS__ word + 1, (T)3, next) == (T)5); END(T, 8); } \
    { BEGIN(T, 5); T got = 0; shmem_##NAME##TAG##_atomic_fetch_add_nbi(__VA_ARGS__ &got, word + 1, (T)3, next); shmem_quiet(); \
        CHECK(got == (T)5); END(T, 8); } \
    { BEGIN(T, 5); T got = 0; shmem_##NAME##TAG##_atomic_fetch_inc_nbi(__VA_ARGS__ &got, word + 1, next); shmem_quiet(); \
        CHECK(got == (T)5); END(T, 6); } \
    { BEGIN(T, 5); T got = 0; shmem_##NAME##TAG##_atomic_compare_swap_nbi(__VA_ARGS__ &got, word + 1, (T)5, (T)8, next); shmem_quiet(); \
        CHECK(got == (T)5); END(T, 8); }

#define BIT(TAG, T, NAME, OP, START, WITH, RESULT, ...) \
    { BEGIN(T, START); shmem_##NAME##TAG##_atomic_##OP(__VA_ARGS__ word + 1, (T)(WITH), next); shmem_quiet(); END(T, RESULT); } \
    { BEGIN(T, START); CHECK(shmem_##NAME##TAG##_atomic_fetch_##OP(__VA_ARGS__ word + 1, (T)(WITH), next) == (T)(START)); END(T, RESULT); } \
    { BEGIN(T, START); T got = 0; shmem_##NAME##TAG##_atomic_fetch_##OP##_nbi(__VA_ARGS__ &got, word + 1, (T)(WITH), next); shmem_quiet(); \
        CHECK(got == (T)(START)); END(T, RESULT); }
#define BITS_FORM(TAG, T, NAME, ...) \
    BIT(TAG, T, NAME, and, 12, 10, 8, __VA_ARGS__) BIT(TAG, T, NAME, or, 12, 10, 14, __VA_ARGS__) BIT(TAG, T, NAME, xor, 12, 10, 6, __VA_ARGS__)

#define CTX ctx,
#define FUNCTIONS(TAG, T) static void move_##TAG(shmem_ctx_t ctx) { MOVE_FORM(TAG, T, , ) MOVE_FORM(TAG, T, ctx_, CTX) }
AMO_MOVE_TYPES(FUNCTIONS)
#undef FUNCTIONS
#define FUNCTIONS(TAG, T) static void add_##TAG(shmem_ctx_t ctx) { ADD_FORM(TAG, T, , ) ADD_FORM(TAG, T, ctx_, CTX) }
AMO_TYPES(FUNCTIONS)
#undef FUNCTIONS
#define FUNCTIONS(TAG, T) static void bits_##TAG(shmem_ctx_t ctx) { BITS_FORM(TAG, T, , ) BITS_FORM(TAG, T, ctx_, CTX) }
AMO_BITS_TYPES(FUNCTIONS)
#undef FUNCTIONS

#define OLD(TAG, T) \
    static void old_##TAG(void) \
    { \
        { BEGIN(T, 5); CHECK(shmem_##TAG##_cswap(word + 1, 5, 8, next) == 5); END(T, 8); } \
        { BEGIN(T, 5); shmem_##TAG##_inc(word + 1, next); shmem_quiet(); END(T, 6); } \
        { BEGIN(T, 5); CHECK(shmem_##TAG##_finc(word + 1, next) == 5); END(T, 6); } \
        { BEGIN(T, 5); shmem_##TAG##_add(word + 1, 3, next); shmem_quiet(); END(T, 8); } \
        { BEGIN(T, 5); CHECK(shmem_##TAG##_fadd(word + 1, 3, next) == 5); END(T, 8); } \
    }
#define OLD_MOVE(TAG, T) \
    static void old_move_##TAG(void) \
    { \
        { BEGIN(T, 5); CHECK(shmem_##TAG##_swap(word + 1, 8, next) == 5); END(T, 8); } \
        { BEGIN(T, 5); CHECK(shmem_##TAG##_fetch(word + 1, next) == 5); END(T, 5); } \
        { BEGIN(T, 5); shmem_##TAG##_set(word + 1, 8, next); shmem_quiet(); END(T, 8); } \
    }
#define OLD_TYPES(X) X(int, int) X(long, long) X(longlong, long long)
OLD_TYPES(OLD)
OLD_TYPES(OLD_MOVE) OLD_MOVE(float, float) OLD_MOVE(double, double)

int main(void)
{
    begin();
    there = shmem_malloc(64);
    shmem_ctx_t ctx;
    CHECK(shmem_ctx_create(SHMEM_CTX_SERIALIZED, &ctx) == 0);
#define MOVE(TAG, T) move_##TAG(ctx);
    AMO_MOVE_TYPES(MOVE)
#define ADD(TAG, T) add_##TAG(ctx);
    AMO_TYPES(ADD)
#define BITWISE(TAG, T) bits_##TAG(ctx);
    AMO_BITS_TYPES(BITWISE)
    old_int(), old_long(), old_longlong();
    old_move_int(), old_move_long(), old_move_longlong(), old_move_float(), old_move_double();
    end();
    return 0;
}
