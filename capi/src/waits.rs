//! Shared parts of the waits and tests in `generated::point_to_point`.

use crate::handle;
use nvshmem_core::{Cmp, Error, Result, Runtime, SymSlice, WaitElement};
use std::ffi::c_void;

/// The error for an element type that cannot be compared.
#[cold]
pub(crate) fn not_compared(dtype: i32) -> Error {
    Error::InvalidValue {
        argument: "dtype",
        value: dtype.to_string(),
        expected: "the number of an element type that can be compared: 1 to 8 for integers, 11 (`float`) or 12 (`double`)"
            .into(),
    }
}

/// The arguments of waits for several elements, read while the caller is inside the call.
pub(crate) struct WaitCondition {
    pub(crate) status: Option<Vec<i32>>,
    pub(crate) cmp: Cmp,
}

pub(crate) fn chosen<T: WaitElement>(
    rt: &Runtime,
    ivars: *const c_void,
    count: usize,
    status: *const i32,
    cmp: i32,
) -> Result<WaitCondition> {
    // A wrong count must lead to an error, not to a read past the end of the caller's arrays.
    elements::<T>(rt, ivars, count)?;
    Ok(WaitCondition {
        status: handle::status_array(rt, status, count)?,
        cmp: handle::cmp(cmp)?,
    })
}

pub(crate) fn elements<T: WaitElement>(
    rt: &Runtime,
    ivars: *const c_void,
    count: usize,
) -> Result<SymSlice<'static, T>> {
    rt.elements("ivars", handle::addr(ivars), count)
}

/// An index for C.
pub(crate) fn index_to_c(index: Option<usize>) -> usize {
    index.unwrap_or(usize::MAX)
}

pub(crate) fn some_to_c(indices: *mut usize, found: *mut usize, values: &[usize]) -> Result<()> {
    handle::write_array(indices, values);
    handle::write("found", found, values.len())
}
