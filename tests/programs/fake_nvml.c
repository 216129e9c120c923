/* An NVML for tests on machines without a GPU. It knows the GPUs of fake_cuda.c by their UUIDs, whose last byte is their number: 0 and 1 are
 * linked by NVLink, so are 2 and 3; other pairs meet at a host bridge. FAKE_NVML_BROKEN: any value, and it does not start. */
#include <stdint.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

enum { SUCCESS = 0, UNINITIALIZED = 1, INVALID = 2, NOT_FOUND = 6, DRIVER_NOT_LOADED = 9 };

static int started;

int nvmlInit_v2(void) {
    if (getenv("FAKE_NVML_BROKEN")) return DRIVER_NOT_LOADED;
    started++;
    return SUCCESS;
}

int nvmlShutdown(void) {
    if (!started) return UNINITIALIZED;
    started--;
    return SUCCESS;
}

int nvmlSystemGetDriverVersion(char *text, unsigned length) {
    if (!started) return UNINITIALIZED;
    snprintf(text, length, "570.1.2");
    return SUCCESS;
}

/* A GPU by its number, plus one. */
int nvmlDeviceGetHandleByUUID(const char *uuid, uintptr_t *device) {
    unsigned number;
    if (!started) return UNINITIALIZED;
    if (sscanf(uuid, "GPU-fa000000-0000-0000-0000-%12x", &number) != 1) return NOT_FOUND;
    *device = number + 1;
    return SUCCESS;
}

static int linked(uintptr_t one, uintptr_t other) { return (one - 1) / 2 == (other - 1) / 2; }

int nvmlDeviceGetP2PStatus(uintptr_t one, uintptr_t other, int of, int *status) {
    if (!started || !one || !other) return INVALID;
    *status = of == 2 /* NVLink */ ? (linked(one, other) ? 0 : 5 /* not supported */) : 0;
    return SUCCESS;
}

int nvmlDeviceGetTopologyCommonAncestor(uintptr_t one, uintptr_t other, int *level) {
    if (!started || !one || !other) return INVALID;
    *level = 30; /* host bridge */
    return SUCCESS;
}
