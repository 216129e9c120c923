//! The parts of a function's documentation: its effect, who must call it and when it is complete, its section in the standard,
//! its errors. Each emitter formats them for its language.

use anyhow::{Context, Result, ensure};

/// The first words of the paragraph that says who must call the function and when the call is complete.
const CALLERS: [&str; 3] = ["Local", "One-sided", "Collective"];

/// The phrases that state completion.
const COMPLETION: [&str; 8] = [
    "Returns when",
    "returns when",
    "Complete",
    "complete",
    "completes",
    "Completion as",
    "after quiet",
    "after `nvshmemrs_quiet`",
];

/// The beginning and the end of the sentence about the standard.
const STANDARDS: [(&str, &str); 4] = [
    ("OpenSHMEM 1.", ")."),
    ("NVSHMEM `", "`."),
    ("NVSHMEM: ", "."),
    ("OpenSHMEM does not have it", "."),
];

/// The parts, each without line breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    /// The effect of the function: paragraphs.
    pub does: Vec<String>,
    /// The PEs that must call the function, and the time of completion: a paragraph.
    pub call: String,
    /// The section of OpenSHMEM or NVSHMEM: a sentence.
    pub standard: String,
    /// The text after the word "Errors", with its punctuation: `: A, B.` or `, on every member: A, B.`; empty if the function
    /// returns no status.
    pub errors: String,
}

impl Parts {
    /// The effect, and who must call it, as paragraphs with empty lines between.
    pub fn text(&self) -> Vec<String> {
        let paragraphs = self.does.iter().chain([&self.call]);
        let with_gaps = paragraphs.flat_map(|one| [one.clone(), String::new()]);
        let mut lines: Vec<String> = with_gaps.collect();
        lines.pop();
        lines
    }

    /// The result of a function that returns a status: `success`, as the language writes it, or the errors. `None` without a
    /// status.
    pub fn result(&self, success: &str) -> Option<String> {
        match self.errors.as_str() {
            "" => None,
            ": none." => Some(format!("{success}.")),
            errors => Some(format!("{success}, or an error{errors}")),
        }
    }

    /// Splits documentation into its parts. An error names a missing part.
    pub fn of(docs: &[String], gives_status: bool) -> Result<Self> {
        let mut paragraphs = vec![String::new()];
        for line in docs {
            let last = paragraphs.len() - 1;
            if line.is_empty() || line.starts_with("Errors") {
                paragraphs.push(line.clone());
            } else if paragraphs[last].is_empty() {
                paragraphs[last] = line.clone();
            } else {
                paragraphs[last] = format!("{} {line}", paragraphs[last]);
            }
        }
        paragraphs.retain(|paragraph| !paragraph.is_empty());

        let errors = paragraphs.iter().position(|one| one.starts_with("Errors"));
        let errors = errors.map(|at| paragraphs.remove(at));
        let errors = errors.map_or(String::new(), |text| text["Errors".len()..].to_string());
        ensure!(
            !gives_status || errors.contains(": "),
            "its docs have no line that begins with `Errors: `"
        );
        let calls = |one: &String| CALLERS.iter().any(|word| one.starts_with(word));
        let at = paragraphs.iter().position(calls).with_context(|| {
            format!("its docs do not say who calls it, in a paragraph that begins with one of {CALLERS:?}")
        })?;
        let (call, standard) = without_standard(&paragraphs.remove(at))?;
        ensure!(!paragraphs.is_empty(), "its docs do not say what it does");
        let whole = format!("{} {call}", paragraphs.join(" "));
        ensure!(
            call.starts_with("Local") || COMPLETION.iter().any(|word| whole.contains(word)),
            "its docs do not say when it is complete: one of {COMPLETION:?}"
        );
        Ok(Self {
            does: paragraphs,
            call,
            standard,
            errors,
        })
    }
}

/// Removes the sentence about the standard from a paragraph, and returns both.
fn without_standard(call: &str) -> Result<(String, String)> {
    let found = STANDARDS
        .iter()
        .find_map(|(start, end)| Some((call.find(start)?, *end)));
    let (from, end) = found.context("its docs name neither OpenSHMEM nor NVSHMEM")?;
    let length = call[from..]
        .find(end)
        .with_context(|| format!("the sentence about the standard does not end with `{end}`"))?;
    let to = from + length + end.len();
    let rest = format!("{} {}", call[..from].trim(), call[to..].trim());
    Ok((rest.trim().to_string(), call[from..to].to_string()))
}

#[cfg(test)]
mod tests {
    use super::Parts;

    fn parts(text: &str) -> anyhow::Result<Parts> {
        let docs: Vec<String> = text.lines().map(String::from).collect();
        Parts::of(&docs, true)
    }

    const WHOLE: &str = "Copies `bytes` bytes.\nMore.\n\nCollective over `team`. Returns when\n`dest` is written. \
                         OpenSHMEM 1.5 section 9.9.5 (`shmem_a`,\n`shmem_b`). Twice.\nErrors, on every member: A,\nB.";

    #[test]
    fn documentation_is_taken_apart() {
        let parts = parts(WHOLE).expect("all parts");
        assert_eq!(parts.does, ["Copies `bytes` bytes. More."]);
        let call = "Collective over `team`. Returns when `dest` is written. Twice.";
        assert_eq!(parts.call, call);
        let standard = "OpenSHMEM 1.5 section 9.9.5 (`shmem_a`, `shmem_b`).";
        assert_eq!(parts.standard, standard);
        assert_eq!(parts.errors, ", on every member: A, B.");
    }

    #[test]
    fn a_missing_part_is_named() {
        for (lost, said) in [
            ("Copies `bytes` bytes.\nMore.", "what it does"),
            ("Collective", "who calls it"),
            ("Returns", "when it is complete"),
            ("OpenSHMEM", "neither OpenSHMEM nor NVSHMEM"),
            ("Errors", "`Errors: `"),
        ] {
            let text = WHOLE.replace(
                lost,
                if lost == "Copies `bytes` bytes.\nMore." {
                    ""
                } else {
                    "X"
                },
            );
            let error = parts(&text).expect_err(lost).to_string();
            assert!(error.contains(said), "{lost}: {error}");
        }
    }
}
