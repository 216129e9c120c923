/* Random calls with hostile arguments: the arguments, the objects that live meanwhile, and the calls that change them. The other calls
 * are generated from the API model by tests/faults/hostile.rs, which includes this file.
 *
 * Numbers come from two sequences: `common` is the same on every PE, and collectives and all that makes or destroys things draw from
 * it, so that PEs stay alike; one-sided calls draw from a sequence of their own PE. Local buffers are always valid. */

#ifndef HOSTILE_H
#define HOSTILE_H

#include "check.h"

#include <string.h>
#include <sys/mman.h>

enum { POOL = 16, CANARIES = 4, CANARY_BYTES = 4096, KEPT = 4, TEAMS = 8, STALE = 64, LARGEST = 65536 };

#define WRONG(...) (fprintf(stderr, "PE %d, call %ld (%s), seed %llu: ", (int)me, call_number, call_name, \
                           (unsigned long long)first_seed),                                               \
                   fprintf(stderr, __VA_ARGS__), fprintf(stderr, "\n"), exit(1))

static uint64_t first_seed, common, own, *rng = &common;
static int32_t me, n_pes;
static long call_number;
static int trace;
static const char *call_name = "start";
static nvshmemrs_runtime_t rt;

static struct { char *at; size_t bytes; } pool[POOL];
static char *canaries[CANARIES], *freed[STALE];
static int32_t *votes;
static uint64_t streams[KEPT], events[KEPT], jobs[KEPT], others[KEPT], mappings[KEPT], contexts[KEPT], teams[TEAMS];
static uint64_t stale[STALE];
static size_t left = 64;

/* Local memory; larger than anything that passes the checks, strides of up to 3 included. */
static _Alignas(64) char local[1 << 20];
static _Alignas(64) char zeros[1 << 17];
static int32_t status_flags[LARGEST];
static _Alignas(64) unsigned char outputs[4][256];

