/* One mistake, named by the first argument; every PE makes it, or the last PE only. Returns 0 if the mistake was not noticed. */

#include "common.h"

#include <pthread.h>
#include <unistd.h>

static void *exits(void *unused)
{
    (void)unused;
    nvshmem_global_exit(7);
    return NULL;
}

int main(int argc, char **argv)
{
    const char *mistake = argc > 1 ? argv[1] : "";
    static long outside;
#define IS(NAME) (strcmp(mistake, NAME) == 0)
    if (IS("before init"))
        nvshmem_long_p(&outside, 1, 0);
    if (IS("my_pe before init"))
        printf("%d\n", nvshmem_my_pe());
    if (IS("malloc before init"))
        printf("%p\n", nvshmem_malloc(8));
    if (IS("stream before init"))
        nvshmemx_barrier_all_on_stream(NULL);
    if (IS("finalize before init"))
        nvshmem_finalize();
    begin();
    long *word = nvshmem_calloc(4, sizeof *word), value = 1;
    nvshmem_barrier_all();
    if (IS("global_exit")) {
        printf("PE %d has something to say\n", me);
        if (me == n_pes - 1) {
            pthread_t thread;
            pthread_create(&thread, NULL, exits, NULL);
            pthread_join(thread, NULL);
        } else if (me == 0) {
            nvshmem_barrier_all();
        } else {
            for (;;)
                pause();
        }
    }
    if (IS("pe"))
        nvshmem_long_put(word, &value, 1, n_pes);
    if (IS("static"))
        nvshmem_long_p(&outside, 1, next);
    if (IS("stack collective"))
        nvshmem_long_sum_reduce(NVSHMEM_TEAM_WORLD, &value, word, 1);
    if (IS("bounds"))
        nvshmem_long_put(word + 3, &value, 100000000, next);
    if (IS("overflow"))
        nvshmem_long_put(word, &value, SIZE_MAX / 4, next);
    if (IS("null"))
        nvshmem_long_get(NULL, word, 1, next);
    if (IS("alignment"))
        nvshmem_int_atomic_inc((int *)((char *)word + 1), next);
    if (IS("half alignment"))
        nvshmemx_half_atomic_add((half *)((char *)word + 1), make_half(1), next);
    if (IS("signal"))
        nvshmemx_signal_op((uint64_t *)word, 1, 3, next);
    if (IS("destroyed team") || IS("collective of a destroyed team")) {
        nvshmem_team_t team, again;
        nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, 0, 1, n_pes, NULL, 0, &team);
        nvshmem_team_destroy(team);
        nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, 0, 1, n_pes, NULL, 0, &again);
        if (IS("destroyed team"))
            printf("%d\n", nvshmem_team_n_pes(team));
        printf("collective: %d\n", nvshmem_barrier(team) != 0);
        nvshmem_team_destroy(team);
    }
    if (IS("no team"))
        printf("%d\n", nvshmem_team_n_pes(-7));
    if (IS("predefined team"))
        nvshmem_team_destroy(NVSHMEM_TEAM_WORLD);
    if (IS("stream"))
        nvshmemx_barrier_all_on_stream((cudaStream_t)word);
    if (IS("queued")) {
        nvshmemx_long_p_on_stream(word, 1, n_pes, NULL);
        nvshmem_finalize();
    }
    if (IS("flags"))
        nvshmemx_buffer_register_symmetric(word, 4096, 3);
    if (IS("free"))
        nvshmem_free(word + 1);
    if (IS("once more")) {
        nvshmem_finalize();
        nvshmem_finalize();
    }
    if (IS("after finalize")) {
        nvshmem_finalize();
        nvshmem_long_put(word, &value, 1, 0);
    }
    if (IS("attributes")) {
        nvshmemx_init_attr_t attr = NVSHMEMX_INIT_ATTR_INITIALIZER;
        nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
        CHECK(nvshmemx_init_attr(64, NULL) == NVSHMEMX_ERROR_INVALID_VALUE);
        CHECK(nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, NULL) == NVSHMEMX_ERROR_INVALID_VALUE);
        CHECK(nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attr) == NVSHMEMX_ERROR_INVALID_VALUE);
        CHECK(nvshmemx_init_attr(NVSHMEMX_INIT_WITH_MPI_COMM, &attr) == NVSHMEMX_ERROR_INVALID_VALUE);
        CHECK(nvshmemx_init_attr(NVSHMEMX_INIT_WITH_MPI_COMM | NVSHMEMX_INIT_WITH_SHMEM, &attr) == NVSHMEMX_ERROR_INVALID_VALUE);
        CHECK(nvshmemx_set_attr_uniqueid_args(2, 2, &id, &attr) == NVSHMEMX_ERROR_INVALID_VALUE);
        CHECK(nvshmemx_set_attr_uniqueid_args(0, 2, NULL, &attr) == NVSHMEMX_ERROR_INVALID_VALUE);
        CHECK(nvshmemx_set_attr_mpi_comm_args(NULL, &attr) == NVSHMEMX_ERROR_INVALID_VALUE);
        CHECK(nvshmemx_get_uniqueid(NULL) == NVSHMEMX_ERROR_INVALID_VALUE);
        /* Another job than the one that this PE is in. */
        CHECK(nvshmemx_get_uniqueid(&id) == 0 && nvshmemx_set_attr_uniqueid_args(0, 1, &id, &attr) == 0);
        CHECK(nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attr) == NVSHMEMX_ERROR_INVALID_VALUE);
        end();
    }
    if (getenv("NVSHMEMRS_ON_ERROR") != NULL)
        printf("PE %d goes on: %s\n", me, nvshmemrs_last_error());
    return 0;
}
