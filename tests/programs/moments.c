/* Joins jobs and leaves them, one after the other; one PE is killed at some moment of that.
 *
 *   moments VICTIM KIND MOMENT ROUNDS SEED FILE
 *
 * KIND is "call": the victim is killed as it enters its system call number MOMENT; "time": after MOMENT microseconds; or "none": it counts
 * its calls. It is a child of the PE's own process, which traces it, and writes its end to FILE: "killed S T" (how far it had come, and
 * when) or "ended CALLS MICROSECONDS". Every PE begins a random while later. A call that fails is printed with the time. Exit status 77: a
 * process may not be traced here. */

#include "check.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Three steps a round: before init has returned, before finalize, and from then on. */
static volatile int *step;

static void must(const char *call, int round, int32_t status)
{
    if (status == NVSHMEMRS_SUCCESS)
        return;
    printf("%s of round %d: status %d at %.6f: %s\n", call, round, (int)status, now(), nvshmemrs_last_error());
    exit(CALL_FAILED);
}

static int rounds(int count)
{
    for (int round = 0; round < count; round++) {
        nvshmemrs_runtime_t runtime;
        *step = 3 * round;
        must("init", round, nvshmemrs_init(NULL, &runtime));
        *step = 3 * round + 1;
        must("barrier", round, nvshmemrs_barrier(runtime, NVSHMEMRS_TEAM_WORLD));
        *step = 3 * round + 2;
        must("finalize", round, nvshmemrs_finalize(runtime));
    }
    printf("done\n");
    return 0;
}

static void note(const char *file, const char *text)
{
    FILE *out = fopen(file, "w");
    if (!out || fputs(text, out) < 0 || fclose(out) != 0)
        exit(90);
}

static void die(pid_t child, const char *file)
{
    char text[64];
    kill(child, SIGKILL);
    snprintf(text, sizeof text, "killed %d %.6f\n", *step, now());
    note(file, text);
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
    kill(getpid(), SIGKILL);
    pause();
}

/* Traces the child, and kills it as it enters that call; its number of calls if it ends before. */
static long trace(pid_t child, long moment, const char *file)
{
    int status, entering = 1;
    long calls = 0;
    if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
        exit(77);
    if (ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD) != 0)
        exit(91);
    for (long with = 0;;) {
        if (ptrace(PTRACE_SYSCALL, child, 0, with) != 0 || waitpid(child, &status, 0) != child)
            exit(92);
        if (!WIFSTOPPED(status))
            break;
        with = WSTOPSIG(status) == (SIGTRAP | 0x80) ? 0 : WSTOPSIG(status);
        if (with == 0 && entering && ++calls == moment)
            die(child, file);
        if (with == 0)
            entering = !entering;
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        exit(93);
    return calls;
}

int main(int argc, char **argv)
{
    if (argc != 7)
        return 2;
    int me = atoi(getenv("NVSHMEMRS_PE")), count = atoi(argv[4]);
    const char *kind = argv[2];
    long moment = atol(argv[3]);
    uint64_t chance = strtoull(argv[5], NULL, 10) * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)me * UINT64_C(0xd1342543de82ef95);
    chance ^= chance >> 29;
    step = mmap(NULL, sizeof *step, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (step == MAP_FAILED)
        return 94;
    usleep((useconds_t)(chance % 8000));
    if (me != atoi(argv[1]))
        return rounds(count);

    double start = now();
    pid_t child = fork();
    if (child == 0) {
        int traced = strcmp(kind, "time") != 0;
        if (traced && (ptrace(PTRACE_TRACEME, 0, 0, 0) != 0 || raise(SIGSTOP) != 0))
            _exit(77);
        exit(rounds(count));
    }
    if (child < 0)
        return 95;
    long calls = 0;
    int status;
    if (strcmp(kind, "time") == 0) {
        usleep((useconds_t)moment);
        /* As long as it has not been waited for, its number is its own. */
        siginfo_t ended = {0};
        if (waitid(P_PID, (id_t)child, &ended, WEXITED | WNOHANG | WNOWAIT) != 0)
            return 96;
        if (ended.si_pid == 0)
            die(child, argv[6]);
        if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
            return 97;
    } else {
        calls = trace(child, moment, argv[6]);
    }
    char text[64];
    snprintf(text, sizeof text, "ended %ld %.0f\n", calls, 1e6 * (now() - start));
    note(argv[6], text);
    return 0;
}
