//! Records the objects that the program creates and frees, with `NVSHMEMRS_TRACK`.

use super::Inner;
use crate::operation::Operation;
use crate::track::Resource;
use std::any::Any;
use std::sync::Arc;

impl Inner {
    /// Records that the program has created an object, with `operation`.
    #[track_caller]
    pub(crate) fn note(&self, operation: Operation, resource: Resource, number: u64, bytes: u64) {
        if let Some(ledger) = &self.ledger {
            ledger.note(operation, resource, number, bytes);
        }
    }

    /// As [`note`](Inner::note), for an entry that lives as long as `object`.
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

    /// Records that an object is freed.
    pub(crate) fn note_freed(&self, resource: Resource, number: u64) {
        if let Some(ledger) = &self.ledger {
            ledger.note_freed(resource, number);
        }
    }
}
