/* Atomic memory operations of PE 0 on a word of PE 1. */
#ifndef PERF_ATOMICS_H
#define PERF_ATOMICS_H

#include "measure.h"

/* The result of the last fetching call, and the word's value in the end. */
static int64_t fetched;

static int64_t word(void) { return bench_g(&words->value, 1); }

/* `right` is called on PE 0 only. */
#define ATOMIC(name, statement, right)                                                                                \
    RUN_QUIET(name, statement)                                                                                        \
    static int name##_check(void) { return me != 0 || (right); }

static void all_ones(void) { words->value = -1; }
static void plant(void) { words->value = 4711; }

ATOMIC(fetch, fetched = bench_fetch64(&words->value, 1), fetched == 4711)
ATOMIC(set, bench_set64(&words->value, made + i, 1), word() == made)
ATOMIC(swap, fetched = bench_swap64(&words->value, made + i, 1), fetched == made - 1 && word() == made)
ATOMIC(compare_swap, fetched = bench_compare_swap64(&words->value, made + i - 1, made + i, 1),
       fetched == made - 1 && word() == made)
ATOMIC(inc, bench_inc64(&words->value, 1), word() == made)
ATOMIC(fetch_inc, fetched = bench_fetch_inc64(&words->value, 1), fetched == made - 1 && word() == made)
ATOMIC(add, bench_add64(&words->value, 3, 1), word() == 3 * made)
ATOMIC(fetch_add, fetched = bench_fetch_add64(&words->value, 3, 1), fetched == 3 * (made - 1) && word() == 3 * made)
ATOMIC(and, bench_and64(&words->value, ~(int64_t)6, 1), word() == ~(int64_t)6)
ATOMIC(or, bench_or64(&words->value, 6, 1), word() == 6)
ATOMIC(xor, bench_xor64(&words->value, 6, 1), word() == made % 2 * 6)
ATOMIC(fetch_and, fetched = bench_fetch_and64(&words->value, ~(int64_t)6, 1),
       word() == ~(int64_t)6 && fetched == word())
ATOMIC(fetch_or, fetched = bench_fetch_or64(&words->value, 6, 1), fetched == 6 && word() == 6)
ATOMIC(fetch_xor, fetched = bench_fetch_xor64(&words->value, 6, 1),
       word() == made % 2 * 6 && fetched == (made - 1) % 2 * 6)

static int32_t narrow(void)
{
    int32_t value = 0;
    bench_get(&value, &words->narrow, sizeof value, 1);
    return value;
}

/* 32 bits; the counts wrap around. */
ATOMIC(set32, bench_set32(&words->narrow, (int32_t)(made + i), 1), narrow() == (int32_t)made)
ATOMIC(inc32, bench_inc32(&words->narrow, 1), narrow() == (int32_t)made)
ATOMIC(add32, bench_add32(&words->narrow, 3, 1), narrow() == (int32_t)(3 * made))

#define ATOMIC_OPERATION(name, prepare) {#name, ONE, prepare, name##_run, name##_check}

#define ATOMIC_OPERATIONS                                                                                             \
    ATOMIC_OPERATION(fetch, plant), ATOMIC_OPERATION(set, nothing), ATOMIC_OPERATION(swap, nothing),                  \
        ATOMIC_OPERATION(compare_swap, nothing), ATOMIC_OPERATION(inc, nothing), ATOMIC_OPERATION(fetch_inc, nothing), \
        ATOMIC_OPERATION(add, nothing), ATOMIC_OPERATION(fetch_add, nothing), ATOMIC_OPERATION(and, all_ones),        \
        ATOMIC_OPERATION(or, nothing), ATOMIC_OPERATION(xor, nothing), ATOMIC_OPERATION(fetch_and, all_ones),         \
        ATOMIC_OPERATION(fetch_or, nothing), ATOMIC_OPERATION(fetch_xor, nothing), ATOMIC_OPERATION(set32, nothing),  \
        ATOMIC_OPERATION(inc32, nothing), ATOMIC_OPERATION(add32, nothing)

#endif
