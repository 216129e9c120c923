/* Memory of the program, and objects that the program gets numbers for: queue pairs and regions. */

#include "internal.h"

#include <pthread.h>
#include <stdlib.h>

/* An object that the program has begun and not ended. */
struct thing {
    enum { BUFFER, QUEUE_PAIRS, REGION } kind;
    /* The address of a buffer, or of the array of queue pairs; the number of a region. */
    uint64_t number;
    /* Hints of a region. */
    uint32_t hints;
    struct thing *next;
};

static struct thing *things;
static uint64_t regions;
static int queue_pairs = NVSHMEMX_QP_DEFAULT;
/* Guards the objects. */
static pthread_mutex_t changes = PTHREAD_MUTEX_INITIALIZER;

static int keep(struct thing thing)
{
    struct thing *kept = malloc(sizeof *kept);
    if (kept == NULL)
        return NVSHMEMX_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&changes);
    *kept = thing;
    kept->next = things;
    things = kept;
    pthread_mutex_unlock(&changes);
    return NVSHMEMX_SUCCESS;
}

static void drop(struct thing **at)
{
    struct thing *thing = *at;
    *at = thing->next;
    if (thing->kind == QUEUE_PAIRS)
        free((void *)(uintptr_t)thing->number);
    free(thing);
}

/* Drops the object of this kind with this number; an error if there is none. */
static int end(int kind, uint64_t number)
{
    pthread_mutex_lock(&changes);
    struct thing **at = &things;
    while (*at != NULL && !((int)(*at)->kind == kind && (*at)->number == number))
        at = &(*at)->next;
    const bool found = *at != NULL;
    if (found)
        drop(at);
    pthread_mutex_unlock(&changes);
    return found ? NVSHMEMX_SUCCESS : NVSHMEMX_ERROR_INVALID_VALUE;
}

void nvshmemrs_nvshmem_forget(void)
{
    pthread_mutex_lock(&changes);
    while (things != NULL)
        drop(&things);
    pthread_mutex_unlock(&changes);
}

/* ---- Buffers that only this PE uses. Operations accept any memory, so nothing needs to be done. ---- */

int nvshmemx_buffer_register(void *addr, size_t length)
{
    if (nvshmemrs_nvshmem_now() == 0)
        return NVSHMEMRS_ERROR_NOT_INITIALIZED;
    if (addr == NULL || length == 0)
        return NVSHMEMX_ERROR_INVALID_VALUE;
    return keep((struct thing){.kind = BUFFER, .number = (uintptr_t)addr});
}

int nvshmemx_buffer_unregister(void *addr)
{
    return end(BUFFER, (uintptr_t)addr);
}

void nvshmemx_buffer_unregister_all(void)
{
    pthread_mutex_lock(&changes);
    for (struct thing **at = &things; *at != NULL;)
        if ((*at)->kind == BUFFER)
            drop(at);
        else
            at = &(*at)->next;
    pthread_mutex_unlock(&changes);
}

/* ---- Symmetric memory of the program ---- */

static void *symmetric(const char *name, void *buffer, size_t size, void *preferred, int flags, const void *place)
{
    void *made = NULL;
    if (flags != 0) {
        nvshmemrs_nvshmem_misused(name, place, "argument `flags` is %d; it must be 0", flags);
        return NULL;
    }
    const nvshmemrs_runtime_t rt = nvshmemrs_nvshmem_complete(name);
    const int32_t status = WITH(rt, nvshmemrs_buffer_register(rt, buffer, size, preferred, &made));
    return nvshmemrs_nvshmem_allocated(name, status, &made, place);
}

void *nvshmemx_buffer_register_symmetric(void *buf_ptr, size_t size, int flags)
{
    return symmetric("nvshmemx_buffer_register_symmetric", buf_ptr, size, NULL, flags, PLACE);
}

void *nvshmemx_buffer_register_symmetric_at_preferred_address(void *buf_ptr, size_t size, void *preferred_address, int flags)
{
    return symmetric("nvshmemx_buffer_register_symmetric_at_preferred_address", buf_ptr, size, preferred_address, flags, PLACE);
}

int nvshmemx_buffer_unregister_symmetric(void *mmap_ptr, size_t size)
{
    ENTER_COLLECTIVE("nvshmemx_buffer_unregister_symmetric");
    (void)size;
    return WITH(rt, nvshmemrs_buffer_unregister(rt, mmap_ptr));
}

void *nvshmemx_mc_ptr(nvshmem_team_t team, const void *ptr)
{
    ENTER_TEAM_QUERY("nvshmemx_mc_ptr");
    int32_t n_pes = 0;
    (void)ptr;
    /* No memory has a multicast address. A destroyed team is still an error. */
    if (team != NVSHMEM_TEAM_INVALID)
        DO(nvshmemrs_team_n_pes(rt, native, &n_pes));
    return NULL;
}

/* ---- Queue pairs: all numbers stand for the same order of operations ---- */

int nvshmemx_qp_create(int num_qps, nvshmemx_qp_handle_t **out_qp_array)
{
    if (nvshmemrs_nvshmem_now() == 0)
        return NVSHMEMRS_ERROR_NOT_INITIALIZED;
    if (num_qps < 1 || out_qp_array == NULL)
        return NVSHMEMX_ERROR_INVALID_VALUE;
    nvshmemx_qp_handle_t *made = calloc((size_t)num_qps, sizeof *made);
    if (made == NULL)
        return NVSHMEMX_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&changes);
    for (int i = 0; i < num_qps; i++)
        made[i] = ++queue_pairs;
    pthread_mutex_unlock(&changes);
    const int status = keep((struct thing){.kind = QUEUE_PAIRS, .number = (uintptr_t)made});
    if (status == NVSHMEMX_SUCCESS)
        *out_qp_array = made;
    else
        free(made);
    return status;
}

/* ---- Regions, which are hints ---- */

int nvshmemx_region_start(nvshmemx_region_handle_t *handle, const nvshmemx_region_attrs_t *attrs)
{
    if (nvshmemrs_nvshmem_now() == 0)
        return NVSHMEMRS_ERROR_NOT_INITIALIZED;
    if (handle == NULL || (attrs != NULL && (attrs->hints & ~(unsigned)NVSHMEMX_REGION_HINT_BATCH_RMA) != 0))
        return NVSHMEMX_ERROR_INVALID_VALUE;
    const uint64_t number = __atomic_add_fetch(&regions, 1, __ATOMIC_RELAXED);
    const int status = keep((struct thing){.kind = REGION, .number = number, .hints = attrs != NULL ? attrs->hints : 0});
    if (status == NVSHMEMX_SUCCESS)
        *handle = number;
    return status;
}

int nvshmemx_region_stop(nvshmemx_region_handle_t handle)
{
    return end(REGION, handle);
}

int nvshmemx_region_is_active(uint32_t hints, int *active)
{
    if (active == NULL)
        return NVSHMEMX_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&changes);
    const struct thing *at = things;
    while (at != NULL && !(at->kind == REGION && (at->hints & hints) != 0))
        at = at->next;
    *active = at != NULL;
    pthread_mutex_unlock(&changes);
    return NVSHMEMX_SUCCESS;
}
