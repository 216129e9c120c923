//! Tracks the streams with work of this PE: streams that blocking collectives borrow, streams for copies beside a collective, the
//! stream with a team's latest collective, and streams that the program has released while work of the library may still be on them.
//!
//! Nothing here waits except by events, because other work on a stream of the program may take any time; only recording an event
//! on a full stream blocks in the driver. A stream that is being captured may still run earlier work, whose end no event can mark
//! during the capture. The program itself orders and awaits the work in its graphs.

use crate::job::block::MAX_TEAMS;
use crate::lock::lock;
use crate::streams::CudaStream;
use crate::streams::destroyed::DestroyedStreams;
use crate::transport::Submission;
use crate::{CudaEvent, CudaTransport, Device};
use crate::{Error, Result};
use cudarc::driver::sys::CUstream;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// `cudaStreamPerThread`: a default stream for each thread.
pub(crate) const PER_THREAD: u64 = 2;
/// No stream.
const NO_STREAM: u64 = u64::MAX;
/// Streams for blocking collectives that are created at init: so many threads can be in a collective at a time.
const STREAMS: usize = 4;
/// Streams for copies beside collectives: by default, as many as large collectives that run at a time.
const BESIDE: usize = 2;
/// The interval at which abandoned or remaining work is polled.
pub(crate) const LOOK: Duration = Duration::from_micros(100);

pub(crate) struct StreamOrder {
    /// Idle streams for blocking collectives.
    streams: Mutex<Vec<CudaStream>>,
    /// Streams for copies beside a collective, each with the stream that used it last.
    beside: Mutex<Vec<(u64, CudaStream)>>,
    /// Unused events.
    marks: Mutex<Vec<CudaEvent>>,
    /// By team number.
    teams: Box<[TeamOrder]>,
    /// Events behind the work on streams that the program has released.
    left: Mutex<Vec<Arc<CudaEvent>>>,
    /// Whether there is work whose end is unknown.
    unknown: AtomicBool,
    /// Work on streams that the program may have destroyed.
    pub(crate) destroyed: DestroyedStreams,
}

/// The stream of a team's latest collective.
struct TeamOrder {
    /// The stream, or [`NO_STREAM`] if the collective is complete or the program has released the stream. Written under the lock
    /// only; a search for the teams of a stream reads it without the other teams' locks.
    stream: AtomicU64,
    latest: Mutex<Latest>,
}

#[derive(Default)]
struct Latest {
    /// The event behind the collective.
    mark: Option<CudaEvent>,
    /// Whether the team has used several streams: it may do so again, so an event is recorded behind each collective.
    changes: bool,
    /// Whether no event could be recorded behind the latest collective.
    lost: bool,
}

impl StreamOrder {
    /// Creates the streams for collectives: later, the driver may create a stream only while no kernel runs.
    pub(crate) fn new(device: &Arc<Device>) -> Result<StreamOrder> {
        let streams = (0..STREAMS).map(|_| CudaStream::new(device));
        let beside = (0..BESIDE).map(|_| Ok((NO_STREAM, CudaStream::new(device)?)));
        Ok(StreamOrder {
            streams: Mutex::new(streams.collect::<Result<_>>()?),
            beside: Mutex::new(beside.collect::<Result<_>>()?),
            marks: Mutex::default(),
            teams: (0..MAX_TEAMS).map(|_| TeamOrder::new()).collect(),
            left: Mutex::default(),
            unknown: AtomicBool::new(false),
            destroyed: DestroyedStreams::new(device),
        })
    }
}

impl TeamOrder {
    fn new() -> TeamOrder {
        TeamOrder {
            stream: AtomicU64::new(NO_STREAM),
            latest: Mutex::default(),
        }
    }

    fn stream(&self) -> Option<u64> {
        let stream = self.stream.load(Acquire);
        (stream != NO_STREAM).then_some(stream)
    }

    fn set_stream(&self, stream: Option<u64>) {
        self.stream.store(stream.unwrap_or(NO_STREAM), Release);
    }
}

/// A stream that one blocking collective uses alone.
pub(crate) struct BorrowedStream<'a> {
    pub(crate) cuda: &'a CudaTransport,
    pub(crate) team: u32,
    /// `None` once it is returned.
    stream: Option<CudaStream>,
}

