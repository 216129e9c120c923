/* Calls whose statuses nobody looks at. */

#define NVSHMEMRS_MUST_CHECK
#include "check.h"

int main(void)
{
    int32_t pe;
    nvshmemrs_runtime_t runtime = join(&pe);
    void *memory;
    CHECK(nvshmemrs_malloc(runtime, 8, &memory));
    for (int round = 0; round < 5; round++) {
        nvshmemrs_put(runtime, memory, &pe, 4, 77 + round);
        nvshmemrs_put(runtime, &pe, &pe, 4, 0);
        nvshmemrs_get(runtime, &pe, memory, 4, 77);
    }
    /* The statuses of these calls are answers, not mistakes. */
    void *pointer;
    nvshmemrs_ptr(runtime, &pe, 0, &pointer);
    CHECK(nvshmemrs_finalize(runtime));
    nvshmemrs_release(runtime, memory);
    nvshmemrs_current(&runtime);
    nvshmemrs_runtime_check(0);
    return 0;
}
