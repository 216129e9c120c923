// Communication inside of kernels: the device side of nvshmemrs.
//
// The header includes nothing and needs nothing linked. It compiles with nvcc and NVRTC as C++17 for sm_80 and later, without relocatable
// device code. As plain C++17 it compiles behind nvshmemrs_device_host.hpp, which runs kernels on the host.
//
// Names, arguments and meaning are NVSHMEM's, with `nvshmemrs_` for `nvshmem_` and `nvshmemx_`. Each function has one argument more, the
// first: the nvshmemrs_device_state_t that `nvshmemrs_device_state` filled in, or a pointer to it that kernels can read.
//
// Scopes: without a suffix one thread calls. With `_warp` or `_block` all threads of a full warp or of the block call, with equal arguments.
// Such a call begins with a meeting of these threads, so it includes what each of them did before. It ends with one, too, unless its
// name has `nbi`.
//
// Order:
//   * put, get, iput, iget order nothing. p stores and g loads a whole element at once.
//   * put_signal: whoever sees the signal with signal_wait_until, signal_fetch, wait_until or test sees the data.
//   * signal_op orders nothing before it: call fence or quiet first where it announces data.
//   * atomic_fetch is an acquire. atomic_set and atomics without a result are releases. The others are both.
//   * waits and tests are acquires. fence is a release towards every PE. quiet is a full barrier of the calling thread.
//   * barrier and sync: what each member's group did before is visible to the groups of all members that have returned. Other collectives
//     order what they read and write; a reduction of up to 32 bytes in a slot below 8 orders nothing else.
//
// Such a small reduction sends each word with its flag. Kernels of Numba, Triton and CuTe do not know that: where one of these takes part in
// it, compile with NVSHMEMRS_DEVICE_NO_MAIL defined.
//
// Collectives take a team and a slot: below 128 in jobs of up to 64 PEs, else below 8192 / n_pes. All members call with the same slot, and
// calls of one slot have the same order on all members. Blocks that call at the same time use different slots, such as blockIdx.x.
// Every block that takes part must be running at once. For reductions in place the groups of all members have the same number of
// threads. A collective returns 0, or -1 if the job was broken or this PE is no member; `dest` is undefined then.
//
// Waits end when the job is broken, because a PE died, say. nvshmemrs_aborted tells.
#ifndef NVSHMEMRS_DEVICE_CUH
#define NVSHMEMRS_DEVICE_CUH

#if !defined(__CUDACC__) && !defined(NVSHMEMRS_DEVICE_HOST)
#error "nvshmemrs_device.cuh is for nvcc and NVRTC; other compilers include nvshmemrs_device_host.hpp instead"
#endif

// nvshmemrs.h declares these, too, unless this header came first.
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

// The job as kernels see it. Addresses belong to the address space of the PE's GPU, or of its process.
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
    // Not 0: arguments are checked (NVSHMEMRS_DEVICE_CHECK).
    unsigned check;
    // Shared memory that the calling thread or warp has lent: see nvshmemrs_give_smem.
    unsigned lent;
} nvshmemrs_device_state_t;
#endif
// How much shared memory to lend; NVSHMEM's names end alike.
enum nvshmemrs_smem_amount : int { NVSHMEMRS_SMEM_RECOMMENDED = 0, NVSHMEMRS_SMEM_MINIMUM = 1 };

// CUDA's own, if the program includes them, before or after.
struct __half;
struct __nv_bfloat16;

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
// Functions with loops. A program that calls many of them compiles faster if it defines NVSHMEMRS_DEVICE_CALLS, which keeps one copy of each.
#ifdef NVSHMEMRS_DEVICE_CALLS
#define NVSHMEMRS_I_LOOP __device__ __noinline__
#else
#define NVSHMEMRS_I_LOOP __device__ __forceinline__
#endif
// Functions are templates, so that those which a program does not call cost next to nothing.
#define NVSHMEMRS_I_API template <int = 0> NVSHMEMRS_I_DEVICE

// As <cstdio> and NVRTC declare it; nvcc has it only once a program includes <cstdio>.
#if !defined(NVSHMEMRS_DEVICE_HOST) && !defined(__CUDACC_RTC__)
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
    // Offsets that the program may use: below this.
    u64 heap_bytes;
    u32 n_teams;
    u32 check;
    // Teams, by the low half of their handles; they lie right behind this struct.
    u64 teams;
    // A copy of State in memory that kernels can read.
    u64 state;
    // Slots of each team.
    u32 slots;
    u32 padding;
    // A Report.
    u64 report;
    u64 reserved[2];
};

struct Team {
    // Members; 0: this PE is in no such team.
    i32 n;
    i32 me;
    // Member m is PE first + m * step; if step is 0, `members` (i32 each) says which.
    i32 first;
    i32 step;
    u64 members;
    // Symmetric offset of flags, u64 each: member m's at ((slot * 2 + parity) * n + m).
    u64 sync;
    // A u64 for each slot: how often its members have met.
    u64 epochs;
    // The high half of the team's handle.
    u32 generation;
    u32 padding;
    // Symmetric offset of the mail of the first MAIL_SLOTS slots: member m's words at ((slot * 2 + parity) * n + m). 0: there is none.
    u64 mail;
    u64 reserved;
};

// What was wrong with a call's arguments.
struct Report {
    // 0: nothing; 1: being written; 2: complete.
    u32 state;
    u32 kind;
    i32 pe;
    u32 block;
    u32 thread;
    // As core/src/operation.rs numbers them.
    u32 operation;
    u64 address;
    u64 bytes;
};
static_assert(sizeof(State) == 64 && sizeof(Job) == 64 && sizeof(Team) == 64 && sizeof(Report) == 40, "as the library's");
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
NVSHMEMRS_I_AT(Team, step, 12);
NVSHMEMRS_I_AT(Team, members, 16);
NVSHMEMRS_I_AT(Team, sync, 24);
NVSHMEMRS_I_AT(Team, epochs, 32);
NVSHMEMRS_I_AT(Team, generation, 40);
NVSHMEMRS_I_AT(Team, mail, 48);
NVSHMEMRS_I_AT(Report, operation, 20);
NVSHMEMRS_I_AT(Report, address, 24);

enum : u32 { STATE_MAGIC = 0x6873766e, STATE_VERSION = 3 };
// Values of Report::kind.
enum : u32 { NOTHING = 0, WRONG_PE = 1, WRONG_ADDRESS = 2, WRONG_ALIGNMENT = 3, WRONG_TEAM = 4, WRONG_SLOT = 5, WRONG_ARGUMENT = 6 };
// Numbers of operations.
enum : u32 {
    BARRIER = 5, SYNC = 6, BROADCAST = 7, REDUCE = 8, SIGNAL_WAIT = 9, FCOLLECT = 11, ALLTOALL = 13, REDUCESCATTER = 15,
    WAIT_UNTIL = 40, WAIT_UNTIL_ALL = 41, WAIT_UNTIL_ANY = 42, WAIT_UNTIL_SOME = 43, PUT = 50, GET = 51, PUT_SIGNAL = 52,
    SIGNAL_OP = 53, PUT_NBI = 57, GET_NBI = 58, IPUT = 61, IGET = 62, PUT_SIGNAL_NBI = 65, SIGNAL_FETCH = 66, ATOMIC_FETCH = 70,
    ATOMIC_SET = 71, ATOMIC_SWAP = 72, ATOMIC_COMPARE_SWAP = 73, ATOMIC_INC = 74, ATOMIC_FETCH_INC = 75, ATOMIC_ADD = 76,
    ATOMIC_FETCH_ADD = 77, ATOMIC_AND = 78, ATOMIC_FETCH_AND = 79, ATOMIC_OR = 80, ATOMIC_FETCH_OR = 81, ATOMIC_XOR = 82,
    ATOMIC_FETCH_XOR = 83, TEST = 92, TEST_ALL = 93, TEST_ANY = 94, TEST_SOME = 95,
};
// Polls between two looks at the abort word, which lies behind PCIe.
enum : u32 { POLLS = 1024 };
// Rows of teams that every job has.
enum : u32 { TEAMS = 256 };
// Slots that have mail, and the words that one member sends another in one collective: half of each word is data.
enum : u32 { MAIL_SLOTS = 8, MAIL_WORDS = 8 };

// Sixteen bytes, moved at once where their address allows.
struct alignas(16) Bytes16 {
    u64 words[2];
};

// ---- Accesses. The host's shim has its own of all these. ----
#ifndef NVSHMEMRS_DEVICE_HOST

