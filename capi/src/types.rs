//! Types and constants of the C ABI. Numbers are written out and never reused.

use std::ffi::{c_char, c_void};

/// A PE's membership in a job. 0 is the null handle.
pub type nvshmemrs_runtime_t = u64;

/// A job whose PEs are threads of this process. 0 is the null handle.
pub type nvshmemrs_local_job_t = u64;

/// Keeps a heap's memory valid after finalize. 0 is the null handle.
pub type nvshmemrs_mapping_t = u64;

/// A team of PEs. The predefined ones are `nvshmemrs_team`.
pub type nvshmemrs_team_t = u64;

/// An ordered queue of operations. It may be passed wherever a function takes a runtime and says that it can be queued.
/// 0 is the null handle.
pub type nvshmemrs_stream_t = u64;

/// A mark in a stream. 0 is the null handle.
pub type nvshmemrs_event_t = u64;

/// Work of the caller that a stream runs. A result other than 0 is kept by the stream as an error
/// (`NVSHMEMRS_ERROR_SYSTEM`). It must return: an exception, `longjmp` or `pthread_exit` must not leave
/// it.
pub type nvshmemrs_host_function_t = Option<extern "C-unwind" fn(user: *mut c_void) -> i32>;

/// Called while a wait of this PE is long; a value other than 0 ends the wait with
/// `NVSHMEMRS_ERROR_INTERRUPTED`. It runs on the waiting thread.
/// It must return: an exception, `longjmp` or `pthread_exit` must not leave it.
pub type nvshmemrs_interrupt_hook_t = Option<extern "C-unwind" fn(user: *mut c_void) -> i32>;

/// Names the place in the program that is calling, on the thread that calls: writes it to the `bytes` bytes at `text`, a NUL behind
/// it, such as "ring.py:12 (main)", and returns 0. `address` is the instruction to which the call returns, NULL if that is not
/// known. Another value means that it does not know the place. It must not call nvshmemrs.
/// It must return: an exception, `longjmp` or `pthread_exit` must not leave it.
pub type nvshmemrs_site_hook_t = Option<
    extern "C-unwind" fn(
        user: *mut c_void,
        address: *const c_void,
        text: *mut c_char,
        bytes: usize,
    ) -> i32,
>;

/// The result of a call. Functions return these numbers as `int32_t`.
#[repr(i32)]
#[derive(Clone, Copy)]
pub enum nvshmemrs_status {
    /// Success.
    NVSHMEMRS_SUCCESS = 0,
    /// An argument has a value that this call does not accept.
    NVSHMEMRS_ERROR_INVALID_VALUE = 1,
    /// The symmetric heap, or the machine's memory, cannot hold the request.
    NVSHMEMRS_ERROR_OUT_OF_MEMORY = 2,
    /// This build or this machine does not support the request.
    NVSHMEMRS_ERROR_NOT_SUPPORTED = 3,
    /// An address that must be symmetric is not.
    NVSHMEMRS_ERROR_NOT_SYMMETRIC = 4,
    /// A defect in nvshmemrs itself; please report it.
    NVSHMEMRS_ERROR_INTERNAL = 7,
    /// No runtime: before init, after finalize, or a handle that was never given out.
    NVSHMEMRS_ERROR_NOT_INITIALIZED = 10,
    /// A handle of the wrong kind, or of an object that was freed.
    NVSHMEMRS_ERROR_BAD_HANDLE = 11,
    /// A PE number outside the team or the job.
    NVSHMEMRS_ERROR_PE_RANGE = 12,
    /// An access that runs past its symmetric allocation.
    NVSHMEMRS_ERROR_OUT_OF_BOUNDS = 13,
    /// The members of a collective gave different arguments.
    NVSHMEMRS_ERROR_MISMATCH = 14,
    /// A PE of the job died, or left without finalize.
    NVSHMEMRS_ERROR_PE_DIED = 15,
    /// A deadline passed. On GPU memory any call that waits for the GPU may return it, and also
    /// INTERRUPTED and PE_DIED.
    NVSHMEMRS_ERROR_TIMEOUT = 16,
    /// The wait was interrupted on this PE.
    NVSHMEMRS_ERROR_INTERRUPTED = 17,
    /// The PEs could not find or accept each other.
    NVSHMEMRS_ERROR_BOOTSTRAP = 18,
    /// A system call failed.
    NVSHMEMRS_ERROR_SYSTEM = 19,
    /// The caller is a forked child, which is not a PE of the job.
    NVSHMEMRS_ERROR_FORKED = 20,
    /// The address is not the start of a live allocation (a double free, for example).
    NVSHMEMRS_ERROR_BAD_FREE = 21,
    /// Another thread of this PE is inside a collective on this team; or finalize was called from an interrupt hook.
    NVSHMEMRS_ERROR_BUSY = 22,
    /// A member left a collective on this team early, so the team cannot be used any more.
    NVSHMEMRS_ERROR_TEAM_BROKEN = 23,
    /// Another member of the collective has an invalid argument.
    NVSHMEMRS_ERROR_PEER_ARGUMENT = 24,
    /// Finalize: the checker has found problems, which are on standard error. All else was completed as
    /// usual.
    NVSHMEMRS_ERROR_CHECK_FAILED = 25,
    /// A PE has been stopped (SIGSTOP, Ctrl-Z) for longer than `NVSHMEMRS_STOP_TIMEOUT`. Waits work
    /// again when it continues; the team of a collective that ended so is broken.
    NVSHMEMRS_ERROR_PE_STOPPED = 26,
    /// A call of the CUDA driver failed.
    NVSHMEMRS_ERROR_CUDA = 27,
    /// nvshmemrs panicked; the panic was caught at the C boundary.
    NVSHMEMRS_ERROR_PANIC = 99,
}

