// Communication inside of kernels: the device side of nvshmemrs.
//
// The header includes no file and needs no library. nvcc and NVRTC compile the header as C++17 for sm_80 and later, without relocatable
// device code. Behind nvshmemrs_device_host.hpp, which runs kernels on the host, the header is plain C++17.
//
// Names, arguments and meaning are NVSHMEM's, with `nvshmemrs_` for `nvshmem_` and `nvshmemx_`. Each function has an additional first
// argument: the nvshmemrs_device_state_t that `nvshmemrs_device_state` has filled in, or a pointer to this state in memory that kernels
// can read.
//
// Scopes: a function without a suffix is called by one thread. A function with `_warp` or `_block` is called by all threads of a full warp
// or of the block, with equal arguments. Such a call begins with a meeting of these threads, so the call includes their earlier stores. The
// call also ends with a meeting, unless the name has `nbi`.
//
// Order:
//   * put, get, iput, iget order nothing. p stores and g loads a whole element at once.
//   * put_signal: a PE that sees the signal with signal_wait_until, signal_fetch, wait_until or test sees the data.
//   * signal_op does not order earlier puts: call fence or quiet first if the signal announces data.
//   * atomic_fetch is an acquire. atomic_set and atomics without a result are releases. All other atomics are both.
//   * waits and tests are acquires. fence is a release towards every PE. quiet is a full barrier of the calling thread.
//   * barrier and sync: earlier stores of each member's group are visible to the groups of all members that have returned. Other
//     collectives order the memory that they read and write; a reduction of small arrays in a slot below 8 orders no other memory. Small
//     arrays have at most 32 bytes, and in the first 8 teams of a job of up to 16 PEs at most 8 KiB and at most 16 KiB / n_pes.
//
// Such a small reduction sends each word together with a flag (mail). Triton's reduce also sends mail, if one program makes the call. Kernels
// of Numba and CuTe do not know mail. If such a kernel takes part, the other members see after some microseconds that this member meets them
// instead, and then meet, too. Kernels that are compiled with NVSHMEMRS_DEVICE_NO_MAIL defined meet at once.
//
// Collectives take a team and a slot: below 128 in jobs of up to 64 PEs, else below 8192 / n_pes. All members call with the same slot, and
// calls of one slot have the same order on all members. Blocks that call at the same time use different slots, such as blockIdx.x.
// All blocks that take part must run at the same time. A collective returns 0, or -1 if the job is broken or this PE is no member; `dest`
// is undefined then.
//
// Reductions in place go in rounds, and all members meet in each round: see Rounds below. So the groups of all members must have the same
// number of threads.
//
// Kernels reach PEs of their own host only. nvshmemrs_ptr is NULL for a PE of another host. A put, get, atomic or signal to such a PE, and a
// collective of a team with such a member, ends the kernel; the host's nvshmemrs_runtime_check then names the PE.
//
// Waits end when the job is broken, for example because a PE died. nvshmemrs_aborted returns whether the job is broken.
//
// In a checked job (NVSHMEMRS_CHECK) only kernels run that are compiled with NVSHMEMRS_DEVICE_RECORD defined. Each of their operations is recorded for the
// checker and waits for it, so such kernels are slow. Plain loads and stores are not recorded. In other jobs the definition costs a comparison for
// each call.
//
// Each call checks the first eight bytes of the state. If the argument is no state, or has another version, the call prints an error and
// traps. The host then also gets the version from nvshmemrs_runtime_check, as a finding of NVSHMEMRS_DEVICE_CHECK.
#ifndef NVSHMEMRS_DEVICE_CUH
#define NVSHMEMRS_DEVICE_CUH

#if !defined(__CUDACC__) && !defined(NVSHMEMRS_DEVICE_HOST)
#error "nvshmemrs_device.cuh is for nvcc and NVRTC; other compilers include nvshmemrs_device_host.hpp instead"
#endif

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

namespace nvshmemrs {
namespace device {

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
    i32 far;
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
// NVRTC has no other one that is constant.
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
NVSHMEMRS_I_AT(Team, far, 56);
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
    // `pe` is the version that the kernel was compiled for, `address` that of the state.
    WRONG_VERSION = 7,
    // A PE of another host.
    FAR_PE = 8,
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

// ---- Accesses. The host's shim defines all of these functions itself. ----
#ifndef NVSHMEMRS_DEVICE_HOST

// Plain accesses, without any order.
template <class T> NVSHMEMRS_I_DEVICE T read(u64 at) { return *(const T *)at; }
template <class T> NVSHMEMRS_I_DEVICE void write(u64 at, T value) { *(T *)at = value; }
NVSHMEMRS_I_DEVICE void prefetch(u64 at) { asm volatile("prefetch.global.L2 [%0];" ::"l"(at)); }

// Accesses to words that other PEs also access.
#define NVSHMEMRS_I_WORD(T, TYPE, C, REGISTER)                                                     \
    NVSHMEMRS_I_DEVICE T load_relaxed(const T *at) {                                               \
        REGISTER value;                                                                            \
        asm volatile("ld.relaxed.sys.global." TYPE " %0, [%1];" : "=" C(value) : "l"(at) : "memory"); \
        return (T)value;                                                                           \
    }                                                                                              \
    NVSHMEMRS_I_DEVICE T load_acquire(const T *at) {                                               \
        REGISTER value;                                                                            \
        asm volatile("ld.acquire.sys.global." TYPE " %0, [%1];" : "=" C(value) : "l"(at) : "memory"); \
        return (T)value;                                                                           \
    }                                                                                              \
    NVSHMEMRS_I_DEVICE void store_relaxed(T *at, T value) {                                        \
        asm volatile("st.relaxed.sys.global." TYPE " [%0], %1;" ::"l"(at), C((REGISTER)value) : "memory"); \
    }                                                                                              \
    NVSHMEMRS_I_DEVICE void store_release(T *at, T value) {                                        \
        asm volatile("st.release.sys.global." TYPE " [%0], %1;" ::"l"(at), C((REGISTER)value) : "memory"); \
    }
NVSHMEMRS_I_WORD(u8, "u8", "r", u32)
NVSHMEMRS_I_WORD(u16, "u16", "h", u16)
NVSHMEMRS_I_WORD(u32, "u32", "r", u32)
NVSHMEMRS_I_WORD(u64, "u64", "l", u64)

NVSHMEMRS_I_DEVICE void fence() { asm volatile("fence.acq_rel.sys;" ::: "memory"); }
NVSHMEMRS_I_DEVICE void full_fence() { asm volatile("fence.sc.sys;" ::: "memory"); }

// Read-modify-writes: functions that return the old value are acquire and release, `apply_` is a release.
#define NVSHMEMRS_I_ATOM(T, C, NAME, OPERATION)                                                                                     \
    NVSHMEMRS_I_DEVICE T fetch_##NAME(T *at, T value) {                                                                             \
        T old;                                                                                                                      \
        asm volatile("atom.acq_rel.sys.global." OPERATION " %0, [%1], %2;" : "=" C(old) : "l"(at), C(value) : "memory");            \
        return old;                                                                                                                 \
    }
#define NVSHMEMRS_I_RED(T, C, NAME, OPERATION)                                                                                      \
    NVSHMEMRS_I_ATOM(T, C, NAME, OPERATION)                                                                                         \
    NVSHMEMRS_I_DEVICE void apply_##NAME(T *at, T value) {                                                                          \
        asm volatile("red.release.sys.global." OPERATION " [%0], %1;" ::"l"(at), C(value) : "memory");                              \
    }
#define NVSHMEMRS_I_CAS(T, C, TYPE)                                                                                                 \
    NVSHMEMRS_I_DEVICE T compare_swap(T *at, T cond, T value) {                                                                     \
        T old;                                                                                                                      \
        asm volatile("atom.acq_rel.sys.global.cas." TYPE " %0, [%1], %2, %3;" : "=" C(old) : "l"(at), C(cond), C(value) : "memory"); \
        return old;                                                                                                                 \
    }
#define NVSHMEMRS_I_ATOMS(T, C, BITS)                                                                                               \
    NVSHMEMRS_I_ATOM(T, C, swap, "exch.b" BITS)                                                                                     \
    NVSHMEMRS_I_CAS(T, C, "b" BITS)                                                                                                 \
    NVSHMEMRS_I_RED(T, C, add, "add.u" BITS)                                                                                        \
    NVSHMEMRS_I_RED(T, C, and, "and.b" BITS)                                                                                        \
    NVSHMEMRS_I_RED(T, C, or, "or.b" BITS)                                                                                          \
    NVSHMEMRS_I_RED(T, C, xor, "xor.b" BITS)
NVSHMEMRS_I_ATOMS(u32, "r", "32")
NVSHMEMRS_I_ATOMS(u64, "l", "64")
NVSHMEMRS_I_CAS(u16, "h", "b16")
NVSHMEMRS_I_RED(double, "d", add, "add.f64")
NVSHMEMRS_I_DEVICE void add_relaxed(u64 *at, u64 value) { asm volatile("red.relaxed.sys.global.add.u64 [%0], %1;" ::"l"(at), "l"(value) : "memory"); }

// The same bits as another type of the same size.
template <class To, class From> NVSHMEMRS_I_DEVICE To bits(const From &from) { return *(const To *)&from; }

NVSHMEMRS_I_DEVICE float half_to_float(u16 bits) {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
}
NVSHMEMRS_I_DEVICE u16 float_to_half(float value) {
    u16 bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}
NVSHMEMRS_I_DEVICE u64 clock() { return (u64)clock64(); }
// Hardware barriers for 128 threads. Barrier 0 belongs to __syncthreads; barriers of CUTLASS begin at the low numbers.
NVSHMEMRS_I_DEVICE void meet_warpgroup(u32 barrier) { asm volatile("bar.sync %0, 128;" ::"r"(barrier) : "memory"); }
NVSHMEMRS_I_DEVICE bool any_of_warpgroup(u32 barrier, bool vote) {
    u32 result;
    asm volatile("{ .reg .pred p, q; setp.ne.u32 p, %2, 0; bar.red.or.pred q, %1, 128, p; selp.u32 %0, 1, 0, q; }"
                 : "=r"(result)
                 : "r"(barrier), "r"((u32)vote)
                 : "memory");
    return result != 0;
}
// Ends the kernel. Only the host's shim uses the argument, which says whether the host has a report.
NVSHMEMRS_I_DEVICE void stop(bool) { __trap(); }

// Operations of a multiprocessor's copy engines. `shared`: addresses in shared memory.
NVSHMEMRS_I_DEVICE bool is_global(u64 at) { return __isGlobal((const void *)at); }
#ifndef NVSHMEMRS_I_NO_BULK
NVSHMEMRS_I_DEVICE void bulk_begin(u32 barriers, u32 count) {
    for (u32 i = 0; i < count; i++) asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(barriers + i * 8) : "memory");
    // The engines see the barriers, the stores of this thread, and the stores that this thread has seen.
    asm volatile("fence.mbarrier_init.release.cluster;\nfence.proxy.async;" ::: "memory");
}
NVSHMEMRS_I_DEVICE void bulk_end(u32 barriers, u32 count) {
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    for (u32 i = 0; i < count; i++) asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(barriers + i * 8) : "memory");
}
NVSHMEMRS_I_DEVICE void bulk_load(u32 shared, u64 source, u32 bytes, u32 barrier) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared), "l"(source),
                 "r"(bytes), "r"(barrier)
                 : "memory");
}
NVSHMEMRS_I_DEVICE void bulk_await(u32 barrier, u32 parity) {
    u32 done = 0;
    while (!done)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "r"(barrier), "r"(parity)
                     : "memory");
}
NVSHMEMRS_I_DEVICE void bulk_store(u64 dest, u32 shared, u32 bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(dest), "r"(shared), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
// All stores but the latest have read their data.
NVSHMEMRS_I_DEVICE void bulk_await_reads() { asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory"); }
#endif
#endif

template <int SIZE> struct WordOf;
template <> struct WordOf<1> { typedef u8 type; };
template <> struct WordOf<2> { typedef u16 type; };
template <> struct WordOf<4> { typedef u32 type; };
template <> struct WordOf<8> { typedef u64 type; };
template <> struct WordOf<16> { typedef Bytes16 type; };
template <class T> using Word = typename WordOf<sizeof(T)>::type;
// A parameter from which no template type is deduced.
template <class T> struct Same { typedef T type; };
template <class A, class B> struct Is { static constexpr bool yes = false; };
template <class A> struct Is<A, A> { static constexpr bool yes = true; };

// The argument types of functions for narrow floating-point numbers: CUDA's type, or an integer of the same size.
template <int SIZE> struct SignedOf;
template <> struct SignedOf<1> { typedef i8 type; };
template <> struct SignedOf<2> { typedef i16 type; };
template <class H, class Own, class E> NVSHMEMRS_I_DEVICE void expect_narrow() {
    static_assert(Is<H, Own>::yes || Is<H, Word<E>>::yes || Is<H, typename SignedOf<sizeof(E)>::type>::yes,
                  "CUDA's type, or an integer of its size");
}

NVSHMEMRS_I_DEVICE u64 least(u64 a, u64 b) { return a < b ? a : b; }

// ---- Groups of threads that make one call. ----

NVSHMEMRS_I_DEVICE u32 block_thread() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
NVSHMEMRS_I_DEVICE u32 block_threads() { return blockDim.x * blockDim.y * blockDim.z; }
NVSHMEMRS_I_DEVICE u32 grid_block() { return blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z); }

// UNROLL: the sixteen-byte loads of a thread that are in flight at the same time.
struct Thread {
    static constexpr int UNROLL = 16;
    static NVSHMEMRS_I_DEVICE u32 rank() { return 0; }
    static NVSHMEMRS_I_DEVICE u32 size() { return 1; }
    static NVSHMEMRS_I_DEVICE void sync() {}
    static NVSHMEMRS_I_DEVICE bool any(bool vote) { return vote; }
};
struct Warp {
    static constexpr int UNROLL = 8;
    static NVSHMEMRS_I_DEVICE u32 rank() { return block_thread() % 32; }
    static NVSHMEMRS_I_DEVICE u32 size() { return (u32)least(32, block_threads() - block_thread() / 32 * 32); }
    static NVSHMEMRS_I_DEVICE void sync() { __syncwarp(); }
    static NVSHMEMRS_I_DEVICE bool any(bool vote) { return __any_sync(~0u, vote); }
};
struct Block {
    static constexpr int UNROLL = 4;
    static NVSHMEMRS_I_DEVICE u32 rank() { return block_thread(); }
    static NVSHMEMRS_I_DEVICE u32 size() { return block_threads(); }
    static NVSHMEMRS_I_DEVICE void sync() { __syncthreads(); }
    static NVSHMEMRS_I_DEVICE bool any(bool vote) { return __syncthreads_or(vote); }
};
// The 128 threads of a warpgroup, which begins at a multiple of 128 in the block.
struct Warpgroup {
    static constexpr int UNROLL = 8;
    static NVSHMEMRS_I_DEVICE u32 rank() { return block_thread() % 128; }
    static NVSHMEMRS_I_DEVICE u32 size() { return 128; }
    static NVSHMEMRS_I_DEVICE void sync() { meet_warpgroup(15 - block_thread() / 128); }
    static NVSHMEMRS_I_DEVICE bool any(bool vote) { return any_of_warpgroup(15 - block_thread() / 128, vote); }
};

// ---- State and checks. ----

template <int = 0>
__device__ __noinline__ void report(u64 job, const char *caller, u32 kind, u32 operation, i32 pe, u64 address, u64 bytes) {
    Report *report = (Report *)((const Job *)job)->report;
    if (report && compare_swap(&report->state, 0u, 1u) == 0) {
        report->kind = kind;
        report->pe = pe;
        report->block = grid_block();
        report->thread = block_thread();
        report->operation = operation;
        report->address = address;
        report->bytes = bytes;
        for (u32 i = 0; caller && caller[i] && i + 1 < sizeof report->caller; i++) report->caller[i] = caller[i];
        store_release(&report->state, 2u);
    }
    stop(report != nullptr);
}

// The texts have no numbers, because printing numbers would need a stack frame in every kernel. In a state of another version the job is at
// the same place, and so is the job's report.
template <int = 0> __device__ __noinline__ void bad_state(u32 magic, u32 version, u64 job, const char *caller) {
    if (magic == STATE_MAGIC && version == (STATE_VERSION | VERSION_WATCHED)) {
        printf("nvshmemrs: a kernel was called with a state of a checked job, and was not compiled with NVSHMEMRS_DEVICE_RECORD\n");
        report(job, caller, WRONG_VERSION, 0, STATE_VERSION, version, 0);
    }
    if (magic != STATE_MAGIC) {
        printf("nvshmemrs: a kernel was called with something that is no nvshmemrs_device_state_t; those of nvshmem.h have one from init to finalize\n");
        stop(false);
    }
    printf("nvshmemrs: a kernel was called with a nvshmemrs_device_state_t of another version than it was compiled for\n");
    report(job, caller, WRONG_VERSION, 0, STATE_VERSION, version, 0);
}

// Whether kernels can access the memory of a PE.
NVSHMEMRS_I_DEVICE bool is_near(u32 check, u64 job, i32 pe) {
    return !(check & CHECK_HOSTS) || (((const u32 *)((const Job *)job)->near)[pe / 32] >> pe % 32 & 1);
}

// `bytes` bytes at `address` on a PE, of elements with this alignment. `own` is the address of this PE's heap.
template <int = 0>
__device__ __noinline__ void check_memory(u32 check, u64 job, const char *caller, u64 own, i32 n_pes, u32 operation, i32 pe, u64 address, u64 bytes,
                                          u32 align) {
    u32 kind = pe < 0 || pe >= n_pes ? WRONG_PE : is_near(check, job, pe) ? NOTHING : FAR_PE;
    if (!kind && check & CHECK_ARGUMENTS) {
        u64 offset = address - own, room = ((const Job *)job)->heap_bytes;
        kind = offset > room || bytes > room - offset ? WRONG_ADDRESS : address % align ? WRONG_ALIGNMENT : NOTHING;
    }
    if (kind) report(job, caller, kind, operation, pe, address, bytes);
}

#ifdef NVSHMEMRS_DEVICE_RECORD
// The place where a kernel records operations for the checker, one at a time: at RECORDS_AT behind the report.
struct Records {
    u32 lock;
    // 0: no record; 1: the record can be read; 2: the checker has read the record.
    u32 state;
    u32 kind;
    u32 operation;
    i32 pe;
    u32 line;
    // An address and a number of bytes; the addresses of the other buffer and of the signal, a value, flags.
    u64 words[6];
    char file[64];
    char function[64];
};
static_assert(sizeof(Records) == 200, "as the library's");
NVSHMEMRS_I_AT(Records, words, 24);
NVSHMEMRS_I_AT(Records, file, 72);
enum : u32 { RECORDS_AT = 128 };

// The name of the file, without folders.
NVSHMEMRS_I_DEVICE void copy_name(char *to, const char *from, bool file) {
    u32 first = 0, n = 0;
    for (u32 i = 0; file && from && from[i]; i++)
        if (from[i] == '/') first = i + 1;
    for (; from && from[first + n] && n < 63; n++) to[n] = from[first + n];
    to[n] = 0;
}

// Returns when the checker has read the record of an operation.
template <int = 0>
__device__ __noinline__ void write_record(const State *state, const char *caller, const char *file, u32 line, u32 kind, u32 operation, i32 pe,
                                         u64 address, u64 bytes, u64 local, u64 signal, u64 value, u64 flags) {
    const u32 *ended = &((const Report *)((const Job *)state->job)->report)->state, *abort = (const u32 *)state->abort;
    Records *records = (Records *)(((const Job *)state->job)->report + RECORDS_AT);
    // The thread that holds the lock releases it before other threads of the warp continue.
    for (bool known = false; !known;) {
        if (compare_swap(&records->lock, 0u, 1u) == 0) {
            records->kind = kind;
            records->operation = operation;
            records->pe = pe;
            records->line = line;
            const u64 words[6] = {address, bytes, local, signal, value, flags};
            for (u32 i = 0; i < 6; i++) records->words[i] = words[i];
            copy_name(records->file, file, true);
            copy_name(records->function, caller, false);
            store_release(&records->state, 1u);
            while (load_acquire(&records->state) != 2)
                if (load_relaxed(abort)) return;
            store_relaxed(&records->state, 0u);
            store_release(&records->lock, 0u);
            known = true;
        } else if (load_relaxed(ended) || load_relaxed(abort)) {
            // A kernel that ended in a wrong call may still hold the lock.
            return;
        }
    }
}
#endif

// The state that a call gets, and the place of the call: a default argument is evaluated in the function that makes the call.
class Given {
  public:
#ifdef NVSHMEMRS_DEVICE_RECORD
    NVSHMEMRS_I_CALLED Given(const State &state, const char *caller = NVSHMEMRS_DEVICE_CALLER, const char *file = NVSHMEMRS_I_FILE,
                             u32 line = NVSHMEMRS_I_LINE)
        : state_(&state), caller_(caller), file_(file), line_(line) {}
    NVSHMEMRS_I_CALLED Given(const State *state, const char *caller = NVSHMEMRS_DEVICE_CALLER, const char *file = NVSHMEMRS_I_FILE,
                             u32 line = NVSHMEMRS_I_LINE)
        : state_(state), caller_(caller), file_(file), line_(line) {}
#else
    NVSHMEMRS_I_CALLED Given(const State &state, const char *caller = NVSHMEMRS_DEVICE_CALLER) : state_(&state), caller_(caller) {}
    NVSHMEMRS_I_CALLED Given(const State *state, const char *caller = NVSHMEMRS_DEVICE_CALLER) : state_(state), caller_(caller) {}
#endif

    // A copy by members. A copy of the whole structure is a memcpy, which keeps LLVM from passing the structure in registers.
    NVSHMEMRS_I_DEVICE Given by_members() const {
#ifdef NVSHMEMRS_DEVICE_RECORD
        return Given(state_, caller_, file_, line_);
#else
        return Given(state_, caller_);
#endif
    }

    NVSHMEMRS_I_DEVICE const State &get() const {
        if (state_->magic != STATE_MAGIC || (state_->version & KNOWN_VERSION_BITS) != STATE_VERSION) bad_state(state_->magic, state_->version, state_->job, caller_);
        return *state_;
    }

    // The address of symmetric memory on a PE.
    NVSHMEMRS_I_DEVICE u64 on(u32 operation, i32 pe, const void *own, u64 bytes, u32 align) const {
        const State &s = get();
        if (s.check) check_memory(s.check, s.job, caller_, s.base + (u64)s.my_pe * s.stride, s.n_pes, operation, pe, (u64)own, bytes, align);
        return (u64)own + (u64)(i64)(pe - s.my_pe) * s.stride;
    }

    // The same for one element, whose accesses are all aligned.
    template <class T> NVSHMEMRS_I_DEVICE Word<T> *word(u32 operation, i32 pe, const T *own) const {
        return (Word<T> *)on(operation, pe, own, sizeof(T), sizeof(T));
    }

    // Memory of this PE that other PEs write.
    NVSHMEMRS_I_DEVICE void check_own(u32 operation, const void *own, u64 bytes, u32 align) const {
        const State &s = get();
        if (s.check & CHECK_ARGUMENTS) on(operation, s.my_pe, own, bytes, align);
    }

    NVSHMEMRS_I_DEVICE void check_argument(bool good, u32 operation, u64 value) const {
        const State &s = get();
        if (s.check & CHECK_ARGUMENTS && !good) report(s.job, caller_, WRONG_ARGUMENT, operation, s.my_pe, value, 0);
    }

    NVSHMEMRS_I_DEVICE const char *caller() const { return caller_; }

    // Whether operations are recorded for the checker.
    NVSHMEMRS_I_DEVICE bool is_watched() const {
#ifdef NVSHMEMRS_DEVICE_RECORD
        return get().version & VERSION_WATCHED;
#else
        return false;
#endif
    }

    // Records an operation for the checker, before the effect or after the load of a value. One thread of a group calls.
    NVSHMEMRS_I_DEVICE void record([[maybe_unused]] u32 kind, [[maybe_unused]] u32 operation, [[maybe_unused]] i32 pe, [[maybe_unused]] u64 address = 0,
                                 [[maybe_unused]] u64 bytes = 0, [[maybe_unused]] u64 local = 0, [[maybe_unused]] u64 signal = 0,
                                 [[maybe_unused]] u64 value = 0, [[maybe_unused]] u64 flags = 0) const {
#ifdef NVSHMEMRS_DEVICE_RECORD
        if (is_watched()) write_record(state_, caller_, file_, line_, kind, operation, pe, address, bytes, local, signal, value, flags);
#endif
    }

    // The same by a group whose threads have met. No thread continues before the checker has read the record.
    template <class G>
    NVSHMEMRS_I_DEVICE void record_as(u32 kind, u32 operation, i32 pe, const void *own, u64 bytes, const void *local, u64 signal, u64 flags) const {
        if (!is_watched()) return;
        if (G::rank() == 0) record(kind, operation, pe, (u64)own, bytes, (u64)local, signal, 0, flags);
        G::sync();
    }

    // A word for an atomic operation.
    template <class T> NVSHMEMRS_I_DEVICE Word<T> *atomic_word(u32 operation, i32 pe, const T *own, u32 effect) const {
        Word<T> *at = word(operation, pe, own);
        record(RECORD_ATOMIC, operation, pe, (u64)own, sizeof(T), 0, 0, 0, effect);
        return at;
    }

    // A value that an atomic operation or a wait has seen.
    template <class T, class W> NVSHMEMRS_I_DEVICE W seen(u32 operation, i32 pe, const T *own, W value) const {
        record(RECORD_SEEN, operation, pe, (u64)own, sizeof(T), 0, 0, (u64)value);
        return value;
    }

    // Ends a kernel of a checked job at an operation that cannot be recorded.
    NVSHMEMRS_I_DEVICE void refuse_watched(u32 operation) const {
        if (is_watched()) report(get().job, caller_, NOT_RECORDED, operation, get().my_pe, 0, 0);
    }

    NVSHMEMRS_I_DEVICE bool aborted() const { return load_relaxed((const u32 *)get().abort) != 0; }

  private:
    const State *state_;
    const char *caller_;
#ifdef NVSHMEMRS_DEVICE_RECORD
    const char *file_;
    u32 line_;
#endif
};

// A signal. CUDA's headers and the host's headers have different types of 64 bits.
class Signal {
  public:
    NVSHMEMRS_I_CALLED Signal(const unsigned long *at) : at(at) {}
    NVSHMEMRS_I_CALLED Signal(const unsigned long long *at) : at(at) {}
    const void *at;
};

// ---- Copies. ----

// The largest power of two, at most 16, that divides all bits of `mixed`.
NVSHMEMRS_I_DEVICE u32 common_power(u64 mixed) {
    mixed |= 16;
    return (u32)(mixed & (~mixed + 1));
}

// Copies `count` elements, K loads before the first store; thread `i` of `step`.
template <class T, int K, bool AHEAD> NVSHMEMRS_I_DEVICE void copy_elements(u64 dest, u64 source, u64 count, u64 i, u64 step) {
    for (; i + (K - 1) * step < count; i += K * step) {
        T values[K];
        if (AHEAD && i + K + 2048 / sizeof(T) < count) prefetch(source + i * sizeof(T) + 2048);
        NVSHMEMRS_I_UNROLL
        for (int k = 0; k < K; k++) values[k] = read<T>(source + (i + k * step) * sizeof(T));
        NVSHMEMRS_I_UNROLL
        for (int k = 0; k < K; k++) write<T>(dest + (i + k * step) * sizeof(T), values[k]);
    }
    for (; i < count; i += step) write<T>(dest + i * sizeof(T), read<T>(source + i * sizeof(T)));
}
// By a group. A single thread has few loads in flight, so it prefetches the data.
template <class G, class T> NVSHMEMRS_I_DEVICE void copy_as(u64 dest, u64 source, u64 count) {
    copy_elements<T, G::UNROLL, Is<G, Thread>::yes>(dest, source, count, G::rank(), G::size());
}

// By one thread: elements of the largest size that the alignment allows, one after the other.
template <int = 0> NVSHMEMRS_I_LOOP void copy_edge(u64 dest, u64 source, u64 bytes) {
    while (bytes > 0) {
        u32 power = common_power(dest | source);
        while (power > bytes) power /= 2;
        if (power == 16) write<Bytes16>(dest, read<Bytes16>(source));
        else if (power == 8) write<u64>(dest, read<u64>(source));
        else if (power == 4) write<u32>(dest, read<u32>(source));
        else if (power == 2) write<u16>(dest, read<u16>(source));
        else write<u8>(dest, read<u8>(source));
        dest += power;
        source += power;
        bytes -= power;
    }
}

// Shared memory for copies by the engines: barriers, and STAGES buffers, whose sizes are multiples of BULK_UNIT.
enum : u32 { STAGES = 8, AHEAD = 6, BARRIERS = 128, BULK_UNIT = 128, LEAST_SMEM = BARRIERS + STAGES * 1024, LEAST_BULK = 2048 };
// The number of sixteen-byte pieces from which on a group's copy begins at a whole line.
enum : u32 { LEAST_LINES = 2048 };

// Lent shared memory, as in State::lent: start and size in units of sixteen bytes. 0: none.
NVSHMEMRS_I_DEVICE u32 lend([[maybe_unused]] void *smem, [[maybe_unused]] u64 bytes) {
#ifdef NVSHMEMRS_I_NO_BULK
    return 0;
#else
    u32 at = (u32)__cvta_generic_to_shared(smem), skipped = -at % 16;
    if (bytes < skipped + LEAST_SMEM) return 0;
    return (at + skipped) / 16 << 16 | (u32)least((bytes - skipped) / 16, 0xffff);
#endif
}

#ifndef NVSHMEMRS_I_NO_BULK
// By one thread: the copy engines copy multiples of sixteen bytes through lent shared memory. Loads run AHEAD of the stores, and a buffer is
// loaded again once all stores but the latest have read their data.
template <int = 0> __device__ __noinline__ void copy_bulk(u32 lent, u64 dest, u64 source, u64 bytes) {
    u32 barriers = (lent >> 16) * 16, buffers = barriers + BARRIERS;
    u32 stage = ((lent & 0xffff) * 16 - BARRIERS) / STAGES / BULK_UNIT * BULK_UNIT;
    u64 count = (bytes + stage - 1) / stage;
    bulk_begin(barriers, STAGES);
    for (u64 i = 0; i < count + AHEAD; i++) {
        if (i < count) {
            u32 at = i % STAGES;
            if (i >= STAGES) bulk_await_reads();
            bulk_load(buffers + at * stage, source + i * stage, (u32)least(stage, bytes - i * stage), barriers + at * 8);
        }
        if (i >= AHEAD) {
            u64 k = i - AHEAD;
            u32 at = k % STAGES;
            bulk_await(barriers + at * 8, k / STAGES & 1);
            bulk_store(dest + k * stage, buffers + at * stage, (u32)least(stage, bytes - k * stage));
        }
    }
    bulk_end(barriers, STAGES);
}
#endif

// Copies sixteen bytes at a time.
template <class G> NVSHMEMRS_I_DEVICE void copy_sixteens(u64 dest, u64 source, u64 count, [[maybe_unused]] u32 lent) {
#ifndef NVSHMEMRS_I_NO_BULK
    if (!Is<G, Block>::yes && lent && count >= LEAST_BULK / 16 && is_global(dest) && is_global(source)) {
        if (G::rank() == 0) copy_bulk(lent, dest, source, count * 16);
        return;
    }
#endif
    // Whole lines of 128 bytes leave the GPU fastest.
    u64 lead = least((u64)(-dest) % 128 / 16, count);
    if (Is<G, Thread>::yes || count < LEAST_LINES) lead = 0;
    for (u64 i = G::rank(); i < lead; i += G::size()) write<Bytes16>(dest + i * 16, read<Bytes16>(source + i * 16));
    copy_as<G, Bytes16>(dest + lead * 16, source + lead * 16, count - lead);
}

// Copies `bytes` bytes of elements aligned to ALIGN; source and destination do not overlap. The group's threads share the work. `lent`: see
// State.
template <class G, u32 ALIGN> NVSHMEMRS_I_LOOP void copy(u64 dest, u64 source, u64 bytes, u32 lent = 0) {
    if constexpr (ALIGN <= 8) {
        // One element needs no loop.
        typedef typename WordOf<ALIGN>::type W;
        if (bytes <= ALIGN) {
            if (bytes == ALIGN && G::rank() == 0) write<W>(dest, read<W>(source));
            return;
        }
    }
    // Where both sides can be aligned at once.
    u32 power = common_power(dest ^ source);
    u64 head = least((u64)(-dest) & (power - 1), bytes), count = (bytes - head) / power, body = count * power;
    if (power == 16) copy_sixteens<G>(dest + head, source + head, count, lent);
    else if (ALIGN <= 8 && power == 8) copy_as<G, u64>(dest + head, source + head, count);
    else if (ALIGN <= 4 && power == 4) copy_as<G, u32>(dest + head, source + head, count);
    else if (ALIGN <= 2 && power == 2) copy_as<G, u16>(dest + head, source + head, count);
    else if (ALIGN == 1) copy_as<G, u8>(dest + head, source + head, count);
    if (G::rank() == G::size() - 1) {
        copy_edge(dest, source, head);
        copy_edge(dest + head + body, source + head + body, bytes - head - body);
    }
}

template <class G, class T> NVSHMEMRS_I_LOOP void copy_strided(u64 dest, u64 source, i64 dest_step, i64 source_step, u64 count) {
    for (u64 i = G::rank(); i < count; i += G::size())
        write<T>(dest + i * dest_step * sizeof(T), read<T>(source + i * source_step * sizeof(T)));
}

// ---- Remote memory access. T: the type of the elements, or a word of their size. ----

template <class T> NVSHMEMRS_I_DEVICE void p(Given s, T *dest, const T &value, i32 pe) {
    Word<T> *word = s.word(PUT, pe, dest);
    s.record(RECORD_PUT, PUT, pe, (u64)dest, sizeof(T));
    store_relaxed(word, bits<Word<T>>(value));
}
template <class T> NVSHMEMRS_I_DEVICE T g(Given s, const T *source, i32 pe) {
    Word<T> *word = s.word(GET, pe, source);
    s.record(RECORD_GET, GET, pe, (u64)source, sizeof(T));
    return bits<T>(load_relaxed(word));
}

template <class G, u32 ALIGN, u32 OPERATION> NVSHMEMRS_I_LOOP void put(Given s, void *dest, const void *source, u64 bytes, i32 pe) {
    u64 to = s.on(OPERATION, pe, dest, bytes, ALIGN);
    G::sync();
    s.record_as<G>(RECORD_PUT, OPERATION, pe, dest, bytes, source, 0, OPERATION == PUT ? NO_FLAGS : UNTIL_QUIET);
    copy<G, ALIGN>(to, (u64)source, bytes, s.get().lent);
    if (OPERATION == PUT) G::sync();
}
template <class G, u32 ALIGN, u32 OPERATION> NVSHMEMRS_I_LOOP void get(Given s, void *dest, const void *source, u64 bytes, i32 pe) {
    u64 from = s.on(OPERATION, pe, source, bytes, ALIGN);
    G::sync();
    s.record_as<G>(RECORD_GET, OPERATION, pe, source, bytes, dest, 0, OPERATION == GET ? NO_FLAGS : UNTIL_QUIET);
    copy<G, ALIGN>((u64)dest, from, bytes, s.get().lent);
    if (OPERATION == GET) G::sync();
}

// Bytes from the first to the end of the last of `count` elements; strides are at least 1.
NVSHMEMRS_I_DEVICE u64 span(i64 step, u64 count, u32 size) { return count ? ((count - 1) * step + 1) * size : 0; }

// Records each element of a put or a get with strides.
template <class G, class T>
NVSHMEMRS_I_DEVICE void record_strided(Given s, u32 kind, u32 operation, i32 pe, const void *own, i64 own_step, const void *local, i64 local_step, u64 count) {
    if (!s.is_watched()) return;
    for (u64 i = 0; i < count && G::rank() == 0; i++)
        s.record(kind, operation, pe, (u64)own + i * own_step * sizeof(T), sizeof(T), (u64)local + i * local_step * sizeof(T));
    G::sync();
}

template <class G, class T> NVSHMEMRS_I_LOOP void iput(Given s, void *dest, const void *source, i64 dest_step, i64 source_step, u64 count, i32 pe) {
    u64 to = s.on(IPUT, pe, dest, span(dest_step, count, sizeof(T)), sizeof(T));
    G::sync();
    record_strided<G, T>(s, RECORD_PUT, IPUT, pe, dest, dest_step, source, source_step, count);
    copy_strided<G, T>(to, (u64)source, dest_step, source_step, count);
    G::sync();
}
template <class G, class T> NVSHMEMRS_I_LOOP void iget(Given s, void *dest, const void *source, i64 dest_step, i64 source_step, u64 count, i32 pe) {
    u64 from = s.on(IGET, pe, source, span(source_step, count, sizeof(T)), sizeof(T));
    G::sync();
    record_strided<G, T>(s, RECORD_GET, IGET, pe, source, source_step, dest, dest_step, count);
    copy_strided<G, T>((u64)dest, from, dest_step, source_step, count);
    G::sync();
}

// Sources may be used again. The checker has this rule for quiet, so a flush is recorded as a quiet.
template <class G> NVSHMEMRS_I_DEVICE void record_flush([[maybe_unused]] Given s) {
#ifdef NVSHMEMRS_DEVICE_RECORD
    s.record_as<G>(RECORD_QUIET, QUIET, s.get().my_pe, nullptr, 0, nullptr, 0, 0);
#endif
}

// ---- Signals. ----

NVSHMEMRS_I_DEVICE void update_signal(u64 *signal, u64 value, int op) {
    if (op == NVSHMEMRS_SIGNAL_ADD) add_relaxed(signal, value);
    else store_relaxed(signal, value);
}

template <class G, u32 ALIGN, u32 OPERATION>
NVSHMEMRS_I_LOOP void put_signal(Given s, void *dest, const void *source, u64 bytes, Signal signal, u64 value, int op, i32 pe) {
    u64 to = s.on(OPERATION, pe, dest, bytes, ALIGN);
    u64 *word = s.word(OPERATION, pe, (const u64 *)signal.at);
    s.check_argument(op == NVSHMEMRS_SIGNAL_SET || op == NVSHMEMRS_SIGNAL_ADD, OPERATION, op);
    G::sync();
    // The meeting orders the earlier puts of the group's threads before the signal.
    s.record_as<G>(RECORD_PUT_SIGNAL, OPERATION, pe, dest, bytes, source, (u64)signal.at,
                 (u32)(OPERATION == PUT_SIGNAL ? NO_FLAGS : UNTIL_QUIET) | (u32)(Is<G, Thread>::yes ? NO_FLAGS : FENCED));
    copy<G, ALIGN>(to, (u64)source, bytes, s.get().lent);
    // The release of one thread covers the stores of the other threads before the meeting.
    G::sync();
    if (G::rank() == 0) {
        if (op == NVSHMEMRS_SIGNAL_ADD) apply_add(word, value);
        else store_release(word, value);
    }
}

// ---- Atomic memory operations. ----

// The addition of elements of a type.
template <class T, class W> struct Adding {
    static NVSHMEMRS_I_DEVICE W fetch(W *at, W value) { return fetch_add(at, value); }
    static NVSHMEMRS_I_DEVICE void apply(W *at, W value) { apply_add(at, value); }
};
// The hardware's atomic addition in single precision flushes subnormal numbers to 0, so this function compares and swaps.
template <> struct Adding<float, u32> {
    static NVSHMEMRS_I_DEVICE u32 fetch(u32 *at, u32 value) {
        for (u32 old = load_relaxed(at);;) {
            u32 seen = compare_swap(at, old, bits<u32>(bits<float>(old) + bits<float>(value)));
            if (seen == old) return old;
            old = seen;
        }
    }
    static NVSHMEMRS_I_DEVICE void apply(u32 *at, u32 value) { fetch(at, value); }
};
template <> struct Adding<double, u64> {
    static NVSHMEMRS_I_DEVICE u64 fetch(u64 *at, u64 value) { return bits<u64>(fetch_add((double *)at, bits<double>(value))); }
    static NVSHMEMRS_I_DEVICE void apply(u64 *at, u64 value) { apply_add((double *)at, bits<double>(value)); }
};
// Half.
template <class T> struct Adding<T, u16> {
    static NVSHMEMRS_I_DEVICE u16 fetch(u16 *at, u16 value) {
        for (u16 old = load_relaxed(at);;) {
            u16 seen = compare_swap(at, old, float_to_half(half_to_float(old) + half_to_float(value)));
            if (seen == old) return old;
            old = seen;
        }
    }
    static NVSHMEMRS_I_DEVICE void apply(u16 *at, u16 value) { fetch(at, value); }
};
// The hardware has no exchange of 16 bits.
NVSHMEMRS_I_DEVICE u16 fetch_swap(u16 *at, u16 value) {
    for (u16 old = load_relaxed(at);;) {
        u16 seen = compare_swap(at, old, value);
        if (seen == old) return old;
        old = seen;
    }
}

template <class T> NVSHMEMRS_I_DEVICE T atomic_fetch(Given s, const T *source, i32 pe) {
    return bits<T>(s.seen(ATOMIC_FETCH, pe, source, load_acquire(s.atomic_word(ATOMIC_FETCH, pe, source, READS))));
}
template <class T> NVSHMEMRS_I_DEVICE void atomic_set(Given s, T *dest, const T &value, i32 pe) {
    store_release(s.atomic_word(ATOMIC_SET, pe, dest, WRITES), bits<Word<T>>(value));
}
template <class T> NVSHMEMRS_I_DEVICE T atomic_swap(Given s, T *dest, const T &value, i32 pe) {
    return bits<T>(s.seen(ATOMIC_SWAP, pe, dest, fetch_swap(s.atomic_word(ATOMIC_SWAP, pe, dest, FETCHES), bits<Word<T>>(value))));
}
template <class T> NVSHMEMRS_I_DEVICE T atomic_compare_swap(Given s, T *dest, const T &cond, const T &value, i32 pe) {
    Word<T> *word = s.atomic_word(ATOMIC_COMPARE_SWAP, pe, dest, FETCHES);
    return bits<T>(s.seen(ATOMIC_COMPARE_SWAP, pe, dest, compare_swap(word, bits<Word<T>>(cond), bits<Word<T>>(value))));
}
template <class T> NVSHMEMRS_I_DEVICE void atomic_add(Given s, u32 operation, T *dest, const T &value, i32 pe) {
    Adding<T, Word<T>>::apply(s.atomic_word(operation, pe, dest, WRITES), bits<Word<T>>(value));
}
template <class T> NVSHMEMRS_I_DEVICE T atomic_fetch_add(Given s, u32 operation, T *dest, const T &value, i32 pe) {
    Word<T> *word = s.atomic_word(operation, pe, dest, FETCHES);
    return bits<T>(s.seen(operation, pe, dest, Adding<T, Word<T>>::fetch(word, bits<Word<T>>(value))));
}

// ---- Waits and tests of words of this PE that others write. ----

template <class T> NVSHMEMRS_I_DEVICE bool compare(int cmp, T left, T right) {
    switch (cmp) {
    case NVSHMEMRS_CMP_EQ: return left == right;
    case NVSHMEMRS_CMP_NE: return left != right;
    case NVSHMEMRS_CMP_GT: return left > right;
    case NVSHMEMRS_CMP_LE: return left <= right;
    case NVSHMEMRS_CMP_LT: return left < right;
    default: return left >= right;
    }
}

// The elements that a call waits for, each compared with `value`, or with an element of `values`.
template <class T> struct Elements {
    const T *ivars;
    u64 count;
    // An element whose status is not 0 is skipped. NULL: no element is skipped.
    const int *status;
    int cmp;
    T value;
    const T *values;

    NVSHMEMRS_I_DEVICE bool excluded(u64 i) const { return status && status[i] != 0; }
    NVSHMEMRS_I_DEVICE bool holds(Given s, u32 operation, u64 i) const {
        Word<T> found = load_acquire((const Word<T> *)(ivars + i));
        if (!compare<T>(cmp, (T)found, values ? values[i] : value)) return false;
        s.seen(operation, s.get().my_pe, ivars + i, found);
        return true;
    }
};

template <class T> NVSHMEMRS_I_DEVICE void check_elements(Given s, u32 operation, const Elements<T> &e) {
    s.check_own(operation, e.ivars, e.count * sizeof(T), sizeof(T));
    s.check_argument(e.cmp >= NVSHMEMRS_CMP_EQ && e.cmp <= NVSHMEMRS_CMP_GE, operation, e.cmp);
}

// Whether the comparison has held once for each element.
template <bool WAIT, class T> NVSHMEMRS_I_LOOP bool wait_all(Given s, u32 operation, Elements<T> e) {
    check_elements(s, operation, e);
    u32 polls = 0;
    for (u64 i = 0; i < e.count; i++) {
        if (e.excluded(i)) continue;
        while (!e.holds(s, operation, i))
            if (!WAIT || (++polls % POLLS == 0 && s.aborted())) return false;
    }
    return true;
}

// The index of an element that holds; ~0 if no element holds. A search begins at a random index, so a series of calls finds every element that
// holds.
template <bool WAIT, class T> NVSHMEMRS_I_LOOP u64 wait_any(Given s, u32 operation, Elements<T> e) {
    check_elements(s, operation, e);
    u64 mixed = clock() * 0x9e3779b97f4a7c15ull, start = e.count ? (mixed >> 32) % e.count : 0;
    for (u32 polls = 0;;) {
        bool candidates = false;
        for (u64 k = 0; k < e.count; k++) {
            u64 i = k < e.count - start ? start + k : k - (e.count - start);
            if (e.excluded(i)) continue;
            candidates = true;
            if (e.holds(s, operation, i)) return i;
            if (WAIT && ++polls % POLLS == 0 && s.aborted()) return ~0ull;
        }
        if (!WAIT || !candidates) return ~0ull;
    }
}

// The number of elements that hold, and their indices.
template <bool WAIT, class T> NVSHMEMRS_I_LOOP u64 wait_some(Given s, u32 operation, unsigned long *indices, Elements<T> e) {
    check_elements(s, operation, e);
    for (u32 polls = 0;;) {
        bool candidates = false;
        u64 found = 0;
        for (u64 i = 0; i < e.count; i++) {
            if (e.excluded(i)) continue;
            candidates = true;
            if (e.holds(s, operation, i)) indices[found++] = i;
            else if (WAIT && ++polls % POLLS == 0 && s.aborted()) return found;
        }
        if (found || !WAIT || !candidates) return found;
    }
}

NVSHMEMRS_I_DEVICE u64 signal_wait(Given s, const u64 *signal, int cmp, u64 value) {
    s.check_own(SIGNAL_WAIT, signal, 8, 8);
    s.check_argument(cmp >= NVSHMEMRS_CMP_EQ && cmp <= NVSHMEMRS_CMP_GE, SIGNAL_WAIT, cmp);
    for (u32 polls = 1;; polls++) {
        u64 seen = load_acquire(signal);
        if (compare(cmp, seen, value)) return s.seen(SIGNAL_WAIT, s.get().my_pe, signal, seen);
        if (polls % POLLS == 0 && s.aborted()) return seen;
    }
}

// ---- Teams. ----

// The row of a handle, which is not yet checked: the rows follow the job in memory, so that both are loaded at the same time.
NVSHMEMRS_I_DEVICE const Team *row_of(const State &s, u64 handle) { return (const Team *)((const Job *)s.job + 1) + least((u32)handle, TEAMS - 1); }
// A team, if this PE is a member; else an empty team, whose n is 0.
NVSHMEMRS_I_DEVICE Team find_team(const State &s, u64 handle) {
    const Job *job = (const Job *)s.job;
    Team team = *row_of(s, handle);
    if ((u32)handle >= job->n_teams || team.n < 0 || team.generation != (u32)(handle >> 32)) team.n = 0;
    return team;
}
NVSHMEMRS_I_DEVICE i32 pe_of(const Team &team, i32 member) {
    return team.step ? team.first + member * team.step : ((const i32 *)team.members)[member];
}
NVSHMEMRS_I_DEVICE i32 member_of(const Team &team, i32 pe) {
    for (i32 m = 0; m < team.n; m++)
        if (pe_of(team, m) == pe) return m;
    return -1;
}

// ---- Collectives. ----

// The end of a wait for mail: the word has arrived; the sender meets the members instead; the job is broken.
enum Taken { TAKEN, NOT_SENT, BROKEN };

// A collective call of a group, which meets the groups of the other members. All threads of the group have equal copies.
template <class G> class Call {
  public:
    const State &s;
    // The number of members, and this PE's number in the team.
    i32 n, me;

    NVSHMEMRS_I_PART Call(const Given &given, u32 operation, u64 handle, u32 slot)
        : s(given.get()), given_(given.by_members()), row_(row_of(s, handle)), operation_(operation), team_((u32)handle), slot_(slot) {
        const Job *job = (const Job *)s.job;
        // A thread of the group may just have met other members in this slot in a call of its own.
        G::sync();
        // All of these loads are in flight at the same time.
        n = row_->n, me = row_->me, first_ = row_->first, step_ = row_->step;
        const u64 *counter = (const u64 *)row_->epochs + slot;
        if ((u32)handle >= job->n_teams || row_->generation != (u32)(handle >> 32)) n = 0;
        if (s.check & CHECK_HOSTS && n != 0 && row_->far) report(s.job, given_.caller(), FAR_PE, operation, row_->far - 1, handle, 0);
        if (s.check & CHECK_ARGUMENTS && n == 0) report(s.job, given_.caller(), WRONG_TEAM, operation, s.my_pe, handle, 0);
        if (s.check & CHECK_ARGUMENTS && slot >= job->slots) report(s.job, given_.caller(), WRONG_SLOT, operation, s.my_pe, slot, 0);
        good_ = n != 0 && slot < job->slots;
        if (good_) epoch_ = load_relaxed(counter);
    }

    NVSHMEMRS_I_DEVICE bool good() const { return good_; }

    // Symmetric memory of member m.
    NVSHMEMRS_I_DEVICE u64 on(i32 m, const void *own) const { return (u64)own + (u64)(i64)(pe(m) - s.my_pe) * s.stride; }

    // Checks that `bytes` bytes of this PE are symmetric, if checks are on.
    NVSHMEMRS_I_PART void check(u32 operation, const void *own, u64 bytes, u32 align) const {
        if (s.check & CHECK_ARGUMENTS)
            check_memory(s.check, s.job, given_.caller(), s.base + (u64)s.my_pe * s.stride, s.n_pes, operation, s.my_pe, (u64)own, bytes, align);
    }

    // The call reads or writes memory of this PE.
    NVSHMEMRS_I_DEVICE void reads(const void *own, u64 bytes) const { uses(own, bytes, 0); }
    NVSHMEMRS_I_DEVICE void writes(const void *own, u64 bytes) const { uses(own, bytes, WRITES_OWN); }

    // Returns when all members have come, and the earlier stores of their groups are visible; false: the job is broken. steps: 0 if this
    // meeting has an epoch already, because mail was sent in this epoch.
    NVSHMEMRS_I_PART bool meet(u32 steps = 1) {
        if (!good_) return false;
        // The stores of the group's threads come before the announcement of one of them. The load of the epoch may still be in flight.
        G::sync();
        u64 sync = row_->sync;
        u64 *counter = this->counter();
        if ((i32)G::rank() < n) fence();
        epoch_ += steps;
        record_meeting(RECORD_ARRIVAL);
        u64 row = sync + ((u64)slot_ * 2 + (epoch_ & 1)) * n * 8, own = s.base + (u64)s.my_pe * s.stride + row;
        for (i32 m = G::rank(); m < n; m += G::size())
            if (m != me) store_relaxed((u64 *)(s.base + (u64)pe(m) * s.stride + row) + me, epoch_);
        keep_epoch(counter);
        bool came = true;
        for (i32 m = G::rank(); m < n && came; m += G::size())
            for (u32 polls = 1; m != me && load_acquire((const u64 *)own + m) < epoch_; polls++)
                if (polls % POLLS == 0 && load_relaxed((const u32 *)s.abort)) {
                    came = false;
                    break;
                }
        good_ = !G::any(!came);
        if (good_) record_meeting(RECORD_MEETING);
        return good_;
    }

    // The end of a call: no member reads this PE's source any more.
    NVSHMEMRS_I_DEVICE int leave() { return meet() ? 0 : -1; }

    // Whether members send this number of words by mail, and the place of the mail.
    NVSHMEMRS_I_PART bool has_mail([[maybe_unused]] u64 bytes) {
#ifdef NVSHMEMRS_DEVICE_NO_MAIL
        return false;
#else
        bool longer = bytes > MAIL_WORDS * 4;
        mail_words_ = longer ? row_->long_words : MAIL_WORDS;
        mail_ = row_->mail;
        // The checker needs meetings, and there are none with mail.
        if (given_.is_watched() || mail_ == 0 || slot_ >= MAIL_SLOTS || bytes == 0 || bytes > mail_words_ * 4) return false;
        if (longer) mail_ += (u64)MAIL_SLOTS * 2 * s.n_pes * MAIL_WORDS * 8;
        return true;
#endif
    }

    // Words that a thread reads at once, of elements of EACH words.
    static constexpr NVSHMEMRS_I_DEVICE u32 batch(u32 each) { return each > MAIL_BATCH ? each : MAIL_BATCH; }

    // Sends `source` to all members, including this member.
    NVSHMEMRS_I_PART void post(const void *source, u32 bytes) {
        epoch_++;
        G::sync();
        u32 words = (bytes + 3) / 4;
        u64 place = s.base + mail(me), flag = epoch_ << 32;
        for (u32 first = G::rank(); first < words; first += G::size() * MAIL_BATCH) {
            // The loads of a batch are in flight at the same time.
            u32 values[MAIL_BATCH];
            NVSHMEMRS_I_UNROLL
            for (u32 k = 0; k < MAIL_BATCH; k++) {
                u32 word = first + k * G::size();
                values[k] = word < words ? word_of((u64)source, bytes, word) : 0;
            }
            for (i32 m = 0; m < n; m++) {
                u64 *to = (u64 *)(place + (u64)pe(m) * s.stride);
                NVSHMEMRS_I_UNROLL
                for (u32 k = 0; k < MAIL_BATCH; k++)
                    if (first + k * G::size() < words) store_relaxed(to + first + k * G::size(), flag | values[k]);
            }
        }
        keep_epoch(counter());
        // No thread reads the source from here on.
        G::sync();
    }

    // Reads words that a member has sent: BATCH / EACH runs of EACH words, from `first` on, as far as they are below `words`. The result
    // says whether all words have arrived, or why not.
    //
    // A member that has met the others in this epoch has sent no mail, or has not received all mail. Then no member receives all mail, and all
    // members meet: no member has left this epoch before.
    template <u32 EACH> NVSHMEMRS_I_PART Taken take(i32 m, u32 first, u32 words, u32 *values) const {
        constexpr u32 BATCH = batch(EACH);
        u64 own = s.base + (u64)s.my_pe * s.stride;
        const u64 *at = (const u64 *)(own + mail(m));
        for (u32 polls = 1;; polls++) {
            bool missing = false;
            u64 seen[BATCH];
            NVSHMEMRS_I_UNROLL
            for (u32 k = 0; k < BATCH; k++) {
                u32 word = first + k / EACH * EACH * G::size() + k % EACH;
                seen[k] = word < words ? load_relaxed(at + word) : epoch_ << 32;
            }
            NVSHMEMRS_I_UNROLL
            for (u32 k = 0; k < BATCH; k++) {
                values[k] = (u32)seen[k];
                if ((u32)(seen[k] >> 32) != (u32)epoch_) missing = true;
            }
            if (!missing) return TAKEN;
            if (polls % MAIL_POLLS == 0) {
                u64 row = row_->sync + ((u64)slot_ * 2 + (epoch_ & 1)) * n * 8;
                if (load_relaxed((const u64 *)(own + row) + m) >= epoch_) return NOT_SENT;
                if (polls % POLLS == 0 && load_relaxed((const u32 *)s.abort)) return BROKEN;
            }
        }
    }

    // The common result of all threads of the group.
    NVSHMEMRS_I_DEVICE Taken all_taken(Taken taken) {
        if (!G::any(taken != TAKEN)) return TAKEN;
        return G::any(taken == BROKEN) ? BROKEN : NOT_SENT;
    }

  private:
    // The address of member m's mail on a member.
    NVSHMEMRS_I_DEVICE u64 mail(i32 m) const { return mail_ + (((u64)slot_ * 2 + (epoch_ & 1)) * n + m) * mail_words_ * 8; }
    static NVSHMEMRS_I_DEVICE u32 word_of(u64 source, u32 bytes, u32 word) {
        u64 at = source + word * 4;
        if (at % 4 == 0 && bytes >= word * 4 + 4) return read<u32>(at);
        u32 value = 0;
        for (u32 k = 0; k < 4 && word * 4 + k < bytes; k++) value |= (u32)read<u8>(at + k) << k * 8;
        return value;
    }
    // The PE of a member.
    NVSHMEMRS_I_DEVICE i32 pe(i32 m) const { return step_ ? first_ + m * step_ : ((const i32 *)row_->members)[m]; }
    NVSHMEMRS_I_DEVICE void keep_epoch(u64 *counter) const {
        if (G::rank() == 0) store_relaxed(counter, epoch_);
    }
    NVSHMEMRS_I_DEVICE u64 *counter() const { return (u64 *)row_->epochs + slot_; }
    NVSHMEMRS_I_DEVICE void uses([[maybe_unused]] const void *own, [[maybe_unused]] u64 bytes, [[maybe_unused]] u32 flags) const {
        if (given_.is_watched() && G::rank() == 0) given_.record(RECORD_USE, operation_, s.my_pe, (u64)own, bytes, 0, 0, 0, flags);
    }
    // No thread of the group continues before the checker has read the record.
    NVSHMEMRS_I_DEVICE void record_meeting([[maybe_unused]] u32 kind) const {
        if (!given_.is_watched()) return;
        u32 flags = operation_ == BARRIER || operation_ == SYNC ? COMPLETES : NO_FLAGS;
        if (G::rank() == 0) given_.record(kind, operation_, s.my_pe, team_, 0, 0, 0, epoch_, flags);
        G::sync();
    }
    Given given_;
    const Team *row_;
    i32 first_, step_;
    u32 operation_, team_, slot_;
    bool good_;
    u64 epoch_;
    // The start of the mail in use, and the words that a member sends another member.
    u64 mail_;
    u32 mail_words_;
};

template <class G> NVSHMEMRS_I_LOOP int barrier(Given s, u32 operation, u64 team, u32 slot) {
    Call<G> call(s, operation, team, slot);
    return call.leave();
}

template <class G, u32 ALIGN> NVSHMEMRS_I_LOOP int broadcast(Given s, u64 team, void *dest, const void *source, u64 bytes, i32 root, u32 slot) {
    Call<G> call(s, BROADCAST, team, slot);
    if (!call.good()) return -1;
    call.check(BROADCAST, dest, bytes, ALIGN);
    call.check(BROADCAST, source, bytes, ALIGN);
    s.check_argument(root >= 0 && root < call.n, BROADCAST, root);
    if (call.me == root) call.reads(source, bytes);
    if (!call.meet()) return -1;
    if (call.me != root || dest != source) call.writes(dest, bytes);
    if (call.me != root || dest != source) copy<G, ALIGN>((u64)dest, call.on(root, source), bytes);
    return call.leave();
}

// Member m's part goes to the m-th place of `dest`. STEP: the place of the part in member m's source, in parts: 0, or this member's number.
template <class G, u32 ALIGN, u32 OPERATION>
NVSHMEMRS_I_LOOP int gather(Given s, u64 team, void *dest, const void *source, u64 bytes, u32 slot) {
    Call<G> call(s, OPERATION, team, slot);
    if (!call.good()) return -1;
    i32 n = call.n, me = call.me;
    call.check(OPERATION, dest, bytes * n, ALIGN);
    call.check(OPERATION, source, OPERATION == ALLTOALL ? bytes * n : bytes, ALIGN);
    call.reads(source, OPERATION == ALLTOALL ? bytes * n : bytes);
    if (!call.meet()) return -1;
    call.writes(dest, bytes * n);
    u64 from = OPERATION == ALLTOALL ? me * bytes : 0;
    // Each member begins with a different member.
    for (i32 k = 0; k < n; k++) {
        i32 m = me + k < n ? me + k : me + k - n;
        copy<G, ALIGN>((u64)dest + m * bytes, call.on(m, source) + from, bytes);
    }
    return call.leave();
}

// ---- Reductions: a left fold in the order of the team, as on the host. ----

enum : u32 { SUM = 1, MIN = 2, MAX = 3, PROD = 4, AND = 5, OR = 6, XOR = 7 };

// The types and conversions of elements in reductions.
struct Half {
    u16 bits;
};
struct Bfloat16 {
    u16 bits;
};
struct Float8E4m3fn {
    u8 bits;
};
struct Float8E5m2 {
    u8 bits;
};
struct Located {
    double value, place;
};

// The type that elements are folded in; narrow floating-point numbers in single precision, rounded once at the end.
template <class E> struct Wide {
    typedef E type;
    static NVSHMEMRS_I_DEVICE E widen(E value) { return value; }
    static NVSHMEMRS_I_DEVICE E narrow(E value) { return value; }
};
template <> struct Wide<Half> {
    typedef float type;
    static NVSHMEMRS_I_DEVICE float widen(Half half) {
        u32 magnitude = half.bits & 0x7fff, sign = (u32)(half.bits & 0x8000) << 16;
        // A NaN keeps its payload and becomes quiet.
        if (magnitude > 0x7c00) return device::bits<float>((u32)(sign | 0x7fc00000 | (magnitude & 0x3ff) << 13));
        return half_to_float(half.bits);
    }
    static NVSHMEMRS_I_DEVICE Half narrow(float value) {
        u32 word = device::bits<u32>(value);
        if ((word & 0x7fffffff) > 0x7f800000) return {(u16)((word >> 16 & 0x8000) | 0x7e00 | (word >> 13 & 0x3ff))};
        return {float_to_half(value)};
    }
};
template <> struct Wide<Bfloat16> {
    typedef float type;
    static NVSHMEMRS_I_DEVICE float widen(Bfloat16 value) {
        u32 word = (u32)value.bits << 16;
        return device::bits<float>((word & 0x7fffffff) > 0x7f800000 ? word | 0x400000 : word);
    }
    static NVSHMEMRS_I_DEVICE Bfloat16 narrow(float value) {
        u32 word = device::bits<u32>(value);
        // Rounds to nearest, ties to even.
        if ((word & 0x7fffffff) > 0x7f800000) return {(u16)(word >> 16 | 0x40)};
        return {(u16)((word + 0x7fff + (word >> 16 & 1)) >> 16)};
    }
};

// Numbers of 8 bits, with the bits of core/crates/vocabulary/src/float8.rs. Instructions for them begin with sm_89. Half represents all of
// these numbers, so they are widened through half.
NVSHMEMRS_I_DEVICE u8 float_to_float8(float value, u32 mantissa, u32 bias, u32 max) {
    u32 word = device::bits<u32>(value), sign = word >> 24 & 0x80, magnitude = word & 0x7fffffff;
    u32 shift = 23 - mantissa, normal = 128 - bias, unit = (normal + shift) << 23;
    // Rounds to nearest, ties to even. The last bit of the sum is the smallest number, so the addition rounds.
    u32 small = device::bits<u32>(device::bits<float>(magnitude) + device::bits<float>(unit)) - unit;
    u32 large = ((magnitude + (1u << (shift - 1)) - 1 + (magnitude >> shift & 1)) >> shift) - ((normal - 1) << mantissa);
    u32 code = magnitude < normal << 23 ? small : large;
    code = sign | (code < max ? code : max);
    return magnitude > 0x7f800000 ? 0x7f : (u8)code;
}
template <> struct Wide<Float8E4m3fn> {
    typedef float type;
    static NVSHMEMRS_I_DEVICE float widen(Float8E4m3fn value) {
        u32 magnitude = value.bits & 0x7f, sign = (u32)(value.bits & 0x80) << 8;
        // Half's exponents are 2^8 lower.
        float number = half_to_float((u16)(sign | magnitude << 7)) * 256.0f;
        return magnitude == 0x7f ? device::bits<float>(0x7fc00000u) : number;
    }
    static NVSHMEMRS_I_DEVICE Float8E4m3fn narrow(float value) { return {float_to_float8(value, 3, 7, 0x7e)}; }
};
template <> struct Wide<Float8E5m2> {
    typedef float type;
    static NVSHMEMRS_I_DEVICE float widen(Float8E5m2 value) { return half_to_float((u16)(value.bits << 8)); }
    static NVSHMEMRS_I_DEVICE Float8E5m2 narrow(float value) { return {float_to_float8(value, 2, 15, 0x7b)}; }
};

// Integers are unsigned here, except for comparisons, so that they wrap around.
template <class T, bool INTEGER, bool SIGNED> struct Carried { typedef T type; };
template <class T, bool SIGNED> struct Carried<T, true, SIGNED> { typedef Word<T> type; };
template <> struct Carried<signed char, true, true> { typedef i8 type; };
template <> struct Carried<char, true, true> { typedef i8 type; };
template <> struct Carried<short, true, true> { typedef i16 type; };
template <> struct Carried<int, true, true> { typedef i32 type; };
template <> struct Carried<long, true, true> { typedef i64 type; };
template <> struct Carried<long long, true, true> { typedef i64 type; };
template <class T, u32 OP> struct ElementOf {
    static constexpr bool INTEGER = (T)1 / 2 == 0, SIGNED = (T)-1 < (T)0;
    typedef typename Carried<T, INTEGER, SIGNED && (OP == MIN || OP == MAX)>::type type;
};

template <class T, u32 OP> using Number = typename ElementOf<T, OP>::type;

template <class T> NVSHMEMRS_I_DEVICE bool is_nan(T value) { return value != value; }

// The result of a NaN and any value is the first NaN.
template <u32 OP> struct Fold {
    template <class T> static NVSHMEMRS_I_DEVICE T fold(T a, T b) {
        if constexpr (OP == SUM) return (T)(a + b);
        // Narrow integers would be multiplied as int, and could overflow.
        else if constexpr (OP == PROD && sizeof(T) == 2) return (T)((u32)a * b);
        else if constexpr (OP == PROD) return (T)(a * b);
        else if constexpr (OP == MIN) return (b < a || is_nan(b)) && !is_nan(a) ? b : a;
        else if constexpr (OP == MAX) return (b > a || is_nan(b)) && !is_nan(a) ? b : a;
        else if constexpr (OP == AND) return a & b;
        else if constexpr (OP == OR) return a | b;
        else return a ^ b;
    }
    // The largest value with its place; among equal values, the place of the first member.
    static NVSHMEMRS_I_DEVICE Located fold(Located a, Located b) {
        return (b.value > a.value || is_nan(b.value)) && !is_nan(a.value) ? b : a;
    }
};

// Elements that one access loads.
template <class E, int COUNT> struct alignas(COUNT * sizeof(E)) Pack {
    E elements[COUNT];
};

// K packs of a thread, folded over all members. `start` is the first pack of the group, `end` the end of the packs to fold.
template <class G, class E, u32 OP, int COUNT, int K> struct Folded {
    typedef Pack<E, COUNT> P;
    typename Wide<E>::type values[K * COUNT];

    NVSHMEMRS_I_DEVICE void fold(const Call<G> &call, const void *source, u64 start, u64 end) {
        for (i32 m = 0; m < call.n; m++) {
            u64 from = call.on(m, source);
            P packs[K];
            NVSHMEMRS_I_UNROLL
            for (int k = 0; k < K; k++) {
                u64 i = start + k * G::size() + G::rank();
                if (i < end) packs[k] = device::bits<P>(read<Word<P>>(from + i * sizeof(P)));
                else packs[k] = P();
            }
            NVSHMEMRS_I_UNROLL
            for (int k = 0; k < K * COUNT; k++) {
                typename Wide<E>::type value = Wide<E>::widen(packs[k / COUNT].elements[k % COUNT]);
                values[k] = m == 0 ? value : Fold<OP>::fold(values[k], value);
            }
        }
    }

    NVSHMEMRS_I_DEVICE void store(void *dest, u64 start, u64 end) const {
        NVSHMEMRS_I_UNROLL
        for (int k = 0; k < K; k++) {
            u64 i = start + k * G::size() + G::rank();
            P pack;
            NVSHMEMRS_I_UNROLL
            for (int e = 0; e < COUNT; e++) pack.elements[e] = Wide<E>::narrow(values[k * COUNT + e]);
            if (i < end) write<Word<P>>((u64)dest + i * sizeof(P), device::bits<Word<P>>(pack));
        }
    }
};

// Rounds of reductions in place, where `dest` lies within `source` or overlaps `source`. The elements of a round are written after all members
// have read them. So members meet once before the first round, and once in each round between the loads and the stores. They do not meet at
// the end. Kernels in other languages do the same, so the number of elements in a round follows a common rule:
//
//   * The elements of the part that this member folds are packs first, then single elements. A pack has 16 bytes; of elements of 1 byte it
//     has 8. Only whole packs count. If the address `dest` or `source` is no multiple of 16, there are no packs. In reducescatter
//     `source` is the caller's argument, and the bytes of a part must be a multiple of 16, too.
//   * A round of packs takes K packs for each thread of the group: K is 2 for elements of 1 and 2 bytes, else 4. These are 16, 32 or 64
//     bytes for each thread.
//   * A round of single elements takes one element for each thread. Packs and single elements are never in the same round.
//
// With P packs, E single elements and T threads these are ceil(P / (K * T)) + ceil(E / T) rounds.
template <class E> struct Round {
    // Elements of a pack, and packs of a thread. More would take more than the 64 registers that threads of large blocks have.
    static constexpr int COUNT = sizeof(E) == 1 ? 8 : sizeof(E) < 16 ? 16 / sizeof(E) : 1, K = sizeof(E) >= 4 ? 4 : 2;
};

template <class G, class E, u32 OP, int COUNT, int K>
NVSHMEMRS_I_PART bool fold_packs(Call<G> &call, void *dest, const void *source, u64 count, bool in_place) {
    for (u64 start = 0; start < count; start += K * G::size()) {
        Folded<G, E, OP, COUNT, K> folded;
        folded.fold(call, source, start, count);
        if (in_place && !call.meet()) return false;
        folded.store(dest, start, count);
    }
    return true;
}

// Reductions whose data fit the mail. A word of mail is half data and half epoch, so no separate flag is needed: each member stores once to
// each other member. If not all members send mail, the function writes nothing.
template <class G, class E, u32 OP> NVSHMEMRS_I_DEVICE Taken reduce_by_mail(Call<G> &call, void *dest, const void *source, u32 bytes) {
    // A thread folds the elements of RUNS runs of EACH words at once.
    constexpr u32 EACH = sizeof(E) > 4 ? sizeof(E) / 4 : 1, COUNT = EACH * 4 / sizeof(E), BATCH = Call<G>::batch(EACH), RUNS = BATCH / EACH;
    struct alignas(sizeof(E) > 4 ? sizeof(E) : 4) Words {
        u32 words[EACH];
    };
    struct Elements {
        E elements[COUNT];
    };
    call.post(source, bytes);
    Taken came = TAKEN;
    u32 all = (bytes + 3) / 4;
    for (u32 first = G::rank() * EACH; first < all && came == TAKEN; first += G::size() * BATCH) {
        typename Wide<E>::type values[RUNS * COUNT];
        for (i32 m = 0; m < call.n; m++) {
            u32 taken[BATCH];
            came = call.template take<EACH>(m, first, all, taken);
            if (came != TAKEN) break;
            NVSHMEMRS_I_UNROLL
            for (u32 r = 0; r < RUNS; r++) {
                Words words;
                NVSHMEMRS_I_UNROLL
                for (u32 w = 0; w < EACH; w++) words.words[w] = taken[r * EACH + w];
                Elements of = device::bits<Elements>(words);
                NVSHMEMRS_I_UNROLL
                for (u32 e = 0; e < COUNT; e++) {
                    typename Wide<E>::type value = Wide<E>::widen(of.elements[e]);
                    values[r * COUNT + e] = m == 0 ? value : Fold<OP>::fold(values[r * COUNT + e], value);
                }
            }
        }
        if (came != TAKEN) break;
        NVSHMEMRS_I_UNROLL
        for (u32 k = 0; k < RUNS * COUNT; k++) {
            u64 at = (u64)(first + k / COUNT * EACH * G::size()) * 4 + k % COUNT * sizeof(E);
            if (at < bytes) {
                E element = Wide<E>::narrow(values[k]);
                write<Word<E>>((u64)dest + at, device::bits<Word<E>>(element));
            }
        }
    }
    return call.all_taken(came);
}

// `parts`: whether each member gets a different part of the result. If `dest` lies within `source`, the groups of all members have the same size.
template <class G, class E, u32 OP, u32 OPERATION>
NVSHMEMRS_I_LOOP int reduce(Given s, u64 team, void *dest, const void *source, u64 count, u32 slot) {
    Call<G> call(s, OPERATION, team, slot);
    if (!call.good()) return -1;
    const u64 bytes = count * sizeof(E), all = OPERATION == REDUCESCATTER ? bytes * call.n : bytes;
    call.check(OPERATION, dest, bytes, sizeof(E));
    call.check(OPERATION, source, all, sizeof(E));
    u32 steps = 1;
    if (OPERATION == REDUCE && call.has_mail(bytes)) {
        Taken taken = reduce_by_mail<G, E, OP>(call, dest, source, bytes);
        if (taken != NOT_SENT) return taken == TAKEN ? 0 : -1;
        steps = 0;
    }
    call.reads(source, all);
    if (!call.meet(steps)) return -1;
    call.writes(dest, bytes);
    bool in_place = (u64)dest < (u64)source + all && (u64)source < (u64)dest + bytes;
    const char *from = (const char *)source + (OPERATION == REDUCESCATTER ? bytes * call.me : 0);
    constexpr int COUNT = Round<E>::COUNT, K = Round<E>::K;
    // In place, all members must choose the same algorithm, although their parts may be aligned differently.
    u64 mixed = (u64)dest | (u64)source | (OPERATION == REDUCESCATTER ? bytes : 0);
    u64 packs = mixed % 16 ? 0 : count / COUNT, done = packs * COUNT;
    if (!fold_packs<G, E, OP, COUNT, K>(call, dest, from, packs, in_place)) return -1;
    if (!fold_packs<G, E, OP, 1, 1>(call, (char *)dest + done * sizeof(E), from + done * sizeof(E), count - done, in_place)) return -1;
    if (!in_place) return call.leave();
    // In place, the meeting of the last round came after the last load. The threads meet once more, so that each sees the stores of the others.
    G::sync();
    return 0;
}

// ---- Functions of a type. ----
//
// These functions are members of a class for each type, which a program instantiates with the first function that it uses. NVSHMEM's names
// for them are macros at the end of this header: declaring thousands of functions would take every compiler a second.

// A body for every scope: X(suffix, group, ...).
#define NVSHMEMRS_I_SCOPES(X, ...) X(, Thread, __VA_ARGS__) X(_warp, Warp, __VA_ARGS__) X(_block, Block, __VA_ARGS__)
#define NVSHMEMRS_I_MEMBER static NVSHMEMRS_I_CALLED
#define NVSHMEMRS_I_MEMBER_OF_ANY template <class H> NVSHMEMRS_I_MEMBER

// API: NVSHMEMRS_I_MEMBER, or the same for a template. TYPE: the pointers' type. SIZE: the bytes of each of the `n` elements.
#define NVSHMEMRS_I_COPY(SUFFIX, GROUP, NAME, FUNCTION, NUMBER, API, TYPE, ALIGN, SIZE, CHECK) \
    API void NAME##SUFFIX(Given s, TYPE *dest, const TYPE *source, unsigned long n, i32 pe) {  \
        CHECK;                                                                                 \
        device::FUNCTION<GROUP, ALIGN, NUMBER>(s, dest, source, n * SIZE, pe);                 \
    }
#define NVSHMEMRS_I_SIGNALLED(SUFFIX, GROUP, NAME, NUMBER, API, TYPE, ALIGN, SIZE, CHECK)                                                 \
    API void NAME##SUFFIX(Given s, TYPE *dest, const TYPE *source, unsigned long n, Signal signal, unsigned long value, int op, i32 pe) { \
        CHECK;                                                                                                                            \
        device::put_signal<GROUP, ALIGN, NUMBER>(s, dest, source, n * SIZE, signal, value, op, pe);                                       \
    }
#define NVSHMEMRS_I_PUTS(SUFFIX, GROUP, ...)                                          \
    NVSHMEMRS_I_COPY(SUFFIX, GROUP, put, put, PUT, __VA_ARGS__)                       \
    NVSHMEMRS_I_COPY(SUFFIX, GROUP, get, get, GET, __VA_ARGS__)                       \
    NVSHMEMRS_I_COPY(SUFFIX, GROUP, put_nbi, put, PUT_NBI, __VA_ARGS__)               \
    NVSHMEMRS_I_COPY(SUFFIX, GROUP, get_nbi, get, GET_NBI, __VA_ARGS__)               \
    NVSHMEMRS_I_SIGNALLED(SUFFIX, GROUP, put_signal, PUT_SIGNAL, __VA_ARGS__)         \
    NVSHMEMRS_I_SIGNALLED(SUFFIX, GROUP, put_signal_nbi, PUT_SIGNAL_NBI, __VA_ARGS__)

#define NVSHMEMRS_I_STRIDED(SUFFIX, GROUP, API, TYPE, WORD, CHECK)                                                              \
    API void iput##SUFFIX(Given s, TYPE *dest, const TYPE *source, long dest_step, long source_step, unsigned long n, i32 pe) { \
        CHECK;                                                                                                                  \
        device::iput<GROUP, WORD>(s, dest, source, dest_step, source_step, n, pe);                                              \
    }                                                                                                                           \
    API void iget##SUFFIX(Given s, TYPE *dest, const TYPE *source, long dest_step, long source_step, unsigned long n, i32 pe) { \
        CHECK;                                                                                                                  \
        device::iget<GROUP, WORD>(s, dest, source, dest_step, source_step, n, pe);                                              \
    }

// `n` counts elements of SIZE bytes; per member where there are parts.
#define NVSHMEMRS_I_MOVES(SUFFIX, GROUP, API, TYPE, SIZE, CHECK)                                                                              \
    API int broadcast##SUFFIX(Given s, nvshmemrs_team_t team, TYPE *dest, const TYPE *source, unsigned long n, int root, unsigned slot = 0) { \
        CHECK;                                                                                                                                \
        return device::broadcast<GROUP, SIZE>(s, team, dest, source, n * SIZE, root, slot);                                                   \
    }                                                                                                                                         \
    API int fcollect##SUFFIX(Given s, nvshmemrs_team_t team, TYPE *dest, const TYPE *source, unsigned long n, unsigned slot = 0) {            \
        CHECK;                                                                                                                                \
        return device::gather<GROUP, SIZE, FCOLLECT>(s, team, dest, source, n * SIZE, slot);                                                  \
    }                                                                                                                                         \
    API int alltoall##SUFFIX(Given s, nvshmemrs_team_t team, TYPE *dest, const TYPE *source, unsigned long n, unsigned slot = 0) {            \
        CHECK;                                                                                                                                \
        return device::gather<GROUP, SIZE, ALLTOALL>(s, team, dest, source, n * SIZE, slot);                                                  \
    }

// The class has a template Element, the type of the elements.
#define NVSHMEMRS_I_REDUCE(SUFFIX, GROUP, API, TYPE, OP, NUMBER, CHECK)                                                                      \
    API int OP##_reduce##SUFFIX(Given s, nvshmemrs_team_t team, TYPE *dest, const TYPE *source, unsigned long n, unsigned slot = 0) {        \
        CHECK;                                                                                                                               \
        return reduce<GROUP, Element<NUMBER>, NUMBER, REDUCE>(s, team, dest, source, n, slot);                                               \
    }                                                                                                                                        \
    API int OP##_reducescatter##SUFFIX(Given s, nvshmemrs_team_t team, TYPE *dest, const TYPE *source, unsigned long n, unsigned slot = 0) { \
        CHECK;                                                                                                                               \
        return reduce<GROUP, Element<NUMBER>, NUMBER, REDUCESCATTER>(s, team, dest, source, n, slot);                                        \
    }
#define NVSHMEMRS_I_REDUCE_NUMBERS(API, TYPE, CHECK)                     \
    NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_REDUCE, API, TYPE, sum, SUM, CHECK)   \
    NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_REDUCE, API, TYPE, prod, PROD, CHECK) \
    NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_REDUCE, API, TYPE, min, MIN, CHECK)   \
    NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_REDUCE, API, TYPE, max, MAX, CHECK)

// KIND: the kind of number for the addition.
#define NVSHMEMRS_I_AMO(API, T, KIND, CHECK)                                                                      \
    API T atomic_fetch(Given s, const T *source, i32 pe) {                                                        \
        CHECK;                                                                                                    \
        return device::atomic_fetch<T>(s, source, pe);                                                            \
    }                                                                                                             \
    API void atomic_set(Given s, T *dest, typename Same<T>::type value, i32 pe) {                                 \
        CHECK;                                                                                                    \
        device::atomic_set<T>(s, dest, value, pe);                                                                \
    }                                                                                                             \
    API T atomic_swap(Given s, T *dest, typename Same<T>::type value, i32 pe) {                                   \
        CHECK;                                                                                                    \
        return device::atomic_swap<T>(s, dest, value, pe);                                                        \
    }                                                                                                             \
    API void atomic_add(Given s, T *dest, typename Same<T>::type value, i32 pe) {                                 \
        CHECK;                                                                                                    \
        device::atomic_add<KIND>(s, ATOMIC_ADD, (KIND *)dest, bits<KIND>(value), pe);                             \
    }                                                                                                             \
    API T atomic_fetch_add(Given s, T *dest, typename Same<T>::type value, i32 pe) {                              \
        CHECK;                                                                                                    \
        return bits<T>(device::atomic_fetch_add<KIND>(s, ATOMIC_FETCH_ADD, (KIND *)dest, bits<KIND>(value), pe)); \
    }
#define NVSHMEMRS_I_AMO_BIT(OPERATION, NUMBER)                                                \
    NVSHMEMRS_I_MEMBER void atomic_##OPERATION(Given s, T *dest, T value, i32 pe) {           \
        apply_##OPERATION(s.atomic_word(ATOMIC_##NUMBER, pe, dest, WRITES), (Word<T>)value); \
    }                                                                                         \
    NVSHMEMRS_I_MEMBER T atomic_fetch_##OPERATION(Given s, T *dest, T value, i32 pe) {        \
        Word<T> *word = s.atomic_word(ATOMIC_FETCH_##NUMBER, pe, dest, FETCHES); \
        return (T)s.seen(ATOMIC_FETCH_##NUMBER, pe, dest, fetch_##OPERATION(word, (Word<T>)value)); \
    }

// V: the end of a name, then the last parameter, and the value that elements are compared with.
#define NVSHMEMRS_I_WAITS(V, PARAMETER, VALUE, VALUES)                                                                                       \
    NVSHMEMRS_I_MEMBER void wait_until_all##V(Given s, const T *ivars, unsigned long n, const int *status, int cmp, PARAMETER) {             \
        wait_all<true, T>(s, WAIT_UNTIL_ALL, {ivars, n, status, cmp, VALUE, VALUES});                                                        \
    }                                                                                                                                        \
    NVSHMEMRS_I_MEMBER unsigned long wait_until_any##V(Given s, const T *ivars, unsigned long n, const int *status, int cmp, PARAMETER) {    \
        return wait_any<true, T>(s, WAIT_UNTIL_ANY, {ivars, n, status, cmp, VALUE, VALUES});                                                 \
    }                                                                                                                                        \
    NVSHMEMRS_I_MEMBER unsigned long wait_until_some##V(Given s, const T *ivars, unsigned long n, unsigned long *indices, const int *status, \
                                                        int cmp, PARAMETER) {                                                                \
        return wait_some<true, T>(s, WAIT_UNTIL_SOME, indices, {ivars, n, status, cmp, VALUE, VALUES});                                      \
    }                                                                                                                                        \
    NVSHMEMRS_I_MEMBER int test_all##V(Given s, const T *ivars, unsigned long n, const int *status, int cmp, PARAMETER) {                    \
        return wait_all<false, T>(s, TEST_ALL, {ivars, n, status, cmp, VALUE, VALUES});                                                      \
    }                                                                                                                                        \
    NVSHMEMRS_I_MEMBER unsigned long test_any##V(Given s, const T *ivars, unsigned long n, const int *status, int cmp, PARAMETER) {          \
        return wait_any<false, T>(s, TEST_ANY, {ivars, n, status, cmp, VALUE, VALUES});                                                      \
    }                                                                                                                                        \
    NVSHMEMRS_I_MEMBER unsigned long test_some##V(Given s, const T *ivars, unsigned long n, unsigned long *indices, const int *status,       \
                                                  int cmp, PARAMETER) {                                                                      \
        return wait_some<false, T>(s, TEST_SOME, indices, {ivars, n, status, cmp, VALUE, VALUES});                                           \
    }

// All functions for elements of type T. NVSHMEM defines which of these functions have a name.
template <class T> struct Of {
    template <u32 OP> using Element = Number<T, OP>;

    NVSHMEMRS_I_MEMBER void p(Given s, T *dest, T value, i32 pe) { device::p<T>(s, dest, value, pe); }
    NVSHMEMRS_I_MEMBER T g(Given s, const T *source, i32 pe) { return device::g<T>(s, source, pe); }
    NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_PUTS, NVSHMEMRS_I_MEMBER, T, sizeof(T), sizeof(T), )
    NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_STRIDED, NVSHMEMRS_I_MEMBER, T, Word<T>, )

    NVSHMEMRS_I_AMO(NVSHMEMRS_I_MEMBER, T, T, )
    NVSHMEMRS_I_MEMBER T atomic_compare_swap(Given s, T *dest, T cond, T value, i32 pe) {
        return device::atomic_compare_swap<T>(s, dest, cond, value, pe);
    }
    NVSHMEMRS_I_MEMBER void atomic_inc(Given s, T *dest, i32 pe) { device::atomic_add<T>(s, ATOMIC_INC, dest, 1, pe); }
    NVSHMEMRS_I_MEMBER T atomic_fetch_inc(Given s, T *dest, i32 pe) { return device::atomic_fetch_add<T>(s, ATOMIC_FETCH_INC, dest, 1, pe); }
    NVSHMEMRS_I_AMO_BIT(and, AND)
    NVSHMEMRS_I_AMO_BIT(or, OR)
    NVSHMEMRS_I_AMO_BIT(xor, XOR)

    NVSHMEMRS_I_MEMBER void wait_until(Given s, const T *ivar, int cmp, T value) {
        wait_all<true, T>(s, WAIT_UNTIL, {ivar, 1, nullptr, cmp, value, nullptr});
    }
    NVSHMEMRS_I_MEMBER int test(Given s, const T *ivar, int cmp, T value) {
        return wait_all<false, T>(s, TEST, {ivar, 1, nullptr, cmp, value, nullptr});
    }
    NVSHMEMRS_I_WAITS(, T value, value, nullptr)
    NVSHMEMRS_I_WAITS(_vector, const T *values, 0, values)

    NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_MOVES, NVSHMEMRS_I_MEMBER, T, sizeof(T), )
    NVSHMEMRS_I_REDUCE_NUMBERS(NVSHMEMRS_I_MEMBER, T, )
    NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_REDUCE, NVSHMEMRS_I_MEMBER, T, and, AND, )
    NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_REDUCE, NVSHMEMRS_I_MEMBER, T, or, OR, )
    NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_REDUCE, NVSHMEMRS_I_MEMBER, T, xor, XOR, )
};

// Narrow floating-point numbers, of CUDA's type OWN or an integer of the same size. E: the Element type for reductions.
template <class OWN, class E> struct Narrow;
#define NVSHMEMRS_I_NARROW (expect_narrow<H, OWN, E>())
template <class OWN, class E> struct Of<Narrow<OWN, E>> {
    template <u32> using Element = E;

    NVSHMEMRS_I_MEMBER_OF_ANY void p(Given s, H *dest, typename Same<H>::type value, i32 pe) {
        NVSHMEMRS_I_NARROW;
        device::p<H>(s, dest, value, pe);
    }
    NVSHMEMRS_I_MEMBER_OF_ANY H g(Given s, const H *source, i32 pe) {
        NVSHMEMRS_I_NARROW;
        return device::g<H>(s, source, pe);
    }
    NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_PUTS, NVSHMEMRS_I_MEMBER_OF_ANY, H, sizeof(E), sizeof(E), NVSHMEMRS_I_NARROW)
    NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_STRIDED, NVSHMEMRS_I_MEMBER_OF_ANY, H, Word<E>, NVSHMEMRS_I_NARROW)
    NVSHMEMRS_I_AMO(NVSHMEMRS_I_MEMBER_OF_ANY, H, Word<E>, NVSHMEMRS_I_NARROW)
    NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_MOVES, NVSHMEMRS_I_MEMBER_OF_ANY, H, sizeof(E), NVSHMEMRS_I_NARROW)
    NVSHMEMRS_I_REDUCE_NUMBERS(NVSHMEMRS_I_MEMBER_OF_ANY, H, NVSHMEMRS_I_NARROW)
};

// Elements of a number of bits, independent of the type of the caller's pointers; strided elements of 128 bits are aligned to 16 bytes.
template <int BITS> struct Sized {
    NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_PUTS, NVSHMEMRS_I_MEMBER, void, (BITS < 128 ? BITS / 8 : 8), (BITS / 8), )
    NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_STRIDED, NVSHMEMRS_I_MEMBER, void, typename WordOf<BITS / 8>::type, )
};
// Bytes; a template, so that programs that do not use it compile none of it.
template <int> struct Bytes {
    NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_PUTS, NVSHMEMRS_I_MEMBER, void, 1, 1, )
    NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_MOVES, NVSHMEMRS_I_MEMBER, void, 1, )
};

// The functions of both types, where C has two types of 64 bits.
template <class A, class B> struct Two;
#define NVSHMEMRS_I_BOTH(NAME) \
    using First::NAME;         \
    using Second::NAME;
#define NVSHMEMRS_I_BOTH_COPIES(SUFFIX, GROUP, ...)                                                                                             \
    NVSHMEMRS_I_BOTH(put##SUFFIX) NVSHMEMRS_I_BOTH(get##SUFFIX) NVSHMEMRS_I_BOTH(put_nbi##SUFFIX) NVSHMEMRS_I_BOTH(get_nbi##SUFFIX)             \
    NVSHMEMRS_I_BOTH(put_signal##SUFFIX) NVSHMEMRS_I_BOTH(put_signal_nbi##SUFFIX) NVSHMEMRS_I_BOTH(iput##SUFFIX) NVSHMEMRS_I_BOTH(iget##SUFFIX) \
    NVSHMEMRS_I_BOTH(broadcast##SUFFIX) NVSHMEMRS_I_BOTH(fcollect##SUFFIX) NVSHMEMRS_I_BOTH(alltoall##SUFFIX)
#define NVSHMEMRS_I_BOTH_REDUCTIONS(SUFFIX, GROUP, OP) NVSHMEMRS_I_BOTH(OP##_reduce##SUFFIX) NVSHMEMRS_I_BOTH(OP##_reducescatter##SUFFIX)
#define NVSHMEMRS_I_BOTH_WAITS(V)                                                                                \
    NVSHMEMRS_I_BOTH(wait_until_all##V) NVSHMEMRS_I_BOTH(wait_until_any##V) NVSHMEMRS_I_BOTH(wait_until_some##V) \
    NVSHMEMRS_I_BOTH(test_all##V) NVSHMEMRS_I_BOTH(test_any##V) NVSHMEMRS_I_BOTH(test_some##V)
template <class A, class B> struct Of<Two<A, B>> : Of<A>, Of<B> {
    typedef Of<A> First;
    typedef Of<B> Second;
    NVSHMEMRS_I_BOTH(p) NVSHMEMRS_I_BOTH(g)
    NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_BOTH_COPIES, )
    NVSHMEMRS_I_BOTH(atomic_fetch) NVSHMEMRS_I_BOTH(atomic_set) NVSHMEMRS_I_BOTH(atomic_swap) NVSHMEMRS_I_BOTH(atomic_compare_swap)
    NVSHMEMRS_I_BOTH(atomic_inc) NVSHMEMRS_I_BOTH(atomic_fetch_inc) NVSHMEMRS_I_BOTH(atomic_add) NVSHMEMRS_I_BOTH(atomic_fetch_add)
    NVSHMEMRS_I_BOTH(atomic_and) NVSHMEMRS_I_BOTH(atomic_fetch_and) NVSHMEMRS_I_BOTH(atomic_or) NVSHMEMRS_I_BOTH(atomic_fetch_or)
    NVSHMEMRS_I_BOTH(atomic_xor) NVSHMEMRS_I_BOTH(atomic_fetch_xor)
    NVSHMEMRS_I_BOTH(wait_until) NVSHMEMRS_I_BOTH(test) NVSHMEMRS_I_BOTH_WAITS() NVSHMEMRS_I_BOTH_WAITS(_vector)
    NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_BOTH_REDUCTIONS, sum) NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_BOTH_REDUCTIONS, prod)
    NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_BOTH_REDUCTIONS, min) NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_BOTH_REDUCTIONS, max)
    NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_BOTH_REDUCTIONS, and) NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_BOTH_REDUCTIONS, or)
    NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_BOTH_REDUCTIONS, xor)
};
typedef Of<Two<long, long long>> OfInt64;
typedef Of<Two<unsigned long, unsigned long long>> OfUint64;

} // namespace device
} // namespace nvshmemrs

// ---- Functions that do not depend on a type. ----

NVSHMEMRS_I_API int nvshmemrs_my_pe(nvshmemrs::device::Given s) { return s.get().my_pe; }
NVSHMEMRS_I_API int nvshmemrs_n_pes(nvshmemrs::device::Given s) { return s.get().n_pes; }
// Whether kernels that are compiled with this header accept a state. Host code checks this before a launch, because a call in a kernel would
// trap.
template <int = 0> __host__ __device__ __forceinline__ bool nvshmemrs_device_state_fits(const nvshmemrs_device_state_t &state) {
    return state.magic == nvshmemrs::device::STATE_MAGIC &&
           (state.version & nvshmemrs::device::KNOWN_VERSION_BITS) == nvshmemrs::device::STATE_VERSION;
}
// Whether the job is broken: waits have ended although the awaited value did not arrive, and collectives fail.
NVSHMEMRS_I_API int nvshmemrs_aborted(nvshmemrs::device::Given s) { return s.aborted(); }
// Ends all PEs with `status`, of which a process keeps 8 bits. A thread of the host sees the request within 0.1 s; the kernel runs until then.
// If PEs are threads, or a single PE has the heap in host memory, the next nvshmemrs_runtime_check or finalize sees the request.
NVSHMEMRS_I_API void nvshmemrs_global_exit(nvshmemrs::device::Given s, int status) {
    using namespace nvshmemrs::device;
    u64 word = ((const Job *)s.get().job)->exit;
    if (!word) {
        printf("nvshmemrs: a kernel called global_exit, which this version of the library does not have\n");
        stop(false);
    }
    store_release((u32 *)word, 1 + ((u32)status & 0xff));
}
// The address of symmetric memory on a PE, for loads and stores; NULL if the memory is not symmetric or the PE is on another host.
NVSHMEMRS_I_API void *nvshmemrs_ptr(nvshmemrs::device::Given s, const void *dest, int pe) {
    const nvshmemrs::device::State &state = s.get();
    unsigned long offset = (unsigned long)dest - state.base - state.my_pe * state.stride;
    bool good = pe >= 0 && pe < state.n_pes && offset < ((const nvshmemrs::device::Job *)state.job)->heap_bytes && nvshmemrs::device::is_near(state.check, state.job, pe);
    if (good) s.record(nvshmemrs::device::RECORD_POINTER, nvshmemrs::device::GET, pe);
    return good ? (void *)(state.base + pe * state.stride + offset) : nullptr;
}
// NULL: there is no multicast memory.
NVSHMEMRS_I_API void *nvshmemrs_mc_ptr(nvshmemrs::device::Given, nvshmemrs_team_t, const void *) { return nullptr; }

// Lent shared memory. From sm_90 on, large puts and gets of a thread or a warp then use bulk copies through this memory, if source and
// destination can be aligned to sixteen bytes together. On other GPUs, and in a block's calls, lent memory is not used. Each thread or warp
// lends separate memory, aligned to sixteen bytes, and uses the state that give_smem returns. The program may use the memory again when the
// calls of all threads of the group have returned.
//
// Bytes to lend; amount: one of nvshmemrs_smem_amount. More is faster, up to the recommended amount.
template <int = 0> __host__ __device__ __forceinline__ int nvshmemrs_ask_smem(int amount = NVSHMEMRS_SMEM_RECOMMENDED) {
    return amount == NVSHMEMRS_SMEM_MINIMUM ? (int)nvshmemrs::device::LEAST_SMEM : 65536;
}
// The state with lent memory of the block; a size below the minimum lends none.
NVSHMEMRS_I_API nvshmemrs_device_state_t nvshmemrs_give_smem(nvshmemrs::device::Given s, void *smem, unsigned long bytes) {
    nvshmemrs_device_state_t state = s.get();
    state.lent = nvshmemrs::device::lend(smem, bytes);
    return state;
}
// The state without lent memory.
NVSHMEMRS_I_API nvshmemrs_device_state_t nvshmemrs_release_smem(nvshmemrs::device::Given s) {
    nvshmemrs_device_state_t state = s.get();
    state.lent = 0;
    return state;
}

NVSHMEMRS_I_API void nvshmemrs_fence([[maybe_unused]] nvshmemrs::device::Given s) {
    nvshmemrs::device::fence();
#ifdef NVSHMEMRS_DEVICE_RECORD
    s.record(nvshmemrs::device::RECORD_FENCE, nvshmemrs::device::FENCE, s.get().my_pe);
#endif
}
NVSHMEMRS_I_API void nvshmemrs_quiet([[maybe_unused]] nvshmemrs::device::Given s) {
    nvshmemrs::device::full_fence();
#ifdef NVSHMEMRS_DEVICE_RECORD
    s.record(nvshmemrs::device::RECORD_QUIET, nvshmemrs::device::QUIET, s.get().my_pe);
#endif
}
// The sources of earlier puts of the group's threads may be used again.
#define NVSHMEMRS_I_FLUSH(SUFFIX, GROUP, ...) \
    NVSHMEMRS_I_API void nvshmemrs_flush##SUFFIX(nvshmemrs::device::Given s) {                                                            \
        nvshmemrs::device::GROUP::sync();                                                                                                 \
        nvshmemrs::device::record_flush<nvshmemrs::device::GROUP>(s);                                                                       \
    }
NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_FLUSH, )

NVSHMEMRS_I_API void nvshmemrs_signal_op(nvshmemrs::device::Given s, nvshmemrs::device::Signal signal, unsigned long value, int op, int pe) {
    using namespace nvshmemrs::device;
    s.check_argument(op == NVSHMEMRS_SIGNAL_SET || op == NVSHMEMRS_SIGNAL_ADD, SIGNAL_OP, op);
    u64 *word = s.word(SIGNAL_OP, pe, (const u64 *)signal.at);
    s.record(RECORD_SIGNAL, SIGNAL_OP, pe, (u64)signal.at);
    update_signal(word, value, op);
}
NVSHMEMRS_I_API unsigned long nvshmemrs_signal_fetch(nvshmemrs::device::Given s, nvshmemrs::device::Signal signal) {
    using namespace nvshmemrs::device;
    s.check_own(SIGNAL_FETCH, signal.at, 8, 8);
    return s.seen(SIGNAL_FETCH, s.get().my_pe, (const u64 *)signal.at, load_acquire((const u64 *)signal.at));
}

NVSHMEMRS_I_API unsigned long nvshmemrs_signal_wait_until(nvshmemrs::device::Given s, nvshmemrs::device::Signal signal, int cmp, unsigned long value) {
    return nvshmemrs::device::signal_wait(s, (const nvshmemrs::device::u64 *)signal.at, cmp, value);
}

// Sets a signal of this PE's to 0. Orders nothing.
NVSHMEMRS_I_API void nvshmemrs_signal_counted_reset(nvshmemrs::device::Given s, nvshmemrs::device::Signal signal) {
    using namespace nvshmemrs::device;
    s.check_own(SIGNAL_OP, signal.at, 8, 8);
    s.record(RECORD_ATOMIC, SIGNAL_OP, s.get().my_pe, (u64)signal.at, 8, 0, 0, 0, FETCHES);
    store_relaxed((u64 *)signal.at, (u64)0);
}

// The library's name and version, as from nvshmemrs_name and nvshmemrs_version on the host, and the version of OpenSHMEM. `name` has room for
// 256 characters. Each pointer to a number may be NULL.
NVSHMEMRS_I_API void nvshmemrs_info_get_name(nvshmemrs::device::Given, char *name) {
    const char *text = "nvshmemrs 0.1.0";
    for (int i = 0; (name[i] = text[i]) != 0; i++) {}
}
NVSHMEMRS_I_API void nvshmemrs_info_get_version(nvshmemrs::device::Given, int *major, int *minor) {
    if (major) *major = 1;
    if (minor) *minor = 5;
}
NVSHMEMRS_I_API void nvshmemrs_vendor_get_version_info(nvshmemrs::device::Given, int *major, int *minor, int *patch) {
    if (major) *major = 0;
    if (minor) *minor = 1;
    if (patch) *patch = 0;
}

// Regions, in which NVSHMEM may delay puts to combine them. Here puts are stores, so a region has no effect. All threads of the block call start
// and stop; `region` gets a handle. Both return 0.
NVSHMEMRS_I_API int nvshmemrs_region_start_block(nvshmemrs::device::Given, nvshmemrs_region_handle_t *region, const nvshmemrs_region_attrs_t *) {
    if (nvshmemrs::device::Block::rank() == 0) *region = 0;
    nvshmemrs::device::Block::sync();
    return 0;
}
NVSHMEMRS_I_API int nvshmemrs_region_stop_block(nvshmemrs::device::Given, nvshmemrs_region_handle_t) {
    nvshmemrs::device::Block::sync();
    return 0;
}
// Sets `active` to whether puts are delayed for these hints, which is never. Returns 0.
NVSHMEMRS_I_API int nvshmemrs_region_is_active(nvshmemrs::device::Given, unsigned /* hints */, int *active) {
    *active = 0;
    return 0;
}

// Teams.

NVSHMEMRS_I_API int nvshmemrs_team_my_pe(nvshmemrs::device::Given s, nvshmemrs_team_t team) {
    const nvshmemrs::device::Team found = nvshmemrs::device::find_team(s.get(), team);
    return found.n ? found.me : -1;
}
NVSHMEMRS_I_API int nvshmemrs_team_n_pes(nvshmemrs::device::Given s, nvshmemrs_team_t team) {
    const nvshmemrs::device::Team found = nvshmemrs::device::find_team(s.get(), team);
    return found.n ? found.n : -1;
}
// The number in team `dest` of the PE that has number `pe` in team `source`; -1 if there is none.
NVSHMEMRS_I_API int nvshmemrs_team_translate_pe(nvshmemrs::device::Given s, nvshmemrs_team_t source, int pe, nvshmemrs_team_t dest) {
    const nvshmemrs::device::Team from = nvshmemrs::device::find_team(s.get(), source), to = nvshmemrs::device::find_team(s.get(), dest);
    if (!from.n || !to.n || pe < 0 || pe >= from.n) return -1;
    return nvshmemrs::device::member_of(to, nvshmemrs::device::pe_of(from, pe));
}

// Collectives.

#define NVSHMEMRS_I_MEET(SUFFIX, GROUP, ...)                                                                                           \
    NVSHMEMRS_I_API int nvshmemrs_barrier##SUFFIX(nvshmemrs::device::Given s, nvshmemrs_team_t team, unsigned slot = 0) {              \
        return nvshmemrs::device::barrier<nvshmemrs::device::GROUP>(s, nvshmemrs::device::BARRIER, team, slot);                        \
    }                                                                                                                                  \
    NVSHMEMRS_I_API int nvshmemrs_barrier_all##SUFFIX(nvshmemrs::device::Given s, unsigned slot = 0) {                                 \
        return nvshmemrs::device::barrier<nvshmemrs::device::GROUP>(s, nvshmemrs::device::BARRIER, 0, slot);                           \
    }                                                                                                                                  \
    NVSHMEMRS_I_API int nvshmemrs_team_sync##SUFFIX(nvshmemrs::device::Given s, nvshmemrs_team_t team, unsigned slot = 0) {            \
        return nvshmemrs::device::barrier<nvshmemrs::device::GROUP>(s, nvshmemrs::device::SYNC, team, slot);                           \
    }                                                                                                                                  \
    NVSHMEMRS_I_API int nvshmemrs_sync##SUFFIX(nvshmemrs::device::Given s, nvshmemrs_team_t team, unsigned slot = 0) {                 \
        return nvshmemrs::device::barrier<nvshmemrs::device::GROUP>(s, nvshmemrs::device::SYNC, team, slot);                           \
    }                                                                                                                                  \
    NVSHMEMRS_I_API int nvshmemrs_sync_all##SUFFIX(nvshmemrs::device::Given s, unsigned slot = 0) {                                    \
        return nvshmemrs::device::barrier<nvshmemrs::device::GROUP>(s, nvshmemrs::device::SYNC, 0, slot);                              \
    }
NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_MEET, )
// The only collective for the 128 threads of a warpgroup, as in NVSHMEM.
NVSHMEMRS_I_API int nvshmemrs_barrier_warpgroup(nvshmemrs::device::Given s, nvshmemrs_team_t team, unsigned slot = 0) {
    return nvshmemrs::device::barrier<nvshmemrs::device::Warpgroup>(s, nvshmemrs::device::BARRIER, team, slot);
}

// The largest x of all members with the y beside it; among equal values, the y of the first member. D: CUDA's double2.
#define NVSHMEMRS_I_MAXLOC(SUFFIX, GROUP, ...)                                                                                         \
    template <class D> NVSHMEMRS_I_DEVICE int nvshmemrs_double2_maxloc_reduce##SUFFIX(                                                 \
        nvshmemrs::device::Given s, nvshmemrs_team_t team, D *dest, const D *source, unsigned long n, unsigned slot = 0) {             \
        using namespace nvshmemrs::device;                                                                                             \
        static_assert(sizeof(D) == sizeof(Located), "a double2");                                                                      \
        return reduce<GROUP, Located, MAX, REDUCE>(s, team, dest, source, n, slot);                                                    \
    }
NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_MAXLOC, )

// ---- Names of the functions of a type. `cargo xtask generate` writes what follows. ----

// CUDA's own, if the program includes them, before or after.
struct __half;
struct __nv_bfloat16;
struct __nv_fp8_e4m3;
struct __nv_fp8_e5m2;
namespace nvshmemrs {
namespace device {
typedef Of<Narrow<__half, Half>> OfHalf;
typedef Of<Narrow<__nv_bfloat16, Bfloat16>> OfBfloat16;
typedef Of<Narrow<__nv_fp8_e4m3, Float8E4m3fn>> OfFloat8E4m3fn;
typedef Of<Narrow<__nv_fp8_e5m2, Float8E5m2>> OfFloat8E5m2;
} // namespace device
} // namespace nvshmemrs

#define nvshmemrs_put8 nvshmemrs::device::Sized<8>::put
#define nvshmemrs_put8_warp nvshmemrs::device::Sized<8>::put_warp
#define nvshmemrs_put8_block nvshmemrs::device::Sized<8>::put_block
#define nvshmemrs_get8 nvshmemrs::device::Sized<8>::get
#define nvshmemrs_get8_warp nvshmemrs::device::Sized<8>::get_warp
#define nvshmemrs_get8_block nvshmemrs::device::Sized<8>::get_block
#define nvshmemrs_put8_nbi nvshmemrs::device::Sized<8>::put_nbi
#define nvshmemrs_put8_nbi_warp nvshmemrs::device::Sized<8>::put_nbi_warp
#define nvshmemrs_put8_nbi_block nvshmemrs::device::Sized<8>::put_nbi_block
#define nvshmemrs_get8_nbi nvshmemrs::device::Sized<8>::get_nbi
#define nvshmemrs_get8_nbi_warp nvshmemrs::device::Sized<8>::get_nbi_warp
#define nvshmemrs_get8_nbi_block nvshmemrs::device::Sized<8>::get_nbi_block
#define nvshmemrs_put8_signal nvshmemrs::device::Sized<8>::put_signal
#define nvshmemrs_put8_signal_warp nvshmemrs::device::Sized<8>::put_signal_warp
#define nvshmemrs_put8_signal_block nvshmemrs::device::Sized<8>::put_signal_block
#define nvshmemrs_put8_signal_nbi nvshmemrs::device::Sized<8>::put_signal_nbi
#define nvshmemrs_put8_signal_nbi_warp nvshmemrs::device::Sized<8>::put_signal_nbi_warp
#define nvshmemrs_put8_signal_nbi_block nvshmemrs::device::Sized<8>::put_signal_nbi_block
#define nvshmemrs_iput8 nvshmemrs::device::Sized<8>::iput
#define nvshmemrs_iput8_warp nvshmemrs::device::Sized<8>::iput_warp
#define nvshmemrs_iput8_block nvshmemrs::device::Sized<8>::iput_block
#define nvshmemrs_iget8 nvshmemrs::device::Sized<8>::iget
#define nvshmemrs_iget8_warp nvshmemrs::device::Sized<8>::iget_warp
#define nvshmemrs_iget8_block nvshmemrs::device::Sized<8>::iget_block
#define nvshmemrs_put16 nvshmemrs::device::Sized<16>::put
#define nvshmemrs_put16_warp nvshmemrs::device::Sized<16>::put_warp
#define nvshmemrs_put16_block nvshmemrs::device::Sized<16>::put_block
#define nvshmemrs_get16 nvshmemrs::device::Sized<16>::get
#define nvshmemrs_get16_warp nvshmemrs::device::Sized<16>::get_warp
#define nvshmemrs_get16_block nvshmemrs::device::Sized<16>::get_block
#define nvshmemrs_put16_nbi nvshmemrs::device::Sized<16>::put_nbi
#define nvshmemrs_put16_nbi_warp nvshmemrs::device::Sized<16>::put_nbi_warp
#define nvshmemrs_put16_nbi_block nvshmemrs::device::Sized<16>::put_nbi_block
#define nvshmemrs_get16_nbi nvshmemrs::device::Sized<16>::get_nbi
#define nvshmemrs_get16_nbi_warp nvshmemrs::device::Sized<16>::get_nbi_warp
#define nvshmemrs_get16_nbi_block nvshmemrs::device::Sized<16>::get_nbi_block
#define nvshmemrs_put16_signal nvshmemrs::device::Sized<16>::put_signal
#define nvshmemrs_put16_signal_warp nvshmemrs::device::Sized<16>::put_signal_warp
#define nvshmemrs_put16_signal_block nvshmemrs::device::Sized<16>::put_signal_block
#define nvshmemrs_put16_signal_nbi nvshmemrs::device::Sized<16>::put_signal_nbi
#define nvshmemrs_put16_signal_nbi_warp nvshmemrs::device::Sized<16>::put_signal_nbi_warp
#define nvshmemrs_put16_signal_nbi_block nvshmemrs::device::Sized<16>::put_signal_nbi_block
#define nvshmemrs_iput16 nvshmemrs::device::Sized<16>::iput
#define nvshmemrs_iput16_warp nvshmemrs::device::Sized<16>::iput_warp
#define nvshmemrs_iput16_block nvshmemrs::device::Sized<16>::iput_block
#define nvshmemrs_iget16 nvshmemrs::device::Sized<16>::iget
#define nvshmemrs_iget16_warp nvshmemrs::device::Sized<16>::iget_warp
#define nvshmemrs_iget16_block nvshmemrs::device::Sized<16>::iget_block
#define nvshmemrs_put32 nvshmemrs::device::Sized<32>::put
#define nvshmemrs_put32_warp nvshmemrs::device::Sized<32>::put_warp
#define nvshmemrs_put32_block nvshmemrs::device::Sized<32>::put_block
#define nvshmemrs_get32 nvshmemrs::device::Sized<32>::get
#define nvshmemrs_get32_warp nvshmemrs::device::Sized<32>::get_warp
#define nvshmemrs_get32_block nvshmemrs::device::Sized<32>::get_block
#define nvshmemrs_put32_nbi nvshmemrs::device::Sized<32>::put_nbi
#define nvshmemrs_put32_nbi_warp nvshmemrs::device::Sized<32>::put_nbi_warp
#define nvshmemrs_put32_nbi_block nvshmemrs::device::Sized<32>::put_nbi_block
#define nvshmemrs_get32_nbi nvshmemrs::device::Sized<32>::get_nbi
#define nvshmemrs_get32_nbi_warp nvshmemrs::device::Sized<32>::get_nbi_warp
#define nvshmemrs_get32_nbi_block nvshmemrs::device::Sized<32>::get_nbi_block
#define nvshmemrs_put32_signal nvshmemrs::device::Sized<32>::put_signal
#define nvshmemrs_put32_signal_warp nvshmemrs::device::Sized<32>::put_signal_warp
#define nvshmemrs_put32_signal_block nvshmemrs::device::Sized<32>::put_signal_block
#define nvshmemrs_put32_signal_nbi nvshmemrs::device::Sized<32>::put_signal_nbi
#define nvshmemrs_put32_signal_nbi_warp nvshmemrs::device::Sized<32>::put_signal_nbi_warp
#define nvshmemrs_put32_signal_nbi_block nvshmemrs::device::Sized<32>::put_signal_nbi_block
#define nvshmemrs_iput32 nvshmemrs::device::Sized<32>::iput
#define nvshmemrs_iput32_warp nvshmemrs::device::Sized<32>::iput_warp
#define nvshmemrs_iput32_block nvshmemrs::device::Sized<32>::iput_block
#define nvshmemrs_iget32 nvshmemrs::device::Sized<32>::iget
#define nvshmemrs_iget32_warp nvshmemrs::device::Sized<32>::iget_warp
#define nvshmemrs_iget32_block nvshmemrs::device::Sized<32>::iget_block
#define nvshmemrs_put64 nvshmemrs::device::Sized<64>::put
#define nvshmemrs_put64_warp nvshmemrs::device::Sized<64>::put_warp
#define nvshmemrs_put64_block nvshmemrs::device::Sized<64>::put_block
#define nvshmemrs_get64 nvshmemrs::device::Sized<64>::get
#define nvshmemrs_get64_warp nvshmemrs::device::Sized<64>::get_warp
#define nvshmemrs_get64_block nvshmemrs::device::Sized<64>::get_block
#define nvshmemrs_put64_nbi nvshmemrs::device::Sized<64>::put_nbi
#define nvshmemrs_put64_nbi_warp nvshmemrs::device::Sized<64>::put_nbi_warp
#define nvshmemrs_put64_nbi_block nvshmemrs::device::Sized<64>::put_nbi_block
#define nvshmemrs_get64_nbi nvshmemrs::device::Sized<64>::get_nbi
#define nvshmemrs_get64_nbi_warp nvshmemrs::device::Sized<64>::get_nbi_warp
#define nvshmemrs_get64_nbi_block nvshmemrs::device::Sized<64>::get_nbi_block
#define nvshmemrs_put64_signal nvshmemrs::device::Sized<64>::put_signal
#define nvshmemrs_put64_signal_warp nvshmemrs::device::Sized<64>::put_signal_warp
#define nvshmemrs_put64_signal_block nvshmemrs::device::Sized<64>::put_signal_block
#define nvshmemrs_put64_signal_nbi nvshmemrs::device::Sized<64>::put_signal_nbi
#define nvshmemrs_put64_signal_nbi_warp nvshmemrs::device::Sized<64>::put_signal_nbi_warp
#define nvshmemrs_put64_signal_nbi_block nvshmemrs::device::Sized<64>::put_signal_nbi_block
#define nvshmemrs_iput64 nvshmemrs::device::Sized<64>::iput
#define nvshmemrs_iput64_warp nvshmemrs::device::Sized<64>::iput_warp
#define nvshmemrs_iput64_block nvshmemrs::device::Sized<64>::iput_block
#define nvshmemrs_iget64 nvshmemrs::device::Sized<64>::iget
#define nvshmemrs_iget64_warp nvshmemrs::device::Sized<64>::iget_warp
#define nvshmemrs_iget64_block nvshmemrs::device::Sized<64>::iget_block
#define nvshmemrs_put128 nvshmemrs::device::Sized<128>::put
#define nvshmemrs_put128_warp nvshmemrs::device::Sized<128>::put_warp
#define nvshmemrs_put128_block nvshmemrs::device::Sized<128>::put_block
#define nvshmemrs_get128 nvshmemrs::device::Sized<128>::get
#define nvshmemrs_get128_warp nvshmemrs::device::Sized<128>::get_warp
#define nvshmemrs_get128_block nvshmemrs::device::Sized<128>::get_block
#define nvshmemrs_put128_nbi nvshmemrs::device::Sized<128>::put_nbi
#define nvshmemrs_put128_nbi_warp nvshmemrs::device::Sized<128>::put_nbi_warp
#define nvshmemrs_put128_nbi_block nvshmemrs::device::Sized<128>::put_nbi_block
#define nvshmemrs_get128_nbi nvshmemrs::device::Sized<128>::get_nbi
#define nvshmemrs_get128_nbi_warp nvshmemrs::device::Sized<128>::get_nbi_warp
#define nvshmemrs_get128_nbi_block nvshmemrs::device::Sized<128>::get_nbi_block
#define nvshmemrs_put128_signal nvshmemrs::device::Sized<128>::put_signal
#define nvshmemrs_put128_signal_warp nvshmemrs::device::Sized<128>::put_signal_warp
#define nvshmemrs_put128_signal_block nvshmemrs::device::Sized<128>::put_signal_block
#define nvshmemrs_put128_signal_nbi nvshmemrs::device::Sized<128>::put_signal_nbi
#define nvshmemrs_put128_signal_nbi_warp nvshmemrs::device::Sized<128>::put_signal_nbi_warp
#define nvshmemrs_put128_signal_nbi_block nvshmemrs::device::Sized<128>::put_signal_nbi_block
#define nvshmemrs_iput128 nvshmemrs::device::Sized<128>::iput
#define nvshmemrs_iput128_warp nvshmemrs::device::Sized<128>::iput_warp
#define nvshmemrs_iput128_block nvshmemrs::device::Sized<128>::iput_block
#define nvshmemrs_iget128 nvshmemrs::device::Sized<128>::iget
#define nvshmemrs_iget128_warp nvshmemrs::device::Sized<128>::iget_warp
#define nvshmemrs_iget128_block nvshmemrs::device::Sized<128>::iget_block
#define nvshmemrs_putmem nvshmemrs::device::Bytes<0>::put
#define nvshmemrs_putmem_warp nvshmemrs::device::Bytes<0>::put_warp
#define nvshmemrs_putmem_block nvshmemrs::device::Bytes<0>::put_block
#define nvshmemrs_getmem nvshmemrs::device::Bytes<0>::get
#define nvshmemrs_getmem_warp nvshmemrs::device::Bytes<0>::get_warp
#define nvshmemrs_getmem_block nvshmemrs::device::Bytes<0>::get_block
#define nvshmemrs_putmem_nbi nvshmemrs::device::Bytes<0>::put_nbi
#define nvshmemrs_putmem_nbi_warp nvshmemrs::device::Bytes<0>::put_nbi_warp
#define nvshmemrs_putmem_nbi_block nvshmemrs::device::Bytes<0>::put_nbi_block
#define nvshmemrs_getmem_nbi nvshmemrs::device::Bytes<0>::get_nbi
#define nvshmemrs_getmem_nbi_warp nvshmemrs::device::Bytes<0>::get_nbi_warp
#define nvshmemrs_getmem_nbi_block nvshmemrs::device::Bytes<0>::get_nbi_block
#define nvshmemrs_putmem_signal nvshmemrs::device::Bytes<0>::put_signal
#define nvshmemrs_putmem_signal_warp nvshmemrs::device::Bytes<0>::put_signal_warp
#define nvshmemrs_putmem_signal_block nvshmemrs::device::Bytes<0>::put_signal_block
#define nvshmemrs_putmem_signal_nbi nvshmemrs::device::Bytes<0>::put_signal_nbi
#define nvshmemrs_putmem_signal_nbi_warp nvshmemrs::device::Bytes<0>::put_signal_nbi_warp
#define nvshmemrs_putmem_signal_nbi_block nvshmemrs::device::Bytes<0>::put_signal_nbi_block
#define nvshmemrs_broadcastmem nvshmemrs::device::Bytes<0>::broadcast
#define nvshmemrs_broadcastmem_warp nvshmemrs::device::Bytes<0>::broadcast_warp
#define nvshmemrs_broadcastmem_block nvshmemrs::device::Bytes<0>::broadcast_block
#define nvshmemrs_fcollectmem nvshmemrs::device::Bytes<0>::fcollect
#define nvshmemrs_fcollectmem_warp nvshmemrs::device::Bytes<0>::fcollect_warp
#define nvshmemrs_fcollectmem_block nvshmemrs::device::Bytes<0>::fcollect_block
#define nvshmemrs_alltoallmem nvshmemrs::device::Bytes<0>::alltoall
#define nvshmemrs_alltoallmem_warp nvshmemrs::device::Bytes<0>::alltoall_warp
#define nvshmemrs_alltoallmem_block nvshmemrs::device::Bytes<0>::alltoall_block
#define nvshmemrs_float_p nvshmemrs::device::Of<float>::p
#define nvshmemrs_float_g nvshmemrs::device::Of<float>::g
#define nvshmemrs_float_put nvshmemrs::device::Of<float>::put
#define nvshmemrs_float_put_warp nvshmemrs::device::Of<float>::put_warp
#define nvshmemrs_float_put_block nvshmemrs::device::Of<float>::put_block
#define nvshmemrs_float_get nvshmemrs::device::Of<float>::get
#define nvshmemrs_float_get_warp nvshmemrs::device::Of<float>::get_warp
#define nvshmemrs_float_get_block nvshmemrs::device::Of<float>::get_block
#define nvshmemrs_float_put_nbi nvshmemrs::device::Of<float>::put_nbi
#define nvshmemrs_float_put_nbi_warp nvshmemrs::device::Of<float>::put_nbi_warp
#define nvshmemrs_float_put_nbi_block nvshmemrs::device::Of<float>::put_nbi_block
#define nvshmemrs_float_get_nbi nvshmemrs::device::Of<float>::get_nbi
#define nvshmemrs_float_get_nbi_warp nvshmemrs::device::Of<float>::get_nbi_warp
#define nvshmemrs_float_get_nbi_block nvshmemrs::device::Of<float>::get_nbi_block
#define nvshmemrs_float_put_signal nvshmemrs::device::Of<float>::put_signal
#define nvshmemrs_float_put_signal_warp nvshmemrs::device::Of<float>::put_signal_warp
#define nvshmemrs_float_put_signal_block nvshmemrs::device::Of<float>::put_signal_block
#define nvshmemrs_float_put_signal_nbi nvshmemrs::device::Of<float>::put_signal_nbi
#define nvshmemrs_float_put_signal_nbi_warp nvshmemrs::device::Of<float>::put_signal_nbi_warp
#define nvshmemrs_float_put_signal_nbi_block nvshmemrs::device::Of<float>::put_signal_nbi_block
#define nvshmemrs_float_iput nvshmemrs::device::Of<float>::iput
#define nvshmemrs_float_iput_warp nvshmemrs::device::Of<float>::iput_warp
#define nvshmemrs_float_iput_block nvshmemrs::device::Of<float>::iput_block
#define nvshmemrs_float_iget nvshmemrs::device::Of<float>::iget
#define nvshmemrs_float_iget_warp nvshmemrs::device::Of<float>::iget_warp
#define nvshmemrs_float_iget_block nvshmemrs::device::Of<float>::iget_block
#define nvshmemrs_float_broadcast nvshmemrs::device::Of<float>::broadcast
#define nvshmemrs_float_broadcast_warp nvshmemrs::device::Of<float>::broadcast_warp
#define nvshmemrs_float_broadcast_block nvshmemrs::device::Of<float>::broadcast_block
#define nvshmemrs_float_fcollect nvshmemrs::device::Of<float>::fcollect
#define nvshmemrs_float_fcollect_warp nvshmemrs::device::Of<float>::fcollect_warp
#define nvshmemrs_float_fcollect_block nvshmemrs::device::Of<float>::fcollect_block
#define nvshmemrs_float_alltoall nvshmemrs::device::Of<float>::alltoall
#define nvshmemrs_float_alltoall_warp nvshmemrs::device::Of<float>::alltoall_warp
#define nvshmemrs_float_alltoall_block nvshmemrs::device::Of<float>::alltoall_block
#define nvshmemrs_float_sum_reduce nvshmemrs::device::Of<float>::sum_reduce
#define nvshmemrs_float_sum_reduce_warp nvshmemrs::device::Of<float>::sum_reduce_warp
#define nvshmemrs_float_sum_reduce_block nvshmemrs::device::Of<float>::sum_reduce_block
#define nvshmemrs_float_sum_reducescatter nvshmemrs::device::Of<float>::sum_reducescatter
#define nvshmemrs_float_sum_reducescatter_warp nvshmemrs::device::Of<float>::sum_reducescatter_warp
#define nvshmemrs_float_sum_reducescatter_block nvshmemrs::device::Of<float>::sum_reducescatter_block
#define nvshmemrs_float_prod_reduce nvshmemrs::device::Of<float>::prod_reduce
#define nvshmemrs_float_prod_reduce_warp nvshmemrs::device::Of<float>::prod_reduce_warp
#define nvshmemrs_float_prod_reduce_block nvshmemrs::device::Of<float>::prod_reduce_block
#define nvshmemrs_float_prod_reducescatter nvshmemrs::device::Of<float>::prod_reducescatter
#define nvshmemrs_float_prod_reducescatter_warp nvshmemrs::device::Of<float>::prod_reducescatter_warp
#define nvshmemrs_float_prod_reducescatter_block nvshmemrs::device::Of<float>::prod_reducescatter_block
#define nvshmemrs_float_min_reduce nvshmemrs::device::Of<float>::min_reduce
#define nvshmemrs_float_min_reduce_warp nvshmemrs::device::Of<float>::min_reduce_warp
#define nvshmemrs_float_min_reduce_block nvshmemrs::device::Of<float>::min_reduce_block
#define nvshmemrs_float_min_reducescatter nvshmemrs::device::Of<float>::min_reducescatter
#define nvshmemrs_float_min_reducescatter_warp nvshmemrs::device::Of<float>::min_reducescatter_warp
#define nvshmemrs_float_min_reducescatter_block nvshmemrs::device::Of<float>::min_reducescatter_block
#define nvshmemrs_float_max_reduce nvshmemrs::device::Of<float>::max_reduce
#define nvshmemrs_float_max_reduce_warp nvshmemrs::device::Of<float>::max_reduce_warp
#define nvshmemrs_float_max_reduce_block nvshmemrs::device::Of<float>::max_reduce_block
#define nvshmemrs_float_max_reducescatter nvshmemrs::device::Of<float>::max_reducescatter
#define nvshmemrs_float_max_reducescatter_warp nvshmemrs::device::Of<float>::max_reducescatter_warp
#define nvshmemrs_float_max_reducescatter_block nvshmemrs::device::Of<float>::max_reducescatter_block
#define nvshmemrs_float_atomic_fetch nvshmemrs::device::Of<float>::atomic_fetch
#define nvshmemrs_float_atomic_set nvshmemrs::device::Of<float>::atomic_set
#define nvshmemrs_float_atomic_swap nvshmemrs::device::Of<float>::atomic_swap
#define nvshmemrs_float_atomic_add nvshmemrs::device::Of<float>::atomic_add
#define nvshmemrs_float_atomic_fetch_add nvshmemrs::device::Of<float>::atomic_fetch_add
#define nvshmemrs_double_p nvshmemrs::device::Of<double>::p
#define nvshmemrs_double_g nvshmemrs::device::Of<double>::g
#define nvshmemrs_double_put nvshmemrs::device::Of<double>::put
#define nvshmemrs_double_put_warp nvshmemrs::device::Of<double>::put_warp
#define nvshmemrs_double_put_block nvshmemrs::device::Of<double>::put_block
#define nvshmemrs_double_get nvshmemrs::device::Of<double>::get
#define nvshmemrs_double_get_warp nvshmemrs::device::Of<double>::get_warp
#define nvshmemrs_double_get_block nvshmemrs::device::Of<double>::get_block
#define nvshmemrs_double_put_nbi nvshmemrs::device::Of<double>::put_nbi
#define nvshmemrs_double_put_nbi_warp nvshmemrs::device::Of<double>::put_nbi_warp
#define nvshmemrs_double_put_nbi_block nvshmemrs::device::Of<double>::put_nbi_block
#define nvshmemrs_double_get_nbi nvshmemrs::device::Of<double>::get_nbi
#define nvshmemrs_double_get_nbi_warp nvshmemrs::device::Of<double>::get_nbi_warp
#define nvshmemrs_double_get_nbi_block nvshmemrs::device::Of<double>::get_nbi_block
#define nvshmemrs_double_put_signal nvshmemrs::device::Of<double>::put_signal
#define nvshmemrs_double_put_signal_warp nvshmemrs::device::Of<double>::put_signal_warp
#define nvshmemrs_double_put_signal_block nvshmemrs::device::Of<double>::put_signal_block
#define nvshmemrs_double_put_signal_nbi nvshmemrs::device::Of<double>::put_signal_nbi
#define nvshmemrs_double_put_signal_nbi_warp nvshmemrs::device::Of<double>::put_signal_nbi_warp
#define nvshmemrs_double_put_signal_nbi_block nvshmemrs::device::Of<double>::put_signal_nbi_block
#define nvshmemrs_double_iput nvshmemrs::device::Of<double>::iput
#define nvshmemrs_double_iput_warp nvshmemrs::device::Of<double>::iput_warp
#define nvshmemrs_double_iput_block nvshmemrs::device::Of<double>::iput_block
#define nvshmemrs_double_iget nvshmemrs::device::Of<double>::iget
#define nvshmemrs_double_iget_warp nvshmemrs::device::Of<double>::iget_warp
#define nvshmemrs_double_iget_block nvshmemrs::device::Of<double>::iget_block
#define nvshmemrs_double_broadcast nvshmemrs::device::Of<double>::broadcast
#define nvshmemrs_double_broadcast_warp nvshmemrs::device::Of<double>::broadcast_warp
#define nvshmemrs_double_broadcast_block nvshmemrs::device::Of<double>::broadcast_block
#define nvshmemrs_double_fcollect nvshmemrs::device::Of<double>::fcollect
#define nvshmemrs_double_fcollect_warp nvshmemrs::device::Of<double>::fcollect_warp
#define nvshmemrs_double_fcollect_block nvshmemrs::device::Of<double>::fcollect_block
#define nvshmemrs_double_alltoall nvshmemrs::device::Of<double>::alltoall
#define nvshmemrs_double_alltoall_warp nvshmemrs::device::Of<double>::alltoall_warp
#define nvshmemrs_double_alltoall_block nvshmemrs::device::Of<double>::alltoall_block
#define nvshmemrs_double_sum_reduce nvshmemrs::device::Of<double>::sum_reduce
#define nvshmemrs_double_sum_reduce_warp nvshmemrs::device::Of<double>::sum_reduce_warp
#define nvshmemrs_double_sum_reduce_block nvshmemrs::device::Of<double>::sum_reduce_block
#define nvshmemrs_double_sum_reducescatter nvshmemrs::device::Of<double>::sum_reducescatter
#define nvshmemrs_double_sum_reducescatter_warp nvshmemrs::device::Of<double>::sum_reducescatter_warp
#define nvshmemrs_double_sum_reducescatter_block nvshmemrs::device::Of<double>::sum_reducescatter_block
#define nvshmemrs_double_prod_reduce nvshmemrs::device::Of<double>::prod_reduce
#define nvshmemrs_double_prod_reduce_warp nvshmemrs::device::Of<double>::prod_reduce_warp
#define nvshmemrs_double_prod_reduce_block nvshmemrs::device::Of<double>::prod_reduce_block
#define nvshmemrs_double_prod_reducescatter nvshmemrs::device::Of<double>::prod_reducescatter
#define nvshmemrs_double_prod_reducescatter_warp nvshmemrs::device::Of<double>::prod_reducescatter_warp
#define nvshmemrs_double_prod_reducescatter_block nvshmemrs::device::Of<double>::prod_reducescatter_block
#define nvshmemrs_double_min_reduce nvshmemrs::device::Of<double>::min_reduce
#define nvshmemrs_double_min_reduce_warp nvshmemrs::device::Of<double>::min_reduce_warp
#define nvshmemrs_double_min_reduce_block nvshmemrs::device::Of<double>::min_reduce_block
#define nvshmemrs_double_min_reducescatter nvshmemrs::device::Of<double>::min_reducescatter
#define nvshmemrs_double_min_reducescatter_warp nvshmemrs::device::Of<double>::min_reducescatter_warp
#define nvshmemrs_double_min_reducescatter_block nvshmemrs::device::Of<double>::min_reducescatter_block
#define nvshmemrs_double_max_reduce nvshmemrs::device::Of<double>::max_reduce
#define nvshmemrs_double_max_reduce_warp nvshmemrs::device::Of<double>::max_reduce_warp
#define nvshmemrs_double_max_reduce_block nvshmemrs::device::Of<double>::max_reduce_block
#define nvshmemrs_double_max_reducescatter nvshmemrs::device::Of<double>::max_reducescatter
#define nvshmemrs_double_max_reducescatter_warp nvshmemrs::device::Of<double>::max_reducescatter_warp
#define nvshmemrs_double_max_reducescatter_block nvshmemrs::device::Of<double>::max_reducescatter_block
#define nvshmemrs_double_atomic_fetch nvshmemrs::device::Of<double>::atomic_fetch
#define nvshmemrs_double_atomic_set nvshmemrs::device::Of<double>::atomic_set
#define nvshmemrs_double_atomic_swap nvshmemrs::device::Of<double>::atomic_swap
#define nvshmemrs_double_atomic_add nvshmemrs::device::Of<double>::atomic_add
#define nvshmemrs_double_atomic_fetch_add nvshmemrs::device::Of<double>::atomic_fetch_add
#define nvshmemrs_half_p nvshmemrs::device::OfHalf::p
#define nvshmemrs_half_g nvshmemrs::device::OfHalf::g
#define nvshmemrs_half_put nvshmemrs::device::OfHalf::put
#define nvshmemrs_half_put_warp nvshmemrs::device::OfHalf::put_warp
#define nvshmemrs_half_put_block nvshmemrs::device::OfHalf::put_block
#define nvshmemrs_half_get nvshmemrs::device::OfHalf::get
#define nvshmemrs_half_get_warp nvshmemrs::device::OfHalf::get_warp
#define nvshmemrs_half_get_block nvshmemrs::device::OfHalf::get_block
#define nvshmemrs_half_put_nbi nvshmemrs::device::OfHalf::put_nbi
#define nvshmemrs_half_put_nbi_warp nvshmemrs::device::OfHalf::put_nbi_warp
#define nvshmemrs_half_put_nbi_block nvshmemrs::device::OfHalf::put_nbi_block
#define nvshmemrs_half_get_nbi nvshmemrs::device::OfHalf::get_nbi
#define nvshmemrs_half_get_nbi_warp nvshmemrs::device::OfHalf::get_nbi_warp
#define nvshmemrs_half_get_nbi_block nvshmemrs::device::OfHalf::get_nbi_block
#define nvshmemrs_half_put_signal nvshmemrs::device::OfHalf::put_signal
#define nvshmemrs_half_put_signal_warp nvshmemrs::device::OfHalf::put_signal_warp
#define nvshmemrs_half_put_signal_block nvshmemrs::device::OfHalf::put_signal_block
#define nvshmemrs_half_put_signal_nbi nvshmemrs::device::OfHalf::put_signal_nbi
#define nvshmemrs_half_put_signal_nbi_warp nvshmemrs::device::OfHalf::put_signal_nbi_warp
#define nvshmemrs_half_put_signal_nbi_block nvshmemrs::device::OfHalf::put_signal_nbi_block
#define nvshmemrs_half_iput nvshmemrs::device::OfHalf::iput
#define nvshmemrs_half_iput_warp nvshmemrs::device::OfHalf::iput_warp
#define nvshmemrs_half_iput_block nvshmemrs::device::OfHalf::iput_block
#define nvshmemrs_half_iget nvshmemrs::device::OfHalf::iget
#define nvshmemrs_half_iget_warp nvshmemrs::device::OfHalf::iget_warp
#define nvshmemrs_half_iget_block nvshmemrs::device::OfHalf::iget_block
#define nvshmemrs_half_broadcast nvshmemrs::device::OfHalf::broadcast
#define nvshmemrs_half_broadcast_warp nvshmemrs::device::OfHalf::broadcast_warp
#define nvshmemrs_half_broadcast_block nvshmemrs::device::OfHalf::broadcast_block
#define nvshmemrs_half_fcollect nvshmemrs::device::OfHalf::fcollect
#define nvshmemrs_half_fcollect_warp nvshmemrs::device::OfHalf::fcollect_warp
#define nvshmemrs_half_fcollect_block nvshmemrs::device::OfHalf::fcollect_block
#define nvshmemrs_half_alltoall nvshmemrs::device::OfHalf::alltoall
#define nvshmemrs_half_alltoall_warp nvshmemrs::device::OfHalf::alltoall_warp
#define nvshmemrs_half_alltoall_block nvshmemrs::device::OfHalf::alltoall_block
#define nvshmemrs_half_sum_reduce nvshmemrs::device::OfHalf::sum_reduce
#define nvshmemrs_half_sum_reduce_warp nvshmemrs::device::OfHalf::sum_reduce_warp
#define nvshmemrs_half_sum_reduce_block nvshmemrs::device::OfHalf::sum_reduce_block
#define nvshmemrs_half_sum_reducescatter nvshmemrs::device::OfHalf::sum_reducescatter
#define nvshmemrs_half_sum_reducescatter_warp nvshmemrs::device::OfHalf::sum_reducescatter_warp
#define nvshmemrs_half_sum_reducescatter_block nvshmemrs::device::OfHalf::sum_reducescatter_block
#define nvshmemrs_half_prod_reduce nvshmemrs::device::OfHalf::prod_reduce
#define nvshmemrs_half_prod_reduce_warp nvshmemrs::device::OfHalf::prod_reduce_warp
#define nvshmemrs_half_prod_reduce_block nvshmemrs::device::OfHalf::prod_reduce_block
#define nvshmemrs_half_prod_reducescatter nvshmemrs::device::OfHalf::prod_reducescatter
#define nvshmemrs_half_prod_reducescatter_warp nvshmemrs::device::OfHalf::prod_reducescatter_warp
#define nvshmemrs_half_prod_reducescatter_block nvshmemrs::device::OfHalf::prod_reducescatter_block
#define nvshmemrs_half_min_reduce nvshmemrs::device::OfHalf::min_reduce
#define nvshmemrs_half_min_reduce_warp nvshmemrs::device::OfHalf::min_reduce_warp
#define nvshmemrs_half_min_reduce_block nvshmemrs::device::OfHalf::min_reduce_block
#define nvshmemrs_half_min_reducescatter nvshmemrs::device::OfHalf::min_reducescatter
#define nvshmemrs_half_min_reducescatter_warp nvshmemrs::device::OfHalf::min_reducescatter_warp
#define nvshmemrs_half_min_reducescatter_block nvshmemrs::device::OfHalf::min_reducescatter_block
#define nvshmemrs_half_max_reduce nvshmemrs::device::OfHalf::max_reduce
#define nvshmemrs_half_max_reduce_warp nvshmemrs::device::OfHalf::max_reduce_warp
#define nvshmemrs_half_max_reduce_block nvshmemrs::device::OfHalf::max_reduce_block
#define nvshmemrs_half_max_reducescatter nvshmemrs::device::OfHalf::max_reducescatter
#define nvshmemrs_half_max_reducescatter_warp nvshmemrs::device::OfHalf::max_reducescatter_warp
#define nvshmemrs_half_max_reducescatter_block nvshmemrs::device::OfHalf::max_reducescatter_block
#define nvshmemrs_half_atomic_fetch nvshmemrs::device::OfHalf::atomic_fetch
#define nvshmemrs_half_atomic_set nvshmemrs::device::OfHalf::atomic_set
#define nvshmemrs_half_atomic_swap nvshmemrs::device::OfHalf::atomic_swap
#define nvshmemrs_half_atomic_add nvshmemrs::device::OfHalf::atomic_add
#define nvshmemrs_half_atomic_fetch_add nvshmemrs::device::OfHalf::atomic_fetch_add
#define nvshmemrs_bfloat16_p nvshmemrs::device::OfBfloat16::p
#define nvshmemrs_bfloat16_g nvshmemrs::device::OfBfloat16::g
#define nvshmemrs_bfloat16_put nvshmemrs::device::OfBfloat16::put
#define nvshmemrs_bfloat16_put_warp nvshmemrs::device::OfBfloat16::put_warp
#define nvshmemrs_bfloat16_put_block nvshmemrs::device::OfBfloat16::put_block
#define nvshmemrs_bfloat16_get nvshmemrs::device::OfBfloat16::get
#define nvshmemrs_bfloat16_get_warp nvshmemrs::device::OfBfloat16::get_warp
#define nvshmemrs_bfloat16_get_block nvshmemrs::device::OfBfloat16::get_block
#define nvshmemrs_bfloat16_put_nbi nvshmemrs::device::OfBfloat16::put_nbi
#define nvshmemrs_bfloat16_put_nbi_warp nvshmemrs::device::OfBfloat16::put_nbi_warp
#define nvshmemrs_bfloat16_put_nbi_block nvshmemrs::device::OfBfloat16::put_nbi_block
#define nvshmemrs_bfloat16_get_nbi nvshmemrs::device::OfBfloat16::get_nbi
#define nvshmemrs_bfloat16_get_nbi_warp nvshmemrs::device::OfBfloat16::get_nbi_warp
#define nvshmemrs_bfloat16_get_nbi_block nvshmemrs::device::OfBfloat16::get_nbi_block
#define nvshmemrs_bfloat16_put_signal nvshmemrs::device::OfBfloat16::put_signal
#define nvshmemrs_bfloat16_put_signal_warp nvshmemrs::device::OfBfloat16::put_signal_warp
#define nvshmemrs_bfloat16_put_signal_block nvshmemrs::device::OfBfloat16::put_signal_block
#define nvshmemrs_bfloat16_put_signal_nbi nvshmemrs::device::OfBfloat16::put_signal_nbi
#define nvshmemrs_bfloat16_put_signal_nbi_warp nvshmemrs::device::OfBfloat16::put_signal_nbi_warp
#define nvshmemrs_bfloat16_put_signal_nbi_block nvshmemrs::device::OfBfloat16::put_signal_nbi_block
#define nvshmemrs_bfloat16_iput nvshmemrs::device::OfBfloat16::iput
#define nvshmemrs_bfloat16_iput_warp nvshmemrs::device::OfBfloat16::iput_warp
#define nvshmemrs_bfloat16_iput_block nvshmemrs::device::OfBfloat16::iput_block
#define nvshmemrs_bfloat16_iget nvshmemrs::device::OfBfloat16::iget
#define nvshmemrs_bfloat16_iget_warp nvshmemrs::device::OfBfloat16::iget_warp
#define nvshmemrs_bfloat16_iget_block nvshmemrs::device::OfBfloat16::iget_block
#define nvshmemrs_bfloat16_broadcast nvshmemrs::device::OfBfloat16::broadcast
#define nvshmemrs_bfloat16_broadcast_warp nvshmemrs::device::OfBfloat16::broadcast_warp
#define nvshmemrs_bfloat16_broadcast_block nvshmemrs::device::OfBfloat16::broadcast_block
#define nvshmemrs_bfloat16_fcollect nvshmemrs::device::OfBfloat16::fcollect
#define nvshmemrs_bfloat16_fcollect_warp nvshmemrs::device::OfBfloat16::fcollect_warp
#define nvshmemrs_bfloat16_fcollect_block nvshmemrs::device::OfBfloat16::fcollect_block
#define nvshmemrs_bfloat16_alltoall nvshmemrs::device::OfBfloat16::alltoall
#define nvshmemrs_bfloat16_alltoall_warp nvshmemrs::device::OfBfloat16::alltoall_warp
#define nvshmemrs_bfloat16_alltoall_block nvshmemrs::device::OfBfloat16::alltoall_block
#define nvshmemrs_bfloat16_sum_reduce nvshmemrs::device::OfBfloat16::sum_reduce
#define nvshmemrs_bfloat16_sum_reduce_warp nvshmemrs::device::OfBfloat16::sum_reduce_warp
#define nvshmemrs_bfloat16_sum_reduce_block nvshmemrs::device::OfBfloat16::sum_reduce_block
#define nvshmemrs_bfloat16_sum_reducescatter nvshmemrs::device::OfBfloat16::sum_reducescatter
#define nvshmemrs_bfloat16_sum_reducescatter_warp nvshmemrs::device::OfBfloat16::sum_reducescatter_warp
#define nvshmemrs_bfloat16_sum_reducescatter_block nvshmemrs::device::OfBfloat16::sum_reducescatter_block
#define nvshmemrs_bfloat16_prod_reduce nvshmemrs::device::OfBfloat16::prod_reduce
#define nvshmemrs_bfloat16_prod_reduce_warp nvshmemrs::device::OfBfloat16::prod_reduce_warp
#define nvshmemrs_bfloat16_prod_reduce_block nvshmemrs::device::OfBfloat16::prod_reduce_block
#define nvshmemrs_bfloat16_prod_reducescatter nvshmemrs::device::OfBfloat16::prod_reducescatter
#define nvshmemrs_bfloat16_prod_reducescatter_warp nvshmemrs::device::OfBfloat16::prod_reducescatter_warp
#define nvshmemrs_bfloat16_prod_reducescatter_block nvshmemrs::device::OfBfloat16::prod_reducescatter_block
#define nvshmemrs_bfloat16_min_reduce nvshmemrs::device::OfBfloat16::min_reduce
#define nvshmemrs_bfloat16_min_reduce_warp nvshmemrs::device::OfBfloat16::min_reduce_warp
#define nvshmemrs_bfloat16_min_reduce_block nvshmemrs::device::OfBfloat16::min_reduce_block
#define nvshmemrs_bfloat16_min_reducescatter nvshmemrs::device::OfBfloat16::min_reducescatter
#define nvshmemrs_bfloat16_min_reducescatter_warp nvshmemrs::device::OfBfloat16::min_reducescatter_warp
#define nvshmemrs_bfloat16_min_reducescatter_block nvshmemrs::device::OfBfloat16::min_reducescatter_block
#define nvshmemrs_bfloat16_max_reduce nvshmemrs::device::OfBfloat16::max_reduce
#define nvshmemrs_bfloat16_max_reduce_warp nvshmemrs::device::OfBfloat16::max_reduce_warp
#define nvshmemrs_bfloat16_max_reduce_block nvshmemrs::device::OfBfloat16::max_reduce_block
#define nvshmemrs_bfloat16_max_reducescatter nvshmemrs::device::OfBfloat16::max_reducescatter
#define nvshmemrs_bfloat16_max_reducescatter_warp nvshmemrs::device::OfBfloat16::max_reducescatter_warp
#define nvshmemrs_bfloat16_max_reducescatter_block nvshmemrs::device::OfBfloat16::max_reducescatter_block
#define nvshmemrs_float8_e4m3fn_p nvshmemrs::device::OfFloat8E4m3fn::p
#define nvshmemrs_float8_e4m3fn_g nvshmemrs::device::OfFloat8E4m3fn::g
#define nvshmemrs_float8_e4m3fn_put nvshmemrs::device::OfFloat8E4m3fn::put
#define nvshmemrs_float8_e4m3fn_put_warp nvshmemrs::device::OfFloat8E4m3fn::put_warp
#define nvshmemrs_float8_e4m3fn_put_block nvshmemrs::device::OfFloat8E4m3fn::put_block
#define nvshmemrs_float8_e4m3fn_get nvshmemrs::device::OfFloat8E4m3fn::get
#define nvshmemrs_float8_e4m3fn_get_warp nvshmemrs::device::OfFloat8E4m3fn::get_warp
#define nvshmemrs_float8_e4m3fn_get_block nvshmemrs::device::OfFloat8E4m3fn::get_block
#define nvshmemrs_float8_e4m3fn_put_nbi nvshmemrs::device::OfFloat8E4m3fn::put_nbi
#define nvshmemrs_float8_e4m3fn_put_nbi_warp nvshmemrs::device::OfFloat8E4m3fn::put_nbi_warp
#define nvshmemrs_float8_e4m3fn_put_nbi_block nvshmemrs::device::OfFloat8E4m3fn::put_nbi_block
#define nvshmemrs_float8_e4m3fn_get_nbi nvshmemrs::device::OfFloat8E4m3fn::get_nbi
#define nvshmemrs_float8_e4m3fn_get_nbi_warp nvshmemrs::device::OfFloat8E4m3fn::get_nbi_warp
#define nvshmemrs_float8_e4m3fn_get_nbi_block nvshmemrs::device::OfFloat8E4m3fn::get_nbi_block
#define nvshmemrs_float8_e4m3fn_put_signal nvshmemrs::device::OfFloat8E4m3fn::put_signal
#define nvshmemrs_float8_e4m3fn_put_signal_warp nvshmemrs::device::OfFloat8E4m3fn::put_signal_warp
#define nvshmemrs_float8_e4m3fn_put_signal_block nvshmemrs::device::OfFloat8E4m3fn::put_signal_block
#define nvshmemrs_float8_e4m3fn_put_signal_nbi nvshmemrs::device::OfFloat8E4m3fn::put_signal_nbi
#define nvshmemrs_float8_e4m3fn_put_signal_nbi_warp nvshmemrs::device::OfFloat8E4m3fn::put_signal_nbi_warp
#define nvshmemrs_float8_e4m3fn_put_signal_nbi_block nvshmemrs::device::OfFloat8E4m3fn::put_signal_nbi_block
#define nvshmemrs_float8_e4m3fn_iput nvshmemrs::device::OfFloat8E4m3fn::iput
#define nvshmemrs_float8_e4m3fn_iput_warp nvshmemrs::device::OfFloat8E4m3fn::iput_warp
#define nvshmemrs_float8_e4m3fn_iput_block nvshmemrs::device::OfFloat8E4m3fn::iput_block
#define nvshmemrs_float8_e4m3fn_iget nvshmemrs::device::OfFloat8E4m3fn::iget
#define nvshmemrs_float8_e4m3fn_iget_warp nvshmemrs::device::OfFloat8E4m3fn::iget_warp
#define nvshmemrs_float8_e4m3fn_iget_block nvshmemrs::device::OfFloat8E4m3fn::iget_block
#define nvshmemrs_float8_e4m3fn_broadcast nvshmemrs::device::OfFloat8E4m3fn::broadcast
#define nvshmemrs_float8_e4m3fn_broadcast_warp nvshmemrs::device::OfFloat8E4m3fn::broadcast_warp
#define nvshmemrs_float8_e4m3fn_broadcast_block nvshmemrs::device::OfFloat8E4m3fn::broadcast_block
#define nvshmemrs_float8_e4m3fn_fcollect nvshmemrs::device::OfFloat8E4m3fn::fcollect
#define nvshmemrs_float8_e4m3fn_fcollect_warp nvshmemrs::device::OfFloat8E4m3fn::fcollect_warp
#define nvshmemrs_float8_e4m3fn_fcollect_block nvshmemrs::device::OfFloat8E4m3fn::fcollect_block
#define nvshmemrs_float8_e4m3fn_alltoall nvshmemrs::device::OfFloat8E4m3fn::alltoall
#define nvshmemrs_float8_e4m3fn_alltoall_warp nvshmemrs::device::OfFloat8E4m3fn::alltoall_warp
#define nvshmemrs_float8_e4m3fn_alltoall_block nvshmemrs::device::OfFloat8E4m3fn::alltoall_block
#define nvshmemrs_float8_e4m3fn_sum_reduce nvshmemrs::device::OfFloat8E4m3fn::sum_reduce
#define nvshmemrs_float8_e4m3fn_sum_reduce_warp nvshmemrs::device::OfFloat8E4m3fn::sum_reduce_warp
#define nvshmemrs_float8_e4m3fn_sum_reduce_block nvshmemrs::device::OfFloat8E4m3fn::sum_reduce_block
#define nvshmemrs_float8_e4m3fn_sum_reducescatter nvshmemrs::device::OfFloat8E4m3fn::sum_reducescatter
#define nvshmemrs_float8_e4m3fn_sum_reducescatter_warp nvshmemrs::device::OfFloat8E4m3fn::sum_reducescatter_warp
#define nvshmemrs_float8_e4m3fn_sum_reducescatter_block nvshmemrs::device::OfFloat8E4m3fn::sum_reducescatter_block
#define nvshmemrs_float8_e4m3fn_prod_reduce nvshmemrs::device::OfFloat8E4m3fn::prod_reduce
#define nvshmemrs_float8_e4m3fn_prod_reduce_warp nvshmemrs::device::OfFloat8E4m3fn::prod_reduce_warp
#define nvshmemrs_float8_e4m3fn_prod_reduce_block nvshmemrs::device::OfFloat8E4m3fn::prod_reduce_block
#define nvshmemrs_float8_e4m3fn_prod_reducescatter nvshmemrs::device::OfFloat8E4m3fn::prod_reducescatter
#define nvshmemrs_float8_e4m3fn_prod_reducescatter_warp nvshmemrs::device::OfFloat8E4m3fn::prod_reducescatter_warp
#define nvshmemrs_float8_e4m3fn_prod_reducescatter_block nvshmemrs::device::OfFloat8E4m3fn::prod_reducescatter_block
#define nvshmemrs_float8_e4m3fn_min_reduce nvshmemrs::device::OfFloat8E4m3fn::min_reduce
#define nvshmemrs_float8_e4m3fn_min_reduce_warp nvshmemrs::device::OfFloat8E4m3fn::min_reduce_warp
#define nvshmemrs_float8_e4m3fn_min_reduce_block nvshmemrs::device::OfFloat8E4m3fn::min_reduce_block
#define nvshmemrs_float8_e4m3fn_min_reducescatter nvshmemrs::device::OfFloat8E4m3fn::min_reducescatter
#define nvshmemrs_float8_e4m3fn_min_reducescatter_warp nvshmemrs::device::OfFloat8E4m3fn::min_reducescatter_warp
#define nvshmemrs_float8_e4m3fn_min_reducescatter_block nvshmemrs::device::OfFloat8E4m3fn::min_reducescatter_block
#define nvshmemrs_float8_e4m3fn_max_reduce nvshmemrs::device::OfFloat8E4m3fn::max_reduce
#define nvshmemrs_float8_e4m3fn_max_reduce_warp nvshmemrs::device::OfFloat8E4m3fn::max_reduce_warp
#define nvshmemrs_float8_e4m3fn_max_reduce_block nvshmemrs::device::OfFloat8E4m3fn::max_reduce_block
#define nvshmemrs_float8_e4m3fn_max_reducescatter nvshmemrs::device::OfFloat8E4m3fn::max_reducescatter
#define nvshmemrs_float8_e4m3fn_max_reducescatter_warp nvshmemrs::device::OfFloat8E4m3fn::max_reducescatter_warp
#define nvshmemrs_float8_e4m3fn_max_reducescatter_block nvshmemrs::device::OfFloat8E4m3fn::max_reducescatter_block
#define nvshmemrs_float8_e5m2_p nvshmemrs::device::OfFloat8E5m2::p
#define nvshmemrs_float8_e5m2_g nvshmemrs::device::OfFloat8E5m2::g
#define nvshmemrs_float8_e5m2_put nvshmemrs::device::OfFloat8E5m2::put
#define nvshmemrs_float8_e5m2_put_warp nvshmemrs::device::OfFloat8E5m2::put_warp
#define nvshmemrs_float8_e5m2_put_block nvshmemrs::device::OfFloat8E5m2::put_block
#define nvshmemrs_float8_e5m2_get nvshmemrs::device::OfFloat8E5m2::get
#define nvshmemrs_float8_e5m2_get_warp nvshmemrs::device::OfFloat8E5m2::get_warp
#define nvshmemrs_float8_e5m2_get_block nvshmemrs::device::OfFloat8E5m2::get_block
#define nvshmemrs_float8_e5m2_put_nbi nvshmemrs::device::OfFloat8E5m2::put_nbi
#define nvshmemrs_float8_e5m2_put_nbi_warp nvshmemrs::device::OfFloat8E5m2::put_nbi_warp
#define nvshmemrs_float8_e5m2_put_nbi_block nvshmemrs::device::OfFloat8E5m2::put_nbi_block
#define nvshmemrs_float8_e5m2_get_nbi nvshmemrs::device::OfFloat8E5m2::get_nbi
#define nvshmemrs_float8_e5m2_get_nbi_warp nvshmemrs::device::OfFloat8E5m2::get_nbi_warp
#define nvshmemrs_float8_e5m2_get_nbi_block nvshmemrs::device::OfFloat8E5m2::get_nbi_block
#define nvshmemrs_float8_e5m2_put_signal nvshmemrs::device::OfFloat8E5m2::put_signal
#define nvshmemrs_float8_e5m2_put_signal_warp nvshmemrs::device::OfFloat8E5m2::put_signal_warp
#define nvshmemrs_float8_e5m2_put_signal_block nvshmemrs::device::OfFloat8E5m2::put_signal_block
#define nvshmemrs_float8_e5m2_put_signal_nbi nvshmemrs::device::OfFloat8E5m2::put_signal_nbi
#define nvshmemrs_float8_e5m2_put_signal_nbi_warp nvshmemrs::device::OfFloat8E5m2::put_signal_nbi_warp
#define nvshmemrs_float8_e5m2_put_signal_nbi_block nvshmemrs::device::OfFloat8E5m2::put_signal_nbi_block
#define nvshmemrs_float8_e5m2_iput nvshmemrs::device::OfFloat8E5m2::iput
#define nvshmemrs_float8_e5m2_iput_warp nvshmemrs::device::OfFloat8E5m2::iput_warp
#define nvshmemrs_float8_e5m2_iput_block nvshmemrs::device::OfFloat8E5m2::iput_block
#define nvshmemrs_float8_e5m2_iget nvshmemrs::device::OfFloat8E5m2::iget
#define nvshmemrs_float8_e5m2_iget_warp nvshmemrs::device::OfFloat8E5m2::iget_warp
#define nvshmemrs_float8_e5m2_iget_block nvshmemrs::device::OfFloat8E5m2::iget_block
#define nvshmemrs_float8_e5m2_broadcast nvshmemrs::device::OfFloat8E5m2::broadcast
#define nvshmemrs_float8_e5m2_broadcast_warp nvshmemrs::device::OfFloat8E5m2::broadcast_warp
#define nvshmemrs_float8_e5m2_broadcast_block nvshmemrs::device::OfFloat8E5m2::broadcast_block
#define nvshmemrs_float8_e5m2_fcollect nvshmemrs::device::OfFloat8E5m2::fcollect
#define nvshmemrs_float8_e5m2_fcollect_warp nvshmemrs::device::OfFloat8E5m2::fcollect_warp
#define nvshmemrs_float8_e5m2_fcollect_block nvshmemrs::device::OfFloat8E5m2::fcollect_block
#define nvshmemrs_float8_e5m2_alltoall nvshmemrs::device::OfFloat8E5m2::alltoall
#define nvshmemrs_float8_e5m2_alltoall_warp nvshmemrs::device::OfFloat8E5m2::alltoall_warp
#define nvshmemrs_float8_e5m2_alltoall_block nvshmemrs::device::OfFloat8E5m2::alltoall_block
#define nvshmemrs_float8_e5m2_sum_reduce nvshmemrs::device::OfFloat8E5m2::sum_reduce
#define nvshmemrs_float8_e5m2_sum_reduce_warp nvshmemrs::device::OfFloat8E5m2::sum_reduce_warp
#define nvshmemrs_float8_e5m2_sum_reduce_block nvshmemrs::device::OfFloat8E5m2::sum_reduce_block
#define nvshmemrs_float8_e5m2_sum_reducescatter nvshmemrs::device::OfFloat8E5m2::sum_reducescatter
#define nvshmemrs_float8_e5m2_sum_reducescatter_warp nvshmemrs::device::OfFloat8E5m2::sum_reducescatter_warp
#define nvshmemrs_float8_e5m2_sum_reducescatter_block nvshmemrs::device::OfFloat8E5m2::sum_reducescatter_block
#define nvshmemrs_float8_e5m2_prod_reduce nvshmemrs::device::OfFloat8E5m2::prod_reduce
#define nvshmemrs_float8_e5m2_prod_reduce_warp nvshmemrs::device::OfFloat8E5m2::prod_reduce_warp
#define nvshmemrs_float8_e5m2_prod_reduce_block nvshmemrs::device::OfFloat8E5m2::prod_reduce_block
#define nvshmemrs_float8_e5m2_prod_reducescatter nvshmemrs::device::OfFloat8E5m2::prod_reducescatter
#define nvshmemrs_float8_e5m2_prod_reducescatter_warp nvshmemrs::device::OfFloat8E5m2::prod_reducescatter_warp
#define nvshmemrs_float8_e5m2_prod_reducescatter_block nvshmemrs::device::OfFloat8E5m2::prod_reducescatter_block
#define nvshmemrs_float8_e5m2_min_reduce nvshmemrs::device::OfFloat8E5m2::min_reduce
#define nvshmemrs_float8_e5m2_min_reduce_warp nvshmemrs::device::OfFloat8E5m2::min_reduce_warp
#define nvshmemrs_float8_e5m2_min_reduce_block nvshmemrs::device::OfFloat8E5m2::min_reduce_block
#define nvshmemrs_float8_e5m2_min_reducescatter nvshmemrs::device::OfFloat8E5m2::min_reducescatter
#define nvshmemrs_float8_e5m2_min_reducescatter_warp nvshmemrs::device::OfFloat8E5m2::min_reducescatter_warp
#define nvshmemrs_float8_e5m2_min_reducescatter_block nvshmemrs::device::OfFloat8E5m2::min_reducescatter_block
#define nvshmemrs_float8_e5m2_max_reduce nvshmemrs::device::OfFloat8E5m2::max_reduce
#define nvshmemrs_float8_e5m2_max_reduce_warp nvshmemrs::device::OfFloat8E5m2::max_reduce_warp
#define nvshmemrs_float8_e5m2_max_reduce_block nvshmemrs::device::OfFloat8E5m2::max_reduce_block
#define nvshmemrs_float8_e5m2_max_reducescatter nvshmemrs::device::OfFloat8E5m2::max_reducescatter
#define nvshmemrs_float8_e5m2_max_reducescatter_warp nvshmemrs::device::OfFloat8E5m2::max_reducescatter_warp
#define nvshmemrs_float8_e5m2_max_reducescatter_block nvshmemrs::device::OfFloat8E5m2::max_reducescatter_block
#define nvshmemrs_char_p nvshmemrs::device::Of<char>::p
#define nvshmemrs_char_g nvshmemrs::device::Of<char>::g
#define nvshmemrs_char_put nvshmemrs::device::Of<char>::put
#define nvshmemrs_char_put_warp nvshmemrs::device::Of<char>::put_warp
#define nvshmemrs_char_put_block nvshmemrs::device::Of<char>::put_block
#define nvshmemrs_char_get nvshmemrs::device::Of<char>::get
#define nvshmemrs_char_get_warp nvshmemrs::device::Of<char>::get_warp
#define nvshmemrs_char_get_block nvshmemrs::device::Of<char>::get_block
#define nvshmemrs_char_put_nbi nvshmemrs::device::Of<char>::put_nbi
#define nvshmemrs_char_put_nbi_warp nvshmemrs::device::Of<char>::put_nbi_warp
#define nvshmemrs_char_put_nbi_block nvshmemrs::device::Of<char>::put_nbi_block
#define nvshmemrs_char_get_nbi nvshmemrs::device::Of<char>::get_nbi
#define nvshmemrs_char_get_nbi_warp nvshmemrs::device::Of<char>::get_nbi_warp
#define nvshmemrs_char_get_nbi_block nvshmemrs::device::Of<char>::get_nbi_block
#define nvshmemrs_char_put_signal nvshmemrs::device::Of<char>::put_signal
#define nvshmemrs_char_put_signal_warp nvshmemrs::device::Of<char>::put_signal_warp
#define nvshmemrs_char_put_signal_block nvshmemrs::device::Of<char>::put_signal_block
#define nvshmemrs_char_put_signal_nbi nvshmemrs::device::Of<char>::put_signal_nbi
#define nvshmemrs_char_put_signal_nbi_warp nvshmemrs::device::Of<char>::put_signal_nbi_warp
#define nvshmemrs_char_put_signal_nbi_block nvshmemrs::device::Of<char>::put_signal_nbi_block
#define nvshmemrs_char_iput nvshmemrs::device::Of<char>::iput
#define nvshmemrs_char_iput_warp nvshmemrs::device::Of<char>::iput_warp
#define nvshmemrs_char_iput_block nvshmemrs::device::Of<char>::iput_block
#define nvshmemrs_char_iget nvshmemrs::device::Of<char>::iget
#define nvshmemrs_char_iget_warp nvshmemrs::device::Of<char>::iget_warp
#define nvshmemrs_char_iget_block nvshmemrs::device::Of<char>::iget_block
#define nvshmemrs_char_broadcast nvshmemrs::device::Of<char>::broadcast
#define nvshmemrs_char_broadcast_warp nvshmemrs::device::Of<char>::broadcast_warp
#define nvshmemrs_char_broadcast_block nvshmemrs::device::Of<char>::broadcast_block
#define nvshmemrs_char_fcollect nvshmemrs::device::Of<char>::fcollect
#define nvshmemrs_char_fcollect_warp nvshmemrs::device::Of<char>::fcollect_warp
#define nvshmemrs_char_fcollect_block nvshmemrs::device::Of<char>::fcollect_block
#define nvshmemrs_char_alltoall nvshmemrs::device::Of<char>::alltoall
#define nvshmemrs_char_alltoall_warp nvshmemrs::device::Of<char>::alltoall_warp
#define nvshmemrs_char_alltoall_block nvshmemrs::device::Of<char>::alltoall_block
#define nvshmemrs_char_sum_reduce nvshmemrs::device::Of<char>::sum_reduce
#define nvshmemrs_char_sum_reduce_warp nvshmemrs::device::Of<char>::sum_reduce_warp
#define nvshmemrs_char_sum_reduce_block nvshmemrs::device::Of<char>::sum_reduce_block
#define nvshmemrs_char_sum_reducescatter nvshmemrs::device::Of<char>::sum_reducescatter
#define nvshmemrs_char_sum_reducescatter_warp nvshmemrs::device::Of<char>::sum_reducescatter_warp
#define nvshmemrs_char_sum_reducescatter_block nvshmemrs::device::Of<char>::sum_reducescatter_block
#define nvshmemrs_char_prod_reduce nvshmemrs::device::Of<char>::prod_reduce
#define nvshmemrs_char_prod_reduce_warp nvshmemrs::device::Of<char>::prod_reduce_warp
#define nvshmemrs_char_prod_reduce_block nvshmemrs::device::Of<char>::prod_reduce_block
#define nvshmemrs_char_prod_reducescatter nvshmemrs::device::Of<char>::prod_reducescatter
#define nvshmemrs_char_prod_reducescatter_warp nvshmemrs::device::Of<char>::prod_reducescatter_warp
#define nvshmemrs_char_prod_reducescatter_block nvshmemrs::device::Of<char>::prod_reducescatter_block
#define nvshmemrs_char_min_reduce nvshmemrs::device::Of<char>::min_reduce
#define nvshmemrs_char_min_reduce_warp nvshmemrs::device::Of<char>::min_reduce_warp
#define nvshmemrs_char_min_reduce_block nvshmemrs::device::Of<char>::min_reduce_block
#define nvshmemrs_char_min_reducescatter nvshmemrs::device::Of<char>::min_reducescatter
#define nvshmemrs_char_min_reducescatter_warp nvshmemrs::device::Of<char>::min_reducescatter_warp
#define nvshmemrs_char_min_reducescatter_block nvshmemrs::device::Of<char>::min_reducescatter_block
#define nvshmemrs_char_max_reduce nvshmemrs::device::Of<char>::max_reduce
#define nvshmemrs_char_max_reduce_warp nvshmemrs::device::Of<char>::max_reduce_warp
#define nvshmemrs_char_max_reduce_block nvshmemrs::device::Of<char>::max_reduce_block
#define nvshmemrs_char_max_reducescatter nvshmemrs::device::Of<char>::max_reducescatter
#define nvshmemrs_char_max_reducescatter_warp nvshmemrs::device::Of<char>::max_reducescatter_warp
#define nvshmemrs_char_max_reducescatter_block nvshmemrs::device::Of<char>::max_reducescatter_block
#define nvshmemrs_schar_p nvshmemrs::device::Of<signed char>::p
#define nvshmemrs_schar_g nvshmemrs::device::Of<signed char>::g
#define nvshmemrs_schar_put nvshmemrs::device::Of<signed char>::put
#define nvshmemrs_schar_put_warp nvshmemrs::device::Of<signed char>::put_warp
#define nvshmemrs_schar_put_block nvshmemrs::device::Of<signed char>::put_block
#define nvshmemrs_schar_get nvshmemrs::device::Of<signed char>::get
#define nvshmemrs_schar_get_warp nvshmemrs::device::Of<signed char>::get_warp
#define nvshmemrs_schar_get_block nvshmemrs::device::Of<signed char>::get_block
#define nvshmemrs_schar_put_nbi nvshmemrs::device::Of<signed char>::put_nbi
#define nvshmemrs_schar_put_nbi_warp nvshmemrs::device::Of<signed char>::put_nbi_warp
#define nvshmemrs_schar_put_nbi_block nvshmemrs::device::Of<signed char>::put_nbi_block
#define nvshmemrs_schar_get_nbi nvshmemrs::device::Of<signed char>::get_nbi
#define nvshmemrs_schar_get_nbi_warp nvshmemrs::device::Of<signed char>::get_nbi_warp
#define nvshmemrs_schar_get_nbi_block nvshmemrs::device::Of<signed char>::get_nbi_block
#define nvshmemrs_schar_put_signal nvshmemrs::device::Of<signed char>::put_signal
#define nvshmemrs_schar_put_signal_warp nvshmemrs::device::Of<signed char>::put_signal_warp
#define nvshmemrs_schar_put_signal_block nvshmemrs::device::Of<signed char>::put_signal_block
#define nvshmemrs_schar_put_signal_nbi nvshmemrs::device::Of<signed char>::put_signal_nbi
#define nvshmemrs_schar_put_signal_nbi_warp nvshmemrs::device::Of<signed char>::put_signal_nbi_warp
#define nvshmemrs_schar_put_signal_nbi_block nvshmemrs::device::Of<signed char>::put_signal_nbi_block
#define nvshmemrs_schar_iput nvshmemrs::device::Of<signed char>::iput
#define nvshmemrs_schar_iput_warp nvshmemrs::device::Of<signed char>::iput_warp
#define nvshmemrs_schar_iput_block nvshmemrs::device::Of<signed char>::iput_block
#define nvshmemrs_schar_iget nvshmemrs::device::Of<signed char>::iget
#define nvshmemrs_schar_iget_warp nvshmemrs::device::Of<signed char>::iget_warp
#define nvshmemrs_schar_iget_block nvshmemrs::device::Of<signed char>::iget_block
#define nvshmemrs_schar_broadcast nvshmemrs::device::Of<signed char>::broadcast
#define nvshmemrs_schar_broadcast_warp nvshmemrs::device::Of<signed char>::broadcast_warp
#define nvshmemrs_schar_broadcast_block nvshmemrs::device::Of<signed char>::broadcast_block
#define nvshmemrs_schar_fcollect nvshmemrs::device::Of<signed char>::fcollect
#define nvshmemrs_schar_fcollect_warp nvshmemrs::device::Of<signed char>::fcollect_warp
#define nvshmemrs_schar_fcollect_block nvshmemrs::device::Of<signed char>::fcollect_block
#define nvshmemrs_schar_alltoall nvshmemrs::device::Of<signed char>::alltoall
#define nvshmemrs_schar_alltoall_warp nvshmemrs::device::Of<signed char>::alltoall_warp
#define nvshmemrs_schar_alltoall_block nvshmemrs::device::Of<signed char>::alltoall_block
#define nvshmemrs_schar_sum_reduce nvshmemrs::device::Of<signed char>::sum_reduce
#define nvshmemrs_schar_sum_reduce_warp nvshmemrs::device::Of<signed char>::sum_reduce_warp
#define nvshmemrs_schar_sum_reduce_block nvshmemrs::device::Of<signed char>::sum_reduce_block
#define nvshmemrs_schar_sum_reducescatter nvshmemrs::device::Of<signed char>::sum_reducescatter
#define nvshmemrs_schar_sum_reducescatter_warp nvshmemrs::device::Of<signed char>::sum_reducescatter_warp
#define nvshmemrs_schar_sum_reducescatter_block nvshmemrs::device::Of<signed char>::sum_reducescatter_block
#define nvshmemrs_schar_prod_reduce nvshmemrs::device::Of<signed char>::prod_reduce
#define nvshmemrs_schar_prod_reduce_warp nvshmemrs::device::Of<signed char>::prod_reduce_warp
#define nvshmemrs_schar_prod_reduce_block nvshmemrs::device::Of<signed char>::prod_reduce_block
#define nvshmemrs_schar_prod_reducescatter nvshmemrs::device::Of<signed char>::prod_reducescatter
#define nvshmemrs_schar_prod_reducescatter_warp nvshmemrs::device::Of<signed char>::prod_reducescatter_warp
#define nvshmemrs_schar_prod_reducescatter_block nvshmemrs::device::Of<signed char>::prod_reducescatter_block
#define nvshmemrs_schar_min_reduce nvshmemrs::device::Of<signed char>::min_reduce
#define nvshmemrs_schar_min_reduce_warp nvshmemrs::device::Of<signed char>::min_reduce_warp
#define nvshmemrs_schar_min_reduce_block nvshmemrs::device::Of<signed char>::min_reduce_block
#define nvshmemrs_schar_min_reducescatter nvshmemrs::device::Of<signed char>::min_reducescatter
#define nvshmemrs_schar_min_reducescatter_warp nvshmemrs::device::Of<signed char>::min_reducescatter_warp
#define nvshmemrs_schar_min_reducescatter_block nvshmemrs::device::Of<signed char>::min_reducescatter_block
#define nvshmemrs_schar_max_reduce nvshmemrs::device::Of<signed char>::max_reduce
#define nvshmemrs_schar_max_reduce_warp nvshmemrs::device::Of<signed char>::max_reduce_warp
#define nvshmemrs_schar_max_reduce_block nvshmemrs::device::Of<signed char>::max_reduce_block
#define nvshmemrs_schar_max_reducescatter nvshmemrs::device::Of<signed char>::max_reducescatter
#define nvshmemrs_schar_max_reducescatter_warp nvshmemrs::device::Of<signed char>::max_reducescatter_warp
#define nvshmemrs_schar_max_reducescatter_block nvshmemrs::device::Of<signed char>::max_reducescatter_block
#define nvshmemrs_short_p nvshmemrs::device::Of<short>::p
#define nvshmemrs_short_g nvshmemrs::device::Of<short>::g
#define nvshmemrs_short_put nvshmemrs::device::Of<short>::put
#define nvshmemrs_short_put_warp nvshmemrs::device::Of<short>::put_warp
#define nvshmemrs_short_put_block nvshmemrs::device::Of<short>::put_block
#define nvshmemrs_short_get nvshmemrs::device::Of<short>::get
#define nvshmemrs_short_get_warp nvshmemrs::device::Of<short>::get_warp
#define nvshmemrs_short_get_block nvshmemrs::device::Of<short>::get_block
#define nvshmemrs_short_put_nbi nvshmemrs::device::Of<short>::put_nbi
#define nvshmemrs_short_put_nbi_warp nvshmemrs::device::Of<short>::put_nbi_warp
#define nvshmemrs_short_put_nbi_block nvshmemrs::device::Of<short>::put_nbi_block
#define nvshmemrs_short_get_nbi nvshmemrs::device::Of<short>::get_nbi
#define nvshmemrs_short_get_nbi_warp nvshmemrs::device::Of<short>::get_nbi_warp
#define nvshmemrs_short_get_nbi_block nvshmemrs::device::Of<short>::get_nbi_block
#define nvshmemrs_short_put_signal nvshmemrs::device::Of<short>::put_signal
#define nvshmemrs_short_put_signal_warp nvshmemrs::device::Of<short>::put_signal_warp
#define nvshmemrs_short_put_signal_block nvshmemrs::device::Of<short>::put_signal_block
#define nvshmemrs_short_put_signal_nbi nvshmemrs::device::Of<short>::put_signal_nbi
#define nvshmemrs_short_put_signal_nbi_warp nvshmemrs::device::Of<short>::put_signal_nbi_warp
#define nvshmemrs_short_put_signal_nbi_block nvshmemrs::device::Of<short>::put_signal_nbi_block
#define nvshmemrs_short_iput nvshmemrs::device::Of<short>::iput
#define nvshmemrs_short_iput_warp nvshmemrs::device::Of<short>::iput_warp
#define nvshmemrs_short_iput_block nvshmemrs::device::Of<short>::iput_block
#define nvshmemrs_short_iget nvshmemrs::device::Of<short>::iget
#define nvshmemrs_short_iget_warp nvshmemrs::device::Of<short>::iget_warp
#define nvshmemrs_short_iget_block nvshmemrs::device::Of<short>::iget_block
#define nvshmemrs_short_broadcast nvshmemrs::device::Of<short>::broadcast
#define nvshmemrs_short_broadcast_warp nvshmemrs::device::Of<short>::broadcast_warp
#define nvshmemrs_short_broadcast_block nvshmemrs::device::Of<short>::broadcast_block
#define nvshmemrs_short_fcollect nvshmemrs::device::Of<short>::fcollect
#define nvshmemrs_short_fcollect_warp nvshmemrs::device::Of<short>::fcollect_warp
#define nvshmemrs_short_fcollect_block nvshmemrs::device::Of<short>::fcollect_block
#define nvshmemrs_short_alltoall nvshmemrs::device::Of<short>::alltoall
#define nvshmemrs_short_alltoall_warp nvshmemrs::device::Of<short>::alltoall_warp
#define nvshmemrs_short_alltoall_block nvshmemrs::device::Of<short>::alltoall_block
#define nvshmemrs_short_sum_reduce nvshmemrs::device::Of<short>::sum_reduce
#define nvshmemrs_short_sum_reduce_warp nvshmemrs::device::Of<short>::sum_reduce_warp
#define nvshmemrs_short_sum_reduce_block nvshmemrs::device::Of<short>::sum_reduce_block
#define nvshmemrs_short_sum_reducescatter nvshmemrs::device::Of<short>::sum_reducescatter
#define nvshmemrs_short_sum_reducescatter_warp nvshmemrs::device::Of<short>::sum_reducescatter_warp
#define nvshmemrs_short_sum_reducescatter_block nvshmemrs::device::Of<short>::sum_reducescatter_block
#define nvshmemrs_short_prod_reduce nvshmemrs::device::Of<short>::prod_reduce
#define nvshmemrs_short_prod_reduce_warp nvshmemrs::device::Of<short>::prod_reduce_warp
#define nvshmemrs_short_prod_reduce_block nvshmemrs::device::Of<short>::prod_reduce_block
#define nvshmemrs_short_prod_reducescatter nvshmemrs::device::Of<short>::prod_reducescatter
#define nvshmemrs_short_prod_reducescatter_warp nvshmemrs::device::Of<short>::prod_reducescatter_warp
#define nvshmemrs_short_prod_reducescatter_block nvshmemrs::device::Of<short>::prod_reducescatter_block
#define nvshmemrs_short_min_reduce nvshmemrs::device::Of<short>::min_reduce
#define nvshmemrs_short_min_reduce_warp nvshmemrs::device::Of<short>::min_reduce_warp
#define nvshmemrs_short_min_reduce_block nvshmemrs::device::Of<short>::min_reduce_block
#define nvshmemrs_short_min_reducescatter nvshmemrs::device::Of<short>::min_reducescatter
#define nvshmemrs_short_min_reducescatter_warp nvshmemrs::device::Of<short>::min_reducescatter_warp
#define nvshmemrs_short_min_reducescatter_block nvshmemrs::device::Of<short>::min_reducescatter_block
#define nvshmemrs_short_max_reduce nvshmemrs::device::Of<short>::max_reduce
#define nvshmemrs_short_max_reduce_warp nvshmemrs::device::Of<short>::max_reduce_warp
#define nvshmemrs_short_max_reduce_block nvshmemrs::device::Of<short>::max_reduce_block
#define nvshmemrs_short_max_reducescatter nvshmemrs::device::Of<short>::max_reducescatter
#define nvshmemrs_short_max_reducescatter_warp nvshmemrs::device::Of<short>::max_reducescatter_warp
#define nvshmemrs_short_max_reducescatter_block nvshmemrs::device::Of<short>::max_reducescatter_block
#define nvshmemrs_short_wait_until nvshmemrs::device::Of<short>::wait_until
#define nvshmemrs_short_test nvshmemrs::device::Of<short>::test
#define nvshmemrs_short_wait_until_all nvshmemrs::device::Of<short>::wait_until_all
#define nvshmemrs_short_wait_until_all_vector nvshmemrs::device::Of<short>::wait_until_all_vector
#define nvshmemrs_short_wait_until_any nvshmemrs::device::Of<short>::wait_until_any
#define nvshmemrs_short_wait_until_any_vector nvshmemrs::device::Of<short>::wait_until_any_vector
#define nvshmemrs_short_wait_until_some nvshmemrs::device::Of<short>::wait_until_some
#define nvshmemrs_short_wait_until_some_vector nvshmemrs::device::Of<short>::wait_until_some_vector
#define nvshmemrs_short_test_all nvshmemrs::device::Of<short>::test_all
#define nvshmemrs_short_test_all_vector nvshmemrs::device::Of<short>::test_all_vector
#define nvshmemrs_short_test_any nvshmemrs::device::Of<short>::test_any
#define nvshmemrs_short_test_any_vector nvshmemrs::device::Of<short>::test_any_vector
#define nvshmemrs_short_test_some nvshmemrs::device::Of<short>::test_some
#define nvshmemrs_short_test_some_vector nvshmemrs::device::Of<short>::test_some_vector
#define nvshmemrs_int_p nvshmemrs::device::Of<int>::p
#define nvshmemrs_int_g nvshmemrs::device::Of<int>::g
#define nvshmemrs_int_put nvshmemrs::device::Of<int>::put
#define nvshmemrs_int_put_warp nvshmemrs::device::Of<int>::put_warp
#define nvshmemrs_int_put_block nvshmemrs::device::Of<int>::put_block
#define nvshmemrs_int_get nvshmemrs::device::Of<int>::get
#define nvshmemrs_int_get_warp nvshmemrs::device::Of<int>::get_warp
#define nvshmemrs_int_get_block nvshmemrs::device::Of<int>::get_block
#define nvshmemrs_int_put_nbi nvshmemrs::device::Of<int>::put_nbi
#define nvshmemrs_int_put_nbi_warp nvshmemrs::device::Of<int>::put_nbi_warp
#define nvshmemrs_int_put_nbi_block nvshmemrs::device::Of<int>::put_nbi_block
#define nvshmemrs_int_get_nbi nvshmemrs::device::Of<int>::get_nbi
#define nvshmemrs_int_get_nbi_warp nvshmemrs::device::Of<int>::get_nbi_warp
#define nvshmemrs_int_get_nbi_block nvshmemrs::device::Of<int>::get_nbi_block
#define nvshmemrs_int_put_signal nvshmemrs::device::Of<int>::put_signal
#define nvshmemrs_int_put_signal_warp nvshmemrs::device::Of<int>::put_signal_warp
#define nvshmemrs_int_put_signal_block nvshmemrs::device::Of<int>::put_signal_block
#define nvshmemrs_int_put_signal_nbi nvshmemrs::device::Of<int>::put_signal_nbi
#define nvshmemrs_int_put_signal_nbi_warp nvshmemrs::device::Of<int>::put_signal_nbi_warp
#define nvshmemrs_int_put_signal_nbi_block nvshmemrs::device::Of<int>::put_signal_nbi_block
#define nvshmemrs_int_iput nvshmemrs::device::Of<int>::iput
#define nvshmemrs_int_iput_warp nvshmemrs::device::Of<int>::iput_warp
#define nvshmemrs_int_iput_block nvshmemrs::device::Of<int>::iput_block
#define nvshmemrs_int_iget nvshmemrs::device::Of<int>::iget
#define nvshmemrs_int_iget_warp nvshmemrs::device::Of<int>::iget_warp
#define nvshmemrs_int_iget_block nvshmemrs::device::Of<int>::iget_block
#define nvshmemrs_int_broadcast nvshmemrs::device::Of<int>::broadcast
#define nvshmemrs_int_broadcast_warp nvshmemrs::device::Of<int>::broadcast_warp
#define nvshmemrs_int_broadcast_block nvshmemrs::device::Of<int>::broadcast_block
#define nvshmemrs_int_fcollect nvshmemrs::device::Of<int>::fcollect
#define nvshmemrs_int_fcollect_warp nvshmemrs::device::Of<int>::fcollect_warp
#define nvshmemrs_int_fcollect_block nvshmemrs::device::Of<int>::fcollect_block
#define nvshmemrs_int_alltoall nvshmemrs::device::Of<int>::alltoall
#define nvshmemrs_int_alltoall_warp nvshmemrs::device::Of<int>::alltoall_warp
#define nvshmemrs_int_alltoall_block nvshmemrs::device::Of<int>::alltoall_block
#define nvshmemrs_int_sum_reduce nvshmemrs::device::Of<int>::sum_reduce
#define nvshmemrs_int_sum_reduce_warp nvshmemrs::device::Of<int>::sum_reduce_warp
#define nvshmemrs_int_sum_reduce_block nvshmemrs::device::Of<int>::sum_reduce_block
#define nvshmemrs_int_sum_reducescatter nvshmemrs::device::Of<int>::sum_reducescatter
#define nvshmemrs_int_sum_reducescatter_warp nvshmemrs::device::Of<int>::sum_reducescatter_warp
#define nvshmemrs_int_sum_reducescatter_block nvshmemrs::device::Of<int>::sum_reducescatter_block
#define nvshmemrs_int_prod_reduce nvshmemrs::device::Of<int>::prod_reduce
#define nvshmemrs_int_prod_reduce_warp nvshmemrs::device::Of<int>::prod_reduce_warp
#define nvshmemrs_int_prod_reduce_block nvshmemrs::device::Of<int>::prod_reduce_block
#define nvshmemrs_int_prod_reducescatter nvshmemrs::device::Of<int>::prod_reducescatter
#define nvshmemrs_int_prod_reducescatter_warp nvshmemrs::device::Of<int>::prod_reducescatter_warp
#define nvshmemrs_int_prod_reducescatter_block nvshmemrs::device::Of<int>::prod_reducescatter_block
#define nvshmemrs_int_min_reduce nvshmemrs::device::Of<int>::min_reduce
#define nvshmemrs_int_min_reduce_warp nvshmemrs::device::Of<int>::min_reduce_warp
#define nvshmemrs_int_min_reduce_block nvshmemrs::device::Of<int>::min_reduce_block
#define nvshmemrs_int_min_reducescatter nvshmemrs::device::Of<int>::min_reducescatter
#define nvshmemrs_int_min_reducescatter_warp nvshmemrs::device::Of<int>::min_reducescatter_warp
#define nvshmemrs_int_min_reducescatter_block nvshmemrs::device::Of<int>::min_reducescatter_block
#define nvshmemrs_int_max_reduce nvshmemrs::device::Of<int>::max_reduce
#define nvshmemrs_int_max_reduce_warp nvshmemrs::device::Of<int>::max_reduce_warp
#define nvshmemrs_int_max_reduce_block nvshmemrs::device::Of<int>::max_reduce_block
#define nvshmemrs_int_max_reducescatter nvshmemrs::device::Of<int>::max_reducescatter
#define nvshmemrs_int_max_reducescatter_warp nvshmemrs::device::Of<int>::max_reducescatter_warp
#define nvshmemrs_int_max_reducescatter_block nvshmemrs::device::Of<int>::max_reducescatter_block
#define nvshmemrs_int_atomic_fetch nvshmemrs::device::Of<int>::atomic_fetch
#define nvshmemrs_int_atomic_set nvshmemrs::device::Of<int>::atomic_set
#define nvshmemrs_int_atomic_swap nvshmemrs::device::Of<int>::atomic_swap
#define nvshmemrs_int_atomic_add nvshmemrs::device::Of<int>::atomic_add
#define nvshmemrs_int_atomic_fetch_add nvshmemrs::device::Of<int>::atomic_fetch_add
#define nvshmemrs_int_atomic_inc nvshmemrs::device::Of<int>::atomic_inc
#define nvshmemrs_int_atomic_fetch_inc nvshmemrs::device::Of<int>::atomic_fetch_inc
#define nvshmemrs_int_atomic_compare_swap nvshmemrs::device::Of<int>::atomic_compare_swap
#define nvshmemrs_int_wait_until nvshmemrs::device::Of<int>::wait_until
#define nvshmemrs_int_test nvshmemrs::device::Of<int>::test
#define nvshmemrs_int_wait_until_all nvshmemrs::device::Of<int>::wait_until_all
#define nvshmemrs_int_wait_until_all_vector nvshmemrs::device::Of<int>::wait_until_all_vector
#define nvshmemrs_int_wait_until_any nvshmemrs::device::Of<int>::wait_until_any
#define nvshmemrs_int_wait_until_any_vector nvshmemrs::device::Of<int>::wait_until_any_vector
#define nvshmemrs_int_wait_until_some nvshmemrs::device::Of<int>::wait_until_some
#define nvshmemrs_int_wait_until_some_vector nvshmemrs::device::Of<int>::wait_until_some_vector
#define nvshmemrs_int_test_all nvshmemrs::device::Of<int>::test_all
#define nvshmemrs_int_test_all_vector nvshmemrs::device::Of<int>::test_all_vector
#define nvshmemrs_int_test_any nvshmemrs::device::Of<int>::test_any
#define nvshmemrs_int_test_any_vector nvshmemrs::device::Of<int>::test_any_vector
#define nvshmemrs_int_test_some nvshmemrs::device::Of<int>::test_some
#define nvshmemrs_int_test_some_vector nvshmemrs::device::Of<int>::test_some_vector
#define nvshmemrs_long_p nvshmemrs::device::Of<long>::p
#define nvshmemrs_long_g nvshmemrs::device::Of<long>::g
#define nvshmemrs_long_put nvshmemrs::device::Of<long>::put
#define nvshmemrs_long_put_warp nvshmemrs::device::Of<long>::put_warp
#define nvshmemrs_long_put_block nvshmemrs::device::Of<long>::put_block
#define nvshmemrs_long_get nvshmemrs::device::Of<long>::get
#define nvshmemrs_long_get_warp nvshmemrs::device::Of<long>::get_warp
#define nvshmemrs_long_get_block nvshmemrs::device::Of<long>::get_block
#define nvshmemrs_long_put_nbi nvshmemrs::device::Of<long>::put_nbi
#define nvshmemrs_long_put_nbi_warp nvshmemrs::device::Of<long>::put_nbi_warp
#define nvshmemrs_long_put_nbi_block nvshmemrs::device::Of<long>::put_nbi_block
#define nvshmemrs_long_get_nbi nvshmemrs::device::Of<long>::get_nbi
#define nvshmemrs_long_get_nbi_warp nvshmemrs::device::Of<long>::get_nbi_warp
#define nvshmemrs_long_get_nbi_block nvshmemrs::device::Of<long>::get_nbi_block
#define nvshmemrs_long_put_signal nvshmemrs::device::Of<long>::put_signal
#define nvshmemrs_long_put_signal_warp nvshmemrs::device::Of<long>::put_signal_warp
#define nvshmemrs_long_put_signal_block nvshmemrs::device::Of<long>::put_signal_block
#define nvshmemrs_long_put_signal_nbi nvshmemrs::device::Of<long>::put_signal_nbi
#define nvshmemrs_long_put_signal_nbi_warp nvshmemrs::device::Of<long>::put_signal_nbi_warp
#define nvshmemrs_long_put_signal_nbi_block nvshmemrs::device::Of<long>::put_signal_nbi_block
#define nvshmemrs_long_iput nvshmemrs::device::Of<long>::iput
#define nvshmemrs_long_iput_warp nvshmemrs::device::Of<long>::iput_warp
#define nvshmemrs_long_iput_block nvshmemrs::device::Of<long>::iput_block
#define nvshmemrs_long_iget nvshmemrs::device::Of<long>::iget
#define nvshmemrs_long_iget_warp nvshmemrs::device::Of<long>::iget_warp
#define nvshmemrs_long_iget_block nvshmemrs::device::Of<long>::iget_block
#define nvshmemrs_long_broadcast nvshmemrs::device::Of<long>::broadcast
#define nvshmemrs_long_broadcast_warp nvshmemrs::device::Of<long>::broadcast_warp
#define nvshmemrs_long_broadcast_block nvshmemrs::device::Of<long>::broadcast_block
#define nvshmemrs_long_fcollect nvshmemrs::device::Of<long>::fcollect
#define nvshmemrs_long_fcollect_warp nvshmemrs::device::Of<long>::fcollect_warp
#define nvshmemrs_long_fcollect_block nvshmemrs::device::Of<long>::fcollect_block
#define nvshmemrs_long_alltoall nvshmemrs::device::Of<long>::alltoall
#define nvshmemrs_long_alltoall_warp nvshmemrs::device::Of<long>::alltoall_warp
#define nvshmemrs_long_alltoall_block nvshmemrs::device::Of<long>::alltoall_block
#define nvshmemrs_long_sum_reduce nvshmemrs::device::Of<long>::sum_reduce
#define nvshmemrs_long_sum_reduce_warp nvshmemrs::device::Of<long>::sum_reduce_warp
#define nvshmemrs_long_sum_reduce_block nvshmemrs::device::Of<long>::sum_reduce_block
#define nvshmemrs_long_sum_reducescatter nvshmemrs::device::Of<long>::sum_reducescatter
#define nvshmemrs_long_sum_reducescatter_warp nvshmemrs::device::Of<long>::sum_reducescatter_warp
#define nvshmemrs_long_sum_reducescatter_block nvshmemrs::device::Of<long>::sum_reducescatter_block
#define nvshmemrs_long_prod_reduce nvshmemrs::device::Of<long>::prod_reduce
#define nvshmemrs_long_prod_reduce_warp nvshmemrs::device::Of<long>::prod_reduce_warp
#define nvshmemrs_long_prod_reduce_block nvshmemrs::device::Of<long>::prod_reduce_block
#define nvshmemrs_long_prod_reducescatter nvshmemrs::device::Of<long>::prod_reducescatter
#define nvshmemrs_long_prod_reducescatter_warp nvshmemrs::device::Of<long>::prod_reducescatter_warp
#define nvshmemrs_long_prod_reducescatter_block nvshmemrs::device::Of<long>::prod_reducescatter_block
#define nvshmemrs_long_min_reduce nvshmemrs::device::Of<long>::min_reduce
#define nvshmemrs_long_min_reduce_warp nvshmemrs::device::Of<long>::min_reduce_warp
#define nvshmemrs_long_min_reduce_block nvshmemrs::device::Of<long>::min_reduce_block
#define nvshmemrs_long_min_reducescatter nvshmemrs::device::Of<long>::min_reducescatter
#define nvshmemrs_long_min_reducescatter_warp nvshmemrs::device::Of<long>::min_reducescatter_warp
#define nvshmemrs_long_min_reducescatter_block nvshmemrs::device::Of<long>::min_reducescatter_block
#define nvshmemrs_long_max_reduce nvshmemrs::device::Of<long>::max_reduce
#define nvshmemrs_long_max_reduce_warp nvshmemrs::device::Of<long>::max_reduce_warp
#define nvshmemrs_long_max_reduce_block nvshmemrs::device::Of<long>::max_reduce_block
#define nvshmemrs_long_max_reducescatter nvshmemrs::device::Of<long>::max_reducescatter
#define nvshmemrs_long_max_reducescatter_warp nvshmemrs::device::Of<long>::max_reducescatter_warp
#define nvshmemrs_long_max_reducescatter_block nvshmemrs::device::Of<long>::max_reducescatter_block
#define nvshmemrs_long_atomic_fetch nvshmemrs::device::Of<long>::atomic_fetch
#define nvshmemrs_long_atomic_set nvshmemrs::device::Of<long>::atomic_set
#define nvshmemrs_long_atomic_swap nvshmemrs::device::Of<long>::atomic_swap
#define nvshmemrs_long_atomic_add nvshmemrs::device::Of<long>::atomic_add
#define nvshmemrs_long_atomic_fetch_add nvshmemrs::device::Of<long>::atomic_fetch_add
#define nvshmemrs_long_atomic_inc nvshmemrs::device::Of<long>::atomic_inc
#define nvshmemrs_long_atomic_fetch_inc nvshmemrs::device::Of<long>::atomic_fetch_inc
#define nvshmemrs_long_atomic_compare_swap nvshmemrs::device::Of<long>::atomic_compare_swap
#define nvshmemrs_long_wait_until nvshmemrs::device::Of<long>::wait_until
#define nvshmemrs_long_test nvshmemrs::device::Of<long>::test
#define nvshmemrs_long_wait_until_all nvshmemrs::device::Of<long>::wait_until_all
#define nvshmemrs_long_wait_until_all_vector nvshmemrs::device::Of<long>::wait_until_all_vector
#define nvshmemrs_long_wait_until_any nvshmemrs::device::Of<long>::wait_until_any
#define nvshmemrs_long_wait_until_any_vector nvshmemrs::device::Of<long>::wait_until_any_vector
#define nvshmemrs_long_wait_until_some nvshmemrs::device::Of<long>::wait_until_some
#define nvshmemrs_long_wait_until_some_vector nvshmemrs::device::Of<long>::wait_until_some_vector
#define nvshmemrs_long_test_all nvshmemrs::device::Of<long>::test_all
#define nvshmemrs_long_test_all_vector nvshmemrs::device::Of<long>::test_all_vector
#define nvshmemrs_long_test_any nvshmemrs::device::Of<long>::test_any
#define nvshmemrs_long_test_any_vector nvshmemrs::device::Of<long>::test_any_vector
#define nvshmemrs_long_test_some nvshmemrs::device::Of<long>::test_some
#define nvshmemrs_long_test_some_vector nvshmemrs::device::Of<long>::test_some_vector
#define nvshmemrs_longlong_p nvshmemrs::device::Of<long long>::p
#define nvshmemrs_longlong_g nvshmemrs::device::Of<long long>::g
#define nvshmemrs_longlong_put nvshmemrs::device::Of<long long>::put
#define nvshmemrs_longlong_put_warp nvshmemrs::device::Of<long long>::put_warp
#define nvshmemrs_longlong_put_block nvshmemrs::device::Of<long long>::put_block
#define nvshmemrs_longlong_get nvshmemrs::device::Of<long long>::get
#define nvshmemrs_longlong_get_warp nvshmemrs::device::Of<long long>::get_warp
#define nvshmemrs_longlong_get_block nvshmemrs::device::Of<long long>::get_block
#define nvshmemrs_longlong_put_nbi nvshmemrs::device::Of<long long>::put_nbi
#define nvshmemrs_longlong_put_nbi_warp nvshmemrs::device::Of<long long>::put_nbi_warp
#define nvshmemrs_longlong_put_nbi_block nvshmemrs::device::Of<long long>::put_nbi_block
#define nvshmemrs_longlong_get_nbi nvshmemrs::device::Of<long long>::get_nbi
#define nvshmemrs_longlong_get_nbi_warp nvshmemrs::device::Of<long long>::get_nbi_warp
#define nvshmemrs_longlong_get_nbi_block nvshmemrs::device::Of<long long>::get_nbi_block
#define nvshmemrs_longlong_put_signal nvshmemrs::device::Of<long long>::put_signal
#define nvshmemrs_longlong_put_signal_warp nvshmemrs::device::Of<long long>::put_signal_warp
#define nvshmemrs_longlong_put_signal_block nvshmemrs::device::Of<long long>::put_signal_block
#define nvshmemrs_longlong_put_signal_nbi nvshmemrs::device::Of<long long>::put_signal_nbi
#define nvshmemrs_longlong_put_signal_nbi_warp nvshmemrs::device::Of<long long>::put_signal_nbi_warp
#define nvshmemrs_longlong_put_signal_nbi_block nvshmemrs::device::Of<long long>::put_signal_nbi_block
#define nvshmemrs_longlong_iput nvshmemrs::device::Of<long long>::iput
#define nvshmemrs_longlong_iput_warp nvshmemrs::device::Of<long long>::iput_warp
#define nvshmemrs_longlong_iput_block nvshmemrs::device::Of<long long>::iput_block
#define nvshmemrs_longlong_iget nvshmemrs::device::Of<long long>::iget
#define nvshmemrs_longlong_iget_warp nvshmemrs::device::Of<long long>::iget_warp
#define nvshmemrs_longlong_iget_block nvshmemrs::device::Of<long long>::iget_block
#define nvshmemrs_longlong_broadcast nvshmemrs::device::Of<long long>::broadcast
#define nvshmemrs_longlong_broadcast_warp nvshmemrs::device::Of<long long>::broadcast_warp
#define nvshmemrs_longlong_broadcast_block nvshmemrs::device::Of<long long>::broadcast_block
#define nvshmemrs_longlong_fcollect nvshmemrs::device::Of<long long>::fcollect
#define nvshmemrs_longlong_fcollect_warp nvshmemrs::device::Of<long long>::fcollect_warp
#define nvshmemrs_longlong_fcollect_block nvshmemrs::device::Of<long long>::fcollect_block
#define nvshmemrs_longlong_alltoall nvshmemrs::device::Of<long long>::alltoall
#define nvshmemrs_longlong_alltoall_warp nvshmemrs::device::Of<long long>::alltoall_warp
#define nvshmemrs_longlong_alltoall_block nvshmemrs::device::Of<long long>::alltoall_block
#define nvshmemrs_longlong_sum_reduce nvshmemrs::device::Of<long long>::sum_reduce
#define nvshmemrs_longlong_sum_reduce_warp nvshmemrs::device::Of<long long>::sum_reduce_warp
#define nvshmemrs_longlong_sum_reduce_block nvshmemrs::device::Of<long long>::sum_reduce_block
#define nvshmemrs_longlong_sum_reducescatter nvshmemrs::device::Of<long long>::sum_reducescatter
#define nvshmemrs_longlong_sum_reducescatter_warp nvshmemrs::device::Of<long long>::sum_reducescatter_warp
#define nvshmemrs_longlong_sum_reducescatter_block nvshmemrs::device::Of<long long>::sum_reducescatter_block
#define nvshmemrs_longlong_prod_reduce nvshmemrs::device::Of<long long>::prod_reduce
#define nvshmemrs_longlong_prod_reduce_warp nvshmemrs::device::Of<long long>::prod_reduce_warp
#define nvshmemrs_longlong_prod_reduce_block nvshmemrs::device::Of<long long>::prod_reduce_block
#define nvshmemrs_longlong_prod_reducescatter nvshmemrs::device::Of<long long>::prod_reducescatter
#define nvshmemrs_longlong_prod_reducescatter_warp nvshmemrs::device::Of<long long>::prod_reducescatter_warp
#define nvshmemrs_longlong_prod_reducescatter_block nvshmemrs::device::Of<long long>::prod_reducescatter_block
#define nvshmemrs_longlong_min_reduce nvshmemrs::device::Of<long long>::min_reduce
#define nvshmemrs_longlong_min_reduce_warp nvshmemrs::device::Of<long long>::min_reduce_warp
#define nvshmemrs_longlong_min_reduce_block nvshmemrs::device::Of<long long>::min_reduce_block
#define nvshmemrs_longlong_min_reducescatter nvshmemrs::device::Of<long long>::min_reducescatter
#define nvshmemrs_longlong_min_reducescatter_warp nvshmemrs::device::Of<long long>::min_reducescatter_warp
#define nvshmemrs_longlong_min_reducescatter_block nvshmemrs::device::Of<long long>::min_reducescatter_block
#define nvshmemrs_longlong_max_reduce nvshmemrs::device::Of<long long>::max_reduce
#define nvshmemrs_longlong_max_reduce_warp nvshmemrs::device::Of<long long>::max_reduce_warp
#define nvshmemrs_longlong_max_reduce_block nvshmemrs::device::Of<long long>::max_reduce_block
#define nvshmemrs_longlong_max_reducescatter nvshmemrs::device::Of<long long>::max_reducescatter
#define nvshmemrs_longlong_max_reducescatter_warp nvshmemrs::device::Of<long long>::max_reducescatter_warp
#define nvshmemrs_longlong_max_reducescatter_block nvshmemrs::device::Of<long long>::max_reducescatter_block
#define nvshmemrs_longlong_atomic_fetch nvshmemrs::device::Of<long long>::atomic_fetch
#define nvshmemrs_longlong_atomic_set nvshmemrs::device::Of<long long>::atomic_set
#define nvshmemrs_longlong_atomic_swap nvshmemrs::device::Of<long long>::atomic_swap
#define nvshmemrs_longlong_atomic_add nvshmemrs::device::Of<long long>::atomic_add
#define nvshmemrs_longlong_atomic_fetch_add nvshmemrs::device::Of<long long>::atomic_fetch_add
#define nvshmemrs_longlong_atomic_inc nvshmemrs::device::Of<long long>::atomic_inc
#define nvshmemrs_longlong_atomic_fetch_inc nvshmemrs::device::Of<long long>::atomic_fetch_inc
#define nvshmemrs_longlong_atomic_compare_swap nvshmemrs::device::Of<long long>::atomic_compare_swap
#define nvshmemrs_longlong_wait_until nvshmemrs::device::Of<long long>::wait_until
#define nvshmemrs_longlong_test nvshmemrs::device::Of<long long>::test
#define nvshmemrs_longlong_wait_until_all nvshmemrs::device::Of<long long>::wait_until_all
#define nvshmemrs_longlong_wait_until_all_vector nvshmemrs::device::Of<long long>::wait_until_all_vector
#define nvshmemrs_longlong_wait_until_any nvshmemrs::device::Of<long long>::wait_until_any
#define nvshmemrs_longlong_wait_until_any_vector nvshmemrs::device::Of<long long>::wait_until_any_vector
#define nvshmemrs_longlong_wait_until_some nvshmemrs::device::Of<long long>::wait_until_some
#define nvshmemrs_longlong_wait_until_some_vector nvshmemrs::device::Of<long long>::wait_until_some_vector
#define nvshmemrs_longlong_test_all nvshmemrs::device::Of<long long>::test_all
#define nvshmemrs_longlong_test_all_vector nvshmemrs::device::Of<long long>::test_all_vector
#define nvshmemrs_longlong_test_any nvshmemrs::device::Of<long long>::test_any
#define nvshmemrs_longlong_test_any_vector nvshmemrs::device::Of<long long>::test_any_vector
#define nvshmemrs_longlong_test_some nvshmemrs::device::Of<long long>::test_some
#define nvshmemrs_longlong_test_some_vector nvshmemrs::device::Of<long long>::test_some_vector
#define nvshmemrs_uchar_p nvshmemrs::device::Of<unsigned char>::p
#define nvshmemrs_uchar_g nvshmemrs::device::Of<unsigned char>::g
#define nvshmemrs_uchar_put nvshmemrs::device::Of<unsigned char>::put
#define nvshmemrs_uchar_put_warp nvshmemrs::device::Of<unsigned char>::put_warp
#define nvshmemrs_uchar_put_block nvshmemrs::device::Of<unsigned char>::put_block
#define nvshmemrs_uchar_get nvshmemrs::device::Of<unsigned char>::get
#define nvshmemrs_uchar_get_warp nvshmemrs::device::Of<unsigned char>::get_warp
#define nvshmemrs_uchar_get_block nvshmemrs::device::Of<unsigned char>::get_block
#define nvshmemrs_uchar_put_nbi nvshmemrs::device::Of<unsigned char>::put_nbi
#define nvshmemrs_uchar_put_nbi_warp nvshmemrs::device::Of<unsigned char>::put_nbi_warp
#define nvshmemrs_uchar_put_nbi_block nvshmemrs::device::Of<unsigned char>::put_nbi_block
#define nvshmemrs_uchar_get_nbi nvshmemrs::device::Of<unsigned char>::get_nbi
#define nvshmemrs_uchar_get_nbi_warp nvshmemrs::device::Of<unsigned char>::get_nbi_warp
#define nvshmemrs_uchar_get_nbi_block nvshmemrs::device::Of<unsigned char>::get_nbi_block
#define nvshmemrs_uchar_put_signal nvshmemrs::device::Of<unsigned char>::put_signal
#define nvshmemrs_uchar_put_signal_warp nvshmemrs::device::Of<unsigned char>::put_signal_warp
#define nvshmemrs_uchar_put_signal_block nvshmemrs::device::Of<unsigned char>::put_signal_block
#define nvshmemrs_uchar_put_signal_nbi nvshmemrs::device::Of<unsigned char>::put_signal_nbi
#define nvshmemrs_uchar_put_signal_nbi_warp nvshmemrs::device::Of<unsigned char>::put_signal_nbi_warp
#define nvshmemrs_uchar_put_signal_nbi_block nvshmemrs::device::Of<unsigned char>::put_signal_nbi_block
#define nvshmemrs_uchar_iput nvshmemrs::device::Of<unsigned char>::iput
#define nvshmemrs_uchar_iput_warp nvshmemrs::device::Of<unsigned char>::iput_warp
#define nvshmemrs_uchar_iput_block nvshmemrs::device::Of<unsigned char>::iput_block
#define nvshmemrs_uchar_iget nvshmemrs::device::Of<unsigned char>::iget
#define nvshmemrs_uchar_iget_warp nvshmemrs::device::Of<unsigned char>::iget_warp
#define nvshmemrs_uchar_iget_block nvshmemrs::device::Of<unsigned char>::iget_block
#define nvshmemrs_uchar_broadcast nvshmemrs::device::Of<unsigned char>::broadcast
#define nvshmemrs_uchar_broadcast_warp nvshmemrs::device::Of<unsigned char>::broadcast_warp
#define nvshmemrs_uchar_broadcast_block nvshmemrs::device::Of<unsigned char>::broadcast_block
#define nvshmemrs_uchar_fcollect nvshmemrs::device::Of<unsigned char>::fcollect
#define nvshmemrs_uchar_fcollect_warp nvshmemrs::device::Of<unsigned char>::fcollect_warp
#define nvshmemrs_uchar_fcollect_block nvshmemrs::device::Of<unsigned char>::fcollect_block
#define nvshmemrs_uchar_alltoall nvshmemrs::device::Of<unsigned char>::alltoall
#define nvshmemrs_uchar_alltoall_warp nvshmemrs::device::Of<unsigned char>::alltoall_warp
#define nvshmemrs_uchar_alltoall_block nvshmemrs::device::Of<unsigned char>::alltoall_block
#define nvshmemrs_uchar_sum_reduce nvshmemrs::device::Of<unsigned char>::sum_reduce
#define nvshmemrs_uchar_sum_reduce_warp nvshmemrs::device::Of<unsigned char>::sum_reduce_warp
#define nvshmemrs_uchar_sum_reduce_block nvshmemrs::device::Of<unsigned char>::sum_reduce_block
#define nvshmemrs_uchar_sum_reducescatter nvshmemrs::device::Of<unsigned char>::sum_reducescatter
#define nvshmemrs_uchar_sum_reducescatter_warp nvshmemrs::device::Of<unsigned char>::sum_reducescatter_warp
#define nvshmemrs_uchar_sum_reducescatter_block nvshmemrs::device::Of<unsigned char>::sum_reducescatter_block
#define nvshmemrs_uchar_prod_reduce nvshmemrs::device::Of<unsigned char>::prod_reduce
#define nvshmemrs_uchar_prod_reduce_warp nvshmemrs::device::Of<unsigned char>::prod_reduce_warp
#define nvshmemrs_uchar_prod_reduce_block nvshmemrs::device::Of<unsigned char>::prod_reduce_block
#define nvshmemrs_uchar_prod_reducescatter nvshmemrs::device::Of<unsigned char>::prod_reducescatter
#define nvshmemrs_uchar_prod_reducescatter_warp nvshmemrs::device::Of<unsigned char>::prod_reducescatter_warp
#define nvshmemrs_uchar_prod_reducescatter_block nvshmemrs::device::Of<unsigned char>::prod_reducescatter_block
#define nvshmemrs_uchar_min_reduce nvshmemrs::device::Of<unsigned char>::min_reduce
#define nvshmemrs_uchar_min_reduce_warp nvshmemrs::device::Of<unsigned char>::min_reduce_warp
#define nvshmemrs_uchar_min_reduce_block nvshmemrs::device::Of<unsigned char>::min_reduce_block
#define nvshmemrs_uchar_min_reducescatter nvshmemrs::device::Of<unsigned char>::min_reducescatter
#define nvshmemrs_uchar_min_reducescatter_warp nvshmemrs::device::Of<unsigned char>::min_reducescatter_warp
#define nvshmemrs_uchar_min_reducescatter_block nvshmemrs::device::Of<unsigned char>::min_reducescatter_block
#define nvshmemrs_uchar_max_reduce nvshmemrs::device::Of<unsigned char>::max_reduce
#define nvshmemrs_uchar_max_reduce_warp nvshmemrs::device::Of<unsigned char>::max_reduce_warp
#define nvshmemrs_uchar_max_reduce_block nvshmemrs::device::Of<unsigned char>::max_reduce_block
#define nvshmemrs_uchar_max_reducescatter nvshmemrs::device::Of<unsigned char>::max_reducescatter
#define nvshmemrs_uchar_max_reducescatter_warp nvshmemrs::device::Of<unsigned char>::max_reducescatter_warp
#define nvshmemrs_uchar_max_reducescatter_block nvshmemrs::device::Of<unsigned char>::max_reducescatter_block
#define nvshmemrs_uchar_and_reduce nvshmemrs::device::Of<unsigned char>::and_reduce
#define nvshmemrs_uchar_and_reduce_warp nvshmemrs::device::Of<unsigned char>::and_reduce_warp
#define nvshmemrs_uchar_and_reduce_block nvshmemrs::device::Of<unsigned char>::and_reduce_block
#define nvshmemrs_uchar_and_reducescatter nvshmemrs::device::Of<unsigned char>::and_reducescatter
#define nvshmemrs_uchar_and_reducescatter_warp nvshmemrs::device::Of<unsigned char>::and_reducescatter_warp
#define nvshmemrs_uchar_and_reducescatter_block nvshmemrs::device::Of<unsigned char>::and_reducescatter_block
#define nvshmemrs_uchar_or_reduce nvshmemrs::device::Of<unsigned char>::or_reduce
#define nvshmemrs_uchar_or_reduce_warp nvshmemrs::device::Of<unsigned char>::or_reduce_warp
#define nvshmemrs_uchar_or_reduce_block nvshmemrs::device::Of<unsigned char>::or_reduce_block
#define nvshmemrs_uchar_or_reducescatter nvshmemrs::device::Of<unsigned char>::or_reducescatter
#define nvshmemrs_uchar_or_reducescatter_warp nvshmemrs::device::Of<unsigned char>::or_reducescatter_warp
#define nvshmemrs_uchar_or_reducescatter_block nvshmemrs::device::Of<unsigned char>::or_reducescatter_block
#define nvshmemrs_uchar_xor_reduce nvshmemrs::device::Of<unsigned char>::xor_reduce
#define nvshmemrs_uchar_xor_reduce_warp nvshmemrs::device::Of<unsigned char>::xor_reduce_warp
#define nvshmemrs_uchar_xor_reduce_block nvshmemrs::device::Of<unsigned char>::xor_reduce_block
#define nvshmemrs_uchar_xor_reducescatter nvshmemrs::device::Of<unsigned char>::xor_reducescatter
#define nvshmemrs_uchar_xor_reducescatter_warp nvshmemrs::device::Of<unsigned char>::xor_reducescatter_warp
#define nvshmemrs_uchar_xor_reducescatter_block nvshmemrs::device::Of<unsigned char>::xor_reducescatter_block
#define nvshmemrs_ushort_p nvshmemrs::device::Of<unsigned short>::p
#define nvshmemrs_ushort_g nvshmemrs::device::Of<unsigned short>::g
#define nvshmemrs_ushort_put nvshmemrs::device::Of<unsigned short>::put
#define nvshmemrs_ushort_put_warp nvshmemrs::device::Of<unsigned short>::put_warp
#define nvshmemrs_ushort_put_block nvshmemrs::device::Of<unsigned short>::put_block
#define nvshmemrs_ushort_get nvshmemrs::device::Of<unsigned short>::get
#define nvshmemrs_ushort_get_warp nvshmemrs::device::Of<unsigned short>::get_warp
#define nvshmemrs_ushort_get_block nvshmemrs::device::Of<unsigned short>::get_block
#define nvshmemrs_ushort_put_nbi nvshmemrs::device::Of<unsigned short>::put_nbi
#define nvshmemrs_ushort_put_nbi_warp nvshmemrs::device::Of<unsigned short>::put_nbi_warp
#define nvshmemrs_ushort_put_nbi_block nvshmemrs::device::Of<unsigned short>::put_nbi_block
#define nvshmemrs_ushort_get_nbi nvshmemrs::device::Of<unsigned short>::get_nbi
#define nvshmemrs_ushort_get_nbi_warp nvshmemrs::device::Of<unsigned short>::get_nbi_warp
#define nvshmemrs_ushort_get_nbi_block nvshmemrs::device::Of<unsigned short>::get_nbi_block
#define nvshmemrs_ushort_put_signal nvshmemrs::device::Of<unsigned short>::put_signal
#define nvshmemrs_ushort_put_signal_warp nvshmemrs::device::Of<unsigned short>::put_signal_warp
#define nvshmemrs_ushort_put_signal_block nvshmemrs::device::Of<unsigned short>::put_signal_block
#define nvshmemrs_ushort_put_signal_nbi nvshmemrs::device::Of<unsigned short>::put_signal_nbi
#define nvshmemrs_ushort_put_signal_nbi_warp nvshmemrs::device::Of<unsigned short>::put_signal_nbi_warp
#define nvshmemrs_ushort_put_signal_nbi_block nvshmemrs::device::Of<unsigned short>::put_signal_nbi_block
#define nvshmemrs_ushort_iput nvshmemrs::device::Of<unsigned short>::iput
#define nvshmemrs_ushort_iput_warp nvshmemrs::device::Of<unsigned short>::iput_warp
#define nvshmemrs_ushort_iput_block nvshmemrs::device::Of<unsigned short>::iput_block
#define nvshmemrs_ushort_iget nvshmemrs::device::Of<unsigned short>::iget
#define nvshmemrs_ushort_iget_warp nvshmemrs::device::Of<unsigned short>::iget_warp
#define nvshmemrs_ushort_iget_block nvshmemrs::device::Of<unsigned short>::iget_block
#define nvshmemrs_ushort_broadcast nvshmemrs::device::Of<unsigned short>::broadcast
#define nvshmemrs_ushort_broadcast_warp nvshmemrs::device::Of<unsigned short>::broadcast_warp
#define nvshmemrs_ushort_broadcast_block nvshmemrs::device::Of<unsigned short>::broadcast_block
#define nvshmemrs_ushort_fcollect nvshmemrs::device::Of<unsigned short>::fcollect
#define nvshmemrs_ushort_fcollect_warp nvshmemrs::device::Of<unsigned short>::fcollect_warp
#define nvshmemrs_ushort_fcollect_block nvshmemrs::device::Of<unsigned short>::fcollect_block
#define nvshmemrs_ushort_alltoall nvshmemrs::device::Of<unsigned short>::alltoall
#define nvshmemrs_ushort_alltoall_warp nvshmemrs::device::Of<unsigned short>::alltoall_warp
#define nvshmemrs_ushort_alltoall_block nvshmemrs::device::Of<unsigned short>::alltoall_block
#define nvshmemrs_ushort_sum_reduce nvshmemrs::device::Of<unsigned short>::sum_reduce
#define nvshmemrs_ushort_sum_reduce_warp nvshmemrs::device::Of<unsigned short>::sum_reduce_warp
#define nvshmemrs_ushort_sum_reduce_block nvshmemrs::device::Of<unsigned short>::sum_reduce_block
#define nvshmemrs_ushort_sum_reducescatter nvshmemrs::device::Of<unsigned short>::sum_reducescatter
#define nvshmemrs_ushort_sum_reducescatter_warp nvshmemrs::device::Of<unsigned short>::sum_reducescatter_warp
#define nvshmemrs_ushort_sum_reducescatter_block nvshmemrs::device::Of<unsigned short>::sum_reducescatter_block
#define nvshmemrs_ushort_prod_reduce nvshmemrs::device::Of<unsigned short>::prod_reduce
#define nvshmemrs_ushort_prod_reduce_warp nvshmemrs::device::Of<unsigned short>::prod_reduce_warp
#define nvshmemrs_ushort_prod_reduce_block nvshmemrs::device::Of<unsigned short>::prod_reduce_block
#define nvshmemrs_ushort_prod_reducescatter nvshmemrs::device::Of<unsigned short>::prod_reducescatter
#define nvshmemrs_ushort_prod_reducescatter_warp nvshmemrs::device::Of<unsigned short>::prod_reducescatter_warp
#define nvshmemrs_ushort_prod_reducescatter_block nvshmemrs::device::Of<unsigned short>::prod_reducescatter_block
#define nvshmemrs_ushort_min_reduce nvshmemrs::device::Of<unsigned short>::min_reduce
#define nvshmemrs_ushort_min_reduce_warp nvshmemrs::device::Of<unsigned short>::min_reduce_warp
#define nvshmemrs_ushort_min_reduce_block nvshmemrs::device::Of<unsigned short>::min_reduce_block
#define nvshmemrs_ushort_min_reducescatter nvshmemrs::device::Of<unsigned short>::min_reducescatter
#define nvshmemrs_ushort_min_reducescatter_warp nvshmemrs::device::Of<unsigned short>::min_reducescatter_warp
#define nvshmemrs_ushort_min_reducescatter_block nvshmemrs::device::Of<unsigned short>::min_reducescatter_block
#define nvshmemrs_ushort_max_reduce nvshmemrs::device::Of<unsigned short>::max_reduce
#define nvshmemrs_ushort_max_reduce_warp nvshmemrs::device::Of<unsigned short>::max_reduce_warp
#define nvshmemrs_ushort_max_reduce_block nvshmemrs::device::Of<unsigned short>::max_reduce_block
#define nvshmemrs_ushort_max_reducescatter nvshmemrs::device::Of<unsigned short>::max_reducescatter
#define nvshmemrs_ushort_max_reducescatter_warp nvshmemrs::device::Of<unsigned short>::max_reducescatter_warp
#define nvshmemrs_ushort_max_reducescatter_block nvshmemrs::device::Of<unsigned short>::max_reducescatter_block
#define nvshmemrs_ushort_and_reduce nvshmemrs::device::Of<unsigned short>::and_reduce
#define nvshmemrs_ushort_and_reduce_warp nvshmemrs::device::Of<unsigned short>::and_reduce_warp
#define nvshmemrs_ushort_and_reduce_block nvshmemrs::device::Of<unsigned short>::and_reduce_block
#define nvshmemrs_ushort_and_reducescatter nvshmemrs::device::Of<unsigned short>::and_reducescatter
#define nvshmemrs_ushort_and_reducescatter_warp nvshmemrs::device::Of<unsigned short>::and_reducescatter_warp
#define nvshmemrs_ushort_and_reducescatter_block nvshmemrs::device::Of<unsigned short>::and_reducescatter_block
#define nvshmemrs_ushort_or_reduce nvshmemrs::device::Of<unsigned short>::or_reduce
#define nvshmemrs_ushort_or_reduce_warp nvshmemrs::device::Of<unsigned short>::or_reduce_warp
#define nvshmemrs_ushort_or_reduce_block nvshmemrs::device::Of<unsigned short>::or_reduce_block
#define nvshmemrs_ushort_or_reducescatter nvshmemrs::device::Of<unsigned short>::or_reducescatter
#define nvshmemrs_ushort_or_reducescatter_warp nvshmemrs::device::Of<unsigned short>::or_reducescatter_warp
#define nvshmemrs_ushort_or_reducescatter_block nvshmemrs::device::Of<unsigned short>::or_reducescatter_block
#define nvshmemrs_ushort_xor_reduce nvshmemrs::device::Of<unsigned short>::xor_reduce
#define nvshmemrs_ushort_xor_reduce_warp nvshmemrs::device::Of<unsigned short>::xor_reduce_warp
#define nvshmemrs_ushort_xor_reduce_block nvshmemrs::device::Of<unsigned short>::xor_reduce_block
#define nvshmemrs_ushort_xor_reducescatter nvshmemrs::device::Of<unsigned short>::xor_reducescatter
#define nvshmemrs_ushort_xor_reducescatter_warp nvshmemrs::device::Of<unsigned short>::xor_reducescatter_warp
#define nvshmemrs_ushort_xor_reducescatter_block nvshmemrs::device::Of<unsigned short>::xor_reducescatter_block
#define nvshmemrs_ushort_wait_until nvshmemrs::device::Of<unsigned short>::wait_until
#define nvshmemrs_ushort_test nvshmemrs::device::Of<unsigned short>::test
#define nvshmemrs_ushort_wait_until_all nvshmemrs::device::Of<unsigned short>::wait_until_all
#define nvshmemrs_ushort_wait_until_all_vector nvshmemrs::device::Of<unsigned short>::wait_until_all_vector
#define nvshmemrs_ushort_wait_until_any nvshmemrs::device::Of<unsigned short>::wait_until_any
#define nvshmemrs_ushort_wait_until_any_vector nvshmemrs::device::Of<unsigned short>::wait_until_any_vector
#define nvshmemrs_ushort_wait_until_some nvshmemrs::device::Of<unsigned short>::wait_until_some
#define nvshmemrs_ushort_wait_until_some_vector nvshmemrs::device::Of<unsigned short>::wait_until_some_vector
#define nvshmemrs_ushort_test_all nvshmemrs::device::Of<unsigned short>::test_all
#define nvshmemrs_ushort_test_all_vector nvshmemrs::device::Of<unsigned short>::test_all_vector
#define nvshmemrs_ushort_test_any nvshmemrs::device::Of<unsigned short>::test_any
#define nvshmemrs_ushort_test_any_vector nvshmemrs::device::Of<unsigned short>::test_any_vector
#define nvshmemrs_ushort_test_some nvshmemrs::device::Of<unsigned short>::test_some
#define nvshmemrs_ushort_test_some_vector nvshmemrs::device::Of<unsigned short>::test_some_vector
#define nvshmemrs_uint_p nvshmemrs::device::Of<unsigned int>::p
#define nvshmemrs_uint_g nvshmemrs::device::Of<unsigned int>::g
#define nvshmemrs_uint_put nvshmemrs::device::Of<unsigned int>::put
#define nvshmemrs_uint_put_warp nvshmemrs::device::Of<unsigned int>::put_warp
#define nvshmemrs_uint_put_block nvshmemrs::device::Of<unsigned int>::put_block
#define nvshmemrs_uint_get nvshmemrs::device::Of<unsigned int>::get
#define nvshmemrs_uint_get_warp nvshmemrs::device::Of<unsigned int>::get_warp
#define nvshmemrs_uint_get_block nvshmemrs::device::Of<unsigned int>::get_block
#define nvshmemrs_uint_put_nbi nvshmemrs::device::Of<unsigned int>::put_nbi
#define nvshmemrs_uint_put_nbi_warp nvshmemrs::device::Of<unsigned int>::put_nbi_warp
#define nvshmemrs_uint_put_nbi_block nvshmemrs::device::Of<unsigned int>::put_nbi_block
#define nvshmemrs_uint_get_nbi nvshmemrs::device::Of<unsigned int>::get_nbi
#define nvshmemrs_uint_get_nbi_warp nvshmemrs::device::Of<unsigned int>::get_nbi_warp
#define nvshmemrs_uint_get_nbi_block nvshmemrs::device::Of<unsigned int>::get_nbi_block
#define nvshmemrs_uint_put_signal nvshmemrs::device::Of<unsigned int>::put_signal
#define nvshmemrs_uint_put_signal_warp nvshmemrs::device::Of<unsigned int>::put_signal_warp
#define nvshmemrs_uint_put_signal_block nvshmemrs::device::Of<unsigned int>::put_signal_block
#define nvshmemrs_uint_put_signal_nbi nvshmemrs::device::Of<unsigned int>::put_signal_nbi
#define nvshmemrs_uint_put_signal_nbi_warp nvshmemrs::device::Of<unsigned int>::put_signal_nbi_warp
#define nvshmemrs_uint_put_signal_nbi_block nvshmemrs::device::Of<unsigned int>::put_signal_nbi_block
#define nvshmemrs_uint_iput nvshmemrs::device::Of<unsigned int>::iput
#define nvshmemrs_uint_iput_warp nvshmemrs::device::Of<unsigned int>::iput_warp
#define nvshmemrs_uint_iput_block nvshmemrs::device::Of<unsigned int>::iput_block
#define nvshmemrs_uint_iget nvshmemrs::device::Of<unsigned int>::iget
#define nvshmemrs_uint_iget_warp nvshmemrs::device::Of<unsigned int>::iget_warp
#define nvshmemrs_uint_iget_block nvshmemrs::device::Of<unsigned int>::iget_block
#define nvshmemrs_uint_broadcast nvshmemrs::device::Of<unsigned int>::broadcast
#define nvshmemrs_uint_broadcast_warp nvshmemrs::device::Of<unsigned int>::broadcast_warp
#define nvshmemrs_uint_broadcast_block nvshmemrs::device::Of<unsigned int>::broadcast_block
#define nvshmemrs_uint_fcollect nvshmemrs::device::Of<unsigned int>::fcollect
#define nvshmemrs_uint_fcollect_warp nvshmemrs::device::Of<unsigned int>::fcollect_warp
#define nvshmemrs_uint_fcollect_block nvshmemrs::device::Of<unsigned int>::fcollect_block
#define nvshmemrs_uint_alltoall nvshmemrs::device::Of<unsigned int>::alltoall
#define nvshmemrs_uint_alltoall_warp nvshmemrs::device::Of<unsigned int>::alltoall_warp
#define nvshmemrs_uint_alltoall_block nvshmemrs::device::Of<unsigned int>::alltoall_block
#define nvshmemrs_uint_sum_reduce nvshmemrs::device::Of<unsigned int>::sum_reduce
#define nvshmemrs_uint_sum_reduce_warp nvshmemrs::device::Of<unsigned int>::sum_reduce_warp
#define nvshmemrs_uint_sum_reduce_block nvshmemrs::device::Of<unsigned int>::sum_reduce_block
#define nvshmemrs_uint_sum_reducescatter nvshmemrs::device::Of<unsigned int>::sum_reducescatter
#define nvshmemrs_uint_sum_reducescatter_warp nvshmemrs::device::Of<unsigned int>::sum_reducescatter_warp
#define nvshmemrs_uint_sum_reducescatter_block nvshmemrs::device::Of<unsigned int>::sum_reducescatter_block
#define nvshmemrs_uint_prod_reduce nvshmemrs::device::Of<unsigned int>::prod_reduce
#define nvshmemrs_uint_prod_reduce_warp nvshmemrs::device::Of<unsigned int>::prod_reduce_warp
#define nvshmemrs_uint_prod_reduce_block nvshmemrs::device::Of<unsigned int>::prod_reduce_block
#define nvshmemrs_uint_prod_reducescatter nvshmemrs::device::Of<unsigned int>::prod_reducescatter
#define nvshmemrs_uint_prod_reducescatter_warp nvshmemrs::device::Of<unsigned int>::prod_reducescatter_warp
#define nvshmemrs_uint_prod_reducescatter_block nvshmemrs::device::Of<unsigned int>::prod_reducescatter_block
#define nvshmemrs_uint_min_reduce nvshmemrs::device::Of<unsigned int>::min_reduce
#define nvshmemrs_uint_min_reduce_warp nvshmemrs::device::Of<unsigned int>::min_reduce_warp
#define nvshmemrs_uint_min_reduce_block nvshmemrs::device::Of<unsigned int>::min_reduce_block
#define nvshmemrs_uint_min_reducescatter nvshmemrs::device::Of<unsigned int>::min_reducescatter
#define nvshmemrs_uint_min_reducescatter_warp nvshmemrs::device::Of<unsigned int>::min_reducescatter_warp
#define nvshmemrs_uint_min_reducescatter_block nvshmemrs::device::Of<unsigned int>::min_reducescatter_block
#define nvshmemrs_uint_max_reduce nvshmemrs::device::Of<unsigned int>::max_reduce
#define nvshmemrs_uint_max_reduce_warp nvshmemrs::device::Of<unsigned int>::max_reduce_warp
#define nvshmemrs_uint_max_reduce_block nvshmemrs::device::Of<unsigned int>::max_reduce_block
#define nvshmemrs_uint_max_reducescatter nvshmemrs::device::Of<unsigned int>::max_reducescatter
#define nvshmemrs_uint_max_reducescatter_warp nvshmemrs::device::Of<unsigned int>::max_reducescatter_warp
#define nvshmemrs_uint_max_reducescatter_block nvshmemrs::device::Of<unsigned int>::max_reducescatter_block
#define nvshmemrs_uint_and_reduce nvshmemrs::device::Of<unsigned int>::and_reduce
#define nvshmemrs_uint_and_reduce_warp nvshmemrs::device::Of<unsigned int>::and_reduce_warp
#define nvshmemrs_uint_and_reduce_block nvshmemrs::device::Of<unsigned int>::and_reduce_block
#define nvshmemrs_uint_and_reducescatter nvshmemrs::device::Of<unsigned int>::and_reducescatter
#define nvshmemrs_uint_and_reducescatter_warp nvshmemrs::device::Of<unsigned int>::and_reducescatter_warp
#define nvshmemrs_uint_and_reducescatter_block nvshmemrs::device::Of<unsigned int>::and_reducescatter_block
#define nvshmemrs_uint_or_reduce nvshmemrs::device::Of<unsigned int>::or_reduce
#define nvshmemrs_uint_or_reduce_warp nvshmemrs::device::Of<unsigned int>::or_reduce_warp
#define nvshmemrs_uint_or_reduce_block nvshmemrs::device::Of<unsigned int>::or_reduce_block
#define nvshmemrs_uint_or_reducescatter nvshmemrs::device::Of<unsigned int>::or_reducescatter
#define nvshmemrs_uint_or_reducescatter_warp nvshmemrs::device::Of<unsigned int>::or_reducescatter_warp
#define nvshmemrs_uint_or_reducescatter_block nvshmemrs::device::Of<unsigned int>::or_reducescatter_block
#define nvshmemrs_uint_xor_reduce nvshmemrs::device::Of<unsigned int>::xor_reduce
#define nvshmemrs_uint_xor_reduce_warp nvshmemrs::device::Of<unsigned int>::xor_reduce_warp
#define nvshmemrs_uint_xor_reduce_block nvshmemrs::device::Of<unsigned int>::xor_reduce_block
#define nvshmemrs_uint_xor_reducescatter nvshmemrs::device::Of<unsigned int>::xor_reducescatter
#define nvshmemrs_uint_xor_reducescatter_warp nvshmemrs::device::Of<unsigned int>::xor_reducescatter_warp
#define nvshmemrs_uint_xor_reducescatter_block nvshmemrs::device::Of<unsigned int>::xor_reducescatter_block
#define nvshmemrs_uint_atomic_fetch nvshmemrs::device::Of<unsigned int>::atomic_fetch
#define nvshmemrs_uint_atomic_set nvshmemrs::device::Of<unsigned int>::atomic_set
#define nvshmemrs_uint_atomic_swap nvshmemrs::device::Of<unsigned int>::atomic_swap
#define nvshmemrs_uint_atomic_add nvshmemrs::device::Of<unsigned int>::atomic_add
#define nvshmemrs_uint_atomic_fetch_add nvshmemrs::device::Of<unsigned int>::atomic_fetch_add
#define nvshmemrs_uint_atomic_inc nvshmemrs::device::Of<unsigned int>::atomic_inc
#define nvshmemrs_uint_atomic_fetch_inc nvshmemrs::device::Of<unsigned int>::atomic_fetch_inc
#define nvshmemrs_uint_atomic_compare_swap nvshmemrs::device::Of<unsigned int>::atomic_compare_swap
#define nvshmemrs_uint_atomic_and nvshmemrs::device::Of<unsigned int>::atomic_and
#define nvshmemrs_uint_atomic_fetch_and nvshmemrs::device::Of<unsigned int>::atomic_fetch_and
#define nvshmemrs_uint_atomic_or nvshmemrs::device::Of<unsigned int>::atomic_or
#define nvshmemrs_uint_atomic_fetch_or nvshmemrs::device::Of<unsigned int>::atomic_fetch_or
#define nvshmemrs_uint_atomic_xor nvshmemrs::device::Of<unsigned int>::atomic_xor
#define nvshmemrs_uint_atomic_fetch_xor nvshmemrs::device::Of<unsigned int>::atomic_fetch_xor
#define nvshmemrs_uint_wait_until nvshmemrs::device::Of<unsigned int>::wait_until
#define nvshmemrs_uint_test nvshmemrs::device::Of<unsigned int>::test
#define nvshmemrs_uint_wait_until_all nvshmemrs::device::Of<unsigned int>::wait_until_all
#define nvshmemrs_uint_wait_until_all_vector nvshmemrs::device::Of<unsigned int>::wait_until_all_vector
#define nvshmemrs_uint_wait_until_any nvshmemrs::device::Of<unsigned int>::wait_until_any
#define nvshmemrs_uint_wait_until_any_vector nvshmemrs::device::Of<unsigned int>::wait_until_any_vector
#define nvshmemrs_uint_wait_until_some nvshmemrs::device::Of<unsigned int>::wait_until_some
#define nvshmemrs_uint_wait_until_some_vector nvshmemrs::device::Of<unsigned int>::wait_until_some_vector
#define nvshmemrs_uint_test_all nvshmemrs::device::Of<unsigned int>::test_all
#define nvshmemrs_uint_test_all_vector nvshmemrs::device::Of<unsigned int>::test_all_vector
#define nvshmemrs_uint_test_any nvshmemrs::device::Of<unsigned int>::test_any
#define nvshmemrs_uint_test_any_vector nvshmemrs::device::Of<unsigned int>::test_any_vector
#define nvshmemrs_uint_test_some nvshmemrs::device::Of<unsigned int>::test_some
#define nvshmemrs_uint_test_some_vector nvshmemrs::device::Of<unsigned int>::test_some_vector
#define nvshmemrs_ulong_p nvshmemrs::device::Of<unsigned long>::p
#define nvshmemrs_ulong_g nvshmemrs::device::Of<unsigned long>::g
#define nvshmemrs_ulong_put nvshmemrs::device::Of<unsigned long>::put
#define nvshmemrs_ulong_put_warp nvshmemrs::device::Of<unsigned long>::put_warp
#define nvshmemrs_ulong_put_block nvshmemrs::device::Of<unsigned long>::put_block
#define nvshmemrs_ulong_get nvshmemrs::device::Of<unsigned long>::get
#define nvshmemrs_ulong_get_warp nvshmemrs::device::Of<unsigned long>::get_warp
#define nvshmemrs_ulong_get_block nvshmemrs::device::Of<unsigned long>::get_block
#define nvshmemrs_ulong_put_nbi nvshmemrs::device::Of<unsigned long>::put_nbi
#define nvshmemrs_ulong_put_nbi_warp nvshmemrs::device::Of<unsigned long>::put_nbi_warp
#define nvshmemrs_ulong_put_nbi_block nvshmemrs::device::Of<unsigned long>::put_nbi_block
#define nvshmemrs_ulong_get_nbi nvshmemrs::device::Of<unsigned long>::get_nbi
#define nvshmemrs_ulong_get_nbi_warp nvshmemrs::device::Of<unsigned long>::get_nbi_warp
#define nvshmemrs_ulong_get_nbi_block nvshmemrs::device::Of<unsigned long>::get_nbi_block
#define nvshmemrs_ulong_put_signal nvshmemrs::device::Of<unsigned long>::put_signal
#define nvshmemrs_ulong_put_signal_warp nvshmemrs::device::Of<unsigned long>::put_signal_warp
#define nvshmemrs_ulong_put_signal_block nvshmemrs::device::Of<unsigned long>::put_signal_block
#define nvshmemrs_ulong_put_signal_nbi nvshmemrs::device::Of<unsigned long>::put_signal_nbi
#define nvshmemrs_ulong_put_signal_nbi_warp nvshmemrs::device::Of<unsigned long>::put_signal_nbi_warp
#define nvshmemrs_ulong_put_signal_nbi_block nvshmemrs::device::Of<unsigned long>::put_signal_nbi_block
#define nvshmemrs_ulong_iput nvshmemrs::device::Of<unsigned long>::iput
#define nvshmemrs_ulong_iput_warp nvshmemrs::device::Of<unsigned long>::iput_warp
#define nvshmemrs_ulong_iput_block nvshmemrs::device::Of<unsigned long>::iput_block
#define nvshmemrs_ulong_iget nvshmemrs::device::Of<unsigned long>::iget
#define nvshmemrs_ulong_iget_warp nvshmemrs::device::Of<unsigned long>::iget_warp
#define nvshmemrs_ulong_iget_block nvshmemrs::device::Of<unsigned long>::iget_block
#define nvshmemrs_ulong_broadcast nvshmemrs::device::Of<unsigned long>::broadcast
#define nvshmemrs_ulong_broadcast_warp nvshmemrs::device::Of<unsigned long>::broadcast_warp
#define nvshmemrs_ulong_broadcast_block nvshmemrs::device::Of<unsigned long>::broadcast_block
#define nvshmemrs_ulong_fcollect nvshmemrs::device::Of<unsigned long>::fcollect
#define nvshmemrs_ulong_fcollect_warp nvshmemrs::device::Of<unsigned long>::fcollect_warp
#define nvshmemrs_ulong_fcollect_block nvshmemrs::device::Of<unsigned long>::fcollect_block
#define nvshmemrs_ulong_alltoall nvshmemrs::device::Of<unsigned long>::alltoall
#define nvshmemrs_ulong_alltoall_warp nvshmemrs::device::Of<unsigned long>::alltoall_warp
#define nvshmemrs_ulong_alltoall_block nvshmemrs::device::Of<unsigned long>::alltoall_block
#define nvshmemrs_ulong_sum_reduce nvshmemrs::device::Of<unsigned long>::sum_reduce
#define nvshmemrs_ulong_sum_reduce_warp nvshmemrs::device::Of<unsigned long>::sum_reduce_warp
#define nvshmemrs_ulong_sum_reduce_block nvshmemrs::device::Of<unsigned long>::sum_reduce_block
#define nvshmemrs_ulong_sum_reducescatter nvshmemrs::device::Of<unsigned long>::sum_reducescatter
#define nvshmemrs_ulong_sum_reducescatter_warp nvshmemrs::device::Of<unsigned long>::sum_reducescatter_warp
#define nvshmemrs_ulong_sum_reducescatter_block nvshmemrs::device::Of<unsigned long>::sum_reducescatter_block
#define nvshmemrs_ulong_prod_reduce nvshmemrs::device::Of<unsigned long>::prod_reduce
#define nvshmemrs_ulong_prod_reduce_warp nvshmemrs::device::Of<unsigned long>::prod_reduce_warp
#define nvshmemrs_ulong_prod_reduce_block nvshmemrs::device::Of<unsigned long>::prod_reduce_block
#define nvshmemrs_ulong_prod_reducescatter nvshmemrs::device::Of<unsigned long>::prod_reducescatter
#define nvshmemrs_ulong_prod_reducescatter_warp nvshmemrs::device::Of<unsigned long>::prod_reducescatter_warp
#define nvshmemrs_ulong_prod_reducescatter_block nvshmemrs::device::Of<unsigned long>::prod_reducescatter_block
#define nvshmemrs_ulong_min_reduce nvshmemrs::device::Of<unsigned long>::min_reduce
#define nvshmemrs_ulong_min_reduce_warp nvshmemrs::device::Of<unsigned long>::min_reduce_warp
#define nvshmemrs_ulong_min_reduce_block nvshmemrs::device::Of<unsigned long>::min_reduce_block
#define nvshmemrs_ulong_min_reducescatter nvshmemrs::device::Of<unsigned long>::min_reducescatter
#define nvshmemrs_ulong_min_reducescatter_warp nvshmemrs::device::Of<unsigned long>::min_reducescatter_warp
#define nvshmemrs_ulong_min_reducescatter_block nvshmemrs::device::Of<unsigned long>::min_reducescatter_block
#define nvshmemrs_ulong_max_reduce nvshmemrs::device::Of<unsigned long>::max_reduce
#define nvshmemrs_ulong_max_reduce_warp nvshmemrs::device::Of<unsigned long>::max_reduce_warp
#define nvshmemrs_ulong_max_reduce_block nvshmemrs::device::Of<unsigned long>::max_reduce_block
#define nvshmemrs_ulong_max_reducescatter nvshmemrs::device::Of<unsigned long>::max_reducescatter
#define nvshmemrs_ulong_max_reducescatter_warp nvshmemrs::device::Of<unsigned long>::max_reducescatter_warp
#define nvshmemrs_ulong_max_reducescatter_block nvshmemrs::device::Of<unsigned long>::max_reducescatter_block
#define nvshmemrs_ulong_and_reduce nvshmemrs::device::Of<unsigned long>::and_reduce
#define nvshmemrs_ulong_and_reduce_warp nvshmemrs::device::Of<unsigned long>::and_reduce_warp
#define nvshmemrs_ulong_and_reduce_block nvshmemrs::device::Of<unsigned long>::and_reduce_block
#define nvshmemrs_ulong_and_reducescatter nvshmemrs::device::Of<unsigned long>::and_reducescatter
#define nvshmemrs_ulong_and_reducescatter_warp nvshmemrs::device::Of<unsigned long>::and_reducescatter_warp
#define nvshmemrs_ulong_and_reducescatter_block nvshmemrs::device::Of<unsigned long>::and_reducescatter_block
#define nvshmemrs_ulong_or_reduce nvshmemrs::device::Of<unsigned long>::or_reduce
#define nvshmemrs_ulong_or_reduce_warp nvshmemrs::device::Of<unsigned long>::or_reduce_warp
#define nvshmemrs_ulong_or_reduce_block nvshmemrs::device::Of<unsigned long>::or_reduce_block
#define nvshmemrs_ulong_or_reducescatter nvshmemrs::device::Of<unsigned long>::or_reducescatter
#define nvshmemrs_ulong_or_reducescatter_warp nvshmemrs::device::Of<unsigned long>::or_reducescatter_warp
#define nvshmemrs_ulong_or_reducescatter_block nvshmemrs::device::Of<unsigned long>::or_reducescatter_block
#define nvshmemrs_ulong_xor_reduce nvshmemrs::device::Of<unsigned long>::xor_reduce
#define nvshmemrs_ulong_xor_reduce_warp nvshmemrs::device::Of<unsigned long>::xor_reduce_warp
#define nvshmemrs_ulong_xor_reduce_block nvshmemrs::device::Of<unsigned long>::xor_reduce_block
#define nvshmemrs_ulong_xor_reducescatter nvshmemrs::device::Of<unsigned long>::xor_reducescatter
#define nvshmemrs_ulong_xor_reducescatter_warp nvshmemrs::device::Of<unsigned long>::xor_reducescatter_warp
#define nvshmemrs_ulong_xor_reducescatter_block nvshmemrs::device::Of<unsigned long>::xor_reducescatter_block
#define nvshmemrs_ulong_atomic_fetch nvshmemrs::device::Of<unsigned long>::atomic_fetch
#define nvshmemrs_ulong_atomic_set nvshmemrs::device::Of<unsigned long>::atomic_set
#define nvshmemrs_ulong_atomic_swap nvshmemrs::device::Of<unsigned long>::atomic_swap
#define nvshmemrs_ulong_atomic_add nvshmemrs::device::Of<unsigned long>::atomic_add
#define nvshmemrs_ulong_atomic_fetch_add nvshmemrs::device::Of<unsigned long>::atomic_fetch_add
#define nvshmemrs_ulong_atomic_inc nvshmemrs::device::Of<unsigned long>::atomic_inc
#define nvshmemrs_ulong_atomic_fetch_inc nvshmemrs::device::Of<unsigned long>::atomic_fetch_inc
#define nvshmemrs_ulong_atomic_compare_swap nvshmemrs::device::Of<unsigned long>::atomic_compare_swap
#define nvshmemrs_ulong_atomic_and nvshmemrs::device::Of<unsigned long>::atomic_and
#define nvshmemrs_ulong_atomic_fetch_and nvshmemrs::device::Of<unsigned long>::atomic_fetch_and
#define nvshmemrs_ulong_atomic_or nvshmemrs::device::Of<unsigned long>::atomic_or
#define nvshmemrs_ulong_atomic_fetch_or nvshmemrs::device::Of<unsigned long>::atomic_fetch_or
#define nvshmemrs_ulong_atomic_xor nvshmemrs::device::Of<unsigned long>::atomic_xor
#define nvshmemrs_ulong_atomic_fetch_xor nvshmemrs::device::Of<unsigned long>::atomic_fetch_xor
#define nvshmemrs_ulong_wait_until nvshmemrs::device::Of<unsigned long>::wait_until
#define nvshmemrs_ulong_test nvshmemrs::device::Of<unsigned long>::test
#define nvshmemrs_ulong_wait_until_all nvshmemrs::device::Of<unsigned long>::wait_until_all
#define nvshmemrs_ulong_wait_until_all_vector nvshmemrs::device::Of<unsigned long>::wait_until_all_vector
#define nvshmemrs_ulong_wait_until_any nvshmemrs::device::Of<unsigned long>::wait_until_any
#define nvshmemrs_ulong_wait_until_any_vector nvshmemrs::device::Of<unsigned long>::wait_until_any_vector
#define nvshmemrs_ulong_wait_until_some nvshmemrs::device::Of<unsigned long>::wait_until_some
#define nvshmemrs_ulong_wait_until_some_vector nvshmemrs::device::Of<unsigned long>::wait_until_some_vector
#define nvshmemrs_ulong_test_all nvshmemrs::device::Of<unsigned long>::test_all
#define nvshmemrs_ulong_test_all_vector nvshmemrs::device::Of<unsigned long>::test_all_vector
#define nvshmemrs_ulong_test_any nvshmemrs::device::Of<unsigned long>::test_any
#define nvshmemrs_ulong_test_any_vector nvshmemrs::device::Of<unsigned long>::test_any_vector
#define nvshmemrs_ulong_test_some nvshmemrs::device::Of<unsigned long>::test_some
#define nvshmemrs_ulong_test_some_vector nvshmemrs::device::Of<unsigned long>::test_some_vector
#define nvshmemrs_ulonglong_p nvshmemrs::device::Of<unsigned long long>::p
#define nvshmemrs_ulonglong_g nvshmemrs::device::Of<unsigned long long>::g
#define nvshmemrs_ulonglong_put nvshmemrs::device::Of<unsigned long long>::put
#define nvshmemrs_ulonglong_put_warp nvshmemrs::device::Of<unsigned long long>::put_warp
#define nvshmemrs_ulonglong_put_block nvshmemrs::device::Of<unsigned long long>::put_block
#define nvshmemrs_ulonglong_get nvshmemrs::device::Of<unsigned long long>::get
#define nvshmemrs_ulonglong_get_warp nvshmemrs::device::Of<unsigned long long>::get_warp
#define nvshmemrs_ulonglong_get_block nvshmemrs::device::Of<unsigned long long>::get_block
#define nvshmemrs_ulonglong_put_nbi nvshmemrs::device::Of<unsigned long long>::put_nbi
#define nvshmemrs_ulonglong_put_nbi_warp nvshmemrs::device::Of<unsigned long long>::put_nbi_warp
#define nvshmemrs_ulonglong_put_nbi_block nvshmemrs::device::Of<unsigned long long>::put_nbi_block
#define nvshmemrs_ulonglong_get_nbi nvshmemrs::device::Of<unsigned long long>::get_nbi
#define nvshmemrs_ulonglong_get_nbi_warp nvshmemrs::device::Of<unsigned long long>::get_nbi_warp
#define nvshmemrs_ulonglong_get_nbi_block nvshmemrs::device::Of<unsigned long long>::get_nbi_block
#define nvshmemrs_ulonglong_put_signal nvshmemrs::device::Of<unsigned long long>::put_signal
#define nvshmemrs_ulonglong_put_signal_warp nvshmemrs::device::Of<unsigned long long>::put_signal_warp
#define nvshmemrs_ulonglong_put_signal_block nvshmemrs::device::Of<unsigned long long>::put_signal_block
#define nvshmemrs_ulonglong_put_signal_nbi nvshmemrs::device::Of<unsigned long long>::put_signal_nbi
#define nvshmemrs_ulonglong_put_signal_nbi_warp nvshmemrs::device::Of<unsigned long long>::put_signal_nbi_warp
#define nvshmemrs_ulonglong_put_signal_nbi_block nvshmemrs::device::Of<unsigned long long>::put_signal_nbi_block
#define nvshmemrs_ulonglong_iput nvshmemrs::device::Of<unsigned long long>::iput
#define nvshmemrs_ulonglong_iput_warp nvshmemrs::device::Of<unsigned long long>::iput_warp
#define nvshmemrs_ulonglong_iput_block nvshmemrs::device::Of<unsigned long long>::iput_block
#define nvshmemrs_ulonglong_iget nvshmemrs::device::Of<unsigned long long>::iget
#define nvshmemrs_ulonglong_iget_warp nvshmemrs::device::Of<unsigned long long>::iget_warp
#define nvshmemrs_ulonglong_iget_block nvshmemrs::device::Of<unsigned long long>::iget_block
#define nvshmemrs_ulonglong_broadcast nvshmemrs::device::Of<unsigned long long>::broadcast
#define nvshmemrs_ulonglong_broadcast_warp nvshmemrs::device::Of<unsigned long long>::broadcast_warp
#define nvshmemrs_ulonglong_broadcast_block nvshmemrs::device::Of<unsigned long long>::broadcast_block
#define nvshmemrs_ulonglong_fcollect nvshmemrs::device::Of<unsigned long long>::fcollect
#define nvshmemrs_ulonglong_fcollect_warp nvshmemrs::device::Of<unsigned long long>::fcollect_warp
#define nvshmemrs_ulonglong_fcollect_block nvshmemrs::device::Of<unsigned long long>::fcollect_block
#define nvshmemrs_ulonglong_alltoall nvshmemrs::device::Of<unsigned long long>::alltoall
#define nvshmemrs_ulonglong_alltoall_warp nvshmemrs::device::Of<unsigned long long>::alltoall_warp
#define nvshmemrs_ulonglong_alltoall_block nvshmemrs::device::Of<unsigned long long>::alltoall_block
#define nvshmemrs_ulonglong_sum_reduce nvshmemrs::device::Of<unsigned long long>::sum_reduce
#define nvshmemrs_ulonglong_sum_reduce_warp nvshmemrs::device::Of<unsigned long long>::sum_reduce_warp
#define nvshmemrs_ulonglong_sum_reduce_block nvshmemrs::device::Of<unsigned long long>::sum_reduce_block
#define nvshmemrs_ulonglong_sum_reducescatter nvshmemrs::device::Of<unsigned long long>::sum_reducescatter
#define nvshmemrs_ulonglong_sum_reducescatter_warp nvshmemrs::device::Of<unsigned long long>::sum_reducescatter_warp
#define nvshmemrs_ulonglong_sum_reducescatter_block nvshmemrs::device::Of<unsigned long long>::sum_reducescatter_block
#define nvshmemrs_ulonglong_prod_reduce nvshmemrs::device::Of<unsigned long long>::prod_reduce
#define nvshmemrs_ulonglong_prod_reduce_warp nvshmemrs::device::Of<unsigned long long>::prod_reduce_warp
#define nvshmemrs_ulonglong_prod_reduce_block nvshmemrs::device::Of<unsigned long long>::prod_reduce_block
#define nvshmemrs_ulonglong_prod_reducescatter nvshmemrs::device::Of<unsigned long long>::prod_reducescatter
#define nvshmemrs_ulonglong_prod_reducescatter_warp nvshmemrs::device::Of<unsigned long long>::prod_reducescatter_warp
#define nvshmemrs_ulonglong_prod_reducescatter_block nvshmemrs::device::Of<unsigned long long>::prod_reducescatter_block
#define nvshmemrs_ulonglong_min_reduce nvshmemrs::device::Of<unsigned long long>::min_reduce
#define nvshmemrs_ulonglong_min_reduce_warp nvshmemrs::device::Of<unsigned long long>::min_reduce_warp
#define nvshmemrs_ulonglong_min_reduce_block nvshmemrs::device::Of<unsigned long long>::min_reduce_block
#define nvshmemrs_ulonglong_min_reducescatter nvshmemrs::device::Of<unsigned long long>::min_reducescatter
#define nvshmemrs_ulonglong_min_reducescatter_warp nvshmemrs::device::Of<unsigned long long>::min_reducescatter_warp
#define nvshmemrs_ulonglong_min_reducescatter_block nvshmemrs::device::Of<unsigned long long>::min_reducescatter_block
#define nvshmemrs_ulonglong_max_reduce nvshmemrs::device::Of<unsigned long long>::max_reduce
#define nvshmemrs_ulonglong_max_reduce_warp nvshmemrs::device::Of<unsigned long long>::max_reduce_warp
#define nvshmemrs_ulonglong_max_reduce_block nvshmemrs::device::Of<unsigned long long>::max_reduce_block
#define nvshmemrs_ulonglong_max_reducescatter nvshmemrs::device::Of<unsigned long long>::max_reducescatter
#define nvshmemrs_ulonglong_max_reducescatter_warp nvshmemrs::device::Of<unsigned long long>::max_reducescatter_warp
#define nvshmemrs_ulonglong_max_reducescatter_block nvshmemrs::device::Of<unsigned long long>::max_reducescatter_block
#define nvshmemrs_ulonglong_and_reduce nvshmemrs::device::Of<unsigned long long>::and_reduce
#define nvshmemrs_ulonglong_and_reduce_warp nvshmemrs::device::Of<unsigned long long>::and_reduce_warp
#define nvshmemrs_ulonglong_and_reduce_block nvshmemrs::device::Of<unsigned long long>::and_reduce_block
#define nvshmemrs_ulonglong_and_reducescatter nvshmemrs::device::Of<unsigned long long>::and_reducescatter
#define nvshmemrs_ulonglong_and_reducescatter_warp nvshmemrs::device::Of<unsigned long long>::and_reducescatter_warp
#define nvshmemrs_ulonglong_and_reducescatter_block nvshmemrs::device::Of<unsigned long long>::and_reducescatter_block
#define nvshmemrs_ulonglong_or_reduce nvshmemrs::device::Of<unsigned long long>::or_reduce
#define nvshmemrs_ulonglong_or_reduce_warp nvshmemrs::device::Of<unsigned long long>::or_reduce_warp
#define nvshmemrs_ulonglong_or_reduce_block nvshmemrs::device::Of<unsigned long long>::or_reduce_block
#define nvshmemrs_ulonglong_or_reducescatter nvshmemrs::device::Of<unsigned long long>::or_reducescatter
#define nvshmemrs_ulonglong_or_reducescatter_warp nvshmemrs::device::Of<unsigned long long>::or_reducescatter_warp
#define nvshmemrs_ulonglong_or_reducescatter_block nvshmemrs::device::Of<unsigned long long>::or_reducescatter_block
#define nvshmemrs_ulonglong_xor_reduce nvshmemrs::device::Of<unsigned long long>::xor_reduce
#define nvshmemrs_ulonglong_xor_reduce_warp nvshmemrs::device::Of<unsigned long long>::xor_reduce_warp
#define nvshmemrs_ulonglong_xor_reduce_block nvshmemrs::device::Of<unsigned long long>::xor_reduce_block
#define nvshmemrs_ulonglong_xor_reducescatter nvshmemrs::device::Of<unsigned long long>::xor_reducescatter
#define nvshmemrs_ulonglong_xor_reducescatter_warp nvshmemrs::device::Of<unsigned long long>::xor_reducescatter_warp
#define nvshmemrs_ulonglong_xor_reducescatter_block nvshmemrs::device::Of<unsigned long long>::xor_reducescatter_block
#define nvshmemrs_ulonglong_atomic_fetch nvshmemrs::device::Of<unsigned long long>::atomic_fetch
#define nvshmemrs_ulonglong_atomic_set nvshmemrs::device::Of<unsigned long long>::atomic_set
#define nvshmemrs_ulonglong_atomic_swap nvshmemrs::device::Of<unsigned long long>::atomic_swap
#define nvshmemrs_ulonglong_atomic_add nvshmemrs::device::Of<unsigned long long>::atomic_add
#define nvshmemrs_ulonglong_atomic_fetch_add nvshmemrs::device::Of<unsigned long long>::atomic_fetch_add
#define nvshmemrs_ulonglong_atomic_inc nvshmemrs::device::Of<unsigned long long>::atomic_inc
#define nvshmemrs_ulonglong_atomic_fetch_inc nvshmemrs::device::Of<unsigned long long>::atomic_fetch_inc
#define nvshmemrs_ulonglong_atomic_compare_swap nvshmemrs::device::Of<unsigned long long>::atomic_compare_swap
#define nvshmemrs_ulonglong_atomic_and nvshmemrs::device::Of<unsigned long long>::atomic_and
#define nvshmemrs_ulonglong_atomic_fetch_and nvshmemrs::device::Of<unsigned long long>::atomic_fetch_and
#define nvshmemrs_ulonglong_atomic_or nvshmemrs::device::Of<unsigned long long>::atomic_or
#define nvshmemrs_ulonglong_atomic_fetch_or nvshmemrs::device::Of<unsigned long long>::atomic_fetch_or
#define nvshmemrs_ulonglong_atomic_xor nvshmemrs::device::Of<unsigned long long>::atomic_xor
#define nvshmemrs_ulonglong_atomic_fetch_xor nvshmemrs::device::Of<unsigned long long>::atomic_fetch_xor
#define nvshmemrs_ulonglong_wait_until nvshmemrs::device::Of<unsigned long long>::wait_until
#define nvshmemrs_ulonglong_test nvshmemrs::device::Of<unsigned long long>::test
#define nvshmemrs_ulonglong_wait_until_all nvshmemrs::device::Of<unsigned long long>::wait_until_all
#define nvshmemrs_ulonglong_wait_until_all_vector nvshmemrs::device::Of<unsigned long long>::wait_until_all_vector
#define nvshmemrs_ulonglong_wait_until_any nvshmemrs::device::Of<unsigned long long>::wait_until_any
#define nvshmemrs_ulonglong_wait_until_any_vector nvshmemrs::device::Of<unsigned long long>::wait_until_any_vector
#define nvshmemrs_ulonglong_wait_until_some nvshmemrs::device::Of<unsigned long long>::wait_until_some
#define nvshmemrs_ulonglong_wait_until_some_vector nvshmemrs::device::Of<unsigned long long>::wait_until_some_vector
#define nvshmemrs_ulonglong_test_all nvshmemrs::device::Of<unsigned long long>::test_all
#define nvshmemrs_ulonglong_test_all_vector nvshmemrs::device::Of<unsigned long long>::test_all_vector
#define nvshmemrs_ulonglong_test_any nvshmemrs::device::Of<unsigned long long>::test_any
#define nvshmemrs_ulonglong_test_any_vector nvshmemrs::device::Of<unsigned long long>::test_any_vector
#define nvshmemrs_ulonglong_test_some nvshmemrs::device::Of<unsigned long long>::test_some
#define nvshmemrs_ulonglong_test_some_vector nvshmemrs::device::Of<unsigned long long>::test_some_vector
#define nvshmemrs_int8_p nvshmemrs::device::Of<signed char>::p
#define nvshmemrs_int8_g nvshmemrs::device::Of<signed char>::g
#define nvshmemrs_int8_put nvshmemrs::device::Of<signed char>::put
#define nvshmemrs_int8_put_warp nvshmemrs::device::Of<signed char>::put_warp
#define nvshmemrs_int8_put_block nvshmemrs::device::Of<signed char>::put_block
#define nvshmemrs_int8_get nvshmemrs::device::Of<signed char>::get
#define nvshmemrs_int8_get_warp nvshmemrs::device::Of<signed char>::get_warp
#define nvshmemrs_int8_get_block nvshmemrs::device::Of<signed char>::get_block
#define nvshmemrs_int8_put_nbi nvshmemrs::device::Of<signed char>::put_nbi
#define nvshmemrs_int8_put_nbi_warp nvshmemrs::device::Of<signed char>::put_nbi_warp
#define nvshmemrs_int8_put_nbi_block nvshmemrs::device::Of<signed char>::put_nbi_block
#define nvshmemrs_int8_get_nbi nvshmemrs::device::Of<signed char>::get_nbi
#define nvshmemrs_int8_get_nbi_warp nvshmemrs::device::Of<signed char>::get_nbi_warp
#define nvshmemrs_int8_get_nbi_block nvshmemrs::device::Of<signed char>::get_nbi_block
#define nvshmemrs_int8_put_signal nvshmemrs::device::Of<signed char>::put_signal
#define nvshmemrs_int8_put_signal_warp nvshmemrs::device::Of<signed char>::put_signal_warp
#define nvshmemrs_int8_put_signal_block nvshmemrs::device::Of<signed char>::put_signal_block
#define nvshmemrs_int8_put_signal_nbi nvshmemrs::device::Of<signed char>::put_signal_nbi
#define nvshmemrs_int8_put_signal_nbi_warp nvshmemrs::device::Of<signed char>::put_signal_nbi_warp
#define nvshmemrs_int8_put_signal_nbi_block nvshmemrs::device::Of<signed char>::put_signal_nbi_block
#define nvshmemrs_int8_iput nvshmemrs::device::Of<signed char>::iput
#define nvshmemrs_int8_iput_warp nvshmemrs::device::Of<signed char>::iput_warp
#define nvshmemrs_int8_iput_block nvshmemrs::device::Of<signed char>::iput_block
#define nvshmemrs_int8_iget nvshmemrs::device::Of<signed char>::iget
#define nvshmemrs_int8_iget_warp nvshmemrs::device::Of<signed char>::iget_warp
#define nvshmemrs_int8_iget_block nvshmemrs::device::Of<signed char>::iget_block
#define nvshmemrs_int8_broadcast nvshmemrs::device::Of<signed char>::broadcast
#define nvshmemrs_int8_broadcast_warp nvshmemrs::device::Of<signed char>::broadcast_warp
#define nvshmemrs_int8_broadcast_block nvshmemrs::device::Of<signed char>::broadcast_block
#define nvshmemrs_int8_fcollect nvshmemrs::device::Of<signed char>::fcollect
#define nvshmemrs_int8_fcollect_warp nvshmemrs::device::Of<signed char>::fcollect_warp
#define nvshmemrs_int8_fcollect_block nvshmemrs::device::Of<signed char>::fcollect_block
#define nvshmemrs_int8_alltoall nvshmemrs::device::Of<signed char>::alltoall
#define nvshmemrs_int8_alltoall_warp nvshmemrs::device::Of<signed char>::alltoall_warp
#define nvshmemrs_int8_alltoall_block nvshmemrs::device::Of<signed char>::alltoall_block
#define nvshmemrs_int8_sum_reduce nvshmemrs::device::Of<signed char>::sum_reduce
#define nvshmemrs_int8_sum_reduce_warp nvshmemrs::device::Of<signed char>::sum_reduce_warp
#define nvshmemrs_int8_sum_reduce_block nvshmemrs::device::Of<signed char>::sum_reduce_block
#define nvshmemrs_int8_sum_reducescatter nvshmemrs::device::Of<signed char>::sum_reducescatter
#define nvshmemrs_int8_sum_reducescatter_warp nvshmemrs::device::Of<signed char>::sum_reducescatter_warp
#define nvshmemrs_int8_sum_reducescatter_block nvshmemrs::device::Of<signed char>::sum_reducescatter_block
#define nvshmemrs_int8_prod_reduce nvshmemrs::device::Of<signed char>::prod_reduce
#define nvshmemrs_int8_prod_reduce_warp nvshmemrs::device::Of<signed char>::prod_reduce_warp
#define nvshmemrs_int8_prod_reduce_block nvshmemrs::device::Of<signed char>::prod_reduce_block
#define nvshmemrs_int8_prod_reducescatter nvshmemrs::device::Of<signed char>::prod_reducescatter
#define nvshmemrs_int8_prod_reducescatter_warp nvshmemrs::device::Of<signed char>::prod_reducescatter_warp
#define nvshmemrs_int8_prod_reducescatter_block nvshmemrs::device::Of<signed char>::prod_reducescatter_block
#define nvshmemrs_int8_min_reduce nvshmemrs::device::Of<signed char>::min_reduce
#define nvshmemrs_int8_min_reduce_warp nvshmemrs::device::Of<signed char>::min_reduce_warp
#define nvshmemrs_int8_min_reduce_block nvshmemrs::device::Of<signed char>::min_reduce_block
#define nvshmemrs_int8_min_reducescatter nvshmemrs::device::Of<signed char>::min_reducescatter
#define nvshmemrs_int8_min_reducescatter_warp nvshmemrs::device::Of<signed char>::min_reducescatter_warp
#define nvshmemrs_int8_min_reducescatter_block nvshmemrs::device::Of<signed char>::min_reducescatter_block
#define nvshmemrs_int8_max_reduce nvshmemrs::device::Of<signed char>::max_reduce
#define nvshmemrs_int8_max_reduce_warp nvshmemrs::device::Of<signed char>::max_reduce_warp
#define nvshmemrs_int8_max_reduce_block nvshmemrs::device::Of<signed char>::max_reduce_block
#define nvshmemrs_int8_max_reducescatter nvshmemrs::device::Of<signed char>::max_reducescatter
#define nvshmemrs_int8_max_reducescatter_warp nvshmemrs::device::Of<signed char>::max_reducescatter_warp
#define nvshmemrs_int8_max_reducescatter_block nvshmemrs::device::Of<signed char>::max_reducescatter_block
#define nvshmemrs_int8_and_reduce nvshmemrs::device::Of<signed char>::and_reduce
#define nvshmemrs_int8_and_reduce_warp nvshmemrs::device::Of<signed char>::and_reduce_warp
#define nvshmemrs_int8_and_reduce_block nvshmemrs::device::Of<signed char>::and_reduce_block
#define nvshmemrs_int8_and_reducescatter nvshmemrs::device::Of<signed char>::and_reducescatter
#define nvshmemrs_int8_and_reducescatter_warp nvshmemrs::device::Of<signed char>::and_reducescatter_warp
#define nvshmemrs_int8_and_reducescatter_block nvshmemrs::device::Of<signed char>::and_reducescatter_block
#define nvshmemrs_int8_or_reduce nvshmemrs::device::Of<signed char>::or_reduce
#define nvshmemrs_int8_or_reduce_warp nvshmemrs::device::Of<signed char>::or_reduce_warp
#define nvshmemrs_int8_or_reduce_block nvshmemrs::device::Of<signed char>::or_reduce_block
#define nvshmemrs_int8_or_reducescatter nvshmemrs::device::Of<signed char>::or_reducescatter
#define nvshmemrs_int8_or_reducescatter_warp nvshmemrs::device::Of<signed char>::or_reducescatter_warp
#define nvshmemrs_int8_or_reducescatter_block nvshmemrs::device::Of<signed char>::or_reducescatter_block
#define nvshmemrs_int8_xor_reduce nvshmemrs::device::Of<signed char>::xor_reduce
#define nvshmemrs_int8_xor_reduce_warp nvshmemrs::device::Of<signed char>::xor_reduce_warp
#define nvshmemrs_int8_xor_reduce_block nvshmemrs::device::Of<signed char>::xor_reduce_block
#define nvshmemrs_int8_xor_reducescatter nvshmemrs::device::Of<signed char>::xor_reducescatter
#define nvshmemrs_int8_xor_reducescatter_warp nvshmemrs::device::Of<signed char>::xor_reducescatter_warp
#define nvshmemrs_int8_xor_reducescatter_block nvshmemrs::device::Of<signed char>::xor_reducescatter_block
#define nvshmemrs_int16_p nvshmemrs::device::Of<short>::p
#define nvshmemrs_int16_g nvshmemrs::device::Of<short>::g
#define nvshmemrs_int16_put nvshmemrs::device::Of<short>::put
#define nvshmemrs_int16_put_warp nvshmemrs::device::Of<short>::put_warp
#define nvshmemrs_int16_put_block nvshmemrs::device::Of<short>::put_block
#define nvshmemrs_int16_get nvshmemrs::device::Of<short>::get
#define nvshmemrs_int16_get_warp nvshmemrs::device::Of<short>::get_warp
#define nvshmemrs_int16_get_block nvshmemrs::device::Of<short>::get_block
#define nvshmemrs_int16_put_nbi nvshmemrs::device::Of<short>::put_nbi
#define nvshmemrs_int16_put_nbi_warp nvshmemrs::device::Of<short>::put_nbi_warp
#define nvshmemrs_int16_put_nbi_block nvshmemrs::device::Of<short>::put_nbi_block
#define nvshmemrs_int16_get_nbi nvshmemrs::device::Of<short>::get_nbi
#define nvshmemrs_int16_get_nbi_warp nvshmemrs::device::Of<short>::get_nbi_warp
#define nvshmemrs_int16_get_nbi_block nvshmemrs::device::Of<short>::get_nbi_block
#define nvshmemrs_int16_put_signal nvshmemrs::device::Of<short>::put_signal
#define nvshmemrs_int16_put_signal_warp nvshmemrs::device::Of<short>::put_signal_warp
#define nvshmemrs_int16_put_signal_block nvshmemrs::device::Of<short>::put_signal_block
#define nvshmemrs_int16_put_signal_nbi nvshmemrs::device::Of<short>::put_signal_nbi
#define nvshmemrs_int16_put_signal_nbi_warp nvshmemrs::device::Of<short>::put_signal_nbi_warp
#define nvshmemrs_int16_put_signal_nbi_block nvshmemrs::device::Of<short>::put_signal_nbi_block
#define nvshmemrs_int16_iput nvshmemrs::device::Of<short>::iput
#define nvshmemrs_int16_iput_warp nvshmemrs::device::Of<short>::iput_warp
#define nvshmemrs_int16_iput_block nvshmemrs::device::Of<short>::iput_block
#define nvshmemrs_int16_iget nvshmemrs::device::Of<short>::iget
#define nvshmemrs_int16_iget_warp nvshmemrs::device::Of<short>::iget_warp
#define nvshmemrs_int16_iget_block nvshmemrs::device::Of<short>::iget_block
#define nvshmemrs_int16_broadcast nvshmemrs::device::Of<short>::broadcast
#define nvshmemrs_int16_broadcast_warp nvshmemrs::device::Of<short>::broadcast_warp
#define nvshmemrs_int16_broadcast_block nvshmemrs::device::Of<short>::broadcast_block
#define nvshmemrs_int16_fcollect nvshmemrs::device::Of<short>::fcollect
#define nvshmemrs_int16_fcollect_warp nvshmemrs::device::Of<short>::fcollect_warp
#define nvshmemrs_int16_fcollect_block nvshmemrs::device::Of<short>::fcollect_block
#define nvshmemrs_int16_alltoall nvshmemrs::device::Of<short>::alltoall
#define nvshmemrs_int16_alltoall_warp nvshmemrs::device::Of<short>::alltoall_warp
#define nvshmemrs_int16_alltoall_block nvshmemrs::device::Of<short>::alltoall_block
#define nvshmemrs_int16_sum_reduce nvshmemrs::device::Of<short>::sum_reduce
#define nvshmemrs_int16_sum_reduce_warp nvshmemrs::device::Of<short>::sum_reduce_warp
#define nvshmemrs_int16_sum_reduce_block nvshmemrs::device::Of<short>::sum_reduce_block
#define nvshmemrs_int16_sum_reducescatter nvshmemrs::device::Of<short>::sum_reducescatter
#define nvshmemrs_int16_sum_reducescatter_warp nvshmemrs::device::Of<short>::sum_reducescatter_warp
#define nvshmemrs_int16_sum_reducescatter_block nvshmemrs::device::Of<short>::sum_reducescatter_block
#define nvshmemrs_int16_prod_reduce nvshmemrs::device::Of<short>::prod_reduce
#define nvshmemrs_int16_prod_reduce_warp nvshmemrs::device::Of<short>::prod_reduce_warp
#define nvshmemrs_int16_prod_reduce_block nvshmemrs::device::Of<short>::prod_reduce_block
#define nvshmemrs_int16_prod_reducescatter nvshmemrs::device::Of<short>::prod_reducescatter
#define nvshmemrs_int16_prod_reducescatter_warp nvshmemrs::device::Of<short>::prod_reducescatter_warp
#define nvshmemrs_int16_prod_reducescatter_block nvshmemrs::device::Of<short>::prod_reducescatter_block
#define nvshmemrs_int16_min_reduce nvshmemrs::device::Of<short>::min_reduce
#define nvshmemrs_int16_min_reduce_warp nvshmemrs::device::Of<short>::min_reduce_warp
#define nvshmemrs_int16_min_reduce_block nvshmemrs::device::Of<short>::min_reduce_block
#define nvshmemrs_int16_min_reducescatter nvshmemrs::device::Of<short>::min_reducescatter
#define nvshmemrs_int16_min_reducescatter_warp nvshmemrs::device::Of<short>::min_reducescatter_warp
#define nvshmemrs_int16_min_reducescatter_block nvshmemrs::device::Of<short>::min_reducescatter_block
#define nvshmemrs_int16_max_reduce nvshmemrs::device::Of<short>::max_reduce
#define nvshmemrs_int16_max_reduce_warp nvshmemrs::device::Of<short>::max_reduce_warp
#define nvshmemrs_int16_max_reduce_block nvshmemrs::device::Of<short>::max_reduce_block
#define nvshmemrs_int16_max_reducescatter nvshmemrs::device::Of<short>::max_reducescatter
#define nvshmemrs_int16_max_reducescatter_warp nvshmemrs::device::Of<short>::max_reducescatter_warp
#define nvshmemrs_int16_max_reducescatter_block nvshmemrs::device::Of<short>::max_reducescatter_block
#define nvshmemrs_int16_and_reduce nvshmemrs::device::Of<short>::and_reduce
#define nvshmemrs_int16_and_reduce_warp nvshmemrs::device::Of<short>::and_reduce_warp
#define nvshmemrs_int16_and_reduce_block nvshmemrs::device::Of<short>::and_reduce_block
#define nvshmemrs_int16_and_reducescatter nvshmemrs::device::Of<short>::and_reducescatter
#define nvshmemrs_int16_and_reducescatter_warp nvshmemrs::device::Of<short>::and_reducescatter_warp
#define nvshmemrs_int16_and_reducescatter_block nvshmemrs::device::Of<short>::and_reducescatter_block
#define nvshmemrs_int16_or_reduce nvshmemrs::device::Of<short>::or_reduce
#define nvshmemrs_int16_or_reduce_warp nvshmemrs::device::Of<short>::or_reduce_warp
#define nvshmemrs_int16_or_reduce_block nvshmemrs::device::Of<short>::or_reduce_block
#define nvshmemrs_int16_or_reducescatter nvshmemrs::device::Of<short>::or_reducescatter
#define nvshmemrs_int16_or_reducescatter_warp nvshmemrs::device::Of<short>::or_reducescatter_warp
#define nvshmemrs_int16_or_reducescatter_block nvshmemrs::device::Of<short>::or_reducescatter_block
#define nvshmemrs_int16_xor_reduce nvshmemrs::device::Of<short>::xor_reduce
#define nvshmemrs_int16_xor_reduce_warp nvshmemrs::device::Of<short>::xor_reduce_warp
#define nvshmemrs_int16_xor_reduce_block nvshmemrs::device::Of<short>::xor_reduce_block
#define nvshmemrs_int16_xor_reducescatter nvshmemrs::device::Of<short>::xor_reducescatter
#define nvshmemrs_int16_xor_reducescatter_warp nvshmemrs::device::Of<short>::xor_reducescatter_warp
#define nvshmemrs_int16_xor_reducescatter_block nvshmemrs::device::Of<short>::xor_reducescatter_block
#define nvshmemrs_int32_p nvshmemrs::device::Of<int>::p
#define nvshmemrs_int32_g nvshmemrs::device::Of<int>::g
#define nvshmemrs_int32_put nvshmemrs::device::Of<int>::put
#define nvshmemrs_int32_put_warp nvshmemrs::device::Of<int>::put_warp
#define nvshmemrs_int32_put_block nvshmemrs::device::Of<int>::put_block
#define nvshmemrs_int32_get nvshmemrs::device::Of<int>::get
#define nvshmemrs_int32_get_warp nvshmemrs::device::Of<int>::get_warp
#define nvshmemrs_int32_get_block nvshmemrs::device::Of<int>::get_block
#define nvshmemrs_int32_put_nbi nvshmemrs::device::Of<int>::put_nbi
#define nvshmemrs_int32_put_nbi_warp nvshmemrs::device::Of<int>::put_nbi_warp
#define nvshmemrs_int32_put_nbi_block nvshmemrs::device::Of<int>::put_nbi_block
#define nvshmemrs_int32_get_nbi nvshmemrs::device::Of<int>::get_nbi
#define nvshmemrs_int32_get_nbi_warp nvshmemrs::device::Of<int>::get_nbi_warp
#define nvshmemrs_int32_get_nbi_block nvshmemrs::device::Of<int>::get_nbi_block
#define nvshmemrs_int32_put_signal nvshmemrs::device::Of<int>::put_signal
#define nvshmemrs_int32_put_signal_warp nvshmemrs::device::Of<int>::put_signal_warp
#define nvshmemrs_int32_put_signal_block nvshmemrs::device::Of<int>::put_signal_block
#define nvshmemrs_int32_put_signal_nbi nvshmemrs::device::Of<int>::put_signal_nbi
#define nvshmemrs_int32_put_signal_nbi_warp nvshmemrs::device::Of<int>::put_signal_nbi_warp
#define nvshmemrs_int32_put_signal_nbi_block nvshmemrs::device::Of<int>::put_signal_nbi_block
#define nvshmemrs_int32_iput nvshmemrs::device::Of<int>::iput
#define nvshmemrs_int32_iput_warp nvshmemrs::device::Of<int>::iput_warp
#define nvshmemrs_int32_iput_block nvshmemrs::device::Of<int>::iput_block
#define nvshmemrs_int32_iget nvshmemrs::device::Of<int>::iget
#define nvshmemrs_int32_iget_warp nvshmemrs::device::Of<int>::iget_warp
#define nvshmemrs_int32_iget_block nvshmemrs::device::Of<int>::iget_block
#define nvshmemrs_int32_broadcast nvshmemrs::device::Of<int>::broadcast
#define nvshmemrs_int32_broadcast_warp nvshmemrs::device::Of<int>::broadcast_warp
#define nvshmemrs_int32_broadcast_block nvshmemrs::device::Of<int>::broadcast_block
#define nvshmemrs_int32_fcollect nvshmemrs::device::Of<int>::fcollect
#define nvshmemrs_int32_fcollect_warp nvshmemrs::device::Of<int>::fcollect_warp
#define nvshmemrs_int32_fcollect_block nvshmemrs::device::Of<int>::fcollect_block
#define nvshmemrs_int32_alltoall nvshmemrs::device::Of<int>::alltoall
#define nvshmemrs_int32_alltoall_warp nvshmemrs::device::Of<int>::alltoall_warp
#define nvshmemrs_int32_alltoall_block nvshmemrs::device::Of<int>::alltoall_block
#define nvshmemrs_int32_sum_reduce nvshmemrs::device::Of<int>::sum_reduce
#define nvshmemrs_int32_sum_reduce_warp nvshmemrs::device::Of<int>::sum_reduce_warp
#define nvshmemrs_int32_sum_reduce_block nvshmemrs::device::Of<int>::sum_reduce_block
#define nvshmemrs_int32_sum_reducescatter nvshmemrs::device::Of<int>::sum_reducescatter
#define nvshmemrs_int32_sum_reducescatter_warp nvshmemrs::device::Of<int>::sum_reducescatter_warp
#define nvshmemrs_int32_sum_reducescatter_block nvshmemrs::device::Of<int>::sum_reducescatter_block
#define nvshmemrs_int32_prod_reduce nvshmemrs::device::Of<int>::prod_reduce
#define nvshmemrs_int32_prod_reduce_warp nvshmemrs::device::Of<int>::prod_reduce_warp
#define nvshmemrs_int32_prod_reduce_block nvshmemrs::device::Of<int>::prod_reduce_block
#define nvshmemrs_int32_prod_reducescatter nvshmemrs::device::Of<int>::prod_reducescatter
#define nvshmemrs_int32_prod_reducescatter_warp nvshmemrs::device::Of<int>::prod_reducescatter_warp
#define nvshmemrs_int32_prod_reducescatter_block nvshmemrs::device::Of<int>::prod_reducescatter_block
#define nvshmemrs_int32_min_reduce nvshmemrs::device::Of<int>::min_reduce
#define nvshmemrs_int32_min_reduce_warp nvshmemrs::device::Of<int>::min_reduce_warp
#define nvshmemrs_int32_min_reduce_block nvshmemrs::device::Of<int>::min_reduce_block
#define nvshmemrs_int32_min_reducescatter nvshmemrs::device::Of<int>::min_reducescatter
#define nvshmemrs_int32_min_reducescatter_warp nvshmemrs::device::Of<int>::min_reducescatter_warp
#define nvshmemrs_int32_min_reducescatter_block nvshmemrs::device::Of<int>::min_reducescatter_block
#define nvshmemrs_int32_max_reduce nvshmemrs::device::Of<int>::max_reduce
#define nvshmemrs_int32_max_reduce_warp nvshmemrs::device::Of<int>::max_reduce_warp
#define nvshmemrs_int32_max_reduce_block nvshmemrs::device::Of<int>::max_reduce_block
#define nvshmemrs_int32_max_reducescatter nvshmemrs::device::Of<int>::max_reducescatter
#define nvshmemrs_int32_max_reducescatter_warp nvshmemrs::device::Of<int>::max_reducescatter_warp
#define nvshmemrs_int32_max_reducescatter_block nvshmemrs::device::Of<int>::max_reducescatter_block
#define nvshmemrs_int32_and_reduce nvshmemrs::device::Of<int>::and_reduce
#define nvshmemrs_int32_and_reduce_warp nvshmemrs::device::Of<int>::and_reduce_warp
#define nvshmemrs_int32_and_reduce_block nvshmemrs::device::Of<int>::and_reduce_block
#define nvshmemrs_int32_and_reducescatter nvshmemrs::device::Of<int>::and_reducescatter
#define nvshmemrs_int32_and_reducescatter_warp nvshmemrs::device::Of<int>::and_reducescatter_warp
#define nvshmemrs_int32_and_reducescatter_block nvshmemrs::device::Of<int>::and_reducescatter_block
#define nvshmemrs_int32_or_reduce nvshmemrs::device::Of<int>::or_reduce
#define nvshmemrs_int32_or_reduce_warp nvshmemrs::device::Of<int>::or_reduce_warp
#define nvshmemrs_int32_or_reduce_block nvshmemrs::device::Of<int>::or_reduce_block
#define nvshmemrs_int32_or_reducescatter nvshmemrs::device::Of<int>::or_reducescatter
#define nvshmemrs_int32_or_reducescatter_warp nvshmemrs::device::Of<int>::or_reducescatter_warp
#define nvshmemrs_int32_or_reducescatter_block nvshmemrs::device::Of<int>::or_reducescatter_block
#define nvshmemrs_int32_xor_reduce nvshmemrs::device::Of<int>::xor_reduce
#define nvshmemrs_int32_xor_reduce_warp nvshmemrs::device::Of<int>::xor_reduce_warp
#define nvshmemrs_int32_xor_reduce_block nvshmemrs::device::Of<int>::xor_reduce_block
#define nvshmemrs_int32_xor_reducescatter nvshmemrs::device::Of<int>::xor_reducescatter
#define nvshmemrs_int32_xor_reducescatter_warp nvshmemrs::device::Of<int>::xor_reducescatter_warp
#define nvshmemrs_int32_xor_reducescatter_block nvshmemrs::device::Of<int>::xor_reducescatter_block
#define nvshmemrs_int32_atomic_fetch nvshmemrs::device::Of<int>::atomic_fetch
#define nvshmemrs_int32_atomic_set nvshmemrs::device::Of<int>::atomic_set
#define nvshmemrs_int32_atomic_swap nvshmemrs::device::Of<int>::atomic_swap
#define nvshmemrs_int32_atomic_add nvshmemrs::device::Of<int>::atomic_add
#define nvshmemrs_int32_atomic_fetch_add nvshmemrs::device::Of<int>::atomic_fetch_add
#define nvshmemrs_int32_atomic_inc nvshmemrs::device::Of<int>::atomic_inc
#define nvshmemrs_int32_atomic_fetch_inc nvshmemrs::device::Of<int>::atomic_fetch_inc
#define nvshmemrs_int32_atomic_compare_swap nvshmemrs::device::Of<int>::atomic_compare_swap
#define nvshmemrs_int32_atomic_and nvshmemrs::device::Of<int>::atomic_and
#define nvshmemrs_int32_atomic_fetch_and nvshmemrs::device::Of<int>::atomic_fetch_and
#define nvshmemrs_int32_atomic_or nvshmemrs::device::Of<int>::atomic_or
#define nvshmemrs_int32_atomic_fetch_or nvshmemrs::device::Of<int>::atomic_fetch_or
#define nvshmemrs_int32_atomic_xor nvshmemrs::device::Of<int>::atomic_xor
#define nvshmemrs_int32_atomic_fetch_xor nvshmemrs::device::Of<int>::atomic_fetch_xor
#define nvshmemrs_int32_wait_until nvshmemrs::device::Of<int>::wait_until
#define nvshmemrs_int32_test nvshmemrs::device::Of<int>::test
#define nvshmemrs_int32_wait_until_all nvshmemrs::device::Of<int>::wait_until_all
#define nvshmemrs_int32_wait_until_all_vector nvshmemrs::device::Of<int>::wait_until_all_vector
#define nvshmemrs_int32_wait_until_any nvshmemrs::device::Of<int>::wait_until_any
#define nvshmemrs_int32_wait_until_any_vector nvshmemrs::device::Of<int>::wait_until_any_vector
#define nvshmemrs_int32_wait_until_some nvshmemrs::device::Of<int>::wait_until_some
#define nvshmemrs_int32_wait_until_some_vector nvshmemrs::device::Of<int>::wait_until_some_vector
#define nvshmemrs_int32_test_all nvshmemrs::device::Of<int>::test_all
#define nvshmemrs_int32_test_all_vector nvshmemrs::device::Of<int>::test_all_vector
#define nvshmemrs_int32_test_any nvshmemrs::device::Of<int>::test_any
#define nvshmemrs_int32_test_any_vector nvshmemrs::device::Of<int>::test_any_vector
#define nvshmemrs_int32_test_some nvshmemrs::device::Of<int>::test_some
#define nvshmemrs_int32_test_some_vector nvshmemrs::device::Of<int>::test_some_vector
#define nvshmemrs_int64_p nvshmemrs::device::OfInt64::p
#define nvshmemrs_int64_g nvshmemrs::device::OfInt64::g
#define nvshmemrs_int64_put nvshmemrs::device::OfInt64::put
#define nvshmemrs_int64_put_warp nvshmemrs::device::OfInt64::put_warp
#define nvshmemrs_int64_put_block nvshmemrs::device::OfInt64::put_block
#define nvshmemrs_int64_get nvshmemrs::device::OfInt64::get
#define nvshmemrs_int64_get_warp nvshmemrs::device::OfInt64::get_warp
#define nvshmemrs_int64_get_block nvshmemrs::device::OfInt64::get_block
#define nvshmemrs_int64_put_nbi nvshmemrs::device::OfInt64::put_nbi
#define nvshmemrs_int64_put_nbi_warp nvshmemrs::device::OfInt64::put_nbi_warp
#define nvshmemrs_int64_put_nbi_block nvshmemrs::device::OfInt64::put_nbi_block
#define nvshmemrs_int64_get_nbi nvshmemrs::device::OfInt64::get_nbi
#define nvshmemrs_int64_get_nbi_warp nvshmemrs::device::OfInt64::get_nbi_warp
#define nvshmemrs_int64_get_nbi_block nvshmemrs::device::OfInt64::get_nbi_block
#define nvshmemrs_int64_put_signal nvshmemrs::device::OfInt64::put_signal
#define nvshmemrs_int64_put_signal_warp nvshmemrs::device::OfInt64::put_signal_warp
#define nvshmemrs_int64_put_signal_block nvshmemrs::device::OfInt64::put_signal_block
#define nvshmemrs_int64_put_signal_nbi nvshmemrs::device::OfInt64::put_signal_nbi
#define nvshmemrs_int64_put_signal_nbi_warp nvshmemrs::device::OfInt64::put_signal_nbi_warp
#define nvshmemrs_int64_put_signal_nbi_block nvshmemrs::device::OfInt64::put_signal_nbi_block
#define nvshmemrs_int64_iput nvshmemrs::device::OfInt64::iput
#define nvshmemrs_int64_iput_warp nvshmemrs::device::OfInt64::iput_warp
#define nvshmemrs_int64_iput_block nvshmemrs::device::OfInt64::iput_block
#define nvshmemrs_int64_iget nvshmemrs::device::OfInt64::iget
#define nvshmemrs_int64_iget_warp nvshmemrs::device::OfInt64::iget_warp
#define nvshmemrs_int64_iget_block nvshmemrs::device::OfInt64::iget_block
#define nvshmemrs_int64_broadcast nvshmemrs::device::OfInt64::broadcast
#define nvshmemrs_int64_broadcast_warp nvshmemrs::device::OfInt64::broadcast_warp
#define nvshmemrs_int64_broadcast_block nvshmemrs::device::OfInt64::broadcast_block
#define nvshmemrs_int64_fcollect nvshmemrs::device::OfInt64::fcollect
#define nvshmemrs_int64_fcollect_warp nvshmemrs::device::OfInt64::fcollect_warp
#define nvshmemrs_int64_fcollect_block nvshmemrs::device::OfInt64::fcollect_block
#define nvshmemrs_int64_alltoall nvshmemrs::device::OfInt64::alltoall
#define nvshmemrs_int64_alltoall_warp nvshmemrs::device::OfInt64::alltoall_warp
#define nvshmemrs_int64_alltoall_block nvshmemrs::device::OfInt64::alltoall_block
#define nvshmemrs_int64_sum_reduce nvshmemrs::device::OfInt64::sum_reduce
#define nvshmemrs_int64_sum_reduce_warp nvshmemrs::device::OfInt64::sum_reduce_warp
#define nvshmemrs_int64_sum_reduce_block nvshmemrs::device::OfInt64::sum_reduce_block
#define nvshmemrs_int64_sum_reducescatter nvshmemrs::device::OfInt64::sum_reducescatter
#define nvshmemrs_int64_sum_reducescatter_warp nvshmemrs::device::OfInt64::sum_reducescatter_warp
#define nvshmemrs_int64_sum_reducescatter_block nvshmemrs::device::OfInt64::sum_reducescatter_block
#define nvshmemrs_int64_prod_reduce nvshmemrs::device::OfInt64::prod_reduce
#define nvshmemrs_int64_prod_reduce_warp nvshmemrs::device::OfInt64::prod_reduce_warp
#define nvshmemrs_int64_prod_reduce_block nvshmemrs::device::OfInt64::prod_reduce_block
#define nvshmemrs_int64_prod_reducescatter nvshmemrs::device::OfInt64::prod_reducescatter
#define nvshmemrs_int64_prod_reducescatter_warp nvshmemrs::device::OfInt64::prod_reducescatter_warp
#define nvshmemrs_int64_prod_reducescatter_block nvshmemrs::device::OfInt64::prod_reducescatter_block
#define nvshmemrs_int64_min_reduce nvshmemrs::device::OfInt64::min_reduce
#define nvshmemrs_int64_min_reduce_warp nvshmemrs::device::OfInt64::min_reduce_warp
#define nvshmemrs_int64_min_reduce_block nvshmemrs::device::OfInt64::min_reduce_block
#define nvshmemrs_int64_min_reducescatter nvshmemrs::device::OfInt64::min_reducescatter
#define nvshmemrs_int64_min_reducescatter_warp nvshmemrs::device::OfInt64::min_reducescatter_warp
#define nvshmemrs_int64_min_reducescatter_block nvshmemrs::device::OfInt64::min_reducescatter_block
#define nvshmemrs_int64_max_reduce nvshmemrs::device::OfInt64::max_reduce
#define nvshmemrs_int64_max_reduce_warp nvshmemrs::device::OfInt64::max_reduce_warp
#define nvshmemrs_int64_max_reduce_block nvshmemrs::device::OfInt64::max_reduce_block
#define nvshmemrs_int64_max_reducescatter nvshmemrs::device::OfInt64::max_reducescatter
#define nvshmemrs_int64_max_reducescatter_warp nvshmemrs::device::OfInt64::max_reducescatter_warp
#define nvshmemrs_int64_max_reducescatter_block nvshmemrs::device::OfInt64::max_reducescatter_block
#define nvshmemrs_int64_and_reduce nvshmemrs::device::OfInt64::and_reduce
#define nvshmemrs_int64_and_reduce_warp nvshmemrs::device::OfInt64::and_reduce_warp
#define nvshmemrs_int64_and_reduce_block nvshmemrs::device::OfInt64::and_reduce_block
#define nvshmemrs_int64_and_reducescatter nvshmemrs::device::OfInt64::and_reducescatter
#define nvshmemrs_int64_and_reducescatter_warp nvshmemrs::device::OfInt64::and_reducescatter_warp
#define nvshmemrs_int64_and_reducescatter_block nvshmemrs::device::OfInt64::and_reducescatter_block
#define nvshmemrs_int64_or_reduce nvshmemrs::device::OfInt64::or_reduce
#define nvshmemrs_int64_or_reduce_warp nvshmemrs::device::OfInt64::or_reduce_warp
#define nvshmemrs_int64_or_reduce_block nvshmemrs::device::OfInt64::or_reduce_block
#define nvshmemrs_int64_or_reducescatter nvshmemrs::device::OfInt64::or_reducescatter
#define nvshmemrs_int64_or_reducescatter_warp nvshmemrs::device::OfInt64::or_reducescatter_warp
#define nvshmemrs_int64_or_reducescatter_block nvshmemrs::device::OfInt64::or_reducescatter_block
#define nvshmemrs_int64_xor_reduce nvshmemrs::device::OfInt64::xor_reduce
#define nvshmemrs_int64_xor_reduce_warp nvshmemrs::device::OfInt64::xor_reduce_warp
#define nvshmemrs_int64_xor_reduce_block nvshmemrs::device::OfInt64::xor_reduce_block
#define nvshmemrs_int64_xor_reducescatter nvshmemrs::device::OfInt64::xor_reducescatter
#define nvshmemrs_int64_xor_reducescatter_warp nvshmemrs::device::OfInt64::xor_reducescatter_warp
#define nvshmemrs_int64_xor_reducescatter_block nvshmemrs::device::OfInt64::xor_reducescatter_block
#define nvshmemrs_int64_atomic_fetch nvshmemrs::device::OfInt64::atomic_fetch
#define nvshmemrs_int64_atomic_set nvshmemrs::device::OfInt64::atomic_set
#define nvshmemrs_int64_atomic_swap nvshmemrs::device::OfInt64::atomic_swap
#define nvshmemrs_int64_atomic_add nvshmemrs::device::OfInt64::atomic_add
#define nvshmemrs_int64_atomic_fetch_add nvshmemrs::device::OfInt64::atomic_fetch_add
#define nvshmemrs_int64_atomic_inc nvshmemrs::device::OfInt64::atomic_inc
#define nvshmemrs_int64_atomic_fetch_inc nvshmemrs::device::OfInt64::atomic_fetch_inc
#define nvshmemrs_int64_atomic_compare_swap nvshmemrs::device::OfInt64::atomic_compare_swap
#define nvshmemrs_int64_atomic_and nvshmemrs::device::OfInt64::atomic_and
#define nvshmemrs_int64_atomic_fetch_and nvshmemrs::device::OfInt64::atomic_fetch_and
#define nvshmemrs_int64_atomic_or nvshmemrs::device::OfInt64::atomic_or
#define nvshmemrs_int64_atomic_fetch_or nvshmemrs::device::OfInt64::atomic_fetch_or
#define nvshmemrs_int64_atomic_xor nvshmemrs::device::OfInt64::atomic_xor
#define nvshmemrs_int64_atomic_fetch_xor nvshmemrs::device::OfInt64::atomic_fetch_xor
#define nvshmemrs_int64_wait_until nvshmemrs::device::OfInt64::wait_until
#define nvshmemrs_int64_test nvshmemrs::device::OfInt64::test
#define nvshmemrs_int64_wait_until_all nvshmemrs::device::OfInt64::wait_until_all
#define nvshmemrs_int64_wait_until_all_vector nvshmemrs::device::OfInt64::wait_until_all_vector
#define nvshmemrs_int64_wait_until_any nvshmemrs::device::OfInt64::wait_until_any
#define nvshmemrs_int64_wait_until_any_vector nvshmemrs::device::OfInt64::wait_until_any_vector
#define nvshmemrs_int64_wait_until_some nvshmemrs::device::OfInt64::wait_until_some
#define nvshmemrs_int64_wait_until_some_vector nvshmemrs::device::OfInt64::wait_until_some_vector
#define nvshmemrs_int64_test_all nvshmemrs::device::OfInt64::test_all
#define nvshmemrs_int64_test_all_vector nvshmemrs::device::OfInt64::test_all_vector
#define nvshmemrs_int64_test_any nvshmemrs::device::OfInt64::test_any
#define nvshmemrs_int64_test_any_vector nvshmemrs::device::OfInt64::test_any_vector
#define nvshmemrs_int64_test_some nvshmemrs::device::OfInt64::test_some
#define nvshmemrs_int64_test_some_vector nvshmemrs::device::OfInt64::test_some_vector
#define nvshmemrs_uint8_p nvshmemrs::device::Of<unsigned char>::p
#define nvshmemrs_uint8_g nvshmemrs::device::Of<unsigned char>::g
#define nvshmemrs_uint8_put nvshmemrs::device::Of<unsigned char>::put
#define nvshmemrs_uint8_put_warp nvshmemrs::device::Of<unsigned char>::put_warp
#define nvshmemrs_uint8_put_block nvshmemrs::device::Of<unsigned char>::put_block
#define nvshmemrs_uint8_get nvshmemrs::device::Of<unsigned char>::get
#define nvshmemrs_uint8_get_warp nvshmemrs::device::Of<unsigned char>::get_warp
#define nvshmemrs_uint8_get_block nvshmemrs::device::Of<unsigned char>::get_block
#define nvshmemrs_uint8_put_nbi nvshmemrs::device::Of<unsigned char>::put_nbi
#define nvshmemrs_uint8_put_nbi_warp nvshmemrs::device::Of<unsigned char>::put_nbi_warp
#define nvshmemrs_uint8_put_nbi_block nvshmemrs::device::Of<unsigned char>::put_nbi_block
#define nvshmemrs_uint8_get_nbi nvshmemrs::device::Of<unsigned char>::get_nbi
#define nvshmemrs_uint8_get_nbi_warp nvshmemrs::device::Of<unsigned char>::get_nbi_warp
#define nvshmemrs_uint8_get_nbi_block nvshmemrs::device::Of<unsigned char>::get_nbi_block
#define nvshmemrs_uint8_put_signal nvshmemrs::device::Of<unsigned char>::put_signal
#define nvshmemrs_uint8_put_signal_warp nvshmemrs::device::Of<unsigned char>::put_signal_warp
#define nvshmemrs_uint8_put_signal_block nvshmemrs::device::Of<unsigned char>::put_signal_block
#define nvshmemrs_uint8_put_signal_nbi nvshmemrs::device::Of<unsigned char>::put_signal_nbi
#define nvshmemrs_uint8_put_signal_nbi_warp nvshmemrs::device::Of<unsigned char>::put_signal_nbi_warp
#define nvshmemrs_uint8_put_signal_nbi_block nvshmemrs::device::Of<unsigned char>::put_signal_nbi_block
#define nvshmemrs_uint8_iput nvshmemrs::device::Of<unsigned char>::iput
#define nvshmemrs_uint8_iput_warp nvshmemrs::device::Of<unsigned char>::iput_warp
#define nvshmemrs_uint8_iput_block nvshmemrs::device::Of<unsigned char>::iput_block
#define nvshmemrs_uint8_iget nvshmemrs::device::Of<unsigned char>::iget
#define nvshmemrs_uint8_iget_warp nvshmemrs::device::Of<unsigned char>::iget_warp
#define nvshmemrs_uint8_iget_block nvshmemrs::device::Of<unsigned char>::iget_block
#define nvshmemrs_uint8_broadcast nvshmemrs::device::Of<unsigned char>::broadcast
#define nvshmemrs_uint8_broadcast_warp nvshmemrs::device::Of<unsigned char>::broadcast_warp
#define nvshmemrs_uint8_broadcast_block nvshmemrs::device::Of<unsigned char>::broadcast_block
#define nvshmemrs_uint8_fcollect nvshmemrs::device::Of<unsigned char>::fcollect
#define nvshmemrs_uint8_fcollect_warp nvshmemrs::device::Of<unsigned char>::fcollect_warp
#define nvshmemrs_uint8_fcollect_block nvshmemrs::device::Of<unsigned char>::fcollect_block
#define nvshmemrs_uint8_alltoall nvshmemrs::device::Of<unsigned char>::alltoall
#define nvshmemrs_uint8_alltoall_warp nvshmemrs::device::Of<unsigned char>::alltoall_warp
#define nvshmemrs_uint8_alltoall_block nvshmemrs::device::Of<unsigned char>::alltoall_block
#define nvshmemrs_uint8_sum_reduce nvshmemrs::device::Of<unsigned char>::sum_reduce
#define nvshmemrs_uint8_sum_reduce_warp nvshmemrs::device::Of<unsigned char>::sum_reduce_warp
#define nvshmemrs_uint8_sum_reduce_block nvshmemrs::device::Of<unsigned char>::sum_reduce_block
#define nvshmemrs_uint8_sum_reducescatter nvshmemrs::device::Of<unsigned char>::sum_reducescatter
#define nvshmemrs_uint8_sum_reducescatter_warp nvshmemrs::device::Of<unsigned char>::sum_reducescatter_warp
#define nvshmemrs_uint8_sum_reducescatter_block nvshmemrs::device::Of<unsigned char>::sum_reducescatter_block
#define nvshmemrs_uint8_prod_reduce nvshmemrs::device::Of<unsigned char>::prod_reduce
#define nvshmemrs_uint8_prod_reduce_warp nvshmemrs::device::Of<unsigned char>::prod_reduce_warp
#define nvshmemrs_uint8_prod_reduce_block nvshmemrs::device::Of<unsigned char>::prod_reduce_block
#define nvshmemrs_uint8_prod_reducescatter nvshmemrs::device::Of<unsigned char>::prod_reducescatter
#define nvshmemrs_uint8_prod_reducescatter_warp nvshmemrs::device::Of<unsigned char>::prod_reducescatter_warp
#define nvshmemrs_uint8_prod_reducescatter_block nvshmemrs::device::Of<unsigned char>::prod_reducescatter_block
#define nvshmemrs_uint8_min_reduce nvshmemrs::device::Of<unsigned char>::min_reduce
#define nvshmemrs_uint8_min_reduce_warp nvshmemrs::device::Of<unsigned char>::min_reduce_warp
#define nvshmemrs_uint8_min_reduce_block nvshmemrs::device::Of<unsigned char>::min_reduce_block
#define nvshmemrs_uint8_min_reducescatter nvshmemrs::device::Of<unsigned char>::min_reducescatter
#define nvshmemrs_uint8_min_reducescatter_warp nvshmemrs::device::Of<unsigned char>::min_reducescatter_warp
#define nvshmemrs_uint8_min_reducescatter_block nvshmemrs::device::Of<unsigned char>::min_reducescatter_block
#define nvshmemrs_uint8_max_reduce nvshmemrs::device::Of<unsigned char>::max_reduce
#define nvshmemrs_uint8_max_reduce_warp nvshmemrs::device::Of<unsigned char>::max_reduce_warp
#define nvshmemrs_uint8_max_reduce_block nvshmemrs::device::Of<unsigned char>::max_reduce_block
#define nvshmemrs_uint8_max_reducescatter nvshmemrs::device::Of<unsigned char>::max_reducescatter
#define nvshmemrs_uint8_max_reducescatter_warp nvshmemrs::device::Of<unsigned char>::max_reducescatter_warp
#define nvshmemrs_uint8_max_reducescatter_block nvshmemrs::device::Of<unsigned char>::max_reducescatter_block
#define nvshmemrs_uint8_and_reduce nvshmemrs::device::Of<unsigned char>::and_reduce
#define nvshmemrs_uint8_and_reduce_warp nvshmemrs::device::Of<unsigned char>::and_reduce_warp
#define nvshmemrs_uint8_and_reduce_block nvshmemrs::device::Of<unsigned char>::and_reduce_block
#define nvshmemrs_uint8_and_reducescatter nvshmemrs::device::Of<unsigned char>::and_reducescatter
#define nvshmemrs_uint8_and_reducescatter_warp nvshmemrs::device::Of<unsigned char>::and_reducescatter_warp
#define nvshmemrs_uint8_and_reducescatter_block nvshmemrs::device::Of<unsigned char>::and_reducescatter_block
#define nvshmemrs_uint8_or_reduce nvshmemrs::device::Of<unsigned char>::or_reduce
#define nvshmemrs_uint8_or_reduce_warp nvshmemrs::device::Of<unsigned char>::or_reduce_warp
#define nvshmemrs_uint8_or_reduce_block nvshmemrs::device::Of<unsigned char>::or_reduce_block
#define nvshmemrs_uint8_or_reducescatter nvshmemrs::device::Of<unsigned char>::or_reducescatter
#define nvshmemrs_uint8_or_reducescatter_warp nvshmemrs::device::Of<unsigned char>::or_reducescatter_warp
#define nvshmemrs_uint8_or_reducescatter_block nvshmemrs::device::Of<unsigned char>::or_reducescatter_block
#define nvshmemrs_uint8_xor_reduce nvshmemrs::device::Of<unsigned char>::xor_reduce
#define nvshmemrs_uint8_xor_reduce_warp nvshmemrs::device::Of<unsigned char>::xor_reduce_warp
#define nvshmemrs_uint8_xor_reduce_block nvshmemrs::device::Of<unsigned char>::xor_reduce_block
#define nvshmemrs_uint8_xor_reducescatter nvshmemrs::device::Of<unsigned char>::xor_reducescatter
#define nvshmemrs_uint8_xor_reducescatter_warp nvshmemrs::device::Of<unsigned char>::xor_reducescatter_warp
#define nvshmemrs_uint8_xor_reducescatter_block nvshmemrs::device::Of<unsigned char>::xor_reducescatter_block
#define nvshmemrs_uint16_p nvshmemrs::device::Of<unsigned short>::p
#define nvshmemrs_uint16_g nvshmemrs::device::Of<unsigned short>::g
#define nvshmemrs_uint16_put nvshmemrs::device::Of<unsigned short>::put
#define nvshmemrs_uint16_put_warp nvshmemrs::device::Of<unsigned short>::put_warp
#define nvshmemrs_uint16_put_block nvshmemrs::device::Of<unsigned short>::put_block
#define nvshmemrs_uint16_get nvshmemrs::device::Of<unsigned short>::get
#define nvshmemrs_uint16_get_warp nvshmemrs::device::Of<unsigned short>::get_warp
#define nvshmemrs_uint16_get_block nvshmemrs::device::Of<unsigned short>::get_block
#define nvshmemrs_uint16_put_nbi nvshmemrs::device::Of<unsigned short>::put_nbi
#define nvshmemrs_uint16_put_nbi_warp nvshmemrs::device::Of<unsigned short>::put_nbi_warp
#define nvshmemrs_uint16_put_nbi_block nvshmemrs::device::Of<unsigned short>::put_nbi_block
#define nvshmemrs_uint16_get_nbi nvshmemrs::device::Of<unsigned short>::get_nbi
#define nvshmemrs_uint16_get_nbi_warp nvshmemrs::device::Of<unsigned short>::get_nbi_warp
#define nvshmemrs_uint16_get_nbi_block nvshmemrs::device::Of<unsigned short>::get_nbi_block
#define nvshmemrs_uint16_put_signal nvshmemrs::device::Of<unsigned short>::put_signal
#define nvshmemrs_uint16_put_signal_warp nvshmemrs::device::Of<unsigned short>::put_signal_warp
#define nvshmemrs_uint16_put_signal_block nvshmemrs::device::Of<unsigned short>::put_signal_block
#define nvshmemrs_uint16_put_signal_nbi nvshmemrs::device::Of<unsigned short>::put_signal_nbi
#define nvshmemrs_uint16_put_signal_nbi_warp nvshmemrs::device::Of<unsigned short>::put_signal_nbi_warp
#define nvshmemrs_uint16_put_signal_nbi_block nvshmemrs::device::Of<unsigned short>::put_signal_nbi_block
#define nvshmemrs_uint16_iput nvshmemrs::device::Of<unsigned short>::iput
#define nvshmemrs_uint16_iput_warp nvshmemrs::device::Of<unsigned short>::iput_warp
#define nvshmemrs_uint16_iput_block nvshmemrs::device::Of<unsigned short>::iput_block
#define nvshmemrs_uint16_iget nvshmemrs::device::Of<unsigned short>::iget
#define nvshmemrs_uint16_iget_warp nvshmemrs::device::Of<unsigned short>::iget_warp
#define nvshmemrs_uint16_iget_block nvshmemrs::device::Of<unsigned short>::iget_block
#define nvshmemrs_uint16_broadcast nvshmemrs::device::Of<unsigned short>::broadcast
#define nvshmemrs_uint16_broadcast_warp nvshmemrs::device::Of<unsigned short>::broadcast_warp
#define nvshmemrs_uint16_broadcast_block nvshmemrs::device::Of<unsigned short>::broadcast_block
#define nvshmemrs_uint16_fcollect nvshmemrs::device::Of<unsigned short>::fcollect
#define nvshmemrs_uint16_fcollect_warp nvshmemrs::device::Of<unsigned short>::fcollect_warp
#define nvshmemrs_uint16_fcollect_block nvshmemrs::device::Of<unsigned short>::fcollect_block
#define nvshmemrs_uint16_alltoall nvshmemrs::device::Of<unsigned short>::alltoall
#define nvshmemrs_uint16_alltoall_warp nvshmemrs::device::Of<unsigned short>::alltoall_warp
#define nvshmemrs_uint16_alltoall_block nvshmemrs::device::Of<unsigned short>::alltoall_block
#define nvshmemrs_uint16_sum_reduce nvshmemrs::device::Of<unsigned short>::sum_reduce
#define nvshmemrs_uint16_sum_reduce_warp nvshmemrs::device::Of<unsigned short>::sum_reduce_warp
#define nvshmemrs_uint16_sum_reduce_block nvshmemrs::device::Of<unsigned short>::sum_reduce_block
#define nvshmemrs_uint16_sum_reducescatter nvshmemrs::device::Of<unsigned short>::sum_reducescatter
#define nvshmemrs_uint16_sum_reducescatter_warp nvshmemrs::device::Of<unsigned short>::sum_reducescatter_warp
#define nvshmemrs_uint16_sum_reducescatter_block nvshmemrs::device::Of<unsigned short>::sum_reducescatter_block
#define nvshmemrs_uint16_prod_reduce nvshmemrs::device::Of<unsigned short>::prod_reduce
#define nvshmemrs_uint16_prod_reduce_warp nvshmemrs::device::Of<unsigned short>::prod_reduce_warp
#define nvshmemrs_uint16_prod_reduce_block nvshmemrs::device::Of<unsigned short>::prod_reduce_block
#define nvshmemrs_uint16_prod_reducescatter nvshmemrs::device::Of<unsigned short>::prod_reducescatter
#define nvshmemrs_uint16_prod_reducescatter_warp nvshmemrs::device::Of<unsigned short>::prod_reducescatter_warp
#define nvshmemrs_uint16_prod_reducescatter_block nvshmemrs::device::Of<unsigned short>::prod_reducescatter_block
#define nvshmemrs_uint16_min_reduce nvshmemrs::device::Of<unsigned short>::min_reduce
#define nvshmemrs_uint16_min_reduce_warp nvshmemrs::device::Of<unsigned short>::min_reduce_warp
#define nvshmemrs_uint16_min_reduce_block nvshmemrs::device::Of<unsigned short>::min_reduce_block
#define nvshmemrs_uint16_min_reducescatter nvshmemrs::device::Of<unsigned short>::min_reducescatter
#define nvshmemrs_uint16_min_reducescatter_warp nvshmemrs::device::Of<unsigned short>::min_reducescatter_warp
#define nvshmemrs_uint16_min_reducescatter_block nvshmemrs::device::Of<unsigned short>::min_reducescatter_block
#define nvshmemrs_uint16_max_reduce nvshmemrs::device::Of<unsigned short>::max_reduce
#define nvshmemrs_uint16_max_reduce_warp nvshmemrs::device::Of<unsigned short>::max_reduce_warp
#define nvshmemrs_uint16_max_reduce_block nvshmemrs::device::Of<unsigned short>::max_reduce_block
#define nvshmemrs_uint16_max_reducescatter nvshmemrs::device::Of<unsigned short>::max_reducescatter
#define nvshmemrs_uint16_max_reducescatter_warp nvshmemrs::device::Of<unsigned short>::max_reducescatter_warp
#define nvshmemrs_uint16_max_reducescatter_block nvshmemrs::device::Of<unsigned short>::max_reducescatter_block
#define nvshmemrs_uint16_and_reduce nvshmemrs::device::Of<unsigned short>::and_reduce
#define nvshmemrs_uint16_and_reduce_warp nvshmemrs::device::Of<unsigned short>::and_reduce_warp
#define nvshmemrs_uint16_and_reduce_block nvshmemrs::device::Of<unsigned short>::and_reduce_block
#define nvshmemrs_uint16_and_reducescatter nvshmemrs::device::Of<unsigned short>::and_reducescatter
#define nvshmemrs_uint16_and_reducescatter_warp nvshmemrs::device::Of<unsigned short>::and_reducescatter_warp
#define nvshmemrs_uint16_and_reducescatter_block nvshmemrs::device::Of<unsigned short>::and_reducescatter_block
#define nvshmemrs_uint16_or_reduce nvshmemrs::device::Of<unsigned short>::or_reduce
#define nvshmemrs_uint16_or_reduce_warp nvshmemrs::device::Of<unsigned short>::or_reduce_warp
#define nvshmemrs_uint16_or_reduce_block nvshmemrs::device::Of<unsigned short>::or_reduce_block
#define nvshmemrs_uint16_or_reducescatter nvshmemrs::device::Of<unsigned short>::or_reducescatter
#define nvshmemrs_uint16_or_reducescatter_warp nvshmemrs::device::Of<unsigned short>::or_reducescatter_warp
#define nvshmemrs_uint16_or_reducescatter_block nvshmemrs::device::Of<unsigned short>::or_reducescatter_block
#define nvshmemrs_uint16_xor_reduce nvshmemrs::device::Of<unsigned short>::xor_reduce
#define nvshmemrs_uint16_xor_reduce_warp nvshmemrs::device::Of<unsigned short>::xor_reduce_warp
#define nvshmemrs_uint16_xor_reduce_block nvshmemrs::device::Of<unsigned short>::xor_reduce_block
#define nvshmemrs_uint16_xor_reducescatter nvshmemrs::device::Of<unsigned short>::xor_reducescatter
#define nvshmemrs_uint16_xor_reducescatter_warp nvshmemrs::device::Of<unsigned short>::xor_reducescatter_warp
#define nvshmemrs_uint16_xor_reducescatter_block nvshmemrs::device::Of<unsigned short>::xor_reducescatter_block
#define nvshmemrs_uint32_p nvshmemrs::device::Of<unsigned int>::p
#define nvshmemrs_uint32_g nvshmemrs::device::Of<unsigned int>::g
#define nvshmemrs_uint32_put nvshmemrs::device::Of<unsigned int>::put
#define nvshmemrs_uint32_put_warp nvshmemrs::device::Of<unsigned int>::put_warp
#define nvshmemrs_uint32_put_block nvshmemrs::device::Of<unsigned int>::put_block
#define nvshmemrs_uint32_get nvshmemrs::device::Of<unsigned int>::get
#define nvshmemrs_uint32_get_warp nvshmemrs::device::Of<unsigned int>::get_warp
#define nvshmemrs_uint32_get_block nvshmemrs::device::Of<unsigned int>::get_block
#define nvshmemrs_uint32_put_nbi nvshmemrs::device::Of<unsigned int>::put_nbi
#define nvshmemrs_uint32_put_nbi_warp nvshmemrs::device::Of<unsigned int>::put_nbi_warp
#define nvshmemrs_uint32_put_nbi_block nvshmemrs::device::Of<unsigned int>::put_nbi_block
#define nvshmemrs_uint32_get_nbi nvshmemrs::device::Of<unsigned int>::get_nbi
#define nvshmemrs_uint32_get_nbi_warp nvshmemrs::device::Of<unsigned int>::get_nbi_warp
#define nvshmemrs_uint32_get_nbi_block nvshmemrs::device::Of<unsigned int>::get_nbi_block
#define nvshmemrs_uint32_put_signal nvshmemrs::device::Of<unsigned int>::put_signal
#define nvshmemrs_uint32_put_signal_warp nvshmemrs::device::Of<unsigned int>::put_signal_warp
#define nvshmemrs_uint32_put_signal_block nvshmemrs::device::Of<unsigned int>::put_signal_block
#define nvshmemrs_uint32_put_signal_nbi nvshmemrs::device::Of<unsigned int>::put_signal_nbi
#define nvshmemrs_uint32_put_signal_nbi_warp nvshmemrs::device::Of<unsigned int>::put_signal_nbi_warp
#define nvshmemrs_uint32_put_signal_nbi_block nvshmemrs::device::Of<unsigned int>::put_signal_nbi_block
#define nvshmemrs_uint32_iput nvshmemrs::device::Of<unsigned int>::iput
#define nvshmemrs_uint32_iput_warp nvshmemrs::device::Of<unsigned int>::iput_warp
#define nvshmemrs_uint32_iput_block nvshmemrs::device::Of<unsigned int>::iput_block
#define nvshmemrs_uint32_iget nvshmemrs::device::Of<unsigned int>::iget
#define nvshmemrs_uint32_iget_warp nvshmemrs::device::Of<unsigned int>::iget_warp
#define nvshmemrs_uint32_iget_block nvshmemrs::device::Of<unsigned int>::iget_block
#define nvshmemrs_uint32_broadcast nvshmemrs::device::Of<unsigned int>::broadcast
#define nvshmemrs_uint32_broadcast_warp nvshmemrs::device::Of<unsigned int>::broadcast_warp
#define nvshmemrs_uint32_broadcast_block nvshmemrs::device::Of<unsigned int>::broadcast_block
#define nvshmemrs_uint32_fcollect nvshmemrs::device::Of<unsigned int>::fcollect
#define nvshmemrs_uint32_fcollect_warp nvshmemrs::device::Of<unsigned int>::fcollect_warp
#define nvshmemrs_uint32_fcollect_block nvshmemrs::device::Of<unsigned int>::fcollect_block
#define nvshmemrs_uint32_alltoall nvshmemrs::device::Of<unsigned int>::alltoall
#define nvshmemrs_uint32_alltoall_warp nvshmemrs::device::Of<unsigned int>::alltoall_warp
#define nvshmemrs_uint32_alltoall_block nvshmemrs::device::Of<unsigned int>::alltoall_block
#define nvshmemrs_uint32_sum_reduce nvshmemrs::device::Of<unsigned int>::sum_reduce
#define nvshmemrs_uint32_sum_reduce_warp nvshmemrs::device::Of<unsigned int>::sum_reduce_warp
#define nvshmemrs_uint32_sum_reduce_block nvshmemrs::device::Of<unsigned int>::sum_reduce_block
#define nvshmemrs_uint32_sum_reducescatter nvshmemrs::device::Of<unsigned int>::sum_reducescatter
#define nvshmemrs_uint32_sum_reducescatter_warp nvshmemrs::device::Of<unsigned int>::sum_reducescatter_warp
#define nvshmemrs_uint32_sum_reducescatter_block nvshmemrs::device::Of<unsigned int>::sum_reducescatter_block
#define nvshmemrs_uint32_prod_reduce nvshmemrs::device::Of<unsigned int>::prod_reduce
#define nvshmemrs_uint32_prod_reduce_warp nvshmemrs::device::Of<unsigned int>::prod_reduce_warp
#define nvshmemrs_uint32_prod_reduce_block nvshmemrs::device::Of<unsigned int>::prod_reduce_block
#define nvshmemrs_uint32_prod_reducescatter nvshmemrs::device::Of<unsigned int>::prod_reducescatter
#define nvshmemrs_uint32_prod_reducescatter_warp nvshmemrs::device::Of<unsigned int>::prod_reducescatter_warp
#define nvshmemrs_uint32_prod_reducescatter_block nvshmemrs::device::Of<unsigned int>::prod_reducescatter_block
#define nvshmemrs_uint32_min_reduce nvshmemrs::device::Of<unsigned int>::min_reduce
#define nvshmemrs_uint32_min_reduce_warp nvshmemrs::device::Of<unsigned int>::min_reduce_warp
#define nvshmemrs_uint32_min_reduce_block nvshmemrs::device::Of<unsigned int>::min_reduce_block
#define nvshmemrs_uint32_min_reducescatter nvshmemrs::device::Of<unsigned int>::min_reducescatter
#define nvshmemrs_uint32_min_reducescatter_warp nvshmemrs::device::Of<unsigned int>::min_reducescatter_warp
#define nvshmemrs_uint32_min_reducescatter_block nvshmemrs::device::Of<unsigned int>::min_reducescatter_block
#define nvshmemrs_uint32_max_reduce nvshmemrs::device::Of<unsigned int>::max_reduce
#define nvshmemrs_uint32_max_reduce_warp nvshmemrs::device::Of<unsigned int>::max_reduce_warp
#define nvshmemrs_uint32_max_reduce_block nvshmemrs::device::Of<unsigned int>::max_reduce_block
#define nvshmemrs_uint32_max_reducescatter nvshmemrs::device::Of<unsigned int>::max_reducescatter
#define nvshmemrs_uint32_max_reducescatter_warp nvshmemrs::device::Of<unsigned int>::max_reducescatter_warp
#define nvshmemrs_uint32_max_reducescatter_block nvshmemrs::device::Of<unsigned int>::max_reducescatter_block
#define nvshmemrs_uint32_and_reduce nvshmemrs::device::Of<unsigned int>::and_reduce
#define nvshmemrs_uint32_and_reduce_warp nvshmemrs::device::Of<unsigned int>::and_reduce_warp
#define nvshmemrs_uint32_and_reduce_block nvshmemrs::device::Of<unsigned int>::and_reduce_block
#define nvshmemrs_uint32_and_reducescatter nvshmemrs::device::Of<unsigned int>::and_reducescatter
#define nvshmemrs_uint32_and_reducescatter_warp nvshmemrs::device::Of<unsigned int>::and_reducescatter_warp
#define nvshmemrs_uint32_and_reducescatter_block nvshmemrs::device::Of<unsigned int>::and_reducescatter_block
#define nvshmemrs_uint32_or_reduce nvshmemrs::device::Of<unsigned int>::or_reduce
#define nvshmemrs_uint32_or_reduce_warp nvshmemrs::device::Of<unsigned int>::or_reduce_warp
#define nvshmemrs_uint32_or_reduce_block nvshmemrs::device::Of<unsigned int>::or_reduce_block
#define nvshmemrs_uint32_or_reducescatter nvshmemrs::device::Of<unsigned int>::or_reducescatter
#define nvshmemrs_uint32_or_reducescatter_warp nvshmemrs::device::Of<unsigned int>::or_reducescatter_warp
#define nvshmemrs_uint32_or_reducescatter_block nvshmemrs::device::Of<unsigned int>::or_reducescatter_block
#define nvshmemrs_uint32_xor_reduce nvshmemrs::device::Of<unsigned int>::xor_reduce
#define nvshmemrs_uint32_xor_reduce_warp nvshmemrs::device::Of<unsigned int>::xor_reduce_warp
#define nvshmemrs_uint32_xor_reduce_block nvshmemrs::device::Of<unsigned int>::xor_reduce_block
#define nvshmemrs_uint32_xor_reducescatter nvshmemrs::device::Of<unsigned int>::xor_reducescatter
#define nvshmemrs_uint32_xor_reducescatter_warp nvshmemrs::device::Of<unsigned int>::xor_reducescatter_warp
#define nvshmemrs_uint32_xor_reducescatter_block nvshmemrs::device::Of<unsigned int>::xor_reducescatter_block
#define nvshmemrs_uint32_atomic_fetch nvshmemrs::device::Of<unsigned int>::atomic_fetch
#define nvshmemrs_uint32_atomic_set nvshmemrs::device::Of<unsigned int>::atomic_set
#define nvshmemrs_uint32_atomic_swap nvshmemrs::device::Of<unsigned int>::atomic_swap
#define nvshmemrs_uint32_atomic_add nvshmemrs::device::Of<unsigned int>::atomic_add
#define nvshmemrs_uint32_atomic_fetch_add nvshmemrs::device::Of<unsigned int>::atomic_fetch_add
#define nvshmemrs_uint32_atomic_inc nvshmemrs::device::Of<unsigned int>::atomic_inc
#define nvshmemrs_uint32_atomic_fetch_inc nvshmemrs::device::Of<unsigned int>::atomic_fetch_inc
#define nvshmemrs_uint32_atomic_compare_swap nvshmemrs::device::Of<unsigned int>::atomic_compare_swap
#define nvshmemrs_uint32_atomic_and nvshmemrs::device::Of<unsigned int>::atomic_and
#define nvshmemrs_uint32_atomic_fetch_and nvshmemrs::device::Of<unsigned int>::atomic_fetch_and
#define nvshmemrs_uint32_atomic_or nvshmemrs::device::Of<unsigned int>::atomic_or
#define nvshmemrs_uint32_atomic_fetch_or nvshmemrs::device::Of<unsigned int>::atomic_fetch_or
#define nvshmemrs_uint32_atomic_xor nvshmemrs::device::Of<unsigned int>::atomic_xor
#define nvshmemrs_uint32_atomic_fetch_xor nvshmemrs::device::Of<unsigned int>::atomic_fetch_xor
#define nvshmemrs_uint32_wait_until nvshmemrs::device::Of<unsigned int>::wait_until
#define nvshmemrs_uint32_test nvshmemrs::device::Of<unsigned int>::test
#define nvshmemrs_uint32_wait_until_all nvshmemrs::device::Of<unsigned int>::wait_until_all
#define nvshmemrs_uint32_wait_until_all_vector nvshmemrs::device::Of<unsigned int>::wait_until_all_vector
#define nvshmemrs_uint32_wait_until_any nvshmemrs::device::Of<unsigned int>::wait_until_any
#define nvshmemrs_uint32_wait_until_any_vector nvshmemrs::device::Of<unsigned int>::wait_until_any_vector
#define nvshmemrs_uint32_wait_until_some nvshmemrs::device::Of<unsigned int>::wait_until_some
#define nvshmemrs_uint32_wait_until_some_vector nvshmemrs::device::Of<unsigned int>::wait_until_some_vector
#define nvshmemrs_uint32_test_all nvshmemrs::device::Of<unsigned int>::test_all
#define nvshmemrs_uint32_test_all_vector nvshmemrs::device::Of<unsigned int>::test_all_vector
#define nvshmemrs_uint32_test_any nvshmemrs::device::Of<unsigned int>::test_any
#define nvshmemrs_uint32_test_any_vector nvshmemrs::device::Of<unsigned int>::test_any_vector
#define nvshmemrs_uint32_test_some nvshmemrs::device::Of<unsigned int>::test_some
#define nvshmemrs_uint32_test_some_vector nvshmemrs::device::Of<unsigned int>::test_some_vector
#define nvshmemrs_uint64_p nvshmemrs::device::OfUint64::p
#define nvshmemrs_uint64_g nvshmemrs::device::OfUint64::g
#define nvshmemrs_uint64_put nvshmemrs::device::OfUint64::put
#define nvshmemrs_uint64_put_warp nvshmemrs::device::OfUint64::put_warp
#define nvshmemrs_uint64_put_block nvshmemrs::device::OfUint64::put_block
#define nvshmemrs_uint64_get nvshmemrs::device::OfUint64::get
#define nvshmemrs_uint64_get_warp nvshmemrs::device::OfUint64::get_warp
#define nvshmemrs_uint64_get_block nvshmemrs::device::OfUint64::get_block
#define nvshmemrs_uint64_put_nbi nvshmemrs::device::OfUint64::put_nbi
#define nvshmemrs_uint64_put_nbi_warp nvshmemrs::device::OfUint64::put_nbi_warp
#define nvshmemrs_uint64_put_nbi_block nvshmemrs::device::OfUint64::put_nbi_block
#define nvshmemrs_uint64_get_nbi nvshmemrs::device::OfUint64::get_nbi
#define nvshmemrs_uint64_get_nbi_warp nvshmemrs::device::OfUint64::get_nbi_warp
#define nvshmemrs_uint64_get_nbi_block nvshmemrs::device::OfUint64::get_nbi_block
#define nvshmemrs_uint64_put_signal nvshmemrs::device::OfUint64::put_signal
#define nvshmemrs_uint64_put_signal_warp nvshmemrs::device::OfUint64::put_signal_warp
#define nvshmemrs_uint64_put_signal_block nvshmemrs::device::OfUint64::put_signal_block
#define nvshmemrs_uint64_put_signal_nbi nvshmemrs::device::OfUint64::put_signal_nbi
#define nvshmemrs_uint64_put_signal_nbi_warp nvshmemrs::device::OfUint64::put_signal_nbi_warp
#define nvshmemrs_uint64_put_signal_nbi_block nvshmemrs::device::OfUint64::put_signal_nbi_block
#define nvshmemrs_uint64_iput nvshmemrs::device::OfUint64::iput
#define nvshmemrs_uint64_iput_warp nvshmemrs::device::OfUint64::iput_warp
#define nvshmemrs_uint64_iput_block nvshmemrs::device::OfUint64::iput_block
#define nvshmemrs_uint64_iget nvshmemrs::device::OfUint64::iget
#define nvshmemrs_uint64_iget_warp nvshmemrs::device::OfUint64::iget_warp
#define nvshmemrs_uint64_iget_block nvshmemrs::device::OfUint64::iget_block
#define nvshmemrs_uint64_broadcast nvshmemrs::device::OfUint64::broadcast
#define nvshmemrs_uint64_broadcast_warp nvshmemrs::device::OfUint64::broadcast_warp
#define nvshmemrs_uint64_broadcast_block nvshmemrs::device::OfUint64::broadcast_block
#define nvshmemrs_uint64_fcollect nvshmemrs::device::OfUint64::fcollect
#define nvshmemrs_uint64_fcollect_warp nvshmemrs::device::OfUint64::fcollect_warp
#define nvshmemrs_uint64_fcollect_block nvshmemrs::device::OfUint64::fcollect_block
#define nvshmemrs_uint64_alltoall nvshmemrs::device::OfUint64::alltoall
#define nvshmemrs_uint64_alltoall_warp nvshmemrs::device::OfUint64::alltoall_warp
#define nvshmemrs_uint64_alltoall_block nvshmemrs::device::OfUint64::alltoall_block
#define nvshmemrs_uint64_sum_reduce nvshmemrs::device::OfUint64::sum_reduce
#define nvshmemrs_uint64_sum_reduce_warp nvshmemrs::device::OfUint64::sum_reduce_warp
#define nvshmemrs_uint64_sum_reduce_block nvshmemrs::device::OfUint64::sum_reduce_block
#define nvshmemrs_uint64_sum_reducescatter nvshmemrs::device::OfUint64::sum_reducescatter
#define nvshmemrs_uint64_sum_reducescatter_warp nvshmemrs::device::OfUint64::sum_reducescatter_warp
#define nvshmemrs_uint64_sum_reducescatter_block nvshmemrs::device::OfUint64::sum_reducescatter_block
#define nvshmemrs_uint64_prod_reduce nvshmemrs::device::OfUint64::prod_reduce
#define nvshmemrs_uint64_prod_reduce_warp nvshmemrs::device::OfUint64::prod_reduce_warp
#define nvshmemrs_uint64_prod_reduce_block nvshmemrs::device::OfUint64::prod_reduce_block
#define nvshmemrs_uint64_prod_reducescatter nvshmemrs::device::OfUint64::prod_reducescatter
#define nvshmemrs_uint64_prod_reducescatter_warp nvshmemrs::device::OfUint64::prod_reducescatter_warp
#define nvshmemrs_uint64_prod_reducescatter_block nvshmemrs::device::OfUint64::prod_reducescatter_block
#define nvshmemrs_uint64_min_reduce nvshmemrs::device::OfUint64::min_reduce
#define nvshmemrs_uint64_min_reduce_warp nvshmemrs::device::OfUint64::min_reduce_warp
#define nvshmemrs_uint64_min_reduce_block nvshmemrs::device::OfUint64::min_reduce_block
#define nvshmemrs_uint64_min_reducescatter nvshmemrs::device::OfUint64::min_reducescatter
#define nvshmemrs_uint64_min_reducescatter_warp nvshmemrs::device::OfUint64::min_reducescatter_warp
#define nvshmemrs_uint64_min_reducescatter_block nvshmemrs::device::OfUint64::min_reducescatter_block
#define nvshmemrs_uint64_max_reduce nvshmemrs::device::OfUint64::max_reduce
#define nvshmemrs_uint64_max_reduce_warp nvshmemrs::device::OfUint64::max_reduce_warp
#define nvshmemrs_uint64_max_reduce_block nvshmemrs::device::OfUint64::max_reduce_block
#define nvshmemrs_uint64_max_reducescatter nvshmemrs::device::OfUint64::max_reducescatter
#define nvshmemrs_uint64_max_reducescatter_warp nvshmemrs::device::OfUint64::max_reducescatter_warp
#define nvshmemrs_uint64_max_reducescatter_block nvshmemrs::device::OfUint64::max_reducescatter_block
#define nvshmemrs_uint64_and_reduce nvshmemrs::device::OfUint64::and_reduce
#define nvshmemrs_uint64_and_reduce_warp nvshmemrs::device::OfUint64::and_reduce_warp
#define nvshmemrs_uint64_and_reduce_block nvshmemrs::device::OfUint64::and_reduce_block
#define nvshmemrs_uint64_and_reducescatter nvshmemrs::device::OfUint64::and_reducescatter
#define nvshmemrs_uint64_and_reducescatter_warp nvshmemrs::device::OfUint64::and_reducescatter_warp
#define nvshmemrs_uint64_and_reducescatter_block nvshmemrs::device::OfUint64::and_reducescatter_block
#define nvshmemrs_uint64_or_reduce nvshmemrs::device::OfUint64::or_reduce
#define nvshmemrs_uint64_or_reduce_warp nvshmemrs::device::OfUint64::or_reduce_warp
#define nvshmemrs_uint64_or_reduce_block nvshmemrs::device::OfUint64::or_reduce_block
#define nvshmemrs_uint64_or_reducescatter nvshmemrs::device::OfUint64::or_reducescatter
#define nvshmemrs_uint64_or_reducescatter_warp nvshmemrs::device::OfUint64::or_reducescatter_warp
#define nvshmemrs_uint64_or_reducescatter_block nvshmemrs::device::OfUint64::or_reducescatter_block
#define nvshmemrs_uint64_xor_reduce nvshmemrs::device::OfUint64::xor_reduce
#define nvshmemrs_uint64_xor_reduce_warp nvshmemrs::device::OfUint64::xor_reduce_warp
#define nvshmemrs_uint64_xor_reduce_block nvshmemrs::device::OfUint64::xor_reduce_block
#define nvshmemrs_uint64_xor_reducescatter nvshmemrs::device::OfUint64::xor_reducescatter
#define nvshmemrs_uint64_xor_reducescatter_warp nvshmemrs::device::OfUint64::xor_reducescatter_warp
#define nvshmemrs_uint64_xor_reducescatter_block nvshmemrs::device::OfUint64::xor_reducescatter_block
#define nvshmemrs_uint64_atomic_fetch nvshmemrs::device::OfUint64::atomic_fetch
#define nvshmemrs_uint64_atomic_set nvshmemrs::device::OfUint64::atomic_set
#define nvshmemrs_uint64_atomic_swap nvshmemrs::device::OfUint64::atomic_swap
#define nvshmemrs_uint64_atomic_add nvshmemrs::device::OfUint64::atomic_add
#define nvshmemrs_uint64_atomic_fetch_add nvshmemrs::device::OfUint64::atomic_fetch_add
#define nvshmemrs_uint64_atomic_inc nvshmemrs::device::OfUint64::atomic_inc
#define nvshmemrs_uint64_atomic_fetch_inc nvshmemrs::device::OfUint64::atomic_fetch_inc
#define nvshmemrs_uint64_atomic_compare_swap nvshmemrs::device::OfUint64::atomic_compare_swap
#define nvshmemrs_uint64_atomic_and nvshmemrs::device::OfUint64::atomic_and
#define nvshmemrs_uint64_atomic_fetch_and nvshmemrs::device::OfUint64::atomic_fetch_and
#define nvshmemrs_uint64_atomic_or nvshmemrs::device::OfUint64::atomic_or
#define nvshmemrs_uint64_atomic_fetch_or nvshmemrs::device::OfUint64::atomic_fetch_or
#define nvshmemrs_uint64_atomic_xor nvshmemrs::device::OfUint64::atomic_xor
#define nvshmemrs_uint64_atomic_fetch_xor nvshmemrs::device::OfUint64::atomic_fetch_xor
#define nvshmemrs_uint64_wait_until nvshmemrs::device::OfUint64::wait_until
#define nvshmemrs_uint64_test nvshmemrs::device::OfUint64::test
#define nvshmemrs_uint64_wait_until_all nvshmemrs::device::OfUint64::wait_until_all
#define nvshmemrs_uint64_wait_until_all_vector nvshmemrs::device::OfUint64::wait_until_all_vector
#define nvshmemrs_uint64_wait_until_any nvshmemrs::device::OfUint64::wait_until_any
#define nvshmemrs_uint64_wait_until_any_vector nvshmemrs::device::OfUint64::wait_until_any_vector
#define nvshmemrs_uint64_wait_until_some nvshmemrs::device::OfUint64::wait_until_some
#define nvshmemrs_uint64_wait_until_some_vector nvshmemrs::device::OfUint64::wait_until_some_vector
#define nvshmemrs_uint64_test_all nvshmemrs::device::OfUint64::test_all
#define nvshmemrs_uint64_test_all_vector nvshmemrs::device::OfUint64::test_all_vector
#define nvshmemrs_uint64_test_any nvshmemrs::device::OfUint64::test_any
#define nvshmemrs_uint64_test_any_vector nvshmemrs::device::OfUint64::test_any_vector
#define nvshmemrs_uint64_test_some nvshmemrs::device::OfUint64::test_some
#define nvshmemrs_uint64_test_some_vector nvshmemrs::device::OfUint64::test_some_vector
#define nvshmemrs_size_p nvshmemrs::device::Of<unsigned long>::p
#define nvshmemrs_size_g nvshmemrs::device::Of<unsigned long>::g
#define nvshmemrs_size_put nvshmemrs::device::Of<unsigned long>::put
#define nvshmemrs_size_put_warp nvshmemrs::device::Of<unsigned long>::put_warp
#define nvshmemrs_size_put_block nvshmemrs::device::Of<unsigned long>::put_block
#define nvshmemrs_size_get nvshmemrs::device::Of<unsigned long>::get
#define nvshmemrs_size_get_warp nvshmemrs::device::Of<unsigned long>::get_warp
#define nvshmemrs_size_get_block nvshmemrs::device::Of<unsigned long>::get_block
#define nvshmemrs_size_put_nbi nvshmemrs::device::Of<unsigned long>::put_nbi
#define nvshmemrs_size_put_nbi_warp nvshmemrs::device::Of<unsigned long>::put_nbi_warp
#define nvshmemrs_size_put_nbi_block nvshmemrs::device::Of<unsigned long>::put_nbi_block
#define nvshmemrs_size_get_nbi nvshmemrs::device::Of<unsigned long>::get_nbi
#define nvshmemrs_size_get_nbi_warp nvshmemrs::device::Of<unsigned long>::get_nbi_warp
#define nvshmemrs_size_get_nbi_block nvshmemrs::device::Of<unsigned long>::get_nbi_block
#define nvshmemrs_size_put_signal nvshmemrs::device::Of<unsigned long>::put_signal
#define nvshmemrs_size_put_signal_warp nvshmemrs::device::Of<unsigned long>::put_signal_warp
#define nvshmemrs_size_put_signal_block nvshmemrs::device::Of<unsigned long>::put_signal_block
#define nvshmemrs_size_put_signal_nbi nvshmemrs::device::Of<unsigned long>::put_signal_nbi
#define nvshmemrs_size_put_signal_nbi_warp nvshmemrs::device::Of<unsigned long>::put_signal_nbi_warp
#define nvshmemrs_size_put_signal_nbi_block nvshmemrs::device::Of<unsigned long>::put_signal_nbi_block
#define nvshmemrs_size_iput nvshmemrs::device::Of<unsigned long>::iput
#define nvshmemrs_size_iput_warp nvshmemrs::device::Of<unsigned long>::iput_warp
#define nvshmemrs_size_iput_block nvshmemrs::device::Of<unsigned long>::iput_block
#define nvshmemrs_size_iget nvshmemrs::device::Of<unsigned long>::iget
#define nvshmemrs_size_iget_warp nvshmemrs::device::Of<unsigned long>::iget_warp
#define nvshmemrs_size_iget_block nvshmemrs::device::Of<unsigned long>::iget_block
#define nvshmemrs_size_broadcast nvshmemrs::device::Of<unsigned long>::broadcast
#define nvshmemrs_size_broadcast_warp nvshmemrs::device::Of<unsigned long>::broadcast_warp
#define nvshmemrs_size_broadcast_block nvshmemrs::device::Of<unsigned long>::broadcast_block
#define nvshmemrs_size_fcollect nvshmemrs::device::Of<unsigned long>::fcollect
#define nvshmemrs_size_fcollect_warp nvshmemrs::device::Of<unsigned long>::fcollect_warp
#define nvshmemrs_size_fcollect_block nvshmemrs::device::Of<unsigned long>::fcollect_block
#define nvshmemrs_size_alltoall nvshmemrs::device::Of<unsigned long>::alltoall
#define nvshmemrs_size_alltoall_warp nvshmemrs::device::Of<unsigned long>::alltoall_warp
#define nvshmemrs_size_alltoall_block nvshmemrs::device::Of<unsigned long>::alltoall_block
#define nvshmemrs_size_sum_reduce nvshmemrs::device::Of<unsigned long>::sum_reduce
#define nvshmemrs_size_sum_reduce_warp nvshmemrs::device::Of<unsigned long>::sum_reduce_warp
#define nvshmemrs_size_sum_reduce_block nvshmemrs::device::Of<unsigned long>::sum_reduce_block
#define nvshmemrs_size_sum_reducescatter nvshmemrs::device::Of<unsigned long>::sum_reducescatter
#define nvshmemrs_size_sum_reducescatter_warp nvshmemrs::device::Of<unsigned long>::sum_reducescatter_warp
#define nvshmemrs_size_sum_reducescatter_block nvshmemrs::device::Of<unsigned long>::sum_reducescatter_block
#define nvshmemrs_size_prod_reduce nvshmemrs::device::Of<unsigned long>::prod_reduce
#define nvshmemrs_size_prod_reduce_warp nvshmemrs::device::Of<unsigned long>::prod_reduce_warp
#define nvshmemrs_size_prod_reduce_block nvshmemrs::device::Of<unsigned long>::prod_reduce_block
#define nvshmemrs_size_prod_reducescatter nvshmemrs::device::Of<unsigned long>::prod_reducescatter
#define nvshmemrs_size_prod_reducescatter_warp nvshmemrs::device::Of<unsigned long>::prod_reducescatter_warp
#define nvshmemrs_size_prod_reducescatter_block nvshmemrs::device::Of<unsigned long>::prod_reducescatter_block
#define nvshmemrs_size_min_reduce nvshmemrs::device::Of<unsigned long>::min_reduce
#define nvshmemrs_size_min_reduce_warp nvshmemrs::device::Of<unsigned long>::min_reduce_warp
#define nvshmemrs_size_min_reduce_block nvshmemrs::device::Of<unsigned long>::min_reduce_block
#define nvshmemrs_size_min_reducescatter nvshmemrs::device::Of<unsigned long>::min_reducescatter
#define nvshmemrs_size_min_reducescatter_warp nvshmemrs::device::Of<unsigned long>::min_reducescatter_warp
#define nvshmemrs_size_min_reducescatter_block nvshmemrs::device::Of<unsigned long>::min_reducescatter_block
#define nvshmemrs_size_max_reduce nvshmemrs::device::Of<unsigned long>::max_reduce
#define nvshmemrs_size_max_reduce_warp nvshmemrs::device::Of<unsigned long>::max_reduce_warp
#define nvshmemrs_size_max_reduce_block nvshmemrs::device::Of<unsigned long>::max_reduce_block
#define nvshmemrs_size_max_reducescatter nvshmemrs::device::Of<unsigned long>::max_reducescatter
#define nvshmemrs_size_max_reducescatter_warp nvshmemrs::device::Of<unsigned long>::max_reducescatter_warp
#define nvshmemrs_size_max_reducescatter_block nvshmemrs::device::Of<unsigned long>::max_reducescatter_block
#define nvshmemrs_size_and_reduce nvshmemrs::device::Of<unsigned long>::and_reduce
#define nvshmemrs_size_and_reduce_warp nvshmemrs::device::Of<unsigned long>::and_reduce_warp
#define nvshmemrs_size_and_reduce_block nvshmemrs::device::Of<unsigned long>::and_reduce_block
#define nvshmemrs_size_and_reducescatter nvshmemrs::device::Of<unsigned long>::and_reducescatter
#define nvshmemrs_size_and_reducescatter_warp nvshmemrs::device::Of<unsigned long>::and_reducescatter_warp
#define nvshmemrs_size_and_reducescatter_block nvshmemrs::device::Of<unsigned long>::and_reducescatter_block
#define nvshmemrs_size_or_reduce nvshmemrs::device::Of<unsigned long>::or_reduce
#define nvshmemrs_size_or_reduce_warp nvshmemrs::device::Of<unsigned long>::or_reduce_warp
#define nvshmemrs_size_or_reduce_block nvshmemrs::device::Of<unsigned long>::or_reduce_block
#define nvshmemrs_size_or_reducescatter nvshmemrs::device::Of<unsigned long>::or_reducescatter
#define nvshmemrs_size_or_reducescatter_warp nvshmemrs::device::Of<unsigned long>::or_reducescatter_warp
#define nvshmemrs_size_or_reducescatter_block nvshmemrs::device::Of<unsigned long>::or_reducescatter_block
#define nvshmemrs_size_xor_reduce nvshmemrs::device::Of<unsigned long>::xor_reduce
#define nvshmemrs_size_xor_reduce_warp nvshmemrs::device::Of<unsigned long>::xor_reduce_warp
#define nvshmemrs_size_xor_reduce_block nvshmemrs::device::Of<unsigned long>::xor_reduce_block
#define nvshmemrs_size_xor_reducescatter nvshmemrs::device::Of<unsigned long>::xor_reducescatter
#define nvshmemrs_size_xor_reducescatter_warp nvshmemrs::device::Of<unsigned long>::xor_reducescatter_warp
#define nvshmemrs_size_xor_reducescatter_block nvshmemrs::device::Of<unsigned long>::xor_reducescatter_block
#define nvshmemrs_size_atomic_fetch nvshmemrs::device::Of<unsigned long>::atomic_fetch
#define nvshmemrs_size_atomic_set nvshmemrs::device::Of<unsigned long>::atomic_set
#define nvshmemrs_size_atomic_swap nvshmemrs::device::Of<unsigned long>::atomic_swap
#define nvshmemrs_size_atomic_add nvshmemrs::device::Of<unsigned long>::atomic_add
#define nvshmemrs_size_atomic_fetch_add nvshmemrs::device::Of<unsigned long>::atomic_fetch_add
#define nvshmemrs_size_atomic_inc nvshmemrs::device::Of<unsigned long>::atomic_inc
#define nvshmemrs_size_atomic_fetch_inc nvshmemrs::device::Of<unsigned long>::atomic_fetch_inc
#define nvshmemrs_size_atomic_compare_swap nvshmemrs::device::Of<unsigned long>::atomic_compare_swap
#define nvshmemrs_size_wait_until nvshmemrs::device::Of<unsigned long>::wait_until
#define nvshmemrs_size_test nvshmemrs::device::Of<unsigned long>::test
#define nvshmemrs_size_wait_until_all nvshmemrs::device::Of<unsigned long>::wait_until_all
#define nvshmemrs_size_wait_until_all_vector nvshmemrs::device::Of<unsigned long>::wait_until_all_vector
#define nvshmemrs_size_wait_until_any nvshmemrs::device::Of<unsigned long>::wait_until_any
#define nvshmemrs_size_wait_until_any_vector nvshmemrs::device::Of<unsigned long>::wait_until_any_vector
#define nvshmemrs_size_wait_until_some nvshmemrs::device::Of<unsigned long>::wait_until_some
#define nvshmemrs_size_wait_until_some_vector nvshmemrs::device::Of<unsigned long>::wait_until_some_vector
#define nvshmemrs_size_test_all nvshmemrs::device::Of<unsigned long>::test_all
#define nvshmemrs_size_test_all_vector nvshmemrs::device::Of<unsigned long>::test_all_vector
#define nvshmemrs_size_test_any nvshmemrs::device::Of<unsigned long>::test_any
#define nvshmemrs_size_test_any_vector nvshmemrs::device::Of<unsigned long>::test_any_vector
#define nvshmemrs_size_test_some nvshmemrs::device::Of<unsigned long>::test_some
#define nvshmemrs_size_test_some_vector nvshmemrs::device::Of<unsigned long>::test_some_vector
#define nvshmemrs_ptrdiff_p nvshmemrs::device::Of<long>::p
#define nvshmemrs_ptrdiff_g nvshmemrs::device::Of<long>::g
#define nvshmemrs_ptrdiff_put nvshmemrs::device::Of<long>::put
#define nvshmemrs_ptrdiff_put_warp nvshmemrs::device::Of<long>::put_warp
#define nvshmemrs_ptrdiff_put_block nvshmemrs::device::Of<long>::put_block
#define nvshmemrs_ptrdiff_get nvshmemrs::device::Of<long>::get
#define nvshmemrs_ptrdiff_get_warp nvshmemrs::device::Of<long>::get_warp
#define nvshmemrs_ptrdiff_get_block nvshmemrs::device::Of<long>::get_block
#define nvshmemrs_ptrdiff_put_nbi nvshmemrs::device::Of<long>::put_nbi
#define nvshmemrs_ptrdiff_put_nbi_warp nvshmemrs::device::Of<long>::put_nbi_warp
#define nvshmemrs_ptrdiff_put_nbi_block nvshmemrs::device::Of<long>::put_nbi_block
#define nvshmemrs_ptrdiff_get_nbi nvshmemrs::device::Of<long>::get_nbi
#define nvshmemrs_ptrdiff_get_nbi_warp nvshmemrs::device::Of<long>::get_nbi_warp
#define nvshmemrs_ptrdiff_get_nbi_block nvshmemrs::device::Of<long>::get_nbi_block
#define nvshmemrs_ptrdiff_put_signal nvshmemrs::device::Of<long>::put_signal
#define nvshmemrs_ptrdiff_put_signal_warp nvshmemrs::device::Of<long>::put_signal_warp
#define nvshmemrs_ptrdiff_put_signal_block nvshmemrs::device::Of<long>::put_signal_block
#define nvshmemrs_ptrdiff_put_signal_nbi nvshmemrs::device::Of<long>::put_signal_nbi
#define nvshmemrs_ptrdiff_put_signal_nbi_warp nvshmemrs::device::Of<long>::put_signal_nbi_warp
#define nvshmemrs_ptrdiff_put_signal_nbi_block nvshmemrs::device::Of<long>::put_signal_nbi_block
#define nvshmemrs_ptrdiff_iput nvshmemrs::device::Of<long>::iput
#define nvshmemrs_ptrdiff_iput_warp nvshmemrs::device::Of<long>::iput_warp
#define nvshmemrs_ptrdiff_iput_block nvshmemrs::device::Of<long>::iput_block
#define nvshmemrs_ptrdiff_iget nvshmemrs::device::Of<long>::iget
#define nvshmemrs_ptrdiff_iget_warp nvshmemrs::device::Of<long>::iget_warp
#define nvshmemrs_ptrdiff_iget_block nvshmemrs::device::Of<long>::iget_block
#define nvshmemrs_ptrdiff_broadcast nvshmemrs::device::Of<long>::broadcast
#define nvshmemrs_ptrdiff_broadcast_warp nvshmemrs::device::Of<long>::broadcast_warp
#define nvshmemrs_ptrdiff_broadcast_block nvshmemrs::device::Of<long>::broadcast_block
#define nvshmemrs_ptrdiff_fcollect nvshmemrs::device::Of<long>::fcollect
#define nvshmemrs_ptrdiff_fcollect_warp nvshmemrs::device::Of<long>::fcollect_warp
#define nvshmemrs_ptrdiff_fcollect_block nvshmemrs::device::Of<long>::fcollect_block
#define nvshmemrs_ptrdiff_alltoall nvshmemrs::device::Of<long>::alltoall
#define nvshmemrs_ptrdiff_alltoall_warp nvshmemrs::device::Of<long>::alltoall_warp
#define nvshmemrs_ptrdiff_alltoall_block nvshmemrs::device::Of<long>::alltoall_block
#define nvshmemrs_ptrdiff_atomic_fetch nvshmemrs::device::Of<long>::atomic_fetch
#define nvshmemrs_ptrdiff_atomic_set nvshmemrs::device::Of<long>::atomic_set
#define nvshmemrs_ptrdiff_atomic_swap nvshmemrs::device::Of<long>::atomic_swap
#define nvshmemrs_ptrdiff_atomic_add nvshmemrs::device::Of<long>::atomic_add
#define nvshmemrs_ptrdiff_atomic_fetch_add nvshmemrs::device::Of<long>::atomic_fetch_add
#define nvshmemrs_ptrdiff_atomic_inc nvshmemrs::device::Of<long>::atomic_inc
#define nvshmemrs_ptrdiff_atomic_fetch_inc nvshmemrs::device::Of<long>::atomic_fetch_inc
#define nvshmemrs_ptrdiff_atomic_compare_swap nvshmemrs::device::Of<long>::atomic_compare_swap
#define nvshmemrs_ptrdiff_wait_until nvshmemrs::device::Of<long>::wait_until
#define nvshmemrs_ptrdiff_test nvshmemrs::device::Of<long>::test
#define nvshmemrs_ptrdiff_wait_until_all nvshmemrs::device::Of<long>::wait_until_all
#define nvshmemrs_ptrdiff_wait_until_all_vector nvshmemrs::device::Of<long>::wait_until_all_vector
#define nvshmemrs_ptrdiff_wait_until_any nvshmemrs::device::Of<long>::wait_until_any
#define nvshmemrs_ptrdiff_wait_until_any_vector nvshmemrs::device::Of<long>::wait_until_any_vector
#define nvshmemrs_ptrdiff_wait_until_some nvshmemrs::device::Of<long>::wait_until_some
#define nvshmemrs_ptrdiff_wait_until_some_vector nvshmemrs::device::Of<long>::wait_until_some_vector
#define nvshmemrs_ptrdiff_test_all nvshmemrs::device::Of<long>::test_all
#define nvshmemrs_ptrdiff_test_all_vector nvshmemrs::device::Of<long>::test_all_vector
#define nvshmemrs_ptrdiff_test_any nvshmemrs::device::Of<long>::test_any
#define nvshmemrs_ptrdiff_test_any_vector nvshmemrs::device::Of<long>::test_any_vector
#define nvshmemrs_ptrdiff_test_some nvshmemrs::device::Of<long>::test_some
#define nvshmemrs_ptrdiff_test_some_vector nvshmemrs::device::Of<long>::test_some_vector

#endif
