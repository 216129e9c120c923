/* Collectives on streams of a GPU whose buffers are private memory of the PEs' GPUs: every element of the results, and those around them.
 *
 * Argument: the name of a part, a function below. */
#include "device_memory.h"
#include "device_pe.h"

enum { BROADCAST = 1, FCOLLECT, ALLTOALL, GATHER, SCATTER, REDUCE, REDUCESCATTER, INSCAN, EXSCAN, ALLTOALLS };
static const char *const NAMES[] = {
    [BROADCAST] = "broadcast", "fcollect", "alltoall", "gather", "scatter", "reduce", "reducescatter", "inscan", "exscan",
};
/* Bytes of a buffer, and of the guard before and behind the data. */
enum { BYTES = 32 << 20, GUARD = 64 };

static const struct {
    int32_t dtype;
    size_t size;
} TYPES[] = {{NVSHMEMRS_DTYPE_UINT8, 1}, {NVSHMEMRS_DTYPE_INT16, 2}, {NVSHMEMRS_DTYPE_FLOAT, 4}, {NVSHMEMRS_DTYPE_DOUBLE, 8}};
enum { KINDS_OF_TYPES = sizeof TYPES / sizeof *TYPES };

/* Which of the two buffers are private, on which PEs. */
enum { BOTH, DEST, SOURCE, SOME_PES, IN_PLACE, FORMS };

static struct {
    char *symmetric[2], *private[2], *expected;
    cuda_stream_t raw;
    nvshmemrs_stream_t stream;
    nvshmemrs_team_t team;
    int32_t me, n;
} job;

static void copy(void *dest, const void *source, size_t bytes)
{
    CUDA(cuMemcpyAsync, (uint64_t, uint64_t, size_t, cuda_stream_t), (uint64_t)dest, (uint64_t)source, bytes, job.raw);
    CUDA(cuStreamSynchronize, (cuda_stream_t), job.raw);
}

static char *private_memory(size_t bytes, int of)
{
    const uint64_t made = reserve(bytes);
    fill(made, bytes, of);
    return (char *)made;
}

static void release(void *memory, size_t bytes)
{
    CUDA(cuMemUnmap, (uint64_t, size_t), (uint64_t)memory, bytes);
    CUDA(cuMemAddressFree, (uint64_t, size_t), (uint64_t)memory, bytes);
}

static void use_team(nvshmemrs_team_t team)
{
    job.team = team;
    CHECK(nvshmemrs_team_my_pe(rt, team, &job.me));
    CHECK(nvshmemrs_team_n_pes(rt, team, &job.n));
}

static void start(void)
{
    begin_with(96 << 20);
    job.raw = new_stream();
    job.stream = ours(job.raw);
    for (int i = 0; i < 2; i++) {
        void *made;
        CHECK(nvshmemrs_calloc(rt, BYTES, 1, &made));
        job.symmetric[i] = made;
        job.private[i] = private_memory(BYTES, device);
    }
    job.expected = malloc(BYTES);
    use_team(NVSHMEMRS_TEAM_WORLD);
}

/* The program's own resources, of which the library needs none after finalize; kernels on the stream do, unless finalize has succeeded. */
static void release_own(void)
{
    CUDA(cuStreamSynchronize, (cuda_stream_t), job.raw);
    CUDA(cuStreamDestroy_v2, (cuda_stream_t), job.raw);
    for (int i = 0; i < 2; i++)
        release(job.private[i], BYTES);
    free(job.expected);
}

static void finish(void)
{
    CHECK(nvshmemrs_stream_free(job.stream));
    for (int i = 0; i < 2; i++)
        CHECK(nvshmemrs_free(rt, job.symmetric[i]));
    release_own();
    end();
}

static size_t most_bytes(int collective)
{
    uint64_t most = 77;
    CHECK(nvshmemrs_private_bytes(rt, job.team, collective, &most));
    return most;
}

