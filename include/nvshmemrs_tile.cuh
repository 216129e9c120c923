// Puts and gets of tiles in kernels: boxes of up to five dimensions, each side with strides of its own.
//
//     auto layout = nvshmemrs::make_layout(nvshmemrs::make_shape(64, 32), nvshmemrs::make_stride(1, width));
//     nvshmemrs::Tensor<float, decltype(layout)> source(here, layout), dest(symmetric, layout);
//     nvshmemrs::tile_put_block(state, source, dest, nvshmemrs::make_shape(x, y), nvshmemrs::make_shape(width, height), pe, 0);
//
// As NVSHMEM's tile_put and tile_get, with the state before the other arguments. Scopes: none (a thread), `_warp`, `_warpgroup` (128 threads
// that begin at a multiple of 128 in the block) and `_block`; all threads of the group call with equal arguments. They are nbi: quiet completes
// them, and the group's threads meet before the call, not after it.
//
// `start` and `boundary` leave out what is not below `boundary`, if the tile's first element has the coordinates `start`; `{}` for both: all
// is moved. Tensors have the same shape. Returns 0, or -1 if `flag` is not 0, which means nothing yet. Collectives of tiles need NVLink
// multicast in NVSHMEM and are not here.
#ifndef NVSHMEMRS_TILE_CUH
#define NVSHMEMRS_TILE_CUH

#include "nvshmemrs_device.cuh"

