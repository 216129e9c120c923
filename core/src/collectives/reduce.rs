//! Reduce (to all): small ones travel with the meeting; otherwise each member combines one part of the elements and writes it to
//! all.
//!
//! Every element is a left fold over the members in team order, whatever the algorithm, so the result has the same bits on every
//! member and in every run.

use super::{Call, PAYLOAD_BYTES, Turn};
use crate::dtype::{Dtype, Element};
use crate::heap::sym::{LocalDest, LocalSource, SymSlice};
use crate::op::Op;
use crate::transport::Transport as _;
use crate::transport::host::control::PAYLOAD_WORDS;
use crate::wait::Operation;
use crate::{Error, Result, Runtime, Team};

/// Words of the buffers in which parts are combined: they stay in the nearest cache.
const PART_WORDS: usize = 1024;

/// An element type's way to combine two values.
trait Combine: Element {
    fn sum(self, other: Self) -> Self;
    fn min(self, other: Self) -> Self;
    fn max(self, other: Self) -> Self;
}

macro_rules! combine_integers {
    ($($t:ty),*) => { $(
        impl Combine for $t {
            #[inline]
            fn sum(self, other: $t) -> $t {
                self.wrapping_add(other)
            }
            #[inline]
            fn min(self, other: $t) -> $t {
                Ord::min(self, other)
            }
            #[inline]
            fn max(self, other: $t) -> $t {
                Ord::max(self, other)
            }
        }
    )* };
}
combine_integers!(i8, i16, i32, i64, u8, u16, u32, u64);

macro_rules! combine_floats {
    ($($t:ty),*) => { $(
        impl Combine for $t {
            #[inline]
            fn sum(self, other: $t) -> $t {
                self + other
            }
            // The first NaN stays: `other` is taken only if `self` is a number.
            #[inline]
            fn min(self, other: $t) -> $t {
                if (other < self || other.is_nan()) && !self.is_nan() { other } else { self }
            }
            #[inline]
            fn max(self, other: $t) -> $t {
                if (other > self || other.is_nan()) && !self.is_nan() { other } else { self }
            }
        }
    )* };
}
combine_floats!(f32, f64);

fn fold_typed<T: Combine>(op: Op, acc: &mut [u64], next: &[u64]) {
    let acc: &mut [T] = bytemuck::cast_slice_mut(acc);
    let next: &[T] = bytemuck::cast_slice(next);
    let pairs = acc.iter_mut().zip(next);
    match op {
        Op::Sum => pairs.for_each(|(a, b)| *a = a.sum(*b)),
        Op::Min => pairs.for_each(|(a, b)| *a = a.min(*b)),
        Op::Max => pairs.for_each(|(a, b)| *a = a.max(*b)),
    }
}

/// Combines `next` into `acc`, element by element.
fn fold(dtype: Dtype, op: Op, acc: &mut [u64], next: &[u64]) {
    match dtype {
        Dtype::Int8 => fold_typed::<i8>(op, acc, next),
        Dtype::Int16 => fold_typed::<i16>(op, acc, next),
        Dtype::Int32 => fold_typed::<i32>(op, acc, next),
        Dtype::Int64 => fold_typed::<i64>(op, acc, next),
        Dtype::Uint8 => fold_typed::<u8>(op, acc, next),
        Dtype::Uint16 => fold_typed::<u16>(op, acc, next),
        Dtype::Uint32 => fold_typed::<u32>(op, acc, next),
        Dtype::Uint64 => fold_typed::<u64>(op, acc, next),
        Dtype::Float => fold_typed::<f32>(op, acc, next),
        Dtype::Double => fold_typed::<f64>(op, acc, next),
    }
}

/// A reduction whose arguments have been checked.
#[derive(Clone, Copy)]
struct Checked {
    dtype: Dtype,
    op: Op,
    bytes: usize,
    dest: u64,
    source: u64,
}

impl Runtime {
    /// Combines `count` elements of `source` of every member, element by element in team order, and writes the result to `dest` on
    /// every member. `dtype` and `op` are numbers of the C ABI; the addresses are this PE's symmetric ones, equal or not
    /// overlapping.
    ///
    /// Collective over `team`. OpenSHMEM 1.5 section 9.9.9.
    pub fn reduce(
        &self,
        team: Team,
        dest: u64,
        source: u64,
        count: usize,
        dtype: i32,
        op: i32,
    ) -> Result<()> {
        let checked = self.check_reduce(dest, source, count, dtype, op);
        self.reduce_checked(team, checked, [count as u64, dtype as u64, op as u64])
    }

    /// Arguments that did not pass are still brought to the meeting, so that every member learns of it.
    fn reduce_checked(&self, team: Team, checked: Result<Checked>, args: [u64; 3]) -> Result<()> {
        let turn = self.inner.enter(team, Operation::Reduce)?;
        let (to, from) = checked
            .as_ref()
            .map_or((0, 0), |checked| (checked.dest, checked.source));
        let call = |error| Call {
            operation: Operation::Reduce,
            args: [args[0], args[1], args[2], to, from],
            error,
        };
        match checked {
            Err(error) => turn.meet(call(Some(error)), &[]).map(|_| ()),
            Ok(checked) if checked.bytes <= 8 => self.reduce_word(&turn, call(None), checked),
            Ok(checked) if checked.bytes <= PAYLOAD_BYTES => {
                self.reduce_small(&turn, call(None), checked)
            }
            Ok(checked) => self.reduce_large(&turn, call(None), checked),
        }
    }

