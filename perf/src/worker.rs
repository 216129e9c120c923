//! The worker: a C program that measures. Its source is embedded in this program and compiled for each side.

use crate::args::{self, Args};
use crate::catalogue::Operation;
use crate::process::{self, Finished};
use crate::side::Side;
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

/// The time limit of a compiler.
const COMPILE_LIMIT: Duration = Duration::from_secs(120);

/// The files of the worker, and the library's header.
pub(crate) const SOURCES: &[(&str, &str)] = &[
    ("atomics.h", include_str!("../worker/atomics.h")),
    ("bench.h", include_str!("../gpu/bench.h")),
    ("collectives.h", include_str!("../worker/collectives.h")),
    ("common.h", include_str!("../worker/common.h")),
    ("measure.h", include_str!("../worker/measure.h")),
    ("nvshmemrs.h", include_str!("../../include/nvshmemrs.h")),
    ("pair.h", include_str!("../worker/pair.h")),
    ("reductions.h", include_str!("../worker/reductions.h")),
    ("side_mpi.h", include_str!("../worker/side_mpi.h")),
    ("side_oshmem.h", include_str!("../worker/side_oshmem.h")),
    ("side_ours.h", include_str!("../worker/side_ours.h")),
    ("startup.h", include_str!("../worker/startup.h")),
    ("tune.c", include_str!("../gpu/tune.c")),
    ("worker.c", include_str!("../worker/worker.c")),
];

/// A temporary folder with the worker's files.
pub(crate) struct Sources(TempDir);

impl Sources {
    /// Writes the files.
    pub(crate) fn write() -> Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("nvshmemrs-perf-")
            .tempdir()
            .context("cannot make a temporary folder")?;
        for (name, text) in SOURCES {
            let file = folder.path().join(name);
            fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
        }
        Ok(Self(folder))
    }

    /// The folder.
    pub(crate) fn folder(&self) -> &Path {
        self.0.path()
    }

    /// Runs a compiler; `what` names its output in messages.
    pub(crate) fn compile(&self, command: &mut Command, what: &str) -> Result<()> {
        let compiled = process::run(command.current_dir(self.folder()), COMPILE_LIMIT)?;
        if !compiled.success() {
            bail!(
                "{} cannot compile {what}: it {}",
                command.get_program().to_string_lossy(),
                compiled.describe()
            );
        }
        Ok(())
    }
}

/// The worker, compiled for one side.
pub(crate) struct Worker {
    /// The side.
    pub(crate) side: Side,
    program: PathBuf,
}

/// One operation at one size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Case {
    /// The operation.
    pub(crate) operation: &'static Operation,
    /// Bytes of one call.
    pub(crate) bytes: u64,
}

/// The result of a case in a run of the worker.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Answer {
    /// The time in microseconds, and the number of calls.
    Time { us: f64, iterations: u64 },
    /// This side has no such operation.
    Missing,
    /// The operation returned a wrong result.
    Wrong,
}

/// A run of the worker.
pub(crate) struct Run {
    /// The answers to the first cases; to all, unless the program failed.
    pub(crate) answers: Vec<Answer>,
    /// The error. A program may fail after it has answered all cases.
    pub(crate) failure: Option<String>,
}

#[derive(Deserialize)]
struct Line {
    #[serde(default)]
    operation: String,
    #[serde(default)]
    bytes: u64,
    #[serde(default)]
    iterations: u64,
    us: Option<f64>,
    #[serde(default)]
    missing: bool,
    #[serde(default)]
    wrong: bool,
    #[serde(default)]
    done: bool,
}

impl Worker {
    /// Compiles the worker for a side.
    pub(crate) fn compile(sources: &Sources, side: Side) -> Result<Self> {
        let program = sources
            .folder()
            .join(format!("worker-{}", side.name().to_lowercase()));
        let mut command = side.compiler();
        command
            .args(["-include", side.header(), "worker.c", "-o"])
            .arg(&program)
            .args(side.libraries());
        sources.compile(&mut command, &format!("the worker for {}", side.name()))?;
        Ok(Self { side, program })
    }

