//! Waits and tests for several elements.

use super::WaitElement;
use super::search_start::{self, Key};
use crate::buffer::SymRange;
use crate::job::published::{Seen, Target, Wait};
use crate::op::Cmp;
use crate::operation::Operation;
use crate::symmetric::SymSlice;
use crate::transport::{Expected, Found, MatchMode, Search, Watch};
use crate::words::counted;
use crate::{Error, Result, Runtime};
use std::cell::RefCell;
use std::panic::Location;

/// The comparison values of the elements.
#[derive(Clone, Copy)]
enum Values<'a, T> {
    Same(T),
    Each(&'a [T]),
}

/// The elements of one call, and their comparison.
pub(super) struct Set<'a, T> {
    rt: &'a Runtime,
    called: Operation,
    /// In a checked job: the elements that have matched, and their values.
    held: Option<RefCell<Vec<(usize, u64)>>>,
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
        format!("a slice of {}", counted(len as u64, "element")),
        format!(
            "a slice of {}, as many as `ivars` has",
            counted(ivars as u64, "element")
        ),
    )
}

impl Runtime {
    /// The elements of a call that compares all of them with one value.
    pub(super) fn compared<'a, T: WaitElement>(
        &'a self,
        called: Operation,
        ivars: &SymSlice<'_, T>,
        status: Option<&'a [i32]>,
        cmp: Cmp,
        value: T,
    ) -> Result<Set<'a, T>> {
        Set::new(self, called, ivars, status, cmp, Values::Same(value))
    }

    /// The elements of a call that compares each with a value of its own.
    pub(super) fn compared_each<'a, T: WaitElement>(
        &'a self,
        called: Operation,
        ivars: &SymSlice<'_, T>,
        status: Option<&'a [i32]>,
        cmp: Cmp,
        values: &'a [T],
    ) -> Result<Set<'a, T>> {
        Set::new(self, called, ivars, status, cmp, Values::Each(values))
    }
}

impl<'a, T: WaitElement> Set<'a, T> {
    fn new(
        rt: &'a Runtime,
        called: Operation,
        ivars: &SymSlice<'_, T>,
        status: Option<&'a [i32]>,
        cmp: Cmp,
        values: Values<'a, T>,
    ) -> Result<Set<'a, T>> {
        rt.inner.ready()?;
        rt.inner.within(ivars.range())?;
        rt.inner.transport.look(ivars.range());
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
            called,
            held: rt.inner.transport.observer().map(|_| RefCell::default()),
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

    /// The offset of an element.
    fn place(&self, index: usize) -> u64 {
        self.offset + (index * size_of::<T>()) as u64
    }

    fn check(&self, index: usize) -> std::result::Result<(), Seen> {
        let transport = self.rt.inner.transport.internal();
        let actual = transport.load(self.called, self.place(index), size_of::<T>());
        let value = self.value(index);
        if self.cmp.holds(T::from_bits(actual), value) {
            if let Some(held) = &self.held {
                held.borrow_mut().push((index, actual));
            }
            Ok(())
        } else {
            Err(Seen {
                actual,
                element: Some((index as u64, value.to_bits())),
            })
        }
    }

    /// `Ok` once every element from `next` on has matched; `next` advances past matched elements.
    fn all(&self, next: &mut usize) -> std::result::Result<(), Seen> {
        while *next < self.len {
            if !self.excluded(*next) {
                self.check(*next)?;
            }
            *next += 1;
        }
        Ok(())
    }

    /// The first matching index from `start` on, or else the first one before it; `None` if all elements are excluded.
    fn any(&self, start: usize) -> std::result::Result<Option<usize>, Seen> {
        let mut lowest = None;
        for part in [start..self.len, 0..start] {
            let mut first = None;
            for index in part.filter(|&index| !self.excluded(index)) {
                match self.check(index) {
                    Ok(()) => return Ok(Some(index)),
                    Err(seen) => first = first.or(Some(seen)),
                }
            }
            lowest = first.or(lowest);
        }
        lowest.map_or(Ok(None), Err)
    }

    /// The key shared by calls that rotate among the same elements.
    fn key(&self) -> Key {
        let called = (
            self.called as u64,
            std::ptr::from_ref(&*self.rt.inner) as u64,
        );
        let mut key = Key::NONE
            .and(called.0)
            .and(called.1)
            .and(self.offset)
            .and(self.len as u64)
            .and(T::DTYPE as u64)
            .and(self.cmp as u64);
        for &status in self.status.into_iter().flatten() {
            key = key.and((status != 0).into());
        }
        match self.values {
            Values::Same(value) => key.and(value.to_bits()),
            Values::Each(values) => values
                .iter()
                .fold(key, |key, value| key.and(value.to_bits())),
        }
    }

    /// Searches for any element, from the stored start index on.
    fn in_turn(
        &self,
        search: impl FnOnce(usize) -> Result<Option<usize>>,
    ) -> Result<Option<usize>> {
        let key = self.key();
        let found = search(search_start::begin(key, self.len));
        if let Ok(Some(index)) = found {
            search_start::remember(key, index, self.len);
        }
        found
    }

