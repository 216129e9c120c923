// Kernels that call every collective, in every type and scope; `what` says which function. lists.hpp has the types.
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
    // What the calling threads got, each at its own number.
    int *status;
};

#define CALLS(WHAT, FUNCTION, ...)                                         \
    case WHAT:                                                             \
        if (DEVICE_THREAD == 0) c.status[0] = FUNCTION(__VA_ARGS__);       \
        break;                                                             \
    case WHAT + 1:                                                         \
        if (DEVICE_THREAD < 32) c.status[DEVICE_THREAD] = FUNCTION##_warp(__VA_ARGS__); \
        break;                                                             \
    case WHAT + 2: c.status[DEVICE_THREAD] = FUNCTION##_block(__VA_ARGS__); break;

enum { BROADCAST_ = 0, FCOLLECT_ = 3, ALLTOALL_ = 6, BARRIER_ = 0, BARRIER_ALL_ = 3, TEAM_SYNC_ = 6, SYNC_ALL_ = 9, SYNC_ = 12, MAXLOC_ = 15 };

#define MOVES(T, PREFIX, MEM)                                                                                                   \
    CALLS(BROADCAST_, nvshmemrs_##PREFIX##broadcast##MEM, c.state, c.team, (T *)c.dest, (const T *)c.source, c.n, c.root, c.slot) \
    CALLS(FCOLLECT_, nvshmemrs_##PREFIX##fcollect##MEM, c.state, c.team, (T *)c.dest, (const T *)c.source, c.n, c.slot)          \
    CALLS(ALLTOALL_, nvshmemrs_##PREFIX##alltoall##MEM, &c.state, c.team, (T *)c.dest, (const T *)c.source, c.n, c.slot)
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
    CALLS(NUMBER * 6, nvshmemrs_##NAME##_##OP##_reduce, c.state, c.team, (T *)c.dest, (const T *)c.source, c.n, c.slot)          \
    CALLS(NUMBER * 6 + 3, nvshmemrs_##NAME##_##OP##_reducescatter, c.state, c.team, (T *)c.dest, (const T *)c.source, c.n, c.slot)
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
        CALLS(BARRIER_, nvshmemrs_barrier, c.state, c.team, c.slot)
        CALLS(BARRIER_ALL_, nvshmemrs_barrier_all, c.state, c.slot)
        CALLS(TEAM_SYNC_, nvshmemrs_team_sync, c.state, c.team, c.slot)
        CALLS(SYNC_ALL_, nvshmemrs_sync_all, c.state, c.slot)
        CALLS(SYNC_, nvshmemrs_sync, c.state, c.team, c.slot)
        CALLS(MAXLOC_, nvshmemrs_double2_maxloc_reduce, c.state, c.team, (double2 *)c.dest, (const double2 *)c.source, c.n, c.slot)
    }
}
