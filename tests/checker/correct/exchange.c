/* Correct programs that exchange data between neighbours and along chains: nothing may be said of them. */

#include "scenario.h"

enum { ROUNDS = 6, WORDS = 16 };

/* A row of cells, its halo in two buffers by turns; the signal counts the steps. */
static void halo_put_signal(void)
{
    double *cells = zeroed(WORDS, sizeof *cells), *halo = zeroed(4, sizeof *halo);
    uint64_t *signals = zeroed(2, sizeof *signals);
    double expected = me;
    for (int i = 0; i < WORDS; i++) {
        cells[i] = me;
    }
    for (uint64_t step = 1; step <= ROUNDS; step++) {
        double *buffer = halo + 2 * (step % 2);
        CALL(nvshmemrs_put_signal(rt, buffer + 1, cells, 8, signals + 1, step, NVSHMEMRS_SIGNAL_SET, left_of(me)));
        CALL(nvshmemrs_put_signal(rt, buffer, cells + WORDS - 1, 8, signals, step, NVSHMEMRS_SIGNAL_SET, right_of(me)));
        signal_at_least(signals, step);
        signal_at_least(signals + 1, step);
        EXPECT(buffer[0] == left_of(me) + (double)(step - 1) && buffer[1] == right_of(me) + (double)(step - 1));
        expected += 1;
        for (int i = 0; i < WORDS; i++) {
            cells[i] = expected;
        }
    }
    GIVE_BACK(cells, halo, signals);
}

/* Rows and columns of a 2-D field: the rows by put, the columns by iput, and a barrier. */
static void halo_2d_iput(void)
{
    enum { SIDE = 6 };
    int32_t *field = zeroed(SIDE * SIDE, sizeof *field), *row = zeroed(SIDE, sizeof *row), *column = zeroed(SIDE, sizeof *column);
    for (int step = 0; step < ROUNDS; step++) {
        for (int i = 0; i < SIDE * SIDE; i++) {
            field[i] = 100 * me + step + i;
        }
        put(row, field + (SIDE - 1) * SIDE, SIDE * sizeof *row, right_of(me));
        CALL(nvshmemrs_iput(rt, column, field + SIDE - 1, 1, SIDE, sizeof *column, SIDE, left_of(me)));
        barrier();
        for (int i = 0; i < SIDE; i++) {
            EXPECT(row[i] == 100 * left_of(me) + step + (SIDE - 1) * SIDE + i);
            EXPECT(column[i] == 100 * right_of(me) + step + SIDE - 1 + SIDE * i);
        }
        barrier();
    }
    GIVE_BACK(field, row, column);
}

/* A stage gives its output on when the next one has a credit for it. */
static void pipeline_credits(void)
{
    enum { SLOTS = 3, ITEMS = 17 };
    uint64_t *slots = zeroed(SLOTS * WORDS, sizeof *slots);
    uint64_t *full = zeroed(1, sizeof *full), *credits = zeroed(1, sizeof *credits), item[WORDS];
    for (uint64_t i = 0; i < ITEMS; i++) {
        uint64_t *slot = slots + i % SLOTS * WORDS;
        if (me == 0) {
            for (int k = 0; k < WORDS; k++) {
                item[k] = i * WORDS + k;
            }
        } else {
            signal_at_least(full, i + 1);
            for (int k = 0; k < WORDS; k++) {
                item[k] = slot[k] + 1;
            }
            CALL(nvshmemrs_signal_op(rt, credits, 1, NVSHMEMRS_SIGNAL_ADD, me - 1));
        }
        if (me < n - 1) {
            if (i >= SLOTS) {
                signal_at_least(credits, i - SLOTS + 1);
            }
            CALL(nvshmemrs_put_signal(rt, slot, item, sizeof item, full, 1, NVSHMEMRS_SIGNAL_ADD, me + 1));
        } else {
            EXPECT(item[0] == i * WORDS + n - 1 && item[WORDS - 1] == i * WORDS + WORDS - 1 + n - 1);
        }
    }
    barrier();
    GIVE_BACK(slots, full, credits);
}

/* put_nbi, quiet, and a flag by p that is set anew each round. */
static void put_nbi_quiet_flag(void)
{
    uint64_t *inbox = zeroed(WORDS, sizeof *inbox), *flag = zeroed(1, sizeof *flag), *answer = zeroed(1, sizeof *answer), out[WORDS];
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        for (int i = 0; i < WORDS; i++) {
            out[i] = 1000 * me + round;
        }
        CALL(nvshmemrs_put_nbi(rt, inbox, out, sizeof out, right_of(me)));
        quiet();
        p64(flag, round, right_of(me));
        wait64(flag, NVSHMEMRS_CMP_GE, round);
        EXPECT(inbox[0] == 1000u * left_of(me) + round && inbox[WORDS - 1] == inbox[0]);
        p64(answer, round, left_of(me));
        wait64(answer, NVSHMEMRS_CMP_GE, round);
    }
    barrier();
    GIVE_BACK(inbox, flag, answer);
}

