// Wrong arguments in kernels of a job with NVSHMEMRS_DEVICE_CHECK: the kernel ends, for all threads of all blocks, and the host is told.
//
//   checks CASE
#include "job.hpp"

#include <nvshmemrs_tile.cuh>

static Pe pe;

// Prints the report.
static void record() {
    const nvshmemrs::device::Report *report = (const nvshmemrs::device::Report *)((const nvshmemrs::device::Job *)pe.state.job)->report;
    if (report && report->state)
        printf("state %u kind %u pe %d block %u thread %u operation %u bytes %llu\n", report->state, report->kind, report->pe, report->block,
               report->thread, report->operation, report->bytes);
}

// Prints the status of a call into the library.
static void told(const char *name, int32_t status) { printf("%s: %d %s\n", name, status, status ? nvshmemrs_last_error() : ""); }

int main(int count, char **args) {
    std::string what = count > 1 ? args[1] : "";
    pe = start();
    int *data = pe.array<int>(16), local[4] = {};
    u64 *word = pe.array<u64>(1), *never = pe.array<u64>(1);
    bool right = what == "none" || what == "clipped tile" || what == "records";
    const State &s = pe.state;
    // The last sixteen ints that are symmetric, and those before the first: a tile of sixteen rows, with strides of 1 or -1.
    const nvshmemrs::device::Job *job = (const nvshmemrs::device::Job *)s.job;
    int *first = (int *)(s.base + s.my_pe * s.stride), *end = (int *)((char *)first + job->heap_bytes), own[64] = {};
    auto tile = [&](int *at, int rows, int step, int boundary, bool get) {
        using namespace nvshmemrs;
        auto layout = make_layout(make_shape(rows), make_stride(step));
        Tensor<int, decltype(layout)> symmetric(at, layout), mine(own + (step < 0 ? 32 : 0), layout);
        if (get) tile_get(s, symmetric, mine, make_shape(0), make_shape(boundary), 0, 0);
        else tile_put(s, mine, symmetric, make_shape(0), make_shape(boundary), 0, 0);
    };
    auto sum = [&](int *at, int root) {
        using namespace nvshmemrs;
        auto layout = make_layout(make_shape(16), make_stride(1));
        Tensor<int, decltype(layout)> symmetric(at, layout), mine(own, layout);
        tile_sum_rooted_reduce(s, NVSHMEMRS_TEAM_WORLD, symmetric, mine, NoCoordinates(), NoCoordinates(), root, 0);
    };
    nvshmemrs::host::launch(dim3(2), dim3(4), [&] {
        // Correct calls pass.
        nvshmemrs_int_p(s, data, 5, 0);
        nvshmemrs_int_put_block(s, data, local, 4, 0);
        nvshmemrs_signal_op(s, word, 1, NVSHMEMRS_SIGNAL_ADD, 0);
        if (blockIdx.x != 1 || threadIdx.x != 2) {
            // The other threads wait for a signal that never comes.
            if (right) return;
            if (threadIdx.x == 0) nvshmemrs_signal_wait_until(s, never, NVSHMEMRS_CMP_EQ, 1);
            __syncthreads();
            fail("a thread has gone on");
        }
        if (what == "pe") nvshmemrs_int_put(s, data, local, 4, 1);
        if (what == "address") nvshmemrs_int_get(s, local, local, 4, 0);
        if (what == "alignment") nvshmemrs_uint64_atomic_add(s, (u64 *)(data + 1), 1, 0);
        if (what == "team") nvshmemrs_barrier(s, NVSHMEMRS_TEAM_INVALID);
        if (what == "slot") nvshmemrs_sync_all(s, 128);
        if (what == "argument") nvshmemrs_int_wait_until(s, data, 6, 1);
        // Elements beyond `boundary` are not moved, so their memory need not exist.
        if (what == "clipped tile") {
            tile(end - 9, 16, 1, 9, false);
            tile(first + 8, 16, -1, 9, true);
            tile(end, 16, 1, 0, true);
        }
        if (what == "tile") tile(end - 15, 16, 1, 16, false);
        if (what == "tile below") tile(first + 14, 16, -1, 16, true);
        if (what == "tile reduce") sum(end - 15, 0);
        if (what == "tile root") sum(data, 1);
#ifdef NVSHMEMRS_DEVICE_RECORD
        // Records that no function writes: the host leaves them out.
        if (what == "records")
            for (u64 at : {(u64)0, ~0ul, (u64)first, (u64)data + 1, (u64)(end - 1)})
                for (u64 bytes : {(u64)0, (u64)3, 1ul << 40, ~0ul})
                    for (int pe : {-1, 0, 77})
                        for (unsigned kind = 0; kind < 14; kind++)
                            nvshmemrs::device::write_record(&s, "f", "/a/b.cpp", kind, kind, kind == 13 ? 9999 : 50, pe, at, bytes, at, at, bytes, kind);
#endif
        if (what == "version") {
            State other = s;
            other.version++;
            nvshmemrs_int_p(other, data, 5, 0);
        }
        if (what == "magic") {
            State other = {};
            nvshmemrs_int_p(other, data, 5, 0);
        }
    });
    record();
    told("check", nvshmemrs_runtime_check(pe.runtime));
    told("finalize", nvshmemrs_finalize(pe.runtime));
}
