/* Correct programs with words that many PEs use, and with parts of words: nothing may be said of them. */

#include "scenario.h"
#include <pthread.h>

enum { ROUNDS = 6, WORDS = 8 };

/* PE 0 only lends its memory: it is in free while the others still pass a block on there. */
static void memory_server(void)
{
    uint64_t *block = zeroed(WORDS, sizeof *block), *signal = zeroed(1, sizeof *signal), copy[WORDS];
    if (me > 0) {
        if (me > 1) {
            signal_at_least(signal, 1);
        }
        get(copy, block, sizeof copy, 0);
        EXPECT(copy[0] == me - 1u && copy[WORDS - 1] == copy[0]);
        for (int i = 0; i < WORDS; i++) {
            copy[i]++;
        }
        put(block, copy, sizeof copy, 0);
        quiet();
        if (me < n - 1) {
            CALL(nvshmemrs_signal_op(rt, signal, 1, NVSHMEMRS_SIGNAL_SET, me + 1));
        }
    }
    GIVE_BACK(block, signal);
}

/* The last halo, with its flag, goes out although nobody asks for it any more. */
static void unused_last_message(void)
{
    int64_t *inbox = zeroed(2, sizeof *inbox), value;
    uint64_t *flags = zeroed(2, sizeof *flags);
    for (int step = 1; step <= ROUNDS; step++) {
        value = 10 * step + me;
        put(inbox + step % 2, &value, sizeof value, right_of(me));
        fence();
        p64(flags + step % 2, step, right_of(me));
        if (step < ROUNDS) {
            wait64(flags + step % 2, NVSHMEMRS_CMP_GE, step);
            EXPECT(inbox[step % 2] == 10 * step + left_of(me));
            barrier();
        }
    }
    GIVE_BACK(inbox, flags);
}

/* Bytes of one word, each from another PE. */
static void bytes_of_a_word(void)
{
    uint8_t *flags = zeroed(16, 1);
    uint64_t *data = zeroed(n, sizeof *data);
    for (uint8_t round = 1; round <= ROUNDS; round++) {
        for (int pe = 0; pe < n; pe++) {
            p64(data + me, round * 100 + me, pe);
            fence();
            CALL(nvshmemrs_p8(rt, flags + me, round, pe));
        }
        CALL(nvshmemrs_wait_until_all(rt, flags, n, NULL, NVSHMEMRS_CMP_GE, &round, NVSHMEMRS_DTYPE_UINT8));
        for (int pe = 0; pe < n; pe++) {
            EXPECT(data[pe] == round * 100u + pe);
        }
        barrier();
    }
    GIVE_BACK(flags, data);
}

/* A lock and the value that it guards share a word: 32 bits each. */
static void lock_in_half_a_word(void)
{
    struct { uint32_t lock, count; } *shared = zeroed(1, sizeof *shared);
    uint32_t old, count;
    for (int round = 0; round < ROUNDS; round++) {
        do {
            CALL(nvshmemrs_atomic_compare_swap32(rt, &shared->lock, 0, 1, 0, &old));
        } while (old);
        CALL(nvshmemrs_g32(rt, &shared->count, 0, &count));
        CALL(nvshmemrs_p32(rt, &shared->count, count + 1, 0));
        quiet();
        CALL(nvshmemrs_atomic_set32(rt, &shared->lock, 0, 0));
    }
    barrier();
    CALL(nvshmemrs_g32(rt, &shared->count, 0, &count));
    EXPECT(count == (uint32_t)(ROUNDS * n));
    GIVE_BACK(shared);
}

/* The receiver sets its signal back before it answers, so that the same value can come again. */
static void signal_reset(void)
{
    int64_t *inbox = zeroed(WORDS, sizeof *inbox), out[WORDS];
    uint64_t *signal = zeroed(1, sizeof *signal), *answer = zeroed(1, sizeof *answer);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < WORDS; i++) {
            out[i] = me + 7 * round;
        }
        CALL(nvshmemrs_put_signal(rt, inbox, out, sizeof out, signal, 1, NVSHMEMRS_SIGNAL_SET, right_of(me)));
        wait64(signal, NVSHMEMRS_CMP_EQ, 1);
        EXPECT(inbox[0] == left_of(me) + 7 * round && inbox[WORDS - 1] == inbox[0]);
        switch (round % 3) {
        case 0:
            *signal = 0;
            break;
        case 1:
            CALL(nvshmemrs_atomic_set64(rt, signal, 0, me));
            break;
        default:
            p64(signal, 0, me);
        }
        quiet();
        CALL(nvshmemrs_signal_op(rt, answer, 1, NVSHMEMRS_SIGNAL_SET, left_of(me)));
        wait64(answer, NVSHMEMRS_CMP_EQ, 1);
        *answer = 0;
        barrier();
    }
    GIVE_BACK(inbox, signal, answer);
}