impl BorrowedStream<'_> {
    fn stream(&self) -> Result<&CudaStream> {
        let gone = || Error::Internal("a borrowed stream is used after its return".into());
        self.stream.as_ref().ok_or_else(gone)
    }

    pub(crate) fn submission(&self) -> Result<Submission> {
        Ok(Submission::Stream(self.stream()?.raw()))
    }

    /// Whether the stream is empty.
    pub(crate) fn query(&self) -> Result<bool> {
        self.stream()?.query()
    }

    /// Returns the stream after the collective is complete, so the stream is idle.
    pub(crate) fn done(mut self) {
        self.cuda.all_have_run(self.team);
        lock(&self.cuda.stream_order.streams).extend(self.stream.take());
    }
}

impl Drop for BorrowedStream<'_> {
    fn drop(&mut self) {
        if let Some(stream) = self.stream.take() {
            // If the stream is not idle, its work runs on, and the driver frees the stream afterwards.
            let idle = stream.query().unwrap_or(false);
            self.cuda.let_go_of(stream.raw(), None);
            if idle {
                lock(&self.cuda.stream_order.streams).push(stream);
            }
        }
    }
}

impl CudaTransport {
    /// A stream for one blocking collective of a team: its wait for other PEs must not hold up other threads.
    pub(crate) fn borrow_stream(&self, team: u32) -> Result<BorrowedStream<'_>> {
        let unused = lock(&self.stream_order.streams).pop();
        let stream = match unused {
            Some(stream) => stream,
            None => {
                let stream = CudaStream::new(&self.device)?;
                self.forget_earlier(stream.raw());
                stream
            }
        };
        Ok(BorrowedStream {
            cuda: self,
            team,
            stream: Some(stream),
        })
    }

    /// Runs work on a stream of the library at the same time as the next work of `stream`; `put` enqueues it. Returns the event behind
    /// that work, for which `stream` must wait, or `None` if no such stream is free and nothing was enqueued.
    ///
    /// A stream of the library serves one stream of the program as long as it has work: shared by two streams, it would order them,
    /// and the collectives on them may come in another order on other members. The same holds for graphs, so a captured stream stays
    /// with its capture.
    pub(crate) fn put_beside(
        &self,
        stream: CUstream,
        put: impl FnOnce(Submission) -> Result<()>,
    ) -> Result<Option<CudaEvent>> {
        let raw = stream as u64;
        if raw == PER_THREAD {
            return Ok(None);
        }
        // Without the lock, because recording blocks if the stream is full.
        let mark = self.take_mark()?;
        mark.record_on(stream)?;
        let mut all = lock(&self.stream_order.beside);
        let is_own = |(user, one): &(u64, CudaStream)| {
            let captured = || self.capture_of(one.raw());
            *user == raw && captured().is_none_or(|one| Some(one) == self.capture_of(raw))
        };
        let is_free = |(_, one): &(u64, CudaStream)| {
            let captured = self.device.is_captured(one.raw() as CUstream);
            matches!(captured, Ok(false)) && matches!(one.query(), Ok(true))
        };
        let own = all.iter().position(is_own);
        let Some(place) = own.or_else(|| all.iter().position(is_free)) else {
            self.give_mark_back(mark);
            return Ok(None);
        };
        let (user, one) = &mut all[place];
        *user = raw;
        let beside = one.raw() as CUstream;
        mark.hold_stream(beside)?;
        put(Submission::Stream(one.raw()))?;
        mark.record_on(beside)?;
        Ok(Some(mark))
    }

    /// Called before a collective of a team is enqueued on a stream that is not captured: the collective starts after the team's
    /// latest one on another stream. Returns false if no event can be recorded behind that collective now.
    pub(crate) fn take_turn(&self, team: u32, stream: CUstream) -> Result<bool> {
        let (raw, order) = (stream as u64, &self.stream_order.teams[team as usize]);
        let before = {
            let mut latest = lock(&order.latest);
            let same = order.stream() == Some(raw) && raw != PER_THREAD;
            if !same
                && latest.mark.is_none()
                && order.stream().is_some_and(|one| self.may_be_destroyed(one))
            {
                // No event can be recorded behind the latest collective any more.
                latest.lost = true;
            }
            if !same && !self.mark_latest(order, &mut latest)? {
                return Ok(false);
            }
            order.set_stream(Some(raw));
            latest.changes |= !same && latest.mark.is_some();
            match latest.mark.take() {
                Some(mark) if !same => mark,
                mark => {
                    lock(&self.stream_order.marks).extend(mark);
                    return Ok(true);
                }
            }
        };
        // Without the lock: the call blocks while the stream is full, and the thread that unblocks it may need the lock.
        let held = before.hold_stream(stream);
        match held {
            Ok(()) => self.give_mark_back(before),
            Err(_) => {
                let mut latest = lock(&order.latest);
                order.set_stream(None);
                latest.mark = Some(before);
            }
        }
        held.map(|()| true)
    }

    /// Called after a collective of a team was enqueued on a stream.
    pub(crate) fn end_turn(&self, team: u32, stream: CUstream) -> Result<()> {
        let order = &self.stream_order.teams[team as usize];
        let mut latest = lock(&order.latest);
        let own = stream as u64 == PER_THREAD;
        if !latest.changes && !own && !self.stream_order.destroyed.are_several() {
            return Ok(());
        }
        let marked = self.mark_latest(order, &mut latest);
        // Two pieces: the event of the collective, and the wait for the previous one.
        self.backpressure.count(stream as u64, 2);
        if own && !matches!(marked, Ok(true)) {
            // An event of another thread would be on another stream.
            order.set_stream(None);
            latest.lost = true;
        }
        marked.map(drop)
    }

    /// Records an event behind a team's latest collective, unless that is complete or has one. Returns false if that is not
    /// possible now.
    fn mark_latest(&self, order: &TeamOrder, latest: &mut Latest) -> Result<bool> {
        match order.stream() {
            _ if latest.lost => return Ok(false),
            Some(stream) if latest.mark.is_none() => {
                if self.device.is_captured(stream as CUstream)? {
                    return Ok(false);
                }
                let mark = self.take_mark()?;
                mark.record_on(stream as CUstream)?;
                latest.mark = Some(mark);
            }
            _ => {}
        }
        Ok(true)
    }

    /// Records that the collectives which this PE enqueued for a team are complete.
    pub(crate) fn all_have_run(&self, team: u32) {
        let order = &self.stream_order.teams[team as usize];
        let mut latest = lock(&order.latest);
        order.set_stream(None);
        latest.lost = false;
        // The event may be about to be reached; its next user records it anew.
        lock(&self.stream_order.marks).extend(latest.mark.take());
    }

    /// Whether work enqueued on a stream becomes part of a graph.
    pub(crate) fn is_captured(&self, submission: Submission) -> bool {
        match submission {
            Submission::Blocking => false,
            // If the driver cannot tell, the stream is treated as captured.
            Submission::Stream(_) => self
                .device
                .is_captured(self.stream(submission))
                .unwrap_or(true),
        }
    }

    /// The id of the capture that a stream is in; `None` if it is unknown.
    pub(crate) fn capture_of(&self, stream: u64) -> Option<u64> {
        self.device.capture(stream as CUstream).ok().flatten()
    }

    /// Called when the program or the library releases a stream, and may destroy it afterwards. Work on the stream continues.
    /// `made_in`: the capture that the stream was in when the program adopted it.
    pub(crate) fn let_go_of(&self, stream: u64, made_in: Option<u64>) {
        if made_in.is_some() && self.capture_of(stream) == made_in {
            // All work is part of the graph; other state of the stream belongs to another handle of it.
            return;
        }
        // Forgets streams whose work has ended since; an error is reported by the next wait.
        let _ = self.left_nothing();
        let end = self.kernels.forget_stream(stream, || {
            Ok(self.end_of(stream as CUstream)?.map(Arc::new))
        });
        let idle = matches!(end, Ok(None));
        match idle {
            true => self.backpressure.clear(stream),
            // Other handles of the stream may be in use.
            false => self.backpressure.count(stream, 1),
        }
        for order in &self.stream_order.teams {
            if order.stream() != Some(stream) {
                continue;
            }
            let mut latest = lock(&order.latest);
            if order.stream() == Some(stream) {
                latest.lost = !idle && !matches!(self.mark_latest(order, &mut latest), Ok(true));
                order.set_stream(None);
            }
        }
        match end {
            Ok(mark) => lock(&self.stream_order.left).extend(mark),
            Err(_) => self.stream_order.unknown.store(true, Release),
        }
    }

    /// Forgets a stream that the program may have destroyed; `ended`: its work is complete.
    pub(crate) fn forget_destroyed(&self, stream: u64, ended: bool) {
        // If the work may be in flight, the stream's graphs are destroyed.
        let _ = self.kernels.forget_stream(stream, || match ended {
            true => Ok(None),
            false => Err(Error::Internal("a stream was destroyed".into())),
        });
        if ended {
            self.backpressure.clear(stream);
        }
        for order in &self.stream_order.teams {
            let mut latest = lock(&order.latest);
            if order.stream() == Some(stream) {
                latest.lost = !ended && latest.mark.is_none();
                order.set_stream(None);
            }
        }
    }

    /// An event behind the current work of a stream; `None` if the stream is empty.
    fn end_of(&self, stream: CUstream) -> Result<Option<CudaEvent>> {
        self.device.check_capture(stream, "recording an event")?;
        if self.device.is_idle(stream)? {
            return Ok(None);
        }
        let mark = self.take_mark()?;
        mark.record_on(stream)?;
        Ok(Some(mark))
    }

    /// Takes an unused event, or creates one.
    pub(crate) fn take_mark(&self) -> Result<CudaEvent> {
        let unused = lock(&self.stream_order.marks).pop();
        unused.map_or_else(|| CudaEvent::mark(&self.device), Ok)
    }

    /// Returns an event that was reached.
    pub(crate) fn give_mark_back(&self, mark: CudaEvent) {
        lock(&self.stream_order.marks).push(mark);
    }

    /// Whether all work is complete that was on streams when the program released them.
    pub(crate) fn left_nothing(&self) -> Result<bool> {
        let mut left = lock(&self.stream_order.left);
        let mut failed = Ok(());
        left.retain(|mark| match mark.query() {
            Ok(done) => !done,
            Err(error) => {
                failed = Err(error);
                true
            }
        });
        failed.map(|()| left.is_empty())
    }

    /// Whether the library's own streams are empty. Events mark the end of work beside a collective only if all of the collective could be
    /// enqueued, and a blocking collective has written its ticket shortly before its kernel ends.
    fn own_streams_are_idle(&self) -> bool {
        let order = &self.stream_order;
        // After an error of the driver, no work runs on them; work of a capture is on no stream.
        let idle = |stream: &CudaStream| {
            let captured = self.device.is_captured(stream.raw() as CUstream);
            captured.unwrap_or(true) || stream.query().unwrap_or(true)
        };
        self.is_idle().unwrap_or(true)
            && lock(&order.beside).iter().all(|(_, stream)| idle(stream))
            && lock(&order.streams).iter().all(idle)
    }

    /// Waits until no stream has work of this PE, the library's own streams included: then its memory may be released. If the
    /// limit passes, the memory stays mapped for good, and the function returns false.
    ///
    /// Local, called after this PE's kernels were aborted.
    pub(crate) fn settle(&self, limit: Duration) -> bool {
        let until = Instant::now() + limit;
        loop {
            if self.kept.load(Acquire) {
                return false;
            }
            match self
                .left_nothing()
                .and_then(|nothing| Ok(nothing && self.stream_order.destroyed.are_idle()?))
                .map(|nothing| nothing && self.own_streams_are_idle())
            {
                Ok(true) if !self.stream_order.unknown.load(Acquire) => return true,
                Ok(false) if Instant::now() < until => std::thread::sleep(LOOK),
                _ => break,
            }
        }
        if !self.kept.swap(true, AcqRel) {
            // Objects that a kernel may still use.
            std::mem::forget((
                Arc::clone(&self.segment),
                Arc::clone(&self.completion),
                Arc::clone(&self.kernels),
                std::mem::take(&mut *lock(&self.preferred)),
            ));
        }
        false
    }
}
