// The header's guarantees of order, on memory that is as weak as CUDA allows: each test looks for a forbidden outcome. The program
// prints the names of the tests that saw theirs.
#include "job.hpp"

#include <map>

static Pe pe;

static const dim3 THREADS(40);
static const int N = 600, ROUNDS = 12;

static std::map<std::string, int> seen;
static void expect(bool good, const std::string &test) {
    if (!good) seen[test]++;
}

// PE 1 reads slowly.
static nvshmemrs::host::Options options(int round) { return nvshmemrs::host::weak(pe.state, round, pe.me == 1 ? 500 : 0); }
static int fresh(const int *data, int round) {
    int good = 0;
    for (int i = 0; i < N; i++) good += __atomic_load_n(data + i, __ATOMIC_RELAXED) == round;
    return good;
}

// Data and a signal to the right neighbour; the source is written just before, each element by another thread than the thread that copies it.
static void message(const char *test, int scope, bool nbi) {
    int *dest = pe.array<int>(N), *source = pe.array<int>(N);
    u64 *signal = pe.array<u64>(1);
    *signal = 0;
    for (int round = 1; round <= ROUNDS; round++) {
        pe.barrier();
        int good = 0;
        auto kernel = [&] {
            unsigned thread = threadIdx.x, threads = scope == 0 ? 1 : scope == 1 ? 32 : 40;
            if (thread >= threads) return;
            for (unsigned i = 0; i < N; i++)
                if ((i / 3 + 7) % threads == thread) source[i] = round;
            const State &s = pe.state;
            int to = pe.right();
            if (scope == 0 && !nbi) nvshmemrs_int_put_signal(s, dest, source, N, signal, 1, NVSHMEMRS_SIGNAL_ADD, to);
            if (scope == 1 && !nbi) nvshmemrs_int_put_signal_warp(s, dest, source, N, signal, 1, NVSHMEMRS_SIGNAL_ADD, to);
            if (scope == 2 && !nbi) nvshmemrs_int_put_signal_block(s, dest, source, N, signal, 1, NVSHMEMRS_SIGNAL_ADD, to);
            if (scope == 0 && nbi) nvshmemrs_int_put_signal_nbi(s, dest, source, N, signal, round, NVSHMEMRS_SIGNAL_SET, to);
            if (scope == 1 && nbi) nvshmemrs_int_put_signal_nbi_warp(s, dest, source, N, signal, round, NVSHMEMRS_SIGNAL_SET, to);
            if (scope == 2 && nbi) nvshmemrs_int_put_signal_nbi_block(s, dest, source, N, signal, round, NVSHMEMRS_SIGNAL_SET, to);
            if (thread == 0) {
                nvshmemrs_signal_wait_until(s, signal, NVSHMEMRS_CMP_GE, round);
                good = fresh(dest, round);
            }
            // Delayed stores become visible only after all threads have ended.
            if (scope == 1) __syncwarp();
            if (scope == 2) __syncthreads();
        };
        nvshmemrs::host::launch(1, THREADS, kernel, options(round));
        expect(good == N, test);
    }
}

// The program's own order: put without signal, a meeting of the block, fence, signal.
static void fenced() {
    int *dest = pe.array<int>(N), *source = pe.array<int>(N);
    u64 *signal = pe.array<u64>(1);
    *signal = 0;
    for (int round = 1; round <= ROUNDS; round++) {
        for (int i = 0; i < N; i++) source[i] = round;
        pe.barrier();
        int good = 0;
        auto kernel = [&] {
            nvshmemrs_int_put_nbi_block(pe.state, dest, source, N, pe.right());
            __syncthreads();
            if (threadIdx.x == 0) {
                nvshmemrs_fence(pe.state);
                nvshmemrs_signal_op(pe.state, signal, round, NVSHMEMRS_SIGNAL_SET, pe.right());
                nvshmemrs_signal_wait_until(pe.state, signal, NVSHMEMRS_CMP_GE, round);
                good = fresh(dest, round);
            }
            __syncthreads();
        };
        nvshmemrs::host::launch(1, THREADS, kernel, options(round));
        expect(good == N, "fence");
    }
}

