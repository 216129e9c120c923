/* PE 1 leaves its job while its process goes on, and the others wait for it. PE 1 executes the program that the arguments name, or, if
 * they are "close", closes all its files, the job's memory among them, and sleeps. */

#include "check.h"

#include <string.h>

int main(int argc, char **argv)
{
    int32_t pe;
    nvshmemrs_runtime_t runtime = join(&pe);
    if (argc < 2)
        return 98;
    CHECK(nvshmemrs_barrier(runtime, NVSHMEMRS_TEAM_WORLD));
    if (pe == 1)
        sleep(1); /* The launcher looks for the job's memory every half a second. */
    if (pe == 1 && strcmp(argv[1], "close") == 0) {
        for (int file = 3; file < 1000; file++)
            close(file);
        sleep(600);
    } else if (pe == 1) {
        execvp(argv[1], argv + 1);
        return 99;
    }
    CHECK(nvshmemrs_barrier(runtime, NVSHMEMRS_TEAM_WORLD));
    CHECK(nvshmemrs_finalize(runtime));
    return 0;
}
