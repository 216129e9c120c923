//! Logs failed calls, because a program may ignore their statuses. If `NVSHMEM_DEBUG` is WARN or higher, or the job is checked,
//! each function, by the name in the log, and status is logged once, with the line of the program.

use crate::generated::exports::exports;
use crate::guard::lock;
use crate::handle;
use nvshmem_core::{CodeAddress, DebugLevel, write_stderr};
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The process is not in a job: a regular result of functions that find or check a runtime.
const NOT_INITIALIZED: i32 = 10;
/// The address is not in the symmetric heap: a regular result of queries of a pointer.
const NOT_SYMMETRIC: i32 = 4;
/// The checker has reported findings: a result of finalize.
const CHECK_FAILED: i32 = 25;

/// Functions and statuses that are regular results, or are already logged.
const ANSWERS: [(&str, i32); 6] = [
    ("nvshmemrs_finalize", CHECK_FAILED),
    ("nvshmemrs_current", NOT_INITIALIZED),
    ("nvshmemrs_runtime_check", NOT_INITIALIZED),
    // By destructors that run after finalize, which has freed everything.
    ("nvshmemrs_release", NOT_INITIALIZED),
    ("nvshmemrs_ptr", NOT_SYMMETRIC),
    ("nvshmemrs_team_ptr", NOT_SYMMETRIC),
];

/// The exported function that contains a closure, taken from the name of the closure's type.
fn function(body: &str) -> &str {
    let words = body.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let mut named = words.filter(|word| word.starts_with("nvshmemrs_"));
    named.next_back().unwrap_or("a function")
}

/// Whether failures are logged.
fn is_wanted() -> bool {
    let checked = std::env::var_os("NVSHMEMRS_CHECK");
    DebugLevel::from_environment() >= DebugLevel::Warn
        || checked.is_some_and(|word| !word.is_empty() && word != "0")
}

/// Whether a language binding names the call sites; the stack does not show them then.
static HOOKED: AtomicBool = AtomicBool::new(false);

/// Called when a language sets or removes the hook that names call sites.
pub(crate) fn places_are_hooked(hooked: bool) {
    HOOKED.store(hooked, Relaxed);
}

/// This PE's number and the calling line of the program, if they are known.
fn caller() -> (Option<i32>, Option<String>) {
    let joined = handle::with_runtime(handle::own(), |runtime| {
        let place = runtime
            .calling_place()
            .map(|place| runtime.describe_place(place));
        Ok((runtime.my_pe(), place))
    });
    let (pe, place) = joined.map_or((None, None), |(pe, place)| (Some(pe), place));
    let native =
        || (!HOOKED.load(Relaxed)).then(|| CodeAddress::of_native_caller(exports).describe());
    (pe, place.or_else(native))
}

/// The failures that have been logged: functions and statuses, or texts and 0.
type Logged = BTreeSet<(String, i32)>;

/// The most failures that are remembered. Texts of other libraries may all differ.
const MOST: usize = 1024;

/// Enters a failure; tells whether it is new. A full set forgets all others, so that they may be logged again.
fn enter(logged: &mut Logged, failure: &str, status: i32) -> bool {
    let failure = (failure.to_string(), status);
    if logged.contains(&failure) {
        return false;
    }
    if logged.len() == MOST {
        logged.clear();
    }
    logged.insert(failure)
}

/// Whether failures are logged, and this one has not been.
fn is_new(failure: &str, status: i32) -> bool {
    // Per fork generation: a thread of the parent may hold the parent's lock for ever.
    static LOGGED: [Mutex<Logged>; 8] = [const { Mutex::new(BTreeSet::new()) }; 8];
    let logged = &LOGGED[nvshmem_core::fork_generation() as usize % LOGGED.len()];
    enter(&mut lock(logged), failure, status)
}

/// This PE and its process, for a line of the log.
fn who(pe: Option<i32>) -> String {
    let pid = std::process::id();
    pe.map_or_else(|| format!("pid {pid}"), |pe| format!("PE {pe}, pid {pid}"))
}

/// Logs a failed call. `body` is the type name of the closure that failed.
#[cold]
pub(crate) fn log_failure(body: &'static str, status: i32, text: &str) {
    let function = function(body);
    if ANSWERS.contains(&(function, status)) || !is_wanted() {
        return;
    }
    let called = CodeAddress::standard_name();
    let called = called.as_deref().unwrap_or(function);
    if !is_new(called, status) {
        return;
    }
    let (pe, place) = caller();
    let at = place.map_or_else(String::new, |place| format!(" at {place}"));
    let who = who(pe);
    write_stderr(&format!(
        "nvshmemrs [{who}] {called}{at} failed with status {status} (reported once): {text}\n"
    ));
}

/// Logs an error that a library above this one has detected; the text names the function and the line.
#[cold]
pub(crate) fn log_message(text: &str) {
    if is_wanted() && is_new(text, 0) {
        let who = who(caller().0);
        write_stderr(&format!("nvshmemrs [{who}] (reported once) {text}\n"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_new_once_and_the_set_stays_small() {
        let mut logged = Logged::new();
        assert!(enter(&mut logged, "shmem_set_lock", 7));
        assert!(!enter(&mut logged, "shmem_set_lock", 7));
        assert!(enter(&mut logged, "shmem_set_lock", 8));
        assert!(enter(&mut logged, "shmem_clear_lock", 7));
        for number in 0..10 * MOST {
            let text = format!("error {number}");
            assert!(enter(&mut logged, &text, 0) && !enter(&mut logged, &text, 0));
            assert!(logged.len() <= MOST);
        }
    }

    #[test]
    fn the_function_of_a_closure() {
        let plain = "nvshmemrs::rma::nvshmemrs_put::{{closure}}";
        let nested = "nvshmemrs::guard::call<nvshmemrs::guard::local<nvshmemrs::heap::nvshmemrs_free::{{closure}}>::{{closure}}>::{{closure}}";
        assert_eq!(function(plain), "nvshmemrs_put");
        assert_eq!(function(nested), "nvshmemrs_free");
        assert_eq!(function("other::closure"), "a function");
    }
}
