//! GPU memory: the heap of every PE is memory of its GPU, which the GPUs of the other PEs can load from and store to.
//! docs/device-memory.md tells how it works; what the PEs share besides the heap stays in the job's segment of host memory.
//!
//! | folder or file | contents |
//! |---|---|
//! | [`memory`] | the heap's memory: made, mapped for all PEs, registered; pinned memory that host and kernels share |
//! | [`operations`] | put, get, atomics, signals, waits; the blocking stream; staging |
//! | [`streams`] | streams and events; their order among a team's collectives; backpressure |
//! | [`collectives`] | the state that kernels of teams need, and their end |
//! | [`target_stream`] | the target side of operations of other hosts |
//! | [`device_tables`] | what kernels of the program's get |
//! | [`kernels`] | the device code, its arguments, and its launches |
//! | [`tuning`] | which algorithm does a collective, by tables and a file |
//! | [`images`] | where the compiled device code comes from |
//! | [`driver`], [`device`] | the driver and its errors; a GPU with its context |
//! | [`provider`] | the choice of a PE's GPU, and how the PE joins a job |
//! | [`gpu_info`] | properties of their GPUs that PEs exchange at init |
//! | [`survey`], [`nvml`] | what `nvshmemrs-info` shows of the GPUs |

#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

use nvshmemrs_job::{self as job, allocator};
use nvshmemrs_transport as transport;
use nvshmemrs_vocabulary::{
    Cmp, Dtype, Error, MemoryKind, Pe, Result, buffer, clock, config, dtype, lock, op, operation,
    per_thread, strides,
};

pub(crate) mod collectives;
pub(crate) mod device;
mod device_tables;
pub(crate) mod driver;
mod gpu_info;
pub mod images;
pub(crate) mod kernels;
pub(crate) mod memory;
mod nvml;
mod operations;
mod provider;
pub mod streams;
pub mod survey;
pub(crate) mod target_stream;
#[doc(hidden)]
pub mod tuning;

pub(crate) use collectives::completion::Completion;
pub(crate) use device::Device;
use memory::default_heap_bytes;
pub(crate) use memory::segment::Segment;
pub use provider::CudaProvider;
pub(crate) use streams::CudaEvent;

use crate::buffer::SymRange;
use crate::lock::lock;

use crate::job::block::Control;
use crate::job::layout::{self, Layout};
use crate::job::published::Wait;
use crate::operation::Operation;
use crate::transport::device_state::{ReachablePes, StateAddresses};
use crate::transport::{JobPeers, Owner};
use collectives::TeamTable;
use driver::{OutsideCapture, check};
use gpu_info::GpuInfo;
use kernels::{Kernels, State};
use memory::chunks::Chunks;
use memory::exchange::{Exchange, Limit, Share, WaitPolicy};
use memory::mailbox::Mailbox;
use memory::segment::Memory;
use memory::share::{decode_outcomes, encode_outcome};
use memory::stage::{STAGE, Stage};
use memory::{check_size, stride};
use operations::blocking::{BlockingStream, GivenUp};
use provider::Threads;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant};
use streams::backpressure::Backpressure;
use streams::order::{BorrowedStream, LOOK, PER_THREAD, StreamOrder};
use streams::program::ProgramStream;
use tuning::loaded::Loaded;
use tuning::{Link, Tuning};

/// The limit for the library's own work on the GPU when the transport ends.
const LEAVING: Duration = Duration::from_secs(2);

