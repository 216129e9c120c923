//! Symmetric memory that lives for many rounds: made, resized, freed, released at different times on different PEs, and written by the
//! left neighbour. Each PE keeps a copy of the expected contents of its own memory, and compares.

use crate::draw::Lot;
use nvshmemrs::{LocalSource, Registration, Request, Result, Runtime, SymRange};
use nvshmemrs_suite::Tally;
use nvshmemrs_suite::values::seed;

/// Blocks that live at a time.
const MOST: usize = 40;
/// Bytes of the largest block.
const LARGE: usize = 300_000;

/// A block of memory, the same on every PE but for its contents.
struct Block {
    address: u64,
    /// The expected contents of this PE's memory.
    content: Vec<u8>,
}

/// The memory of one PE.
pub(crate) struct Memory {
    /// By address, which is in the same order on every PE.
    blocks: Vec<Block>,
    /// Blocks that this PE releases at a time of its own; the other PEs release them at other times.
    unreleased: Vec<u64>,
    own: Lot,
    made: u64,
}

/// Memory of the program's to register.
#[derive(Clone)]
#[repr(align(4096))]
struct Page([u8; 4096]);

fn pattern(number: u64, pe: i32, len: usize) -> Vec<u8> {
    (0..len.div_ceil(8))
        .flat_map(|index| seed(number, pe, index).to_le_bytes())
        .take(len)
        .collect()
}

impl Memory {
    pub(crate) fn new(seed: u64, pe: i32) -> Memory {
        Memory {
            blocks: Vec::new(),
            unreleased: Vec::new(),
            own: Lot::of_pe(seed, pe),
            made: 0,
        }
    }

    /// One step, drawn by `lot`. Collective over the job.
    pub(crate) fn step(&mut self, rt: &Runtime, lot: &mut Lot, tally: &mut Tally) -> Result<()> {
        self.release_some(rt, false)?;
        match lot.below(12) {
            0..=3 if self.blocks.len() < MOST => self.make(rt, lot, tally),
            _ if self.blocks.is_empty() => self.make(rt, lot, tally),
            0..=4 => self.free(rt, lot, tally),
            5 => self.release(rt, lot, tally),
            6 => self.resize(rt, lot, tally),
            7 => register(rt, lot, tally),
            8 => too_much(rt, tally),
            _ => self.write(rt, lot, tally),
        }
    }

    fn make(&mut self, rt: &Runtime, lot: &mut Lot, tally: &mut Tally) -> Result<()> {
        let bytes = 1 + lot.length(LARGE);
        let kind = lot.below(3);
        let (name, request) = match kind {
            0 => ("malloc", Ok(Request::bytes(bytes))),
            1 => ("calloc", Request::zeroed(bytes, 1)),
            _ => ("align", Request::aligned(64 << lot.below(10), bytes)),
        };
        let address = rt.malloc(request)?.expect("more than 0 bytes");
        if kind == 1 {
            assert_same(name, &read(rt, address, bytes)?, &vec![0; bytes]);
            *tally.entry(name).or_default() += 1;
        }
        self.made += 1;
        let content = pattern(self.made, rt.my_pe(), bytes);
        rt.put(range(rt, address, bytes)?, &content, rt.my_pe())?;
        *tally.entry(name).or_default() += 1;
        let at = self.blocks.partition_point(|block| block.address < address);
        self.blocks.insert(at, Block { address, content });
        self.check(rt, at, tally)
    }

    fn free(&mut self, rt: &Runtime, lot: &mut Lot, tally: &mut Tally) -> Result<()> {
        let at = lot.below(self.blocks.len());
        self.check(rt, at, tally)?;
        rt.free(self.blocks.remove(at).address)?;
        *tally.entry("free").or_default() += 1;
        Ok(())
    }

    fn release(&mut self, rt: &Runtime, lot: &mut Lot, tally: &mut Tally) -> Result<()> {
        let at = lot.below(self.blocks.len());
        self.check(rt, at, tally)?;
        self.unreleased.push(self.blocks.remove(at).address);
        *tally.entry("release").or_default() += 1;
        Ok(())
    }

    /// Releases some of the blocks that are due, at a time of this PE's choice.
    fn release_some(&mut self, rt: &Runtime, all: bool) -> Result<()> {
        let own = &mut self.own;
        let mut result = Ok(());
        self.unreleased.retain(|&address| {
            let now = all || own.once_in(4);
            if now && result.is_ok() {
                result = rt.release(address);
            }
            !now
        });
        result
    }

    fn resize(&mut self, rt: &Runtime, lot: &mut Lot, tally: &mut Tally) -> Result<()> {
        let at = lot.below(self.blocks.len());
        let bytes = 1 + lot.length(LARGE);
        let mut block = self.blocks.remove(at);
        let address = rt.realloc(Ok(block.address), bytes)?;
        block.address = address.expect("more than 0 bytes");
        let kept = block.content.len().min(bytes);
        let seen = read(rt, block.address, bytes)?;
        assert_same("realloc", &seen[..kept], &block.content[..kept]);
        *tally.entry("realloc").or_default() += 1;
        self.made += 1;
        block.content.truncate(kept);
        let more = pattern(self.made, rt.my_pe(), bytes - kept);
        if !more.is_empty() {
            let rest = range(rt, block.address + kept as u64, more.len())?;
            rt.put(rest, &more, rt.my_pe())?;
        }
        block.content.extend(more);
        let at = self
            .blocks
            .partition_point(|other| other.address < block.address);
        self.blocks.insert(at, block);
        self.check(rt, at, tally)
    }

