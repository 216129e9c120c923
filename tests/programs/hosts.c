/* A program that calls MPI itself, and nvshmemrs over a communicator of its own, whose ranks run the other way. The first argument selects
 * the part:
 *
 * comm      puts to the neighbour, sums, and ends everything in order; twice, the second time with the communicator as Fortran has it
 * single    has initialised MPI without support for threads
 * early     PE 1 calls MPI_Finalize while the job still runs; the others wait for it
 * kill      PE 1 kills itself; the others wait for it
 * wait      PE 0 waits in a barrier, the others for a signal, until they are ended */

#include "check.h"

#include <mpi.h>
#include <signal.h>
#include <string.h>

static void use(nvshmemrs_runtime_t runtime, int32_t rank, int32_t size)
{
    int32_t me, n_pes;
    int64_t sum, *words;
    CHECK(nvshmemrs_my_pe(runtime, &me));
    CHECK(nvshmemrs_n_pes(runtime, &n_pes));
    if (me != rank || n_pes != size) {
        fprintf(stderr, "PE %d of %d, but rank %d of %d\n", (int)me, (int)n_pes, (int)rank, (int)size);
        exit(1);
    }
    words = zeroed(runtime, 3, sizeof *words);
    sum = 1000 + me;
    CHECK(nvshmemrs_put(runtime, &words[1], &sum, sizeof sum, (me + 1) % n_pes));
    CHECK(nvshmemrs_barrier(runtime, NVSHMEMRS_TEAM_WORLD));
    if (words[0] != 0 || words[1] != 1000 + (me + n_pes - 1) % n_pes || words[2] != 0) {
        fprintf(stderr, "PE %d has %ld %ld %ld\n", (int)me, (long)words[0], (long)words[1], (long)words[2]);
        exit(1);
    }
    CHECK(nvshmemrs_free(runtime, words));
}

static void say(const char *what, int32_t pe, int32_t status)
{
    printf("%s on PE %d: status %d: %s\n", what, (int)pe, (int)status, nvshmemrs_last_error());
    fflush(stdout);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int provided, rank, size;
    MPI_Comm turned;
    nvshmemrs_runtime_t runtime;
    int32_t status;

    if (strcmp(what, "single") == 0)
        MPI_Init(&argc, &argv);
    else
        MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &turned);
    rank = size - 1 - rank;

    status = nvshmemrs_init_mpi_comm(&turned, NULL, &runtime);
    if (strcmp(what, "single") == 0) {
        say("init", rank, status);
        MPI_Finalize();
        return 0;
    }
    CHECK(status);
    use(runtime, rank, size);
    if (strcmp(what, "early") == 0 || strcmp(what, "kill") == 0) {
        if (rank == 1 && strcmp(what, "kill") == 0)
            kill(getpid(), SIGKILL);
        if (rank == 1)
            MPI_Finalize();
        status = nvshmemrs_barrier(runtime, NVSHMEMRS_TEAM_WORLD);
        say("barrier", rank, status);
        /* Without the destructors of MPI, which would wait for the others. */
        _exit(0);
    }
    if (strcmp(what, "wait") == 0) {
        void *memory;
        CHECK(nvshmemrs_calloc(runtime, 1, sizeof(uint64_t), &memory));
        if (rank == 0) {
            printf("PE 0 is %d\n", (int)getpid());
            fflush(stdout);
            status = nvshmemrs_barrier(runtime, NVSHMEMRS_TEAM_WORLD);
        } else {
            status = nvshmemrs_signal_wait(runtime, memory, NVSHMEMRS_CMP_EQ, 1, NULL);
        }
        say("wait", rank, status);
        return 1;
    }
    CHECK(nvshmemrs_finalize(runtime));
    CHECK(nvshmemrs_init_mpi_fortran(MPI_Comm_c2f(turned), NULL, &runtime));
    use(runtime, rank, size);
    CHECK(nvshmemrs_finalize(runtime));

    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Comm_free(&turned);
    MPI_Finalize();
    printf("PE %d ok\n", rank);
    return 0;
}
