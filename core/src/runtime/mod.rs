//! A PE's membership in a job. It owns everything below it; there is no global state.
//!
//! This module has its parts, and the check with which every operation begins. [`lifecycle`](crate::lifecycle) creates and ends a
//! runtime.

mod attributes;
#[cfg(test)]
mod damaged;
mod ledger;
mod running;
mod streams;
mod teams;
mod traced;

pub use attributes::InitAttr;
pub(crate) use attributes::{Limits, Resolved};
pub(crate) use streams::{Streams, WorkQueue};
pub(crate) use traced::Span;

use crate::callers::Callers;
use crate::config::Value;
use crate::debug::Level;
use crate::heap::Heap;
use crate::job::block::Control;
use crate::job::exit_registry::{Progress, RegistryReader};
use crate::job::interrupt::{InterruptHook, on_thread};
use crate::job::layout::Layout;
use crate::job::liveness::Watchdog;
use crate::job::process::{self, pid_of};
use crate::job::segment::Segment;
use crate::job::state::State;
use crate::job::{fork, shared_words};
use crate::operation::Operation;
use crate::sites::Sites;
use crate::team::{Grouped, Teams};
use crate::track::{Ledger, Resource};
use crate::transport::trace::Trace;
use crate::transport::traffic::Traffic;
use crate::transport::{Context, Issued, Issuer, Route, Submission};
use crate::words::numbered;
use crate::{Error, Pe, Result, board};
use std::any::Any;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex, OnceLock};

/// Keeps a heap's memory mapped in this process, also after finalize, for foreign arrays that may outlive the runtime.
#[derive(Debug)]
pub struct Mapping {
    _segment: Arc<Segment>,
    _elsewhere: Option<Arc<dyn Any + Send + Sync>>,
    /// Its weak references show whether the mapping exists.
    _there: Arc<()>,
}

/// Marks a runtime that is no longer live, in place of the fork generation.
pub(crate) const ENDED: u64 = u64::MAX;
/// As [`ENDED`], for a PE that has left without finalize.
pub(crate) const LEFT: u64 = u64::MAX - 1;

pub(crate) struct Inner {
    /// The fork generation of the process that joined, or [`ENDED`], or [`LEFT`].
    pub(crate) live: AtomicU64,
    pub(crate) my_pe: Pe,
    pub(crate) n_pes: Pe,
    pub(crate) layout: Layout,
    pub(crate) transport: Route,
    pub(crate) control: Control,
    pub(crate) heap: Heap,
    pub(crate) teams: Teams,
    /// The members of teams by host, in a job on several hosts.
    pub(crate) grouped: Grouped,
    pub(crate) streams: Streams,
    /// The number of the last context that was made.
    pub(crate) contexts: AtomicU32,
    pub(crate) spins: AtomicU32,
    pub(crate) limits: Limits,
    pub(crate) interrupted: AtomicBool,
    pub(crate) hook: Mutex<Option<InterruptHook>>,
    pub(crate) debug: Level,
    /// The call sites of operations, if the checker, the ledger or the trace needs them.
    pub(crate) sites: Option<Arc<Sites>>,
    /// How the callers of long waits are known without `sites`.
    pub(crate) callers: Callers,
    /// The objects that are not freed, with `NVSHMEMRS_TRACK`.
    pub(crate) ledger: Option<Ledger>,
    /// The counts of operations, with `NVSHMEMRS_TRAFFIC`.
    pub(crate) traffic: Option<Arc<Traffic>>,
    /// The records of calls, with `NVSHMEMRS_TRACE`.
    pub(crate) trace: Option<Arc<Trace>>,
    /// The settings as they held at init.
    pub(crate) settings: Arc<[Value]>,
    pub(crate) watchdog: Mutex<Option<Watchdog>>,
    /// Objects of init that live as long as the PE is in the job.
    pub(crate) held: Mutex<Option<Box<dyn Any + Send>>>,
    /// The exit registry, if the launcher is ours; `blamed`: this PE has recorded another PE's failure there.
    pub(crate) registry: Option<RegistryReader>,
    pub(crate) blamed: AtomicBool,
    /// Why the executable's variables cannot be symmetric, once that was tried.
    pub(crate) static_data_error: OnceLock<String>,
}

impl Inner {
    /// An error unless this process may use the runtime. Every operation begins with it.
    #[inline(always)]
    pub(crate) fn ready(&self) -> Result<()> {
        if self.live.load(Relaxed) == fork::generation() {
            Ok(())
        } else {
            Err(self.not_ready())
        }
    }

