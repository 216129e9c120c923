// The functions of nvshmemrs_device.cuh on a GPU: the kernels that rma.cpp, waits.cpp and collectives.cpp run on the host, in every type and
// scope. The heap is in the GPU's memory. Their dests are compared byte by byte, with the bytes around them.
//
// nvcc takes its time for so many functions, so a program has one part of them: RMA, LENT, TILES, AMO, WAITS, MOVES_OF_TEAMS, NUMBERS_OF_TEAMS,
// BITS_OF_TEAMS, OTHER_TEAMS, GRAPHS, ORDER, CHECKED (wants NVSHMEMRS_DEVICE_CHECK=1) or KILLED (the last PE kills itself) is defined.
#include <nvshmemrs.h>

#include <nvshmemrs_device.cuh>

#include <cuda_runtime.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <vector>

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned long u64;

// No kernels of the other parts.
#include "lists.hpp"
#ifndef RMA
#undef RMA_TYPES
#define RMA_TYPES(X)
#undef SIZES
#define SIZES(X)
#endif
#ifndef AMO
#undef AMO_BITS_TYPES
#define AMO_BITS_TYPES(X)
#undef AMO_STANDARD_TYPES
#define AMO_STANDARD_TYPES(X)
#undef AMO_FLOAT_TYPES
#define AMO_FLOAT_TYPES(X)
#endif
#ifndef WAITS
#undef WAIT_TYPES
#define WAIT_TYPES(X)
#endif
#ifndef MOVES_OF_TEAMS
#undef TYPED_MOVES
#define TYPED_MOVES(X)
#endif
#ifndef NUMBERS_OF_TEAMS
#undef REDUCE_NUMBERS_TYPES
#define REDUCE_NUMBERS_TYPES(X)
#endif
#ifndef BITS_OF_TEAMS
#undef REDUCE_BITS_TYPES
#define REDUCE_BITS_TYPES(X)
#endif

// One type of each kind in other teams than WORLD.
#ifdef OTHER_TEAMS
#undef TYPED_MOVES
#define TYPED_MOVES(X) X(long, long, INT64)
#undef REDUCE_NUMBERS_TYPES
#define REDUCE_NUMBERS_TYPES(X) X(double, double, DOUBLE)
#undef REDUCE_BITS_TYPES
#define REDUCE_BITS_TYPES(X) X(int32, int, INT32)
#endif

#include "collectives.cuh"
#include "waits.cuh"

[[noreturn]] static void fail(const std::string &what) {
    fprintf(stderr, "device: %s\n", what.c_str());
    exit(1);
}
static void check(bool good, const std::string &what) {
    if (!good) fail(what);
}
static void call(int32_t status) {
    if (status != NVSHMEMRS_SUCCESS) fail(nvshmemrs_last_error());
}
static void cuda(cudaError_t status) {
    if (status != cudaSuccess) fail(cudaGetErrorString(status));
}

static nvshmemrs_runtime_t runtime;
static int me, n_pes;
static State state;
static int right() { return (me + 1) % n_pes; }
static int left() { return (me + n_pes - 1) % n_pes; }
static void barrier(nvshmemrs_team_t team = NVSHMEMRS_TEAM_WORLD) {
    cuda(cudaDeviceSynchronize());
    call(nvshmemrs_barrier(runtime, team));
}

// Threads of a block: a full warp, and one that is not.
static const dim3 THREADS(10, 4);

// Runs a kernel to its end.
static u64 shared_bytes = 0;
template <class... P, class... A> static void launch(void (*kernel)(P...), dim3 grid, dim3 block, A... args) {
    kernel<<<grid, block, shared_bytes>>>(args...);
    cuda(cudaGetLastError());
    cuda(cudaDeviceSynchronize());
}

// Memory of the GPU: symmetric, or this PE's own.
template <class T> struct Memory {
    T *at;
    u64 count;
    Memory(u64 count, bool symmetric) : count(count) {
        void *place;
        if (symmetric) call(nvshmemrs_calloc(runtime, count, sizeof(T), &place));
        else cuda(cudaMalloc(&place, count * sizeof(T)));
        at = (T *)place;
    }
    void write(const std::vector<T> &values) { cuda(cudaMemcpy(at, values.data(), values.size() * sizeof(T), cudaMemcpyDefault)); }
    std::vector<T> read() const {
        std::vector<T> values(count);
        cuda(cudaMemcpy(values.data(), at, count * sizeof(T), cudaMemcpyDefault));
        return values;
    }
};

