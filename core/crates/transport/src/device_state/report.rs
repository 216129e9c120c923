//! The first error that a kernel of the program has found in its arguments (`NVSHMEMRS_DEVICE_CHECK`).

use super::record::KernelRecords;
use super::state::WATCHED;
use crate::job::segment::AllAtomic;
use crate::operation::Operation;
use crate::{Error, Pe};
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64};

/// The first finding of a PE's kernels, zero at first.
#[derive(Debug, Default)]
#[repr(C)]
pub struct DeviceReport {
    /// 0: none; 1: it is being written; 2: the rest can be read, with acquire.
    state: AtomicU32,
    kind: AtomicU32,
    pe: AtomicI32,
    /// Linear numbers.
    block: AtomicU32,
    thread: AtomicU32,
    /// The number of the [`Operation`].
    operation: AtomicU32,
    address: AtomicU64,
    bytes: AtomicU64,
    /// The name of the program's function that made the call, up to a 0; empty if unknown.
    caller: [AtomicU64; 8],
    /// 1 + the status, of 8 bits, with which a kernel asks all PEs to exit; 0: no request. Kernels get its address separately.
    pub(super) exit: AtomicU32,
    reserved0: AtomicU32,
    reserved1: [AtomicU64; 2],
    /// Of a checked job.
    records: KernelRecords,
}

const _: () = {
    use std::mem::offset_of;
    assert!(offset_of!(DeviceReport, records) == 128 && offset_of!(DeviceReport, state) == 0);
    assert!(offset_of!(DeviceReport, kind) == 4 && offset_of!(DeviceReport, pe) == 8);
    assert!(offset_of!(DeviceReport, block) == 12 && offset_of!(DeviceReport, thread) == 16);
    assert!(offset_of!(DeviceReport, operation) == 20 && offset_of!(DeviceReport, address) == 24);
    assert!(offset_of!(DeviceReport, bytes) == 32 && offset_of!(DeviceReport, caller) == 40);
};

// SAFETY: atomics only, for which any bits are valid.
unsafe impl AllAtomic for DeviceReport {}

/// [`DeviceReport::state`] when the rest can be read.
const WRITTEN: u32 = 2;

impl DeviceReport {
    /// The error of PE `me` of `n_pes`, if there is one.
    pub fn error(&self, me: Pe, n_pes: Pe) -> Option<Error> {
        (self.state.load(Acquire) == WRITTEN).then(|| self.written(me, n_pes))
    }

    /// The status with which a kernel asks all PEs to exit.
    pub fn exit_status(&self) -> Option<i32> {
        (self.exit.load(Relaxed) as i32)
            .checked_sub(1)
            .filter(|status| *status >= 0)
    }

