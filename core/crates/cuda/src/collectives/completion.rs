//! How the kernels of collectives end, and how the host finds that out. This is the one description of both.
//!
//! A kernel of a collective leaves in one of these ways (`team.cuh`):
//!
//! | the kernel | when | its effect |
//! |---|---|---|
//! | does its work | all members come with the same call | one more in [`TeamLocal`]`::over`, but not of a graph; the ticket of a blocking one |
//! | gives up | the team's abort word in the mailbox is set | the abort word, which stays; its work may be half done |
//! | gives up and reports | a member announces another call, or brings too much | its report in the mailbox; it sets the team's abort word itself |
//! | does nothing | the team's generation in device memory is another one | a report, unless the team was given up |
//!
//! These tell kernels to end:
//!
//! | who | when | how |
//! |---|---|---|
//! | the watchdog | a PE is gone: all kernels; a member has broken a team with collectives on streams: those of the team | [`Completion::watch`] |
//! | a call that waits or checks | it finds such a team | [`Completion::end_kernels`] |
//! | a blocking collective | its wait ends with an error | [`BorrowedStream::abandon`] |
//! | destroy | the team is no more, or is broken | [`CudaTransport::end_generation`] |
//! | a PE in finalize | it comes to no further collective of a team: the kernels of the other members report it | `finalize.rs` |
//! | a PE that leaves | from then on, all of its kernels; those of all PEs of the process if it leaves without finalize | `let_all_go` |
//!
//! The host finds the end of a blocking collective by its ticket, or by the driver's word for its stream ([`BorrowedStream::is_over`]); of
//! those on streams by their counts, which a copy brings ([`CompletionCounts`], [`Completion::have_run`]). Whether the work was done says
//! [`Completion::is_told`]; why not, the report, or the job's control block ([`CudaTransport::why_ended`]). What else is on streams when a PE
//! leaves is waited for by events (`streams/order.rs`).

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
/// For a team without collectives on streams.
const UNWATCHED: u64 = u64::MAX;
/// Looks at a ticket between two questions to the driver.
const LOOKS: u32 = 64;
/// How long a kernel that was told to end has for it.
const LEAVING: Duration = Duration::from_millis(500);
/// Words from one team's count to the next one's.
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

/// The collectives of a team that this PE has put on its GPU.
struct Launches {
    /// Those that run once.
    once: AtomicU64,
    /// Those that were captured into graphs; how often they run nobody knows.
    captured: AtomicU64,
    /// The epoch after which the team's first one comes, if some are on streams, so that no call of the program's need be waiting for
    /// them; else [`UNWATCHED`].
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

    /// Lets the kernels of a new team run, of which there are none yet.
    pub(super) fn begin_team(&self, team: u32) {
        let (launches, words) = (self.launches(team), self.mailbox.contents());
        launches.once.store(0, Relaxed);
        launches.captured.store(0, Relaxed);
        launches.watched_from.store(UNWATCHED, Release);
        words.teams[team as usize].store(0, SeqCst);
        // A caller that ends all kernels at the same time has set the first word before the second.
        if words.abort.load(SeqCst) != 0 {
            self.end_kernels(team);
        }
    }

    /// A collective of a team was put on the GPU, of so many kernels; `on_stream`: the epoch after which the team's first one comes, if no
    /// call waits for it.
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

    /// How many there were: the same on every member that has called what the others have called.
    pub(crate) fn count(&self, team: u32) -> u64 {
        let launches = self.launches(team);
        launches.once.load(Relaxed) + launches.captured.load(Relaxed)
    }

    /// Whether some may be under way although no call of the program's is.
    pub(crate) fn is_on_stream(&self, team: u32) -> bool {
        self.launches(team).watched_from.load(Acquire) != UNWATCHED
    }

    /// Whether graphs may run some that nobody counts.
    pub(crate) fn is_captured(&self, team: u32) -> bool {
        self.launches(team).captured.load(Relaxed) != 0
    }

    /// Whether all have run, by the counts of this PE's GPU: not those of graphs.
    pub(crate) fn have_run(&self, team: u32, counts: &[u64]) -> bool {
        counts[team as usize] >= self.launches(team).once.load(Relaxed)
    }

    /// Ends the kernels that wait, now and later.
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

    /// Whether those of a team have been told to end, by the host or by one of them, so that one that has run may not have done its work.
    pub(crate) fn is_told(&self, team: u32) -> bool {
        self.mailbox.contents().teams[team as usize].load(Acquire) != 0
    }

    /// Ends the kernels that wait for a PE that is gone, or on streams for a member that cannot come any more. For the watchdog.
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
    /// Ends a team's kernels, and says on the blocking stream that the number has another generation; waits for nothing.
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

    /// Has a blocking collective say when it is over; no other one of the team's number has this ticket.
    pub(crate) fn asks_when(&self, args: &mut CollectiveArgs, ticket: u64) {
        args.says_when(self.mailbox.finished_address(args.team_index()), ticket);
    }
}

impl BorrowedStream<'_> {
    /// Whether the team's blocking collective is over. Its ticket comes before the driver's word; a look at it costs next to nothing, so
    /// there are several. The driver knows of a kernel that says nothing.
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

    /// Ends the kernel, and waits a little until it has left: it may not have begun, behind what the program has put on another stream.
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
            // When it begins, it finds that it is not meant any more.
            cuda.end_generation(team, TeamLocal::GIVEN_UP);
        }
        cuda.note(left);
    }
}

/// Looks at how many collectives of each team this PE's GPU has run. A look is a copy, which the blocking stream may come to late;
/// nobody waits for it.
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

    /// The counts, by the teams' numbers, if the copy has come that was under way; else one is now.
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

    /// Begins a copy, if there is a stage for it and the blocking stream goes on.
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
