/* The operations of the peer benchmark on nvshmemrs' C ABI. */
#ifndef BENCH_OURS_H
#define BENCH_OURS_H

#include <nvshmemrs.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static nvshmemrs_runtime_t bench_runtime;

/* Ends the program with the library's own words if a call failed. */
#define CHECK(call)                                                                                                   \
    do {                                                                                                              \
        int32_t status_ = (call);                                                                                     \
        if (status_ != NVSHMEMRS_SUCCESS) {                                                                           \
            fprintf(stderr, "%s\nstatus %d: %s\n", #call, (int)status_, nvshmemrs_last_error());                      \
            exit(1);                                                                                                  \
        }                                                                                                             \
    } while (0)

static inline void bench_init(void)
{
    CHECK(nvshmemrs_init(NULL, &bench_runtime));
}

static inline void bench_finalize(void)
{
    CHECK(nvshmemrs_finalize(bench_runtime));
}

static inline int bench_my_pe(void)
{
    int32_t pe = -1;
    CHECK(nvshmemrs_my_pe(bench_runtime, &pe));
    return pe;
}

static inline int bench_n_pes(void)
{
    int32_t n_pes = -1;
    CHECK(nvshmemrs_n_pes(bench_runtime, &n_pes));
    return n_pes;
}

/* Collective; zeroed. */
static inline void *bench_calloc(size_t bytes)
{
    void *ptr = NULL;
    CHECK(nvshmemrs_calloc(bench_runtime, 1, bytes, &ptr));
    return ptr;
}

static inline void bench_put(void *dest, const void *source, size_t bytes, int pe)
{
    CHECK(nvshmemrs_put(bench_runtime, dest, source, bytes, pe));
}

static inline void bench_get(void *dest, const void *source, size_t bytes, int pe)
{
    CHECK(nvshmemrs_get(bench_runtime, dest, source, bytes, pe));
}

static inline void bench_p(int64_t *dest, int64_t value, int pe)
{
    CHECK(nvshmemrs_p64(bench_runtime, dest, (uint64_t)value, pe));
}

static inline int64_t bench_fetch_add(int64_t *dest, int64_t value, int pe)
{
    uint64_t old = 0;
    CHECK(nvshmemrs_atomic_fetch_add64(bench_runtime, (uint64_t *)dest, (uint64_t)value, pe, &old));
    return (int64_t)old;
}

/* Puts `bytes` bytes, then sets `signal` to `value`: who sees the signal sees the data. */
static inline void bench_put_signal(void *dest, const void *source, size_t bytes, int64_t *signal, int64_t value, int pe)
{
    CHECK(nvshmemrs_put_signal(bench_runtime, dest, source, bytes, (uint64_t *)signal, (uint64_t)value,
                               NVSHMEMRS_SIGNAL_SET, pe));
}

/* Waits until this PE's `signal` is at least `value`. */
static inline void bench_wait(int64_t *signal, int64_t value)
{
    CHECK(nvshmemrs_signal_wait(bench_runtime, (uint64_t *)signal, NVSHMEMRS_CMP_GE, (uint64_t)value, NULL));
}

static inline void bench_quiet(void)
{
    CHECK(nvshmemrs_quiet(bench_runtime));
}

static inline void bench_barrier(void)
{
    CHECK(nvshmemrs_barrier(bench_runtime, NVSHMEMRS_TEAM_WORLD));
}

static inline void bench_sum(double *dest, const double *source, size_t count)
{
    CHECK(nvshmemrs_reduce(bench_runtime, NVSHMEMRS_TEAM_WORLD, dest, source, count, NVSHMEMRS_DTYPE_DOUBLE,
                           NVSHMEMRS_OP_SUM));
}

/* Broadcasts 8 bytes from PE `root`. What `dest` holds on the root is not defined. */
static inline void bench_broadcast8(void *dest, const void *source, int root)
{
    CHECK(nvshmemrs_broadcast(bench_runtime, NVSHMEMRS_TEAM_WORLD, dest, source, 8, root));
}

#endif
