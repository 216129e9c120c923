//! The C++ layer, `nvshmemrs.hpp`, for tests in Rust: cxx calls its templates, and converts their exceptions to a `Result`.

// C++ calls the functions of the C ABI that are in there.
use nvshmemrs_abi as _;

/// The C++ of `pes.hpp`.
#[cxx::bridge(namespace = "nvshmemrs_tests")]
#[allow(missing_docs, reason = "pes.hpp says what they are")]
pub mod bridge {
    // SAFETY: the functions of `pes.hpp` have the signatures declared here, keep no reference, and may be called by any thread.
    unsafe extern "C++" {
        include!("pes.hpp");

        type Job;
        fn make_job(n_pes: i32) -> Result<UniquePtr<Job>>;
        fn join(self: &Job, pe: i32, size: usize) -> Result<UniquePtr<Pe>>;

        type Pe;
        fn my_pe(self: &Pe) -> Result<i32>;
        fn n_pes(self: &Pe) -> Result<i32>;
        fn barrier(self: &Pe) -> Result<()>;
        fn own(self: &Pe) -> Vec<i64>;
        fn put(self: &Pe, pe: i32, first: usize, values: &[i64]) -> Result<()>;
        fn put_element(self: &Pe, pe: i32, index: usize, value: i64) -> Result<()>;
        fn get(self: &Pe, pe: i32, first: usize, count: usize) -> Result<Vec<i64>>;
        fn fetch_add(self: &Pe, pe: i32, index: usize, value: i64) -> Result<i64>;
        fn put_signal(self: &Pe, pe: i32, first: usize, values: &[i64], value: u64) -> Result<()>;
        fn wait_signal(self: &Pe, value: u64) -> Result<()>;
        fn broadcast(self: &Pe, dest: usize, source: usize, count: usize, root: i32) -> Result<()>;
        fn sum(self: &Pe, dest: usize, source: usize, count: usize, room: usize) -> Result<()>;
        fn free(self: Pin<&mut Pe>) -> Result<()>;
        fn finalize(self: Pin<&mut Pe>) -> Result<()>;
    }
}

// SAFETY: a job of C++ is a number, which `join` passes to the C ABI; any thread may do that.
unsafe impl Sync for bridge::Job {}
