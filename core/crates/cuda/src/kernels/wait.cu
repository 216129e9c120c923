// Waits and tests of elements in the PE's memory that other PEs write.

struct WaitCall {
    State state;
    // Elements, one after the other.
    u64 ivars;
    u64 count;
    // The address of an i32 for each element; an element whose i32 is not 0 is skipped. 0: no element is skipped.
    u64 status;
    // The address of a value for each element to compare with; 0: all elements are compared with `value`.
    u64 values;
    u64 value;
    // One: the u64 that held. All: 1. Any: an index that held. Some: the number of elements. A test that finds none writes 0, for any ~0.
    u64 result;
    // One: 1 if it held. Some: the indices that held, u64 each.
    u64 indices;
    // Any: the index of the first element to compare; the others follow in order, with wrap-around. Else 0.
    u64 start;
    // The numbers of Cmp and Dtype.
    u32 cmp;
    u32 dtype;
    u32 mode;
    // Do not wait.
    u32 test;
};
static_assert(sizeof(WaitCall) == 144, "as WaitCall in mod.rs");

static constexpr u32 WAIT_ONE = 0, WAIT_ALL = 1, WAIT_ANY = 2, WAIT_SOME = 3;
// Numbers of Dtype: 1 to 4 are signed, 5 to 8 unsigned, 11 and 12 floating-point numbers.
static constexpr u32 FIRST_UNSIGNED = 5, FLOAT = 11, DOUBLE = 12;

DEVICE u32 size_of(u32 dtype) {
    return dtype == FLOAT ? 4 : dtype == DOUBLE ? 8 : 1 << (dtype - 1) % 4;
}

// Loads the bits of an aligned element, with acquire.
DEVICE u64 load_element(u64 place, u32 bytes) {
    switch (bytes) {
    case 8: return load_acquire(place);
    case 4: return load_acquire_u32(place);
    case 2: return load_acquire_u16(place);
    default: return load_acquire_u8(place);
    }
}

template <class T>
DEVICE bool compare(u32 cmp, T left, T right) {
    switch (cmp) {
    case 0: return left == right;
    case 1: return left != right;
    case 2: return left > right;
    case 3: return left <= right;
    case 4: return left < right;
    default: return left >= right;
    }
}

// Whether the comparison holds for two values of the type.
DEVICE bool holds(u32 cmp, u32 dtype, u64 left, u64 right) {
    if (dtype == FLOAT) return compare(cmp, __uint_as_float((u32)left), __uint_as_float((u32)right));
    if (dtype == DOUBLE) return compare(cmp, __longlong_as_double(left), __longlong_as_double(right));
    u32 shift = 64 - 8 * size_of(dtype);
    if (dtype >= FIRST_UNSIGNED) return compare(cmp, left << shift >> shift, right << shift >> shift);
    return compare(cmp, (i64)(left << shift) >> shift, (i64)(right << shift) >> shift);
}

class Elements {
  public:
    const WaitCall &w;
    u32 bytes;

    __device__ explicit Elements(const WaitCall &call) : w(call), bytes(size_of(call.dtype)) {}

    __device__ bool excluded(u64 index) const { return w.status && at<i32>(w.status + 4 * index) != 0; }

    __device__ bool check(u64 index, u64 &seen) const {
        seen = load_element(w.ivars + index * bytes, bytes);
        u64 value = w.value;
        if (w.values) {
            u64 place = w.values + index * bytes;
            value = bytes == 8 ? at<u64>(place) : bytes == 4 ? at<u32>(place) : bytes == 2 ? at<u16>(place) : at<u8>(place);
        }
        return holds(w.cmp, w.dtype, seen, value);
    }

    __device__ bool check(u64 index) const {
        u64 seen;
        return !excluded(index) && check(index, seen);
    }
};

DEVICE void give(u64 place, u64 value) {
    if (place) store_relaxed(place, value);
}

