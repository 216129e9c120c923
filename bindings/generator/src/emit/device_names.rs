//! The names of the typed functions that kernels call, as macros: `include/nvshmemrs_device/names.cuh`, and the end of
//! `include/nvshmemrs_qp.cuh`. The functions themselves are members of classes in these headers.
//!
//! Macros cost the compiler almost nothing. Thousands of functions would cost a second per compilation.

use super::BANNER;
use crate::table::types::{DTYPES, Library, List, TAGS, Tag};
use anyhow::{Context, Result};
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// The line after which a header's generated names begin.
const MARK: &str =
    "// ---- Names of the functions of a type. `cargo xtask generate` writes what follows. ----\n";
const SCOPES: [&str; 3] = ["", "_warp", "_block"];
const SIZES: [u32; 5] = [8, 16, 32, 64, 128];
/// Functions in three scopes, with the part of the name after `mem` or a size.
const PUTS: [(&str, &str); 6] = [
    ("put", ""),
    ("get", ""),
    ("put", "_nbi"),
    ("get", "_nbi"),
    ("put", "_signal"),
    ("put", "_signal_nbi"),
];
const STRIDED: [(&str, &str); 2] = [("iput", ""), ("iget", "")];
const MOVES: [(&str, &str); 3] = [("broadcast", ""), ("fcollect", ""), ("alltoall", "")];

fn on(list: List, tag: &Tag) -> bool {
    tag.on(list, Library::Nvshmem)
}

/// The class of a type; `kind` is `Of` or `Qp`.
fn class(kind: &str, tag: &Tag) -> String {
    if let Some(narrow) = tag.narrow() {
        return format!("{kind}{}", narrow.class);
    }
    let own = match tag.name {
        // C has two types of 64 bits.
        "int64" => "Int64",
        "uint64" => "Uint64",
        _ => "",
    };
    if !own.is_empty() {
        return format!("{kind}{own}");
    }
    let c = match tag.c {
        "int8_t" => "signed char",
        "int16_t" => "short",
        "int32_t" => "int",
        "uint8_t" => "unsigned char",
        "uint16_t" => "unsigned short",
        "uint32_t" => "unsigned int",
        "size_t" => "unsigned long",
        "ptrdiff_t" => "long",
        c => c,
    };
    format!("{kind}<{c}>")
}

/// Macros that map names of functions to members of classes.
struct Names(String);

impl Names {
    /// Starts with the classes of narrow floating-point numbers; `kind` is `Of` or `Qp`.
    fn new(kind: &str) -> Self {
        let narrow = || DTYPES.iter().filter_map(|dtype| dtype.narrow);
        let mut text =
            String::from("// CUDA's own, if the program includes them, before or after.\n");
        for of in narrow() {
            text += &format!("struct {};\n", of.cuda);
        }
        text += "namespace nvshmemrs {\nnamespace device {\n";
        for of in narrow() {
            let (cuda, class) = (of.cuda, of.class);
            text += &format!("typedef {kind}<Narrow<{cuda}, {class}>> {kind}{class};\n");
        }
        text += "} // namespace device\n} // namespace nvshmemrs\n\n";
        Names(text)
    }

    fn add(&mut self, name: &str, class: &str, member: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(
            self.0,
            "#define nvshmemrs_{name} nvshmemrs::device::{class}::{member}"
        );
    }

    /// Functions in three scopes; `prefix` comes before a name, `infix` after its first word.
    fn scoped(&mut self, prefix: &str, infix: &str, class: &str, functions: &[(&str, &str)]) {
        for (function, rest) in functions {
            for scope in SCOPES {
                let name = format!("{prefix}{function}{infix}{rest}{scope}");
                self.add(&name, class, &format!("{function}{rest}{scope}"));
            }
        }
    }

    /// Functions for one thread on a type.
    fn alone(&mut self, tag: &Tag, class: &str, functions: &[&str]) {
        for function in functions {
            self.add(&format!("{}_{function}", tag.name), class, function);
        }
    }

