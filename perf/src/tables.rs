//! The report as aligned text, and as a Markdown page.

use crate::catalogue::Group;
use crate::report::{Absolute, Figure, Report, Row};
use comfy_table::{CellAlignment, Table, presets};

/// A table with a heading.
pub(crate) struct Sheet {
    title: String,
    header: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
    /// The number of columns with words; the others hold numbers.
    words: usize,
}

impl Sheet {
    pub(crate) fn new(title: &str, header: &[&str], words: usize) -> Self {
        Self {
            title: title.to_owned(),
            header: header.iter().map(|text| (*text).to_owned()).collect(),
            rows: Vec::new(),
            words,
        }
    }

    fn table(&self, preset: &str) -> String {
        let mut table = Table::new();
        table
            .load_preset(preset)
            .set_header(&self.header)
            .add_rows(&self.rows);
        for (index, column) in table.column_iter_mut().enumerate() {
            let left = index < self.words;
            column.set_cell_alignment(if left {
                CellAlignment::Left
            } else {
                CellAlignment::Right
            });
        }
        table.trim_fmt()
    }
}

impl Sheet {
    /// The table for a terminal.
    pub(crate) fn text(&self) -> String {
        format!("{}\n{}\n", self.title, self.table(presets::NOTHING))
    }
}

/// The report for a terminal.
pub(crate) fn text(report: &Report) -> String {
    let mut text = format!("{}\n{}\n", report.machine.line(), report.command);
    for sheet in sheets(report) {
        text += &format!("\n{}", sheet.text());
    }
    if !report.notes.is_empty() {
        text.push('\n');
    }
    for note in &report.notes {
        text += &format!("Note: {note}.\n");
    }
    if let Some((met, all)) = report.score() {
        text += &format!("\n{met} of {all} targets met\n");
    }
    text
}

/// The report as a page; `picture` is the name of a picture beside it.
pub(crate) fn markdown(report: &Report, picture: Option<&str>) -> String {
    let title = match report.peer {
        Some(peer) => format!("nvshmemrs beside {peer}, on one host"),
        None => "nvshmemrs on one host".to_owned(),
    };
    let mut text = format!(
        "# {title}\n\n{}\n\n```sh\n{}\n```\n\nTimes are microseconds of one call: medians of {} rounds. See [README.md](README.md) for \
         what the columns mean.\n",
        report.machine.line(),
        report.command,
        report.rounds
    );
    if let Some(picture) = picture {
        text += &format!("\n![time over size]({picture})\n");
    }
    for sheet in sheets(report) {
        text += &format!(
            "\n## {}\n\n{}\n",
            sheet.title,
            sheet.table(presets::ASCII_MARKDOWN)
        );
    }
    if !report.notes.is_empty() {
        text += "\n## Notes\n\n";
    }
    for note in &report.notes {
        text += &format!("* {note}.\n");
    }
    if let Some((met, all)) = report.score() {
        text += &format!("\n**{met} of {all} targets met**\n");
    }
    text
}

fn sheets(report: &Report) -> Vec<Sheet> {
    let groups = Group::ALL
        .into_iter()
        .map(|group| operations(report, group));
    let growth = ["barrier", "reduce"]
        .into_iter()
        .map(|name| growth(report, name));
    groups
        .chain(growth)
        .chain([absolute(report)])
        .filter(|sheet| !sheet.rows.is_empty())
        .collect()
}

/// The title, with the operation of reductions.
fn title(report: &Report, group: Group) -> String {
    match group {
        Group::Reduction => format!("{}: {}", group.title(), report.reduction),
        _ => group.title().to_owned(),
    }
}

