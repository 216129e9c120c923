//! Accesses through a caller's pointers: outputs, arrays, buffers.

use nvshmem_core::{
    AtomicElement, Element, Error, LocalDest, LocalSource, NbiDest, NbiSource, Operation, Result,
    Runtime, Strides,
};
use std::ffi::c_void;

pub(super) fn null(argument: &'static str) -> Error {
    Error::InvalidValue {
        argument,
        value: "`NULL`".into(),
        expected: "a valid address".into(),
    }
}

/// Checks an output argument before the operation runs.
#[inline(always)]
pub(crate) fn check_out<T>(argument: &'static str, out: *mut T) -> Result<()> {
    if out.is_null() {
        Err(null(argument))
    } else {
        Ok(())
    }
}

/// Writes an output.
#[inline(always)]
pub(crate) fn write<T>(argument: &'static str, out: *mut T, value: T) -> Result<()> {
    check_out(argument, out)?;
    // SAFETY: rule 1: not NULL, so valid for a write. The C caller need not have aligned it.
    unsafe { out.write_unaligned(value) };
    Ok(())
}

/// Writes the result of a non-blocking atomic operation: at once, or at some time before quiet if the job is checked.
#[inline(always)]
pub(crate) fn write_until_quiet<T: AtomicElement>(
    rt: &Runtime,
    argument: &'static str,
    out: *mut T,
    value: T,
    called: Operation,
) -> Result<()> {
    check_out(argument, out)?;
    // SAFETY: rule 1: not NULL, so valid for a write; by the header, the result is valid only after quiet.
    let dest = unsafe { NbiDest::until_quiet(LocalDest::from_raw(out.cast(), size_of::<T>())) };
    match rt.give_until_quiet(dest, value, called) {
        true => Ok(()),
        false => write(argument, out, value),
    }
}

/// Writes an output that may be NULL.
#[inline(always)]
pub(crate) fn write_optional<T>(out: *mut T, value: T) {
    if !out.is_null() {
        // SAFETY: as in `write`.
        unsafe { out.write_unaligned(value) };
    }
}

/// Reads a local value.
#[inline(always)]
pub(crate) fn read<T: Element>(argument: &'static str, ptr: *const c_void) -> Result<T> {
    if ptr.is_null() {
        return Err(null(argument));
    }
    // SAFETY: rule 1: not NULL, so valid for a read; any bits are a T. The C caller need not have aligned it.
    Ok(unsafe { ptr.cast::<T>().read_unaligned() })
}

/// A copy of a local array, which the caller need not have aligned and may change during the call.
pub(crate) fn read_array<T: Element>(
    rt: &Runtime,
    argument: &'static str,
    ptr: *const c_void,
    count: usize,
) -> Result<Vec<T>> {
    check_buffer(rt, argument, ptr, count.saturating_mul(size_of::<T>()))?;
    let ptr = ptr.cast::<T>();
    // SAFETY: rule 1: valid for reads of `count` elements; otherwise as in `read`.
    Ok((0..count)
        .map(|index| unsafe { ptr.add(index).read_unaligned() })
        .collect())
}

/// A copy of a text of the caller's, which has no NUL at its end: of its first 4096 bytes, up to the end of a character.
pub(crate) fn read_text(
    argument: &'static str,
    text: *const c_void,
    bytes: usize,
) -> Result<String> {
    const MOST: usize = 4096;
    check_out(argument, text.cast_mut())?;
    let text = text.cast::<u8>();
    // SAFETY: rule 1: not NULL, so valid for reads of `bytes` bytes; any bits are a byte.
    let copy: Vec<u8> = (0..bytes.min(MOST))
        .map(|index| unsafe { text.add(index).read() })
        .collect();
    let cut = std::str::from_utf8(&copy).err();
    let cut = cut.filter(|error| bytes > MOST && error.error_len().is_none());
    let end = cut.map_or(copy.len(), |error| error.valid_up_to());
    Ok(String::from_utf8_lossy(&copy[..end]).into_owned())
}

