//! Point-to-point synchronisation: waiting for, and testing, elements of this PE's own copy that other PEs write.
//!
//! The forms for several elements take a `status` array: a number other than 0 excludes the element of the same index. The
//! `_vector` forms compare every element with a value of its own. What a PE put before the value that holds is visible
//! afterwards.

use crate::dtype::Element;
use crate::heap::sym::{SymElement, SymSlice};
use crate::op::Cmp;
use crate::transport::Transport as _;
use crate::wait::{Operation, Seen, Target, Wait};
use crate::{Error, Result, Runtime};

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

/// What the elements are compared with.
#[derive(Clone, Copy)]
enum Values<'a, T> {
    Same(T),
    Each(&'a [T]),
}

/// The elements of one call, and when they hold.
struct Set<'a, T> {
    rt: &'a Runtime,
    offset: u64,
    len: usize,
    status: Option<&'a [i32]>,
    cmp: Cmp,
    values: Values<'a, T>,
}

#[cold]
fn wrong_length(argument: &'static str, len: usize, ivars: usize) -> Error {
    Error::invalid(
        argument,
        format!("a slice of {len} elements"),
        format!("as many as `ivars` has: {ivars}"),
    )
}

impl<'a, T: WaitElement> Set<'a, T> {
    fn new(
        rt: &'a Runtime,
        ivars: &SymSlice<'_, T>,
        status: Option<&'a [i32]>,
        cmp: Cmp,
        values: Values<'a, T>,
    ) -> Result<Set<'a, T>> {
        rt.inner.ready()?;
        rt.inner.within(ivars.range())?;
        let len = ivars.len();
        if let Some(status) = status
            && status.len() != len
        {
            return Err(wrong_length("status", status.len(), len));
        }
        if let Values::Each(values) = values
            && values.len() != len
        {
            return Err(wrong_length("values", values.len(), len));
        }
        Ok(Set {
            rt,
            offset: ivars.range().offset(),
            len,
            status,
            cmp,
            values,
        })
    }

    fn excluded(&self, index: usize) -> bool {
        self.status.is_some_and(|status| status[index] != 0)
    }

    fn value(&self, index: usize) -> T {
        match self.values {
            Values::Same(value) => value,
            Values::Each(values) => values[index],
        }
    }

    fn check(&self, index: usize) -> std::result::Result<(), Seen> {
        let size = size_of::<T>();
        let place = self.offset + (index * size) as u64;
        let actual = self.rt.inner.transport.load(place, size);
        let value = self.value(index);
        if self.cmp.holds(T::from_bits(actual), value) {
            Ok(())
        } else {
            Err(Seen {
                actual,
                element: Some((index as u64, value.to_bits())),
            })
        }
    }

    /// `Ok` once every element from `next` on has held; `next` moves past those that have.
    fn all(&self, next: &mut usize) -> std::result::Result<(), Seen> {
        while *next < self.len {
            if !self.excluded(*next) {
                self.check(*next)?;
            }
            *next += 1;
        }
        Ok(())
    }

    /// The lowest index that holds; `None` if there is no element to look at.
    fn any(&self) -> std::result::Result<Option<usize>, Seen> {
        let mut first = None;
        for index in (0..self.len).filter(|&index| !self.excluded(index)) {
            match self.check(index) {
                Ok(()) => return Ok(Some(index)),
                Err(seen) => first = first.or(Some(seen)),
            }
        }
        first.map_or(Ok(None), Err)
    }

    /// `first`, which held, and all after it that hold now.
    fn some(&self, first: Option<usize>) -> Vec<usize> {
        let Some(first) = first else {
            return Vec::new();
        };
        let mut found = vec![first];
        found.extend(
            (first + 1..self.len)
                .filter(|&index| !self.excluded(index) && self.check(index).is_ok()),
        );
        found
    }

    fn wait<R>(
        &self,
        operation: Operation,
        ready: impl FnMut() -> std::result::Result<R, Seen>,
    ) -> Result<R> {
        let wait = Wait {
            operation,
            target: Target::Word {
                offset: self.offset,
                dtype: T::DTYPE,
                count: self.len as u64,
                cmp: self.cmp,
                expected: 0,
            },
        };
        self.rt.inner.wait(wait, ready)
    }

    fn wait_all(&self) -> Result<()> {
        let mut next = 0;
        self.wait(Operation::WaitUntilAll, || self.all(&mut next))
    }

    fn wait_any(&self) -> Result<Option<usize>> {
        self.wait(Operation::WaitUntilAny, || self.any())
    }

    fn wait_some(&self) -> Result<Vec<usize>> {
        let first = self.wait(Operation::WaitUntilSome, || self.any())?;
        Ok(self.some(first))
    }
}

