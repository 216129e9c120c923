//! Atomic memory operations.
//!
//! They are atomic with respect to all atomic operations of all PEs on the same element. Reading acquires, and writing releases: earlier puts
//! of a PE are visible to a PE that reads the result of its atomic operation.
//!
//! There are no non-blocking forms here. They would borrow the destination of the result only until they return, so they would equal the
//! blocking forms. The C ABI has them, and delivers the result by [`give_until_quiet`](Runtime::give_until_quiet).

use crate::buffer::NbiDest;
use crate::operation::Operation;
use crate::point_to_point::WaitElement;
use crate::symmetric::SymElement;
use crate::transport::{Atomic, Call, Width};
use crate::{Pe, Result, Runtime};
use std::panic::Location;

/// A number that atomic operations can read, write, exchange and add to: 32 or 64 bits.
///
/// ```compile_fail,E0277
/// nvshmemrs::local::run(1, |rt| {
///     let small = rt.array::<u16>(1)?;
///     rt.atomic_add(small.at(0)?, 1, 0)?;
///     rt.finalize()
/// })
/// .unwrap();
/// ```
pub trait AtomicElement: WaitElement {
    /// Whether addition is that of floating-point numbers.
    #[doc(hidden)]
    const FLOATING: bool;
}

/// An integer type of all atomic operations.
///
/// ```
/// nvshmemrs::local::run(1, |rt| {
///     let bits = rt.array::<u32>(1)?;
///     assert_eq!(rt.atomic_fetch_or(bits.at(0)?, 6, 0)?, 0);
///     rt.finalize()
/// })
/// .unwrap();
/// ```
///
/// Floating-point numbers have no bitwise operations:
///
/// ```compile_fail,E0277
/// nvshmemrs::local::run(1, |rt| {
///     let bits = rt.array::<f32>(1)?;
///     assert_eq!(rt.atomic_fetch_or(bits.at(0)?, 6.0, 0)?, 0.0);
///     rt.finalize()
/// })
/// .unwrap();
/// ```
pub trait AtomicInteger: AtomicElement {
    /// The summand of an increment.
    #[doc(hidden)]
    const ONE: Self;
}

macro_rules! integers {
    ($($t:ty),*) => { $(
        impl AtomicElement for $t {
            const FLOATING: bool = false;
        }
        impl AtomicInteger for $t {
            const ONE: $t = 1;
        }
    )* };
}
integers!(i32, u32, i64, u64);

impl AtomicElement for f32 {
    const FLOATING: bool = true;
}

impl AtomicElement for f64 {
    const FLOATING: bool = true;
}

#[inline(always)]
fn addition<T: AtomicElement>(value: T) -> Atomic {
    if T::FLOATING {
        Atomic::AddFloat(value.to_bits())
    } else {
        Atomic::Add(value.to_bits())
    }
}

#[inline(always)]
fn width<T>() -> Width {
    if size_of::<T>() == 4 {
        Width::Bits32
    } else {
        Width::Bits64
    }
}

impl Runtime {
    #[inline(always)]
    #[track_caller]
    fn atomic<T: AtomicElement>(
        &self,
        dest: SymElement<T>,
        operation: Atomic,
        pe: Pe,
        called: Operation,
    ) -> Result<T> {
        self.check_target(dest.range(), pe)?;
        let issued = self.issue(called);
        let old = issued.atomic(pe, dest.offset(), width::<T>(), operation)?;
        if operation != Atomic::Fetch {
            self.ring_for_words(dest.range(), pe);
        }
        Ok(T::from_bits(old))
    }

    /// A non-fetching operation.
    #[inline(always)]
    #[track_caller]
    fn atomic_update<T: AtomicElement>(
        &self,
        dest: SymElement<T>,
        operation: Atomic,
        pe: Pe,
        called: Operation,
    ) -> Result<()> {
        self.check_target(dest.range(), pe)?;
        let issued = self.issue(called);
        issued.atomic_update(pe, dest.offset(), width::<T>(), operation)?;
        self.ring_for_words(dest.range(), pe);
        Ok(())
    }

    /// In a checked job, writes the result of an atomic operation to `dest`, which has room for it, at some time before quiet. In other jobs,
    /// or without memory to keep it, returns `false`: then the caller writes it at once. For the C ABI.
    #[doc(hidden)]
    #[inline(always)]
    #[track_caller]
    pub fn give_until_quiet<T: AtomicElement>(
        &self,
        dest: NbiDest<'_>,
        value: T,
        called: Operation,
    ) -> bool {
        match self.inner.transport.observer() {
            None => false,
            Some(observer) => {
                let mut word = [0; 8];
                word[..size_of::<T>()].copy_from_slice(bytemuck::bytes_of(&value));
                let call = Call {
                    submission: self.submission,
                    context: self.context,
                    called,
                    at: Location::caller(),
                };
                let (dest, _) = dest.into_parts();
                observer.give_until_quiet(&dest, u64::from_ne_bytes(word), call)
            }
        }
    }

