//! Which streams have work of this PE: those that blocking collectives borrow, the one that had a team's latest collective, and those
//! that the program has taken back while something of ours may still be on them.
//!
//! Nothing here waits but by events, because what else is on a stream of the program's may take as long as it likes. A stream that is
//! captured into a graph has no work yet; the order of what is in a graph, and its end, are the program's.

use super::CudaTransport;
use super::device::Device;
use super::streams::{CudaEvent, CudaStream};
use crate::transport::Lane;
use crate::transport::host::control::MAX_TEAMS;
use crate::{Error, Result};
use cudarc::driver::sys::CUstream;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// `cudaStreamPerThread`: a stream of each thread's own.
const PER_THREAD: u64 = 2;
/// Between two looks at what is left behind, or is to leave.
pub(super) const LOOK: Duration = Duration::from_micros(100);

pub(super) struct Lanes {
    /// Streams for blocking collectives, idle ones.
    streams: Mutex<Vec<CudaStream>>,
    /// Events that nobody uses.
    marks: Mutex<Vec<CudaEvent>>,
    /// By team number.
    teams: Box<[Mutex<Latest>]>,
    /// The ends of what was on streams when the program took them back.
    left: Mutex<Vec<CudaEvent>>,
    /// Whether something is under way whose end cannot be known.
    unknown: AtomicBool,
}

/// Where a team's latest collective is.
#[derive(Default)]
struct Latest {
    /// The stream, unless the collective is done, or the program has taken the stream back.
    stream: Option<u64>,
    /// Whether `mark` is recorded after the collective.
    marked: bool,
    mark: Option<CudaEvent>,
    /// Whether the team has changed streams: then it may do so again, and each collective is marked.
    changes: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poison| poison.into_inner())
}

impl Lanes {
    pub(super) fn new() -> Lanes {
        Lanes {
            streams: Mutex::default(),
            marks: Mutex::default(),
            teams: (0..MAX_TEAMS).map(|_| Mutex::default()).collect(),
            left: Mutex::default(),
            unknown: AtomicBool::new(false),
        }
    }
}

impl Latest {
    /// Marks the end of the collective, if it is not done or marked.
    fn mark(&mut self, device: &Arc<Device>) -> Result<Option<&CudaEvent>> {
        if let (Some(stream), false) = (self.stream, self.marked) {
            device.check_capture(
                stream as CUstream,
                "putting a team's collective on another stream than the one before",
            )?;
            if self.mark.is_none() {
                self.mark = Some(CudaEvent::mark(device)?);
            }
            if let Some(mark) = &self.mark {
                mark.record_on(stream as CUstream)?;
                self.marked = true;
            }
        }
        Ok(self.mark.as_ref().filter(|_| self.marked))
    }
}

/// A stream that a blocking collective has to itself.
pub(crate) struct LentStream<'a> {
    cuda: &'a CudaTransport,
    team: u32,
    /// There until it is given back.
    stream: Option<CudaStream>,
}

impl LentStream<'_> {
    fn stream(&self) -> Result<&CudaStream> {
        let gone = || Error::Internal("a stream that was given back".into());
        self.stream.as_ref().ok_or_else(gone)
    }

    pub(crate) fn lane(&self) -> Result<Lane> {
        Ok(Lane::Stream(self.stream()?.raw()))
    }

    /// Whether everything on it has run.
    pub(crate) fn query(&self) -> Result<bool> {
        self.stream()?.query()
    }

    /// The collective is done, so the stream is idle.
    pub(crate) fn done(mut self) {
        let mut latest = lock(&self.cuda.lanes.teams[self.team as usize]);
        (latest.stream, latest.marked) = (None, false);
        lock(&self.cuda.lanes.streams).extend(self.stream.take());
    }
}

impl Drop for LentStream<'_> {
    fn drop(&mut self) {
        if let Some(stream) = self.stream.take() {
            // Nobody knows whether it is idle. It runs on, and the driver frees it then.
            self.cuda.let_go(stream.raw());
        }
    }
}