/* A call: `count` elements of a message or of a part, `shift` elements behind the guard. */
typedef struct {
    int collective, type, form, round;
    size_t count, shift;
} call_t;

static int32_t root_of(const call_t *call) { return call->round % job.n; }

/* The parts of the source and of `dest`. */
static size_t sources(const call_t *call)
{
    const int parts = call->collective == ALLTOALL || call->collective == SCATTER || call->collective == REDUCESCATTER;
    return parts ? (size_t)job.n : 1;
}

static size_t dests(const call_t *call)
{
    return call->collective == ALLTOALL || call->collective == FCOLLECT || call->collective == GATHER ? (size_t)job.n : 1;
}

/* Small numbers, whose sums every type has. */
static int number(const call_t *call, int32_t from, size_t at) { return (int)((at * 7 + (size_t)from * 3 + (size_t)call->round) % 16); }

static int sum(const call_t *call, int32_t members, size_t at)
{
    int all = 0;
    for (int32_t m = 0; m < members; m++)
        all += number(call, m, at);
    return all;
}

static int result(const call_t *call, size_t part, size_t at)
{
    const size_t mine = (size_t)job.me * call->count + at;
    switch (call->collective) {
    case BROADCAST: return number(call, root_of(call), at);
    case FCOLLECT: case GATHER: return number(call, (int32_t)part, at);
    case ALLTOALL: return number(call, (int32_t)part, mine);
    case SCATTER: return number(call, root_of(call), mine);
    case REDUCE: return sum(call, job.n, at);
    case REDUCESCATTER: return sum(call, job.n, mine);
    case INSCAN: return sum(call, job.me + 1, at);
    default: return sum(call, job.me, at);
    }
}

static void set(const call_t *call, char *to, size_t at, int value)
{
    switch (TYPES[call->type].dtype) {
    case NVSHMEMRS_DTYPE_UINT8: ((uint8_t *)to)[at] = (uint8_t)value; break;
    case NVSHMEMRS_DTYPE_INT16: ((int16_t *)to)[at] = (int16_t)value; break;
    case NVSHMEMRS_DTYPE_FLOAT: ((float *)to)[at] = (float)value; break;
    default: ((double *)to)[at] = value;
    }
}

static char *buffer(const call_t *call, int which)
{
    const int private = call->form == BOTH || call->form == IN_PLACE || (call->form == SOME_PES ? job.me % 2 == 0 : (call->form == DEST) == (which == 0));
    return private ? job.private[which] : job.symmetric[which];
}

/* Where the two begin in a buffer; in place, the source is in the buffer of `dest`. */
static size_t place_of_dest(const call_t *call)
{
    const int part = call->form == IN_PLACE && (call->collective == REDUCESCATTER || call->collective == SCATTER);
    return GUARD + (call->shift + (part ? (size_t)job.me * call->count : 0)) * TYPES[call->type].size;
}

static size_t place_of_source(const call_t *call)
{
    const int part = call->form == IN_PLACE && (call->collective == FCOLLECT || call->collective == GATHER);
    return GUARD + (call->shift + (part ? (size_t)job.me * call->count : 0)) * TYPES[call->type].size;
}