fn operations(report: &Report, group: Group) -> Sheet {
    let rows: Vec<&Row> = report
        .operations
        .iter()
        .filter(|row| row.operation.group == group)
        .collect();
    let with_bandwidth = matches!(group, Group::Rma | Group::Bandwidth);
    let with_targets = rows.iter().any(|row| row.verdict.is_some());
    let mut header = vec!["operation", "bytes", "PEs", "ours us", "min", "spread"];
    let peer_header = report
        .peer
        .map(|peer| [format!("{peer} us"), "min".into(), "spread".into()]);
    if with_bandwidth {
        header.push("MB/s");
    }
    header.extend(peer_header.iter().flatten().map(String::as_str));
    let peer_bandwidth = report
        .peer
        .map(|peer| format!("{peer} MB/s"))
        .filter(|_| with_bandwidth);
    header.extend(peer_bandwidth.as_deref());
    if report.peer.is_some() {
        header.push("ratio");
    }
    if with_targets {
        header.extend(["target", ""]);
    }
    let mut sheet = Sheet::new(&title(report, group), &header, 1);
    for row in rows {
        let mut cells = vec![
            row.operation.name.to_owned(),
            row.bytes.to_string(),
            row.n_pes.to_string(),
        ];
        for figure in std::iter::once(&row.ours).chain(&row.peer) {
            cells.extend(time(figure));
            if with_bandwidth {
                cells.push(bandwidth(figure, row.bytes));
            }
        }
        if report.peer.is_some() {
            cells.push(row.ratio.map_or("-".into(), |ratio| format!("{ratio:.2}")));
        }
        if with_targets {
            let verdict = row.verdict;
            cells.push(verdict.map_or(String::new(), |verdict| verdict.target.to_string()));
            cells.push(verdict.map_or(String::new(), |verdict| verdict.word().into()));
        }
        sheet.rows.push(cells);
    }
    sheet
}

/// The time, the fastest round, and the spread of the rounds.
fn time(figure: &Figure) -> [String; 3] {
    let Figure::Measured(summary) = figure else {
        return [word(figure).into(), String::new(), String::new()];
    };
    let spread = format!("{:.0}%", summary.spread() * 100.0);
    [us(summary.us), us(summary.min_us), spread]
}

fn word(figure: &Figure) -> &'static str {
    match figure {
        Figure::Measured(_) => "",
        Figure::Missing => "-",
        Figure::Wrong => "wrong",
        Figure::Failed => "failed",
    }
}

/// Millions of bytes in a second.
fn bandwidth(figure: &Figure, bytes: u64) -> String {
    figure
        .us()
        .map_or(String::new(), |us| format!("{:.0}", bytes as f64 / us))
}

/// Microseconds with the significant digits.
fn us(value: f64) -> String {
    match value {
        v if v < 1.0 => format!("{v:.4}"),
        v if v < 10.0 => format!("{v:.3}"),
        v if v < 1000.0 => format!("{v:.2}"),
        v => format!("{v:.0}"),
    }
}

fn growth(report: &Report, name: &str) -> Sheet {
    let rows: Vec<&Row> = report
        .growth
        .iter()
        .filter(|row| row.operation.name == name)
        .collect();
    let cores = report.machine.cores;
    let mut header: Vec<String> = ["PEs", "PEs per core", "ours us", "us / log2(PEs)"]
        .map(str::to_owned)
        .into();
    if let Some(peer) = report.peer {
        header.extend([
            format!("{peer} us"),
            "us / log2(PEs)".into(),
            "ratio".into(),
        ]);
    }
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let title = match name {
        "reduce" => format!("Growth of a reduction of one element: {}", report.reduction),
        _ => format!("Growth of {name}"),
    };
    let mut sheet = Sheet::new(&title, &header, 0);
    for row in rows {
        let per_core = (row.n_pes as usize).div_ceil(cores);
        let mut cells = vec![row.n_pes.to_string(), per_core.to_string()];
        for figure in std::iter::once(&row.ours).chain(&row.peer) {
            let log2 = f64::from(row.n_pes).log2();
            cells.push(figure.us().map_or(word(figure).into(), us));
            cells.push(figure.us().map_or(String::new(), |time| us(time / log2)));
        }
        if report.peer.is_some() {
            cells.push(row.ratio.map_or("-".into(), |ratio| format!("{ratio:.2}")));
        }
        sheet.rows.push(cells);
    }
    sheet
}

