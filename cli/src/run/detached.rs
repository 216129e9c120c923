//! A PE that has left its job while its process runs: it has executed another program, or has closed the job's memory.

use nvshmemrs::board::Board;
use std::fs;

/// How the memory of a job is called in a list of what a process has mapped.
const JOB: &str = "/memfd:nvshmemrs-job";

/// One such PE.
#[derive(Clone, Debug)]
pub struct Detached {
    /// Its number.
    pub pe: usize,
    /// The name of the program that its process executes now, if it is another one.
    pub program: Option<String>,
    /// Where it was in nvshmemrs.
    pub place: String,
}

impl Detached {
    /// The PE that was the first to be gone, if its process still runs.
    pub fn first_of(board: &Board) -> Option<Self> {
        let pe = board.first_gone()?;
        let pes = board.pes();
        let pid = pes.get(usize::try_from(pe).ok()?)?.pid;
        let maps = fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
        // A process that is about to end has nothing mapped any more.
        if maps.is_empty() {
            return None;
        }
        // The job's memory stays mapped in a program that joined, until finalize.
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
