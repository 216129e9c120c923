//! The last lines of a failed job: the PE that failed, how and in which operation it ended, and the operations of the other PEs.

use super::detached::Detached;
use super::job::{End, Job, Pe, named};
use nvshmemrs::board::{Board, Picture, State};

/// The evidence for these lines, collected when the first PE failed.
#[derive(Debug, Default)]
pub struct Evidence {
    /// The PE that the launcher first saw fail.
    pub first: Option<usize>,
    /// The operations of all PEs at that time.
    picture: Option<Picture>,
    /// The last operations of ended PEs.
    places: Vec<(usize, String)>,
    /// A detached PE, which may have caused that failure although its process ran.
    detached: Option<Detached>,
    /// The PE that failed before that one according to the exit registry: a PE that did not join is not on the board.
    pub before: Option<usize>,
    /// The operations of all PEs when the user interrupted the job.
    interrupted: Option<Picture>,
}

impl Evidence {
    /// Records that PE `index` has ended, if that is a failure.
    pub fn ended(
        &mut self,
        index: usize,
        end: End,
        board: Option<&Board>,
        forming: impl FnOnce() -> Option<Picture>,
    ) {
        let state = board.and_then(|board| {
            let pes = board.pes();
            pes.get(index).map(|pe| pe.state)
        });
        let deserted = matches!(state, Some(state) if state != State::Finalized);
        if !end.failed() && !deserted {
            return;
        }
        if let Some(board) = board {
            if self.picture.is_none() {
                self.picture = Some(board.picture());
            }
            self.places.push((index, board.end_of(index as i32)));
        } else if self.picture.is_none() {
            self.picture = forming();
        }
        if end.failed() && self.first.is_none() {
            self.first = Some(index);
            let detached = board.and_then(Detached::first_of);
            self.detached = detached.filter(|detached| detached.pe != index);
            // The detached PE's last operation is recorded now, because its own exit is not examined later.
            let another_program = self
                .detached
                .as_ref()
                .is_some_and(|detached| detached.program.is_some());
            if let Some((board, gone)) = board.and_then(|board| Some((board, board.first_gone()?)))
                && gone as usize != index
                && !another_program
            {
                self.places.push((gone as usize, board.end_of(gone)));
            }
        }
    }

    /// Records that the user interrupted the job.
    pub fn interrupted(&mut self, board: Option<&Board>) {
        if self.interrupted.is_none() {
            self.interrupted = board.map(Board::picture);
        }
    }

    /// The PE that failed first. The board may know better than the order of the exits that the launcher saw: a PE that has left
    /// takes a moment to exit, and a PE that notices may exit earlier.
    fn culprit(&self, board: Option<&Board>) -> Option<usize> {
        let gone = board.and_then(Board::first_gone);
        gone.and_then(|pe| usize::try_from(pe).ok())
            .or(self.before)
            .or(self.first)
    }

    /// The exit status of the job: that of the PE that failed first, unless that PE exited with status 0.
    pub fn exit_status(&self, job: &Job, board: Option<&Board>) -> Option<u8> {
        let culprit = self.culprit(board).filter(|&pe| own_failure(job, pe));
        let pe = culprit.or(self.first)?;
        let end = job.pes().get(pe)?.end.filter(|end| end.failed());
        end.map(End::exit_status)
    }

