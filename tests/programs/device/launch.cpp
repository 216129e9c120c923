// The calls of nvshmemrs_launch.cuh into CUDA's runtime, and how the header passes on their results. The GPU has 10 multiprocessors.
#include <nvshmemrs_launch.cuh>

#include <cstdio>
#include <cstdlib>

static cudaError_t device_answer = cudaSuccess;
static int per_processor = 3, launches = 0;
static dim3 launched(0, 0, 0);

static void same(unsigned long found, unsigned long expected, const char *what) {
    if (found == expected) return;
    fprintf(stderr, "%s is %lu, not %lu\n", what, found, expected);
    exit(1);
}
#define SAME(found, expected) same((unsigned long)(found), (unsigned long)(expected), #found)

static const char kernel = 0;
static void *arguments[1];

cudaError_t cudaGetDevice(int *device) {
    *device = 4;
    return device_answer;
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device) {
    SAME(attribute, cudaDevAttrMultiProcessorCount);
    SAME(device, 4);
    *value = 10;
    return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *which, int threads, size_t shared_bytes) {
    SAME(which, &kernel);
    SAME(threads, 2 * 3 * 4);
    SAME(shared_bytes, 99);
    *blocks = per_processor;
    return cudaSuccess;
}

cudaError_t cudaLaunchCooperativeKernel(const void *which, dim3 grid, dim3 block, void **given, size_t shared_bytes, cudaStream_t stream) {
    SAME(which, &kernel);
    SAME(block.x * 100 + block.y * 10 + block.z, 234);
    SAME(given, arguments);
    SAME(shared_bytes, 99);
    SAME(stream, 0x55);
    launched = grid;
    launches++;
    return grid.x * grid.y * grid.z > 10u * (unsigned)per_processor ? cudaErrorCooperativeLaunchTooLarge : cudaSuccess;
}

int main() {
    cudaStream_t stream = (cudaStream_t)0x55;
    dim3 block(2, 3, 4);
    int blocks = -1;
    SAME(nvshmemrs_collective_launch_query_gridsize(&kernel, block, arguments, 99, &blocks), cudaSuccess);
    SAME(blocks, 30);
    SAME(nvshmemrs_collective_launch(&kernel, dim3(5, 2), block, arguments, 99, stream), cudaSuccess);
    SAME(launched.x * 10 + launched.y, 52);
    // No blocks: as many as there can be.
    SAME(nvshmemrs_collective_launch(&kernel, dim3(0), block, arguments, 99, stream), cudaSuccess);
    SAME(launched.x, 30);
    SAME(nvshmemrs_collective_launch(&kernel, dim3(31), block, arguments, 99, stream), cudaErrorCooperativeLaunchTooLarge);
    SAME(launches, 3);
    // A kernel that does not fit at all, a missing argument, and no GPU: nothing is launched, nothing written.
    per_processor = 0;
    SAME(nvshmemrs_collective_launch(&kernel, dim3(0), block, arguments, 99, stream), cudaErrorCooperativeLaunchTooLarge);
    SAME(nvshmemrs_collective_launch(nullptr, dim3(1), block, arguments, 99, stream), cudaErrorInvalidValue);
    SAME(nvshmemrs_collective_launch_query_gridsize(&kernel, block, arguments, 99, nullptr), cudaErrorInvalidValue);
    device_answer = cudaErrorNoDevice;
    SAME(nvshmemrs_collective_launch_query_gridsize(&kernel, block, arguments, 99, &blocks), cudaErrorNoDevice);
    SAME(nvshmemrs_collective_launch(&kernel, dim3(0), block, arguments, 99, stream), cudaErrorNoDevice);
    SAME(launches, 3);
    SAME(blocks, 30);
    puts("launch ok");
}
