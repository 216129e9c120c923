//! Collectives offloaded to the transport, and the meeting as the transport uses it.

use super::CollectiveCall;
use crate::operation::{ARGS, Operation};
use crate::transport::{Collective, Collectives, Meeting, Submission, Task};
use crate::{Error, Result};

impl CollectiveCall<'_> {
    /// The collectives that the transport runs itself, and a call of one; `None`: it runs none.
    #[inline(always)]
    fn offload_call(
        &self,
        operation: Operation,
        args: [u64; ARGS],
        task: impl FnOnce() -> Task,
    ) -> Option<(&dyn Collectives, Collective)> {
        let own = self.inner.transport.collectives()?;
        let task = task();
        let call = Collective {
            operation,
            args,
            task,
        };
        Some((own, call))
    }

    /// Runs the collective by the transport, if it supports this submission; `args` are equal on all members.
    #[inline(always)]
    pub(super) fn offload(
        &self,
        submission: Submission,
        operation: Operation,
        args: [u64; ARGS],
        task: impl FnOnce() -> Task,
    ) -> Option<Result<()>> {
        let (own, call) = self.offload_call(operation, args, task)?;
        if let Some(span) = &self.span {
            span.submitted(submission);
        }
        own.run(submission, &call, self)
    }

    /// Whether the transport moves the data of a collective whose members have met.
    #[inline(always)]
    pub(super) fn offloads_data(&self) -> bool {
        self.inner.transport.collectives().is_some()
    }

    /// Moves the data of a collective whose members have met in `epoch` by the transport, if it supports that.
    #[inline(always)]
    pub(super) fn offload_data(
        &self,
        epoch: u64,
        operation: Operation,
        args: [u64; ARGS],
        task: impl FnOnce() -> Task,
    ) -> Option<Result<()>> {
        let (own, call) = self.offload_call(operation, args, task)?;
        Some(own.move_data(&call, epoch, self))
    }

    /// This member cannot take part, because its arguments are invalid or an earlier step has failed: the others learn of it in the
    /// meeting, or on a stream by the transport.
    #[cold]
    pub(super) fn refuse<T>(
        &self,
        submission: Submission,
        operation: Operation,
        error: Error,
    ) -> Result<T> {
        match self.inner.transport.collectives() {
            // Its own error is the better one.
            Some(own) if own.refuse(submission, operation, self) => Err(error),
            _ => self.fail(operation, [0; ARGS], error),
        }
    }
}

impl Meeting for CollectiveCall<'_> {
    fn team_index(&self) -> u32 {
        self.team.index
    }

    fn join(&self, operation: Operation, args: [u64; ARGS]) -> Result<u64> {
        CollectiveCall::join(self, operation, args, &[])
    }

    fn leave(&self, error: &Error) {
        CollectiveCall::leave(self, error);
    }

    fn break_team(&self) {
        CollectiveCall::break_team(self);
    }
}
