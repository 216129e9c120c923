// Part of nvshmemrs_device.cuh: groups of threads that make one call, the job's state, and checks of arguments.
#pragma once

namespace nvshmemrs::device {

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
    static NVSHMEMRS_I_DEVICE bool any(bool vote) {
        // The vote orders no memory.
        __syncwarp();
        return __any_sync(~0u, vote);
    }
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
[[noreturn]] __device__ __noinline__ void report(u64 job, const char *caller, u32 kind, u32 operation, i32 pe, u64 address, u64 bytes) {
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
template <int = 0> [[noreturn]] __device__ __noinline__ void bad_state(u32 magic, u32 version, u64 job, const char *caller) {
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
NVSHMEMRS_I_DEVICE bool is_reachable(u32 check, u64 job, i32 pe) {
    return !(check & CHECK_HOSTS) || (((const u32 *)((const Job *)job)->near)[pe / 32] >> pe % 32 & 1);
}

// `bytes` bytes at `address` on a PE, of elements with this alignment. `own` is the address of this PE's heap.
template <int = 0>
__device__ __noinline__ void check_memory(u32 check, u64 job, const char *caller, u64 own, i32 n_pes, u32 operation, i32 pe, u64 address, u64 bytes,
                                          u32 align) {
    u32 kind = pe < 0 || pe >= n_pes ? WRONG_PE : is_reachable(check, job, pe) ? NOTHING : UNREACHABLE_PE;
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

} // namespace nvshmemrs::device