// Plain accesses, which order nothing.
template <class T> NVSHMEMRS_I_DEVICE T read(u64 at) { return *(const T *)at; }
template <class T> NVSHMEMRS_I_DEVICE void write(u64 at, T value) { *(T *)at = value; }
NVSHMEMRS_I_DEVICE void prefetch(u64 at) { asm volatile("prefetch.global.L2 [%0];" ::"l"(at)); }

// Accesses to words that other PEs access, too.
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

// Read-modify-writes: those that give the old value are acquire and release, `apply_` is a release.
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
NVSHMEMRS_I_DEVICE void stop() { __trap(); }

// What the copy engines of a multiprocessor do. `shared`: addresses in shared memory.
NVSHMEMRS_I_DEVICE bool is_global(u64 at) { return __isGlobal((const void *)at); }
#ifndef NVSHMEMRS_I_NO_BULK
NVSHMEMRS_I_DEVICE void bulk_begin(u32 barriers, u32 count) {
    for (u32 i = 0; i < count; i++) asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(barriers + i * 8) : "memory");
    // The engines see the barriers, what this thread has written, and what it has seen of others.
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
// All stores but the latest have read what they store.
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
// A parameter that says nothing about a template's types.
template <class T> struct Same { typedef T type; };
template <class A, class B> struct Is { static constexpr bool yes = false; };
template <class A> struct Is<A, A> { static constexpr bool yes = true; };

// What the functions for half and bfloat16 take: CUDA's type or 16-bit integers.
template <class H, class Own> NVSHMEMRS_I_DEVICE void expect_sixteen() {
    static_assert(Is<H, Own>::yes || Is<H, u16>::yes || Is<H, i16>::yes, "CUDA's type, or a 16-bit integer");
}

NVSHMEMRS_I_DEVICE u64 least(u64 a, u64 b) { return a < b ? a : b; }

// ---- Groups of threads that make one call. ----

NVSHMEMRS_I_DEVICE u32 block_thread() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
NVSHMEMRS_I_DEVICE u32 block_threads() { return blockDim.x * blockDim.y * blockDim.z; }
NVSHMEMRS_I_DEVICE u32 grid_block() { return blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z); }

// UNROLL: sixteen-byte loads of a thread that are under way at once.
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

// ---- State and checks. ----

// The texts have no numbers in them, because these would take a stack frame in every kernel.
template <int = 0> __device__ __noinline__ void bad_state(u32 magic) {
    if (magic != STATE_MAGIC) printf("nvshmemrs: a kernel was called with something that is no nvshmemrs_device_state_t\n");
    else printf("nvshmemrs: a kernel was called with a nvshmemrs_device_state_t of another version than it was compiled for\n");
    stop();
}

template <int = 0> __device__ __noinline__ void report(u64 job, u32 kind, u32 operation, i32 pe, u64 address, u64 bytes) {
    Report *report = (Report *)((const Job *)job)->report;
    if (report && compare_swap(&report->state, 0u, 1u) == 0) {
        report->kind = kind;
        report->pe = pe;
        report->block = grid_block();
        report->thread = block_thread();
        report->operation = operation;
        report->address = address;
        report->bytes = bytes;
        store_release(&report->state, 2u);
    }
    stop();
}

// `bytes` bytes at `address` on a PE, of elements with this alignment. `own` is the address of this PE's heap.
template <int = 0> __device__ __noinline__ void check_memory(u64 job, u64 own, i32 n_pes, u32 operation, i32 pe, u64 address, u64 bytes, u32 align) {
    u64 offset = address - own, room = ((const Job *)job)->heap_bytes;
    u32 kind = pe < 0 || pe >= n_pes ? WRONG_PE : offset > room || bytes > room - offset ? WRONG_ADDRESS : address % align ? WRONG_ALIGNMENT : NOTHING;
    if (kind) report(job, kind, operation, pe, address, bytes);
}

// The state that a call was given.
class Given {
  public:
    NVSHMEMRS_I_DEVICE Given(const State &state) : state_(&state) {}
    NVSHMEMRS_I_DEVICE Given(const State *state) : state_(state) {}

    NVSHMEMRS_I_DEVICE const State &get() const {
        if (state_->magic != STATE_MAGIC || state_->version != STATE_VERSION) bad_state(state_->magic);
        return *state_;
    }

    // Where memory that is symmetric lies on a PE.
    NVSHMEMRS_I_DEVICE u64 on(u32 operation, i32 pe, const void *own, u64 bytes, u32 align) const {
        const State &s = get();
        if (s.check) check_memory(s.job, s.base + (u64)s.my_pe * s.stride, s.n_pes, operation, pe, (u64)own, bytes, align);
        return (u64)own + (u64)(i64)(pe - s.my_pe) * s.stride;
    }

    // The same for one element, where all that is accessed is aligned.
    template <class T> NVSHMEMRS_I_DEVICE Word<T> *word(u32 operation, i32 pe, const T *own) const {
        return (Word<T> *)on(operation, pe, own, sizeof(T), sizeof(T));
    }

    // Memory of this PE that others write.
    NVSHMEMRS_I_DEVICE void check_own(u32 operation, const void *own, u64 bytes, u32 align) const {
        const State &s = get();
        if (s.check) on(operation, s.my_pe, own, bytes, align);
    }

    NVSHMEMRS_I_DEVICE void check_argument(bool good, u32 operation, u64 value) const {
        const State &s = get();
        if (s.check && !good) report(s.job, WRONG_ARGUMENT, operation, s.my_pe, value, 0);
    }

    NVSHMEMRS_I_DEVICE bool aborted() const { return load_relaxed((const u32 *)get().abort) != 0; }

  private:
    const State *state_;
};

// A signal: CUDA's and the host's headers have different types for 64 bits.
class Signal {
  public:
    NVSHMEMRS_I_DEVICE Signal(const unsigned long *at) : at(at) {}
    NVSHMEMRS_I_DEVICE Signal(const unsigned long long *at) : at(at) {}
    const void *at;
};

// ---- Copies. ----

// The largest power of two, at most 16, that divides all bits of `mixed`.
NVSHMEMRS_I_DEVICE u32 common_power(u64 mixed) {
    mixed |= 16;
    return (u32)(mixed & (~mixed + 1));
}

// Copies `count` elements, UNROLL loads before the first store.
template <class G, class T> NVSHMEMRS_I_DEVICE void copy_as(u64 dest, u64 source, u64 count) {
    constexpr int K = G::UNROLL;
    u64 i = G::rank(), step = G::size();
    for (; i + (K - 1) * step < count; i += K * step) {
        T values[K];
        // One thread has few loads under way, so it has the data brought nearer ahead of them.
        if (Is<G, Thread>::yes && i + K + 2048 / sizeof(T) < count) prefetch(source + i * sizeof(T) + 2048);
        NVSHMEMRS_I_UNROLL
        for (int k = 0; k < K; k++) values[k] = read<T>(source + (i + k * step) * sizeof(T));
        NVSHMEMRS_I_UNROLL
        for (int k = 0; k < K; k++) write<T>(dest + (i + k * step) * sizeof(T), values[k]);
    }
    for (; i < count; i += step) write<T>(dest + i * sizeof(T), read<T>(source + i * sizeof(T)));
}

// One thread: elements of the largest size that their place allows, one after the other.
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

// What copies by the engines need: barriers, and STAGES buffers, whose sizes are multiples of BULK_UNIT.
enum : u32 { STAGES = 8, AHEAD = 6, BARRIERS = 128, BULK_UNIT = 128, LEAST_SMEM = BARRIERS + STAGES * 1024, LEAST_BULK = 2048 };
// Pieces of sixteen bytes from which on a group's copy begins at a whole line.
enum : u32 { LEAST_LINES = 2048 };

// Shared memory that is lent, as State::lent has it: where it begins and its size, in units of sixteen bytes. 0: none.
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
// One thread: has the copy engines copy multiples of sixteen bytes, through the shared memory that was lent. Loads run AHEAD of the stores,
// and a buffer is loaded again once all stores but the latest have read theirs.
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

