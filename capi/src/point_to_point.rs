//! Point-to-point synchronisation: waits for elements of this PE's symmetric memory that other PEs write, and tests of them.

use crate::guard;
use crate::handle;
use crate::types::*;
use nvshmem_core::{Cmp, Error, Result, Runtime, SymSlice, WaitElement};
use std::ffi::c_void;

/// Names the Rust type that a number of `nvshmemrs_dtype` stands for, in an expression.
macro_rules! with_type {
    ($dtype:expr, $t:ident => $body:expr) => {
        with_type!(@ $dtype, $t => $body;
            NVSHMEMRS_DTYPE_INT8 i8, NVSHMEMRS_DTYPE_INT16 i16, NVSHMEMRS_DTYPE_INT32 i32, NVSHMEMRS_DTYPE_INT64 i64,
            NVSHMEMRS_DTYPE_UINT8 u8, NVSHMEMRS_DTYPE_UINT16 u16, NVSHMEMRS_DTYPE_UINT32 u32, NVSHMEMRS_DTYPE_UINT64 u64,
            NVSHMEMRS_DTYPE_FLOAT f32, NVSHMEMRS_DTYPE_DOUBLE f64)
    };
    (@ $dtype:expr, $t:ident => $body:expr; $($name:ident $rust:ty),*) => {{
        $( const $name: i32 = nvshmemrs_dtype::$name as i32; )*
        match $dtype {
            $( $name => {
                type $t = $rust;
                $body
            } )*
            other => Err(not_compared(other)),
        }
    }};
}

#[cold]
fn not_compared(dtype: i32) -> Error {
    Error::InvalidValue {
        argument: "dtype",
        value: dtype.to_string(),
        expected: "one of nvshmemrs_dtype that can be compared: an integer, float or double (1 to 8, 11 or 12)".into(),
    }
}

/// What the forms for several elements read while the caller is inside the call.
struct Chosen {
    status: Option<Vec<i32>>,
    cmp: Cmp,
}

fn chosen<T: WaitElement>(
    rt: &Runtime,
    ivars: *const c_void,
    count: usize,
    status: *const i32,
    cmp: i32,
) -> Result<Chosen> {
    // A wrong count shall lead to an error, not past the end of the caller's arrays.
    elements::<T>(rt, ivars, count)?;
    Ok(Chosen {
        status: handle::status_array(rt, status, count)?,
        cmp: handle::cmp(cmp)?,
    })
}

fn elements<T: WaitElement>(
    rt: &Runtime,
    ivars: *const c_void,
    count: usize,
) -> Result<SymSlice<'static, T>> {
    rt.elements("ivars", handle::addr(ivars), count)
}

/// An index for C.
fn index_to_c(index: Option<usize>) -> usize {
    index.unwrap_or(usize::MAX)
}

fn some_to_c(indices: *mut usize, found: *mut usize, values: &[usize]) -> Result<()> {
    handle::write_array(indices, values);
    handle::write("found", found, values.len())
}

/// Waits until this PE's copy of the element at the symmetric address `ivar` compares to the one at `value` as
/// `cmp` says. What was put before the value that does is visible on return.
///
/// Local: only the caller waits. `cmp` is one of `nvshmemrs_cmp`, `dtype` is one of `nvshmemrs_dtype`: an integer,
/// float or double; `ivar` must be aligned to its size. `value` is read once, when the call begins, and may be
/// reused on return, also if it is queued. OpenSHMEM 1.5 section 9.10.1 (`shmem_wait_until`).
/// Errors: PE_DIED, TIMEOUT, INTERRUPTED, NOT_SYMMETRIC, OUT_OF_BOUNDS, INVALID_VALUE.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_wait_until(
    runtime: nvshmemrs_runtime_t,
    ivar: *const c_void,
    cmp: i32,
    value: *const c_void,
    dtype: i32,
) -> i32 {
    guard::prepared(runtime, move |call| {
        let cmp = handle::cmp(cmp)?;
        with_type!(dtype, T => {
            let value = handle::read::<T>("value", value)?;
            call.queued(move |rt| {
                let ivar = rt.element::<T>("ivar", handle::addr(ivar))?;
                rt.wait_until(ivar, cmp, value)
            })
        })
    })
}

