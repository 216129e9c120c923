//! The operations of the worker (`worker/*.h`), and the sizes at which each is measured.

use anyhow::{Result, bail};

/// One operation.
#[derive(Debug, PartialEq)]
pub(crate) struct Operation {
    /// Its name on the command line and in the worker.
    pub(crate) name: &'static str,
    /// Its table in the report.
    pub(crate) group: Group,
    /// The bytes that a call moves.
    pub(crate) sizes: Sizes,
    /// The calls that are timed.
    pub(crate) about: &'static str,
}

/// A table of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Group {
    /// Blocking RMA.
    Rma,
    /// RMA with many calls in flight.
    Bandwidth,
    /// Single values and order.
    Words,
    /// Ping-pongs.
    PingPong,
    /// Atomic memory operations.
    Amo,
    /// Collectives that move data or synchronise.
    Collective,
    /// Reductions and scans.
    Reduction,
}

impl Group {
    /// All of them, in the order of the report.
    pub(crate) const ALL: [Self; 7] = [
        Self::Rma,
        Self::Bandwidth,
        Self::Words,
        Self::PingPong,
        Self::Amo,
        Self::Collective,
        Self::Reduction,
    ];

    /// Its heading.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Rma => "Put and get",
            Self::Bandwidth => "Non-blocking put and get, 64 calls in flight",
            Self::Words => "Single values and order",
            Self::PingPong => "Ping-pong, round trip",
            Self::Amo => "Atomic memory operations",
            Self::Collective => "Collectives",
            Self::Reduction => "Reductions and scans",
        }
    }

    /// Whether all PEs take part; otherwise PE 0 accesses PE 1.
    pub(crate) fn is_collective(self) -> bool {
        matches!(self, Self::Collective | Self::Reduction)
    }
}

/// The bytes of an operation's calls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Sizes {
    /// A fixed size.
    Fixed(u64),
    /// The powers of two in a range, unless other sizes are requested.
    Range {
        /// The largest size by default.
        largest: u64,
        /// Sizes are multiples of this.
        unit: u64,
        /// The buffer that a call needs.
        buffer: Buffer,
    },
}

/// The size of the buffer for a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Buffer {
    /// The size of the call.
    Same,
    /// Twice the size: elements are two apart.
    Strided,
    /// The size of the call for each PE.
    PerPe,
    /// Twice the size for each PE.
    PerPeStrided,
}

/// The smallest size by default.
const SMALLEST: u64 = 8;
/// The step between sizes with `--quick`.
const QUICK_STEP: u64 = 64;

const fn range(largest: u64, unit: u64, buffer: Buffer) -> Sizes {
    Sizes::Range {
        largest,
        unit,
        buffer,
    }
}

const fn op(name: &'static str, group: Group, sizes: Sizes, about: &'static str) -> Operation {
    Operation {
        name,
        group,
        sizes,
        about,
    }
}

const MIB: u64 = 1 << 20;
const BLOCKING: Sizes = range(2 * MIB, 1, Buffer::Same);
const FLYING: Sizes = range(4 * MIB, 1, Buffer::Same);
const STRIDED: Sizes = range(2 * MIB, 8, Buffer::Strided);
const GATHERED: Sizes = range(MIB, 8, Buffer::PerPe);
/// The multiple is set when the element's size is known.
const REDUCED: Sizes = range(2 * MIB, 1, Buffer::Same);
const NOTHING: Sizes = Sizes::Fixed(0);
const WORD: Sizes = Sizes::Fixed(8);
const HALF_WORD: Sizes = Sizes::Fixed(4);

use Group::{Amo, Bandwidth, Collective, PingPong, Reduction, Rma, Words};

