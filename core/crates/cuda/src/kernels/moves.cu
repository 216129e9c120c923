// Collectives that move bytes: broadcast, fcollect, alltoall, alltoalls, gather, scatter, collect.
//
// The `_flags` kernels send units of eight bytes with a flag each, through the staging, and the `_lamport` kernels units of sixteen bytes. The others
// write straight to the members' memory, in which case they first wait until all have entered.

DEVICE u32 units_of(u64 bytes) {
    return (u32)((bytes + 7) / 8);
}

DEVICE u32 valid_bytes(u64 bytes, u32 unit) {
    return (u32)least(8, bytes - (u64)unit * 8);
}

// Unit `unit` of a part of `bytes` bytes.
DEVICE u64 read_unit(u64 part, u64 bytes, u32 unit) {
    return load_unit(part + (u64)unit * 8, valid_bytes(bytes, unit));
}

// The units of a part, or of a message, that the block of a `_flags` kernel moves: a range of whole groups of `group` units. The threads that move
// data share them.
struct BlockUnits {
    u32 first;
    u32 count;
    // This thread, and how many there are.
    u32 thread;
    u32 threads;
    // Where this thread begins in parts that follow one another, and how far it goes on: parts, and units.
    u32 step;
    u32 unit;
    u32 steps_on;
    u32 units_on;

    __device__ explicit BlockUnits(u64 bytes, u32 group = 1) : thread(threadIdx.x - FLAG_THREADS), threads(blockDim.x - FLAG_THREADS) {
        u32 groups = (units_of(bytes) + group - 1) / group, each = (groups + gridDim.x - 1) / gridDim.x;
        first = (u32)least(blockIdx.x * each, groups) * group;
        count = (u32)least(each * group, groups * group - first);
        u32 whole = count ? count : 1;
        step = thread / whole, unit = thread - step * whole;
        steps_on = threads / whole, units_on = threads - steps_on * whole;
    }

    // Calls `with` for each unit of the block that is this thread's.
    template <class With>
    __device__ void for_each(const With &with) const {
        for (u32 u = thread; u < count; u += threads) with(first + u);
    }

    // The same for units of the parts of steps 0 to `steps`.
    template <class With>
    __device__ void for_each_of(i32 steps, const With &with) const {
        if (count == 0) return;
        for (u32 s = step, u = unit; s < (u32)steps; next(s, u)) with((i32)s, first + u);
    }

    // Moves `s` and `u` on to this thread's next unit of parts that follow one another.
    __device__ void next(u32 &s, u32 &u) const {
        s += steps_on, u += units_on;
        if (u >= count) s++, u -= count;
    }
};

// The units of parts that this thread sends to the members of steps `from` to `to` on the right, `to` not included. Step 0 is this member: its
// units are copied. A unit that is one aligned word is read early, so that its latency is hidden: the first one while the state of the team is
// read, each later one before the unit before it is sent. Other units are read when they are sent.
class OutgoingUnits {
  public:
    // `source`: the address of member 0's part; `each`: the bytes from one member's part to the next one's, 0 where all receive the same.
    __device__ OutgoingUnits(const Collective &given, const BlockUnits &of_block, i32 from, i32 to, u64 source, u64 each)
        : c(given), units(of_block), part(source), part_step(each), first_step((u32)from),
          steps(of_block.count && to > from && threadIdx.x >= FLAG_THREADS ? (u32)(to - from) : 0), step(steps ? of_block.step : 0),
          index(of_block.unit) {
        find();
    }

    // All threads, after the previous kernel has ended.
    __device__ void read_first() {
        if (whole) data = at<u64>(place);
    }

