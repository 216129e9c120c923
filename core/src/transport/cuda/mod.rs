//! GPU memory: the heap of every PE is memory of its GPU, which the GPUs of the other PEs can load from and store to.
//!
//! What the PEs share besides the heap stays in the job's segment of host memory. A PE's part of the heap is made in chunks as
//! allocations need it ([`chunks`]), brought to the other processes as descriptors ([`exchange`]), and mapped into one range of
//! addresses ([`segment`]). Threads of one process share the range, and have a GPU each; processes may share a GPU.
//!
//! The blocking operations use the library's own stream and wait for it; blocking collectives have one each ([`lanes`]). Copies go
//! through the driver, whose copy engine takes host memory and GPU memory alike; atomic operations and signals are kernels
//! ([`kernels`]).

mod chunks;
mod copies;
pub(crate) mod device;
pub(crate) mod driver;
mod ends;
mod exchange;
pub(crate) mod images;
pub(crate) mod kernels;
mod lanes;
mod nvml;
mod operations;
mod own;
mod packed;
mod page;
mod peers;
mod room;
mod segment;
mod share;
mod streams;
pub mod survey;
pub(crate) mod sync;
mod team;

pub(crate) use device::Device;
pub(crate) use ends::EpochLook;
pub(crate) use exchange::Links;
pub(crate) use lanes::LentStream;
pub(crate) use page::Page;
pub(crate) use segment::Segment;
pub use streams::CudaStreamRef;
pub(crate) use streams::{CudaEvent, CudaStream};

use crate::buffer::SymRange;
use crate::job::block::Control;
use crate::job::layout::{self, HEAP_UNIT, Layout};
use crate::job::published::Wait;
use crate::operation::Operation;
use crate::{Error, Pe, Result};
use chunks::Chunks;
use device::Facts;
use exchange::{Exchange, Limit, Patience, Share};
use kernels::{Kernels, State};
use lanes::{LOOK, Lanes};
use own::Own;
use peers::Introduction;
use room::Rooms;
use segment::Memory;
use share::{Pieces, hear, say};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

/// The share of a GPU's free memory that is the heap if nobody says otherwise, in percent.
const DEFAULT_SHARE: u64 = 80;

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
    page: Arc<Page>,
    lanes: Lanes,
    own: Own,
    rooms: Rooms,
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
        let mut slot = self
            .segment
            .lock()
            .unwrap_or_else(|poison| poison.into_inner());
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

/// Bytes of heap per PE if nobody says otherwise: a share of what the GPU has free, among the PEs that may use it. It is address space;
/// memory is taken when allocations need it.
pub(crate) fn default_heap_bytes(device: &Device, n_pes: Pe) -> Result<u64> {
    let sharers = sharers(n_pes, device::count()?, device::on_host());
    let free = device.free()?.saturating_sub(sync::BYTES * sharers);
    Ok((free / 100 * DEFAULT_SHARE / sharers).max(16 << 20))
}

/// How many of a host's PEs a GPU has, if each has its turn. A process that sees one GPU only (CUDA_VISIBLE_DEVICES) has one of the host's.
fn sharers(n_pes: Pe, visible: i32, on_host: i32) -> u64 {
    let gpus = match visible {
        1 => on_host.max(1),
        _ => visible.max(1),
    };
    (n_pes as u64).div_ceil(gpus as u64)
}

/// Bytes from one PE's part of the heap to the next one's.
fn stride(heap_bytes: u64) -> u64 {
    layout::stride(heap_bytes, sync::BYTES)
}

