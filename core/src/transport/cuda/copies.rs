//! Copies on a lane, and what memory of the program's needs for them.
//!
//! On a stream the driver takes memory that it knows (of a GPU, managed, pinned) when the stream comes to the copy. Of pageable memory it
//! copies a little away at once; for more, and for a copy to pageable memory, its call returns when the copy is done, and nothing ends
//! that. So such a copy begins when its turn on the stream has come: that is waited for as everything else, with the PE's limits.
//!
//! A borrowed slice is the caller's again when the call returns, with an error, too. So the GPU never has one: what it might use later is
//! copied from or to pinned memory of the library's own, which a call that gives up leaves to the GPU.

use super::CudaTransport;
use super::driver::check;
use super::operations::What;
use super::page::{STAGE, Stage};
use super::streams::CudaEvent;
use crate::heap::sym::{LocalDest, LocalSource};
use crate::transport::Lane;
use crate::transport::copy::copy;
use crate::wait::{Operation, Target, Wait};
use crate::{Error, Result};
use cudarc::driver::sys;
use std::cell::RefCell;

/// Bytes of pageable memory that the driver copies away at once.
const AT_ONCE: usize = 64 << 10;
/// Bytes of a borrowed slice that are copied away at a time.
const AWAY: usize = 1 << 20;

/// What a captured stream refuses, for an error.
const BORROWED: &str = "a transfer with a slice that is borrowed for the call";

/// For what a stream has to come to.
const TURN: Wait = Wait {
    operation: Operation::StreamSynchronize,
    target: Target::Stream { goal: 0 },
};