// Puts by all threads before a barrier are visible to all threads after it; and no PE leaves the barrier early.
static void barriers() {
    int *dest = pe.array<int>(N), *source = pe.array<int>(N);
    for (int i = 0; i < N; i++) dest[i] = 0;
    pe.barrier();
    for (int round = 1; round <= ROUNDS; round++) {
        int good = 0;
        auto kernel = [&] {
            for (unsigned i = threadIdx.x; i < N; i += 40) source[i] = round;
            nvshmemrs_int_put_nbi_block(pe.state, dest, source, N, pe.right());
            nvshmemrs_barrier_all_block(pe.state, 3);
            if (threadIdx.x == 39) good = fresh(dest, round);
            nvshmemrs_barrier_all_block(pe.state, 3);
        };
        if (pe.me == 1 && round % 2) usleep(2000);
        nvshmemrs::host::launch(1, THREADS, kernel, options(round));
        expect(good == N, "barrier");
    }
}

// A source may be written as soon as the collective has returned, in a slot with mail and in one without. The root has nothing to copy, so it
// is ahead of the others.
static void sources(unsigned slot, int count) {
    int *data = pe.array<int>(N);
    for (int round = 1; round <= ROUNDS; round++) {
        for (int i = 0; i < N; i++) data[i] = pe.me == 0 || i >= count ? round : -1;
        pe.barrier();
        auto kernel = [&] {
            nvshmemrs_int_broadcast_block(pe.state, NVSHMEMRS_TEAM_WORLD, data, data, count, 0, slot);
            if (pe.me == 0)
                for (int i = threadIdx.x; i < count; i += 40) __atomic_store_n(data + i, -2, __ATOMIC_RELAXED);
        };
        nvshmemrs::host::launch(1, THREADS, kernel, options(round));
        expect(pe.me == 0 || fresh(data, round) == N, "source");
        pe.barrier();
    }
}

// Reductions in place, longer than the threads' registers hold at once.
static void in_place() {
    int *data = pe.array<int>(N * 4);
    for (int round = 1; round <= ROUNDS; round++) {
        for (int i = 0; i < N * 4; i++) data[i] = round;
        pe.barrier();
        auto kernel = [&] { nvshmemrs_int_sum_reduce_block(pe.state, NVSHMEMRS_TEAM_WORLD, data, data, N * 4, 5); };
        nvshmemrs::host::launch(1, THREADS, kernel, options(round));
        for (int i = 0; i < N * 4; i++) expect(data[i] == round * pe.n, "in place");
        pe.barrier();
    }
}

// Small reductions, one right after the other, with mail and in a slot without: each reduces its own operands, also those that other threads of the
// group have written, and the source may be overwritten at once.
static void small(const char *name, unsigned slot) {
    const int COUNT = 7, TIMES = 6;
    int *data = pe.array<int>(COUNT);
    for (int round = 1; round <= ROUNDS; round++) {
        int good = 0;
        auto kernel = [&] {
            int i = threadIdx.x;
            for (int k = 0; k < TIMES; k++) {
                if (i < COUNT) data[i] = round * 100 + k * 10 + i + pe.me;
                nvshmemrs_int_sum_reduce_block(pe.state, NVSHMEMRS_TEAM_WORLD, data, data, COUNT, slot);
                if (i < COUNT) good += data[i] == pe.n * (round * 100 + k * 10 + i) + pe.n * (pe.n - 1) / 2;
            }
        };
        nvshmemrs::host::launch(1, THREADS, kernel, options(round));
        expect(good == COUNT * TIMES, name);
    }
}

int main() {
    pe = start();
    const char *scopes[] = {"thread", "warp", "block"};
    for (int scope = 0; scope < 3; scope++)
        for (bool nbi : {false, true}) message((std::string("message ") + scopes[scope]).c_str(), scope, nbi);
    fenced();
    barriers();
    // Of 160 bytes for 40 threads, and longer than words with flags may be.
    sources(4, 40);
    sources(4, N);
    sources(8, N);
    in_place();
    small("mail", 6);
    small("no mail", 8);
    pe.barrier();
    for (auto &[test, times] : seen) printf("seen: %s, %d times\n", test.c_str(), times);
    if (seen.empty()) printf("litmus ok PE %d of %d\n", pe.me, pe.n);
    call(nvshmemrs_finalize(pe.runtime));
    return !seen.empty();
}
