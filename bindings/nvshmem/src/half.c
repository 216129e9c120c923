/* Atomic operations of `half`. There are none on 16 bits, so they exchange the enclosing 32 bits, as kernels do. */

#include "internal.h"

/* The value of a `half` as a `float`. */
static float widened(uint16_t bits)
{
    const uint32_t sign = (uint32_t)(bits & 0x8000) << 16, exponent = bits >> 10 & 31, mantissa = bits & 0x3ff;
    uint32_t wide;
    float value;
    if (exponent == 31) {
        wide = sign | 0x7f800000 | mantissa << 13;
    } else if (exponent != 0) {
        wide = sign | (exponent + 112) << 23 | mantissa << 13;
    } else {
        /* Below the normal numbers: a multiple of 2^-24. */
        value = (float)mantissa * 0x1p-24f;
        return sign != 0 ? -value : value;
    }
    memcpy(&value, &wide, sizeof value);
    return value;
}

/* The `half` nearest to a `float`; ties to even. */
static uint16_t narrowed(float value)
{
    uint32_t wide;
    memcpy(&wide, &value, sizeof wide);
    const uint16_t sign = (uint16_t)(wide >> 16 & 0x8000);
    wide &= 0x7fffffff;
    if (wide > 0x7f800000)
        return 0x7fff; /* as GPUs give */
    /* From the middle between the largest number and the next power of two. */
    if (wide >= 0x477ff000)
        return sign | 0x7c00;
    if (wide >= 0x38800000)
        return sign | (uint16_t)((wide - 0x38000000 + 0xfff + (wide >> 13 & 1)) >> 13);
    /* Below the normal numbers: adding a number whose last bit is worth 2^-24 rounds. */
    float small;
    memcpy(&small, &wide, sizeof small);
    small += 0.5f;
    memcpy(&wide, &small, sizeof wide);
    return sign | (uint16_t)(wide - 0x3f000000);
}

static uint16_t changed(uint16_t old, enum nvshmemrs_nvshmem_half operation, uint16_t value)
{
    switch (operation) {
    case HALF_FETCH:
        return old;
    case HALF_ADD:
        return narrowed(widened(old) + widened(value));
    default:
        return value;
    }
}

int32_t nvshmemrs_nvshmem_half(
    nvshmemrs_runtime_t rt, const half *address, enum nvshmemrs_nvshmem_half operation, const half *value, int pe, half *old)
{
    const uintptr_t place = (uintptr_t)address;
    uint16_t first = 0;
    /* An error with a reason. */
    if (place % sizeof *address != 0)
        return nvshmemrs_g16(rt, (const uint16_t *)address, pe, &first);
    uint32_t *word = (uint32_t *)(place & ~(uintptr_t)3);
    const unsigned shift = (place & 2) * 8;
    uint32_t seen = 0, found = 0;
    int32_t status = nvshmemrs_atomic_fetch32(rt, word, pe, &seen);
    while (status == NVSHMEMRS_SUCCESS) {
        const uint16_t before = (uint16_t)(seen >> shift);
        const uint16_t after = changed(before, operation, value != NULL ? value->__x : 0);
        const uint32_t wanted = (seen & ~(UINT32_C(0xffff) << shift)) | (uint32_t)after << shift;
        if (operation == HALF_FETCH)
            break;
        status = nvshmemrs_atomic_compare_swap32(rt, word, seen, wanted, pe, &found);
        if (status == NVSHMEMRS_SUCCESS && found == seen)
            break;
        seen = found;
    }
    if (status == NVSHMEMRS_SUCCESS && old != NULL)
        old->__x = (uint16_t)(seen >> shift);
    return status;
}
