//! Contexts: operations whose order and completion are independent of those of other contexts.

use crate::guard;
use crate::handle::{self, Object};
use crate::types::*;

/// Creates a context. Pass its handle in place of the runtime's to puts, gets, atomic operations,
/// signals, fence and quiet: fence and quiet of a context order and complete the operations of that
/// context only. Those with the runtime's handle are the default context's, which barriers complete, too.
/// Other functions take the handle as the runtime's. A PE can have at least 1024 contexts. A call with
/// the context must have returned before it is freed.
///
/// Local. Free it with `nvshmemrs_context_free`; finalize completes and frees the remaining contexts.
/// OpenSHMEM 1.5 section 9.5.1 (`shmem_ctx_create`).
/// Errors: NOT_INITIALIZED, BAD_HANDLE, NOT_SUPPORTED without a free handle.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_context_new(
    runtime: nvshmemrs_runtime_t,
    context: *mut nvshmemrs_runtime_t,
) -> i32 {
    guard::call(runtime, |rt| {
        handle::check_out("context", context)?;
        let made = handle::insert(Object::Context(rt.context()?))?;
        handle::write("context", context, made)
    })
}

/// Completes the operations of a context, as quiet does, and frees it. Its handle is invalid afterwards,
/// even after an error. 0 has no effect.
///
/// Local. OpenSHMEM 1.5 section 9.5.3 (`shmem_ctx_destroy`).
/// Errors: BAD_HANDLE; also PE_DIED, TIMEOUT, INTERRUPTED on several hosts.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_context_free(context: nvshmemrs_runtime_t) -> i32 {
    guard::status(|| match handle::remove_context(context)? {
        Some(context) if context.check_live().is_ok() => context.quiet(),
        // Finalize has completed them.
        _ => Ok(()),
    })
}
