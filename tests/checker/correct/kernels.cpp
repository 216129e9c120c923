// Six correct kernels that look suspicious.
#define MENDED
#include "../planted/job.cuh"

namespace {

typedef unsigned long u64;

constexpr int WORDS = 32, ROUNDS = 6;

// Each thread puts words of its own, and one thread announces them all, after a meeting and a fence. Two blocks have a half each.
__global__ void halo(State state, long *inbox, u64 *full, u64 *emptied, long *sum) {
    const int me = nvshmemrs_my_pe(state), n = nvshmemrs_n_pes(state), right = (me + 1) % n, left = (me + n - 1) % n;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int round = 1; round <= ROUNDS; round++) {
        nvshmemrs_signal_wait_until(state, emptied + blockIdx.x, NVSHMEMRS_CMP_EQ, round - 1);
        nvshmemrs_long_p(state, inbox + i, 1000 * round + i, right);
        __syncthreads();
        if (threadIdx.x == 0) {
            nvshmemrs_fence(state);
            nvshmemrs_signal_op(state, full + blockIdx.x, 1, NVSHMEMRS_SIGNAL_ADD, right);
        }
        nvshmemrs_signal_wait_until(state, full + blockIdx.x, NVSHMEMRS_CMP_EQ, round);
        if (nvshmemrs_long_g(state, inbox + i, me) == 1000 * round + i) nvshmemrs_long_atomic_inc(state, sum, me);
        __syncthreads();
        if (threadIdx.x == 0) nvshmemrs_signal_op(state, emptied + blockIdx.x, 1, NVSHMEMRS_SIGNAL_ADD, left);
    }
}

// A counter on PE 0 behind a lock.
__global__ void locked(State state, long *lock, long *counter) {
    const int me = nvshmemrs_my_pe(state);
    for (int round = 0; round < ROUNDS; round++) {
        while (nvshmemrs_long_atomic_compare_swap(state, lock, 0, me + 1, 0) != 0) {}
        nvshmemrs_long_p(state, counter, nvshmemrs_long_g(state, counter, 0) + 1, 0);
        nvshmemrs_quiet(state);
        nvshmemrs_long_atomic_set(state, lock, 0, 0);
    }
}

// Collectives that reuse their memory: nothing but they order their rounds.
__global__ void collectives(State state, long *all, long *mine, long *sum) {
    const int me = nvshmemrs_my_pe(state), n = nvshmemrs_n_pes(state);
    for (int round = 0; round < ROUNDS; round++) {
        nvshmemrs_long_sum_reduce_block(state, NVSHMEMRS_TEAM_WORLD, sum, sum, WORDS);
        nvshmemrs_long_broadcast_block(state, NVSHMEMRS_TEAM_WORLD, mine, sum, WORDS, round % n, 1);
        nvshmemrs_long_fcollect_block(state, NVSHMEMRS_TEAM_WORLD, all, mine, WORDS);
        nvshmemrs_barrier_all_block(state);
        nvshmemrs_long_get_block(state, mine, all, WORDS, (me + round) % n);
        nvshmemrs_sync_all_block(state);
    }
}

// The source of a put and the dest of a get are used again after quiet.
__global__ void pending(State state, long *inbox, long *work, long *fetched, u64 *full, u64 *emptied) {
    const int me = nvshmemrs_my_pe(state), n = nvshmemrs_n_pes(state), right = (me + 1) % n, left = (me + n - 1) % n;
    for (int round = 1; round <= ROUNDS; round++) {
        nvshmemrs_signal_wait_until(state, emptied, NVSHMEMRS_CMP_GE, round - 1);
        nvshmemrs_long_put_nbi_warp(state, inbox, work, WORDS, right);
        nvshmemrs_quiet(state);
        __syncwarp();
        if (threadIdx.x == 0) nvshmemrs_signal_op(state, full, round, NVSHMEMRS_SIGNAL_SET, right);
        nvshmemrs_signal_wait_until(state, full, NVSHMEMRS_CMP_EQ, round);
        nvshmemrs_long_get_nbi_warp(state, fetched, inbox, WORDS, me);
        nvshmemrs_quiet(state);
        __syncwarp();
        nvshmemrs_long_put_warp(state, work, fetched, WORDS, me);
        if (threadIdx.x == 0) nvshmemrs_signal_op(state, emptied, round, NVSHMEMRS_SIGNAL_SET, left);
        __syncwarp();
    }
}