    #[cold]
    fn written(&self, me: Pe, n_pes: Pe) -> Error {
        let operation = Operation::from_number(self.operation.load(Relaxed));
        let operation = operation.map_or("unknown", Operation::name);
        let (pe, bytes) = (self.pe.load(Relaxed), self.bytes.load(Relaxed));
        let address = self.address.load(Relaxed);
        let thread = format!(
            "thread {} of block {} of a kernel of PE {me}",
            self.thread.load(Relaxed),
            self.block.load(Relaxed)
        );
        let caller = match self.caller() {
            name if name.is_empty() => "which".to_string(),
            name => format!("whose function `{name}`"),
        };
        let place = format!("{thread}, {caller} called `{operation}` for PE {pe}");
        let (argument, value, expected) = match self.kind.load(Relaxed) {
            1 => ("pe", format!("{pe}"), format!("from 0 to {}", n_pes - 1)),
            2 => (
                "ptr",
                format!("{address:#x}, for {bytes} bytes"),
                "an address of this PE's own symmetric heap, and all bytes must lie in it"
                    .to_string(),
            ),
            3 => (
                "ptr",
                format!("{address:#x}"),
                format!("a multiple of {bytes}, the size of the element"),
            ),
            4 => (
                "team",
                format!("{address:#x}"),
                "the handle of a live team that this PE is a member of".to_string(),
            ),
            5 => (
                "slot",
                format!("{address}"),
                "below the number of slots that each team has".to_string(),
            ),
            6 => (
                "value",
                format!("{address}"),
                "a value that the operation accepts: a comparison, a root".to_string(),
            ),
            8 => {
                return Error::NotSupported(format!(
                    "kernels reach PEs of their own host only, and PE {pe} is on another host: {place}; let the host call the \
                     operation, or use a team of this host's PEs"
                ));
            }
            7 if address & u64::from(WATCHED) != 0 => {
                return Error::NotSupported(format!(
                    "the job is checked, and the checker cannot see what {thread} does: its kernel does not record its operations \
                     for the checker; compile it with -DNVSHMEMRS_DEVICE_RECORD, or set NVSHMEMRS_CHECK=0"
                ));
            }
            10 => {
                return Error::NotSupported(format!(
                    "the job is checked, and the checker cannot see the operation: {place}; set NVSHMEMRS_CHECK=0"
                ));
            }
            7 => {
                return Error::invalid(
                    "state",
                    format!("one of version {address} in {thread}"),
                    format!(
                        "version {pe}, which the kernel was compiled for: compile it with the header of this library"
                    ),
                );
            }
            9 => (
                "splits",
                format!("{address} rows"),
                format!(
                    "at most {bytes}, the rows of `input`, or of `out` for received rows; none may be negative"
                ),
            ),
            kind => {
                return Error::Internal(format!("{place} reports {kind} about {address:#x}"));
            }
        };
        Error::invalid(argument, format!("{value} in {place}"), expected)
    }
}

impl DeviceReport {
    fn caller(&self) -> String {
        text(&self.caller)
    }

    /// Where kernels of a checked job record their operations.
    pub fn records(&self) -> &KernelRecords {
        &self.records
    }
}

/// The name of a function or of a file that a kernel has written, up to a 0.
pub(super) fn text(words: &[AtomicU64]) -> String {
    let bytes = words
        .iter()
        .flat_map(|word| word.load(Relaxed).to_ne_bytes());
    let name: Vec<u8> = bytes.take_while(|&byte| byte != 0).collect();
    // A lambda is `operator()`, which would be taken for a function of the library's. It goes to the terminal.
    let name = String::from_utf8_lossy(&name).replace(char::is_control, "?");
    name.trim_end_matches("()").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_name_the_thread_the_pe_and_the_address() {
        let report = DeviceReport::default();
        assert_eq!(report.error(1, 2), None);
        report.pe.store(7, Relaxed);
        report.block.store(3, Relaxed);
        report.thread.store(65, Relaxed);
        report.operation.store(Operation::Put as u32, Relaxed);
        report.address.store(0x1234, Relaxed);
        report.bytes.store(8, Relaxed);
        report.state.store(1, Relaxed);
        assert_eq!(report.error(1, 2), None);
        report.state.store(WRITTEN, Relaxed);
        for (kind, words) in [
            (
                1,
                "is 7 in thread 65 of block 3 of a kernel of PE 1, which called `put`",
            ),
            (2, "0x1234, for 8 bytes"),
            (3, "a multiple of 8"),
            (4, "handle of a live team"),
            (5, "slots"),
            (6, "a comparison, a root"),
            (
                7,
                "version 4660 in thread 65 of block 3 of a kernel of PE 1",
            ),
            (8, "PE 7 is on another host"),
            (9, "argument `splits` is 4660 rows"),
            (10, "cannot see the operation: thread 65"),
            (11, "reports 11 about 0x1234"),
        ] {
            report.kind.store(kind, Relaxed);
            let text = report.error(1, 2).unwrap().to_string();
            assert!(text.contains(words), "{kind}: {text}");
            assert!(text.contains("thread 65 of block 3"), "{kind}: {text}");
        }
        report.caller[0].store(u64::from_ne_bytes(*b"pass_on\0"), Relaxed);
        report.kind.store(1, Relaxed);
        let text = report.error(1, 2).unwrap().to_string();
        let words = "of a kernel of PE 1, whose function `pass_on` called `put` for PE 7";
        assert!(text.contains(words), "{text}");
    }
}
