// The GPU's kernels on the host: every collective, copy, wait and atomic operation, drawn by lot, with every byte looked at.
//
//   kernels random SEED STEPS      all kinds, PEs beside each other
//   kernels fold CASES RESULTS     the reductions that the file CASES has; their results to RESULTS
//   kernels errors                 calls that do not match, and the abort word
#include "device.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>

#include "all.hpp"

typedef std::vector<u8> Bytes;

[[noreturn]] static void fail(const std::string &what) {
    fprintf(stderr, "kernels: %s\n", what.c_str());
    exit(1);
}

static void check(bool good, const std::string &what) {
    if (!good) fail(what);
}

typedef void (*CollectiveKernel)(Collective);

// A job of n PEs with one team of all of them, in an order of its own.
class Job {
  public:
    static constexpr u64 SYNC = 256 << 10;
    static constexpr u32 GENERATION = 3;
    // The first collectives exceed the part of an epoch that fits into a flag.
    static constexpr u64 START = (1ull << 32) - 5;
    i32 n;
    u64 stride;
    std::vector<i32> members;
    std::vector<TeamLocal> locals;
    std::vector<u32> aborts;
    std::vector<u64> finished;
    std::vector<ErrorRecord> errors;
    Team team = {};

    // The members are all PEs from the last to the first, which the kernels are told as a stride or as a table.
    Job(i32 n, u64 bytes, u32 slot, bool strided = false) : n(n), stride(bytes + SYNC), members(n), locals(n), aborts(n), finished(n), errors(n) {
        base_ = (u8 *)aligned_alloc(4096, (n * stride + 4095) & ~4095ull);
        memset(base_, 0xee, n * stride);
        for (i32 m = 0; m < n; m++) {
            members[m] = n - 1 - m;
            locals[m] = {START, 0, GENERATION, START * ENDS};
            memset(part(m), 0, SYNC);
        }
        team.n = n;
        team.generation = GENERATION;
        team.index = 7;
        team.blocks = 4;
        team.members = (u64)members.data();
        if (strided) team.step = -1, team.first = n - 1;
        team.staging = 48 * n + 2 * STEPS * 8 * n * team.blocks;
        team.staging = (team.staging + 127) & ~127ull;
        team.slot = slot;
        team.lamport = 3 * slot;
        check(team.staging + 2 * n * (team.slot + team.lamport) <= SYNC, "the sync block is too small");
    }

    ~Job() { free(base_); }

    // How many epochs a member has counted; all are over.
    u64 epochs(i32 m) {
        check(locals[m].over == locals[m].epoch * ENDS, "a collective that is counted is not over");
        return locals[m].epoch - START;
    }

    // Member m's part of symmetric memory.
    u8 *part(i32 m) { return base_ + members[m] * stride; }

    State state(i32 m) {
        return {0, 0, members[m], n, (u64)base_, stride, (u64)&aborts[m], (u64)&errors[m], 0, 0, 0};
    }

    Collective call(i32 m, u32 operation, u32 signature) {
        Collective c = {};
        c.state = state(m);
        c.team = team;
        c.team.me = m;
        c.team.local = (u64)&locals[m];
        c.operation = operation;
        c.signature = signature;
        return c;
    }

  private:
    u8 *base_;
};

// Numbers of Operation in core/crates/vocabulary/src/operation.rs.
static constexpr u32 FINALIZE = 2, BARRIER = 5, BROADCAST = 7, FCOLLECT = 11, COLLECT = 12, ALLTOALL = 13, ALLTOALLS = 14, GATHER = 28,
                     SCATTER = 29;

// A collective, the same on all members except for intended differences.
struct Step {
    CollectiveKernel kernel;
    std::vector<Collective> calls;
    u32 grid, block;
    // Called by a member when its kernel has ended.
    std::function<void(i32)> after = [](i32) {};
};

// Every member does the steps in order, and no member waits for another between two.
static void run(Job &job, const std::vector<Step> &steps, u32 seed) {
    std::vector<std::thread> streams;
    for (i32 m = 0; m < job.n; m++)
        streams.emplace_back([&, m] {
            for (size_t i = 0; i < steps.size(); i++) {
                const Step &step = steps[i];
                const Collective &c = step.calls[m];
                device::launch(step.grid, step.block, seed + i * 64 + m, [&] { step.kernel(c); });
                step.after(m);
            }
        });
    for (auto &stream : streams) stream.join();
}

// How a kernel moves its data.
enum class Way { Flags, Lamport, Direct };

struct ReduceKernels {
    u32 size, align;
    CollectiveKernel flags, lamport, direct;
};

#define KERNELS_OF(name, T) {sizeof(T), alignof(T), nvshmemrs_reduce_##name##_flags, nvshmemrs_reduce_##name##_lamport, nvshmemrs_reduce_##name},
// By dtype: signed integers, unsigned ones, and the others.
static const ReduceKernels REDUCTIONS[] = {
    {0, 0, nullptr, nullptr, nullptr},
    INTEGER_REDUCTIONS(KERNELS_OF)
    INTEGER_REDUCTIONS(KERNELS_OF)
    OTHER_REDUCTIONS(KERNELS_OF)
};

// As Reduction::op in kernels/plan/mod.rs.
static u32 op_of(u32 dtype, u32 op) {
    bool is_signed = dtype <= 4;
    return is_signed && op == MIN ? SIGNED_MIN : is_signed && op == MAX ? SIGNED_MAX : op;
}

#include "random.hpp"
#include "others.hpp"

int main(int count, char **args) {
    std::string what = count > 1 ? args[1] : "";
    if (what == "random" && count == 4) random_steps(atoi(args[2]), atoi(args[3]));
    else if (what == "fold" && count == 4) fold_cases(args[2], args[3]);
    else if (what == "errors") errors();
    else fail("usage: kernels random SEED STEPS | fold CASES RESULTS | errors");
    printf("%s passed\n", what.c_str());
}
