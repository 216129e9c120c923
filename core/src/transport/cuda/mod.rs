//! GPU memory: the heap of every PE is memory of its GPU, which the GPUs of the other PEs can load from and store to.
//! docs/device-memory.md tells how it works; what the PEs share besides the heap stays in the job's segment of host memory.
//!
//! | folder or file | what it holds |
//! |---|---|
//! | [`memory`] | the heap's memory: made, mapped for all PEs, registered; pinned memory that host and kernels share |
//! | [`operations`] | put, get, atomics, signals, waits; the blocking stream; staging |
//! | [`streams`] | streams and events; their order among a team's collectives; backpressure |
//! | [`collectives`] | what the kernels of teams need, and how they end |
//! | [`kernels`] | the device code, what it is given, and its launches |
//! | [`images`] | where the compiled device code comes from |
//! | [`driver`], [`device`] | the driver and its errors; a GPU with its context |
//! | [`introduction`] | what PEs tell each other of their GPUs at init |
//! | [`survey`], [`nvml`] | what `nvshmemrs-info` shows of the GPUs |

pub(crate) mod collectives;
pub(crate) mod device;
pub(crate) mod driver;
pub(crate) mod images;
mod introduction;
pub(crate) mod kernels;
pub(crate) mod memory;
mod nvml;
mod operations;
pub(crate) mod streams;
pub mod survey;

pub(crate) use collectives::completion::{Completion, CompletionCounts};
pub(crate) use device::Device;
pub(crate) use memory::default_heap_bytes;
pub(crate) use memory::exchange::Links;
pub(crate) use memory::segment::Segment;
pub use streams::CudaStreamRef;
pub(crate) use streams::{CudaEvent, CudaStream};

use crate::lock::lock;

use crate::job::block::Control;
use crate::job::layout::{self, Layout};
use crate::job::published::Wait;
use crate::operation::Operation;
use crate::{Error, Pe, Result};
use driver::{OutsideCapture, check};
use introduction::Introduction;
use kernels::{Kernels, State};
use memory::chunks::Chunks;
use memory::exchange::{Exchange, Limit, Patience, Share};
use memory::mailbox::Mailbox;
use memory::segment::Memory;
use memory::share::{hear, say};
use memory::stage::{STAGE, Stage};
use memory::{check_size, stride};
use operations::blocking::{BlockingStream, GivenUp};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};
use streams::backpressure::Backpressure;
use streams::order::{LOOK, LentStream, PER_THREAD, StreamOrder};

/// How long what the library itself has begun may take when the transport goes.
const LEAVING: Duration = Duration::from_secs(2);

/// The transport of a PE.
pub(crate) struct CudaTransport {
    me: Pe,
    layout: Layout,
    control: Control,
    device: Arc<Device>,
    segment: Arc<Segment>,
    /// The way to the PEs of other processes; `None` if all are threads of this one.
    exchange: Option<Exchange>,
    /// The least blocks of a collective that a PE's GPU runs at the same time; `None` if all PEs are threads of this process.
    least: Option<i32>,
    chunks: Mutex<Chunks>,
    /// Ranges at which registered buffers appear, too.
    preferred: Mutex<Vec<Segment>>,
    kernels: Arc<Kernels>,
    mailbox: Arc<Mailbox>,
    completion: Arc<Completion>,
    stream_order: StreamOrder,
    blocking: BlockingStream,
    backpressure: Backpressure,
    /// Whether the memory stays mapped for good, because a kernel may still use it.
    kept: AtomicBool,
    /// What went wrong where it could not be returned.
    failed: Mutex<Failed>,
    /// How this PE waits, once there is a runtime.
    waiter: OnceLock<Waiter>,
    /// Until when it waits before.
    init_until: Instant,
}

/// What went wrong where it could not be returned.
#[derive(Default)]
struct Failed {
    /// For good.
    lasting: Option<Error>,
    /// In a thread that has given up a wait, or found no room because of such.
    passing: Vec<(ThreadId, Error)>,
}

/// Waits, with all that ends a wait of this PE, until what it is given says that it is done.
type Waiter = Box<dyn Fn(Wait, &dyn Fn() -> Result<bool>) -> Result<()> + Send + Sync>;

/// The PEs of a job on GPUs.
pub(crate) enum Company {
    /// All are threads of this process; the range that they share, once one of them has reserved it.
    Threads(Arc<Threads>),
    /// Each is a process.
    Processes(Links),
}

/// What the PEs that are threads of a process share.
#[derive(Default)]
pub(crate) struct Threads {
    segment: Mutex<Weak<Segment>>,
}

impl std::fmt::Debug for Threads {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Threads")
    }
}

