//! GPU memory as the symmetric heap: the part of every PE is memory of its GPU, which the GPUs of the other PEs access
//! by loads and stores. docs/device-memory.md describes it; all other shared state stays in the job's segment of host
//! memory.
//!
//! | folder or file | contents |
//! |---|---|
//! | [`memory`] | the heap's memory: allocated, mapped for all PEs, registered; pinned memory shared by host and
//! kernels |
//! | [`operations`] | put, get, atomics, signals, waits; the blocking stream; staging |
//! | [`streams`] | streams and events; their order among a team's collectives; backpressure |
//! | [`collectives`] | the state of collective kernels of a team, and their completion |
//! | [`target_stream`] | the target side of operations of other hosts |
//! | [`device_tables`] | tables that the program's kernels read |
//! | [`kernels`] | the device code, its arguments, and its launches |
//! | [`tuning`] | the choice of a collective's algorithm, by built-in tables and a file |
//! | [`images`] | the search for compiled device code |
//! | [`driver`], [`device`] | the driver and its errors; a GPU with its context |
//! | [`provider`] | the choice of a PE's GPU, and how the PE joins a job |
//! | [`gpu_info`] | GPU properties that PEs exchange at init |
//! | [`survey`], [`nvml`] | the GPU report of `nvshmemrs-info` |

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

/// How long the transport waits for the library's own work on the GPU when it is dropped.
const LEAVING: Duration = Duration::from_secs(2);

/// The transport of a PE.
pub(crate) struct CudaTransport {
    me: Pe,
    layout: Layout,
    control: Control,
    device: Arc<Device>,
    segment: Arc<Segment>,
    /// Exchanges data with the PEs of this host's other processes; `None` if all PEs are threads of this process.
    exchange: Option<Exchange>,
    /// The smallest number of collective blocks that can be resident at once on any PE's GPU; `None` if all PEs are
    /// threads of this process.
    least: Option<i32>,
    /// The choice of collective algorithms, the same on every PE of the host.
    tuning: Tuning,
    chunks: Mutex<Chunks>,
    /// The offsets of registered buffers in each PE's part.
    registered: Mutex<Vec<SymRange>>,
    /// Further address ranges at which registered buffers are mapped.
    preferred: Mutex<Vec<Segment>>,
    kernels: Arc<Kernels>,
    mailbox: Arc<Mailbox>,
    completion: Arc<Completion>,
    stream_order: StreamOrder,
    blocking: BlockingStream,
    backpressure: Backpressure,
    /// Whether the memory stays mapped for good, because a kernel may still use it.
    kept: AtomicBool,
    /// Errors of functions that return nothing.
    failed: Mutex<Failed>,
    /// The PE that owns the transport, once there is a runtime.
    owner: OnceLock<Arc<dyn Owner>>,
    /// The arguments of the kernels of this PE's teams.
    teams: TeamTable,
    /// Whether the program's kernels check their arguments.
    device_check: bool,
    /// Whether the job is checked, so that the program's kernels report their operations.
    device_watched: AtomicBool,
    /// The PEs that kernels can reach.
    reached: ReachablePes,
    /// The streams that finalize waits for.
    program_streams: Mutex<Vec<Arc<ProgramStream>>>,
    /// Before there is an owner, waits end at this time.
    init_until: Instant,
}

/// Errors of functions that return nothing.
#[derive(Default)]
struct Failed {
    /// An error that every later call returns.
    lasting: Option<Error>,
    /// Errors of threads that gave up a wait, or found no resources because of such a wait.
    passing: Vec<(u64, Error)>,
}

impl CudaTransport {
    /// Joins the heap of a job, whose control block all PEs share. A PE that could not open its GPU takes part and
    /// reports its error.
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
                tuning.log_source(me);
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
                // This PE's own error comes before those of other PEs.
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
                    // Reports the failure to the PEs that are still in the exchange.
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

    /// The PE that owns the transport.
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
                    detail: "it waits for its GPU to set memory to 0, and other work of this process blocks the GPU".into(),
                });
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    /// The state that this PE's kernels get.
    fn state(&self) -> State {
        self.state_with(self.mailbox.abort_address())
    }

    /// As [`state`](CudaTransport::state), for collectives of a team, which have an abort word of their own.
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

    /// Records an error that cannot be returned. The first lasting error is kept; the error of a wait that timed out
    /// goes to the same thread's next [`failure`](CudaTransport::failure).
    fn note<T: Default>(&self, result: Result<T>) -> T {
        result.unwrap_or_else(|error| {
            let mut failed = self.failed();
            match error {
                Error::Timeout { .. }
                | Error::Interrupted { .. }
                | Error::PeDied { .. }
                | Error::PeStopped { .. }
                // Too many operations were given up; they may still complete.
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

    /// Whether this thread gave up a wait and has not reported it yet.
    fn has_given_up(&self) -> bool {
        let passing = &self.failed().passing;
        !passing.is_empty() && passing.iter().any(|(id, _)| *id == per_thread::number())
    }
}

impl Drop for CudaTransport {
    fn drop(&mut self) {
        if self.device.is_ours() {
            // The library's own work must end before its memory is freed; usually it has.
            self.settle(LEAVING);
        }
    }
}

/// The name of an exchange of memory, for messages.
const EXCHANGING: &str = "an exchange of GPU memory";

/// An error if a PE of the job has ended, or has left a collective over all PEs.
fn check_job(control: &Control, me: Pe) -> Result<()> {
    let header = control.header();
    if header.gone.load(Acquire) == 0 {
        return match control.team(0, me).broken.load(Acquire) {
            0 => Ok(()),
            // A PE entered the collective, but did not come to the exchange.
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