/// A copy of a `status` array; NULL excludes nothing.
pub(crate) fn status_array(
    rt: &Runtime,
    status: *const i32,
    count: usize,
) -> Result<Option<Vec<i32>>> {
    if status.is_null() {
        return Ok(None);
    }
    read_array(rt, "status", status.cast(), count).map(Some)
}

/// Checks an output array of `count` numbers before the operation runs.
pub(crate) fn check_array(
    rt: &Runtime,
    argument: &'static str,
    out: *mut usize,
    count: usize,
) -> Result<()> {
    let bytes = count.saturating_mul(size_of::<usize>());
    check_buffer(rt, argument, out.cast(), bytes)
}

/// Writes the first elements of an output array checked by [`check_array`].
pub(crate) fn write_array(out: *mut usize, values: &[usize]) {
    for (index, &value) in values.iter().enumerate() {
        // SAFETY: rule 1: valid for writes of the number of elements checked, which is not exceeded. The C caller need not have
        // aligned it.
        unsafe { out.add(index).write_unaligned(value) };
    }
}

/// Writes a text to the caller's buffer, cut to its size, with a NUL at the end.
pub(crate) fn write_text(
    rt: &Runtime,
    argument: &'static str,
    out: *mut c_void,
    bytes: usize,
    text: &str,
) -> Result<()> {
    check_buffer(rt, argument, out, bytes)?;
    let Some(room) = bytes.checked_sub(1) else {
        return Ok(());
    };
    let part = &text.as_bytes()[..text.len().min(room)];
    let out = out.cast::<u8>();
    // SAFETY: rule 1: valid for writes of `bytes` bytes, which the part and the NUL do not exceed. The buffer is not shared.
    unsafe {
        std::ptr::copy_nonoverlapping(part.as_ptr(), out, part.len());
        out.add(part.len()).write(0);
    }
    Ok(())
}

/// A pointer as a number.
#[inline(always)]
pub(crate) fn addr<T>(ptr: *const T) -> u64 {
    ptr as u64
}

/// A symmetric buffer, which the core checks.
#[inline(always)]
pub(crate) fn symmetric(ptr: *const c_void) -> nvshmem_core::Symmetric {
    nvshmem_core::Symmetric::Address(addr(ptr))
}

/// The buffer of a collective, which the core checks.
#[inline(always)]
pub(crate) fn buffer(ptr: *const c_void) -> nvshmem_core::PrivateAddress {
    // SAFETY: rule 1: by the header, a buffer in private memory is the collective's until it is complete.
    unsafe { nvshmem_core::PrivateAddress::from_raw(addr(ptr)) }
}

/// A checked address as a pointer; NULL for `None`.
pub(crate) fn address(address: Option<u64>) -> *mut c_void {
    address.unwrap_or(0) as *mut c_void
}

/// A local buffer that an operation reads during the call.
#[inline(always)]
pub(crate) fn source<'a>(
    rt: &Runtime,
    ptr: *const c_void,
    bytes: usize,
) -> Result<LocalSource<'a>> {
    check_buffer(rt, "source", ptr, bytes)?;
    // SAFETY: rule 1: valid for reads of `bytes` bytes during the call.
    Ok(unsafe { LocalSource::from_raw(ptr.cast(), bytes) })
}

/// A local buffer that an operation reads until quiet.
#[inline(always)]
pub(crate) fn source_until_quiet<'a>(
    rt: &Runtime,
    ptr: *const c_void,
    bytes: usize,
) -> Result<NbiSource<'a>> {
    let source = source(rt, ptr, bytes)?;
    // SAFETY: rule 1: by the header, the buffer may be reused only after quiet.
    Ok(unsafe { NbiSource::until_quiet(source) })
}

