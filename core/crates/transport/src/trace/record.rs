//! The records of a part: one per call, of one cache line, and names in pieces of the same size.

use crate::Pe;
use bytemuck::{Pod, Zeroable};

/// The peer of a call without one.
pub(super) const NO_PEER: Pe = -1;

/// The kind of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A call that writes no symmetric memory of another PE.
    Call = 1,
    /// A call that writes symmetric memory of `peer`.
    Update = 2,
    /// As [`Update`](Kind::Update): the memory has the value `value` afterwards.
    Set = 3,
    /// A wait for symmetric memory of the PE itself.
    Wait = 4,
    /// A collective: `peer` is the index of the team, `offset` the epoch of its first meeting.
    Collective = 5,
    /// A piece of the name of a call site.
    SiteName = 6,
    /// A piece of the name of a thread.
    ThreadName = 7,
}

impl Kind {
    pub(super) fn from_number(number: u8) -> Option<Kind> {
        use Kind::*;
        let all = [Call, Update, Set, Wait, Collective, SiteName, ThreadName];
        all.into_iter().find(|kind| *kind as u8 == number)
    }
}

/// A call of a PE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Record {
    /// When it began, on the clock of the part; 0 while the record is incomplete.
    pub begin: u64,
    pub end: u64,
    /// The first byte of the memory that it writes or waits for; of a put with a signal, the signal.
    pub offset: u64,
    /// How many bytes of data it moves.
    pub bytes: u64,
    /// The value that it writes, or that its wait has seen.
    pub value: u64,
    /// The number of the stream of a GPU plus 1; 0: the call is blocking.
    pub stream: u64,
    pub thread: u32,
    pub peer: Pe,
    /// The length of the memory at `offset`.
    pub width: u32,
    pub site: u16,
    pub operation: u8,
    pub kind: u8,
}

/// Bytes of a record.
pub(super) const RECORD: usize = size_of::<Record>();
/// Bytes of text in a record.
const TEXT: usize = 32;

impl Record {
    /// A record of a call without a peer.
    pub fn without_peer() -> Record {
        Record {
            peer: NO_PEER,
            ..Record::default()
        }
    }

    /// The field `width` of memory of `bytes` bytes: memory of 4 GiB and more has the largest width.
    pub fn width_of(bytes: u64) -> u32 {
        u32::try_from(bytes).unwrap_or(u32::MAX)
    }

    pub(super) fn words(&self) -> [u64; RECORD / 8] {
        bytemuck::cast(*self)
    }

    /// The pieces of a name. `number`: of the site or the thread.
    pub(super) fn of_name(kind: Kind, number: u32, name: &str) -> Vec<Record> {
        let pieces = name.as_bytes().chunks(TEXT).zip(0..);
        let record = |(piece, index): (&[u8], u32)| {
            let mut text = [0; TEXT];
            text[..piece.len()].copy_from_slice(piece);
            let [offset, bytes, value, stream] = bytemuck::cast(text);
            Record {
                begin: 1,
                end: index.into(),
                offset,
                bytes,
                value,
                stream,
                thread: number,
                peer: piece.len() as Pe,
                kind: kind as u8,
                ..Record::default()
            }
        };
        pieces.map(record).collect()
    }

    /// The bytes of a piece of a name.
    pub(super) fn piece(&self) -> Vec<u8> {
        let text: [u8; TEXT] = bytemuck::cast([self.offset, self.bytes, self.value, self.stream]);
        text[..(self.peer.max(0) as usize).min(TEXT)].to_vec()
    }
}
