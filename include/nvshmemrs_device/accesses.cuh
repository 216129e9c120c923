// Part of nvshmemrs_device.cuh: accesses to memory of this and of other PEs, and the types of words.
#pragma once

namespace nvshmemrs::device {

// The host's shim defines all functions of this section itself.
#ifndef NVSHMEMRS_DEVICE_HOST

// Plain accesses, without any order.
template <class T> NVSHMEMRS_I_DEVICE T read(u64 at) { return *(const T *)at; }
template <class T> NVSHMEMRS_I_DEVICE void write(u64 at, T value) { *(T *)at = value; }
NVSHMEMRS_I_DEVICE void prefetch(u64 at) { asm volatile("prefetch.global.L2 [%0];" ::"l"(at)); }

// Accesses to words that other PEs also access.
#define NVSHMEMRS_I_WORD(T, TYPE, C, REGISTER)                                                     \
    NVSHMEMRS_I_DEVICE T load_relaxed(const T *at) {                                               \
        REGISTER value;                                                                            \
        asm volatile("ld.relaxed.sys.global." TYPE " %0, [%1];" : "=" C(value) : "l"(at) : "memory"); \
        return (T)value;                                                                           \
    }                                                                                              \
    NVSHMEMRS_I_DEVICE T load_acquire(const T *at) {                                               \
        REGISTER value;                                                                            \
        asm volatile("ld.acquire.sys.global." TYPE " %0, [%1];" : "=" C(value) : "l"(at) : "memory"); \
        return (T)value;                                                                           \
    }                                                                                              \
    NVSHMEMRS_I_DEVICE void store_relaxed(T *at, T value) {                                        \
        asm volatile("st.relaxed.sys.global." TYPE " [%0], %1;" ::"l"(at), C((REGISTER)value) : "memory"); \
    }                                                                                              \
    NVSHMEMRS_I_DEVICE void store_release(T *at, T value) {                                        \
        asm volatile("st.release.sys.global." TYPE " [%0], %1;" ::"l"(at), C((REGISTER)value) : "memory"); \
    }
NVSHMEMRS_I_WORD(u8, "u8", "r", u32)
NVSHMEMRS_I_WORD(u16, "u16", "h", u16)
NVSHMEMRS_I_WORD(u32, "u32", "r", u32)
NVSHMEMRS_I_WORD(u64, "u64", "l", u64)

NVSHMEMRS_I_DEVICE void fence() { asm volatile("fence.acq_rel.sys;" ::: "memory"); }
NVSHMEMRS_I_DEVICE void full_fence() { asm volatile("fence.sc.sys;" ::: "memory"); }

// Read-modify-writes: functions that return the old value are acquire and release, `apply_` is a release.
#define NVSHMEMRS_I_ATOM(T, C, NAME, OPERATION)                                                                                     \
    NVSHMEMRS_I_DEVICE T fetch_##NAME(T *at, T value) {                                                                             \
        T old;                                                                                                                      \
        asm volatile("atom.acq_rel.sys.global." OPERATION " %0, [%1], %2;" : "=" C(old) : "l"(at), C(value) : "memory");            \
        return old;                                                                                                                 \
    }
#define NVSHMEMRS_I_RED(T, C, NAME, OPERATION)                                                                                      \
    NVSHMEMRS_I_ATOM(T, C, NAME, OPERATION)                                                                                         \
    NVSHMEMRS_I_DEVICE void apply_##NAME(T *at, T value) {                                                                          \
        asm volatile("red.release.sys.global." OPERATION " [%0], %1;" ::"l"(at), C(value) : "memory");                              \
    }
#define NVSHMEMRS_I_CAS(T, C, TYPE)                                                                                                 \
    NVSHMEMRS_I_DEVICE T compare_swap(T *at, T cond, T value) {                                                                     \
        T old;                                                                                                                      \
        asm volatile("atom.acq_rel.sys.global.cas." TYPE " %0, [%1], %2, %3;" : "=" C(old) : "l"(at), C(cond), C(value) : "memory"); \
        return old;                                                                                                                 \
    }
#define NVSHMEMRS_I_ATOMS(T, C, BITS)                                                                                               \
    NVSHMEMRS_I_ATOM(T, C, swap, "exch.b" BITS)                                                                                     \
    NVSHMEMRS_I_CAS(T, C, "b" BITS)                                                                                                 \
    NVSHMEMRS_I_RED(T, C, add, "add.u" BITS)                                                                                        \
    NVSHMEMRS_I_RED(T, C, and, "and.b" BITS)                                                                                        \
    NVSHMEMRS_I_RED(T, C, or, "or.b" BITS)                                                                                          \
    NVSHMEMRS_I_RED(T, C, xor, "xor.b" BITS)