static uint64_t next(void)
{
    uint64_t x = (*rng += 0x9e3779b97f4a7c15u);
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static uint64_t below(uint64_t n)
{
    return next() % n;
}

static int percent(unsigned chance)
{
    return below(100) < chance;
}

/* Keeps a handle that names nothing any more. No number is drawn: not every PE may have had it. So places differ between PEs, and none
 * may hold 0, which is a live team. */
static void retire(uint64_t handle)
{
    static size_t retired;
    if (handle == 0)
        return;
    stale[retired++ % STALE] = handle;
}

static void forget(uint64_t *handle)
{
    retire(*handle);
    *handle = 0;
}

static uint64_t strange_handle(void)
{
    switch (below(9)) {
    case 0: return 0;
    case 1: return next();
    case 2: return stale[below(STALE)];
    case 3: return streams[below(KEPT)];
    case 4: return events[below(KEPT)];
    case 5: return jobs[below(KEPT)];
    case 6: return mappings[below(KEPT)];
    case 7: return teams[below(TEAMS)] + (1ull << 32);
    default: return rt ^ 1ull << below(64);
    }
}

/* The stream that the last picked runtime handle names, or 0. */
static uint64_t on_stream;

static uint64_t pick_runtime(void)
{
    uint64_t handle = rt;
    on_stream = 0;
    if (percent(15))
        handle = streams[below(KEPT)];
    else if (percent(5))
        handle = others[below(KEPT)];
    else if (percent(12))
        handle = strange_handle();
    for (int i = 0; i < KEPT; i++)
        if (handle != 0 && handle == streams[i])
            on_stream = handle;
    return handle;
}

/* Only on a team of all are the members' results compared. */
static int compared;

static uint64_t pick_team(void)
{
    if (percent(55)) {
        static const uint64_t all[4] = {NVSHMEMRS_TEAM_WORLD, NVSHMEMRS_TEAM_SHARED, NVSHMEMRS_TEAM_NODE,
                                        NVSHMEMRS_TEAM_GPU_LEADERS};
        return all[below(4)];
    }
    compared = 0;
    if (percent(55))
        return teams[below(TEAMS)];
    if (percent(40))
        return percent(50) ? NVSHMEMRS_TEAM_SAME_GPU : NVSHMEMRS_TEAM_SAME_MYPE_NODE;
    return percent(20) ? NVSHMEMRS_TEAM_INVALID : percent(50) ? below(300) + 6 : strange_handle();
}

static uint64_t pick_kept(const uint64_t *kept)
{
    return percent(75) ? kept[below(KEPT)] : strange_handle();
}

static int in_canary(const char *at)
{
    for (int i = 0; i < CANARIES; i++)
        if (at >= canaries[i] && at < canaries[i] + CANARY_BYTES)
            return 1;
    return at >= (char *)votes && at < (char *)votes + 64;
}

static char *stray_address(void)
{
    int which = (int)below(POOL);
    char *base = pool[which].at, *at = NULL;
    void *peer = NULL;
    switch (below(9)) {
    case 0: at = NULL; break;
    case 1: at = (char *)zeros; break;
    case 2: at = freed[below(STALE)]; break;
    case 3: at = base ? base + pool[which].bytes : NULL; break;
    case 4: at = base ? base - 1 - below(64) : NULL; break;
    case 5: /* A peer's copy of it, or PE 0's on PE 0. */
        if (base && nvshmemrs_ptr(rt, base, (me + 1) % n_pes, &peer) == NVSHMEMRS_SUCCESS && n_pes > 1)
            at = peer;
        break;
    case 6: at = (char *)(uintptr_t)next(); break;
    case 7: at = (char *)UINTPTR_MAX - below(16); break;
    default: at = (char *)1; break;
    }
    return in_canary(at) ? NULL : at;
}

/* An address for an operation to write or read, and in `left` how much of its allocation follows. */
static void *pick_symmetric(void)
{
    int which = (int)below(POOL);
    size_t start;
    if (percent(18) || pool[which].at == NULL)
        return stray_address();
    start = below(3) ? below(pool[which].bytes / 64 + 1) * 8 : 0;
    if (percent(5))
        start += below(8);
    if (start > pool[which].bytes)
        start = pool[which].bytes;
    if (pool[which].bytes - start < left)
        left = pool[which].bytes - start;
    return pool[which].at + start;
}

/* An address to wait on: the canaries' value satisfies every wait below. */
static void *pick_watched(void)
{
    size_t start = below(CANARY_BYTES / 8) * 8;
    if (percent(25))
        return below(2) ? NULL : stray_address() == NULL ? (void *)1 : (void *)zeros;
    if (percent(5))
        start += 1;
    left = CANARY_BYTES - start;
    return canaries[below(CANARIES)] + start;
}

static void *pick_local(void)
{
    if (percent(4))
        return NULL;
    if (percent(8)) {
        int which = (int)below(POOL);
        return pool[which].at ? pool[which].at + below(pool[which].bytes / 64 + 1) * 8 : local;
    }
    return local + sizeof local / 2 + below(64);
}

static size_t huge(void)
{
    static const size_t sizes[8] = {SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / 2 + 1, SIZE_MAX - 63,
                                    (size_t)1 << 47, (size_t)1 << 32, SIZE_MAX / 8 + 1, SIZE_MAX - 4095};
    return sizes[below(8)];
}

static size_t pick_size(void)
{
    switch (below(10)) {
    case 0: return 0;
    case 1: return left;
    case 2: return left + 1;
    case 3: return left ? left - 1 : 1;
    case 4: return huge();
    case 5: return left / 8;
    case 6: return left / (size_t)n_pes / 16;
    case 7: return left / (size_t)n_pes;
    default: return below(40);
    }
}

static size_t pick_element_bytes(void)
{
    static const size_t sizes[6] = {1, 2, 4, 8, 16, 12};
    return percent(90) ? sizes[below(6)] : percent(50) ? 0 : huge();
}

static int32_t pick_pe(void)
{
    static const int32_t wrong[4] = {-1, INT32_MAX, INT32_MIN, 1 << 20};
    if (percent(80))
        return (int32_t)below((uint64_t)n_pes);
    return percent(40) ? n_pes : wrong[below(4)];
}

static int32_t pick_number(int32_t first, int32_t last)
{
    static const int32_t wrong[6] = {-1, 0, 15, 99, INT32_MAX, INT32_MIN};
    return percent(85) ? first + (int32_t)below((uint64_t)(last - first + 1)) : wrong[below(6)];
}

static ptrdiff_t pick_stride(void)
{
    static const ptrdiff_t wrong[5] = {PTRDIFF_MAX, PTRDIFF_MIN, (ptrdiff_t)1 << 40, -((ptrdiff_t)1 << 40), 100000};
    return percent(90) ? (ptrdiff_t)below(7) - 3 : wrong[below(5)];
}

/* Strides of local memory stay small, because it is valid in any case. */
static ptrdiff_t pick_local_stride(void)
{
    return (ptrdiff_t)below(7) - 3;
}

static const nvshmemrs_team_config_t *pick_config(void)
{
    static nvshmemrs_team_config_t config;
    if (percent(30))
        return NULL;
    if (nvshmemrs_team_config_default(&config))
        abort();
    config.num_contexts = percent(90) ? (int32_t)below(9) : percent(50) ? -1 : INT32_MIN;
    if (percent(8))
        config.version = (uint32_t)next();
    return &config;
}

static int64_t pick_mask(void)
{
    static const int64_t wrong[4] = {-1, INT64_MIN, 4, 1 << 20};
    return percent(90) ? (int64_t)below(2) : wrong[below(4)];
}

/* Outputs: 0xa5 where nobody has written. */
static void *pick_output(int which)
{
    memset(outputs[which], 0xa5, sizeof outputs[which]);
    return percent(95) ? outputs[which] : NULL;
}

static void check_output(int which, size_t bytes, int written)
{
    for (size_t i = written ? bytes : 0; i < sizeof outputs[which]; i++)
        if (outputs[which][i] != 0xa5)
            WRONG("output %d was written at byte %zu (%zu bytes long, call %s)", which, i, bytes,
                 written ? "succeeded" : "failed");
}

/* Checks that a status is one that a caller can handle; a status that must not occur here ends the program. */
static int32_t check_status(int32_t status)
{
    switch (status) {
    case NVSHMEMRS_SUCCESS:
    case NVSHMEMRS_ERROR_INVALID_VALUE:
    case NVSHMEMRS_ERROR_OUT_OF_MEMORY:
    case NVSHMEMRS_ERROR_NOT_SUPPORTED:
    case NVSHMEMRS_ERROR_NOT_SYMMETRIC:
    case NVSHMEMRS_ERROR_NOT_INITIALIZED:
    case NVSHMEMRS_ERROR_BAD_HANDLE:
    case NVSHMEMRS_ERROR_PE_RANGE:
    case NVSHMEMRS_ERROR_OUT_OF_BOUNDS:
    case NVSHMEMRS_ERROR_MISMATCH:
    case NVSHMEMRS_ERROR_BOOTSTRAP:
    case NVSHMEMRS_ERROR_SYSTEM:
    case NVSHMEMRS_ERROR_BAD_FREE:
    case NVSHMEMRS_ERROR_BUSY:
    case NVSHMEMRS_ERROR_PEER_ARGUMENT:
        return status;
    default:
        WRONG("status %d: %s", (int)status, nvshmemrs_last_error());
    }
    return status;
}

static void drain(uint64_t stream)
{
    if (stream != 0)
        check_status(nvshmemrs_stream_synchronize(stream));
}

static void drain_all(void)
{
    for (int i = 0; i < KEPT; i++)
        drain(streams[i]);
}

#include "hostile_special.h"

static int32_t special_context_new(void)
{
    uint64_t runtime = percent(80) ? rt : pick_runtime();
    return keep_handle(nvshmemrs_context_new(runtime, pick_output(0)), contexts, nvshmemrs_context_free);
}

static int32_t special_context_free(void)
{
    return end_kept(contexts, nvshmemrs_context_free);
}

static void check_canaries(void)
{
    CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_NODE));
    for (int i = 0; i < CANARIES; i++)
        for (int byte = 0; byte < CANARY_BYTES; byte++)
            if (canaries[i][byte] != 1)
                WRONG("canary %d was written at byte %d: %d", i, byte, canaries[i][byte]);
    CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_NODE));
}

