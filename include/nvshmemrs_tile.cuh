// Puts, gets and collectives of tiles in kernels: boxes of up to five dimensions, each side with strides of its own.
//
//     auto layout = nvshmemrs::make_layout(nvshmemrs::make_shape(64, 32), nvshmemrs::make_stride(1, width));
//     nvshmemrs::Tensor<float, decltype(layout)> source(here, layout), dest(symmetric, layout);
//     nvshmemrs::tile_put_block(state, source, dest, nvshmemrs::make_shape(x, y), nvshmemrs::make_shape(width, height), pe, 0);
//
// As NVSHMEM's tile_put and tile_get, with the state before the other arguments. Scopes: none (a thread), `_warp`, `_warpgroup` (128 threads
// that begin at a multiple of 128 in the block) and `_block`; all threads of the group call with equal arguments. They are nbi: quiet completes
// them, and the group's threads meet before the call, not after it.
//
// A tensor may be of any type that has `value_type`, `data()` and `layout()`, whose `shape()` and `stride()` are tuples of numbers, such as
// cute::Tensor. A mode of CuTe's that has parts counts as so many dimensions; both tensors have the same parts.
//
// `start` holds the coordinates of the tile's first element; elements whose coordinates are not below `boundary` are not moved. `{}` for both:
// all elements are moved. Tensors have the same shape. Returns 0, or -1 if `flag` is not 0: other values are reserved.
//
// Collectives of tiles, in the same scopes; all are nbi, and `slot` is that of other collectives in kernels:
//
//     tile_sum_reduce(state, team, source, dest, start, boundary, flag, slot = 0): each member's `dest` gets the sum; also max and min.
//     tile_sum_rooted_reduce(state, team, source, dest, start, boundary, root, flag, slot = 0): only that of member `root`.
//     tile_allgather(state, team, source, dest, start, boundary, flag, slot = 0): the tile goes to this member's place in `dest` of all members.
//     tile_broadcast(state, team, source, dest, start, boundary, flag, slot = 0): the caller's tile goes to `dest` of all members.
//
// A group of each member calls a reduction, and waits for the groups of the other members before it. `source` is symmetric, does not overlap
// `dest`, and may be written again after the team's next barrier; the fold is that of other reductions. A group of one member calls
// tile_broadcast, of each member tile_allgather, with a symmetric `dest`: members do not wait for each other, and a barrier of the team
// completes both. In tile_allgather tensors have one or two dimensions, and `dest` as many elements as all tiles together. The members'
// places follow each other along the dimension in which elements are neighbours, then along the other dimension. Returns 0, or -1: flag is not 0, no such team or slot, the shapes do not fit, the job is broken.
#ifndef NVSHMEMRS_TILE_CUH
#define NVSHMEMRS_TILE_CUH

#include "nvshmemrs_device.cuh"

// Elements of CuTe's tensors.
namespace cutlass {
struct half_t;
struct bfloat16_t;
} // namespace cutlass

