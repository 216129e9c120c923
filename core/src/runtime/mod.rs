//! A PE's membership in a job. It owns everything below it; there is no global state.

#[cfg(test)]
mod damaged;

use crate::bootstrap::{self, UniqueId};
use crate::collectives::FinalizeNotice;
use crate::debug::Level;
use crate::heap::Heap;
use crate::job::bell;
use crate::job::block::Control;
use crate::job::interrupt::InterruptHook;
use crate::job::layout::Layout;
use crate::job::liveness::{self, Chore, Watchdog};
use crate::job::membership::Membership;
use crate::job::places::Places;
use crate::job::process::pid_of;
use crate::job::published::{Target, Wait};
use crate::job::roll::{Part, Word};
use crate::job::segment::Segment;
use crate::job::state::State;
use crate::job::{fork, tell};
use crate::operation::Operation;
use crate::sites::Sites;
use crate::stream::{GpuStream, Queue};
use crate::team::Teams;
use crate::track::{Ledger, Resource};
#[cfg(test)]
use crate::transport::channel::{ChannelTransport, Links};
use crate::transport::check::{self, Checked, Checker};
use crate::transport::cuda::CudaTransport;
use crate::transport::host::HostTransport;
use crate::transport::{Lane, Route};
use crate::wait;
use crate::{Error, MemoryKind, Pe, Result, board, config};
use std::any::Any;
use std::cell::RefCell;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What a job may be told at init. All PEs must agree on `heap_bytes`, `memory` and `check`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InitAttr {
    /// Bytes of symmetric heap per PE; `None` takes `NVSHMEM_SYMMETRIC_SIZE`, else the machine's default.
    pub heap_bytes: Option<u64>,
    /// Where the heap lives; `None` takes `NVSHMEMRS_MEMORY`, else host.
    pub memory: Option<MemoryKind>,
    /// The GPU that this PE uses, if the heap is in device memory, as this process counts them; `None` takes the one of the calling
    /// thread's current CUDA context, else one by the PE's number.
    pub device: Option<i32>,
    /// How long a wait may last, at most 10^9 s; `None` takes `NVSHMEMRS_TIMEOUT`, else there is no limit.
    pub timeout: Option<Duration>,
    /// How long init may last, at most 10^9 s; `None` takes `NVSHMEMRS_INIT_TIMEOUT`, else a minute.
    pub init_timeout: Option<Duration>,
    /// Whether the job is checked for missing synchronisation; `None` takes `NVSHMEMRS_CHECK`, else it is not.
    pub check: Option<bool>,
    /// What the checker's choices follow from; `None` takes `NVSHMEMRS_CHECK_SEED`, else it is random.
    pub check_seed: Option<u64>,
}

/// What init goes by, once the environment has been asked.
#[derive(Clone, Debug)]
pub(crate) struct Resolved {
    pub(crate) memory: MemoryKind,
    pub(crate) device: Option<i32>,
    pub(crate) heap_bytes: Option<u64>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) init_timeout: Duration,
    pub(crate) stop_timeout: Option<Duration>,
    pub(crate) track: bool,
    pub(crate) check: check::Settings,
    /// How the PEs reach each other, if by messages only.
    #[cfg(test)]
    pub(crate) links: Option<Arc<Links>>,
}

impl InitAttr {
    pub(crate) fn resolve(&self) -> Result<Resolved> {
        let memory = match self.memory {
            Some(memory) => memory,
            None => config::memory()?,
        };
        let check = check::Settings::of(self.check, self.check_seed)?;
        if memory == MemoryKind::Device && check.wanted() {
            return Err(Error::NotSupported(
                "the checker looks at host memory only: switch it off (NVSHMEMRS_CHECK), or use NVSHMEMRS_MEMORY=host".into(),
            ));
        }
        if let (MemoryKind::Host, Some(device)) = (memory, self.device) {
            return Err(Error::invalid(
                "device",
                device,
                "none, because the heap is in host memory; set memory to device (NVSHMEMRS_MEMORY), too",
            ));
        }
        let timeout = match self.timeout {
            Some(limit) => Some(config::limit_from("timeout", limit)?),
            None => config::timeout()?,
        };
        let init_timeout = match self.init_timeout {
            Some(limit) => config::limit_from("init_timeout", limit)?,
            None => config::init_timeout()?,
        };
        let heap_bytes = match self.heap_bytes {
            Some(0) => return Err(Error::invalid("heap_bytes", 0, "at least 1 byte")),
            Some(bytes) => Some(bytes),
            None => config::symmetric_size()?,
        };
        Ok(Resolved {
            memory,
            device: self.device,
            heap_bytes,
            timeout,
            init_timeout,
            stop_timeout: config::stop_timeout()?,
            track: config::track()?,
            check,
            #[cfg(test)]
            links: None,
        })
    }
}

