// NVSHMEM's names as functions, for tools that link LLVM bitcode to a kernel. nvshmem.h has them as macros, whose names stand in parentheses
// here. half and bfloat16 have no functions that take or return a value: tools differ in how they pass one.
#include "nvshmem.h"
#include "nvshmemx.h"

// What kernels and host code have, and what only kernels have.
#define BOTH extern "C" __host__ __device__
#define KERNEL extern "C" __device__

#define INTEGERS(X)                                                                                                                          \
    X(char, char) X(schar, signed char) X(short, short) X(int, int) X(long, long) X(longlong, long long) X(uchar, unsigned char)             \
    X(ushort, unsigned short) X(uint, unsigned int) X(ulong, unsigned long) X(ulonglong, unsigned long long) X(int8, int8_t)                 \
    X(int16, int16_t) X(int32, int32_t) X(int64, int64_t) X(uint8, uint8_t) X(uint16, uint16_t) X(uint32, uint32_t) X(uint64, uint64_t)      \
    X(size, size_t)
#define NUMBERS(X) INTEGERS(X) X(float, float) X(double, double)
// The types of atomic operations and of waits.
#define WORDS(X)                                                                                                                             \
    X(int, int) X(long, long) X(longlong, long long) X(uint, unsigned int) X(ulong, unsigned long) X(ulonglong, unsigned long long)          \
    X(int32, int32_t) X(int64, int64_t) X(uint32, uint32_t) X(uint64, uint64_t) X(size, size_t) X(ptrdiff, ptrdiff_t)
#define BITS(X)                                                                                                                              \
    X(uint, unsigned int) X(ulong, unsigned long) X(ulonglong, unsigned long long) X(int32, int32_t) X(int64, int64_t) X(uint32, uint32_t)   \
    X(uint64, uint64_t)

// ---- The job, order and signals ----

BOTH int(nvshmem_my_pe)() { return nvshmem_my_pe(); }
BOTH int(nvshmem_n_pes)() { return nvshmem_n_pes(); }
BOTH void *(nvshmem_ptr)(const void *dest, int pe) { return nvshmem_ptr(dest, pe); }
BOTH void *(nvshmemx_mc_ptr)(nvshmem_team_t team, const void *at) { return nvshmemx_mc_ptr(team, at); }
BOTH int(nvshmem_team_my_pe)(nvshmem_team_t team) { return nvshmem_team_my_pe(team); }
BOTH int(nvshmem_team_n_pes)(nvshmem_team_t team) { return nvshmem_team_n_pes(team); }
BOTH int(nvshmem_team_translate_pe)(nvshmem_team_t from, int pe, nvshmem_team_t to) { return nvshmem_team_translate_pe(from, pe, to); }
BOTH void(nvshmem_fence)() { nvshmem_fence(); }
BOTH void(nvshmem_quiet)() { nvshmem_quiet(); }
BOTH void(nvshmemx_signal_op)(uint64_t *signal, uint64_t value, int op, int pe) { nvshmemx_signal_op(signal, value, op, pe); }
BOTH uint64_t(nvshmem_signal_fetch)(uint64_t *signal) { return nvshmem_signal_fetch(signal); }
KERNEL uint64_t(nvshmem_signal_wait_until)(uint64_t *signal, int cmp, uint64_t value) { return nvshmem_signal_wait_until(signal, cmp, value); }

// ---- Puts and gets ----