// Copies `bytes` bytes that do not overlap, of elements aligned to ALIGN. The group's threads share them. `lent`: see State.
template <class G, u32 ALIGN> NVSHMEMRS_I_LOOP void copy(u64 dest, u64 source, u64 bytes, u32 lent = 0) {
    if (ALIGN <= 8 && bytes <= ALIGN) {
        if (G::rank() == 0) copy_edge(dest, source, bytes);
        return;
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
    store_relaxed(s.word(PUT, pe, dest), bits<Word<T>>(value));
}
template <class T> NVSHMEMRS_I_DEVICE T g(Given s, const T *source, i32 pe) { return bits<T>(load_relaxed(s.word(GET, pe, source))); }

template <class G, u32 ALIGN, u32 OPERATION> NVSHMEMRS_I_LOOP void put(Given s, void *dest, const void *source, u64 bytes, i32 pe) {
    u64 to = s.on(OPERATION, pe, dest, bytes, ALIGN);
    G::sync();
    copy<G, ALIGN>(to, (u64)source, bytes, s.get().lent);
    if (OPERATION == PUT) G::sync();
}
template <class G, u32 ALIGN, u32 OPERATION> NVSHMEMRS_I_LOOP void get(Given s, void *dest, const void *source, u64 bytes, i32 pe) {
    u64 from = s.on(OPERATION, pe, source, bytes, ALIGN);
    G::sync();
    copy<G, ALIGN>((u64)dest, from, bytes, s.get().lent);
    if (OPERATION == GET) G::sync();
}

// Bytes from the first to the end of the last of `count` elements; strides are at least 1.
NVSHMEMRS_I_DEVICE u64 span(i64 step, u64 count, u32 size) { return count ? ((count - 1) * step + 1) * size : 0; }

template <class G, class T> NVSHMEMRS_I_LOOP void iput(Given s, void *dest, const void *source, i64 dest_step, i64 source_step, u64 count, i32 pe) {
    u64 to = s.on(IPUT, pe, dest, span(dest_step, count, sizeof(T)), sizeof(T));
    G::sync();
    copy_strided<G, T>(to, (u64)source, dest_step, source_step, count);
    G::sync();
}
template <class G, class T> NVSHMEMRS_I_LOOP void iget(Given s, void *dest, const void *source, i64 dest_step, i64 source_step, u64 count, i32 pe) {
    u64 from = s.on(IGET, pe, source, span(source_step, count, sizeof(T)), sizeof(T));
    G::sync();
    copy_strided<G, T>((u64)dest, from, dest_step, source_step, count);
    G::sync();
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
    copy<G, ALIGN>(to, (u64)source, bytes, s.get().lent);
    // One thread's release covers what the others wrote before they met.
    G::sync();
    if (G::rank() == 0) {
        if (op == NVSHMEMRS_SIGNAL_ADD) apply_add(word, value);
        else store_release(word, value);
    }
}

// ---- Atomic memory operations. ----

// How elements of a type are added.
template <class T, class W> struct Adding {
    static NVSHMEMRS_I_DEVICE W fetch(W *at, W value) { return fetch_add(at, value); }
    static NVSHMEMRS_I_DEVICE void apply(W *at, W value) { apply_add(at, value); }
};
// The hardware's addition of single precision makes subnormal numbers 0, so this one compares and swaps.
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
// There is no exchange of 16 bits.
NVSHMEMRS_I_DEVICE u16 fetch_swap(u16 *at, u16 value) {
    for (u16 old = load_relaxed(at);;) {
        u16 seen = compare_swap(at, old, value);
        if (seen == old) return old;
        old = seen;
    }
}

template <class T> NVSHMEMRS_I_DEVICE T atomic_fetch(Given s, const T *source, i32 pe) {
    return bits<T>(load_acquire(s.word(ATOMIC_FETCH, pe, source)));
}
template <class T> NVSHMEMRS_I_DEVICE void atomic_set(Given s, T *dest, const T &value, i32 pe) {
    store_release(s.word(ATOMIC_SET, pe, dest), bits<Word<T>>(value));
}
template <class T> NVSHMEMRS_I_DEVICE T atomic_swap(Given s, T *dest, const T &value, i32 pe) {
    return bits<T>(fetch_swap(s.word(ATOMIC_SWAP, pe, dest), bits<Word<T>>(value)));
}
template <class T> NVSHMEMRS_I_DEVICE T atomic_compare_swap(Given s, T *dest, const T &cond, const T &value, i32 pe) {
    return bits<T>(compare_swap(s.word(ATOMIC_COMPARE_SWAP, pe, dest), bits<Word<T>>(cond), bits<Word<T>>(value)));
}
template <class T> NVSHMEMRS_I_DEVICE void atomic_add(Given s, u32 operation, T *dest, const T &value, i32 pe) {
    Adding<T, Word<T>>::apply(s.word(operation, pe, dest), bits<Word<T>>(value));
}
template <class T> NVSHMEMRS_I_DEVICE T atomic_fetch_add(Given s, u32 operation, T *dest, const T &value, i32 pe) {
    return bits<T>(Adding<T, Word<T>>::fetch(s.word(operation, pe, dest), bits<Word<T>>(value)));
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

// What a call waits for: elements, each compared with `value`, or with its own of `values`.
template <class T> struct Elements {
    const T *ivars;
    u64 count;
    // Not 0: left out. NULL: none is.
    const int *status;
    int cmp;
    T value;
    const T *values;

    NVSHMEMRS_I_DEVICE bool excluded(u64 i) const { return status && status[i] != 0; }
    NVSHMEMRS_I_DEVICE bool holds(u64 i) const {
        return compare<T>(cmp, (T)load_acquire((const Word<T> *)(ivars + i)), values ? values[i] : value);
    }
};

template <class T> NVSHMEMRS_I_DEVICE void check_elements(Given s, u32 operation, const Elements<T> &e) {
    s.check_own(operation, e.ivars, e.count * sizeof(T), sizeof(T));
    s.check_argument(e.cmp >= NVSHMEMRS_CMP_EQ && e.cmp <= NVSHMEMRS_CMP_GE, operation, e.cmp);
}

// Whether each element has held once.
template <bool WAIT, class T> NVSHMEMRS_I_LOOP bool wait_all(Given s, u32 operation, Elements<T> e) {
    check_elements(s, operation, e);
    u32 polls = 0;
    for (u64 i = 0; i < e.count; i++) {
        if (e.excluded(i)) continue;
        while (!e.holds(i))
            if (!WAIT || (++polls % POLLS == 0 && s.aborted())) return false;
    }
    return true;
}

// An index that holds; ~0 if none does, or there is none. A search begins anywhere, so a series of calls comes to every element that holds.
template <bool WAIT, class T> NVSHMEMRS_I_LOOP u64 wait_any(Given s, u32 operation, Elements<T> e) {
    check_elements(s, operation, e);
    u64 mixed = clock() * 0x9e3779b97f4a7c15ull, start = e.count ? (mixed >> 32) % e.count : 0;
    for (u32 polls = 0;;) {
        bool candidates = false;
        for (u64 k = 0; k < e.count; k++) {
            u64 i = k < e.count - start ? start + k : k - (e.count - start);
            if (e.excluded(i)) continue;
            candidates = true;
            if (e.holds(i)) return i;
            if (WAIT && ++polls % POLLS == 0 && s.aborted()) return ~0ull;
        }
        if (!WAIT || !candidates) return ~0ull;
    }
}

// How many hold, and which.
template <bool WAIT, class T> NVSHMEMRS_I_LOOP u64 wait_some(Given s, u32 operation, unsigned long *indices, Elements<T> e) {
    check_elements(s, operation, e);
    for (u32 polls = 0;;) {
        bool candidates = false;
        u64 found = 0;
        for (u64 i = 0; i < e.count; i++) {
            if (e.excluded(i)) continue;
            candidates = true;
            if (e.holds(i)) indices[found++] = i;
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
        if (compare(cmp, seen, value) || (polls % POLLS == 0 && s.aborted())) return seen;
    }
}

// ---- Teams. ----

// The row of a handle, or any other: the rows lie behind the job, so that its contents are loaded beside the job's.
NVSHMEMRS_I_DEVICE const Team *row_of(const State &s, u64 handle) { return (const Team *)((const Job *)s.job + 1) + least((u32)handle, TEAMS - 1); }
// A team, if this PE is a member; else one of no PEs: n is 0.
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

// A call of a group, which meets its like on the other members. All threads of the group have the same one.
template <class G> class Call {
  public:
    const State &s;
    // The members, and which of them this PE is.
    i32 n, me;

    NVSHMEMRS_I_DEVICE Call(Given given, u32 operation, u64 handle, u32 slot) : s(given.get()), row_(row_of(s, handle)), slot_(slot) {
        const Job *job = (const Job *)s.job;
        // One of the threads may just have met others in this slot by itself.
        G::sync();
        // All these loads are under way at once.
        n = row_->n, me = row_->me, first_ = row_->first, step_ = row_->step;
        const u64 *counter = (const u64 *)row_->epochs + slot;
        if ((u32)handle >= job->n_teams || row_->generation != (u32)(handle >> 32)) n = 0;
        if (s.check && n == 0) report(s.job, WRONG_TEAM, operation, s.my_pe, handle, 0);
        if (s.check && slot >= job->slots) report(s.job, WRONG_SLOT, operation, s.my_pe, slot, 0);
        good_ = n != 0 && slot < job->slots;
        if (good_) epoch_ = load_relaxed(counter);
    }

    NVSHMEMRS_I_DEVICE bool good() const { return good_; }

    // Symmetric memory of member m.
    NVSHMEMRS_I_DEVICE u64 on(i32 m, const void *own) const { return (u64)own + (u64)(i64)(pe(m) - s.my_pe) * s.stride; }

    // `bytes` bytes of this PE are symmetric, if that is to be checked.
    NVSHMEMRS_I_DEVICE void check(u32 operation, const void *own, u64 bytes, u32 align) const {
        if (s.check) check_memory(s.job, s.base + (u64)s.my_pe * s.stride, s.n_pes, operation, s.my_pe, (u64)own, bytes, align);
    }

    // Returns when all members have come, and what their groups did before can be seen; false: the job is broken.
    NVSHMEMRS_I_DEVICE bool meet() {
        if (!good_) return false;
        // What the group's threads did comes before what one of them announces. The epoch may still be on its way.
        G::sync();
        u64 sync = row_->sync;
        u64 *counter = this->counter();
        if ((i32)G::rank() < n) fence();
        epoch_++;
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
        return good_;
    }

    // The end of a call: nobody reads this PE's source any more.
    NVSHMEMRS_I_DEVICE int leave() { return meet() ? 0 : -1; }

    // Whether members send each other this much by mail.
    NVSHMEMRS_I_DEVICE bool has_mail([[maybe_unused]] u64 bytes) const {
#ifdef NVSHMEMRS_DEVICE_NO_MAIL
        return false;
#else
        return row_->mail && slot_ < MAIL_SLOTS && bytes <= MAIL_WORDS * 4 && bytes > 0;
#endif
    }

    // Sends all members, this one too, what is in `source`.
    NVSHMEMRS_I_DEVICE void post(const void *source, u32 bytes) {
        epoch_++;
        G::sync();
        u32 words = (bytes + 3) / 4, all = n * words;
        for (u32 i = G::rank(); i < all; i += G::size()) {
            u64 place = s.base + (u64)pe(i / words) * s.stride + mail(me);
            store_relaxed((u64 *)place + i % words, epoch_ << 32 | word_of((u64)source, bytes, i % words));
        }
        keep_epoch(counter());
        // Nobody reads the source after this.
        G::sync();
    }

    // A word that a member has sent; false: the job is broken.
    NVSHMEMRS_I_DEVICE bool take(i32 m, u32 word, u32 &value) const {
        const u64 *at = (const u64 *)(s.base + (u64)s.my_pe * s.stride + mail(m)) + word;
        for (u32 polls = 1;; polls++) {
            u64 seen = load_relaxed(at);
            value = (u32)seen;
            if ((u32)(seen >> 32) == (u32)epoch_) return true;
            if (polls % POLLS == 0 && load_relaxed((const u32 *)s.abort)) return false;
        }
    }

    // The end of a call by mail: all of `dest` is written.
    NVSHMEMRS_I_DEVICE int leave_mail(bool came) { return G::any(!came) ? -1 : 0; }

  private:
    // Where member m's mail lies on a member.
    NVSHMEMRS_I_DEVICE u64 mail(i32 m) const { return row_->mail + (((u64)slot_ * 2 + (epoch_ & 1)) * n + m) * MAIL_WORDS * 8; }
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
    const Team *row_;
    i32 first_, step_;
    u32 slot_;
    bool good_;
    u64 epoch_;
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
    if (!call.meet()) return -1;
    if (call.me != root || dest != source) copy<G, ALIGN>((u64)dest, call.on(root, source), bytes);
    return call.leave();
}

// Member m's part goes to the m-th place of `dest`. STEP: from which place of its source it comes, in parts: 0, or this member's number.
template <class G, u32 ALIGN, u32 OPERATION>
NVSHMEMRS_I_LOOP int gather(Given s, u64 team, void *dest, const void *source, u64 bytes, u32 slot) {
    Call<G> call(s, OPERATION, team, slot);
    if (!call.good()) return -1;
    i32 n = call.n, me = call.me;
    call.check(OPERATION, dest, bytes * n, ALIGN);
    call.check(OPERATION, source, OPERATION == ALLTOALL ? bytes * n : bytes, ALIGN);
    if (!call.meet()) return -1;
    u64 from = OPERATION == ALLTOALL ? me * bytes : 0;
    // Each member begins with another one.
    for (i32 k = 0; k < n; k++) {
        i32 m = me + k < n ? me + k : me + k - n;
        copy<G, ALIGN>((u64)dest + m * bytes, call.on(m, source) + from, bytes);
    }
    return call.leave();
}

// ---- Reductions: a left fold in the order of the team, as on the host. ----

enum : u32 { SUM = 1, MIN = 2, MAX = 3, PROD = 4, AND = 5, OR = 6, XOR = 7 };

// Elements as reductions see them.
struct Half {
    u16 bits;
};
struct Bfloat16 {
    u16 bits;
};
struct Located {
    double value, place;
};

// The type that elements are folded in; half and bfloat16 in single precision, rounded once at the end.
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
        // To the nearest, of two the even one.
        if ((word & 0x7fffffff) > 0x7f800000) return {(u16)(word >> 16 | 0x40)};
        return {(u16)((word + 0x7fff + (word >> 16 & 1)) >> 16)};
    }
};

// Integers are unsigned here, but for their order: so they wrap around.
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
template <class T, u32 OP> using HalfNumber = Half;
template <class T, u32 OP> using Bfloat16Number = Bfloat16;

template <class T> NVSHMEMRS_I_DEVICE bool is_nan(T value) { return value != value; }

// The first NaN stays.
template <u32 OP> struct Fold {
    template <class T> static NVSHMEMRS_I_DEVICE T fold(T a, T b) {
        if constexpr (OP == SUM) return (T)(a + b);
        // Narrow ones would be multiplied as int, and could overflow.
        else if constexpr (OP == PROD && sizeof(T) == 2) return (T)((u32)a * b);
        else if constexpr (OP == PROD) return (T)(a * b);
        else if constexpr (OP == MIN) return (b < a || is_nan(b)) && !is_nan(a) ? b : a;
        else if constexpr (OP == MAX) return (b > a || is_nan(b)) && !is_nan(a) ? b : a;
        else if constexpr (OP == AND) return a & b;
        else if constexpr (OP == OR) return a | b;
        else return a ^ b;
    }
    // The largest value with its place; of equal ones that of the first member.
    static NVSHMEMRS_I_DEVICE Located fold(Located a, Located b) {
        return (b.value > a.value || is_nan(b.value)) && !is_nan(a.value) ? b : a;
    }
};

// Elements that are loaded at once.
template <class E, int COUNT> struct alignas(COUNT * sizeof(E)) Pack {
    E elements[COUNT];
};

// K packs of a thread, folded over all members. `start` is the first pack of the group's, `end` the first that is not to be done.
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

// In place, or `source` may be read after `dest` is written: what a round has read is written after all members have read it.
template <class G, class E, u32 OP, int COUNT, int K>
NVSHMEMRS_I_DEVICE bool fold_packs(Call<G> &call, void *dest, const void *source, u64 count, bool in_place) {
    for (u64 start = 0; start < count; start += K * G::size()) {
        Folded<G, E, OP, COUNT, K> folded;
        folded.fold(call, source, start, count);
        if (in_place && !call.meet()) return false;
        folded.store(dest, start, count);
    }
    return true;
}

// Reductions whose data fit the mail. A word of mail is half data, half the epoch, so it is its own flag: one store each way is all.
template <class G, class E, u32 OP> NVSHMEMRS_I_DEVICE int reduce_by_mail(Call<G> &call, void *dest, const void *source, u32 bytes) {
    // A thread folds the elements of EACH words.
    constexpr u32 EACH = sizeof(E) > 4 ? sizeof(E) / 4 : 1, COUNT = EACH * 4 / sizeof(E);
    struct alignas(sizeof(E) > 4 ? sizeof(E) : 4) Words {
        u32 words[EACH];
    };
    struct Elements {
        E elements[COUNT];
    };
    call.post(source, bytes);
    bool came = true;
    for (u32 first = G::rank() * EACH; first * 4 < bytes && came; first += G::size() * EACH) {
        typename Wide<E>::type values[COUNT];
        for (i32 m = 0; m < call.n && came; m++) {
            Words taken;
            NVSHMEMRS_I_UNROLL
            for (u32 w = 0; w < EACH; w++) came = call.take(m, first + w, taken.words[w]) && came;
            Elements of = device::bits<Elements>(taken);
            NVSHMEMRS_I_UNROLL
            for (u32 e = 0; e < COUNT; e++) {
                typename Wide<E>::type value = Wide<E>::widen(of.elements[e]);
                values[e] = m == 0 ? value : Fold<OP>::fold(values[e], value);
            }
        }
        NVSHMEMRS_I_UNROLL
        for (u32 e = 0; e < COUNT; e++)
            if (came && first * 4 + e * sizeof(E) < bytes) {
                E element = Wide<E>::narrow(values[e]);
                write<Word<E>>((u64)dest + first * 4 + e * sizeof(E), device::bits<Word<E>>(element));
            }
    }
    return call.leave_mail(came);
}

// `parts`: whether each member gets a part of its own of the result. If `dest` lies within `source`, the groups of all members have the same size.
template <class G, class E, u32 OP, u32 OPERATION>
NVSHMEMRS_I_LOOP int reduce(Given s, u64 team, void *dest, const void *source, u64 count, u32 slot) {
    Call<G> call(s, OPERATION, team, slot);
    if (!call.good()) return -1;
    const u64 bytes = count * sizeof(E), all = OPERATION == REDUCESCATTER ? bytes * call.n : bytes;
    call.check(OPERATION, dest, bytes, sizeof(E));
    call.check(OPERATION, source, all, sizeof(E));
    if (OPERATION == REDUCE && call.has_mail(bytes)) return reduce_by_mail<G, E, OP>(call, dest, source, bytes);
    if (!call.meet()) return -1;
    bool in_place = (u64)dest < (u64)source + all && (u64)source < (u64)dest + bytes;
    const char *from = (const char *)source + (OPERATION == REDUCESCATTER ? bytes * call.me : 0);
    // Packs of sixteen bytes, where all places allow; of bytes eight. More would take more than the 64 registers that threads of large blocks have.
    constexpr int COUNT = sizeof(E) == 1 ? 8 : sizeof(E) < 16 ? 16 / sizeof(E) : 1, K = sizeof(E) >= 4 ? 4 : 2;
    // All members must take the same way in place, and parts may be aligned differently there.
    u64 mixed = (u64)dest | (u64)source | (OPERATION == REDUCESCATTER ? bytes : 0);
    u64 packs = mixed % 16 ? 0 : count / COUNT, done = packs * COUNT;
    if (!fold_packs<G, E, OP, COUNT, K>(call, dest, from, packs, in_place)) return -1;
    if (!fold_packs<G, E, OP, 1, 1>(call, (char *)dest + done * sizeof(E), from + done * sizeof(E), count - done, in_place)) return -1;
    // In place the last round's meeting came after the last read.
    return in_place ? 0 : call.leave();
}

} // namespace device
} // namespace nvshmemrs