    #[cold]
    fn not_ready(&self) -> Error {
        match self.live.load(Relaxed) {
            ENDED => Error::NotInitialized("this runtime has been finalized: call `init()` first"),
            LEFT => {
                Error::NotInitialized("this PE has left the job: call `init()` to join one again")
            }
            _ => Error::Forked { pe: self.my_pe },
        }
    }

    /// Whether the caller is a forked child.
    pub(crate) fn forked(&self) -> bool {
        !matches!(self.live.load(Relaxed), live if live >= LEFT || live == fork::generation())
    }

    pub(crate) fn state(&self, state: State) {
        shared_words::set_state(self.control.pe(self.my_pe), state);
        if let Some(remote) = self.control.remote() {
            remote.send_state(&self.control);
        }
    }

    /// An error if a PE of the job is gone.
    #[inline(always)]
    pub(crate) fn check_job(&self, operation: Operation) -> Result<()> {
        match self.control.header().gone.load(Acquire) {
            0 => Ok(()),
            _ => Err(self.pe_gone(operation)),
        }
    }

    /// Reports to the launcher, once, the PE whose failure this PE has seen.
    fn blame(&self, pe: Pe) {
        if let Some(registry) = &self.registry
            && !self.blamed.swap(true, Relaxed)
        {
            registry.blame(pe);
        }
    }

    /// The PE that was gone first, and how it ended.
    fn lost(&self) -> Result<(Pe, &'static str)> {
        let header = self.control.header();
        let pe = header.first_gone.load(Acquire).saturating_sub(1) as Pe;
        if !(0..self.n_pes).contains(&pe) {
            return Err(Error::Internal(format!(
                "the job's control block names PE {pe} of {}",
                self.n_pes
            )));
        }
        let block = self.control.pe(pe);
        let how = match State::from_number(block.state.load(Acquire)) {
            State::Left => "left without finalize",
            State::Finalizing | State::Finalized => "ended inside finalize",
            _ => "ended without finalize",
        };
        Ok((pe, how))
    }

    /// Ends this process if a PE has asked all processes of the job to exit.
    fn exit_if_asked(&self) {
        let exit = self.control.header().exit.load(Acquire);
        if let (Some(registry), true) = (&self.registry, exit != 0) {
            // The launcher need not tell that it has not.
            registry.set_part(Progress::Finalized);
        }
        process::exit_if_asked(&self.control);
    }

    /// Logs which PE is gone, if `NVSHMEM_DEBUG` enables it.
    pub(crate) fn log_loss(&self) {
        self.exit_if_asked();
        if let Ok((pe, how)) = self.lost()
            && pe != self.my_pe
        {
            self.debug.write(Level::Warn, self.my_pe, || {
                let (pid, place) = (
                    pid_of(&self.control, pe),
                    board::last_place(&self.control, pe),
                );
                format!("PE {pe} ({}) {how}{place}", numbered(pid))
            });
        }
    }

    #[cold]
    fn pe_gone(&self, operation: Operation) -> Error {
        self.exit_if_asked();
        let (pe, how) = match self.lost() {
            Ok(lost) => lost,
            Err(error) => return error,
        };
        // Its own watchdog has said so, or another PE that has found its lock free.
        if pe == self.my_pe
            && let Err(error) = self.control.check_descriptor()
        {
            return error;
        }
        self.blame(pe);
        Error::PeDied {
            pe,
            pid: pid_of(&self.control, pe),
            how,
            place: board::last_place(&self.control, pe),
            operation: operation.name(),
            me: self.my_pe,
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if self.live.load(Relaxed) < LEFT {
            // A forked child: the threads are the parent's and cannot be joined or let go here.
            let slot = self
                .watchdog
                .get_mut()
                .unwrap_or_else(|poison| poison.into_inner());
            std::mem::forget(slot.take());
            self.streams.forget_threads();
            if let Some(observer) = self.transport.observer() {
                observer.abandon();
            }
        }
    }
}

/// A PE's membership in a job.
///
/// Any thread of the PE may use it; one collective per team at a time. Dropping it without
/// [`finalize`](Runtime::finalize) leaves the job, which the other PEs' waits report as an error.
pub struct Runtime {
    pub(crate) inner: Arc<Inner>,
    /// Whether this is the PE's membership, or only a way for a stream to reach it.
    pub(crate) member: bool,
    /// The submission of operations that are called on it.
    pub(crate) submission: Submission,
    /// Their context.
    pub(crate) context: Context,
}

impl std::fmt::Debug for Runtime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Runtime(PE {} of {})",
            self.inner.my_pe, self.inner.n_pes
        )
    }
}

impl Runtime {
    /// The runtime on which a stream calls operations. Dropping it does not leave the job.
    pub(crate) fn view(inner: &Arc<Inner>) -> Runtime {
        Runtime::view_on(inner, Submission::Blocking)
    }

