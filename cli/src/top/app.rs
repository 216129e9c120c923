//! The state of `nvshmemrs-top`: the jobs, the last snapshot of the selected job, and the view.

use anyhow::Result;
use nvshmemrs_inspect::list::{Listing, jobs};
use nvshmemrs_inspect::{InspectError, Job, Snapshot, Stage};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// How long PEs may take to answer, in seconds.
const PATIENCE: f64 = 0.2;
/// The number of allocations by which a key scrolls.
const PAGE: usize = 10;

/// A view of the chosen job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum View {
    /// The wait graph.
    #[default]
    Board,
    /// The traffic between PEs.
    Traffic,
    /// The fill of the heaps, and the allocations of a PE.
    Heap,
}

impl View {
    /// All, in their order.
    pub const ALL: [View; 3] = [View::Board, View::Traffic, View::Heap];

    /// The view's name, which begins with its key.
    pub fn name(self) -> &'static str {
        match self {
            View::Board => "board",
            View::Traffic => "traffic",
            View::Heap => "heap",
        }
    }
}

/// The state of the program.
#[derive(Debug, Default)]
pub struct App {
    /// The jobs of this machine.
    pub listing: Listing,
    /// A process of the selected job.
    pub chosen: Option<u32>,
    /// The last snapshot of the selected job.
    pub seen: Option<Snapshot>,
    /// Why there is no newer snapshot, or none at all.
    pub why: Option<String>,
    /// The current view.
    pub view: View,
    /// The selected PE: its row is on the screen, and its allocations are shown.
    pub pe: usize,
    /// The first allocation on the screen.
    pub first_allocation: usize,
    /// The selected job.
    pub(super) job: Option<Job>,
}

impl App {
    /// Starts with the job of a process; an error if the process has no job that this user may inspect.
    pub fn new(pid: Option<u32>) -> Result<App> {
        let mut app = App::default();
        if let Some(pid) = pid {
            app.job = Some(Job::of_process(pid)?);
            app.chosen = Some(pid);
        }
        Ok(app)
    }

    /// Updates the list of jobs and the snapshot.
    pub fn refresh(&mut self) {
        self.listing = jobs();
        if self.job.is_none() {
            // A job that cannot be inspected keeps its place as long as it is listed.
            let first = self.listing.jobs.first().map(|job| job.pid);
            self.choose(self.position().and(self.chosen).or(first));
        }
        let Some(job) = &self.job else {
            return;
        };
        match job.snapshot(PATIENCE) {
            Ok(seen) if seen.stage == Stage::Over => self.ended(),
            Ok(seen) => {
                self.why = None;
                self.seen = Some(seen);
            }
            Err(InspectError::NoProcess(_) | InspectError::NoJob(_)) if self.seen.is_some() => {
                self.ended();
            }
            Err(error) => self.why = Some(error.to_string()),
        }
    }

    /// Keeps the last values on the screen.
    fn ended(&mut self) {
        self.why = Some("the job has ended; these are its last values".into());
    }

    fn choose(&mut self, pid: Option<u32>) {
        (self.seen, self.why, self.job) = (None, None, None);
        (self.pe, self.first_allocation) = (0, 0);
        self.chosen = pid;
        match pid.map(Job::of_process) {
            Some(Ok(job)) => self.job = Some(job),
            Some(Err(error)) => self.why = Some(error.to_string()),
            None => {}
        }
    }

    /// The position of the selected job in the list; `None` if it has ended.
    pub fn position(&self) -> Option<usize> {
        let chosen = self.chosen?;
        let is =
            |job: &nvshmemrs_inspect::list::Listed| job.pid == chosen || job.pes.contains(&chosen);
        self.listing.jobs.iter().position(is)
    }

    /// Whether a key ends the program.
    pub fn leaves(&self, key: KeyEvent) -> bool {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        matches!(key.code, KeyCode::Char('q') | KeyCode::Esc)
            || control && key.code == KeyCode::Char('c')
    }

    /// Handles a key.
    pub fn press(&mut self, key: KeyCode) {
        let jobs = &self.listing.jobs;
        let step = |by: isize| {
            let last = jobs.len().checked_sub(1)?;
            let place = match self.position() {
                Some(place) => place.saturating_add_signed(by).min(last),
                None => 0,
            };
            Some(jobs[place].pid)
        };
        match key {
            KeyCode::Up => self.choose_other(step(-1)),
            KeyCode::Down => self.choose_other(step(1)),
            KeyCode::Left => self.choose_pe(self.pe.saturating_sub(1)),
            KeyCode::Right => self.choose_pe(self.pe + 1),
            KeyCode::PageUp => {
                self.first_allocation = self.first_allocation.saturating_sub(PAGE);
            }
            KeyCode::PageDown => {
                let pe = self.seen.as_ref().and_then(|seen| seen.pes.get(self.pe));
                let details = pe.and_then(|pe| pe.details.as_ref());
                let allocations = details.map_or(0, |details| details.allocations.len());
                let last = allocations.saturating_sub(1);
                self.first_allocation = (self.first_allocation + PAGE).min(last);
            }
            KeyCode::Tab => {
                let place = View::ALL.iter().position(|view| *view == self.view);
                self.view = View::ALL[place.map_or(0, |place| (place + 1) % View::ALL.len())];
            }
            KeyCode::Char(letter) => {
                let named = View::ALL
                    .into_iter()
                    .find(|view| view.name().starts_with(letter));
                self.view = named.unwrap_or(self.view);
            }
            _ => {}
        }
    }

    /// Selects a PE, or the last one if there are fewer.
    fn choose_pe(&mut self, pe: usize) {
        let n_pes = self.seen.as_ref().map_or(0, |seen| seen.pes.len());
        (self.pe, self.first_allocation) = (pe.min(n_pes.saturating_sub(1)), 0);
    }

    /// Selects another job of the list.
    fn choose_other(&mut self, pid: Option<u32>) {
        let own = self.position().map(|place| self.listing.jobs[place].pid);
        if pid.is_some() && pid != own {
            self.choose(pid);
            self.refresh();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_that_ended_before_it_was_seen_is_not_chosen_any_more() {
        // No process has a number above 2^22.
        let gone = Some(1 << 23);
        let mut app = App {
            chosen: gone,
            why: Some("there is no such process".into()),
            ..App::default()
        };
        app.refresh();
        assert_ne!(app.chosen, gone);
        assert_eq!(app.chosen.is_some(), app.job.is_some() || app.why.is_some());
    }
}
