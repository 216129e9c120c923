//! The command line of `nvshmemrs-perf`.

use crate::side::Peer;
use clap::{Parser, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

/// The largest allowed size: MPI counts bytes in an int.
const MAX_SIZE: u64 = 1 << 30;
/// Buffer sizes of --tune --quick, up to 64 MiB as without it.
const QUICK_TUNE_SIZES: [u64; 8] = [
    8,
    4 << 10,
    64 << 10,
    256 << 10,
    1 << 20,
    4 << 20,
    16 << 20,
    64 << 20,
];
/// The largest allowed number of PEs.
const MAX_PES: u32 = 1024;

/// Measures the cost of nvshmemrs's operations on this host, alone or beside OpenSHMEM or MPI.
///
/// Both sides run the same C source, which is compiled here against each library, in turn. Times are microseconds of
/// one call: the median over the rounds. Every result is checked. Without --ops every operation is measured.
#[derive(Debug, Parser)]
#[command(name = "nvshmemrs-perf", version, after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Measure this library beside nvshmemrs, and print ratios
    #[arg(long, value_enum)]
    pub(crate) peer: Option<PeerName>,

    /// Operations to measure, as in put,get,barrier; see --list
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) ops: Vec<String>,

    /// Bytes, as in 8,4K,1M; A..B stands for the powers of two from A to B [default: 8..2M, bandwidth 8..4M, gathering
    /// collectives 8..1M]
    #[arg(long, value_name = "LIST", value_parser = sizes)]
    pub(crate) sizes: Option<SizeList>,

    /// Numbers of PEs, as in 2,4,8. Collectives are measured with each; the others, between PE 0 and PE 1, with the
    /// first
    #[arg(
        short = 'n',
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "2"
    )]
    #[arg(value_parser = clap::value_parser!(u32).range(2..=i64::from(MAX_PES)))]
    pub(crate) n_pes: Vec<u32>,

    /// Element type of reductions and scans
    #[arg(long, value_enum, default_value = "double")]
    pub(crate) dtype: Dtype,

    /// Operation of reductions and scans; and, or, xor take integers
    #[arg(long, value_enum, default_value = "sum")]
    pub(crate) op: Op,

    /// Measure the operations that have targets, and print which targets are met; needs --peer oshmem
    #[arg(long, conflicts_with_all = ["ops", "sizes", "n_pes", "growth", "dtype", "op"])]
    pub(crate) targets: bool,

    /// Measure how barrier and a reduction of one element grow with the number of PEs, instead of the operations
    #[arg(long, conflicts_with_all = ["ops", "sizes", "n_pes"])]
    pub(crate) growth: bool,

    /// The largest number of PEs of --growth
    #[arg(long, value_name = "N", default_value_t = 64, requires = "growth")]
    #[arg(value_parser = clap::value_parser!(u32).range(2..=i64::from(MAX_PES)))]
    pub(crate) max_pes: u32,

    /// Measure PEs of other hosts, which this machine plays, beside MPI's own figures, instead of the operations; needs mpicc, mpirun
    /// and the plugin for MPI (`cargo xtask plugins`)
    #[arg(long, conflicts_with_all = ["peer", "ops", "sizes", "n_pes", "growth", "targets", "startup", "dtype", "op", "json", "picture"])]
    pub(crate) hosts: bool,

    /// Find the fastest algorithm and geometry of collectives on this machine's GPUs, for each number of PEs of -n, and write them to the
    /// tuning file that the library reads
    #[arg(long, conflicts_with_all = ["peer", "ops", "growth", "targets", "startup", "hosts", "dtype", "op", "json", "picture", "markdown"])]
    pub(crate) tune: bool,

    /// Where --tune writes; the file's entries for other GPUs and numbers of PEs stay [default: NVSHMEMRS_TUNING_FILE, else
    /// nvshmemrs/tuning.json in XDG_CONFIG_HOME or ~/.config]
    #[arg(long, value_name = "FILE", requires = "tune")]
    pub(crate) tune_file: Option<PathBuf>,

    /// Also measure init, barrier and finalize of a job, and memory per PE
    #[arg(long)]
    pub(crate) startup: bool,

    /// The Python that has nvshmemrs, for the calls from Python among the targets and beside mpi4py [default: python3, if it has]
    #[arg(long, value_name = "PATH")]
    pub(crate) python: Option<PathBuf>,

    /// How often the sides take turns [default: 5, or 2 with --quick]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) rounds: Option<u32>,

    /// Fewer sizes, fewer rounds, shorter loops
    #[arg(long)]
    pub(crate) quick: bool,

    /// How long one program may run before it is given up
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=86400))]
    pub(crate) timeout: u64,

    /// Also write all figures to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// Also write a page with machine, date, command and tables to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,

    /// Also draw time over size into this file (SVG)
    #[arg(long, value_name = "FILE", conflicts_with = "growth")]
    pub(crate) picture: Option<PathBuf>,

    /// List the operations
    #[arg(long)]
    pub(crate) list: bool,
}

