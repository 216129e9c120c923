/* The operations of nvshmemrs-perf's worker on OpenSHMEM 1.4, the version of Open MPI 4.1's OSHMEM. */
#ifndef PERF_OSHMEM_H
#define PERF_OSHMEM_H

#include "common.h"

#include <shmem.h>

/*
 * A collective may start while another PE still leaves the previous call, so two sets of work arrays take turns: all
 * PEs have left the call before the previous one. Broadcast gives no such guarantee, so a sync follows it.
 */
static long sync_arrays[2][SHMEM_SYNC_SIZE];
static long broadcast_sync[SHMEM_BCAST_SYNC_SIZE];
static void *reduce_work[2];
static int turn;

#define ALL_PES 0, 0, shmem_n_pes()

static inline long *next_sync(void)
{
    turn ^= 1;
    return sync_arrays[turn];
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

/* `heap_bytes` 0 takes the default. */
static inline void bench_init(size_t heap_bytes, size_t buffer_bytes)
{
    if (heap_bytes > 0) {
        char text[32];
        snprintf(text, sizeof text, "%zu", heap_bytes);
        setenv("SHMEM_SYMMETRIC_SIZE", text, 1);
    }
    shmem_init();
    for (int i = 0; i < SHMEM_SYNC_SIZE; ++i) {
        sync_arrays[0][i] = sync_arrays[1][i] = SHMEM_SYNC_VALUE;
    }
    for (int i = 0; i < SHMEM_BCAST_SYNC_SIZE; ++i) {
        broadcast_sync[i] = SHMEM_SYNC_VALUE;
    }
    if (buffer_bytes > 0) {
        for (int i = 0; i < 2; ++i) {
            reduce_work[i] = bench_calloc(buffer_bytes / 2 + 8 * (1 + SHMEM_REDUCE_MIN_WRKDATA_SIZE));
        }
    }
    shmem_barrier_all();
}

static inline void bench_finalize(void) { shmem_finalize(); }
static inline int bench_my_pe(void) { return shmem_my_pe(); }
static inline int bench_n_pes(void) { return shmem_n_pes(); }

/* RMA */

#define MOVE(name, call)                                                                                              \
    static inline void bench_##name(void *dest, const void *source, size_t bytes, int pe)                             \
    {                                                                                                                 \
        call(dest, source, bytes, pe);                                                                                \
    }
MOVE(put, shmem_putmem)
MOVE(get, shmem_getmem)
MOVE(put_nbi, shmem_putmem_nbi)
MOVE(get_nbi, shmem_getmem_nbi)

static inline void bench_p(int64_t *dest, int64_t value, int pe) { shmem_int64_p(dest, value, pe); }
static inline int64_t bench_g(const int64_t *source, int pe) { return shmem_int64_g(source, pe); }

/* Strided forms move `count` elements of 8 bytes. */
static inline void bench_iput(int64_t *dest, const int64_t *source, ptrdiff_t stride, size_t count, int pe)
{
    shmem_iput64(dest, source, stride, stride, count, pe);
}

static inline void bench_iget(int64_t *dest, const int64_t *source, ptrdiff_t stride, size_t count, int pe)
{
    shmem_iget64(dest, source, stride, stride, count, pe);
}

/* Waiting and order */

static inline void bench_wait_until(int64_t *variable, int64_t value)
{
    shmem_int64_wait_until(variable, SHMEM_CMP_GE, value);
}

static inline void bench_fence(void) { shmem_fence(); }
static inline void bench_quiet(void) { shmem_quiet(); }
static inline void bench_barrier(void) { shmem_barrier_all(); }
static inline void bench_sync(void) { shmem_sync_all(); }

/* AMOs; int64_t is long here. */

#define UPDATE(name, bits, type)                                                                                      \
    static inline void bench_##name##bits(int##bits##_t *dest, int##bits##_t value, int pe)                           \
    {                                                                                                                 \
        shmem_##type##_atomic_##name((type *)dest, value, pe);                                                        \
    }
#define FETCHING(name)                                                                                                \
    static inline int64_t bench_##name##64(int64_t *dest, int64_t value, int pe)                                      \
    {                                                                                                                 \
        return shmem_long_atomic_##name((long *)dest, value, pe);                                                     \
    }

UPDATE(set, 64, long)
UPDATE(add, 64, long)
UPDATE(and, 64, long)
UPDATE(or, 64, long)
UPDATE(xor, 64, long)
UPDATE(set, 32, int)
UPDATE(add, 32, int)
FETCHING(swap)
FETCHING(fetch_add)
FETCHING(fetch_and)
FETCHING(fetch_or)
FETCHING(fetch_xor)

static inline void bench_inc64(int64_t *dest, int pe) { shmem_long_atomic_inc((long *)dest, pe); }
static inline void bench_inc32(int32_t *dest, int pe) { shmem_int_atomic_inc(dest, pe); }

static inline int64_t bench_fetch64(const int64_t *source, int pe)
{
    return shmem_long_atomic_fetch((const long *)source, pe);
}

static inline int64_t bench_fetch_inc64(int64_t *dest, int pe)
{
    return shmem_long_atomic_fetch_inc((long *)dest, pe);
}

static inline int64_t bench_compare_swap64(int64_t *dest, int64_t cond, int64_t value, int pe)
{
    return shmem_long_atomic_compare_swap((long *)dest, cond, value, pe);
}

/* Collectives over all PEs, in units of 8 bytes. After a broadcast, the contents of `dest` on the root are undefined. */

static inline void bench_broadcast(void *dest, const void *source, size_t bytes, int root)
{
    shmem_broadcast64(dest, source, bytes / 8, root, ALL_PES, broadcast_sync);
}

#define EXCHANGE(name)                                                                                                \
    static inline void bench_##name(void *dest, const void *source, size_t bytes)                                     \
    {                                                                                                                 \
        shmem_##name##64(dest, source, bytes / 8, ALL_PES, next_sync());                                              \
    }
EXCHANGE(fcollect)
EXCHANGE(collect)
EXCHANGE(alltoall)

static inline void bench_alltoalls(int64_t *dest, const int64_t *source, ptrdiff_t stride, size_t count)
{
    shmem_alltoalls64(dest, source, stride, stride, count, ALL_PES, next_sync());
}

#define REDUCE(type, op)                                                                                              \
    shmem_##type##_##op##_to_all(dest, source, (int)count, ALL_PES, reduce_work[turn], sync_array);                   \
    return
#define NUMERIC(type)                                                                                                 \
    case SUM: REDUCE(type, sum);                                                                                      \
    case MIN: REDUCE(type, min);                                                                                      \
    case MAX: REDUCE(type, max);                                                                                      \
    case PROD: REDUCE(type, prod)
#define BITWISE(type)                                                                                                 \
    case AND: REDUCE(type, and);                                                                                      \
    case OR: REDUCE(type, or);                                                                                        \
    case XOR: REDUCE(type, xor)

static inline void bench_reduce(void *dest, const void *source, size_t count, enum dtype dtype, enum op op)
{
    long *sync_array = next_sync();
    switch (dtype) {
    case DOUBLE:
        switch (op) { NUMERIC(double); default: break; }
        break;
    case FLOAT:
        switch (op) { NUMERIC(float); default: break; }
        break;
    case INT64:
        switch (op) { NUMERIC(long); BITWISE(long); }
        break;
    case INT32:
        switch (op) { NUMERIC(int); BITWISE(int); }
        break;
    }
    fprintf(stderr, "OSHMEM has no reduction `%s` of %s\n", op_names[op], dtype_names[dtype]);
    exit(1);
}

#endif
