//! How the kernels of collectives end, and how the host learns of their end. Both are described only here.
//!
//! A kernel of a collective ends in one of these ways (`team.cuh`):
//!
//! | the kernel | when | effect |
//! |---|---|---|
//! | does its work | all members make the same call | [`TeamLocal`]`::over` counts it, unless it is in a graph; a blocking call's ticket is written |
//! | gives up | the team's abort word in the mailbox is set | the abort word stays set; the work may be incomplete |
//! | gives up and reports | a member announces another call, or contributes too much | a report in the mailbox; the kernel sets the abort word |
//! | does nothing | the team's generation in device memory is not the kernel's | a report, unless the team was given up |
//!
//! Kernels are told to end by:
//!
//! | who | when | how |
//! |---|---|---|
//! | the watchdog | a PE is gone: all kernels; a member has broken a team with collectives on streams: the team's kernels | [`Completion::watch`] |
//! | a call that waits or checks | the call finds a broken team | [`Completion::end_kernels`] |
//! | a blocking collective | its wait ends with an error | [`BorrowedStream::abandon`] |
//! | destroy | the team is destroyed, or is broken | [`CudaTransport::end_generation`] |
//! | a PE in finalize | the PE calls no further collective of a team: the other members' kernels report that | `finalize.rs` |
//! | a PE that leaves | from then on, all kernels of the PE, or of all PEs of the process if it leaves without finalize | `let_all_go` |
//!
//! The host learns of the end of a blocking collective by its ticket, or by a query of its stream ([`BorrowedStream::is_over`]); of collectives on
//! streams by their counts, which it copies ([`CompletionCounts`], [`Completion::have_run`]). If [`Completion::is_told`] is true, the work may not
//! be done; the reason is in the report, or in the job's control block ([`CudaTransport::why_ended`]). Events mark the end of all other work that
//! is on streams when a PE leaves (`streams/order.rs`).

use super::sync_area;
use crate::Pe;
use crate::Result;
use crate::buffer::LocalDest;
use crate::job::block::{Control, MAX_TEAMS};
use crate::job::team::breaks;
use crate::kernels::{CollectiveArgs, TeamLocal};
use crate::transport::Submission;
use crate::{BorrowedStream, CudaEvent, CudaTransport, LOOK, Mailbox, STAGE, Stage};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::time::{Duration, Instant};

/// The value that the host writes to an abort word; kernels write the number of an error.
const ENDED: u32 = 1 << 16;
/// `watched_from` of a team without collectives on streams.
const UNWATCHED: u64 = u64::MAX;
/// Polls of a ticket between two queries of the driver.
const LOOKS: u32 = 64;
/// How long a caller waits for a kernel that was told to end.
const LEAVING: Duration = Duration::from_millis(500);
/// Words from one team's count to the next team's.
const STEP: usize = sync_area::EPOCH as usize / 8;
/// Bytes of all counts.
const BYTES: usize = MAX_TEAMS * sync_area::EPOCH as usize;
const _: () = assert!(BYTES <= STAGE);

/// The kernels that this PE has launched for its teams, and the words that end them.
pub(crate) struct Completion {
    mailbox: Arc<Mailbox>,
    /// By team number.
    teams: Box<[Launches]>,
}

/// The kernels of a team's collectives that this PE has put on its GPU.
struct Launches {
    /// Kernels that run once.
    once: AtomicU64,
    /// Kernels that were captured into graphs; how often they run is unknown.
    captured: AtomicU64,
    /// The epoch that precedes the team's first collective, if collectives are on streams, where no call may be waiting for them; else
    /// [`UNWATCHED`].
    watched_from: AtomicU64,
}

impl Completion {
    pub(crate) fn new(mailbox: &Arc<Mailbox>) -> Completion {
        let none = || Launches {
            once: AtomicU64::new(0),
            captured: AtomicU64::new(0),
            watched_from: AtomicU64::new(UNWATCHED),
        };
        Completion {
            mailbox: Arc::clone(mailbox),
            teams: (0..MAX_TEAMS).map(|_| none()).collect(),
        }
    }