/// The language whose names of functions, arguments and types the text of an error uses.
#[repr(i32)]
#[derive(Clone, Copy)]
pub enum nvshmemrs_language {
    /// This header's.
    NVSHMEMRS_LANGUAGE_C = 0,
    /// Those of `nvshmemrs/ffi.hpp`.
    NVSHMEMRS_LANGUAGE_CXX = 1,
    /// Those of `nvshmemrs.core`.
    NVSHMEMRS_LANGUAGE_PYTHON = 2,
    /// Those of `NVSHMEMRS.FFI`.
    NVSHMEMRS_LANGUAGE_JULIA = 3,
    /// Those of the module `nvshmemrs_ffi`.
    NVSHMEMRS_LANGUAGE_FORTRAN = 4,
}

/// Where a symmetric heap lives.
#[repr(i32)]
#[derive(Clone, Copy)]
pub enum nvshmemrs_memory {
    /// Let `NVSHMEMRS_MEMORY` decide, else host.
    NVSHMEMRS_MEMORY_DEFAULT = 0,
    /// Host memory, shared by the PEs of one host.
    NVSHMEMRS_MEMORY_HOST = 1,
    /// Memory of a GPU.
    NVSHMEMRS_MEMORY_DEVICE = 2,
}

/// How a collective on GPU memory is done; the tuning file has these words, too.
#[repr(i32)]
#[derive(Clone, Copy)]
pub enum nvshmemrs_algorithm {
    /// As the tuning file says, else the library's own tables.
    NVSHMEMRS_ALGORITHM_TUNED = 0,
    /// Every eight bytes travel with a flag, through staging memory of the members.
    NVSHMEMRS_ALGORITHM_FLAGS = 1,
    /// The members meet, load from and store to each other's memory, and meet again.
    NVSHMEMRS_ALGORITHM_DIRECT = 2,
    /// The members meet, their copy engines write to each other's memory, and the members meet again.
    /// Broadcast, fcollect and alltoall only.
    NVSHMEMRS_ALGORITHM_ENGINES = 3,
    /// Sixteen bytes at a time travel through staging memory of the members, which is zero until data
    /// arrives.
    NVSHMEMRS_ALGORITHM_LAMPORT = 4,
}

/// A collective that moves or combines data.
#[repr(i32)]
#[derive(Clone, Copy)]
pub enum nvshmemrs_collective {
    /// `nvshmemrs_broadcast`.
    NVSHMEMRS_COLLECTIVE_BROADCAST = 1,
    /// `nvshmemrs_fcollect`.
    NVSHMEMRS_COLLECTIVE_FCOLLECT = 2,
    /// `nvshmemrs_alltoall`.
    NVSHMEMRS_COLLECTIVE_ALLTOALL = 3,
    /// `nvshmemrs_gather`.
    NVSHMEMRS_COLLECTIVE_GATHER = 4,
    /// `nvshmemrs_scatter`.
    NVSHMEMRS_COLLECTIVE_SCATTER = 5,
    /// `nvshmemrs_reduce`.
    NVSHMEMRS_COLLECTIVE_REDUCE = 6,
    /// `nvshmemrs_reducescatter`.
    NVSHMEMRS_COLLECTIVE_REDUCESCATTER = 7,
    /// `nvshmemrs_inscan`.
    NVSHMEMRS_COLLECTIVE_INSCAN = 8,
    /// `nvshmemrs_exscan`.
    NVSHMEMRS_COLLECTIVE_EXSCAN = 9,
}

