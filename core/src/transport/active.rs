//! The transport as the program's operations see it: the transport proper, or the checker around it.
//!
//! An operation says by which name the program knows it, `called`; the checker reports that name and the place of the call, so
//! these methods are `#[track_caller]`, as are the functions that lead to them. Without the checker an operation costs one
//! comparison more than the transport's own. What the library does for its own ends (moving the data of a collective, looking
//! at a word that is waited for) goes to the transport proper, [`raw`](Active::raw).

use super::check::Checker;
use super::{Atomic, Raw, Transport, Width};
use crate::heap::sym::{LocalDest, LocalSource, SymRange};
use crate::op::SignalOp;
use crate::{Pe, Result};
use std::sync::Arc;

/// A signal's update.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SignalUpdate {
    pub(crate) offset: u64,
    pub(crate) value: u64,
    pub(crate) op: SignalOp,
}

/// Whether an operation may be incomplete when it returns; `lasts`: it may even read its source until quiet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nbi {
    No,
    Yes { lasts: bool },
}

/// The transport of a runtime.
pub(crate) struct Active {
    raw: Raw,
    /// Whether there is a checker: one comparison with memory.
    checked: bool,
    check: Option<Arc<Checker>>,
    me: Pe,
}

impl Active {
    pub(crate) fn new(raw: Raw, check: Option<Arc<Checker>>, me: Pe) -> Active {
        Active {
            raw,
            checked: check.is_some(),
            check,
            me,
        }
    }

    /// The transport proper.
    #[inline(always)]
    pub(crate) fn raw(&self) -> &Raw {
        &self.raw
    }

    /// The checker, if the job runs with it.
    #[inline(always)]
    pub(crate) fn checker(&self) -> Option<&Checker> {
        if self.checked {
            Some(self.the_checker())
        } else {
            None
        }
    }

    /// The checker where there is one. Out of line, so that nothing of it is in an operation's way.
    #[cold]
    #[inline(never)]
    fn the_checker(&self) -> &Checker {
        self.check
            .as_deref()
            .expect("`checked` says that it is there")
    }

    /// A wait goes on; what is held back may be delivered meanwhile.
    pub(crate) fn progress(&self) {
        if let Some(check) = self.checker() {
            check.progress();
        }
    }

    /// See [`Transport::commit`].
    pub(crate) fn commit(&self, range: SymRange) -> Result<()> {
        self.raw.commit(range)?;
        match self.checker() {
            None => Ok(()),
            Some(check) => check
                .track(|tracker| tracker.commit(range))
                .inspect_err(|_| self.raw.decommit(range)),
        }
    }

    /// See [`Transport::decommit`].
    pub(crate) fn decommit(&self, range: SymRange) {
        if let Some(check) = self.checker() {
            check.track(|tracker| tracker.decommit(range));
        }
        self.raw.decommit(range);
    }

    /// See [`Transport::adopt`].
    pub(crate) fn adopt(&self, range: SymRange, buffer: u64, preferred: u64) -> Result<()> {
        self.raw.adopt(range, buffer, preferred)?;
        match self.checker() {
            None => Ok(()),
            Some(check) => match check.track(|tracker| tracker.commit(range)) {
                Ok(()) => {
                    check.adopt(range, [buffer, preferred]);
                    Ok(())
                }
                Err(error) => self.raw.give_back(range, buffer, preferred).and(Err(error)),
            },
        }
    }

    /// See [`Transport::give_back`].
    pub(crate) fn give_back(&self, range: SymRange, buffer: u64, preferred: u64) -> Result<()> {
        if let Some(check) = self.checker() {
            check.give_back(range);
            check.track(|tracker| tracker.decommit(range));
        }
        self.raw.give_back(range, buffer, preferred)
    }

    /// See [`Transport::put`].
    #[inline(always)]
    #[track_caller]
    pub(crate) fn put(&self, pe: Pe, dest: u64, source: LocalSource<'_>, called: &'static str) {
        match self.checker() {
            None => self.raw.put(pe, dest, source),
            Some(check) => check.put(pe, dest, source, called),
        }
    }

    /// See [`Transport::get`].
    #[inline(always)]
    #[track_caller]
    pub(crate) fn get(&self, pe: Pe, source: u64, dest: LocalDest<'_>, called: &'static str) {
        match self.checker() {
            None => self.raw.get(pe, source, dest),
            Some(check) => check.get(pe, source, dest, called),
        }
    }