// A queue on PE 0: the PE with a ticket owns the ticket's place, and publishes it by an atomic operation.
__global__ void queue(State state, long *tickets, long *places, long *ready) {
    const int me = nvshmemrs_my_pe(state), n = nvshmemrs_n_pes(state);
    for (int round = 0; round < ROUNDS; round++) {
        long ticket = nvshmemrs_long_atomic_fetch_inc(state, tickets, 0);
        nvshmemrs_long_p(state, places + ticket, 7 * ticket, 0);
        nvshmemrs_fence(state);
        nvshmemrs_long_atomic_inc(state, ready, 0);
    }
    if (me != 0) return;
    nvshmemrs_long_wait_until(state, ready, NVSHMEMRS_CMP_EQ, n * ROUNDS);
    for (int i = 0; i < n * ROUNDS; i++)
        if (nvshmemrs_long_g(state, places + i, 0) != 7 * i) nvshmemrs_long_p(state, ready, -1, 0);
    nvshmemrs_quiet(state);
}

// Answers the host of the left neighbour.
__global__ void answer(State state, long *question, long *reply, u64 *asked, u64 *answered) {
    const int me = nvshmemrs_my_pe(state), n = nvshmemrs_n_pes(state), left = (me + n - 1) % n;
    nvshmemrs_signal_wait_until(state, asked, NVSHMEMRS_CMP_EQ, 1);
    nvshmemrs_long_put_signal_block(state, reply, question, WORDS, answered, 1, NVSHMEMRS_SIGNAL_SET, left);
}

} // namespace

int main() {
    join_with_kernels();
    long *inbox = zeroes<long>(WORDS), *sum = zeroes<long>(WORDS), *mine = zeroes<long>(WORDS), *all = zeroes<long>(WORDS * n);
    long *words = zeroes<long>(8), *places = zeroes<long>(ROUNDS * n), *work = zeroes<long>(WORDS), *fetched = zeroes<long>(WORDS);
    long *landed = zeroes<long>(WORDS), *question = zeroes<long>(WORDS), *reply = zeroes<long>(WORDS), text[WORDS];
    u64 *signals = zeroes<u64>(8), seen;

    LAUNCH(2, WORDS / 2, halo, state, inbox, signals, signals + 2, words);
    EXPECT(element(words, 0) == WORDS * ROUNDS);
    LAUNCH(1, 1, locked, state, words + 1, words + 2);
    barrier();
    EXPECT(me != 0 || element(words, 2) == ROUNDS * n);
    for (int i = 0; i < WORDS; i++) text[i] = i + 1;
    CALL(nvshmemrs_put(rt, sum, text, sizeof text, me));
    CALL(nvshmemrs_quiet(rt));
    LAUNCH(1, 8, collectives, state, all, mine, sum);
    long power = 1;
    for (int round = 0; round < ROUNDS; round++) power *= n;
    EXPECT(element(mine, WORDS - 1) == power * WORDS);
    LAUNCH(1, 32, pending, state, landed, work, fetched, signals + 4, signals + 5);
    LAUNCH(1, 1, queue, state, words + 3, places, words + 4);
    EXPECT(me != 0 || element(words, 4) == ROUNDS * n);

    // The host asks its right neighbour's kernel.
    for (int i = 0; i < WORDS; i++) text[i] = 10 * me + i;
    CALL(nvshmemrs_put_signal(rt, question, text, sizeof text, signals + 6, 1, NVSHMEMRS_SIGNAL_SET, (me + 1) % n));
    LAUNCH(1, 8, answer, state, question, reply, signals + 6, signals + 7);
    CALL(nvshmemrs_signal_wait(rt, signals + 7, NVSHMEMRS_CMP_EQ, 1, &seen));
    EXPECT(element(reply, WORDS - 1) == 10 * me + WORDS - 1);
    barrier();
    return leave();
}
