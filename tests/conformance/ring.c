// Every PE exchanges data with its neighbours by every kind of operation, and checks the written elements and the
// elements beside them: the short program of the tests on several hosts and on GPUs.

#define PROGRAM "ring"
#include "common.h"

static void put_with_signal(int32_t left, int32_t right) {
    double *field = allocate(10, sizeof *field);
    uint64_t *signals = allocate(2, sizeof *signals);
    double row[4];
    for (int i = 0; i < 4; i++) {
        row[i] = me * 100.0 + i;
    }
    MUST(nvshmemrs_put_signal(rt, field + 2, row, sizeof row, signals, 1, NVSHMEMRS_SIGNAL_SET, right));
    uint64_t seen = 0;
    MUST(nvshmemrs_signal_wait(rt, signals, NVSHMEMRS_CMP_GE, 1, &seen));
    CHECK(seen == 1);
    for (int i = 0; i < 4; i++) {
        CHECK(field[2 + i] == left * 100.0 + i);
    }
    CHECK(field[1] == 0.0 && field[6] == 0.0);
    CHECK(signals[1] == 0);
    barrier();

    MUST(nvshmemrs_signal_op(rt, signals + 1, 5, NVSHMEMRS_SIGNAL_ADD, right));
    MUST(nvshmemrs_signal_wait(rt, signals + 1, NVSHMEMRS_CMP_EQ, 5, NULL));
    uint64_t now = 0;
    MUST(nvshmemrs_signal_fetch(rt, signals, &now));
    CHECK(now == 1);
    barrier();
    MUST(nvshmemrs_free(rt, signals));
    MUST(nvshmemrs_free(rt, field));
}

// Each width writes 8 bytes into its own 24 bytes, so that there is room to see a write that is too wide.
static void single_elements(int32_t left, int32_t right) {
    unsigned char *scratch = allocate(4 * 24, 1);
    MUST(nvshmemrs_p8(rt, scratch + 8, (uint8_t)(0xa0 + me), right));
    MUST(nvshmemrs_p16(rt, scratch + 32, (uint16_t)(0xb000 + me), right));
    MUST(nvshmemrs_p32(rt, scratch + 56, 0xc0000000u + (uint32_t)me, right));
    MUST(nvshmemrs_p64(rt, scratch + 80, 0xd000000000000000u + (uint64_t)me, right));
    barrier();

    uint8_t v8 = (uint8_t)(0xa0 + left);
    uint16_t v16 = (uint16_t)(0xb000 + left);
    uint32_t v32 = 0xc0000000u + (uint32_t)left;
    uint64_t v64 = 0xd000000000000000u + (uint64_t)left;
    unsigned char expected[4 * 24] = {0};
    memcpy(expected + 8, &v8, sizeof v8);
    memcpy(expected + 32, &v16, sizeof v16);
    memcpy(expected + 56, &v32, sizeof v32);
    memcpy(expected + 80, &v64, sizeof v64);
    CHECK(memcmp(scratch, expected, sizeof expected) == 0);

    MUST(nvshmemrs_g8(rt, scratch + 8, right, &v8));
    MUST(nvshmemrs_g16(rt, scratch + 32, right, &v16));
    MUST(nvshmemrs_g32(rt, scratch + 56, right, &v32));
    MUST(nvshmemrs_g64(rt, scratch + 80, right, &v64));
    CHECK(v8 == (uint8_t)(0xa0 + me));
    CHECK(v16 == (uint16_t)(0xb000 + me));
    CHECK(v32 == 0xc0000000u + (uint32_t)me);
    CHECK(v64 == 0xd000000000000000u + (uint64_t)me);
    barrier();
    MUST(nvshmemrs_free(rt, scratch));
}