    /// Measures `cases` with `n_pes` PEs.
    pub(crate) fn measure(&self, cases: &[Case], n_pes: u32, args: &Args) -> Result<Run> {
        let (heap, buffer) = memory(cases, n_pes);
        let mut command = self.side.launch(n_pes);
        command
            .arg(&self.program)
            .args([heap, buffer, args.budget_us()].map(|number| number.to_string()))
            .args([args::name(args.dtype), args::name(args.op)]);
        for case in cases {
            command.arg(format!("{}:{}", case.operation.name, case.bytes));
        }
        let finished = process::run(&mut command, args.limit())?;
        let (answers, done) = answers(&finished.stdout, cases)?;
        let failure = (!finished.success() || !done).then(|| finished.describe());
        if done && answers.len() < cases.len() {
            bail!("{} left out cases: {}", self.side.name(), finished.stdout);
        }
        Ok(Run { answers, failure })
    }

    /// Starts and ends a job without measuring.
    pub(crate) fn startup(&self, n_pes: u32, limit: Duration) -> Result<Finished> {
        let mut command: Command = self.side.launch(n_pes);
        process::run(command.arg(&self.program).arg("startup"), limit)
    }
}

/// The heap size and the buffer size that the cases need.
fn memory(cases: &[Case], n_pes: u32) -> (u64, u64) {
    let needed = cases
        .iter()
        .map(|case| case.operation.buffer_bytes(case.bytes, n_pes));
    // The check of a barrier uses a word for each PE.
    let buffer = needed
        .max()
        .unwrap_or(0)
        .max(4096)
        .max(8 * u64::from(n_pes));
    // Two buffers, and OSHMEM's work arrays; its allocator rounds up to powers of two.
    (4 * buffer.next_power_of_two() + (4 << 20), buffer)
}

/// Parses the answers to the cases, and whether the last line is present. Other lines are output of a library.
fn answers(stdout: &str, cases: &[Case]) -> Result<(Vec<Answer>, bool)> {
    let mut answers = Vec::new();
    for text in stdout.lines().filter(|line| line.starts_with('{')) {
        // A killed program may leave an incomplete line.
        let Ok(line) = serde_json::from_str::<Line>(text) else {
            return Ok((answers, false));
        };
        if line.done {
            return Ok((answers, true));
        }
        let expected = cases.get(answers.len());
        if expected
            .is_none_or(|case| (case.operation.name, case.bytes) != (&line.operation, line.bytes))
        {
            bail!("the worker has sent an answer without a request: {text}");
        }
        answers.push(match line.us {
            Some(us) => Answer::Time {
                us,
                iterations: line.iterations,
            },
            None if line.missing => Answer::Missing,
            None if line.wrong => Answer::Wrong,
            None => bail!("the worker gave no time: {text}"),
        });
    }
    Ok((answers, false))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::find;

    fn cases() -> Result<Vec<Case>> {
        let case = |name: &str, bytes| -> Result<Case> {
            Ok(Case {
                operation: find(name)?,
                bytes,
            })
        };
        Ok(vec![
            case("put", 8)?,
            case("put_signal", 8)?,
            case("fetch_or", 8)?,
        ])
    }

    const PUT: &str = r#"{"operation": "put", "bytes": 8, "iterations": 100, "us": 0.25}"#;

    #[test]
    fn lines_are_answers() -> Result<()> {
        let text = format!(
            "noise\n{PUT}\n{}\n{}\n{}\n",
            r#"{"operation": "put_signal", "bytes": 8, "missing": true}"#,
            r#"{"operation": "fetch_or", "bytes": 8, "wrong": true}"#,
            r#"{"done": true}"#
        );
        let time = Answer::Time {
            us: 0.25,
            iterations: 100,
        };
        let (answers, done) = answers(&text, &cases()?)?;
        assert_eq!(answers, [time, Answer::Missing, Answer::Wrong]);
        assert!(done);
        Ok(())
    }

    #[test]
    fn a_program_that_breaks_off_is_noticed() -> Result<()> {
        let (answers, done) = answers(&format!("{PUT}\n{{\"operation\": \"pu"), &cases()?)?;
        assert_eq!((answers.len(), done), (1, false));
        Ok(())
    }

    #[test]
    fn an_answer_to_another_question_is_an_error() -> Result<()> {
        assert!(answers(&PUT.replace("put", "get"), &cases()?).is_err());
        Ok(())
    }

    #[test]
    fn heaps_hold_the_largest_case() -> Result<()> {
        assert_eq!(memory(&cases()?, 2).1, 4096);
        let alltoall = Case {
            operation: find("alltoall")?,
            bytes: 1 << 20,
        };
        let (heap, buffer) = memory(&[alltoall], 8);
        assert_eq!((heap, buffer), (36 << 20, 8 << 20));
        Ok(())
    }
}