impl CudaTransport {
    /// Puts a copy on a lane.
    pub(super) fn begin_copy(
        &self,
        lane: Lane,
        dest: u64,
        source: u64,
        bytes: usize,
    ) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        if dest.abs_diff(source) < bytes as u64 {
            // Both sides are memory of the heap then; the copy engine does not take ranges that overlap.
            return self
                .kernels
                .copy(self.stream(lane), dest, source, bytes as u64);
        }
        let _current = self.device.enter()?;
        // SAFETY: rules 1 and 3 of driver.rs. One side lies within mapped memory of the heap (checked above this layer); the other does,
        // too, or is memory that `LocalSource` and `LocalDest` vouch for, at least until the operation is over, or is a stage, which
        // nobody else uses before the copy is done.
        let code = unsafe { sys::cuMemcpyAsync(dest, source, bytes, self.stream(lane)) };
        check("cuMemcpyAsync", code)
    }

    /// Puts a copy from memory of the program's on a lane. A borrowed slice is read before this returns.
    pub(super) fn begin_put(&self, lane: Lane, to: u64, source: LocalSource<'_>) -> Result<()> {
        let (from, bytes) = (source.address() as u64, source.bytes());
        let at_once = bytes <= AT_ONCE && !source.is_borrowed();
        if lane == Lane::Blocking || at_once || self.layout.locate(from).is_some() {
            return self.begin_copy(lane, to, from, bytes);
        }
        let stream = self.stream(lane);
        if !source.is_borrowed() {
            return match self.is_known(from)? || self.device.is_captured(stream)? {
                true => self.begin_copy(lane, to, from, bytes),
                false => self.put_pageable(lane, to, from, bytes),
            };
        }
        self.device.check_capture(stream, BORROWED)?;
        if self.device.facts().reads_pages {
            return self.put_staged(lane, to, source);
        }
        if !self.is_known(from)? {
            return self.put_pageable(lane, to, from, bytes);
        }
        let mut away = vec![0_u8; bytes.min(AWAY)];
        for start in (0..bytes).step_by(AWAY) {
            let part = source.part(start, away.len().min(bytes - start));
            // SAFETY: the source is valid for reads (rule 3 of heap/sym.rs), `away` is as long and nobody else's.
            unsafe { copy::<false, false>(away.as_mut_ptr(), part.address(), part.bytes()) };
            let from = away.as_ptr() as u64;
            self.put_pageable(lane, to + start as u64, from, part.bytes())?;
        }
        Ok(())
    }

    /// Puts a copy from pageable memory on a stream. Unless the GPU reads such memory itself, it has been read when this returns.
    fn put_pageable(&self, lane: Lane, to: u64, from: u64, bytes: usize) -> Result<()> {
        if bytes > AT_ONCE {
            self.await_here(lane)?;
        }
        self.begin_copy(lane, to, from, bytes)
    }

    /// Copies a borrowed slice away in parts, each when its turn has come.
    fn put_staged(&self, lane: Lane, to: u64, source: LocalSource<'_>) -> Result<()> {
        self.await_here(lane)?;
        for start in (0..source.bytes()).step_by(STAGE) {
            let part = source.part(start, STAGE.min(source.bytes() - start));
            let stage = self.stage()?;
            stage.fill(&part);
            self.through_stage(lane, stage, |at| {
                self.begin_copy(lane, to + start as u64, at, part.bytes())
            })?;
        }
        Ok(())
    }

    /// Puts a copy to memory of the program's on a lane. A borrowed slice is written before this returns.
    pub(super) fn begin_get(&self, lane: Lane, dest: LocalDest<'_>, from: u64) -> Result<()> {
        let (to, bytes) = (dest.address() as u64, dest.bytes());
        if lane == Lane::Blocking || self.layout.locate(to).is_some() {
            return self.begin_copy(lane, to, from, bytes);
        }
        let stream = self.stream(lane);
        if dest.is_borrowed() {
            self.device.check_capture(stream, BORROWED)?;
            return self.get_staged(lane, dest, from);
        }
        if !self.is_known(to)? && !self.device.is_captured(stream)? {
            self.await_here(lane)?;
        }
        self.begin_copy(lane, to, from, bytes)
    }

    /// Fills a borrowed slice in parts, when its turn has come.
    fn get_staged(&self, lane: Lane, mut dest: LocalDest<'_>, from: u64) -> Result<()> {
        self.await_here(lane)?;
        for start in (0..dest.bytes()).step_by(STAGE) {
            let bytes = STAGE.min(dest.bytes() - start);
            let stage = self.through_stage(lane, self.stage()?, |at| {
                self.begin_copy(lane, at, from + start as u64, bytes)
            })?;
            stage.empty(&mut dest.part(start, bytes));
        }
        Ok(())
    }

    /// A stage, when another thread is done with one.
    fn stage(&self) -> Result<Stage<'_>> {
        let found = RefCell::new(None);
        // It may be asked again after it has said yes.
        self.wait(TURN, &|| {
            let mut found = found.borrow_mut();
            if found.is_none() {
                *found = self.page.stage()?;
            }
            Ok(found.is_some())
        })?;
        let none = || Error::Internal("a wait for a stage ended too early".into());
        found.into_inner().ok_or_else(none)
    }

    /// Begins a copy from or to a stage, and waits until it is done. If the wait ends before, the stage is the GPU's until then.
    fn through_stage<'a>(
        &'a self,
        lane: Lane,
        stage: Stage<'a>,
        begin: impl FnOnce(u64) -> Result<()>,
    ) -> Result<Stage<'a>> {
        let mark = self.take_mark()?;
        begin(stage.address())?;
        if let Err(error) = mark.record_on(self.stream(lane)) {
            // Nobody will know when the GPU is done with it.
            std::mem::forget(stage);
            return Err(error);
        }
        match self.await_mark(&mark) {
            Ok(()) => {
                self.give_mark_back(mark);
                Ok(stage)
            }
            Err(error) => {
                stage.retire(mark);
                Err(error)
            }
        }
    }

    /// Whether the driver knows an address: memory of a GPU, managed memory, or pinned memory of the host.
    fn is_known(&self, address: u64) -> Result<bool> {
        let _current = self.device.enter()?;
        Ok(What::MemoryType.of(address).is_some())
    }

    /// Waits until an event is reached, with all that ends a wait of this PE.
    pub(super) fn await_mark(&self, mark: &CudaEvent) -> Result<()> {
        self.wait(TURN, &|| mark.query())
    }

    /// Waits until a stream of the program's has come to here.
    fn await_here(&self, lane: Lane) -> Result<()> {
        let mark = self.take_mark()?;
        mark.record_on(self.stream(lane))?;
        self.await_mark(&mark)?;
        self.give_mark_back(mark);
        Ok(())
    }
}
