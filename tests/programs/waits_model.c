/* Every wait and test of the C ABI, for every type and comparison, against a plain loop; then series of calls that return any, and
 * the arguments of queued calls after the call. bad_input.c has the wrong arguments. Each PE prints "same" at the end. */

#include "check.h"

#include <math.h>
#include <stdatomic.h>
#include <stdint.h>

static nvshmemrs_runtime_t rt;
static int32_t me, n_pes;

enum { COUNT = 4 };

/* `a cmp b`, written out. */
#define HOLDS(cmp, a, b)                             \
    ((cmp) == NVSHMEMRS_CMP_EQ   ? (a) == (b)        \
     : (cmp) == NVSHMEMRS_CMP_NE ? (a) != (b)        \
     : (cmp) == NVSHMEMRS_CMP_GT ? (a) > (b)         \
     : (cmp) == NVSHMEMRS_CMP_LE ? (a) <= (b)        \
     : (cmp) == NVSHMEMRS_CMP_LT ? (a) < (b)         \
                                 : (a) >= (b))

/* Where the operations find the status and put the indices: nothing that the compiler would have aligned. */
static char status_room[COUNT * sizeof(int32_t) + 1], indices_room[COUNT * sizeof(size_t) + 1], values_room[COUNT * 8 + 1];
#define STATUS ((const int32_t *)(void *)(status_room + 1))
#define INDICES ((size_t *)(void *)(indices_room + 1))

/* Compares the results of the calls with the indices that hold. */
static void compare(const char *what, const size_t *holding, size_t n, size_t waited_for, int32_t all, size_t any, size_t found)
{
    if (all != (n == waited_for))
        FAIL("%s: all gave %d, %zu of %zu hold", what, (int)all, n, waited_for);
    size_t at = 0;
    while (at < n && holding[at] != any)
        at++;
    if (n > 0 ? at == n : any != SIZE_MAX)
        FAIL("%s: any gave %zu", what, any);
    if (found != n || memcmp(indices_room + 1, holding, n * sizeof *holding) != 0)
        FAIL("%s: some gave %zu, not %zu", what, found, n);
}

