/* Correct programs whose PEs meet by locks, counters and barriers of their own: nothing may be said of them. */

#include "scenario.h"

enum { ROUNDS = 6, WORDS = 8 };

/* A ticket lock on PE 0 around data on the last PE. */
static void ticket_lock(void)
{
    uint64_t *ticket = zeroed(1, sizeof *ticket), *serving = zeroed(1, sizeof *serving), *data = zeroed(WORDS, sizeof *data);
    uint64_t copy[WORDS];
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t mine = fetch_add(ticket, 1, 0);
        while (atomic_fetch(serving, 0) != mine) {
        }
        get(copy, data, sizeof copy, n - 1);
        for (int i = 0; i < WORDS; i++) {
            copy[i]++;
        }
        put(data, copy, sizeof copy, n - 1);
        quiet();
        CALL(nvshmemrs_atomic_inc64(rt, serving, 0));
    }
    barrier();
    if (me == n - 1) {
        EXPECT(data[0] == (uint64_t)ROUNDS * n && data[WORDS - 1] == data[0]);
    }
    GIVE_BACK(ticket, serving, data);
}

/* An MCS lock: each waits for a word of its own, which its predecessor changes. */
static void mcs_lock(void)
{
    uint64_t *tail = zeroed(1, sizeof *tail), *next = zeroed(1, sizeof *next), *locked = zeroed(1, sizeof *locked);
    uint64_t *count = zeroed(1, sizeof *count), before, self = me + 1;
    for (int round = 0; round < ROUNDS; round++) {
        CALL(nvshmemrs_atomic_set64(rt, next, 0, me));
        CALL(nvshmemrs_atomic_set64(rt, locked, 1, me));
        CALL(nvshmemrs_atomic_swap64(rt, tail, self, 0, &before));
        if (before) {
            CALL(nvshmemrs_atomic_set64(rt, next, self, before - 1));
            wait64(locked, NVSHMEMRS_CMP_EQ, 0);
        }
        p64(count, g64(count, 0) + 1, 0);
        quiet();
        CALL(nvshmemrs_atomic_compare_swap64(rt, tail, self, 0, 0, &before));
        if (before != self) {
            wait64(next, NVSHMEMRS_CMP_NE, 0);
            CALL(nvshmemrs_atomic_set64(rt, locked, 0, atomic_fetch(next, me) - 1));
        }
    }
    barrier();
    EXPECT(g64(count, 0) == (uint64_t)ROUNDS * n);
    GIVE_BACK(tail, next, locked, count);
}

/* A spin lock by compare_swap, given back by swap; the data lies beside it. */
static void spin_lock(void)
{
    struct { uint64_t lock, sum, terms; } *shared = zeroed(1, sizeof *shared);
    uint64_t old;
    for (int round = 0; round < ROUNDS; round++) {
        do {
            CALL(nvshmemrs_atomic_compare_swap64(rt, &shared->lock, 0, 1, 0, &old));
        } while (old);
        p64(&shared->sum, g64(&shared->sum, 0) + me, 0);
        p64(&shared->terms, g64(&shared->terms, 0) + 1, 0);
        quiet();
        CALL(nvshmemrs_atomic_swap64(rt, &shared->lock, 0, 0, &old));
    }
    barrier();
    EXPECT(g64(&shared->terms, 0) == (uint64_t)ROUNDS * n && g64(&shared->sum, 0) == (uint64_t)ROUNDS * n * (n - 1) / 2);
    GIVE_BACK(shared);
}

/* Work is handed out by a counter; results go where nobody else writes. */
static void task_tickets(void)
{
    enum { TASKS = 40 };
    uint64_t *next = zeroed(1, sizeof *next), *results = zeroed(TASKS, sizeof *results);
    for (uint64_t task; (task = fetch_add(next, 1, 0)) < TASKS;) {
        p64(results + task, task * task + 1, 0);
    }
    barrier();
    if (me == 0) {
        for (uint64_t i = 0; i < TASKS; i++) {
            EXPECT(results[i] == i * i + 1);
        }
    }
    GIVE_BACK(next, results);
}

/* Bins are counted by atomic additions of all PEs, and read after a barrier. */
static void histogram(void)
{
    enum { BINS = 7, VALUES = 100 };
    uint64_t *bins = zeroed(BINS, sizeof *bins), total = 0;
    for (int i = 0; i < VALUES; i++) {
        int bin = (i * 31 + me) % (BINS * n);
        CALL(nvshmemrs_atomic_add64(rt, bins + bin / n, 1, bin % n));
    }
    barrier();
    for (int bin = 0; bin < BINS * n; bin++) {
        total += g64(bins + bin / n, bin % n);
    }
    EXPECT(total == (uint64_t)VALUES * n);
    GIVE_BACK(bins);
}

