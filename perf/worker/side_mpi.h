/*
 * The operations of nvshmemrs-perf's worker on MPI-3: one-sided calls on one window under lock_all, and collectives on
 * MPI_COMM_WORLD. Blocking puts wait for the source buffer only (flush_local); quiet completes them (flush_all).
 */
#ifndef PERF_MPI_H
#define PERF_MPI_H

#include "common.h"

#include <mpi.h>

#define HAVE_REDUCESCATTER 1
#define HAVE_SCAN 1

static MPI_Win window;
/* The window's memory on this PE, and the part that bench_calloc has allocated. */
static char *heap;
static size_t heap_size, heap_used;
static MPI_Datatype dtypes[4];
static MPI_Op ops[7];

/* With `heap_bytes` 0 the window is empty. */
static inline void bench_init(size_t heap_bytes, size_t buffer_bytes)
{
    (void)buffer_bytes;
    MPI_Init(NULL, NULL);
    MPI_Datatype all_dtypes[] = {MPI_DOUBLE, MPI_FLOAT, MPI_INT64_T, MPI_INT32_T};
    MPI_Op all_ops[] = {MPI_SUM, MPI_MIN, MPI_MAX, MPI_PROD, MPI_BAND, MPI_BOR, MPI_BXOR};
    memcpy(dtypes, all_dtypes, sizeof dtypes);
    memcpy(ops, all_ops, sizeof ops);
    heap_size = heap_bytes;
    MPI_Win_allocate((MPI_Aint)heap_bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &heap, &window);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window);
}

static inline void bench_finalize(void)
{
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    MPI_Finalize();
}