impl CudaTransport {
    /// A stream for one blocking collective of a team: what waits for other PEs must not hold up what another thread does.
    pub(crate) fn lend_stream(&self, team: u32) -> Result<LentStream<'_>> {
        let unused = lock(&self.lanes.streams).pop();
        let stream = match unused {
            Some(stream) => stream,
            None => CudaStream::new(&self.device)?,
        };
        Ok(LentStream {
            cuda: self,
            team,
            stream: Some(stream),
        })
    }

    /// Before a collective of a team is put on a stream that is not captured: it begins when the team's latest one, if that is on another stream, is done.
    pub(super) fn take_turn(&self, team: u32, stream: CUstream) -> Result<()> {
        let raw = stream as u64;
        let mut latest = lock(&self.lanes.teams[team as usize]);
        if latest.stream == Some(raw) && raw != PER_THREAD {
            return Ok(());
        }
        if latest.stream.is_some() || latest.marked {
            if let Some(mark) = latest.mark(&self.device)? {
                mark.hold_up(stream)?;
            }
            latest.changes = true;
        }
        (latest.stream, latest.marked) = (Some(raw), false);
        Ok(())
    }

    /// After a collective of a team was put on a stream.
    pub(super) fn end_turn(&self, team: u32, stream: CUstream) -> Result<()> {
        let mut latest = lock(&self.lanes.teams[team as usize]);
        if latest.changes || stream as u64 == PER_THREAD {
            latest.marked = false;
            latest.mark(&self.device)?;
        }
        Ok(())
    }

    /// The program, or the library, has no use for a stream any more, and may destroy it after this call. What is on it goes on.
    pub(crate) fn let_go(&self, stream: u64) {
        let raw = stream as CUstream;
        self.kernels.forget_stream(stream);
        // What has ended since is forgotten; an error shows when somebody waits.
        let _ = self.left_nothing();
        for team in &self.lanes.teams {
            let mut latest = lock(team);
            if latest.stream == Some(stream) {
                // One that is captured has no work yet.
                let _ = latest.mark(&self.device);
                latest.stream = None;
            }
        }
        let mark = self.marked(raw).and_then(|mark| match mark {
            Some(mark) if mark.query()? => {
                self.give_mark_back(mark);
                Ok(None)
            }
            mark => Ok(mark),
        });
        match mark {
            Ok(mark) => lock(&self.lanes.left).extend(mark),
            Err(_) => self.lanes.unknown.store(true, Release),
        }
    }

    /// An event at the end of what is on a stream now; none if it is captured.
    fn marked(&self, stream: CUstream) -> Result<Option<CudaEvent>> {
        if self.device.is_captured(stream)? {
            return Ok(None);
        }
        let mark = self.take_mark()?;
        mark.record_on(stream)?;
        Ok(Some(mark))
    }

    /// An event of the library's own.
    pub(super) fn take_mark(&self) -> Result<CudaEvent> {
        let unused = lock(&self.lanes.marks).pop();
        unused.map_or_else(|| CudaEvent::mark(&self.device), Ok)
    }

    /// Takes back an event that was reached.
    pub(super) fn give_mark_back(&self, mark: CudaEvent) {
        lock(&self.lanes.marks).push(mark);
    }

    /// Whether everything is done that was on streams when the program took them back.
    pub(crate) fn left_nothing(&self) -> Result<bool> {
        let mut left = lock(&self.lanes.left);
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

    /// Waits until nothing of this PE's is on any stream that it knows: then its memory may go. Otherwise the memory stays mapped for
    /// good, and the answer is false.
    ///
    /// Local, after this PE's kernels were told to end.
    pub(crate) fn settle(&self, limit: Duration) -> bool {
        let until = Instant::now() + limit;
        loop {
            match self.left_nothing() {
                Ok(true) if !self.lanes.unknown.load(Acquire) => return true,
                Ok(false) if Instant::now() < until => std::thread::sleep(LOOK),
                _ => break,
            }
        }
        if !self.kept.swap(true, AcqRel) {
            // What a kernel may use.
            std::mem::forget((
                Arc::clone(&self.segment),
                Arc::clone(&self.page),
                Arc::clone(&self.kernels),
                std::mem::take(&mut *lock(&self.preferred)),
            ));
        }
        false
    }
}
