//! The measurements as rows of the tuning file and as a table.

use super::{Machinery, Measured};
use crate::tables::Sheet;
use nvshmemrs::tuning::{Algorithm, Choice, Table, Tuning, file::Row};

/// A variant replaces the default if it takes less than this share of its time in both halves of the rounds: a smaller gain is
/// noise, and a temporary disturbance affects one half only.
const WORTH: f64 = 0.97;

/// The choice for a buffer of this size applies to all larger ones.
const LARGE: u64 = 64 << 20;

/// The best variant of a case, beside the default.
pub(super) struct Chosen {
    default: Measured,
    best: Measured,
}

impl Measured {
    /// Describes the choice; `most`: the maximum number of blocks of a collective on this machine.
    fn words(&self, most: u32) -> String {
        let Choice {
            algorithm,
            blocks,
            threads,
            chunk,
            ..
        } = self.choice;
        let name = match algorithm {
            Algorithm::Flags => "flags",
            Algorithm::Lamport => "lamport",
            Algorithm::Direct => "direct",
            Algorithm::Engines => return "engines".into(),
        };
        let chunk = match chunk {
            0 => String::new(),
            chunk => format!(", chunks of {}", size(chunk.into())),
        };
        format!("{name} {} x {threads}{chunk}", blocks.min(most))
    }
}

/// The best variant of each case, in the order of the lines.
pub(super) fn choose(lines: &[Measured]) -> Vec<Chosen> {
    let of_case = |one: &Measured, other: &Measured| {
        (one.collective, one.bytes) == (other.collective, other.bytes)
    };
    let cases = lines.chunk_by(of_case);
    cases
        .filter_map(|case| {
            let default = case.iter().find(|one| one.default)?.clone();
            let wins = |one: &&Measured| {
                let halves = one.us.halves.iter().zip(default.us.halves);
                halves
                    .into_iter()
                    .all(|(&us, of_default)| us < WORTH * of_default)
            };
            let winners = case.iter().filter(wins);
            let best = winners.min_by(|one, other| one.us.all.total_cmp(&other.us.all));
            let best = best.unwrap_or(&default).clone();
            Some(Chosen { default, best })
        })
        .collect()
}

/// The table for the file.
pub(super) fn table(machinery: &Machinery, chosen: &[Chosen], written: String) -> Table {
    let shipped = Tuning::shipped(&machinery.gpu, machinery.link);
    let of_collective = |one: &Chosen, other: &Chosen| one.best.collective == other.best.collective;
    let mut rows = Vec::new();
    for cases in chosen.chunk_by(of_collective) {
        let collective = cases[0].best.collective;
        let later = shipped.rows(collective, machinery.n_pes.into());
        let choices = merged(cases, later);
        rows.extend(choices.into_iter().map(|choice| Row { collective, choice }));
    }
    Table {
        gpu: machinery.gpu.clone(),
        link: machinery.link,
        n_pes: machinery.n_pes,
        written: Some(written),
        rows,
    }
}

/// The choices of a collective. The boundary between two cases is half-way; after the last case, the choices of `later` apply.
fn merged(cases: &[Chosen], later: &[Choice]) -> Vec<Choice> {
    let mut choices: Vec<Choice> = Vec::new();
    for (index, case) in cases.iter().enumerate() {
        let part = case.best.part;
        let up_to = cases.get(index + 1).map_or(part, |next| {
            let middle = (part as f64 * next.best.part as f64).sqrt() as u64;
            middle / 16 * 16 + 8
        });
        let up_to = up_to.max(part);
        add(
            &mut choices,
            Choice {
                up_to,
                ..case.best.choice
            },
        );
    }
    let large = cases.last().is_some_and(|case| case.best.bytes >= LARGE);
    let end = choices.last().map_or(0, |last| last.up_to);
    match choices.last_mut() {
        Some(last) if large && last.algorithm.has_no_limit() => last.up_to = u64::MAX,
        _ => {
            let later = later.iter().filter(|row| row.up_to > end);
            later.for_each(|&row| add(&mut choices, row));
        }
    }
    choices
}

/// Adds a choice; choices that differ in size only are merged.
fn add(choices: &mut Vec<Choice>, choice: Choice) {
    match choices.last_mut() {
        Some(last)
            if (Choice {
                up_to: choice.up_to,
                ..*last
            }) == choice =>
        {
            *last = choice
        }
        _ => choices.push(choice),
    }
}