static int32_t make(const call_t *call)
{
    char *dest = buffer(call, 0) + place_of_dest(call), *source = buffer(call, call->form != IN_PLACE) + place_of_source(call);
    const int32_t dtype = TYPES[call->type].dtype, root = root_of(call);
    const size_t bytes = call->count * TYPES[call->type].size;
    const uint64_t on = job.stream;
    switch (call->collective) {
    case BROADCAST: return nvshmemrs_broadcast(on, job.team, dest, source, bytes, root);
    case FCOLLECT: return nvshmemrs_fcollect(on, job.team, dest, source, bytes);
    case ALLTOALL: return nvshmemrs_alltoall(on, job.team, dest, source, bytes);
    case GATHER: return nvshmemrs_gather(on, job.team, dest, source, bytes, root);
    case SCATTER: return nvshmemrs_scatter(on, job.team, dest, source, bytes, root);
    case REDUCE: return nvshmemrs_reduce(on, job.team, dest, source, call->count, dtype, NVSHMEMRS_OP_SUM);
    case REDUCESCATTER: return nvshmemrs_reducescatter(on, job.team, dest, source, call->count, dtype, NVSHMEMRS_OP_SUM);
    case INSCAN: return nvshmemrs_inscan(on, job.team, dest, source, call->count, dtype, NVSHMEMRS_OP_SUM);
    default: return nvshmemrs_exscan(on, job.team, dest, source, call->count, dtype, NVSHMEMRS_OP_SUM);
    }
}

/* The part of a buffer that a call uses, with both guards. */
static size_t extent(const call_t *call)
{
    const size_t parts = sources(call) > dests(call) ? sources(call) : dests(call);
    return 2 * GUARD + (call->shift + parts * call->count) * TYPES[call->type].size;
}

/* Writes a pattern to both buffers, and the source's data; `expected` becomes the buffer of `dest` as it is to be later. */
static void prepare(const call_t *call)
{
    char *const bytes = malloc(extent(call));
    const int in_place = call->form == IN_PLACE;
    memset(bytes, 0xee, extent(call));
    copy(buffer(call, 0), bytes, extent(call));
    for (size_t at = 0; at < sources(call) * call->count; at++)
        set(call, bytes + place_of_source(call), at, number(call, job.me, at));
    copy(buffer(call, !in_place), bytes, extent(call));
    if (!in_place)
        memset(bytes, 0xee, extent(call));
    const int written = call->collective != GATHER || root_of(call) == job.me;
    for (size_t part = 0; part < dests(call) && written; part++)
        for (size_t at = 0; at < call->count; at++)
            set(call, bytes + place_of_dest(call), part * call->count + at, result(call, part, at));
    memcpy(job.expected, bytes, extent(call));
    free(bytes);
}

static void compare(const call_t *call)
{
    char *const got = malloc(extent(call));
    copy(got, buffer(call, 0), extent(call));
    for (size_t at = 0; at < extent(call); at++)
        if (got[at] != job.expected[at])
            FAIL("member %d: %s of %zu elements, type %d, form %d, shift %zu: byte %zu of the buffer, in which `dest` begins at %zu, is %#x instead of %#x",
                 (int)job.me, NAMES[call->collective], call->count, call->type, call->form, call->shift, at, place_of_dest(call), got[at] & 0xff,
                 job.expected[at] & 0xff);
    free(got);
}

static void perform(const call_t *call)
{
    prepare(call);
    CHECK(make(call));
    CHECK(nvshmemrs_stream_synchronize(job.stream));
    compare(call);
}

/* All collectives with few elements and with the most. */
static void perform_all(void)
{
    int round = 0;
    for (int collective = BROADCAST; collective <= EXSCAN; collective++)
        for (int form = 0; form < FORMS; form++)
            for (int which = 0; which < 4; which++) {
                const int type = round % KINDS_OF_TYPES;
                const size_t most = most_bytes(collective) / TYPES[type].size, counts[] = {1, 33, 4097, most};
                if (most < 4097)
                    FAIL("%s takes %zu elements", NAMES[collective], most);
                const call_t call = {collective, type, form, round, counts[which], (size_t)round % 3};
                perform(&call);
                round++;
            }
}

static void values(void)
{
    start();
    perform_all();
    finish();
}