/* Data, fence, flag of each width. */
#define FLAG_OF(bits, type, dtype)                                                         \
    static void flag_of_##bits(void)                                                       \
    {                                                                                      \
        uint64_t *inbox = zeroed(WORDS, sizeof *inbox);                                    \
        type *flags = zeroed(4, sizeof *flags), value;                                     \
        uint64_t out[WORDS];                                                               \
        for (int round = 1; round <= 4; round++) {                                         \
            for (int i = 0; i < WORDS; i++) {                                              \
                out[i] = 10 * me + round;                                                  \
            }                                                                              \
            put(inbox, out, sizeof out, right_of(me));                                     \
            fence();                                                                       \
            CALL(nvshmemrs_p##bits(rt, flags + round % 2, round, right_of(me)));           \
            value = round;                                                                 \
            CALL(nvshmemrs_wait_until(rt, flags + round % 2, NVSHMEMRS_CMP_EQ, &value, dtype)); \
            EXPECT(inbox[WORDS - 1] == 10u * left_of(me) + round);                         \
            CALL(nvshmemrs_p##bits(rt, flags + 2 + round % 2, round, left_of(me)));        \
            CALL(nvshmemrs_wait_until(rt, flags + 2 + round % 2, NVSHMEMRS_CMP_EQ, &value, dtype)); \
        }                                                                                  \
        GIVE_BACK(inbox);                                                                  \
        GIVE_BACK(flags);                                                                  \
    }
FLAG_OF(8, uint8_t, NVSHMEMRS_DTYPE_UINT8)
FLAG_OF(16, uint16_t, NVSHMEMRS_DTYPE_UINT16)
FLAG_OF(32, uint32_t, NVSHMEMRS_DTYPE_UINT32)
FLAG_OF(64, uint64_t, NVSHMEMRS_DTYPE_UINT64)

/* A block goes round the ring; each PE adds to it where it arrived and passes it on with a signal. */
static void forwarding_chain(void)
{
    uint64_t *block = zeroed(WORDS, sizeof *block), *signal = zeroed(1, sizeof *signal);
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        if (me > 0 || round > 1) {
            signal_at_least(signal, me > 0 ? round : round - 1);
        }
        for (int i = 0; i < WORDS; i++) {
            block[i] += 1;
        }
        CALL(nvshmemrs_put_signal(rt, block, block, WORDS * sizeof *block, signal, 1, NVSHMEMRS_SIGNAL_ADD, right_of(me)));
        quiet();
    }
    if (me == 0) {
        signal_at_least(signal, ROUNDS);
        EXPECT(block[0] == (uint64_t)ROUNDS * n && block[WORDS - 1] == block[0]);
    }
    GIVE_BACK(block, signal);
}

/* PE 0 writes to PE 2, tells PE 1, which tells PE 2: quiet makes the first one's put known through both. */
static void transitive_signals(void)
{
    uint64_t *data = zeroed(WORDS, sizeof *data), *signal = zeroed(1, sizeof *signal), out[WORDS];
    for (int i = 0; i < WORDS; i++) {
        out[i] = 7 * i;
    }
    if (me == 0) {
        put(data, out, sizeof out, n - 1);
        quiet();
    } else {
        signal_at_least(signal, 1);
    }
    if (me < n - 1) {
        CALL(nvshmemrs_signal_op(rt, signal, 1, NVSHMEMRS_SIGNAL_SET, me + 1));
    } else {
        EXPECT(data[1] == 7 && data[WORDS - 1] == 7 * (WORDS - 1));
    }
    GIVE_BACK(data, signal);
}

/* Everyone's part to everyone, by puts, and counted by one signal. */
static void alltoall_by_hand(void)
{
    uint64_t *in = zeroed(n * WORDS, sizeof *in), *arrived = zeroed(1, sizeof *arrived), out[WORDS];
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        for (int step = 0; step < n; step++) {
            int to = (me + step) % n;
            for (int i = 0; i < WORDS; i++) {
                out[i] = round * 100 + 10 * me + to;
            }
            CALL(nvshmemrs_put_signal(rt, in + me * WORDS, out, sizeof out, arrived, 1, NVSHMEMRS_SIGNAL_ADD, to));
        }
        signal_at_least(arrived, round * n);
        for (int from = 0; from < n; from++) {
            EXPECT(in[from * WORDS + WORDS - 1] == round * 100 + 10 * from + me);
        }
        CALL(nvshmemrs_sync(rt, NVSHMEMRS_TEAM_WORLD));
    }
    GIVE_BACK(in, arrived);
}

