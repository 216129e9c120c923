// Data that shows its own arrival, in units of sixteen bytes: for messages where flags would cost too much bandwidth, and two meetings of the
// members too much time. Deep-learning libraries know the scheme as Lamport buffers.
//
// The staging of a member is zero where no data has arrived. A sender writes the exclusive or of a unit and the key of the call. The receiver
// polls until it finds another value than zero, and then writes zero. The place is used again two epochs later, by a sender that knows that all
// members have entered the epoch between. The receiver's kernel of the first epoch has ended by then, and its zeros are in memory: that is
// all that orders the two stores.
//
// The key is a number of 128 bits that follows from the epoch and the signature of the call. A unit that equals the key would never be seen
// to arrive; the probability of that is 2^-128 for each unit.
#pragma once

class Lamport {
  public:
    // Units that a thread has under way.
    static constexpr int BATCH = 4;
    static constexpr u32 BYTES = 16;
    const CollectiveCall &call;

    // For parts of `part` bytes. `places`: the bitwise or of all addresses of parts.
    __device__ Lamport(const CollectiveCall &t, u64 part, u64 places)
        : call(t), bytes(part), thread(threadIdx.x - FLAG_THREADS), threads(blockDim.x - FLAG_THREADS) {
        static constexpr u32 LINE = 128 / BYTES;
        u32 units = (u32)((bytes + BYTES - 1) / BYTES), each = ((units + gridDim.x - 1) / gridDim.x + LINE - 1) & ~(LINE - 1);
        first = (u32)least((u64)blockIdx.x * each, units);
        end = (u32)least((u64)first + each, units);
        whole = (u32)least(end, places % BYTES == 0 ? bytes / BYTES : 0);
        if (whole < first) whole = first;
        key = {t.flag * 0x9e3779b97f4a7c15, (t.flag ^ t.flag >> 29) * 0xbf58476d1ce4e5b9};
    }

    // Sends this block's units of parts to the members of steps `from` to `to` on the right, `to` not included. `source(step)` is the address of
    // a part. Step 0 is this member: its part is copied to `own`. `shot`: 1 for parts that follow those of shot 0 in the staging.
    template <class Source>
    __device__ void send(i32 from, i32 to, u64 own, const Source &source, u32 shot = 0) const {
        send_units<BATCH, true>(from, to, own, source, shot);
        send_units<1, false>(from, to, own, source, shot);
    }

    // Receives this block's units of the parts of the members of steps `from` to `to`, and writes them to `dest(member)`. `relays`: they also go
    // to all other members but their sender, in shot 1.
    template <class Dest>
    __device__ void receive(i32 from, i32 to, u32 shot, const Dest &dest, bool relays = false) const {
        receive_units<BATCH, true>(from, to, shot, dest, relays);
        receive_units<1, false>(from, to, shot, dest, relays);
    }

    // Folds this block's units of the first `members` members, and writes the results to `dest`; `mine` is the address of this member's part.
    // `sends`: the results go to all other members, too, in shot 1.
    template <class T>
    __device__ void fold(i32 members, u64 mine, u64 dest, bool sends) const {
        // The loop for any number of members has one unit of a thread under way; for two members, several units are faster.
        bool two = call.c.team.n == 2 && members == 2;
        if (two) fold_two<T>(mine, dest);
        fold_all<T>(two ? whole : first, members, mine, dest, sends);
    }

  private:
    // Of a part.
    u64 bytes;
    // This block's units; those below `whole` are read and written as a whole.
    u32 first, end, whole;
    // This thread's number among the threads that move data, and their number.
    u32 thread, threads;
    Pair key;

    template <bool WHOLE>
    __device__ u32 begin() const { return WHOLE ? first : whole; }
    template <bool WHOLE>
    __device__ u32 count() const { return WHOLE ? whole - first : end - whole; }

    // Bytes of a part from a unit on.
    __device__ u64 bytes_from(u32 unit) const { return bytes - (u64)unit * BYTES; }

