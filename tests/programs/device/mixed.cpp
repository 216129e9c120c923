// Collectives of kernels that differ: some PEs send small ones by mail, others, compiled with NVSHMEMRS_DEVICE_NO_MAIL, meet as kernels of other
// languages do. And the rounds of reductions in place, which all languages must have alike.
#include "job.hpp"

static Pe pe;

static const dim3 THREADS(40);

// How often the members have met in a slot, or sent mail.
static u64 epoch(unsigned slot) {
    using namespace nvshmemrs::device;
    const Team *world = (const Team *)((const Job *)pe.state.job + 1);
    return ((const ::u64 *)world->epochs)[slot];
}

struct Values {
    u8 *dest, *source;
};

// The operands of one reduction.
struct Case {
    u64 count, dest_at, source_at;
    bool in_place;
    int scope;
    unsigned slot;
};

#define SUM(NAME, T)                                                                                                              \
    static int sum(T *dest, const T *source, const Case &c) {                                                                     \
        if (c.scope == 2) return nvshmemrs_##NAME##_sum_reduce_block(pe.state, NVSHMEMRS_TEAM_WORLD, dest, source, c.count, c.slot); \
        if (c.scope == 1 && threadIdx.x < 32)                                                                                     \
            return nvshmemrs_##NAME##_sum_reduce_warp(pe.state, NVSHMEMRS_TEAM_WORLD, dest, source, c.count, c.slot);             \
        if (threadIdx.x == 0) return nvshmemrs_##NAME##_sum_reduce(pe.state, NVSHMEMRS_TEAM_WORLD, dest, source, c.count, c.slot); \
        return 0;                                                                                                                 \
    }
SUM(schar, signed char)
SUM(short, short)
SUM(int, int)
SUM(double, double)

template <class T> static T value(int of, u64 i, int salt) { return (T)((of + 1) * (int)(i % 5 + 1) + salt % 7); }

// Reductions one after the other in one kernel, small and large, in place or not; a PE comes late at times.
template <class T> static void reductions(const char *name, Values &all, int salt) {
    const u64 sizes[] = {1, 32 / sizeof(T), 3, 33 / sizeof(T) + 1, 2, 200, 1};
    const int TIMES = 7;
    T *dest = (T *)all.dest, *source = (T *)all.source;
    int wrong = 0;
    auto kernel = [&] {
        for (int k = 0; k < TIMES; k++) {
            bool in_place = (salt + k) % 3 == 0;
            Case c = {sizes[(k + salt) % TIMES], (u64)(salt % 2), (u64)(k % 2), in_place, salt % 3, salt % 5 == 4 ? 8u : (unsigned)(salt % 8)};
            T *from = source + c.source_at, *to = in_place ? from : dest + c.dest_at;
            for (u64 i = threadIdx.x; i < 220; i += 40) source[i] = dest[i] = 77;
            __syncthreads();
            for (u64 i = threadIdx.x; i < c.count; i += 40) from[i] = value<T>(pe.me, i, k);
            if (threadIdx.x == 7 && salt % 4 == 1 && pe.me == salt % pe.n) usleep(1000);
            __syncthreads();
            int status = sum(to, from, c);
            __syncthreads();
            T total = 0;
            for (u64 i = threadIdx.x; i < c.count; i += 40) {
                total = 0;
                for (int p = 0; p < pe.n; p++) total = (T)(total + value<T>(p, i, k));
                wrong += to[i] != total;
            }
            wrong += status != 0 || to[c.count] != 77;
            if (salt % 2) wrong += nvshmemrs_barrier_all_block(pe.state, c.slot) != 0;
            __syncthreads();
        }
    };
    nvshmemrs::host::Options options;
    if (salt % 2) options = nvshmemrs::host::weak(pe.state);
    options.seed = salt + 1;
    nvshmemrs::host::launch(1, THREADS, kernel, options);
    check(wrong == 0, std::string(name) + ", case " + std::to_string(salt) + ": " + std::to_string(wrong) + " are wrong");
}

// The part of `from` for `to`.
static u8 part(int from, int to, u64 i, int round) { return (u8)(1 + from * 31 + to * 7 + i * 3 + round); }

#define GROUP(CALL)                                                          \
    if (scope == 2) status = nvshmemrs_##CALL##_block ARGS;                  \
    if (scope == 1 && threadIdx.x < 32) status = nvshmemrs_##CALL##_warp ARGS; \
    if (scope == 0 && threadIdx.x == 0) status = nvshmemrs_##CALL ARGS;

