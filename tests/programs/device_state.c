/* The job's data for kernels: the state, its tables, and their changes. The program reads and writes them as kernels would, in
 * host memory or, by copies, in that of a GPU.
 *
 * Argument: "tables"; "kill", the last PE is killed, and the others' abort words must tell; "report", a kernel's report of its wrong
 * arguments, with NVSHMEMRS_DEVICE_CHECK=1; "unchecked", a report without, as of a PE of another host; "watched", of a job that is checked. */
#include "driver.h"

#include <signal.h>
#include <stdint.h>
#include <time.h>

enum { WORLD_SLOTS = 128, ROW = 64 };

typedef struct {
    uint64_t heap_bytes;
    uint32_t n_teams, check;
    uint64_t teams, state;
    uint32_t slots, padding;
    uint64_t report, reserved[2];
} job_t;

typedef struct {
    int32_t n, me, first, step;
    uint64_t members, sync, epochs;
    uint32_t generation, padding;
    uint64_t reserved[2];
} team_t;

typedef struct {
    uint32_t state, kind;
    int32_t pe;
    uint32_t block, thread, operation;
    uint64_t address, bytes;
    char caller[64];
} report_t;

_Static_assert(sizeof(job_t) == 64 && sizeof(team_t) == ROW && sizeof(report_t) == 104, "as kernels have them");

static nvshmemrs_runtime_t rt;
static int32_t pe, n;
static int on_gpu;
static nvshmemrs_device_state_t state;
static job_t job;

