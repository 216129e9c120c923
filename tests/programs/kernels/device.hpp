// A GPU on the host, for the kernels of core/crates/cuda/src/kernels: CUDA's extensions of the language, the functions of ptx.cuh, and the
// accesses that nvshmemrs_device.cuh has no code of its own for on a host.
//
// A block is a thread of the process, and its threads are coroutines, which are run in an order drawn by lot and change places
// wherever a kernel meets or polls. So blocks really run at the same time, and a kernel that loses an update or waits for
// something that never comes fails here. Accesses are sequentially consistent, so bugs that only a weaker order shows are not found.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <math.h>
#include <memory>
#include <mutex>
#include <random>
#include <sched.h>
#include <setjmp.h>
#include <thread>
#include <ucontext.h>
#include <unistd.h>
#include <vector>

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;

namespace device {

struct Dim {
    u32 x = 1, y = 1, z = 1;
};

struct Block;

// A thread of a block.
struct Fiber {
    Dim thread;
    Block *block;
    // Where it goes on; the first time at the start of its stack. Jumps, unlike swapcontext, make no system call.
    jmp_buf place;
    ucontext_t context;
    std::unique_ptr<char[]> stack;
    bool started = false, waits = false, done = false;
};

struct Warp {
    u32 arrived = 0, votes = 0, result = 0, round = 0;
};

struct Block {
    Dim index, dim, grid;
    std::vector<std::unique_ptr<Fiber>> fibers;
    std::vector<Warp> warps;
    const std::function<void()> *body;
    jmp_buf scheduler;
    std::minstd_rand random;
    bool any = false, any_before = false;
};

inline thread_local Fiber *here = nullptr;
// Whether a kernel on this thread of the process has looked at memory that others write: then they should have their turn.
inline thread_local bool polled = false;
// How often kernels have looked at memory that others write.
inline std::atomic<u64> loads{0};

static constexpr size_t STACK = 64 << 10;

// Threads that have run, to run again, because making them anew costs more than most kernels.
inline std::mutex idle_lock;
inline std::vector<std::unique_ptr<Fiber>> idle;

// Another thread's turn.
__attribute__((noinline)) inline void yield() {
    Fiber *fiber = here;
    // A kernel whose threads have nothing to do with each other.
    if (!fiber->started) return;
    if (_setjmp(fiber->place) == 0) _longjmp(fiber->block->scheduler, 1);
}

// A thread's turn, until it yields.
__attribute__((noinline)) inline void resume(Fiber *fiber) {
    here = fiber;
    if (_setjmp(fiber->block->scheduler) != 0) return;
    if (fiber->started) _longjmp(fiber->place, 1);
    fiber->started = true;
    setcontext(&fiber->context);
}

inline bool barrier(bool vote) {
    Block &block = *here->block;
    block.any |= vote;
    here->waits = true;
    while (here->waits) yield();
    return block.any_before;
}

// The body of a fiber, for one block after the other; different threads of the process may run the blocks.
inline void start() {
    Fiber *self = here;
    for (;;) {
        (*self->block->body)();
        self->done = true;
        yield();
    }
}

inline std::unique_ptr<Fiber> make() {
    auto fiber = std::make_unique<Fiber>();
    fiber->stack.reset(new char[STACK]);
    getcontext(&fiber->context);
    fiber->context.uc_stack.ss_sp = fiber->stack.get();
    fiber->context.uc_stack.ss_size = STACK;
    fiber->context.uc_link = nullptr;
    makecontext(&fiber->context, start, 0);
    return fiber;
}

// The threads of a block.
inline void take(Block &block) {
    std::lock_guard<std::mutex> lock(idle_lock);
    for (u32 thread = 0; thread < block.dim.x; thread++) {
        if (idle.empty()) idle.push_back(make());
        auto fiber = std::move(idle.back());
        idle.pop_back();
        fiber->thread = {thread, 0, 0};
        fiber->block = &block;
        fiber->waits = fiber->done = false;
        block.fibers.push_back(std::move(fiber));
    }
}

inline void give(Block &block) {
    std::lock_guard<std::mutex> lock(idle_lock);
    for (auto &fiber : block.fibers) idle.push_back(std::move(fiber));
}

// Runs the threads of a block until all are done.
inline void run(Block &block) {
    for (size_t left = block.fibers.size(), polls = 0; left > 0;) {
        std::shuffle(block.fibers.begin(), block.fibers.end(), block.random);
        size_t waiting = 0;
        for (auto &fiber : block.fibers) {
            if (fiber->done) continue;
            if (!fiber->waits) {
                resume(fiber.get());
                if (fiber->done) left--;
            }
            if (!fiber->done && fiber->waits) waiting++;
        }
        if (waiting == left) {
            block.any_before = block.any;
            block.any = false;
            for (auto &fiber : block.fibers) fiber->waits = false;
        }
        // A thread that polls yields: the other threads get the core first, and time after that.
        polls = polled ? polls + 1 : 0;
        if (polls > 20) usleep(20);
        else if (polled) sched_yield();
        polled = false;
    }
}

inline void run_block(u32 index, u32 grid, u32 threads, u32 seed, const std::function<void()> &body) {
    Block block;
    block.index = {index, 0, 0};
    block.dim = {threads};
    block.grid = {grid};
    block.warps.resize((threads + 31) / 32);
    block.body = &body;
    block.random.seed(seed * 1000 + index + 1);
    take(block);
    run(block);
    give(block);
}

// Runs a kernel whose threads have nothing to do with each other.
inline void launch_apart(u32 grid, u32 threads, const std::function<void()> &body) {
    Block block;
    block.dim = {threads};
    block.grid = {grid};
    Fiber fiber;
    fiber.block = &block;
    here = &fiber;
    for (block.index.x = 0; block.index.x < grid; block.index.x++)
        for (fiber.thread.x = 0; fiber.thread.x < threads; fiber.thread.x++) body();
}

// Runs a kernel, and returns when it is over.
inline void launch(u32 grid, u32 threads, u32 seed, const std::function<void()> &body) {
    if (grid == 1) return run_block(0, grid, threads, seed, body);
    std::vector<std::thread> blocks;
    for (u32 index = 0; index < grid; index++)
        blocks.emplace_back([=, &body] { run_block(index, grid, threads, seed, body); });
    for (auto &block : blocks) block.join();
}

inline u32 ballot(bool vote) {
    u32 number = here->thread.x;
    Warp &warp = here->block->warps[number / 32];
    u32 round = warp.round;
    warp.votes |= (u32)vote << number % 32;
    if (++warp.arrived == 32) {
        warp.result = warp.votes;
        warp.votes = warp.arrived = 0;
        warp.round++;
    }
    while (warp.round == round) yield();
    return warp.result;
}

template <class T>
T bits(const void *from) {
    T value;
    memcpy(&value, from, sizeof value);
    return value;
}

} // namespace device

