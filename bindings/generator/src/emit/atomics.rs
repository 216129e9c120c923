//! `capi/src/generated/atomics.rs`: the exported atomic memory operations, from one table of operations and types.
//!
//! The model reads that file like the hand-written ones, so it is written first.

use crate::model::Scalar;
use anyhow::Result;
use minijinja::{Value, context};

/// The types of an operation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Types {
    Integers,
    /// Integers and floating-point numbers.
    All,
}

/// An operation, as the standard names it.
struct Operation {
    name: &'static str,
    types: Types,
    /// Arguments between the address and the PE.
    operands: &'static [&'static str],
    /// What it does to `{}`, which is a place.
    does: &'static str,
    /// The last argument, if it gives something.
    gives: Option<&'static str>,
    /// Whether it adds.
    adds: bool,
}

#[rustfmt::skip]
const OPERATIONS: [Operation; 14] = [
    row("fetch", Types::All, &[], "Reads {}", Some("value")),
    row("set", Types::All, &["value"], "Stores `value` in {}", None),
    row("swap", Types::All, &["value"], "Stores `value` in {} and gives the old value", Some("old")),
    row("compare_swap", Types::Integers, &["cond", "value"],
        "Stores `value` in {} if it equals `cond`, and gives the old value", Some("old")),
    adding("inc", Types::Integers, &[], "Adds 1 to {}", None),
    adding("fetch_inc", Types::Integers, &[], "Adds 1 to {} and gives the old value", Some("old")),
    adding("add", Types::All, &["value"], "Adds `value` to {}", None),
    adding("fetch_add", Types::All, &["value"], "Adds `value` to {} and gives the old value", Some("old")),
    row("and", Types::Integers, &["value"], "Replaces {} by its bitwise and with `value`", None),
    row("fetch_and", Types::Integers, &["value"],
        "Replaces {} by its bitwise and with `value`, and gives the old value", Some("old")),
    row("or", Types::Integers, &["value"], "Replaces {} by its bitwise or with `value`", None),
    row("fetch_or", Types::Integers, &["value"],
        "Replaces {} by its bitwise or with `value`, and gives the old value", Some("old")),
    row("xor", Types::Integers, &["value"], "Replaces {} by its bitwise exclusive or with `value`", None),
    row("fetch_xor", Types::Integers, &["value"],
        "Replaces {} by its bitwise exclusive or with `value`, and gives the old value", Some("old")),
];

const fn row(
    name: &'static str,
    types: Types,
    operands: &'static [&'static str],
    does: &'static str,
    gives: Option<&'static str>,
) -> Operation {
    Operation {
        name,
        types,
        operands,
        does,
        gives,
        adds: false,
    }
}

const fn adding(
    name: &'static str,
    types: Types,
    operands: &'static [&'static str],
    does: &'static str,
    gives: Option<&'static str>,
) -> Operation {
    Operation {
        adds: true,
        ..row(name, types, operands, does, gives)
    }
}

/// An element type: what follows the operation's name, the type itself, and its name in a sentence.
const ELEMENTS: [(&str, Scalar, &str); 4] = [
    ("32", Scalar::U32, "32-bit integer"),
    ("64", Scalar::U64, "64-bit integer"),
    ("_float", Scalar::F32, "`float`"),
    ("_double", Scalar::F64, "`double`"),
];

fn floating(of: Scalar) -> bool {
    matches!(of, Scalar::F32 | Scalar::F64)
}

impl Operation {
    fn on(&self, of: Scalar) -> bool {
        self.types == Types::All || !floating(of)
    }

