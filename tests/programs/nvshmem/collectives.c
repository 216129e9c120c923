/* Collectives of teams of every type, called and on a stream: all PEs, and the even and the odd ones. */

#include "common.h"

#define N 5
#define MAX_PES 4

static unsigned char *there, *from;

#define VALUE(PE, I) (1 + ((PE) + (I)) % 3)

/* PE `member` of the team, as the job counts it. */
static int world(nvshmem_team_t team, int member)
{
    return nvshmem_team_translate_pe(team, member, NVSHMEM_TEAM_WORLD);
}

/* Calls, or queues on the stream NULL and waits for it. */
#define CALLED(FUNCTION, ...) (nvshmem_##FUNCTION(__VA_ARGS__))
#define QUEUED(FUNCTION, ...) waited(nvshmemx_##FUNCTION##_on_stream(__VA_ARGS__, NULL))
static int waited(int status)
{
    drain();
    return status;
}

#define START(TAG, T) \
    T *dest = (T *)there, *source = (T *)from; \
    nvshmem_team_sync(team); \
    for (int i = 0; i < N * MAX_PES; i++) \
        source[i] = make_##TAG(VALUE(me, i)), dest[i] = make_##TAG(0); \
    nvshmem_team_sync(team)
#define END nvshmem_team_sync(team)