#define __device__
#define __global__
#define __host__
#define __forceinline__ inline
#define __noinline__
#define __grid_constant__
#define __launch_bounds__(...)
// A block is a thread of its own.
#define __shared__ static thread_local
#define KERNEL [[maybe_unused]] static void
#define DEVICE static inline
#define DEVICE_METHOD inline

#define threadIdx (::device::here->thread)
#define blockIdx (::device::here->block->index)
#define blockDim (::device::here->block->dim)
#define gridDim (::device::here->block->grid)

static thread_local u64 parts[256];

// NVRTC declares functions of its own in the global namespace, and the compiler prefers them to templates: those of <math.h>, and these.
// Minimum and maximum drop a NaN.
#define BUILT_IN(T)                                                                \
    [[maybe_unused]] DEVICE T min(T a, T b) { return a < b || b != b ? a : b; }   \
    [[maybe_unused]] DEVICE T max(T a, T b) { return a > b || b != b ? a : b; }
BUILT_IN(i32)
BUILT_IN(u32)
BUILT_IN(long)
BUILT_IN(unsigned long)
BUILT_IN(i64)
BUILT_IN(u64)
BUILT_IN(float)
BUILT_IN(double)
[[maybe_unused]] DEVICE u32 umin(u32 a, u32 b) { return min(a, b); }
[[maybe_unused]] DEVICE u32 umax(u32 a, u32 b) { return max(a, b); }
[[maybe_unused]] DEVICE i64 llmin(i64 a, i64 b) { return min(a, b); }
[[maybe_unused]] DEVICE i64 llmax(i64 a, i64 b) { return max(a, b); }
[[maybe_unused]] DEVICE u64 ullmin(u64 a, u64 b) { return min(a, b); }
[[maybe_unused]] DEVICE u64 ullmax(u64 a, u64 b) { return max(a, b); }
[[maybe_unused]] DEVICE bool any(bool vote) { return vote; }
[[maybe_unused]] DEVICE bool all(bool vote) { return vote; }
[[maybe_unused]] DEVICE i64 clock64() { return 0; }

