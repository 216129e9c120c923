// What neither a host nor include/nvshmemrs_device.cuh has: what CUDA adds to the language, and PTX that only the library's kernels need.
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

// The sums of two pairs of 16-bit floating-point numbers, rounded to nearest, ties to even.
template <class T> DEVICE u32 add_pairs(u32 a, u32 b);
template <> DEVICE_METHOD u32 add_pairs<nvshmemrs::device::Half>(u32 a, u32 b) {
    u32 sums;
    asm("add.rn.f16x2 %0, %1, %2;" : "=r"(sums) : "r"(a), "r"(b));
    return sums;
}
template <> DEVICE_METHOD u32 add_pairs<nvshmemrs::device::Bfloat16>(u32 a, u32 b) {
    // sm_80 has no addition of this type: the product with 1.0 is exact.
    u32 sums, ones = 0x3f803f80;
    asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(sums) : "r"(a), "r"(ones), "r"(b));
    return sums;
}

// Programmatic edges between kernels of a graph, from sm_90 on; elsewhere these do nothing. Every kernel begins by waiting for
// the previous kernel of its stream.

// Reads every line of a kernel's arguments, which are in other memory at each launch, so that they are in the multiprocessor's cache when the
// previous kernel has ended.
template <class T>
DEVICE void read_arguments(const T &arguments) {
    static constexpr u32 LINE = 64 / sizeof(u32), WORDS = sizeof(T) / sizeof(u32);
    __shared__ volatile u32 seen;
    const u32 *words = (const u32 *)&arguments;
    u32 all = words[WORDS - 1];
#pragma unroll
    for (u32 word = 0; word < WORDS; word += LINE) all ^= words[word];
    // The compiler would leave out loads whose values are not used.
    seen = all;
}

// A kernel may have been launched before the previous kernel has ended.
DEVICE void wait_for_previous_kernel() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Lets the next kernel be launched, once every block has called this or has ended. The next one's blocks hold registers and shared memory while
// they wait for this kernel, so a block calls it when it waits for no other GPU any more.
DEVICE void launch_next_kernel() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// The start of a kernel that waits for no other GPU: the next one may be launched at once.
DEVICE void follow_previous_kernel() {
    wait_for_previous_kernel();
    launch_next_kernel();
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
