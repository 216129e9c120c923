// A message goes round a ring of PEs. Each PE adds its number and one to every element before it passes the message on, all in one kernel.
//
// A block puts with a signal: a PE that sees the signal sees the message.
#include "example.hpp"

static const int COUNT = 1000, ROUNDS = 5;

__global__ void ring(State state, long *message, unsigned long *arrived) {
    int me = nvshmemrs_my_pe(state), right = (me + 1) % nvshmemrs_n_pes(state);
    for (int round = 1; round <= ROUNDS; round++) {
        // PE 0 begins.
        unsigned long expected = me == 0 ? round - 1 : round;
        if (threadIdx.x == 0) nvshmemrs_signal_wait_until(state, arrived, NVSHMEMRS_CMP_GE, expected);
        __syncthreads();
        for (int i = threadIdx.x; i < COUNT; i += blockDim.x) message[i] += me + 1;
        nvshmemrs_long_put_signal_block(state, message, message, COUNT, arrived, 1, NVSHMEMRS_SIGNAL_ADD, right);
    }
    if (me == 0 && threadIdx.x == 0) nvshmemrs_signal_wait_until(state, arrived, NVSHMEMRS_CMP_GE, ROUNDS);
}

static void by_host(Pe &pe, long *message, unsigned long *arrived) {
    uint64_t seen;
    for (int round = 1; round <= ROUNDS; round++) {
        uint64_t expected = pe.me == 0 ? round - 1 : round;
        call(nvshmemrs_signal_wait(pe.runtime, (uint64_t *)arrived, NVSHMEMRS_CMP_GE, expected, &seen));
        std::vector<long> values = pe.read(message, COUNT);
        for (long &value : values) value += pe.me + 1;
        call(nvshmemrs_put_signal(pe.runtime, message, values.data(), COUNT * sizeof(long), (uint64_t *)arrived, 1, NVSHMEMRS_SIGNAL_ADD,
                                  pe.right()));
    }
    if (pe.me == 0) call(nvshmemrs_signal_wait(pe.runtime, (uint64_t *)arrived, NVSHMEMRS_CMP_GE, ROUNDS, &seen));
}

int main() {
    Pe pe;
    long *messages[2];
    unsigned long *signals = pe.array<unsigned long>(2);
    for (long *&message : messages) message = pe.array<long>(COUNT);
    auto in_kernel = [&] { Running(1, 128, ring, pe.state, messages[0], signals).wait(); };
    auto on_host = [&] { by_host(pe, messages[1], signals + 1); };
    compare(pe, "ring", in_kernel, on_host);
    // The message is back on PE 0: all have added to it in each round.
    for (long *message : messages)
        if (pe.me == 0)
            for (long value : pe.read(message, COUNT))
                if (value != (long)ROUNDS * pe.n * (pe.n + 1) / 2) fail("ring: the message is wrong");
    pe.finalize();
}
