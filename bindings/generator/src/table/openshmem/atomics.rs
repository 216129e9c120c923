//! Atomic memory operations, with their deprecated names.

use super::*;

/// The operations: name, list of types, arguments between the address and the PE, these arguments as the core takes them, and
/// whether there is a form without `fetch_` and a form with it.
type Operation = (&'static str, List, &'static str, &'static str, bool, bool);

#[rustfmt::skip]
const OPERATIONS: [Operation; 9] = [
    ("fetch",        List::AtomicMove, "",                  "",                           false, true),
    ("set",          List::AtomicMove, "T value, ",         "(CARRIER(W))value, ",        true,  false),
    ("swap",         List::AtomicMove, "T value, ",         "(CARRIER(W))value, ",        false, true),
    ("compare_swap", List::Atomic, "T cond, T value, ", "(CARRIER(W))cond, (CARRIER(W))value, ", false, true),
    ("inc",          List::Atomic,     "",                  "",                           true,  true),
    ("add",          List::Atomic,     "T value, ",         "(CARRIER(W))value, ",        true,  true),
    ("and",          List::AtomicBits, "T value, ",         "(CARRIER(W))value, ",        true,  true),
    ("or",           List::AtomicBits, "T value, ",         "(CARRIER(W))value, ",        true,  true),
    ("xor",          List::AtomicBits, "T value, ",         "(CARRIER(W))value, ",        true,  true),
];

/// The deprecated names: the name, the list of types, and the present operation. Without a type in its name, a deprecated operation takes the
/// types of the present one, as in other libraries.
const OLD: [(&str, OldList, &str); 8] = [
    ("swap", OldList::AtomicMove, "swap"),
    ("cswap", OldList::Atomic, "compare_swap"),
    ("finc", OldList::Atomic, "fetch_inc"),
    ("inc", OldList::Atomic, "inc"),
    ("fadd", OldList::Atomic, "fetch_add"),
    ("add", OldList::Atomic, "add"),
    ("fetch", OldList::AtomicMove, "fetch"),
    ("set", OldList::AtomicMove, "set"),
];

/// The address that an operation takes.
fn address(name: &str) -> &'static str {
    match name {
        "fetch" => "const T *source, ",
        _ => "T *dest, ",
    }
}

fn place(name: &str) -> &'static str {
    match name {
        "fetch" => "(const CARRIER(W) *)source, ",
        _ => "(CARRIER(W) *)dest, ",
    }
}

fn plain(name_of: &str, operation: &Operation, over: Over, old: &str, about: &str) -> Name {
    let (short, _, args, values, ..) = *operation;
    let fetches = name_of.starts_with("fetch") || matches!(short, "swap" | "compare_swap");
    let args = format!("{}{args}int pe", address(short));
    let call = format!(
        "nvshmemrs_atomic_{name_of}##W(rt, {}{values}pe",
        place(short)
    );
    let family = match old {
        "" => format!("TYPE_atomic_{name_of}"),
        old => format!("TYPE_{old}"),
    };
    let (result, body) = match fetches {
        true => (
            "T",
            format!("CARRIER(W) value_ = 0; DO({call}, &value_)); return (T)value_;"),
        ),
        false => ("void", format!("DO({call}));")),
    };
    name(&family, over, result, &args, &body, about).generic(Typed::Pointer)
}

/// Every atomic operation.
pub(in crate::table) fn names() -> Vec<Name> {
    let mut names = Vec::new();
    let about = "Atomic with respect to all atomic operations of all PEs; complete on return. Section 9.7.1.";
    let later = "As the form without `_nbi`, but the old value is in `fetch` only after quiet. Section 9.7.2.";
    let full = |short: &str, fetches: bool| match (short, fetches) {
        ("fetch" | "swap" | "compare_swap", _) | (_, false) => short.to_string(),
        _ => format!("fetch_{short}"),
    };
    for operation in &OPERATIONS {
        let forms = [(operation.4, false), (operation.5, true)];
        for (_, fetches) in forms.into_iter().filter(|form| form.0) {
            let name_of = full(operation.0, fetches);
            names.push(
                plain(&name_of, operation, Over::Types(operation.1), "", about)
                    .ctx()
                    .hot(),
            );
        }
    }
    for operation in OPERATIONS.iter().filter(|operation| operation.5) {
        let (short, list, args, values, ..) = *operation;
        let name_of = full(short, true);
        let args = format!("T *fetch, {}{args}int pe", address(short));
        let body = format!(
            "DO(nvshmemrs_atomic_{name_of}##W##_nbi(rt, (CARRIER(W) *)fetch, {}{values}pe));",
            place(short)
        );
        let family = format!("TYPE_atomic_{name_of}_nbi");
        let row = name(&family, Over::Types(list), "void", &args, &body, later);
        names.push(row.ctx().generic(Typed::Pointer));
    }
    for (old, list, name_of) in OLD {
        let short = match name_of {
            "fetch" => "fetch",
            other => other.trim_start_matches("fetch_"),
        };
        let operation = OPERATIONS.iter().find(|operation| operation.0 == short);
        let about = format!("Deprecated: `atomic_{name_of}`. Section 9.7.1.");
        names.extend(operation.map(|operation| {
            plain(name_of, operation, Over::Old(list), old, &about)
                .replacement(operation.1, format!("TYPE_atomic_{name_of}"))
        }));
    }
    names
}
