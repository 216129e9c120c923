/* Correct programs about memory that comes and goes, the PE's own copy, and streams: nothing may be said of them. */

#include "scenario.h"
#include <sched.h>

enum { ROUNDS = 5, WORDS = 16 };

/* A block grows while others have just put to it: realloc begins with a barrier, and keeps the block's contents. */
static void put_then_realloc(void)
{
    int64_t *block = zeroed(WORDS, sizeof *block), out[WORDS];
    for (int round = 1; round <= ROUNDS; round++) {
        for (int i = 0; i < WORDS; i++) {
            out[i] = 10 * round + me;
        }
        if (round % 2) {
            put(block + (round - 1) * WORDS, out, sizeof out, right_of(me));
        } else {
            CALL(nvshmemrs_put_nbi(rt, block + (round - 1) * WORDS, out, sizeof out, right_of(me)));
        }
        void *grown;
        CALL(nvshmemrs_realloc(rt, block, (round + 1) * sizeof out, &grown));
        block = grown;
        for (int i = 0; i < round; i++) {
            EXPECT(block[i * WORDS] == 10 * (i + 1) + left_of(me) && block[i * WORDS + WORDS - 1] == block[i * WORDS]);
        }
    }
    GIVE_BACK(block);
}

/* The same where the source, and the dest of a get, lie in the block. */
static void realloc_of_sources(void)
{
    int64_t *block = zeroed(2 * WORDS, sizeof *block), *inbox = zeroed(WORDS, sizeof *inbox);
    void *moved, *between;
    for (int i = 0; i < WORDS; i++) {
        block[i] = me + i;
    }
    barrier();
    CALL(nvshmemrs_put_nbi(rt, inbox, block, WORDS * sizeof *block, right_of(me)));
    CALL(nvshmemrs_get_nbi(rt, block + WORDS, block, WORDS * sizeof *block, right_of(me)));
    CALL(nvshmemrs_realloc(rt, block, 64 * WORDS * sizeof *block, &moved));
    block = moved;
    EXPECT(inbox[WORDS - 1] == left_of(me) + WORDS - 1 && block[2 * WORDS - 1] == right_of(me) + WORDS - 1);
    CALL(nvshmemrs_malloc(rt, 64, &between));
    CALL(nvshmemrs_realloc(rt, block, WORDS * sizeof *block, &moved));
    block = moved;
    EXPECT(block[WORDS - 1] == me + WORDS - 1);
    GIVE_BACK(block, inbox, between);
}

/* The source of a put_nbi is freed: free begins with a barrier, which completes the put. */
static void put_nbi_then_free_source(void)
{
    int64_t *inbox = zeroed(WORDS, sizeof *inbox), *out = zeroed(WORDS, sizeof *out);
    for (int i = 0; i < WORDS; i++) {
        out[i] = me * i;
    }
    CALL(nvshmemrs_put_nbi(rt, inbox, out, WORDS * sizeof *out, right_of(me)));
    GIVE_BACK(out);
    EXPECT(inbox[WORDS - 1] == left_of(me) * (WORDS - 1));
    GIVE_BACK(inbox);
}

/* A block that is fetched from is freed: the barrier completes the get. */
static void get_nbi_then_free_source(void)
{
    int64_t *table = zeroed(WORDS, sizeof *table), copy[WORDS] = {0};
    for (int i = 0; i < WORDS; i++) {
        table[i] = me + 3 * i;
    }
    barrier();
    CALL(nvshmemrs_get_nbi(rt, copy, table, sizeof copy, right_of(me)));
    GIVE_BACK(table);
    EXPECT(copy[WORDS - 1] == right_of(me) + 3 * (WORDS - 1));
}

/* malloc, calloc and align order as a barrier does. */
static void allocation_is_a_barrier(void)
{
    int64_t *inbox = zeroed(WORDS, sizeof *inbox), out[WORDS], back[WORDS];
    for (int round = 0; round < ROUNDS; round++) {
        void *other;
        for (int i = 0; i < WORDS; i++) {
            out[i] = 100 * round + me;
        }
        CALL(nvshmemrs_put_nbi(rt, inbox, out, sizeof out, right_of(me)));
        if (round % 2) {
            CALL(nvshmemrs_malloc(rt, 128, &other));
        } else {
            CALL(nvshmemrs_align(rt, 256, 128, &other));
        }
        EXPECT(inbox[0] == 100 * round + left_of(me) && inbox[WORDS - 1] == inbox[0]);
        get(back, inbox, sizeof back, right_of(me));
        EXPECT(back[0] == 100 * round + me);
        GIVE_BACK(other);
    }
    GIVE_BACK(inbox);
}