/// Predefined teams.
#[repr(u64)]
#[derive(Clone, Copy)]
pub enum nvshmemrs_team {
    /// All PEs of the job.
    NVSHMEMRS_TEAM_WORLD = 0,
    /// The PEs whose heaps this PE can load from and store to.
    NVSHMEMRS_TEAM_SHARED = 1,
    /// The PEs on the same host as this PE.
    NVSHMEMRS_TEAM_NODE = 2,
    /// The PEs that have this PE's number on their own hosts: on one host, the PE itself.
    NVSHMEMRS_TEAM_SAME_MYPE_NODE = 3,
    /// The PEs that use this PE's GPU for their heaps. A PE whose heap is in host memory is alone in it.
    NVSHMEMRS_TEAM_SAME_GPU = 4,
    /// The PE with the lowest number of each GPU, and every PE whose heap is in host memory. For other
    /// PEs, which are not members, it equals NVSHMEMRS_TEAM_INVALID, and an operation on it is an error.
    NVSHMEMRS_TEAM_GPU_LEADERS = 5,
    /// No team.
    NVSHMEMRS_TEAM_INVALID = 0xffff_ffff_ffff_ffff,
}

/// Which fields of a team configuration count.
#[repr(i32)]
#[derive(Clone, Copy)]
pub enum nvshmemrs_team_config_mask {
    /// `num_contexts`.
    NVSHMEMRS_TEAM_CONFIG_NUM_CONTEXTS = 1,
    /// `uniqueid`.
    NVSHMEMRS_TEAM_CONFIG_UNIQUEID = 2,
}

/// How many threads of a PE may call at a time.
#[repr(i32)]
#[derive(Clone, Copy)]
pub enum nvshmemrs_thread {
    /// The PE has one thread.
    NVSHMEMRS_THREAD_SINGLE = 0,
    /// Only the thread that called init.
    NVSHMEMRS_THREAD_FUNNELED = 1,
    /// Any thread, one at a time.
    NVSHMEMRS_THREAD_SERIALIZED = 2,
    /// Any thread at any time.
    NVSHMEMRS_THREAD_MULTIPLE = 3,
}

/// Element types.
#[repr(i32)]
#[derive(Clone, Copy)]
pub enum nvshmemrs_dtype {
    /// Signed, 8 bits.
    NVSHMEMRS_DTYPE_INT8 = 1,
    /// Signed, 16 bits.
    NVSHMEMRS_DTYPE_INT16 = 2,
    /// Signed, 32 bits.
    NVSHMEMRS_DTYPE_INT32 = 3,
    /// Signed, 64 bits.
    NVSHMEMRS_DTYPE_INT64 = 4,
    /// Unsigned, 8 bits.
    NVSHMEMRS_DTYPE_UINT8 = 5,
    /// Unsigned, 16 bits.
    NVSHMEMRS_DTYPE_UINT16 = 6,
    /// Unsigned, 32 bits.
    NVSHMEMRS_DTYPE_UINT32 = 7,
    /// Unsigned, 64 bits.
    NVSHMEMRS_DTYPE_UINT64 = 8,
    /// IEEE 754 half precision, 16 bits. Reductions accumulate in single precision and round once.
    NVSHMEMRS_DTYPE_HALF = 9,
    /// The upper half of a single precision number. Reductions accumulate in single precision and round once.
    NVSHMEMRS_DTYPE_BFLOAT16 = 10,
    /// IEEE 754 single precision.
    NVSHMEMRS_DTYPE_FLOAT = 11,
    /// IEEE 754 double precision.
    NVSHMEMRS_DTYPE_DOUBLE = 12,
    /// Complex: two numbers of single precision.
    NVSHMEMRS_DTYPE_COMPLEXF = 13,
    /// Complex: two numbers of double precision.
    NVSHMEMRS_DTYPE_COMPLEXD = 14,
    /// 8 bits, 4 of them of exponent and 3 of mantissa; no infinities (OCP's E4M3). Reductions accumulate in single precision, round
    /// once, and saturate.
    NVSHMEMRS_DTYPE_FLOAT8_E4M3FN = 15,
    /// 8 bits, 5 of them of exponent and 2 of mantissa (OCP's E5M2). Reductions accumulate in single precision, round once, and
    /// saturate.
    NVSHMEMRS_DTYPE_FLOAT8_E5M2 = 16,
}

