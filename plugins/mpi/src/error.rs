//! Why a call failed: a status of the wire and a sentence.

use mpi::ffi;
use std::ffi::c_int;

/// A status of [`nvshmemrs_wire::status`] and the reason.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: i32,
    pub(crate) why: String,
}

pub(crate) type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    pub(crate) fn new(status: i32, why: impl Into<String>) -> Failure {
        let why = why.into();
        Failure { status, why }
    }
}

/// The error code of an MPI call.
#[inline]
pub(crate) fn check(code: c_int, call: &str) -> Result<()> {
    match code {
        0 => Ok(()),
        _ => Err(failure(code, call)),
    }
}

#[cold]
fn failure(code: c_int, call: &str) -> Failure {
    let mut text = vec![0u8; ffi::MPI_MAX_ERROR_STRING as usize + 1];
    let mut length: c_int = 0;
    // SAFETY: the text has room for the longest text of MPI, and MPI has just returned this code.
    let known = unsafe { ffi::MPI_Error_string(code, text.as_mut_ptr().cast(), &mut length) } == 0;
    text.truncate(if known { length.max(0) as usize } else { 0 });
    let text = String::from_utf8_lossy(&text);
    let why = format!("{call} failed with error {code}: {text}");
    Failure::new(nvshmemrs_wire::status::NETWORK, why)
}