static u8 pattern(int of, u64 i, int salt) { return (u8)(of * 101 + i * 7 + (i >> 8) * 13 + salt * 29 + 1); }

// ---- Remote memory access. ----

struct Moves {
    const u64 ROOM;
    Memory<u8> dest{ROOM, true}, source{ROOM, true}, own{ROOM, false};
    Memory<u64> signal{3, true};
    int salt = 0;
    explicit Moves(u64 room = 2048) : ROOM(room) {}

    void one(const std::string &name, void (*kernel)(Move, int), int what, u64 size, u64 count, u64 dest_at, u64 source_at) {
        salt++;
        bool get = (what >= GET_ && what < PUT_NBI_) || (what >= GET_NBI_ && what < SIGNAL_) || (what >= IGET_ && what < P_) || what == G_;
        bool strided = what >= IPUT_ && what < P_, signals = what >= SIGNAL_ && what < IPUT_;
        Memory<u8> &to = get ? own : dest, &from = get ? source : own;
        std::vector<u8> values(ROOM), expected(ROOM, 0xee);
        for (u64 i = 0; i < ROOM; i++) values[i] = pattern(me, i, salt);
        to.write(expected);
        from.write(values);
        signal.write({40, 40, 40});
        barrier();
        Move m = {state, to.at + dest_at, from.at + source_at, count, strided ? 3 : 1, strided ? 2 : 1, signal.at + 1, 2, NVSHMEMRS_SIGNAL_ADD, right()};
        if (salt % 2) m.op = NVSHMEMRS_SIGNAL_SET;
        launch(kernel, 1, THREADS, m, what);
        barrier();
        int of = get ? right() : left();
        for (u64 i = 0; i < count * size; i++) {
            u64 element = i / size, byte = i % size;
            expected[dest_at + element * m.dest_step * size + byte] = pattern(of, source_at + element * m.source_step * size + byte, salt);
        }
        std::string where = name + " function " + std::to_string(what) + ", " + std::to_string(count) + " elements";
        check(to.read() == expected, where);
        u64 value = !signals ? 40 : m.op == NVSHMEMRS_SIGNAL_ADD ? 42 : 2;
        check(signal.read() == std::vector<u64>{40, value, 40}, where + ": signals");
    }

    void all(const std::string &name, void (*kernel)(Move, int), u64 size, int end, bool askew) {
        for (int what = 0; what < end; what++) {
            bool strided = what >= IPUT_ && what < P_;
            u64 many = strided ? 500 / size : 1500 / size;
            one(name, kernel, what, size, 1 + salt % 3, size * 3, size * 3);
            one(name, kernel, what, size, many, size * 3, askew ? size * 4 : size * (what % 2 ? 3 : 4));
        }
    }
};

// The same, with shared memory that each warp lends: bulk copies where source and destination can be aligned together.
#ifdef LENT
static const u64 PIECE = 20000;
__global__ void rma_lent(Move m, int what) {
    extern __shared__ unsigned char shared[];
    // Not aligned, which give_smem mends.
    m.state = nvshmemrs_give_smem(m.state, shared + DEVICE_THREAD / 32 * PIECE + 8, PIECE - 8);
    switch (what) { CONTIGUOUS(void, putmem, getmem) }
    if (DEVICE_THREAD == 0 && nvshmemrs_release_smem(m.state).lent != 0) nvshmemrs::device::stop(false);
}
// All warps at once, each its own part, again and again through the same memory.
__global__ void all_warps_put(State given, u8 *dest, const u8 *source, u64 each, int pe) {
    extern __shared__ unsigned char shared[];
    u64 warp = DEVICE_THREAD / 32, at = warp * each;
    State state = nvshmemrs_give_smem(&given, shared + warp * PIECE, PIECE);
    for (u64 k = 0; k < 4; k++) nvshmemrs_putmem_nbi_warp(state, dest + at + k * each / 4, source + at + k * each / 4, each / 4, pe);
    nvshmemrs_quiet(state);
}
static void lent() {
    shared_bytes = 2 * PIECE;
    Moves moves(1 << 20);
    for (u64 count : {1, 2047, 2048, 2063, 2600, 18000, 20480, 300001})
        for (auto [to, from] : {std::pair<u64, u64>{0, 0}, {16, 32}, {5, 21}, {15, 15}, {3, 4}, {8, 16}})
            for (int what = 0; what < IPUT_; what++)
                if (what % 3 < 2) moves.one("lent", rma_lent, what, 1, count, to + 64, from + 64);
    const u64 EACH = 400000;
    std::vector<u8> values(1 << 20), expected(1 << 20, 0xee);
    for (u64 i = 0; i < 2 * EACH; i++) expected[i] = pattern(left(), i, 99);
    for (u64 i = 0; i < values.size(); i++) values[i] = pattern(me, i, 99);
    moves.own.write(values);
    moves.dest.write(std::vector<u8>(1 << 20, 0xee));
    barrier();
    launch(all_warps_put, 1, 64, state, moves.dest.at, (const u8 *)moves.own.at, EACH, right());
    barrier();
    check(moves.dest.read() == expected, "two warps put through lent memory");
}
#endif

