/* Some PEs end without finalize while the others are inside an operation.
 *
 * Arguments: OPERATION HOW VICTIMS FILE. PEs 1 to VICTIMS end, the way HOW says, and write the moment to FILE. Every
 * other PE says what its call came to and how long after that moment, and checks that the job stays broken. */

#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>

enum { FEW = 4, MANY = 1 << 18 };

static nvshmemrs_runtime_t runtime;
static double *source, *dest;
static uint64_t *flag;
static const char *how, *file;

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* Only calls that a signal handler may make, but for exit and abort, which no handler of ours asks for. */
static void die(void)
{
    int64_t now = now_ns();
    int out = open(file, O_WRONLY | O_APPEND);
    if (out < 0 || write(out, &now, sizeof now) != sizeof now)
        _exit(99);
    if (strcmp(how, "kill") == 0)
        kill(getpid(), SIGKILL);
    else if (strcmp(how, "segfault") == 0)
        kill(getpid(), SIGSEGV);
    else if (strcmp(how, "abort") == 0)
        abort();
    else if (strcmp(how, "exit") == 0)
        exit(0);
    for (;;)
        pause();
}

static void on_alarm(int number)
{
    (void)number;
    die();
}

static int32_t collectives_forever(void)
{
    for (;;) {
        void *memory;
        int32_t status = nvshmemrs_reduce(runtime, NVSHMEMRS_TEAM_WORLD, dest, source, MANY, NVSHMEMRS_DTYPE_DOUBLE,
                                          NVSHMEMRS_OP_SUM);
        if (status == 0)
            status = nvshmemrs_broadcast(runtime, NVSHMEMRS_TEAM_WORLD, dest, source, MANY * sizeof *dest, 0);
        if (status == 0)
            status = nvshmemrs_barrier(runtime, NVSHMEMRS_TEAM_WORLD);
        if (status == 0)
            status = nvshmemrs_malloc(runtime, 4096, &memory);
        if (status == 0)
            status = nvshmemrs_free(runtime, memory);
        if (status != 0)
            return status;
    }
}

static int32_t operate(const char *operation)
{
    void *memory;
    if (strcmp(operation, "barrier") == 0)
        return nvshmemrs_barrier(runtime, NVSHMEMRS_TEAM_WORLD);
    if (strcmp(operation, "sync") == 0)
        return nvshmemrs_sync(runtime, NVSHMEMRS_TEAM_WORLD);
    if (strcmp(operation, "broadcast_small") == 0)
        return nvshmemrs_broadcast(runtime, NVSHMEMRS_TEAM_WORLD, dest, source, FEW * sizeof *dest, 0);
    if (strcmp(operation, "broadcast_large") == 0)
        return nvshmemrs_broadcast(runtime, NVSHMEMRS_TEAM_WORLD, dest, source, MANY * sizeof *dest, 0);
    if (strcmp(operation, "reduce_small") == 0)
        return nvshmemrs_reduce(runtime, NVSHMEMRS_TEAM_WORLD, dest, source, FEW, NVSHMEMRS_DTYPE_DOUBLE,
                                NVSHMEMRS_OP_SUM);
    if (strcmp(operation, "reduce_large") == 0)
        return nvshmemrs_reduce(runtime, NVSHMEMRS_TEAM_WORLD, dest, source, MANY, NVSHMEMRS_DTYPE_DOUBLE,
                                NVSHMEMRS_OP_SUM);
    if (strcmp(operation, "malloc") == 0)
        return nvshmemrs_malloc(runtime, 4096, &memory);
    if (strcmp(operation, "free") == 0)
        return nvshmemrs_free(runtime, dest);
    if (strcmp(operation, "signal_wait") == 0)
        return nvshmemrs_signal_wait(runtime, flag, NVSHMEMRS_CMP_NE, 0, NULL);
    if (strcmp(operation, "finalize") == 0)
        return nvshmemrs_finalize(runtime);
    if (strcmp(operation, "collectives") == 0)
        return collectives_forever();
    fprintf(stderr, "unknown operation %s\n", operation);
    exit(98);
}

static void survive(const char *operation)
{
    int32_t status = operate(operation);
    int64_t noticed = now_ns(), died = 0;
    int in = open(file, O_RDONLY);
    if (in < 0 || read(in, &died, sizeof died) != sizeof died) {
        fprintf(stderr, "status %d before anybody died: %s\n", (int)status, nvshmemrs_last_error());
        exit(97);
    }
    printf("status %d after %.1f ms: %s\n", (int)status, (double)(noticed - died) / 1e6, nvshmemrs_last_error());
    fflush(stdout);
    if (strcmp(operation, "finalize") == 0) {
        int32_t pe;
        exit(nvshmemrs_my_pe(runtime, &pe) == NVSHMEMRS_ERROR_NOT_INITIALIZED ? 0 : 96);
    }
    if (nvshmemrs_runtime_check(runtime) != NVSHMEMRS_ERROR_PE_DIED)
        exit(95);
    if (nvshmemrs_barrier(runtime, NVSHMEMRS_TEAM_WORLD) != NVSHMEMRS_ERROR_PE_DIED)
        exit(94);
    /* The survivors can still reach each other, and finalize returns. */
    CHECK(nvshmemrs_put(runtime, dest, source, sizeof *dest, 0));
    if (nvshmemrs_finalize(runtime) != NVSHMEMRS_ERROR_PE_DIED)
        exit(93);
}

int main(int argc, char **argv)
{
    const struct rlimit no_core = {0, 0};
    int32_t pe;
    void *memory;
    if (argc != 5)
        return 92;
    how = argv[2];
    file = argv[4];
    setrlimit(RLIMIT_CORE, &no_core);

    runtime = join(&pe);
    CHECK(nvshmemrs_calloc(runtime, MANY, sizeof *source, &memory));
    source = memory;
    CHECK(nvshmemrs_calloc(runtime, MANY, sizeof *dest, &memory));
    dest = memory;
    CHECK(nvshmemrs_calloc(runtime, 1, sizeof *flag, &memory));
    flag = memory;
    CHECK(nvshmemrs_barrier(runtime, NVSHMEMRS_TEAM_WORLD));

    if (pe < 1 || pe > atoi(argv[3])) {
        survive(argv[1]);
        return 0;
    }
    if (strcmp(argv[1], "collectives") == 0) {
        const struct itimerval later = {{0, 0}, {0, 200000}};
        signal(SIGALRM, on_alarm);
        setitimer(ITIMER_REAL, &later, NULL);
        collectives_forever();
        return 91;
    }
    /* The others are to be inside the operation by then. */
    usleep(200000);
    die();
}
