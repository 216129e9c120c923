// Reductions in place by nvshmemrs_device.cuh on the CPU, as a library: test_cute.py compares how often groups of both languages meet.
#include <nvshmemrs_device_host.hpp>

extern "C" void reduce(const nvshmemrs_device_state_t *state, int size, void *dest, const void *source, unsigned long count, unsigned threads) {
    nvshmemrs::host::launch(dim3(1), dim3(threads), [&] {
        switch (size) {
        case 1: nvshmemrs_int8_sum_reduce_block(*state, 0, (signed char *)dest, (const signed char *)source, count, 0); break;
        case 2: nvshmemrs_int16_sum_reduce_block(*state, 0, (short *)dest, (const short *)source, count, 0); break;
        case 4: nvshmemrs_float_sum_reduce_block(*state, 0, (float *)dest, (const float *)source, count, 0); break;
        default: nvshmemrs_double_sum_reduce_block(*state, 0, (double *)dest, (const double *)source, count, 0);
        }
    });
}
