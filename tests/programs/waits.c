/* Waits that end early, or late, in the way the argument says. The last PE is the one that the others miss. */

#include "check.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>

static nvshmemrs_runtime_t runtime;
static int32_t me, n_pes;
static uint64_t *flag, *count;
static const char *file;

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int32_t report(const char *what, double start, int32_t status)
{
    printf("%s: status %d after %.3f s: %s\n", what, (int)status, now_s() - start,
           status == 0 ? "success" : nvshmemrs_last_error());
    fflush(stdout);
    return status;
}

#define REPORT(what, call) \
    do { \
        double start = now_s(); \
        report(what, start, (call)); \
    } while (0)

static void others_are_done(void)
{
    uint64_t done = 0;
    while (done < (uint64_t)n_pes - 1) {
        CHECK(nvshmemrs_g64(runtime, count, 0, &done));
        usleep(1000);
    }
}

/* NVSHMEMRS_TIMEOUT is set, and the last PE does not enter the barrier in time. */
static void never_comes(void)
{
    uint64_t old;
    if (me < n_pes - 1) {
        REPORT("barrier", nvshmemrs_barrier(runtime, NVSHMEMRS_TEAM_WORLD));
        REPORT("again", nvshmemrs_barrier(runtime, NVSHMEMRS_TEAM_WORLD));
        CHECK(nvshmemrs_atomic_fetch_add64(runtime, count, 1, 0, &old));
    } else {
        others_are_done();
        REPORT("again", nvshmemrs_barrier(runtime, NVSHMEMRS_TEAM_WORLD));
    }
    /* Only this team is broken. */
    CHECK(nvshmemrs_barrier(runtime, NVSHMEMRS_TEAM_NODE));
    REPORT("finalize", nvshmemrs_finalize(runtime));
}

/* NVSHMEMRS_TIMEOUT is set, and nobody sends the signal. */
static void no_signal(void)
{
    REPORT("signal_wait", nvshmemrs_signal_wait(runtime, flag, NVSHMEMRS_CMP_GE, 41, NULL));
    CHECK(nvshmemrs_sync(runtime, NVSHMEMRS_TEAM_NODE));
    REPORT("finalize", nvshmemrs_finalize(runtime));
}

/* NVSHMEMRS_TIMEOUT is set, and the last PE leaves the others alone in finalize: until each of them has written a byte to the file. */
static void late_finalize(void)
{
    struct stat bytes = {0};
    while (me == n_pes - 1 && bytes.st_size < n_pes - 1) {
        usleep(1000);
        if (stat(file, &bytes) != 0)
            exit(97);
    }
    REPORT("finalize", nvshmemrs_finalize(runtime));
    const int fd = open(file, O_WRONLY | O_APPEND);
    if (write(fd, "", 1) != 1)
        exit(97);
}

static void on_alarm(int number)
{
    (void)number;
    if (nvshmemrs_interrupt(runtime) != NVSHMEMRS_SUCCESS)
        _exit(98);
}

static void alarm_soon(void)
{
    const struct itimerval soon = {{0, 0}, {0, 200000}};
    signal(SIGALRM, on_alarm);
    setitimer(ITIMER_REAL, &soon, NULL);
}

/* A signal handler of every PE interrupts its wait; afterwards the job is whole. */
static void interrupted(void)
{
    alarm_soon();
    REPORT("signal_wait", nvshmemrs_signal_wait(runtime, flag, NVSHMEMRS_CMP_GE, 41, NULL));
    REPORT("still", nvshmemrs_signal_wait(runtime, flag, NVSHMEMRS_CMP_GE, 41, NULL));
    CHECK(nvshmemrs_interrupt_clear(runtime));
    CHECK(nvshmemrs_barrier(runtime, NVSHMEMRS_TEAM_WORLD));
    REPORT("finalize", nvshmemrs_finalize(runtime));
}