/* A matrix is transposed: columns leave by iput, then rows are fetched back by iget. */
static void transpose_strided(void)
{
    enum { BLOCK = 4 };
    int64_t *a = zeroed(BLOCK * BLOCK * n, sizeof *a), *b = zeroed(BLOCK * BLOCK * n, sizeof *b), row[BLOCK];
    for (int i = 0; i < BLOCK * BLOCK * n; i++) {
        a[i] = 1000 * me + i;
    }
    for (int to = 0; to < n; to++) {
        for (int r = 0; r < BLOCK; r++) {
            /* Row r of the block for `to` becomes column r of the block of `me` there. */
            CALL(nvshmemrs_iput(rt, b + me * BLOCK * BLOCK + r, a + (to * BLOCK + r) * BLOCK, BLOCK, 1, sizeof *a, BLOCK, to));
        }
    }
    barrier();
    for (int from = 0; from < n; from++) {
        for (int r = 0; r < BLOCK; r++) {
            CALL(nvshmemrs_iget(rt, row, b + from * BLOCK * BLOCK + r, 1, BLOCK, sizeof *row, BLOCK, me));
            for (int k = 0; k < BLOCK; k++) {
                EXPECT(row[k] == 1000 * from + (me * BLOCK + r) * BLOCK + k);
            }
        }
    }
    GIVE_BACK(a, b);
}

/* A binary tree sends a block down and counts the leaves up. */
static void broadcast_tree(void)
{
    uint64_t *block = zeroed(WORDS, sizeof *block), *down = zeroed(1, sizeof *down), *up = zeroed(1, sizeof *up);
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        int children = 0;
        if (me == 0) {
            for (int i = 0; i < WORDS; i++) {
                block[i] = round * 11;
            }
        } else {
            wait64(down, NVSHMEMRS_CMP_EQ, round);
        }
        for (int child = 2 * me + 1; child <= 2 * me + 2 && child < n; child++, children++) {
            put(block, block, WORDS * sizeof *block, child);
            fence();
            p64(down, round, child);
        }
        EXPECT(block[WORDS - 1] == round * 11);
        /* Nobody changes a block before those below it have read theirs. */
        if (children) {
            wait64(up, NVSHMEMRS_CMP_EQ, round * children);
            quiet();
        }
        if (me > 0) {
            CALL(nvshmemrs_atomic_inc64(rt, up, (me - 1) / 2));
        }
    }
    GIVE_BACK(block, down, up);
}

/* A producer fills a ring buffer on the consumer; head and tail are words of one writer each. */
static void ring_buffer(void)
{
    enum { ROOM = 4, ITEMS = 19 };
    uint64_t *ring = zeroed(ROOM, sizeof *ring), *head = zeroed(1, sizeof *head), *tail = zeroed(1, sizeof *tail), sum = 0;
    if (me == 0) {
        for (uint64_t i = 0; i < ITEMS; i++) {
            if (i >= ROOM) {
                wait64(tail, NVSHMEMRS_CMP_GE, i - ROOM + 1);
            }
            p64(ring + i % ROOM, 3 * i, 1);
            fence();
            p64(head, i + 1, 1);
        }
    } else if (me == 1) {
        for (uint64_t i = 0; i < ITEMS; i++) {
            wait64(head, NVSHMEMRS_CMP_GT, i);
            sum += ring[i % ROOM];
            fence();
            p64(tail, i + 1, 0);
        }
        EXPECT(sum == 3 * ITEMS * (ITEMS - 1) / 2);
    }
    GIVE_BACK(ring, head, tail);
}

/* One consumer, a slot and a flag for each producer; it takes the slots that are full, by any and by some with vectors. */
static void any_and_some(void)
{
    uint64_t *slots = zeroed(n, sizeof *slots), *flags = zeroed(n, sizeof *flags), *go = zeroed(1, sizeof *go);
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        if (me > 0) {
            p64(slots + me, round * 10 + me, 0);
            fence();
            p64(flags + me, round, 0);
            wait64(go, NVSHMEMRS_CMP_EQ, round);
            continue;
        }
        int32_t done[64] = {1};
        uint64_t wanted[64], sum = 0;
        size_t indices[64], found, index;
        for (int i = 0; i < n; i++) {
            wanted[i] = round;
        }
        for (int left = n - 1; left > 0;) {
            if (round % 2) {
                CALL(nvshmemrs_wait_until_any_vector(rt, flags, n, done, NVSHMEMRS_CMP_EQ, wanted, NVSHMEMRS_DTYPE_UINT64, &index));
                indices[0] = index;
                found = 1;
            } else {
                CALL(nvshmemrs_wait_until_some_vector(rt, flags, n, indices, done, NVSHMEMRS_CMP_EQ, wanted, NVSHMEMRS_DTYPE_UINT64, &found));
            }
            for (size_t k = 0; k < found; k++, left--) {
                done[indices[k]] = 1;
                sum += slots[indices[k]];
            }
        }
        EXPECT(sum == (n - 1) * round * 10 + (uint64_t)n * (n - 1) / 2);
        for (int pe = 1; pe < n; pe++) {
            p64(go, round, pe);
        }
    }
    GIVE_BACK(slots, flags, go);
}

