/* PE 1 exits with success but without finalize, while the others wait for it. */

#include "check.h"

int main(void)
{
    int32_t pe;
    nvshmemrs_runtime_t runtime = join(&pe);
    CHECK(nvshmemrs_barrier(runtime, NVSHMEMRS_TEAM_WORLD));
    if (pe == 1)
        return 0;
    CHECK(nvshmemrs_barrier(runtime, NVSHMEMRS_TEAM_WORLD));
    CHECK(nvshmemrs_finalize(runtime));
    return 0;
}