impl Runtime {
    /// Waits until this PE's copy of `ivar` compares to `value`.
    ///
    /// Local: only the caller waits. OpenSHMEM 1.5 section 9.10.1.
    #[inline(always)]
    pub fn wait_until<T: WaitElement>(
        &self,
        ivar: SymElement<T>,
        cmp: Cmp,
        value: T,
    ) -> Result<()> {
        self.inner.ready()?;
        self.inner.within(ivar.range())?;
        let offset = ivar.offset();
        let wait = Wait {
            operation: Operation::WaitUntil,
            target: Target::Word {
                offset,
                dtype: T::DTYPE,
                count: 1,
                cmp,
                expected: value.to_bits(),
            },
        };
        self.inner.wait(wait, || {
            let seen = self.inner.transport.load(offset, size_of::<T>());
            if cmp.holds(T::from_bits(seen), value) {
                Ok(())
            } else {
                Err(seen)
            }
        })
    }

    /// Waits until each of `ivars` that `status` does not exclude has compared to `value` since the call began.
    ///
    /// Local: only the caller waits. OpenSHMEM 1.5 section 9.10.2.
    pub fn wait_until_all<T: WaitElement>(
        &self,
        ivars: &SymSlice<'_, T>,
        status: Option<&[i32]>,
        cmp: Cmp,
        value: T,
    ) -> Result<()> {
        Set::new(self, ivars, status, cmp, Values::Same(value))?.wait_all()
    }

    /// Waits until one of `ivars` that `status` does not exclude compares to `value`, and returns the lowest index that does;
    /// `None`, at once, if there is none to wait for.
    ///
    /// Local: only the caller waits. OpenSHMEM 1.5 section 9.10.3.
    pub fn wait_until_any<T: WaitElement>(
        &self,
        ivars: &SymSlice<'_, T>,
        status: Option<&[i32]>,
        cmp: Cmp,
        value: T,
    ) -> Result<Option<usize>> {
        Set::new(self, ivars, status, cmp, Values::Same(value))?.wait_any()
    }

    /// Waits until at least one of `ivars` that `status` does not exclude compares to `value`, and returns the indices of
    /// all that do, in order; none, at once, if there is none to wait for.
    ///
    /// Local: only the caller waits. OpenSHMEM 1.5 section 9.10.4.
    pub fn wait_until_some<T: WaitElement>(
        &self,
        ivars: &SymSlice<'_, T>,
        status: Option<&[i32]>,
        cmp: Cmp,
        value: T,
    ) -> Result<Vec<usize>> {
        Set::new(self, ivars, status, cmp, Values::Same(value))?.wait_some()
    }

    /// As [`wait_until_all`](Runtime::wait_until_all), where element i is compared with `values[i]`.
    ///
    /// Local: only the caller waits. OpenSHMEM 1.5 section 9.10.5.
    pub fn wait_until_all_vector<T: WaitElement>(
        &self,
        ivars: &SymSlice<'_, T>,
        status: Option<&[i32]>,
        cmp: Cmp,
        values: &[T],
    ) -> Result<()> {
        Set::new(self, ivars, status, cmp, Values::Each(values))?.wait_all()
    }

    /// As [`wait_until_any`](Runtime::wait_until_any), where element i is compared with `values[i]`.
    ///
    /// Local: only the caller waits. OpenSHMEM 1.5 section 9.10.6.
    pub fn wait_until_any_vector<T: WaitElement>(
        &self,
        ivars: &SymSlice<'_, T>,
        status: Option<&[i32]>,
        cmp: Cmp,
        values: &[T],
    ) -> Result<Option<usize>> {
        Set::new(self, ivars, status, cmp, Values::Each(values))?.wait_any()
    }