namespace nvshmemrs {

// A number that the compiler knows.
template <int N> struct ConstInt {
    static constexpr int value = N;
    __host__ __device__ constexpr operator int() const { return N; }
};

// As many numbers as dimensions: a shape, strides in elements, or coordinates.
template <int RANK> struct Numbers {
    static constexpr int rank = RANK;
    long at[RANK];
};
// No coordinates.
struct NoCoordinates {};

// All of the tensors' types can be made on the host, too, and passed to kernels.
template <class... N> __host__ __device__ __forceinline__ Numbers<(int)sizeof...(N)> make_shape(N... each) { return {{(long)each...}}; }
template <class... N> __host__ __device__ __forceinline__ Numbers<(int)sizeof...(N)> make_stride(N... each) { return {{(long)each...}}; }

template <int RANK> struct Layout {
    static constexpr int rank = RANK;
    Numbers<RANK> shape, stride;
};
template <int RANK> __host__ __device__ __forceinline__ Layout<RANK> make_layout(Numbers<RANK> shape, Numbers<RANK> stride) {
    static_assert(RANK >= 1 && RANK <= 5, "a tile has one to five dimensions");
    return {shape, stride};
}

template <class T, class L> class Tensor {
  public:
    typedef T value_type;
    __host__ __device__ __forceinline__ Tensor(T *data, L layout) : data_(data), layout_(layout) {}
    __host__ __device__ __forceinline__ T *data() const { return data_; }
    __host__ __device__ __forceinline__ const L &layout() const { return layout_; }

  private:
    T *data_;
    L layout_;
};

namespace device {

// What is moved: in which dimension elements follow each other, and how many there are in each.
template <int RANK> struct Box {
    long count[RANK], to[RANK], from[RANK];
    long elements;

    // Moves elements of the size of W. The first dimension counts pieces of `width` elements.
    template <class G, class W> NVSHMEMRS_I_DEVICE void move(u64 dest, u64 source, u32 size) const {
        for (long i = G::rank(); i < elements; i += G::size()) {
            long rest = i, write_at = 0, read_at = 0;
            NVSHMEMRS_I_UNROLL
            for (int d = 0; d < RANK; d++) {
                long k = rest % count[d];
                rest /= count[d];
                write_at += k * to[d];
                read_at += k * from[d];
            }
            write<W>(dest + write_at * size, read<W>(source + read_at * size));
        }
    }
};

template <int RANK> NVSHMEMRS_I_DEVICE long room(NoCoordinates, NoCoordinates, int, long extent) { return extent; }
template <int RANK> NVSHMEMRS_I_DEVICE long room(const Numbers<RANK> &start, const Numbers<RANK> &boundary, int d, long extent) {
    long left = boundary.at[d] - start.at[d];
    return left < 0 ? 0 : left < extent ? left : extent;
}

template <class G, class T, int RANK, class C>
NVSHMEMRS_I_LOOP void move_tile(u64 dest, u64 source, const Layout<RANK> &to, const Layout<RANK> &from, C start, C boundary) {
    Box<RANK> box;
    box.elements = 1;
    // Sixteen bytes at once, where each row of neighbours can be aligned on both sides.
    constexpr long WIDTH = 16 / sizeof(T);
    u64 mixed = dest | source;
    int row = -1;
    NVSHMEMRS_I_UNROLL
    for (int d = 0; d < RANK; d++) {
        box.count[d] = room<RANK>(start, boundary, d, from.shape.at[d]);
        box.to[d] = to.stride.at[d];
        box.from[d] = from.stride.at[d];
        box.elements *= box.count[d];
        if (row < 0 && box.to[d] == 1 && box.from[d] == 1 && box.count[d] > 1) row = d;
        else mixed |= (u64)(box.to[d] | box.from[d]) * sizeof(T);
    }
    G::sync();
    bool wide = row >= 0 && mixed % 16 == 0;
    NVSHMEMRS_I_UNROLL
    for (int d = 0; d < RANK; d++)
        if (wide && d == row) {
            wide = box.count[d] % WIDTH == 0;
            if (wide) {
                box.count[d] /= WIDTH;
                box.to[d] = box.from[d] = WIDTH;
                box.elements /= WIDTH;
            }
        }
    if (wide) box.template move<G, Bytes16>(dest, source, sizeof(T));
    else box.template move<G, Word<T>>(dest, source, sizeof(T));
}

// What a tile takes of symmetric memory.
struct Extent {
    // From the tile's first element to the lowest one, in bytes, and bytes from there to the end of the highest one. Strides may be negative.
    long low;
    u64 bytes;
};
template <int RANK, class C> NVSHMEMRS_I_DEVICE Extent extent(const Layout<RANK> &layout, C start, C boundary, u32 size) {
    long low = 0, high = 0;
    NVSHMEMRS_I_UNROLL
    for (int d = 0; d < RANK; d++) {
        long count = room<RANK>(start, boundary, d, layout.shape.at[d]), last = (count - 1) * layout.stride.at[d];
        if (count < 1) return {0, 0};
        if (last < 0) low += last;
        else high += last;
    }
    return {low * (long)size, (u64)(high - low + 1) * size};
}
// Where a tile of symmetric memory begins on a PE.
template <class T, int RANK, class C>
NVSHMEMRS_I_DEVICE u64 tile_on(Given s, u32 operation, i32 pe, T *data, const Layout<RANK> &layout, C start, C boundary) {
    Extent of = extent(layout, start, boundary, sizeof(T));
    return s.on(operation, pe, (const char *)data + of.low, of.bytes, sizeof(T)) - of.low;
}

template <class G, class S, class D, class C> NVSHMEMRS_I_DEVICE int put_tile(Given s, S source, D dest, C start, C boundary, i32 pe, u64 flag) {
    typedef typename D::value_type T;
    static_assert(sizeof(T) == sizeof(typename S::value_type), "tensors of the same type");
    if (flag) return -1;
    u64 to = tile_on(s, PUT_NBI, pe, dest.data(), dest.layout(), start, boundary);
    move_tile<G, T>(to, (u64)source.data(), dest.layout(), source.layout(), start, boundary);
    return 0;
}
template <class G, class S, class D, class C> NVSHMEMRS_I_DEVICE int get_tile(Given s, S source, D dest, C start, C boundary, i32 pe, u64 flag) {
    typedef typename D::value_type T;
    static_assert(sizeof(T) == sizeof(typename S::value_type), "tensors of the same type");
    if (flag) return -1;
    u64 from = tile_on(s, GET_NBI, pe, source.data(), source.layout(), start, boundary);
    move_tile<G, T>((u64)dest.data(), from, dest.layout(), source.layout(), start, boundary);
    return 0;
}

} // namespace device

#define NVSHMEMRS_I_TILES(SUFFIX, GROUP)                                                                                               \
    template <class S, class D, class C = NoCoordinates>                                                                               \
    NVSHMEMRS_I_DEVICE int tile_put##SUFFIX(device::Given state, S source, D dest, C start, C boundary, int pe, unsigned long flag) {  \
        return device::put_tile<device::GROUP>(state, source, dest, start, boundary, pe, flag);                                        \
    }                                                                                                                                  \
    template <class S, class D, class C = NoCoordinates>                                                                               \
    NVSHMEMRS_I_DEVICE int tile_get##SUFFIX(device::Given state, S source, D dest, C start, C boundary, int pe, unsigned long flag) {  \
        return device::get_tile<device::GROUP>(state, source, dest, start, boundary, pe, flag);                                        \
    }
NVSHMEMRS_I_TILES(, Thread)
NVSHMEMRS_I_TILES(_warp, Warp)
NVSHMEMRS_I_TILES(_warpgroup, Warpgroup)
NVSHMEMRS_I_TILES(_block, Block)

} // namespace nvshmemrs

#endif