    fn launches(&self, team: u32) -> &Launches {
        &self.teams[team as usize]
    }

    /// Lets the kernels of a new team run; none exists yet.
    pub(super) fn begin_team(&self, team: u32) {
        let (launches, words) = (self.launches(team), self.mailbox.contents());
        launches.once.store(0, Relaxed);
        launches.captured.store(0, Relaxed);
        launches.watched_from.store(UNWATCHED, Release);
        words.teams[team as usize].store(0, SeqCst);
        // A concurrent `end_all` sets `abort` before the team's word.
        if words.abort.load(SeqCst) != 0 {
            self.end_kernels(team);
        }
    }

    /// Counts the kernels of a collective that was put on the GPU. `on_stream`: if no call waits for the collective, the epoch that precedes the
    /// team's first collective.
    pub(crate) fn add_launches(
        &self,
        team: u32,
        kernels: u64,
        captured: bool,
        on_stream: Option<u64>,
    ) {
        let launches = self.launches(team);
        let count = match captured {
            true => &launches.captured,
            false => &launches.once,
        };
        count.fetch_add(kernels, Relaxed);
        if let Some(first) = on_stream {
            launches.watched_from.store(first, Release);
        }
    }

    /// The number of kernels counted: the same on all members that have made the same calls.
    pub(crate) fn count(&self, team: u32) -> u64 {
        let launches = self.launches(team);
        launches.once.load(Relaxed) + launches.captured.load(Relaxed)
    }

    /// Whether kernels may be in flight although no call of the program is.
    pub(crate) fn is_on_stream(&self, team: u32) -> bool {
        self.launches(team).watched_from.load(Acquire) != UNWATCHED
    }

    /// Whether graphs may run kernels that are not counted.
    pub(crate) fn is_captured(&self, team: u32) -> bool {
        self.launches(team).captured.load(Relaxed) != 0
    }

    /// Whether all kernels but those of graphs have run, by the counts of this PE's GPU.
    pub(crate) fn have_run(&self, team: u32, counts: &[u64]) -> bool {
        counts[team as usize] >= self.launches(team).once.load(Relaxed)
    }

    /// Ends all kernels that wait, now or later.
    pub(crate) fn end_all(&self) {
        let words = self.mailbox.contents();
        words.abort.store(ENDED, SeqCst);
        for team in &words.teams {
            team.store(ENDED, SeqCst);
        }
    }

    /// Ends the kernels of a team's collectives, now and until another team has the number.
    pub(crate) fn end_kernels(&self, team: u32) {
        self.mailbox.contents().teams[team as usize].store(ENDED, Release);
    }

    /// Whether the kernels of a team were told to end, by the host or by one of them: a kernel that has run may then not have done its work.
    pub(crate) fn is_told(&self, team: u32) -> bool {
        self.mailbox.contents().teams[team as usize].load(Acquire) != 0
    }

    /// For the watchdog: ends all kernels if a PE is gone, and the kernels on streams of a team that a member has broken.
    pub(crate) fn watch(&self, control: &Control, me: Pe) {
        if control.header().gone.load(Acquire) != 0 {
            self.end_all();
        }
        for (team, launches) in (0..).zip(&self.teams) {
            let first = launches.watched_from.load(Acquire);
            if first != UNWATCHED && breaks(control.team(team, me).broken.load(Acquire), first) {
                self.end_kernels(team);
            }
        }
    }
}

impl CudaTransport {
    /// Ends a team's kernels, and stores another generation for its number on the blocking stream. Does not wait.
    pub(super) fn end_generation(&self, index: u32, generation: u32) {
        self.completion.end_kernels(index);
        let place = std::mem::offset_of!(TeamLocal, generation) as u64;
        let place = sync_area::epoch(self.sync_area(), index).offset() + place;
        let (at, stream) = (self.layout.address(self.me, place), self.device.stream());
        let stored = self
            .kernels
            .put_value(stream, at, &generation.to_le_bytes());
        self.note(stored.map(|()| self.issue()));
    }

