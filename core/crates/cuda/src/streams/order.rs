//! Which streams have work of this PE: those that blocking collectives borrow, those for copies beside a collective, the one that had a
//! team's latest collective, and those that the program has taken back while something of ours may still be on them.
//!
//! Nothing here waits but by events, because what else is on a stream of the program's may take as long as it likes; only a stream that
//! is full makes the driver wait when an event is recorded in it. A stream that is captured into a graph may have work from before, whose
//! end nobody can mark then; the order of what is in a graph, and its end, are the program's.

use crate::job::block::MAX_TEAMS;
use crate::lock::lock;
use crate::streams::CudaStream;
use crate::transport::Submission;
use crate::{CudaEvent, CudaTransport, Device};
use crate::{Error, Result};
use cudarc::driver::sys::CUstream;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// `cudaStreamPerThread`: a stream of each thread's own.
pub(crate) const PER_THREAD: u64 = 2;
/// The number of no stream.
const NO_STREAM: u64 = u64::MAX;
/// Streams for blocking collectives that are there from the beginning: so many threads can be in one at a time.
const STREAMS: usize = 4;
/// Streams for copies beside collectives: as many as there are large collectives at a time, unless a setting says otherwise.
const BESIDE: usize = 2;
/// Between two looks at what is left behind, or is to leave.
pub(crate) const LOOK: Duration = Duration::from_micros(100);

pub(crate) struct StreamOrder {
    /// Streams for blocking collectives, idle ones.
    streams: Mutex<Vec<CudaStream>>,
    /// Streams for copies beside a collective, each with the stream that it was used for last.
    beside: Mutex<Vec<(u64, CudaStream)>>,
    /// Events that nobody uses.
    marks: Mutex<Vec<CudaEvent>>,
    /// By team number.
    teams: Box<[TeamOrder]>,
    /// The ends of what was on streams when the program took them back.
    left: Mutex<Vec<Arc<CudaEvent>>>,
    /// Whether something is under way whose end cannot be known.
    unknown: AtomicBool,
}

/// Where a team's latest collective is.
struct TeamOrder {
    /// Its stream, or [`NO_STREAM`] if it is done, or the program has taken the stream back. Written with the lock only; who looks for the
    /// teams of a stream needs no lock of the others.
    stream: AtomicU64,
    latest: Mutex<Latest>,
}

#[derive(Default)]
struct Latest {
    /// Recorded after the collective.
    mark: Option<CudaEvent>,
    /// Whether the team has changed streams: then it may do so again, and each collective is marked.
    changes: bool,
    /// Whether it went out of sight without a mark.
    lost: bool,
}

impl StreamOrder {
    /// With some streams for collectives: now and then the driver makes one only when no kernel runs.
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

/// A stream that a blocking collective has to itself.
pub(crate) struct BorrowedStream<'a> {
    pub(crate) cuda: &'a CudaTransport,
    pub(crate) team: u32,
    /// There until it is given back.
    stream: Option<CudaStream>,
}

impl BorrowedStream<'_> {
    fn stream(&self) -> Result<&CudaStream> {
        let gone = || Error::Internal("a stream was given back before its use".into());
        self.stream.as_ref().ok_or_else(gone)
    }

    pub(crate) fn submission(&self) -> Result<Submission> {
        Ok(Submission::Stream(self.stream()?.raw()))
    }

    /// Whether everything on it has run.
    pub(crate) fn query(&self) -> Result<bool> {
        self.stream()?.query()
    }

    /// The collective is done, so the stream is idle.
    pub(crate) fn done(mut self) {
        self.cuda.all_have_run(self.team);
        lock(&self.cuda.stream_order.streams).extend(self.stream.take());
    }
}

impl Drop for BorrowedStream<'_> {
    fn drop(&mut self) {
        if let Some(stream) = self.stream.take() {
            // If it is not idle, it runs on, and the driver frees it then.
            let idle = stream.query().unwrap_or(false);
            self.cuda.let_go_of(stream.raw(), None);
            if idle {
                lock(&self.cuda.stream_order.streams).push(stream);
            }
        }
    }
}

