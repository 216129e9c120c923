//! Collectives that the transport does by itself, and the meeting as it uses it.

use super::Turn;
use crate::operation::{ARGS, Operation};
use crate::transport::{Collective, Collectives, Lane, Meeting, Task};
use crate::{Error, Result};

impl Turn<'_> {
    /// The collectives that the transport does by itself, and a call of one; `None`: it does none.
    #[inline(always)]
    fn handed(
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

    /// Has the transport do the collective, if it does such by itself on this lane; all members have `args` alike.
    #[inline(always)]
    pub(super) fn by_transport(
        &self,
        lane: Lane,
        operation: Operation,
        args: [u64; ARGS],
        task: impl FnOnce() -> Task,
    ) -> Option<Result<()>> {
        let (own, call) = self.handed(operation, args, task)?;
        own.run(lane, &call, self)
    }

    /// Whether the transport moves the data of a collective whose members have met.
    #[inline(always)]
    pub(super) fn is_moved_by_transport(&self) -> bool {
        self.inner.transport.collectives().is_some()
    }

    /// Has the transport move the data of a collective whose members have met in `epoch`, if it does that.
    #[inline(always)]
    pub(super) fn moved_by_transport(
        &self,
        epoch: u64,
        operation: Operation,
        args: [u64; ARGS],
        task: impl FnOnce() -> Task,
    ) -> Option<Result<()>> {
        let (own, call) = self.handed(operation, args, task)?;
        Some(own.move_data(&call, epoch, self))
    }

    /// This member cannot take part, because its arguments are wrong or something before has failed: the others learn of it, in the
    /// meeting, or on a stream as the transport tells them.
    #[cold]
    pub(super) fn refuse<T>(&self, lane: Lane, operation: Operation, error: Error) -> Result<T> {
        match self.inner.transport.collectives() {
            // Its own error is the better one.
            Some(own) if own.refuse(lane, operation, self) => Err(error),
            _ => self.fail(operation, [0; ARGS], error),
        }
    }
}

impl Meeting for Turn<'_> {
    fn team_index(&self) -> u32 {
        self.team.index
    }

    fn join(&self, operation: Operation, args: [u64; ARGS]) -> Result<u64> {
        Turn::join(self, operation, args, &[])
    }

    fn leave(&self, error: &Error) {
        Turn::leave(self, error);
    }

    fn break_team(&self) {
        Turn::break_team(self);
    }
}
