/* PE 0 puts to PE 1, on another host, until a put fails, while PE 1 waits for the data. Argument: how many bytes. Both print the error,
 * and PE 1 that nothing was written beside the place of the puts. With 0 bytes PE 0 finalizes, while PE 1 never comes. With 1 byte PE 1
 * kills itself, and the others call nothing any more. */

#include "check.h"

#include <signal.h>
#include <string.h>

enum { BESIDE = 4096 };

int main(int argc, char **argv)
{
    const size_t bytes = argc > 1 ? strtoul(argv[1], NULL, 10) : 8;
    int32_t me, status = NVSHMEMRS_SUCCESS;
    nvshmemrs_runtime_t runtime = join(&me);
    char *theirs, *mine = calloc(1, bytes);

    if (mine == NULL)
        return 1;
    while (bytes == 0 && me != 0)
        pause();
    if (bytes == 1 && me == 1)
        kill(getpid(), SIGKILL);
    while (bytes == 1)
        pause();
    if (bytes == 0) {
        CHECK(nvshmemrs_finalize(runtime));
        return 0;
    }
    theirs = zeroed(runtime, 1, BESIDE + bytes + BESIDE);
    memset(mine, 1, bytes);
    while (me == 0 && status == NVSHMEMRS_SUCCESS) {
        status = nvshmemrs_put(runtime, theirs + BESIDE, mine, bytes, 1);
        if (status == NVSHMEMRS_SUCCESS)
            status = nvshmemrs_quiet(runtime);
    }
    if (me != 0)
        status = nvshmemrs_barrier(runtime, NVSHMEMRS_TEAM_WORLD);
    printf("PE %d: status %d: %s\n", (int)me, (int)status, nvshmemrs_last_error());
    for (size_t i = 0; i < BESIDE; i++) {
        if (theirs[i] != 0 || theirs[BESIDE + bytes + i] != 0) {
            printf("PE %d: %d before, %d behind at %zu\n", (int)me, theirs[i], theirs[BESIDE + bytes + i], i);
            return 2;
        }
    }
    printf("PE %d: nothing is beside\n", (int)me);
    fflush(stdout);
    sleep(1);
    _exit(0);
}
