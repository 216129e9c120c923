//! Blocks of host memory that kernels cannot access: as many as fit are gathered in a stage (`copies.rs`), which a kernel empties
//! or fills, so there is one wait for all of them.

use super::Submitted;
use crate::Result;
use crate::buffer::{LocalDest, LocalSource};
use crate::kernels::StridedArgs;
use crate::operation::Operation;
use crate::strides::Transfer;
use crate::transport::Submission;
use crate::{CudaTransport, STAGE};
use cudarc::driver::sys::CUstream;
use std::ops::Range;

/// The blocks of a transfer, in groups that fit a stage.
fn groups(transfer: &Transfer) -> impl Iterator<Item = Range<u64>> + use<> {
    let (_, bytes, count) = transfer.dest().parts();
    let most = STAGE as u64 / bytes.max(1);
    let starts = (0..count).step_by(most.max(1) as usize);
    starts.map(move |first| first..count.min(first + most))
}

impl CudaTransport {
    /// Whether the local blocks of a transfer are staged: they are in host memory that kernels cannot access, and several fit a
    /// stage. On a captured stream a call cannot wait for a stage.
    pub(crate) fn blocks_are_staged(
        &self,
        submission: Submission,
        (address, borrowed): (u64, bool),
        transfer: &Transfer,
    ) -> Result<bool> {
        let (_, bytes, count) = transfer.dest().parts();
        if bytes == 0 || count < 2 || bytes > STAGE as u64 / 2 {
            return Ok(false);
        }
        let unreached = borrowed || !self.is_known(address)?;
        match submission {
            Submission::Blocking => Ok(unreached),
            Submission::Stream(stream) => {
                Ok(unreached && !self.device.is_captured(stream as CUstream)?)
            }
        }
    }

    /// Copies blocks of `local` to `dest`, the address of the lowest block, by the blocking stream.
    pub(crate) fn put_blocks_staged(
        &self,
        operation: Operation,
        dest: u64,
        local: &LocalSource<'_>,
        transfer: &Transfer,
    ) -> Result<()> {
        let submitted = (Submission::Blocking, operation);
        let (dest_step, block, _) = transfer.dest().parts();
        let bytes = block as usize;
        for indices in groups(transfer) {
            let stream = self.begin(Submission::Blocking, operation)?;
            let stage = self.stage(submitted)?;
            for (place, index) in indices.clone().enumerate() {
                let from = transfer.source().at(index) as usize;
                stage.fill(place * bytes, &local.part(from, bytes));
            }
            self.through_stage(submitted, stage, |at| {
                let args = StridedArgs {
                    dest: dest + transfer.dest().at(indices.start),
                    source: at,
                    dest_step,
                    source_step: block as i64,
                    block,
                    count: indices.end - indices.start,
                };
                self.kernels.copy_strided(stream, &args)
            })?;
        }
        Ok(())
    }

    /// Fills blocks of `local` from `source`, the address of the lowest block, and waits for the copy.
    pub(crate) fn get_blocks_staged(
        &self,
        submitted: Submitted,
        local: &mut LocalDest<'_>,
        source: u64,
        transfer: &Transfer,
    ) -> Result<()> {
        let (source_step, block, _) = transfer.source().parts();
        let bytes = block as usize;
        self.await_turn_on(submitted)?;
        for indices in groups(transfer) {
            let stream = self.begin(submitted.0, submitted.1)?;
            let stage = self.stage(submitted)?;
            let stage = self.through_stage(submitted, stage, |at| {
                let args = StridedArgs {
                    dest: at,
                    source: source + transfer.source().at(indices.start),
                    dest_step: block as i64,
                    source_step,
                    block,
                    count: indices.end - indices.start,
                };
                self.kernels.copy_strided(stream, &args)
            })?;
            for (place, index) in indices.enumerate() {
                let to = transfer.dest().at(index) as usize;
                stage.empty(place * bytes, &mut local.part(to, bytes));
            }
        }
        Ok(())
    }
}
