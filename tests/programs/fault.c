/* Some PEs end without finalize, or are stopped, while the others are inside an operation.
 *
 * Arguments: OPERATION WHEN HOW VICTIMS FILE. PEs 1 to VICTIMS end, the way HOW says, and write the moment to FILE. WHEN is "before":
 * they do not come to the operation, in which the others are by then; or "within": all PEs call it again and again, and the
 * victims end somewhere. Every other PE says what its call came to and how long after that moment, and checks that the job stays
 * as it is, and says so. In "init" the last PE does not come, so the job is still coming together when the victims end. */

#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

enum { FEW = 4, MANY = 1 << 17, PAGE = 4096 };

static nvshmemrs_runtime_t runtime;
static nvshmemrs_stream_t stream;
static nvshmemrs_event_t event;
static nvshmemrs_team_t team;
static double *source, *dest, *extra;
static void *pages, *symmetric;
static uint64_t *flag;
static int32_t me, n_pes;
static const char *how, *file;

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void die(void)
{
    int64_t now = now_ns();
    int out = open(file, O_WRONLY | O_APPEND);
    if (out < 0 || write(out, &now, sizeof now) != sizeof now)
        _exit(99);
    if (strcmp(how, "kill") == 0)
        kill(getpid(), SIGKILL);
    else if (strcmp(how, "segfault") == 0)
        *(volatile int *)(uintptr_t)16 = 1;
    else if (strcmp(how, "abort") == 0)
        abort();
    else if (strcmp(how, "exit") == 0)
        exit(0);
    else if (strcmp(how, "exit3") == 0)
        exit(3);
    else if (strcmp(how, "stop") == 0)
        /* Stops the calling thread itself. A signal to the process may go to another thread, and this thread runs on until that thread has a core. */
        raise(SIGSTOP);
    /* It was continued. */
    _exit(77);
}

static void *die_later(void *nothing)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    usleep(100000 + (unsigned)(now.tv_nsec / 1000) % 50000);
    die();
    return nothing;
}

#define ON_WORLD NVSHMEMRS_TEAM_WORLD
#define DOUBLES(count) dest, source, count, NVSHMEMRS_DTYPE_DOUBLE, NVSHMEMRS_OP_SUM
#define COLLECTIVE(name, call) \
    static int32_t name(void) \
    { \
        return call; \
    }

COLLECTIVE(barrier, nvshmemrs_barrier(runtime, ON_WORLD))
COLLECTIVE(sync_, nvshmemrs_sync(runtime, ON_WORLD))
COLLECTIVE(broadcast_small, nvshmemrs_broadcast(runtime, ON_WORLD, dest, source, FEW * 8, 0))
COLLECTIVE(broadcast_large, nvshmemrs_broadcast(runtime, ON_WORLD, dest, source, MANY * 8, 0))
COLLECTIVE(reduce_small, nvshmemrs_reduce(runtime, ON_WORLD, DOUBLES(FEW)))
COLLECTIVE(reduce_large, nvshmemrs_reduce(runtime, ON_WORLD, DOUBLES(MANY)))
COLLECTIVE(reducescatter_small, nvshmemrs_reducescatter(runtime, ON_WORLD, DOUBLES(1)))
COLLECTIVE(reducescatter_large, nvshmemrs_reducescatter(runtime, ON_WORLD, DOUBLES((size_t)(MANY / n_pes))))
COLLECTIVE(inscan_small, nvshmemrs_inscan(runtime, ON_WORLD, DOUBLES(FEW)))
COLLECTIVE(inscan_large, nvshmemrs_inscan(runtime, ON_WORLD, DOUBLES(MANY)))
COLLECTIVE(exscan_small, nvshmemrs_exscan(runtime, ON_WORLD, DOUBLES(FEW)))
COLLECTIVE(exscan_large, nvshmemrs_exscan(runtime, ON_WORLD, DOUBLES(MANY)))
COLLECTIVE(fcollect_small, nvshmemrs_fcollect(runtime, ON_WORLD, dest, source, 8))
COLLECTIVE(fcollect_large, nvshmemrs_fcollect(runtime, ON_WORLD, dest, source, (size_t)(MANY / n_pes) * 8))
COLLECTIVE(collect_small, nvshmemrs_collect(runtime, ON_WORLD, dest, source, 8 * (size_t)(me + 1)))
COLLECTIVE(collect_large, nvshmemrs_collect(runtime, ON_WORLD, dest, source, (size_t)(MANY / n_pes) * 8))
COLLECTIVE(alltoall_small, nvshmemrs_alltoall(runtime, ON_WORLD, dest, source, 8))
COLLECTIVE(alltoall_large, nvshmemrs_alltoall(runtime, ON_WORLD, dest, source, (size_t)(MANY / n_pes) * 8))
COLLECTIVE(alltoalls_small, nvshmemrs_alltoalls(runtime, ON_WORLD, dest, source, 2, 2, 8, 1))
COLLECTIVE(alltoalls_large, nvshmemrs_alltoalls(runtime, ON_WORLD, dest, source, 1, 2, 8, (size_t)(MANY / n_pes / 4)))
COLLECTIVE(gather_small, nvshmemrs_gather(runtime, ON_WORLD, dest, source, 8, 0))
COLLECTIVE(gather_large, nvshmemrs_gather(runtime, ON_WORLD, dest, source, (size_t)(MANY / n_pes) * 8, 0))
COLLECTIVE(scatter_small, nvshmemrs_scatter(runtime, ON_WORLD, dest, source, 8, n_pes - 1))
COLLECTIVE(scatter_large, nvshmemrs_scatter(runtime, ON_WORLD, dest, source, (size_t)(MANY / n_pes) * 8, n_pes - 1))
COLLECTIVE(signal_wait, nvshmemrs_signal_wait(runtime, flag, NVSHMEMRS_CMP_NE, 0, NULL))
COLLECTIVE(finalize, nvshmemrs_finalize(runtime))

