//! Operations of the program's kernels, which record them one at a time in [`KernelRecords`] and wait for the answer. A thread of the
//! host enters each record in the tracker.
//!
//! All threads of a PE's kernels, its caller and its streams are one sequence here, in the order of the records. So synchronisation that is
//! missing among threads of one PE is not found. A fence, a quiet or a put_signal of a group orders the operations of one thread or one
//! group; here it orders the operations of all threads. Both make reports fewer, never wrong.
//!
//! Kernels move their data themselves. Before each record the host delivers all operations that it holds back, so that a signal of a kernel
//! does not overtake a put of the host.

use super::Checker;
use super::Inside;
use super::tally::Seen;
use super::tracker::Kind;
use crate::job::signals;
use crate::transport::device_state::record::{Effect, KernelEvent, KernelRecord, Place};
use crate::{Error, Pe, Result};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Acquire;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// The thread polls so many times without a pause, then with short pauses up to this many polls, and after that with long pauses.
const LOOKS: u32 = 64;
const SHORT_PAUSES: u32 = 2000;
const SHORT_PAUSE: Duration = Duration::from_micros(20);
const LONG_PAUSE: Duration = Duration::from_micros(500);

/// The checker's knowledge of kernels.
#[derive(Default)]
pub(super) struct Kernels {
    thread: Mutex<Option<JoinHandle<()>>>,
    /// The members of this PE's teams, by the teams' numbers.
    pub(super) teams: Mutex<BTreeMap<u32, Box<[Pe]>>>,
}

impl Kernels {
    /// Ends the thread, which has been told to stop.
    pub(super) fn join(&self) {
        if let Some(thread) = crate::lock::lock(&self.thread).take() {
            // It only ends by returning.
            let _ = thread.join();
        }
    }

    /// Forgets the thread, in a forked child, where it does not exist.
    pub(super) fn abandon(&self) {
        if let Ok(mut thread) = self.thread.try_lock() {
            std::mem::forget(thread.take());
        }
    }
}

impl Checker {
    /// From now on kernels record their operations, and a thread looks for the records.
    pub(super) fn watch_kernels(self: &Arc<Self>) -> Result<()> {
        let mut thread = crate::lock::lock(&self.kernels.thread);
        if thread.is_some() {
            return Ok(());
        }
        if let Some(tables) = self.below.device_tables() {
            tables.watch()?;
            self.actors.ignore();
            let check = Arc::clone(self);
            let builder = std::thread::Builder::new()
                .name("nvshmemrs-kernels".into())
                .stack_size(256 << 10);
            let started = signals::spawn(builder, move || check.look_for_records());
            let started = started.map_err(|error| {
                Error::system("starting the checker's thread for kernels", error)
            })?;
            *thread = Some(started);
        }
        Ok(())
    }

    fn look_for_records(&self) {
        let tables = self.below.device_tables();
        let Some(Ok(records)) = tables.map(|tables| tables.watch()) else {
            return;
        };
        let mut idle = 0_u32;
        while !self.stop.load(Acquire) {
            if records.is_posted() {
                if let Some(record) = records.read() {
                    self.enter_record(&record);
                }
                records.answer();
                idle = 0;
                continue;
            }
            idle = idle.saturating_add(1);
            match idle {
                0..LOOKS => std::thread::yield_now(),
                LOOKS..SHORT_PAUSES => std::thread::sleep(SHORT_PAUSE),
                _ => std::thread::sleep(LONG_PAUSE),
            }
        }
    }

    /// The offset of own memory; `None` if it is not symmetric, so a kernel has written something wrong.
    fn own_offset(&self, place: Place) -> Option<u64> {
        let offset = place.address.checked_sub(self.layout.address(self.me, 0))?;
        let room = self.layout.heap_bytes + self.layout.window_bytes;
        let end = offset.checked_add(place.bytes)?;
        (end <= room).then_some(offset)
    }

    /// A kernel uses memory that need not be symmetric.
    fn local_access(&self, kind: Kind, address: u64, bytes: u64, site: u16) {
        let place = self.locate(address);
        let whole = |&(_, offset): &(Pe, u64)| {
            (offset.checked_add(bytes)).is_some_and(|end| end <= self.layout.stride)
        };
        if let Some((pe, offset)) = place.filter(whole) {
            self.tracker.access(kind, pe, offset, bytes, site);
        }
    }

    /// Enters an operation of a kernel: before it takes effect, or, for a wait, after its value was seen.
    pub(super) fn enter_record(&self, record: &KernelRecord) {
        let _inside = Inside::enter();
        self.tracker.note(Seen::Kernels);
        {
            let mut state = self.state();
            if !state.queue.is_empty() {
                state.queue.deliver_all(|held| self.deliver(held));
                self.publish_held(&mut state);
                self.below().fence();
            }
        }
        self.write_findings();
        let site = self.sites.named(record.operation, &record.place);
        if (0..self.control.n_pes()).contains(&record.pe) {
            // A record that the header does not write is left out.
            let _ = self.enter_event(record.event, record.pe, site);
        }
    }

