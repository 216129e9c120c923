//! The tables for kernels of a heap in host memory: functions of `include/nvshmemrs_device.cuh` that run on the CPU.
//!
//! The tables lie in this PE's own part, behind the window. They are committed and written at the program's first request for the state, so
//! a job without kernels has no cost. A PE that may write flags of a team on other PEs commits them.
//!
//! The abort word is the word that all waits of the job read: the number of PEs that are gone.

use super::HostTransport;
use crate::buffer::{LocalSource, SymRange};
use crate::device_state::{
    DeviceJob, DeviceReport, DeviceTables, DeviceTeam, KernelRecords, ReachablePes, State,
    StateAddresses,
};
use crate::job::block::{Control, MAX_TEAMS};
use crate::job::device_area::DeviceArea;
use crate::job::hosts::Hosts;
use crate::lock::lock;
use crate::{Error, Pe, Result};
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Relaxed, Release};

/// The tables of a PE.
pub(super) struct Tables {
    control: Control,
    area: DeviceArea,
    check: bool,
    /// Whether the job is checked.
    watched: AtomicBool,
    reached: ReachablePes,
    known: Mutex<Known>,
}

struct Known {
    /// Whether the rows are committed, and whether all are written.
    backed: bool,
    written: bool,
    /// The teams of this PE, by their numbers.
    teams: Box<[Option<KnownTeam>]>,
}

/// A team of this PE.
struct KnownTeam {
    generation: u32,
    members: Box<[Pe]>,
    me: Pe,
}

impl Tables {
    pub(super) fn new(control: &Control, check: bool) -> Tables {
        Tables {
            control: control.clone(),
            area: Control::device_area(control.n_pes(), control.heap_bytes()),
            check,
            watched: AtomicBool::new(false),
            reached: ReachablePes::default(),
            known: Mutex::new(Known {
                backed: false,
                written: false,
                teams: (0..MAX_TEAMS).map(|_| None).collect(),
            }),
        }
    }
}

impl HostTransport {
    /// Where this PE's part begins.
    fn own(&self) -> u64 {
        self.layout.address(self.me, 0)
    }

    /// Writes to this PE's own part before its first reader.
    fn fill(&self, place: u64, bytes: &[u8]) {
        self.put(self.me, place, LocalSource::from(bytes));
    }

    /// Writes the row of a team. First commits the team's flags, on all members of this host.
    fn write_row(&self, team: u32, known: &KnownTeam) -> Result<()> {
        let (area, reached) = (&self.tables.area, &self.tables.reached);
        let block = area.block(team);
        for &pe in known.members.iter().filter(|&&pe| reached.has(pe)) {
            let place = self.layout.address(pe, block.offset());
            self.segment.commit(place, block.bytes())?;
        }
        let row = DeviceTeam::new(
            area,
            self.own(),
            team,
            known.generation,
            (&known.members, known.me),
            reached,
        );
        if row.is_listed() {
            self.fill(area.members(team), bytemuck::cast_slice(&known.members));
        }
        let [first, rest @ ..] = row.words();
        for (word, place) in rest.into_iter().zip((area.row(team) + 8..).step_by(8)) {
            self.atomic64(self.me, place).store(word, Relaxed);
        }
        self.atomic64(self.me, area.row(team)).store(first, Release);
        Ok(())
    }

    /// Writes the tables, unless they are there.
    fn write_tables(&self) -> Result<()> {
        let (area, reached) = (&self.tables.area, &self.tables.reached);
        let mut known = lock(&self.tables.known);
        if known.written {
            return Ok(());
        }
        let own = self.own();
        let head = area.head();
        self.segment.commit(own + head.offset(), head.bytes())?;
        known.backed = true;
        for (number, team) in (0..).zip(&known.teams) {
            if let Some(team) = team {
                self.write_row(number, team)?;
            }
        }
        if let Some(near) = reached.words() {
            self.fill(area.near(), bytemuck::cast_slice(near));
        }
        let checks = (self.tables.check, reached);
        let job = DeviceJob::new(&self.layout, area, own, own + area.report(), checks);
        self.fill(area.job(), bytemuck::bytes_of(&job));
        self.fill(area.state(), bytemuck::bytes_of(&self.device_state()));
        known.written = true;
        Ok(())
    }

    fn device_state(&self) -> State {
        let tables = &self.tables;
        let to = StateAddresses {
            abort: std::ptr::from_ref(&tables.control.header().gone) as u64,
            error: 0,
            job: self.own() + tables.area.job(),
        };
        let state = State::new(
            &self.layout,
            self.me,
            tables.control.n_pes(),
            to,
            tables.reached.checks(tables.check),
        );
        match tables.watched.load(Relaxed) {
            true => state.watched(),
            false => state,
        }
    }

    fn device_report(&self) -> &DeviceReport {
        let place = self.own() + self.tables.area.report() - self.segment.base();
        self.segment.view(place)
    }

    /// The report, if kernels can know of it.
    fn written_report(&self) -> Option<&DeviceReport> {
        let written = lock(&self.tables.known).written;
        written.then(|| self.device_report())
    }
}

impl DeviceTables for HostTransport {
    fn set_hosts(&self, hosts: &Hosts) -> Result<()> {
        self.tables.reached.set(hosts);
        Ok(())
    }

    fn state(&self) -> Result<State> {
        self.write_tables()?;
        Ok(self.device_state())
    }

    fn watch(&self) -> Result<&KernelRecords> {
        self.tables.watched.store(true, Relaxed);
        self.write_tables()?;
        Ok(self.device_report().records())
    }

    fn state_address(&self) -> Result<u64> {
        self.write_tables()?;
        Ok(self.own() + self.tables.area.state())
    }

    /// Other members may have written there although this PE has no kernels.
    fn clear_team(&self, team: u32) -> Result<()> {
        let block = self.tables.area.block(team);
        let page = rustix::param::page_size() as u64;
        let whole = block.offset().is_multiple_of(page) && block.bytes().is_multiple_of(page);
        let place = self.own() + block.offset();
        if !whole || !self.segment.empty(place, block.bytes()) {
            self.zero(SymRange::new(block.offset(), block.bytes()));
        }
        Ok(())
    }

    fn make_team(&self, team: u32, generation: u32, members: &[Pe], me: Pe) {
        let made = KnownTeam {
            generation,
            members: members.into(),
            me,
        };
        let mut known = lock(&self.tables.known);
        // Without memory for it, the next one to ask for the state gets the error.
        known.written = known.written && self.write_row(team, &made).is_ok();
        known.teams[team as usize] = Some(made);
    }

    fn end_team(&self, team: u32) {
        let mut known = lock(&self.tables.known);
        if known.teams[team as usize].take().is_some() && known.backed {
            let row = self.tables.area.row(team);
            self.atomic64(self.me, row).store(0, Release);
        }
    }

    fn report(&self) -> Option<Error> {
        let report = self.written_report()?;
        report.error(self.me, self.tables.control.n_pes())
    }

    fn exit_status(&self) -> Option<i32> {
        self.written_report()?.exit_status()
    }
}
