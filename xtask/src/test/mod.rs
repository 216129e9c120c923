//! Runs every check of the project; a failing check does not stop the others. Independent rows of steps run side by side, because
//! each row has times when one process works or all wait.

mod again;
mod count;
mod examples;
mod programs;

use crate::bundle::empty;
use crate::sanitize::{self, Sanitizer};
use crate::setup::{Purpose, julia, python, system, torch};
use crate::tree::Tree;
use crate::{build_only, fuzz, images, install, plugins, run, show, site, soak, wheel};
use again::Kind;
use anyhow::{Context, Result, ensure};
use count::Count;
use std::fs;
use std::process::ExitCode;
use std::thread;
use std::time::Instant;

/// Runs all steps, prints the summary and, in the last line, the numbers of checks that passed and failed.
pub(crate) fn test(tree: &Tree, quick: bool) -> Result<ExitCode> {
    let mut steps = Steps::default();
    let start = Instant::now();

    steps.step("setup: programs", || {
        system::packages(Purpose::Test)?;
        system::rust_components(Purpose::Test)
    });
    // Installation waits for the network, the build for the cores.
    steps.side_by_side(
        |steps| build(tree, steps),
        |steps| {
            if !quick {
                steps.step("setup: Julia", || julia::install(tree));
                steps.step("setup: torch", || torch::install(tree));
            }
            steps.step("setup: Python packages", || {
                python::packages(tree, Purpose::Test)
            });
        },
    );
    steps.side_by_side(
        |steps| {
            steps.step("GPU kernels", || images::images(tree));
            steps.step("Python wheel", || python::wheel(tree));
        },
        |steps| {
            if !quick {
                steps.step("Julia package", || julia::package(tree));
                steps.step("MPI plugin", || {
                    plugins::build(tree)?;
                    plugins::test(tree)
                });
            }
        },
    );
    // Each row continues with further steps when its tests are done, so that no core is idle for long.
    steps.side_by_side(
        |steps| {
            steps.tested("cargo test", || cargo_test(tree, quick));
            steps.step("clippy", || clippy(tree));
            if !quick {
                steps.step("soak", || soak::short(tree));
                examples(tree, steps);
                sanitizers(tree, steps, &[("thread sanitizer", Sanitizer::Thread)]);
            }
        },
        |steps| {
            steps.tested("pytest", || pytest(tree, quick));
            steps.step("README program", || readme(tree));
            steps.step("documentation site", || site::make(tree));
            steps.step("ruff", || {
                run::run(
                    tree.command(tree.python())
                        .args(["-m", "ruff", "check", "--no-cache"]),
                )
            });
            if !quick {
                let others = [
                    ("address sanitizer", Sanitizer::Address),
                    ("undefined behaviour", Sanitizer::Undefined),
                    ("valgrind", Sanitizer::Valgrind),
                ];
                sanitizers(tree, steps, &others);
                steps.counted("fuzz", || fuzzed(tree));
            }
        },
    );

    Ok(steps.summary(start, quick))
}

fn build(tree: &Tree, steps: &mut Steps) {
    steps.step("format", || {
        run::run(tree.cargo().args(["fmt", "--all", "--check"]))
    });
    // Tests and examples included, so that nothing is compiled again with other features.
    steps.step("build", || build_only(tree, &["--all-targets"]));
    steps.step("generated files", || {
        // Built with the workspace; `cargo run` of one package would compile it again.
        let generator = tree.release().join("nvshmemrs-generator");
        run::run(tree.command(generator).arg("--check"))
    });
}

