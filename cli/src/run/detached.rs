//! A PE that has left its job while its process runs: it has executed another program, or closed the job's memory.

use nvshmemrs::board::Board;
use std::fs;

/// The name of a job's memory in /proc/PID/maps.
const JOB: &str = "/memfd:nvshmemrs-job";

/// A detached PE.
#[derive(Clone, Debug)]
pub struct Detached {
    /// Its number.
    pub pe: usize,
    /// The name of the program that its process executes now, if it is another program.
    pub program: Option<String>,
    /// The PE's last operation.
    pub place: String,
}

impl Detached {
    /// The first PE that left, if its process still runs.
    pub fn first_of(board: &Board) -> Option<Self> {
        let pe = board.first_gone()?;
        let pes = board.pes();
        let pid = pes.get(usize::try_from(pe).ok()?)?.pid;
        let maps = fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
        // The process is about to end: nothing is mapped any more.
        if maps.is_empty() {
            return None;
        }
        // In a program that joined, the job's memory stays mapped until finalize.
        let program = (!maps.contains(JOB))
            .then(|| fs::read_to_string(format!("/proc/{pid}/comm")).ok())
            .flatten();
        Some(Self {
            pe: pe as usize,
            program: program.map(|name| name.trim_end().to_string()),
            place: board.end_of(pe),
        })
    }

    /// "by executing another program ('sleep')".
    pub fn how(&self) -> String {
        match &self.program {
            Some(program) => format!("by executing another program ('{program}')"),
            None => "without calling finalize, though its process went on".into(),
        }
    }
}
