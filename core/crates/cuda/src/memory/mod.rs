//! The memory of the symmetric heap on GPUs: making it, and mapping it for all PEs.
//!
//! | file | what it holds |
//! |---|---|
//! | [`chunks`] | which pages of a PE's part have memory behind them: arithmetic |
//! | [`segment`] | the reserved range of addresses, and memory that is mapped into it |
//! | [`exchange`] | messages and descriptors from every PE to all PEs |
//! | [`share`] | brings memory that PEs have made to all PEs, or to none |
//! | [`register`] | the program's own GPU memory as part of the heap |
//! | [`mailbox`] | pinned host memory: what the host and its kernels tell each other, results, arrays |
//! | [`stage`] | pinned host memory that copies pass through |

pub(crate) mod chunks;
pub(crate) mod exchange;
pub(crate) mod mailbox;
pub(crate) mod register;
pub(crate) mod segment;
pub(crate) mod share;
pub(crate) mod stage;

use super::collectives::sync_area;
use super::device::{self, Device, GpuProperties};
use super::{CudaTransport, lock};
use crate::buffer::SymRange;
use crate::job::device_area::DeviceArea;
use crate::job::layout::{self, HEAP_UNIT};
use crate::operation::Operation;
use crate::{Error, Pe, Result};
use chunks::Chunks;
use segment::Memory;
use share::Pieces;
use std::sync::MutexGuard;
use std::sync::atomic::Ordering::Acquire;
use std::time::Instant;

/// The share of a GPU's free memory that is the heap if nobody says otherwise, in percent.
const DEFAULT_SHARE: u64 = 80;

/// Blocks for the program's kernels begin at multiples of this.
const DEVICE_UNIT: u64 = 256;

/// Bytes of heap per PE if nobody says otherwise: a share of what the GPU has free, among the PEs that may use it. It is address space;
/// memory is taken when allocations need it.
pub(crate) fn default_heap_bytes(device: &Device, n_pes: Pe) -> Result<u64> {
    let sharers = sharers(n_pes, device::count()?, device::on_host());
    let free = device
        .free()?
        .saturating_sub(behind_window(n_pes) * sharers);
    Ok((free / 100 * DEFAULT_SHARE / sharers).max(16 << 20))
}

/// How many of a host's PEs a GPU has, if each has its turn. A process that sees one GPU only (CUDA_VISIBLE_DEVICES) has one of the host's.
fn sharers(n_pes: Pe, visible: i32, on_host: i32) -> u64 {
    let gpus = match visible {
        1 => on_host.max(1),
        _ => visible.max(1),
    };
    (n_pes as u64).div_ceil(gpus as u64)
}

/// Bytes from one PE's part of the heap to the next one's.
pub(super) fn stride(n_pes: Pe, heap_bytes: u64) -> u64 {
    layout::stride(heap_bytes, behind_window(n_pes))
}

/// Bytes behind the window of each part: what the library's kernels meet by, then what the program's do.
fn behind_window(n_pes: Pe) -> u64 {
    let program = DeviceArea::new(0, n_pes, DEVICE_UNIT).bytes();
    sync_area::BYTES + program.next_multiple_of(HEAP_UNIT)
}

/// An error if a heap does not fit a GPU at all.
pub(super) fn check_size(me: Pe, heap_bytes: u64, device: &Device) -> Result<()> {
    let GpuProperties {
        total, granularity, ..
    } = *device.properties();
    if !HEAP_UNIT.is_multiple_of(granularity) {
        return Err(Error::NotSupported(format!(
            "{device} maps memory in pages of {granularity} bytes, but nvshmemrs can use those of at most {HEAP_UNIT}"
        )));
    }
    if heap_bytes > total {
        return Err(Error::DeviceMemory {
            requested: heap_bytes,
            free: device.free()?,
            total,
            device: device.to_string(),
            me,
        });
    }
    Ok(())
}

impl CudaTransport {
    /// Where the sync area begins in each PE's part.
    pub(crate) fn sync_area(&self) -> u64 {
        self.layout.heap_bytes + self.layout.window_bytes
    }

