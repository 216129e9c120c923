//! Teams and their collectives on a GPU: what the kernels of a team need, its launches, and what kernels report.

use super::driver::check;
use super::kernels::{CollectiveArgs, ErrorRecord, MISMATCH, OVERRUN, Plan, STALE, TeamArgs};
use super::{CudaTransport, sync};
use crate::heap::sym::{LocalSource, SymRange};
use crate::transport::Lane;
use crate::wait::Operation;
use crate::{Error, Pe, Result, team};
use cudarc::driver::sys::{self, CUresult};
use std::sync::atomic::Ordering::Relaxed;

/// What a member announces in place of its operation's number when it could not accept its own arguments: this bit beside it.
const REFUSED: u32 = 1 << 31;

impl CudaTransport {
    /// Clears what the other members of an earlier team have left at a number, before any member of the next one can write there.
    ///
    /// Local; before the meeting after which the new team's members may use it.
    pub(crate) fn clear_team(&self, index: u32) {
        let cleared = self.set_zero(sync::block(self.sync_area(), index));
        self.note(cleared);
        self.page.let_team_wait(index);
    }

    /// Makes what the kernels of a team need. Its epochs begin after all those of earlier teams with the number: those that have been
    /// `born` before. `members`: their PEs.
    pub(crate) fn make_team(
        &self,
        index: u32,
        members: &[i32],
        me: Pe,
        born: u64,
    ) -> Result<TeamArgs> {
        let block = sync::block(self.sync_area(), index);
        let epoch = sync::epoch(self.sync_area(), index);
        let own = self.layout.address(self.me, 0);
        let team = TeamArgs::new(
            index,
            me,
            members.len() as Pe,
            born as u32,
            own,
            epoch,
            block,
        )?;
        let table = team.members().wrapping_sub(own);
        self.put(Lane::Blocking, self.me, table, LocalSource::from(members))?;
        self.set_epoch(epoch, u64::from(born as u32) << 32)?;
        Ok(team)
    }

    /// The team at a number is no more: a kernel of it that was queued, or is replayed from a graph, reports that.
    pub(crate) fn end_team(&self, index: u32) {
        let epoch = sync::epoch(self.sync_area(), index);
        let set = self.set_epoch(epoch, u64::MAX);
        self.note(set);
    }

    fn set_epoch(&self, place: SymRange, epoch: u64) -> Result<()> {
        // The epoch, and no blocks that are done.
        let words = [epoch, 0];
        self.put(
            Lane::Blocking,
            self.me,
            place.offset(),
            LocalSource::from(&words),
        )
    }

    /// Puts a collective on a lane.
    pub(crate) fn collective(&self, lane: Lane, plan: Plan, args: &CollectiveArgs) -> Result<()> {
        self.kernels().collective(self.stream(lane), plan, args)
    }

    /// Whether all that is on the library's own stream is done.
    pub(crate) fn idle(&self) -> Result<bool> {
        let _current = self.device.enter()?;
        // SAFETY: rules 1 and 3 of driver.rs.
        match unsafe { sys::cuStreamQuery(self.device.stream()) } {
            CUresult::CUDA_ERROR_NOT_READY => Ok(false),
            code => check("cuStreamQuery", code).map(|()| true),
        }
    }

    /// Ends the kernel of a team that is on the library's own stream, and waits until it has left.
    pub(crate) fn end_collective(&self, index: u32) {
        self.page.end_team(index);
        let ended = self.device.synchronize();
        self.note(ended);
    }

    /// The operation that is announced by a member whose own arguments are wrong.
    pub(crate) fn refused(operation: Operation) -> u32 {
        operation as u32 | REFUSED
    }

    /// What a kernel of this PE has reported first, if any has.
    pub(super) fn reported(&self) -> Option<Error> {
        self.page.error().map(|record| reported(record, self.me))
    }
}

fn operation_name(number: u32) -> &'static str {
    Operation::from_number(number & !REFUSED).map_or("unknown", Operation::name)
}

/// A kernel's report as an error of PE `me`.
#[cold]
fn reported(record: &ErrorRecord, me: Pe) -> Error {
    let (mine, theirs) = (
        record.operation.load(Relaxed),
        record.their_operation.load(Relaxed),
    );
    let (operation, pe) = (operation_name(mine), record.pe.load(Relaxed));
    let team = team::name(record.team.load(Relaxed));
    match record.code.load(Relaxed) {
        MISMATCH if theirs & REFUSED != 0 => Error::PeerArgument {
            operation,
            pe,
            why: format!(
                "it could not accept an argument of its {} over team {team} on a stream; its own call has returned why",
                operation_name(theirs)
            ),
        },
        MISMATCH => {
            let said = |number, differs: &str| match operation_name(theirs) {
                other if other == operation => format!("{differs} over team {team} on a stream"),
                _ => format!(
                    "called {} over team {team} on a stream",
                    operation_name(number)
                ),
            };
            Error::Mismatch {
                operation,
                pe,
                theirs: said(theirs, "other arguments"),
                other: me,
                ours: said(mine, "its own"),
            }
        }
        OVERRUN => Error::invalid(
            "dest",
            format!("{} bytes long", record.mine.load(Relaxed)),
            format!(
                "as long as what all members of team {team} bring to {operation}: {} bytes",
                record.theirs.load(Relaxed)
            ),
        ),
        STALE => Error::invalid(
            "team",
            format!("team {team}, which was destroyed"),
            format!(
                "a live team, until {operation}, which is on a stream or in a graph, has run for the last time"
            ),
        ),
        code => Error::Internal(format!(
            "a kernel of the GPU reports {code} in {operation} over team {team}"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(code: u32, operation: u32, theirs: u32) -> ErrorRecord {
        let record = ErrorRecord::default();
        record.code.store(code, Relaxed);
        record.operation.store(operation, Relaxed);
        record.their_operation.store(theirs, Relaxed);
        record.team.store(7, Relaxed);
        record.pe.store(3, Relaxed);
        record.mine.store(100, Relaxed);
        record.theirs.store(120, Relaxed);
        record
    }

    #[test]
    fn reports_name_the_operation_the_team_and_the_pe() {
        let (reduce, broadcast) = (Operation::Reduce as u32, Operation::Broadcast as u32);
        let text = |code, mine, theirs| reported(&record(code, mine, theirs), 1).to_string();
        let other = text(MISMATCH, reduce, broadcast);
        assert!(
            other.contains("in reduce: PE 3 has called broadcast over team 7"),
            "{other}"
        );
        assert!(other.contains("PE 1 has called reduce"), "{other}");
        let same = text(MISMATCH, reduce, reduce);
        assert!(same.contains("PE 3 has other arguments"), "{same}");
        let refused = text(MISMATCH, reduce, CudaTransport::refused(Operation::Reduce));
        assert!(
            refused.contains("PE 3 reports") && refused.contains("reduce over team 7"),
            "{refused}"
        );
        let overrun = text(OVERRUN, Operation::Collect as u32, 0);
        assert!(
            overrun.contains("100 bytes") && overrun.contains("120 bytes"),
            "{overrun}"
        );
        let stale = text(STALE, reduce, 0);
        assert!(
            stale.contains("team 7") && stale.contains("destroyed"),
            "{stale}"
        );
    }
}
