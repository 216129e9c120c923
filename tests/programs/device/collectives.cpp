// Every collective in every type and scope: the destination has the bytes that the host's own collective writes, and nothing around it changes.
#include "job.hpp"

#include "collectives.cuh"

#include <cmath>
#include <vector>

static Pe pe;

static const dim3 THREADS(10, 4);
static const u64 ROOM = 4096, DEST = 64;

struct Collectives {
    u8 *dest, *source, *expected;
    int status[64];
    int salt = 0;

    Collectives() : dest(pe.array<u8>(ROOM)), source(pe.array<u8>(ROOM)), expected(pe.array<u8>(ROOM)) {}

    // The same numbers on every machine, others on each PE.
    void fill(int32_t dtype, bool nan) {
        u64 state = 0x9e3779b97f4a7c15ull * (u64)(pe.me + 1 + 64 * ++salt);
        auto random = [&] { return state ^= state << 13, state ^= state >> 7, state ^= state << 17; };
        for (u64 i = 0; i < ROOM; i++) source[i] = (u8)(random() >> 11), dest[i] = expected[i] = 0xee;
        auto numbers = [&](auto *values, u64 count, auto make) {
            for (u64 i = 0; i < count; i++) values[i] = make(nan && random() % 8 == 0 ? NAN : (float)((long)(random() % 4001) - 2000) / 64);
        };
        if (dtype == NVSHMEMRS_DTYPE_FLOAT) numbers((float *)source, ROOM / 4, [](float x) { return x; });
        if (dtype == NVSHMEMRS_DTYPE_DOUBLE) numbers((double *)source, ROOM / 8, [](float x) { return (double)x; });
        if (dtype == NVSHMEMRS_DTYPE_HALF) numbers((u16 *)source, ROOM / 2, [](float x) { return nvshmemrs::device::float_to_half(x); });
        if (dtype == NVSHMEMRS_DTYPE_BFLOAT16)
            numbers((u16 *)source, ROOM / 2, [](float x) { return (u16)(nvshmemrs::device::bits<unsigned>(x) >> 16); });
    }

    // Runs a kernel, with the destination in place or not; `host` computes the expected contents.
    template <class Host> void one(const std::string &name, void (*kernel)(Collective, int), int what, u64 n, u8 *to, Host host) {
        Collective c = {pe.state, NVSHMEMRS_TEAM_WORLD, to, source, n, pe.n - 1, (unsigned)salt % 128, status};
        for (int &one : status) one = 77;
        pe.barrier();
        host(c);
        pe.barrier();
        nvshmemrs::host::Options options;
        if (salt % 2) options = nvshmemrs::host::weak(pe.state);
        options.seed = salt;
        nvshmemrs::host::launch(1, THREADS, [&] { kernel(c, what); }, options);
        int calling = what % 3 == 0 ? 1 : what % 3 == 1 ? 32 : 40;
        for (int i = 0; i < 64; i++) check(status[i] == (i < calling ? 0 : 77), name + ": the status of thread " + std::to_string(i));
    }

    void compare(const std::string &name, int what, const u8 *got) {
        for (u64 i = 0; i < ROOM; i++)
            if (got[i] != expected[i])
                fail(name + " function " + std::to_string(what) + ": byte " + std::to_string(i) + " is " + std::to_string(got[i]) + ", not " +
                     std::to_string(expected[i]));
        pe.barrier();
    }

    void moves(const std::string &name, void (*kernel)(Collective, int), u64 size) {
        for (int what = 0; what < 9; what++)
            for (u64 n : {(u64)1, 900 / size / pe.n}) {
                fill(0, false);
                u64 at = DEST + size * (what % 2);
                one(name, kernel, what, n, dest + at, [&](const Collective &c) {
                    u64 bytes = n * size;
                    if (what < FCOLLECT_) call(nvshmemrs_broadcast(pe.runtime, 0, expected + at, source, bytes, c.root));
                    else if (what < ALLTOALL_) call(nvshmemrs_fcollect(pe.runtime, 0, expected + at, source, bytes));
                    else call(nvshmemrs_alltoall(pe.runtime, 0, expected + at, source, bytes));
                });
                compare(name, what, dest);
            }
    }