/// The transport of a PE.
pub(crate) struct CudaTransport {
    me: Pe,
    layout: Layout,
    control: Control,
    device: Arc<Device>,
    segment: Arc<Segment>,
    /// The way to the PEs of this host's other processes; `None` if all are threads of this one.
    exchange: Option<Exchange>,
    /// The least blocks of a collective that a PE's GPU runs at the same time; `None` if all PEs are threads of this process.
    least: Option<i32>,
    /// Which algorithms do collectives, the same on every PE of the host.
    tuning: Tuning,
    chunks: Mutex<Chunks>,
    /// Where registered buffers are in each PE's part.
    registered: Mutex<Vec<SymRange>>,
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
    /// Errors of functions that return none.
    failed: Mutex<Failed>,
    /// The PE that it belongs to, once there is a runtime.
    owner: OnceLock<Arc<dyn Owner>>,
    /// The arguments of the kernels of this PE's teams.
    teams: TeamTable,
    /// Whether kernels of the program's check their arguments.
    device_check: bool,
    /// Whether the job is checked, so kernels of the program's show their operations.
    device_watched: AtomicBool,
    /// The PEs that kernels reach.
    reached: ReachablePes,
    /// The streams that finalize waits for.
    program_streams: Mutex<Vec<Arc<ProgramStream>>>,
    /// Until when it waits before.
    init_until: Instant,
}

/// Errors of functions that return none.
#[derive(Default)]
struct Failed {
    /// For good.
    lasting: Option<Error>,
    /// In a thread that has given up a wait, or found no room because of such.
    passing: Vec<(u64, Error)>,
}

impl CudaTransport {
    /// Joins the heap of a job, whose control block all PEs share. A PE whose GPU could not be opened takes part with that error.
    ///
    /// Collective over all PEs of the host if they are processes.
    fn join(
        control: &Control,
        me: Pe,
        device: Result<(Arc<Device>, Loaded)>,
        (peers, threads): (JobPeers, &Threads),
        until: Instant,
    ) -> Result<CudaTransport> {
        let (heap_bytes, n_pes) = (control.heap_bytes(), control.n_pes());
        let stride = stride(n_pes, heap_bytes);
        let alignment = layout::max_alignment(heap_bytes);
        let ready = device.and_then(|(device, tuning)| {
            check_size(me, heap_bytes, &device)?;
            if me == 0 {
                tuning.tell(me);
            }
            let tools = (
                Arc::new(Mailbox::new(&device)?),
                Kernels::load(&device)?,
                StreamOrder::new(&device)?,
            );
            Ok((device, tools, tuning))
        });
        let mut least = None;
        let (parts, exchange) = match peers {
            JobPeers::Threads => {
                let parts = ready.and_then(|(device, tools, file)| {
                    let segment = threads.segment(&device, stride * n_pes as u64, alignment)?;
                    let link = if n_pes > 1 {
                        Link::Nvlink
                    } else {
                        Link::Shared
                    };
                    let tuning = file.tuning(threads.model(), link);
                    Ok((device, tools, segment, tuning))
                });
                (parts, None)
            }
            JobPeers::Processes(near, links) => {
                let exchange = Exchange::new(me, near, links);
                let gpu_info = ready
                    .as_ref()
                    .map(|(device, _, file)| GpuInfo::of(device, file.digest));
                let share = Share::of_bytes(encode_outcome(gpu_info.map(|one| one.bytes())));
                let policy = WaitPolicy {
                    limit: Limit::Init(until),
                    check_job: &|| check_job(control, me),
                };
                let said = exchange.all(share, &policy).and_then(|shares| {
                    decode_outcomes(&shares, exchange.pes(), Operation::Init.name())
                });
                // An error of its own is the better one.
                let parts = ready.and_then(|(device, tools, file)| {
                    let said = said?;
                    let read = said.iter().zip(exchange.pes());
                    let read = read.map(|(bytes, &pe)| GpuInfo::read(bytes, pe));
                    let infos: Vec<GpuInfo> = read.collect::<Result<_>>()?;
                    for (gpu_info, &pe) in infos.iter().zip(exchange.pes()) {
                        gpu_info.check(me, &device, pe)?;
                        gpu_info.check_tuning(me, file.digest, pe)?;
                    }
                    least = infos.iter().map(|gpu_info| gpu_info.blocks).min();
                    let model = infos.first().map_or("", |first| &first.model);
                    let tuning = file.tuning(model, GpuInfo::link(&infos));
                    let span = stride * n_pes as u64;
                    let segment = Arc::new(Segment::reserve(&device, span, alignment, 0)?);
                    Ok((device, tools, segment, tuning))
                });
                (parts, Some(exchange))
            }
        };
        let (device, (mailbox, kernels, stream_order), segment, tuning) = match parts {
            Ok(parts) => parts,
            Err(error) => {
                if let Some(exchange) = exchange {
                    // The others, if they got so far, learn of it.
                    exchange.leave(encode_outcome(Err(&error)), until);
                }
                return Err(error);
            }
        };
        let layout = Layout::new(segment.base(), stride, heap_bytes, me, n_pes);
        let granularity = device.properties().granularity;
        let transport = CudaTransport {
            me,
            layout,
            control: control.clone(),
            device,
            segment,
            exchange,
            least,
            tuning,
            chunks: Mutex::new(Chunks::new(granularity, heap_bytes)),
            registered: Mutex::default(),
            preferred: Mutex::default(),
            kernels: Arc::new(kernels),
            completion: Arc::new(Completion::new(&mailbox)),
            mailbox,
            stream_order,
            blocking: BlockingStream::default(),
            backpressure: Backpressure::default(),
            kept: AtomicBool::new(false),
            failed: Mutex::default(),
            owner: OnceLock::new(),
            teams: TeamTable::new(),
            device_check: crate::config::device_check()?,
            device_watched: AtomicBool::new(false),
            reached: ReachablePes::default(),
            program_streams: Mutex::default(),
            init_until: until,
        };
        transport.segment.join(&transport.completion);
        transport.make_sync_area(until)?;
        Ok(transport)
    }