DEVICE void __syncthreads() { device::barrier(false); }
DEVICE bool __syncthreads_or(bool vote) { return device::barrier(vote); }
DEVICE void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
DEVICE void __syncwarp() { abort(); }
DEVICE u32 __ballot_sync(u32, bool vote) { return device::ballot(vote); }
DEVICE bool __any_sync(u32, bool vote) { return device::ballot(vote) != 0; }
DEVICE u32 __popc(u32 bits) { return __builtin_popcount(bits); }
DEVICE u32 __float_as_uint(float value) { return device::bits<u32>(&value); }
DEVICE float __uint_as_float(u32 value) { return device::bits<float>(&value); }
DEVICE i64 __double_as_longlong(double value) { return device::bits<i64>(&value); }
DEVICE double __longlong_as_double(i64 value) { return device::bits<double>(&value); }
DEVICE u64 atomicMin(u64 *at, u64 value) {
    u64 old = *at;
    if (value < old) *at = value;
    return old;
}

// The primitives that nvshmemrs_device.cuh builds on.
namespace nvshmemrs {
namespace device {

template <class T> T read(u64 at) { return *(const T *)at; }
template <class T> void write(u64 at, T value) { *(T *)at = value; }
inline void prefetch(u64) {}

template <class T> T load(const T *at) {
    ::device::yield();
    ::device::loads.fetch_add(1, std::memory_order_relaxed);
    ::device::polled = true;
    return __atomic_load_n(at, __ATOMIC_SEQ_CST);
}
template <class T> T load_relaxed(const T *at) { return load(at); }
template <class T> T load_acquire(const T *at) { return load(at); }
template <class T> void store_relaxed(T *at, T value) { __atomic_store_n(at, value, __ATOMIC_SEQ_CST); }
template <class T> void store_release(T *at, T value) { __atomic_store_n(at, value, __ATOMIC_SEQ_CST); }
inline void fence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void full_fence() { fence(); }

template <class T> T fetch_swap(T *at, T value) { return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST); }
template <class T> T compare_swap(T *at, T cond, T value) {
    __atomic_compare_exchange_n(at, &cond, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return cond;
}
#define ATOMIC_OF_HOST(NAME)                                                                               \
    template <class T> T fetch_##NAME(T *at, T value) { return __atomic_fetch_##NAME(at, value, __ATOMIC_SEQ_CST); } \
    template <class T> void apply_##NAME(T *at, T value) { fetch_##NAME(at, value); }
ATOMIC_OF_HOST(add)
ATOMIC_OF_HOST(and)
ATOMIC_OF_HOST(or)
ATOMIC_OF_HOST(xor)
#undef ATOMIC_OF_HOST
inline void add_relaxed(u64 *at, u64 value) { fetch_add(at, value); }

template <class To, class From> To bits(const From &from) {
    static_assert(sizeof(To) == sizeof(From), "as many bits");
    To to;
    memcpy((void *)&to, (const void *)&from, sizeof to);
    return to;
}
inline double fetch_add(double *at, double value) {
    for (u64 old = load_relaxed((u64 *)at);;) {
        u64 seen = compare_swap((u64 *)at, old, bits<u64>(bits<double>(old) + value));
        if (seen == old) return bits<double>(old);
        old = seen;
    }
}
inline void apply_add(double *at, double value) { fetch_add(at, value); }

inline float half_to_float(u16 half) {
    u32 sign = (u32)(half & 0x8000) << 16, exponent = half >> 10 & 31, fraction = half & 0x3ff;
    // A subnormal number is its fraction times the smallest one.
    float value = exponent == 0 ? fraction * 0x1p-24f : bits<float>((exponent == 31 ? 0xff : exponent + 112) << 23 | fraction << 13);
    return bits<float>(sign | bits<u32>(value));
}
// Rounds to the nearest, of two the even one; not for NaN.
inline u16 float_to_half(float value) {
    u32 word = bits<u32>(value), magnitude = word & 0x7fffffff;
    u16 sign = word >> 16 & 0x8000;
    if (magnitude >= 0x47800000) return sign | 0x7c00;
    // The sum's last bit is the smallest half, so the addition rounds.
    if (magnitude < 0x38800000) return sign | (u16)(bits<u32>(bits<float>(magnitude) + 0.5f) - 0x3f000000);
    u32 rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
    return sign | (u16)((rounded - 0x38000000) >> 13);
}
inline u64 clock() { return 0; }
// The library's kernels have no groups but blocks.
inline void meet_warpgroup(u32) { abort(); }
inline bool any_of_warpgroup(u32, bool) { abort(); }
[[noreturn]] inline void stop(bool = false) { abort(); }

} // namespace device
} // namespace nvshmemrs

