//! The calls of a tracker's service, as words: the call's number, its arguments, then its texts.

use crate::Pe;
use crate::area::{MAX_PES, SITES};
use crate::report::{AccessInfo, Finding, FindingPlace, Problem};
use crate::shadow::{Cell, Conflict};
use crate::tracker::ReleaseStamp;
use std::borrow::Cow;

/// Bytes of a text at most.
const TEXT: usize = 1500;
/// The end of a text that was cut off.
const CUT: &str = "…";

macro_rules! numbered {
    ($($name:ident,)*) => {
        /// What a PE of another host asks its tracker, by the names of the tracker's methods.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u64)]
        pub(super) enum Ask { $($name),* }

        impl Ask {
            const ALL: &[Ask] = &[$(Ask::$name),*];

            /// The call with this number.
            pub(super) fn from_number(number: u64) -> Option<Ask> {
                Ask::ALL.get(usize::try_from(number).ok()?).copied()
            }
        }
    };
}

numbered! {
    Access, Put, Reissue, Fence, Quiet, Release, Delivered, Update, Acquire, WaitBegins, WaitEnds, Arrive, ArrivedAt, Met, Tag, Turn,
    MayKnowUnseen, PointerGiven, ShowsAccesses, Commit, Decommit, Allocated, Maker, Freed, NotFreed, AllFreed, Found, Findings, JobFindings,
    Report, Summary, SiteName, SetSite, Sync,
}

/// A call, to be written.
pub(super) fn call(ask: Ask, words: &[u64]) -> Vec<u64> {
    let mut call = Vec::with_capacity(1 + words.len());
    call.push(ask as u64);
    call.extend(words);
    call
}

/// Adds a text, of which the end is cut off if it is long.
pub(super) fn add_text(words: &mut Vec<u64>, text: &str) {
    let text: Cow<'_, str> = if text.len() > TEXT {
        let end = (0..=TEXT - CUT.len()).rfind(|&end| text.is_char_boundary(end));
        Cow::from(text[..end.unwrap_or(0)].to_string() + CUT)
    } else {
        Cow::from(text)
    };
    let text = text.as_bytes();
    let start = words.len() + 1;
    words.push(text.len() as u64);
    words.resize(start + text.len().div_ceil(8), 0);
    bytemuck::cast_slice_mut(&mut words[start..])[..text.len()].copy_from_slice(text);
}

/// Reads words that another PE has written.
pub(super) struct Reader<'a>(pub(super) &'a [u64]);

impl Reader<'_> {
    pub(super) fn words<const N: usize>(&mut self) -> Option<[u64; N]> {
        let (words, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*words)
    }

    pub(super) fn word(&mut self) -> Option<u64> {
        self.words().map(|[word]| word)
    }

    pub(super) fn text(&mut self) -> Option<String> {
        let len = usize::try_from(self.word()?).ok()?;
        let (words, rest) = self.0.split_at_checked(len.div_ceil(8))?;
        self.0 = rest;
        let bytes: &[u8] = &bytemuck::cast_slice(words)[..len];
        // It goes to the terminal.
        Some(String::from_utf8_lossy(bytes).replace(|c: char| c.is_control() && c != '\n', "?"))
    }
}

pub(super) fn of_stamp(stamp: &ReleaseStamp) -> [u64; 4] {
    let (data, bytes) = stamp.data;
    [stamp.tag, stamp.fenced, data, bytes]
}

pub(super) fn to_stamp([tag, fenced, data, bytes]: [u64; 4]) -> ReleaseStamp {
    ReleaseStamp {
        tag,
        fenced,
        data: (data, bytes),
    }
}

pub(super) fn of_conflict(conflict: &Conflict) -> [u64; 3] {
    [conflict.cell.bits(), conflict.start, conflict.end]
}

pub(super) fn to_conflict([bits, start, end]: [u64; 3]) -> Option<Conflict> {
    let cell = Cell::of(bits).filter(|_| start < end)?;
    Some(Conflict { cell, start, end })
}

/// The problems that a PE finds without its tracker.
const PROBLEMS: [Problem; 8] = [
    Problem::SourceReused,
    Problem::DestUsed,
    Problem::FreePending,
    Problem::TwoPuts,
    Problem::StreamCaller,
    Problem::TwoStreams,
    Problem::Freed,
    Problem::Unmatched,
];

/// What operations do in these.
const DOES: [&str; 9] = [
    "reads",
    "writes",
    "puts",
    "frees",
    "lends",
    "calls",
    "notices it in",
    "writes, on a stream,",
    "reads, on a stream,",
];

/// The number of something that a PE finds without its tracker. A test compares the lists with the sources.
fn number<T: PartialEq>(all: &[T], one: &T) -> u64 {
    let found = all.iter().position(|known| known == one);
    found.unwrap_or(all.len()) as u64
}

fn at<T: Copy>(all: &[T], number: u64) -> Option<T> {
    all.get(usize::try_from(number).ok()?).copied()
}

