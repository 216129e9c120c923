/* A PE forks a child in mid-job; the child calls everything it should not, and ends the way the argument says. */

#include "check.h"

#include <sys/wait.h>

static int failures;

static void refused(int32_t status, const char *call)
{
    if (status != NVSHMEMRS_ERROR_FORKED || !strstr(nvshmemrs_last_error(), "forked child")) {
        fprintf(stderr, "%s in a forked child: status %d: %s\n", call, (int)status, nvshmemrs_last_error());
        failures++;
    }
}

#define FORKED(call) refused((call), #call)

static void misbehave(nvshmemrs_runtime_t runtime, double *data, uint64_t *signal)
{
    void *memory;
    double local[1] = {7};
    uint64_t word;
    uint32_t half;
    int32_t number;
    nvshmemrs_heap_stats_t stats;
    FORKED(nvshmemrs_put(runtime, data, local, sizeof local, 0));
    FORKED(nvshmemrs_get(runtime, local, data, sizeof local, 0));
    FORKED(nvshmemrs_put_nbi(runtime, data, local, sizeof local, 0));
    FORKED(nvshmemrs_get_nbi(runtime, local, data, sizeof local, 0));
    FORKED(nvshmemrs_p8(runtime, data, 1, 0));
    FORKED(nvshmemrs_p64(runtime, data, 1, 0));
    FORKED(nvshmemrs_g64(runtime, data, 0, &word));
    FORKED(nvshmemrs_atomic_fetch_add64(runtime, signal, 1, 0, &word));
    FORKED(nvshmemrs_atomic_compare_swap32(runtime, (uint32_t *)signal, 0, 1, 0, &half));
    FORKED(nvshmemrs_put_signal(runtime, data, local, sizeof local, signal, 1, NVSHMEMRS_SIGNAL_SET, 0));
    FORKED(nvshmemrs_signal_op(runtime, signal, 1, NVSHMEMRS_SIGNAL_SET, 0));
    FORKED(nvshmemrs_signal_wait(runtime, signal, NVSHMEMRS_CMP_NE, 0, NULL));
    FORKED(nvshmemrs_signal_fetch(runtime, signal, &word));
    FORKED(nvshmemrs_fence(runtime));
    FORKED(nvshmemrs_quiet(runtime));
    FORKED(nvshmemrs_barrier(runtime, NVSHMEMRS_TEAM_WORLD));
    FORKED(nvshmemrs_sync(runtime, NVSHMEMRS_TEAM_WORLD));
    FORKED(nvshmemrs_broadcast(runtime, NVSHMEMRS_TEAM_WORLD, data, data, sizeof local, 0));
    FORKED(nvshmemrs_reduce(runtime, NVSHMEMRS_TEAM_WORLD, data, data, 1, NVSHMEMRS_DTYPE_DOUBLE, NVSHMEMRS_OP_SUM));
    FORKED(nvshmemrs_malloc(runtime, 64, &memory));
    FORKED(nvshmemrs_calloc(runtime, 1, 64, &memory));
    FORKED(nvshmemrs_align(runtime, 4096, 64, &memory));
    FORKED(nvshmemrs_free(runtime, data));
    FORKED(nvshmemrs_release(runtime, data));
    FORKED(nvshmemrs_heap_stats(runtime, &stats));
    FORKED(nvshmemrs_ptr(runtime, data, 0, &memory));
    FORKED(nvshmemrs_is_symmetric(runtime, data, 8, &number));
    FORKED(nvshmemrs_team_my_pe(runtime, NVSHMEMRS_TEAM_WORLD, &number));
    FORKED(nvshmemrs_my_pe(runtime, &number));
    FORKED(nvshmemrs_n_pes(runtime, &number));
    FORKED(nvshmemrs_runtime_check(runtime));
    FORKED(nvshmemrs_finalize(runtime));
}

int main(int argc, char **argv)
{
    int32_t pe, n_pes;
    nvshmemrs_runtime_t runtime = join(&pe);
    void *memory;
    CHECK(nvshmemrs_n_pes(runtime, &n_pes));
    CHECK(nvshmemrs_calloc(runtime, 1, sizeof(double), &memory));
    double *data = memory;
    CHECK(nvshmemrs_calloc(runtime, 1, sizeof(uint64_t), &memory));
    uint64_t *signal = memory;
    if (argc != 2)
        return 90;

    fflush(stdout);
    pid_t child = fork();
    if (child < 0)
        return 91;
    if (child == 0) {
        misbehave(runtime, data, signal);
        if (strcmp(argv[1], "_exit") == 0)
            _exit(failures);
        if (strcmp(argv[1], "exit") == 0)
            exit(failures);
        return failures;
    }
    int status;
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        fprintf(stderr, "the child of PE %d ended with wait status %#x\n", (int)pe, status);
        return 92;
    }
    /* Longer than it takes to notice a death. */
    usleep(700000);

    double value = pe + 1.0;
    int32_t right = (pe + 1) % n_pes, left = (pe + n_pes - 1) % n_pes;
    CHECK(nvshmemrs_put_signal(runtime, data, &value, sizeof value, signal, 1, NVSHMEMRS_SIGNAL_SET, right));
    CHECK(nvshmemrs_signal_wait(runtime, signal, NVSHMEMRS_CMP_EQ, 1, NULL));
    if (*data != left + 1.0)
        return 93;
    CHECK(nvshmemrs_runtime_check(runtime));
    CHECK(nvshmemrs_barrier(runtime, NVSHMEMRS_TEAM_WORLD));
    CHECK(nvshmemrs_free(runtime, data));
    CHECK(nvshmemrs_finalize(runtime));
    printf("PE %d goes on\n", (int)pe);
    return 0;
}