    // `own`: the destination of this member's part, which is not used where step 0 is not among the steps.
    __device__ void send(const CollectiveCall &call, u64 own = 0) {
        while (step < steps) {
            u32 to = first_step + step, unit = units.first + index, bytes = valid_bytes(c.bytes, unit);
            u64 now = whole ? data : load_unit(place, bytes);
            units.next(step, index);
            find();
            if (whole) data = at<u64>(place);
            if (to > 0) call.send(call.right((i32)to), unit, now);
            else store_unit(own + (u64)unit * 8, now, bytes);
        }
    }

  private:
    const Collective &c;
    const BlockUnits &units;
    u64 part, part_step;
    // The first step, and the number of steps.
    u32 first_step, steps;
    // The next unit: its step, counted from the first one, and its number in the block. Its address, and whether it is one aligned word, which is
    // read to `data`.
    u32 step, index;
    u64 place, data;
    bool whole;

    __device__ void find() {
        u32 unit = units.first + index;
        place = part + c.team.right((i32)(first_step + step)) * part_step + (u64)unit * 8;
        whole = step < steps && place % 8 == 0 && valid_bytes(c.bytes, unit) == 8;
    }
};

// Receives units of `member` and writes them to `part`, which has `bytes` bytes.
DEVICE void write_unit(const CollectiveCall &call, i32 member, u64 part, u64 bytes, u32 unit) {
    u64 data;
    if (call.receive(member, unit, data)) store_unit(part + (u64)unit * 8, data, valid_bytes(bytes, unit));
}

// Receives the other members' parts, each to its place in `dest`.
DEVICE void receive_parts(const CollectiveCall &call, const BlockUnits &units, u64 dest) {
    u64 bytes = call.c.bytes;
    units.for_each_of(call.c.team.n, [&](i32 step, u32 unit) {
        i32 member = call.right(step);
        if (step > 0) write_unit(call, member, dest + member * bytes, bytes, unit);
    });
}

// Only the root sends. The parts of the members follow one another in its source, `part` bytes apart; 0: all receive the same.
DEVICE void send_from_root(const Collective &c, u64 part) {
    BlockUnits units(c.bytes);
    bool root = c.team.me == c.root;
    u64 source = own_part(c) + c.source, dest = own_part(c) + c.dest;
    OutgoingUnits sent(c, units, dest == source + c.root * part, root ? c.team.n : 0, source, part);
    CollectiveCall call(c, entered(c, [&] { sent.read_first(); }));
    call.move_through_staging(
        false, [&] { sent.send(call, dest); },
        [&] {
            if (root) return;
            units.for_each([&](u32 unit) { write_unit(call, c.root, dest, c.bytes, unit); });
        });
}

// The same in units of sixteen bytes. A broadcast of a large message has two shots (c.chunk): the root sends each member a share, which the member
// relays to the others, and its own share to all.
DEVICE void send_from_root_lamport(const Collective &c, u64 part) {
    CollectiveCall call(c);
    i32 n = c.team.n;
    bool root = c.team.me == c.root, shares = c.chunk != 0;
    u64 source = call.own() + c.source, dest = call.own() + c.dest, share = c.chunk;
    if (shares) part = share;
    Lamport units(call, shares ? share : c.bytes, source | dest | part);
    call.move_through_staging(
        false,
        [&] {
            if (!root) return;
            auto from = [&](i32 step) { return source + call.right(step) * part; };
            units.send(shares || dest == from(0), n, dest, from);
            if (shares) units.send(1, n, 0, [&](i32) { return from(0); }, 1);
            for (i32 m = 0; shares && m < n && dest != source; m++)
                units.send(0, 1, dest + m * share, [&](i32) { return source + m * share; });
        },
        [&] {
            if (root) return;
            i32 step = c.team.step_to(c.root);
            units.receive(step, step + 1, 0, [&](i32) { return dest + c.team.me * share; }, shares);
            if (shares) units.receive(1, n, 1, [&](i32 member) { return dest + member * share; });
        });
}

KERNEL nvshmemrs_broadcast_flags(const __grid_constant__ Collective c) {
    send_from_root(c, 0);
}

