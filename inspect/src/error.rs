//! Why there is nothing to see.

use nvshmemrs::board::Refusal;

/// Why there is nothing to see of a job.
#[derive(Debug, thiserror::Error, uniffi::Error)]
#[uniffi(flat_error)]
pub enum InspectError {
    /// There is no such process.
    #[error("{0}")]
    NoProcess(String),
    /// The process belongs to another user.
    #[error("{0}")]
    OtherUser(String),
    /// The process, and those that it has started, are no PEs of a job right now.
    #[error("{0}")]
    NoJob(String),
    /// Another version of the library has made the job; the text names both.
    #[error("{0}")]
    OtherVersion(String),
    /// An argument makes no sense.
    #[error("{0}")]
    BadArgument(String),
    /// The system refused something.
    #[error("{0}")]
    System(String),
}

impl From<Refusal> for InspectError {
    fn from(refusal: Refusal) -> Self {
        let text = refusal.to_string();
        match refusal {
            Refusal::NoProcess { .. } => Self::NoProcess(text),
            Refusal::OtherUser { .. } => Self::OtherUser(text),
            Refusal::NoJob { .. } => Self::NoJob(text),
            Refusal::OtherVersion { .. } => Self::OtherVersion(text),
            Refusal::System(_) => Self::System(text),
        }
    }
}
