// Remote memory access: contiguous and strided copies, single values, signals.

// `dest` and `source` do not overlap.
KERNEL nvshmemrs_copy(u64 dest, u64 source, u64 bytes) {
    follow_previous_kernel();
    copy(dest, source, bytes, grid_thread(), grid_threads());
}

// Sixteen bytes that a thread carries.
DEVICE Bytes16 load_line(u64 source) {
    if (source % 16 == 0) return at<Bytes16>(source);
    if (source % 8 == 0) return {{at<u64>(source), at<u64>(source + 8)}};
    return load_askew(source);
}

// The part of a range that belongs to one line of sixteen bytes of the destination.
struct Line {
    u64 dest;
    u64 source;
    u32 bytes;
    Bytes16 data;

    __device__ Line(u64 to, u64 from, u64 all, u64 index) {
        u64 line = (to & ~15ull) + index * 16, start = line < to ? to : line, end = least(line + 16, to + all);
        dest = start;
        bytes = start < end ? (u32)(end - start) : 0;
        source = from + (start - to);
    }

    __device__ void load() {
        if (bytes == 16) data = load_line(source);
        else if (bytes > 0) data = {{load_unit(source, (u32)least(bytes, 8)), bytes > 8 ? load_unit(source + 8, bytes - 8) : 0}};
    }

    __device__ void store() const {
        if (bytes == 16) at<Bytes16>(dest) = data;
        else if (bytes > 0) store_unit(dest, data.words[0], (u32)least(bytes, 8));
        if (bytes > 8 && bytes < 16) store_unit(dest + 8, data.words[1], bytes - 8);
    }
};

// `dest` and `source` may overlap; one block. Lines are read before they are written, from the end where no unread byte is overwritten.
KERNEL nvshmemrs_move(u64 dest, u64 source, u64 bytes) {
    follow_previous_kernel();
    u64 lines = ((dest + bytes + 15) >> 4) - (dest >> 4), each = 2 * blockDim.x, rounds = (lines + each - 1) / each;
    for (u64 round = 0; round < rounds; round++) {
        u64 index = (dest < source ? round : rounds - 1 - round) * each + threadIdx.x;
        Line first(dest, source, bytes, index), second(dest, source, bytes, index + blockDim.x);
        first.load();
        second.load();
        __syncthreads();
        first.store();
        second.store();
        __syncthreads();
    }
}

struct Strided {
    u64 dest;
    u64 source;
    // Bytes from the start of one block to the start of the next.
    i64 dest_step;
    i64 source_step;
    // Bytes of a block, and blocks.
    u64 block;
    u64 count;
};
static_assert(sizeof(Strided) == 48, "as Strided in mod.rs");

template <class T>
DEVICE void copy_strided(const Strided &s) {
    u64 pieces = s.block / sizeof(T);
    for (u64 i = grid_thread(); i < pieces * s.count; i += grid_threads()) {
        u64 block = pieces == 1 ? i : i / pieces, piece = (i - block * pieces) * sizeof(T);
        at<T>(s.dest + block * s.dest_step + piece) = at<T>(s.source + block * s.source_step + piece);
    }
}

KERNEL nvshmemrs_copy_strided(const __grid_constant__ Strided s) {
    follow_previous_kernel();
    switch (common_power(s.dest | s.source | (u64)s.dest_step | (u64)s.source_step | s.block)) {
    case 16: return copy_strided<Bytes16>(s);
    case 8: return copy_strided<u64>(s);
    case 4: return copy_strided<u32>(s);
    case 2: return copy_strided<u16>(s);
    default: return copy_strided<u8>(s);
    }
}

// Stores one value of up to sixteen bytes.
KERNEL nvshmemrs_put_value(u64 dest, u64 low, u64 high, u64 bytes) {
    follow_previous_kernel();
    if (grid_thread() != 0) return;
    store_unit(dest, low, (u32)least(bytes, 8));
    if (bytes > 8) store_unit(dest + 8, high, (u32)bytes - 8);
}

// A release, which also orders the earlier stores of the block's other threads and of the stream.
DEVICE void update_signal(u64 signal, u64 value, u32 add) {
    if (add) add_release(signal, value);
    else store_release(signal, value);
}

// Updates a signal after all earlier operations of the stream.
KERNEL nvshmemrs_signal(u64 signal, u64 value, u32 add) {
    follow_previous_kernel();
    if (grid_thread() == 0) update_signal(signal, value, add);
}

// A copy, then the update of a signal; one block. `dest` and `source` do not overlap.
KERNEL nvshmemrs_put_signal(u64 dest, u64 source, u64 bytes, u64 signal, u64 value, u32 add) {
    follow_previous_kernel();
    copy(dest, source, bytes, threadIdx.x, blockDim.x);
    __syncthreads();
    if (threadIdx.x == 0) update_signal(signal, value, add);
}
