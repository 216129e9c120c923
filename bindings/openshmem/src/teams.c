/* Teams and contexts. */

#include "internal.h"

#include <pthread.h>
#include <stdlib.h>

/* ---- Teams ---- */

const nvshmemrs_team_config_t *nvshmemrs_shmem_config_of(const shmem_team_config_t *config, nvshmemrs_team_config_t *native)
{
    if (config == NULL)
        return NULL;
    nvshmemrs_team_config_default(native);
    native->num_contexts = config->num_contexts;
    return native;
}

FUNCTION(int, shmem_team_get_config, (shmem_team_t team, long config_mask, shmem_team_config_t *config))
{
    ENTER_TEAM("shmem_team_get_config");
    nvshmemrs_team_config_t found;
    if (config == NULL || (config_mask & ~SHMEM_TEAM_NUM_CONTEXTS) != 0)
        return NVSHMEMRS_ERROR_INVALID_VALUE;
    const int32_t status = nvshmemrs_team_get_config(rt, native, config_mask, &found);
    if (status == NVSHMEMRS_SUCCESS && (config_mask & SHMEM_TEAM_NUM_CONTEXTS) != 0)
        config->num_contexts = found.num_contexts;
    return status;
}

FUNCTION(int, shmem_team_sync, (shmem_team_t team))
{
    ENTER_TEAM("shmem_team_sync");
    return nvshmemrs_sync(rt, native);
}

/* ---- Contexts ---- */

/* The contexts of a PE, or of all PEs that are threads of this process. */
#define MAX_CONTEXTS 1024
#define SLOTS 16384

/* A context. Its handle is 2 + slot + SLOTS * generation. */
struct context {
    /* 0 if the slot is free. */
    uintptr_t handle;
    uintptr_t generation;
    nvshmemrs_runtime_t rt;
    /* The handle of nvshmemrs, used in place of the runtime's. */
    nvshmemrs_runtime_t native;
    nvshmemrs_team_t team;
    /* The PEs of the members of a team; NULL if these are the PEs of the job. */
    int32_t *pes;
    int32_t n_pes;
};

static struct context contexts[SLOTS];
/* Held while slots are filled and emptied. */
static pthread_mutex_t changes = PTHREAD_MUTEX_INITIALIZER;

static struct context *find(shmem_ctx_t ctx)
{
    const uintptr_t handle = (uintptr_t)ctx;
    struct context *found = &contexts[(handle - 2) % SLOTS];
    return handle > 1 && __atomic_load_n(&found->handle, __ATOMIC_ACQUIRE) == handle ? found : NULL;
}

bool nvshmemrs_shmem_enter_ctx(const char *name, shmem_ctx_t ctx, nvshmemrs_runtime_t *rt, int *pe, const void *place)
{
    if (ctx == SHMEM_CTX_DEFAULT) {
        *rt = nvshmemrs_shmem_now();
        return true;
    }
    const struct context *found = find(ctx);
    if (found == NULL) {
        if (nvshmemrs_shmem_now() == 0)
            nvshmemrs_shmem_failed(name, NVSHMEMRS_ERROR_NOT_INITIALIZED, place);
        else
            nvshmemrs_shmem_misused(name, place, "argument `ctx` is %s",
                ctx == SHMEM_CTX_INVALID ? "SHMEM_CTX_INVALID" : "a context that was destroyed, by itself or with its team, or never made");
        return false;
    }
    *rt = found->native;
    if (pe == NULL || found->pes == NULL)
        return true;
    if (*pe < 0 || *pe >= found->n_pes) {
        nvshmemrs_shmem_misused(name, place, "argument `pe` is %d, and the team of the context has %d PEs", *pe, (int)found->n_pes);
        return false;
    }
    *pe = found->pes[*pe];
    return true;
}

/* Frees a slot. Called under the lock. Completes the context's operations. */
static int32_t clear(struct context *context)
{
    __atomic_store_n(&context->handle, 0, __ATOMIC_RELEASE);
    free(context->pes);
    context->pes = NULL;
    return nvshmemrs_context_free(context->native);
}

/* The numbers in the job of the members of a team. */
static int32_t members(nvshmemrs_runtime_t rt, nvshmemrs_team_t team, int32_t **pes, int32_t *n_pes)
{
    *pes = NULL;
    int32_t status = nvshmemrs_team_n_pes(rt, team, n_pes);
    if (status != NVSHMEMRS_SUCCESS || team == NVSHMEMRS_TEAM_WORLD)
        return status;
    *pes = malloc(sizeof **pes * (size_t)*n_pes);
    if (*pes == NULL)
        return NVSHMEMRS_ERROR_OUT_OF_MEMORY;
    for (int32_t pe = 0; pe < *n_pes && status == NVSHMEMRS_SUCCESS; pe++)
        status = nvshmemrs_team_translate_pe(rt, team, pe, NVSHMEMRS_TEAM_WORLD, &(*pes)[pe]);
    return status;
}