/// Reduction operations.
#[repr(i32)]
#[derive(Clone, Copy)]
pub enum nvshmemrs_op {
    /// Sum; integers wrap around.
    NVSHMEMRS_OP_SUM = 1,
    /// Smallest, not of complex numbers; a NaN in any source gives NaN.
    NVSHMEMRS_OP_MIN = 2,
    /// Largest, not of complex numbers; a NaN in any source gives NaN.
    NVSHMEMRS_OP_MAX = 3,
    /// Product; integers wrap around.
    NVSHMEMRS_OP_PROD = 4,
    /// Bitwise and, of integers.
    NVSHMEMRS_OP_AND = 5,
    /// Bitwise or, of integers.
    NVSHMEMRS_OP_OR = 6,
    /// Bitwise exclusive or, of integers.
    NVSHMEMRS_OP_XOR = 7,
}

/// Comparisons of a wait.
#[repr(i32)]
#[derive(Clone, Copy)]
pub enum nvshmemrs_cmp {
    /// Equal.
    NVSHMEMRS_CMP_EQ = 0,
    /// Not equal.
    NVSHMEMRS_CMP_NE = 1,
    /// Greater than.
    NVSHMEMRS_CMP_GT = 2,
    /// Less than or equal.
    NVSHMEMRS_CMP_LE = 3,
    /// Less than.
    NVSHMEMRS_CMP_LT = 4,
    /// Greater than or equal.
    NVSHMEMRS_CMP_GE = 5,
}

/// How a signal is updated.
#[repr(i32)]
#[derive(Clone, Copy)]
pub enum nvshmemrs_signal_op {
    /// Store the value.
    NVSHMEMRS_SIGNAL_SET = 9,
    /// Add the value atomically; it wraps around.
    NVSHMEMRS_SIGNAL_ADD = 10,
}

/// The kind of a program's access to memory, for `nvshmemrs_check_access`.
#[repr(i32)]
#[derive(Clone, Copy)]
pub enum nvshmemrs_access {
    /// Reads it.
    NVSHMEMRS_ACCESS_LOAD = 0,
    /// Writes it.
    NVSHMEMRS_ACCESS_STORE = 1,
    /// Reads it by an atomic instruction: announced after it.
    NVSHMEMRS_ACCESS_ATOMIC_LOAD = 2,
    /// Writes it, or reads and writes it, by an atomic instruction: announced before it; the reading part again after it.
    NVSHMEMRS_ACCESS_ATOMIC_STORE = 3,
    /// Passes symmetric memory to code whose loads and stores are not announced: `nvshmemrs-run --check`
    /// reports that at the end.
    NVSHMEMRS_ACCESS_UNSEEN = 4,
}

/// The attributes of init. Fill it with `nvshmemrs_init_attr_default`, then change fields.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct nvshmemrs_init_attr_t {
    /// Version and size of this struct: (1 << 16) + sizeof.
    pub version: u32,
    /// One of `nvshmemrs_memory`. All PEs must agree.
    pub memory_kind: i32,
    /// Bytes of symmetric heap per PE; 0 takes `NVSHMEM_SYMMETRIC_SIZE`, else the machine's default.
    pub heap_bytes: u64,
    /// Seconds a wait may last; 0 takes `NVSHMEMRS_TIMEOUT`, else no limit.
    pub timeout_s: f64,
    /// Seconds init may last; 0 takes `NVSHMEMRS_INIT_TIMEOUT`, else 60.
    pub init_timeout_s: f64,
    /// The GPU of this PE, if the heap is in device memory, by its number in this process. -1 takes the
    /// GPU of the calling thread's current CUDA context, else a GPU by the PE's number.
    pub device: i32,
    /// Must be 0.
    pub reserved: [u8; 28],
}

/// Names a job, and carries the secret that its PEs prove to each other. Send it to all PEs.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct nvshmemrs_unique_id_t {
    /// Version and size of this struct: (1 << 16) + sizeof.
    pub version: u32,
    /// Opaque.
    pub internal: [u8; 124],
}

