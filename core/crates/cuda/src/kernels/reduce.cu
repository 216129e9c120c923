// Reductions: reduce, reducescatter, inclusive and exclusive scan. Every element is a left fold in team order, whatever the kernel.
//
// The `_flags` kernels send the sources, in units of eight bytes with a flag each, to the members that need them, and the `_lamport` kernels in
// units of sixteen bytes. The others wait until all have entered and read the sources where they are: each member combines one share of the
// elements, for all.

// Values of Collective::operation, the numbers of Operation in core/crates/vocabulary/src/operation.rs.
static constexpr u32 REDUCE = 8, REDUCESCATTER = 15, INSCAN = 16, EXSCAN = 17;

// Members whose elements are under way at the same time.
static constexpr i32 TOGETHER = 4;
// What a thread sends and folds at a time: one unit, or the two of an element of sixteen bytes.
template <class T>
struct Group {
    static constexpr int BYTES = sizeof(T) > 8 ? sizeof(T) : 8;
    static constexpr int UNITS = BYTES / 8;
    typedef Pack<T, BYTES> Packed;

    // Calls `with` for each group of the block that is this thread's.
    template <class With>
    static __device__ void for_each(const BlockUnits &units, const With &with) {
        u32 first = units.first / UNITS, end = first + units.count / UNITS;
        for (u32 group = first + units.thread; group < end; group += units.threads) with(group);
    }
};

template <class T>
DEVICE typename Group<T>::Packed read_group(u64 part, u64 bytes, u32 group) {
    typename Group<T>::Packed pack;
#pragma unroll
    for (int u = 0; u < Group<T>::UNITS; u++) pack.words[u] = read_unit(part, bytes, group * Group<T>::UNITS + u);
    return pack;
}

template <class T>
DEVICE void store_group(u64 part, u64 bytes, u32 group, const typename Group<T>::Packed &pack) {
#pragma unroll
    for (int u = 0; u < Group<T>::UNITS; u++) {
        u32 unit = group * Group<T>::UNITS + u;
        store_unit(part + (u64)unit * 8, pack.words[u], valid_bytes(bytes, unit));
    }
}

// Receives a group of each of the members from `from` on: of TOGETHER at most, up to `to`, and not of this one, whose pack stays as it is. False:
// the caller must leave.
template <class T>
DEVICE bool receive_groups(const CollectiveCall &call, i32 from, i32 to, u32 group, typename Group<T>::Packed (&packs)[TOGETHER]) {
    static constexpr int UNITS = Group<T>::UNITS;
    i32 me = call.c.team.me;
    u64 places[TOGETHER];
#pragma unroll
    for (i32 k = 0; k < TOGETHER; k++)
        places[k] = from + k < to && from + k != me ? call.staging_in(call.own(), from + k) + (u64)group * UNITS * 16 : 0;
    for (u32 polls = 1;; polls++) {
        bool all = true;
#pragma unroll
        for (i32 k = 0; k < TOGETHER; k++) {
            if (places[k] == 0) continue;
#pragma unroll
            for (int u = 0; u < UNITS; u++) {
                Pair pair = load_pair(places[k] + u * 16);
                packs[k].words[u] = pair.first;
                all &= pair.second == call.flag;
            }
        }
        if (all) return true;
        if (polls % POLLS != 0) continue;
#pragma unroll 1
        for (i32 m = from; m < to && m < from + TOGETHER; m++)
            if (m != me && call.given_up_on(m)) return false;
    }
}

// Folds this block's groups of the parts of the first `members` members. `mine`: the address of this member's part.
template <class T>
DEVICE void fold_all(const CollectiveCall &call, const BlockUnits &units, i32 members, u64 mine) {
    typedef typename Group<T>::Packed Packed;
    const Collective &c = call.c;
    Group<T>::for_each(units, [&](u32 group) {
        Packed own = read_group<T>(mine, c.bytes, group);
        Folded<Packed> fold;
        fold.clear(c.op);
        for (i32 from = 0; from < members; from += TOGETHER) {
            Packed packs[TOGETHER];
#pragma unroll
            for (i32 k = 0; k < TOGETHER; k++) packs[k] = own;
            if (!receive_groups<T>(call, from, members, group, packs)) return;
#pragma unroll
            for (i32 k = 0; k < TOGETHER; k++) {
                if (from + k >= members) break;
                if (k == 0 && from == 0) fold.start(packs[k]);
                else fold.fold(c.op, packs[k]);
            }
        }
        store_group<T>(call.own() + c.dest, c.bytes, group, fold.result());
    });
}

