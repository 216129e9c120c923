//! The table of all operations: number, name, reach, completion, and arguments.
//!
//! Every printed name of an operation comes from this table: on the board, in error texts, in the checker's findings, in the list of
//! objects not freed. Meetings, their signatures and the kernels of GPUs use its number. A new operation is one row here, its code in
//! the file of its kind, and one function of the C ABI; the tests below compare the three.

use crate::dtype::Dtype;
use crate::op::Op;

/// The most arguments of a collective that its members compare.
pub const ARGS: usize = 5;

/// The value of an argument [`ArgumentKind::Offset`] where the program passed NULL.
pub const NONE: u64 = u64::MAX;
/// The value of an argument [`ArgumentKind::Offset`] where it differs between the members by design.
pub const IN_PLACE: u64 = u64::MAX - 1;

/// Odd numbers without a pattern, one for each argument.
const FACTORS: [u64; ARGS] = [
    0x9e37_79b9_7f4a_7c15,
    0xbf58_476d_1ce4_e5b9,
    0x94d0_49bb_1331_11eb,
    0xd6e8_feb8_6659_fd93,
    0xa076_1d64_78bd_642f,
];

/// A hash of operation and arguments. Calls that differ in one argument always have different hashes, except for the last bit;
/// others have the same hash with a probability of about 2^-63. An error has an odd signature, a call an even one.
#[inline(always)]
pub fn signature(operation: Operation, args: &[u64; ARGS], failed: bool) -> u64 {
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
pub struct Argument {
    pub name: &'static str,
    kind: ArgumentKind,
}

/// The meaning of an argument's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ArgumentKind {
    /// An unsigned number.
    Number,
    /// A number with a sign.
    Signed,
    /// A place in the symmetric heap.
    Offset,
    /// Two numbers with a sign of 32 bits each: the stride of the destination, and that of the source.
    Strides,
    /// The first 8 bytes of a hash.
    Hash,
    /// A type.
    Dtype,
    /// A reduction.
    Op,
}

impl Argument {
    /// The argument and its value, for messages.
    #[cold]
    pub fn describe(self, value: u64) -> String {
        let name = match self.name {
            said if said.contains(' ') => said.to_string(),
            name => format!("`{name}`"),
        };
        let unnamed = || format!("{name} {}", value as i64);
        let number = i32::try_from(value as i64).ok();
        match self.kind {
            ArgumentKind::Number => format!("{name} {value}"),
            ArgumentKind::Hash => format!("{name} {value:016x}"),
            ArgumentKind::Signed => unnamed(),
            ArgumentKind::Offset if value == NONE => format!("{name} `NULL`"),
            ArgumentKind::Offset if value == IN_PLACE => format!("{name} in place"),
            ArgumentKind::Offset => format!("{name} at offset {value}"),
            ArgumentKind::Strides => {
                let (dest, source) = ((value >> 32) as i32, value as i32);
                format!("{name} {dest} (`dest`) and {source} (`source`)")
            }
            ArgumentKind::Dtype => number
                .and_then(|number| Dtype::from_number(number).ok())
                .map_or_else(unnamed, |dtype| format!("{name} `{dtype}`")),
            ArgumentKind::Op => number
                .and_then(|number| Op::from_number(number).ok())
                .map_or_else(unnamed, |op| format!("{name} `{op}`")),
        }
    }
}

/// The PEs that an operation involves, by the terms of the C header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Every PE of the job, or every member of the team, must call it.
    Collective,
    /// One PE calls it, and it reads or writes memory of another.
    OneSided,
    /// Only the caller takes part, and only its own state changes.
    Local,
    /// The program itself reads or writes its own memory, without a function of the C ABI.
    Program,
}

/// Which of a PE's earlier operations are complete once an operation has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completes {
    /// None beyond its own.
    Own,
    /// All: it begins or ends with a barrier, or is a quiet.
    Earlier,
}