    fn check_reduce(
        &self,
        dest: u64,
        source: u64,
        count: usize,
        dtype: i32,
        op: i32,
    ) -> Result<Checked> {
        let dtype = Dtype::from_number(dtype)?;
        let op = Op::from_number(op)?;
        let bytes = count.checked_mul(dtype.size()).ok_or_else(|| {
            Error::invalid(
                "count",
                count,
                format!("a number that times {} bytes fits 64 bits", dtype.size()),
            )
        })?;
        let dest = self.inner.symmetric("dest", dest, bytes as u64)?;
        let source = self.inner.symmetric("source", source, bytes as u64)?;
        let (dest, source) = self.inner.buffers(dest, source)?;
        Ok(Checked {
            dtype,
            op,
            bytes,
            dest,
            source,
        })
    }

    fn reduce_word(&self, turn: &Turn<'_>, call: Call, checked: Checked) -> Result<()> {
        self.reduce_payload(turn, call, checked, &mut [0; 1], &mut [0; 1])
    }

    fn reduce_small(&self, turn: &Turn<'_>, call: Call, checked: Checked) -> Result<()> {
        self.reduce_payload(
            turn,
            call,
            checked,
            &mut [0; PAYLOAD_WORDS],
            &mut [0; PAYLOAD_WORDS],
        )
    }

    /// The sources travel with the meeting, and every member combines them all.
    #[inline]
    fn reduce_payload(
        &self,
        turn: &Turn<'_>,
        call: Call,
        checked: Checked,
        acc: &mut [u64],
        next: &mut [u64],
    ) -> Result<()> {
        let inner = &*self.inner;
        let words = checked.bytes.div_ceil(8);
        let (acc, next) = (&mut acc[..words], &mut next[..words]);
        let local = &mut bytemuck::cast_slice_mut::<u64, u8>(acc)[..checked.bytes];
        inner
            .transport
            .get(inner.my_pe, checked.source, LocalDest::from(local));
        let epoch = turn.meet(call, acc)?;
        turn.payload(0, epoch, acc);
        for member in 1..turn.team().n_pes {
            turn.payload(member, epoch, next);
            fold(checked.dtype, checked.op, acc, next);
        }
        let result = &bytemuck::cast_slice::<u64, u8>(acc)[..checked.bytes];
        inner
            .transport
            .put(inner.my_pe, checked.dest, LocalSource::from(result));
        Ok(())
    }

    /// Member m combines the m-th part of all sources and writes it to all destinations. In place this is safe because only
    /// member m reads or writes part m of anybody's buffers.
    fn reduce_large(&self, turn: &Turn<'_>, call: Call, checked: Checked) -> Result<()> {
        let inner = &*self.inner;
        let team = turn.team();
        turn.meet(call, &[])?;
        let share = checked
            .bytes
            .div_ceil(team.n_pes as usize)
            .next_multiple_of(64);
        let start = (share * team.my_pe as usize).min(checked.bytes);
        let end = (start + share).min(checked.bytes);
        let (mut acc, mut next) = ([0u64; PART_WORDS], [0u64; PART_WORDS]);
        let mut at = start;
        while at < end {
            let bytes = (end - at).min(PART_WORDS * 8);
            let words = bytes.div_ceil(8);
            let (acc, next) = (&mut acc[..words], &mut next[..words]);
            for member in 0..team.n_pes {
                let target = if member == 0 { &mut *acc } else { &mut *next };
                let local = &mut bytemuck::cast_slice_mut::<u64, u8>(target)[..bytes];
                inner
                    .transport
                    .get(member, checked.source + at as u64, LocalDest::from(local));
                if member > 0 {
                    fold(checked.dtype, checked.op, acc, next);
                }
            }
            let result = &bytemuck::cast_slice::<u64, u8>(acc)[..bytes];
            for member in 0..team.n_pes {
                inner
                    .transport
                    .put(member, checked.dest + at as u64, LocalSource::from(result));
            }
            at += bytes;
        }
        inner.transport.quiet_before_release();
        turn.meet(Call::plain(Operation::Reduce), &[]).map(|_| ())
    }

    /// [`reduce`](Runtime::reduce) of arrays, of equal length.
    pub fn reduce_array<T: Element>(
        &self,
        team: Team,
        dest: &SymSlice<'_, T>,
        source: &SymSlice<'_, T>,
        op: Op,
    ) -> Result<()> {
        let (to, from) = (dest.range(), source.range());
        let checked = super::same_length(dest.len(), source.len())
            .and_then(|()| self.inner.buffers(to, from))
            .map(|(dest, source)| Checked {
                dtype: T::DTYPE,
                op,
                bytes: to.bytes() as usize,
                dest,
                source,
            });
        self.reduce_checked(
            team,
            checked,
            [dest.len() as u64, T::DTYPE as u64, op as u64],
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nan_propagates_and_the_first_one_stays() {
        let (first, second) = (
            f64::from_bits(0x7ff8_0000_0000_0001),
            f64::from_bits(0x7ff8_0000_0000_0002),
        );
        for (a, b) in [(first, 1.0), (1.0, first), (first, second)] {
            assert_eq!(Combine::min(a, b).to_bits(), first.to_bits());
            assert_eq!(Combine::max(a, b).to_bits(), first.to_bits());
        }
        assert_eq!(Combine::min(1.0, 2.0), 1.0);
        assert_eq!(Combine::max(1.0f32, 2.0), 2.0);
        assert_eq!(Combine::sum(i8::MAX, 1), i8::MIN);
    }
}
