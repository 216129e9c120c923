// Remote memory access: contiguous and strided copies, single values, signals.

// `dest` and `source` do not overlap.
KERNEL nvshmemrs_copy(u64 dest, u64 source, u64 bytes) {
    copy(dest, source, bytes, grid_thread(), grid_threads());
}

// `dest` and `source` may overlap; one block. Pieces are read before they are written, from the end where nothing is lost.
KERNEL nvshmemrs_move(u64 dest, u64 source, u64 bytes) {
    u32 power = common_power(dest | source | bytes);
    u64 count = bytes / power, pieces = (count + blockDim.x - 1) / blockDim.x;
    for (u64 piece = 0; piece < pieces; piece++) {
        u64 index = (dest < source ? piece : pieces - 1 - piece) * blockDim.x + threadIdx.x;
        u64 from = source + index * power, to = dest + index * power;
        Bytes16 value = {};
        if (index < count) copy_aligned(power, (u64)&value, from, 1, 0, 1);
        __syncthreads();
        if (index < count) copy_aligned(power, to, (u64)&value, 1, 0, 1);
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
static_assert(sizeof(Strided) == 48, "as Strided in kernels.rs");

template <class T>
DEVICE void copy_strided(const Strided &s) {
    u64 pieces = s.block / sizeof(T);
    for (u64 i = grid_thread(); i < pieces * s.count; i += grid_threads()) {
        u64 block = pieces == 1 ? i : i / pieces, piece = (i - block * pieces) * sizeof(T);
        at<T>(s.dest + block * s.dest_step + piece) = at<T>(s.source + block * s.source_step + piece);
    }
}

KERNEL nvshmemrs_copy_strided(const __grid_constant__ Strided s) {
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
    if (grid_thread() != 0) return;
    u64 words[2] = {low, high};
    copy_edge(dest, (u64)words, bytes);
}

DEVICE void update_signal(u64 signal, u64 value, u32 add) {
    fence();
    if (add) add_release(signal, value);
    else store_release(signal, value);
}

// Updates a signal after everything that came before on the stream.
KERNEL nvshmemrs_signal(u64 signal, u64 value, u32 add) {
    if (grid_thread() == 0) update_signal(signal, value, add);
}

// A copy, then the update of a signal; one block. `dest` and `source` do not overlap.
KERNEL nvshmemrs_put_signal(u64 dest, u64 source, u64 bytes, u64 signal, u64 value, u32 add) {
    copy(dest, source, bytes, threadIdx.x, blockDim.x);
    __syncthreads();
    if (threadIdx.x == 0) update_signal(signal, value, add);
}
