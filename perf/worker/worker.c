/*
 * The worker of nvshmemrs-perf: one source for all sides. The tool compiles it with -include side_ours.h,
 * side_oshmem.h or side_mpi.h, so that all libraries run the same loops, and runs them in turn.
 *
 *     worker HEAP_BYTES BUFFER_BYTES BUDGET_US DTYPE OP OPERATION:BYTES...
 *     worker startup
 *
 * PE 0 prints a line of JSON for each case, and a line at the end of all cases.
 */
#include "measure.h"
#include "pair.h"
#include "atomics.h"
#include "collectives.h"
#include "reductions.h"
#include "startup.h"

static const struct operation operations[] = {PAIR_OPERATIONS, ATOMIC_OPERATIONS, COLLECTIVE_OPERATIONS};

static void usage(const char *what, const char *argument)
{
    fprintf(stderr, "worker: %s: %s\n", what, argument);
    exit(2);
}

static int64_t number(const char *text)
{
    char *end = NULL;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || value < 0) {
        usage("not a number", text);
    }
    return value;
}

static int index_of(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; ++i) {
        if (strcmp(names[i], name) == 0) {
            return (int)i;
        }
    }
    usage("unknown name", name);
    return -1;
}

static const struct operation *find(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof operations / sizeof *operations; ++i) {
        if (strlen(operations[i].name) == length && strncmp(operations[i].name, name, length) == 0) {
            return &operations[i];
        }
    }
    usage("unknown operation", name);
    return NULL;
}

/* How a copy is aligned decides about its speed, so buffers begin with a page on every side. */
#define PAGE ((size_t)4096)

/* Symmetric memory, zeroed. Heaps begin with a page on every PE, so all PEs round alike. */
static void *on_page(size_t count)
{
    uintptr_t start = (uintptr_t)bench_calloc(count + PAGE);
    return (void *)((start + PAGE - 1) / PAGE * PAGE);
}

static void run_case(const char *text, double budget_us)
{
    const char *colon = strchr(text, ':');
    if (colon == NULL) {
        usage("not OPERATION:BYTES", text);
    }
    const struct operation *operation = find(text, (size_t)(colon - text));
    bytes = (size_t)number(colon + 1);
    if (operation->run != NULL) {
        measure(operation, budget_us);
    } else if (me == 0) {
        printf("{\"operation\": \"%s\", \"bytes\": %zu, \"missing\": true}\n", operation->name, bytes);
    }
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "startup") == 0) {
        startup();
        return 0;
    }
    if (argc < 7) {
        usage("wrong number of arguments", argv[0]);
    }
    size_t heap_bytes = (size_t)number(argv[1]);
    buffer_bytes = (size_t)number(argv[2]);
    double budget_us = (double)number(argv[3]);
    dtype = (enum dtype)index_of(dtype_names, sizeof dtype_names / sizeof *dtype_names, argv[4]);
    op = (enum op)index_of(op_names, sizeof op_names / sizeof *op_names, argv[5]);

    bench_init(heap_bytes, buffer_bytes);
    me = bench_my_pe();
    n_pes = bench_n_pes();
    target = on_page(buffer_bytes);
    origin = on_page(buffer_bytes);
    words = on_page(sizeof *words);
    if (posix_memalign((void **)&local, PAGE, buffer_bytes) != 0) {
        fprintf(stderr, "PE %d: no %zu bytes of memory\n", me, buffer_bytes);
        return 1;
    }
    memset(local, 0, buffer_bytes);
    for (int i = 6; i < argc; ++i) {
        run_case(argv[i], budget_us);
    }
    if (me == 0) {
        printf("{\"done\": true}\n");
        fflush(stdout);
    }
    bench_barrier();
    bench_finalize();
    return 0;
}
