//! Registration of the program's own GPU memory: its allocations are mapped into the window, so no data is copied.

use super::segment::{Memory, Segment, mapping_of};
use crate::CudaTransport;
use crate::buffer::SymRange;
use crate::lock::lock;
use crate::operation::Operation;
use crate::{Error, Result};

/// The memory that can be registered, for error messages.
const REGISTRABLE: &str = "whole mappings of GPU memory that cuMemCreate made on this PE's GPU with requestedHandleTypes = \
                           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR; memory of cudaMalloc cannot be mapped by other PEs";

impl CudaTransport {
    /// The allocations that are mapped at a buffer of the program.
    pub(crate) fn pieces(&self, buffer: u64, bytes: u64) -> Result<Vec<Memory>> {
        let refuse = |why: String| {
            Error::invalid(
                "buffer",
                format!("{bytes} bytes at {buffer:#x}"),
                format!("{REGISTRABLE} ({why})"),
            )
        };
        let _current = self.device.enter()?;
        let end = buffer
            .checked_add(bytes)
            .ok_or_else(|| refuse("the end of the range is beyond the address space".into()))?;
        let mut at = buffer;
        let mut pieces = Vec::new();
        while at < end {
            let (start, length) = mapping_of(at).map_err(|error| refuse(error.to_string()))?;
            if start != at || length == 0 {
                return Err(refuse(format!(
                    "it begins inside a mapping that starts at {start:#x}"
                )));
            }
            if length > end - at {
                return Err(refuse(format!(
                    "it ends inside a mapping of {length} bytes at {start:#x}"
                )));
            }
            let piece = Memory::mapped_at(at, length).map_err(|error| refuse(error.to_string()))?;
            if let Some(why) = piece.unfit(&self.device)? {
                return Err(refuse(why.into()));
            }
            pieces.push(piece);
            at += length;
        }
        Ok(pieces)
    }

    /// Reserves the preferred address range, at which a registered buffer is mapped as well.
    pub(crate) fn reserve_preferred(&self, preferred: u64, bytes: u64) -> Result<Option<Segment>> {
        if preferred == 0 {
            return Ok(None);
        }
        let reserved = Segment::reserve(&self.device, bytes, 1, preferred);
        match reserved {
            Ok(reserved) if reserved.base() == preferred => Ok(Some(reserved)),
            // The driver treats the address as a hint.
            Ok(_) | Err(Error::Cuda { .. }) => Err(Error::invalid(
                "preferred",
                format!("{preferred:#x}"),
                format!(
                    "an address at which {bytes} bytes of this process's GPU addresses are unused"
                ),
            )),
            Err(error) => Err(error),
        }
    }

    /// Maps the buffer into the window on every PE; see [`Transport::adopt`](crate::transport::Transport::adopt).
    pub(crate) fn take_buffer(&self, range: SymRange, buffer: u64, preferred: u64) -> Result<()> {
        let mut at = range.offset();
        let prepared = self.pieces(buffer, range.bytes()).and_then(|memories| {
            let place = self.reserve_preferred(preferred, range.bytes())?;
            let mut pieces = Vec::with_capacity(memories.len());
            for memory in memories {
                if let Some(place) = &place {
                    place.map(preferred + (at - range.offset()), &memory)?;
                }
                let next = at + memory.bytes();
                pieces.push((std::mem::replace(&mut at, next), memory));
            }
            Ok((pieces, place))
        });
        let (own, place) = match prepared {
            Ok((pieces, place)) => (Ok(pieces), place),
            Err(error) => (Err(error), None),
        };
        self.share_out(Operation::BufferRegister, &[range], own, None)?;
        let mut places = lock(&self.preferred);
        places.extend(place);
        lock(&self.registered).push(range);
        Ok(())
    }
}
