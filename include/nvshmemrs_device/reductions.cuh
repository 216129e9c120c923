// Part of nvshmemrs_device.cuh: reductions, a left fold in the order of the team as on the host.
#pragma once

namespace nvshmemrs::device {

enum : u32 { SUM = 1, MIN = 2, MAX = 3, PROD = 4, AND = 5, OR = 6, XOR = 7 };

// The types and conversions of elements in reductions.
struct Half {
    u16 bits;
};
struct Bfloat16 {
    u16 bits;
};
struct Float8E4m3fn {
    u8 bits;
};
struct Float8E5m2 {
    u8 bits;
};
struct Located {
    double value, place;
};

// The type that elements are folded in; narrow floating-point numbers in single precision, rounded once at the end.
template <class E> struct Wide {
    typedef E type;
    static NVSHMEMRS_I_DEVICE E widen(E value) { return value; }
    static NVSHMEMRS_I_DEVICE E narrow(E value) { return value; }
};
template <> struct Wide<Half> {
    typedef float type;
    static NVSHMEMRS_I_DEVICE float widen(Half half) {
        u32 magnitude = half.bits & 0x7fff, sign = (u32)(half.bits & 0x8000) << 16;
        // A NaN keeps its payload and becomes quiet.
        if (magnitude > 0x7c00) return device::bits<float>((u32)(sign | 0x7fc00000 | (magnitude & 0x3ff) << 13));
        return half_to_float(half.bits);
    }
    static NVSHMEMRS_I_DEVICE Half narrow(float value) {
        u32 word = device::bits<u32>(value);
        if ((word & 0x7fffffff) > 0x7f800000) return {(u16)((word >> 16 & 0x8000) | 0x7e00 | (word >> 13 & 0x3ff))};
        return {float_to_half(value)};
    }
};
template <> struct Wide<Bfloat16> {
    typedef float type;
    static NVSHMEMRS_I_DEVICE float widen(Bfloat16 value) {
        u32 word = (u32)value.bits << 16;
        return device::bits<float>((word & 0x7fffffff) > 0x7f800000 ? word | 0x400000 : word);
    }
    static NVSHMEMRS_I_DEVICE Bfloat16 narrow(float value) {
        u32 word = device::bits<u32>(value);
        // Rounds to nearest, ties to even.
        if ((word & 0x7fffffff) > 0x7f800000) return {(u16)(word >> 16 | 0x40)};
        return {(u16)((word + 0x7fff + (word >> 16 & 1)) >> 16)};
    }
};

// Numbers of 8 bits, with the bits of core/crates/vocabulary/src/float8.rs. Instructions for them begin with sm_89. Half represents all of
// these numbers, so they are widened through half.
NVSHMEMRS_I_DEVICE u8 float_to_float8(float value, u32 mantissa, u32 bias, u32 max) {
    u32 word = device::bits<u32>(value), sign = word >> 24 & 0x80, magnitude = word & 0x7fffffff;
    u32 shift = 23 - mantissa, normal = 128 - bias, unit = (normal + shift) << 23;
    // Rounds to nearest, ties to even. The last bit of the sum is the smallest number, so the addition rounds.
    u32 small = device::bits<u32>(device::bits<float>(magnitude) + device::bits<float>(unit)) - unit;
    u32 large = ((magnitude + (1u << (shift - 1)) - 1 + (magnitude >> shift & 1)) >> shift) - ((normal - 1) << mantissa);
    u32 code = magnitude < normal << 23 ? small : large;
    code = sign | (code < max ? code : max);
    return magnitude > 0x7f800000 ? 0x7f : (u8)code;
}
template <> struct Wide<Float8E4m3fn> {
    typedef float type;
    static NVSHMEMRS_I_DEVICE float widen(Float8E4m3fn value) {
        u32 magnitude = value.bits & 0x7f, sign = (u32)(value.bits & 0x80) << 8;
        // Half's exponents are 2^8 lower.
        float number = half_to_float((u16)(sign | magnitude << 7)) * 256.0f;
        return magnitude == 0x7f ? device::bits<float>(0x7fc00000u) : number;
    }
    static NVSHMEMRS_I_DEVICE Float8E4m3fn narrow(float value) { return {float_to_float8(value, 3, 7, 0x7e)}; }
};
template <> struct Wide<Float8E5m2> {
    typedef float type;
    static NVSHMEMRS_I_DEVICE float widen(Float8E5m2 value) { return half_to_float((u16)(value.bits << 8)); }
    static NVSHMEMRS_I_DEVICE Float8E5m2 narrow(float value) { return {float_to_float8(value, 2, 15, 0x7b)}; }
};

// Integers are unsigned here, except for comparisons, so that they wrap around.
template <class T, bool INTEGER, bool SIGNED> struct Carried { typedef T type; };
template <class T, bool SIGNED> struct Carried<T, true, SIGNED> { typedef Word<T> type; };
template <> struct Carried<signed char, true, true> { typedef i8 type; };
template <> struct Carried<char, true, true> { typedef i8 type; };
template <> struct Carried<short, true, true> { typedef i16 type; };
template <> struct Carried<int, true, true> { typedef i32 type; };
template <> struct Carried<long, true, true> { typedef i64 type; };
template <> struct Carried<long long, true, true> { typedef i64 type; };
template <class T, u32 OP> struct ElementOf {
    static constexpr bool INTEGER = (T)1 / 2 == 0, SIGNED = (T)-1 < (T)0;
    typedef typename Carried<T, INTEGER, SIGNED && (OP == MIN || OP == MAX)>::type type;
};

template <class T, u32 OP> using Number = typename ElementOf<T, OP>::type;

template <class T> NVSHMEMRS_I_DEVICE bool is_nan(T value) { return value != value; }

// The result of a NaN and any value is the first NaN.
template <u32 OP> struct Fold {
    template <class T> static NVSHMEMRS_I_DEVICE T fold(T a, T b) {
        if constexpr (OP == SUM) return (T)(a + b);
        // Narrow integers would be multiplied as int, and could overflow.
        else if constexpr (OP == PROD && sizeof(T) == 2) return (T)((u32)a * b);
        else if constexpr (OP == PROD) return (T)(a * b);
        else if constexpr (OP == MIN) return (b < a || is_nan(b)) && !is_nan(a) ? b : a;
        else if constexpr (OP == MAX) return (b > a || is_nan(b)) && !is_nan(a) ? b : a;
        else if constexpr (OP == AND) return a & b;
        else if constexpr (OP == OR) return a | b;
        else return a ^ b;
    }
    // The largest value with its place; among equal values, the place of the first member.
    static NVSHMEMRS_I_DEVICE Located fold(Located a, Located b) {
        return (b.value > a.value || is_nan(b.value)) && !is_nan(a.value) ? b : a;
    }
};

// Elements that one access loads.
template <class E, int COUNT> struct alignas(COUNT * sizeof(E)) Pack {
    E elements[COUNT];
};

// K packs of a thread, folded over all members. `start` is the first pack of the group, `end` the end of the packs to fold.
template <class G, class E, u32 OP, int COUNT, int K> struct Folded {
    typedef Pack<E, COUNT> P;
    typename Wide<E>::type values[K * COUNT];

    NVSHMEMRS_I_DEVICE void fold(const Call<G> &call, const void *source, u64 start, u64 end) {
        for (i32 m = 0; m < call.n; m++) {
            u64 from = call.on(m, source);
            P packs[K];
            NVSHMEMRS_I_UNROLL
            for (int k = 0; k < K; k++) {
                u64 i = start + k * G::size() + G::rank();
                if (i < end) packs[k] = device::bits<P>(read<Word<P>>(from + i * sizeof(P)));
                else packs[k] = P();
            }
            NVSHMEMRS_I_UNROLL
            for (int k = 0; k < K * COUNT; k++) {
                typename Wide<E>::type value = Wide<E>::widen(packs[k / COUNT].elements[k % COUNT]);
                values[k] = m == 0 ? value : Fold<OP>::fold(values[k], value);
            }
        }
    }

    NVSHMEMRS_I_DEVICE void store(void *dest, u64 start, u64 end) const {
        NVSHMEMRS_I_UNROLL
        for (int k = 0; k < K; k++) {
            u64 i = start + k * G::size() + G::rank();
            P pack;
            NVSHMEMRS_I_UNROLL
            for (int e = 0; e < COUNT; e++) pack.elements[e] = Wide<E>::narrow(values[k * COUNT + e]);
            if (i < end) write<Word<P>>((u64)dest + i * sizeof(P), device::bits<Word<P>>(pack));
        }
    }
};

// Rounds of reductions in place, where `dest` lies within `source` or overlaps `source`. The elements of a round are written after all members
// have read them. So members meet once before the first round, and once in each round between the loads and the stores. They do not meet at
// the end. Kernels in other languages do the same, so the number of elements in a round follows a common rule:
//
//   * The elements of the part that this member folds are packs first, then single elements. A pack has 16 bytes; of elements of 1 byte it
//     has 8. Only whole packs count. If the address `dest` or `source` is no multiple of 16, there are no packs. In reducescatter
//     `source` is the caller's argument, and the bytes of a part must be a multiple of 16, too.
//   * A round of packs takes K packs for each thread of the group: K is 2 for elements of 1 and 2 bytes, else 4. These are 16, 32 or 64
//     bytes for each thread.
//   * A round of single elements takes one element for each thread. Packs and single elements are never in the same round.
//
// With P packs, E single elements and T threads these are ceil(P / (K * T)) + ceil(E / T) rounds.
template <class E> struct Round {
    // Elements of a pack, and packs of a thread. More would take more than the 64 registers that threads of large blocks have.
    static constexpr int COUNT = sizeof(E) == 1 ? 8 : sizeof(E) < 16 ? 16 / sizeof(E) : 1, K = sizeof(E) >= 4 ? 4 : 2;
};

template <class G, class E, u32 OP, int COUNT, int K>
NVSHMEMRS_I_PART bool fold_packs(Call<G> &call, void *dest, const void *source, u64 count, bool in_place) {
    for (u64 start = 0; start < count; start += K * G::size()) {
        Folded<G, E, OP, COUNT, K> folded;
        folded.fold(call, source, start, count);
        if (in_place && !call.meet()) return false;
        folded.store(dest, start, count);
    }
    return true;
}

// Reductions whose data fit the mail. A word of mail is half data and half epoch, so no separate flag is needed: each member stores once to
// each other member. If not all members send mail, the function writes nothing. PARTS: each member folds a part of its own.
template <class G, class E, u32 OP, bool PARTS> NVSHMEMRS_I_DEVICE Taken reduce_by_mail(Call<G> &call, void *dest, const void *source, u32 bytes) {
    // A thread folds the elements of RUNS runs of EACH words at once.
    constexpr u32 EACH = sizeof(E) > 4 ? sizeof(E) / 4 : 1, COUNT = EACH * 4 / sizeof(E), BATCH = Call<G>::batch(EACH), RUNS = BATCH / EACH;
    struct alignas(sizeof(E) > 4 ? sizeof(E) : 4) Words {
        u32 words[EACH];
    };
    struct Elements {
        E elements[COUNT];
    };
    if (PARTS) call.post_parts(source, bytes);
    else call.post(source, bytes);
    Taken came = TAKEN;
    u32 all = (bytes + 3) / 4;
    for (u32 first = G::rank() * EACH; first < all && came == TAKEN; first += G::size() * BATCH) {
        typename Wide<E>::type values[RUNS * COUNT];
        for (i32 m = 0; m < call.n; m++) {
            u32 taken[BATCH];
            came = call.template take<EACH>(m, first, all, taken);
            if (came != TAKEN) break;
            NVSHMEMRS_I_UNROLL
            for (u32 r = 0; r < RUNS; r++) {
                Words words;
                NVSHMEMRS_I_UNROLL
                for (u32 w = 0; w < EACH; w++) words.words[w] = taken[r * EACH + w];
                Elements of = device::bits<Elements>(words);
                NVSHMEMRS_I_UNROLL
                for (u32 e = 0; e < COUNT; e++) {
                    typename Wide<E>::type value = Wide<E>::widen(of.elements[e]);
                    values[r * COUNT + e] = m == 0 ? value : Fold<OP>::fold(values[r * COUNT + e], value);
                }
            }
        }
        if (came != TAKEN) break;
        NVSHMEMRS_I_UNROLL
        for (u32 k = 0; k < RUNS * COUNT; k++) {
            u64 at = (u64)(first + k / COUNT * EACH * G::size()) * 4 + k % COUNT * sizeof(E);
            if (at < bytes) {
                E element = Wide<E>::narrow(values[k]);
                write<Word<E>>((u64)dest + at, device::bits<Word<E>>(element));
            }
        }
    }
    return call.all_taken(came);
}

// In reducescatter each member gets a different part of the result. If `dest` lies within `source`, the groups of all members have the same size.
template <class G, class E, u32 OP, u32 OPERATION>
NVSHMEMRS_I_LOOP int reduce(Given s, u64 team, void *dest, const void *source, u64 count, u32 slot) {
    Call<G> call(s, OPERATION, team, slot);
    if (!call.good()) return -1;
    const u64 bytes = count * sizeof(E), all = OPERATION == REDUCESCATTER ? bytes * call.n : bytes;
    call.check(OPERATION, dest, bytes, sizeof(E));
    call.check(OPERATION, source, all, sizeof(E));
    u32 steps = 1;
    constexpr bool PARTS = OPERATION == REDUCESCATTER;
    if ((!PARTS || call.is_short(bytes)) && call.has_mail(bytes)) {
        Taken taken = reduce_by_mail<G, E, OP, PARTS>(call, dest, source, bytes);
        if (taken != NOT_SENT) return taken == TAKEN ? 0 : -1;
        steps = 0;
    }
    call.reads(source, all);
    if (!call.meet(steps)) return -1;
    call.writes(dest, bytes);
    bool in_place = (u64)dest < (u64)source + all && (u64)source < (u64)dest + bytes;
    const char *from = (const char *)source + (OPERATION == REDUCESCATTER ? bytes * call.me : 0);
    constexpr int COUNT = Round<E>::COUNT, K = Round<E>::K;
    // In place, all members must choose the same algorithm, although their parts may be aligned differently.
    u64 mixed = (u64)dest | (u64)source | (OPERATION == REDUCESCATTER ? bytes : 0);
    u64 packs = mixed % 16 ? 0 : count / COUNT, done = packs * COUNT;
    if (!fold_packs<G, E, OP, COUNT, K>(call, dest, from, packs, in_place)) return -1;
    if (!fold_packs<G, E, OP, 1, 1>(call, (char *)dest + done * sizeof(E), from + done * sizeof(E), count - done, in_place)) return -1;
    if (!in_place) return call.leave();
    // In place, the meeting of the last round came after the last load. The threads meet once more, so that each sees the stores of the others.
    G::sync();
    return 0;
}

} // namespace nvshmemrs::device
