//! What PEs say to each other, as bytes.

use crate::buffer::{LocalDest, LocalSource};
use crate::transport::copy::copy;
use crate::transport::{Atomic, Width};

/// Contents of memory. They are aligned to 8, so that an element stays one access on both sides.
pub(super) struct Data {
    words: Vec<u64>,
    bytes: usize,
}

impl Data {
    /// So many bytes, which are 0.
    pub(super) fn zeroed(bytes: usize) -> Data {
        Data {
            words: vec![0; bytes.div_ceil(8)],
            bytes,
        }
    }

    /// A copy of `source`.
    pub(super) fn of(source: LocalSource<'_>) -> Data {
        let mut data = Data::zeroed(source.bytes());
        // SAFETY: the source is valid by the rules of `buffer`, and may lie in the heap; `data` has room for it.
        unsafe {
            copy::<false, true>(data.words.as_mut_ptr().cast(), source.address(), data.bytes)
        };
        data
    }

    /// Copies them to `dest`, which must be as long.
    pub(super) fn give(&self, dest: &LocalDest<'_>) {
        assert_eq!(dest.bytes(), self.bytes, "an answer of another length");
        // SAFETY: the destination is valid by the rules of `buffer`, and may lie in the heap; the lengths are the same.
        unsafe { copy::<true, false>(dest.address(), self.words.as_ptr().cast(), self.bytes) }
    }

    pub(super) fn get(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.bytes]
    }

    pub(super) fn get_mut(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.words)[..self.bytes]
    }
}

/// What a message is. The words of each follow its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    /// Offset; the data follows.
    Put,
    /// Offset, bytes. It is answered with the data.
    Get,
    /// Offset, width and number, operand, what it compares with. It is answered with the old value, if it has a ticket.
    Atomic,
    /// Offset, value, operation.
    Signal,
    /// It is answered once all that its sender has sent before is done.
    Flush,
    /// The data that the ticket's holder waits for.
    Answer,
    /// The sender takes no messages any more.
    Gone,
    /// The receiver, which is the sender, ends.
    Stop,
}

const KINDS: [Kind; 8] = [
    Kind::Put,
    Kind::Get,
    Kind::Atomic,
    Kind::Signal,
    Kind::Flush,
    Kind::Answer,
    Kind::Gone,
    Kind::Stop,
];

/// Words before the data: kind, sender, ticket, and four of the kind's own.
const HEADER: usize = 7;

pub(super) struct Message {
    pub(super) kind: Kind,
    /// The number of the PE that sends it.
    pub(super) from: u64,
    /// By which the sender knows the answer again; 0 for none.
    pub(super) ticket: u64,
    pub(super) words: [u64; 4],
    pub(super) data: Data,
}

impl Message {
    pub(super) fn encode(&self) -> Vec<u8> {
        let [a, b, c, d] = self.words;
        let header = [self.kind as u64, self.from, self.ticket, a, b, c, d];
        let mut bytes = Vec::with_capacity(8 * HEADER + self.data.bytes);
        for word in header {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        bytes.extend_from_slice(self.data.get());
        bytes
    }

    /// The message that these bytes are, if they are one.
    pub(super) fn decode(bytes: &[u8]) -> Option<Message> {
        let (header, rest) = bytes.split_at_checked(8 * HEADER)?;
        let mut words = header
            .chunks_exact(8)
            .map(|word| u64::from_le_bytes(word.try_into().expect("8 bytes")));
        let mut next = || words.next().expect("a word of the header");
        let kind = *KINDS.get(usize::try_from(next()).ok()?)?;
        let (from, ticket) = (next(), next());
        let words = [next(), next(), next(), next()];
        let data = Data::of(LocalSource::from(rest));
        Some(Message {
            kind,
            from,
            ticket,
            words,
            data,
        })
    }
}

/// An atomic operation as words.
pub(super) fn of_atomic(offset: u64, width: Width, operation: Atomic) -> [u64; 4] {
    let (number, value, cond) = operation.parts();
    [offset, width.bytes() << 8 | u64::from(number), value, cond]
}

/// The atomic operation that the words are, if they are one.
pub(super) fn to_atomic([offset, how, value, cond]: [u64; 4]) -> Option<(u64, Width, Atomic)> {
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