impl Threads {
    /// An error if `n_pes` threads of this process cannot have a GPU each.
    pub(crate) fn check(n_pes: Pe, asked: Option<i32>) -> Result<()> {
        let count = device::count()?;
        let why = match asked {
            Some(asked) if n_pes > 1 => format!("all of them were told to use GPU {asked}"),
            None if n_pes > count => format!("this process sees {count}"),
            _ => return Ok(()),
        };
        Err(Error::NotSupported(format!(
            "{n_pes} PEs that are threads of one process need a GPU each, but {why}; start fewer, or start processes, which may \
             share a GPU"
        )))
    }

    /// The range, for one more GPU.
    fn segment(&self, device: &Arc<Device>, span: u64, alignment: u64) -> Result<Arc<Segment>> {
        let mut slot = lock(&self.segment);
        match slot.upgrade() {
            Some(segment) => {
                segment.attach(device)?;
                Ok(segment)
            }
            None => {
                let segment = Arc::new(Segment::reserve(device, span, alignment, 0)?);
                *slot = Arc::downgrade(&segment);
                Ok(segment)
            }
        }
    }
}

impl CudaTransport {
    /// Joins the heap of a job, whose control block all PEs share. A PE whose GPU could not be opened takes part with that error.
    ///
    /// Collective over all PEs of the job if they are processes.
    pub(crate) fn join(
        control: &Control,
        me: Pe,
        device: Result<Arc<Device>>,
        company: Company,
        until: Instant,
    ) -> Result<CudaTransport> {
        let (heap_bytes, n_pes) = (control.heap_bytes(), control.n_pes());
        let stride = stride(heap_bytes);
        let alignment = layout::max_alignment(heap_bytes);
        let ready = device.and_then(|device| {
            check_size(me, heap_bytes, &device)?;
            let tools = (
                Arc::new(Mailbox::new(&device)?),
                Kernels::load(&device)?,
                StreamOrder::new(&device)?,
            );
            Ok((device, tools))
        });
        let mut least = None;
        let (parts, exchange) = match company {
            Company::Threads(threads) => {
                let parts = ready.and_then(|(device, tools)| {
                    let segment = threads.segment(&device, stride * n_pes as u64, alignment)?;
                    Ok((device, tools, segment))
                });
                (parts, None)
            }
            Company::Processes(links) => {
                let exchange = Exchange::new(me, n_pes, links);
                let introduction = ready.as_ref().map(|(device, _)| Introduction::of(device));
                let share = Share::saying(say(introduction.map(|one| one.bytes())));
                let patience = Patience {
                    limit: Limit::Init(until),
                    whole: &|| whole(control, me),
                };
                let said = exchange
                    .all(share, &patience)
                    .and_then(|shares| hear(&shares, Operation::Init.name()));
                // An error of its own is the better one.
                let parts = ready.and_then(|(device, tools)| {
                    for (introduction, pe) in said?.iter().zip(0..) {
                        let introduction = Introduction::read(introduction, pe)?;
                        introduction.check(me, &device, pe)?;
                        let blocks = introduction.blocks;
                        least = Some(least.map_or(blocks, |least: i32| least.min(blocks)));
                    }
                    let span = stride * n_pes as u64;
                    let segment = Arc::new(Segment::reserve(&device, span, alignment, 0)?);
                    Ok((device, tools, segment))
                });
                (parts, Some(exchange))
            }
        };
        let (device, (mailbox, kernels, stream_order), segment) = match parts {
            Ok(parts) => parts,
            Err(error) => {
                if let Some(exchange) = exchange {
                    // The others, if they got so far, learn of it.
                    exchange.leave(say(Err(&error)), until);
                }
                return Err(error);
            }
        };
        let layout = Layout::new(segment.base(), stride, heap_bytes, me, n_pes);
        let granularity = device.facts().granularity;
        let transport = CudaTransport {
            me,
            layout,
            control: control.clone(),
            device,
            segment,
            exchange,
            least,
            chunks: Mutex::new(Chunks::new(granularity, heap_bytes)),
            preferred: Mutex::default(),
            kernels: Arc::new(kernels),
            completion: Arc::new(Completion::new(&mailbox)),
            mailbox,
            stream_order,
            blocking: BlockingStream::default(),
            backpressure: Backpressure::default(),
            kept: AtomicBool::new(false),
            failed: Mutex::default(),
            waiter: OnceLock::new(),
            init_until: until,
        };
        transport.segment.join(&transport.completion);
        transport.make_sync_area(until)?;
        Ok(transport)
    }

    /// Says how this PE waits.
    pub(crate) fn wait_by(&self, waiter: Waiter) {
        // It is said once, when the runtime is made.
        let _ = self.waiter.set(waiter);
    }

    fn wait(&self, wait: Wait, done: &dyn Fn() -> Result<bool>) -> Result<()> {
        match self.waiter.get() {
            Some(waiter) => waiter(wait, done),
            None => self.wait_in_init(done),
        }
    }