    /// See [`Transport::put_nbi`]. `lasts`: the source may be read until quiet.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn put_nbi(
        &self,
        pe: Pe,
        dest: u64,
        source: LocalSource<'_>,
        lasts: bool,
        called: &'static str,
    ) {
        match self.checker() {
            None => self.raw.put_nbi(pe, dest, source),
            Some(check) => check.put_nbi(pe, dest, source, lasts, called),
        }
    }

    /// See [`Transport::get_nbi`]. `lasts`: `dest` may be written until quiet.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn get_nbi(
        &self,
        pe: Pe,
        source: u64,
        dest: LocalDest<'_>,
        lasts: bool,
        called: &'static str,
    ) {
        match self.checker() {
            None => self.raw.get_nbi(pe, source, dest),
            Some(check) => check.get_nbi(pe, source, dest, lasts, called),
        }
    }

    /// See [`Transport::atomic`].
    #[inline(always)]
    #[track_caller]
    pub(crate) fn atomic(
        &self,
        pe: Pe,
        offset: u64,
        width: Width,
        operation: Atomic,
        called: &'static str,
    ) -> u64 {
        match self.checker() {
            None => self.raw.atomic(pe, offset, width, operation),
            Some(check) => check.atomic(pe, offset, width, operation.parts(), called),
        }
    }

    /// As [`atomic`](Active::atomic), for who does not want the old value.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn atomic_update(
        &self,
        pe: Pe,
        offset: u64,
        width: Width,
        operation: Atomic,
        called: &'static str,
    ) {
        match self.checker() {
            None => {
                self.raw.atomic(pe, offset, width, operation);
            }
            Some(check) => check.atomic_update(pe, offset, width, operation.parts(), called),
        }
    }

    /// See [`Transport::signal`].
    #[inline(always)]
    #[track_caller]
    pub(crate) fn signal(&self, pe: Pe, update: SignalUpdate, called: &'static str) {
        match self.checker() {
            None => self.raw.signal(pe, update.offset, update.value, update.op),
            Some(check) => check.signal(pe, update.offset, update.value, update.op, called),
        }
    }

    /// A put, then an update of a signal that is seen after the put's data.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn put_signal(
        &self,
        pe: Pe,
        dest: u64,
        source: LocalSource<'_>,
        update: SignalUpdate,
        nbi: Nbi,
        called: &'static str,
    ) {
        match self.checker() {
            None => {
                self.raw.put(pe, dest, source);
                self.raw.signal(pe, update.offset, update.value, update.op);
            }
            Some(check) => check.put_signal(
                pe,
                dest,
                source,
                (update.offset, update.value, update.op),
                nbi,
                called,
            ),
        }
    }

    /// Copies from this PE's own memory for the program.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn read(&self, source: SymRange, dest: LocalDest<'_>, called: &'static str) {
        if let Some(check) = self.checker() {
            check.own(false, source, check.site(called));
        }
        self.raw.get(self.me, source.offset(), dest);
    }

    /// Copies to this PE's own memory for the program.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn write(&self, dest: SymRange, source: LocalSource<'_>, called: &'static str) {
        if let Some(check) = self.checker() {
            check.own(true, dest, check.site(called));
        }
        self.raw.put(self.me, dest.offset(), source);
    }

    /// The program is about to look at own words.
    #[inline(always)]
    pub(crate) fn look(&self, words: SymRange) {
        if let Some(check) = self.checker() {
            check.look(words);
        }
    }

    /// The program has seen the value of an own word that is written atomically, or that it waits for.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn acquired(&self, element: SymRange, value: u64, called: &'static str) {
        if let Some(check) = self.checker() {
            check.acquired(element, value, check.site(called));
        }
    }

    /// See [`Transport::fence`].
    #[inline(always)]
    pub(crate) fn fence(&self) {
        match self.checker() {
            None => self.raw.fence(),
            Some(check) => check.fence(),
        }
    }

    /// See [`Transport::quiet`].
    #[inline(always)]
    #[track_caller]
    pub(crate) fn quiet(&self, called: &'static str) {
        match self.checker() {
            None => self.raw.quiet(),
            Some(check) => check.quiet(called),
        }
    }

    /// See [`Transport::quiet_before_release`].
    #[inline(always)]
    #[track_caller]
    pub(crate) fn quiet_before_release(&self, called: &'static str) {
        match self.checker() {
            None => self.raw.quiet_before_release(),
            Some(check) => check.quiet(called),
        }
    }
}