impl CudaTransport {
    /// A stream for one blocking collective of a team: what waits for other PEs must not hold up what another thread does.
    pub(crate) fn borrow_stream(&self, team: u32) -> Result<BorrowedStream<'_>> {
        let unused = lock(&self.stream_order.streams).pop();
        let stream = match unused {
            Some(stream) => stream,
            None => CudaStream::new(&self.device)?,
        };
        Ok(BorrowedStream {
            cuda: self,
            team,
            stream: Some(stream),
        })
    }

    /// Has a stream of the library's make something at the same time as what comes next on `stream`: `put` puts it there. The event is
    /// the end of it, for which `stream` must wait. `None`: no such stream is free, and nothing was put anywhere.
    ///
    /// A stream of the library's serves one of the program's as long as something is on it: one that two of them use would order them, and
    /// the collectives on them may come in another order on other members. That holds for graphs, too, so one that is captured stays with
    /// its capture.
    pub(crate) fn put_beside(
        &self,
        stream: CUstream,
        put: impl FnOnce(Submission) -> Result<()>,
    ) -> Result<Option<CudaEvent>> {
        let raw = stream as u64;
        if raw == PER_THREAD {
            return Ok(None);
        }
        // It waits if the stream is full, and the others need the lock.
        let mark = self.take_mark()?;
        mark.record_on(stream)?;
        let mut all = lock(&self.stream_order.beside);
        let is_own = |(user, one): &(u64, CudaStream)| {
            let captured = || self.capture_of(one.raw());
            *user == raw && captured().is_none_or(|one| Some(one) == self.capture_of(raw))
        };
        let is_free = |(_, one): &(u64, CudaStream)| {
            let idle = || Ok(!self.device.is_captured(one.raw() as CUstream)? && one.query()?);
            idle().unwrap_or_else(|_: Error| false)
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

    /// Before a collective of a team is put on a stream that is not captured: it begins when the team's latest one, if that is on another
    /// stream, is done. False: nobody can mark the end of that one now.
    pub(crate) fn take_turn(&self, team: u32, stream: CUstream) -> Result<bool> {
        let (raw, order) = (stream as u64, &self.stream_order.teams[team as usize]);
        let before = {
            let mut latest = lock(&order.latest);
            let same = order.stream() == Some(raw) && raw != PER_THREAD;
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
        // It waits if the stream is full, and nobody shall wait for that stream who lets the other one go.
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

    /// After a collective of a team was put on a stream.
    pub(crate) fn end_turn(&self, team: u32, stream: CUstream) -> Result<()> {
        let order = &self.stream_order.teams[team as usize];
        let mut latest = lock(&order.latest);
        let own = stream as u64 == PER_THREAD;
        if !latest.changes && !own {
            return Ok(());
        }
        let marked = self.mark_latest(order, &mut latest);
        // The mark, and the one that held the stream up.
        self.backpressure.count(stream as u64, 2);
        if own && !matches!(marked, Ok(true)) {
            // Another thread's mark would be in another stream.
            order.set_stream(None);
            latest.lost = true;
        }
        marked.map(drop)
    }

    /// Marks the end of a team's latest collective, unless it is done or marked. False: that is not possible now.
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

    /// The collectives of a team that this PE has put on streams are done.
    pub(crate) fn all_have_run(&self, team: u32) {
        let order = &self.stream_order.teams[team as usize];
        let mut latest = lock(&order.latest);
        order.set_stream(None);
        latest.lost = false;
        // It may be about to be reached; who takes it records it anew.
        lock(&self.stream_order.marks).extend(latest.mark.take());
    }

    /// Whether what is put on a stream becomes part of a graph.
    pub(crate) fn is_captured(&self, submission: Submission) -> bool {
        match submission {
            Submission::Blocking => false,
            // Where the driver cannot tell, no kernel is counted on.
            Submission::Stream(_) => self
                .device
                .is_captured(self.stream(submission))
                .unwrap_or(true),
        }
    }

    /// The capture that a stream is in, by its number; none where nobody can tell.
    pub(crate) fn capture_of(&self, stream: u64) -> Option<u64> {
        self.device.capture(stream as CUstream).ok().flatten()
    }

    /// The program, or the library, has no use for a stream any more, and may destroy it after this call. What is on it goes on.
    /// `made_in`: the capture that it was in when the program made it known.
    pub(crate) fn let_go_of(&self, stream: u64, made_in: Option<u64>) {
        if made_in.is_some() && self.capture_of(stream) == made_in {
            // All of it is in the graph, and what else is known of the stream is there by another handle.
            return;
        }
        // What has ended since is forgotten; an error shows when somebody waits.
        let _ = self.left_nothing();
        let end = self.kernels.forget_stream(stream, || {
            Ok(self.end_of(stream as CUstream)?.map(Arc::new))
        });
        let idle = matches!(end, Ok(None));
        match idle {
            true => self.backpressure.clear(stream),
            // Other handles of it may be in use.
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

    /// An event at the end of what is on a stream now; none if that has run.
    fn end_of(&self, stream: CUstream) -> Result<Option<CudaEvent>> {
        self.device.check_capture(stream, "marking its end")?;
        if self.device.is_idle(stream)? {
            return Ok(None);
        }
        let mark = self.take_mark()?;
        mark.record_on(stream)?;
        Ok(Some(mark))
    }

    /// An event of the library's own.
    pub(crate) fn take_mark(&self) -> Result<CudaEvent> {
        let unused = lock(&self.stream_order.marks).pop();
        unused.map_or_else(|| CudaEvent::mark(&self.device), Ok)
    }

    /// Takes back an event that was reached.
    pub(crate) fn give_mark_back(&self, mark: CudaEvent) {
        lock(&self.stream_order.marks).push(mark);
    }

    /// Whether everything is done that was on streams when the program took them back.
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

    /// Waits until nothing of this PE's is on any stream that it knows, nor on the library's own: then its memory may go. Otherwise the
    /// memory stays mapped for good, and the answer is false.
    ///
    /// Local, after this PE's kernels were told to end.
    pub(crate) fn settle(&self, limit: Duration) -> bool {
        let until = Instant::now() + limit;
        // An error of the driver says that nothing runs on the blocking stream any more.
        let blocking_idle = || self.is_idle().unwrap_or(true);
        loop {
            if self.kept.load(Acquire) {
                return false;
            }
            match self
                .left_nothing()
                .map(|nothing| nothing && blocking_idle())
            {
                Ok(true) if !self.stream_order.unknown.load(Acquire) => return true,
                Ok(false) if Instant::now() < until => std::thread::sleep(LOOK),
                _ => break,
            }
        }
        if !self.kept.swap(true, AcqRel) {
            // What a kernel may use.
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
