/* PE 2 enters a barrier when the file that the argument names exists. */

#include "check.h"
int main(int argc, char **argv)
{
    int32_t pe;
    nvshmemrs_runtime_t runtime = join(&pe);
    while (pe == 2 && argc > 1 && access(argv[1], F_OK) != 0)
        usleep(1000);
    CHECK(nvshmemrs_barrier(runtime, NVSHMEMRS_TEAM_WORLD));
    CHECK(nvshmemrs_finalize(runtime));
    return 0;
}
