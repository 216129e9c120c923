// The fold of two members' values: the same bits as core/src/collectives/fold.rs, except for the payload of a NaN that a sum or a product
// makes.
//
// Narrow floating-point numbers are folded in single precision and rounded once at the end, all others in their own type. The compiler
// must not contract (-fmad=false).
#pragma once

using nvshmemrs::device::Bfloat16;
using nvshmemrs::device::Half;
using nvshmemrs::device::Wide;

DEVICE float float_of(u32 bits) { return __uint_as_float(bits); }

template <class R>
struct Complex {
    R re;
    R im;
};

// The operations of a type: numbers are ordered, and integers have bits. Integers are unsigned here; if the sign makes a difference, there is a
// separate operation.
template <class T> struct Kind { static constexpr bool ordered = true, integer = true; };
template <> struct Kind<float> { static constexpr bool ordered = true, integer = false; };
template <> struct Kind<double> { static constexpr bool ordered = true, integer = false; };
template <class R> struct Kind<Complex<R>> { static constexpr bool ordered = false, integer = false; };

// The numbers of Op in core/crates/vocabulary/src/op.rs, which the header also has, and two internal numbers.
static constexpr u32 SUM = 1, MIN = 2, MAX = 3, PROD = 4, AND = 5, OR = 6, XOR = 7, SIGNED_MIN = 8, SIGNED_MAX = 9;

// The header's folds of two values.
template <u32 OP, class T>
DEVICE T folded(T a, T b) { return nvshmemrs::device::Fold<OP>::fold(a, b); }
template <class T>
DEVICE T sum(T a, T b) { return folded<SUM>(a, b); }
template <class R>
DEVICE Complex<R> sum(Complex<R> a, Complex<R> b) { return {a.re + b.re, a.im + b.im}; }

template <class T>
DEVICE T prod(T a, T b) { return folded<PROD>(a, b); }
template <class R>
DEVICE Complex<R> prod(Complex<R> a, Complex<R> b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

// The result of a NaN and any value is the first NaN. The names are not min and max: the compiler would prefer its own functions of these
// names, which drop a NaN.
template <class T>
DEVICE T smaller(T a, T b) { return folded<MIN>(a, b); }
template <class T>
DEVICE T greater(T a, T b) { return folded<MAX>(a, b); }

// With this bit inverted, signed numbers have the order of unsigned numbers.
template <class T>
DEVICE T sign_bit() { return (T)(1ull << (8 * sizeof(T) - 1)); }

// The identity of an operation.
template <class T>
DEVICE T identity(u32 operation, T *) {
    if constexpr (Kind<T>::integer) {
        switch (operation) {
        case PROD: return 1;
        case MIN: case AND: return (T)~(T)0;
        case SIGNED_MIN: return (T)~sign_bit<T>();
        case SIGNED_MAX: return sign_bit<T>();
        default: return 0;
        }
    } else {
        switch (operation) {
        case PROD: return 1;
        case MIN: return float_of(0x7f800000);
        case MAX: return float_of(0xff800000);
        default: return 0;
        }
    }
}
template <class R>
DEVICE Complex<R> identity(u32 operation, Complex<R> *) { return {operation == PROD ? (R)1 : (R)0, 0}; }

// BYTES bytes of elements, at a multiple of BYTES.
template <class T, int BYTES>
union alignas(BYTES) Pack {
    typedef T Element;
    static constexpr int COUNT = BYTES / sizeof(T);
    u64 words[BYTES / 8];
    T elements[COUNT];
};

// One element, aligned as its type.
template <class T>
struct Single {
    typedef T Element;
    static constexpr int COUNT = 1;
    T elements[COUNT];
};

#define EACH(expression)                                          \
    _Pragma("unroll") for (int i = 0; i < Packed::COUNT; i++) {   \
        Sum a = values[i], b = ONCE ? next[ONCE ? i : 0] : Wide<Element>::widen(pack.elements[i]); \
        values[i] = (expression);                                 \
    }                                                             \
    return

// A left fold over packs of elements.
template <class Packed>
struct Folded {
    typedef typename Packed::Element Element;
    typedef typename Wide<Element>::type Sum;
    Sum values[Packed::COUNT];

    DEVICE_METHOD void clear(u32 operation) {
        Sum value = identity(operation, (Sum *)0);
#pragma unroll
        for (int i = 0; i < Packed::COUNT; i++) values[i] = value;
    }

    DEVICE_METHOD void start(const Packed &pack) {
#pragma unroll
        for (int i = 0; i < Packed::COUNT; i++) values[i] = Wide<Element>::widen(pack.elements[i]);
    }

    DEVICE_METHOD void fold(u32 operation, const Packed &pack) {
        // Hoisted out of the code of each operation, if there are enough registers.
        constexpr bool ONCE = sizeof(Sum) > sizeof(Element) && Packed::COUNT <= 8;
        Sum next[ONCE ? Packed::COUNT : 1];
        if constexpr (ONCE) {
#pragma unroll
            for (int i = 0; i < Packed::COUNT; i++) next[i] = Wide<Element>::widen(pack.elements[i]);
        }
        if (operation == SUM) { EACH(sum(a, b)); }
        if constexpr (Kind<Sum>::ordered) {
            if (operation == MIN) { EACH(smaller(a, b)); }
            if (operation == MAX) { EACH(greater(a, b)); }
        }
        if constexpr (Kind<Sum>::integer) {
            Sum sign = sign_bit<Sum>();
            switch (operation) {
            case AND: EACH(a & b);
            case OR: EACH(a | b);
            case XOR: EACH(a ^ b);
            case SIGNED_MIN: EACH(smaller<Sum>(a ^ sign, b ^ sign) ^ sign);
            case SIGNED_MAX: EACH(greater<Sum>(a ^ sign, b ^ sign) ^ sign);
            }
        }
        EACH(prod(a, b));
    }

    DEVICE_METHOD Packed result() const {
        Packed pack;
#pragma unroll
        for (int i = 0; i < Packed::COUNT; i++) pack.elements[i] = Wide<Element>::narrow(values[i]);
        return pack;
    }
};

#undef EACH

// Whether the processor adds two elements at once. The sum of two elements has the bits of a sum in single precision that is rounded once more:
// 24 bits are at least twice the 8 or 11 of the elements, and 2 more.
template <class T> static constexpr bool ADDED_IN_PAIRS = false;
template <> constexpr bool ADDED_IN_PAIRS<Half> = true;
template <> constexpr bool ADDED_IN_PAIRS<Bfloat16> = true;

// The fold of two packs.
template <class Packed>
DEVICE Packed fold_two_packs(u32 operation, const Packed &a, const Packed &b) {
    typedef typename Packed::Element Element;
    if constexpr (ADDED_IN_PAIRS<Element> && Packed::COUNT > 1) {
        if (operation == SUM) {
            Packed sums;
#pragma unroll
            for (int w = 0; w < (int)sizeof(Packed) / 8; w++) {
                u64 x = a.words[w], y = b.words[w];
                sums.words[w] = add_pairs<Element>((u32)x, (u32)y) | (u64)add_pairs<Element>((u32)(x >> 32), (u32)(y >> 32)) << 32;
            }
            return sums;
        }
    }
    Folded<Packed> fold;
    fold.start(a);
    fold.fold(operation, b);
    return fold.result();
}
