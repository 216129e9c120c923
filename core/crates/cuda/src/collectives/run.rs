//! How a collective becomes a kernel on a stream.
//!
//! A blocking collective begins with the members' meeting on the host, as on host memory: errors and differing arguments reach every member,
//! and no kernel waits for a member that does not come. Then each member runs the kernel on a stream of the library and waits for it.
//!
//! A collective on a stream has no meeting on the host. Its kernels compare the signatures of the arguments instead; a member whose call
//! differs, or whose arguments are refused, ends the collective on all members with a permanent error.

use crate::CudaTransport;
use crate::job::team;
use crate::kernels::{self, CollectiveArgs, Plan, Reduction, Role, TeamArgs};
use crate::operation::{ARGS, Operation, signature};
use crate::transport::{
    Collective, CollectiveShape, Collectives as _, Meeting, Submission, Task, Transport as _,
};
use crate::{Error, Result};

fn reduction_of(task: &Task) -> Option<Reduction> {
    task.reduction.map(|(dtype, op)| Reduction { dtype, op })
}

impl CudaTransport {
    /// The arguments of a team's kernels, and the epoch that precedes its first collective.
    pub(super) fn team_args(&self, index: u32) -> Result<(TeamArgs, u64)> {
        let (args, base_epoch) = self
            .teams
            .get(index, |team| (team.args.clone(), team.base_epoch))?;
        Ok((args?, base_epoch))
    }

    /// Puts only the announcement of an invalid call on a stream; such announcements of all members match.
    pub(super) fn announce_refusal(
        &self,
        submission: Submission,
        operation: Operation,
        meeting: &dyn Meeting,
    ) -> Result<()> {
        let (team, base_epoch) = self.team_args(meeting.team_index())?;
        let sign = signature(operation, &[0; ARGS], true);
        let mut args = self.call_args(team, operation, sign);
        args.announces(CudaTransport::refused(operation));
        let plan = kernels::barrier_plan(&team);
        self.put_kernel((submission, Some(base_epoch)), operation, plan, &args)
    }

    /// Puts a collective on a stream; the call returns before it has run.
    pub(super) fn run_on_stream(
        &self,
        submission: Submission,
        call: &Collective,
        meeting: &dyn Meeting,
    ) -> Result<()> {
        let operation = call.operation;
        let refuse = |error| {
            self.refuse(submission, operation, meeting);
            // The call returns its own error.
            Err(error)
        };
        let ready = self.failure();
        let ready = ready.and_then(|()| self.check_private(call, meeting.team_index()));
        if let Err(error) = ready {
            return refuse(error);
        }
        match self.apply_backpressure(submission, operation, 1) {
            Ok(()) => {}
            // Nothing has begun: the program may call again.
            Err(error @ (Error::Timeout { .. } | Error::Interrupted { .. })) => return Err(error),
            Err(error) => return refuse(error),
        }
        self.launch((submission, None), call, meeting)
            // The other members' kernels would wait for this member in vain.
            .inspect_err(|_| meeting.break_team())
    }

    /// Checks that a collective with private memory, whose offset lies beyond this PE's part, has a plan that takes it.
    fn check_private(&self, call: &Collective, team: u32) -> Result<()> {
        let (operation, task) = (call.operation, &call.task);
        if task.dest.max(task.source) < self.layout.stride {
            return Ok(());
        }
        let (args, _) = self.team_args(team)?;
        let moved = (task.bytes, task.dest == task.source);
        if self
            .plan_of(operation, reduction_of(task), moved, &args)?
            .takes_private_memory
        {
            return Ok(());
        }
        let most = self.most_private_bytes(team, operation)?;
        Err(Error::NotSupported(format!(
            "`{}` of {} bytes over team {}, with private memory of the GPU: more than {most} bytes must be in symmetric memory",
            operation.name(),
            task.bytes,
            team::name(team)
        )))
    }

    /// See [`Collectives::private_bytes`](crate::transport::Collectives::private_bytes).
    pub(super) fn most_private_bytes(&self, team: u32, operation: Operation) -> Result<u64> {
        // A team that is too large for its sync block has no collectives on GPU memory.
        let Ok((team, _)) = self.team_args(team) else {
            return Ok(0);
        };
        let by = (&self.tuning, self.most_blocks());
        Ok(kernels::private_bytes(operation, &team, by))
    }

    /// Why the kernel of a blocking collective ended before its work was done.
    #[cold]
    pub(super) fn why_ended(&self, operation: Operation, team: u32) -> Error {
        let known = self.failure().and_then(|()| {
            let owner = self.owner()?;
            owner.check(operation)?;
            owner.check_team(operation, team)
        });
        known.err().unwrap_or_else(|| {
            Error::Internal(format!(
                "the kernel of {} was ended for an unknown reason",
                operation.name()
            ))
        })
    }

    pub(super) fn call_args(
        &self,
        team: TeamArgs,
        operation: Operation,
        signature: u64,
    ) -> CollectiveArgs {
        let state = self.team_state(team.index());
        CollectiveArgs::new(state, team, operation as u32, signature)
    }

