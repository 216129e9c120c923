// Launches of kernels whose blocks wait for each other, for nvcc and for host compilers: all blocks must run at the same time, on every PE.
//
// The header needs only CUDA's runtime. nvshmemrs_device.cuh has the functions for these kernels.
#ifndef NVSHMEMRS_LAUNCH_CUH
#define NVSHMEMRS_LAUNCH_CUH

#ifdef __cplusplus
#include <cuda_runtime.h>
#else
#include <cuda_runtime_api.h>
#endif

// The most blocks of a kernel that the current GPU can run at the same time, with `block_dims` threads each and `shared_bytes` bytes of
// dynamic shared memory; 0 if the GPU cannot run the kernel. PEs that share a GPU share these blocks, too, and need CUDA's MPS to run at the
// same time at all.
//
// Local. Returns a status of CUDA's runtime; `grid_size` is written if that is cudaSuccess. NVSHMEM
// `nvshmemx_collective_launch_query_gridsize`.
static inline int nvshmemrs_collective_launch_query_gridsize(const void *kernel, dim3 block_dims, void **arguments, size_t shared_bytes,
                                                             int *grid_size) {
    (void)arguments;
    if (!kernel || !grid_size) return cudaErrorInvalidValue;
    int device = 0, processors = 0, per_processor = 0;
    cudaError_t status = cudaGetDevice(&device);
    if (status == cudaSuccess) status = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
    if (status == cudaSuccess)
        status = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_processor, kernel, (int)(block_dims.x * block_dims.y * block_dims.z), shared_bytes);
    if (status == cudaSuccess) *grid_size = processors * per_processor;
    return status;
}

// Launches a kernel whose blocks all run at the same time, or returns an error. With `grid_dims` of 0 blocks the kernel gets the number of
// blocks that the query returns. `arguments` are the addresses of the kernel's arguments, in order.
//
// Every PE that takes part calls this function, which does not wait for other PEs. Returns a status of CUDA's runtime:
// cudaErrorCooperativeLaunchTooLarge if there are too many blocks. NVSHMEM `nvshmemx_collective_launch`.
static inline int nvshmemrs_collective_launch(const void *kernel, dim3 grid_dims, dim3 block_dims, void **arguments, size_t shared_bytes,
                                              cudaStream_t stream) {
    if (!kernel) return cudaErrorInvalidValue;
    if ((unsigned long long)grid_dims.x * grid_dims.y * grid_dims.z == 0) {
        int grid_size = 0;
        int status = nvshmemrs_collective_launch_query_gridsize(kernel, block_dims, arguments, shared_bytes, &grid_size);
        if (status != cudaSuccess) return status;
        if (grid_size == 0) return cudaErrorCooperativeLaunchTooLarge;
        grid_dims.x = (unsigned)grid_size;
        grid_dims.y = grid_dims.z = 1;
    }
    return cudaLaunchCooperativeKernel(kernel, grid_dims, block_dims, arguments, shared_bytes, stream);
}

#endif
