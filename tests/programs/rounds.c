/* Creates and frees a resource again and again, and prints the growth of the process since the end of its warm-up.
 *
 * Arguments: WHAT ROUNDS. One line for each process: "WHAT: ROUNDS rounds in SECONDS s: resident 1200 -> 1204 KiB, ..." */

#include "check.h"

#include <dirent.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

/* The resources that a process could leak. Resident are its own pages and those of the heap, not its code. */
struct figures {
    long resident, descriptors, threads, mappings;
};

static long entries(const char *folder)
{
    DIR *open = opendir(folder);
    long count = 0;
    if (!open)
        exit(90);
    for (struct dirent *entry; (entry = readdir(open));)
        count += entry->d_name[0] != '.';
    closedir(open);
    return count;
}

static struct figures figures(void)
{
    struct figures now = {0, entries("/proc/self/fd"), entries("/proc/self/task"), 0};
    char line[512];
    FILE *status = fopen("/proc/self/status", "r");
    if (!status)
        exit(91);
    while (fgets(line, sizeof line, status)) {
        long kib;
        if (sscanf(line, "RssAnon: %ld", &kib) == 1 || sscanf(line, "RssShmem: %ld", &kib) == 1)
            now.resident += kib;
    }
    fclose(status);
    FILE *maps = fopen("/proc/self/maps", "r");
    if (!maps)
        exit(92);
    for (int c; (c = getc(maps)) != EOF;)
        now.mappings += c == '\n';
    fclose(maps);
    return now;
}

static uint64_t state = 88172645463325252u;

static uint64_t chance(uint64_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % below;
}

static nvshmemrs_runtime_t runtime;
static nvshmemrs_unique_id_t id;
static int32_t own_pe;

static nvshmemrs_init_attr_t attributes(void)
{
    nvshmemrs_init_attr_t attr;
    CHECK(nvshmemrs_init_attr_default(&attr));
    attr.heap_bytes = 4 << 20;
    attr.timeout_s = attr.init_timeout_s = 60;
    return attr;
}

/* Something of everything, so that finalize has something to give back. */
static void live(nvshmemrs_runtime_t rt)
{
    void *kept, *freed;
    nvshmemrs_stream_t stream;
    nvshmemrs_event_t event;
    CHECK(nvshmemrs_malloc(rt, 100, &kept));
    CHECK(nvshmemrs_malloc(rt, 5000, &freed));
    CHECK(nvshmemrs_free(rt, freed));
    if (chance(100) == 0) {
        CHECK(nvshmemrs_stream_new(rt, &stream));
        CHECK(nvshmemrs_event_new(rt, &event));
        CHECK(nvshmemrs_event_record(event, stream));
        CHECK(nvshmemrs_stream_release(stream));
    }
    CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
    CHECK(nvshmemrs_finalize(rt));
}

/* More streams and events are left to finalize, by and by, than there can be live handles. */
static void left_handles(void)
{
    nvshmemrs_init_attr_t attr = attributes();
    nvshmemrs_runtime_t rt;
    nvshmemrs_stream_t stream;
    nvshmemrs_event_t event;
    CHECK(nvshmemrs_init(&attr, &rt));
    CHECK(nvshmemrs_stream_new(rt, &stream));
    CHECK(nvshmemrs_event_new(rt, &event));
    CHECK(nvshmemrs_finalize(rt));
    CHECK(nvshmemrs_event_free(event));
    /* The stream's handle is never freed. */
}

static void init(void)
{
    nvshmemrs_init_attr_t attr = attributes();
    nvshmemrs_runtime_t rt;
    CHECK(nvshmemrs_init(&attr, &rt));
    live(rt);
}

static nvshmemrs_local_job_t job;

static void *second(void *unused)
{
    nvshmemrs_runtime_t rt;
    CHECK(nvshmemrs_local_job_join(job, 1, &rt));
    live(rt);
    return unused;
}

static void two_threads(void)
{
    nvshmemrs_init_attr_t attr = attributes();
    nvshmemrs_runtime_t rt;
    pthread_t thread;
    CHECK(nvshmemrs_local_job_new(2, &attr, &job));
    if (pthread_create(&thread, NULL, second, NULL) != 0)
        exit(93);
    CHECK(nvshmemrs_local_job_join(job, 0, &rt));
    live(rt);
    pthread_join(thread, NULL);
    CHECK(nvshmemrs_local_job_free(job));
}

static void two_processes(void)
{
    nvshmemrs_init_attr_t attr = attributes();
    nvshmemrs_runtime_t rt;
    CHECK(nvshmemrs_init_unique_id(&id, own_pe, 2, &attr, &rt));
    live(rt);
}

static void memory(void)
{
    void *some[2];
    CHECK(nvshmemrs_malloc(runtime, 1 + chance(20000), &some[0]));
    switch (chance(4)) {
    case 0:
        CHECK(nvshmemrs_calloc(runtime, 1 + chance(100), 8, &some[1]));
        break;
    case 1:
        CHECK(nvshmemrs_align(runtime, 4096, 1 + chance(10000), &some[1]));
        break;
    case 2:
        some[1] = NULL;
        break;
    default:
        CHECK(nvshmemrs_realloc(runtime, some[0], 1 + chance(40000), &some[0]));
        some[1] = NULL;
    }
    CHECK(nvshmemrs_free(runtime, some[0]));
    CHECK(nvshmemrs_free(runtime, some[1]));
}

static void releases(void)
{
    void *some;
    CHECK(nvshmemrs_malloc(runtime, 1 + chance(20000), &some));
    CHECK(nvshmemrs_release(runtime, some));
}

