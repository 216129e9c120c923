//! Remote memory access, atomic memory operations, signals, and waits on streams.

use super::*;

/// The families of OpenSHMEM that NVSHMEM has, too.
fn families(rows: Vec<Name>, has: impl Fn(&Name) -> bool) -> Vec<Name> {
    taken(rows.into_iter().filter(has).collect())
}

/// Put and get in all forms.
pub(super) fn names() -> Vec<Name> {
    let mut names = families(openshmem::memory::names(), |row| {
        !row.name.starts_with("ib") && !row.name.starts_with("TYPE_ib")
    });
    for row in &mut names {
        // Only a thread moves a single element.
        row.groups = !matches!(&*row.name, "TYPE_p" | "TYPE_g");
    }
    let queued: Vec<Name> = names.iter().map(on_stream).collect();
    names.into_iter().chain(queued).collect()
}

/// Atomic memory operations: OpenSHMEM's fetching ones, and those of `half`.
pub(super) fn atomics() -> Vec<Name> {
    let mut names = families(openshmem::atomics::names(), |row| {
        matches!(row.over, Over::Types(_)) && !row.name.ends_with("_nbi")
    });
    let (add, about) = (
        "T *dest, T value, int pe",
        "Atomic addition; complete on return.",
    );
    for fetches in [false, true] {
        let (short, result) = match fetches {
            true => ("fetch_add", "T"),
            false => ("add", "void"),
        };
        for (over, body) in [
            (Over::Named(&["half"]), half(short)),
            (Over::Named(&["float", "double"]), floating(fetches)),
        ] {
            let family = format!("TYPE_atomic_{short}");
            let row = name(&family, over, result, add, &body, about);
            names.push(row.extension().at(Place::Both));
        }
    }
    let about =
        "Atomic with respect to the atomic operations of `half` of all PEs; complete on return.";
    for (short, result, args) in [
        ("fetch", "T", "const T *source, int pe"),
        ("set", "void", "T *dest, T value, int pe"),
        ("swap", "T", "T *dest, T value, int pe"),
    ] {
        let family = format!("TYPE_atomic_{short}");
        let over = Over::Named(&["half"]);
        let row = name(&family, over, result, args, &half(short), about);
        names.push(Name {
            prefix: "nvshmem_",
            ..row.at(Place::Both)
        });
    }
    names
}

/// Atomic operations on 16 bits do not exist; a loop over the enclosing 32 bits implements them.
fn half(short: &str) -> String {
    let operation = short.trim_start_matches("fetch_").to_uppercase();
    let (address, given) = match short {
        "fetch" => ("source", "NULL"),
        _ => ("dest", "&value"),
    };
    let call =
        |old: &str| format!("DO(HALF(rt, {address}, HALF_{operation}, {given}, pe, {old}));");
    match short {
        "set" | "add" => call("NULL"),
        _ => format!("T old = {{0}}; {} return old;", call("&old")),
    }
}

fn floating(fetches: bool) -> String {
    match fetches {
        true => "CARRIER(W) value_ = 0; DO(nvshmemrs_atomic_fetch_add##W(rt, (CARRIER(W) *)dest, (CARRIER(W))value, pe, &value_)); return (T)value_;".into(),
        false => "DO(nvshmemrs_atomic_add##W(rt, (CARRIER(W) *)dest, (CARRIER(W))value, pe));".into(),
    }
}

/// Puts with a signal, signals, and waits for host code.
#[rustfmt::skip]
pub(super) fn signals() -> Vec<Name> {
    let rows = families(openshmem::memory::signals(), |row| row.name.contains("put"));
    let mut names: Vec<Name> = rows.iter().map(on_stream).collect();
    names.extend(rows.into_iter().map(|row| row.at(Place::Device).groups()));
    names.push(Name { prefix: "nvshmem_", ..name("signal_fetch", Over::Once, "uint64_t", "uint64_t *sig_addr",
        "uint64_t value = 0; DO(nvshmemrs_signal_fetch(rt, sig_addr, &value)); return value;",
        "Reads a signal of the calling PE.").at(Place::Both) });
    let update = name("signal_op", Over::Once, "void", "uint64_t *sig_addr, uint64_t signal, int sig_op, int pe",
        "DO(nvshmemrs_signal_op(rt, sig_addr, signal, sig_op, pe));",
        "Updates a signal, after all earlier puts to the PE.").extension().at(Place::Both);
    names.extend([on_stream(&update), update]);
    let waits = taken(openshmem::points::names());
    let signal = |row: &&Name| row.name == "signal_wait_until";
    names.extend(waits.iter().filter(signal).map(on_stream));
    names.extend(waits.iter().filter(signal).map(|row| row.clone().at(Place::Device)));
    for family in ["TYPE_wait_until", "TYPE_wait_until_all", "TYPE_wait_until_all_vector"] {
        names.extend(waits.iter().filter(|row| row.name == family).map(|row| {
            let row = on_stream(row);
            Name { args: row.args.replace("volatile T", "T").replace("const T *cmp_values", "T *cmp_values"), ..row }
        }));
    }
    for row in names.iter_mut().filter(|row| row.name == "signal_wait_until_on_stream") {
        row.result = "void";
        row.body = "DO(nvshmemrs_signal_wait(rt, sig_addr, cmp, cmp_value, NULL));".into();
    }
    let old = "Older name: `nvshmemx_signal_op` with NVSHMEM_SIGNAL_SET.";
    names.push(device("uint64_signal", Over::Once, "void", "uint64_t *sig_addr, uint64_t signal, int pe", old).extension());
    names.push(both("signal_counted_reset", "void", "uint64_t *sig_addr", "Sets a signal of the calling PE to 0.").extension());
    names
}