/// A finding of a PE's own.
pub(super) fn of_finding(finding: &Finding) -> Vec<u64> {
    let (kind, pe, offset) = match finding.place {
        FindingPlace::Symmetric { pe, offset } => (0, pe as u64, offset),
        FindingPlace::Private { address } => (1, 0, address),
        FindingPlace::Team { number } => (2, 0, number.into()),
    };
    let mut words = vec![
        number(&PROBLEMS, &finding.problem),
        finding.unordered.into(),
        kind,
        pe,
        offset,
    ];
    for party in [&finding.now, &finding.other] {
        let does = number(&DOES, &party.does);
        words.extend([party.pe as u64, party.bytes, party.site.into(), does]);
    }
    add_text(&mut words, &finding.why);
    add_text(&mut words, &finding.remedy);
    words
}

/// Reads a PE of a job of `n_pes`.
pub(super) fn to_pe(word: u64, n_pes: Pe) -> Option<Pe> {
    let pe = Pe::try_from(word).ok()?;
    (pe < n_pes.min(MAX_PES)).then_some(pe)
}

/// Reads the number of a site.
pub(super) fn to_site(word: u64) -> Option<u16> {
    let site = u16::try_from(word).ok()?;
    (u64::from(site) < SITES).then_some(site)
}

/// Reads a finding in a job of `n_pes`.
pub(super) fn to_finding(words: &mut Reader<'_>, n_pes: Pe) -> Option<Finding> {
    let [problem, unordered, kind, pe, offset] = words.words()?;
    let place = match kind {
        0 => FindingPlace::Symmetric {
            pe: to_pe(pe, n_pes)?,
            offset,
        },
        1 => FindingPlace::Private { address: offset },
        2 => FindingPlace::Team {
            number: u32::try_from(offset).ok()?,
        },
        _ => return None,
    };
    let mut party = || {
        let [pe, bytes, site, does] = words.words()?;
        Some(AccessInfo {
            pe: to_pe(pe, n_pes)?,
            does: at(&DOES, does)?,
            bytes,
            site: to_site(site)?,
        })
    };
    let (now, other) = (party()?, party()?);
    Some(Finding {
        problem: at(&PROBLEMS, problem)?,
        place,
        now,
        other,
        why: words.text()?,
        remedy: words.text()?,
        unordered: unordered != 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn findings_go_there_and_back() {
        let party = |pe, does| AccessInfo {
            pe,
            does,
            bytes: 24,
            site: 9,
        };
        let places = [
            FindingPlace::Symmetric { pe: 1, offset: 72 },
            FindingPlace::Private { address: 0x7000 },
            FindingPlace::Team { number: 3 },
        ];
        let kinds = PROBLEMS.into_iter().cycle().zip(places.into_iter().cycle());
        for (does, (problem, place)) in DOES.into_iter().zip(kinds) {
            let finding = Finding {
                problem,
                place,
                now: party(1, "puts"),
                other: party(0, does),
                why: "é".repeat(TEXT),
                remedy: String::new(),
                unordered: true,
            };
            let words = of_finding(&finding);
            let read = to_finding(&mut Reader(&words), 2).expect("a finding");
            let cut = Finding {
                why: "é".repeat((TEXT - CUT.len()) / 2) + CUT,
                ..finding
            };
            assert_eq!(format!("{read:?}"), format!("{cut:?}"));
            assert!(to_finding(&mut Reader(&words), 1).is_none(), "PE 1 of 1");
            for len in 0..words.len() {
                assert!(to_finding(&mut Reader(&words[..len]), 2).is_none(), "{len}");
            }
        }
    }

    #[test]
    fn whatever_a_pe_finds_without_its_tracker_has_a_number() {
        let sources = [
            include_str!("../actors.rs"),
            include_str!("../freed.rs"),
            include_str!("../in_flight.rs"),
            include_str!("../lib.rs"),
            include_str!("../two_puts.rs"),
        ];
        // What stands before the word that says what an operation does.
        let marks = [
            "does: \"",
            "party(\"",
            "user(\"",
            "write { \"",
            "else { \"",
            "true) => \"",
            "false) => \"",
        ];
        let (mut does, mut problems) = (BTreeSet::new(), BTreeSet::new());
        for source in sources {
            let code = source.split("#[cfg(test)]").next().unwrap_or(source);
            for mark in marks {
                let words = code.split(mark).skip(1);
                does.extend(words.filter_map(|rest| rest.split('"').next()));
            }
            for rest in code.split("Problem::").skip(1) {
                let name = rest.split(|c: char| !c.is_alphanumeric()).next();
                problems.extend(name.map(String::from));
            }
        }
        assert_eq!(does, BTreeSet::from(DOES));
        let known = PROBLEMS.map(|problem| format!("{problem:?}"));
        assert_eq!(problems, BTreeSet::from(known));
    }

    #[test]
    fn sites_have_a_limit() {
        assert_eq!(to_site(SITES - 1).map(u64::from), Some(SITES - 1));
        assert!(
            [SITES, u64::MAX]
                .into_iter()
                .all(|site| to_site(site).is_none())
        );
    }

    #[test]
    fn texts_are_harmless_to_a_terminal() {
        let mut words = Vec::new();
        add_text(&mut words, "a\u{1b}[31m\nb");
        assert_eq!(Reader(&words).text().as_deref(), Some("a?[31m\nb"));
    }
}
