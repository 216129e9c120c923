/* PE 0 and PE 1 put megabytes to each other until a put fails. Argument: a file; each PE adds its number to the name, writes there
 * that it puts, and then the text of the error. */

#include "check.h"

#include <string.h>

enum { BYTES = 4 << 20 };

int main(int argc, char **argv)
{
    int32_t me, n_pes, status = NVSHMEMRS_SUCCESS;
    nvshmemrs_runtime_t runtime = join(&me);
    void *memory;
    char name[4096], *mine = calloc(1, BYTES);
    FILE *file;

    CHECK(nvshmemrs_n_pes(runtime, &n_pes));
    CHECK(nvshmemrs_calloc(runtime, 1, BYTES, &memory));
    snprintf(name, sizeof name, "%s.%d", argc > 1 ? argv[1] : "cut", (int)me);
    file = fopen(name, "w");
    if (file == NULL || mine == NULL)
        return 1;
    memset(mine, 1 + me, BYTES);
    for (int i = 0; status == NVSHMEMRS_SUCCESS; i++) {
        status = nvshmemrs_put(runtime, memory, mine, BYTES, (me + 1) % n_pes);
        if (status == NVSHMEMRS_SUCCESS)
            status = nvshmemrs_quiet(runtime);
        if (i == 10) {
            fputs("puts\n", file);
            fflush(file);
        }
    }
    fprintf(file, "status %d: %s\n", (int)status, nvshmemrs_last_error());
    fflush(file);
    /* MPI's destructors would wait for the other host. */
    _exit(0);
}