    /// `first`, which matched, and all later elements that match now.
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

    /// Reports to the checker the elements that have matched, and that the call has read no others.
    #[track_caller]
    fn acquire(&self) {
        let transport = &self.rt.inner.transport;
        for (index, value) in self.held.iter().flat_map(RefCell::take) {
            let element = SymRange::new(self.place(index), size_of::<T>() as u64);
            transport.acquired(element, value, self.called);
        }
    }

    /// The result, unless reading the elements has failed.
    #[inline(always)]
    fn seen<R>(&self, result: R) -> Result<R> {
        self.rt
            .inner
            .transport
            .internal()
            .failure()
            .map(|()| result)
    }

    /// The wait, for the board and the trace.
    fn described(&self) -> Wait {
        Wait {
            operation: self.called,
            target: Target::Word {
                offset: self.offset,
                dtype: T::DTYPE,
                count: self.len as u64,
                cmp: self.cmp,
                expected: 0,
                ahead: None,
            },
        }
    }

    fn wait<R>(&self, ready: impl FnMut() -> std::result::Result<R, Seen>) -> Result<R> {
        let result = self.rt.inner.wait(self.described(), ready)?;
        self.seen(result)
    }

    /// Runs the search on a native stream, if the operation is submitted there. A wait for all that uses no memory of the caller
    /// is enqueued, and counts as ended. If all elements are excluded, the host has the result.
    fn on_stream(&self, mode: MatchMode, waits: bool) -> Option<Result<Found>> {
        if self.len == 0 {
            return None;
        }
        self.rt
            .inner
            .transport
            .search(self.rt.submission, || Search {
                offset: self.offset,
                count: self.len,
                dtype: T::DTYPE,
                cmp: self.cmp,
                expected: match self.values {
                    Values::Same(value) => Expected::Same(value.to_bits()),
                    Values::Each(values) => Expected::Each(bytemuck::cast_slice(values)),
                },
                status: self.status,
                mode,
                called: self.called,
                waits,
                answers: !waits || mode != MatchMode::All,
            })
    }

    #[track_caller]
    pub(super) fn wait_all(&self) -> Result<()> {
        if let Some(found) = self.on_stream(MatchMode::All, true) {
            return found.map(drop);
        }
        let _span = self.rt.inner.span_of_wait(&self.described());
        let watches = self.watch();
        let mut next = 0;
        let result = self.wait(|| self.all(&mut next));
        if result.is_ok() {
            self.acquire();
        }
        if let Some(observer) = self.rt.inner.transport.observer() {
            for watch in watches {
                observer.unwatch(&watch, result.is_ok());
            }
        }
        result
    }

    /// Reports a wait for each of the elements to the checker.
    #[track_caller]
    fn watch(&self) -> Vec<Watch> {
        let Some(observer) = self.rt.inner.transport.observer() else {
            return Vec::new();
        };
        let site = observer.site(self.called, Location::caller());
        let watch = |index| {
            let watch = Watch {
                offset: self.place(index),
                dtype: T::DTYPE,
                cmp: self.cmp,
                expected: self.value(index).to_bits(),
                site,
            };
            observer.watch(&watch);
            watch
        };
        let included = (0..self.len).filter(|&index| !self.excluded(index));
        included.map(watch).collect()
    }

    #[track_caller]
    pub(super) fn wait_any(&self) -> Result<Option<usize>> {
        let _span = self.rt.inner.span_of_wait(&self.described());
        let found = self.in_turn(
            |start| match self.on_stream(MatchMode::Any { start }, true) {
                Some(found) => found.map(|found| found.indices.first().copied()),
                None => self.wait(|| self.any(start)),
            },
        )?;
        self.acquire();
        Ok(found)
    }

    #[track_caller]
    pub(super) fn wait_some(&self) -> Result<Vec<usize>> {
        if let Some(found) = self.on_stream(MatchMode::Some, true) {
            return found.map(|found| found.indices);
        }
        let _span = self.rt.inner.span_of_wait(&self.described());
        let first = self.wait(|| self.any(0))?;
        let found = self.some(first);
        self.acquire();
        Ok(found)
    }

    #[track_caller]
    pub(super) fn test_all(&self) -> Result<bool> {
        if let Some(found) = self.on_stream(MatchMode::All, false) {
            return found.map(|found| found.held);
        }
        let all = self.all(&mut 0).is_ok();
        if all {
            self.acquire();
        }
        self.seen(all)
    }

    #[track_caller]
    pub(super) fn test_any(&self) -> Result<Option<usize>> {
        let found =
            self.in_turn(
                |start| match self.on_stream(MatchMode::Any { start }, false) {
                    Some(found) => found.map(|found| found.indices.first().copied()),
                    None => self.seen(self.any(start).unwrap_or(None)),
                },
            )?;
        self.acquire();
        Ok(found)
    }

    #[track_caller]
    pub(super) fn test_some(&self) -> Result<Vec<usize>> {
        if let Some(found) = self.on_stream(MatchMode::Some, false) {
            return found.map(|found| found.indices);
        }
        let found = self.some(self.any(0).unwrap_or(None));
        self.acquire();
        self.seen(found)
    }
}
