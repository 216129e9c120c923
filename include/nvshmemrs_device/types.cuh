// Part of nvshmemrs_device.cuh: the types that it shares with nvshmemrs.h, its macros, and the structs in memory that kernels and the host read.
#pragma once

// nvshmemrs.h also declares these types, unless this header comes first.
#ifndef NVSHMEMRS_H
typedef unsigned long nvshmemrs_team_t;
enum nvshmemrs_team : unsigned long {
    NVSHMEMRS_TEAM_WORLD = 0,
    NVSHMEMRS_TEAM_SHARED = 1,
    NVSHMEMRS_TEAM_NODE = 2,
    NVSHMEMRS_TEAM_SAME_MYPE_NODE = 3,
    NVSHMEMRS_TEAM_SAME_GPU = 4,
    NVSHMEMRS_TEAM_GPU_LEADERS = 5,
};
#define NVSHMEMRS_TEAM_INVALID 18446744073709551615ul
enum nvshmemrs_cmp : int {
    NVSHMEMRS_CMP_EQ = 0,
    NVSHMEMRS_CMP_NE = 1,
    NVSHMEMRS_CMP_GT = 2,
    NVSHMEMRS_CMP_LE = 3,
    NVSHMEMRS_CMP_LT = 4,
    NVSHMEMRS_CMP_GE = 5,
};
enum nvshmemrs_signal_op : int {
    NVSHMEMRS_SIGNAL_SET = 9,
    NVSHMEMRS_SIGNAL_ADD = 10,
};

// The job's state in kernels. Addresses belong to the address space of the PE's GPU, or of the PE's process.
typedef struct nvshmemrs_device_state_t {
    // "nvsh" in ASCII, the first letter lowest.
    unsigned magic;
    unsigned version;
    int my_pe;
    int n_pes;
    // PE p's copy of symmetric offset o is at base + p * stride + o.
    unsigned long base;
    unsigned long stride;
    // A u32; not 0 when the job is broken.
    unsigned long abort;
    unsigned long error;
    // A nvshmemrs::device::Job.
    unsigned long job;
    // Bits of nvshmemrs::device::CHECK_*.
    unsigned check;
    // Shared memory that the calling thread or warp has lent: see nvshmemrs_give_smem.
    unsigned lent;
} nvshmemrs_device_state_t;
#endif
// Amounts of shared memory to lend; NVSHMEM's names have the same ends.
enum nvshmemrs_smem_amount : int { NVSHMEMRS_SMEM_RECOMMENDED = 0, NVSHMEMRS_SMEM_MINIMUM = 1 };
// Hints for regions, which allow NVSHMEM to combine operations.
typedef unsigned long nvshmemrs_region_handle_t;
enum nvshmemrs_region_hint : unsigned { NVSHMEMRS_REGION_HINT_NONE = 0, NVSHMEMRS_REGION_HINT_BATCH_RMA = 1 };
typedef struct nvshmemrs_region_attrs_t {
    unsigned hints;
    char reserved[60];
} nvshmemrs_region_attrs_t;

#ifdef NVSHMEMRS_DEVICE_HOST
#define NVSHMEMRS_I_UNROLL
#else
#define NVSHMEMRS_I_UNROLL _Pragma("unroll")
#endif
// Multiprocessors have engines for bulk copies from sm_90 on.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ < 900
#define NVSHMEMRS_I_NO_BULK
#endif
#define NVSHMEMRS_I_DEVICE __device__ __forceinline__
// Marks functions with loops. A program that calls many of these functions compiles faster with NVSHMEMRS_DEVICE_CALLS defined, which keeps
// one copy of each.
#ifdef NVSHMEMRS_DEVICE_CALLS
#define NVSHMEMRS_I_LOOP __device__ __noinline__
#else
#define NVSHMEMRS_I_LOOP __device__ __forceinline__
#endif
// Marks large parts of functions with loops. The bitcode has one copy of each part, and tools that link the bitcode inline the parts: see
// xtask/src/bitcode.rs.
#ifdef NVSHMEMRS_DEVICE_BITCODE
#define NVSHMEMRS_I_PART __device__ __attribute__((noinline, hot))
#else
#define NVSHMEMRS_I_PART NVSHMEMRS_I_DEVICE
#endif
// Marks functions that the program calls. clang also reads host code while compiling for the GPU, and there NVSHMEM's names
// (nvshmem_device.cuh) stand for these functions in host code, too.
#if defined(__clang__) && !defined(__NVCC__) && defined(__CUDA_ARCH__)
#define NVSHMEMRS_I_CALLED __host__ __device__ __forceinline__
#else
#define NVSHMEMRS_I_CALLED NVSHMEMRS_I_DEVICE
#endif
// Functions are templates, so that functions that the program does not call add little to the time of a compilation.
#define NVSHMEMRS_I_API template <int = 0> NVSHMEMRS_I_CALLED

