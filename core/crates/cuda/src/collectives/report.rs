//! Reports of kernels, as errors.

use super::REFUSED;
use crate::CudaTransport;
use crate::job::block::MAX_TEAMS;
use crate::job::process::pid_of;
use crate::job::team;
use crate::kernels::{ErrorRecord, MISMATCH, OVERRUN, STALE};
use crate::operation::Operation;
use crate::{Error, Pe};
use std::sync::atomic::Ordering::{Acquire, Relaxed};

impl CudaTransport {
    /// The first report of a kernel of this PE, if there is one.
    pub(crate) fn reported(&self) -> Option<Error> {
        let record = self.mailbox.error()?;
        if let Some(error) = self.left_before_finalize(record) {
            return Some(error);
        }
        let pe = record.pe.load(Relaxed);
        let pid = match (0..self.control.n_pes()).contains(&pe) {
            true => pid_of(&self.control, pe),
            false => 0,
        };
        Some(reported(record, self.me, pid))
    }

    /// The error of a broken team, where a kernel has seen a member in finalize: the member has finalized because the team was broken.
    fn left_before_finalize(&self, record: &ErrorRecord) -> Option<Error> {
        let team = record.team.load(Relaxed);
        let finalizes = record.code.load(Relaxed) == MISMATCH
            && record.their_operation.load(Relaxed) == Operation::Finalize as u32;
        if !finalizes || team as usize >= MAX_TEAMS {
            return None;
        }
        let mark = self.control.team(team, self.me).broken.load(Acquire);
        let base_epoch = self.teams.get(team, |team| team.base_epoch).ok()?;
        let operation = operation_name(record.operation.load(Relaxed));
        team::breaks(mark, base_epoch).then(|| team::broken(operation, team, mark))
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
                "it could not take part in its `{}` over team {team} on a stream; its own call has returned why",
                operation_name(theirs)
            ),
        },
        MISMATCH => {
            let said = |number, differs: &str| match operation_name(theirs) {
                other if other == operation => format!("{differs} over team {team} on a stream"),
                _ => format!(
                    "called `{}` over team {team} on a stream",
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
                "as long as the contributions of all members of team {team} to `{operation}`, which is {} bytes",
                record.theirs.load(Relaxed)
            ),
        ),
        STALE => Error::invalid(
            "team",
            format!("team {team}, which was destroyed"),
            format!(
                "a live team until `{operation}`, which is on a stream or in a graph, has run for the last time"
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
    use crate::operation::Reach;

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
            let known = Operation::from_number(number);
            let collective = known.filter(|known| known.reach() == Reach::Collective);
            assert_eq!(collective, None, "{number}");
        }
    }

    #[test]
    fn reports_name_the_operation_the_team_and_the_pe() {
        let (reduce, broadcast) = (Operation::Reduce as u32, Operation::Broadcast as u32);
        let text = |code, mine, theirs| reported(&record(code, mine, theirs), 1, 0).to_string();
        let other = text(MISMATCH, reduce, broadcast);
        assert!(
            other.contains("in `reduce`: PE 3 has called `broadcast` over team 7"),
            "{other}"
        );
        assert!(other.contains("PE 1 has called `reduce`"), "{other}");
        let same = text(MISMATCH, reduce, reduce);
        assert!(same.contains("PE 3 has other arguments"), "{same}");
        let refused = text(MISMATCH, reduce, CudaTransport::refused(Operation::Reduce));
        assert!(
            refused.contains("PE 3 reports") && refused.contains("`reduce` over team 7"),
            "{refused}"
        );
        let gone = text(MISMATCH, reduce, Operation::Finalize as u32);
        assert!(
            gone.contains("PE 3") && gone.contains("has called finalize, during `reduce` of PE 1"),
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
