//! Deadlines of the caller's: until when the waits of a thread may last.

use crate::guard;
use crate::handle;
use nvshmem_core::deadline;

/// Begins a deadline of the calling thread: every later wait of this thread, and of calls that it queues
/// on streams, ends with TIMEOUT when `seconds` have passed since this call. It applies until
/// `nvshmemrs_deadline_end` is called with the value of `previous`. It replaces `NVSHMEMRS_TIMEOUT`, and
/// may be shorter or longer; of nested deadlines the earliest applies. Init has its own limit.
///
/// Local; needs no runtime. A collective that a deadline ends breaks its team. OpenSHMEM does not have it.
/// Errors: INVALID_VALUE unless `seconds` is more than 0 and at most 1000000000.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_deadline_begin(seconds: f64, previous: *mut u64) -> i32 {
    guard::status(|| {
        handle::check_out("previous", previous)?;
        handle::write("previous", previous, deadline::begin(seconds)?)
    })
}

/// Ends a deadline of the calling thread, with the value that `nvshmemrs_deadline_begin` wrote to
/// `previous`: the previous deadline, if there was one, applies again.
///
/// Local; needs no runtime. OpenSHMEM does not have it.
/// Errors: none.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_deadline_end(previous: u64) -> i32 {
    guard::status(|| {
        deadline::end(previous);
        Ok(())
    })
}
