// Puts and gets of tiles, and functions for queue pairs: kernels, and a model that says what they write.
#pragma once

#include <nvshmemrs_qp.cuh>
#include <nvshmemrs_tile.cuh>

#include "names.hpp"

#ifndef __CUDACC_RTC__
#include <string>
#include <vector>
#endif

typedef nvshmemrs_device_state_t State;

template <int RANK> struct TileCase {
    nvshmemrs::Layout<RANK> to, from;
    nvshmemrs::Numbers<RANK> start, boundary;
    bool bounded;
    // Where the first element is.
    long dest_at, source_at;
};

// scope: thread, warp, warpgroup, block.
template <class T, int RANK> __global__ void tile(State s, T *dest, T *source, TileCase<RANK> c, int scope, bool get, int pe) {
    nvshmemrs::Tensor<T, nvshmemrs::Layout<RANK>> to(dest + c.dest_at, c.to), from(source + c.source_at, c.from);
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

// Functions for queue pairs, in the three scopes: they do what those without do.
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
        for (int d = 0; d < RANK; d++) elements *= c.to.shape.at[d];
        for (long i = 0; i < elements; i++) {
            long rest = i, to = c.dest_at, from = c.source_at;
            bool inside = true;
            for (int d = 0; d < RANK; d++) {
                at[d] = rest % c.to.shape.at[d];
                rest /= c.to.shape.at[d];
                to += at[d] * c.to.stride.at[d];
                from += at[d] * c.from.stride.at[d];
                inside = inside && (!c.bounded || c.start.at[d] + at[d] < c.boundary.at[d]);
            }
            if (inside) expected[to] = value(get ? right : left, from, what);
        }
        if (env.read(env.dest) != expected) env.fail(std::string(name) + ", case " + std::to_string(what));
        env.barrier();
    }
}

template <class T, class Env> void tiles(Env &env, const char *name) {
    using namespace nvshmemrs;
    auto two = [](long a, long b) { return make_shape(a, b); };
    tile_case<T, 1>(env, name, {make_layout(make_shape(100), make_stride(1)), make_layout(make_shape(100), make_stride(1)), {}, {}, false, 16, 32});
    tile_case<T, 1>(env, name, {make_layout(make_shape(40), make_stride(3)), make_layout(make_shape(40), make_stride(2)), {{5}}, {{30}}, true, 3, 5});
    // Rows of sixteen bytes and more, in rows that are longer; then not aligned, then with what is left out.
    for (long shift : {0, 1})
        for (bool bounded : {false, true})
            tile_case<T, 2>(env, name, {make_layout(two(32, 9), two(1, 48)), make_layout(two(32, 9), two(1, 64)), two(3, 2), two(19, 8), bounded, 16 + shift, 32});
    tile_case<T, 2>(env, name, {make_layout(two(32, 9), two(1, 48)), make_layout(two(32, 9), two(1, 64)), two(0, 0), two(16, 9), true, 16, 32});
    // The neighbours are in the second dimension; transposed.
    tile_case<T, 2>(env, name, {make_layout(two(9, 32), two(48, 1)), make_layout(two(9, 32), two(64, 1)), {}, {}, false, 16, 16});
    tile_case<T, 2>(env, name, {make_layout(two(9, 8), two(1, 10)), make_layout(two(9, 8), two(12, 1)), {}, {}, false, 2, 7});
    // All left out.
    tile_case<T, 2>(env, name, {make_layout(two(9, 8), two(1, 10)), make_layout(two(9, 8), two(1, 10)), two(4, 9), two(10, 9), true, 0, 0});
    tile_case<T, 5>(env, name, {make_layout(make_shape(4, 3, 2, 3, 2), make_stride(1, 16, 50, 101, 330)),
                                make_layout(make_shape(4, 3, 2, 3, 2), make_stride(1, 4, 12, 24, 72)), make_shape(0, 1, 0, 0, 0),
                                make_shape(3, 3, 2, 3, 1), true, 9, 40});
}
#endif
