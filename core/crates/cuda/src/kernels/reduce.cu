// Reductions: reduce, reducescatter, inclusive and exclusive scan. Every element is a left fold in team order, whatever the kernel.
//
// The `_flags` kernels send the sources, in units of eight bytes with a flag each, to whoever needs them. The others wait until all
// have entered and read the sources where they are: each member combines one share of the elements, for all.

// Values of Collective::operation, the numbers of Operation in ../../../wait.rs.
static constexpr u32 REDUCE = 8, REDUCESCATTER = 15, INSCAN = 16, EXSCAN = 17;

// Members whose elements are under way at the same time.
static constexpr i32 TOGETHER = 4;

// What a thread sends and folds at a time: one unit, or the two of an element of sixteen bytes.
template <class T>
struct Group {
    static constexpr int BYTES = sizeof(T) > 8 ? sizeof(T) : 8;
    static constexpr int UNITS = BYTES / 8;
    typedef Pack<T, BYTES> Packed;
};

// Receives a group of members `from` to `to`; false: leave.
template <class T>
DEVICE bool receive_groups(const Turn &turn, i32 from, i32 to, u32 group, Pack<T, Group<T>::BYTES> *packs) {
    static constexpr int UNITS = Group<T>::UNITS;
    for (u32 polls = 1;; polls++) {
        Pair pairs[TOGETHER][UNITS];
#pragma unroll
        for (i32 k = 0; k < TOGETHER; k++) {
            if (from + k < to) {
                u64 place = turn.staging_of(turn.c.team.me, from + k) + (u64)group * UNITS * 16;
#pragma unroll
                for (int u = 0; u < UNITS; u++) pairs[k][u] = load_pair(place + u * 16);
            }
        }
        bool all = true;
#pragma unroll
        for (i32 k = 0; k < TOGETHER; k++) {
            if (from + k < to) {
#pragma unroll
                for (int u = 0; u < UNITS; u++) {
                    packs[k].words[u] = pairs[k][u].first;
                    all &= pairs[k][u].second == turn.flag;
                }
            }
        }
        if (all) return true;
        if (polls % POLLS == 0 && turn.given_up()) return false;
    }
}

template <class T>
DEVICE void reduce_by_flags(const Turn &turn) {
    static constexpr int UNITS = Group<T>::UNITS;
    typedef typename Group<T>::Packed Packed;
    const Collective &c = turn.c;
    Movers movers;
    i32 n = c.team.n, me = c.team.me;
    u32 op = c.op;
    bool scatter = c.operation == REDUCESCATTER, in = c.operation == INSCAN, ex = c.operation == EXSCAN;
    u64 source = turn.own() + c.source, dest = turn.own() + c.dest;
    u32 groups = (u32)((c.bytes + Group<T>::BYTES - 1) / Group<T>::BYTES);
    // To whoever needs it: to all, or in a scan to those that come after. In place, a thread has read a group before it writes it.
    i32 first = in ? me : ex ? me + 1 : 0;
    for (u32 group = movers.thread; group < groups; group += movers.threads) {
        u64 data[UNITS] = {};
        for (i32 m = first; m < n; m++) {
#pragma unroll
            for (int u = 0; u < UNITS; u++) {
                u32 unit = group * UNITS + u;
                if (scatter || m == first) data[u] = read_unit(scatter ? source + m * c.bytes : source, c.bytes, unit);
                turn.send(m, unit, data[u]);
            }
        }
    }
    i32 members = in ? me + 1 : ex ? me : n;
    for (u32 group = movers.thread; group < groups; group += movers.threads) {
        Folded<Packed> fold;
        fold.clear(op);
        for (i32 from = 0; from < members; from += TOGETHER) {
            Packed packs[TOGETHER];
            if (!receive_groups<T>(turn, from, members, group, packs)) return;
#pragma unroll
            for (i32 k = 0; k < TOGETHER; k++) {
                if (k == 0 && from == 0) fold.start(packs[k]);
                else if (from + k < members) fold.fold(op, packs[k]);
            }
        }
        Packed result = fold.result();
#pragma unroll
        for (int u = 0; u < UNITS; u++) {
            u32 unit = group * UNITS + u;
            store_unit(dest + (u64)unit * 8, result.words[u], valid_bytes(c.bytes, unit));
        }
    }
}

template <class T>
DEVICE void reduce_flags(const Collective &c) {
    Turn turn(c);
    if (!turn.live()) return;
    if (threadIdx.x < FLAG_THREADS) turn.meet_by_flags();
    else reduce_by_flags<T>(turn);
    turn.leave();
}