// Other collectives one after the other in one kernel, in an order of their own for each salt: each element, and the bytes behind.
static void exchanges(Values &all, int salt) {
    const u64 sizes[] = {1, 8, 3, 32, 16, 200, 2100};
    const int TIMES = 12;
    u8 *dest = all.dest, *source = all.source;
    int wrong = 0, scope = salt % 3;
    unsigned slot = salt % 5 == 4 ? 8u : (unsigned)(salt % 8);
    auto kernel = [&] {
        for (int k = 0; k < TIMES; k++) {
            int kind = (k + salt) % 4, root = (k + salt) % pe.n, status = 0;
            u64 n = sizes[(k * 5 + salt) % 7], parts = kind < 2 ? n * pe.n : n;
            u8 *to = dest + salt % 3, *from = source + k % 2;
            for (u64 i = threadIdx.x; i < 8192; i += 40) dest[i] = source[i] = 77;
            __syncthreads();
            for (u64 i = threadIdx.x; i < n; i += 40)
                for (int m = 0; m < (kind == 1 || kind == 3 ? pe.n : 1); m++) from[m * n + i] = part(pe.me, kind == 1 || kind == 3 ? m : 0, i, k);
            if (threadIdx.x == 7 && salt % 4 == 1 && pe.me == salt % pe.n) usleep(1000);
            __syncthreads();
#define ARGS (pe.state, NVSHMEMRS_TEAM_WORLD, to, from, n, slot)
            if (kind == 0) { GROUP(uchar_fcollect) }
            if (kind == 1) { GROUP(uchar_alltoall) }
            if (kind == 3) { GROUP(uchar_sum_reducescatter) }
#undef ARGS
#define ARGS (pe.state, NVSHMEMRS_TEAM_WORLD, to, from, n, root, slot)
            // A root that has nothing to receive must not run ahead of the others.
            for (int again = 0; again < 3 && kind == 2 && status == 0; again++) { GROUP(uchar_broadcast) }
#undef ARGS
            __syncthreads();
            for (u64 i = threadIdx.x; i < parts; i += 40) {
                u8 wanted = 0;
                if (kind == 0) wanted = part((int)(i / n), 0, i % n, k);
                if (kind == 1) wanted = part((int)(i / n), pe.me, i % n, k);
                if (kind == 2) wanted = part(root, 0, i, k);
                for (int p = 0; kind == 3 && p < pe.n; p++) wanted = (u8)(wanted + part(p, pe.me, i, k));
                wrong += to[i] != wanted;
            }
            wrong += status != 0 || to[parts] != 77;
            if (salt % 2) wrong += nvshmemrs_barrier_all_block(pe.state, slot) != 0;
            __syncthreads();
        }
    };
    nvshmemrs::host::Options options;
    if (salt % 2) options = nvshmemrs::host::weak(pe.state);
    options.seed = salt + 1;
    nvshmemrs::host::launch(1, THREADS, kernel, options);
    check(wrong == 0, "exchanges, case " + std::to_string(salt) + ": " + std::to_string(wrong) + " are wrong");
}

static u64 ceil_of(u64 a, u64 b) { return (a + b - 1) / b; }

// The rule that the header states and that all languages keep.
static u64 rounds(u64 size, u64 mixed, u64 count, u64 threads) {
    u64 pack = size == 1 ? 8 : 16, packs = mixed % 16 ? 0 : count * size / pack, single = count - packs * pack / size;
    return ceil_of(packs, (size <= 2 ? 2 : 4) * threads) + ceil_of(single, threads);
}

template <class T> static void in_rounds(const char *name, Values &all) {
    for (u64 at : {(u64)0, (u64)1})
        for (u64 count : {(u64)40, (u64)1000, (u64)3001})
            for (int scope = 0; scope < 3; scope++) {
                T *data = (T *)all.source + at;
                for (u64 i = 0; i < count; i++) data[i] = value<T>(pe.me, i, 0);
                pe.barrier();
                u64 before = epoch(9);
                auto kernel = [&] { sum(data, data, {count, at, at, true, scope, 9}); };
                nvshmemrs::host::launch(1, THREADS, kernel);
                u64 threads = scope == 2 ? 40 : scope == 1 ? 32 : 1, met = epoch(9) - before;
                check(met == 1 + rounds(sizeof(T), (u64)data, count, threads),
                      std::string(name) + " in place: " + std::to_string(count) + " elements took " + std::to_string(met) + " meetings");
                pe.barrier();
            }
}

int main() {
    pe = start();
    Values all = {pe.array<u8>(65536), pe.array<u8>(65536)};
    pe.barrier();
    for (int salt = 0; salt < 24; salt++) {
        reductions<signed char>("schar", all, salt);
        reductions<short>("short", all, salt);
        reductions<int>("int", all, salt);
        reductions<double>("double", all, salt);
        exchanges(all, salt);
    }
    in_rounds<signed char>("schar", all);
    in_rounds<short>("short", all);
    in_rounds<int>("int", all);
    in_rounds<double>("double", all);
    pe.barrier();
    printf("mixed ok PE %d of %d\n", pe.me, pe.n);
    call(nvshmemrs_finalize(pe.runtime));
}
