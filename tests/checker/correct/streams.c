/* Correct programs with streams: accesses to one place are ordered, each time by other means. The checker must report nothing. */

#include "scenario.h"
#include <stdatomic.h>

enum { WORDS = 8, ROUNDS = 5 };

static void synchronize(nvshmemrs_stream_t stream)
{
    CALL(nvshmemrs_stream_synchronize(stream));
}

/* A block is fetched, the stream waited for, and the block used; again and again. */
static void fetched_and_used(void)
{
    int64_t *block = zeroed(WORDS, sizeof *block), *copy = zeroed(WORDS, sizeof *copy);
    block[1] = me;
    barrier();
    nvshmemrs_stream_t stream = new_stream();
    for (int round = 0; round < ROUNDS; round++) {
        CALL(nvshmemrs_get(stream, copy, block, WORDS * sizeof *block, right_of(me)));
        synchronize(stream);
        EXPECT(copy[1] == right_of(me));
        copy[1] = -1;
    }
    CALL(nvshmemrs_stream_free(stream));
    barrier();
    GIVE_BACK(copy, block);
}

/* Two buffers in turn, each used again when its event says that it was sent. */
static void two_buffers_and_events(void)
{
    int64_t *inbox = zeroed(ROUNDS, sizeof *inbox);
    static int64_t buffers[2];
    nvshmemrs_event_t sent[2];
    nvshmemrs_stream_t stream = new_stream();
    for (int i = 0; i < 2; i++) {
        CALL(nvshmemrs_event_new(rt, &sent[i]));
    }
    for (int round = 0; round < ROUNDS; round++) {
        CALL(nvshmemrs_event_synchronize(sent[round % 2]));
        buffers[round % 2] = 100 * round + me;
        CALL(nvshmemrs_put(stream, inbox + round, &buffers[round % 2], sizeof *buffers, right_of(me)));
        CALL(nvshmemrs_event_record(sent[round % 2], stream));
    }
    synchronize(stream);
    barrier();
    for (int round = 0; round < ROUNDS; round++) {
        EXPECT(inbox[round] == 100 * round + left_of(me));
    }
    barrier();
    for (int i = 0; i < 2; i++) {
        CALL(nvshmemrs_event_free(sent[i]));
    }
    CALL(nvshmemrs_stream_free(stream));
    GIVE_BACK(inbox);
}

/* One stream fetches, another stream sends on; events both ways, because the copy is used again. */
static void two_streams_in_turn(void)
{
    int64_t *block = zeroed(1, sizeof *block), *copy = zeroed(1, sizeof *copy), *inbox = zeroed(ROUNDS, sizeof *inbox);
    nvshmemrs_event_t fetched, sent;
    nvshmemrs_stream_t fetching = new_stream(), sending = new_stream();
    CALL(nvshmemrs_event_new(rt, &fetched));
    CALL(nvshmemrs_event_new(rt, &sent));
    block[0] = me;
    barrier();
    for (int round = 0; round < ROUNDS; round++) {
        CALL(nvshmemrs_stream_wait_event(fetching, sent));
        CALL(nvshmemrs_get(fetching, copy, block, sizeof *copy, right_of(me)));
        CALL(nvshmemrs_event_record(fetched, fetching));
        CALL(nvshmemrs_stream_wait_event(sending, fetched));
        CALL(nvshmemrs_put(sending, inbox + round, copy, sizeof *copy, right_of(me)));
        CALL(nvshmemrs_event_record(sent, sending));
    }
    synchronize(sending);
    int64_t last = copy[0];
    EXPECT(last == right_of(me));
    synchronize(fetching);
    barrier();
    EXPECT(inbox[ROUNDS - 1] == me);
    barrier();
    CALL(nvshmemrs_event_free(fetched));
    CALL(nvshmemrs_event_free(sent));
    CALL(nvshmemrs_stream_free(fetching));
    CALL(nvshmemrs_stream_free(sending));
    GIVE_BACK(inbox, copy, block);
}

