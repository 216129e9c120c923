//! Point-to-point synchronisation: waiting for, and testing, elements of this PE's own copy that other PEs write.
//!
//! The forms for several elements take a `status` array: a number other than 0 excludes the element of the same index. The `_vector`
//! forms compare every element with a value of its own. Earlier puts of the PE that wrote a matching value are visible afterwards.

mod search_start;
mod set;

use crate::buffer::SymRange;
use crate::dtype::Element;
use crate::error::check_pe;
use crate::job::published::{Target, Wait};
use crate::op::Cmp;
use crate::operation::Operation;
use crate::runtime::Inner;
use crate::symmetric::{SymElement, SymSlice};
use crate::transport::{Expected, Internal, MatchMode, Observer, Route, Search, Watch};
use crate::{Pe, Result, Runtime};
use std::panic::Location;

/// A number that waits and tests can compare.
pub trait WaitElement: Element + PartialOrd {
    /// Its bits, zero-extended.
    #[doc(hidden)]
    fn to_bits(self) -> u64;
    /// The number with these low bits.
    #[doc(hidden)]
    fn from_bits(bits: u64) -> Self;
}

macro_rules! integers {
    ($($t:ty as $unsigned:ty),*) => { $(
        impl WaitElement for $t {
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
integers!(
    i8 as u8, i16 as u16, i32 as u32, i64 as u64, u8 as u8, u16 as u16, u32 as u32, u64 as u64
);

impl WaitElement for f32 {
    #[inline(always)]
    fn to_bits(self) -> u64 {
        u64::from(f32::to_bits(self))
    }
    #[inline(always)]
    fn from_bits(bits: u64) -> f32 {
        f32::from_bits(bits as u32)
    }
}

impl WaitElement for f64 {
    #[inline(always)]
    fn to_bits(self) -> u64 {
        f64::to_bits(self)
    }
    #[inline(always)]
    fn from_bits(bits: u64) -> f64 {
        f64::from_bits(bits)
    }
}

impl Inner {
    /// As [`wait`](Inner::wait), for one word of this PE; returns the matching value. `ready` loads the word through the transport that it
    /// gets.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn wait_word(
        &self,
        wait: Wait,
        ready: impl FnMut(Internal<'_>) -> std::result::Result<u64, u64>,
    ) -> Result<u64> {
        match &self.transport {
            Route::Host(_) | Route::Hosts(_) => self.wait_unwatched(wait, ready),
            Route::Other(_) => self.wait_watched(wait, ready),
        }
    }

    #[inline(always)]
    fn wait_unwatched(
        &self,
        wait: Wait,
        mut ready: impl FnMut(Internal<'_>) -> std::result::Result<u64, u64>,
    ) -> Result<u64> {
        let transport = self.transport.internal();
        let value = self.wait(wait, || ready(transport))?;
        transport.failure().map(|()| value)
    }

    /// Reports a wait for one word to the trace and the checker.
    #[cold]
    #[inline(never)]
    #[track_caller]
    fn wait_watched(
        &self,
        wait: Wait,
        mut ready: impl FnMut(Internal<'_>) -> std::result::Result<u64, u64>,
    ) -> Result<u64> {
        if let Some(observer) = self.transport.observer() {
            let span = self.span_of_wait(&wait);
            let result = self.wait_checked(observer, wait, ready);
            if let (Some(span), Ok(value)) = (span, &result) {
                span.saw(*value);
            }
            return result;
        }
        let transport = self.transport.internal();
        if let Ok(value) = ready(transport) {
            if let Some(span) = self.span_of_wait(&wait) {
                span.had_seen(value);
            }
            return transport.failure().map(|()| value);
        }
        let span = self.span_of_wait(&wait);
        let value = self.wait(wait, || ready(transport))?;
        if let Some(span) = span {
            span.saw(value);
        }
        transport.failure().map(|()| value)
    }

    #[track_caller]
    fn wait_checked(
        &self,
        observer: &dyn Observer,
        wait: Wait,
        mut ready: impl FnMut(Internal<'_>) -> std::result::Result<u64, u64>,
    ) -> Result<u64> {
        let transport = self.transport.internal();
        let ready = || ready(transport);
        let Target::Word {
            offset,
            dtype,
            cmp,
            expected,
            ..
        } = wait.target
        else {
            return self.wait(wait, ready);
        };
        let watch = Watch {
            offset,
            dtype,
            cmp,
            expected,
            site: observer.site(wait.operation, Location::caller()),
        };
        observer.look(SymRange::new(offset, dtype.size() as u64));
        observer.watch(&watch);
        let result = self.wait(wait, ready);
        if let Ok(value) = result {
            let element = SymRange::new(offset, dtype.size() as u64);
            observer.acquired(element, value, watch.site);
        }
        observer.unwatch(&watch, result.is_ok());
        result
    }
}

/// A search for one element.
pub(crate) fn search_one<T: WaitElement>(
    ivar: SymElement<T>,
    cmp: Cmp,
    value: T,
    called: Operation,
    waits: bool,
    answers: bool,
) -> Search<'static> {
    Search {
        offset: ivar.offset(),
        count: 1,
        dtype: T::DTYPE,
        cmp,
        expected: Expected::Same(value.to_bits()),
        status: None,
        mode: MatchMode::One,
        called,
        waits,
        answers,
    }
}

impl Runtime {
    /// Waits until this PE's copy of `ivar` compares to `value`.
    ///
    /// Local: only the caller waits. OpenSHMEM 1.5 section 9.10.1.
    #[inline(always)]
    #[track_caller]
    pub fn wait_until<T: WaitElement>(
        &self,
        ivar: SymElement<T>,
        cmp: Cmp,
        value: T,
    ) -> Result<()> {
        self.inner.ready()?;
        self.wait_for_writer(Operation::WaitUntil, ivar, cmp, value, None)
    }

    /// Waits until this PE's copy of `ivar` is no longer negative: an element of a lock that PE `pe`, ahead in the lock's queue,
    /// writes. The board, and errors, name the PE, and the holder of the lock. If `pe` is the caller, the writer counts as unknown: it is
    /// another thread of the caller, or a PE whose number the caller does not have.
    ///
    /// Local: only the caller waits. For locks of programs and of libraries; OpenSHMEM's are made with it.
    #[track_caller]
    pub fn lock_wait(&self, ivar: SymElement<i32>, pe: Pe) -> Result<()> {
        self.inner.ready()?;
        check_pe("pe", pe, self.n_pes())?;
        let ahead = (pe != self.my_pe()).then_some(pe);
        self.wait_for_writer(Operation::LockWait, ivar, Cmp::Ge, 0, ahead)
    }

    #[inline(always)]
    #[track_caller]
    fn wait_for_writer<T: WaitElement>(
        &self,
        operation: Operation,
        ivar: SymElement<T>,
        cmp: Cmp,
        value: T,
        ahead: Option<Pe>,
    ) -> Result<()> {
        self.inner.within(ivar.range())?;
        let search = || search_one(ivar, cmp, value, operation, true, false);
        if let Some(found) = self.inner.transport.search(self.submission, search) {
            return found.map(drop);
        }
        let offset = ivar.offset();
        let wait = Wait {
            operation,
            target: Target::Word {
                offset,
                dtype: T::DTYPE,
                count: 1,
                cmp,
                expected: value.to_bits(),
                ahead,
            },
        };
        let seen = self.inner.wait_word(wait, |transport| {
            let seen = transport.load(operation, offset, size_of::<T>());
            if cmp.holds(T::from_bits(seen), value) {
                Ok(seen)
            } else {
                Err(seen)
            }
        });
        seen.map(drop)
    }

    /// Whether this PE's copy of `ivar` compares to `value`.
    ///
    /// Local; never waits. OpenSHMEM 1.5 section 9.10.8.
    #[inline(always)]
    #[track_caller]
    pub fn test<T: WaitElement>(&self, ivar: SymElement<T>, cmp: Cmp, value: T) -> Result<bool> {
        self.inner.ready()?;
        self.inner.within(ivar.range())?;
        let search = || search_one(ivar, cmp, value, Operation::Test, false, true);
        if let Some(found) = self.inner.transport.search(self.submission, search) {
            return found.map(|found| found.held);
        }
        let transport = &self.inner.transport;
        transport.look(ivar.range());
        let seen = transport
            .internal()
            .load(Operation::Test, ivar.offset(), size_of::<T>());
        transport.internal().failure()?;
        let holds = cmp.holds(T::from_bits(seen), value);
        if holds {
            transport.acquired(ivar.range(), seen, Operation::Test);
        }
        Ok(holds)
    }
}

/// The waits and tests for several elements: the comparison values, the result, and the operation of each.
macro_rules! for_several {
    ($($(#[$about:meta])* $name:ident($value:ident: $kind:ty) -> $result:ty = $compared:ident.$end:ident, $operation:ident;)*) => {
        impl Runtime {
            $($(#[$about])*
            #[track_caller]
            pub fn $name<T: WaitElement>(
                &self,
                ivars: &SymSlice<'_, T>,
                status: Option<&[i32]>,
                cmp: Cmp,
                $value: $kind,
            ) -> Result<$result> {
                self.$compared(Operation::$operation, ivars, status, cmp, $value)?
                    .$end()
            })*
        }
    };
}

for_several! {
    /// Waits until each of `ivars` that `status` does not exclude has compared to `value` since the call began.
    ///
    /// Local: only the caller waits. OpenSHMEM 1.5 section 9.10.2.
    wait_until_all(value: T) -> () = compared.wait_all, WaitUntilAll;

    /// Waits until one of `ivars` that `status` does not exclude compares to `value`, and returns its index; `None`, at once, if all
    /// are excluded. If several compare, calls with the same arguments rotate among them, and return each eventually.
    ///
    /// Local: only the caller waits. OpenSHMEM 1.5 section 9.10.3.
    wait_until_any(value: T) -> Option<usize> = compared.wait_any, WaitUntilAny;

    /// Waits until at least one of `ivars` that `status` does not exclude compares to `value`, and returns the indices of all that do,
    /// in order; none, at once, if all are excluded.
    ///
    /// Local: only the caller waits. OpenSHMEM 1.5 section 9.10.4.
    wait_until_some(value: T) -> Vec<usize> = compared.wait_some, WaitUntilSome;

    /// As [`wait_until_all`](Runtime::wait_until_all), where element i is compared with `values[i]`.
    ///
    /// Local: only the caller waits. OpenSHMEM 1.5 section 9.10.5.
    wait_until_all_vector(values: &[T]) -> () = compared_each.wait_all, WaitUntilAllVector;

    /// As [`wait_until_any`](Runtime::wait_until_any), where element i is compared with `values[i]`.
    ///
    /// Local: only the caller waits. OpenSHMEM 1.5 section 9.10.6.
    wait_until_any_vector(values: &[T]) -> Option<usize> = compared_each.wait_any, WaitUntilAnyVector;

    /// As [`wait_until_some`](Runtime::wait_until_some), where element i is compared with `values[i]`.
    ///
    /// Local: only the caller waits. OpenSHMEM 1.5 section 9.10.7.
    wait_until_some_vector(values: &[T]) -> Vec<usize> = compared_each.wait_some, WaitUntilSomeVector;

    /// Whether all of `ivars` that `status` does not exclude compare to `value`; `true` if all are excluded.
    ///
    /// Local; never waits. OpenSHMEM 1.5 section 9.10.9.
    test_all(value: T) -> bool = compared.test_all, TestAll;

    /// The index of one of `ivars` that `status` does not exclude and that compares to `value`, if there is one. If there are several,
    /// calls with the same arguments rotate among them, and return each eventually.
    ///
    /// Local; never waits. OpenSHMEM 1.5 section 9.10.10.
    test_any(value: T) -> Option<usize> = compared.test_any, TestAny;

    /// The indices, in order, of all `ivars` that `status` does not exclude and that compare to `value`.
    ///
    /// Local; never waits. OpenSHMEM 1.5 section 9.10.11.
    test_some(value: T) -> Vec<usize> = compared.test_some, TestSome;

    /// As [`test_all`](Runtime::test_all), where element i is compared with `values[i]`.
    ///
    /// Local; never waits. OpenSHMEM 1.5 section 9.10.12.
    test_all_vector(values: &[T]) -> bool = compared_each.test_all, TestAllVector;

    /// As [`test_any`](Runtime::test_any), where element i is compared with `values[i]`.
    ///
    /// Local; never waits. OpenSHMEM 1.5 section 9.10.13.
    test_any_vector(values: &[T]) -> Option<usize> = compared_each.test_any, TestAnyVector;

    /// As [`test_some`](Runtime::test_some), where element i is compared with `values[i]`.
    ///
    /// Local; never waits. OpenSHMEM 1.5 section 9.10.14.
    test_some_vector(values: &[T]) -> Vec<usize> = compared_each.test_some, TestSomeVector;
}

#[cfg(test)]
mod tests {
    use crate::{Cmp, local};
    use std::sync::atomic::Ordering::Relaxed;
    use std::time::{Duration, Instant};

    /// A store to any of the elements rings the doorbell of a PE that sleeps until one of them holds, one beside them does not.
    #[test]
    fn every_element_of_a_wait_rings_the_doorbell() {
        local::run(2, |rt| {
            let array = rt.array::<i32>(12)?;
            if rt.my_pe() == 1 {
                assert_eq!(
                    rt.wait_until_any(&array.slice(2..10)?, None, Cmp::Gt, 100)?,
                    Some(7)
                );
                return rt.finalize();
            }
            let control = &rt.inner.control;
            let bell = &control.pe(1).bell;
            let start = Instant::now();
            let rung = |index: usize, tries: u32| -> crate::Result<bool> {
                for _ in 0..tries {
                    let before = bell.rings.load(Relaxed);
                    // Its sleeps are nearly all of the time.
                    rt.p(array.at(index)?, 1, 1)?;
                    if bell.rings.load(Relaxed) != before {
                        return Ok(true);
                    }
                    assert!(start.elapsed() < Duration::from_secs(60), "no ring");
                    std::thread::sleep(Duration::from_micros(200));
                }
                Ok(false)
            };
            for index in 2..10 {
                assert!(rung(index, u32::MAX)?);
            }
            for index in [0, 1, 10, 11] {
                assert!(!rung(index, 50)?, "element {index} rang");
            }
            rt.p(array.at(9)?, 101, 1)?;
            rt.finalize()
        })
        .unwrap();
    }
}