    fn reductions(&mut self, tag: &Tag, class: &str, operations: &[&str]) {
        let prefix = format!("{}_", tag.name);
        for operation in operations {
            let names = ["reduce", "reducescatter"].map(|kind| format!("{operation}_{kind}"));
            self.scoped(&prefix, "", class, &[(&names[0], ""), (&names[1], "")]);
        }
    }
}

/// A header with its generated names replaced.
pub(super) fn with_names(root: &Path, header: &str, names: &str) -> Result<String> {
    let text = fs::read_to_string(root.join(header))?;
    let (own, _) = text.split_once(MARK).context("the mark is missing")?;
    Ok(format!("{own}{MARK}\n{names}\n#endif\n"))
}

/// `include/nvshmemrs_device/names.cuh`.
pub fn emit() -> String {
    let mut names = Names::new("Of");
    for size in SIZES {
        let (infix, class) = (size.to_string(), format!("Sized<{size}>"));
        names.scoped("", &infix, &class, &PUTS);
        names.scoped("", &infix, &class, &STRIDED);
    }
    names.scoped("", "mem", "Bytes<0>", &PUTS);
    names.scoped("", "mem", "Bytes<0>", &MOVES);
    for tag in &TAGS {
        let class = class("Of", tag);
        let prefix = format!("{}_", tag.name);
        if on(List::Rma, tag) {
            names.alone(tag, &class, &["p", "g"]);
            for functions in [&PUTS[..], &STRIDED, &MOVES] {
                names.scoped(&prefix, "", &class, functions);
            }
        }
        if on(List::Sum, tag) {
            names.reductions(tag, &class, &["sum", "prod", "min", "max"]);
        }
        if on(List::Bits, tag) {
            names.reductions(tag, &class, &["and", "or", "xor"]);
        }
        if on(List::AtomicMove, tag) || tag.name == "half" {
            let all = ["fetch", "set", "swap", "add", "fetch_add"];
            names.alone(
                tag,
                &class,
                &all.map(|one| format!("atomic_{one}"))
                    .each_ref()
                    .map(|one| one.as_str()),
            );
        }
        if on(List::Atomic, tag) {
            names.alone(
                tag,
                &class,
                &["atomic_inc", "atomic_fetch_inc", "atomic_compare_swap"],
            );
        }
        if on(List::AtomicBits, tag) {
            names.alone(
                tag,
                &class,
                &[
                    "atomic_and",
                    "atomic_fetch_and",
                    "atomic_or",
                    "atomic_fetch_or",
                    "atomic_xor",
                    "atomic_fetch_xor",
                ],
            );
        }
        if on(List::Wait, tag) {
            names.alone(tag, &class, &["wait_until", "test"]);
            for kind in ["wait_until", "test"] {
                for which in ["all", "any", "some"] {
                    for vector in ["", "_vector"] {
                        names.alone(tag, &class, &[&format!("{kind}_{which}{vector}")]);
                    }
                }
            }
        }
    }
    let subject = "Part of nvshmemrs_device.cuh: the names of the functions of a type.";
    format!("// {BANNER}\n// {subject}\n#pragma once\n\n{}", names.0)
}

/// `include/nvshmemrs_qp.cuh`.
pub fn emit_for_queue_pairs(root: &Path) -> Result<String> {
    let mut names = Names::new("Qp");
    for size in SIZES {
        names.scoped("qp_", &size.to_string(), &format!("QpSized<{size}>"), &PUTS);
    }
    names.scoped("qp_", "mem", "QpBytes<0>", &PUTS);
    for tag in TAGS.iter().filter(|tag| on(List::Rma, tag)) {
        let class = class("Qp", tag);
        for function in ["p", "g"] {
            names.add(&format!("qp_{}_{function}", tag.name), &class, function);
        }
        names.scoped(&format!("qp_{}_", tag.name), "", &class, &PUTS);
    }
    with_names(root, "include/nvshmemrs_qp.cuh", &names.0)
}
