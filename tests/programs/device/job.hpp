// A PE of a job on host memory, with the state that kernels receive.
#pragma once

#include <nvshmemrs.h>

#include <nvshmemrs_device_host.hpp>
#ifdef NVSHMEM_NAMES
#define NVSHMEMRS_DEVICE_HOST_KERNELS
#include <nvshmem.h>
#include <nvshmemx.h>
#endif

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

#ifdef NVSHMEM_NAMES
// Stands in for libnvshmemrs_nvshmem.so, which records the program's only unit; `start` fills the unit.
static nvshmemrs_nvshmem_fill_t unit;
void nvshmemrs_nvshmem_register(nvshmemrs_nvshmem_fill_t fill, int kind, unsigned version) {
    check(!unit && kind == NVSHMEMRS_UNIT_CPU && version == nvshmemrs::device::STATE_VERSION, "what the unit registers");
    unit = fill;
}
void nvshmemrs_nvshmem_unregister(nvshmemrs_nvshmem_fill_t fill) { check(fill == unit, "what the unit registered"); }
#endif

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
    // Hands the current `state` to kernels.
    void give_state() const {
#ifdef NVSHMEM_NAMES
        const char *why;
        check(unit(&state, 0, &why) == 0, "the unit's state");
#endif
    }
    int right() const { return (me + 1) % n; }
    int left() const { return (me + n - 1) % n; }
};

static Pe start() {
    Pe pe;
    call(nvshmemrs_init(nullptr, &pe.runtime));
    call(nvshmemrs_my_pe(pe.runtime, &pe.me));
    call(nvshmemrs_n_pes(pe.runtime, &pe.n));
    call(nvshmemrs_device_state(pe.runtime, &pe.state));
    pe.give_state();
    return pe;
}
