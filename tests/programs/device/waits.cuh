// Kernels that call every wait and test, in every type; `what` says which function. lists.hpp has the types.
#pragma once

#include "rma.cuh"

template <class T> struct Wait {
    State state;
    T *ivars;
    unsigned long n;
    const int *status;
    int cmp;
    T value;
    const T *values;
    unsigned long *indices, *result;
};

enum { UNTIL_, ALL_, ANY_, SOME_, ALL_VECTOR_, ANY_VECTOR_, SOME_VECTOR_, TEST_, TEST_ALL_, TEST_ANY_, TEST_SOME_, TEST_ALL_VECTOR_, TEST_ANY_VECTOR_, TEST_SOME_VECTOR_ };

#define WAIT_KERNEL(NAME, T)                                                                                                       \
    __global__ void wait_##NAME(Wait<T> w, int what) {                                                                             \
        if (DEVICE_THREAD != 0) return;                                                                                            \
        const T *v = w.ivars;                                                                                                      \
        unsigned long result = 1;                                                                                                  \
        switch (what) {                                                                                                            \
        case UNTIL_: nvshmemrs_##NAME##_wait_until(w.state, w.ivars, w.cmp, w.value); break;                                       \
        case ALL_: nvshmemrs_##NAME##_wait_until_all(w.state, w.ivars, w.n, w.status, w.cmp, w.value); break;                      \
        case ANY_: result = nvshmemrs_##NAME##_wait_until_any(w.state, v, w.n, w.status, w.cmp, w.value); break;                   \
        case SOME_: result = nvshmemrs_##NAME##_wait_until_some(w.state, v, w.n, w.indices, w.status, w.cmp, w.value); break;      \
        case ALL_VECTOR_: nvshmemrs_##NAME##_wait_until_all_vector(w.state, v, w.n, w.status, w.cmp, w.values); break;             \
        case ANY_VECTOR_: result = nvshmemrs_##NAME##_wait_until_any_vector(w.state, v, w.n, w.status, w.cmp, w.values); break;    \
        case SOME_VECTOR_:                                                                                                         \
            result = nvshmemrs_##NAME##_wait_until_some_vector(w.state, v, w.n, w.indices, w.status, w.cmp, w.values);             \
            break;                                                                                                                 \
        case TEST_: result = nvshmemrs_##NAME##_test(w.state, w.ivars, w.cmp, w.value); break;                                     \
        case TEST_ALL_: result = nvshmemrs_##NAME##_test_all(w.state, v, w.n, w.status, w.cmp, w.value); break;                    \
        case TEST_ANY_: result = nvshmemrs_##NAME##_test_any(&w.state, v, w.n, w.status, w.cmp, w.value); break;                   \
        case TEST_SOME_: result = nvshmemrs_##NAME##_test_some(w.state, v, w.n, w.indices, w.status, w.cmp, w.value); break;       \
        case TEST_ALL_VECTOR_: result = nvshmemrs_##NAME##_test_all_vector(w.state, v, w.n, w.status, w.cmp, w.values); break;     \
        case TEST_ANY_VECTOR_: result = nvshmemrs_##NAME##_test_any_vector(w.state, v, w.n, w.status, w.cmp, w.values); break;     \
        case TEST_SOME_VECTOR_:                                                                                                    \
            result = nvshmemrs_##NAME##_test_some_vector(w.state, v, w.n, w.indices, w.status, w.cmp, w.values);                   \
            break;                                                                                                                 \
        }                                                                                                                          \
        *w.result = result;                                                                                                        \
    }
WAIT_TYPES(WAIT_KERNEL)

__global__ void wait_signal(State state, unsigned long *signal, int cmp, unsigned long value, unsigned long *result) {
    result[0] = nvshmemrs_signal_wait_until(state, signal, cmp, value);
    result[1] = nvshmemrs_signal_fetch(state, signal);
}

// What the header says about itself; a signal that is reset, and a region, which changes nothing.
__global__ void about(State state, unsigned long *signal, int *numbers, char *name) {
    nvshmemrs_region_handle_t region = 1;
    nvshmemrs_region_attrs_t attrs = {NVSHMEMRS_REGION_HINT_BATCH_RMA, {}};
    numbers[6] = 1;
    numbers[5] = nvshmemrs_region_start_block(state, &region, &attrs);
    numbers[5] += nvshmemrs_region_is_active(state, attrs.hints, numbers + 6);
    numbers[5] += nvshmemrs_region_stop_block(state, region);
    if (DEVICE_THREAD != 0) return;
    nvshmemrs_info_get_name(state, name);
    nvshmemrs_info_get_version(state, numbers, numbers + 1);
    nvshmemrs_info_get_version(state, nullptr, nullptr);
    nvshmemrs_vendor_get_version_info(state, numbers + 2, numbers + 3, numbers + 4);
    nvshmemrs_vendor_get_version_info(state, nullptr, nullptr, nullptr);
    nvshmemrs_signal_counted_reset(state, signal);
}

// Where the job stands, for whoever asks in a kernel.
__global__ void queries(State state, const void *symmetric, int pe, long *result, void **places) {
    result[0] = nvshmemrs_my_pe(state);
    result[1] = nvshmemrs_n_pes(&state);
    result[2] = nvshmemrs_aborted(state);
    result[3] = nvshmemrs_team_my_pe(state, NVSHMEMRS_TEAM_WORLD);
    result[4] = nvshmemrs_team_n_pes(state, NVSHMEMRS_TEAM_WORLD);
    result[5] = nvshmemrs_team_translate_pe(state, NVSHMEMRS_TEAM_WORLD, pe, NVSHMEMRS_TEAM_WORLD);
    places[0] = nvshmemrs_ptr(state, symmetric, pe);
    places[1] = nvshmemrs_ptr(state, result, pe);
    places[2] = nvshmemrs_mc_ptr(state, NVSHMEMRS_TEAM_WORLD, symmetric);
    nvshmemrs_flush(state);
    nvshmemrs_flush_warp(state);
    nvshmemrs_flush_block(state);
    nvshmemrs_fence(state);
    nvshmemrs_quiet(state);
}
