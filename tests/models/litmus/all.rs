//! Litmus tests: small programs whose outcomes the memory model allows or forbids (docs/memory-model.md shows the table).
//!
//! The PEs run a test's body over many sets of words without meeting in between, so that the bodies of different PEs overlap in
//! all ways the machine has; then the outcomes are counted. A forbidden one is a failure.

#[path = "patterns.rs"]
mod patterns;

use nvshmemrs::{Error, Pe, Result, Runtime, SymArray, SymElement};
use std::collections::BTreeMap;
use std::fmt::Write;

pub(crate) use patterns::TESTS;

/// The memory model's verdict on an outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// May happen.
    Allowed,
    /// May happen by the model; processors of today whose stores have one order (x86-64) do not show it.
    Weak,
    /// Must not happen.
    Forbidden,
}

/// The result of one run of a body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// The values that each PE read.
    pub(crate) read: [[u64; 2]; 4],
    /// The words in the end.
    pub(crate) x: u64,
    /// As `x`.
    pub(crate) y: u64,
}

/// An outcome.
pub(crate) struct Outcome {
    /// In the table's words.
    pub(crate) name: &'static str,
    /// The model's verdict.
    pub(crate) rule: Rule,
    /// Whether a result is this outcome; the first outcome that matches counts.
    pub(crate) is: fn(&Seen) -> bool,
    /// A result that matches.
    pub(crate) example: Seen,
}

/// A test.
pub(crate) struct Litmus {
    /// Its name.
    pub(crate) name: &'static str,
    /// The PEs' operations, in the table's words.
    pub(crate) program: &'static str,
    /// The number of PEs that take part; the others are idle.
    pub(crate) n_pes: Pe,
    /// Whether the test has a collective, in which the idle PEs must take part, too.
    pub(crate) meets: bool,
    /// A PE's operations on one set of words; returns the values that the PE reads.
    pub(crate) body: fn(&Bench<'_>, Pe, usize) -> Result<[u64; 2]>,
    /// The known outcomes. Any other outcome is forbidden, too.
    pub(crate) outcomes: &'static [Outcome],
}

/// Sets of words between two meetings.
const SETS: usize = 64;
/// From one set's words to the next one's: whole cache lines.
const STEP: usize = 16;
/// Words of data in a set.
pub(crate) const DATA: usize = 64;

/// The words that bodies use.
pub(crate) struct Bench<'a> {
    /// The runtime.
    pub(crate) rt: &'a Runtime,
    x: SymArray<u64>,
    y: SymArray<u64>,
    /// Several words per set.
    pub(crate) data: SymArray<u64>,
    read: SymArray<u64>,
}

impl<'a> Bench<'a> {
    /// Collective over WORLD.
    pub(crate) fn new(rt: &'a Runtime) -> Result<Bench<'a>> {
        Ok(Bench {
            rt,
            x: rt.array(SETS * STEP)?,
            y: rt.array(SETS * STEP)?,
            data: rt.array(SETS * DATA)?,
            read: rt.array(SETS * 2)?,
        })
    }

    /// Word x of a set.
    pub(crate) fn x(&self, set: usize) -> Result<SymElement<u64>> {
        self.x.at(set * STEP)
    }

    /// Word y of a set.
    pub(crate) fn y(&self, set: usize) -> Result<SymElement<u64>> {
        self.y.at(set * STEP)
    }

    /// Runs `test` on `rounds` times 64 sets and counts its outcomes; PE 0 gets them. An error names a forbidden one.
    ///
    /// Collective over WORLD. All words of a set that PEs share lie on PE 1, or on PE 0 if it is alone.
    pub(crate) fn run(&self, test: &Litmus, rounds: usize) -> Result<BTreeMap<&'static str, u64>> {
        let (rt, me) = (self.rt, self.rt.my_pe());
        let mut counts = BTreeMap::new();
        for _ in 0..rounds {
            for array in [&self.x, &self.y, &self.data, &self.read] {
                array.write(0, &vec![0; array.len()])?;
            }
            rt.barrier_all()?;
            if me < test.n_pes || test.meets {
                for set in 0..SETS {
                    let read = (test.body)(self, me, set)?;
                    self.read.write(set * 2, &read)?;
                }
            }
            rt.barrier_all()?;
            if me == 0 {
                for set in 0..SETS {
                    let name = judge(test, &self.seen(test, set)?)?;
                    *counts.entry(name).or_insert(0) += 1;
                }
            }
            rt.barrier_all()?;
        }
        Ok(counts)
    }

