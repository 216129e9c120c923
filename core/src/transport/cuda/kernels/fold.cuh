// How the values of two members combine: the same bits as ../../../collectives/fold.rs, but for the payload of a NaN that a sum or a
// product makes.
//
// Half and bfloat16 are folded in single precision and rounded once at the end, all others in their own type. The compiler
// must not contract (-fmad=false).
#pragma once

DEVICE u32 bits_of(float value) { return __float_as_uint(value); }
DEVICE float float_of(u32 bits) { return __uint_as_float(bits); }

struct Half { u16 bits; };
struct Bfloat16 { u16 bits; };

DEVICE bool is_nan_bits(u32 bits) { return (bits & 0x7fffffff) > 0x7f800000; }

DEVICE float widened(Half half) {
    u32 magnitude = half.bits & 0x7fff, sign = (u32)(half.bits & 0x8000) << 16;
    // A NaN keeps its payload and becomes quiet.
    if (magnitude > 0x7c00) return float_of(sign | 0x7fc00000 | (magnitude & 0x3ff) << 13);
    return half_to_float(half.bits);
}

DEVICE void narrow(float value, Half &half) {
    u32 bits = bits_of(value);
    if (is_nan_bits(bits)) half.bits = (u16)((bits >> 16 & 0x8000) | 0x7e00 | (bits >> 13 & 0x3ff));
    else half.bits = float_to_half(value);
}

DEVICE float widened(Bfloat16 value) {
    u32 bits = (u32)value.bits << 16;
    return float_of(is_nan_bits(bits) ? bits | 0x400000 : bits);
}

DEVICE void narrow(float value, Bfloat16 &dest) {
    u32 bits = bits_of(value);
    // To the nearest, of two the even one.
    dest.bits = is_nan_bits(bits) ? (u16)(bits >> 16 | 0x40) : (u16)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

template <class R>
struct Complex {
    R re;
    R im;
};

// Types that the accumulator holds as they are.
template <class T>
DEVICE T widened(T value) { return value; }
template <class T>
DEVICE void narrow(T value, T &dest) { dest = value; }

// The type that elements of type T are folded in.
template <class T> struct Accumulator { typedef T type; };
template <> struct Accumulator<Half> { typedef float type; };
template <> struct Accumulator<Bfloat16> { typedef float type; };

// What the operations of a type are: numbers are ordered, and integers have bits. Integers are unsigned here; where the sign makes a
// difference there is an operation of its own.
template <class T> struct Kind { static constexpr bool ordered = true, integer = true; };
template <> struct Kind<float> { static constexpr bool ordered = true, integer = false; };
template <> struct Kind<double> { static constexpr bool ordered = true, integer = false; };
template <class R> struct Kind<Complex<R>> { static constexpr bool ordered = false, integer = false; };

// The numbers of Op in ../../../op.rs, and two of our own.
static constexpr u32 SUM = 1, MIN = 2, MAX = 3, PROD = 4, AND = 5, OR = 6, XOR = 7, SIGNED_MIN = 8, SIGNED_MAX = 9;

template <class T>
DEVICE T sum(T a, T b) { return (T)(a + b); }
template <class R>
DEVICE Complex<R> sum(Complex<R> a, Complex<R> b) { return {a.re + b.re, a.im + b.im}; }

template <class T>
DEVICE T prod(T a, T b) { return (T)(a * b); }
// They would be multiplied as int, and could overflow.
DEVICE u16 prod(u16 a, u16 b) { return (u16)((u32)a * b); }
template <class R>
DEVICE Complex<R> prod(Complex<R> a, Complex<R> b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

template <class T>
DEVICE bool is_nan(T value) { return value != value; }

// The first NaN stays: `b` is taken only if `a` is a number. Not called min and max: the compiler has functions of its own with these
// names, which would be preferred, and which drop a NaN.
template <class T>
DEVICE T least(T a, T b) { return (b < a || is_nan(b)) && !is_nan(a) ? b : a; }
template <class T>
DEVICE T greatest(T a, T b) { return (b > a || is_nan(b)) && !is_nan(a) ? b : a; }

// With this bit the other way round, signed numbers have the order of unsigned ones.
template <class T>
DEVICE T sign_bit() { return (T)(1ull << (8 * sizeof(T) - 1)); }

// A value that an operation leaves as it is.
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

// One element, where its type's alignment allows.
template <class T>
struct Single {
    typedef T Element;
    static constexpr int COUNT = 1;
    T elements[COUNT];
};

#define EACH(expression)                                          \
    _Pragma("unroll") for (int i = 0; i < Packed::COUNT; i++) {   \
        Wide a = values[i], b = widened(pack.elements[i]);        \
        values[i] = (expression);                                 \
    }                                                             \
    return

// A left fold over packs of elements.
template <class Packed>
struct Folded {
    typedef typename Accumulator<typename Packed::Element>::type Wide;
    Wide values[Packed::COUNT];

    DEVICE_METHOD void clear(u32 operation) {
        Wide value = identity(operation, (Wide *)0);
#pragma unroll
        for (int i = 0; i < Packed::COUNT; i++) values[i] = value;
    }

    DEVICE_METHOD void start(const Packed &pack) {
#pragma unroll
        for (int i = 0; i < Packed::COUNT; i++) values[i] = widened(pack.elements[i]);
    }

    DEVICE_METHOD void fold(u32 operation, const Packed &pack) {
        if (operation == SUM) { EACH(sum(a, b)); }
        if constexpr (Kind<Wide>::ordered) {
            if (operation == MIN) { EACH(least(a, b)); }
            if (operation == MAX) { EACH(greatest(a, b)); }
        }
        if constexpr (Kind<Wide>::integer) {
            Wide sign = sign_bit<Wide>();
            switch (operation) {
            case AND: EACH(a & b);
            case OR: EACH(a | b);
            case XOR: EACH(a ^ b);
            case SIGNED_MIN: EACH(least<Wide>(a ^ sign, b ^ sign) ^ sign);
            case SIGNED_MAX: EACH(greatest<Wide>(a ^ sign, b ^ sign) ^ sign);
            }
        }
        EACH(prod(a, b));
    }

    DEVICE_METHOD Packed result() const {
        Packed pack;
#pragma unroll
        for (int i = 0; i < Packed::COUNT; i++) narrow(values[i], pack.elements[i]);
        return pack;
    }
};

#undef EACH
