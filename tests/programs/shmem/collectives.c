/* Collectives of teams of every type: all PEs, and the even and the odd ones. */

#include "common.h"

#include <complex.h>

#define N 5
#define MAX_PES 8

static unsigned char *there, *from;

/* Element `i` of PE `pe` of the job. */
#define VALUE(T, PE, I) ((T)(1 + (PE) + 2 * (I)))

/* PE `member` of the team, as the job counts it. */
static int world(shmem_team_t team, int member)
{
    return shmem_team_translate_pe(team, member, SHMEM_TEAM_WORLD);
}

#define MOVING(TAG, T) \
    static void moving_##TAG(shmem_team_t team) \
    { \
        const int size = shmem_team_n_pes(team), own = shmem_team_my_pe(team), root = size - 1; \
        T *dest = (T *)there, *source = (T *)from; \
        for (int i = 0; i < N * MAX_PES; i++) \
            source[i] = VALUE(T, me, i), dest[i] = 0; \
        shmem_team_sync(team); \
        CHECK(shmem_##TAG##_broadcast(team, dest, source, N, root) == 0); \
        for (int i = 0; i < N; i++) \
            CHECK(dest[i] == VALUE(T, world(team, root), i) && dest[N + i] == 0); \
        shmem_team_sync(team); \
        CHECK(shmem_##TAG##_fcollect(team, dest, source, N) == 0); \
        for (int i = 0; i < N * size; i++) \
            CHECK(dest[i] == VALUE(T, world(team, i / N), i % N)); \
        shmem_team_sync(team); \
        CHECK(shmem_##TAG##_collect(team, dest, source, (size_t)own + 1) == 0); \
        for (int member = 0, at = 0; member < size; member++) \
            for (int i = 0; i <= member; i++) \
                CHECK(dest[at++] == VALUE(T, world(team, member), i)); \
        shmem_team_sync(team); \
        CHECK(shmem_##TAG##_alltoall(team, dest, source, N) == 0); \
        for (int i = 0; i < N * size; i++) \
            CHECK(dest[i] == VALUE(T, world(team, i / N), N * own + i % N)); \
        shmem_team_sync(team); \
        for (int i = 0; i < N * MAX_PES; i++) \
            dest[i] = 0; \
        shmem_team_sync(team); \
        CHECK(shmem_##TAG##_alltoalls(team, dest, source, 2, 1, 2) == 0); \
        for (int i = 0; i < 2 * size; i++) \
            CHECK(dest[2 * i] == VALUE(T, world(team, i / 2), 2 * own + i % 2) && dest[2 * i + 1] == 0); \
        shmem_team_sync(team); \
    }
RMA_TYPES(MOVING)

#define REDUCE(TAG, T, OP, EXPRESSION) \
    { \
        for (int i = 0; i < N; i++) \
            source[i] = VALUE(T, me % 3, i), dest[i] = 0; \
        dest[N] = (T)99; \
        shmem_team_sync(team); \
        CHECK(shmem_##TAG##_##OP##_reduce(team, dest, source, N) == 0); \
        for (int i = 0; i < N; i++) { \
            T a = VALUE(T, world(team, 0) % 3, i); \
            for (int member = 1; member < size; member++) { \
                const T b = VALUE(T, world(team, member) % 3, i); \
                a = (T)(EXPRESSION); \
            } \
            CHECK(dest[i] == a); \
        } \
        CHECK(dest[N] == (T)99); \
        shmem_team_sync(team); \
    }
#define START(T) \
    const int size = shmem_team_n_pes(team); \
    T *dest = (T *)there, *source = (T *)from
#define BITWISE(TAG, T) \
    static void bitwise_##TAG(shmem_team_t team) \
    { \
        START(T); \
        REDUCE(TAG, T, and, a & b) REDUCE(TAG, T, or, a | b) REDUCE(TAG, T, xor, a ^ b) \
    }
BITS_TYPES(BITWISE)
#define ORDERED(TAG, T) \
    static void ordered_##TAG(shmem_team_t team) \
    { \
        START(T); \
        REDUCE(TAG, T, min, a < b ? a : b) REDUCE(TAG, T, max, a > b ? a : b) \
    }
RMA_TYPES(ORDERED)
#define SUMS(TAG, T) \
    static void sums_##TAG(shmem_team_t team) \
    { \
        START(T); \
        const int own = shmem_team_my_pe(team); \
        REDUCE(TAG, T, sum, a + b) REDUCE(TAG, T, prod, a * b) \
        for (int exclusive = 0; exclusive < 2; exclusive++) { \
            for (int i = 0; i < N; i++) \
                source[i] = VALUE(T, me, i), dest[i] = 0; \
            shmem_team_sync(team); \
            const int failed = exclusive ? shmem_##TAG##_sum_exscan(team, dest, source, N) : shmem_##TAG##_sum_inscan(team, dest, source, N); \
            CHECK(failed == 0); \
            for (int i = 0; i < N; i++) { \
                T sum = 0; \
                for (int member = 0; member < own + !exclusive; member++) \
                    sum = (T)(sum + VALUE(T, world(team, member), i)); \
                CHECK(dest[i] == sum); \
            } \
            shmem_team_sync(team); \
        } \
    }
RMA_TYPES(SUMS) SUMS(complexf, float complex) SUMS(complexd, double complex)

static void bytes(shmem_team_t team)
{
    const int size = shmem_team_n_pes(team);
    for (int i = 0; i < N * MAX_PES; i++)
        from[i] = VALUE(unsigned char, me, i), there[i] = 0;
    shmem_team_sync(team);
    CHECK(shmem_broadcastmem(team, there, from, N, 0) == 0 && there[1] == VALUE(unsigned char, world(team, 0), 1) && there[N] == 0);
    shmem_team_sync(team);
    CHECK(shmem_fcollectmem(team, there, from, 2) == 0 && there[2 * size - 1] == VALUE(unsigned char, world(team, size - 1), 1));
    shmem_team_sync(team);
    CHECK(shmem_collectmem(team, there, from, 2) == 0 && there[2 * size - 2] == VALUE(unsigned char, world(team, size - 1), 0));
    shmem_team_sync(team);
    CHECK(shmem_alltoallmem(team, there, from, 2) == 0);
    CHECK(there[2 * size - 1] == VALUE(unsigned char, world(team, size - 1), 2 * shmem_team_my_pe(team) + 1));
    shmem_team_sync(team);
    CHECK(shmem_alltoallsmem(team, there, from, 3, 1, 1) == 0);
    CHECK(there[3 * (size - 1)] == VALUE(unsigned char, world(team, size - 1), shmem_team_my_pe(team)));
    shmem_team_sync(team);
}

static void all(shmem_team_t team)
{
#define EACH(TAG, T) moving_##TAG(team), ordered_##TAG(team), sums_##TAG(team);
    RMA_TYPES(EACH)
#define EACH_BITS(TAG, T) bitwise_##TAG(team);
    BITS_TYPES(EACH_BITS)
    sums_complexf(team), sums_complexd(team);
    bytes(team);
}

int main(void)
{
    begin();
    there = shmem_align(64, 2 * N * MAX_PES * sizeof(long double));
    from = shmem_align(64, 2 * N * MAX_PES * sizeof(long double));
    all(SHMEM_TEAM_WORLD);
    shmem_team_t team = SHMEM_TEAM_INVALID;
    for (int parity = 0; parity < 2 && parity < n_pes; parity++) {
        shmem_team_t made;
        const int size = (n_pes - parity + 1) / 2;
        CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, parity, 2, size, NULL, 0, &made) == 0);
        if (made != SHMEM_TEAM_INVALID)
            team = made;
    }
    CHECK(team != SHMEM_TEAM_INVALID);
    all(team);
    shmem_team_destroy(team);
    end();
    return 0;
}
