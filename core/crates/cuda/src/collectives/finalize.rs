//! A PE in finalize waits for its streams, and announces to the members of its teams that it calls no further collective.
//!
//! A caller that waits on the host sees that a PE has called finalize. A kernel that waits sees only the members' announcements. So the PE
//! announces, in the place of its next collective on each team, a call that matches no other; a kernel that waits for that collective ends
//! with an error that names the PE.

use super::completion::CompletionCounts;
use crate::CudaTransport;
use crate::Result;
use crate::job::published::{Target, Wait};
use crate::kernels;
use crate::operation::{ARGS, Operation, signature};
use std::cell::RefCell;
use std::time::{Duration, Instant};

/// The interval of reading the completion counts, each time by a copy from the GPU.
const LOOK: Duration = Duration::from_micros(100);

/// How long finalize waits for a kernel that has reported an error.
const LEAVING: Duration = Duration::from_millis(500);

/// How long a PE that leaves the job waits for kernels that were asked to end.
const SETTLE: Duration = Duration::from_secs(2);

/// The teams to which this PE has not announced its finalize yet.
struct FinalizeNotice<'a> {
    cuda: &'a CudaTransport,
    teams: Vec<u32>,
    looked: Option<Instant>,
    counts: CompletionCounts<'a>,
    /// The first error of an announcement.
    announced: Result<()>,
}

fn in_finalize() -> Wait {
    Wait {
        operation: Operation::Finalize,
        target: Target::Stream { goal: 0 },
    }
}

impl CudaTransport {
    /// Waits for the streams that the program has used. Announces to the members of each team, once its collectives have run here, that this
    /// PE calls no further collective: a member's kernel may wait for one, and this PE's kernels for work behind that kernel.
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
            Ok(self.left_nothing()? && self.stream_order.destroyed.are_idle()?)
        });
        drained = drained.and(done);
        // After an error of the driver, no work runs any more.
        let idle = |done: Result<bool>| done.unwrap_or(true);
        let announced = notice.into_inner().finish(|| {
            idle(self.left_nothing())
                && idle(self.stream_order.destroyed.are_idle())
                && streams.iter().all(|stream| idle(stream.has_run()))
        });
        if drained.is_ok() {
            self.forget_destroyed_streams();
        }
        drained.and(announced)
    }

    /// Releases all streams, and waits until their work, which was asked to end, has ended. Returns a warning otherwise.
    pub(crate) fn let_all_go(&self) -> Option<String> {
        for stream in self.forget_streams() {
            match stream.may_be_destroyed() {
                true => self.forget_destroyed(stream.raw(), false),
                false => self.let_go_of(stream.raw(), stream.made_in()),
            }
        }
        (!self.settle(SETTLE)).then(|| {
            "the GPU memory of the heap stays mapped until this process ends: work on a stream has not come to its end".into()
        })
    }

    /// Announces that this PE calls no further collective of a team. The announcement does not wait for the program's streams: the caller
    /// ensures that the team's collectives have run, or that nobody waits for them.
    fn announce_finalize(&self, team: u32) -> Result<()> {
        let (team, _) = self.team_args(team)?;
        let sign = signature(Operation::Finalize, &[0; ARGS], true);
        let mut args = self.call_args(team, Operation::Finalize, sign);
        // The kernel does not wait for the other members.
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
            announced: Ok(()),
        }
    }

    /// Announces to the teams whose collectives have all run here, none in a graph: an announcement must not precede a collective on a stream.
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
        self.announce(done);
        Ok(())
    }

    /// Announces to the remaining teams: this PE's streams are empty, or nobody waits for their work. On return the announcements have
    /// arrived.
    ///
    /// A kernel that has reported an error may not have ended yet. It announces its own call to all members before it ends, and the
    /// announcement here would replace that call before others have seen it; `idle` returns whether the kernel has ended.
    fn finish(mut self, idle: impl Fn() -> bool) -> Result<()> {
        let until = Instant::now() + LEAVING;
        while !self.teams.is_empty() && !idle() && Instant::now() < until {
            std::thread::sleep(LOOK);
        }
        let rest = std::mem::take(&mut self.teams);
        self.announce(rest);
        // The members' memory may be freed once all PEs are in finalize.
        let arrived = self.cuda.wait(in_finalize(), &|| self.cuda.is_idle());
        self.announced.and(arrived)
    }

    fn announce(&mut self, teams: Vec<u32>) {
        for team in teams {
            let announced = self.cuda.announce_finalize(team);
            if announced.is_err()
                && let Ok(owner) = self.cuda.owner()
            {
                // Members that wait then find the broken team on the host.
                owner.break_team(team);
            }
            self.announced = std::mem::replace(&mut self.announced, Ok(())).and(announced);
        }
    }
}