    template <bool WHOLE>
    __device__ Pair read(u64 part, u32 unit) const {
        u64 place = part + (u64)unit * BYTES;
        if (WHOLE) {
            Bytes16 data = at<Bytes16>(place);
            return {data.words[0], data.words[1]};
        }
        u32 valid = (u32)least(BYTES, bytes_from(unit)), low = (u32)least(8, valid);
        return {load_unit(place, low), load_unit(place + 8, valid - low)};
    }

    template <bool WHOLE>
    __device__ void write(u64 part, u32 unit, const Pair &data) const {
        u64 place = part + (u64)unit * BYTES;
        if (WHOLE) {
            at<Bytes16>(place) = {{data.first, data.second}};
            return;
        }
        u32 valid = (u32)least(BYTES, bytes_from(unit)), low = (u32)least(8, valid);
        store_unit(place, data.first, low);
        store_unit(place + 8, data.second, valid - low);
    }

    // The address of a unit that `member` sends to the member whose part is at `to`.
    __device__ u64 place(u64 to, i32 member, u32 unit, u32 shot) const {
        const Team &team = call.c.team;
        return to + team.staging + 2 * team.n * team.slot + (call.parity * team.n + member) * team.lamport + shot * bytes + (u64)unit * BYTES;
    }

    // Sends a unit to the member whose part is at `to`; results follow the parts there.
    __device__ void put(u64 to, u32 unit, u32 shot, const Pair &data) const {
        store_pair(place(to, call.c.team.me, unit, shot), data.first ^ key.first, data.second ^ key.second);
    }

    // Waits until data has arrived at each of the places that are not 0, and makes them zero; false: leave.
    template <int K>
    __device__ bool take(const u64 (&places)[K], Pair (&data)[K]) const {
        for (u32 polls = 1;; polls++) {
            bool all = true;
#pragma unroll
            for (int k = 0; k < K; k++)
                if (places[k]) data[k] = load_pair(places[k]);
#pragma unroll
            for (int k = 0; k < K; k++) all &= !places[k] || (data[k].first | data[k].second) != 0;
            if (all) break;
            if (call.given_up(polls)) return false;
        }
#pragma unroll
        for (int k = 0; k < K; k++) {
            if (places[k]) {
                store_pair(places[k], 0, 0);
                data[k].first ^= key.first, data[k].second ^= key.second;
            }
        }
        return true;
    }

    template <int K, bool WHOLE, class Source>
    __device__ void send_units(i32 from, i32 to, u64 own, const Source &source, u32 shot) const {
        u32 width = count<WHOLE>(), items = width * (u32)(to > from ? to - from : 0);
        for (u32 i = thread; i < items; i += K * threads) {
            Pair data[K];
            i32 step[K];
            u32 unit[K];
#pragma unroll
            for (int k = 0; k < K; k++) {
                u32 item = i + k * threads, part = item < width ? 0 : item / width;
                step[k] = from + (i32)part, unit[k] = begin<WHOLE>() + item - part * width;
                if (item < items) data[k] = read<WHOLE>(source(step[k]), unit[k]);
            }
#pragma unroll
            for (int k = 0; k < K; k++) {
                if (i + k * threads >= items) break;
                if (step[k] == 0) write<WHOLE>(own, unit[k], data[k]);
                else put(call.part(call.right(step[k])), unit[k], shot, data[k]);
            }
        }
    }

