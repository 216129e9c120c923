//! The trace of a job: a record of each call of a PE, as `NVSHMEMRS_TRACE` asks for it. Without the setting there is no wrapper, and no
//! cost.
//!
//! Each PE writes [records](record) of a fixed size to a [part](part), a mapped file that survives the death of the PE. PE 0 in finalize,
//! the launcher or nvshmemrs-info [merges](merge) the parts into one file. [`align`] finds how the clocks of several hosts differ.

mod align;
mod clock;
mod merge;
mod nvtx;
mod part;
mod read;
mod record;

pub use merge::{Merged, has_parts, is_left, merge, remove_parts};
pub use record::{Kind, Record};

use super::{
    Atomic, AtomicRequest, Body, Found, GetRequest, Memory, Properties, PutRequest, Reply, Request,
    Search, Submission, Transport,
};
use crate::job::block::Control;
use crate::op::SignalOp;
use crate::operation::Operation;
use crate::sites::Sites;
use crate::{Error, MemoryKind, Pe, Result};
use clock::Clock;
use nvtx::Nvtx;
use part::Part;
use record::NO_PEER;
use std::cell::Cell;
use std::panic::Location;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long PE 0 waits in finalize until the others have written their last record.
const OTHERS: Duration = Duration::from_secs(2);

thread_local! {
    /// The part that has the name of this thread, by its number, and the number of the thread.
    static THREAD: Cell<(u64, u32)> = const { Cell::new((0, 0)) };
}

/// The trace of a PE.
#[derive(Debug)]
pub struct Trace {
    path: PathBuf,
    me: Pe,
    part: Part,
    clock: Clock,
    sites: Arc<Sites>,
    nvtx: Option<Nvtx>,
}

impl Trace {
    /// Begins the trace of PE `me` at `path`, with ranges of NVTX if the heap is in memory of GPUs.
    pub fn start(
        path: &Path,
        control: &Control,
        me: Pe,
        memory: MemoryKind,
        sites: &Arc<Sites>,
    ) -> Result<Arc<Trace>> {
        let clock = Clock::new();
        let host = control
            .remote()
            .map_or(0, |remote| remote.hosts().mine() as u64);
        let trace = Arc::new(Trace {
            path: path.into(),
            me,
            part: Part::create(path, me, control.n_pes(), host, clock)?,
            clock,
            sites: Arc::clone(sites),
            nvtx: match memory {
                MemoryKind::Device => Nvtx::open(),
                MemoryKind::Host => None,
            },
        });
        let named = Arc::downgrade(&trace);
        sites.on_new(move |site, name| {
            if let Some(trace) = named.upgrade() {
                trace.name(Kind::SiteName, site.into(), name);
            }
        });
        Ok(trace)
    }

    fn name(&self, kind: Kind, number: u32, name: &str) {
        for piece in Record::of_name(kind, number, name) {
            self.part.write(&piece);
        }
    }

    /// The number of this thread.
    #[inline]
    fn thread(&self) -> u32 {
        match THREAD.get() {
            (part, thread) if part == self.part.number => thread,
            _ => self.new_thread(),
        }
    }

    #[cold]
    fn new_thread(&self) -> u32 {
        let thread = rustix::thread::gettid().as_raw_pid() as u32;
        let name = std::fs::read_to_string("/proc/thread-self/comm").unwrap_or_default();
        self.name(Kind::ThreadName, thread, name.trim());
        THREAD.set((self.part.number, thread));
        thread
    }

    /// The record of a call that begins now. [`end`](Trace::end) must be called with it, on this thread.
    #[inline]
    pub fn begin(
        &self,
        kind: Kind,
        called: Operation,
        submission: Submission,
        at: &'static Location<'static>,
    ) -> Record {
        // Before the clock is read: it is no part of the call.
        let site = self.sites.here(called, at);
        self.begin_at(kind, called, submission, site)
    }

    /// As [`begin`](Trace::begin), at a call site that is known already; 0: it is not.
    pub fn begin_at(
        &self,
        kind: Kind,
        called: Operation,
        submission: Submission,
        site: u16,
    ) -> Record {
        let thread = self.thread();
        if let Some(nvtx) = &self.nvtx {
            nvtx.begin(called as u8);
        }
        Record {
            begin: self.clock.now(),
            stream: match submission {
                Submission::Blocking => 0,
                Submission::Stream(stream) => stream.wrapping_add(1),
            },
            thread,
            peer: NO_PEER,
            site,
            operation: called as u8,
            kind: kind as u8,
            ..Record::default()
        }
    }

