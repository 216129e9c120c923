/* One PE of a job that measures one library on GPUs: `gpu-bench ours|nvshmem stream|graph [MOST]`, started by nvshmemrs-run, which says which
 * PE it is. MOST is the largest buffer in bytes.
 *
 * Each case is a line of JSON on standard output: PE, operation, bytes (of the whole buffer: a part is that by the number of PEs), how, and the
 * microseconds of one call in each round. How: "stream", many calls between two events; "graph", the same calls captured once and
 * replayed; "cpu", the calling thread's time to put one call on an idle stream; "host", the blocking call. Every case's result is
 * checked; a wrong one ends the job. */
#include "bench.h"

#include <string.h>
#include <time.h>

enum { ROUNDS = 9, FEW = 32, SIGNALS = 64, ONE_SIZE = 4096 };

static const struct side *side;
static int me, n, right;
static size_t most;
static cuda_t stream, started, ended;
static uint32_t *source, *dest, *host;
static uint64_t *signals;

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/* The callers: PE 0 alone, or all PEs. */
enum scope { ONE, ALL };
enum how { STREAM, GRAPH, CPU, HOST };
static const char *const hows[] = {"stream", "graph", "cpu", "host"};

struct operation {
    const char *name;
    enum scope scope;
    /* Whether the buffer is in parts, one for each PE. */
    int parts;
    void (*call)(size_t bytes);
    /* The expected word `index` of `dest`; NULL without data. */
    uint32_t (*expected)(size_t index, size_t words);
};

/* Word `index` of `source` on a PE. */
static uint32_t value(int pe, size_t index) { return (uint32_t)pe * 65537u + (uint32_t)index; }

static uint32_t of_left(size_t i, size_t words) { (void)words; return value((me + n - 1) % n, i); }
static uint32_t of_right(size_t i, size_t words) { (void)words; return value(right, i); }
static uint32_t of_zero(size_t i, size_t words) { (void)words; return value(0, i); }
static uint32_t total(size_t i, size_t words)
{
    (void)words;
    return (uint32_t)(n * (n - 1) / 2) * 65537u + (uint32_t)n * (uint32_t)i;
}
static uint32_t part_of_total(size_t i, size_t words) { return total((size_t)me * (words / (size_t)n) + i, words); }
static uint32_t collected(size_t i, size_t words)
{
    size_t part = words / (size_t)n;
    return value((int)(i / part), i % part);
}
static uint32_t exchanged(size_t i, size_t words)
{
    size_t part = words / (size_t)n;
    return value((int)(i / part), (size_t)me * part + i % part);
}

static void put(size_t bytes) { side->put(dest, source, bytes, right); }
static void get(size_t bytes) { side->get(dest, source, bytes, right); }
static void put_signal(size_t bytes) { side->put_signal(dest, source, bytes, signals, right); }
static void host_put(size_t bytes) { side->host_put(dest, source, bytes, right); }
static void barrier(size_t bytes) { (void)bytes; side->barrier(); }
static void sync_(size_t bytes) { (void)bytes; side->sync(); }
static void host_barrier(size_t bytes) { (void)bytes; side->host_barrier(); }
static void reduce(size_t bytes) { side->reduce(dest, source, bytes / 4); }
static void reducescatter(size_t bytes) { side->reducescatter(dest, source, bytes / 4 / (size_t)n); }
static void fcollect(size_t bytes) { side->fcollect(dest, source, bytes / (size_t)n); }
static void alltoall(size_t bytes) { side->alltoall(dest, source, bytes / (size_t)n); }
static void broadcast(size_t bytes) { side->broadcast(dest, source, bytes); }

