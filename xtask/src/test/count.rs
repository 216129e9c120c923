//! Counts tests in the output of test programs.

use std::fmt;

/// The numbers of checks that passed, failed, and were not run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    /// Ignored by their attribute or skipped.
    pub(crate) left_out: u64,
    /// Passed tests that failed at first.
    pub(crate) unsteady: u64,
}

impl Count {
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            passed: self.passed + other.passed,
            failed: self.failed + other.failed,
            left_out: self.left_out + other.left_out,
            unsteady: self.unsteady + other.unsteady,
        }
    }

    /// The counts after the failed tests were repeated, and `failed` of them failed again.
    pub(crate) fn with_second_try(self, failed: u64) -> Self {
        let passed = self.failed.saturating_sub(failed);
        Self {
            passed: self.passed + passed,
            failed,
            unsteady: self.unsteady + passed,
            ..self
        }
    }

    /// The counts with `left_out` of the passed tests moved to those left out, because they checked nothing.
    pub(crate) fn without(self, left_out: u64) -> Self {
        Self {
            passed: self.passed.saturating_sub(left_out),
            left_out: self.left_out + left_out,
            ..self
        }
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)?;
        if self.left_out > 0 {
            write!(f, ", {} left out", self.left_out)?;
        }
        if self.unsteady > 0 {
            write!(f, ", {} unsteady", self.unsteady)?;
        }
        Ok(())
    }
}

/// Sums the lines `test result: ok. 3 passed; 0 failed; 1 ignored; ...` of `cargo test`.
pub(crate) fn of_cargo(text: &str) -> Count {
    text.lines()
        .filter_map(|line| line.strip_prefix("test result: "))
        .fold(Count::default(), |sum, line| sum.plus(of_words(line)))
}

/// The counts in pytest's last line, such as `== 1 failed, 12 passed, 2 skipped in 3.21s ==`.
pub(crate) fn of_pytest(text: &str) -> Count {
    text.lines()
        .rfind(|line| line.contains(" in "))
        .map_or(Count::default(), of_words)
}

/// Sums the numbers before known words.
fn of_words(line: &str) -> Count {
    let words: Vec<&str> = line
        .split([' ', ',', ';', '.', '='])
        .filter(|word| !word.is_empty())
        .collect();
    let mut count = Count::default();
    for pair in words.windows(2) {
        let Ok(number) = pair[0].parse::<u64>() else {
            continue;
        };
        match pair[1] {
            "passed" | "xfailed" => count.passed += number,
            "failed" | "error" | "errors" | "xpassed" => count.failed += number,
            "ignored" | "skipped" | "deselected" => count.left_out += number,
            _ => {}
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_results_add_up() {
        let text = "running 2 tests\ntest a ... ok\n\
            test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\
            test result: FAILED. 5 passed; 3 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.20s\n";
        assert_eq!(
            of_cargo(text),
            Count {
                passed: 7,
                failed: 3,
                left_out: 1,
                unsteady: 0
            }
        );
        assert_eq!(of_cargo("error: could not compile"), Count::default());
        let without = of_cargo(text).without(2);
        assert_eq!(without.to_string(), "5 passed, 3 failed, 3 left out");
    }

    #[test]
    fn pytest_summary_is_read() {
        let text =
            "SKIPPED [1] in x: y\n===== 1 failed, 12 passed, 2 skipped, 1 error in 3.21s =====\n";
        assert_eq!(
            of_pytest(text),
            Count {
                passed: 12,
                failed: 2,
                left_out: 2,
                unsteady: 0
            }
        );
        assert_eq!(
            of_pytest("4 passed in 0.01s\n"),
            Count {
                passed: 4,
                failed: 0,
                left_out: 0,
                unsteady: 0
            }
        );
        assert_eq!(of_pytest("no tests ran in 0.01s\n"), Count::default());
        assert_eq!(of_pytest(""), Count::default());
    }
}
