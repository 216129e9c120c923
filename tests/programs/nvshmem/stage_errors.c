/* Failures around the second stage of init, where there are GPUs. The argument selects the failure:
 * `exit`, `report`: PE 0 ends the job while another of its threads waits in the second stage for the other PEs; by a status, by a mistake.
 * `init`: the other thread waits in the first stage.
 * `returns`: the second stage fails, and NVSHMEMRS_ON_ERROR=return is set. */

#include "common.h"

#include <pthread.h>
#include <unistd.h>

static void *allocates(void *unused)
{
    (void)unused;
    nvshmem_malloc(8);
    return NULL;
}

static void *joins(void *unused)
{
    (void)unused;
    nvshmem_init();
    return NULL;
}

static void ends_meanwhile(const char *how, void *(*waits)(void *))
{
    pthread_t thread;
    if (strcmp(getenv("NVSHMEMRS_PE"), "0") != 0)
        for (;;)
            pause();
    pthread_create(&thread, NULL, waits, NULL);
    usleep(300000);
    if (strcmp(how, "report") == 0)
        nvshmem_info_get_name(NULL);
    nvshmem_global_exit(7);
}

/* The reason is the last error after each call that needs the heap. */
static void fails(void)
{
    const char *reason = "heap_bytes";
    int provided = -1;
    CHECK(nvshmem_malloc(8) == NULL && strstr(nvshmemrs_last_error(), reason) != NULL);
    nvshmem_barrier_all();
    CHECK(strstr(nvshmemrs_last_error(), reason) != NULL);
    CHECK(nvshmem_calloc(1, 8) == NULL && strstr(nvshmemrs_last_error(), reason) != NULL);
    nvshmem_quiet();
    CHECK(strstr(nvshmemrs_last_error(), reason) != NULL);
    const int status = nvshmem_barrier(NVSHMEM_TEAM_WORLD);
    CHECK(status != 0 && status != NVSHMEMRS_ERROR_NOT_INITIALIZED);
    CHECK(nvshmemrs_nvshmem_ready() == status);
    CHECK(nvshmem_init_thread(NVSHMEM_THREAD_MULTIPLE, &provided) == status && provided == -1);
    CHECK(nvshmemx_init_attr(0, NULL) == status);
    printf("PE %d of %d: same\n", me, n_pes);
    nvshmem_finalize();
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "exit";
    if (strcmp(how, "init") == 0)
        ends_meanwhile(how, joins);
    begin();
    if (strcmp(how, "returns") == 0)
        fails();
    else
        ends_meanwhile(how, allocates);
    return 0;
}