    fn enter_event(&self, event: KernelEvent, pe: Pe, site: u16) -> Option<()> {
        let tracker = &self.tracker;
        match event {
            KernelEvent::Put {
                dest,
                local,
                until_quiet,
            } => {
                let offset = self.own_offset(dest)?;
                self.kernel_reads(local, dest.bytes, until_quiet, site);
                // To the caller's own memory it is a store, which is over on return.
                let kind = match pe == self.me && !until_quiet {
                    true => Kind::Store,
                    false => Kind::Put,
                };
                self.kernel_puts(kind, pe, offset, dest.bytes, site);
            }
            KernelEvent::PutSignal {
                dest,
                local,
                signal,
                until_quiet,
                fenced,
            } => {
                let word = Place {
                    address: signal,
                    bytes: 8,
                };
                let (offset, word) = (self.own_offset(dest)?, self.own_offset(word)?);
                self.stall();
                self.kernel_reads(local, dest.bytes, until_quiet, site);
                self.kernel_puts(Kind::PutSignal, pe, offset, dest.bytes, site);
                tracker.access(self.atomic_write(pe), pe, word, 8, site);
                let mut stamp = tracker.release_signal(pe, word, offset, dest.bytes);
                if fenced {
                    let data = stamp.data;
                    stamp = tracker.release(pe, word, true);
                    stamp.data = data;
                }
                tracker.delivered(pe, word, 8, stamp);
            }
            KernelEvent::Get {
                source,
                local,
                until_quiet,
            } => {
                let offset = self.own_offset(source)?;
                let (reads, writes) = match until_quiet {
                    true => (Kind::GetNbi, Kind::Put),
                    false => (Kind::Get, Kind::Store),
                };
                tracker.access(reads, pe, offset, source.bytes, site);
                self.local_access(writes, local, source.bytes, site);
            }
            KernelEvent::Signal { address } => {
                let word = self.own_offset(Place { address, bytes: 8 })?;
                self.stall();
                tracker.access(self.atomic_write(pe), pe, word, 8, site);
                let stamp = tracker.release(pe, word, false);
                tracker.delivered(pe, word, 8, stamp);
            }
            KernelEvent::Atomic { word, effect } => {
                let (offset, bytes) = (self.own_offset(word)?, word.bytes);
                let kind = match effect {
                    Effect::Reads => Kind::AtomicLoad,
                    Effect::Writes => self.atomic_write(pe),
                    Effect::Fetches => Kind::AtomicFetch,
                };
                if effect != Effect::Reads {
                    self.stall();
                }
                tracker.access(kind, pe, offset, bytes, site);
                if effect != Effect::Reads {
                    let stamp = tracker.release(pe, offset, true);
                    tracker.delivered(pe, offset, bytes, stamp);
                }
            }
            KernelEvent::Seen { word, value } => {
                let offset = self.own_offset(word)?;
                if matches!(word.bytes, 1 | 2 | 4 | 8) && offset.is_multiple_of(word.bytes) {
                    tracker.acquire(pe, offset, word.bytes, value, site);
                    self.stall();
                }
            }
            KernelEvent::Fence => tracker.fence(),
            KernelEvent::Quiet => tracker.quiet(),
            KernelEvent::Arrives {
                team,
                epoch,
                completes,
            } => {
                self.team_of_kernels(team)?;
                self.stall();
                if completes {
                    tracker.quiet();
                }
                tracker.arrive(team, epoch, completes, site);
            }
            KernelEvent::Met { team, epoch } => {
                let members = self.team_of_kernels(team)?;
                tracker.met(team, &mut members.iter().copied(), epoch, site);
                self.stall();
            }
            KernelEvent::Uses { own, write } => {
                let offset = self.own_offset(own)?;
                let kind = if write { Kind::Store } else { Kind::Load };
                tracker.access(kind, self.me, offset, own.bytes, site);
            }
            KernelEvent::Pointer => tracker.pointer_given(pe),
        }
        Some(())
    }

    /// An atomic operation without a result; to the caller's own memory it is over on return.
    fn atomic_write(&self, pe: Pe) -> Kind {
        match pe == self.me {
            true => Kind::AtomicFetch,
            false => Kind::Atomic,
        }
    }

    fn kernel_reads(&self, local: u64, bytes: u64, until_quiet: bool, site: u16) {
        let kind = if until_quiet {
            Kind::GetNbi
        } else {
            Kind::Load
        };
        self.local_access(kind, local, bytes, site);
    }

    fn kernel_puts(&self, kind: Kind, pe: Pe, offset: u64, bytes: u64, site: u16) {
        self.tracker.access(kind, pe, offset, bytes, site);
        let stamp = self.tracker.release(pe, offset, false);
        self.tracker.delivered(pe, offset, bytes, stamp);
    }

    fn team_of_kernels(&self, team: u32) -> Option<Box<[Pe]>> {
        crate::lock::lock(&self.kernels.teams).get(&team).cloned()
    }
}
