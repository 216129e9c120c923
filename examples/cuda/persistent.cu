// A kernel that runs all the time. The host of the PE to the left feeds it with tasks while it runs, and it sends each result back there.
//
// A task is a few numbers in one of DEPTH places. The signal `fed` says how many tasks have come, `done` how many results; the host
// feeds no more than DEPTH tasks ahead. A single result is stored by p, which orders nothing: fence comes before the signal.
//
// By calls of the host each PE's host does both: it feeds its right neighbour, and serves its left one.
#include "example.hpp"

static const int TASKS = 20, DEPTH = 4, WIDTH = 64;

__global__ void serve(State state, const long *tasks, const unsigned long *fed, long *results, unsigned long *done) {
    __shared__ long sum;
    int me = nvshmemrs_my_pe(state), n = nvshmemrs_n_pes(state), feeder = (me + n - 1) % n;
    for (int task = 0; task < TASKS; task++) {
        if (threadIdx.x == 0) {
            nvshmemrs_signal_wait_until(state, fed, NVSHMEMRS_CMP_GE, task + 1);
            sum = 0;
            for (int i = 0; i < WIDTH; i++) sum += tasks[task % DEPTH * WIDTH + i] * tasks[task % DEPTH * WIDTH + i];
            nvshmemrs_long_p(state, results + task, sum, feeder);
            nvshmemrs_fence(state);
            nvshmemrs_signal_op(state, done, task + 1, NVSHMEMRS_SIGNAL_SET, feeder);
        }
        __syncthreads();
    }
}

static long number(int pe, int task, int i) { return pe * 1000 + task * 10 + i % 7; }

int main() {
    Pe pe;
    long *tasks = pe.array<long>(DEPTH * WIDTH), *results = pe.array<long>(TASKS), *by_host = pe.array<long>(TASKS);
    // How many tasks have come and how many results; the last two are for the host.
    unsigned long *signals = pe.array<unsigned long>(4);
    auto expected = [&](int task) {
        long sum = 0;
        for (int i = 0; i < WIDTH; i++) sum += number(pe.me, task, i) * number(pe.me, task, i);
        return sum;
    };
    auto wait = [&](unsigned long *signal, int value) {
        uint64_t seen;
        call(nvshmemrs_signal_wait(pe.runtime, (uint64_t *)signal, NVSHMEMRS_CMP_GE, value, &seen));
    };
    auto feed = [&](int task, unsigned long *fed, unsigned long *done) {
        // A place is free once the result of its earlier task has come.
        if (task >= DEPTH) wait(done, task - DEPTH + 1);
        long numbers[WIDTH];
        for (int i = 0; i < WIDTH; i++) numbers[i] = number(pe.me, task, i);
        call(nvshmemrs_put_signal(pe.runtime, tasks + task % DEPTH * WIDTH, numbers, sizeof numbers, (uint64_t *)fed, task + 1,
                                  NVSHMEMRS_SIGNAL_SET, pe.right()));
    };
    auto in_kernel = [&] {
        Running kernel(1, 32, serve, pe.state, (const long *)tasks, (const unsigned long *)signals, results, signals + 1);
        for (int task = 0; task < TASKS; task++) feed(task, signals, signals + 1);
        wait(signals + 1, TASKS);
        kernel.wait();
    };
    auto on_host = [&] {
        for (int task = 0; task < TASKS; task++) {
            feed(task, signals + 2, signals + 3);
            wait(signals + 2, task + 1);
            long sum = 0;
            for (long one : pe.read(tasks + task % DEPTH * WIDTH, WIDTH)) sum += one * one;
            call(nvshmemrs_put_signal(pe.runtime, by_host + task, &sum, sizeof sum, (uint64_t *)signals + 3, task + 1, NVSHMEMRS_SIGNAL_SET,
                                      pe.left()));
        }
        wait(signals + 3, TASKS);
    };
    compare(pe, "persistent", in_kernel, on_host);
    for (long *all : {results, by_host}) {
        std::vector<long> found = pe.read(all, TASKS);
        for (int task = 0; task < TASKS; task++)
            if (found[task] != expected(task)) fail("persistent: a result is wrong");
    }
    pe.finalize();
}
