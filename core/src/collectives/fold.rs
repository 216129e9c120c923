//! How the values of two members combine: one kernel per element type and operation.
//!
//! Narrow floating-point numbers are folded in single precision and rounded once at the end; all others in their own type. No
//! operations are contracted into fused ones, so a left fold has the same bits wherever it is computed.

use crate::dtype::{Dtype, Element, NumberKind};
use crate::op::Op;
use crate::{Error, Float8E4m3fn, Float8E5m2, Result};
use half::{bf16, f16, slice::HalfFloatSliceExt};
use num_complex::Complex;

/// Sums and products.
trait Add: Copy {
    const ZERO: Self;
    const ONE: Self;
    fn sum(self, other: Self) -> Self;
    fn prod(self, other: Self) -> Self;
}

/// Smallest and largest.
trait Order: Copy {
    const LOWEST: Self;
    const HIGHEST: Self;
    fn min(self, other: Self) -> Self;
    fn max(self, other: Self) -> Self;
}

macro_rules! integers {
    ($($t:ty),*) => { $(
        impl Add for $t {
            const ZERO: $t = 0;
            const ONE: $t = 1;
            #[inline]
            fn sum(self, other: $t) -> $t {
                self.wrapping_add(other)
            }
            #[inline]
            fn prod(self, other: $t) -> $t {
                self.wrapping_mul(other)
            }
        }
        impl Order for $t {
            const LOWEST: $t = <$t>::MIN;
            const HIGHEST: $t = <$t>::MAX;
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
integers!(i8, i16, i32, i64, u8, u16, u32, u64);

macro_rules! floats {
    ($($t:ty),*) => { $(
        impl Add for $t {
            const ZERO: $t = 0.0;
            const ONE: $t = 1.0;
            #[inline]
            fn sum(self, other: $t) -> $t {
                self + other
            }
            #[inline]
            fn prod(self, other: $t) -> $t {
                self * other
            }
        }
        impl Order for $t {
            const LOWEST: $t = <$t>::NEG_INFINITY;
            const HIGHEST: $t = <$t>::INFINITY;
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
floats!(f32, f64);

macro_rules! complexes {
    ($($t:ty),*) => { $(
        impl Add for Complex<$t> {
            const ZERO: Self = Complex::new(0.0, 0.0);
            const ONE: Self = Complex::new(1.0, 0.0);
            #[inline]
            fn sum(self, other: Self) -> Self {
                self + other
            }
            #[inline]
            fn prod(self, other: Self) -> Self {
                self * other
            }
        }
    )* };
}
complexes!(f32, f64);

type Fold = fn(&mut [u64], &[u64], usize);

/// The operation of a reduction on elements, as words. The accumulator holds elements of [`Kernel::acc_size`] bytes.
#[derive(Clone, Copy)]
pub(super) struct Kernel {
    /// The type of its elements.
    pub(super) dtype: Dtype,
    /// Bytes of an element.
    pub(super) size: usize,
    /// Bytes of an element of the accumulator; the same as `size` unless elements are widened.
    pub(super) acc_size: usize,
    /// Combines elements into the accumulator.
    pub(super) fold: Fold,
    /// Fills the accumulator with the operation's identity: 0 for a sum, 1 for a product, ...
    pub(super) identity: fn(&mut [u64], usize),
    /// To and from the accumulator, where elements are widened.
    pub(super) widen: Option<(Fold, Fold)>,
}

/// The first `count` elements of a buffer of words.
fn elements<T: bytemuck::Pod>(words: &[u64], count: usize) -> &[T] {
    &bytemuck::cast_slice(words)[..count]
}

fn elements_mut<T: bytemuck::Pod>(words: &mut [u64], count: usize) -> &mut [T] {
    &mut bytemuck::cast_slice_mut(words)[..count]
}

/// A kernel whose accumulator holds the elements themselves.
macro_rules! plain {
    ($t:ty, $identity:expr, $combine:expr) => {
        Kernel {
            dtype: <$t as Element>::DTYPE,
            size: size_of::<$t>(),
            acc_size: size_of::<$t>(),
            fold: |acc, next, count| {
                let combine = $combine;
                let pairs = elements_mut::<$t>(acc, count)
                    .iter_mut()
                    .zip(elements::<$t>(next, count));
                pairs.for_each(|(a, b)| *a = combine(*a, *b));
            },
            identity: |acc, count| elements_mut::<$t>(acc, count).fill($identity),
            widen: None,
        }
    };
}

/// Elements that are widened at a time.
const WIDE: usize = 64;

/// Numbers of a type that are folded in single precision.
trait Narrow: bytemuck::Pod {
    fn widen(from: &[Self], to: &mut [f32]);
    fn narrow(from: &[f32], to: &mut [Self]);
}

macro_rules! halves {
    ($($t:ty),*) => { $(
        impl Narrow for $t {
            fn widen(from: &[$t], to: &mut [f32]) {
                from.convert_to_f32_slice(to);
            }
            fn narrow(from: &[f32], to: &mut [$t]) {
                to.convert_from_f32_slice(from);
            }
        }
    )* };
}
halves!(f16, bf16);

macro_rules! float8s {
    ($($t:ty),*) => { $(
        impl Narrow for $t {
            fn widen(from: &[$t], to: &mut [f32]) {
                from.iter().zip(to).for_each(|(from, to)| *to = from.to_f32());
            }
            fn narrow(from: &[f32], to: &mut [$t]) {
                from.iter().zip(to).for_each(|(from, to)| *to = <$t>::from_f32(*from));
            }
        }
    )* };
}
float8s!(Float8E4m3fn, Float8E5m2);

/// A kernel that folds narrow numbers in single precision.
macro_rules! widened {
    ($t:ty, $identity:expr, $combine:expr) => {
        Kernel {
            dtype: <$t as Element>::DTYPE,
            size: size_of::<$t>(),
            acc_size: size_of::<f32>(),
            fold: |acc, next, count| {
                let combine = $combine;
                let mut wide = [0f32; WIDE];
                let acc = elements_mut::<f32>(acc, count).chunks_mut(WIDE);
                for (acc, next) in acc.zip(elements::<$t>(next, count).chunks(WIDE)) {
                    let wide = &mut wide[..next.len()];
                    <$t>::widen(next, wide);
                    let pairs = acc.iter_mut().zip(wide.iter());
                    pairs.for_each(|(a, b)| *a = combine(*a, *b));
                }
            },
            identity: |acc, count| elements_mut::<f32>(acc, count).fill($identity),
            widen: Some((
                |acc, source, count| {
                    <$t>::widen(elements(source, count), elements_mut(acc, count));
                },
                |dest, acc, count| {
                    <$t>::narrow(elements(acc, count), elements_mut(dest, count));
                },
            )),
        }
    };
}

macro_rules! any_op {
    ($form:ident, $t:ty, $acc:ty, $op:expr) => {
        match $op {
            Op::Sum => Some($form!($t, <$acc as Add>::ZERO, <$acc as Add>::sum)),
            Op::Prod => Some($form!($t, <$acc as Add>::ONE, <$acc as Add>::prod)),
            Op::Min => Some($form!($t, <$acc as Order>::HIGHEST, <$acc as Order>::min)),
            Op::Max => Some($form!($t, <$acc as Order>::LOWEST, <$acc as Order>::max)),
            Op::And | Op::Or | Op::Xor => None,
        }
    };
}

macro_rules! integer {
    ($t:ty, $op:expr) => {
        match $op {
            Op::And => Some(plain!($t, !0, |a: $t, b: $t| a & b)),
            Op::Or => Some(plain!($t, 0, |a: $t, b: $t| a | b)),
            Op::Xor => Some(plain!($t, 0, |a: $t, b: $t| a ^ b)),
            other => any_op!(plain, $t, $t, other),
        }
    };
}

macro_rules! complex {
    ($t:ty, $op:expr) => {
        match $op {
            Op::Sum => Some(plain!($t, <$t as Add>::ZERO, <$t as Add>::sum)),
            Op::Prod => Some(plain!($t, <$t as Add>::ONE, <$t as Add>::prod)),
            _ => None,
        }
    };
}

/// The kernels of a type, by its kind.
macro_rules! kernel_of {
    (Signed $t:ty, $op:expr) => {
        integer!($t, $op)
    };
    (Unsigned $t:ty, $op:expr) => {
        integer!($t, $op)
    };
    (Widened $t:ty, $op:expr) => {
        any_op!(widened, $t, f32, $op)
    };
    (Real $t:ty, $op:expr) => {
        any_op!(plain, $t, $t, $op)
    };
    (Complex $t:ty, $op:expr) => {
        complex!($t, $op)
    };
}

macro_rules! find {
    ([($dtype:expr, $op:expr)] $([$variant:ident $number:literal $name:literal $bytes:literal $t:ty, $kind:ident, $doc:literal])*) => {
        match $dtype {
            $(Dtype::$variant => kernel_of!($kind $t, $op)),*
        }
    };
}

const fn find(dtype: Dtype, op: Op) -> Option<Kernel> {
    crate::with_dtypes!(find(dtype, op))
}

type Table = [[Option<Kernel>; Op::ALL.len()]; Dtype::ALL.len()];

/// By the positions of type and operation in their lists.
static KERNELS: Table = {
    let mut table: Table = [[None; Op::ALL.len()]; Dtype::ALL.len()];
    let mut dtype = 0;
    while dtype < Dtype::ALL.len() {
        let mut op = 0;
        while op < Op::ALL.len() {
            table[dtype][op] = find(Dtype::ALL[dtype], Op::ALL[op]);
            op += 1;
        }
        dtype += 1;
    }
    table
};

/// The kernel for a type and an operation; an error if they do not go together.
#[inline]
pub(super) fn kernel(dtype: Dtype, op: Op) -> Result<&'static Kernel> {
    // Numbers count from 1.
    match &KERNELS[dtype as usize - 1][op as usize - 1] {
        Some(kernel) => Ok(kernel),
        None => Err(not_for(dtype, op)),
    }
}

#[cold]
fn not_for(dtype: Dtype, op: Op) -> Error {
    let expected = match dtype.kind() {
        NumberKind::Complex => format!("sum or prod with elements of `{dtype}`"),
        _ => format!(
            "sum, prod, min or max with elements of `{dtype}`: and, or and xor are for integers"
        ),
    };
    Error::invalid("op", op, expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fold<T: bytemuck::Pod>(dtype: Dtype, op: Op, a: T, b: T) -> T {
        let kernel = kernel(dtype, op).unwrap();
        let (mut acc, mut next) = ([0u64; 4], [0u64; 4]);
        elements_mut::<T>(&mut acc, 1)[0] = a;
        elements_mut::<T>(&mut next, 1)[0] = b;
        (kernel.fold)(&mut acc, &next, 1);
        elements::<T>(&acc, 1)[0]
    }

    #[test]
    fn nan_propagates_and_the_first_one_stays() {
        let (first, second) = (
            f64::from_bits(0x7ff8_0000_0000_0001),
            f64::from_bits(0x7ff8_0000_0000_0002),
        );
        for (a, b) in [(first, 1.0), (1.0, first), (first, second)] {
            for op in [Op::Min, Op::Max] {
                assert_eq!(fold(Dtype::Double, op, a, b).to_bits(), first.to_bits());
            }
        }
        assert_eq!(fold(Dtype::Double, Op::Min, 1.0, 2.0), 1.0);
        assert_eq!(fold(Dtype::Float, Op::Max, 1.0f32, 2.0), 2.0);
        assert_eq!(fold(Dtype::Int8, Op::Sum, i8::MAX, 1), i8::MIN);
        assert_eq!(fold(Dtype::Int8, Op::Prod, i8::MIN, -1), i8::MIN);
        assert_eq!(fold(Dtype::Uint16, Op::Xor, 0b1100u16, 0b1010), 0b0110);
        let product = fold(
            Dtype::Complexd,
            Op::Prod,
            Complex::new(1.0, 2.0),
            Complex::new(3.0, -1.0),
        );
        assert_eq!(product, Complex::new(5.0, 5.0));
    }

    #[test]
    fn identities_leave_elements_as_they_are() {
        for dtype in Dtype::ALL {
            for op in Op::ALL {
                let Ok(kernel) = kernel(dtype, op) else {
                    continue;
                };
                let mut acc = [0u64; 4];
                (kernel.identity)(&mut acc, 1);
                // 3 in every type, or at least a number that no operation above changes.
                let three = u64::from(3f32.to_bits());
                let mut value = [0u64; 4];
                match (kernel.widen, dtype) {
                    (Some((_, narrow)), _) => narrow(&mut value, &[three, 0, 0, 0], 1),
                    (None, Dtype::Float | Dtype::Complexf) => value[0] = three,
                    (None, Dtype::Double | Dtype::Complexd) => value[0] = 3f64.to_bits(),
                    _ => value[0] = 3,
                }
                (kernel.fold)(&mut acc, &value, 1);
                let mut out = [0u64; 4];
                match kernel.widen {
                    Some((_, narrow)) => narrow(&mut out, &acc, 1),
                    None => out = acc,
                }
                let bytes = bytemuck::cast_slice::<u64, u8>(&out);
                let wanted = bytemuck::bytes_of(&value[0]);
                let size = kernel.size.min(8);
                assert_eq!(bytes[..size], wanted[..size], "{dtype:?} {op:?}");
            }
        }
    }

    #[test]
    fn float8_is_rounded_once_and_saturates() {
        let fold_of = |dtype, op, members: &[u8]| {
            let kernel = kernel(dtype, op).unwrap();
            let (widen, narrow) = kernel.widen.unwrap();
            let (mut acc, mut out) = ([0u64; 1], [0u64; 1]);
            widen(&mut acc, &[members[0].into()], 1);
            for member in &members[1..] {
                (kernel.fold)(&mut acc, &[u64::from(*member)], 1);
            }
            narrow(&mut out, &acc, 1);
            out[0] as u8
        };
        let (e4m3, e5m2) = (Dtype::Float8E4m3fn, Dtype::Float8E5m2);
        // 16 + 1 + 1 is 16 if every step is rounded, 18 if only the result is.
        assert_eq!(fold_of(e4m3, Op::Sum, &[0x58, 0x38, 0x38]), 0x59);
        // 8 + 1 + 1.
        assert_eq!(fold_of(e5m2, Op::Sum, &[0x48, 0x3c, 0x3c]), 0x49);
        // Beyond the largest number, and back from there.
        assert_eq!(fold_of(e4m3, Op::Sum, &[0x7e, 0x7e]), 0x7e);
        assert_eq!(fold_of(e4m3, Op::Prod, &[0xfe, 0x7e]), 0xfe);
        assert_eq!(fold_of(e4m3, Op::Sum, &[0x7e, 0x7e, 0xfe]), 0x7e);
        assert_eq!(fold_of(e5m2, Op::Sum, &[0x7b, 0x7b]), 0x7b);
        assert_eq!(fold_of(e5m2, Op::Max, &[0x7c, 0x3c]), 0x7b);
        // Infinity minus infinity, and NaNs of any payload.
        assert_eq!(fold_of(e5m2, Op::Sum, &[0x7c, 0xfc]), 0x7f);
        assert_eq!(fold_of(e5m2, Op::Min, &[0x3c, 0xfd]), 0x7f);
        assert_eq!(fold_of(e4m3, Op::Max, &[0xff, 0x38]), 0x7f);
        // Zeros keep their signs, and of equal numbers the first stays.
        assert_eq!(fold_of(e4m3, Op::Min, &[0x80, 0x00]), 0x80);
        assert_eq!(fold_of(e4m3, Op::Max, &[0x00, 0x80]), 0x00);
    }

    #[test]
    fn sixteen_bit_numbers_are_rounded_once() {
        // 2048 + 1 + 1 in half precision is 2048 if every step is rounded, 2050 if only the result is.
        let kernel = kernel(Dtype::Half, Op::Sum).unwrap();
        let (mut acc, mut next, mut out) = ([0u64; 1], [0u64; 1], [0u64; 1]);
        let (widen, narrow) = kernel.widen.unwrap();
        elements_mut::<f16>(&mut next, 1)[0] = f16::from_f32(2048.0);
        widen(&mut acc, &next, 1);
        elements_mut::<f16>(&mut next, 1)[0] = f16::ONE;
        (kernel.fold)(&mut acc, &next, 1);
        (kernel.fold)(&mut acc, &next, 1);
        narrow(&mut out, &acc, 1);
        assert_eq!(elements::<f16>(&out, 1)[0].to_f32(), 2050.0);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for op in [Op::And, Op::Or, Op::Xor] {
            for dtype in [
                Dtype::Half,
                Dtype::Float,
                Dtype::Complexf,
                Dtype::Float8E5m2,
            ] {
                assert!(kernel(dtype, op).is_err());
            }
        }
        for op in [Op::Min, Op::Max] {
            assert!(kernel(Dtype::Complexd, op).is_err());
        }
    }
}