#define MOVE(SIDE, PREFIX, WHAT, SUFFIX, T, N)                                                                                               \
    SIDE void(PREFIX##_##WHAT##SUFFIX)(T * dest, const T *source, size_t N, int pe) { PREFIX##_##WHAT##SUFFIX(dest, source, N, pe); }
#define PUT_SIGNAL(SIDE, PREFIX, WHAT, SUFFIX, T)                                                                                            \
    SIDE void(PREFIX##_##WHAT##SUFFIX)(T * dest, const T *source, size_t n, uint64_t *signal, uint64_t value, int op, int pe) {              \
        PREFIX##_##WHAT##SUFFIX(dest, source, n, signal, value, op, pe);                                                                     \
    }
#define MOVES(PUT, GET, T)                                                                                                                   \
    MOVE(BOTH, nvshmem, PUT, , T, n) MOVE(BOTH, nvshmem, GET, , T, n) MOVE(BOTH, nvshmem, PUT, _nbi, T, n) MOVE(BOTH, nvshmem, GET, _nbi, T, n) \
    MOVE(KERNEL, nvshmemx, PUT, _warp, T, n) MOVE(KERNEL, nvshmemx, GET, _warp, T, n) MOVE(KERNEL, nvshmemx, PUT, _nbi_warp, T, n)           \
    MOVE(KERNEL, nvshmemx, GET, _nbi_warp, T, n) MOVE(KERNEL, nvshmemx, PUT, _block, T, n) MOVE(KERNEL, nvshmemx, GET, _block, T, n)         \
    MOVE(KERNEL, nvshmemx, PUT, _nbi_block, T, n) MOVE(KERNEL, nvshmemx, GET, _nbi_block, T, n)                                              \
    PUT_SIGNAL(KERNEL, nvshmem, PUT##_signal, , T) PUT_SIGNAL(KERNEL, nvshmem, PUT##_signal_nbi, , T)                                        \
    PUT_SIGNAL(KERNEL, nvshmemx, PUT##_signal, _warp, T) PUT_SIGNAL(KERNEL, nvshmemx, PUT##_signal_nbi, _warp, T)                            \
    PUT_SIGNAL(KERNEL, nvshmemx, PUT##_signal, _block, T) PUT_SIGNAL(KERNEL, nvshmemx, PUT##_signal_nbi, _block, T)
MOVES(putmem, getmem, void)
MOVES(put8, get8, void)
MOVES(put16, get16, void)
MOVES(put32, get32, void)
MOVES(put64, get64, void)
MOVES(put128, get128, void)
#define OF_TYPE(NAME, T)                                                                                                                     \
    MOVES(NAME##_put, NAME##_get, T)                                                                                                         \
    BOTH void(nvshmem_##NAME##_p)(T * dest, T value, int pe) { nvshmem_##NAME##_p(dest, value, pe); }                                        \
    BOTH T(nvshmem_##NAME##_g)(const T *source, int pe) { return nvshmem_##NAME##_g(source, pe); }
NUMBERS(OF_TYPE)
MOVES(half_put, half_get, half)
MOVES(bfloat16_put, bfloat16_get, __nv_bfloat16)

// ---- Atomic operations ----

#define VALUE(NAME, T, WHAT)                                                                                                                 \
    BOTH T(nvshmem_##NAME##_atomic_fetch_##WHAT)(T * dest, T value, int pe) { return nvshmem_##NAME##_atomic_fetch_##WHAT(dest, value, pe); } \
    BOTH void(nvshmem_##NAME##_atomic_##WHAT)(T * dest, T value, int pe) { nvshmem_##NAME##_atomic_##WHAT(dest, value, pe); }
#define ATOMIC(NAME, T)                                                                                                                      \
    BOTH T(nvshmem_##NAME##_atomic_fetch)(const T *source, int pe) { return nvshmem_##NAME##_atomic_fetch(source, pe); }                     \
    BOTH void(nvshmem_##NAME##_atomic_set)(T * dest, T value, int pe) { nvshmem_##NAME##_atomic_set(dest, value, pe); }                      \
    BOTH T(nvshmem_##NAME##_atomic_swap)(T * dest, T value, int pe) { return nvshmem_##NAME##_atomic_swap(dest, value, pe); }                \
    BOTH T(nvshmem_##NAME##_atomic_compare_swap)(T * dest, T cond, T value, int pe) {                                                        \
        return nvshmem_##NAME##_atomic_compare_swap(dest, cond, value, pe);                                                                  \
    }                                                                                                                                        \
    BOTH T(nvshmem_##NAME##_atomic_fetch_inc)(T * dest, int pe) { return nvshmem_##NAME##_atomic_fetch_inc(dest, pe); }                      \
    BOTH void(nvshmem_##NAME##_atomic_inc)(T * dest, int pe) { nvshmem_##NAME##_atomic_inc(dest, pe); }                                      \
    VALUE(NAME, T, add)
WORDS(ATOMIC)
#define ATOMIC_BITS(NAME, T) VALUE(NAME, T, and) VALUE(NAME, T, or) VALUE(NAME, T, xor)
BITS(ATOMIC_BITS)

// ---- Waits and tests ----

#define WAIT(NAME, T)                                                                                                                        \
    KERNEL void(nvshmem_##NAME##_wait_until)(T * at, int cmp, T value) { nvshmem_##NAME##_wait_until(at, cmp, value); }                      \
    KERNEL void(nvshmem_##NAME##_wait_until_all)(T * at, size_t n, const int *status, int cmp, T value) {                                    \
        nvshmem_##NAME##_wait_until_all(at, n, status, cmp, value);                                                                          \
    }                                                                                                                                        \
    KERNEL size_t(nvshmem_##NAME##_wait_until_any)(T * at, size_t n, const int *status, int cmp, T value) {                                  \
        return nvshmem_##NAME##_wait_until_any(at, n, status, cmp, value);                                                                   \
    }                                                                                                                                        \
    KERNEL int(nvshmem_##NAME##_test)(T * at, int cmp, T value) { return nvshmem_##NAME##_test(at, cmp, value); }
WORDS(WAIT)

// ---- Collectives ----

#define MEETING(SIDE, PREFIX, SUFFIX)                                                                                                        \
    SIDE int(PREFIX##_barrier##SUFFIX)(nvshmem_team_t team) { return PREFIX##_barrier##SUFFIX(team); }                                       \
    SIDE int(PREFIX##_team_sync##SUFFIX)(nvshmem_team_t team) { return PREFIX##_team_sync##SUFFIX(team); }                                   \
    SIDE void(PREFIX##_barrier_all##SUFFIX)() { PREFIX##_barrier_all##SUFFIX(); }                                                            \
    SIDE void(PREFIX##_sync_all##SUFFIX)() { PREFIX##_sync_all##SUFFIX(); }
MEETING(BOTH, nvshmem, )
MEETING(KERNEL, nvshmemx, _warp)
MEETING(KERNEL, nvshmemx, _block)
#define COLLECTIVE(PREFIX, WHAT, SUFFIX, T)                                                                                                  \
    KERNEL int(PREFIX##_##WHAT##SUFFIX)(nvshmem_team_t team, T * dest, const T *source, size_t n) {                                          \
        return PREFIX##_##WHAT##SUFFIX(team, dest, source, n);                                                                               \
    }
#define BROADCAST(PREFIX, WHAT, SUFFIX, T)                                                                                                   \
    KERNEL int(PREFIX##_##WHAT##SUFFIX)(nvshmem_team_t team, T * dest, const T *source, size_t n, int root) {                                \
        return PREFIX##_##WHAT##SUFFIX(team, dest, source, n, root);                                                                         \
    }
COLLECTIVE(nvshmemx, fcollectmem, _block, void)
COLLECTIVE(nvshmemx, alltoallmem, _block, void)
BROADCAST(nvshmemx, broadcastmem, _block, void)
#define REDUCE(NAME, T)                                                                                                                      \
    COLLECTIVE(nvshmemx, NAME##_sum_reduce, _block, T)                                                                                       \
    COLLECTIVE(nvshmemx, NAME##_max_reduce, _block, T)                                                                                       \
    COLLECTIVE(nvshmemx, NAME##_min_reduce, _block, T)
REDUCE(int32, int32_t)
REDUCE(int64, int64_t)
REDUCE(float, float)
REDUCE(double, double)
REDUCE(half, half)
REDUCE(bfloat16, __nv_bfloat16)