static inline int bench_my_pe(void)
{
    int rank = -1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

static inline int bench_n_pes(void)
{
    int size = -1;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
}

static inline MPI_Aint at(const void *address) { return (const char *)address - heap; }

/* Completes the operations of all PEs before it. */
static inline void bench_barrier(void)
{
    MPI_Win_flush_all(window);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_sync(window);
}

static inline void bench_sync(void) { MPI_Barrier(MPI_COMM_WORLD); }

/* Collective; zeroed. */
static inline void *bench_calloc(size_t bytes)
{
    size_t rounded = (bytes + 63) / 64 * 64;
    if (rounded > heap_size - heap_used) {
        fprintf(stderr, "no %zu bytes left in the window of %zu bytes\n", bytes, heap_size);
        exit(1);
    }
    char *ptr = heap + heap_used;
    heap_used += rounded;
    memset(ptr, 0, bytes);
    bench_barrier();
    return ptr;
}

/* RMA */

static inline void bench_put_nbi(void *dest, const void *source, size_t bytes, int pe)
{
    MPI_Put(source, (int)bytes, MPI_BYTE, pe, at(dest), (int)bytes, MPI_BYTE, window);
}

static inline void bench_get_nbi(void *dest, const void *source, size_t bytes, int pe)
{
    MPI_Get(dest, (int)bytes, MPI_BYTE, pe, at(source), (int)bytes, MPI_BYTE, window);
}

static inline void bench_put(void *dest, const void *source, size_t bytes, int pe)
{
    bench_put_nbi(dest, source, bytes, pe);
    MPI_Win_flush_local(pe, window);
}

static inline void bench_get(void *dest, const void *source, size_t bytes, int pe)
{
    bench_get_nbi(dest, source, bytes, pe);
    MPI_Win_flush_local(pe, window);
}

/* Another PE may poll for the value, so it is stored atomically, and the call waits until it is there. */
static inline void bench_p(int64_t *dest, int64_t value, int pe)
{
    MPI_Accumulate(&value, 1, MPI_INT64_T, pe, at(dest), 1, MPI_INT64_T, MPI_REPLACE, window);
    MPI_Win_flush(pe, window);
}

static inline int64_t bench_g(const int64_t *source, int pe)
{
    int64_t value = 0;
    bench_get(&value, source, sizeof value, pe);
    return value;
}

/* `count` elements of 8 bytes, `stride` elements apart; the last requested type is kept. */
static inline MPI_Datatype strided(ptrdiff_t stride, size_t count)
{
    static MPI_Datatype kept = MPI_DATATYPE_NULL;
    static ptrdiff_t kept_stride;
    static size_t kept_count;
    if (kept == MPI_DATATYPE_NULL || kept_stride != stride || kept_count != count) {
        MPI_Datatype vector;
        if (kept != MPI_DATATYPE_NULL) {
            MPI_Type_free(&kept);
        }
        MPI_Type_vector((int)count, 1, (int)stride, MPI_INT64_T, &vector);
        MPI_Type_create_resized(vector, 0, (MPI_Aint)count * stride * 8, &kept);
        MPI_Type_free(&vector);
        MPI_Type_commit(&kept);
        kept_stride = stride;
        kept_count = count;
    }
    return kept;
}

static inline void bench_iput(int64_t *dest, const int64_t *source, ptrdiff_t stride, size_t count, int pe)
{
    MPI_Datatype type = strided(stride, count);
    MPI_Put(source, 1, type, pe, at(dest), 1, type, window);
    MPI_Win_flush_local(pe, window);
}

static inline void bench_iget(int64_t *dest, const int64_t *source, ptrdiff_t stride, size_t count, int pe)
{
    MPI_Datatype type = strided(stride, count);
    MPI_Get(dest, 1, type, pe, at(source), 1, type, window);
    MPI_Win_flush_local(pe, window);
}

/* Waiting and order */

static inline void bench_wait_until(int64_t *variable, int64_t value)
{
    while (*(volatile int64_t *)variable < value) {
        int flag = 0;
        /* If the window is emulated by messages, only calls into the library process them. */
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        MPI_Win_sync(window);
    }
}

static inline void bench_quiet(void) { MPI_Win_flush_all(window); }
/* MPI has no weaker call that orders the puts to one PE. */
static inline void bench_fence(void) { MPI_Win_flush_all(window); }

/* AMOs */

static inline void update(const void *value, MPI_Datatype type, MPI_Op op, void *dest, int pe)
{
    MPI_Accumulate(value, 1, type, pe, at(dest), 1, type, op, window);
    MPI_Win_flush_local(pe, window);
}

static inline int64_t fetch_and(MPI_Op op, const int64_t *dest, int64_t value, int pe)
{
    int64_t old = 0;
    MPI_Fetch_and_op(&value, &old, MPI_INT64_T, pe, at(dest), op, window);
    MPI_Win_flush_local(pe, window);
    return old;
}

#define UPDATE(name, bits, op)                                                                                        \
    static inline void bench_##name##bits(int##bits##_t *dest, int##bits##_t value, int pe)                           \
    {                                                                                                                 \
        update(&value, MPI_INT##bits##_T, op, dest, pe);                                                              \
    }
#define FETCHING(name, op)                                                                                            \
    static inline int64_t bench_##name##64(int64_t *dest, int64_t value, int pe)                                      \
    {                                                                                                                 \
        return fetch_and(op, dest, value, pe);                                                                        \
    }

UPDATE(set, 64, MPI_REPLACE)
UPDATE(add, 64, MPI_SUM)
UPDATE(and, 64, MPI_BAND)
UPDATE(or, 64, MPI_BOR)
UPDATE(xor, 64, MPI_BXOR)
UPDATE(set, 32, MPI_REPLACE)
UPDATE(add, 32, MPI_SUM)
FETCHING(swap, MPI_REPLACE)
FETCHING(fetch_add, MPI_SUM)
FETCHING(fetch_and, MPI_BAND)
FETCHING(fetch_or, MPI_BOR)
FETCHING(fetch_xor, MPI_BXOR)

static inline void bench_inc64(int64_t *dest, int pe) { bench_add64(dest, 1, pe); }
static inline void bench_inc32(int32_t *dest, int pe) { bench_add32(dest, 1, pe); }
static inline int64_t bench_fetch64(const int64_t *source, int pe) { return fetch_and(MPI_NO_OP, source, 0, pe); }
static inline int64_t bench_fetch_inc64(int64_t *dest, int pe) { return fetch_and(MPI_SUM, dest, 1, pe); }

static inline int64_t bench_compare_swap64(int64_t *dest, int64_t cond, int64_t value, int pe)
{
    int64_t old = 0;
    MPI_Compare_and_swap(&value, &cond, &old, MPI_INT64_T, pe, at(dest), window);
    MPI_Win_flush_local(pe, window);
    return old;
}

/* Collectives over all PEs */

/* MPI broadcasts one buffer: `dest` of the others, `source` of the root. */
static inline void bench_broadcast(void *dest, const void *source, size_t bytes, int root)
{
    void *buffer = bench_my_pe() == root ? (void *)source : dest;
    MPI_Bcast(buffer, (int)bytes, MPI_BYTE, root, MPI_COMM_WORLD);
}

static inline void bench_fcollect(void *dest, const void *source, size_t bytes)
{
    MPI_Allgather(source, (int)bytes, MPI_BYTE, dest, (int)bytes, MPI_BYTE, MPI_COMM_WORLD);
}

/* The members of a collect do not know each other's sizes: MPI must gather them first. */
static inline void bench_collect(void *dest, const void *source, size_t bytes)
{
    static int *counts, *places;
    int mine = (int)bytes, n = bench_n_pes();
    if (counts == NULL) {
        counts = malloc((size_t)n * sizeof *counts);
        places = malloc((size_t)n * sizeof *places);
        if (counts == NULL || places == NULL) {
            fprintf(stderr, "no memory for the sizes of %d PEs\n", n);
            exit(1);
        }
    }
    MPI_Allgather(&mine, 1, MPI_INT, counts, 1, MPI_INT, MPI_COMM_WORLD);
    places[0] = 0;
    for (int pe = 1; pe < n; ++pe) {
        places[pe] = places[pe - 1] + counts[pe - 1];
    }
    MPI_Allgatherv(source, mine, MPI_BYTE, dest, counts, places, MPI_BYTE, MPI_COMM_WORLD);
}

static inline void bench_alltoall(void *dest, const void *source, size_t bytes)
{
    MPI_Alltoall(source, (int)bytes, MPI_BYTE, dest, (int)bytes, MPI_BYTE, MPI_COMM_WORLD);
}

static inline void bench_alltoalls(int64_t *dest, const int64_t *source, ptrdiff_t stride, size_t count)
{
    MPI_Datatype type = strided(stride, count);
    MPI_Alltoall(source, 1, type, dest, 1, type, MPI_COMM_WORLD);
}

#define COMBINE(name, call)                                                                                           \
    static inline void bench_##name(void *dest, const void *source, size_t count, enum dtype dtype, enum op op)       \
    {                                                                                                                 \
        call(source, dest, (int)count, dtypes[dtype], ops[op], MPI_COMM_WORLD);                                       \
    }
COMBINE(reduce, MPI_Allreduce)
COMBINE(reducescatter, MPI_Reduce_scatter_block)
COMBINE(inscan, MPI_Scan)
COMBINE(exscan, MPI_Exscan)

#endif