fn absolute(report: &Report) -> Sheet {
    let header = ["", "ours", report.peer.unwrap_or("peer"), "target", ""];
    let mut sheet = Sheet::new("Start-up, memory, Python", &header, 1);
    for row in &report.absolute {
        let Absolute {
            what, unit, ours, ..
        } = row;
        let verdict = row.verdict;
        sheet.rows.push(vec![
            what.clone(),
            format!("{ours:.2} {unit}"),
            row.peer
                .map_or("-".into(), |peer| format!("{peer:.2} {unit}")),
            verdict.map_or(String::new(), |verdict| {
                format!("{} {unit}", verdict.target)
            }),
            verdict.map_or(String::new(), |verdict| verdict.word().into()),
        ]);
    }
    sheet
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::find;
    use crate::machine::Machine;
    use crate::stats::Summary;
    use crate::targets::Verdict;

    fn measured(times: &[f64]) -> Figure {
        Figure::Measured(Summary::new(times, 100).expect("there are rounds"))
    }

    fn row(name: &str, ours: Figure, peer: Figure, ratio: Option<f64>) -> Row {
        Row {
            operation: find(name).expect(name),
            bytes: 8,
            n_pes: 2,
            ours,
            peer: Some(peer),
            ratio,
            verdict: ratio.map(|ratio| Verdict::new(ratio, 0.4)),
        }
    }

    fn report() -> Report {
        let ours = measured(&[0.005, 0.004, 0.006]);
        Report {
            machine: Machine::gather(None),
            command: "nvshmemrs-perf".into(),
            rounds: 3,
            reduction: "sum of double".into(),
            peer: Some("OSHMEM"),
            operations: vec![
                row("put", ours, measured(&[0.01]), Some(0.5)),
                row("put_signal", ours, Figure::Missing, None),
                row("fetch_or", ours, Figure::Wrong, None),
            ],
            growth: vec![row(
                "barrier",
                measured(&[0.5]),
                measured(&[5.0]),
                Some(0.1),
            )],
            absolute: vec![Absolute {
                what: "memory".into(),
                unit: "MB",
                ours: 2.5,
                peer: None,
                verdict: Some(Verdict::new(2.5, 10.0)),
            }],
            notes: vec!["a note".into()],
        }
    }

    /// The words of the line that begins with `first`.
    fn words<'a>(text: &'a str, first: &str) -> Vec<&'a str> {
        let line = text
            .lines()
            .find(|line| line.trim_start().starts_with(first));
        line.expect(first).split_whitespace().collect()
    }

    #[test]
    fn tables_show_what_was_measured_and_what_was_not() {
        let text = text(&report());
        assert_eq!(
            words(&text, "put "),
            [
                "put", "8", "2", "0.0050", "0.0040", "40%", "1600", "0.0100", "0.0100", "0%",
                "800", "0.50", "0.4", "MISSED"
            ]
        );
        assert_eq!(words(&text, "put_signal")[7..], ["-", "-"]);
        assert_eq!(words(&text, "fetch_or")[6..], ["wrong", "-"]);
        assert_eq!(
            words(&text, "memory"),
            ["memory", "2.50", "MB", "-", "10", "MB", "met"]
        );
        assert!(
            text.ends_with("Note: a note.\n\n2 of 3 targets met\n"),
            "{text}"
        );
    }

    #[test]
    fn columns_are_aligned() {
        let text = text(&report());
        let lines: Vec<&str> = text
            .lines()
            .skip_while(|line| *line != "Put and get")
            .collect();
        let ends: Vec<Option<usize>> = [lines[1], lines[2], lines[3]]
            .iter()
            .zip(["us", "0.0050", "0.0050"])
            .map(|(line, word)| line.find(word).map(|at| at + word.len()))
            .collect();
        assert!(ends.iter().all(|end| *end == ends[0]), "{text}");
    }

    #[test]
    fn pages_hold_the_same_tables() {
        let page = markdown(&report(), Some("cpu.svg"));
        assert!(page.starts_with("# nvshmemrs beside OSHMEM"), "{page}");
        assert!(
            page.contains("## Put and get") && page.contains("![time over size](cpu.svg)"),
            "{page}"
        );
        assert!(
            page.contains("| put ") && page.contains("**2 of 3 targets met**"),
            "{page}"
        );
    }

    #[test]
    fn times_keep_four_digits() {
        let shown = [0.00512, 1.23456, 12.3456, 12345.6].map(us);
        assert_eq!(shown, ["0.0051", "1.235", "12.35", "12346"]);
    }
}