#define SAME(a, b)                                                                                     \
    do {                                                                                               \
        unsigned long long a_ = (unsigned long long)(a), b_ = (unsigned long long)(b);                 \
        if (a_ != b_)                                                                                  \
            FAIL("PE %d: %s is %llu, not %llu", (int)pe, #a, a_, b_);                                  \
    } while (0)

static void copied(uint64_t to, uint64_t from, size_t bytes)
{
    CUDA(cuMemcpy, (uint64_t, uint64_t, size_t), to, from, bytes);
}

static void look(void *to, uint64_t from, size_t bytes)
{
    if (on_gpu)
        copied((uint64_t)to, from, bytes);
    else
        memcpy(to, (const void *)from, bytes);
}

static void set(uint64_t to, uint64_t word)
{
    if (on_gpu)
        copied(to, (uint64_t)&word, sizeof word);
    else
        memcpy((void *)to, &word, sizeof word);
}

static team_t row_of(nvshmemrs_team_t team)
{
    team_t row;
    look(&row, job.teams + (team & 0xffffffff) * ROW, sizeof row);
    return row;
}

static uint64_t flag(const team_t *row, int32_t of, uint32_t slot, int parity, int32_t member)
{
    uint64_t index = ((uint64_t)slot * 2 + (uint64_t)parity) * (uint64_t)row->n + (uint64_t)member;
    return state.base + (uint64_t)of * state.stride + row->sync + index * 8;
}

/* Checks the row of a team that this PE is a member of: the members, and that no meeting has begun. */
static team_t live(nvshmemrs_team_t team, const int32_t *members, int32_t count, int32_t step)
{
    team_t row = row_of(team);
    int32_t me = -1, listed[64];
    for (int32_t i = 0; i < count; i++)
        me = members[i] == pe ? i : me;
    SAME(row.n, count);
    SAME(row.me, me);
    SAME(row.first, members[0]);
    SAME(row.step, step);
    SAME(row.generation, team >> 32);
    if (step == 0) {
        look(listed, row.members, (size_t)count * 4);
        for (int32_t i = 0; i < count; i++)
            SAME(listed[i], members[i]);
    }
    SAME(row.sync % 8, 0);
    if (row.sync < job.heap_bytes)
        FAIL("the flags of a team lie in the heap");
    for (uint32_t slot = 0; slot < job.slots; slot++) {
        uint64_t word;
        look(&word, row.epochs + slot * 8, 8);
        SAME(word, 0);
        for (int32_t i = 0; i < 2 * count; i++) {
            look(&word, flag(&row, pe, slot, i / count, i % count), 8);
            SAME(word, 0);
        }
    }
    return row;
}

/* Leaves marks wherever kernels of a team's write. */
static void use(const team_t *row, const int32_t *members)
{
    for (uint32_t slot = 0; slot < job.slots; slot += job.slots - 1) {
        set(row->epochs + slot * 8, 7);
        for (int32_t i = 0; i < row->n; i++)
            for (int parity = 0; parity < 2; parity++)
                set(flag(row, members[i], slot, parity, row->me), 7);
    }
}

static void destroy(nvshmemrs_team_t team)
{
    team_t row = row_of(team);
    SAME(row.generation, team >> 32);
    CHECK(nvshmemrs_team_destroy(rt, team));
    CHECK(nvshmemrs_quiet(rt));
    SAME(row_of(team).n, 0);
}

static void teams(void)
{
    int32_t all[64], down[64];
    for (int32_t i = 0; i < n; i++) {
        all[i] = i;
        down[i] = n - 1 - i;
    }
    live(NVSHMEMRS_TEAM_WORLD, all, n, 1);
    live(NVSHMEMRS_TEAM_SHARED, all, n, 1);
    live(NVSHMEMRS_TEAM_SAME_MYPE_NODE, &pe, 1, 1);
    SAME(row_of(job.n_teams - 1).n, 0);
    /* The next team sees nothing that a kernel of an earlier team left, whatever its number; the rounds are enough to reuse numbers. */
    nvshmemrs_team_t team, before = 0;
    CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
    for (int round = 0; round < 3; round++) {
        CHECK(nvshmemrs_team_split_strided(rt, NVSHMEMRS_TEAM_WORLD, n - 1, n > 1 ? -1 : 1, n, NULL, 0, &team));
        if (team == before)
            FAIL("two teams have one handle");
        before = team;
        team_t row = live(team, down, n, n > 1 ? -1 : 1);
        CHECK(nvshmemrs_barrier(rt, team));
        use(&row, down);
        CHECK(nvshmemrs_barrier(rt, team));
        destroy(team);
    }
    /* A part of the PEs: the others have no row. */
    CHECK(nvshmemrs_team_split_strided(rt, NVSHMEMRS_TEAM_WORLD, 0, 1, n - 1 ? n - 1 : 1, NULL, 0, &team));
    if (team != NVSHMEMRS_TEAM_INVALID) {
        live(team, all, n - 1 ? n - 1 : 1, 1);
        destroy(team);
    }
    /* Members in an order that has no step. */
    if (n == 3) {
        const int32_t mixed[] = {0, 2, 1};
        nvshmemrs_team_config_t config;
        uint64_t *ids;
        CHECK(nvshmemrs_calloc(rt, 2, 8, (void **)&ids));
        uint64_t id;
        CHECK(nvshmemrs_team_unique_id(rt, &id));
        CHECK(nvshmemrs_put(rt, ids, &id, 8, pe));
        CHECK(nvshmemrs_broadcast(rt, NVSHMEMRS_TEAM_WORLD, ids + 1, ids, 8, 0));
        CHECK(nvshmemrs_get(rt, &id, ids + 1, 8, pe));
        CHECK(nvshmemrs_team_config_default(&config));
        config.uniqueid = id;
        CHECK(nvshmemrs_team_init(rt, &config, NVSHMEMRS_TEAM_CONFIG_UNIQUEID, 3, pe == 0 ? 0 : 3 - pe, &team));
        live(team, mixed, 3, 0);
        destroy(team);
        CHECK(nvshmemrs_free(rt, ids));
    }
}

static void values(void)
{
    nvshmemrs_device_state_t copy;
    char *x;
    void *peer, *pointer, *same;
    SAME(sizeof state, 64);
    SAME(memcmp(&state.magic, "nvsh", 4), 0);
    SAME(state.version, 4);
    SAME(state.my_pe, pe);
    SAME(state.n_pes, n);
    SAME(state.check, 0);
    SAME(state.lent, 0);
    SAME(*(volatile uint32_t *)state.abort, 0);
    CHECK(nvshmemrs_calloc(rt, 1, 64, (void **)&x));
    uint64_t offset = (uint64_t)x - (state.base + (uint64_t)pe * state.stride);
    if (offset + 64 > job.heap_bytes)
        FAIL("an allocation ends behind the heap");
    for (int32_t i = 0; i < n; i++) {
        CHECK(nvshmemrs_ptr(rt, x, i, &peer));
        SAME(state.base + (uint64_t)i * state.stride + offset, (uint64_t)peer);
    }
    CHECK(nvshmemrs_free(rt, x));
    CHECK(nvshmemrs_device_state_pointer(rt, &pointer));
    look(&copy, (uint64_t)pointer, sizeof copy);
    SAME(memcmp(&copy, &state, sizeof copy), 0);
    SAME(job.state, (uint64_t)pointer);
    CHECK(nvshmemrs_device_state_pointer(rt, &same));
    SAME((uint64_t)same, (uint64_t)pointer);
    SAME(job.slots, WORLD_SLOTS);
    SAME(job.check, 0);
    REFUSED(NVSHMEMRS_ERROR_INVALID_VALUE, "`state`", nvshmemrs_device_state(rt, NULL));
    REFUSED(NVSHMEMRS_ERROR_INVALID_VALUE, "`pointer`", nvshmemrs_device_state_pointer(rt, NULL));
    REFUSED(NVSHMEMRS_ERROR_NOT_INITIALIZED, "handle is 0", nvshmemrs_device_state(0, &copy));
    REFUSED(NVSHMEMRS_ERROR_NOT_INITIALIZED, "never given out", nvshmemrs_device_state_pointer(rt + 1, &pointer));
}

static void killed(void)
{
    const volatile uint32_t *abort_word = (const volatile uint32_t *)state.abort;
    struct timespec pause = {0, 1000000};
    SAME(*abort_word, 0);
    CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
    if (pe == n - 1)
        kill(getpid(), SIGKILL);
    /* As a kernel would; the test ends it if nothing comes. */
    while (*abort_word == 0)
        nanosleep(&pause, NULL);
    REFUSED(NVSHMEMRS_ERROR_PE_DIED, "ended without finalize", nvshmemrs_runtime_check(rt));
    printf("device state ok PE %d\n", (int)pe);
    fflush(stdout);
    _exit(0);
}

static void finds(int on)
{
    report_t *report = (report_t *)job.report;
    SAME(state.check, on);
    SAME(job.check, on);
    SAME(report->state, 0);
    CHECK(nvshmemrs_runtime_check(rt));
    CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
    if (pe == 0) {
        *report = (report_t){.kind = 1, .pe = 77, .block = 2, .thread = 5, .operation = 50, .address = 0x1230, .bytes = 8, .caller = "pass"};
        __atomic_store_n(&report->state, 2, __ATOMIC_RELEASE);
    }
    if (pe == 0)
        REFUSED(NVSHMEMRS_ERROR_INVALID_VALUE, "is 77 in thread 5 of block 2 of a kernel of PE 0, whose function `pass` called `put`", nvshmemrs_runtime_check(rt));
    else
        CHECK(nvshmemrs_runtime_check(rt));
}

int main(int argc, char **argv)
{
    const char *part = argc == 2 ? argv[1] : "";
    const char *memory = getenv("NVSHMEMRS_MEMORY");
    int32_t device;
    void *context;
    CHECK(nvshmemrs_init(NULL, &rt));
    CHECK(nvshmemrs_my_pe(rt, &pe));
    CHECK(nvshmemrs_n_pes(rt, &n));
    on_gpu = memory && strcmp(memory, "device") == 0;
    if (on_gpu) {
        CHECK(nvshmemrs_device(rt, &device));
        CUDA(cuDevicePrimaryCtxRetain, (void **, int), &context, device);
        CUDA(cuCtxPushCurrent_v2, (void *), context);
    }
    CHECK(nvshmemrs_device_state(rt, &state));
    look(&job, state.job, sizeof job);
    if (strcmp(part, "tables") == 0) {
        values();
        teams();
    } else if (strcmp(part, "watched") == 0) {
        /* A kernel that does not record its operations knows version 4 only. */
        nvshmemrs_device_state_t copy;
        look(&copy, job.state, sizeof copy);
        SAME(copy.version, 1 << 16 | 4);
        SAME(memcmp(&copy, &state, sizeof copy), 0);
        teams();
    } else if (strcmp(part, "kill") == 0) {
        killed();
    } else if (strcmp(part, "report") == 0 || strcmp(part, "unchecked") == 0) {
        finds(strcmp(part, "report") == 0);
    } else {
        FAIL("usage: device_state tables|kill|report|unchecked|watched");
    }
    int reported = strcmp(part, "report") == 0 || strcmp(part, "unchecked") == 0;
    int32_t ended = nvshmemrs_finalize(rt);
    if (ended && (pe != 0 || !reported || !strstr(nvshmemrs_last_error(), "thread 5 of block 2")))
        FAIL("finalize: %s", nvshmemrs_last_error());
    if (!ended && pe == 0 && reported)
        FAIL("finalize says nothing of what a kernel has found");
    REFUSED(NVSHMEMRS_ERROR_NOT_INITIALIZED, "finalized", nvshmemrs_device_state(rt, &state));
    if (on_gpu) {
        CUDA(cuCtxPopCurrent_v2, (void **), &context);
        CUDA(cuDevicePrimaryCtxRelease_v2, (int), device);
    }
    printf("device state ok PE %d\n", (int)pe);
    return 0;
}
