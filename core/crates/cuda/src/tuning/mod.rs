//! The choice of a collective's algorithm and geometry: tables that are looked up by collective, bytes and members of the team.
//!
//! | file | contents |
//! |---|---|
//! | this file | a choice, the choices of a job and their look-up, the choices for a GPU without a table |
//! | [`file`] | the tuning file: its format and its errors |
//! | [`loaded`] | the tuning file of this process, and its path |
//! | [`blocks`] | the number of blocks of a collective on a GPU |
//! | `defaults.json` | the tables that come with the library, in the same format |
//!
//! All PEs of a host must make the same choices, or collectives would deadlock: init compares the digests of the PEs' files, and the
//! tables are those for the GPU of the host's first PE. Kernels run no collectives across hosts, so the files of two hosts may differ.
//!
//! A choice changes neither results nor the order in which elements are added.

pub(crate) mod blocks;
pub mod file;
pub(crate) mod loaded;

use crate::kernels;
use crate::operation::Operation;
use crate::{Error, Pe, Result};
use serde::{Deserialize, Serialize};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

pub use file::{Table, TuningFile};
pub use loaded::user_path;

/// An algorithm of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Algorithm {
    /// Every eight bytes are sent with a flag, through staging memory of the members, which need not meet at the end.
    Flags,
    /// Sixteen bytes at a time go through the staging memory of the members, which is zero until data arrives. The members meet meanwhile.
    Lamport,
    /// The members meet, load from and store to each other's memory, and meet again.
    Direct,
    /// The members meet, their copy engines write to each other's memory, and the members meet again. A collective that engines cannot
    /// run, as in place, is `Direct`.
    Engines,
}

impl Algorithm {
    /// Whether the algorithm does without staging memory, and so holds for any size.
    pub fn has_no_limit(self) -> bool {
        matches!(self, Algorithm::Direct | Algorithm::Engines)
    }

    /// Whether a collective has the algorithm.
    pub(crate) fn does(self, collective: Operation) -> bool {
        use Operation::{Alltoall, Alltoalls, Broadcast, Fcollect};
        match self {
            Algorithm::Flags | Algorithm::Lamport => collective != Alltoalls,
            Algorithm::Direct => true,
            Algorithm::Engines => matches!(collective, Broadcast | Fcollect | Alltoall),
        }
    }

    /// Whether each member accesses its own `dest` and `source` only, so that these may be private memory.
    pub(crate) fn takes_private_memory(self) -> bool {
        match self {
            Algorithm::Flags | Algorithm::Lamport => true,
            Algorithm::Direct | Algorithm::Engines => false,
        }
    }
}

/// How the GPUs of a job are linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Link {
    /// By NVLink: native atomic operations between GPUs, which init demands, need it.
    Nvlink,
    /// All PEs share one GPU.
    Shared,
}

/// The algorithm and geometry of a collective, up to a number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Choice {
    /// The largest message in bytes, or the largest part where each member has a part.
    pub up_to: u64,
    /// The algorithm.
    pub algorithm: Algorithm,
    /// The maximum number of blocks; each block has a multiprocessor to itself.
    pub blocks: u32,
    /// Threads of a block that move data.
    pub threads: u32,
    /// Bytes of a chunk, if the algorithm sends in chunks; else 0.
    pub chunk: u32,
}

impl Choice {
    /// The name of a value that is out of range, the value, and the range.
    fn out_of_range(&self) -> Option<(&'static str, u32, String)> {
        let ranges = [
            ("blocks", self.blocks, 1, MOST_BLOCKS, 1),
            ("threads", self.threads, LEAST_THREADS, MOST_THREADS, 32),
            ("chunk", self.chunk, LEAST_CHUNK, MOST_CHUNK, LINE),
        ];
        let wrong = ranges
            .into_iter()
            .find(|&(name, value, least, most, step)| {
                let within = (least..=most).contains(&value) && value.is_multiple_of(step);
                // 0 bytes: the algorithm has no chunks.
                !within && (name, value) != ("chunk", 0)
            });
        wrong.map(|(name, value, least, most, step)| {
            let range = format!("a multiple of {step} from {least} to {most}");
            (name, value, range)
        })
    }
}

impl Choice {
    /// All fields but `up_to`, as a word that is not 0.
    fn word(&self) -> u64 {
        let sizes = u64::from(self.blocks) << 48 | u64::from(self.threads) << 32;
        IS_FORCED | (self.algorithm as u64) << ALGORITHM | sizes | u64::from(self.chunk)
    }

