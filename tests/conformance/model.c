// Conformance, scenario "model": teams, strided copies, atomics, waits and tests, collectives on the world and on a team
// made by a split, streams and events, memory that changes its size or comes from elsewhere. A check that fails prints the
// value that it found. The same steps, in the same order, are in the programs of this name in the other languages.

#define PROGRAM "model"
#include "common.h"

#include <complex.h>

static int32_t left, right;
static char done[200];

#define RUN(scenario) (scenario(), strcat(done, " " #scenario))
#define ALL(what, i, count, found, wanted)                    \
    for (int i = 0; i < (count); i++) {                       \
        same(what, i, (double)(found), (double)(wanted));     \
    }

// The last PE, the one before the one before it, and so on to PE 0 or 1; TEAM_INVALID on the others.
static nvshmemrs_team_t split_back(int32_t *index) {
    nvshmemrs_team_config_t config;
    MUST(nvshmemrs_team_config_default(&config));
    SAME(config.version, (1 << 16) + 64);
    config.num_contexts = 3;
    nvshmemrs_team_t team = 0;
    MUST(nvshmemrs_team_split_strided(rt, WORLD, n - 1, -2, (n + 1) / 2, &config, NVSHMEMRS_TEAM_CONFIG_NUM_CONTEXTS, &team));
    *index = (n - 1 - me) % 2 == 0 ? (n - 1 - me) / 2 : -1;
    return team;
}

static void teams(void) {
    int32_t mine = 0, found = 0, size = 0;
    nvshmemrs_team_config_t config;
    const nvshmemrs_team_t back = split_back(&mine);
    MUST(nvshmemrs_team_my_pe(rt, back, &found));
    MUST(nvshmemrs_team_n_pes(rt, back, &size));
    SAME(found, mine);
    SAME(size, mine < 0 ? -1 : (n + 1) / 2);
    GIVES(mine, found, nvshmemrs_team_translate_pe(rt, WORLD, me, back, &found));
    if (mine < 0) {
        SAME(back == NVSHMEMRS_TEAM_INVALID, 1);
        REFUSED(BAD_HANDLE, nvshmemrs_sync(rt, back));
    } else {
        GIVES(n - 1, found, nvshmemrs_team_translate_pe(rt, back, 0, WORLD, &found));
        MUST(nvshmemrs_team_get_config(rt, back, NVSHMEMRS_TEAM_CONFIG_NUM_CONTEXTS, &config));
        SAME(config.num_contexts, 3);
    }

    nvshmemrs_team_t row = 0, column = 0;
    MUST(nvshmemrs_team_split_2d(rt, WORLD, 2, NULL, 0, NULL, 0, &row, &column));
    GIVES(me % 2, found, nvshmemrs_team_my_pe(rt, row, &found));
    GIVES(n - me / 2 * 2 < 2 ? 1 : 2, found, nvshmemrs_team_n_pes(rt, row, &found));
    GIVES(me / 2, found, nvshmemrs_team_my_pe(rt, column, &found));
    GIVES((n - me % 2 + 1) / 2, found, nvshmemrs_team_n_pes(rt, column, &found));

    // PE 0 broadcasts a number, and the PEs meet by it in another order.
    uint64_t *words = allocate(2, sizeof *words);
    if (me == 0) {
        MUST(nvshmemrs_team_unique_id(rt, words));
    }
    MUST(nvshmemrs_broadcast(rt, WORLD, words, words, sizeof *words, 0));
    MUST(nvshmemrs_team_config_default(&config));
    config.uniqueid = words[0];
    nvshmemrs_team_t turned = 0;
    MUST(nvshmemrs_team_init(rt, &config, NVSHMEMRS_TEAM_CONFIG_UNIQUEID, n, right, &turned));
    GIVES(right, found, nvshmemrs_team_my_pe(rt, turned, &found));
    GIVES(n - 1, found, nvshmemrs_team_translate_pe(rt, turned, 0, WORLD, &found));
    MUST(nvshmemrs_team_get_config(rt, turned, NVSHMEMRS_TEAM_CONFIG_UNIQUEID, &config));
    SAME(config.uniqueid == words[0], 1);

    // This PE's number in WORLD is its left neighbour's in the team.
    words[1] = 100 + (uint64_t)me;
    barrier();
    void *peer = NULL;
    MUST(nvshmemrs_team_ptr(rt, turned, words, me, &peer));
    MUST(nvshmemrs_team_translate_pe(rt, WORLD, left, NVSHMEMRS_TEAM_SHARED, &found));
    if (found >= 0)
        SAME(((uint64_t *)peer)[1], 100 + left);
    else
        SAME(peer == NULL, 1); // a PE of another host has no address here
    release(words);

    MUST(nvshmemrs_team_destroy(rt, turned));
    REFUSED(BAD_HANDLE, nvshmemrs_team_my_pe(rt, turned, &found));
    REFUSED(BAD_HANDLE, nvshmemrs_barrier(rt, turned));
    MUST(nvshmemrs_team_destroy(rt, row));
    MUST(nvshmemrs_team_destroy(rt, column));
    MUST(nvshmemrs_team_destroy(rt, back)); // does nothing where it is TEAM_INVALID
    REFUSED(INVALID_VALUE, nvshmemrs_team_destroy(rt, WORLD));
}

