/* Operations between PE 0 and PE 1: RMA, order, ping-pongs. */
#ifndef PERF_PAIR_H
#define PERF_PAIR_H

#include "measure.h"

/* Calls in flight before a quiet, in bandwidth tests. */
#define WINDOW 64

/* The strided forms move 8-byte elements that lie this many elements apart. */
#define STRIDE 2

/* Completes a window with its last call. */
static inline void end_window(long call)
{
    if (call % WINDOW == 0) {
        bench_quiet();
    }
}

static void nothing(void) {}

static int always(void) { return 1; }

/* Put: `local` of PE 0 goes to `target` on PE 1. */

static void put_prepare(void)
{
    memset(target, 0, bytes);
    memset(local, 'p', bytes);
}

static int put_check(void) { return me != 1 || all_bytes(target, bytes, 'p'); }

RUN_QUIET(put, bench_put(target, local, bytes, 1))
RUN(put_quiet, bench_put(target, local, bytes, 1); bench_quiet())
RUN_QUIET(put_nbi, bench_put_nbi(target, local, bytes, 1); end_window(i))

/* Get: `target` of PE 1 comes to `local` on PE 0. */

static void get_prepare(void)
{
    memset(target, 'g', bytes);
    memset(local, 0, bytes);
}

static int get_check(void) { return me != 0 || all_bytes(local, bytes, 'g'); }

RUN(get, bench_get(local, target, bytes, 1))
RUN_QUIET(get_nbi, bench_get_nbi(local, target, bytes, 1); end_window(i))

/* Strided: every second element moves, those between must stay as they are. */

static void strided_prepare(void)
{
    int64_t *from = (int64_t *)origin, *here = (int64_t *)local, *to = (int64_t *)target;
    for (size_t i = 0; i < bytes / 8 * STRIDE; ++i) {
        from[i] = (int64_t)i + 1;
        here[i] = me == 0 ? (int64_t)i + 1 : 0;
        to[i] = 0;
    }
}

static int strided_arrived(const int64_t *data, int64_t between)
{
    for (size_t i = 0; i < bytes / 8 * STRIDE; ++i) {
        if (data[i] != (i % STRIDE == 0 ? (int64_t)i + 1 : between)) {
            return 0;
        }
    }
    return 1;
}

RUN_QUIET(iput, bench_iput((int64_t *)target, (const int64_t *)local, STRIDE, bytes / 8, 1))

static int iput_check(void) { return me != 1 || strided_arrived((const int64_t *)target, 0); }

static void iget_prepare(void)
{
    strided_prepare();
    memset(local, 0, bytes * STRIDE);
}

RUN(iget, bench_iget((int64_t *)local, (const int64_t *)origin, STRIDE, bytes / 8, 1))

static int iget_check(void) { return me != 0 || strided_arrived((const int64_t *)local, 0); }

/* Single values */

RUN_QUIET(p, bench_p(&words->value, made + i, 1))

/* The word of PE 1 has the value that PE 0's last call gave it. */
static int p_check(void) { return me != 0 || bench_g(&words->value, 1) == made; }

static void g_prepare(void) { words->value = 100 + me; }

static int64_t got;

RUN(g, got = bench_g(&words->value, 1))

static int g_check(void) { return me != 0 || got == 101; }

/* Order */

RUN(fence, bench_fence())
RUN(quiet, bench_quiet())

/* Round trips between PE 0 and PE 1; the value counts them. */

static void p_pingpong_run(long calls)
{
    for (int64_t i = made + 1; i <= made + calls; ++i) {
        if (me == 0) {
            bench_p(&words->value, i, 1);
            bench_wait_until(&words->value, i);
        } else {
            bench_wait_until(&words->value, i);
            bench_p(&words->value, i, 0);
        }
    }
}

static int p_pingpong_check(void) { return me > 1 || words->value == made; }

#ifdef HAVE_PUT_SIGNAL
RUN_QUIET(put_signal, bench_put_signal(target, local, bytes, &words->signal, (uint64_t)(made + i), 1))

static int put_signal_check(void)
{
    return put_check() && (me != 0 || bench_g((const int64_t *)&words->signal, 1) == made);
}

static void signal_pingpong_run(long calls)
{
    for (uint64_t i = (uint64_t)made + 1; i <= (uint64_t)(made + calls); ++i) {
        if (me == 0) {
            bench_put_signal(target, local, bytes, &words->signal, i, 1);
            bench_signal_wait(&words->signal, i);
        } else {
            bench_signal_wait(&words->signal, i);
            bench_put_signal(target, local, bytes, &words->signal, i, 0);
        }
    }
}

static int signal_pingpong_check(void)
{
    return me > 1 || (all_bytes(target, bytes, 'p') && words->signal == (uint64_t)made);
}
#else
#define put_signal_run NULL
#define put_signal_check always
#define signal_pingpong_run NULL
#define signal_pingpong_check always
#endif

#define PAIR_OPERATIONS                                                                                               \
    {"put", ONE, put_prepare, put_run, put_check},                                                                    \
    {"put_quiet", ONE, put_prepare, put_quiet_run, put_check},                                                        \
    {"put_nbi", ONE, put_prepare, put_nbi_run, put_check},                                                            \
    {"get", ONE, get_prepare, get_run, get_check},                                                                    \
    {"get_nbi", ONE, get_prepare, get_nbi_run, get_check},                                                            \
    {"iput", ONE, strided_prepare, iput_run, iput_check},                                                             \
    {"iget", ONE, iget_prepare, iget_run, iget_check},                                                                \
    {"put_signal", ONE, put_prepare, put_signal_run, put_signal_check},                                               \
    {"p", ONE, nothing, p_run, p_check},                                                                              \
    {"g", ONE, g_prepare, g_run, g_check},                                                                            \
    {"fence", ONE, nothing, fence_run, always},                                                                       \
    {"quiet", ONE, nothing, quiet_run, always},                                                                       \
    {"p_pingpong", TWO, nothing, p_pingpong_run, p_pingpong_check},                                                   \
    {"signal_pingpong", TWO, put_prepare, signal_pingpong_run, signal_pingpong_check}

#endif
