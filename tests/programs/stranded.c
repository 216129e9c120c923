/* PE 1 cannot take part in a collective, or calls something else: the others get an error that names PE 1, instead of waiting for it.
 *
 * The argument says what they do, see `main`. A driver that fails is the stand-in for libcuda (fake_cuda.c), which is told so by
 * `fake_cuda_fail`. Each PE says what it has got; the test knows what that should be. Deadlines (NVSHMEMRS_TIMEOUT) are status 16, which nobody
 * may see. */
#include "device_memory.h"

#include <signal.h>

enum { COUNT = 1000, CULPRIT = 1, CUDA_FAILED = 27, TIMED_OUT = 16 };
#define BUFFER ((size_t)2 << 20)

static nvshmemrs_runtime_t rt;
static int32_t me, n;
static int64_t *words;

/* The driver's calls of this name fail from now on; NULL: none. */
static void fail(const char *call) {
    void (*function)(const char *);
    *(void **)&function = driver("fake_cuda_fail");
    function(call);
}

/* An error on every PE but the culprit names it. */
static void named(int32_t status, const char *what) {
    char culprit[16];
    snprintf(culprit, sizeof culprit, "PE %d", CULPRIT);
    const char *why = status ? nvshmemrs_last_error() : "success";
    printf("PE %d: %s: status %d: %s\n", (int)me, what, (int)status, why);
    if (status == NVSHMEMRS_SUCCESS || status == TIMED_OUT || !strstr(why, culprit)) FAIL("%s: status %d: %s", what, (int)status, why);
}

/* As `named`; the culprit itself gets the driver's error. */
static void stranded(int32_t status, const char *what) {
    if (me != CULPRIT) {
        named(status, what);
    } else if (status != CUDA_FAILED) {
        FAIL("%s: status %d: %s", what, (int)status, status ? nvshmemrs_last_error() : "success");
    }
}
#define STRANDED(call) stranded((call), #call)
#define NAMED(call) named((call), #call)

static int32_t reduce_on(uint64_t where, nvshmemrs_team_t team) {
    return nvshmemrs_reduce(where, team, words + COUNT, words, COUNT, NVSHMEMRS_DTYPE_INT64, NVSHMEMRS_OP_SUM);
}

static nvshmemrs_stream_t new_stream(void) {
    nvshmemrs_stream_t stream;
    CHECK(nvshmemrs_stream_new(rt, &stream));
    return stream;
}

/* A team of all. */
static nvshmemrs_team_t new_team(void) {
    nvshmemrs_team_t team;
    CHECK(nvshmemrs_team_split_strided(rt, NVSHMEMRS_TEAM_WORLD, 0, 1, n, NULL, 0, &team));
    return team;
}

/* Checks the result of a reduction. */
static void check_sum(void) {
    int64_t got[COUNT];
    CHECK(nvshmemrs_get(rt, got, words + COUNT, sizeof got, me));
    for (int i = 0; i < COUNT; i++)
        if (got[i] != (int64_t)n * (n - 1) / 2 * 1000 + (int64_t)i * n) FAIL("sum %d is %ld", i, (long)got[i]);
}

/* Something of the culprit's is under way that it cannot complete. */
static void begin_and_fail(void) {
    static int64_t value;
    if (me != CULPRIT) return;
    CHECK(nvshmemrs_put_nbi(rt, words + 2 * COUNT, &value, sizeof value, me));
    fail("cuStreamQuery");
}

/* The culprit keeps an error that no call could return: a look at a word of its own failed. */
static void keep_an_error(void) {
    if (me != CULPRIT) return;
    int32_t holds;
    int64_t value = 1;
    fail("cuMemcpyAsync");
    if (nvshmemrs_test(rt, words, NVSHMEMRS_CMP_EQ, &value, NVSHMEMRS_DTYPE_INT64, &holds) == NVSHMEMRS_SUCCESS) FAIL("a look did not fail");
    fail(NULL);
}