/* A stream sends with a signal; its neighbour answers the caller, which may fill the source again. */
static void answered_by_the_neighbour(void)
{
    int64_t *inbox = zeroed(1, sizeof *inbox), *outbox = zeroed(1, sizeof *outbox);
    uint64_t *full = zeroed(1, sizeof *full), *taken = zeroed(1, sizeof *taken);
    nvshmemrs_stream_t stream = new_stream();
    for (int round = 0; round < ROUNDS; round++) {
        outbox[0] = 10 * round + me;
        CALL(nvshmemrs_put_signal(stream, inbox, outbox, sizeof *outbox, full, 1, NVSHMEMRS_SIGNAL_ADD, right_of(me)));
        signal_at_least(full, round + 1);
        EXPECT(inbox[0] == 10 * round + left_of(me));
        CALL(nvshmemrs_signal_op(rt, taken, 1, NVSHMEMRS_SIGNAL_ADD, left_of(me)));
        signal_at_least(taken, round + 1);
    }
    synchronize(stream);
    CALL(nvshmemrs_stream_free(stream));
    barrier();
    GIVE_BACK(taken, full, outbox, inbox);
}

/* The caller starts a stream by a signal to its own PE, and the stream answers by another signal. */
static void started_by_the_caller(void)
{
    int64_t *block = zeroed(1, sizeof *block), *copy = zeroed(1, sizeof *copy);
    uint64_t *go = zeroed(1, sizeof *go), *done = zeroed(1, sizeof *done);
    nvshmemrs_stream_t stream = new_stream();
    for (int round = 1; round <= ROUNDS; round++) {
        CALL(nvshmemrs_signal_wait(stream, go, NVSHMEMRS_CMP_GE, round, NULL));
        CALL(nvshmemrs_get(stream, copy, block, sizeof *copy, me));
        CALL(nvshmemrs_signal_op(stream, done, 1, NVSHMEMRS_SIGNAL_ADD, me));
        block[0] = round;
        CALL(nvshmemrs_signal_op(rt, go, 1, NVSHMEMRS_SIGNAL_ADD, me));
        signal_at_least(done, round);
        EXPECT(copy[0] == round);
        copy[0] = 0;
    }
    CALL(nvshmemrs_stream_free(stream));
    barrier();
    GIVE_BACK(done, go, copy, block);
}

static atomic_int work_done;

static int32_t work(void *place)
{
    int64_t *number = malloc(sizeof *number);
    *number = 5;
    *(int64_t *)place += *number;
    free(number);
    atomic_store(&work_done, 1);
    return 0;
}

/* A function of the program's runs on a stream, and tells the caller by itself that it has. */
static void told_by_a_function(void)
{
    int64_t *block = zeroed(1, sizeof *block), *copy = zeroed(1, sizeof *copy);
    block[0] = me;
    barrier();
    nvshmemrs_stream_t stream = new_stream();
    atomic_store(&work_done, 0);
    CALL(nvshmemrs_get(stream, copy, block, sizeof *copy, right_of(me)));
    CALL(nvshmemrs_stream_call(stream, work, copy));
    while (!atomic_load(&work_done)) {
    }
    EXPECT(copy[0] == right_of(me) + 5);
    int64_t *number = malloc(sizeof *number);
    *number = me;
    CALL(nvshmemrs_put(stream, copy, number, sizeof *number, me));
    synchronize(stream);
    *number = 0;
    free(number);
    CALL(nvshmemrs_stream_free(stream));
    barrier();
    GIVE_BACK(copy, block);
}

/* The caller works on other parts of an array than its streams, and asks whether they are done. */
static void parts_of_one_array(void)
{
    int64_t *row = zeroed(2 * WORDS, sizeof *row), *other = zeroed(WORDS, sizeof *other);
    other[0] = me;
    barrier();
    nvshmemrs_stream_t stream = new_stream();
    CALL(nvshmemrs_get(stream, row, other, WORDS * sizeof *row, right_of(me)));
    for (int i = WORDS; i < 2 * WORDS; i++) {
        row[i] = i;
    }
    int32_t done = 0;
    while (!done) {
        CALL(nvshmemrs_stream_query(stream, &done));
    }
    EXPECT(row[0] == right_of(me) && row[WORDS] == WORDS);
    CALL(nvshmemrs_stream_free(stream));
    barrier();
    GIVE_BACK(other, row);
}