KERNEL STAGED nvshmemrs_broadcast_lamport(const __grid_constant__ Collective c) {
    send_from_root_lamport(c, 0);
}

// The bytes of a range that this block moves: whole lines, so that copies stay aligned.
struct Share {
    u64 start;
    u64 bytes;

    __device__ explicit Share(u64 all) {
        u64 each = ((all + gridDim.x - 1) / gridDim.x + 127) & ~127ull;
        start = least(each * blockIdx.x, all);
        bytes = least(each, all - start);
    }
};

DEVICE void copy_share(u64 dest, u64 source, u64 bytes) {
    Share share(bytes);
    copy(dest + share.start, source + share.start, share.bytes, threadIdx.x, blockDim.x);
}

// Loads of sixteen bytes that a thread has under way.
static constexpr int IN_FLIGHT = 4;

// Copies this block's share of `bytes` bytes for each of the steps from `first` to `last`: from `source(step)` to `dest(step)`. The copies go on side
// by side, as the links to the members and this GPU's memory are used at the same time then. SAME: all have one source, which is read once.
template <bool SAME, class Source, class Dest>
DEVICE void copy_shares(u64 bytes, i32 first, i32 last, const Source &source, const Dest &dest) {
    u64 places = 0;
    for (i32 step = first; step <= last; step++) places |= source(step) | dest(step);
    Share share(bytes);
    u64 packs = places % 16 == 0 ? share.bytes / 16 : 0;
    for (u64 i = threadIdx.x; i < packs; i += IN_FLIGHT * blockDim.x) {
        Bytes16 data[IN_FLIGHT];
        for (i32 step = first; step <= last; step++) {
            u64 from = source(step) + share.start, to = dest(step) + share.start;
#pragma unroll
            for (int k = 0; k < IN_FLIGHT; k++) {
                u64 pack = i + k * blockDim.x;
                if ((!SAME || step == first) && pack < packs) data[k] = at<Bytes16>(from + pack * 16);
            }
#pragma unroll
            for (int k = 0; k < IN_FLIGHT; k++) {
                u64 pack = i + k * blockDim.x;
                if (pack < packs) at<Bytes16>(to + pack * 16) = data[k];
            }
        }
    }
    u64 done = share.start + packs * 16;
    for (i32 step = first; step <= last; step++)
        copy(dest(step) + done, source(step) + done, share.bytes - packs * 16, threadIdx.x, blockDim.x);
}

// Everything leaves the root once: each other member fetches one part of it, and hands that on to the others meanwhile, a chunk at a time.
DEVICE void relay(const CollectiveCall &call) {
    const Collective &c = call.c;
    i32 n = c.team.n, me = c.team.me;
    u64 each = ((c.bytes + n - 2) / (n - 1) + 127) & ~127ull;
    u64 start = least(each * (me < c.root ? me : me - 1), c.bytes);
    Share share(least(each, c.bytes - start));
    start += share.start;
    for (u64 done = 0; done < share.bytes; done += c.chunk) {
        u64 at = start + done, bytes = least(c.chunk, share.bytes - done);
        copy(call.own() + c.dest + at, parts[c.root] + c.source + at, bytes, threadIdx.x, blockDim.x);
        __syncthreads();
        for (i32 step = 1; step < n; step++) {
            i32 m = call.right(step);
            if (m != c.root) copy(parts[m] + c.dest + at, call.own() + c.dest + at, bytes, threadIdx.x, blockDim.x);
        }
    }
}

KERNEL DIRECT nvshmemrs_broadcast(const __grid_constant__ Collective c) {
    CollectiveCall call(c, entered_published(c));
    if (!call.enter(call.is_current())) return;
    if (call.meet()) {
        u64 source = call.own() + c.source, dest = call.own() + c.dest;
        if (c.team.me == c.root) {
            i32 n = c.team.n;
            bool in_place = source == dest;
            copy_shares<true>(c.bytes, c.chunk ? n : 1, n - in_place, [&](i32) { return source; }, [&](i32 step) { return parts[call.right(step)] + c.dest; });
        } else if (c.chunk) {
            relay(call);
        }
        call.meet_blocks(1);
    }
    call.leave();
}

