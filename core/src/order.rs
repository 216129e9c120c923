//! Ordering and completion of one-sided operations.

use crate::operation::Operation;
use crate::{Result, Runtime};

impl Runtime {
    /// Orders this PE's earlier puts, atomics and signals before its later ones, for each PE.
    ///
    /// Local. OpenSHMEM 1.5 section 9.11.1.
    #[inline(always)]
    #[track_caller]
    pub fn fence(&self) -> Result<()> {
        self.inner.ready()?;
        self.issue(Operation::Fence).fence()
    }

    /// Completes this PE's earlier operations: their data is visible to every PE, their local buffers may be reused.
    ///
    /// Local. OpenSHMEM 1.5 section 9.11.2.
    #[inline(always)]
    #[track_caller]
    pub fn quiet(&self) -> Result<()> {
        self.inner.ready()?;
        self.issue(Operation::Quiet).quiet()
    }
}