    /// The argument that is the symmetric address.
    fn address(&self) -> &'static str {
        if self.name == "fetch" {
            "source"
        } else {
            "dest"
        }
    }

    /// What the docs add about the type.
    fn note(&self, of: Scalar) -> &'static str {
        match (floating(of), self.adds) {
            (false, true) => " It wraps around, so it serves signed and unsigned integers.",
            (false, false) => " It serves signed and unsigned integers.",
            (true, true) => {
                " The order of additions of several PEs, and so the rounding of their sum, is not fixed."
            }
            (true, false) => "",
        }
    }

    /// Where the operation comes from.
    fn standard(&self, of: Scalar, suffix: &str) -> String {
        if floating(of) && self.adds {
            // OpenSHMEM adds integers only.
            format!("NVSHMEM `nvshmemx_{}_atomic_{}`.", of.c(), self.name)
        } else {
            let section = if suffix.is_empty() { 1 } else { 2 };
            format!(
                "OpenSHMEM 1.5 section 9.7.{section} (`shmem_atomic_{}{suffix}`).",
                self.name
            )
        }
    }

    fn function(&self, (tag, of, what): (&str, Scalar, &str), nbi: bool) -> Value {
        let suffix = if nbi { "_nbi" } else { "" };
        let blocking = format!("nvshmemrs_atomic_{}{tag}", self.name);
        let ty = of.rust();
        let address = self.address();
        let place = format!("the {what} at the symmetric address `{address}` on PE `pe`");
        let given = self.gives.unwrap_or_default();
        let (first, completes) = if nbi {
            let first = format!(
                "As `{blocking}`, but what it gives is in local memory at `fetch` only after `nvshmemrs_quiet`."
            );
            (first, "complete after `nvshmemrs_quiet`")
        } else {
            let first = format!("{}.{}", self.does.replace("{}", &place), self.note(of));
            (first, "complete on return")
        };
        let docs = [
            first,
            String::new(),
            format!(
                "One-sided; atomic with respect to all atomic operations of all PEs; {completes}. `{address}` must be \
                 aligned to {}. {}",
                of.size(),
                self.standard(of, suffix)
            ),
            "Errors: PE_RANGE, NOT_SYMMETRIC, OUT_OF_BOUNDS, INVALID_VALUE; nothing is written."
                .into(),
        ];
        let constness = if address == "source" { "const" } else { "mut" };
        let mut args = vec![format!("{address}: *{constness} {ty}")];
        args.extend(self.operands.iter().map(|name| format!("{name}: {ty}")));
        args.push("pe: i32".into());
        let output = match (self.gives, nbi) {
            (Some(_), true) => {
                args.insert(0, format!("fetch: *mut {ty}"));
                "fetch"
            }
            (Some(given), false) => {
                args.push(format!("{given}: *mut {ty}"));
                given
            }
            (None, _) => given,
        };
        let operands: String = self
            .operands
            .iter()
            .map(|name| format!("{name}, "))
            .collect();
        context! {
            name => format!("{blocking}{suffix}"),
            docs => super::wrap(&docs, 104),
            args,
            // A call with an output at the end waits for it.
            guard => if self.gives.is_some() && !nbi { "fetched" } else { "queued" },
            address,
            ty,
            output,
            // Its result is there only after quiet.
            waits => nbi,
            called => format!("atomic_{}{suffix}", self.name),
            call => format!("rt.atomic_{}({address}, {operands}pe)", self.name),
        }
    }
}

/// The Rust file.
pub fn emit() -> Result<String> {
    let mut functions = Vec::new();
    for operation in &OPERATIONS {
        for element in ELEMENTS {
            if operation.on(element.1) {
                functions.push(operation.function(element, false));
            }
        }
    }
    for operation in OPERATIONS.iter().filter(|row| row.gives.is_some()) {
        for element in ELEMENTS {
            if operation.on(element.1) {
                functions.push(operation.function(element, true));
            }
        }
    }
    super::render(
        include_str!("../../templates/atomics.rs.jinja"),
        context! { functions },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_gives_every_form_once() {
        let text = emit().unwrap();
        let mut names: Vec<&str> = text
            .lines()
            .filter_map(|line| line.strip_prefix("pub extern \"C\" fn nvshmemrs_atomic_"))
            .map(|line| line.trim_end_matches('('))
            .collect();
        // 5 operations on 4 types and 9 on 2; of those that give something, 3 on 4 types and 5 on 2.
        assert_eq!(names.len(), 5 * 4 + 9 * 2 + 3 * 4 + 5 * 2);
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 60);
        for name in [
            "fetch32",
            "set_double",
            "compare_swap64_nbi",
            "xor32",
            "fetch_add_float_nbi",
        ] {
            assert!(names.contains(&name), "{name}");
        }
        for name in ["inc_float", "add64_nbi", "compare_swap_double", "and_float"] {
            assert!(!names.contains(&name), "{name}");
        }
    }
}
