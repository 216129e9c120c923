//! The state of the job for kernels of the program, which put, get, wait and call collectives.
//!
//! | file | contents |
//! |---|---|
//! | this file | the tables that [`State`] points to, and the trait by which a transport maintains them |
//! | [`state`] | [`State`], an argument of every kernel |
//! | [`reachable_pes`] | which PEs kernels reach |
//! | [`report`] | the first error that a kernel has found |
//! | [`record`] | the operations that kernels of a checked job record |
//!
//! [`device_area`](crate::job::device_area) defines the offsets of the tables. `include/nvshmemrs_device.cuh` declares the same structs,
//! and both compilers check sizes and offsets.
//!
//! A team's row changes while kernels run. For a new team, the first eight bytes are written last; for a destroyed team they are set to 0.
//! So a kernel that sees `n`, and then the generation of its handle, sees the row of its team.

pub(crate) mod reachable_pes;
pub mod record;
pub mod report;
pub mod state;

pub use reachable_pes::ReachablePes;
pub use record::KernelRecords;
pub use report::DeviceReport;
pub use state::State as DeviceState;
pub use state::{State, StateAddresses};

use crate::job::block::MAX_TEAMS;
use crate::job::device_area::{DeviceArea, REPORT_BYTES, STRUCT};
use crate::job::hosts::Hosts;
use crate::job::layout::Layout;
use crate::{Error, Pe, Result};
use std::mem::offset_of;

/// The struct at [`State::job`].
#[derive(Clone, Copy, Debug, bytemuck::NoUninit)]
#[repr(C)]
pub struct DeviceJob {
    /// Symmetric offsets that the program may use end here: the heap, and the window for registered buffers.
    heap_bytes: u64,
    n_teams: u32,
    /// As [`State::check`].
    check: u32,
    /// The address of a [`DeviceTeam`] per team number.
    teams: u64,
    /// The address of a copy of [`State`], for kernels that take one pointer.
    state: u64,
    /// Concurrent collectives of a team in kernels.
    slots: u32,
    reserved0: u32,
    /// The address of a [`DeviceReport`].
    report: u64,
    /// The address of a bitmap of the PEs that kernels reach, in words of 32 bits. 0: they reach all.
    near: u64,
    /// The address of a `u32` by which a kernel asks all PEs to exit: 1 + the status. Older libraries leave the address 0.
    exit: u64,
}

/// A team as kernels of the program see it; all zero: no team has this number.
#[derive(Clone, Copy, Debug, Default, bytemuck::NoUninit)]
#[repr(C)]
pub struct DeviceTeam {
    n: i32,
    me: i32,
    first: i32,
    /// The stride from one member to the next; 0: read `members`.
    step: i32,
    /// The address of an `i32` per member.
    members: u64,
    /// The symmetric offset of the team's flags.
    sync: u64,
    /// The address of a `u64` per slot.
    epochs: u64,
    /// The high 32 bits of the team's handle.
    generation: u32,
    reserved0: u32,
    /// The symmetric offset of the team's mail.
    mail: u64,
    /// 1 + the first member that kernels do not reach; 0: they reach all.
    unreachable: i32,
    /// The words of the team's long mail that a member sends another; it follows the mail. 0: there is none. Older libraries leave it 0.
    long_words: u32,
}

const _: () = {
    assert!(size_of::<DeviceJob>() as u64 == STRUCT && size_of::<DeviceTeam>() as u64 == STRUCT);
    assert!(size_of::<DeviceReport>() as u64 <= REPORT_BYTES);
    assert!(offset_of!(DeviceJob, heap_bytes) == 0 && offset_of!(DeviceJob, n_teams) == 8);
    assert!(offset_of!(DeviceJob, check) == 12 && offset_of!(DeviceJob, teams) == 16);
    assert!(offset_of!(DeviceJob, state) == 24 && offset_of!(DeviceJob, slots) == 32);
    assert!(offset_of!(DeviceJob, report) == 40 && offset_of!(DeviceJob, near) == 48);
    assert!(offset_of!(DeviceJob, exit) == 56);
    assert!(offset_of!(DeviceTeam, n) == 0 && offset_of!(DeviceTeam, me) == 4);
    assert!(offset_of!(DeviceTeam, first) == 8 && offset_of!(DeviceTeam, step) == 12);
    assert!(offset_of!(DeviceTeam, members) == 16 && offset_of!(DeviceTeam, sync) == 24);
    assert!(offset_of!(DeviceTeam, epochs) == 32 && offset_of!(DeviceTeam, generation) == 40);
    assert!(offset_of!(DeviceTeam, mail) == 48 && offset_of!(DeviceTeam, unreachable) == 56);
    assert!(offset_of!(DeviceTeam, long_words) == 60);
    // `TEAMS` of the header: it looks at so many rows in every job.
    assert!(MAX_TEAMS >= 320);
};

