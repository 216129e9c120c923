//! The calls of a tracker's service, as words: the number of the method, then its arguments.

use super::Method;
use crate::Pe;
use crate::area::{MAX_PES, SITES};
use crate::buffer::SymRange;
use crate::dtype::Dtype;
use crate::op::Cmp;
use crate::report::{AccessInfo, Finding, FindingPlace, Problem};
use crate::shadow::{Cell, Conflict, Rewrites};
use crate::tracker::{Kind, ReleaseStamp, Standing};
use std::borrow::Cow;

/// Conflicts of a put that are sent at most: for two puts without a fence, of which each is as good.
const CONFLICTS: usize = 64;
/// Bytes of a text at most.
const TEXT: usize = 1500;
/// The end of a text that was cut off.
const CUT: &str = "…";

/// A call, to be sent.
pub(super) struct Call(pub(super) Vec<u64>);

impl Call {
    pub(super) fn new(method: Method) -> Call {
        let mut words = Vec::with_capacity(16);
        words.push(method as u64);
        Call(words)
    }

    /// Adds an argument.
    pub(super) fn with(mut self, argument: &impl Wire) -> Call {
        argument.write(&mut self.0);
        self
    }
}

/// Adds a text, of which the end is cut off if it is long.
fn add_text(words: &mut Vec<u64>, text: &str) {
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

/// Reads words that another PE of a job of `n_pes` has written.
pub(super) struct Reader<'a> {
    pub(super) words: &'a [u64],
    pub(super) n_pes: Pe,
}

impl Reader<'_> {
    fn words<const N: usize>(&mut self) -> Option<[u64; N]> {
        let (words, rest) = self.words.split_first_chunk()?;
        self.words = rest;
        Some(*words)
    }

    /// Whether all words have been read.
    pub(super) fn end(&self) -> Option<()> {
        self.words.is_empty().then_some(())
    }
}

/// An argument or a result.
pub(super) trait Wire {
    fn write(&self, words: &mut Vec<u64>);

    /// `None`: the words make no sense.
    fn read(words: &mut Reader<'_>) -> Option<Self>
    where
        Self: Sized;
}

/// Values of one word.
macro_rules! words {
    ($($type:ty: |$value:ident| $to:expr, |$word:ident, $n_pes:ident| $from:expr;)*) => { $(
        impl Wire for $type {
            fn write(&self, words: &mut Vec<u64>) {
                let $value = *self;
                words.push($to);
            }

            fn read(words: &mut Reader<'_>) -> Option<$type> {
                let ([$word], $n_pes) = (words.words()?, words.n_pes);
                $from
            }
        }
    )* };
}

words! {
    u64: |value| value, |word, _n| Some(word);
    bool: |value| value.into(), |word, _n| Some(word != 0);
    // The number of a site.
    u16: |site| site.into(), |word, _n| u16::try_from(word).ok().filter(|site| u64::from(*site) < SITES);
    // The number of a team.
    u32: |team| team.into(), |word, _n| u32::try_from(word).ok();
    Pe: |pe| pe as u64, |word, n_pes| Pe::try_from(word).ok().filter(|pe| *pe < n_pes.min(MAX_PES));
    Kind: |kind| kind as u64, |word, _n| Kind::from_number(word);
    Standing: |standing| standing as u64, |word, _n| Standing::from_number(word);
    Dtype: |dtype| dtype as u64, |word, _n| Dtype::from_number(i32::try_from(word).ok()?).ok();
    Cmp: |cmp| cmp as u64, |word, _n| Cmp::from_number(i32::try_from(word).ok()?).ok();
}

impl Wire for () {
    fn write(&self, _: &mut Vec<u64>) {}

    fn read(_: &mut Reader<'_>) -> Option<()> {
        Some(())
    }
}

impl<A: Wire, B: Wire> Wire for (A, B) {
    fn write(&self, words: &mut Vec<u64>) {
        self.0.write(words);
        self.1.write(words);
    }

    fn read(words: &mut Reader<'_>) -> Option<(A, B)> {
        Some((A::read(words)?, B::read(words)?))
    }
}

impl Wire for SymRange {
    fn write(&self, words: &mut Vec<u64>) {
        words.extend([self.offset(), self.bytes()]);
    }

    fn read(words: &mut Reader<'_>) -> Option<SymRange> {
        let [offset, bytes] = words.words()?;
        Some(SymRange::new(offset, bytes))
    }
}

impl Wire for ReleaseStamp {
    fn write(&self, words: &mut Vec<u64>) {
        words.extend([self.tag, self.fenced, self.data.0, self.data.1]);
    }

    fn read(words: &mut Reader<'_>) -> Option<ReleaseStamp> {
        let [tag, fenced, offset, bytes] = words.words()?;
        let data = (offset, bytes);
        Some(ReleaseStamp { tag, fenced, data })
    }
}

impl Wire for Rewrites {
    fn write(&self, words: &mut Vec<u64>) {
        let some = self.iter().take(CONFLICTS);
        words
            .extend(some.flat_map(|conflict| [conflict.cell.bits(), conflict.start, conflict.end]));
    }

