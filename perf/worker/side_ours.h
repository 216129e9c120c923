/* The operations of nvshmemrs-perf's worker on nvshmemrs' C ABI. */
#ifndef PERF_OURS_H
#define PERF_OURS_H

#include "common.h"

#include "nvshmemrs.h"

#define HAVE_PUT_SIGNAL 1
#define HAVE_REDUCESCATTER 1
#define HAVE_SCAN 1

static nvshmemrs_runtime_t rt;

/* Ends the program with the library's error if a call failed. */
#define CHECK(call)                                                                                                   \
    do {                                                                                                              \
        int32_t status_ = (call);                                                                                     \
        if (status_ != NVSHMEMRS_SUCCESS) {                                                                           \
            fprintf(stderr, "%s\nstatus %d: %s\n", #call, (int)status_, nvshmemrs_last_error());                      \
            exit(1);                                                                                                  \
        }                                                                                                             \
    } while (0)

#define WORLD NVSHMEMRS_TEAM_WORLD

/* `heap_bytes` 0 takes the default. */
static inline void bench_init(size_t heap_bytes, size_t buffer_bytes)
{
    (void)buffer_bytes;
    if (nvshmemrs_api_hash() != NVSHMEMRS_API_HASH) {
        fprintf(stderr, "libnvshmemrs.so.0 is not of the version of this nvshmemrs-perf: build both anew\n");
        exit(1);
    }
    nvshmemrs_init_attr_t attr;
    CHECK(nvshmemrs_init_attr_default(&attr));
    attr.heap_bytes = heap_bytes;
    CHECK(nvshmemrs_init(&attr, &rt));
}

static inline void bench_finalize(void) { CHECK(nvshmemrs_finalize(rt)); }

static inline int bench_my_pe(void)
{
    int32_t pe = -1;
    CHECK(nvshmemrs_my_pe(rt, &pe));
    return pe;
}

static inline int bench_n_pes(void)
{
    int32_t n = -1;
    CHECK(nvshmemrs_n_pes(rt, &n));
    return n;
}

/* Collective; zeroed. */
static inline void *bench_calloc(size_t bytes)
{
    void *ptr = NULL;
    CHECK(nvshmemrs_calloc(rt, 1, bytes, &ptr));
    return ptr;
}

/* RMA */

#define MOVE(name)                                                                                                    \
    static inline void bench_##name(void *dest, const void *source, size_t bytes, int pe)                             \
    {                                                                                                                 \
        CHECK(nvshmemrs_##name(rt, dest, source, bytes, pe));                                                         \
    }
MOVE(put)
MOVE(get)
MOVE(put_nbi)
MOVE(get_nbi)

static inline void bench_p(int64_t *dest, int64_t value, int pe)
{
    CHECK(nvshmemrs_p64(rt, dest, (uint64_t)value, pe));
}

static inline int64_t bench_g(const int64_t *source, int pe)
{
    uint64_t value = 0;
    CHECK(nvshmemrs_g64(rt, source, pe, &value));
    return (int64_t)value;
}

/* Strided forms move `count` elements of 8 bytes. */
static inline void bench_iput(int64_t *dest, const int64_t *source, ptrdiff_t stride, size_t count, int pe)
{
    CHECK(nvshmemrs_iput(rt, dest, source, stride, stride, sizeof *dest, count, pe));
}

static inline void bench_iget(int64_t *dest, const int64_t *source, ptrdiff_t stride, size_t count, int pe)
{
    CHECK(nvshmemrs_iget(rt, dest, source, stride, stride, sizeof *dest, count, pe));
}

/* Puts `bytes` bytes, then sets `signal` to `value`: a PE that sees the signal sees the data. */
static inline void bench_put_signal(void *dest, const void *source, size_t bytes, uint64_t *signal, uint64_t value, int pe)
{
    CHECK(nvshmemrs_put_signal(rt, dest, source, bytes, signal, value, NVSHMEMRS_SIGNAL_SET, pe));
}

/* Waiting and order */

static inline void bench_signal_wait(uint64_t *signal, uint64_t value)
{
    CHECK(nvshmemrs_signal_wait(rt, signal, NVSHMEMRS_CMP_GE, value, NULL));
}

static inline void bench_wait_until(int64_t *variable, int64_t value)
{
    CHECK(nvshmemrs_wait_until(rt, variable, NVSHMEMRS_CMP_GE, &value, NVSHMEMRS_DTYPE_INT64));
}

static inline void bench_fence(void) { CHECK(nvshmemrs_fence(rt)); }
static inline void bench_quiet(void) { CHECK(nvshmemrs_quiet(rt)); }
static inline void bench_barrier(void) { CHECK(nvshmemrs_barrier(rt, WORLD)); }
static inline void bench_sync(void) { CHECK(nvshmemrs_sync(rt, WORLD)); }

/* AMOs. All but compare_swap, whose old value tells whether it worked, come as one macro per shape. */

#define UPDATE(name, bits)                                                                                            \
    static inline void bench_##name##bits(int##bits##_t *dest, int##bits##_t value, int pe)                           \
    {                                                                                                                 \
        CHECK(nvshmemrs_atomic_##name##bits(rt, (uint##bits##_t *)dest, (uint##bits##_t)value, pe));                  \
    }
#define FETCHING(name, call)                                                                                          \
    static inline int64_t bench_##name##64(int64_t *dest, int64_t value, int pe)                                      \
    {                                                                                                                 \
        uint64_t old = 0;                                                                                             \
        CHECK(nvshmemrs_atomic_##call##64(rt, (uint64_t *)dest, (uint64_t)value, pe, &old));                          \
        return (int64_t)old;                                                                                          \
    }

UPDATE(set, 64)
UPDATE(add, 64)
UPDATE(and, 64)
UPDATE(or, 64)
UPDATE(xor, 64)
UPDATE(set, 32)
UPDATE(add, 32)
FETCHING(swap, swap)
FETCHING(fetch_add, fetch_add)
FETCHING(fetch_and, fetch_and)
FETCHING(fetch_or, fetch_or)
FETCHING(fetch_xor, fetch_xor)

static inline void bench_inc64(int64_t *dest, int pe) { CHECK(nvshmemrs_atomic_inc64(rt, (uint64_t *)dest, pe)); }
static inline void bench_inc32(int32_t *dest, int pe) { CHECK(nvshmemrs_atomic_inc32(rt, (uint32_t *)dest, pe)); }

static inline int64_t bench_fetch64(const int64_t *source, int pe)
{
    uint64_t value = 0;
    CHECK(nvshmemrs_atomic_fetch64(rt, (const uint64_t *)source, pe, &value));
    return (int64_t)value;
}

static inline int64_t bench_fetch_inc64(int64_t *dest, int pe)
{
    uint64_t old = 0;
    CHECK(nvshmemrs_atomic_fetch_inc64(rt, (uint64_t *)dest, pe, &old));
    return (int64_t)old;
}

static inline int64_t bench_compare_swap64(int64_t *dest, int64_t cond, int64_t value, int pe)
{
    uint64_t old = 0;
    CHECK(nvshmemrs_atomic_compare_swap64(rt, (uint64_t *)dest, (uint64_t)cond, (uint64_t)value, pe, &old));
    return (int64_t)old;
}

/* Collectives over all PEs */

static const int32_t dtypes[] = {NVSHMEMRS_DTYPE_DOUBLE, NVSHMEMRS_DTYPE_FLOAT, NVSHMEMRS_DTYPE_INT64,
                                 NVSHMEMRS_DTYPE_INT32};
static const int32_t ops[] = {NVSHMEMRS_OP_SUM, NVSHMEMRS_OP_MIN, NVSHMEMRS_OP_MAX, NVSHMEMRS_OP_PROD,
                              NVSHMEMRS_OP_AND, NVSHMEMRS_OP_OR,  NVSHMEMRS_OP_XOR};

static inline void bench_broadcast(void *dest, const void *source, size_t bytes, int root)
{
    CHECK(nvshmemrs_broadcast(rt, WORLD, dest, source, bytes, root));
}

#define EXCHANGE(name)                                                                                                \
    static inline void bench_##name(void *dest, const void *source, size_t bytes)                                     \
    {                                                                                                                 \
        CHECK(nvshmemrs_##name(rt, WORLD, dest, source, bytes));                                                      \
    }
EXCHANGE(fcollect)
EXCHANGE(collect)
EXCHANGE(alltoall)

static inline void bench_alltoalls(int64_t *dest, const int64_t *source, ptrdiff_t stride, size_t count)
{
    CHECK(nvshmemrs_alltoalls(rt, WORLD, dest, source, stride, stride, sizeof *dest, count));
}

#define COMBINE(name)                                                                                                 \
    static inline void bench_##name(void *dest, const void *source, size_t count, enum dtype dtype, enum op op)       \
    {                                                                                                                 \
        CHECK(nvshmemrs_##name(rt, WORLD, dest, source, count, dtypes[dtype], ops[op]));                              \
    }
COMBINE(reduce)
COMBINE(reducescatter)
COMBINE(inscan)
COMBINE(exscan)

#endif
