/* Every argument of every operation wrong once: the status, and that the words name the argument; nothing is written, every member gets an
 * error, nobody hangs. Each line that is checked is printed as "function argument"; tests/faults/bad_input.rs compares that
 * with the API model. */

#include "check.h"

#include <string.h>

enum { COUNT = 64 };

static nvshmemrs_runtime_t rt;
static int32_t me, n_pes;
static long failures;
static double *dest, *source;
static uint64_t *word;
static double before_dest[COUNT], before_source[COUNT];
static uint64_t before_word[4];

static void unchanged(const char *function, const char *argument)
{
    if (memcmp(dest, before_dest, sizeof before_dest) || memcmp(source, before_source, sizeof before_source) ||
        memcmp(word, before_word, sizeof before_word)) {
        fprintf(stderr, "PE %d: %s with a wrong %s has written\n", (int)me, function, argument);
        exit(2);
    }
}

/* `status` must be `expected`, and the words must contain `words`. */
static void refused(const char *function, const char *argument, const char *words, int32_t expected, int32_t status)
{
    const char *text = nvshmemrs_last_error();
    if (status != expected || strstr(text, words) == NULL) {
        fprintf(stderr, "PE %d: %s with a wrong %s: status %d, expected %d; words \"%s\", expected `%s`\n", (int)me,
                function, argument, (int)status, (int)expected, status ? text : "success", words);
        failures++;
    }
    unchanged(function, argument);
    if (me == 0)
        printf("%s %s\n", function, argument);
}

