/* Six kernels, each with a bug of its own kind.
 *
 * Bug: a neighbour's block is read without a barrier after the put; a signal comes without a fence after its data; the source of a
 * put_nbi is given away before quiet; two PEs put to overlapping places; one of two signals is waited for; a block is put again before it has
 * been read.
 * Not instrumented: kernels use fibers.
 * Problems: 6
 * Expect: read early or write early: put at A, get at B
 * Expect: missing fence: put at C, get at D
 * Expect: write early: put_nbi at E, put at F
 * Expect: two writers: put at G, put at G
 * Expect: read early or write early: put_signal at H, get at I
 * Expect: write early or read early: put_signal at J, get at K
 */
#include "job.cuh"

namespace {

typedef unsigned long u64;

constexpr int WORDS = 32, ROUNDS = 8;

// Each PE puts a block to its right neighbour, and reads what its left one has put.
__global__ void exchange(State state, long *inbox, long *source, long *copy) {
    const int me = nvshmemrs_my_pe(state), n = nvshmemrs_n_pes(state);
    nvshmemrs_long_put_block(state, inbox, source, WORDS, (me + 1) % n); // A
    IF_MENDED(nvshmemrs_barrier_all_block(state));
    nvshmemrs_long_get_block(state, copy, inbox, WORDS, me); // B
}

// The same with a signal.
__global__ void announce(State state, long *inbox, long *source, long *copy, u64 *signal) {
    const int me = nvshmemrs_my_pe(state), right = (me + 1) % nvshmemrs_n_pes(state);
    nvshmemrs_long_put(state, inbox, source, WORDS, right); // C
    IF_MENDED(nvshmemrs_fence(state));
    nvshmemrs_signal_op(state, signal, 1, NVSHMEMRS_SIGNAL_SET, right);
    nvshmemrs_signal_wait_until(state, signal, NVSHMEMRS_CMP_GE, 1);
    nvshmemrs_long_get(state, copy, inbox, WORDS, me); // D
}

// A PE that has sent its block to the right tells its left neighbour that the place is free, which puts another one there.
__global__ void hand_on(State state, long *work, long *inbox, long *next, u64 *is_free) {
    const int me = nvshmemrs_my_pe(state), n = nvshmemrs_n_pes(state), right = (me + 1) % n;
    nvshmemrs_long_put_nbi(state, inbox, work, WORDS, right); // E
    IF_MENDED(nvshmemrs_quiet(state));
    nvshmemrs_signal_op(state, is_free, 1, NVSHMEMRS_SIGNAL_SET, (me + n - 1) % n);
    nvshmemrs_signal_wait_until(state, is_free, NVSHMEMRS_CMP_EQ, 1);
    nvshmemrs_long_put(state, work, next, WORDS, right); // F
}

// Each PE has a part of the board of PE 0.
__global__ void write_board(State state, long *board, long *source, int part) {
    nvshmemrs_long_put_block(state, board + nvshmemrs_my_pe(state) * part, source, WORDS, 0); // G
}

// A message of two halves, with a signal each.
__global__ void halves(State state, long *inbox, long *source, long *copy, u64 *came) {
    const int me = nvshmemrs_my_pe(state), right = (me + 1) % nvshmemrs_n_pes(state), half = WORDS / 2;
    for (int round = 1; round <= ROUNDS; round++) {
        for (int part = 0; part < 2; part++)
            nvshmemrs_long_put_signal(state, inbox + part * half, source + part * half, half, came + part, 1, NVSHMEMRS_SIGNAL_ADD, right); // H
        nvshmemrs_signal_wait_until(state, came, NVSHMEMRS_CMP_GE, round);
        IF_MENDED(nvshmemrs_signal_wait_until(state, came + 1, NVSHMEMRS_CMP_GE, round));
        nvshmemrs_long_get(state, copy, inbox, WORDS, me); // I
        nvshmemrs_barrier_all(state);
    }
}

// A stream of blocks to the right neighbour, through one place.
__global__ void stream(State state, long *inbox, long *source, long *copy, u64 *emptied, u64 *full) {
    const int me = nvshmemrs_my_pe(state), n = nvshmemrs_n_pes(state);
    for (int round = 1; round <= ROUNDS; round++) {
        IF_MENDED(nvshmemrs_signal_wait_until(state, emptied, NVSHMEMRS_CMP_GE, round - 1));
        nvshmemrs_long_put_signal_block(state, inbox, source, WORDS, full + round, 1, NVSHMEMRS_SIGNAL_SET, (me + 1) % n); // J
        nvshmemrs_signal_wait_until(state, full + round, NVSHMEMRS_CMP_EQ, 1);
        nvshmemrs_long_get_block(state, copy, inbox, WORDS, me); // K
        if (threadIdx.x == 0) nvshmemrs_signal_op(state, emptied, 1, NVSHMEMRS_SIGNAL_ADD, (me + n - 1) % n);
        __syncthreads();
    }
}

} // namespace

int main() {
    join_with_kernels();
    enum { BLOCKS = 10, SIGNALS = 6 + ROUNDS };
    long *blocks[BLOCKS], *source = zeroes<long>(WORDS), *board = zeroes<long>(WORDS * n), text[WORDS];
    u64 *signals = zeroes<u64>(SIGNALS);
    for (long *&block : blocks) block = zeroes<long>(WORDS);
    for (int i = 0; i < WORDS; i++) text[i] = 100 * me + i;
    CALL(nvshmemrs_put(rt, source, text, sizeof text, me));
    barrier();
    const long left = 100 * ((me + n - 1) % n) + WORDS - 1;

    LAUNCH(1, 8, exchange, state, blocks[0], source, blocks[1]);
    EXPECT(element(blocks[1], WORDS - 1) == left);
    barrier();
    LAUNCH(1, 1, announce, state, blocks[2], source, blocks[3], signals);
    EXPECT(element(blocks[3], WORDS - 1) == left);
    barrier();
    LAUNCH(1, 1, hand_on, state, blocks[4], blocks[5], source, signals + 1);
    barrier();
    EXPECT(element(blocks[4], WORDS - 1) == left && element(blocks[5], WORDS - 1) == 0);
    barrier();
    int part = WORDS / 2;
    IF_MENDED(part = WORDS);
    LAUNCH(1, 8, write_board, state, board, source, part);
    barrier();
    EXPECT(me != 0 || element(board, WORDS * n - 1) == 100 * (n - 1) + WORDS - 1);
    LAUNCH(1, 1, halves, state, blocks[6], source, blocks[7], signals + 2);
    EXPECT(element(blocks[7], WORDS - 1) == left);
    barrier();
    LAUNCH(1, 8, stream, state, blocks[8], source, blocks[9], signals + 4, signals + 5);
    EXPECT(element(blocks[9], WORDS - 1) == left);
    barrier();
    return leave();
}
