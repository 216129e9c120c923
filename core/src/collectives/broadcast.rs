//! Broadcast: small ones travel with the meeting; otherwise every member copies from the root.

use super::{Call, PAYLOAD_BYTES};
use crate::heap::sym::{LocalDest, LocalSource, SymSlice};
use crate::transport::Transport as _;
use crate::transport::host::control::PAYLOAD_WORDS;
use crate::wait::Operation;
use crate::{Pe, Result, Runtime, Team, pe};
use bytemuck::Pod;

impl Runtime {
    /// Copies `bytes` bytes from `source` on member `root` (a number in the team) to `dest` on every member. The addresses are this
    /// PE's symmetric ones; they are equal or do not overlap.
    ///
    /// Collective over `team`. Returns when `dest` is written here and `source` may be reused. OpenSHMEM 1.5 section 9.9.5.
    pub fn broadcast(
        &self,
        team: Team,
        dest: u64,
        source: u64,
        bytes: usize,
        root: Pe,
    ) -> Result<()> {
        let checked = self
            .inner
            .symmetric("dest", dest, bytes as u64)
            .and_then(|dest| {
                self.inner
                    .buffers(dest, self.inner.symmetric("source", source, bytes as u64)?)
            });
        self.broadcast_checked(team, checked, bytes, root)
    }

    /// Arguments that did not pass are still brought to the meeting, so that every member learns of it.
    fn broadcast_checked(
        &self,
        team: Team,
        checked: Result<(u64, u64)>,
        bytes: usize,
        root: Pe,
    ) -> Result<()> {
        let inner = &*self.inner;
        let turn = inner.enter(team, Operation::Broadcast)?;
        let team = turn.team();
        let checked =
            checked.and_then(|offsets| pe::check("root", root, team.n_pes).map(|()| offsets));
        let (to, from) = checked.as_ref().copied().unwrap_or((0, 0));
        let failed = checked.is_err();
        let call = Call {
            operation: Operation::Broadcast,
            args: [bytes as u64, root as u64, to, from, 0],
            error: checked.err(),
        };
        let (me, words) = (inner.my_pe, bytes.div_ceil(8));
        if bytes <= PAYLOAD_BYTES {
            let mut buffer = [0u64; PAYLOAD_WORDS];
            let payload = &mut buffer[..words];
            let brings = root == team.my_pe && !failed;
            if brings {
                let local =
                    LocalDest::from(&mut bytemuck::cast_slice_mut::<u64, u8>(payload)[..bytes]);
                inner.transport.get(me, from, local);
            }
            let epoch = turn.meet(call, if brings { payload } else { &[] })?;
            turn.payload(root, epoch, payload);
            inner.transport.put(
                me,
                to,
                LocalSource::from(&bytemuck::cast_slice::<u64, u8>(payload)[..bytes]),
            );
            return Ok(());
        }
        turn.meet(call, &[])?;
        if to != from || root != team.my_pe {
            inner.transport.copy(me, to, root, from, bytes as u64);
        }
        turn.meet(Call::plain(Operation::Broadcast), &[])
            .map(|_| ())
    }

    /// [`broadcast`](Runtime::broadcast) of arrays, of equal length.
    pub fn broadcast_array<T: Pod>(
        &self,
        team: Team,
        dest: &SymSlice<'_, T>,
        source: &SymSlice<'_, T>,
        root: Pe,
    ) -> Result<()> {
        let (to, from) = (dest.range(), source.range());
        let checked = super::same_length(dest.len(), source.len())
            .and_then(|()| self.inner.buffers(to, from));
        self.broadcast_checked(team, checked, to.bytes() as usize, root)
    }
}
