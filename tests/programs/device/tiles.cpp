// Tiles and functions for queue pairs on the host's shim, with some PEs.
#include "job.hpp"

#ifndef NVSHMEM_NAMES
struct __half {
    unsigned short __x;
};
#endif
// As in cuda_fp16.h.
static float __half2float(__half value) { return nvshmemrs::device::half_to_float(nvshmemrs::device::bits<unsigned short>(value)); }
static __half __float2half(float value) { return nvshmemrs::device::bits<__half>(nvshmemrs::device::float_to_half(value)); }
#include "tile_types.cuh"

static Pe pe;

template <class T> struct Env {
    static const long ROOM = 2048;
    T *dest = pe.array<T>(ROOM), *source = pe.array<T>(ROOM);
    int me = pe.me, n = pe.n;
    State state = pe.state;
    int runs = 0;

    void write(T *to, const std::vector<T> &values) { memcpy(to, values.data(), ROOM * sizeof(T)); }
    std::vector<T> read(const T *from) { return std::vector<T>(from, from + ROOM); }
    void barrier() { pe.barrier(); }
    [[noreturn]] void fail(const std::string &what) { ::fail(what.c_str()); }
    template <class K, class... A> void run(K kernel, A... arguments) {
        nvshmemrs::host::launch(1, 256, [&] { kernel(arguments...); }, ++runs % 4 ? nvshmemrs::host::Options() : nvshmemrs::host::weak(state, runs));
    }
};

template <class T> static void all(const char *name) {
    Env<T> env;
    tiles<T>(env, name);
    tile_types_all<T>(env, name);
}

template <class T> static void together(const char *name) {
    Env<T> env;
    tiles_together_all<T>(env, name);
}

int main() {
    pe = start();
    together<unsigned char>("bytes");
    together<short>("short");
    together<float>("float");
    together<__half>("half");
    all<unsigned char>("bytes");
    all<short>("short");
    all<float>("float");
    all<double>("double");
    long *dest = pe.array<long>(20), *source = pe.array<long>(20);
    unsigned long *signal = pe.array<unsigned long>(1);
    memset(dest, 0, 20 * sizeof(long));
    *signal = 0;
    for (int i = 0; i < 20; i++) source[i] = pe.me * 100 + i;
    pe.barrier();
    nvshmemrs::host::launch(1, 64, [&] { by_queue_pair(pe.state, dest, source, signal, pe.right()); });
    pe.barrier();
    int left = (pe.me + pe.n - 1) % pe.n;
    for (int i = 0; i < 9; i++) {
        if (dest[i] != left * 100 + i) fail("a put by a queue pair");
        if (dest[10 + i] != pe.me * 100 + i) fail("a get by a queue pair");
    }
    if (dest[9] != 0 || dest[19] != pe.right() * 100 || signal[0] != 4) fail("what lies beside it");
    unsigned long *counts = pe.array<unsigned long>(2);
    int failures = 0;
    counts[0] = counts[1] = 0;
    pe.barrier();
    nvshmemrs::host::launch(1, 256, [&] { by_warpgroups(pe.state, counts, 20, &failures); });
    if (failures) fail("a barrier of warpgroups, round " + std::to_string(failures));
    pe.barrier();
    printf("tiles ok PE %d of %d\n", pe.me, pe.n);
    call(nvshmemrs_finalize(pe.runtime));
}
