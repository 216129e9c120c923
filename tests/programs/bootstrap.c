/* Joins a job in the way the arguments say, works in it, and leaves it. A status that is no success is printed, and is the
 * exit status.
 *
 *   env                     joins as the environment says
 *   uid FILE PE N           a unique id that PE 0 makes and writes to FILE
 *   stdin PE N              a unique id that comes on standard input
 *   rounds N                N jobs, one after the other, with other heaps
 *   malloc BYTES            joins as the environment says, and allocates BYTES
 *   exec WORDS...           joins as the environment says, and starts another program meanwhile */

#include "check.h"

#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>

static void end(const char *call, int32_t status)
{
    printf("%s: status %d: %s\n", call, (int)status, nvshmemrs_last_error());
    exit(status);
}

#define MUST(call) \
    do { \
        int32_t status = (call); \
        if (status != NVSHMEMRS_SUCCESS) \
            end(#call, status); \
    } while (0)

static void work(nvshmemrs_runtime_t runtime, double token)
{
    int32_t me, n_pes;
    void *memory;
    double sum[2] = {token, 1};
    MUST(nvshmemrs_my_pe(runtime, &me));
    MUST(nvshmemrs_n_pes(runtime, &n_pes));
    MUST(nvshmemrs_malloc(runtime, sizeof sum + sizeof(double), &memory));
    double *data = memory;
    memcpy(data, sum, sizeof sum);
    MUST(nvshmemrs_reduce(runtime, NVSHMEMRS_TEAM_WORLD, data, data, 2, NVSHMEMRS_DTYPE_DOUBLE, NVSHMEMRS_OP_SUM));
    double value = me + token;
    MUST(nvshmemrs_put(runtime, data + 2, &value, sizeof value, (me + 1) % n_pes));
    MUST(nvshmemrs_barrier(runtime, NVSHMEMRS_TEAM_WORLD));
    if (data[0] != n_pes * token || data[1] != n_pes || data[2] != (me + n_pes - 1) % n_pes + token) {
        printf("PE %d of %d has wrong data: %g %g %g\n", (int)me, (int)n_pes, data[0], data[1], data[2]);
        exit(90);
    }
    MUST(nvshmemrs_free(runtime, memory));
    printf("worked PE %d of %d\n", (int)me, (int)n_pes);
    fflush(stdout);
}

static void rounds(int count)
{
    for (int round = 0; round < count; round++) {
        nvshmemrs_runtime_t runtime;
        nvshmemrs_init_attr_t attr;
        nvshmemrs_heap_stats_t stats;
        uint64_t heap = (UINT64_C(4) << 20) * (uint64_t)(1 + (round * 5) % 7);
        void *memory;
        MUST(nvshmemrs_init_attr_default(&attr));
        attr.heap_bytes = heap;
        MUST(nvshmemrs_init(&attr, &runtime));
        MUST(nvshmemrs_heap_stats(runtime, &stats));
        if (stats.heap_bytes != heap || stats.used_bytes != 0) {
            printf("round %d: a heap of %llu bytes with %llu used\n", round, (unsigned long long)stats.heap_bytes,
                   (unsigned long long)stats.used_bytes);
            exit(91);
        }
        if (nvshmemrs_malloc(runtime, heap + 1, &memory) != NVSHMEMRS_ERROR_OUT_OF_MEMORY)
            exit(92);
        MUST(nvshmemrs_malloc(runtime, heap / 2, &memory));
        memset(memory, round + 1, heap / 2);
        work(runtime, round + 1.0);
        MUST(nvshmemrs_finalize(runtime));
        if (nvshmemrs_barrier(runtime, NVSHMEMRS_TEAM_WORLD) != NVSHMEMRS_ERROR_NOT_INITIALIZED)
            exit(93);
    }
}

/* The file appears whole: PE 0 writes another file and renames it. */
static void hand_out(const char *file, const nvshmemrs_unique_id_t *id)
{
    char fresh[4096];
    snprintf(fresh, sizeof fresh, "%s.new", file);
    int out = open(fresh, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (out < 0 || write(out, id, sizeof *id) != sizeof *id || close(out) != 0 || rename(fresh, file) != 0)
        exit(94);
}

static void take(const char *file, nvshmemrs_unique_id_t *id)
{
    int in;
    while ((in = open(file, O_RDONLY)) < 0)
        usleep(1000);
    if (read(in, id, sizeof *id) != sizeof *id)
        exit(95);
    close(in);
}

static void join_by_id(const nvshmemrs_unique_id_t *id, const char *pe, const char *n_pes)
{
    nvshmemrs_runtime_t runtime;
    MUST(nvshmemrs_init_unique_id(id, atoi(pe), atoi(n_pes), NULL, &runtime));
    work(runtime, 3);
    MUST(nvshmemrs_finalize(runtime));
}

/* Starts another program while everything of the library's is open, and waits for it. */
static void start(nvshmemrs_runtime_t runtime, char **words)
{
    nvshmemrs_stream_t stream;
    int status;
    MUST(nvshmemrs_stream_new(runtime, &stream));
    pid_t child = fork();
    if (child == 0) {
        execvp(words[0], words);
        _exit(127);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        exit(89);
    MUST(nvshmemrs_stream_free(stream));
}

int main(int argc, char **argv)
{
    nvshmemrs_runtime_t runtime;
    nvshmemrs_unique_id_t id;
    const char *how = argc > 1 ? argv[1] : "";
    if (strcmp(how, "env") == 0) {
        const char *token = getenv("TOKEN");
        MUST(nvshmemrs_init(NULL, &runtime));
        work(runtime, token ? atof(token) : 1);
        MUST(nvshmemrs_finalize(runtime));
    } else if (strcmp(how, "uid") == 0 && argc == 5) {
        if (atoi(argv[3]) == 0) {
            MUST(nvshmemrs_unique_id_new(&id));
            hand_out(argv[2], &id);
        } else {
            take(argv[2], &id);
        }
        join_by_id(&id, argv[3], argv[4]);
    } else if (strcmp(how, "stdin") == 0 && argc == 4) {
        if (fread(&id, sizeof id, 1, stdin) != 1)
            return 96;
        join_by_id(&id, argv[2], argv[3]);
    } else if (strcmp(how, "exec") == 0 && argc > 2) {
        MUST(nvshmemrs_init(NULL, &runtime));
        MUST(nvshmemrs_barrier(runtime, NVSHMEMRS_TEAM_WORLD));
        start(runtime, argv + 2);
        MUST(nvshmemrs_finalize(runtime));
    } else if (strcmp(how, "rounds") == 0 && argc == 3) {
        rounds(atoi(argv[2]));
    } else if (strcmp(how, "malloc") == 0 && argc == 3) {
        void *memory = NULL;
        MUST(nvshmemrs_init(NULL, &runtime));
        int32_t status = nvshmemrs_malloc(runtime, strtoull(argv[2], NULL, 10), &memory);
        if (status != 0) {
            printf("malloc: status %d: %s\n", (int)status, nvshmemrs_last_error());
            if (memory)
                exit(97);
        }
        work(runtime, 1);
        MUST(nvshmemrs_finalize(runtime));
        return status;
    } else {
        return 98;
    }
    return 0;
}
