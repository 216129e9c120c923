// What clang's own headers take of a CUDA toolkit of its age, as far as nvshmem.h needs it. What kernels call is written in PTX: names of
// LLVM's intrinsics change.
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
#define __I_DEVICE static inline __device__ __attribute__((always_inline, unused))
__I_DEVICE void __trap() { asm volatile("trap;"); }
__I_DEVICE void __syncwarp(unsigned mask = ~0u) { asm volatile("bar.warp.sync %0;" ::"r"(mask) : "memory"); }
// clang knows it.
__device__ void __syncthreads();
__I_DEVICE int __any_sync(unsigned mask, int vote) {
    int result;
    asm volatile("{ .reg .pred p, q; setp.ne.s32 p, %2, 0; vote.sync.any.pred q, p, %1; selp.s32 %0, 1, 0, q; }"
                 : "=r"(result)
                 : "r"(mask), "r"(vote)
                 : "memory");
    return result;
}
__I_DEVICE int __syncthreads_or(int vote) {
    int result;
    asm volatile("{ .reg .pred p, q; setp.ne.s32 p, %1, 0; bar.red.or.pred q, 0, p; selp.s32 %0, 1, 0, q; }"
                 : "=r"(result)
                 : "r"(vote)
                 : "memory");
    return result;
}
__I_DEVICE long long clock64() {
    long long result;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(result)::"memory");
    return result;
}
__I_DEVICE unsigned __isGlobal(const void *at) {
    unsigned result;
    asm("{ .reg .pred p; isspacep.global p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(result) : "l"(at));
    return result;
}
__I_DEVICE unsigned long __cvta_generic_to_shared(const void *at) {
    unsigned long result;
    asm("cvta.to.shared.u64 %0, %1;" : "=l"(result) : "l"(at));
    return result;
}
struct alignas(16) double2 {
    double x, y;
};
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