/* Random updates by exclusive or, done twice, restore the initial values. */
static void gups(void)
{
    enum { TABLE = 32, UPDATES = 60 };
    uint64_t *table = zeroed(TABLE, sizeof *table);
    for (int i = 0; i < TABLE; i++) {
        table[i] = me * TABLE + i;
    }
    barrier();
    for (int pass = 0; pass < 2; pass++) {
        uint64_t random = me + 1;
        for (int i = 0; i < UPDATES; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            uint64_t place = (random >> 33) % (TABLE * n);
            CALL(nvshmemrs_atomic_xor64(rt, table + place % TABLE, random, place / TABLE));
        }
    }
    barrier();
    for (int i = 0; i < TABLE; i++) {
        EXPECT(table[i] == (uint64_t)me * TABLE + i);
    }
    GIVE_BACK(table);
}

/* A dissemination barrier: in step k each PE notifies the PE 2^k further on. Puts before the barrier are complete after it. */
static void dissemination_barrier(void)
{
    uint64_t *flags = zeroed(16, sizeof *flags), *inbox = zeroed(n, sizeof *inbox);
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        for (int phase = 0; phase < 2; phase++) {
            if (phase == 0) {
                for (int pe = 0; pe < n; pe++) {
                    p64(inbox + me, 10 * round + me, pe);
                }
            }
            quiet();
            uint64_t *step = flags + phase * 8;
            for (int distance = 1; distance < n; distance *= 2, step++) {
                CALL(nvshmemrs_atomic_inc64(rt, step, (me + distance) % n));
                wait64(step, NVSHMEMRS_CMP_GE, round);
            }
            if (phase == 0) {
                for (int pe = 0; pe < n; pe++) {
                    EXPECT(inbox[pe] == 10 * round + pe);
                }
            }
        }
    }
    GIVE_BACK(flags, inbox);
}

/* A central barrier: a counter and a sense that PE 0 flips. */
static void central_barrier(void)
{
    uint64_t *count = zeroed(1, sizeof *count), *sense = zeroed(1, sizeof *sense), *turn = zeroed(1, sizeof *turn);
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        if (me == (int)(round % n)) {
            for (int pe = 0; pe < n; pe++) {
                p64(turn, 100 * round, pe);
            }
        }
        for (uint64_t half = 0; half < 2; half++) {
            uint64_t number = 2 * round + half;
            quiet();
            if (fetch_add(count, 1, 0) == (uint64_t)n * (number - 1) - 1) {
                for (int pe = 0; pe < n; pe++) {
                    CALL(nvshmemrs_atomic_set64(rt, sense, number, pe));
                }
            }
            wait64(sense, NVSHMEMRS_CMP_GE, number);
            if (half == 0) {
                EXPECT(*turn == 100 * round);
            }
        }
    }
    GIVE_BACK(count, sense, turn);
}

/* Prefix sums along the PEs by doubling distances; a slot and a flag for each step. */
static void prefix_sum(void)
{
    uint64_t *slots = zeroed(16, sizeof *slots), *flags = zeroed(16, sizeof *flags), sum = me + 1;
    for (int step = 0, distance = 1; distance < n; step++, distance *= 2) {
        if (me + distance < n) {
            p64(slots + step, sum, me + distance);
            fence();
            p64(flags + step, 1, me + distance);
        }
        if (me >= distance) {
            wait64(flags + step, NVSHMEMRS_CMP_EQ, 1);
            sum += slots[step];
        }
    }
    EXPECT(sum == (uint64_t)(me + 1) * (me + 2) / 2);
    GIVE_BACK(slots, flags);
}

/* Messages of different lengths: the sender reserves room by fetch_add, and a counter tells when all is there. */
static void sparse_exchange(void)
{
    uint64_t *room = zeroed(8 * n, sizeof *room), *used = zeroed(1, sizeof *used), *words = zeroed(1, sizeof *words), out[8];
    uint64_t expected = 0, sum = 0, wanted = 0;
    for (int to = 0; to < n; to++) {
        int count = (me + 2 * to) % 5;
        for (int i = 0; i < count; i++) {
            out[i] = 100 * me + i;
        }
        uint64_t at = fetch_add(used, count, to);
        put(room + at, out, count * sizeof *out, to);
        fence();
        CALL(nvshmemrs_atomic_add64(rt, words, count, to));
    }
    for (int from = 0; from < n; from++) {
        int count = (from + 2 * me) % 5;
        expected += count;
        wanted += 100 * from * count + count * (count - 1) / 2;
    }
    wait64(words, NVSHMEMRS_CMP_EQ, expected);
    for (uint64_t i = 0; i < expected; i++) {
        sum += room[i];
    }
    EXPECT(sum == wanted);
    GIVE_BACK(room, used, words);
}