    /// As [`view`](Runtime::view), with a submission for its operations.
    pub(crate) fn view_on(inner: &Arc<Inner>, submission: Submission) -> Runtime {
        Runtime {
            inner: Arc::clone(inner),
            member: false,
            submission,
            context: 0,
        }
    }

    /// A new context: its operations are those of this runtime, but fence and quiet of one context do not order or complete the operations
    /// of another, the runtime's own among them. A barrier completes the runtime's own operations only. Dropping it does not complete its
    /// operations.
    ///
    /// Local. OpenSHMEM 1.5 section 9.5.
    pub fn context(&self) -> Result<Runtime> {
        self.inner.ready()?;
        let mut context = Runtime::view(&self.inner);
        context.context = self
            .inner
            .contexts
            .fetch_add(1, Relaxed)
            .wrapping_add(1)
            .max(1);
        Ok(context)
    }

    /// Whether it is a context of this runtime. Local.
    pub fn is_context_of(&self, runtime: &Runtime) -> bool {
        self.context != 0 && Arc::ptr_eq(&self.inner, &runtime.inner)
    }

    #[inline(always)]
    pub(crate) fn issue(&self, called: Operation) -> Issued<'_> {
        let issuer = Issuer {
            submission: self.submission,
            context: self.context,
        };
        self.inner.transport.issue(issuer, called)
    }

    /// This PE's number. Local. OpenSHMEM 1.5 section 9.1.2.
    #[inline]
    pub fn my_pe(&self) -> Pe {
        self.inner.my_pe
    }

    /// The number of PEs. Local. OpenSHMEM 1.5 section 9.1.3.
    #[inline]
    pub fn n_pes(&self) -> Pe {
        self.inner.n_pes
    }

    /// The GPU of this PE, by its number in this process; `None` if the heap is in host memory. Local.
    pub fn device(&self) -> Option<i32> {
        self.inner.transport.properties().device
    }

    /// This process's mapping of the heap, which stays valid as long as the value lives. Local.
    #[track_caller]
    pub fn mapping(&self) -> Mapping {
        let there = Arc::default();
        self.inner
            .note_while(Operation::HeapKeep, Resource::Mapping, &there);
        Mapping {
            _segment: Arc::clone(self.inner.control.segment()),
            _elsewhere: self.inner.transport.any().mapping(),
            _there: there,
        }
    }

    /// An error if this runtime has ended, or if the caller is a forked child. Local; never waits.
    pub fn check_live(&self) -> Result<()> {
        self.inner.ready()
    }

    /// The error that every waiting call would return, if there is one. Local; never waits.
    pub fn check(&self) -> Result<()> {
        self.inner.ready()?;
        self.inner.check_kernels()?;
        self.inner.check_running(Operation::Check)
    }

    /// The checker's findings on this PE: their number, and the texts of the last findings, oldest first. None in a job that is not
    /// checked. Local.
    pub fn check_reports(&self) -> (u64, Vec<String>) {
        match self.inner.transport.observer() {
            Some(observer) => (observer.findings().0, observer.reports()),
            None => (0, Vec::new()),
        }
    }

    /// The board of this job. Local.
    pub fn board(&self) -> crate::board::Board {
        crate::board::Board::of_job(&self.inner.control)
    }

    /// Ends every wait of this PE, now and later, with [`Error::Interrupted`]. May be called from a signal handler. Local.
    pub fn interrupt(&self) {
        self.inner.interrupted.store(true, Release);
    }

    /// Whether waits of this PE end: see [`interrupt`](Runtime::interrupt). Finalize ends those of other threads, too. Local.
    #[doc(hidden)]
    pub fn is_interrupted(&self) -> bool {
        self.inner.interrupted.load(Acquire)
    }

    /// Lets this PE wait again. Local.
    pub fn interrupt_clear(&self) {
        self.inner.interrupted.store(false, Release);
    }

    /// Sets, or removes, the function that long waits of this PE call when a signal arrives and at least every 50 ms. Local.
    pub fn set_interrupt_hook(&self, hook: Option<InterruptHook>) {
        *crate::lock::lock(&self.inner.hook) = hook;
    }

    /// As [`set_interrupt_hook`](Runtime::set_interrupt_hook), but only waits of one thread call the function: the one with the number
    /// `thread` in the kernel (`gettid`). Local.
    pub fn set_interrupt_hook_on(&self, thread: i32, hook: Option<InterruptHook>) {
        self.set_interrupt_hook(hook.map(|hook| on_thread(thread, hook)));
    }
}
