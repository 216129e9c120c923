//! The barrier that every exported function opens with: a panic becomes a status, an error becomes a status and a text.

use crate::failures;
use crate::handle::{self, Call};
use crate::text;
use crate::types::nvshmemrs_runtime_t;
use crate::words::{self, LANGUAGES};
use nvshmem_core::per_thread::{self, PerThread};
use nvshmem_core::{Error, Result, Runtime};
use std::any::type_name;
use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};

thread_local! {
    static LAST: PerThread<Last> = const { PerThread::new() };
}

/// The last error of a thread.
#[derive(Default)]
struct Last {
    text: String,
    /// The text in each language in which it was requested.
    said: [Option<CString>; LANGUAGES],
}

/// Statuses without an [`Error`], and texts for all statuses.
pub(crate) mod status {
    use super::*;

    pub(crate) const SUCCESS: i32 = 0;
    pub(crate) const NOT_INITIALIZED: i32 = 10;
    pub(crate) const PANIC: i32 = 99;

    /// One sentence for a status.
    pub(crate) fn describe(status: i32) -> &'static CStr {
        text::status(status)
    }
}

fn remember(text: String) {
    let said = [const { None }; LANGUAGES];
    per_thread::keep(&LAST, Last { text, said });
}

/// Records and logs an error that a library above this one has detected.
pub(crate) fn set_last_error(text: String) {
    failures::log_message(&text);
    remember(text);
}

/// The calling thread's last error, with the names that a language uses.
pub(crate) fn last_error(language: i32) -> *const c_char {
    let language = usize::try_from(language).unwrap_or(0);
    let language = if language < LANGUAGES { language } else { 0 };
    per_thread::with(&LAST, |last| {
        let said = last.said[language].get_or_insert_with(|| {
            let text = words::translate(&last.text, language);
            // The library's texts contain no NUL; a text with a NUL would be cut there.
            let end = text.find('\0').unwrap_or(text.len());
            CString::new(&text[..end]).unwrap_or_default()
        });
        said.as_ptr()
    })
}

/// Records an error; `body` is the type name of the closure that failed.
#[cold]
fn failed(error: &Error, body: &'static str) -> i32 {
    let text = error.to_string();
    failures::log_failure(body, error.status(), &text);
    remember(text);
    error.status()
}

#[cold]
fn panicked(panic: &(dyn std::any::Any + Send)) -> i32 {
    let what = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_string())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a text".to_string());
    remember(format!(
        "internal error in nvshmemrs, please report it: {what}"
    ));
    status::PANIC
}

/// Locks a mutex, even after a panic, which became a status: a panic leaves no data of this crate inconsistent.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The barrier of functions that return a status. `body` is a closure of the exported function; [`failures`] derives the
/// function's name from its type.
#[inline(always)]
pub(crate) fn status<F: FnOnce() -> Result<()>>(body: F) -> i32 {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => status::SUCCESS,
        Ok(Err(error)) => failed(&error, type_name::<F>()),
        Err(panic) => panicked(&*panic),
    }
}

/// The barrier of functions that create or destroy objects of a runtime; a stream's handle is an error. The core functions in
/// `body` check that the runtime is live.
#[inline(always)]
pub(crate) fn call(runtime: nvshmemrs_runtime_t, body: impl FnOnce(&Runtime) -> Result<()>) -> i32 {
    status(|| handle::with_runtime(runtime, body))
}

/// The barrier of local queries: they return at once, even with a stream's handle.
#[inline(always)]
pub(crate) fn local(
    runtime: nvshmemrs_runtime_t,
    body: impl FnOnce(&Runtime) -> Result<()>,
) -> i32 {
    status(|| handle::with_view(runtime, body))
}

/// As [`local`], for core functions that cannot fail and therefore do not check the runtime.
#[inline(always)]
pub(crate) fn local_live(
    runtime: nvshmemrs_runtime_t,
    body: impl FnOnce(&Runtime) -> Result<()>,
) -> i32 {
    local(runtime, |rt| {
        rt.check_live()?;
        body(rt)
    })
}

/// The barrier of operations. With a stream's handle, `body` is queued, so it must own its captures.
#[inline(always)]
pub(crate) fn queued(
    runtime: nvshmemrs_runtime_t,
    body: impl FnOnce(&Runtime) -> Result<()> + 'static,
) -> i32 {
    status(|| handle::with_runtime_or_stream(runtime, body, handle::submit))
}

/// The barrier of operations with an output. With a stream's handle, the call waits until the stream has run `body`.
#[inline(always)]
pub(crate) fn fetched(
    runtime: nvshmemrs_runtime_t,
    body: impl FnOnce(&Runtime) -> Result<()> + 'static,
) -> i32 {
    status(|| handle::with_runtime_or_stream(runtime, body, handle::submit_and_wait))
}

/// The barrier of operations whose arguments the caller may reuse on return. `prepare` runs at once, even with a stream's handle,
/// to read the arguments, and ends with [`Call::queued`] or [`Call::fetched`].
#[inline(always)]
pub(crate) fn prepared(
    runtime: nvshmemrs_runtime_t,
    prepare: impl FnOnce(Call<'_>) -> Result<()>,
) -> i32 {
    status(|| handle::with_call(runtime, prepare))
}

/// As [`fetched`] if the caller passes the output `out`, else as [`queued`].
#[inline(always)]
pub(crate) fn fetched_if<T>(
    out: *mut T,
    runtime: nvshmemrs_runtime_t,
    body: impl FnOnce(&Runtime) -> Result<()> + 'static,
) -> i32 {
    if out.is_null() {
        queued(runtime, body)
    } else {
        fetched(runtime, body)
    }
}

/// The barrier of functions that do not return a status.
#[inline(always)]
pub(crate) fn plain<T>(fallback: T, body: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| {
        panicked(&*panic);
        fallback
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last() -> String {
        per_thread::with(&LAST, |last| last.text.clone())
    }

    #[test]
    fn a_panic_becomes_a_status() {
        assert_eq!(status(|| panic!("lost {}", "count")), status::PANIC);
        assert!(last().contains("lost count"), "{}", last());
        assert_eq!(plain(7, || panic!("again")), 7);
        assert!(last().contains("again"));
    }

    #[test]
    fn a_panic_does_not_keep_a_lock() {
        let mutex = Mutex::new(1);
        let poison = || {
            let _held = lock(&mutex);
            panic!("under the lock")
        };
        assert_eq!(status(poison), status::PANIC);
        *lock(&mutex) += 1;
        assert_eq!(*lock(&mutex), 2);
    }

    #[test]
    fn an_error_becomes_a_status_and_a_text() {
        let error = Error::NotInitialized("no runtime here");
        assert_eq!(status(|| Err(error.clone())), 10);
        assert_eq!(last(), "no runtime here");
        assert_eq!(status(|| Ok(())), status::SUCCESS);
        assert_eq!(last(), "no runtime here", "success leaves the text alone");
    }
}
