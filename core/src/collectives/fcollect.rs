//! Fcollect: the same number of bytes from every member, put together in team order.

use super::{PAYLOAD_BYTES, Part, Turn, check_overlap, times, with_work};
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
        let turn = inner.enter(team, Operation::Fcollect)?;
        let (n_pes, me) = (turn.n_pes() as usize, turn.my_pe());
        let checked = times("bytes", bytes, n_pes).and_then(|total| {
            let dest = dest.into().resolve(inner, "dest", total)?;
            let source = source.into().resolve(inner, "source", bytes as u64)?;
            let own = source.offset().checked_sub((me as usize * bytes) as u64);
            Ok((dest, source, check_overlap(dest, source, own)?))
        });
        let (dest, source, in_place) = match checked {
            Ok(buffers) => buffers,
            Err(error) => return turn.refuse(self.lane, Operation::Fcollect, error),
        };
        turn.reads(source);
        // In place, this member's part stays as it is.
        let part = if in_place {
            source
        } else {
            SymRange::new(dest.offset(), 0)
        };
        let written = |turn: &Turn<'_>| {
            let (start, end) = (part.offset(), part.offset() + part.bytes());
            turn.writes(SymRange::new(dest.offset(), start - dest.offset()));
            turn.writes(SymRange::new(end, dest.offset() + dest.bytes() - end));
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
        if let Some(done) = turn.by_transport(self.lane, Operation::Fcollect, args, task) {
            return done;
        }
        if bytes <= PAYLOAD_BYTES {
            let words = bytes.div_ceil(8);
            return with_work(words, |work| {
                let words = &mut work.acc[..words];
                inner.load_words(source, words);
                let epoch = turn.join(Operation::Fcollect, args, words)?;
                for member in 0..turn.n_pes() {
                    turn.payload(member, epoch, words);
                    inner.store_words(to + (member as usize * bytes) as u64, words, bytes)?;
                }
                written(&turn);
                Ok(())
            });
        }
        turn.join(Operation::Fcollect, args, &[])?;
        turn.spread(Operation::Fcollect, &|member| {
            let to = to + (member as usize * bytes) as u64;
            let from = if in_place { to } else { from };
            let bytes = bytes as u64;
            Part { from, to, bytes }
        })?;
        turn.meet_again(Operation::Fcollect)?;
        written(&turn);
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
