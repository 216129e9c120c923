//! An operation that is held back, and its delivery.

use super::delay::TargetRange;
use super::memory::{self, Digest};
use super::tracker::ReleaseStamp;
use super::{Checker, HELD_BYTES};
use crate::Pe;
use crate::buffer::{LocalDest, LocalSource, SymRange};
use crate::job::doorbell;
use crate::op::SignalOp;
use crate::operation::Operation;
use crate::sites::inside;
use crate::transport::copy::copy;
use crate::transport::{Atomic, SignalUpdate, Width};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard};

/// Bytes that were copied away, aligned to 8, so that an element stays one access.
pub(super) enum Bytes {
    Few([u64; 2]),
    Many(Vec<u64>),
}

impl Bytes {
    /// A copy of a source, in a buffer of `pool` if it is a large one.
    #[inline(always)]
    pub(super) fn of(source: LocalSource<'_>, pool: &BufferPool) -> Bytes {
        let word = source.address().cast::<AtomicU64>();
        if source.bytes() == 8 && word.is_aligned() {
            // SAFETY: the source is valid by the rules of `buffer`, and aligned (just checked).
            return Bytes::Few([unsafe { (*word).load(Relaxed) }, 0]);
        }
        Bytes::other(source, pool)
    }

    #[inline(never)]
    fn other(source: LocalSource<'_>, pool: &BufferPool) -> Bytes {
        let bytes = source.bytes();
        if bytes <= 16 {
            let mut few = [0; 2];
            // SAFETY: the source is valid by the rules of `buffer`; `few` has room for it.
            unsafe { copy::<false, true>(few.as_mut_ptr().cast(), source.address(), bytes) };
            return Bytes::Few(few);
        }
        let words = bytes.div_ceil(8);
        let mut many = pool.take(words);
        assert!(many.capacity() >= words);
        // SAFETY: as above; the last word is set first, since its end may lie past the source's, then all are.
        unsafe {
            let start: *mut u64 = many.as_mut_ptr();
            start.add(words - 1).write(0);
            copy::<false, true>(start.cast(), source.address(), bytes);
            many.set_len(words);
        }
        Bytes::Many(many)
    }

    /// A copy of memory of a GPU.
    fn of_gpu(source: LocalSource<'_>, copy: impl FnOnce(LocalDest<'_>)) -> Bytes {
        let mut words = vec![0_u64; source.bytes().div_ceil(8).max(1)];
        copy(LocalDest::from(
            &mut bytemuck::cast_slice_mut::<u64, u8>(&mut words)[..source.bytes()],
        ));
        match words.len() {
            1 => Bytes::Few([words[0], 0]),
            2 => Bytes::Few([words[0], words[1]]),
            _ => Bytes::Many(words),
        }
    }

    /// The first `bytes` of them.
    pub(super) fn get(&self, bytes: usize) -> &[u8] {
        let words = match self {
            Bytes::Few(words) => words.as_slice(),
            Bytes::Many(words) => words,
        };
        &bytemuck::cast_slice(words)[..bytes]
    }
}

/// Words from which on a buffer is worth keeping: those of the allocator cost more than their copy, which it gives back to the
/// system and asks for again.
const LARGE: usize = 128;
/// Most buffers that are kept, and most of their words: as much memory again as the held operations take.
const POOLED_BUFFERS: usize = 64;
const POOLED_WORDS: usize = HELD_BYTES / 8;

/// Buffers of operations that have been delivered, for those to come.
#[derive(Default)]
pub(super) struct BufferPool(Mutex<Vec<Vec<u64>>>);

impl BufferPool {
    fn lock(&self) -> MutexGuard<'_, Vec<Vec<u64>>> {
        crate::lock::lock(&self.0)
    }

    /// An empty buffer for so many words.
    fn take(&self, words: usize) -> Vec<u64> {
        if words < LARGE {
            return Vec::with_capacity(words);
        }
        let mut kept = self.lock();
        let fits = |buffer: &Vec<u64>| (words..=2 * words).contains(&buffer.capacity());
        match kept.iter().rposition(fits) {
            Some(index) => kept.swap_remove(index),
            None => Vec::with_capacity(words),
        }
    }

    /// Keeps the buffer of an operation that has been delivered; those of long ago go.
    pub(super) fn keep(&self, bytes: &mut Bytes) {
        let Bytes::Many(buffer) = bytes else {
            return;
        };
        if !(LARGE..=POOLED_WORDS).contains(&buffer.capacity()) {
            return;
        }
        let mut buffer = std::mem::take(buffer);
        buffer.clear();
        let mut kept = self.lock();
        kept.push(buffer);
        while kept.len() > POOLED_BUFFERS
            || kept.iter().map(Vec::capacity).sum::<usize>() > POOLED_WORDS
        {
            kept.remove(0);
        }
    }
}

