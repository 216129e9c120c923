/* Init calls of a PE that has joined already, and as many finalize calls. */

#include "check.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>

/* Ends the program unless `well`. */
static void sure(bool well, const char *what)
{
    if (well)
        return;
    fprintf(stderr, "%s: %s\n", what, nvshmemrs_last_error());
    exit(CALL_FAILED);
}

#define SURE(condition) sure(condition, #condition)

/* A call that is refused, with a text that has all of these words. */
static void refused(int32_t status, const char *first, const char *second)
{
    SURE(status == NVSHMEMRS_ERROR_INVALID_VALUE);
    sure(strstr(nvshmemrs_last_error(), first) != NULL, first);
    sure(strstr(nvshmemrs_last_error(), second) != NULL, second);
}

static nvshmemrs_init_attr_t with_heap(uint64_t bytes)
{
    nvshmemrs_init_attr_t attr;
    CHECK(nvshmemrs_init_attr_default(&attr));
    attr.heap_bytes = bytes;
    return attr;
}

static nvshmemrs_runtime_t first;

/* Another thread of the process is the same PE. */
static void *elsewhere(void *unused)
{
    nvshmemrs_runtime_t again = 0;
    CHECK(nvshmemrs_init(NULL, &again));
    SURE(again == first);
    CHECK(nvshmemrs_finalize(again));
    return unused;
}

/* A process that its environment makes a PE. */
static void process(void)
{
    const uint64_t bytes = 4 << 20;
    nvshmemrs_init_attr_t attr = with_heap(bytes), larger = with_heap(2 * bytes);
    nvshmemrs_runtime_t again = 0;
    int32_t pe = -1;
    CHECK(nvshmemrs_init(&attr, &first));
    CHECK(nvshmemrs_init(&attr, &again));
    SURE(again == first);
    CHECK(nvshmemrs_init(NULL, &again));
    SURE(again == first);
    pthread_t thread;
    SURE(pthread_create(&thread, NULL, elsewhere, NULL) == 0 && pthread_join(thread, NULL) == 0);
    /* A refused call of init is not counted. */
    refused(nvshmemrs_init(&larger, &again), "`attr.heap_bytes` is 8388608", "same arguments");
    attr.timeout_s = 7;
    refused(nvshmemrs_init(&attr, &again), "`attr.timeout_s` is 7", "joined its job already");
    attr.timeout_s = 0;
    attr.memory_kind = NVSHMEMRS_MEMORY_DEVICE;
    refused(nvshmemrs_init(&attr, &again), "`attr.memory_kind` is device", "must be host");
    attr.memory_kind = NVSHMEMRS_MEMORY_HOST;
    attr.device = 3;
    refused(nvshmemrs_init(&attr, &again), "`attr.device` is 3", "joined its job already");
    /* A child is not this PE, however often its parent has called init. In a job of one PE it has a job of its own. */
    const pid_t child = fork();
    if (child == 0) {
        const bool counted = nvshmemrs_init(NULL, &again) == NVSHMEMRS_SUCCESS && again == first;
        _exit(counted || nvshmemrs_finalize(first) != NVSHMEMRS_ERROR_FORKED);
    }
    int status = -1;
    SURE(waitpid(child, &status, 0) == child && status == 0);
    /* These calls wait for no PE: PE 0 makes them before any other PE, and continues. */
    CHECK(nvshmemrs_my_pe(first, &pe));
    if (pe == 0) {
        CHECK(nvshmemrs_finalize(first));
        CHECK(nvshmemrs_finalize(first));
    }
    CHECK(nvshmemrs_barrier(first, NVSHMEMRS_TEAM_WORLD));
    if (pe != 0) {
        CHECK(nvshmemrs_finalize(first));
        CHECK(nvshmemrs_finalize(first));
    }
    CHECK(nvshmemrs_barrier(first, NVSHMEMRS_TEAM_WORLD));
    CHECK(nvshmemrs_finalize(first));
    SURE(nvshmemrs_my_pe(first, &pe) == NVSHMEMRS_ERROR_NOT_INITIALIZED);
    SURE(nvshmemrs_finalize(first) != NVSHMEMRS_SUCCESS);
}

static nvshmemrs_unique_id_t id;
static nvshmemrs_local_job_t job;

/* Threads that are PEs by a unique id: each counts for itself. */
static void *by_id(void *number)
{
    const int32_t pe = (int32_t)(intptr_t)number;
    nvshmemrs_runtime_t mine = 0, again = 0;
    int32_t same = -1;
    CHECK(nvshmemrs_init_unique_id(&id, pe, 2, NULL, &mine));
    CHECK(nvshmemrs_init_unique_id(&id, pe, 2, NULL, &again));
    SURE(again == mine);
    CHECK(nvshmemrs_init(NULL, &again));
    SURE(again == mine);
    CHECK(nvshmemrs_my_pe(again, &same));
    SURE(same == pe);
    refused(nvshmemrs_init_unique_id(&id, pe, 3, NULL, &again), "`n_pes` is 3", "must be 2");
    CHECK(nvshmemrs_finalize(mine));
    /* This call changes only the count of PE 1. */
    if (pe == 1)
        CHECK(nvshmemrs_finalize(mine));
    CHECK(nvshmemrs_barrier(mine, NVSHMEMRS_TEAM_WORLD));
    if (pe == 0)
        CHECK(nvshmemrs_finalize(mine));
    CHECK(nvshmemrs_finalize(mine));
    SURE(nvshmemrs_my_pe(mine, &same) == NVSHMEMRS_ERROR_NOT_INITIALIZED);
    return NULL;
}

/* Threads that are PEs of a local job. Leaving ends a membership however often init was called. */
static void *by_job(void *number)
{
    nvshmemrs_runtime_t mine = 0, again = 0;
    int32_t pe = -1;
    CHECK(nvshmemrs_local_job_join(job, (int32_t)(intptr_t)number, &mine));
    CHECK(nvshmemrs_init(NULL, &again));
    SURE(again == mine);
    CHECK(nvshmemrs_finalize(again));
    CHECK(nvshmemrs_barrier(mine, NVSHMEMRS_TEAM_WORLD));
    CHECK(nvshmemrs_init(NULL, &again));
    CHECK(nvshmemrs_leave(mine));
    SURE(nvshmemrs_my_pe(mine, &pe) == NVSHMEMRS_ERROR_NOT_INITIALIZED);
    return NULL;
}

static void on_threads(void *(*body)(void *))
{
    pthread_t threads[2];
    for (intptr_t pe = 0; pe < 2; pe++)
        SURE(pthread_create(&threads[pe], NULL, body, (void *)pe) == 0);
    for (int pe = 0; pe < 2; pe++)
        SURE(pthread_join(threads[pe], NULL) == 0);
}

int main(void)
{
    process();
    CHECK(nvshmemrs_unique_id_new(&id));
    on_threads(by_id);
    CHECK(nvshmemrs_local_job_new(2, NULL, &job));
    on_threads(by_job);
    CHECK(nvshmemrs_local_job_free(job));
    puts("all well");
    return 0;
}