NVSHMEMRS_I_ATOMS(u32, "r", "32")
NVSHMEMRS_I_ATOMS(u64, "l", "64")
NVSHMEMRS_I_CAS(u16, "h", "b16")
NVSHMEMRS_I_RED(double, "d", add, "add.f64")
NVSHMEMRS_I_DEVICE void add_relaxed(u64 *at, u64 value) { asm volatile("red.relaxed.sys.global.add.u64 [%0], %1;" ::"l"(at), "l"(value) : "memory"); }

// The same bits as another type of the same size.
template <class To, class From> NVSHMEMRS_I_DEVICE To bits(const From &from) { return *(const To *)&from; }

NVSHMEMRS_I_DEVICE float half_to_float(u16 bits) {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
}
NVSHMEMRS_I_DEVICE u16 float_to_half(float value) {
    u16 bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}
NVSHMEMRS_I_DEVICE u64 clock() { return (u64)clock64(); }
// Hardware barriers for 128 threads. Barrier 0 belongs to __syncthreads; barriers of CUTLASS begin at the low numbers.
NVSHMEMRS_I_DEVICE void meet_warpgroup(u32 barrier) { asm volatile("bar.sync %0, 128;" ::"r"(barrier) : "memory"); }
NVSHMEMRS_I_DEVICE bool any_of_warpgroup(u32 barrier, bool vote) {
    u32 result;
    asm volatile("{ .reg .pred p, q; setp.ne.u32 p, %2, 0; bar.red.or.pred q, %1, 128, p; selp.u32 %0, 1, 0, q; }"
                 : "=r"(result)
                 : "r"(barrier), "r"((u32)vote)
                 : "memory");
    return result != 0;
}
// Ends the kernel. Only the host's shim uses the argument, which says whether the host has a report.
[[noreturn]] NVSHMEMRS_I_DEVICE void stop(bool) {
    __trap();
    __builtin_unreachable();
}

// Operations of a multiprocessor's copy engines. `shared`: addresses in shared memory.
NVSHMEMRS_I_DEVICE bool is_global(u64 at) { return __isGlobal((const void *)at); }
#ifndef NVSHMEMRS_I_NO_BULK
NVSHMEMRS_I_DEVICE void bulk_begin(u32 barriers, u32 count) {
    for (u32 i = 0; i < count; i++) asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(barriers + i * 8) : "memory");
    // The engines see the barriers, the stores of this thread, and the stores that this thread has seen.
    asm volatile("fence.mbarrier_init.release.cluster;\nfence.proxy.async;" ::: "memory");
}
NVSHMEMRS_I_DEVICE void bulk_end(u32 barriers, u32 count) {
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    for (u32 i = 0; i < count; i++) asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(barriers + i * 8) : "memory");
}
NVSHMEMRS_I_DEVICE void bulk_load(u32 shared, u64 source, u32 bytes, u32 barrier) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared), "l"(source),
                 "r"(bytes), "r"(barrier)
                 : "memory");
}
NVSHMEMRS_I_DEVICE void bulk_await(u32 barrier, u32 parity) {
    u32 done = 0;
    while (!done)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "r"(barrier), "r"(parity)
                     : "memory");
}
NVSHMEMRS_I_DEVICE void bulk_store(u64 dest, u32 shared, u32 bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(dest), "r"(shared), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
// All stores but the latest have read their data.
NVSHMEMRS_I_DEVICE void bulk_await_reads() { asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory"); }
#endif
#endif

template <int SIZE> struct WordOf;
template <> struct WordOf<1> { typedef u8 type; };
template <> struct WordOf<2> { typedef u16 type; };
template <> struct WordOf<4> { typedef u32 type; };
template <> struct WordOf<8> { typedef u64 type; };
template <> struct WordOf<16> { typedef Bytes16 type; };
template <class T> using Word = typename WordOf<sizeof(T)>::type;
// A parameter from which no template type is deduced.
template <class T> struct Same { typedef T type; };
template <class A, class B> struct Is { static constexpr bool yes = false; };
template <class A> struct Is<A, A> { static constexpr bool yes = true; };

// The argument types of functions for narrow floating-point numbers: CUDA's type, or an integer of the same size.
template <int SIZE> struct SignedOf;
template <> struct SignedOf<1> { typedef i8 type; };
template <> struct SignedOf<2> { typedef i16 type; };
template <class H, class Own, class E> NVSHMEMRS_I_DEVICE void expect_narrow() {
    static_assert(Is<H, Own>::yes || Is<H, Word<E>>::yes || Is<H, typename SignedOf<sizeof(E)>::type>::yes,
                  "CUDA's type, or an integer of its size");
}

NVSHMEMRS_I_DEVICE u64 least(u64 a, u64 b) { return a < b ? a : b; }

} // namespace nvshmemrs::device