/// Every operation, in the order of the report.
#[rustfmt::skip]
pub(crate) const OPERATIONS: &[Operation] = &[
    op("put", Rma, BLOCKING, "put; one quiet after the last"),
    op("put_quiet", Rma, BLOCKING, "put and quiet: until the data is there"),
    op("get", Rma, BLOCKING, "get"),
    op("iput", Rma, STRIDED, "strided put of 8-byte elements, every second one"),
    op("iget", Rma, STRIDED, "strided get of 8-byte elements, every second one"),
    op("put_signal", Rma, BLOCKING, "put with a signal"),
    op("put_nbi", Bandwidth, FLYING, "put_nbi; a quiet after each 64"),
    op("get_nbi", Bandwidth, FLYING, "get_nbi; a quiet after each 64"),
    op("p", Words, WORD, "put of one int64 by value"),
    op("g", Words, WORD, "get of one int64 by value"),
    op("fence", Words, NOTHING, "fence with nothing in flight"),
    op("quiet", Words, NOTHING, "quiet with nothing in flight"),
    op("p_pingpong", PingPong, WORD, "p and wait_until, there and back"),
    op("signal_pingpong", PingPong, WORD, "put_signal and signal_wait_until, there and back"),
    op("fetch", Amo, WORD, "atomic_fetch of an int64"),
    op("set", Amo, WORD, "atomic_set"),
    op("swap", Amo, WORD, "atomic_swap"),
    op("compare_swap", Amo, WORD, "atomic_compare_swap that succeeds"),
    op("inc", Amo, WORD, "atomic_inc"),
    op("fetch_inc", Amo, WORD, "atomic_fetch_inc"),
    op("add", Amo, WORD, "atomic_add"),
    op("fetch_add", Amo, WORD, "atomic_fetch_add"),
    op("and", Amo, WORD, "atomic_and"),
    op("fetch_and", Amo, WORD, "atomic_fetch_and"),
    op("or", Amo, WORD, "atomic_or"),
    op("fetch_or", Amo, WORD, "atomic_fetch_or"),
    op("xor", Amo, WORD, "atomic_xor"),
    op("fetch_xor", Amo, WORD, "atomic_fetch_xor"),
    op("set32", Amo, HALF_WORD, "atomic_set of an int32"),
    op("inc32", Amo, HALF_WORD, "atomic_inc of an int32"),
    op("add32", Amo, HALF_WORD, "atomic_add of an int32"),
    op("barrier", Collective, NOTHING, "barrier_all"),
    op("sync", Collective, NOTHING, "sync_all"),
    op("broadcast", Collective, range(2 * MIB, 8, Buffer::Same), "broadcast from PE 0, and a sync"),
    op("fcollect", Collective, GATHERED, "fcollect; bytes per PE"),
    op("collect", Collective, GATHERED, "collect; bytes per PE"),
    op("alltoall", Collective, GATHERED, "alltoall; bytes per pair of PEs"),
    op("alltoalls", Collective, range(MIB, 8, Buffer::PerPeStrided), "strided alltoall; bytes per pair of PEs"),
    op("reduce", Reduction, REDUCED, "reduction to all PEs"),
    op("reducescatter", Reduction, range(MIB, 1, Buffer::PerPe), "reduction, each PE keeps its part; bytes per PE"),
    op("inscan", Reduction, REDUCED, "inclusive scan, and a sync"),
    op("exscan", Reduction, REDUCED, "exclusive scan, and a sync"),
];

impl Operation {
    /// The bytes of the buffers that a case needs.
    pub(crate) fn buffer_bytes(&self, bytes: u64, n_pes: u32) -> u64 {
        match self.sizes {
            Sizes::Fixed(bytes) => bytes,
            Sizes::Range { buffer, .. } => match buffer {
                Buffer::Same => bytes,
                Buffer::Strided => 2 * bytes,
                Buffer::PerPe => bytes * u64::from(n_pes),
                Buffer::PerPeStrided => 2 * bytes * u64::from(n_pes),
            },
        }
    }

