//! The functions that a standard has, by patterns of their names, and the functions that a library exports.

use crate::{HANG, bin, run};
use std::collections::BTreeSet;
use std::process::Command;

/// The types of the standards' tables, by the names that lists of patterns have for them.
#[track_caller]
fn types(list: &str) -> Vec<&'static str> {
    let atomic = "uint ulong ulonglong int32 int64 uint32 uint64 int long longlong size ptrdiff";
    let wait = "short int long longlong ushort uint ulong ulonglong int32 int64 uint32 uint64 size ptrdiff";
    let bits =
        "uchar ushort uint ulong ulonglong int8 int16 int32 int64 uint8 uint16 uint32 uint64 size";
    let integers = "char schar short int long longlong";
    let floats = "float double";
    let names = match list {
        "rma" | "ordered" => vec![bits, integers, floats, "longdouble ptrdiff"],
        "sum" => vec![
            bits,
            integers,
            floats,
            "longdouble ptrdiff complexf complexd",
        ],
        "bits" => vec![bits],
        "wait" => vec![wait],
        "atomic" => vec![atomic],
        "atomic_move" => vec![atomic, floats],
        "atomic_bits" => vec!["uint ulong ulonglong int32 int64 uint32 uint64"],
        "old" => vec!["int long longlong"],
        "old_move" => vec!["int long longlong float double"],
        "old_bits" => vec!["short int long longlong"],
        "old_ordered" => vec!["short int long longlong float double longdouble"],
        "old_sum" => vec!["short int long longlong float double longdouble complexf complexd"],
        "nvshmem_rma" => vec![bits, integers, floats, "half bfloat16 ptrdiff"],
        "nvshmem_reduced" => vec![bits, integers, floats, "half bfloat16"],
        "nvshmem_extended" => vec![floats, "half"],
        "half" => vec!["half"],
        "sizes" => vec!["8 16 32 64 128"],
        other => panic!("no list {other}"),
    };
    names.into_iter().flat_map(str::split_whitespace).collect()
}

/// All functions of a list of patterns. A line has the types that `*` stands for, `ctx` if each is there with a context, too, `stream`
/// if each is there on a stream, too, and `scopes` if each is there for a warp and a block, too.
#[track_caller]
pub fn expand(patterns: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let lines = patterns.lines().filter(|line| !line.starts_with('#'));
    for (head, families) in lines.filter_map(|line| line.split_once(':')) {
        let (list, form) = head.split_once(' ').unwrap_or((head, ""));
        for family in families.split_whitespace() {
            let all = match list {
                "once" => vec![family.to_string()],
                list => types(list)
                    .iter()
                    .map(|name| family.replace('*', name))
                    .collect(),
            };
            for name in all {
                let short = name.trim_start_matches("nvshmemx_");
                let short = short.trim_start_matches("nvshmem_");
                match form {
                    "ctx" => names.insert(format!("ctx_{name}")),
                    "stream" => names.insert(format!("nvshmemx_{short}_on_stream")),
                    "scopes" => {
                        names.insert(format!("nvshmemx_{short}_warp"));
                        names.insert(format!("nvshmemx_{short}_block"))
                    }
                    form => {
                        assert_eq!(form, "", "no form {form}");
                        true
                    }
                };
                names.insert(name);
            }
        }
    }
    names
}

/// The functions and variables that a built library exports.
#[track_caller]
pub fn exported(library: &str) -> BTreeSet<String> {
    let mut command = Command::new("nm");
    command.args(["-D", "--defined-only"]).arg(bin(library));
    let output = run(&mut command, HANG).succeeded();
    let symbols = output.stdout.lines();
    let symbols = symbols.filter_map(|line| line.split_whitespace().last());
    symbols.map(String::from).collect()
}
