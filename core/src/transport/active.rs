//! The transport as the program's operations see it: the transport proper, or the checker around it.
//!
//! An operation says by which name the program knows it, `called`; the checker reports that name and the place of the call, so
//! these methods are `#[track_caller]`, as are the functions that lead to them. On host memory without the checker an operation costs
//! one comparison more than the transport's own. What the library does for its own ends (moving the data of a collective, looking
//! at a word that is waited for) goes to the transport proper, [`raw`](Active::raw).

use super::check::Checker;
use super::cuda::{self, CudaTransport};
use super::host::HostTransport;
use super::{Atomic, Lane, Raw, Transport, Width};
use crate::buffer::{LocalDest, LocalSource, SymRange};
use crate::op::SignalOp;
use crate::{Pe, Result};
use bytemuck::Pod;
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
pub(crate) enum Active {
    /// Host memory.
    Host(HostTransport),
    /// Host memory, and every operation is looked at.
    Checked(HostTransport, Arc<Checker>),
    /// GPU memory.
    Cuda(Box<CudaTransport>),
}

/// Marks the branch that calls it as the one that is not taken.
#[cold]
fn rarely() {}

impl Active {
    pub(crate) fn new(raw: HostTransport, check: Option<Arc<Checker>>) -> Active {
        match check {
            None => Active::Host(raw),
            Some(check) => Active::Checked(raw, check),
        }
    }