/* free of one block orders puts to another block. */
static void free_is_a_barrier(void)
{
    int64_t *inbox = zeroed(1, sizeof *inbox), value;
    for (int round = 0; round < ROUNDS; round++) {
        void *other;
        CALL(nvshmemrs_malloc(rt, 64, &other));
        value = round + me;
        put(inbox, &value, sizeof value, right_of(me));
        GIVE_BACK(other);
        EXPECT(*inbox == round + left_of(me));
        void *again;
        CALL(nvshmemrs_calloc(rt, 8, 8, &again));
        GIVE_BACK(again);
    }
    GIVE_BACK(inbox);
}

/* Blocks of changing sizes in a loop; a new block is zero, and any PE may write to it at once. */
static void calloc_and_free(void)
{
    for (int round = 1; round <= 3 * ROUNDS; round++) {
        uint64_t *block = zeroed(round * 5, sizeof *block), value = round + me;
        EXPECT(block[0] == 0 && block[round * 5 - 1] == 0);
        CALL(nvshmemrs_sync(rt, NVSHMEMRS_TEAM_WORLD));
        p64(block + round, value, right_of(me));
        barrier();
        EXPECT(block[round] == (uint64_t)(round + left_of(me)));
        GIVE_BACK(block);
    }
}

/* A buffer of the program's is symmetric for a while. */
static void registered_buffers(void)
{
    size_t bytes = 4096 * 16;
    for (int round = 0; round < 3; round++) {
        int64_t *buffer = aligned_alloc(65536, bytes);
        memset(buffer, 0, bytes);
        void *symmetric;
        CALL(nvshmemrs_buffer_register(rt, buffer, bytes, NULL, &symmetric));
        int64_t *shared = symmetric, out[WORDS];
        for (int i = 0; i < WORDS; i++) {
            out[i] = round + me * i;
        }
        put(shared, out, sizeof out, right_of(me));
        CALL(nvshmemrs_put_nbi(rt, shared + WORDS, out, sizeof out, right_of(me)));
        /* Unregister begins with a barrier, and the buffer keeps its contents. */
        CALL(nvshmemrs_buffer_unregister(rt, symmetric));
        EXPECT(buffer[WORDS - 1] == round + left_of(me) * (WORDS - 1) && buffer[2 * WORDS - 1] == buffer[WORDS - 1]);
        free(buffer);
    }
}

/* Puts and gets of a PE to itself, in one access, overlapping, and of no bytes. */
static void self_put_and_get(void)
{
    uint64_t *own = zeroed(4 * WORDS, sizeof *own), copy[WORDS], value;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < 2 * WORDS; i++) {
            own[i] = i + round;
        }
        put(own + 4, own, WORDS * sizeof *own, me);
        put(own, own, 0, me);
        quiet();
        EXPECT(own[4] == (uint64_t)round && own[3 + WORDS] == (uint64_t)(WORDS - 1 + round));
        get(own, own + 2, WORDS * sizeof *own, me);
        EXPECT(own[0] == (uint64_t)round + 2 && own[2] == (uint64_t)round);
        get(copy, own, sizeof copy, me);
        EXPECT(copy[0] == own[0]);
        p64(own, 77, me);
        quiet();
        value = g64(own, me);
        EXPECT(value == 77);
    }
    GIVE_BACK(own);
}

/* A block is moved within the PE's own copy by overlapping puts, with and without blocking, in both directions. */
static void self_put_overlapping(void)
{
    uint8_t *own = zeroed(64, 1), *ahead = zeroed(64, 1);
    for (int by = 1; by <= 16; by += 5) {
        for (int i = 0; i < 64; i++) {
            own[i] = ahead[i] = i;
        }
        put(own + by, own, 40, me);
        CALL(nvshmemrs_put(rt, ahead, ahead + by, 40, me));
        quiet();
        EXPECT(own[by] == 0 && own[by + 39] == 39 && ahead[0] == by && ahead[39] == 39 + by);
        CALL(nvshmemrs_get_nbi(rt, own, ahead, 64, me));
        quiet();
        EXPECT(own[39] == 39 + by);
    }
    GIVE_BACK(own, ahead);
}