impl DeviceJob {
    /// `own`: the address of this PE's part, as its kernels have it; `report`: that of the report.
    pub fn new(
        layout: &Layout,
        area: &DeviceArea,
        own: u64,
        report: u64,
        (check, reached): (bool, &ReachablePes),
    ) -> DeviceJob {
        DeviceJob {
            heap_bytes: layout.heap_bytes + layout.window_bytes,
            n_teams: MAX_TEAMS as u32,
            check: reached.checks(check),
            teams: own + area.row(0),
            state: own + area.state(),
            slots: area.slots(),
            reserved0: 0,
            report,
            near: reached.words().map_or(0, |_| own + area.near()),
            exit: report + offset_of!(DeviceReport, exit) as u64,
        }
    }
}

impl DeviceTeam {
    /// The team with number `team`, in which this PE is member `me` of `members`.
    pub fn new(
        area: &DeviceArea,
        own: u64,
        team: u32,
        generation: u32,
        (members, me): (&[Pe], Pe),
        reached: &ReachablePes,
    ) -> DeviceTeam {
        let (first, step) = stride(members);
        DeviceTeam {
            n: members.len() as i32,
            me,
            first,
            step,
            members: own + area.members(team),
            sync: area.block(team).offset(),
            epochs: own + area.epochs(team),
            generation,
            mail: area.mail(team),
            unreachable: reached.first_unreachable(members).map_or(0, |pe| pe + 1),
            long_words: area.long_words(team),
            ..DeviceTeam::default()
        }
    }

    /// Whether kernels read the list of members.
    pub fn is_listed(&self) -> bool {
        self.step == 0
    }

    /// The words of the row; the first word, which makes the team valid, is written last.
    pub fn words(&self) -> [u64; STRUCT as usize / 8] {
        bytemuck::cast(*self)
    }
}

/// The first of the PEs and their stride; 0 if there is none.
pub fn stride(pes: &[Pe]) -> (Pe, Pe) {
    match pes {
        [] => (0, 0),
        [first] => (*first, 1),
        [first, second, ..] => {
            let step = second - first;
            let same = pes.windows(2).all(|pair| pair[1] - pair[0] == step);
            (*first, if same { step } else { 0 })
        }
    }
}

/// The tables that a transport keeps for the program's kernels.
pub trait DeviceTables {
    /// Sets which PEs kernels reach, in a job on several hosts.
    ///
    /// Local; once, before the first request for the state.
    fn set_hosts(&self, hosts: &Hosts) -> Result<()>;

    /// The job as this PE's kernels see it; an error if kernels cannot use the heap.
    ///
    /// Local.
    fn state(&self) -> Result<State>;

    /// From now on the state tells kernels that the job is checked, so only those run that record their operations: here.
    ///
    /// Local.
    fn watch(&self) -> Result<&KernelRecords>;

    /// The kernels' address of a copy of it.
    ///
    /// Local.
    fn state_address(&self) -> Result<u64>;

    /// Resets flags and epochs of a team number, which an earlier team has used.
    ///
    /// Local; before the meeting after which the new team's members may use them.
    fn clear_team(&self, team: u32) -> Result<()>;

    /// Writes the row of a team. A failure is an error of a later call.
    ///
    /// Local; before the same meeting.
    fn make_team(&self, team: u32, generation: u32, members: &[Pe], me: Pe);

    /// Clears the row of a team.
    ///
    /// Local; does not wait.
    fn end_team(&self, team: u32);

    /// The first error of this PE's kernels: an invalid argument, if they are checked, a PE of another host, or an invalid state.
    fn report(&self) -> Option<Error>;

    /// The status with which a kernel of this PE asks all PEs to exit.
    ///
    /// Local; the watchdog polls it.
    fn exit_status(&self) -> Option<i32>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_say_who_the_members_are() {
        let area = DeviceArea::new(1 << 21, 4, 256);
        let reached = ReachablePes::default();
        let row = |members: &[Pe]| DeviceTeam::new(&area, 1 << 40, 7, 5, (members, 1), &reached);
        let even = row(&[0, 2]);
        assert_eq!((even.n, even.me, even.first, even.step), (2, 1, 0, 2));
        assert!(!even.is_listed() && row(&[0, 1, 3]).is_listed());
        assert_eq!(even.sync, area.block(7).offset());
        assert_eq!(even.epochs, (1 << 40) + area.epochs(7));
        assert_eq!(even.members, (1 << 40) + area.members(7));
        assert_eq!(even.words()[0], 1 << 32 | 2);
        assert_eq!(even.words()[5], 5);
        assert_eq!(even.words()[7], u64::from(area.long_words(7)) << 32);
        reached.set(&Hosts::new(&[0, 1, 0, 1].map(|id| [id; 16]), 2));
        assert_eq!(row(&[0, 2]).unreachable, 0);
        assert_eq!(row(&[2, 3, 1]).unreachable, 4);
    }

    #[test]
    fn strided_teams_need_no_table() {
        assert_eq!(stride(&[5]), (5, 1));
        assert_eq!(stride(&[0, 1, 2, 3]), (0, 1));
        assert_eq!(stride(&[6, 4, 2]), (6, -2));
        assert_eq!(stride(&[0, 1, 3]).1, 0);
        assert_eq!(stride(&[2, 5, 8, 12]).1, 0);
    }
}