    /// The transport proper.
    #[inline(always)]
    pub(crate) fn raw(&self) -> Raw<'_> {
        match self {
            Active::Host(host) | Active::Checked(host, _) => Raw::Host(host),
            Active::Cuda(cuda) => {
                rarely();
                Raw::Cuda(cuda)
            }
        }
    }

    /// The checker, if the job runs with it.
    #[inline(always)]
    pub(crate) fn checker(&self) -> Option<&Checker> {
        match self {
            Active::Host(_) => None,
            Active::Checked(_, check) => {
                rarely();
                Some(check)
            }
            Active::Cuda(_) => None,
        }
    }

    /// The transport of GPU memory, if that is where the heap is.
    #[inline(always)]
    pub(crate) fn cuda(&self) -> Option<&CudaTransport> {
        match self {
            Active::Host(_) | Active::Checked(..) => None,
            Active::Cuda(cuda) => {
                rarely();
                Some(cuda)
            }
        }
    }

    /// What keeps the heap's memory mapped, if it is GPU memory.
    pub(crate) fn device_segment(&self) -> Option<Arc<cuda::Segment>> {
        match self {
            Active::Host(_) | Active::Checked(..) => None,
            Active::Cuda(cuda) => Some(Arc::clone(cuda.segment())),
        }
    }

    /// What tells the kernels of this PE's GPU to end, if there are any.
    pub(crate) fn completion(&self) -> Option<Arc<cuda::Completion>> {
        match self {
            Active::Host(_) | Active::Checked(..) => None,
            Active::Cuda(cuda) => Some(Arc::clone(cuda.completion())),
        }
    }

    /// The PE leaves the job: its kernels that wait end; those of others that wait for it, too, if it has `gone` without a word.
    pub(crate) fn end_kernels(&self, gone: bool) {
        if let Active::Cuda(cuda) = self {
            cuda.abort(gone);
        }
    }

    /// A wait goes on; what is held back may be delivered meanwhile.
    pub(crate) fn progress(&self) {
        if let Some(check) = self.checker() {
            check.progress();
        }
    }

    /// See [`Transport::commit`].
    pub(crate) fn commit(&self, range: SymRange) -> Result<()> {
        self.raw().commit(range)?;
        match self.checker() {
            None => Ok(()),
            Some(check) => check
                .track(|tracker| tracker.commit(range))
                .inspect_err(|_| self.raw().decommit(range)),
        }
    }

    /// See [`Transport::decommit`].
    pub(crate) fn decommit(&self, range: SymRange) {
        if let Some(check) = self.checker() {
            check.track(|tracker| tracker.decommit(range));
        }
        self.raw().decommit(range);
    }

    /// See [`Transport::adopt`].
    pub(crate) fn adopt(&self, range: SymRange, buffer: u64, preferred: u64) -> Result<()> {
        self.raw().adopt(range, buffer, preferred)?;
        match self.checker() {
            None => Ok(()),
            Some(check) => match check.track(|tracker| tracker.commit(range)) {
                Ok(()) => {
                    check.adopt(range, [buffer, preferred]);
                    Ok(())
                }
                Err(error) => self
                    .raw()
                    .give_back(range, buffer, preferred)
                    .and(Err(error)),
            },
        }
    }

    /// See [`Transport::give_back`].
    pub(crate) fn give_back(&self, range: SymRange, buffer: u64, preferred: u64) -> Result<()> {
        if let Some(check) = self.checker() {
            check.give_back(range);
            check.track(|tracker| tracker.decommit(range));
        }
        self.raw().give_back(range, buffer, preferred)
    }

    /// A put of a value of the library's own, of at most 16 bytes.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn put_value<T: Pod>(
        &self,
        lane: Lane,
        pe: Pe,
        dest: u64,
        value: T,
        called: &'static str,
    ) -> Result<()> {
        match self {
            Active::Cuda(cuda) => Active::put_value_on_gpu(cuda, lane, pe, dest, value),
            _ => self.put(lane, pe, dest, LocalSource::from(&[value]), called),
        }
    }

    #[cold]
    #[inline(never)]
    fn put_value_on_gpu<T: Pod>(
        cuda: &CudaTransport,
        lane: Lane,
        pe: Pe,
        dest: u64,
        value: T,
    ) -> Result<()> {
        cuda.put_value(lane, pe, dest, bytemuck::bytes_of(&value))
    }

    /// A get of a value of at most 16 bytes.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn get_value<T: Pod>(
        &self,
        lane: Lane,
        pe: Pe,
        source: u64,
        called: &'static str,
    ) -> Result<T> {
        match self {
            Active::Cuda(cuda) => Active::get_value_on_gpu(cuda, lane, pe, source),
            _ => {
                let mut value = [T::zeroed()];
                self.get(lane, pe, source, LocalDest::from(&mut value), called)?;
                Ok(value[0])
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn get_value_on_gpu<T: Pod>(
        cuda: &CudaTransport,
        lane: Lane,
        pe: Pe,
        source: u64,
    ) -> Result<T> {
        let words = cuda.get_value(lane, pe, source, size_of::<T>())?;
        let bytes = &bytemuck::bytes_of(&words)[..size_of::<T>()];
        Ok(bytemuck::pod_read_unaligned(bytes))
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
}

/// Writes the program's operations, each in two: on host memory it is inlined; the checker and GPU memory stand out of line, so that
/// nothing of them is in an operation's way there.
macro_rules! operations {
    ($(
        $(#[$about:meta])*
        fn $name:ident / $rarely:ident($($argument:ident: $kind:ty),*) -> $out:ty {
            host: |$host:ident| $on_host:expr,
            checked: |$raw:tt, $check:ident| $checked:expr,
            gpu: |$cuda:ident| $on_gpu:expr $(,)?
        }
    )*) => {
        impl Active { $(
            $(#[$about])*
            #[allow(clippy::too_many_arguments, reason = "they are the operation's, and where it goes")]
            #[inline(always)]
            #[track_caller]
            pub(crate) fn $name(&self, $($argument: $kind),*) -> Result<$out> {
                match self {
                    Active::Host($host) => Ok($on_host),
                    _ => self.$rarely($($argument),*),
                }
            }

            #[allow(clippy::too_many_arguments, reason = "they are the operation's, and where it goes")]
            #[cold]
            #[inline(never)]
            #[track_caller]
            fn $rarely(&self, $($argument: $kind),*) -> Result<$out> {
                match self {
                    Active::Host($host) => Ok($on_host),
                    Active::Checked($raw, $check) => Ok($checked),
                    Active::Cuda($cuda) => $on_gpu,
                }
            }
        )* }
    };
}

// Each on a lane. Those of host memory are done when they return; a lane that is a stream of a GPU takes them in order.
operations! {
    /// See [`Transport::put`].
    fn put / put_rarely(lane: Lane, pe: Pe, dest: u64, source: LocalSource<'_>, called: &'static str) -> () {
        host: |host| host.put(pe, dest, source),
        checked: |_, check| check.put(pe, dest, source, called),
        gpu: |cuda| cuda.put(lane, pe, dest, source),
    }

    /// See [`Transport::get`].
    fn get / get_rarely(lane: Lane, pe: Pe, source: u64, dest: LocalDest<'_>, called: &'static str) -> () {
        host: |host| host.get(pe, source, dest),
        checked: |_, check| check.get(pe, source, dest, called),
        gpu: |cuda| cuda.get(lane, pe, source, dest),
    }

    /// See [`Transport::put_nbi`]. `lasts`: the source may be read until quiet.
    fn put_nbi / put_nbi_rarely(
        lane: Lane, pe: Pe, dest: u64, source: LocalSource<'_>, lasts: bool, called: &'static str
    ) -> () {
        host: |host| host.put_nbi(pe, dest, source),
        checked: |_, check| check.put_nbi(pe, dest, source, lasts, called),
        gpu: |cuda| cuda.put_nbi(lane, pe, dest, source, lasts),
    }

    /// See [`Transport::get_nbi`]. `lasts`: `dest` may be written until quiet.
    fn get_nbi / get_nbi_rarely(
        lane: Lane, pe: Pe, source: u64, dest: LocalDest<'_>, lasts: bool, called: &'static str
    ) -> () {
        host: |host| host.get_nbi(pe, source, dest),
        checked: |_, check| check.get_nbi(pe, source, dest, lasts, called),
        gpu: |cuda| cuda.get_nbi(lane, pe, source, dest, lasts),
    }

    /// See [`Transport::atomic`].
    fn atomic / atomic_rarely(
        lane: Lane, pe: Pe, offset: u64, width: Width, operation: Atomic, called: &'static str
    ) -> u64 {
        host: |host| host.atomic(pe, offset, width, operation),
        checked: |_, check| check.atomic(pe, offset, width, operation.parts(), called),
        gpu: |cuda| cuda.atomic_fetch(lane, pe, offset, width, operation),
    }

    /// As [`atomic`](Active::atomic), for who does not want the old value.
    fn atomic_update / atomic_update_rarely(
        lane: Lane, pe: Pe, offset: u64, width: Width, operation: Atomic, called: &'static str
    ) -> () {
        host: |host| {
            host.atomic(pe, offset, width, operation);
        },
        checked: |_, check| check.atomic_update(pe, offset, width, operation.parts(), called),
        gpu: |cuda| cuda.atomic_update(lane, pe, offset, width, operation),
    }

    /// See [`Transport::signal`].
    fn signal / signal_rarely(lane: Lane, pe: Pe, update: SignalUpdate, called: &'static str) -> () {
        host: |host| host.signal(pe, update.offset, update.value, update.op),
        checked: |_, check| check.signal(pe, update.offset, update.value, update.op, called),
        gpu: |cuda| cuda.update_signal(lane, pe, update),
    }

    /// A put, then an update of a signal that is seen after the put's data.
    fn put_signal / put_signal_rarely(
        lane: Lane, pe: Pe, dest: u64, source: LocalSource<'_>, update: SignalUpdate, nbi: Nbi, called: &'static str
    ) -> () {
        host: |host| {
            host.put(pe, dest, source);
            host.signal(pe, update.offset, update.value, update.op);
        },
        checked: |_, check| {
            let signal = (update.offset, update.value, update.op);
            check.put_signal(pe, dest, source, signal, nbi, called);
        },
        gpu: |cuda| cuda.put_signal(lane, pe, dest, source, update),
    }

    /// Copies from this PE's own memory for the program.
    fn read / read_rarely(me: Pe, source: SymRange, dest: LocalDest<'_>, called: &'static str) -> () {
        host: |host| host.get(me, source.offset(), dest),
        checked: |host, check| {
            check.own(false, source, check.site(called));
            host.get(me, source.offset(), dest);
        },
        gpu: |cuda| cuda.get(Lane::Blocking, me, source.offset(), dest),
    }

    /// Copies to this PE's own memory for the program.
    fn write / write_rarely(me: Pe, dest: SymRange, source: LocalSource<'_>, called: &'static str) -> () {
        host: |host| host.put(me, dest.offset(), source),
        checked: |host, check| {
            check.own(true, dest, check.site(called));
            host.put(me, dest.offset(), source);
        },
        gpu: |cuda| cuda.put(Lane::Blocking, me, dest.offset(), source),
    }

    /// See [`Transport::fence`].
    fn fence / fence_rarely(lane: Lane) -> () {
        host: |host| host.fence(),
        checked: |_, check| check.fence(),
        gpu: |cuda| cuda.order(lane),
    }

    /// See [`Transport::quiet`].
    fn quiet / quiet_rarely(lane: Lane, called: &'static str) -> () {
        host: |host| host.quiet(),
        checked: |_, check| check.quiet(called),
        gpu: |cuda| cuda.quiet(lane),
    }

    /// See [`Transport::quiet_before_release`].
    fn quiet_before_release / quiet_before_release_rarely(lane: Lane, called: &'static str) -> () {
        host: |host| host.quiet_before_release(),
        checked: |_, check| check.quiet(called),
        gpu: |cuda| cuda.complete(lane),
    }
}
