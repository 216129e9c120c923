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

static Pe start() {
    Pe pe;
    call(nvshmemrs_init(nullptr, &pe.runtime));
    call(nvshmemrs_my_pe(pe.runtime, &pe.me));
    call(nvshmemrs_n_pes(pe.runtime, &pe.n));
    call(nvshmemrs_device_state(pe.runtime, &pe.state));
    return pe;
}
