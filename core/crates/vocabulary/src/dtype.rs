//! Element types.

use crate::{Error, Result};

/// The type of an element, as collectives and the C ABI name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum Dtype {
    /// `i8`
    Int8 = 1,
    /// `i16`
    Int16 = 2,
    /// `i32`
    Int32 = 3,
    /// `i64`
    Int64 = 4,
    /// `u8`
    Uint8 = 5,
    /// `u16`
    Uint16 = 6,
    /// `u32`
    Uint32 = 7,
    /// `u64`
    Uint64 = 8,
    /// IEEE 754 half precision, 16 bits
    Half = 9,
    /// The upper half of an `f32`
    Bfloat16 = 10,
    /// `f32`
    Float = 11,
    /// `f64`
    Double = 12,
    /// Two `f32`: real and imaginary part
    Complexf = 13,
    /// Two `f64`: real and imaginary part
    Complexd = 14,
}

impl std::fmt::Display for Dtype {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Dtype::Int8 => "int8",
            Dtype::Int16 => "int16",
            Dtype::Int32 => "int32",
            Dtype::Int64 => "int64",
            Dtype::Uint8 => "uint8",
            Dtype::Uint16 => "uint16",
            Dtype::Uint32 => "uint32",
            Dtype::Uint64 => "uint64",
            Dtype::Half => "half",
            Dtype::Bfloat16 => "bfloat16",
            Dtype::Float => "float",
            Dtype::Double => "double",
            Dtype::Complexf => "complexf",
            Dtype::Complexd => "complexd",
        })
    }
}

impl Dtype {
    /// Every type, in the order of their numbers.
    pub const ALL: [Dtype; 14] = [
        Dtype::Int8,
        Dtype::Int16,
        Dtype::Int32,
        Dtype::Int64,
        Dtype::Uint8,
        Dtype::Uint16,
        Dtype::Uint32,
        Dtype::Uint64,
        Dtype::Half,
        Dtype::Bfloat16,
        Dtype::Float,
        Dtype::Double,
        Dtype::Complexf,
        Dtype::Complexd,
    ];

    /// The type with this number in the C ABI.
    #[inline]
    pub fn from_number(number: i32) -> Result<Dtype> {
        Self::ALL
            .get((number as u32).wrapping_sub(1) as usize)
            .copied()
            .ok_or_else(|| {
                Error::invalid(
                    "dtype",
                    number,
                    "the number of an element type, 1 (`int8`) to 14 (`complexd`)",
                )
            })
    }

    /// Bytes of one element.
    pub fn size(self) -> usize {
        match self {
            Dtype::Int8 | Dtype::Uint8 => 1,
            Dtype::Int16 | Dtype::Uint16 | Dtype::Half | Dtype::Bfloat16 => 2,
            Dtype::Int32 | Dtype::Uint32 | Dtype::Float => 4,
            Dtype::Int64 | Dtype::Uint64 | Dtype::Double | Dtype::Complexf => 8,
            Dtype::Complexd => 16,
        }
    }

    /// Whether its elements are whole numbers, which may be combined in any order.
    #[doc(hidden)]
    pub fn is_integer(self) -> bool {
        use Dtype::{Int8, Int16, Int32, Int64, Uint8, Uint16, Uint32, Uint64};
        matches!(
            self,
            Int8 | Int16 | Int32 | Int64 | Uint8 | Uint16 | Uint32 | Uint64
        )
    }

    /// The number that an element with these bits is, for messages.
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

    /// What addresses of elements must be multiples of.
    pub fn alignment(self) -> usize {
        match self {
            Dtype::Complexf => 4,
            Dtype::Complexd => 8,
            other => other.size(),
        }
    }
}

mod sealed {
    pub trait Sealed {}
}

/// A Rust type that reductions know.
pub trait Element: bytemuck::Pod + sealed::Sealed {
    /// Its number.
    const DTYPE: Dtype;
}

macro_rules! elements {
    ($($t:ty => $d:ident),*) => { $(
        impl sealed::Sealed for $t {}
        impl Element for $t { const DTYPE: Dtype = Dtype::$d; }
    )* };
}
elements!(i8 => Int8, i16 => Int16, i32 => Int32, i64 => Int64, u8 => Uint8, u16 => Uint16, u32 => Uint32,
    u64 => Uint64, half::f16 => Half, half::bf16 => Bfloat16, f32 => Float, f64 => Double,
    num_complex::Complex<f32> => Complexf, num_complex::Complex<f64> => Complexd);

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