static void strided(void) {
    double *field = allocate(16, sizeof *field);
    double row[8], got[4];
    for (int i = 0; i < 8; i++) {
        row[i] = me * 100 + i;
    }
    MUST(nvshmemrs_iput(rt, field + 1, row, 3, 2, sizeof *row, 4, right));
    barrier();
    ALL("iput", i, 16, field[i], i % 3 == 1 && i < 12 ? left * 100 + (i - 1) / 3 * 2 : 0);
    MUST(nvshmemrs_iget(rt, got, field + 10, 1, -3, sizeof *got, 4, right));
    ALL("iget", i, 4, got[i], me * 100 + (3 - i) * 2);
    release(field);

    int32_t *blocks = allocate(24, sizeof *blocks);
    int32_t source[12], back[8];
    for (int i = 0; i < 12; i++) {
        source[i] = me * 100 + i;
    }
    MUST(nvshmemrs_ibput(rt, blocks + 2, source, 5, 3, sizeof *source, 2, 4, right));
    barrier();
    ALL("ibput", i, 24, blocks[i], i >= 2 && i < 19 && (i - 2) % 5 < 2 ? left * 100 + (i - 2) / 5 * 3 + (i - 2) % 5 : 0);
    MUST(nvshmemrs_ibget(rt, back, blocks + 2, 2, 5, sizeof *back, 2, 4, right));
    ALL("ibget", i, 8, back[i], me * 100 + i / 2 * 3 + i % 2);
    release(blocks);
}

