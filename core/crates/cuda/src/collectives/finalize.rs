//! A PE in finalize waits for its streams, and announces to the members of its teams that it will call no further collective.
//!
//! A caller that waits on the host sees that a PE has called finalize. A kernel that waits sees the members' announcements. So the PE
//! announces a call that matches no other in the place of its next collective on each team; a kernel that waits for that one ends with an
//! error that names the PE.

use super::completion::CompletionCounts;
use crate::CudaTransport;
use crate::Result;
use crate::job::published::{Target, Wait};
use crate::kernels;
use crate::operation::{ARGS, Operation, signature};
use std::cell::RefCell;
use std::time::{Duration, Instant};

/// Between two looks at what the GPU has run, each of which copies a word per team.
const LOOK: Duration = Duration::from_micros(100);

/// How long a kernel that has reported an error has to leave.
const LEAVING: Duration = Duration::from_millis(500);

/// How long a PE that leaves waits for kernels that were told to end.
const SETTLE: Duration = Duration::from_secs(2);

/// The teams whose members have not been told yet.
struct FinalizeNotice<'a> {
    cuda: &'a CudaTransport,
    teams: Vec<u32>,
    looked: Option<Instant>,
    counts: CompletionCounts<'a>,
    /// The first error.
    told: Result<()>,
}

fn in_finalize() -> Wait {
    Wait {
        operation: Operation::Finalize,
        target: Target::Stream { goal: 0 },
    }
}

impl CudaTransport {
    /// Waits for the streams that the program has used, and tells the members of each team, as soon as this PE is done with it, that it
    /// comes to no further collective: kernels of theirs may wait for one, and ours for what comes after it.
    pub(crate) fn drain_streams(&self) -> Result<()> {
        let streams = self.streams_in_use();
        let notice = RefCell::new(FinalizeNotice::new(self));
        let mut drained = Ok(());
        for stream in &streams {
            let done = self.wait(in_finalize(), &|| {
                notice.borrow_mut().look()?;
                stream.has_run()
            });
            drained = drained.and(done);
        }
        let done = self.wait(in_finalize(), &|| {
            notice.borrow_mut().look()?;
            self.left_nothing()
        });
        drained = drained.and(done);
        // An error of the driver says that nothing runs any more.
        let idle = |done: Result<bool>| done.unwrap_or(true);
        let told = notice.into_inner().finish(|| {
            idle(self.left_nothing()) && streams.iter().all(|stream| idle(stream.has_run()))
        });
        drained.and(told)
    }

    /// Lets all streams go, and waits until their work has ended, which was told to. Says what the user may want to know.
    pub(crate) fn let_all_go(&self) -> Option<String> {
        for stream in self.forget_streams() {
            self.let_go_of(stream.raw(), stream.made_in());
        }
        (!self.settle(SETTLE)).then(|| {
            "the GPU memory of the heap stays mapped until this process ends: work on a stream has not come to its end".into()
        })
    }

    /// Announces that this PE comes to no further collective of a team. Nothing on the program's streams holds it up: whoever calls this
    /// knows that the team's collectives have run, or that nobody waits for them.
    fn announce_finalize(&self, team: u32) -> Result<()> {
        let (team, _) = self.team_args(team)?;
        let sign = signature(Operation::Finalize, &[0; ARGS], true);
        let mut args = self.call_args(team, Operation::Finalize, sign);
        // It does not wait for the others.
        args.count = 1;
        let plan = kernels::barrier_plan(&team);
        self.kernels.collective(self.device.stream(), plan, &args)
    }
}

impl<'a> FinalizeNotice<'a> {
    fn new(cuda: &'a CudaTransport) -> FinalizeNotice<'a> {
        let others = cuda.teams.live().filter(|(_, n_pes)| *n_pes > 1);
        FinalizeNotice {
            cuda,
            teams: others.map(|(team, _)| team).collect(),
            looked: None,
            counts: CompletionCounts::new(cuda),
            told: Ok(()),
        }
    }

    /// Tells the members of those teams whose collectives have all run here. It must not come before a collective that was put on a
    /// stream, hence not while graphs may run.
    fn look(&mut self) -> Result<()> {
        let early = self.looked.is_some_and(|at| at.elapsed() < LOOK);
        if self.teams.is_empty() || early {
            return Ok(());
        }
        self.looked = Some(Instant::now());
        let Some(counts) = self.counts.counts()? else {
            return Ok(());
        };
        let ends = &self.cuda.completion;
        let (done, others) = self
            .teams
            .iter()
            .partition(|team| ends.have_run(**team, &counts) && !ends.is_captured(**team));
        self.teams = others;
        self.tell(done);
        Ok(())
    }

    /// Tells the rest: nothing is on this PE's streams any more, or nobody waits for it. The announcements have arrived when it returns.
    ///
    /// A kernel that has reported an error may be leaving still. It announces its own call to all members before it ends, and the announcement
    /// here would replace that while others have not seen it; `idle` says when it has left.
    fn finish(mut self, idle: impl Fn() -> bool) -> Result<()> {
        let until = Instant::now() + LEAVING;
        while !self.teams.is_empty() && !idle() && Instant::now() < until {
            std::thread::sleep(LOOK);
        }
        let rest = std::mem::take(&mut self.teams);
        self.tell(rest);
        // The members' memory may go once all PEs are in finalize.
        let arrived = self.cuda.wait(in_finalize(), &|| self.cuda.is_idle());
        self.told.and(arrived)
    }

    fn tell(&mut self, teams: Vec<u32>) {
        for team in teams {
            let told = self.cuda.announce_finalize(team);
            if told.is_err()
                && let Ok(owner) = self.cuda.owner()
            {
                // Then those who wait learn it on the host.
                owner.break_team(team);
            }
            self.told = std::mem::replace(&mut self.told, Ok(())).and(told);
        }
    }
}