DEVICE void wait_one(const Elements &elements) {
    if (threadIdx.x != 0) return;
    const WaitCall &w = elements.w;
    u64 seen;
    bool held = elements.check(0, seen);
    for (u32 polls = 1; !held && !w.test; polls++) {
        if (polls % POLLS == 0 && aborted(w.state)) break;
        held = elements.check(0, seen);
    }
    give(w.result, seen);
    give(w.indices, held);
}

// Returns when each element has held once.
DEVICE void wait_all(const Elements &elements) {
    const WaitCall &w = elements.w;
    bool held = true;
    for (u64 i = threadIdx.x; i < w.count && held; i += blockDim.x) {
        u64 seen;
        held = elements.excluded(i) || elements.check(i, seen);
        for (u32 polls = 1; !held && !w.test; polls++) {
            if (polls % POLLS == 0 && aborted(w.state)) break;
            held = elements.check(i, seen);
        }
    }
    held = !__syncthreads_or(!held);
    if (threadIdx.x == 0) give(w.result, held);
}

// The index at `distance` behind `start`, with wrap-around.
DEVICE u64 after_start(const WaitCall &w, u64 distance) {
    u64 left = w.count - w.start;
    return distance < left ? w.start + distance : distance - left;
}

// The index of the first element that holds, from `start` on with wrap-around, on all threads; ~0 if none holds and the call does not wait.
DEVICE u64 find_any(const Elements &elements) {
    const WaitCall &w = elements.w;
    // The distance of this element from `start`.
    __shared__ u64 nearest;
    for (u32 looks = 1;;) {
        if (threadIdx.x == 0) nearest = ~0ull;
        __syncthreads();
        bool candidates = false, ended = false;
        for (u64 k = threadIdx.x; k < w.count && !ended; k += blockDim.x, looks++) {
            if (!w.test && looks % POLLS == 0) ended = aborted(w.state);
            u64 i = after_start(w, k);
            if (elements.excluded(i)) continue;
            candidates = true;
            u64 seen;
            if (elements.check(i, seen)) {
                atomicMin(&nearest, k);
                break;
            }
        }
        bool any = __syncthreads_or(candidates);
        // One thread reads the abort word for all, because the word may change.
        bool stop = __syncthreads_or(ended) || nearest != ~0ull || !any || w.test;
        u64 found = nearest;
        __syncthreads();
        if (stop) return found == ~0ull ? found : after_start(w, found);
    }
}

// The indices of the elements that hold now, in order, beginning at the first element that was found.
DEVICE void collect_some(const Elements &elements, u64 first) {
    const WaitCall &w = elements.w;
    __shared__ u32 warps[32];
    u64 found = 0;
    for (u64 start = first; start < w.count; start += blockDim.x) {
        u64 i = start + threadIdx.x;
        bool held = i < w.count && (i == first || elements.check(i));
        u32 votes = __ballot_sync(~0u, held), lane = threadIdx.x % 32, warp = threadIdx.x / 32;
        if (lane == 0) warps[warp] = __popc(votes);
        __syncthreads();
        u64 place = found;
        for (u32 k = 0; k < blockDim.x / 32; k++) {
            if (k < warp) place += warps[k];
            found += warps[k];
        }
        place += __popc(votes & ((1u << lane) - 1));
        if (held && w.indices) store_relaxed(w.indices + 8 * place, i);
        __syncthreads();
    }
    if (threadIdx.x == 0) give(w.result, found);
}

// One block, of whole warps.
KERNEL nvshmemrs_wait(const __grid_constant__ WaitCall w) {
    wait_for_previous_kernel();
    Elements elements(w);
    switch (w.mode) {
    case WAIT_ONE: wait_one(elements); break;
    case WAIT_ALL: wait_all(elements); break;
    case WAIT_ANY: {
        u64 found = find_any(elements);
        if (threadIdx.x == 0) give(w.result, found);
        break;
    }
    case WAIT_SOME: {
        u64 found = find_any(elements);
        if (found != ~0ull) collect_some(elements, found);
        else if (threadIdx.x == 0) give(w.result, 0);
        break;
    }
    }
    // Puts before the values are visible to later operations of the stream.
    fence();
}