    /// The inverse of `word`.
    fn of_word(word: u64) -> Choice {
        Choice {
            up_to: u64::MAX,
            algorithm: ALGORITHMS[(word >> ALGORITHM) as usize % ALGORITHMS.len()],
            blocks: (word >> 48) as u32 & 0xff,
            threads: (word >> 32) as u32 & 0xffff,
            chunk: word as u32,
        }
    }
}

/// The defaults where no table has a row: as many blocks and threads as possible.
const DIRECT: Choice = Choice {
    up_to: u64::MAX,
    algorithm: Algorithm::Direct,
    blocks: MOST_BLOCKS,
    threads: MOST_THREADS,
    chunk: 0,
};

/// Bounds of a choice's values. Threads are whole warps, and chunks whole lines.
const MOST_BLOCKS: u32 = 128;
const LEAST_THREADS: u32 = 32;
const MOST_THREADS: u32 = 512;
const LEAST_CHUNK: u32 = 1 << 10;
const MOST_CHUNK: u32 = 4 << 20;
/// The unit of chunks: a line.
const LINE: u32 = 128;

/// The collectives that have a choice, in the order of their rows in a [`Class`].
pub(crate) const COLLECTIVES: [Operation; 10] = [
    Operation::Broadcast,
    Operation::Fcollect,
    Operation::Alltoall,
    Operation::Alltoalls,
    Operation::Gather,
    Operation::Scatter,
    Operation::Reduce,
    Operation::Reducescatter,
    Operation::Inscan,
    Operation::Exscan,
];

/// The choices for teams of up to `n_pes` members.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Class {
    n_pes: u64,
    rows: [Vec<Choice>; COLLECTIVES.len()],
}

/// The choices of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tuning(Vec<Class>);

impl Tuning {
    /// The library's choices for any GPU, replaced by those of `tables`, of which later tables replace earlier tables.
    pub(crate) fn new<'a>(tables: impl IntoIterator<Item = &'a Table>) -> Tuning {
        let mut tuning = Tuning(built_in());
        for table in tables {
            tuning.put(table);
        }
        tuning
    }

    /// The choices that come with the library for a GPU.
    pub fn shipped(gpu: &str, link: Link) -> Tuning {
        Tuning::new(file::shipped().tables_for(gpu, link))
    }

    fn put(&mut self, table: &Table) {
        let n_pes = u64::from(table.n_pes);
        let classes = &mut self.0;
        let place = classes
            .iter()
            .position(|class| n_pes <= class.n_pes)
            .unwrap_or(classes.len() - 1);
        if classes[place].n_pes != n_pes {
            // Larger teams keep their choices.
            let class = Class {
                n_pes,
                ..classes[place].clone()
            };
            classes.insert(place, class);
        }
        for (operation, rows) in COLLECTIVES.iter().zip(&mut classes[place].rows) {
            let of = |row: &&file::Row| row.collective == *operation;
            let new: Vec<Choice> = table.rows.iter().filter(of).map(|row| row.choice).collect();
            if !new.is_empty() {
                *rows = new;
            }
        }
    }

    /// The choice for a collective, by its place in [`COLLECTIVES`], of `bytes` bytes, in a team of `n` members. `room`: whether the
    /// team's staging has the room that an algorithm needs.
    #[inline]
    pub(crate) fn choice(
        &self,
        collective: usize,
        bytes: u64,
        n: u64,
        room: impl Fn(Algorithm) -> bool,
    ) -> Choice {
        let class = self.0.iter().find(|class| n <= class.n_pes);
        let rows = class.map_or(&[][..], |class| &class.rows[collective]);
        let holds = |row: &&Choice| bytes <= row.up_to && room(row.algorithm);
        rows.iter().find(holds).copied().unwrap_or(DIRECT)
    }

    /// The choices for a collective in teams of `n` members.
    pub fn rows(&self, collective: Operation, n: u64) -> &[Choice] {
        let index = COLLECTIVES.iter().position(|one| *one == collective);
        let class = self.0.iter().find(|class| n <= class.n_pes);
        match (index, class) {
            (Some(index), Some(class)) => &class.rows[index],
            _ => &[],
        }
    }

    /// The choice of a job of `n_pes` PEs on its first team.
    pub fn of_world(&self, collective: Operation, bytes: u64, n_pes: Pe) -> Option<Choice> {
        let index = COLLECTIVES.iter().position(|one| *one == collective)?;
        let world = kernels::world(n_pes).ok()?;
        let room = |algorithm| kernels::has_room(algorithm, bytes, &world);
        Some(self.choice(index, bytes, n_pes as u64, room))
    }
}