/* A call that is wrong in one argument, on every PE alike. The words name it in backquotes. */
#define BAD(status, function, argument, ...) \
    refused(#function, #argument, "`" #argument "`", NVSHMEMRS_ERROR_##status, nvshmemrs_##function(__VA_ARGS__))
/* As BAD, with words of its own. */
#define SAYS(words, status, function, argument, ...) \
    refused(#function, #argument, words, NVSHMEMRS_ERROR_##status, nvshmemrs_##function(__VA_ARGS__))

/* The last PE differs from the others in one argument, `wrong` there and `right` elsewhere: every member gets an error. */
#define ODD(function, argument, wrong, right)                                                  \
    do {                                                                                       \
        if (n_pes > 1)                                                                         \
            odd(function, argument, me == n_pes - 1 ? (wrong) : (right));                      \
    } while (0)

static void odd(const char *function, const char *argument, int32_t status)
{
    int32_t own = me == n_pes - 1 ? NVSHMEMRS_ERROR_INVALID_VALUE : NVSHMEMRS_ERROR_PEER_ARGUMENT;
    if (status != NVSHMEMRS_ERROR_MISMATCH && status != own) {
        fprintf(stderr, "PE %d: %s, one PE with another %s: status %d: %s\n", (int)me, function, argument,
                (int)status, status ? nvshmemrs_last_error() : "success");
        failures++;
    }
    unchanged(function, argument);
}

static void *past(void *at)
{
    return (char *)at + COUNT * sizeof(double);
}

#define BAD_PE(function, argument, ...)                    \
    do {                                                   \
        int32_t pe;                                        \
        pe = -1;                                           \
        BAD(PE_RANGE, function, argument, __VA_ARGS__);    \
        pe = n_pes;                                        \
        BAD(PE_RANGE, function, argument, __VA_ARGS__);    \
        pe = INT32_MIN;                                    \
        BAD(PE_RANGE, function, argument, __VA_ARGS__);    \
    } while (0)

/* put, get and their nbi forms. */
#define COPIES(function, symmetric, private, ...)                                                       \
    do {                                                                                                \
        void *dest_at, *source_at, **to_check = &symmetric, **valid = &private;                         \
        size_t bytes = 16;                                                                              \
        *valid = local; *to_check = sym;                                                                \
        BAD_PE(function, pe, rt, dest_at, source_at, bytes, pe);                                        \
        *to_check = NULL;  SAYS("`" __VA_ARGS__ "`", NOT_SYMMETRIC, function, symmetric, rt, dest_at, source_at, bytes, 0); \
        *to_check = local; SAYS("`" __VA_ARGS__ "`", NOT_SYMMETRIC, function, symmetric, rt, dest_at, source_at, bytes, 0); \
        *to_check = sym;                                                                                \
        SAYS("", OUT_OF_BOUNDS, function, bytes, rt, dest_at, source_at, COUNT * 8 + 1, 0);             \
        SAYS("", OUT_OF_BOUNDS, function, bytes, rt, dest_at, source_at, SIZE_MAX, 0);                  \
        *valid = NULL;                                                                                  \
        SAYS("NULL", INVALID_VALUE, function, private, rt, dest_at, source_at, bytes, 0);               \
    } while (0)

static char local[1024];

static void rma(void)
{
    void *sym = dest;
    COPIES(put, dest_at, source_at, "dest");
    COPIES(put_nbi, dest_at, source_at, "dest");
    COPIES(get, source_at, dest_at, "source");
    COPIES(get_nbi, source_at, dest_at, "source");
}

#define ELEMENT(bits, type)                                                                  \
    do {                                                                                     \
        type value = 1;                                                                      \
        BAD_PE(p##bits, pe, rt, dest, value, pe);                                            \
        BAD(NOT_SYMMETRIC, p##bits, dest, rt, NULL, value, 0);                               \
        BAD_PE(g##bits, pe, rt, dest, pe, &value);                                           \
        BAD(NOT_SYMMETRIC, g##bits, source, rt, &value, 0, &value);                          \
        BAD(INVALID_VALUE, g##bits, value, rt, dest, 0, NULL);                               \
        if (sizeof(type) > 1) {                                                              \
            BAD(INVALID_VALUE, p##bits, dest, rt, (char *)dest + 1, value, 0);               \
            BAD(INVALID_VALUE, g##bits, source, rt, (char *)dest + 1, 0, &value);            \
        }                                                                                    \
    } while (0)

static void elements(void)
{
    ELEMENT(8, uint8_t);
    ELEMENT(16, uint16_t);
    ELEMENT(32, uint32_t);
    ELEMENT(64, uint64_t);
}

#define STRIDED(function, blocks, symmetric, ...)                                                                   \
    do {                                                                                                            \
        void *to = put ? (void *)dest : (void *)local, *from = put ? (void *)local : (void *)source;                \
        BAD_PE(function, pe, rt, to, from, 2, 2, 8, __VA_ARGS__, pe);                                               \
        BAD(INVALID_VALUE, function, dest_stride, rt, to, from, 0, 1, 8, __VA_ARGS__, 0);                           \
        BAD(INVALID_VALUE, function, dest_stride, rt, to, from, PTRDIFF_MAX, 1, 8, __VA_ARGS__, 0);                 \
        BAD(INVALID_VALUE, function, source_stride, rt, to, from, 2, PTRDIFF_MIN, 8, __VA_ARGS__, 0);               \
        BAD(INVALID_VALUE, function, element_bytes, rt, to, from, 2, 2, 0, __VA_ARGS__, 0);                         \
        BAD(NOT_SYMMETRIC, function, symmetric, rt, put ? NULL : to, put ? from : NULL, 2, 2, 8, __VA_ARGS__, 0);   \
        SAYS("NULL", INVALID_VALUE, function, blocks, rt, put ? to : NULL, put ? NULL : from, 2, 2, 8, __VA_ARGS__, 0); \
    } while (0)

static void strided(void)
{
    int put = 1;
    /* From below the whole heap. */
    ptrdiff_t far = (ptrdiff_t)1 << 40;
    STRIDED(iput, source, dest, 4);
    STRIDED(ibput, source, dest, 2, 4);
    SAYS("", OUT_OF_BOUNDS, iput, count, rt, dest, local, 1, 1, 8, COUNT + 1, 0);
    SAYS("", INVALID_VALUE, iput, count, rt, dest, local, 1, 1, 8, SIZE_MAX, 0);
    SAYS("run into it", OUT_OF_BOUNDS, iput, source, rt, dest, source, 1, -far, 8, 2, 0);
    SAYS("run into it", OUT_OF_BOUNDS, ibput, source, rt, dest, source, 2, -far, 8, 2, 2, 0);
    SAYS("", OUT_OF_BOUNDS, ibput, block_count, rt, dest, local, 2, 2, 8, 2, COUNT / 2 + 1, 0);
    SAYS("", INVALID_VALUE, ibput, block_elements, rt, dest, local, 2, 2, 8, 3, 4, 0);
    put = 0;
    STRIDED(iget, dest, source, 4);
    STRIDED(ibget, dest, source, 2, 4);
    SAYS("", OUT_OF_BOUNDS, iget, count, rt, local, source, 1, 1, 8, COUNT + 1, 0);
    SAYS("run into it", OUT_OF_BOUNDS, iget, dest, rt, dest, source, -far, 1, 8, 2, 0);
    SAYS("run into it", OUT_OF_BOUNDS, ibget, dest, rt, dest, source, -far, 2, 8, 2, 2, 0);
    SAYS("", OUT_OF_BOUNDS, ibget, block_count, rt, local, source, 2, 2, 8, 2, COUNT / 2 + 1, 0);
    SAYS("", INVALID_VALUE, ibget, block_elements, rt, local, source, 2, 2, 8, 3, 4, 0);
}

/* Put with a signal. */
#define PUT_SIGNAL(function)                                                                                       \
    do {                                                                                                           \
        BAD_PE(function, pe, rt, dest, local, 8, word, 1, NVSHMEMRS_SIGNAL_SET, pe);                               \
        BAD(NOT_SYMMETRIC, function, dest, rt, NULL, local, 8, word, 1, NVSHMEMRS_SIGNAL_SET, 0);                  \
        BAD(INVALID_VALUE, function, source, rt, dest, NULL, 8, word, 1, NVSHMEMRS_SIGNAL_SET, 0);                 \
        SAYS("", OUT_OF_BOUNDS, function, bytes, rt, dest, local, SIZE_MAX, word, 1, NVSHMEMRS_SIGNAL_SET, 0);     \
        BAD(NOT_SYMMETRIC, function, signal, rt, dest, local, 8, NULL, 1, NVSHMEMRS_SIGNAL_SET, 0);                \
        BAD(INVALID_VALUE, function, signal, rt, dest, local, 8, (void *)((char *)word + 4), 1, NVSHMEMRS_SIGNAL_SET, 0); \
        BAD(INVALID_VALUE, function, signal_op, rt, dest, local, 8, word, 1, 8, 0);                                \
    } while (0)

static void signals(void)
{
    uint64_t seen;
    PUT_SIGNAL(put_signal);
    PUT_SIGNAL(put_signal_nbi);
    BAD_PE(signal_op, pe, rt, word, 1, NVSHMEMRS_SIGNAL_ADD, pe);
    BAD(NOT_SYMMETRIC, signal_op, signal, rt, NULL, 1, NVSHMEMRS_SIGNAL_ADD, 0);
    BAD(INVALID_VALUE, signal_op, signal_op, rt, word, 1, 0, 0);
    BAD(NOT_SYMMETRIC, signal_wait, signal, rt, NULL, NVSHMEMRS_CMP_EQ, 0, &seen);
    BAD(INVALID_VALUE, signal_wait, cmp, rt, word, 6, 0, &seen);
    BAD(NOT_SYMMETRIC, signal_fetch, signal, rt, NULL, &seen);
    BAD(INVALID_VALUE, signal_fetch, value, rt, word, NULL);
}

/* A collective over a team with the arguments that all of them have. */
#define BUFFERS(function, ...)                                                                    \
    do {                                                                                          \
        void *to = dest;                                                                          \
        const void *from = source;                                                                \
        uint64_t team = 12345;                                                                    \
        BAD(BAD_HANDLE, function, team, rt, team, to, from, __VA_ARGS__);                         \
        team = NVSHMEMRS_TEAM_WORLD;                                                              \
        to = NULL;  BAD(NOT_SYMMETRIC, function, dest, rt, team, to, from, __VA_ARGS__);          \
        to = local; BAD(NOT_SYMMETRIC, function, dest, rt, team, to, from, __VA_ARGS__);          \
        to = (char *)source + 8; BAD(INVALID_VALUE, function, dest, rt, team, to, from, __VA_ARGS__); \
        to = dest; from = NULL;  BAD(NOT_SYMMETRIC, function, source, rt, team, to, from, __VA_ARGS__); \
        from = local; BAD(NOT_SYMMETRIC, function, source, rt, team, to, from, __VA_ARGS__);      \
        from = past(source); BAD(NOT_SYMMETRIC, function, source, rt, team, to, from, __VA_ARGS__); \
    } while (0)

/* Gather and scatter with PE 0 as the root: an error of `own`, the buffer that only the root uses, reaches the others from the root. */
#define ROOTED(function, own, all, own_at, all_at)                                                \
    do {                                                                                          \
        const void *const own_right = own, *const all_right = all;                                \
        const void *own_at = own_right, *all_at = all_right;                                      \
        uint64_t team = 12345;                                                                    \
        BAD(BAD_HANDLE, function, team, rt, team, (void *)to, from, 16, 0);                       \
        team = NVSHMEMRS_TEAM_WORLD;                                                              \
        BAD_PE(function, root, rt, team, (void *)to, from, 16, pe);                               \
        all_at = NULL;  BAD(NOT_SYMMETRIC, function, all, rt, team, (void *)to, from, 16, 0);     \
        all_at = local; BAD(NOT_SYMMETRIC, function, all, rt, team, (void *)to, from, 16, 0);     \
        all_at = all_right;                                                                       \
        own_at = NULL;  OF_ROOT("`" #own "`", NOT_SYMMETRIC, function, own, to, from, 16);        \
        own_at = local; OF_ROOT("`" #own "`", NOT_SYMMETRIC, function, own, to, from, 16);        \
        own_at = (const char *)all_right + 8; OF_ROOT("`dest`", INVALID_VALUE, function, own, to, from, 16); \
        own_at = own_right;                                                                       \
        OF_ROOT("past the end", OUT_OF_BOUNDS, function, bytes, to, from, COUNT * 8 / (size_t)n_pes + 8); \
        BAD(INVALID_VALUE, function, bytes, rt, team, (void *)to, from, SIZE_MAX / 2, 0);         \
        ODD(#function, "root", nvshmemrs_##function(rt, team, dest, source, 16, n_pes - 1),       \
            nvshmemrs_##function(rt, team, dest, source, 16, 0));                                 \
        ODD(#function, "bytes", nvshmemrs_##function(rt, team, dest, source, 8, 0),               \
            nvshmemrs_##function(rt, team, dest, source, 16, 0));                                 \
        ODD(#function, #all, nvshmemrs_##function(rt, team, dest + 8 * (all == dest), source + 8 * (all == source), 8, 0), \
            nvshmemrs_##function(rt, team, dest, source, 8, 0));                                  \
    } while (0)
#define OF_ROOT(words, status, function, argument, to, from, bytes)                               \
    refused(#function, #argument, words,                                                          \
            me == 0 ? NVSHMEMRS_ERROR_##status : NVSHMEMRS_ERROR_PEER_ARGUMENT,                   \
            nvshmemrs_##function(rt, NVSHMEMRS_TEAM_WORLD, (void *)to, from, bytes, 0))

#define FOLD(function)                                                                                              \
    do {                                                                                                            \
        const uint64_t world = NVSHMEMRS_TEAM_WORLD;                                                                \
        BUFFERS(function, 4, NVSHMEMRS_DTYPE_DOUBLE, NVSHMEMRS_OP_SUM);                                             \
        SAYS("", OUT_OF_BOUNDS, function, count, rt, world, dest, source, COUNT + 1, NVSHMEMRS_DTYPE_DOUBLE, NVSHMEMRS_OP_SUM); \
        BAD(INVALID_VALUE, function, count, rt, world, dest, source, SIZE_MAX, NVSHMEMRS_DTYPE_DOUBLE, NVSHMEMRS_OP_SUM); \
        BAD(INVALID_VALUE, function, dtype, rt, world, dest, source, 4, 0, NVSHMEMRS_OP_SUM);                       \
        BAD(INVALID_VALUE, function, dtype, rt, world, dest, source, 4, 17, NVSHMEMRS_OP_SUM);                      \
        BAD(INVALID_VALUE, function, op, rt, world, dest, source, 4, NVSHMEMRS_DTYPE_DOUBLE, 0);                    \
        BAD(INVALID_VALUE, function, op, rt, world, dest, source, 4, NVSHMEMRS_DTYPE_DOUBLE, NVSHMEMRS_OP_AND);     \
        BAD(INVALID_VALUE, function, op, rt, world, dest, source, 4, NVSHMEMRS_DTYPE_COMPLEXF, NVSHMEMRS_OP_MAX);   \
        BAD(INVALID_VALUE, function, op, rt, world, dest, source, 4, NVSHMEMRS_DTYPE_FLOAT8_E4M3FN, NVSHMEMRS_OP_OR); \
        BAD(INVALID_VALUE, function, dest, rt, world, (char *)dest + 4, source, 1, NVSHMEMRS_DTYPE_DOUBLE, NVSHMEMRS_OP_SUM); \
        BAD(INVALID_VALUE, function, source, rt, world, dest, (char *)source + 4, 1, NVSHMEMRS_DTYPE_DOUBLE, NVSHMEMRS_OP_SUM); \
        ODD(#function, "count", nvshmemrs_##function(rt, world, dest, source, 3, 12, 1),                            \
            nvshmemrs_##function(rt, world, dest, source, 4, 12, 1));                                               \
        ODD(#function, "dtype", nvshmemrs_##function(rt, world, dest, source, 4, 4, 1),                             \
            nvshmemrs_##function(rt, world, dest, source, 4, 12, 1));                                               \
        ODD(#function, "op", nvshmemrs_##function(rt, world, dest, source, 4, 12, 99),                              \
            nvshmemrs_##function(rt, world, dest, source, 4, 12, 1));                                               \
    } while (0)

static void collectives(void)
{
    const uint64_t world = NVSHMEMRS_TEAM_WORLD;
    BAD(BAD_HANDLE, barrier, team, rt, 12345);
    BAD(BAD_HANDLE, barrier, team, rt, NVSHMEMRS_TEAM_INVALID);
    BAD(BAD_HANDLE, sync, team, rt, 12345);
    BUFFERS(broadcast, 32, 0);
    BAD_PE(broadcast, root, rt, world, dest, source, 32, pe);
    SAYS("", OUT_OF_BOUNDS, broadcast, bytes, rt, world, dest, source, SIZE_MAX, 0);
    BUFFERS(fcollect, 16);
    BAD(INVALID_VALUE, fcollect, bytes, rt, world, dest, source, SIZE_MAX);
    BUFFERS(collect, 16);
    SAYS("", OUT_OF_BOUNDS, collect, bytes, rt, world, dest, source, COUNT * 8 + 1);
    BUFFERS(alltoall, 16);
    BAD(INVALID_VALUE, alltoall, bytes, rt, world, dest, source, SIZE_MAX);
    BUFFERS(alltoalls, 1, 1, 8, 2);
    BAD(INVALID_VALUE, alltoalls, dest_stride, rt, world, dest, source, 0, 1, 8, 2);
    BAD(INVALID_VALUE, alltoalls, source_stride, rt, world, dest, source, 1, -1, 8, 2);
    BAD(INVALID_VALUE, alltoalls, element_bytes, rt, world, dest, source, 1, 1, 0, 2);
    SAYS("", INVALID_VALUE, alltoalls, count, rt, world, dest, source, 1, 1, 8, SIZE_MAX);
    ROOTED(gather, dest, source, to, from);
    ROOTED(scatter, source, dest, from, to);
    FOLD(reduce);
    FOLD(reducescatter);
    FOLD(inscan);
    FOLD(exscan);
    ODD("broadcast", "root", nvshmemrs_broadcast(rt, world, dest, source, 32, n_pes - 1),
        nvshmemrs_broadcast(rt, world, dest, source, 32, 0));
    ODD("fcollect", "bytes", nvshmemrs_fcollect(rt, world, dest, source, 8),
        nvshmemrs_fcollect(rt, world, dest, source, 16));
    ODD("alltoall", "dest", nvshmemrs_alltoall(rt, world, dest + 8, source, 8),
        nvshmemrs_alltoall(rt, world, dest, source, 8));
    ODD("alltoalls", "dest_stride", nvshmemrs_alltoalls(rt, world, dest, source, 2, 1, 8, 2),
        nvshmemrs_alltoalls(rt, world, dest, source, 1, 1, 8, 2));
    ODD("barrier", "function", nvshmemrs_sync(rt, world), nvshmemrs_barrier(rt, world));
}

/* Atomics of one type on `word`, as this type. */
#define ATOMIC(name, type, argument, ...)                                                     \
    do {                                                                                      \
        type old, *word_at = (type *)word;                                                    \
        int32_t pe = 0;                                                                       \
        (void)old;                                                                            \
        word_at = NULL;                        BAD(NOT_SYMMETRIC, name, argument, rt, __VA_ARGS__); \
        word_at = (type *)((char *)word + 2);  BAD(INVALID_VALUE, name, argument, rt, __VA_ARGS__); \
        word_at = (type *)word;                                                               \
        pe = -1;                               BAD(PE_RANGE, name, pe, rt, __VA_ARGS__);      \
        pe = n_pes;                            BAD(PE_RANGE, name, pe, rt, __VA_ARGS__);      \
    } while (0)

#define FOR_ALL(suffix, type)                                                                 \
    ATOMIC(atomic_fetch##suffix, type, source, word_at, pe, &old);                            \
    ATOMIC(atomic_fetch##suffix##_nbi, type, source, &old, word_at, pe);                      \
    ATOMIC(atomic_set##suffix, type, dest, word_at, 1, pe);                                   \
    ATOMIC(atomic_swap##suffix, type, dest, word_at, 1, pe, &old);                            \
    ATOMIC(atomic_swap##suffix##_nbi, type, dest, &old, word_at, 1, pe);                      \
    ATOMIC(atomic_add##suffix, type, dest, word_at, 1, pe);                                   \
    ATOMIC(atomic_fetch_add##suffix, type, dest, word_at, 1, pe, &old);                       \
    ATOMIC(atomic_fetch_add##suffix##_nbi, type, dest, &old, word_at, 1, pe);                 \
    BAD(INVALID_VALUE, atomic_fetch##suffix, value, rt, (type *)word, 0, NULL);               \
    BAD(INVALID_VALUE, atomic_swap##suffix##_nbi, fetch, rt, NULL, (type *)word, 1, 0);       \
    BAD(INVALID_VALUE, atomic_fetch_add##suffix##_nbi, fetch, rt, NULL, (type *)word, 1, 0);  \
    BAD(INVALID_VALUE, atomic_fetch##suffix##_nbi, fetch, rt, NULL, (type *)word, 0)

#define FOR_BITS(op, suffix, type)                                                            \
    ATOMIC(atomic_##op##suffix, type, dest, word_at, 1, pe);                                  \
    ATOMIC(atomic_fetch_##op##suffix, type, dest, word_at, 1, pe, &old);                      \
    ATOMIC(atomic_fetch_##op##suffix##_nbi, type, dest, &old, word_at, 1, pe);                \
    BAD(INVALID_VALUE, atomic_fetch_##op##suffix##_nbi, fetch, rt, NULL, (type *)word, 1, 0)

#define FOR_INTEGERS(suffix, type)                                                            \
    FOR_ALL(suffix, type);                                                                    \
    FOR_BITS(and, suffix, type);                                                              \
    FOR_BITS(or, suffix, type);                                                               \
    FOR_BITS(xor, suffix, type);                                                              \
    ATOMIC(atomic_compare_swap##suffix, type, dest, word_at, 0, 1, pe, &old);                 \
    ATOMIC(atomic_compare_swap##suffix##_nbi, type, dest, &old, word_at, 0, 1, pe);           \
    ATOMIC(atomic_inc##suffix, type, dest, word_at, pe);                                      \
    ATOMIC(atomic_fetch_inc##suffix, type, dest, word_at, pe, &old);                          \
    ATOMIC(atomic_fetch_inc##suffix##_nbi, type, dest, &old, word_at, pe);                    \
    BAD(INVALID_VALUE, atomic_fetch_inc##suffix##_nbi, fetch, rt, NULL, (type *)word, 0);     \
    BAD(INVALID_VALUE, atomic_compare_swap##suffix##_nbi, fetch, rt, NULL, (type *)word, 0, 1, 0)

static void atomics(void)
{
    FOR_INTEGERS(32, uint32_t);
    FOR_INTEGERS(64, uint64_t);
    FOR_ALL(_float, float);
    FOR_ALL(_double, double);
}

/* Waits and tests of elements; the arguments after the comparison differ. */
#define VECTOR(name, values, head, tail)                                                                        \
    do {                                                                                                        \
        const void *ivars_at = word;                                                                            \
        const void *values_at = zeros;                                                                          \
        size_t count = 4;                                                                                       \
        int32_t cmp = NVSHMEMRS_CMP_EQ, dtype = NVSHMEMRS_DTYPE_UINT64, result;                                 \
        size_t index, indices[4];                                                                               \
        (void)result, (void)index, (void)indices;                                                               \
        ivars_at = NULL;              BAD(NOT_SYMMETRIC, name, ivars, head, cmp, values_at, dtype tail);        \
        ivars_at = (char *)word + 4;  count = 1;                                                                \
                                      BAD(INVALID_VALUE, name, ivars, head, cmp, values_at, dtype tail);        \
        ivars_at = word;                                                                                        \
        count = 5;        SAYS("", OUT_OF_BOUNDS, name, count, head, cmp, values_at, dtype tail);               \
        count = 4;                                                                                              \
        cmp = 6;          BAD(INVALID_VALUE, name, cmp, head, cmp, values_at, dtype tail);                      \
        cmp = 0;                                                                                                \
        values_at = NULL; BAD(INVALID_VALUE, name, values, head, cmp, values_at, dtype tail);                   \
        values_at = zeros;                                                                                      \
        dtype = NVSHMEMRS_DTYPE_HALF; BAD(INVALID_VALUE, name, dtype, head, cmp, values_at, dtype tail);        \
        dtype = 0;        BAD(INVALID_VALUE, name, dtype, head, cmp, values_at, dtype tail);                    \
    } while (0)
#define ARGS(...) __VA_ARGS__

static void waits(void)
{
    static const uint64_t zeros[4];
    int32_t result;
    size_t found;
    BAD(INVALID_VALUE, wait_until_any, index, rt, word, 1, NULL, 0, zeros, NVSHMEMRS_DTYPE_UINT64, NULL);
    BAD(INVALID_VALUE, wait_until_some, indices, rt, word, 1, NULL, NULL, 0, zeros, NVSHMEMRS_DTYPE_UINT64, &found);
    BAD(INVALID_VALUE, wait_until_some, found, rt, word, 1, &found, NULL, 0, zeros, NVSHMEMRS_DTYPE_UINT64, NULL);
    BAD(INVALID_VALUE, wait_until_any_vector, index, rt, word, 1, NULL, 0, zeros, NVSHMEMRS_DTYPE_UINT64, NULL);
    BAD(INVALID_VALUE, wait_until_some_vector, indices, rt, word, 1, NULL, NULL, 0, zeros, NVSHMEMRS_DTYPE_UINT64, &found);
    BAD(INVALID_VALUE, wait_until_some_vector, found, rt, word, 1, &found, NULL, 0, zeros, NVSHMEMRS_DTYPE_UINT64, NULL);
    BAD(INVALID_VALUE, test_all, result, rt, word, 1, NULL, 0, zeros, NVSHMEMRS_DTYPE_UINT64, NULL);
    BAD(INVALID_VALUE, test_any, index, rt, word, 1, NULL, 0, zeros, NVSHMEMRS_DTYPE_UINT64, NULL);
    BAD(INVALID_VALUE, test_some, indices, rt, word, 1, NULL, NULL, 0, zeros, NVSHMEMRS_DTYPE_UINT64, &found);
    BAD(INVALID_VALUE, test_some, found, rt, word, 1, &found, NULL, 0, zeros, NVSHMEMRS_DTYPE_UINT64, NULL);
    BAD(INVALID_VALUE, test_all_vector, result, rt, word, 1, NULL, 0, zeros, NVSHMEMRS_DTYPE_UINT64, NULL);
    BAD(INVALID_VALUE, test_any_vector, index, rt, word, 1, NULL, 0, zeros, NVSHMEMRS_DTYPE_UINT64, NULL);
    BAD(INVALID_VALUE, test_some_vector, indices, rt, word, 1, NULL, NULL, 0, zeros, NVSHMEMRS_DTYPE_UINT64, &found);
    BAD(INVALID_VALUE, test_some_vector, found, rt, word, 1, &found, NULL, 0, zeros, NVSHMEMRS_DTYPE_UINT64, NULL);
    VECTOR(wait_until_all, value, ARGS(rt, ivars_at, count, NULL), );
    VECTOR(wait_until_any, value, ARGS(rt, ivars_at, count, NULL), ARGS(, &index));
    VECTOR(wait_until_some, value, ARGS(rt, ivars_at, count, indices, NULL), ARGS(, &index));
    VECTOR(wait_until_all_vector, values, ARGS(rt, ivars_at, count, NULL), );
    VECTOR(wait_until_any_vector, values, ARGS(rt, ivars_at, count, NULL), ARGS(, &index));
    VECTOR(wait_until_some_vector, values, ARGS(rt, ivars_at, count, indices, NULL), ARGS(, &index));
    VECTOR(test_all, value, ARGS(rt, ivars_at, count, NULL), ARGS(, &result));
    VECTOR(test_any, value, ARGS(rt, ivars_at, count, NULL), ARGS(, &index));
    VECTOR(test_some, value, ARGS(rt, ivars_at, count, indices, NULL), ARGS(, &index));
    VECTOR(test_all_vector, values, ARGS(rt, ivars_at, count, NULL), ARGS(, &result));
    VECTOR(test_any_vector, values, ARGS(rt, ivars_at, count, NULL), ARGS(, &index));
    VECTOR(test_some_vector, values, ARGS(rt, ivars_at, count, indices, NULL), ARGS(, &index));
    BAD(NOT_SYMMETRIC, wait_until, ivar, rt, NULL, 0, zeros, NVSHMEMRS_DTYPE_UINT64);
    BAD(INVALID_VALUE, wait_until, ivar, rt, (char *)word + 4, 0, zeros, NVSHMEMRS_DTYPE_UINT64);
    BAD(INVALID_VALUE, wait_until, cmp, rt, word, -1, zeros, NVSHMEMRS_DTYPE_UINT64);
    BAD(INVALID_VALUE, wait_until, value, rt, word, 0, NULL, NVSHMEMRS_DTYPE_UINT64);
    BAD(INVALID_VALUE, wait_until, dtype, rt, word, 0, zeros, NVSHMEMRS_DTYPE_COMPLEXD);
    BAD(INVALID_VALUE, error_set, text, NULL, 4);
    BAD(NOT_SYMMETRIC, lock_wait, ivar, rt, NULL, 0);
    BAD(INVALID_VALUE, lock_wait, ivar, rt, (const int32_t *)((char *)word + 2), 0);
    BAD(PE_RANGE, lock_wait, pe, rt, (const int32_t *)word, n_pes);
    BAD(PE_RANGE, lock_wait, pe, rt, (const int32_t *)word, -1);
    BAD(NOT_SYMMETRIC, test, ivar, rt, NULL, 0, zeros, NVSHMEMRS_DTYPE_UINT64, &result);
    BAD(INVALID_VALUE, test, cmp, rt, word, -1, zeros, NVSHMEMRS_DTYPE_UINT64, &result);
    BAD(INVALID_VALUE, test, value, rt, word, 0, NULL, NVSHMEMRS_DTYPE_UINT64, &result);
    BAD(INVALID_VALUE, test, dtype, rt, word, 0, zeros, 99, &result);
    BAD(INVALID_VALUE, test, result, rt, word, 0, zeros, NVSHMEMRS_DTYPE_UINT64, NULL);
}

static void heap(void)
{
    void *at;
    int32_t number;
    size_t length;
    uint64_t before;
    BAD(INVALID_VALUE, malloc, ptr, rt, 64, NULL);
    SAYS("NVSHMEM_SYMMETRIC_SIZE", OUT_OF_MEMORY, malloc, bytes, rt, SIZE_MAX, &at);
    BAD(INVALID_VALUE, calloc, ptr, rt, 1, 64, NULL);
    BAD(INVALID_VALUE, calloc, count, rt, SIZE_MAX, 64, &at);
    SAYS("NVSHMEM_SYMMETRIC_SIZE", OUT_OF_MEMORY, calloc, bytes, rt, 1, SIZE_MAX, &at);
    BAD(INVALID_VALUE, align, ptr, rt, 64, 64, NULL);
    BAD(INVALID_VALUE, align, alignment, rt, 24, 64, &at);
    SAYS("NVSHMEM_SYMMETRIC_SIZE", OUT_OF_MEMORY, align, bytes, rt, 64, SIZE_MAX, &at);
    BAD(BAD_FREE, free, ptr, rt, (char *)dest + 8);
    BAD(NOT_SYMMETRIC, free, ptr, rt, local);
    BAD(BAD_FREE, release, ptr, rt, (char *)dest + 8);
    BAD(BAD_FREE, pool_free, ptr, dest, sizeof(double), 0, NULL);
    /* pool_alloc returns no status: NULL is the error. */
    refused("pool_alloc", "device", "memory of GPU 7", 1, nvshmemrs_pool_alloc(64, 7, NULL) == NULL);
    BAD(BAD_FREE, realloc, ptr, rt, (char *)dest + 8, 64, &at);
    SAYS("NVSHMEM_SYMMETRIC_SIZE", OUT_OF_MEMORY, realloc, bytes, rt, dest, SIZE_MAX, &at);
    BAD(INVALID_VALUE, realloc, new_ptr, rt, dest, 64, NULL);
    BAD(NOT_SYMMETRIC, ptr, ptr, rt, local, 0, &at);
    BAD_PE(ptr, pe, rt, dest, pe, &at);
    BAD(INVALID_VALUE, ptr, peer_ptr, rt, dest, 0, NULL);
    BAD(INVALID_VALUE, is_symmetric, symmetric, rt, dest, 8, NULL);
    BAD(NOT_SYMMETRIC, memory_kind, ptr, rt, local, &number);
    BAD(INVALID_VALUE, memory_kind, kind, rt, dest, NULL);
    BAD(INVALID_VALUE, heap_stats, stats, rt, NULL);
    BAD(INVALID_VALUE, device_state, state, rt, NULL);
    BAD(INVALID_VALUE, device_state_pointer, pointer, rt, NULL);
    SAYS("host memory", NOT_SUPPORTED, device_algorithm, algorithm, rt, NVSHMEMRS_ALGORITHM_DIRECT, 1, 32, 0);
    BAD(BAD_HANDLE, private_bytes, team, rt, 12345, NVSHMEMRS_COLLECTIVE_REDUCE, &before);
    BAD(INVALID_VALUE, private_bytes, collective, rt, NVSHMEMRS_TEAM_WORLD, 0, &before);
    BAD(INVALID_VALUE, private_bytes, bytes, rt, NVSHMEMRS_TEAM_WORLD, NVSHMEMRS_COLLECTIVE_REDUCE, NULL);
    BAD(INVALID_VALUE, unfreed, text, rt, NULL, 8, &length);
    BAD(INVALID_VALUE, deadline_begin, seconds, 0.0, &before);
    BAD(INVALID_VALUE, deadline_begin, seconds, -1.0, &before);
    BAD(INVALID_VALUE, deadline_begin, seconds, 1e10, &before);
    BAD(INVALID_VALUE, deadline_begin, previous, 1.0, NULL);
    BAD(INVALID_VALUE, check_access, access, dest, 8, 99, NULL);
    BAD(INVALID_VALUE, site_hook_in, language, rt, NULL, NULL, 99);
    SAYS("", OUT_OF_BOUNDS, unfreed, bytes, rt, dest, 1 << 20, &length);
    BAD(INVALID_VALUE, unfreed, length, rt, local, 8, NULL);
    BAD(INVALID_VALUE, buffer_register, buffer, rt, (void *)1, 4096, NULL, &at);
    BAD(INVALID_VALUE, buffer_register, bytes, rt, (void *)4096, 1, NULL, &at);
    BAD(INVALID_VALUE, buffer_register, preferred, rt, (void *)4096, 4096, (void *)1, &at);
    BAD(INVALID_VALUE, buffer_register, symmetric, rt, (void *)4096, 4096, NULL, NULL);
    BAD(BAD_FREE, buffer_unregister, symmetric, rt, dest);
    BAD(INVALID_VALUE, context_new, context, rt, NULL);
    BAD(BAD_HANDLE, context_free, context, 12345);
    BAD(BAD_HANDLE, context_free, context, rt);
    ODD("malloc", "bytes", nvshmemrs_malloc(rt, 64, &at), nvshmemrs_malloc(rt, 128, &at));
    ODD("free", "ptr", nvshmemrs_free(rt, dest), nvshmemrs_free(rt, source));
}

static void teams(void)
{
    const uint64_t world = NVSHMEMRS_TEAM_WORLD;
    uint64_t team, other;
    int32_t number;
    nvshmemrs_team_config_t config;
    CHECK(nvshmemrs_team_config_default(&config));
    BAD(BAD_HANDLE, team_my_pe, team, rt, 12345, &number);
    BAD(INVALID_VALUE, team_my_pe, pe, rt, world, NULL);
    BAD(BAD_HANDLE, team_n_pes, team, rt, 12345, &number);
    BAD(INVALID_VALUE, team_n_pes, n_pes, rt, world, NULL);
    BAD_PE(team_translate_pe, src_pe, rt, world, pe, world, &number);
    BAD(BAD_HANDLE, team_translate_pe, src_team, rt, 12345, 0, world, &number);
    BAD(BAD_HANDLE, team_translate_pe, dest_team, rt, world, 0, 12345, &number);
    BAD(INVALID_VALUE, team_translate_pe, dest_pe, rt, world, 0, world, NULL);
    BAD(BAD_HANDLE, team_split_strided, parent, rt, 12345, 0, 1, 1, NULL, 0, &team);
    BAD_PE(team_split_strided, start, rt, world, pe, 1, 1, NULL, 0, &team);
    SAYS("", INVALID_VALUE, team_split_strided, stride, rt, world, 0, n_pes > 1 ? 0 : 5, n_pes > 1 ? 2 : 2, NULL, 0, &team);
    BAD(INVALID_VALUE, team_split_strided, size, rt, world, 0, 1, 0, NULL, 0, &team);
    BAD(INVALID_VALUE, team_split_strided, size, rt, world, 0, 1, n_pes + 1, NULL, 0, &team);
    BAD(INVALID_VALUE, team_split_strided, team, rt, world, 0, 1, 1, NULL, 0, NULL);
    config.version = 7;
    SAYS("version", INVALID_VALUE, team_split_strided, config, rt, world, 0, 1, 1, &config, 1, &team);
    SAYS("version", INVALID_VALUE, team_split_2d, xconfig, rt, world, 1, &config, 1, NULL, 0, &team, &other);
    SAYS("version", INVALID_VALUE, team_split_2d, yconfig, rt, world, 1, NULL, 0, &config, 1, &team, &other);
    BAD(INVALID_VALUE, team_split_2d, xrange, rt, world, 0, NULL, 0, NULL, 0, &team, &other);
    BAD(BAD_HANDLE, team_split_2d, parent, rt, 12345, 1, NULL, 0, NULL, 0, &team, &other);
    BAD(INVALID_VALUE, team_split_2d, xteam, rt, world, 1, NULL, 0, NULL, 0, NULL, &other);
    BAD(INVALID_VALUE, team_split_2d, yteam, rt, world, 1, NULL, 0, NULL, 0, &team, NULL);
    BAD(INVALID_VALUE, team_destroy, team, rt, world);
    BAD(BAD_HANDLE, team_destroy, team, rt, 12345);
    BAD(INVALID_VALUE, team_unique_id, uniqueid, rt, NULL);
    BAD(BAD_HANDLE, team_ptr, team, rt, 12345, dest, 0, &(void *){NULL});
    BAD_PE(team_ptr, pe, rt, world, dest, pe, &(void *){NULL});
    BAD(NOT_SYMMETRIC, team_ptr, ptr, rt, world, local, 0, &(void *){NULL});
    BAD(INVALID_VALUE, team_ptr, peer_ptr, rt, world, dest, 0, NULL);
    ODD("team_split_strided", "start", nvshmemrs_team_split_strided(rt, world, 1, 1, 1, NULL, 0, &team),
        nvshmemrs_team_split_strided(rt, world, 0, 1, 1, NULL, 0, &team));
}

int main(void)
{
    void *memory;
    setvbuf(stdout, NULL, _IOLBF, 0);
    rt = join(&me);
    CHECK(nvshmemrs_n_pes(rt, &n_pes));
    dest = zeroed(rt, COUNT, sizeof *dest);
    CHECK(nvshmemrs_calloc(rt, 64, sizeof *source, &memory)); /* not beside each other */
    source = zeroed(rt, COUNT, sizeof *source);
    CHECK(nvshmemrs_calloc(rt, 1, 128, &memory)); /* past the source, before the words: freed again */
    CHECK(nvshmemrs_free(rt, memory));
    CHECK(nvshmemrs_align(rt, 4096, sizeof before_word, &memory));
    word = memory;
    for (int i = 0; i < COUNT; i++) {
        before_dest[i] = dest[i] = -1.0 - i;
        before_source[i] = source[i] = 100.0 * me + i;
    }
    memset(word, 0, sizeof before_word);
    CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
    rma();
    elements();
    strided();
    signals();
    collectives();
    atomics();
    waits();
    heap();
    teams();
    CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
    CHECK(nvshmemrs_finalize(rt));
    if (failures)
        return 3;
    printf("bad input ok PE %d of %d\n", (int)me, (int)n_pes);
    return 0;
}
