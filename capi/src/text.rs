//! Static texts.

use nvshmem_core::Error;
use std::ffi::{CStr, CString};
use std::sync::OnceLock;

pub(crate) const EMPTY: &CStr = c"";
pub(crate) const NAME: &CStr = match CStr::from_bytes_with_nul(
    concat!("nvshmemrs ", env!("CARGO_PKG_VERSION"), "\0").as_bytes(),
) {
    Ok(name) => name,
    Err(_) => panic!("the name has a NUL inside"),
};

/// The text of a status, created on first use.
pub(crate) fn status(status: i32) -> &'static CStr {
    static TEXTS: OnceLock<Vec<CString>> = OnceLock::new();
    let texts = TEXTS.get_or_init(|| {
        (0..=100)
            .map(|status| CString::new(Error::describe(status)).unwrap_or_default())
            .collect()
    });
    let unknown = texts.last().map_or(EMPTY, |text| text);
    usize::try_from(status)
        .ok()
        .and_then(|index| texts.get(index))
        .map_or(unknown, |text| text)
}
