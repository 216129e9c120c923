//! Collectives.

use super::types::List;
use super::*;

const TEAM: Arg = passed("team", "nvshmemrs_team_t", "handle::team(team)");
/// Buffers that may be private memory.
const TO: Arg = passed("dest", "*mut c_void", "handle::buffer(dest)");
const FROM: Arg = passed("source", "*const c_void", "handle::buffer(source)");
const COUNT: Arg = plain("count", "usize");
const BYTES: Arg = plain("bytes", "usize");
const MOVE: &[Arg] = &[TEAM, TO, FROM, BYTES];
const REDUCE: &[Arg] = &[
    TEAM,
    TO,
    FROM,
    COUNT,
    plain("dtype", "i32"),
    plain("op", "i32"),
];
const SAME_BYTES: &str = ", same `bytes` and symmetric addresses";

fn collective(name: &str, args: &[Arg], does: &str, standard: Standard) -> Row {
    let row = row(Caller::Collective, name, args, does, standard);
    Row {
        errors: "Errors: as `nvshmemrs_barrier`.",
        typed: Vec::new(),
        ..row
    }
}

/// A collective that moves data.
fn moving(name: &str, args: &[Arg], terms: &'static str, does: &str, standard: Standard) -> Row {
    Row {
        terms,
        completes: "Returns when `dest` is written here and `source` may be reused.",
        errors: "Errors: as `nvshmemrs_broadcast`.",
        ..row(Caller::Collective, name, args, does, standard)
    }
}

/// A collective that moves data, without typed functions in the standards.
fn untyped(name: &str, args: &[Arg], terms: &'static str, does: &str, standard: Standard) -> Row {
    Row {
        typed: Vec::new(),
        ..moving(name, args, terms, does, standard)
    }
}

/// A collective that combines data.
fn reducing(name: &str, operations: &[(&str, List)], does: &str, standard: Standard) -> Row {
    let typed = |&(operation, list): &(&str, List)| {
        typed(format!("TYPE_{operation}_{name}"), list, Serves::All)
    };
    Row {
        terms: ", same `count`, `dtype`, `op` and symmetric addresses",
        completes: "Returns when `dest` is written here and `source` may be reused.",
        demands: "`dtype` is one of `nvshmemrs_dtype`, `op` one of `nvshmemrs_op`.".into(),
        errors: "Errors: as `nvshmemrs_reduce`.",
        typed: operations.iter().map(typed).collect(),
        ..row(Caller::Collective, name, REDUCE, does, standard)
    }
}

/// The operations of reductions, each with its list of types.
#[rustfmt::skip]
const OPERATIONS: [(&str, List); 7] = [
    ("and", List::Bits), ("or", List::Bits), ("xor", List::Bits), ("min", List::Ordered), ("max", List::Ordered),
    ("sum", List::Sum), ("prod", List::Sum),
];
/// The operation of scans.
const SUM: [(&str, List); 1] = [("sum", List::Sum)];

