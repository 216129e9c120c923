// Atomic operations on a word of any PE, at `.sys` scope, with acquire and release.

struct AtomicCall {
    u64 address;
    u64 value;
    u64 cond;
    // The address for the old value, which is as wide as the word; 0: the old value is not stored.
    u64 result;
    // The number of the operation: the first of Atomic::parts in ../../mod.rs.
    u32 operation;
    // Bytes of the word: 4 or 8.
    u32 bytes;
};
static_assert(sizeof(AtomicCall) == 40, "as AtomicCall in mod.rs");

// The hardware's atomic addition in single precision flushes subnormal numbers to 0, so this function compares and swaps.
DEVICE u32 add_float(u64 at, u32 value) {
    u32 old = load_relaxed_u32(at);
    for (;;) {
        u32 seen = swap_if(at, old, __float_as_uint(__uint_as_float(old) + __uint_as_float(value)));
        if (seen == old) return old;
        old = seen;
    }
}

DEVICE u64 add_float(u64 at, u64 value) {
    return __double_as_longlong(fetch_add(at, __longlong_as_double(value)));
}

DEVICE u64 load_word(u64 at, u64 *) { return load_acquire(at); }
DEVICE u32 load_word(u64 at, u32 *) { return load_acquire_u32(at); }
DEVICE void store_word(u64 at, u64 value) { store_release(at, value); }
DEVICE void store_word(u64 at, u32 value) { store_release_u32(at, value); }

// Returns the old value, or 0 for an operation without one.
template <class W>
DEVICE W atomic(const AtomicCall &call) {
    u64 at = call.address;
    W value = (W)call.value;
    switch (call.operation) {
    case 0: return load_word(at, (W *)0);
    case 1: store_word(at, value); return 0;
    case 2: return swap(at, value);
    case 3: return swap_if(at, (W)call.cond, value);
    case 4: return fetch_add(at, value);
    case 5: return add_float(at, value);
    case 6: return fetch_and(at, value);
    case 7: return fetch_or(at, value);
    default: return fetch_xor(at, value);
    }
}

KERNEL nvshmemrs_atomic(const __grid_constant__ AtomicCall call) {
    follow_previous_kernel();
    if (grid_thread() != 0) return;
    if (call.bytes == 8) {
        u64 old = atomic<u64>(call);
        if (call.result) store_relaxed(call.result, old);
    } else {
        u32 old = atomic<u32>(call);
        if (call.result) store_relaxed_u32(call.result, old);
    }
}