    /// Makes a blocking collective write `ticket`, unique for the team's number, when it is over.
    pub(crate) fn request_completion(&self, args: &mut CollectiveArgs, ticket: u64) {
        args.reports_completion(self.mailbox.finished_address(args.team_index()), ticket);
    }
}

impl BorrowedStream<'_> {
    /// Whether the team's blocking collective is over. The ticket arrives before the driver reports the end, and is cheap to poll. The driver also
    /// reports the end of a kernel that writes no ticket.
    pub(crate) fn is_over(&self, ticket: u64) -> Result<bool> {
        let finished = &self.cuda.mailbox.contents().finished[self.team as usize];
        for _ in 0..LOOKS {
            if finished.load(Acquire) == ticket {
                return Ok(true);
            }
            std::hint::spin_loop();
        }
        self.query()
    }

    /// Tells the kernel to end, and waits briefly for its end: the kernel may not have begun, behind work of the program on another stream.
    pub(crate) fn abandon(&self) {
        let (cuda, team) = (self.cuda, self.team);
        cuda.completion.end_kernels(team);
        let until = Instant::now() + LEAVING;
        let left = loop {
            match self.query() {
                Ok(false) if Instant::now() < until => std::thread::sleep(LOOK),
                left => break left,
            }
        };
        if let Ok(false) = left {
            // The kernel, once it begins, finds another generation.
            cuda.end_generation(team, TeamLocal::GIVEN_UP);
        }
        cuda.note(left);
    }
}

/// Reads how many collectives of each team this PE's GPU has run, by a copy, which the blocking stream may run late; no call waits for it.
pub(crate) struct CompletionCounts<'a> {
    cuda: &'a CudaTransport,
    under_way: Option<(Stage<'a>, CudaEvent)>,
}

impl<'a> CompletionCounts<'a> {
    pub(crate) fn new(cuda: &'a CudaTransport) -> CompletionCounts<'a> {
        CompletionCounts {
            cuda,
            under_way: None,
        }
    }

    /// The counts by team number, once the copy in flight is complete. Starts a copy if none is in flight.
    pub(crate) fn counts(&mut self) -> Result<Option<Vec<u64>>> {
        if self.under_way.is_none() {
            self.begin()?;
        }
        let Some((stage, end)) = self.under_way.take() else {
            return Ok(None);
        };
        if !end.query()? {
            self.under_way = Some((stage, end));
            return Ok(None);
        }
        self.cuda.give_mark_back(end);
        let mut words = vec![0_u64; MAX_TEAMS * STEP];
        stage.empty(0, &mut LocalDest::from(&mut words[..]));
        Ok(Some(words.chunks(STEP).map(TeamLocal::over).collect()))
    }

    /// Starts a copy, if a stage is free and the blocking stream is not held up.
    fn begin(&mut self) -> Result<()> {
        let cuda = self.cuda;
        if cuda.is_held_up()? {
            return Ok(());
        }
        let Some(stage) = cuda.mailbox.stage(Submission::Blocking)? else {
            return Ok(());
        };
        let from = sync_area::epoch(cuda.sync_area(), 0).offset();
        let from = cuda.layout.address(cuda.me, from);
        cuda.begin_copy(Submission::Blocking, stage.address(), from, BYTES)?;
        match cuda.mark_here(cuda.stream(Submission::Blocking)) {
            Ok(end) => self.under_way = Some((stage, end)),
            Err(error) => {
                stage.retire(None);
                return Err(error);
            }
        }
        Ok(())
    }
}

impl Drop for CompletionCounts<'_> {
    fn drop(&mut self) {
        if let Some((stage, end)) = self.under_way.take() {
            stage.retire(Some(end));
        }
    }
}
