/* Contexts' ordering, old waits and locks, and functions that do nothing. */

#include "internal.h"

#include <pthread.h>
#include <stdlib.h>

/* SHMEM_CTX_INVALID has no operations, so there is nothing to do. */
#define ENTER_ANY_CTX(NAME) \
    const char *const nvshmemrs_name = (NAME); \
    nvshmemrs_runtime_t rt; \
    if (ctx == SHMEM_CTX_INVALID || !nvshmemrs_shmem_enter_ctx(nvshmemrs_name, ctx, &rt, NULL, PLACE)) \
    return

FUNCTION(void, shmem_ctx_fence, (shmem_ctx_t ctx))
{
    ENTER_ANY_CTX("shmem_ctx_fence");
    DO(nvshmemrs_fence(rt));
}

FUNCTION(void, shmem_ctx_quiet, (shmem_ctx_t ctx))
{
    ENTER_ANY_CTX("shmem_ctx_quiet");
    DO(nvshmemrs_quiet(rt));
}

FUNCTION(void, shmem_pe_quiet, (const int *target_pes, size_t npes))
{
    ENTER("shmem_pe_quiet");
    if (target_pes == NULL && npes > 0)
        nvshmemrs_shmem_misused(nvshmemrs_name, PLACE, "argument `target_pes` is NULL");
    DO(nvshmemrs_quiet(rt));
}

FUNCTION(void, shmem_ctx_pe_quiet, (shmem_ctx_t ctx, const int *target_pes, size_t npes))
{
    ENTER_ANY_CTX("shmem_ctx_pe_quiet");
    if (target_pes == NULL && npes > 0)
        nvshmemrs_shmem_misused(nvshmemrs_name, PLACE, "argument `target_pes` is NULL");
    DO(nvshmemrs_quiet(rt));
}

FUNCTION(void, shmem_wait, (volatile long *ivar, long cmp_value))
{
    ENTER("shmem_wait");
    DO(nvshmemrs_wait_until(rt, (const void *)ivar, NVSHMEMRS_CMP_NE, &cmp_value, NVSHMEMRS_DTYPE_INT64));
}

FUNCTION(void, shmem_wait_until, (volatile long *ivar, int cmp, long cmp_value))
{
    ENTER("shmem_wait_until");
    DO(nvshmemrs_wait_until(rt, (const void *)ivar, cmp, &cmp_value, NVSHMEMRS_DTYPE_INT64));
}

/* ---- Locks ----
 *
 * A queue of the PEs that want the lock (Mellor-Crummey and Scott). A lock is one `long` on every PE, 0 at first. Its upper half on the home PE
 * is the last PE of the queue, plus 1. Its lower half on each PE is that PE's place in the queue: the PE behind it, plus 1, and a bit as long
 * as it waits. Each PE waits for its own half, so waiters do not disturb each other, and get the lock in the order of arrival. The lower half
 * has the lock's address, which reports of the wait name. */

#define WAITS UINT32_C(0x80000000)

struct lock {
    nvshmemrs_runtime_t rt;
    uint32_t *last;
    uint32_t *own;
    int32_t me;
    int32_t home;
};

static int32_t find_lock(struct lock *found, nvshmemrs_runtime_t rt, volatile long *lock)
{
    int32_t n_pes = 0;
    found->rt = rt;
    found->own = (uint32_t *)(uintptr_t)lock;
    found->last = found->own + 1;
    int32_t status = nvshmemrs_my_pe(rt, &found->me);
    if (status == NVSHMEMRS_SUCCESS)
        status = nvshmemrs_n_pes(rt, &n_pes);
    /* Every PE derives the same home PE, although heaps have different addresses: from the address on the first PE. */
    found->home = 0;
    return status;
}