/// Whether this PE's copy of the element at the symmetric address `ivar` compares to the one at `value` as `cmp`
/// says: gives 1 or 0. What was put before the value that does is visible on return.
///
/// Local; never waits. `cmp` is one of `nvshmemrs_cmp`, `dtype` is one of `nvshmemrs_dtype`: an integer, float or
/// double; `ivar` must be aligned to its size. `value` is read once, when the call begins. OpenSHMEM 1.5 section
/// 9.10.8 (`shmem_test`).
/// Errors: NOT_SYMMETRIC, OUT_OF_BOUNDS, INVALID_VALUE.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_test(
    runtime: nvshmemrs_runtime_t,
    ivar: *const c_void,
    cmp: i32,
    value: *const c_void,
    dtype: i32,
    result: *mut i32,
) -> i32 {
    guard::prepared(runtime, move |call| {
        handle::check_out("result", result)?;
        let cmp = handle::cmp(cmp)?;
        with_type!(dtype, T => {
            let value = handle::read::<T>("value", value)?;
            call.fetched(move |rt| {
                let ivar = rt.element::<T>("ivar", handle::addr(ivar))?;
                let holds = rt.test(ivar, cmp, value)?;
                handle::write("result", result, i32::from(holds))
            })
        })
    })
}

/// Waits until each of the `count` elements at the symmetric address `ivars` of this PE has compared to the
/// one at `value` as `cmp` says. What was put before the values that do is visible on return. If there is no
/// element to wait for, it returns at once.
///
/// Local: only the caller waits. `cmp` is one of `nvshmemrs_cmp`, `dtype` is one of `nvshmemrs_dtype`: an integer,
/// float or double; `ivars` must be aligned to its size. `status` may be NULL; a number other than 0 in it excludes
/// the element. `value` and `status` are read once, when the call begins, and may be reused on return, also if it
/// is queued. OpenSHMEM 1.5 section 9.10.2 (`shmem_wait_until_all`).
/// Errors: PE_DIED, TIMEOUT, INTERRUPTED, NOT_SYMMETRIC, OUT_OF_BOUNDS, INVALID_VALUE.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_wait_until_all(
    runtime: nvshmemrs_runtime_t,
    ivars: *const c_void,
    count: usize,
    status: *const i32,
    cmp: i32,
    value: *const c_void,
    dtype: i32,
) -> i32 {
    guard::prepared(runtime, move |call| {
        with_type!(dtype, T => {
            let set = chosen::<T>(call.runtime(), ivars, count, status, cmp)?;
            let value = handle::read::<T>("value", value)?;
            call.queued(move |rt| {
                let ivars = elements::<T>(rt, ivars, count)?;
                rt.wait_until_all(&ivars, set.status.as_deref(), set.cmp, value)
            })
        })
    })
}

/// Waits until one of the `count` elements at the symmetric address `ivars` of this PE compares to the one at
/// `value` as `cmp` says, and gives the index of such an element. What was put before its value is visible on
/// return. If several compare, calls with the same arguments take turns: in time they give each of them, also if
/// other calls come in between. If there is no element to wait for, it returns at once and gives SIZE_MAX.
///
/// Local: only the caller waits. `cmp` is one of `nvshmemrs_cmp`, `dtype` is one of `nvshmemrs_dtype`: an integer,
/// float or double; `ivars` must be aligned to its size. `status` may be NULL; a number other than 0 in it excludes
/// the element. `value` and `status` are read once, when the call begins. OpenSHMEM 1.5 section 9.10.3
/// (`shmem_wait_until_any`).
/// Errors: PE_DIED, TIMEOUT, INTERRUPTED, NOT_SYMMETRIC, OUT_OF_BOUNDS, INVALID_VALUE.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_wait_until_any(
    runtime: nvshmemrs_runtime_t,
    ivars: *const c_void,
    count: usize,
    status: *const i32,
    cmp: i32,
    value: *const c_void,
    dtype: i32,
    index: *mut usize,
) -> i32 {
    guard::prepared(runtime, move |call| {
        handle::check_out("index", index)?;
        with_type!(dtype, T => {
            let set = chosen::<T>(call.runtime(), ivars, count, status, cmp)?;
            let value = handle::read::<T>("value", value)?;
            call.fetched(move |rt| {
                let ivars = elements::<T>(rt, ivars, count)?;
                let found = rt.wait_until_any(&ivars, set.status.as_deref(), set.cmp, value)?;
                handle::write("index", index, index_to_c(found))
            })
        })
    })
}

