/* Global and static variables are symmetric: initialised, zero, large, within functions, and as the work arrays of old collectives. */

#include "common.h"

#define WORDS 1000

long initialised[4] = {1, 2, 3, 4};
long sync_words[SHMEM_REDUCE_SYNC_SIZE], broadcast_words[SHMEM_BCAST_SYNC_SIZE];
int work[SHMEM_REDUCE_MIN_WRKDATA_SIZE], sum, mine;
double zero[WORDS];
static long lock, counter;
static int big[1 << 22];
static uint64_t flag;

#define KEEP(TAG, T) static T of_##TAG[3];
RMA_TYPES(KEEP)

#define MOVE(TAG, T) \
    { \
        static T here[3]; \
        T own[1] = {(T)(me + 1)}; \
        shmem_##TAG##_put(&of_##TAG[1], own, 1, next); \
        shmem_##TAG##_p(&here[1], (T)(me + 2), next); \
        shmem_barrier_all(); \
        CHECK(of_##TAG[0] == 0 && of_##TAG[1] == (T)(before + 1) && of_##TAG[2] == 0); \
        CHECK(here[0] == 0 && here[1] == (T)(before + 2) && here[2] == 0); \
        CHECK(shmem_##TAG##_g(&of_##TAG[1], next) == (T)(me + 1)); \
        shmem_barrier_all(); \
    }

int main(void)
{
    for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; i++)
        sync_words[i] = SHMEM_SYNC_VALUE;
    for (int i = 0; i < SHMEM_BCAST_SYNC_SIZE; i++)
        broadcast_words[i] = SHMEM_SYNC_VALUE;
    begin();
    RMA_TYPES(MOVE)

    long sent[2] = {10 + me, 20 + me};
    shmem_long_put(&initialised[1], sent, 2, next);
    big[12345] = me;
    shmem_barrier_all();
    CHECK(initialised[0] == 1 && initialised[1] == 10 + before && initialised[2] == 20 + before && initialised[3] == 4);
    CHECK(shmem_int_g(&big[12345], next) == next && shmem_int_g(&big[12346], next) == 0);
    CHECK(shmem_addr_accessible(zero, next) && shmem_ptr(zero, me) != NULL);

    for (int i = 0; i < 100; i++) {
        shmem_set_lock(&lock);
        shmem_long_p(&counter, shmem_long_g(&counter, 0) + 1, 0);
        shmem_quiet();
        shmem_clear_lock(&lock);
    }
    shmem_barrier_all();
    CHECK(me != 0 || counter == 100 * n_pes);

    mine = me + 1;
    shmem_int_sum_to_all(&sum, &mine, 1, 0, 0, n_pes, work, sync_words);
    CHECK(sum == n_pes * (n_pes + 1) / 2);
    static long from[2], to[2];
    from[0] = 5 + me;
    shmem_barrier_all();
    shmem_broadcast64(to, from, 1, 0, 0, 0, n_pes, broadcast_words);
    CHECK(to[0] == (me == 0 ? 0 : 5) && to[1] == 0);

    shmem_double_put_signal(zero + 1, (double[]){me + 0.5}, 1, &flag, 1, SHMEM_SIGNAL_SET, next);
    CHECK(shmem_signal_wait_until(&flag, SHMEM_CMP_EQ, 1) == 1 && zero[1] == before + 0.5 && zero[2] == 0);
    end();
    /* The variables keep their contents. */
    CHECK(initialised[1] == 10 + before && zero[1] == before + 0.5);
    return 0;
}