/* All members succeed, or all fail. */
static void vote(int32_t status)
{
    votes[0] = status == NVSHMEMRS_SUCCESS;
    votes[1] = -votes[0];
    CHECK(nvshmemrs_reduce(rt, NVSHMEMRS_TEAM_NODE, votes + 2, votes, 2, NVSHMEMRS_DTYPE_INT32, NVSHMEMRS_OP_MIN));
    if (votes[2] != -votes[3])
        WRONG("some members succeed and some fail; here: status %d: %s", (int)status,
             status ? nvshmemrs_last_error() : "success");
}

typedef struct {
    const char *name;
    int32_t (*call)(void);
    int collective, one_sided;
    long succeeded, failed;
} entry_t;

static void run(entry_t *entries, size_t count, long calls)
{
    trace = getenv("NVSHMEMRS_HOSTILE_TRACE") != NULL;
    for (call_number = 0; call_number < calls; call_number++) {
        entry_t *entry;
        int32_t status;
        rng = &common;
        entry = &entries[below(count)];
        call_name = entry->name;
        if (trace)
            fprintf(stderr, "PE %d: %ld %s\n", (int)me, call_number, call_name);
        rng = entry->one_sided ? &own : &common;
        left = LARGEST;
        compared = entry->collective;
        on_stream = 0;
        if (!entry->one_sided)
            drain_all();
        status = check_status(entry->call());
        if (trace)
            fprintf(stderr, "PE %d: %ld %s: %d %s\n", (int)me, call_number, call_name, (int)status,
                    status == NVSHMEMRS_SUCCESS ? "" : nvshmemrs_last_error());
        if (!entry->one_sided && on_stream != 0 && status == NVSHMEMRS_SUCCESS)
            status = check_status(nvshmemrs_stream_synchronize(on_stream));
        *(status == NVSHMEMRS_SUCCESS ? &entry->succeeded : &entry->failed) += 1;
        if (compared)
            vote(status);
        if (call_number % 500 == 0) {
            drain_all();
            check_canaries();
        }
    }
}