/* Tasks are stolen from the fullest queue; a counter of tasks that are left says when all is done. */
static void work_stealing(void)
{
    enum { TASKS = 12 };
    uint64_t *tasks = zeroed(TASKS, sizeof *tasks), *taken = zeroed(1, sizeof *taken), *left = zeroed(1, sizeof *left), *sum = zeroed(1, sizeof *sum);
    for (int i = 0; i < TASKS; i++) {
        tasks[i] = me * TASKS + i;
    }
    if (me == 0) {
        *left = (uint64_t)TASKS * n;
    }
    barrier();
    while (atomic_fetch(left, 0) > 0) {
        for (int k = 0; k < n; k++) {
            int victim = (me + k) % n;
            uint64_t number;
            while ((number = fetch_add(taken, 1, victim)) < TASKS) {
                CALL(nvshmemrs_atomic_add64(rt, sum, g64(tasks + number, victim), 0));
                CALL(nvshmemrs_atomic_add64(rt, left, UINT64_MAX, 0));
            }
        }
    }
    uint64_t all = (uint64_t)TASKS * n;
    EXPECT(atomic_fetch(sum, 0) == all * (all - 1) / 2);
    GIVE_BACK(tasks, taken, left, sum);
}

/* Data is published by put, fence and atomic_set; the reader asks for the flag by atomic_fetch until it is there. */
static void fetch_polling(void)
{
    uint64_t *data = zeroed(WORDS, sizeof *data), *flag = zeroed(1, sizeof *flag), *seen = zeroed(1, sizeof *seen), out[WORDS];
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        for (int i = 0; i < WORDS; i++) {
            out[i] = round + 10 * me;
        }
        put(data, out, sizeof out, right_of(me));
        fence();
        CALL(nvshmemrs_atomic_set64(rt, flag, round, right_of(me)));
        while (atomic_fetch(flag, me) < round) {
        }
        EXPECT(data[0] == round + 10 * left_of(me) && data[WORDS - 1] == data[0]);
        CALL(nvshmemrs_atomic_set64(rt, seen, round, left_of(me)));
        while (atomic_fetch(seen, me) < round) {
        }
    }
    GIVE_BACK(data, flag, seen);
}

/* The reader looks at the flag and at the data from afar. */
static void polling_from_afar(void)
{
    uint64_t *data = zeroed(WORDS, sizeof *data), *flag = zeroed(1, sizeof *flag), copy[WORDS];
    for (int i = 0; i < WORDS; i++) {
        data[i] = 5 * me + i;
    }
    CALL(nvshmemrs_atomic_set64(rt, flag, 1, me));
    while (!atomic_fetch(flag, right_of(me))) {
    }
    get(copy, data, sizeof copy, right_of(me));
    EXPECT(copy[WORDS - 1] == 5u * right_of(me) + WORDS - 1);
    GIVE_BACK(data, flag);
}

/* test in place of wait, with other work between. */
static void test_loop(void)
{
    int32_t *data = zeroed(WORDS, sizeof *data), out[WORDS], there = 0, one = 1;
    int32_t *flag = zeroed(1, sizeof *flag);
    uint64_t work = 0;
    for (int i = 0; i < WORDS; i++) {
        out[i] = me - i;
    }
    put(data, out, sizeof out, right_of(me));
    fence();
    CALL(nvshmemrs_p32(rt, flag, 1, right_of(me)));
    while (!there) {
        work++;
        CALL(nvshmemrs_test(rt, flag, NVSHMEMRS_CMP_EQ, &one, NVSHMEMRS_DTYPE_INT32, &there));
    }
    EXPECT(data[WORDS - 1] == left_of(me) - WORDS + 1 && work > 0);
    GIVE_BACK(data, flag);
}

/* Messages go round until their hops are used up; nobody is left when as many were received as sent. */
static void termination(void)
{
    enum { HOPS = 5 };
    uint64_t *inbox = zeroed(HOPS + 1, sizeof *inbox), *sent = zeroed(1, sizeof *sent), *received = zeroed(1, sizeof *received);
    uint64_t hops, seen = 0, in;
    fetch_add(sent, 1, 0);
    barrier();
    CALL(nvshmemrs_atomic_set64(rt, inbox + HOPS, HOPS, right_of(me)));
    do {
        for (int slot = 1; slot <= HOPS; slot++) {
            CALL(nvshmemrs_atomic_swap64(rt, inbox + slot, 0, me, &hops));
            if (!hops) {
                continue;
            }
            seen++;
            if (hops > 1) {
                fetch_add(sent, 1, 0);
                CALL(nvshmemrs_atomic_set64(rt, inbox + hops - 1, hops - 1, right_of(me)));
            }
            fetch_add(received, 1, 0);
        }
        in = atomic_fetch(received, 0);
    } while (in != atomic_fetch(sent, 0));
    EXPECT(atomic_fetch(received, 0) == (uint64_t)HOPS * n && seen == HOPS);
    GIVE_BACK(inbox, sent, received);
}

