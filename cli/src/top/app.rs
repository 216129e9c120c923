//! The state of `nvshmemrs-top`: the jobs, the chosen job as it was last seen, and the view of it.

use anyhow::Result;
use nvshmemrs_inspect::list::{Listing, jobs};
use nvshmemrs_inspect::{InspectError, Job, Snapshot, Stage};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// How long PEs may take to answer, in seconds.
const PATIENCE: f64 = 0.2;
/// How many allocations a key moves the list by.
const PAGE: usize = 10;

/// A view of the chosen job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum View {
    /// Who waits for whom.
    #[default]
    Board,
    /// Who has moved how much to whom.
    Traffic,
    /// How full the heaps are, and the allocations of a PE.
    Heap,
}

impl View {
    /// All, in their order.
    pub const ALL: [View; 3] = [View::Board, View::Traffic, View::Heap];

    /// Its name, which begins with its key.
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
    /// The process that stands for the chosen job.
    pub chosen: Option<u32>,
    /// The chosen job as it was last seen.
    pub seen: Option<Snapshot>,
    /// Why it is not seen any more, or was not at all.
    pub why: Option<String>,
    /// The view of it.
    pub view: View,
    /// The chosen PE: its row is on the screen, and its allocations are shown.
    pub pe: usize,
    /// The first allocation that is shown.
    pub first_allocation: usize,
    /// The chosen job.
    pub(super) job: Option<Job>,
}

impl App {
    /// Begins with the job of a process; an error if it has none that this user may look into.
    pub fn new(pid: Option<u32>) -> Result<App> {
        let mut app = App::default();
        if let Some(pid) = pid {
            app.job = Some(Job::of_process(pid)?);
            app.chosen = Some(pid);
        }
        Ok(app)
    }

    /// Looks at the jobs and the chosen one.
    pub fn refresh(&mut self) {
        self.listing = jobs();
        if self.job.is_none() {
            // A job that could not be looked into keeps its place as long as it is listed.
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

    /// The last values stay on the screen.
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

    /// The place of the chosen job in the list; none if it has ended.
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

    /// A key was pressed.
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

    /// Chooses a PE, or the last one if there are fewer.
    fn choose_pe(&mut self, pe: usize) {
        let n_pes = self.seen.as_ref().map_or(0, |seen| seen.pes.len());
        (self.pe, self.first_allocation) = (pe.min(n_pes.saturating_sub(1)), 0);
    }

    /// Chooses a job of the list, unless it is chosen already.
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