const EXAMPLES: &str = "\
Examples:
  nvshmemrs-perf --ops put,get                        latency over sizes
  nvshmemrs-perf --peer oshmem -n 2,4,8 --markdown cpu.md --picture cpu.svg
  nvshmemrs-perf --peer oshmem --targets              which targets are met
  nvshmemrs-perf --growth --max-pes 16                barrier over the number of PEs
  nvshmemrs-perf --peer mpi4py --python .venv/bin/python
                                                      calls from Python, beside mpi4py's
  nvshmemrs-perf --hosts                              PEs of other hosts, beside MPI
  nvshmemrs-perf --tune -n 2,4                        tune collectives for 2 and for 4 GPUs
  nvshmemrs-perf --ops reduce --dtype int32 --op max --sizes 4..64K -n 4

It needs a C compiler; --peer oshmem needs oshcc and oshrun, --peer mpi mpicc and mpirun (Debian: libopenmpi-dev and
openmpi-bin). nvshmemrs-run and libnvshmemrs.so.0 are taken from beside this program (the library also from ../lib,
and from the Python package that brought the program).";

/// The libraries that nvshmemrs can be compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PeerName {
    /// OpenSHMEM 1.4, such as Open MPI's OSHMEM: oshcc and oshrun
    Oshmem,
    /// MPI-3 one-sided calls and collectives: mpicc and mpirun
    Mpi,
    /// Calls from Python, beside mpi4py's
    Mpi4py,
}

/// Element types of reductions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Dtype {
    /// 64-bit floating point
    Double,
    /// 32-bit floating point
    Float,
    /// 64-bit integer
    Int64,
    /// 32-bit integer
    Int32,
}

/// Operations of reductions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Op {
    /// Sum
    Sum,
    /// Smallest
    Min,
    /// Largest
    Max,
    /// Product
    Prod,
    /// Bitwise and
    And,
    /// Bitwise or
    Or,
    /// Bitwise exclusive or
    Xor,
}

impl Dtype {
    /// Bytes of one element.
    pub(crate) fn bytes(self) -> u64 {
        match self {
            Self::Double | Self::Int64 => 8,
            Self::Float | Self::Int32 => 4,
        }
    }
}

/// The name of a value on the command line and for the worker.
pub(crate) fn name(value: impl ValueEnum) -> String {
    value
        .to_possible_value()
        .map_or_else(String::new, |value| value.get_name().to_owned())
}

/// Sizes in bytes, in the given order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SizeList(pub(crate) Vec<u64>);

fn sizes(text: &str) -> Result<SizeList, String> {
    let mut list = Vec::new();
    for item in text.split(',') {
        match item.split_once("..") {
            None => list.push(size(item)?),
            Some((from, to)) => {
                let (from, to) = (size(from)?, size(to)?);
                if from > to {
                    return Err(format!("{item} is empty: it begins with the larger size"));
                }
                let powers = std::iter::successors(Some(from), |size| Some(size * 2));
                list.extend(powers.take_while(|size| *size <= to));
            }
        }
    }
    Ok(SizeList(list))
}

fn size(text: &str) -> Result<u64, String> {
    let (digits, shift) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 10),
        Some((at, 'm' | 'M')) => (&text[..at], 20),
        Some((at, 'g' | 'G')) => (&text[..at], 30),
        _ => (text, 0),
    };
    let number: u64 = digits.parse().map_err(|_| {
        format!("`{text}` is no size in bytes; a size is a number such as 8, 4K or 1M")
    })?;
    match number.checked_mul(1 << shift) {
        Some(bytes @ 1..=MAX_SIZE) => Ok(bytes),
        _ => Err(format!("`{text}` is outside of 1 byte to 1G")),
    }
}

impl Args {
    /// The library that the worker is compiled against for the comparison.
    pub(crate) fn library(&self) -> Option<Peer> {
        match self.peer? {
            PeerName::Oshmem => Some(Peer::Oshmem),
            PeerName::Mpi => Some(Peer::Mpi),
            PeerName::Mpi4py => None,
        }
    }

    /// The number of rounds, in which the sides take turns.
    pub(crate) fn rounds(&self) -> u32 {
        self.rounds.unwrap_or(if self.quick { 2 } else { 5 })
    }

