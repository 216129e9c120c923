//! Atomic memory operations.

use crate::dtype::Element;
use crate::heap::sym::SymElement;
use crate::transport::{Atomic, Transport as _, Width};
use crate::{Pe, Result, Runtime};

/// An integer that atomic operations work on.
pub trait AtomicInteger: Element {
    /// Its bits, zero-extended.
    #[doc(hidden)]
    fn to_bits(self) -> u64;
    /// The integer with these low bits.
    #[doc(hidden)]
    fn from_bits(bits: u64) -> Self;
}

macro_rules! integers {
    ($($t:ty as $unsigned:ty),*) => { $(
        impl AtomicInteger for $t {
            #[inline(always)]
            fn to_bits(self) -> u64 {
                u64::from(self as $unsigned)
            }
            #[inline(always)]
            fn from_bits(bits: u64) -> $t {
                bits as $t
            }
        }
    )* };
}
integers!(i32 as u32, u32 as u32, i64 as u64, u64 as u64);

impl Runtime {
    #[inline(always)]
    fn atomic<T: AtomicInteger>(
        &self,
        dest: SymElement<T>,
        operation: Atomic,
        pe: Pe,
    ) -> Result<T> {
        self.check_target(dest.range(), pe)?;
        let width = if size_of::<T>() == 4 {
            Width::Bits32
        } else {
            Width::Bits64
        };
        let old = T::from_bits(
            self.inner
                .transport
                .atomic(pe, dest.offset(), width, operation),
        );
        self.ring_for_word(dest.range(), pe);
        Ok(old)
    }

    /// Adds `value` to `dest` on PE `pe`, wrapping around, and returns the old value.
    ///
    /// One-sided; complete on return. OpenSHMEM 1.5 section 9.7.1.
    #[inline(always)]
    pub fn atomic_fetch_add<T: AtomicInteger>(
        &self,
        dest: SymElement<T>,
        value: T,
        pe: Pe,
    ) -> Result<T> {
        self.atomic(dest, Atomic::FetchAdd(value.to_bits()), pe)
    }

    /// Stores `value` in `dest` on PE `pe` if it equals `cond`, and returns the old value.
    ///
    /// One-sided; complete on return. OpenSHMEM 1.5 section 9.7.1.
    #[inline(always)]
    pub fn atomic_compare_swap<T: AtomicInteger>(
        &self,
        dest: SymElement<T>,
        cond: T,
        value: T,
        pe: Pe,
    ) -> Result<T> {
        let operation = Atomic::CompareSwap {
            cond: cond.to_bits(),
            value: value.to_bits(),
        };
        self.atomic(dest, operation, pe)
    }
}