/// An error if a heap does not fit a GPU at all.
fn check_size(me: Pe, heap_bytes: u64, device: &Device) -> Result<()> {
    let Facts {
        total, granularity, ..
    } = *device.facts();
    if !HEAP_UNIT.is_multiple_of(granularity) {
        return Err(Error::NotSupported(format!(
            "{device} maps memory in pages of {granularity} bytes; nvshmemrs can use those of at most {HEAP_UNIT}"
        )));
    }
    if heap_bytes > total {
        return Err(Error::DeviceMemory {
            requested: heap_bytes,
            free: device.free()?,
            total,
            device: device.to_string(),
            me,
        });
    }
    Ok(())
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
                Page::new(&device)?,
                Kernels::load(&device)?,
                Lanes::new(&device)?,
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
                let share = Share {
                    bytes: say(ready
                        .as_ref()
                        .map(|(device, _)| Introduction::of(device).bytes())),
                    fds: Vec::new(),
                };
                let patience = Patience {
                    limit: Limit::Init(until),
                    whole: &|| whole(control, me),
                };
                let said = exchange
                    .all(share, &patience)
                    .and_then(|shares| hear(&shares, "init"));
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
        let (device, (page, kernels, lanes), segment) = match parts {
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
            page: Arc::new(page),
            lanes,
            own: Own::default(),
            rooms: Rooms::default(),
            kept: AtomicBool::new(false),
            failed: Mutex::default(),
            waiter: OnceLock::new(),
            init_until: until,
        };
        transport.segment.report_to(&transport.page);
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

    /// The page that kernels report to.
    pub(crate) fn page(&self) -> &Arc<Page> {
        &self.page
    }

    /// Ends this PE's kernels that wait for others, now and later; with `everybody`, those of the PEs that are threads of this process,
    /// too, because this one will not come any more.
    pub(crate) fn abort(&self, everybody: bool) {
        match &self.exchange {
            // The other processes' watchdogs see to theirs.
            None if everybody => self.segment.abort(),
            _ => self.page.abort(),
        }
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
        let (abort, error) = (self.page.abort_address(), self.page.error_address());
        State::new(&self.layout, self.me, self.control.n_pes(), abort, error)
    }

    /// As [`state`](CudaTransport::state), for the collectives of a team, which are ended by an abort word of their own.
    pub(crate) fn team_state(&self, team: u32) -> State {
        let (abort, error) = (self.page.team_address(team), self.page.error_address());
        State::new(&self.layout, self.me, self.control.n_pes(), abort, error)
    }

    /// Where the sync area begins in each PE's part.
    pub(crate) fn sync_area(&self) -> u64 {
        self.layout.heap_bytes + self.layout.window_bytes
    }

    /// Makes the sync area, all zero.
    fn make_sync_area(&self, until: Instant) -> Result<()> {
        let area = SymRange::new(self.sync_area(), sync::BYTES);
        let own = self.make(&[area]).and_then(|pieces| {
            // Zero before any other PE can see it.
            let place = self.layout.address(self.me, area.offset());
            self.segment.map(place, &pieces[0].1)?;
            let zeroed = self.set_zero(area, Operation::Init);
            // If init gives up before, it stays until the GPU has done that. After an error of the driver nothing runs any more.
            if zeroed.is_ok() || self.is_idle().unwrap_or(true) {
                self.segment.unmap(place, area.bytes());
            }
            zeroed.map(|()| pieces)
        });
        self.share_out(Operation::Init, &[area], own, Some(until))
    }

    /// Makes memory for ranges of this PE's part.
    fn make(&self, ranges: &[SymRange]) -> Result<Pieces> {
        let _current = self.device.enter()?;
        let piece = |range: &SymRange| {
            let memory = Memory::make(&self.device, range.bytes());
            let memory = memory.map_err(|error| self.no_memory(range.bytes(), error))?;
            Ok((range.offset(), memory))
        };
        ranges.iter().map(piece).collect()
    }

    /// An error of the driver when memory was asked for, with figures.
    fn no_memory(&self, requested: u64, error: Error) -> Error {
        use cudarc::driver::sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY;
        match (error, self.device.free()) {
            (Error::Cuda { code, .. }, Ok(free)) if code == CUDA_ERROR_OUT_OF_MEMORY as i32 => {
                Error::DeviceMemory {
                    requested,
                    free,
                    total: self.device.facts().total,
                    device: self.device.to_string(),
                    me: self.me,
                }
            }
            (error, _) => error,
        }
    }

    /// Maps pieces of a PE's part.
    fn map(&self, pe: Pe, pieces: &Pieces) -> Result<()> {
        let mut each = pieces.iter();
        each.try_for_each(|(place, memory)| {
            self.segment.map(self.layout.address(pe, *place), memory)
        })
    }

    /// Takes ranges of some PEs' parts out, which nothing uses any more.
    fn unmap(&self, pes: &[Pe], ranges: &[SymRange]) {
        if self.kept.load(Acquire) {
            return;
        }
        for &pe in pes {
            for range in ranges {
                let start = self.layout.address(pe, range.offset());
                self.segment.unmap(start, range.bytes());
            }
        }
    }

    /// The PEs whose memory this PE maps: all, or of threads each its own.
    fn mapped_by_me(&self) -> Vec<Pe> {
        match self.exchange {
            Some(_) => (0..self.control.n_pes()).collect(),
            None => vec![self.me],
        }
    }

    fn chunks(&self) -> MutexGuard<'_, Chunks> {
        self.chunks
            .lock()
            .unwrap_or_else(|poison| poison.into_inner())
    }

    fn failed(&self) -> MutexGuard<'_, Failed> {
        self.failed
            .lock()
            .unwrap_or_else(|poison| poison.into_inner())
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
            mark => Err(crate::team::broken(EXCHANGING, 0, mark)),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pes_of_a_gpu_share_what_it_has() {
        assert_eq!(sharers(8, 8, 8), 1);
        assert_eq!(sharers(9, 8, 8), 2);
        // Each process sees one of the eight.
        assert_eq!(sharers(8, 1, 8), 1);
        // There is one, or the driver does not tell.
        assert_eq!(sharers(8, 1, 1), 8);
        assert_eq!(sharers(8, 1, 0), 8);
        // All see the same two.
        assert_eq!(sharers(4, 2, 8), 2);
    }
}
