/* The same calls in C; bench/put.f90 takes the time. */
#include "nvshmemrs.h"

int32_t c_puts(nvshmemrs_runtime_t rt, void *dest, const void *source, uint64_t bytes, int32_t pe, int64_t times)
{
    for (int64_t i = 0; i < times; i++) {
        int32_t status = nvshmemrs_put(rt, dest, source, bytes, pe);
        if (status != NVSHMEMRS_SUCCESS)
            return status;
    }
    return NVSHMEMRS_SUCCESS;
}

int32_t c_ps(nvshmemrs_runtime_t rt, void *dest, uint64_t value, int32_t pe, int64_t times)
{
    for (int64_t i = 0; i < times; i++) {
        int32_t status = nvshmemrs_p64(rt, dest, value, pe);
        if (status != NVSHMEMRS_SUCCESS)
            return status;
    }
    return NVSHMEMRS_SUCCESS;
}
