// Kernels that call every wait and test, in every type; `what` selects the function. lists.hpp has the types.
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
        case UNTIL_: CALL(NAME##_wait_until, w.state, w.ivars, w.cmp, w.value); break;                                       \
        case ALL_: CALL(NAME##_wait_until_all, w.state, w.ivars, w.n, w.status, w.cmp, w.value); break;                      \
        case ANY_: result = CALL(NAME##_wait_until_any, w.state, v, w.n, w.status, w.cmp, w.value); break;                   \
        case SOME_: result = CALL(NAME##_wait_until_some, w.state, v, w.n, w.indices, w.status, w.cmp, w.value); break;      \
        case ALL_VECTOR_: CALL(NAME##_wait_until_all_vector, w.state, v, w.n, w.status, w.cmp, w.values); break;             \
        case ANY_VECTOR_: result = CALL(NAME##_wait_until_any_vector, w.state, v, w.n, w.status, w.cmp, w.values); break;    \
        case SOME_VECTOR_:                                                                                                         \
            result = CALL(NAME##_wait_until_some_vector, w.state, v, w.n, w.indices, w.status, w.cmp, w.values);             \
            break;                                                                                                                 \
        case TEST_: result = CALL(NAME##_test, w.state, w.ivars, w.cmp, w.value); break;                                     \
        case TEST_ALL_: result = CALL(NAME##_test_all, w.state, v, w.n, w.status, w.cmp, w.value); break;                    \
        case TEST_ANY_: result = CALL(NAME##_test_any, &w.state, v, w.n, w.status, w.cmp, w.value); break;                   \
        case TEST_SOME_: result = CALL(NAME##_test_some, w.state, v, w.n, w.indices, w.status, w.cmp, w.value); break;       \
        case TEST_ALL_VECTOR_: result = CALL(NAME##_test_all_vector, w.state, v, w.n, w.status, w.cmp, w.values); break;     \
        case TEST_ANY_VECTOR_: result = CALL(NAME##_test_any_vector, w.state, v, w.n, w.status, w.cmp, w.values); break;     \
        case TEST_SOME_VECTOR_:                                                                                                    \
            result = CALL(NAME##_test_some_vector, w.state, v, w.n, w.indices, w.status, w.cmp, w.values);                   \
            break;                                                                                                                 \
        }                                                                                                                          \
        *w.result = result;                                                                                                        \
    }
WAIT_TYPES(WAIT_KERNEL)

__global__ void wait_signal(State state, unsigned long *signal, int cmp, unsigned long value, unsigned long *result) {
    result[0] = CALL(signal_wait_until, state, signal, cmp, value);
    result[1] = CALL(signal_fetch, state, signal);
}

// The header's name and versions, a reset of a signal, and a region, which has no effect.
__global__ void about(State state, unsigned long *signal, int *numbers, char *name) {
    REGION(handle_t) region = 1;
    REGION(attrs_t) attrs = {NVSHMEMRS_REGION_HINT_BATCH_RMA, {}};
    numbers[6] = 1;
    numbers[5] = CALL_X(region_start_block, state, &region, &attrs);
    numbers[5] += CALL_X(region_is_active, state, attrs.hints, numbers + 6);
    numbers[5] += CALL_X(region_stop_block, state, region);
    if (DEVICE_THREAD != 0) return;
    CALL(info_get_name, state, name);
    CALL(info_get_version, state, numbers, numbers + 1);
    CALL(info_get_version, state, nullptr, nullptr);
    CALL_X(vendor_get_version_info, state, numbers + 2, numbers + 3, numbers + 4);
    CALL_X(vendor_get_version_info, state, nullptr, nullptr, nullptr);
    CALL_X(signal_counted_reset, state, signal);
}

// Queries of the job from a kernel.
__global__ void queries(State state, const void *symmetric, int pe, long *result, void **places) {
    result[0] = CALL(my_pe, state);
    result[1] = CALL(n_pes, &state);
    result[2] = nvshmemrs_aborted(state);
    result[3] = CALL(team_my_pe, state, TEAM(NVSHMEMRS_TEAM_WORLD));
    result[4] = CALL(team_n_pes, state, TEAM(NVSHMEMRS_TEAM_WORLD));
    result[5] = CALL(team_translate_pe, state, TEAM(NVSHMEMRS_TEAM_WORLD), pe, TEAM(NVSHMEMRS_TEAM_WORLD));
    places[0] = CALL(ptr, state, symmetric, pe);
    places[1] = CALL(ptr, state, result, pe);
    places[2] = CALL_X(mc_ptr, state, TEAM(NVSHMEMRS_TEAM_WORLD), symmetric);
    CALL_X(flush, state);
    CALL_X(flush_warp, state);
    CALL_X(flush_block, state);
    CALL(fence, state);
    CALL(quiet, state);
}
