// All-to-all of parts whose lengths differ, in one kernel: the PEs exchange lengths, then where each part goes, then the parts. A warp
// puts a part, and a barrier in the kernel completes all of them.
#include "example.hpp"

static const int MOST = 50;

static __host__ __device__ int length(int from, int to) { return (from * 7 + to * 3) % MOST + 1; }

// `lengths` and `places`: of the data that this PE sends [n], then of the data that it receives [n], twice.
__global__ void exchange(State state, long *dest, const long *source, long *lengths, long *places, int *status) {
    int me = nvshmemrs_my_pe(state), n = nvshmemrs_n_pes(state);
    for (int pe = threadIdx.x; pe < n; pe += blockDim.x) lengths[pe] = length(me, pe);
    int failed = nvshmemrs_long_alltoall_block(state, NVSHMEMRS_TEAM_WORLD, lengths + n, lengths, 1);
    // Where the parts of each PE begin here.
    if (threadIdx.x == 0) {
        long place = 0;
        for (int pe = 0; pe < n; pe++) {
            places[pe] = place;
            place += lengths[n + pe];
        }
    }
    failed |= nvshmemrs_long_alltoall_block(state, NVSHMEMRS_TEAM_WORLD, places + n, places, 1);
    for (int pe = threadIdx.x / 32; pe < n; pe += blockDim.x / 32)
        nvshmemrs_long_put_warp(state, dest + places[n + pe], source + pe * MOST, lengths[pe], pe);
    failed |= nvshmemrs_barrier_all_block(state);
    if (threadIdx.x == 0) *status = failed ? -1 : 1;
}

static void by_host(Pe &pe, long *dest, const long *source, long *lengths, long *places) {
    const int n = pe.n;
    std::vector<long> own(n), begins(n);
    for (int to = 0; to < n; to++) own[to] = length(pe.me, to);
    pe.write(lengths, own);
    call(nvshmemrs_alltoall(pe.runtime, NVSHMEMRS_TEAM_WORLD, lengths + n, lengths, sizeof(long)));
    std::vector<long> got = pe.read(lengths + n, n);
    for (int from = 1; from < n; from++) begins[from] = begins[from - 1] + got[from - 1];
    pe.write(places, begins);
    call(nvshmemrs_alltoall(pe.runtime, NVSHMEMRS_TEAM_WORLD, places + n, places, sizeof(long)));
    begins = pe.read(places + n, n);
    for (int to = 0; to < n; to++) call(nvshmemrs_put(pe.runtime, dest + begins[to], source + to * MOST, own[to] * sizeof(long), to));
    pe.barrier();
}

int main() {
    Pe pe;
    long *source = pe.array<long>(pe.n * MOST), *lengths = pe.array<long>(2 * pe.n), *places = pe.array<long>(2 * pe.n);
    long *dests[2];
    for (long *&dest : dests) dest = pe.array<long>(pe.n * MOST);
    int *status = pe.array<int>(1);
    std::vector<long> sent(pe.n * MOST);
    for (int to = 0; to < pe.n; to++)
        for (int i = 0; i < MOST; i++) sent[to * MOST + i] = pe.me * 1000000 + to * 1000 + i;
    pe.write(source, sent);
    auto in_kernel = [&] { Running(1, 64, exchange, pe.state, dests[0], (const long *)source, lengths, places, status).wait(); };
    auto on_host = [&] { by_host(pe, dests[1], source, lengths, places); };
    compare(pe, "alltoallv", in_kernel, on_host);
    if (pe.read(status, 1)[0] != 1) fail("alltoallv: the kernel has met an error");
    for (long *dest : dests) {
        std::vector<long> got = pe.read(dest, pe.n * MOST);
        size_t at = 0;
        for (int from = 0; from < pe.n; from++)
            for (int i = 0; i < length(from, pe.me); i++)
                if (got[at++] != from * 1000000 + pe.me * 1000 + i) fail("alltoallv: an element is wrong");
        // Nothing behind the last part is touched.
        for (; at < got.size(); at++)
            if (got[at] != 0) fail("alltoallv: something was written behind the last part");
    }
    pe.finalize();
}
