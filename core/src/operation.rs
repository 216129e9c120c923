//! The table of the operations that can wait.
//!
//! The board, error texts, meetings and their signatures, and the kernels of GPUs know an operation by its row here. The checker
//! learns there what a collective completes; the names of its sites are those that the program called.
//! A new collective is one row here, one file in `collectives/` and one function in `capi/`.

use crate::dtype::Dtype;
use crate::op::Op;

/// How many arguments of a collective its members compare.
pub(crate) const ARGS: usize = 5;

/// The value of an argument [`Says::Offset`] where the program passed NULL.
pub(crate) const NONE: u64 = u64::MAX;
/// The value of an argument [`Says::Offset`] where it differs between the members by design.
pub(crate) const IN_PLACE: u64 = u64::MAX - 1;

/// Odd numbers without a pattern, one for each argument.
const FACTORS: [u64; ARGS] = [
    0x9e37_79b9_7f4a_7c15,
    0xbf58_476d_1ce4_e5b9,
    0x94d0_49bb_1331_11eb,
    0xd6e8_feb8_6659_fd93,
    0xa076_1d64_78bd_642f,
];

/// A hash that stands for operation and arguments. Calls that differ in one argument always have different hashes, but for the
/// last bit; others have the same one with a chance of about 2^-63. An error has an odd signature, a call an even one.
#[inline(always)]
pub(crate) fn signature(operation: Operation, args: &[u64; ARGS], failed: bool) -> u64 {
    // Every step is a bijection in the argument.
    let hash = args
        .iter()
        .zip(FACTORS)
        .fold(operation as u64, |hash, (arg, factor)| {
            hash.rotate_left(23) ^ arg.wrapping_mul(factor)
        });
    let hash = (hash ^ hash >> 32).wrapping_mul(FACTORS[0]);
    (hash ^ hash >> 32) & !1 | u64::from(failed)
}

/// An argument that all members of a collective must pass alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Argument {
    pub(crate) name: &'static str,
    says: Says,
}

/// What an argument's number stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Says {
    /// An unsigned number.
    Number,
    /// A number with a sign.
    Signed,
    /// A place in the symmetric heap.
    Offset,
    /// Two numbers with a sign of 32 bits each: the stride of the destination, and that of the source.
    Strides,
    /// A type.
    Dtype,
    /// A reduction.
    Op,
}

impl Argument {
    /// The argument and its value, as a message says them.
    #[cold]
    pub(crate) fn describe(self, value: u64) -> String {
        let name = self.name;
        let unnamed = || format!("{name} {}", value as i64);
        let number = i32::try_from(value as i64).ok();
        match self.says {
            Says::Number => format!("{name} {value}"),
            Says::Signed => unnamed(),
            Says::Offset if value == NONE => format!("{name} NULL"),
            Says::Offset if value == IN_PLACE => format!("{name} in place"),
            Says::Offset => format!("{name} at offset {value}"),
            Says::Strides => {
                let (dest, source) = ((value >> 32) as i32, value as i32);
                format!("{name} {dest} (dest) and {source} (source)")
            }
            Says::Dtype => number
                .and_then(|number| Dtype::from_number(number).ok())
                .map_or_else(unnamed, |dtype| format!("{name} {dtype}")),
            Says::Op => number
                .and_then(|number| Op::from_number(number).ok())
                .map_or_else(unnamed, |op| format!("{name} {op}")),
        }
    }
}

/// Who must call an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caller {
    /// Every PE of the job, or every member of the team.
    All,
    /// Only the PE that wants it.
    One,
}

/// Which of a PE's earlier operations are complete once an operation has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Completes {
    /// None beyond its own.
    Own,
    /// All: it begins or ends with a barrier, or is a quiet.
    Earlier,
}

/// Writes the enum and its table.
macro_rules! operations {
    ($($variant:ident = $number:literal, $name:literal, $caller:ident, $completes:ident,
        [$($argument:literal: $says:ident),*];)*) => {
        /// An operation that can wait, by the number it has on the board and in the members' slots.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u32)]
        pub(crate) enum Operation {
            $($variant = $number),*
        }

        impl Operation {
            /// Every operation, in the order of the table.
            #[cfg(test)]
            pub(crate) const ALL: &[Operation] = &[$(Operation::$variant),*];

            /// The name, as messages say it.
            pub(crate) fn name(self) -> &'static str {
                match self {
                    $(Operation::$variant => $name),*
                }
            }

            /// The operation with this number.
            pub(crate) fn from_number(number: u32) -> Option<Operation> {
                match number {
                    $($number => Some(Operation::$variant),)*
                    _ => None,
                }
            }

            /// Who must call it.
            pub(crate) fn caller(self) -> Caller {
                match self {
                    $(Operation::$variant => Caller::$caller),*
                }
            }

            /// What it completes.
            pub(crate) fn completes(self) -> Completes {
                match self {
                    $(Operation::$variant => Completes::$completes),*
                }
            }

            /// What the members of a collective must pass alike, in the order in which they compare it.
            pub(crate) fn arguments(self) -> &'static [Argument] {
                match self {
                    $(Operation::$variant => &[$(Argument { name: $argument, says: Says::$says }),*]),*
                }
            }
        }
    };
}