    /// The call of a record has ended.
    #[inline]
    pub fn end(&self, record: Record) {
        let end = self.clock.now();
        self.write(Record { end, ..record });
    }

    /// As [`end`](Trace::end), for a call that took no time: its record began when it had ended, so the clock is read once.
    #[inline]
    pub fn end_at_once(&self, record: Record) {
        let end = record.begin;
        self.write(Record { end, ..record });
    }

    #[inline]
    fn write(&self, record: Record) {
        if let Some(nvtx) = &self.nvtx {
            nvtx.end();
        }
        self.part.write(&record);
    }

    /// The PE ends: it writes no further records.
    pub fn close(&self) {
        self.part.close();
    }

    /// Merges the parts of all PEs, which have met in finalize, on PE 0. Returns a line for the user if something is missing.
    pub fn merge(&self) -> Option<String> {
        if self.me != 0 {
            return None;
        }
        let start = Instant::now();
        while is_left(&self.path) && start.elapsed() < OTHERS {
            std::thread::sleep(Duration::from_millis(1));
        }
        merge(&self.path).line(&self.path)
    }
}

/// A transport whose operations are traced.
pub struct Traced {
    pub below: Box<dyn Transport>,
    pub trace: Arc<Trace>,
}

/// The fields of a record that a request sets; `None`: the request is no call of the program, or moves nothing.
fn described(body: &Body<'_>) -> Option<Record> {
    let bytes = body.moved();
    let of_signal = |op| match op {
        SignalOp::Set => Kind::Set,
        SignalOp::Add => Kind::Update,
    };
    let (kind, offset, width, value) = match *body {
        Body::Put(PutRequest { dest, .. }, _) => (Kind::Update, dest, bytes, 0),
        Body::PutValue { dest, value, .. } => {
            let kind = if bytes <= 8 { Kind::Set } else { Kind::Update };
            (kind, dest, bytes, value[0])
        }
        Body::PutBlocks(put, transfer) => (Kind::Update, put.dest, transfer.dest().span(), 0),
        Body::Get(GetRequest { source, .. }, _)
        | Body::GetValue { source, .. }
        | Body::GetBlocks(GetRequest { source, .. }, _) => (Kind::Call, source, 0, 0),
        Body::PutSignal(_, update, _) | Body::Signal { update, .. } => {
            (of_signal(update.op), update.offset, 8, update.value)
        }
        Body::Atomic(AtomicRequest {
            offset, operation, ..
        }) => match operation {
            Atomic::Fetch => (Kind::Call, offset, bytes, 0),
            Atomic::Set(value) | Atomic::Swap(value) => (Kind::Set, offset, bytes, value),
            _ => (Kind::Update, offset, bytes, 0),
        },
        Body::Fence | Body::Quiet => (Kind::Call, 0, 0, 0),
        // Memory of this PE's own, and internal requests of the library.
        Body::GetAll(_)
        | Body::Read { .. }
        | Body::Write { .. }
        | Body::Copy(_)
        | Body::Load { .. }
        | Body::QuietBeforeRelease => return None,
    };
    Some(Record {
        kind: kind as u8,
        peer: body.target().unwrap_or(NO_PEER),
        offset,
        width: Record::width_of(width),
        bytes,
        value,
        ..Record::default()
    })
}

impl Transport for Traced {
    forwards_to!(below);

    fn unwatched(&self) -> Option<&dyn Transport> {
        Some(self.below.unwatched().unwrap_or(&*self.below))
    }

    fn execute(&self, request: Request<'_>) -> Result<Reply> {
        let Some(described) = described(&request.body) else {
            return self.below.execute(request);
        };
        let (call, trace) = (request.call, &*self.trace);
        let begun = trace.begin(Kind::Call, call.called, call.submission, call.at);
        let result = self.below.execute(request);
        trace.end(Record {
            begin: begun.begin,
            stream: begun.stream,
            thread: begun.thread,
            site: begun.site,
            operation: begun.operation,
            ..described
        });
        result
    }

    fn search(&self, submission: Submission, search: &Search<'_>) -> Option<Result<Found>> {
        let trace = &*self.trace;
        let site = match trace.sites.are_native() {
            true => trace.sites.at(search.called, trace.sites.calling()),
            false => 0,
        };
        let begun = trace.begin_at(Kind::Wait, search.called, submission, site);
        let result = self.below.search(submission, search);
        trace.end(Record {
            offset: search.offset,
            width: Record::width_of((search.count * search.dtype.size()) as u64),
            ..begun
        });
        result
    }
}
