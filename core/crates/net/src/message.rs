//! Messages between PEs of different hosts, as words. A message is a sequence of records.
//!
//! A record begins with a word whose lowest byte says what it is. The rest of this word says how many bytes of data it has. If its kind
//! has no data, the rest is the first word of the record. The words that its kind has follow, then the data, filled up to whole words. So
//! what is sent most often is short. All of it may be anything when it arrives: reading gives what is there, or nothing.

use crate::buffer::LocalSource;
use crate::op::SignalOp;
use crate::transport::copy::copy;
use crate::transport::{Atomic, Width};

/// What a record is. Its words follow its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Offset; the data.
    Put = 1,
    /// Offset, bytes, the tag with which they come by themselves, and whether it comes after those before it: 0 or 1.
    PutLarge = 2,
    /// Offset, bytes, request id. It is answered with the data.
    Get = 3,
    /// Offset, bytes, and the tag with which they are to be sent.
    GetLarge = 4,
    /// Offset, width and number, operand, what it compares with, request id. It is answered with the old value, unless the id is 0.
    Atomic = 5,
    /// Offset, value, operation.
    Signal = 6,
    /// A control message of `job`, as data.
    Control = 7,
    /// It is answered with `Done`.
    Flush = 8,
    /// So many of the records that are counted have been done, which the receiver has sent.
    Done = 9,
    /// The request id; the result of the request.
    Answer = 10,
    /// What the receiver has sent makes no sense; the words for people.
    Refused = 11,
}

/// In the order of their numbers, how many words each has, and whether it has data.
const KINDS: [(Kind, usize, bool); 11] = [
    (Kind::Put, 1, true),
    (Kind::PutLarge, 4, false),
    (Kind::Get, 3, false),
    (Kind::GetLarge, 3, false),
    (Kind::Atomic, 5, false),
    (Kind::Signal, 3, false),
    (Kind::Control, 0, true),
    (Kind::Flush, 0, false),
    (Kind::Done, 1, false),
    (Kind::Answer, 1, true),
    (Kind::Refused, 0, true),
];

/// What PEs that have given up in init begin a message with, which is no record.
pub const GAVE_UP: [u8; 8] = *b"nvshmRoC";

/// The most words that a kind has.
pub(super) const MOST: usize = 5;

impl Kind {
    /// Whether it is about the receiver's memory, or must wait until what came before it is done there.
    pub(super) fn is_of_memory(self) -> bool {
        self.counts() || matches!(self, Kind::Get | Kind::GetLarge | Kind::Flush)
    }

    /// Whether it is counted, and so can be waited for.
    pub(super) fn counts(self) -> bool {
        match self {
            Kind::Put | Kind::PutLarge | Kind::Atomic | Kind::Signal => true,
            Kind::Get | Kind::GetLarge | Kind::Control | Kind::Flush => false,
            Kind::Done | Kind::Answer | Kind::Refused => false,
        }
    }
}

/// A record that has arrived.
#[derive(Debug)]
pub struct Record<'a> {
    pub kind: Kind,
    /// Those of its kind, and 0s.
    pub words: [u64; MOST],
    pub data: &'a [u8],
}

/// No data.
pub(super) fn nothing() -> LocalSource<'static> {
    LocalSource::from(&[0_u8; 0])
}

/// The words that a record with so many bytes of data has at most.
pub(super) fn room(bytes: usize) -> usize {
    1 + MOST + bytes.div_ceil(8)
}

/// Adds a record.
pub(super) fn write(message: &mut Vec<u64>, kind: Kind, words: &[u64], data: LocalSource<'_>) {
    let (_, count, has_data) = KINDS[kind as usize - 1];
    debug_assert!(
        words.len() == count && (has_data || data.bytes() == 0),
        "{kind:?}"
    );
    let (first, rest) = match (has_data, words) {
        (false, [first, rest @ ..]) => (*first, rest),
        _ => (data.bytes() as u64, words),
    };
    debug_assert!(first < 1 << 56, "{kind:?} {first}");
    message.reserve(room(data.bytes()));
    message.push(kind as u64 | first << 8);
    // They are few: a call that copies them would cost more.
    rest.iter().for_each(|word| message.push(*word));
    if data.bytes() == 0 {
        return;
    }
    let start = message.len();
    message.resize(start + data.bytes().div_ceil(8), 0);
    // SAFETY: the source is valid by the rules of `buffer`, and may lie in the heap; the message has room for it.
    unsafe {
        let dest = message.as_mut_ptr().add(start).cast();
        copy::<false, true>(dest, data.address(), data.bytes());
    }
}

/// Takes the first record of a message; none if it makes no sense.
pub fn read<'a>(message: &mut &'a [u64]) -> Option<Record<'a>> {
    let (head, rest) = message.split_first()?;
    let index = (head & 0xff).checked_sub(1)?;
    let (kind, count, has_data) = *KINDS.get(index as usize)?;
    let number = head >> 8;
    let mut words = [0; MOST];
    let (bytes, first) = match has_data {
        true => (usize::try_from(number).ok()?, 0),
        false => (0, count.min(1)),
    };
    if first > 0 {
        words[0] = number;
    }
    let (said, rest) = rest.split_at_checked(count - first)?;
    for (word, said) in words[first..].iter_mut().zip(said) {
        *word = *said;
    }
    let (data, rest) = rest.split_at_checked(bytes.div_ceil(8))?;
    *message = rest;
    Some(Record {
        kind,
        words,
        data: &bytemuck::cast_slice(data)[..bytes],
    })
}

/// An atomic operation as words.
pub(super) fn of_atomic(offset: u64, width: Width, operation: Atomic) -> [u64; 4] {
    let (number, value, cond) = operation.parts();
    [offset, width.bytes() << 8 | u64::from(number), value, cond]
}

/// The atomic operation that the words are, if they are one.
pub(super) fn to_atomic(words: &[u64]) -> Option<(u64, Width, Atomic)> {
    let [offset, how, value, cond] = *words.first_chunk()?;
    let width = match how >> 8 {
        4 => Width::Bits32,
        8 => Width::Bits64,
        _ => return None,
    };
    let operation = match how & 0xff {
        0 => Atomic::Fetch,
        1 => Atomic::Set(value),
        2 => Atomic::Swap(value),
        3 => Atomic::CompareSwap { cond, value },
        4 => Atomic::Add(value),
        5 => Atomic::AddFloat(value),
        6 => Atomic::And(value),
        7 => Atomic::Or(value),
        8 => Atomic::Xor(value),
        _ => return None,
    };
    Some((offset, width, operation))
}

/// What a signal's words say: offset, value, operation.
pub(super) fn to_signal(words: &[u64]) -> Option<(u64, u64, SignalOp)> {
    let [offset, value, op] = *words.first_chunk()?;
    let op = SignalOp::from_number(i32::try_from(op).ok()?).ok()?;
    Some((offset, value, op))
}