operations! {
    Init = 1, "init", All, Earlier, [];
    Finalize = 2, "finalize", All, Earlier, [];
    Malloc = 3, "malloc", All, Earlier, ["bytes": Number, "alignment": Number, "zero": Number];
    Free = 4, "free", All, Earlier, ["ptr": Offset];
    Barrier = 5, "barrier", All, Earlier, [];
    Sync = 6, "sync", All, Own, [];
    Broadcast = 7, "broadcast", All, Own, ["bytes": Number, "root": Signed, "dest": Offset, "source": Offset];
    Reduce = 8, "reduce", All, Own, ["count": Number, "dtype": Dtype, "op": Op, "dest": Offset, "source": Offset];
    SignalWait = 9, "signal_wait", One, Own, [];
    Check = 10, "runtime_check", One, Own, [];
    Fcollect = 11, "fcollect", All, Own, ["bytes": Number, "dest": Offset, "source": Offset];
    Collect = 12, "collect", All, Own, ["dest": Offset, "length of dest": Number];
    Alltoall = 13, "alltoall", All, Own, ["bytes": Number, "dest": Offset, "source": Offset];
    Alltoalls = 14, "alltoalls", All, Own,
        ["count": Number, "element_bytes": Number, "strides": Strides, "dest": Offset, "source": Offset];
    Reducescatter = 15, "reducescatter", All, Own,
        ["count": Number, "dtype": Dtype, "op": Op, "dest": Offset, "source": Offset];
    Inscan = 16, "inscan", All, Own, ["count": Number, "dtype": Dtype, "op": Op, "dest": Offset, "source": Offset];
    Exscan = 17, "exscan", All, Own, ["count": Number, "dtype": Dtype, "op": Op, "dest": Offset, "source": Offset];
    Realloc = 18, "realloc", All, Earlier, ["ptr": Offset, "bytes": Number];
    BufferRegister = 19, "buffer_register", All, Earlier, ["bytes": Number, "preferred": Number, "place": Offset];
    BufferUnregister = 20, "buffer_unregister", All, Earlier, ["symmetric": Offset];
    TeamSplitStrided = 21, "team_split_strided", All, Own,
        ["start": Signed, "stride": Signed, "size": Signed, "num_contexts": Number];
    TeamSplit2d = 22, "team_split_2d", All, Own,
        ["xrange": Signed, "xconfig.num_contexts": Number, "yconfig.num_contexts": Number];
    TeamInit = 23, "team_init", All, Own, [];
    TeamDestroy = 24, "team_destroy", All, Own, ["collectives on the GPU": Number];
    StreamSynchronize = 30, "stream_synchronize", One, Own, [];
    EventSynchronize = 31, "event_synchronize", One, Own, [];
    WaitUntil = 40, "wait_until", One, Own, [];
    WaitUntilAll = 41, "wait_until_all", One, Own, [];
    WaitUntilAny = 42, "wait_until_any", One, Own, [];
    WaitUntilSome = 43, "wait_until_some", One, Own, [];
    Put = 50, "put", One, Own, [];
    Get = 51, "get", One, Own, [];
    PutSignal = 52, "put_signal", One, Own, [];
    SignalOp = 53, "signal_op", One, Own, [];
    Atomic = 54, "atomic operation", One, Own, [];
    Quiet = 55, "quiet", One, Earlier, [];
    Fence = 56, "fence", One, Own, [];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_stand_for_one_operation_each() {
        for (index, operation) in Operation::ALL.iter().enumerate() {
            assert_eq!(Operation::from_number(*operation as u32), Some(*operation));
            assert!(operation.arguments().len() <= ARGS, "{operation:?}");
            for other in &Operation::ALL[..index] {
                assert_ne!(operation.name(), other.name());
            }
        }
    }

    /// The C header says of each function who must call it, as the table does.
    #[test]
    fn the_header_agrees_on_who_calls() {
        let header = concat!(env!("CARGO_MANIFEST_DIR"), "/../include/nvshmemrs.h");
        let header = std::fs::read_to_string(header).unwrap();
        let mut found = 0;
        for operation in Operation::ALL {
            let declared = format!("int32_t nvshmemrs_{}(", operation.name());
            let Some((before, _)) = header.split_once(&declared) else {
                continue;
            };
            let about = before.rsplit("\n\n").next().unwrap();
            let collective = about.contains("/// Collective over");
            assert_eq!(
                collective,
                operation.caller() == Caller::All,
                "{operation:?}: {about}"
            );
            found += 1;
        }
        assert!(found > 20, "{found} functions found");
    }

    #[test]
    fn arguments_read_as_the_caller_wrote_them() {
        let said = |operation: Operation, index: usize, value: u64| {
            operation.arguments()[index].describe(value)
        };
        assert_eq!(said(Operation::Reduce, 1, 12), "dtype double");
        assert_eq!(said(Operation::Reduce, 1, 99), "dtype 99");
        assert_eq!(said(Operation::Reduce, 2, 2), "op min");
        assert_eq!(said(Operation::Reduce, 3, NONE), "dest NULL");
        assert_eq!(said(Operation::Fcollect, 2, IN_PLACE), "source in place");
        assert_eq!(said(Operation::Fcollect, 1, 64), "dest at offset 64");
        assert_eq!(
            said(Operation::TeamSplitStrided, 1, -2_i64 as u64),
            "stride -2"
        );
        let strides = (3_u64 << 32) | u64::from(-1_i32 as u32);
        assert_eq!(
            said(Operation::Alltoalls, 2, strides),
            "strides 3 (dest) and -1 (source)"
        );
    }
}
