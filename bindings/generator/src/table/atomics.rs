//! Atomic memory operations: each on 32-bit and 64-bit integers, some on floating-point numbers; those that give something in a
//! non-blocking form, too.

use super::types::{List, Scalar};
use super::*;

/// An operation, as the standard names it.
struct Operation {
    name: &'static str,
    list: List,
    /// Arguments between the address and the PE.
    operands: &'static [Arg],
    /// What it does to `{}`, which is a place.
    does: &'static str,
    /// The last argument, if it gives something.
    gives: Option<&'static str>,
}

const VALUE: &[Arg] = &[plain("value", "{T}")];
const COND_VALUE: &[Arg] = &[plain("cond", "{T}"), plain("value", "{T}")];

#[rustfmt::skip]
const OPERATIONS: [Operation; 14] = [
    on("fetch", List::AtomicMove, &[], "Reads {}", Some("value")),
    on("set", List::AtomicMove, VALUE, "Stores `value` in {}", None),
    on("swap", List::AtomicMove, VALUE, "Stores `value` in {} and gives the old value", Some("old")),
    on("compare_swap", List::Atomic, COND_VALUE,
        "Stores `value` in {} if it equals `cond`, and gives the old value", Some("old")),
    on("inc", List::Atomic, &[], "Adds 1 to {}", None),
    on("fetch_inc", List::Atomic, &[], "Adds 1 to {} and gives the old value", Some("old")),
    on("add", List::Atomic, VALUE, "Adds `value` to {}", None),
    on("fetch_add", List::Atomic, VALUE, "Adds `value` to {} and gives the old value", Some("old")),
    on("and", List::AtomicBits, VALUE, "Replaces {} by its bitwise and with `value`", None),
    on("fetch_and", List::AtomicBits, VALUE,
        "Replaces {} by its bitwise and with `value`, and gives the old value", Some("old")),
    on("or", List::AtomicBits, VALUE, "Replaces {} by its bitwise or with `value`", None),
    on("fetch_or", List::AtomicBits, VALUE,
        "Replaces {} by its bitwise or with `value`, and gives the old value", Some("old")),
    on("xor", List::AtomicBits, VALUE, "Replaces {} by its bitwise exclusive or with `value`", None),
    on("fetch_xor", List::AtomicBits, VALUE,
        "Replaces {} by its bitwise exclusive or with `value`, and gives the old value", Some("old")),
];

const fn on(
    name: &'static str,
    list: List,
    operands: &'static [Arg],
    does: &'static str,
    gives: Option<&'static str>,
) -> Operation {
    Operation {
        name,
        list,
        operands,
        does,
        gives,
    }
}

/// An element type: what follows the operation's name, the type itself, and its name in a sentence.
const ELEMENTS: [(&str, Scalar, &str); 4] = [
    ("32", Scalar::U32, "32-bit integer"),
    ("64", Scalar::U64, "64-bit integer"),
    ("_float", Scalar::F32, "`float`"),
    ("_double", Scalar::F64, "`double`"),
];

impl Operation {
    /// Whether there is one on floating-point numbers, too. OpenSHMEM adds integers only, NVSHMEM also those.
    fn on_floating(&self) -> bool {
        self.list == List::AtomicMove || self.adds_any()
    }

    fn adds_any(&self) -> bool {
        matches!(self.name, "add" | "fetch_add")
    }

    /// What the docs add about the type.
    fn note(&self, of: Scalar) -> &'static str {
        let adds = self.adds_any() || matches!(self.name, "inc" | "fetch_inc");
        match (of.floating(), adds) {
            (false, true) => " It wraps around, so it serves signed and unsigned integers.",
            (false, false) => " It serves signed and unsigned integers.",
            (true, true) => {
                " The order of additions of several PEs, and so the rounding of their sum, is not fixed."
            }
            (true, false) => "",
        }
    }

    fn row(&self, (tag, of, what): (&str, Scalar, &str), nbi: bool) -> Row {
        let suffix = if nbi { "_nbi" } else { "" };
        let blocking = format!("atomic_{}{tag}", self.name);
        let (address, pointer, element) = match self.name {
            "fetch" => (
                "source",
                "*const {T}",
                "rt.element::<{T}>(\"source\", handle::addr(source))?",
            ),
            _ => (
                "dest",
                "*mut {T}",
                "rt.element::<{T}>(\"dest\", handle::addr(dest))?",
            ),
        };
        let mut args = vec![passed(address, pointer, element)];
        args.extend(self.operands);
        args.push(PE);
        if nbi {
            args.insert(0, output("fetch", "*mut {T}"));
        } else {
            args.extend(self.gives.map(|gives| output(gives, "*mut {T}")));
        }
        let place = format!("the {what} at the symmetric address `{address}` on PE `pe`");
        let does = if nbi {
            format!(
                "As `nvshmemrs_{blocking}`, but what it gives is in local memory at `fetch` only after `nvshmemrs_quiet`."
            )
        } else {
            format!("{}.{}", self.does.replace("{}", &place), self.note(of))
        };
        let typed_name = format!("TYPE_atomic_{}{suffix}", self.name);
        let (standard, list) = if of.floating() && self.adds_any() {
            let name = format!("nvshmemx_{}_atomic_{}", of.c(), self.name);
            (Standard::Nvshmem(name), List::AtomicMove)
        } else {
            let section = if nbi { "9.7.2" } else { "9.7.1" };
            let name = format!("shmem_atomic_{}{suffix}", self.name);
            (shmem(section, name), self.list)
        };
        let core = format!("atomic_{}", self.name);
        Row {
            name: format!("{blocking}{suffix}"),
            terms: "; atomic with respect to all atomic operations of all PEs",
            completes: if nbi {
                "It is complete after `nvshmemrs_quiet`."
            } else {
                "It is complete on return."
            },
            demands: format!("`{address}` must be aligned to {{size}}."),
            errors: "Errors: PE_RANGE, NOT_SYMMETRIC, OUT_OF_BOUNDS, INVALID_VALUE; nothing is written.",
            of: Some(of),
            typed: vec![typed(typed_name, list, Serves::Like(of))],
            ..row(Caller::OneSided, &core, &args, &does, standard)
        }
    }
}

/// Every atomic operation.
pub(super) fn family() -> Family {
    let mut rows = Vec::new();
    for nbi in [false, true] {
        for operation in OPERATIONS
            .iter()
            .filter(|operation| !nbi || operation.gives.is_some())
        {
            let elements = ELEMENTS
                .into_iter()
                .filter(|element| !element.1.floating() || operation.on_floating());
            rows.extend(elements.map(|element| operation.row(element, nbi)));
        }
    }
    Family {
        file: "atomics",
        about: "Atomic memory operations.",
        uses: &[],
        rows,
    }
}
