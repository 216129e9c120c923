// Times exchanges of all PEs in kernels: a ring and an all-to-all of put_signal, barriers, and sums by a block. It uses NVSHMEM's names only, so that
// one source measures both libraries: run-gpu-bench --device compiles it against each. PE 0 prints a line of JSON for each case. Results are checked.
#include <nvshmem.h>
#include <nvshmemx.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <unistd.h>
#include <vector>

static const int ROUNDS = 9;
static const size_t MOST = 1 << 20;  // bytes to each PE
static const int THREADS = 1024;     // in a block that puts at least 64 KiB
static const int FEWER = 256;        // in a block of a collective: with more, NVSHMEM's kernels do not run

#define FAIL(...)                                                   \
    do {                                                            \
        fprintf(stderr, "device-exchange: PE %d: ", me);            \
        fprintf(stderr, __VA_ARGS__);                               \
        fprintf(stderr, "\n");                                      \
        exit(1);                                                    \
    } while (0)
#define CUDA(call)                                                                         \
    do {                                                                                   \
        cudaError_t status_ = (call);                                                      \
        if (status_ != cudaSuccess) FAIL("%s: %s", #call, cudaGetErrorString(status_));    \
    } while (0)

static int me, n;
static uint64_t *last_signal;  // one beyond

// A message travels round all PEs `loops` times: each PE forwards it once it has arrived. `signal` is 0 at first.
__global__ void ring(char *data, size_t bytes, uint64_t *signal, int loops) {
    int me = nvshmem_my_pe(), right = (me + 1) % nvshmem_n_pes();
    for (int lap = 1; lap <= loops; lap++) {
        if (me && threadIdx.x == 0) nvshmem_signal_wait_until(signal, NVSHMEM_CMP_GE, lap);
        __syncthreads();
        nvshmemx_putmem_signal_nbi_block(data, data, bytes, signal, lap, NVSHMEM_SIGNAL_SET, right);
        if (!me && threadIdx.x == 0) nvshmem_signal_wait_until(signal, NVSHMEM_CMP_GE, lap);
        __syncthreads();
    }
}

// Block b exchanges with the PEs at distance b + 1: it puts to the right PE of this distance, and waits for the left PE's data.
__global__ void all_to_all(char *dest, const char *source, size_t bytes, uint64_t *signals, int loops) {
    int me = nvshmem_my_pe(), n = nvshmem_n_pes(), distance = blockIdx.x + 1;
    int to = (me + distance) % n, from = (me + n - distance) % n;
    for (int loop = 1; loop <= loops; loop++) {
        nvshmemx_putmem_signal_nbi_block(dest + me * bytes, source + to * bytes, bytes, signals + me, loop, NVSHMEM_SIGNAL_SET, to);
        if (threadIdx.x == 0) nvshmem_signal_wait_until(signals + from, NVSHMEM_CMP_GE, loop);
        __syncthreads();
    }
}

__global__ void barriers(int loops) {
    for (int loop = 0; loop < loops; loop++) nvshmemx_barrier_all_block();
}
__global__ void sums(int64_t *dest, const int64_t *source, size_t count, int loops) {
    for (int loop = 0; loop < loops; loop++) nvshmemx_int64_sum_reduce_block(NVSHMEM_TEAM_WORLD, dest, source, count);
}

static char value(size_t at, int from, int to) { return (char)(at * 31 + from * 7 + to * 13 + 1); }

// Runs a kernel ROUNDS times, and once before; prints microseconds of a loop. `kernel` gets the signals of its round, which are 0.
template <class... P, class Arguments>
static void measure(const char *op, size_t bytes, int loops, void (*kernel)(P...), int blocks, int threads, uint64_t *&signals, Arguments arguments) {
    cudaEvent_t start, stop;
    CUDA(cudaEventCreate(&start));
    CUDA(cudaEventCreate(&stop));
    std::string figures;
    if (signals + (ROUNDS + 1) * n > last_signal) FAIL("%s: the signals are too few", op);
    for (int round = 0; round <= ROUNDS; round++, signals += n) {
        auto given = arguments(signals);
        nvshmem_barrier_all();
        CUDA(cudaEventRecord(start));
        int status = nvshmemx_collective_launch((const void *)kernel, dim3(blocks), dim3(threads), given.data(), 0, 0);
        if (status) FAIL("%s: the launch returned %d", op, status);
        CUDA(cudaEventRecord(stop));
        CUDA(cudaEventSynchronize(stop));
        float milliseconds;
        CUDA(cudaEventElapsedTime(&milliseconds, start, stop));
        if (round > 0) figures += (round > 1 ? "," : "") + std::to_string(milliseconds * 1000.0 / loops);
    }
    CUDA(cudaEventDestroy(start));
    CUDA(cudaEventDestroy(stop));
    if (me == 0) printf("{\"how\": \"device\", \"op\": \"%s\", \"bytes\": %zu, \"us\": [%s]}\n", op, bytes, figures.c_str());
    fflush(stdout);
    nvshmem_barrier_all();
}

static void check(const char *op, const char *device, size_t bytes, size_t whole, int from, int to) {
    std::vector<char> found(whole);
    CUDA(cudaMemcpy(found.data(), device, whole, cudaMemcpyDefault));
    for (size_t i = 0; i < bytes; i++)
        if (found[i] != value(i, from, to)) FAIL("%s of %zu bytes: byte %zu of PE %d's is wrong", op, bytes, i, from);
    for (size_t i = bytes; i < whole; i++)
        if (found[i] != (char)0xee) FAIL("%s of %zu bytes: byte %zu was written", op, bytes, i);
}

// PE 0 writes the id into a file that the others wait for.
static nvshmemx_uniqueid_t agreed_id(const char *file) {
    nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
    std::string unfinished = std::string(file) + ".part";
    if (me == 0) {
        if (nvshmemx_get_uniqueid(&id)) FAIL("nvshmemx_get_uniqueid failed");
        FILE *out = fopen(unfinished.c_str(), "wb");
        if (!out || fwrite(&id, sizeof id, 1, out) != 1 || fclose(out) || rename(unfinished.c_str(), file)) FAIL("cannot write %s", file);
        return id;
    }
    for (int tries = 0; tries < 3000; tries++) {
        if (FILE *in = fopen(file, "rb")) {
            if (fread(&id, sizeof id, 1, in) != 1) FAIL("cannot read %s", file);
            fclose(in);
            return id;
        }
        usleep(10000);
    }
    FAIL("PE 0 has written no %s", file);
}

static const char *variable(const char *name) {
    const char *text = getenv(name);
    if (!text) FAIL("%s is not set: run-gpu-bench --device starts this program", name);
    return text;
}

int main() {
    me = atoi(variable("NVSHMEMRS_PE"));
    n = atoi(variable("NVSHMEMRS_N_PES"));
    CUDA(cudaSetDevice(me));
    nvshmemx_uniqueid_t id = agreed_id(variable("BENCH_UNIQUE_ID"));
    nvshmemx_init_attr_t attr = NVSHMEMX_INIT_ATTR_INITIALIZER;
    nvshmemx_set_attr_uniqueid_args(me, n, &id, &attr);
    if (nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attr)) FAIL("init failed");
    if (nvshmem_my_pe() != me || nvshmem_n_pes() != n) FAIL("init made it PE %d of %d", nvshmem_my_pe(), nvshmem_n_pes());
    size_t whole = n * MOST;
    char *dest = (char *)nvshmem_malloc(whole), *source = (char *)nvshmem_malloc(whole);
    size_t words = 16 * (ROUNDS + 1) * n;  // for at most 16 cases
    uint64_t *signals = (uint64_t *)nvshmem_calloc(words, sizeof(uint64_t));
    last_signal = signals + words;
    if (!dest || !source || !signals) FAIL("nvshmem_malloc returned NULL");

    for (size_t bytes : {(size_t)8, (size_t)1024, (size_t)64 << 10, MOST}) {
        int loops = bytes < 64 << 10 ? 200 : 20, threads = bytes < 64 << 10 ? (int)std::min((bytes / 8 + 31) & ~(size_t)31, (size_t)128) : THREADS;
        std::vector<char> values(whole, (char)0xee);
        for (int to = 0; to < n; to++)
            for (size_t i = 0; i < bytes; i++) values[to * bytes + i] = value(i, me, to);
        CUDA(cudaMemcpy(source, values.data(), whole, cudaMemcpyDefault));
        CUDA(cudaMemset(dest, 0xee, whole));
        CUDA(cudaDeviceSynchronize());
        char *data = source + whole - MOST;  // of the ring: PE 0's reaches all
        std::vector<char> message(MOST, (char)0xee);
        for (size_t i = 0; i < bytes && me == 0; i++) message[i] = value(i, 0, 0);
        measure("all-to-all of put_signal", bytes, loops, all_to_all, n - 1, threads, signals, [&](uint64_t *&signal) {
            return std::vector<void *>{&dest, &source, (void *)&bytes, &signal, &loops};
        });
        for (int from = 0; from < n; from++) check("all-to-all", dest + from * bytes, from == me ? 0 : bytes, bytes, from, me);
        check("all-to-all", dest + n * bytes, 0, whole - n * bytes, 0, 0);
        CUDA(cudaMemcpy(data, message.data(), MOST, cudaMemcpyDefault));
        CUDA(cudaDeviceSynchronize());
        nvshmem_barrier_all();
        measure("ring of put_signal", bytes, loops, ring, 1, threads, signals, [&](uint64_t *&signal) {
            return std::vector<void *>{&data, (void *)&bytes, &signal, &loops};
        });
        check("ring", data, bytes, MOST, 0, 0);
    }
    int loops = 200;
    measure("barrier_all, block", 0, loops, barriers, 1, FEWER, signals, [&](uint64_t *&) { return std::vector<void *>{&loops}; });
    for (size_t count : {(size_t)1, (size_t)1024, (size_t)8192, MOST / 8}) {
        loops = count < 8192 ? 200 : 20;
        std::vector<int64_t> values(MOST / 8 + 1, -1);
        for (size_t i = 0; i < count; i++) values[i] = (int64_t)(i * 7 + me * 1000003);
        CUDA(cudaMemcpy(source, values.data(), values.size() * 8, cudaMemcpyDefault));
        CUDA(cudaMemset(dest, 0xee, values.size() * 8));
        CUDA(cudaDeviceSynchronize());
        measure("int64 sum, block", count * 8, loops, sums, 1, FEWER, signals, [&](uint64_t *&) {
            return std::vector<void *>{&dest, &source, (void *)&count, &loops};
        });
        CUDA(cudaMemcpy(values.data(), dest, values.size() * 8, cudaMemcpyDefault));
        for (size_t i = 0; i < count; i++)
            if (values[i] != (int64_t)(i * 7 * n + (size_t)n * (n - 1) / 2 * 1000003)) FAIL("sum of %zu: element %zu is %lld", count, i, (long long)values[i]);
        if (values[count] != (int64_t)0xeeeeeeeeeeeeeeee) FAIL("sum of %zu: the element behind them was written", count);
    }
    nvshmem_finalize();
    return 0;
}