    /// What the program's kernels meet by.
    pub(crate) fn device_area(&self) -> DeviceArea {
        let start = self.sync_area() + sync_area::BYTES;
        DeviceArea::new(start, self.control.n_pes(), DEVICE_UNIT)
    }

    /// Makes what lies behind the window: all zero, but for what does not change.
    pub(crate) fn make_sync_area(&self, until: Instant) -> Result<()> {
        let area = SymRange::new(self.sync_area(), behind_window(self.control.n_pes()));
        let own = self.make(&[area]).and_then(|pieces| {
            // Zero before any other PE can see it.
            let place = self.layout.address(self.me, area.offset());
            self.segment.map(place, &pieces[0].1)?;
            let zeroed = self
                .set_zero(area, Operation::Init)
                .and_then(|()| self.put_device_job());
            // If init gives up before, it stays until the GPU has done that. After an error of the driver nothing runs any more.
            if zeroed.is_ok() || self.is_idle().unwrap_or(true) {
                self.segment.unmap(place, area.bytes());
            }
            zeroed.map(|()| pieces)
        });
        self.share_out(Operation::Init, &[area], own, Some(until))
    }

    /// Makes memory for ranges of this PE's part.
    pub(crate) fn make(&self, ranges: &[SymRange]) -> Result<Pieces> {
        let _current = self.device.enter()?;
        let piece = |range: &SymRange| {
            let memory = Memory::make(&self.device, range.bytes());
            let memory = memory.map_err(|error| self.no_memory(range.bytes(), error))?;
            Ok((range.offset(), memory))
        };
        ranges.iter().map(piece).collect()
    }

    /// An error of the driver when memory was asked for, with figures.
    fn no_memory(&self, requested: u64, error: Error) -> Error {
        use cudarc::driver::sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY;
        match (error, self.device.free()) {
            (Error::Cuda { code, .. }, Ok(free)) if code == CUDA_ERROR_OUT_OF_MEMORY as i32 => {
                Error::DeviceMemory {
                    requested,
                    free,
                    total: self.device.properties().total,
                    device: self.device.to_string(),
                    me: self.me,
                }
            }
            (error, _) => error,
        }
    }

    /// Maps pieces of a PE's part.
    pub(crate) fn map(&self, pe: Pe, pieces: &Pieces) -> Result<()> {
        let mut each = pieces.iter();
        each.try_for_each(|(place, memory)| {
            self.segment.map(self.layout.address(pe, *place), memory)
        })
    }

    /// Takes ranges of some PEs' parts out, which nothing uses any more.
    pub(crate) fn unmap(&self, pes: &[Pe], ranges: &[SymRange]) {
        if self.kept.load(Acquire) {
            return;
        }
        for &pe in pes {
            for range in ranges {
                let start = self.layout.address(pe, range.offset());
                self.segment.unmap(start, range.bytes());
            }
        }
    }

    /// The PEs whose memory this PE maps: all of its host, or of threads each its own.
    pub(crate) fn mapped_by_me(&self) -> Vec<Pe> {
        match &self.exchange {
            Some(exchange) => exchange.pes().to_vec(),
            None => vec![self.me],
        }
    }

    /// Whether a range of this PE's heap, or of its registered buffers, has memory behind all of it.
    pub(crate) fn is_backed(&self, range: SymRange) -> bool {
        let (start, end) = (range.offset(), range.offset() + range.bytes());
        if end <= self.layout.heap_bytes {
            return self.chunks().missing(range).is_empty();
        }
        let within = |one: &SymRange| start >= one.offset() && end <= one.offset() + one.bytes();
        lock(&self.registered).iter().any(within)
    }

    pub(crate) fn chunks(&self) -> MutexGuard<'_, Chunks> {
        lock(&self.chunks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pes_of_a_gpu_share_what_it_has() {
        assert_eq!(sharers(8, 8, 8), 1);
        assert_eq!(sharers(9, 8, 8), 2);
        // Each process sees one of the eight.
        assert_eq!(sharers(8, 1, 8), 1);
        // There is one, or the driver does not tell.
        assert_eq!(sharers(8, 1, 1), 8);
        assert_eq!(sharers(8, 1, 0), 8);
        // All see the same two.
        assert_eq!(sharers(4, 2, 8), 2);
    }
}