    /// Puts the kernel of a collective on a stream; `ticket`: the ticket of a blocking collective.
    pub(super) fn launch(
        &self,
        (submission, ticket): (Submission, Option<u64>),
        call: &Collective,
        meeting: &dyn Meeting,
    ) -> Result<()> {
        let (operation, task) = (call.operation, &call.task);
        let (team, base_epoch) = self.team_args(meeting.team_index())?;
        let reduction = reduction_of(task);
        let in_place = task.dest == task.source;
        let of_bytes = |bytes| self.plan_of(operation, reduction, (bytes, in_place), &team);
        let plan = match task.shape {
            CollectiveShape::Plain => of_bytes(task.bytes)?,
            CollectiveShape::Strided { count, element, .. } => of_bytes(count * element)?,
            CollectiveShape::Collected { room, .. } => {
                kernels::collect_plan(room, &team, self.most_blocks())
            }
        };
        // `nvshmemrs_device_algorithm` of another thread may have changed the plan since `check_private`.
        if task.dest.max(task.source) >= self.layout.stride && !plan.takes_private_memory {
            return Err(Error::Internal(format!(
                "the algorithm of `{}` was changed while a call began",
                operation.name()
            )));
        }
        // The kernels of members with private memory and of those with symmetric memory meet.
        let args = match plan.takes_private_memory {
            true => operation.without_places(call.args),
            false => call.args,
        };
        let mut kernel = self.call_args(team, operation, signature(operation, &args, false));
        (kernel.dest, kernel.source) = (task.dest, task.source);
        (kernel.bytes, kernel.root) = (task.bytes, task.root);
        if let Some(reduction) = reduction {
            kernel.reduces(reduction);
        }
        match task.shape {
            CollectiveShape::Plain => {}
            CollectiveShape::Strided {
                count,
                element,
                dest_step,
                source_step,
            } => {
                (kernel.count, kernel.element) = (count, element);
                (kernel.dest_step, kernel.source_step) = (dest_step, source_step);
            }
            CollectiveShape::Collected { room, filled } => {
                (kernel.count, kernel.element) = (room, filled.into());
            }
        }
        kernel.follows(&plan);
        // A blocking collective tells the host when it is over.
        if let Some(ticket) = ticket {
            self.request_completion(&mut kernel, ticket);
        }
        let on_stream = ticket.is_none().then_some(base_epoch);
        self.put_kernel((submission, on_stream), operation, plan, &kernel)
    }

    /// Puts a collective of a team on a stream. `on_stream`: if the call returns before the collective has run, the epoch that precedes the
    /// team's first collective.
    fn put_kernel(
        &self,
        (submission, on_stream): (Submission, Option<u64>),
        operation: Operation,
        plan: Plan,
        args: &CollectiveArgs,
    ) -> Result<()> {
        let team = args.team_index();
        let captured = on_stream.is_some() && self.is_captured(submission);
        let mut args = *args;
        if captured {
            args.is_replayed();
        }
        if on_stream.is_some() {
            self.lose_turn(submission);
        }
        let on = (submission, on_stream);
        while !self.put_in_turn(on, captured, (operation, plan), &args)? {
            // The previous collective is on another stream, which is captured now, or was when the program released it, or which the
            // program may have destroyed.
            self.await_launches(operation, team)?;
            self.all_have_run(team);
        }
        let kernels = 1 + u64::from(plan.role == Role::Opening);
        self.completion
            .add_launches(team, kernels, captured, on_stream);
        Ok(())
    }

    /// Puts a collective of a team on a stream, after the team's earlier collectives; in a graph, the program ensures that order. Returns
    /// false if nothing was enqueued, because no event can mark the end of the previous collective, which must run first.
    fn put_in_turn(
        &self,
        (submission, on_stream): (Submission, Option<u64>),
        captured: bool,
        (operation, plan): (Operation, Plan),
        args: &CollectiveArgs,
    ) -> Result<bool> {
        let (team, stream) = (args.team_index(), self.stream(submission));
        if !captured && !self.take_turn(team, stream)? {
            return Ok(false);
        }
        match plan.role {
            Role::Opening => {
                let (first, last) = args.roles();
                self.kernels.collective(stream, plan, &first)?;
                let rest = self.put_copies(submission, (operation, plan), &last);
                if rest.is_err() && !captured {
                    // Only the first kernel is on the stream; the members will wait for the last kernel in vain.
                    self.completion.add_launches(team, 1, captured, on_stream);
                    self.completion.end_kernels(team);
                    self.end_turn(team, stream)?;
                }
                rest?;
            }
            _ => self.kernels.collective(stream, plan, args)?,
        }
        if !captured {
            self.end_turn(team, stream)?;
        }
        Ok(true)
    }

    /// The number of blocks of a collective that every PE's GPU can run at once: equal on all PEs, once all have joined.
    fn most_blocks(&self) -> u32 {
        let blocks = self.least.unwrap_or_else(|| self.segment.blocks());
        blocks.max(1) as u32
    }

    fn plan_of(
        &self,
        operation: Operation,
        reduction: Option<Reduction>,
        moved: (u64, bool),
        team: &TeamArgs,
    ) -> Result<Plan> {
        let by = (&self.tuning, self.most_blocks());
        kernels::plan(operation, reduction, moved, team, by)
            .ok_or_else(|| Error::Internal(format!("{} has no kernel", operation.name())))
    }
}
