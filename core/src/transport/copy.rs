//! The one copy primitive.
//!
//! An aligned copy of 1, 2, 4 or 8 bytes is one atomic access, so an element that two PEs use at once is never torn. A
//! longer one is libc's `memmove`; what other PEs see of it before the next synchronisation is unspecified, as the
//! memory model says. The ranges may overlap.

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

/// Copies `bytes` bytes. The flags say which side is symmetric memory, which other PEs may use at the same time; the other
/// side is the caller's alone.
///
/// # Safety
/// `source` must be valid for reads and `dest` for writes of `bytes` bytes. Memory that other PEs write must belong to
/// the symmetric heap, where races are the memory model's business and not Rust's: no reference to it exists.
#[inline(always)]
pub(crate) unsafe fn copy<const DEST_SHARED: bool, const SOURCE_SHARED: bool>(
    dest: *mut u8,
    source: *const u8,
    bytes: usize,
) {
    macro_rules! word {
        ($atomic:ty, $plain:ty) => {
            if (dest as usize | source as usize) & (size_of::<$plain>() - 1) == 0 {
                // SAFETY: both are valid for the size (caller) and aligned to it (just checked); only
                // symmetric memory is taken for an atomic.
                unsafe {
                    let value = if SOURCE_SHARED {
                        (*source.cast::<$atomic>()).load(Relaxed)
                    } else {
                        source.cast::<$plain>().read()
                    };
                    if DEST_SHARED {
                        (*dest.cast::<$atomic>()).store(value, Relaxed);
                    } else {
                        dest.cast::<$plain>().write(value);
                    }
                }
                return;
            }
        };
    }
    // One comparison after the other: a jump table costs more than the four together.
    if bytes == 8 {
        word!(AtomicU64, u64);
    } else if bytes == 4 {
        word!(AtomicU32, u32);
    } else if bytes == 2 {
        word!(AtomicU16, u16);
    } else if bytes == 1 {
        word!(AtomicU8, u8);
    }
    // SAFETY: both are valid for `bytes` (caller); memmove allows overlap.
    unsafe { std::ptr::copy(source, dest, bytes) }
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
