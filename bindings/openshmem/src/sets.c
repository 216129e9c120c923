/* Collectives that nvshmemrs.h lacks in this form: on active sets, and reductions and scans of `long double`. */

#include "internal.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

FUNCTION(void, shmem_barrier_all, (void))
{
    ENTER("shmem_barrier_all");
    DO(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
}

FUNCTION(void, shmem_sync_all, (void))
{
    ENTER("shmem_sync_all");
    DO(nvshmemrs_sync(rt, NVSHMEMRS_TEAM_WORLD));
}

/* ---- Active sets: each is a team, created by its members on first use ---- */

struct set {
    nvshmemrs_runtime_t rt;
    int start, log_stride, size;
    nvshmemrs_team_t team;
    struct set *next;
};

static struct set *sets;
static pthread_mutex_t changes = PTHREAD_MUTEX_INITIALIZER;

static struct set *find(nvshmemrs_runtime_t rt, int start, int log_stride, int size)
{
    pthread_mutex_lock(&changes);
    struct set *set = sets;
    while (set != NULL && !(set->rt == rt && set->start == start && set->log_stride == log_stride && set->size == size))
        set = set->next;
    pthread_mutex_unlock(&changes);
    return set;
}

/* Creates the team of a set. Only its members take part, so the unique id is derived from the set. */
static int32_t make(nvshmemrs_runtime_t rt, int start, int log_stride, int size, int index, nvshmemrs_team_t *team)
{
    nvshmemrs_team_config_t config;
    nvshmemrs_team_config_default(&config);
    config.uniqueid = UINT64_C(0x5348) << 48 | (uint64_t)start << 32 | (uint64_t)log_stride << 24 | (uint64_t)size;
    const int32_t status = nvshmemrs_team_init(rt, &config, NVSHMEMRS_TEAM_CONFIG_UNIQUEID, size, index, team);
    struct set *set = status == NVSHMEMRS_SUCCESS ? malloc(sizeof *set) : NULL;
    if (status != NVSHMEMRS_SUCCESS || set == NULL)
        return status != NVSHMEMRS_SUCCESS ? status : NVSHMEMRS_ERROR_OUT_OF_MEMORY;
    *set = (struct set){rt, start, log_stride, size, *team, NULL};
    pthread_mutex_lock(&changes);
    set->next = sets;
    sets = set;
    pthread_mutex_unlock(&changes);
    return NVSHMEMRS_SUCCESS;
}

bool nvshmemrs_shmem_set(
    const char *name, nvshmemrs_runtime_t rt, int start, int log_stride, int size, nvshmemrs_team_t *team, const void *place)
{
    int32_t me = 0, n_pes = 0;
    int32_t status = nvshmemrs_my_pe(rt, &me);
    if (status == NVSHMEMRS_SUCCESS)
        status = nvshmemrs_n_pes(rt, &n_pes);
    if (status != NVSHMEMRS_SUCCESS) {
        nvshmemrs_shmem_failed(name, status, place);
        return false;
    }
    *team = NVSHMEMRS_TEAM_WORLD;
    if (start == 0 && log_stride == 0 && size == n_pes)
        return true;
    const bool sound = start >= 0 && start < n_pes && log_stride >= 0 && log_stride < 24 && size > 0 && size <= n_pes
        && (int64_t)start + ((int64_t)(size - 1) << log_stride) < n_pes;
    const int distance = me - start, index = sound ? distance >> log_stride : -1;
    if (!sound || distance < 0 || index >= size || index << log_stride != distance) {
        nvshmemrs_shmem_misused(name, place, "arguments `PE_start` %d, `logPE_stride` %d and `PE_size` %d name %s, and this is PE %d of %d",
            start, log_stride, size, sound ? "an active set without this PE" : "no active set", (int)me, (int)n_pes);
        return false;
    }
    const struct set *known = find(rt, start, log_stride, size);
    if (known != NULL)
        *team = known->team;
    else
        status = make(rt, start, log_stride, size, index, team);
    if (status != NVSHMEMRS_SUCCESS)
        nvshmemrs_shmem_failed(name, status, place);
    return status == NVSHMEMRS_SUCCESS;
}

void nvshmemrs_shmem_forget_sets(nvshmemrs_runtime_t rt)
{
    pthread_mutex_lock(&changes);
    for (struct set **set = &sets; *set != NULL;) {
        struct set *one = *set;
        if (one->rt == rt) {
            *set = one->next;
            free(one);
        } else {
            set = &one->next;
        }
    }
    pthread_mutex_unlock(&changes);
}

FUNCTION(void, shmem_barrier, (int PE_start, int logPE_stride, int PE_size, long *pSync))
{
    ENTER("shmem_barrier");
    NVSHMEMRS_SHMEM_SET();
    DO(nvshmemrs_barrier(rt, native));
}

FUNCTION(void, shmem_sync, (int PE_start, int logPE_stride, int PE_size, long *pSync))
{
    ENTER("shmem_sync");
    NVSHMEMRS_SHMEM_SET();
    DO(nvshmemrs_sync(rt, native));
}

/* The root's `dest` is not written, unlike in a team's broadcast, so the members fetch the root's data. */
int32_t nvshmemrs_shmem_set_broadcast(
    nvshmemrs_runtime_t rt, nvshmemrs_team_t team, void *dest, const void *source, size_t bytes, int root)
{
    int32_t me = 0, world = 0;
    /* The root's source is complete. */
    int32_t status = nvshmemrs_sync(rt, team);
    if (status == NVSHMEMRS_SUCCESS)
        status = nvshmemrs_team_my_pe(rt, team, &me);
    if (status == NVSHMEMRS_SUCCESS)
        status = nvshmemrs_team_translate_pe(rt, team, root, NVSHMEMRS_TEAM_WORLD, &world);
    if (status == NVSHMEMRS_SUCCESS && me != root)
        status = nvshmemrs_get(rt, dest, source, bytes, world);
    /* All members have read. A member that failed takes part, too, so that the others do not wait for it. */
    const int32_t met = nvshmemrs_sync(rt, team);
    return status != NVSHMEMRS_SUCCESS ? status : met;
}

/* ---- `long double`: every member reads the other members' elements, and folds in team order ---- */

/* The number of elements that are read at a time. */
#define CHUNK 512

static void fold(long double *into, const long double *from, size_t count, int32_t op)
{
    for (size_t index = 0; index < count; index++) {
        const long double a = into[index], b = from[index];
        switch (op) {
        case NVSHMEMRS_OP_SUM:
            into[index] = a + b;
            break;
        case NVSHMEMRS_OP_PROD:
            into[index] = a * b;
            break;
        case NVSHMEMRS_OP_MIN:
            into[index] = a != a || a < b ? a : b;
            break;
        default:
            into[index] = a != a || a > b ? a : b;
        }
    }
}

/* Folds `count` elements of the first `members` members of `team` into `result`, which is initialised with the operation's identity. */
static int32_t gather(
    nvshmemrs_runtime_t rt, nvshmemrs_team_t team, long double *result, const long double *source, size_t count, int32_t members, int32_t op)
{
    long double part[CHUNK];
    for (int32_t member = 0; member < members; member++) {
        int32_t pe = 0;
        int32_t status = nvshmemrs_team_translate_pe(rt, team, member, NVSHMEMRS_TEAM_WORLD, &pe);
        for (size_t done = 0; done < count && status == NVSHMEMRS_SUCCESS; done += CHUNK) {
            const size_t now = count - done < CHUNK ? count - done : CHUNK;
            status = nvshmemrs_get(rt, part, source + done, now * sizeof *part, pe);
            if (status == NVSHMEMRS_SUCCESS && member == 0)
                memcpy(result + done, part, now * sizeof *part);
            else if (status == NVSHMEMRS_SUCCESS)
                fold(result + done, part, now, op);
        }
        if (status != NVSHMEMRS_SUCCESS)
            return status;
    }
    return NVSHMEMRS_SUCCESS;
}

/* A reduction over all members, or a scan over those up to, or before, the caller. */
static int32_t long_doubles(
    nvshmemrs_runtime_t rt, nvshmemrs_team_t team, long double *dest, const long double *source, size_t count, int32_t op, int32_t extra, bool all)
{
    int32_t n_pes = 0, me = 0, world = 0;
    const size_t bytes = nvshmemrs_shmem_bytes(count, sizeof *dest);
    long double *result = bytes == SIZE_MAX ? NULL : calloc(count > 0 ? count : 1, sizeof *result);
    /* The sources of all members are complete. */
    int32_t status = nvshmemrs_sync(rt, team);
    if (status == NVSHMEMRS_SUCCESS)
        status = nvshmemrs_team_n_pes(rt, team, &n_pes);
    if (status == NVSHMEMRS_SUCCESS)
        status = nvshmemrs_team_my_pe(rt, team, &me);
    if (status == NVSHMEMRS_SUCCESS)
        status = nvshmemrs_my_pe(rt, &world);
    if (status == NVSHMEMRS_SUCCESS && result == NULL)
        status = NVSHMEMRS_ERROR_OUT_OF_MEMORY;
    if (status == NVSHMEMRS_SUCCESS)
        status = gather(rt, team, result, source, count, all ? n_pes : me + extra, op);
    /* All members have read, so `dest` may be `source`. A member that failed takes part, too, so that the others do not wait for it. */
    const int32_t met = nvshmemrs_sync(rt, team);
    if (status == NVSHMEMRS_SUCCESS)
        status = met;
    if (status == NVSHMEMRS_SUCCESS && count > 0)
        status = nvshmemrs_put(rt, dest, result, bytes, world);
    if (status == NVSHMEMRS_SUCCESS)
        status = nvshmemrs_quiet(rt);
    free(result);
    return status;
}

int32_t nvshmemrs_shmem_reduce(
    nvshmemrs_runtime_t rt, nvshmemrs_team_t team, void *dest, const void *source, size_t count, int32_t dtype, int32_t op)
{
    return dtype == 0 ? long_doubles(rt, team, dest, source, count, op, 0, true)
                      : nvshmemrs_reduce(rt, team, dest, source, count, dtype, op);
}

int32_t nvshmemrs_shmem_inscan(
    nvshmemrs_runtime_t rt, nvshmemrs_team_t team, void *dest, const void *source, size_t count, int32_t dtype)
{
    return dtype == 0 ? long_doubles(rt, team, dest, source, count, NVSHMEMRS_OP_SUM, 1, false)
                      : nvshmemrs_inscan(rt, team, dest, source, count, dtype, NVSHMEMRS_OP_SUM);
}

int32_t nvshmemrs_shmem_exscan(
    nvshmemrs_runtime_t rt, nvshmemrs_team_t team, void *dest, const void *source, size_t count, int32_t dtype)
{
    return dtype == 0 ? long_doubles(rt, team, dest, source, count, NVSHMEMRS_OP_SUM, 0, false)
                      : nvshmemrs_exscan(rt, team, dest, source, count, dtype, NVSHMEMRS_OP_SUM);
}