static void teams(void)
{
    nvshmemrs_team_t team, row, column;
    CHECK(nvshmemrs_team_split_strided(runtime, NVSHMEMRS_TEAM_WORLD, 0, 1, 1, NULL, 0, &team));
    if (chance(4) == 0) {
        CHECK(nvshmemrs_team_split_2d(runtime, team, 1, NULL, 0, NULL, 0, &row, &column));
        CHECK(nvshmemrs_team_destroy(runtime, row));
        CHECK(nvshmemrs_team_destroy(runtime, column));
    }
    CHECK(nvshmemrs_team_destroy(runtime, team));
}

static void streams(void)
{
    nvshmemrs_stream_t stream;
    CHECK(nvshmemrs_stream_new(runtime, &stream));
    if (chance(2) == 0)
        CHECK(nvshmemrs_quiet(stream));
    if (chance(2) == 0)
        CHECK(nvshmemrs_stream_free(stream));
    else
        CHECK(nvshmemrs_stream_release(stream));
}

/* How many threads there are when nothing is being made or freed. */
static long own_threads;

/* The threads of streams that were let go end by themselves; on a busy machine they take a moment. */
static void settle(void)
{
    for (int naps = 0; naps < 2000 && entries("/proc/self/task") > own_threads; naps++)
        nanosleep(&(struct timespec){0, 10000000}, NULL);
}

static void use_and_release(nvshmemrs_stream_t *streams, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        CHECK(nvshmemrs_stream_new(runtime, &streams[i]));
        CHECK(nvshmemrs_quiet(streams[i]));
    }
    for (size_t i = 0; i < count; i++)
        CHECK(nvshmemrs_stream_release(streams[i]));
    settle();
}

/* The C library keeps stacks of threads that have ended, 40 MiB of them at most, and some pages of each stay resident: as many as there
 * once were threads at a time, which is chance. So before one looks there are more streams at a time than fit (a stream's thread has a stack
 * of 2 MiB). The next release lets go of the threads that have ended before it, and the C library gives back what is over. */
static void fill_stacks(void)
{
    nvshmemrs_stream_t many[64];
    use_and_release(many, sizeof many / sizeof *many);
    use_and_release(many, 1);
}

static nvshmemrs_stream_t events_on;

static void events(void)
{
    nvshmemrs_event_t event;
    CHECK(nvshmemrs_event_new(runtime, &event));
    CHECK(nvshmemrs_event_record(event, events_on));
    if (chance(64) == 0)
        CHECK(nvshmemrs_event_synchronize(event));
    CHECK(nvshmemrs_event_free(event));
}

static void *buffer;

static void buffers(void)
{
    void *symmetric;
    size_t bytes = (1 + chance(4)) * 4096;
    CHECK(nvshmemrs_buffer_register(runtime, buffer, bytes, NULL, &symmetric));
    *(char *)symmetric += 1;
    CHECK(nvshmemrs_buffer_unregister(runtime, symmetric));
}

static void kept_heaps(void)
{
    nvshmemrs_mapping_t mapping;
    CHECK(nvshmemrs_heap_keep(runtime, &mapping));
    CHECK(nvshmemrs_heap_drop(mapping));
}

static const struct {
    const char *name;
    void (*round)(void);
    int joined;
} WHAT[] = {
    {"init", init, 0},       {"left handles", left_handles, 0},
    {"two threads", two_threads, 0}, {"two processes", two_processes, 0},
    {"memory", memory, 1},   {"releases", releases, 1},       {"teams", teams, 1},
    {"streams", streams, 1}, {"events", events, 1},           {"buffers", buffers, 1},
    {"kept heaps", kept_heaps, 1},
};

/* The figures while no operation is in flight. */
static struct figures at_rest(int joined)
{
    if (joined)
        CHECK(nvshmemrs_stream_synchronize(events_on));
    settle();
    if (joined)
        fill_stacks();
    return figures();
}

int main(int argc, char **argv)
{
    long rounds = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
    size_t which = 0, count = sizeof WHAT / sizeof *WHAT;
    while (argc > 1 && which < count && strcmp(WHAT[which].name, argv[1]) != 0)
        which++;
    if (argc < 2 || which == count || rounds < 100)
        return 2;

    pid_t child = 0;
    if (WHAT[which].round == two_processes) {
        CHECK(nvshmemrs_unique_id_new(&id));
        child = fork();
        if (child < 0)
            return 94;
        own_pe = child == 0;
    }
    nvshmemrs_init_attr_t attr = attributes();
    if (WHAT[which].joined) {
        CHECK(nvshmemrs_init(&attr, &runtime));
        CHECK(nvshmemrs_stream_new(runtime, &events_on));
        buffer = mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (buffer == MAP_FAILED)
            return 95;
    }
    own_threads = entries("/proc/self/task");
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    struct figures warm = {0, 0, 0, 0};
    for (long round = 0; round < rounds; round++) {
        if (round == rounds / 10)
            warm = at_rest(WHAT[which].joined);
        WHAT[which].round();
    }
    struct figures last = at_rest(WHAT[which].joined);
    clock_gettime(CLOCK_MONOTONIC, &end);
    if (WHAT[which].joined)
        CHECK(nvshmemrs_finalize(runtime));
    double seconds = (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec);
    printf("%s: %ld rounds in %.1f s: resident %ld -> %ld KiB, descriptors %ld -> %ld, threads %ld -> %ld, mappings %ld -> %ld\n",
           argv[1], rounds, seconds, warm.resident, last.resident, warm.descriptors, last.descriptors, warm.threads,
           last.threads, warm.mappings, last.mappings);
    fflush(stdout);
    int ended = 0;
    if (child > 0 && (waitpid(child, &ended, 0) != child || ended != 0))
        return 96;
    return 0;
}
