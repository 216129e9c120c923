/* Collectives of active sets: all PEs, and those with an odd number, while the others do something else. */

#include "common.h"

#include <complex.h>

#define N 6
#define MAX_PES 8

static unsigned char *there, *from;
static long *sync;

#define VALUE(T, PE, I) ((T)(1 + (PE) + 2 * (I)))

static int start, log_stride, size;

static int world(int member)
{
    return start + (member << log_stride);
}

#define SET start, log_stride, size

static void meet(void)
{
    shmem_barrier(SET, sync);
}

#define MOVING(B, T) \
    static void moving_##B(void) \
    { \
        const int own = (me - start) >> log_stride, root = size - 1; \
        T *dest = (T *)there, *source = (T *)from; \
        for (int i = 0; i < N * MAX_PES; i++) \
            source[i] = VALUE(T, me, i), dest[i] = 99; \
        meet(); \
        shmem_broadcast##B(dest, source, N, root, SET, sync); \
        for (int i = 0; i < N; i++) \
            CHECK(dest[i] == (own == root ? 99 : VALUE(T, world(root), i)) && dest[N + i] == 99); \
        meet(); \
        shmem_fcollect##B(dest, source, N, SET, sync); \
        for (int i = 0; i < N * size; i++) \
            CHECK(dest[i] == VALUE(T, world(i / N), i % N)); \
        meet(); \
        shmem_collect##B(dest, source, (size_t)own + 1, SET, sync); \
        for (int member = 0, at = 0; member < size; member++) \
            for (int i = 0; i <= member; i++) \
                CHECK(dest[at++] == VALUE(T, world(member), i)); \
        meet(); \
        shmem_alltoall##B(dest, source, N, SET, sync); \
        for (int i = 0; i < N * size; i++) \
            CHECK(dest[i] == VALUE(T, world(i / N), N * own + i % N)); \
        meet(); \
        shmem_alltoalls##B(dest, source, 2, 1, 2, SET, sync); \
        for (int i = 0; i < 2 * size; i++) \
            CHECK(dest[2 * i] == VALUE(T, world(i / 2), 2 * own + i % 2)); \
        meet(); \
    }
MOVING(32, uint32_t) MOVING(64, uint64_t)

#define REDUCE(TAG, T, OP, EXPRESSION) \
    { \
        T *dest = (T *)there, *source = (T *)from, work[N + SHMEM_REDUCE_MIN_WRKDATA_SIZE]; \
        for (int i = 0; i < N; i++) \
            source[i] = VALUE(T, me % 3, i); \
        meet(); \
        shmem_##TAG##_##OP##_to_all(dest, source, N, SET, work, sync); \
        for (int i = 0; i < N; i++) { \
            T a = VALUE(T, world(0) % 3, i); \
            for (int member = 1; member < size; member++) { \
                const T b = VALUE(T, world(member) % 3, i); \
                a = (T)(EXPRESSION); \
            } \
            CHECK(dest[i] == a); \
        } \
        meet(); \
    }
#define SUMS(TAG, T) REDUCE(TAG, T, sum, a + b) REDUCE(TAG, T, prod, a * b)
#define ORDERED(TAG, T) SUMS(TAG, T) REDUCE(TAG, T, min, a < b ? a : b) REDUCE(TAG, T, max, a > b ? a : b)
#define BITWISE(TAG, T) ORDERED(TAG, T) REDUCE(TAG, T, and, a & b) REDUCE(TAG, T, or, a | b) REDUCE(TAG, T, xor, a ^ b)

static void all(int first, int stride, int count)
{
    start = first, log_stride = stride, size = count;
    shmem_sync(SET, sync);
    moving_32(), moving_64();
    BITWISE(short, short) BITWISE(int, int) BITWISE(long, long) BITWISE(longlong, long long)
    ORDERED(float, float) ORDERED(double, double) ORDERED(longdouble, long double)
    SUMS(complexf, float complex) SUMS(complexd, double complex)
    shmem_sync(SET, sync);
}

int main(void)
{
    begin();
    there = shmem_align(64, 2 * N * MAX_PES * sizeof(long double));
    from = shmem_align(64, 2 * N * MAX_PES * sizeof(long double));
    sync = shmem_malloc(sizeof *sync * SHMEM_SYNC_SIZE);
    for (int i = 0; i < SHMEM_SYNC_SIZE; i++)
        sync[i] = SHMEM_SYNC_VALUE;
    int *flag = shmem_calloc(1, sizeof *flag);
    shmem_barrier_all();
    all(0, 0, n_pes);
    if (me % 2 == 1)
        all(1, 1, n_pes / 2);
    else if (n_pes > 1)
        /* Nothing that the odd PEs do waits for this one. */
        shmem_int_wait_until(flag, SHMEM_CMP_EQ, 1);
    if (me == 1)
        for (int pe = 0; pe < n_pes; pe += 2)
            shmem_int_p(flag, 1, pe);
    shmem_barrier_all();
    for (int first = 0; first + 1 < n_pes; first++)
        if (me >= first)
            all(first, 0, n_pes - first);
    end();
    return 0;
}