#ifdef TILES
#include <cuda_fp16.h>

#include "tile_types.cuh"
template <class T> struct Env {
    static const long ROOM = 2048;
    Memory<T> dests{ROOM, true}, sources{ROOM, true};
    T *dest = dests.at, *source = sources.at;
    int me = ::me, n = n_pes;
    State state = ::state;

    void write(T *to, const std::vector<T> &values) { cuda(cudaMemcpy(to, values.data(), ROOM * sizeof(T), cudaMemcpyDefault)); }
    std::vector<T> read(const T *) { return dests.read(); }
    void barrier() { ::barrier(); }
    [[noreturn]] void fail(const std::string &what) { ::fail(what); }
    template <class K, class... A> void run(K kernel, A... arguments) { launch(kernel, 1, 256, arguments...); }
};
template <class T> static void tiles_of(const char *name) {
    Env<T> env;
    tiles<T>(env, name);
    tile_types_all<T>(env, name);
}
template <class T> static void tiles_together_of(const char *name) {
    Env<T> env;
    tiles_together_all<T>(env, name);
}
static void queue_pairs() {
    Memory<long> dest{20, true}, source{20, true};
    Memory<u64> signal{1, true};
    std::vector<long> values(20);
    for (int i = 0; i < 20; i++) values[i] = me * 100 + i;
    source.write(values);
    barrier();
    launch(by_queue_pair, 1, 64, state, dest.at, (const long *)source.at, (unsigned long *)signal.at, right());
    barrier();
    auto got = dest.read();
    for (int i = 0; i < 9; i++) check(got[i] == left() * 100 + i && got[10 + i] == me * 100 + i, "puts and gets by a queue pair");
    check(got[9] == 0 && got[19] == right() * 100 && signal.read()[0] == 4, "what lies beside it");
}
#endif

// ---- Atomics: integers by all functions, numbers by the sum of all PEs' threads. ----

template <class T> struct Atomics {
    std::string name;
    void (*kernel)(Atomic<T>, int);
    Memory<T> words{3, true}, result{1, false};

    T made(int what, T old, T value, T cond, bool gives, T expected) {
        words.write({old, old, old});
        result.write({cond});
        barrier();
        Atomic<T> a = {state, words.at + 1, result.at, value, cond, 1, right()};
        launch(kernel, 1, THREADS, a, what);
        barrier();
        auto now = words.read();
        std::string where = name + " atomic " + std::to_string(what);
        check(result.read()[0] == (gives ? old : cond), where + ": the result");
        check(now[1] == expected, where + ": the word");
        check(now[0] == old && now[2] == old, where + ": the neighbours");
        return now[1];
    }

    void standard(T a, T b) {
        made(FETCH_, a, 0, b, true, a);
        made(SET_, a, b, a, false, b);
        made(SWAP_, a, b, b, true, b);
        made(ADD_, a, b, a, false, (T)(a + b));
        made(FETCH_ADD_, a, b, b, true, (T)(a + b));
        made(INC_, a, 0, a, false, (T)(a + 1));
        made(FETCH_INC_, a, 0, b, true, (T)(a + 1));
        made(CSWAP_, a, b, a, true, b);
        made(CSWAP_, a, b, (T)(a + 1), true, a);
    }
    void bitwise(T a, T b) {
        standard(a, b);
        made(AND_, a, b, a, false, a & b);
        made(FETCH_AND_, a, b, b, true, a & b);
        made(OR_, a, b, a, false, a | b);
        made(FETCH_OR_, a, b, b, true, a | b);
        made(XOR_, a, b, a, false, a ^ b);
        made(FETCH_XOR_, a, b, b, true, a ^ b);
    }
    // Floating-point numbers, and half as its bits.
    void numbers(T a, T b, T sum) {
        made(FETCH_, a, 0, b, true, a);
        made(SET_, a, b, a, false, b);
        made(SWAP_, a, b, b, true, b);
        made(ADD_, a, b, a, false, sum);
        made(FETCH_ADD_, a, b, b, true, sum);
    }
    // No addition is lost: all threads of all PEs add to one word of PE 0.
    void together(int what, T zero, T each, T total) {
        words.write({zero, zero, zero});
        barrier();
        launch(kernel, 1, THREADS, Atomic<T>{state, words.at + 1, result.at, each, zero, 40, 0}, what);
        barrier();
        if (me == 0) check(words.read()[1] == total, name + ": additions are lost");
        barrier();
    }
};

