/* PEs wait in an operation of each class until SIGINT comes. Arguments: OPERATION, and "default" to leave SIGINT to the system or
 * "handler" to have a handler call nvshmemrs_interrupt. The last PE does something else meanwhile. */

#include "check.h"

#include <signal.h>
#include <string.h>

static nvshmemrs_runtime_t runtime;
static int32_t me, n_pes;
static uint64_t *flag;
static double *data;

static void on_interrupt(int number)
{
    (void)number;
    if (nvshmemrs_interrupt(runtime) != NVSHMEMRS_SUCCESS)
        _exit(98);
}

static int32_t operate(const char *operation)
{
    nvshmemrs_stream_t stream;
    nvshmemrs_team_t team;
    void *memory;
    if (strcmp(operation, "barrier") == 0)
        return nvshmemrs_barrier(runtime, NVSHMEMRS_TEAM_WORLD);
    if (strcmp(operation, "reduce") == 0)
        return nvshmemrs_reduce(runtime, NVSHMEMRS_TEAM_WORLD, data, data, 1 << 16, NVSHMEMRS_DTYPE_DOUBLE, NVSHMEMRS_OP_SUM);
    if (strcmp(operation, "malloc") == 0)
        return nvshmemrs_malloc(runtime, 64, &memory);
    if (strcmp(operation, "signal_wait") == 0)
        return nvshmemrs_signal_wait(runtime, flag, NVSHMEMRS_CMP_EQ, 1, NULL);
    if (strcmp(operation, "wait_until_all") == 0)
        return nvshmemrs_wait_until_all(runtime, flag, 1, NULL, NVSHMEMRS_CMP_EQ, &(int64_t){1}, NVSHMEMRS_DTYPE_INT64);
    if (strcmp(operation, "team_init") == 0) {
        nvshmemrs_team_config_t config;
        CHECK(nvshmemrs_team_config_default(&config));
        config.uniqueid = 7;
        return nvshmemrs_team_init(runtime, &config, NVSHMEMRS_TEAM_CONFIG_UNIQUEID, n_pes, me, &team);
    }
    if (strcmp(operation, "stream_synchronize") == 0) {
        CHECK(nvshmemrs_stream_new(runtime, &stream));
        CHECK(nvshmemrs_barrier(stream, NVSHMEMRS_TEAM_WORLD));
        return nvshmemrs_stream_synchronize(stream);
    }
    if (strcmp(operation, "event_synchronize") == 0) {
        nvshmemrs_event_t event;
        CHECK(nvshmemrs_stream_new(runtime, &stream));
        CHECK(nvshmemrs_event_new(runtime, &event));
        CHECK(nvshmemrs_signal_wait(stream, flag, NVSHMEMRS_CMP_EQ, 1, NULL));
        CHECK(nvshmemrs_event_record(event, stream));
        return nvshmemrs_event_synchronize(event);
    }
    if (strcmp(operation, "finalize") == 0)
        return nvshmemrs_finalize(runtime);
    exit(98);
}

int main(int argc, char **argv)
{
    int32_t status;
    if (argc != 3)
        return 92;
    runtime = join(&me);
    CHECK(nvshmemrs_n_pes(runtime, &n_pes));
    flag = zeroed(runtime, 1, sizeof *flag);
    data = zeroed(runtime, 1 << 16, sizeof *data);
    if (strcmp(argv[2], "handler") == 0)
        signal(SIGINT, on_interrupt);
    CHECK(nvshmemrs_barrier(runtime, NVSHMEMRS_TEAM_WORLD));
    printf("ready\n");
    fflush(stdout);
    if (me == n_pes - 1 && strcmp(argv[1], "signal_wait") != 0) {
        sleep(60);
        return 4;
    }
    status = operate(argv[1]);
    fprintf(stderr, "%s: status %d: %s\n", argv[1], (int)status, nvshmemrs_last_error());
    return status;
}
