/* Times operations to a PE of another host, and MPI's own operations: compiled once against each (WITH_MPI). Each line of the output
 * is a name and the median of 5 batches in microseconds of one call. The results of nvshmemrs are checked. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BATCHES = 5, LARGE = 4 << 20, MANY = 1000 };

static int me, n;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

#ifdef WITH_MPI

#include <mpi.h>

static char *large;
static int64_t word, sum;

static void meet(void) { MPI_Barrier(MPI_COMM_WORLD); }

static void round_trip(void)
{
    if (me == 0) {
        MPI_Send(&word, 8, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(&word, 8, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (me == 1) {
        MPI_Recv(&word, 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&word, 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
}

static void large_send(void)
{
    if (me == 0) {
        MPI_Send(large, LARGE, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(&word, 8, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (me == 1) {
        MPI_Recv(large, LARGE, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&word, 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
}

static void reduce(void) { MPI_Allreduce(&word, &sum, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD); }

#else

#include "nvshmemrs.h"

static nvshmemrs_runtime_t rt;
static char *large, *mine;
static int64_t *words;
static int64_t word;
static int target;

#define MUST(call)                                                          \
    do {                                                                    \
        if ((call) != NVSHMEMRS_SUCCESS) {                                  \
            fprintf(stderr, "%s: %s\n", #call, nvshmemrs_last_error());     \
            exit(1);                                                        \
        }                                                                   \
    } while (0)

static void meet(void) { MUST(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD)); }

static void put(void)
{
    if (me == 0) {
        word++;
        MUST(nvshmemrs_put(rt, words, &word, 8, target));
        MUST(nvshmemrs_quiet(rt));
    }
}

static void get(void)
{
    if (me == 0)
        MUST(nvshmemrs_get(rt, &word, words, 8, target));
}

static void fetch_add(void)
{
    uint64_t old;
    if (me == 0)
        MUST(nvshmemrs_atomic_fetch_add64(rt, (uint64_t *)&words[1], 1, target, &old));
}

static void large_put(void)
{
    if (me == 0) {
        MUST(nvshmemrs_put(rt, large, mine, LARGE, target));
        MUST(nvshmemrs_quiet(rt));
    }
}

static void many(void)
{
    if (me == 0) {
        for (int i = 0; i < MANY; i++)
            MUST(nvshmemrs_put_nbi(rt, &words[2 + i], &mine[8 * i], 8, target));
        MUST(nvshmemrs_quiet(rt));
    }
}

static void reduce(void)
{
    MUST(nvshmemrs_reduce(rt, NVSHMEMRS_TEAM_WORLD, &words[1], words, 1, NVSHMEMRS_DTYPE_INT64, NVSHMEMRS_OP_SUM));
}

static void near_barrier(void) { MUST(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_SHARED)); }

#endif

/* All processes make the same number of calls; process 0 prints the time of one. */
static void measure(const char *name, void (*call)(void), int calls)
{
    double batch[BATCHES];
    for (int i = 0; i < calls / 10 + 1; i++)
        call();
    for (int b = 0; b < BATCHES; b++) {
        meet();
        double start = now();
        for (int i = 0; i < calls; i++)
            call();
        batch[b] = (now() - start) / calls;
        meet();
    }
    qsort(batch, BATCHES, sizeof *batch, compare);
    if (me == 0) {
        printf("%s %.4f\n", name, batch[BATCHES / 2]);
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    int calls = argc > 1 ? atoi(argv[1]) : 1000;
    const char *what = argc > 2 ? argv[2] : "";
#ifdef WITH_MPI
    int threads = strcmp(what, "threads") == 0, level;
    MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_SERIALIZED : MPI_THREAD_SINGLE, &level);
    if (threads && level < MPI_THREAD_SERIALIZED) {
        fprintf(stderr, "MPI gives no MPI_THREAD_SERIALIZED\n");
        return 1;
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    large = calloc(1, LARGE);
    if (threads || strcmp(what, "pair") == 0) {
        measure("round_trip", round_trip, calls);
        measure("large", large_send, calls / 50 + 2);
    } else {
        measure("barrier", meet, calls);
        measure("reduce", reduce, calls);
    }
    MPI_Finalize();
#else
    void *memory;
    MUST(nvshmemrs_init(NULL, &rt));
    int32_t pe, count;
    MUST(nvshmemrs_my_pe(rt, &pe));
    MUST(nvshmemrs_n_pes(rt, &count));
    me = pe, n = count;
    target = strcmp(what, "near") == 0 ? 1 : n - 1;
    MUST(nvshmemrs_calloc(rt, LARGE, 1, &memory));
    large = memory;
    MUST(nvshmemrs_calloc(rt, MANY + 3, 8, &memory));
    words = memory;
    mine = malloc(LARGE);
    for (int i = 0; i < LARGE; i++)
        mine[i] = (char)(i * 7 + 1);
    if (strcmp(what, "pair") == 0) {
        measure("put", put, calls);
        measure("get", get, calls);
        measure("fetch_add", fetch_add, calls);
        measure("large", large_put, calls / 50 + 2);
        measure("many", many, calls / 50 + 2);
        if (me == target && (memcmp(large, mine, LARGE) != 0 || memcmp(&words[2], mine, 8 * MANY) != 0 || words[MANY + 2] != 0)) {
            fprintf(stderr, "PE %d has not got the data that was put\n", me);
            return 1;
        }
    } else if (strcmp(what, "near") == 0) {
        measure("near_put", put, calls);
        measure("near_barrier", near_barrier, calls);
    } else {
        words[0] = me + 1;
        measure("barrier", meet, calls);
        measure("reduce", reduce, calls);
        if (words[1] != n * (n + 1) / 2) {
            fprintf(stderr, "PE %d has a sum of %ld\n", me, (long)words[1]);
            return 1;
        }
    }
    meet();
    MUST(nvshmemrs_finalize(rt));
#endif
    return 0;
}