// Each member sends parts to all others; `part`: the bytes between the parts in its source, 0 where all receive the same.
DEVICE void exchange_parts(const Collective &c, u64 part) {
    BlockUnits units(c.bytes);
    u64 source = own_part(c) + c.source, dest = own_part(c) + c.dest, own = dest + c.team.me * c.bytes;
    OutgoingUnits sent(c, units, own == source + c.team.me * part, c.team.n, source, part);
    CollectiveCall call(c, entered(c, [&] { sent.read_first(); }));
    call.move_through_staging(
        true, [&] { sent.send(call, own); }, [&] { receive_parts(call, units, dest); });
}

// In place, `source` is this member's part of `dest`.
KERNEL nvshmemrs_fcollect_flags(const __grid_constant__ Collective c) {
    exchange_parts(c, 0);
}

// As exchange_parts, in units of sixteen bytes.
DEVICE void exchange_parts_lamport(const Collective &c, u64 part) {
    CollectiveCall call(c);
    u64 source = call.own() + c.source, dest = call.own() + c.dest, own = dest + c.team.me * c.bytes;
    Lamport units(call, c.bytes, source | dest | c.bytes);
    call.move_through_staging(
        false,
        [&] {
            auto from = [&](i32 step) { return source + call.right(step) * part; };
            units.send(own == from(0), c.team.n, own, from);
        },
        [&] { units.receive(1, c.team.n, 0, [&](i32 member) { return dest + member * c.bytes; }); });
}

KERNEL STAGED nvshmemrs_fcollect_lamport(const __grid_constant__ Collective c) {
    exchange_parts_lamport(c, 0);
}

KERNEL STAGED nvshmemrs_alltoall_lamport(const __grid_constant__ Collective c) {
    exchange_parts_lamport(c, c.bytes);
}

KERNEL DIRECT nvshmemrs_fcollect(const __grid_constant__ Collective c) {
    CollectiveCall call(c, entered_published(c));
    if (!call.enter(call.is_current())) return;
    if (call.meet()) {
        u64 place = c.dest + c.team.me * c.bytes, source = call.own() + c.source;
        bool in_place = c.source == place;
        copy_shares<true>(c.bytes, 1, c.team.n - in_place, [&](i32) { return source; }, [&](i32 step) { return parts[call.right(step)] + place; });
        call.meet_blocks(0);
    }
    call.leave();
}

// In place, a block reads and writes the same units of each part, and reads all of them before it writes (move_through_staging).
KERNEL nvshmemrs_alltoall_flags(const __grid_constant__ Collective c) {
    exchange_parts(c, c.bytes);
}

// Exchanges `bytes` bytes of two places.
template <class T>
DEVICE void exchange_as(u64 a, u64 b, u64 bytes) {
    for (u64 i = grid_thread() * sizeof(T); i < bytes; i += grid_threads() * sizeof(T)) {
        T first = at<T>(a + i), second = at<T>(b + i);
        at<T>(a + i) = second;
        at<T>(b + i) = first;
    }
}

DEVICE void exchange(u64 a, u64 b, u64 bytes) {
    switch (common_power(a | b | bytes)) {
    case 16: return exchange_as<Bytes16>(a, b, bytes);
    case 8: return exchange_as<u64>(a, b, bytes);
    case 4: return exchange_as<u32>(a, b, bytes);
    case 2: return exchange_as<u16>(a, b, bytes);
    default: return exchange_as<u8>(a, b, bytes);
    }
}

