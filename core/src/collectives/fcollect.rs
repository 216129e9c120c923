//! Fcollect: the same number of bytes from every member, put together in team order.

use super::{CollectiveCall, PAYLOAD_BYTES, Part, check_overlap, times, with_work};
use crate::buffer::SymRange;
use crate::operation::{IN_PLACE, Operation};
use crate::symmetric::{SymSlice, Symmetric};
use crate::transport::Task;
use crate::{Result, Runtime, Team};
use bytemuck::Pod;

impl Runtime {
    /// Puts together `bytes` bytes of `source` of every member, in team order, in `dest` on every member, which has room for
    /// all. In place: `source` is this member's part of `dest`.
    ///
    /// Collective over `team`. Returns when `dest` is written here and `source` may be reused. OpenSHMEM 1.5 section 9.9.8.
    #[track_caller]
    pub fn fcollect(
        &self,
        team: Team,
        dest: impl Into<Symmetric>,
        source: impl Into<Symmetric>,
        bytes: usize,
    ) -> Result<()> {
        let inner = &*self.inner;
        let collective = inner.enter(team, Operation::Fcollect)?;
        let (n_pes, me) = (collective.n_pes() as usize, collective.my_pe());
        let checked = times("bytes", bytes, n_pes).and_then(|total| {
            let dest = dest.into().resolve(inner, "dest", total)?;
            let source = source.into().resolve(inner, "source", bytes as u64)?;
            let own = source.offset().checked_sub((me as usize * bytes) as u64);
            Ok((dest, source, check_overlap(dest, source, own)?))
        });
        let (dest, source, in_place) = match checked {
            Ok(buffers) => buffers,
            Err(error) => return collective.refuse(self.submission, Operation::Fcollect, error),
        };
        collective.reads(source);
        // In place, this member's part stays as it is.
        let part = if in_place {
            source
        } else {
            SymRange::new(dest.offset(), 0)
        };
        let written = |collective: &CollectiveCall<'_>| {
            let (start, end) = (part.offset(), part.offset() + part.bytes());
            collective.writes(SymRange::new(dest.offset(), start - dest.offset()));
            collective.writes(SymRange::new(end, dest.offset() + dest.bytes() - end));
        };
        let (to, from) = (dest.offset(), source.offset());
        let shown = if in_place { IN_PLACE } else { from };
        let args = [bytes as u64, to, shown, 0, 0];
        let task = || Task {
            dest: to,
            source: from,
            bytes: bytes as u64,
            ..Task::default()
        };
        if let Some(done) = collective.offload(self.submission, Operation::Fcollect, args, task) {
            return done;
        }
        if bytes <= PAYLOAD_BYTES {
            let words = bytes.div_ceil(8);
            return with_work(words, |work| {
                let words = &mut work.acc[..words];
                inner.load_words(source, words);
                let epoch = collective.join(Operation::Fcollect, args, words)?;
                for member in 0..collective.n_pes() {
                    collective.payload(member, epoch, words);
                    inner.store_words(to + (member as usize * bytes) as u64, words, bytes)?;
                }
                written(&collective);
                Ok(())
            });
        }
        collective.join(Operation::Fcollect, args, &[])?;
        collective.spread(Operation::Fcollect, &|member| {
            let to = to + (member as usize * bytes) as u64;
            let from = if in_place { to } else { from };
            let bytes = bytes as u64;
            Part { from, to, bytes }
        })?;
        collective.meet_again(Operation::Fcollect)?;
        written(&collective);
        Ok(())
    }

    /// [`fcollect`](Runtime::fcollect) of arrays: `dest` is as long as all sources together.
    #[track_caller]
    pub fn fcollect_array<T: Pod>(
        &self,
        team: Team,
        dest: &SymSlice<'_, T>,
        source: &SymSlice<'_, T>,
    ) -> Result<()> {
        self.fcollect(
            team,
            dest.range(),
            source.range(),
            source.range().bytes() as usize,
        )
    }
}