/* The last team's staging is smaller, and so is its limit; it has the PEs in reverse order. */
static void teams(void)
{
    enum { TEAMS = 10 };
    nvshmemrs_team_t team[TEAMS];
    start();
    const size_t of_world = most_bytes(REDUCE);
    for (int i = 0; i < TEAMS; i++)
        CHECK(nvshmemrs_team_split_strided(rt, NVSHMEMRS_TEAM_WORLD, n - 1, -1, n, NULL, 0, &team[i]));
    use_team(team[TEAMS - 1]);
    if (most_bytes(REDUCE) >= of_world || most_bytes(REDUCE) < 1024)
        FAIL("%zu bytes, and %zu of the world", most_bytes(REDUCE), of_world);
    for (int collective = BROADCAST; collective <= EXSCAN; collective++) {
        const call_t call = {collective, 0, collective % FORMS, collective, most_bytes(collective), 1};
        perform(&call);
    }
    for (int i = 0; i < TEAMS; i++)
        CHECK(nvshmemrs_team_destroy(rt, team[i]));
    uint64_t most;
    REFUSED(NVSHMEMRS_ERROR_BAD_HANDLE, "team", nvshmemrs_private_bytes(rt, job.team, NVSHMEMRS_COLLECTIVE_REDUCE, &most));
    finish();
}

/* A graph of two collectives, which runs with other data each time. */
static void graph(void)
{
    start();
    void *graph, *ready;
    call_t call = {REDUCE, 2, BOTH, 0, 5000, 0};
    CUDA(cuStreamBeginCapture_v2, (cuda_stream_t, int), job.raw, 0);
    CHECK(make(&call));
    /* The sum's half goes on to all, from private memory to symmetric memory. */
    CHECK(nvshmemrs_broadcast(job.stream, job.team, job.symmetric[0], job.private[0] + GUARD, 2500 * sizeof(float), 0));
    CUDA(cuStreamEndCapture, (cuda_stream_t, void **), job.raw, &graph);
    CUDA(cuGraphInstantiateWithFlags, (void **, void *, unsigned long long), &ready, graph, 0);
    for (call.round = 1; call.round <= 20; call.round++) {
        prepare(&call);
        CUDA(cuGraphLaunch, (void *, cuda_stream_t), ready, job.raw);
        CUDA(cuStreamSynchronize, (cuda_stream_t), job.raw);
        compare(&call);
        char sent[2500 * sizeof(float)];
        copy(sent, job.symmetric[0], sizeof sent);
        if (memcmp(sent, job.expected + GUARD, sizeof sent))
            FAIL("run %d: the broadcast has other data", call.round);
    }
    free_graph(graph, ready);
    finish();
}

#define NO_BUFFER(argument, dest, source) \
    REFUSED(NVSHMEMRS_ERROR_NOT_SYMMETRIC, argument, nvshmemrs_fcollect(job.stream, job.team, dest, source, 1024))

enum { PAGE = 2 << 20 };

/* Addresses of the GPU without memory: at the end of a buffer, from its start, and between two allocations. */
static void unmapped(void)
{
    start();
    const uint64_t range = reserve(3 * PAGE);
    char *const good = job.private[0], *const reserved = (char *)range;
    fill(range, PAGE, device);
    NO_BUFFER("dest", reserved + PAGE - 1023, good);
    NO_BUFFER("source", good, reserved + PAGE - 512);
    fill(range + 2 * PAGE, PAGE, device);
    REFUSED(NVSHMEMRS_ERROR_NOT_SYMMETRIC, "dest", nvshmemrs_fcollect(job.stream, job.team, reserved + PAGE - 512, good, PAGE + 1024));
    REFUSED(NVSHMEMRS_ERROR_NOT_SYMMETRIC, "source", nvshmemrs_fcollect(job.stream, job.team, good, reserved + PAGE - 512, PAGE + 1024));
    /* Without the hole the allocations are memory like any other. */
    fill(range + PAGE, PAGE, device);
    unsigned char sent[1024], got[1024];
    for (size_t at = 0; at < sizeof sent; at++)
        sent[at] = (unsigned char)(at * 7 + at / 256);
    for (int boundary = 1; boundary <= 2; boundary++) {
        char *const across = reserved + boundary * PAGE - 512;
        copy(across, sent, sizeof sent);
        CHECK(nvshmemrs_broadcast(job.stream, job.team, good, across, sizeof sent, 0));
        CHECK(nvshmemrs_broadcast(job.stream, job.team, across + 1, good, sizeof sent, 0));
        copy(got, across + 1, sizeof got);
        if (memcmp(got, sent, sizeof got))
            FAIL("other data across boundary %d", boundary);
    }
    CUDA(cuMemUnmap, (uint64_t, size_t), range, PAGE);
    NO_BUFFER("source", good, reserved);
    CUDA(cuMemUnmap, (uint64_t, size_t), range + PAGE, 2 * PAGE);
    CUDA(cuMemAddressFree, (uint64_t, size_t), range, 3 * PAGE);
    finish();
}