// In place, one member of each pair exchanges the pair's two parts; the pairs are shared out evenly.
KERNEL DIRECT nvshmemrs_alltoall(const __grid_constant__ Collective c) {
    CollectiveCall call(c, entered_published(c));
    if (!call.enter(call.is_current())) return;
    if (call.meet()) {
        i32 me = c.team.me;
        u64 own = call.own(), dest = c.dest + me * c.bytes;
        if (c.source != c.dest) {
            copy_shares<false>(
                c.bytes, 1, c.team.n, [&](i32 step) { return own + c.source + call.right(step) * c.bytes; },
                [&](i32 step) { return parts[call.right(step)] + dest; });
        } else {
            for (i32 m = 0; m < c.team.n; m++) {
                bool even = (m + me) % 2 == 0;
                if (m != me && even == (me < m)) exchange(own + c.dest + m * c.bytes, parts[m] + dest, c.bytes);
            }
        }
        call.meet_blocks(0);
    }
    call.leave();
}

template <class T>
DEVICE void send_strided(const CollectiveCall &call) {
    const Collective &c = call.c;
    u64 pieces = c.element / sizeof(T);
    for (i32 step = 0; step < c.team.n; step++) {
        i32 m = call.right(step);
        u64 dest = parts[m] + c.dest + c.team.me * c.count * c.dest_step;
        u64 source = call.own() + c.source + m * c.count * c.source_step;
        for (u64 i = grid_thread(); i < pieces * c.count; i += grid_threads()) {
            u64 element = pieces == 1 ? i : i / pieces, piece = (i - element * pieces) * sizeof(T);
            at<T>(dest + element * c.dest_step + piece) = at<T>(source + element * c.source_step + piece);
        }
    }
}

KERNEL DIRECT nvshmemrs_alltoalls(const __grid_constant__ Collective c) {
    CollectiveCall call(c, entered_published(c));
    if (!call.enter(call.is_current())) return;
    if (call.meet()) {
        switch (common_power(c.dest | c.source | c.dest_step | c.source_step | c.element)) {
        case 16: send_strided<Bytes16>(call); break;
        case 8: send_strided<u64>(call); break;
        case 4: send_strided<u32>(call); break;
        case 2: send_strided<u16>(call); break;
        default: send_strided<u8>(call); break;
        }
        call.meet_blocks(0);
    }
    call.leave();
}

// Only the root knows its `dest`.
KERNEL nvshmemrs_gather_flags(const __grid_constant__ Collective c) {
    BlockUnits units(c.bytes);
    bool root = c.team.me == c.root;
    u64 source = own_part(c) + c.source, dest = own_part(c) + c.dest, own = dest + c.root * c.bytes;
    i32 step = c.team.step_to(c.root);
    OutgoingUnits sent(c, units, step, root && own == source ? step : step + 1, source, 0);
    CollectiveCall call(c, entered(c, [&] { sent.read_first(); }));
    call.move_through_staging(
        false, [&] { sent.send(call, own); },
        [&] {
            if (root) receive_parts(call, units, dest);
        });
}

KERNEL STAGED nvshmemrs_gather_lamport(const __grid_constant__ Collective c) {
    CollectiveCall call(c);
    bool root = c.team.me == c.root;
    u64 source = call.own() + c.source, dest = call.own() + c.dest, own = dest + c.root * c.bytes;
    Lamport units(call, c.bytes, root ? source | dest | c.bytes : source);
    call.move_through_staging(
        false,
        [&] {
            i32 step = c.team.step_to(c.root);
            if (!root || own != source) units.send(step, step + 1, own, [&](i32) { return source; });
        },
        [&] {
            if (root) units.receive(1, c.team.n, 0, [&](i32 member) { return dest + member * c.bytes; });
        });
}

