// Tensors of CUTLASS's CuTe, and NVSHMEM's own types spelled out as torch and others spell them, as tiles.
#include <cute/tensor.hpp>
#include <nvshmem.h>
#include <nvshmemx.h>

using Shape2D = nvshmemx::shape<int64_t, int64_t>;
using Stride2D = nvshmemx::stride<int64_t, int64_t>;
constexpr auto PULL = nvshmemx::tile_coll_algo_t::NVLS_ONE_SHOT_PULL_NBI;

// A part of the rows of a matrix, without coordinates.
template <class T> __global__ void rows_of_a_block(T *source, T *dest, Shape2D shape, Stride2D strides, int64_t root, nvshmem_team_t *teams) {
    auto [rows, columns] = shape;
    auto [stride0, stride1] = strides;
    auto each = (rows + gridDim.x - 1) / gridDim.x, first = each * blockIdx.x;
    auto layout = nvshmemx::make_layout(nvshmemx::make_shape(cute::min(each, rows - first), columns), strides);
    auto from = nvshmemx::Tensor(source + stride0 * first, layout), to = nvshmemx::Tensor(dest + stride0 * first, layout);
    auto none = nvshmemx::make_shape();
    nvshmemx::tile_sum_reduce_block<decltype(from), decltype(to), decltype(none), PULL>(teams[blockIdx.x], from, to, none, none, root, 0);
    nvshmemx::tile_collective_wait_block<PULL>(teams[blockIdx.x], 0);
}
template __global__ void rows_of_a_block<float>(float *, float *, Shape2D, Stride2D, int64_t, nvshmem_team_t *);

// Sizes that the compiler knows, and an empty structure in place of coordinates.
struct None {};
template <int COLUMNS, int PITCH> __global__ void constants(__nv_bfloat16 *source, __nv_bfloat16 *dest, int rows, nvshmem_team_t team) {
    auto shape = nvshmemx::make_shape<ConstInt<COLUMNS>, int>(ConstInt<COLUMNS>{}, rows);
    auto stride = nvshmemx::make_stride<ConstInt<1>, ConstInt<PITCH>>(ConstInt<1>{}, ConstInt<PITCH>{});
    typedef nvshmemx::Layout<decltype(shape), decltype(stride)> Layout;
    nvshmemx::Tensor<__nv_bfloat16, Layout> from(source, Layout(shape, stride)), to(dest, nvshmemx::make_layout(shape, stride));
    nvshmemx::tile_sum_reduce_block<decltype(from), decltype(to), None, PULL>(team, from, to, None{}, None{}, 0);
}
template __global__ void constants<64, 4096>(__nv_bfloat16 *, __nv_bfloat16 *, int, nvshmem_team_t);

// A tile of a matrix of CuTe's, up to the end of the matrix.
template <class T> __global__ void tile_of_a_matrix(T *source, T *dest, int m, int n, nvshmem_team_t team, int pe) {
    using namespace cute;
    auto tiler = make_shape(Int<64>{}, Int<32>{});
    auto from = local_tile(make_tensor(make_gmem_ptr(source), make_shape(m, n), make_stride(Int<1>{}, m)), tiler, make_coord(blockIdx.x, blockIdx.y));
    auto to = local_tile(make_tensor(make_gmem_ptr(dest), make_shape(m, n), make_stride(Int<1>{}, m)), tiler, make_coord(blockIdx.x, blockIdx.y));
    auto start = make_coord(int(blockIdx.x) * 64, int(blockIdx.y) * 32), end = make_coord(m, n);
    nvshmemx::tile_put_block<decltype(from), decltype(to), decltype(end), nvshmemx::tile_algo_t::PEER_PUSH_NBI>(from, to, start, end, pe, 0);
    nvshmemx::tile_sum_reduce_block<decltype(from), decltype(to), decltype(end), PULL>(team, from, to, start, end, 0);
    // A layout with parts of parts.
    auto split = logical_divide(from, make_shape(Int<8>{}, Int<4>{})), other = logical_divide(to, make_shape(Int<8>{}, Int<4>{}));
    nvshmemx::tile_put_block<decltype(split), decltype(other), None, nvshmemx::tile_algo_t::PEER_PUSH_NBI>(split, other, None{}, None{}, pe, 0);
}
template __global__ void tile_of_a_matrix<cute::half_t>(cute::half_t *, cute::half_t *, int, int, nvshmem_team_t, int);
template __global__ void tile_of_a_matrix<float>(float *, float *, int, int, nvshmem_team_t, int);