static int create(nvshmemrs_runtime_t rt, nvshmemrs_team_t team, long options, shmem_ctx_t *ctx)
{
    const long known = SHMEM_CTX_SERIALIZED | SHMEM_CTX_PRIVATE | SHMEM_CTX_NOSTORE;
    if (ctx == NULL)
        return NVSHMEMRS_ERROR_INVALID_VALUE;
    *ctx = SHMEM_CTX_INVALID;
    if ((options & ~known) != 0)
        return NVSHMEMRS_ERROR_INVALID_VALUE;
    int32_t *pes = NULL, n_pes = 0;
    int32_t status = members(rt, team, &pes, &n_pes);
    struct context *place = NULL;
    pthread_mutex_lock(&changes);
    int own = 0;
    for (int slot = 0; slot < SLOTS && status == NVSHMEMRS_SUCCESS && own < MAX_CONTEXTS; slot++) {
        if (contexts[slot].handle != 0)
            own += contexts[slot].rt == rt;
        else if (place == NULL)
            place = &contexts[slot];
    }
    if (status == NVSHMEMRS_SUCCESS && (place == NULL || own == MAX_CONTEXTS))
        status = NVSHMEMRS_ERROR_NOT_SUPPORTED;
    if (status == NVSHMEMRS_SUCCESS)
        status = nvshmemrs_context_new(rt, &place->native);
    if (status == NVSHMEMRS_SUCCESS) {
        place->rt = rt;
        place->team = team;
        place->pes = pes;
        place->n_pes = n_pes;
        const uintptr_t handle = 2 + (uintptr_t)(place - contexts) + SLOTS * ++place->generation;
        __atomic_store_n(&place->handle, handle, __ATOMIC_RELEASE);
        *ctx = (shmem_ctx_t)handle;
    }
    pthread_mutex_unlock(&changes);
    if (status != NVSHMEMRS_SUCCESS)
        free(pes);
    return status;
}

FUNCTION(int, shmem_ctx_create, (long options, shmem_ctx_t *ctx))
{
    return create(nvshmemrs_shmem_now(), NVSHMEMRS_TEAM_WORLD, options, ctx);
}

FUNCTION(int, shmem_team_create_ctx, (shmem_team_t team, long options, shmem_ctx_t *ctx))
{
    return create(nvshmemrs_shmem_now(), nvshmemrs_shmem_native(team), options, ctx);
}

FUNCTION(void, shmem_ctx_destroy, (shmem_ctx_t ctx))
{
    const char *const nvshmemrs_name = "shmem_ctx_destroy";
    nvshmemrs_runtime_t rt;
    if (ctx == SHMEM_CTX_INVALID)
        return;
    if (ctx == SHMEM_CTX_DEFAULT) {
        nvshmemrs_shmem_misused(nvshmemrs_name, PLACE, "argument `ctx` is SHMEM_CTX_DEFAULT, which cannot be destroyed");
        return;
    }
    if (!nvshmemrs_shmem_enter_ctx(nvshmemrs_name, ctx, &rt, NULL, PLACE))
        return;
    /* Without the lock, so that other threads' contexts need not wait. */
    int32_t status = nvshmemrs_quiet(rt);
    pthread_mutex_lock(&changes);
    struct context *found = find(ctx);
    if (found != NULL) {
        const int32_t freed = clear(found);
        status = status != NVSHMEMRS_SUCCESS ? status : freed;
    }
    pthread_mutex_unlock(&changes);
    DO(status);
}

FUNCTION(int, shmem_ctx_get_team, (shmem_ctx_t ctx, shmem_team_t *team))
{
    if (team == NULL)
        return NVSHMEMRS_ERROR_INVALID_VALUE;
    const struct context *found = find(ctx);
    if (ctx == SHMEM_CTX_DEFAULT)
        *team = SHMEM_TEAM_WORLD;
    else
        *team = found == NULL ? SHMEM_TEAM_INVALID : nvshmemrs_shmem_from_native(found->team);
    return *team == SHMEM_TEAM_INVALID ? NVSHMEMRS_ERROR_BAD_HANDLE : NVSHMEMRS_SUCCESS;
}

FUNCTION(void, shmem_ctx_session_start,
    (shmem_ctx_t ctx, long options, const shmem_ctx_session_config_t *config, long config_mask))
{
    nvshmemrs_runtime_t rt;
    (void)config;
    if (!nvshmemrs_shmem_enter_ctx("shmem_ctx_session_start", ctx, &rt, NULL, PLACE))
        return;
    if ((options & ~SHMEM_CTX_SESSION_BATCH) != 0 || (config_mask & ~SHMEM_CTX_SESSION_TOTAL_OPS) != 0)
        nvshmemrs_shmem_misused("shmem_ctx_session_start", PLACE, "arguments `options` %ld and `config_mask` %ld: one holds an unknown bit",
            options, config_mask);
}

FUNCTION(void, shmem_ctx_session_stop, (shmem_ctx_t ctx))
{
    nvshmemrs_runtime_t rt;
    nvshmemrs_shmem_enter_ctx("shmem_ctx_session_stop", ctx, &rt, NULL, PLACE);
}

/* Ends the contexts of a runtime: those of one team, or all. */
static void forget(nvshmemrs_runtime_t rt, const nvshmemrs_team_t *team)
{
    pthread_mutex_lock(&changes);
    for (int slot = 0; slot < SLOTS; slot++) {
        struct context *context = &contexts[slot];
        /* After finalize their operations are complete, and the team's destruction reports its own failures. */
        if (context->handle != 0 && context->rt == rt && (team == NULL || context->team == *team))
            (void)clear(context);
    }
    pthread_mutex_unlock(&changes);
}

void nvshmemrs_shmem_forget_contexts(nvshmemrs_runtime_t rt)
{
    forget(rt, NULL);
}

FUNCTION(void, shmem_team_destroy, (shmem_team_t team))
{
    ENTER("shmem_team_destroy");
    const nvshmemrs_team_t native = nvshmemrs_shmem_native(team);
    if (team == SHMEM_TEAM_INVALID)
        return;
    const int32_t status = nvshmemrs_team_destroy(rt, native);
    if (status == NVSHMEMRS_SUCCESS)
        forget(rt, &native);
    DO(status);
}
