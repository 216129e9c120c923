//! Collectives: on the host, on streams, and by a thread, a warp or a block.

use super::*;

const OPERATIONS: [(&str, &str, List); 7] = [
    ("and", "AND", List::Bits),
    ("or", "OR", List::Bits),
    ("xor", "XOR", List::Bits),
    ("max", "MAX", List::Ordered),
    ("min", "MIN", List::Ordered),
    ("sum", "SUM", List::Sum),
    ("prod", "PROD", List::Sum),
];

/// Every collective.
#[rustfmt::skip]
pub(super) fn names() -> Vec<Name> {
    let once = |function: &str, result, args: &str, body: &str, about: &str| Name { prefix: "nvshmem_",
        ..name(function, Over::Once, result, args, body, about) }.at(Place::Both).groups();
    let team = "nvshmem_team_t team";
    let mut names = vec![
        once("barrier", "int", team, "COLLECTIVE(nvshmemrs_barrier(rt, native));", "Completes the operations of the members of a team, and waits for them."),
        once("barrier_all", "void", "void", "ALL(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));", "Completes all operations of all PEs, and waits for all PEs."),
        once("team_sync", "int", team, "COLLECTIVE(nvshmemrs_sync(rt, native));", "Waits for the members of a team; completes nothing."),
        once("sync_all", "void", "void", "ALL(nvshmemrs_sync(rt, NVSHMEMRS_TEAM_WORLD));", "Waits for all PEs; completes nothing."),
    ];
    let moves = openshmem::collectives::names().into_iter().filter(|row| {
        let operation = row.name.trim_start_matches("TYPE_").trim_end_matches("mem");
        matches!(operation, "broadcast" | "fcollect" | "alltoall")
    });
    names.extend(taken(moves.collect()).into_iter().map(Name::groups));
    for kind in ["reduce", "reducescatter"] {
        let about = match kind {
            "reduce" => "Collective over `team`: every member gets the same bits.",
            _ => "Collective over `team`: member i gets part i of the reduction, `nreduce` elements.",
        };
        for (operation, op, list) in OPERATIONS {
            let body = format!("COLLECTIVE(nvshmemrs_{kind}(rt, native, dest, source, nreduce, D, NVSHMEMRS_OP_{op}));");
            let row = name(&format!("TYPE_{operation}_{kind}"), Over::Types(list), "int",
                "nvshmem_team_t team, T *dest, const T *source, size_t nreduce", &body, about);
            names.push(Name { prefix: "nvshmem_", ..row }.at(Place::Both).groups());
        }
    }
    let queued: Vec<Name> = names.iter().map(on_stream).collect();
    names.extend(queued);
    names.push(device("barrier_warpgroup", Over::Once, "int", team, "`barrier` by a warpgroup.").extension());
    names.push(device("double2_maxloc_reduce_block", Over::Once, "int", "nvshmem_team_t team, double2 *dest, const double2 *source, size_t nreduce",
        "By a block: the largest `x`, with the `y` beside it.").extension());
    names
}