/// Waits until at least one of the `count` elements at the symmetric address `ivars` of this PE compares to
/// the one at `value` as `cmp` says; writes the indices of all that do to `indices`, in order, and gives
/// their number. What was put before their values is visible on return. If there is no element to wait for,
/// it returns at once and gives 0.
///
/// Local: only the caller waits. `cmp` is one of `nvshmemrs_cmp`, `dtype` is one of `nvshmemrs_dtype`: an integer,
/// float or double; `ivars` must be aligned to its size. `status` may be NULL; a number other than 0 in it excludes
/// the element. `value` and `status` are read once, when the call begins. `indices` has room for `count` numbers.
/// OpenSHMEM 1.5 section 9.10.4 (`shmem_wait_until_some`).
/// Errors: PE_DIED, TIMEOUT, INTERRUPTED, NOT_SYMMETRIC, OUT_OF_BOUNDS, INVALID_VALUE.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_wait_until_some(
    runtime: nvshmemrs_runtime_t,
    ivars: *const c_void,
    count: usize,
    indices: *mut usize,
    status: *const i32,
    cmp: i32,
    value: *const c_void,
    dtype: i32,
    found: *mut usize,
) -> i32 {
    guard::prepared(runtime, move |call| {
        handle::check_out("found", found)?;
        handle::check_array(call.runtime(), "indices", indices, count)?;
        with_type!(dtype, T => {
            let set = chosen::<T>(call.runtime(), ivars, count, status, cmp)?;
            let value = handle::read::<T>("value", value)?;
            call.fetched(move |rt| {
                let ivars = elements::<T>(rt, ivars, count)?;
                let all = rt.wait_until_some(&ivars, set.status.as_deref(), set.cmp, value)?;
                some_to_c(indices, found, &all)
            })
        })
    })
}

/// Whether all of the `count` elements at the symmetric address `ivars` of this PE compare to the one at
/// `value` as `cmp` says: gives 1 or 0. What was put before the values is visible on return if they do. If
/// there is no element to look at, it gives 1.
///
/// Local; never waits. `cmp` is one of `nvshmemrs_cmp`, `dtype` is one of `nvshmemrs_dtype`: an integer, float or
/// double; `ivars` must be aligned to its size. `status` may be NULL; a number other than 0 in it excludes the
/// element. `value` and `status` are read once, when the call begins. OpenSHMEM 1.5 section 9.10.9
/// (`shmem_test_all`).
/// Errors: NOT_SYMMETRIC, OUT_OF_BOUNDS, INVALID_VALUE.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_test_all(
    runtime: nvshmemrs_runtime_t,
    ivars: *const c_void,
    count: usize,
    status: *const i32,
    cmp: i32,
    value: *const c_void,
    dtype: i32,
    result: *mut i32,
) -> i32 {
    guard::prepared(runtime, move |call| {
        handle::check_out("result", result)?;
        with_type!(dtype, T => {
            let set = chosen::<T>(call.runtime(), ivars, count, status, cmp)?;
            let value = handle::read::<T>("value", value)?;
            call.fetched(move |rt| {
                let ivars = elements::<T>(rt, ivars, count)?;
                let holds = rt.test_all(&ivars, set.status.as_deref(), set.cmp, value)?;
                handle::write("result", result, i32::from(holds))
            })
        })
    })
}

