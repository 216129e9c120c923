//! The waits of a PE as other PEs and observers see them: the target of a wait, and its entry in the PE's
//! block.

use super::block::{Control, NAME_WORDS, PeBlock, TEXT_WORDS, WAIT_SLOTS, WaitSlot};
use super::shared_words::{self, WaitFields};
use crate::Pe;
use crate::clock::now_ns;
use crate::dtype::Dtype;
use crate::op::Cmp;
use crate::operation::Operation;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::atomic::fence;
use std::time::Duration;

/// The target of a wait.
#[derive(Clone, Copy, Debug)]
pub enum Target {
    /// The arrival of a team's members in an epoch.
    Team { index: u32, epoch: u64 },
    /// One or more elements of this PE's symmetric memory; `expected` are the bits of the first one's value.
    Word {
        offset: u64,
        dtype: Dtype,
        count: u64,
        cmp: Cmp,
        expected: u64,
        /// If the element belongs to a lock: the PE ahead in the lock's queue, which writes it.
        ahead: Option<Pe>,
    },
    /// Calls of team_init with an id by `n_pes` threads.
    Join { unique_id: u64, n_pes: Pe },
    /// The `goal`-th operation of a stream of this PE.
    Stream { goal: u64 },
    /// Work of the library on this PE's GPU.
    Device,
    /// A PE's part in an exchange of GPU memory, in a collective over all PEs that all have begun.
    Share { pe: Pe },
    /// The completion of requests by a remote PE, whose library performs them also while its program computes.
    Remote { pe: Pe },
    /// Init or finalize of every PE.
    Job,
}

/// The kinds of targets in a wait slot.
pub mod kind {
    pub(crate) const JOB: u32 = 0;
    pub const TEAM: u32 = 1;
    pub const WORD: u32 = 2;
    pub const JOIN: u32 = 3;
    pub const STREAM: u32 = 4;
    pub const SHARE: u32 = 5;
    pub const DEVICE: u32 = 6;
    pub const REMOTE: u32 = 7;
}

/// The time limit of a wait, by its number on the board; 0 is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Limit {
    Timeout = 1,
    InitTimeout = 2,
    Deadline = 3,
    /// The `timeout` and the `init_timeout` of the program's call of init.
    TimeoutOfInit = 4,
    InitTimeoutOfInit = 5,
}

impl Limit {
    pub fn name(self) -> &'static str {
        match self {
            Limit::Timeout => "NVSHMEMRS_TIMEOUT",
            Limit::InitTimeout => "NVSHMEMRS_INIT_TIMEOUT",
            Limit::Deadline => "the caller's deadline",
            Limit::TimeoutOfInit => "the timeout given to init",
            Limit::InitTimeoutOfInit => "the init_timeout given to init",
        }
    }

    pub fn from_number(number: u32) -> Option<Limit> {
        match number {
            1 => Some(Limit::Timeout),
            2 => Some(Limit::InitTimeout),
            3 => Some(Limit::Deadline),
            4 => Some(Limit::TimeoutOfInit),
            5 => Some(Limit::InitTimeoutOfInit),
            _ => None,
        }
    }
}

/// A wait, as the board shows it.
#[derive(Clone, Copy, Debug)]
pub struct Wait {
    pub operation: Operation,
    pub target: Target,
}

/// The last observation of a wait: the bits of a word, or a count.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    pub actual: u64,
    /// Of several elements: the first that does not match, and the bits of its comparison value.
    pub element: Option<(u64, u64)>,
}

impl From<u64> for Seen {
    fn from(actual: u64) -> Seen {
        Seen {
            actual,
            element: None,
        }
    }
}

/// The name under which the program has called the operation of wait `id` in the `index`-th slot of `pe`, if it was published.
pub fn called_name(control: &Control, pe: Pe, index: usize, id: u64) -> Option<String> {
    let words = called_words(control, pe, index, id)?;
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let name = bytes.split(|byte| *byte == 0).next()?;
    // Another process may have written anything there.
    let sound = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    (!name.is_empty() && name.iter().all(sound)).then(|| String::from_utf8_lossy(name).into())
}

