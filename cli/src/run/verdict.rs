//! The last lines of a job that has failed: which PE, how and in what operation it ended, and what the others were doing.

use super::job::{End, Job, Pe};
use nvshmemrs::board::{Board, Picture, State};

/// What is kept for the last lines, from the moment when the first PE went wrong.
#[derive(Debug, Default)]
pub struct Evidence {
    /// The PE that failed first, as the launcher learned of it.
    pub first: Option<usize>,
    /// What all PEs were doing then.
    picture: Option<Picture>,
    /// Where that PE was.
    places: Vec<(usize, String)>,
    /// The PE that went wrong before that one, as the PEs know where the board does not: one that did not join.
    pub before: Option<usize>,
    /// What all were doing when the user interrupted the job.
    interrupted: Option<Picture>,
}

impl Evidence {
    /// Takes note that PE `index` has ended, if it should not have.
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
        if end.failed() {
            self.first.get_or_insert(index);
        }
    }

    /// Takes note that the user wants the job to end.
    pub fn interrupted(&mut self, board: Option<&Board>) {
        if self.interrupted.is_none() {
            self.interrupted = board.map(Board::picture);
        }
    }

    /// The PE that went wrong first. The job may know better than the order in which the launcher learned of ends: a PE that has
    /// left takes a moment to end, and those that noticed may be faster.
    fn culprit(&self, board: Option<&Board>) -> Option<usize> {
        let gone = board.and_then(Board::first_gone);
        gone.and_then(|pe| usize::try_from(pe).ok())
            .or(self.before)
            .or(self.first)
    }

    /// The exit status of the job: that of the PE that went wrong first, unless it ended as if nothing were wrong.
    pub fn exit_status(&self, job: &Job, board: Option<&Board>) -> Option<u8> {
        let failed = |index: usize| job.pes().get(index)?.end.filter(|end| end.failed());
        let culprit = self.culprit(board).and_then(failed);
        culprit
            .or_else(|| self.first.and_then(failed))
            .map(End::exit_status)
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
        let deserted = |index: usize| job.pes()[index].end.is_some_and(|end| !end.failed());
        lines.push(line(first));
        if culprit != first && culprit < job.pes().len() {
            // It comes first, and the one that failed because of it after it.
            let text = line(culprit);
            match deserted(culprit) {
                true => lines.push(match self.place(culprit) {
                    "" => format!("before that, PE {culprit} exited with status 0 and had not joined the job"),
                    place => format!(
                        "before that, PE {culprit} exited with status 0 without calling finalize, {place}"
                    ),
                }),
                false => {
                    lines.pop();
                    lines.push(text);
                }
            }
        }
        if let (Some(picture), None) = (&self.picture, &self.interrupted) {
            let told = [first, culprit];
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
        format!(
            "PE {} (pid {}, host {host}, command '{command}') {end}{place}",
            pe.pe,
            pe.pid.as_raw_pid(),
        )
    }
}