    template <int K, bool WHOLE, class Dest>
    __device__ void receive_units(i32 from, i32 to, u32 shot, const Dest &dest, bool relays) const {
        u32 width = count<WHOLE>(), items = width * (u32)(to > from ? to - from : 0);
        for (u32 i = thread; i < items; i += K * threads) {
            Pair data[K];
            u64 places[K];
            i32 member[K];
            u32 unit[K];
#pragma unroll
            for (int k = 0; k < K; k++) {
                u32 item = i + k * threads, part = item < width ? 0 : item / width;
                member[k] = call.right(from + (i32)part), unit[k] = begin<WHOLE>() + item - part * width;
                places[k] = item < items ? place(call.own(), member[k], unit[k], shot) : 0;
            }
            if (!take(places, data)) return;
#pragma unroll
            for (int k = 0; k < K; k++) {
                if (!places[k]) break;
                for (i32 step = 1; relays && step < call.c.team.n; step++)
                    if (call.right(step) != member[k]) put(call.part(call.right(step)), unit[k], 1, data[k]);
                write<WHOLE>(dest(member[k]), unit[k], data[k]);
            }
        }
    }

    template <class Packed>
    static __device__ Packed packed(const Pair &data) {
        Packed pack;
        pack.words[0] = data.first, pack.words[1] = data.second;
        return pack;
    }

    // The whole units of two members, several at a time.
    template <class T>
    __device__ void fold_two(u64 mine, u64 dest) const {
        typedef Pack<T, BYTES> Packed;
        i32 me = call.c.team.me;
        for (u32 i = first + thread; i < whole; i += BATCH * threads) {
            Pair here[BATCH], there[BATCH];
            u64 places[BATCH];
#pragma unroll
            for (int k = 0; k < BATCH; k++) {
                u32 unit = i + k * threads;
                places[k] = unit < whole ? place(call.own(), 1 - me, unit, 0) : 0;
                if (unit < whole) here[k] = read<true>(mine, unit);
            }
            if (!take(places, there)) return;
            // The fold's code is there once, and the units move down by one each time.
#pragma unroll 1
            for (u32 unit = i; unit < whole && unit < i + BATCH * threads; unit += threads) {
                Packed one = packed<Packed>(here[0]), other = packed<Packed>(there[0]);
#pragma unroll
                for (int w = 0; w < 2; w++) {
                    u64 word = one.words[w];
                    if (me != 0) one.words[w] = other.words[w], other.words[w] = word;
                }
                Packed result = fold_two_packs(call.c.op, one, other);
                write<true>(dest, unit, {result.words[0], result.words[1]});
#pragma unroll
                for (int k = 1; k < BATCH; k++) here[k - 1] = here[k], there[k - 1] = there[k];
            }
        }
    }

    // The units from `begin` on, one at a time, of which several members' are under way.
    template <class T>
    __device__ void fold_all(u32 begin, i32 members, u64 mine, u64 dest, bool sends) const {
        typedef Pack<T, BYTES> Packed;
        i32 me = call.c.team.me;
        for (u32 unit = begin + thread; unit < end; unit += threads) {
            Folded<Packed> fold;
            fold.clear(call.c.op);
            for (i32 from = 0; from < members; from += BATCH) {
                Pair data[BATCH], own = {};
                u64 places[BATCH];
                if (from <= me && me < from + BATCH) own = unit < whole ? read<true>(mine, unit) : read<false>(mine, unit);
#pragma unroll
                for (int k = 0; k < BATCH; k++) {
                    i32 m = from + k;
                    places[k] = m < members && m != me ? place(call.own(), m, unit, 0) : 0;
                    if (m == me) data[k] = own;
                }
                if (!take(places, data)) return;
#pragma unroll 1
                for (i32 m = from; m < members && m < from + BATCH; m++) {
                    if (m == 0) fold.start(packed<Packed>(data[0]));
                    else fold.fold(call.c.op, packed<Packed>(data[0]));
#pragma unroll
                    for (int k = 1; k < BATCH; k++) data[k - 1] = data[k];
                }
            }
            Packed result = fold.result();
            Pair data = {result.words[0], result.words[1]};
            for (i32 step = 1; sends && step < call.c.team.n; step++) put(call.part(call.right(step)), unit, 1, data);
            if (unit < whole) write<true>(dest, unit, data);
            else write<false>(dest, unit, data);
        }
    }
};
