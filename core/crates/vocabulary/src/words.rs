//! Words for messages: lists of PEs, numbers, processes, times.

use crate::Pe;
use std::time::Duration;

/// Most PEs that a list names one by one.
const MOST: usize = 16;

/// "PE 3", "PEs 1 and 2", "PEs 0 to 9".
pub fn pes(list: &[Pe]) -> String {
    match list {
        [] => "no PE".to_string(),
        [one] => format!("PE {one}"),
        [first, .., last] if (last - first) as usize == list.len() - 1 && list.len() > 2 => {
            format!("PEs {first} to {last}")
        }
        many if many.len() > MOST => format!(
            "PEs {} and {} more",
            numbers(&many[..MOST]),
            many.len() - MOST
        ),
        [first @ .., last] => format!("PEs {} and {last}", numbers(first)),
    }
}

fn numbers(list: &[Pe]) -> String {
    let numbers: Vec<String> = list.iter().map(Pe::to_string).collect();
    numbers.join(", ")
}

/// The text for a process with number `pid`, or without a number in this pid namespace (0).
pub fn numbered(pid: u32) -> String {
    match pid {
        0 => "pid not known here".to_string(),
        pid => format!("pid {pid}"),
    }
}

/// The command that continues a stopped process.
pub fn continued(pid: u32) -> String {
    match pid {
        // `kill -CONT 0` would be for the caller's own processes.
        0 => "SIGCONT".to_string(),
        pid => format!("`kill -CONT {pid}`"),
    }
}

/// The verb for as many subjects: "wait", "waits".
pub fn verb(word: &str, subjects: usize) -> String {
    match (word, subjects) {
        ("is", 1) | ("has", 1) => word.to_string(),
        ("is", _) => "are".to_string(),
        ("has", _) => "have".to_string(),
        (_, 1) => format!("{word}s"),
        _ => word.to_string(),
    }
}

/// "1 report", "2 reports".
pub fn counted(number: u64, word: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {word}{ending}")
}

/// The PEs that a number may name, of `n_pes`: "a PE from 0 to 3".
pub(crate) fn one_of_pes(n_pes: Pe) -> String {
    match n_pes {
        1 => "PE 0, the only one".to_string(),
        n_pes => format!("a PE from 0 to {}", n_pes - 1),
    }
}

/// The subject of an error: "argument `dest`", or "setting `NVSHMEMRS_TIMEOUT`".
pub(crate) fn subject(name: &str) -> String {
    let capital = name.starts_with(|first: char| first.is_ascii_uppercase());
    let kind = if capital { "setting" } else { "argument" };
    format!("{kind} `{name}`")
}

/// "1st", "22nd", "13th".
pub fn ordinal(number: u64) -> String {
    let ending = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

/// Seconds, with one digit.
pub fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_pes_read_well() {
        assert_eq!(pes(&[]), "no PE");
        assert_eq!(pes(&[3]), "PE 3");
        assert_eq!(pes(&[1, 2]), "PEs 1 and 2");
        assert_eq!(pes(&[0, 1, 2, 3]), "PEs 0 to 3");
        assert_eq!(pes(&[0, 2, 3]), "PEs 0, 2 and 3");
        let odd: Vec<Pe> = (0..40).filter(|pe| pe % 2 == 1).collect();
        assert_eq!(
            pes(&odd),
            "PEs 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31 and 4 more"
        );
    }

    #[test]
    fn singular_and_plural() {
        assert_eq!(counted(1, "report"), "1 report");
        assert_eq!(counted(2, "report"), "2 reports");
        assert_eq!(one_of_pes(1), "PE 0, the only one");
        assert_eq!(one_of_pes(4), "a PE from 0 to 3");
        assert_eq!(subject("dest"), "argument `dest`");
        assert_eq!(subject("PMI_RANK"), "setting `PMI_RANK`");
    }

    #[test]
    fn ordinals() {
        let all = [1, 2, 3, 4, 11, 12, 13, 21, 22, 103, 111].map(ordinal);
        let expected = [
            "1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "22nd", "103rd", "111th",
        ];
        assert_eq!(all, expected);
    }
}