#define FORMS(T, dtype, ivars, wanted, suffix, each, count)                                                      \
    do {                                                                                                         \
        size_t holding[COUNT] = {0}, n = 0, waited_for = 0, any = 77, found = 77;                                \
        int32_t all = 77;                                                                                        \
        const void *values = values_room + 1;                                                                    \
        const int32_t *status_arg = with_status ? STATUS : NULL;                                                 \
        memcpy(values_room + 1, wanted, sizeof(T) * COUNT);                                                      \
        memset(indices_room, 0, sizeof indices_room);                                                            \
        for (size_t i = 0; i < (count); i++) {                                                                   \
            if (with_status && status[i] != 0)                                                                   \
                continue;                                                                                        \
            waited_for++;                                                                                        \
            if (HOLDS(cmp, (ivars)[i], (wanted)[(each) ? i : 0]))                                                \
                holding[n++] = i;                                                                                \
        }                                                                                                        \
        CHECK(nvshmemrs_test_all##suffix(rt, ivars, count, status_arg, cmp, values, dtype, &all));               \
        CHECK(nvshmemrs_test_any##suffix(rt, ivars, count, status_arg, cmp, values, dtype, &any));               \
        CHECK(nvshmemrs_test_some##suffix(rt, ivars, count, INDICES, status_arg, cmp, values, dtype, &found));   \
        compare("test" #suffix, holding, n, waited_for, all, any, found);                                        \
        if (n == waited_for)                                                                                     \
            CHECK(nvshmemrs_wait_until_all##suffix(rt, ivars, count, status_arg, cmp, values, dtype));           \
        if (n > 0 || waited_for == 0) {                                                                          \
            any = found = 77;                                                                                    \
            memset(indices_room, 0, sizeof indices_room);                                                        \
            CHECK(nvshmemrs_wait_until_any##suffix(rt, ivars, count, status_arg, cmp, values, dtype, &any));     \
            CHECK(nvshmemrs_wait_until_some##suffix(rt, ivars, count, INDICES, status_arg, cmp, values, dtype,   \
                                                    &found));                                                    \
            compare("wait_until" #suffix, holding, n, waited_for, all, any, found);                              \
        }                                                                                                        \
        /* As many calls as there are indices that hold return each of them. */                                  \
        unsigned tested = 0, waited = 0, expected = 0;                                                           \
        for (size_t i = 0; i < n; i++) {                                                                         \
            expected |= 1u << holding[i];                                                                        \
            CHECK(nvshmemrs_test_any##suffix(rt, ivars, count, status_arg, cmp, values, dtype, &any));           \
            tested |= 1u << any;                                                                                 \
        }                                                                                                        \
        for (size_t i = 0; i < n; i++) {                                                                         \
            CHECK(nvshmemrs_wait_until_any##suffix(rt, ivars, count, status_arg, cmp, values, dtype, &any));     \
            waited |= 1u << any;                                                                                 \
        }                                                                                                        \
        if (tested != expected || waited != expected)                                                            \
            FAIL("any" #suffix " in series gave %#x and %#x, not %#x", tested, waited, expected);                \
    } while (0)

#define TYPE(T, dtype, a, b, c, d)                                                                               \
    do {                                                                                                         \
        const T samples[COUNT] = {a, b, c, d};                                                                   \
        const T vectors[3][COUNT] = {{a, b, c, d}, {d, c, b, a}, {b, b, d, c}};                                  \
        static const int32_t statuses[4][COUNT] = {{0}, {1, 0, -1, 0}, {0, 5, 0, INT32_MIN}, {1, 1, 1, 1}};      \
        void *memory;                                                                                            \
        T *ivars;                                                                                                \
        CHECK(nvshmemrs_malloc(rt, sizeof samples, &memory));                                                    \
        ivars = memory;                                                                                          \
        /* The left neighbour writes them. */                                                                    \
        for (size_t i = 0; i < COUNT; i++)                                                                       \
            CHECK(nvshmemrs_put(rt, &ivars[i], &samples[i], sizeof(T), (me + 1) % n_pes));                       \
        CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));                                                      \
        for (int32_t cmp = NVSHMEMRS_CMP_EQ; cmp <= NVSHMEMRS_CMP_GE; cmp++) {                                   \
            for (size_t v = 0; v < 3; v++) {                                                                     \
                const T *wanted = vectors[v];                                                                    \
                for (size_t s = 0; s < 5; s++) {                                                                 \
                    const int32_t *status = statuses[s % 4];                                                     \
                    int with_status = s < 4;                                                                     \
                    memcpy(status_room + 1, status, COUNT * sizeof *status);                                     \
                    for (size_t count = 0; count <= COUNT; count += COUNT) {                                     \
                        FORMS(T, dtype, ivars, wanted, , 0, count);                                              \
                        FORMS(T, dtype, ivars, wanted, _vector, 1, count);                                       \
                    }                                                                                            \
                }                                                                                                \
                for (size_t i = 0; i < COUNT; i++) {                                                             \
                    int32_t holds = 77;                                                                          \
                    memcpy(values_room + 1, &wanted[i], sizeof(T));                                              \
                    CHECK(nvshmemrs_test(rt, &ivars[i], cmp, values_room + 1, dtype, &holds));                   \
                    if (holds != (HOLDS(cmp, ivars[i], wanted[i]) ? 1 : 0))                                      \
                        FAIL("test gave %d", (int)holds);                                                        \
                    if (holds)                                                                                   \
                        CHECK(nvshmemrs_wait_until(rt, &ivars[i], cmp, values_room + 1, dtype));                 \
                }                                                                                                \
            }                                                                                                    \
        }                                                                                                        \
        CHECK(nvshmemrs_free(rt, memory));                                                                       \
    } while (0)

/* Two PEs send a number back and forth; the last element of an array and a single element take turns. */
static void back_and_forth(void)
{
    enum { ROUNDS = 2000 };
    int64_t *ivars = zeroed(rt, 64, sizeof *ivars);
    CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
    for (int64_t round = 1; round <= ROUNDS && me < 2 && n_pes >= 2; round++) {
        size_t index;
        if (me == 0)
            CHECK(nvshmemrs_p64(rt, &ivars[63], (uint64_t)-round, 1));
        CHECK(nvshmemrs_wait_until_any(rt, ivars, 64, NULL, NVSHMEMRS_CMP_LE, &(int64_t){-round}, NVSHMEMRS_DTYPE_INT64,
                                       &index));
        if (index != 63)
            FAIL("round %lld: index %zu", (long long)round, index);
        if (me == 1)
            CHECK(nvshmemrs_p64(rt, &ivars[63], (uint64_t)-round, 0));
    }
    CHECK(nvshmemrs_free(rt, ivars));
}

static int32_t pause_stream(void *gate)
{
    while (!atomic_load((atomic_int *)gate))
        usleep(100);
    return 0;
}

/* Whether the stream has run all that was queued. */
static int32_t done(nvshmemrs_stream_t stream)
{
    int32_t done;
    CHECK(nvshmemrs_stream_query(stream, &done));
    return done;
}

/* Queued waits have read their arguments when they return: a stream that stands still until these have been overwritten waits for
 * their earlier values. Each PE writes its own elements. */
static void queued(void)
{
    enum { VALUE, ALL, VECTOR, FORMS_QUEUED };
    const int32_t ge = NVSHMEMRS_CMP_GE, type = NVSHMEMRS_DTYPE_INT64;
    nvshmemrs_stream_t stream;
    int64_t *ivars;
    CHECK(nvshmemrs_stream_new(rt, &stream));
    ivars = zeroed(rt, COUNT, sizeof *ivars);
    for (int form = VALUE; form < FORMS_QUEUED; form++) {
        for (int overwrite_with = 0; overwrite_with <= 9; overwrite_with += 9) {
            int64_t value = 5, values[COUNT] = {5, 6, 7, 8}, zeros[COUNT] = {0};
            int32_t status[COUNT] = {0, 0, 0, 1}, holds = 77;
            atomic_int gate = 0;
            size_t index = 77;
            CHECK(nvshmemrs_put(rt, ivars, zeros, sizeof zeros, me));
            CHECK(nvshmemrs_quiet(rt));
            CHECK(nvshmemrs_stream_call(stream, pause_stream, &gate));
            if (form == VALUE)
                CHECK(nvshmemrs_wait_until(stream, ivars, ge, &value, type));
            else if (form == ALL)
                CHECK(nvshmemrs_wait_until_all(stream, ivars, COUNT, status, ge, &value, type));
            else
                CHECK(nvshmemrs_wait_until_all_vector(stream, ivars, COUNT, status, ge, values, type));
            /* With 0 it would end too soon, with 9 never: with the arguments as they were, neither. */
            value = overwrite_with;
            for (size_t i = 0; i < COUNT; i++) {
                values[i] = overwrite_with;
                status[i] = overwrite_with == 0;
            }
            atomic_store(&gate, 1);
            usleep(5000);
            if (done(stream))
                FAIL("form %d, overwritten with %d: it did not wait", form, overwrite_with);
            CHECK(nvshmemrs_put(rt, ivars, (const int64_t[]){5, 6, 7}, 3 * sizeof *ivars, me));
            CHECK(nvshmemrs_stream_synchronize(stream));
            /* Tests and waits with an output. */
            value = 6;
            values[1] = values[2] = 7;
            CHECK(nvshmemrs_test(stream, &ivars[1], ge, &value, type, &holds));
            CHECK(nvshmemrs_wait_until_any_vector(stream, &ivars[1], 2, NULL, ge, &values[1], type, &index));
            if (holds != 1 || index != 1)
                FAIL("test gave %d, wait_until_any_vector %zu", (int)holds, index);
        }
    }
    /* The errors of these are returned at once. */
    int64_t one = 1;
    REFUSED(NVSHMEMRS_ERROR_INVALID_VALUE, "`dtype`", nvshmemrs_wait_until(stream, ivars, ge, &one, 99));
    REFUSED(NVSHMEMRS_ERROR_INVALID_VALUE, "`cmp`", nvshmemrs_wait_until(stream, ivars, 77, &one, type));
    REFUSED(NVSHMEMRS_ERROR_INVALID_VALUE, "`value`", nvshmemrs_wait_until(stream, ivars, ge, NULL, type));
    REFUSED(NVSHMEMRS_ERROR_INVALID_VALUE, "`value`", nvshmemrs_wait_until_all(stream, ivars, COUNT, NULL, ge, NULL, type));
    REFUSED(NVSHMEMRS_ERROR_OUT_OF_BOUNDS, "`ivars`",
            nvshmemrs_wait_until_all_vector(stream, ivars, SIZE_MAX, NULL, ge, &one, type));
    CHECK(nvshmemrs_stream_synchronize(stream));
    CHECK(nvshmemrs_stream_free(stream));
    CHECK(nvshmemrs_free(rt, ivars));
}

int main(void)
{
    rt = join(&me);
    CHECK(nvshmemrs_n_pes(rt, &n_pes));
    TYPE(int8_t, NVSHMEMRS_DTYPE_INT8, INT8_MIN, -1, 0, INT8_MAX);
    TYPE(int16_t, NVSHMEMRS_DTYPE_INT16, INT16_MIN, -1, 0, INT16_MAX);
    TYPE(int32_t, NVSHMEMRS_DTYPE_INT32, INT32_MIN, -1, 0, INT32_MAX);
    TYPE(int64_t, NVSHMEMRS_DTYPE_INT64, INT64_MIN, -1, 0, INT64_MAX);
    TYPE(uint8_t, NVSHMEMRS_DTYPE_UINT8, 0, 1, 128, UINT8_MAX);
    TYPE(uint16_t, NVSHMEMRS_DTYPE_UINT16, 0, 1, 1 << 15, UINT16_MAX);
    TYPE(uint32_t, NVSHMEMRS_DTYPE_UINT32, 0, 1, UINT32_C(1) << 31, UINT32_MAX);
    TYPE(uint64_t, NVSHMEMRS_DTYPE_UINT64, 0, 1, UINT64_C(1) << 63, UINT64_MAX);
    TYPE(float, NVSHMEMRS_DTYPE_FLOAT, -INFINITY, -0.0f, 0.0f, NAN);
    TYPE(double, NVSHMEMRS_DTYPE_DOUBLE, -INFINITY, -1e-300, 1e300, NAN);
    back_and_forth();
    queued();
    CHECK(nvshmemrs_finalize(rt));
    puts("same");
    return 0;
}