static void atomics(void) {
    uint64_t *words = allocate(3, sizeof *words);
    uint32_t *halves = allocate(3, sizeof *halves);
    uint64_t old64 = 99;
    uint32_t old32 = 99;
    MUST(nvshmemrs_atomic_fetch_add64(rt, words, 1, 0, &old64));
    MUST(nvshmemrs_atomic_fetch_add32(rt, halves, 1, 0, &old32));
    CHECK(old64 < (uint64_t)n && old32 < (uint32_t)n);

    // One PE finds 0 and puts its own number; the others get that number and change nothing.
    MUST(nvshmemrs_atomic_compare_swap64(rt, words + 1, 0, (uint64_t)me + 1, 0, &old64));
    MUST(nvshmemrs_atomic_compare_swap32(rt, halves + 1, 0, (uint32_t)me + 1, 0, &old32));
    barrier();
    uint64_t winner64 = 0;
    uint32_t winner32 = 0;
    MUST(nvshmemrs_g64(rt, words + 1, 0, &winner64));
    MUST(nvshmemrs_g32(rt, halves + 1, 0, &winner32));
    CHECK(winner64 >= 1 && winner64 <= (uint64_t)n && winner32 >= 1 && winner32 <= (uint32_t)n);
    CHECK(old64 == (winner64 == (uint64_t)me + 1 ? 0 : winner64));
    CHECK(old32 == (winner32 == (uint32_t)me + 1 ? 0 : winner32));
    if (me == 0) {
        CHECK(words[0] == (uint64_t)n && halves[0] == (uint32_t)n);
    } else {
        CHECK(words[0] == 0 && halves[0] == 0);
    }
    CHECK(words[2] == 0 && halves[2] == 0);
    barrier();
    MUST(nvshmemrs_free(rt, halves));
    MUST(nvshmemrs_free(rt, words));
}

static void get_and_nonblocking(int32_t left, int32_t right) {
    double *mine = allocate(8, sizeof *mine);
    double *received = allocate(8, sizeof *received);
    for (int i = 0; i < 8; i++) {
        mine[i] = me * 10.0 + i;
    }
    barrier();
    double row[6] = {-1, -1, -1, -1, -1, -1};
    MUST(nvshmemrs_get(rt, row + 1, mine + 2, 4 * sizeof *row, right));
    for (int i = 0; i < 4; i++) {
        CHECK(row[1 + i] == right * 10.0 + 2 + i);
    }
    CHECK(row[0] == -1 && row[5] == -1);

    MUST(nvshmemrs_put_nbi(rt, received + 2, row + 1, 4 * sizeof *row, right));
    double other[3] = {-1, -1, -1};
    MUST(nvshmemrs_get_nbi(rt, other + 1, mine + 7, sizeof *other, left));
    MUST(nvshmemrs_quiet(rt));
    CHECK(other[1] == left * 10.0 + 7 && other[0] == -1 && other[2] == -1);
    barrier();
    for (int i = 0; i < 8; i++) {
        // The left neighbour sent back the data that it had received from this PE.
        CHECK(received[i] == (i >= 2 && i < 6 ? me * 10.0 + i : 0.0));
    }
    MUST(nvshmemrs_fence(rt));
    barrier();
    MUST(nvshmemrs_free(rt, received));
    MUST(nvshmemrs_free(rt, mine));
}

// `dest` and `source` have six elements, of which the last must stay as it is.
static void reduce_doubles(double *dest, double *source) {
    const int32_t ops[3] = {NVSHMEMRS_OP_SUM, NVSHMEMRS_OP_MIN, NVSHMEMRS_OP_MAX};
    for (int o = 0; o < 3; o++) {
        for (int i = 0; i < 5; i++) {
            source[i] = (me + 1.0) * (i + 1);
        }
        source[5] = dest[5] = -7;
        MUST(nvshmemrs_reduce(rt, NVSHMEMRS_TEAM_WORLD, dest, source, 5, NVSHMEMRS_DTYPE_DOUBLE, ops[o]));
        for (int i = 0; i < 5; i++) {
            const double expected[3] = {n * (n + 1) / 2.0 * (i + 1), i + 1.0, n * (i + 1.0)};
            CHECK(dest[i] == expected[o]);
        }
        CHECK(dest[5] == -7);
        barrier();
    }
}

