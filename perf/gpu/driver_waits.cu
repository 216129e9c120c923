/* When do calls of the CUDA driver wait for kernels that run? Kernels wait for a flag while each call is made; after 0.5 s the flag is set. A
 * call that took longer than 0.2 s has waited for that. Needs no nvshmemrs:
 *
 *   nvcc -O2 -arch=native -o /tmp/driver_waits perf/gpu/driver_waits.cu -lcuda && /tmp/driver_waits */
#include <cuda.h>
#include <cuda_runtime.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

static void check(CUresult code, const char *what)
{
    const char *why = "?";
    if (code == CUDA_SUCCESS)
        return;
    cuGetErrorString(code, &why);
    std::fprintf(stderr, "%s: %s\n", what, why);
    std::exit(1);
}
#define CHECK(call) check(call, #call)

__global__ void wait_for(volatile int *flag)
{
    while (!*flag) {
    }
}
__global__ void store(unsigned long *at, unsigned long value) { *at = value; }

static double now()
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

static volatile int *flag;
static CUdeviceptr flag_for_gpu, word;
static CUfunction waits, stores;
static CUstream stream[4], idle;

/* Makes a call so often, each time with its number, while `held` streams wait. */
static void probe(const std::string &what, int held, int times, const std::function<CUresult(int)> &call)
{
    *flag = 0;
    void *args[] = {&flag_for_gpu};
    for (int i = 0; i < held; i++)
        CHECK(cuLaunchKernel(waits, 1, 1, 1, 1, 1, 1, 0, stream[i], args, nullptr));
    std::thread opener([] {
        std::this_thread::sleep_for(std::chrono::milliseconds(500));
        *flag = 1;
    });
    int first = -1, waited = 0;
    for (int i = 0; i < times; i++) {
        double start = now();
        check(call(i), what.c_str());
        if (now() - start > 0.2) {
            first = waited++ ? first : i;
        }
    }
    opener.join();
    CHECK(cuCtxSynchronize());
    std::printf("%-60s ", what.c_str());
    waited ? std::printf("%d of %d calls waited, number %d first\n", waited, times, first) : std::printf("none of %d calls waited\n", times);
}

static CUresult launch(CUstream where)
{
    unsigned long value = 1;
    void *args[] = {&word, &value};
    return cuLaunchKernel(stores, 1, 1, 1, 1, 1, 1, 0, where, args, nullptr);
}

static CUgraphExec graph_of_a_kernel()
{
    CUgraph graph;
    CUgraphNode node;
    CUgraphExec ready;
    unsigned long value = 1;
    void *args[] = {&word, &value};
    CUDA_KERNEL_NODE_PARAMS params = {};
    params.func = stores;
    params.gridDimX = params.gridDimY = params.gridDimZ = params.blockDimX = params.blockDimY = params.blockDimZ = 1;
    params.kernelParams = args;
    CHECK(cuGraphCreate(&graph, 0));
    CHECK(cuGraphAddKernelNode_v2(&node, graph, nullptr, 0, &params));
    CHECK(cuGraphInstantiateWithFlags(&ready, graph, 0));
    return ready;
}

int main()
{
    static char pages[64 << 10];
    void *host;
    CUdeviceptr there;
    cudaFunction_t found;
    CHECK(cuInit(0));
    CHECK((CUresult)cudaFree(nullptr));
    CHECK((CUresult)cudaGetFuncBySymbol(&found, (const void *)wait_for));
    waits = (CUfunction)found;
    CHECK((CUresult)cudaGetFuncBySymbol(&found, (const void *)store));
    stores = (CUfunction)found;
    CHECK(cuMemHostAlloc(&host, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
    flag = (volatile int *)host;
    CHECK(cuMemHostGetDevicePointer(&flag_for_gpu, host, 0));
    CHECK(cuMemAlloc(&word, 4096));
    CHECK(cuMemAlloc(&there, sizeof pages));
    for (CUstream &one : stream)
        CHECK(cuStreamCreate(&one, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&idle, CU_STREAM_NON_BLOCKING));
    /* Functions are loaded when they are first launched. */
    *flag = 1;
    probe("first launches", 1, 1, [](int) { return launch(idle); });

    probe("kernels behind a kernel that waits", 1, 1100, [](int) { return launch(stream[0]); });
    for (size_t bytes : {4 << 10, 8 << 10, 64 << 10})
        probe("copies of " + std::to_string(bytes >> 10) + " KiB of pageable memory behind it", 1, 600,
              [&](int) { return cuMemcpyAsync(there, (CUdeviceptr)pages, bytes, stream[0]); });
    probe("making a stream", 4, 200, [](int) {
        CUstream made;
        return cuStreamCreate(&made, CU_STREAM_NON_BLOCKING);
    });
    probe("making a graph ready", 4, 100, [](int) { return graph_of_a_kernel() ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN; });
    std::vector<CUgraphExec> ready;
    for (int i = 0; i < 100; i++) {
        ready.push_back(graph_of_a_kernel());
        CHECK(cuGraphUpload(ready[i], idle));
    }
    probe("launching a graph that was uploaded before", 4, 100, [&](int i) { return cuGraphLaunch(ready[i], idle); });
    probe("destroying it", 4, 100, [&](int i) { return cuGraphExecDestroy(ready[i]); });
    std::vector<CUevent> event(1000);
    probe("making an event", 4, 1000, [&](int i) { return cuEventCreate(&event[i], CU_EVENT_DISABLE_TIMING); });
    probe("allocating pinned memory", 4, 100, [](int) {
        void *made;
        return cuMemHostAlloc(&made, 256 << 10, 0);
    });
    void *pinned;
    CHECK(cuMemHostAlloc(&pinned, 1 << 20, 0));
    probe("freeing pinned memory", 4, 1, [&](int) { return cuMemFreeHost(pinned); });
    return 0;
}
