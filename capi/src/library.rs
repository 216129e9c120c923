//! Functions that need no runtime: versions, the API hash, error texts.

use crate::guard::{self, status};
use crate::handle;
use crate::text;
use crate::types::{nvshmemrs_language, nvshmemrs_thread};
use std::ffi::{c_char, c_void};

/// The number of the ABI: it changes when a program built against an older header must be rebuilt.
///
/// Local; needs no runtime. OpenSHMEM does not have it.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_abi_version() -> u32 {
    guard::plain(0, || 2)
}

/// A hash over every function, struct, enum and constant of this ABI. Bindings compare it at load.
///
/// Local; needs no runtime. OpenSHMEM does not have it.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_api_hash() -> u64 {
    guard::plain(0, || crate::generated::API_HASH)
}

/// The library's version, as in its changelog.
///
/// Local; needs no runtime. Each output may be NULL. NVSHMEM `nvshmemx_vendor_get_version_info`.
/// Errors: none.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_version(major: *mut i32, minor: *mut i32, patch: *mut i32) -> i32 {
    guard::status(|| {
        let part = |text: &str| text.parse::<i32>().unwrap_or(0);
        handle::write_optional(major, part(env!("CARGO_PKG_VERSION_MAJOR")));
        handle::write_optional(minor, part(env!("CARGO_PKG_VERSION_MINOR")));
        handle::write_optional(patch, part(env!("CARGO_PKG_VERSION_PATCH")));
        Ok(())
    })
}

/// The library's name and version, for people. NUL-terminated, static.
///
/// Local; needs no runtime. OpenSHMEM 1.5 section 9.1.10 (`shmem_info_get_name`).
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_name() -> *const c_char {
    guard::plain(text::EMPTY.as_ptr(), || text::NAME.as_ptr())
}

/// One sentence for a status. NUL-terminated, static; never NULL.
///
/// Local; needs no runtime. NVSHMEM `nvshmemx_status_string`.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_status_string(status: i32) -> *const c_char {
    guard::plain(text::EMPTY.as_ptr(), || status::describe(status).as_ptr())
}

/// Details of the last call that failed on this thread: the operation, the PE, the argument, its value
/// and the accepted values. NUL-terminated; never NULL; valid until the next call that fails on this
/// thread.
///
/// Local; needs no runtime. OpenSHMEM does not have it.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_last_error() -> *const c_char {
    guard::plain(text::EMPTY.as_ptr(), || {
        guard::last_error(nvshmemrs_language::NVSHMEMRS_LANGUAGE_C as i32)
    })
}

/// As `nvshmemrs_last_error`, with the names that functions, arguments and types have in a language.
/// `language` is one of `nvshmemrs_language`; another number stands for C.
///
/// Local; needs no runtime. OpenSHMEM does not have it.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_last_error_in(language: i32) -> *const c_char {
    guard::plain(text::EMPTY.as_ptr(), || guard::last_error(language))
}

/// Makes the `bytes` bytes at `text`, UTF-8 without a NUL, the last error of the calling thread. A library
/// above this one reports the errors that it detects itself by it. As of every failed call, the text is also
/// logged once if `NVSHMEM_DEBUG` is WARN or higher, or if the job is checked. Of a text of more than 4096
/// bytes only these are taken, without a part of a character at their end.
///
/// Local; needs no runtime. OpenSHMEM does not have it.
/// Errors: INVALID_VALUE if `text` is NULL.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_error_set(text: *const c_void, bytes: usize) -> i32 {
    guard::status(|| {
        guard::set_last_error(handle::read_text("text", text, bytes)?);
        Ok(())
    })
}

/// How many threads of a PE may call at a time. The answer is one of `nvshmemrs_thread`: MULTIPLE, which means
/// any thread at any time, with one collective per team at a time.
///
/// Local; needs no runtime. OpenSHMEM 1.5 section 9.2.2 (`shmem_query_thread`).
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_thread_support() -> i32 {
    guard::plain(0, || nvshmemrs_thread::NVSHMEMRS_THREAD_MULTIPLE as i32)
}
