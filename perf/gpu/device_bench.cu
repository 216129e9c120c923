// Times the functions that kernels call, on 2 PEs with a GPU each. PE 0 prints a line of JSON for each case, as run-gpu-bench --device reads
// it. Work and loops are those of NVSHMEM's own device perftests, so that its figures can stand beside these. Results are checked.
#include <nvshmemrs.h>

#include <nvshmemrs_device.cuh>
#include <nvshmemrs_launch.cuh>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

typedef nvshmemrs_device_state_t State;
typedef unsigned long u64;

[[noreturn]] static void fail(const std::string &what) {
    fprintf(stderr, "device-bench: %s\n", what.c_str());
    exit(1);
}
static void call(int32_t status) {
    if (status != NVSHMEMRS_SUCCESS) fail(nvshmemrs_last_error());
}
static void cuda(int status) {
    if (status != cudaSuccess) fail(cudaGetErrorString((cudaError_t)status));
}

static const int ROUNDS = 9;
static const u64 MOST = 64 << 20;
static nvshmemrs_runtime_t runtime;
static State state;
static int me;
// Two symmetric buffers, signals, and words for the blocks of this PE to meet by.
static long *dest, *source;
static u64 *signals;
static unsigned *counters;

// Both take turns. The signal is 0 at first.
__global__ void signals_alone(State state, u64 *signal, int loops) {
    int me = nvshmemrs_my_pe(state), peer = !me;
    for (int i = 1; i <= loops; i++) {
        if (me) nvshmemrs_signal_wait_until(state, signal, NVSHMEMRS_CMP_EQ, i);
        nvshmemrs_signal_op(state, signal, i, NVSHMEMRS_SIGNAL_SET, peer);
        if (!me) nvshmemrs_signal_wait_until(state, signal, NVSHMEMRS_CMP_EQ, i);
    }
}
__global__ void signals_with_data(State state, long *dest, const long *source, u64 count, u64 *signal, int loops) {
    int me = nvshmemrs_my_pe(state), peer = !me;
    for (int i = 1; i <= loops; i++) {
        if (me) nvshmemrs_signal_wait_until(state, signal, NVSHMEMRS_CMP_EQ, i);
        nvshmemrs_long_put_signal_nbi(state, dest, source, count, signal, i, NVSHMEMRS_SIGNAL_SET, peer);
        if (!me) nvshmemrs_signal_wait_until(state, signal, NVSHMEMRS_CMP_EQ, i);
    }
}

// All blocks of this PE have come `round` times.
__device__ void meet_blocks(unsigned *counters, unsigned round) {
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        if (atomicAdd(counters, 1) == gridDim.x * round - 1) atomicExch(counters + 1, round);
        while (*(volatile unsigned *)(counters + 1) != round) {
        }
    }
    __syncthreads();
}
// LENT: a warp of each block puts, through shared memory.
template <bool LENT> __global__ void put_by_blocks(State given, long *dest, const long *source, u64 count, unsigned *counters, int loops) {
    extern __shared__ __align__(128) unsigned char shared[];
    State state = LENT ? nvshmemrs_give_smem(given, shared, nvshmemrs_ask_smem()) : given;
    u64 part = count / gridDim.x, at = blockIdx.x * part;
    for (int i = 1; i <= loops; i++) {
        if (!LENT) nvshmemrs_long_put_nbi_block(state, dest + at, source + at, part, !state.my_pe);
        else if (threadIdx.x < 32) nvshmemrs_long_put_nbi_warp(state, dest + at, source + at, part, !state.my_pe);
        meet_blocks(counters, i);
    }
    nvshmemrs_quiet(state);
    meet_blocks(counters, loops + 1);
}

// One group puts, and quiet follows. LENT: through shared memory.
template <int SCOPE, bool LENT> __global__ void put_and_quiet(State given, long *dest, const long *source, u64 count, int loops) {
    extern __shared__ __align__(128) unsigned char shared[];
    State state = LENT ? nvshmemrs_give_smem(given, shared, nvshmemrs_ask_smem()) : given;
    int peer = !nvshmemrs_my_pe(state);
    for (int i = 0; i < loops; i++) {
        if (SCOPE == 0) nvshmemrs_long_put_nbi(state, dest, source, count, peer);
        else if (SCOPE == 1) nvshmemrs_long_put_warp(state, dest, source, count, peer);
        else nvshmemrs_long_put_block(state, dest, source, count, peer);
        __syncthreads();
        if (threadIdx.x == 0) nvshmemrs_quiet(state);
        __syncthreads();
    }
}
__global__ void get_by_block(State state, long *dest, const long *source, u64 count, int loops) {
    for (int i = 0; i < loops; i++) nvshmemrs_long_get_block(state, dest, source, count, !state.my_pe);
}

template <int SCOPE> __global__ void barriers(State state, int loops) {
    for (int i = 0; i < loops; i++)
        if (SCOPE == 0) nvshmemrs_barrier_all(state);
        else if (SCOPE == 1) nvshmemrs_barrier_all_warp(state);
        else nvshmemrs_barrier_all_block(state);
}
__global__ void __launch_bounds__(1024) sums(State state, long *dest, const long *source, u64 count, int loops) {
    for (int i = 0; i < loops; i++) nvshmemrs_int64_sum_reduce_block(state, NVSHMEMRS_TEAM_WORLD, dest, source, count);
}

