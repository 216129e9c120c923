//! The pages stay easy to read: short sentences and lines, a short page about the architecture, and links that lead somewhere.

use nvshmemrs_tests::workspace;
use std::fs;
use std::path::{Path, PathBuf};

/// The most words of a sentence. The rule for writers is 25; this leaves room for names that count as words.
const SENTENCE: usize = 32;
/// The most columns of a line of prose.
const LINE: usize = 100;
/// The most lines of a paragraph.
const PARAGRAPH: usize = 5;
/// The most words of docs/architecture.md.
const ARCHITECTURE: usize = 1500;

/// Every page that these rules are for.
fn pages() -> Vec<PathBuf> {
    let docs = fs::read_dir(workspace().join("docs")).expect("the folder of the pages");
    let mut pages: Vec<PathBuf> = docs
        .map(|entry| entry.expect("a folder's entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    pages.extend(
        [
            "README.md",
            "SECURITY.md",
            "CHANGELOG.md",
            "examples/README.md",
            "bindings/python/README.md",
        ]
        .map(|page| workspace().join(page)),
    );
    pages
}

/// A paragraph, an item of a list or a heading: the number of its first line, and its lines.
struct Paragraph<'a> {
    line: usize,
    lines: Vec<&'a str>,
}

/// Whether a line begins an item of a list.
fn begins_item(line: &str) -> bool {
    let (mark, _) = line.trim_start().split_once(' ').unwrap_or_default();
    let number = mark.strip_suffix('.').unwrap_or_default();
    mark == "*" || mark == "-" || number.parse::<u32>().is_ok()
}

/// The paragraphs of a page, without code and tables.
fn paragraphs(text: &str) -> Vec<Paragraph<'_>> {
    let mut paragraphs: Vec<Paragraph> = Vec::new();
    let (mut code, mut open) = (false, false);
    for (line, number) in text.lines().zip(1..) {
        let fence = line.starts_with("```");
        code ^= fence;
        if fence || code || line.trim().is_empty() || line.starts_with('|') {
            open = false;
            continue;
        }
        let heading = line.starts_with('#');
        if open && !heading && !begins_item(line) {
            let last = paragraphs.last_mut().expect("one is open");
            last.lines.push(line);
            continue;
        }
        paragraphs.push(Paragraph {
            line: number,
            lines: vec![line],
        });
        open = !heading;
    }
    paragraphs
}

/// The sentences of a paragraph. A sentence ends with a word that ends with a full stop, as the writers' own check has it.
fn sentences(paragraph: &Paragraph) -> Vec<String> {
    let text = paragraph.lines.join(" ");
    let words: Vec<&str> = text.split_whitespace().collect();
    words
        .split_inclusive(|word| word.ends_with(['.', '!', '?']))
        .map(|sentence| sentence.join(" "))
        .collect()
}

/// The errors in a page's text.
fn faults(text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    for paragraph in paragraphs(text) {
        let line = paragraph.line;
        for sentence in sentences(&paragraph) {
            let words = sentence.split(' ').count();
            if words > SENTENCE {
                faults.push(format!("{line}: {words} words: {sentence}"));
            }
        }
        let lines = paragraph.lines.len();
        if lines > PARAGRAPH {
            faults.push(format!("{line}: a paragraph of {lines} lines"));
        }
        for (text, number) in paragraph.lines.iter().zip(line..) {
            let columns = text.chars().count();
            if columns > LINE {
                faults.push(format!("{number}: {columns} columns"));
            }
        }
    }
    faults
}

/// The anchor of a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = kept.replace(' ', "-");
    kept.chars()
        .filter(|c| c.is_alphanumeric() || *c == '-' || *c == '_')
        .collect()
}

/// The links of a page that lead to a file or heading that is not there.
fn broken(page: &Path, text: &str) -> Vec<String> {
    let links = text.split("](").skip(1);
    let links = links.filter_map(|rest| rest.split(')').next());
    let is_broken = |link: &&str| {
        let (file, heading) = link.split_once('#').unwrap_or((link, ""));
        let target = match file {
            "" => page.to_path_buf(),
            file => page.parent().expect("a folder").join(file),
        };
        if !target.exists() {
            return true;
        }
        let has = |heading: &str| {
            let text = fs::read_to_string(&target).expect("a page");
            text.lines()
                .any(|line| line.starts_with('#') && anchor(line) == heading)
        };
        !heading.is_empty() && !has(heading)
    };
    links
        .filter(|link| !link.contains("://"))
        .filter(is_broken)
        .map(str::to_string)
        .collect()
}

#[test]
fn sentences_lines_and_paragraphs_are_short() {
    let pages = pages();
    assert!(pages.len() >= 12, "only {} pages", pages.len());
    let mut all = Vec::new();
    for page in pages {
        let text = fs::read_to_string(&page).expect("a page");
        let name = page.strip_prefix(workspace()).expect("a page of ours");
        all.extend(
            faults(&text)
                .iter()
                .map(|fault| format!("{}:{fault}", name.display())),
        );
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}

#[test]
fn the_architecture_page_is_short() {
    let page = fs::read_to_string(workspace().join("docs/architecture.md")).expect("the page");
    let words = page.split_whitespace().count();
    assert!(words <= ARCHITECTURE, "{words} words");
}

#[test]
fn links_lead_somewhere() {
    for page in pages() {
        let text = fs::read_to_string(&page).expect("a page");
        let broken = broken(&page, &text);
        assert!(broken.is_empty(), "{}: {broken:?}", page.display());
    }
}

#[test]
fn what_is_long_is_found() {
    let long = "word ".repeat(SENTENCE);
    let fine = format!("{}.\n", long.trim());
    let joined = fine.replace(
        "word word word word word word word word ",
        "word word word word word word word word\n",
    );
    assert_eq!(faults(&joined), [""; 0]);
    let over = joined.replace("word.", "word\nword.");
    assert_eq!(faults(&over).len(), 1, "{:?}", faults(&over));
    assert_eq!(faults(&format!("```\n{over}```\n")), [""; 0]);
    assert_eq!(faults(&format!("| {long} {long} |\n")), [""; 0]);
    assert_eq!(faults(&"a line\n".repeat(PARAGRAPH)), [""; 0]);
    assert_eq!(faults(&"a line\n".repeat(PARAGRAPH + 1)).len(), 1);
    assert_eq!(faults(&"* a line\n".repeat(PARAGRAPH + 1)), [""; 0]);
    assert_eq!(faults(&"x".repeat(LINE + 1)).len(), 1);
    assert_eq!(
        anchor("## What it *cannot* see, `yet`"),
        "what-it-cannot-see-yet"
    );
}
