// What all kernels share: the structs that the host passes by value, errors, and arithmetic.
//
// Rules of the device code:
//
// 1. No header but include/nvshmemrs_device.cuh, which the program's kernels have, too, is included, and no symbol but the kernels is exported, so an image needs nothing but the driver.
// 2. Memory that other PEs write at the same time is accessed by the functions of access.cuh and ptx.cuh only, at `.sys` scope.
// 3. Whoever polls looks at the abort word every POLLS polls, and leaves without a trap when it is set.
// 4. No kernel has a stack frame: the driver may have to wait for kernels that run before it gives a launch local memory. So functions
//    are inlined, and what is in registers has no address. ../images/frames.rs looks.
// 5. Structs that the host passes have the same layout in mod.rs; sizes are asserted on both sides. State is declared once (state.rs).
#pragma once

// The first error of a PE's kernels. `state` is 0 for none, 1 while it is written, 2 when it can be read.
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

// The number of this thread in the grid, and how many there are.
DEVICE u64 grid_thread() {
    return (u64)blockIdx.x * blockDim.x + threadIdx.x;
}

DEVICE u64 grid_threads() {
    return (u64)gridDim.x * blockDim.x;
}
