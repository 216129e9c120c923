//! Measures both sides in turn, so that disturbances on the machine affect both.

use crate::args::Args;
use crate::catalogue::{self, Group, OPERATIONS, Operation};
use crate::report::{Figure, Row};
use crate::stats::Summary;
use crate::targets::{self, Verdict};
use crate::worker::{Answer, Case, Worker};
use anyhow::{Result, bail};
use indicatif::{ProgressBar, ProgressStyle};
use nvshmemrs_cli::console;

/// Cases that one run of the program measures, one after the other.
#[derive(Debug, PartialEq)]
pub(crate) struct Chunk {
    /// PEs of the program.
    pub(crate) n_pes: u32,
    /// The cases.
    pub(crate) cases: Vec<Case>,
}

/// The cases to measure: the requested operations, in a chunk for each group and number of PEs.
pub(crate) fn plan(args: &Args) -> Result<Vec<Chunk>> {
    let asked: Vec<&Operation> = args
        .ops
        .iter()
        .map(|name| catalogue::find(name))
        .collect::<Result<_>>()?;
    let wanted = |operation: &Operation| asked.is_empty() || asked.contains(&operation);
    let mut chunks = Vec::new();
    for group in Group::ALL {
        let mut cases = Vec::new();
        for operation in OPERATIONS.iter().filter(|o| o.group == group && wanted(o)) {
            let sizes = args.sizes.as_ref().map(|sizes| sizes.0.as_slice());
            let sizes = operation.cases(sizes, args.quick, args.dtype.bytes())?;
            cases.extend(sizes.into_iter().map(|bytes| Case { operation, bytes }));
        }
        let n_pes = if group.is_collective() {
            &args.n_pes[..]
        } else {
            &args.n_pes[..1]
        };
        for &n_pes in n_pes.iter().filter(|_| !cases.is_empty()) {
            chunks.push(Chunk {
                n_pes,
                cases: cases.clone(),
            });
        }
    }
    Ok(chunks)
}

/// The cases that have targets.
pub(crate) fn plan_targets() -> Result<Vec<Chunk>> {
    let mut chunks: Vec<Chunk> = Vec::new();
    for target in targets::all() {
        let operation = catalogue::find(target.operation)?;
        let case = Case {
            operation,
            bytes: target.bytes,
        };
        let same = |chunk: &&mut Chunk| {
            chunk.n_pes == target.n_pes
                && chunk
                    .cases
                    .iter()
                    .all(|other| other.operation.group == operation.group)
        };
        match chunks.iter_mut().find(same) {
            Some(chunk) => chunk.cases.push(case),
            None => chunks.push(Chunk {
                n_pes: target.n_pes,
                cases: vec![case],
            }),
        }
    }
    Ok(chunks)
}

/// The results of all rounds for one case on one side.
#[derive(Default)]
struct Collected {
    times: Vec<f64>,
    iterations: u64,
    missing: bool,
    wrong: bool,
    failed: bool,
}

impl Collected {
    fn figure(&self) -> Figure {
        match Summary::new(&self.times, self.iterations) {
            _ if self.wrong => Figure::Wrong,
            _ if self.missing => Figure::Missing,
            Some(summary) if !self.failed => Figure::Measured(summary),
            _ => Figure::Failed,
        }
    }
}

/// Measures the chunks on all sides, nvshmemrs first, round by round.
pub(crate) fn measure(chunks: &[Chunk], workers: &[Worker], args: &Args) -> Result<Vec<Row>> {
    let progress = progress(args.rounds() as usize * chunks.len() * workers.len());
    let mut collected: Vec<Vec<Vec<Collected>>> = chunks
        .iter()
        .map(|chunk| {
            let side = || chunk.cases.iter().map(|_| Collected::default()).collect();
            workers.iter().map(|_| side()).collect()
        })
        .collect();
    let mut tolerated = vec![false; workers.len()];
    for round in 1..=args.rounds() {
        for (chunk, collected) in chunks.iter().zip(&mut collected) {
            for (index, (worker, collected)) in workers.iter().zip(collected).enumerate() {
                progress.set_message(format!(
                    "round {round} of {}: {}, {} PEs, {}",
                    args.rounds(),
                    chunk.cases[0].operation.group.title(),
                    chunk.n_pes,
                    worker.side.name()
                ));
                // A case that failed is not repeated.
                if !collected.iter().any(|case| case.failed) {
                    let is_peer = index > 0;
                    one_run(
                        worker,
                        is_peer,
                        chunk,
                        collected,
                        args,
                        &mut tolerated[index],
                        &progress,
                    )?;
                }
                progress.inc(1);
            }
        }
    }
    progress.finish_and_clear();
    Ok(rows(chunks, &collected))
}

