/* Setup, exit and queries. The functions that programs inline are also defined here. */

#define NVSHMEMRS_SHMEM_DEFINES_HOT
#include "internal.h"
#include "../../../include/pshmem.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

nvshmemrs_runtime_t nvshmemrs_shmem_runtime;

/* Guards the variables below. */
static pthread_mutex_t changes = PTHREAD_MUTEX_INITIALIZER;
/* The number of `shmem_init` calls without finalize, in a process that joined by it. */
static unsigned inits;
/* The same for a thread, or a program, that joined its job by nvshmemrs.h. */
static _Thread_local unsigned adopted;
/* Whether the end of the program finalizes, and in which process. */
static bool implicit;
static pid_t began;

nvshmemrs_runtime_t nvshmemrs_shmem_find(void)
{
    nvshmemrs_runtime_t runtime = 0;
    return nvshmemrs_current(&runtime) == NVSHMEMRS_SUCCESS ? runtime : 0;
}

nvshmemrs_runtime_t shmemx_runtime(void)
{
    return nvshmemrs_shmem_now();
}

nvshmemrs_team_t shmemx_team(shmem_team_t team)
{
    return nvshmemrs_shmem_native(team);
}

/* ---- Init and finalize ---- */

/* Called at the end of `shmem_init`, by every PE. If variables cannot be made symmetric, an operation on a variable fails with the reason. */
static void joined(nvshmemrs_runtime_t runtime)
{
    (void)nvshmemrs_static_data_register(runtime);
    __atomic_store_n(&nvshmemrs_shmem_runtime, runtime, __ATOMIC_RELEASE);
}

static void init(const char *name, const void *place)
{
    const char *const nvshmemrs_name = name;
    if (!nvshmemrs_shmem_versions_match(name, place))
        return;
    pthread_mutex_lock(&changes);
    int32_t status = NVSHMEMRS_SUCCESS;
    if (inits > 0) {
        inits++;
    } else if (nvshmemrs_shmem_find() != 0) {
        nvshmemrs_runtime_t runtime = 0;
        status = nvshmemrs_init(NULL, &runtime);
        adopted += status == NVSHMEMRS_SUCCESS;
    } else {
        nvshmemrs_runtime_t runtime = 0;
        /* The standard's variables. NVSHMEM's variables of the same meaning take precedence. */
        static const char *const settings[][2] = {{"SHMEM_SYMMETRIC_SIZE", "NVSHMEM_SYMMETRIC_SIZE"}, {"SHMEM_DEBUG", "NVSHMEM_DEBUG"}};
        for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
            const char *value = getenv(settings[i][0]);
            if (value != NULL)
                setenv(settings[i][1], value, 0);
        }
        status = nvshmemrs_init(NULL, &runtime);
        if (status == NVSHMEMRS_SUCCESS) {
            inits = 1;
            joined(runtime);
        }
    }
    pthread_mutex_unlock(&changes);
    if (status != NVSHMEMRS_SUCCESS)
        nvshmemrs_shmem_failed(nvshmemrs_name, status, place);
}

FUNCTION(void, shmem_init, (void))
{
    init("shmem_init", PLACE);
}

FUNCTION(int, shmem_init_thread, (int requested, int *provided))
{
    if (requested < SHMEM_THREAD_SINGLE || requested > SHMEM_THREAD_MULTIPLE)
        return NVSHMEMRS_ERROR_INVALID_VALUE;
    init("shmem_init_thread", PLACE);
    if (provided != NULL)
        *provided = nvshmemrs_thread_support();
    return nvshmemrs_shmem_now() == 0;
}

FUNCTION(void, shmem_query_thread, (int *provided))
{
    if (provided == NULL)
        nvshmemrs_shmem_misused("shmem_query_thread", PLACE, "argument `provided` is NULL");
    else
        *provided = nvshmemrs_thread_support();
}

FUNCTION(void, shmem_query_initialized, (int *initialized))
{
    if (initialized == NULL)
        nvshmemrs_shmem_misused("shmem_query_initialized", PLACE, "argument `initialized` is NULL");
    else
        *initialized = nvshmemrs_shmem_now() != 0;
}

/* Undoes one init. Contexts and active sets end with the runtime. */
static int32_t end_one(nvshmemrs_runtime_t runtime)
{
    const int32_t status = nvshmemrs_finalize(runtime);
    /* After an error other than BUSY the runtime is over; the query would replace the error's text. */
    const bool over = status == NVSHMEMRS_SUCCESS ? nvshmemrs_runtime_check(runtime) == NVSHMEMRS_ERROR_NOT_INITIALIZED
                                                  : status != NVSHMEMRS_ERROR_BUSY;
    if (over) {
        nvshmemrs_shmem_forget_contexts(runtime);
        nvshmemrs_shmem_forget_sets(runtime);
    }
    return status;
}

