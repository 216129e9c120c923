// All that a host has not: what CUDA adds to the language, PTX for accesses with an order at `.sys` scope, and conversions.
// tests/programs/kernels/device.hpp has the same for the host.
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;

#define KERNEL extern "C" __global__ void
#define DEVICE static __device__ __forceinline__
#define DEVICE_METHOD __device__ __forceinline__

// Dynamic shared memory of a block: the addresses of the members' parts of symmetric memory.
extern __shared__ u64 parts[];

// Accesses.

DEVICE u64 load_relaxed(u64 at) {
    u64 value;
    asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
    return value;
}

DEVICE u64 load_acquire(u64 at) {
    u64 value;
    asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
    return value;
}

DEVICE u32 load_relaxed_u32(u64 at) {
    u32 value;
    asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
    return value;
}

DEVICE void store_relaxed_u32(u64 at, u32 value) {
    asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
}

DEVICE void store_relaxed(u64 at, u64 value) {
    asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(at), "l"(value) : "memory");
}

DEVICE u32 load_acquire_u32(u64 at) {
    u32 value;
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
    return value;
}

DEVICE u16 load_acquire_u16(u64 at) {
    u16 value;
    asm volatile("ld.acquire.sys.global.u16 %0, [%1];" : "=h"(value) : "l"(at) : "memory");
    return value;
}

DEVICE u8 load_acquire_u8(u64 at) {
    u32 value;
    asm volatile("ld.acquire.sys.global.u8 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
    return (u8)value;
}

DEVICE void store_release(u64 at, u64 value) {
    asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(at), "l"(value) : "memory");
}

DEVICE void store_release_u32(u64 at, u32 value) {
    asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
}

// Sixteen bytes that are never seen in part.
struct Pair {
    u64 first;
    u64 second;
};

DEVICE Pair load_pair(u64 at) {
    Pair pair;
    asm volatile("{ .reg .b128 both; ld.relaxed.sys.global.b128 both, [%2]; mov.b128 {%0, %1}, both; }"
                 : "=l"(pair.first), "=l"(pair.second)
                 : "l"(at)
                 : "memory");
    return pair;
}

DEVICE void store_pair(u64 at, u64 first, u64 second) {
    asm volatile("{ .reg .b128 both; mov.b128 both, {%1, %2}; st.relaxed.sys.global.b128 [%0], both; }" ::"l"(at),
                 "l"(first), "l"(second)
                 : "memory");
}

DEVICE void fence() {
    asm volatile("fence.acq_rel.sys;" ::: "memory");
}

DEVICE void full_fence() {
    asm volatile("fence.sc.sys;" ::: "memory");
}

// Atomic operations on a word; they give the old value.
#define ATOMIC(function, operation)                                                                                            \
    DEVICE u64 function(u64 at, u64 value) {                                                                                   \
        u64 old;                                                                                                               \
        asm volatile("atom.acq_rel.sys.global." operation "64 %0, [%1], %2;" : "=l"(old) : "l"(at), "l"(value) : "memory");      \
        return old;                                                                                                            \
    }                                                                                                                          \
    DEVICE u32 function(u64 at, u32 value) {                                                                                   \
        u32 old;                                                                                                               \
        asm volatile("atom.acq_rel.sys.global." operation "32 %0, [%1], %2;" : "=r"(old) : "l"(at), "r"(value) : "memory");      \
        return old;                                                                                                            \
    }

ATOMIC(swap, "exch.b")
ATOMIC(fetch_add, "add.u")
ATOMIC(fetch_and, "and.b")
ATOMIC(fetch_or, "or.b")
ATOMIC(fetch_xor, "xor.b")

DEVICE u64 swap_if(u64 at, u64 cond, u64 value) {
    u64 old;
    asm volatile("atom.acq_rel.sys.global.cas.b64 %0, [%1], %2, %3;"
                 : "=l"(old)
                 : "l"(at), "l"(cond), "l"(value)
                 : "memory");
    return old;
}

DEVICE u32 swap_if(u64 at, u32 cond, u32 value) {
    u32 old;
    asm volatile("atom.acq_rel.sys.global.cas.b32 %0, [%1], %2, %3;"
                 : "=r"(old)
                 : "l"(at), "r"(cond), "r"(value)
                 : "memory");
    return old;
}

DEVICE double fetch_add_double(u64 at, double value) {
    double old;
    asm volatile("atom.acq_rel.sys.global.add.f64 %0, [%1], %2;" : "=d"(old) : "l"(at), "d"(value) : "memory");
    return old;
}

DEVICE void add_release(u64 at, u64 value) {
    asm volatile("red.release.sys.global.add.u64 [%0], %1;" ::"l"(at), "l"(value) : "memory");
}

// Counts of this GPU's own, which order nothing.

DEVICE void add_gpu(u64 at, u32 value) {
    asm volatile("red.relaxed.gpu.global.add.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
}

DEVICE void add_gpu(u64 at, u64 value) {
    asm volatile("red.relaxed.gpu.global.add.u64 [%0], %1;" ::"l"(at), "l"(value) : "memory");
}

DEVICE u32 load_gpu_u32(u64 at) {
    u32 value;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
    return value;
}

DEVICE u64 load_gpu(u64 at) {
    u64 value;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
    return value;
}

DEVICE float half_to_float(u16 bits) {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
}

DEVICE u16 float_to_half(float value) {
    u16 bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}
