//! Collectives: on teams, and on the active sets of older versions of the standard.

use super::*;

const SET: &str = "int PE_start, int logPE_stride, int PE_size";

/// Operations of reductions: their types, and the types of the deprecated form on active sets.
const OPERATIONS: [(&str, &str, List, OldList); 7] = [
    ("and", "AND", List::Bits, OldList::Bits),
    ("or", "OR", List::Bits, OldList::Bits),
    ("xor", "XOR", List::Bits, OldList::Bits),
    ("min", "MIN", List::Ordered, OldList::Ordered),
    ("max", "MAX", List::Ordered, OldList::Ordered),
    ("sum", "SUM", List::Sum, OldList::Sum),
    ("prod", "PROD", List::Sum, OldList::Sum),
];

/// Every collective.
#[rustfmt::skip]
pub(in crate::table) fn names() -> Vec<Name> {
    let mut names = vec![
        by_hand("barrier_all", "void", "void", "Completes all operations of all PEs, and waits for all PEs. Section 9.9.2."),
        by_hand("barrier", "void", &format!("{SET}, long *pSync"), "Deprecated: a barrier of an active set. Section 9.9.1."),
        by_hand("sync_all", "void", "void", "Waits for all PEs; completes nothing. Section 9.9.4."),
        by_hand("team_sync", "int", "shmem_team_t team", "Waits for the members of a team; completes nothing. Section 9.9.3."),
        by_hand("sync", "void", &format!("{SET}, long *pSync"), "Deprecated: `team_sync` of an active set. Section 9.9.3."),
    ];
    let moving: [(&str, &str, &str, &str); 5] = [
        ("broadcast", ", int PE_root", "COLLECTIVE(nvshmemrs_broadcast(rt, native, dest, source, SIZE, PE_root));", "7"),
        ("collect", "", "COLLECTIVE(nvshmemrs_collect(rt, native, dest, source, SIZE));", "8"),
        ("fcollect", "", "COLLECTIVE(nvshmemrs_fcollect(rt, native, dest, source, SIZE));", "8"),
        ("alltoall", "", "COLLECTIVE(nvshmemrs_alltoall(rt, native, dest, source, SIZE));", "5"),
        ("alltoalls", "", "COLLECTIVE(nvshmemrs_alltoalls(rt, native, dest, source, dst, sst, EACH, nelems));", "6"),
    ];
    for (operation, last, call, section) in moving {
        let strides = if operation == "alltoalls" { "ptrdiff_t dst, ptrdiff_t sst, " } else { "" };
        let about = format!("Collective over `team`: 0, or another number if it failed. Section 9.9.{section}.");
        let sized = |size: &str, each: &str| call.replace("SIZE", size).replace("EACH", each);
        names.push(name(&format!("TYPE_{operation}"), Over::Types(List::Rma), "int",
            &format!("shmem_team_t team, T *dest, const T *source, {strides}size_t nelems{last}"),
            &sized("BYTES(nelems, sizeof(T))", "sizeof(T)"), &about).generic(Typed::AfterTeam));
        names.push(name(&format!("{operation}mem"), Over::Once, "int",
            &format!("shmem_team_t team, void *dest, const void *source, {strides}size_t nelems{last}"),
            &sized("nelems", "1"), &about));
        let old = format!("Deprecated: `{operation}` of an active set{}. Section 9.9.{section}.",
            if operation == "broadcast" { ", whose root keeps its `dest`" } else { "" });
        for bits in [32, 64] {
            let bytes = bits / 8;
            let root = if operation == "broadcast" { "int PE_root, " } else { "" };
            let body = match operation {
                "broadcast" => format!("DO(SET_BROADCAST(rt, native, dest, source, BYTES(nelems, {bytes}), PE_root));"),
                _ => sized(&format!("BYTES(nelems, {bytes})"), &bytes.to_string()).replace("COLLECTIVE", "DO"),
            };
            names.push(name(&format!("{operation}{bits}"), Over::Once, "void",
                &format!("void *dest, const void *source, {strides}size_t nelems, {root}{SET}, long *pSync"),
                &format!("SET(); {body}"), &old));
        }
    }
    for (operation, op, list, old) in OPERATIONS {
        names.push(name(&format!("TYPE_{operation}_reduce"), Over::Types(list), "int",
            "shmem_team_t team, T *dest, const T *source, size_t nreduce",
            &format!("COLLECTIVE(REDUCE(rt, native, dest, source, nreduce, D, NVSHMEMRS_OP_{op}));"),
            "Collective over `team`: every member gets the same bits. Section 9.9.9.").generic(Typed::AfterTeam));
        names.push(name(&format!("TYPE_{operation}_to_all"), Over::Old(old), "void",
            &format!("T *dest, const T *source, int nreduce, {SET}, T *pWrk, long *pSync"),
            &format!("(void)pWrk; SET(); DO(REDUCE(rt, native, dest, source, ELEMENTS(nreduce), D, NVSHMEMRS_OP_{op}));"),
            "Deprecated: a reduction of an active set. Section 9.9.9."));
    }
    for scan in ["inscan", "exscan"] {
        names.push(name(&format!("TYPE_sum_{scan}"), Over::Types(List::Sum), "int",
            "shmem_team_t team, T *dest, const T *source, size_t nelems",
            &format!("COLLECTIVE({}(rt, native, dest, source, nelems, D));", scan.to_uppercase()),
            "Collective over `team`: the sum of the members up to, or before, the caller. OpenSHMEM 1.6.").generic(Typed::AfterTeam));
    }
    names
}
