/* Waits on a stream, of every type. */

#include "common.h"

#define N 3

static unsigned char *there;

#define WAITS(TAG, T) \
    static void waits_##TAG(void) \
    { \
        T *at = (T *)there; \
        const int excluded[N] = {0, 1, 0}; \
        T wanted[N] = {11, 99, 13}; \
        nvshmem_barrier_all(); \
        for (int i = 0; i < N; i++) \
            at[i] = 0; \
        nvshmem_barrier_all(); \
        nvshmemx_##TAG##_wait_until_on_stream(at, NVSHMEM_CMP_EQ, 11, NULL); \
        nvshmemx_##TAG##_wait_until_all_on_stream(at, N, excluded, NVSHMEM_CMP_GT, 10, NULL); \
        nvshmemx_##TAG##_wait_until_all_vector_on_stream(at, N, excluded, NVSHMEM_CMP_EQ, wanted, NULL); \
        nvshmem_##TAG##_p(at + 2, 13, next); \
        nvshmem_##TAG##_p(at, 11, next); \
        drain(); \
        CHECK(at[0] == 11 && at[1] == 0 && at[2] == 13); \
    }
WAIT_TYPES(WAITS)

int main(void)
{
    begin();
    there = nvshmem_malloc(64);
#define EACH(TAG, T) waits_##TAG();
    WAIT_TYPES(EACH)
    end();
    return 0;
}
