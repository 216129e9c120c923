// Tiles whose types a program spells out: NVSHMEM's shapes, strides and layouts with constants, tensors of CuTe, empty coordinates.
#pragma once

#include "tiles.cuh"

// CuTe's types as far as functions of tiles look at them: numbers of the compiler, tuples with a `get` of their own, whose parts may be tuples,
// iterators in place of pointers, and layouts whose members are templates.
namespace standin {
template <auto V> struct C {
    __host__ __device__ constexpr operator decltype(V)() const { return V; }
};
template <class... N> struct tuple;
template <> struct tuple<> {};
template <class First, class... Rest> struct tuple<First, Rest...> {
    First first;
    tuple<Rest...> rest;
};
__host__ __device__ constexpr tuple<> make_tuple() { return {}; }
template <class First, class... Rest> __host__ __device__ constexpr tuple<First, Rest...> make_tuple(First first, Rest... rest) {
    return {first, make_tuple(rest...)};
}
template <unsigned long I, class... N> __host__ __device__ constexpr auto get(const tuple<N...> &from) {
    if constexpr (I == 0) return from.first;
    else return get<I - 1>(from.rest);
}
template <class Shape, class Stride> struct Layout : private tuple<Shape, Stride> {
    __host__ __device__ constexpr Layout(Shape shape, Stride stride) : tuple<Shape, Stride>(make_tuple(shape, stride)) {}
    template <int... I> __host__ __device__ constexpr const Shape &shape() const { return this->first; }
    template <int... I> __host__ __device__ constexpr const Stride &stride() const { return this->rest.first; }
};
template <class T> struct gmem_ptr {
    T *at;
    __host__ __device__ T &operator*() const { return *at; }
};
template <class T, class L> struct Tensor {
    typedef T value_type;
    gmem_ptr<T> at;
    L made;
    __host__ __device__ gmem_ptr<T> data() const { return at; }
    __host__ __device__ const L &layout() const { return made; }
};
template <class T, class L> __host__ __device__ Tensor<T, L> make_tensor(T *at, L layout) { return {{at}, layout}; }
} // namespace standin

struct EmptyCoordinates {};

namespace cutlass {
struct half_t {
    unsigned short bits;
};
} // namespace cutlass
static_assert(nvshmemrs::device::Is<nvshmemrs::device::TileElement<cutlass::half_t, nvshmemrs::device::SUM>::type, nvshmemrs::device::Half>::yes,
              "a sum of CuTe's half_t is that of half");

enum { TYPES_SPELLED, TYPES_OF_CUTE, TYPES_NESTED, TYPES_ONE_NUMBER, TYPES_EMPTY, TYPES_ALL };

// A tile of `rows` x 8 elements, whose rows are 16 elements apart in `source` and 8 in `dest`.
template <class T> __global__ void tile_types(State s, T *dest, T *source, int rows, int what, int pe) {
    using namespace nvshmemrs;
    typedef Tuple<ConstInt<8>, int> Shape;
    typedef Layout<Shape, Tuple<ConstInt<1>, ConstInt<16>>> From;
    typedef Layout<Shape, Tuple<ConstInt<1>, long>> To;
    auto layout = make_layout(make_shape<ConstInt<8>, int>({}, rows), make_stride<ConstInt<1>, long>({}, 8));
    static_assert(device::Is<decltype(layout), To>::yes, "make_layout makes the type that its arguments spell");
    auto [columns, height] = layout.shape();
    Tensor<T, From> from(source, From(Shape{{}, rows}));
    auto to = Tensor(dest, layout);
    switch (what) {
    case TYPES_SPELLED:
        if (columns != get<0>(from.shape()) || height != rows || get<1>(to.stride()) != 8) break;
        TILE(put_block, s, Shape, from, to, (Shape{{}, 0}), (Shape{{}, 0}), pe, 0); // Nothing lies between.
        TILE(put_block, s, decltype(make_shape(0, 0)), from, to, make_shape(0, 0), make_shape(8, rows), pe, 0);
        break;
    case TYPES_OF_CUTE: {
        using namespace standin;
        auto shape = standin::make_tuple(C<8>(), rows);
        auto one = standin::make_tensor(source, standin::Layout(shape, standin::make_tuple(C<1>(), C<16l>())));
        auto two = standin::make_tensor(dest, standin::Layout(shape, standin::make_tuple(C<1>(), 8)));
        auto none = standin::make_tuple(0, 0), all = standin::make_tuple(8, rows);
        TILE(put_block, s, decltype(all), one, two, none, all, pe, 0);
        break;
    }
    case TYPES_NESTED: {
        // Columns of two groups of four.
        using namespace standin;
        auto shape = standin::make_tuple(standin::make_tuple(C<4>(), C<2>()), rows);
        auto one = standin::make_tensor(source, standin::Layout(shape, standin::make_tuple(standin::make_tuple(C<1>(), C<4>()), C<16>())));
        auto two = standin::make_tensor(dest, standin::Layout(shape, standin::make_tuple(standin::make_tuple(C<1>(), C<4>()), C<8>())));
        TILE(put_block, s, NoCoordinates, one, two, {}, {}, pe, 0);
        break;
    }
    case TYPES_ONE_NUMBER:
        for (int row = 0; row < rows; row++) {
            auto one = standin::make_tensor(source + 16 * row, standin::Layout(standin::C<8>(), standin::C<1>()));
            auto two = standin::make_tensor(dest + 8 * row, standin::Layout(8, 1));
            TILE(put_block, s, int, one, two, 0, 8, pe, 0);
        }
        break;
    default:
        TILE(put_block, s, decltype(make_shape()), from, to, make_shape(), make_shape(), pe, 0);
        TILE(put_block, s, EmptyCoordinates, from, to, EmptyCoordinates(), EmptyCoordinates(), pe, 0);
    }
    nvshmemrs_quiet(s);
}

#ifndef __CUDACC_RTC__
// Env: as in tiles.cuh.
template <class T, class Env> void tile_types_all(Env &env, const char *name) {
    auto value = [](int of, long i) { return (T)(i * 7 + of * 31 + 1); };
    const int rows = 9, right = (env.me + 1) % env.n, left = (env.me + env.n - 1) % env.n;
    for (int what = 0; what < TYPES_ALL; what++) {
        std::vector<T> values(Env::ROOM), expected(Env::ROOM, T(119));
        for (long i = 0; i < Env::ROOM; i++) values[i] = value(env.me, i);
        env.write(env.source, values);
        env.write(env.dest, expected);
        env.barrier();
        env.run(tile_types<T>, env.state, env.dest, env.source, rows, what, right);
        env.barrier();
        for (long i = 0; i < rows * 8; i++) expected[i] = value(left, i / 8 * 16 + i % 8);
        if (env.read(env.dest) != expected) env.fail(std::string(name) + ", types " + std::to_string(what));
        env.barrier();
    }
}
#endif
