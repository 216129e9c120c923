// A PE of a job on host memory, with what kernels get of it.
#pragma once

#include <nvshmemrs.h>

#include <nvshmemrs_device_host.hpp>

#include <string>

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned long u64;
typedef nvshmemrs_device_state_t State;

[[noreturn]] static void fail(const std::string &what) {
    fprintf(stderr, "device: %s\n", what.c_str());
    exit(1);
}
[[maybe_unused]] static void check(bool good, const std::string &what) {
    if (!good) fail(what);
}
static void call(int32_t status) {
    if (status != NVSHMEMRS_SUCCESS) fail(nvshmemrs_last_error());
}

struct Pe {
    nvshmemrs_runtime_t runtime;
    int me, n;
    State state;

    // Symmetric memory that goes with the job.
    template <class T> T *array(u64 count) {
        void *place;
        call(nvshmemrs_malloc(runtime, count * sizeof(T), &place));
        return (T *)place;
    }
    void barrier() { call(nvshmemrs_barrier(runtime, NVSHMEMRS_TEAM_WORLD)); }
    int right() const { return (me + 1) % n; }
    int left() const { return (me + n - 1) % n; }
};

// Until the library fills in a State itself: one allocation is the heap that kernels know.
struct Heap {
    nvshmemrs::device::Job job;
    nvshmemrs::device::Team teams[1];
    u64 epochs[128];
    unsigned abort;
    nvshmemrs::device::Report report;
};

static Pe start(bool checked = false) {
    Pe pe;
    call(nvshmemrs_init(nullptr, &pe.runtime));
    call(nvshmemrs_my_pe(pe.runtime, &pe.me));
    call(nvshmemrs_n_pes(pe.runtime, &pe.n));
    const u64 bytes = 8 << 20;
    static Heap heap;
    void *first, *second, *block;
    call(nvshmemrs_calloc(pe.runtime, bytes, 1, &block));
    call(nvshmemrs_ptr(pe.runtime, block, 0, &first));
    call(nvshmemrs_ptr(pe.runtime, block, pe.n > 1 ? 1 : 0, &second));
    pe.state = {0x6873766e, 3, pe.me, pe.n, (u64)first, (u64)second - (u64)first, (u64)&heap.abort, 0, (u64)&heap.job, checked, 0};
    heap.job.heap_bytes = pe.n > 1 ? pe.state.stride : bytes;
    heap.job.n_teams = 1;
    heap.job.teams = (u64)heap.teams;
    heap.job.slots = 128;
    heap.job.report = (u64)&heap.report;
    heap.teams[0].n = pe.n;
    heap.teams[0].me = pe.me;
    heap.teams[0].step = 1;
    heap.teams[0].epochs = (u64)heap.epochs;
    return pe;
}
