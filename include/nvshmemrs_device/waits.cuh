// Part of nvshmemrs_device.cuh: waits and tests of words of this PE that others write.
#pragma once

namespace nvshmemrs::device {

template <class T> NVSHMEMRS_I_DEVICE bool compare(int cmp, T left, T right) {
    switch (cmp) {
    case NVSHMEMRS_CMP_EQ: return left == right;
    case NVSHMEMRS_CMP_NE: return left != right;
    case NVSHMEMRS_CMP_GT: return left > right;
    case NVSHMEMRS_CMP_LE: return left <= right;
    case NVSHMEMRS_CMP_LT: return left < right;
    default: return left >= right;
    }
}

// The elements that a call waits for, each compared with `value`, or with an element of `values`.
template <class T> struct Elements {
    const T *ivars;
    u64 count;
    // An element whose status is not 0 is skipped. NULL: no element is skipped.
    const int *status;
    int cmp;
    T value;
    const T *values;

    NVSHMEMRS_I_DEVICE bool excluded(u64 i) const { return status && status[i] != 0; }
    NVSHMEMRS_I_DEVICE bool holds(Given s, u32 operation, u64 i) const {
        Word<T> found = load_acquire((const Word<T> *)(ivars + i));
        if (!compare<T>(cmp, (T)found, values ? values[i] : value)) return false;
        s.seen(operation, s.get().my_pe, ivars + i, found);
        return true;
    }
};

template <class T> NVSHMEMRS_I_DEVICE void check_elements(Given s, u32 operation, const Elements<T> &e) {
    s.check_own(operation, e.ivars, e.count * sizeof(T), sizeof(T));
    s.check_argument(e.cmp >= NVSHMEMRS_CMP_EQ && e.cmp <= NVSHMEMRS_CMP_GE, operation, e.cmp);
}

// Whether the comparison has held once for each element.
template <bool WAIT, class T> NVSHMEMRS_I_LOOP bool wait_all(Given s, u32 operation, Elements<T> e) {
    check_elements(s, operation, e);
    u32 polls = 0;
    for (u64 i = 0; i < e.count; i++) {
        if (e.excluded(i)) continue;
        while (!e.holds(s, operation, i))
            if (!WAIT || (++polls % POLLS == 0 && s.aborted())) return false;
    }
    return true;
}

// The index of an element that holds; ~0 if no element holds. A search begins at a random index, so a series of calls finds every element that
// holds.
template <bool WAIT, class T> NVSHMEMRS_I_LOOP u64 wait_any(Given s, u32 operation, Elements<T> e) {
    check_elements(s, operation, e);
    u64 mixed = clock() * 0x9e3779b97f4a7c15ull, start = e.count ? (mixed >> 32) % e.count : 0;
    for (u32 polls = 0;;) {
        bool candidates = false;
        for (u64 k = 0; k < e.count; k++) {
            u64 i = k < e.count - start ? start + k : k - (e.count - start);
            if (e.excluded(i)) continue;
            candidates = true;
            if (e.holds(s, operation, i)) return i;
            if (WAIT && ++polls % POLLS == 0 && s.aborted()) return ~0ull;
        }
        if (!WAIT || !candidates) return ~0ull;
    }
}

// The number of elements that hold, and their indices.
template <bool WAIT, class T> NVSHMEMRS_I_LOOP u64 wait_some(Given s, u32 operation, unsigned long *indices, Elements<T> e) {
    check_elements(s, operation, e);
    for (u32 polls = 0;;) {
        bool candidates = false;
        u64 found = 0;
        for (u64 i = 0; i < e.count; i++) {
            if (e.excluded(i)) continue;
            candidates = true;
            if (e.holds(s, operation, i)) indices[found++] = i;
            else if (WAIT && ++polls % POLLS == 0 && s.aborted()) return found;
        }
        if (found || !WAIT || !candidates) return found;
    }
}

NVSHMEMRS_I_DEVICE u64 signal_wait(Given s, const u64 *signal, int cmp, u64 value) {
    s.check_own(SIGNAL_WAIT, signal, 8, 8);
    s.check_argument(cmp >= NVSHMEMRS_CMP_EQ && cmp <= NVSHMEMRS_CMP_GE, SIGNAL_WAIT, cmp);
    for (u32 polls = 1;; polls++) {
        u64 seen = load_acquire(signal);
        if (compare(cmp, seen, value)) return s.seen(SIGNAL_WAIT, s.get().my_pe, signal, seen);
        if (polls % POLLS == 0 && s.aborted()) return seen;
    }
}

} // namespace nvshmemrs::device
