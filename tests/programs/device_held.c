/* Waiting streams of the program occupy all queues of the GPU, so the library's own stream makes no progress: calls into the library
 * end within the deadline, and nothing goes wrong when the streams go on. For a GPU with 8 queues (CUDA_DEVICE_MAX_CONNECTIONS).
 *
 * Argument: the name of a part, a function below. */
#include "device_gate.h"

#include <signal.h>

enum { STREAMS = 16, LITTLE = 2, MANY = 2000, SOME = (64 << 10) / 8, MUCH = (1 << 20) / 8, FIRST = 7, LATER = 1000, UNTOUCHED = 99 };
static const double limit = 0.15, soon = 4;

static cuda_stream_t raw[STREAMS];
static nvshmemrs_stream_t stream[STREAMS];
static uint64_t *signals, *slots, *words_here, *number, *landing, *pinned_words, *pages;

static void fill(uint64_t *words, size_t count, uint64_t first)
{
    for (size_t at = 0; at < count; at++)
        words[at] = first + at;
}

static void compare(const char *what, const uint64_t *words, size_t count, uint64_t first)
{
    for (size_t at = 0; at < count; at++)
        if (words[at] != first + at)
            FAIL("word %zu of %s is %lu instead of %lu", at, what, words[at], first + at);
}

/* Each stream waits, with a store behind that. */
static void hold_all(uint64_t round)
{
    for (int i = 0; i < STREAMS; i++) {
        CHECK(nvshmemrs_wait_until(stream[i], signals + i, NVSHMEMRS_CMP_EQ, &round, NVSHMEMRS_DTYPE_UINT64));
        CHECK(nvshmemrs_p64(stream[i], slots + i, round * 100 + (uint64_t)i, pe));
    }
    pause_ms(10);
}

static void make_streams(void)
{
    signals = words(STREAMS);
    slots = words(STREAMS);
    for (int i = 0; i < STREAMS; i++)
        stream[i] = ours(raw[i] = new_stream());
}

/* The calls that are tried while all queues are held. `host` is the call's memory that is not symmetric. */

static int32_t put(uint64_t *host, size_t count) { return nvshmemrs_put(rt, landing, host, count * 8, pe); }
static int32_t put_nbi(uint64_t *host, size_t count)
{
    /* A GPU that reads pageable memory itself does so when the copy's turn comes, and the call need not wait for that. */
    return getenv("FAKE_CUDA_READS_PAGES") ? put(host, count) : nvshmemrs_put_nbi(rt, landing, host, count * 8, pe);
}
/* More than the driver has room for. */
static int32_t put_nbi_pages(uint64_t *host, size_t count)
{
    int32_t status = 0;
    for (size_t at = 0; at < 100 && !status; at++)
        status = put_nbi(host, count);
    return status;
}
/* More than a stream has room for. */
static int32_t put_nbi_many(uint64_t *host, size_t count)
{
    int32_t status = 0;
    (void)host;
    for (size_t at = 0; at < count && !status; at++)
        status = nvshmemrs_put_nbi(rt, landing + at, words_here + at, 8, pe);
    return status;
}
static int32_t iput(uint64_t *host, size_t count) { return nvshmemrs_iput(rt, landing, host, 1, 1, 8, count, pe); }
static int32_t get(uint64_t *host, size_t count) { return nvshmemrs_get(rt, host, words_here, count * 8, pe); }
static int32_t get_nbi(uint64_t *host, size_t count) { return nvshmemrs_get_nbi(rt, host, words_here, count * 8, pe); }
static int32_t iget(uint64_t *host, size_t count) { return nvshmemrs_iget(rt, host, words_here, 1, 1, 8, count, pe); }
static int32_t put_signal(uint64_t *host, size_t count)
{
    return nvshmemrs_put_signal(rt, landing, host, count * 8, number, 1, NVSHMEMRS_SIGNAL_ADD, pe);
}
static int32_t from_heap(uint64_t *host, size_t count)
{
    (void)host;
    return nvshmemrs_put(rt, landing, words_here, count * 8, pe);
}
static int32_t signal_op(uint64_t *host, size_t count)
{
    (void)host, (void)count;
    return nvshmemrs_signal_op(rt, number, 1, NVSHMEMRS_SIGNAL_ADD, pe);
}
static int32_t fetch_add(uint64_t *host, size_t count)
{
    (void)count;
    return nvshmemrs_atomic_fetch_add64(rt, number, 1, pe, host);
}
static int32_t add(uint64_t *host, size_t count)
{
    (void)host, (void)count;
    return nvshmemrs_atomic_add64(rt, number, 1, pe);
}
static int32_t quiet(uint64_t *host, size_t count)
{
    (void)host;
    int32_t status = nvshmemrs_put_nbi(rt, landing, words_here, count * 8, pe);
    return status ? status : nvshmemrs_quiet(rt);
}
static int32_t wait_until(uint64_t *host, size_t count)
{
    uint64_t never = UINT64_MAX;
    (void)host, (void)count;
    return nvshmemrs_wait_until(rt, number, NVSHMEMRS_CMP_EQ, &never, NVSHMEMRS_DTYPE_UINT64);
}
static int32_t test(uint64_t *host, size_t count)
{
    uint64_t zero = 0;
    int32_t holds;
    (void)host, (void)count;
    return nvshmemrs_test(rt, number, NVSHMEMRS_CMP_EQ, &zero, NVSHMEMRS_DTYPE_UINT64, &holds);
}

