// Wrong arguments in kernels of a job with NVSHMEMRS_DEVICE_CHECK: the kernel stops with a report.
//
//   checks CASE
#include "job.hpp"

#include <csignal>

static Pe pe;

// What the report says.
static void stopped(int) {
    const nvshmemrs::device::Report *report = (const nvshmemrs::device::Report *)((const nvshmemrs::device::Job *)pe.state.job)->report;
    printf("state %u kind %u pe %d block %u thread %u operation %u bytes %llu\n", report->state, report->kind, report->pe, report->block, report->thread,
           report->operation, report->bytes);
    fflush(stdout);
    _exit(0);
}

int main(int count, char **args) {
    std::string what = count > 1 ? args[1] : "";
    signal(SIGABRT, stopped);
    pe = start();
    int *data = pe.array<int>(16), local[4] = {};
    u64 *word = pe.array<u64>(1);
    const State &s = pe.state;
    nvshmemrs::host::launch(dim3(2), dim3(4), [&] {
        // What is right passes.
        nvshmemrs_int_p(s, data, 5, 0);
        nvshmemrs_int_put_block(s, data, local, 4, 0);
        nvshmemrs_signal_op(s, word, 1, NVSHMEMRS_SIGNAL_ADD, 0);
        if (blockIdx.x != 1 || threadIdx.x != 2) return;
        if (what == "pe") nvshmemrs_int_put(s, data, local, 4, 1);
        if (what == "address") nvshmemrs_int_get(s, local, local, 4, 0);
        if (what == "alignment") nvshmemrs_uint64_atomic_add(s, (u64 *)(data + 1), 1, 0);
        if (what == "team") nvshmemrs_barrier(s, NVSHMEMRS_TEAM_INVALID);
        if (what == "slot") nvshmemrs_sync_all(s, 128);
        if (what == "argument") nvshmemrs_int_wait_until(s, data, 6, 1);
        if (what == "version") {
            State other = s;
            other.version++;
            nvshmemrs_int_p(other, data, 5, 0);
        }
        if (what == "magic") {
            State other = {};
            nvshmemrs_int_p(other, data, 5, 0);
        }
    });
    printf("nothing was wrong\n");
    call(nvshmemrs_finalize(pe.runtime));
}
