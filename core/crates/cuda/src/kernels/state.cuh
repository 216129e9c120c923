// Written from device_state/state.rs, where it is declared; a test compares the two.
#pragma once

// NVRTC's only constant expression for an offset is __INTADDR__.
#ifdef __CUDACC_RTC__
#define OFFSET_OF(type, field) __INTADDR__(&((type *)0)->field)
#else
#define OFFSET_OF(type, field) __builtin_offsetof(type, field)
#endif

// The job as a kernel sees it: 64 bytes, which it gets as an argument. Addresses are numbers. They belong to the address space of the
// PE's own GPU, or of its process if the heap is in host memory. `include/nvshmemrs_device.cuh` declares the same struct.
struct State {
    // "nvsh" in ASCII, the first letter lowest.
    u32 magic;
    // The layout of this struct, and of what it refers to.
    u32 version;
    // This PE's number.
    i32 my_pe;
    // The number of PEs.
    i32 n_pes;
    // PE p's copy of symmetric offset o is at base + p * stride + o.
    u64 base;
    // Bytes from one PE's part to the next one's.
    u64 stride;
    // A u32; not 0 once the job is broken: leave.
    u64 abort;
    // An ErrorRecord, or 0: only the library's own kernels write it.
    u64 error;
    // A DeviceJob, in memory that the kernels of this PE can read.
    u64 job;
    // A bit for arguments that are checked (NVSHMEMRS_DEVICE_CHECK), and one for PEs of other hosts.
    u32 check;
    // Shared memory that a thread or a warp of the program's kernel has lent. The library leaves it 0.
    u32 lent;
};
static_assert(sizeof(State) == 64, "size");
static_assert(OFFSET_OF(State, magic) == 0, "magic");
static_assert(OFFSET_OF(State, version) == 4, "version");
static_assert(OFFSET_OF(State, my_pe) == 8, "my_pe");
static_assert(OFFSET_OF(State, n_pes) == 12, "n_pes");
static_assert(OFFSET_OF(State, base) == 16, "base");
static_assert(OFFSET_OF(State, stride) == 24, "stride");
static_assert(OFFSET_OF(State, abort) == 32, "abort");
static_assert(OFFSET_OF(State, error) == 40, "error");
static_assert(OFFSET_OF(State, job) == 48, "job");
static_assert(OFFSET_OF(State, check) == 56, "check");
static_assert(OFFSET_OF(State, lent) == 60, "lent");