/// Defines the enum and its table.
macro_rules! operations {
    ($($variant:ident = $number:literal, $name:literal, $reach:ident, $completes:ident,
        [$($argument:literal: $kind:ident),*];)*) => {
        /// An operation, by the number it has on the board and in the members' slots. Public for the C ABI.
        #[doc(hidden)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Operation {
            $($variant = $number),*
        }

        impl Operation {
            /// Every operation, in the order of the table.
            pub const ALL: &[Operation] = &[$(Operation::$variant),*];

            /// The operation with this name.
            pub fn named(name: &str) -> Option<Operation> {
                Operation::ALL.iter().copied().find(|operation| operation.name() == name)
            }

            /// Its name in C, without the prefix and the type.
            #[inline]
            pub fn name(self) -> &'static str {
                match self {
                    $(Operation::$variant => $name),*
                }
            }

            /// The operation with this number.
            pub fn from_number(number: u32) -> Option<Operation> {
                match number {
                    $($number => Some(Operation::$variant),)*
                    _ => None,
                }
            }

            /// The PEs that it reaches.
            pub fn reach(self) -> Reach {
                match self {
                    $(Operation::$variant => Reach::$reach),*
                }
            }

            /// The operations that it completes.
            #[inline]
            pub fn completes(self) -> Completes {
                match self {
                    $(Operation::$variant => Completes::$completes),*
                }
            }

            /// The arguments that all members of a collective must pass alike, in the order of comparison. For other operations, the
            /// symmetric addresses.
            #[inline(always)]
            pub fn arguments(self) -> &'static [Argument] {
                match self {
                    $(Operation::$variant => &[$(Argument { name: $argument, kind: ArgumentKind::$kind }),*]),*
                }
            }
        }
    };
}

impl Operation {
    /// The name of a one-sided operation's symmetric argument.
    #[inline(always)]
    pub fn symmetric(self) -> &'static str {
        self.arguments()[0].name
    }

    /// The arguments of a collective, with 0 for each place in the symmetric heap.
    #[inline]
    pub fn without_places(self, mut args: [u64; ARGS]) -> [u64; ARGS] {
        for (arg, row) in args.iter_mut().zip(self.arguments()) {
            if row.kind == ArgumentKind::Offset {
                *arg = 0;
            }
        }
        args
    }
}

