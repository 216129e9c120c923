//! Collectives on GPU memory: one kernel each.
//!
//! A blocking one begins with the members' meeting on the host, as on host memory: errors and arguments that differ reach every member, and
//! nobody waits in a kernel for a member that does not come. Then each runs the kernel on the library's own stream and waits for it.
//!
//! On a stream there is no meeting on the host. The kernels compare the signature of the arguments instead; a member whose call
//! differs, or whose own arguments are refused, ends the collective for all of them with an error that stays.

use super::{Turn, signature};
use crate::dtype::Dtype;
use crate::job::published::{Target, Wait};
use crate::op::Op;
use crate::operation::{ARGS, Operation};
use crate::runtime::Inner;
use crate::team::TeamState;
use crate::transport::Lane;
use crate::transport::cuda::kernels::{self, CollectiveArgs, Plan, Reduction, TeamArgs};
use crate::transport::cuda::{CompletionCounts, CudaTransport};
use crate::{Error, Pe, Result};
use std::cell::RefCell;

/// What a collective's kernel does. Symmetric offsets, and bytes of the message, or of one part where there is a part per member.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Task {
    pub(super) dest: u64,
    pub(super) source: u64,
    pub(super) bytes: u64,
    pub(super) root: Pe,
    pub(super) reduction: Option<(Dtype, Op)>,
    pub(super) form: Form,
}

/// What some collectives have besides.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Form {
    #[default]
    Plain,
    /// Parts of `count` elements of `element` bytes, with steps in bytes from one to the next.
    Strided {
        count: u64,
        element: u64,
        dest_step: u64,
        source_step: u64,
    },
    /// `dest` has room for so many bytes, and if `filled` just for them.
    Collected { room: u64, filled: bool },
}