static void finalize(const char *name, const void *place)
{
    pthread_mutex_lock(&changes);
    int32_t status = NVSHMEMRS_SUCCESS;
    bool none = false;
    if (inits > 1) {
        inits--;
    } else if (inits == 1) {
        status = end_one(nvshmemrs_shmem_runtime);
        __atomic_store_n(&nvshmemrs_shmem_runtime, 0, __ATOMIC_RELEASE);
        inits = 0;
        nvshmemrs_shmem_finalized = true;
    } else if (adopted > 0) {
        adopted--;
        status = end_one(nvshmemrs_shmem_find());
    } else {
        none = true;
    }
    pthread_mutex_unlock(&changes);
    if (none)
        nvshmemrs_shmem_misused(name, place, nvshmemrs_shmem_finalized ? "it was called once more than `shmem_init`" : "it was called before `shmem_init`");
    else if (status != NVSHMEMRS_SUCCESS)
        nvshmemrs_shmem_failed(name, status, place);
}

FUNCTION(void, shmem_finalize, (void))
{
    finalize("shmem_finalize", PLACE);
}

/* Runs at the end of a program that called `start_pes`. A program that has failed must not wait for the others. */
static void at_exit(int status, void *unused)
{
    (void)unused;
    /* A forked child is not a PE. */
    if (getpid() != began)
        return;
    while (implicit && inits > 0 && status == 0)
        finalize("shmem_finalize", NULL);
}

void start_pes(int npes)
{
    (void)npes;
    /* Older programs call it repeatedly; only the first call counts. */
    if (implicit)
        return;
    init("start_pes", PLACE);
    implicit = true;
    began = getpid();
    on_exit(at_exit, NULL);
}

FUNCTION(void, shmem_global_exit, (int status))
{
    nvshmemrs_global_exit(nvshmemrs_shmem_now(), status);
    /* There is no job. */
    exit(status);
}

/* ---- Queries ---- */

int _my_pe(void)
{
    return pshmem_my_pe();
}

int _num_pes(void)
{
    return pshmem_n_pes();
}

FUNCTION(int, shmem_pe_accessible, (int pe))
{
    ENTER("shmem_pe_accessible");
    int32_t n_pes = 0;
    DO(nvshmemrs_n_pes(rt, &n_pes));
    return pe >= 0 && pe < n_pes;
}

FUNCTION(int, shmem_addr_accessible, (const void *addr, int pe))
{
    ENTER("shmem_addr_accessible");
    int32_t n_pes = 0, symmetric = 0;
    DO(nvshmemrs_n_pes(rt, &n_pes));
    DO(nvshmemrs_is_symmetric(rt, addr, 1, &symmetric));
    return symmetric && pe >= 0 && pe < n_pes;
}

FUNCTION(void *, shmem_team_ptr, (shmem_team_t team, const void *dest, int pe))
{
    ENTER("shmem_team_ptr");
    void *found = NULL;
    const int32_t status = nvshmemrs_team_ptr(rt, nvshmemrs_shmem_native(team), dest, pe, &found);
    if (status != NVSHMEMRS_ERROR_NOT_SYMMETRIC)
        DO(status);
    return found;
}

FUNCTION(void, shmem_pcontrol, (int level, ...))
{
    (void)level;
}

/* ---- Symmetric memory ---- */

FUNCTION(void *, shmem_malloc_with_hints, (size_t size, long hints))
{
    /* Unknown hints are accepted: a hint has no visible effect. */
    (void)hints;
    void *memory = NULL;
    return nvshmemrs_shmem_allocated("shmem_malloc_with_hints", nvshmemrs_malloc(nvshmemrs_shmem_now(), size, &memory), &memory, PLACE);
}

FUNCTION(void *, shmem_realloc, (void *ptr, size_t size))
{
    void *memory = NULL;
    return nvshmemrs_shmem_allocated("shmem_realloc", nvshmemrs_realloc(nvshmemrs_shmem_now(), ptr, size, &memory), &memory, PLACE);
}

void *shmalloc(size_t size)
{
    return pshmem_malloc(size);
}

void *shmemalign(size_t alignment, size_t size)
{
    return pshmem_align(alignment, size);
}

void *shrealloc(void *ptr, size_t size)
{
    return pshmem_realloc(ptr, size);
}

void shfree(void *ptr)
{
    pshmem_free(ptr);
}