// ---- Names. NVSHMEM's lists of types; where 64 bits have two types, both. ----

#define NVSHMEMRS_I_WIDE(X) \
    X(long, long) X(longlong, long long) X(int64, long) X(int64, long long) X(ulong, unsigned long) X(ulonglong, unsigned long long) \
    X(uint64, unsigned long) X(uint64, unsigned long long) X(size, unsigned long)
#define NVSHMEMRS_I_MIDDLE(X) X(int, int) X(int32, int) X(uint, unsigned) X(uint32, unsigned)
#define NVSHMEMRS_I_NARROW(X) \
    X(char, char) X(schar, signed char) X(int8, signed char) X(uchar, unsigned char) X(uint8, unsigned char) X(short, short) \
    X(int16, short) X(ushort, unsigned short) X(uint16, unsigned short)
#define NVSHMEMRS_I_FLOATS(X) X(float, float) X(double, double)
#define NVSHMEMRS_I_SIXTEEN(X) X(half, __half) X(bfloat16, __nv_bfloat16)

#define NVSHMEMRS_I_RMA_TYPES(X) NVSHMEMRS_I_FLOATS(X) NVSHMEMRS_I_NARROW(X) NVSHMEMRS_I_MIDDLE(X) NVSHMEMRS_I_WIDE(X) X(ptrdiff, long)
#define NVSHMEMRS_I_WAIT_TYPES(X) X(short, short) X(ushort, unsigned short) NVSHMEMRS_I_MIDDLE(X) NVSHMEMRS_I_WIDE(X) X(ptrdiff, long)
#define NVSHMEMRS_I_AMO_TYPES(X) NVSHMEMRS_I_MIDDLE(X) NVSHMEMRS_I_WIDE(X) X(ptrdiff, long)
#define NVSHMEMRS_I_AMO_BITS(X) \
    X(uint, unsigned) X(ulong, unsigned long) X(ulonglong, unsigned long long) X(int32, int) X(uint32, unsigned) X(int64, long) \
    X(int64, long long) X(uint64, unsigned long) X(uint64, unsigned long long)

