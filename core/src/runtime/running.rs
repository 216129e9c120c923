//! Operations that run without a call of the program, on streams and in kernels: errors that end them early.

use super::Inner;
use crate::Result;
use crate::operation::Operation;
use crate::transport::Submission;

impl Inner {
    /// Completes this PE's earlier operations, before a collective that lets members rely on that.
    #[track_caller]
    pub(crate) fn complete_earlier(&self, called: Operation) -> Result<()> {
        let issued = self.transport.issue(Submission::Blocking, called);
        issued.quiet_before_release()
    }

    /// An error if this PE's operations on streams may have ended early, or will never complete: operations that wait for others there
    /// end when a PE is gone, when an operation has failed, and when a member cannot take part in a collective.
    pub(crate) fn check_running(&self, operation: Operation) -> Result<()> {
        // Their error is more precise than their end.
        self.transport.internal().failure()?;
        self.check_job(operation)?;
        self.check_stream_teams(operation)
    }

    /// Ends all PEs if a kernel of the program has called for it.
    pub(crate) fn exit_if_a_kernel_asked(&self) {
        let tables = self.transport.any().device_tables();
        if let Some(status) = tables.and_then(|tables| tables.exit_status()) {
            self.exit_all(status);
        }
    }

    /// An error if a kernel of the program has found an invalid argument (`NVSHMEMRS_DEVICE_CHECK`).
    pub(crate) fn check_kernels(&self) -> Result<()> {
        self.exit_if_a_kernel_asked();
        let tables = self.transport.any().device_tables();
        tables
            .and_then(|tables| tables.report())
            .map_or(Ok(()), Err)
    }

    /// An error if a team with collectives on streams is broken; kernels that wait for its members end.
    #[cold]
    pub(crate) fn check_stream_teams(&self, operation: Operation) -> Result<()> {
        let own = self.transport.collectives();
        own.map_or(Ok(()), |own| own.check_teams(operation))
    }
}
