//! Teams and their collectives on a GPU: what the kernels of a team need, its launches, and what kernels report.

use super::kernels::{
    CollectiveArgs, ErrorRecord, MISMATCH, OVERRUN, Plan, STALE, TeamArgs, TeamLocal,
};
use super::lanes::LOOK;
use super::{CudaTransport, LentStream, sync};
use crate::buffer::LocalSource;
use crate::job::process::pid_of;
use crate::operation::Operation;
use crate::transport::Lane;
use crate::{Error, Pe, Result, team};
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// What a member announces in place of its operation's number when it could not accept its own arguments: this bit beside it. Both
/// have room in the 7 bits of a flag.
const REFUSED: u32 = 1 << 6;
/// Looks at a word between two questions to the driver.
const LOOKS: u32 = 64;
/// How long a kernel that was told to end has for it.
const LEAVING: Duration = Duration::from_millis(500);

impl CudaTransport {
    /// Clears what the other members of an earlier team have left at a number, before any member of the next one can write there.
    ///
    /// Local; before the meeting after which the new team's members may use it.
    pub(crate) fn clear_team(&self, index: u32) -> Result<()> {
        self.set_zero(sync::block(self.sync_area(), index), Operation::TeamInit)?;
        self.all_have_run(index);
        self.page.let_team_wait(index);
        Ok(())
    }

    /// Makes what the kernels of a team need. `born`: how many teams had the number before. `members`: their PEs.
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
        let born = (born % u64::from(TeamLocal::GIVEN_UP)) as u32;
        let team = TeamArgs::new(index, me, members, born, own, epoch, block)?;
        let table = team.members().wrapping_sub(own);
        self.put(Lane::Blocking, self.me, table, LocalSource::from(members))?;
        let local = [TeamLocal::new(born)];
        self.put(
            Lane::Blocking,
            self.me,
            epoch.offset(),
            LocalSource::from(&local),
        )?;
        Ok(team)
    }

    /// The team at a number is no more: a kernel of it that is replayed from a graph reports that.
    ///
    /// Local; waits for nothing: the library's own stream comes to it before it comes to anything of the next team's.
    pub(crate) fn end_team(&self, index: u32) {
        self.page.end_team(index);
        self.note(self.store_born(index, TeamLocal::NO_TEAM));
    }

    /// The team at a number is broken, and its members have had their errors: its kernels end, and those that begin after the library's own
    /// stream has come to this do nothing. The number is not to be used again.
    ///
    /// Local; waits for nothing.
    pub(crate) fn give_up_team(&self, index: u32) {
        self.page.end_team(index);
        self.note(self.store_born(index, TeamLocal::GIVEN_UP));
    }

    /// Says on the library's own stream which of the teams with a number is the one that there is; waits for nothing.
    fn store_born(&self, index: u32, born: u32) -> Result<()> {
        let place = std::mem::offset_of!(TeamLocal, born) as u64;
        let place = sync::epoch(self.sync_area(), index).offset() + place;
        let (at, stream) = (self.layout.address(self.me, place), self.device.stream());
        self.kernels.put_value(stream, at, &born.to_le_bytes())?;
        self.issue();
        Ok(())
    }

    /// Puts a collective of a team on a lane, after the team's earlier ones, unless it becomes part of a graph: what comes before it there
    /// is the program's affair. False: nothing was put there, because nobody can mark the end of the one before; it must have run first.
    pub(crate) fn collective(
        &self,
        lane: Lane,
        captured: bool,
        plan: Plan,
        args: &CollectiveArgs,
    ) -> Result<bool> {
        let (team, stream) = (args.team_index(), self.stream(lane));
        if !captured && !self.take_turn(team, stream)? {
            return Ok(false);
        }
        self.kernels().collective(stream, plan, args)?;
        if !captured {
            self.end_turn(team, stream)?;
        }
        Ok(true)
    }

    /// Has a blocking collective of a team say when it is over; no other one of the number has this ticket.
    pub(crate) fn asks_when(&self, args: &mut CollectiveArgs, ticket: u64) {
        args.says_when(self.page.finished_address(args.team_index()), ticket);
    }

    /// Whether a team's blocking collective is over. Its word comes before the driver's; a look at it costs next to nothing, so there are
    /// several. The driver knows of a kernel that says nothing.
    pub(crate) fn is_over(&self, index: u32, ticket: u64, stream: &LentStream<'_>) -> Result<bool> {
        for _ in 0..LOOKS {
            if self.page.has_finished(index, ticket) {
                return Ok(true);
            }
            std::hint::spin_loop();
        }
        stream.query()
    }

    /// Ends the kernel of a team's blocking collective, and waits a little until it has left: it may not have begun, behind what the
    /// program has put on another stream.
    pub(crate) fn end_collective(&self, index: u32, stream: &LentStream<'_>) {
        self.page.end_team(index);
        let until = Instant::now() + LEAVING;
        let left = loop {
            match stream.query() {
                Ok(false) if Instant::now() < until => std::thread::sleep(LOOK),
                left => break left,
            }
        };
        if let Ok(false) = left {
            // When it begins, it finds that it is not meant any more.
            self.give_up_team(index);
        }
        self.note(left);
    }

    /// The operation that is announced by a member whose own arguments are wrong.
    pub(crate) fn refused(operation: Operation) -> u32 {
        operation as u32 | REFUSED
    }

    /// What a kernel of this PE has reported first, if any has.
    pub(super) fn reported(&self) -> Option<Error> {
        let record = self.page.error()?;
        let pe = record.pe.load(Relaxed);
        let pid = match (0..self.control.n_pes()).contains(&pe) {
            true => pid_of(&self.control, pe),
            false => 0,
        };
        Some(reported(record, self.me, pid))
    }
}

fn operation_name(number: u32) -> &'static str {
    Operation::from_number(number & !REFUSED).map_or("unknown", Operation::name)
}

/// A kernel's report as an error of PE `me`; `pid` is the process of the PE that it names.
#[cold]
fn reported(record: &ErrorRecord, me: Pe, pid: u32) -> Error {
    let (mine, theirs) = (
        record.operation.load(Relaxed),
        record.their_operation.load(Relaxed),
    );
    let (operation, pe) = (operation_name(mine), record.pe.load(Relaxed));
    let team = team::name(record.team.load(Relaxed));
    match record.code.load(Relaxed) {
        MISMATCH if theirs == Operation::Finalize as u32 => Error::PeDied {
            pe,
            pid,
            how: "has called finalize",
            place: String::new(),
            operation,
            me,
        },
        MISMATCH if theirs & REFUSED != 0 => Error::PeerArgument {
            operation,
            pe,
            why: format!(
                "it could not take part in its {} over team {team} on a stream; its own call has returned why",
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
    fn operations_fit_a_flag() {
        for number in REFUSED..1 << 12 {
            assert!(Operation::from_number(number).is_none(), "{number}");
        }
    }

    #[test]
    fn reports_name_the_operation_the_team_and_the_pe() {
        let (reduce, broadcast) = (Operation::Reduce as u32, Operation::Broadcast as u32);
        let text = |code, mine, theirs| reported(&record(code, mine, theirs), 1, 0).to_string();
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
        let gone = text(MISMATCH, reduce, Operation::Finalize as u32);
        assert!(
            gone.contains("PE 3") && gone.contains("has called finalize, during reduce of PE 1"),
            "{gone}"
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
