// Shared by all kernels: the structs that the host passes by value, errors, and arithmetic.
//
// Rules of the device code:
//
// 1. The only header is include/nvshmemrs_device.cuh, which the program's kernels also use, and the only exported symbols are the kernels. So an
//    image needs only the driver.
// 2. Only the functions of access.cuh and ptx.cuh access memory that other PEs write at the same time, at `.sys` scope.
// 3. A loop that polls reads the abort word every POLLS polls, and ends without a trap when the word is set.
// 4. No kernel has a stack frame: before a launch with local memory the driver may have to wait for running kernels. So functions are inlined,
//    and no address of a variable in registers is taken. ../images/frames.rs checks this.
// 5. Structs that the host passes have the same layout in mod.rs; sizes are asserted on both sides. State is declared once (state.rs).
#pragma once

// The first error of a PE's kernels. `state` is 0 for no error, 1 during the write, 2 when the record can be read.
struct ErrorRecord {
    u32 state;
    u32 code;
    u32 operation;
    u32 team;
    u64 epoch;
    u64 mine;
    u64 theirs;
    i32 pe;
    u32 their_operation;
};
static_assert(sizeof(ErrorRecord) == 48, "as ErrorRecord in mod.rs");

// Values of ErrorRecord::code and of the abort word.
static constexpr u32 MISMATCH = 1;
static constexpr u32 OVERRUN = 2;
static constexpr u32 STALE = 3;

DEVICE bool aborted(const State &state) {
    return load_relaxed_u32(state.abort) != 0;
}

// The number of this thread in the grid, and the number of threads.
DEVICE u64 grid_thread() {
    return (u64)blockIdx.x * blockDim.x + threadIdx.x;
}

DEVICE u64 grid_threads() {
    return (u64)gridDim.x * blockDim.x;
}
