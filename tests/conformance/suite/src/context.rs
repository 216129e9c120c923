//! The context of a scenario: a team, buffers with canaries around them, and the way that operations are issued.

use crate::values::{Value, same_bits, seed};
use nvshmemrs::{Pe, Result, Runtime, Stream, SymArray, SymSlice, Team};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Elements beside a buffer that nobody may write.
pub(crate) const PAD: usize = 8;
/// The canary is sample number so.
const CANARY: u64 = 0x00c0_ffee_0bad_cafe;

/// An operation as it is issued. In a box, so that each is compiled once and not once for each way.
type Job<R> = Box<dyn FnOnce(&Runtime) -> Result<R> + Send>;

/// How many checks each scenario has made on this PE.
pub type Tally = BTreeMap<&'static str, u64>;

/// The symmetric arrays of a type, with room for `len` elements and canaries each.
pub struct Arrays<T: Value> {
    /// The array that operations read.
    pub source: Arc<SymArray<T>>,
    /// The array that operations write.
    pub dest: Arc<SymArray<T>>,
}

impl<T: Value> Arrays<T> {
    /// Collective over the job.
    pub fn new(rt: &Runtime, len: usize) -> Result<Arrays<T>> {
        Ok(Arrays {
            source: Arc::new(rt.array(len + 2 * PAD)?),
            dest: Arc::new(rt.array(len + 2 * PAD)?),
        })
    }
}

/// A scenario's surroundings on one member of a team.
pub struct Context<'a, T: Value> {
    /// This PE's membership.
    pub rt: &'a Runtime,
    /// Operations go through it, if there is one.
    pub stream: Option<&'a Stream>,
    /// The team that the scenario runs over.
    pub team: Team,
    /// The team's PEs, in its order.
    pub pes: &'a [Pe],
    /// This PE's number in the team.
    pub me: usize,
    /// The arrays that operations read and write.
    pub arrays: &'a Arrays<T>,
    /// Three words, the second of which is the signal.
    pub signal: &'a Arc<SymArray<u64>>,
    /// Makes the data of different scenarios different.
    pub case: u64,
    /// For messages.
    pub label: String,
    /// Where checks are counted.
    pub tally: &'a mut Tally,
}