static void heap(const char *what) {
    void *block, *other;
    CHECK(nvshmemrs_malloc(rt, 100, &block));
    begin_and_fail();
    if (strcmp(what, "malloc") == 0) STRANDED(nvshmemrs_malloc(rt, 100, &other));
    if (strcmp(what, "free") == 0) STRANDED(nvshmemrs_free(rt, block));
    if (strcmp(what, "realloc") == 0) STRANDED(nvshmemrs_realloc(rt, block, 200, &other));
    if (strcmp(what, "barrier") == 0) STRANDED(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
}

/* Makes the context of this PE's GPU the current one, for calls of the driver; gives the GPU. */
static int enter_context(void) {
    int devices;
    void *context;
    CUDA(cuDeviceGetCount, (int *), &devices);
    CUDA(cuDevicePrimaryCtxRetain, (void **, int), &context, me % devices);
    CUDA(cuCtxPushCurrent_v2, (void *), context);
    return me % devices;
}

/* Registering memory of a GPU, or taking that back. */
static void buffer(int back) {
    void *symmetric;
    int device = enter_context();
    uint64_t at = reserve(BUFFER);
    fill(at, BUFFER, device);
    if (back) CHECK(nvshmemrs_buffer_register(rt, (void *)at, BUFFER, NULL, &symmetric));
    begin_and_fail();
    if (back) STRANDED(nvshmemrs_buffer_unregister(rt, symmetric));
    else STRANDED(nvshmemrs_buffer_register(rt, (void *)at, BUFFER, NULL, &symmetric));
}

/* A reduction that cannot be begun, and one whose end cannot be seen: then the others may have theirs, and get the error in the next one. */
static void reduction(const char *call, int lasts) {
    if (me == CULPRIT) fail(call);
    int32_t status = reduce_on(rt, NVSHMEMRS_TEAM_WORLD);
    if (me == CULPRIT || !lasts) stranded(status, "reduce");
    else if (status != NVSHMEMRS_SUCCESS) named(status, "reduce");
    if (me != CULPRIT) NAMED(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
}

static void reduction_on_stream(const char *call) {
    nvshmemrs_stream_t stream = new_stream();
    /* The others are to wait on their streams by then. */
    if (me == CULPRIT) usleep(300000);
    if (call && me == CULPRIT) fail(call);
    int32_t status = reduce_on(stream, NVSHMEMRS_TEAM_WORLD);
    if (me == CULPRIT) stranded(status, "reduce");
    else if (status != NVSHMEMRS_SUCCESS) named(status, "reduce");
    else NAMED(nvshmemrs_stream_synchronize(stream));
}

/* The others wait for the stream with the driver: the stream completes all the same, and the next call returns the error. */
static void reduction_waited_for_by_the_driver(void) {
    nvshmemrs_stream_t stream = new_stream();
    if (me == CULPRIT) {
        usleep(300000);
        fail("cuLaunchKernel");
        stranded(reduce_on(stream, NVSHMEMRS_TEAM_WORLD), "reduce");
        return;
    }
    void *raw;
    enter_context();
    CHECK(nvshmemrs_stream_cuda(stream, &raw));
    CHECK(reduce_on(stream, NVSHMEMRS_TEAM_WORLD));
    CUDA(cuStreamSynchronize, (void *), raw);
    NAMED(nvshmemrs_runtime_check(rt));
    NAMED(nvshmemrs_stream_synchronize(stream));
}

/* The memory of the new team cannot be cleared. */
static void split(void) {
    nvshmemrs_team_t team;
    if (me == CULPRIT) fail("cuMemsetD8Async");
    STRANDED(nvshmemrs_team_split_strided(rt, NVSHMEMRS_TEAM_WORLD, 0, 1, n, NULL, 0, &team));
}

/* The kernels of the others end because the culprit is gone; they ask when that is long over. */
static void gone(int killed) {
    nvshmemrs_stream_t stream = new_stream();
    nvshmemrs_event_t event;
    CHECK(nvshmemrs_event_new(rt, &event));
    CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
    if (me == CULPRIT) {
        usleep(300000);
        if (killed) kill(getpid(), SIGKILL);
        CHECK(nvshmemrs_leave(rt));
        /* The others must not think that it has died. */
        sleep(4);
        exit(0);
    }
    CHECK(reduce_on(stream, NVSHMEMRS_TEAM_WORLD));
    CHECK(nvshmemrs_event_record(event, stream));
    while (nvshmemrs_runtime_check(rt) == NVSHMEMRS_SUCCESS) usleep(10000);
    sleep(1);
    int32_t done;
    NAMED(nvshmemrs_stream_query(stream, &done));
    NAMED(nvshmemrs_event_query(event, &done));
    NAMED(nvshmemrs_event_synchronize(event));
    NAMED(nvshmemrs_stream_synchronize(stream));
    NAMED(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
}

/* The culprit is in finalize while the others wait for it on a stream; its GPU may have failed, and cannot tell them. */
static void finalizes(int failed) {
    nvshmemrs_stream_t stream = new_stream();
    if (me == CULPRIT && failed) {
        fail("cuLaunchKernel");
    } else if (me != CULPRIT) {
        int32_t status = reduce_on(stream, NVSHMEMRS_TEAM_WORLD);
        if (status && failed) {
            named(status, "reduce");
            return;
        }
        status = nvshmemrs_stream_synchronize(stream);
        /* The PE that learns of it first is in finalize, too, when the other PE checks. */
        char other[48];
        snprintf(other, sizeof other, "PE %d (pid ", 2 * CULPRIT - me);
        const char *why = status ? nvshmemrs_last_error() : "success";
        if (failed || strncmp(why, other, strlen(other)) != 0 || !strstr(why, "has called finalize")) named(status, "stream_synchronize");
    }
}

/* Each waits for the others on a team of its own, and all are in finalize. */
static void finalizes_crosswise(void) {
    nvshmemrs_team_t teams[2] = {new_team(), new_team()};
    nvshmemrs_stream_t stream = new_stream();
    CHECK(reduce_on(stream, teams[me == CULPRIT]));
    int32_t status = nvshmemrs_finalize(rt);
    const char *why = status ? nvshmemrs_last_error() : "success";
    printf("PE %d: finalize: status %d: %s\n", (int)me, (int)status, why);
    if (status == NVSHMEMRS_SUCCESS || status == TIMED_OUT || !strstr(why, "has called finalize")) FAIL("finalize: %d: %s", (int)status, why);
    exit(0);
}

static int32_t nap(void *user) {
    (void)user;
    usleep(300000);
    return 0;
}

/* A team is destroyed while a reduction of it waits on a stream: it runs first, and the number is free for the next team. */
static void destroys(void) {
    nvshmemrs_stream_t stream = new_stream();
    for (int round = 0; round < 3; round++) {
        int64_t none[COUNT] = {0};
        CHECK(nvshmemrs_put(rt, words + COUNT, none, sizeof none, me));
        nvshmemrs_team_t team = new_team();
        if (me == CULPRIT) CHECK(nvshmemrs_stream_call(stream, nap, NULL));
        CHECK(reduce_on(stream, team));
        CHECK(nvshmemrs_team_destroy(rt, team));
        check_sum();
        CHECK(nvshmemrs_stream_synchronize(stream));
    }
    /* One that not all have called: all learn it, and the team lives on. */
    nvshmemrs_team_t team = new_team();
    if (me != CULPRIT) CHECK(reduce_on(stream, team));
    int32_t status = nvshmemrs_team_destroy(rt, team);
    if (status != NVSHMEMRS_ERROR_MISMATCH || !strstr(nvshmemrs_last_error(), "PE 1"))
        FAIL("team_destroy: status %d: %s", (int)status, status ? nvshmemrs_last_error() : "success");
    if (me == CULPRIT) CHECK(reduce_on(stream, team));
    CHECK(nvshmemrs_team_destroy(rt, team));
    check_sum();
    CHECK(nvshmemrs_stream_synchronize(stream));
    CHECK(nvshmemrs_finalize(rt));
}

/* All PEs stay until the others have their results: a PE that calls finalize would end their calls, too. */
static void stay(void) {
    int64_t *done = words + 2 * COUNT + 1, one = 1;
    if (me == CULPRIT) fail(NULL);
    else
        for (int pe = 0; pe < n; pe++) CHECK(nvshmemrs_put(rt, done + me, &one, sizeof one, pe));
    for (int pe = 0; pe < n; pe++)
        for (int64_t there = pe == CULPRIT; !there; usleep(1000)) CHECK(nvshmemrs_get(rt, &there, done + pe, sizeof there, me));
}

int main(int argc, char **argv) {
    const char *what = argc == 2 ? argv[1] : "";
    nvshmemrs_init_attr_t attr;
    CHECK(nvshmemrs_init_attr_default(&attr));
    attr.memory_kind = NVSHMEMRS_MEMORY_DEVICE;
    attr.heap_bytes = 16 << 20;
    CHECK(nvshmemrs_init(&attr, &rt));
    CHECK(nvshmemrs_my_pe(rt, &me));
    CHECK(nvshmemrs_n_pes(rt, &n));
    words = zeroed(rt, 3 * COUNT, sizeof *words);
    int64_t mine[COUNT];
    for (int i = 0; i < COUNT; i++) mine[i] = me * 1000 + i;
    CHECK(nvshmemrs_put(rt, words, mine, sizeof mine, me));
    CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));

    if (strcmp(what, "barrier") == 0 || strcmp(what, "malloc") == 0 || strcmp(what, "free") == 0 || strcmp(what, "realloc") == 0) heap(what);
    else if (strcmp(what, "register") == 0) buffer(0);
    else if (strcmp(what, "unregister") == 0) buffer(1);
    else if (strcmp(what, "reduce") == 0) reduction("cuLaunchKernel", 0);
    else if (strcmp(what, "reduce_end") == 0) reduction("cuStreamQuery", 1);
    else if (strcmp(what, "stream_reduce") == 0) reduction_on_stream("cuLaunchKernel");
    else if (strcmp(what, "stream_reduce_after") == 0) keep_an_error(), reduction_on_stream(NULL);
    else if (strcmp(what, "stream_reduce_driver") == 0) reduction_waited_for_by_the_driver();
    else if (strcmp(what, "split") == 0) split();
    else if (strcmp(what, "killed") == 0) gone(1);
    else if (strcmp(what, "left") == 0) gone(0);
    else if (strcmp(what, "finalizes") == 0) finalizes(0);
    else if (strcmp(what, "finalizes_failed") == 0) finalizes(1);
    else if (strcmp(what, "crosswise") == 0) finalizes_crosswise();
    else if (strcmp(what, "destroys") == 0) destroys();
    else FAIL("no such thing: %s", what);
    printf("stranded ok PE %d\n", (int)me);
    if (strcmp(what, "destroys") == 0) return 0;
    fflush(stdout);
    if (strcmp(what, "killed") != 0 && strcmp(what, "left") != 0 && strncmp(what, "finalizes", 9) != 0) stay();
    /* Finalize may fail, but it must not reach the deadline. */
    int32_t status = nvshmemrs_finalize(rt);
    if (status == TIMED_OUT) FAIL("finalize: %s", nvshmemrs_last_error());
    return 0;
}