    void reductions(const std::string &name, void (*kernel)(Collective, int), u64 size, int32_t dtype, int ops) {
        for (int op = 1; op <= ops; op++)
            for (int k = 0; k < 6; k++) {
                int what = op * 6 + k;
                bool scatter = k >= 3, nan = op == NVSHMEMRS_OP_MIN || op == NVSHMEMRS_OP_MAX;
                // Whole packs and the rest of a pack; beside each other; and in place.
                for (int way = 0; way < 3; way++) {
                    u64 n = way == 0 ? 1 : (scatter ? 240 : 720) / size + way % 2, at = DEST + (way == 1 ? size : 0);
                    // Each function runs at length; the other ways take turns.
                    if (way == 2 && k % 3 != salt % 3) continue;
                    if (way == 0 && salt % 4 != 0) continue;
                    fill(dtype, nan);
                    auto host = [&](u8 *to, const u8 *from) {
                        call(scatter ? nvshmemrs_reducescatter(pe.runtime, 0, to, from, n, dtype, op) : nvshmemrs_reduce(pe.runtime, 0, to, from, n, dtype, op));
                    };
                    if (way < 2) {
                        one(name, kernel, what, n, dest + at, [&](const Collective &) { host(expected + at, source); });
                        compare(name, what, dest);
                    } else {
                        one(name, kernel, what, n, source, [&](const Collective &) {
                            host(expected, source);
                            memcpy(expected + n * size, source + n * size, ROOM - n * size);
                        });
                        compare(name + " in place", what, source);
                    }
                }
            }
    }

    void maxloc() {
        for (int what = FIRST_MAXLOC; what < MAXLOC_ + 3; what++) {
            fill(0, false);
            double2 *from = (double2 *)source, *to = (double2 *)(dest + DEST);
            for (int i = 0; i < 11; i++) from[i] = {(double)((i * 7 + pe.me * 5) % 4), pe.me * 100.0 + i};
            one("maxloc", meets, what, 11, (u8 *)to, [](const Collective &) {});
            for (int i = 0; i < 11; i++) {
                double2 best = {-1, 0};
                for (int p = 0; p < pe.n; p++)
                    if ((i * 7 + p * 5) % 4 > best.x) best = {(double)((i * 7 + p * 5) % 4), p * 100.0 + i};
                check(to[i].x == best.x && to[i].y == best.y, "maxloc: element " + std::to_string(i));
            }
            check(dest[DEST - 1] == 0xee && dest[DEST + 11 * 16] == 0xee, "maxloc: the neighbours");
            pe.barrier();
        }
    }
};

#ifndef NVSHMEM_NAMES
// Blocks that meet at the same time in slots of their own, again and again, and all scopes.
__global__ static void many(Collective c, int *failures) {
    int wrong = 0;
    for (int round = 0; round < 20; round++) {
        if (threadIdx.x < 32) wrong += nvshmemrs_barrier_warp(c.state, c.team, 3 * blockIdx.x + 1) != 0;
        if (threadIdx.x == 39) wrong += nvshmemrs_sync_all(c.state, 3 * blockIdx.x + 2) != 0;
        wrong += nvshmemrs_team_sync_block(c.state, c.team, 3 * blockIdx.x) != 0;
    }
    if (wrong) __atomic_fetch_add(failures, 1, __ATOMIC_SEQ_CST);
}
#endif

// A PE that comes late is waited for, in every scope of every kind of meeting.
static void late(u64 *word) {
    static int status[64];
    for (int what = 0; what < MAXLOC_; what++) {
        *word = 0;
        pe.barrier();
        Collective c = {pe.state, NVSHMEMRS_TEAM_WORLD, nullptr, nullptr, 0, 0, 5, status};
        if (pe.me == pe.n - 1) {
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
            for (int p = 0; p < pe.n; p++) {
                void *place;
                call(nvshmemrs_ptr(pe.runtime, word, p, &place));
                __atomic_store_n((u64 *)place, 1, __ATOMIC_RELEASE);
            }
        }
        nvshmemrs::host::launch(1, THREADS, [&] { meets(c, what); });
        check(__atomic_load_n(word, __ATOMIC_RELAXED) == 1, "meeting " + std::to_string(what) + " ended before all had come");
        pe.barrier();
    }
}

__global__ static void wrong_team(State s, u64 team, unsigned slot, int *got) {
    got[0] = CALL(barrier, s, TEAM(team) SLOT(slot));
    got[1] = CALL(int_sum_reduce, s, TEAM(team), got + 4, got + 4, 1 SLOT(slot));
    got[2] = CALL(team_my_pe, s, TEAM(team));
    got[3] = CALL(team_n_pes, s, TEAM(team));
}