/// The configuration of a team. Fill it with `nvshmemrs_team_config_default`, then change fields.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct nvshmemrs_team_config_t {
    /// Version and size of this struct: (1 << 16) + sizeof.
    pub version: u32,
    /// Contexts that the team must support. There are no contexts in this version; the number is kept
    /// and returned.
    pub num_contexts: i32,
    /// The number by which the members of `nvshmemrs_team_init` find each other.
    pub uniqueid: u64,
    /// Must be 0.
    pub reserved: [u8; 48],
}

/// How full a PE's symmetric heap is. Every PE sees the same numbers.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct nvshmemrs_heap_stats_t {
    /// Bytes of symmetric heap per PE.
    pub heap_bytes: u64,
    /// Bytes in live allocations, rounding included.
    pub used_bytes: u64,
    /// Bytes not allocated.
    pub free_bytes: u64,
    /// The largest block that can be allocated now.
    pub largest_free_bytes: u64,
    /// Live allocations.
    pub allocations: u64,
    /// Allocations this PE has released with `nvshmemrs_release` and that are not freed yet.
    pub released: u64,
}

/// The job as kernels of this PE see it, an argument of kernels. `nvshmemrs_device.cuh` declares the
/// same struct.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct nvshmemrs_device_state_t {
    /// "nvsh" in ASCII, the first letter lowest.
    pub magic: u32,
    /// The layout of this struct, and of the tables that it refers to.
    pub version: u32,
    /// This PE's number.
    pub my_pe: i32,
    /// The number of PEs.
    pub n_pes: i32,
    /// PE p's copy of symmetric offset o is at base + p * stride + o.
    pub base: u64,
    /// Bytes from one PE's part of the heap to the next one's.
    pub stride: u64,
    /// The address of a 32-bit word that is not 0 once the job is broken.
    pub abort: u64,
    /// For the library's own kernels.
    pub error: u64,
    /// The address of the table of teams, and of the areas beside it.
    pub job: u64,
    /// Not 0 if kernels check their arguments (`NVSHMEMRS_DEVICE_CHECK`), or which PEs they reach.
    pub check: u32,
    /// 0. In a kernel's copy: the shared memory that a thread or a warp has lent.
    pub lent: u32,
}

#[cfg(test)]
mod tests {
    use super::{nvshmemrs_cmp::*, nvshmemrs_dtype::*, nvshmemrs_op::*};
    use super::{nvshmemrs_signal_op::*, nvshmemrs_status::*, nvshmemrs_team::*};
    use nvshmem_core::{Cmp, Dtype, Op, SignalOp, Team};

    #[test]
    fn numbers_are_those_of_the_core() {
        assert_eq!(NVSHMEMRS_TEAM_NODE as u64, Team::NODE.number());
        assert_eq!(NVSHMEMRS_TEAM_SHARED as u64, Team::SHARED.number());
        assert_eq!(NVSHMEMRS_TEAM_WORLD as u64, Team::WORLD.number());
        assert_eq!(NVSHMEMRS_DTYPE_INT8 as i32, Dtype::Int8 as i32);
        assert_eq!(NVSHMEMRS_DTYPE_UINT64 as i32, Dtype::Uint64 as i32);
        assert_eq!(NVSHMEMRS_DTYPE_DOUBLE as i32, Dtype::Double as i32);
        assert_eq!(
            NVSHMEMRS_TEAM_GPU_LEADERS as u64,
            Team::GPU_LEADERS.number()
        );
        assert_eq!(NVSHMEMRS_TEAM_INVALID as u64, Team::INVALID.number());
        assert_eq!(NVSHMEMRS_DTYPE_COMPLEXD as i32, Dtype::Complexd as i32);
        assert_eq!(NVSHMEMRS_DTYPE_FLOAT8_E5M2 as usize, Dtype::ALL.len());
        assert_eq!(NVSHMEMRS_OP_MAX as i32, Op::Max as i32);
        assert_eq!(NVSHMEMRS_OP_XOR as i32, Op::Xor as i32);
        assert_eq!(NVSHMEMRS_CMP_GE as i32, Cmp::Ge as i32);
        assert_eq!(NVSHMEMRS_SIGNAL_ADD as i32, SignalOp::Add as i32);
        assert_eq!(NVSHMEMRS_ERROR_PEER_ARGUMENT as i32, 24);
    }
}
