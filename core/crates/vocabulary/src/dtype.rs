//! Element types.

use crate::{Error, Result};

/// Calls `$with! { [$args] rows }` with a row for every element type, in the order of their numbers:
///
/// `[variant number name bytes Rust's-type kind documentation]`
///
/// [`Dtype`], the folds of reductions, the names of kernels and tests for each type are generated from these rows.
#[doc(hidden)]
#[macro_export]
macro_rules! with_dtypes {
    ($with:ident $($args:tt)*) => { $with! { [$($args)*]
        [Int8 1 "int8" 1 i8, Signed, "`i8`"]
        [Int16 2 "int16" 2 i16, Signed, "`i16`"]
        [Int32 3 "int32" 4 i32, Signed, "`i32`"]
        [Int64 4 "int64" 8 i64, Signed, "`i64`"]
        [Uint8 5 "uint8" 1 u8, Unsigned, "`u8`"]
        [Uint16 6 "uint16" 2 u16, Unsigned, "`u16`"]
        [Uint32 7 "uint32" 4 u32, Unsigned, "`u32`"]
        [Uint64 8 "uint64" 8 u64, Unsigned, "`u64`"]
        [Half 9 "half" 2 half::f16, Widened, "IEEE 754 half precision, 16 bits"]
        [Bfloat16 10 "bfloat16" 2 half::bf16, Widened, "The upper half of an `f32`"]
        [Float 11 "float" 4 f32, Real, "`f32`"]
        [Double 12 "double" 8 f64, Real, "`f64`"]
        [Complexf 13 "complexf" 8 num_complex::Complex<f32>, Complex, "Two `f32`: real and imaginary part"]
        [Complexd 14 "complexd" 16 num_complex::Complex<f64>, Complex, "Two `f64`: real and imaginary part"]
        [Float8E4m3fn 15 "float8_e4m3fn" 1 $crate::Float8E4m3fn, Widened, "OCP's E4M3, 8 bits without infinities"]
        [Float8E5m2 16 "float8_e5m2" 1 $crate::Float8E5m2, Widened, "OCP's E5M2, 8 bits"]
    } };
}

/// The kind of a type: its reductions, and how they are folded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub enum NumberKind {
    /// Integers, which may be combined in any order and have all reductions.
    Signed,
    /// Integers, too.
    Unsigned,
    /// Floating-point numbers that are folded in `f32` and rounded once at the end. They have no bitwise reductions.
    Widened,
    /// Floating-point numbers that are folded in their own type. They have no bitwise reductions.
    Real,
    /// Sums and products only.
    Complex,
}

macro_rules! define {
    ([] $([$variant:ident $number:literal $name:literal $bytes:literal $t:ty, $kind:ident, $doc:literal])*) => {
        /// The type of an element, as collectives and the C ABI name it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(i32)]
        pub enum Dtype {
            $(#[doc = $doc] $variant = $number),*
        }

        impl std::fmt::Display for Dtype {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl Dtype {
            /// Every type, in the order of their numbers.
            pub const ALL: [Dtype; [$($number),*].len()] = [$(Dtype::$variant),*];

            pub(crate) fn name(self) -> &'static str {
                match self {
                    $(Dtype::$variant => $name),*
                }
            }

            /// Bytes of one element.
            pub fn size(self) -> usize {
                match self {
                    $(Dtype::$variant => $bytes),*
                }
            }

            #[doc(hidden)]
            pub fn kind(self) -> NumberKind {
                match self {
                    $(Dtype::$variant => NumberKind::$kind),*
                }
            }
        }
    };
}
with_dtypes!(define);

macro_rules! elements {
    ([] $([$variant:ident $number:literal $name:literal $bytes:literal $t:ty, $kind:ident, $doc:literal])*) => {
        impl Dtype {
            /// The alignment of elements.
            pub fn alignment(self) -> usize {
                match self {
                    $(Dtype::$variant => align_of::<$t>()),*
                }
            }
        }

        $(
            const _: () = assert!(size_of::<$t>() == $bytes);
            impl sealed::Sealed for $t {}
            impl Element for $t {
                const DTYPE: Dtype = Dtype::$variant;
            }
        )*
    };
}
with_dtypes!(elements);

impl Dtype {
    /// The type with this number in the C ABI.
    #[inline]
    pub fn from_number(number: i32) -> Result<Dtype> {
        Self::ALL
            .get((number as u32).wrapping_sub(1) as usize)
            .copied()
            .ok_or_else(|| {
                let [first, .., last] = Self::ALL;
                Error::invalid(
                    "dtype",
                    number,
                    format!(
                        "the number of an element type, 1 (`{first}`) to {} (`{last}`)",
                        last as i32
                    ),
                )
            })
    }

    /// Whether its elements are integers, which may be combined in any order.
    #[doc(hidden)]
    pub fn is_integer(self) -> bool {
        matches!(self.kind(), NumberKind::Signed | NumberKind::Unsigned)
    }

    /// The number with these bits, for messages.
    #[doc(hidden)]
    pub fn number(self, bits: u64) -> String {
        match self {
            Dtype::Int8 => (bits as i8).to_string(),
            Dtype::Int16 => (bits as i16).to_string(),
            Dtype::Int32 => (bits as i32).to_string(),
            Dtype::Int64 => (bits as i64).to_string(),
            Dtype::Float => f32::from_bits(bits as u32).to_string(),
            Dtype::Double => f64::from_bits(bits).to_string(),
            _ => bits.to_string(),
        }
    }
}

mod sealed {
    pub trait Sealed {}
}

/// A Rust type that reductions support.
pub trait Element: bytemuck::Pod + sealed::Sealed {
    /// Its number.
    const DTYPE: Dtype;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_there_and_back() {
        for number in -3..40 {
            match Dtype::from_number(number) {
                Ok(dtype) => assert_eq!(dtype as i32, number),
                Err(_) => assert!(Dtype::ALL.iter().all(|dtype| *dtype as i32 != number)),
            }
        }
    }
}