static void reduce_integers(int32_t *dest, int32_t *source) {
    const int32_t ops[3] = {NVSHMEMRS_OP_SUM, NVSHMEMRS_OP_MIN, NVSHMEMRS_OP_MAX};
    for (int o = 0; o < 3; o++) {
        for (int i = 0; i < 5; i++) {
            source[i] = me - i;
        }
        source[5] = dest[5] = -7;
        MUST(nvshmemrs_reduce(rt, NVSHMEMRS_TEAM_WORLD, dest, source, 5, NVSHMEMRS_DTYPE_INT32, ops[o]));
        for (int i = 0; i < 5; i++) {
            const int32_t expected[3] = {n * (n - 1) / 2 - n * i, -i, n - 1 - i};
            CHECK(dest[i] == expected[o]);
        }
        CHECK(dest[5] == -7);
        barrier();
    }
}

static void collectives(void) {
    double *doubles = allocate(12, sizeof *doubles);
    reduce_doubles(doubles, doubles + 6);
    reduce_doubles(doubles, doubles);
    int32_t *integers = allocate(12, sizeof *integers);
    reduce_integers(integers, integers + 6);
    reduce_integers(integers, integers);

    int64_t *words = allocate(10, sizeof *words);
    for (int i = 0; i < 5; i++) {
        words[5 + i] = me * 1000 + i;
    }
    barrier();
    MUST(nvshmemrs_broadcast(rt, NVSHMEMRS_TEAM_WORLD, words, words + 5, 4 * sizeof *words, n - 1));
    MUST(nvshmemrs_broadcast(rt, NVSHMEMRS_TEAM_WORLD, words + 5, words + 5, 4 * sizeof *words, n - 1));
    for (int i = 0; i < 4; i++) {
        CHECK(words[i] == (n - 1) * 1000 + i && words[5 + i] == (n - 1) * 1000 + i);
    }
    CHECK(words[4] == 0 && words[9] == me * 1000 + 4);
    MUST(nvshmemrs_sync(rt, NVSHMEMRS_TEAM_WORLD));

    nvshmemrs_heap_stats_t stats;
    MUST(nvshmemrs_heap_stats(rt, &stats));
    CHECK(stats.allocations == 3 && stats.used_bytes >= (96 + 48 + 80));
    CHECK(stats.used_bytes + stats.free_bytes == stats.heap_bytes);
    MUST(nvshmemrs_free(rt, words));
    MUST(nvshmemrs_free(rt, integers));
    MUST(nvshmemrs_free(rt, doubles));
}

int main(void) {
    if (nvshmemrs_abi_version() != NVSHMEMRS_ABI_VERSION || nvshmemrs_api_hash() != NVSHMEMRS_API_HASH) {
        fprintf(stderr, "ring: the library is not the one that nvshmemrs.h belongs to\n");
        return 1;
    }
    nvshmemrs_init_attr_t attr;
    MUST(nvshmemrs_init_attr_default(&attr));
    MUST(nvshmemrs_init(&attr, &rt));
    MUST(nvshmemrs_my_pe(rt, &me));
    MUST(nvshmemrs_n_pes(rt, &n));
    CHECK(me >= 0 && me < n);
    const int32_t left = (me + n - 1) % n, right = (me + 1) % n;

    put_with_signal(left, right);
    single_elements(left, right);
    atomics();
    get_and_nonblocking(left, right);
    collectives();

    nvshmemrs_heap_stats_t stats;
    MUST(nvshmemrs_heap_stats(rt, &stats));
    CHECK(stats.allocations == 0 && stats.used_bytes == 0 && stats.free_bytes == stats.heap_bytes);
    MUST(nvshmemrs_finalize(rt));
    printf("ring ok PE %d of %d (C)\n", (int)me, (int)n);
    return 0;
}
