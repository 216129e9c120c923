/* Signals of the process are the program's: the threads of the library and of other software that it starts block them.

   Prints a line for each thread but this one, "thread NAME blocks MASK", and takes signals with sigwait. */

#include "check.h"
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

enum { SIGNALS = 50, LOOKS = 2000 };

/* Looks at a thread. False: it has only been started, when the C library still blocks signals of faults as well. */
static int show(const char *thread, int last)
{
    char path[300], line[200], name[100] = "", blocked[100] = "";
    snprintf(path, sizeof path, "/proc/self/task/%s/status", thread);
    FILE *status = fopen(path, "r");
    while (status && fgets(line, sizeof line, status)) {
        if (strncmp(line, "Name:\t", 6) == 0)
            snprintf(name, sizeof name, "%.*s", (int)strcspn(line + 6, "\n"), line + 6);
        if (strncmp(line, "SigBlk:\t", 8) == 0)
            snprintf(blocked, sizeof blocked, "%.*s", (int)strcspn(line + 8, "\n"), line + 8);
    }
    if (status)
        fclose(status);
    if (!last && strtoull(blocked, NULL, 16) & (1ULL << (SIGSEGV - 1)))
        return 0;
    if (blocked[0])
        printf("thread %s blocks %s\n", name, blocked);
    return 1;
}

int main(void)
{
    int32_t pe;
    nvshmemrs_runtime_t runtime = join(&pe);
    nvshmemrs_stream_t stream;
    CHECK(nvshmemrs_stream_new(runtime, &stream));

    DIR *threads = opendir("/proc/self/task");
    for (struct dirent *entry; threads && (entry = readdir(threads));)
        if (entry->d_name[0] != '.' && atoi(entry->d_name) != (int)getpid())
            for (int looks = 0; !show(entry->d_name, looks == LOOKS); looks++)
                usleep(1000);
    closedir(threads);

    sigset_t mine;
    sigemptyset(&mine);
    sigaddset(&mine, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &mine, NULL);
    for (int i = 0; i < SIGNALS; i++) {
        int got = 0;
        kill(getpid(), SIGUSR1);
        sigwait(&mine, &got);
        if (got != SIGUSR1)
            return 1;
    }
    printf("took %d signals\n", SIGNALS);
    CHECK(nvshmemrs_stream_free(stream));
    CHECK(nvshmemrs_finalize(runtime));
    return 0;
}