/// Publishes the name under which the program has called the operation of a wait of PE `me`. A longer name than there is room for is not
/// published.
pub fn publish_called_name(control: &Control, me: Pe, wait: &Published<'_>, name: &str) {
    let mut slots = wait.block.waits.iter();
    let is_own = |slot: &WaitSlot| wait.slot.is_some_and(|own| std::ptr::eq(slot, own));
    let mut bytes = [0_u8; 8 * NAME_WORDS];
    let (Some(index), Some(slot), Some(room)) = (
        slots.position(is_own),
        wait.slot,
        bytes.get_mut(..name.len()),
    ) else {
        return;
    };
    room.copy_from_slice(name.as_bytes());
    let words = std::array::from_fn(|word| {
        let word = bytes[8 * word..].first_chunk();
        u64::from_ne_bytes(*word.expect("each word has 8 bytes"))
    });
    let called = &control.called_names(me).slots[index];
    shared_words::publish_called(called, slot.id.load(Relaxed), words);
}

/// The words of the name; none without a name.
pub(super) fn called_words(
    control: &Control,
    pe: Pe,
    index: usize,
    id: u64,
) -> Option<[u64; NAME_WORDS]> {
    let called = control.called_names(pe).slots.get(index)?;
    let same = || called.id.load(Acquire) == id;
    if !same() {
        return None;
    }
    let words = called.name.each_ref().map(|word| word.load(Relaxed));
    fence(Acquire);
    same().then_some(words)
}

/// A wait's entry on the board, for as long as the value lives.
pub struct Published<'a> {
    block: &'a PeBlock,
    pub slot: Option<&'a WaitSlot>,
}

impl<'a> Published<'a> {
    pub fn new(
        control: &'a Control,
        me: Pe,
        wait: &Wait,
        since_ns: u64,
        limit: Option<(Duration, Limit)>,
    ) -> Published<'a> {
        let block = control.pe(me);
        let id = shared_words::next_wait_id(control.header());
        // A PE with more waiting threads than slots shows the first ones.
        let slot = (0..WAIT_SLOTS)
            .map(|index| &block.waits[index])
            .find(|slot| shared_words::take_wait_slot(slot));
        if let Some(slot) = slot {
            let (after, limit) = limit.map_or((0, 0), |(after, limit)| {
                (after.as_nanos() as u64, limit as u32)
            });
            let mut words = WaitFields {
                operation: wait.operation as u32,
                thread: rustix::thread::gettid().as_raw_nonzero().get() as u32,
                since: since_ns,
                until: since_ns.saturating_add(after),
                limit,
                ..WaitFields::default()
            };
            match wait.target {
                Target::Team { index, epoch } => {
                    (words.kind, words.team, words.epoch) = (kind::TEAM, index, epoch);
                }
                Target::Word {
                    offset,
                    dtype,
                    count,
                    cmp,
                    expected,
                    ahead,
                } => {
                    (words.kind, words.cmp) = (kind::WORD, cmp as u32);
                    words.team = ahead.map_or(0, |pe| pe as u32 + 1);
                    (words.dtype, words.bytes) = (dtype as u32, count * dtype.size() as u64);
                    (words.offset, words.expected) = (offset, expected);
                }
                Target::Join { unique_id, n_pes } => {
                    words.kind = kind::JOIN;
                    (words.offset, words.expected) = (unique_id, n_pes as u64);
                }
                Target::Stream { goal } => (words.kind, words.expected) = (kind::STREAM, goal),
                Target::Device => words.kind = kind::DEVICE,
                Target::Share { pe } => (words.kind, words.expected) = (kind::SHARE, pe as u64),
                Target::Remote { pe } => (words.kind, words.expected) = (kind::REMOTE, pe as u64),
                Target::Job => words.kind = kind::JOB,
            }
            shared_words::publish_wait(slot, id, &words);
        }
        Published { block, slot }
    }
}

