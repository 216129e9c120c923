/* Jobs that hang, in the way the argument says. With NVSHMEMRS_TIMEOUT every wait ends, and each PE prints the result of its call; a
 * second argument is a deadline for the calls instead. */

#include "check.h"

#include <signal.h>
#include <string.h>
#include <sys/resource.h>

static nvshmemrs_runtime_t runtime;
static int32_t me, n_pes;
static uint64_t *flag;
static double *data;
static nvshmemrs_team_t pair; /* PEs 0 and 1 */

static void report(const char *what, int32_t status)
{
    printf("PE %d: %s: status %d: %s\n", (int)me, what, (int)status, status == 0 ? "success" : nvshmemrs_last_error());
    fflush(stdout);
}

#define REPORT(what, call) report(what, (call))

static int32_t barrier(void)
{
    return nvshmemrs_barrier(runtime, NVSHMEMRS_TEAM_WORLD);
}

static int32_t reduce(nvshmemrs_team_t team)
{
    return nvshmemrs_reduce(runtime, team, data, data, 1, NVSHMEMRS_DTYPE_DOUBLE, NVSHMEMRS_OP_SUM);
}

static int32_t signal_wait(void)
{
    return nvshmemrs_signal_wait(runtime, flag, NVSHMEMRS_CMP_GE, 1, NULL);
}

/* The last PE computes for ever. */
static void computing(void)
{
    if (me < n_pes - 1) {
        REPORT("barrier", barrier());
    } else {
        alarm(120);
        for (volatile uint64_t rounds = 0;; rounds++)
            ;
    }
}

/* The last PE sleeps in the kernel. */
static void sleeping(void)
{
    if (me < n_pes - 1)
        REPORT("reduce", reduce(NVSHMEMRS_TEAM_WORLD));
    else
        sleep(120);
}

/* The last PE waits for a signal that nobody sends, the others are in a barrier. */
static void against_a_wait(void)
{
    if (me < n_pes - 1)
        REPORT("barrier", barrier());
    else
        REPORT("signal_wait", signal_wait());
}

/* PE 1 reduces with PE 0, which is in a barrier of all. */
static void crossed(void)
{
    if (me == 1) {
        usleep(100000);
        REPORT("reduce", reduce(pair));
    } else {
        REPORT("barrier", barrier());
    }
}

/* As crossed, and the last PE is late. */
static void crossed_and_late(void)
{
    if (me == n_pes - 1)
        sleep(120);
    crossed();
}

/* Everybody waits for a signal. */
static void nobody_sends(void)
{
    REPORT("signal_wait", signal_wait());
}

/* The last PE has finalized, the others do not know. */
static void finalized(void)
{
    if (me < n_pes - 1)
        REPORT("signal_wait", signal_wait());
    else
        REPORT("finalize", nvshmemrs_finalize(runtime));
}

/* PE 0 waits for its own stream, on which a barrier waits for the last PE, which is in a collective of its own making. */
static void on_a_stream(void)
{
    nvshmemrs_stream_t stream;
    CHECK(nvshmemrs_stream_new(runtime, &stream));
    if (me == n_pes - 1) {
        REPORT("wait_until", nvshmemrs_wait_until(runtime, flag, NVSHMEMRS_CMP_EQ, &(uint64_t){7}, NVSHMEMRS_DTYPE_UINT64));
    } else {
        REPORT("queued", nvshmemrs_barrier(stream, NVSHMEMRS_TEAM_WORLD));
        REPORT("stream_synchronize", nvshmemrs_stream_synchronize(stream));
    }
}

static void crash(int number)
{
    (void)number;
    kill(getpid(), SIGSEGV);
}

/* PE 1 crashes in a barrier, in which all wait for the last PE. */
static void crashing(void)
{
    if (me == 1) {
        signal(SIGALRM, crash);
        alarm(1);
    }
    if (me == n_pes - 1)
        sleep(120);
    REPORT("barrier", barrier());
    exit(5);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*body)(void);
    } scenarios[] = {
        {"computing", computing},   {"sleeping", sleeping},       {"against_a_wait", against_a_wait},
        {"crossed", crossed},       {"nobody_sends", nobody_sends}, {"finalized", finalized},
        {"on_a_stream", on_a_stream}, {"crashing", crashing},     {"crossed_and_late", crossed_and_late},
    };
    const struct rlimit no_core = {0, 0};
    void *memory;
    uint64_t previous = 0;
    setrlimit(RLIMIT_CORE, &no_core);
    runtime = join(&me);
    CHECK(nvshmemrs_n_pes(runtime, &n_pes));
    CHECK(nvshmemrs_calloc(runtime, 1, sizeof *flag, &memory));
    flag = memory;
    CHECK(nvshmemrs_calloc(runtime, 1, sizeof *data, &memory));
    data = memory;
    CHECK(nvshmemrs_team_split_strided(runtime, NVSHMEMRS_TEAM_WORLD, 0, 1, n_pes < 2 ? 1 : 2, NULL, 0, &pair));
    CHECK(nvshmemrs_barrier(runtime, NVSHMEMRS_TEAM_WORLD));
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
        if (argc < 2 || strcmp(argv[1], scenarios[i].name) != 0)
            continue;
        if (argc > 2)
            CHECK(nvshmemrs_deadline_begin(atof(argv[2]), &previous));
        scenarios[i].body();
        if (argc > 2)
            CHECK(nvshmemrs_deadline_end(previous));
        return 0;
    }
    return 91;
}
