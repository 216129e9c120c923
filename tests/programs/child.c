/* PE WHO starts a child that calls init, too: child WHO exec|fork|late. The child is this program again, a forked process, or this
 * program again after its parent's finalize. Further words are variables of the child: NAME=value, or NAME to unset it. */

#include "check.h"

#include <string.h>
#include <sys/wait.h>

/* Prints the result of init in a child. */
static int child(void)
{
    nvshmemrs_runtime_t runtime = 0;
    int status = nvshmemrs_init(NULL, &runtime);
    if (status == NVSHMEMRS_SUCCESS) {
        int32_t n_pes = 0;
        CHECK(nvshmemrs_n_pes(runtime, &n_pes));
        printf("child: one of %d\n", (int)n_pes);
        status = nvshmemrs_finalize(runtime);
    } else {
        printf("child: status %d: %s\n", status, nvshmemrs_last_error());
    }
    fflush(stdout);
    return status != NVSHMEMRS_SUCCESS;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "child") == 0)
        return child();
    if (argc < 3)
        return 98;
    int late = strcmp(argv[2], "late") == 0;
    int32_t pe;
    nvshmemrs_runtime_t runtime = join(&pe);
    CHECK(nvshmemrs_barrier(runtime, NVSHMEMRS_TEAM_WORLD));
    if (late)
        CHECK(nvshmemrs_finalize(runtime));
    if (pe == atoi(argv[1])) {
        pid_t pid = fork();
        if (pid == 0) {
            if (strcmp(argv[2], "fork") == 0)
                _exit(child());
            for (int word = 3; word < argc; word++) {
                if (strchr(argv[word], '='))
                    putenv(argv[word]);
                else
                    unsetenv(argv[word]);
            }
            execl("/proc/self/exe", "child", "child", (char *)NULL);
            _exit(97);
        }
        int status;
        if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
            return 96;
    }
    if (!late) {
        CHECK(nvshmemrs_barrier(runtime, NVSHMEMRS_TEAM_WORLD));
        CHECK(nvshmemrs_finalize(runtime));
    }
    printf("PE %d done\n", (int)pe);
    return 0;
}