static void *allocate(size_t bytes)
{
    void *at;
    CHECK(nvshmemrs_malloc(rt, bytes, &at));
    return at;
}

static int hostile(entry_t *entries, size_t count, int argc, char **argv)
{
    uint64_t sent = 0;
    /* Whole lines, because the PEs share standard output. */
    setvbuf(stdout, NULL, _IOLBF, 0);
    rt = join(&me);
    CHECK(nvshmemrs_n_pes(rt, &n_pes));
    if (argc != 3)
        return 90;
    first_seed = common = strtoull(argv[1], NULL, 10);
    own = common ^ (uint64_t)(me + 1) << 32;
    for (int i = 0; i < POOL; i++) {
        pool[i].bytes = 8 + below(LARGEST / 8) * 8;
        pool[i].at = allocate(pool[i].bytes);
        if (i % 4 == 1) {
            canaries[i / 4] = allocate(CANARY_BYTES);
            memset(canaries[i / 4], 1, CANARY_BYTES);
        }
    }
    votes = allocate(64);
    for (int i = 0; i < TEAMS; i++)
        teams[i] = NVSHMEMRS_TEAM_INVALID;
    for (int i = 0; i < STALE; i++)
        retire(next());
    for (int i = 0; i < LARGEST; i++)
        status_flags[i] = percent(20);
    check_canaries();

    run(entries, count, strtol(argv[2], NULL, 10));

    /* The job works afterwards. */
    call_name = "end";
    drain_all();
    check_canaries();
    sent = 1000 + (uint64_t)me;
    CHECK(nvshmemrs_put(rt, votes, &sent, sizeof sent, (me + 1) % n_pes));
    CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
    memcpy(&sent, votes, sizeof sent);
    if (sent != 1000 + (uint64_t)((me + n_pes - 1) % n_pes))
        WRONG("the neighbour's word did not arrive");
    end_all();
    CHECK(nvshmemrs_finalize(rt));
    for (size_t i = 0; i < count && me == 0; i++)
        printf("call %s %ld %ld\n", entries[i].name, entries[i].succeeded, entries[i].failed);
    printf("hostile ok PE %d of %d\n", (int)me, (int)n_pes);
    return 0;
}

#endif