// As fold_all, for two members: without its loop over members, and with the processor's sums of pairs.
template <class T>
DEVICE void fold_both(const CollectiveCall &call, const BlockUnits &units, u64 mine) {
    typedef typename Group<T>::Packed Packed;
    const Collective &c = call.c;
    i32 me = c.team.me;
    Group<T>::for_each(units, [&](u32 group) {
        Packed own = read_group<T>(mine, c.bytes, group), other;
#pragma unroll
        for (int u = 0; u < Group<T>::UNITS; u++)
            if (!call.receive(1 - me, group * Group<T>::UNITS + u, other.words[u])) return;
        Packed first = me == 0 ? own : other, second = me == 0 ? other : own;
        store_group<T>(call.own() + c.dest, c.bytes, group, fold_two_packs(c.op, first, second));
    });
}

// In place, a block reads and writes the same units of each part, and reads all that it sends before it writes (move_through_staging). The thread
// that writes a result has itself read this member's elements there.
template <class T>
DEVICE void reduce_flags(const Collective &c) {
    i32 n = c.team.n, me = c.team.me, members = c.operation == INSCAN ? me + 1 : c.operation == EXSCAN ? me : n;
    bool scan = c.operation == INSCAN || c.operation == EXSCAN;
    u64 part = c.operation == REDUCESCATTER ? c.bytes : 0, source = own_part(c) + c.source;
    BlockUnits units(c.bytes, Group<T>::UNITS);
    OutgoingUnits sent(c, units, 1, scan ? n - me : n, source, part);
    CollectiveCall call(c, entered(c, [&] { sent.read_first(); }));
    call.move_through_staging(
        !scan, [&] { sent.send(call); },
        [&] {
            if (n == 2 && !scan) fold_both<T>(call, units, source + me * part);
            else fold_all<T>(call, units, members, source + me * part);
        });
}

// The same in units of sixteen bytes. A reduce of a large message has two shots (c.chunk): each member folds its share for all.
template <class T>
DEVICE void reduce_lamport(const Collective &c) {
    CollectiveCall call(c);
    i32 n = c.team.n, me = c.team.me, members = c.operation == INSCAN ? me + 1 : c.operation == EXSCAN ? me : n;
    bool scan = c.operation == INSCAN || c.operation == EXSCAN, shares = c.operation == REDUCE && c.chunk;
    u64 bytes = shares ? c.chunk : c.bytes, source = call.own() + c.source, dest = call.own() + c.dest;
    // From one member's part to the next.
    u64 from_step = shares || c.operation == REDUCESCATTER ? bytes : 0, to_step = shares ? bytes : 0;
    Lamport units(call, bytes, source | dest | from_step);
    call.move_through_staging(
        false, [&] { units.send(1, scan ? n - me : n, dest, [&](i32 step) { return source + call.right(step) * from_step; }); },
        [&] {
            units.fold<T>(members, source + me * from_step, dest + me * to_step, shares);
            if (shares) units.receive(1, n, 1, [&](i32 member) { return dest + member * bytes; });
        });
}

// Folds one pack of each member, at `address(member)`. `step` is called before and after the pack of a member is added, with the member, the
// fold and whether the pack is in it.
template <class Packed, class Address, class Step>
DEVICE Packed fold_members(u32 op, i32 n, const Address &address, const Step &step) {
    Folded<Packed> fold;
    fold.clear(op);
    for (i32 from = 0; from < n; from += TOGETHER) {
        Packed packs[TOGETHER];
#pragma unroll
        for (i32 k = 0; k < TOGETHER; k++)
            if (from + k < n) packs[k] = at<Packed>(address(from + k));
#pragma unroll
        for (i32 k = 0; k < TOGETHER; k++) {
            if (from + k < n) {
                step(from + k, fold, false);
                if (k == 0 && from == 0) fold.start(packs[k]);
                else fold.fold(op, packs[k]);
                step(from + k, fold, true);
            }
        }
    }
    return fold.result();
}

