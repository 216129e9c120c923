/* A plugin of another version of the wire. */

#include <stdint.h>
#include <string.h>

static uint32_t table[128] = {7, sizeof table};

int32_t nvshmemrs_wire_open(const uint32_t *args, const void **wire, char *why, uintptr_t why_len)
{
    (void)args;
    if (why_len > 0)
        why[0] = 0;
    *wire = table;
    return 0;
}
