//! The findings that the synchronisation checker has written, and the findings that a program of `tests/checker/planted` expects.

use std::fs;
use std::path::Path;

/// The title of a report on a read and a write without a known order.
const UNORDERED: &str = "one place is read and written";

/// The kinds of findings as the first comments of programs name them, with the possible titles of their reports, and a part of the reason
/// if that matters.
#[rustfmt::skip]
const KINDS: [(&str, &[&str], &str); 16] = [
    ("read early", &["data is read that may not have arrived", UNORDERED], ""),
    ("missing fence", &["data is read that may not have arrived"], "fence"),
    ("write early", &["data is written that another PE may still read", UNORDERED], ""),
    ("two writers", &["two PEs write to one place"], ""),
    ("source reused", &["was changed before quiet"], ""),
    ("dest used", &["is used before quiet"], ""),
    ("missed", &["a wait can miss its value"], ""),
    ("freed early", &["a block is freed, and nobody can have used the data put there"], ""),
    ("freed while pending", &["a block is freed before the"], ""),
    ("read back", &["a PE reads its own put before quiet"], ""),
    ("two puts", &["two puts to one place without a fence"], ""),
    ("mixed", &["a word is used by an atomic and by a plain operation"], ""),
    ("stream and caller", &["a stream and its caller use one place"], ""),
    ("two streams", &["two streams use one place"], ""),
    ("freed", &["memory is used after the"], ""),
    ("unmatched", &["do not call the same collective"], ""),
];

/// The start of the line about a problem that was reported before, between other places.
const AGAIN: &str = "the same problem once more: ";

/// An operation at a line of a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Site {
    /// The operation.
    pub operation: String,
    /// The file, without folders.
    pub file: String,
    /// The line.
    pub line: usize,
}

/// A block that the checker has written.
#[derive(Clone, Debug)]
pub struct Finding {
    title: String,
    /// None in a line for a problem that was reported before.
    why: Option<String>,
    sites: Vec<Site>,
}

/// A finding that a program asks for.
#[derive(Clone, Debug)]
pub struct Expected {
    kinds: Vec<String>,
    sites: Vec<Site>,
}

/// The expectations in the first comment of a program.
#[derive(Clone, Debug, Default)]
pub struct Header {
    /// The findings that must appear.
    pub expected: Vec<Expected>,
    /// The findings that may appear besides.
    pub possible: Vec<Expected>,
    /// The number of problems that the launcher counts; none for one.
    pub problems: Option<usize>,
    /// The number of PEs that the program needs; none for any.
    pub n_pes: Option<u32>,
    /// Whether the program's own loads and stores are shown to the checker.
    pub instrumented: bool,
}

impl Site {
    /// Reads "put at src/heat.c:71 (send_halo)".
    #[track_caller]
    fn read(text: &str) -> Site {
        let site = text.split_once(" at ").and_then(|(operation, place)| {
            let place = place.split_once(" (").map_or(place, |(place, _)| place);
            let (file, line) = place.rsplit_once(':')?;
            Some(Site {
                operation: operation.trim().into(),
                file: Path::new(file).file_name()?.to_str()?.into(),
                line: line.parse().ok()?,
            })
        });
        site.unwrap_or_else(|| panic!("no place with a line: {text:?}"))
    }
}

/// The findings in a job's standard error.
#[track_caller]
pub fn findings(stderr: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut lines = stderr.lines().peekable();
    while let Some(line) = lines.next() {
        let title = line
            .strip_prefix("nvshmemrs check: PE ")
            .and_then(|rest| rest.split_once(": "));
        let Some((_, title)) = title else { continue };
        if let Some(rest) = title.strip_prefix(AGAIN) {
            let (title, sites) = rest.split_once(": ").expect("a title");
            let (one, other) = sites.split_once(", and ").expect("two places");
            found.push(Finding {
                title: title.into(),
                why: None,
                sites: [one, other].map(Site::read).into(),
            });
            continue;
        }
        let mut block = Vec::new();
        while let Some(line) = lines.next_if(|line| line.starts_with("  ")) {
            block.push(line.trim_start());
        }
        let why = block.iter().find_map(|line| line.strip_prefix("why: "));
        let parties = block.iter().filter(|line| line.starts_with("PE "));
        let sites = parties.map(|line| {
            let (_, site) = line
                .split_once(": ")
                .unwrap_or_else(|| panic!("no site: {line}"));
            Site::read(site)
        });
        let finding = Finding {
            title: title.into(),
            why: Some(why.unwrap_or_default().into()),
            sites: sites.collect(),
        };
        // Other lines of the checker, such as how often something was found, name no operations.
        if !finding.sites.is_empty() {
            found.push(finding);
        }
    }
    found
}

impl Finding {
    /// Whether the whole of it was written: more than a line about a problem that was reported before.
    pub fn is_whole(&self) -> bool {
        self.why.is_some()
    }
}

impl Expected {
    /// Whether a finding is this one: its kind, and both places in either order.
    pub fn is(&self, finding: &Finding) -> bool {
        let kind = |name: &String| {
            let (_, titles, why) = KINDS
                .iter()
                .find(|kind| kind.0 == name)
                .unwrap_or_else(|| panic!("there is no finding called {name:?}"));
            titles.iter().any(|title| finding.title.contains(title))
                && (finding.why.as_ref()).is_none_or(|said| said.contains(why))
        };
        let (mut one, mut other) = (self.sites.clone(), finding.sites.clone());
        one.sort();
        other.sort();
        self.kinds.iter().any(kind) && one == other
    }
}

impl Header {
    /// Reads the first comment of a program, and finds the lines of its marks.
    #[track_caller]
    pub fn of(source: &Path) -> Header {
        let text = fs::read_to_string(source)
            .unwrap_or_else(|error| panic!("{}: {error}", source.display()));
        let file = source.file_name().and_then(|name| name.to_str());
        let line_of = |mark: &str| {
            let marks = ["/* {} */", "// {}", "! {}", "# {}"].map(|form| form.replace("{}", mark));
            let ends = |line: &str| marks.iter().any(|mark| line.trim_end().ends_with(mark));
            let line = text.lines().position(ends);
            line.unwrap_or_else(|| panic!("{}: no mark {mark}", source.display())) + 1
        };
        let expected = |words: &str| {
            let (kinds, sites) = words
                .split_once(": ")
                .unwrap_or_else(|| panic!("{}: {words:?} names no kind", source.display()));
            let site = |site: &str| {
                let (operation, mark) = site.split_once(" at ").expect("an operation at a mark");
                Site {
                    operation: operation.into(),
                    file: file.expect("a name in UTF-8").into(),
                    line: line_of(mark.trim()),
                }
            };
            Expected {
                kinds: kinds.split(" or ").map(Into::into).collect(),
                sites: sites.split(", ").map(site).collect(),
            }
        };
        let mut header = Header {
            instrumented: true,
            ..Header::default()
        };
        for line in text.lines() {
            let words = line.trim_start_matches(['/', '*', '!', '#', ' ']).trim();
            if let Some(words) = words.strip_prefix("Expect: ") {
                header.expected.push(expected(words));
            } else if let Some(words) = words.strip_prefix("May: ") {
                header.possible.push(expected(words));
            } else if let Some(words) = words.strip_prefix("Problems: ") {
                header.problems = Some(words.parse().expect("a number of problems"));
            } else if let Some(words) = words.strip_prefix("PEs: ") {
                header.n_pes = Some(words.parse().expect("a number of PEs"));
            } else if words.starts_with("Not instrumented") {
                header.instrumented = false;
            }
        }
        header
    }
}
