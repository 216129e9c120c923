/* Init by a communicator of MPI's whose ranks are not the processes' numbers, and by a unique id that MPI carries. */

#include "common.h"

#include <mpi.h>

static void ring(void)
{
    long *word = nvshmem_calloc(1, sizeof *word);
    CHECK(word != NULL);
    nvshmem_long_p(word, me + 5, next);
    nvshmem_barrier_all();
    CHECK(*word == before + 5);
    nvshmem_free(word);
}

/* The communicator's variable is gone when this has returned. */
static void init(int color, int key)
{
    MPI_Comm turned;
    nvshmemx_init_attr_t attr = NVSHMEMX_INIT_ATTR_INITIALIZER;
    MPI_Comm_split(MPI_COMM_WORLD, color, key, &turned);
    CHECK(nvshmemx_set_attr_mpi_comm_args(&turned, &attr) == 0);
    if (nvshmemx_init_attr(NVSHMEMX_INIT_WITH_MPI_COMM, &attr) != 0)
        printf("init: %s\n", nvshmemrs_last_error());
    /* The same again counts. */
    CHECK(nvshmemx_init_attr(NVSHMEMX_INIT_WITH_MPI_COMM, &attr) == 0);
    nvshmem_finalize();
}

int main(int argc, char **argv)
{
    int provided, rank, size;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    init(0, -rank);
    who();
    CHECK(me == size - 1 - rank && n_pes == size);
    ring();
    nvshmem_finalize();
    if (argc > 1 && strcmp(argv[1], "one host") == 0) {
        nvshmemx_init_attr_t attr = NVSHMEMX_INIT_ATTR_INITIALIZER;
        nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
        if (rank == 0)
            CHECK(nvshmemx_get_uniqueid(&id) == 0);
        MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
        CHECK(nvshmemx_set_attr_uniqueid_args(rank, size, &id, &attr) == 0);
        CHECK(nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attr) == 0);
        who();
        CHECK(me == rank && n_pes == size);
        ring();
        nvshmem_finalize();
    }
    printf("PE %d of %d: same\n", me, n_pes);
    MPI_Finalize();
    return 0;
}
