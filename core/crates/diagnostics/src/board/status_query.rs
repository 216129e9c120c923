//! Queries the status of the PEs of a job.

use super::{Board, State};
use crate::Pe;
use crate::clock::now_ns;
use crate::job::process::{Process, pid_of};
use crate::job::published::undescribed;
use crate::job::status_file::{StatusReader, ask, job_number};
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::time::Duration;

/// The interval between two checks for answers.
const PAUSE: Duration = Duration::from_micros(50);
/// The number of checks before the files of a process are searched again for its status file.
const LOOKS: u32 = 10;
/// The same if the file is known, which the program can have closed. Searching the files of a process takes as long as a hundred checks
/// of one file.
const LOOKS_LOST: u32 = 200;

/// How long the PEs of other hosts may take to answer a query from outside of the job.
const ELSEWHERE: Duration = Duration::from_millis(600);

/// How long a PE of this host may take to look up the lines of its waits: it reads its debug information once.
const LINES: Duration = Duration::from_secs(1);

/// The answer of a PE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusAnswer {
    /// JSON, as the library of that PE writes it.
    pub text: Vec<u8>,
    /// How long ago.
    pub age: Duration,
    /// Whether it answers the latest request.
    pub fresh: bool,
}

/// Repeated queries of the PEs of one job.
#[derive(Debug, Default)]
pub struct StatusQueries {
    files: Vec<Option<StatusReader>>,
}

/// PEs that have been asked.
#[derive(Debug)]
pub struct StatusQuery {
    /// When, on the monotonic clock in ns.
    start: u64,
    pending: Vec<Pending>,
}

/// A PE that has not answered yet.
#[derive(Debug)]
struct Pending {
    pe: Pe,
    heard: bool,
    looks: u32,
}

impl Board {
    /// Requests the status of all PEs in the job. [`told`](Board::told) returns their answers; the caller may do other work before it.
    ///
    /// The request goes to a PE's watchdog, independent of its other threads. A PE that is stopped, or that is a thread of a job of
    /// threads, does not answer. Remote PEs get no such request; but the first PE of this host queries their waits, which are on the
    /// board when it has answered.
    pub fn ask(&self) -> StatusQuery {
        let start = now_ns();
        let there = (0..self.n_pes()).filter(|&pe| self.is_there(pe) && !self.is_elsewhere(pe));
        let asked = there.map(|pe| Pending {
            pe,
            heard: ask(&self.control, pe),
            looks: 0,
        });
        let pending = asked.collect();
        StatusQuery { start, pending }
    }

    /// A number that identifies the job on this host.
    #[doc(hidden)]
    pub fn number(&self) -> u64 {
        self.number
            .unwrap_or_else(|| job_number(self.control.segment()))
    }

    /// The answers of all PEs, by PE: settings, heap, allocations, teams, streams, findings and traffic. Waits for the answers until
    /// `patience` has passed since the request; for a PE that has not answered then, returns its previous answer.
    pub fn told(
        &self,
        asked: StatusQuery,
        questions: &mut StatusQueries,
        patience: Duration,
    ) -> Vec<Option<StatusAnswer>> {
        let StatusQuery { start, mut pending } = asked;
        let job = self.number();
        questions.files.resize_with(self.n_pes() as usize, || None);
        let over = || Duration::from_nanos(now_ns().saturating_sub(start)) >= patience;
        loop {
            pending.retain_mut(|one| {
                let file = &mut questions.files[one.pe as usize];
                let known = file.as_ref().and_then(StatusReader::when);
                if known.is_some_and(|when| when >= start) {
                    return false;
                }
                // The PE has no file before it is asked first, and may have lost it since.
                if one.heard {
                    let again = match file {
                        None => one.looks.is_multiple_of(LOOKS),
                        Some(_) => one.looks > 0 && one.looks.is_multiple_of(LOOKS_LOST),
                    };
                    if again {
                        *file = StatusReader::find(pid_of(&self.control, one.pe), job, one.pe)
                            .or(file.take());
                    }
                    one.looks += 1;
                }
                self.is_there(one.pe)
            });
            if pending.is_empty() || over() {
                break;
            }
            std::thread::sleep(PAUSE);
            for one in pending.iter_mut().filter(|one| !one.heard) {
                one.heard = ask(&self.control, one.pe);
            }
        }
        let told = questions.files.iter().map(|file| {
            let (when, text) = file.as_ref()?.read()?;
            Some(StatusAnswer {
                text,
                age: Duration::from_nanos(now_ns().saturating_sub(when)),
                fresh: when >= start,
            })
        });
        told.collect()
    }

    /// Queries the waits of the other hosts' PEs; returns when they have answered, or after a short time. It has no effect in a job on
    /// one host.
    pub fn query_other_hosts(&self) {
        if let Some(remote) = self.control.remote() {
            remote.refresh_reports(&self.control);
        } else if (0..self.n_pes()).any(|pe| self.is_elsewhere(pe)) {
            // The first PE of this host queries them.
            self.told(self.ask(), &mut StatusQueries::default(), ELSEWHERE);
        }
    }

    /// Whether a PE of this host has a wait whose line it can tell when it is asked.
    pub fn lacks_lines(&self) -> bool {
        !self.without_lines().is_empty()
    }

    fn without_lines(&self) -> Vec<Pe> {
        let lacks = |pe: &Pe| {
            let mut slots = self.control.pe(*pe).waits.iter();
            !self.is_elsewhere(*pe) && slots.any(|slot| undescribed(slot).is_some())
        };
        (0..self.n_pes()).filter(lacks).collect()
    }

    /// Asks those PEs for the lines of their waits, and waits a short time for the answers. A stopped PE cannot answer.
    pub(super) fn query_lines(&self) {
        let mut lacking = self.without_lines();
        lacking.retain(|&pe| Process::stop_of(pid_of(&self.control, pe)).is_none());
        if !lacking.is_empty() {
            let mut asked = self.ask();
            asked.pending.retain(|one| lacking.contains(&one.pe));
            self.told(asked, &mut StatusQueries::default(), LINES);
        }
    }

    /// By PE: when the query was sent that its waits answer, if it is on another host.
    pub(super) fn reported(&self) -> Vec<u64> {
        let pes = 0..self.n_pes();
        pes.map(|pe| self.control.pe(pe).reported.load(Acquire))
            .collect()
    }

    /// Whether a PE is known to be on another host than this board.
    pub fn is_elsewhere(&self, pe: Pe) -> bool {
        let here = self.control.header().host.iter();
        let there = self.control.pe(pe).host.iter();
        let differs = here
            .zip(there)
            .any(|(here, there)| here.load(Relaxed) != there.load(Relaxed));
        differs && self.is_there(pe)
    }

    /// Whether a PE has joined and has not ended.
    fn is_there(&self, pe: Pe) -> bool {
        let state = State::from_number(self.control.pe(pe).state.load(Acquire));
        matches!(state, State::Active | State::Finalizing)
    }
}
