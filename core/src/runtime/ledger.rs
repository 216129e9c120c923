//! Notes of what the program makes and frees, if somebody wants to know.

use super::Inner;
use crate::operation::Operation;
use crate::track::Resource;
use std::any::Any;
use std::sync::Arc;

impl Inner {
    /// Notes that the program has made something, with `operation`.
    #[track_caller]
    pub(crate) fn note(&self, operation: Operation, resource: Resource, number: u64, bytes: u64) {
        if let Some(ledger) = &self.ledger {
            ledger.note(operation, resource, number, bytes);
        }
    }

    /// As [`note`](Inner::note), for what is there as long as `object` is.
    #[track_caller]
    pub(crate) fn note_while<T: Any + Send + Sync>(
        &self,
        operation: Operation,
        resource: Resource,
        object: &Arc<T>,
    ) {
        if let Some(ledger) = &self.ledger {
            ledger.note_while(operation, resource, object);
        }
    }

    /// Notes that something is freed.
    pub(crate) fn note_freed(&self, resource: Resource, number: u64) {
        if let Some(ledger) = &self.ledger {
            ledger.note_freed(resource, number);
        }
    }
}