    /// The number of rounds of --tune, in which the variants take turns.
    pub(crate) fn tune_rounds(&self) -> u32 {
        let rounds = self.rounds.unwrap_or(if self.quick { 10 } else { 18 });
        // Two halves of the rounds are compared.
        rounds.max(2)
    }

    /// The buffer sizes of --tune, sorted.
    pub(crate) fn tune_sizes(&self) -> Vec<u64> {
        let mut sizes = match &self.sizes {
            Some(SizeList(sizes)) => sizes.clone(),
            None if self.quick => QUICK_TUNE_SIZES.to_vec(),
            None => [3, 6, 9]
                .into_iter()
                .chain(11..=26)
                .map(|power| 1 << power)
                .collect(),
        };
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    /// The target duration of a batch of calls, in microseconds.
    pub(crate) fn budget_us(&self) -> u64 {
        if self.quick { 1000 } else { 4000 }
    }

    /// The time limit of a program.
    pub(crate) fn limit(&self) -> Duration {
        Duration::from_secs(self.timeout)
    }

    /// Checks that clap cannot do.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        if self.targets && self.peer != Some(PeerName::Oshmem) {
            anyhow::bail!("--targets compares with OpenSHMEM: add --peer oshmem");
        }
        let from_python = self.peer == Some(PeerName::Mpi4py);
        if self.python.is_some() && !self.targets && !from_python {
            anyhow::bail!("--python is for --targets and for --peer mpi4py");
        }
        let of_operations = self.sizes.is_some() || self.json.is_some() || self.picture.is_some();
        if from_python && (of_operations || !self.ops.is_empty() || self.growth || self.startup) {
            anyhow::bail!(
                "--peer mpi4py measures a list of its own: leave out --ops, --sizes, --growth, --startup, --json and --picture"
            );
        }
        let bitwise = matches!(self.op, Op::And | Op::Or | Op::Xor);
        if bitwise && matches!(self.dtype, Dtype::Double | Dtype::Float) {
            anyhow::bail!(
                "--op {} takes integers, not {}: add --dtype int64 or --dtype int32",
                name(self.op),
                name(self.dtype)
            );
        }
        // Checked now, not after minutes of measuring.
        for file in [&self.json, &self.markdown, &self.picture]
            .into_iter()
            .flatten()
        {
            let folder = std::path::absolute(file)?;
            let folder = folder.parent().unwrap_or(&folder);
            if !folder.is_dir() {
                anyhow::bail!(
                    "cannot write {}: there is no folder {}",
                    file.display(),
                    folder.display()
                );
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units_and_ranges() {
        assert_eq!(sizes("8,4K,1m"), Ok(SizeList(vec![8, 4096, 1 << 20])));
        assert_eq!(sizes("8..64,100"), Ok(SizeList(vec![8, 16, 32, 64, 100])));
        assert_eq!(sizes("6..20"), Ok(SizeList(vec![6, 12])));
        for bad in [
            "",
            "0",
            "x",
            "-8",
            "8..",
            "64..8",
            "2G",
            "99999999999999999999",
            "8,,16",
        ] {
            assert!(sizes(bad).is_err(), "accepted: {bad}");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for line in [
            "-n 1",
            "-n 0,2",
            "-n x",
            "--peer nccl",
            "--targets --ops put",
            "--growth -n 4",
            "--max-pes 4",
            "--rounds 0",
            "--timeout 0",
            "--op mean",
        ] {
            let words = std::iter::once("nvshmemrs-perf").chain(line.split(' '));
            assert!(Args::try_parse_from(words).is_err(), "accepted: {line}");
        }
    }

    #[test]
    fn what_does_not_go_together_is_refused() {
        for (line, word) in [
            ("--targets", "--peer oshmem"),
            ("--python python3", "--peer mpi4py"),
            ("--peer mpi4py --ops put", "a list of its own"),
            ("--peer mpi4py --json x.json", "a list of its own"),
            ("--targets --peer mpi", "--peer oshmem"),
            ("--op xor", "--dtype int64"),
            ("--json /no/such/folder/p.json", "/no/such/folder"),
        ] {
            let words = std::iter::once("nvshmemrs-perf").chain(line.split(' '));
            let args = Args::try_parse_from(words).expect(line);
            let error = args.check().expect_err(line).to_string();
            assert!(error.contains(word), "{error}");
        }
    }

    #[test]
    fn names_are_the_workers() {
        assert_eq!(
            (name(Dtype::Int64), name(Op::Prod)),
            ("int64".into(), "prod".into())
        );
    }
}