/* PE 0 interrupts its barrier, and the last PE comes to it afterwards; the others must not wait for PE 0. */
static void interrupted_barrier(void)
{
    uint64_t old;
    if (me == 0)
        alarm_soon();
    else if (me == n_pes - 1)
        others_are_done();
    REPORT("barrier", nvshmemrs_barrier(runtime, NVSHMEMRS_TEAM_WORLD));
    CHECK(nvshmemrs_interrupt_clear(runtime));
    if (me == 0)
        CHECK(nvshmemrs_atomic_fetch_add64(runtime, count, (uint64_t)n_pes - 1, 0, &old));
    REPORT("finalize", nvshmemrs_finalize(runtime));
}

static int calls;

static int32_t third_call(void *user)
{
    return user == &calls && ++calls == 3;
}

/* The interrupt hook ends the wait on its third call. */
static void hook(void)
{
    CHECK(nvshmemrs_interrupt_hook(runtime, third_call, &calls));
    REPORT("signal_wait", nvshmemrs_signal_wait(runtime, flag, NVSHMEMRS_CMP_GE, 41, NULL));
    CHECK(nvshmemrs_interrupt_hook(runtime, NULL, NULL));
    if (calls != 3)
        exit(90);
    REPORT("finalize", nvshmemrs_finalize(runtime));
}

/* Meets for two seconds, or until the file that is given is gone. */
static void steady(void)
{
    double start = now_s();
    double *ends;
    ends = zeroed(runtime, 1, sizeof *ends);
    do {
        *ends = file ? access(file, F_OK) != 0 : now_s() - start > 2.0;
        CHECK(nvshmemrs_reduce(runtime, NVSHMEMRS_TEAM_WORLD, ends, ends, 1, NVSHMEMRS_DTYPE_DOUBLE,
                               NVSHMEMRS_OP_MAX));
        usleep(1000);
    } while (*ends == 0.0);
    REPORT("finalize", nvshmemrs_finalize(runtime));
}

/* The last PE is stopped from outside before it sends a signal, which it does after a second or, if a file is given, once that is gone; the
 * others wait for it again and again. */
static void stopped(void)
{
    if (me == n_pes - 1) {
        /* Time that passes only while this PE runs. */
        for (int step = 0; file ? access(file, F_OK) == 0 : step < 100; step++)
            usleep(10000);
        for (int32_t pe = 0; pe < n_pes - 1; pe++)
            CHECK(nvshmemrs_signal_op(runtime, flag, 41, NVSHMEMRS_SIGNAL_SET, pe));
    } else {
        int32_t status, errors = 0;
        do {
            double start = now_s();
            status = nvshmemrs_signal_wait(runtime, flag, NVSHMEMRS_CMP_GE, 41, NULL);
            if (status != 0 && errors++ == 0)
                report("signal_wait", start, status);
        } while (status == NVSHMEMRS_ERROR_PE_STOPPED);
        if (errors == 0)
            report("signal_wait", now_s(), status);
    }
    /* The stop is not final: nothing is left of it. */
    CHECK(nvshmemrs_barrier(runtime, NVSHMEMRS_TEAM_WORLD));
    REPORT("finalize", nvshmemrs_finalize(runtime));
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*body)(void);
    } scenarios[] = {
        {"never_comes", never_comes},
        {"no_signal", no_signal},
        {"late_finalize", late_finalize},
        {"interrupted", interrupted},
        {"interrupted_barrier", interrupted_barrier},
        {"hook", hook},
        {"steady", steady},
        {"stopped", stopped},
    };
    file = argc == 3 ? argv[2] : NULL;
    runtime = join(&me);
    CHECK(nvshmemrs_n_pes(runtime, &n_pes));
    flag = zeroed(runtime, 1, sizeof *flag);
    count = zeroed(runtime, 1, sizeof *count);
    CHECK(nvshmemrs_barrier(runtime, NVSHMEMRS_TEAM_WORLD));
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
        if (argc >= 2 && strcmp(argv[1], scenarios[i].name) == 0) {
            scenarios[i].body();
            return 0;
        }
    }
    return 91;
}
