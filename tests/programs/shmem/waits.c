/* Waits and tests of every type: one, all, any, some, with one value and with a value for each element. */

#include "common.h"

#define N 4

static unsigned char *there;

#define WAITS(TAG, T) \
    static void waits_##TAG(void) \
    { \
        T *words = (T *)there; \
        const int status[N] = {0, 1, 0, 0}; \
        const T values[N] = {1, 2, 3, 4}; \
        size_t indices[N]; \
        shmem_barrier_all(); \
        for (int i = 0; i < N; i++) \
            words[i] = 0; \
        shmem_barrier_all(); \
        CHECK(shmem_##TAG##_test(words, SHMEM_CMP_EQ, 0) == 1 && shmem_##TAG##_test(words, SHMEM_CMP_GT, 0) == 0); \
        CHECK(shmem_##TAG##_test_any(words, N, NULL, SHMEM_CMP_NE, 0) == SIZE_MAX); \
        CHECK(shmem_##TAG##_test_some(words, N, indices, NULL, SHMEM_CMP_NE, 0) == 0); \
        CHECK(shmem_##TAG##_test_all(words, N, NULL, SHMEM_CMP_EQ, 0) == 1); \
        shmem_barrier_all(); \
        shmem_##TAG##_p(words + 2, (T)3, next); \
        CHECK(shmem_##TAG##_wait_until_any(words, N, status, SHMEM_CMP_GE, 1) == 2); \
        CHECK(shmem_##TAG##_wait_until_some(words, N, indices, status, SHMEM_CMP_LE, 3) == 3); \
        CHECK(indices[0] == 0 && indices[1] == 2 && indices[2] == 3); \
        shmem_##TAG##_wait_until(words + 2, SHMEM_CMP_EQ, 3); \
        shmem_barrier_all(); \
        for (int i = 0; i < N; i++) \
            shmem_##TAG##_p(words + i, (T)(i + 1), next); \
        shmem_##TAG##_wait_until_all(words, N, NULL, SHMEM_CMP_NE, 0); \
        shmem_##TAG##_wait_until_all_vector(words, N, NULL, SHMEM_CMP_EQ, values); \
        CHECK(shmem_##TAG##_test_all_vector(words, N, NULL, SHMEM_CMP_EQ, values) == 1); \
        CHECK(shmem_##TAG##_wait_until_any_vector(words, N, status, SHMEM_CMP_EQ, values) != 1); \
        CHECK(shmem_##TAG##_test_any_vector(words, N, NULL, SHMEM_CMP_LT, values) == SIZE_MAX); \
        CHECK(shmem_##TAG##_wait_until_some_vector(words, N, indices, status, SHMEM_CMP_EQ, values) == 3); \
        CHECK(shmem_##TAG##_test_some_vector(words, N, indices, NULL, SHMEM_CMP_EQ, values) == N); \
        CHECK(shmem_##TAG##_wait_until_some(words, 0, indices, NULL, SHMEM_CMP_EQ, 1) == 0); \
        CHECK(shmem_##TAG##_wait_until_any(words, 0, NULL, SHMEM_CMP_EQ, 1) == SIZE_MAX); \
    }
WAIT_TYPES(WAITS)

#define OLD(TAG, T) \
    static void old_##TAG(void) \
    { \
        T *words = (T *)there; \
        shmem_barrier_all(); \
        words[0] = 0; \
        shmem_barrier_all(); \
        shmem_##TAG##_p(words, (T)7, next); \
        shmem_##TAG##_wait(words, 0); \
        CHECK(words[0] == 7); \
    }
OLD(short, short) OLD(int, int) OLD(long, long) OLD(longlong, long long)

int main(void)
{
    begin();
    there = shmem_malloc(256);
#define EACH(TAG, T) waits_##TAG();
    WAIT_TYPES(EACH)
    old_short(), old_int(), old_long(), old_longlong();
    end();
    return 0;
}