/// Every collective.
#[rustfmt::skip]
pub(super) fn family() -> Family {
    let strides = [plain("dest_stride", "isize"), plain("source_stride", "isize"), plain("element_bytes", "usize")];
    let rooted = [MOVE, &[plain("root", "i32")]].concat();
    let rows = vec![
        Row {
            errors: "Errors: BAD_HANDLE, PE_DIED, TIMEOUT, INTERRUPTED, MISMATCH when a member is in another collective.",
            ..collective("barrier", &[TEAM],
                "Waits until every member of `team` has arrived, and completes all operations that the members issued before: \
                 they are visible to every member.",
                shmem("9.9.1", "shmem_barrier shmem_barrier_all"))
        },
        collective("sync", &[TEAM],
            "Waits until every member of `team` has arrived. Non-blocking operations are not completed by it.",
            shmem("9.9.3", "shmem_team_sync shmem_sync_all")),
        Row {
            errors: "Errors, on every member, and nothing is written: MISMATCH, NOT_SYMMETRIC, OUT_OF_BOUNDS, PE_RANGE, \
                     PEER_ARGUMENT; also PE_DIED, TIMEOUT, INTERRUPTED.",
            ..moving("broadcast", &rooted, ", same `bytes`, `root` and symmetric addresses",
                "Copies `bytes` bytes from `source` on the member with team number `root` to `dest` on every member, the root \
                 included. `source` may equal `dest`; they must not overlap otherwise.",
                shmem("9.9.7", "shmem_broadcastmem"))
        }
            .arrays("root", "size(dest) == size(source)", "as many elements as `source`",
                "Copies `source` of the member with the number `root` to `dest` of every member, the root included. \
                 They have one size. `source` may be `dest`; they must not overlap otherwise."),
        Row {
            errors: "Errors, on every member, and nothing is written: MISMATCH, NOT_SYMMETRIC, OUT_OF_BOUNDS, INVALID_VALUE, \
                     PEER_ARGUMENT; also PE_DIED, TIMEOUT, INTERRUPTED.",
            ..reducing("reduce", &OPERATIONS,
                "Combines `count` elements of `source` of every member, element by element, in team order, and writes the \
                 result to `dest` on every member. `source` may equal `dest`; they must not overlap otherwise. The result has \
                 the same bits on every member and in every run.",
                shmem("9.9.9", "shmem_<op>_reduce"))
        }
            .arrays("reduce", "size(dest) == size(source)", "as many elements as `source`",
                "Combines `source` of every member by `op`, one of NVSHMEMRS_OP_*, element by element, in team order, \
                 and writes the result to `dest` of every member: the same bits on every member and in every run. \
                 `source` may be `dest`; they must not overlap otherwise."),
        moving("fcollect", MOVE, SAME_BYTES,
            "Puts together `bytes` bytes of `source` of every member, in team order, in `dest` on every member, which has \
             room for `n_pes * bytes`. In place: `source` is the member's own part, `dest + my_pe * bytes`; otherwise they \
             must not overlap.",
            shmem("9.9.8", "shmem_fcollectmem"))
            .arrays("bytes", "size(dest) == n * size(source)", "room for `source` of every member",
                "Puts together `source` of every member, in team order, in `dest` of every member. `dest` has as many \
                 elements as all of them together: with one dimension more than `source`, the last one is the member. \
                 In place `source` is the member's own part of `dest`; otherwise they must not overlap."),
        moving("collect", &[TEAM, DEST, SOURCE, BYTES], ", same symmetric address `dest`",
            "Puts together the data of every member, `bytes` bytes that may differ between members, in team order, in `dest` \
             on every member, which has room for the sum. `source` and `dest` must not overlap.",
            shmem("9.9.8", "shmem_collectmem"))
            .arrays("bytes", "size(dest) >= size(source)", "at least as many elements as `source`",
                "Puts together the data of every member, which may differ in size, in team order, in `dest` of every \
                 member. `dest` must have room for all of it, which is not checked further than the allocation it \
                 lies in. `source` and `dest` must not overlap."),
        moving("alltoall", MOVE, SAME_BYTES,
            "Sends part j of `source`, `bytes` bytes, to member j, where it becomes part i of `dest`, i being the sender's \
             number. Both have one part per member. `source` may equal `dest`; they must not overlap otherwise.",
            shmem("9.9.5", "shmem_alltoallmem"))
            .arrays("alltoall", "size(dest) == size(source) .and. modulo(size(source), max(n, 1)) == 0", "as many elements as `source`, a multiple of the number of members",
                "Sends part j of `source` to member j, where it becomes part i of `dest`, i being the sender's \
                 number. Both have one part per member: the last dimension, or blocks of size(source) / n_pes \
                 elements. `source` may be `dest`; they must not overlap otherwise."),
        Row {
            errors: "Errors: as `nvshmemrs_broadcast`; INVALID_VALUE.",
            ..moving("alltoalls", &[&[TEAM, DEST, SOURCE], &strides[..], &[COUNT]].concat(),
                ", same arguments and symmetric addresses",
                "As `nvshmemrs_alltoall` for parts of `count` elements of `element_bytes` bytes that lie `dest_stride` and \
                 `source_stride` elements apart, each at least 1. Elements in between stay as they are. `source` and `dest` \
                 must not overlap.",
                shmem("9.9.6", "shmem_alltoallsmem"))
        }
            .arrays("strided", "min((size(dest) - 1) / max(dest_stride, 1), (size(source) - 1) / max(source_stride, 1)) >= n * count - 1", "and `source` too, `count` elements per member with these strides",
                "As `nvshmemrs_alltoall` for parts of `count` elements that lie `dest_stride` and `source_stride` \
                 elements apart, each at least 1. Elements in between stay as they are. `source` and `dest` must not \
                 overlap."),
        untyped("gather", &rooted, ", same `bytes`, `root` and symmetric address `source`",
            "Puts together `bytes` bytes of `source` of every member, in team order, in `dest` on the member with team number \
             `root`, which has room for `n_pes * bytes`. Other members may pass any `dest`, also NULL: it is not used. In \
             place: the root's `source` is its own part, `dest + root * bytes`; otherwise they must not overlap.",
            Standard::Mpi("MPI_Gather"))
            .arrays("gather", "me /= root .or. size(dest) == n * size(source)", "room for `source` of every member",
                "Puts together `source` of every member, in team order, in `dest` of the member with the number `root`. \
                 There `dest` has as many elements as all of them together: with one dimension more than `source`, the \
                 last one is the member. Other members may pass any `dest`: it is not used. In place the root's `source` \
                 is its own part of `dest`; otherwise they must not overlap."),
        untyped("scatter", &rooted, ", same `bytes`, `root` and symmetric address `dest`",
            "Sends part j of `source` on the member with team number `root`, `bytes` bytes, to `dest` of member j. `source` \
             has one part per member. Other members may pass any `source`, also NULL: it is not used. In place: the root's \
             `dest` is its own part, `source + root * bytes`; otherwise they must not overlap.",
            Standard::Mpi("MPI_Scatter"))
            .arrays("scatter", "me /= root .or. size(source) == n * size(dest)", "one part per member of `source`",
                "Sends part j of `source` of the member with the number `root` to `dest` of member j. There `source` has one \
                 part per member: the last dimension, or blocks of size(source) / n_pes elements. Other members may pass \
                 any `source`: it is not used. In place the root's `dest` is its own part of `source`; otherwise they must \
                 not overlap."),
        reducing("reducescatter", &OPERATIONS,
            "As `nvshmemrs_reduce`, but member i keeps only part i of the result, `count` elements, in `dest`. `source` has \
             one such part per member. In place: `dest` is the member's own part, `source + my_pe * count` elements; \
             otherwise they must not overlap.",
            Standard::Nvshmem("nvshmem_<type>_<op>_reducescatter".into()))
            .arrays("reducescatter", "size(source) == n * size(dest)", "one part per member of `source`",
                "As `nvshmemrs_reduce`, but member i keeps only part i of the result in `dest`. `source` has one such \
                 part per member. In place `dest` is the member's own part of `source`; otherwise they must not \
                 overlap."),
        reducing("inscan", &SUM,
            "Inclusive scan: combines `count` elements of `source` of the members up to and including the caller, element by \
             element, in team order, and writes the result to the caller's `dest`. `source` may equal `dest`; they must not \
             overlap otherwise.",
            Standard::Shmem16("shmem_sum_inscan"))
            .arrays("reduce", "size(dest) == size(source)", "as many elements as `source`",
                "Inclusive scan: combines `source` of the members up to and including the caller by `op`, element by \
                 element, in team order, and writes the result to the caller's `dest`. `source` may be `dest`; they \
                 must not overlap otherwise."),
        reducing("exscan", &SUM,
            "Exclusive scan: as `nvshmemrs_inscan` over the members before the caller. Member 0 gets the operation's \
             identity: 0 for sum, or and xor, 1 for prod, all bits for and, the largest value for min and the smallest for \
             max (infinities for floating point).",
            Standard::Shmem16("shmem_sum_exscan"))
            .arrays("reduce", "size(dest) == size(source)", "as many elements as `source`",
                "Exclusive scan: as `nvshmemrs_inscan` over the members before the caller. Member 0 gets the identity \
                 of `op`: 0 for sum, or and xor, 1 for prod, all bits for and, the largest value for min and the \
                 smallest for max."),
    ];
    Family {
        file: "collectives",
        about: "Collectives. Every member of the team calls them, in the same order, with matching arguments; if one member's \
                arguments are wrong, every member returns an error and nothing is written.",
        uses: &["std::ffi::c_void"],
        rows,
    }
}
