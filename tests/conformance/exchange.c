// Conformance, scenarios "halo", "histogram", "types", "reductions", "signals", "errors" and "leaks": PEs exchange data of
// all types, and check the written elements and the elements beside them. The same steps, in the same order, are in the
// programs of this name in the other languages, so that PEs in different languages can run them as one job.

#define PROGRAM "exchange"
#include "common.h"

static int32_t left, right;
static char done[200];

#define RUN(scenario) (scenario(), strcat(done, " " #scenario))

// Each PE has ten cells of a ring, between copies of its neighbours' nearest ones.
static void halo(void) {
    const int cells = 10 * n;
    double *field = allocate(12, sizeof *field), next[10];
    uint64_t *flags = allocate(2, sizeof *flags);
    double *all = malloc((size_t)cells * 2 * sizeof *all), *then = all + cells;
    for (int j = 0; j < cells; j++) {
        all[j] = j / 10 * 100 + j % 10 + 1;
    }
    memcpy(field + 1, all + me * 10, sizeof next);
    barrier();
    for (uint64_t step = 1; step <= 3; step++) {
        MUST(nvshmemrs_put_signal(rt, field + 11, field + 1, sizeof *field, flags + 1, 1, NVSHMEMRS_SIGNAL_ADD, left));
        MUST(nvshmemrs_put_signal(rt, field, field + 10, sizeof *field, flags, 1, NVSHMEMRS_SIGNAL_ADD, right));
        MUST(nvshmemrs_signal_wait(rt, flags, NVSHMEMRS_CMP_GE, step, NULL));
        MUST(nvshmemrs_signal_wait(rt, flags + 1, NVSHMEMRS_CMP_GE, step, NULL));
        for (int i = 0; i < 10; i++) {
            next[i] = field[i] + field[i + 1] + field[i + 2];
        }
        memcpy(field + 1, next, sizeof next);
        barrier();
        for (int j = 0; j < cells; j++) {
            then[j] = all[(j + cells - 1) % cells] + all[j] + all[(j + 1) % cells];
        }
        memcpy(all, then, (size_t)cells * sizeof *all);
    }
    for (int i = 0; i < 10; i++) {
        same("cell", i, field[i + 1], all[me * 10 + i]);
    }
    free(all);
    release(flags);
    release(field);
}

static int draw(int pe, int k) { return (pe * 131 + k * k * 7 + k) % (8 * n); }

// Eight bins on each PE; every PE counts its draws where their bins are.
static void histogram(void) {
    uint64_t *bins = allocate(9, sizeof *bins), old = 0, wanted[8] = {0};
    for (int k = 0; k < 100; k++) {
        const int bin = draw(me, k);
        if (k % 2 == 0) {
            MUST(nvshmemrs_atomic_inc64(rt, bins + bin % 8, bin / 8));
        } else {
            MUST(nvshmemrs_atomic_fetch_add64(rt, bins + bin % 8, 1, bin / 8, &old));
            SAME(old < 100 * (uint64_t)n, 1);
        }
    }
    barrier();
    for (int pe = 0; pe < n; pe++) {
        for (int k = 0; k < 100; k++) {
            if (draw(pe, k) / 8 == me) {
                wanted[draw(pe, k) % 8]++;
            }
        }
    }
    for (int i = 0; i < 8; i++) {
        same("bin", i, (double)bins[i], (double)wanted[i]);
    }
    SAME(bins[8], 0);
    release(bins);
}

static const size_t sizes[] = {0, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8, 8, 16, 1, 1}; // by the number of the type

// The nearest number with so many bits of mantissa, of two the even one, from the bits of a float that is in its range.
static uint8_t eight_bits(uint32_t bits, int mantissa, int bias) {
    const int shift = 23 - mantissa;
    return (uint8_t)(((bits + (1u << (shift - 1)) - 1 + (bits >> shift & 1)) >> shift) - (uint32_t)((127 - bias) << mantissa));
}