impl<T: Value> Context<'_, T> {
    /// Members of the team.
    pub fn n(&self) -> usize {
        self.pes.len()
    }

    /// The PE with the next number in the team.
    pub fn right(&self) -> Pe {
        self.pes[(self.me + 1) % self.n()]
    }

    /// The PE with the number before in the team.
    pub fn left(&self) -> Pe {
        self.pes[(self.me + self.n() - 1) % self.n()]
    }

    /// Issues an operation: at once, or on the stream.
    pub fn run<R: Send + 'static>(
        &self,
        job: impl FnOnce(&Runtime) -> Result<R> + Send + 'static,
    ) -> Result<R> {
        let job: Job<R> = Box::new(job);
        match self.stream {
            None => job(self.rt),
            Some(stream) => stream.run(job),
        }
    }

    /// Issues an operation without a result and goes on; `finish` waits for it.
    pub fn queue(&self, job: impl FnOnce(&Runtime) -> Result<()> + Send + 'static) -> Result<()> {
        let job: Job<()> = Box::new(job);
        match self.stream {
            None => job(self.rt),
            Some(stream) => stream.submit(job),
        }
    }

    /// Waits for the queued operations.
    pub fn finish(&self) -> Result<()> {
        self.stream.map_or(Ok(()), Stream::synchronize)
    }

    /// Meets the other members, in the way of the context.
    pub fn barrier(&self) -> Result<()> {
        let team = self.team;
        self.queue(move |rt| rt.barrier(team))?;
        self.finish()
    }

    /// Element `index` of PE `pe`'s data in this case.
    pub fn value(&self, pe: Pe, index: usize) -> T {
        T::sample(seed(self.case, pe, index))
    }

    /// The first `len` elements of PE `pe`'s data in this case.
    pub fn values(&self, pe: Pe, len: usize) -> Vec<T> {
        (0..len).map(|index| self.value(pe, index)).collect()
    }

    /// The element that nobody may overwrite.
    pub fn canary(&self) -> T {
        T::sample(CANARY)
    }

    /// `len` canaries.
    pub fn canaries(&self, len: usize) -> Vec<T> {
        vec![self.canary(); len]
    }

    /// `content` with canaries on both sides.
    fn framed(&self, content: &[T]) -> Vec<T> {
        let pad = [self.canary(); PAD];
        [&pad[..], content, &pad[..]].concat()
    }

    /// Fills this PE's source with `content`, canaries around it.
    pub fn set_source(&self, content: &[T]) -> Result<()> {
        self.arrays.source.write(0, &self.framed(content))
    }

    /// Fills source and dest, issues an operation on them, and waits until it is complete.
    pub fn operate(
        &self,
        source: &[T],
        dest: &[T],
        job: impl FnOnce(&Runtime, &SymArray<T>, &SymArray<T>) -> Result<()> + Send + 'static,
    ) -> Result<()> {
        self.set_source(source)?;
        self.arrays.dest.write(0, &self.framed(dest))?;
        let (source, dest) = (
            Arc::clone(&self.arrays.source),
            Arc::clone(&self.arrays.dest),
        );
        self.queue(move |rt| job(rt, &source, &dest))?;
        self.finish()
    }

    /// Fills this PE's dest with `len` canaries, and more canaries around them.
    pub fn clear_dest(&self, len: usize) -> Result<()> {
        self.arrays.dest.write(0, &self.canaries(len + 2 * PAD))
    }

    /// This PE's dest must be `content`, with canaries around it.
    #[track_caller]
    pub fn expect_dest(&mut self, name: &'static str, content: &[T]) -> Result<()> {
        self.expect(name, "dest", Arc::clone(&self.arrays.dest), content)
    }

    /// This PE's source must be `content`, with canaries around it.
    #[track_caller]
    pub fn expect_source(&mut self, name: &'static str, content: &[T]) -> Result<()> {
        self.expect(name, "source", Arc::clone(&self.arrays.source), content)
    }

    /// The result of an operation in place, or of an operation that leaves the source unchanged.
    #[track_caller]
    pub fn expect_result(
        &mut self,
        name: &'static str,
        in_place: bool,
        result: &[T],
        source: &[T],
    ) -> Result<()> {
        if in_place {
            return self.expect_source(name, result);
        }
        self.expect_dest(name, result)?;
        self.expect_source(name, source)
    }

    #[track_caller]
    fn expect(
        &mut self,
        name: &'static str,
        buffer: &str,
        array: Arc<SymArray<T>>,
        content: &[T],
    ) -> Result<()> {
        let mut seen = vec![T::zeroed(); content.len() + 2 * PAD];
        array.read(0, &mut seen)?;
        self.compare(name, buffer, &seen[PAD..PAD + content.len()], content);
        let beside = seen[..PAD].iter().chain(&seen[PAD + content.len()..]);
        for value in beside {
            assert!(
                same_bits(*value, self.canary()),
                "{name} wrote beside {buffer}: {value:?} [{}]",
                self.label
            );
        }
        Ok(())
    }

    /// Element by element.
    #[track_caller]
    pub fn compare(&mut self, name: &'static str, buffer: &str, seen: &[T], expected: &[T]) {
        assert_eq!(seen.len(), expected.len());
        for (index, (seen, expected)) in seen.iter().zip(expected).enumerate() {
            assert!(
                seen.same(*expected),
                "{name}: {buffer}[{index}] is {seen:?}, expected {expected:?} [{}]",
                self.label
            );
        }
        *self.tally.entry(name).or_default() += 1;
    }

    /// Counts a check that was made elsewhere.
    pub fn count(&mut self, name: &'static str) {
        *self.tally.entry(name).or_default() += 1;
    }
}

/// The `len` elements of an array that scenarios work on.
pub(crate) fn part<T: Value>(array: &SymArray<T>, len: usize) -> Result<SymSlice<'_, T>> {
    array.slice(PAD..PAD + len)
}