/* A put from a PE's own copy to the overlapping place of another PE. */
static void shift_between_pes(void)
{
    int64_t *row = zeroed(2 * WORDS, sizeof *row);
    for (int i = 0; i < WORDS; i++) {
        row[i] = me;
    }
    barrier();
    put(row + WORDS, row, WORDS * sizeof *row, right_of(me));
    barrier();
    EXPECT(row[2 * WORDS - 1] == left_of(me));
    put(row + WORDS / 2, row + WORDS, WORDS / 2 * sizeof *row, me);
    quiet();
    EXPECT(row[WORDS / 2] == left_of(me));
    GIVE_BACK(row);
}

/* Operations without bytes touch nothing, wherever they point. */
static void nothing_at_all(void)
{
    int64_t *block = zeroed(2, sizeof *block), value = 1;
    uint64_t *signal = zeroed(1, sizeof *signal);
    block[0] = me;
    for (int pe = 0; pe < n; pe++) {
        put(block, &value, 0, pe);
        get(&value, block, 0, pe);
        CALL(nvshmemrs_put_nbi(rt, block, &value, 0, pe));
        CALL(nvshmemrs_get_nbi(rt, &value, block, 0, pe));
        CALL(nvshmemrs_iput(rt, block, &value, 1, 1, sizeof value, 0, pe));
        CALL(nvshmemrs_put_signal(rt, block, &value, 0, signal, 1, NVSHMEMRS_SIGNAL_ADD, pe));
    }
    value = 2;
    signal_at_least(signal, n);
    EXPECT(block[0] == me && value == 2);
    GIVE_BACK(block, signal);
}

/* The PE's own words by p and g, and by the library's atomic operations. */
static void own_words(void)
{
    uint64_t *words = zeroed(4, sizeof *words), old;
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        p64(words, round, me);
        quiet();
        EXPECT(g64(words, me) == round && words[0] == round);
        CALL(nvshmemrs_atomic_add64(rt, words + 1, 2, me));
        EXPECT(atomic_fetch(words + 1, me) == 2 * round);
        CALL(nvshmemrs_atomic_swap64(rt, words + 2, round, me, &old));
        EXPECT(old == round - 1);
        p64(words + 3, round, me);
        fence();
        wait64(words + 3, NVSHMEMRS_CMP_EQ, round);
    }
    GIVE_BACK(words);
}

/* Buffers are filled anew in each round, between two barriers. */
static void reuse_across_barriers(void)
{
    int32_t *out = zeroed(WORDS, sizeof *out), *in = zeroed(WORDS * n, sizeof *in);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < WORDS; i++) {
            out[i] = round * 1000 + me * 10 + i % 10;
        }
        for (int pe = 0; pe < n; pe++) {
            CALL(nvshmemrs_put_nbi(rt, in + me * WORDS, out, WORDS * sizeof *out, pe));
        }
        barrier();
        for (int pe = 0; pe < n; pe++) {
            EXPECT(in[pe * WORDS + 9] == round * 1000 + pe * 10 + 9);
        }
        barrier();
    }
    GIVE_BACK(out, in);
}

/* Columns of bytes and of blocks. */
static void strided_updates(void)
{
    uint16_t *grid = zeroed(WORDS * WORDS, sizeof *grid), column[WORDS], blocks[WORDS];
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < WORDS; i++) {
            column[i] = 100 * me + i + round;
        }
        CALL(nvshmemrs_iput(rt, grid + me, column, WORDS, 1, sizeof *grid, WORDS, right_of(me)));
        CALL(nvshmemrs_ibput(rt, grid + 8, column, WORDS, 2, sizeof *grid, 2, WORDS / 2, right_of(me)));
        barrier();
        CALL(nvshmemrs_iget(rt, blocks, grid + left_of(me), 1, WORDS, sizeof *grid, WORDS, me));
        EXPECT(blocks[0] == 100 * left_of(me) + round && blocks[WORDS - 1] == blocks[0] + WORDS - 1);
        CALL(nvshmemrs_ibget(rt, blocks, grid + 8, 2, WORDS, sizeof *grid, 2, WORDS / 2, right_of(me)));
        EXPECT(blocks[WORDS - 1] == 100 * me + WORDS - 1 + round);
        barrier();
    }
    GIVE_BACK(grid);
}