    fn seen(&self, test: &Litmus, set: usize) -> Result<Seen> {
        let home = HOME.min(self.rt.n_pes() - 1);
        let mut seen = Seen {
            x: self.rt.g(self.x(set)?, home)?,
            y: self.rt.g(self.y(set)?, home)?,
            ..Seen::default()
        };
        for (pe, read) in (0..test.n_pes).zip(&mut seen.read) {
            self.rt
                .get(read, self.read.slice(set * 2..set * 2 + 2)?, pe)?;
        }
        Ok(seen)
    }
}

/// The PE whose copies of the words the bodies use.
pub(crate) const HOME: Pe = 1;

/// The name of the outcome; an error that names the test if the model forbids the outcome.
pub(crate) fn judge(test: &Litmus, seen: &Seen) -> Result<&'static str> {
    let found = test.outcomes.iter().find(|outcome| (outcome.is)(seen));
    match found {
        Some(outcome) if outcome.rule != Rule::Forbidden => Ok(outcome.name),
        _ => Err(Error::Internal(format!(
            "litmus test `{}`: forbidden outcome {}: {seen:?}",
            test.name,
            found.map_or("that is none of its outcomes", |outcome| outcome.name)
        ))),
    }
}

/// An error unless each test recognises its examples: a checker that takes everything for allowed would find nothing.
pub(crate) fn check_the_checker() -> Result<()> {
    for test in TESTS {
        for outcome in test.outcomes {
            let verdict = judge(test, &outcome.example);
            let right = match outcome.rule {
                Rule::Forbidden => verdict
                    .as_ref()
                    .is_err_and(|error| error.to_string().contains(outcome.name)),
                _ => verdict == Ok(outcome.name),
            };
            if !right {
                return Err(Error::Internal(format!(
                    "litmus test `{}` takes its example of {} for {verdict:?}",
                    test.name, outcome.name
                )));
            }
        }
    }
    Ok(())
}

/// The table of docs/memory-model.md.
pub(crate) fn table() -> String {
    let mut text = String::from("| test | program | allowed | forbidden |\n|---|---|---|---|\n");
    for test in TESTS {
        let list = |rules: &[Rule]| {
            let outcomes = test
                .outcomes
                .iter()
                .filter(|outcome| rules.contains(&outcome.rule));
            let words = outcomes.map(|outcome| match outcome.rule {
                Rule::Weak => format!("{} (weak)", outcome.name),
                _ => outcome.name.to_string(),
            });
            words.collect::<Vec<_>>().join("; ")
        };
        let (allowed, forbidden) = (list(&[Rule::Allowed, Rule::Weak]), list(&[Rule::Forbidden]));
        let _ = writeln!(
            text,
            "| {} | {} | {allowed} | {forbidden} |",
            test.name, test.program
        );
    }
    text
}

/// Runs every test that these PEs can run, and returns the counts, in words, on PE 0.
///
/// Collective over WORLD.
pub(crate) fn run_all(rt: &Runtime, rounds: usize) -> Result<String> {
    let bench = Bench::new(rt)?;
    // ThreadSanitizer knows no fences, and reports accesses that a fence orders as a race.
    let fences = std::env::var_os("LITMUS_WITHOUT_FENCES").is_none();
    let fenced = |test: &Litmus| test.program.contains("fence;") || test.program.contains("quiet;");
    let mut text = String::new();
    let runs = |test: &&Litmus| test.n_pes <= rt.n_pes() && (fences || !fenced(test));
    for test in TESTS.iter().filter(runs) {
        let counts = bench.run(test, rounds)?;
        let words: Vec<String> = counts
            .iter()
            .map(|(name, count)| format!("{name}: {count}"))
            .collect();
        let _ = writeln!(text, "{:<28} {}", test.name, words.join(", "));
    }
    Ok(text)
}
