// Puts and gets of tiles, and functions for queue pairs: kernels, and a model of their results.
#pragma once

#include <nvshmemrs_qp.cuh>
#include <nvshmemrs_tile.cuh>

#include "names.hpp"

#ifndef __CUDACC_RTC__
#include <string>
#include <vector>
#endif

typedef nvshmemrs_device_state_t State;

// A layout whose numbers are known when the kernel runs.
template <int RANK> using TileLayout = nvshmemrs::Layout<nvshmemrs::Numbers<RANK>, nvshmemrs::Numbers<RANK>>;
template <int RANK> struct TileCase {
    TileLayout<RANK> to, from;
    nvshmemrs::Numbers<RANK> start, boundary;
    bool bounded;
    // Where the first element is.
    long dest_at, source_at;
};

// scope: thread, warp, warpgroup, block.
template <class T, int RANK> __global__ void tile(State s, T *dest, T *source, TileCase<RANK> c, int scope, bool get, int pe) {
    nvshmemrs::Tensor<T, TileLayout<RANK>> to(dest + c.dest_at, c.to), from(source + c.source_at, c.from);
#define SCOPE_CASE(NUMBER, SUFFIX, THREADS)                                                                  \
    if (scope == NUMBER && threadIdx.x < THREADS) {                                                          \
        if (get && c.bounded) TILE(get##SUFFIX, s, nvshmemrs::Numbers<RANK>, from, to, c.start, c.boundary, pe, 0);          \
        if (!get && c.bounded) TILE(put##SUFFIX, s, nvshmemrs::Numbers<RANK>, from, to, c.start, c.boundary, pe, 0);         \
        if (get && !c.bounded) TILE(get##SUFFIX, s, nvshmemrs::NoCoordinates, from, to, {}, {}, pe, 0);                      \
        if (!get && !c.bounded) TILE(put##SUFFIX, s, nvshmemrs::NoCoordinates, from, to, {}, {}, pe, 0);                     \
    }
    SCOPE_CASE(0, , 1)
    SCOPE_CASE(1, _warp, 32)
    SCOPE_CASE(2, _warpgroup, 128)
    SCOPE_CASE(3, _block, 256)
    if (TILE(put, s, nvshmemrs::NoCoordinates, from, to, {}, {}, pe, 1) != -1) to.data()[0] = T();
    nvshmemrs_quiet(s);
}

enum { TILE_SUM, TILE_MAX, TILE_MIN, TILE_ROOTED, TILE_BY_ROOT, TILE_BROADCAST, TILE_ALLGATHER, TILE_COLLECTIVES };

// Collectives of tiles by a group of each PE; the last PE is the root.
template <class T, int RANK> __global__ void tiles_together(State s, T *dest, T *source, TileCase<RANK> c, int scope, int what) {
    [[maybe_unused]] typedef nvshmemrs::Numbers<RANK> N;
    nvshmemrs::Tensor<T, TileLayout<RANK>> to(dest + c.dest_at, c.to), from(source + c.source_at, c.from);
    int root = s.n_pes - 1, status = 0;
    // The names of ours have no reduction that the root pushes.
#ifdef NVSHMEM_NAMES
#define BY_ROOT(SUFFIX) TOGETHER(sum_reduce##SUFFIX, NVLS_TWO_SHOT_PUSH_NBI, s, N, from, to, c.start, c.boundary, root, 0)
#else
#define BY_ROOT(SUFFIX) nvshmemrs::tile_sum_reduce##SUFFIX(s, NVSHMEMRS_TEAM_WORLD, from, to, c.start, c.boundary, 0, 0)
#endif
#define TOGETHER_CASE(NUMBER, SUFFIX, THREADS)                                                                                            \
    if (scope == NUMBER && threadIdx.x < THREADS) {                                                                                      \
        if (TOGETHER(max_reduce##SUFFIX, NVLS_ONE_SHOT_PULL_NBI, s, N, from, to, c.start, c.boundary, 1) != -1) status = 1;                  \
        switch (what) {                                                                                                                   \
        case TILE_SUM: status |= TOGETHER(sum_reduce##SUFFIX, NVLS_ONE_SHOT_PULL_NBI, s, N, from, to, c.start, c.boundary, 0); break;        \
        case TILE_MAX: status |= TOGETHER(max_reduce##SUFFIX, NVLS_ONE_SHOT_PULL_NBI, s, N, from, to, c.start, c.boundary, 0); break;        \
        case TILE_MIN: status |= TOGETHER(min_reduce##SUFFIX, NVLS_ONE_SHOT_PULL_NBI, s, N, from, to, c.start, c.boundary, 0); break;        \
        case TILE_ROOTED:                                                                                                                 \
            status |= TOGETHER(max_rooted_reduce##SUFFIX, NVLS_ONE_SHOT_PULL_NBI, s, N, from, to, c.start, c.boundary, root, 0);             \
            break;                                                                                                                        \
        case TILE_BY_ROOT: status |= BY_ROOT(SUFFIX); break;                                                                              \
        case TILE_BROADCAST:                                                                                                              \
            if (s.my_pe == root) status |= TOGETHER(broadcast##SUFFIX, NVLS_ONE_SHOT_PUSH_NBI, s, N, from, to, c.start, c.boundary, 0);      \
            break;                                                                                                                        \
        default: status |= TOGETHER(allgather##SUFFIX, NVLS_ONE_SHOT_PUSH_NBI, s, N, from, to, c.start, c.boundary, 0);                      \
        }                                                                                                                                 \
        status |= what < TILE_BY_ROOT ? TOGETHER_WAIT(SUFFIX, NVLS_ONE_SHOT_PULL_NBI, s) : TOGETHER_WAIT(SUFFIX, NVLS_ONE_SHOT_PUSH_NBI, s);     \
    }
    TOGETHER_CASE(0, , 1)
    TOGETHER_CASE(1, _warp, 32)
    TOGETHER_CASE(2, _warpgroup, 128)
    TOGETHER_CASE(3, _block, 256)
    if (status) to.data()[0] = T();
}

// Two groups of 128 threads meet their like on the other PEs, each in a slot of its own; a PE's second one comes late.
__global__ void by_warpgroups(State s, unsigned long *counts, int rounds, int *failures) {
    unsigned group = threadIdx.x / 128;
    for (int round = 1; round <= rounds; round++) {
        if (threadIdx.x % 128 == 77)
            for (int pe = 0; pe < s.n_pes; pe++) nvshmemrs_ulong_atomic_add(s, counts + group, 1, pe);
        int status = nvshmemrs_barrier_warpgroup(s, NVSHMEMRS_TEAM_WORLD, group);
        unsigned long seen = nvshmemrs_ulong_atomic_fetch(s, counts + group, s.my_pe);
        // No other member is more than one round ahead.
        if (status != 0 || seen < (unsigned long)round * s.n_pes || seen > (unsigned long)(round + 1) * s.n_pes) *failures = round;
    }
}

// Functions for queue pairs, in the three scopes: they have the same effect as the functions without a queue pair.
__global__ void by_queue_pair(State s, long *dest, const long *source, unsigned long *signal, int pe) {
    unsigned thread = threadIdx.x;
    if (thread == 0) {
        nvshmemrs_qp_long_p(s, dest, nvshmemrs_qp_long_g(s, source, s.my_pe, 7), pe, 7);
        nvshmemrs_qp_long_put(s, dest + 1, source + 1, 1, pe, 7);
        nvshmemrs_qp_putmem_nbi(s, dest + 2, source + 2, 8, pe, 7);
        nvshmemrs_qp_put64_signal(s, dest + 3, source + 3, 1, signal, 1, NVSHMEMRS_SIGNAL_ADD, pe, 7);
        nvshmemrs_qp_signal_op(s, signal, 1, NVSHMEMRS_SIGNAL_ADD, pe, 7);
    }
    if (thread < 32) {
        nvshmemrs_qp_long_put_warp(s, dest + 4, source + 4, 1, pe, 7);
        nvshmemrs_qp_long_put_signal_nbi_warp(s, dest + 5, source + 5, 1, signal, 1, NVSHMEMRS_SIGNAL_ADD, pe, 7);
    }
    nvshmemrs_qp_put128_block(s, dest + 6, source + 6, 1, pe, 7);
    nvshmemrs_qp_long_put_signal_block(s, dest + 8, source + 8, 1, signal, 1, NVSHMEMRS_SIGNAL_ADD, pe, 7);
    if (thread == 0) nvshmemrs_signal_wait_until(s, signal, NVSHMEMRS_CMP_EQ, 4);
    nvshmemrs_qp_fence_block(s, pe, nullptr, 0);
    nvshmemrs_qp_quiet_block(s, pe, nullptr, 0);
    nvshmemrs_barrier_all_block(s);
    if (thread == 0) nvshmemrs_qp_long_get(s, dest + 10, dest, 9, pe, 7);
    if (thread < 32) nvshmemrs_qp_getmem_nbi_warp(s, dest + 19, source, 8, pe, 7);
}

#ifndef __CUDACC_RTC__
template <class... N> nvshmemrs::Numbers<(int)sizeof...(N)> sides(N... each) { return {{(long)each...}}; }

// Env: memory of T's (`dest` and `source`, ROOM elements each), `write`, `read`, `barrier`, `run(kernel, arguments)`, `fail`, `state`, `me`, `n`.
template <class T, int RANK, class Env> void tile_case(Env &env, const char *name, TileCase<RANK> c) {
    auto value = [](int of, long i, int salt) { return (T)(i * 7 + of * 31 + salt * 3 + 1); };
    for (int what = 0; what < 8; what++) {
        int scope = what / 2, right = (env.me + 1) % env.n, left = (env.me + env.n - 1) % env.n;
        bool get = what % 2;
        std::vector<T> values(Env::ROOM), expected(Env::ROOM, (T)119);
        for (long i = 0; i < Env::ROOM; i++) values[i] = value(env.me, i, what);
        env.write(env.source, values);
        env.write(env.dest, expected);
        env.barrier();
        env.run(tile<T, RANK>, env.state, env.dest, env.source, c, scope, get, right);
        env.barrier();
        long at[5] = {0}, elements = 1;
        for (int d = 0; d < RANK; d++) elements *= c.to.shape().at[d];
        for (long i = 0; i < elements; i++) {
            long rest = i, to = c.dest_at, from = c.source_at;
            bool inside = true;
            for (int d = 0; d < RANK; d++) {
                at[d] = rest % c.to.shape().at[d];
                rest /= c.to.shape().at[d];
                to += at[d] * c.to.stride().at[d];
                from += at[d] * c.from.stride().at[d];
                inside = inside && (!c.bounded || c.start.at[d] + at[d] < c.boundary.at[d]);
            }
            if (inside) expected[to] = value(get ? right : left, from, what);
        }
        if (env.read(env.dest) != expected) env.fail(std::string(name) + ", case " + std::to_string(what));
        env.barrier();
    }
}

// Numbers as reductions see them.
template <class T> struct TileNumber {
    static T wide(T value) { return value; }
    static T narrow(T value) { return value; }
};
template <> struct TileNumber<__half> {
    static float wide(__half value) { return __half2float(value); }
    static __half narrow(float value) { return __float2half(value); }
};

template <class T, int RANK, class Env> void tiles_together_case(Env &env, const char *name, TileCase<RANK> c, bool gathers) {
    typedef TileNumber<T> Of;
    auto value = [](int of, long i, int salt) { return Of::narrow((i * 5 + of * 31 + salt * 3 + 1) % 97); };
    for (int scope = 0; scope < 4; scope++)
        for (int what = gathers ? TILE_ALLGATHER : 0; what < (gathers ? TILE_COLLECTIVES : TILE_ALLGATHER); what++) {
            int salt = what + scope, root = env.n - 1;
            std::vector<T> values(Env::ROOM), expected(Env::ROOM, Of::narrow(119));
            for (long i = 0; i < Env::ROOM; i++) values[i] = value(env.me, i, salt);
            env.write(env.source, values);
            env.write(env.dest, expected);
            env.barrier();
            env.run(tiles_together<T, RANK>, env.state, env.dest, env.source, c, scope, what);
            env.barrier();
            long elements = 1;
            for (int d = 0; d < RANK; d++) elements *= c.from.shape().at[d];
            for (int of = 0; of < env.n; of++) {
                if (gathers ? false : of > 0) break;
                // The tile of PE `of`: how many fit beside each other.
                int major = RANK == 2 && c.from.stride().at[0] != 1 ? 1 : 0;
                long beside = c.to.shape().at[major] / c.from.shape().at[major], first = c.dest_at;
                if (gathers) first += of % beside * c.from.shape().at[major] * c.to.stride().at[major];
                if (gathers && RANK == 2) first += of / beside * c.from.shape().at[1 - major] * c.to.stride().at[1 - major];
                for (long i = 0; i < elements; i++) {
                    long rest = i, to = first, from = c.source_at;
                    bool inside = true;
                    for (int d = 0; d < RANK; d++) {
                        long at = rest % c.from.shape().at[d];
                        rest /= c.from.shape().at[d];
                        to += at * c.to.stride().at[d];
                        from += at * c.from.stride().at[d];
                        inside = inside && c.start.at[d] + at < c.boundary.at[d];
                    }
                    if (!inside || (what == TILE_ROOTED && env.me != root)) continue;
                    auto folded = Of::wide(value(what == TILE_BROADCAST ? root : of, from, salt));
                    for (int pe = 1; what < TILE_BROADCAST && pe < env.n; pe++) {
                        auto next = Of::wide(value(pe, from, salt));
                        bool sums = what == TILE_SUM || what == TILE_BY_ROOT, more = next > folded;
                        folded = sums ? folded + next : more == (what != TILE_MIN) ? next : folded;
                    }
                    expected[to] = Of::narrow(folded);
                }
            }
            if (memcmp(env.read(env.dest).data(), expected.data(), Env::ROOM * sizeof(T)))
                env.fail(std::string(name) + ", collective " + std::to_string(what) + ", scope " + std::to_string(scope));
            env.barrier();
        }
}

template <class T, class Env> void tiles_together_all(Env &env, const char *name) {
    using namespace nvshmemrs;
    auto two = [](long a, long b) { return sides(a, b); };
    auto far = two(1000, 1000);
    long n = env.n;
    // Sixteen bytes at once; with a boundary, and not aligned; transposed.
    tiles_together_case<T, 2>(env, name, {make_layout(two(32, 9), two(1, 48)), make_layout(two(32, 9), two(1, 64)), two(0, 0), far, true, 16, 32}, false);
    tiles_together_case<T, 2>(env, name, {make_layout(two(32, 9), two(1, 48)), make_layout(two(32, 9), two(1, 64)), two(3, 2), two(20, 8), true, 17, 32}, false);
    tiles_together_case<T, 2>(env, name, {make_layout(two(9, 8), two(1, 10)), make_layout(two(9, 8), two(12, 1)), two(0, 0), far, true, 2, 7}, false);
    // Beside each other, one below the other, and both.
    tiles_together_case<T, 1>(env, name, {make_layout(sides(40 * n), sides(1)), make_layout(sides(40), sides(1)), {{3}}, {{30}}, true, 16, 16}, true);
    tiles_together_case<T, 2>(env, name, {make_layout(two(16 * n, 5), two(1, 200)), make_layout(two(16, 5), two(1, 16)), two(0, 0), far, true, 16, 16}, true);
    tiles_together_case<T, 2>(env, name, {make_layout(two(5 * n, 16), two(48, 1)), make_layout(two(5, 16), two(20, 1)), two(0, 0), two(4, 13), true, 16, 16}, true);
}

template <class T, class Env> void tiles(Env &env, const char *name) {
    using namespace nvshmemrs;
    auto two = [](long a, long b) { return sides(a, b); };
    tile_case<T, 1>(env, name, {make_layout(sides(100), sides(1)), make_layout(sides(100), sides(1)), {}, {}, false, 16, 32});
    tile_case<T, 1>(env, name, {make_layout(sides(40), sides(3)), make_layout(sides(40), sides(2)), {{5}}, {{30}}, true, 3, 5});
    // Rows of sixteen bytes and more, in rows that are longer; then not aligned, then with elements left out.
    for (long shift : {0, 1})
        for (bool bounded : {false, true})
            tile_case<T, 2>(env, name, {make_layout(two(32, 9), two(1, 48)), make_layout(two(32, 9), two(1, 64)), two(3, 2), two(19, 8), bounded, 16 + shift, 32});
    tile_case<T, 2>(env, name, {make_layout(two(32, 9), two(1, 48)), make_layout(two(32, 9), two(1, 64)), two(0, 0), two(16, 9), true, 16, 32});
    // The neighbours are in the second dimension; transposed.
    tile_case<T, 2>(env, name, {make_layout(two(9, 32), two(48, 1)), make_layout(two(9, 32), two(64, 1)), {}, {}, false, 16, 16});
    tile_case<T, 2>(env, name, {make_layout(two(9, 8), two(1, 10)), make_layout(two(9, 8), two(12, 1)), {}, {}, false, 2, 7});
    // All left out.
    tile_case<T, 2>(env, name, {make_layout(two(9, 8), two(1, 10)), make_layout(two(9, 8), two(1, 10)), two(4, 9), two(10, 9), true, 0, 0});
    tile_case<T, 5>(env, name, {make_layout(sides(4, 3, 2, 3, 2), sides(1, 16, 50, 101, 330)),
                                make_layout(sides(4, 3, 2, 3, 2), sides(1, 4, 12, 24, 72)), sides(0, 1, 0, 0, 0),
                                sides(3, 3, 2, 3, 1), true, 9, 40});
}
#endif