// Folds one pack of all members' sources. `source` and `dest` are symmetric offsets.
template <class Packed>
DEVICE void reduce_pack(const CollectiveCall &call, u64 source, u64 dest) {
    i32 n = call.c.team.n;
    u32 operation = call.c.operation;
    bool scan = operation == INSCAN || operation == EXSCAN;
    Packed result = fold_members<Packed>(
        call.c.op, n, [&](i32 m) { return parts[m] + source; },
        [&](i32 m, const Folded<Packed> &fold, bool with) {
            if (scan && with == (operation == INSCAN)) at<Packed>(parts[m] + dest) = fold.result();
        });
    if (scan) return;
    if (operation == REDUCESCATTER) at<Packed>(call.own() + dest) = result;
    else
        for (i32 step = 1; step <= n; step++) at<Packed>(parts[call.right(step)] + dest) = result;
}

// Folds packs `start` to `end`; each is read and written by one thread of one member only, so this may be in place.
template <class Packed>
DEVICE void reduce_packs(const CollectiveCall &call, u64 source, u64 dest, u64 start, u64 end) {
    for (u64 i = start + grid_thread(); i < end; i += grid_threads())
        reduce_pack<Packed>(call, source + i * sizeof(Packed), dest + i * sizeof(Packed));
}

// Two members' sources, folded from packs `start` to `end` into `dest` and, unless it is 0, `other`. All are addresses; `first` is member 0's
// source. A thread has several packs of each source under way.
template <class Packed>
DEVICE void fold_two(u32 op, u64 first, u64 second, u64 dest, u64 other, u64 start, u64 end, u64 step) {
    static constexpr int K = Packed::COUNT > 8 ? 2 : 4;
    for (u64 i = start; i < end; i += K * step) {
        Packed a[K], b[K];
#pragma unroll
        for (int k = 0; k < K; k++) {
            u64 place = (i + k * step) * sizeof(Packed);
            if (i + k * step < end) a[k] = at<Packed>(first + place), b[k] = at<Packed>(second + place);
        }
#pragma unroll
        for (int k = 0; k < K; k++) {
            u64 place = (i + k * step) * sizeof(Packed);
            if (i + k * step >= end) break;
            Packed result = fold_two_packs(op, a[k], b[k]);
            if (other) at<Packed>(other + place) = result;
            at<Packed>(dest + place) = result;
        }
    }
}

// A member's share of a message, or a chunk of it, in units.
struct Units {
    u64 first;
    u64 count;
};

// The chunks in which members send each other source elements, into the destination, where results replace them. That is faster than reading
// the memory of other members, because links carry stores better than loads. In place there is no room for it.
struct Chunks {
    // Chunks that a block has sent before it folds the first.
    static constexpr u64 AHEAD = 2;

    const CollectiveCall &call;
    // Bytes of a unit, units of a chunk, and chunks of the largest share.
    u64 unit;
    u64 size;
    u64 count;

    __device__ Chunks(const CollectiveCall &t, u64 bytes_of_unit, u64 units)
        : call(t), unit(bytes_of_unit), size(t.c.chunk / bytes_of_unit), count(size ? (units + size - 1) / size : 0) {}

    // Whether there are chunks, and room in the staging for so many flags of each.
    __device__ bool fit(u64 flags) const {
        const Collective &c = call.c;
        return c.operation == REDUCE && unit == 16 && count && c.source != c.dest && flags * count * 16 <= c.team.slot;
    }

    // How often a block sends and folds.
    __device__ u64 rounds() const { return (count + gridDim.x - 1) / gridDim.x; }

    __device__ u64 index(u64 round) const { return blockIdx.x + round * gridDim.x; }

    // This block's chunk of a round; it may be empty.
    __device__ Units chunk(const Units &share, u64 round) const {
        u64 start = least(index(round) * size, share.count);
        return {share.first + start, least(size, share.count - start)};
    }

