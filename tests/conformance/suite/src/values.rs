//! The element types, their samples, and reductions written out plainly: the model that results are compared with.

use half::{bf16, f16};
use num_complex::Complex;
use nvshmemrs::{Element, Float8E4m3fn, Float8E5m2, Op};
use std::fmt::Debug;

/// A number without a pattern that follows from the arguments.
pub fn seed(case: u64, pe: i32, index: usize) -> u64 {
    let mut x = case.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (pe as u64) << 40 ^ index as u64;
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// An element type as the suite sees it.
pub trait Value: Element + Send + Sync + Debug {
    /// The accumulator's type in a fold: the type itself, or `f32` for 16-bit floating point, which is rounded once at the end.
    type Wide: Copy;
    /// The reductions that the type has.
    const OPS: &'static [Op];
    /// A value, now and then a special one.
    fn sample(seed: u64) -> Self;
    /// Converts to the accumulator's type.
    fn wide(self) -> Self::Wide;
    /// Converts back from the accumulator's type.
    fn narrow(wide: Self::Wide) -> Self;
    /// One step of a fold.
    fn combine(op: Op, left: Self::Wide, right: Self::Wide) -> Self::Wide;
    /// The identity element of the reduction.
    fn identity(op: Op) -> Self::Wide;
    /// Same bits; any NaN equals any other, because the model's own bits of a NaN are the compiler's choice.
    fn same(self, other: Self) -> bool;
}

/// Bits equal.
pub fn same_bits<T: Value>(left: T, right: T) -> bool {
    bytemuck::bytes_of(&left) == bytemuck::bytes_of(&right)
}

macro_rules! integers {
    ($($t:ty),*) => { $(
        impl Value for $t {
            type Wide = $t;
            const OPS: &'static [Op] = &Op::ALL;
            fn sample(seed: u64) -> $t {
                seed as $t
            }
            fn wide(self) -> $t {
                self
            }
            fn narrow(wide: $t) -> $t {
                wide
            }
            fn combine(op: Op, left: $t, right: $t) -> $t {
                match op {
                    Op::Sum => left.wrapping_add(right),
                    Op::Prod => left.wrapping_mul(right),
                    Op::Min => if right < left { right } else { left },
                    Op::Max => if right > left { right } else { left },
                    Op::And => left & right,
                    Op::Or => left | right,
                    Op::Xor => left ^ right,
                }
            }
            fn identity(op: Op) -> $t {
                match op {
                    Op::Sum | Op::Or | Op::Xor => 0,
                    Op::Prod => 1,
                    Op::Min => <$t>::MAX,
                    Op::Max => <$t>::MIN,
                    Op::And => !0,
                }
            }
            fn same(self, other: $t) -> bool {
                self == other
            }
        }
    )* };
}
integers!(i8, i16, i32, i64, u8, u16, u32, u64);

macro_rules! fold_floats {
    ($t:ident) => {
        fn combine(op: Op, left: $t, right: $t) -> $t {
            match op {
                Op::Sum => left + right,
                Op::Prod => left * right,
                // The first NaN stays, and of equal numbers the first.
                _ if left.is_nan() => left,
                _ if right.is_nan() => right,
                Op::Min => {
                    if right < left {
                        right
                    } else {
                        left
                    }
                }
                Op::Max => {
                    if right > left {
                        right
                    } else {
                        left
                    }
                }
                Op::And | Op::Or | Op::Xor => panic!("{op} of floating-point numbers"),
            }
        }
        fn identity(op: Op) -> $t {
            match op {
                Op::Sum => 0.0,
                Op::Prod => 1.0,
                Op::Min => $t::INFINITY,
                Op::Max => $t::NEG_INFINITY,
                Op::And | Op::Or | Op::Xor => panic!("{op} of floating-point numbers"),
            }
        }
    };
}

/// Sum, min, max, prod.
const ORDERED: &[Op] = &[Op::Sum, Op::Min, Op::Max, Op::Prod];

macro_rules! floats {
    ($($t:ident),*) => { $(
        impl Value for $t {
            type Wide = $t;
            const OPS: &'static [Op] = ORDERED;
            fn sample(seed: u64) -> $t {
                match seed % 61 {
                    0 => $t::NAN,
                    1 => -0.0,
                    2 => 0.0,
                    3 => $t::INFINITY,
                    4 => $t::MIN_POSITIVE / 2.0,
                    5 => $t::NEG_INFINITY,
                    _ => ((seed >> 20) as i32 as $t) * 1e-3,
                }
            }
            fn wide(self) -> $t {
                self
            }
            fn narrow(wide: $t) -> $t {
                wide
            }
            fold_floats!($t);
            fn same(self, other: $t) -> bool {
                self.to_bits() == other.to_bits() || self.is_nan() && other.is_nan()
            }
        }
    )* };
}
floats!(f32, f64);

macro_rules! small_floats {
    ($($t:ident),*) => { $(
        impl Value for $t {
            type Wide = f32;
            const OPS: &'static [Op] = ORDERED;
            fn sample(seed: u64) -> $t {
                match seed % 61 {
                    0 => $t::NAN,
                    1 => $t::NEG_ZERO,
                    2 => $t::ZERO,
                    3 => $t::INFINITY,
                    4 => $t::MIN_POSITIVE_SUBNORMAL,
                    5 => $t::MAX,
                    // Sums of these need more digits than the type has, so a rounding at each step would show.
                    _ => $t::from_f32(((seed >> 20) as i16 as f32) * 0.37),
                }
            }
            fn wide(self) -> f32 {
                self.to_f32()
            }
            fn narrow(wide: f32) -> $t {
                $t::from_f32(wide)
            }
            fold_floats!(f32);
            fn same(self, other: $t) -> bool {
                self.to_bits() == other.to_bits() || self.is_nan() && other.is_nan()
            }
        }
    )* };
}
small_floats!(f16, bf16);

macro_rules! float8s {
    ($($t:ident),*) => { $(
        impl Value for $t {
            type Wide = f32;
            const OPS: &'static [Op] = ORDERED;
            fn sample(seed: u64) -> $t {
                match seed % 61 {
                    // Any code: NaNs, infinities, zeros, subnormal and the largest numbers.
                    0..6 => $t::from_bits((seed >> 20) as u8),
                    _ => $t::from_f32(((seed >> 20) as i8 as f32) * 0.37),
                }
            }
            fn wide(self) -> f32 {
                self.to_f32()
            }
            fn narrow(wide: f32) -> $t {
                $t::from_f32(wide)
            }
            fold_floats!(f32);
            /// There is one NaN.
            fn same(self, other: $t) -> bool {
                self == other
            }
        }
    )* };
}
float8s!(Float8E4m3fn, Float8E5m2);

macro_rules! complexes {
    ($($t:ident),*) => { $(
        impl Value for Complex<$t> {
            type Wide = Complex<$t>;
            const OPS: &'static [Op] = &[Op::Sum, Op::Prod];
            fn sample(seed: u64) -> Self {
                Complex::new($t::sample(seed), $t::sample(seed.rotate_left(17)))
            }
            fn wide(self) -> Self {
                self
            }
            fn narrow(wide: Self) -> Self {
                wide
            }
            fn combine(op: Op, a: Self, b: Self) -> Self {
                match op {
                    Op::Sum => Complex::new(a.re + b.re, a.im + b.im),
                    Op::Prod => Complex::new(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re),
                    _ => panic!("{op} of complex numbers"),
                }
            }
            fn identity(op: Op) -> Self {
                match op {
                    Op::Sum => Complex::new(0.0, 0.0),
                    Op::Prod => Complex::new(1.0, 0.0),
                    _ => panic!("{op} of complex numbers"),
                }
            }
            fn same(self, other: Self) -> bool {
                self.re.same(other.re) && self.im.same(other.im)
            }
        }
    )* };
}
complexes!(f32, f64);
