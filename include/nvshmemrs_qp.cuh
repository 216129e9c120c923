// The functions of nvshmemrs_device.cuh that NVSHMEM also has for a queue pair of a network card, for programs that come from there.
//
// Between GPUs of one host there are no queue pairs, so these arguments have no effect. Names, order and scopes are those of the
// functions without `qp_`.
#ifndef NVSHMEMRS_QP_CUH
#define NVSHMEMRS_QP_CUH

#include "nvshmemrs_device.cuh"

typedef int nvshmemrs_qp_handle_t;
enum : int {
    NVSHMEMRS_QP_HOST = 0,
    NVSHMEMRS_QP_DEFAULT = 1,
    NVSHMEMRS_QP_ANY = 2147483647,
    NVSHMEMRS_QP_ALL = 2147483647,
};

namespace nvshmemrs {
namespace device {

// Plain: the class that has the functions without a queue pair.
#define NVSHMEMRS_I_QP_COPY(SUFFIX, FUNCTION, API, TYPE)                                                                 \
    API void FUNCTION##SUFFIX(Given s, TYPE *dest, const TYPE *source, unsigned long n, i32 pe, nvshmemrs_qp_handle_t) { \
        Plain::FUNCTION##SUFFIX(s, dest, source, n, pe);                                                                 \
    }
#define NVSHMEMRS_I_QP_SIGNALLED(SUFFIX, FUNCTION, API, TYPE)                                                                               \
    API void FUNCTION##SUFFIX(Given s, TYPE *dest, const TYPE *source, unsigned long n, Signal signal, unsigned long value, int op, i32 pe, \
                              nvshmemrs_qp_handle_t) {                                                                                      \
        Plain::FUNCTION##SUFFIX(s, dest, source, n, signal, value, op, pe);                                                                 \
    }
#define NVSHMEMRS_I_QP_PUTS(SUFFIX, GROUP, API, TYPE)                                                                   \
    NVSHMEMRS_I_QP_COPY(SUFFIX, put, API, TYPE) NVSHMEMRS_I_QP_COPY(SUFFIX, get, API, TYPE)                             \
    NVSHMEMRS_I_QP_COPY(SUFFIX, put_nbi, API, TYPE) NVSHMEMRS_I_QP_COPY(SUFFIX, get_nbi, API, TYPE)                     \
    NVSHMEMRS_I_QP_SIGNALLED(SUFFIX, put_signal, API, TYPE) NVSHMEMRS_I_QP_SIGNALLED(SUFFIX, put_signal_nbi, API, TYPE)

template <class T> struct Qp {
    typedef Of<T> Plain;
    NVSHMEMRS_I_MEMBER void p(Given s, T *dest, T value, i32 pe, nvshmemrs_qp_handle_t) { Plain::p(s, dest, value, pe); }
    NVSHMEMRS_I_MEMBER T g(Given s, const T *source, i32 pe, nvshmemrs_qp_handle_t) { return Plain::g(s, source, pe); }
    NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_QP_PUTS, NVSHMEMRS_I_MEMBER, T)
};
template <class OWN, class E> struct Qp<Narrow<OWN, E>> {
    typedef Of<Narrow<OWN, E>> Plain;
    NVSHMEMRS_I_MEMBER_OF_ANY void p(Given s, H *dest, typename Same<H>::type value, i32 pe, nvshmemrs_qp_handle_t) {
        Plain::p(s, dest, value, pe);
    }
    NVSHMEMRS_I_MEMBER_OF_ANY H g(Given s, const H *source, i32 pe, nvshmemrs_qp_handle_t) { return Plain::g(s, source, pe); }
    NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_QP_PUTS, NVSHMEMRS_I_MEMBER_OF_ANY, H)
};
template <int BITS> struct QpSized {
    typedef Sized<BITS> Plain;
    NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_QP_PUTS, NVSHMEMRS_I_MEMBER, void)
};
template <int N> struct QpBytes {
    typedef Bytes<N> Plain;
    NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_QP_PUTS, NVSHMEMRS_I_MEMBER, void)
};
#define NVSHMEMRS_I_QP_BOTH(SUFFIX, GROUP, ...)                                                                                     \
    NVSHMEMRS_I_BOTH(put##SUFFIX) NVSHMEMRS_I_BOTH(get##SUFFIX) NVSHMEMRS_I_BOTH(put_nbi##SUFFIX) NVSHMEMRS_I_BOTH(get_nbi##SUFFIX) \
    NVSHMEMRS_I_BOTH(put_signal##SUFFIX) NVSHMEMRS_I_BOTH(put_signal_nbi##SUFFIX)
template <class A, class B> struct Qp<Two<A, B>> : Qp<A>, Qp<B> {
    typedef Qp<A> First;
    typedef Qp<B> Second;
    NVSHMEMRS_I_BOTH(p) NVSHMEMRS_I_BOTH(g)
    NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_QP_BOTH, )
};
typedef Qp<Two<long, long long>> QpInt64;
typedef Qp<Two<unsigned long, unsigned long long>> QpUint64;

} // namespace device
} // namespace nvshmemrs

NVSHMEMRS_I_API void nvshmemrs_qp_signal_op(nvshmemrs::device::Given s, nvshmemrs::device::Signal signal, unsigned long value, int op, int pe,
                                            nvshmemrs_qp_handle_t) {
    nvshmemrs_signal_op(s, signal, value, op, pe);
}
// Fence and quiet of all threads of the group, for every PE and every queue pair.
#define NVSHMEMRS_I_QP_ORDER(SUFFIX, GROUP, ...)                                                                                            \
    NVSHMEMRS_I_API void nvshmemrs_qp_fence##SUFFIX(nvshmemrs::device::Given s, int /* pe */, nvshmemrs_qp_handle_t *, int /* num_qps */) { \
        nvshmemrs_fence(s);                                                                                                                 \
        nvshmemrs::device::GROUP::sync();                                                                                                   \
    }                                                                                                                                       \
    NVSHMEMRS_I_API void nvshmemrs_qp_quiet##SUFFIX(nvshmemrs::device::Given s, int /* pe */, nvshmemrs_qp_handle_t *, int /* num_qps */) { \
        nvshmemrs_quiet(s);                                                                                                                 \
        nvshmemrs::device::GROUP::sync();                                                                                                   \
    }
NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_QP_ORDER, )

// ---- Names of the functions of a type. `cargo xtask generate` writes what follows. ----

// CUDA's own, if the program includes them, before or after.
struct __half;
struct __nv_bfloat16;
struct __nv_fp8_e4m3;
struct __nv_fp8_e5m2;
namespace nvshmemrs {
namespace device {
typedef Qp<Narrow<__half, Half>> QpHalf;
typedef Qp<Narrow<__nv_bfloat16, Bfloat16>> QpBfloat16;
typedef Qp<Narrow<__nv_fp8_e4m3, Float8E4m3fn>> QpFloat8E4m3fn;
typedef Qp<Narrow<__nv_fp8_e5m2, Float8E5m2>> QpFloat8E5m2;
} // namespace device
} // namespace nvshmemrs