    /// As [`wait_until_some`](Runtime::wait_until_some), where element i is compared with `values[i]`.
    ///
    /// Local: only the caller waits. OpenSHMEM 1.5 section 9.10.7.
    pub fn wait_until_some_vector<T: WaitElement>(
        &self,
        ivars: &SymSlice<'_, T>,
        status: Option<&[i32]>,
        cmp: Cmp,
        values: &[T],
    ) -> Result<Vec<usize>> {
        Set::new(self, ivars, status, cmp, Values::Each(values))?.wait_some()
    }

    /// Whether this PE's copy of `ivar` compares to `value`.
    ///
    /// Local; never waits. OpenSHMEM 1.5 section 9.10.8.
    #[inline(always)]
    pub fn test<T: WaitElement>(&self, ivar: SymElement<T>, cmp: Cmp, value: T) -> Result<bool> {
        self.inner.ready()?;
        self.inner.within(ivar.range())?;
        let seen = self.inner.transport.load(ivar.offset(), size_of::<T>());
        Ok(cmp.holds(T::from_bits(seen), value))
    }

    /// Whether all of `ivars` that `status` does not exclude compare to `value`; `true` if there is none to look at.
    ///
    /// Local; never waits. OpenSHMEM 1.5 section 9.10.9.
    pub fn test_all<T: WaitElement>(
        &self,
        ivars: &SymSlice<'_, T>,
        status: Option<&[i32]>,
        cmp: Cmp,
        value: T,
    ) -> Result<bool> {
        let set = Set::new(self, ivars, status, cmp, Values::Same(value))?;
        Ok(set.all(&mut 0).is_ok())
    }

    /// The lowest index of `ivars` that `status` does not exclude and that compares to `value`, if there is one.
    ///
    /// Local; never waits. OpenSHMEM 1.5 section 9.10.10.
    pub fn test_any<T: WaitElement>(
        &self,
        ivars: &SymSlice<'_, T>,
        status: Option<&[i32]>,
        cmp: Cmp,
        value: T,
    ) -> Result<Option<usize>> {
        let set = Set::new(self, ivars, status, cmp, Values::Same(value))?;
        Ok(set.any().unwrap_or(None))
    }

    /// The indices, in order, of all `ivars` that `status` does not exclude and that compare to `value`.
    ///
    /// Local; never waits. OpenSHMEM 1.5 section 9.10.11.
    pub fn test_some<T: WaitElement>(
        &self,
        ivars: &SymSlice<'_, T>,
        status: Option<&[i32]>,
        cmp: Cmp,
        value: T,
    ) -> Result<Vec<usize>> {
        let set = Set::new(self, ivars, status, cmp, Values::Same(value))?;
        Ok(set.some(set.any().unwrap_or(None)))
    }

    /// As [`test_all`](Runtime::test_all), where element i is compared with `values[i]`.
    ///
    /// Local; never waits. OpenSHMEM 1.5 section 9.10.12.
    pub fn test_all_vector<T: WaitElement>(
        &self,
        ivars: &SymSlice<'_, T>,
        status: Option<&[i32]>,
        cmp: Cmp,
        values: &[T],
    ) -> Result<bool> {
        let set = Set::new(self, ivars, status, cmp, Values::Each(values))?;
        Ok(set.all(&mut 0).is_ok())
    }

    /// As [`test_any`](Runtime::test_any), where element i is compared with `values[i]`.
    ///
    /// Local; never waits. OpenSHMEM 1.5 section 9.10.13.
    pub fn test_any_vector<T: WaitElement>(
        &self,
        ivars: &SymSlice<'_, T>,
        status: Option<&[i32]>,
        cmp: Cmp,
        values: &[T],
    ) -> Result<Option<usize>> {
        let set = Set::new(self, ivars, status, cmp, Values::Each(values))?;
        Ok(set.any().unwrap_or(None))
    }

    /// As [`test_some`](Runtime::test_some), where element i is compared with `values[i]`.
    ///
    /// Local; never waits. OpenSHMEM 1.5 section 9.10.14.
    pub fn test_some_vector<T: WaitElement>(
        &self,
        ivars: &SymSlice<'_, T>,
        status: Option<&[i32]>,
        cmp: Cmp,
        values: &[T],
    ) -> Result<Vec<usize>> {
        let set = Set::new(self, ivars, status, cmp, Values::Each(values))?;
        Ok(set.some(set.any().unwrap_or(None)))
    }
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