    /// The sizes to measure: requested or default. `element` is the element size of reductions.
    pub(crate) fn cases(
        &self,
        asked: Option<&[u64]>,
        quick: bool,
        element: u64,
    ) -> Result<Vec<u64>> {
        let (largest, unit) = match self.sizes {
            Sizes::Fixed(bytes) => return Ok(vec![bytes]),
            Sizes::Range { largest, unit, .. } => (largest, unit),
        };
        let unit = if self.group == Reduction {
            element
        } else {
            unit
        };
        let Some(asked) = asked else {
            let step = if quick { QUICK_STEP } else { 2 };
            let sizes = std::iter::successors(Some(SMALLEST), |size| Some(size * step));
            return Ok(sizes.take_while(|size| *size <= largest).collect());
        };
        if let Some(odd) = asked.iter().find(|size| *size % unit != 0) {
            bail!(
                "--sizes: {odd} is not a multiple of {unit}, the size of the elements of {}; change it, or leave {} out \
                 with --ops",
                self.name,
                self.name
            );
        }
        Ok(asked.to_vec())
    }
}

/// Finds an operation by name.
pub(crate) fn find(name: &str) -> Result<&'static Operation> {
    let found = OPERATIONS.iter().find(|operation| operation.name == name);
    found.map_or_else(
        || {
            let known: Vec<&str> = OPERATIONS.iter().map(|operation| operation.name).collect();
            bail!(
                "unknown operation `{name}`; the operations are {}",
                known.join(", ")
            )
        },
        Ok,
    )
}

/// The list of all operations, as text.
pub(crate) fn list() -> String {
    let mut text = String::new();
    for group in Group::ALL {
        text += &format!("{}\n", group.title());
        for operation in OPERATIONS.iter().filter(|o| o.group == group) {
            text += &format!("  {:<16} {}\n", operation.name, operation.about);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker;

    #[test]
    fn the_worker_knows_every_operation_and_no_other() {
        let sources: String = worker::SOURCES.iter().map(|(_, text)| *text).collect();
        let plain = sources.split("{\"").skip(1).filter_map(|rest| {
            rest.split_once("\", ")
                .filter(|(name, _)| !name.contains('\\'))
        });
        let atomic = sources
            .split("ATOMIC_OPERATION(")
            .skip(1)
            .filter_map(|rest| rest.split_once(", "))
            .filter(|(name, _)| *name != "name");
        let mut in_c: Vec<&str> = plain.chain(atomic).map(|(name, _)| name).collect();
        in_c.retain(|name| !op_or_type(name));
        let mut ours: Vec<&str> = OPERATIONS.iter().map(|operation| operation.name).collect();
        in_c.sort_unstable();
        ours.sort_unstable();
        assert_eq!(in_c, ours);
    }

    /// The first names in the worker's other two tables.
    fn op_or_type(name: &str) -> bool {
        ["double", "sum"].contains(&name)
    }

    #[test]
    fn sizes_are_powers_of_two_unless_others_are_asked_for() -> Result<()> {
        let put = find("put")?;
        let all = put.cases(None, false, 8)?;
        assert_eq!((all.len(), all[0], all[18]), (19, 8, 2 << 20));
        assert_eq!(put.cases(None, true, 8)?, [8, 512, 32 << 10, 2 << 20]);
        assert_eq!(put.cases(Some(&[3, 5]), false, 8)?, [3, 5]);
        assert_eq!(find("p")?.cases(Some(&[3]), false, 8)?, [8]);
        assert_eq!(find("reduce")?.cases(Some(&[12]), false, 4)?, [12]);
        let error = find("fcollect")?
            .cases(Some(&[8, 12]), false, 8)
            .expect_err("12");
        assert!(
            error.to_string().contains("12 is not a multiple of 8"),
            "{error}"
        );
        Ok(())
    }

    #[test]
    fn an_unknown_operation_names_the_known_ones() {
        let error = find("putt").expect_err("no such operation").to_string();
        assert!(
            error.contains("`putt`") && error.contains("put, put_quiet"),
            "{error}"
        );
    }

    #[test]
    fn buffers_hold_what_all_pes_send() -> Result<()> {
        assert_eq!(find("put")?.buffer_bytes(8, 4), 8);
        assert_eq!(find("iput")?.buffer_bytes(8, 4), 16);
        assert_eq!(find("fcollect")?.buffer_bytes(8, 4), 32);
        assert_eq!(find("alltoalls")?.buffer_bytes(8, 4), 64);
        Ok(())
    }
}