/* A put on a stream, and a barrier on the same stream. */
static void stream_put_and_barrier(void)
{
    int64_t *inbox = zeroed(WORDS, sizeof *inbox), out[WORDS];
    nvshmemrs_stream_t stream = new_stream();
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < WORDS; i++) {
            out[i] = me + round;
        }
        CALL(nvshmemrs_put(stream, inbox, out, sizeof out, right_of(me)));
        CALL(nvshmemrs_barrier(stream, NVSHMEMRS_TEAM_WORLD));
        CALL(nvshmemrs_stream_synchronize(stream));
        EXPECT(inbox[0] == left_of(me) + round && inbox[WORDS - 1] == inbox[0]);
        barrier();
    }
    CALL(nvshmemrs_stream_free(stream));
    GIVE_BACK(inbox);
}

/* Two streams that an event orders; signals and a reduce on them. */
static void streams_and_events(void)
{
    int64_t *inbox = zeroed(1, sizeof *inbox), *sum = zeroed(1, sizeof *sum);
    uint64_t *signal = zeroed(1, sizeof *signal);
    nvshmemrs_stream_t one, other;
    nvshmemrs_event_t event;
    CALL(nvshmemrs_stream_new(rt, &one));
    CALL(nvshmemrs_stream_new(rt, &other));
    CALL(nvshmemrs_event_new(rt, &event));
    int64_t value[ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        value[round] = me + round;
        CALL(nvshmemrs_put_signal(one, inbox, value + round, sizeof *value, signal, 1, NVSHMEMRS_SIGNAL_ADD, right_of(me)));
        CALL(nvshmemrs_signal_wait(one, signal, NVSHMEMRS_CMP_GE, round + 1, NULL));
        CALL(nvshmemrs_event_record(event, one));
        CALL(nvshmemrs_stream_wait_event(other, event));
        CALL(nvshmemrs_reduce(other, NVSHMEMRS_TEAM_WORLD, sum, inbox, 1, NVSHMEMRS_DTYPE_INT64, NVSHMEMRS_OP_SUM));
        CALL(nvshmemrs_sync(other, NVSHMEMRS_TEAM_WORLD));
        CALL(nvshmemrs_stream_synchronize(other));
        EXPECT(*sum == n * (n - 1) / 2 + n * round);
    }
    CALL(nvshmemrs_event_free(event));
    CALL(nvshmemrs_stream_free(one));
    CALL(nvshmemrs_stream_free(other));
    GIVE_BACK(inbox, sum, signal);
}

/* A neighbour's copy is read and written by its address, between barriers. */
static void by_pointer(void)
{
    int64_t *block = zeroed(WORDS, sizeof *block);
    void *theirs;
    CALL(nvshmemrs_ptr(rt, block, right_of(me), &theirs));
    int64_t *far = theirs;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < WORDS; i++) {
            far[i] = me + i + round;
        }
        barrier();
        EXPECT(block[WORDS - 1] == left_of(me) + WORDS - 1 + round);
        barrier();
    }
    GIVE_BACK(block);
}

/* Teams come and go in a loop; destroying one orders as sync does. */
static void teams_in_a_loop(void)
{
    uint64_t *count = zeroed(1, sizeof *count), *inbox = zeroed(1, sizeof *inbox);
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        nvshmemrs_team_t team;
        CALL(nvshmemrs_team_split_strided(rt, NVSHMEMRS_TEAM_WORLD, 0, 1, n, NULL, 0, &team));
        p64(inbox, 3 * round + me, right_of(me));
        quiet();
        CALL(nvshmemrs_team_destroy(rt, team));
        EXPECT(*inbox == 3 * round + left_of(me));
        fetch_add(count, 1, 0);
        CALL(nvshmemrs_team_split_strided(rt, NVSHMEMRS_TEAM_WORLD, 0, 1, n, NULL, 0, &team));
        EXPECT(atomic_fetch(count, 0) == round * n);
        CALL(nvshmemrs_sync(rt, team));
        CALL(nvshmemrs_team_destroy(rt, team));
    }
    GIVE_BACK(count, inbox);
}

SCENARIOS(
    SCENARIO(put_then_realloc), SCENARIO(realloc_of_sources), SCENARIO(put_nbi_then_free_source), SCENARIO(get_nbi_then_free_source),
    SCENARIO(allocation_is_a_barrier), SCENARIO(free_is_a_barrier), SCENARIO(calloc_and_free), SCENARIO(registered_buffers),
    SCENARIO(self_put_and_get), SCENARIO(self_put_overlapping), SCENARIO(shift_between_pes), SCENARIO(nothing_at_all), SCENARIO(own_words),
    SCENARIO(reuse_across_barriers), SCENARIO(strided_updates), SCENARIO(stream_put_and_barrier), SCENARIO(streams_and_events),
    SCENARIO(by_pointer), SCENARIO(teams_in_a_loop))