fn one_run(
    worker: &Worker,
    is_peer: bool,
    chunk: &Chunk,
    collected: &mut [Collected],
    args: &Args,
    tolerated: &mut bool,
    progress: &ProgressBar,
) -> Result<()> {
    let run = worker.measure(&chunk.cases, chunk.n_pes, args)?;
    let name = worker.side.name();
    for (answer, case) in run.answers.iter().zip(collected.iter_mut()) {
        match *answer {
            Answer::Time { us, iterations } => {
                case.times.push(us);
                case.iterations += iterations;
            }
            Answer::Missing => case.missing = true,
            Answer::Wrong => case.wrong = true,
        }
    }
    let answered = run.answers.len();
    if !is_peer
        && let Some(at) = run
            .answers
            .iter()
            .position(|answer| *answer == Answer::Wrong)
    {
        let Case { operation, bytes } = chunk.cases[at];
        bail!(
            "{} of {bytes} bytes gave a wrong result: {}",
            operation.name,
            run.failure.unwrap_or_default()
        );
    }
    let Some(failure) = run.failure else {
        return Ok(());
    };
    let at = chunk.cases.get(answered);
    let place = at.map_or(String::new(), |case| {
        format!(" in {} of {} bytes", case.operation.name, case.bytes)
    });
    match (is_peer, answered) {
        // Nothing was measured: the peer does not work here.
        (false, _) | (true, 0) => bail!(
            "the program for {name}{place}, {} PEs, {failure}",
            chunk.n_pes
        ),
        (true, _) if answered == chunk.cases.len() => {
            if !*tolerated {
                *tolerated = true;
                let status = failure.lines().next().unwrap_or_default();
                show_text(
                    progress,
                    &format!(
                        "the program for {name} {status}, after all its figures were out: they count"
                    ),
                );
            }
        }
        (true, _) => {
            collected[answered..]
                .iter_mut()
                .for_each(|case| case.failed = true);
            show_text(
                progress,
                &format!(
                    "the program for {name}{place}, {} PEs, {failure}",
                    chunk.n_pes
                ),
            );
        }
    }
    Ok(())
}

fn show_text(progress: &ProgressBar, text: &str) {
    progress.suspend(|| console::error(format_args!("nvshmemrs-perf: {text}")));
}

/// A progress bar on standard error, if that is a terminal.
fn progress(steps: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}");
    let bar = ProgressBar::new(steps as u64);
    match style {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

fn rows(chunks: &[Chunk], collected: &[Vec<Vec<Collected>>]) -> Vec<Row> {
    let mut rows = Vec::new();
    for (chunk, sides) in chunks.iter().zip(collected) {
        for (index, case) in chunk.cases.iter().enumerate() {
            let figure = |side: &Vec<Collected>| side[index].figure();
            let ours = figure(&sides[0]);
            let peer = sides.get(1).map(figure);
            let ratio = ours
                .us()
                .zip(peer.and_then(|peer| peer.us()))
                .map(|(ours, peer)| ours / peer);
            rows.push(Row {
                operation: case.operation,
                bytes: case.bytes,
                n_pes: chunk.n_pes,
                ours,
                peer,
                ratio,
                verdict: None,
            });
        }
    }
    rows
}

/// Judges the rows that have a target.
pub(crate) fn judge(rows: &mut [Row]) {
    for row in rows {
        let target = targets::ratio(row.operation.name, row.bytes, row.n_pes);
        row.verdict = row
            .ratio
            .zip(target)
            .map(|(ratio, target)| Verdict::new(ratio, target));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    fn parse(line: &str) -> Args {
        let words = std::iter::once("nvshmemrs-perf").chain(line.split(' '));
        Args::try_parse_from(words).expect(line)
    }

    #[test]
    fn collectives_are_measured_with_each_number_of_pes() -> Result<()> {
        let chunks = plan(&parse("--ops barrier,p,put -n 4,8 --sizes 8,16"))?;
        let shape: Vec<_> = chunks
            .iter()
            .map(|chunk| {
                (
                    chunk.cases[0].operation.name,
                    chunk.n_pes,
                    chunk.cases.len(),
                )
            })
            .collect();
        assert_eq!(
            shape,
            [
                ("put", 4, 2),
                ("p", 4, 1),
                ("barrier", 4, 1),
                ("barrier", 8, 1)
            ]
        );
        Ok(())
    }

    #[test]
    fn every_target_is_measured() -> Result<()> {
        let chunks = plan_targets()?;
        for target in targets::all() {
            let found = chunks.iter().any(|chunk| {
                chunk.n_pes == target.n_pes
                    && chunk.cases.iter().any(|case| {
                        (case.operation.name, case.bytes) == (target.operation, target.bytes)
                    })
            });
            assert!(found, "{target:?}");
        }
        Ok(())
    }

    #[test]
    fn only_sound_figures_are_compared() -> Result<()> {
        let chunk = &plan(&parse("--ops add --rounds 3"))?[0];
        let side = |times: &[f64], wrong| {
            vec![Collected {
                times: times.to_vec(),
                wrong,
                ..Collected::default()
            }]
        };
        let chunk = std::slice::from_ref(chunk);
        let mut good = rows(
            chunk,
            &[vec![
                side(&[1.0, 9.0, 2.0], false),
                side(&[8.0, 4.0], false),
            ]],
        );
        judge(&mut good);
        assert_eq!(good[0].ratio, Some(2.0 / 6.0));
        assert!(good[0].verdict.is_some_and(|verdict| verdict.met));
        let mut bad = rows(chunk, &[vec![side(&[1.0], false), side(&[8.0], true)]]);
        judge(&mut bad);
        assert_eq!(
            (bad[0].peer, bad[0].ratio, bad[0].verdict),
            (Some(Figure::Wrong), None, None)
        );
        Ok(())
    }
}