#define NVSHMEMRS_I_REDUCE_BITS(X) \
    X(uchar, unsigned char) X(ushort, unsigned short) X(uint, unsigned) X(ulong, unsigned long) X(ulonglong, unsigned long long) \
    X(int8, signed char) X(int16, short) X(int32, int) X(int64, long) X(int64, long long) X(uint8, unsigned char) \
    X(uint16, unsigned short) X(uint32, unsigned) X(uint64, unsigned long) X(uint64, unsigned long long) X(size, unsigned long)

// A body for every scope: X(suffix, group, ...).
#define NVSHMEMRS_I_SCOPES(X, ...) X(, Thread, __VA_ARGS__) X(_warp, Warp, __VA_ARGS__) X(_block, Block, __VA_ARGS__)

// What does not depend on a type.

NVSHMEMRS_I_API int nvshmemrs_my_pe(nvshmemrs::device::Given s) { return s.get().my_pe; }
NVSHMEMRS_I_API int nvshmemrs_n_pes(nvshmemrs::device::Given s) { return s.get().n_pes; }
// Whether the job is broken: waits have ended without what they waited for, and collectives fail.
NVSHMEMRS_I_API int nvshmemrs_aborted(nvshmemrs::device::Given s) { return s.aborted(); }
// The address of symmetric memory on a PE, for loads and stores; NULL if it is not symmetric, or the PE cannot be reached.
NVSHMEMRS_I_API void *nvshmemrs_ptr(nvshmemrs::device::Given s, const void *dest, int pe) {
    const nvshmemrs::device::State &state = s.get();
    unsigned long offset = (unsigned long)dest - state.base - state.my_pe * state.stride;
    bool good = pe >= 0 && pe < state.n_pes && offset < ((const nvshmemrs::device::Job *)state.job)->heap_bytes;
    return good ? (void *)(state.base + pe * state.stride + offset) : nullptr;
}
// There is no multicast.
NVSHMEMRS_I_API void *nvshmemrs_mc_ptr(nvshmemrs::device::Given, nvshmemrs_team_t, const void *) { return nullptr; }

// Lent shared memory. From sm_90 on, puts and gets of a thread or a warp then move what is large through it by bulk copies, if source and
// destination can be aligned to sixteen bytes together; on other GPUs, and in a block's calls, they store as without it. Each thread or
// warp lends memory of its own, aligned to sixteen bytes, and uses the state that give_smem returns. The memory may be used again when the
// calls of all threads of the group have returned.
//
// Bytes to lend; amount: one of nvshmemrs_smem_amount. More is faster, up to the recommended amount.
template <int = 0> __host__ __device__ __forceinline__ int nvshmemrs_ask_smem(int amount = NVSHMEMRS_SMEM_RECOMMENDED) {
    return amount == NVSHMEMRS_SMEM_MINIMUM ? (int)nvshmemrs::device::LEAST_SMEM : 65536;
}
// The state with memory of the block's that is lent; with less than the minimum none is lent.
NVSHMEMRS_I_API nvshmemrs_device_state_t nvshmemrs_give_smem(nvshmemrs::device::Given s, void *smem, unsigned long bytes) {
    nvshmemrs_device_state_t state = s.get();
    state.lent = nvshmemrs::device::lend(smem, bytes);
    return state;
}
// The state without it.
NVSHMEMRS_I_API nvshmemrs_device_state_t nvshmemrs_release_smem(nvshmemrs::device::Given s) {
    nvshmemrs_device_state_t state = s.get();
    state.lent = 0;
    return state;
}

NVSHMEMRS_I_API void nvshmemrs_fence(nvshmemrs::device::Given) { nvshmemrs::device::fence(); }
NVSHMEMRS_I_API void nvshmemrs_quiet(nvshmemrs::device::Given) { nvshmemrs::device::full_fence(); }
// Sources may be used again, of what the group's threads have put.
#define NVSHMEMRS_I_FLUSH(SUFFIX, GROUP, ...) \
    NVSHMEMRS_I_API void nvshmemrs_flush##SUFFIX(nvshmemrs::device::Given) { nvshmemrs::device::GROUP::sync(); }
NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_FLUSH, )

NVSHMEMRS_I_API void nvshmemrs_signal_op(nvshmemrs::device::Given s, nvshmemrs::device::Signal signal, unsigned long value, int op, int pe) {
    using namespace nvshmemrs::device;
    s.check_argument(op == NVSHMEMRS_SIGNAL_SET || op == NVSHMEMRS_SIGNAL_ADD, SIGNAL_OP, op);
    update_signal(s.word(SIGNAL_OP, pe, (const u64 *)signal.at), value, op);
}
NVSHMEMRS_I_API unsigned long nvshmemrs_signal_fetch(nvshmemrs::device::Given s, nvshmemrs::device::Signal signal) {
    using namespace nvshmemrs::device;
    s.check_own(SIGNAL_FETCH, signal.at, 8, 8);
    return load_acquire((const u64 *)signal.at);
}

// Remote memory access. TYPE is the pointers' type, COUNT says how many bytes `n` is.

#define NVSHMEMRS_I_PUTS(SUFFIX, GROUP, PUT_NAME, GET_NAME, API, TYPE, ALIGN, SIZE, CHECK)                                              \
    API void nvshmemrs_##PUT_NAME##SUFFIX(nvshmemrs::device::Given s, TYPE *dest, const TYPE *source, unsigned long n, int pe) {       \
        CHECK;                                                                                                                         \
        nvshmemrs::device::put<nvshmemrs::device::GROUP, ALIGN, nvshmemrs::device::PUT>(s, dest, source, n * SIZE, pe);                \
    }                                                                                                                                  \
    API void nvshmemrs_##GET_NAME##SUFFIX(nvshmemrs::device::Given s, TYPE *dest, const TYPE *source, unsigned long n, int pe) {       \
        CHECK;                                                                                                                         \
        nvshmemrs::device::get<nvshmemrs::device::GROUP, ALIGN, nvshmemrs::device::GET>(s, dest, source, n * SIZE, pe);                \
    }                                                                                                                                  \
    API void nvshmemrs_##PUT_NAME##_nbi##SUFFIX(nvshmemrs::device::Given s, TYPE *dest, const TYPE *source, unsigned long n, int pe) { \
        CHECK;                                                                                                                         \
        nvshmemrs::device::put<nvshmemrs::device::GROUP, ALIGN, nvshmemrs::device::PUT_NBI>(s, dest, source, n * SIZE, pe);            \
    }                                                                                                                                  \
    API void nvshmemrs_##GET_NAME##_nbi##SUFFIX(nvshmemrs::device::Given s, TYPE *dest, const TYPE *source, unsigned long n, int pe) { \
        CHECK;                                                                                                                         \
        nvshmemrs::device::get<nvshmemrs::device::GROUP, ALIGN, nvshmemrs::device::GET_NBI>(s, dest, source, n * SIZE, pe);            \
    }                                                                                                                                  \
    API void nvshmemrs_##PUT_NAME##_signal##SUFFIX(nvshmemrs::device::Given s, TYPE *dest, const TYPE *source, unsigned long n,        \
                                                   nvshmemrs::device::Signal signal, unsigned long value, int op, int pe) {            \
        CHECK;                                                                                                                         \
        nvshmemrs::device::put_signal<nvshmemrs::device::GROUP, ALIGN, nvshmemrs::device::PUT_SIGNAL>(s, dest, source, n * SIZE,       \
                                                                                                     signal, value, op, pe);           \
    }                                                                                                                                  \
    API void nvshmemrs_##PUT_NAME##_signal_nbi##SUFFIX(nvshmemrs::device::Given s, TYPE *dest, const TYPE *source, unsigned long n,    \
                                                       nvshmemrs::device::Signal signal, unsigned long value, int op, int pe) {        \
        CHECK;                                                                                                                         \
        nvshmemrs::device::put_signal<nvshmemrs::device::GROUP, ALIGN, nvshmemrs::device::PUT_SIGNAL_NBI>(s, dest, source, n * SIZE,   \
                                                                                                         signal, value, op, pe);       \
    }
#define NVSHMEMRS_I_STRIDED(SUFFIX, GROUP, PUT_NAME, GET_NAME, API, TYPE, WORD, CHECK)                                                 \
    API void nvshmemrs_##PUT_NAME##SUFFIX(nvshmemrs::device::Given s, TYPE *dest, const TYPE *source, long dest_step,                  \
                                          long source_step, unsigned long n, int pe) {                                                 \
        CHECK;                                                                                                                         \
        nvshmemrs::device::iput<nvshmemrs::device::GROUP, nvshmemrs::device::WORD>(s, dest, source, dest_step, source_step, n, pe);    \
    }                                                                                                                                  \
    API void nvshmemrs_##GET_NAME##SUFFIX(nvshmemrs::device::Given s, TYPE *dest, const TYPE *source, long dest_step,                  \
                                          long source_step, unsigned long n, int pe) {                                                 \
        CHECK;                                                                                                                         \
        nvshmemrs::device::iget<nvshmemrs::device::GROUP, nvshmemrs::device::WORD>(s, dest, source, dest_step, source_step, n, pe);    \
    }

#define NVSHMEMRS_I_RMA(NAME, T)                                                                                                       \
    NVSHMEMRS_I_API void nvshmemrs_##NAME##_p(nvshmemrs::device::Given s, T *dest, T value, int pe) {                                  \
        nvshmemrs::device::p<T>(s, dest, value, pe);                                                                                   \
    }                                                                                                                                  \
    NVSHMEMRS_I_API T nvshmemrs_##NAME##_g(nvshmemrs::device::Given s, const T *source, int pe) {                                      \
        return nvshmemrs::device::g<T>(s, source, pe);                                                                                 \
    }                                                                                                                                  \
    NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_PUTS, NAME##_put, NAME##_get, NVSHMEMRS_I_API, T, sizeof(T), sizeof(T), )                           \
    NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_STRIDED, NAME##_iput, NAME##_iget, NVSHMEMRS_I_API, T, Word<T>, )
NVSHMEMRS_I_RMA_TYPES(NVSHMEMRS_I_RMA)

#define NVSHMEMRS_I_SIXTEEN_API template <class H> NVSHMEMRS_I_DEVICE
#define NVSHMEMRS_I_RMA_SIXTEEN(NAME, OWN)                                                                                             \
    NVSHMEMRS_I_SIXTEEN_API void nvshmemrs_##NAME##_p(nvshmemrs::device::Given s, H *dest, typename nvshmemrs::device::Same<H>::type value, int pe) { \
        nvshmemrs::device::expect_sixteen<H, OWN>();                                                                                   \
        nvshmemrs::device::p<H>(s, dest, value, pe);                                                                                   \
    }                                                                                                                                  \
    NVSHMEMRS_I_SIXTEEN_API H nvshmemrs_##NAME##_g(nvshmemrs::device::Given s, const H *source, int pe) {                              \
        nvshmemrs::device::expect_sixteen<H, OWN>();                                                                                   \
        return nvshmemrs::device::g<H>(s, source, pe);                                                                                 \
    }                                                                                                                                  \
    NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_PUTS, NAME##_put, NAME##_get, NVSHMEMRS_I_SIXTEEN_API, H, 2, 2,                                     \
                       (nvshmemrs::device::expect_sixteen<H, OWN>()))                                                                  \
    NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_STRIDED, NAME##_iput, NAME##_iget, NVSHMEMRS_I_SIXTEEN_API, H, u16,                                 \
                       (nvshmemrs::device::expect_sixteen<H, OWN>()))
NVSHMEMRS_I_SIXTEEN(NVSHMEMRS_I_RMA_SIXTEEN)

// Sizes in bits; elements of 128 bits are aligned to 16 bytes where they are strided.
#define NVSHMEMRS_I_SIZED(SUFFIX, GROUP, BITS, WORD)                                                                                   \
    NVSHMEMRS_I_PUTS(SUFFIX, GROUP, put##BITS, get##BITS, NVSHMEMRS_I_API, void, (BITS < 128 ? BITS / 8 : 8), (BITS / 8), )            \
    NVSHMEMRS_I_STRIDED(SUFFIX, GROUP, iput##BITS, iget##BITS, NVSHMEMRS_I_API, void, WORD, )
NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_SIZED, 8, u8)
NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_SIZED, 16, u16)
NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_SIZED, 32, u32)
NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_SIZED, 64, u64)
NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_SIZED, 128, Bytes16)
NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_PUTS, putmem, getmem, NVSHMEMRS_I_API, void, 1, 1, )

