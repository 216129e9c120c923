//! Messages between PEs of different hosts, as words. A message is a sequence of records.
//!
//! The lowest byte of a record's first word is its kind. The rest of this word is the number of bytes of data or, if the kind has no data,
//! the first word of the record. The words of the kind follow, then the data, padded to whole words. So frequent records are short. A
//! received message may be malformed: reading returns a valid record or none.

use crate::buffer::LocalSource;
use crate::op::SignalOp;
use crate::transport::copy::copy;
use crate::transport::{Atomic, Width};

/// The kind of a record. The comment of each variant lists its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Offset; the data.
    Put = 1,
    /// Offset, bytes, the tag of the transfer, and whether it is ordered after earlier large puts: 0 or 1.
    PutLarge = 2,
    /// Offset, bytes, request id. The answer has the data.
    Get = 3,
    /// Offset, bytes, and the tag of the transfer.
    GetLarge = 4,
    /// Offset, width and number, operand, comparison value, request id. The answer has the old value; an id of 0 requests none.
    Atomic = 5,
    /// Offset, value, operation.
    Signal = 6,
    /// A control message of `job`, as data.
    Control = 7,
    /// The answer is `Done`.
    Flush = 8,
    /// The number of the receiver's counted records that are complete.
    Done = 9,
    /// The request id; the result of the request.
    Answer = 10,
    /// A message of the receiver was malformed; the text of the error.
    Refused = 11,
    /// The request id; the call of a service, as data: see `calls`. The answer has the reply; an id of 0 requests none.
    Call = 12,
}

/// In the order of their numbers: the number of words of each kind, and whether it has data.
const KINDS: [(Kind, usize, bool); 12] = [
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
    (Kind::Call, 1, true),
];

/// The first bytes of a message of PEs that have given up in init, which is not a record.
pub const GAVE_UP: [u8; 8] = *b"nvshmRoC";

/// The most words of a kind.
pub(super) const MOST: usize = 5;

impl Kind {
    /// Whether it targets the receiver's memory, or must wait until earlier records are complete there.
    pub(super) fn is_of_memory(self) -> bool {
        self.counts() || matches!(self, Kind::Get | Kind::GetLarge | Kind::Flush)
    }

    /// Whether it is counted, so that quiet can wait for it.
    pub(super) fn counts(self) -> bool {
        match self {
            Kind::Put | Kind::PutLarge | Kind::Atomic | Kind::Signal => true,
            Kind::Get | Kind::GetLarge | Kind::Control | Kind::Flush => false,
            Kind::Done | Kind::Answer | Kind::Refused | Kind::Call => false,
        }
    }
}

/// A record that has arrived.
#[derive(Debug)]
pub struct Record<'a> {
    pub kind: Kind,
    /// The words of its kind, and 0s.
    pub words: [u64; MOST],
    pub data: &'a [u8],
}

/// No data.
pub(super) fn nothing() -> LocalSource<'static> {
    LocalSource::from(&[0_u8; 0])
}

/// The most words of a record with so many bytes of data.
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

/// Takes the first record of a message; none if it is malformed.
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

/// The atomic operation of these words, if they are valid.
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

/// A signal's words: offset, value, operation.
pub(super) fn to_signal(words: &[u64]) -> Option<(u64, u64, SignalOp)> {
    let [offset, value, op] = *words.first_chunk()?;
    let op = SignalOp::from_number(i32::try_from(op).ok()?).ok()?;
    Some((offset, value, op))
}