operations! {
    Init = 1, "init", Collective, Earlier, [];
    Finalize = 2, "finalize", Collective, Earlier, [];
    Malloc = 3, "malloc", Collective, Earlier, ["bytes": Number, "alignment": Number, "zero": Number];
    Free = 4, "free", Collective, Earlier, ["ptr": Offset];
    Barrier = 5, "barrier", Collective, Earlier, [];
    Sync = 6, "sync", Collective, Own, [];
    Broadcast = 7, "broadcast", Collective, Own, ["bytes": Number, "root": Signed, "dest": Offset, "source": Offset];
    Reduce = 8, "reduce", Collective, Own, ["count": Number, "dtype": Dtype, "op": Op, "dest": Offset, "source": Offset];
    SignalWait = 9, "signal_wait", Local, Own, [];
    Check = 10, "runtime_check", Local, Own, [];
    Fcollect = 11, "fcollect", Collective, Own, ["bytes": Number, "dest": Offset, "source": Offset];
    Collect = 12, "collect", Collective, Own, ["dest": Offset, "length of `dest`": Number];
    Alltoall = 13, "alltoall", Collective, Own, ["bytes": Number, "dest": Offset, "source": Offset];
    Alltoalls = 14, "alltoalls", Collective, Own,
        ["count": Number, "element_bytes": Number, "strides": Strides, "dest": Offset, "source": Offset];
    Reducescatter = 15, "reducescatter", Collective, Own,
        ["count": Number, "dtype": Dtype, "op": Op, "dest": Offset, "source": Offset];
    Inscan = 16, "inscan", Collective, Own, ["count": Number, "dtype": Dtype, "op": Op, "dest": Offset, "source": Offset];
    Exscan = 17, "exscan", Collective, Own, ["count": Number, "dtype": Dtype, "op": Op, "dest": Offset, "source": Offset];
    Realloc = 18, "realloc", Collective, Earlier, ["ptr": Offset, "bytes": Number];
    BufferRegister = 19, "buffer_register", Collective, Earlier, ["bytes": Number, "preferred": Number, "place": Offset];
    BufferUnregister = 20, "buffer_unregister", Collective, Earlier, ["symmetric": Offset];
    TeamSplitStrided = 21, "team_split_strided", Collective, Own,
        ["start": Signed, "stride": Signed, "size": Signed, "num_contexts": Number];
    TeamSplit2d = 22, "team_split_2d", Collective, Own,
        ["xrange": Signed, "xconfig.num_contexts": Number, "yconfig.num_contexts": Number];
    TeamInit = 23, "team_init", Collective, Own, [];
    TeamDestroy = 24, "team_destroy", Collective, Own, ["collectives on the GPU": Number];
    Calloc = 25, "calloc", Collective, Earlier, [];
    Align = 26, "align", Collective, Earlier, [];
    Array = 27, "array", Collective, Earlier, [];
    Gather = 28, "gather", Collective, Own, ["bytes": Number, "root": Signed, "source": Offset];
    Scatter = 29, "scatter", Collective, Own, ["bytes": Number, "root": Signed, "dest": Offset];
    StreamSynchronize = 30, "stream_synchronize", Local, Own, [];
    EventSynchronize = 31, "event_synchronize", Local, Own, [];
    StreamNew = 32, "stream_new", Local, Own, [];
    StreamFromCuda = 33, "stream_from_cuda", Local, Own, [];
    EventNew = 34, "event_new", Local, Own, [];
    HeapKeep = 35, "heap_keep", Local, Own, [];
    StaticDataRegister = 36, "static_data_register", Collective, Earlier,
        ["bytes of variables": Number, "build of the executable": Hash];
    WaitUntil = 40, "wait_until", Local, Own, [];
    WaitUntilAll = 41, "wait_until_all", Local, Own, [];
    WaitUntilAny = 42, "wait_until_any", Local, Own, [];
    WaitUntilSome = 43, "wait_until_some", Local, Own, [];
    WaitUntilAllVector = 44, "wait_until_all_vector", Local, Own, [];
    WaitUntilAnyVector = 45, "wait_until_any_vector", Local, Own, [];
    WaitUntilSomeVector = 46, "wait_until_some_vector", Local, Own, [];
    LockWait = 47, "lock_wait", Local, Own, [];
    Put = 50, "put", OneSided, Own, ["dest": Offset];
    Get = 51, "get", OneSided, Own, ["source": Offset];
    PutSignal = 52, "put_signal", OneSided, Own, ["dest": Offset, "signal": Offset];
    SignalOp = 53, "signal_op", OneSided, Own, ["signal": Offset];
    Quiet = 55, "quiet", Local, Earlier, [];
    Fence = 56, "fence", Local, Own, [];
    PutNbi = 57, "put_nbi", OneSided, Own, ["dest": Offset];
    GetNbi = 58, "get_nbi", OneSided, Own, ["source": Offset];
    P = 59, "p", OneSided, Own, ["dest": Offset];
    G = 60, "g", OneSided, Own, ["source": Offset];
    Iput = 61, "iput", OneSided, Own, ["dest": Offset];
    Iget = 62, "iget", OneSided, Own, ["source": Offset];
    Ibput = 63, "ibput", OneSided, Own, ["dest": Offset];
    Ibget = 64, "ibget", OneSided, Own, ["source": Offset];
    PutSignalNbi = 65, "put_signal_nbi", OneSided, Own, ["dest": Offset, "signal": Offset];
    SignalFetch = 66, "signal_fetch", Local, Own, ["signal": Offset];
    AtomicFetch = 70, "atomic_fetch", OneSided, Own, ["source": Offset];
    AtomicSet = 71, "atomic_set", OneSided, Own, ["dest": Offset];
    AtomicSwap = 72, "atomic_swap", OneSided, Own, ["dest": Offset];
    AtomicCompareSwap = 73, "atomic_compare_swap", OneSided, Own, ["dest": Offset];
    AtomicInc = 74, "atomic_inc", OneSided, Own, ["dest": Offset];
    AtomicFetchInc = 75, "atomic_fetch_inc", OneSided, Own, ["dest": Offset];
    AtomicAdd = 76, "atomic_add", OneSided, Own, ["dest": Offset];
    AtomicFetchAdd = 77, "atomic_fetch_add", OneSided, Own, ["dest": Offset];
    AtomicAnd = 78, "atomic_and", OneSided, Own, ["dest": Offset];
    AtomicFetchAnd = 79, "atomic_fetch_and", OneSided, Own, ["dest": Offset];
    AtomicOr = 80, "atomic_or", OneSided, Own, ["dest": Offset];
    AtomicFetchOr = 81, "atomic_fetch_or", OneSided, Own, ["dest": Offset];
    AtomicXor = 82, "atomic_xor", OneSided, Own, ["dest": Offset];
    AtomicFetchXor = 83, "atomic_fetch_xor", OneSided, Own, ["dest": Offset];
    AtomicFetchNbi = 84, "atomic_fetch_nbi", OneSided, Own, ["source": Offset];
    AtomicSwapNbi = 85, "atomic_swap_nbi", OneSided, Own, ["dest": Offset];
    AtomicCompareSwapNbi = 86, "atomic_compare_swap_nbi", OneSided, Own, ["dest": Offset];
    AtomicFetchIncNbi = 87, "atomic_fetch_inc_nbi", OneSided, Own, ["dest": Offset];
    AtomicFetchAddNbi = 88, "atomic_fetch_add_nbi", OneSided, Own, ["dest": Offset];
    AtomicFetchAndNbi = 89, "atomic_fetch_and_nbi", OneSided, Own, ["dest": Offset];
    AtomicFetchOrNbi = 90, "atomic_fetch_or_nbi", OneSided, Own, ["dest": Offset];
    AtomicFetchXorNbi = 91, "atomic_fetch_xor_nbi", OneSided, Own, ["dest": Offset];
    Test = 92, "test", Local, Own, [];
    TestAll = 93, "test_all", Local, Own, [];
    TestAny = 94, "test_any", Local, Own, [];
    TestSome = 95, "test_some", Local, Own, [];
    TestAllVector = 96, "test_all_vector", Local, Own, [];
    TestAnyVector = 97, "test_any_vector", Local, Own, [];
    TestSomeVector = 98, "test_some_vector", Local, Own, [];
    Load = 100, "load", Program, Own, [];
    Store = 101, "store", Program, Own, [];
    AtomicLoad = 102, "atomic load", Program, Own, [];
    AtomicStore = 103, "atomic store", Program, Own, [];
    Read = 104, "read", Program, Own, [];
    Write = 105, "write", Program, Own, [];
    HandOut = 106, "handing out", Program, Own, [];
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

    fn text(path: &str) -> String {
        let path = format!("{}/../../../{path}", env!("CARGO_MANIFEST_DIR"));
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// A function of the C ABI: its name without the prefix, its documentation, and its declaration.
    struct Function<'a> {
        name: &'a str,
        about: &'a str,
        declared: &'a str,
    }

    /// The declarations of the header.
    fn functions(header: &str) -> Vec<Function<'_>> {
        let parts = header.split("\n\n").filter_map(|part| {
            let at = part
                .find("int32_t nvshmemrs_")
                .filter(|&at| at == 0 || part[..at].ends_with('\n'))?;
            let (about, declared) = part.split_at(at);
            let name = declared.split_once("nvshmemrs_")?.1.split_once('(')?.0;
            Some(Function {
                name,
                about,
                declared,
            })
        });
        parts.collect()
    }

    /// The row of a function, whose name may have a type in it.
    fn row(function: &str) -> Option<Operation> {
        let named = |name: &str| {
            Operation::ALL
                .iter()
                .copied()
                .find(|row| row.name() == name)
        };
        let (stem, nbi) = match function.strip_suffix("_nbi") {
            Some(stem) => (stem, "_nbi"),
            None => (function, ""),
        };
        let types = ["8", "16", "32", "64", "_float", "_double"];
        let stems = types.iter().filter_map(|of| stem.strip_suffix(of));
        let mut typed = stems.filter_map(|stem| named(&format!("{stem}{nbi}")));
        let other = match function {
            // Other ways into a job.
            "init_mpi_comm" | "init_mpi_fortran" | "init_unique_id" | "local_job_join" => {
                Some(Operation::Init)
            }
            // One allocation, which pools share out.
            "pool_reserve" => Some(Operation::Malloc),
            _ => None,
        };
        named(function).or(other).or_else(|| typed.next())
    }

    /// Every operation of the C ABI has a row, and every row a function; they agree on the PEs that it reaches, and on names of arguments.
    #[test]
    fn the_header_agrees_on_who_calls() {
        let header = text("include/nvshmemrs.h");
        let functions = functions(&header);
        let mut found = Vec::new();
        for Function {
            name,
            about,
            declared,
        } in &functions
        {
            let reach = [
                ("/// Collective", Reach::Collective),
                ("/// One-sided", Reach::OneSided),
                ("/// Local", Reach::Local),
            ];
            let kind: Vec<Reach> = reach
                .into_iter()
                .filter(|(words, _)| about.lines().any(|line| line.starts_with(words)))
                .map(|(_, reach)| reach)
                .collect();
            assert_eq!(kind.len(), 1, "{name}: {about}");
            let Some(operation) = row(name) else {
                // It ends the processes of others, and moves no data.
                let reach = match *name {
                    "global_exit" => Reach::OneSided,
                    _ => Reach::Local,
                };
                assert_eq!(kind, [reach], "{name} has no row in the table");
                continue;
            };
            assert_eq!(kind, [operation.reach()], "{operation:?}: {about}");
            if operation.reach() != Reach::Collective {
                let needs = operation.reach() == Reach::OneSided;
                assert!(!needs || !operation.arguments().is_empty(), "{operation:?}");
                for argument in operation.arguments() {
                    let passed = [
                        format!("*{},", argument.name),
                        format!("*{})", argument.name),
                    ];
                    assert!(
                        passed.iter().any(|passed| declared.contains(passed)),
                        "{argument:?}: {declared}"
                    );
                }
            }
            found.push(operation);
        }
        for operation in Operation::ALL {
            // Rust's own form of malloc.
            let elsewhere = operation.reach() == Reach::Program || *operation == Operation::Array;
            assert_eq!(
                found.contains(operation),
                !elsewhere,
                "{operation:?} names no function"
            );
        }
        assert!(functions.len() > 150, "{} functions found", functions.len());
    }

    /// A function that moves data, orders or compares has a row, also if it is local; others (queries, handles, settings) need none.
    #[test]
    fn every_function_of_the_families_has_a_row() {
        let families = ["atomics", "collectives", "point_to_point", "rma", "strided"];
        let families = families.map(|family| format!("generated/{family}"));
        let by_hand = ["order", "signal"].map(String::from);
        for file in families.iter().chain(&by_hand) {
            let code = text(&format!("capi/src/{file}.rs"));
            let exported = code.split("pub extern \"C\" fn nvshmemrs_").skip(1);
            let names: Vec<&str> = exported
                .map(|rest| rest.split_once('(').unwrap().0)
                .collect();
            assert!(!names.is_empty(), "{file} exports nothing");
            for name in names {
                assert!(
                    row(name).is_some(),
                    "{file}: {name} has no row in the table"
                );
            }
        }
    }

    /// The PE with a corrupted partner in the fuzz targets calls every collective.
    #[test]
    fn the_fuzz_targets_call_every_collective() {
        let code = text("core/src/fuzz/peer.rs");
        let all = Operation::ALL.iter().copied();
        for operation in all.filter(|operation| operation.reach() == Reach::Collective) {
            let elsewhere = match operation {
                // Other forms of malloc.
                Operation::Calloc | Operation::Align | Operation::Array => true,
                // The job of threads begins otherwise, and buffers need pages of processes of their own.
                Operation::Init
                | Operation::BufferRegister
                | Operation::BufferUnregister
                | Operation::StaticDataRegister => true,
                _ => false,
            };
            let called = code.contains(&format!("rt.{}(", operation.name()));
            assert_eq!(called, !elsewhere, "{operation:?}");
        }
    }

    #[test]
    fn arguments_read_as_the_caller_wrote_them() {
        let said = |operation: Operation, index: usize, value: u64| {
            operation.arguments()[index].describe(value)
        };
        assert_eq!(said(Operation::Reduce, 1, 12), "`dtype` `double`");
        assert_eq!(said(Operation::Reduce, 1, 99), "`dtype` 99");
        assert_eq!(said(Operation::Reduce, 2, 2), "`op` `min`");
        assert_eq!(said(Operation::Reduce, 3, NONE), "`dest` `NULL`");
        assert_eq!(said(Operation::Fcollect, 2, IN_PLACE), "`source` in place");
        assert_eq!(said(Operation::Fcollect, 1, 64), "`dest` at offset 64");
        assert_eq!(
            said(Operation::TeamSplitStrided, 1, -2_i64 as u64),
            "`stride` -2"
        );
        let strides = (3_u64 << 32) | u64::from(-1_i32 as u32);
        assert_eq!(
            said(Operation::Alltoalls, 2, strides),
            "`strides` 3 (`dest`) and -1 (`source`)"
        );
    }

    #[test]
    fn only_places_are_left_out() {
        let of = |operation: Operation| operation.without_places([1, 2, 3, 4, 5]);
        assert_eq!(of(Operation::Reduce), [1, 2, 3, 0, 0]);
        assert_eq!(of(Operation::Broadcast), [1, 2, 0, 0, 5]);
        assert_eq!(of(Operation::Gather), [1, 2, 0, 4, 5]);
        assert_eq!(of(Operation::Barrier), [1, 2, 3, 4, 5]);
    }
}