    /// The lines; none if no PE has failed.
    pub fn lines(&self, job: &Job, board: Option<&Board>, command: &str) -> Vec<String> {
        let Some(first) = self.first else {
            return Vec::new();
        };
        let culprit = self.culprit(board).unwrap_or(first);
        let mut lines = Vec::new();
        if let Some(picture) = &self.interrupted {
            lines.push("interrupted by SIGINT; at that moment:".to_string());
            lines.extend(picture.summary.iter().cloned());
            lines.extend(picture.lines().iter().map(|line| format!("  {line}")));
        }
        let line = |index: usize| self.line(&job.pes()[index], command);
        let mut told = [first, culprit];
        lines.push(line(first));
        if culprit != first
            && let Some(pe) = job.pes().get(culprit)
        {
            let detached = self
                .detached
                .as_ref()
                .filter(|detached| detached.pe == culprit);
            let own = own_failure(job, culprit);
            match detached {
                // The status of the detached PE is the job's, so its line replaces the line of the PE that failed because of it.
                Some(detached) if own && detached.program.is_some() => {
                    lines.pop();
                    let before = format!("before that, it had left the job {}", detached.how());
                    lines.push(format!("{}; {before}, {}", line(culprit), detached.place));
                    told = [culprit; 2];
                }
                // A PE that left the job in order to exit is treated as a PE that exited: the delay between the two has no
                // meaning.
                _ if own => {
                    lines.pop();
                    lines.push(line(culprit));
                    told = [culprit; 2];
                }
                Some(detached) => lines.push(format!(
                    "before that, PE {culprit} (pid {}) left the job {}, {}; {}",
                    pe.pid.as_raw_pid(),
                    detached.how(),
                    detached.place,
                    afterwards(pe, first)
                )),
                None if pe.ended_by_launcher().is_some() => lines.push(format!(
                    "before that, PE {culprit} (pid {}) was gone without calling finalize; {}",
                    pe.pid.as_raw_pid(),
                    afterwards(pe, first)
                )),
                None if pe.end.is_none() => lines.push(line(culprit)),
                None => lines.push(match self.place(culprit) {
                    "" => format!(
                        "before that, PE {culprit} exited with status 0 and had not joined the job"
                    ),
                    place => format!(
                        "before that, PE {culprit} exited with status 0 without calling finalize, {place}"
                    ),
                }),
            }
        }
        if let (Some(picture), None) = (&self.picture, &self.interrupted) {
            let others = picture.lines_of(|pe| !told.contains(&(pe as usize)));
            if !others.is_empty() {
                lines.push("at that moment the others were:".to_string());
                lines.extend(others.iter().map(|line| format!("  {line}")));
            }
        }
        lines
    }

    fn place(&self, index: usize) -> &str {
        let place = self.places.iter().find(|place| place.0 == index);
        place.map_or("", |place| place.1.as_str())
    }

    /// "PE 1 (pid 99, host h, command './a') was killed by signal 11 (SIGSEGV) in barrier on WORLD".
    fn line(&self, pe: &Pe, command: &str) -> String {
        let host = rustix::system::uname();
        let host = host.nodename().to_string_lossy();
        let end = pe
            .end
            .map_or("has not ended".to_string(), |end| end.to_string());
        let place = match self.place(pe.pe as usize) {
            "" => String::new(),
            place => format!(" {place}"),
        };
        let sender = match pe.ended_by_user() {
            true => "; nvshmemrs-run had got that signal and passed it on",
            false => "",
        };
        format!(
            "PE {} (pid {}, host {host}, command '{command}') {end}{place}{sender}",
            pe.pe,
            pe.pid.as_raw_pid(),
        )
    }
}

/// Whether the PE failed by itself, and was not ended by the launcher.
fn own_failure(job: &Job, index: usize) -> bool {
    let pe = job.pes().get(index);
    pe.is_some_and(|pe| pe.end.is_some_and(|end| end.failed()) && pe.ended_by_launcher().is_none())
}

/// The end of a detached PE's process: "nvshmemrs-run ended it with signal 15 (SIGTERM), because PE 0 had failed".
fn afterwards(pe: &Pe, first: usize) -> String {
    let because = format!("because PE {first} had failed");
    match (pe.end, pe.ended_by_launcher()) {
        (Some(End::Killed(signal)), Some(_)) => {
            let signal = named(signal);
            format!("nvshmemrs-run ended it with {signal}, {because}")
        }
        (Some(end), Some(signal)) => {
            let signal = named(signal.as_raw());
            format!("it {end} when nvshmemrs-run had sent it {signal}, {because}")
        }
        (Some(end), None) => format!("later it {end}"),
        (None, _) => "it has not ended".to_string(),
    }
}