namespace nvshmemrs {

// A number that is known at compile time.
template <int N> struct ConstInt {
    typedef int value_type;
    static constexpr int value = N;
    __host__ __device__ constexpr operator int() const { return N; }
};

// A shape, strides in elements, or coordinates: a number for each dimension. A program takes it apart by get<0>(tuple) or `auto [x, y] = tuple`.
template <class... N> struct Tuple { static_assert(sizeof...(N) == 0, "a tile has one to five dimensions"); };
template <class A> struct Tuple<A> { A a; };
template <class A, class B> struct Tuple<A, B> { A a; B b; };
template <class A, class B, class C> struct Tuple<A, B, C> { A a; B b; C c; };
template <class A, class B, class C, class D> struct Tuple<A, B, C, D> { A a; B b; C c; D d; };
template <class A, class B, class C, class D, class E> struct Tuple<A, B, C, D, E> { A a; B b; C c; D d; E e; };

template <int I, class... N> __host__ __device__ constexpr auto get(const Tuple<N...> &tuple) {
    static_assert(I >= 0 && I < (int)sizeof...(N), "a dimension of the tuple");
    if constexpr (I == 0) return tuple.a;
    else if constexpr (I == 1) return tuple.b;
    else if constexpr (I == 2) return tuple.c;
    else if constexpr (I == 3) return tuple.d;
    else return tuple.e;
}

// The same with numbers that are known at run time, in an array.
template <int RANK> struct Numbers {
    long at[RANK];
};
// No coordinates.
struct NoCoordinates {};

// The host can also make values of all tensor types, and pass them to kernels.
template <class... N> __host__ __device__ constexpr Tuple<N...> make_shape(N... each) { return {each...}; }
template <class... N> __host__ __device__ constexpr Tuple<N...> make_stride(N... each) { return {each...}; }

template <class Shape, class Stride> class Layout {
  public:
    __host__ __device__ constexpr Layout(const Shape &shape = {}, const Stride &stride = {}) : shape_(shape), stride_(stride) {}
    __host__ __device__ constexpr Shape shape() const { return shape_; }
    __host__ __device__ constexpr Stride stride() const { return stride_; }

  private:
    Shape shape_;
    Stride stride_;
};
template <class Shape, class Stride> __host__ __device__ constexpr Layout<Shape, Stride> make_layout(const Shape &shape, const Stride &stride) {
    return {shape, stride};
}

// Functions of tiles take any type with these members, such as cute::Tensor.
template <class T, class L> class Tensor {
  public:
    typedef T value_type;
    typedef L layout_type;
    __host__ __device__ constexpr Tensor(T *data, L layout) : data_(data), layout_(layout) {}
    __host__ __device__ constexpr T *data() const { return data_; }
    __host__ __device__ constexpr const L &layout() const { return layout_; }
    __host__ __device__ constexpr auto shape() const { return layout_.shape(); }
    __host__ __device__ constexpr auto stride() const { return layout_.stride(); }

  private:
    T *data_;
    L layout_;
};

namespace device {

// A value of a type, for expressions that are not evaluated.
template <class T> __host__ __device__ const T &value_of();
// The numbers of a shape, of strides or of coordinates: `count` of them, which `put` stores one after the other. The type is a tuple of this
// header, of CuTe or of a standard library, whose parts may be tuples; or a number; or it is empty and has none.
template <class T, class = void> struct Parts {
    static_assert(__is_empty(T), "a shape, strides or coordinates: a tuple of numbers");
    static constexpr int count = 0;
    NVSHMEMRS_I_DEVICE static void put(long *, const T &) {}
};
template <class T> struct Parts<T, decltype((void)(long)value_of<T>())> {
    static constexpr int count = 1;
    NVSHMEMRS_I_DEVICE static void put(long *to, const T &from) { *to = (long)from; }
};
template <int RANK> struct Parts<Numbers<RANK>, void> {
    static constexpr int count = RANK;
    NVSHMEMRS_I_DEVICE static void put(long *to, const Numbers<RANK> &from) {
        NVSHMEMRS_I_UNROLL
        for (int d = 0; d < RANK; d++) to[d] = from.at[d];
    }
};
template <template <class...> class TUPLE, class... N> struct Parts<TUPLE<N...>, void> {
    static constexpr int count = (0 + ... + Parts<N>::count);
    template <int I = 0> NVSHMEMRS_I_DEVICE static void put(long *to, const TUPLE<N...> &from) {
        if constexpr (I < (int)sizeof...(N)) {
            // The tuple's own namespace has the others.
            using nvshmemrs::get;
            auto part = get<I>(from);
            Parts<decltype(part)>::put(to, part);
            put<I + 1>(to + Parts<decltype(part)>::count, from);
        }
    }
};
template <int RANK, class T> NVSHMEMRS_I_DEVICE Numbers<RANK> numbers(const T &from) {
    static_assert(Parts<T>::count == RANK, "as many strides and coordinates as the tile has dimensions");
    Numbers<RANK> all;
    Parts<T>::put(all.at, from);
    return all;
}

// A tile as the functions below take it.
template <class T, int RANK> struct Tile {
    static_assert(RANK >= 1 && RANK <= 5, "a tile has one to five dimensions");
    typedef T value_type;
    T *data;
    Numbers<RANK> shape, stride;
};
template <class T> __host__ __device__ constexpr Parts<T> parts_of(const T &) { return {}; }
template <class TENSOR> constexpr int rank_of = decltype(parts_of(value_of<TENSOR>().layout().shape()))::count;
template <class TENSOR> NVSHMEMRS_I_DEVICE auto tile_of(TENSOR &tensor) {
    auto layout = tensor.layout();
    constexpr int RANK = rank_of<TENSOR>;
    typedef typename TENSOR::value_type T;
    // Of a tensor of CuTe, data() is an iterator.
    return Tile<T, RANK>{(T *)&*tensor.data(), numbers<RANK>(layout.shape()), numbers<RANK>(layout.stride())};
}
// Coordinates, or none.
template <int RANK, class C> NVSHMEMRS_I_DEVICE auto coordinates(const C &from) {
    if constexpr (Parts<C>::count == 0) return NoCoordinates();
    else return numbers<RANK>(from);
}

// The box of elements to move: the dimension in which elements are neighbours, and the number of elements in each dimension.
template <int RANK> struct Box {
    long count[RANK], to[RANK], from[RANK];
    long elements;

    // The places where piece i is written and read, in elements.
    NVSHMEMRS_I_DEVICE void place(long i, long &write_at, long &read_at) const {
        write_at = read_at = 0;
        NVSHMEMRS_I_UNROLL
        for (int d = 0; d < RANK; d++) {
            long k = i % count[d];
            i /= count[d];
            write_at += k * to[d];
            read_at += k * from[d];
        }
    }

    // Moves elements of the size of W. The first dimension counts pieces of `width` elements.
    template <class G, class W> NVSHMEMRS_I_DEVICE void move(u64 dest, u64 source, u32 size) const {
        for (long i = G::rank(); i < elements; i += G::size()) {
            long write_at, read_at;
            place(i, write_at, read_at);
            write<W>(dest + write_at * size, read<W>(source + read_at * size));
        }
    }
};

NVSHMEMRS_I_DEVICE long room(NoCoordinates, NoCoordinates, int, long extent) { return extent; }
template <int RANK> NVSHMEMRS_I_DEVICE long room(const Numbers<RANK> &start, const Numbers<RANK> &boundary, int d, long extent) {
    long left = boundary.at[d] - start.at[d];
    return left < 0 ? 0 : left < extent ? left : extent;
}

// Makes the box of a tile at `dest` and `source`; whether its pieces have sixteen bytes.
template <class T, class S, int RANK, class C>
NVSHMEMRS_I_DEVICE bool box_of(Box<RANK> &box, u64 dest, u64 source, const Tile<T, RANK> &to, const Tile<S, RANK> &from, C start, C boundary) {
    box.elements = 1;
    // Sixteen bytes at once, if each row of neighbours can be aligned on both sides.
    constexpr long WIDTH = 16 / sizeof(T);
    u64 mixed = dest | source;
    int row = -1;
    NVSHMEMRS_I_UNROLL
    for (int d = 0; d < RANK; d++) {
        box.count[d] = room(start, boundary, d, from.shape.at[d]);
        box.to[d] = to.stride.at[d];
        box.from[d] = from.stride.at[d];
        box.elements *= box.count[d];
        if (row < 0 && box.to[d] == 1 && box.from[d] == 1 && box.count[d] > 1) row = d;
        else mixed |= (u64)(box.to[d] | box.from[d]) * sizeof(T);
    }
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
    return wide;
}

template <class G, class T, class S, int RANK, class C>
NVSHMEMRS_I_LOOP void move_tile(u64 dest, u64 source, const Tile<T, RANK> &to, const Tile<S, RANK> &from, C start, C boundary) {
    static_assert(sizeof(T) == sizeof(S), "tensors of the same type");
    Box<RANK> box;
    bool wide = box_of(box, dest, source, to, from, start, boundary);
    G::sync();
    if (wide) box.template move<G, Bytes16>(dest, source, sizeof(T));
    else box.template move<G, Word<T>>(dest, source, sizeof(T));
}

// The extent of a tile in symmetric memory.
struct Extent {
    // From the tile's first element to the lowest one, in bytes, and bytes from there to the end of the highest one. Strides may be negative.
    long low;
    u64 bytes;
};
template <int RANK, class C>
NVSHMEMRS_I_DEVICE Extent extent(const Numbers<RANK> &shape, const Numbers<RANK> &stride, C start, C boundary, u32 size) {
    long low = 0, high = 0;
    NVSHMEMRS_I_UNROLL
    for (int d = 0; d < RANK; d++) {
        long count = room(start, boundary, d, shape.at[d]), last = (count - 1) * stride.at[d];
        if (count < 1) return {0, 0};
        if (last < 0) low += last;
        else high += last;
    }
    return {low * (long)size, (u64)(high - low + 1) * size};
}
// The address of a tile of symmetric memory on a PE. The tile has as many elements as `shape`.
template <class T, int RANK, class C>
NVSHMEMRS_I_DEVICE u64 tile_on(Given s, u32 operation, i32 pe, const Tile<T, RANK> &tile, const Numbers<RANK> &shape, C start, C boundary) {
    s.refuse_watched(operation);
    Extent of = extent(shape, tile.stride, start, boundary, sizeof(T));
    return s.on(operation, pe, (const char *)tile.data + of.low, of.bytes, sizeof(T)) - of.low;
}

template <class G, class S, class D, int RANK, class C>
NVSHMEMRS_I_DEVICE int put_tile(Given s, Tile<S, RANK> source, Tile<D, RANK> dest, C start, C boundary, i32 pe, u64 flag) {
    if (flag) return -1;
    u64 to = tile_on(s, PUT_NBI, pe, dest, source.shape, start, boundary);
    move_tile<G>(to, (u64)source.data, dest, source, start, boundary);
    return 0;
}
template <class G, class S, class D, int RANK, class C>
NVSHMEMRS_I_DEVICE int get_tile(Given s, Tile<S, RANK> source, Tile<D, RANK> dest, C start, C boundary, i32 pe, u64 flag) {
    if (flag) return -1;
    u64 from = tile_on(s, GET_NBI, pe, source, source.shape, start, boundary);
    move_tile<G>((u64)dest.data, from, dest, source, start, boundary);
    return 0;
}

// ---- Collectives of tiles. ----

// The fold of elements of a type.
template <class T, u32 OP> struct TileElement { typedef Number<T, OP> type; };
template <u32 OP> struct TileElement<__half, OP> { typedef Half type; };
template <u32 OP> struct TileElement<__nv_bfloat16, OP> { typedef Bfloat16 type; };
template <u32 OP> struct TileElement<cutlass::half_t, OP> { typedef Half type; };
template <u32 OP> struct TileElement<cutlass::bfloat16_t, OP> { typedef Bfloat16 type; };

// The members that fold and receive a result. EACH: every member, for itself. ROOT: only the root. FROM_ROOT: the root folds for all members.
enum TileTo { EACH, ROOT, FROM_ROOT };

// Folds pieces of COUNT elements over all members.
template <class G, class E, u32 OP, int COUNT, int RANK>
NVSHMEMRS_I_DEVICE void fold_box(const Call<G> &call, const Box<RANK> &box, void *dest, const void *source, bool to_all) {
    typedef Pack<E, COUNT> P;
    for (long i = G::rank(); i < box.elements; i += G::size()) {
        long write_at, read_at;
        box.place(i, write_at, read_at);
        typename Wide<E>::type values[COUNT];
        for (i32 m = 0; m < call.n; m++) {
            P pack = device::bits<P>(read<Word<P>>(call.on(m, source) + read_at * sizeof(E)));
            NVSHMEMRS_I_UNROLL
            for (int e = 0; e < COUNT; e++) {
                typename Wide<E>::type value = Wide<E>::widen(pack.elements[e]);
                values[e] = m == 0 ? value : Fold<OP>::fold(values[e], value);
            }
        }
        P pack;
        NVSHMEMRS_I_UNROLL
        for (int e = 0; e < COUNT; e++) pack.elements[e] = Wide<E>::narrow(values[e]);
        for (i32 m = 0; m < (to_all ? call.n : 1); m++)
            write<Word<P>>((to_all ? call.on(m, dest) : (u64)dest) + write_at * sizeof(E), device::bits<Word<P>>(pack));
    }
}

template <class G, u32 OP, class S, class D, int RANK, class C>
NVSHMEMRS_I_LOOP int reduce_tile(Given s, u64 team, Tile<S, RANK> source, Tile<D, RANK> dest, C start, C boundary, TileTo how, i32 root,
                                 u64 flag, u32 slot) {
    typedef typename TileElement<D, OP>::type E;
    static_assert(sizeof(D) == sizeof(S), "tensors of the same type");
    if (flag) return -1;
    s.refuse_watched(REDUCE);
    Call<G> call(s, REDUCE, team, slot);
    if (!call.good()) return -1;
    s.check_argument(how == EACH || (root >= 0 && root < call.n), REDUCE, root);
    // The source determines the number of elements that are written.
    Extent reads = extent(source.shape, source.stride, start, boundary, sizeof(S)), writes = extent(source.shape, dest.stride, start, boundary, sizeof(D));
    call.check(REDUCE, (const char *)source.data + reads.low, reads.bytes, sizeof(S));
    if (how == FROM_ROOT) call.check(REDUCE, (const char *)dest.data + writes.low, writes.bytes, sizeof(D));
    if (!call.meet()) return -1;
    if (how != EACH && call.me != root) return 0;
    Box<RANK> box;
    bool wide = box_of(box, (u64)dest.data, (u64)source.data, dest, source, start, boundary);
    if (wide) fold_box<G, E, OP, 16 / sizeof(E)>(call, box, dest.data, source.data, how == FROM_ROOT);
    else fold_box<G, E, OP, 1>(call, box, dest.data, source.data, how == FROM_ROOT);
    return 0;
}

// The caller's tile goes to `dest`, which may be a part of a tensor, on all members.
template <class G, class S, class D, int RANK, class C>
NVSHMEMRS_I_DEVICE void push_tile(const Call<G> &call, u32 operation, const Tile<S, RANK> &source, D *dest, const Tile<D, RANK> &to, C start, C boundary) {
    Extent writes = extent(source.shape, to.stride, start, boundary, sizeof(D));
    call.check(operation, (const char *)dest + writes.low, writes.bytes, sizeof(D));
    // Each member begins with itself, so that members write to different PEs at a time.
    for (i32 k = 0; k < call.n; k++) {
        i32 m = call.me + k < call.n ? call.me + k : call.me + k - call.n;
        move_tile<G>(call.on(m, dest), (u64)source.data, to, source, start, boundary);
    }
}

template <class G, class S, class D, int RANK, class C>
NVSHMEMRS_I_DEVICE int broadcast_tile(Given s, u64 team, Tile<S, RANK> source, Tile<D, RANK> dest, C start, C boundary, u64 flag, u32 slot) {
    if (flag) return -1;
    s.refuse_watched(BROADCAST);
    Call<G> call(s, BROADCAST, team, slot);
    if (!call.good()) return -1;
    push_tile(call, BROADCAST, source, dest.data, dest, start, boundary);
    return 0;
}

template <class G, class S, class D, int RANK, class C>
NVSHMEMRS_I_DEVICE int gather_tile(Given s, u64 team, Tile<S, RANK> from, Tile<D, RANK> to, C start, C boundary, u64 flag, u32 slot) {
    static_assert(RANK <= 2, "tile_allgather takes one or two dimensions");
    if (flag) return -1;
    s.refuse_watched(FCOLLECT);
    Call<G> call(s, FCOLLECT, team, slot);
    if (!call.good()) return -1;
    constexpr int LAST = RANK - 1;
    // The dimension of neighbours, and the other one.
    const int major = from.stride.at[0] == 1 && to.stride.at[0] == 1 ? 0 : from.stride.at[LAST] == 1 && to.stride.at[LAST] == 1 ? LAST : 0;
    const int minor = LAST - major;
    const long length = from.shape.at[major], room = to.shape.at[major];
    long rows = LAST ? from.shape.at[minor] : 1, all_rows = LAST ? to.shape.at[minor] : 1;
    if (length < 1 || rows < 1 || room % length || all_rows % rows || room * all_rows != length * rows * call.n) return -1;
    long place = call.me * length, at = place % room * to.stride.at[major];
    if (LAST) at += place / room * rows * to.stride.at[minor];
    push_tile(call, FCOLLECT, from, to.data + at, to, start, boundary);
    return 0;
}

// Converts tensors and coordinates, as callers pass them, to the arguments of the functions above.
#define NVSHMEMRS_I_TILE_ARGUMENTS                                                                    \
    nvshmemrs::device::tile_of(source), nvshmemrs::device::tile_of(dest),                             \
        nvshmemrs::device::coordinates<nvshmemrs::device::rank_of<S>>(start),                         \
        nvshmemrs::device::coordinates<nvshmemrs::device::rank_of<S>>(boundary)

} // namespace device

#define NVSHMEMRS_I_TILE_REDUCES(OP, NUMBER, SUFFIX, GROUP)                                                                            \
    template <class S, class D, class C = NoCoordinates>                                                                               \
    NVSHMEMRS_I_DEVICE int tile_##OP##_reduce##SUFFIX(device::Given state, nvshmemrs_team_t team, S source, D dest, C start,           \
                                                      C boundary, unsigned long flag, unsigned slot = 0) {                             \
        return device::reduce_tile<device::GROUP, device::NUMBER>(state, team, NVSHMEMRS_I_TILE_ARGUMENTS, device::EACH, 0, flag, slot); \
    }                                                                                                                                  \
    template <class S, class D, class C = NoCoordinates>                                                                               \
    NVSHMEMRS_I_DEVICE int tile_##OP##_rooted_reduce##SUFFIX(device::Given state, nvshmemrs_team_t team, S source, D dest, C start,    \
                                                             C boundary, int root, unsigned long flag, unsigned slot = 0) {            \
        return device::reduce_tile<device::GROUP, device::NUMBER>(state, team, NVSHMEMRS_I_TILE_ARGUMENTS, device::ROOT, root, flag, slot); \
    }