// Folds one pack of all members' sources. `source` and `dest` are symmetric offsets.
template <class Packed>
DEVICE void reduce_pack(const Turn &turn, u64 source, u64 dest) {
    i32 n = turn.c.team.n;
    u32 operation = turn.c.operation, op = turn.c.op;
    Folded<Packed> fold;
    fold.clear(op);
    for (i32 from = 0; from < n; from += TOGETHER) {
        Packed packs[TOGETHER];
#pragma unroll
        for (i32 k = 0; k < TOGETHER; k++)
            if (from + k < n) packs[k] = at<Packed>(parts[from + k] + source);
#pragma unroll
        for (i32 k = 0; k < TOGETHER; k++) {
            if (from + k < n) {
                if (operation == EXSCAN) at<Packed>(parts[from + k] + dest) = fold.result();
                if (k == 0 && from == 0) fold.start(packs[k]);
                else fold.fold(op, packs[k]);
                if (operation == INSCAN) at<Packed>(parts[from + k] + dest) = fold.result();
            }
        }
    }
    if (operation == INSCAN || operation == EXSCAN) return;
    Packed result = fold.result();
    if (operation == REDUCESCATTER) at<Packed>(turn.own() + dest) = result;
    else
        for (i32 step = 0; step < n; step++) at<Packed>(parts[turn.right(step)] + dest) = result;
}

// Folds packs `start` to `end`; each is read and written by one thread of one member only, so this may be in place.
template <class Packed>
DEVICE void reduce_packs(const Turn &turn, u64 source, u64 dest, u64 start, u64 end) {
    for (u64 i = start + grid_thread(); i < end; i += grid_threads())
        reduce_pack<Packed>(turn, source + i * sizeof(Packed), dest + i * sizeof(Packed));
}

template <class T>
DEVICE void reduce_direct(const Collective &c) {
    Turn turn(c);
    if (!turn.live()) return;
    if (turn.meet()) {
        bool scatter = c.operation == REDUCESCATTER;
        u64 source = scatter ? c.source + c.team.me * c.bytes : c.source;
        // Packs where they are aligned, then single elements. Members share each of the two, but in a reducescatter, where this member's
        // part is all its own; shares of packs are whole lines, so that members do not write into each other's. Sixteen elements of
        // 8 bits, widened, would not fit in a thread's registers.
        constexpr u64 PACK = sizeof(typename Wide<T>::type) > 2 * sizeof(T) ? 8 : 16, LINE = 128 / PACK;
        u64 packs = (source | c.dest) % PACK == 0 ? c.bytes / PACK : 0;
        u64 first = packs * PACK / sizeof(T), count = c.bytes / sizeof(T);
        u64 me = scatter ? 0 : c.team.me, n = scatter ? 1 : c.team.n;
        u64 each = ((packs + n - 1) / n + LINE - 1) & ~(LINE - 1), start = least(each * me, packs);
        reduce_packs<Pack<T, PACK>>(turn, source, c.dest, start, least(start + each, packs));
        each = (count - first + n - 1) / n;
        start = least(first + each * me, count);
        reduce_packs<Single<T>>(turn, source, c.dest, start, least(start + each, count));
        turn.meet_blocks(0);
    }
    turn.leave();
}

#define REDUCTION(name, T)                                                                                    \
    KERNEL __launch_bounds__(MOST_THREADS) nvshmemrs_reduce_##name##_flags(const __grid_constant__ Collective c) { \
        reduce_flags<T>(c);                                                                                    \
    }                                                                                                          \
    KERNEL DIRECT nvshmemrs_reduce_##name(const __grid_constant__ Collective c) {                              \
        reduce_direct<T>(c);                                                                                   \
    }

// Every type that is reduced, with the end of its kernels' names: integers by their bits, then the others in the order of Dtype.
#define INTEGER_REDUCTIONS(X) X(8, u8) X(16, u16) X(32, u32) X(64, u64)
#define OTHER_REDUCTIONS(X) \
    X(half, Half) X(bfloat16, Bfloat16) X(float, float) X(double, double) X(complexf, Complex<float>) X(complexd, Complex<double>) \
    X(float8_e4m3fn, nvshmemrs::device::Float8E4m3fn) X(float8_e5m2, nvshmemrs::device::Float8E5m2)

INTEGER_REDUCTIONS(REDUCTION)
OTHER_REDUCTIONS(REDUCTION)
