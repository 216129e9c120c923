// Kernels that call every collective, in every type and scope; `what` selects the function. lists.hpp has the types.
#pragma once

#include "rma.cuh"

struct Collective {
    State state;
    unsigned long team;
    void *dest;
    const void *source;
    unsigned long n;
    int root;
    unsigned slot;
    // The results of the calling threads, each at the thread's number.
    int *status;
};

// `c.status` receives the result of the call; STATUS converts the result to a status.
#define CALLS_BY(STATUS, WHAT, NAME, ...)                                                                         \
    case WHAT:                                                                                                    \
        if (DEVICE_THREAD == 0) c.status[0] = STATUS(CALL(NAME, __VA_ARGS__));                                    \
        break;                                                                                                    \
    case WHAT + 1:                                                                                                \
        if (DEVICE_THREAD < 32) c.status[DEVICE_THREAD] = STATUS(CALL_X(NAME##_warp, __VA_ARGS__));               \
        break;                                                                                                    \
    case WHAT + 2: c.status[DEVICE_THREAD] = STATUS(CALL_X(NAME##_block, __VA_ARGS__)); break;
#define AS_IT_IS(STATUS) STATUS
#define CALLS(...) CALLS_BY(AS_IT_IS, __VA_ARGS__)
#define CALLS_ALL(...) CALLS_BY(OF_ALL, __VA_ARGS__)

enum { BROADCAST_ = 0, FCOLLECT_ = 3, ALLTOALL_ = 6, BARRIER_ = 0, BARRIER_ALL_ = 3, TEAM_SYNC_ = 6, SYNC_ALL_ = 9, SYNC_ = 12, MAXLOC_ = 15 };
#ifdef NVSHMEM_NAMES
enum { FIRST_MAXLOC = MAXLOC_ + 2 };
#else
enum { FIRST_MAXLOC = MAXLOC_ };
#endif

#define MOVES(T, PREFIX, MEM)                                                                                                   \
    CALLS(BROADCAST_, PREFIX##broadcast##MEM, c.state, TEAM(c.team), (T *)c.dest, (const T *)c.source, c.n, c.root SLOT(c.slot)) \
    CALLS(FCOLLECT_, PREFIX##fcollect##MEM, c.state, TEAM(c.team), (T *)c.dest, (const T *)c.source, c.n SLOT(c.slot))          \
    CALLS(ALLTOALL_, PREFIX##alltoall##MEM, &c.state, TEAM(c.team), (T *)c.dest, (const T *)c.source, c.n SLOT(c.slot))
#define MOVES_KERNEL(NAME, T, DTYPE)                                                                                             \
    __global__ void moves_##NAME(Collective c, int what) {                                                                       \
        switch (what) { MOVES(T, NAME##_, ) }                                                                                    \
    }
TYPED_MOVES(MOVES_KERNEL)
__global__ void moves_mem(Collective c, int what) {
    switch (what) { MOVES(void, , mem) }
}

// The numbers of nvshmemrs_op, times six.
#define REDUCTION(NAME, T, OP, NUMBER)                                                                                           \
    CALLS(NUMBER * 6, NAME##_##OP##_reduce, c.state, TEAM(c.team), (T *)c.dest, (const T *)c.source, c.n SLOT(c.slot))          \
    CALLS(NUMBER * 6 + 3, NAME##_##OP##_reducescatter, c.state, TEAM(c.team), (T *)c.dest, (const T *)c.source, c.n SLOT(c.slot))
#define NUMBERS(NAME, T) REDUCTION(NAME, T, sum, 1) REDUCTION(NAME, T, min, 2) REDUCTION(NAME, T, max, 3) REDUCTION(NAME, T, prod, 4)
#define NUMBERS_KERNEL(NAME, T, DTYPE)                                                                                           \
    __global__ void reduce_##NAME(Collective c, int what) {                                                                      \
        switch (what) { NUMBERS(NAME, T) }                                                                                       \
    }
#define BITS_KERNEL(NAME, T, DTYPE)                                                                                              \
    __global__ void reduce_##NAME(Collective c, int what) {                                                                      \
        switch (what) {                                                                                                          \
            NUMBERS(NAME, T)                                                                                                     \
            REDUCTION(NAME, T, and, 5) REDUCTION(NAME, T, or, 6) REDUCTION(NAME, T, xor, 7)                                      \
        }                                                                                                                        \
    }
REDUCE_NUMBERS_TYPES(NUMBERS_KERNEL)
REDUCE_BITS_TYPES(BITS_KERNEL)

__global__ void meets(Collective c, int what) {
    switch (what) {
        CALLS(BARRIER_, barrier, c.state, TEAM(c.team) SLOT(c.slot))
        CALLS_ALL(BARRIER_ALL_, barrier_all, c.state SLOT(c.slot))
        CALLS(TEAM_SYNC_, team_sync, c.state, TEAM(c.team) SLOT(c.slot))
        CALLS_ALL(SYNC_ALL_, sync_all, c.state SLOT(c.slot))
#ifdef NVSHMEM_NAMES
        CALLS(SYNC_, team_sync, c.state, TEAM(c.team))
    case MAXLOC_ + 2:
        c.status[DEVICE_THREAD] = nvshmemx_double2_maxloc_reduce_block((nvshmem_team_t)c.team, (double2 *)c.dest, (const double2 *)c.source, c.n);
        break;
#else
        CALLS(SYNC_, sync, c.state, c.team, c.slot)
        CALLS(MAXLOC_, double2_maxloc_reduce, c.state, c.team, (double2 *)c.dest, (const double2 *)c.source, c.n, c.slot)
#endif
    }
}