/* The PEs' counter is read after sync: fetching atomic operations are complete without a barrier. */
static void sync_and_atomics(void)
{
    uint64_t *count = zeroed(1, sizeof *count);
    for (int round = 1; round <= ROUNDS; round++) {
        for (int pe = 0; pe < n; pe++) {
            fetch_add(count, 1, pe);
        }
        CALL(nvshmemrs_sync(rt, NVSHMEMRS_TEAM_WORLD));
        EXPECT(atomic_fetch(count, me) == (uint64_t)round * n);
        CALL(nvshmemrs_sync(rt, NVSHMEMRS_TEAM_WORLD));
    }
    GIVE_BACK(count);
}

/* Fetching atomic operations without blocking, used after quiet. */
static void atomics_nbi(void)
{
    uint64_t *words = zeroed(3, sizeof *words), old[4];
    uint32_t *small = zeroed(1, sizeof *small), *fetched = zeroed(2, sizeof *fetched);
    for (int round = 0; round < ROUNDS; round++) {
        CALL(nvshmemrs_atomic_fetch_add64_nbi(rt, old, words, 1, right_of(me)));
        CALL(nvshmemrs_atomic_fetch_inc64_nbi(rt, old + 1, words + 1, right_of(me)));
        CALL(nvshmemrs_atomic_swap64_nbi(rt, old + 2, words + 2, round + 1, right_of(me)));
        CALL(nvshmemrs_atomic_fetch64_nbi(rt, old + 3, words, right_of(me)));
        CALL(nvshmemrs_atomic_fetch_or32_nbi(rt, fetched + round % 2, small, 1u << round, right_of(me)));
        quiet();
        EXPECT(old[0] == (uint64_t)round && old[1] == old[0] && old[2] == old[0] && old[3] - old[0] <= 1);
        EXPECT(fetched[round % 2] == (1u << round) - 1);
        CALL(nvshmemrs_p32(rt, fetched + round % 2, 0, me));
        quiet();
    }
    GIVE_BACK(words, small, fetched);
}

/* A lock by compare_swap without blocking; its answer is looked at after quiet. */
static void lock_nbi(void)
{
    uint64_t *lock = zeroed(1, sizeof *lock), *count = zeroed(1, sizeof *count), *old = zeroed(1, sizeof *old);
    for (int round = 0; round < ROUNDS; round++) {
        do {
            CALL(nvshmemrs_atomic_compare_swap64_nbi(rt, old, lock, 0, me + 1, 0));
            quiet();
        } while (*old);
        p64(count, g64(count, 0) + 1, 0);
        quiet();
        CALL(nvshmemrs_atomic_set64(rt, lock, 0, 0));
    }
    barrier();
    EXPECT(g64(count, 0) == (uint64_t)ROUNDS * n);
    GIVE_BACK(lock, count, old);
}

/* Leaders are elected by compare_swap; the other PEs learn the leader by fetch. */
static void election(void)
{
    uint64_t *leader = zeroed(1, sizeof *leader), *speech = zeroed(WORDS, sizeof *speech), old, text[WORDS];
    CALL(nvshmemrs_atomic_compare_swap64(rt, leader, 0, me + 1, 0, &old));
    uint64_t who = old ? old : (uint64_t)me + 1;
    EXPECT(who == atomic_fetch(leader, 0));
    if (!old) {
        for (int i = 0; i < WORDS; i++) {
            text[i] = who;
        }
        for (int pe = 0; pe < n; pe++) {
            put(speech, text, sizeof text, pe);
        }
    }
    barrier();
    EXPECT(speech[WORDS - 1] == who);
    GIVE_BACK(leader, speech);
}

SCENARIOS(
    SCENARIO(ticket_lock), SCENARIO(mcs_lock), SCENARIO(spin_lock), SCENARIO(task_tickets), SCENARIO(histogram), SCENARIO(gups),
    SCENARIO(dissemination_barrier), SCENARIO(central_barrier), SCENARIO(prefix_sum), SCENARIO(sparse_exchange), SCENARIO(work_stealing),
    SCENARIO(fetch_polling), SCENARIO(polling_from_afar), SCENARIO(test_loop), SCENARIO(termination), SCENARIO(sync_and_atomics),
    SCENARIO(atomics_nbi), SCENARIO(lock_nbi), SCENARIO(election))