    fn read(words: &mut Reader<'_>) -> Option<Rewrites> {
        let (conflicts, _) = std::mem::take(&mut words.words).as_chunks();
        let read = |&[bits, start, end]: &[u64; 3]| {
            let cell = Cell::of(bits).filter(|_| start < end)?;
            Some(Conflict { cell, start, end })
        };
        Some(conflicts.iter().filter_map(read).collect())
    }
}

impl Wire for String {
    fn write(&self, words: &mut Vec<u64>) {
        add_text(words, self);
    }

    fn read(words: &mut Reader<'_>) -> Option<String> {
        let [len] = words.words()?;
        let len = usize::try_from(len).ok()?;
        let (text, rest) = words.words.split_at_checked(len.div_ceil(8))?;
        words.words = rest;
        let bytes: &[u8] = &bytemuck::cast_slice(text)[..len];
        // It goes to the terminal.
        Some(String::from_utf8_lossy(bytes).replace(|c: char| c.is_control() && c != '\n', "?"))
    }
}

/// No words at the end of a reply, or a text.
impl Wire for Option<String> {
    fn write(&self, words: &mut Vec<u64>) {
        if let Some(text) = self {
            text.write(words);
        }
    }

    fn read(words: &mut Reader<'_>) -> Option<Option<String>> {
        Some(String::read(words))
    }
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

/// The verbs of the operations in these findings.
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

/// The number of an item in one of these lists, which a test compares with the sources.
fn number<T: PartialEq>(all: &[T], one: &T) -> u64 {
    let found = all.iter().position(|known| known == one);
    found.unwrap_or(all.len()) as u64
}

fn at<T: Copy>(all: &[T], number: u64) -> Option<T> {
    all.get(usize::try_from(number).ok()?).copied()
}

impl Wire for Finding {
    fn write(&self, words: &mut Vec<u64>) {
        let (kind, pe, offset) = match self.place {
            FindingPlace::Symmetric { pe, offset } => (0, pe as u64, offset),
            FindingPlace::Private { address } => (1, 0, address),
            FindingPlace::Team { number } => (2, 0, number.into()),
        };
        let problem = number(&PROBLEMS, &self.problem);
        words.extend([problem, self.unordered.into(), kind, pe, offset]);
        for party in [&self.now, &self.other] {
            let does = number(&DOES, &party.does);
            words.extend([party.pe as u64, party.bytes, party.site.into(), does]);
        }
        self.why.write(words);
        self.remedy.write(words);
    }

    fn read(words: &mut Reader<'_>) -> Option<Finding> {
        let [problem, unordered, kind] = words.words()?;
        let (pe, offset) = Wire::read(words)?;
        let place = match kind {
            0 => FindingPlace::Symmetric { pe, offset },
            1 => FindingPlace::Private { address: offset },
            2 => FindingPlace::Team {
                number: u32::try_from(offset).ok()?,
            },
            _ => return None,
        };
        let mut party = || {
            Some(AccessInfo {
                pe: Wire::read(words)?,
                bytes: Wire::read(words)?,
                site: Wire::read(words)?,
                does: at(&DOES, Wire::read(words)?)?,
            })
        };
        let (now, other) = (party()?, party()?);
        Some(Finding {
            problem: at(&PROBLEMS, problem)?,
            place,
            now,
            other,
            why: Wire::read(words)?,
            remedy: Wire::read(words)?,
            unordered: unordered != 0,
        })
    }
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
            let mut words = Vec::new();
            finding.write(&mut words);
            let read = |words, n_pes| Finding::read(&mut Reader { words, n_pes });
            let found = read(&words, 2).expect("a finding");
            let cut = Finding {
                why: "é".repeat((TEXT - CUT.len()) / 2) + CUT,
                ..finding
            };
            assert_eq!(format!("{found:?}"), format!("{cut:?}"));
            assert!(read(&words, 1).is_none(), "PE 1 of 1");
            for len in 0..words.len() {
                assert!(read(&words[..len], 2).is_none(), "{len}");
            }
        }
    }

    #[test]
    fn findings_without_a_tracker_have_numbers() {
        let sources = [
            include_str!("../actors.rs"),
            include_str!("../freed.rs"),
            include_str!("../in_flight.rs"),
            include_str!("../lib.rs"),
            include_str!("../two_puts.rs"),
        ];
        // The text before the verb of an operation.
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
        let site = |word| {
            let words = &[word];
            u16::read(&mut Reader { words, n_pes: 1 }).map(u64::from)
        };
        let sites = [SITES - 1, SITES, u64::MAX].map(site);
        assert_eq!(sites, [Some(SITES - 1), None, None]);
    }

    #[test]
    fn texts_are_harmless_to_a_terminal() {
        let mut words = Vec::new();
        add_text(&mut words, "a\u{1b}[31m\nb");
        let mut reader = Reader {
            words: &words,
            n_pes: 1,
        };
        let text = String::read(&mut reader);
        assert_eq!(text.as_deref(), Some("a?[31m\nb"));
    }
}