/// A local buffer that an operation writes until quiet.
#[inline(always)]
pub(crate) fn dest_until_quiet<'a>(
    rt: &Runtime,
    ptr: *mut c_void,
    bytes: usize,
) -> Result<NbiDest<'a>> {
    let dest = dest(rt, ptr, bytes)?;
    // SAFETY: rule 1: by the header, the data is valid only after quiet.
    Ok(unsafe { NbiDest::until_quiet(dest) })
}

/// A local buffer that an operation writes during the call.
#[inline(always)]
pub(crate) fn dest<'a>(rt: &Runtime, ptr: *mut c_void, bytes: usize) -> Result<LocalDest<'a>> {
    check_buffer(rt, "dest", ptr, bytes)?;
    // SAFETY: rule 1: valid for writes of `bytes` bytes during the call.
    Ok(unsafe { LocalDest::from_raw(ptr.cast(), bytes) })
}

/// The span of a strided local buffer that an operation reads; `ptr` is its first element, which need not be its lowest.
pub(crate) fn strided_source<'a>(
    rt: &Runtime,
    ptr: *const c_void,
    strides: &Strides,
) -> Result<LocalSource<'a>> {
    let lowest = ptr.wrapping_byte_sub(strides.first() as usize);
    source(
        rt,
        if ptr.is_null() { ptr } else { lowest },
        strides.span() as usize,
    )
}

/// The span of a strided local buffer that an operation writes.
pub(crate) fn strided_dest<'a>(
    rt: &Runtime,
    ptr: *mut c_void,
    strides: &Strides,
) -> Result<LocalDest<'a>> {
    let lowest = ptr.wrapping_byte_sub(strides.first() as usize);
    dest(
        rt,
        if ptr.is_null() { ptr } else { lowest },
        strides.span() as usize,
    )
}

/// The span of a strided symmetric buffer.
pub(crate) fn strided_symmetric(
    rt: &Runtime,
    argument: &'static str,
    ptr: *const c_void,
    strides: &Strides,
) -> Result<nvshmem_core::SymRange> {
    let lowest = addr(ptr).saturating_sub(strides.first());
    rt.symmetric(argument, lowest, strides.span() as usize)
}

/// Accepts NULL for a buffer of 0 bytes.
#[cold]
fn check_null(argument: &'static str, bytes: usize) -> Result<()> {
    match bytes {
        0 => Ok(()),
        _ => Err(null(argument)),
    }
}

/// Checks a buffer argument before the operation runs.
#[inline(always)]
pub(crate) fn check_buffer(
    rt: &Runtime,
    argument: &'static str,
    ptr: *const c_void,
    bytes: usize,
) -> Result<()> {
    if ptr.is_null() {
        return check_null(argument, bytes);
    }
    rt.check_local(argument, addr(ptr), bytes)
}

/// Memory of the caller to be registered.
pub(crate) fn registration(
    buffer: *mut c_void,
    bytes: usize,
    preferred: *mut c_void,
) -> nvshmem_core::Registration {
    // SAFETY: by the header, the caller keeps the memory mapped, and does not access it during the calls.
    unsafe { nvshmem_core::Registration::from_raw(buffer.cast(), bytes, addr(preferred)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_between_characters() {
        let long = format!("{}é and more", "a".repeat(4095));
        for (text, kept) in [
            ("short é", "short é"),
            (&long[..4095], &long[..4095]),
            (&long[..4097], &long[..4095]),
            (&long, &long[..4095]),
            (&long[1..], &long[1..4097]),
        ] {
            let read = read_text("text", text.as_ptr().cast(), text.len());
            assert_eq!(read.expect("a text"), kept);
        }
        // Half of a character, and not cut.
        let read = read_text("text", "é".as_ptr().cast(), 1);
        assert_eq!(read.expect("a text"), "\u{fffd}");
        assert!(read_text("text", std::ptr::null(), 4).is_err());
    }
}
