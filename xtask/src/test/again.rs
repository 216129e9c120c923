//! Repeats failed tests. On a busy machine a process may not run for longer than a test waits for it. A test that passes when it
//! is repeated alone is reported as unsteady. A test that fails twice has failed.

use super::count::Count;
use crate::run::{self, Shown};
use crate::show;
use anyhow::{Result, ensure};
use std::process::Command;
use std::sync::{PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

/// With more failures than this, no test is repeated: so many are not due to chance.
const MOST: usize = 4;
/// The time limit for all tests of a kind, on a slow machine.
pub(super) const LIMIT: Duration = Duration::from_secs(1800);

/// Steps that run beside others hold it shared; a repetition holds it alone.
static TURN: RwLock<()> = RwLock::new(());

/// No repetition runs until the result is dropped.
pub(super) fn beside_others() -> RwLockReadGuard<'static, ()> {
    TURN.read().unwrap_or_else(PoisonError::into_inner)
}

/// How the output of a kind of test program is read.
pub(super) struct Kind {
    /// Counts the tests in the output.
    pub(super) count: fn(&str) -> Count,
    /// The names of failed tests; `None` if a failure has no name, such as a crash.
    pub(super) failed: fn(&str) -> Option<Vec<String>>,
}

/// Runs `all`, and repeats failed tests with `alone`, which gets their names as further arguments. Fails by the status of the
/// command, or if it ran no test. The repetition waits until the steps beside this one have ended, and no other starts meanwhile.
pub(super) fn counted(
    kind: &Kind,
    all: impl FnOnce() -> Result<Shown>,
    alone: impl FnOnce() -> Command,
) -> Result<(Count, Result<()>)> {
    let turn = beside_others();
    let first = all()?;
    drop(turn);
    let count = (kind.count)(&first.text);
    let Err(error) = first.outcome else {
        return Ok((count, ran_some(count)));
    };
    let names = (kind.failed)(&first.text).unwrap_or_default();
    if names.is_empty() || names.len() > MOST || names.len() as u64 != count.failed {
        return Ok((count, Err(error)));
    }
    let _turn = TURN.write().unwrap_or_else(PoisonError::into_inner);
    let list = names.join(", ");
    show::line(format_args!("\n-- failed, and run once more alone: {list}"));
    let second = run::tee(alone().args(&names), LIMIT)?;
    let ran = (kind.count)(&second.text);
    let outcome = second.outcome.and_then(|()| {
        ensure!(
            ran.passed >= names.len() as u64,
            "not all of them ran alone"
        );
        Ok(())
    });
    let again = match (&outcome, (kind.failed)(&second.text)) {
        (Ok(()), _) => Vec::new(),
        (Err(_), Some(again)) if !again.is_empty() => again,
        (Err(_), _) => names.clone(),
    };
    for name in names.iter().filter(|name| !again.contains(name)) {
        show::line(format_args!(
            "unsteady: {name} failed, and passed when it ran alone"
        ));
    }
    Ok((count.with_second_try(again.len() as u64), outcome))
}

fn ran_some(count: Count) -> Result<()> {
    ensure!(count.passed > 0, "no test ran");
    Ok(())
}

/// The failed tests in the output of `cargo test`: lines `test NAME ... FAILED`.
pub(super) fn failed_in_cargo(text: &str) -> Option<Vec<String>> {
    let begun = text
        .lines()
        .filter(|line| line.starts_with("running ") && line.contains(" test"))
        .count();
    let ended = text
        .lines()
        .filter(|line| line.starts_with("test result: "))
        .count();
    let names = once(text.lines().filter_map(|line| {
        let name = line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?;
        Some(name.strip_suffix(" - should panic").unwrap_or(name))
    }));
    (begun == ended).then_some(names)
}

/// The failed tests in the output of pytest's `-ra`: lines `FAILED NAME - why`.
pub(super) fn failed_in_pytest(text: &str) -> Option<Vec<String>> {
    let errors = text.lines().any(|line| line.starts_with("ERROR "));
    let names = once(text.lines().filter_map(|line| {
        let rest = line.strip_prefix("FAILED ")?;
        Some(rest.split_once(" - ").map_or(rest, |(name, _)| name))
    }));
    (!errors).then_some(names)
}

fn once<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut names: Vec<String> = names.map(str::to_owned).collect();
    names.sort();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_failed_tests_are_read() {
        let text = "running 2 tests\ntest a::b ... FAILED\ntest c ... ok\ntest x.rs - y (line 3) ... FAILED\n\
            failures:\n    a::b\ntest result: FAILED. 1 passed; 2 failed; 0 ignored\n";
        assert_eq!(
            failed_in_cargo(text),
            Some(vec!["a::b".to_owned(), "x.rs - y (line 3)".to_owned()])
        );
        assert_eq!(
            failed_in_cargo("running 1 test\ntest a ... FAILED\n"),
            None,
            "the program ended without a result"
        );
        let text = "FAILED t/test_a.py::test_b[1 - 2] - assert 1 == 2\n1 failed, 2 passed in 3s\n";
        assert_eq!(failed_in_pytest(text).map(|names| names.len()), Some(1));
        assert_eq!(failed_in_pytest("ERROR t/test_a.py::test_b - no\n"), None);
    }

    /// The output is not in the format of `cargo test`, because it would be counted among this test's own.
    #[test]
    fn only_a_test_that_passes_alone_is_unsteady() {
        let kind = Kind {
            count: super::super::count::of_pytest,
            failed: |text| {
                let lost = text.lines().filter_map(|line| line.strip_prefix("lost "));
                (!text.contains("crash")).then(|| once(lost))
            },
        };
        let shell = |text: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", text, "sh"]);
            command
        };
        let first = |text: &str| run::tee(&mut shell(text), LIMIT);
        let all = "echo 'lost a'; echo '1 failed, 1 passed in 1s'; exit 1";
        let passes = "test $1 = a && echo '1 passed in 1s'";
        let runs_none = "echo 'no tests ran in 1s'";
        let crashes = "echo 'lost a'; echo crash; exit 1";
        let (count, outcome) = counted(&kind, || first(all), || shell(passes)).expect("runs");
        assert!(outcome.is_ok());
        assert_eq!(count.to_string(), "2 passed, 0 failed, 1 unsteady");
        for second in [all, runs_none, crashes] {
            let (count, outcome) = counted(&kind, || first(all), || shell(second)).expect("runs");
            assert!(outcome.is_err(), "{second}");
            assert_eq!(count.to_string(), "1 passed, 1 failed");
        }
        let (_, outcome) = counted(&kind, || first(crashes), || shell(passes)).expect("runs");
        assert!(outcome.is_err());
    }
}