/* Memory that is neither symmetric nor of this PE's GPU, and calls that take symmetric memory only. */
static void refused(void)
{
    start();
    char *const host = calloc(PAGE, 1), *const fixed = (char *)pinned(PAGE / 8), *const good = job.private[0];
    NO_BUFFER("dest", host, good);
    NO_BUFFER("source", good, host);
    NO_BUFFER("dest", fixed, good);
    NO_BUFFER("source", good, fixed);
    NO_BUFFER("dest", NULL, good);
    NO_BUFFER("source", job.symmetric[0], (char *)1);
    /* Memory of another GPU, another PE's part of the heap, and memory that was freed. */
    int devices;
    CUDA(cuDeviceGetCount, (int *), &devices);
    if (devices > 1) {
        const int other = (device + 1) % devices;
        char *const far = private_memory(PAGE, other);
        NO_BUFFER("dest", far, good);
        NO_BUFFER("source", good, far);
        release(far, PAGE);
    }
    void *others = NULL, *freed;
    if (n > 1) {
        CHECK(nvshmemrs_ptr(rt, job.symmetric[0], (pe + 1) % n, &others));
        NO_BUFFER("source", good, others);
    }
    CHECK(nvshmemrs_malloc(rt, 1 << 20, &freed));
    CHECK(nvshmemrs_free(rt, freed));
    NO_BUFFER("freed", good, freed);
    /* Without a stream, and other operations. */
    REFUSED(NVSHMEMRS_ERROR_NOT_SYMMETRIC, "dest", nvshmemrs_fcollect(rt, job.team, good, good, 8));
    REFUSED(NVSHMEMRS_ERROR_NOT_SYMMETRIC, "source", nvshmemrs_collect(job.stream, job.team, job.symmetric[0], good, 8));
    REFUSED(NVSHMEMRS_ERROR_NOT_SYMMETRIC, "dest", nvshmemrs_alltoalls(job.stream, job.team, good, good + PAGE, 1, 1, 8, 2));
    REFUSED(NVSHMEMRS_ERROR_NOT_SYMMETRIC, "dest", nvshmemrs_put(job.stream, good, good, 8, pe));
    REFUSED(NVSHMEMRS_ERROR_INVALID_VALUE, "begin 8 bytes before `source`", nvshmemrs_reduce(job.stream, job.team, good, good + 8, 2, NVSHMEMRS_DTYPE_INT64, NVSHMEMRS_OP_SUM));
    REFUSED(NVSHMEMRS_ERROR_INVALID_VALUE, "4 bytes behind a multiple of 8", nvshmemrs_reduce(job.stream, job.team, good + 4, good + 64, 2, NVSHMEMRS_DTYPE_INT64, NVSHMEMRS_OP_SUM));
    /* More bytes than the tables allow, and an algorithm that accesses the memory of others. */
    for (int collective = BROADCAST; collective <= EXSCAN; collective++) {
        char limit[32];
        call_t call = {collective, 0, collective % IN_PLACE, 1, most_bytes(collective) + 1, 0};
        snprintf(limit, sizeof limit, "more than %zu bytes", call.count - 1);
        if (call.form != SOME_PES)
            REFUSED(NVSHMEMRS_ERROR_NOT_SUPPORTED, limit, make(&call));
    }
    uint64_t most;
    CHECK(nvshmemrs_barrier(job.stream, job.team));
    CHECK(nvshmemrs_stream_synchronize(job.stream));
    CHECK(nvshmemrs_device_algorithm(rt, NVSHMEMRS_ALGORITHM_DIRECT, 8, 256, 0));
    if (most_bytes(REDUCE) != 0)
        FAIL("the direct algorithm takes %zu bytes", most_bytes(REDUCE));
    call_t call = {REDUCE, 0, BOTH, 1, 8, 0};
    REFUSED(NVSHMEMRS_ERROR_NOT_SUPPORTED, "more than 0 bytes", make(&call));
    CHECK(nvshmemrs_device_algorithm(rt, NVSHMEMRS_ALGORITHM_TUNED, 0, 0, 0));
    for (int wrong = -1; wrong <= ALLTOALLS; wrong += ALLTOALLS - EXSCAN)
        if (wrong < BROADCAST || wrong > EXSCAN)
            REFUSED(NVSHMEMRS_ERROR_INVALID_VALUE, "collective", nvshmemrs_private_bytes(rt, job.team, wrong, &most));
    REFUSED(NVSHMEMRS_ERROR_INVALID_VALUE, "bytes", nvshmemrs_private_bytes(rt, job.team, REDUCE, NULL));
    /* All works as before. */
    for (call.form = 0; call.form < FORMS; call.form++)
        perform(&call);
    free(host);
    CUDA(cuMemFreeHost, (void *), fixed);
    finish();
}