/// The table as text.
pub(super) fn text(machinery: &Machinery, chosen: &[Chosen]) -> String {
    let title = format!(
        "{}, {} PEs: us per call in graphs; a variant is an algorithm and the most blocks x threads that it takes, of which the settings \
         allow {} blocks",
        machinery.gpu, machinery.n_pes, machinery.blocks
    );
    let header = [
        "collective",
        "bytes",
        "default",
        "us",
        "tuned",
        "us",
        "ratio",
    ];
    let mut sheet = Sheet::new(&title, &header, 1);
    for Chosen { default, best } in chosen {
        let same = best == default;
        let unless_same = |text| if same { String::new() } else { text };
        sheet.rows.push(vec![
            default.collective.name().into(),
            size(default.bytes),
            default.words(machinery.blocks),
            format!("{:.2}", default.us.all),
            unless_same(best.words(machinery.blocks)),
            unless_same(format!("{:.2}", best.us.all)),
            unless_same(format!("{:.2}", best.us.all / default.us.all)),
        ]);
    }
    let better = chosen.iter().filter(|one| one.best != one.default).count();
    format!(
        "\n{}\n{better} of {} cases have a faster variant than the default\n",
        sheet.text(),
        chosen.len()
    )
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => bytes.to_string(),
        _ if bytes.is_multiple_of(1 << 20) => format!("{} Mi", bytes >> 20),
        _ if bytes.is_multiple_of(1 << 10) => format!("{} Ki", bytes >> 10),
        _ => bytes.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tune::Medians;
    use nvshmemrs::Operation;

    fn line(bytes: u64, default: bool, algorithm: Algorithm, blocks: u32, us: f64) -> Measured {
        Measured {
            collective: Operation::Reduce,
            bytes,
            part: bytes,
            choice: Choice {
                up_to: u64::MAX,
                algorithm,
                blocks,
                threads: 512,
                chunk: 0,
            },
            default,
            us: Medians {
                all: us,
                halves: [us, us],
            },
        }
    }

    #[test]
    fn a_faster_variant_is_chosen_and_noise_is_not() {
        use Algorithm::{Direct, Flags};
        let lines = [
            line(8, true, Flags, 64, 2.0),
            line(8, false, Flags, 32, 1.99),
            line(1024, true, Flags, 64, 3.0),
            line(1024, false, Direct, 64, 4.0),
            line(64 << 20, true, Flags, 64, 30.0),
            line(64 << 20, false, Direct, 16, 20.0),
            line(64 << 20, false, Direct, 32, 25.0),
        ];
        let chosen = choose(&lines);
        let best: Vec<_> = chosen
            .iter()
            .map(|one| (one.best.choice.blocks, one.best.us.all))
            .collect();
        assert_eq!(best, [(64, 2.0), (64, 3.0), (16, 20.0)]);
        let machinery = Machinery {
            gpu: "a GPU".into(),
            link: nvshmemrs::tuning::Link::Nvlink,
            n_pes: 2,
            blocks: 64,
        };
        let made = table(&machinery, &chosen, "now".into());
        let rows: Vec<_> = made.rows.iter().map(|row| row.choice).collect();
        // Half-way between 1 KiB and 64 MiB; the last choice applies to all larger sizes.
        assert_eq!(rows.len(), 2);
        assert_eq!((rows[0].up_to, rows[0].algorithm), (256 * 1024 + 8, Flags));
        assert_eq!((rows[1].up_to, rows[1].blocks), (u64::MAX, 16));
        // The library can read the file.
        let file = nvshmemrs::tuning::TuningFile { tables: vec![made] };
        let read = nvshmemrs::tuning::TuningFile::parse(&file.text());
        assert_eq!(read, Ok(file));
        assert!(text(&machinery, &chosen).contains("1 of 3 cases"));
    }

    /// Times as a temporary disturbance produces them.
    #[test]
    fn a_spike_in_half_of_the_rounds_decides_nothing() {
        let mut lines = [
            line(8, true, Algorithm::Flags, 64, 9.0),
            line(8, false, Algorithm::Flags, 32, 2.0),
        ];
        lines[0].us.halves = [20.0, 2.0];
        assert_eq!(choose(&lines)[0].best, lines[0]);
        lines[0].us.halves = [20.0, 2.1];
        assert_eq!(choose(&lines)[0].best, lines[1]);
    }

    #[test]
    fn behind_the_last_case_the_defaults_hold() {
        let chosen = choose(&[line(8, true, Algorithm::Flags, 7, 2.0)]);
        let first = chosen[0].best.choice;
        let later = [
            Choice { up_to: 4, ..first },
            Choice {
                algorithm: Algorithm::Direct,
                ..first
            },
        ];
        let rows = merged(&chosen, &later);
        assert_eq!(rows, [Choice { up_to: 8, ..first }, later[1]]);
    }
}