/// Gives the index of one of the `count` elements at the symmetric address `ivars` of this PE that compares to
/// the one at `value` as `cmp` says, SIZE_MAX if none does. What was put before its value is visible on return.
/// If several compare, calls with the same arguments take turns: in time they give each of them, also if other
/// calls come in between.
///
/// Local; never waits. `cmp` is one of `nvshmemrs_cmp`, `dtype` is one of `nvshmemrs_dtype`: an integer, float or
/// double; `ivars` must be aligned to its size. `status` may be NULL; a number other than 0 in it excludes the
/// element. `value` and `status` are read once, when the call begins. OpenSHMEM 1.5 section 9.10.10
/// (`shmem_test_any`).
/// Errors: NOT_SYMMETRIC, OUT_OF_BOUNDS, INVALID_VALUE.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_test_any(
    runtime: nvshmemrs_runtime_t,
    ivars: *const c_void,
    count: usize,
    status: *const i32,
    cmp: i32,
    value: *const c_void,
    dtype: i32,
    index: *mut usize,
) -> i32 {
    guard::prepared(runtime, move |call| {
        handle::check_out("index", index)?;
        with_type!(dtype, T => {
            let set = chosen::<T>(call.runtime(), ivars, count, status, cmp)?;
            let value = handle::read::<T>("value", value)?;
            call.fetched(move |rt| {
                let ivars = elements::<T>(rt, ivars, count)?;
                let found = rt.test_any(&ivars, set.status.as_deref(), set.cmp, value)?;
                handle::write("index", index, index_to_c(found))
            })
        })
    })
}

/// Writes the indices of all of the `count` elements at the symmetric address `ivars` of this PE that compare
/// to the one at `value` as `cmp` says to `indices`, in order, and gives their number, which may be 0. What
/// was put before their values is visible on return.
///
/// Local; never waits. `cmp` is one of `nvshmemrs_cmp`, `dtype` is one of `nvshmemrs_dtype`: an integer, float or
/// double; `ivars` must be aligned to its size. `status` may be NULL; a number other than 0 in it excludes the
/// element. `value` and `status` are read once, when the call begins. `indices` has room for `count` numbers.
/// OpenSHMEM 1.5 section 9.10.11 (`shmem_test_some`).
/// Errors: NOT_SYMMETRIC, OUT_OF_BOUNDS, INVALID_VALUE.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_test_some(
    runtime: nvshmemrs_runtime_t,
    ivars: *const c_void,
    count: usize,
    indices: *mut usize,
    status: *const i32,
    cmp: i32,
    value: *const c_void,
    dtype: i32,
    found: *mut usize,
) -> i32 {
    guard::prepared(runtime, move |call| {
        handle::check_out("found", found)?;
        handle::check_array(call.runtime(), "indices", indices, count)?;
        with_type!(dtype, T => {
            let set = chosen::<T>(call.runtime(), ivars, count, status, cmp)?;
            let value = handle::read::<T>("value", value)?;
            call.fetched(move |rt| {
                let ivars = elements::<T>(rt, ivars, count)?;
                let all = rt.test_some(&ivars, set.status.as_deref(), set.cmp, value)?;
                some_to_c(indices, found, &all)
            })
        })
    })
}

/// As `nvshmemrs_wait_until_all`, but the element of index i is compared with the one of index i at `values`,
/// of which there are `count`.
///
/// Local: only the caller waits. `cmp` is one of `nvshmemrs_cmp`, `dtype` is one of `nvshmemrs_dtype`: an integer,
/// float or double; `ivars` must be aligned to its size. `status` may be NULL; a number other than 0 in it excludes
/// the element. `values` and `status` are read once, when the call begins, and may be reused on return, also if it
/// is queued. OpenSHMEM 1.5 section 9.10.5 (`shmem_wait_until_all_vector`).
/// Errors: PE_DIED, TIMEOUT, INTERRUPTED, NOT_SYMMETRIC, OUT_OF_BOUNDS, INVALID_VALUE.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_wait_until_all_vector(
    runtime: nvshmemrs_runtime_t,
    ivars: *const c_void,
    count: usize,
    status: *const i32,
    cmp: i32,
    values: *const c_void,
    dtype: i32,
) -> i32 {
    guard::prepared(runtime, move |call| {
        with_type!(dtype, T => {
            let set = chosen::<T>(call.runtime(), ivars, count, status, cmp)?;
            let values = handle::read_array::<T>(call.runtime(), "values", values, count)?;
            call.queued(move |rt| {
                let ivars = elements::<T>(rt, ivars, count)?;
                rt.wait_until_all_vector(&ivars, set.status.as_deref(), set.cmp, &values)
            })
        })
    })
}

