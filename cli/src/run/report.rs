//! The checker's findings as a file: JSON, or SARIF 2.1.0, which CI systems and editors show at the lines.

use super::findings::Count;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};

/// A report of one PE.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq)]
pub struct Report {
    /// The kind of problem, such as "read-early".
    problem: String,
    title: String,
    /// The PE that detected it.
    pe: u32,
    seed: u64,
    /// The two operations.
    accesses: Vec<Access>,
    /// The memory concerned: symmetric, private, or none for a collective.
    memory: String,
    #[serde(rename = "where")]
    place: String,
    why: String,
    remedy: String,
    /// The keys that group reports of one cause.
    #[serde(skip_serializing)]
    pub(super) keys: [u64; 4],
}

/// An operation of a report.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq)]
struct Access {
    pe: u32,
    does: String,
    bytes: u64,
    operation: String,
    /// As in "heat.c:88 (exchange)".
    place: String,
}

/// A line of a file, and the function that it is in.
#[derive(Debug, PartialEq, Eq)]
struct Line<'a> {
    file: &'a str,
    line: u64,
    function: Option<&'a str>,
}

/// Parses a place that names a line.
fn line(place: &str) -> Option<Line<'_>> {
    let (line, function) = match place.strip_suffix(')') {
        None => (place, None),
        Some(rest) => {
            let (line, function) = rest.rsplit_once(" (")?;
            (line, Some(function))
        }
    };
    let (file, number) = line.rsplit_once(':')?;
    Some(Line {
        file,
        line: number.parse().ok()?,
        function,
    })
}

/// The format of a report file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Json,
    Sarif,
}

/// A file that is written when the job has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportFile {
    path: PathBuf,
    form: Form,
}

impl ReportFile {
    /// Parses the argument of `--check-report`; an error text if the name has no known extension.
    pub fn parse(name: &str) -> Result<ReportFile, String> {
        let path = PathBuf::from(name);
        let form = match path.extension().and_then(|extension| extension.to_str()) {
            Some("json") => Form::Json,
            Some("sarif") => Form::Sarif,
            _ => return Err("the name must end in .json or .sarif".into()),
        };
        Ok(ReportFile { path, form })
    }

    /// Writes the findings, in groups of one cause.
    pub fn write(&self, count: &Count, problems: &[Vec<Report>]) -> Result<()> {
        let problems = problems.iter().map(|reports| causes_first(reports));
        let problems = &problems.collect::<Vec<_>>();
        let value = match self.form {
            Form::Json => as_json(count, problems),
            Form::Sarif => as_sarif(count, problems),
        };
        std::fs::write(&self.path, format!("{value:#}\n")).with_context(|| self.not_written())
    }

    /// Creates the file unless it exists: a path that cannot be written is an error before the job starts. An earlier report stays until
    /// this one is written.
    pub fn create(&self) -> Result<()> {
        // Opening a FIFO would wait for its reader.
        if std::fs::metadata(&self.path).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
            return Ok(());
        }
        let opened = File::options().append(true).create(true).open(&self.path);
        opened.map(drop).with_context(|| self.not_written())
    }

    fn not_written(&self) -> String {
        format!(
            "cannot write the checker's report to {}",
            self.path.display()
        )
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// The reports of a problem, the cause first: a missing order between two PEs lets each PE's own operations collide, too.
fn causes_first(reports: &[Report]) -> Vec<Report> {
    let mut reports = reports.to_vec();
    reports.sort_by_key(|report| pes(std::slice::from_ref(report)).len() < 2);
    reports
}

fn pes(reports: &[Report]) -> BTreeSet<u32> {
    let accesses = reports.iter().flat_map(|report| &report.accesses);
    accesses.map(|access| access.pe).collect()
}

fn as_json(count: &Count, problems: &[Vec<Report>]) -> Value {
    let problem = |reports: &Vec<Report>| {
        json!({
            "title": reports[0].title,
            "problem": reports[0].problem,
            "pes": pes(reports),
            "reports": reports,
        })
    };
    json!({
        "version": 1,
        "ran": count.ran(),
        "problems": problems.iter().map(problem).collect::<Vec<Value>>(),
        "not_watched": count.not_watched(),
    })
}

fn location(access: &Access) -> Value {
    let message = json!({
        "text": format!("PE {} {}: {}", access.pe, access.does, access.operation),
    });
    match line(&access.place) {
        None => json!({ "message": message }),
        Some(Line {
            file,
            line,
            function,
        }) => {
            let mut location = json!({
                "message": message,
                "physicalLocation": {
                    "artifactLocation": { "uri": uri(file) },
                    "region": { "startLine": line.max(1) },
                },
            });
            if let Some(function) = function {
                location["logicalLocations"] = json!([{ "name": function, "kind": "function" }]);
            }
            location
        }
    }
}

/// Encodes a path for a URI.
fn uri(path: &str) -> String {
    let mut uri = String::from(if path.starts_with('/') { "file://" } else { "" });
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => {
                uri.push(byte.into());
            }
            other => uri.push_str(&format!("%{other:02X}")),
        }
    }
    uri
}

