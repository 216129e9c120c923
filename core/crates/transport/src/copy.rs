//! The one copy primitive.
//!
//! An aligned copy of 1, 2, 4 or 8 bytes is one atomic access, so an element that two PEs use at once is never torn. A longer copy is
//! libc's `memmove`; other PEs may see parts of it before the next synchronisation, in any order. The ranges may overlap.

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

/// Copies `bytes` bytes. The flags say which side is symmetric memory, which other PEs may use at the same time; the other
/// side is the caller's alone.
///
/// # Safety
/// `source` must be valid for reads and `dest` for writes of `bytes` bytes. Memory that other PEs write must belong to the
/// symmetric heap, where the memory model and not Rust governs races: no reference to it exists.
#[inline(always)]
pub unsafe fn copy<const DEST_SHARED: bool, const SOURCE_SHARED: bool>(
    dest: *mut u8,
    source: *const u8,
    bytes: usize,
) {
    if bytes == 8 && (dest as usize | source as usize) & 7 == 0 {
        // SAFETY: as for this function; aligned (just checked).
        unsafe { word::<AtomicU64, DEST_SHARED, SOURCE_SHARED>(dest.cast(), source.cast()) }
    } else {
        // SAFETY: as for this function.
        unsafe { copy_other::<DEST_SHARED, SOURCE_SHARED>(dest, source, bytes) }
    }
}

/// As [`copy`]. Out of line, so that the commonest size costs one comparison and not a jump table.
///
/// # Safety
/// As [`copy`].
#[inline(never)]
unsafe fn copy_other<const DEST_SHARED: bool, const SOURCE_SHARED: bool>(
    dest: *mut u8,
    source: *const u8,
    bytes: usize,
) {
    let aligned = |size: usize| (dest as usize | source as usize) & (size - 1) == 0;
    // SAFETY: both are valid for the size (caller) and aligned to it (just checked), or memmove takes them as they are.
    unsafe {
        match bytes {
            4 if aligned(4) => {
                word::<AtomicU32, DEST_SHARED, SOURCE_SHARED>(dest.cast(), source.cast());
            }
            2 if aligned(2) => {
                word::<AtomicU16, DEST_SHARED, SOURCE_SHARED>(dest.cast(), source.cast());
            }
            1 => word::<AtomicU8, DEST_SHARED, SOURCE_SHARED>(dest.cast(), source.cast()),
            _ => std::ptr::copy(source, dest, bytes),
        }
    }
}

/// An atomic integer and the plain one of its size.
trait Word {
    type Plain: Copy;
    fn load(&self) -> Self::Plain;
    fn store(&self, value: Self::Plain);
}

macro_rules! words {
    ($($atomic:ty => $plain:ty),*) => { $(
        impl Word for $atomic {
            type Plain = $plain;
            #[inline(always)]
            fn load(&self) -> $plain {
                <$atomic>::load(self, Relaxed)
            }
            #[inline(always)]
            fn store(&self, value: $plain) {
                <$atomic>::store(self, value, Relaxed);
            }
        }
    )* };
}
words!(AtomicU8 => u8, AtomicU16 => u16, AtomicU32 => u32, AtomicU64 => u64);

/// Copies one word in one access.
///
/// # Safety
/// As [`copy`], and both are aligned to the word.
#[inline(always)]
unsafe fn word<W: Word, const DEST_SHARED: bool, const SOURCE_SHARED: bool>(
    dest: *mut W,
    source: *const W,
) {
    // SAFETY: both are valid and aligned (caller); only symmetric memory is taken for an atomic.
    unsafe {
        let value = if SOURCE_SHARED {
            (*source).load()
        } else {
            source.cast::<W::Plain>().read()
        };
        if DEST_SHARED {
            (*dest).store(value);
        } else {
            dest.cast::<W::Plain>().write(value);
        }
    }
}

#[cfg(test)]
mod tests {
    fn every_length_and_alignment<const DEST: bool, const SOURCE: bool>() {
        let mut source: Vec<u8> = (0..64).collect();
        for len in 0..20 {
            for from in 0..9 {
                for to in 0..9 {
                    let mut dest = vec![0xaa_u8; 64];
                    // SAFETY: both vectors have 64 bytes, no access goes past 28, and both are borrowed mutably.
                    unsafe {
                        let source = source.as_mut_ptr().add(from);
                        super::copy::<DEST, SOURCE>(dest.as_mut_ptr().add(to), source, len);
                    }
                    assert_eq!(dest[to..to + len], source[from..from + len]);
                    let beside = dest[..to].iter().chain(&dest[to + len..]);
                    assert!(beside.copied().all(|byte| byte == 0xaa));
                }
            }
        }
    }

    #[test]
    fn copies_what_it_is_told_and_nothing_beside() {
        every_length_and_alignment::<false, false>();
        every_length_and_alignment::<true, false>();
        every_length_and_alignment::<false, true>();
        every_length_and_alignment::<true, true>();
    }
}