// Atomic memory operations.

#define NVSHMEMRS_I_AMO_MOVE(API, NAME, T, CHECK)                                                                                      \
    API T nvshmemrs_##NAME##_atomic_fetch(nvshmemrs::device::Given s, const T *source, int pe) {                                       \
        CHECK;                                                                                                                         \
        return nvshmemrs::device::atomic_fetch<T>(s, source, pe);                                                                      \
    }                                                                                                                                  \
    API void nvshmemrs_##NAME##_atomic_set(nvshmemrs::device::Given s, T *dest, typename nvshmemrs::device::Same<T>::type value, int pe) { \
        CHECK;                                                                                                                         \
        nvshmemrs::device::atomic_set<T>(s, dest, value, pe);                                                                          \
    }                                                                                                                                  \
    API T nvshmemrs_##NAME##_atomic_swap(nvshmemrs::device::Given s, T *dest, typename nvshmemrs::device::Same<T>::type value, int pe) { \
        CHECK;                                                                                                                         \
        return nvshmemrs::device::atomic_swap<T>(s, dest, value, pe);                                                                  \
    }
#define NVSHMEMRS_I_AMO_ADD(API, NAME, T, KIND, CHECK)                                                                                 \
    API void nvshmemrs_##NAME##_atomic_add(nvshmemrs::device::Given s, T *dest, typename nvshmemrs::device::Same<T>::type value, int pe) { \
        CHECK;                                                                                                                         \
        nvshmemrs::device::atomic_add<KIND>(s, nvshmemrs::device::ATOMIC_ADD, (KIND *)dest, nvshmemrs::device::bits<KIND>(value), pe); \
    }                                                                                                                                  \
    API T nvshmemrs_##NAME##_atomic_fetch_add(nvshmemrs::device::Given s, T *dest, typename nvshmemrs::device::Same<T>::type value, int pe) { \
        CHECK;                                                                                                                         \
        return nvshmemrs::device::bits<T>(nvshmemrs::device::atomic_fetch_add<KIND>(                                                   \
            s, nvshmemrs::device::ATOMIC_FETCH_ADD, (KIND *)dest, nvshmemrs::device::bits<KIND>(value), pe));                          \
    }
#define NVSHMEMRS_I_AMO(NAME, T)                                                                                                       \
    NVSHMEMRS_I_AMO_MOVE(NVSHMEMRS_I_API, NAME, T, )                                                                                   \
    NVSHMEMRS_I_AMO_ADD(NVSHMEMRS_I_API, NAME, T, T, )                                                                                 \
    NVSHMEMRS_I_API T nvshmemrs_##NAME##_atomic_compare_swap(nvshmemrs::device::Given s, T *dest, T cond, T value, int pe) {           \
        return nvshmemrs::device::atomic_compare_swap<T>(s, dest, cond, value, pe);                                                    \
    }                                                                                                                                  \
    NVSHMEMRS_I_API void nvshmemrs_##NAME##_atomic_inc(nvshmemrs::device::Given s, T *dest, int pe) {                                  \
        nvshmemrs::device::atomic_add<T>(s, nvshmemrs::device::ATOMIC_INC, dest, 1, pe);                                               \
    }                                                                                                                                  \
    NVSHMEMRS_I_API T nvshmemrs_##NAME##_atomic_fetch_inc(nvshmemrs::device::Given s, T *dest, int pe) {                               \
        return nvshmemrs::device::atomic_fetch_add<T>(s, nvshmemrs::device::ATOMIC_FETCH_INC, dest, 1, pe);                            \
    }
#define NVSHMEMRS_I_AMO_FLOAT(NAME, T)                                                                                                 \
    NVSHMEMRS_I_AMO_MOVE(NVSHMEMRS_I_API, NAME, T, )                                                                                   \
    NVSHMEMRS_I_AMO_ADD(NVSHMEMRS_I_API, NAME, T, T, )
#define NVSHMEMRS_I_AMO_BIT(NAME, T, OPERATION, NUMBER)                                                                                \
    NVSHMEMRS_I_API void nvshmemrs_##NAME##_atomic_##OPERATION(nvshmemrs::device::Given s, T *dest, T value, int pe) {                 \
        using namespace nvshmemrs::device;                                                                                             \
        apply_##OPERATION(s.word(ATOMIC_##NUMBER, pe, dest), (Word<T>)value);                                                          \
    }                                                                                                                                  \
    NVSHMEMRS_I_API T nvshmemrs_##NAME##_atomic_fetch_##OPERATION(nvshmemrs::device::Given s, T *dest, T value, int pe) {              \
        using namespace nvshmemrs::device;                                                                                             \
        return (T)fetch_##OPERATION(s.word(ATOMIC_FETCH_##NUMBER, pe, dest), (Word<T>)value);                                          \
    }
#define NVSHMEMRS_I_AMO_BITWISE(NAME, T)                                                                                               \
    NVSHMEMRS_I_AMO_BIT(NAME, T, and, AND) NVSHMEMRS_I_AMO_BIT(NAME, T, or, OR) NVSHMEMRS_I_AMO_BIT(NAME, T, xor, XOR)
NVSHMEMRS_I_AMO_TYPES(NVSHMEMRS_I_AMO)
NVSHMEMRS_I_FLOATS(NVSHMEMRS_I_AMO_FLOAT)
NVSHMEMRS_I_AMO_BITS(NVSHMEMRS_I_AMO_BITWISE)
NVSHMEMRS_I_AMO_MOVE(NVSHMEMRS_I_SIXTEEN_API, half, H, (nvshmemrs::device::expect_sixteen<H, __half>()))
NVSHMEMRS_I_AMO_ADD(NVSHMEMRS_I_SIXTEEN_API, half, H, nvshmemrs::device::u16, (nvshmemrs::device::expect_sixteen<H, __half>()))

// Waits and tests.

NVSHMEMRS_I_API unsigned long nvshmemrs_signal_wait_until(nvshmemrs::device::Given s, nvshmemrs::device::Signal signal, int cmp, unsigned long value) {
    return nvshmemrs::device::signal_wait(s, (const nvshmemrs::device::u64 *)signal.at, cmp, value);
}

// V: how a name goes on, the type of its last parameter, and what the elements are compared with.
#define NVSHMEMRS_I_WAIT_SET(NAME, T, V, PARAMETER, VALUE, VALUES)                                                                     \
    NVSHMEMRS_I_API void nvshmemrs_##NAME##_wait_until_all##V(nvshmemrs::device::Given s, const T *ivars, unsigned long n,             \
                                                              const int *status, int cmp, PARAMETER) {                                 \
        nvshmemrs::device::wait_all<true, T>(s, nvshmemrs::device::WAIT_UNTIL_ALL, {ivars, n, status, cmp, VALUE, VALUES});            \
    }                                                                                                                                  \
    NVSHMEMRS_I_API unsigned long nvshmemrs_##NAME##_wait_until_any##V(nvshmemrs::device::Given s, const T *ivars, unsigned long n,    \
                                                                       const int *status, int cmp, PARAMETER) {                        \
        return nvshmemrs::device::wait_any<true, T>(s, nvshmemrs::device::WAIT_UNTIL_ANY, {ivars, n, status, cmp, VALUE, VALUES});     \
    }                                                                                                                                  \
    NVSHMEMRS_I_API unsigned long nvshmemrs_##NAME##_wait_until_some##V(nvshmemrs::device::Given s, const T *ivars, unsigned long n,   \
                                                                        unsigned long *indices, const int *status, int cmp, PARAMETER) { \
        return nvshmemrs::device::wait_some<true, T>(s, nvshmemrs::device::WAIT_UNTIL_SOME, indices,                                   \
                                                     {ivars, n, status, cmp, VALUE, VALUES});                                          \
    }                                                                                                                                  \
    NVSHMEMRS_I_API int nvshmemrs_##NAME##_test_all##V(nvshmemrs::device::Given s, const T *ivars, unsigned long n, const int *status, \
                                                       int cmp, PARAMETER) {                                                           \
        return nvshmemrs::device::wait_all<false, T>(s, nvshmemrs::device::TEST_ALL, {ivars, n, status, cmp, VALUE, VALUES});          \
    }                                                                                                                                  \
    NVSHMEMRS_I_API unsigned long nvshmemrs_##NAME##_test_any##V(nvshmemrs::device::Given s, const T *ivars, unsigned long n,          \
                                                                 const int *status, int cmp, PARAMETER) {                              \
        return nvshmemrs::device::wait_any<false, T>(s, nvshmemrs::device::TEST_ANY, {ivars, n, status, cmp, VALUE, VALUES});          \
    }                                                                                                                                  \
    NVSHMEMRS_I_API unsigned long nvshmemrs_##NAME##_test_some##V(nvshmemrs::device::Given s, const T *ivars, unsigned long n,         \
                                                                  unsigned long *indices, const int *status, int cmp, PARAMETER) {     \
        return nvshmemrs::device::wait_some<false, T>(s, nvshmemrs::device::TEST_SOME, indices,                                        \
                                                      {ivars, n, status, cmp, VALUE, VALUES});                                         \
    }
