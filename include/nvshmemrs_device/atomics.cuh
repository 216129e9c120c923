// Part of nvshmemrs_device.cuh: atomic memory operations.
#pragma once

namespace nvshmemrs::device {

// The addition of elements of a type.
template <class T, class W> struct Adding {
    static NVSHMEMRS_I_DEVICE W fetch(W *at, W value) { return fetch_add(at, value); }
    static NVSHMEMRS_I_DEVICE void apply(W *at, W value) { apply_add(at, value); }
};
// The hardware's atomic addition in single precision flushes subnormal numbers to 0, so this function compares and swaps.
template <> struct Adding<float, u32> {
    static NVSHMEMRS_I_DEVICE u32 fetch(u32 *at, u32 value) {
        for (u32 old = load_relaxed(at);;) {
            u32 seen = compare_swap(at, old, bits<u32>(bits<float>(old) + bits<float>(value)));
            if (seen == old) return old;
            old = seen;
        }
    }
    static NVSHMEMRS_I_DEVICE void apply(u32 *at, u32 value) { fetch(at, value); }
};
template <> struct Adding<double, u64> {
    static NVSHMEMRS_I_DEVICE u64 fetch(u64 *at, u64 value) { return bits<u64>(fetch_add((double *)at, bits<double>(value))); }
    static NVSHMEMRS_I_DEVICE void apply(u64 *at, u64 value) { apply_add((double *)at, bits<double>(value)); }
};
// Half.
template <class T> struct Adding<T, u16> {
    static NVSHMEMRS_I_DEVICE u16 fetch(u16 *at, u16 value) {
        for (u16 old = load_relaxed(at);;) {
            u16 seen = compare_swap(at, old, float_to_half(half_to_float(old) + half_to_float(value)));
            if (seen == old) return old;
            old = seen;
        }
    }
    static NVSHMEMRS_I_DEVICE void apply(u16 *at, u16 value) { fetch(at, value); }
};
// The hardware has no exchange of 16 bits.
NVSHMEMRS_I_DEVICE u16 fetch_swap(u16 *at, u16 value) {
    for (u16 old = load_relaxed(at);;) {
        u16 seen = compare_swap(at, old, value);
        if (seen == old) return old;
        old = seen;
    }
}

template <class T> NVSHMEMRS_I_DEVICE T atomic_fetch(Given s, const T *source, i32 pe) {
    return bits<T>(s.seen(ATOMIC_FETCH, pe, source, load_acquire(s.atomic_word(ATOMIC_FETCH, pe, source, READS))));
}
template <class T> NVSHMEMRS_I_DEVICE void atomic_set(Given s, T *dest, const T &value, i32 pe) {
    store_release(s.atomic_word(ATOMIC_SET, pe, dest, WRITES), bits<Word<T>>(value));
}
template <class T> NVSHMEMRS_I_DEVICE T atomic_swap(Given s, T *dest, const T &value, i32 pe) {
    return bits<T>(s.seen(ATOMIC_SWAP, pe, dest, fetch_swap(s.atomic_word(ATOMIC_SWAP, pe, dest, FETCHES), bits<Word<T>>(value))));
}
template <class T> NVSHMEMRS_I_DEVICE T atomic_compare_swap(Given s, T *dest, const T &cond, const T &value, i32 pe) {
    Word<T> *word = s.atomic_word(ATOMIC_COMPARE_SWAP, pe, dest, FETCHES);
    return bits<T>(s.seen(ATOMIC_COMPARE_SWAP, pe, dest, compare_swap(word, bits<Word<T>>(cond), bits<Word<T>>(value))));
}
template <class T> NVSHMEMRS_I_DEVICE void atomic_add(Given s, u32 operation, T *dest, const T &value, i32 pe) {
    Adding<T, Word<T>>::apply(s.atomic_word(operation, pe, dest, WRITES), bits<Word<T>>(value));
}
template <class T> NVSHMEMRS_I_DEVICE T atomic_fetch_add(Given s, u32 operation, T *dest, const T &value, i32 pe) {
    Word<T> *word = s.atomic_word(operation, pe, dest, FETCHES);
    return bits<T>(s.seen(operation, pe, dest, Adding<T, Word<T>>::fetch(word, bits<Word<T>>(value))));
}

} // namespace nvshmemrs::device