// ---- Waits and tests, of elements that do not change, and of a neighbour's puts. ----

template <class T> static bool holds(int cmp, T a, T b) {
    return cmp == NVSHMEMRS_CMP_EQ ? a == b : cmp == NVSHMEMRS_CMP_NE ? a != b : cmp == NVSHMEMRS_CMP_GT ? a > b : cmp == NVSHMEMRS_CMP_LE ? a <= b
           : cmp == NVSHMEMRS_CMP_LT ? a < b : a >= b;
}

template <class T> __global__ void put_all(State state, T *ivars, int n, int pe) {
    for (int i = n; i-- > 0;) nvshmemrs::device::p<T>(state, ivars + i, 5, pe);
}

template <class T> struct Waits {
    static constexpr int N = 7;
    std::string name;
    void (*kernel)(Wait<T>, int);
    Memory<T> ivars{N, true}, values{N, false};
    Memory<int> status{N, false};
    Memory<u64> indices{N + 1, false}, result{1, false};

    u64 run(int what, u64 n, const int *excluded, int cmp, T value) {
        indices.write(std::vector<u64>(N + 1, 99));
        launch(kernel, 1, 1, Wait<T>{state, ivars.at, n, excluded, cmp, value, values.at, indices.at, result.at}, what);
        return result.read()[0];
    }

    void model() {
        const std::vector<T> each = {1, 2, (T)-2, 4, 3, (T)-2, 7}, elements = {1, 3, (T)-2, 2, 3, 0, 6};
        const std::vector<int> some = {0, 1, 0, 0, 2, 0, 0};
        ivars.write(elements);
        values.write(each);
        status.write(some);
        for (const int *excluded : {(const int *)nullptr, (const int *)status.at})
            for (int cmp = 0; cmp < 6; cmp++)
                for (bool vector : {false, true}) {
                    std::set<u64> holding;
                    u64 looked = 0;
                    for (u64 i = 0; i < N; i++) {
                        if (excluded && some[i]) continue;
                        looked++;
                        if (holds<T>(cmp, elements[i], vector ? each[i] : (T)2)) holding.insert(i);
                    }
                    bool all = holding.size() == looked;
                    for (bool test : {false, true}) {
                        int base = test ? (vector ? TEST_ALL_VECTOR_ : TEST_ALL_) : vector ? ALL_VECTOR_ : ALL_;
                        std::string where = name + " function " + std::to_string(base) + ", comparison " + std::to_string(cmp);
                        if (test || all) check(run(base, N, excluded, cmp, 2) == (u64)all, where);
                        if (!test && holding.empty()) continue;
                        u64 any = run(base + 1, N, excluded, cmp, 2);
                        check(holding.empty() ? any == ~0ul : holding.count(any) == 1, where + ": any");
                        u64 count = run(base + 2, N, excluded, cmp, 2);
                        auto got = indices.read();
                        check(count == holding.size() && got[count] == 99 && std::set<u64>(got.begin(), got.begin() + count) == holding, where + ": some");
                    }
                }
    }

    // Two streams, so that the wait and the operation that ends the neighbour's wait run at the same time.
    void from_a_neighbour() {
        values.write(std::vector<T>(N, 5));
        // CUDA loads a kernel when it is first launched, and that may wait for kernels that run.
        cudaFuncAttributes loaded;
        cuda(cudaFuncGetAttributes(&loaded, put_all<T>));
        cuda(cudaFuncGetAttributes(&loaded, kernel));
        cudaStream_t other;
        cuda(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
        for (int what : {UNTIL_, ALL_, ANY_, SOME_, ALL_VECTOR_, ANY_VECTOR_, SOME_VECTOR_}) {
            ivars.write(std::vector<T>(N, 0));
            barrier();
            kernel<<<1, 1>>>(Wait<T>{state, ivars.at, N, nullptr, NVSHMEMRS_CMP_EQ, 5, values.at, indices.at, result.at}, what);
            put_all<T><<<1, 1, 0, other>>>(state, ivars.at, N, right());
            cuda(cudaDeviceSynchronize());
            u64 got = result.read()[0];
            bool any = what == ANY_ || what == ANY_VECTOR_, some = what == SOME_ || what == SOME_VECTOR_;
            check(any ? got < N : some ? got >= 1 && got <= N : got == 1, name + ": a wait for a neighbour");
            barrier();
            check(ivars.read() == std::vector<T>(N, 5), name + ": what a neighbour put");
        }
        cuda(cudaStreamDestroy(other));
    }
};

#include "gpu_more.cuh"

// Thread 3 of block 1 puts to a PE that there is not.
[[maybe_unused]] __global__ static void put_astray(State s, int *dest) {
    if (blockIdx.x == 1 && threadIdx.x == 3) nvshmemrs_int_p(s, dest, 1, s.n_pes + 4);
}

// Waits for a signal that no PE sends.
[[maybe_unused]] __global__ static void wait_in_vain(State s, u64 *signal, int *aborted) {
    nvshmemrs_signal_wait_until(s, signal, NVSHMEMRS_CMP_EQ, 1);
    *aborted = nvshmemrs_aborted(s);
}

int main() {
    call(nvshmemrs_init(nullptr, &runtime));
    call(nvshmemrs_my_pe(runtime, &me));
    call(nvshmemrs_n_pes(runtime, &n_pes));
    int device;
    call(nvshmemrs_device(runtime, &device));
    cuda(cudaSetDevice(device));
    call(nvshmemrs_device_state(runtime, &state));
    const char *part = "";
#ifdef RMA
    part = "rma";
    Moves moves;
#define RMA_TEST(NAME, T) moves.all(#NAME, rma_##NAME, sizeof(T), G_ + 1, false);
    RMA_TYPES(RMA_TEST)
#define SIZE_TEST(BITS) moves.all(#BITS, rma_##BITS, BITS / 8, P_, BITS == 8);
    SIZES(SIZE_TEST)
    for (bool askew : {false, true}) moves.all("mem", rma_mem, 1, IPUT_, askew);
#endif
#ifdef LENT
    part = "lent";
    lent();
#endif
#ifdef TILES
    part = "tiles";
    tiles_of<unsigned char>("bytes");
    tiles_of<short>("short");
    tiles_of<float>("float");
    tiles_of<double>("double");
    tiles_together_of<unsigned char>("bytes");
    tiles_together_of<short>("short");
    tiles_together_of<float>("float");
    tiles_together_of<__half>("half");
    queue_pairs();
#endif
#ifdef AMO
    part = "amo";
#define BITS_TEST(NAME, T) { Atomics<T> a{#NAME, amo_##NAME}; a.bitwise((T)-3, (T)0x5a5a5a5a5a5a5a5a); a.together(FETCH_ADD_, 0, 3, (T)(120 * n_pes)); a.together(INC_, 0, 0, (T)(40 * n_pes)); }
    AMO_BITS_TYPES(BITS_TEST)
#define STANDARD_TEST(NAME, T) { Atomics<T> a{#NAME, amo_##NAME}; a.standard((T)-3, (T)0x5a5a5a5a5a5a5a5a); a.together(ADD_, 0, 3, (T)(120 * n_pes)); }
    AMO_STANDARD_TYPES(STANDARD_TEST)
    Atomics<float> single{"float", amo_float};
    single.together(ADD_, 0, 1.5f, 60.0f * n_pes);
    single.numbers(1.5f, 2.25f, 3.75f);
    Atomics<double> twice{"double", amo_double};
    twice.together(FETCH_ADD_, 0, 0.5, 20.0 * n_pes);
    twice.numbers(1.5, 2.25, 3.75);
    Atomics<u16> half{"half", amo_half};
    half.numbers(0x3e00, 0x4080, 0x4380);
    // Up to 2048 all sums of ones are exact.
    if (n_pes <= 51) half.together(ADD_, 0, 0x3c00, half_of(40 * n_pes));
#endif
#ifdef WAITS
    part = "waits";
#define WAIT_TEST(NAME, T) { Waits<T> waits{#NAME, wait_##NAME}; waits.model(); waits.from_a_neighbour(); }
    WAIT_TYPES(WAIT_TEST)
#endif
#ifdef MOVES_OF_TEAMS
    part = "moves of teams";
    Collectives all;
#define MOVES_TEST(NAME, T, DTYPE) all.moves(#NAME, moves_##NAME, sizeof(T));
    TYPED_MOVES(MOVES_TEST)
    all.moves("mem", moves_mem, 1);
#endif
#ifdef NUMBERS_OF_TEAMS
    part = "numbers of teams";
    Collectives all;
#define NUMBERS_TEST(NAME, T, DTYPE) all.reductions(#NAME, reduce_##NAME, sizeof(T), NVSHMEMRS_DTYPE_##DTYPE, 4);
    REDUCE_NUMBERS_TYPES(NUMBERS_TEST)
#endif
#ifdef BITS_OF_TEAMS
    part = "bits of teams";
    Collectives all;
#define REDUCE_BITS_TEST(NAME, T, DTYPE) all.reductions(#NAME, reduce_##NAME, sizeof(T), NVSHMEMRS_DTYPE_##DTYPE, 7);
    REDUCE_BITS_TYPES(REDUCE_BITS_TEST)
#endif
#ifdef ORDER
    part = "order";
    Memory<int> failures(1, false), dest(5000, true), source(5000, true);
    Memory<u64> signal(1, true);
    failures.write({0});
    barrier();
    launch(many, 3, 40, state, n_pes == 1 ? 1000 : 50, failures.at);
    queries_and_names();
    for (int scope = 0; scope < 3; scope++) {
        signal.write({0});
        barrier();
        launch(messages, 1, 256, state, dest.at, source.at, signal.at, 5000, n_pes == 1 ? 200 : 20, scope, failures.at);
    }
    check(failures.read()[0] == 0, "order");
#endif
#ifdef OTHER_TEAMS
    part = "teams";
    of_teams();
#endif
#ifdef GRAPHS
    part = "graphs";
    graphs();
#endif
#ifdef CHECKED
    Memory<int> dest(1, true);
    put_astray<<<2, 32>>>(state, dest.at);
    check(cudaDeviceSynchronize() != cudaSuccess, "a kernel that put to no PE went on");
    check(nvshmemrs_runtime_check(runtime) != NVSHMEMRS_SUCCESS, "nobody is told of a put to no PE");
    std::string told = nvshmemrs_last_error();
    check(told.find("thread 3 of block 1") != std::string::npos, told);
    printf("gpu ok: checked, PE %d of %d: %s\n", me, n_pes, told.c_str());
    // Nothing of CUDA's works after such a stop.
    fflush(stdout);
    _exit(0);
#endif
#ifdef KILLED
    Memory<u64> signal(1, true);
    Memory<int> aborted(1, false);
    aborted.write({0});
    barrier();
    if (me == n_pes - 1) {
        usleep(200000);
        raise(SIGKILL);
    }
    launch(wait_in_vain, 1, 1, state, signal.at, aborted.at);
    check(aborted.read()[0] == 1, "a wait for a dead PE ended, and the job is not broken");
    check(nvshmemrs_barrier(runtime, NVSHMEMRS_TEAM_WORLD) == NVSHMEMRS_ERROR_PE_DIED, nvshmemrs_last_error());
    printf("gpu ok: killed, PE %d of %d\n", me, n_pes);
    return 0;
#endif
    barrier();
    printf("gpu ok: %s, PE %d of %d\n", part, me, n_pes);
    call(nvshmemrs_finalize(runtime));
}
