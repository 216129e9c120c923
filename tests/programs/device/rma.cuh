// Kernels that call every function for remote memory access, signals and atomic operations: one for each type, `what` selects the function.
// lists.hpp, which tests/gpu/device_header.rs writes, has the types.
#pragma once

#include "lists.hpp"
#include "names.hpp"

typedef nvshmemrs_device_state_t State;

#ifndef DEVICE_THREAD
#define DEVICE_THREAD (threadIdx.x + blockDim.x * threadIdx.y)
#endif

// A function in its three scopes.
#define SCOPES(...) SCOPES_BY(CALL, __VA_ARGS__)
// CALL_IT: CALL, or CALL_X.
#define SCOPES_BY(CALL_IT, WHAT, NAME, ...)                               \
    case WHAT:                                                            \
        if (DEVICE_THREAD == 0) CALL_IT(NAME, __VA_ARGS__);               \
        break;                                                            \
    case WHAT + 1:                                                        \
        if (DEVICE_THREAD < 32) CALL_X(NAME##_warp, __VA_ARGS__);         \
        break;                                                            \
    case WHAT + 2: CALL_X(NAME##_block, __VA_ARGS__); break;

enum { PUT_ = 0, GET_ = 3, PUT_NBI_ = 6, GET_NBI_ = 9, SIGNAL_ = 12, SIGNAL_NBI_ = 15, IPUT_ = 18, IGET_ = 21, P_ = 24, G_ = 25 };

struct Move {
    State state;
    void *dest;
    const void *source;
    // Elements, and steps of the strided functions.
    unsigned long n;
    long dest_step, source_step;
    unsigned long *signal;
    unsigned long value;
    int op, pe;
};

#define CONTIGUOUS(T, PUT, GET)                                                                                                  \
    SCOPES(PUT_, PUT, m.state, (T *)m.dest, (const T *)m.source, m.n, m.pe)                                          \
    SCOPES(GET_, GET, m.state, (T *)m.dest, (const T *)m.source, m.n, m.pe)                                          \
    SCOPES(PUT_NBI_, PUT##_nbi, m.state, (T *)m.dest, (const T *)m.source, m.n, m.pe)                                \
    SCOPES(GET_NBI_, GET##_nbi, m.state, (T *)m.dest, (const T *)m.source, m.n, m.pe)                                \
    SCOPES(SIGNAL_, PUT##_signal, m.state, (T *)m.dest, (const T *)m.source, m.n, m.signal, m.value, m.op, m.pe)     \
    SCOPES(SIGNAL_NBI_, PUT##_signal_nbi, m.state, (T *)m.dest, (const T *)m.source, m.n, m.signal, m.value, m.op, m.pe)
#define STRIDED(T, IPUT, IGET)                                                                                                   \
    SCOPES(IPUT_, IPUT, m.state, (T *)m.dest, (const T *)m.source, m.dest_step, m.source_step, m.n, m.pe)            \
    SCOPES(IGET_, IGET, &m.state, (T *)m.dest, (const T *)m.source, m.dest_step, m.source_step, m.n, m.pe)

#define RMA_KERNEL(NAME, T)                                                                                                      \
    __global__ void rma_##NAME(Move m, int what) {                                                                               \
        switch (what) {                                                                                                          \
            CONTIGUOUS(T, NAME##_put, NAME##_get)                                                                                \
            STRIDED(T, NAME##_iput, NAME##_iget)                                                                                 \
        case P_:                                                                                                                 \
            for (unsigned long i = DEVICE_THREAD; i < m.n; i += blockDim.x * blockDim.y)                                         \
                CALL(NAME##_p, m.state, (T *)m.dest + i, ((const T *)m.source)[i], m.pe);                                  \
            break;                                                                                                               \
        case G_:                                                                                                                 \
            for (unsigned long i = DEVICE_THREAD; i < m.n; i += blockDim.x * blockDim.y)                                         \
                ((T *)m.dest)[i] = CALL(NAME##_g, m.state, (const T *)m.source + i, m.pe);                                 \
        }                                                                                                                        \
        CALL(quiet, m.state);                                                                                                \
    }
RMA_TYPES(RMA_KERNEL)

#define SIZE_KERNEL(BITS)                                                                                                        \
    __global__ void rma_##BITS(Move m, int what) {                                                                               \
        switch (what) {                                                                                                          \
            CONTIGUOUS(void, put##BITS, get##BITS)                                                                               \
            STRIDED(void, iput##BITS, iget##BITS)                                                                                \
        }                                                                                                                        \
        CALL(quiet, m.state);                                                                                                \
    }
SIZES(SIZE_KERNEL)

__global__ void rma_mem(Move m, int what) {
    switch (what) { CONTIGUOUS(void, putmem, getmem) }
    CALL(quiet, m.state);
}

enum { FETCH_, SET_, SWAP_, ADD_, FETCH_ADD_, INC_, FETCH_INC_, CSWAP_, AND_, FETCH_AND_, OR_, FETCH_OR_, XOR_, FETCH_XOR_ };

// Every thread below `threads` calls once; thread 0 writes the result.
template <class T> struct Atomic {
    State state;
    T *dest, *result;
    T value, cond;
    unsigned threads;
    int pe;
};

#define AMO_START(NAME, T)                                             \
    __global__ void amo_##NAME(Atomic<T> a, int what) {                \
        if (DEVICE_THREAD >= a.threads) return;                        \
        T old = a.cond;                                                \
        switch (what) {                                                \
        case FETCH_: old = CALL(NAME##_atomic_fetch, a.state, a.dest, a.pe); break; \
        case SET_: CALL(NAME##_atomic_set, a.state, a.dest, a.value, a.pe); break;  \
        case SWAP_: old = CALL(NAME##_atomic_swap, a.state, a.dest, a.value, a.pe); break;
#define AMO_ADD(NAME, CALL_IT)                                                                     \
        case ADD_: CALL_IT(NAME##_atomic_add, a.state, a.dest, a.value, a.pe); break;  \
        case FETCH_ADD_: old = CALL_IT(NAME##_atomic_fetch_add, a.state, a.dest, a.value, a.pe); break;
#define AMO_STANDARD(NAME)                                                                \
        AMO_ADD(NAME, CALL)                                                                     \
        case INC_: CALL(NAME##_atomic_inc, a.state, a.dest, a.pe); break;           \
        case FETCH_INC_: old = CALL(NAME##_atomic_fetch_inc, a.state, a.dest, a.pe); break; \
        case CSWAP_: old = CALL(NAME##_atomic_compare_swap, a.state, a.dest, a.cond, a.value, a.pe); break;
#define AMO_BIT(NAME, WHAT, OPERATION)                                                    \
        case WHAT##_: CALL(NAME##_atomic_##OPERATION, a.state, a.dest, a.value, a.pe); break; \
        case FETCH_##WHAT##_: old = CALL(NAME##_atomic_fetch_##OPERATION, a.state, a.dest, a.value, a.pe); break;
#define AMO_END                                                        \
        }                                                              \
        if (DEVICE_THREAD == 0) *a.result = old;                       \
    }
#define AMO_BITS_KERNEL(NAME, T) AMO_START(NAME, T) AMO_STANDARD(NAME) AMO_BIT(NAME, AND, and) AMO_BIT(NAME, OR, or) AMO_BIT(NAME, XOR, xor) AMO_END
#define AMO_STANDARD_KERNEL(NAME, T) AMO_START(NAME, T) AMO_STANDARD(NAME) AMO_END
#define AMO_FLOAT_KERNEL(NAME, T) AMO_START(NAME, T) AMO_ADD(NAME, CALL_X) AMO_END
AMO_BITS_TYPES(AMO_BITS_KERNEL)
AMO_STANDARD_TYPES(AMO_STANDARD_KERNEL)
AMO_FLOAT_TYPES(AMO_FLOAT_KERNEL)

__global__ void signal_op(State state, unsigned long *signal, unsigned long value, int op, int pe) {
    if (DEVICE_THREAD == 0) CALL_X(signal_op, state, signal, value, op, pe);
}