/* A token goes round; the PE that holds the token may write to the shared place on PE 0. */
static void token_ring(void)
{
    uint64_t *token = zeroed(1, sizeof *token), *shared = zeroed(WORDS, sizeof *shared), copy[WORDS];
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        if (me > 0 || round > 1) {
            wait64(token, NVSHMEMRS_CMP_EQ, me > 0 ? round : round - 1);
        }
        get(copy, shared, sizeof copy, 0);
        copy[me % WORDS] += 1;
        copy[WORDS - 1] += 1;
        put(shared, copy, sizeof copy, 0);
        quiet();
        p64(token, round, right_of(me));
    }
    if (me == 0) {
        wait64(token, NVSHMEMRS_CMP_EQ, ROUNDS);
        EXPECT(shared[WORDS - 1] == (uint64_t)ROUNDS * n);
    }
    GIVE_BACK(token, shared);
}

/* Readers count themselves in and out by fetch_add; a writer comes when there is none. */
static void reader_writer_lock(void)
{
    const uint64_t writer = UINT64_C(1) << 32;
    uint64_t *state = zeroed(1, sizeof *state), *table = zeroed(WORDS, sizeof *table), copy[WORDS], old;
    for (int round = 0; round < ROUNDS; round++) {
        if ((round + me) % 3 == 0) {
            do {
                CALL(nvshmemrs_atomic_compare_swap64(rt, state, 0, writer, 0, &old));
            } while (old);
            get(copy, table, sizeof copy, n - 1);
            for (int i = 0; i < WORDS; i++) {
                copy[i]++;
            }
            CALL(nvshmemrs_put_nbi(rt, table, copy, sizeof copy, n - 1));
            quiet();
            CALL(nvshmemrs_atomic_add64(rt, state, -writer, 0));
        } else {
            while (fetch_add(state, 1, 0) >= writer) {
                CALL(nvshmemrs_atomic_add64(rt, state, UINT64_MAX, 0));
            }
            get(copy, table, sizeof copy, n - 1);
            EXPECT(copy[0] == copy[WORDS - 1]);
            CALL(nvshmemrs_atomic_add64(rt, state, UINT64_MAX, 0));
        }
    }
    GIVE_BACK(state, table);
}

/* Each PE sets its bit in a word on PE 0 when it arrives; the PE that completes the set is the last to arrive. */
static void arrival_bits(void)
{
    uint64_t *bits = zeroed(1, sizeof *bits), *parts = zeroed(n, sizeof *parts), all = (UINT64_C(1) << n) - 1, old;
    uint32_t *half = zeroed(2, sizeof *half), other;
    p64(parts + me, me * me, 0);
    fence();
    CALL(nvshmemrs_atomic_fetch_or64(rt, bits, UINT64_C(1) << me, 0, &old));
    CALL(nvshmemrs_atomic_fetch_or32(rt, half + 1, 1u << me, 0, &other));
    if (me == 0) {
        wait64(bits, NVSHMEMRS_CMP_EQ, all);
        EXPECT(parts[n - 1] == (uint64_t)(n - 1) * (n - 1));
    } else if ((old | UINT64_C(1) << me) == all) {
        EXPECT(g64(parts + right_of(me), 0) == (uint64_t)right_of(me) * right_of(me));
    }
    GIVE_BACK(bits, parts, half);
}

/* put, quiet, sync: the data is there although no barrier was called. */
static void quiet_and_sync(void)
{
    int64_t *inbox = zeroed(WORDS, sizeof *inbox), out[WORDS], copy[WORDS];
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < WORDS; i++) {
            out[i] = me + round;
        }
        CALL(nvshmemrs_put_nbi(rt, inbox, out, sizeof out, right_of(me)));
        quiet();
        CALL(nvshmemrs_sync(rt, NVSHMEMRS_TEAM_WORLD));
        EXPECT(inbox[WORDS - 1] == left_of(me) + round);
        get(copy, inbox, sizeof copy, right_of(right_of(me)));
        EXPECT(copy[0] == right_of(me) + round);
        CALL(nvshmemrs_sync(rt, NVSHMEMRS_TEAM_WORLD));
    }
    GIVE_BACK(inbox);
}

/* get_nbi that a barrier completes; then other PEs overwrite the source. */
static void get_nbi_and_barrier(void)
{
    int64_t *block = zeroed(WORDS, sizeof *block), *copy = zeroed(WORDS, sizeof *copy);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < WORDS; i++) {
            block[i] = me + i + round;
        }
        barrier();
        CALL(nvshmemrs_get_nbi(rt, copy, block, WORDS * sizeof *block, right_of(me)));
        barrier();
        EXPECT(copy[WORDS - 1] == right_of(me) + WORDS - 1 + round);
        put(block, copy, WORDS * sizeof *block, left_of(me));
        barrier();
        EXPECT(block[0] == right_of(right_of(me)) + round);
        barrier();
    }
    GIVE_BACK(block, copy);
}

/* A signal in the same array as the data it tells of, polled by signal_fetch. */
static void signal_beside_data(void)
{
    uint64_t *message = zeroed(WORDS + 1, sizeof *message), out[WORDS], seen = 0;
    for (int i = 0; i < WORDS; i++) {
        out[i] = 3 * me + i;
    }
    CALL(nvshmemrs_put_signal(rt, message, out, sizeof out, message + WORDS, 5, NVSHMEMRS_SIGNAL_ADD, right_of(me)));
    while (seen < 5) {
        CALL(nvshmemrs_signal_fetch(rt, message + WORDS, &seen));
    }
    EXPECT(message[WORDS - 1] == 3u * left_of(me) + WORDS - 1);
    GIVE_BACK(message);
}

