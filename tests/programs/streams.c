/* The library's own writes, and the program's streams. Each PE, with NVSHMEM_DEBUG=TRACE and a standard error that takes nothing:
 *
 *   handler   SIGPIPE has a handler, which must not run for a write of the library's, and must for one of the program's
 *   pending   SIGPIPE is blocked and pending, which it must stay
 *   closed    the three streams are closed at the start; the library must not have put anything there
 */

#include "check.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>

static volatile sig_atomic_t seen;

static void count(int signal)
{
    (void)signal;
    seen++;
}

/* Makes standard error a pipe that nobody reads. */
static void nobody_reads(void)
{
    int ends[2];
    if (pipe(ends) != 0 || dup2(ends[1], STDERR_FILENO) < 0 || close(ends[0]) != 0 || close(ends[1]) != 0)
        exit(90);
}

static void use(void)
{
    nvshmemrs_runtime_t runtime;
    void *memory;
    CHECK(nvshmemrs_init(NULL, &runtime));
    CHECK(nvshmemrs_malloc(runtime, 64, &memory));
    CHECK(nvshmemrs_barrier(runtime, NVSHMEMRS_TEAM_WORLD));
    CHECK(nvshmemrs_finalize(runtime));
}

static void handler(void)
{
    struct sigaction action = {.sa_handler = count};
    sigaction(SIGPIPE, &action, NULL);
    nobody_reads();
    use();
    if (seen != 0)
        exit(91);
    if (write(STDERR_FILENO, "x", 1) != -1 || seen != 1)
        exit(92);
}

static void pending(void)
{
    sigset_t set, now;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    sigprocmask(SIG_BLOCK, &set, NULL);
    nobody_reads();
    kill(getpid(), SIGPIPE);
    use();
    sigpending(&now);
    if (sigismember(&now, SIGPIPE) != 1)
        exit(93);
    sigprocmask(SIG_BLOCK, NULL, &now);
    if (sigismember(&now, SIGPIPE) != 1)
        exit(94);
}

static void closed(void)
{
    nvshmemrs_runtime_t runtime;
    CHECK(nvshmemrs_init(NULL, &runtime));
    for (int stream = 0; stream < 3; stream++)
        if (fcntl(stream, F_GETFD) != -1)
            exit(95);
    CHECK(nvshmemrs_finalize(runtime));
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "handler") == 0)
        handler();
    else if (strcmp(what, "pending") == 0)
        pending();
    else if (strcmp(what, "closed") == 0)
        closed();
    else
        return 98;
    return 0;
}