impl Published<'_> {
    /// Publishes the place of the wait in the program, and the allocation with the element that it waits for; empty texts are unknown.
    pub fn describe(&self, line: &str, allocation: &str) {
        if let Some(slot) = self.slot {
            let id = slot.id.load(Relaxed);
            shared_words::publish_texts(slot, id, &words_of(line), &words_of(allocation));
        }
    }

    /// As [`describe`](Published::describe), by the instruction to which the call returns: [`describe_callers`] finds its line.
    pub fn called_from(&self, caller: u64) {
        if let Some(slot) = self.slot {
            shared_words::publish_caller(slot, caller);
        }
    }
}

/// Describes those waits of this PE that only tell the instruction. `line` puts an instruction into words.
pub fn describe_callers(control: &Control, me: Pe, line: impl Fn(u64) -> String) {
    for slot in &control.pe(me).waits {
        if let Some((id, caller)) = undescribed(slot) {
            let line = words_of(&line(caller));
            // The lookup takes its time: the slot may have another wait by now.
            if slot.id.load(Acquire) == id {
                shared_words::publish_texts(slot, id, &line, &words_of(""));
            }
        }
    }
}

/// The wait and the caller of a slot whose wait tells the instruction only.
pub fn undescribed(slot: &WaitSlot) -> Option<(u64, u64)> {
    let id = slot.id.load(Acquire);
    let caller = slot.caller.load(Relaxed);
    let open = !matches!(id, 0 | u64::MAX) && caller != 0 && slot.described.load(Relaxed) != id;
    open.then_some((id, caller))
}

/// The line and the allocation of wait `id`, as far as they are known.
pub fn texts(slot: &WaitSlot, id: u64) -> (Option<String>, Option<String>) {
    text_words(slot, id).map_or((None, None), |[line, allocation]| {
        (text(&line), text(&allocation))
    })
}

/// The words of the line and of the allocation of wait `id`; none if the texts are not those of this wait.
pub(super) fn text_words(slot: &WaitSlot, id: u64) -> Option<[[u64; TEXT_WORDS]; 2]> {
    let same = || slot.described.load(Acquire) == id;
    if !same() {
        return None;
    }
    let texts = [&slot.line, &slot.allocation];
    let words = texts.map(|text| text.each_ref().map(|word| word.load(Relaxed)));
    fence(Acquire);
    same().then_some(words)
}

/// A text as words. The end of a text that is too long is kept, because it has the line.
fn words_of(text: &str) -> [u64; TEXT_WORDS] {
    let room = 8 * TEXT_WORDS;
    let mut kept = text;
    if text.len() > room {
        let start = (text.len() - room..).find(|&start| text.is_char_boundary(start));
        kept = &text[start.unwrap_or(text.len())..];
    }
    let mut words = [0; TEXT_WORDS];
    for (word, part) in words.iter_mut().zip(kept.as_bytes().chunks(8)) {
        let mut bytes = [0; 8];
        bytes[..part.len()].copy_from_slice(part);
        *word = u64::from_le_bytes(bytes);
    }
    words
}

/// Another process wrote the words, and they go to a terminal.
fn text(words: &[u64]) -> Option<String> {
    let bytes = words.iter().flat_map(|word| word.to_le_bytes());
    let bytes: Vec<u8> = bytes.take_while(|byte| *byte != 0).collect();
    let text = String::from_utf8_lossy(&bytes).replace(char::is_control, "?");
    (!text.is_empty()).then_some(text)
}

impl Drop for Published<'_> {
    fn drop(&mut self) {
        shared_words::end_wait(self.block, self.slot, now_ns());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_too_long_keeps_its_end() {
        let slot = |text: &str| super::text(&words_of(text));
        assert_eq!(slot(""), None);
        let short = "halo.c:71 (exchange)";
        assert_eq!(slot(short).as_deref(), Some(short));
        let long = format!("{}/{}:71", "é".repeat(20), "directory/".repeat(8));
        let kept = slot(&long).unwrap();
        assert!(
            kept.len() <= 8 * TEXT_WORDS && long.ends_with(&kept),
            "{kept}"
        );
        assert_eq!(slot("a\x1b[31m").as_deref(), Some("a?[31m"));
    }
}