/* Counters are set by p, then added to, then read, each after a barrier. */
static void counters_by_turns(void)
{
    uint64_t *counters = zeroed(4, sizeof *counters);
    for (uint64_t round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < 4; i++) {
            p64(counters + i, round, right_of(me));
        }
        barrier();
        for (int i = 0; i < 4; i++) {
            CALL(nvshmemrs_atomic_add64(rt, counters + i, me + 1, i % n));
        }
        barrier();
        uint64_t added = 0;
        for (int i = 0; i < 4; i++) {
            added += i % n == me ? (uint64_t)n * (n + 1) / 2 : 0;
        }
        EXPECT(counters[0] + counters[1] + counters[2] + counters[3] == 4 * round + added);
        barrier();
    }
    GIVE_BACK(counters);
}

/* One word as a mailbox: full and empty are different values, and the PE that changes the word may proceed. */
static void mailbox_word(void)
{
    uint64_t *box = zeroed(1, sizeof *box), sum = 0, old;
    for (uint64_t i = 1; i <= ROUNDS; i++) {
        /* The owner empties it before it is filled again. */
        do {
            CALL(nvshmemrs_atomic_compare_swap64(rt, box, 0, i, right_of(me), &old));
        } while (old);
        wait64(box, NVSHMEMRS_CMP_NE, 0);
        CALL(nvshmemrs_atomic_swap64(rt, box, 0, me, &old));
        sum += old;
    }
    EXPECT(sum == ROUNDS * (ROUNDS + 1) / 2);
    GIVE_BACK(box);
}

/* A second thread of the PE sends, the first one receives; they meet by join. */
static uint64_t *thread_inbox, *thread_flag;

static void *send_from_thread(void *unused)
{
    (void)unused;
    for (uint64_t i = 1; i <= ROUNDS; i++) {
        p64(thread_inbox + i, 10 * i + me, right_of(me));
        fence();
        p64(thread_flag, i, right_of(me));
        fence();
    }
    return NULL;
}

static void two_threads(void)
{
    pthread_t thread;
    thread_inbox = zeroed(ROUNDS + 1, sizeof *thread_inbox);
    thread_flag = zeroed(1, sizeof *thread_flag);
    EXPECT(pthread_create(&thread, NULL, send_from_thread, NULL) == 0);
    for (uint64_t i = 1; i <= ROUNDS; i++) {
        wait64(thread_flag, NVSHMEMRS_CMP_GE, i);
        EXPECT(thread_inbox[i] == 10 * i + left_of(me));
    }
    pthread_join(thread, NULL);
    GIVE_BACK(thread_inbox, thread_flag);
}

/* Sums of floating-point numbers, and their exchange. */
static void floating_atomics(void)
{
    double *sum = zeroed(1, sizeof *sum), old;
    float *most = zeroed(1, sizeof *most), was;
    CALL(nvshmemrs_atomic_add_double(rt, sum, 0.5 * (me + 1), 0));
    CALL(nvshmemrs_atomic_fetch_add_double(rt, sum, 1.0, 0, &old));
    CALL(nvshmemrs_atomic_swap_float(rt, most, me + 1.0f, n - 1, &was));
    barrier();
    if (me == 0) {
        EXPECT(*sum == 0.25 * n * (n + 1) + n);
    }
    CALL(nvshmemrs_atomic_fetch_float(rt, most, n - 1, &was));
    EXPECT(was >= 1 && was <= n);
    GIVE_BACK(sum, most);
}

/* The same block of memory serves one phase after the other, as data, as flags, and as counters. */
static void memory_used_again(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t *block = zeroed(4, sizeof *block);
        switch (round % 3) {
        case 0:
            p64(block, 1000 + me, right_of(me));
            barrier();
            EXPECT(block[0] == 1000u + left_of(me));
            break;
        case 1:
            p64(block + 1, 7, right_of(me));
            fence();
            p64(block, 1, right_of(me));
            wait64(block, NVSHMEMRS_CMP_EQ, 1);
            EXPECT(block[1] == 7);
            break;
        default:
            fetch_add(block, 1, 0);
            if (me == 0) {
                wait64(block, NVSHMEMRS_CMP_EQ, n);
            }
        }
        GIVE_BACK(block);
    }
}

SCENARIOS(
    SCENARIO(memory_server), SCENARIO(unused_last_message), SCENARIO(bytes_of_a_word), SCENARIO(lock_in_half_a_word), SCENARIO(signal_reset),
    SCENARIO(token_ring), SCENARIO(reader_writer_lock), SCENARIO(arrival_bits), SCENARIO(quiet_and_sync), SCENARIO(get_nbi_and_barrier),
    SCENARIO(signal_beside_data), SCENARIO(counters_by_turns), SCENARIO(mailbox_word), SCENARIO(two_threads), SCENARIO(floating_atomics),
    SCENARIO(memory_used_again))