/// The choices for a GPU without a table: measured on H200 with 2, 4 and 8 PEs, except that the limits of Lamport's algorithm for 8 PEs and more
/// are estimates, and those of 4 PEs are from before its two shots.
fn built_in() -> Vec<Class> {
    const K: u64 = 1 << 10;
    // The largest sizes that travel through the staging with flags, and by Lamport's algorithm, in teams of up to 2, 4, 8 and more members. Flags
    // double the bytes; a reduction also reads all data on every member.
    let staged = |operation| match operation {
        Operation::Alltoalls => [[0; 4]; 2],
        Operation::Broadcast => [
            [128 * K, 64 * K, 32 * K, 16 * K],
            [2048 * K, 512 * K, 256 * K, 64 * K],
        ],
        Operation::Reduce => [
            [128 * K, 32 * K, 16 * K, 8 * K],
            [2048 * K, 512 * K, 128 * K, 32 * K],
        ],
        Operation::Inscan | Operation::Exscan => [
            [128 * K, 32 * K, 16 * K, 8 * K],
            [512 * K, 256 * K, 128 * K, 32 * K],
        ],
        _ => [
            [128 * K, 64 * K, 16 * K, 8 * K],
            [2048 * K, 512 * K, 128 * K, 16 * K],
        ],
    };
    let rows = |column: usize, operation| {
        let mut rows = Vec::new();
        for (algorithm, up_to) in [Algorithm::Flags, Algorithm::Lamport]
            .into_iter()
            .zip(staged(operation))
        {
            if up_to[column] > 0 {
                rows.push(Choice {
                    up_to: up_to[column],
                    algorithm,
                    blocks: 64,
                    threads: 256,
                    chunk: 0,
                });
            }
        }
        let chunk = |up_to, chunk| Choice {
            up_to,
            chunk,
            ..DIRECT
        };
        match (operation, column) {
            // Stores use the links better than loads.
            (Operation::Reduce, 0) => rows.extend([
                chunk((8 << 20) - 1, 0),
                chunk((32 << 20) - 1, 32 << 10),
                chunk(u64::MAX, 64 << 10),
            ]),
            (Operation::Reduce, _) => {
                rows.extend([chunk((16 << 20) - 1, 0), chunk(u64::MAX, 64 << 10)])
            }
            // With several receivers, members forward the chunks, and the root sends each once.
            (Operation::Broadcast, 1..) => rows.push(chunk(u64::MAX, 32 << 10)),
            _ => rows.push(DIRECT),
        }
        rows
    };
    let classes = [2, 4, 8, u64::MAX].into_iter().enumerate();
    classes
        .map(|(column, n_pes)| Class {
            n_pes,
            rows: COLLECTIVES.map(|operation| rows(column, operation)),
        })
        .collect()
}

/// The choice that the tuner measures, in place of all others; 0: none.
static FORCED: AtomicU64 = AtomicU64::new(0);
const IS_FORCED: u64 = 1 << 63;
/// The position of the algorithm in the word, and the algorithms by number.
const ALGORITHM: u32 = 56;
const ALGORITHMS: [Algorithm; 4] = [
    Algorithm::Flags,
    Algorithm::Lamport,
    Algorithm::Direct,
    Algorithm::Engines,
];

/// For the tuner: this process uses `choice`, whatever its `up_to`, for all collectives that begin from now on; `None`: the tables. All
/// PEs of the job must have the same choice when they begin a collective. A collective that does not fit a team's staging, or that engines
/// cannot run, is `Direct`.
#[doc(hidden)]
pub fn force(choice: Option<Choice>) -> Result<()> {
    if let Some((name, value, range)) = choice.as_ref().and_then(Choice::out_of_range) {
        return Err(Error::invalid(name, value, range));
    }
    FORCED.store(choice.map_or(0, |choice| choice.word()), Relaxed);
    Ok(())
}