/// The effect of an operation at its delivery.
pub(super) enum Effect {
    Put(Bytes),
    /// A put whose source is read only now; the number of its entry in the list of in-flight buffers.
    PutFrom {
        source: u64,
        in_flight: u64,
        digest: Digest,
    },
    /// A get whose dest is written only now.
    GetTo {
        dest: u64,
        in_flight: u64,
    },
    /// The result of an atomic operation, which is written to its dest only now.
    Give {
        dest: u64,
        value: u64,
        in_flight: u64,
    },
    Signal(SignalUpdate),
}

/// An operation that is held back.
pub(super) struct HeldOperation {
    pub(super) target_range: TargetRange,
    pub(super) site: u16,
    /// How many fences came before it.
    pub(super) fences: u32,
    pub(super) stamp: ReleaseStamp,
    pub(super) effect: Effect,
}

impl HeldOperation {
    /// A signal.
    pub(super) fn signal(
        pe: Pe,
        update: SignalUpdate,
        stamp: ReleaseStamp,
        site: u16,
    ) -> HeldOperation {
        HeldOperation {
            target_range: TargetRange {
                pe,
                offset: update.offset,
                bytes: 8,
            },
            site,
            fences: 0,
            stamp,
            effect: Effect::Signal(update),
        }
    }
}

/// Bytes of an in-flight buffer that are copied at a time.
const PART: usize = 1 << 20;

/// The result of an atomic operation on a word.
pub(super) fn result(width: Width, operation: Atomic, old: u64) -> u64 {
    let new = match operation {
        Atomic::Fetch => old,
        Atomic::Set(value) | Atomic::Swap(value) => value,
        Atomic::CompareSwap { cond, value } if old == cond => value,
        Atomic::CompareSwap { .. } => old,
        Atomic::Add(value) => old.wrapping_add(value),
        Atomic::AddFloat(value) => match width {
            Width::Bits32 => {
                let sum = f32::from_bits(old as u32) + f32::from_bits(value as u32);
                u64::from(sum.to_bits())
            }
            Width::Bits64 => (f64::from_bits(old) + f64::from_bits(value)).to_bits(),
        },
        Atomic::And(value) => old & value,
        Atomic::Or(value) => old | value,
        Atomic::Xor(value) => old ^ value,
    };
    match width {
        Width::Bits32 => u64::from(new as u32),
        Width::Bits64 => new,
    }
}

impl Checker {
    /// A copy of a source, which may be on a GPU.
    pub(super) fn copy_of(&self, source: LocalSource<'_>) -> Bytes {
        let address = source.address() as u64;
        match self.gpu_with(address) {
            Some(device) if !source.is_borrowed() => Bytes::of_gpu(source, |dest| {
                let copied = device.copy_to_host(Operation::Put, address, dest);
                let _ = copied.map_err(|error| self.below.keep(error));
            }),
            _ => Bytes::of(source, &self.pool),
        }
    }

    /// Executes a held operation. Under the lock of the queue, whose order it keeps.
    pub(super) fn deliver(&self, held: &mut HeldOperation) {
        // Earlier deliveries, by any thread, are seen before.
        self.below().fence();
        let TargetRange { pe, offset, bytes } = held.target_range;
        match &mut held.effect {
            Effect::Put(copied) => {
                let source = LocalSource::from(copied.get(bytes as usize));
                self.do_put(held.target_range, source, &held.stamp, held.site);
                self.pool.keep(copied);
            }
            &mut Effect::PutFrom {
                source,
                in_flight,
                digest,
            } => self.put_from(held, source, in_flight, digest),
            &mut Effect::GetTo { dest, in_flight } => {
                self.get_to(held.target_range, dest, in_flight)
            }
            &mut Effect::Give {
                dest,
                value,
                in_flight,
            } => {
                let value = &value.to_ne_bytes()[..bytes as usize];
                if !memory::write(dest, value) {
                    self.in_flight.changed(in_flight);
                }
            }
            &mut Effect::Signal(update) => {
                let asked = self.tracker.delivered(pe, offset, bytes, held.stamp);
                let operation = match update.op {
                    SignalOp::Set => Atomic::Swap(update.value),
                    SignalOp::Add => Atomic::Add(update.value),
                };
                if asked {
                    let old = self.below().atomic(pe, offset, Width::Bits64, operation);
                    let new = result(Width::Bits64, operation, old);
                    self.updated(held.target_range, old, new, &held.stamp, held.site);
                } else {
                    self.below().signal(pe, update);
                }
            }
        }
        if !matches!(held.effect, Effect::GetTo { .. } | Effect::Give { .. }) {
            self.tracker.wake(pe);
            doorbell::ring_words(&self.control, pe, SymRange::new(offset, bytes));
        }
    }

