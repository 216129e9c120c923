// Kernels that call every function for queue pairs, in every type: `what` selects the function, as in rma.cuh.
#pragma once

#include <nvshmemrs_qp.cuh>

#include "rma.cuh"

#define QP_COPIES(T, PUT, GET)                                                                                                        \
    SCOPES_BY(CALL_X, PUT_, qp_##PUT, m.state, (T *)m.dest, (const T *)m.source, m.n, m.pe, NVSHMEMRS_QP_DEFAULT)                      \
    SCOPES_BY(CALL_X, GET_, qp_##GET, m.state, (T *)m.dest, (const T *)m.source, m.n, m.pe, NVSHMEMRS_QP_DEFAULT)                      \
    SCOPES_BY(CALL_X, PUT_NBI_, qp_##PUT##_nbi, m.state, (T *)m.dest, (const T *)m.source, m.n, m.pe, NVSHMEMRS_QP_ANY)                \
    SCOPES_BY(CALL_X, GET_NBI_, qp_##GET##_nbi, m.state, (T *)m.dest, (const T *)m.source, m.n, m.pe, NVSHMEMRS_QP_ANY)                \
    SCOPES_BY(CALL_X, SIGNAL_, qp_##PUT##_signal, m.state, (T *)m.dest, (const T *)m.source, m.n, m.signal, m.value, m.op, m.pe, 0)    \
    SCOPES_BY(CALL_X, SIGNAL_NBI_, qp_##PUT##_signal_nbi, m.state, (T *)m.dest, (const T *)m.source, m.n, m.signal, m.value, m.op, m.pe, 0)

#define QP_KERNEL(NAME, T)                                                                                                            \
    __global__ void qp_##NAME(Move m, int what) {                                                                                     \
        switch (what) {                                                                                                               \
            QP_COPIES(T, NAME##_put, NAME##_get)                                                                                      \
        case P_:                                                                                                                      \
            for (unsigned long i = DEVICE_THREAD; i < m.n; i += blockDim.x * blockDim.y)                                              \
                CALL_X(qp_##NAME##_p, m.state, (T *)m.dest + i, ((const T *)m.source)[i], m.pe, 0);                                 \
            break;                                                                                                                    \
        case G_:                                                                                                                      \
            for (unsigned long i = DEVICE_THREAD; i < m.n; i += blockDim.x * blockDim.y)                                              \
                ((T *)m.dest)[i] = CALL_X(qp_##NAME##_g, m.state, (const T *)m.source + i, m.pe, 0);                                \
        }                                                                                                                             \
        CALL_X(qp_quiet, m.state, m.pe, nullptr, 0);                                                                                \
    }
RMA_TYPES(QP_KERNEL)

#define QP_SIZE_KERNEL(BITS)                                                                                                          \
    __global__ void qp_##BITS(Move m, int what) {                                                                                     \
        switch (what) { QP_COPIES(void, put##BITS, get##BITS) }                                                                       \
        CALL_X(qp_quiet_warp, m.state, m.pe, nullptr, 0);                                                                           \
    }
#ifndef NVSHMEM_NAMES
SIZES(QP_SIZE_KERNEL)

__global__ void qp_mem(Move m, int what) {
    switch (what) { QP_COPIES(void, putmem, getmem) }
    CALL_X(qp_fence, m.state, m.pe, nullptr, 0);
    CALL_X(qp_fence_warp, m.state, m.pe, nullptr, 0);
    CALL_X(qp_quiet_block, m.state, m.pe, nullptr, 0);
}
#endif