static const int64_t one = 1;
#define ELEMENTS flag, 1, NULL, NVSHMEMRS_CMP_EQ, &one, NVSHMEMRS_DTYPE_INT64
COLLECTIVE(wait_until, nvshmemrs_wait_until(runtime, flag, NVSHMEMRS_CMP_EQ, &one, NVSHMEMRS_DTYPE_INT64))
COLLECTIVE(wait_until_all, nvshmemrs_wait_until_all(runtime, ELEMENTS))
COLLECTIVE(wait_until_all_vector, nvshmemrs_wait_until_all_vector(runtime, ELEMENTS))

static int32_t wait_until_any(void)
{
    size_t index;
    return nvshmemrs_wait_until_any(runtime, ELEMENTS, &index);
}

static int32_t wait_until_some(void)
{
    size_t index, found;
    return nvshmemrs_wait_until_some(runtime, flag, 1, &index, NULL, NVSHMEMRS_CMP_EQ, &one, NVSHMEMRS_DTYPE_INT64, &found);
}

static int32_t malloc_(void)
{
    void *memory;
    return nvshmemrs_malloc(runtime, 4096, &memory);
}

static int32_t free_(void)
{
    double *memory = extra;
    void *again = NULL;
    int32_t status = nvshmemrs_free(runtime, memory);
    if (status == 0)
        status = nvshmemrs_malloc(runtime, 4096, &again);
    extra = again;
    return status;
}

static int32_t realloc_(void)
{
    static size_t bytes = 8192;
    void *memory;
    int32_t status;
    bytes = bytes == 8192 ? 65536 : 8192;
    status = nvshmemrs_realloc(runtime, extra, bytes, &memory);
    if (status == 0)
        extra = memory;
    return status;
}

static int32_t buffer_register(void)
{
    int32_t status;
    status = nvshmemrs_buffer_register(runtime, pages, PAGE, NULL, &symmetric);
    return status == 0 ? nvshmemrs_buffer_unregister(runtime, symmetric) : status;
}

/* The buffer is registered before anybody dies. */
static int32_t buffer_unregister(void)
{
    int32_t status = nvshmemrs_buffer_unregister(runtime, symmetric);
    return status == 0 ? nvshmemrs_buffer_register(runtime, pages, PAGE, NULL, &symmetric) : status;
}

static int32_t destroy(nvshmemrs_team_t made, int32_t status)
{
    return status == 0 ? nvshmemrs_team_destroy(runtime, made) : status;
}

static int32_t team_split_strided(void)
{
    nvshmemrs_team_t made;
    int32_t status = nvshmemrs_team_split_strided(runtime, ON_WORLD, 0, 1, n_pes, NULL, 0, &made);
    return destroy(made, status);
}

static int32_t team_split_2d(void)
{
    nvshmemrs_team_t x, y;
    int32_t status = nvshmemrs_team_split_2d(runtime, ON_WORLD, n_pes, NULL, 0, NULL, 0, &x, &y);
    status = destroy(x, status);
    return destroy(y, status);
}

