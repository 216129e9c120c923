//! The ledger of objects that a PE has created and not freed, with their call sites: with `NVSHMEMRS_TRACK=1` finalize lists them.
//!
//! It records creations and frees only, so other operations have no cost; without the setting there is no ledger.

mod report;

pub use report::{Report, digest};

use crate::operation::Operation;
use crate::sites::Sites;
use std::any::Any;
use std::collections::{BTreeMap, HashSet};
use std::panic::Location;
use std::sync::{Arc, Mutex, MutexGuard, Weak};

/// A kind of object that a program creates and must free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Resource {
    /// Symmetric memory: malloc, calloc, align, realloc, arrays.
    Allocation,
    /// A registered buffer.
    Buffer,
    /// A team made by a split or by team_init.
    Team,
    /// A stream.
    Stream,
    /// An event.
    Event,
    /// A mapping of the heap that is kept after finalize.
    Mapping,
}

/// An object that was created and is not freed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfreed {
    /// Its kind.
    pub resource: Resource,
    /// The offset of symmetric memory in a PE's part of the heap; a team's handle; else an arbitrary number.
    pub number: u64,
    /// Requested bytes of symmetric memory.
    pub bytes: u64,
    /// The operation that created it, and its call site: "calloc at heat.c:31 (main)".
    pub place: String,
    /// Whether this PE has released it: a collective allocation frees it once all PEs have, so it is not a leak here.
    pub released: bool,
}

struct Entry {
    bytes: u64,
    site: u16,
    /// For objects that are freed by dropping them: the object exists as long as this can be upgraded.
    alive: Option<Weak<dyn Any + Send + Sync>>,
}

impl Entry {
    fn is_there(&self) -> bool {
        self.alive
            .as_ref()
            .is_none_or(|alive| alive.strong_count() > 0)
    }
}

#[derive(Default)]
struct Entries {
    there: BTreeMap<(Resource, u64), Entry>,
    /// The number of entries at which dropped objects are removed.
    sweep_at: usize,
}

/// The notes of one PE.
pub struct Ledger {
    sites: Arc<Sites>,
    entries: Mutex<Entries>,
}

impl Ledger {
    pub fn new(sites: Arc<Sites>) -> Ledger {
        Ledger {
            sites,
            entries: Mutex::default(),
        }
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        crate::lock::lock(&self.entries)
    }

    /// Notes that the program has made something, with `operation`.
    #[track_caller]
    pub fn note(&self, operation: Operation, resource: Resource, number: u64, bytes: u64) {
        let entry = Entry {
            bytes,
            site: self.sites.ended_at(operation, Location::caller()),
            alive: None,
        };
        self.add((resource, number), entry);
    }

    /// As [`note`](Ledger::note), for a resource that lives as long as `object`.
    #[track_caller]
    pub fn note_while<T: Any + Send + Sync>(
        &self,
        operation: Operation,
        resource: Resource,
        object: &Arc<T>,
    ) {
        let weak: Weak<T> = Arc::downgrade(object);
        let entry = Entry {
            bytes: 0,
            site: self.sites.ended_at(operation, Location::caller()),
            alive: Some(weak),
        };
        // The weak reference keeps the address from being used again.
        self.add((resource, Arc::as_ptr(object) as u64), entry);
    }

    /// Notes that something is freed.
    pub fn note_freed(&self, resource: Resource, number: u64) {
        self.entries().there.remove(&(resource, number));
    }

    fn add(&self, key: (Resource, u64), entry: Entry) {
        let mut entries = self.entries();
        entries.there.insert(key, entry);
        if entries.there.len() >= entries.sweep_at {
            entries.there.retain(|_, entry| entry.is_there());
            entries.sweep_at = 2 * entries.there.len() + 64;
        }
    }

    /// The operation and the call site that have made an allocation or a buffer at an offset.
    pub fn maker(&self, offset: u64) -> Option<String> {
        let entries = self.entries();
        let kinds = [Resource::Allocation, Resource::Buffer];
        let mut found = kinds
            .iter()
            .filter_map(|kind| entries.there.get(&(*kind, offset)));
        found.next().map(|entry| self.sites.name(entry.site))
    }

    /// The live resources, by kind and number; `released` are the offsets of allocations that this PE has released.
    pub fn unfreed(&self, released: &HashSet<u64>) -> Vec<Unfreed> {
        let entries = self.entries();
        let there = entries.there.iter().filter(|(_, entry)| entry.is_there());
        there
            .map(|(&(resource, number), entry)| Unfreed {
                resource,
                number,
                bytes: entry.bytes,
                place: self.sites.name(entry.site),
                released: resource == Resource::Allocation && released.contains(&number),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_gone_is_swept_out() {
        let ledger = Ledger::new(Sites::new());
        let add = |object: &Arc<u32>| {
            let weak: Weak<u32> = Arc::downgrade(object);
            let entry = Entry {
                bytes: 0,
                site: 0,
                alive: Some(weak),
            };
            ledger.add((Resource::Event, Arc::as_ptr(object) as u64), entry);
        };
        let kept = Arc::new(1);
        add(&kept);
        for number in 0..10_000 {
            add(&Arc::new(number));
        }
        assert!(ledger.entries().there.len() < 200);
        let there = ledger.unfreed(&HashSet::new());
        assert_eq!(there.len(), 1);
        assert_eq!(there[0].resource, Resource::Event);
    }
}