/// As `nvshmemrs_wait_until_any`, but the element of index i is compared with the one of index i at `values`,
/// of which there are `count`.
///
/// Local: only the caller waits. `cmp` is one of `nvshmemrs_cmp`, `dtype` is one of `nvshmemrs_dtype`: an integer,
/// float or double; `ivars` must be aligned to its size. `status` may be NULL; a number other than 0 in it excludes
/// the element. `values` and `status` are read once, when the call begins. OpenSHMEM 1.5 section 9.10.6
/// (`shmem_wait_until_any_vector`).
/// Errors: PE_DIED, TIMEOUT, INTERRUPTED, NOT_SYMMETRIC, OUT_OF_BOUNDS, INVALID_VALUE.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_wait_until_any_vector(
    runtime: nvshmemrs_runtime_t,
    ivars: *const c_void,
    count: usize,
    status: *const i32,
    cmp: i32,
    values: *const c_void,
    dtype: i32,
    index: *mut usize,
) -> i32 {
    guard::prepared(runtime, move |call| {
        handle::check_out("index", index)?;
        with_type!(dtype, T => {
            let set = chosen::<T>(call.runtime(), ivars, count, status, cmp)?;
            let values = handle::read_array::<T>(call.runtime(), "values", values, count)?;
            call.fetched(move |rt| {
                let ivars = elements::<T>(rt, ivars, count)?;
                let found = rt.wait_until_any_vector(&ivars, set.status.as_deref(), set.cmp, &values)?;
                handle::write("index", index, index_to_c(found))
            })
        })
    })
}

/// As `nvshmemrs_wait_until_some`, but the element of index i is compared with the one of index i at
/// `values`, of which there are `count`.
///
/// Local: only the caller waits. `cmp` is one of `nvshmemrs_cmp`, `dtype` is one of `nvshmemrs_dtype`: an integer,
/// float or double; `ivars` must be aligned to its size. `status` may be NULL; a number other than 0 in it excludes
/// the element. `values` and `status` are read once, when the call begins. `indices` has room for `count` numbers.
/// OpenSHMEM 1.5 section 9.10.7 (`shmem_wait_until_some_vector`).
/// Errors: PE_DIED, TIMEOUT, INTERRUPTED, NOT_SYMMETRIC, OUT_OF_BOUNDS, INVALID_VALUE.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_wait_until_some_vector(
    runtime: nvshmemrs_runtime_t,
    ivars: *const c_void,
    count: usize,
    indices: *mut usize,
    status: *const i32,
    cmp: i32,
    values: *const c_void,
    dtype: i32,
    found: *mut usize,
) -> i32 {
    guard::prepared(runtime, move |call| {
        handle::check_out("found", found)?;
        handle::check_array(call.runtime(), "indices", indices, count)?;
        with_type!(dtype, T => {
            let set = chosen::<T>(call.runtime(), ivars, count, status, cmp)?;
            let values = handle::read_array::<T>(call.runtime(), "values", values, count)?;
            call.fetched(move |rt| {
                let ivars = elements::<T>(rt, ivars, count)?;
                let all = rt.wait_until_some_vector(&ivars, set.status.as_deref(), set.cmp, &values)?;
                some_to_c(indices, found, &all)
            })
        })
    })
}

