//! The errors of an inspection.

use nvshmemrs::board::Refusal;

/// The reason why a job cannot be inspected.
#[derive(Debug, thiserror::Error, uniffi::Error)]
#[uniffi(flat_error)]
pub enum InspectError {
    /// There is no such process.
    #[error("{0}")]
    NoProcess(String),
    /// The process belongs to another user.
    #[error("{0}")]
    OtherUser(String),
    /// Neither the process nor its descendants are PEs of a job now.
    #[error("{0}")]
    NoJob(String),
    /// Another version of the library made the job; the text names both versions.
    #[error("{0}")]
    OtherVersion(String),
    /// An argument is invalid.
    #[error("{0}")]
    BadArgument(String),
    /// A system call failed.
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