    /// Every PE writes a part of a block of its right neighbour.
    fn write(&mut self, rt: &Runtime, lot: &mut Lot, tally: &mut Tally) -> Result<()> {
        let at = lot.below(self.blocks.len());
        let block = &mut self.blocks[at];
        let len = block.content.len();
        let start = lot.below(len);
        let count = 1 + lot.below(len - start);
        let (me, n, number) = (rt.my_pe(), rt.n_pes(), lot.number());
        let (right, left) = ((me + 1) % n, (me + n - 1) % n);
        let dest = range(rt, block.address + start as u64, count)?;
        let mine = pattern(number, me, count);
        // The neighbour may still compare its contents.
        rt.barrier_all()?;
        if lot.once_in(2) {
            rt.put(dest, &mine, right)?;
        } else {
            rt.put_nbi(dest, &mine, right)?;
            rt.quiet()?;
        }
        rt.barrier_all()?;
        block.content[start..start + count].copy_from_slice(&pattern(number, left, count));
        self.check(rt, at, tally)
    }

    /// Compares a block, and the ones beside it.
    fn check(&self, rt: &Runtime, at: usize, tally: &mut Tally) -> Result<()> {
        let beside = at.saturating_sub(1)..(at + 2).min(self.blocks.len());
        for block in &self.blocks[beside] {
            let seen = read(rt, block.address, block.content.len())?;
            assert_same("memory", &seen, &block.content);
            *tally.entry("memory kept").or_default() += 1;
        }
        Ok(())
    }

    /// Compares everything, gives everything back, and checks that the heap is empty and whole but for `others` allocations. Collective
    /// over the job.
    pub(crate) fn empty(&mut self, rt: &Runtime, others: u64, tally: &mut Tally) -> Result<()> {
        for at in 0..self.blocks.len() {
            self.check(rt, at, tally)?;
        }
        for block in self.blocks.drain(..) {
            rt.free(block.address)?;
        }
        self.release_some(rt, true)?;
        rt.barrier_all()?;
        // This allocation frees the blocks that all PEs have released.
        if let Some(address) = rt.malloc(Ok(Request::bytes(1)))? {
            rt.free(address)?;
        }
        let stats = rt.heap_stats();
        assert_eq!(
            (stats.allocations, stats.released),
            (others, 0),
            "the heap is not empty: {stats:?}"
        );
        *tally.entry("heap empty").or_default() += 1;
        Ok(())
    }
}

fn range(rt: &Runtime, address: u64, bytes: usize) -> Result<SymRange> {
    rt.symmetric("address", address, bytes)
}

fn read(rt: &Runtime, address: u64, bytes: usize) -> Result<Vec<u8>> {
    let mut seen = vec![0; bytes];
    rt.get(&mut seen, range(rt, address, bytes)?, rt.my_pe())?;
    Ok(seen)
}

#[track_caller]
fn assert_same(what: &str, seen: &[u8], expected: &[u8]) {
    let differs = seen.iter().zip(expected).position(|(a, b)| a != b);
    assert_eq!(
        differs,
        None,
        "{what}: of {} bytes the first that differs",
        expected.len()
    );
}

/// A buffer of the program's, shared for a moment.
fn register(rt: &Runtime, lot: &mut Lot, tally: &mut Tally) -> Result<()> {
    let (me, n) = (rt.my_pe(), rt.n_pes());
    let (count, number) = (lot.between(1, 6), lot.number());
    let mut pages = vec![Page([me as u8; 4096]); count + 2];
    let bytes = count * 4096;
    // SAFETY: nothing uses the pages until they are unregistered.
    let registration = unsafe { Registration::from_raw(pages[1..].as_mut_ptr().cast(), bytes, 0) };
    let symmetric = rt.buffer_register(Ok(registration))?;
    let offset = lot.below(bytes);
    let part = pattern(number, me, 1 + lot.below(bytes - offset));
    let dest = range(rt, symmetric + offset as u64, part.len())?;
    rt.put(dest, LocalSource::from(&part), (me + 1) % n)?;
    rt.buffer_unregister(symmetric)?;
    // Other PEs write these pages: the compiler must not assume their contents.
    let pages = std::hint::black_box(&pages);
    let mut expected = vec![me as u8; bytes];
    expected[offset..offset + part.len()].copy_from_slice(&pattern(
        number,
        (me + n - 1) % n,
        part.len(),
    ));
    let seen: Vec<u8> = pages[1..=count].iter().flat_map(|page| page.0).collect();
    assert_same("registered buffer", &seen, &expected);
    for beside in [&pages[0], &pages[count + 1]] {
        assert_same("beside a registered buffer", &beside.0, &[me as u8; 4096]);
    }
    *tally.entry("registered buffer").or_default() += 1;
    Ok(())
}

/// More than there is: an error everywhere, and nothing has changed.
fn too_much(rt: &Runtime, tally: &mut Tally) -> Result<()> {
    let before = rt.heap_stats();
    let error = rt.malloc(Ok(Request::bytes(before.heap_bytes as usize + 1)));
    assert_eq!(
        error.map_err(|error| error.status()),
        Err(2),
        "out of memory"
    );
    assert_eq!(rt.heap_stats().heap_bytes, before.heap_bytes);
    *tally.entry("malloc too much").or_default() += 1;
    Ok(())
}