static int32_t set_lock(const struct lock *lock)
{
    const uint32_t me = (uint32_t)lock->me + 1;
    uint32_t before = 0;
    int32_t status = nvshmemrs_atomic_compare_swap32(lock->rt, lock->last, 0, me, lock->home, &before);
    if (status != NVSHMEMRS_SUCCESS || before == 0)
        return status;
    status = nvshmemrs_atomic_set32(lock->rt, lock->own, WAITS, lock->me);
    if (status == NVSHMEMRS_SUCCESS)
        status = nvshmemrs_atomic_swap32(lock->rt, lock->last, me, lock->home, &before);
    if (status != NVSHMEMRS_SUCCESS)
        return status;
    if (before == 0)
        return nvshmemrs_atomic_and32(lock->rt, lock->own, ~WAITS, lock->me);
    const int32_t ahead = (int32_t)before - 1;
    status = nvshmemrs_atomic_add32(lock->rt, lock->own, me, ahead);
    if (status == NVSHMEMRS_SUCCESS)
        status = nvshmemrs_lock_wait(lock->rt, (const int32_t *)lock->own, ahead);
    return status;
}

/* The half of a PE that is not in the queue is 0. */
static int32_t clear_lock(const struct lock *lock)
{
    const uint32_t me = (uint32_t)lock->me + 1, none = 0;
    uint32_t last = 0, next = 0;
    int32_t status = nvshmemrs_quiet(lock->rt);
    if (status == NVSHMEMRS_SUCCESS)
        status = nvshmemrs_atomic_compare_swap32(lock->rt, lock->last, me, 0, lock->home, &last);
    if (status != NVSHMEMRS_SUCCESS || last == me)
        return status;
    /* The next PE has entered the queue, and will announce itself here immediately. */
    status = nvshmemrs_wait_until(lock->rt, lock->own, NVSHMEMRS_CMP_NE, &none, NVSHMEMRS_DTYPE_UINT32);
    if (status == NVSHMEMRS_SUCCESS)
        status = nvshmemrs_atomic_swap32(lock->rt, lock->own, 0, lock->me, &next);
    if (status == NVSHMEMRS_SUCCESS)
        status = nvshmemrs_atomic_and32(lock->rt, lock->own, ~WAITS, (int32_t)next - 1);
    return status;
}

/* The locks that threads of this process hold or wait for. The queue of a lock has one entry per PE; the PE's threads wait for that entry
 * here. */
struct taken {
    nvshmemrs_runtime_t rt;
    volatile long *lock;
    /* The number of threads that hold it or wait for it. */
    unsigned users;
    bool held;
    pthread_t holder;
    struct taken *next;
};

static struct taken *locks;
static pthread_mutex_t changes = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t released = PTHREAD_COND_INITIALIZER;

static struct taken **find_taken(nvshmemrs_runtime_t rt, volatile long *lock)
{
    struct taken **at = &locks;
    while (*at != NULL && !((*at)->rt == rt && (*at)->lock == lock))
        at = &(*at)->next;
    return at;
}

enum take { TAKEN, BUSY, TWICE, NO_MEMORY, ENDED };

/* Waits, for a short time, until a thread passes an entry on. The status is that of the job, which may end meanwhile. */
static int32_t await_release(nvshmemrs_runtime_t rt)
{
    enum { LOOK_EVERY_NS = 100000000 };
    const struct timespec until = nvshmemrs_shmem_time_in(LOOK_EVERY_NS);
    if (pthread_cond_timedwait(&released, &changes, &until) == 0)
        return NVSHMEMRS_SUCCESS;
    pthread_mutex_unlock(&changes);
    const int32_t status = nvshmemrs_runtime_check(rt);
    pthread_mutex_lock(&changes);
    return status;
}