#define NVSHMEMRS_I_TILE_COLLECTIVES(SUFFIX, GROUP)                                                                                    \
    NVSHMEMRS_I_TILE_REDUCES(sum, SUM, SUFFIX, GROUP)                                                                                  \
    NVSHMEMRS_I_TILE_REDUCES(max, MAX, SUFFIX, GROUP)                                                                                  \
    NVSHMEMRS_I_TILE_REDUCES(min, MIN, SUFFIX, GROUP)                                                                                  \
    template <class S, class D, class C = NoCoordinates>                                                                               \
    NVSHMEMRS_I_DEVICE int tile_broadcast##SUFFIX(device::Given state, nvshmemrs_team_t team, S source, D dest, C start, C boundary,   \
                                                  unsigned long flag, unsigned slot = 0) {                                             \
        return device::broadcast_tile<device::GROUP>(state, team, NVSHMEMRS_I_TILE_ARGUMENTS, flag, slot);                          \
    }                                                                                                                                  \
    template <class S, class D, class C = NoCoordinates>                                                                               \
    NVSHMEMRS_I_DEVICE int tile_allgather##SUFFIX(device::Given state, nvshmemrs_team_t team, S source, D dest, C start, C boundary,   \
                                                  unsigned long flag, unsigned slot = 0) {                                             \
        return device::gather_tile<device::GROUP>(state, team, NVSHMEMRS_I_TILE_ARGUMENTS, flag, slot);                             \
    }