// Runs a kernel ROUNDS times, and once before; prints microseconds of one loop.
template <class... P, class... A>
static void measure(const char *op, u64 bytes, int loops, void (*kernel)(P...), int blocks, int threads, u64 shared, bool both, A... arguments) {
    cudaEvent_t start, stop;
    cuda(cudaEventCreate(&start));
    cuda(cudaEventCreate(&stop));
    if (shared > 48 << 10) cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared));
    std::string figures;
    for (int round = 0; round <= ROUNDS; round++) {
        cuda(cudaMemset(counters, 0, 2 * sizeof(unsigned)));
        cuda(cudaDeviceSynchronize());
        call(nvshmemrs_barrier(runtime, NVSHMEMRS_TEAM_WORLD));
        if (both || me == 0) {
            cuda(cudaEventRecord(start));
            void *given[] = {(void *)&arguments...};
            cuda(nvshmemrs_collective_launch((const void *)kernel, dim3(blocks), dim3(threads), given, shared, 0));
            cuda(cudaEventRecord(stop));
            cuda(cudaEventSynchronize(stop));
        }
        float milliseconds = 0;
        if (me == 0) cuda(cudaEventElapsedTime(&milliseconds, start, stop));
        char text[40];
        snprintf(text, sizeof text, "%s%.4f", round > 1 ? "," : "", milliseconds * 1000.0 / loops);
        if (round > 0) figures += text;
        call(nvshmemrs_barrier(runtime, NVSHMEMRS_TEAM_WORLD));
    }
    if (me == 0) printf("{\"how\": \"device\", \"op\": \"%s\", \"bytes\": %lu, \"us\": [%s]}\n", op, bytes, figures.c_str());
    fflush(stdout);
}

// Other numbers in both buffers, on every PE.
static void fill(u64 salt) {
    std::vector<long> values(MOST / 8);
    for (u64 i = 0; i < values.size(); i++) values[i] = (long)(i * 2654435761u + salt * 97 + me * 13);
    cuda(cudaMemcpy(source, values.data(), MOST, cudaMemcpyDefault));
    cuda(cudaMemset(dest, 0xee, MOST));
    cuda(cudaDeviceSynchronize());
    call(nvshmemrs_barrier(runtime, NVSHMEMRS_TEAM_WORLD));
}
// The first `count` elements are those of the other PE, or the sum of both.
static void check(const char *what, u64 salt, u64 count, bool sum) {
    std::vector<long> values(count + 1);
    cuda(cudaMemcpy(values.data(), dest, (count < MOST / 8 ? count + 1 : count) * 8, cudaMemcpyDefault));
    auto of = [&](int pe, u64 i) { return (long)(i * 2654435761u + salt * 97 + pe * 13); };
    for (u64 i = 0; i < count; i++)
        if (values[i] != (sum ? of(0, i) + of(1, i) : of(!me, i))) fail(std::string(what) + ": element " + std::to_string(i) + " is wrong");
    if (count < MOST / 8 && values[count] != (long)0xeeeeeeeeeeeeeeee) fail(std::string(what) + ": wrote behind its end");
    call(nvshmemrs_barrier(runtime, NVSHMEMRS_TEAM_WORLD));
}

template <int SCOPE, bool LENT> static void puts(const char *op, u64 bytes, int loops, int threads) {
    u64 salt = bytes + SCOPE * 2 + LENT;
    fill(salt);
    measure(op, bytes, loops, put_and_quiet<SCOPE, LENT>, 1, threads, LENT ? nvshmemrs_ask_smem() : 0, false, state, dest, (const long *)source, bytes / 8, loops);
    if (me == 1) {
        std::vector<long> values(bytes / 8);
        cuda(cudaMemcpy(values.data(), dest, bytes, cudaMemcpyDefault));
        for (u64 i = 0; i < bytes / 8; i++)
            if (values[i] != (long)(i * 2654435761u + salt * 97)) fail(std::string(op) + ": element " + std::to_string(i) + " is wrong");
    }
}

