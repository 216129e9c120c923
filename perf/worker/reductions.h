/* Reductions and scans over all PEs, of the type and operation that the arguments name. */
#ifndef PERF_REDUCTIONS_H
#define PERF_REDUCTIONS_H

#include "measure.h"

static size_t element_bytes(void) { return dtype == FLOAT || dtype == INT32 ? 4 : 8; }

static size_t elements(void) { return bytes / element_bytes(); }

static void store(char *data, size_t i, int64_t value)
{
    switch (dtype) {
    case DOUBLE: ((double *)data)[i] = (double)value; break;
    case FLOAT: ((float *)data)[i] = (float)value; break;
    case INT64: ((int64_t *)data)[i] = value; break;
    case INT32: ((int32_t *)data)[i] = (int32_t)value; break;
    }
}

static int holds(const char *data, size_t i, int64_t value)
{
    switch (dtype) {
    case DOUBLE: return ((const double *)data)[i] == (double)value;
    case FLOAT: return ((const float *)data)[i] == (float)value;
    case INT64: return ((const int64_t *)data)[i] == value;
    case INT32: return ((const int32_t *)data)[i] == (int32_t)value;
    }
    return 0;
}

/* Element `i` of PE `pe`: small, so that every type holds every result exactly. */
static int64_t term(int pe, size_t i) { return ((size_t)pe + i) % 8 == 0 ? 2 : 1; }

/* The reduction of element `i` over PEs 0 to `last`. */
static int64_t fold(int last, size_t i)
{
    int64_t all = term(0, i);
    for (int pe = 1; pe <= last; ++pe) {
        int64_t one = term(pe, i);
        switch (op) {
        case SUM: all += one; break;
        case MIN: all = one < all ? one : all; break;
        case MAX: all = one > all ? one : all; break;
        case PROD: all *= one; break;
        case AND: all &= one; break;
        case OR: all |= one; break;
        case XOR: all ^= one; break;
        }
    }
    return all;
}

static void terms(size_t count)
{
    for (size_t i = 0; i < count; ++i) {
        store(origin, i, term(me, i));
    }
    memset(target, 0, bytes);
}

static void reduce_prepare(void) { terms(elements()); }

RUN(reduce, bench_reduce(target, origin, elements(), dtype, op))

/* Whether `target` holds the reductions over PEs 0 to `last` of the elements from `first` on. */
static int folded(int last, size_t first)
{
    for (size_t i = 0; i < elements(); ++i) {
        if (!holds(target, i, fold(last, first + i))) {
            return 0;
        }
    }
    return 1;
}

static int reduce_check(void) { return folded(n_pes - 1, 0); }

#ifdef HAVE_REDUCESCATTER
static void reducescatter_prepare(void) { terms((size_t)n_pes * elements()); }

RUN(reducescatter, bench_reducescatter(target, origin, elements(), dtype, op))

static int reducescatter_check(void) { return folded(n_pes - 1, (size_t)me * elements()); }
#else
#define reducescatter_prepare nothing
#define reducescatter_run NULL
#define reducescatter_check always
#endif

#ifdef HAVE_SCAN
RUN(inscan, bench_inscan(target, origin, elements(), dtype, op); bench_sync())

static int inscan_check(void) { return folded(me, 0); }

RUN(exscan, bench_exscan(target, origin, elements(), dtype, op); bench_sync())

/* The result on PE 0 is not defined on every side. */
static int exscan_check(void) { return me == 0 || folded(me - 1, 0); }
#else
#define inscan_run NULL
#define inscan_check always
#define exscan_run NULL
#define exscan_check always
#endif

#define COLLECTIVE_OPERATIONS                                                                                         \
    {"barrier", ALL, nothing, barrier_run, barrier_check},                                                            \
    {"sync", ALL, nothing, sync_run, always},                                                                         \
    {"broadcast", ALL, broadcast_prepare, broadcast_run, broadcast_check},                                            \
    {"fcollect", ALL, collect_prepare, fcollect_run, collect_check},                                                  \
    {"collect", ALL, collect_prepare, collect_run, collect_check},                                                    \
    {"alltoall", ALL, alltoall_prepare, alltoall_run, alltoall_check},                                                \
    {"alltoalls", ALL, alltoalls_prepare, alltoalls_run, alltoalls_check},                                            \
    {"reduce", ALL, reduce_prepare, reduce_run, reduce_check},                                                        \
    {"reducescatter", ALL, reducescatter_prepare, reducescatter_run, reducescatter_check},                            \
    {"inscan", ALL, reduce_prepare, inscan_run, inscan_check},                                                        \
    {"exscan", ALL, reduce_prepare, exscan_run, exscan_check}

#endif
