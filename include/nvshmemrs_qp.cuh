// The functions of nvshmemrs_device.cuh that NVSHMEM also has for a queue pair of a network card, for programs that come from there.
//
// Between GPUs of one host there are no queue pairs, so the last argument changes nothing. Names, order and scopes are those of the functions
// without `qp_`.
#ifndef NVSHMEMRS_QP_CUH
#define NVSHMEMRS_QP_CUH

#include "nvshmemrs_device.cuh"

typedef int nvshmemrs_qp_handle_t;

#define NVSHMEMRS_I_QP_VALUES(NAME, T)                                                                                                 \
    NVSHMEMRS_I_API void nvshmemrs_qp_##NAME##_p(nvshmemrs::device::Given s, T *dest, T value, int pe, nvshmemrs_qp_handle_t) {        \
        nvshmemrs_##NAME##_p(s, dest, value, pe);                                                                                      \
    }                                                                                                                                  \
    NVSHMEMRS_I_API T nvshmemrs_qp_##NAME##_g(nvshmemrs::device::Given s, const T *source, int pe, nvshmemrs_qp_handle_t) {            \
        return nvshmemrs_##NAME##_g(s, source, pe);                                                                                    \
    }
#define NVSHMEMRS_I_QP_COPY(SUFFIX, FUNCTION, T)                                                                                       \
    NVSHMEMRS_I_API void nvshmemrs_qp_##FUNCTION##SUFFIX(nvshmemrs::device::Given s, T *dest, const T *source, unsigned long n, int pe, \
                                                         nvshmemrs_qp_handle_t) {                                                      \
        nvshmemrs_##FUNCTION##SUFFIX(s, dest, source, n, pe);                                                                          \
    }
#define NVSHMEMRS_I_QP_SIGNAL(SUFFIX, FUNCTION, T)                                                                                     \
    NVSHMEMRS_I_API void nvshmemrs_qp_##FUNCTION##SUFFIX(nvshmemrs::device::Given s, T *dest, const T *source, unsigned long n,        \
                                                         nvshmemrs::device::Signal signal, unsigned long value, int op, int pe,        \
                                                         nvshmemrs_qp_handle_t) {                                                      \
        nvshmemrs_##FUNCTION##SUFFIX(s, dest, source, n, signal, value, op, pe);                                                       \
    }
#define NVSHMEMRS_I_QP_COPIES(SUFFIX, GROUP, PUT, GET, T)                                                                              \
    NVSHMEMRS_I_QP_COPY(SUFFIX, PUT, T) NVSHMEMRS_I_QP_COPY(SUFFIX, GET, T)                                                            \
    NVSHMEMRS_I_QP_COPY(SUFFIX, PUT##_nbi, T) NVSHMEMRS_I_QP_COPY(SUFFIX, GET##_nbi, T)                                                \
    NVSHMEMRS_I_QP_SIGNAL(SUFFIX, PUT##_signal, T) NVSHMEMRS_I_QP_SIGNAL(SUFFIX, PUT##_signal_nbi, T)
#define NVSHMEMRS_I_QP(NAME, T) NVSHMEMRS_I_QP_VALUES(NAME, T) NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_QP_COPIES, NAME##_put, NAME##_get, T)
NVSHMEMRS_I_RMA_TYPES(NVSHMEMRS_I_QP)
#define NVSHMEMRS_I_QP_SIZED(BITS) NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_QP_COPIES, put##BITS, get##BITS, void)
NVSHMEMRS_I_QP_SIZED(8)
NVSHMEMRS_I_QP_SIZED(16)
NVSHMEMRS_I_QP_SIZED(32)
NVSHMEMRS_I_QP_SIZED(64)
NVSHMEMRS_I_QP_SIZED(128)
NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_QP_COPIES, putmem, getmem, void)

NVSHMEMRS_I_API void nvshmemrs_qp_signal_op(nvshmemrs::device::Given s, nvshmemrs::device::Signal signal, unsigned long value, int op, int pe,
                                            nvshmemrs_qp_handle_t) {
    nvshmemrs_signal_op(s, signal, value, op, pe);
}

#endif
