/*
 * Collectives over all PEs. `bytes` is the length that one PE contributes for each PE, as in the OSU benchmarks.
 *
 * The members of a broadcast or a scan need not wait for each other, so a sync follows each and is timed with it.
 */
#ifndef PERF_COLLECTIVES_H
#define PERF_COLLECTIVES_H

#include "measure.h"

RUN(barrier, bench_barrier())

/* A barrier completes the puts before it: after one, every PE's number is here. */
static int barrier_check(void)
{
    int64_t *arrived = (int64_t *)target;
    memset(arrived, 0, (size_t)n_pes * sizeof *arrived);
    bench_barrier();
    for (int pe = 0; pe < n_pes; ++pe) {
        bench_p(&arrived[me], me + 1, pe);
    }
    bench_barrier();
    for (int pe = 0; pe < n_pes; ++pe) {
        if (arrived[pe] != pe + 1) {
            return 0;
        }
    }
    return 1;
}

RUN(sync, bench_sync())

static void broadcast_prepare(void)
{
    memset(target, 0, bytes);
    memset(origin, me == 0 ? 'b' : 0, bytes);
}

RUN(broadcast, bench_broadcast(target, origin, bytes, 0); bench_sync())

static int broadcast_check(void) { return me == 0 || all_bytes(target, bytes, 'b'); }

/* Element `i` of the data that PE `from` sends to PE `to`. */
static int64_t element(int from, int to, size_t i) { return (int64_t)i * 1000003 + from * 1009 + to + 1; }

/* `each`: whether every PE gets a separate block; elements are `stride` apart. */
static void blocks_prepare(int each, size_t stride)
{
    int64_t *from = (int64_t *)origin, *to = (int64_t *)target;
    size_t count = bytes / 8;
    for (size_t i = 0; i < (size_t)n_pes * count * stride; ++i) {
        to[i] = 0;
    }
    for (int pe = 0; pe < (each ? n_pes : 1); ++pe) {
        for (size_t i = 0; i < count; ++i) {
            from[((size_t)pe * count + i) * stride] = element(me, pe, i);
        }
    }
}

static int blocks_check(int each, size_t stride)
{
    const int64_t *to = (const int64_t *)target;
    size_t count = bytes / 8;
    for (int pe = 0; pe < n_pes; ++pe) {
        for (size_t i = 0; i < count; ++i) {
            const int64_t *at_i = &to[((size_t)pe * count + i) * stride];
            if (*at_i != element(pe, each ? me : 0, i) || (stride > 1 && at_i[1] != 0)) {
                return 0;
            }
        }
    }
    return 1;
}

static void collect_prepare(void) { blocks_prepare(0, 1); }
static int collect_check(void) { return blocks_check(0, 1); }
static void alltoall_prepare(void) { blocks_prepare(1, 1); }
static int alltoall_check(void) { return blocks_check(1, 1); }
static void alltoalls_prepare(void) { blocks_prepare(1, STRIDE); }
static int alltoalls_check(void) { return blocks_check(1, STRIDE); }

RUN(fcollect, bench_fcollect(target, origin, bytes))
RUN(collect, bench_collect(target, origin, bytes))
RUN(alltoall, bench_alltoall(target, origin, bytes))
RUN(alltoalls, bench_alltoalls((int64_t *)target, (const int64_t *)origin, STRIDE, bytes / 8))

#endif