// The name of the program's function that makes a call, for reports. nvcc and host compilers know the name. A program for NVRTC may define
// this macro as a string.
#ifndef NVSHMEMRS_DEVICE_CALLER
#ifdef __has_builtin
#if __has_builtin(__builtin_FUNCTION)
#define NVSHMEMRS_DEVICE_CALLER __builtin_FUNCTION()
#define NVSHMEMRS_I_FILE __builtin_FILE()
#define NVSHMEMRS_I_LINE __builtin_LINE()
#endif
#endif
#endif
#ifndef NVSHMEMRS_DEVICE_CALLER
#define NVSHMEMRS_DEVICE_CALLER nullptr
#endif
#ifndef NVSHMEMRS_I_FILE
#define NVSHMEMRS_I_FILE nullptr
#define NVSHMEMRS_I_LINE 0
#endif

// The same declaration as in <cstdio>, NVRTC and clang; nvcc has no declaration until a program includes <cstdio>.
#if !defined(NVSHMEMRS_DEVICE_HOST) && !defined(__CUDACC_RTC__) && !(defined(__clang__) && !defined(__NVCC__))
extern "C" __host__ __device__ int printf(const char *, ...);
#endif

namespace nvshmemrs::device {

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;
typedef nvshmemrs_device_state_t State;

struct Job {
    // Offsets that the program may use are below this number.
    u64 heap_bytes;
    u32 n_teams;
    u32 check;
    // Teams, by the low half of their handles; the rows follow this struct in memory.
    u64 teams;
    // A copy of State in memory that kernels can read.
    u64 state;
    // Slots of each team.
    u32 slots;
    u32 padding;
    // A Report.
    u64 report;
    // A bit for each PE, in words of 32 bits: kernels reach the PE. 0: kernels reach all PEs.
    u64 near;
    // A u32 by which a kernel asks all PEs to exit: 1 + the status. 0: the library has no such word.
    u64 exit;
};

struct Team {
    // Members; 0: this PE is in no such team.
    i32 n;
    i32 me;
    // Member m is PE first + m * step; if step is 0, PE members[m], an i32.
    i32 first;
    i32 step;
    u64 members;
    // Symmetric offset of flags, u64 each: member m's at ((slot * 2 + parity) * n + m).
    u64 sync;
    // A u64 for each slot: the number of meetings of the members in this slot.
    u64 epochs;
    // The high half of the team's handle.
    u32 generation;
    u32 padding;
    // Symmetric offset of the mail of the first MAIL_SLOTS slots: member m's words at ((slot * 2 + parity) * n + m). 0: there is none.
    u64 mail;
    // 1 + the first member that kernels do not reach; 0: they reach all.
    i32 unreachable;
    // The words that one member sends another as long mail, which lies behind the mail, laid out alike. 0: there is none.
    u32 long_words;
};

// The first error in the arguments of a call.
struct Report {
    // 0: nothing; 1: being written; 2: complete.
    u32 state;
    u32 kind;
    i32 pe;
    u32 block;
    u32 thread;
    // The number of the operation in core/crates/vocabulary/src/operation.rs.
    u32 operation;
    u64 address;
    u64 bytes;
    // The name of the program's function that made the call, ended by a 0; empty if the name is not known.
    char caller[64];
};
static_assert(sizeof(State) == 64 && sizeof(Job) == 64 && sizeof(Team) == 64 && sizeof(Report) == 104, "as the library's");
// NVRTC's only constant expression for an offset is __INTADDR__.
#ifdef __CUDACC_RTC__
#define NVSHMEMRS_I_AT(T, FIELD, OFFSET) static_assert(__INTADDR__(&((T *)0)->FIELD) == OFFSET, #FIELD)
#else
#define NVSHMEMRS_I_AT(T, FIELD, OFFSET) static_assert(__builtin_offsetof(T, FIELD) == OFFSET, #FIELD)
#endif
NVSHMEMRS_I_AT(State, my_pe, 8);
NVSHMEMRS_I_AT(State, base, 16);
NVSHMEMRS_I_AT(State, stride, 24);
NVSHMEMRS_I_AT(State, abort, 32);
NVSHMEMRS_I_AT(State, job, 48);
NVSHMEMRS_I_AT(State, check, 56);
NVSHMEMRS_I_AT(State, lent, 60);
NVSHMEMRS_I_AT(Job, n_teams, 8);
NVSHMEMRS_I_AT(Job, slots, 32);
NVSHMEMRS_I_AT(Job, report, 40);
NVSHMEMRS_I_AT(Job, near, 48);
NVSHMEMRS_I_AT(Job, exit, 56);
NVSHMEMRS_I_AT(Team, step, 12);
NVSHMEMRS_I_AT(Team, members, 16);
NVSHMEMRS_I_AT(Team, sync, 24);
NVSHMEMRS_I_AT(Team, epochs, 32);
NVSHMEMRS_I_AT(Team, generation, 40);
NVSHMEMRS_I_AT(Team, mail, 48);
NVSHMEMRS_I_AT(Team, unreachable, 56);
NVSHMEMRS_I_AT(Team, long_words, 60);
NVSHMEMRS_I_AT(Report, operation, 20);
NVSHMEMRS_I_AT(Report, address, 24);
NVSHMEMRS_I_AT(Report, caller, 40);

// VERSION_WATCHED: a bit of the state's version in a checked job. Kernels that do not record their operations refuse it.
enum : u32 { STATE_MAGIC = 0x6873766e, STATE_VERSION = 4, VERSION_WATCHED = 1 << 16 };
#ifdef NVSHMEMRS_DEVICE_RECORD
enum : u32 { KNOWN_VERSION_BITS = ~(u32)VERSION_WATCHED };
#else
enum : u32 { KNOWN_VERSION_BITS = ~0u };
#endif
// Bits of State::check: arguments are checked (NVSHMEMRS_DEVICE_CHECK); some PEs are on other hosts, which kernels do not reach.
enum : u32 { CHECK_ARGUMENTS = 1, CHECK_HOSTS = 2 };
// Values of Report::kind.
enum : u32 {
    NOTHING = 0, WRONG_PE = 1, WRONG_ADDRESS = 2, WRONG_ALIGNMENT = 3, WRONG_TEAM = 4, WRONG_SLOT = 5, WRONG_ARGUMENT = 6,
    // `pe` is the version that the kernel was compiled for, `address` is the state's version.
    WRONG_VERSION = 7,
    // A PE that kernels do not reach: it is on another host.
    UNREACHABLE_PE = 8,
    // An operation that cannot be recorded for the checker.
    NOT_RECORDED = 10,
};
// Records for the checker: values of Records::kind.
enum : u32 {
    RECORD_PUT = 1, RECORD_PUT_SIGNAL = 2, RECORD_GET = 3, RECORD_SIGNAL = 4, RECORD_ATOMIC = 5, RECORD_SEEN = 6, RECORD_FENCE = 7, RECORD_QUIET = 8,
    RECORD_ARRIVAL = 9, RECORD_MEETING = 10, RECORD_USE = 11, RECORD_POINTER = 12,
};
// Flags of records: a put or a get is complete by quiet; the signal comes after all earlier puts; a collective completes earlier puts; a
// collective writes.
enum : u32 { NO_FLAGS = 0, UNTIL_QUIET = 1, FENCED = 2, COMPLETES = 1, WRITES_OWN = 1 };
// The effect of an atomic operation.
enum : u32 { READS = 0, WRITES = 1, FETCHES = 2 };
// Numbers of operations.
enum : u32 {
    BARRIER = 5, SYNC = 6, BROADCAST = 7, REDUCE = 8, SIGNAL_WAIT = 9, FCOLLECT = 11, ALLTOALL = 13, REDUCESCATTER = 15,
    WAIT_UNTIL = 40, WAIT_UNTIL_ALL = 41, WAIT_UNTIL_ANY = 42, WAIT_UNTIL_SOME = 43, PUT = 50, GET = 51, PUT_SIGNAL = 52,
    SIGNAL_OP = 53, QUIET = 55, FENCE = 56, PUT_NBI = 57, GET_NBI = 58, IPUT = 61, IGET = 62, PUT_SIGNAL_NBI = 65, SIGNAL_FETCH = 66, ATOMIC_FETCH = 70,
    ATOMIC_SET = 71, ATOMIC_SWAP = 72, ATOMIC_COMPARE_SWAP = 73, ATOMIC_INC = 74, ATOMIC_FETCH_INC = 75, ATOMIC_ADD = 76,
    ATOMIC_FETCH_ADD = 77, ATOMIC_AND = 78, ATOMIC_FETCH_AND = 79, ATOMIC_OR = 80, ATOMIC_FETCH_OR = 81, ATOMIC_XOR = 82,
    ATOMIC_FETCH_XOR = 83, TEST = 92, TEST_ALL = 93, TEST_ANY = 94, TEST_SOME = 95,
};
// Polls between two looks at the abort word, which lies behind PCIe, and between two looks for a member that sends no mail.
enum : u32 { POLLS = 1024, MAIL_POLLS = 16 };
// Rows of teams that every job has.
enum : u32 { TEAMS = 320 };
// The number of slots with mail, and the words that a member sends another member in a collective: half of each word is data.
enum : u32 { MAIL_SLOTS = 8, MAIL_WORDS = 8 };
// Words of mail that a thread sends or reads at once, or one larger element. More words would need more than 64 registers.
enum : u32 { MAIL_BATCH = 2 };

// Sixteen bytes, moved by one access if the address is aligned.
struct alignas(16) Bytes16 {
    u64 words[2];
};

} // namespace nvshmemrs::device
