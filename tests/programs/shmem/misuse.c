/* One mistake, named by the first argument; every PE makes it, or the last PE only. Returns 0 if the mistake was not noticed. */

#include "common.h"

#include <pthread.h>
#include <unistd.h>

static long outside;
static _Thread_local long of_thread;

static void *exits(void *unused)
{
    (void)unused;
    shmem_global_exit(7);
    return NULL;
}

int main(int argc, char **argv)
{
    const char *mistake = argc > 1 ? argv[1] : "";
#define IS(NAME) (strcmp(mistake, NAME) == 0)
    if (IS("before init"))
        shmem_long_p(&outside, 1, 0);
    if (IS("my_pe before init"))
        printf("%d\n", shmem_my_pe());
    if (IS("finalize before init"))
        shmem_finalize();
    if (IS("start_pes")) {
        start_pes(0);
        start_pes(0);
        printf("PE %d of %d\n", _my_pe(), _num_pes());
        return 0;
    }
    begin();
    long *word = shmem_calloc(4, sizeof *word), value = 1;
    shmem_barrier_all();
    if (IS("global_exit")) {
        printf("PE %d has something to say\n", me);
        if (me == n_pes - 1) {
            pthread_t thread;
            pthread_create(&thread, NULL, exits, NULL);
            pthread_join(thread, NULL);
        } else if (me == 0) {
            shmem_barrier_all();
        } else {
            for (;;)
                pause();
        }
    }
    if (IS("global_exit 0")) {
        if (me == 0)
            shmem_global_exit(0);
        for (;;)
            pause();
    }
    if (IS("pe"))
        shmem_long_put(word, &value, 1, n_pes);
    if (IS("thread-local"))
        shmem_long_p(&of_thread, 1, next);
    if (IS("library"))
        shmem_int_p((int *)&stdout->_flags, 1, next);
    if (IS("stack collective"))
        shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &value, word, 1);
    if (IS("bounds"))
        shmem_long_put(word + 3, &value, 100000000, next);
    if (IS("overflow"))
        shmem_long_put(word, &value, SIZE_MAX / 4, next);
    if (IS("null"))
        shmem_long_get(NULL, word, 1, next);
    if (IS("cmp"))
        shmem_long_wait_until(word, 17, 1);
    if (IS("signal"))
        shmem_long_put_signal(word, &value, 1, (uint64_t *)(word + 1), 1, 3, next);
    if (IS("alignment"))
        shmem_int_atomic_inc((int *)((char *)word + 1), next);
    if (IS("ctx"))
        shmem_ctx_long_p(SHMEM_CTX_INVALID, word, 1, next);
    if (IS("destroyed ctx")) {
        shmem_ctx_t ctx;
        shmem_ctx_create(0, &ctx);
        shmem_ctx_destroy(ctx);
        shmem_ctx_quiet(ctx);
    }
    if (IS("destroyed team") || IS("ctx of a destroyed team") || IS("pe of a team")) {
        shmem_team_t team;
        shmem_ctx_t ctx;
        shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n_pes, NULL, 0, &team);
        shmem_team_create_ctx(team, 0, &ctx);
        if (IS("pe of a team"))
            shmem_ctx_long_p(ctx, word, 1, n_pes);
        shmem_team_destroy(team);
        if (IS("destroyed team"))
            printf("%d\n", shmem_team_n_pes(team));
        shmem_ctx_long_p(ctx, word, 1, 0);
    }
    if (IS("predefined team"))
        shmem_team_destroy(SHMEM_TEAM_WORLD);
    if (IS("default ctx"))
        shmem_ctx_destroy(SHMEM_CTX_DEFAULT);
    if (IS("set"))
        shmem_barrier(0, 0, n_pes + 1, word);
    if (IS("set without me"))
        shmem_barrier((me + 1) % n_pes, 0, 1, word);
    if (IS("to_all"))
        shmem_long_sum_to_all(word, word + 1, -1, 0, 0, n_pes, word, word);
    if (IS("lock"))
        shmem_set_lock(&value);
    if (IS("lock twice")) {
        if (me == n_pes - 1) {
            shmem_set_lock(word);
            shmem_set_lock(word);
        }
        shmem_barrier_all();
    }
    if (IS("free lock"))
        shmem_clear_lock(word);
    if (IS("free"))
        shmem_free(word + 1);
    if (IS("once more")) {
        shmem_finalize();
        shmem_finalize();
    }
    if (IS("two writers")) {
        shmem_long_p(word, me, 0);
        shmem_finalize();
    }
    if (IS("after finalize")) {
        shmem_finalize();
        shmem_long_put(word, &value, 1, 0);
    }
    if (IS("lock after finalize")) {
        shmem_finalize();
        shmem_set_lock(word);
    }
    if (getenv("NVSHMEMRS_ON_ERROR") != NULL)
        printf("PE %d goes on: %s\n", me, nvshmemrs_last_error());
    return 0;
}
