//! The memory of the symmetric heap on GPUs: its allocation, and its mapping for all PEs.
//!
//! | file | contents |
//! |---|---|
//! | [`chunks`] | computes which pages of a PE's part are backed |
//! | [`segment`] | the reserved address range, and the memory mapped into it |
//! | [`exchange`] | an all-gather of messages and descriptors among the PEs |
//! | [`share`] | maps memory of PEs on all PEs, or on none |
//! | [`register`] | the program's own GPU memory as part of the heap |
//! | [`mailbox`] | pinned host memory: words shared with kernels, results, arrays |
//! | [`stage`] | pinned host memory through which copies are staged |

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

/// The default size of the heap, in percent of the GPU's free memory.
const DEFAULT_SHARE: u64 = 80;

/// The alignment of the blocks for the program's kernels.
const DEVICE_UNIT: u64 = 256;

/// The default heap size per PE: a share of the GPU's free memory, divided among the PEs that may use the GPU. The size is
/// address space; allocations take memory on demand.
pub(crate) fn default_heap_bytes(device: &Device, n_pes: Pe) -> Result<u64> {
    let sharers = sharers(n_pes, device::count()?, device::on_host());
    let free = device
        .free()?
        .saturating_sub(behind_window(n_pes) * sharers);
    Ok((free / 100 * DEFAULT_SHARE / sharers).max(16 << 20))
}

/// The number of PEs per GPU, if the host's PEs are assigned to its GPUs in turn. A process that sees only one GPU
/// (CUDA_VISIBLE_DEVICES) is assumed to see one of the host's GPUs.
fn sharers(n_pes: Pe, visible: i32, on_host: i32) -> u64 {
    let gpus = match visible {
        1 => on_host.max(1),
        _ => visible.max(1),
    };
    (n_pes as u64).div_ceil(gpus as u64)
}

/// The distance in bytes between the parts of consecutive PEs.
pub(super) fn stride(n_pes: Pe, heap_bytes: u64) -> u64 {
    layout::stride(heap_bytes, behind_window(n_pes))
}

/// Bytes behind the window of each part: the sync area of the library's kernels, then the device area of the program's.
fn behind_window(n_pes: Pe) -> u64 {
    let program = DeviceArea::new(0, n_pes, DEVICE_UNIT).bytes();
    sync_area::BYTES + program.next_multiple_of(HEAP_UNIT)
}

/// An error if the heap is larger than the memory of the GPU.
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
    /// The offset of the sync area in each PE's part.
    pub(crate) fn sync_area(&self) -> u64 {
        self.layout.heap_bytes + self.layout.window_bytes
    }

    /// The device area: memory by which the program's kernels synchronise.
    pub(crate) fn device_area(&self) -> DeviceArea {
        let start = self.sync_area() + sync_area::BYTES;
        DeviceArea::new(start, self.control.n_pes(), DEVICE_UNIT)
    }

    /// Allocates and initialises the memory behind the window: zero, except for the constant entries.
    pub(crate) fn make_sync_area(&self, until: Instant) -> Result<()> {
        let area = SymRange::new(self.sync_area(), behind_window(self.control.n_pes()));
        let own = self.make(&[area]).and_then(|pieces| {
            // It must be zero before other PEs map it.
            let place = self.layout.address(self.me, area.offset());
            self.segment.map(place, &pieces[0].1)?;
            let zeroed = self
                .set_zero(area, Operation::Init)
                .and_then(|()| self.put_device_job());
            // If init times out, the mapping stays until the GPU has completed the work. After an error of the driver, no work
            // runs any more.
            if zeroed.is_ok() || self.is_idle().unwrap_or(true) {
                self.segment.unmap(place, area.bytes());
            }
            zeroed.map(|()| pieces)
        });
        self.share_out(Operation::Init, &[area], own, Some(until))
    }

    /// Allocates memory for ranges of this PE's part.
    pub(crate) fn make(&self, ranges: &[SymRange]) -> Result<Pieces> {
        let _current = self.device.enter()?;
        let piece = |range: &SymRange| {
            let memory = Memory::make(&self.device, range.bytes());
            let memory = memory.map_err(|error| self.no_memory(range.bytes(), error))?;
            Ok((range.offset(), memory))
        };
        ranges.iter().map(piece).collect()
    }

    /// The error of a failed allocation, with the amounts of memory.
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

    /// Unmaps ranges of the parts of some PEs. The ranges must no longer be in use.
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

    /// The PEs whose memory this PE maps: all PEs of the host, or only itself if the PEs are threads.
    pub(crate) fn mapped_by_me(&self) -> Vec<Pe> {
        match &self.exchange {
            Some(exchange) => exchange.pes().to_vec(),
            None => vec![self.me],
        }
    }

    /// Whether a range of this PE's heap, or of its registered buffers, is backed completely.
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
        // Each process sees one of the eight GPUs.
        assert_eq!(sharers(8, 1, 8), 1);
        // The host has one GPU, or the driver does not list them.
        assert_eq!(sharers(8, 1, 1), 8);
        assert_eq!(sharers(8, 1, 0), 8);
        // All PEs see the same two GPUs.
        assert_eq!(sharers(4, 2, 8), 2);
    }
}