    // The address of a flag of this block's chunk, by its kind: a word of the staging that never holds data.
    __device__ u64 flag_of(u64 kind, i32 to, i32 from, u64 round) const {
        return call.staging_of(to, from) + (kind * count + index(round)) * 16 + 8;
    }

    // All threads: copies a chunk, in units from the start of the arrays.
    __device__ void copy_chunk(u64 dest, u64 source, u64 units) const {
        copy_as<Bytes16>(dest, source, units * unit / 16, threadIdx.x, blockDim.x);
    }

    // All threads: sets the flag of all other members, after all threads of the block have arrived here.
    __device__ void signal(u64 kind, u64 round) const {
        __syncthreads();
        for (i32 step = 1 + threadIdx.x; step < call.c.team.n; step += blockDim.x)
            store_release(flag_of(kind, call.right(step), call.c.team.me, round), call.flag);
    }

    // All threads: waits for the flags of all other members; false: leave.
    __device__ bool wait(u64 kind, u64 round) const {
        bool there = true;
        for (i32 step = 1 + threadIdx.x; step < call.c.team.n && there; step += blockDim.x)
            there = call.wait(flag_of(kind, call.c.team.me, call.right(step), round));
        return !__syncthreads_or(!there);
    }
};

// Reduces in chunks, for three and more members with equal shares of `each` units; false if the kernel must end. Each member folds one
// share. The others send it their elements of this share, each into the sender's own share of the receiver's destination. That range gets
// the sender's results later, chunk by chunk, once the receiver has folded the sender's chunk (FOLDED).
template <class Packed>
DEVICE bool reduce_chunks(const CollectiveCall &call, const Chunks &chunks, u64 each) {
    static constexpr u64 SENT = 0, FOLDED = 1;
    const Collective &c = call.c;
    i32 n = c.team.n, me = c.team.me;
    u64 own = call.own(), rounds = chunks.rounds();
    auto share = [&](i32 member) -> Units { return {each * member, each}; };
    auto send = [&](u64 round) {
        Units mine = chunks.chunk(share(me), round);
        if (!mine.count) return;
        for (i32 step = 1; step < n; step++) {
            i32 m = call.right(step);
            u64 from = chunks.chunk(share(m), round).first * chunks.unit;
            chunks.copy_chunk(parts[m] + c.dest + mine.first * chunks.unit, own + c.source + from, mine.count);
        }
        chunks.signal(SENT, round);
    };
    auto send_result = [&](u64 round) {
        Units mine = chunks.chunk(share(me), round);
        if (!mine.count) return true;
        if (!chunks.wait(FOLDED, round)) return false;
        u64 place = c.dest + mine.first * chunks.unit;
        for (i32 step = 1; step < n; step++) chunks.copy_chunk(parts[call.right(step)] + place, own + place, mine.count);
        return true;
    };
    for (u64 round = 0; round < Chunks::AHEAD; round++) send(round);
    for (u64 round = 0; round < rounds; round++) {
        send(round + Chunks::AHEAD);
        Units mine = chunks.chunk(share(me), round);
        if (mine.count) {
            if (!chunks.wait(SENT, round)) return false;
            for (u64 i = threadIdx.x; i < mine.count; i += blockDim.x) {
                // In the first share; in all others, a share further on.
                u64 first = own + (mine.first - each * me + i) * sizeof(Packed);
                auto address = [&](i32 m) { return first + (m == me ? c.source : c.dest) + m * each * sizeof(Packed); };
                Packed result = fold_members<Packed>(c.op, n, address, [](i32, const Folded<Packed> &, bool) {});
                at<Packed>(own + c.dest + (mine.first + i) * sizeof(Packed)) = result;
            }
            chunks.signal(FOLDED, round);
        }
        if (round > 0 && !send_result(round - 1)) return false;
    }
    return send_result(rounds - 1);
}