#define NVSHMEMRS_DEVICE_HOST
// The tests take the addresses of the library's kernels, which the header's functions of these names would make ambiguous.
#define nvshmemrs_fence nvshmemrs_fence_of_header
#define nvshmemrs_quiet nvshmemrs_quiet_of_header
#define nvshmemrs_barrier nvshmemrs_barrier_of_header
#include "../../../include/nvshmemrs_device.cuh"
#undef nvshmemrs_fence
#undef nvshmemrs_quiet
#undef nvshmemrs_barrier

// The functions of ptx.cuh.

// Kernels run one after the other.
DEVICE void wait_for_previous_kernel() {}
DEVICE void launch_next_kernel() {}
DEVICE void follow_previous_kernel() {}
template <class T>
DEVICE void read_arguments(const T &) {}

DEVICE u64 load_gpu(u64 at) { return nvshmemrs::device::load((const u64 *)at); }
DEVICE u32 load_gpu_u32(u64 at) { return nvshmemrs::device::load((const u32 *)at); }
template <class W>
DEVICE void add_gpu(u64 at, W value) { __atomic_fetch_add((W *)at, value, __ATOMIC_SEQ_CST); }

struct Pair {
    u64 first;
    u64 second;
};

__extension__ typedef unsigned __int128 u128;

// Sixteen bytes at once, also for other processes.
#ifdef __x86_64__
__attribute__((target("cx16")))
#endif
inline u128 swap_pair_if(u64 at, u128 cond, u128 value) { return __sync_val_compare_and_swap((u128 *)at, cond, value); }

DEVICE Pair load_pair(u64 at) {
    device::yield();
    device::polled = true;
    u128 both = swap_pair_if(at, 0, 0);
    return {(u64)both, (u64)(both >> 64)};
}

DEVICE void store_pair(u64 at, u64 first, u64 second) {
    u128 both = (u128)second << 64 | first, old = 0, seen;
    while ((seen = swap_pair_if(at, old, both)) != old) old = seen;
}

template <class T>
DEVICE u32 add_pairs(u32 a, u32 b) {
    typedef nvshmemrs::device::Wide<T> Wide;
    u32 sums = 0;
    for (int shift = 0; shift < 32; shift += 16)
        sums |= (u32)Wide::narrow(Wide::widen({(u16)(a >> shift)}) + Wide::widen({(u16)(b >> shift)})).bits << shift;
    return sums;
}
