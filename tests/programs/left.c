/* PE 1 leaves its job while its process goes on, and the others wait for it. PE 1 executes the program that the arguments name, or, if
 * they are "close", closes all its files, the job's memory among them, and sleeps. If they are "leave", it leaves, and ends with status 7
 * when the launcher has seen the others end. */

#include "check.h"

#include <string.h>

/* Whether the launcher has other children than this PE and its guard. */
static int has_others(void)
{
    char path[64], list[256] = "";
    int count = 0, in_word = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)getppid(), (int)getppid());
    FILE *file = fopen(path, "r");
    size_t length = file ? fread(list, 1, sizeof list - 1, file) : 0;
    for (size_t at = 0; at < length; at++) {
        count += !in_word && list[at] != ' ';
        in_word = list[at] != ' ';
    }
    if (file)
        fclose(file);
    return count > 2;
}

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
    } else if (pe == 1 && strcmp(argv[1], "leave") == 0) {
        CHECK(nvshmemrs_leave(runtime));
        while (has_others())
            usleep(10000);
        return 7;
    } else if (pe == 1) {
        execvp(argv[1], argv + 1);
        return 99;
    }
    CHECK(nvshmemrs_barrier(runtime, NVSHMEMRS_TEAM_WORLD));
    CHECK(nvshmemrs_finalize(runtime));
    return 0;
}
