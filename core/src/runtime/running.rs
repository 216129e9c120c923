//! What runs on without a call of the program's: why it may have ended before it was done.

use super::Inner;
use crate::Result;
use crate::operation::Operation;

impl Inner {
    /// An error if what this PE has put on streams may have ended before it was done, or will never be done: what waits for others there
    /// ends when a PE is gone, when it has an error to report, and when a member cannot take part in a collective.
    pub(crate) fn check_running(&self, operation: Operation) -> Result<()> {
        // What they have found says more than that they have ended.
        self.transport.internal().failure()?;
        self.check_job(operation)?;
        self.check_stream_teams(operation)
    }

    /// Ends all PEs if a kernel of the program's has asked for that.
    pub(crate) fn exit_if_a_kernel_asked(&self) {
        let tables = self.transport.any().device_tables();
        if let Some(status) = tables.and_then(|tables| tables.exit_status()) {
            self.exit_all(status);
        }
    }

    /// An error if a kernel of the program's has found something wrong with its arguments (`NVSHMEMRS_DEVICE_CHECK`).
    pub(crate) fn check_kernels(&self) -> Result<()> {
        self.exit_if_a_kernel_asked();
        let tables = self.transport.any().device_tables();
        tables
            .and_then(|tables| tables.report())
            .map_or(Ok(()), Err)
    }

    /// An error if a member has left a team with collectives on streams half-way; what waits for it there ends.
    #[cold]
    pub(crate) fn check_stream_teams(&self, operation: Operation) -> Result<()> {
        let own = self.transport.collectives();
        own.map_or(Ok(()), |own| own.check_teams(operation))
    }
}
