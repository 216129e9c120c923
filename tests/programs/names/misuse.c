/* One mistake, named by the first argument; every PE makes it, or the last PE only. Returns 0 if the mistake was not noticed. Compiled with
 * `IN_shmem` or `IN_nvshmem`. */

#ifdef IN_shmem
#include "../shmem/common.h"
#define TEAM_WORLD SHMEM_TEAM_WORLD
#define TEAM shmem_team_t
#else
#include "../nvshmem/common.h"
#define TEAM_WORLD NVSHMEM_TEAM_WORLD
#define TEAM nvshmem_team_t
#endif

#include <pthread.h>
#include <unistd.h>

#define IS(MISTAKE) (strcmp(mistake, MISTAKE) == 0)

static const char *mistake = "";
static long outside;
static long *word;
/* A variable of `main`, which is not symmetric. */
static long *local;

static void *exits(void *unused)
{
    (void)unused;
    NAME_OF(global_exit)(7);
    return NULL;
}

/* A thread of the last PE ends the job. */
static void exit_all(void)
{
    printf("PE %d has something to say\n", me);
    if (me == n_pes - 1) {
        pthread_t thread;
        pthread_create(&thread, NULL, exits, NULL);
        pthread_join(thread, NULL);
    } else if (me == 0) {
        NAME_OF(barrier_all)();
    } else {
        for (;;)
            pause();
    }
}

#ifdef IN_shmem

static _Thread_local long of_thread;

static void before_init(void)
{
    if (IS("start_pes")) {
        start_pes(0);
        start_pes(0);
        printf("PE %d of %d\n", _my_pe(), _num_pes());
        exit(0);
    }
}

static void after_init(shmem_team_t destroyed)
{
    if (IS("global_exit 0")) {
        if (me == 0)
            shmem_global_exit(0);
        for (;;)
            pause();
    }
    if (IS("two writers")) {
        shmem_long_p(word, me, 0);
        shmem_finalize();
    }
    if (IS("thread-local"))
        shmem_long_p(&of_thread, 1, next);
    if (IS("library"))
        shmem_int_p((int *)&stdout->_flags, 1, next);
    if (IS("cmp"))
        shmem_long_wait_until(word, 17, 1);
    if (IS("signal"))
        shmem_long_put_signal(word, local, 1, (uint64_t *)(word + 1), 1, 3, next);
    if (IS("ctx"))
        shmem_ctx_long_p(SHMEM_CTX_INVALID, word, 1, next);
    if (IS("destroyed ctx")) {
        shmem_ctx_t ctx;
        shmem_ctx_create(0, &ctx);
        shmem_ctx_destroy(ctx);
        shmem_ctx_quiet(ctx);
    }
    if (IS("destroyed team"))
        printf("%d\n", shmem_team_n_pes(destroyed));
    if (IS("ctx of a destroyed team") || IS("pe of a team")) {
        shmem_team_t team;
        shmem_ctx_t ctx;
        shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n_pes, NULL, 0, &team);
        shmem_team_create_ctx(team, 0, &ctx);
        if (IS("pe of a team"))
            shmem_ctx_long_p(ctx, word, 1, n_pes);
        shmem_team_destroy(team);
        shmem_ctx_long_p(ctx, word, 1, 0);
    }
    if (IS("default ctx"))
        shmem_ctx_destroy(SHMEM_CTX_DEFAULT);
    if (IS("set"))
        shmem_barrier(0, 0, n_pes + 1, word);
    if (IS("set without me"))
        shmem_barrier((me + 1) % n_pes, 0, 1, word);
    if (IS("to_all"))
        shmem_long_sum_to_all(word, word + 1, -1, 0, 0, n_pes, word, word);
    if (IS("lock"))
        shmem_set_lock(local);
    if (IS("lock twice")) {
        if (me == n_pes - 1) {
            shmem_set_lock(word);
            shmem_set_lock(word);
        }
        shmem_barrier_all();
    }
    if (IS("free lock"))
        shmem_clear_lock(word);
    if (IS("lock after finalize")) {
        shmem_finalize();
        shmem_set_lock(word);
    }
}

#else

static void before_init(void)
{
    if (IS("malloc before init"))
        printf("%p\n", nvshmem_malloc(8));
    if (IS("stream before init"))
        nvshmemx_barrier_all_on_stream(NULL);
}

static void attributes(void)
{
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

static void after_init(nvshmem_team_t destroyed)
{
    if (IS("static"))
        nvshmem_long_p(&outside, 1, next);
    if (IS("half alignment"))
        nvshmemx_half_atomic_add((half *)((char *)word + 1), make_half(1), next);
    if (IS("signal"))
        nvshmemx_signal_op((uint64_t *)word, 1, 3, next);
    if (IS("destroyed team") || IS("collective of a destroyed team")) {
        nvshmem_team_t again;
        nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, 0, 1, n_pes, NULL, 0, &again);
        if (IS("destroyed team"))
            printf("%d\n", nvshmem_team_n_pes(destroyed));
        printf("collective: %d\n", nvshmem_barrier(destroyed) != 0);
        nvshmem_team_destroy(destroyed);
    }
    if (IS("no team"))
        printf("%d\n", nvshmem_team_n_pes(-7));
    if (IS("stream"))
        nvshmemx_barrier_all_on_stream((cudaStream_t)word);
    if (IS("queued")) {
        nvshmemx_long_p_on_stream(word, 1, n_pes, NULL);
        nvshmem_finalize();
    }
    if (IS("flags"))
        nvshmemx_buffer_register_symmetric(word, 4096, 3);
    if (IS("attributes"))
        attributes();
}

#endif

int main(int argc, char **argv)
{
    long value = 1;
    local = &value;
    if (argc > 1)
        mistake = argv[1];
    if (IS("before init"))
        NAME_OF(long_p)(&outside, 1, 0);
    if (IS("my_pe before init"))
        printf("%d\n", NAME_OF(my_pe)());
    if (IS("finalize before init"))
        NAME_OF(finalize)();
    before_init();
    begin();
    word = NAME_OF(calloc)(4, sizeof *word);
    TEAM destroyed;
    NAME_OF(team_split_strided)(TEAM_WORLD, 0, 1, n_pes, NULL, 0, &destroyed);
    NAME_OF(team_destroy)(destroyed);
    NAME_OF(barrier_all)();
    if (IS("global_exit"))
        exit_all();
    if (IS("pe"))
        NAME_OF(long_put)(word, local, 1, n_pes);
    if (IS("stack collective"))
        NAME_OF(long_sum_reduce)(TEAM_WORLD, local, word, 1);
    if (IS("bounds"))
        NAME_OF(long_put)(word + 3, local, 100000000, next);
    if (IS("overflow"))
        NAME_OF(long_put)(word, local, SIZE_MAX / 4, next);
    if (IS("null"))
        NAME_OF(long_get)(NULL, word, 1, next);
    if (IS("alignment"))
        NAME_OF(int_atomic_inc)((int *)((char *)word + 1), next);
    if (IS("predefined team"))
        NAME_OF(team_destroy)(TEAM_WORLD);
    if (IS("free"))
        NAME_OF(free)(word + 1);
    if (IS("once more")) {
        NAME_OF(finalize)();
        NAME_OF(finalize)();
    }
    if (IS("after finalize")) {
        NAME_OF(finalize)();
        NAME_OF(long_put)(word, local, 1, 0);
    }
    after_init(destroyed);
    if (getenv("NVSHMEMRS_ON_ERROR") != NULL)
        printf("PE %d goes on: %s\n", me, nvshmemrs_last_error());
    return 0;
}