/* `put`s write the data that their source held during the call, or nothing; `get`s write nothing after the call. */
static const struct {
    const char *name;
    int32_t (*run)(uint64_t *, size_t);
    size_t count;
    int pins, puts, gets, adds;
} tried[] = {
    {"put", put, LITTLE, 0, 1, 0, 0},
    {"put", put, MUCH, 0, 1, 0, 0},
    {"put", put, LITTLE, 1, 1, 0, 0},
    {"put", put, MUCH, 1, 1, 0, 0},
    {"put_nbi", put_nbi, MUCH, 0, 1, 0, 0},
    {"put_nbi", put_nbi_pages, SOME, 0, 1, 0, 0},
    {"iput", iput, LITTLE, 0, 1, 0, 0},
    {"iput", iput, MUCH, 1, 1, 0, 0},
    {"iput", iput, MANY, 0, 1, 0, 0},
    {"iput", iput, MUCH, 0, 1, 0, 0},
    {"put_nbi", put_nbi_many, MANY, 0, 0, 0, 0},
    {"put", from_heap, MUCH, 0, 0, 0, 0},
    {"get", get, LITTLE, 0, 0, 1, 0},
    {"get", get, MUCH, 0, 0, 1, 0},
    {"get", get, LITTLE, 1, 0, 1, 0},
    {"get", get, MUCH, 1, 0, 1, 0},
    {"get_nbi", get_nbi, LITTLE, 0, 0, 1, 0},
    {"iget", iget, LITTLE, 0, 0, 1, 0},
    {"iget", iget, MANY, 0, 0, 1, 0},
    {"iget", iget, MUCH, 0, 0, 1, 0},
    {"iget", iget, MUCH, 1, 0, 1, 0},
    {"put_signal", put_signal, LITTLE, 0, 1, 0, 1},
    {"signal_op", signal_op, 0, 0, 0, 0, 1},
    {"atomic_fetch_add", fetch_add, 1, 0, 0, 1, 1},
    {"atomic_add", add, 0, 0, 0, 0, 1},
    {"quiet", quiet, MUCH, 0, 0, 0, 0},
    {"wait_until", wait_until, 0, 0, 0, 0, 0},
    {"test", test, 0, 0, 0, 0, 0},
};

/* The call must end at the deadline, and its error must say what it waits for: returns false. A GPU may have other queues for copies, so
 * the call may also complete in time there: returns true. The stand-in's queues are for all work. */
static int ends(const char *name, size_t at, uint64_t *host)
{
    uint64_t previous;
    CHECK(nvshmemrs_deadline_begin(limit, &previous));
    double start = now_s();
    int32_t status = tried[at].run(host, tried[at].count);
    double took = now_s() - start;
    CHECK(nvshmemrs_deadline_end(previous));
    const char *why = status ? nvshmemrs_last_error() : "success";
    /* The message begins with the operation: `put`. */
    why += *why == '`';
    if (status == NVSHMEMRS_SUCCESS && took < limit && *name && !getenv("FAKE_CUDA_QUEUES"))
        return 1;
    /* The word that wait_until polls may arrive by such a queue. */
    int looks = tried[at].run == wait_until && !getenv("FAKE_CUDA_QUEUES");
    if (status != NVSHMEMRS_ERROR_TIMEOUT || (!looks && !strstr(why, "CUDA_DEVICE_MAX_CONNECTIONS")))
        FAIL("%s (%zu): status %d: %s", name, at, (int)status, why);
    /* A put_nbi is a put where `put_nbi` above says so. */
    int is_put = getenv("FAKE_CUDA_READS_PAGES") && (tried[at].run == put_nbi || tried[at].run == put_nbi_pages);
    size_t said = is_put && *name ? 3 : strlen(name);
    if (strncmp(why, name, said) != 0 || (*name && why[said] != '`'))
        FAIL("%s (%zu) is called something else: %s", name, at, why);
    if (took < limit * 0.9 || took > limit + soon)
        FAIL("%s (%zu) took %.1f s", name, at, took);
    return 0;
}

