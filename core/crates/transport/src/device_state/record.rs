//! Operations that kernels of a checked job record for the checker, one at a time.
//!
//! A thread of a kernel takes the lock, writes a record and waits for the answer, so the record is known before the operation has an
//! effect. `include/nvshmemrs_device.cuh`, compiled with `NVSHMEMRS_DEVICE_RECORD`, declares the same struct, and Numba's kernels write it
//! in `_kernels/_record.py`.

use super::report::text;
use crate::Pe;
use crate::job::segment::AllAtomic;
use crate::operation::Operation;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64};

/// Where a PE's kernels write their records, zero at first.
#[derive(Debug, Default)]
#[repr(C)]
pub struct KernelRecords {
    /// 1: a thread of a kernel uses it.
    lock: AtomicU32,
    /// 0: there is no record; 1: it can be read; 2: it is answered.
    state: AtomicU32,
    kind: AtomicU32,
    /// The number of the [`Operation`].
    operation: AtomicU32,
    pe: AtomicI32,
    /// The line of the program's call; 0 if unknown.
    line: AtomicU32,
    /// Their meaning depends on the kind.
    words: [AtomicU64; 6],
    /// The file and the function of the call, up to a 0; empty if unknown.
    file: [AtomicU64; 8],
    function: [AtomicU64; 8],
}

const _: () = {
    use std::mem::offset_of;
    assert!(size_of::<KernelRecords>() == 200 && offset_of!(KernelRecords, state) == 4);
    assert!(offset_of!(KernelRecords, kind) == 8 && offset_of!(KernelRecords, operation) == 12);
    assert!(offset_of!(KernelRecords, pe) == 16 && offset_of!(KernelRecords, line) == 20);
    assert!(offset_of!(KernelRecords, words) == 24 && offset_of!(KernelRecords, file) == 72);
    assert!(offset_of!(KernelRecords, function) == 136);
};

// SAFETY: atomics only, for which any bits are valid.
unsafe impl AllAtomic for KernelRecords {}

/// [`KernelRecords::state`]: the record can be read; it is answered.
const POSTED: u32 = 1;
const ANSWERED: u32 = 2;

/// Own memory of the caller, by its address, or memory that lies at the same place of another PE's part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub address: u64,
    pub bytes: u64,
}

/// The effect of an atomic operation on its word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    Reads,
    Writes,
    Fetches,
}

/// An operation that a thread of a kernel does or is about to do, or a value that it has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelEvent {
    /// A put begins. `until_quiet`: it may read its source, at the address `local`, until quiet.
    Put {
        dest: Place,
        local: u64,
        until_quiet: bool,
    },
    /// The same, and then a signal. `fenced`: it comes after all earlier puts to the PE.
    PutSignal {
        dest: Place,
        local: u64,
        signal: u64,
        until_quiet: bool,
        fenced: bool,
    },
    /// A get begins.
    Get {
        source: Place,
        local: u64,
        until_quiet: bool,
    },
    /// A signal that orders nothing before it is about to be sent.
    Signal {
        address: u64,
    },
    /// An atomic operation begins; it is a release if it writes.
    Atomic {
        word: Place,
        effect: Effect,
    },
    /// A wait, a test or a fetching operation has seen a value in a word.
    Seen {
        word: Place,
        value: u64,
    },
    Fence,
    Quiet,
    /// A group is about to meet its like. `completes`: all earlier operations of the PE are over.
    Arrives {
        team: u32,
        epoch: u64,
        completes: bool,
    },
    /// It has met them.
    Met {
        team: u32,
        epoch: u64,
    },
    /// A collective reads or writes own memory.
    Uses {
        own: Place,
        write: bool,
    },
    /// The program got the address of the PE's memory.
    Pointer,
}

/// An event, with the PE that it is about and the program's call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelRecord {
    pub event: KernelEvent,
    pub pe: Pe,
    pub operation: Operation,
    /// The call in words: "heat.cu:71 (send_halo)".
    pub place: String,
}

impl KernelRecords {
    /// Whether a kernel waits for an answer.
    pub fn is_posted(&self) -> bool {
        self.state.load(Acquire) == POSTED
    }