/* Acquires the PE's entry for this thread; `waits`: waits until no other thread has it, or until the job ends, as `status` says. */
static enum take take(nvshmemrs_runtime_t rt, volatile long *lock, bool waits, int32_t *status)
{
    enum take outcome = TAKEN;
    pthread_mutex_lock(&changes);
    struct taken **at = find_taken(rt, lock), *taken = *at;
    if (taken == NULL) {
        taken = *at = calloc(1, sizeof *taken);
        if (taken != NULL)
            *taken = (struct taken){.rt = rt, .lock = lock};
    }
    if (taken == NULL)
        outcome = NO_MEMORY;
    else if (taken->held && !waits)
        outcome = BUSY;
    else if (taken->held && pthread_equal(taken->holder, pthread_self()))
        outcome = TWICE;
    if (outcome == TAKEN) {
        taken->users++;
        while (taken->held && *status == NVSHMEMRS_SUCCESS)
            *status = await_release(rt);
        if (*status == NVSHMEMRS_SUCCESS) {
            taken->held = true;
            taken->holder = pthread_self();
        } else {
            /* The holder's use remains. */
            taken->users--;
            outcome = ENDED;
        }
    }
    pthread_mutex_unlock(&changes);
    return outcome;
}

/* Passes the PE's entry to the next thread. */
static void give(nvshmemrs_runtime_t rt, volatile long *lock)
{
    pthread_mutex_lock(&changes);
    struct taken **at = find_taken(rt, lock), *taken = *at;
    taken->held = false;
    if (--taken->users == 0) {
        *at = taken->next;
        free(taken);
    }
    pthread_cond_broadcast(&released);
    pthread_mutex_unlock(&changes);
}

static bool holds(nvshmemrs_runtime_t rt, volatile long *lock)
{
    pthread_mutex_lock(&changes);
    const struct taken *taken = *find_taken(rt, lock);
    const bool held = taken != NULL && taken->held;
    pthread_mutex_unlock(&changes);
    return held;
}

FUNCTION(void, shmem_set_lock, (volatile long *lock))
{
    ENTER("shmem_set_lock");
    struct lock found;
    int32_t status = find_lock(&found, rt, lock);
    const enum take outcome = status == NVSHMEMRS_SUCCESS ? take(rt, lock, true, &status) : BUSY;
    if (outcome == TWICE)
        nvshmemrs_shmem_misused(nvshmemrs_name, PLACE, "this thread holds the lock already");
    else if (outcome == NO_MEMORY)
        nvshmemrs_shmem_misused(nvshmemrs_name, PLACE, "there is no memory for the lock");
    if (outcome == TAKEN) {
        status = set_lock(&found);
        if (status != NVSHMEMRS_SUCCESS)
            give(rt, lock);
    }
    DO(status);
}

FUNCTION(void, shmem_clear_lock, (volatile long *lock))
{
    ENTER("shmem_clear_lock");
    struct lock found;
    int32_t status = find_lock(&found, rt, lock);
    if (status == NVSHMEMRS_SUCCESS && !holds(rt, lock)) {
        nvshmemrs_shmem_misused(nvshmemrs_name, PLACE, "this PE does not hold the lock");
    } else if (status == NVSHMEMRS_SUCCESS) {
        status = clear_lock(&found);
        give(rt, lock);
    }
    DO(status);
}

FUNCTION(int, shmem_test_lock, (volatile long *lock))
{
    ENTER("shmem_test_lock");
    struct lock found;
    uint32_t before = 0;
    int32_t status = find_lock(&found, rt, lock);
    if (status == NVSHMEMRS_SUCCESS && take(rt, lock, false, &status) != TAKEN)
        return 1;
    if (status == NVSHMEMRS_SUCCESS) {
        status = nvshmemrs_atomic_compare_swap32(rt, found.last, 0, (uint32_t)found.me + 1, found.home, &before);
        if (status != NVSHMEMRS_SUCCESS || before != 0)
            give(rt, lock);
    }
    DO(status);
    /* A failed call does not take the lock. */
    return status != NVSHMEMRS_SUCCESS || before != 0;
}

/* ---- Caches, which need no management ---- */

FUNCTION(void, shmem_clear_cache_inv, (void))
{
}

FUNCTION(void, shmem_set_cache_inv, (void))
{
}

FUNCTION(void, shmem_clear_cache_line_inv, (void *dest))
{
    (void)dest;
}

FUNCTION(void, shmem_set_cache_line_inv, (void *dest))
{
    (void)dest;
}

FUNCTION(void, shmem_udcflush, (void))
{
}

FUNCTION(void, shmem_udcflush_line, (void *dest))
{
    (void)dest;
}