int main() {
    nvshmemrs_init_attr_t attr;
    call(nvshmemrs_init_attr_default(&attr));
    attr.memory_kind = NVSHMEMRS_MEMORY_DEVICE;
    attr.heap_bytes = 4 * MOST;
    call(nvshmemrs_init(&attr, &runtime));
    int n = 0;
    call(nvshmemrs_my_pe(runtime, &me));
    call(nvshmemrs_n_pes(runtime, &n));
    if (n != 2) fail("it runs with 2 PEs");
    int device;
    call(nvshmemrs_device(runtime, &device));
    cuda(cudaSetDevice(device));
    call(nvshmemrs_device_state(runtime, &state));
    void *memory[3];
    for (void *&one : memory) call(nvshmemrs_malloc(runtime, MOST, &one));
    dest = (long *)memory[0], source = (long *)memory[1], signals = (u64 *)memory[2];
    cuda(cudaMemset(signals, 0, MOST));
    cuda(cudaMalloc((void **)&counters, 2 * sizeof(unsigned)));
    call(nvshmemrs_barrier(runtime, NVSHMEMRS_TEAM_WORLD));

    // Each launch has a signal of its own, which is 0.
    const int TURNS = 500;
    u64 *signal = signals;
    for (u64 bytes : {8ul, 1024ul, 65536ul}) {
        int loops = bytes > 1024 ? 50 : TURNS;
        fill(bytes);
        cudaEvent_t start, stop;
        cuda(cudaEventCreate(&start));
        cuda(cudaEventCreate(&stop));
        for (bool data : {false, true}) {
            if (!data && bytes > 8) continue;
            std::string figures;
            for (int round = 0; round <= ROUNDS; round++, signal += 16) {
                call(nvshmemrs_barrier(runtime, NVSHMEMRS_TEAM_WORLD));
                cuda(cudaEventRecord(start));
                if (data) signals_with_data<<<1, 1>>>(state, dest, source, bytes / 8, signal, loops);
                else signals_alone<<<1, 1>>>(state, signal, loops);
                cuda(cudaGetLastError());
                cuda(cudaEventRecord(stop));
                cuda(cudaEventSynchronize(stop));
                float milliseconds;
                cuda(cudaEventElapsedTime(&milliseconds, start, stop));
                if (round > 0) figures += (round > 1 ? "," : "") + std::to_string(milliseconds * 1000.0 / loops);
            }
            const char *op = data ? "put_signal ping-pong" : "signal_op ping-pong";
            if (me == 0) printf("{\"how\": \"device\", \"op\": \"%s\", \"bytes\": %lu, \"us\": [%s]}\n", op, bytes, figures.c_str());
            fflush(stdout);
        }
        check("put_signal", bytes, bytes / 8, false);
    }

    struct Shape {
        int blocks, threads;
        u64 bytes;
        bool lent = false;
    };
    for (Shape s : {Shape{32, 256, 1 << 20}, {32, 256, 4 << 20}, {32, 256, 64 << 20}, {32, 1024, 64 << 20}, {128, 256, 64 << 20}, {132, 256, 64 << 20},
                    {132, 512, 64 << 20}, {132, 1024, 64 << 20}, {16, 32, 64 << 20, true}, {16, 1024, 64 << 20}, {32, 32, 4 << 20, true}}) {
        int loops = s.bytes > 4 << 20 ? 20 : 100;
        u64 count = s.bytes / 8 / s.blocks * s.blocks;
        std::string op = "put by " + std::to_string(s.blocks) + " blocks of " + std::to_string(s.threads) + (s.lent ? ", lent" : "");
        fill(s.blocks + s.threads);
        measure(op.c_str(), s.bytes, loops, s.lent ? put_by_blocks<true> : put_by_blocks<false>, s.blocks, s.threads,
                s.lent ? nvshmemrs_ask_smem() : 0, false, state, dest, (const long *)source, count, counters, loops);
        if (me == 1) {
            std::vector<long> values(count);
            cuda(cudaMemcpy(values.data(), dest, count * 8, cudaMemcpyDefault));
            for (u64 i = 0; i < count; i++)
                if (values[i] != (long)(i * 2654435761u + (s.blocks + s.threads) * 97)) fail(op + ": element " + std::to_string(i) + " is wrong");
        }
    }
    for (u64 bytes : {8ul, 65536ul, 1048576ul}) {
        int loops = bytes > 65536 ? 20 : 100;
        puts<0, false>("put and quiet, thread", bytes, bytes > 65536 ? 3 : loops, 1);
        puts<1, false>("put and quiet, warp", bytes, loops, 32);
        puts<2, false>("put and quiet, block", bytes, loops, 256);
        puts<0, true>("put and quiet, thread, lent", bytes, loops, 1);
        puts<1, true>("put and quiet, warp, lent", bytes, loops, 32);
    }
    fill(77);
    measure("get, block", 1 << 20, 50, get_by_block, 1, 1024, 0, true, state, dest, (const long *)source, (u64)(1 << 17), 50);
    check("get", 77, 1 << 17, false);
    measure("barrier_all, thread", 0, TURNS, barriers<0>, 1, 1, 0, true, state, TURNS);
    measure("barrier_all, warp", 0, TURNS, barriers<1>, 1, 32, 0, true, state, TURNS);
    measure("barrier_all, block", 0, TURNS, barriers<2>, 1, 256, 0, true, state, TURNS);
    for (int threads : {256, 1024})
        for (u64 bytes : {8ul, 32ul, 1024ul, 8192ul, 65536ul, 1048576ul}) {
            int loops = bytes > 65536 ? 20 : 200;
            std::string op = "int64 sum, block of " + std::to_string(threads);
            fill(bytes + threads);
            measure(op.c_str(), bytes, loops, sums, 1, threads, 0, true, state, dest, (const long *)source, bytes / 8, loops);
            check(op.c_str(), bytes + threads, bytes / 8, true);
        }
    call(nvshmemrs_finalize(runtime));
    return 0;
}
