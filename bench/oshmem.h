/* The operations of the peer benchmark on OpenSHMEM 1.4, which is what Open MPI 4.1's OSHMEM offers. */
#ifndef BENCH_OSHMEM_H
#define BENCH_OSHMEM_H

#include <shmem.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* The longest reduction of the benchmark, in elements: the work array must be sized for it. */
#define BENCH_MAX_COUNT 262144

/* A reduction may start while another PE still leaves the one before it, so two sets of work arrays take turns. */
static long bench_reduce_sync[2][SHMEM_REDUCE_SYNC_SIZE];
static long bench_broadcast_sync[SHMEM_BCAST_SYNC_SIZE];
static double bench_reduce_work[2][BENCH_MAX_COUNT / 2 + 1 + SHMEM_REDUCE_MIN_WRKDATA_SIZE];
static int bench_turn;

static inline void bench_init(void)
{
    shmem_init();
    for (int turn = 0; turn < 2; ++turn) {
        for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; ++i) {
            bench_reduce_sync[turn][i] = SHMEM_SYNC_VALUE;
        }
    }
    for (int i = 0; i < SHMEM_BCAST_SYNC_SIZE; ++i) {
        bench_broadcast_sync[i] = SHMEM_SYNC_VALUE;
    }
    shmem_barrier_all();
}

static inline void bench_finalize(void)
{
    shmem_finalize();
}

static inline int bench_my_pe(void)
{
    return shmem_my_pe();
}

static inline int bench_n_pes(void)
{
    return shmem_n_pes();
}

/* Collective; zeroed. */
static inline void *bench_calloc(size_t bytes)
{
    void *ptr = shmem_calloc(1, bytes);
    if (ptr == NULL) {
        fprintf(stderr, "shmem_calloc: no %zu bytes of symmetric heap\n", bytes);
        exit(1);
    }
    return ptr;
}

static inline void bench_put(void *dest, const void *source, size_t bytes, int pe)
{
    shmem_putmem(dest, source, bytes, pe);
}

static inline void bench_get(void *dest, const void *source, size_t bytes, int pe)
{
    shmem_getmem(dest, source, bytes, pe);
}

static inline void bench_p(int64_t *dest, int64_t value, int pe)
{
    shmem_int64_p(dest, value, pe);
}

static inline int64_t bench_fetch_add(int64_t *dest, int64_t value, int pe)
{
    return shmem_long_atomic_fetch_add((long *)dest, (long)value, pe);
}

/* Puts `bytes` bytes, then sets `signal` to `value`. shmem_putmem_signal came with 1.5; this is its meaning in 1.4. */
static inline void bench_put_signal(void *dest, const void *source, size_t bytes, int64_t *signal, int64_t value, int pe)
{
    shmem_putmem(dest, source, bytes, pe);
    shmem_fence();
    shmem_int64_p(signal, value, pe);
}

/* Waits until this PE's `signal` is at least `value`. */
static inline void bench_wait(int64_t *signal, int64_t value)
{
    shmem_int64_wait_until(signal, SHMEM_CMP_GE, value);
}

static inline void bench_quiet(void)
{
    shmem_quiet();
}

static inline void bench_barrier(void)
{
    shmem_barrier_all();
}

static inline void bench_sum(double *dest, const double *source, size_t count)
{
    bench_turn ^= 1;
    shmem_double_sum_to_all(dest, source, (int)count, 0, 0, shmem_n_pes(), bench_reduce_work[bench_turn],
                            bench_reduce_sync[bench_turn]);
}

/* Broadcasts 8 bytes from PE `root`. What `dest` holds on the root is not defined. */
static inline void bench_broadcast8(void *dest, const void *source, int root)
{
    shmem_broadcast64(dest, source, 1, root, 0, 0, shmem_n_pes(), bench_broadcast_sync);
}

#endif