    /// Puts now.
    pub(super) fn do_put(
        &self,
        target_range: TargetRange,
        source: LocalSource<'_>,
        stamp: &ReleaseStamp,
        site: u16,
    ) {
        self.below().fence();
        let TargetRange { pe, offset, bytes } = target_range;
        let asked = self.tracker.delivered(pe, offset, bytes, *stamp);
        let word = matches!(bytes, 1 | 2 | 4 | 8) && offset.is_multiple_of(bytes);
        if !(asked && word) {
            return self.below().put(pe, offset, source);
        }
        let old = self.word(pe, offset, bytes);
        self.below().put(pe, offset, source);
        let new = match self.copy_of(source) {
            Bytes::Few(words) => words[0],
            Bytes::Many(words) => words[0],
        };
        self.updated(target_range, old, new, stamp, site);
    }

    /// An aligned word of 1, 2, 4 or 8 bytes.
    pub(super) fn word(&self, pe: Pe, offset: u64, bytes: u64) -> u64 {
        let mut word = [0_u64];
        let part: &mut [u8] = &mut bytemuck::cast_slice_mut(&mut word)[..bytes as usize];
        self.below().get(pe, offset, LocalDest::from(part));
        word[0]
    }

    /// Reports a change of a word to the tracker. The tracker's messages are kept until the queue's lock is released.
    pub(super) fn updated(
        &self,
        target_range: TargetRange,
        old: u64,
        new: u64,
        stamp: &ReleaseStamp,
        site: u16,
    ) {
        let TargetRange { pe, offset, bytes } = target_range;
        let update = || {
            self.tracker
                .update(pe, offset, bytes, old, new, *stamp, site);
        };
        let said = inside::keep(update);
        if !said.is_empty() {
            self.unwritten().push_str(&said);
            self.has_unwritten.store(true, Relaxed);
        }
    }

    /// Puts the current contents of an in-flight source.
    fn put_from(&self, held: &HeldOperation, source: u64, in_flight: u64, digest: Digest) {
        let TargetRange { pe, offset, bytes } = held.target_range;
        let bytes = bytes as usize;
        if bytes <= 8 {
            let mut word = [0_u64];
            let word: &mut [u8] = &mut bytemuck::cast_slice_mut(&mut word)[..bytes];
            let readable = memory::read(source, word);
            if readable {
                let source = LocalSource::from(&*word);
                self.do_put(held.target_range, source, &held.stamp, held.site);
            }
            if !readable || Digest::new().with(word) != digest {
                self.in_flight.changed(in_flight);
            }
            return;
        }
        self.tracker.delivered(pe, offset, bytes as u64, held.stamp);
        let mut found = Some(Digest::new());
        memory::in_parts(bytes, PART, |at, part| {
            let readable = memory::read(source + at as u64, part);
            if readable {
                self.below()
                    .put(pe, offset + at as u64, LocalSource::from(&*part));
            }
            found = found.filter(|_| readable).map(|found| found.with(part));
        });
        if found != Some(digest) {
            self.in_flight.changed(in_flight);
        }
    }

    /// Gets into an in-flight buffer.
    fn get_to(&self, target_range: TargetRange, dest: u64, in_flight: u64) {
        memory::in_parts(target_range.bytes as usize, PART, |at, part| {
            let from = target_range.offset + at as u64;
            self.below()
                .get(target_range.pe, from, LocalDest::from(&mut *part));
            if !memory::write(dest + at as u64, part) {
                self.in_flight.changed(in_flight);
            }
        });
    }
}
const _: () = assert!(size_of::<HeldOperation>() <= 96);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_buffers_are_used_again_and_hold_what_they_should() {
        let pool = BufferPool::default();
        for bytes in [8, 16, 17, 4000, 4096, 40_000, 4001] {
            let source: Vec<u8> = (0..bytes).map(|i| (i * 7 + bytes) as u8).collect();
            let mut copied = Bytes::of(LocalSource::from(source.as_slice()), &pool);
            assert_eq!(copied.get(bytes), source, "{bytes} bytes");
            pool.keep(&mut copied);
        }
        let kept = |pool: &BufferPool| pool.lock().iter().map(Vec::capacity).collect::<Vec<_>>();
        assert_eq!(
            kept(&pool),
            [500, 5000, 512],
            "4001 bytes took the one of 4096"
        );
        let large = |words| Bytes::Many(Vec::with_capacity(words));
        for words in [POOLED_WORDS / 2, POOLED_WORDS / 2, POOLED_WORDS + 1] {
            pool.keep(&mut large(words));
        }
        assert_eq!(kept(&pool), [POOLED_WORDS / 2; 2], "the oldest have gone");
    }
}