// The bits of a small number in each type; complex ones also have an imaginary part.
static void encode(int32_t dtype, int number, int imaginary, void *element) {
    const float real = (float)number, parts[2] = {real, (float)imaginary};
    const double doubles[2] = {number, imaginary};
    const int64_t integer = number;
    uint32_t bits;
    memcpy(&bits, &real, sizeof bits);
    // Exact, since the numbers have few digits.
    const uint16_t half = (uint16_t)(number == 0 ? 0 : (bits >> 13) - (112 << 10)), upper = (uint16_t)(bits >> 16);
    const uint8_t e4m3 = eight_bits(bits, 3, 7), e5m2 = eight_bits(bits, 2, 15);
    const void *from = &integer; // little-endian: the first bytes are those of the shorter types
    switch (dtype) {
    case NVSHMEMRS_DTYPE_HALF: from = &half; break;
    case NVSHMEMRS_DTYPE_BFLOAT16: from = &upper; break;
    case NVSHMEMRS_DTYPE_FLOAT8_E4M3FN: from = &e4m3; break;
    case NVSHMEMRS_DTYPE_FLOAT8_E5M2: from = &e5m2; break;
    case NVSHMEMRS_DTYPE_FLOAT: case NVSHMEMRS_DTYPE_COMPLEXF: from = parts; break;
    case NVSHMEMRS_DTYPE_DOUBLE: case NVSHMEMRS_DTYPE_COMPLEXD: from = doubles; break;
    }
    memcpy(element, from, sizes[dtype]);
}

typedef struct {
    int32_t dtype;
    size_t size;
    char *memory;
} array;

static char *at(array a, int index) { return a.memory + (size_t)index * a.size; }

static void set(array a, int index, int number, int imaginary) { encode(a.dtype, number, imaginary, at(a, index)); }

static void holds(const char *what, array a, int index, int number, int imaginary) {
    char wanted[16];
    encode(a.dtype, number, imaginary, wanted);
    if (memcmp(at(a, index), wanted, a.size) != 0) {
        char text[120];
        snprintf(text, sizeof text, "element %d of dtype %d is not %d", index, (int)a.dtype, number);
        fail(what, text);
    }
}

static int value(int pe, int i) { return pe * 8 + i + 1; }

static void types(void) {
    for (int32_t dtype = 1; dtype <= 16; dtype++) {
        const size_t size = sizes[dtype];
        char sent[3 * 16], fetched[4 * 16];
        const array a = {dtype, size, allocate(8, size)}, local = {dtype, size, sent}, got = {dtype, size, fetched};
        for (int i = 0; i < 8; i++) {
            set(a, i, 77, 0);
        }
        for (int i = 0; i < 3; i++) {
            set(local, i, value(me, i), 2);
        }
        for (int i = 0; i < 4; i++) {
            set(got, i, 77, 0);
        }
        barrier();
        MUST(nvshmemrs_put(rt, at(a, 2), sent, 2 * size, right));
        MUST(nvshmemrs_put(rt, at(a, 5), at(local, 2), size, right));
        barrier();
        for (int i = 0; i < 8; i++) {
            const int from = i == 2 ? 0 : i == 3 ? 1 : i == 5 ? 2 : -1;
            holds("put", a, i, from < 0 ? 77 : value(left, from), from < 0 ? 0 : 2);
        }
        MUST(nvshmemrs_get(rt, at(got, 1), at(a, 2), 2 * size, right));
        for (int i = 0; i < 4; i++) {
            const int inside = i == 1 || i == 2;
            holds("get", got, i, inside ? value(me, i - 1) : 77, inside ? 2 : 0);
        }
        release(a.memory);
    }
}

// A member's contribution to a reduction, and the reduction's result.
static int mine(int32_t op, int m) {
    switch (op) {
    case NVSHMEMRS_OP_PROD: return m < 2 ? 2 : 1;
    case NVSHMEMRS_OP_AND: return 127 ^ 1 << m;
    case NVSHMEMRS_OP_OR: return 1 << m;
    case NVSHMEMRS_OP_XOR: return 64 | 1 << m;
    default: return m + 1;
    }
}

static int combined(int32_t op) {
    switch (op) {
    case NVSHMEMRS_OP_SUM: return n * (n + 1) / 2;
    case NVSHMEMRS_OP_MIN: return 1;
    case NVSHMEMRS_OP_MAX: return n;
    case NVSHMEMRS_OP_PROD: return n == 1 ? 2 : 4;
    case NVSHMEMRS_OP_AND: return 127 - ((1 << n) - 1);
    case NVSHMEMRS_OP_OR: return (1 << n) - 1;
    default: return (1 << n) - 1 + (n % 2 ? 64 : 0);
    }
}

