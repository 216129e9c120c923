//! Tables for the program's kernels, in this PE's GPU memory behind the sync area of the library's kernels.
//!
//! The host writes them by copies on the blocking stream, which run beside the program's kernels even if those occupy
//! the whole GPU. Kernels report invalid arguments in the mailbox.

use super::CudaTransport;
use super::kernels::State;
use crate::buffer::{LocalSource, SymRange};
use crate::job::hosts::Hosts;
use crate::operation::Operation;
use crate::transport::Submission;
use crate::transport::device_state::{DeviceJob, DeviceTables, DeviceTeam, KernelRecords};
use crate::{Error, Pe, Result};
use std::sync::atomic::Ordering::Relaxed;

impl CudaTransport {
    /// Writes the entries that do not change during the job.
    pub(super) fn put_device_job(&self) -> Result<()> {
        let (area, own) = (self.device_area(), self.layout.address(self.me, 0));
        let report = self.mailbox.device_report_address();
        let checks = (self.device_check, &self.reached);
        let job = DeviceJob::new(&self.layout, &area, own, report, checks);
        self.put_own(area.job(), bytemuck::bytes_of(&job))?;
        self.put_own(area.state(), bytemuck::bytes_of(&self.program_state()))
    }

    /// The state for the program's kernels.
    fn program_state(&self) -> State {
        let state = self.state();
        match self.device_watched.load(Relaxed) {
            true => state.watched(),
            false => state,
        }
    }

    /// The first error that a kernel reported.
    pub(super) fn device_report(&self) -> Option<Error> {
        let report = &self.mailbox.contents().device_report;
        report.error(self.me, self.control.n_pes())
    }

    fn put_own(&self, place: u64, bytes: &[u8]) -> Result<()> {
        self.put_on(
            Submission::Blocking,
            self.me,
            place,
            LocalSource::from(bytes),
        )
    }

    fn put_row(&self, team: u32, generation: u32, members: &[Pe], me: Pe) -> Result<()> {
        let (area, own) = (self.device_area(), self.layout.address(self.me, 0));
        let row = DeviceTeam::new(&area, own, team, generation, (members, me), &self.reached);
        if row.is_listed() {
            self.put_own(area.members(team), bytemuck::cast_slice(members))?;
        }
        let [first, rest @ ..] = row.words();
        self.put_own(area.row(team) + 8, bytemuck::cast_slice(&rest))?;
        self.put_own(area.row(team), bytemuck::bytes_of(&first))
    }
}

impl DeviceTables for CudaTransport {
    fn set_hosts(&self, hosts: &Hosts) -> Result<()> {
        self.reached.set(hosts);
        let near = self.reached.words().unwrap_or_default();
        self.put_own(self.device_area().near(), bytemuck::cast_slice(near))?;
        self.put_device_job()
    }

    fn state(&self) -> Result<State> {
        Ok(self.program_state())
    }

    fn watch(&self) -> Result<&KernelRecords> {
        if !self.device_watched.swap(true, Relaxed) {
            self.put_device_job()
                .inspect_err(|_| self.device_watched.store(false, Relaxed))?;
        }
        Ok(self.mailbox.contents().device_report.records())
    }

    fn state_address(&self) -> Result<u64> {
        Ok(self.layout.address(self.me, self.device_area().state()))
    }

    fn clear_team(&self, team: u32) -> Result<()> {
        let block = self.device_area().block(team);
        let used = SymRange::new(block.offset(), block.bytes());
        self.set_zero(used, Operation::TeamInit)
    }

    fn make_team(&self, team: u32, generation: u32, members: &[Pe], me: Pe) {
        self.note(self.put_row(team, generation, members, me));
    }

    fn end_team(&self, team: u32) {
        let row = self.layout.address(self.me, self.device_area().row(team));
        let zero = self.mailbox.zero_address();
        let cleared = self.begin_copy(Submission::Blocking, row, zero, size_of::<u64>());
        self.note(cleared.map(|()| self.issue()));
    }

    fn report(&self) -> Option<Error> {
        self.device_report()
    }

    fn exit_status(&self) -> Option<i32> {
        self.mailbox.contents().device_report.exit_status()
    }
}