static int32_t team_init(void)
{
    static uint64_t id = 1000;
    nvshmemrs_team_config_t config;
    nvshmemrs_team_t made;
    int32_t status;
    CHECK(nvshmemrs_team_config_default(&config));
    config.uniqueid = id++;
    status = nvshmemrs_team_init(runtime, &config, NVSHMEMRS_TEAM_CONFIG_UNIQUEID, n_pes, me, &made);
    return destroy(made, status);
}

/* The team is made before anybody dies. */
static int32_t team_destroy(void)
{
    int32_t status = nvshmemrs_team_destroy(runtime, team);
    return status == 0 ? nvshmemrs_team_split_strided(runtime, ON_WORLD, 0, 1, n_pes, NULL, 0, &team) : status;
}

static int32_t stream_synchronize(void)
{
    int32_t status = nvshmemrs_reduce(stream, ON_WORLD, DOUBLES(MANY));
    return status == 0 ? nvshmemrs_stream_synchronize(stream) : status;
}

static int32_t event_synchronize(void)
{
    int32_t status = nvshmemrs_barrier(stream, ON_WORLD);
    if (status == 0)
        status = nvshmemrs_event_record(event, stream);
    if (status == 0)
        status = nvshmemrs_event_synchronize(event);
    /* The event is reached also when the barrier has failed. */
    return status == 0 ? nvshmemrs_stream_synchronize(stream) : status;
}

/* The wait for the value of a call on a stream. */
static int32_t stream_fetch(void)
{
    uint64_t value;
    int32_t status = nvshmemrs_barrier(stream, ON_WORLD);
    if (status == 0)
        status = nvshmemrs_g64(stream, flag, 0, &value);
    return status == 0 ? nvshmemrs_stream_synchronize(stream) : status;
}

static int32_t collectives(void)
{
    int32_t (*const all[])(void) = {reduce_large, broadcast_large, barrier, malloc_, alltoall_small, collect_large};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        int32_t status = all[i]();
        if (status != 0)
            return status;
    }
    return 0;
}

static const struct {
    const char *name;
    int32_t (*call)(void);
} operations[] = {
    {"barrier", barrier},
    {"sync", sync_},
    {"broadcast_small", broadcast_small},
    {"broadcast_large", broadcast_large},
    {"reduce_small", reduce_small},
    {"reduce_large", reduce_large},
    {"reducescatter_small", reducescatter_small},
    {"reducescatter_large", reducescatter_large},
    {"inscan_small", inscan_small},
    {"inscan_large", inscan_large},
    {"exscan_small", exscan_small},
    {"exscan_large", exscan_large},
    {"fcollect_small", fcollect_small},
    {"fcollect_large", fcollect_large},
    {"collect_small", collect_small},
    {"collect_large", collect_large},
    {"alltoall_small", alltoall_small},
    {"alltoall_large", alltoall_large},
    {"alltoalls_small", alltoalls_small},
    {"alltoalls_large", alltoalls_large},
    {"gather_small", gather_small},
    {"gather_large", gather_large},
    {"scatter_small", scatter_small},
    {"scatter_large", scatter_large},
    {"malloc", malloc_},
    {"free", free_},
    {"realloc", realloc_},
    {"buffer_register", buffer_register},
    {"buffer_unregister", buffer_unregister},
    {"team_split_strided", team_split_strided},
    {"team_split_2d", team_split_2d},
    {"team_init", team_init},
    {"team_destroy", team_destroy},
    {"signal_wait", signal_wait},
    {"wait_until", wait_until},
    {"wait_until_all", wait_until_all},
    {"wait_until_all_vector", wait_until_all_vector},
    {"wait_until_any", wait_until_any},
    {"wait_until_some", wait_until_some},
    {"stream_synchronize", stream_synchronize},
    {"event_synchronize", event_synchronize},
    {"stream_fetch", stream_fetch},
    {"finalize", finalize},
    {"collectives", collectives},
};

static int32_t operate(const char *name, int again)
{
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        if (strcmp(name, operations[i].name) == 0) {
            int32_t status;
            do
                status = operations[i].call();
            while (again && status == 0);
            return status;
        }
    }
    fprintf(stderr, "unknown operation %s\n", name);
    exit(98);
}

/* Prints the result of a call, and the time. */
static void say(int32_t status, int64_t noticed)
{
    int64_t died = 0;
    int in = open(file, O_RDONLY);
    if (in < 0 || read(in, &died, sizeof died) != sizeof died) {
        fprintf(stderr, "status %d before anybody died: %s\n", (int)status, nvshmemrs_last_error());
        exit(97);
    }
    printf("PE %d: status %d after %.1f ms: %s\n", (int)me, (int)status, (double)(noticed - died) / 1e6, nvshmemrs_last_error());
    fflush(stdout);
}