/// Keeps a heap's memory mapped in this process, also after finalize, for foreign arrays that may outlive the runtime.
#[derive(Debug)]
pub struct Mapping {
    _segment: Arc<Segment>,
    _elsewhere: Option<Arc<dyn Any + Send + Sync>>,
    /// Tells whether the mapping is still there.
    _there: Arc<()>,
}

/// How long a PE that leaves waits for kernels that were told to end.
const SETTLE: Duration = Duration::from_secs(2);

/// Marks a runtime that is no longer live, where the fork generation would be.
const ENDED: u64 = u64::MAX;

pub(crate) struct Inner {
    /// The fork generation of the process that joined, or [`ENDED`].
    live: AtomicU64,
    pub(crate) my_pe: Pe,
    pub(crate) n_pes: Pe,
    pub(crate) layout: Layout,
    pub(crate) transport: Route,
    pub(crate) control: Control,
    pub(crate) heap: Heap,
    pub(crate) teams: Teams,
    streams: Mutex<Vec<Weak<Queue>>>,
    /// The threads of streams that were dropped; finalize waits for them.
    dropped_streams: Mutex<Vec<JoinHandle<()>>>,
    /// The streams of the GPU that finalize waits for.
    gpu_streams: Mutex<Vec<Arc<GpuStream>>>,
    pub(crate) spins: AtomicU32,
    pub(crate) timeout: Option<Duration>,
    /// When init is over, on the monotonic clock in ns.
    pub(crate) init_until: u64,
    pub(crate) interrupted: AtomicBool,
    pub(crate) hook: Mutex<Option<InterruptHook>>,
    pub(crate) debug: Level,
    /// Where operations are called, if the checker or the list of allocations wants to know.
    pub(crate) sites: Option<Arc<Sites>>,
    /// What was made and is not freed, if somebody wants to know.
    pub(crate) ledger: Option<Ledger>,
    watchdog: Mutex<Option<Watchdog>>,
    /// Where the launcher hears of this PE, and whether it has heard which one this PE has seen go wrong.
    word: Option<Word>,
    blamed: AtomicBool,
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
            ENDED => Error::NotInitialized("this runtime has been finalized; call init first"),
            _ => Error::Forked { pe: self.my_pe },
        }
    }

    /// Whether the caller is a forked child.
    pub(crate) fn forked(&self) -> bool {
        !matches!(self.live.load(Relaxed), live if live == ENDED || live == fork::generation())
    }

    /// The streams of this PE, to add one to.
    pub(crate) fn streams(&self) -> MutexGuard<'_, Vec<Weak<Queue>>> {
        let mut streams = crate::lock::lock(&self.streams);
        streams.retain(|stream| stream.strong_count() > 0);
        streams
    }

    /// The streams that still exist.
    fn live_streams(&self) -> Vec<Arc<Queue>> {
        self.streams().iter().filter_map(Weak::upgrade).collect()
    }

    fn dropped_streams(&self) -> MutexGuard<'_, Vec<JoinHandle<()>>> {
        crate::lock::lock(&self.dropped_streams)
    }

    /// Lets the thread of a stream that was dropped go on until its queue is empty.
    pub(crate) fn leave_running(&self, thread: JoinHandle<()>) {
        let mut threads = self.dropped_streams();
        threads.retain(|thread| !thread.is_finished());
        if self.live.load(Acquire) != ENDED {
            threads.push(thread);
        }
    }

    fn gpu_streams(&self) -> MutexGuard<'_, Vec<Arc<GpuStream>>> {
        crate::lock::lock(&self.gpu_streams)
    }

    /// Adds a stream to those that finalize waits for. Of those that were dropped, the idle ones are forgotten.
    pub(crate) fn add_gpu_stream(&self, stream: &Arc<GpuStream>) {
        let mut streams = self.gpu_streams();
        streams.retain(|stream| Arc::strong_count(stream) > 1 || !stream.query().unwrap_or(true));
        streams.push(Arc::clone(stream));
    }

    /// The program drops a stream. One of its own it may destroy now, so that is not touched any more; ours goes on until it is idle.
    /// What is on it is waited for by finalize.
    pub(crate) fn let_gpu_stream_go(&self, stream: &Arc<GpuStream>) {
        if self.ready().is_err() {
            // A forked child; or the runtime has ended, and has let go of all streams.
            return;
        }
        if let Some(cuda) = self.transport.cuda() {
            cuda.let_go(stream.raw(), stream.made_in());
        }
        if stream.is_foreign() {
            self.gpu_streams().retain(|one| !Arc::ptr_eq(one, stream));
        }
    }

    /// Lets all streams of the GPU go, and waits until their work has ended, which was told to.
    fn settle_gpu(&self) {
        let Some(cuda) = self.transport.cuda() else {
            return;
        };
        for stream in std::mem::take(&mut *self.gpu_streams()) {
            cuda.let_go(stream.raw(), stream.made_in());
        }
        if !cuda.settle(SETTLE) {
            self.debug.write(Level::Warn, self.my_pe, || {
                "the GPU memory of the heap stays mapped until this process ends: work on a stream has not come to its end".into()
            });
        }
    }

    /// Waits for the streams of the GPU, and tells the members of each team, as soon as this PE is done with it, that it comes to no
    /// further collective: kernels of theirs may wait for one, and ours for what comes after it.
    fn drain_gpu_streams(&self) -> Result<()> {
        let streams = self.gpu_streams().clone();
        let notice = RefCell::new(FinalizeNotice::new(self));
        let mut drained = Ok(());
        for stream in &streams {
            let done = self.wait_until_done(Operation::Finalize, &|| {
                notice.borrow_mut().look()?;
                stream.query()
            });
            drained = drained.and(done);
        }
        if let Some(cuda) = self.transport.cuda() {
            let done = self.wait_until_done(Operation::Finalize, &|| {
                notice.borrow_mut().look()?;
                cuda.left_nothing()
            });
            drained = drained.and(done);
        }
        // An error of the driver says that nothing runs any more.
        let idle = |done: Result<bool>| done.unwrap_or(true);
        let told = notice.into_inner().finish(|| {
            let left = self
                .transport
                .cuda()
                .map_or(Ok(true), |cuda| cuda.left_nothing());
            idle(left) && streams.iter().all(|stream| idle(stream.query()))
        });
        drained.and(told)
    }

    fn state(&self, state: State) {
        tell::state(self.control.pe(self.my_pe), state);
    }

    /// Ends the kernels of this PE that wait for one that is gone, or on a broken team; for the watchdog.
    fn kernels_chore(&self) -> Option<Chore> {
        let completion = Arc::clone(self.transport.cuda()?.completion());
        let (control, me) = (self.control.clone(), self.my_pe);
        Some(Box::new(move || completion.watch(&control, me)))
    }

    /// An error if a PE of the job is gone.
    #[inline(always)]
    pub(crate) fn check_job(&self, operation: Operation) -> Result<()> {
        match self.control.header().gone.load(Acquire) {
            0 => Ok(()),
            _ => Err(self.pe_gone(operation)),
        }
    }

    /// Tells the launcher, once, which PE this one has seen go wrong.
    fn blame(&self, pe: Pe) {
        if let Some(word) = &self.word
            && !self.blamed.swap(true, Relaxed)
        {
            word.blame(pe);
        }
    }

    #[cold]
    fn pe_gone(&self, operation: Operation) -> Error {
        let header = self.control.header();
        let pe = header.first_gone.load(Acquire).saturating_sub(1) as Pe;
        if !(0..self.n_pes).contains(&pe) {
            return Error::Internal(format!(
                "the job's control block names PE {pe} of {}",
                self.n_pes
            ));
        }
        self.blame(pe);
        let block = self.control.pe(pe);
        let how = match State::from_number(block.state.load(Acquire)) {
            State::Left => "left without finalize",
            State::Finalizing | State::Finalized => "ended inside finalize",
            _ => "ended without finalize",
        };
        Error::PeDied {
            pe,
            pid: pid_of(&self.control, pe),
            how,
            place: board::last_place(&self.control, pe),
            operation: operation.name(),
            me: self.my_pe,
        }
    }

    fn finalize(&self) -> Result<()> {
        self.ready()?;
        let mut drained = Ok(());
        for stream in self.live_streams() {
            stream.close();
            drained = drained.and(stream.drain(self, Operation::Finalize));
        }
        drained = drained.and(self.drain_gpu_streams());
        let threads = std::mem::take(&mut *self.dropped_streams());
        if drained.is_ok() {
            for thread in threads {
                // Its queue is closed and empty, so it is about to return.
                let _ = thread.join();
            }
        }
        let completed = self.transport.quiet(Lane::Blocking, "finalize");
        let report = self.publish_unfreed();
        self.state(State::Finalizing);
        bell::ring_everyone(&self.control);
        let wait = Wait {
            operation: Operation::Finalize,
            target: Target::Job,
        };
        let result = self.wait(wait, || liveness::all_are(&self.control, State::Finalizing));
        if let Some(report) = report {
            self.write_unfreed(&report, result.is_ok());
        }
        let checked = self.check_findings();
        if let Some(word) = &self.word {
            word.take_part(Part::Finalized);
        }
        self.end(State::Finalized);
        self.debug.write(Level::Info, self.my_pe, || match &result {
            Ok(()) => "finalized".to_string(),
            Err(error) => format!("finalized, but {error}"),
        });
        drained.and(completed).and(result).and(checked)
    }

    /// An error if the checker has found something on any PE that has come to finalize.
    fn check_findings(&self) -> Result<()> {
        let Some(notes) = self.transport.notes() else {
            return Ok(());
        };
        if let Some(summary) = notes.summary() {
            check::write(&summary);
        }
        match notes.findings() {
            (_, 0) => Ok(()),
            (own, found) => Err(Error::CheckFailed {
                found,
                own,
                me: self.my_pe,
            }),
        }
    }

    fn end(&self, state: State) {
        self.live.store(ENDED, Release);
        for stream in self.live_streams() {
            stream.abandon();
        }
        if let Some(notes) = self.transport.notes() {
            notes.stop();
        }
        if state == State::Left {
            // Whoever sees a kernel of its own ended sees why.
            liveness::mark_gone(&self.control, self.my_pe, state);
        }
        self.transport.any().leave(state == State::Left);
        self.settle_gpu();
        self.forget_buffers();
        if state != State::Left {
            self.state(state);
        }
        let watchdog = crate::lock::lock(&self.watchdog).take();
        if let Some(watchdog) = watchdog {
            watchdog.stop();
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if self.live.load(Relaxed) != ENDED {
            // A forked child: the threads are the parent's and cannot be joined or let go here.
            let slot = self
                .watchdog
                .get_mut()
                .unwrap_or_else(|poison| poison.into_inner());
            std::mem::forget(slot.take());
            let streams = self
                .dropped_streams
                .get_mut()
                .unwrap_or_else(|poison| poison.into_inner());
            std::mem::forget(std::mem::take(streams));
            if let Some(notes) = self.transport.notes() {
                notes.abandon();
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
    member: bool,
    /// Where operations that are called on it go.
    pub(crate) lane: Lane,
}

impl Drop for Runtime {
    fn drop(&mut self) {
        // Arrays may outlive the runtime; the PE's membership must not.
        self.leave();
    }
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
    /// Joins the job that the environment describes: `nvshmemrs-run`, `torchrun`, `mpirun`, `srun` on one host. Without any
    /// of them the caller is the only PE.
    ///
    /// Collective over all PEs of the job. OpenSHMEM 1.5 section 9.1.1.
    pub fn init() -> Result<Runtime> {
        Runtime::init_with(&InitAttr::default())
    }

    /// As [`init`](Runtime::init), with attributes.
    pub fn init_with(attr: &InitAttr) -> Result<Runtime> {
        bootstrap::from_environment(attr)
    }

    /// Joins the job that `id` names, as PE `pe` of `n_pes`. The PEs are processes of one host, or threads of them.
    ///
    /// Collective over all PEs of the job. NVSHMEM `nvshmemx_init_attr` with a unique id.
    pub fn init_unique_id(id: &UniqueId, pe: Pe, n_pes: Pe, attr: &InitAttr) -> Result<Runtime> {
        bootstrap::from_unique_id(id, pe, n_pes, attr)
    }

    /// Makes the runtime of PE `me`, which has taken its place, and waits for the others, `until` when they must be there.
    pub(crate) fn assemble(
        control: Control,
        me: Pe,
        attr: &Resolved,
        membership: Membership,
        until: Instant,
        cuda: Option<CudaTransport>,
        word: Option<Word>,
    ) -> Result<Runtime> {
        fork::watch();
        let heap_bytes = control.heap_bytes();
        let seed = control.check_seed();
        let sites = (attr.track || seed.is_some()).then(Sites::new);
        let (layout, transport) = match cuda {
            Some(cuda) => (cuda.layout(), Route::Other(Box::new(cuda))),
            None => {
                let layout = Layout::new(
                    control.segment().base() + Control::heap_offset(control.n_pes()),
                    Control::stride(heap_bytes),
                    heap_bytes,
                    me,
                    control.n_pes(),
                );
                let host = HostTransport::new(Arc::clone(control.segment()), layout, me);
                let proper = Route::Host(host);
                #[cfg(test)]
                let proper = ChannelTransport::over(proper, attr.links.as_ref(), &control, me)?;
                let transport = match (seed, &sites) {
                    (Some(_), Some(sites)) => {
                        let (sites, below) = (Arc::clone(sites), proper.boxed());
                        let check = Checker::start(&control, layout, me, below, sites)?;
                        Route::Other(Box::new(Checked(check)))
                    }
                    _ => proper,
                };
                (layout, transport)
            }
        };
        let left = until.saturating_duration_since(Instant::now());
        let inner = Inner {
            live: AtomicU64::new(fork::generation()),
            my_pe: me,
            n_pes: control.n_pes(),
            layout,
            transport,
            heap: Heap::new(&layout),
            teams: Teams::new(&control),
            streams: Mutex::default(),
            dropped_streams: Mutex::default(),
            gpu_streams: Mutex::default(),
            spins: AtomicU32::new(0),
            timeout: attr.timeout,
            init_until: crate::clock::now_ns().saturating_add(left.as_nanos() as u64),
            interrupted: AtomicBool::new(false),
            hook: Mutex::new(bootstrap::hook()),
            debug: Level::from_environment(),
            ledger: sites.clone().filter(|_| attr.track).map(Ledger::new),
            sites,
            watchdog: Mutex::new(None),
            word,
            blamed: AtomicBool::new(false),
            control,
        };
        if membership == Membership::Process && inner.n_pes > 1 {
            let control = inner.control.clone();
            let chore = inner.kernels_chore();
            let watchdog = Watchdog::start(control, me, attr.stop_timeout, chore)?;
            *crate::lock::lock(&inner.watchdog) = Some(watchdog);
        }
        let runtime = Runtime {
            inner: Arc::new(inner),
            member: true,
            lane: Lane::Blocking,
        };
        let inner = &runtime.inner;
        if let Some(cuda) = inner.transport.cuda() {
            let weak = Arc::downgrade(inner);
            cuda.wait_by(Box::new(move |wait, done| match weak.upgrade() {
                Some(inner) => inner.wait_for(wait, done),
                None => Err(Error::NotInitialized("the runtime has been dropped")),
            }));
        }
        let wait = Wait {
            operation: Operation::Init,
            target: Target::Job,
        };
        inner.wait(wait, || liveness::all_are(&inner.control, State::Active))?;
        if let Some(word) = &inner.word {
            word.take_part(Part::Joined);
        }
        inner.make_predefined(&Places::read(&inner.control));
        inner.spins.store(wait::spins(&inner.control), Relaxed);
        if let (0, Some(seed)) = (me, seed) {
            check::write(&format!(
                "nvshmemrs check: on for {} PEs, seed {seed} (NVSHMEMRS_CHECK_SEED={seed} repeats its choices)\n",
                inner.n_pes
            ));
        }
        if let Some(cuda) = inner.transport.cuda() {
            inner.debug.write(Level::Info, me, || {
                format!(
                    "{}, kernels from {}",
                    cuda.device(),
                    cuda.kernels().origin()
                )
            });
        }
        inner.debug.write(Level::Info, me, || {
            format!(
                "joined; PEs in the job: {}; symmetric heap of each: {heap_bytes} bytes of {} memory",
                inner.n_pes,
                inner.transport.any().kind()
            )
        });
        if me == 0 {
            inner.debug.tell_settings(me);
        }
        Ok(runtime)
    }

    /// Leaves the job: completes outstanding operations, then waits for the other PEs. The runtime has ended afterwards, also
    /// when the result is an error.
    ///
    /// Collective over WORLD. OpenSHMEM 1.5 section 9.1.4.
    pub fn finalize(self) -> Result<()> {
        self.finalize_in_place()
    }

    /// As [`finalize`](Runtime::finalize), for a value that a signal handler must be able to [`interrupt`](Runtime::interrupt)
    /// meanwhile. One thread may call it, once.
    pub fn finalize_in_place(&self) -> Result<()> {
        if !self.member {
            return Err(Error::OnStream("finalize"));
        }
        self.inner.finalize()
    }

    /// Leaves the job without the other PEs, which learn that this PE left, as dropping the runtime does. Waits of this PE's own
    /// other threads end, too. Local; never waits for other PEs.
    pub fn leave(&self) {
        if self.member && self.inner.ready().is_ok() {
            self.inner.end(State::Left);
        }
    }

    /// What a stream calls operations on. Dropping it does not leave the job.
    pub(crate) fn view(inner: &Arc<Inner>) -> Runtime {
        Runtime::view_on(inner, Lane::Blocking)
    }

    /// As [`view`](Runtime::view), whose operations go to a lane.
    pub(crate) fn view_on(inner: &Arc<Inner>, lane: Lane) -> Runtime {
        Runtime {
            inner: Arc::clone(inner),
            member: false,
            lane,
        }
    }

    /// This PE's number. Local. OpenSHMEM 1.5 section 9.1.5.
    #[inline]
    pub fn my_pe(&self) -> Pe {
        self.inner.my_pe
    }

    /// The number of PEs. Local. OpenSHMEM 1.5 section 9.1.6.
    #[inline]
    pub fn n_pes(&self) -> Pe {
        self.inner.n_pes
    }

    /// The GPU that this PE uses, as this process counts them; `None` if the heap is in host memory. Local.
    pub fn device(&self) -> Option<i32> {
        self.inner
            .transport
            .cuda()
            .map(|cuda| cuda.device().ordinal())
    }

    /// This process's mapping of the heap, which stays valid as long as the value lives. Local.
    #[track_caller]
    pub fn mapping(&self) -> Mapping {
        let there = Arc::default();
        self.inner
            .note_while("heap_keep", Resource::Mapping, &there);
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

    /// Whether the job is whole: otherwise the error that every waiting call would return. Local; never waits.
    pub fn check(&self) -> Result<()> {
        self.inner.ready()?;
        self.inner.check_kernels(Operation::Check)
    }

    /// What the checker has found on this PE: how often, and the texts of the last findings, oldest first. Nothing in a job that is
    /// not checked. Local.
    pub fn check_reports(&self) -> (u64, Vec<String>) {
        match self.inner.transport.notes() {
            Some(notes) => (notes.findings().0, notes.reports()),
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

    /// Lets this PE wait again. Local.
    pub fn interrupt_clear(&self) {
        self.inner.interrupted.store(false, Release);
    }

    /// Sets, or removes, the function that long waits of this PE call when a signal arrives and at least every 50 ms. Local.
    pub fn set_interrupt_hook(&self, hook: Option<InterruptHook>) {
        *crate::lock::lock(&self.inner.hook) = hook;
    }
}
