// Sample sort: sorts keys that are spread over PEs, with one exchange of data. The C form of examples/python/sample_sort.py,
// with the same keys, so that both print the same result.
//
//     nvshmemrs-run -n 4 -- ./sample_sort [KEYS]
//
// Each PE generates and sorts a block of the keys. Equidistant samples of all blocks give n - 1 splitters. Each PE cuts its
// sorted block at the splitters, and puts piece d into the inbox of PE d. The table of all piece lengths, which every PE
// has, tells each PE its place in every inbox.

#define _POSIX_C_SOURCE 199309L
#include <inttypes.h>
#include <nvshmemrs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SAMPLES = 64 }; // of each PE; more samples make the final blocks more equal

static nvshmemrs_runtime_t rt;
static int32_t me, n;

static void check(int32_t status) {
    if (status != NVSHMEMRS_SUCCESS) {
        fprintf(stderr, "sample_sort: %s\n", nvshmemrs_last_error());
        exit(1);
    }
}

// Zeros in symmetric memory. Collective.
static void *symmetric(size_t count, size_t size) {
    void *memory;
    check(nvshmemrs_calloc(rt, count, size, &memory));
    return memory;
}

static void *local(size_t count, size_t size) {
    void *memory = calloc(count + 1, size);
    if (!memory) {
        fprintf(stderr, "sample_sort: no memory for %zu elements\n", count);
        exit(1);
    }
    return memory;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// Key i: the product of the halves of element i of splitmix64, so that small keys are frequent.
static uint64_t key(uint64_t i) {
    uint64_t z = (i + 1) * UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    z ^= z >> 31;
    return (z >> 32) * (z & 0xFFFFFFFF);
}

static int compare(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void sort(uint64_t *keys, size_t count) { qsort(keys, count, sizeof *keys, compare); }

// The number of sorted keys below `bound`.
static size_t below(const uint64_t *keys, size_t count, uint64_t bound) {
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (keys[middle] < bound)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// Sorts the keys of all PEs, of which `block` has `count`. Collective. Gives this PE's part, and the lengths of all parts
// in `parts`.
static uint64_t *sample_sort(uint64_t *block, size_t count, size_t *parts) {
    const size_t pes = (size_t)n;
    sort(block, count);
    uint64_t *samples = symmetric(pes * SAMPLES, sizeof *samples), *mine = samples + me * SAMPLES;
    for (size_t i = 0; i < SAMPLES; i++)
        mine[i] = block[i * count / SAMPLES];
    check(nvshmemrs_fcollect(rt, NVSHMEMRS_TEAM_WORLD, samples, mine, SAMPLES * sizeof *mine));
    sort(samples, pes * SAMPLES);

    // lengths[from * n + to], and where each piece of mine begins.
    uint64_t *lengths = symmetric(pes * pes, sizeof *lengths), *row = lengths + (size_t)me * pes;
    size_t *cuts = local(pes + 1, sizeof *cuts);
    for (size_t pe = 0; pe < pes; pe++) {
        cuts[pe + 1] = pe + 1 == pes ? count : below(block, count, samples[(pe + 1) * SAMPLES]);
        row[pe] = cuts[pe + 1] - cuts[pe];
    }
    check(nvshmemrs_fcollect(rt, NVSHMEMRS_TEAM_WORLD, lengths, row, pes * sizeof *row));
    size_t largest = 0;
    for (size_t to = 0; to < pes; to++) {
        parts[to] = 0;
        for (size_t from = 0; from < pes; from++)
            parts[to] += lengths[from * pes + to];
        largest = parts[to] > largest ? parts[to] : largest;
    }

    uint64_t *inbox = symmetric(largest, sizeof *inbox);
    for (size_t i = 0; i < pes; i++) {
        const size_t to = ((size_t)me + i) % pes; // each PE begins with another destination
        size_t start = 0;
        for (size_t from = 0; from < (size_t)me; from++)
            start += lengths[from * pes + to];
        check(nvshmemrs_put_nbi(rt, inbox + start, block + cuts[to], row[to] * sizeof *block, (int32_t)to));
    }
    check(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD)); // completes all puts
    sort(inbox, parts[me]);
    free(cuts);
    check(nvshmemrs_free(rt, lengths));
    check(nvshmemrs_free(rt, samples));
    return inbox;
}

int main(int argc, char **argv) {
    char *end = "";
    const uint64_t total = argc > 1 ? strtoull(argv[1], &end, 10) : 2000000;
    check(nvshmemrs_init(NULL, &rt));
    check(nvshmemrs_my_pe(rt, &me));
    check(nvshmemrs_n_pes(rt, &n));
    if (argc > 2 || *end || total < (uint64_t)n * SAMPLES || total > UINT64_C(1) << 40) {
        fprintf(stderr, "usage: sample_sort [KEYS]\n%d PEs need at least %d keys\n", n, n * SAMPLES);
        return 2;
    }
    const uint64_t first = (uint64_t)me * total / (uint64_t)n, last = (uint64_t)(me + 1) * total / (uint64_t)n;
    uint64_t *block = local(last - first, sizeof *block);
    for (uint64_t i = first; i < last; i++)
        block[i - first] = key(i);
    size_t *parts = local((size_t)n, sizeof *parts);

    check(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
    const double begin = now();
    uint64_t *part = sample_sort(block, last - first, parts);
    check(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
    const double seconds = now() - begin;

    int ok = 1;
    if (me == 0) {
        uint64_t *whole = local(total, sizeof *whole), *alone = local(total, sizeof *alone), fingerprint = 0;
        size_t at = 0, least = parts[0], most = parts[0];
        for (int32_t pe = 0; pe < n; pe++) {
            check(nvshmemrs_get(rt, whole + at, part, parts[pe] * sizeof *whole, pe));
            at += parts[pe];
            least = parts[pe] < least ? parts[pe] : least;
            most = parts[pe] > most ? parts[pe] : most;
        }
        for (uint64_t i = 0; i < total; i++) {
            alone[i] = key(i);
            fingerprint += whole[i] * (i + 1);
        }
        sort(alone, total);
        ok = at == total && memcmp(whole, alone, total * sizeof *whole) == 0;
        printf("%" PRIu64 " keys on %d PEs, %zu to %zu keys on a PE\n", total, n, least, most);
        printf("time: %.4f s\n", seconds);
        printf("result: %016" PRIx64 "\n", fingerprint);
        printf("check: equal to the sort of one process: %s\n", ok ? "yes" : "FAILED");
        free(whole);
        free(alone);
    }
    check(nvshmemrs_finalize(rt));
    free(block);
    free(parts);
    return ok ? 0 : 1;
}