    /// Reads `source` on PE `pe`.
    ///
    /// One-sided. OpenSHMEM 1.5 section 9.7.1.
    #[inline(always)]
    #[track_caller]
    pub fn atomic_fetch<T: AtomicElement>(&self, source: SymElement<T>, pe: Pe) -> Result<T> {
        self.atomic(source, Atomic::Fetch, pe, Operation::AtomicFetch)
    }

    /// Stores `value` in `dest` on PE `pe`.
    ///
    /// One-sided; complete on return. OpenSHMEM 1.5 section 9.7.1.
    #[inline(always)]
    #[track_caller]
    pub fn atomic_set<T: AtomicElement>(
        &self,
        dest: SymElement<T>,
        value: T,
        pe: Pe,
    ) -> Result<()> {
        self.atomic_update(dest, Atomic::Set(value.to_bits()), pe, Operation::AtomicSet)
    }

    /// Stores `value` in `dest` on PE `pe` and returns the old value.
    ///
    /// One-sided; complete on return. OpenSHMEM 1.5 section 9.7.1.
    #[inline(always)]
    #[track_caller]
    pub fn atomic_swap<T: AtomicElement>(
        &self,
        dest: SymElement<T>,
        value: T,
        pe: Pe,
    ) -> Result<T> {
        self.atomic(
            dest,
            Atomic::Swap(value.to_bits()),
            pe,
            Operation::AtomicSwap,
        )
    }

    /// Stores `value` in `dest` on PE `pe` if it equals `cond`, and returns the old value.
    ///
    /// One-sided; complete on return. OpenSHMEM 1.5 section 9.7.1.
    #[inline(always)]
    #[track_caller]
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
        self.atomic(dest, operation, pe, Operation::AtomicCompareSwap)
    }

    /// Adds 1 to `dest` on PE `pe`, wrapping around.
    ///
    /// One-sided; complete on return. OpenSHMEM 1.5 section 9.7.1.
    #[inline(always)]
    #[track_caller]
    pub fn atomic_inc<T: AtomicInteger>(&self, dest: SymElement<T>, pe: Pe) -> Result<()> {
        self.atomic_update(dest, addition(T::ONE), pe, Operation::AtomicInc)
    }

    /// Adds 1 to `dest` on PE `pe`, wrapping around, and returns the old value.
    ///
    /// One-sided; complete on return. OpenSHMEM 1.5 section 9.7.1.
    #[inline(always)]
    #[track_caller]
    pub fn atomic_fetch_inc<T: AtomicInteger>(&self, dest: SymElement<T>, pe: Pe) -> Result<T> {
        self.atomic(dest, addition(T::ONE), pe, Operation::AtomicFetchInc)
    }

    /// Adds `value` to `dest` on PE `pe`; integers wrap around.
    ///
    /// One-sided; complete on return. OpenSHMEM 1.5 section 9.7.1.
    #[inline(always)]
    #[track_caller]
    pub fn atomic_add<T: AtomicElement>(
        &self,
        dest: SymElement<T>,
        value: T,
        pe: Pe,
    ) -> Result<()> {
        self.atomic_update(dest, addition(value), pe, Operation::AtomicAdd)
    }

    /// Adds `value` to `dest` on PE `pe` and returns the old value; integers wrap around.
    ///
    /// One-sided; complete on return. OpenSHMEM 1.5 section 9.7.1.
    #[inline(always)]
    #[track_caller]
    pub fn atomic_fetch_add<T: AtomicElement>(
        &self,
        dest: SymElement<T>,
        value: T,
        pe: Pe,
    ) -> Result<T> {
        self.atomic(dest, addition(value), pe, Operation::AtomicFetchAdd)
    }
}

macro_rules! bitwise {
    ($($name:ident = $called:ident, $fetching:ident = $fetched:ident, $operation:ident, $word:literal;)*) => {
        impl Runtime { $(
            #[doc = concat!("Replaces `dest` on PE `pe` by its bitwise ", $word, " with `value`.")]
            ///
            /// One-sided; complete on return. OpenSHMEM 1.5 section 9.7.1.
            #[inline(always)]
            #[track_caller]
            pub fn $name<T: AtomicInteger>(
                &self,
                dest: SymElement<T>,
                value: T,
                pe: Pe,
            ) -> Result<()> {
                let operation = Atomic::$operation(value.to_bits());
                self.atomic_update(dest, operation, pe, Operation::$called)
            }

            #[doc = concat!("Replaces `dest` on PE `pe` by its bitwise ", $word, " with `value` and returns the old value.")]
            ///
            /// One-sided; complete on return. OpenSHMEM 1.5 section 9.7.1.
            #[inline(always)]
            #[track_caller]
            pub fn $fetching<T: AtomicInteger>(
                &self,
                dest: SymElement<T>,
                value: T,
                pe: Pe,
            ) -> Result<T> {
                let operation = Atomic::$operation(value.to_bits());
                self.atomic(dest, operation, pe, Operation::$fetched)
            }
        )* }
    };
}
bitwise! {
    atomic_and = AtomicAnd, atomic_fetch_and = AtomicFetchAnd, And, "and";
    atomic_or = AtomicOr, atomic_fetch_or = AtomicFetchOr, Or, "or";
    atomic_xor = AtomicXor, atomic_fetch_xor = AtomicFetchXor, Xor, "exclusive or";
}