/* The same with wait_until_all and test_all. */
static void all_of_them(void)
{
    uint32_t *flags = zeroed(n, sizeof *flags);
    double *parts = zeroed(n, sizeof *parts);
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        double part = me + 0.5 * round;
        for (int pe = 0; pe < n; pe++) {
            put(parts + me, &part, sizeof part, pe);
            fence();
            CALL(nvshmemrs_p32(rt, flags + me, round, pe));
        }
        if (round % 2) {
            CALL(nvshmemrs_wait_until_all(rt, flags, n, NULL, NVSHMEMRS_CMP_GE, &round, NVSHMEMRS_DTYPE_UINT32));
        } else {
            int32_t there = 0;
            while (!there) {
                CALL(nvshmemrs_test_all(rt, flags, n, NULL, NVSHMEMRS_CMP_GE, &round, NVSHMEMRS_DTYPE_UINT32, &there));
            }
        }
        double sum = 0;
        for (int pe = 0; pe < n; pe++) {
            sum += parts[pe];
        }
        EXPECT(sum == n * (n - 1) / 2 + n * 0.5 * round);
        barrier();
    }
    GIVE_BACK(flags, parts);
}

/* put_signal without blocking; the source is used again after quiet, the block freed after the wait. */
static void signal_nbi_then_free(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        int64_t *inbox = zeroed(WORDS, sizeof *inbox), out[WORDS];
        uint64_t *signal = zeroed(1, sizeof *signal);
        for (int i = 0; i < WORDS; i++) {
            out[i] = me + round;
        }
        CALL(nvshmemrs_put_signal_nbi(rt, inbox, out, sizeof out, signal, 1, NVSHMEMRS_SIGNAL_SET, right_of(me)));
        signal_at_least(signal, 1);
        EXPECT(inbox[0] == left_of(me) + round && inbox[WORDS - 1] == inbox[0]);
        GIVE_BACK(inbox);
        GIVE_BACK(signal);
    }
}

/* A prefetch by get_nbi into the other of two buffers. */
static void get_nbi_double_buffer(void)
{
    int64_t *a = zeroed(WORDS * ROUNDS, sizeof *a), *buffers = zeroed(2 * WORDS, sizeof *buffers), sum = 0;
    for (int i = 0; i < WORDS * ROUNDS; i++) {
        a[i] = me + i;
    }
    barrier();
    CALL(nvshmemrs_get_nbi(rt, buffers, a, WORDS * sizeof *a, right_of(me)));
    for (int round = 0; round < ROUNDS; round++) {
        quiet();
        if (round + 1 < ROUNDS) {
            CALL(nvshmemrs_get_nbi(rt, buffers + (round + 1) % 2 * WORDS, a + (round + 1) * WORDS, WORDS * sizeof *a, right_of(me)));
        }
        for (int i = 0; i < WORDS; i++) {
            sum += buffers[round % 2 * WORDS + i];
        }
    }
    EXPECT(sum == right_of(me) * WORDS * ROUNDS + WORDS * ROUNDS * (WORDS * ROUNDS - 1) / 2);
    GIVE_BACK(a, buffers);
}

SCENARIOS(
    SCENARIO(halo_put_signal), SCENARIO(halo_2d_iput), SCENARIO(pipeline_credits), SCENARIO(put_nbi_quiet_flag), SCENARIO(flag_of_8),
    SCENARIO(flag_of_16), SCENARIO(flag_of_32), SCENARIO(flag_of_64), SCENARIO(forwarding_chain), SCENARIO(transitive_signals),
    SCENARIO(alltoall_by_hand), SCENARIO(transpose_strided), SCENARIO(broadcast_tree), SCENARIO(ring_buffer), SCENARIO(any_and_some),
    SCENARIO(all_of_them), SCENARIO(signal_nbi_then_free), SCENARIO(get_nbi_double_buffer))