#define NVSHMEMRS_I_WAIT(NAME, T)                                                                                                      \
    NVSHMEMRS_I_API void nvshmemrs_##NAME##_wait_until(nvshmemrs::device::Given s, const T *ivar, int cmp, T value) {                  \
        nvshmemrs::device::wait_all<true, T>(s, nvshmemrs::device::WAIT_UNTIL, {ivar, 1, nullptr, cmp, value, nullptr});               \
    }                                                                                                                                  \
    NVSHMEMRS_I_API int nvshmemrs_##NAME##_test(nvshmemrs::device::Given s, const T *ivar, int cmp, T value) {                         \
        return nvshmemrs::device::wait_all<false, T>(s, nvshmemrs::device::TEST, {ivar, 1, nullptr, cmp, value, nullptr});             \
    }                                                                                                                                  \
    NVSHMEMRS_I_WAIT_SET(NAME, T, , T value, value, nullptr)                                                                           \
    NVSHMEMRS_I_WAIT_SET(NAME, T, _vector, const T *values, 0, values)
NVSHMEMRS_I_WAIT_TYPES(NVSHMEMRS_I_WAIT)

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
    NVSHMEMRS_I_API int nvshmemrs_sync_all##SUFFIX(nvshmemrs::device::Given s, unsigned slot = 0) {                                    \
        return nvshmemrs::device::barrier<nvshmemrs::device::GROUP>(s, nvshmemrs::device::SYNC, 0, slot);                              \
    }
NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_MEET, )

// `n` counts elements of SIZE bytes; per member where there are parts.
#define NVSHMEMRS_I_MOVES(SUFFIX, GROUP, PREFIX, MEM, API, TYPE, SIZE, CHECK)                                                          \
    API int nvshmemrs_##PREFIX##broadcast##MEM##SUFFIX(nvshmemrs::device::Given s, nvshmemrs_team_t team, TYPE *dest, const TYPE *source, \
                                                       unsigned long n, int root, unsigned slot = 0) {                                 \
        CHECK;                                                                                                                         \
        return nvshmemrs::device::broadcast<nvshmemrs::device::GROUP, SIZE>(s, team, dest, source, n * SIZE, root, slot);              \
    }                                                                                                                                  \
    API int nvshmemrs_##PREFIX##fcollect##MEM##SUFFIX(nvshmemrs::device::Given s, nvshmemrs_team_t team, TYPE *dest, const TYPE *source, \
                                                      unsigned long n, unsigned slot = 0) {                                            \
        CHECK;                                                                                                                         \
        return nvshmemrs::device::gather<nvshmemrs::device::GROUP, SIZE, nvshmemrs::device::FCOLLECT>(s, team, dest, source, n * SIZE, slot); \
    }                                                                                                                                  \
    API int nvshmemrs_##PREFIX##alltoall##MEM##SUFFIX(nvshmemrs::device::Given s, nvshmemrs_team_t team, TYPE *dest, const TYPE *source, \
                                                      unsigned long n, unsigned slot = 0) {                                            \
        CHECK;                                                                                                                         \
        return nvshmemrs::device::gather<nvshmemrs::device::GROUP, SIZE, nvshmemrs::device::ALLTOALL>(s, team, dest, source, n * SIZE, slot); \
    }
#define NVSHMEMRS_I_MOVES_TYPE(NAME, T) NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_MOVES, NAME##_, , NVSHMEMRS_I_API, T, sizeof(T), )
#define NVSHMEMRS_I_MOVES_SIXTEEN(NAME, OWN) \
    NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_MOVES, NAME##_, , NVSHMEMRS_I_SIXTEEN_API, H, 2, (nvshmemrs::device::expect_sixteen<H, OWN>()))
NVSHMEMRS_I_RMA_TYPES(NVSHMEMRS_I_MOVES_TYPE)
NVSHMEMRS_I_SIXTEEN(NVSHMEMRS_I_MOVES_SIXTEEN)
NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_MOVES, , mem, NVSHMEMRS_I_API, void, 1, )

// ELEMENT: a template that says what the elements are.
#define NVSHMEMRS_I_REDUCE(SUFFIX, GROUP, NAME, API, TYPE, ELEMENT, OP, NUMBER, CHECK)                                                 \
    API int nvshmemrs_##NAME##_##OP##_reduce##SUFFIX(nvshmemrs::device::Given s, nvshmemrs_team_t team, TYPE *dest, const TYPE *source, \
                                                     unsigned long n, unsigned slot = 0) {                                             \
        using namespace nvshmemrs::device;                                                                                             \
        CHECK;                                                                                                                         \
        return reduce<GROUP, ELEMENT<TYPE, NUMBER>, NUMBER, REDUCE>(s, team, dest, source, n, slot);                                   \
    }                                                                                                                                  \
    API int nvshmemrs_##NAME##_##OP##_reducescatter##SUFFIX(nvshmemrs::device::Given s, nvshmemrs_team_t team, TYPE *dest,             \
                                                            const TYPE *source, unsigned long n, unsigned slot = 0) {                  \
        using namespace nvshmemrs::device;                                                                                             \
        CHECK;                                                                                                                         \
        return reduce<GROUP, ELEMENT<TYPE, NUMBER>, NUMBER, REDUCESCATTER>(s, team, dest, source, n, slot);                            \
    }
#define NVSHMEMRS_I_REDUCE_NUMBERS(NAME, API, TYPE, ELEMENT, CHECK)                    \
    NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_REDUCE, NAME, API, TYPE, ELEMENT, sum, SUM, CHECK)   \
    NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_REDUCE, NAME, API, TYPE, ELEMENT, prod, PROD, CHECK) \
    NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_REDUCE, NAME, API, TYPE, ELEMENT, min, MIN, CHECK)   \
    NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_REDUCE, NAME, API, TYPE, ELEMENT, max, MAX, CHECK)
#define NVSHMEMRS_I_REDUCE_STANDARD(NAME, T) NVSHMEMRS_I_REDUCE_NUMBERS(NAME, NVSHMEMRS_I_API, T, Number, )
#define NVSHMEMRS_I_REDUCE_BITWISE(NAME, T)                                                   \
    NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_REDUCE, NAME, NVSHMEMRS_I_API, T, Number, and, AND, )       \
    NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_REDUCE, NAME, NVSHMEMRS_I_API, T, Number, or, OR, )         \
    NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_REDUCE, NAME, NVSHMEMRS_I_API, T, Number, xor, XOR, )
NVSHMEMRS_I_FLOATS(NVSHMEMRS_I_REDUCE_STANDARD)
NVSHMEMRS_I_NARROW(NVSHMEMRS_I_REDUCE_STANDARD)
NVSHMEMRS_I_MIDDLE(NVSHMEMRS_I_REDUCE_STANDARD)
NVSHMEMRS_I_WIDE(NVSHMEMRS_I_REDUCE_STANDARD)
NVSHMEMRS_I_REDUCE_BITS(NVSHMEMRS_I_REDUCE_BITWISE)
NVSHMEMRS_I_REDUCE_NUMBERS(half, NVSHMEMRS_I_SIXTEEN_API, H, HalfNumber, (expect_sixteen<H, __half>()))
NVSHMEMRS_I_REDUCE_NUMBERS(bfloat16, NVSHMEMRS_I_SIXTEEN_API, H, Bfloat16Number, (expect_sixteen<H, __nv_bfloat16>()))

// The largest x of all members with the y beside it; of equal ones that of the first member. D: CUDA's double2.
#define NVSHMEMRS_I_MAXLOC(SUFFIX, GROUP, ...)                                                                                         \
    template <class D> NVSHMEMRS_I_DEVICE int nvshmemrs_double2_maxloc_reduce##SUFFIX(                                                 \
        nvshmemrs::device::Given s, nvshmemrs_team_t team, D *dest, const D *source, unsigned long n, unsigned slot = 0) {             \
        using namespace nvshmemrs::device;                                                                                             \
        static_assert(sizeof(D) == sizeof(Located), "a double2");                                                                      \
        return reduce<GROUP, Located, MAX, REDUCE>(s, team, dest, source, n, slot);                                                    \
    }
NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_MAXLOC, )

#endif