#[inline]
pub(crate) fn forced() -> Option<Choice> {
    let word = FORCED.load(Relaxed);
    (word != 0).then(|| Choice::of_word(word))
}

/// The most blocks of a collective on a GPU with that many multiprocessors, by the settings of this process.
#[doc(hidden)]
pub fn most_blocks(multiprocessors: i32) -> Result<u32> {
    let most = blocks::most(multiprocessors)?;
    Ok((most as u32).min(MOST_BLOCKS))
}

/// The geometry that a choice gives: blocks, threads of a block and bytes of a chunk. Choices with equal geometry are equal.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Geometry {
    pub algorithm: Algorithm,
    pub blocks: u32,
    pub threads: u32,
    pub chunk: u32,
}

/// The geometry of a choice for a collective of `bytes` bytes on the first team of a job of `n_pes` PEs whose GPUs run `blocks` blocks.
/// `None` where it is not possible.
#[doc(hidden)]
pub fn geometry(
    collective: Operation,
    bytes: u64,
    n_pes: Pe,
    blocks: u32,
    choice: Choice,
) -> Option<Geometry> {
    kernels::geometry_of(
        collective,
        bytes,
        &kernels::world(n_pes).ok()?,
        blocks,
        choice,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(n_pes: u32, rows: &[(Operation, Choice)]) -> Table {
        Table {
            gpu: "a GPU".into(),
            link: Link::Nvlink,
            n_pes,
            written: None,
            rows: rows
                .iter()
                .map(|&(collective, choice)| file::Row { collective, choice })
                .collect(),
        }
    }

    #[test]
    fn a_table_holds_for_teams_up_to_its_size_and_for_its_collectives() {
        let few = Choice {
            blocks: 3,
            ..DIRECT
        };
        let many = Choice {
            blocks: 5,
            ..DIRECT
        };
        let (of_three, of_eight) = (
            table(3, &[(Operation::Reduce, few)]),
            table(8, &[(Operation::Reduce, many)]),
        );
        let tuning = Tuning::new([&of_eight, &of_three]);
        let plain = Tuning::new([]);
        let reduce = 6;
        assert_eq!(COLLECTIVES[reduce], Operation::Reduce);
        for n in 1..20 {
            let of = |tuning: &Tuning, collective| tuning.choice(collective, 8, n, |_| true);
            let expected = match n {
                3 => few,
                5..=8 => many,
                _ => of(&plain, reduce),
            };
            assert_eq!(of(&tuning, reduce), expected, "{n}");
            assert_eq!(of(&tuning, 0), of(&plain, 0), "{n}");
        }
    }

    #[test]
    fn what_does_not_fit_in_the_staging_is_done_directly() {
        let plain = Tuning::new([]);
        for (index, operation) in COLLECTIVES.iter().enumerate() {
            for n in [1, 2, 4, 8, 100] {
                let with = plain.choice(index, 8, n, |_| true);
                assert_eq!(
                    with.algorithm == Algorithm::Flags,
                    *operation != Operation::Alltoalls
                );
                let without = plain.choice(index, 8, n, Algorithm::has_no_limit);
                assert_eq!(without.algorithm, Algorithm::Direct);
                let large = plain.choice(index, u64::MAX, n, |_| true);
                assert_eq!(large.algorithm, Algorithm::Direct);
            }
        }
    }

    #[test]
    fn a_choice_is_a_word_and_one_out_of_range_is_refused() {
        let choice = Choice {
            up_to: u64::MAX,
            algorithm: Algorithm::Flags,
            blocks: MOST_BLOCKS,
            threads: MOST_THREADS,
            chunk: MOST_CHUNK,
        };
        let of = |algorithm| Choice {
            algorithm,
            ..choice
        };
        for choice in ALGORITHMS.map(of).into_iter().chain([DIRECT]) {
            assert_eq!(Choice::of_word(choice.word()), choice);
            assert_eq!(choice.out_of_range(), None);
        }
        #[rustfmt::skip]
        let cases = [
            ("blocks", Choice { blocks: 0, ..choice }),
            ("blocks", Choice { blocks: u32::MAX, ..choice }),
            ("threads", Choice { threads: 33, ..choice }),
            ("chunk", Choice { chunk: 100, ..choice }),
        ];
        for (name, wrong) in cases {
            let why = force(Some(wrong)).unwrap_err().to_string();
            assert!(why.contains(name), "{why}");
        }
    }
}