static void survive(const char *operation, int again)
{
    int32_t status = operate(operation, again), stopped = strcmp(how, "stop") == 0;
    int32_t expected = stopped ? NVSHMEMRS_ERROR_PE_STOPPED : NVSHMEMRS_ERROR_PE_DIED;
    say(status, now_ns());
    if (strcmp(operation, "finalize") != 0) {
        /* The queued operation ends with the same error, but not at the same moment, and its team is busy until then. */
        int32_t done = 0;
        for (; !done; usleep(1000))
            CHECK(nvshmemrs_stream_query(stream, &done));
        if (nvshmemrs_stream_synchronize(stream) == NVSHMEMRS_ERROR_PANIC)
            exit(97);
    }
    if (strcmp(operation, "finalize") == 0) {
        int32_t pe;
        if (nvshmemrs_my_pe(runtime, &pe) != NVSHMEMRS_ERROR_NOT_INITIALIZED)
            exit(96);
        printf("PE %d: all checked\n", (int)me);
        return;
    }
    if (nvshmemrs_runtime_check(runtime) != (stopped ? NVSHMEMRS_SUCCESS : NVSHMEMRS_ERROR_PE_DIED))
        exit(95);
    const int32_t next = nvshmemrs_barrier(runtime, ON_WORLD);
    if (next != expected) {
        fprintf(stderr, "the next barrier: status %d: %s\n", (int)next, nvshmemrs_last_error());
        exit(94);
    }
    /* The survivors can still reach each other, and finalize returns. */
    CHECK(nvshmemrs_put(runtime, source, &(double){1}, sizeof *source, 0));
    if (nvshmemrs_finalize(runtime) != expected)
        exit(93);
    printf("PE %d: all checked\n", (int)me);
}

/* The last PE does not come; the victims end while they wait for it. */
static int coming_together(int pe, int n, int victims)
{
    me = pe;
    if (pe == n - 1) {
        pause();
    } else {
        pthread_t thread;
        if (pe >= 1 && pe <= victims && pthread_create(&thread, NULL, die_later, NULL) != 0)
            return 90;
        int32_t status = nvshmemrs_init(NULL, &runtime);
        say(status, now_ns());
        return status == NVSHMEMRS_ERROR_BOOTSTRAP ? 0 : 89;
    }
    return 88;
}

int main(int argc, char **argv)
{
    const struct rlimit no_core = {0, 0};
    nvshmemrs_init_attr_t attr;
    int within, victims;
    if (argc != 6)
        return 92;
    within = strcmp(argv[2], "within") == 0;
    how = argv[3];
    victims = atoi(argv[4]);
    file = argv[5];
    setrlimit(RLIMIT_CORE, &no_core);
    if (strcmp(argv[1], "init") == 0)
        return coming_together(atoi(getenv("NVSHMEMRS_PE")), atoi(getenv("NVSHMEMRS_N_PES")), victims);

    CHECK(nvshmemrs_init_attr_default(&attr));
    attr.heap_bytes = 256 << 20;
    CHECK(nvshmemrs_init(&attr, &runtime));
    CHECK(nvshmemrs_my_pe(runtime, &me));
    CHECK(nvshmemrs_n_pes(runtime, &n_pes));
    source = zeroed(runtime, MANY, sizeof *source);
    dest = zeroed(runtime, MANY, sizeof *dest);
    extra = zeroed(runtime, 512, sizeof *extra);
    flag = zeroed(runtime, 1, sizeof *flag);
    CHECK(nvshmemrs_stream_new(runtime, &stream));
    CHECK(nvshmemrs_event_new(runtime, &event));
    if (strcmp(argv[1], "team_destroy") == 0)
        CHECK(nvshmemrs_team_split_strided(runtime, ON_WORLD, 0, 1, n_pes, NULL, 0, &team));
    pages = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        return 87;
    if (strcmp(argv[1], "buffer_unregister") == 0)
        CHECK(nvshmemrs_buffer_register(runtime, pages, PAGE, NULL, &symmetric));
    CHECK(nvshmemrs_barrier(runtime, ON_WORLD));

    if (me < 1 || me > victims) {
        survive(argv[1], within);
    } else if (within) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, die_later, NULL) != 0)
            return 90;
        operate(argv[1], 1);
        pause();
    } else {
        /* The others are to be inside the operation by then. */
        usleep(100000);
        die();
    }
    return 0;
}
