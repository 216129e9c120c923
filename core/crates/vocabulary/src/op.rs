//! Operations that arguments name: reductions, comparisons, signal updates.

use crate::{Error, Result};

/// A reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum Op {
    /// Sum; integers wrap around.
    Sum = 1,
    /// Smallest; a NaN in any source gives NaN.
    Min = 2,
    /// Largest; a NaN in any source gives NaN.
    Max = 3,
    /// Product; integers wrap around.
    Prod = 4,
    /// Bitwise and, of integers.
    And = 5,
    /// Bitwise or, of integers.
    Or = 6,
    /// Bitwise exclusive or, of integers.
    Xor = 7,
}

impl std::fmt::Display for Op {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Op::Sum => "sum",
            Op::Min => "min",
            Op::Max => "max",
            Op::Prod => "prod",
            Op::And => "and",
            Op::Or => "or",
            Op::Xor => "xor",
        })
    }
}

impl Op {
    /// Every reduction.
    pub const ALL: [Op; 7] = [
        Op::Sum,
        Op::Min,
        Op::Max,
        Op::Prod,
        Op::And,
        Op::Or,
        Op::Xor,
    ];

    /// The reduction with this number in the C ABI.
    #[inline]
    pub fn from_number(number: i32) -> Result<Op> {
        Self::ALL
            .get((number as u32).wrapping_sub(1) as usize)
            .copied()
            .ok_or_else(|| {
                Error::invalid(
                    "op",
                    number,
                    "one of `Op::Sum`, `Op::Min`, `Op::Max`, `Op::Prod`, `Op::And`, `Op::Or` and `Op::Xor`",
                )
            })
    }
}

/// A comparison of a wait. The numbers are NVSHMEM's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum Cmp {
    /// Equal.
    Eq = 0,
    /// Not equal.
    Ne = 1,
    /// Greater than.
    Gt = 2,
    /// Less than or equal.
    Le = 3,
    /// Less than.
    Lt = 4,
    /// Greater than or equal.
    Ge = 5,
}

impl Cmp {
    /// Every comparison.
    pub const ALL: [Cmp; 6] = [Cmp::Eq, Cmp::Ne, Cmp::Gt, Cmp::Le, Cmp::Lt, Cmp::Ge];

    /// The comparison with this number in the C ABI.
    pub fn from_number(number: i32) -> Result<Cmp> {
        Self::ALL
            .into_iter()
            .find(|cmp| *cmp as i32 == number)
            .ok_or_else(|| {
                Error::invalid(
                    "cmp",
                    number,
                    "one of `Cmp::Eq`, `Cmp::Ne`, `Cmp::Gt`, `Cmp::Le`, `Cmp::Lt` and `Cmp::Ge`",
                )
            })
    }

    /// Whether `left` compares to `right`.
    #[inline]
    pub fn holds<T: PartialOrd>(self, left: T, right: T) -> bool {
        match self {
            Cmp::Eq => left == right,
            Cmp::Ne => left != right,
            Cmp::Gt => left > right,
            Cmp::Le => left <= right,
            Cmp::Lt => left < right,
            Cmp::Ge => left >= right,
        }
    }

    /// The sign, for messages.
    pub fn sign(self) -> &'static str {
        match self {
            Cmp::Eq => "==",
            Cmp::Ne => "!=",
            Cmp::Gt => ">",
            Cmp::Le => "<=",
            Cmp::Lt => "<",
            Cmp::Ge => ">=",
        }
    }
}

/// How a signal is updated. The numbers are NVSHMEM's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum SignalOp {
    /// Store the value.
    Set = 9,
    /// Add the value atomically; it wraps around.
    Add = 10,
}

impl SignalOp {
    /// The update with this number in the C ABI.
    pub fn from_number(number: i32) -> Result<SignalOp> {
        match number {
            9 => Ok(SignalOp::Set),
            10 => Ok(SignalOp::Add),
            _ => Err(Error::invalid(
                "signal_op",
                number,
                "`SignalOp::Set` or `SignalOp::Add`",
            )),
        }
    }
}
