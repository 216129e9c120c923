/* Every atomic memory operation of the C ABI, on the right neighbour's memory: the old value, the new one, what lies beside it, and
 * what wrong arguments get. Each PE prints "same" at the end. */

#include "check.h"

#include <stdint.h>
#include <string.h>

static nvshmemrs_runtime_t rt;
static int32_t me, n_pes, right;

#define FAIL(...)                               \
    do {                                        \
        fprintf(stderr, "line %d: ", __LINE__); \
        fprintf(stderr, __VA_ARGS__);           \
        fprintf(stderr, "\n");                  \
        exit(6);                                \
    } while (0)

/* An odd bit pattern that no operation gives. */
#define MARK 0x5b

static void beside(const void *array, size_t size, int index)
{
    const unsigned char *bytes = array;
    for (size_t i = 0; i < size; i++)
        if (bytes[(size_t)index * size + i] != MARK)
            FAIL("element %d was touched", index);
}

/* Sets the neighbour's element 1 to `start`, makes the call, and compares the old value, if there is one, and the new one. */
#define STEP(T, put, get, array, start, call, fetched, expected)                     \
    do {                                                                             \
        T start_ = (start), new_, all_[3], want_ = (expected);                       \
        old = start_;                                                                \
        CHECK(put(rt, &(array)[1], start_, right));                                  \
        if (fetched)                                                                 \
            memset(&old, MARK, sizeof old);                                          \
        CHECK(call);                                                                 \
        CHECK(nvshmemrs_quiet(rt));                                                  \
        if (memcmp(&old, &start_, sizeof old) != 0)                                  \
            FAIL("%s: not the old value", #call);                                    \
        CHECK(get(rt, &(array)[1], right, &new_));                                   \
        if (memcmp(&new_, &want_, sizeof new_) != 0)                                 \
            FAIL("%s: not the new value", #call);                                    \
        CHECK(nvshmemrs_get(rt, all_, array, sizeof all_, right));                   \
        beside(all_, sizeof *all_, 0);                                               \
        beside(all_, sizeof *all_, 2);                                               \
    } while (0)

#define REFUSED(status, call)                                                              \
    do {                                                                                   \
        int32_t status_ = (call);                                                          \
        if (status_ != (status))                                                           \
            FAIL("%s: status %d: %s", #call, (int)status_, nvshmemrs_last_error());        \
    } while (0)

/* What all types have. `x` is the part of the names that tells the type. */
#define EXCHANGES(T, x, a, b, sum)                                                                               \
    do {                                                                                                         \
        T *to = &array[1];                                                                                       \
        STEP(T, nvshmemrs_atomic_set##x, nvshmemrs_atomic_fetch##x, array, a,                                    \
             nvshmemrs_atomic_fetch##x(rt, to, right, &old), 1, a);                                              \
        STEP(T, nvshmemrs_atomic_set##x, nvshmemrs_atomic_fetch##x, array, a,                                    \
             nvshmemrs_atomic_fetch##x##_nbi(rt, &old, to, right), 1, a);                                        \
        STEP(T, nvshmemrs_atomic_set##x, nvshmemrs_atomic_fetch##x, array, a,                                    \
             nvshmemrs_atomic_set##x(rt, to, b, right), 0, b);                                                   \
        STEP(T, nvshmemrs_atomic_set##x, nvshmemrs_atomic_fetch##x, array, a,                                    \
             nvshmemrs_atomic_swap##x(rt, to, b, right, &old), 1, b);                                            \
        STEP(T, nvshmemrs_atomic_set##x, nvshmemrs_atomic_fetch##x, array, a,                                    \
             nvshmemrs_atomic_swap##x##_nbi(rt, &old, to, b, right), 1, b);                                      \
        STEP(T, nvshmemrs_atomic_set##x, nvshmemrs_atomic_fetch##x, array, a,                                    \
             nvshmemrs_atomic_add##x(rt, to, b, right), 0, sum);                                                 \
        STEP(T, nvshmemrs_atomic_set##x, nvshmemrs_atomic_fetch##x, array, a,                                    \
             nvshmemrs_atomic_fetch_add##x(rt, to, b, right, &old), 1, sum);                                     \
        STEP(T, nvshmemrs_atomic_set##x, nvshmemrs_atomic_fetch##x, array, a,                                    \
             nvshmemrs_atomic_fetch_add##x##_nbi(rt, &old, to, b, right), 1, sum);                               \
        REFUSED(NVSHMEMRS_ERROR_PE_RANGE, nvshmemrs_atomic_set##x(rt, to, a, n_pes));                            \
        REFUSED(NVSHMEMRS_ERROR_PE_RANGE, nvshmemrs_atomic_fetch##x(rt, to, -1, &old));                          \
        REFUSED(NVSHMEMRS_ERROR_PE_RANGE, nvshmemrs_atomic_add##x(rt, to, a, -1));                               \
        REFUSED(NVSHMEMRS_ERROR_PE_RANGE, nvshmemrs_atomic_swap##x##_nbi(rt, &old, to, a, n_pes));               \
        REFUSED(NVSHMEMRS_ERROR_INVALID_VALUE, nvshmemrs_atomic_fetch##x(rt, to, right, NULL));                  \
        REFUSED(NVSHMEMRS_ERROR_INVALID_VALUE, nvshmemrs_atomic_swap##x(rt, to, a, right, NULL));                \
        REFUSED(NVSHMEMRS_ERROR_INVALID_VALUE, nvshmemrs_atomic_fetch_add##x##_nbi(rt, NULL, to, a, right));     \
        REFUSED(NVSHMEMRS_ERROR_NOT_SYMMETRIC, nvshmemrs_atomic_set##x(rt, &old, a, right));                     \
        REFUSED(NVSHMEMRS_ERROR_NOT_SYMMETRIC, nvshmemrs_atomic_add##x(rt, NULL, a, right));                     \
        REFUSED(NVSHMEMRS_ERROR_OUT_OF_BOUNDS, nvshmemrs_atomic_swap##x(rt, array + 3, a, right, &old));         \
        REFUSED(NVSHMEMRS_ERROR_INVALID_VALUE, nvshmemrs_atomic_add##x(rt, (T *)((char *)array + 1), a, right)); \
        REFUSED(NVSHMEMRS_ERROR_NOT_INITIALIZED, nvshmemrs_atomic_set##x(0, to, a, right));                      \
    } while (0)

#define BITWISE(T, x, name, a, b, result)                                             \
    do {                                                                              \
        STEP(T, nvshmemrs_atomic_set##x, nvshmemrs_atomic_fetch##x, array, a,         \
             nvshmemrs_atomic_##name##x(rt, to, b, right), 0, result);                \
        STEP(T, nvshmemrs_atomic_set##x, nvshmemrs_atomic_fetch##x, array, a,         \
             nvshmemrs_atomic_fetch_##name##x(rt, to, b, right, &old), 1, result);    \
        STEP(T, nvshmemrs_atomic_set##x, nvshmemrs_atomic_fetch##x, array, a,         \
             nvshmemrs_atomic_fetch_##name##x##_nbi(rt, &old, to, b, right), 1, result); \
    } while (0)

#define INTEGERS(T, x, a, b)                                                                             \
    do {                                                                                                 \
        T *to = &array[1];                                                                               \
        EXCHANGES(T, x, a, b, (T)(a) + (T)(b));                                                          \
        BITWISE(T, x, and, a, b, (T)(a) & (T)(b));                                                       \
        BITWISE(T, x, or, a, b, (T)(a) | (T)(b));                                                        \
        BITWISE(T, x, xor, a, b, (T)(a) ^ (T)(b));                                                       \
        STEP(T, nvshmemrs_atomic_set##x, nvshmemrs_atomic_fetch##x, array, a,                            \
             nvshmemrs_atomic_inc##x(rt, to, right), 0, (T)(a) + 1);                                     \
        STEP(T, nvshmemrs_atomic_set##x, nvshmemrs_atomic_fetch##x, array, a,                            \
             nvshmemrs_atomic_fetch_inc##x(rt, to, right, &old), 1, (T)(a) + 1);                         \
        STEP(T, nvshmemrs_atomic_set##x, nvshmemrs_atomic_fetch##x, array, a,                            \
             nvshmemrs_atomic_fetch_inc##x##_nbi(rt, &old, to, right), 1, (T)(a) + 1);                   \
        STEP(T, nvshmemrs_atomic_set##x, nvshmemrs_atomic_fetch##x, array, a,                            \
             nvshmemrs_atomic_compare_swap##x(rt, to, a, b, right, &old), 1, b);                         \
        STEP(T, nvshmemrs_atomic_set##x, nvshmemrs_atomic_fetch##x, array, a,                            \
             nvshmemrs_atomic_compare_swap##x(rt, to, (T)(a) + 1, b, right, &old), 1, a);                \
        STEP(T, nvshmemrs_atomic_set##x, nvshmemrs_atomic_fetch##x, array, a,                            \
             nvshmemrs_atomic_compare_swap##x##_nbi(rt, &old, to, a, b, right), 1, b);                   \
    } while (0)

static void *fresh(size_t size)
{
    void *memory;
    CHECK(nvshmemrs_malloc(rt, 3 * size, &memory));
    memset(memory, MARK, 3 * size);
    CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
    return memory;
}

int main(void)
{
    rt = join(&me);
    CHECK(nvshmemrs_n_pes(rt, &n_pes));
    right = (me + 1) % n_pes;
    {
        uint32_t *array = fresh(sizeof *array), old;
        INTEGERS(uint32_t, 32, 7, 12);
        INTEGERS(uint32_t, 32, UINT32_MAX, 3);
        INTEGERS(uint32_t, 32, (uint32_t)INT32_MIN, (uint32_t)-1);
    }
    {
        uint64_t *array = fresh(sizeof *array), old;
        INTEGERS(uint64_t, 64, 7, 12);
        INTEGERS(uint64_t, 64, UINT64_MAX, 3);
        INTEGERS(uint64_t, 64, (uint64_t)INT64_MIN, (uint64_t)-1);
    }
    {
        float *array = fresh(sizeof *array), old;
        EXCHANGES(float, _float, 0.25f, -3.5f, -3.25f);
        EXCHANGES(float, _float, 3e38f, 3e38f, 3e38f + 3e38f);
    }
    {
        double *array = fresh(sizeof *array), old;
        EXCHANGES(double, _double, 0.1, 0.2, 0.1 + 0.2);
        EXCHANGES(double, _double, -0.0, 0.0, 0.0);
    }
    CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
    /* All PEs at once. */
    {
        enum { ROUNDS = 10000 };
        void *memory;
        uint64_t count = 0, *counter;
        double sum = 0, *total;
        CHECK(nvshmemrs_calloc(rt, 1, sizeof *counter, &memory));
        counter = memory;
        CHECK(nvshmemrs_calloc(rt, 1, sizeof *total, &memory));
        total = memory;
        for (int i = 0; i < ROUNDS; i++) {
            uint64_t old;
            CHECK(nvshmemrs_atomic_inc64(rt, counter, 0));
            CHECK(nvshmemrs_atomic_fetch_inc64_nbi(rt, &old, counter, 0));
            CHECK(nvshmemrs_atomic_add_double(rt, total, 0.5, 0));
        }
        CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
        CHECK(nvshmemrs_atomic_fetch64(rt, counter, 0, &count));
        CHECK(nvshmemrs_atomic_fetch_double(rt, total, 0, &sum));
        if (count != 2 * ROUNDS * (uint64_t)n_pes || sum != 0.5 * ROUNDS * n_pes)
            FAIL("an update was lost: %llu, %g", (unsigned long long)count, sum);
    }
    CHECK(nvshmemrs_finalize(rt));
    puts("same");
    return 0;
}