// The left neighbour alone writes to this PE's words, so every old value is known.
#define INTEGER_ATOMICS(W)                                                        \
    static void atomics##W(void) {                                                \
        uint##W##_t *word = allocate(2, sizeof *word), old = 99;                  \
        MUST(nvshmemrs_atomic_set##W(rt, word, 5, right));                        \
        GIVES(5, old, nvshmemrs_atomic_fetch##W(rt, word, right, &old));          \
        GIVES(5, old, nvshmemrs_atomic_swap##W(rt, word, 7, right, &old));        \
        GIVES(7, old, nvshmemrs_atomic_compare_swap##W(rt, word, 7, 12, right, &old));\
        GIVES(12, old, nvshmemrs_atomic_compare_swap##W(rt, word, 7, 1, right, &old));\
        MUST(nvshmemrs_atomic_inc##W(rt, word, right));                           \
        GIVES(13, old, nvshmemrs_atomic_fetch_inc##W(rt, word, right, &old));     \
        MUST(nvshmemrs_atomic_add##W(rt, word, 4, right));                        \
        GIVES(18, old, nvshmemrs_atomic_fetch_add##W(rt, word, 2, right, &old));  \
        MUST(nvshmemrs_atomic_or##W(rt, word, 3, right));                         \
        GIVES(23, old, nvshmemrs_atomic_fetch_or##W(rt, word, 8, right, &old));   \
        MUST(nvshmemrs_atomic_and##W(rt, word, 29, right));                       \
        GIVES(29, old, nvshmemrs_atomic_fetch_and##W(rt, word, 21, right, &old)); \
        MUST(nvshmemrs_atomic_xor##W(rt, word, 1, right));                        \
        GIVES(20, old, nvshmemrs_atomic_fetch_xor##W(rt, word, 255, right, &old));\
        MUST(nvshmemrs_atomic_fetch_add##W##_nbi(rt, &old, word, 1, right));      \
        MUST(nvshmemrs_quiet(rt));                                                \
        SAME(old, 235);                                                           \
        barrier();                                                                \
        SAME(word[0], 236);                                                       \
        SAME(word[1], 0);                                                         \
        release(word);                                                            \
    }
INTEGER_ATOMICS(32)
INTEGER_ATOMICS(64)

#define REAL_ATOMICS(T)                                                           \
    static void atomics_##T(void) {                                               \
        T *word = allocate(2, sizeof *word), old = 99;                            \
        MUST(nvshmemrs_atomic_set_##T(rt, word, (T)1.5, right));                  \
        GIVES(1.5, old, nvshmemrs_atomic_fetch_##T(rt, word, right, &old));       \
        GIVES(1.5, old, nvshmemrs_atomic_swap_##T(rt, word, (T)2.5, right, &old));\
        MUST(nvshmemrs_atomic_add_##T(rt, word, (T)0.25, right));                 \
        GIVES(2.75, old, nvshmemrs_atomic_fetch_add_##T(rt, word, 1, right, &old));\
        MUST(nvshmemrs_atomic_fetch_add_##T##_nbi(rt, &old, word, (T)0.25, right)); \
        MUST(nvshmemrs_quiet(rt));                                                \
        SAME(old, 3.75);                                                          \
        barrier();                                                                \
        SAME(word[0], 4);                                                         \
        SAME(word[1], 0);                                                         \
        release(word);                                                            \
    }
REAL_ATOMICS(float)
REAL_ATOMICS(double)

static void atomics(void) {
    atomics32();
    atomics64();
    atomics_float();
    atomics_double();
}

// The left neighbour writes 1, 3, 5, 9 into this PE's four words, in an order in which every answer is known.
static void waits(void) {
    const int32_t I32 = NVSHMEMRS_DTYPE_INT32, GE = NVSHMEMRS_CMP_GE, EQ = NVSHMEMRS_CMP_EQ;
    const int32_t one = 1, five = 5, values[4] = {1, 3, 5, 9}, others[4] = {0, 0, 5, 0}, two[4] = {1, 0, 5, 0};
    const int32_t not_first[4] = {1, 0, 0, 0}, not_odd[4] = {0, 1, 0, 1}, none[4] = {1, 1, 1, 1};
    int32_t *words = allocate(4, sizeof *words), result = -1;
    size_t at = 99, found = 99, which[4] = {99, 99, 99, 99};
    GIVES(0, result, nvshmemrs_test(rt, words, EQ, &one, I32, &result));
    barrier();
    MUST(nvshmemrs_p32(rt, words, 1, right));
    MUST(nvshmemrs_wait_until(rt, words, EQ, &one, I32));
    GIVES(1, result, nvshmemrs_test(rt, words, EQ, &one, I32, &result));
    MUST(nvshmemrs_test_any(rt, words, 4, NULL, GE, &five, I32, &at));
    SAME(at == SIZE_MAX, 1);
    barrier();

    MUST(nvshmemrs_p32(rt, words + 2, 5, right));
    GIVES(2, at, nvshmemrs_wait_until_any(rt, words, 4, not_first, GE, &one, I32, &at));
    GIVES(2, at, nvshmemrs_test_any(rt, words, 4, NULL, GE, &five, I32, &at));
    GIVES(2, found, nvshmemrs_wait_until_some(rt, words, 4, which, NULL, GE, &one, I32, &found));
    SAME(which[0], 0);
    SAME(which[1], 2);
    GIVES(1, found, nvshmemrs_test_some(rt, words, 4, which, not_first, GE, &one, I32, &found));
    SAME(which[0], 2);
    GIVES(0, result, nvshmemrs_test_all(rt, words, 4, NULL, GE, &one, I32, &result));
    GIVES(1, result, nvshmemrs_test_all(rt, words, 4, not_odd, GE, &one, I32, &result));
    MUST(nvshmemrs_wait_until_any(rt, words, 4, none, GE, &one, I32, &at));
    SAME(at == SIZE_MAX, 1);
    GIVES(2, at, nvshmemrs_wait_until_any_vector(rt, words, 4, NULL, EQ, (const int32_t[]){7, 7, 5, 7}, I32, &at));
    GIVES(2, at, nvshmemrs_test_any_vector(rt, words, 4, not_odd, EQ, (const int32_t[]){7, 0, 5, 0}, I32, &at));
    barrier();

    MUST(nvshmemrs_p32(rt, words + 1, 3, right));
    MUST(nvshmemrs_p32(rt, words + 3, 9, right));
    MUST(nvshmemrs_wait_until_all(rt, words, 4, NULL, GE, &one, I32));
    MUST(nvshmemrs_wait_until_all_vector(rt, words, 4, NULL, EQ, values, I32));
    GIVES(1, result, nvshmemrs_test_all_vector(rt, words, 4, NULL, EQ, values, I32, &result));
    GIVES(0, result, nvshmemrs_test_all_vector(rt, words, 4, NULL, EQ, others, I32, &result));
    GIVES(2, found, nvshmemrs_wait_until_some_vector(rt, words, 4, which, NULL, EQ, two, I32, &found));
    SAME(which[1], 2);
    GIVES(1, found, nvshmemrs_test_some_vector(rt, words, 4, which, NULL, EQ, others, I32, &found));
    SAME(which[0], 2);
    release(words);

    double *real = allocate(1, sizeof *real);
    uint64_t *word = allocate(1, sizeof *word);
    const double half = 0.5;
    const uint64_t zero = 0;
    MUST(nvshmemrs_put(rt, real, &(const double){2.5}, sizeof *real, right));
    MUST(nvshmemrs_wait_until(rt, real, NVSHMEMRS_CMP_GT, &half, NVSHMEMRS_DTYPE_DOUBLE));
    SAME(*real, 2.5);
    MUST(nvshmemrs_atomic_add64(rt, word, 3, right));
    MUST(nvshmemrs_wait_until(rt, word, NVSHMEMRS_CMP_NE, &zero, NVSHMEMRS_DTYPE_UINT64));
    SAME(*word, 3);
    release(word);
    release(real);
}

// Member `m` of `k`. The area has room for 64 elements on each side; elements without a writer stay -7.
static void moves(nvshmemrs_team_t team, int m, int k, int64_t *dest, int64_t *source) {
    const size_t bytes = sizeof *dest;
#define FILL(i, value)                       \
    MUST(nvshmemrs_sync(rt, team));          \
    for (int i = 0; i < 64; i++) {           \
        dest[i] = -7;                        \
        source[i] = (value);                 \
    }                                        \
    MUST(nvshmemrs_sync(rt, team))
    FILL(i, m * 100 + i);
    MUST(nvshmemrs_broadcast(rt, team, dest, source, 3 * bytes, k - 1));
    ALL("broadcast", i, 4, dest[i], i < 3 ? (k - 1) * 100 + i : -7);

    FILL(i, m * 100 + i);
    MUST(nvshmemrs_fcollect(rt, team, dest, source, 3 * bytes));
    ALL("fcollect", i, k * 3 + 1, dest[i], i < k * 3 ? i / 3 * 100 + i % 3 : -7);
    FILL(i, m * 100 + i);
    MUST(nvshmemrs_fcollect(rt, team, source, source + m * 3, 3 * bytes));
    ALL("fcollect in place", i, k * 3, source[i], i / 3 * 100 + i);

    FILL(i, m * 100 + i); // member m gives m + 1 elements
    MUST(nvshmemrs_collect(rt, team, dest, source, (size_t)(m + 1) * bytes));
    for (int pe = 0, at = 0; pe < k; at += ++pe) {
        ALL("collect", i, pe + 1, dest[at + i], pe * 100 + i);
    }
    SAME(dest[k * (k + 1) / 2], -7);

    FILL(i, m * 100 + i);
    MUST(nvshmemrs_alltoall(rt, team, dest, source, 2 * bytes));
    ALL("alltoall", i, k * 2 + 1, dest[i], i < k * 2 ? i / 2 * 100 + m * 2 + i % 2 : -7);
    FILL(i, m * 100 + i);
    MUST(nvshmemrs_alltoall(rt, team, source, source, 2 * bytes));
    ALL("alltoall in place", i, k * 2, source[i], i / 2 * 100 + m * 2 + i % 2);
    FILL(i, m * 100 + i);
    MUST(nvshmemrs_alltoalls(rt, team, dest, source, 2, 3, bytes, 2));
    ALL("alltoalls", i, k * 4, dest[i], i % 2 == 0 ? i / 4 * 100 + (m * 2 + i / 2 % 2) * 3 : -7);

    for (int root = 0; root < k; root++) { // the buffer of a PE that is not the root is not used
        FILL(i, m * 100 + i);
        MUST(nvshmemrs_gather(rt, team, m == root ? dest : NULL, source, 2 * bytes, root));
        ALL("gather", i, k * 2 + 1, dest[i], m == root && i < k * 2 ? i / 2 * 100 + i % 2 : -7);
        FILL(i, m * 100 + i);
        MUST(nvshmemrs_gather(rt, team, source, source + root * 2, 2 * bytes, root));
        ALL("gather in place", i, k * 2, source[i], m == root ? i / 2 * 100 + root * 2 + i % 2 : m * 100 + i);
        FILL(i, m * 100 + i);
        MUST(nvshmemrs_scatter(rt, team, dest, m == root ? source : NULL, 2 * bytes, root));
        ALL("scatter", i, 3, dest[i], i < 2 ? root * 100 + m * 2 + i : -7);
        FILL(i, m * 100 + i);
        MUST(nvshmemrs_scatter(rt, team, source + root * 2, source, 2 * bytes, root));
        ALL("scatter in place", i, k * 2, source[i], i / 2 == root ? root * 100 + m * 2 + i % 2 : m * 100 + i);
    }
#undef FILL
}

static void scans(nvshmemrs_team_t team, int m, int k, int32_t *dest, int32_t *source) {
    const int32_t I32 = NVSHMEMRS_DTYPE_INT32, SUM = NVSHMEMRS_OP_SUM, sum = k * (k + 1) / 2;
    const int32_t before = m * (m + 1) / 2, to_me = (m + 1) * (m + 2) / 2;
#define FILL()                               \
    MUST(nvshmemrs_sync(rt, team));          \
    for (int i = 0; i < 16; i++) {           \
        dest[i] = -7;                        \
        source[i] = (m + 1) * (i + 1);       \
    }                                        \
    MUST(nvshmemrs_sync(rt, team))
    FILL();
    MUST(nvshmemrs_reducescatter(rt, team, dest, source, 2, I32, SUM));
    ALL("reducescatter", i, 3, dest[i], i < 2 ? sum * (m * 2 + i + 1) : -7);
    FILL();
    MUST(nvshmemrs_reducescatter(rt, team, source + m * 2, source, 2, I32, SUM));
    ALL("reducescatter in place", i, 2, source[m * 2 + i], sum * (m * 2 + i + 1));
    FILL();
    MUST(nvshmemrs_inscan(rt, team, dest, source, 2, I32, SUM));
    ALL("inscan", i, 3, dest[i], i < 2 ? to_me * (i + 1) : -7);
    FILL();
    MUST(nvshmemrs_inscan(rt, team, source, source, 2, I32, SUM));
    ALL("inscan in place", i, 3, source[i], i < 2 ? to_me * (i + 1) : (m + 1) * 3);
    FILL();
    MUST(nvshmemrs_exscan(rt, team, dest, source, 2, I32, SUM));
    ALL("exscan", i, 3, dest[i], i < 2 ? before * (i + 1) : -7);
    FILL();
    MUST(nvshmemrs_exscan(rt, team, source, source, 1, I32, NVSHMEMRS_OP_MIN));
    SAME(source[0], m == 0 ? INT32_MAX : 1);
#undef FILL
}

// Two elements of type T, of which the second is the first times 1 in the operation; the third stays.
#define REDUCE(T, DTYPE, OP, mine, wanted)                                                             \
    do {                                                                                               \
        T *source = memory, *dest = source + 4;                                                        \
        source[0] = source[1] = (T)(mine);                                                             \
        dest[0] = dest[1] = dest[2] = (T)77;                                                           \
        MUST(nvshmemrs_sync(rt, team));                                                                \
        MUST(nvshmemrs_reduce(rt, team, dest, source, 2, NVSHMEMRS_DTYPE_##DTYPE, NVSHMEMRS_OP_##OP)); \
        SAME(creal(dest[1]), creal((T)(wanted)));                                                      \
        SAME(cimag(dest[1]), cimag((T)(wanted)));                                                      \
        SAME(creal(dest[2]), 77);                                                                      \
        MUST(nvshmemrs_reduce(rt, team, source, source, 2, NVSHMEMRS_DTYPE_##DTYPE, NVSHMEMRS_OP_##OP)); \
        SAME(creal(source[0]), creal((T)(wanted)));                                                    \
        SAME(cimag(source[0]), cimag((T)(wanted)));                                                    \
    } while (0)

static void reductions(nvshmemrs_team_t team, int m, int k, void *memory) {
    const int factorial[5] = {1, 1, 2, 6, 24};
    const double complex powers[5] = {1, I, -1, -I, 1};
    REDUCE(uint8_t, UINT8, XOR, 1 << m | 1 << 7, (1 << k) - 1 + (k % 2 << 7));
    REDUCE(int16_t, INT16, MIN, -m, 1 - k);
    REDUCE(uint32_t, UINT32, AND, ~(1u << m), UINT32_MAX - ((1u << k) - 1));
    REDUCE(uint64_t, UINT64, OR, UINT64_C(1) << (40 + m), ((UINT64_C(1) << k) - 1) << 40);
    REDUCE(int64_t, INT64, PROD, -(m + 1), (k % 2 ? -1 : 1) * factorial[k]);
    REDUCE(float, FLOAT, MAX, m + 0.5f, k - 0.5f);
    REDUCE(double, DOUBLE, SUM, (m + 1) * 0.25, k * (k + 1) / 2 * 0.25);
    REDUCE(float complex, COMPLEXF, PROD, I, powers[k]);
    REDUCE(double complex, COMPLEXD, SUM, m + I, k * (k - 1) / 2 + k * I);
}

static void collectives(void) {
    int64_t *memory = allocate(128, sizeof *memory);
    int32_t mine = 0;
    const nvshmemrs_team_t back = split_back(&mine);
    moves(WORLD, me, n, memory, memory + 64);
    scans(WORLD, me, n, (int32_t *)memory, (int32_t *)memory + 16);
    reductions(WORLD, me, n, memory);
    barrier();
    if (mine >= 0) {
        moves(back, mine, (n + 1) / 2, memory, memory + 64);
        scans(back, mine, (n + 1) / 2, (int32_t *)memory, (int32_t *)memory + 16);
        reductions(back, mine, (n + 1) / 2, memory);
        MUST(nvshmemrs_barrier(rt, back));
    }
    MUST(nvshmemrs_team_destroy(rt, back));
    release(memory);
}

static int32_t count_up(void *user) {
    *(int32_t *)user += 1;
    return 0;
}

static void streams(void) {
    double *data = allocate(4, sizeof *data);
    uint64_t *words = allocate(2, sizeof *words), old = 99;
    const double row[3] = {me * 10, me * 10 + 1, me * 10 + 2};
    nvshmemrs_stream_t first = 0, second = 0;
    nvshmemrs_event_t start = 0, end = 0;
    double milliseconds = -1;
    int32_t done = -1, calls = 0;
    MUST(nvshmemrs_stream_new(rt, &first));
    MUST(nvshmemrs_stream_new(rt, &second));
    MUST(nvshmemrs_event_new(rt, &start));
    MUST(nvshmemrs_event_new(rt, &end));
    MUST(nvshmemrs_event_record(start, first));
    MUST(nvshmemrs_put_signal(first, data, row, sizeof row, words, 1, NVSHMEMRS_SIGNAL_SET, right));
    MUST(nvshmemrs_signal_wait(first, words, NVSHMEMRS_CMP_EQ, 1, NULL));
    MUST(nvshmemrs_event_record(end, first));
    MUST(nvshmemrs_stream_wait_event(second, end));
    MUST(nvshmemrs_stream_call(second, count_up, &calls));
    MUST(nvshmemrs_stream_synchronize(second));
    SAME(calls, 1);
    ALL("put_signal on a stream", i, 4, data[i], i < 3 ? left * 10 + i : 0);
    MUST(nvshmemrs_event_synchronize(end));
    GIVES(1, done, nvshmemrs_event_query(end, &done));
    MUST(nvshmemrs_event_elapsed(start, end, &milliseconds));
    SAME(milliseconds >= 0 && milliseconds < 60e3, 1);

    // An error is kept until the stream is synchronized, once; the operations queued behind it run.
    MUST(nvshmemrs_put(first, data, row, sizeof *row, n));
    GIVES(0, old, nvshmemrs_atomic_fetch_add64(first, words + 1, 4, right, &old));
    REFUSED(PE_RANGE, nvshmemrs_stream_synchronize(first));
    MUST(nvshmemrs_stream_synchronize(first));
    MUST(nvshmemrs_barrier(first, WORLD));
    MUST(nvshmemrs_stream_synchronize(first));
    SAME(words[1], 4);
    GIVES(1, done, nvshmemrs_stream_query(first, &done));
    MUST(nvshmemrs_event_free(start));
    MUST(nvshmemrs_event_free(end));
    MUST(nvshmemrs_stream_free(second));
    MUST(nvshmemrs_stream_free(first));
    release(words);
    release(data);
}

static void memory(void) {
    int64_t *grown = allocate(4, sizeof *grown);
    void *found = NULL;
    for (int i = 0; i < 4; i++) {
        grown[i] = me * 10 + i;
    }
    MUST(nvshmemrs_realloc(rt, grown, 500 * sizeof *grown, &found));
    grown = found;
    ALL("realloc", i, 4, grown[i], me * 10 + i);
    MUST(nvshmemrs_p64(rt, grown + 499, 77 + (uint64_t)me, right));
    barrier();
    SAME(grown[499], 77 + left);
    MUST(nvshmemrs_realloc(rt, grown, 0, &found));
    SAME(found == NULL, 1);

    // The caller's own memory becomes symmetric where it is, and private again.
    const size_t bytes = 65536;
    SAME(posix_memalign(&found, bytes, bytes), 0);
    int64_t *buffer = found;
    memset(buffer, 0, bytes);
    buffer[1] = me * 10 + 1;
    MUST(nvshmemrs_buffer_register(rt, buffer, bytes, NULL, &found));
    int64_t *symmetric = found;
    SAME(symmetric[1], me * 10 + 1);
    MUST(nvshmemrs_p64(rt, symmetric + 5, 50 + (uint64_t)me, right));
    MUST(nvshmemrs_p64(rt, buffer + 6, 60 + (uint64_t)me, right));
    barrier();
    SAME(buffer[5], 50 + left);
    SAME(symmetric[6], 60 + left);
    barrier();
    MUST(nvshmemrs_buffer_unregister(rt, symmetric));
    SAME(buffer[1], me * 10 + 1);
    SAME(buffer[6], 60 + left);
    REFUSED(NOT_SYMMETRIC, nvshmemrs_p64(rt, buffer, 1, right));
    free(buffer);
}

int main(void) {
    init();
    left = (me + n - 1) % n;
    right = (me + 1) % n;
    SAME(nvshmemrs_thread_support(), NVSHMEMRS_THREAD_MULTIPLE);

    RUN(teams);
    RUN(strided);
    RUN(atomics);
    RUN(waits);
    RUN(collectives);
    RUN(streams);
    RUN(memory);

    nvshmemrs_heap_stats_t stats;
    MUST(nvshmemrs_heap_stats(rt, &stats));
    SAME(stats.allocations, 0);
    MUST(nvshmemrs_finalize(rt));
    printf("model ok PE %d of %d (C):%s\n", (int)me, (int)n, done);
    return 0;
}