/* The kernels' errors are permanent: PE 0 calls with more elements than the others, or with too many. */
static void differs(size_t count, int32_t own, int32_t others, const char *words)
{
    start();
    call_t call = {REDUCE, 2, pe == 0 ? BOTH : SOURCE, 0, pe == 0 ? count : 1000, 0};
    const int32_t status = make(&call);
    if (status != (pe == 0 ? own : NVSHMEMRS_SUCCESS))
        FAIL("status %d", (int)status);
    if (pe != 0 || own == NVSHMEMRS_SUCCESS)
        REFUSED(others, words, nvshmemrs_stream_synchronize(job.stream));
    /* The error persists. */
    if (nvshmemrs_finalize(rt) == NVSHMEMRS_SUCCESS)
        FAIL("finalize succeeds");
    release_own();
    leave();
}

static void counts(void) { differs(1001, NVSHMEMRS_SUCCESS, NVSHMEMRS_ERROR_MISMATCH, "other arguments"); }

static void one_too_large(void) { differs(BYTES / 8, NVSHMEMRS_ERROR_NOT_SUPPORTED, NVSHMEMRS_ERROR_PEER_ARGUMENT, "PE 0"); }

/* A checked job has no collectives of the GPU's own. */
static void checked(void)
{
    start();
    for (int collective = BROADCAST; collective <= EXSCAN; collective++)
        if (most_bytes(collective) != 0)
            FAIL("%s takes %zu bytes", NAMES[collective], most_bytes(collective));
    call_t call = {REDUCE, 2, BOTH, 0, 8, 0};
    const int32_t status = make(&call);
    REFUSED(NVSHMEMRS_ERROR_NOT_SYMMETRIC, "dest", status != NVSHMEMRS_SUCCESS ? status : nvshmemrs_stream_synchronize(job.stream));
    finish();
}

int main(int argc, char **argv)
{
    static const part_t all[] = {
        {"values", values}, {"teams", teams}, {"graph", graph}, {"refused", refused}, {"unmapped", unmapped}, {"counts", counts},
        {"one_too_large", one_too_large}, {"checked", checked},
    };
    return run_parts(argc, argv, all, sizeof all / sizeof *all, "private");
}
