//! Broadcast: small ones travel with the meeting; otherwise every member copies from the root.

use super::{PAYLOAD_BYTES, check_overlap, with_work};
use crate::operation::Operation;
use crate::symmetric::{SymSlice, Symmetric};
use crate::transport::Task;
use crate::{Pe, Result, Runtime, Team};
use bytemuck::Pod;

impl Runtime {
    /// Copies `bytes` bytes from `source` on member `root` (a number in the team) to `dest` on every member, the root included.
    /// The two are the same or do not overlap.
    ///
    /// Collective over `team`. Returns when `dest` is written here and `source` may be reused. OpenSHMEM 1.5 section 9.9.7.
    #[track_caller]
    pub fn broadcast(
        &self,
        team: Team,
        dest: impl Into<Symmetric>,
        source: impl Into<Symmetric>,
        bytes: usize,
        root: Pe,
    ) -> Result<()> {
        let inner = &*self.inner;
        let turn = inner.enter(team, Operation::Broadcast)?;
        let checked = dest
            .into()
            .resolve(inner, "dest", bytes as u64)
            .and_then(|dest| {
                let source = source.into().resolve(inner, "source", bytes as u64)?;
                check_overlap(dest, source, Some(source.offset()))?;
                crate::error::check_pe("root", root, turn.n_pes())?;
                Ok((dest, source))
            });
        let (dest, source) = match checked {
            Ok(buffers) => buffers,
            Err(error) => return turn.refuse(self.lane, Operation::Broadcast, error),
        };
        let (to, from) = (dest.offset(), source.offset());
        let is_root = root == turn.my_pe();
        // In place, the root's own memory stays as it is.
        let writes = to != from || !is_root;
        if is_root {
            turn.reads(source);
        }
        let args = [bytes as u64, root as u64, to, from, 0];
        let task = || Task {
            dest: to,
            source: from,
            bytes: bytes as u64,
            root,
            ..Task::default()
        };
        if let Some(done) = turn.by_transport(self.lane, Operation::Broadcast, args, task) {
            return done;
        }
        if bytes <= PAYLOAD_BYTES {
            let words = bytes.div_ceil(8);
            return with_work(words, |work| {
                let words = &mut work.acc[..words];
                let mut brought = 0;
                if is_root {
                    inner.load_words(source, words);
                    brought = words.len();
                }
                let epoch = turn.join(Operation::Broadcast, args, &words[..brought])?;
                turn.payload(root, epoch, words);
                inner.store_words(to, words, bytes)?;
                if writes {
                    turn.writes(dest);
                }
                Ok(())
            });
        }
        turn.join(Operation::Broadcast, args, &[])?;
        if writes {
            let root = turn.pe(root);
            inner
                .transport
                .own()
                .copy(inner.my_pe, to, root, from, bytes as u64);
        }
        turn.meet_again(Operation::Broadcast)?;
        if writes {
            turn.writes(dest);
        }
        Ok(())
    }

    /// [`broadcast`](Runtime::broadcast) of arrays, of equal length.
    #[track_caller]
    pub fn broadcast_array<T: Pod>(
        &self,
        team: Team,
        dest: &SymSlice<'_, T>,
        source: &SymSlice<'_, T>,
        root: Pe,
    ) -> Result<()> {
        let bytes = source.range().bytes() as usize;
        self.broadcast(team, dest.range(), source.range(), bytes, root)
    }
}
