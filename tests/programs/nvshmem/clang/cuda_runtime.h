// What clang's own headers take of a CUDA toolkit of its age, as far as nvshmem.h needs it.
#define __CUDACC__
#include <__clang_cuda_builtin_vars.h>
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __global__ __attribute__((global))
#define __constant__ __attribute__((constant))
#define __shared__ __attribute__((shared))
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
struct dim3 {
    unsigned x, y, z;
    __host__ __device__ dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
typedef struct CUstream_st *cudaStream_t;
extern "C" __device__ int printf(const char *, ...);
__device__ void __trap();
__device__ void __syncwarp(unsigned = ~0u);
__device__ void __syncthreads();
__device__ int __any_sync(unsigned, int);
__device__ int __syncthreads_or(int);
__device__ long long clock64();
__device__ unsigned __isGlobal(const void *);
__device__ unsigned long __cvta_generic_to_shared(const void *);
enum cudaError_t { cudaSuccess, cudaErrorInvalidSymbol, cudaErrorCudartUnloading, cudaErrorNoKernelImageForDevice };
enum cudaStreamCaptureMode { cudaStreamCaptureModeRelaxed };
enum { cudaStreamNonBlocking, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost };
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaMemcpy(void *, const void *, unsigned long, int);
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode *);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *, unsigned);
cudaError_t cudaStreamSynchronize(cudaStream_t);
cudaError_t cudaStreamDestroy(cudaStream_t);
cudaError_t cudaGetDevice(int *);
cudaError_t cudaSetDevice(int);
cudaError_t cudaGetLastError();
const char *cudaGetErrorString(cudaError_t);
template <class T> cudaError_t cudaGetSymbolAddress(void **, const T &);
cudaError_t cudaMemcpyAsync(void *, const void *, unsigned long, int, cudaStream_t);
extern "C" cudaError_t cudaConfigureCall(dim3, dim3, unsigned long = 0, cudaStream_t = 0);
extern "C" unsigned __cudaPushCallConfiguration(dim3, dim3, unsigned long = 0, cudaStream_t = 0);