    /// The posted record; `None` if a kernel has written something else than the header writes.
    pub fn read(&self) -> Option<KernelRecord> {
        let [address, bytes, local, other, value, flags] =
            std::array::from_fn(|word| self.words[word].load(Relaxed));
        let place = Place { address, bytes };
        let (first, second) = (flags & 1 != 0, flags & 2 != 0);
        let event = match self.kind.load(Relaxed) {
            1 => KernelEvent::Put {
                dest: place,
                local,
                until_quiet: first,
            },
            2 => KernelEvent::PutSignal {
                dest: place,
                local,
                signal: other,
                until_quiet: first,
                fenced: second,
            },
            3 => KernelEvent::Get {
                source: place,
                local,
                until_quiet: first,
            },
            4 => KernelEvent::Signal { address },
            5 => KernelEvent::Atomic {
                word: place,
                effect: match flags {
                    0 => Effect::Reads,
                    1 => Effect::Writes,
                    _ => Effect::Fetches,
                },
            },
            6 => KernelEvent::Seen { word: place, value },
            7 => KernelEvent::Fence,
            8 => KernelEvent::Quiet,
            9 => KernelEvent::Arrives {
                team: address as u32,
                epoch: value,
                completes: first,
            },
            10 => KernelEvent::Met {
                team: address as u32,
                epoch: value,
            },
            11 => KernelEvent::Uses {
                own: place,
                write: first,
            },
            12 => KernelEvent::Pointer,
            _ => return None,
        };
        Some(KernelRecord {
            event,
            pe: self.pe.load(Relaxed),
            operation: Operation::from_number(self.operation.load(Relaxed))?,
            place: self.place(),
        })
    }

    fn place(&self) -> String {
        let (file, function) = (text(&self.file), text(&self.function));
        let line = self.line.load(Relaxed);
        match (file.is_empty(), function.is_empty()) {
            (false, false) => format!("{file}:{line} ({function})"),
            (false, true) => format!("{file}:{line}"),
            (true, false) => format!("the kernel's function {function}"),
            (true, true) => "a line of a kernel that is not known".into(),
        }
    }

    /// The kernel goes on.
    pub fn answer(&self) {
        self.state.store(ANSWERED, Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_what_kernels_have_written() {
        let records = KernelRecords::default();
        assert!(!records.is_posted() && records.read().is_none());
        let write = |kind: u32, words: [u64; 6]| {
            records.kind.store(kind, Relaxed);
            for (place, word) in records.words.iter().zip(words) {
                place.store(word, Relaxed);
            }
            records.state.store(POSTED, Release);
        };
        records
            .operation
            .store(Operation::PutSignal as u32, Relaxed);
        records.pe.store(3, Relaxed);
        write(2, [0x100, 16, 0x900, 0x200, 7, 3]);
        assert!(records.is_posted());
        let record = records.read().expect("a record");
        let dest = Place {
            address: 0x100,
            bytes: 16,
        };
        assert_eq!(
            record.event,
            KernelEvent::PutSignal {
                dest,
                local: 0x900,
                signal: 0x200,
                until_quiet: true,
                fenced: true
            }
        );
        assert_eq!((record.pe, record.operation), (3, Operation::PutSignal));
        assert_eq!(record.place, "a line of a kernel that is not known");
        let name = |text: &[u8; 8]| u64::from_ne_bytes(*text);
        records.function[0].store(name(b"pass()\0\0"), Relaxed);
        let place = || records.read().expect("a record").place;
        assert_eq!(place(), "the kernel's function pass");
        records.file[0].store(name(b"heat.cu\0"), Relaxed);
        records.line.store(71, Relaxed);
        assert_eq!(place(), "heat.cu:71 (pass)");
        for (kind, event) in [
            (7, KernelEvent::Fence),
            (8, KernelEvent::Quiet),
            (12, KernelEvent::Pointer),
        ] {
            write(kind, [0; 6]);
            assert_eq!(records.read().expect("a record").event, event);
        }
        write(13, [0; 6]);
        assert!(records.read().is_none(), "no event has this number");
        records.answer();
        assert!(!records.is_posted());
    }
}