// Reduce and reducescatter of two members, whose shares are given.
template <class Packed>
DEVICE void reduce_two(const CollectiveCall &call, u64 source, const Units &own, const Units &others) {
    const Collective &c = call.c;
    i32 me = c.team.me, other = 1 - me;
    Chunks chunks(call, sizeof(Packed), own.count > others.count ? own.count : others.count);
    bool sends = chunks.fit(1);
    u64 mine = parts[me] + source, theirs = sends ? parts[me] + c.dest : parts[other] + source;
    u64 rounds = sends ? chunks.rounds() : 1;
    auto send = [&](u64 round) {
        Units sent = chunks.chunk(others, round);
        u64 place = sent.first * chunks.unit;
        chunks.copy_chunk(parts[other] + c.dest + place, parts[me] + c.source + place, sent.count);
        if (sent.count) chunks.signal(0, round);
    };
    for (u64 round = 0; sends && round < Chunks::AHEAD; round++) send(round);
    for (u64 round = 0; round < rounds; round++) {
        Units now = own;
        u64 thread = grid_thread(), threads = grid_threads();
        if (sends) {
            now = chunks.chunk(own, round);
            thread = threadIdx.x, threads = blockDim.x;
            send(round + Chunks::AHEAD);
            if (now.count && !chunks.wait(0, round)) return;
        }
        fold_two<Packed>(c.op, me == 0 ? mine : theirs, me == 0 ? theirs : mine, parts[me] + c.dest, c.operation == REDUCE ? parts[other] + c.dest : 0,
                         now.first + thread, now.first + now.count, threads);
    }
}

template <class T>
DEVICE void reduce_direct(const Collective &c) {
    CollectiveCall call(c, entered_published(c));
    if (!call.enter(call.is_current())) return;
    if (call.meet()) {
        bool scatter = c.operation == REDUCESCATTER;
        u64 source = scatter ? c.source + c.team.me * c.bytes : c.source;
        // Packs where they are aligned, then single elements. Members share each of the two, but in a reducescatter, where this member's
        // part is all its own; shares of packs are whole lines, so that members do not write into each other's. Sixteen elements of
        // 8 bits, widened, would not fit in a thread's registers.
        constexpr u64 PACK = sizeof(typename Wide<T>::type) > 2 * sizeof(T) ? 8 : 16, LINE = 128 / PACK;
        u64 packs = (source | c.dest) % PACK == 0 ? c.bytes / PACK : 0;
        u64 first = packs * PACK / sizeof(T), count = c.bytes / sizeof(T);
        u64 me = scatter ? 0 : c.team.me, n = scatter ? 1 : c.team.n;
        typedef Pack<T, PACK> Packed;
        // The members' equal shares in chunks; the rest is reduced as without them.
        u64 even = packs / n & ~(LINE - 1), chunked = 0;
        if (c.chunk && c.team.n > 2 && c.operation == REDUCE) {
            Chunks chunks(call, PACK, even);
            if (chunks.fit(2)) {
                if (!reduce_chunks<Packed>(call, chunks, even)) return call.leave();
                chunked = even * n;
            }
        }
        u64 each = ((packs - chunked + n - 1) / n + LINE - 1) & ~(LINE - 1);
        auto share_of = [&](u64 member) -> Units {
            u64 start = least(chunked + each * member, packs);
            return {start, least(each, packs - start)};
        };
        Units own = share_of(me);
        if (c.team.n == 2 && (scatter || c.operation == REDUCE)) reduce_two<Packed>(call, source, own, share_of(1 - me));
        else reduce_packs<Packed>(call, source, c.dest, own.first, own.first + own.count);
        each = (count - first + n - 1) / n;
        u64 start = least(first + each * me, count);
        reduce_packs<Single<T>>(call, source, c.dest, start, least(start + each, count));
        call.meet_blocks(0);
    }
    call.leave();
}

#define REDUCTION(name, T)                                                                                    \
    KERNEL STAGED nvshmemrs_reduce_##name##_flags(const __grid_constant__ Collective c) {                      \
        reduce_flags<T>(c);                                                                                    \
    }                                                                                                          \
    KERNEL STAGED nvshmemrs_reduce_##name##_lamport(const __grid_constant__ Collective c) {                    \
        reduce_lamport<T>(c);                                                                                  \
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