static int has(int32_t dtype, int32_t op) {
    const int integer = dtype <= NVSHMEMRS_DTYPE_UINT64, complex = dtype == NVSHMEMRS_DTYPE_COMPLEXF || dtype == NVSHMEMRS_DTYPE_COMPLEXD;
    const int sums = op == NVSHMEMRS_OP_SUM || op == NVSHMEMRS_OP_PROD;
    return integer || sums || (!complex && (op == NVSHMEMRS_OP_MIN || op == NVSHMEMRS_OP_MAX));
}

// The source is elements 0 to 7, and the destination the rest.
static void fill(array a) {
    barrier();
    for (int i = 0; i < 8; i++) {
        set(a, i, value(me, i), 2);
        set(a, 8 + i, 77, 0);
    }
    barrier();
}

static void reductions(void) {
    for (int32_t dtype = 1; dtype <= 16; dtype++) {
        const size_t size = sizes[dtype];
        const array a = {dtype, size, allocate(16, size)};
        for (int32_t op = 1; op <= 7; op++) {
            if (!has(dtype, op)) {
                continue;
            }
            fill(a);
            set(a, 0, mine(op, me), 0);
            set(a, 1, mine(op, me), 0);
            MUST(nvshmemrs_reduce(rt, WORLD, at(a, 8), a.memory, 2, dtype, op));
            holds("reduce", a, 8, combined(op), 0);
            holds("reduce", a, 9, combined(op), 0);
            holds("reduce", a, 10, 77, 0);
            MUST(nvshmemrs_reduce(rt, WORLD, a.memory, a.memory, 2, dtype, op));
            holds("reduce in place", a, 1, combined(op), 0);
            holds("reduce in place", a, 2, value(me, 2), 2);
        }
        fill(a);
        MUST(nvshmemrs_broadcast(rt, WORLD, at(a, 8), a.memory, 2 * size, n - 1));
        holds("broadcast", a, 9, value(n - 1, 1), 2);
        holds("broadcast", a, 10, 77, 0);
        fill(a);
        MUST(nvshmemrs_fcollect(rt, WORLD, at(a, 8), a.memory, size));
        for (int i = 0; i <= n; i++) {
            holds("fcollect", a, 8 + i, i < n ? value(i, 0) : 77, i < n ? 2 : 0);
        }
        fill(a);
        MUST(nvshmemrs_alltoall(rt, WORLD, at(a, 8), a.memory, size));
        for (int i = 0; i <= n; i++) {
            holds("alltoall", a, 8 + i, i < n ? value(i, me) : 77, i < n ? 2 : 0);
        }
        release(a.memory);
    }
}

static void signals(void) {
    const int32_t compare[6] = {NVSHMEMRS_CMP_EQ, NVSHMEMRS_CMP_NE, NVSHMEMRS_CMP_GT, NVSHMEMRS_CMP_GE, NVSHMEMRS_CMP_LT,
                                NVSHMEMRS_CMP_LE};
    const uint64_t with[6] = {5, 4, 4, 5, 6, 5};
    uint64_t *words = allocate(4, sizeof *words), seen = 0, all = 0;
    double *data = allocate(4, sizeof *data);
    const double row[2] = {me + 0.5, me + 0.25};
    for (int pe = 0; pe < n; pe++) {
        MUST(nvshmemrs_signal_op(rt, words, UINT64_C(1) << 8 * me, NVSHMEMRS_SIGNAL_ADD, pe));
        all += UINT64_C(1) << 8 * pe;
    }
    MUST(nvshmemrs_signal_wait(rt, words, NVSHMEMRS_CMP_EQ, all, NULL));
    MUST(nvshmemrs_signal_op(rt, words + 1, 5, NVSHMEMRS_SIGNAL_SET, right));
    for (int i = 0; i < 6; i++) {
        MUST(nvshmemrs_signal_wait(rt, words + 1, i == 0 ? NVSHMEMRS_CMP_GE : compare[i], with[i], &seen));
        GIVES(5, seen, nvshmemrs_signal_wait(rt, words + 1, compare[i], with[i], &seen));
    }
    for (int nbi = 0; nbi < 2; nbi++) {
        if (nbi) {
            MUST(nvshmemrs_put_signal_nbi(rt, data + 1, row, sizeof row, words + 2, 4, NVSHMEMRS_SIGNAL_ADD, right));
        } else {
            MUST(nvshmemrs_put_signal(rt, data + 1, row, sizeof row, words + 2, 3, NVSHMEMRS_SIGNAL_ADD, right));
        }
        MUST(nvshmemrs_signal_wait(rt, words + 2, NVSHMEMRS_CMP_EQ, nbi ? 7 : 3, NULL));
        SAME(data[0], 0);
        SAME(data[1], left + 0.5);
        SAME(data[2], left + 0.25);
        SAME(data[3], 0);
        data[1] = data[2] = 0;
        MUST(nvshmemrs_quiet(rt));
        barrier();
    }
    GIVES(7, seen, nvshmemrs_signal_fetch(rt, words + 2, &seen));
    SAME(words[3], 0);
    release(data);
    release(words);
}