/// Tests of instrumented builds, one after another.
fn sanitizers(tree: &Tree, steps: &mut Steps, some: &[(&'static str, Sanitizer)]) {
    for &(name, sanitizer) in some {
        steps.counted(name, || sanitized(tree, sanitizer));
    }
}

/// The examples of the pages, in every language. A quick run omits them.
fn examples(tree: &Tree, steps: &mut Steps) {
    let mut fingerprint = None;
    steps.step("example: Python", || {
        fingerprint = Some(examples::python(tree)?);
        Ok(())
    });
    steps.step("example: Rust", || {
        examples::rust(tree, fingerprint.as_deref())
    });
    steps.step("example: C", || examples::c(tree, fingerprint.as_deref()));
    steps.step("example: C on two hosts", || {
        examples::two_hosts(tree, fingerprint.as_deref())
    });
    steps.step("example: C++", || {
        examples::cxx(tree, fingerprint.as_deref())
    });
    steps.step("example: Julia", || {
        examples::julia(tree, fingerprint.as_deref())
    });
    steps.step("example: Fortran", || {
        examples::fortran(tree, fingerprint.as_deref())
    });
    steps.step("example: sample sort", || examples::sample_sort(tree));
    steps.step("example: PageRank", || examples::pagerank(tree));
    steps.step("example: FFT", || examples::fft(tree));
    steps.step("example: Mandelbrot", || examples::mandelbrot(tree));
    steps.step("example: conjugate gradient", || {
        examples::conjugate_gradient(tree)
    });
    steps.step("tutorial: Python", || examples::tutorial(tree));
}

fn clippy(tree: &Tree) -> Result<()> {
    let clippy = [
        "clippy",
        "--release",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ];
    run::run(tree.cargo().args(clippy))
}

/// The results so far.
#[derive(Default)]
struct Steps {
    done: Vec<Step>,
    /// Whether other steps run at the same time.
    beside: bool,
}

struct Step {
    name: &'static str,
    count: Count,
    seconds: f64,
    error: Option<String>,
}

impl Step {
    fn run(name: &'static str, body: impl FnOnce() -> Result<(Count, Result<()>)>) -> Step {
        show::line(format_args!("\n== {name}"));
        let start = Instant::now();
        let (mut count, outcome) = body().unwrap_or_else(|error| (Count::default(), Err(error)));
        let error = outcome.err().map(|error| format!("{error:#}"));
        // A failure without a failed test, such as a compile error, counts as one.
        if error.is_some() && count.failed == 0 {
            count.failed = 1;
        }
        if let Some(error) = &error {
            show::line(format_args!("FAILED: {error}"));
        }
        let seconds = start.elapsed().as_secs_f64();
        show::line(format_args!("-- {name}: {count}, {seconds:.1} s"));
        Step {
            name,
            count,
            seconds,
            error,
        }
    }
}

impl Steps {
    /// A step that is one check by itself.
    fn step(&mut self, name: &'static str, body: impl FnOnce() -> Result<()>) {
        self.counted(name, || {
            body().map(|()| {
                (
                    Count {
                        passed: 1,
                        ..Count::default()
                    },
                    Ok(()),
                )
            })
        });
    }

    /// A step whose body counts its checks, and may still have failed as a whole.
    fn counted(&mut self, name: &'static str, body: impl FnOnce() -> Result<(Count, Result<()>)>) {
        self.tested(name, || {
            let _turn = again::beside_others();
            body()
        });
    }

    /// The same for a body that gives tests a second try, with nothing beside it.
    fn tested(&mut self, name: &'static str, body: impl FnOnce() -> Result<(Count, Result<()>)>) {
        let step = || Step::run(name, body);
        let step = match self.beside {
            true => show::in_one_piece(step).unwrap_or_else(|error| Step::run(name, || Err(error))),
            false => step(),
        };
        self.done.push(step);
    }

    /// Runs the steps of `one` and those of `other` at the same time. The output of each step is shown when it ends.
    fn side_by_side(
        &mut self,
        one: impl FnOnce(&mut Steps),
        other: impl FnOnce(&mut Steps) + Send,
    ) {
        let steps = || Steps {
            beside: true,
            ..Steps::default()
        };
        let (mut first, mut second) = (steps(), steps());
        thread::scope(|scope| {
            scope.spawn(|| other(&mut second));
            one(&mut first);
        });
        self.done.append(&mut first.done);
        self.done.append(&mut second.done);
    }

    fn summary(&self, start: Instant, quick: bool) -> ExitCode {
        println!("\n== summary");
        for step in &self.done {
            let first_line = step.error.as_deref().and_then(|error| error.lines().next());
            let note = first_line.map_or(String::new(), |line| format!("  {line}"));
            println!(
                "{:<24} {:<34} {:>7.1} s{note}",
                step.name,
                step.count.to_string(),
                step.seconds
            );
        }
        if quick {
            println!(
                "--quick left out: conformance programs and litmus tests with processes (package nvshmemrs-tests), \
                 sanitizers, valgrind, fuzz targets, soak, Julia, examples, and in Python kernels, frameworks, packages and pages"
            );
        }
        println!(
            "{:<24} {:<34} {:>7.1} s",
            "all",
            "",
            start.elapsed().as_secs_f64()
        );
        let total = self
            .done
            .iter()
            .fold(Count::default(), |sum, step| sum.plus(step.count));
        if total.unsteady > 0 {
            println!(
                "{} unsteady: the output above says which, after \"unsteady:\"",
                total.unsteady
            );
        }
        println!("{} passed, {} failed", total.passed, total.failed);
        if total.failed == 0 {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        }
    }
}

fn cargo_test(tree: &Tree, quick: bool) -> Result<(Count, Result<()>)> {
    // A test that finds that it cannot run here, for one because it takes root, passes for cargo and adds itself to this list.
    let list = tree.scratch("tests")?.join("left-out");
    fs::write(&list, "").with_context(|| format!("cannot write {}", list.display()))?;
    let kind = Kind {
        count: count::of_cargo,
        failed: again::failed_in_cargo,
    };
    let all = || programs::all(tree, quick, &list);
    let (count, outcome) = again::counted(&kind, all, || {
        let mut alone = programs::cargo(tree, false);
        alone.args(["--no-fail-fast", "--", "--exact", "--test-threads=1"]);
        alone
    })?;
    let left_out =
        fs::read_to_string(&list).with_context(|| format!("cannot read {}", list.display()))?;
    for line in left_out.lines() {
        show::line(format_args!("left out: {line}"));
    }
    Ok((count.without(left_out.lines().count() as u64), outcome))
}

/// Kinds of Python's test files that a quick run omits, by how their names go on after `test_`: kernels, frameworks, packages, pages.
const OMITTED_BY_QUICK: [&str; 13] = [
    "bitcode",
    "cute",
    "fused",
    "install",
    "jax",
    "numba",
    "packaging",
    "pages",
    "site",
    "slurm",
    "torch",
    "triton",
    "wheel",
];

fn pytest(tree: &Tree, quick: bool) -> Result<(Count, Result<()>)> {
    // Installed into an empty environment by test_wheel.py.
    let wheel = wheel::one_wheel(&python::wheel_folder(tree)?)?;
    // The path for test_install.py.
    let prefix = tree.scratch("prefix")?;
    empty(&prefix)?;
    install::place(tree, &prefix)?;
    let pytest = || {
        let mut pytest = tree.with_contract(tree.command(tree.python()));
        pytest.args(["-m", "pytest", "-ra", "-p", "no:cacheprovider"]);
        pytest.env("NVSHMEMRS_WHEEL", &wheel);
        pytest.env("NVSHMEMRS_PREFIX", &prefix);
        pytest.env("NVSHMEMRS_TORCH", tree.torch());
        pytest
    };
    let kind = Kind {
        count: count::of_pytest,
        failed: again::failed_in_pytest,
    };
    let all = || {
        let mut all = pytest();
        all.arg("bindings/python/tests");
        if quick {
            let omitted = OMITTED_BY_QUICK
                .map(|kind| format!("--ignore-glob=bindings/python/tests/test_{kind}*.py"));
            all.args(omitted);
        }
        run::tee(&mut all, again::LIMIT)
    };
    again::counted(&kind, all, pytest)
}

/// A quick run under a sanitizer; `cargo xtask sanitize` does more.
fn sanitized(tree: &Tree, sanitizer: Sanitizer) -> Result<(Count, Result<()>)> {
    let shown = sanitize::sanitize(tree, sanitizer, true)?;
    Ok((count::of_cargo(&shown.text), shown.outcome))
}

/// All inputs that are known, and then some four seconds of each target; `cargo xtask fuzz` looks for longer.
fn fuzzed(tree: &Tree) -> Result<(Count, Result<()>)> {
    let fuzzed = fuzz::fuzz(tree, &fuzz::Args::of_seconds(15))?;
    let passed = fuzzed.iter().filter(|one| one.outcome.is_ok()).count() as u64;
    let count = Count {
        passed,
        failed: fuzzed.len() as u64 - passed,
        ..Count::default()
    };
    Ok((count, fuzz::sum(fuzzed)))
}

/// The programs of the README, as a reader would build and run them, on two PEs.
fn readme(tree: &Tree) -> Result<()> {
    let text = |name: &str| {
        let read = std::fs::read_to_string(tree.root.join(name));
        read.with_context(|| format!("cannot read {name}"))
    };
    let readme = text("README.md")?;
    let programs = [
        ("python", "examples/python/hello.py"),
        ("c", "examples/c/hello.c"),
    ];
    for (language, name) in programs {
        let program = first_block(&readme, language);
        ensure!(
            program.as_ref() == Some(&text(name)?),
            "the first program of README.md in `{language}` is not {name}"
        );
        let mut launch = tree.launch(2);
        match language {
            "python" => launch.arg(tree.python()).arg(tree.root.join(name)),
            _ => launch.arg(examples::made(tree, "examples/c", "hello")?),
        };
        let shown = run::tee(&mut launch, run::LIMIT)?;
        shown.outcome?;
        for (pe, sent) in [(0, 2), (1, 1)] {
            let line = format!("PE {pe} of 2: my neighbour sent {sent}, the sum over all PEs is 3");
            ensure!(
                shown.text.contains(&line),
                "{name} did not print \"{line}\""
            );
        }
    }
    Ok(())
}

/// The contents of the first fenced block of a language in `markdown`.
fn first_block(markdown: &str, language: &str) -> Option<String> {
    let (_, after) = markdown.split_once(&format!("```{language}\n"))?;
    let (block, _) = after.split_once("```\n")?;
    Some(block.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_block_of_a_language_is_found() {
        let markdown = "# x\n```sh\nls\n```\n```python\na = 1\n\nb = 2\n```\n```python\nc\n```\n";
        let found = first_block(markdown, "python");
        assert_eq!(found.as_deref(), Some("a = 1\n\nb = 2\n"));
        assert_eq!(first_block(markdown, "c"), None);
        assert_eq!(first_block("```python\nnever closed\n", "python"), None);
    }

    #[test]
    fn a_step_that_fails_counts_as_one_failure_and_the_next_still_runs() {
        let mut steps = Steps::default();
        steps.step("bad", || anyhow::bail!("no"));
        steps.counted("tests", || {
            Ok((
                Count {
                    passed: 3,
                    failed: 2,
                    left_out: 1,
                    ..Count::default()
                },
                Err(anyhow::anyhow!("2")),
            ))
        });
        steps.step("good", || Ok(()));
        let total = steps
            .done
            .iter()
            .fold(Count::default(), |sum, step| sum.plus(step.count));
        assert_eq!(
            total,
            Count {
                passed: 4,
                failed: 3,
                left_out: 1,
                unsteady: 0
            }
        );
    }

    #[test]
    fn rows_of_steps_run_at_the_same_time_and_are_listed_one_after_the_other() {
        let mut steps = Steps::default();
        let (send, receive) = std::sync::mpsc::channel();
        let passed = Count {
            passed: 1,
            ..Count::default()
        };
        // As steps that take no turn: the second try of another test may wait for its own.
        steps.side_by_side(
            |steps| {
                // Comes only if the other row runs meanwhile.
                steps.tested("hears", || {
                    Ok((passed, Ok(receive.recv_timeout(run::LIMIT)?)))
                });
                steps.tested("last of this row", || Ok((passed, Ok(()))));
            },
            |steps| steps.tested("says", || Ok((passed, Ok(send.send(())?)))),
        );
        let names: Vec<&str> = steps.done.iter().map(|step| step.name).collect();
        assert_eq!(names, ["hears", "last of this row", "says"]);
        assert!(steps.done.iter().all(|step| step.count.passed == 1));
    }
}