/* PE 0 tries everything, PE 1 lets its streams go on each time. */
static void held(void)
{
    enum { TRIED = sizeof tried / sizeof *tried };
    sigset_t go_on;
    sigemptyset(&go_on);
    sigaddset(&go_on, SIGUSR2);
    sigprocmask(SIG_BLOCK, &go_on, NULL);
    begin();
    make_streams();
    uint64_t *other = words(1), little[LITTLE];
    words_here = words(MUCH);
    number = words(1);
    landing = words(MUCH);
    pinned_words = pinned(MUCH);
    pages = malloc(MUCH * 8);
    CHECK(nvshmemrs_p64(rt, other, (uint64_t)getpid(), 1 - pe));
    CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
    pid_t helper = (pid_t)value_of(other, pe);

    for (size_t at = 0; pe == 0 && at < TRIED; at++) {
        const char *name = tried[at].name;
        uint64_t round = at + 1, *host = tried[at].pins ? pinned_words : tried[at].count > LITTLE ? pages : little, zero[MUCH] = {0};
        size_t count = tried[at].count;
        CHECK(nvshmemrs_p64(rt, number, 0, pe));
        CHECK(nvshmemrs_put(rt, landing, zero, sizeof zero, pe));
        fill(host, count, FIRST);
        CHECK(nvshmemrs_put(rt, words_here, host, count * 8, pe));
        if (tried[at].gets)
            fill(host, count, UNTOUCHED);
        hold_all(round);
        int done = ends(name, at, host);
        /* Its memory is the program's again. */
        if (tried[at].puts)
            fill(host, count, LATER);
        /* The next one is not put behind it. */
        if (!done)
            ends("", at, host);
        kill(helper, SIGUSR2);
        for (int i = 0; i < STREAMS; i++)
            CHECK(nvshmemrs_stream_synchronize(stream[i]));
        CHECK(nvshmemrs_quiet(rt));
        if (tried[at].gets)
            compare(name, host, count, !done ? UNTOUCHED : tried[at].run == fetch_add ? 0 : FIRST);
        uint64_t first = value_of(landing, pe), added = value_of(number, pe);
        if (tried[at].puts && first != FIRST && (done || first != 0))
            FAIL("%s (%zu) has put %lu", name, at, first);
        if (added > (uint64_t)tried[at].adds || (done && added != (uint64_t)tried[at].adds))
            FAIL("%s (%zu) has added %lu times", name, at, added);
        /* Now the call succeeds. */
        if (tried[at].puts)
            fill(host, count, FIRST);
        if (tried[at].run != wait_until)
            CHECK(tried[at].run(host, count));
        CHECK(nvshmemrs_quiet(rt));
        if (tried[at].run == fetch_add ? *host != added : tried[at].gets)
            compare(name, host, count, tried[at].run == fetch_add ? added : FIRST);
        if (value_of(number, pe) != added + (uint64_t)tried[at].adds)
            FAIL("%s (%zu): %lu after %lu", name, at, value_of(number, pe), added);
        if (tried[at].puts) {
            CHECK(nvshmemrs_get(rt, pages, landing, count * 8, pe));
            compare(name, pages, count, FIRST);
        }
        for (int i = 0; i < STREAMS; i++)
            if (value_of(slots + i, pe) != round * 100 + (uint64_t)i)
                FAIL("%s (%zu): stream %d has stored %lu", name, at, i, value_of(slots + i, pe));
    }
    for (uint64_t round = 1; pe == 1 && round <= TRIED; round++) {
        struct timespec patience = {30, 0};
        if (sigtimedwait(&go_on, NULL, &patience) != SIGUSR2)
            FAIL("round %lu: nobody says go on", round);
        for (int i = 0; i < STREAMS; i++)
            CHECK(nvshmemrs_signal_op(rt, signals + i, round, NVSHMEMRS_SIGNAL_SET, 0));
    }
    for (int i = 0; i < STREAMS; i++) {
        CHECK(nvshmemrs_stream_free(stream[i]));
        CUDA(cuStreamDestroy_v2, (cuda_stream_t), raw[i]);
    }
    CUDA(cuMemFreeHost, (void *), pinned_words);
    free(pages);
    end();
}

