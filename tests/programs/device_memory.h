/* Memory of a GPU that a test program makes itself, such that it can be registered. */

#ifndef DEVICE_MEMORY_H
#define DEVICE_MEMORY_H

#include "driver.h"

/* The driver's structs. */
typedef struct {
    int type, id;
} location_t;
typedef struct {
    int type, handle_types;
    location_t location;
    void *win32;
    unsigned char flags[8];
} properties_t;
typedef struct {
    location_t location;
    int flags;
} access_t;

static inline uint64_t reserve(size_t bytes) {
    uint64_t at;
    CUDA(cuMemAddressReserve, (uint64_t *, size_t, size_t, uint64_t, uint64_t), &at, bytes, 0, 0, 0);
    return at;
}

/* Maps new memory of a GPU. */
static inline void fill(uint64_t at, size_t bytes, int device) {
    properties_t properties = {.type = 1, .handle_types = 1, .location = {1, device}};
    access_t access = {{1, device}, 3};
    uint64_t memory;
    CUDA(cuMemCreate, (uint64_t *, size_t, const properties_t *, uint64_t), &memory, bytes, &properties, 0);
    CUDA(cuMemMap, (uint64_t, size_t, size_t, uint64_t, uint64_t), at, bytes, 0, memory, 0);
    CUDA(cuMemSetAccess, (uint64_t, size_t, const access_t *, size_t), at, bytes, &access, 1);
    CUDA(cuMemRelease, (uint64_t), memory);
}

#endif
