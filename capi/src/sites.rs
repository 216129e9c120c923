//! Call sites: the lines of the program that call operations, for the checker's reports and the list of allocations.
//!
//! Call sites in C, C++ and Fortran are found on the stack. Other languages name them by a hook.

use crate::failures;
use crate::guard;
use crate::handle;
use crate::text;
use crate::types::*;
use crate::words;
use nvshmem_core::per_thread::{self, PerThread};
use nvshmem_core::{Access, Accesses, CodeAddress};
use std::cell::Cell;
use std::ffi::{CString, c_char, c_void};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::*};

/// Sets a function that names the place in the program of each call with this runtime, for reports of
/// the checker (`NVSHMEMRS_CHECK`) and of allocations (`NVSHMEMRS_TRACK`). NULL removes it. Languages
/// whose calls do not come from the user's source lines (Python, Julia) use it; call sites in C, C++ and
/// Fortran are found without it. With neither setting it is called for a wait of the process's main thread
/// that has lasted 0.3 s, for reports of a job that stands still.
///
/// Local; `user` is passed through and must stay valid. OpenSHMEM does not have it.
/// Errors: NOT_INITIALIZED, BAD_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_site_hook(
    runtime: nvshmemrs_runtime_t,
    hook: nvshmemrs_site_hook_t,
    user: *mut c_void,
) -> i32 {
    guard::local_live(runtime, |rt| {
        failures::places_are_hooked(hook.is_some());
        rt.set_site_hook(handle::site_hook(hook, user), None);
        Ok(())
    })
}

/// As `nvshmemrs_site_hook`; reports name operations as `language` does, which is one of `nvshmemrs_language`.
///
/// Local; `user` is passed through and must stay valid. OpenSHMEM does not have it.
/// Errors: NOT_INITIALIZED, BAD_HANDLE, INVALID_VALUE.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_site_hook_in(
    runtime: nvshmemrs_runtime_t,
    hook: nvshmemrs_site_hook_t,
    user: *mut c_void,
    language: i32,
) -> i32 {
    guard::local_live(runtime, |rt| {
        let words = words::operations(language)?;
        failures::places_are_hooked(hook.is_some());
        rt.set_site_hook(handle::site_hook(hook, user), Some(words));
        Ok(())
    })
}

/// Announces to the checker an access of the program itself: `bytes` bytes at `address` are read or
/// written, according to `access`, which is one of `nvshmemrs_access`. The checker sees operations of
/// the library; this function is for the program's own loads and stores of symmetric memory, and of
/// buffers of non-blocking operations. Programs in C, C++ and Fortran that are compiled as
/// `nvshmemrs_plain_access.c` says call it for each of their accesses. `place` is the instruction after
/// the access; NULL stands for the caller's. Without the checker, or for other memory, it has no effect.
///
/// Local; never waits. Where the PEs are threads of one process, those of the threads that have joined are
/// seen. OpenSHMEM does not have it.
/// Errors: INVALID_VALUE.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_check_access(
    address: *const c_void,
    bytes: usize,
    access: i32,
    place: *const c_void,
) -> i32 {
    guard::status(|| {
        let access = handle::access(access)?;
        let place = match handle::addr(place) {
            0 => None,
            place => Some(CodeAddress::of_instruction(place)),
        };
        announce(access, handle::addr(address), bytes, place);
        Ok(())
    })
}

/// The line of the program at an instruction: "heat.c:71 (send_halo)", or the module and the address without
/// debug information. `place` is the instruction after the call, such as a return address. NUL-terminated;
/// never NULL; valid until the next such call on this thread.
///
/// Local; needs no runtime. OpenSHMEM does not have it.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_place_string(place: *const c_void) -> *const c_char {
    guard::plain(text::EMPTY.as_ptr(), || {
        let described = CodeAddress::of_instruction(handle::addr(place)).describe();
        per_thread::keep(&DESCRIBED, CString::new(described).unwrap_or_default());
        per_thread::with(&DESCRIBED, |described| described.as_ptr())
    })
}

/// A runtime of this process whose checker is on.
struct Checked {
    runtime: nvshmemrs_runtime_t,
    /// The number of the thread that has joined.
    thread: u64,
    accesses: Accesses,
}

static CHECKED: Mutex<Vec<Checked>> = Mutex::new(Vec::new());

/// How often `CHECKED` has changed.
static CHANGES: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// The description of the last place.
    static DESCRIBED: PerThread<CString> = const { PerThread::new() };
    /// The accesses that this thread reports to, with the value of `CHANGES` at which they were looked up.
    static MINE: PerThread<(u64, Option<Accesses>)> = const { PerThread::new() };
    /// Whether this thread is announcing an access.
    static ANNOUNCING: Cell<bool> = const { Cell::new(false) };
}

fn change(change: impl FnOnce(&mut Vec<Checked>)) {
    let mut checked = guard::lock(&CHECKED);
    change(&mut checked);
    CHANGES.fetch_add(1, Release);
}

/// Records a runtime that the calling thread has joined.
pub(crate) fn joined(runtime: nvshmemrs_runtime_t, accesses: Option<Accesses>) {
    if let Some(accesses) = accesses {
        let thread = per_thread::number();
        change(|checked| {
            checked.push(Checked {
                runtime,
                thread,
                accesses,
            });
        });
    }
}

/// Forgets a runtime.
pub(crate) fn left(runtime: nvshmemrs_runtime_t) {
    if CHANGES.load(Acquire) > 0 {
        change(|checked| checked.retain(|one| one.runtime != runtime));
    }
}

fn mine() -> Option<Accesses> {
    let checked = guard::lock(&CHECKED);
    let own = per_thread::number();
    match &checked[..] {
        [only] => Some(only),
        all => all.iter().rev().find(|one| one.thread == own),
    }
    .map(|one| one.accesses.clone())
}

fn announce(access: Access, address: u64, bytes: usize, place: Option<CodeAddress>) {
    let changes = CHANGES.load(Acquire);
    if changes == 0 {
        return;
    }
    // A site hook may itself be instrumented.
    if ANNOUNCING.replace(true) {
        return;
    }
    per_thread::with(&MINE, |mine| {
        if mine.0 != changes {
            *mine = (changes, self::mine());
        }
        if let Some(accesses) = &mine.1 {
            accesses.announce(access, address, bytes, place);
        }
    });
    ANNOUNCING.set(false);
}