// One PE's mistake: the others hear of it, nothing is written, and the job goes on.
static void errors(void) {
    int64_t *words = allocate(4, sizeof *words);
    words[0] = me + 1;
    words[2] = -7;
    REFUSED(PE_RANGE, nvshmemrs_put(rt, words + 1, words, sizeof *words, n));
    SAME(strstr(nvshmemrs_last_error(), "`pe`") != NULL, 1);
    REFUSED(PE_RANGE, nvshmemrs_atomic_inc64(rt, (uint64_t *)words + 1, -1));
    const int32_t wanted = me == n - 1 ? NVSHMEMRS_ERROR_PE_RANGE : NVSHMEMRS_ERROR_PEER_ARGUMENT;
    expect(nvshmemrs_broadcast(rt, WORLD, words + 2, words, sizeof *words, me == n - 1 ? n : 0), wanted, "broadcast");
    char name[16];
    snprintf(name, sizeof name, "PE %d", (int)(me == n - 1 ? n : n - 1));
    SAME(strstr(nvshmemrs_last_error(), name) != NULL, 1);
    SAME(words[1], 0);
    SAME(words[2], -7);
    MUST(nvshmemrs_broadcast(rt, WORLD, words + 2, words, sizeof *words, 0));
    SAME(words[2], 1);
    release(words);
}

static int64_t allocations(void) {
    nvshmemrs_heap_stats_t stats;
    MUST(nvshmemrs_heap_stats(rt, &stats));
    return (int64_t)stats.allocations;
}

// The list of memory that is not freed has the place of the allocations and the number of bytes; or it says that everything is freed.
static void unfreed(int bytes) {
    char text[2000], sum[32];
    size_t length = 0;
    MUST(nvshmemrs_unfreed(rt, text, sizeof text, &length));
    snprintf(sum, sizeof sum, " %d bytes", bytes);
    const int listed = strstr(text, "common.h:") && strstr(text, "(allocate)") && strstr(text, sum);
    if (bytes == 0 ? !strstr(text, "everything is freed") : !listed) {
        fail("unfreed", text);
    }
}

static void leaks(void) {
    SAME(allocations(), 0);
    unfreed(0);
    int64_t *kept = allocate(3, sizeof *kept), *given = allocate(5, sizeof *given), *dropped = allocate(7, sizeof *dropped);
    SAME(allocations(), 3);
    unfreed(120);
    release(given);
    SAME(allocations(), 2);
    MUST(nvshmemrs_release(rt, dropped));
    unfreed(24);
    barrier();
    int64_t *next = allocate(1, sizeof *next); // frees the arrays that all PEs have released
    SAME(allocations(), 2);
    unfreed(32);
    release(next);
    release(kept);
    unfreed(0);
    SAME(allocations(), 0);
}

int main(void) {
    init();
    left = (me + n - 1) % n;
    right = (me + 1) % n;
    RUN(halo);
    RUN(histogram);
    RUN(types);
    RUN(reductions);
    RUN(signals);
    RUN(errors);
    RUN(leaks);
    MUST(nvshmemrs_finalize(rt));
    printf("exchange ok PE %d of %d (C):%s\n", (int)me, (int)n, done);
    return 0;
}