#define MOVES(TAG, T, RUN) \
    { START(TAG, T); CHECK(RUN(TAG##_broadcast, team, dest, source, N, root) == 0); \
        for (int i = 0; i < 2 * N; i++) \
            CHECK(read_##TAG(dest[i]) == (i < N ? VALUE(world(team, root), i) : 0)); \
        END; } \
    { START(TAG, T); CHECK(RUN(TAG##_fcollect, team, dest, source, N) == 0); \
        for (int i = 0; i < N * size; i++) \
            CHECK(read_##TAG(dest[i]) == VALUE(world(team, i / N), i % N)); \
        END; } \
    { START(TAG, T); CHECK(RUN(TAG##_alltoall, team, dest, source, N) == 0); \
        for (int i = 0; i < N * size; i++) \
            CHECK(read_##TAG(dest[i]) == VALUE(world(team, i / N), N * own + i % N)); \
        END; }

#define REDUCED(TAG, OP, FIRST, EXPRESSION) \
    for (int i = 0; i < N; i++) { \
        double a = VALUE(world(team, 0), (FIRST) + i); \
        for (int member = 1; member < size; member++) { \
            const double b = VALUE(world(team, member), (FIRST) + i); \
            a = (EXPRESSION); \
        } \
        CHECK(read_##TAG(dest[i]) == a); \
    } \
    CHECK(read_##TAG(dest[N]) == 0)
#define REDUCE(TAG, T, RUN, OP, EXPRESSION) \
    { START(TAG, T); CHECK(RUN(TAG##_##OP##_reduce, team, dest, source, N) == 0); REDUCED(TAG, OP, 0, EXPRESSION); END; } \
    { START(TAG, T); CHECK(RUN(TAG##_##OP##_reducescatter, team, dest, source, N) == 0); REDUCED(TAG, OP, N * own, EXPRESSION); END; }

#define ALL_REDUCTIONS(TAG, T, RUN) \
    REDUCE(TAG, T, RUN, min, a < b ? a : b) REDUCE(TAG, T, RUN, max, a > b ? a : b) \
    REDUCE(TAG, T, RUN, sum, a + b) REDUCE(TAG, T, RUN, prod, a * b)
#define TEAM \
    const int size = nvshmem_team_n_pes(team), own = nvshmem_team_my_pe(team), root = size - 1; \
    (void)root; (void)own

#define FUNCTIONS(TAG, T) \
    static void all_##TAG(nvshmem_team_t team) \
    { \
        TEAM; \
        MOVES(TAG, T, CALLED) MOVES(TAG, T, QUEUED) \
        ALL_REDUCTIONS(TAG, T, CALLED) ALL_REDUCTIONS(TAG, T, QUEUED) \
    }
REDUCED_TYPES(FUNCTIONS)

static ptrdiff_t make_ptrdiff(double value)
{
    return (ptrdiff_t)value;
}
static double read_ptrdiff(ptrdiff_t value)
{
    return (double)value;
}
static void all_ptrdiff(nvshmem_team_t team)
{
    TEAM;
    MOVES(ptrdiff, ptrdiff_t, CALLED) MOVES(ptrdiff, ptrdiff_t, QUEUED)
}

#define BITS(TAG, T, RUN) \
    REDUCE(TAG, T, RUN, and, (int)a & (int)b) REDUCE(TAG, T, RUN, or, (int)a | (int)b) REDUCE(TAG, T, RUN, xor, (int)a ^ (int)b)
#define BITWISE(TAG, T) \
    static void bits_##TAG(nvshmem_team_t team) \
    { \
        TEAM; \
        BITS(TAG, T, CALLED) BITS(TAG, T, QUEUED) \
    }
BITS_TYPES(BITWISE)

#define BYTES(RUN) \
    { START(uchar, unsigned char); CHECK(RUN(broadcastmem, team, dest, source, N, 0) == 0); \
        CHECK(dest[1] == VALUE(world(team, 0), 1) && dest[N] == 0); END; } \
    { START(uchar, unsigned char); CHECK(RUN(fcollectmem, team, dest, source, 2) == 0); \
        CHECK(dest[2 * size - 1] == VALUE(world(team, size - 1), 1)); END; } \
    { START(uchar, unsigned char); CHECK(RUN(alltoallmem, team, dest, source, 2) == 0); \
        CHECK(dest[2 * size - 1] == VALUE(world(team, size - 1), 2 * own + 1)); END; }
static void bytes(nvshmem_team_t team)
{
    TEAM;
    BYTES(CALLED) BYTES(QUEUED)
}

/* A barrier completes puts; on a stream, too. */
static void barriers(nvshmem_team_t team)
{
    const int size = nvshmem_team_n_pes(team), own = nvshmem_team_my_pe(team);
    long *word = (long *)there;
    const long value = me + 100;
    for (int round = 0; round < 4; round++) {
        const int to = world(team, (own + 1) % size), of = world(team, (own + size - 1) % size);
        *word = 0;
        CHECK(nvshmem_sync(team) == 0);
        switch (round) {
        case 0:
            nvshmem_long_put_nbi(word, &value, 1, to);
            CHECK(nvshmem_barrier(team) == 0);
            break;
        case 1:
            nvshmemx_long_put_nbi_on_stream(word, &value, 1, to, NULL);
            CHECK(nvshmemx_barrier_on_stream(team, NULL) == 0);
            drain();
            break;
        case 2:
            nvshmemx_long_put_on_stream(word, &value, 1, to, NULL);
            nvshmemx_flush_on_stream(NULL);
            CHECK(nvshmemx_team_sync_on_stream(team, NULL) == 0);
            drain();
            break;
        default:
            nvshmem_long_put(word, &value, 1, to);
            nvshmem_fence();
            nvshmemx_flush();
            CHECK(nvshmem_team_sync(team) == 0);
        }
        CHECK(*word == of + 100);
        CHECK(nvshmem_team_sync(team) == 0);
    }
}

static void all(nvshmem_team_t team)
{
#define EACH(TAG, T) all_##TAG(team);
    REDUCED_TYPES(EACH)
    all_ptrdiff(team);
#define EACH_BITS(TAG, T) bits_##TAG(team);
    BITS_TYPES(EACH_BITS)
    bytes(team);
    barriers(team);
}

int main(void)
{
    begin();
    there = nvshmem_align(64, 2 * N * MAX_PES * sizeof(double));
    from = nvshmem_align(64, 2 * N * MAX_PES * sizeof(double));
    all(NVSHMEM_TEAM_WORLD);
    nvshmem_team_t team = NVSHMEM_TEAM_INVALID;
    for (int parity = 0; parity < 2 && parity < n_pes; parity++) {
        nvshmem_team_t made;
        CHECK(nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, parity, 2, (n_pes - parity + 1) / 2, NULL, 0, &made) == 0);
        if (made != NVSHMEM_TEAM_INVALID)
            team = made;
    }
    CHECK(team != NVSHMEM_TEAM_INVALID);
    all(team);
    nvshmem_team_destroy(team);
    nvshmem_sync_all();
    nvshmemx_barrier_all_on_stream(NULL);
    nvshmemx_sync_all_on_stream(NULL);
    drain();
    end();
    return 0;
}
