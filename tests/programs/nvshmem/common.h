/* Shared by the programs of NVSHMEM's names. */

#ifndef COMMON_H
#define COMMON_H

#include <nvshmem.h>
#include <nvshmemx.h>
#include <nvshmemrs.h>

#define NAME_OF(FUNCTION) nvshmem_##FUNCTION
#include "../names/common.h"

#define REDUCED_TYPES(X) NUMBERS(X) X(half, half) X(bfloat16, __nv_bfloat16)
#define RMA_TYPES(X) REDUCED_TYPES(X) X(ptrdiff, ptrdiff_t)
#define SIZES(X) X(8, uint8_t) X(16, uint16_t) X(32, uint32_t) X(64, uint64_t) X(128, struct wide)

struct wide {
    uint64_t low, high;
};

/* Waits for the stream NULL. */
static inline void drain(void)
{
    CHECK(nvshmemrs_stream_synchronize(nvshmemrs_nvshmem_stream(NULL)) == 0);
}

/* Numbers of 16 bits, for small whole numbers. */
static inline half make_half(double value)
{
    half made = {0};
    int exponent = 0;
    if (value < 1)
        return made;
    while (value >= 2 << exponent)
        exponent++;
    made.__x = (unsigned short)((exponent + 15) << 10 | (((int)value << (10 - exponent)) & 0x3ff));
    return made;
}
static inline double read_half(half value)
{
    const int exponent = (value.__x >> 10) - 15;
    return value.__x == 0 ? 0 : (double)(1024 + (value.__x & 0x3ff)) / 1024 * (1 << exponent);
}
static inline __nv_bfloat16 make_bfloat16(double value)
{
    const float wide = (float)value;
    uint32_t bits;
    memcpy(&bits, &wide, sizeof bits);
    __nv_bfloat16 made = {(unsigned short)(bits >> 16)};
    return made;
}
static inline double read_bfloat16(__nv_bfloat16 value)
{
    const uint32_t bits = (uint32_t)value.__x << 16;
    float wide;
    memcpy(&wide, &bits, sizeof wide);
    return wide;
}
#define CONVERSIONS(TAG, T) \
    static inline T make_##TAG(double value) { return (T)value; } \
    static inline double read_##TAG(T value) { return (double)value; }
NUMBERS(CONVERSIONS)

#endif