    #[cold]
    fn wait_in_init(&self, done: &dyn Fn() -> Result<bool>) -> Result<()> {
        let since = Instant::now();
        while !done()? {
            whole(&self.control, self.me)?;
            if Instant::now() >= self.init_until {
                return Err(Error::Timeout {
                    operation: Operation::Init.name(),
                    me: self.me,
                    waited: since.elapsed(),
                    variable: crate::job::published::Limit::InitTimeout.name(),
                    detail: "waits for its GPU to set memory to 0; something of this process's holds it up".into(),
                });
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    /// Where the addresses are.
    pub(crate) fn layout(&self) -> Layout {
        self.layout
    }

    /// Keeps the heap mapped as long as the value lives.
    pub(crate) fn segment(&self) -> &Arc<Segment> {
        &self.segment
    }

    pub(crate) fn device(&self) -> &Arc<Device> {
        &self.device
    }

    /// What the host and this PE's kernels tell each other.
    pub(crate) fn mailbox(&self) -> &Mailbox {
        &self.mailbox
    }

    /// The kernels of this PE's GPU.
    pub(crate) fn kernels(&self) -> &Kernels {
        &self.kernels
    }

    /// Blocks of a collective that every PE's GPU runs at the same time: the same on every PE, once all have joined.
    pub(crate) fn blocks(&self) -> i32 {
        self.least.unwrap_or_else(|| self.segment.blocks())
    }

    /// The job as this PE's kernels see it.
    pub(crate) fn state(&self) -> State {
        let (abort, error) = (self.mailbox.abort_address(), self.mailbox.error_address());
        State::new(&self.layout, self.me, self.control.n_pes(), abort, error)
    }

    /// As [`state`](CudaTransport::state), for the collectives of a team, which are ended by an abort word of their own.
    pub(crate) fn team_state(&self, team: u32) -> State {
        let (abort, error) = (
            self.mailbox.team_address(team),
            self.mailbox.error_address(),
        );
        State::new(&self.layout, self.me, self.control.n_pes(), abort, error)
    }

    fn failed(&self) -> MutexGuard<'_, Failed> {
        lock(&self.failed)
    }

    /// Notes what went wrong where it cannot be returned. The first error that lasts stays; one that has only ended a wait is for the
    /// thread's own next [`failure`](CudaTransport::failure).
    fn note<T: Default>(&self, result: Result<T>) -> T {
        result.unwrap_or_else(|error| {
            let mut failed = self.failed();
            match error {
                Error::Timeout { .. }
                | Error::Interrupted { .. }
                | Error::PeDied { .. }
                | Error::PeStopped { .. }
                // Too much was given up, and may yet be done.
                | Error::NotSupported(_) => {
                    let me = thread::current().id();
                    failed.passing.push((me, error));
                }
                lasting => {
                    failed.lasting.get_or_insert(lasting);
                }
            }
            T::default()
        })
    }

    /// Whether this thread has noted that it gave up, and not asked yet.
    fn has_given_up(&self) -> bool {
        let passing = &self.failed().passing;
        !passing.is_empty() && passing.iter().any(|(id, _)| *id == thread::current().id())
    }

    /// What went wrong where it could not be returned, or in a kernel. It stays: after most errors of the driver nothing works any
    /// more, and members of a collective that has ended like that are in different epochs. That this thread gave up is said once.
    pub(crate) fn failure(&self) -> Result<()> {
        let mut failed = self.failed();
        let mut gave_up = None;
        if !failed.passing.is_empty() {
            let me = thread::current().id();
            let mut own = failed.passing.extract_if(.., |(id, _)| *id == me);
            gave_up = own.next();
            own.for_each(drop);
        }
        let lasting = failed.lasting.clone().or_else(|| self.reported());
        match lasting.or(gave_up.map(|(_, error)| error)) {
            None => Ok(()),
            Some(error) => Err(error),
        }
    }
}

impl Drop for CudaTransport {
    fn drop(&mut self) {
        if self.device.is_ours() {
            // What the library itself has begun is done before its memory goes; most often that was seen to.
            self.settle(LEAVING);
        }
    }
}

/// What PEs do with chunks, for messages.
const EXCHANGING: &str = "an exchange of GPU memory";

/// An error if a PE of the job is gone, or has left a collective of all half-way.
fn whole(control: &Control, me: Pe) -> Result<()> {
    let header = control.header();
    if header.gone.load(Acquire) == 0 {
        return match control.team(0, me).broken.load(Acquire) {
            0 => Ok(()),
            // Who has not come to the exchange, although it has come to the collective.
            mark => Err(crate::job::team::broken(EXCHANGING, 0, mark)),
        };
    }
    let pe = header.first_gone.load(Acquire).saturating_sub(1) as Pe;
    let known = (0..control.n_pes()).contains(&pe);
    Err(Error::PeDied {
        pe,
        pid: if known {
            control.pe(pe).pid.load(Relaxed)
        } else {
            0
        },
        how: "ended without finalize",
        place: String::new(),
        operation: EXCHANGING,
        me,
    })
}
