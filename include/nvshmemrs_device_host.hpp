// Kernels without a GPU: nvshmemrs_device.cuh for a plain C++17 compiler, and what CUDA adds to the language.
//
// A program includes this in place of nvshmemrs_device.cuh, and its heap is in host memory:
//
//     __global__ void ring(nvshmemrs_device_state_t state, int *mine) { nvshmemrs_int_p(state, mine, ...); }
//     ...
//     nvshmemrs::host::launch(blocks, threads, [&] { ring(state, mine); });
//
// A block is a thread of the process, and its threads are coroutines, which run in an order drawn by lot and change places wherever they
// meet or look at memory that others write. Blocks really run at the same time. __shared__ variables are those of a block; there is no
// dynamic shared memory. `launch` returns when the kernel is over.
//
// With the options that `nvshmemrs::host::weak(state)` gives, plain stores to other PEs become visible there as late as CUDA's memory
// model allows, and reads take their time: so a kernel that lacks a fence or a meeting of its threads shows it.
//
// The compiler must not take one type's memory for another's less strictly than CUDA does: pass -fno-strict-aliasing.
#ifndef NVSHMEMRS_DEVICE_HOST_HPP
#define NVSHMEMRS_DEVICE_HOST_HPP

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <sched.h>
#include <setjmp.h>
#include <thread>
#include <ucontext.h>
#include <unistd.h>
#include <vector>

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
struct double2 {
    double x, y;
};

// glibc's own check of jumps takes those between coroutines for errors.
extern "C" [[noreturn]] void nvshmemrs_host_jump(jmp_buf, int) __asm__("_longjmp");

namespace nvshmemrs {
namespace host {

struct Range {
    uint64_t begin = 0, end = 0;
    bool has(uint64_t at) const { return at >= begin && at < end; }
};

struct Options {
    // Another order of the threads.
    uint32_t seed = 1;
    bool weak = false;
    // The heaps of all PEs, and this PE's own, in which a store is visible at once.
    Range heaps, own;
    // How long some of the reads take then.
    unsigned microseconds = 0;
};

struct Block;

// A plain store that others do not see yet.
struct Held {
    uint64_t number, at;
    unsigned size;
    bool done;
    unsigned char bytes[16];

    bool meets(uint64_t other, unsigned length) const { return !done && other < at + size && at < other + length; }

    void settle() {
        if (!done) memcpy((void *)at, bytes, size);
        done = true;
    }
};
typedef std::vector<std::shared_ptr<Held>> Stores;

// A thread of a block.
struct Fiber {
    dim3 thread{0, 0, 0};
    unsigned number;
    Block *block;
    // Where it goes on; the first time at the start of its stack.
    jmp_buf place;
    ucontext_t context;
    std::unique_ptr<char[]> stack;
    bool started = false, done = false;
    // Stores that it has made, or that were made before a meeting with it.
    Stores stores;
};

// Threads that meet: a warp or a block.
struct Meeting {
    std::vector<Fiber *> members;
    // How many have come, and how many are not over yet.
    size_t arrived = 0, expected = 0;
    uint64_t round = 0;
    // The threads' values, in this round and in the previous round.
    std::vector<uint64_t> brought, before;

