//! The cost of calls from Python, measured by `bindings/python/bench/call_overhead.py`.

use crate::args::Args;
use crate::process;
use crate::report::Absolute;
use crate::side::Installation;
use crate::targets::{PYTHON_PUT_US, PYTHON_REDUCE_US, Verdict};
use crate::worker::Sources;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const SCRIPT: &str = include_str!("../../bindings/python/bench/call_overhead.py");

/// The time limit for finding the package.
const LOOK_LIMIT: Duration = Duration::from_secs(60);

/// The lines of the script with targets.
const LINES: [(&str, f64); 2] = [
    ("put 8 B", PYTHON_PUT_US),
    ("reduce 1 element", PYTHON_REDUCE_US),
];

/// The figures; or a note why there are none, if no Python was named and none has the package.
pub(crate) fn measure(
    installation: &Installation,
    sources: &Sources,
    args: &Args,
) -> Result<std::result::Result<Vec<Absolute>, String>> {
    let python = args.python.as_deref().unwrap_or(Path::new("python3"));
    let name = python.display();
    let mut look = Command::new(python);
    let found = process::run(look.args(["-c", "import nvshmemrs.core"]), LOOK_LIMIT);
    match found {
        Ok(found) if found.success() => {}
        _ if args.python.is_none() => {
            let why = "the calls from Python were left out: python3 has no package nvshmemrs; name a Python that has it with --python";
            return Ok(Err(why.into()));
        }
        Ok(found) => bail!(
            "--python {name} cannot import nvshmemrs.core: it {}",
            found.describe()
        ),
        Err(error) => return Err(error.context(format!("--python {name}"))),
    }
    let script = sources.folder().join("call_overhead.py");
    fs::write(&script, SCRIPT).with_context(|| format!("cannot write {}", script.display()))?;
    let finished = process::run(
        installation.launch(2).arg(python).arg(&script),
        args.limit(),
    )?;
    if !finished.success() {
        bail!(
            "call_overhead.py, started with {name}, {}",
            finished.describe()
        );
    }
    let absolute = |(line, target): (&str, f64)| {
        let us = nanoseconds(&finished.stdout, line).with_context(|| {
            format!(
                "call_overhead.py printed no line `{line}`:\n{}",
                finished.stdout
            )
        })? / 1e3;
        Ok(Absolute {
            what: format!("{line} from Python"),
            unit: "us",
            ours: us,
            peer: None,
            verdict: Some(Verdict::new(us, target)),
        })
    };
    Ok(Ok(LINES
        .into_iter()
        .map(absolute)
        .collect::<Result<_>>()?))
}

/// The number in a line such as `put 8 B      850 ns per call, 2 PEs`.
pub(crate) fn nanoseconds(stdout: &str, name: &str) -> Option<f64> {
    let of_line = |line: &str| {
        let (number, _) = line.strip_prefix(name)?.split_once(" ns per call")?;
        number.trim().parse().ok()
    };
    stdout.lines().find_map(of_line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_script_are_read() {
        let text = "put 8 B of a view    900 ns per call, 2 PEs\nput 8 B               850 ns per call, 2 PEs\n";
        assert_eq!(nanoseconds(text, "put 8 B"), Some(850.0));
        assert_eq!(nanoseconds(text, "get 8 B"), None);
    }

    #[test]
    fn the_script_prints_the_lines_that_are_read() {
        for (line, _) in LINES {
            assert!(SCRIPT.contains(&format!("\"{line}\":")), "{line}");
        }
    }
}