#define nvshmemrs_qp_put8 nvshmemrs::device::QpSized<8>::put
#define nvshmemrs_qp_put8_warp nvshmemrs::device::QpSized<8>::put_warp
#define nvshmemrs_qp_put8_block nvshmemrs::device::QpSized<8>::put_block
#define nvshmemrs_qp_get8 nvshmemrs::device::QpSized<8>::get
#define nvshmemrs_qp_get8_warp nvshmemrs::device::QpSized<8>::get_warp
#define nvshmemrs_qp_get8_block nvshmemrs::device::QpSized<8>::get_block
#define nvshmemrs_qp_put8_nbi nvshmemrs::device::QpSized<8>::put_nbi
#define nvshmemrs_qp_put8_nbi_warp nvshmemrs::device::QpSized<8>::put_nbi_warp
#define nvshmemrs_qp_put8_nbi_block nvshmemrs::device::QpSized<8>::put_nbi_block
#define nvshmemrs_qp_get8_nbi nvshmemrs::device::QpSized<8>::get_nbi
#define nvshmemrs_qp_get8_nbi_warp nvshmemrs::device::QpSized<8>::get_nbi_warp
#define nvshmemrs_qp_get8_nbi_block nvshmemrs::device::QpSized<8>::get_nbi_block
#define nvshmemrs_qp_put8_signal nvshmemrs::device::QpSized<8>::put_signal
#define nvshmemrs_qp_put8_signal_warp nvshmemrs::device::QpSized<8>::put_signal_warp
#define nvshmemrs_qp_put8_signal_block nvshmemrs::device::QpSized<8>::put_signal_block
#define nvshmemrs_qp_put8_signal_nbi nvshmemrs::device::QpSized<8>::put_signal_nbi
#define nvshmemrs_qp_put8_signal_nbi_warp nvshmemrs::device::QpSized<8>::put_signal_nbi_warp
#define nvshmemrs_qp_put8_signal_nbi_block nvshmemrs::device::QpSized<8>::put_signal_nbi_block
#define nvshmemrs_qp_put16 nvshmemrs::device::QpSized<16>::put
#define nvshmemrs_qp_put16_warp nvshmemrs::device::QpSized<16>::put_warp
#define nvshmemrs_qp_put16_block nvshmemrs::device::QpSized<16>::put_block
#define nvshmemrs_qp_get16 nvshmemrs::device::QpSized<16>::get
#define nvshmemrs_qp_get16_warp nvshmemrs::device::QpSized<16>::get_warp
#define nvshmemrs_qp_get16_block nvshmemrs::device::QpSized<16>::get_block
#define nvshmemrs_qp_put16_nbi nvshmemrs::device::QpSized<16>::put_nbi
#define nvshmemrs_qp_put16_nbi_warp nvshmemrs::device::QpSized<16>::put_nbi_warp
#define nvshmemrs_qp_put16_nbi_block nvshmemrs::device::QpSized<16>::put_nbi_block
#define nvshmemrs_qp_get16_nbi nvshmemrs::device::QpSized<16>::get_nbi
#define nvshmemrs_qp_get16_nbi_warp nvshmemrs::device::QpSized<16>::get_nbi_warp
#define nvshmemrs_qp_get16_nbi_block nvshmemrs::device::QpSized<16>::get_nbi_block
#define nvshmemrs_qp_put16_signal nvshmemrs::device::QpSized<16>::put_signal
#define nvshmemrs_qp_put16_signal_warp nvshmemrs::device::QpSized<16>::put_signal_warp
#define nvshmemrs_qp_put16_signal_block nvshmemrs::device::QpSized<16>::put_signal_block
#define nvshmemrs_qp_put16_signal_nbi nvshmemrs::device::QpSized<16>::put_signal_nbi
#define nvshmemrs_qp_put16_signal_nbi_warp nvshmemrs::device::QpSized<16>::put_signal_nbi_warp
#define nvshmemrs_qp_put16_signal_nbi_block nvshmemrs::device::QpSized<16>::put_signal_nbi_block
#define nvshmemrs_qp_put32 nvshmemrs::device::QpSized<32>::put
#define nvshmemrs_qp_put32_warp nvshmemrs::device::QpSized<32>::put_warp
#define nvshmemrs_qp_put32_block nvshmemrs::device::QpSized<32>::put_block
#define nvshmemrs_qp_get32 nvshmemrs::device::QpSized<32>::get
#define nvshmemrs_qp_get32_warp nvshmemrs::device::QpSized<32>::get_warp
#define nvshmemrs_qp_get32_block nvshmemrs::device::QpSized<32>::get_block
#define nvshmemrs_qp_put32_nbi nvshmemrs::device::QpSized<32>::put_nbi
#define nvshmemrs_qp_put32_nbi_warp nvshmemrs::device::QpSized<32>::put_nbi_warp
#define nvshmemrs_qp_put32_nbi_block nvshmemrs::device::QpSized<32>::put_nbi_block
#define nvshmemrs_qp_get32_nbi nvshmemrs::device::QpSized<32>::get_nbi
#define nvshmemrs_qp_get32_nbi_warp nvshmemrs::device::QpSized<32>::get_nbi_warp
#define nvshmemrs_qp_get32_nbi_block nvshmemrs::device::QpSized<32>::get_nbi_block
#define nvshmemrs_qp_put32_signal nvshmemrs::device::QpSized<32>::put_signal
#define nvshmemrs_qp_put32_signal_warp nvshmemrs::device::QpSized<32>::put_signal_warp
#define nvshmemrs_qp_put32_signal_block nvshmemrs::device::QpSized<32>::put_signal_block
#define nvshmemrs_qp_put32_signal_nbi nvshmemrs::device::QpSized<32>::put_signal_nbi
#define nvshmemrs_qp_put32_signal_nbi_warp nvshmemrs::device::QpSized<32>::put_signal_nbi_warp
#define nvshmemrs_qp_put32_signal_nbi_block nvshmemrs::device::QpSized<32>::put_signal_nbi_block
#define nvshmemrs_qp_put64 nvshmemrs::device::QpSized<64>::put
#define nvshmemrs_qp_put64_warp nvshmemrs::device::QpSized<64>::put_warp
#define nvshmemrs_qp_put64_block nvshmemrs::device::QpSized<64>::put_block
#define nvshmemrs_qp_get64 nvshmemrs::device::QpSized<64>::get
#define nvshmemrs_qp_get64_warp nvshmemrs::device::QpSized<64>::get_warp
#define nvshmemrs_qp_get64_block nvshmemrs::device::QpSized<64>::get_block
#define nvshmemrs_qp_put64_nbi nvshmemrs::device::QpSized<64>::put_nbi
#define nvshmemrs_qp_put64_nbi_warp nvshmemrs::device::QpSized<64>::put_nbi_warp
#define nvshmemrs_qp_put64_nbi_block nvshmemrs::device::QpSized<64>::put_nbi_block
#define nvshmemrs_qp_get64_nbi nvshmemrs::device::QpSized<64>::get_nbi
#define nvshmemrs_qp_get64_nbi_warp nvshmemrs::device::QpSized<64>::get_nbi_warp
#define nvshmemrs_qp_get64_nbi_block nvshmemrs::device::QpSized<64>::get_nbi_block
#define nvshmemrs_qp_put64_signal nvshmemrs::device::QpSized<64>::put_signal
#define nvshmemrs_qp_put64_signal_warp nvshmemrs::device::QpSized<64>::put_signal_warp
#define nvshmemrs_qp_put64_signal_block nvshmemrs::device::QpSized<64>::put_signal_block
#define nvshmemrs_qp_put64_signal_nbi nvshmemrs::device::QpSized<64>::put_signal_nbi
#define nvshmemrs_qp_put64_signal_nbi_warp nvshmemrs::device::QpSized<64>::put_signal_nbi_warp
#define nvshmemrs_qp_put64_signal_nbi_block nvshmemrs::device::QpSized<64>::put_signal_nbi_block
#define nvshmemrs_qp_put128 nvshmemrs::device::QpSized<128>::put
#define nvshmemrs_qp_put128_warp nvshmemrs::device::QpSized<128>::put_warp
#define nvshmemrs_qp_put128_block nvshmemrs::device::QpSized<128>::put_block
#define nvshmemrs_qp_get128 nvshmemrs::device::QpSized<128>::get
#define nvshmemrs_qp_get128_warp nvshmemrs::device::QpSized<128>::get_warp
#define nvshmemrs_qp_get128_block nvshmemrs::device::QpSized<128>::get_block
#define nvshmemrs_qp_put128_nbi nvshmemrs::device::QpSized<128>::put_nbi
#define nvshmemrs_qp_put128_nbi_warp nvshmemrs::device::QpSized<128>::put_nbi_warp
#define nvshmemrs_qp_put128_nbi_block nvshmemrs::device::QpSized<128>::put_nbi_block
#define nvshmemrs_qp_get128_nbi nvshmemrs::device::QpSized<128>::get_nbi
#define nvshmemrs_qp_get128_nbi_warp nvshmemrs::device::QpSized<128>::get_nbi_warp
#define nvshmemrs_qp_get128_nbi_block nvshmemrs::device::QpSized<128>::get_nbi_block
#define nvshmemrs_qp_put128_signal nvshmemrs::device::QpSized<128>::put_signal
#define nvshmemrs_qp_put128_signal_warp nvshmemrs::device::QpSized<128>::put_signal_warp
#define nvshmemrs_qp_put128_signal_block nvshmemrs::device::QpSized<128>::put_signal_block
#define nvshmemrs_qp_put128_signal_nbi nvshmemrs::device::QpSized<128>::put_signal_nbi
#define nvshmemrs_qp_put128_signal_nbi_warp nvshmemrs::device::QpSized<128>::put_signal_nbi_warp
#define nvshmemrs_qp_put128_signal_nbi_block nvshmemrs::device::QpSized<128>::put_signal_nbi_block
#define nvshmemrs_qp_putmem nvshmemrs::device::QpBytes<0>::put
#define nvshmemrs_qp_putmem_warp nvshmemrs::device::QpBytes<0>::put_warp
#define nvshmemrs_qp_putmem_block nvshmemrs::device::QpBytes<0>::put_block
#define nvshmemrs_qp_getmem nvshmemrs::device::QpBytes<0>::get
#define nvshmemrs_qp_getmem_warp nvshmemrs::device::QpBytes<0>::get_warp
#define nvshmemrs_qp_getmem_block nvshmemrs::device::QpBytes<0>::get_block
#define nvshmemrs_qp_putmem_nbi nvshmemrs::device::QpBytes<0>::put_nbi
#define nvshmemrs_qp_putmem_nbi_warp nvshmemrs::device::QpBytes<0>::put_nbi_warp
#define nvshmemrs_qp_putmem_nbi_block nvshmemrs::device::QpBytes<0>::put_nbi_block
#define nvshmemrs_qp_getmem_nbi nvshmemrs::device::QpBytes<0>::get_nbi
#define nvshmemrs_qp_getmem_nbi_warp nvshmemrs::device::QpBytes<0>::get_nbi_warp
#define nvshmemrs_qp_getmem_nbi_block nvshmemrs::device::QpBytes<0>::get_nbi_block
#define nvshmemrs_qp_putmem_signal nvshmemrs::device::QpBytes<0>::put_signal
#define nvshmemrs_qp_putmem_signal_warp nvshmemrs::device::QpBytes<0>::put_signal_warp
#define nvshmemrs_qp_putmem_signal_block nvshmemrs::device::QpBytes<0>::put_signal_block
#define nvshmemrs_qp_putmem_signal_nbi nvshmemrs::device::QpBytes<0>::put_signal_nbi
#define nvshmemrs_qp_putmem_signal_nbi_warp nvshmemrs::device::QpBytes<0>::put_signal_nbi_warp
#define nvshmemrs_qp_putmem_signal_nbi_block nvshmemrs::device::QpBytes<0>::put_signal_nbi_block
#define nvshmemrs_qp_float_p nvshmemrs::device::Qp<float>::p
#define nvshmemrs_qp_float_g nvshmemrs::device::Qp<float>::g
#define nvshmemrs_qp_float_put nvshmemrs::device::Qp<float>::put
#define nvshmemrs_qp_float_put_warp nvshmemrs::device::Qp<float>::put_warp
#define nvshmemrs_qp_float_put_block nvshmemrs::device::Qp<float>::put_block
#define nvshmemrs_qp_float_get nvshmemrs::device::Qp<float>::get
#define nvshmemrs_qp_float_get_warp nvshmemrs::device::Qp<float>::get_warp
#define nvshmemrs_qp_float_get_block nvshmemrs::device::Qp<float>::get_block
#define nvshmemrs_qp_float_put_nbi nvshmemrs::device::Qp<float>::put_nbi
#define nvshmemrs_qp_float_put_nbi_warp nvshmemrs::device::Qp<float>::put_nbi_warp
#define nvshmemrs_qp_float_put_nbi_block nvshmemrs::device::Qp<float>::put_nbi_block
#define nvshmemrs_qp_float_get_nbi nvshmemrs::device::Qp<float>::get_nbi
#define nvshmemrs_qp_float_get_nbi_warp nvshmemrs::device::Qp<float>::get_nbi_warp
#define nvshmemrs_qp_float_get_nbi_block nvshmemrs::device::Qp<float>::get_nbi_block
#define nvshmemrs_qp_float_put_signal nvshmemrs::device::Qp<float>::put_signal
#define nvshmemrs_qp_float_put_signal_warp nvshmemrs::device::Qp<float>::put_signal_warp
#define nvshmemrs_qp_float_put_signal_block nvshmemrs::device::Qp<float>::put_signal_block
#define nvshmemrs_qp_float_put_signal_nbi nvshmemrs::device::Qp<float>::put_signal_nbi
#define nvshmemrs_qp_float_put_signal_nbi_warp nvshmemrs::device::Qp<float>::put_signal_nbi_warp
#define nvshmemrs_qp_float_put_signal_nbi_block nvshmemrs::device::Qp<float>::put_signal_nbi_block
#define nvshmemrs_qp_double_p nvshmemrs::device::Qp<double>::p
#define nvshmemrs_qp_double_g nvshmemrs::device::Qp<double>::g
#define nvshmemrs_qp_double_put nvshmemrs::device::Qp<double>::put
#define nvshmemrs_qp_double_put_warp nvshmemrs::device::Qp<double>::put_warp
#define nvshmemrs_qp_double_put_block nvshmemrs::device::Qp<double>::put_block
#define nvshmemrs_qp_double_get nvshmemrs::device::Qp<double>::get
#define nvshmemrs_qp_double_get_warp nvshmemrs::device::Qp<double>::get_warp
#define nvshmemrs_qp_double_get_block nvshmemrs::device::Qp<double>::get_block
#define nvshmemrs_qp_double_put_nbi nvshmemrs::device::Qp<double>::put_nbi
#define nvshmemrs_qp_double_put_nbi_warp nvshmemrs::device::Qp<double>::put_nbi_warp
#define nvshmemrs_qp_double_put_nbi_block nvshmemrs::device::Qp<double>::put_nbi_block
#define nvshmemrs_qp_double_get_nbi nvshmemrs::device::Qp<double>::get_nbi
#define nvshmemrs_qp_double_get_nbi_warp nvshmemrs::device::Qp<double>::get_nbi_warp
#define nvshmemrs_qp_double_get_nbi_block nvshmemrs::device::Qp<double>::get_nbi_block
#define nvshmemrs_qp_double_put_signal nvshmemrs::device::Qp<double>::put_signal
#define nvshmemrs_qp_double_put_signal_warp nvshmemrs::device::Qp<double>::put_signal_warp
#define nvshmemrs_qp_double_put_signal_block nvshmemrs::device::Qp<double>::put_signal_block
#define nvshmemrs_qp_double_put_signal_nbi nvshmemrs::device::Qp<double>::put_signal_nbi
#define nvshmemrs_qp_double_put_signal_nbi_warp nvshmemrs::device::Qp<double>::put_signal_nbi_warp
#define nvshmemrs_qp_double_put_signal_nbi_block nvshmemrs::device::Qp<double>::put_signal_nbi_block
#define nvshmemrs_qp_half_p nvshmemrs::device::QpHalf::p
#define nvshmemrs_qp_half_g nvshmemrs::device::QpHalf::g
#define nvshmemrs_qp_half_put nvshmemrs::device::QpHalf::put
#define nvshmemrs_qp_half_put_warp nvshmemrs::device::QpHalf::put_warp
#define nvshmemrs_qp_half_put_block nvshmemrs::device::QpHalf::put_block
#define nvshmemrs_qp_half_get nvshmemrs::device::QpHalf::get
#define nvshmemrs_qp_half_get_warp nvshmemrs::device::QpHalf::get_warp
#define nvshmemrs_qp_half_get_block nvshmemrs::device::QpHalf::get_block
#define nvshmemrs_qp_half_put_nbi nvshmemrs::device::QpHalf::put_nbi
#define nvshmemrs_qp_half_put_nbi_warp nvshmemrs::device::QpHalf::put_nbi_warp
#define nvshmemrs_qp_half_put_nbi_block nvshmemrs::device::QpHalf::put_nbi_block
#define nvshmemrs_qp_half_get_nbi nvshmemrs::device::QpHalf::get_nbi
#define nvshmemrs_qp_half_get_nbi_warp nvshmemrs::device::QpHalf::get_nbi_warp
#define nvshmemrs_qp_half_get_nbi_block nvshmemrs::device::QpHalf::get_nbi_block
#define nvshmemrs_qp_half_put_signal nvshmemrs::device::QpHalf::put_signal
#define nvshmemrs_qp_half_put_signal_warp nvshmemrs::device::QpHalf::put_signal_warp
#define nvshmemrs_qp_half_put_signal_block nvshmemrs::device::QpHalf::put_signal_block
#define nvshmemrs_qp_half_put_signal_nbi nvshmemrs::device::QpHalf::put_signal_nbi
#define nvshmemrs_qp_half_put_signal_nbi_warp nvshmemrs::device::QpHalf::put_signal_nbi_warp
#define nvshmemrs_qp_half_put_signal_nbi_block nvshmemrs::device::QpHalf::put_signal_nbi_block
#define nvshmemrs_qp_bfloat16_p nvshmemrs::device::QpBfloat16::p
#define nvshmemrs_qp_bfloat16_g nvshmemrs::device::QpBfloat16::g
#define nvshmemrs_qp_bfloat16_put nvshmemrs::device::QpBfloat16::put
#define nvshmemrs_qp_bfloat16_put_warp nvshmemrs::device::QpBfloat16::put_warp
#define nvshmemrs_qp_bfloat16_put_block nvshmemrs::device::QpBfloat16::put_block
#define nvshmemrs_qp_bfloat16_get nvshmemrs::device::QpBfloat16::get
#define nvshmemrs_qp_bfloat16_get_warp nvshmemrs::device::QpBfloat16::get_warp
#define nvshmemrs_qp_bfloat16_get_block nvshmemrs::device::QpBfloat16::get_block
#define nvshmemrs_qp_bfloat16_put_nbi nvshmemrs::device::QpBfloat16::put_nbi
#define nvshmemrs_qp_bfloat16_put_nbi_warp nvshmemrs::device::QpBfloat16::put_nbi_warp
#define nvshmemrs_qp_bfloat16_put_nbi_block nvshmemrs::device::QpBfloat16::put_nbi_block
#define nvshmemrs_qp_bfloat16_get_nbi nvshmemrs::device::QpBfloat16::get_nbi
#define nvshmemrs_qp_bfloat16_get_nbi_warp nvshmemrs::device::QpBfloat16::get_nbi_warp
#define nvshmemrs_qp_bfloat16_get_nbi_block nvshmemrs::device::QpBfloat16::get_nbi_block
#define nvshmemrs_qp_bfloat16_put_signal nvshmemrs::device::QpBfloat16::put_signal
#define nvshmemrs_qp_bfloat16_put_signal_warp nvshmemrs::device::QpBfloat16::put_signal_warp
#define nvshmemrs_qp_bfloat16_put_signal_block nvshmemrs::device::QpBfloat16::put_signal_block
#define nvshmemrs_qp_bfloat16_put_signal_nbi nvshmemrs::device::QpBfloat16::put_signal_nbi
#define nvshmemrs_qp_bfloat16_put_signal_nbi_warp nvshmemrs::device::QpBfloat16::put_signal_nbi_warp
#define nvshmemrs_qp_bfloat16_put_signal_nbi_block nvshmemrs::device::QpBfloat16::put_signal_nbi_block
#define nvshmemrs_qp_float8_e4m3fn_p nvshmemrs::device::QpFloat8E4m3fn::p
#define nvshmemrs_qp_float8_e4m3fn_g nvshmemrs::device::QpFloat8E4m3fn::g
#define nvshmemrs_qp_float8_e4m3fn_put nvshmemrs::device::QpFloat8E4m3fn::put
#define nvshmemrs_qp_float8_e4m3fn_put_warp nvshmemrs::device::QpFloat8E4m3fn::put_warp
#define nvshmemrs_qp_float8_e4m3fn_put_block nvshmemrs::device::QpFloat8E4m3fn::put_block
#define nvshmemrs_qp_float8_e4m3fn_get nvshmemrs::device::QpFloat8E4m3fn::get
#define nvshmemrs_qp_float8_e4m3fn_get_warp nvshmemrs::device::QpFloat8E4m3fn::get_warp
#define nvshmemrs_qp_float8_e4m3fn_get_block nvshmemrs::device::QpFloat8E4m3fn::get_block
#define nvshmemrs_qp_float8_e4m3fn_put_nbi nvshmemrs::device::QpFloat8E4m3fn::put_nbi
#define nvshmemrs_qp_float8_e4m3fn_put_nbi_warp nvshmemrs::device::QpFloat8E4m3fn::put_nbi_warp
#define nvshmemrs_qp_float8_e4m3fn_put_nbi_block nvshmemrs::device::QpFloat8E4m3fn::put_nbi_block
#define nvshmemrs_qp_float8_e4m3fn_get_nbi nvshmemrs::device::QpFloat8E4m3fn::get_nbi
#define nvshmemrs_qp_float8_e4m3fn_get_nbi_warp nvshmemrs::device::QpFloat8E4m3fn::get_nbi_warp
#define nvshmemrs_qp_float8_e4m3fn_get_nbi_block nvshmemrs::device::QpFloat8E4m3fn::get_nbi_block
#define nvshmemrs_qp_float8_e4m3fn_put_signal nvshmemrs::device::QpFloat8E4m3fn::put_signal
#define nvshmemrs_qp_float8_e4m3fn_put_signal_warp nvshmemrs::device::QpFloat8E4m3fn::put_signal_warp
#define nvshmemrs_qp_float8_e4m3fn_put_signal_block nvshmemrs::device::QpFloat8E4m3fn::put_signal_block
#define nvshmemrs_qp_float8_e4m3fn_put_signal_nbi nvshmemrs::device::QpFloat8E4m3fn::put_signal_nbi
#define nvshmemrs_qp_float8_e4m3fn_put_signal_nbi_warp nvshmemrs::device::QpFloat8E4m3fn::put_signal_nbi_warp
#define nvshmemrs_qp_float8_e4m3fn_put_signal_nbi_block nvshmemrs::device::QpFloat8E4m3fn::put_signal_nbi_block
#define nvshmemrs_qp_float8_e5m2_p nvshmemrs::device::QpFloat8E5m2::p
#define nvshmemrs_qp_float8_e5m2_g nvshmemrs::device::QpFloat8E5m2::g
#define nvshmemrs_qp_float8_e5m2_put nvshmemrs::device::QpFloat8E5m2::put
#define nvshmemrs_qp_float8_e5m2_put_warp nvshmemrs::device::QpFloat8E5m2::put_warp
#define nvshmemrs_qp_float8_e5m2_put_block nvshmemrs::device::QpFloat8E5m2::put_block
#define nvshmemrs_qp_float8_e5m2_get nvshmemrs::device::QpFloat8E5m2::get
#define nvshmemrs_qp_float8_e5m2_get_warp nvshmemrs::device::QpFloat8E5m2::get_warp
#define nvshmemrs_qp_float8_e5m2_get_block nvshmemrs::device::QpFloat8E5m2::get_block
#define nvshmemrs_qp_float8_e5m2_put_nbi nvshmemrs::device::QpFloat8E5m2::put_nbi
#define nvshmemrs_qp_float8_e5m2_put_nbi_warp nvshmemrs::device::QpFloat8E5m2::put_nbi_warp
#define nvshmemrs_qp_float8_e5m2_put_nbi_block nvshmemrs::device::QpFloat8E5m2::put_nbi_block
#define nvshmemrs_qp_float8_e5m2_get_nbi nvshmemrs::device::QpFloat8E5m2::get_nbi
#define nvshmemrs_qp_float8_e5m2_get_nbi_warp nvshmemrs::device::QpFloat8E5m2::get_nbi_warp
#define nvshmemrs_qp_float8_e5m2_get_nbi_block nvshmemrs::device::QpFloat8E5m2::get_nbi_block
#define nvshmemrs_qp_float8_e5m2_put_signal nvshmemrs::device::QpFloat8E5m2::put_signal
#define nvshmemrs_qp_float8_e5m2_put_signal_warp nvshmemrs::device::QpFloat8E5m2::put_signal_warp
#define nvshmemrs_qp_float8_e5m2_put_signal_block nvshmemrs::device::QpFloat8E5m2::put_signal_block
#define nvshmemrs_qp_float8_e5m2_put_signal_nbi nvshmemrs::device::QpFloat8E5m2::put_signal_nbi
#define nvshmemrs_qp_float8_e5m2_put_signal_nbi_warp nvshmemrs::device::QpFloat8E5m2::put_signal_nbi_warp
#define nvshmemrs_qp_float8_e5m2_put_signal_nbi_block nvshmemrs::device::QpFloat8E5m2::put_signal_nbi_block
#define nvshmemrs_qp_char_p nvshmemrs::device::Qp<char>::p
#define nvshmemrs_qp_char_g nvshmemrs::device::Qp<char>::g
#define nvshmemrs_qp_char_put nvshmemrs::device::Qp<char>::put
#define nvshmemrs_qp_char_put_warp nvshmemrs::device::Qp<char>::put_warp
#define nvshmemrs_qp_char_put_block nvshmemrs::device::Qp<char>::put_block
#define nvshmemrs_qp_char_get nvshmemrs::device::Qp<char>::get
#define nvshmemrs_qp_char_get_warp nvshmemrs::device::Qp<char>::get_warp
#define nvshmemrs_qp_char_get_block nvshmemrs::device::Qp<char>::get_block
#define nvshmemrs_qp_char_put_nbi nvshmemrs::device::Qp<char>::put_nbi
#define nvshmemrs_qp_char_put_nbi_warp nvshmemrs::device::Qp<char>::put_nbi_warp
#define nvshmemrs_qp_char_put_nbi_block nvshmemrs::device::Qp<char>::put_nbi_block
#define nvshmemrs_qp_char_get_nbi nvshmemrs::device::Qp<char>::get_nbi
#define nvshmemrs_qp_char_get_nbi_warp nvshmemrs::device::Qp<char>::get_nbi_warp
#define nvshmemrs_qp_char_get_nbi_block nvshmemrs::device::Qp<char>::get_nbi_block
#define nvshmemrs_qp_char_put_signal nvshmemrs::device::Qp<char>::put_signal
#define nvshmemrs_qp_char_put_signal_warp nvshmemrs::device::Qp<char>::put_signal_warp
#define nvshmemrs_qp_char_put_signal_block nvshmemrs::device::Qp<char>::put_signal_block
#define nvshmemrs_qp_char_put_signal_nbi nvshmemrs::device::Qp<char>::put_signal_nbi
#define nvshmemrs_qp_char_put_signal_nbi_warp nvshmemrs::device::Qp<char>::put_signal_nbi_warp
#define nvshmemrs_qp_char_put_signal_nbi_block nvshmemrs::device::Qp<char>::put_signal_nbi_block
#define nvshmemrs_qp_schar_p nvshmemrs::device::Qp<signed char>::p
#define nvshmemrs_qp_schar_g nvshmemrs::device::Qp<signed char>::g
#define nvshmemrs_qp_schar_put nvshmemrs::device::Qp<signed char>::put
#define nvshmemrs_qp_schar_put_warp nvshmemrs::device::Qp<signed char>::put_warp
#define nvshmemrs_qp_schar_put_block nvshmemrs::device::Qp<signed char>::put_block
#define nvshmemrs_qp_schar_get nvshmemrs::device::Qp<signed char>::get
#define nvshmemrs_qp_schar_get_warp nvshmemrs::device::Qp<signed char>::get_warp
#define nvshmemrs_qp_schar_get_block nvshmemrs::device::Qp<signed char>::get_block
#define nvshmemrs_qp_schar_put_nbi nvshmemrs::device::Qp<signed char>::put_nbi
#define nvshmemrs_qp_schar_put_nbi_warp nvshmemrs::device::Qp<signed char>::put_nbi_warp
#define nvshmemrs_qp_schar_put_nbi_block nvshmemrs::device::Qp<signed char>::put_nbi_block
#define nvshmemrs_qp_schar_get_nbi nvshmemrs::device::Qp<signed char>::get_nbi
#define nvshmemrs_qp_schar_get_nbi_warp nvshmemrs::device::Qp<signed char>::get_nbi_warp
#define nvshmemrs_qp_schar_get_nbi_block nvshmemrs::device::Qp<signed char>::get_nbi_block
#define nvshmemrs_qp_schar_put_signal nvshmemrs::device::Qp<signed char>::put_signal
#define nvshmemrs_qp_schar_put_signal_warp nvshmemrs::device::Qp<signed char>::put_signal_warp
#define nvshmemrs_qp_schar_put_signal_block nvshmemrs::device::Qp<signed char>::put_signal_block
#define nvshmemrs_qp_schar_put_signal_nbi nvshmemrs::device::Qp<signed char>::put_signal_nbi
#define nvshmemrs_qp_schar_put_signal_nbi_warp nvshmemrs::device::Qp<signed char>::put_signal_nbi_warp
#define nvshmemrs_qp_schar_put_signal_nbi_block nvshmemrs::device::Qp<signed char>::put_signal_nbi_block
#define nvshmemrs_qp_short_p nvshmemrs::device::Qp<short>::p
#define nvshmemrs_qp_short_g nvshmemrs::device::Qp<short>::g
#define nvshmemrs_qp_short_put nvshmemrs::device::Qp<short>::put
#define nvshmemrs_qp_short_put_warp nvshmemrs::device::Qp<short>::put_warp
#define nvshmemrs_qp_short_put_block nvshmemrs::device::Qp<short>::put_block
#define nvshmemrs_qp_short_get nvshmemrs::device::Qp<short>::get
#define nvshmemrs_qp_short_get_warp nvshmemrs::device::Qp<short>::get_warp
#define nvshmemrs_qp_short_get_block nvshmemrs::device::Qp<short>::get_block
#define nvshmemrs_qp_short_put_nbi nvshmemrs::device::Qp<short>::put_nbi
#define nvshmemrs_qp_short_put_nbi_warp nvshmemrs::device::Qp<short>::put_nbi_warp
#define nvshmemrs_qp_short_put_nbi_block nvshmemrs::device::Qp<short>::put_nbi_block
#define nvshmemrs_qp_short_get_nbi nvshmemrs::device::Qp<short>::get_nbi
#define nvshmemrs_qp_short_get_nbi_warp nvshmemrs::device::Qp<short>::get_nbi_warp
#define nvshmemrs_qp_short_get_nbi_block nvshmemrs::device::Qp<short>::get_nbi_block
#define nvshmemrs_qp_short_put_signal nvshmemrs::device::Qp<short>::put_signal
#define nvshmemrs_qp_short_put_signal_warp nvshmemrs::device::Qp<short>::put_signal_warp
#define nvshmemrs_qp_short_put_signal_block nvshmemrs::device::Qp<short>::put_signal_block
#define nvshmemrs_qp_short_put_signal_nbi nvshmemrs::device::Qp<short>::put_signal_nbi
#define nvshmemrs_qp_short_put_signal_nbi_warp nvshmemrs::device::Qp<short>::put_signal_nbi_warp
#define nvshmemrs_qp_short_put_signal_nbi_block nvshmemrs::device::Qp<short>::put_signal_nbi_block
#define nvshmemrs_qp_int_p nvshmemrs::device::Qp<int>::p
#define nvshmemrs_qp_int_g nvshmemrs::device::Qp<int>::g
#define nvshmemrs_qp_int_put nvshmemrs::device::Qp<int>::put
#define nvshmemrs_qp_int_put_warp nvshmemrs::device::Qp<int>::put_warp
#define nvshmemrs_qp_int_put_block nvshmemrs::device::Qp<int>::put_block
#define nvshmemrs_qp_int_get nvshmemrs::device::Qp<int>::get
#define nvshmemrs_qp_int_get_warp nvshmemrs::device::Qp<int>::get_warp
#define nvshmemrs_qp_int_get_block nvshmemrs::device::Qp<int>::get_block
#define nvshmemrs_qp_int_put_nbi nvshmemrs::device::Qp<int>::put_nbi
#define nvshmemrs_qp_int_put_nbi_warp nvshmemrs::device::Qp<int>::put_nbi_warp
#define nvshmemrs_qp_int_put_nbi_block nvshmemrs::device::Qp<int>::put_nbi_block
#define nvshmemrs_qp_int_get_nbi nvshmemrs::device::Qp<int>::get_nbi
#define nvshmemrs_qp_int_get_nbi_warp nvshmemrs::device::Qp<int>::get_nbi_warp
#define nvshmemrs_qp_int_get_nbi_block nvshmemrs::device::Qp<int>::get_nbi_block
#define nvshmemrs_qp_int_put_signal nvshmemrs::device::Qp<int>::put_signal
#define nvshmemrs_qp_int_put_signal_warp nvshmemrs::device::Qp<int>::put_signal_warp
#define nvshmemrs_qp_int_put_signal_block nvshmemrs::device::Qp<int>::put_signal_block
#define nvshmemrs_qp_int_put_signal_nbi nvshmemrs::device::Qp<int>::put_signal_nbi
#define nvshmemrs_qp_int_put_signal_nbi_warp nvshmemrs::device::Qp<int>::put_signal_nbi_warp
#define nvshmemrs_qp_int_put_signal_nbi_block nvshmemrs::device::Qp<int>::put_signal_nbi_block
#define nvshmemrs_qp_long_p nvshmemrs::device::Qp<long>::p
#define nvshmemrs_qp_long_g nvshmemrs::device::Qp<long>::g
#define nvshmemrs_qp_long_put nvshmemrs::device::Qp<long>::put
#define nvshmemrs_qp_long_put_warp nvshmemrs::device::Qp<long>::put_warp
#define nvshmemrs_qp_long_put_block nvshmemrs::device::Qp<long>::put_block
#define nvshmemrs_qp_long_get nvshmemrs::device::Qp<long>::get
#define nvshmemrs_qp_long_get_warp nvshmemrs::device::Qp<long>::get_warp
#define nvshmemrs_qp_long_get_block nvshmemrs::device::Qp<long>::get_block
#define nvshmemrs_qp_long_put_nbi nvshmemrs::device::Qp<long>::put_nbi
#define nvshmemrs_qp_long_put_nbi_warp nvshmemrs::device::Qp<long>::put_nbi_warp
#define nvshmemrs_qp_long_put_nbi_block nvshmemrs::device::Qp<long>::put_nbi_block
#define nvshmemrs_qp_long_get_nbi nvshmemrs::device::Qp<long>::get_nbi
#define nvshmemrs_qp_long_get_nbi_warp nvshmemrs::device::Qp<long>::get_nbi_warp
#define nvshmemrs_qp_long_get_nbi_block nvshmemrs::device::Qp<long>::get_nbi_block
#define nvshmemrs_qp_long_put_signal nvshmemrs::device::Qp<long>::put_signal
#define nvshmemrs_qp_long_put_signal_warp nvshmemrs::device::Qp<long>::put_signal_warp
#define nvshmemrs_qp_long_put_signal_block nvshmemrs::device::Qp<long>::put_signal_block
#define nvshmemrs_qp_long_put_signal_nbi nvshmemrs::device::Qp<long>::put_signal_nbi
#define nvshmemrs_qp_long_put_signal_nbi_warp nvshmemrs::device::Qp<long>::put_signal_nbi_warp
#define nvshmemrs_qp_long_put_signal_nbi_block nvshmemrs::device::Qp<long>::put_signal_nbi_block
#define nvshmemrs_qp_longlong_p nvshmemrs::device::Qp<long long>::p
#define nvshmemrs_qp_longlong_g nvshmemrs::device::Qp<long long>::g
#define nvshmemrs_qp_longlong_put nvshmemrs::device::Qp<long long>::put
#define nvshmemrs_qp_longlong_put_warp nvshmemrs::device::Qp<long long>::put_warp
#define nvshmemrs_qp_longlong_put_block nvshmemrs::device::Qp<long long>::put_block
#define nvshmemrs_qp_longlong_get nvshmemrs::device::Qp<long long>::get
#define nvshmemrs_qp_longlong_get_warp nvshmemrs::device::Qp<long long>::get_warp
#define nvshmemrs_qp_longlong_get_block nvshmemrs::device::Qp<long long>::get_block
#define nvshmemrs_qp_longlong_put_nbi nvshmemrs::device::Qp<long long>::put_nbi
#define nvshmemrs_qp_longlong_put_nbi_warp nvshmemrs::device::Qp<long long>::put_nbi_warp
#define nvshmemrs_qp_longlong_put_nbi_block nvshmemrs::device::Qp<long long>::put_nbi_block
#define nvshmemrs_qp_longlong_get_nbi nvshmemrs::device::Qp<long long>::get_nbi
#define nvshmemrs_qp_longlong_get_nbi_warp nvshmemrs::device::Qp<long long>::get_nbi_warp
#define nvshmemrs_qp_longlong_get_nbi_block nvshmemrs::device::Qp<long long>::get_nbi_block
#define nvshmemrs_qp_longlong_put_signal nvshmemrs::device::Qp<long long>::put_signal
#define nvshmemrs_qp_longlong_put_signal_warp nvshmemrs::device::Qp<long long>::put_signal_warp
#define nvshmemrs_qp_longlong_put_signal_block nvshmemrs::device::Qp<long long>::put_signal_block
#define nvshmemrs_qp_longlong_put_signal_nbi nvshmemrs::device::Qp<long long>::put_signal_nbi
#define nvshmemrs_qp_longlong_put_signal_nbi_warp nvshmemrs::device::Qp<long long>::put_signal_nbi_warp
#define nvshmemrs_qp_longlong_put_signal_nbi_block nvshmemrs::device::Qp<long long>::put_signal_nbi_block
#define nvshmemrs_qp_uchar_p nvshmemrs::device::Qp<unsigned char>::p
#define nvshmemrs_qp_uchar_g nvshmemrs::device::Qp<unsigned char>::g
#define nvshmemrs_qp_uchar_put nvshmemrs::device::Qp<unsigned char>::put
#define nvshmemrs_qp_uchar_put_warp nvshmemrs::device::Qp<unsigned char>::put_warp
#define nvshmemrs_qp_uchar_put_block nvshmemrs::device::Qp<unsigned char>::put_block
#define nvshmemrs_qp_uchar_get nvshmemrs::device::Qp<unsigned char>::get
#define nvshmemrs_qp_uchar_get_warp nvshmemrs::device::Qp<unsigned char>::get_warp
#define nvshmemrs_qp_uchar_get_block nvshmemrs::device::Qp<unsigned char>::get_block
#define nvshmemrs_qp_uchar_put_nbi nvshmemrs::device::Qp<unsigned char>::put_nbi
#define nvshmemrs_qp_uchar_put_nbi_warp nvshmemrs::device::Qp<unsigned char>::put_nbi_warp
#define nvshmemrs_qp_uchar_put_nbi_block nvshmemrs::device::Qp<unsigned char>::put_nbi_block
#define nvshmemrs_qp_uchar_get_nbi nvshmemrs::device::Qp<unsigned char>::get_nbi
#define nvshmemrs_qp_uchar_get_nbi_warp nvshmemrs::device::Qp<unsigned char>::get_nbi_warp
#define nvshmemrs_qp_uchar_get_nbi_block nvshmemrs::device::Qp<unsigned char>::get_nbi_block
#define nvshmemrs_qp_uchar_put_signal nvshmemrs::device::Qp<unsigned char>::put_signal
#define nvshmemrs_qp_uchar_put_signal_warp nvshmemrs::device::Qp<unsigned char>::put_signal_warp
#define nvshmemrs_qp_uchar_put_signal_block nvshmemrs::device::Qp<unsigned char>::put_signal_block
#define nvshmemrs_qp_uchar_put_signal_nbi nvshmemrs::device::Qp<unsigned char>::put_signal_nbi
#define nvshmemrs_qp_uchar_put_signal_nbi_warp nvshmemrs::device::Qp<unsigned char>::put_signal_nbi_warp
#define nvshmemrs_qp_uchar_put_signal_nbi_block nvshmemrs::device::Qp<unsigned char>::put_signal_nbi_block
#define nvshmemrs_qp_ushort_p nvshmemrs::device::Qp<unsigned short>::p
#define nvshmemrs_qp_ushort_g nvshmemrs::device::Qp<unsigned short>::g
#define nvshmemrs_qp_ushort_put nvshmemrs::device::Qp<unsigned short>::put
#define nvshmemrs_qp_ushort_put_warp nvshmemrs::device::Qp<unsigned short>::put_warp
#define nvshmemrs_qp_ushort_put_block nvshmemrs::device::Qp<unsigned short>::put_block
#define nvshmemrs_qp_ushort_get nvshmemrs::device::Qp<unsigned short>::get
#define nvshmemrs_qp_ushort_get_warp nvshmemrs::device::Qp<unsigned short>::get_warp
#define nvshmemrs_qp_ushort_get_block nvshmemrs::device::Qp<unsigned short>::get_block
#define nvshmemrs_qp_ushort_put_nbi nvshmemrs::device::Qp<unsigned short>::put_nbi
#define nvshmemrs_qp_ushort_put_nbi_warp nvshmemrs::device::Qp<unsigned short>::put_nbi_warp
#define nvshmemrs_qp_ushort_put_nbi_block nvshmemrs::device::Qp<unsigned short>::put_nbi_block
#define nvshmemrs_qp_ushort_get_nbi nvshmemrs::device::Qp<unsigned short>::get_nbi
#define nvshmemrs_qp_ushort_get_nbi_warp nvshmemrs::device::Qp<unsigned short>::get_nbi_warp
#define nvshmemrs_qp_ushort_get_nbi_block nvshmemrs::device::Qp<unsigned short>::get_nbi_block
#define nvshmemrs_qp_ushort_put_signal nvshmemrs::device::Qp<unsigned short>::put_signal
#define nvshmemrs_qp_ushort_put_signal_warp nvshmemrs::device::Qp<unsigned short>::put_signal_warp
#define nvshmemrs_qp_ushort_put_signal_block nvshmemrs::device::Qp<unsigned short>::put_signal_block
#define nvshmemrs_qp_ushort_put_signal_nbi nvshmemrs::device::Qp<unsigned short>::put_signal_nbi
#define nvshmemrs_qp_ushort_put_signal_nbi_warp nvshmemrs::device::Qp<unsigned short>::put_signal_nbi_warp
#define nvshmemrs_qp_ushort_put_signal_nbi_block nvshmemrs::device::Qp<unsigned short>::put_signal_nbi_block
#define nvshmemrs_qp_uint_p nvshmemrs::device::Qp<unsigned int>::p
#define nvshmemrs_qp_uint_g nvshmemrs::device::Qp<unsigned int>::g
#define nvshmemrs_qp_uint_put nvshmemrs::device::Qp<unsigned int>::put
#define nvshmemrs_qp_uint_put_warp nvshmemrs::device::Qp<unsigned int>::put_warp
#define nvshmemrs_qp_uint_put_block nvshmemrs::device::Qp<unsigned int>::put_block
#define nvshmemrs_qp_uint_get nvshmemrs::device::Qp<unsigned int>::get
#define nvshmemrs_qp_uint_get_warp nvshmemrs::device::Qp<unsigned int>::get_warp
#define nvshmemrs_qp_uint_get_block nvshmemrs::device::Qp<unsigned int>::get_block
#define nvshmemrs_qp_uint_put_nbi nvshmemrs::device::Qp<unsigned int>::put_nbi
#define nvshmemrs_qp_uint_put_nbi_warp nvshmemrs::device::Qp<unsigned int>::put_nbi_warp
#define nvshmemrs_qp_uint_put_nbi_block nvshmemrs::device::Qp<unsigned int>::put_nbi_block
#define nvshmemrs_qp_uint_get_nbi nvshmemrs::device::Qp<unsigned int>::get_nbi
#define nvshmemrs_qp_uint_get_nbi_warp nvshmemrs::device::Qp<unsigned int>::get_nbi_warp
#define nvshmemrs_qp_uint_get_nbi_block nvshmemrs::device::Qp<unsigned int>::get_nbi_block
#define nvshmemrs_qp_uint_put_signal nvshmemrs::device::Qp<unsigned int>::put_signal
#define nvshmemrs_qp_uint_put_signal_warp nvshmemrs::device::Qp<unsigned int>::put_signal_warp
#define nvshmemrs_qp_uint_put_signal_block nvshmemrs::device::Qp<unsigned int>::put_signal_block
#define nvshmemrs_qp_uint_put_signal_nbi nvshmemrs::device::Qp<unsigned int>::put_signal_nbi
#define nvshmemrs_qp_uint_put_signal_nbi_warp nvshmemrs::device::Qp<unsigned int>::put_signal_nbi_warp
#define nvshmemrs_qp_uint_put_signal_nbi_block nvshmemrs::device::Qp<unsigned int>::put_signal_nbi_block
#define nvshmemrs_qp_ulong_p nvshmemrs::device::Qp<unsigned long>::p
#define nvshmemrs_qp_ulong_g nvshmemrs::device::Qp<unsigned long>::g
#define nvshmemrs_qp_ulong_put nvshmemrs::device::Qp<unsigned long>::put
#define nvshmemrs_qp_ulong_put_warp nvshmemrs::device::Qp<unsigned long>::put_warp
#define nvshmemrs_qp_ulong_put_block nvshmemrs::device::Qp<unsigned long>::put_block
#define nvshmemrs_qp_ulong_get nvshmemrs::device::Qp<unsigned long>::get
#define nvshmemrs_qp_ulong_get_warp nvshmemrs::device::Qp<unsigned long>::get_warp
#define nvshmemrs_qp_ulong_get_block nvshmemrs::device::Qp<unsigned long>::get_block
#define nvshmemrs_qp_ulong_put_nbi nvshmemrs::device::Qp<unsigned long>::put_nbi
#define nvshmemrs_qp_ulong_put_nbi_warp nvshmemrs::device::Qp<unsigned long>::put_nbi_warp
#define nvshmemrs_qp_ulong_put_nbi_block nvshmemrs::device::Qp<unsigned long>::put_nbi_block
#define nvshmemrs_qp_ulong_get_nbi nvshmemrs::device::Qp<unsigned long>::get_nbi
#define nvshmemrs_qp_ulong_get_nbi_warp nvshmemrs::device::Qp<unsigned long>::get_nbi_warp
#define nvshmemrs_qp_ulong_get_nbi_block nvshmemrs::device::Qp<unsigned long>::get_nbi_block
#define nvshmemrs_qp_ulong_put_signal nvshmemrs::device::Qp<unsigned long>::put_signal
#define nvshmemrs_qp_ulong_put_signal_warp nvshmemrs::device::Qp<unsigned long>::put_signal_warp
#define nvshmemrs_qp_ulong_put_signal_block nvshmemrs::device::Qp<unsigned long>::put_signal_block
#define nvshmemrs_qp_ulong_put_signal_nbi nvshmemrs::device::Qp<unsigned long>::put_signal_nbi
#define nvshmemrs_qp_ulong_put_signal_nbi_warp nvshmemrs::device::Qp<unsigned long>::put_signal_nbi_warp
#define nvshmemrs_qp_ulong_put_signal_nbi_block nvshmemrs::device::Qp<unsigned long>::put_signal_nbi_block
#define nvshmemrs_qp_ulonglong_p nvshmemrs::device::Qp<unsigned long long>::p
#define nvshmemrs_qp_ulonglong_g nvshmemrs::device::Qp<unsigned long long>::g
#define nvshmemrs_qp_ulonglong_put nvshmemrs::device::Qp<unsigned long long>::put
#define nvshmemrs_qp_ulonglong_put_warp nvshmemrs::device::Qp<unsigned long long>::put_warp
#define nvshmemrs_qp_ulonglong_put_block nvshmemrs::device::Qp<unsigned long long>::put_block
#define nvshmemrs_qp_ulonglong_get nvshmemrs::device::Qp<unsigned long long>::get
#define nvshmemrs_qp_ulonglong_get_warp nvshmemrs::device::Qp<unsigned long long>::get_warp
#define nvshmemrs_qp_ulonglong_get_block nvshmemrs::device::Qp<unsigned long long>::get_block
#define nvshmemrs_qp_ulonglong_put_nbi nvshmemrs::device::Qp<unsigned long long>::put_nbi
#define nvshmemrs_qp_ulonglong_put_nbi_warp nvshmemrs::device::Qp<unsigned long long>::put_nbi_warp
#define nvshmemrs_qp_ulonglong_put_nbi_block nvshmemrs::device::Qp<unsigned long long>::put_nbi_block
#define nvshmemrs_qp_ulonglong_get_nbi nvshmemrs::device::Qp<unsigned long long>::get_nbi
#define nvshmemrs_qp_ulonglong_get_nbi_warp nvshmemrs::device::Qp<unsigned long long>::get_nbi_warp
#define nvshmemrs_qp_ulonglong_get_nbi_block nvshmemrs::device::Qp<unsigned long long>::get_nbi_block
#define nvshmemrs_qp_ulonglong_put_signal nvshmemrs::device::Qp<unsigned long long>::put_signal
#define nvshmemrs_qp_ulonglong_put_signal_warp nvshmemrs::device::Qp<unsigned long long>::put_signal_warp
#define nvshmemrs_qp_ulonglong_put_signal_block nvshmemrs::device::Qp<unsigned long long>::put_signal_block
#define nvshmemrs_qp_ulonglong_put_signal_nbi nvshmemrs::device::Qp<unsigned long long>::put_signal_nbi
#define nvshmemrs_qp_ulonglong_put_signal_nbi_warp nvshmemrs::device::Qp<unsigned long long>::put_signal_nbi_warp
#define nvshmemrs_qp_ulonglong_put_signal_nbi_block nvshmemrs::device::Qp<unsigned long long>::put_signal_nbi_block
#define nvshmemrs_qp_int8_p nvshmemrs::device::Qp<signed char>::p
#define nvshmemrs_qp_int8_g nvshmemrs::device::Qp<signed char>::g
#define nvshmemrs_qp_int8_put nvshmemrs::device::Qp<signed char>::put
#define nvshmemrs_qp_int8_put_warp nvshmemrs::device::Qp<signed char>::put_warp
#define nvshmemrs_qp_int8_put_block nvshmemrs::device::Qp<signed char>::put_block
#define nvshmemrs_qp_int8_get nvshmemrs::device::Qp<signed char>::get
#define nvshmemrs_qp_int8_get_warp nvshmemrs::device::Qp<signed char>::get_warp
#define nvshmemrs_qp_int8_get_block nvshmemrs::device::Qp<signed char>::get_block
#define nvshmemrs_qp_int8_put_nbi nvshmemrs::device::Qp<signed char>::put_nbi
#define nvshmemrs_qp_int8_put_nbi_warp nvshmemrs::device::Qp<signed char>::put_nbi_warp
#define nvshmemrs_qp_int8_put_nbi_block nvshmemrs::device::Qp<signed char>::put_nbi_block
#define nvshmemrs_qp_int8_get_nbi nvshmemrs::device::Qp<signed char>::get_nbi
#define nvshmemrs_qp_int8_get_nbi_warp nvshmemrs::device::Qp<signed char>::get_nbi_warp
#define nvshmemrs_qp_int8_get_nbi_block nvshmemrs::device::Qp<signed char>::get_nbi_block
#define nvshmemrs_qp_int8_put_signal nvshmemrs::device::Qp<signed char>::put_signal
#define nvshmemrs_qp_int8_put_signal_warp nvshmemrs::device::Qp<signed char>::put_signal_warp
#define nvshmemrs_qp_int8_put_signal_block nvshmemrs::device::Qp<signed char>::put_signal_block
#define nvshmemrs_qp_int8_put_signal_nbi nvshmemrs::device::Qp<signed char>::put_signal_nbi
#define nvshmemrs_qp_int8_put_signal_nbi_warp nvshmemrs::device::Qp<signed char>::put_signal_nbi_warp
#define nvshmemrs_qp_int8_put_signal_nbi_block nvshmemrs::device::Qp<signed char>::put_signal_nbi_block
#define nvshmemrs_qp_int16_p nvshmemrs::device::Qp<short>::p
#define nvshmemrs_qp_int16_g nvshmemrs::device::Qp<short>::g
#define nvshmemrs_qp_int16_put nvshmemrs::device::Qp<short>::put
#define nvshmemrs_qp_int16_put_warp nvshmemrs::device::Qp<short>::put_warp
#define nvshmemrs_qp_int16_put_block nvshmemrs::device::Qp<short>::put_block
#define nvshmemrs_qp_int16_get nvshmemrs::device::Qp<short>::get
#define nvshmemrs_qp_int16_get_warp nvshmemrs::device::Qp<short>::get_warp
#define nvshmemrs_qp_int16_get_block nvshmemrs::device::Qp<short>::get_block
#define nvshmemrs_qp_int16_put_nbi nvshmemrs::device::Qp<short>::put_nbi
#define nvshmemrs_qp_int16_put_nbi_warp nvshmemrs::device::Qp<short>::put_nbi_warp
#define nvshmemrs_qp_int16_put_nbi_block nvshmemrs::device::Qp<short>::put_nbi_block
#define nvshmemrs_qp_int16_get_nbi nvshmemrs::device::Qp<short>::get_nbi
#define nvshmemrs_qp_int16_get_nbi_warp nvshmemrs::device::Qp<short>::get_nbi_warp
#define nvshmemrs_qp_int16_get_nbi_block nvshmemrs::device::Qp<short>::get_nbi_block
#define nvshmemrs_qp_int16_put_signal nvshmemrs::device::Qp<short>::put_signal
#define nvshmemrs_qp_int16_put_signal_warp nvshmemrs::device::Qp<short>::put_signal_warp
#define nvshmemrs_qp_int16_put_signal_block nvshmemrs::device::Qp<short>::put_signal_block
#define nvshmemrs_qp_int16_put_signal_nbi nvshmemrs::device::Qp<short>::put_signal_nbi
#define nvshmemrs_qp_int16_put_signal_nbi_warp nvshmemrs::device::Qp<short>::put_signal_nbi_warp
#define nvshmemrs_qp_int16_put_signal_nbi_block nvshmemrs::device::Qp<short>::put_signal_nbi_block
#define nvshmemrs_qp_int32_p nvshmemrs::device::Qp<int>::p
#define nvshmemrs_qp_int32_g nvshmemrs::device::Qp<int>::g
#define nvshmemrs_qp_int32_put nvshmemrs::device::Qp<int>::put
#define nvshmemrs_qp_int32_put_warp nvshmemrs::device::Qp<int>::put_warp
#define nvshmemrs_qp_int32_put_block nvshmemrs::device::Qp<int>::put_block
#define nvshmemrs_qp_int32_get nvshmemrs::device::Qp<int>::get
#define nvshmemrs_qp_int32_get_warp nvshmemrs::device::Qp<int>::get_warp
#define nvshmemrs_qp_int32_get_block nvshmemrs::device::Qp<int>::get_block
#define nvshmemrs_qp_int32_put_nbi nvshmemrs::device::Qp<int>::put_nbi
#define nvshmemrs_qp_int32_put_nbi_warp nvshmemrs::device::Qp<int>::put_nbi_warp
#define nvshmemrs_qp_int32_put_nbi_block nvshmemrs::device::Qp<int>::put_nbi_block
#define nvshmemrs_qp_int32_get_nbi nvshmemrs::device::Qp<int>::get_nbi
#define nvshmemrs_qp_int32_get_nbi_warp nvshmemrs::device::Qp<int>::get_nbi_warp
#define nvshmemrs_qp_int32_get_nbi_block nvshmemrs::device::Qp<int>::get_nbi_block
#define nvshmemrs_qp_int32_put_signal nvshmemrs::device::Qp<int>::put_signal
#define nvshmemrs_qp_int32_put_signal_warp nvshmemrs::device::Qp<int>::put_signal_warp
#define nvshmemrs_qp_int32_put_signal_block nvshmemrs::device::Qp<int>::put_signal_block
#define nvshmemrs_qp_int32_put_signal_nbi nvshmemrs::device::Qp<int>::put_signal_nbi
#define nvshmemrs_qp_int32_put_signal_nbi_warp nvshmemrs::device::Qp<int>::put_signal_nbi_warp
#define nvshmemrs_qp_int32_put_signal_nbi_block nvshmemrs::device::Qp<int>::put_signal_nbi_block
#define nvshmemrs_qp_int64_p nvshmemrs::device::QpInt64::p
#define nvshmemrs_qp_int64_g nvshmemrs::device::QpInt64::g
#define nvshmemrs_qp_int64_put nvshmemrs::device::QpInt64::put
#define nvshmemrs_qp_int64_put_warp nvshmemrs::device::QpInt64::put_warp
#define nvshmemrs_qp_int64_put_block nvshmemrs::device::QpInt64::put_block
#define nvshmemrs_qp_int64_get nvshmemrs::device::QpInt64::get
#define nvshmemrs_qp_int64_get_warp nvshmemrs::device::QpInt64::get_warp
#define nvshmemrs_qp_int64_get_block nvshmemrs::device::QpInt64::get_block
#define nvshmemrs_qp_int64_put_nbi nvshmemrs::device::QpInt64::put_nbi
#define nvshmemrs_qp_int64_put_nbi_warp nvshmemrs::device::QpInt64::put_nbi_warp
#define nvshmemrs_qp_int64_put_nbi_block nvshmemrs::device::QpInt64::put_nbi_block
#define nvshmemrs_qp_int64_get_nbi nvshmemrs::device::QpInt64::get_nbi
#define nvshmemrs_qp_int64_get_nbi_warp nvshmemrs::device::QpInt64::get_nbi_warp
#define nvshmemrs_qp_int64_get_nbi_block nvshmemrs::device::QpInt64::get_nbi_block
#define nvshmemrs_qp_int64_put_signal nvshmemrs::device::QpInt64::put_signal
#define nvshmemrs_qp_int64_put_signal_warp nvshmemrs::device::QpInt64::put_signal_warp
#define nvshmemrs_qp_int64_put_signal_block nvshmemrs::device::QpInt64::put_signal_block
#define nvshmemrs_qp_int64_put_signal_nbi nvshmemrs::device::QpInt64::put_signal_nbi
#define nvshmemrs_qp_int64_put_signal_nbi_warp nvshmemrs::device::QpInt64::put_signal_nbi_warp
#define nvshmemrs_qp_int64_put_signal_nbi_block nvshmemrs::device::QpInt64::put_signal_nbi_block
#define nvshmemrs_qp_uint8_p nvshmemrs::device::Qp<unsigned char>::p
#define nvshmemrs_qp_uint8_g nvshmemrs::device::Qp<unsigned char>::g
#define nvshmemrs_qp_uint8_put nvshmemrs::device::Qp<unsigned char>::put
#define nvshmemrs_qp_uint8_put_warp nvshmemrs::device::Qp<unsigned char>::put_warp
#define nvshmemrs_qp_uint8_put_block nvshmemrs::device::Qp<unsigned char>::put_block
#define nvshmemrs_qp_uint8_get nvshmemrs::device::Qp<unsigned char>::get
#define nvshmemrs_qp_uint8_get_warp nvshmemrs::device::Qp<unsigned char>::get_warp
#define nvshmemrs_qp_uint8_get_block nvshmemrs::device::Qp<unsigned char>::get_block
#define nvshmemrs_qp_uint8_put_nbi nvshmemrs::device::Qp<unsigned char>::put_nbi
#define nvshmemrs_qp_uint8_put_nbi_warp nvshmemrs::device::Qp<unsigned char>::put_nbi_warp
#define nvshmemrs_qp_uint8_put_nbi_block nvshmemrs::device::Qp<unsigned char>::put_nbi_block
#define nvshmemrs_qp_uint8_get_nbi nvshmemrs::device::Qp<unsigned char>::get_nbi
#define nvshmemrs_qp_uint8_get_nbi_warp nvshmemrs::device::Qp<unsigned char>::get_nbi_warp
#define nvshmemrs_qp_uint8_get_nbi_block nvshmemrs::device::Qp<unsigned char>::get_nbi_block
#define nvshmemrs_qp_uint8_put_signal nvshmemrs::device::Qp<unsigned char>::put_signal
#define nvshmemrs_qp_uint8_put_signal_warp nvshmemrs::device::Qp<unsigned char>::put_signal_warp
#define nvshmemrs_qp_uint8_put_signal_block nvshmemrs::device::Qp<unsigned char>::put_signal_block
#define nvshmemrs_qp_uint8_put_signal_nbi nvshmemrs::device::Qp<unsigned char>::put_signal_nbi
#define nvshmemrs_qp_uint8_put_signal_nbi_warp nvshmemrs::device::Qp<unsigned char>::put_signal_nbi_warp
#define nvshmemrs_qp_uint8_put_signal_nbi_block nvshmemrs::device::Qp<unsigned char>::put_signal_nbi_block
#define nvshmemrs_qp_uint16_p nvshmemrs::device::Qp<unsigned short>::p
#define nvshmemrs_qp_uint16_g nvshmemrs::device::Qp<unsigned short>::g
#define nvshmemrs_qp_uint16_put nvshmemrs::device::Qp<unsigned short>::put
#define nvshmemrs_qp_uint16_put_warp nvshmemrs::device::Qp<unsigned short>::put_warp
#define nvshmemrs_qp_uint16_put_block nvshmemrs::device::Qp<unsigned short>::put_block
#define nvshmemrs_qp_uint16_get nvshmemrs::device::Qp<unsigned short>::get
#define nvshmemrs_qp_uint16_get_warp nvshmemrs::device::Qp<unsigned short>::get_warp
#define nvshmemrs_qp_uint16_get_block nvshmemrs::device::Qp<unsigned short>::get_block
#define nvshmemrs_qp_uint16_put_nbi nvshmemrs::device::Qp<unsigned short>::put_nbi
#define nvshmemrs_qp_uint16_put_nbi_warp nvshmemrs::device::Qp<unsigned short>::put_nbi_warp
#define nvshmemrs_qp_uint16_put_nbi_block nvshmemrs::device::Qp<unsigned short>::put_nbi_block
#define nvshmemrs_qp_uint16_get_nbi nvshmemrs::device::Qp<unsigned short>::get_nbi
#define nvshmemrs_qp_uint16_get_nbi_warp nvshmemrs::device::Qp<unsigned short>::get_nbi_warp
#define nvshmemrs_qp_uint16_get_nbi_block nvshmemrs::device::Qp<unsigned short>::get_nbi_block
#define nvshmemrs_qp_uint16_put_signal nvshmemrs::device::Qp<unsigned short>::put_signal
#define nvshmemrs_qp_uint16_put_signal_warp nvshmemrs::device::Qp<unsigned short>::put_signal_warp
#define nvshmemrs_qp_uint16_put_signal_block nvshmemrs::device::Qp<unsigned short>::put_signal_block
#define nvshmemrs_qp_uint16_put_signal_nbi nvshmemrs::device::Qp<unsigned short>::put_signal_nbi
#define nvshmemrs_qp_uint16_put_signal_nbi_warp nvshmemrs::device::Qp<unsigned short>::put_signal_nbi_warp
#define nvshmemrs_qp_uint16_put_signal_nbi_block nvshmemrs::device::Qp<unsigned short>::put_signal_nbi_block
#define nvshmemrs_qp_uint32_p nvshmemrs::device::Qp<unsigned int>::p
#define nvshmemrs_qp_uint32_g nvshmemrs::device::Qp<unsigned int>::g
#define nvshmemrs_qp_uint32_put nvshmemrs::device::Qp<unsigned int>::put
#define nvshmemrs_qp_uint32_put_warp nvshmemrs::device::Qp<unsigned int>::put_warp
#define nvshmemrs_qp_uint32_put_block nvshmemrs::device::Qp<unsigned int>::put_block
#define nvshmemrs_qp_uint32_get nvshmemrs::device::Qp<unsigned int>::get
#define nvshmemrs_qp_uint32_get_warp nvshmemrs::device::Qp<unsigned int>::get_warp
#define nvshmemrs_qp_uint32_get_block nvshmemrs::device::Qp<unsigned int>::get_block
#define nvshmemrs_qp_uint32_put_nbi nvshmemrs::device::Qp<unsigned int>::put_nbi
#define nvshmemrs_qp_uint32_put_nbi_warp nvshmemrs::device::Qp<unsigned int>::put_nbi_warp
#define nvshmemrs_qp_uint32_put_nbi_block nvshmemrs::device::Qp<unsigned int>::put_nbi_block
#define nvshmemrs_qp_uint32_get_nbi nvshmemrs::device::Qp<unsigned int>::get_nbi
#define nvshmemrs_qp_uint32_get_nbi_warp nvshmemrs::device::Qp<unsigned int>::get_nbi_warp
#define nvshmemrs_qp_uint32_get_nbi_block nvshmemrs::device::Qp<unsigned int>::get_nbi_block
#define nvshmemrs_qp_uint32_put_signal nvshmemrs::device::Qp<unsigned int>::put_signal
#define nvshmemrs_qp_uint32_put_signal_warp nvshmemrs::device::Qp<unsigned int>::put_signal_warp
#define nvshmemrs_qp_uint32_put_signal_block nvshmemrs::device::Qp<unsigned int>::put_signal_block
#define nvshmemrs_qp_uint32_put_signal_nbi nvshmemrs::device::Qp<unsigned int>::put_signal_nbi
#define nvshmemrs_qp_uint32_put_signal_nbi_warp nvshmemrs::device::Qp<unsigned int>::put_signal_nbi_warp
#define nvshmemrs_qp_uint32_put_signal_nbi_block nvshmemrs::device::Qp<unsigned int>::put_signal_nbi_block
#define nvshmemrs_qp_uint64_p nvshmemrs::device::QpUint64::p
#define nvshmemrs_qp_uint64_g nvshmemrs::device::QpUint64::g
#define nvshmemrs_qp_uint64_put nvshmemrs::device::QpUint64::put
#define nvshmemrs_qp_uint64_put_warp nvshmemrs::device::QpUint64::put_warp
#define nvshmemrs_qp_uint64_put_block nvshmemrs::device::QpUint64::put_block
#define nvshmemrs_qp_uint64_get nvshmemrs::device::QpUint64::get
#define nvshmemrs_qp_uint64_get_warp nvshmemrs::device::QpUint64::get_warp
#define nvshmemrs_qp_uint64_get_block nvshmemrs::device::QpUint64::get_block
#define nvshmemrs_qp_uint64_put_nbi nvshmemrs::device::QpUint64::put_nbi
#define nvshmemrs_qp_uint64_put_nbi_warp nvshmemrs::device::QpUint64::put_nbi_warp
#define nvshmemrs_qp_uint64_put_nbi_block nvshmemrs::device::QpUint64::put_nbi_block
#define nvshmemrs_qp_uint64_get_nbi nvshmemrs::device::QpUint64::get_nbi
#define nvshmemrs_qp_uint64_get_nbi_warp nvshmemrs::device::QpUint64::get_nbi_warp
#define nvshmemrs_qp_uint64_get_nbi_block nvshmemrs::device::QpUint64::get_nbi_block
#define nvshmemrs_qp_uint64_put_signal nvshmemrs::device::QpUint64::put_signal
#define nvshmemrs_qp_uint64_put_signal_warp nvshmemrs::device::QpUint64::put_signal_warp
#define nvshmemrs_qp_uint64_put_signal_block nvshmemrs::device::QpUint64::put_signal_block
#define nvshmemrs_qp_uint64_put_signal_nbi nvshmemrs::device::QpUint64::put_signal_nbi
#define nvshmemrs_qp_uint64_put_signal_nbi_warp nvshmemrs::device::QpUint64::put_signal_nbi_warp
#define nvshmemrs_qp_uint64_put_signal_nbi_block nvshmemrs::device::QpUint64::put_signal_nbi_block
#define nvshmemrs_qp_size_p nvshmemrs::device::Qp<unsigned long>::p
#define nvshmemrs_qp_size_g nvshmemrs::device::Qp<unsigned long>::g
#define nvshmemrs_qp_size_put nvshmemrs::device::Qp<unsigned long>::put
#define nvshmemrs_qp_size_put_warp nvshmemrs::device::Qp<unsigned long>::put_warp
#define nvshmemrs_qp_size_put_block nvshmemrs::device::Qp<unsigned long>::put_block
#define nvshmemrs_qp_size_get nvshmemrs::device::Qp<unsigned long>::get
#define nvshmemrs_qp_size_get_warp nvshmemrs::device::Qp<unsigned long>::get_warp
#define nvshmemrs_qp_size_get_block nvshmemrs::device::Qp<unsigned long>::get_block
#define nvshmemrs_qp_size_put_nbi nvshmemrs::device::Qp<unsigned long>::put_nbi
#define nvshmemrs_qp_size_put_nbi_warp nvshmemrs::device::Qp<unsigned long>::put_nbi_warp
#define nvshmemrs_qp_size_put_nbi_block nvshmemrs::device::Qp<unsigned long>::put_nbi_block
#define nvshmemrs_qp_size_get_nbi nvshmemrs::device::Qp<unsigned long>::get_nbi
#define nvshmemrs_qp_size_get_nbi_warp nvshmemrs::device::Qp<unsigned long>::get_nbi_warp
#define nvshmemrs_qp_size_get_nbi_block nvshmemrs::device::Qp<unsigned long>::get_nbi_block
#define nvshmemrs_qp_size_put_signal nvshmemrs::device::Qp<unsigned long>::put_signal
#define nvshmemrs_qp_size_put_signal_warp nvshmemrs::device::Qp<unsigned long>::put_signal_warp
#define nvshmemrs_qp_size_put_signal_block nvshmemrs::device::Qp<unsigned long>::put_signal_block
#define nvshmemrs_qp_size_put_signal_nbi nvshmemrs::device::Qp<unsigned long>::put_signal_nbi
#define nvshmemrs_qp_size_put_signal_nbi_warp nvshmemrs::device::Qp<unsigned long>::put_signal_nbi_warp
#define nvshmemrs_qp_size_put_signal_nbi_block nvshmemrs::device::Qp<unsigned long>::put_signal_nbi_block
#define nvshmemrs_qp_ptrdiff_p nvshmemrs::device::Qp<long>::p
#define nvshmemrs_qp_ptrdiff_g nvshmemrs::device::Qp<long>::g
#define nvshmemrs_qp_ptrdiff_put nvshmemrs::device::Qp<long>::put
#define nvshmemrs_qp_ptrdiff_put_warp nvshmemrs::device::Qp<long>::put_warp
#define nvshmemrs_qp_ptrdiff_put_block nvshmemrs::device::Qp<long>::put_block
#define nvshmemrs_qp_ptrdiff_get nvshmemrs::device::Qp<long>::get
#define nvshmemrs_qp_ptrdiff_get_warp nvshmemrs::device::Qp<long>::get_warp
#define nvshmemrs_qp_ptrdiff_get_block nvshmemrs::device::Qp<long>::get_block
#define nvshmemrs_qp_ptrdiff_put_nbi nvshmemrs::device::Qp<long>::put_nbi
#define nvshmemrs_qp_ptrdiff_put_nbi_warp nvshmemrs::device::Qp<long>::put_nbi_warp
#define nvshmemrs_qp_ptrdiff_put_nbi_block nvshmemrs::device::Qp<long>::put_nbi_block
#define nvshmemrs_qp_ptrdiff_get_nbi nvshmemrs::device::Qp<long>::get_nbi
#define nvshmemrs_qp_ptrdiff_get_nbi_warp nvshmemrs::device::Qp<long>::get_nbi_warp
#define nvshmemrs_qp_ptrdiff_get_nbi_block nvshmemrs::device::Qp<long>::get_nbi_block
#define nvshmemrs_qp_ptrdiff_put_signal nvshmemrs::device::Qp<long>::put_signal
#define nvshmemrs_qp_ptrdiff_put_signal_warp nvshmemrs::device::Qp<long>::put_signal_warp
#define nvshmemrs_qp_ptrdiff_put_signal_block nvshmemrs::device::Qp<long>::put_signal_block
#define nvshmemrs_qp_ptrdiff_put_signal_nbi nvshmemrs::device::Qp<long>::put_signal_nbi
#define nvshmemrs_qp_ptrdiff_put_signal_nbi_warp nvshmemrs::device::Qp<long>::put_signal_nbi_warp
#define nvshmemrs_qp_ptrdiff_put_signal_nbi_block nvshmemrs::device::Qp<long>::put_signal_nbi_block

#endif