NVSHMEMRS_I_TILE_COLLECTIVES(, Thread)
NVSHMEMRS_I_TILE_COLLECTIVES(_warp, Warp)
NVSHMEMRS_I_TILE_COLLECTIVES(_warpgroup, Warpgroup)
NVSHMEMRS_I_TILE_COLLECTIVES(_block, Block)
#undef NVSHMEMRS_I_TILE_REDUCES
#undef NVSHMEMRS_I_TILE_COLLECTIVES

#define NVSHMEMRS_I_TILES(SUFFIX, GROUP)                                                                                               \
    template <class S, class D, class C = NoCoordinates>                                                                               \
    NVSHMEMRS_I_DEVICE int tile_put##SUFFIX(device::Given state, S source, D dest, C start, C boundary, int pe, unsigned long flag) {  \
        return device::put_tile<device::GROUP>(state, NVSHMEMRS_I_TILE_ARGUMENTS, pe, flag);                                        \
    }                                                                                                                                  \
    template <class S, class D, class C = NoCoordinates>                                                                               \
    NVSHMEMRS_I_DEVICE int tile_get##SUFFIX(device::Given state, S source, D dest, C start, C boundary, int pe, unsigned long flag) {  \
        return device::get_tile<device::GROUP>(state, NVSHMEMRS_I_TILE_ARGUMENTS, pe, flag);                                        \
    }
NVSHMEMRS_I_TILES(, Thread)
NVSHMEMRS_I_TILES(_warp, Warp)
NVSHMEMRS_I_TILES(_warpgroup, Warpgroup)
NVSHMEMRS_I_TILES(_block, Block)

} // namespace nvshmemrs

#endif