impl Turn<'_> {
    /// Whether this collective is one of GPU memory.
    #[inline(always)]
    pub(super) fn cuda(&self) -> Option<&CudaTransport> {
        self.inner.transport.cuda()
    }

    /// This member cannot take part, because its arguments are wrong or something before has failed: the others learn of it, in the
    /// meeting, or on a stream from the kernels.
    #[cold]
    pub(super) fn refuse<T>(&self, lane: Lane, operation: Operation, error: Error) -> Result<T> {
        match (lane, self.cuda()) {
            (Lane::Stream(_), Some(cuda)) => {
                if self.announce_refusal(cuda, lane, operation).is_err() {
                    // Then those who wait learn it on the host.
                    self.break_team();
                }
                // Its own error is the better one.
                Err(error)
            }
            _ => self.fail(operation, [0; ARGS], error),
        }
    }

    /// Puts nothing but the announcement of a call that is not valid on a stream; those of all members match.
    fn announce_refusal(
        &self,
        cuda: &CudaTransport,
        lane: Lane,
        operation: Operation,
    ) -> Result<()> {
        let team = self.team().device()?;
        let sign = signature(operation, &[0; ARGS], true);
        let mut args = self.args(cuda, team, operation, sign);
        args.announces(CudaTransport::refused(operation));
        let plan = plan_of(Operation::Barrier, None, 0, &team, cuda)?;
        self.put(cuda, (lane, true), operation, plan, &args)
    }

    /// Puts a kernel of the team on a lane; `on_stream`: the call returns before it has run.
    fn put(
        &self,
        cuda: &CudaTransport,
        (lane, on_stream): (Lane, bool),
        operation: Operation,
        plan: Plan,
        args: &CollectiveArgs,
    ) -> Result<()> {
        let captured = on_stream && cuda.is_captured(lane);
        let mut args = *args;
        if captured {
            args.is_replayed();
        }
        if on_stream {
            cuda.lose_turn(lane);
        }
        while !cuda.collective(lane, captured, plan, &args)? {
            // The one before is on another stream, which is captured now, or was when the program let it go.
            self.inner.await_launches(operation, self.team())?;
            cuda.all_have_run(self.team().index);
        }
        let since = on_stream.then(|| self.team().born());
        cuda.completion()
            .add_launch(self.team().index, captured, since);
        Ok(())
    }

    /// Does a collective by its kernel; all members have `args` alike. A blocking one meets the members first.
    #[cold]
    pub(super) fn run_on_device(
        &self,
        cuda: &CudaTransport,
        lane: Lane,
        operation: Operation,
        args: [u64; ARGS],
        task: Task,
    ) -> Result<()> {
        match lane {
            Lane::Blocking => {
                let epoch = self.join(operation, args, &[])?;
                self.finish_on_device(cuda, operation, args, task, epoch)
            }
            Lane::Stream(_) => {
                if let Err(error) = cuda.failure() {
                    return self.refuse(lane, operation, error);
                }
                match cuda.apply_backpressure(lane, operation, 1) {
                    Ok(()) => {}
                    // Nothing has begun: the program may call again.
                    Err(error @ (Error::Timeout { .. } | Error::Interrupted { .. })) => {
                        return Err(error);
                    }
                    Err(error) => return self.refuse(lane, operation, error),
                }
                self.launch(cuda, (lane, None), operation, args, task)
                    // The kernels of the others would wait for one that does not come.
                    .inspect_err(|_| self.break_team())
            }
        }
    }

    /// Does a blocking collective by its kernel, after the members have met in `epoch`.
    pub(super) fn finish_on_device(
        &self,
        cuda: &CudaTransport,
        operation: Operation,
        args: [u64; ARGS],
        task: Task,
        epoch: u64,
    ) -> Result<()> {
        let index = self.team().index;
        let wait = Wait {
            operation,
            target: Target::Team { index, epoch },
        };
        // On a stream of its own: another thread may be in a collective of another team.
        let launched = cuda.lend_stream(index).and_then(|stream| {
            self.launch(cuda, (stream.lane()?, Some(epoch)), operation, args, task)?;
            Ok(stream)
        });
        let stream = match launched {
            Ok(stream) => stream,
            Err(error) => {
                // The others wait in their kernels for this one.
                self.break_team();
                return Err(error);
            }
        };
        let done = self.inner.wait(wait, || match stream.is_over(epoch) {
            Ok(true) => Ok(Ok(())),
            Ok(false) => Err(epoch),
            Err(error) => Ok(Err(error)),
        });
        match done {
            Ok(Ok(())) => {
                stream.done();
                if cuda.completion().is_told(index) {
                    return Err(self.inner.why_ended(operation, self.team()));
                }
                cuda.failure()
            }
            Ok(Err(error)) | Err(error) => {
                self.leave(&error);
                stream.abandon();
                Err(error)
            }
        }
    }

    fn args(
        &self,
        cuda: &CudaTransport,
        team: TeamArgs,
        operation: Operation,
        signature: u64,
    ) -> CollectiveArgs {
        let state = cuda.team_state(self.team().index);
        CollectiveArgs::new(state, team, operation as u32, signature)
    }

    fn launch(
        &self,
        cuda: &CudaTransport,
        (lane, ticket): (Lane, Option<u64>),
        operation: Operation,
        args: [u64; ARGS],
        task: Task,
    ) -> Result<()> {
        let team = self.team().device()?;
        let sign = signature(operation, &args, false);
        let mut kernel = self.args(cuda, team, operation, sign);
        (kernel.dest, kernel.source) = (task.dest, task.source);
        (kernel.bytes, kernel.root) = (task.bytes, task.root);
        let reduction = task.reduction.map(|(dtype, op)| Reduction { dtype, op });
        if let Some(reduction) = reduction {
            kernel.reduces(reduction);
        }
        let of_bytes = |bytes| plan_of(operation, reduction, bytes, &team, cuda);
        let plan = match task.form {
            Form::Plain => of_bytes(task.bytes)?,
            Form::Strided {
                count,
                element,
                dest_step,
                source_step,
            } => {
                (kernel.count, kernel.element) = (count, element);
                (kernel.dest_step, kernel.source_step) = (dest_step, source_step);
                of_bytes(count * element)?
            }
            Form::Collected { room, filled } => {
                (kernel.count, kernel.element) = (room, filled.into());
                kernels::collect_plan(room, &team, blocks(cuda))
            }
        };
        // A blocking one tells the host when it is over.
        if let Some(ticket) = ticket {
            cuda.asks_when(&mut kernel, ticket);
        }
        self.put(cuda, (lane, ticket.is_none()), operation, plan, &kernel)
    }
}

fn blocks(cuda: &CudaTransport) -> u32 {
    cuda.blocks().max(1) as u32
}

fn plan_of(
    operation: Operation,
    reduction: Option<Reduction>,
    bytes: u64,
    team: &TeamArgs,
    cuda: &CudaTransport,
) -> Result<Plan> {
    kernels::plan(operation, reduction, bytes, team, blocks(cuda))
        .ok_or_else(|| Error::Internal(format!("{} has no kernel", operation.name())))
}

impl TeamState {
    /// What the kernels of the team get.
    pub(super) fn device(&self) -> Result<TeamArgs> {
        self.on_device()
            .ok_or_else(|| Error::Internal(format!("team {} is not on the GPU", self.index)))?
    }
}

impl Inner {
    /// Waits until the collectives of a team that this PE has put on streams have run.
    pub(crate) fn await_launches(&self, operation: Operation, team: &TeamState) -> Result<()> {
        let Some(cuda) = self.transport.cuda() else {
            return Ok(());
        };
        let look = RefCell::new(CompletionCounts::new(cuda));
        self.wait_until_done(operation, &|| {
            let counts = look.borrow_mut().counts()?;
            Ok(counts.is_some_and(|counts| cuda.completion().have_run(team.index, &counts)))
        })
    }
}