static const struct operation operations[] = {
    {"put", ONE, 0, put, of_left},
    {"get", ONE, 0, get, of_right},
    {"put_signal", ONE, 0, put_signal, of_left},
    {"barrier_all", ALL, 0, barrier, NULL},
    {"sync_all", ALL, 0, sync_, NULL},
    {"reduce", ALL, 0, reduce, total},
    {"reducescatter", ALL, 1, reducescatter, part_of_total},
    {"fcollect", ALL, 1, fcollect, collected},
    {"alltoall", ALL, 1, alltoall, exchanged},
    {"broadcast", ALL, 0, broadcast, of_zero},
};
static const struct operation on_host[] = {
    {"put", ONE, 0, host_put, of_left},
    {"barrier_all", ALL, 0, host_barrier, NULL},
};

static void wait_for_stream(void) { CUDA(cuStreamSynchronize, (cuda_t), stream); }

static void copy(void *to, const void *from, size_t bytes) { CUDA(cuMemcpy, (uint64_t, uint64_t, size_t), (uint64_t)to, (uint64_t)from, bytes); }

/* Resets the buffers, and synchronises all PEs. */
static void prepare(size_t bytes)
{
    for (size_t i = 0; i < bytes / 4; i++)
        host[i] = value(me, i);
    copy(source, host, bytes);
    memset(host, 0xee, bytes);
    copy(dest, host, bytes);
    side->host_barrier();
}

static void check(const struct operation *operation, size_t bytes)
{
    side->host_barrier();
    /* PE 0 alone has sent, or fetched. */
    int expects = operation->expected && (operation->scope == ALL || me == (operation->expected == of_right ? 0 : 1 % n));
    if (expects) {
        size_t words = bytes / 4;
        size_t written = operation->expected == part_of_total ? words / (size_t)n : words;
        copy(host, dest, written * 4);
        for (size_t i = 0; i < written; i++)
            if (host[i] != operation->expected(i, words))
                FAIL("PE %d: %s of %zu bytes: word %zu is %u, not %u", me, operation->name, bytes, i, host[i],
                     operation->expected(i, words));
    }
    side->host_barrier();
}

/* Enough calls to make the events' own time and the start negligible. */
static int calls_for(size_t bytes)
{
    return bytes <= 1 << 16 ? 200 : bytes <= 1 << 20 ? 100 : bytes <= 16 << 20 ? 30 : 15;
}

static double elapsed_us(void)
{
    float ms;
    CUDA(cuEventElapsedTime, (float *, cuda_t, cuda_t), &ms, started, ended);
    return ms * 1e3;
}

static void record(cuda_t event) { CUDA(cuEventRecord, (cuda_t, cuda_t), event, stream); }

static void repeat(const struct operation *operation, size_t bytes, int calls)
{
    for (int i = 0; i < calls; i++)
        operation->call(bytes);
}

static cuda_t captured(const struct operation *operation, size_t bytes, int calls)
{
    cuda_t graph, replay;
    CUDA(cuStreamBeginCapture_v2, (cuda_t, int), stream, 2 /* relaxed */);
    repeat(operation, bytes, calls);
    CUDA(cuStreamEndCapture, (cuda_t, cuda_t *), stream, &graph);
    CUDA(cuGraphInstantiateWithFlags, (cuda_t *, cuda_t, unsigned long long), &replay, graph, 0);
    CUDA(cuGraphDestroy, (cuda_t), graph);
    return replay;
}