fn as_sarif(count: &Count, problems: &[Vec<Report>]) -> Value {
    let rules: BTreeSet<&str> = (problems.iter().flatten())
        .map(|report| &*report.problem)
        .collect();
    let rules: Vec<Value> = rules.iter().map(|id| json!({ "id": id })).collect();
    let result = |reports: &Vec<Report>| {
        let first = &reports[0];
        let why = match first.why.is_empty() {
            true => String::new(),
            false => format!("\nWhy: {}.", first.why),
        };
        // A viewer shows the first location, so a location with a line comes first.
        let mut accesses: Vec<&Access> = first.accesses.iter().collect();
        accesses.sort_by_key(|access| line(&access.place).is_none());
        json!({
            "ruleId": first.problem,
            "level": "error",
            "message": {
                "text": format!("{}.\nWhere: {}.{why}\nRemedy: {}.", first.title, first.place, first.remedy),
            },
            "locations": accesses.first().map(|access| location(access)).into_iter().collect::<Vec<Value>>(),
            "relatedLocations": accesses.iter().skip(1).map(|access| location(access)).collect::<Vec<Value>>(),
            "properties": { "pes": pes(reports), "seed": first.seed, "reports": reports.len() },
        })
    };
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "nvshmemrs check",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            } },
            "results": problems.iter().map(result).collect::<Vec<Value>>(),
            "properties": { "ran": count.ran(), "notWatched": count.not_watched() },
        }],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_name_lines() {
        let at = |file, line, function| {
            Some(Line {
                file,
                line,
                function,
            })
        };
        assert_eq!(
            line("heat.c:88 (exchange)"),
            at("heat.c", 88, Some("exchange"))
        );
        assert_eq!(line("src/heat.rs:7"), at("src/heat.rs", 7, None));
        assert_eq!(line("heat (2).c:7"), at("heat (2).c", 7, None));
        assert_eq!(line("send_halo+0x1c in ./heat"), None);
        assert_eq!(line(""), None);
    }

    #[test]
    fn an_earlier_report_stays_until_the_next_one_is_written() {
        let folder = tempfile::tempdir().expect("a folder for the test");
        let at = |name: &str| ReportFile {
            path: folder.path().join(name),
            form: Form::Json,
        };
        let report = at("earlier.json");
        std::fs::write(&report.path, "earlier").expect("a file in it");
        report.create().expect("it can be written");
        let text = std::fs::read_to_string(&report.path);
        assert_eq!(text.expect("it is there"), "earlier");
        at("new.json").create().expect("it can be created");
        assert!(at("new.json").path.is_file());
        let error = at("missing/a.json").create().expect_err("no such folder");
        assert!(
            error
                .to_string()
                .contains("cannot write the checker's report")
        );
        at("").create().expect_err("it is a folder");
    }

    #[test]
    fn the_name_says_the_form() {
        let form = |name| ReportFile::parse(name).map(|file| file.form);
        assert_eq!(form("a/b.json"), Ok(Form::Json));
        assert_eq!(form("b.sarif"), Ok(Form::Sarif));
        for wrong in ["", "json", "b.txt", "b.json.gz"] {
            assert!(form(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_problem_is_named_by_its_cause() {
        let report = |problem: &str, pes: [u32; 2]| Report {
            problem: problem.into(),
            title: String::new(),
            pe: 0,
            seed: 1,
            accesses: pes
                .map(|pe| Access {
                    pe,
                    does: "puts".into(),
                    bytes: 8,
                    operation: "put".into(),
                    place: "heat.c:88".into(),
                })
                .into(),
            memory: "symmetric".into(),
            place: String::new(),
            why: String::new(),
            remedy: String::new(),
            keys: [0; 4],
        };
        let reports = vec![
            report("two-puts", [1, 1]),
            report("write-early", [1, 0]),
            report("two-writers", [0, 2]),
        ];
        let names = causes_first(&reports).into_iter().map(|one| one.problem);
        let names: Vec<String> = names.collect();
        assert_eq!(names, ["write-early", "two-writers", "two-puts"]);
    }

    #[test]
    fn paths_become_references() {
        assert_eq!(uri("a b/c.c"), "a%20b/c.c");
        assert_eq!(uri("/tmp/c.c"), "file:///tmp/c.c");
    }
}