    inline void complete();
};

struct Block {
    dim3 index{0, 0, 0}, dim, grid;
    Options options;
    // Whether a thread of any block has ended the kernel.
    std::atomic<bool> *stopped;
    std::vector<std::unique_ptr<Fiber>> fibers;
    Meeting all;
    std::vector<Meeting> warps, warpgroups;
    const std::function<void()> *body;
    jmp_buf scheduler;
    std::minstd_rand random;
    // Whether a thread has looked at memory that others write: then these should have their turn.
    bool polled = false;
    // Stores that were held back.
    uint64_t held = 0;
};

inline thread_local Fiber *here = nullptr;

enum : size_t { STACK = 256 << 10 };

// Another thread's turn.
__attribute__((noinline)) inline void yield() {
    Fiber *fiber = here;
    if (_setjmp(fiber->place) == 0) nvshmemrs_host_jump(fiber->block->scheduler, 1);
}

// A thread's turn, until it yields.
__attribute__((noinline)) inline void resume(Fiber *fiber) {
    here = fiber;
    if (_setjmp(fiber->block->scheduler) != 0) return;
    if (fiber->started) nvshmemrs_host_jump(fiber->place, 1);
    fiber->started = true;
    setcontext(&fiber->context);
}

inline void start() {
    Fiber *self = here;
    (*self->block->body)();
    self->done = true;
    yield();
}

// Ends the round if all have come. What one of them has stored comes before what any of them does next.
inline void Meeting::complete() {
    if (arrived == 0 || arrived < expected) return;
    Stores all;
    for (Fiber *member : members)
        for (auto &store : member->stores)
            if (!store->done) all.push_back(store);
    auto before_in_time = [](auto &a, auto &b) { return a->number < b->number; };
    std::sort(all.begin(), all.end(), before_in_time);
    all.erase(std::unique(all.begin(), all.end()), all.end());
    for (Fiber *member : members) member->stores = all;
    before = brought;
    std::fill(brought.begin(), brought.end(), 0);
    arrived = 0;
    round++;
}

// Waits until all threads of a group have come; gives what each has brought. Threads that are over are not waited for.
inline const std::vector<uint64_t> &meet(Meeting &meeting, unsigned rank, uint64_t value) {
    uint64_t round = meeting.round;
    meeting.brought[rank] = value;
    meeting.arrived++;
    meeting.complete();
    while (meeting.round == round) yield();
    return meeting.before;
}

inline const std::vector<uint64_t> &meet_block(uint64_t value) { return meet(here->block->all, here->number, value); }
inline const std::vector<uint64_t> &meet_warp(uint64_t value) {
    return meet(here->block->warps[here->number / 32], here->number % 32, value);
}
inline const std::vector<uint64_t> &meet_warpgroup(uint64_t value) {
    return meet(here->block->warpgroups[here->number / 128], here->number % 128, value);
}
inline unsigned ballot(bool vote) {
    unsigned votes = 0, bit = 0;
    for (uint64_t one : meet_warp(vote)) votes |= (unsigned)one << bit++;
    return votes;
}
// The value of a lane of the warp.
template <class T> T from_lane(T value, unsigned lane) {
    static_assert(sizeof(T) <= 8, "a value of up to eight bytes");
    uint64_t word = 0;
    memcpy(&word, &value, sizeof value);
    const std::vector<uint64_t> &words = meet_warp(word);
    if (lane < words.size()) memcpy(&value, &words[lane], sizeof value);
    return value;
}

// Everybody sees what this thread stored, and what was stored before its meetings.
inline void settle_all() {
    for (auto &store : here->stores) store->settle();
    here->stores.clear();
}
// Accesses of one thread to the same memory keep their order.
inline void settle(const void *at, unsigned size) {
    for (auto &store : here->stores)
        if (store->meets((uint64_t)at, size)) store->settle();
}

// After so many turns in a row in which a thread has looked for what others write: first the others get the core, then they get time.
inline void rest(size_t polls) {
    if (polls > 20) usleep(20);
    else if (polls > 0) sched_yield();
}

inline void run_block(Block &block) {
    unsigned count = block.dim.x * block.dim.y * block.dim.z;
    block.warps.resize((count + 31) / 32);
    block.warpgroups.resize((count + 127) / 128);
    for (unsigned number = 0; number < count; number++) {
        auto fiber = std::make_unique<Fiber>();
        fiber->number = number;
        fiber->thread = {number % block.dim.x, number / block.dim.x % block.dim.y, number / block.dim.x / block.dim.y};
        fiber->block = &block;
        fiber->stack.reset(new char[STACK]);
        getcontext(&fiber->context);
        fiber->context.uc_stack.ss_sp = fiber->stack.get();
        fiber->context.uc_stack.ss_size = STACK;
        fiber->context.uc_link = nullptr;
        makecontext(&fiber->context, start, 0);
        for (Meeting *meeting : {&block.all, &block.warps[number / 32], &block.warpgroups[number / 128]}) {
            meeting->members.push_back(fiber.get());
            meeting->brought.push_back(0);
            meeting->expected++;
        }
        block.fibers.push_back(std::move(fiber));
    }
    for (size_t left = count, polls = 0; left > 0 && !*block.stopped;) {
        std::shuffle(block.fibers.begin(), block.fibers.end(), block.random);
        for (auto &fiber : block.fibers) {
            if (fiber->done) continue;
            resume(fiber.get());
            // The other threads stay where they are: what they wait for may never come.
            if (*block.stopped) break;
            if (!fiber->done) continue;
            left--;
            for (Meeting *meeting : {&block.all, &block.warps[fiber->number / 32], &block.warpgroups[fiber->number / 128]}) {
                meeting->expected--;
                meeting->complete();
            }
        }
        polls = block.polled ? polls + 1 : 0;
        rest(polls);
        block.polled = false;
    }
    for (auto &fiber : block.fibers)
        for (auto &store : fiber->stores) store->settle();
}

// Runs a kernel, and returns when it is over. A wrong call, which NVSHMEMRS_DEVICE_CHECK finds, ends it for all threads of all blocks, as a
// trap does on a GPU; nvshmemrs_runtime_check and finalize then return the finding. Objects of the threads are not destroyed.
inline void launch(dim3 grid, dim3 threads, const std::function<void()> &body, Options options = {}) {
    std::vector<std::thread> blocks;
    std::atomic<bool> stopped{false};
    unsigned count = grid.x * grid.y * grid.z;
    for (unsigned number = 0; number < count; number++)
        blocks.emplace_back([=, &body, &stopped] {
            Block block;
            block.stopped = &stopped;
            block.index = {number % grid.x, number / grid.x % grid.y, number / grid.x / grid.y};
            block.dim = threads;
            block.grid = grid;
            block.options = options;
            block.body = &body;
            block.random.seed(options.seed * 1000 + number + 1);
            run_block(block);
        });
    for (auto &block : blocks) block.join();
}

} // namespace host

// The primitives for nvshmemrs_device.cuh.
namespace device {

template <class T> T read(uint64_t at) {
    host::Block &block = *host::here->block;
    if (block.options.weak) {
        host::settle((const void *)at, sizeof(T));
        if (block.random() % 64 == 0) {
            block.polled = true;
            if (block.options.microseconds) usleep(block.options.microseconds);
            host::yield();
        }
    }
    T value;
    memcpy(&value, (const void *)at, sizeof value);
    return value;
}
template <class T> void write(uint64_t at, T value) {
    host::Block &block = *host::here->block;
    host::settle((const void *)at, sizeof value);
    if (!block.options.weak || !block.options.heaps.has(at) || block.options.own.has(at)) {
        memcpy((void *)at, &value, sizeof value);
        return;
    }
    auto held = std::make_shared<host::Held>();
    held->number = block.held++;
    held->at = at;
    held->size = sizeof value;
    held->done = false;
    memcpy(held->bytes, &value, sizeof value);
    host::here->stores.push_back(std::move(held));
}
inline void prefetch(uint64_t) {}

template <class T> T load(const T *at) {
    host::yield();
    host::here->block->polled = true;
    host::settle(at, sizeof(T));
    return __atomic_load_n(at, __ATOMIC_SEQ_CST);
}
template <class T> T load_relaxed(const T *at) { return load(at); }
template <class T> T load_acquire(const T *at) { return load(at); }
template <class T> void store_relaxed(T *at, T value) {
    host::settle(at, sizeof(T));
    __atomic_store_n(at, value, __ATOMIC_SEQ_CST);
}
template <class T> void store_release(T *at, T value) {
    host::settle_all();
    __atomic_store_n(at, value, __ATOMIC_SEQ_CST);
}
inline void fence() {
    host::settle_all();
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
inline void full_fence() { fence(); }

template <class T> T fetch_swap(T *at, T value) {
    host::settle_all();
    return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST);
}
template <class T> T compare_swap(T *at, T cond, T value) {
    host::settle_all();
    __atomic_compare_exchange_n(at, &cond, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return cond;
}
#define NVSHMEMRS_HOST_ATOMIC(NAME)                                                         \
    template <class T> T fetch_##NAME(T *at, T value) {                                     \
        host::settle_all();                                                                 \
        return __atomic_fetch_##NAME(at, value, __ATOMIC_SEQ_CST);                          \
    }                                                                                       \
    template <class T> void apply_##NAME(T *at, T value) { (void)fetch_##NAME(at, value); }
NVSHMEMRS_HOST_ATOMIC(add)
NVSHMEMRS_HOST_ATOMIC(and)
NVSHMEMRS_HOST_ATOMIC(or)
NVSHMEMRS_HOST_ATOMIC(xor)
#undef NVSHMEMRS_HOST_ATOMIC
inline double fetch_add(double *at, double value) {
    host::settle_all();
    double old = *(volatile double *)at, sum;
    do sum = old + value;
    while (!__atomic_compare_exchange((double *)at, &old, &sum, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
    return old;
}
inline void apply_add(double *at, double value) { (void)fetch_add(at, value); }
inline void add_relaxed(unsigned long long *at, unsigned long long value) {
    host::settle(at, 8);
    __atomic_fetch_add(at, value, __ATOMIC_SEQ_CST);
}

template <class To, class From> To bits(const From &from) {
    static_assert(sizeof(To) == sizeof(From), "as many bits");
    To to;
    memcpy((void *)&to, (const void *)&from, sizeof to);
    return to;
}

inline float half_to_float(unsigned short half) {
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 31, fraction = half & 0x3ff;
    // A subnormal number is its fraction times the smallest one.
    float value = exponent == 0 ? fraction * 0x1p-24f : bits<float>((exponent == 31 ? 0xff : exponent + 112) << 23 | fraction << 13);
    return bits<float>(sign | bits<uint32_t>(value));
}
// Rounds to the nearest, of two the even one.
inline unsigned short float_to_half(float value) {
    uint32_t word = bits<uint32_t>(value), magnitude = word & 0x7fffffff;
    unsigned short sign = word >> 16 & 0x8000;
    if (magnitude > 0x7f800000) return 0x7fff;
    if (magnitude >= 0x47800000) return sign | 0x7c00;
    // The sum's last bit is the smallest half, so the addition rounds.
    if (magnitude < 0x38800000) return sign | (unsigned short)(bits<uint32_t>(bits<float>(magnitude) + 0.5f) - 0x3f000000);
    uint32_t rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
    return sign | (unsigned short)((rounded - 0x38000000) >> 13);
}
inline unsigned long long clock() { return (unsigned long long)host::here->block->random() * 2654435761u; }
inline void meet_warpgroup(unsigned) { host::meet_warpgroup(0); }
inline bool any_of_warpgroup(unsigned, bool vote) {
    bool any = false;
    for (uint64_t one : host::meet_warpgroup(vote)) any = any || one != 0;
    return any;
}
// Ends the kernel. If the host will not hear of the cause, the process ends, too.
[[noreturn]] inline void stop(bool told) {
    if (!told) {
        fflush(nullptr);
        fprintf(stderr, "nvshmemrs: a kernel was ended by a wrong call, and the process with it, because no report of the call is kept\n");
        abort();
    }
    *host::here->block->stopped = true;
    for (;;) host::yield();
}

} // namespace device
} // namespace nvshmemrs

#define __device__
#define __global__
#define __host__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __grid_constant__
#define __launch_bounds__(...)
#define __restrict__ __restrict
#define __shared__ static thread_local
#define threadIdx (nvshmemrs::host::here->thread)
#define blockIdx (nvshmemrs::host::here->block->index)
#define blockDim (nvshmemrs::host::here->block->dim)
#define gridDim (nvshmemrs::host::here->block->grid)

inline void __syncthreads() { nvshmemrs::host::meet_block(0); }
inline int __syncthreads_count(int vote) {
    int count = 0;
    for (uint64_t one : nvshmemrs::host::meet_block(vote != 0)) count += (int)one;
    return count;
}
inline int __syncthreads_or(int vote) { return __syncthreads_count(vote) != 0; }
inline int __syncthreads_and(int vote) { return __syncthreads_count(!vote) == 0; }
inline void __syncwarp(unsigned = ~0u) { nvshmemrs::host::meet_warp(0); }
inline unsigned __ballot_sync(unsigned, int vote) { return nvshmemrs::host::ballot(vote != 0); }
inline int __any_sync(unsigned, int vote) { return nvshmemrs::host::ballot(vote != 0) != 0; }
inline int __all_sync(unsigned, int vote) { return nvshmemrs::host::ballot(vote == 0) == 0; }
template <class T> T __shfl_sync(unsigned, T value, int lane) { return nvshmemrs::host::from_lane(value, lane % 32); }
template <class T> T __shfl_up_sync(unsigned, T value, unsigned by) {
    unsigned lane = nvshmemrs::host::here->number % 32;
    return nvshmemrs::host::from_lane(value, lane < by ? lane : lane - by);
}
template <class T> T __shfl_down_sync(unsigned, T value, unsigned by) {
    unsigned lane = nvshmemrs::host::here->number % 32;
    return nvshmemrs::host::from_lane(value, lane + by > 31 ? lane : lane + by);
}
template <class T> T __shfl_xor_sync(unsigned, T value, unsigned mask) {
    return nvshmemrs::host::from_lane(value, (nvshmemrs::host::here->number % 32) ^ mask);
}
inline void __threadfence() { nvshmemrs::device::fence(); }
inline void __threadfence_system() { nvshmemrs::device::fence(); }

#define NVSHMEMRS_DEVICE_HOST
#include "nvshmemrs_device.cuh"

namespace nvshmemrs {
namespace host {

inline Options weak(const nvshmemrs_device_state_t &state, uint32_t seed = 1, unsigned microseconds = 0) {
    uint64_t own = state.base + state.my_pe * state.stride;
    return {seed, true, {state.base, state.base + state.n_pes * state.stride}, {own, own + state.stride}, microseconds};
}

} // namespace host
} // namespace nvshmemrs

#endif