/* Ctrl-C ends waiting calls, and the deadline ends finalize, too. Nothing stays behind: waiting operations are told to end. */
static void held_finalize(void)
{
    uint64_t previous, held[LITTLE];
    begin();
    make_streams();
    landing = words(LITTLE);
    CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
    double start = now_s();
    CHECK(nvshmemrs_deadline_begin(limit, &previous));
    if (pe == 0) {
        hold_all(1);
        fill(held, LITTLE, FIRST);
        CHECK(nvshmemrs_interrupt(rt));
        REFUSED(NVSHMEMRS_ERROR_INTERRUPTED, "CUDA_DEVICE_MAX_CONNECTIONS", put(held, LITTLE));
        CHECK(nvshmemrs_interrupt_clear(rt));
        REFUSED(NVSHMEMRS_ERROR_TIMEOUT, "CUDA_DEVICE_MAX_CONNECTIONS", put(held, LITTLE));
        REFUSED(NVSHMEMRS_ERROR_TIMEOUT, "finalize", nvshmemrs_finalize(rt));
    } else {
        CHECK(nvshmemrs_deadline_end(previous));
        CHECK(nvshmemrs_finalize(rt));
    }
    double took = now_s() - start;
    if (took > limit + soon)
        FAIL("finalize took %.1f s", took);
    for (int i = 0; i < STREAMS; i++)
        CUDA(cuStreamDestroy_v2, (cuda_stream_t), raw[i]);
    leave();
}

/* Streams of the program's have all queues until the door opens. */
static void hold_until_the_door_opens(void)
{
    /* Now and then the driver makes a stream only when nothing waits. */
    for (int i = 0; i < STREAMS; i++)
        raw[i] = new_stream();
    for (int i = 0; i < STREAMS; i++) {
        /* The second one has to wait for the first one, and holds the queue. */
        hold_up_behind_door(raw[i]);
        hold_up_behind_door(raw[i]);
    }
}

/* The other PE has died; this PE can save the data in its GPU's memory, even if the GPU starts the copy late. */
static void held_survivor(void)
{
    long after_ms = 500;
    begin();
    words_here = words(MUCH);
    landing = words(MUCH);
    pages = malloc(MUCH * 8);
    pinned_words = pinned(MUCH);
    fill(pages, MUCH, FIRST);
    CHECK(nvshmemrs_put(rt, words_here, pages, MUCH * 8, pe));
    CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
    if (pe == 1)
        kill(getpid(), SIGKILL);
    while (nvshmemrs_runtime_check(rt) == NVSHMEMRS_SUCCESS)
        pause_ms(10);
    hold_until_the_door_opens();
    pthread_t opener = begin_thread(open_late, &after_ms);
    CHECK(nvshmemrs_get(rt, pinned_words, words_here, MUCH * 8, pe));
    compare("what was saved", pinned_words, MUCH, FIRST);
    CHECK(nvshmemrs_put(rt, landing, pinned_words, MUCH * 8, pe));
    CHECK(nvshmemrs_quiet(rt));
    join_within(opener, 10, "the thread that opens the door");
    for (int i = 0; i < STREAMS; i++)
        CUDA(cuStreamDestroy_v2, (cuda_stream_t), raw[i]);
    CUDA(cuMemFreeHost, (void *), pinned_words);
    free(pages);
    /* Finalize fails, but it must not reach the deadline. */
    if (nvshmemrs_finalize(rt) == NVSHMEMRS_ERROR_TIMEOUT)
        FAIL("finalize: %s", nvshmemrs_last_error());
    leave();
}

/* Init gives up, and the operations that it has begun complete before their memory is freed. */
static void held_init(void)
{
    long after_ms = 2000;
    CUDA(cuInit, (unsigned), 0);
    CUDA(cuDevicePrimaryCtxRetain, (void **, int), &context, 0);
    CUDA(cuCtxPushCurrent_v2, (void *), context);
    hold_until_the_door_opens();
    pthread_t opener = begin_thread(open_late, &after_ms);
    nvshmemrs_init_attr_t attr;
    CHECK(nvshmemrs_init_attr_default(&attr));
    attr.memory_kind = NVSHMEMRS_MEMORY_DEVICE;
    attr.heap_bytes = 16 << 20;
    int32_t status = nvshmemrs_init(&attr, &rt);
    const char *why = status ? nvshmemrs_last_error() : "success";
    if (status == NVSHMEMRS_SUCCESS && !getenv("FAKE_CUDA_QUEUES"))
        CHECK(nvshmemrs_finalize(rt));
    else if (status != NVSHMEMRS_ERROR_TIMEOUT || !strstr(why, "waits for its GPU to set memory to 0"))
        FAIL("init: status %d: %s", (int)status, why);
    join_within(opener, 10, "the thread that opens the door");
    for (int i = 0; i < STREAMS; i++)
        CUDA(cuStreamDestroy_v2, (cuda_stream_t), raw[i]);
    leave();
}

int main(int argc, char **argv)
{
    static const part_t all[] = {
        {"held", held},
        {"held_finalize", held_finalize},
        {"held_init", held_init},
        {"held_survivor", held_survivor},
    };
    return run_parts(argc, argv, all, sizeof all / sizeof *all, "held");
}