static void teams() {
    int got[5];
    for (u64 team : {~0ul, 7ul << 32, 63ul}) {
        nvshmemrs::host::launch(1, 1, [&] { wrong_team(pe.state, team, 0, got); });
        check(got[0] == -1 && got[1] == -1 && got[2] == -1 && got[3] == -1, "a team that there is not");
    }
#ifndef NVSHMEM_NAMES
    nvshmemrs::host::launch(1, 1, [&] { wrong_team(pe.state, 0, 128, got); });
    check(got[0] == -1 && got[1] == -1 && got[2] == pe.me && got[3] == pe.n, "a slot that there is not");
#endif
}

__global__ static void with_team(State s, u64 team, int *dest, int *source, int *got) {
    if (threadIdx.x == 0) {
        got[0] = CALL(team_my_pe, s, TEAM(team));
        got[1] = CALL(team_n_pes, s, TEAM(team));
        got[2] = nvshmemrs_team_translate_pe(s, team, 1, NVSHMEMRS_TEAM_WORLD);
        got[3] = nvshmemrs_team_translate_pe(s, NVSHMEMRS_TEAM_WORLD, 0, team);
    }
    int wrong = nvshmemrs_int_fcollect_block(s, team, dest, source, 3, blockIdx.x);
    wrong += nvshmemrs_int_sum_reduce_block(s, team, dest + 12, source, 3, blockIdx.x);
    if (threadIdx.x == 0) got[4] = wrong;
}

// A team that the program makes: all PEs but the first. Afterwards it is none.
static void made() {
    nvshmemrs_team_t team;
    call(nvshmemrs_team_split_strided(pe.runtime, NVSHMEMRS_TEAM_WORLD, 1, 1, pe.n - 1, nullptr, 0, &team));
    int *dest = pe.array<int>(16), *source = pe.array<int>(3), got[5];
    for (int round = 1; round <= 3; round++) {
        for (int i = 0; i < 16; i++) dest[i] = -7;
        for (int i = 0; i < 3; i++) source[i] = pe.me * 10 * round + i;
        pe.barrier();
        if (pe.me > 0) {
            nvshmemrs::host::launch(1, 40, [&] { with_team(pe.state, team, dest, source, got); });
            bool alone = pe.n == 2;
            check(got[0] == pe.me - 1 && got[1] == pe.n - 1 && got[2] == (alone ? -1 : 2) && got[3] == -1 && got[4] == 0, "a team of the program's");
            for (int i = 0; i < 16; i++) {
                int sum = 0;
                for (int p = 1; p < pe.n; p++) sum += p * 10 * round + i - 12;
                int expected = i < 3 * (pe.n - 1) ? (1 + i / 3) * 10 * round + i % 3 : i < 12 || i == 15 ? -7 : sum;
                check(dest[i] == expected, "a collective of a team of the program's");
            }
        }
        pe.barrier();
    }
    if (pe.me == 0) check(team == NVSHMEMRS_TEAM_INVALID, "no member has no team");
    call(nvshmemrs_team_destroy(pe.runtime, team));
    nvshmemrs::host::launch(1, 40, [&] { with_team(pe.state, team, dest, source, got); });
    check(got[0] == -1 && got[1] == -1 && got[2] == -1 && got[3] == -1 && got[4] == -2, "a team that is no more");
}

int main() {
    pe = start();
    Collectives all;
#define MOVES_TEST(NAME, T, DTYPE) all.moves(#NAME, moves_##NAME, sizeof(T));
    TYPED_MOVES(MOVES_TEST)
    all.moves("mem", moves_mem, 1);
#define NUMBERS_TEST(NAME, T, DTYPE) all.reductions(#NAME, reduce_##NAME, sizeof(T), NVSHMEMRS_DTYPE_##DTYPE, 4);
    REDUCE_NUMBERS_TYPES(NUMBERS_TEST)
#define BITS_TEST(NAME, T, DTYPE) all.reductions(#NAME, reduce_##NAME, sizeof(T), NVSHMEMRS_DTYPE_##DTYPE, 7);
    REDUCE_BITS_TYPES(BITS_TEST)
    all.maxloc();
#ifndef NVSHMEM_NAMES
    int failures = 0;
    Collective c = {pe.state, NVSHMEMRS_TEAM_WORLD, nullptr, nullptr, 0, 0, 0, nullptr};
    pe.barrier();
    nvshmemrs::host::launch(3, 40, [&] { many(c, &failures); });
    check(failures == 0, "blocks that meet at the same time");
#endif
    late(pe.array<u64>(1));
    teams();
    made();
    pe.barrier();
    printf("collectives ok PE %d of %d\n", pe.me, pe.n);
    call(nvshmemrs_finalize(pe.runtime));
}
