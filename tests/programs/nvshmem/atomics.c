/* Atomic operations of every type: the word, its neighbours, and the other PE. */

#include "common.h"

static unsigned char *there;

#define BEGIN(TAG, T, START) \
    T *word = (T *)there; \
    nvshmem_barrier_all(); \
    word[0] = word[2] = make_##TAG(41); \
    word[1] = make_##TAG(START); \
    nvshmem_barrier_all()

#define END(TAG, VALUE) \
    nvshmem_barrier_all(); \
    CHECK(read_##TAG(word[0]) == 41 && read_##TAG(word[2]) == 41); \
    CHECK(read_##TAG(word[1]) == (VALUE))

static ptrdiff_t make_ptrdiff(double value)
{
    return (ptrdiff_t)value;
}
static double read_ptrdiff(ptrdiff_t value)
{
    return (double)value;
}

#define MOVE(TAG, T) \
    static void move_##TAG(void) \
    { \
        { BEGIN(TAG, T, me + 5); CHECK(read_##TAG(nvshmem_##TAG##_atomic_fetch(word + 1, next)) == next + 5); END(TAG, me + 5); } \
        { BEGIN(TAG, T, 0); nvshmem_##TAG##_atomic_set(word + 1, make_##TAG(me + 9), next); END(TAG, before + 9); } \
        { BEGIN(TAG, T, me + 5); \
            CHECK(read_##TAG(nvshmem_##TAG##_atomic_swap(word + 1, make_##TAG(me + 9), next)) == next + 5); END(TAG, before + 9); } \
    }
AMO_TYPES(MOVE) MOVE(float, float) MOVE(double, double) MOVE(half, half)

#define ADD(PREFIX, TAG, T) \
    { BEGIN(TAG, T, 5); for (int pe = 0; pe < n_pes; pe++) PREFIX##TAG##_atomic_add(word + 1, make_##TAG(3), pe); END(TAG, 5 + 3 * n_pes); } \
    { BEGIN(TAG, T, 5); CHECK(read_##TAG(PREFIX##TAG##_atomic_fetch_add(word + 1, make_##TAG(3), next)) == 5); END(TAG, 8); }
#define ARITHMETIC(TAG, T) \
    static void arithmetic_##TAG(void) \
    { \
        ADD(nvshmem_, TAG, T) \
        { BEGIN(TAG, T, 5); CHECK(nvshmem_##TAG##_atomic_compare_swap(word + 1, 5, (T)(me + 9), next) == (T)5); \
            CHECK(nvshmem_##TAG##_atomic_compare_swap(word + 1, 5, 1, next) == (T)(me + 9)); END(TAG, before + 9); } \
        { BEGIN(TAG, T, 5); for (int pe = 0; pe < n_pes; pe++) nvshmem_##TAG##_atomic_inc(word + 1, pe); END(TAG, 5 + n_pes); } \
        { BEGIN(TAG, T, 5); for (int pe = 0; pe < n_pes; pe++) CHECK(nvshmem_##TAG##_atomic_fetch_inc(word + 1, pe) >= (T)5); \
            END(TAG, 5 + n_pes); } \
    }
AMO_TYPES(ARITHMETIC)

#define BIT(TAG, T, OP, RESULT) \
    { BEGIN(TAG, T, 12); nvshmem_##TAG##_atomic_##OP(word + 1, 10, next); END(TAG, RESULT); } \
    { BEGIN(TAG, T, 12); CHECK(nvshmem_##TAG##_atomic_fetch_##OP(word + 1, 10, next) == (T)12); END(TAG, RESULT); }
#define BITWISE(TAG, T) \
    static void bits_##TAG(void) { BIT(TAG, T, and, 8) BIT(TAG, T, or, 14) BIT(TAG, T, xor, 6) }
AMO_BITS_TYPES(BITWISE)

/* Sums of `half`, where two elements share a word, and sums that round. */
static void halves(void)
{
    half *word = (half *)there;
    nvshmem_barrier_all();
    word[0] = word[1] = make_half(0);
    nvshmem_barrier_all();
    for (int i = 0; i < 100; i++)
        for (int pe = 0; pe < n_pes; pe++)
            nvshmemx_half_atomic_add(word + (i & 1), make_half(1), pe);
    nvshmem_barrier_all();
    CHECK(read_half(word[0]) == 50 * n_pes && read_half(word[1]) == 50 * n_pes);
    /* Bits of a sum: of the old value, of the addend, and of the result. */
    static const unsigned short sums[][3] = {
        {0x6800, 0x3c00, 0x6800}, /* 2048 + 1: the tie goes to the even one */
        {0x6801, 0x3c00, 0x6802}, /* 2050 + 1 */
        {0x0001, 0x0001, 0x0002}, {0x03ff, 0x0001, 0x0400}, {0x8001, 0x0001, 0x0000}, /* below the normal numbers */
        {0x7bff, 0x7bff, 0x7c00}, {0x7c00, 0xfc00, 0x7fff}, {0x3c00, 0xc000, 0xbc00}, /* too large, inf - inf, 1 - 2 */
    };
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) {
        nvshmem_barrier_all();
        word[1].__x = sums[i][0];
        nvshmem_barrier_all();
        const half value = {sums[i][1]};
        CHECK(nvshmemx_half_atomic_fetch_add(word + 1, value, next).__x == sums[i][0]);
        nvshmem_barrier_all();
        CHECK(word[1].__x == sums[i][2]);
    }
}

/* An element that no other one shares its word with. */
static void lonely(void)
{
    half *words[] = {nvshmem_malloc(sizeof(half)), nvshmem_calloc(3, sizeof(half)), nvshmem_align(64, 5 * sizeof(half))};
    static const int last[] = {0, 2, 4};
    for (int i = 0; i < 3; i++) {
        words[i][last[i]] = make_half(3);
        nvshmem_barrier_all();
        CHECK(read_half(nvshmemx_half_atomic_fetch_add(words[i] + last[i], make_half(4), next)) == 3);
        nvshmem_barrier_all();
        CHECK(read_half(words[i][last[i]]) == 7);
        nvshmem_free(words[i]);
    }
}

static void extended(void)
{
    ADD(nvshmemx_, half, half)
    ADD(nvshmemx_, float, float)
    ADD(nvshmemx_, double, double)
}

int main(void)
{
    begin();
    there = nvshmem_malloc(64);
#define EACH_MOVE(TAG, T) move_##TAG();
    AMO_TYPES(EACH_MOVE)
    move_float(), move_double(), move_half();
#define EACH(TAG, T) arithmetic_##TAG();
    AMO_TYPES(EACH)
#define EACH_BITS(TAG, T) bits_##TAG();
    AMO_BITS_TYPES(EACH_BITS)
    extended();
    halves();
    lonely();
    end();
    return 0;
}