/// As `nvshmemrs_test_all`, but the element of index i is compared with the one of index i at `values`, of
/// which there are `count`.
///
/// Local; never waits. `cmp` is one of `nvshmemrs_cmp`, `dtype` is one of `nvshmemrs_dtype`: an integer, float or
/// double; `ivars` must be aligned to its size. `status` may be NULL; a number other than 0 in it excludes the
/// element. `values` and `status` are read once, when the call begins. OpenSHMEM 1.5 section 9.10.12
/// (`shmem_test_all_vector`).
/// Errors: NOT_SYMMETRIC, OUT_OF_BOUNDS, INVALID_VALUE.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_test_all_vector(
    runtime: nvshmemrs_runtime_t,
    ivars: *const c_void,
    count: usize,
    status: *const i32,
    cmp: i32,
    values: *const c_void,
    dtype: i32,
    result: *mut i32,
) -> i32 {
    guard::prepared(runtime, move |call| {
        handle::check_out("result", result)?;
        with_type!(dtype, T => {
            let set = chosen::<T>(call.runtime(), ivars, count, status, cmp)?;
            let values = handle::read_array::<T>(call.runtime(), "values", values, count)?;
            call.fetched(move |rt| {
                let ivars = elements::<T>(rt, ivars, count)?;
                let holds = rt.test_all_vector(&ivars, set.status.as_deref(), set.cmp, &values)?;
                handle::write("result", result, i32::from(holds))
            })
        })
    })
}

/// As `nvshmemrs_test_any`, but the element of index i is compared with the one of index i at `values`, of
/// which there are `count`.
///
/// Local; never waits. `cmp` is one of `nvshmemrs_cmp`, `dtype` is one of `nvshmemrs_dtype`: an integer, float or
/// double; `ivars` must be aligned to its size. `status` may be NULL; a number other than 0 in it excludes the
/// element. `values` and `status` are read once, when the call begins. OpenSHMEM 1.5 section 9.10.13
/// (`shmem_test_any_vector`).
/// Errors: NOT_SYMMETRIC, OUT_OF_BOUNDS, INVALID_VALUE.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_test_any_vector(
    runtime: nvshmemrs_runtime_t,
    ivars: *const c_void,
    count: usize,
    status: *const i32,
    cmp: i32,
    values: *const c_void,
    dtype: i32,
    index: *mut usize,
) -> i32 {
    guard::prepared(runtime, move |call| {
        handle::check_out("index", index)?;
        with_type!(dtype, T => {
            let set = chosen::<T>(call.runtime(), ivars, count, status, cmp)?;
            let values = handle::read_array::<T>(call.runtime(), "values", values, count)?;
            call.fetched(move |rt| {
                let ivars = elements::<T>(rt, ivars, count)?;
                let found = rt.test_any_vector(&ivars, set.status.as_deref(), set.cmp, &values)?;
                handle::write("index", index, index_to_c(found))
            })
        })
    })
}

/// As `nvshmemrs_test_some`, but the element of index i is compared with the one of index i at `values`, of
/// which there are `count`.
///
/// Local; never waits. `cmp` is one of `nvshmemrs_cmp`, `dtype` is one of `nvshmemrs_dtype`: an integer, float or
/// double; `ivars` must be aligned to its size. `status` may be NULL; a number other than 0 in it excludes the
/// element. `values` and `status` are read once, when the call begins. `indices` has room for `count` numbers.
/// OpenSHMEM 1.5 section 9.10.14 (`shmem_test_some_vector`).
/// Errors: NOT_SYMMETRIC, OUT_OF_BOUNDS, INVALID_VALUE.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_test_some_vector(
    runtime: nvshmemrs_runtime_t,
    ivars: *const c_void,
    count: usize,
    indices: *mut usize,
    status: *const i32,
    cmp: i32,
    values: *const c_void,
    dtype: i32,
    found: *mut usize,
) -> i32 {
    guard::prepared(runtime, move |call| {
        handle::check_out("found", found)?;
        handle::check_array(call.runtime(), "indices", indices, count)?;
        with_type!(dtype, T => {
            let set = chosen::<T>(call.runtime(), ivars, count, status, cmp)?;
            let values = handle::read_array::<T>(call.runtime(), "values", values, count)?;
            call.fetched(move |rt| {
                let ivars = elements::<T>(rt, ivars, count)?;
                let all = rt.test_some_vector(&ivars, set.status.as_deref(), set.cmp, &values)?;
                some_to_c(indices, found, &all)
            })
        })
    })
}