KERNEL DIRECT nvshmemrs_gather(const __grid_constant__ Collective c) {
    CollectiveCall call(c, entered_published(c));
    if (!call.enter(call.is_current())) return;
    if (call.meet()) {
        if (c.team.me == c.root) {
            u64 dest = call.own() + c.dest;
            bool in_place = c.source == c.dest + c.root * c.bytes;
            copy_shares<false>(
                c.bytes, 1, c.team.n - in_place, [&](i32 step) { return parts[call.right(step)] + c.source; },
                [&](i32 step) { return dest + call.right(step) * c.bytes; });
        }
        call.meet_blocks(0);
    }
    call.leave();
}

// Only the root knows its `source`.
KERNEL nvshmemrs_scatter_flags(const __grid_constant__ Collective c) {
    send_from_root(c, c.bytes);
}

KERNEL STAGED nvshmemrs_scatter_lamport(const __grid_constant__ Collective c) {
    send_from_root_lamport(c, c.bytes);
}

KERNEL DIRECT nvshmemrs_scatter(const __grid_constant__ Collective c) {
    CollectiveCall call(c, entered_published(c));
    if (!call.enter(call.is_current())) return;
    if (call.meet()) {
        if (c.team.me == c.root) {
            u64 source = call.own() + c.source;
            bool in_place = c.dest == c.source + c.root * c.bytes;
            copy_shares<false>(
                c.bytes, 1, c.team.n - in_place, [&](i32 step) { return source + call.right(step) * c.bytes; },
                [&](i32 step) { return parts[call.right(step)] + c.dest; });
        }
        call.meet_blocks(0);
    }
    call.leave();
}

// Lengths differ, so they travel first; short ones come with their data through the staging. A length is known to all members, so
// they agree on which parts those are.
KERNEL DIRECT nvshmemrs_collect(const __grid_constant__ Collective c) {
    static constexpr u64 SHORT = 4096;
    __shared__ u64 before, total, longest;
    CollectiveCall call(c);
    if (!call.enter_by_vote()) return;
    i32 n = c.team.n, me = c.team.me;
    u64 source = call.own() + c.source, dest = call.own() + c.dest, limit = least(SHORT, c.team.slot / 2);
    if (blockIdx.x == 0)
        for (i32 m = threadIdx.x; m < n; m += blockDim.x) store_pair(call.length_of(m, me), c.bytes, call.flag);
    if (c.bytes <= limit) {
        u32 units = units_of(c.bytes), all = units * n;
        for (u32 i = grid_thread(); i < all; i += grid_threads()) {
            u32 member = i / units, unit = i - member * units;
            call.send(member, unit, read_unit(source, c.bytes, unit));
        }
    }
    // A member's length is to be seen with its call, which the same thread waits for, and so is all that came before on its stream.
    if (blockIdx.x == 0 && threadIdx.x < (u32)n) fence();
    // Behind the members' addresses.
    u64 *lengths = parts + n;
    bool came = call.meet([&](i32 m) { lengths[m] = load_pair(call.length_of(me, m)).first; });
    if (came) {
        if (threadIdx.x == 0) {
            before = total = longest = 0;
            for (i32 m = 0; m < n; m++) {
                if (m < me) before += lengths[m];
                total += lengths[m];
                longest = lengths[m] > longest ? lengths[m] : longest;
            }
        }
        __syncthreads();
        if (c.element ? total != c.count : total > c.count) {
            if (grid_thread() == 0)
                report(c, OVERRUN, call.epoch, c.count, total, c.state.my_pe, c.operation);
        } else {
            u64 place = 0;
            for (i32 m = 0; m < n; m++) {
                u64 bytes = lengths[m];
                if (bytes <= limit)
                    for (u32 unit = grid_thread(); unit < units_of(bytes); unit += grid_threads())
                        write_unit(call, m, dest + place, bytes, unit);
                place += bytes;
            }
            if (longest > limit) {
                if (c.bytes > limit)
                    copy_shares<true>(c.bytes, 1, n, [&](i32) { return source; }, [&](i32 step) { return parts[call.right(step)] + c.dest + before; });
                call.meet_blocks(0);
            }
        }
    }
    call.leave();
}