    /// The PE that it belongs to.
    fn owner(&self) -> Result<&dyn Owner> {
        let owner = self.owner.get().map(|owner| &**owner);
        owner.ok_or(Error::NotInitialized(
            "`init` has not returned yet; the call must come after it",
        ))
    }

    fn wait(&self, wait: Wait, done: &dyn Fn() -> Result<bool>) -> Result<()> {
        match self.owner.get() {
            Some(owner) => owner.wait(wait, done),
            None => self.wait_in_init(done),
        }
    }

    #[cold]
    fn wait_in_init(&self, done: &dyn Fn() -> Result<bool>) -> Result<()> {
        let since = Instant::now();
        while !done()? {
            check_job(&self.control, self.me)?;
            if Instant::now() >= self.init_until {
                return Err(Error::Timeout {
                    operation: Operation::Init.name(),
                    me: self.me,
                    waited: since.elapsed(),
                    variable: crate::job::published::Limit::InitTimeout.name(),
                    detail: "it waits for its GPU to set memory to 0, and something of this process's holds it up".into(),
                });
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    /// The job as this PE's kernels see it.
    fn state(&self) -> State {
        self.state_with(self.mailbox.abort_address())
    }

    /// As [`state`](CudaTransport::state), for the collectives of a team, which are ended by an abort word of their own.
    fn team_state(&self, team: u32) -> State {
        self.state_with(self.mailbox.team_address(team))
    }

    fn state_with(&self, abort: u64) -> State {
        let to = StateAddresses {
            abort,
            error: self.mailbox.error_address(),
            job: self.layout.address(self.me, self.device_area().job()),
        };
        let n_pes = self.control.n_pes();
        let check = self.reached.checks(self.device_check);
        State::new(&self.layout, self.me, n_pes, to, check)
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
                    let me = per_thread::number();
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
        !passing.is_empty() && passing.iter().any(|(id, _)| *id == per_thread::number())
    }
}

impl Drop for CudaTransport {
    fn drop(&mut self) {
        if self.device.is_ours() {
            // The library's own work ends before its memory is freed; most often it has ended.
            self.settle(LEAVING);
        }
    }
}

/// The steps of PEs with chunks, for messages.
const EXCHANGING: &str = "an exchange of GPU memory";

/// An error if a PE of the job is gone, or has left a collective of all half-way.
fn check_job(control: &Control, me: Pe) -> Result<()> {
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