/* All add up on a stream, and one event tells the caller and another stream. */
static void sums_on_a_stream(void)
{
    int64_t *row = zeroed(1, sizeof *row), *sum = zeroed(1, sizeof *sum), *inbox = zeroed(1, sizeof *inbox);
    nvshmemrs_stream_t adding = new_stream(), sending = new_stream();
    nvshmemrs_event_t added;
    CALL(nvshmemrs_event_new(rt, &added));
    for (int round = 0; round < ROUNDS; round++) {
        row[0] = me + round;
        CALL(nvshmemrs_reduce(adding, NVSHMEMRS_TEAM_WORLD, sum, row, 1, NVSHMEMRS_DTYPE_INT64, NVSHMEMRS_OP_SUM));
        CALL(nvshmemrs_event_record(added, adding));
        CALL(nvshmemrs_stream_wait_event(sending, added));
        CALL(nvshmemrs_put(sending, inbox, sum, sizeof *sum, right_of(me)));
        CALL(nvshmemrs_event_synchronize(added));
        EXPECT(sum[0] == (int64_t)n * (n - 1) / 2 + n * round);
        synchronize(sending);
        barrier();
        EXPECT(inbox[0] == sum[0]);
        barrier();
    }
    CALL(nvshmemrs_event_free(added));
    CALL(nvshmemrs_stream_free(adding));
    CALL(nvshmemrs_stream_free(sending));
    GIVE_BACK(inbox, sum, row);
}

/* Blocks are allocated and freed while others are used; a freed block is never used again, and new blocks are zero. */
static void blocks_come_and_go(void)
{
    int64_t *kept = zeroed(64, sizeof *kept);
    for (int round = 0; round < ROUNDS; round++) {
        int64_t *large = zeroed(4096, sizeof *large), *small = zeroed(3, sizeof *small);
        large[4095] = small[2] = round;
        barrier();
        kept[round] = large[4095] + small[2] + large[7];
        barrier();
        GIVE_BACK(small);
        GIVE_BACK(large);
    }
    for (int round = 0; round < ROUNDS; round++) {
        EXPECT(kept[round] == 2 * round);
    }
    GIVE_BACK(kept);
}

/* A place is put to again and again without a fence: after an answer, with the same bytes, or elsewhere in the block. */
static void one_place_again(void)
{
    uint64_t *place = zeroed(4, sizeof *place), *full = zeroed(1, sizeof *full), *taken = zeroed(1, sizeof *taken), one = 1;
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t number = round;
        CALL(nvshmemrs_put_signal(rt, place, &number, sizeof number, full, 1, NVSHMEMRS_SIGNAL_ADD, right_of(me)));
        put(place + 1, &one, sizeof one, right_of(me));
        p64(place + 2 + round % 2, 7, right_of(me));
        signal_at_least(full, round + 1);
        EXPECT(g64(place, me) == (uint64_t)round);
        CALL(nvshmemrs_signal_op(rt, taken, 1, NVSHMEMRS_SIGNAL_ADD, left_of(me)));
        signal_at_least(taken, round + 1);
    }
    barrier();
    EXPECT(place[1] == 1 && place[2] == 7);
    barrier();
    GIVE_BACK(taken, full, place);
}

/* A broadcast's source and a sum's are written again once all are known to have returned. */
static void sources_written_again(void)
{
    int64_t *row = zeroed(WORDS, sizeof *row), *sum = zeroed(WORDS, sizeof *sum), next[WORDS] = {1};
    uint64_t *returned = zeroed(1, sizeof *returned);
    for (int round = 0; round < ROUNDS; round++) {
        CALL(nvshmemrs_reduce(rt, NVSHMEMRS_TEAM_WORLD, sum, row, WORDS, NVSHMEMRS_DTYPE_INT64, NVSHMEMRS_OP_SUM));
        CALL(nvshmemrs_broadcast(rt, NVSHMEMRS_TEAM_WORLD, sum, row, WORDS * sizeof *row, 0));
        if (me > 0) {
            CALL(nvshmemrs_signal_op(rt, returned, 1, NVSHMEMRS_SIGNAL_ADD, 0));
        } else {
            signal_at_least(returned, (uint64_t)(n - 1) * (round + 1));
            for (int pe = 0; pe < n; pe++) {
                put(row, next, sizeof next, pe);
            }
        }
        barrier();
    }
    EXPECT(row[0] == 1);
    barrier();
    GIVE_BACK(returned, sum, row);
}

SCENARIOS(
    SCENARIO(fetched_and_used),
    SCENARIO(two_buffers_and_events),
    SCENARIO(two_streams_in_turn),
    SCENARIO(answered_by_the_neighbour),
    SCENARIO(started_by_the_caller),
    SCENARIO(told_by_a_function),
    SCENARIO(parts_of_one_array),
    SCENARIO(sums_on_a_stream),
    SCENARIO(blocks_come_and_go),
    SCENARIO(one_place_again),
    SCENARIO(sources_written_again))