static void measure(const struct operation *operation, enum how how, size_t bytes)
{
    int calls = how == CPU ? FEW : calls_for(bytes);
    int acts = operation->scope == ALL || me == 0;
    cuda_t replay = NULL;
    double us[ROUNDS];
    prepare(bytes);
    if (acts && how == GRAPH)
        replay = captured(operation, bytes, calls);
    for (int round = -2; round < ROUNDS; round++) { /* two to warm up */
        side->host_barrier();
        if (!acts)
            continue;
        double start = now_us(), took;
        if (how == STREAM || how == GRAPH)
            record(started);
        if (how == GRAPH)
            CUDA(cuGraphLaunch, (cuda_t, cuda_t), replay, stream);
        else
            repeat(operation, bytes, calls);
        took = now_us() - start;
        if (how == STREAM || how == GRAPH)
            record(ended);
        wait_for_stream();
        if (how == STREAM || how == GRAPH)
            took = elapsed_us();
        if (round >= 0)
            us[round] = took / calls;
    }
    if (replay)
        CUDA(cuGraphExecDestroy, (cuda_t), replay);
    check(operation, bytes);
    if (!acts)
        return;
    char line[1024];
    int at = snprintf(line, sizeof line, "{\"pe\":%d,\"op\":\"%s\",\"bytes\":%zu,\"how\":\"%s\",\"us\":[", me, operation->name,
                      operation->expected ? bytes : 0, hows[how]);
    for (int round = 0; round < ROUNDS; round++)
        at += snprintf(line + at, sizeof line - (size_t)at, "%s%.4g", round ? "," : "", us[round]);
    snprintf(line + at, sizeof line - (size_t)at, "]}\n");
    fputs(line, stdout);
    fflush(stdout);
}

static void all_sizes(const struct operation *operation, enum how how)
{
    static const size_t sizes[] = {8, 64, 1024, 8192, 65536, 262144, 1 << 20, 4 << 20, 16 << 20, 64 << 20};
    size_t least = operation->parts ? 8 * (size_t)n : 8;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t bytes = sizes[i];
        if (bytes >= least && bytes <= most && (!operation->parts || bytes / 4 % (size_t)n == 0))
            measure(operation, how, bytes);
        if (!operation->expected)
            break;
    }
}

static void one_line(const char *what, double us)
{
    printf("{\"pe\":%d,\"op\":\"%s\",\"bytes\":0,\"how\":\"host\",\"us\":[%.5g]}\n", me, what, us);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    int graphs = argc > 2 && strcmp(argv[2], "graph") == 0;
    side = argc > 1 && strcmp(argv[1], "nvshmem") == 0 ? &nvshmem : &ours;
    if (argc < 3 || argc > 4 || strcmp(argv[1], side == &ours ? "ours" : "nvshmem") || strcmp(argv[2], graphs ? "graph" : "stream"))
        FAIL("usage: gpu-bench ours|nvshmem stream|graph [MOST]");
    most = argc > 3 ? (size_t)atoll(argv[3]) : 64 << 20;
    me = number("NVSHMEMRS_PE");
    n = number("NVSHMEMRS_N_PES");
    right = (me + 1) % n;

    int device;
    double start = now_us();
    int gpu = open_gpu(me, &device);
    one_line("start of the driver", now_us() - start);
    start = now_us();

    side->init(me, n, gpu, 2 * most + (8 << 20));
    source = side->allocate(most);
    dest = side->allocate(most);
    signals = side->allocate(SIGNALS * sizeof *signals);
    CUDA(cuStreamCreate, (cuda_t *, unsigned), &stream, 1 /* not ordered with the default stream */);
    side->use(stream);
    side->put(dest, source, 8, right);
    wait_for_stream();
    one_line("init to first put", now_us() - start);
    CUDA(cuEventCreate, (cuda_t *, unsigned), &started, 0);
    CUDA(cuEventCreate, (cuda_t *, unsigned), &ended, 0);
    host = malloc(most);
    if (me == 0)
        printf("{\"side\":\"%s\",\"version\":\"%s\",\"n\":%d}\n", side->name, side->version(), n);

    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        all_sizes(&operations[i], graphs ? GRAPH : STREAM);
        /* The cost for the calling thread is measured at one size. */
        if (!graphs)
            measure(&operations[i], CPU, most < ONE_SIZE ? most : ONE_SIZE);
    }
    for (size_t i = 0; !graphs && i < sizeof on_host / sizeof *on_host; i++)
        all_sizes(&on_host[i], HOST);

    side->host_barrier();
    start = now_us();
    side->finalize();
    one_line("finalize", now_us() - start);
    return 0;
}
